/* waits.c - the open waits of a run: printed as text or JSON, and found by what a person typed.
 *
 * Called by run_driver.c and the verbs, on the main thread. What it finds is in the session's arena. */
#include "cli/run_driver.h"
#include "cli/status_word.h"
#include "cli/ui/format.h"

#include <string.h>

enum { PROMPT_COLUMNS = 1000 };

const char *wait_kind_text(pawl_wait_kind kind)
{
    switch (kind) {
    case PAWL_WAIT_APPROVAL: return "an approval";
    case PAWL_WAIT_QUESTION: return "an answer";
    case PAWL_WAIT_INPUT: return "input";
    case PAWL_WAIT_SIGNAL: return "a signal";
    }
    return "something else";
}

static void put_no(const session *s, const pawl_wait *w, const char *run, buf *b)
{
    buf no;

    buf_init(&no, NULL);
    session_no(s, run, w, &no);
    if (no.size > 0)
        buf_fmt(b, "    (%.*s)", (int)no.size, no.data);
    buf_char(b, '\n');
    b->failed = b->failed || no.failed;
    buf_free(&no);
}

static void print_how(const session *s, const pawl_wait *w, const char *run, bool only, buf *b)
{
    const char *slot = only ? "" : w->slot;

    switch (w->kind) {
    case PAWL_WAIT_APPROVAL:
        buf_fmt(b, "    yes: pawl approve %s%s%s\n    no:  pawl deny %s%s%s", run, only ? "" : " ", slot, run, only ? "" : " ", slot);
        put_no(s, w, run, b);
        return;
    case PAWL_WAIT_QUESTION:
        buf_fmt(b, "    answer: pawl answer %s%s%s VALUE\n", run, only ? "" : " ", slot);
        return;
    case PAWL_WAIT_INPUT:
        buf_fmt(b, "    go on: pawl send %s %s\n", run, session_is_agent(s) ? "TEXT" : "JSON");
        return;
    case PAWL_WAIT_SIGNAL:
        buf_fmt(b, "    send it: pawl send %s --signal %s JSON\n", run, s->file != NULL && file_node_find(s->file, w->node) != NULL &&
                file_node_find(s->file, w->node)->signal != NULL ? file_node_find(s->file, w->node)->signal : "NAME");
        return;
    }
}

/* One line of `text`, which is freed. */
static void put_line(buf *b, buf *text)
{
    words_fit(b, text->data != NULL ? text->data : "", text->size, PROMPT_COLUMNS);
    buf_char(b, '\n');
    b->failed = b->failed || text->failed;
    buf_free(text);
}

static void put_prompt(buf *b, const pawl_value *prompt)
{
    buf text;

    buf_init(&text, NULL);
    words_prompt(&text, prompt);
    buf_text(b, "    ");
    put_line(b, &text);
}

static void put_option(buf *b, size_t number, const pawl_value *option)
{
    buf text;

    buf_init(&text, NULL);
    words_option(&text, option, true);
    buf_fmt(b, "    %zu. ", number);
    put_line(b, &text);
}

static void print_wait(session *s, const pawl_wait *w, const char *run, bool only)
{
    const bool doubt = doubt_is(w);
    const pawl_value *about = w->about != NULL || !doubt ? w->about : doubt_command(&s->mem, session_store(s), run, w->id, w->node);
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s waits for %s", run, wait_kind_text(w->kind));
    if (*w->node != '\0')
        buf_fmt(&b, " at %s", w->node);
    if (w->element != NULL) {
        buf_char(&b, ' ');
        words_element(&b, w->element);
    }
    buf_text(&b, "\n");
    if (doubt)
        doubt_print(w, about, &b);
    else if (w->prompt != NULL)
        put_prompt(&b, w->prompt);
    words_about(&b, about, "    ");
    words_signers(&b, w->approvers, w->signed_by, "    ");
    words_questions(&b, w->about, "    ", PROMPT_COLUMNS);
    for (size_t i = 0; i < pawl_value_size(w->options); i++)
        put_option(&b, i + 1, pawl_value_at(w->options, i));
    if (doubt)
        doubt_print_ways(w, run, only, &b);
    else
        print_how(s, w, run, only, &b);
    if (!b.failed)
        fwrite(b.data, 1, b.size, stderr);
    buf_free(&b);
}

/* The session's own run is read from the engine's loaded state (it is loaded now, and driven with later); another run from its journal. */
static pawl_code asks_here(session *s, const char *run, asks *out, pawl_err *err)
{
    pawl_state *st = s->engine != NULL && strcmp(run, s->run) == 0 ? pawl_run_state(s->engine, run, NULL) : NULL;

    return st != NULL ? asks_under(session_store(s), &s->mem, st, NULL, out, err) : asks_read(session_store(s), &s->mem, run, out, err);
}

