/* policy.c - what a decision takes: a rule among many, and a command line that has to be split first. */
#include "bench.h"
#include "json/json.h"
#include "pawl/policy.h"

#include <stdlib.h>

enum { DECISIONS = 20000, EACH = 40 };

/* 200 rules of all kinds; the call fits the last. */
static pawl_policy *rules_200(void)
{
    pawl_policy *p;
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "{\"cwd\":\"/project\",\"home\":\"/home\",\"deny\":[");
    for (int i = 0; i < EACH; i++)
        buf_fmt(&b, "%s\"Bash(deploy-%d *)\",\"Read(secrets/%d/**)\"", i > 0 ? "," : "", i, i);
    buf_text(&b, "],\"ask\":[");
    for (int i = 0; i < EACH; i++)
        buf_fmt(&b, "%s\"WebFetch(domain:host-%d.example.com)\"", i > 0 ? "," : "", i);
    buf_text(&b, "],\"allow\":[");
    for (int i = 0; i < EACH; i++)
        buf_fmt(&b, "\"Edit(src/%d/**)\",\"Bash(npm run task-%d:*)\"%s", i, i, i + 1 < EACH ? "," : "");
    buf_text(&b, "]}");
    p = b.failed ? NULL : pawl_policy_read(NULL, b.data, b.size, NULL);
    buf_free(&b);
    return p;
}

static bool decide_ns(const char *command, pawl_ground due, reading *out)
{
    pawl_policy *p = rules_200();
    pawl_request q = { .tool = "Bash", .cls = PAWL_PERMISSION_EXEC, .mode = PAWL_MODE_DEFAULT };
    pawl_decision d = { .behavior = PAWL_BEHAVIOR_OPEN };
    bool good = true;
    double from;
    arena mem;

    arena_init(&mem, NULL, 1024);
    q.args = value_pack(&mem, NULL, "{s:s}", "command", command);
    if (p == NULL || q.args == NULL) {
        arena_free(&mem);
        pawl_policy_free(p);
        return bench_wrong("a policy", NULL);
    }
    from = bench_ns();
    for (int i = 0; i < DECISIONS; i++) {
        pawl_decide(p, &q, &d);
        good = good && d.behavior == PAWL_BEHAVIOR_ALLOW && d.ground == due;
    }
    out->value = (bench_ns() - from) / DECISIONS;
    out->base = bench_malloc_ns(DECISIONS);
    arena_free(&mem);
    pawl_policy_free(p);
    return good || bench_wrong("a decision", NULL);
}

static bool decide_rules(reading *out) { return decide_ns("npm run task-39 --verbose", PAWL_GROUND_ALLOW_RULE, out); }

static bool decide_shell(reading *out)
{
    return decide_ns("ls src && NODE_ENV=test timeout 60 npm run task-39 -- \"a b\" 2>&1 | grep -v 'x|y' | tail -n 20; echo done > /dev/null",
                     PAWL_GROUND_ALLOW_RULE, out);
}

const figure policy_figures[] = {
    { "policy.decide_ns", "ns", "a malloc and a free", 3000, false, 5, decide_rules },
    { "policy.shell_ns", "ns", "a malloc and a free", 20000, false, 5, decide_shell },
    { NULL, NULL, NULL, 0, false, 0, NULL },
};
