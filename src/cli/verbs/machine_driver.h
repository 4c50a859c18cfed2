/* machine_driver.h - one machine of a worker: its session, with an engine and a store handle of its own, and a thread while runs of it are due.
 *
 * The thread survives every error of the store: it prints the error on stderr, backs off and continues. It returns when nothing was due for a while,
 * when the worker stops, or when the store has refused for so long that another worker should have its runs. */
#ifndef CLI_VERBS_MACHINE_DRIVER_H
#define CLI_VERBS_MACHINE_DRIVER_H

#include "base/sm.h"
#include "cli/open_session.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum driver_state {
    DRIVER_IDLE = 0,            /* the engine is open, no thread drives it */
    DRIVER_WORKING = 1,         /* its thread is in the engine */
    DRIVER_BACKING_OFF = 2,     /* its thread waits after an error */
    DRIVER_RETURNED = 3,        /* its thread is done, and must be joined */
    DRIVER_CLOSED = 4,
    DRIVER_STATES
} driver_state;

enum { DRIVER_NOTES_MAX = 256 };

/* Of the worker, for all of its drivers. */
typedef struct driver_board {
    pthread_mutex_t lock;       /* over the states of all drivers */
    pthread_cond_t returned;    /* steady clock */
    atomic_bool stop;           /* no thread is to begin another turn */
    bool once, bypass, proven;  /* the options of the worker */
    const char *store_name;
    atomic_ulong stored;        /* journal lines that drivers have stored */
    hash noted[DRIVER_NOTES_MAX];       /* notes about settings that were said, a ring; under the lock */
    size_t nnoted;
} driver_board;

typedef struct driver {
    driver_board *board;
    session *s;
    pthread_t thread;
    uint8_t state;              /* driver_state, under the board's lock */
    unsigned failures;          /* in a row; > 0 while it backs off. Like rc and err it belongs to the thread, and after driver_join to the main thread */
    int64_t failing_since_ms;
    pawl_code rc;               /* what the last turn returned */
    pawl_err err;
    hash good[PAWL_MODE_BYPASS + 1]; /* --proven: for each mode, the rules under which its file has a proof */
    bool good_known[PAWL_MODE_BYPASS + 1];
    char (*parked)[RUN_ID_BYTES];  /* runs to try once more when the thread starts */
    size_t nparked;
    arena settings;             /* of the last run that was claimed: what it took from the current settings, and its text */
    buf update;
    app_caller told;            /* gets the notes about settings, and says each once for all drivers */
    uint64_t serial;            /* given by the worker: unique */
    int64_t used_ms;            /* when its thread last worked */
} driver;

extern const sm_table driver_table;

void driver_board_init(driver_board *b);
/* Waits until a thread returns, for at most `ms`. */
void driver_board_wait(driver_board *b, int ms);
/* Takes `s`, also on failure (NULL: no memory). */
driver *driver_new(driver_board *b, session *s);
/* Adds a parked run that its thread tries when it starts. Only while idle. False: no memory. */
bool driver_try(driver *d, const char *run);
/* Idle: starts the thread. False: there is no thread, and it stays idle. */
bool driver_start(driver *d);
driver_state driver_now(driver *d);
/* Returned: joins the thread; it is idle again. d->rc is the result of its last turn. */
void driver_join(driver *d);
bool driver_has(const driver *d, const char *machine);         /* one of that name */
bool driver_fits(const driver *d, const pawl_state *st);        /* exactly the machine of the run */
/* Idle, and what its engine last found about `head` still holds: nothing can be done for that run here. */
bool driver_tried(const driver *d, const pawl_head *head);
/* The store has refused for too long: close its engine, so that its leases are not renewed any more. */
bool driver_gave_up(const driver *d);
/* Idle: releases its runs and frees it. */
void driver_close(driver *d);
int64_t driver_clock_ms(void);  /* steady */

#endif
