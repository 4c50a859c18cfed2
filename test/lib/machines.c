/* machines.c - see machines.h: parses a script and runs it as a node. Nothing is global; one thread. */
#include "base/base.h"
#include "machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_BYTES = 2048 };

/* One statement, split into words: VERB NAME REST [-> TO]. */
typedef struct saying { char text[WORDS_BYTES]; const char *verb, *name, *rest, *to; bool also; } saying;

static char *word_end(char *at)
{
    char *space = strchr(at, ' ');

    if (space == NULL)
        return at + strlen(at);
    *space = '\0';
    return space + 1;
}

static const char *statement_next(const char *at, saying *w)
{
    const char *bar = strstr(at, " | ");
    size_t n = bar != NULL ? (size_t)(bar - at) : strlen(at);
    char *arrow, *verb;

    if (n >= WORDS_BYTES)
        CHECK_FAIL("a statement of %zu bytes", n);
    memcpy(w->text, at, n);
    w->text[n] = '\0';
    w->to = NULL;
    w->also = strncmp(w->text, "also ", 5) == 0;
    verb = w->text + (w->also ? 5 : 0);
    if ((arrow = strstr(verb, " -> ")) != NULL) {
        *arrow = '\0';
        w->to = arrow + 4;
    }
    w->verb = verb;
    if (strcspn(verb, "=") < strcspn(verb, " ")) {
        w->name = w->rest = "";
    } else {
        char *name = word_end(verb);

        w->name = name;
        w->rest = word_end(name);
    }
    return bar != NULL ? bar + 3 : NULL;
}

/* x=JSON, x+=JSON, x:=JSON */
static void statement_write(pawl_step *s, char *text)
{
    char *is = strchr(text, '='), op = is > text ? is[-1] : ' ';
    const char *json = is + 1;

    *(op == '+' || op == ':' ? is - 1 : is) = '\0';
    if (op == '+')
        pawl_extend(s, text, pawl_json(s, json));
    else if (op == ':')
        pawl_overwrite(s, text, pawl_json(s, json));
    else
        pawl_set_json(s, text, json);
}

/* NAME and JSON after the verbs ask and interrupt. */
static const pawl_value *whole_json(pawl_step *s, const saying *w)
{
    const char *text = *w->rest == '\0' ? w->name : pawl_format(s, "%s %s", w->name, w->rest);

    return pawl_json(s, text);
}

static const pawl_value *json_or_none(pawl_step *s, const char *text)
{
    return *text == '\0' ? NULL : pawl_json(s, text);
}

static bool statement_command(pawl_step *s, const saying *w, pawl_code *rc, const pawl_value **v)
{
    uint32_t winner = 0;

    if (strcmp(w->verb, "call") == 0)
        *rc = pawl_call(s, w->name, json_or_none(s, w->rest), v);
    else if (strcmp(w->verb, "ref") == 0)
        *rc = pawl_call(s, w->name, pawl_pack(s, "{s:v}", "it", pawl_ref(s, w->rest)), v);
    else if (strcmp(w->verb, "ask") == 0)
        *rc = pawl_ask(s, whole_json(s, w), v);
    else if (strcmp(w->verb, "signal") == 0)
        *rc = pawl_await_signal(s, w->name, v);
    else if (strcmp(w->verb, "spawn") == 0)
        *rc = pawl_spawn(s, w->name, json_or_none(s, w->rest), v);
    else if (strcmp(w->verb, "sleep") == 0)
        *rc = pawl_sleep(s, strtol(w->name, NULL, 10));
    else if (strcmp(w->verb, "select") == 0)
        *rc = pawl_select(s, &winner);
    else
        return false;
    if (*rc == PAWL_OK && strcmp(w->verb, "select") == 0)
        *v = pawl_pack(s, "u", (uint64_t)winner);
    return true;
}

/* Statements that are not commands. PAWL_OK: continue. */
static pawl_code statement_plain(pawl_step *s, saying *w)
{
    if (strcmp(w->verb, "emit") == 0)
        pawl_emit(s, w->name, pawl_json(s, w->rest));
    else if (strcmp(w->verb, "send") == 0)
        pawl_send(s, w->name, json_or_none(s, w->rest));
    else if (strcmp(w->verb, "goto") == 0)
        return pawl_goto(s, w->name);
    else if (strcmp(w->verb, "halt") == 0)
        return pawl_halt(s);
    else if (strcmp(w->verb, "fail") == 0)
        return pawl_fail(s, pawl_code_named(w->name), "%s", w->rest);
    else if (strcmp(w->verb, "interrupt") == 0)
        return pawl_interrupt(s, whole_json(s, w), w->to);
    else if (strcmp(w->verb, "get") == 0)
        pawl_set_json(s, w->to, pawl_get(s, w->name) != NULL ? pawl_get_json(s, w->name) : "null");
    else
        statement_write(s, w->text);
    return PAWL_OK;
}

