/* item.h - items and entries: a step is a list of items, and folding items is the only way in which a state changes (K6).
 *
 * They live in the arena of their entry. Their kinds and the order of these are part of the stored format. */
#ifndef KERNEL_ITEM_H
#define KERNEL_ITEM_H

#include "json/json.h"
#include "pawl/kernel.h"

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
    bool erased;                /* only its digest is left */
    uint8_t kind, status;
    uint64_t seq, turn;
    int64_t time_ms;
    hash prev, self, digest;    /* digest: of the body */
    pawl_bytes bytes;           /* the whole line, without newline */
    const char *items_text;     /* its body: the array of items */
    const pawl_value *in;       /* what came in, for references of a reducer */
    size_t apart;               /* bytes of its blobs, as far as they are known */
};

#endif
