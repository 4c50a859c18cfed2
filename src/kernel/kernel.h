/* kernel.h - inside the kernel: the state, what changes it, and the step that says so.
 *
 * One idea carries everything here: *a step is a list of items, and folding items is the only
 * way in which a state changes.* Feed folds each item as it is made, in a transaction that it
 * takes back at the end; apply folds the same items for good. So what a machine sees while it
 * is fed and what stands in the state afterwards cannot differ (K6). */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "base/sm.h"
#include "json/json.h"
#include "kernel/journal/blobs.h"
#include "kernel/budget.h"
#include "kernel/loop_guard.h"
#include "pawl/kernel.h"

enum {
    NAME_BYTES_MAX = 64,        /* of a node, a channel, an effect */
    RUN_BYTES_MAX = 128,
    PATH_BYTES_MAX = 1024,      /* of a task inside subgraphs */
    ID_BYTES_MAX = RUN_BYTES_MAX + 18 + PATH_BYTES_MAX + 64,
    RACES_MAX = 16,             /* decided in one pass of a node */
    FORMAT = 1
};

/* ---- channels --------------------------------------------------------------------------- */

typedef struct decl {           /* a channel as the base has it */
    const char *where;          /* "" for the run; else node names of subgraphs: "inner", "a/b" */
    const char *name;
    const pawl_value *first;    /* NULL: none */
    const char *secret;         /* NULL: none */
    uint32_t hash;
    uint8_t rule;
    bool accumulate, keep;
} decl;

/* An array that grows at its end: append, topic, union, barrier. Appending in a transaction
 * only raises `used` and `count`, taking back lowers them. Elements that a snapshot left
 * in the journal are read when somebody looks: `segment` of them stand before nodes[1]. */
typedef struct list {
    yyjson_val *nodes;          /* nodes[0] is the array itself; NULL while nothing is in it */
    size_t used, cap;           /* of nodes */
    size_t count;               /* elements in nodes */
    arena strings;
    size_t segment;             /* elements not loaded; 0: none */
    uint64_t after, upto;       /* the entries that hold all elements before the snapshot */
    size_t floating;            /* the last elements of nodes, of a step that is being fed */
    hash digest;                /* rolling, over the first `digested` elements, none of them floating */
    size_t digested;
    size_t digested_nodes;      /* where the next one stands in nodes; 0: that has to be looked for */
} list;

typedef struct channel {
    const decl *d;
    yyjson_val scalar;          /* the value, when it is one node and no string */
    const void *block;          /* else its nodes */
    size_t block_bytes;         /* 0: lent by the step */
    list *list;                 /* of the rules that grow */
    uint64_t born;              /* the entry before the one that set the first element of list */
    bool set;
} channel;

/* ---- what is open -------------------------------------------------------------------------- */

typedef enum call_kind { CALL_CALL = 1, CALL_SLEEP = 2, CALL_SPAWN = 3, CALL_ASK = 4 } call_kind;
typedef enum call_at { CALL_OPEN = 0, CALL_ANSWERED = 1, CALL_DROPPED = 2 } call_at;

typedef struct call {           /* a command or a wait, by its number in the visit */
    uint8_t kind, at, outcome, wait;
    uint32_t visit, n;          /* of a loose one; else its place says so */
    uint64_t superstep;
    int64_t time_ms;            /* due, or asked; answered: when */
    const char *task;           /* of a loose one; else NULL */
    const char *spec;           /* canonical text */
    size_t spec_size;
    const void *value;          /* nodes of the receipt or the answer; NULL: null */
    size_t value_bytes;         /* 0: lent by the step */
    const pawl_value *update;   /* that came with the answer (W7) */
    size_t update_bytes;
    const char *doubt;          /* SPEC of the question what came of it; NULL: that was never in doubt */
    bool asked;                 /* and it is open: the command stands as a wait */
    bool refused;               /* for want of budget: it never was one */
    lap *lap;                   /* where repetition is looked for, and it counts; else NULL */
} call;

static inline bool call_asks(const call *c) { return c->kind == CALL_ASK || c->asked; }

typedef enum task_at { TASK_READY = 0, TASK_OPEN = 1, TASK_LEFT = 2, TASK_FAILED = 3, TASK_STATES = 4 } task_at;

struct frame;
struct leave;
typedef struct task {
    const char *name;           /* "draft", "worker:3" */
    uint32_t node_size;         /* bytes of the node's name in it */
    uint32_t node_hint;         /* where the machine has that node, if it still does; no part of the state */
    uint32_t visit;
    uint32_t since;             /* visits before the last reopening: attempts are counted from there */
    uint32_t nwins;
    uint32_t *wins;             /* winners of the visit's races */
    int64_t visit_ms;
    const laps *told;           /* of its visits that are over; NULL: none */
    const pawl_value *args;     /* in the block of the tasks, as the name */
    call *calls;
    uint32_t ncalls, calls_cap;
    const struct leave *leave;  /* how it left: while the entry that says so is being folded */
    const char *left;           /* else the item's text */
    const char *fault;          /* TASK_FAILED: canonical text of {"code","text"} */
    uint32_t left_size, fault_size;
    struct frame *child;        /* of a subgraph */
    uint8_t at;
    bool timed;                 /* the visit has a time of its own */
    bool racing;                /* a race is open: any receipt runs the visit again */
} task;
#define LEFT_BYTES (sizeof(task) - offsetof(task, leave)) /* what a leave changes */

