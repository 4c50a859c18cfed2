/* tool_shell_test.c - shells in the background: bash, bash_output, kill_shell (A10). */
#define _XOPEN_SOURCE 700
#include "effect/sandbox.h"
#include "effect/tool/bg_shell.h"
#include "effect/tooling.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

typedef struct shell_kit {
    kit k;
    pawl_end_fn *end;           /* of the run, as the engine keeps it; NULL: nothing was left running */
    void *end_ctx;
    int ends;                   /* how often it was kept */
    int calls;
    char call[64], id[64];      /* of the last call; of the shell that was started last */
} shell_kit;

static pawl_code outlive(const pawl_job *job, pawl_end_fn *end, void *ctx)
{
    shell_kit *s = job->ctx;

    s->end = end;
    s->end_ctx = ctx;
    s->ends++;
    return PAWL_OK;
}

static void shells_open(shell_kit *s, pawl_sandbox_need need)
{
    const pawl_sandbox walls = { .need = need };

    *s = (shell_kit){ .ends = 0 };
    kit_open(&s->k);
    CHECK_INT(pawl_tools_sandbox(s->k.set, &walls, NULL), PAWL_OK);
    s->k.h.job.outlive = outlive;
    s->k.h.job.ctx = s;
}

/* Each call is another command of the run. */
static pawl_code call(shell_kit *s, const char *name, const char *input)
{
    snprintf(s->call, sizeof s->call, "essay-1~9f3a/2.review.1.%d", s->calls++);
    s->k.h.job.id = s->call;
    return use(&s->k, name, input);
}

static void shell(shell_kit *s, const char *command)
{
    const char *at;
    char input[512];

    snprintf(input, sizeof input, "{\"command\":\"%s\",\"run_in_background\":true}", command);
    CHECK_INT(call(s, "bash", input), PAWL_OK);
    CHECK(!is_error(&s->k));
    CHECK((at = strstr(content(&s->k), "bash_")) != NULL);
    snprintf(s->id, sizeof s->id, "%.*s", (int)strcspn(at, "."), at);
}

static const char *output(shell_kit *s, const char *filter)
{
    char input[256];

    snprintf(input, sizeof input, filter != NULL ? "{\"bash_id\":\"%s\",\"filter\":\"%s\"}" : "{\"bash_id\":\"%s\"}", s->id, filter);
    CHECK_INT(call(s, "bash_output", input), PAWL_OK);
    return content(&s->k);
}

static void nap(void)
{
    const struct timespec ms = { .tv_nsec = 10000000 };

    nanosleep(&ms, NULL);
}

/* Reads until `text` has come. */
static void output_has(shell_kit *s, const char *text)
{
    for (int i = 0; i < 3000; i++) {
        if (strstr(output(s, NULL), text) != NULL)
            return;
        nap();
    }
    CHECK_FAIL("%s never came", text);
}

