/* budget.c - `pawl budget`: shows what a run may spend, has spent and has reserved, and sets other limits (A8).
 *
 * Called by main.c on the main thread. Owns its session, which it frees; it drives no run. */
#include "cli/run_driver.h"
#include "cli/verbs.h"

#include <stdlib.h>

static const char *const names[] = { "calls", "tokens", "money", "time" };
enum { CALLS, TOKENS, MONEY, TIME, BOUNDS };

static bool count_of(const char *text, int64_t *n)
{
    char *end;
    long long v = strtoll(text, &end, 10);

    if (end == text || *end != '\0' || v < 0)
        return false;
    *n = v;
    return true;
}

/* "calls=200"; 0 removes the limit. */
static int bound_read(cli_call *c, const char *option, const char *text, const pawl_value **out)
{
    static const char *const members[] = { "calls", "tokens", "micros", "ms" };
    const char *eq = strchr(text, '=');
    int64_t n = 0;
    int i = 0;
    bool good;

    while (eq != NULL && i < BOUNDS && (strlen(names[i]) != (size_t)(eq - text) || strncmp(text, names[i], (size_t)(eq - text)) != 0))
        i++;
    if (eq == NULL || i == BOUNDS)
        return cli_usage(c, "--%s is calls=N, tokens=N, money=AMOUNT or time=DURATION, and not \"%.60s\"", option, text);
    good = i == MONEY ? money_read(eq + 1, &n) : i == TIME && strcmp(eq + 1, "0") != 0 ? cli_duration(eq + 1, &n) : count_of(eq + 1, &n);
    if (!good)
        return cli_usage(c, "--%s %.60s: the value after = is no %s", option, text, i == MONEY ? "amount" : i == TIME ? "duration" : "number");
    *out = value_with(&c->mem, *out, members[i], value_int(&c->mem, n));
    return EXIT_DONE;
}

int budget_bounds(cli_call *c, const char *option, const pawl_value **caps)
{
    int code = EXIT_DONE;

    *caps = value_pack(&c->mem, NULL, "{}");
    for (size_t i = 0; cli_given_at(c, option, i) != NULL && code == EXIT_DONE; i++)
        code = bound_read(c, option, cli_given_at(c, option, i), caps);
    return code;
}

static void row(buf *out, const char *name, int64_t cap, int64_t used, int64_t reserved, bool money)
{
    const double unit = money ? 1e6 : 1;
    const int digits = money ? 6 : 0;

    if (cap == 0 && used == 0 && reserved == 0)
        return;
    buf_fmt(out, "%-8s  %.*f used", name, digits, (double)used / unit);
    if (reserved > 0)
        buf_fmt(out, ", %.*f reserved", digits, (double)reserved / unit);
    if (cap > 0)
        buf_fmt(out, " of %.*f", digits, (double)cap / unit);
    buf_char(out, '\n');
}

static int print_budget(session *s, const pawl_spent *p)
{
    arena *a = &s->c->mem;
    bool put;
    buf out;

    if (s->c->json)
        return cli_json(s->c, value_pack(a, NULL, "{s:{s:i,s:i,s:i,s:i},s:b,s:{s:i,s:i,s:i},s:i,s:{s:i,s:i,s:i}}", "caps", "calls", p->caps.calls,
                                         "micros", p->caps.micros, "ms", p->caps.ms, "tokens", p->caps.tokens, "overdraft", (int)p->overdraft,
                                         "reserved", "calls", p->reserved.calls, "micros", p->reserved.micros, "tokens", p->reserved.tokens,
                                         "since_ms", p->since_ms,
                                         "used", "calls", p->used.calls, "micros", p->used.micros, "tokens", p->used.tokens)) ? EXIT_DONE : EXIT_FAILED;
    buf_init(&out, NULL);
    row(&out, "calls", p->caps.calls, p->used.calls, p->reserved.calls, false);
    row(&out, "tokens", p->caps.tokens, p->used.tokens, p->reserved.tokens, false);
    row(&out, "money", p->caps.micros, p->used.micros, p->reserved.micros, true);
    if (p->caps.ms > 0) {
        char until[32];

        cli_time(until, p->since_ms + p->caps.ms);
        buf_fmt(&out, "%-8s  until %s\n", "time", until);
    }
    if (p->overdraft)
        buf_text(&out, "a call cost more than was reserved for it: no call is made before a limit is set again\n");
    put = cli_put(s->c, &out);
    buf_free(&out);
    return put ? EXIT_DONE : EXIT_FAILED;
}

/* It is a delivery: the process that drives the run takes it first. */
static int raise(session *s, const pawl_value *caps)
{
    pawl_event ev = { .kind = PAWL_EV_UPDATE, .by = cli_by(s->c) };
    pawl_err err = {0};
    pawl_code rc;
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "{\"@budget\":");
    canon(&b, caps);
    buf_text(&b, "}");
    buf_char(&b, '\0');
    ev.value = b.data;
    rc = b.failed ? fail(&err, PAWL_NOMEM, "%s: no memory", s->run) : session_deliver(s, &ev, &err);
    buf_free(&b);
    if (rc != PAWL_OK)
        return cli_fail(s->c, rc, &err);
    cli_note(s->c, "%s: its budget is changed", s->run);
    return EXIT_DONE;
}

static int budget_run(cli_call *c)
{
    const pawl_value *caps;
    pawl_err err = {0};
    pawl_spent spent;
    pawl_state *st;
    session *s;
    int code = budget_bounds(c, "set", &caps);

    if (code != EXIT_DONE || (s = session_of_run(c, c->args[0], &code)) == NULL)
        return code;
    if ((st = pawl_run_state(s->engine, s->run, &err)) == NULL) {
        code = cli_fail(c, err.code < 0 ? err.code : PAWL_IO, &err);
    } else if (pawl_value_size(caps) > 0) {
        code = pawl_state_next(st) == PAWL_HALTED ? cli_usage(c, "%s is %s; the limits of a failed run are set with `pawl retry %s --budget calls=N`",
                                                              s->run, pawl_status_name(pawl_state_status(st)), s->run)
                                                  : raise(s, caps);
    } else if (!pawl_state_spent(st, &spent)) {
        cli_note(c, "%s has no budget; `pawl budget %s --set calls=100` gives it one", s->run, s->run);
    } else {
        code = print_budget(s, &spent);
    }
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "set", "BOUND=N...", "calls=200, tokens=500000, money=2.50, time=1h; 0 removes the limit" },
    { "json", NULL, "one JSON object; money in millionths" },
    { NULL, NULL, NULL },
};

const cli_verb verb_budget = {
    .name = "budget", .form = "RUN", .what = "show or set the budget of a run", .options = options, .least = 1, .most = 1, .store = true,
    .acts = true, .run = budget_run,
    .about = "An agent file sets the limits (`budget:`). Before a call is made, its maximum\n"
             "cost is reserved. A call that would exceed a limit is not made, and the run\n"
             "fails with that reason, unless the node handles the error.",
    .example = "pawl budget @\npawl budget survey-7k2m --set calls=500",
};
