/* picture.h - inside the view: the state of a run, made from the changes of its items, kept until it is drawn (view.c, view_draw.c). */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include "cli/ui/view.h"
#include "cli/ui/format.h"

typedef enum doing {
    TASK_READY,                 /* started, or has a receipt or an answer */
    TASK_RUNNING,               /* a command of the task is performed */
    TASK_RETRIES,               /* an attempt failed, and another one will follow */
    TASK_SLEEPS,
    TASK_WAITS,                 /* for a person or a signal */
    TASK_DONE,
    TASK_FAILED,
    TASK_DENIED,                /* it left after a denial at its gate: it did no work */
    TASK_DOINGS
} doing;

typedef struct seen {           /* a task */
    struct seen *next;          /* in the same hash slot */
    struct seen *sibling;
    struct group *of;
    int64_t due_ms;             /* of the next attempt, or the end of the sleep */
    doing at;
    bool over;                  /* it has left; a question after the node may still be open */
    bool erred;                 /* its last receipt says that a command failed */
    bool denied;                /* a person denied it, and no command followed */
    char path[];
} seen;

typedef struct group {          /* the tasks of a node that have not all ended: one line */
    struct group *next;
    seen *tasks;
    size_t total, known;        /* tasks that are expected, and those that began */
    size_t count[TASK_DOINGS];
    size_t failures, tenth;     /* failures that have a line of their own; tenths of a fan-out that were printed */
    int64_t began_ms, waited_ms; /* waited_ms: how long all of it waited for people or signals, until `waits_ms` */
    int64_t waits_ms;           /* since when it does so; 0: something else goes on, too */
    bool deep;                  /* in a fan-out of subgraphs: the number of its tasks is not known in advance */
    char *what;                 /* what it does; NULL: nothing to show */
    char *trouble;              /* the last failure; NULL: none */
    char name[];
} group;

typedef enum note_kind { NOTE_DONE, NOTE_FAILED, NOTE_DENIED, NOTE_CANCEL, NOTE_UNDO, NOTE_STOP, NOTE_AGAIN, NOTE_WAITS, NOTE_ANSWER, NOTE_SO_FAR } note_kind;
#define NOTES_PIPE NOTE_AGAIN           /* kinds from here on are only for a pipe */

typedef struct note {           /* a line that will be printed */
    struct note *next;
    note_kind kind;
    int64_t took_ms;            /* below 0: not printed */
    char *name, *what;          /* never NULL */
} note;

typedef struct sends {          /* the tasks that a leave or a close sends, read from the journal line before that change arrives */
    struct sends *next;
    uint64_t seq;
    bool close, due;            /* of a close; of a leave whose superstep has not closed */
    size_t n;
    char *at, *node;            /* path of the leave, or of the frame */
} sends;

enum { TASK_SLOTS = 1024, FAILURES_SHOWN = 10, FAN_OUT_TENTHS = 10 };    /* FAILURES_SHOWN: failed tasks of one node that get a line each */

struct view {
    bool colour, over;
    bool failed;                /* no memory */
    int64_t now_ms;             /* of the last change that had a time */
    group *first, **last;
    note *notes, **notes_last;
    sends *sent, **sent_last;
    seen *slots[TASK_SLOTS];
    arena mem;                  /* of one change */
};

void group_counts(const group *g, buf *out);

#endif