/* Whether the process whose number is in that file ends. */
static bool gone(const kit *k, const char *name)
{
    char *text = get(k, name);
    long pid = strtol(text, NULL, 10);

    free(text);
    if (pid <= 1)
        return false;
    for (int i = 0; i < 3000 && kill((pid_t)pid, 0) == 0; i++)
        nap();
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void file_comes(const kit *k, const char *name)
{
    char path[512];

    path_in(k, name, path);
    for (int i = 0; i < 3000 && access(path, F_OK) != 0; i++)
        nap();
    CHECK(access(path, F_OK) == 0);
}

static void goes_on(pawl_sandbox_need need)
{
    char want[200];
    shell_kit s;

    shells_open(&s, need);
    shell(&s, "echo one; until test -e go; do sleep 0.01; done; echo two >&2; exit 3");
    CHECK_INT(s.ends, 1);
    output_has(&s, "one\n");
    snprintf(want, sizeof want, "%s is running\n(no new output)\n", s.id);
    CHECK_STR(output(&s, NULL), want);
    GIVES(&s.k, "bash", "{\"command\":\"echo beside\"}", "beside\n");
    put(&s.k, "go", "");
    output_has(&s, "two\n");
    for (int i = 0; i < 3000 && strstr(output(&s, NULL), "running") != NULL; i++)
        nap();
    snprintf(want, sizeof want, "%s has ended with exit code 3\n(no new output)\n", s.id);
    CHECK_STR(output(&s, NULL), want);
    kit_close(&s.k);
    CHECK(no_children());
}

PAWL_TEST(test_A10_a_shell_goes_on_and_its_output_is_read_piece_by_piece)
{
    goes_on(PAWL_SANDBOX_OFF);
    if (sandbox_try(SANDBOX_WORKSPACE, NULL) == SANDBOX_WORKS)
        goes_on(PAWL_SANDBOX_REQUIRED);
}

PAWL_TEST(test_A10_a_filter_gives_the_lines_that_it_fits)
{
    char want[200];
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    shell(&s, "printf 'an error\\\\nfine\\\\nError 2\\\\nwithout end'; touch said; until test -e go; do sleep 0.01; done; echo error");
    file_comes(&s.k, "said");
    snprintf(want, sizeof want, "%s is running\nan error\nError 2\n", s.id);
    for (int i = 0; i < 3000 && strstr(output(&s, "[Ee]rror"), "Error 2") == NULL; i++)
        nap();
    CHECK(strstr(content(&s.k), "fine") == NULL && strstr(content(&s.k), "without") == NULL);
    put(&s.k, "go", "");        /* the line that was not complete is read when it is */
    for (int i = 0; i < 3000 && strstr(output(&s, "end"), "without enderror\n") == NULL; i++)
        nap();
    CHECK(strstr(content(&s.k), "without enderror\n") != NULL);
    REFUSES(&s.k, "bash_output", "{\"bash_id\":\"bash_1\",\"filter\":\"(\"}", content(&s.k));
    CHECK(strncmp(content(&s.k), "Invalid arguments: \"filter\": ", 29) == 0);
    kit_close(&s.k);
}

/* A crash may come between an answer and its receipt: then the same call is made again. */
PAWL_TEST(test_E15_a_repeated_call_reads_the_same_output)
{
    char want[400];
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    shell(&s, "echo one");
    for (int i = 0; i < 3000 && strstr(output(&s, NULL), "one\n") == NULL; i++)
        nap();
    CHECK(strstr(content(&s.k), "one\n") != NULL);
    snprintf(want, sizeof want, "{\"bash_id\":\"%s\"}", s.id);
    CHECK_INT(use(&s.k, "bash_output", want), PAWL_OK);     /* the id of the call is that of before */
    CHECK(strstr(content(&s.k), "one\n") != NULL);
    CHECK(strstr(output(&s, NULL), "(no new output)") != NULL);
    kit_close(&s.k);
}

PAWL_TEST(test_A10_a_shell_is_ended_with_all_that_it_started)
{
    char input[100], want[200];
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    shell(&s, "sleep 1000 & echo $! >pid; touch there; wait");
    file_comes(&s.k, "there");
    snprintf(input, sizeof input, "{\"shell_id\":\"%s\"}", s.id);
    snprintf(want, sizeof want, "%s was ended by kill_shell\n", s.id);
    CHECK_INT(call(&s, "kill_shell", input), PAWL_OK);
    CHECK_STR(content(&s.k), want);
    CHECK(gone(&s.k, "pid"));
    CHECK_INT(call(&s, "kill_shell", input), PAWL_OK);      /* again: the same */
    CHECK_STR(content(&s.k), want);
    CHECK(no_children());
    kit_close(&s.k);
}

PAWL_TEST(test_A10_a_shell_ends_with_its_run)
{
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    shell(&s, "sleep 1000 & echo $! >pid; touch there; wait");
    file_comes(&s.k, "there");
    s.end(s.end_ctx, PAWL_LEFT_OVER);
    CHECK(gone(&s.k, "pid"));
    CHECK(strncmp(output(&s, NULL), "There is no shell ", 18) == 0 && is_error(&s.k));
    shell(&s, "sleep 1000 & echo $! >pid2; touch there2; wait");     /* a new run of the name is another group */
    CHECK_INT(s.ends, 2);
    file_comes(&s.k, "there2");
    pawl_tools_free(s.k.set);   /* after the engine */
    s.k.set = NULL;
    CHECK(gone(&s.k, "pid2"));
    CHECK(no_children());
    kit_close(&s.k);
}

/* The shell of another run, of another process, or of nobody. */
PAWL_TEST(test_A10_what_is_no_shell_of_this_run_is_said)
{
    char want[500];
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    REFUSES(&s.k, "kill_shell", "{\"shell_id\":\"bash_1\"}", "There is no shell bash_1 here. One that an earlier process of pawl started has ended with that "
            "process, one of this process when another one took the run, and what it wrote and nobody read is lost. No shell of this run is running");
    shell(&s, "sleep 1000");
    snprintf(want, sizeof want, "There is no shell bash_1 here. One that an earlier process of pawl started has ended with that process, one of this "
             "process when another one took the run, and what it wrote and nobody read is lost. These are running: %s", s.id);
    REFUSES(&s.k, "bash_output", "{\"bash_id\":\"bash_1\"}", want);
    s.k.h.job.id = "essay-2~9f3a/2.review.1.0";
    snprintf(want, sizeof want, "{\"bash_id\":\"%s\"}", s.id);
    CHECK_INT(use(&s.k, "bash_output", want), PAWL_OK);
    CHECK(is_error(&s.k) && strstr(content(&s.k), "No shell of this run is running") != NULL);
    kit_close(&s.k);
}

PAWL_TEST(test_X2_output_that_nobody_reads_is_bounded_and_what_is_dropped_is_counted)
{
    const char *at;
    unsigned long long lost;
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    shell(&s, "head -c 3000000 /dev/zero | tr '\\\\0' x; echo end; touch there");
    file_comes(&s.k, "there");
    for (int i = 0; i < 3000; i++) {        /* the same call, until the last of it is there */
        char input[100];

        snprintf(input, sizeof input, "{\"bash_id\":\"%s\"}", s.id);
        CHECK_INT(use(&s.k, "bash_output", input), PAWL_OK);
        if (strstr(content(&s.k), "exit code 0") != NULL)
            break;
        nap();
    }
    CHECK((at = strchr(content(&s.k), '[')) != NULL);
    lost = strtoull(at + 1, NULL, 10);
    CHECK(strstr(at, " bytes were dropped here: ") != NULL && strstr(at, "xend\n") != NULL);
    CHECK(lost >= 3000004 - 2 * BG_KEPT_BYTES && lost <= 3000004 - BG_KEPT_BYTES);
    CHECK((at = said(&s.k.h, "/whole")) != NULL);
    CHECK_INT(strlen(strstr(at, "kept]\n") + 6), 3000004 - (long)lost);
    kit_close(&s.k);
}

PAWL_TEST(test_X2_shells_of_a_run_are_bounded)
{
    char input[100];
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    for (int i = 0; i < BG_SHELLS_MAX; i++)
        shell(&s, "sleep 1000");
    CHECK_INT(call(&s, "bash", "{\"command\":\"true\",\"run_in_background\":true}"), PAWL_OK);
    CHECK(is_error(&s.k) && strstr(content(&s.k), "(BG_SHELLS_MAX): end one with kill_shell") != NULL);
    snprintf(input, sizeof input, "{\"shell_id\":\"%s\"}", s.id);
    CHECK_INT(call(&s, "kill_shell", input), PAWL_OK);
    shell(&s, "sleep 1000");
    CHECK_INT(s.ends, 1);
    kit_close(&s.k);
    CHECK(no_children());
}

PAWL_TEST(test_A10_a_shell_has_no_limit_of_time_unless_it_is_given)
{
    char want[200];
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    CHECK_INT(call(&s, "bash", "{\"command\":\"sleep 1000\",\"run_in_background\":true,\"timeout\":50}"), PAWL_OK);
    snprintf(s.id, sizeof s.id, "%.13s", strstr(content(&s.k), "bash_"));
    for (int i = 0; i < 3000 && strstr(output(&s, NULL), "running") != NULL; i++)
        nap();
    snprintf(want, sizeof want, "%s was ended after 50 ms\n(no new output)\n", s.id);
    CHECK_STR(output(&s, NULL), want);
    kit_close(&s.k);
}

PAWL_TEST(test_A10_where_nothing_may_outlive_a_call_a_shell_is_refused)
{
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    s.k.h.job.outlive = NULL;
    CHECK_INT(call(&s, "bash", "{\"command\":\"touch ran\",\"run_in_background\":true}"), PAWL_OK);
    CHECK(is_error(&s.k) && strstr(content(&s.k), "cannot run in the background here") != NULL);
    HOLDS(&s.k, "ran", "(none)");
    GIVES(&s.k, "bash", "{\"command\":\"echo here\",\"run_in_background\":false}", "here\n");
    kit_close(&s.k);
}

/* In plan mode, and by a deny rule, as in the foreground. */
PAWL_TEST(test_P1_a_shell_in_plan_mode_only_reads)
{
    shell_kit s;

    if (sandbox_try(SANDBOX_READ_ONLY, NULL) != SANDBOX_WORKS)
        check_skip("no sandbox can be made here");
    shells_open(&s, PAWL_SANDBOX_OFF);
    s.k.h.job.mode = "plan";
    shell(&s, "echo x >ran; echo tried");
    output_has(&s, "tried\n");
    HOLDS(&s.k, "ran", "(none)");
    kit_close(&s.k);
}

PAWL_TEST(test_P1_a_shell_that_may_write_ends_when_the_mode_becomes_plan)
{
    const bool walls = sandbox_try(SANDBOX_READ_ONLY, NULL) == SANDBOX_WORKS;
    char reader[64] = "";
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    if (walls) {                /* as it was begun in plan mode, it may go on */
        s.k.h.job.mode = "plan";
        shell(&s, "sleep 1000");
        snprintf(reader, sizeof reader, "%s", s.id);
        s.k.h.job.mode = "acceptEdits";
    }
    shell(&s, "sleep 1000 & echo $! >pid; touch there; wait");
    file_comes(&s.k, "there");
    for (int i = 0; i < 2; i++)         /* it is told after each commit */
        s.end(s.end_ctx, PAWL_LEFT_PLAN);
    CHECK(gone(&s.k, "pid"));
    output_has(&s, "was ended: the mode became plan");
    shell(&s, "sleep 1000 & echo $! >pid2; touch there2; wait");        /* it began before the change, and is ended with the next commit */
    CHECK_INT(s.ends, 1);
    file_comes(&s.k, "there2");
    s.end(s.end_ctx, PAWL_LEFT_PLAN);
    CHECK(gone(&s.k, "pid2"));
    if (walls) {
        snprintf(s.id, sizeof s.id, "%s", reader);
        CHECK(strstr(output(&s, NULL), " is running\n") != NULL);
    }
    s.end(s.end_ctx, PAWL_LEFT_OVER);
    kit_close(&s.k);
    CHECK(no_children());
}

static bool there_is(const pawl_job *job)
{
    const shell_kit *s = job->ctx;
    char path[512];

    path_in(&s->k, "there", path);
    return access(path, F_OK) == 0;
}

/* The mode becomes plan while they run, which a file stands for here. */
PAWL_TEST(test_P1_a_command_that_may_write_ends_when_the_mode_becomes_plan)
{
    static const char *const run[] = { "/bin/sh", "-c", "echo $$ >pid2; touch there; exec sleep 1000", NULL };
    const pawl_tool writer = { .name = "make_it", .description = "makes it", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_EXEC };
    char path[512];
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    CHECK_INT(pawl_tool_command(s.k.set, &writer, run, NULL), PAWL_OK);
    s.k.h.job.planned = there_is;
    CHECK_INT(call(&s, "bash", "{\"command\":\"echo begun; sleep 1000 & echo $! >pid; touch there; wait\"}"), PAWL_OK);
    CHECK(is_error(&s.k) && strstr(content(&s.k), "was ended: the mode became plan, in which nothing is written; it had written:\nbegun\n") != NULL);
    CHECK(gone(&s.k, "pid"));
    CHECK_INT(call(&s, "make_it", "{}"), PAWL_DENIED);  /* it is plan mode by now: it does not begin */
    path_in(&s.k, "there", path);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(call(&s, "make_it", "{}"), PAWL_OK);
    CHECK(is_error(&s.k) && strstr(content(&s.k), "because the mode became plan") != NULL);
    CHECK(gone(&s.k, "pid2"));
    if (sandbox_try(SANDBOX_READ_ONLY, NULL) == SANDBOX_WORKS) {        /* what only reads goes on */
        CHECK_INT(call(&s, "bash", "{\"command\":\"sleep 0.3; cat there; echo read\"}"), PAWL_OK);
        CHECK(!is_error(&s.k) && strstr(content(&s.k), "read\n") != NULL);
    }
    kit_close(&s.k);
    CHECK(no_children());
}

PAWL_TEST(test_S2_a_shell_ends_when_another_process_took_the_run)
{
    shell_kit s;

    shells_open(&s, PAWL_SANDBOX_OFF);
    shell(&s, "sleep 1000 & echo $! >pid; touch there; wait");
    file_comes(&s.k, "there");
    s.end(s.end_ctx, PAWL_LEFT_LOST);
    CHECK(gone(&s.k, "pid"));
    CHECK(strstr(output(&s, NULL), "one of this process when another one took the run") != NULL && is_error(&s.k));
    kit_close(&s.k);
    CHECK(no_children());
}

PAWL_TEST(test_K5_an_earlier_set_has_no_shells)
{
    pawl_tools *t = pawl_tools_new(NULL, NULL);

    CHECK_INT(tools_add_set(t, 3, NULL), PAWL_OK);
    CHECK(pawl_tools_find(t, "bash_output") == NULL && pawl_tools_find(t, "kill_shell") == NULL);
    CHECK(strstr(pawl_tools_find(t, "bash")->schema, "run_in_background") == NULL);
    pawl_tools_free(t);
}
