/* cli.c - the program as it is typed: what it takes to start, to take one durable step, to evaluate, to work through files. */
#define _DEFAULT_SOURCE         /* wait4 */
#include "bench.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { TIMES = 41, FILES = 1000, ARGS_MAX = 12 };

/* ---- processes ---------------------------------------------------------------------------------- */

/* The program lies beside this one. */
static bool program(char out[4096])
{
    ssize_t n = readlink("/proc/self/exe", out, 4000);
    char *slash;

    if (n <= 0)
        return bench_wrong("where this program lies", NULL);
    out[n] = '\0';
    if ((slash = strrchr(out, '/')) == NULL)
        return false;
    memcpy(slash + 1, "pawl", 5);
    return access(out, X_OK) == 0 || bench_wrong("there is no program pawl beside pawl_bench", NULL);
}

static double spawned_bytes;     /* the most that the last one had in memory */

/* Run it in `folder`, silent, and take its time. */
static bool spawn(const char *folder, char *const argv[], double *ns)
{
    posix_spawn_file_actions_t actions;
    char here[4096];
    struct rusage used = {0};
    double begun;
    int status = 1;
    pid_t pid = 0;
    bool good;

    if (getcwd(here, sizeof here) == NULL || chdir(folder) != 0)
        return bench_wrong(folder, NULL);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    begun = bench_ns();
    good = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) == 0 && wait4(pid, &status, 0, &used) == pid && status == 0;
    *ns = bench_ns() - begun;
    spawned_bytes = (double)used.ru_maxrss * 1024;
    posix_spawn_file_actions_destroy(&actions);
    good = chdir(here) == 0 && good;
    return good || bench_wrong(argv[0], NULL);
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Medians of the two, measured in turns. */
static bool turns_ms(const char *folder, char *const a[], char *const b[], reading *out)
{
    double took[TIMES], base[TIMES];

    for (int i = 0; i < TIMES; i++)
        if (!spawn(folder, a, &took[i]) || !spawn(folder, b, &base[i]))
            return false;
    qsort(took, TIMES, sizeof *took, by_size);
    qsort(base, TIMES, sizeof *base, by_size);
    out->value = took[TIMES / 2] / 1e6;
    out->base = base[TIMES / 2] / 1e6;
    return true;
}

static bool text_put(const char *folder, const char *name, const char *text)
{
    char path[256];
    FILE *f;
    bool good;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    if ((f = fopen(path, "w")) == NULL)
        return bench_wrong(path, NULL);
    good = fputs(text, f) >= 0;
    return fclose(f) == 0 && good;
}

/* ---- one step --------------------------------------------------------------------------------------- */

static bool run_ms(const char *file, reading *out)
{
    char path[4096];
    char *pawl[] = { path, "run", "agent.yaml", NULL }, *nothing[] = { "true", NULL };
    double first;
    disk d;
    bool good = program(path) && disk_begin(&d, false);

    if (!good)
        return false;
    good = text_put(d.folder, "agent.yaml", file) && spawn(d.folder, pawl, &first) && turns_ms(d.folder, pawl, nothing, out);
    disk_end(&d);
    return good;
}

/* A question to an agent whose model is a script, from its start to its exit; beside it a process that does nothing. */
static bool chat_oneshot(reading *out)
{
    char path[4096];
    char *pawl[] = { path, "chat", "-p", "hello", "agent.yaml", NULL }, *nothing[] = { "true", NULL };
    double first;
    disk d;
    bool good = program(path) && disk_begin(&d, false);

    if (!good)
        return false;
    good = text_put(d.folder, "agent.yaml", "agent: {name: helper, model: \"script:answers.yaml\", system: You help., tools: [read_file, bash]}\n") &&
           text_put(d.folder, "answers.yaml", "- {reply: Hello.}\n") && spawn(d.folder, pawl, &first) && turns_ms(d.folder, pawl, nothing, out);
    disk_end(&d);
    return good;
}

static bool run_noop(reading *out)
{
    return run_ms("start: a\nstate: {x: {}}\nnodes:\n  a: {set: {x: 1}, next: end}\n", out);
}

