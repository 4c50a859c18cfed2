/* blob_fixture.h - where a test keeps what steps set apart, by content.
 *
 *     bag_take(&b, step);                     each content once
 *     const pawl_loader loader = bag_loader(&b);
 */
#ifndef TEST_LIB_BAG_H
#define TEST_LIB_BAG_H

#include "check.h"
#include "kernel/kernel.h"

typedef struct bag_blob { char digest[HASH_HEX + 1]; char *data; size_t size; } bag_blob;
typedef struct bag {
    bag_blob *list;
    size_t n;
    size_t bytes;               /* of all */
    size_t given;               /* how many were handed in, those that were there among them */
    size_t loads, fails_at;     /* loads are counted; one of them fails: the first is 1, 0 none */
} bag;

void bag_take(bag *b, const pawl_step *s);
pawl_loader bag_loader(bag *b);
pawl_code bag_find(void *b, const char *digest, pawl_bytes *bytes, pawl_err *err);      /* a loader's `blob` */
void bag_free(bag *b);

#endif
