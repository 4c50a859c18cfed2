/* contract.h - what include/pawl/store.h says, as tests that any store can be put through.
 *
 *     static const contract_maker maker = { .fresh = ..., .open = ..., .shared = true, .signals_max = 20 };
 *     int main(int argc, char **argv) { return contract_main(argc, argv, &maker); }            */
#ifndef TEST_STORE_CONTRACT_H
#define TEST_STORE_CONTRACT_H

#include "lib/check.h"
#include "pawl/store.h"

typedef struct contract_maker {
    void (*fresh)(void);        /* what was there is gone: the next one that is opened is empty */
    pawl_store *(*open)(const char *space, pawl_err *err);      /* a handle on the store of this test; `space` "" at first */
    void (*pass)(pawl_store *s, int64_t ms);    /* let time pass for the store; NULL: by sleeping */
    bool shared;                /* what was closed can be opened again, and several handles at once */
    bool spaces;                /* there is more than one namespace */
    uint32_t signals_max;       /* deliveries that may wait for a run */
} contract_maker;

/* All of it, and the tests of the file that calls it. */
int contract_main(int argc, char **argv, const contract_maker *maker);

#endif
