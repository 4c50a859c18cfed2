/* ask.c - a question of a run, put to whoever sits at the terminal; and what somebody typed, as an answer to it. */
#include "cli/view.h"
#include "cli/words.h"

#include <stdlib.h>
#include <strings.h>

/* ---- an answer from a text ---------------------------------------------------------------------------- */

typedef struct answering {
    const pawl_wait *w;
    arena mem;
    const char *text;           /* as it was given, and */
    size_t size;
    const char *bare;           /* without blanks around it */
    size_t bare_size;
} answering;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool is_text(const answering *a, const char *word)
{
    return strlen(word) == a->bare_size && strncasecmp(word, a->bare, a->bare_size) == 0;
}

/* Of the schema, when it is one. */
static bool wants(const pawl_wait *w, const char *type)
{
    const char *is = pawl_value_string(pawl_value_get(w->schema, "type"));

    return is != NULL && strcmp(is, type) == 0;
}

static const pawl_value *as_json(answering *a) { return value_parse(&a->mem, a->bare, a->bare_size, "the answer", NULL); }
static const pawl_value *as_string(answering *a) { return value_string(&a->mem, a->text, a->size); }

static bool says(const answering *a, const pawl_value *v)
{
    const char *text = pawl_value_string(v);

    return text != NULL && strlen(text) == a->bare_size && memcmp(text, a->bare, a->bare_size) == 0;
}

/* One of the options, by what it says or stands for, or else by its number. */
static const pawl_value *as_option(answering *a)
{
    pawl_iter it = pawl_iter_of(a->w->options);
    const pawl_value *option, *json = as_json(a);

    while ((option = pawl_iter_next(&it, NULL)) != NULL) {
        if (says(a, value_option(option)) || says(a, pawl_value_get(option, "label")) || pawl_value_equal(value_option(option), json))
            return value_option(option);
    }
    return pawl_value_int(json) < 1 ? NULL : value_option(pawl_value_at(a->w->options, (size_t)pawl_value_int(json) - 1));
}

static const pawl_value *as_truth(answering *a)
{
    if (a->w->kind != PAWL_WAIT_APPROVAL && !wants(a->w, "boolean"))
        return NULL;
    if (is_text(a, "y") || is_text(a, "yes") || is_text(a, "true"))
        return value_bool(&a->mem, true);
    return is_text(a, "n") || is_text(a, "no") || is_text(a, "false") ? value_bool(&a->mem, false) : NULL;
}

/* In quotes it is JSON; else it is the text itself. */
static const pawl_value *as_wanted_string(answering *a)
{
    const pawl_value *quoted;

    if (!wants(a->w, "string"))
        return NULL;
    quoted = a->bare_size > 1 && *a->bare == '"' ? as_json(a) : NULL;
    return quoted != NULL ? quoted : as_string(a);
}

/* The ways to take a text, in order: the first that fits is meant. */
static const pawl_value *(*const ways[])(answering *a) = { as_option, as_truth, as_wanted_string, as_json, as_string };

static bool is_option(const pawl_wait *w, const pawl_value *v)
{
    return pawl_value_size(w->options) == 0 || (w->kind == PAWL_WAIT_APPROVAL && pawl_value_type(v) == PAWL_TYPE_BOOL) || value_one_of(w->options, v);
}

/* An approval that says no more wants a yes or a no. */
static bool is_verdict(const pawl_wait *w, const pawl_value *v)
{
    return w->kind != PAWL_WAIT_APPROVAL || w->schema != NULL || pawl_value_size(w->options) > 0 || pawl_value_type(v) == PAWL_TYPE_BOOL;
}

static const char *name_of(const pawl_wait *w)
{
    return w->node != NULL && *w->node != '\0' ? w->node : w->slot != NULL ? w->slot : "the answer";
}

