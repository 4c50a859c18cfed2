/* three.h - a store of three methods in memory, which fails on demand: the shelf that the tests of pawl_store_simple stand on.
 *
 * Handles on several threads may share one: it has a lock. */
#ifndef TEST_STORE_THREE_H
#define TEST_STORE_THREE_H

#include "pawl/store_simple.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct three_record { char key[PAWL_KEY_BYTES_MAX + 1]; uint64_t version; char *data; size_t size; } three_record;
typedef enum three_fault {
    THREE_NONE,
    THREE_BEFORE,               /* one call fails */
    THREE_AFTER,                /* one put is done, and says that it failed */
    THREE_DEAD                  /* from one call on all fail */
} three_fault;

typedef struct three {
    pthread_mutex_t lock;
    three_record *all;
    size_t n, cap;
    bool knows_versions;        /* a list gives them */
    uint64_t puts, gets, lists, bytes;
    three_fault fault;
    uint64_t left;              /* calls until the fault strikes; 0: it does not */
    bool struck;
    void (*before_put)(void *ctx);      /* called once, with the lock free: another writer comes in between */
    void *before_ctx;
} three;

static inline three_record *three_find(three *t, const char *key)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->all[i].key, key) == 0)
            return &t->all[i];
    return NULL;
}

/* *after: it is done, and then it fails. */
static inline bool three_strikes(three *t, bool *after)
{
    *after = false;
    if (t->fault == THREE_DEAD && t->struck)
        return true;
    if (t->fault == THREE_NONE || t->left == 0 || --t->left > 0)
        return false;
    t->struck = true;
    *after = t->fault == THREE_AFTER;
    return !*after;
}

static inline pawl_code three_failed(pawl_err *err)
{
    if (err != NULL)
        snprintf(err->text, sizeof err->text, "the shelf fell down");
    return PAWL_IO;
}

static inline void three_drop(three *t, three_record *r)
{
    free(r->data);
    *r = t->all[--t->n];
}

static inline pawl_code three_write(three *t, const char *key, uint64_t before, uint64_t version, pawl_bytes value)
{
    three_record *r = three_find(t, key);
    char *data;

    if ((r == NULL ? 0 : r->version) != before)
        return PAWL_CONFLICT;
    if (value.data == NULL) {
        if (r != NULL)
            three_drop(t, r);
        return PAWL_OK;
    }
    if ((data = malloc(value.size + 1)) == NULL)
        return PAWL_NOMEM;
    memcpy(data, value.data, value.size);
    if (r == NULL) {
        if (t->n == t->cap) {
            t->cap = t->cap == 0 ? 64 : 2 * t->cap;
            t->all = realloc(t->all, t->cap * sizeof *t->all);
        }
        if (t->all == NULL)
            abort();
        r = &t->all[t->n++];
        memset(r, 0, sizeof *r);
        snprintf(r->key, sizeof r->key, "%s", key);
    }
    free(r->data);
    *r = (three_record){ .version = version, .data = data, .size = value.size };
    snprintf(r->key, sizeof r->key, "%s", key);
    return PAWL_OK;
}

static inline pawl_code three_put(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    three *t = ctx;
    void (*in_between)(void *ctx);
    bool after;
    pawl_code rc;

    pthread_mutex_lock(&t->lock);
    in_between = t->before_put;
    t->before_put = NULL;
    pthread_mutex_unlock(&t->lock);
    if (in_between != NULL)
        in_between(t->before_ctx);
    pthread_mutex_lock(&t->lock);
    t->puts++;
    t->bytes += value.size;
    rc = three_strikes(t, &after) ? three_failed(err) : three_write(t, key, before, version, value);
    if (after)
        rc = three_failed(err);
    pthread_mutex_unlock(&t->lock);
    return rc;
}

static inline pawl_code three_get(void *ctx, const char *key, pawl_out *out, uint64_t *version, pawl_err *err)
{
    three *t = ctx;
    three_record *r;
    bool after;
    void *to;
    pawl_code rc = PAWL_OK;

    pthread_mutex_lock(&t->lock);
    t->gets++;
    if (three_strikes(t, &after) || after)
        rc = three_failed(err);
    else if ((r = three_find(t, key)) == NULL)
        rc = PAWL_GONE;
    else if ((to = pawl_out_size(out, r->size)) == NULL)
        rc = PAWL_NOMEM;
    else {
        memcpy(to, r->data, r->size);
        *version = r->version;
    }
    pthread_mutex_unlock(&t->lock);
    return rc;
}

static inline pawl_code three_list(void *ctx, const char *prefix, pawl_record_fn *fn, void *fn_ctx, pawl_err *err)
{
    three *t = ctx;
    bool after, failed;

    pthread_mutex_lock(&t->lock);
    t->lists++;
    failed = three_strikes(t, &after) || after;
    for (size_t i = failed ? 0 : t->n; i-- > 0;)        /* newest first: no order is promised */
        if (strncmp(t->all[i].key, prefix, strlen(prefix)) == 0 && !fn(fn_ctx, t->all[i].key, t->knows_versions ? t->all[i].version : 0))
            break;
    pthread_mutex_unlock(&t->lock);
    return failed ? three_failed(err) : PAWL_OK;
}

static const pawl_simple_methods three_methods = { .name = "three", .put = three_put, .get = three_get, .list = three_list };

static inline void three_clear(three *t)
{
    while (t->n > 0)
        three_drop(t, &t->all[t->n - 1]);
    free(t->all);
    t->all = NULL;
    t->cap = 0;
    t->fault = THREE_NONE;
    t->struck = false;
}

#endif
