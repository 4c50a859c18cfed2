/* tool_bash_test.c - bash, its sandbox, and tools that are programs. */
#define _XOPEN_SOURCE 700
#include "effect/sandbox.h"
#include "effect/tooling.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

/* Whether a sandbox is needed for its commands. */
static void kit_needs(kit *k, pawl_sandbox_need need)
{
    const pawl_sandbox s = { .need = need };
    pawl_err err = {0};

    CHECK_INT(pawl_tools_sandbox(k->set, &s, &err), PAWL_OK);
}

/* ---- what it gives ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_bash_gives_both_outputs_in_their_order)
{
    kit k;

    kit_open(&k);
    kit_needs(&k, PAWL_SANDBOX_OFF);
    GIVES(&k, "bash", "{\"command\":\"echo one; echo two >&2; echo three\",\"description\":\"say\"}", "one\ntwo\nthree\n");
    GIVES(&k, "bash", "{\"command\":\"true\"}", "(no output)");
    GIVES(&k, "bash", "{\"command\":\"cat\"}", "(no output)");
    GIVES(&k, "bash", "{\"command\":\"[[ x == x ]] && printf 'caf\\\\xe9\\\\0'\"}", "caf\xef\xbf\xbd\xef\xbf\xbd");
    REFUSES(&k, "bash", "{\"command\":\"echo no >&2; exit 3\"}", "exit code 3\nno\n");
    REFUSES(&k, "bash", "{\"command\":\"kill -9 $$\"}", "the command was ended by signal 9\n");
    REFUSES(&k, "bash", "{\"command\":\"\"}", "Invalid arguments: input: /command: characters: at least 1 are due, not 0");
    CHECK(said(&k.h, "/note") == NULL);
    k.work[strlen(k.work) - 1] = 'x';
    CHECK_INT(use(&k, "bash", "{\"command\":\"true\"}"), PAWL_OK);
    CHECK(is_error(&k) && strncmp(content(&k), "File not found: ", 16) == 0);
    k.work[strlen(k.work) - 1] = 'k';
    kit_close(&k);
}

PAWL_TEST(test_X2_long_output_keeps_its_beginning_and_its_end)
{
    const char *whole;
    kit k;

    kit_open(&k);
    kit_needs(&k, PAWL_SANDBOX_OFF);
    CHECK_INT(use(&k, "bash", "{\"command\":\"echo begin; for i in {1..9000}; do echo \xe2\x82\xac\xe2\x82\xac\xe2\x82\xac; done; echo end\"}"), PAWL_OK);
    CHECK(!is_error(&k) && pawl_value_bool(pawl_value_get(k.h.value, "cut")));
    CHECK(strncmp(content(&k), "begin\n\xe2\x82\xac", 9) == 0 && strstr(content(&k), "\xe2\x82\xac\nend\n\n[cut: ") != NULL);
    CHECK(strstr(content(&k), "\xef\xbf\xbd") == NULL && strlen(content(&k)) < PAWL_TOOL_OUTPUT_BYTES + 200);
    CHECK((whole = said(&k.h, "/whole")) != NULL && strlen(whole) == 9000 * 10 + 10);
    /* 10 MB: of these only half a MiB of either end is kept */
    CHECK_INT(use(&k, "bash", "{\"command\":\"echo begin; head -c 10000000 /dev/zero | tr '\\\\0' x; echo end\"}"), PAWL_OK);
    CHECK(!is_error(&k) && (whole = said(&k.h, "/whole")) != NULL && strlen(whole) <= WHOLE_BYTES_MAX);
    CHECK(strstr(whole, "bytes are left out here; only ") != NULL && strcmp(whole + strlen(whole) - 5, "xend\n") == 0);
    CHECK(strncmp(whole, "begin\n", 6) == 0 && strncmp(content(&k), "begin\nxxx", 9) == 0 && strstr(content(&k), "xend\n\n[cut: ") != NULL);
    /* its true size is told, and how much of it is missing */
    CHECK(strstr(content(&k), "\n[cut: 30000 of 10000010 bytes are shown]") != NULL);
    CHECK(strstr(content(&k), "\n[... 9970010 bytes are left out here ...]\n") != NULL);
    CHECK_INT(use(&k, "bash", "{\"command\":\"yes '\xe2\x82\xac\xe2\x82\xac' | tr -d '\\\\n' | head -c 2000001\"}"), PAWL_OK);
    CHECK((whole = said(&k.h, "/whole")) != NULL && strstr(whole, "\xef\xbf\xbd") == NULL);
    kit_close(&k);
}

