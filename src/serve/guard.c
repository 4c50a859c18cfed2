/* guard.c - who may ask: the Host and Origin headers, the token of TCP, the user of a unix socket (N4). Loop thread.
 *
 * A page in a browser can make requests to a loopback address under a name of its own (DNS rebinding), so the Host must be a known one, and an Origin
 * must be this server's. Tokens are compared by their digests, in constant time. Whoever is let in has a name, scopes and runs that it may see: those of
 * its token (app/tokens.h), or all of them for the user who serves. */
#include "json/json.h"
#include "net/net.h"
#include "serve/serve_inner.h"

#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/* Wrong tokens that are answered with 401 at once; then one in MISS_MS. */
enum { MISSES_MOST = 20, MISS_MS = 1000 };

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

/* ---- tokens ---------------------------------------------------------------------------------------------------------- */

/* The file is read again when it has changed. One that cannot be used lets nobody in, and is said once. One that cannot be read now, for want of memory or
 * of descriptors, is read at the next request; until then those of before count. */
static void tokens_look(server *s)
{
    const uint64_t now = s->store_id[0] != '\0' ? tokens_version() : 0;
    token_list *l = NULL;
    pawl_err err = { 0 };
    pawl_code rc;

    if (now == s->tokens_version)
        return;
    rc = now != 0 ? tokens_read(&l, &err) : PAWL_OK;
    if (rc == PAWL_IO || rc == PAWL_NOMEM)
        return;
    if (rc != PAWL_OK)
        s->config->note(s->config->ctx, err.text);
    tokens_drop(s->tokens);
    s->tokens = l;
    s->tokens_version = now;
}

static bool is_own_token(const server *s, const char *given)
{
    hash a, b;

    if (s->config->token == NULL)
        return false;
    hash_of(given, strlen(given), &a);
    hash_of(s->config->token, strlen(s->config->token), &b);
    return hash_equal(&a, &b);
}

/* A right token always passes, so nobody can lock others out; a wrong one is refused with 429 above the limit. */
static void refuse_token(server *s, http_req *r)
{
    const int64_t now = http_now(s->http), gone = (now - s->misses_ms) / MISS_MS;

    s->misses = gone >= (int64_t)s->misses ? 0 : s->misses - (unsigned)gone;
    s->misses_ms = s->misses == 0 ? now : s->misses_ms + gone * MISS_MS;
    if (s->misses >= MISSES_MOST) {
        problem(r, 429, "denied", "too many wrong tokens; try again in a second");
        return;
    }
    s->misses++;
    problem(r, 401, "denied", "this token is wrong, was removed, has expired, or is of another store");
}

/* By the Authorization header. */
static bool token_admits(server *s, http_req *r, const char *given, admitted *out)
{
    if (strncasecmp(given, "Bearer ", 7) != 0) {
        problem(r, 401, "denied", "the Authorization header is not of the form `Bearer TOKEN`");
        return false;
    }
    tokens_look(s);
    out->row = tokens_find(s->tokens, given + 7, s->store_id, epoch_ms());
    out->of = out->row != NULL ? s->tokens : NULL;
    out->who = is_own_token(s, given + 7) ? &s->owner : out->row != NULL ? &out->row->who : NULL;
    if (out->who == NULL)
        refuse_token(s, r);
    return out->who != NULL;
}

bool guard_still(server *s, const admitted *a)
{
    if (a->row == NULL)
        return true;
    tokens_look(s);
    for (size_t i = 0; s->tokens != NULL && i < s->tokens->n; i++)
        if (hash_equal(&s->tokens->all[i].digest, &a->row->digest))
            return a->row->expires_ms == 0 || epoch_ms() < a->row->expires_ms;
    return false;
}

void guard_open(server *s)
{
    const char *id = s->store != NULL && s->store->verbs->id != NULL ? s->store->verbs->id(s->store, NULL) : NULL;

    s->store_id = id != NULL ? id : "";
    s->owner = (asker){ .by = s->config->user, .scopes = SCOPES_ALL, .most = PAWL_MODE_BYPASS };
    s->root = (asker){ .by = geteuid() == 0 ? s->config->user : "root", .scopes = SCOPES_ALL, .most = PAWL_MODE_BYPASS };
    tokens_look(s);
}

void guard_close(server *s)
{
    tokens_drop(s->tokens);
    s->tokens = NULL;
}

/* ---- who asks -------------------------------------------------------------------------------------------------------------- */

/* Without a token, a unix socket knows its users. */
static bool peer_admits(server *s, http_req *r, uid_t user, admitted *out)
{
    out->who = user == geteuid() ? &s->owner : user == 0 ? &s->root : NULL;
    if (out->who == NULL)
        problem(r, 403, "denied", "this socket is of another user");
    return out->who != NULL;
}

bool guard_reaches(server *s, http_req *r)
{
    const char *origin = http_header(r, "origin");
    uid_t user;

    if (http_peer_user(r, &user))
        return true;
    if (!host_is_known(s, http_host(r)))
        problem(r, 421, "denied", "the Host header names no address of this server; --host NAME adds one");
    else if (origin != NULL && !origin_is_own(origin, http_host(r)))
        problem(r, 403, "denied", "the Origin header is of another site");
    else
        return true;
    return false;
}

bool guard_admits(server *s, http_req *r, admitted *out)
{
    const char *given = http_header(r, "authorization");
    uid_t user;

    *out = (admitted){ .who = NULL };
    if (http_peer_user(r, &user)) {
        if (!peer_admits(s, r, user, out))
            return false;
        return given == NULL || token_admits(s, r, given, out);
    }
    if (!guard_reaches(s, r))
        return false;
    if (given != NULL)
        return token_admits(s, r, given, out);
    problem(r, 401, "denied", "the request needs Authorization: Bearer TOKEN; the token is where the server was told, or where it says when it starts");
    return false;
}

bool run_is_seen(server *s, http_req *r, const asker *who, const char *run)
{
    pawl_err err = { 0 };
    bool sees;

    if (asker_sees(who, s->store, run, &sees, &err) != PAWL_OK)
        problem_of(r, &err);
    else if (!sees)
        problem(r, 404, "gone", "no such run");
    else
        return true;
    return false;
}
