/* hosting.h - agents on a host in a test: a model that answers by what it is told, tools that say what they did, and gates at which either
 * waits until the test opens them. Nothing is timed: whoever waits, waits for something that comes.
 *
 * What the user says is the script: "say TEXT", "use NAME ID INPUT;NAME ID INPUT" and then "so", "loop" (a tool, and again), "hang" (half an
 * answer, and nothing more until it is canceled), "gate TEXT" (the same, but the gate lets it say TEXT), "fail CODE" (each time), "twice TEXT" (two
 * failures that pass, and TEXT), "ask N" (bash, which a person must let in), "both" (bash at a gate, and then an edit), "pair" (bash at a gate, and then rm),
 * "five" (children that each are told "ask N"), "think TEXT" (a thought, and that), "deep" (a child that is told "gate done"). A tool with "tell" in its input
 * tells that as its progress. */
#ifndef TEST_HOST_HOSTING_H
#define TEST_HOST_HOSTING_H

#include "lib/check.h"
#include "lib/model_reply.h"
#include "pawl/history.h"
#include "pawl/host.h"
#include "store/place.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LOG_BYTES = 1 << 16, PATIENCE_MS = 120000 };     /* then it is taken to hang, and the test fails */

#define ANY "{\"type\":\"object\"}"
static const pawl_agent_tool host_tools[] = {
    { .name = "read_file", .rule = "Read", .schema = ANY, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .beside = true },
    { .name = "edit_file", .rule = "Edit", .schema = ANY, .cls = PAWL_PERMISSION_EDIT, .effect = PAWL_CLASS_ONCE, .mutates = true },
    { .name = "bash", .rule = "Bash", .schema = ANY, .cls = PAWL_PERMISSION_EXEC, .effect = PAWL_CLASS_ONCE, .mutates = true },
    { .name = "web_fetch", .rule = "WebFetch", .schema = ANY, .cls = PAWL_PERMISSION_NET, .effect = PAWL_CLASS_AT_LEAST_ONCE, .beside = true },
    { .name = "ask_user", .schema = ANY, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_ASK_USER },
    { .name = "spawn_agent", .schema = ANY, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_SPAWN_AGENT, .beside = true },
    { .name = "plan_enter", .schema = ANY, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_PLAN_ENTER },
    { .name = "plan_exit", .schema = ANY, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_PLAN_EXIT },
};
#undef ANY
static const pawl_agent_helper host_helpers[] = { { "searcher", "It searches." } };

typedef struct stage {          /* what handlers of one host share */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    unsigned speaking;          /* models that have said what they say before a gate */
    unsigned working;           /* tools at one */
    unsigned open;              /* how many gates may be passed */
    unsigned calls, fails;      /* of the model */
    char log[LOG_BYTES];        /* "ID\n" of each tool that was used */
    size_t size;
    pawl_engine *e;
    pawl_host *h;
} stage;

/* ---- handlers: no check fails in them, for that is the test's own thread's --------------------------- */

static inline void stage_moves(stage *g, unsigned *counter)
{
    pthread_mutex_lock(&g->lock);
    ++*counter;
    pthread_cond_broadcast(&g->moved);
    pthread_mutex_unlock(&g->lock);
}

