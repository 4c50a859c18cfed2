/* item.h - items and entries: a step is a list of items, and folding items is the only way in which a state changes (K6).
 *
 * An item is in the arena of its entry: the step's while an event is fed, the reader's for a stored entry. The item kinds and their order
 * are part of the stored format. */
#ifndef KERNEL_ITEM_H
#define KERNEL_ITEM_H

#include "json/json.h"
#include "pawl/kernel.h"

#include <string.h>

typedef enum item_kind {        /* the order is part of the format: the digest of task records depends on it */
    ITEM_START, ITEM_INPUT, ITEM_UPDATE, ITEM_SIGNAL, ITEM_CANCEL, ITEM_REOPEN, ITEM_ADOPT,
    ITEM_RECORDS, ITEM_VISIT, ITEM_FRAME, ITEM_CALL, ITEM_SLEEP, ITEM_SPAWN, ITEM_ASK,
    ITEM_RECEIPT, ITEM_ANSWER, ITEM_SELECT, ITEM_LEAVE, ITEM_FAIL, ITEM_CLOSE, ITEM_PUT,
    ITEM_EMIT, ITEM_DROP, ITEM_TURN, ITEM_END, ITEM_DOUBT, ITEM_UNWIND, ITEM_REFUSAL, ITEM_SIGN, ITEM_KINDS
} item_kind;

static inline uint32_t kind_bit(unsigned kind) { return UINT32_C(1) << kind; }
_Static_assert(ITEM_KINDS <= 32, "the kinds of an entry are bits of one number");

/* It is about one command or wait, by its id. */
static inline bool item_has_id(unsigned kind)
{
    return kind == ITEM_CALL || kind == ITEM_SLEEP || kind == ITEM_SPAWN || kind == ITEM_ASK || kind == ITEM_RECEIPT || kind == ITEM_ANSWER ||
           kind == ITEM_DROP || kind == ITEM_DOUBT || kind == ITEM_REFUSAL || kind == ITEM_SIGN;
}

typedef enum write_op { OP_MERGE = 0, OP_EXTEND = 1, OP_OVERWRITE = 2 } write_op;

typedef struct refs {           /* the references of one value that was read from bytes; paths are JSON pointers */
    const pawl_value *list;     /* [[path,form,target,digest?]...]; NULL: no references */
} refs;

typedef struct item_write {
    const char *channel;
    const pawl_value *value;
    const char *event;          /* the part of a receipt that the value is a copy of, stored in its place; NULL: the value is stored itself */
    const char *from;           /* start of a subgraph: the channel of the surrounding graph whose value this is; else NULL */
    uint32_t place;             /* probable index of the channel in its frame, checked before use */
    uint8_t op;
    refs refs;                  /* read from bytes, not yet resolved */
} item_write;

typedef struct named {          /* the node of a send, or the name of an emission */
    const char *name;
    const pawl_value *value;
    const char *event;          /* as in write */
    uint32_t sender;            /* index of the task whose route made this send */
    uint32_t hint;              /* node_hint of the task that the send makes */
    const char *owner;          /* of a reducer's emission: the visit's owner then */
    refs refs;
} named;

typedef struct leave {
    const item_write *writes;
    const named *sends, *emits;
    const char *const *gotos;
    uint32_t nwrites, nsends, nemits, ngotos;
    bool halt;
    const pawl_value *hold;     /* SPEC of a wait before the next superstep; NULL: none */
} leave;

typedef struct closing {
    const char *const *next;
    const uint32_t *hints;      /* node_hint of each; NULL: none */
    const named *sends;         /* the sends of routes */
    const item_write *merged;
    const pawl_value *defer, *joins;    /* NULL: unchanged */
    const uint32_t *drop;
    uint32_t nnext, nsends, nmerged, ndrop;
    bool drop_all;
} closing;

typedef struct item {           /* what each item of a wide superstep needs is in its first 64 bytes: they are walked several times */
    uint8_t kind;
    uint8_t outcome;            /* receipt: pawl_outcome; unwind: the coming status */
    uint8_t wait;               /* ask: pawl_wait_kind; refusal: call_kind */
    bool hold : 1;              /* ask: a detached wait, between two supersteps */
    bool inner : 1;             /* leave: of a task inside a subgraph */
    uint32_t place;             /* probable index of the task in the run's frame, checked before use */
    const char *task;           /* path of the task; close: path of the frame or ""; signal, emit: the name */
    uint32_t visit, n;          /* select: n wins race k */
    uint32_t k;
    uint32_t nwrites;
    struct item *next;
    const leave *leave;
    uint32_t text_at, text_size;/* its bytes in the entry */
    uint64_t superstep;
    int64_t at;
    const pawl_value *value;    /* the VALUE; of records, adopt, cancel ...: the object */
    const char *spec;           /* commands and waits: the SPEC; fail, end, unwind: the reason; canonical text */
    size_t spec_size;
    const item_write *writes;   /* put, frame */
    const closing *closing;
    const pawl_value *more;     /* answer, sign, update: by, note, update */
    refs refs;                  /* of the VALUE, read from bytes, not yet resolved */
} item;
enum { ITEM_BYTES = 128 };
_Static_assert(sizeof(item) <= ITEM_BYTES, "an item is two lines of the cache: a wide step has very many");
/* Two constant sizes that are a few stores each: of the whole the compiler would make a loop or a call. */
static inline void item_zero(item *it)
{
    memset(it, 0, 64);
    memset((char *)it + 64, 0, sizeof *it - 64);
}

struct pawl_entry {
    arena *mem;
    item *items, *last;
    uint32_t count;
    uint32_t kinds;             /* kind_bit() of each item, and perhaps of items that were taken back: most questions need no walk over all items */
    bool record, coded, hashed; /* coded: `bytes` is set; hashed: `self` too */
    bool read;                  /* read from bytes: references are not resolved yet */
    bool closes;                /* it closes the run's superstep */
    bool erased;                /* the body is erased, only its digest is left */
    uint8_t kind, status;
    uint64_t seq, turn;
    int64_t time_ms;
    hash prev, self, digest;    /* digest: of the body */
    pawl_bytes bytes;           /* the whole line, without newline */
    const char *items_text;     /* its body: the array of items */
    const pawl_value *in;       /* the value of the event, for references of a reducer */
    size_t apart;               /* bytes of its blobs that are known so far */
};

#endif
