/* base.h - the base of every other header of Pawl: codes, errors, memory, values.
 *
 * Everywhere in this library:
 *   errors   0 is success; below 0 the call failed and changed nothing; above 0 it
 *            worked and the run is not over. `err` comes last, may be NULL, starts
 *            as {0} and keeps the first failure that is stored in it.
 *   values   a `const pawl_value *` is lent and read-only: it is valid as long as the
 *            step or the state that it came from, and the caller never frees it.
 *            NULL in place of a value means that an earlier call failed. Calls accept
 *            it and pass the failure on, so they may be nested unchecked.
 *   strings  UTF-8. Passed in, they are copied; returned, they are valid as long as
 *            their owner.
 *   time     `_ms` counts milliseconds; `time_ms` counts them from the Unix epoch.
 *   threads  a pawl_machine is immutable and may be shared; any other object belongs
 *            to one thread at a time. There are no globals.
 *   limits   every loop, queue and buffer has one; reaching it is PAWL_LIMIT.
 */
#ifndef PAWL_BASE_H
#define PAWL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __GNUC__
#define PAWL_API __attribute__((visibility("default")))
#define PAWL_MUST_USE __attribute__((warn_unused_result))
#define PAWL_SENTINEL __attribute__((sentinel))
#define PAWL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define PAWL_API
#define PAWL_MUST_USE
#define PAWL_SENTINEL
#define PAWL_PRINTF(fmt, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Kept in journals: add, never renumber. */
typedef enum pawl_code {
    PAWL_OK = 0,           /* done; of a step: feed PAWL_EV_TICK next */
    PAWL_PENDING = 1,      /* commands are open: feed their receipts */
    PAWL_INTERRUPTED = 2,  /* the run waits: feed the answer, the signal or the input */
    PAWL_HALTED = 3,       /* the run has ended, and its state is final */
    PAWL_IGNORED = 4,      /* the event does not apply in this state: nothing changed */
    PAWL_NOMEM = -1,
    PAWL_INVALID = -2,     /* the definition, the call or the event is wrong */
    PAWL_LIMIT = -3,       /* a named limit is reached */
    PAWL_CONFLICT = -4,    /* another writer changed the run or the object first */
    PAWL_TRANSIENT = -5,   /* worth trying again */
    PAWL_IO = -6,          /* committed data could not be read or written */
    PAWL_CORRUPT = -7,     /* the journal contradicts itself or the machine */
    PAWL_EFFECT = -8,      /* all attempts of a command failed; its receipt says why */
    PAWL_TIMEOUT = -9,     /* a deadline passed */
    PAWL_CANCELED = -10,   /* the run or the command was canceled */
    PAWL_DENIED = -11,     /* a hook, a policy or a person said no */
    PAWL_GONE = -12,       /* the object existed, and was pruned, erased or replaced */
    PAWL_UNKNOWN = -13,    /* the outcome of a command cannot be known */
    PAWL_FENCED = -14,     /* another worker holds the run now: this one lost its lease */
    PAWL_HELD = -15        /* another worker holds the run */
} pawl_code;

/* The name of `code` ("conflict"), or "unnamed" for an unknown number. Static. */
PAWL_API const char *pawl_code_name(pawl_code code);

/* The code of that name, or PAWL_INVALID. `name` may be NULL. */
PAWL_API pawl_code pawl_code_named(const char *name);

typedef struct pawl_err {
    pawl_code code;
    char text[252]; /* one line, no newline: essay: no node "revize" (did you mean "revise"?) */
} pawl_err;

/* Memory comes from one function: `size` bytes for `ptr` (NULL: new) that had `old_size`,
 * aligned for any type; size 0 frees and returns NULL. Returns NULL when there is no memory,
 * and `ptr` is then unchanged. Called by one thread at a time for each object that uses it. */
typedef struct pawl_alloc {
    void *(*resize)(void *ctx, void *ptr, size_t old_size, size_t size);
    void *ctx;
} pawl_alloc;

/* Bytes with their length; `data` need not end in NUL and may be NULL when `size` is 0. */
typedef struct pawl_bytes {
    const char *data;
    size_t size;
} pawl_bytes;

/* ---- values: JSON, read only ---------------------------------------------------- */

typedef struct pawl_value pawl_value;

typedef enum pawl_type {
    PAWL_TYPE_NONE = 0, /* NULL was given */
    PAWL_TYPE_NULL = 1,
    PAWL_TYPE_BOOL = 2,
    PAWL_TYPE_INT = 3,  /* fits int64_t or uint64_t */
    PAWL_TYPE_REAL = 4,
    PAWL_TYPE_STRING = 5,
    PAWL_TYPE_ARRAY = 6,
    PAWL_TYPE_OBJECT = 7
} pawl_type;

/* All of these accept NULL, and then return what they return for a value of another type. */
PAWL_API pawl_type pawl_value_type(const pawl_value *v);
PAWL_API bool pawl_value_bool(const pawl_value *v);            /* false unless it is true */
PAWL_API int64_t pawl_value_int(const pawl_value *v);          /* 0 unless it is an integer in range */
PAWL_API uint64_t pawl_value_uint(const pawl_value *v);        /* 0 unless it is an integer >= 0 */
PAWL_API double pawl_value_real(const pawl_value *v);          /* any number; else 0 */
PAWL_API const char *pawl_value_string(const pawl_value *v);   /* NULL unless a string; ends in NUL */
PAWL_API size_t pawl_value_size(const pawl_value *v);          /* bytes, elements or members; else 0 */
PAWL_API const pawl_value *pawl_value_at(const pawl_value *array, size_t index);  /* or NULL */
PAWL_API const pawl_value *pawl_value_get(const pawl_value *object, const char *key); /* or NULL */
/* What the JSON pointer `path` (RFC 6901: "" is `v` itself, "/a/0") leads to, or NULL. */
PAWL_API const pawl_value *pawl_value_find(const pawl_value *v, const char *path);
/* Equal as canonical JSON: same type, same numbers, members in any order. NULL equals NULL alone. */
PAWL_API bool pawl_value_equal(const pawl_value *a, const pawl_value *b);

/* Walk an array or an object in its own order:
 *     pawl_iter it = pawl_iter_of(v);
 *     const pawl_value *key, *item;
 *     while ((item = pawl_iter_next(&it, &key)) != NULL) ...
 * `key` may be NULL; in an array *key is set to NULL. */
typedef struct pawl_iter {
    const pawl_value *next;
    size_t left;
    bool keyed;
} pawl_iter;
PAWL_API pawl_iter pawl_iter_of(const pawl_value *v);
PAWL_API const pawl_value *pawl_iter_next(pawl_iter *it, const pawl_value **key);

#ifdef __cplusplus
}
#endif

/* The version of these headers; pawl_version() of kernel.h is that of the library. Below 1.0.0 a minor version may break the API:
 *     #if PAWL_VERSION_NUMBER >= 200         from 0.2.0 on */
#define PAWL_VERSION_MAJOR 0
#define PAWL_VERSION_MINOR 1
#define PAWL_VERSION_PATCH 0
#define PAWL_VERSION "0.1.0"
#define PAWL_VERSION_NUMBER (PAWL_VERSION_MAJOR * 10000 + PAWL_VERSION_MINOR * 100 + PAWL_VERSION_PATCH)

#endif