static bool run_jq(reading *out)
{
    return run_ms("start: a\nstate: {x: {default: [1, 2, 3]}, y: {}}\nnodes:\n  a: {set: {y: '.x | add'}, next: end}\noutput: .y\n", out);
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

/* The most that the program had in memory for a fan-out of so many, each of which evaluates an expression against a state that has them all.
 * Called in a small process: the kernel counts the memory of the parent for a program that it starts. */
double jq_child(const char *folder, const char *count)
{
    char path[4096], file[512];
    char *pawl[] = { path, "run", "agent.yaml", NULL };
    double ns;

    snprintf(file, sizeof file, "start: list\nstate: {files: {}, facts: {merge: append}}\nnodes:\n"
                                "  list: {set: {files: '[range(%s)]'}, each: {of: .files, node: count, as: path}, next: end}\n"
                                "  count: {set: {facts: '.path + 1'}, next: end}\n", count);
    return program(path) && text_put(folder, "agent.yaml", file) && spawn(folder, pawl, &ns) ? spawned_bytes : 0;
}

/* The exponent of what a child process has in memory, beyond what it has for one. */
static bool bytes_growth(const char *what, const char *few_count, const char *many_count, reading *out)
{
    double one, few, many;
    disk d;
    bool good = disk_begin(&d, false) && child_run(what, d.folder, "1", &one) && child_run(what, d.folder, few_count, &few) &&
                child_run(what, d.folder, many_count, &many);

    disk_end(&d);
    *out = (reading){ good ? log((many - one) / (few - one)) / log(strtod(many_count, NULL) / strtod(few_count, NULL)) : 0, 1 };
    return good;
}

static bool jq_bytes(reading *out) { return bytes_growth("jq", "1000", "10000", out); }
static bool children_bytes(reading *out) { return bytes_growth("children", "1000", "10000", out); }

/* ---- a thousand files --------------------------------------------------------------------------------- */

static bool files_make(const char *folder)
{
    char name[128], text[32];

    snprintf(name, sizeof name, "%s/files", folder);
    if (mkdir(name, 0777) != 0)
        return bench_wrong(name, NULL);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "files/%d", i);
        snprintf(text, sizeof text, "%d\n", i);
        if (!text_put(folder, name, text))
            return false;
    }
    return true;
}

static bool files_1000(reading *out)
{
    static const char file[] = "start: list\nstate: {files: {}, facts: {merge: append}}\nnodes:\n"
                               "  list: {run: [find, files, -type, f], effect: pure, lines: files, each: {of: .files, node: count, as: path}, next: end}\n"
                               "  count: {run: [wc, -l, \"{{.path}}\"], effect: pure, text: facts, next: end}\n";
    char path[4096];
    char *pawl[] = { path, "run", "agent.yaml", NULL };
    char *plain[] = { "sh", "-c", "find files -type f | xargs -P 2 -n 1 wc -l", NULL }, *clean[] = { "rm", "-rf", "files", NULL };
    double ns = 0, base = 0, gone;
    disk d;
    bool good = program(path) && disk_begin(&d, false);

    if (!good)
        return false;
    good = files_make(d.folder) && text_put(d.folder, "agent.yaml", file) && spawn(d.folder, pawl, &ns) && spawn(d.folder, plain, &base);
    good = spawn(d.folder, clean, &gone) && good;
    disk_end(&d);
    out->value = base > 0 ? ns / base : 0;
    out->base = 1;
    return good;
}

/* ---- a proof ---------------------------------------------------------------------------------------------- */

enum { NODES_30 = 30 };

/* The survey's shape: a fan-out, a sum, a question, a report that is written behind a gate. */
static const char survey[] = "start: find\nstate: {files: {}, facts: {merge: append}, total: {}, out: {default: report.md}}\nnodes:\n"
                             "  find: {run: [find, ., -type, f], effect: pure, lines: files, each: {of: '.files | sort', node: measure, as: path}, next: add}\n"
                             "  measure: {run: [wc, -l, \"{{.path}}\"], effect: pure, text: facts, retry: {max_attempts: 3}, next: add}\n"
                             "  add: {set: {total: '.facts | length'}, next: tell}\n"
                             "  tell: {ask: \"{{.total}} files: write it?\", options: [yes, no], to: total, next: [{when: '.total == \"yes\"', to: write}, {else: end}]}\n"
                             "  write: {ask: \"Write {{.out}}?\", run: [tee, \"{{.out}}\"], stdin: \"{{.facts}}\", effect: idempotent, "
                             "on_no: end, next: end}\n";

