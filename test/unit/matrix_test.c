/* matrix_test.c - K1: every state meets every kind of event. It accepts, ignores or refuses; what is not accepted
 * leaves it as it was. */
#include "kernel/machine.h"
#include "kernel/names.h"
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- states ---------------------------------------------------------------------------------- */

static const pawl_channel channels[] = { { .name = "x" }, { .name = "y" }, { 0 } };

typedef enum adorn { PLAIN, GATED, AFTER, TURNS, NESTED } adorn;

typedef struct state_row {
    const char *name;
    part parts[4];
    adorn with;
    const char *then;       /* what happens to it after it began: words, see become() */
    bool back;              /* to the entry of the start, or before it */
    uint64_t seq;
    const char *clerk;      /* a reducer that begins with this; else NULL */
} state_row;

static const state_row rows[] = {
    { .name = "submitted", .parts = { { "a", NULL, "x=1" } }, .back = true },
    { .name = "ready", .parts = { { "a", NULL, "x=1" }, { "b", "a", "y=1" } }, .back = true, .seq = 1 },
    { .name = "calling", .parts = { { "a", NULL, "call llm 1 -> x" }, { "b", "a", "y=1" } } },
    { .name = "sleeping", .parts = { { "a", NULL, "sleep 50" } } },
    { .name = "asking", .parts = { { "a", NULL, "ask \"ok?\" -> x" } } },
    { .name = "listening", .parts = { { "a", NULL, "signal go -> x" } } },
    { .name = "spawning", .parts = { { "a", NULL, "spawn other {} -> x" } } },
    { .name = "both", .parts = { { "a", NULL, "call llm 1 -> x" }, { "b", NULL, "ask \"ok?\" -> y" } } },
    { .name = "half done", .parts = { { "a", NULL, "call llm 1 -> x" }, { "b", NULL, "ask \"ok?\" -> y" } }, .then = "answer" },
    { .name = "done", .parts = { { "a", NULL, "call llm 1 -> x" }, { "b", NULL, "ask \"ok?\" -> y" } }, .then = "record" },
    { .name = "racing", .parts = { { "a", NULL, "also call llm 1 | also sleep 50 | select -> x" } } },
    { .name = "gated", .parts = { { "a", NULL, "x=1" } }, .with = GATED },
    { .name = "held", .parts = { { "a", NULL, "x=1" }, { "b", "a", "y=1" } }, .with = AFTER },
    { .name = "inside", .parts = { { "a", NULL, "ask \"ok?\"" } }, .with = NESTED },
    { .name = "between turns", .parts = { { "a", NULL, "x=1" } }, .with = TURNS },
    { .name = "canceling", .parts = { { "a", NULL, "call llm 1 -> x" }, { "b", NULL, "ask \"ok?\" -> y" } }, .then = "cancel" },
    { .name = "completed", .parts = { { "a", NULL, "x=1" } } },
    { .name = "failed", .parts = { { "a", NULL, "fail transient busy" } } },
    { .name = "canceled", .parts = { { "a", NULL, "ask \"ok?\"" } }, .then = "cancel" },
    { .name = "rejected", .parts = { { "a", NULL, "fail denied no" } } },
    { .name = "reducer idle", .clerk = "" },
    { .name = "reducer calls", .clerk = "call" },
    { .name = "reducer sleeps", .clerk = "sleep" },
    { .name = "reducer asks", .clerk = "ask" },
    { .name = "reducer ends", .clerk = "call", .then = "cancel" },
    { .name = "reducer over", .clerk = "over" },
};

/* A reducer that takes whatever comes. */
static pawl_code clerk(pawl_step *s, const pawl_input_event *h, void *arg)
{
    const pawl_question q = { .prompt = pawl_pack(s, "s", "ok?") };

    if (h->kind != PAWL_EV_START) {
        pawl_set_int(s, "y", 2);
        return PAWL_OK;
    }
    if (strcmp(arg, "call") == 0)
        pawl_flow_call(s, "c", "llm", NULL);
    else if (strcmp(arg, "sleep") == 0)
        pawl_flow_sleep(s, "s", 50);
    else if (strcmp(arg, "ask") == 0)
        pawl_flow_ask(s, "q", &q);
    return strcmp(arg, "over") == 0 ? pawl_flow_complete(s) : PAWL_OK;
}

static pawl_machine *machine_clerk(const char *what, uint32_t version)
{
    union { const char *in; void *out; } arg = { what };
    pawl_err err = { 0 };
    pawl_machine *m = pawl_flow_reducer("row", version, channels, 2, clerk, arg.out, NULL, &err);

    CHECK_STR(err.text, "");
    return m;
}

static pawl_machine *machine_row(const state_row *r, uint32_t version)
{
    pawl_graph *g, *outer;

    if (r->clerk != NULL)
        return machine_clerk(r->clerk, version);
    g = script_graph("row", version, channels, r->parts);
    if (r->with == GATED)
        pawl_graph_gate(g, "a", "in?");
    if (r->with == AFTER)
        pawl_graph_interrupt_after(g, "a");
    if (r->with == TURNS)
        pawl_graph_turns(g, "next?");
    if (r->with != NESTED)
        return script_compile(g);
    outer = pawl_graph_new("row", version);
    pawl_graph_channel(outer, "x", PAWL_RULE_LAST);
    pawl_graph_sub(outer, "sub", g);
    pawl_graph_chain(outer, PAWL_START, "sub", PAWL_END, NULL);
    return script_compile(outer);
}

