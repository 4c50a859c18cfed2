/* egress.h - the way from a sandbox to the hosts that rules allow: a proxy of ours, to which alone the sandbox has a connection (P13). */
#ifndef EFFECT_EGRESS_H
#define EFFECT_EGRESS_H

#include "json/json.h"
#include "pawl/policy.h"

/* ---- egress.c ------------------------------------------------------------------------------------------ */

typedef struct egress egress;
/* Starts a proxy that lets through what `p` allows (lent until egress_stop). *channel: for the program's `fourth`, through which it sends the socket that
 * it listens on; closed by egress_stop. NULL: see err (PAWL_NOMEM, PAWL_TRANSIENT). Any thread. */
egress *egress_start(const pawl_policy *p, int *channel, pawl_err *err);
void egress_stop(egress *e);            /* ends all connections, and waits for their threads; may be NULL */

/* ---- egress_read.c: what clients say first; pure ----------------------------------------------------------- */

enum { EGRESS_HOST_BYTES = 256, EGRESS_HEAD_BYTES = 16384 };

typedef struct egress_head {
    bool connect;               /* CONNECT host:port; else an address http://host:port/path */
    char host[EGRESS_HOST_BYTES];       /* as it was given */
    uint16_t port;
    size_t method_size;         /* at the beginning of the head */
    const char *path;           /* of an address, from its / on; in the head */
    size_t path_size;
} egress_head;
/* The size of a head, with its empty line; 0: more is due. */
size_t egress_head_size(const char *text, size_t size);
/* False: it is no request to a proxy, or its Host header names another host. */
bool egress_head_read(const char *text, size_t size, egress_head *out);
/* Append the head as the server gets it: with the path alone, without headers for the proxy, and closed at its end. */
void egress_head_put(buf *out, const char *text, size_t size, const egress_head *h);
/* Whether the first bytes in a tunnel are of that host: TLS with its name, or HTTP with its Host. PENDING: more is due. */
typedef enum egress_first { EGRESS_FITS, EGRESS_PENDING, EGRESS_OTHER } egress_first;
egress_first egress_first_read(const char *data, size_t size, const char *host);

#endif
