/* sim.h - inside the simulator.
 *
 * A world is one store, in memory or SQLite, which never errs, and workers who reach it through handles that do (store.c). They take turns
 * (workers.c): a turn of one may stand inside a turn of another, between any two of its actions (points.c). What they perform happens at a
 * far end that keeps count (remote.c). Beside them stands the fold of all that is durable (oracle.c), against which every write, attempt and
 * run is held (checks.c, judge.c). Clients begin runs, answer, signal and cancel (client.c, answers.c). Where agents are simulated, models,
 * tools and people are chance (model.c, schema_values.c), and more is held against them (agents.c, rules.c).
 *
 * One thread, no lock. Calls go one way: sim.c, workers.c, client.c and remote.c, store.c, judge.c, fairness.c, oracle.c, checks.c, points.c, world.c. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "engine/engine.h"
#include "kernel/item.h"
#include "kernel/names.h"
#include "pawl/sim.h"
#include "sim/promises.h"

enum { SIM_WORKERS_MAX = 8, SIM_RUNS_MAX = 512, SIM_EFFECTS_MAX = 1024, SIM_MACHINES_MAX = 64, SIM_TRACE_BYTES_MAX = 4 << 20,
    SIM_PATH_BYTES = 96, SIM_OWNER_BYTES = 24, SIM_LIFE_BYTES = 24 };

typedef struct rng { uint64_t at; } rng;

typedef struct sim_command {           /* a command, as the journal and the remote service know it */
    struct sim_command *next;
    uint32_t hash;
    bool durable;               /* it is stored */
    bool own;                   /* a sleep or a child: performed by the engine */
    bool has_inverse;
    bool failed;                /* its handler has reported a final failure */
    bool done;                  /* its receipt says that it is done */
    bool undone;                /* its inverse was issued */
    uint32_t receipts;          /* number in the store */
    uint32_t performed;
    uint64_t attempts;          /* a bit for each attempt, including refused ones */
    const struct worker *replied_to;        /* the worker (in this life) that has its reply; NULL: none */
    unsigned replied_life;
    uint32_t cleared;           /* attempts before a person had it performed again */
    int64_t first_ms;           /* of its first attempt */
    int64_t due_ms;             /* of a sleep */
    int64_t rest_until_ms;      /* end of its back-off; 0: none */
    uint64_t rest_fence;        /* of the holder whose attempt failed */
    unsigned rest_faults;       /* verbs that had failed for that worker by then */
    bool rest_handed_on;        /* that holder released the run properly, so the next one knows of the back-off */
    struct { char hex[HASH_HEX + 1]; } args;
    char *reply;                /* its reply; NULL: none yet, or it failed */
    size_t reply_size;
    char id[];
} sim_command;

typedef struct sim_answer { struct sim_answer *next; int64_t at_ms; size_t size; char id[]; } sim_answer;     /* an answer that was left for a wait */

typedef struct sim_run {          /* a run, as the outside knows it */
    char id[RUN_BYTES_MAX + 1];
    bool child;                 /* started by another run: clients do not start, signal or cancel it */
    const char *input;
    uint64_t seed;
    struct world *of;           /* set once it is loaded */
    buf blob;                   /* the last one that was read */
    pawl_state *st;             /* the durable state, folded from the base; NULL: nothing is durable */
    size_t nrecords;            /* folded records of the open superstep */
    sim_command *commands;
    sim_answer *answers;
    bool begun;                 /* the client knows that it has started */
    bool cancel, called_off;    /* it should be canceled; the client knows that it is */
    int64_t cancel_ms;
    size_t signals;             /* number that was left for it */
    unsigned signaled_round;    /* the calm round of the last one */
    bool marred;
    struct { int64_t ready_ms; unsigned count; } passed;        /* could continue since (0: cannot, or was served); appends of others */
    uint64_t unknown_fence;     /* of a lease that its worker does not know; 0: none */
    char undone_id[ID_BYTES_MAX + 1];       /* the last command whose inverse was issued; "": none */
    uint8_t status;             /* its final status without faults */
    char *json;                 /* and its final state */
    size_t json_size;
} sim_run;

typedef struct late_reply { int64_t at_ms; sim_run *run; sim_command *of; unsigned no; } late_reply;     /* a reply that is on its way */

