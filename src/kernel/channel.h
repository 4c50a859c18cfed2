/* channel.h - channels: named cells of state, each with a merge rule (K3).
 *
 * Owned by the frame that declares them. They are changed inside a transaction only (txn.h), by a fold.
 * Invariant: floating <= elements in nodes; digested + floating <= count; a list that is not loaded has after < upto. */
#ifndef KERNEL_CHANNEL_H
#define KERNEL_CHANNEL_H

#include "kernel/item.h"
#include "kernel/txn.h"
#include "pawl/kernel.h"

typedef struct decl {           /* the declaration of a channel, as in the base record */
    const char *where;          /* "" for the run; else node names of subgraphs: "inner", "a/b" */
    const char *name;
    const pawl_value *first;    /* NULL: none */
    const char *secret;         /* NULL: none */
    uint32_t hash;
    uint8_t rule;
    bool accumulate, keep;
} decl;

typedef enum channel_form {     /* how the value of a channel is kept */
    CHANNEL_UNSET,              /* no value */
    CHANNEL_SCALAR,             /* one node, and no string */
    CHANNEL_BLOCK,              /* the nodes of another value */
    CHANNEL_LIST                /* of the rules whose value grows */
} channel_form;

typedef struct channel {        /* small: a state has one for each declaration, and each write saves it */
    const decl *d;
    union {
        yyjson_val scalar;
        struct { const void *nodes; size_t bytes; } block;      /* bytes 0: the step owns the nodes */
        struct { list *of; uint64_t born; } list;   /* born: the sequence number before the entry that set its first element: lazy_list.c folds from there */
    };
    uint8_t form;               /* channel_form */
} channel;

static inline bool channel_is_set(const channel *c) { return c->form != CHANNEL_UNSET; }
static inline list *channel_list(const channel *c) { return c->form == CHANNEL_LIST ? c->list.of : NULL; }     /* NULL: the value is no list */
static inline bool channel_is(const channel *c, const char *name)   /* a name of the machine is compared by address, one from a journal by its text */
{
    return c->d->name == name || (*c->d->name == *name && strcmp(c->d->name, name) == 0);
}
channel *channel_search(const frame *f, const char *name);
static inline channel *channel_find(const frame *f, const char *name)   /* NULL: none; the first channel is compared inline, since most frames have one */
{
    channel *c = f->channels;

    return c != NULL && channel_is(c, name) ? c : channel_search(f, name);
}
const pawl_value *channel_load(pawl_state *st, channel *c);
static inline const pawl_value *channel_value(pawl_state *st, channel *c)       /* NULL: never set, or its elements cannot be loaded (st->load_failed) */
{
    if (c->form == CHANNEL_SCALAR)
        return of_val(&c->scalar);
    if (c->form == CHANNEL_BLOCK)
        return of_val(c->block.nodes);
    return c->form == CHANNEL_LIST ? channel_load(st, c) : NULL;
}
pawl_code channel_write(pawl_state *st, channel *c, unsigned op, const pawl_value *v, pawl_err *err);
/* The most frequent write: a value of one node that is no text, under the rule last. It replaces such a value without any allocation. */
static inline bool write_is_plain(const channel *c, unsigned op, const pawl_value *v)
{
    return op == OP_MERGE && c->d->rule == PAWL_RULE_LAST && c->form <= CHANNEL_SCALAR && v != NULL &&
           (val_of(v)->tag & YYJSON_TYPE_MASK) <= YYJSON_TYPE_NUM && c->d->secret == NULL;
}
static inline pawl_code write_plain(pawl_state *st, channel *c, const pawl_value *v)
{
    if (!TOUCH(st, c))
        return PAWL_NOMEM;
    c->scalar = *val_of(v);
    c->form = CHANNEL_SCALAR;
    return PAWL_OK;
}
/* Checks a write against the channel's rule without reading the current value. */
pawl_code channel_takes(const channel *c, unsigned op, const pawl_value *v, pawl_err *err);
pawl_code channel_clear(pawl_state *st, channel *c);
void channel_drop(pawl_state *st, channel *c);      /* frees the value; the channel still names it */
pawl_code channels_init(pawl_state *st, frame *f);      /* from the declarations of f->where, with their first values */
/* Writes an object of channels, member by member. `custom` false: skip channels with a user's function, whose merged result is in a put item. */
pawl_code put_writes(pawl_state *st, frame *f, const pawl_value *object, bool custom, pawl_err *err);
/* Checks the writes of an update that is merged at the close of the superstep: an invalid event must change nothing now. */
pawl_code writes_check(const pawl_state *st, const frame *f, const pawl_value *object, pawl_err *err);
bool channels_index(pawl_state *st, frame *f);          /* builds f->by_name; called after channels were made or added; false: no memory */
bool list_push(pawl_state *st, list *l, const pawl_value *v);
list *list_new(pawl_state *st);
bool rule_is_list(unsigned rule);
static inline bool decl_is_ephemeral(const decl *d) { return d->rule == PAWL_RULE_EPHEMERAL || (d->rule == PAWL_RULE_TOPIC && !d->accumulate); }

/* Loads the elements that a snapshot left in the journal. The list has a segment. */
pawl_code list_load(pawl_state *st, channel *c, pawl_err *err);
/* lazy_list.c: the implementation of list_load(), called through st->segment_load. */
pawl_code segment_load(pawl_state *st, channel *c, pawl_err *err);
/* Adds the declarations of an adopted machine, {NAME: declaration}, and sets their first values. */
pawl_code decls_add(pawl_state *st, const pawl_value *channels, pawl_err *err);
void decls_code(buf *b, const decl *d, uint32_t n);

#endif
