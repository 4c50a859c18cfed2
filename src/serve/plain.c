/* plain.c - the routes that are no verb: health, items and streams of items. Loop thread. */
#include "serve/serve_inner.h"

#include <stdlib.h>

void serve_health(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    (void)s, (void)by, (void)run, (void)p;
    http_reply(r, 200, (http_field[]){ { "Content-Type", "application/json" } }, 1, "{\"status\":\"ok\"}\n", 16);
}

static bool see_none(void *ctx, const pawl_head *h)
{
    (void)ctx, (void)h;
    return false;
}

void serve_ready(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    const pawl_filter one = { .limit = 1 };
    pawl_err err = { 0 };

    (void)run, (void)p;
    if (http_stopping(s->http))
        problem(r, 503, "canceled", "the server stops");
    else if (s->store->verbs->list(s->store, &one, see_none, NULL, &err) != PAWL_OK)
        problem_of(r, &err);
    else
        serve_health(s, r, by, NULL, p);
}

void serve_items(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    const char *limit = params_get(p, "limit");
    char *end = NULL;
    const unsigned long n = limit != NULL ? strtoul(limit, &end, 10) : 100;

    (void)by;
    if (limit != NULL && (*limit < '0' || *limit > '9' || *end != '\0' || n < 1 || n > 1000))
        problem(r, 400, "invalid", "limit: a number from 1 to 1000");
    else
        items_page(s, r, run, params_get(p, "from"), params_get(p, "kinds"), n);
}

/* A client that comes back says where it was. */
static void follow_runs(server *s, http_req *r, const admitted *by, const char *const *runs, size_t n, const params *p)
{
    const char *last = http_header(r, "last-event-id"), *until = params_get(p, "until");

    if (last != NULL && !utf8_valid(last, strlen(last)))
        problem(r, 400, "invalid", "Last-Event-ID: not the id of an event");
    else if (until != NULL && strcmp(until, "end") != 0)
        problem(r, 400, "invalid", "until: only `end`, for a stream that ends when its runs have");
    else
        events_follow(s->events, r, by, runs, n, last != NULL ? last : params_get(p, "from"), params_get(p, "kinds"), until != NULL);
}

void serve_run_events(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    follow_runs(s, r, by, &run, 1, p);
}

void serve_many_events(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    const char *runs[PARAMS_MAX];
    size_t n = 0;

    (void)run;
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->names[i], "run") == 0) {
            if (!run_is_seen(s, r, by->who, p->values[i]))
                return;
            runs[n++] = p->values[i];
        }
    if (n == 0)
        problem(r, 400, "invalid", "run: name at least one run, as in ?run=A&run=B");
    else
        follow_runs(s, r, by, runs, n, p);
}
