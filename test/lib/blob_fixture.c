/* blob_fixture.c - see blob_fixture.h. Owns copies of the blobs; one thread. */
#include "blob_fixture.h"

#include <stdlib.h>
#include <string.h>

static const bag_blob *of_digest(const bag *b, const char *digest)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->list[i].digest, digest) == 0)
            return &b->list[i];
    return NULL;
}

void bag_take(bag *b, const pawl_step *s)
{
    const char *digest;
    pawl_bytes bytes;

    for (size_t i = 0; (bytes = pawl_step_blob(s, i, &digest)).data != NULL; i++) {
        char hex[HASH_HEX + 1];
        hash h;

        hash_of(bytes.data, bytes.size, &h);
        hash_hex(&h, hex);
        CHECK_STR(digest, hex);
        b->given++;
        if (of_digest(b, digest) != NULL)
            continue;
        b->list = realloc(b->list, (b->n + 1) * sizeof *b->list);
        b->list[b->n] = (bag_blob){ .data = check_copy(bytes.data, bytes.size), .size = bytes.size };
        memcpy(b->list[b->n++].digest, hex, sizeof hex);
        b->bytes += bytes.size;
    }
}

pawl_code bag_find(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    bag *b = ctx;
    const bag_blob *found = of_digest(b, digest);

    if (++b->loads == b->fails_at)
        return fail(err, PAWL_IO, "the disk is away");
    if (found == NULL)
        return fail(err, PAWL_GONE, "there is no blob %.64s", digest);
    *bytes = (pawl_bytes){ found->data, found->size };
    return PAWL_OK;
}

pawl_loader bag_loader(bag *b)
{
    return (pawl_loader){ .blob = bag_find, .ctx = b };
}

void bag_free(bag *b)
{
    for (size_t i = 0; i < b->n; i++)
        free(b->list[i].data);
    free(b->list);
    *b = (bag){ .n = 0 };
}