/* A list of harmless variables reaches the shell, and what the person names; whatever else there is may be a password. */
PAWL_TEST(test_P13_the_environment_is_a_list_of_harmless_variables)
{
    static const char *const env[] = { "MONKEY", "MINE_*", NULL };
    const pawl_sandbox named = { .need = PAWL_SANDBOX_OFF, .env = env };
    pawl_err err = {0};
    kit k;

    kit_open(&k);
    kit_needs(&k, PAWL_SANDBOX_OFF);
    setenv("ANTHROPIC_API_KEY", "k1", 1);
    setenv("OTHER_TOKEN", "k2", 1);
    setenv("my_client_secret", "k3", 1);
    setenv("PAWL_STORE", "k4", 1);
    setenv("TOKEN", "k5", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "k6", 1);
    setenv("TOKENS_SEEN", "seen", 1);
    setenv("MONKEY", "seen", 1);
    setenv("PGPASSWORD", "k7", 1);
    setenv("DATABASE_URL", "k8", 1);
    setenv("GH_PAT", "k9", 1);
    setenv("MINE_A", "seen", 1);
    setenv("JAVA_HOME", "seen", 1);
    GIVES(&k, "bash", "{\"command\":\"env | grep -E '=k[1-9]$|=seen$' | sort\"}", "JAVA_HOME=seen\n");
    CHECK_INT(pawl_tools_sandbox(k.set, &named, &err), PAWL_OK);
    GIVES(&k, "bash", "{\"command\":\"env | grep -E '=k[1-9]$|=seen$' | sort\"}", "JAVA_HOME=seen\nMINE_A=seen\nMONKEY=seen\n");
    kit_close(&k);
}

/* ---- stopped ---------------------------------------------------------------------------------------------------- */

static void nap(void)
{
    const struct timespec ms = { .tv_nsec = 10000000 };

    nanosleep(&ms, NULL);
}

