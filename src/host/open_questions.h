/* open_questions.h - the open waits of a run and of the children that it waits for. */
#ifndef HOST_ASKS_H
#define HOST_ASKS_H

#include "json/json.h"
#include "pawl/agent.h"
#include "pawl/history.h"

enum { ASKS_RUN_BYTES = 129, ASKS_DEPTH_MAX = 64 };     /* of an id, with its NUL; children of children that are looked at */

typedef struct ask {            /* an open wait */
    const char *run;            /* who asks: the run itself, or a child of it, */
    const char *call;           /* and the tool call of its parent's that began that; NULL: another began it, or it is the run itself */
    size_t open;                /* so many are open of `run` */
    pawl_wait w;
} ask;

typedef struct ask_child { const char *run, *call; } ask_child;

typedef struct asks {
    ask *all;                   /* first those of the run itself, then those of its children in the order in which they began, each with theirs */
    size_t n, cap;
    ask_child *children;        /* all that are waited for, also those that ask nothing */
    size_t nchildren, children_cap;
    bool works;                 /* something of the run or of a child of it is at work, or could be: it does not wait for people alone */
} asks;

/* All in `mem`, as it is stored. */
pawl_code asks_read(pawl_store *store, arena *mem, const char *run, asks *out, pawl_err *err);
/* The same of a run whose state is at hand; *told: something was said to one of the children that it has not taken yet. It was looked for before
 * how they stand, so what is asked then, and not told, is asked now. */
pawl_code asks_under(pawl_store *store, arena *mem, pawl_state *st, bool *told, asks *out, pawl_err *err);
pawl_code asks_own(arena *mem, pawl_state *st, asks *out);     /* of a state alone, without its children */
bool ask_is_childs(const ask *a, const char *run);      /* it is no wait of `run` itself */
bool asks_people(const asks *all);      /* somebody is to answer; input and signals are no answers */
/* The status of all of it together (semantics K): of a run that waits for children which ask, what they are. */
pawl_status asks_status(const asks *all, pawl_status own);
/* Of what waits for a run: something that moves it on. Signals that an agent does not know stay, and are no reason to wait for anything. */
pawl_code asks_told(pawl_store *store, const char *run, bool *told, pawl_err *err);

/* Whose child it is, and so on up to one that is none: who is to be driven on when it was answered. Of one that is over itself, or whose parent
 * is over or not there, it is the run. */
void asks_top(pawl_store *store, const char *run, char top[ASKS_RUN_BYTES]);
/* The run that a wait's id names. */
void asks_run_of(const char *wait, char run[ASKS_RUN_BYTES]);

#endif