static pawl_code unfit(const pawl_wait *w, const char *text, const pawl_err *why, pawl_err *err)
{
    buf due, said;
    pawl_code rc;

    buf_init(&due, NULL);
    buf_init(&said, NULL);
    words_fit(&said, text, strlen(text), 40);
    if (pawl_value_size(w->options) > 0) {
        buf_fmt(&due, "a number from 1 to %zu, or one of:", pawl_value_size(w->options));
        for (size_t i = 0; i < pawl_value_size(w->options); i++) {
            buf_text(&due, i == 0 ? " " : ", ");
            words_option(&due, pawl_value_at(w->options, i));
        }
    } else if (w->kind == PAWL_WAIT_APPROVAL && w->schema == NULL) {
        buf_text(&due, "yes or no");
    } else {
        words_schema(&due, w->schema);
    }
    buf_char(&due, '\0');
    buf_char(&said, '\0');
    if (due.failed || said.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for an answer", name_of(w));
    else if (due.size > 1)
        rc = fail(err, PAWL_INVALID, "%s: \"%s\" does not fit: answer with %s", name_of(w), said.data, due.data);
    else
        rc = fail(err, PAWL_INVALID, "%s", why->text);
    buf_free(&due);
    buf_free(&said);
    return rc;
}

pawl_code view_answer(const pawl_wait *w, const char *text, buf *json, pawl_err *err)
{
    answering a = { .w = w, .text = text, .size = strlen(text), .bare = text };
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = PAWL_PENDING;

    while (is_blank(*a.bare))
        a.bare++;
    a.bare_size = strlen(a.bare);
    while (a.bare_size > 0 && is_blank(a.bare[a.bare_size - 1]))
        a.bare_size--;
    arena_init(&a.mem, NULL, 1024);
    for (size_t i = 0; i < sizeof ways / sizeof *ways && rc != PAWL_OK; i++) {
        const pawl_value *v = ways[i](&a);

        if (v == NULL || !is_option(w, v) || !is_verdict(w, v))
            continue;
        rc = w->schema == NULL ? PAWL_OK : schema_check(w->schema, v, name_of(w), &why);
        if (rc == PAWL_OK)
            canon(json, v);
    }
    if (a.mem.failed || json->failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for an answer", name_of(w));
    else if (rc != PAWL_OK)
        rc = unfit(w, text, &why, err);
    arena_free(&a.mem);
    return rc;
}

/* ---- the question ------------------------------------------------------------------------------------------ */

/* How much of a line goes into one row: up to the last blank that fits, else as much as fits. */
static size_t row_of(const char *text, size_t size, size_t room)
{
    size_t n = size, blank;

    while (n > 1 && cli_width(text, n) > room)
        for (n--; n > 1 && (text[n] & 0xc0) == 0x80; n--)
            continue;
    for (blank = n; n < size && blank > 1; blank--)
        if (text[blank] == ' ')
            return blank;
    return n;
}

/* Rows of at most `columns`, indented. */
static void wrapped(buf *out, const char *text, size_t size, size_t indent, size_t columns)
{
    size_t room = columns > indent + 8 ? columns - indent : 8, n;
    buf clean;

    buf_init(&clean, NULL);
    for (const char *at = text, *end = text + size; at < end; at += n + 1) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));

        n = (size_t)((nl != NULL ? nl : end) - at);
        buf_reset(&clean);
        cli_clean(&clean, at, n);
        for (size_t from = 0, row; from < clean.size; from += row) {
            row = row_of(clean.data + from, clean.size - from, room);
            buf_fmt(out, "%*s", (int)indent, "");
            buf_put(out, clean.data + from, row);
            buf_char(out, '\n');
            while (from + row < clean.size && clean.data[from + row] == ' ')
                from++;
        }
        if (clean.size == 0)
            buf_char(out, '\n');
        out->failed = out->failed || clean.failed;
    }
    buf_free(&clean);
}

/* The run's own name, as it stands in the wait's id. */
static void run_of(buf *out, const pawl_wait *w)
{
    const char *id = w->id != NULL ? w->id : "";

    buf_put(out, id, strcspn(id, "~"));
}

static void say_options(buf *out, const pawl_wait *w, size_t columns)
{
    pawl_iter it = pawl_iter_of(w->options);
    const pawl_value *option;
    buf text;

    buf_init(&text, NULL);
    for (size_t i = 1; (option = pawl_iter_next(&it, NULL)) != NULL; i++) {
        buf_reset(&text);
        words_option(&text, option);
        buf_fmt(out, "%6zu  ", i);
        words_fit(out, text.data, text.size, columns > 16 ? columns - 8 : 8);
        buf_char(out, '\n');
    }
    out->failed = out->failed || text.failed;
    buf_free(&text);
}