typedef struct stale_receipt { uint64_t no; const sim_run *run; const char *id; } stale_receipt;     /* a delivery for an earlier life of the run */

struct world;
typedef struct worker {
    struct world *w;
    pawl_engine *e;             /* NULL: to be created */
    char name[SIM_OWNER_BYTES];
    unsigned number, life;
    bool dead, active, working; /* working: in pawl_work */
    unsigned left;              /* points until it is stopped */
    unsigned faults;            /* verbs of its store that failed */
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
    char path[SIM_PATH_BYTES];  /* of a SQLite store; "": in memory */
    unsigned generation;        /* number of its file */
    pawl_handler_fn *handler;   /* for all effects of the workers */
    void (*rival)(struct world *w, const worker *k);    /* gives another worker a turn */
    void (*power_cut)(struct world *w);
    pawl_engine *auditor;       /* loads runs like a worker, without faults */
    rng rand, again;            /* `again`: for later additions, so that old seeds keep their course */
    int64_t now;
    bool calm;                  /* no more faults */
    bool plain;                 /* without faults from the beginning */
    bool over;                  /* an oracle failed, or there was no memory */
    pawl_durability durability; /* of the workers */
    bool lost_writes;                /* a power cut has undone writes */
    pawl_err err;
    buf trace;
    worker workers[SIM_WORKERS_MAX];
    unsigned nworkers, depth;
    unsigned round;             /* number of the calm round; 0: not calm yet */
    sim_run runs[SIM_RUNS_MAX];
    unsigned nruns;
    char *effects[SIM_EFFECTS_MAX];
    unsigned neffects;
    late_reply *late;
    size_t nlate, late_cap;
    unsigned late_no;
    stale_receipt *stale;
    size_t nstale, stale_cap;
    const sim_run *starting;      /* the run whose seed is drawn next */
    pawl_step *look, *look_specs;       /* for entries that are read; for specs in a state */
    write_record *first, *last;        /* what was written, if it can be lost */
    size_t nwrites, nsafe;
} world;

/* ---- world.c ---------------------------------------------------------------------------------------- */

uint64_t rng_draw(rng *c);
uint64_t rng_below(rng *c, uint64_t n);
uint64_t sim_draw(world *w);
uint64_t sim_below(world *w, uint64_t n);
bool sim_happens(world *w, unsigned of_thousand);   /* never in a calm world */
void trace_line(world *w, const worker *k, const char *fmt, ...) PAWL_PRINTF(3, 4);    /* a line of the trace; k NULL: of no worker */
/* Counts a check of the promise; if it does not hold, the world ends. Only the first failure counts. `y` and `id` may be NULL. */
bool sim_holds(world *w, sim_promise p, bool holds, const sim_run *y, const char *id, const char *fmt, ...) PAWL_PRINTF(6, 7);
/* The same for a promise of the setup; `name` is static. */
void oracle_failed(world *w, const char *name, const sim_run *y, const char *id, const char *fmt, ...) PAWL_PRINTF(5, 6);
void sim_nomem(world *w);
sim_run *sim_run_find(world *w, const char *run);         /* NULL: none */
pawl_machine *machine_of(world *w, const char *name);
sim_command *command_find(world *w, sim_run *y, const char *id, bool make);
sim_command *command_local(world *w, sim_run *y, const char *id);    /* by its id without run and life; NULL: none */
void effect_register(world *w, const char *name, size_t size);     /* all workers get a handler for it */
void handler_give(world *w, worker *k, const char *name);

/* ---- points.c --------------------------------------------------------------------------------------- */

bool point(worker *k);                      /* between two actions; false: the worker is dead */

/* ---- workers.c -------------------------------------------------------------------------------------- */

pawl_code machines_lend(world *w, pawl_engine *e);
void worker_stop(world *w, worker *k);
void rival_turn(world *w, const worker *k);
void trouble_phase(world *w);
void calm_phase(world *w);                       /* until every run has ended, or it is clear that one never will */

/* ---- store.c, writes.c ------------------------------------------------------------------------------- */

pawl_store *worker_store(worker *k);          /* NULL: no memory. That of k->w->auditor has no worker */
pawl_store *plain_store(world *w);
pawl_store *store_connect(world *w);          /* a further connection to SQLite; else an empty store */
bool store_begin(world *w, uint64_t seed);    /* the empty store of a world; false: see w->err */
void store_end(world *w);

