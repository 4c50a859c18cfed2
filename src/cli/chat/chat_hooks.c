/* chat_hooks.c - hooks that are callbacks of the client: each is sent as a request, and its answer becomes the receipt of the hook (P5).
 *
 * chat_hook() is a handler of the engine, on any thread; the listener brings the answers and looks for those that are late. The list is under `asking`.
 * Invariant: each entry is answered once: by the client, by its time limit, or by the end of stdin. No way but an answer of the client lets a call through. */
#include "cli/chat/chat.h"
#include "effect/agent_effects.h"
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

enum { CALLBACKS_MAX = 256 };

struct chat_callback {
    chat_callback *next;
    char *job, *name, *event;   /* of the engine's job; of the hook; of its moment */
    uint32_t attempt;
    uint64_t fence, no;         /* its request is hook-NO */
    int64_t until_ms;
};

static void callback_free(chat_callback *one)
{
    if (one != NULL) {
        free(one->job);
        free(one->name);
        free(one->event);
    }
    free(one);
}

static char *copied(const char *text)
{
    char *out = text != NULL ? malloc(strlen(text) + 1) : NULL;

    return out != NULL ? memcpy(out, text, strlen(text) + 1) : NULL;
}

static chat_callback *callback_of(const pawl_job *job)
{
    const int64_t limit = pawl_value_int(pawl_value_find(job->args, "/hook/timeout_ms"));
    chat_callback *one = calloc(1, sizeof *one);

    if (one == NULL)
        return NULL;
    one->job = copied(job->id);
    one->name = copied(pawl_value_string(pawl_value_find(job->args, "/hook/name")));
    one->event = copied(pawl_value_string(pawl_value_find(job->args, "/input/hook_event_name")));
    one->attempt = job->attempt;
    one->fence = job->fence;
    one->until_ms = epoch_ms() + limit;
    if (one->job != NULL && one->name != NULL && one->event != NULL)
        return one;
    callback_free(one);
    return NULL;
}

/* False: stdin has ended, or there are too many; *why. */
static bool callback_add(chat *k, chat_callback *one, const char **why)
{
    size_t n = 0;
    bool added;

    pthread_mutex_lock(&k->asking);
    for (const chat_callback *other = k->callbacks; other != NULL; other = other->next)
        n++;
    *why = k->gone ? "its client is gone" : "256 hooks wait for the client (CALLBACKS_MAX)";
    if ((added = !k->gone && n < CALLBACKS_MAX)) {
        one->no = ++k->asked_hooks;
        one->next = k->callbacks;
        k->callbacks = one;
    }
    pthread_mutex_unlock(&k->asking);
    return added;
}

/* Takes the first that is wanted out of the list: that of `no`, or with 0 one whose time is over at `now_ms`. NULL: there is none. */
static chat_callback *callback_take(chat *k, uint64_t no, int64_t now_ms)
{
    chat_callback **at, *one;

    pthread_mutex_lock(&k->asking);
    for (at = &k->callbacks; (one = *at) != NULL; at = &one->next)
        if (no > 0 ? one->no == no : one->until_ms <= now_ms) {
            *at = one->next;
            break;
        }
    pthread_mutex_unlock(&k->asking);
    return one;
}

/* `answer`: of the client; NULL: there is none, and `why`. */
static void callback_answer(chat *k, const chat_callback *one, const pawl_value *answer, const char *why)
{
    pawl_result r = { .id = one->job, .attempt = one->attempt, .fence = one->fence };
    const pawl_value *v;
    pawl_err err = {0};
    arena mem;
    buf b;

    arena_init(&mem, NULL, 4096);
    buf_init(&b, NULL);
    if (answer != NULL)
        v = value_pack(&mem, NULL, "{s:v,s:i}", "body_json", answer, "status", (int64_t)200);
    else
        v = hook_unheard(&mem, one->name, one->event, why);
    if (v != NULL)
        canon(&b, v);
    buf_char(&b, '\0');
    r.code = v == NULL || b.failed ? PAWL_NOMEM : PAWL_OK;
    r.value = r.code == PAWL_OK ? b.data : NULL;
    r.text = r.code == PAWL_OK ? NULL : "hook: no memory";
    if (pawl_engine_reply(k->s->engine, &r, &err) != PAWL_OK)
        err.code = PAWL_OK;     /* the turn went on without it */
    buf_free(&b);
    arena_free(&mem);
}

