/* a2a_call.c - a request of A2A as a call: its stages, its verbs, and its one reply in the form of its binding. Loop thread.
 *
 * A call is made for each request, and freed with the end of its reply. While a verb is at work for it, the thread of calls has the request; else the call
 * has it. A verb is performed as for any other route (calls.c), so promises and errors are the same (N1). */
#include "base/sm.h"
#include "serve/a2a_call.h"

#include <stdlib.h>

static const sm_row stage_rows[] = {
    [A2A_STAGE_READ] = { "read", SM_TO(A2A_STAGE_VERB) | SM_TO(A2A_STAGE_FOLLOWS) | SM_TO(A2A_STAGE_OVER), SM_FIRST },
    [A2A_STAGE_VERB] = { "verb", SM_TO(A2A_STAGE_READ) | SM_TO(A2A_STAGE_OVER), 0 },
    [A2A_STAGE_FOLLOWS] = { "follows", SM_TO(A2A_STAGE_STREAMS) | SM_TO(A2A_STAGE_VERB) | SM_TO(A2A_STAGE_OVER), 0 },
    [A2A_STAGE_STREAMS] = { "streams", SM_TO(A2A_STAGE_VERB) | SM_TO(A2A_STAGE_OVER), 0 },
    [A2A_STAGE_OVER] = { "over", 0, SM_LAST },
};
static const char *stage_wrong(const void *owner, unsigned stage)
{
    const a2a_call *c = owner;

    if ((stage == A2A_STAGE_FOLLOWS || stage == A2A_STAGE_STREAMS) && c->items == NULL)
        return "a call that follows a run has a reader of it";
    return stage == A2A_STAGE_STREAMS && !c->begun ? "a call that streams has begun its reply" : NULL;
}
static const sm_table stage_table = { "A2A call", stage_rows, A2A_STAGES, stage_wrong };

a2a_call *a2a_call_new(server *s, http_req *r, const admitted *by)
{
    a2a_call *c = calloc(1, sizeof *c);

    if (c == NULL) {
        problem(r, 503, "nomem", "no memory for this request");
        return NULL;
    }
    c->s = s;
    c->r = r;
    c->by = *by;
    tokens_keep(by->of);
    c->media = "application/json";
    c->q.id = "null";
    c->q.version = A2A_1_0;
    arena_init(&c->mem, NULL, 4096);
    buf_init(&c->unread, NULL);
    sm_begin(&stage_table, &c->stage, A2A_STAGE_READ, c);
    return c;
}

void a2a_stage_to(a2a_call *c, a2a_stage to) { sm_move(&stage_table, &c->stage, to, c); }

void a2a_call_free(a2a_call *c)
{
    a2a_stage_to(c, A2A_STAGE_OVER);
    pawl_items_close(c->items);
    a2a_task_free(c->t);
    if (c->page != NULL)
        c->page_free(c->page);
    tokens_drop(c->by.of);
    buf_free(&c->unread);
    arena_free(&c->mem);
    free(c);
}

/* ---- replies ------------------------------------------------------------------------------------------------------------- */

static void reply(a2a_call *c, unsigned status, buf *b)
{
    const http_field fields[] = { { "Content-Type", c->media }, { "Cache-Control", "no-store" }, { "Vary", "A2A-Version" } };

    http_set(c->r, NULL, NULL);
    if (b->failed)
        problem(c->r, 503, "nomem", "no memory for this reply");
    else
        http_reply(c->r, status, fields, 3, b->data, b->size);
    buf_free(b);
    a2a_call_free(c);
}

void a2a_result_begin(const a2a_call *c, buf *b)
{
    if (!c->rest)
        buf_fmt(b, "{\"id\":%s,\"jsonrpc\":\"2.0\",\"result\":", c->q.id);
}

void a2a_result_end(const a2a_call *c, buf *b)
{
    if (!c->rest)
        buf_char(b, '}');
}

static void fault_put(const a2a_call *c, buf *b)
{
    if (c->rest) {
        a2a_rest_error_put(b, &c->fault);
        return;
    }
    buf_word(b, "{\"error\":");
    a2a_error_put(b, &c->fault, c->q.version);
    buf_fmt(b, ",\"id\":%s,\"jsonrpc\":\"2.0\"}", c->q.id);
}

