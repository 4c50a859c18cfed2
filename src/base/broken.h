/* broken.h - faults that a test plants one at a time, to check that the simulator finds each.
 *
 * Only in a build with PAWL_BREAK, made for that test alone: there pawl_broken selects the fault. In every other build BROKEN is false and compiles to
 * nothing. A fault is one row of the table and `BROKEN(BROKEN_NAME)` at its place in the code. */
#ifndef BASE_BROKEN_H
#define BASE_BROKEN_H

/* X(NAME, what goes wrong) */
#define BROKEN_TABLE(X) \
    X(COMMIT, "effects leave before the entry that asks for them is durable") \
    X(RECEIPT, "a command that has its receipt is taken for open") \
    X(FENCE, "a former holder may append") \
    X(FENCE_NEAR, "the holder before the newest may append") \
    X(SNAPSHOT, "a snapshot is taken for one that has an entry more") \
    X(TIMER, "no timer is stored") \
    X(CAP, "calls leave that no budget has room for") \
    X(GATE, "a tool is used that was denied") \
    X(RESULT, "a call that was interrupted gets no result") \
    X(TIMER_ALONE, "a timer that changes alone is not stored") \
    X(SIGNAL_SECOND, "the second signal of a batch is applied and stays in the mailbox") \
    X(SIGNAL_EARLY, "a signal that nobody waits for yet is dropped") \
    X(CHILD_END, "the end of a child does not make it due") \
    X(STALE, "a claim keeps a state that another holder has moved on") \
    X(ATTEMPTS, "one attempt too many is made") \
    X(SLEEP_EARLY, "sleeps end a second early") \
    X(JOINS, "a snapshot has no join counters") \
    X(JOINS_BELOW, "a snapshot has no join counters of subgraphs") \
    X(ONCE_RETRY, "a once that was begun is performed again when its effect has retries") \
    X(UNDO_NOTE, "a snapshot has no undo note when there is only one") \
    X(UNDO_ORDER, "what was done is undone in the order of doing") \
    X(UNDO_RECEIPT, "an inverse is not given the receipt of what it undoes") \
    X(UNWIND_EARLY, "inverses leave while other commands are open") \
    X(RECEIPT_DROPPED, "a receipt is lost when its append fails") \
    X(SQLITE_FENCE, "SQLite: the holder before the newest may append") \
    X(SQLITE_BLOB, "SQLite: the first blob of an append is not stored") \
    X(MARK_FIRST, "of several commands that leave together only the first is counted") \
    X(MARK_FOUR, "of several commands that leave together only four are counted") \
    X(MARK_LESS, "a new holder takes the attempts that were counted for one less") \
    X(BACKOFF_LOST, "a back-off is not stored") \
    X(BACKOFF_CLOSED, "a back-off that begins while the engine closes is not stored") \
    X(BACKOFF_SKIPPED, "the next attempt is made at once") \
    X(TOTAL_TIMEOUT, "an attempt begins after its total_timeout_ms is over") \
    X(LATE_YES, "a yes after the deadline of an approval counts") \
    X(DEADLINE_WAKE, "the deadline of a question is not stored") \
    X(WAKE_LAST, "of several timers the last that was made is stored, not the first that is due") \
    X(LEASE_LONE, "a lost lease is not noticed before a command that leaves alone") \
    X(LEASE_DISPATCH, "a lease is not looked at again when a thread begins a command") \
    X(LEASE_UNSURE, "a lease is taken for valid after an append that gave it up seemed to fail") \
    X(LEASE_EARLY, "a run can be claimed while half of its lease is left") \
    X(DOUBT, "a snapshot has no unknown outcomes") \
    X(SENDS, "a snapshot has no arguments of tasks that were sent") \
    X(MAILBOX, "deliveries are taken last first") \
    X(DELIVERED_TWICE, "a delivery that is made again is stored again") \
    X(SIGNATURE, "a signature of an approver is taken unchecked") \
    X(LIFE, "a receipt for an earlier life of the run is taken") \
    X(CANCEL, "commands of a canceled run leave") \
    X(DUE_ORDER, "due runs are listed last first") \
    X(PASS_FIRST, "a run takes no step in a pass in which another has moved") \
    X(BATCH_CLOSED, "no run is claimed while another is driven")

/* Faults that no simulator finds, because a second wall stands behind them: test/policy/sandbox_broken_test.c shows that it holds alone. */
#define BROKEN_WALL_TABLE(X) \
    X(READS, "every command is taken for one that only reads")

#ifdef PAWL_BREAK
#define X(name, what) BROKEN_##name,
typedef enum broken_rule { BROKEN_NOTHING, BROKEN_TABLE(X) BROKEN_RULES, BROKEN_WALL_TABLE(X) BROKEN_ALL } broken_rule;
#undef X
extern int pawl_broken;         /* a broken_rule; set by the test */
#define BROKEN(rule) (pawl_broken == (rule))
#else
#define BROKEN(rule) false
#endif

#endif
