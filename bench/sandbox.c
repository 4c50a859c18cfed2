/* sandbox.c - what a sandbox adds to a command of a model. */
#include "bench.h"
#include "effect/effect.h"
#include "effect/sandbox.h"
#include "pawl/tool.h"

enum { COMMANDS = 20 };

/* The median of one call in ms; below 0: it failed. */
static double call_ms(pawl_sandbox_need need, const char *command)
{
    const pawl_sandbox box = { .need = need };
    pawl_tools *set = pawl_tools_new(NULL, NULL);
    const pawl_tool *bash = NULL;
    double each[COMMANDS], ms = -1;
    pawl_job job = { .effect = "bash", .id = "x" };
    pawl_reply r;
    arena mem;
    bool good;

    arena_init(&mem, NULL, 1024);
    reply_init(&r, NULL);
    good = set != NULL && pawl_tools_sandbox(set, &box, NULL) == PAWL_OK && pawl_tools_add_builtin(set, "bash", NULL) == PAWL_OK;
    if (good)
        bash = pawl_tools_find(set, "bash");
    job.args = value_pack(&mem, NULL, "{s:s,s:{s:s}}", "cwd", "/usr/share", "input", "command", command);
    for (int i = 0; good && i < COMMANDS; i++) {
        const double from = bench_ns();

        reply_reset(&r);
        good = bash->fn(&job, &r, bash->arg) == PAWL_OK;
        each[i] = (bench_ns() - from) / 1e6;
    }
    if (good)
        ms = bench_median(each, COMMANDS);
    reply_free(&r);
    pawl_tools_free(set);
    arena_free(&mem);
    return ms;
}

/* `:` is not in the table of programs that only read, so it runs bare where the sandbox is off. */
static bool start_ms(reading *out)
{
    double bare, boxed;

    if (sandbox_try(SANDBOX_READ_ONLY, NULL) != SANDBOX_WORKS)
        return bench_wrong("no sandbox can be made here", NULL);
    bare = call_ms(PAWL_SANDBOX_OFF, ":");
    boxed = call_ms(PAWL_SANDBOX_REQUIRED, "true");
    out->value = boxed - bare;
    out->base = bare;
    return (bare >= 0 && boxed >= 0) || bench_wrong("a command", NULL);
}

const figure sandbox_figures[] = {
    { "sandbox.start_ms", "ms", "the command without a sandbox", 6, false, 5, start_ms },
    { NULL, NULL, NULL, 0, false, 0, NULL },
};