static bool gone(const kit *k, const char *name)
{
    char *text = get(k, name);
    long pid = strtol(text, NULL, 10);

    free(text);
    if (pid <= 1)
        return false;
    for (int i = 0; i < 1000 && kill((pid_t)pid, 0) == 0; i++)     /* whoever reaps it may need a moment */
        nap();
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

PAWL_TEST(test_A5_the_time_of_a_command_is_told_to_the_model)
{
    kit k;

    kit_open(&k);
    kit_needs(&k, PAWL_SANDBOX_OFF);
    REFUSES(&k, "bash", "{\"command\":\"echo begun; sleep 100 & echo $! >pid; wait\",\"timeout_ms\":300}",
            "Tool execution timed out: the command was ended after 300 ms; it had written:\nbegun\n");
    CHECK(gone(&k, "pid"));
    CHECK(no_children());
    REFUSES(&k, "bash", "{\"command\":\"sleep 100\",\"timeout_ms\":600001}", "Invalid arguments: input: /timeout_ms: at most 600000 is due, not 600001");
    kit_close(&k);
}

PAWL_TEST(test_A5_what_a_command_leaves_running_is_ended)
{
    kit k;

    kit_open(&k);
    kit_needs(&k, PAWL_SANDBOX_OFF);
    GIVES(&k, "bash", "{\"command\":\"sleep 100 >/dev/null 2>&1 & echo $! >pid; echo left\"}", "left\n");
    CHECK(gone(&k, "pid"));
    kit_close(&k);
}

typedef struct stopper { kit *k; atomic_bool stop; } stopper;

static bool stopped(const pawl_job *job)
{
    stopper *s = job->ctx;

    return atomic_load(&s->stop);
}

static void *stop_soon(void *arg)
{
    stopper *s = arg;
    char path[512];

    path_in(s->k, "pid", path);
    for (int i = 0; i < 1000 && access(path, F_OK) != 0; i++)
        nap();
    atomic_store(&s->stop, true);
    return NULL;
}

static void cancel_one(pawl_sandbox_need need)
{
    stopper s = { .stop = false };
    pthread_t thread;
    kit k;

    kit_open(&k);
    kit_needs(&k, need);
    s.k = &k;
    k.h.job.canceled = stopped;
    k.h.job.ctx = &s;
    CHECK_INT(pthread_create(&thread, NULL, stop_soon, &s), 0);
    CHECK_INT(use(&k, "bash", "{\"command\":\"sleep 100 & echo $! >pid.new; mv pid.new pid; wait\"}"), PAWL_CANCELED);
    pthread_join(thread, NULL);
    if (need == PAWL_SANDBOX_OFF)
        CHECK(gone(&k, "pid"));
    CHECK(no_children());
    kit_close(&k);
}

PAWL_TEST(test_E10_a_cancel_ends_the_command_and_its_children)
{
    cancel_one(PAWL_SANDBOX_OFF);
    if (sandbox_try(SANDBOX_WORKSPACE, NULL) == SANDBOX_WORKS)
        cancel_one(PAWL_SANDBOX_REQUIRED);
}

/* ---- the sandbox --------------------------------------------------------------------------------------------------- */

static void needs(sandbox_kind kind)
{
    if (sandbox_try(kind, NULL) != SANDBOX_WORKS)
        check_skip("no sandbox can be made here");
}

PAWL_TEST(test_A5_in_its_sandbox_a_command_writes_to_the_workspace_alone)
{
    char text[600], more[200];
    kit k;

    needs(SANDBOX_WORKSPACE);
    kit_open(&k);
    folder_in(&k, ".pawl");
    put(&k, ".pawl/settings.json", "{}");
    folder_in(&k, "../other");
    GIVES(&k, "bash", "{\"command\":\"echo in >a && cat a && pwd | sed s,.*/,,\"}", "in\nwork\n");
    HOLDS(&k, "a", "in\n");
    CHECK(said(&k.h, "/note") == NULL);
    snprintf(text, sizeof text, "{\"command\":\"echo out >%s/other/a\"}", k.top);
    CHECK_INT(use(&k, "bash", text), PAWL_OK);
    CHECK(is_error(&k) && names_in(&k, "../other") == 0);
    CHECK_INT(use(&k, "bash", "{\"command\":\"echo x >/etc/pawl-out || echo x >/pawl-out || echo x >/usr/pawl-out\"}"), PAWL_OK);
    CHECK(is_error(&k) && access("/etc/pawl-out", F_OK) != 0);
    CHECK_INT(use(&k, "bash", "{\"command\":\"echo x >.pawl/settings.json\"}"), PAWL_OK);
    CHECK(is_error(&k));
    HOLDS(&k, ".pawl/settings.json", "{}");
    GIVES(&k, "bash", "{\"command\":\"for i in /tmp /var/tmp ~; do echo x >$i/pawl-own && cat $i/pawl-own; done\"}", "x\nx\nx\n");
    snprintf(text, sizeof text, "%.500s/pawl-own", getenv("HOME"));
    CHECK(access("/tmp/pawl-own", F_OK) != 0 && access("/var/tmp/pawl-own", F_OK) != 0 && access(text, F_OK) != 0);
    snprintf(more, sizeof more, ",\"directories\":[\"%s/other\",\"%s/none\"]", k.top, k.top);
    k.more = more;
    snprintf(text, sizeof text, "{\"command\":\"echo out >%s/other/a\"}", k.top);
    GIVES(&k, "bash", text, "(no output)");
    HOLDS(&k, "../other/a", "out\n");
    snprintf(more, sizeof more, ",\"directories\":[\"%s/other\"],\"read_only\":[\"%s/other\"]", k.top, k.top);
    CHECK_INT(use(&k, "bash", text), PAWL_OK);
    CHECK(is_error(&k));
    snprintf(text, sizeof text, "{\"command\":\"cat %s/other/a && echo in >b\"}", k.top);
    GIVES(&k, "bash", text, "out\n");
    HOLDS(&k, "b", "in\n");
    kit_close(&k);
}

/* Whichever of the folders lies in which: what is Pawl's own is not written to, and what may only be read neither. */
PAWL_TEST(test_X3_folders_inside_each_other_in_the_sandbox)
{
    static const char *const orders[] = { ",\"directories\":[\"%s\",\"%s/work/kept\"],\"read_only\":[\"%s/work/kept\"]",
                                          ",\"directories\":[\"%s/work/kept\",\"%s\"],\"read_only\":[\"%s/work/kept\"]",
                                          ",\"directories\":[\"%s/work/kept\",\"%s\",\"%s/work/.pawl\"],\"read_only\":[\"%s/work/kept\"]" };
    char more[600];
    kit k;

    needs(SANDBOX_WORKSPACE);
    kit_open(&k);
    folder_in(&k, ".pawl");
    put(&k, ".pawl/settings.json", "{}");
    folder_in(&k, "kept");
    put(&k, "kept/a", "one\n");
    folder_in(&k, "../other");
    k.more = more;
    for (size_t i = 0; i < 3; i++) {
        snprintf(more, sizeof more, orders[i], k.top, k.top, k.top, k.top);
        CHECK_INT(use(&k, "bash", "{\"command\":\"echo x >.pawl/settings.json\"}"), PAWL_OK);
        CHECK(is_error(&k));
        HOLDS(&k, ".pawl/settings.json", "{}");
        CHECK_INT(use(&k, "bash", "{\"command\":\"echo x >kept/a\"}"), PAWL_OK);
        CHECK(is_error(&k));
        HOLDS(&k, "kept/a", "one\n");
        GIVES(&k, "bash", "{\"command\":\"cat kept/a && echo two >../other/b && echo three >c\"}", "one\n");
        HOLDS(&k, "../other/b", "two\n");
        HOLDS(&k, "c", "three\n");
    }
    kit_close(&k);
}

PAWL_TEST(test_P1_in_plan_mode_a_command_only_reads)
{
    int before;
    kit k;

    needs(SANDBOX_READ_ONLY);
    kit_open(&k);
    put(&k, "a", "one\n");
    k.h.job.mode = "plan";
    for (int i = 0; i < 2; i++) {
        kit_needs(&k, i == 0 ? PAWL_SANDBOX_REQUIRED : PAWL_SANDBOX_OFF);       /* off is no way out of plan mode */
        before = names_in(&k, ".");
        GIVES(&k, "bash", "{\"command\":\"cat a\"}", "one\n");
        CHECK_INT(use(&k, "bash", "{\"command\":\"echo x >b || echo x >>a || rm a || echo x >/etc/pawl-plan\"}"), PAWL_OK);
        CHECK(is_error(&k) && names_in(&k, ".") == before && access("/etc/pawl-plan", F_OK) != 0);
        HOLDS(&k, "a", "one\n");
        CHECK_INT(use(&k, "bash", "{\"command\":\"exec 3<>/dev/tcp/127.0.0.1/9\"}"), PAWL_OK);
        CHECK(is_error(&k));
    }
    kit_close(&k);
}

/* What is called a reader is one, even if the call was wrong about it: here a file is named like an option, or git's configuration runs a program. */
PAWL_TEST(test_P7_what_only_reads_can_only_read)
{
    kit k;

    needs(SANDBOX_READ_ONLY);
    kit_open(&k);
    put(&k, "a", "one\n");
    for (int i = 0; i < 3; i++) {
        kit_needs(&k, (pawl_sandbox_need)i);
        GIVES(&k, "bash", "{\"command\":\"cat a; test -w a && echo writable || echo read-only\"}", "one\nread-only\n");
    }
    GIVES(&k, "bash", "{\"command\":\"cat a; test -w a && echo writable || echo read-only; :\"}", "one\nwritable\n");    /* : is not in the table */
    kit_needs(&k, PAWL_SANDBOX_REQUIRED);
    GIVES(&k, "bash", "{\"command\":\"git init -q . && git add a && git config core.fsmonitor ./x && printf '#!/bin/sh\\ntouch ran\\n' >x && chmod +x x\"}",
          "(no output)");
    CHECK_INT(use(&k, "bash", "{\"command\":\"git status --short\"}"), PAWL_OK);
    CHECK(strstr(content(&k), "a") != NULL);
    HOLDS(&k, "ran", "(none)");
    kit_close(&k);
}

#define ANY "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]}"

static void command_add(kit *k, const char *name, pawl_permission cls, const char *script)
{
    const char *const run[] = { "sh", "-c", script, "sh", "{{.input.a}}", NULL };
    pawl_tool tool = { .name = name, .schema = ANY, .cls = cls, .output_bytes = 1000 };
    pawl_err err = {0};

    CHECK_INT(pawl_tool_command(k->set, &tool, run, &err), PAWL_OK);
}

/* Here there is no bwrap. */
static void without(void)
{
    kit k;

    kit_open(&k);
    CHECK_INT(sandbox_try(SANDBOX_WORKSPACE, NULL), SANDBOX_MISSING);
    CHECK_INT(use(&k, "bash", "{\"command\":\"echo x >a\"}"), PAWL_DENIED);
    CHECK_STR(reply_why(&k.h.reply), "do: its commands run in a sandbox, and bwrap is not here: install bubblewrap, or let commands run without one "
              "(PAWL_SANDBOX=preferred)");
    CHECK_INT(names_in(&k, "."), 0);
    kit_needs(&k, PAWL_SANDBOX_PREFERRED);
    GIVES(&k, "bash", "{\"command\":\"echo out\"}", "out\n");
    CHECK_STR(said(&k.h, "/note"), "it ran without a sandbox: bwrap is not here; install bubblewrap");
    kit_needs(&k, PAWL_SANDBOX_OFF);
    GIVES(&k, "bash", "{\"command\":\"echo out\"}", "out\n");
    CHECK(said(&k.h, "/note") == NULL);
    k.h.job.mode = "plan";
    CHECK_INT(use(&k, "bash", "{\"command\":\"echo x >a\"}"), PAWL_DENIED);
    CHECK_STR(reply_why(&k.h.reply), "in plan mode a command runs in a sandbox that can only read, and bwrap is not here: install bubblewrap");
    command_add(&k, "looks", PAWL_PERMISSION_READ, "echo x >made");
    CHECK_INT(use(&k, "looks", "{\"a\":1}"), PAWL_DENIED);
    CHECK_INT(names_in(&k, "."), 0);
    kit_close(&k);
}

/* This program once more, where bwrap is put out of sight, by itself. */
PAWL_TEST(test_P13_without_a_sandbox_no_command_runs_unless_that_was_allowed)
{
    static const char *const places[] = { "/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap" };
    char command[6000], self[2000], real[2][4096] = { "", "" };
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (getenv("PAWL_TEST_WITHOUT") != NULL) {
        without();
        return;
    }
    needs(SANDBOX_WORKSPACE);
    CHECK(n > 0);
    self[n] = '\0';
    snprintf(command, sizeof command, "bwrap --dev-bind / /");
    for (size_t i = 0; i < 3; i++)
        if (realpath(places[i], real[0]) != NULL && strcmp(real[0], real[1]) != 0) {
            snprintf(command + strlen(command), sizeof command - strlen(command), " --ro-bind /dev/null %.500s", real[0]);
            memcpy(real[1], real[0], sizeof real[0]);
        }
    snprintf(command + strlen(command), sizeof command - strlen(command), " --setenv PAWL_TEST_WITHOUT yes '%s' test_P13_without >/dev/null", self);
    CHECK_INT(system(command), 0);
}

/* ---- its walls ---------------------------------------------------------------------------------------------------------- */

typedef struct walls_found { unsigned held; buf open; } walls_found;

static void wall_found(void *ctx, const char *name, bool held)
{
    walls_found *f = ctx;

    f->held += held;
    if (!held)
        buf_fmt(&f->open, "%s ", name);
}

/* Root is not held by a limit of its processes, unless a control group could be made. */
PAWL_TEST(test_P13_each_wall_of_the_sandbox_holds)
{
    const pawl_sandbox usual = { .need = PAWL_SANDBOX_REQUIRED };
    walls_found f = { .held = 0 };
    pawl_err err = {0};

    needs(SANDBOX_WORKSPACE);
    buf_init(&f.open, NULL);
    CHECK_INT(sandbox_walls(&usual, wall_found, &f, &err), PAWL_OK);
    buf_char(&f.open, '\0');
    if (getuid() != 0 || f.open.size > 1)
        CHECK_STR(f.open.data, getuid() == 0 ? "processes " : "");
    CHECK_INT(f.held, f.open.size > 1 ? 15 : 16);
    buf_free(&f.open);
}

/* A server of this machine and a file of the home are there for the person, and not for a command of the model. */
/* Whatever program opens them, by whatever name. */
PAWL_TEST(test_P8_a_command_finds_empty_what_is_denied_to_read_and_cannot_edit_what_is_denied_to_edit)
{
    pawl_err err = {0};
    pawl_policy *p;
    buf b;
    kit k;

    needs(SANDBOX_WORKSPACE);
    kit_open(&k);
    buf_init(&b, NULL);
    buf_fmt(&b, "{\"cwd\":\"%s\",\"deny\":[\"Read(.env)\",\"Read(secrets/**)\",\"Edit(src/**)\",\"Edit(./kept)\"]}", k.work);
    CHECK((p = pawl_policy_read(NULL, b.data, b.size, &err)) != NULL);
    k.h.job.policy = p;
    folder_in(&k, "sub");
    folder_in(&k, "secrets");
    folder_in(&k, "src");
    put(&k, "sub/.env", "canary\n");
    put(&k, "secrets/a", "canary\n");
    put(&k, "src/a", "old\n");
    put(&k, "src/.env", "canary\n");
    put(&k, "kept", "old\n");
    put(&k, "fine", "canary\n");
    CHECK_INT(use(&k, "bash", "{\"command\":\"x=s k=kept; grep -r canary .; cat ${x}ub/.e*; ls ${x}ecrets; mv ${x}ub t; echo new >${x}rc/a; "
                              "echo new >${x}rc/b; rm -f ${x}rc/a $k; echo new >$k; mv ${x}rc u; echo more >>fine\"}"), PAWL_OK);
    CHECK(strstr(content(&k), "./fine:canary\n") != NULL && strstr(content(&k), ".env:canary") == NULL && strstr(content(&k), "secrets/a:") == NULL);
    HOLDS(&k, "src/a", "old\n");
    HOLDS(&k, "kept", "old\n");
    HOLDS(&k, "sub/.env", "canary\n");
    HOLDS(&k, "fine", "canary\nmore\n");
    CHECK_INT(names_in(&k, "src"), 2);
    k.h.job.mode = "plan";
    CHECK_INT(use(&k, "bash", "{\"command\":\"x=.; grep -r canary $x\"}"), PAWL_OK);
    CHECK(strstr(content(&k), "fine:canary") != NULL && strstr(content(&k), ".env:canary") == NULL);
    buf_free(&b);
    pawl_policy_free(p);
    kit_close(&k);
}

PAWL_TEST(test_P8_a_home_that_is_the_workspace_keeps_what_starts_programs)
{
    const char *home = getenv("HOME");
    kit k;

    needs(SANDBOX_WORKSPACE);
    kit_open(&k);
    CHECK_INT(setenv("HOME", k.work, 1), 0);
    folder_in(&k, ".claude");
    folder_in(&k, ".ssh");
    folder_in(&k, "dotfiles");
    put(&k, ".claude/settings.json", "old\n");
    put(&k, ".bashrc", "old\n");
    put(&k, "dotfiles/zshrc", "old\n");
    link_in(&k, "dotfiles/zshrc", ".zshrc");
    CHECK_INT(use(&k, "bash", "{\"command\":\"echo new >.bashrc; rm -f .bashrc; mv .bashrc b; echo new >.claude/settings.json; echo new >.ssh/config; "
                              "echo new >.zshrc; rm -rf .claude .ssh; echo new >fine\"}"), PAWL_OK);
    HOLDS(&k, ".bashrc", "old\n");
    HOLDS(&k, ".claude/settings.json", "old\n");
    HOLDS(&k, "dotfiles/zshrc", "old\n");
    HOLDS(&k, "fine", "new\n");
    CHECK_INT(names_in(&k, ".ssh"), 0);
    CHECK_INT(home != NULL ? setenv("HOME", home, 1) : unsetenv("HOME"), 0);
    kit_close(&k);
}

PAWL_TEST(test_P13_a_command_sees_neither_the_home_nor_the_network)
{
    char home[] = "/tmp/pawl-home-XXXXXX", path[200], text[600];
    const char *const paths[] = { path, NULL };
    const pawl_sandbox listed = { .need = PAWL_SANDBOX_REQUIRED, .read = paths };
    pawl_err err = {0};
    FILE *f;
    kit k;

    needs(SANDBOX_WORKSPACE);
    CHECK(mkdtemp(home) != NULL);
    setenv("HOME", home, 1);
    snprintf(path, sizeof path, "%s/canary", home);
    CHECK((f = fopen(path, "w")) != NULL && fputs("secret\n", f) >= 0 && fclose(f) == 0);
    kit_open(&k);
    snprintf(text, sizeof text, "{\"command\":\"cat %s; ls -A ~\"}", path);
    CHECK_INT(use(&k, "bash", text), PAWL_OK);
    CHECK(strstr(content(&k), "secret") == NULL && strstr(content(&k), "canary: No such file") != NULL);
    CHECK_INT(use(&k, "bash", "{\"command\":\"exec 3<>/dev/tcp/127.0.0.1/22\"}"), PAWL_OK);
    CHECK(is_error(&k));
    GIVES(&k, "bash", "{\"command\":\"ls /sys/class/net 2>/dev/null; cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '\"}", "lo\n");
    CHECK_INT(pawl_tools_sandbox(k.set, &listed, &err), PAWL_OK);
    GIVES(&k, "bash", text, "secret\ncanary\n");
    kit_close(&k);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(rmdir(home), 0);
}

PAWL_TEST(test_P13_a_command_has_limits)
{
    const pawl_sandbox small = { .file_bytes = 100000, .files = 20, .memory_bytes = 64 << 20, .scratch_bytes = 1 << 20 };
    pawl_err err = {0};
    kit k;

    needs(SANDBOX_WORKSPACE);
    kit_open(&k);
    CHECK_INT(pawl_tools_sandbox(k.set, &small, &err), PAWL_OK);
    CHECK_INT(use(&k, "bash", "{\"command\":\"head -c 200000 /dev/zero >big; wc -c <big\"}"), PAWL_OK);
    CHECK(strstr(content(&k), "100000\n") != NULL);
    GIVES(&k, "bash", "{\"command\":\"ulimit -Hn; ulimit -Hc; ulimit -Hd\"}", "20\n0\n65536\n");
    CHECK_INT(use(&k, "bash", "{\"command\":\"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do head -c 100000 /dev/zero >/tmp/$i || exit 9; done\"}"), PAWL_OK);
    CHECK(is_error(&k) && strncmp(content(&k), "exit code 9\n", 12) == 0);
    CHECK_INT(use(&k, "bash", "{\"command\":\"x=$(head -c 100000000 /dev/zero | tr '\\\\0' x); echo ${#x}\"}"), PAWL_OK);
    CHECK(strstr(content(&k), "100000000") == NULL);
    kit_close(&k);
}

/* ---- tools that are programs ------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_a_program_gets_its_input_on_stdin)
{
    const pawl_tool tool = { .name = "x", .schema = ANY, .cls = PAWL_PERMISSION_READ };
    const char *const none[] = { NULL };
    pawl_err err = {0};
    kit k;

    kit_open(&k);
    command_add(&k, "echo", PAWL_PERMISSION_READ, "cat; echo; echo \"$1 ${PAWL_TOOL_INPUT-none}\"; pwd | sed s,.*/,,");
    command_add(&k, "bad", PAWL_PERMISSION_READ, "echo out; echo one >&2; echo two >&2; exit 4");
    command_add(&k, "long", PAWL_PERMISSION_READ, "head -c 5000 /dev/zero | tr '\\0' x");
    command_add(&k, "bytes", PAWL_PERMISSION_READ, "printf '\\377'");
    GIVES(&k, "echo", "{\"b\":\"x\",\"a\":1}", "{\"a\":1,\"b\":\"x\"}\n{{.input.a}} none\nwork\n");
    REFUSES(&k, "echo", "{\"a\":\"1\"}", "Invalid arguments: input: /a: an integer is due, not a string");
    REFUSES(&k, "bad", "{\"a\":1}", "exit code 4\none\ntwo\n");
    REFUSES(&k, "bytes", "{\"a\":1}", "Invalid response: the output of bytes is no text");
    CHECK_INT(use(&k, "long", "{\"a\":1}"), PAWL_OK);
    CHECK(pawl_value_bool(pawl_value_get(k.h.value, "cut")) && strlen(said(&k.h, "/whole")) == 5000 && strlen(content(&k)) < 1100);
    CHECK_INT(pawl_tool_command(k.set, &tool, none, &err), PAWL_INVALID);
    CHECK_STR(err.text, "tool x: its command is not 1 to 256 words, a program first");
    kit_close(&k);
}

