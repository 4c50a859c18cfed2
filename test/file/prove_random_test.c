/* prove_random_test.c - what is proved of random files, held against runs of the real kernel in every way that they may go: every route, every
 * answer, every failure, every word of a hook, every switch of the mode, up to a bound. What a proof finds is driven as well. */
#include "file/proved.h"
#include "kernel/state.h"

#include <stdio.h>
#include <stdlib.h>

enum { FILES = 1000, CONSTANT_FILES = 250, CONSTANT_WHOLE = 200, RUNS_MAX = 40, RUNS_ALL = 400, WALKS = 20, CHOICES_MAX = 24, EVENTS_MAX = 60 };

/* ---- a random file -------------------------------------------------------------------------------------------- */

static buf text;

static const char *any_node(size_t n, bool end)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
    size_t at = check_rand_below(n + (end ? 1 : 0));

    return at == n ? "end" : names[at];
}

static bool one_in(uint64_t n)
{
    return check_rand_below(n) == 0;
}

/* Conditions that are the same in every run, with what jq says of them: written by hand, not by the prover. */
static const struct { const char *text, *value; } constants[] = {
    { "false", "false" }, { "true", "true" }, { "null", "null" }, { "1 == 2", "false" }, { "1 < 2", "true" }, { "0", "0" }, { "(false)", "false" },
    { "false and .x", "false" }, { ".x and false", "false" }, { ".x or true", "true" }, { "false | not", "true" }, { "null == false", "false" },
    { "\"a\" == \"b\"", "false" }, { "[] == []", "true" }, { "(1 == 1) and (2 != 2)", "false" }, { ".x | false", "false" }, { "\"\"", "\"\"" },
    { "not | false", "false" }, { "(true | not) or (null | not | not)", "false" }, { "3 >= 3 and \"b\" > \"a\"", "true" },
};
static bool constant_ways;
static size_t constants_put;

static const char *constant_value_of(const char *wanted)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(constants[i].text, wanted) == 0)
            return constants[i].value;
    return NULL;
}

static const char *condition(void)
{
    if (!constant_ways || one_in(3))
        return one_in(2) ? ".x == 1" : ".x == 2";
    constants_put++;
    return constants[check_rand_below(sizeof constants / sizeof *constants)].text;
}

static void put_constant_next(size_t n)
{
    if (one_in(8)) {
        const char *of = one_in(2) ? "[]" : "[.x]";

        constants_put += of[1] == ']';
        buf_fmt(&text, ", each: {of: '%s', node: %s, as: it}, next: %s", of, any_node(n, false), any_node(n, true));
        return;
    }
    buf_fmt(&text, ", next: [{when: '%s', to: %s}", condition(), any_node(n, true));
    if (one_in(2))
        buf_fmt(&text, ", {when: '%s', to: %s}", condition(), any_node(n, true));
    buf_fmt(&text, ", {else: %s}]", any_node(n, true));
}

static void put_next(size_t n, bool inner)
{
    if (constant_ways && !one_in(3)) {
        put_constant_next(n);
        return;
    }
    switch (check_rand_below(inner ? 3 : 6)) {
    case 0: case 1: buf_fmt(&text, ", next: %s", any_node(n, true)); break;
    case 2: buf_fmt(&text, ", next: [{when: '.x == 1', to: %s}, {else: %s}]", any_node(n, true), any_node(n, true)); break;
    case 3: buf_fmt(&text, ", next: [%s, %s]", any_node(n, false), any_node(n, false)); break;
    case 4: buf_fmt(&text, ", next: [{when: '.x == 1', to: %s}, {when: '.x == 2', to: %s}, {else: %s}]", any_node(n, true), any_node(n, true),
                    any_node(n, true)); break;
    default: buf_fmt(&text, ", each: {of: '[.x]', node: %s, as: it}, next: %s", any_node(n, false), any_node(n, true)); break;
    }
}

