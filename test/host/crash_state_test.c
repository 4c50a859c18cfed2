/* crash_state_test.c - a program with an agent dies by SIGKILL in each of the states that it can be in, and another goes on with it: at a permission, at
 * a question, with a child at work, between two tries, in a compaction, after the tools, while it stops. The end is that of an agent that nobody killed, and
 * each tool is used as often as its class allows (S11, E4, E5). */
#include "hosting.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

enum { DEATHS_MAX = 64, TALK_BYTES = 4096, SEEN_BYTES = 2048 };

/* ---- what is played ------------------------------------------------------------------------------------ */

typedef struct scene {
    const char *name, *input;   /* what the user says first */
    const char *then;           /* and when it rests; NULL: nothing */
    const char *mode;
    int64_t compact_tokens;
    bool stops;                 /* it is interrupted as soon as it is at work */
    const char *children[2];    /* runs that it begins */
    const char *once[2];        /* what is done once, however often it dies: lines of the diary */
    const char *phase;          /* which a death has to meet, at least once: of the wrapper, or what is shown of it */
} scene;

static const scene *now;

/* What was done stands in a file beside the store: "bash b1\n". */
static char diary[112];

static void notes(const char *what, const char *id)
{
    char line[96];
    const int fd = open(diary, O_WRONLY | O_APPEND | O_CREAT, 0600), n = snprintf(line, sizeof line, "%s %s\n", what, id);

    if (fd < 0 || write(fd, line, (size_t)n) != n)
        abort();
    close(fd);
}

static int noted(const char *line)
{
    FILE *f = fopen(diary, "r");
    char text[96];
    int n = 0;

    while (f != NULL && fgets(text, sizeof text, f) != NULL)
        n += strcmp(text, line) == 0;
    if (f != NULL)
        fclose(f);
    return n;
}

/* ---- who performs ---------------------------------------------------------------------------------------- */

static int entries_left = -1, calls_left = -1;  /* then it dies; below 0: it does not */

/* In a call that has begun, and may be begun again. */
static void may_die(void)
{
    if (__atomic_fetch_sub(&calls_left, 1, __ATOMIC_SEQ_CST) == 0)
        kill(getpid(), SIGKILL);
}

static pawl_code hangs(const pawl_job *job, pawl_reply *reply, stage *g)
{
    (void)job->say(job, "message", "{\"attempt\":1,\"type\":\"begin\"}");
    (void)job->say(job, "message", "{\"text\":\"half an answer\",\"type\":\"text_delta\"}");
    stage_moves(g, &g->working);
    return gate_passed(g, job) ? answers(reply, "whole", NULL) : pawl_reply_fail(reply, PAWL_CANCELED, "canceled");
}

static pawl_code model(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const pawl_value *messages = pawl_value_get(job->args, "messages");
    size_t after = 0;
    const char *script = script_of(messages, &after), *rest;

    may_die();
    if (pawl_value_get(job->args, "then") != NULL) {
        notes("model", "sums up");
        return answers(reply, "in short", NULL);
    }
    if (after > 0)
        return answers(reply, "so", NULL);
    if (starts(script, "use", &rest))
        return answers(reply, "first", rest);
    if (starts(script, "hang", &rest))
        return hangs(job, reply, arg);
    if (starts(script, "busy", &rest) && noted("model busy\n") < 2) {
        notes("model", "busy");
        return pawl_reply_fail(reply, PAWL_TRANSIENT, "API error: busy");
    }
    return answers(reply, rest, NULL);
}

static pawl_code tool(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const char *id = pawl_value_string(pawl_value_get(job->args, "call"));
    const bool once = strcmp(job->effect, "tool-bash") == 0 || strcmp(job->effect, "tool-edit_file") == 0;
    stage *g = arg;
    char text[64];

    notes(job->effect, id);
    if (!once)
        may_die();
    if (pawl_value_bool(pawl_value_find(job->args, "/input/hold"))) {
        stage_moves(g, &g->working);
        if (!gate_passed(g, job))
            return pawl_reply_fail(reply, PAWL_CANCELED, "canceled");
    }
    snprintf(text, sizeof text, "{\"content\":\"%.20s\"}", id);
    return pawl_reply_json(reply, text);
}

static pawl_code after_tools(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    notes("hook", "after");
    may_die();
    return pawl_reply_json(reply, "{\"action_taken\":true}");
}

/* ---- a program -------------------------------------------------------------------------------------------- */