static void become(world *w, const state_row *r)
{
    w->quiet = true;
    world_begin(w, machine_row(r, 1), NULL);
    if (r->back)
        world_back(w, r->seq);
    if (r->then == NULL)
        return;
    if (strcmp(r->then, "cancel") == 0) {
        world_cancel(w);
    } else if (strcmp(r->then, "answer") == 0) {
        world_answer(w, NULL, "true");
    } else {
        world_answer(w, NULL, "true");
        CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.a.1.0", .value = "1" }), PAWL_OK);
    }
}

/* ---- events ------------------------------------------------------------------------------------- */

static const char *open_of(world *w, bool wait, bool sleep)
{
    pawl_command cmd;
    pawl_err err = { 0 };

    if (wait || !sleep)
        return *world_open(w, NULL, wait) != '\0' ? world_open(w, NULL, wait) : "1.a.1.0";
    for (size_t i = 0; i < pawl_state_commands(w->st); i++)
        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, &err) == PAWL_OK && cmd.kind == PAWL_COMMAND_SLEEP)
            return cmd.id;
    return "1.a.1.0";
}

/* The event of that kind that fits best. */
static pawl_event fitting(world *w, pawl_event_kind kind, char *id, size_t size)
{
    pawl_event ev = { .kind = kind, .time_ms = 100000, .value = "{\"x\":1}" };

    if (kind == PAWL_EV_RECEIPT || kind == PAWL_EV_TIMER) {
        snprintf(id, size, "%s", open_of(w, false, kind == PAWL_EV_TIMER));
        ev.id = id;
        ev.value = kind == PAWL_EV_TIMER ? NULL : "2";
    } else if (kind == PAWL_EV_ANSWER) {
        ev.value = w->m->turns ? "{\"x\":1}" : "true";
    } else if (kind == PAWL_EV_SIGNAL) {
        ev.name = "go";
    } else if (kind == PAWL_EV_TICK || kind == PAWL_EV_CANCEL || kind == PAWL_EV_ADOPT || kind == PAWL_EV_REOPEN) {
        ev.value = NULL;
    }
    return ev;
}

/* '+' accepted, '-' ignored, '!' refused; what is not accepted changes nothing. */
static char meets(world *w, const pawl_machine *m, const pawl_event *ev)
{
    char *before = strdup(world_fold(w->st, w->look));
    uint64_t ignored = pawl_state_ignored(w->st);
    size_t commands = pawl_state_commands(w->st), waits = pawl_state_waits(w->st);
    pawl_err err = { 0 };
    pawl_code rc = pawl_feed(m, w->st, ev, w->s, &err), next = pawl_state_next(w->st);

    CHECK_STR(world_fold(w->st, w->look), before);
    free(before);
    CHECK_INT(pawl_state_next(w->st), next);
    CHECK_INT(pawl_state_commands(w->st), commands);
    CHECK_INT(pawl_state_waits(w->st), waits);
    CHECK_INT(pawl_state_ignored(w->st), ignored + (rc == PAWL_IGNORED));       /* counted */
    if (rc < 0) {
        CHECK_INT(err.code, rc);                                                /* told */
        CHECK(err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    } else {
        CHECK_STR(err.text, "");
    }
    CHECK((pawl_step_entry(w->s) != NULL) == (rc >= 0 && rc != PAWL_IGNORED));
    CHECK((pawl_step_bytes(w->s).size > 0) == (rc >= 0 && rc != PAWL_IGNORED));
    return rc < 0 ? '!' : rc == PAWL_IGNORED ? '-' : '+';
}

static void matrix(char *out, size_t size, char (*one)(world *w, const state_row *r, pawl_event_kind kind))
{
    size_t n = (size_t)snprintf(out, size, "              ");

    for (int k = PAWL_EV_START; k <= PAWL_EV_REOPEN; k++)
        n += (size_t)snprintf(out + n, size - n, " %.3s", pawl_event_kind_name((pawl_event_kind)k));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        n += (size_t)snprintf(out + n, size - n, "\n%-14s", rows[i].name);
        for (int k = PAWL_EV_START; k <= PAWL_EV_REOPEN; k++) {
            world w;
            char c;

            become(&w, &rows[i]);
            c = one(&w, &rows[i], (pawl_event_kind)k);
            n += (size_t)snprintf(out + n, size - n, " %c  ", c);
            world_drop(&w);
        }
        while (out[n - 1] == ' ')
            out[--n] = '\0';
    }
}