typedef struct mark {           /* the digest of an item in a record */
    uint32_t root;              /* index of the root task */
    uint32_t visit, n, rank;
    const char *path;
    hash digest;
} mark;

typedef struct frame {          /* a graph in its course: the run, or a subgraph inside a task */
    struct frame *parent;
    const char *where;          /* node names down to here; "" for the run */
    channel *channels;
    uint32_t nchannels;
    task *tasks;
    uint32_t ntasks, nedges;    /* the first nedges were reached by edges */
    size_t tasks_bytes;         /* of one block: tasks, arguments, names */
    call *loose;                /* what no visit waits for: holds, a reducer's commands */
    uint32_t nloose, loose_cap;
    bool fleeting;              /* it has channels that live for one superstep */
    bool open;                  /* the superstep has begun: its tasks see this state */
    uint64_t superstep;         /* the number of the one that is next or open; 0: not begun */
    uint64_t steps;             /* closed in this turn */
    int64_t now_ms;             /* of a subgraph: the latest time that was told in it */
    const pawl_value *joins;    /* {JOIN: [seen]} */
    const pawl_value *defer;    /* [node] */
    size_t joins_bytes, defer_bytes;
    const laps *told;           /* what its calls came to lately; NULL: nobody looks, or none */
} frame;

/* ---- transactions ------------------------------------------------------------------------------ */

typedef enum undo_kind { UNDO_BYTES, UNDO_BORN, UNDO_DEAD, UNDO_GREW, UNDO_LIST_BORN, UNDO_LIST_DEAD } undo_kind;
typedef struct undo {
    struct undo *before;
    void *at;
    size_t size;                /* of bytes, which follow, or of a block; of a list that grew: nodes */
    size_t count;               /* of a list that grew: elements */
    struct undo *late;          /* the one before of those that commit looks at */
    undo_kind kind;
} undo;

#define BY_DEADLINE "@deadline"   /* who cancels a run whose deadline passed */

struct pawl_state {
    frame root;
    uint64_t seq, turn;
    int64_t time_ms;            /* of the newest entry */
    int64_t record_ms;          /* the latest time in the records since */
    size_t tail_bytes;
    hash head;                  /* of the newest entry; before it, of the base */
    uint32_t commands, waits, people; /* open ones; people: waits for a person */
    uint8_t status;
    void *spare;                /* SPARE_BYTES that the next superstep will need; none while the run waits */
    /* up to here: the head, which mostly every step moves: a transaction keeps it whole, HEAD_BYTES */
    uint64_t ignored;
    bool no_journal;
    bool canceling;             /* called off: what is in flight is waited for, nothing new begins */
    bool only;                  /* beside another: folds for one channel, see segment.c */
    uint32_t nmarks, marks_cap;
    mark *marks;
    const pawl_value *reason;
    size_t reason_bytes;
    size_t snapshot_bytes;
    list *pending;              /* updates told while the superstep is open: merged when it closes */
    list *undo;                 /* what may have to be undone: [KEY,ID,{"args","effect","refs"},RECEIPT] */
    ledger *budget;             /* NULL: none */
    uint32_t undone;            /* inverses that were issued */
    uint32_t no_progress, progress_nodes;   /* so often the same in a row, and a person is asked, 0: nobody is; 1: with the nodes, 0: of an older run */
    uint8_t unwind;             /* the terminal status that the run comes to when they have run; 0: none */
    size_t bytes;               /* of the block that this state begins */
    /* fixed since the base, but for adopt */
    struct txn *t;              /* while a step is fed or applied */
    pawl_alloc alloc;
    pawl_loader loader;
    bool has_loader;
    pawl_code load_failed;      /* by a reader that could not say so */
    arena fixed;                /* declarations, names, the base */
    const decl *decls;
    uint32_t ndecls, base_decls; /* of these the base has; an adopted machine may bring more */
    const char *run;
    uint64_t life, seed, base_seq;
    int64_t at_ms, deadline_ms; /* of its base */
    const char *retention;      /* NULL: not said */
    const char *parent;         /* the invocation id that it was spawned by; NULL: none */
    const char *machine;
    uint32_t version;
    hash machine_hash;
    pawl_bytes base;
};

#define HEAD_BYTES offsetof(struct pawl_state, ignored)

typedef struct txn {
    arena *mem;
    bool keep;                  /* apply: what is allocated stays */
    bool live;                  /* and it is fed in the same transaction: what the step lends is kept at its end */
    bool closed;                /* the run's superstep was closed in it */
    bool now;                   /* what is dropped is freed at once: nobody goes back */
    bool swapped;               /* the spare block is in use, and the block before it is what has to be kept */
    undo *log, *late;
    char head[HEAD_BYTES];      /* of the state, as it was */
} txn;

