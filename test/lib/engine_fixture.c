/* engine_fixture.c - see engine_fixture.h. Owns the engine, and with it machine and store; one thread. */
#include "engine_fixture.h"

#include <stdlib.h>
#include <string.h>

static int64_t town_now(void *ctx)
{
    return ((town *)ctx)->now;
}

static void town_sleep(void *ctx, int64_t time_ms)
{
    town *t = ctx;

    buf_fmt(&t->log, "sleep %lld; ", (long long)(time_ms - t->now));
    if (time_ms > t->now)
        t->now = time_ms;
}

void town_begin(town *t, pawl_machine *m, pawl_store *store)
{
    const pawl_clock clock = { town_now, town_sleep, t };

    *t = (town){ .now = 1000 };
    buf_init(&t->log, NULL);
    if (m == NULL)
        CHECK_FAIL("there is no machine");
    t->e = pawl_engine_new(m, store != NULL ? store : pawl_store_memory(NULL), &t->err);
    CHECK(t->e != NULL);
    pawl_engine_clock(t->e, &clock);
}

void town_end(town *t)
{
    union { const char *in; void *out; } old = { t->journal.data };

    free(old.out);
    pawl_engine_free(t->e);
    buf_free(&t->log);
}

void town_log(town *t, const char *expected)
{
    buf_char(&t->log, '\0');
    CHECK_STR(t->log.data, expected);
    buf_reset(&t->log);
}

pawl_code town_run(town *t, const char *run, const char *input)
{
    t->err = (pawl_err){ PAWL_OK, "" };
    return pawl_run(t->e, run, input, &t->err);
}

/* Logs the call, and replies with the next of t->replies. */
pawl_code town_act(const pawl_job *cmd, pawl_reply *reply, void *arg)
{
    static const struct { const char *name; pawl_code code; } codes[] = {
        { "!transient", PAWL_TRANSIENT }, { "!timeout", PAWL_TIMEOUT }, { "!io", PAWL_IO }, { "!denied", PAWL_DENIED }, { "!unknown", PAWL_UNKNOWN },
    };
    town *t = arg;
    const char *text = t->replies[t->reply % TOWN_REPLIES];

    buf_fmt(&t->log, "%s ", strchr(cmd->id, '/') + 1);
    if (cmd->args != NULL)
        canon(&t->log, cmd->args);
    buf_text(&t->log, "; ");
    t->calls++;
    if (text == NULL)
        return PAWL_OK;
    if (t->replies[(t->reply + 1) % TOWN_REPLIES] != NULL)
        t->reply++;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strncmp(text, codes[i].name, strlen(codes[i].name)) == 0)
            return pawl_reply_fail(reply, codes[i].code, "%s", text + strlen(codes[i].name) + (text[strlen(codes[i].name)] == ' '));
    pawl_reply_json(reply, text);
    return PAWL_OK;
}

void town_acts(town *t, const char *effect, pawl_class cls)
{
    CHECK_INT(pawl_engine_effect(t->e, effect, town_act, t, cls, &t->err), PAWL_OK);
}

pawl_bytes town_journal(town *t, const char *run)
{
    union { const char *in; void *out; } old = { t->journal.data };

    free(old.out);
    t->journal = pawl_store_journal(pawl_engine_store(t->e), run, NULL);
    return t->journal;
}

static bool see_run(void *ctx, const pawl_head *head)
{
    buf *b = ctx;

    if (b->size > 0)
        buf_char(b, ' ');
    buf_text(b, head->run);
    return true;
}

void town_runs(town *t, const char *expected)
{
    pawl_store *s = pawl_engine_store(t->e);
    const pawl_filter all = { .limit = 100 };
    buf b;

    buf_init(&b, NULL);
    CHECK_INT(s->verbs->list(s, &all, see_run, &b, NULL), PAWL_OK);
    buf_char(&b, '\0');
    CHECK_STR(b.data, expected);
    buf_free(&b);
}

bool town_stored(town *t, const char *run, const char *text)
{
    pawl_bytes journal = town_journal(t, run);
    char *copy = check_copy(journal.data, journal.size);
    bool there = strstr(copy, text) != NULL;

    free(copy);
    return there;
}

void town_verify(town *t, const char *run)
{
    pawl_verdict v;
    pawl_err err = { PAWL_OK, "" };

    if (pawl_verify(pawl_engine_machine(t->e), town_journal(t, run), NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("%s: entry %llu: %s", run, (unsigned long long)v.seq, err.text);
}

/* ---- machines ------------------------------------------------------------------------------------- */

static pawl_code draft(pawl_step *s, void *arg)
{
    const pawl_value *text;
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:v}", "about", pawl_get(s, "request")), &text);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "draft", text);
    return PAWL_OK;
}

static pawl_code publish(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_emit(s, "artifact", pawl_get(s, "draft"));
    return PAWL_OK;
}

pawl_machine *town_essay(const pawl_limits *limits)
{
    pawl_graph *g = pawl_graph_new("essay", 1);

    pawl_graph_channel(g, "request", PAWL_RULE_LAST);
    pawl_graph_channel(g, "draft", PAWL_RULE_LAST);
    if (limits != NULL)
        pawl_graph_effect(g, "llm", limits);
    pawl_graph_node(g, "draft", draft, NULL);
    pawl_graph_node(g, "publish", publish, NULL);
    pawl_graph_chain(g, PAWL_START, "draft", "publish", PAWL_END, NULL);
    pawl_graph_gate(g, "publish", "publish it?");
    pawl_graph_gate_no(g, "publish", "draft");
    return pawl_graph_compile(g, NULL);
}

pawl_machine *town_lines(pawl_flow_linear_fn *fn, const char *secret)
{
    const pawl_channel channels[] = { { .name = "out" }, { .name = "key", .secret = secret } };

    return pawl_flow_linear("lines", 1, channels, secret != NULL ? 2 : 1, fn, NULL, 0, NULL, NULL);
}
