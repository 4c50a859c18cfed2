/* hash.c - SHA-256, for the chain of entries and for digests.
 *
 * Pure; any thread. */
#include "base/base.h"

#ifdef PAWL_HOST_SHA256
/* The amalgamation has no library: the surrounding program provides the hash. */
extern void pawl_host_sha256(const pawl_bytes *parts, size_t n, uint8_t out[32]);

void hash_parts(const pawl_bytes *parts, size_t n, hash *out)
{
    pawl_host_sha256(parts, n, out->b);
}
#else
#include <nettle/sha2.h>

enum { BLOCK_BYTES = 64, LENGTH_BYTES = 8, SHORT_BYTES_MAX = 4 * BLOCK_BYTES - LENGTH_BYTES - 1 };

static void put_64(uint8_t *out, uint64_t x)
{
    out[0] = (uint8_t)(x >> 56);
    out[1] = (uint8_t)(x >> 48);
    out[2] = (uint8_t)(x >> 40);
    out[3] = (uint8_t)(x >> 32);
    out[4] = (uint8_t)(x >> 24);
    out[5] = (uint8_t)(x >> 16);
    out[6] = (uint8_t)(x >> 8);
    out[7] = (uint8_t)x;
}

/* Most entries are this short. Padded here they are complete blocks, which the library processes in place; its own padding and digest work byte by byte,
 * and take longer than a block. */
static void hash_short(const pawl_bytes *parts, size_t n, size_t size, hash *out)
{
    const size_t padded = (size + LENGTH_BYTES + BLOCK_BYTES) / BLOCK_BYTES * BLOCK_BYTES;
    uint8_t text[SHORT_BYTES_MAX + BLOCK_BYTES];
    struct sha256_ctx sha;
    size_t at = 0;

    for (size_t i = 0; i < n; at += parts[i++].size)
        text_copy((char *)text + at, parts[i].data, parts[i].size);
    memset(text + at, 0, BLOCK_BYTES);  /* a constant size needs no call; bytes after the padding are not read */
    text[at] = 0x80;
    put_64(text + padded - LENGTH_BYTES, (uint64_t)size * 8);
    sha256_init(&sha);
    sha256_update(&sha, padded, text);
    for (size_t i = 0; i < HASH_BYTES / 8; i++)
        put_64(out->b + 8 * i, (uint64_t)sha.state[2 * i] << 32 | sha.state[2 * i + 1]);
}

static void hash_long(const pawl_bytes *parts, size_t n, hash *out)
{
    struct sha256_ctx sha;

    sha256_init(&sha);
    for (size_t i = 0; i < n; i++)
        if (parts[i].size > 0)
            sha256_update(&sha, parts[i].size, (const uint8_t *)parts[i].data);
    sha256_digest(&sha, HASH_BYTES, out->b);
}

void hash_parts(const pawl_bytes *parts, size_t n, hash *out)
{
    size_t size = 0;

    for (size_t i = 0; i < n && size <= SHORT_BYTES_MAX; i++)
        size += parts[i].size;
    if (size <= SHORT_BYTES_MAX)
        hash_short(parts, n, size, out);
    else
        hash_long(parts, n, out);
}
#endif

void hash_of(const void *data, size_t size, hash *out)
{
    pawl_bytes part = { data, size };

    hash_parts(&part, 1, out);
}

/* Loops that compilers turn into steps of sixteen bytes. */
void hash_hex(const hash *h, char out[HASH_HEX + 1])
{
    uint8_t digits[HASH_HEX];

    for (size_t i = 0; i < HASH_BYTES; i++) {
        digits[2 * i] = h->b[i] >> 4;
        digits[2 * i + 1] = h->b[i] & 15;
    }
    for (size_t i = 0; i < HASH_HEX; i++)
        out[i] = (char)(digits[i] + (digits[i] < 10 ? '0' : 'a' - 10));
    out[HASH_HEX] = '\0';
}

bool hash_unhex(const char *text, size_t size, hash *out)
{
    const uint8_t no_digit = 0x80;
    uint8_t digits[HASH_HEX], all = 0;

    if (text == NULL || size != HASH_HEX)
        return false;
    for (size_t i = 0; i < HASH_HEX; i++) {
        uint8_t number = (uint8_t)(text[i] - '0'), letter = (uint8_t)(text[i] - 'a');

        digits[i] = number < 10 ? number : letter < 6 ? (uint8_t)(letter + 10) : no_digit;
        all |= digits[i];
    }
    if (all >= no_digit)
        return false;
    for (size_t i = 0; i < HASH_BYTES; i++)
        out->b[i] = (uint8_t)(digits[2 * i] << 4 | digits[2 * i + 1]);
    return true;
}
