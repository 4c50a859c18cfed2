/* log_test.c - what pawl log says of a run: to people, to programs, and to who follows it while another process drives. */
#include "cli/verbs.h"
#include "lib/check.h"
#include "pawl/pawl.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a run in a file ------------------------------------------------------------------------------------ */

typedef struct house { char folder[32], url[48]; pawl_err err; } house;

static pawl_code plans(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set(s, "facts", pawl_pack(s, "s", "none \x1b[2J"));
    pawl_set_string(s, "dir", "src");
    for (int64_t i = 0; i < 2; i++)
        pawl_send(s, "measure", pawl_pack(s, "i", i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code measures(pawl_step *s, void *arg)
{
    const pawl_value *got;
    pawl_code rc = pawl_call(s, "run-1a2b3c4d", pawl_pack(s, "{s:[s,s,v]}", "run", "wc", "-l", pawl_args(s)), &got);

    (void)arg;
    if (rc == PAWL_PENDING)
        return rc;
    if (rc == PAWL_OK)
        pawl_set(s, "facts", pawl_value_get(got, "stdout"));
    pawl_emit(s, "progress", pawl_pack(s, "i", pawl_value_int(pawl_args(s))));
    return pawl_follow(s);
}

static pawl_code measured(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)arg;
    if (pawl_value_int(pawl_value_find(job->args, "/run/2")) == 0)
        return pawl_reply_json(reply, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"12 a.c\"}");
    pawl_reply_detail(reply, "wc: b.c: no such file\nwc: that was all");
    return pawl_reply_fail(reply, PAWL_EFFECT, "wc: status 1");
}

static pawl_engine *engine_in(house *h)
{
    pawl_graph *g = pawl_graph_new("survey", 1);
    pawl_engine *e;

    pawl_graph_channel(g, "facts", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "dir", PAWL_RULE_LAST);
    pawl_graph_node(g, "list", plans, NULL);
    pawl_graph_node(g, "measure", measures, NULL);
    pawl_graph_node(g, "write", measures, NULL);
    pawl_graph_gate(g, "write", "Write it?");
    pawl_graph_chain(g, PAWL_START, "list", NULL);
    pawl_graph_goto(g, "list", "measure", PAWL_END, NULL);
    pawl_graph_chain(g, "measure", "write", PAWL_END, NULL);
    e = pawl_engine_new(pawl_graph_compile(g, &h->err), pawl_store_sqlite(h->url + strlen("sqlite:"), NULL, &h->err), &h->err);
    if (e == NULL || pawl_engine_effect(e, "run-1a2b3c4d", measured, NULL, PAWL_CLASS_AT_LEAST_ONCE, &h->err) != PAWL_OK)
        CHECK_FAIL("%s", h->err.text);
    return e;
}

static void house_begin(house *h)
{
    pawl_engine *e;

    *h = (house){ .folder = "/tmp/pawl-log-XXXXXX" };
    setenv("TZ", "UTC", 1);
    CHECK(mkdtemp(h->folder) != NULL);
    snprintf(h->url, sizeof h->url, "sqlite:%s/pawl.db", h->folder);
    e = engine_in(h);
    CHECK_INT(pawl_run(e, "survey-7k2m", "{\"dir\":\"here\"}", &h->err), PAWL_INTERRUPTED);
    pawl_engine_free(e);
}

static void house_goes_on(house *h)
{
    pawl_engine *e = engine_in(h);

    CHECK_INT(pawl_event_send(e, "survey-7k2m", &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "false", .by = "bob", .note = "not yet" }, &h->err),
              PAWL_HALTED);
    pawl_engine_free(e);
}

static void house_end(house *h)
{
    static const char *const files[] = { "pawl.db", "pawl.db-wal", "pawl.db-shm", "pawl.db-lock", "pawl.db.lock" };
    char path[64];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", h->folder, files[i]);
        unlink(path);
    }
    rmdir(h->folder);
}

/* ---- the verb ---------------------------------------------------------------------------------------------- */

static int logged(const house *h, const char *from, bool follow, bool json)
{
    const char *args[] = { "survey" }, *given[] = { from, follow ? "" : NULL, json ? "" : NULL };
    cli_call c = { .verb = &verb_log, .args = args, .nargs = 1, .given = given, .store_url = h->url, .json = json };
    int code;

    arena_init(&c.mem, NULL, 1024);
    code = verb_log.run(&c);
    fflush(stdout);
    arena_free(&c.mem);
    return code;
}

typedef struct taken { FILE *file; int was; } taken;

static void take(taken *t)
{
    fflush(stdout);
    t->file = tmpfile();
    CHECK(t->file != NULL);
    t->was = dup(1);
    dup2(fileno(t->file), 1);
}

