/* projection.h - a run as items, the pure half: the items that are open (item_table.c), and the changes of each place of the journal (items.c,
 * items_agent.c). No store, no clock: a reader walks the lines (walk.h) and gives each place to project_place().
 *
 * A projection belongs to its reader's thread. Invariants, checked by item_wrong() after each move:
 *   I1  an item that ended has no open child and is in no list: nothing ends twice
 *   I2  a kind has only the states of its table
 *   I3  a task waits exactly while one of its waits is open */
#ifndef STREAM_PROJECTION_H
#define STREAM_PROJECTION_H

#include "pawl/items.h"
#include "stream/walk.h"

/* What an item is found by: a command by SUPERSTEP.TASK.VISIT.N, the question what came of it by the same, a task by SUPERSTEP.PATH, a node by its
 * path, a tool call by the id that the model gave it. ALIAS: the command that performs a tool call; it leads to the tool call and is no item. */
typedef enum key_space { KEY_COMMAND = 1, KEY_DOUBT, KEY_TASK, KEY_NODE, KEY_TOOL, KEY_ALIAS } key_space;

typedef struct open_item {
    struct open_item *bucket_next;
    struct open_item *parent, *first, *last, *before, *after;      /* the tree of open items; its root is the run */
    struct open_item *link;     /* of an alias its tool call; of a tool call its alias; else NULL */
    struct open_item *settled_next;     /* a model's answer that came in the entry at hand */
    uint64_t hash;
    uint8_t space, kind, state;
    uint8_t outcome;            /* of an answer that settles: the state that it ends in */
    bool failed;                /* a node: its last task failed */
    bool stale;                 /* a tool call of a round that is over */
    uint32_t visit;             /* of a task */
    uint32_t waits;             /* of a task: open ones. Of a node: open tasks */
    size_t bytes;               /* of this block */
    const char *id, *key, *name;
    const char *child;          /* the run that a spawn, or a tool call at present, is for; of the question what came of a command its id; else NULL */
    size_t child_bytes;         /* it is a block of its own; 0: it is in `text` */
    char text[];
} open_item;

typedef enum change_json { JSON_NONE, JSON_PLACE, JSON_VALUE, JSON_WRITE, JSON_USAGE } change_json;

typedef struct change {         /* texts: of an open item, or in the projection's arena until the next place */
    uint8_t kind, state, what, json;
    const char *id, *parent, *name, *part, *call, *child;
    const void *from;           /* JSON_VALUE: a pawl_value; JSON_WRITE: a write of the item at hand; else NULL */
} change;

typedef struct projection {
    pawl_alloc alloc;
    char *prefix;               /* RUN~LIFE/ */
    size_t prefix_size;
    open_item *run;             /* the root; it is always open */
    open_item **slots;
    size_t nslots, count;
    open_item *ended;           /* what ended at this place: its texts are still in use */
    open_item *settled;         /* answers of models that end when the entry does */
    bool round_over;            /* tool calls that are stale end when the entry does */
    bool turn_over;             /* and all others too */
    uint64_t superstep;         /* the one that is open or next */
    arena mem;                  /* of one place */
    change *changes;            /* of one place, in order */
    size_t nchanges, changes_cap;
    size_t head;                /* the change of the place itself; its JSON is the place's */
    uint64_t seq, index;        /* the place at hand */
    uint32_t made;              /* items that are whole at once, of this place: their ids are numbered */
    bool failed;                /* no memory: the place is to be given again to a new projection */
} projection;

/* ---- items.c ---- */

/* `base`: the journal's, parsed; NULL: of a run from its first entry. The changes are what is open there already. */
pawl_code projection_begin(projection *p, const pawl_alloc *alloc, const char *run, uint64_t life, const pawl_value *base, pawl_err *err);
void projection_free(projection *p);
/* The changes of the place that `w` has at hand; they are valid until the next call. PAWL_NOMEM: the projection is of no use any more. */
pawl_code project_place(projection *p, line_walk *w, pawl_err *err);
/* The item that a live event of that invocation id and name is about; `tool`: the id of the tool call that it says, or NULL. NULL: it is not open. */
const open_item *projection_live(const projection *p, const char *id, const char *tool);

/* ---- items_reader.c, for readers of a run and its children: the runs that open tool calls have started ---- */

typedef bool child_fn(void *ctx, const char *run);      /* false: enough */
void items_each_child(const pawl_items *r, child_fn *fn, void *ctx);

/* ---- items_agent.c: what an agent's own channels and emissions say ---- */

void agent_emits(projection *p, line_walk *w, const char *name);
void agent_writes(projection *p, line_walk *w, const write *all, uint32_t n);
/* A request to a model was answered: the message ends when its entry does. */
void message_answered(projection *p, open_item *it, unsigned state);
void agent_entry_ends(projection *p);
void artifact_add(projection *p, line_walk *w, const open_item *parent, const char *name);

/* ---- item_table.c ---- */

bool open_items_begin(projection *p, const pawl_alloc *alloc, const char *run, uint64_t life);
void open_items_free(projection *p);
open_item *item_find(const projection *p, key_space space, const char *key);
/* Opened under `parent`, and a change that says so: NULL: no memory. */
typedef struct item_words { const char *key, *name, *child, *part; change_json json; const void *from; } item_words;  /* part NULL: it is only added */
open_item *item_open(projection *p, key_space space, unsigned kind, unsigned state, open_item *parent, const item_words *as);
bool alias_open(projection *p, open_item *tool, const char *key);
void alias_close(projection *p, open_item *alias);
void item_move(open_item *it, unsigned state);
void item_child(projection *p, open_item *it, const char *run);        /* the run that it has begun; NULL: none any more */
/* All that is open below it ends first, dropped. */
void item_end(projection *p, open_item *it, unsigned state, const char *part, change_json json);
void items_end(projection *p, open_item *parent, bool stale_only);     /* its open children, dropped; of tool calls only those of a round that is over */
/* A change of an open item; NULL: no memory. */
change *item_changes(projection *p, open_item *it, unsigned what, const char *part, change_json json);
/* A change of what begins and ends at once. Its id is RUN~LIFE/KIND:KEY; `key` NULL: it is made of the place. */
change *item_at_once(projection *p, unsigned kind, unsigned state, const char *key, const char *parent, const char *name, const char *part, change_json json);
void place_next(projection *p, uint64_t seq, uint64_t index);   /* forget the changes of the place before */
const char *text_kept(projection *p, const char *text);         /* until the next place */
extern const sm_table *const item_tables[];     /* by the number of the kind's bit */
unsigned kind_number(unsigned kind);

#endif
