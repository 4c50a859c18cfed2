/* crash_test.c - a program with an agent dies at every entry of its journal, and another goes on with it: nothing is lost, and nothing that was
 * done is done again (S11, E4). */
#include "hosting.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* What tools and the model did stands in a file beside the store: "tool b1\n", "model 2\n". */
static char diary[112];

static const char *dies_in;     /* a call, in which the program dies */

static void notes(const char *what, const char *id)
{
    char line[64];
    const int fd = open(diary, O_WRONLY | O_APPEND | O_CREAT, 0600), n = snprintf(line, sizeof line, "%s %s\n", what, id);

    if (fd < 0 || write(fd, line, (size_t)n) != n)
        abort();
    close(fd);
}

/* A conversation of two turns: two tools, an answer, and the input that came meanwhile. */
static pawl_code model(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const pawl_value *messages = pawl_value_get(job->args, "messages");
    char n[16];
    size_t after = 0;
    const char *script = script_of(messages, &after);

    (void)arg;
    snprintf(n, sizeof n, "%zu", pawl_value_size(messages));
    notes("model", n);
    if (after == 0 && strcmp(script, "work") == 0)
        return answers(reply, "first", "read_file r1 {\"file_path\":\"a\"};bash b1 {\"command\":\"x\"}");
    return answers(reply, after > 0 ? "so" : "done", NULL);
}

static pawl_code tool(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const char *id = pawl_value_string(pawl_value_get(job->args, "call"));
    char text[64];

    (void)arg;
    notes("tool", id);
    if (dies_in != NULL && strcmp(dies_in, id) == 0)
        kill(getpid(), SIGKILL);
    snprintf(text, sizeof text, "{\"content\":\"%.20s\"}", id);
    return pawl_reply_json(reply, text);
}

static pawl_engine *crash_engine(void)
{
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(host_machine("helper", 8), file_store(), &err);

    if (e == NULL || pawl_engine_effect(e, "llm", model, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK ||
        pawl_engine_effect(e, "tool-read_file", tool, NULL, PAWL_CLASS_PURE, &err) != PAWL_OK ||
        pawl_engine_effect(e, "tool-bash", tool, NULL, PAWL_CLASS_ONCE, &err) != PAWL_OK ||
        pawl_engine_add_tell(e, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    return e;
}

/* ---- a program that dies -------------------------------------------------------------------------------- */

static int entries_left;

/* Told of each entry after it is stored: there it dies. */
static void dies(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    (void)ctx, (void)st, (void)entry;
    if (entries_left-- == 0)
        kill(getpid(), SIGKILL);
}

/* Goes on until the agent rests, or it is time to die. */
static void program(int entries)
{
    pawl_engine *e = crash_engine();
    pawl_handle *a;
    pawl_host *h;

    entries_left = entries;
    pawl_engine_watch(e, dies, NULL);
    h = pawl_host_new(e, file_store(), NULL);
    (void)!pawl_host_spawn(h, NULL, "r", "{\"@mode\":\"bypassPermissions\",\"input\":\"work\"}", NULL, NULL);
    if ((a = pawl_host_get(h, "r", NULL)) == NULL || pawl_handle_wait(a, PAWL_UNTIL_RESTS, PATIENCE_MS, NULL, NULL) != PAWL_OK)
        _exit(1);
    pawl_handle_free(a);
    pawl_host_free(h);
    _exit(0);
}

/* True: it was killed. */
static bool program_runs(int entries)
{
    const pid_t child = fork();
    int status = 0;

    CHECK(child >= 0);
    if (child == 0)
        program(entries);
    CHECK_INT(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        return true;
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return false;
}

static int noted(const char *line)
{
    FILE *f = fopen(diary, "r");
    char text[80];
    int n = 0;

    while (f != NULL && fgets(text, sizeof text, f) != NULL)
        n += strcmp(text, line) == 0;
    if (f != NULL)
        fclose(f);
    return n;
}

static void stored_well(const char *talk)
{
    pawl_machine *m = host_machine("helper", 8);
    pawl_verdict v;
    pawl_err err = {0};
    stage g = { .e = crash_engine() };

    talk_is(&g, "r", talk);
    if (pawl_history_verify(pawl_engine_store(g.e), m, "r", &v, &err) != PAWL_OK)
        CHECK_FAIL("entry %llu: %s", (unsigned long long)v.seq, err.text);
    pawl_machine_free(m);
    pawl_engine_free(g.e);
}

static void place_begin(void)
{
    path_new("crash");
    snprintf(diary, sizeof diary, "%s.diary", path);
}

static const char talked[] = "user=work\nassistant=first\ntool r1=r1\ntool b1=b1\nassistant=so\n";

/* Dead as soon as entry 1, 2, ... is stored: before what it asks for has left. */
PAWL_TEST(test_S11_dead_after_each_entry)
{
    int died = 0;

    for (int entries = 0; entries < 64; entries++) {
        bool killed;

        place_begin();
        killed = program_runs(entries);
        died += killed;
        CHECK(!program_runs(-1));
        stored_well(talked);
        CHECK_INT(noted("tool b1\n"), 1);
        CHECK_INT(noted("tool r1\n"), 1);
        CHECK_INT(noted("model 1\n"), 1);
        CHECK_INT(noted("model 4\n"), 1);
        path_gone();
        if (!killed)
            break;
    }
    CHECK(died >= 5);           /* begun, answered, two tools, answered again */
}

/* Dead at every entry in turn: each program adds one. */
PAWL_TEST(test_S11_dead_after_every_entry)
{
    int programs = 0;

    place_begin();
    while (program_runs(0) && programs < 64)
        programs++;
    CHECK(programs >= 5 && programs < 64);
    stored_well(talked);
    CHECK_INT(noted("tool b1\n"), 1);
    CHECK_INT(noted("tool r1\n"), 1);
    CHECK_INT(noted("model 1\n"), 1);
    CHECK_INT(noted("model 4\n"), 1);
    path_gone();
    path[0] = '\0';
}

/* Dead within a tool: one that only reads is used again, one that writes is not, and a person is asked what came of it (E5). */
PAWL_TEST(test_S11_E5_dead_within_a_tool)
{
    static const char *const calls[] = { "r1", "b1" };

    for (int i = 0; i < 2; i++) {
        pawl_handle *a;
        pawl_err err = {0};
        pawl_host *h;
        int tries = 0;

        place_begin();
        dies_in = calls[i];
        CHECK(program_runs(-1));
        dies_in = NULL;
        h = pawl_host_new(crash_engine(), file_store(), &err);
        CHECK(h != NULL && (a = pawl_host_get(h, "r", &err)) != NULL);
        while (i == 1 && pawl_handle_answer(a, NULL, "{\"failed\":\"nobody saw it\"}", &(pawl_err){0}) != PAWL_OK)
            again(&tries);      /* it is asked soon */
        CHECK_STR(rests(a), "idle");
        pawl_handle_free(a);
        pawl_host_free(h);
        CHECK_INT(noted("tool r1\n"), i == 0 ? 2 : 1);
        CHECK_INT(noted("tool b1\n"), 1);
        CHECK_INT(noted("model 1\n"), 1);
        stored_well(i == 0 ? talked : "user=work\nassistant=first\ntool r1=r1\ntool b1!=Error: nobody saw it\nassistant=so\n");
        path_gone();
    }
    path[0] = '\0';
}
