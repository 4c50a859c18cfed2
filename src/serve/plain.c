/* plain.c - the routes that are no verb: health, items and streams of items, machines. Loop thread. */
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

    if (limit != NULL && (*limit < '0' || *limit > '9' || *end != '\0' || n < 1 || n > 1000))
        problem(r, 400, "invalid", "limit: a number from 1 to 1000");
    else
        calls_page(s->calls, r, by, &(items_order){ run, params_get(p, "from"), params_get(p, "kinds"), n });
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

/* ---- machines ------------------------------------------------------------------------------------------------------------- */

bool machine_fits(const asker *who, const serve_machine *m)
{
    bool fits = who->nmachines == 0;

    for (size_t i = 0; i < who->nmachines && !fits; i++)
        fits = strcmp(who->machines[i], m->name) == 0;
    return fits;
}

const serve_machine *machine_seen(server *s, http_req *r, const asker *who, const char *name)
{
    for (size_t i = 0; i < s->config->nmachines; i++)
        if (strcmp(s->config->machines[i].name, name) == 0 && machine_fits(who, &s->config->machines[i]))
            return &s->config->machines[i];
    problem(r, 404, "gone", "no such machine; GET /v1/machines lists those of this server");
    return NULL;
}

void serve_machines(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    size_t n = 0;
    buf b;

    (void)run, (void)p;
    buf_init(&b, NULL);
    buf_word(&b, "{\"machines\":[");
    for (size_t i = 0; i < s->config->nmachines; i++)
        if (machine_fits(by->who, &s->config->machines[i])) {
            buf_text(&b, n++ > 0 ? "," : "");
            buf_text(&b, s->config->machines[i].json);
        }
    buf_word(&b, "]}\n");
    text_reply(r, "application/json", &b);
}

void serve_one_machine(server *s, http_req *r, const admitted *by, const char *name, const params *p)
{
    const serve_machine *m = machine_seen(s, r, by->who, name);
    buf b;

    (void)p;
    if (m == NULL)
        return;
    buf_init(&b, NULL);
    buf_fmt(&b, "%s\n", m->json);
    text_reply(r, "application/json", &b);
}
