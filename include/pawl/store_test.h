/* store_test.h - the contract of stores as tests, for the author of one: the library pawl-store-test (docs/STORES.md).
 *
 *     int main(int argc, char **argv) { return pawl_store_contract_simple(argc, argv, &my_methods, my_open, NULL); }
 *
 *     cc my_store_test.c my_store.c -lpawl-store-test -lpawl
 *
 * The tests write to the store that they are given and remove ALL RECORDS in it, again and again: give them one of their own. Each is named after the promise
 * that it proves (docs/IDEAS.md). A failing test prints file, line and what differs on stderr; the last line on stdout is `N passed, N failed, N skipped`.
 * Arguments of the program: a part of the names of the tests to run, `--seed N`, and `--all` (no samples). Both functions return the exit status: 0, or 1
 * when a test failed or none passed. On the calling thread; once in a process. */
#ifndef PAWL_STORE_TEST_H
#define PAWL_STORE_TEST_H

#include "pawl/store_simple.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tests three methods, what they promise each other, and the store that stands on them. `open` returns another `ctx` on the same store, as another process
 * has one, and methods->close, if there is one, closes it; NULL from it: the test fails. `open` NULL: `arg` is the ctx of all handles, and what needs several
 * processes is skipped. */
PAWL_API int pawl_store_contract_simple(int argc, char **argv, const pawl_simple_methods *methods, void *(*open)(void *arg), void *arg);

typedef struct pawl_store_maker {
    void (*fresh)(void *arg);   /* deletes what is in the store: the next handle sees an empty one. No handle is open */
    pawl_store *(*open)(void *arg, const char *space, pawl_err *err);  /* a handle in namespace `space` ("": the default). NULL: see err */
    void (*pass)(void *arg, pawl_store *s, int64_t ms);     /* lets time pass for the store; NULL: the test sleeps */
    void *arg;
    bool shared;                /* a store that was closed can be opened again, and several handles at once */
    bool spaces;                /* it has namespaces */
    uint32_t signals_max;       /* its limit of deliveries in a mailbox, as it was opened; 20 will do */
} pawl_store_maker;

/* Tests a store that has all verbs of pawl/store_verbs.h itself. */
PAWL_API int pawl_store_contract(int argc, char **argv, const pawl_store_maker *maker);

#ifdef __cplusplus
}
#endif
#endif