static char one_fitting(world *w, const state_row *r, pawl_event_kind kind)
{
    char id[ID_BYTES_MAX + 1];
    pawl_event ev = fitting(w, kind, id, sizeof id);
    pawl_machine *other = kind == PAWL_EV_ADOPT ? machine_row(r, 2) : NULL;
    char c = meets(w, other != NULL ? other : w->m, &ev);

    if (c == '+') {         /* and it can be folded: from here on the world checks */
        w->quiet = false;
        if (other == NULL)
            CHECK(world_feed(w, &ev) >= 0);
    }
    pawl_machine_free(other);
    return c;
}

PAWL_TEST(test_K1_every_state_answers_every_kind_of_event)
{
    char table[4096];

    matrix(table, sizeof table, one_fitting);
    CHECK_STR(table, "               sta inp tic rec tim sig ans upd can ado reo\n"
                     "submitted      +   -   -   -   -   -   -   -   +   -   -\n"
                     "ready          -   -   +   !   !   -   !   +   +   +   -\n"
                     "calling        -   -   -   +   -   -   !   +   +   +   -\n"
                     "sleeping       -   -   -   !   +   -   !   +   +   +   -\n"
                     "asking         -   -   -   !   -   -   +   +   +   +   -\n"
                     "listening      -   -   -   !   -   +   !   +   +   +   -\n"
                     "spawning       -   -   -   +   -   -   !   +   +   +   -\n"
                     "both           -   -   -   +   -   -   +   +   +   +   -\n"
                     "half done      -   -   -   +   -   -   !   +   +   +   -\n"
                     "done           -   -   +   -   -   -   !   +   +   +   -\n"
                     "racing         -   -   -   +   +   -   !   +   +   +   -\n"
                     "gated          -   -   -   !   -   -   +   +   +   +   -\n"
                     "held           -   -   -   !   -   -   +   +   +   +   -\n"
                     "inside         -   -   -   !   !   -   +   +   +   +   -\n"
                     "between turns  -   +   -   -   -   -   +   +   +   +   -\n"
                     "canceling      -   -   -   +   -   -   !   -   +   +   -\n"
                     "completed      -   -   -   -   -   -   -   -   -   -   -\n"
                     "failed         -   -   -   -   -   -   -   -   -   +   +\n"
                     "canceled       -   -   -   -   -   -   -   -   -   -   -\n"
                     "rejected       -   -   -   -   -   -   -   -   -   -   -\n"
                     "reducer idle   -   -   -   !   !   +   !   +   +   +   -\n"
                     "reducer calls  -   -   -   +   !   +   !   +   +   +   -\n"
                     "reducer sleeps -   -   -   !   +   +   !   +   +   +   -\n"
                     "reducer asks   -   -   -   !   !   +   +   +   +   +   -\n"
                     "reducer ends   -   -   -   +   !   -   !   -   +   +   -\n"
                     "reducer over   -   -   -   -   -   -   -   -   -   -   -");
}

/* Another run's id, no JSON, no object, no name, a kind that is none. */
static char one_wrong(world *w, const state_row *r, pawl_event_kind kind)
{
    const pawl_event wrong[] = {
        { .kind = kind, .id = "1.nobody.1.0", .name = "nobody", .value = "{\"nowhere\":1}" },
        { .kind = kind, .id = "run-1~0000000000000001/77.a.1.0", .name = "b b", .value = "[1]" },
        { .kind = kind, .id = "run-2~0000000000000001/1.a.1.0", .value = "\"x\"" },
        { .kind = kind, .id = "run-1~0000000000000002/1.a.1.0", .value = "{\"x\":1,\"x\":2}" },
        { .kind = kind, .id = "", .value = "{" },
        { .kind = kind, .id = "....", .value = "nan" },
        { .kind = kind, .id = "1.a.1.0", .outcome = (pawl_outcome)9, .value = "1", .update = "[]" },
    };
    bool harmless = kind == PAWL_EV_TICK || kind == PAWL_EV_CANCEL || kind == PAWL_EV_ADOPT || kind == PAWL_EV_REOPEN || kind == PAWL_EV_SIGNAL;
    pawl_machine *other;
    char worst = '-';

    (void)r;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char c = meets(w, w->m, &wrong[i]);

        if (c == '+' && !harmless)
            CHECK_FAIL("%s accepts %s number %zu", r->name, pawl_event_kind_name(kind), i);
        if (c == '!' && worst == '-')
            worst = '!';
    }
    CHECK_INT(meets(w, w->m, &(pawl_event){ .kind = (pawl_event_kind)0 }), '!');
    CHECK_INT(meets(w, w->m, &(pawl_event){ .kind = (pawl_event_kind)12 }), '!');
    CHECK_INT(meets(w, w->m, &(pawl_event){ .kind = (pawl_event_kind)-1 }), '!');
    if (kind != PAWL_EV_ADOPT) {        /* another machine gets nothing but an adopt */
        other = machine_row(r, 2);
        CHECK_INT(meets(w, other, &(pawl_event){ .kind = kind, .value = "{}" }), '!');
        pawl_machine_free(other);
    }
    return worst;
}

PAWL_TEST(test_K1_no_state_accepts_a_wrong_event)
{
    char table[4096];

    matrix(table, sizeof table, one_wrong);     /* each checks for itself */
    CHECK_INT(times_in(table, "+"), 0);
}
