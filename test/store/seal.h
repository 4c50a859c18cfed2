/* seal.h - codecs for tests: one that hides what it is given and finds out when it was touched, one that makes runs of a byte
 * short. No cipher: nobody is to be kept out here. */
#ifndef TEST_STORE_SEAL_H
#define TEST_STORE_SEAL_H

#include "pawl/store.h"

#include <stdio.h>
#include <string.h>

typedef struct seal {
    uint64_t key, nonce;        /* a new one for each value, so that equal values look different */
    int fails;                  /* so many of the next calls */
    size_t encoded, decoded;
} seal;

static inline uint64_t seal_next(uint64_t *x)
{
    uint64_t z = *x += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static inline void seal_stream(uint64_t key, uint64_t nonce, const char *from, char *to, size_t n)
{
    uint64_t x = key ^ nonce * UINT64_C(0xD6E8FEB86659FD93), word = 0;

    for (size_t i = 0; i < n; i++) {
        word = i % 8 == 0 ? seal_next(&x) : word >> 8;
        to[i] = (char)((unsigned char)from[i] ^ (unsigned char)word);
    }
}

static inline uint64_t seal_sum(uint64_t key, const char *data, size_t n)
{
    uint64_t x = key + n;

    for (size_t i = 0; i < n; i++) {
        x ^= (unsigned char)data[i];
        (void)seal_next(&x);
        x = seal_next(&x);
    }
    return x;
}

static inline bool seal_fails(seal *s)
{
    return s->fails > 0 && s->fails-- > 0;
}

/* NONCE SUM BYTES */
static inline pawl_code seal_encode(void *ctx, pawl_bytes in, pawl_out *out, pawl_err *err)
{
    seal *s = ctx;
    char *to = pawl_out_size(out, in.size + 16);
    uint64_t sum = seal_sum(s->key, in.data, in.size);

    if (to == NULL)
        return PAWL_NOMEM;
    if (seal_fails(s)) {
        snprintf(err->text, sizeof err->text, "the key is locked away");
        return PAWL_TRANSIENT;
    }
    s->nonce++;
    s->encoded++;
    memcpy(to, &s->nonce, 8);
    memcpy(to + 8, &sum, 8);
    seal_stream(s->key, s->nonce, in.data, to + 16, in.size);
    return PAWL_OK;
}

static inline pawl_code seal_decode(void *ctx, pawl_bytes in, pawl_out *out, pawl_err *err)
{
    seal *s = ctx;
    uint64_t nonce, sum;
    char *to = in.size < 16 ? NULL : pawl_out_size(out, in.size - 16);

    if (in.size < 16)
        return PAWL_INVALID;
    if (to == NULL)
        return PAWL_NOMEM;
    s->decoded++;
    memcpy(&nonce, in.data, 8);
    memcpy(&sum, in.data + 8, 8);
    seal_stream(s->key, nonce, in.data + 16, to, in.size - 16);
    if (sum == seal_sum(s->key, to, in.size - 16))
        return PAWL_OK;
    snprintf(err->text, sizeof err->text, "it was touched");
    return PAWL_INVALID;
}

/* COUNT BYTE, again and again; asked for the most that it can be, and then for what it is. */
static inline pawl_code squeeze_encode(void *ctx, pawl_bytes in, pawl_out *out, pawl_err *err)
{
    char *to = pawl_out_size(out, 2 * in.size);
    size_t n = 0;

    (void)ctx, (void)err;
    if (to == NULL)
        return PAWL_NOMEM;
    for (size_t i = 0, k; i < in.size; i = k) {
        for (k = i + 1; k < in.size && k - i < 255 && in.data[k] == in.data[i];)
            k++;
        to[n++] = (char)(unsigned char)(k - i);
        to[n++] = in.data[i];
    }
    return pawl_out_size(out, n) != NULL ? PAWL_OK : PAWL_NOMEM;
}

static inline pawl_code squeeze_decode(void *ctx, pawl_bytes in, pawl_out *out, pawl_err *err)
{
    size_t n = 0;

    (void)ctx, (void)err;
    for (size_t i = 0; i + 1 < in.size; i += 2) {
        size_t count = (unsigned char)in.data[i];
        char *to = pawl_out_size(out, n + count);

        if (to == NULL)
            return PAWL_NOMEM;
        memset(to + n, in.data[i + 1], count);
        n += count;
    }
    return PAWL_OK;
}

#endif