static void put_run(size_t n, bool acts)
{
    static const char *const requires[] = { "default", "acceptEdits", "bypassPermissions" };
    const bool gated = acts && check_rand_below(3) > 0, needs = !gated && acts && check_rand_below(3) > 0;

    buf_fmt(&text, "run: [%s, %s], effect: %s", acts ? "touch" : "ls", any_node(6, false), acts ? "idempotent" : "pure");
    if (gated)
        buf_text(&text, ", ask: 'sure?'");
    if (needs || one_in(6))
        buf_fmt(&text, ", requires: %s", requires[check_rand_below(3)]);
    if (gated && one_in(2))
        buf_fmt(&text, ", on_no: %s", any_node(n, true));
    if (one_in(4))
        buf_fmt(&text, ", on_error: %s", any_node(n, true));
}

static void put_node(size_t i, size_t n, bool inner)
{
    buf_fmt(&text, "  %c: {", (char)('a' + i));
    switch (check_rand_below(inner ? 4 : 7)) {
    case 0: buf_text(&text, "set: {x: 1}"); break;
    case 1: put_run(n, false); break;
    case 4: buf_text(&text, "ask: 'what?', to: x"); break;
    case 5: buf_text(&text, one_in(2) ? "graph: inner.yaml" : "graph: inner.yaml, ask: 'in?'"); break;
    default: put_run(n, true); break;
    }
    put_next(n, inner);
    if (!inner && one_in(12))
        buf_text(&text, ", defer: true");
    buf_text(&text, "}\n");
}

static const char *random_file(bool inner)
{
    const size_t n = inner ? 1 + check_rand_below(3) : 2 + check_rand_below(4);

    buf_reset(&text);
    buf_fmt(&text, "state: {x: {}}\n%sstart: %s\nnodes:\n", one_in(5) ? "gate: deny\n" : "", !inner && one_in(4) ? "[a, b]" : "a");
    for (size_t i = 0; i < n; i++)
        put_node(i, n, inner);
    buf_char(&text, '\0');
    CHECK(!text.failed);
    return text.data;
}

/* Two branches of different length, and what waits for both. */
static void put_join(size_t n)
{
    text.size--;
    buf_fmt(&text, "  p: {set: {x: 1}, next: q}\n  q: {join: [p, %s], ", any_node(n, false));
    put_run(n, true);
    buf_text(&text, ", next: end}\n");
    buf_char(&text, '\0');
}

static const char *random_rules(void)
{
    static const char *const all[] = {
        "{\"allow\":[\"Bash(touch a:*)\"]}", "{\"ask\":[\"Bash(touch:*)\"]}", "{\"deny\":[\"Bash(touch b:*)\"]}",
        "{\"allow\":[\"Bash(touch:*)\"],\"ask\":[\"Node(name:b)\"]}", "{\"ask\":[\"Bash(touch a:*)\",\"Bash(ls c:*)\"],\"allow\":[\"Node\"]}",
        "{\"allow\":[\"Node(a)\",\"Node(name:c)\"],\"ask\":[\"Bash(touch c:*)\"]}",
        "{\"hooks\":[{\"from\":\"h\",\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"look\"}]}]}}]}",
        "{\"ask\":[\"Bash(touch b:*)\"],\"hooks\":[{\"from\":\"h\",\"hooks\":{\"before\":[{\"matcher\":\"a|c\",\"hooks\":[{\"type\":\"command\","
        "\"command\":\"look\","
        "\"profile\":\"claude\"}]}]}}]}",
    };
    const size_t n = sizeof all / sizeof *all;
    size_t at = check_rand_below(2 * n);

    return at < n ? all[at] : NULL;
}

/* ---- every way that it may go ------------------------------------------------------------------------------------ */

typedef struct exploring {
    proved *p;
    unsigned modes;
    size_t digits[CHOICES_MAX], most[CHOICES_MAX], n, used;     /* choices of this run; those that were forced are not counted */
    bool cut, broken;
    bool walks;                     /* choices are random */
    pawl_state *st;
    pawl_step *s, *look;
    int64_t now;
    uint64_t switched;              /* the superstep before which that was asked */
    char left[160];                 /* the command that left without one */
    buf trace;                      /* what happened in this run */
    char yes[128][160];              /* visits with one */
    size_t nyes;
    bool reopened, down;
} exploring;