/* The request as a line: the job may be gone when it is written. */
static void request_of(const pawl_job *job, uint64_t no, buf *out)
{
    const pawl_value *input = pawl_value_get(job->args, "input"), *call = pawl_value_get(input, "tool_use_id"), *request, *v;
    char id[32];
    arena mem;

    arena_init(&mem, NULL, 4096);
    snprintf(id, sizeof id, "hook-%llu", (unsigned long long)no);
    if (pawl_value_get(input, "transcript_path") == NULL)
        input = value_with(&mem, input, "transcript_path", value_string(&mem, "", 0));
    request = value_pack(&mem, NULL, "{s:v,s:v,s:s}", "callback_id", pawl_value_find(job->args, "/hook/callback"), "input", input, "subtype", "hook_callback");
    if (call != NULL)
        request = value_with(&mem, request, "tool_use_id", call);
    v = value_pack(&mem, NULL, "{s:v,s:s,s:s}", "request", request, "request_id", id, "type", "control_request");
    if (v != NULL)
        canon(out, v);
    out->failed = out->failed || v == NULL;
    buf_char(out, '\n');
    arena_free(&mem);
}

pawl_code chat_hook(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const char *id = pawl_value_string(pawl_value_find(job->args, "/hook/callback")), *why = NULL;
    chat *k = arg;
    chat_callback *one;
    pawl_code rc;
    uint64_t no;
    buf line;

    if (id == NULL || *id == '\0')
        return hook_unheard_reply(job, reply, "the client here has no such hook, and an earlier one had it; --without-client-hooks gives it up");
    if (job->later == NULL)
        return hook_unheard_reply(job, reply, "it cannot be asked here");
    if ((one = callback_of(job)) == NULL)
        return pawl_reply_fail(reply, PAWL_NOMEM, "hook: no memory");
    if (!callback_add(k, one, &why)) {
        callback_free(one);
        return hook_unheard_reply(job, reply, why);
    }
    no = one->no;               /* from here on another thread may end it */
    buf_init(&line, NULL);
    request_of(job, no, &line);
    rc = line.failed ? pawl_reply_fail(reply, PAWL_NOMEM, "hook: no memory") : job->later(job, NULL, NULL);
    if (rc == PAWL_OK)
        chat_write_line(k, &line);
    else
        callback_free(callback_take(k, no, 0));
    buf_free(&line);
    return rc == PAWL_OK ? PAWL_PENDING : rc;
}

bool chat_hook_answered(chat *k, const char *request, const pawl_value *answer, const char *error)
{
    char why[600];
    uint64_t no;
    chat_callback *one;
    const char *end = strncmp(request, "hook-", 5) == 0 ? digits_read(request + 5, &no) : NULL;

    if (end == NULL || *end != '\0' || no == 0 || (one = callback_take(k, no, 0)) == NULL)
        return false;
    snprintf(why, sizeof why, "%.500s", error != NULL ? error : "its answer is no object");
    callback_answer(k, one, error == NULL && pawl_value_type(answer) == PAWL_TYPE_OBJECT ? answer : NULL, why);
    callback_free(one);
    return true;
}

static void all_until(chat *k, int64_t until_ms, const char *why)
{
    chat_callback *one;

    while ((one = callback_take(k, 0, until_ms)) != NULL) {
        callback_answer(k, one, NULL, why);
        callback_free(one);
    }
}

void chat_hooks_check(chat *k) { all_until(k, epoch_ms(), "the client gave no answer in its time"); }

void chat_hooks_end(chat *k)
{
    pthread_mutex_lock(&k->asking);
    k->gone = true;
    pthread_mutex_unlock(&k->asking);
    all_until(k, INT64_MAX, "its client is gone");
}