typedef enum write_kind { WRITE_CREATE, WRITE_CLAIM, WRITE_RENEW, WRITE_RELEASE, WRITE_APPEND, WRITE_MARK, WRITE_DELIVER, WRITE_PRUNE,
    WRITE_REMOVE } write_kind;

struct write_record {                  /* a verb with all its arguments */
    write_record *next;
    write_kind kind;
    arena mem;
    int64_t now_ms, ttl_ms;
    const char *run, *owner;
    uint64_t fence, seq;
    pawl_bytes base;
    pawl_append *all;
    pawl_claim *claims;
    pawl_hold *holds;
    pawl_mark *marks;
    size_t n;
    pawl_delivery d;
};
void write_log(world *w, write_record what);
void writes_free(world *w);
void power_cut(world *w);

/* ---- remote.c: where effects happen ------------------------------------------------------------------ */

pawl_handler_fn remote_act;                    /* its arg is the worker */
bool remote_outcome(world *w, const sim_run *y, const sim_command *d, buf *out);      /* as the remote service knows it, as an answer; false: on its way */
void late_reply_put(world *w, const struct worker *k, sim_run *y, sim_command *d);      /* its reply comes by mail, once more; k NULL: of no worker */
bool late_reply_send(world *w);                 /* stores one that is due; false: none was */

/* ---- oracle.c: what is durable ------------------------------------------------------------------------ */

void sim_run_created(world *w, pawl_bytes base); /* a run that another run has started */
void sim_run_follow(world *w, sim_run *y);      /* folds what the store has beyond it */
void sim_run_refold(world *w, sim_run *y);      /* folds it again from the base */
void sim_run_answered(world *w, sim_run *y, const pawl_delivery *d);     /* an answer was left for it */
pawl_loader sim_run_loader(world *w, sim_run *y);
bool sim_run_settled(world *w, sim_run *y);     /* it has ended, or nobody will send it anything */
void sim_run_free(world *w, sim_run *y);

/* ---- checks.c: what has to hold of one write or attempt ------------------------------------------------ */

void sleep_check(world *w, sim_run *y, const sim_command *d, const item *it);
void answer_check(world *w, sim_run *y, const item *it);
void inverse_check(world *w, sim_run *y, const item *it);
void stale_receipts_check(world *w, sim_run *y, const pawl_append *a);       /* after it was stored: E16 */
int64_t first_timer_ms(world *w, const sim_run *y);    /* 0: none */
void timers_check(world *w, sim_run *y);        /* after a write: E9 */
/* `before`: their heads before the claim, and their codes (S2). */
void claims_check(world *w, const char *owner, const pawl_claim *before, const pawl_claim *all, size_t n);
void holder_check(world *w, const worker *k, const sim_run *y, const pawl_job *job);    /* S2 */
void attempt_number_check(world *w, const sim_run *y, sim_command *d, const pawl_job *job, const pawl_limits *limits);
void backoff_begin(world *w, const worker *k, sim_command *d, const pawl_job *job, const pawl_limits *limits);     /* its attempt has failed */
void backoffs_handed_on(const worker *k, sim_run *y, uint64_t fence);       /* the holder of that fence has released the run */

/* ---- fairness.c, judge.c, compare.c: what has to hold of a run ------------------------------------------------------ */

void run_served(sim_run *y);                     /* a step, an attempt, or nothing to do */
void fairness_check(world *w, const worker *k, const pawl_append *all, size_t n);
void sim_run_audit(world *w, sim_run *y);       /* K6 */
void sim_run_snapshot_check(world *w, sim_run *y);       /* K6 */
void sim_run_judge(world *w, sim_run *y);       /* the checks at the end */
/* The first difference of two states of one run; NULL: none. */
const char *states_differ(pawl_state *a, pawl_state *b);

/* ---- client.c, answers.c --------------------------------------------------------------------------------- */

bool client_acts(world *w, worker *k);      /* false: nothing to do */
const char *answer_to(world *w, const pawl_wait *wait, buf *room);      /* NULL: nobody answers it */

/* ---- schema_values.c --------------------------------------------------------------------------------------- */

/* A value for `schema` as JSON, by the simple keywords; the simplest one, or a random one by `c`. */
void schema_value(buf *b, const pawl_value *schema, rng *c);

#endif
