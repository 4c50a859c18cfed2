/* engine_further_test.c - further requests of one command, which its handler asks for, are attempts: counted and charged before they leave (A9). */
#include "effect/hand.h"
#include "effect/model_server.h"
#include "lib/check.h"
#include "net/net.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "pawl/llm.h"
#include "store/place.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- a machine: one call, of any class --------------------------------------------------------------------------- */

static const pawl_limits *declared;     /* of the effect in the machines that are made next */
static const char *ask_args = "null";

static pawl_code asks(pawl_step *s, void *arg)
{
    const pawl_value *out;
    pawl_code rc = pawl_call(s, "model", pawl_json(s, ask_args), &out);

    (void)arg;
    if (rc != PAWL_OK && rc != PAWL_EFFECT)
        return rc;
    pawl_set(s, rc == PAWL_OK ? "done" : "failed", out);
    return pawl_goto(s, PAWL_END);
}

static pawl_machine *machine(void)
{
    pawl_graph *g = pawl_graph_new("asker", 1);

    pawl_graph_effect(g, "model", declared);
    pawl_graph_channel(g, "done", PAWL_RULE_LAST);
    pawl_graph_channel(g, "failed", PAWL_RULE_LAST);
    pawl_graph_node(g, "ask", asks, NULL);
    pawl_graph_goto(g, "ask", PAWL_END, NULL);
    pawl_graph_edge(g, PAWL_START, "ask");
    return pawl_graph_compile(g, NULL);
}

static pawl_engine *engine(pawl_handler_fn *fn, void *arg, unsigned threads)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(machine(), pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err), &err);

    if (e == NULL)
        CHECK_FAIL("%s", err.text);
    CHECK_INT(pawl_engine_effect(e, "model", fn, arg, declared->cls, &err), PAWL_OK);
    pawl_engine_threads(e, threads);
    return e;
}

static const pawl_value *channel(pawl_engine *e, const char *name)
{
    pawl_state *st = pawl_run_state(e, "r", NULL);

    CHECK(st != NULL);
    return pawl_state_get(st, name);
}

static const char *failure(pawl_engine *e, const char *member)
{
    const char *text = pawl_value_string(pawl_value_get(channel(e, "failed"), member));

    return text != NULL ? text : "";
}

static pawl_spent spent_of(pawl_engine *e)
{
    pawl_spent s = {0};

    CHECK(pawl_state_spent(pawl_run_state(e, "r", NULL), &s));
    return s;
}

