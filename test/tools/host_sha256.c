/* host_sha256.c - what a program gives to the amalgamated Pawl; this one takes it from nettle. */
#include "pawl.h"

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
