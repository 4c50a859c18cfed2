/* sim_broken_test.c - the test of the test: each fault that can be planted has to be found within 500 seeds.
 *
 * A process of its own looks for each fault: one that is found by an assertion ends that process alone, and one that goes on for ever
 * is ended by a limit on its time. */
#include "base/broken.h"
#include "lib/agent_trial.h"
#include "lib/check.h"
#include "lib/trials.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEEDS = 500, CPU_SECONDS = 120, LINE_MAX_BYTES = 600 };

int pawl_broken = BROKEN_NOTHING;

typedef pawl_code world_fn(uint64_t seed, pawl_sim_report *report, pawl_err *err);

static pawl_code agent_run(uint64_t seed, pawl_sim_report *report, pawl_err *err)
{
    return pawl_sim_agent(&trial_setup, seed, report, err);
}

/* A store that says more often than elsewhere that it failed when it did not, while rivals look for runs. */
static pawl_code unsure_run(uint64_t seed, pawl_sim_report *report, pawl_err *err)
{
    pawl_sim_setup setup = trial_at((unsigned)(seed % TRIALS))->setup;
    pawl_sim_trouble t = pawl_sim_trouble_default();

    t.unsure = t.rival = 100;
    t.refuse = 300;
    t.kill = t.fail = 0;
    setup.trouble = &t;
    return pawl_sim(&setup, seed, report, err);
}

static pawl_code run_with(broken_rule rule, world_fn *run, uint64_t seed, pawl_err *err)
{
    pawl_sim_report report;
    pawl_code rc;

    pawl_broken = (int)rule;
    rc = run(seed, &report, err);
    pawl_broken = BROKEN_NOTHING;
    pawl_sim_report_free(&report);
    return rc;
}

/* In the process that looks: the seed is written before it is run, so that it is known when an assertion ends the run. */
static void search(int to, broken_rule rule, world_fn *run)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pawl_err err = { PAWL_OK, "" };

        dprintf(to, "seed %llu: an assertion\n", (unsigned long long)seed);
        if (run_with(rule, run, seed, &err) == PAWL_OK)
            continue;
        dprintf(to, "%s\n", err.text);
        /* and it is the planted fault that was found, nothing else */
        err = (pawl_err){ PAWL_OK, "" };
        if (run_with(BROKEN_NOTHING, run, seed, &err) != PAWL_OK)
            dprintf(to, "and without the fault: %s\n", err.text);
        _exit(0);
    }
    dprintf(to, "not found in %d seeds\n", (int)SEEDS);
    _exit(0);
}

/* ---- one process for each ------------------------------------------------------------------------------ */

typedef struct searching { pid_t pid; int from; bool ended; int status; char line[LINE_MAX_BYTES]; } searching;

static searching all[BROKEN_RULES];
static bool ahead;              /* all tests are run: the others are looked for meanwhile */

static bool is_of_agents(broken_rule rule, const char **oracle)
{
    *oracle = rule == BROKEN_RESULT ? " A4: " : rule == BROKEN_CAP ? " A8: " : rule == BROKEN_GATE ? " P2: " : NULL;
    return *oracle != NULL;
}

static world_fn *world_of(broken_rule rule)
{
    const char *oracle;

    if (is_of_agents(rule, &oracle))
        return agent_run;
    if (rule == BROKEN_SIGNATURE)
        return trial_signed;
    return rule == BROKEN_BATCH_CLOSED ? trial_crowd : rule == BROKEN_LEASE_UNSURE ? unsure_run : trial_run;
}

static void search_begin(broken_rule rule)
{
    const struct rlimit limit = { CPU_SECONDS, CPU_SECONDS };
    searching *s = &all[rule];
    int ends[2];

    fflush(stdout);
    CHECK(pipe(ends) == 0);
    if ((s->pid = fork()) == 0) {
        close(ends[0]);
        setrlimit(RLIMIT_CPU, &limit);
        if (freopen("/dev/null", "w", stderr) != NULL)
            search(ends[1], rule, world_of(rule));
        _exit(1);
    }
    close(ends[1]);
    CHECK(s->pid > 0);
    s->from = ends[0];
}

/* The last line that the process wrote. */
static void search_end(broken_rule rule)
{
    searching *s = &all[rule];
    FILE *in = fdopen(s->from, "r");
    char next[LINE_MAX_BYTES];

    while (fgets(next, sizeof next, in) != NULL)
        memcpy(s->line, next, sizeof next);
    s->line[strcspn(s->line, "\n")] = '\0';
    fclose(in);
    CHECK(waitpid(s->pid, &s->status, 0) == s->pid);
    s->ended = true;
}

static const searching *searched(broken_rule rule)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int last = ahead && processors > 1 ? (int)rule + (int)processors - 1 : (int)rule;

    for (int i = (int)rule; i <= last && i < BROKEN_RULES; i++)
        if (all[i].pid == 0)
            search_begin((broken_rule)i);
    if (!all[rule].ended)
        search_end(rule);
    return &all[rule];
}

/* ---- found ---------------------------------------------------------------------------------------------- */

static void found(broken_rule rule, const char *name, const char *what)
{
    const searching *s = searched(rule);
    const char *oracle;

    printf("%s (%s): %.200s\n", name, what, s->line);
    if (WIFSIGNALED(s->status) && WTERMSIG(s->status) != SIGABRT)
        CHECK_FAIL("%s: signal %d ended it at %s", name, WTERMSIG(s->status), s->line);
    if (strncmp(s->line, "not found", 9) == 0 || strncmp(s->line, "and without", 11) == 0)
        CHECK_FAIL("%s: %s", name, s->line);
    if (is_of_agents(rule, &oracle) && strstr(s->line, oracle) == NULL)
        CHECK_FAIL("%s: it was to be found by%s and was by \"%s\"", name, oracle, s->line);
}

#define X(NAME, what) PAWL_TEST(test_##NAME##_is_found) { found(BROKEN_##NAME, #NAME, what); }
BROKEN_TABLE(X)
#undef X

int main(int argc, char **argv)
{
    ahead = argc == 1;
    return check_main(argc, argv);
}
