/* current_state_test.c - a run as it stands now is read by its snapshot: what is read does not grow with the journal, and it is the same state. */
#include "history/current_state.h"
#include "lib/engine_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 600, MANY = 6000, NOTE = 300 };

static size_t lines_read;
static bool spoil;
static const pawl_store_verbs *real;

typedef struct passing { pawl_line_fn *fn; void *ctx; } passing;

static bool pass_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    const passing *p = ctx;

    lines_read++;
    if (kind == PAWL_LINE_SNAPSHOT && spoil)
        return p->fn(p->ctx, kind, seq, (pawl_bytes){ "{\"format\":1}", 12 });
    return p->fn(p->ctx, kind, seq, line);
}

static pawl_code load_counted(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    passing p = { fn, ctx };

    return real->load(s, run, pass_line, &p, err);
}

static pawl_code read_counted(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    passing p = { fn, ctx };

    return real->read(s, run, after, upto, pass_line, &p, err);
}

static pawl_code goes_round(pawl_step *s, void *arg)
{
    const int64_t *last = arg;
    char note[NOTE];

    memset(note, 'n', sizeof note - 1);
    note[sizeof note - 1] = '\0';
    pawl_set_int(s, "count", 1);
    pawl_set_string(s, "note", note);
    if (pawl_get_int(s, "count") % 100 == 0)
        pawl_set_int(s, "list", pawl_get_int(s, "count"));
    return pawl_get_int(s, "count") + 1 >= *last ? pawl_goto(s, PAWL_END) : pawl_follow(s);
}

static pawl_machine *round_machine(int64_t *last)
{
    pawl_graph *g = pawl_graph_new("round", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_channel(g, "count", PAWL_RULE_SUM);
    pawl_graph_channel(g, "note", PAWL_RULE_LAST);
    pawl_graph_channel(g, "list", PAWL_RULE_APPEND);
    pawl_graph_node(g, "go", goes_round, last);
    pawl_graph_edge(g, PAWL_START, "go");
    pawl_graph_edge(g, "go", "go");
    pawl_graph_max_steps(g, 1000000);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

/* How many lines are read of a run of so many entries; its state is what the whole journal says. */
static size_t read_of(int64_t entries)
{
    pawl_store *s = pawl_store_memory(NULL);
    pawl_step *step = pawl_step_new(NULL);
    pawl_store_verbs verbs;
    pawl_err err = { PAWL_OK, "" };
    current_state now;
    pawl_state *folded = NULL;
    size_t n;
    char *text;
    town t;

    town_begin(&t, round_machine(&entries), s);
    if (town_run(&t, "r", "{\"count\":0}") != PAWL_HALTED)
        CHECK_FAIL("%s", t.err.text);
    real = s->verbs;
    verbs = *real;
    verbs.load = load_counted;
    verbs.read = read_counted;
    s->verbs = &verbs;
    for (int i = 0; i < 2; i++) {
        spoil = i == 1;
        lines_read = 0;
        if (current_state_load(&now, s, "r", &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
        n = i == 0 ? lines_read : n;
        CHECK_INT(pawl_history_state(s, "r", 0, &folded, &err), PAWL_OK);
        CHECK(pawl_state_json(folded, step, &err) != NULL);
        text = check_copy(pawl_state_json(folded, step, &err), strlen(pawl_state_json(folded, step, &err)));
        CHECK_STR(pawl_state_json(now.st, step, &err), text);
        CHECK_INT(pawl_state_seq(now.st), pawl_state_seq(folded));
        free(text);
        pawl_state_free(folded);
        current_state_free(&now);
    }
    CHECK_INT(current_state_load(&now, s, "nobody", &err), PAWL_GONE);
    current_state_free(&now);
    s->verbs = real;
    pawl_step_free(step);
    town_end(&t);
    return n;
}

PAWL_TEST(test_K11_a_run_as_it_stands_is_read_by_its_snapshot)
{
    size_t few = read_of(FEW), many = read_of(MANY);

    if (few > FEW - 100 || many > few + 300)
        CHECK_FAIL("%zu lines are read of %d entries, %zu of %d", few, (int)FEW, many, (int)MANY);
}
