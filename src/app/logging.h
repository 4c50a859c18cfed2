/* logging.h - PAWL_LOG=LEVEL[:FILE]: one JSON line for each transition, to stderr or appended to a file; never a value of the state. */
#ifndef APP_LOGGING_H
#define APP_LOGGING_H

#include "json/json.h"
#include "pawl/host.h"

typedef enum log_level { LOG_OFF = 0, LOG_ERROR = 1, LOG_WARN = 2, LOG_INFO = 3, LOG_DEBUG = 4, LOG_TRACE = 5 } log_level;

enum { LOG_RUNS = 256 };

typedef struct logging {
    log_level level;
    int fd;
    bool own;                   /* it has opened the file */
    struct { uint64_t run; pawl_status status; } seen[LOG_RUNS];        /* the last logged status, by a hash of the run's id */
} logging;

/* By the environment. PAWL_INVALID, PAWL_IO: an invalid level, or the file cannot be opened. */
pawl_code logging_open(logging *l, pawl_err *err);
void logging_close(logging *l);
/* An entry or a task record was stored: as pawl_watch_fn. */
void logging_entry(logging *l, const pawl_state *st, const pawl_entry *entry);
/* For what is no entry: a parked run, an ignored event. */
void logging_line(logging *l, log_level level, const char *run, const char *what, const char *text);

/* The items of a journal line of this store, as they stand in it: an array, in `mem`; NULL: it has none, or no memory. `record`: it is a task record. */
const pawl_value *logging_items(arena *mem, pawl_bytes line, bool record);

#endif
