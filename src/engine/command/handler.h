/* handler.h - a handler that was added to an engine: the function that performs an effect. */
#ifndef ENGINE_HANDLER_H
#define ENGINE_HANDLER_H

#include "engine/engine.h"

struct handler {
    struct handler *next;
    pawl_handler_fn *fn;
    void *arg;
    pawl_class cls;
    bool sql;                   /* runs in the transaction that stores its receipt (sql_command.c) */
    int64_t limit_ms;           /* time limit of such a handler */
    char name[];
};

/* binding.c */
const handler *handler_of(const pawl_engine *e, const char *effect);    /* NULL: none */

#endif
