/* task_inner.h - a task as its folder's files see it: task.c folds it, write.c writes it. */
#ifndef A2A_TASK_INNER_H
#define A2A_TASK_INNER_H

#include "a2a/a2a.h"

typedef struct a2a_open {       /* an item that is at work */
    const char *id;
    bool works;                 /* false: it waits */
    bool child;                 /* it is a run */
} a2a_open;

struct a2a_task {
    arena mem;                  /* all that is below */
    const char *id, *context, *machine, *first;
    uint64_t life;
    a2a_message *history;       /* what was said, in order */
    size_t nhistory, history_cap;
    a2a_message *coming;        /* said, and not taken yet */
    size_t ncoming;
    a2a_artifact *artifacts;    /* each name once, the newest */
    size_t nartifacts, artifacts_cap;
    a2a_wait *waits;            /* open */
    size_t nwaits, waits_cap;
    a2a_open *open;
    size_t nopen, open_cap;
    uint8_t status;             /* of the run, at its newest entry */
    bool graph;                 /* it has nodes */
    bool guessed;               /* the newest message of the user was made from channels: the agent's own replaces it */
    bool failed;                /* no memory */
    bool asked;                 /* a wait was opened in this line */
    const char *why;            /* why it failed; NULL: not known */
    a2a_place at;               /* of the newest event, or change */
    a2a_place output_at;        /* of the output of a run that is completed */
    int64_t time_ms;            /* of the newest change that has one */
    const a2a_message *spoken;  /* by the agent in this line, not told yet */
    a2a_status told;            /* the newest status that was told */
    const a2a_message *fault;   /* says `why`; NULL: not made yet */
};

#endif