bool session_asks(session *s, const char *run, asks *out)
{
    return asks_here(s, run, out, NULL) == PAWL_OK;
}

void print_asks(session *s, const asks *all)
{
    for (size_t i = 0; i < all->n; i++)
        print_wait(s, &all->all[i].w, all->all[i].run, all->all[i].open == 1);
}

const pawl_value *signed_names(arena *mem, const pawl_value *signed_by)
{
    const pawl_value *out = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(signed_by);

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        out = value_push(mem, out, pawl_value_get(pawl_value_get(one, "value"), "name"));
    return out;
}

const pawl_value *wait_json(arena *mem, const pawl_wait *w)
{
    const pawl_value *v = value_pack(mem, NULL, "{s:s,s:s,s:s,s:s,s:i}", "id", w->id, "kind", pawl_wait_kind_name(w->kind), "node", w->node, "slot", w->slot,
                                     "asked_ms", w->asked_ms);

    if (w->element != NULL)
        v = value_with(mem, v, "element", w->element);
    if (w->prompt != NULL)
        v = value_with(mem, v, "prompt", w->prompt);
    if (w->schema != NULL)
        v = value_with(mem, v, "schema", w->schema);
    if (w->options != NULL)
        v = value_with(mem, v, "options", w->options);
    if (w->expires_ms > 0)
        v = value_with(mem, v, "expires_ms", value_int(mem, w->expires_ms));
    if (w->approvers != NULL)
        v = value_with(mem, value_with(mem, v, "approvers", w->approvers), "signed_by", signed_names(mem, w->signed_by));
    return v;
}

const pawl_value *asks_json(arena *mem, const asks *all)
{
    const pawl_value *list = value_pack(mem, NULL, "[]");

    for (size_t i = 0; i < all->n; i++) {
        const ask *a = &all->all[i];

        list = value_push(mem, list, value_with(mem, wait_json(mem, &a->w), "run", value_string(mem, a->run, strlen(a->run))));
    }
    return list;
}

/* No open wait matches: if it was answered before, the error has that answer. */
static pawl_code wait_none(session *s, const asks *all, const char *within, const char *given, pawl_err *err)
{
    pawl_head head;
    past_answer before = {0};

    if ((given != NULL || all->n == 0 || all->works) && past_answer_find(s, within, given, &before))
        return past_answer_conflict(within, &before, err);
    if (given != NULL && all->n > 0)
        return fail(err, PAWL_INVALID, "%s has no open wait \"%.64s\"", within, given);
    if (all->n > 0 && !all->works)
        return fail(err, PAWL_INVALID, "%s has no open question: it waits for %s%s", within, wait_kind_text(all->all[0].w.kind),
                    all->all[0].w.kind != PAWL_WAIT_INPUT ? "" : session_is_agent(s) ? "; send it: pawl send RUN TEXT"
                    : "; send it: pawl send RUN JSON");
    if (session_store(s)->verbs->head(session_store(s), within, &head, err) != PAWL_OK)
        return err->code;
    return fail(err, PAWL_INVALID, "%s is %s and has no open question", within, run_word(session_store(s), &head));
}

static bool ask_fits(const ask *a, const char *given)
{
    if (given == NULL)
        return a->w.kind == PAWL_WAIT_APPROVAL || a->w.kind == PAWL_WAIT_QUESTION;
    return strcmp(given, a->w.id) == 0 || strcmp(given, a->w.slot) == 0 || strcmp(given, a->w.node) == 0 || strcmp(given, a->run) == 0;
}

pawl_code wait_find(session *s, const char *within, const char *given, ask *out, pawl_err *err)
{
    size_t fits = 0;
    asks all;
    pawl_code rc = asks_here(s, within, &all, err);

    for (size_t i = 0; rc == PAWL_OK && i < all.n; i++)
        if (ask_fits(&all.all[i], given)) {
            fits++;
            *out = all.all[i];
        }
    if (rc != PAWL_OK || fits == 1)
        return rc;
    if (fits == 0)
        return wait_none(s, &all, within, given, err);
    print_asks(s, &all);
    return given == NULL ? fail(err, PAWL_INVALID, "%s has %zu open questions: name one of those listed above", within, fits)
                         : fail(err, PAWL_INVALID, "%s has %zu open waits that match \"%.64s\": name one of those listed above", within, fits, given);
}