/* txn.c */
static inline void txn_begin(pawl_state *st, txn *t, arena *mem, bool keep)
{
    t->mem = mem;
    t->keep = keep;
    t->closed = t->now = t->live = t->swapped = false;
    t->log = t->late = NULL;
    mem_copy(t->head, st, HEAD_BYTES);
    mem->failed = false;
    st->t = t;
}
/* To free what is in the state, all of it and at once: nothing is kept, and nobody goes back. */
static inline void txn_begin_drop(pawl_state *st, txn *t)
{
    t->mem = NULL;
    t->keep = t->now = true;
    t->log = t->late = NULL;
    st->t = t;
}
undo *txn_mark(pawl_state *st);         /* to go back to, once; the head is kept again */
/* The same for what leaves the head alone until nothing but memory can be wrong. */
static inline undo *txn_place(const pawl_state *st) { return st->t->log; }
void txn_back(pawl_state *st, undo *to);      /* take back what came after the mark */
void txn_end(pawl_state *st, bool commit);      /* commit only with keep; else all is taken back */
/* About to change these bytes; false: no memory, and they must stay. Not for the head of the state, nor for its root frame. */
static inline bool touch(pawl_state *st, void *at, size_t size)
{
    undo *u = arena_get(st->t->mem, sizeof *u + size);

    if (u == NULL)
        return false;
    u->before = st->t->log;
    u->kind = UNDO_BYTES;
    u->at = at;
    u->size = size;
    if (size <= 64)
        memcpy(u + 1, at, size);
    else
        mem_copy(u + 1, at, size);
    st->t->log = u;
    return true;
}
#define TOUCH(st, object) touch((st), (object), sizeof *(object))
enum { SPARE_BYTES = 144 };     /* of a lone task and its name, mostly */
void *st_alloc(pawl_state *st, size_t size);    /* zeroed; lives as the transaction says */
void st_free(pawl_state *st, const void *ptr, size_t size);    /* at commit */
bool st_list_grew(pawl_state *st, list *l, size_t nodes, size_t count);
bool st_list_born(pawl_state *st, list *l);
void st_list_dies(pawl_state *st, list *l);
const char *st_text(pawl_state *st, const char *text, size_t size);    /* a copy with a NUL; size + 1 bytes */
/* A copy of `v` as the transaction keeps it; *bytes 0 when it is lent by the step. */
const pawl_value *st_value(pawl_state *st, const pawl_value *v, size_t *bytes);

/* ---- items -------------------------------------------------------------------------------------- */

typedef enum item_kind {        /* their order is part of the format: records are digested by it */
    ITEM_START, ITEM_INPUT, ITEM_UPDATE, ITEM_SIGNAL, ITEM_CANCEL, ITEM_REOPEN, ITEM_ADOPT,
    ITEM_RECORDS, ITEM_VISIT, ITEM_FRAME, ITEM_CALL, ITEM_SLEEP, ITEM_SPAWN, ITEM_ASK,
    ITEM_RECEIPT, ITEM_ANSWER, ITEM_SELECT, ITEM_LEAVE, ITEM_FAIL, ITEM_CLOSE, ITEM_PUT,
    ITEM_EMIT, ITEM_DROP, ITEM_TURN, ITEM_END, ITEM_DOUBT, ITEM_UNWIND, ITEM_REFUSAL, ITEM_KINDS
} item_kind;

typedef enum write_op { OP_MERGE = 0, OP_EXTEND = 1, OP_OVERWRITE = 2 } write_op;

typedef struct refs {           /* of one value read from bytes; paths are JSON pointers */
    const pawl_value *list;     /* [[path,form,target,digest?]...]; NULL: none */
} refs;

typedef struct write {
    const char *channel;
    const pawl_value *value;
    const char *event;          /* the value is this part of a receipt; NULL: it stands for itself */
    const char *from;           /* of a subgraph's begin: it is this channel of the graph around; else NULL */
    uint32_t place;             /* where the channel may stand in its frame */
    uint8_t op;
    refs refs;                  /* read from bytes, not yet put in */
} write;

typedef struct named {          /* a send's node, an emission's name */
    const char *name;
    const pawl_value *value;
    const char *event;          /* as in write */
    uint32_t sender;            /* of a route's send */
    uint32_t hint;              /* node_hint of the task it becomes */
    refs refs;
} named;

typedef struct leave {
    const write *writes;
    const named *sends, *emits;
    const char *const *gotos;
    uint32_t nwrites, nsends, nemits, ngotos;
    bool halt;
    const pawl_value *hold;     /* SPEC of the wait that follows; NULL: none */
} leave;

typedef struct closing {
    const char *const *next;
    const uint32_t *hints;      /* node_hint of each; NULL: none */
    const named *sends;         /* of routes */
    const write *merged;
    const pawl_value *defer, *joins;    /* NULL: unchanged */
    const uint32_t *drop;
    uint32_t nnext, nsends, nmerged, ndrop;
    bool drop_all;
} closing;

typedef struct item {
    uint8_t kind;
    uint8_t outcome;            /* receipt; unwind: the status that is to come */
    uint8_t wait;               /* ask: pawl_wait_kind; refuse: call_kind */
    bool hold;                  /* ask: of no visit */
    uint32_t place;             /* where the task may stand among the run's, by which it is found sooner */
    const char *task;           /* path; close: of the frame or ""; signal, emit: the name */
    uint32_t visit, n;          /* select: n wins race k */
    uint32_t k;
    bool inner;                 /* leave: of a task inside a subgraph */
    uint64_t superstep;
    int64_t at;
    const pawl_value *value;    /* the VALUE; of records, adopt, cancel ...: the object */
    const char *spec;           /* of commands and waits, fail, end, unwind: canonical text */
    size_t spec_size;
    const write *writes;        /* put, frame */
    uint32_t nwrites;
    const leave *leave;
    const closing *closing;
    const pawl_value *more;     /* answer, update: by, note, update */
    refs refs;                  /* of the VALUE, read from bytes, not yet put in */
    uint32_t text_at, text_size;/* its bytes in the entry */
    struct item *next;
} item;

