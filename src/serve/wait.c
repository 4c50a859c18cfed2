/* wait.c - requests that wait until a run has ended, or asks something: for clients without streams. Loop thread.
 *
 * The heads of the runs are read every LOOK_MS, and only after a write to the store; so are the runs that ask, PORTION in one look, newest first, for a
 * child of one that is waited for. The reply is that of the route without `wait`, made by the verb then. A request whose client is gone ends at the next
 * look. */
#include "host/open_questions.h"
#include "json/json.h"
#include "serve/serve_inner.h"

#include <stdio.h>
#include <stdlib.h>

enum { LOOK_MS = 50, PORTION = 200 };

typedef struct pending_reply {
    struct pending_reply *next;
    http_req *r;
    admitted by;
    call_order how;
    int64_t due_ms;
    bool gone;                  /* its client */
    bool above;                 /* its run is above the one that is looked at */
    bool child_asks;
    char run[ASKS_RUN_BYTES];
} pending_reply;

struct serve_waits {
    server *s;
    pending_reply *all;
    http_timer *look;           /* on while there are some */
    uint64_t version;           /* of the store, when it was last looked at */
    bool scans, again;          /* the runs that ask are read; once more, since something was written meanwhile */
    uint64_t before;            /* the number of the last one that was read; 0: none was */
};

static void on_gone(http_req *r, void *data)
{
    pending_reply *p = data;

    (void)r;
    p->gone = true;
}

/* Its token may have ended meanwhile, and its run may be another's. */
static void reply_now(serve_waits *w, pending_reply *p)
{
    const char *const words[] = { "show", "--json", "--", p->run };

    http_set(p->r, NULL, NULL);
    if (p->gone)
        problem(p->r, 503, "canceled", "the client is gone");
    else if (!guard_still(w->s, &p->by))
        problem(p->r, 401, "denied", "the token was removed, or has expired");
    else if (run_is_seen(w->s, p->r, p->by.who, p->run))
        calls_add(w->s->calls, p->r, &p->by, words, 4, &p->how);
    tokens_drop(p->by.of);
    free(p);
}

/* A question whose answer is stored is no longer asked, though the run has not taken the answer yet. */
static bool see_unanswered(void *ctx, const char *run, const pawl_waiting *wait)
{
    bool *unanswered = ctx;

    (void)run;
    *unanswered = !wait->answered;
    return !*unanswered;
}

/* ---- children that ask -------------------------------------------------------------------------------------------------- */

typedef struct asking_child { char run[ASKS_RUN_BYTES]; const char *parent; } asking_child;
typedef struct asking_page {
    arena mem;
    asking_child all[PORTION];
    size_t n, read;
    uint64_t last;
} asking_page;

static bool page_add(void *ctx, const pawl_head *head)
{
    asking_page *p = ctx;

    p->last = head->no;
    if (head->parent != NULL && strlen(head->run) < sizeof p->all[0].run) {
        snprintf(p->all[p->n].run, sizeof p->all[0].run, "%s", head->run);
        p->all[p->n].parent = arena_text(&p->mem, head->parent);
        p->n += p->all[p->n].parent != NULL;
    }
    return ++p->read < PORTION;
}

/* A conversation that is a child waits for the input of its parent. */
static bool see_asked(void *ctx, const char *run, const pawl_waiting *wait)
{
    const pawl_value *spec;
    const char *kind;
    bool *asked = ctx;
    arena mem;

    (void)run;
    if (wait->answered)
        return true;
    arena_init(&mem, NULL, 1024);
    spec = value_parse(&mem, wait->spec.data, wait->spec.size, "a wait", NULL);
    kind = pawl_value_string(pawl_value_get(spec, "kind"));
    *asked = kind != NULL && strcmp(kind, "input") != 0;
    arena_free(&mem);
    return !*asked;
}

/* A run that has ended waits for no child. */
static bool see_above(void *ctx, const pawl_head *head)
{
    serve_waits *w = ctx;

    for (pending_reply *p = w->all; p != NULL && !head->over; p = p->next)
        p->above = p->above || strcmp(p->run, head->run) == 0;
    return !head->over;
}

