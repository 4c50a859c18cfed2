/* bench.h - what a figure is, and the small tools with which one is measured.
 *
 * A figure is measured in rounds. Each round measures the thing itself and, in turns with it, something plain
 * beside it: the machine that runs this may be busy, so the ratio of the two says more than either. The median of
 * all rounds is printed. */
#ifndef BENCH_H
#define BENCH_H

#include "pawl/pawl.h"

#include <stddef.h>
#include <stdint.h>

typedef struct reading {
    double value, base;         /* of the thing, and of what it is measured against; same unit */
} reading;

/* One round. False: it could not be measured; the reason is on stderr. */
typedef bool figure_fn(reading *out);

typedef struct figure {
    const char *name, *unit;
    const char *against;        /* what `base` is */
    double target;              /* 0: none, it is only printed */
    bool floor;                 /* the value should be at least the target; else at most */
    int rounds;
    figure_fn *measure;
} figure;

/* the last one of each has no name */
extern const figure memory_figures[], size_figures[], journal_figures[], sqlite_figures[], engine_figures[];
extern const figure policy_figures[], sandbox_figures[], agent_figures[], wire_figures[], calls_figures[], growth_figures[];
extern const figure anchor_figures[], approve_figures[], simple_figures[], search_figures[], host_figures[];
extern const figure serve_figures[];            /* of its server; none without libuv */
extern const figure cli_figures[];              /* of the program that lies beside this one */
bool fan_growth(reading *out);           /* fan.c: the cost of a task among 20,000 commands over that among 1,000 */
bool fan_us(reading *out);
/* A fan-out of so many, driven to its end: calls with arguments by reference, questions with a deadline, timers, child runs, and calls of which four
 * or 64 are under way at a time. */
bool fan_refs(int64_t n);
bool fan_deadlines(int64_t n);
bool fan_naps(int64_t n);
bool fan_children(int64_t n);
bool fan_few(int64_t n);
bool fan_some(int64_t n);
bool fan_twice(int64_t n);
bool fan_mixed(int64_t n);
bool cli_ls_1m(reading *out);
bool cli_show_1m(reading *out);
extern const figure million_figures[];          /* measured when their whole name is given, or "all" */

/* tools.c */
double bench_ns(void);                  /* the clock */
bool bench_wrong(const char *what, const pawl_err *err); /* prints it on stderr; false */
double bench_median(double *v, int n);  /* sorts them */
double bench_malloc_ns(size_t calls);   /* of one call through a pointer, with a malloc and a free */
/* An allocator of pawl_alloc; `ctx` is a size_t, the bytes that are allocated. */
double bench_allocated(void);           /* bytes, without SQLite's cache of pages, which has its own bound */
void *bench_counted(void *ctx, void *ptr, size_t old_size, size_t size);
size_t bench_resident(void);            /* bytes of this process in memory; */
size_t bench_resident_most(void);       /* the most that it ever had */

/* One run, driven by hand. */
typedef struct run {
    const pawl_machine *m;
    pawl_state *st;
    pawl_step *step;
    pawl_code rc;               /* of the last feed */
    char *journal;              /* what was added to it, when it is kept */
    size_t journal_size, journal_cap;
    bool keep;
} run;

pawl_machine *bench_compile(pawl_graph *g);     /* NULL: the reason is on stderr */
bool run_begin(run *r, const pawl_machine *m, unsigned flags, pawl_step *step, const pawl_alloc *alloc);
bool run_take(run *r, const pawl_event *ev);    /* and apply */
bool run_tick(run *r);
bool run_to_end(run *r);                        /* ticks until it is over */
void run_end(run *r);                           /* the step stays */

/* disk.c: a folder with a store, and the plain loop beside it. What is in it goes with it. */
typedef struct disk {
    char folder[64], store[80], raw[80];
    bool normal;                /* synchronous NORMAL, of both */
    void *db, *insert;          /* of the plain loop */
    size_t bytes;
} disk;

bool disk_begin(disk *d, bool normal);          /* under the current directory */
void disk_end(disk *d);
/* One row of `bytes` and its commit, `n` times; *ns is raised. Begun with the first, past the WAL's first wrap. */
bool disk_raw(disk *d, size_t bytes, int n, double *ns);
bool disk_sql(const char *path, const char *sql);
bool disk_runs(const disk *d, uint64_t runs, int64_t wake_ms);  /* in its store; a fifth has each status; first timer, a ms apart */
double disk_size(const char *path);             /* bytes of a file */
pawl_engine *disk_engine(const disk *d, pawl_machine *m); /* on its store; takes `m`; NULL: told */

/* child.c: this program again, on a store; *number is what it says. "nothing", "start" and "resume": the time when it began, or had
 * stored the first step of a new run, or of one that is there; "answer": when it gave an answer to a run that is held;
 * "memory": the most it had, in bytes, after a start; "children": after a fan-out of so many child runs. Times are bench_ns. */
bool child_run(const char *what, const char *path, const char *id, double *number);
int child_main(const char *what, const char *path, const char *id);
/* calls.c: the child of "calls" and "calls-threads", so many model calls at once: its most bytes in memory, or its threads; 0: it failed. */
double calls_child(bool threads, const char *url, const char *count);
double jq_child(const char *folder, const char *count);         /* cli.c: the child of "jq": the most that the program had in memory; 0: it failed */

/* loop.c: a machine of one node that goes round, and tells whoever measures of each step. */
typedef void turn_fn(void *ctx, int64_t who);   /* `who` is the run's input; 0: it has none */
typedef struct turns { turn_fn *fn; void *ctx; } turns;
enum { NOTE_BYTES = 128, ENTRY_BYTES = 300 };   /* a step's writes; about what its entry has */
pawl_machine *loop_machine(turns *t);           /* writes a number and a note */
pawl_machine *say_machine(turns *t);            /* appends a message of SAID_BYTES */
pawl_machine *sends_machine(turns *t);          /* plan -> 100 x work -> gather -> plan: told of each plan */
pawl_machine *nap_machine(void);                /* sleeps an hour */
pawl_machine *ask_machine(void);                /* asks; two commands "slow" are out meanwhile */
pawl_machine *talk_machine(void);               /* a call of "llm" with all that came before, again and again (journal.c) */
enum { SAID_BYTES = 1000 };

/* nodes that several figures use */
pawl_code node_count(pawl_step *s, void *arg);  /* adds 1 to the channel "count" */
pawl_machine *bench_chain(size_t nodes);        /* n0 -> n1 -> ... -> @end, each of them node_count */

#endif