struct pawl_entry {
    arena *mem;
    item *items, *last;
    uint32_t count;
    bool record, coded, hashed; /* coded: there are bytes; hashed: and a hash */
    bool read;                  /* from bytes: references are still to be put in */
    bool closes;                /* it closes the run's superstep */
    uint8_t kind, status;
    uint64_t seq, turn;
    int64_t time_ms;
    bool erased;                /* only its digest is left */
    hash prev, self, digest;    /* digest: of the body */
    pawl_bytes bytes;           /* the whole line, without newline */
    const char *items_text;     /* its body: the array of items */
    const pawl_value *in;       /* what came in, for references of a reducer */
    size_t apart;               /* bytes of its blobs, as far as they are known */
};

/* names.c */
const char *item_name(unsigned kind);
int item_kind_of(const char *name, size_t size);    /* -1: none */
/* The run that a child of `run`, of which `n` bytes are its id, is: RUN.sub-SAID, characters that no id has as '-'; too long, RUN cut and digits
 * made of both. NULL: no memory. */
const char *child_run_name(arena *a, const char *run, size_t n, const char *said);
int name_index(const char *const *names, size_t n, const char *name);  /* -1: none */
extern const char *const kind_names[12], *const status_names[7], *const outcome_names[5];
extern const char *const class_names[5], *const wait_names[5], *const rule_names[13], *const op_names[3];
bool name_valid(const char *name);              /* of a node, a channel, an effect */
bool channel_name_valid(const char *name);      /* or of one of Pawl's own: */
bool channel_own(const char *name);             /* begins with @; no expression sees it, no output shows it */
bool run_id_valid(const char *id);
uint32_t name_hash(const char *name);

/* code.c: items to bytes */
/* `apart`: what is too large for where it stands; NULL: nothing is. */
void item_code(buf *b, const item *it, const value_ref *held, size_t nheld, blob_set *apart, buf *scratch);
void id_code(buf *b, const item *it);           /* 2.review.1.0 */
void entry_code(pawl_entry *e, buf *b, const value_ref *held, size_t nheld, blob_set *apart, buf *scratch);
void envelope_code(buf *b, const pawl_entry *e);

/* parse.c: and back */
pawl_code entry_parse(pawl_entry *e, pawl_bytes line, pawl_err *err);  /* e->mem is set, the rest zero */
pawl_code items_parse(pawl_entry *e, const char *text, size_t size, pawl_err *err);
item *item_parse(arena *a, const char *text, size_t size, pawl_err *err);      /* its spec stays in the text */
item *item_of_value(arena *a, const pawl_value *v, const char **text, pawl_err *err);  /* text: canonical, of text_size bytes */
bool names_good(const pawl_value *names);       /* an array of texts */
bool joins_good(const pawl_value *joins);       /* {JOIN: names} */
const leave *leave_parse(arena *a, const char *text, size_t size, pawl_err *err);
bool id_parse(const char *id, char *task, uint64_t *superstep, uint32_t *visit_no, uint32_t *n);

/* ref.c: references read from bytes are put in */
const pawl_value *refs_resolve(pawl_state *st, arena *a, const task *tk, const pawl_value *in, const pawl_value *v,
                               const pawl_value *stand, const pawl_value **secrets, pawl_err *err);
/* blob.c: and so are blobs, through the loader; a failure of its stands in st->load_failed. */
const pawl_value *blob_get(pawl_state *st, arena *a, const char *digest, pawl_err *err);   /* NULL: told, or no memory */
/* Into *v, for those of `beside` whose path lies below `under`; all of them are blobs. *bytes grows by theirs. */
pawl_code blobs_fill(pawl_state *st, arena *a, const pawl_value **v, const pawl_value *beside, const char *under, size_t *bytes, pawl_err *err);
pawl_code item_whole(pawl_state *st, pawl_entry *e, item *it, pawl_err *err);   /* one that has references of its own */
bool blobs_like(blob_set *k, arena *mem, const pawl_entry *e);     /* from here on it sets apart what the entry does; false: no memory */
pawl_loader step_loader(pawl_step *s);          /* of what the step has set apart */
pawl_code channel_digest(pawl_state *st, channel *c, char *out, size_t size, pawl_err *err);
/* A reducer's command outlives what came in: where its spec refers to that, it is put in as the command is folded. */
pawl_code spec_whole(pawl_state *st, const pawl_value *in, const char **text, size_t *size, pawl_err *err);

