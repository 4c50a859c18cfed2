/* address.c - which addresses are of this machine or of a private network: no request of a model goes there unless it was allowed by name.
 *
 * Called by tool/fetch.c and egress.c for each address before a connection, on any thread. Owns nothing. */
#include "effect/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

/* Networks that are not public, as the first bits of an address. */
static const struct { uint32_t net; unsigned bits; } inner4[] = {
    { 0x00000000, 8 }, { 0x0A000000, 8 }, { 0x64400000, 10 }, { 0x7F000000, 8 }, { 0xA9FE0000, 16 }, { 0xAC100000, 12 },
    { 0xC0000000, 24 }, { 0xC0A80000, 16 }, { 0xC6120000, 15 }, { 0xE0000000, 3 },
};

static bool is_inner4(uint32_t a)
{
    for (size_t i = 0; i < sizeof inner4 / sizeof *inner4; i++)
        if (a >> (32 - inner4[i].bits) == inner4[i].net >> (32 - inner4[i].bits))
            return true;
    return false;
}

static uint32_t four(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* IPv6 addresses that contain an IPv4 address are judged by that. */
static bool is_inner6(const uint8_t b[16])
{
    static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF }, nat[12] = { 0, 0x64, 0xFF, 0x9B };
    static const uint8_t none[12] = { 0 };

    if (memcmp(b, mapped, 12) == 0 || memcmp(b, nat, 12) == 0 || memcmp(b, none, 12) == 0)
        return is_inner4(four(b + 12));
    if (b[0] == 0x20 && b[1] == 0x02)
        return is_inner4(four(b + 2));
    /* only 2000::/3 is public; 2001::/32 (Teredo) hides its target */
    return b[0] >> 5 != 1 || (b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0);
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a == NULL || a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET) {
        struct sockaddr_in x, y;

        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x.sin_addr.s_addr == y.sin_addr.s_addr;
    }
    if (a->sa_family == AF_INET6) {
        struct sockaddr_in6 x, y;

        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return memcmp(&x.sin6_addr, &y.sin6_addr, sizeof x.sin6_addr) == 0;
    }
    return false;
}

static bool of_this_machine(const struct sockaddr *to)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) != 0)
        return true;            /* an unknown family counts as private */
    for (struct ifaddrs *i = all; i != NULL && !found; i = i->ifa_next)
        found = same_address(i->ifa_addr, to);
    freeifaddrs(all);
    return found;
}

bool address_private(const struct sockaddr *to)
{
    if (to->sa_family == AF_INET) {
        struct sockaddr_in a;

        memcpy(&a, to, sizeof a);
        if (is_inner4(ntohl(a.sin_addr.s_addr)))
            return true;
    } else if (to->sa_family == AF_INET6) {
        struct sockaddr_in6 a;

        memcpy(&a, to, sizeof a);
        if (is_inner6(a.sin6_addr.s6_addr))
            return true;
    } else {
        return true;            /* an unknown family counts as private */
    }
    return of_this_machine(to);
}
