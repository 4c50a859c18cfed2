/* sim.h - puts a machine through trouble: rival workers, kills, power cuts, a store that fails, effects that answer late or twice.
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
 * All of it happens on the thread that calls, in virtual time, over a store in memory, one seed in six over a SQLite file: several engines
 * drive the same runs, in small portions, one inside the other between any two actions; by its seed, under each pawl_durability. A seed
 * decides everything: the same one gives the same trace, byte for byte. Then the trouble ends, and every run has to. Held against it, all
 * along and at the end:
 *
 *   E1    no effect is performed before the entry that asks for it is durable; one of class pure may be, if steps may wait (G9)
 *   E4    no effect is performed by a run's holder once its receipt is stored, nor again by a worker that has its reply
 *   E5    no effect of class once is performed twice; one id has the same arguments every time; where a run ends otherwise than completed,
 *         what was done and has an inverse is undone, with its receipt, one by one, from the last to the first
 *   E6    one receipt for a command, and none for what was never performed
 *   E7    no more attempts than max_attempts, and none before the back-off of the one before is over
 *   E8    no attempt begins long after total_timeout_ms
 *   E9    no sleep ends early, and a run that nobody holds wakes for the first of its timers
 *   E10   no effect is performed by a run's holder once the run is called off
 *   E13   an attempt that is counted in the store has a number of its own
 *   E15   a handler is told a fence that was given
 *   E16   a receipt for an earlier life of a run is not taken
 *   W5    an approval that is answered after its deadline has the answer of its deadline
 *   K5    the journal stands up to pawl_verify
 *   K6    what is loaded from a snapshot and the tail is what is folded from the base, joins, undo notes and open commands included
 *   K8    what is stored can be folded, and stays
 *   G2    the end is the undisturbed run's: status, and channels as canonical JSON
 *   S2    nothing is written but by the newest holder, no run is claimed while another's lease is valid, and no handler begins unless its
 *         worker holds the run
 *   S6    the store says of a run what its journal says
 *   due   due runs are listed by the time since which they are due, and none is left out
 *   end   no run is stuck: 400 rounds of work, or 100,000 points, without trouble bring each to its end
 *
 * Of agents, and of graphs that call them, pawl_sim_agent holds more against it:
 *
 *   A4    at every request the messages are as providers take them: each call of a tool has one result, in request order, before anything else
 *         is said; and so they are whenever a turn is over
 *   A8    what is used and reserved is never above a cap, unless a bill was above what was set aside for it; no more requests leave than `calls` allow
 *   P2    no tool is used that rules or mode deny, and none that they ask for without a person's yes to that very call
 *
 * With `normal`, a power cut also takes back the last commits, as synchronous NORMAL may: then E5 and E13 do not hold, and are
 * not asked for, after the first cut that took something back. */
#ifndef PAWL_SIM_H
#define PAWL_SIM_H

#include "pawl/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How often, of a thousand points at which it might happen. A point is every store verb, before and after, every look at the
 * clock, and every call of a handler, before and after. */
typedef struct pawl_sim_trouble {
    unsigned kill;              /* the worker dies; another comes, under a new name */
    unsigned power;             /* all of them do */
    unsigned restart;           /* a worker is closed in good order, after a portion */
    unsigned fail;              /* a verb of the store fails, and has done nothing */
    unsigned unsure;            /* a verb that writes fails, and has done it */
    unsigned delay;             /* time passes, up to delay_ms */
    unsigned rival;             /* another worker goes on, before this one does */
    unsigned refuse;            /* an effect that may be tried again fails, and has done nothing */
    unsigned lose;              /* an effect that may be tried again happens, and its answer is lost */
    unsigned late;              /* the answer of an effect comes (again) as a delivery, up to late_ms after */
    unsigned slow;              /* an effect takes up to slow_ms */
    int64_t delay_ms, late_ms, slow_ms;
    int64_t lease_ms;           /* of the workers */
    bool normal;                /* commits are safe from a kill at once, from a power cut only after a while */
} pawl_sim_trouble;

/* What pawl_sim does where a setup says nothing; there a seed leaves some of it out, too, and does more of some. */
PAWL_API pawl_sim_trouble pawl_sim_trouble_default(void);

typedef struct pawl_sim_effect {    /* pure: its reply is a function of effect and arguments, of nothing else */
    const char *name;
    pawl_handler_fn *fn;
    void *arg;
} pawl_sim_effect;

typedef struct pawl_sim_signal { const char *name, *value; } pawl_sim_signal;      /* name NULL: no signal, but an update of channels */