/* channel.c */
channel *channel_search(const frame *f, const char *name);
static inline channel *channel_find(const frame *f, const char *name)   /* NULL: none; the first is looked at at once */
{
    channel *c = f->channels;

    return c != NULL && *c->d->name == *name && strcmp(c->d->name, name) == 0 ? c : channel_search(f, name);
}
const pawl_value *channel_load(pawl_state *st, channel *c);
static inline const pawl_value *channel_value(pawl_state *st, channel *c)       /* NULL: never set, or not to be loaded */
{
    if (!c->set || c->list != NULL)
        return c->set ? channel_load(st, c) : NULL;
    return of_val(c->block != NULL ? c->block : &c->scalar);
}
pawl_code channel_write(pawl_state *st, channel *c, unsigned op, const pawl_value *v, pawl_err *err);
/* The commonest write: one node, no text, under the rule last. One such in place of another needs nothing but itself. */
static inline bool write_is_plain(const channel *c, unsigned op, const pawl_value *v)
{
    return op == OP_MERGE && c->d->rule == PAWL_LAST && c->block == NULL && c->list == NULL && v != NULL &&
           (val_of(v)->tag & YYJSON_TYPE_MASK) <= YYJSON_TYPE_NUM && c->d->secret == NULL;
}
static inline pawl_code write_plain(pawl_state *st, channel *c, const pawl_value *v)
{
    if (!TOUCH(st, c))
        return PAWL_NOMEM;
    c->scalar = *val_of(v);
    c->set = true;
    return PAWL_OK;
}
/* Whether the channel may be written so, as far as can be said before what is there is known. */
pawl_code channel_takes(const channel *c, unsigned op, const pawl_value *v, pawl_err *err);
pawl_code channel_clear(pawl_state *st, channel *c);
pawl_code channels_init(pawl_state *st, frame *f);      /* from the declarations of f->where, with their first values */
const pawl_value *list_value(list *l);
bool list_push(pawl_state *st, list *l, const pawl_value *v);
void list_free(list *l);
list *list_new(pawl_state *st);
bool rule_is_list(unsigned rule);
static inline bool decl_fleets(const decl *d) { return d->rule == PAWL_EPHEMERAL || (d->rule == PAWL_TOPIC && !d->accumulate); }

/* replay.c: as pawl_replay and pawl_verify, and with what stands beside the journal (NULL: nothing does) */
pawl_code journal_fold(pawl_bytes journal, uint64_t upto, const pawl_loader *loader, const pawl_alloc *alloc, pawl_state **state,
                       pawl_err *err);
typedef struct journal_check {
    const pawl_machine *m;      /* NULL: it is folded only */
    const pawl_loader *loader;
    bool against;               /* `m` is asked for the last stretch, whosever that was */
    pawl_verdict v;             /* out, so the rest; `says` is to be freed */
    bool differs;               /* what went wrong is that the machine says something else, */
    pawl_bytes stored;          /* where this stands in the journal; {0}: it cannot take the run over at all */
    buf says;                   /* empty: it refused, or had nothing to say */
} journal_check;
pawl_code journal_verify(journal_check *c, pawl_bytes journal, const pawl_alloc *alloc, pawl_err *err);

/* segment.c */
pawl_code list_load(pawl_state *st, channel *c, pawl_err *err);

/* find.c, fold.c */
/* Whether it is the next one, and its hash follows. PAWL_GONE: it is, but its body is erased. */
pawl_code entry_fits(const pawl_state *st, const pawl_entry *e, pawl_err *err);
/* The frame that a path leads into, though its last superstep may be over: where holds stand. */
frame *frame_above(pawl_state *st, const char *path);
pawl_code item_fold(pawl_state *st, pawl_entry *e, item *it, pawl_err *err);
task *task_find(pawl_state *st, const char *path, frame **in);  /* NULL: none */
call *call_find(pawl_state *st, uint64_t superstep, const char *task, uint32_t visit_no, uint32_t n, frame **in);
frame *frame_find(pawl_state *st, const char *path);            /* "": the run's */
uint64_t number_in(const char **at);
pawl_code put_writes(pawl_state *st, frame *f, const pawl_value *object, bool custom, pawl_err *err);
const leave *task_leave(pawl_state *st, task *tk, pawl_err *err);      /* parsed when it must be */
pawl_code mark_add(pawl_state *st, const item *it, const char *text);
void marks_digest(pawl_state *st, hash *out);
pawl_code marks_drop(pawl_state *st);           /* they are covered */
void head_moves(pawl_state *st, const pawl_entry *e);   /* the entry is the newest */
pawl_code fold_close(pawl_state *st, const item *it, pawl_err *err);     /* close.c */
void call_count(pawl_state *st, const call *c, int by);  /* among what is open */
void task_drop(pawl_state *st, task *tk);       /* frees what it has */
bool frame_waits(const frame *f);               /* for the world, here or below */
static inline bool status_over(unsigned status)
{
    return (1u << status & (1u << PAWL_COMPLETED | 1u << PAWL_FAILED | 1u << PAWL_CANCELED_RUN | 1u << PAWL_REJECTED)) != 0;
}
/* Something can be done without waiting for anybody. In an open superstep that is only ending it: whatever can be
 * begun is begun by the step that makes it possible. */
static inline bool state_runnable(const pawl_state *st)
{
    if (st->canceling || st->root.nloose > 0)
        return false;
    if (st->root.ntasks == 0)       /* a fork of what was over: a tick ends it again. A reducer has no supersteps */
        return st->root.superstep > 0;
    return !st->root.open || !frame_waits(&st->root);
}
static inline pawl_status status_now(const pawl_state *st)      /* of a run that is not over */
{
    return st->people > 0 && st->commands == 0 && !state_runnable(st) ? PAWL_INPUT_REQUIRED : PAWL_WORKING;
}
static inline pawl_code next_of_state(const pawl_state *st, unsigned status)
{
    if (status_over(status))
        return PAWL_HALTED;
    if (state_runnable(st))
        return PAWL_OK;
    return st->commands > 0 ? PAWL_PENDING : PAWL_INTERRUPTED;
}
/* The open commands (or waits) in task order: calls `see` for each until it returns false. */
typedef bool see_call_fn(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n);
bool state_each_call(const pawl_state *st, see_call_fn *see, void *ctx);
/* As pawl_state_command, but nothing is put into its arguments. Where something is to be, they are NULL; *refers: all of that is the run's
 * own, and no secret. */