static pawl_machine *machine_of(const char *name)
{
    const pawl_agent a = { .name = name, .version = 1, .model = "script:none", .tools = host_tools, .ntools = sizeof host_tools / sizeof *host_tools,
                           .helpers = host_helpers, .nhelpers = 1, .max_iterations = 8, .retry_initial_ms = 1, .post_tools = true,
                           .compact_tokens = now->compact_tokens };
    pawl_err err = {0};
    pawl_machine *m = pawl_agent_machine(&a, NULL, &err);

    if (m == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

static pawl_engine *engine_of(stage *g)
{
    static const struct { const char *effect; pawl_handler_fn *fn; pawl_class cls; } rows[] = {
        { "llm", model, PAWL_CLASS_AT_LEAST_ONCE }, { "tool-read_file", tool, PAWL_CLASS_PURE }, { "tool-bash", tool, PAWL_CLASS_ONCE },
            { "tool-edit_file", tool, PAWL_CLASS_ONCE },
        { "tool-web_fetch", tool, PAWL_CLASS_AT_LEAST_ONCE }, { "post-tools", after_tools, PAWL_CLASS_AT_LEAST_ONCE },
    };
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(machine_of("helper"), file_store(), &err);
    pawl_code rc = e != NULL ? pawl_engine_add(e, machine_of("searcher"), &err) : PAWL_NOMEM;

    for (size_t i = 0; i < sizeof rows / sizeof *rows && rc == PAWL_OK; i++)
        rc = pawl_engine_effect(e, rows[i].effect, rows[i].fn, g, rows[i].cls, &err);
    if (rc != PAWL_OK || pawl_engine_add_tell(e, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    pawl_engine_threads(e, 2);
    return e;
}

/* Told of each entry after it is stored. */
static void dies(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    (void)ctx, (void)st, (void)entry;
    if (entries_left-- == 0)
        kill(getpid(), SIGKILL);
}

/* Under an id of its own: who comes later says it again, and it counts once. */
static void leaves(stage *g, const char *id, const char *signal, const char *text)
{
    char json[1024];
    pawl_delivery d = { .id = id, .kind = PAWL_DELIVER_SIGNAL, .name = signal };
    pawl_store *s = file_store();
    pawl_err err = {0};

    snprintf(json, sizeof json, "{\"content\":\"%s\",\"role\":\"user\"}", text);
    if (text[0] != '\0')
        d.value = (pawl_bytes){ json, strlen(json) };
    if (s->verbs->deliver(s, "r", &d, &err) != PAWL_OK)
        abort();
    pawl_engine_wake(g->e);
    pawl_store_free(s);
}

static bool at_work(stage *g)
{
    bool yes;

    pthread_mutex_lock(&g->lock);
    yes = g->working > 0;
    pthread_mutex_unlock(&g->lock);
    return yes;
}

/* A person: says yes, answers, interrupts, goes on talking; until there is nothing more to do. */
static void attends(stage *g, pawl_handle *a)
{
    bool told = now->then == NULL, stopped = !now->stops;

    for (int tries = 0; tries < PATIENCE_MS; tries++) {
        pawl_shown state = PAWL_SHOWN_NOTHING;
        const pawl_code rc = pawl_handle_wait(a, PAWL_UNTIL_RESTS, stopped ? PATIENCE_MS : 1, &state, NULL);

        if (rc == PAWL_PENDING && !stopped && at_work(g)) {
            leaves(g, "stop-1", "interrupt", "");
            stopped = true;
        } else if (rc != PAWL_PENDING && rc != PAWL_OK) {
            abort();
        } else if (rc == PAWL_PENDING) {
            continue;
        } else if (state == PAWL_SHOWN_WAITING_FOR_PERMISSION) {
            (void)!pawl_handle_permit(a, NULL, true, NULL, NULL, NULL);     /* asked anew: once more */
        } else if (state == PAWL_SHOWN_WAITING_FOR_USER_INPUT) {
            (void)!pawl_handle_answer(a, NULL, "\"blue\"", NULL);
        } else if (!told) {
            leaves(g, "in-2", "input", now->then);
            told = true;
        } else {
            return;
        }
    }
    abort();
}

/* Goes on until nothing is left to do, or it is time to die. */
static void program(int entries, int calls)
{
    char input[1024];
    pawl_handle *a;
    stage g;

    stage_begin(&g);
    entries_left = entries;
    calls_left = calls;
    g.e = engine_of(&g);
    pawl_engine_watch(g.e, dies, NULL);
    g.h = pawl_host_new(g.e, file_store(), NULL);
    snprintf(input, sizeof input, "{\"@mode\":\"%s\",\"input\":\"%s\"}", now->mode, now->input);
    (void)!pawl_host_spawn(g.h, NULL, "r", input, NULL, NULL);
    if ((a = pawl_host_get(g.h, "r", NULL)) == NULL)
        abort();
    attends(&g, a);
    pawl_handle_free(a);
    pawl_host_free(g.h);
    _exit(0);
}

/* True: it was killed. */
static bool program_runs(int entries, int calls)
{
    const pid_t child = fork();
    int status = 0;

    CHECK(child >= 0);
    if (child == 0)
        program(entries, calls);
    CHECK_INT(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return true;
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return false;
}

/* ---- how it stands -------------------------------------------------------------------------------------------- */

static void place_begin(void)
{
    path_new("crash");
    snprintf(diary, sizeof diary, "%s.diary", path);
    remove(diary);
}

static void place_end(void)
{
    remove(diary);
    path_gone();
    path[0] = '\0';
}

/* One more of where a death has met it: "using tools/executing_tool". */
static void stood(char seen[SEEN_BYTES])
{
    pawl_store *s = file_store();
    const size_t n = strlen(seen);
    pawl_agent_view v;
    pawl_state *st = NULL;

    if (pawl_history_state(s, "r", 0, &st, NULL) == PAWL_OK && pawl_agent_display(st, &v, NULL) == PAWL_OK) {
        const char *phase = pawl_value_string(pawl_value_get(pawl_state_get(st, "@agent"), "phase"));

        snprintf(seen + n, SEEN_BYTES - n, "%s/%s ", phase != NULL ? phase : "", pawl_shown_name(v.state));
    }
    pawl_state_free(st);
    pawl_store_free(s);
}

static void verified(pawl_store *s, const char *machine, const char *run)
{
    pawl_machine *m = machine_of(machine);
    pawl_verdict v;
    pawl_err err = {0};

    if (pawl_history_verify(s, m, run, &v, &err) != PAWL_OK)
        CHECK_FAIL("%s: %s, entry %llu: %s", now->name, run, (unsigned long long)v.seq, err.text);
    pawl_machine_free(m);
}

/* What was said, by the run and by its child; every entry of it is what the machine says. */
static void talk_to(char out[TALK_BYTES])
{
    stage g = { .e = engine_of(&g) };
    char *talk = talk_of(&g, "r");
    size_t n = (size_t)snprintf(out, TALK_BYTES, "%s", talk);


    free(talk);
    verified(pawl_engine_store(g.e), "helper", "r");
    for (size_t i = 0; i < 2 && now->children[i] != NULL; i++) {
        talk = talk_of(&g, now->children[i]);
        n += (size_t)snprintf(out + n, TALK_BYTES - n, "-- %s", talk);
        free(talk);
        verified(pawl_engine_store(g.e), "searcher", now->children[i]);
    }
    pawl_engine_free(g.e);
}

static void ends_as(const char *talk, const char *how, int which)
{
    char is[TALK_BYTES];

    talk_to(is);
    if (strcmp(is, talk) != 0)
        CHECK_FAIL("%s, dead %s %d: it was said\n%sand without a death\n%s", now->name, how, which, is, talk);
    for (size_t i = 0; i < 2 && now->once[i] != NULL; i++)
        if (noted(now->once[i]) != 1)
            CHECK_FAIL("%s, dead %s %d: %d times %s", now->name, how, which, noted(now->once[i]), now->once[i]);
}

/* ---- deaths ------------------------------------------------------------------------------------------------------ */

/* One death, after each entry in turn, and in each call that may be begun again. */
static int one_death(const char *talk, bool in_calls, char seen[SEEN_BYTES])
{
    int died = 0;

    for (int i = 0; i < DEATHS_MAX; i++) {
        bool killed;

        place_begin();
        killed = program_runs(in_calls ? -1 : i, in_calls ? i : -1);
        died += killed;
        if (killed)
            stood(seen);
        CHECK(!program_runs(-1, -1));
        ends_as(talk, in_calls ? "in call" : "after entry", i);
        place_end();
        if (!killed)
            return died;
    }
    CHECK_FAIL("%s: it dies on and on", now->name);
    return died;
}

/* Dead after every entry: each program adds one. */
static void every_death(const char *talk)
{
    int programs = 0;

    place_begin();
    while (program_runs(0, -1) && programs < 2 * DEATHS_MAX)
        programs++;
    CHECK(programs >= 3 && programs < 2 * DEATHS_MAX);
    ends_as(talk, "after all of", programs);
    place_end();
}

static void played(const scene *s)
{
    char talk[TALK_BYTES], seen[SEEN_BYTES] = "";

    now = s;
    place_begin();
    CHECK(!program_runs(-1, -1));
    talk_to(talk);
    ends_as(talk, "never", 0);
    place_end();
    CHECK(one_death(talk, false, seen) >= 3);
    if (strstr(seen, s->phase) == NULL)
        CHECK_FAIL("%s: no death met it \"%s\", but: %s", s->name, s->phase, seen);
    (void)one_death(talk, true, seen);
    every_death(talk);
}

/* ---- scenes --------------------------------------------------------------------------------------------------------- */

#define QUESTION "use ask_user q1 {\\\"questions\\\":[{\\\"header\\\":\\\"Color\\\",\\\"options\\\":[\\\"red\\\",\\\"blue\\\"],\\\"question\\\":\\\"Which?\\\"}]}"

PAWL_TEST(test_S11_at_a_permission)
{
    played(&(scene){ .name = "permission", .mode = "default", .phase = "waiting_for_permission", .once = { "tool-bash b1\n" },
                     .input = "use read_file r1 {\\\"file_path\\\":\\\"a\\\"};bash b1 {\\\"command\\\":\\\"x\\\"}" });
}

PAWL_TEST(test_S11_at_a_question)
{
    played(&(scene){ .name = "question", .mode = "default", .phase = "waiting_for_user_input", .input = QUESTION });
}

PAWL_TEST(test_S11_with_a_child_at_work)
{
    played(&(scene){ .name = "child", .mode = "bypassPermissions", .phase = "waiting_for_sub_agent", .children = { "r.sub-s1" }, .once = { "tool-bash b1\n" },
                     .input = "use spawn_agent s1 {\\\"prompt\\\":\\\"use bash b1 {}\\\"}" });
}

/* An entry of one may be stored while the other's tool is at work: of a tool that is used once nobody would know what came of it. */
PAWL_TEST(test_S11_with_two_children_at_work)
{
    played(&(scene){ .name = "children", .mode = "bypassPermissions", .phase = "waiting_for_sub_agent", .children = { "r.sub-s1", "r.sub-s2" },
                     .input = "use spawn_agent s1 {\\\"prompt\\\":\\\"use web_fetch w1 {}\\\"};spawn_agent s2 {\\\"prompt\\\":\\\"use read_file r1 {}\\\"}" });
}

PAWL_TEST(test_S11_between_two_tries)
{
    played(&(scene){ .name = "retry", .mode = "default", .phase = "waiting to ask again", .input = "busy here" });
}

PAWL_TEST(test_S11_in_a_compaction)
{
    played(&(scene){ .name = "compaction", .mode = "default", .phase = "compacting", .compact_tokens = 12, .input = "say one", .then = "say two" });
}

PAWL_TEST(test_S11_after_its_tools)
{
    played(&(scene){ .name = "hook", .mode = "bypassPermissions", .phase = "after tools", .once = { "tool-edit_file e1\n" },
                     .input = "use edit_file e1 {\\\"file_path\\\":\\\"/w/a\\\"}" });
}

PAWL_TEST(test_S11_while_its_model_stops)
{
    played(&(scene){ .name = "stop", .mode = "default", .phase = "/done", .stops = true, .input = "hang", .then = "say here" });
}

PAWL_TEST(test_S11_while_its_tools_stop)
{
    played(&(scene){ .name = "stop of tools", .mode = "bypassPermissions", .phase = "idle/done", .stops = true, .then = "say here",
                     .input = "use web_fetch w1 {\\\"hold\\\":true};read_file r1 {\\\"hold\\\":true}" });
}

/* The child is told to stop, and its end waited for; what it had said by then is no part of the end. */
PAWL_TEST(test_S11_while_its_child_stops)
{
    played(&(scene){ .name = "stop of a child", .mode = "default", .phase = "stopping", .stops = true, .then = "say here",
                     .input = "use spawn_agent s1 {\\\"prompt\\\":\\\"hang\\\"}" });
}
