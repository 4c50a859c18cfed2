/* machine.h - what all machines have in common. Immutable once it is made, but for effects that are declared later. */
#ifndef KERNEL_MACHINE_H
#define KERNEL_MACHINE_H

#include "json/json.h"
#include "pawl/kernel.h"

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
    const char *kind;           /* of the layer that made it, compared by address; NULL: nobody asks */
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

#endif
