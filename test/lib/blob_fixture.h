/* blob_fixture.h - the blobs of a test, by digest: collected from steps, found by a loader.
 *
 *     bag_take(&b, step);                     each content once
 *     const pawl_loader loader = bag_loader(&b);
 */
#ifndef TEST_LIB_BAG_H
#define TEST_LIB_BAG_H

#include "base/base.h"
#include "check.h"
#include "pawl/kernel.h"

typedef struct bag_blob { char digest[HASH_HEX + 1]; char *data; size_t size; } bag_blob;
typedef struct bag {
    bag_blob *list;
    size_t n;
    size_t bytes;               /* of all blobs */
    size_t given;               /* blobs taken from steps, repeated ones included */
    size_t loads, fails_at;     /* number of loads; which of them fails, from 1; 0: none */
} bag;

void bag_take(bag *b, const pawl_step *s);
pawl_loader bag_loader(bag *b);
pawl_code bag_find(void *b, const char *digest, pawl_bytes *bytes, pawl_err *err);      /* the member `blob` of a loader */
void bag_free(bag *b);

#endif
