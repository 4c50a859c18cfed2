/* sim.h - a simulator: runs your machine with faults (rival workers, kills, power cuts, a failing store, late and repeated answers) and checks the promises.
 *
 *     const pawl_sim_setup setup = { .machine = essay, .inputs = inputs, .ninputs = 2 };
 *     pawl_sim_report report;
 *
 *     for (uint64_t seed = 1; seed <= 500; seed++) {
 *         if (pawl_sim(&setup, seed, &report, &err) != PAWL_OK)
 *             printf("%s\n%s", err.text, report.trace != NULL ? report.trace : "");
 *         pawl_sim_report_free(&report);
 *     }
 *
 * Everything happens on the calling thread, in virtual time, on a store in memory, or for one seed of six on a SQLite file. Several engines drive the same
 * runs in small portions; at any action of one another may take its turn. The seed also chooses the pawl_durability. The same seed gives the same trace,
 * byte for byte. First the runs are driven without faults, so that their ends are known; then with faults; at last the faults stop, and every run must
 * end. These are the promises that are checked all the time:
 *
 *   E1    no effect is performed before the entry that asks for it is durable; except those of class pure, when steps may wait (G9)
 *   E4    no effect is performed by the holder of the run after its receipt was stored, nor a second time by a worker that has its reply
 *   E5    no effect of class once is performed twice; one id has the same arguments every time; when a run does not complete, each effect that was
 *         performed and has an inverse is undone with its receipt, one after another, the last first
 *   E6    a command has one receipt, and none if it was never performed
 *   E7    there are no more attempts than max_attempts, and none before the back-off of the last one is over
 *   E8    no attempt begins long after total_timeout_ms
 *   E9    no sleep ends early, and a run that nobody holds wakes for the first of its timers
 *   E10   no effect is performed by the holder of a canceled run
 *   E13   an attempt that is counted in the store has a number of its own
 *   E15   the fence that a handler gets is one that was given
 *   E16   a receipt for an earlier life of a run is not taken
 *   W5    an approval that is answered after its deadline has the answer of its deadline
 *   K5    pawl_verify accepts the journal
 *   K6    the state that is loaded from a snapshot equals the one that is folded from the base, with joins, undo notes and open commands
 *   K8    what is stored can be folded, and stays
 *   K11   a snapshot fits the entry that names it: no run is folded from its base although it has one
 *   G2    status and channels (as canonical JSON) are at the end those of the run without faults
 *   S2    only the newest holder writes, no run is claimed while another's lease is valid, and no handler begins unless its worker holds the run
 *   S6    what the store says of a run agrees with its journal
 *   fair  no worker stores other runs again and again while one that it holds, or that is due, could continue
 *   due   due runs are listed by the time since which they are due, and none is missing
 *   end   no run hangs: without faults each ends within 400 rounds of work and 100,000 points
 *
 * pawl_sim_agent also checks, of agents and of graphs that call agents:
 *
 *   A4    the messages of every request, and those at the end of a turn, are as providers accept them: each tool call has one result, in the order of the
 *         calls, before anything else
 *   A8    used and reserved amounts never exceed a limit, unless a call cost more than it had reserved; and no more requests are made than `calls` allows
 *   P2    no tool runs that rules or the mode deny, and none that they ask about without a person's yes to that very call
 *
 * With pawl_sim_trouble.normal a power cut also takes back the last commits, as synchronous NORMAL may: E5 and E13 are then not checked after the first cut
 * that took something back.
 *
 *   threads  pawl_sim keeps nothing between calls; several threads may simulate at once */
#ifndef PAWL_SIM_H
#define PAWL_SIM_H

#include "pawl/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The faults: how often, of a thousand points at which each may happen. Points are before and after every store verb and every call of a handler, and at
 * every reading of the clock. */
typedef struct pawl_sim_trouble {
    unsigned kill;              /* the worker dies, and is replaced by one with another name */
    unsigned power;             /* all workers die */
    unsigned restart;           /* a worker is closed properly after its portion of work */
    unsigned fail;              /* a store verb fails and has done nothing */
    unsigned unsure;            /* a store verb that writes fails, but has written */
    unsigned delay;             /* up to delay_ms pass */
    unsigned rival;             /* another worker takes a turn first */
    unsigned refuse;            /* an effect that may be retried fails and has done nothing */
    unsigned lose;              /* an effect that may be retried happens, and its reply is lost */
    unsigned late;              /* the reply of an effect arrives, perhaps again, as a delivery up to late_ms later */
    unsigned slow;              /* an effect takes up to slow_ms */
    int64_t delay_ms, late_ms, slow_ms;
    int64_t lease_ms;           /* duration of the workers' leases; above 0 */
    bool normal;                /* the store is synchronous NORMAL: a commit survives a kill at once, a power cut only after a while */
} pawl_sim_trouble;

/* The faults of a setup without `trouble`. For such a setup the seed also omits some kinds of faults, and triples some. */
PAWL_API pawl_sim_trouble pawl_sim_trouble_default(void);

typedef struct pawl_sim_effect {    /* a handler for the simulation. Its reply must depend on the effect and its arguments alone */
    const char *name;
    pawl_handler_fn *fn;
    void *arg;
} pawl_sim_effect;

typedef struct pawl_sim_signal { const char *name, *value; } pawl_sim_signal;      /* value: JSON. name NULL: an update of channels instead of a signal */

