/* guard.c - who may ask: the Host and Origin headers, the token of TCP, the user of a unix socket (N4). Loop thread.
 *
 * A page in a browser can make requests to a loopback address under a name of its own (DNS rebinding), so the Host must be a known one, and an Origin
 * must be this server's. The token is compared in constant time. */
#include "json/json.h"
#include "serve/serve_inner.h"

#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/* The name without the port: "[::1]:80" gives "[::1]". */
static size_t name_of(const char *host)
{
    return host[0] == '[' && strchr(host, ']') != NULL ? (size_t)(strchr(host, ']') + 1 - host) : strcspn(host, ":");
}

static bool is_name(const char *host, size_t size, const char *name) { return strlen(name) == size && strncasecmp(host, name, size) == 0; }

static bool host_is_known(const server *s, const char *host)
{
    static const char *const own[] = { "localhost", "127.0.0.1", "[::1]" };
    const size_t size = name_of(host);
    bool known = false;

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        known = known || is_name(host, size, own[i]);
    for (size_t i = 0; i < s->config->nhosts; i++)
        known = known || is_name(host, size, s->config->hosts[i]);
    return known;
}

/* An Origin is "http://HOST:PORT"; of this server: the same authority as the Host. */
static bool origin_is_own(const char *origin, const char *host)
{
    const char *at = strstr(origin, "://");

    return at != NULL && strcasecmp(at + 3, host) == 0;
}

static bool equal_in_constant_time(const char *given, const char *right)
{
    const size_t n = strlen(given), size = strlen(right);
    unsigned differ = n == size ? 0 : 1;

    for (size_t i = 0; i < size; i++)
        differ |= (unsigned char)right[i] ^ (unsigned char)(i < n ? given[i] : 0);
    return differ == 0;
}

static bool has_token(const server *s, const http_req *r)
{
    const char *given = http_header(r, "authorization");

    return s->config->token != NULL && given != NULL && strncasecmp(given, "Bearer ", 7) == 0 && equal_in_constant_time(given + 7, s->config->token);
}

bool guard_admits(const server *s, http_req *r)
{
    const char *origin = http_header(r, "origin");
    uid_t user;

    if (http_peer_user(r, &user)) {
        if (user == geteuid() || user == 0)
            return true;
        problem(r, 403, "denied", "this socket is of another user");
        return false;
    }
    if (!host_is_known(s, http_host(r))) {
        problem(r, 421, "denied", "the Host header names no address of this server; --host NAME adds one");
        return false;
    }
    if (origin != NULL && !origin_is_own(origin, http_host(r))) {
        problem(r, 403, "denied", "the Origin header is of another site");
        return false;
    }
    if (has_token(s, r))
        return true;
    problem(r, 401, "denied", "the request needs Authorization: Bearer TOKEN; the token is where the server was told, or where it says when it starts");
    return false;
}