/* Named, a key comes with all that is no key; nobody is told of the others, and what they hold. */
PAWL_TEST(test_A5_a_program_gets_the_keys_that_are_named)
{
    static const char *const run[] = { "sh", "-c", "env | grep -E '=k[1-6]$|=seen$' | sort", NULL }, *const env[] = { "NEAR_API_KEY", "PAWL_SECRET_B", NULL };
    pawl_tool tool = { .name = "none", .schema = ANY, .cls = PAWL_PERMISSION_READ };
    pawl_err err = {0};
    kit k;

    kit_open(&k);
    setenv("ANTHROPIC_API_KEY", "k1", 1);
    setenv("NEAR_API_KEY", "k2", 1);
    setenv("near_api_key", "k3", 1);
    setenv("API_KEY", "k4", 1);
    setenv("PAWL_SECRET_A", "k5", 1);
    setenv("PAWL_SECRET_B", "k6", 1);
    unsetenv("OTHER_TOKEN");
    unsetenv("my_client_secret");
    unsetenv("PAWL_STORE");
    unsetenv("TOKEN");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    setenv("TOKENS_SEEN", "seen", 1);
    setenv("MYAPI_KEYS", "seen", 1);
    unsetenv("MONKEY");
    unsetenv("MINE_A");
    unsetenv("JAVA_HOME");
    CHECK_INT(pawl_tool_command(k.set, &tool, run, &err), PAWL_OK);
    tool.name = "some";
    tool.env = env;
    CHECK_INT(pawl_tool_command(k.set, &tool, run, &err), PAWL_OK);
    GIVES(&k, "none", "{\"a\":1}", "MYAPI_KEYS=seen\nTOKENS_SEEN=seen\n");
    GIVES(&k, "some", "{\"a\":1}", "MYAPI_KEYS=seen\nNEAR_API_KEY=k2\nPAWL_SECRET_B=k6\nTOKENS_SEEN=seen\n");
    kit_close(&k);
}