/* 0 or NULL: the default. The functions are called on the thread of pawl_sim, with `ctx`. */
typedef struct pawl_sim_setup {
    pawl_machine *(*machine)(void *ctx, pawl_err *err);     /* makes the machine, for each world anew; required. NULL: see err */
    pawl_machine *(*more)(void *ctx, unsigned index, pawl_err *err);    /* makes the machines of child runs; NULL after the last */
    const char *const *inputs;  /* JSON objects; run number n starts with inputs[n % ninputs]. NULL: no input */
    size_t ninputs;
    const pawl_sim_effect *effects; /* any other effect replies a text made of its name and arguments */
    size_t neffects;
    const pawl_sim_signal *signals; /* each run gets all of them in this order, at random times */
    size_t nsignals;
    /* The answer to a wait as JSON, valid until the next call; "": nobody answers. It must depend on kind, slot, prompt, schema and options of the wait alone.
     * Questions about an unknown outcome are not passed to it: the simulation knows the outcome. When it is NULL or returns NULL: the first option, a value
     * that fits the schema, or true; and no answer to a wait that has a deadline with `otherwise`, or is of kind input. */
    const char *(*answer)(void *ctx, const pawl_wait *wait);
    void *ctx;
    unsigned runs;              /* how many runs are started: 2 by default; with their children at most 512 */
    unsigned workers;           /* how many engines: 2 by default */
    unsigned cancel;            /* of a thousand runs so many are canceled, at random times */
    pawl_caps budget;           /* of each run, but for children (A8); it is never raised */
    const pawl_sim_effect *otherwise;       /* performs every effect that is not in `effects`; its name is not used */
    /* Checks of your own; NULL: none. False: a promise is broken; *oracle is its name, a static text, and err says in one line what is wrong. `performed` is
     * called before each attempt. `stored` is called for each entry and task record once it is durable, in order, with the state after it; and with `entry`
     * NULL whenever a run is about to be read from its base on, which may happen several times. */
    bool (*performed)(void *ctx, const pawl_job *job, const char **oracle, pawl_err *err);
    bool (*stored)(void *ctx, pawl_state *st, const pawl_entry *entry, const char **oracle, pawl_err *err);
    bool loose;                 /* the end of a run depends on time or on the order of events: G2 is not checked */
    const pawl_sim_trouble *trouble;        /* NULL: pawl_sim_trouble_default, varied by the seed */
} pawl_sim_setup;

enum { PAWL_SIM_PROMISES_MAX = 32 };

typedef struct pawl_sim_report {    /* what happened; counts are of the world with faults */
    uint64_t seed;
    int64_t took_ms;            /* in virtual time */
    uint32_t portions;          /* turns of workers */
    uint32_t points;            /* see pawl_sim_trouble */
    uint32_t sqlite;            /* 1: the store was a SQLite file; 0: in memory */
    uint32_t kills, power_cuts, restarts;
    uint32_t failed, unsure;    /* store verbs, by these faults */
    uint32_t delays, rivals;
    uint32_t performed;         /* attempts at effects */
    uint32_t repeated;          /* those of a command that was performed before */
    uint32_t refused, lost, late, slow;
    uint32_t answers, signals, cancels;
    uint32_t doubts;            /* those of the answers that were about an unknown outcome */
    uint32_t appends, snapshots;
    uint32_t forgotten;         /* writes that a power cut took back */
    uint32_t fenced;            /* writes that were refused because another worker held the run */
    uint32_t marred;            /* runs with a command that ended otherwise than its handler replied: G2 is not checked for them */
    uint32_t asked, used, children;     /* model requests and tool uses (of pawl_sim_agent), with all attempts; child runs */
    uint32_t checked[PAWL_SIM_PROMISES_MAX];    /* how often each promise was checked; see pawl_sim_promise */
    const char *oracle;         /* the promise that was broken, "E5"; NULL: none */
    char run[132];              /* the run that broke it; "": no single run */
    char command[256];          /* the command; "": no single command */
    char *trace;                /* one line for each action, up to the failure; NULL: no memory, or there was no world with faults */
    size_t trace_size;
} pawl_sim_report;

/* Simulates one seed. PAWL_OK: no promise was broken. PAWL_CORRUPT: one was, and err and *report say which. PAWL_INVALID: the setup is wrong, or a run does
 * not end, or breaks a promise, even without faults. PAWL_NOMEM. *report (may be NULL) is set in every case; free it with pawl_sim_report_free. */
PAWL_API PAWL_MUST_USE pawl_code pawl_sim(const pawl_sim_setup *setup, uint64_t seed, pawl_sim_report *report, pawl_err *err);
/* The same for a machine that is an agent, or a graph that calls agents (which `more` makes). What `setup` omits is made from the seed, and no real effect is
 * performed: models answer with texts, thoughts, tool calls (with right and wrong arguments, several in parallel), failures, cut answers and nonsense;
 * tools, hooks and people give random results. If `machine` makes an agent, the default `signals` are inputs, interrupts, a shutdown and changes of mode,
 * and some runs have a budget. `otherwise`, `performed`, `stored` and `loose` of `setup` are not used; G2 is not checked.
 * An agent waits for input after each turn; one whose input has {"@once":"run"} ends after its first. */
PAWL_API PAWL_MUST_USE pawl_code pawl_sim_agent(const pawl_sim_setup *setup, uint64_t seed, pawl_sim_report *report, pawl_err *err);
/* The name of the promise that report->checked[index] counts ("E5"; several may have one name), and its text in *what (may be NULL). Static. NULL after the
 * last. */
PAWL_API const char *pawl_sim_promise(unsigned index, const char **what);
PAWL_API void pawl_sim_report_free(pawl_sim_report *report);    /* frees its trace; NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
