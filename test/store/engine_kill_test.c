/* engine_kill_test.c - a run of 200 programs that append to a file, killed at random and gone on with until it is done (E4, E5): what is
 * `once` stands there at most once, what is idempotent always with its one key, and the run ends as it would have. */
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "store/place.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 200, KILLS = 300, TRIES = 4000 };

static char lines[112];

/* ---- the run ----------------------------------------------------------------------------------- */

/* A superstep each: its program appends what it is, its number, and its key. */
static pawl_code appends(pawl_step *s, void *arg)
{
    int64_t n = pawl_get_int(s, "done");
    bool once = n % 2 == 0;
    const char *script = pawl_format(s, "echo %s %d \"$PAWL_INVOCATION_ID\" >> %s", once ? "once" : "keyed", (int)n, lines);
    pawl_code rc = pawl_call(s, once ? "once" : "keyed", pawl_pack(s, "{s:[s,s,s]}", "run", "sh", "-c", script), NULL);

    (void)arg;
    if (rc != PAWL_OK && rc != PAWL_EFFECT)     /* one that did not happen is left out */
        return rc;
    pawl_set_int(s, "done", n + 1);
    return pawl_goto(s, n + 1 < STEPS ? "append" : PAWL_END);
}

static pawl_machine *appender(void)
{
    pawl_graph *g = pawl_graph_new("appender", 1);

    pawl_graph_channel_with(g, &(pawl_channel){ .name = "done", .first = "0" });
    pawl_graph_effect(g, "once", &(pawl_limits){ .cls = PAWL_CLASS_ONCE, .on_unknown = "look" });
    pawl_graph_effect(g, "keyed", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT });
    pawl_graph_node(g, "append", appends, NULL);
    pawl_graph_edge(g, PAWL_START, "append");
    pawl_graph_goto(g, "append", "append", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

/* It stands there, or did not when somebody looked: it is not begun again, for the program may still be on its way. */
static pawl_code look(const pawl_job *job, pawl_reply *reply, void *arg)
{
    FILE *f = fopen(lines, "r");
    char line[512];
    bool found = false;

    (void)arg;
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
        found = strstr(line, job->id) != NULL;
    if (f != NULL)
        fclose(f);
    return pawl_reply_json(reply, found ? "{\"done\":true}" : "{\"failed\":\"it is not there\"}");
}

static pawl_engine *engine(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(appender(), pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err), &err);

    if (e == NULL)
        CHECK_FAIL("%s", err.text);
    CHECK_INT(pawl_engine_effect(e, "once", pawl_effect_command, NULL, PAWL_CLASS_ONCE, &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "keyed", pawl_effect_command, NULL, PAWL_CLASS_IDEMPOTENT, &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "look", look, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    return e;
}

/* True: it came to its end. */
static bool driven(unsigned *seed, int i)
{
    struct timespec t = { .tv_nsec = 0 };
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(pawl_run(engine(), "r", NULL, NULL) == PAWL_HALTED ? 0 : 1);
    *seed = *seed * 1103515245 + 12345;
    t.tv_nsec = (long)((uint64_t)(*seed >> 8) * (uint64_t)(i < KILLS ? 30000000 : 900000000) >> 24);
    nanosleep(&t, NULL);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    if (!WIFEXITED(status))
        return false;
    CHECK_INT(WEXITSTATUS(status), 0);
    return true;
}

/* ---- what stands there --------------------------------------------------------------------------- */

static int lines_check(void)
{
    static char keys[STEPS][160];
    int counts[STEPS] = { 0 }, more = 0, n;
    char kind[16], key[160];
    FILE *f = fopen(lines, "r");

    CHECK(f != NULL);
    while (fscanf(f, "%15s %d %159s", kind, &n, key) == 3) {
        CHECK(n >= 0 && n < STEPS);
        CHECK_STR(kind, n % 2 == 0 ? "once" : "keyed");
        if (counts[n]++ == 0)
            snprintf(keys[n], sizeof keys[n], "%s", key);
        CHECK_STR(key, keys[n]);
        if (n % 2 == 0 && counts[n] > 1)
            CHECK_FAIL("once %d happened %d times", n, counts[n]);
        more += counts[n] > 1;
    }
    fclose(f);
    for (n = 1; n < STEPS; n += 2)
        if (counts[n] == 0)
            CHECK_FAIL("keyed %d never happened", n);
    return more;
}

static void verified(pawl_engine *e)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = appender();
    pawl_bytes journal = pawl_store_journal(pawl_engine_store(e), "r", &err);
    union { const char *in; void *out; } bytes = { journal.data };
    pawl_verdict v;

    if (pawl_verify(m, journal, NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("entry %llu: %s", (unsigned long long)v.seq, err.text);
    CHECK_INT(pawl_engine_store(e)->verbs->check(pawl_engine_store(e), &err), PAWL_OK);
    free(bytes.out);
    pawl_machine_free(m);
}

PAWL_TEST(test_E4_E5_two_hundred_programs_survive_three_hundred_kills)
{
    unsigned seed = (unsigned)check_seed();
    int kills = 0, runs = 0, more = 0, wanted = check_run_all() ? 10 * KILLS : KILLS;

    while (kills < wanted) {
        pawl_engine *e;
        int i = 0;

        path_new("kill");
        snprintf(lines, sizeof lines, "%s.lines", path);
        while (i < TRIES && !driven(&seed, i))
            i++;
        CHECK(i < TRIES);
        kills += i;
        runs++;
        e = engine();
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_COMPLETED);
        CHECK_STR(pawl_run_get(e, "r", "done"), "200");
        verified(e);
        pawl_engine_free(e);
        more += lines_check();
        path_gone();
    }
    printf("%d kills in %d runs; %d programs were run once more; seed %u\n", kills, runs, more, (unsigned)check_seed());
}
