/* a2a_list.c - a page of tasks: the runs that whoever asks may see, the one that changed last first, from a cursor. Loop thread.
 *
 * A cursor is the place in that order, so a page does not depend on runs that came since. Runs that others began as a command of theirs are no tasks. */
#include "serve/a2a_call.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct listed { char run[A2A_RUN_BYTES]; int64_t changed_ms; uint64_t no; uint8_t status; } listed;

struct a2a_page {
    listed *all;
    size_t n, cap;
    bool failed;
    const char *machine, *context;      /* NULL: any */
    int64_t after_ms;
    size_t at;                  /* the next one to put */
    size_t left;                /* how many of the page are still to be put */
    uint64_t total;
    const char *next;           /* the cursor of the next page; "": there is none */
    buf out;
};

static void page_free(struct a2a_page *p)
{
    free(p->all);
    buf_free(&p->out);
    free(p);
}

static bool see(void *ctx, const pawl_head *h)
{
    struct a2a_page *p = ctx;
    const char *context = h->context != NULL && *h->context != '\0' ? h->context : h->run;

    if (h->parent != NULL || (p->machine != NULL && strcmp(p->machine, h->machine) != 0) || (p->context != NULL && strcmp(p->context, context) != 0) ||
        (p->after_ms >= 0 && h->changed_ms < p->after_ms) || strlen(h->run) >= A2A_RUN_BYTES)
        return true;
    if (p->n == p->cap) {
        const size_t cap = p->cap > 0 ? 2 * p->cap : 64;
        listed *all = realloc(p->all, cap * sizeof *all);

        p->failed = all == NULL;
        if (p->failed)
            return false;
        p->all = all;
        p->cap = cap;
    }
    listed *l = &p->all[p->n++];

    *l = (listed){ .changed_ms = h->changed_ms, .no = h->no, .status = h->status };
    snprintf(l->run, sizeof l->run, "%s", h->run);
    return true;
}

static int by_change(const void *a, const void *b)
{
    const listed *x = a, *y = b;

    if (x->changed_ms != y->changed_ms)
        return x->changed_ms > y->changed_ms ? -1 : 1;
    return x->no == y->no ? 0 : x->no > y->no ? -1 : 1;
}

static bool see_unsigned(void *ctx, const char *run, const pawl_waiting *w)
{
    arena mem;
    const pawl_value *spec;

    (void)run;
    arena_init(&mem, NULL, 512);
    spec = value_read(&mem, w->spec.data, w->spec.size, "a spec", NULL);
    if (!w->answered)
        *(bool *)ctx = pawl_value_get(spec, "approvers") == NULL;
    arena_free(&mem);
    return !*(bool *)ctx;
}

/* Whether its state may be that of the filter, by its head: which of both input-required is, its waits say. */
static bool state_fits(a2a_call *c, const listed *l)
{
    const a2a_state wanted = c->q.state;
    bool unsigned_one = false;

    if (wanted == A2A_STATES)
        return true;
    if (l->status != PAWL_STATUS_INPUT_REQUIRED)
        return a2a_state_of(l->status, A2A_ASKS_NOTHING) == wanted;
    if (wanted != A2A_INPUT_REQUIRED && wanted != A2A_AUTH_REQUIRED)
        return false;
    (void)c->s->store->verbs->waits(c->s->store, l->run, see_unsigned, &unsigned_one, NULL);
    return wanted == (unsigned_one ? A2A_INPUT_REQUIRED : A2A_AUTH_REQUIRED);
}

/* Leaves what the asker may not see, and what the filter leaves out. False: the fault was set. */
static bool sift(a2a_call *c, struct a2a_page *p)
{
    pawl_err err = { PAWL_OK, "" };
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        bool sees = true;

        if (asker_limited(c->by.who) && asker_sees(c->by.who, c->s->store, p->all[i].run, &sees, &err) != PAWL_OK) {
            a2a_fault_of(c, err.code, err.text);
            return false;
        }
        if (sees && state_fits(c, &p->all[i]))
            p->all[n++] = p->all[i];
    }
    p->n = n;
    p->total = n;
    return true;
}

/* "CHANGED.NO" */
static bool cursor_read(const char *text, listed *at)
{
    uint64_t ms;

    if ((text = digits_read(text, &ms)) == NULL || *text != '.' || ms > INT64_MAX || (text = digits_read(text + 1, &at->no)) == NULL)
        return false;
    at->changed_ms = (int64_t)ms;
    return *text == '\0';
}

