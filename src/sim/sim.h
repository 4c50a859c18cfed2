/* sim.h - inside the simulator.
 *
 * A world is one store in memory, which never errs, and workers who reach it through handles that do (store.c). They take turns
 * in portions, one inside the other (crew.c), and what they perform happens at a far end that keeps count (far.c). Beside them
 * stands the fold of all that is durable, against which everything is held (ledger.c). Clients begin runs, answer, signal and
 * call off (client.c). Where agents are simulated, models, tools and people are chance (model.c, fit.c), and more is held against it
 * (agents.c, rules.c). */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "engine/engine.h"
#include "pawl/sim.h"

enum { SIM_WORKERS_MAX = 8, SIM_RUNS_MAX = 512, SIM_EFFECTS_MAX = 1024, SIM_MACHINES_MAX = 64, SIM_TRACE_BYTES_MAX = 4 << 20 };

typedef struct rng { uint64_t at; } rng;

typedef struct sim_command {           /* a command, as the journal and the far end know it */
    struct sim_command *next;
    uint32_t hash;
    bool durable;               /* it stands in the store */
    bool own;                   /* a sleep or a child: the engine's own, nobody performs it */
    bool has_inverse;
    bool failed;                /* its handler says that it fails for good */
    uint32_t receipts;          /* in the store */
    uint32_t performed;
    uint64_t attempts;          /* a bit for each that was performed */
    struct { char hex[HASH_HEX + 1]; } args;
    char *reply;                /* what it came to; NULL: nothing yet, or it failed */
    size_t reply_size;
    char id[];
} sim_command;

typedef struct sim_run {          /* a run, as everybody outside of it knows it */
    char id[RUN_BYTES_MAX + 1];
    bool child;                 /* begun by another: nobody from outside begins, signals or calls it off */
    const char *input;
    uint64_t seed;
    struct world *of;           /* once it is loaded */
    buf blob;                   /* the one that was read last */
    pawl_state *st;             /* what is durable, folded from the base; NULL: nothing is */
    size_t nrecords;            /* of the open superstep, that are folded */
    sim_command *commands;
    bool begun;                 /* the client knows that it is */
    bool cancel, called_off;    /* it is to be; the client knows that it is */
    int64_t cancel_ms;
    size_t signals;             /* that were left for it */
    bool marred;
    size_t done, undone;        /* what has an inverse, and inverses, by their receipts */
    uint8_t status;             /* how it ends undisturbed, */
    char *json;                 /* and with what */
    size_t json_size;
} sim_run;

typedef struct late_reply { int64_t at_ms; sim_run *run; sim_command *of; unsigned no; } late_reply;     /* an answer that is on its way */

struct world;
typedef struct worker {
    struct world *w;
    pawl_engine *e;             /* NULL: to be made */
    char name[24];
    unsigned number, life;
    bool dead, active;
    unsigned left;              /* points until it is told to stop */
} worker;

typedef struct write_record write_record;     /* see store.c */

typedef struct world {
    const pawl_sim_setup *setup;
    pawl_sim_trouble t;
    pawl_sim_report *report;
    pawl_alloc alloc;
    pawl_machine *m, *more[SIM_MACHINES_MAX];
    unsigned nmore;
    pawl_store *store;
    pawl_engine *auditor;       /* loads runs as a worker would, and nothing goes wrong with it */
    rng rand;
    int64_t now;
    bool calm;                  /* no trouble any more */
    bool plain;                 /* never was: the undisturbed one */
    bool over;                  /* an oracle failed, or memory did */
    pawl_durability durability; /* of the workers */
    bool lost_writes;                /* a power cut took something back */
    pawl_err err;
    buf trace;
    worker workers[SIM_WORKERS_MAX];
    unsigned nworkers, depth;
    sim_run runs[SIM_RUNS_MAX];
    unsigned nruns;
    char *effects[SIM_EFFECTS_MAX];
    unsigned neffects;
    late_reply *late;
    size_t nlate, late_cap;
    unsigned late_no;
    const sim_run *starting;      /* whose seed is drawn next */
    pawl_step *look;
    write_record *first, *last;        /* what was written since the world began, where it may be forgotten */
    size_t nwrites, nsafe;
} world;

