/* contract.h - the contract of stores (pawl/store_verbs.h) as tests, which run on any store.
 *
 *     static const contract_maker maker = { .fresh = ..., .open = ..., .shared = true, .signals_max = 20 };
 *     int main(int argc, char **argv) { return contract_main(argc, argv, &maker); }            */
#ifndef TEST_STORE_CONTRACT_H
#define TEST_STORE_CONTRACT_H

#include "lib/check.h"
#include "pawl/store.h"

typedef struct contract_maker {
    void (*fresh)(void);        /* deletes the store of this test: the next one that is opened is empty */
    pawl_store *(*open)(const char *space, pawl_err *err);      /* opens a handle on the store of this test, in namespace `space` ("": the default) */
    void (*pass)(pawl_store *s, int64_t ms);    /* lets time pass for the store; NULL: the test sleeps */
    bool shared;                /* a closed store can be opened again, and several handles at once */
    bool spaces;                /* it has namespaces */
    uint32_t signals_max;       /* the limit of deliveries in a mailbox */
} contract_maker;

/* Runs the tests of the contract, and those of the file that calls it. */
int contract_main(int argc, char **argv, const contract_maker *maker);

#endif
