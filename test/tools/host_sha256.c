/* host_sha256.c - what a program gives to the amalgamated Pawl: SHA-256, and the check of Ed25519 signatures; this one takes them from nettle. */
#include "pawl.h"

#include <nettle/eddsa.h>
#include <nettle/sha2.h>

void pawl_host_sha256(const pawl_bytes *parts, size_t n, uint8_t out[32]);

void pawl_host_sha256(const pawl_bytes *parts, size_t n, uint8_t out[32])
{
    struct sha256_ctx sha;

    sha256_init(&sha);
    for (size_t i = 0; i < n; i++)
        if (parts[i].size > 0)
            sha256_update(&sha, parts[i].size, (const uint8_t *)parts[i].data);
    sha256_digest(&sha, 32, out);
}

bool pawl_host_ed25519(const uint8_t key[32], const void *bytes, size_t size, const uint8_t signature[64]);

bool pawl_host_ed25519(const uint8_t key[32], const void *bytes, size_t size, const uint8_t signature[64])
{
    return ed25519_sha512_verify(key, size, bytes, signature) == 1;
}