static void check_journal(pawl_engine *e)
{
    pawl_machine *m = machine();
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes journal = pawl_store_journal(pawl_engine_store(e), "r", &err);
    union { const char *in; void *out; } bytes = { journal.data };
    pawl_verdict v;

    if (pawl_verify(m, journal, NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("entry %llu: %s", (unsigned long long)v.seq, err.text);
    free(bytes.out);
    pawl_machine_free(m);
}

/* ---- a handler that needs several requests -------------------------------------------------------------------------- */

typedef struct far_end {
    unsigned needs;             /* requests until it is satisfied */
    atomic_uint requests;
    atomic_int kept;            /* how many are out */
    int64_t tokens;             /* of each */
    bool later;
} far_end;

typedef struct kept_count { far_end *f; unsigned made; } kept_count;

static void kept_drop(void *kept)
{
    kept_count *k = kept;

    k->f->kept--;
    free(k);
}

static pawl_code request(const pawl_job *job, pawl_reply *reply, far_end *f)
{
    const kept_count *before = job->kept;
    const unsigned made = (before != NULL ? before->made : 0) + 1;
    kept_count *k;

    f->requests++;
    pawl_reply_cost(reply, f->tokens, 0);
    if (made >= f->needs)
        return pawl_reply_int(reply, (int64_t)made);
    k = malloc(sizeof *k);
    CHECK(k != NULL);
    *k = (kept_count){ f, made };
    f->kept++;
    CHECK_INT(job->again(job, k, kept_drop), PAWL_OK);
    CHECK_INT(job->again(job, k, kept_drop), PAWL_INVALID);     /* once in an attempt */
    return pawl_reply_fail(reply, PAWL_TRANSIENT, "one more is needed");
}

typedef struct late_answer { pawl_job job; pawl_reply *reply; far_end *f; } late_answer;

static void *answers_late(void *arg)
{
    late_answer *l = arg;

    l->job.finish(&l->job, request(&l->job, l->reply, l->f));
    free(l);
    return NULL;
}

static void not_stopped(void *ctx, const char *id) { (void)ctx, (void)id; }

static pawl_code needs_more(const pawl_job *job, pawl_reply *reply, void *arg)
{
    far_end *f = arg;
    late_answer *l;
    pthread_t thread;

    if (!f->later || job->later == NULL)
        return request(job, reply, f);
    l = malloc(sizeof *l);
    CHECK(l != NULL);
    CHECK_INT(job->later(job, not_stopped, NULL), PAWL_OK);
    *l = (late_answer){ *job, reply, f };
    CHECK_INT(pthread_create(&thread, NULL, answers_late, l), 0);
    pthread_detach(thread);
    return PAWL_PENDING;
}

static const pawl_limits plain = { .cost = { .calls = 1 } };

/* Each number of calls is enough for that many requests, and for no more, however its handler is called. */
PAWL_TEST(test_A9_a_further_request_is_charged_before_it_leaves)
{
    declared = &plain;
    for (int64_t cap = 1; cap <= 6; cap++)
        for (unsigned how = 0; how < 4; how++) {
            far_end f = { .needs = 5, .later = how % 2 != 0 };
            const pawl_run_info info = { .id = "r", .budget = { .calls = cap } };
            pawl_engine *e;

            path_new("further");
            e = engine(needs_more, &f, how / 2);
            CHECK_INT(pawl_run_with(e, &info, NULL, NULL), PAWL_HALTED);
            CHECK_INT(f.requests, cap < 5 ? cap : 5);
            CHECK_INT(spent_of(e).used.calls, cap < 5 ? cap : 5);
            CHECK_INT(spent_of(e).reserved.calls, 0);
            CHECK(!spent_of(e).overdraft);
            if (cap < 5) {
                CHECK_STR(failure(e, "code"), "limit");
                CHECK(strstr(failure(e, "text"), "more for requests that were made for this call") != NULL);
            } else {
                CHECK_INT(pawl_value_int(channel(e, "done")), 5);
            }
            check_journal(e);
            pawl_engine_free(e);
            CHECK_INT(f.kept, 0);
            path_gone();
        }
}

/* What the requests before cost is spent, and the next one has to fit beside it. */
PAWL_TEST(test_A9_a_further_request_is_charged_in_tokens_too)
{
    static const pawl_limits tokens = { .cost = { .calls = 1, .tokens = 10 } };
    far_end f = { .needs = 5, .tokens = 7 };
    const pawl_run_info info = { .id = "r", .budget = { .tokens = 25 } };
    pawl_engine *e;

    declared = &tokens;
    path_new("further");
    e = engine(needs_more, &f, 0);
    CHECK_INT(pawl_run_with(e, &info, NULL, NULL), PAWL_HALTED);
    CHECK_INT(f.requests, 3);           /* 7 + 7 + 10 fit, 7 + 7 + 7 + 10 do not */
    CHECK_INT(spent_of(e).used.tokens, 21);
    CHECK_STR(failure(e, "code"), "limit");
    check_journal(e);
    pawl_engine_free(e);
    path_gone();
}

/* They are none of the attempts of its retry, without a budget as with one, and for every class. */
PAWL_TEST(test_A9_further_requests_are_no_retries)
{
    static const pawl_class classes[] = { PAWL_CLASS_ONCE, PAWL_CLASS_AT_LEAST_ONCE, PAWL_CLASS_IDEMPOTENT, PAWL_CLASS_PURE };

    for (unsigned i = 0; i < 8; i++) {
        const pawl_limits limits = { .cls = classes[i / 2], .retry = { .max_attempts = classes[i / 2] == PAWL_CLASS_ONCE ? 0 : 2 } };
        far_end f = { .needs = 4 };
        const pawl_run_info info = { .id = "r", .budget = { .calls = i % 2 != 0 ? 9 : 0 } };
        pawl_engine *e;

        declared = &limits;
        path_new("further");
        e = engine(needs_more, &f, 0);
        CHECK_INT(pawl_run_with(e, &info, NULL, NULL), PAWL_HALTED);
        CHECK_INT(pawl_value_int(channel(e, "done")), 4);
        CHECK_INT(f.requests, 4);
        pawl_engine_free(e);
        CHECK_INT(f.kept, 0);
        path_gone();
    }
}

/* ---- a model that never gives what its schema wants ------------------------------------------------------------------- */

static model_server far_model;
static pid_t asking;            /* the process to kill, at a request before it is answered */

#define NO(text) { .status = 400, .head = "Content-Type: application/json\r\n", .body = "{\"error\":{\"message\":\"" text "\"}}" }
#define SAYS(text) { .body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}\n\n" \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n" }

/* Each process begins with the first way, so the last answer stands for all that follow. */
static const model_script junk[] = {
    NO("response_format is not supported"), NO("tools are not supported"), NO("This response_format type is unavailable now"), SAYS("Sure!"), SAYS("Sure!!"),
};

static char base[64];

static const char *setting(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "W_BASE_URL") == 0 ? base : NULL;
}

static const pawl_llm model = { .setting = setting };

static pawl_code asks_model(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)arg;
    return pawl_effect_llm(job, reply, (void *)(uintptr_t)&model);
}