PAWL_TEST(test_P1_programs_in_plan_mode)
{
    kit k;

    kit_open(&k);
    command_add(&k, "looks", PAWL_PERMISSION_READ, "echo x >made; echo looked");
    command_add(&k, "writes", PAWL_PERMISSION_EXEC, "echo x >made");
    k.h.job.mode = "plan";
    CHECK_INT(use(&k, "writes", "{\"a\":1}"), PAWL_DENIED);
    CHECK_STR(reply_why(&k.h.reply), "writes requires Default mode; current mode is Plan.");
    if (sandbox_try(SANDBOX_READ_ONLY, NULL) == SANDBOX_WORKS)
        GIVES(&k, "looks", "{\"a\":1}", "looked\n");
    else
        CHECK_INT(use(&k, "looks", "{\"a\":1}"), PAWL_DENIED);
    CHECK_INT(names_in(&k, "."), 0);
    kit_close(&k);
}

/* ---- what it writes, as it comes -------------------------------------------------------------------------------------- */

typedef struct progress_heard { char text[1 << 20]; size_t size; unsigned times, torn; bool waits; char *flag; } progress_heard;

/* On the handler's thread: nothing is checked here. The first that comes lets the command go on. */
static pawl_code progress_say(const pawl_job *job, const char *name, const char *text)
{
    progress_heard *h = job->ctx;
    const char *out;
    arena mem;
    size_t n;

    if (strcmp(name, "tool_progress") != 0)
        return PAWL_OK;
    arena_init(&mem, NULL, 1024);
    const pawl_value *v = value_parse(&mem, text, strlen(text), "progress", NULL);
    out = pawl_value_string(pawl_value_get(v, "output"));
    n = out != NULL ? strlen(out) : 0;
    h->torn += out == NULL || pawl_value_string(pawl_value_get(v, "tool_use_id")) == NULL;
    if (h->size + n < sizeof h->text)
        memcpy(h->text + h->size, out != NULL ? out : "", n), h->size += n;
    if (h->times++ == 0 && h->flag != NULL) {
        FILE *f = fopen(h->flag, "w");

        h->torn += f == NULL || fclose(f) != 0;
    }
    arena_free(&mem);
    return PAWL_OK;
}