static inline void moment(void)
{
    nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

/* False: it was called off. */
static inline bool gate_passed(stage *g, const pawl_job *job)
{
    for (;;) {
        bool open;

        pthread_mutex_lock(&g->lock);
        open = g->open > 0;
        g->open -= open;
        pthread_mutex_unlock(&g->lock);
        if (open)
            return true;
        if (job->canceled(job))
            return false;
        moment();
    }
}

static inline const char *text_of(const pawl_value *message)
{
    const char *text = pawl_value_string(pawl_value_get(message, "content"));

    return text != NULL ? text : "";
}

/* The script, and how many messages came after it. */
static inline const char *script_of(const pawl_value *messages, size_t *after)
{
    for (size_t i = pawl_value_size(messages); i > 0; i--) {
        const char *role = pawl_value_string(pawl_value_get(pawl_value_at(messages, i - 1), "role"));

        *after = pawl_value_size(messages) - i;
        if (role != NULL && strcmp(role, "user") == 0)
            return text_of(pawl_value_at(messages, i - 1));
    }
    return "";
}

static inline pawl_code answers(pawl_reply *reply, const char *text, const char *calls)
{
    char json[8192];

    return model_reply(json, sizeof json, text, calls) ? pawl_reply_json(reply, json) : pawl_reply_fail(reply, PAWL_INVALID, "no calls: %s", calls);
}

static inline bool starts(const char *script, const char *word, const char **rest)
{
    const size_t n = strlen(word);

    *rest = script + n + (script[strlen(script) > n ? n : 0] == ' ');
    return strncmp(script, word, n) == 0;
}

static inline pawl_code speaks(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const pawl_value *messages = pawl_value_get(job->args, "messages");
    stage *g = arg;
    size_t after = 0;
    const char *script = script_of(messages, &after), *rest;
    char calls[64];

    stage_moves(g, &g->calls);
    if (starts(script, "loop", &rest)) {
        snprintf(calls, sizeof calls, "read_file r%zu {\"file_path\":\"a\"}", after);
        return answers(reply, NULL, calls);
    }
    if (after > 0)
        return answers(reply, "so", NULL);
    if (starts(script, "say", &rest))
        return answers(reply, rest, NULL);
    if (starts(script, "use", &rest))
        return answers(reply, NULL, rest);
    if (starts(script, "ask", &rest)) {
        snprintf(calls, sizeof calls, "bash c%.8s {\"command\":\"make %.8s\"}", rest, rest);
        return answers(reply, NULL, calls);
    }
    if (starts(script, "both", &rest))
        return answers(reply, NULL, "bash b1 {\"command\":\"make\",\"hold\":true};edit_file e1 {\"file_path\":\"/w/a\"}");
    if (starts(script, "pair", &rest))
        return answers(reply, NULL, "bash b1 {\"command\":\"make\",\"hold\":true};bash b2 {\"command\":\"rm x\"}");
    if (starts(script, "think", &rest)) {
        char json[1024];

        snprintf(json, sizeof json, "{\"message\":{\"content\":[{\"thinking\":\"hm\",\"type\":\"thinking\"},{\"text\":\"%.400s\",\"type\":\"text\"}],"
                 "\"role\":\"assistant\"},\"stop\":\"end_turn\"}", rest);
        return pawl_reply_json(reply, json);
    }
    if (starts(script, "deep", &rest))
        return answers(reply, NULL, "spawn_agent g1 {\"prompt\":\"gate done\"}");
    if (starts(script, "five", &rest))
        return answers(reply, NULL, "spawn_agent s0 {\"prompt\":\"ask 0\"};spawn_agent s1 {\"prompt\":\"ask 1\"};spawn_agent s2 {\"prompt\":\"ask 2\"};"
                                    "spawn_agent s3 {\"prompt\":\"ask 3\"};spawn_agent s4 {\"prompt\":\"ask 4\"}");
    if (starts(script, "hang", &rest) || starts(script, "gate", &rest)) {
        (void)job->say(job, "message", "{\"attempt\":1,\"type\":\"begin\"}");
        (void)pawl_job_say(job, &(pawl_delta){ .kind = PAWL_DELTA_THINKING, .bytes = "hm", .size = 2 });    /* both ways of saying are one to readers */
        (void)pawl_job_say(job, &(pawl_delta){ .kind = PAWL_DELTA_TEXT, .bytes = "half an ", .size = 8 });
        (void)job->say(job, "message", "{\"text\":\"answer\",\"type\":\"text_delta\"}");
        stage_moves(g, &g->speaking);
        return gate_passed(g, job) ? answers(reply, rest, NULL) : pawl_reply_fail(reply, PAWL_CANCELED, "canceled");
    }
    if (starts(script, "fail", &rest))
        return pawl_reply_fail(reply, pawl_code_named(rest), "API error: it will not");
    if (starts(script, "twice", &rest)) {
        stage_moves(g, &g->fails);
        return g->fails <= 2 ? pawl_reply_fail(reply, PAWL_TRANSIENT, "API error: busy") : answers(reply, rest, NULL);
    }
    return pawl_reply_fail(reply, PAWL_INVALID, "no such script: %.100s", script);
}

static inline pawl_code works(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const char *id = pawl_value_string(pawl_value_get(job->args, "call")), *cwd = pawl_value_string(pawl_value_get(job->args, "cwd"));
    stage *g = arg;
    char text[128];

    (void)cwd;
    if (pawl_value_get(pawl_value_get(job->args, "input"), "tell") != NULL) {
        snprintf(text, sizeof text, "{\"output\":\"%.32s\",\"tool_use_id\":\"%.32s\"}",
                 pawl_value_string(pawl_value_get(pawl_value_get(job->args, "input"), "tell")), id);
        (void)job->say(job, "tool_progress", text);
    }
    if (pawl_value_bool(pawl_value_get(pawl_value_get(job->args, "input"), "hold"))) {
        stage_moves(g, &g->working);
        if (!gate_passed(g, job))
            return pawl_reply_fail(reply, PAWL_CANCELED, "canceled");
    }
    if (pawl_value_bool(pawl_value_get(pawl_value_get(job->args, "input"), "lost")))
        return pawl_reply_fail(reply, PAWL_UNKNOWN, "it was cut off");
    pthread_mutex_lock(&g->lock);
    if (g->size + strlen(id) + 2 < LOG_BYTES)
        g->size += (size_t)snprintf(g->log + g->size, LOG_BYTES - g->size, "%s\n", id);
    pthread_mutex_unlock(&g->lock);
    snprintf(text, sizeof text, "{\"content\":\"%.32s did %.64s\"}", job->effect, id);
    return pawl_reply_json(reply, text);
}

/* ---- a host ----------------------------------------------------------------------------------------------- */

static inline void engine_bind(pawl_engine *e, stage *g)
{
    pawl_err err = {0};

    if (pawl_engine_effect(e, "llm", speaks, g, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK ||
        pawl_engine_effect(e, "tool-read_file", works, g, PAWL_CLASS_PURE, &err) != PAWL_OK ||
        pawl_engine_effect(e, "tool-edit_file", works, g, PAWL_CLASS_ONCE, &err) != PAWL_OK ||
        pawl_engine_effect(e, "tool-bash", works, g, PAWL_CLASS_ONCE, &err) != PAWL_OK ||
        pawl_engine_effect(e, "tool-web_fetch", works, g, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK || pawl_engine_add_tell(e, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
}

static inline pawl_machine *host_machine(const char *name, uint32_t iterations)
{
    const pawl_agent a = { .name = name, .version = 1, .model = "script:none", .tools = host_tools, .ntools = sizeof host_tools / sizeof *host_tools,
                           .helpers = host_helpers, .nhelpers = 1, .max_iterations = iterations, .retry_initial_ms = 1 };
    pawl_err err = {0};
    pawl_machine *m;

    if ((m = pawl_agent_machine(&a, NULL, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

static inline pawl_engine *host_engine(stage *g, pawl_store *s, unsigned threads)
{
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(host_machine("helper", 8), s, &err);

    if (e == NULL || pawl_engine_add(e, host_machine("searcher", 8), &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    engine_bind(e, g);
    pawl_engine_threads(e, threads);
    return e;
}

static inline pawl_store *file_store(void)
{
    pawl_err err = {0};
    pawl_store *s = pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err);

    if (s == NULL)
        CHECK_FAIL("%s", err.text);
    return s;
}

static inline void stage_begin(stage *g)
{
    *g = (stage){ .size = 0 };
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->moved, NULL);
}

/* In memory; with `files` in a file, looked at by a handle of its own. */
static inline void host_begin(stage *g, bool files, unsigned threads)
{
    pawl_err err = {0};

    stage_begin(g);
    if (files)
        path_new("host");
    g->e = host_engine(g, files ? file_store() : pawl_store_memory(&err), threads);
    if ((g->h = pawl_host_new(g->e, files ? file_store() : NULL, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
}

static inline void host_end(stage *g)
{
    pawl_host_free(g->h);
    pthread_cond_destroy(&g->moved);
    pthread_mutex_destroy(&g->lock);
    if (path[0] != '\0')
        path_gone();
    path[0] = '\0';
}

/* Another try, in a moment; not for ever. */
static inline void again(int *tries)
{
    if (++*tries > PATIENCE_MS)
        CHECK_FAIL("it does not come");
    moment();
}

/* The run is there, soon. */
static inline pawl_handle *found(stage *g, const char *id)
{
    pawl_handle *a;
    int tries = 0;

    while ((a = pawl_host_get(g->h, id, NULL)) == NULL)
        again(&tries);
    return a;
}

/* Until so many have come there. */
static inline void stage_waits(stage *g, const unsigned *counter, unsigned n)
{
    struct timespec until;
    bool there = true;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&g->lock);
    while (*counter < n && there)
        there = pthread_cond_timedwait(&g->moved, &g->lock, &until) == 0;
    pthread_mutex_unlock(&g->lock);
    if (!there)
        CHECK_FAIL("nobody comes");
}

static inline void gate_opens(stage *g) { stage_moves(g, &g->open); }

/* ---- handles -------------------------------------------------------------------------------------------------- */

static inline pawl_handle *spawned(stage *g, const char *id, const char *input)
{
    pawl_handle *a = NULL;
    pawl_err err = {0};

    if (pawl_host_spawn(g->h, NULL, id, input, &a, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    return a;
}

static inline void said(pawl_code rc, const pawl_err *err)
{
    if (rc != PAWL_OK)
        CHECK_FAIL("%s: %s", pawl_code_name(rc), err->text);
}

static inline void sends(pawl_handle *a, const char *text)
{
    char json[4096];
    pawl_err err = {0};

    snprintf(json, sizeof json, "{\"content\":\"%s\",\"role\":\"user\"}", text);
    said(pawl_handle_send(a, json, &err), &err);
}

/* Until it stands as `until` says, and the name of how it does; "over". */
static inline const char *comes_to(pawl_handle *a, unsigned until)
{
    pawl_err err = {0};
    pawl_shown state = PAWL_SHOWN_NOTHING;
    const pawl_code rc = pawl_handle_wait(a, until, PATIENCE_MS, &state, &err);

    if (rc < 0)
        CHECK_FAIL("%s", err.text);
    return rc == PAWL_HALTED ? "over" : rc == PAWL_PENDING ? "(nothing)" : pawl_shown_name(state);
}

static inline const char *rests(pawl_handle *a) { return comes_to(a, PAWL_UNTIL_RESTS); }

static inline pawl_handle_view viewed(pawl_handle *a)
{
    pawl_handle_view v = { .state = PAWL_SHOWN_NOTHING };
    pawl_err err = {0};

    said(pawl_handle_state(a, &v, &err), &err);
    return v;
}

/* The state of a run as it is stored, when nobody drives any more: after pawl_host_drain. */
static inline pawl_state *stored_state(stage *g, const char *run)
{
    pawl_state *st = NULL;
    pawl_err err = {0};

    said(pawl_history_state(pawl_engine_store(g->e), run, 0, &st, &err), &err);
    return st;
}

/* "user:go assistant tool:b1:ok user:..." of what is stored; free() it. */
static inline char *talk_of(stage *g, const char *run)
{
    char *out = calloc(1, LOG_BYTES);
    pawl_state *st = stored_state(g, run);
    pawl_iter it = pawl_iter_of(pawl_state_get(st, "messages"));
    const pawl_value *one;
    size_t n = 0;

    while (out != NULL && (one = pawl_iter_next(&it, NULL)) != NULL && n < LOG_BYTES - 1024) {
        const pawl_value *content = pawl_value_get(one, "content");
        const char *id = pawl_value_string(pawl_value_get(one, "tool_call_id")), *text = pawl_value_string(content);

        if (text == NULL)
            text = pawl_value_string(pawl_value_get(pawl_value_at(content, 0), "text"));
        n += (size_t)snprintf(out + n, LOG_BYTES - n, "%s%s%s%s=%.400s\n", pawl_value_string(pawl_value_get(one, "role")), id != NULL ? " " : "",
                              id != NULL ? id : "", pawl_value_bool(pawl_value_get(one, "is_error")) ? "!" : "", text != NULL ? text : "-");
    }
    pawl_state_free(st);
    return out;
}

static inline void talk_is(stage *g, const char *run, const char *text)
{
    char *talk = talk_of(g, run), seen[2048];

    snprintf(seen, sizeof seen, "%s", talk);
    free(talk);
    CHECK_STR(seen, text);
}

/* All states that were shown: "processing idle"; each no earlier than the one before. */
typedef struct shown_text { char text[1024]; int64_t time_ms; bool back; } shown_text;

static inline bool shown_add(void *ctx, const pawl_shown_at *s)
{
    shown_text *t = ctx;
    const size_t n = strlen(t->text);

    snprintf(t->text + n, sizeof t->text - n, "%s%s", n > 0 ? " " : "", pawl_shown_name(s->state));
    t->back = t->back || s->time_ms < t->time_ms || s->time_ms == 0;
    t->time_ms = s->time_ms;
    return true;
}

static inline void shown_are(pawl_handle *a, const char *text)
{
    shown_text t = { .text = "" };
    pawl_err err = {0};

    said(pawl_handle_states(a, shown_add, &t, &err), &err);
    CHECK_STR(t.text, text);
    CHECK(!t.back);
}

#endif