static void child_look(serve_waits *w, const asking_child *c)
{
    pawl_store *store = w->s->store;
    bool above = false, asked = false;

    for (pending_reply *p = w->all; p != NULL; p = p->next)
        p->above = false;
    (void)!asks_climb(store, c->parent, see_above, w, NULL);
    for (const pending_reply *p = w->all; p != NULL; p = p->next)
        above = above || p->above;
    if (above && store->verbs->waits(store, c->run, see_asked, &asked, NULL) == PAWL_OK && asked)
        for (pending_reply *p = w->all; p != NULL; p = p->next)
            p->child_asks = p->child_asks || p->above;
}

/* One page of the runs that ask, after a write to the store. */
static void children_look(serve_waits *w, bool changed)
{
    const pawl_filter f = { .waiting = true, .limit = PORTION, .before = w->before };
    asking_page *page;

    w->again = w->again || changed;
    if (!w->scans && w->again) {
        w->scans = true;
        w->again = false;
    }
    if (!w->scans || (page = calloc(1, sizeof *page)) == NULL)
        return;
    arena_init(&page->mem, NULL, 4096);
    if (w->s->store->verbs->list(w->s->store, &f, page_add, page, NULL) == PAWL_OK)
        for (size_t i = 0; i < page->n; i++)
            child_look(w, &page->all[i]);
    w->scans = page->read == PORTION;
    w->before = w->scans ? page->last : 0;
    arena_free(&page->mem);
    free(page);
}

/* ---- looks ------------------------------------------------------------------------------------------------------------------ */

static bool is_due(serve_waits *w, const pending_reply *p, bool changed)
{
    pawl_store *store = w->s->store;
    bool unanswered = false;
    pawl_head head;

    if (p->gone || p->child_asks || http_now(w->s->http) >= p->due_ms)
        return true;
    if (!changed)
        return false;
    if (store->verbs->head(store, p->run, &head, NULL) != PAWL_OK || head.over || head.parked != NULL)
        return true;
    return head.waits > 0 && (store->verbs->waits(store, p->run, see_unanswered, &unanswered, NULL) != PAWL_OK || unanswered);
}

static void look_at(serve_waits *w, bool all)
{
    const uint64_t version = w->s->store->verbs->version(w->s->store);
    const bool changed = version == 0 || version != w->version;

    w->version = version;
    if (!all)
        children_look(w, changed);
    for (pending_reply **at = &w->all; *at != NULL;) {
        pending_reply *p = *at;

        if (!all && !is_due(w, p, changed)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        reply_now(w, p);
    }
    if (w->all == NULL)
        http_timer_set(w->look, false);
}

static void look(void *ctx) { look_at(ctx, false); }

serve_waits *waits_new(server *s, pawl_err *err)
{
    serve_waits *w = calloc(1, sizeof *w);

    if (w != NULL && (w->look = http_timer_new(s->http, LOOK_MS, look, w)) != NULL) {
        w->s = s;
        return w;
    }
    free(w);
    fail(err, PAWL_NOMEM, "server: no memory");
    return NULL;
}

void waits_add(serve_waits *w, http_req *r, const admitted *by, const char *run, unsigned seconds, const call_order *how)
{
    pending_reply *p = strlen(run) < ASKS_RUN_BYTES ? calloc(1, sizeof *p) : NULL;

    if (p == NULL) {
        problem(r, 503, "nomem", "no memory for this request");
        return;
    }
    *p = (pending_reply){ .next = w->all, .r = r, .by = *by, .how = *how, .due_ms = http_now(w->s->http) + (int64_t)seconds * 1000 };
    snprintf(p->run, sizeof p->run, "%s", run);
    tokens_keep(by->of);
    http_set(r, p, on_gone);
    w->all = p;
    w->version = 0;             /* it has not been looked at */
    w->scans = false;
    w->before = 0;
    http_timer_set(w->look, true);
}

void waits_drain(serve_waits *w) { look_at(w, true); }

void waits_free(serve_waits *w)
{
    if (w == NULL)
        return;
    while (w->all != NULL) {    /* their clients are gone: the loop has ended */
        pending_reply *p = w->all;

        w->all = p->next;
        p->gone = true;
        reply_now(w, p);
    }
    free(w);
}
