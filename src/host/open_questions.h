/* open_questions.h - the open waits of a run and of the children that it waits for. */
#ifndef HOST_OPEN_QUESTIONS_H
#define HOST_OPEN_QUESTIONS_H

#include "json/json.h"
#include "pawl/agent.h"
#include "pawl/history.h"

enum { ASKS_RUN_BYTES = 129, ASKS_DEPTH_MAX = 64 };     /* of an id, with its NUL; levels of children that are read */

typedef struct ask {            /* an open wait */
    const char *run;            /* the run that waits: the run itself, or a child */
    const char *call;           /* the tool call of its parent that started it; NULL: not started by a tool call, or the run itself */
    size_t open;                /* number of open waits of `run` */
    pawl_wait w;
    pawl_bytes spec;            /* the SPEC that its entry asked, to be compared with the store's row */
} ask;

typedef struct ask_child { const char *run, *call; } ask_child;

typedef struct asks {
    ask *all;                   /* the run's own first, then those of its children in the order of their starts, each with its descendants' */
    size_t n, cap;
    ask_child *children;        /* all children that it waits for, including those without waits */
    size_t nchildren, children_cap;
    bool works;                 /* something of the run or of a child works, or could: it does not wait for people only */
} asks;

/* Reads all of it from the store into `mem`. */
pawl_code asks_read(pawl_store *store, arena *mem, const char *run, asks *out, pawl_err *err);
/* The same for a run whose state is loaded; *mail: a child has deliveries that it has not taken yet. That is checked before the states are read, so a
 * wait that is found without *mail is still open. */
pawl_code asks_under(pawl_store *store, arena *mem, pawl_state *st, bool *mail, asks *out, pawl_err *err);
pawl_code asks_own(arena *mem, pawl_state *st, asks *out);     /* from the state only, without children */
bool ask_is_childs(const ask *a, const char *run);      /* it is not a wait of `run` itself */
bool asks_people(const asks *all);      /* somebody must answer; input and signals do not count */
/* The status of a run with its children: a run that waits for children with open questions has theirs. */
pawl_status asks_status(const asks *all, pawl_status own);
/* Whether a delivery for the run will make it continue. Signals that an agent does not know stay in the mailbox and do not count. */
pawl_code asks_mail(pawl_store *store, const char *run, bool *mail, pawl_err *err);

/* The allow rules that would have allowed the call which the approval `w` of an agent asks about, by the rules of its run (NULL: none): *n of them. An error
 * says why no allow rule could. */
pawl_code ask_always(const char *run, const pawl_value *policy, const pawl_wait *w, char rules[PAWL_ALWAYS_MAX][PAWL_RULE_BYTES], size_t *n, pawl_err *err);

/* Gives the head of the run `from` to `fn`, then that of its parent, up to the topmost one, or until `fn` returns false. `from` may be the id of a command,
 * of a child or a wait, too: RUN~LIFE/... PAWL_GONE: one of them is gone, or is another run with its id. */
pawl_code asks_climb(pawl_store *store, const char *from, pawl_head_fn *fn, void *ctx, pawl_err *err);
/* The topmost parent of a run, which must be driven after an answer. If the run has ended, or its parent has ended or is missing, it is the run itself. */
void asks_top(pawl_store *store, const char *run, char top[ASKS_RUN_BYTES]);
/* The run in the id of a wait. */
void asks_run_of(const char *wait, char run[ASKS_RUN_BYTES]);

#endif