pawl_code state_command_bare(pawl_state *st, size_t index, pawl_step *s, pawl_command *out, bool *refers, pawl_err *err);
bool task_each_call(const frame *f, const task *tk, const char *path, see_call_fn *see, void *ctx);     /* of one, and in it; `path`: its own */
frame *frame_new(pawl_state *st, frame *parent, const char *where);
void frame_drop(pawl_state *st, frame *f);
void frame_clear(pawl_state *st, frame *f);     /* all but its channels */
bool task_ready(const task *tk);                /* every command of its last pass is answered */
/* The latest time that was told to the task, or anywhere in the subgraph: no order of arrival shows in it. */
int64_t task_time(const task *tk);
int64_t frame_time(const frame *f);

/* state.c, load.c, snapshot.c */
typedef struct base_parts {
    const char *channels, *machine, *machine_hash, *lineage, *prev;
    uint32_t version, no_progress, progress_nodes;
    uint64_t seq;
    pawl_bytes fold;
} base_parts;
void base_code(buf *b, const pawl_run_info *info, const base_parts *p);
bool unhex64(const char *text, uint64_t *n);     /* 16 digits; false: they are none */
pawl_code base_read(pawl_state *st, pawl_bytes base, pawl_err *err);
pawl_code snapshot_read(pawl_state *st, pawl_bytes snapshot, pawl_err *err);
pawl_code state_begin(pawl_state *st, const pawl_caps *caps, pawl_err *err);   /* the channels' first values, and its budget */
void state_drop(pawl_state *st);                /* what is in it, in a transaction */
/* From here on it is as if `m` had been adopted, with no entry that says so: for who asks what `m` would have said (F5).
 * PAWL_INVALID: it could not be, a channel of its is another one in the run. */
pawl_code state_under(const pawl_machine *m, pawl_state *st, pawl_step *s, pawl_err *err);     /* intake.c */
/* Channels that came with an adopted machine: {NAME: declaration}, with their first values. */
pawl_code decls_add(pawl_state *st, const pawl_value *channels, pawl_err *err);
void decls_code(buf *b, const decl *d, uint32_t n);
/* An object of the channels; `lists` false: not those that a snapshot names by entries; `secrets`: by their name. */
void values_code(pawl_state *st, const frame *f, buf *b, bool lists, bool secrets);
/* A value of a fold, which lies there at prefix/name; `beside` gets what stands apart of it. */
void part_code(buf *b, blob_set *apart, buf *beside, const char *prefix, const char *name, const pawl_value *v);
pawl_code frame_restore(pawl_state *st, pawl_entry *e, frame *f, const char *path, const pawl_value *fold, pawl_err *err);
extern const sm_row task_rows[TASK_STATES];     /* tables.c: the state machines of a run and of a task */
extern const sm_table run_table, task_table;

/* ---- steps ------------------------------------------------------------------------------------------ */

typedef struct visit {          /* the pass that is under way */
    frame *frame;
    task *task;
    const char *path;           /* of the task */
    const char *node;
    uint32_t cursor;            /* the next command's number */
    uint32_t races;
    uint32_t max_calls;
    bool unanswered;            /* somebody was told PENDING or INTERRUPTED */
    bool raced;                 /* there was a race: what lost may be left unanswered */
    bool racing;                /* and it is not decided: any receipt runs the visit again */
    bool reading;               /* a route: writes are refused */
    bool halt;
    bool issued;                /* a command was made in this pass */
    bool held;                  /* a person is asked before its next command: none is made behind that */
    uint32_t nwon;
    const pawl_limits *limits;  /* of the node's commands; NULL: of their effects */
    const pawl_limits *node_limits; /* of commands whose effect declares none */
    const pawl_value *args;
    uint64_t randoms;
    int64_t now;                /* of the visit */
    int64_t at;                 /* when the commands of this pass go out: by what was told here, whoever told it last */
    item *commands, *commands_last;
    write *writes;
    named *sends, *emits;
    const char **gotos;
    size_t nwrites, nsends, nemits, ngotos, writes_cap, sends_cap, emits_cap, gotos_cap;
    const pawl_value *hold;
    amounts wants;              /* reserved by commands of this pass */
    const char *refusal;        /* why a command was refused: the last one that was */
    const char **drops;         /* of a reducer: tags of what is given up */
    size_t ndrops, drops_cap;
    uint32_t won[RACES_MAX];    /* races decided in this pass; from here on visit_begin clears no more than it must */
    pawl_err err;               /* the first thing that went wrong in the node */
} visit;

