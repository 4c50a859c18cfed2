/* machine.h - the part that all machines have in common. Owned by the code that made it; immutable, and so readable from every thread, once
 * made: effects are declared before the machine is used. */
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
    /* Continues after the event's item was folded. Adds items; s->final is set when the run ends. PAWL_IGNORED: the event means nothing to
     * this machine. */
    pawl_code (*drive)(const pawl_machine *m, pawl_step *s, pawl_err *err);
    void (*free)(pawl_machine *m);
    const char *kind;           /* name of the layer that made the machine, compared by address; NULL: not needed */
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
    const char *channel_json;   /* canonical text of `channels`, for the base */
    const char *output;         /* the channel that a parent run gets as result; NULL: all channels */
    const char *interrupt;      /* the signal that also interrupts running handlers; NULL: none */
    bool turns;
    bool settles;               /* for its joins, branches that were not taken count as done (G3); also without a join: an upgrade may bring one */
    bool rounds;                /* a join with `need` begins its next round with the sources that come again (G3); also of each file, as `settles` */
    bool patterns;              /* answers are checked by `pattern`, which older versions left out (K5): agent files */
    bool shows_undo;            /* an effect has an inverse, and approvals are of both (P10) */
    bool modes;                 /* a graph that obeys the mode of its run, and passes it on to its children */
    bool hears;                 /* the machine gets a signal even when no wait takes it */
    bool declares;              /* effects were declared after the machine was made; arena `declared` owns them */
    arena declared;
};

void retry_code(buf *b, const pawl_retry *r);           /* canonical text for the machine's hash */
void limits_code(buf *b, const pawl_limits *l);
const char *limits_error(const pawl_limits *l);         /* error text when the inverse or on_unknown does not fit the class; NULL: valid */
const pawl_limits *machine_limits(const pawl_machine *m, const char *effect);  /* NULL: the default */
const machine_channel *machine_channel_find(const pawl_machine *m, const char *where, const char *name);
/* Canonical text of the channels' declarations, in the arena, for the base and the hash. NULL: no memory, or a first value is not valid JSON
 * (err is set). */
const char *channels_code(arena *a, const machine_channel *c, size_t n, pawl_err *err);

#endif
