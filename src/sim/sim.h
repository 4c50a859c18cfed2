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

typedef struct dice { uint64_t at; } dice;

typedef struct deed {           /* a command, as the journal and the far end know it */
    struct deed *next;
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
} deed;

typedef struct story {          /* a run, as everybody outside of it knows it */
    char id[RUN_BYTES_MAX + 1];
    bool child;                 /* begun by another: nobody from outside begins, signals or calls it off */
    const char *input;
    uint64_t seed;
    struct world *of;           /* once it is loaded */
    buf blob;                   /* the one that was read last */
    pawl_state *st;             /* what is durable, folded from the base; NULL: nothing is */
    size_t nrecords;            /* of the open superstep, that are folded */
    deed *deeds;
    bool begun;                 /* the client knows that it is */
    bool cancel, called_off;    /* it is to be; the client knows that it is */
    int64_t cancel_ms;
    size_t signals;             /* that were left for it */
    bool marred;
    size_t done, undone;        /* what has an inverse, and inverses, by their receipts */
    uint8_t status;             /* how it ends undisturbed, */
    char *json;                 /* and with what */
    size_t json_size;
} story;

typedef struct letter { int64_t at_ms; story *run; deed *of; unsigned no; } letter;     /* an answer that is on its way */

struct world;
typedef struct worker {
    struct world *w;
    pawl_engine *e;             /* NULL: to be made */
    char name[24];
    unsigned number, life;
    bool dead, active;
    unsigned left;              /* points until it is told to stop */
} worker;

typedef struct wrote wrote;     /* see store.c */

typedef struct world {
    const pawl_sim_setup *setup;
    pawl_sim_trouble t;
    pawl_sim_report *report;
    pawl_alloc alloc;
    pawl_machine *m, *more[SIM_MACHINES_MAX];
    unsigned nmore;
    pawl_store *truth;
    pawl_engine *auditor;       /* loads runs as a worker would, and nothing goes wrong with it */
    dice rand;
    int64_t now;
    bool calm;                  /* no trouble any more */
    bool plain;                 /* never was: the undisturbed one */
    bool over;                  /* an oracle failed, or memory did */
    pawl_durability durability; /* of the workers */
    bool forgot;                /* a power cut took something back */
    pawl_err err;
    buf trace;
    worker workers[SIM_WORKERS_MAX];
    unsigned nworkers, depth;
    story runs[SIM_RUNS_MAX];
    unsigned nruns;
    char *effects[SIM_EFFECTS_MAX];
    unsigned neffects;
    letter *letters;
    size_t nletters, letters_cap;
    unsigned letter_no;
    const story *starting;      /* whose seed is drawn next */
    pawl_step *look;
    wrote *first, *last;        /* what was written since the world began, where it may be forgotten */
    size_t nwrote, nsafe;
} world;

/* ---- sim.c ---------------------------------------------------------------------------------------- */

uint64_t dice_draw(dice *c);
uint64_t dice_below(dice *c, uint64_t n);
uint64_t sim_draw(world *w);
uint64_t sim_below(world *w, uint64_t n);
bool sim_happens(world *w, unsigned of_thousand);   /* never when it is calm */
void sim_tell(world *w, const worker *k, const char *fmt, ...) PAWL_PRINTF(3, 4);    /* a line of the trace; k NULL: nobody's */
/* The first one counts. `oracle` is static; `y` and `id` may be NULL. */
void sim_broken(world *w, const char *oracle, const story *y, const char *id, const char *fmt, ...) PAWL_PRINTF(5, 6);
void sim_nomem(world *w);
story *story_of(world *w, const char *run);         /* NULL: none */
pawl_machine *machine_of(world *w, const char *name);

/* ---- crew.c: who works ------------------------------------------------------------------------------ */

bool point(worker *k);                      /* between two actions; false: the worker is dead */
bool hired(world *w, worker *k);            /* it has an engine now */
pawl_code machines_lend(world *w, pawl_engine *e);
void dismiss(world *w, worker *k);
typedef void job_fn(world *w, worker *k, void *arg);
void portion(world *w, worker *k, job_fn *fn, void *arg);
void effect_known(world *w, const char *name, size_t size);     /* all workers are given a handler for it */
void trouble(world *w);
void peace(world *w);                       /* until every run is over, or it is clear that one never will be */

/* ---- store.c ----------------------------------------------------------------------------------------- */

pawl_store *handle_new(worker *k);          /* NULL: no memory. k->w->auditor's has no worker: see there */
pawl_store *handle_plain(world *w);
void power_cut(world *w);
void wrote_free(world *w);

/* ---- far.c: where effects happen ------------------------------------------------------------------------ */

pawl_handler_fn far_act;                    /* its arg is the worker */
/* What the far end knows of it, as who is asked about a doubt answers: {"done":V}, {"failed":TEXT} or "again". False: it may
 * still be on its way, and nobody can say. */
bool far_tells(world *w, const deed *d, buf *out);
bool letter_send(world *w);                 /* one that is due is left in the store; false: none was */

/* ---- ledger.c: what is durable ------------------------------------------------------------------------ */

void story_born(world *w, pawl_bytes base); /* a run that another has begun */
void story_follow(world *w, story *y);      /* what the store has more of it is folded */
void story_forget(world *w, story *y);      /* and is folded anew */
deed *deed_of(world *w, story *y, const char *id, bool make);
bool story_settled(world *w, story *y);     /* over, or nobody will say anything to it */
void story_audit(world *w, story *y);       /* K6 */
void story_judge(world *w, story *y);         /* all that has to hold at the end */
void story_free(world *w, story *y);

/* ---- client.c ------------------------------------------------------------------------------------------ */

bool client_acts(world *w, worker *k);      /* false: there is nothing to be said */
const char *answer_to(world *w, const pawl_wait *wait, buf *room);      /* NULL: nobody answers it */

/* ---- fit.c ------------------------------------------------------------------------------------------------ */

/* A value that fits `schema`, as JSON, as far as the plain keywords say it; the plainest one, or one of many by `c`. */
void fit(buf *b, const pawl_value *schema, dice *c);

#endif