pawl_code script_node(pawl_step *s, void *arg)
{
    const char *at = arg;
    pawl_code open = PAWL_OK, rc;
    saying w;

    while (at != NULL && *at != '\0') {
        const pawl_value *v = NULL;

        at = statement_next(at, &w);
        if (!statement_command(s, &w, &rc, &v)) {
            if ((rc = statement_plain(s, &w)) < 0 || strcmp(w.verb, "interrupt") == 0)
                return rc;
            continue;
        }
        if (rc == PAWL_EFFECT && w.to != NULL)
            rc = PAWL_OK;       /* the error is written to a channel */
        if (rc != PAWL_OK && !(w.also && rc > 0))
            return rc;
        if (rc != PAWL_OK && open == PAWL_OK)
            open = rc;
        if (rc == PAWL_OK && w.to != NULL)
            pawl_set(s, w.to, v);
    }
    return open;
}

/* ---- graphs ------------------------------------------------------------------------------------- */

static bool among(const char *names, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = names; p != NULL && (p = strstr(p, name)) != NULL; p += n)
        if ((p == names || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

static void part_ways(pawl_graph *g, const part *parts, const part *p)
{
    bool last = true;
    saying w;

    for (const part *q = parts; q->node != NULL; q++) {
        if (!among(q->after, p->node))
            continue;
        pawl_graph_edge(g, p->node, q->node);
        last = false;
    }
    for (const char *at = p->script; at != NULL && *at != '\0';) {
        at = statement_next(at, &w);
        if (strcmp(w.verb, "send") == 0 || strcmp(w.verb, "goto") == 0)
            pawl_graph_goto(g, p->node, w.name, NULL);
    }
    if (last)
        pawl_graph_edge(g, p->node, PAWL_END);
    if (p->after == NULL)
        pawl_graph_edge(g, PAWL_START, p->node);
}

pawl_graph *script_graph(const char *name, uint32_t version, const pawl_channel *channels, const part *parts)
{
    pawl_graph *g = pawl_graph_new(name, version);

    for (const pawl_channel *c = channels; c != NULL && c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    for (const part *p = parts; p->node != NULL; p++) {
        union { const char *in; void *out; } script = { p->script };

        pawl_graph_node(g, p->node, script_node, script.out);
    }
    for (const part *p = parts; p->node != NULL; p++)
        part_ways(g, parts, p);
    return g;
}

pawl_machine *script_compile(pawl_graph *g)
{
    pawl_err err = { 0 };
    pawl_machine *m = pawl_graph_compile(g, &err);

    if (m == NULL)
        CHECK_FAIL("compile: %s", err.text);
    return m;
}

pawl_machine *script_machine(const char *name, uint32_t version, const pawl_channel *channels, const part *parts)
{
    return script_compile(script_graph(name, version, channels, parts));
}

/* ---- reading journals --------------------------------------------------------------------------- */

const char *line_of(const world *w, size_t n)
{
    static char *line;
    const char *at = w->journal.data, *end = at + w->journal.size, *nl = NULL;

    for (size_t i = 0; i <= n; i++) {
        at = nl != NULL ? nl + 1 : at;
        nl = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (nl == NULL)
            return NULL;
    }
    free(line);
    line = check_copy(at, (size_t)(nl - at));
    return line;
}

size_t times_in(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, what)) != NULL; p += strlen(what))
        n++;
    return n;
}

const char *journal_of(world *w)
{
    buf_char(&w->journal, '\0');
    w->journal.size--;
    return w->journal.data;
}

void world_back(world *w, uint64_t seq)
{
    const char *end = w->journal.data + w->journal.size, *at = memchr(w->journal.data, '\n', w->journal.size);
    pawl_err err = { 0 };

    at++;
    for (uint64_t seen = 0; at < end && seen < seq; at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1)
        seen += *at != '[';
    w->journal.size = (size_t)(at - w->journal.data);
    buf_reset(&w->snapshot);
    pawl_state_free(w->st);
    if (pawl_replay((pawl_bytes){ w->journal.data, w->journal.size }, 0, NULL, &w->st, &err) != PAWL_OK)
        CHECK_FAIL("back to entry %llu: %s", (unsigned long long)seq, err.text);
    w->now = pawl_state_time_ms(w->st) + 1;
}