/* What fits, until when, and what becomes of it then. */
static void say_terms(buf *out, const pawl_wait *w, size_t columns)
{
    char when[32];
    buf text;

    buf_init(&text, NULL);
    if (w->kind != PAWL_WAIT_APPROVAL && pawl_value_size(w->options) == 0)
        words_schema(&text, w->schema);
    if (text.size > 0) {
        buf_text(out, "    answer: ");
        words_fit(out, text.data, text.size, columns > 20 ? columns - 12 : 8);
        buf_char(out, '\n');
    } else if (w->schema == NULL && w->kind == PAWL_WAIT_QUESTION && pawl_value_size(w->options) == 0) {
        buf_text(out, "    answer: a text or JSON; any will do\n");
    }
    if (w->expires_ms > 0 && w->otherwise != NULL) {
        cli_time(when, w->expires_ms);
        buf_reset(&text);
        buf_fmt(&text, "at %s, without an answer, it is: ", when);
        if (w->kind == PAWL_WAIT_APPROVAL && pawl_value_type(w->otherwise) == PAWL_TYPE_BOOL)
            buf_text(&text, pawl_value_bool(w->otherwise) ? "yes" : "no");
        else
            words_prompt(&text, w->otherwise);
        wrapped(out, text.data, text.size, 4, columns);
    }
    out->failed = out->failed || text.failed;
    buf_free(&text);
}

/* What becomes of the run by what is not a plain answer. */
static void say_ways(buf *out, const pawl_wait *w, const char *no, size_t columns)
{
    bool approval = w->kind == PAWL_WAIT_APPROVAL;
    buf text;

    buf_init(&text, NULL);
    if (approval && no != NULL) {
        buf_fmt(&text, "no: %s", no);
        wrapped(out, text.data, text.size, 4, columns);
    }
    buf_reset(&text);
    buf_fmt(&text, "%s: keeps the question; `pawl %s ", approval ? "later" : "an empty line", approval ? "approve" : "answer");
    run_of(&text, w);
    buf_fmt(&text, "%s` goes on", approval ? "" : " VALUE");
    wrapped(out, text.data, text.size, 4, columns);
    out->failed = out->failed || text.failed;
    buf_free(&text);
}

static bool say_question(const cli_call *c, const pawl_wait *w, const char *no)
{
    size_t columns = (size_t)cli_columns(2);
    const char *bold = c->err_colour ? "\x1b[1m" : "", *plain = c->err_colour ? "\x1b[0m" : "";
    bool good;
    buf out, text;

    buf_init(&out, NULL);
    buf_init(&text, NULL);
    words_prompt(&text, w->prompt);
    buf_text(&out, "\n  ");
    words_fit(&out, name_of(w), strlen(name_of(w)), columns - 24);
    buf_text(&out, w->kind == PAWL_WAIT_APPROVAL ? " asks for approval" : " asks");
    if (w->asked_of != NULL) {
        buf_text(&out, ", of ");
        words_fit(&out, w->asked_of, strlen(w->asked_of), columns / 2);
    }
    buf_fmt(&out, "\n%s", bold);
    wrapped(&out, text.data, text.size, 4, columns);
    buf_text(&out, plain);
    words_about(&out, w->about, "    ", columns > 24 ? columns - 24 : columns);
    say_options(&out, w, columns);
    say_terms(&out, w, columns);
    say_ways(&out, w, no, columns);
    good = !out.failed && !text.failed;
    if (good)
        fwrite(out.data, 1, out.size, stderr);
    buf_free(&out);
    buf_free(&text);
    return good;
}

static void say_why(const char *text)
{
    buf out;

    buf_init(&out, NULL);
    wrapped(&out, text, strlen(text), 2, (size_t)cli_columns(2));
    if (!out.failed)
        fwrite(out.data, 1, out.size, stderr);
    buf_free(&out);
}

static bool is_later(const pawl_wait *w, const char *line)
{
    if (w->kind == PAWL_WAIT_APPROVAL)
        return strcasecmp(line, "l") == 0 || strcasecmp(line, "later") == 0;
    return *line == '\0';
}

asked view_ask(cli_call *c, const pawl_wait *w, const char *no, buf *answer)
{
    const char *due = w->kind == PAWL_WAIT_APPROVAL ? "  [y]es, [n]o, [l]ater: " : pawl_value_size(w->options) > 0 ? "  number or text: " : "  > ";
    char *line = NULL;
    size_t room = 0;
    asked how = ASKED_GONE;

    if (!say_question(c, w, no))
        return ASKED_GONE;
    clearerr(stdin);            /* an end that was typed at another question */
    for (;;) {
        pawl_err err = { PAWL_OK, "" };
        ssize_t n;

        fputs(due, stderr);
        fflush(stderr);
        if ((n = getline(&line, &room, stdin)) < 0) {
            fputc('\n', stderr);
            break;
        }
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = '\0';
        if (is_later(w, line)) {
            how = ASKED_LATER;
            break;
        }
        if (strlen(line) == (size_t)n && view_answer(w, line, answer, &err) == PAWL_OK) {
            how = ASKED_ANSWER;
            break;
        }
        buf_reset(answer);
        say_why(err.code != PAWL_OK ? err.text : "an answer has no NUL in it");
    }
    free(line);
    return how;
}