static bool page_take(a2a_call *c, struct a2a_page *p)
{
    listed at;
    char next[64] = "";

    if (c->q.page_token != NULL && !cursor_read(c->q.page_token, &at))
        return a2a_wrong(&c->fault, A2A_INVALID_PARAMS, "pageToken", "pageToken: not one of this server");
    while (c->q.page_token != NULL && p->at < p->n && by_change(&p->all[p->at], &at) <= 0)
        p->at++;
    p->left = p->n - p->at < (size_t)c->q.page_size ? p->n - p->at : (size_t)c->q.page_size;
    if (p->at + p->left < p->n) {
        const listed *last = &p->all[p->at + p->left - 1];

        snprintf(next, sizeof next, "%lld.%llu", (long long)last->changed_ms, (unsigned long long)last->no);
    }
    p->next = arena_text(&c->mem, next);
    return true;
}

static bool collect(a2a_call *c)
{
    pawl_store *store = c->s->store;
    struct a2a_page *p = c->page = calloc(1, sizeof *p);
    const pawl_filter any = { .machine = c->machine != NULL ? c->machine->name : NULL, .limit = SIZE_MAX >> 1,
                              .changed_since_ms = c->q.after_ms > 0 ? c->q.after_ms : 0 };
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc;

    if (p == NULL)
        return a2a_wrong(&c->fault, A2A_INTERNAL, NULL, "no memory for this list");
    c->page_free = page_free;
    buf_init(&p->out, NULL);
    p->machine = any.machine;
    p->context = c->q.context;
    p->after_ms = c->q.after_ms;
    if ((rc = store->verbs->list(store, &any, see, p, &err)) != PAWL_OK || p->failed) {
        a2a_fault_of(c, p->failed ? PAWL_NOMEM : rc, err.text);
        return false;
    }
    if (!sift(c, p))
        return false;
    if (p->n > 0)
        qsort(p->all, p->n, sizeof *p->all, by_change);
    return page_take(c, p);
}

/* ---- its tasks, one after another: of a run that is completed, a verb says what it gives ------------------------------------------ */

static void next_task(a2a_call *c);

static void task_put(a2a_call *c)
{
    struct a2a_page *p = c->page;

    const bool fits = c->q.state == A2A_STATES || a2a_task_status(c->t).state == c->q.state;   /* it may have changed since, or a child asks */

    c->changed_ms = p->all[p->at].changed_ms;   /* in the order of the list, whatever was written since */
    if (fits && p->out.size > 0)
        buf_char(&p->out, ',');
    if (fits)
        a2a_put_task(c, &p->out, c->q.artifacts);
    p->at++;
    p->left--;
}

static void given(a2a_call *c, int code, const serve_verb *v, const buf *out)
{
    const char *json = code == 0 && out != NULL && out->size > 1 ? arena_strdup(&c->mem, out->data, out->size) : NULL;

    (void)v;
    a2a_task_given(c->t, json, NULL, NULL);
    task_put(c);
    next_task(c);
}

static void reply_page(a2a_call *c)
{
    struct a2a_page *p = c->page;
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "{\"nextPageToken\":\"%s\",\"pageSize\":%lld,\"tasks\":[", p->next, (long long)c->q.page_size);
    buf_put(&b, p->out.data, p->out.size);
    buf_fmt(&b, "],\"totalSize\":%llu}", (unsigned long long)p->total);
    b.failed = b.failed || p->out.failed;
    a2a_reply_result(c, &b);
}

static void next_task(a2a_call *c)
{
    struct a2a_page *p = c->page;

    while (p->left > 0) {
        const char *run = p->all[p->at].run;

        if (!a2a_open_task(c, run) || a2a_read_task(c, SIZE_MAX, NULL, NULL) < PAWL_OK || !a2a_look_at_mail(c)) {
            if (c->fault.error != A2A_TASK_NOT_FOUND) {
                a2a_reply_fault(c);
                return;
            }
            c->fault = (a2a_fault){ A2A_FINE, "", "" };         /* it was removed meanwhile */
            p->at++;
            p->left--;
        } else if (c->q.artifacts && a2a_task_is_graph(c->t) && a2a_task_status(c->t).state == A2A_COMPLETED) {
            const char *const words[] = { "show", "--output", "--", c->run };

            a2a_verb(c, words, 4, NULL, given);
            return;
        } else {
            task_put(c);
        }
    }
    reply_page(c);
}

void a2a_list(a2a_call *c)
{
    if (!a2a_scopes(c, SCOPE_READ))
        return;
    if (c->q.history < 0)
        c->q.history = 0;       /* a list has no history, unless it is wanted */
    if (collect(c))
        next_task(c);
    else
        a2a_reply_fault(c);
}