/* NULL and 0: the default. The functions are called on the thread of pawl_sim. */
typedef struct pawl_sim_setup {
    pawl_machine *(*machine)(void *ctx, pawl_err *err);     /* a new one; NULL: see err. Has to be given */
    pawl_machine *(*more)(void *ctx, unsigned index, pawl_err *err);    /* others, of which children are; NULL after the last */
    const char *const *inputs;  /* JSON objects; run n gets number n modulo ninputs. None: no input */
    size_t ninputs;
    const pawl_sim_effect *effects; /* one that is not here replies a text made of its name and its arguments */
    size_t neffects;
    const pawl_sim_signal *signals; /* each run gets each, in this order, at any time */
    size_t nsignals;
    /* The answer to a wait as JSON, which lives until the next call; "": nobody answers. It has to be a function of the
     * wait's kind, slot, prompt, schema and options. It is not asked what came of a command: that the simulation knows. NULL, and without this function: the
     * first option, what the schema asks for, or true; nobody answers a wait that has a deadline and a default, and none of kind input. */
    const char *(*answer)(void *ctx, const pawl_wait *wait);
    void *ctx;
    unsigned runs;              /* 2; with their children at most 512 */
    unsigned workers;           /* 2 */
    unsigned cancel;            /* of a thousand runs, so many are called off, at any time */
    pawl_caps budget;           /* of each run that is begun from outside (A8); nobody raises it */
    const pawl_sim_effect *otherwise;       /* performs whatever is not among `effects`; its name is not looked at. NULL: as said there */
    /* More that has to hold, by whoever knows the machine; NULL: nothing. False: it does not: *oracle, which is static, names the promise, and err says in
     * a line what is wrong. */
    bool (*performed)(void *ctx, const pawl_job *job, const char **oracle, pawl_err *err);      /* asked before an attempt is performed, */
    /* and for each entry and task record of a run as soon as it is durable, in their order, with the state behind it; with NULL when a run is looked at
     * from its base on, which may come again. */
    bool (*stored)(void *ctx, pawl_state *st, const pawl_entry *entry, const char **oracle, pawl_err *err);
    bool loose;                 /* the end may differ from the undisturbed one: it depends on time or on the order of events */
    const pawl_sim_trouble *trouble;
} pawl_sim_setup;

enum { PAWL_SIM_PROMISES_MAX = 32 };

typedef struct pawl_sim_report {
    uint64_t seed;
    int64_t took_ms;            /* of virtual time */
    uint32_t portions;          /* of work */
    uint32_t points;
    uint32_t sqlite;            /* 1: its store was SQLite; else it was in memory */
    uint32_t kills, power_cuts, restarts;
    uint32_t failed, unsure;    /* verbs of the store */
    uint32_t delays, rivals;
    uint32_t performed;         /* effects, all attempts */
    uint32_t repeated;          /* of these: of a command that was performed before */
    uint32_t refused, lost, late, slow;
    uint32_t answers, signals, cancels;
    uint32_t doubts;            /* of the answers: what came of a command */
    uint32_t appends, snapshots;
    uint32_t forgotten;         /* writes that a power cut took back */
    uint32_t fenced;            /* writes that were refused, since the run was somebody else's */
    uint32_t marred;            /* runs that a command ended otherwise for than its handler said: not held against the undisturbed */
    uint32_t asked, used, children;     /* by pawl_sim_agent: attempts at requests to models, and at uses of tools; runs begun by others */
    uint32_t checked[PAWL_SIM_PROMISES_MAX];    /* how often each promise was held against the runs; see pawl_sim_promise */
    const char *oracle;         /* "E5"; NULL: all held */
    char run[132];              /* which run and which command broke it; "" where it was none */
    char command[256];
    char *trace;                /* lines of what was done, up to that; NULL: no memory, or no trouble was begun */
    size_t trace_size;
} pawl_sim_report;

/* PAWL_OK: everything held. PAWL_CORRUPT: something did not, and err and report say what; PAWL_INVALID: the setup is wrong, or a run
 * does not even end undisturbed. `report` is to be freed in every case, and may be NULL. */
PAWL_API PAWL_MUST_USE pawl_code pawl_sim(const pawl_sim_setup *setup, uint64_t seed, pawl_sim_report *report, pawl_err *err);
/* The same of a machine that is an agent, or a graph that calls some (`more`: those that are called). What `setup` leaves out is made from the seed, and
 * nothing of the outer world is run: models answer with texts, thoughts, calls of the tools that they are shown (arguments that fit and that do not, several
 * side by side), failures, answers that are cut off and nonsense; tools, hooks and people say this and that. Where `machine` makes an agent, `signals` are
 * inputs, interrupts, a shutdown, other modes, and some runs have a budget; a run whose input has "@once" asks nobody for more. `performed` and `stored` of
 * `setup` are not used. The end is never held against the undisturbed one's. */
PAWL_API PAWL_MUST_USE pawl_code pawl_sim_agent(const pawl_sim_setup *setup, uint64_t seed, pawl_sim_report *report, pawl_err *err);
/* The number of the promise that report->checked[index] counts ("E5"; several may share one), and *what it says; NULL after the last. */
PAWL_API const char *pawl_sim_promise(unsigned index, const char **what);
PAWL_API void pawl_sim_report_free(pawl_sim_report *report);

#ifdef __cplusplus
}
#endif
#endif