static size_t choose(exploring *x, size_t most)
{
    if (most < 2)
        return 0;
    if (x->walks)
        return check_rand_below(most);
    if (x->used == CHOICES_MAX) {
        x->cut = true;
        return 0;
    }
    if (x->used == x->n) {
        x->digits[x->n] = 0;
        x->n++;
    }
    x->most[x->used] = most;
    return x->digits[x->used++];
}

/* The next of all combinations; false: that was the last. */
static bool next_run(exploring *x)
{
    x->n = x->used;
    while (x->n > 0 && x->digits[x->n - 1] + 1 >= x->most[x->n - 1])
        x->n--;
    if (x->n == 0)
        return false;
    x->digits[x->n - 1]++;
    return true;
}

static pawl_code feed(exploring *x, pawl_event ev)
{
    pawl_err err = {0};
    pawl_code rc;

    ev.time_ms = x->now++;
    buf_fmt(&x->trace, "%d %s %d %s\n", (int)ev.kind, ev.id != NULL ? ev.id : "", (int)ev.outcome, ev.value != NULL ? ev.value : "");
    rc = pawl_advance(x->p->m, x->st, &ev, x->s, &err);
    if (rc < 0)
        CHECK_FAIL("%s", err.text);
    return rc;
}

static const char *visit_of(const char *id)
{
    static char out[160];

    snprintf(out, sizeof out, "%.*s", (int)(strrchr(id, '.') - id), id);
    return out;
}

static bool has_yes(const exploring *x, const char *id)
{
    for (size_t i = 0; i < x->nyes; i++)
        if (strcmp(x->yes[i], visit_of(id)) == 0)
            return true;
    return false;
}

static const char *jq_text(const exploring *x, const char *label)
{
    for (size_t i = 0; i < x->p->a->njq; i++)
        if (strcmp(x->p->a->jq[i]->label, label) == 0)
            return x->p->a->jq[i]->text;
    return "";
}

/* One of the open conditions is true, or none; what is the same in every run is what it is. */
static const char *jq_chosen(exploring *x, const pawl_value *labels)
{
    static char out[400];
    const size_t n = pawl_value_size(labels);
    size_t at = 0, pick = 0;
    bool picked = false;

    at += (size_t)snprintf(out, sizeof out, "[");
    for (size_t i = 0; i < n; i++) {
        const char *label = pawl_value_string(pawl_value_at(labels, i));
        const char *asked = jq_text(x, label), *fixed = strcmp(asked, "[]") == 0 ? "[]" : constant_value_of(asked);
        const bool sends = strstr(label, "each") != NULL;
        size_t one;

        if (fixed != NULL) {
            at += (size_t)snprintf(out + at, sizeof out - at, "%s%s", i == 0 ? "" : ",", fixed);
            continue;
        }
        if (!sends && !picked) {
            pick = choose(x, n + 1);
            picked = true;
        }
        one = sends ? choose(x, 3) : 0;
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%s", i == 0 ? "" : ",", sends ? one == 0 ? "[]" : one == 1 ? "[1]" : "[1,2]"
                               : i == pick ? "true" : "false");
    }
    snprintf(out + at, sizeof out - at, "]");
    return out;
}

