/* promises.h - the promises that are checked in every world. A report counts how often each was checked. */
#ifndef SIM_PROMISES_H
#define SIM_PROMISES_H

/* X(NAME, its number, its text) */
#define PROMISES(X) \
    X(E1, "E1", "no command is performed before the entry that asks for it is durable") \
    X(E4, "E4", "no command is performed by a run's holder once its receipt is stored") \
    X(E4_KEPT, "E4", "no worker performs a command again once it has the reply")  \
    X(E5_ONCE, "E5", "no command of class once is performed twice") \
    X(E5_ARGS, "E5", "a command has the same arguments at every attempt") \
    X(E5_UNDONE, "E5", "what was done and has an inverse is undone when the run does not complete") \
    X(E5_ORDER, "E5", "inverses leave one by one, from the last that was done to the first, and nothing else is open then") \
    X(E5_RECEIPT, "E5", "an inverse is given the receipt of what it undoes") \
    X(E6, "E6", "a command has one receipt, and none that was never performed") \
    X(E7_ATTEMPTS, "E7", "no more attempts are made than max_attempts") \
    X(E7_BACKOFF, "E7", "no attempt is made before the back-off of the one before is over, by a later holder neither") \
    X(E8, "E8", "no attempt begins long after total_timeout_ms") \
    X(E9_EARLY, "E9", "no sleep ends before its time") \
    X(E9_STORED, "E9", "a run that nobody holds wakes for the first of its timers") \
    X(E10, "E10", "no command of a canceled run is performed by its holder") \
    X(E13, "E13", "an attempt that is counted in the store has a number of its own") \
    X(E15, "E15", "a handler is told a fence that was given") \
    X(E16, "E16", "a receipt for an earlier life of a run is not taken") \
    X(W5, "W5", "an approval that is answered after its deadline has the answer of its deadline") \
    X(K5, "K5", "the journal stands up to pawl_verify") \
    X(K6, "K6", "a state that is loaded from a snapshot is the one that is folded from the base, open commands, joins and undo notes included") \
    X(K8, "K8", "what is stored can be folded") \
    X(K11, "K11", "a snapshot that an engine stored fits the entry that names it, so that no run is folded from its base again") \
    X(G2, "G2", "a run ends as it does undisturbed") \
    X(S2_WRITE, "S2", "nothing is written but by the newest holder") \
    X(S2_CLAIM, "S2", "no run is claimed while somebody else's lease on it is valid") \
    X(S2_BEGIN, "S2", "no handler begins unless its worker holds the run") \
    X(S6, "S6", "the store says of a run what its journal says") \
    X(FAIR, "fair", "no worker stores other runs again and again while one that it holds, or that is due, could go on") \
    X(DUE, "due", "due runs are listed by the time since which they are due, and none is left out") \
    X(END, "end", "no run is stuck, and none works without end")
#define X(name, number, what) PROMISE_##name,
typedef enum sim_promise { PROMISES(X) PROMISE_COUNT } sim_promise;
#undef X

#endif
