/* contract_inner.h - short words for the tests of the contract. Texts that are given back live for the test. */
#ifndef TEST_STORE_CONTRACT_INNER_H
#define TEST_STORE_CONTRACT_INNER_H

#include "store/contract.h"
#include "store/one.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_MS = 3600000 };     /* a lease that no test outlives */

extern const contract_maker *made;


/* ---- stores ------------------------------------------------------------------------------------------- */

pawl_store *fresh(void);
pawl_store *opened(const char *space);          /* another handle */
pawl_store *again(pawl_store *s);               /* closed and opened, where that can be */
void pass(pawl_store *s, int64_t ms);

/* ---- texts ----------------------------------------------------------------------------------------------- */

char *text(const char *fmt, ...)
#if defined __GNUC__
    __attribute__((format(printf, 1, 2)))
#endif
    ;
pawl_bytes bytes(const char *s);                /* NULL: {0} */
const char *base(const char *run, const char *more);    /* `more`: members to add, with a comma before them */
const char *entry(uint64_t seq, const char *items);     /* of a journal that nobody verifies */

/* ---- verbs ----------------------------------------------------------------------------------------------- */

uint64_t claimed(pawl_store *s, const char *run, const char *owner);    /* for long; the fence */
uint64_t begun(pawl_store *s, const char *run, const char *more);       /* created, and claimed by "me" */
pawl_code put(pawl_store *s, const char *run, uint64_t fence, uint64_t seq, ...);       /* lines, NULL last; its rc */
pawl_code put_one(pawl_store *s, pawl_append *a);       /* its rc; that of the whole is PAWL_OK */
void entries(pawl_store *s, const char *run, uint64_t fence, uint64_t from, uint64_t to);   /* each its own append */
pawl_head head(pawl_store *s, const char *run);
pawl_code deliver(pawl_store *s, const char *run, const char *id, pawl_delivery_kind kind, const char *name, const char *value);

/* ---- what is there, as a text --------------------------------------------------------------------------------- */

void check_journal(pawl_store *s, const char *run, const char *expected);
/* Lines as `base ...`, `snapshot 3 ...`, `record ...`, `4 ...`; `most`: stop after so many, 0: never. */
const char *loaded(pawl_store *s, const char *run, size_t most);
const char *ranged(pawl_store *s, const char *run, uint64_t after, uint64_t upto);
const char *listed(pawl_store *s, const pawl_filter *f);                /* ids, a blank after each */
const char *due(pawl_store *s, int64_t now_ms, size_t limit);
const char *waits(pawl_store *s, const char *run);                      /* `run wait` and a blank */
const char *deliveries(pawl_store *s, const char *run);                 /* ids, a blank after each */
const char *marks(pawl_store *s, const char *run);                      /* `id=attempts`, in order of ids, a blank after each */

#endif