struct pawl_step {
    pawl_alloc alloc;
    arena mem;
    pawl_state *st;             /* while it is fed */
    const pawl_machine *m;
    pawl_entry entry;
    bool some;                  /* there is an entry */
    visit *v;
    const pawl_event *ev;
    const pawl_value *value, *update;   /* of the event, parsed */
    const item *in;             /* what came in */
    call *answered;             /* by this event */
    value_ref *refs;            /* nodes of this step that stand for something else */
    size_t nrefs, refs_cap;
    buf out, scratch, text;
    blob_set blobs;                /* what this step set apart */
    txn t;
    int64_t now;                /* the event's time, never before the last */
    bool whole;                 /* this event makes an entry, whatever comes of it */
    bool waits_on;              /* and asks nothing of the machine: what is open stays so */
    bool was_open;              /* a superstep was open when it came */
    bool was_canceling;
    bool texts;                 /* the state keeps leaves of it as text */
    int final;                  /* the terminal status that the machine came to; -1: none */
    pawl_code next;             /* what pawl_feed returns */
    struct { void *at; void (*free)(void *at); } derived;       /* a cache of the layer above: a function of values alone; `at` NULL: none */
};

/* A new item, zeroed, with `more` bytes after it; NULL: no memory. */
static inline item *step_item_with(pawl_step *s, unsigned kind, size_t more)
{
    item *it = arena_zero(&s->mem, sizeof *it + more);

    if (it != NULL) {
        it->kind = (uint8_t)kind;
        it->task = "";
    }
    return it;
}
static inline item *step_item(pawl_step *s, unsigned kind) { return step_item_with(s, kind, 0); }
static inline item *step_close(pawl_step *s, closing **cl)      /* a close of the run's superstep, and what it will say */
{
    item *it = step_item_with(s, ITEM_CLOSE, sizeof **cl);

    if (it != NULL)
        it->closing = *cl = (closing *)(void *)(it + 1);
    return it;
}
/* Add an item to the step and fold it. */
static inline pawl_code step_add(pawl_step *s, item *it, pawl_err *err)
{
    pawl_entry *e = &s->entry;
    pawl_code rc;

    if (it == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a step");
    if ((rc = item_fold(s->st, e, it, err)) != PAWL_OK)
        return rc;
    *(e->last == NULL ? &e->items : &e->last->next) = it;
    e->last = it;
    e->count++;
    return PAWL_OK;
}
void step_cut(pawl_step *s, item *last, uint32_t count);        /* forget the items after this one, already taken back */
void step_reset(pawl_step *s);
buf *step_text(pawl_step *s);                   /* an empty buffer of the step's own */
pawl_code step_ref(pawl_step *s, const pawl_value *node, const char *form, const char *target, const char *digest);
/* The run is over: failed or rejected with its reason (canonical text of {"code","text"}), or NULL. */
pawl_code step_end(pawl_step *s, pawl_status status, const char *reason, size_t size, pawl_err *err);
/* {"code","text"} as canonical text in the arena. */
const char *reason_code(pawl_step *s, pawl_code code, const char *text, const pawl_value *more, size_t *size);
void step_items_code(pawl_step *s);             /* the bytes of what was added, at the end of a feed */
/* Results of the channels with a user's function, as a put item: for what came in from outside. `path`: of the wait in a
 * subgraph that it answers; else "". */
pawl_code step_custom(pawl_step *s, const char *path, const pawl_value *object, pawl_err *err);
pawl_code step_cancel(pawl_step *s, pawl_err *err);      /* goes on with a cancel, or with what undoes a run */
pawl_code step_drop(pawl_step *s, bool commands, pawl_err *err); /* drops the waits that are open, or all that is */
pawl_code step_drop_tagged(pawl_step *s, const char *tag, pawl_err *err);      /* all that is open under it */
pawl_code take_event(pawl_step *s, pawl_err *err);      /* intake.c: what came in becomes an item */
bool call_open(pawl_state *st, const char *id);         /* intake.c: a command or wait of that id is */
const char *step_copy(pawl_step *s, const buf *b, size_t *size);       /* into the arena; NULL: no memory */

/* undo.c: outcomes in doubt, and inverses (E5) */
#define UNDO_TASK "@undo"       /* stands for the task of an inverse */
bool doubt_due(const pawl_step *s, const call *c, pawl_outcome outcome);
pawl_code doubt_add(pawl_step *s, item *it, const call *c, pawl_err *err);     /* `it`: its kind, id and time are set */
/* What a person said came of it; false: it is to be performed again. */
bool doubt_told(const pawl_value *answer, arena *a, pawl_outcome *outcome, const pawl_value **value);
uint32_t doubt_cleared(arena *a, const call *c);
pawl_code fold_doubt(pawl_state *st, const item *it, pawl_err *err);
pawl_code undo_note(pawl_state *st, const item *it, const call *c, const pawl_value *receipt, pawl_err *err);
pawl_code undo_given_up(pawl_state *st, const frame *f, const task *tk, const char *path, pawl_err *err);  /* a visit is over: what is open of it */
bool undo_due(pawl_step *s);                    /* the run cannot end before something is undone */
pawl_code unwind_begin(pawl_step *s, pawl_status status, const char *reason, size_t size, pawl_err *err);
pawl_code unwind_next(pawl_step *s, pawl_err *err);
pawl_code fold_unwind(pawl_state *st, const item *it, pawl_err *err);
pawl_code fold_inverse(pawl_state *st);         /* one was issued */
void unwind_code(pawl_state *st, buf *b, blob_set *apart, buf *beside);    /* members of a fold, each after a comma */
pawl_code unwind_read(pawl_state *st, const pawl_value *fold, pawl_err *err);
static inline size_t undo_count(const pawl_state *st) { return st->undo != NULL ? st->undo->count : 0; }

/* visit.c: a pass of a node */
static inline void visit_begin(pawl_step *s, visit *v, frame *f, task *tk, const char *path, const char *node)
{
    mem_zero(v, offsetof(visit, won));
    err_begin(&v->err);
    v->frame = f;
    v->task = tk;
    v->path = path;
    v->node = node;
    v->args = tk != NULL ? tk->args : NULL;
    v->now = v->at = s->now;
    if (tk != NULL && (tk->timed || tk->at != TASK_READY)) {
        v->now = tk->visit_ms;
        v->at = task_time(tk);
    }
    v->max_calls = UINT32_MAX;
    s->v = v;
}
/* In a subgraph: it begins when what was before it there was over. */
void visit_follows(const pawl_step *s, visit *v);
/* Races that it decided become items; to come before all else of the pass. */
pawl_code visit_races(pawl_step *s, visit *v, pawl_err *err);
/* A visit that begins in a task record says its time; in an entry it is the entry's. */
pawl_code visit_time_item(pawl_step *s, visit *v, pawl_err *err);
/* Commands of the pass become items. */
pawl_code visit_commands(pawl_step *s, visit *v, pawl_err *err);
/* What it wrote becomes a leave item, folded. */
pawl_code visit_leave(pawl_step *s, visit *v, pawl_err *err);
/* The next command of the visit: PENDING while it is open, PAWL_OK with its value, PAWL_EFFECT; CORRUPT when another was made before.
 * `due`: what it reserves; NULL: nothing. PAWL_LIMIT: it is, or was, refused. */
pawl_code visit_command(pawl_step *s, unsigned kind, int64_t time_ms, unsigned wait, const char *spec, size_t size,
                        const amounts *due, const call **out);
pawl_code visit_wrong(pawl_step *s, pawl_code code, const char *fmt, ...) PAWL_PRINTF(3, 4);
/* The SPEC of a call: {"args","class","effect","refs","retry","tag","timeouts"}. NULL: told. */
const char *spec_call(pawl_step *s, const char *effect, const pawl_value *args, const pawl_limits *limits, const char *tag, size_t *size);
typedef struct spawn_more { const char *name, *tag; } spawn_more;     /* of a reducer's child; each may be NULL */
const char *spec_spawn(pawl_step *s, const char *machine, const pawl_value *input, const pawl_caps *share, const spawn_more *more,
                       size_t *size);   /* `more` NULL: nothing */
void spec_limits(const pawl_value *spec, pawl_limits *out);     /* and back */
/* The SPEC of a wait; `to` and `hold` for those of no visit. */
/* Whether nothing in `v` stands for a channel or a secret: that is for the arguments of commands; else told. */
bool refs_none(pawl_step *s, const pawl_value *v);
const char *spec_ask(pawl_step *s, const pawl_question *q, const char *slot, int64_t now, const char *name,
                     const char *to, const char *tag, bool hold, size_t *size);
bool is_no(const pawl_value *answer);           /* to an approval: false, or "no" */
/* {"as","by","note","update"}: what the event said of these; `as`: its name is a node. */
const pawl_value *event_said(pawl_step *s, const char *by, bool as);
const pawl_value *spec_get(pawl_step *s, const call *c, const char *member);

/* ---- machines ------------------------------------------------------------------------------------------ */

typedef struct machine_channel {
    pawl_channel c;             /* names copied */
    const char *where;
} machine_channel;

typedef struct effect_decl { const char *name; pawl_limits limits; } effect_decl;

typedef struct machine_ops {
    /* What came in is folded already; go on from there. Adds items; ends with the run's status
     * settled. PAWL_IGNORED: the event means nothing here. */
    pawl_code (*drive)(const pawl_machine *m, pawl_step *s, pawl_err *err);
    void (*free)(pawl_machine *m);
} machine_ops;

struct pawl_machine {
    const machine_ops *ops;
    pawl_alloc alloc;
    const char *name;
    uint32_t version;
    hash hash;
    char hash_hex[HASH_HEX + 1];
    const machine_channel *channels;
    uint32_t nchannels;
    const effect_decl *effects;
    uint32_t neffects;
    uint32_t no_progress;
    const char *channel_json;   /* of the base: canonical text of `channels` */
    const char *output;         /* the channel that a parent gets; NULL: all */
    const char *interrupt;      /* the signal that reaches handlers, too; NULL: none */
    bool turns;
    bool hears;                 /* a signal that nobody waits for is an event all the same */
    bool declares;              /* effects that were declared after it was made lie in `declared` */
    arena declared;
};

void retry_code(buf *b, const pawl_retry *r);           /* for the hash */
void limits_code(buf *b, const pawl_limits *l);
const char *limits_wrong(const pawl_limits *l);         /* NULL: its inverse and on_unknown go with its class */
const pawl_limits *machine_limits(const pawl_machine *m, const char *effect);  /* NULL: the default */
const machine_channel *machine_channel_find(const pawl_machine *m, const char *where, const char *name);
/* Canonical text of the channels' declarations, in the arena; for the base and the hash. NULL: no memory, or a
 * first value that is no JSON (err). */
const char *channels_code(arena *a, const machine_channel *c, size_t n, pawl_err *err);

/* node.c, for the graph: a send, a goto; the names are the machine's. */
bool worth_naming(const pawl_value *v);          /* by reference, since it is longer than one */
void node_send(pawl_step *s, const char *node, const pawl_value *v);
void node_goto(pawl_step *s, const char *node);

#endif
