/* hash.c - SHA-256, by which records are chained and definitions are named. */
#include "base/inner.h"

#ifdef PAWL_HOST_SHA256
/* The single-file build has no library to call: its host brings the hash. */
extern void pawl_host_sha256(const pawl_bytes *parts, size_t n, uint8_t out[32]);

void hash_parts(const pawl_bytes *parts, size_t n, hash *out)
{
    pawl_host_sha256(parts, n, out->b);
}
#else
#include <nettle/sha2.h>

void hash_parts(const pawl_bytes *parts, size_t n, hash *out)
{
    struct sha256_ctx sha;

    sha256_init(&sha);
    for (size_t i = 0; i < n; i++)
        if (parts[i].size > 0)
            sha256_update(&sha, parts[i].size, (const uint8_t *)parts[i].data);
    sha256_digest(&sha, HASH_BYTES, out->b);
}
#endif

void hash_of(const void *data, size_t size, hash *out)
{
    pawl_bytes part = { data, size };

    hash_parts(&part, 1, out);
}

void hash_hex(const hash *h, char out[HASH_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < HASH_BYTES; i++) {
        out[2 * i] = digits[h->b[i] >> 4];
        out[2 * i + 1] = digits[h->b[i] & 15];
    }
    out[HASH_HEX] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hash_unhex(const char *text, size_t size, hash *out)
{
    hash h;

    if (text == NULL || size != HASH_HEX)
        return false;
    for (size_t i = 0; i < HASH_BYTES; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        h.b[i] = (uint8_t)(high << 4 | low);
    }
    *out = h;
    return true;
}

bool hash_equal(const hash *a, const hash *b)
{
    return memcmp(a->b, b->b, HASH_BYTES) == 0;
}