static void one_command(exploring *x, const pawl_command *c)
{
    static const struct { pawl_outcome how; const char *value; } hooks[] = {
        { PAWL_OUTCOME_DONE, "{\"verdict\":\"proceed\"}" },
        { PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\","
                     "\\\"permissionDecision\\\":\\\"allow\\\"}}\"}" },
        { PAWL_OUTCOME_DONE, "{\"verdict\":\"ask\"}" }, { PAWL_OUTCOME_DONE, "{\"verdict\":\"deny\"}" }, { PAWL_OUTCOME_TIMEOUT,
                                                                                           "{\"code\":\"timeout\",\"text\":\"late\"}" },
        { PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{oh\"}" },
            { PAWL_OUTCOME_DONE, "{\"verdict\":\"modify\",\"args\":{\"command\":\"touch a\"}}" },
        { PAWL_OUTCOME_DONE, "{\"verdict\":\"replace\",\"result\":\"1\"}" },
    };
    char id[256];
    pawl_event ev = { .kind = PAWL_EV_RECEIPT, .id = id };

    snprintf(id, sizeof id, "%s", c->id);
    if (c->kind == PAWL_COMMAND_SLEEP) {
        x->now = c->due_ms;
        feed(x, (pawl_event){ .kind = PAWL_EV_TIMER, .id = id });
        return;
    }
    if (strcmp(c->effect, "jq") == 0) {
        ev.value = jq_chosen(x, pawl_value_get(c->args, "jq"));
    } else if (strcmp(c->effect, "hook") == 0) {
        size_t pick = choose(x, sizeof hooks / sizeof *hooks);

        ev.outcome = hooks[pick].how;
        ev.value = hooks[pick].value;
    } else if (choose(x, 2) == 0) {
        ev.value = "{\"status\":0,\"stderr\":\"\",\"stdout\":\"1\\n\"}";
    } else {
        ev.outcome = PAWL_OUTCOME_ERROR;
        ev.value = "{\"code\":\"effect\",\"text\":\"no\"}";
    }
    feed(x, ev);
}

static void one_wait(exploring *x, const pawl_wait *w)
{
    char id[256];

    snprintf(id, sizeof id, "%s", w->id);
    if (w->kind != PAWL_WAIT_APPROVAL) {
        feed(x, (pawl_event){ .kind = PAWL_EV_ANSWER, .id = id, .value = "\"x\"" });
        return;
    }
    if (choose(x, 2) == 1) {
        feed(x, (pawl_event){ .kind = PAWL_EV_ANSWER, .id = id, .value = "false" });
        return;
    }
    if (x->nyes < 128)
        snprintf(x->yes[x->nyes++], sizeof x->yes[0], "%s", visit_of(id));
    feed(x, (pawl_event){ .kind = PAWL_EV_ANSWER, .id = id, .value = "true" });
}

static pawl_mode nth_mode(const exploring *x, size_t n)
{
    for (unsigned m = PAWL_MODE_PLAN; m <= PAWL_MODE_BYPASS; m++)
        if ((x->modes >> m & 1) != 0 && n-- == 0)
            return (pawl_mode)m;
    return PAWL_MODE_DEFAULT;
}

static size_t count_modes(const exploring *x)
{
    size_t n = 0;

    for (unsigned m = PAWL_MODE_PLAN; m <= PAWL_MODE_BYPASS; m++)
        n += x->modes >> m & 1;
    return n;
}

static void switch_mode(exploring *x)
{
    char json[64];
    size_t pick;

    if (x->switched == x->st->root.superstep || count_modes(x) < 2)
        return;
    x->switched = x->st->root.superstep;
    if ((pick = choose(x, count_modes(x) + 1)) == 0)
        return;
    snprintf(json, sizeof json, "{\"@mode\":\"%s\"}", pawl_mode_name(nth_mode(x, pick - 1)));
    feed(x, (pawl_event){ .kind = PAWL_EV_UPDATE, .value = json });
}

/* One more event; false: it is over. */
static bool go_on(exploring *x)
{
    pawl_command c;
    pawl_wait w;

    if (pawl_state_next(x->st) == PAWL_HALTED) {
        if (pawl_state_status(x->st) != PAWL_STATUS_FAILED || x->reopened || choose(x, 2) == 0)
            return false;
        x->reopened = true;
        feed(x, (pawl_event){ .kind = PAWL_EV_REOPEN });
        return true;
    }
    switch_mode(x);
    if (pawl_state_next(x->st) == PAWL_OK) {
        feed(x, (pawl_event){ .kind = PAWL_EV_TICK });
        return true;
    }
    /* all that is out is seen before anything is answered */
    for (size_t i = 0; i < pawl_state_commands(x->st); i++) {
        CHECK(pawl_state_command(x->st, i, x->look, &c, NULL, NULL) == PAWL_OK);
        if (c.effect != NULL && strncmp(c.effect, "run", 3) == 0 && c.limits.cls != PAWL_CLASS_PURE && !has_yes(x, c.id)) {
            x->broken = true;
            snprintf(x->left, sizeof x->left, "%s", c.id);
        }
    }
    if (pawl_state_waits(x->st) > 0 && pawl_state_wait(x->st, 0, x->look, &w, NULL) == PAWL_OK)
        one_wait(x, &w);
    else if (pawl_state_commands(x->st) > 0 && pawl_state_command(x->st, 0, x->look, &c, NULL, NULL) == PAWL_OK)
        one_command(x, &c);
    else
        return false;
    return true;
}

static void one_run(exploring *x)
{
    const pawl_run_info info = { .id = "run-1", .life = 1, .seed = 7, .created_ms = 1000 };
    const pawl_value *input;
    pawl_err err = {0};
    size_t events = 0;
    buf b;

    x->used = x->nyes = 0;
    buf_reset(&x->trace);
    x->reopened = false;
    x->now = 1000;
    x->switched = 0;
    CHECK(pawl_state_new(x->p->m, &info, PAWL_STATE_NO_JOURNAL, NULL, &x->st, &err) == PAWL_OK);
    input = value_pack(&x->p->b->mem, &err, "{s:s,s:s}", "@cwd", "/here", "@mode", pawl_mode_name(nth_mode(x, choose(x, count_modes(x)))));
    if (x->p->policy != NULL)
        input = value_with(&x->p->b->mem, input, "@policy", x->p->policy);
    buf_init(&b, NULL);
    canon(&b, input);
    buf_char(&b, '\0');
    feed(x, (pawl_event){ .kind = PAWL_EV_START, .value = b.data });
    buf_free(&b);
    while (!x->broken && events++ < EVENTS_MAX && go_on(x))
        ;
    x->cut = x->cut || events >= EVENTS_MAX;
    pawl_state_free(x->st);
}

/* In order, and where that is too many, some more at random: what comes late differs in them, too. */
static void explore(exploring *x)
{
    const size_t most = check_run_all() ? RUNS_ALL : RUNS_MAX;
    size_t n = 0;

    x->s = pawl_step_new(NULL);
    x->look = pawl_step_new(NULL);
    do
        one_run(x);
    while (!x->broken && ++n < most && next_run(x));
    x->cut = x->cut || (!x->broken && n >= most);
    x->walks = true;
    for (n = 0; x->cut && !x->broken && n < WALKS; n++)
        one_run(x);
    pawl_step_free(x->s);
    pawl_step_free(x->look);
}

/* ---- held against each other --------------------------------------------------------------------------------------- */

typedef struct tally { size_t files, proved, broken, whole, replayed; } tally;

static void one_file(const filing_text *files, const char *given, unsigned modes, tally *t)
{
    exploring x = { .modes = modes };
    proved p;

    if (!proved_load(&p, files, given, false)) {
        bench_free(p.b);
        return;
    }
    t->files++;
    proved_search(&p, (prove_ask){ .modes = modes });
    x.p = &p;
    buf_init(&x.trace, NULL);
    explore(&x);
    buf_char(&x.trace, '\0');
    CHECK(p.r.verdict != PROVE_UNDECIDED);
    if (p.r.verdict == PROVE_PROVED ? x.broken : !x.broken && !x.cut)
        CHECK_FAIL("seed %llu, file %zu: %s by the proof, %s in runs\n%s\n%s\nrules %s\n%s%s left:\n%.4000s", (unsigned long long)check_seed(),
                   t->files,
                   p.r.verdict == PROVE_PROVED ? "proved" : "broken", x.broken ? "broken" : "good", files[0].text, files[1].name != NULL
                       ? files[1].text : "",
                   given != NULL ? given : "none", proved_path(&p), x.left, x.trace.data != NULL ? x.trace.data : "");
    t->proved += p.r.verdict == PROVE_PROVED;
    t->broken += p.r.verdict == PROVE_BROKEN;
    t->whole += !x.cut;
    if (p.r.verdict == PROVE_BROKEN) {
        const char *why = proved_replay(&p);

        if (*why != '\0')
            CHECK_FAIL("seed %llu, file %zu: it is not replayed: %s\n%s\n%s\nrules %s\n%s", (unsigned long long)check_seed(), t->files, why,
                       files[0].text,
                       files[1].name != NULL ? files[1].text : "", given != NULL ? given : "none", proved_path(&p));
        t->replayed++;
    }
    buf_free(&x.trace);
    proved_end(&p);
}

PAWL_TEST(test_P1_a_thousand_random_files_are_as_they_are_proved)
{
    static const unsigned modes[] = { 1u << PAWL_MODE_DEFAULT, 1u << PAWL_MODE_DEFAULT | 1u << PAWL_MODE_PLAN,
                                      1u << PAWL_MODE_PLAN | 1u << PAWL_MODE_DEFAULT | 1u << PAWL_MODE_ACCEPT_EDITS,
                                      1u << PAWL_MODE_DEFAULT | 1u << PAWL_MODE_BYPASS };
    tally t = {0};

    buf_init(&text, NULL);
    while (t.files < FILES) {
        filing_text files[3] = { { "agent.yaml", NULL }, { "inner.yaml", NULL }, { NULL, NULL } };
        char *inner = strdup(random_file(true)), *outer;
        const char *given;

        random_file(false);
        if (one_in(4))
            put_join(2);
        outer = strdup(text.data);
        given = random_rules();
        files[0].text = outer;
        files[1].text = inner;
        one_file(files, given, modes[check_rand_below(4)], &t);
        free(outer);
        free(inner);
    }
    buf_free(&text);
    printf("%zu files: %zu proved, %zu broken (each replayed: %zu); every run of %zu was taken\n", t.files, t.proved, t.broken, t.replayed, t.whole);
    CHECK(t.proved >= FILES / 10 && t.broken >= FILES / 10 && t.whole >= FILES / 10);
    CHECK_INT(t.replayed, t.broken);
}

/* Counted are files with such a condition of which every run was taken: of these both verdicts are known without the prover. */
PAWL_TEST(test_P1_conditions_that_no_run_changes_are_proved_as_they_are)
{
    tally t = {0};

    buf_init(&text, NULL);
    constant_ways = true;
    while (t.files < CONSTANT_FILES || t.whole < CONSTANT_WHOLE) {
        filing_text files[3] = { { "agent.yaml", NULL }, { "inner.yaml", NULL }, { NULL, NULL } };
        char *inner = strdup(random_file(true)), *outer;
        tally one = {0};

        constants_put = 0;
        outer = strdup(random_file(false));
        files[0].text = outer;
        files[1].text = inner;
        if (constants_put > 0)
            one_file(files, one_in(3) ? random_rules() : NULL, 1u << PAWL_MODE_DEFAULT, &one);
        t = (tally){ t.files + one.files, t.proved + one.proved, t.broken + one.broken, t.whole + (one.files > 0 ? one.whole : 0), t.replayed + one.replayed };
        free(outer);
        free(inner);
    }
    constant_ways = false;
    buf_free(&text);
    printf("%zu files: %zu proved, %zu broken; every run of %zu was taken\n", t.files, t.proved, t.broken, t.whole);
    CHECK(t.proved >= CONSTANT_FILES / 10 && t.broken >= CONSTANT_FILES / 10);
    CHECK_INT(t.replayed, t.broken);
}