/* The command waits for what is made when its first words were heard: so they are heard while it runs. */
PAWL_TEST(test_A7_what_a_command_writes_is_told_as_it_comes)
{
    static progress_heard h;
    char flag[512];
    kit k;

    kit_open(&k);
    kit_needs(&k, PAWL_SANDBOX_OFF);
    h = (progress_heard){ .flag = flag };
    path_in(&k, "heard", flag);
    k.h.job.say = progress_say;
    k.h.job.ctx = &h;
    GIVES(&k, "bash", "{\"command\":\"echo one; until test -e heard; do sleep 0.01; done; echo two >&2\"}", "one\ntwo\n");
    CHECK_STR(h.text, "one\ntwo\n");
    CHECK(h.times >= 2);
    h = (progress_heard){ .flag = NULL };
    unlink(flag);
    GIVES(&k, "bash", "{\"command\":\"printf 'caf\\\\xc3'; sleep 0.2; printf '\\\\xa9!\\\\xff'\"}", "caf\u00e9!\xef\xbf\xbd");
    CHECK(strncmp(h.text, "caf\u00e9!", 6) == 0);     /* no character is torn */
    h = (progress_heard){ .flag = NULL };
    CHECK_INT(use(&k, "bash", "{\"command\":\"yes 0123456789 | head -c 900000\"}"), PAWL_OK);
    CHECK(h.size >= 1 << 18 && h.size < (1 << 18) + 20000);     /* and no more of one call */
    CHECK_INT(h.torn, 0);
    kit_close(&k);
}
