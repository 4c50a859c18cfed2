/* broken.h - rules that a test breaks on purpose, one at a time, to see that the simulator finds it.
 *
 * Only in a build with PAWL_BREAK, which is made for that test alone; else BROKEN is false, and nothing of it is left. */
#ifndef BASE_BROKEN_H
#define BASE_BROKEN_H

#ifdef PAWL_BREAK
typedef enum broken_rule {
    BROKEN_NOTHING,
    BROKEN_COMMIT,              /* effects leave before what asks for them is durable */
    BROKEN_RECEIPT,             /* what has a receipt is taken for open */
    BROKEN_FENCE,               /* a holder of before may append */
    BROKEN_SNAPSHOT,            /* a snapshot is taken for one that has an entry more */
    BROKEN_TIMER,               /* the store is not told of timers */
    BROKEN_CAP,                 /* calls leave that no cap has room for */
    BROKEN_GATE,                /* a tool is used that was denied */
    BROKEN_RESULT,              /* a call that was interrupted has no result */
    BROKEN_RULES
} broken_rule;
extern int pawl_broken;         /* which; the test's own */
#define BROKEN(rule) (pawl_broken == (rule))
#else
#define BROKEN(rule) false
#endif

#endif
