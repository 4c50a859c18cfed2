/* picture.h - inside the view: what is known of a run, as its events told it. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include "cli/ui/view.h"
#include "cli/ui/format.h"

typedef enum doing {
    TASK_READY,                 /* begun, or told something */
    TASK_OUT,                   /* a command of its is out */
    TASK_AGAIN,                 /* it failed, and is tried again */
    TASK_SLEEPS,
    TASK_ASKS,                  /* a person, or for a signal */
    TASK_DONE,
    TASK_FAILED,
    TASK_DOINGS
} doing;

typedef struct seen {           /* a task */
    struct seen *next;          /* in its slot */
    struct seen *sibling;
    struct group *of;
    int64_t due_ms;             /* when it is tried again, or wakes up */
    doing at;
    bool over;                  /* it has left: what it asks is asked behind it */
    bool erred;                 /* the last thing it was told is that something failed */
    char path[];
} seen;

typedef struct group {          /* the tasks of a node, as long as they are not all over: one line */
    struct group *next;
    seen *tasks;
    size_t total, known;        /* tasks that there will be, and those that began */
    size_t count[TASK_DOINGS];
    size_t failures, tenth;     /* told, one by one; of a fan-out */
    int64_t began_ms;
    bool deep;                  /* in a fan-out of subgraphs: how many there will be nobody knows */
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

typedef struct sends {          /* what the leave or the close that comes next sends to: known before it */
    struct sends *next;
    uint64_t seq;
    bool close, due;            /* of a close; the leave has been told, and its superstep's close is to come */
    size_t n;
    char *at, *node;            /* path of the leave, or of the frame */
} sends;

enum { TASK_SLOTS = 1024, FAILURES_TOLD = 10, FAN_OUT_TENTHS = 10 };    /* of one node, failures are told one by one */

struct view {
    bool colour, over;
    bool failed;                /* no memory */
    int64_t now_ms;             /* of the last event that has a time */
    group *first, **last;
    note *notes, **notes_last;
    sends *sent, **sent_last;
    seen *slots[TASK_SLOTS];
    arena mem;                  /* of one event */
};

#endif