/* Thirty nodes in three lanes that meet again: every second one acts behind a gate, with a way for a no and one for a failure. */
static void thirty(char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "start: [n0, n1, n2]\nstate: {x: {}}\nnodes:\n");

    for (int i = 0; i < NODES_30; i++) {
        const int next = i + 3 < NODES_30 ? i + 3 : -1, other = i + 6 < NODES_30 ? i + 6 : -1;

        at += (size_t)snprintf(out + at, size - at, i % 2 == 0 ? "  n%d: {run: [touch, f%d], effect: idempotent, ask: sure?"
                               : "  n%d: {run: [cat, f%d], effect: pure", i, i);
        if (other >= 0)
            at += (size_t)snprintf(out + at, size - at, "%s, on_error: n%d", i % 2 == 0 ? ", on_no: end" : "", other);
        at += next < 0 ? (size_t)snprintf(out + at, size - at, ", next: end}\n")
                       : (size_t)snprintf(out + at, size - at, ", next: [{when: '.x == %d', to: n%d}, {else: end}]}\n", i, next);
    }
}

/* Both, one after the other. */
static bool prove_ms(reading *out)
{
    static char text[8192];
    char path[4096];
    char *one[] = { path, "check", "survey.yaml", "--prove", NULL }, *two[] = { path, "check", "thirty.yaml", "--prove", NULL },
        *nothing[] = { "true", NULL };
    reading second = {0};
    disk d;
    bool good = program(path) && disk_begin(&d, false);

    if (!good)
        return false;
    thirty(text, sizeof text);
    good = text_put(d.folder, "survey.yaml", survey) && text_put(d.folder, "thirty.yaml", text) && turns_ms(d.folder, one, nothing, out) &&
           turns_ms(d.folder, two, nothing, &second);
    disk_end(&d);
    out->value += second.value;
    out->base += second.base;
    return good;
}

const figure cli_figures[] = {
    { "chat.oneshot_ms", "ms", "a process that does nothing", 20, false, 3, chat_oneshot },
    { "cli.run_noop_ms", "ms", "a process that does nothing", 12, false, 3, run_noop },
    { "cli.run_jq_ms", "ms", "a process that does nothing", 45, false, 3, run_jq },
    { "growth.jq_bytes", "exponent", "linear growth", 1.1, false, 1, jq_bytes },
    { "growth.children_bytes", "exponent", "linear growth", 1.1, false, 1, children_bytes },
    { "policy.prove_ms", "ms", "two processes that do nothing", 200, false, 3, prove_ms },
    { "cli.files_1000", "x", "the same commands by xargs -P 2", 1.2, false, 5, files_1000 },
    { NULL, NULL, NULL, 0, false, 0, NULL },
};

/* A page of a million runs, and one of them by a prefix of its id: both come of one store. */
static bool million_ms(reading *ls, reading *show)
{
    static reading listed, shown;
    char path[4096];
    char *noop[] = { path, "run", "noop.yaml", "--store", "sqlite:store", NULL }, *list[] = { path, "ls", "--store", "sqlite:store", NULL },
        *one[] = { path, "show", "noop-", "--store", "sqlite:store", NULL }, *nothing[] = { "true", NULL };
    double first;
    disk d;
    bool good = true;

    if (listed.value == 0) {
        if (!program(path) || !disk_begin(&d, true))
            return false;
        good = text_put(d.folder, "noop.yaml", "start: a\nstate: {x: {}}\nnodes:\n  a: {set: {x: 1}, next: end}\n") && disk_runs(&d, 1000000, 0) &&
               spawn(d.folder, noop, &first) && turns_ms(d.folder, list, nothing, &listed) && turns_ms(d.folder, one, nothing, &shown);
        disk_end(&d);
    }
    if (ls != NULL)
        *ls = listed;
    if (show != NULL)
        *show = shown;
    return good;
}

bool cli_ls_1m(reading *out) { return million_ms(out, NULL); }
bool cli_show_1m(reading *out) { return million_ms(NULL, out); }