/* Times are the clock's. */
static void give(taken *t, char *text, size_t size)
{
    size_t n;

    fflush(stdout);
    dup2(t->was, 1);
    close(t->was);
    rewind(t->file);
    n = fread(text, 1, size - 1, t->file);
    text[n] = '\0';
    fclose(t->file);
    for (char *at = text; *at != '\0'; at++)
        if (strspn(at, "0123456789") >= 2 && (at[2] == ':' || at[4] == '-') && strspn(at, "0123456789:-") >= 8)
            for (; strchr("0123456789:-", *at) != NULL && *at != '\0'; at++)
                *at = *at == ':' || *at == '-' ? *at : '0';
}

static const char begins[] =
    "        0000-00-00\n"
    "     1  00:00:00  start     dir <- here\n"
    "                  status    working\n"
    "     2  00:00:00  leave     list  facts <- none \\x1b[2J\n"
    "                            dir <- src\n"
    "     3  00:00:00  call      measure:0  run wc -l 0\n"
    "                  call      measure:1  run wc -l 1\n";

static void log_is(const house *h, const char *from, const char *expected)
{
    char text[8192];
    taken t;
    int code;

    take(&t);
    code = logged(h, from, false, false);
    give(&t, text, sizeof text);
    CHECK_STR(text, expected);
    CHECK_INT(code, EXIT_DONE);
}

PAWL_TEST(test_each_thing_that_happened_is_a_line)
{
    static const char asked[] =
        "                  receipt   measure:0  -> status 0\n"
        "                  emit      measure:0  progress 0\n"
        "                  leave     measure:0  facts <- 12 a.c\n"
        "                  receipt   measure:1  -> error: wc: status 1\n"
        "                              wc: b.c: no such file\n"
        "                              wc: that was all\n"
        "                  emit      measure:1  progress 1\n"
        "                  leave     measure:1\n"
        "                  ask       write  Write it?\n"
        "                  status    input-required\n";
    static const char ends[] =
        "     4  00:00:00  answer    write  false, by bob: not yet\n"
        "                  fail      write  node \"write\": Write it?: no\n"
        "                  end       node \"write\": Write it?: no\n"
        "                  status    rejected\n";
    char whole[sizeof begins + sizeof asked + sizeof ends + 64];
    house h;

    house_begin(&h);
    snprintf(whole, sizeof whole, "%s%s", begins, asked);
    log_is(&h, NULL, whole);
    house_goes_on(&h);
    snprintf(whole, sizeof whole, "%s%s%s", begins, asked, ends);
    log_is(&h, NULL, whole);
    snprintf(whole, sizeof whole, "        0000-00-00\n%s", ends);
    log_is(&h, "4", whole);
    house_end(&h);
}

PAWL_TEST(test_for_programs_it_is_what_a_stream_tells)
{
    char text[16384], *line;
    size_t lines = 0;
    house h;
    taken t;
    arena mem;

    house_begin(&h);
    take(&t);
    CHECK_INT(logged(&h, NULL, false, true), EXIT_DONE);
    give(&t, text, sizeof text);
    arena_init(&mem, NULL, 4096);
    for (line = text; *line != '\0'; line += strcspn(line, "\n") + 1, lines++) {
        const pawl_value *v = value_parse(&mem, line, strcspn(line, "\n"), "a line", &h.err);

        if (v == NULL)
            CHECK_FAIL("%s", h.err.text);
        CHECK_INT(pawl_value_size(v), 8);
        CHECK(pawl_value_get(v, "json") != NULL && pawl_value_get(v, "cursor") != NULL && pawl_value_get(v, "time") != NULL);
        if (lines == 0)
            CHECK_STR(pawl_value_string(pawl_value_get(v, "name")), "start");
    }
    CHECK(lines > 10);
    arena_free(&mem);
    house_end(&h);
}

PAWL_TEST(test_who_follows_sees_the_end_and_its_exit_code_whoever_drives)
{
    char text[8192];
    int status = 0;
    house h;
    taken t;
    pid_t child;

    house_begin(&h);
    take(&t);
    if ((child = fork()) == 0)
        _exit(logged(&h, "4", true, false));
    house_goes_on(&h);
    CHECK_INT(waitpid(child, &status, 0), child);
    give(&t, text, sizeof text);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), EXIT_FAILED);
    CHECK_STR(text, "        0000-00-00\n     4  00:00:00  answer    write  false, by bob: not yet\n"
                    "                  fail      write  node \"write\": Write it?: no\n"
        "                  end       node \"write\": Write it?: no\n                  status    rejected\n");
    house_end(&h);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