/* ---- sim.c ---------------------------------------------------------------------------------------- */

uint64_t rng_draw(rng *c);
uint64_t rng_below(rng *c, uint64_t n);
uint64_t sim_draw(world *w);
uint64_t sim_below(world *w, uint64_t n);
bool sim_happens(world *w, unsigned of_thousand);   /* never when it is calm */
void trace_line(world *w, const worker *k, const char *fmt, ...) PAWL_PRINTF(3, 4);    /* a line of the trace; k NULL: nobody's */
/* The first one counts. `oracle` is static; `y` and `id` may be NULL. */
void oracle_failed(world *w, const char *oracle, const sim_run *y, const char *id, const char *fmt, ...) PAWL_PRINTF(5, 6);
void sim_nomem(world *w);
sim_run *sim_run_find(world *w, const char *run);         /* NULL: none */
pawl_machine *machine_of(world *w, const char *name);

/* ---- crew.c: who works ------------------------------------------------------------------------------ */

bool point(worker *k);                      /* between two actions; false: the worker is dead */
bool worker_start(world *w, worker *k);            /* it has an engine now */
pawl_code machines_lend(world *w, pawl_engine *e);
void worker_stop(world *w, worker *k);
typedef void turn_fn(world *w, worker *k, void *arg);
void worker_turn(world *w, worker *k, turn_fn *fn, void *arg);
void effect_register(world *w, const char *name, size_t size);     /* all workers are given a handler for it */
void trouble_phase(world *w);
void calm_phase(world *w);                       /* until every run is over, or it is clear that one never will be */

/* ---- store.c ----------------------------------------------------------------------------------------- */

pawl_store *worker_store(worker *k);          /* NULL: no memory. k->w->auditor's has no worker: see there */
pawl_store *plain_store(world *w);
void power_cut(world *w);
void writes_free(world *w);

/* ---- far.c: where effects happen ------------------------------------------------------------------------ */

pawl_handler_fn remote_act;                    /* its arg is the worker */
/* What the far end knows of it, as who is asked about a doubt answers: {"done":V}, {"failed":TEXT} or "again". False: it may
 * still be on its way, and nobody can say. */
bool remote_outcome(world *w, const sim_run *y, const sim_command *d, buf *out);
bool late_reply_send(world *w);                 /* one that is due is left in the store; false: none was */

/* ---- ledger.c: what is durable ------------------------------------------------------------------------ */

void sim_run_created(world *w, pawl_bytes base); /* a run that another has begun */
void sim_run_follow(world *w, sim_run *y);      /* what the store has more of it is folded */
void sim_run_refold(world *w, sim_run *y);      /* and is folded anew */
sim_command *command_find(world *w, sim_run *y, const char *id, bool make);
bool sim_run_settled(world *w, sim_run *y);     /* over, or nobody will say anything to it */
void sim_run_audit(world *w, sim_run *y);       /* K6 */
void sim_run_judge(world *w, sim_run *y);         /* all that has to hold at the end */
void sim_run_free(world *w, sim_run *y);

/* ---- client.c ------------------------------------------------------------------------------------------ */

bool client_acts(world *w, worker *k);      /* false: there is nothing to be said */
const char *answer_to(world *w, const pawl_wait *wait, buf *room);      /* NULL: nobody answers it */

/* ---- fit.c ------------------------------------------------------------------------------------------------ */

/* A value that fits `schema`, as JSON, as far as the plain keywords say it; the plainest one, or one of many by `c`. */
void schema_value(buf *b, const pawl_value *schema, rng *c);

#endif