static unsigned requests(void)
{
    unsigned n;

    pthread_mutex_lock(&far_model.lock);
    n = (unsigned)far_model.requests;
    pthread_mutex_unlock(&far_model.lock);
    return n;
}

/* Runs in a process of its own, so that nothing is known of the model, and no thread of the server is forked with a lock. */
static bool asked(const pawl_run_info *info, unsigned threads, unsigned die_at)
{
    const unsigned before = requests();
    int status = 0;

    model_says(&far_model, junk, sizeof junk / sizeof *junk);
    asking = fork();
    if (asking == 0) {
        pawl_engine *e = engine(asks_model, NULL, threads);

        _exit(pawl_run_with(e, info, NULL, NULL) >= 0 ? 0 : 1);
    }
    for (;;) {
        const pid_t done = waitpid(asking, &status, WNOHANG);

        if (done == asking)
            return WIFSIGNALED(status);
        if (die_at > 0 && requests() >= before + die_at)
            kill(asking, SIGKILL);
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
    }
}

/* The server counts what arrives: at most `cap` requests, whenever the process is killed. */
PAWL_TEST(test_A9_a_schema_that_always_needs_a_repair_stays_within_its_calls)
{
    const bool all = check_run_all();

    hand_needs_fork();
    declared = &plain;
    ask_args = "{\"model\":\"w/m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"schema\":{\"type\":\"object\",\"required\":[\"n\"]}}";
    model_server_start(&far_model);
    snprintf(base, sizeof base, "http://127.0.0.1:%d", far_model.port);
    for (int64_t cap = 1; cap <= 6; cap++)
        for (unsigned threads = 0; threads < 2; threads++)
            for (unsigned die_at = 0; die_at <= (all ? 5 : 2); die_at++) {
                const pawl_run_info info = { .id = "r", .life = 5, .seed = 6, .budget = { .calls = cap } };
                const unsigned before = requests();
                pawl_engine *e;

                path_new("further");
                for (unsigned i = 0; i < 10 && die_at > 0 && asked(&info, threads, die_at); i++)
                    continue;
                (void)asked(&info, threads, 0);
                CHECK(requests() - before >= 1 && requests() - before <= cap);
                CHECK(die_at > 0 || requests() - before == (cap < 5 ? cap : 5));
                e = engine(asks_model, NULL, 0);
                CHECK_INT(pawl_run_with(e, &info, NULL, NULL), PAWL_HALTED);
                CHECK(requests() - before <= cap);
                CHECK(spent_of(e).used.calls >= requests() - before && spent_of(e).used.calls <= cap);
                if (cap < 5 || strcmp(failure(e, "code"), "transient") != 0)    /* with five it may have come to its end before it was killed */
                    CHECK_STR(failure(e, "code"), "limit");
                check_journal(e);
                pawl_engine_free(e);
                path_gone();
            }
    net_forget();
    model_server_stop(&far_model);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
