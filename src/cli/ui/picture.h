/* picture.h - inside the view: what the changes of a run's items say of it, kept until it is drawn (view.c, view_draw.c). */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include "cli/ui/view.h"
#include "cli/ui/format.h"

typedef enum doing {
    TASK_READY,                 /* it began, or has a receipt or an answer */
    TASK_RUNNING,               /* a command of the task is performed */
    TASK_RETRIES,               /* an attempt failed, and another one follows */
    TASK_SLEEPS,
    TASK_WAITS,                 /* for a person or a signal */
    TASK_DONE,
    TASK_FAILED,
    TASK_DENIED,                /* it left after a no at its gate: it did not do its work */
    TASK_DOINGS
} doing;

typedef struct seen {           /* a task */
    struct seen *next;          /* in its slot */
    struct seen *sibling;
    struct group *of;
    int64_t due_ms;             /* of the next attempt, or of the end of the sleep */
    doing at;
    bool over;                  /* it has left: the question is asked after the node */
    bool erred;                 /* its last receipt says that a command failed */
    bool denied;                /* a person said no to it, and no command followed */
    char path[];
} seen;

typedef struct group {          /* the tasks of a node, as long as they are not all over: one line */
    struct group *next;
    seen *tasks;
    size_t total, known;        /* tasks that are expected, and those that began */
    size_t count[TASK_DOINGS];
    size_t failures, tenth;     /* failures that have a line of their own; tenths of a fan-out that were shown */
    int64_t began_ms;
    bool deep;                  /* in a fan-out of subgraphs: the number of its tasks is not known before */
    char *what;                 /* what it does; NULL: nothing to say */
    char *trouble;              /* what failed last; NULL: nothing */
    char name[];
} group;

typedef enum note_kind { NOTE_DONE, NOTE_FAILED, NOTE_DENIED, NOTE_CANCEL, NOTE_UNDO, NOTE_STOP, NOTE_AGAIN, NOTE_WAITS, NOTE_ANSWER, NOTE_SO_FAR } note_kind;
#define NOTES_PIPE NOTE_AGAIN           /* from here on only for a pipe */

typedef struct note {           /* a line to come */
    struct note *next;
    note_kind kind;
    int64_t took_ms;            /* below 0: not said */
    char *name, *what;          /* never NULL */
} note;

typedef struct sends {          /* the tasks that a leave or a close sends: read from the line of the journal before that change comes */
    struct sends *next;
    uint64_t seq;
    bool close, due;            /* of a close; of a leave that came, and the close of its superstep has not */
    size_t n;
    char *at, *node;            /* path of the leave, or of the frame */
} sends;

enum { TASK_SLOTS = 1024, FAILURES_SHOWN = 10, FAN_OUT_TENTHS = 10 };    /* FAILURES_SHOWN: lines of failed tasks of one node */

struct view {
    bool colour, over;
    bool failed;                /* no memory */
    int64_t now_ms;             /* of the last change that has a time */
    group *first, **last;
    note *notes, **notes_last;
    sends *sent, **sent_last;
    seen *slots[TASK_SLOTS];
    arena mem;                  /* of one change */
};

void group_counts(const group *g, buf *out);

#endif