/* The last event of a stream. */
static void end_with_fault(a2a_call *c)
{
    http_frame *last = NULL;
    buf b;

    buf_init(&b, NULL);
    buf_word(&b, "data: ");
    fault_put(c, &b);
    buf_word(&b, "\n\n");
    if (!b.failed)
        last = http_frame_new(NULL, b.data, b.size);
    http_set(c->r, NULL, NULL);
    http_end_with(c->r, last);
    http_frame_drop(last);
    buf_free(&b);
    a2a_call_free(c);
}

void a2a_reply_fault(a2a_call *c)
{
    buf b;

    if (!c->begun && !c->rest && c->q.version == A2A_0_3 && c->q.method == A2A_SUBSCRIBE && c->q.task != NULL) {
        c->begun = true;        /* clients of 0.3 want a stream here, whatever it says */
        http_stream(c->r, 200, (http_field[]){ { "Content-Type", "text/event-stream" }, { "Cache-Control", "no-cache, no-store" } }, 2);
    }
    if (c->begun) {
        end_with_fault(c);
        return;
    }
    buf_init(&b, NULL);
    fault_put(c, &b);
    reply(c, c->rest ? a2a_error_status(c->fault.error) : 200, &b);
}

void a2a_reply_result(a2a_call *c, buf *result)
{
    buf b;

    buf_init(&b, NULL);
    a2a_result_begin(c, &b);
    buf_put(&b, result->data, result->size);
    a2a_result_end(c, &b);
    b.failed = b.failed || result->failed;
    buf_free(result);
    reply(c, 200, &b);
}

void a2a_reply_problem(a2a_call *c, unsigned status, const char *code, const char *detail)
{
    http_set(c->r, NULL, NULL);
    problem(c->r, status, code, detail);
    a2a_call_free(c);
}

void a2a_reply_end(a2a_call *c)
{
    http_set(c->r, NULL, NULL);
    http_end(c->r);
    a2a_call_free(c);
}

bool a2a_scopes(a2a_call *c, unsigned scopes)
{
    if ((c->by.who->scopes & scopes) == scopes)
        return true;
    a2a_reply_problem(c, 403, "denied", "the scopes of this token do not have this: to read needs read; to begin or to cancel read and run; to answer read "
                                        "and answer");
    return false;
}

/* ---- faults and verbs -------------------------------------------------------------------------------------------------------- */

void a2a_fault_of(a2a_call *c, pawl_code code, const char *text)
{
    a2a_error error = A2A_INTERNAL;

    switch (code) {
    case PAWL_INVALID: case PAWL_LIMIT: error = A2A_INVALID_PARAMS; break;
    case PAWL_GONE: error = A2A_TASK_NOT_FOUND; break;
    case PAWL_DENIED: case PAWL_CONFLICT: case PAWL_HELD: case PAWL_FENCED: error = A2A_UNSUPPORTED_OPERATION; break;
    default: break;
    }
    (void)a2a_wrong(&c->fault, error, NULL, "%s", text[0] != '\0' ? text : pawl_code_name(code));
}

static void verb_done(void *ctx, int code, const serve_verb *v, const buf *out)
{
    a2a_call *c = ctx;

    a2a_stage_to(c, A2A_STAGE_READ);
    c->after(c, code, v, out);
}

void a2a_verb(a2a_call *c, const char *const *words, size_t n, const char *key, void (*after)(a2a_call *c, int code, const serve_verb *v, const buf *out))
{
    const call_order how = { .key = key, .once = true, .done = verb_done, .ctx = c, .machine = c->begins != NULL ? c->begins->hash : NULL };

    c->after = after;
    a2a_stage_to(c, A2A_STAGE_VERB);
    calls_add(c->s->calls, c->r, &c->by, words, n, &how);
}

bool a2a_run_is_seen(a2a_call *c, const char *run)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_head head = { 0 };
    bool sees = false;

    if (asker_sees(c->by.who, c->s->store, run, &sees, &err) != PAWL_OK) {
        a2a_fault_of(c, err.code, err.text);
        return false;
    }
    if (sees && c->machine != NULL)
        sees = c->s->store->verbs->head(c->s->store, run, &head, NULL) == PAWL_OK && strcmp(head.machine, c->machine->name) == 0;
    return (sees && strlen(run) < A2A_RUN_BYTES) || a2a_wrong(&c->fault, A2A_TASK_NOT_FOUND, NULL, "%.100s: task not found", run);
}
