/* projection.h - a run as items, the pure part: the open items (item_table.c), and the changes of each place of the journal (items.c, items_agent.c).
 *
 * A reader walks the lines (walk.h) and passes each place to project_place(); no store, no clock. A projection belongs to its reader's thread.
 * Invariants, checked by item_wrong() after each move:
 * I1  an item that has ended has no open child and is in no list: nothing ends twice
 * I2  a kind has only the states of its table
 * I3  a task waits exactly while one of its waits is open */
#ifndef STREAM_PROJECTION_H
#define STREAM_PROJECTION_H

#include "base/sm.h"
#include "kernel/item.h"
#include "pawl/items.h"
#include "stream/walk.h"

/* The key of an item: SUPERSTEP.TASK.VISIT.N of a command, and of the question about its outcome; SUPERSTEP.PATH of a task; the path of a node; the id
 * of a tool call. ALIAS: the command that performs a tool call; it leads to the tool call and is not an item. */
typedef enum key_space { KEY_COMMAND = 1, KEY_DOUBT, KEY_TASK, KEY_NODE, KEY_TOOL, KEY_ALIAS } key_space;

typedef struct open_item {
    struct open_item *bucket_next;
    struct open_item *parent, *first, *last, *before, *after;      /* the tree of open items, with the run as root */
    struct open_item *link;     /* of an alias its tool call, and the reverse; else NULL */
    struct open_item *settled_next;     /* next model's answer of the current entry */
    uint64_t hash;
    uint8_t space, kind, state;
    uint8_t outcome;            /* of a model's answer: the state in which it ends */
    bool failed;                /* a node: its last task failed */
    bool stale;                 /* a tool call of a round that has ended */
    uint32_t visit;             /* of a task */
    uint32_t waits;             /* of a task: open waits; of a node: open tasks */
    size_t bytes;               /* size of this block */
    const char *id, *key, *name;
    const char *child;          /* the run of a spawn, or of a tool call at present; of a question about an outcome the command's id; else NULL */
    size_t child_bytes;         /* size of the block of `child`; 0: it is in `text` */
    char text[];
} open_item;

typedef enum change_json { JSON_NONE, JSON_PLACE, JSON_VALUE, JSON_WRITE, JSON_USAGE } change_json;

typedef struct change {         /* texts belong to an open item, or to the projection's arena until the next place */
    uint8_t kind, state, what, json;
    const char *id, *parent, *name, *part, *call, *child;
    const void *from;           /* JSON_VALUE: a pawl_value; JSON_WRITE: a write of the current item; else NULL */
} change;

typedef struct projection {
    pawl_alloc alloc;
    char *prefix;               /* RUN~LIFE/ */
    size_t prefix_size;
    open_item *run;             /* the root, which is always open */
    open_item **slots;
    size_t nslots, count;
    open_item *ended;           /* items that ended at this place, whose texts are still used */
    open_item *settled;         /* models' answers that end with the entry */
    bool round_over;            /* stale tool calls end with the entry */
    bool turn_over;             /* all other tool calls, too */
    uint64_t superstep;         /* the one that is open or next */
    arena mem;                  /* of one place */
    change *changes;            /* of one place, in order */
    size_t nchanges, changes_cap;
    size_t head;                /* index of the change of the place itself, whose JSON is the place's */
    uint64_t seq, index;        /* the current place */
    uint32_t made;              /* number of items of this place that are complete at once: part of their ids */
    bool failed;                /* no memory: start again with a new projection */
} projection;

/* ---- items.c ---- */

/* `base`: of the journal, parsed; NULL: the run is read from its first entry. The changes are the items that are open in the base. */
pawl_code projection_begin(projection *p, const pawl_alloc *alloc, const char *run, uint64_t life, const pawl_value *base, pawl_err *err);
void projection_free(projection *p);
/* The changes of the current place of `w`; valid until the next call. PAWL_NOMEM: the projection cannot be used any more. */
pawl_code project_place(projection *p, line_walk *w, pawl_err *err);
/* The item of a live event with that invocation id and name; `tool`: the tool call id in it, or NULL. NULL: it is not open. */
const open_item *projection_live(const projection *p, const char *id, const char *tool);

/* ---- items_reader.c, for readers of a run and its children: the runs that open tool calls have started ---- */

typedef bool child_fn(void *ctx, const char *run);      /* false: stop */
void items_each_child(const pawl_items *r, child_fn *fn, void *ctx);

/* ---- items_agent.c: what an agent's own channels and emissions say ---- */

void agent_emits(projection *p, line_walk *w, const char *name);
void agent_writes(projection *p, line_walk *w, const item_write *all, uint32_t n);
/* A request to a model was answered: the message ends when its entry does. */
void message_answered(projection *p, open_item *it, unsigned state);
void agent_entry_ends(projection *p);
void artifact_add(projection *p, line_walk *w, const open_item *parent, const char *name);

/* ---- item_table.c ---- */

bool open_items_begin(projection *p, const pawl_alloc *alloc, const char *run, uint64_t life);
void open_items_free(projection *p);
open_item *item_find(const projection *p, key_space space, const char *key);
/* Opens an item under `parent`, and adds a change. NULL: no memory. */
typedef struct item_words { const char *key, *name, *child, *part; change_json json; const void *from; } item_words;  /* part NULL: the item is only added */
open_item *item_open(projection *p, key_space space, unsigned kind, unsigned state, open_item *parent, const item_words *as);
bool alias_open(projection *p, open_item *tool, const char *key);
void alias_close(projection *p, open_item *alias);
void item_move(open_item *it, unsigned state);
void item_child(projection *p, open_item *it, const char *run);        /* the child run; NULL: none any more */
/* Ends it, after dropping all open items below it. */
void item_end(projection *p, open_item *it, unsigned state, const char *part, change_json json);
void items_end(projection *p, open_item *parent, bool stale_only);     /* drops its open children; stale_only: only tool calls of a round that has ended */
/* Adds a change of an open item; NULL: no memory. */
change *item_changes(projection *p, open_item *it, unsigned what, const char *part, change_json json);
/* Adds an item that begins and ends at once. Its id is RUN~LIFE/KIND:KEY; `key` NULL: the place is the key. */
change *item_at_once(projection *p, unsigned kind, unsigned state, const char *key, const char *parent, const char *name, const char *part, change_json json);
void place_next(projection *p, uint64_t seq, uint64_t index);   /* drops the changes of the previous place */
const char *text_kept(projection *p, const char *text);         /* a copy that is valid until the next place */
extern const sm_table *const item_tables[];     /* by the number of the kind's bit */
unsigned kind_number(unsigned kind);

#endif
