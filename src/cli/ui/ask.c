/* ask.c - asks a question of a run at the terminal, and turns what is typed, or given as an argument, into an answer.
 *
 * Called by run_driver.c and the verb answer, on the main thread. Owns nothing. */
#include "host/open_questions.h"
#include "cli/ui/view.h"
#include "cli/ui/format.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/* ---- an answer from a text ---------------------------------------------------------------------------- */

typedef struct typed_answer {
    const pawl_wait *w;
    bool several;               /* several options may be chosen: the answer is an array */
    arena mem;
    const char *text;           /* as it was given */
    size_t size;
    const char *bare;           /* without surrounding blanks */
    size_t bare_size;
} typed_answer;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool is_text(const typed_answer *a, const char *word)
{
    return strlen(word) == a->bare_size && strncasecmp(word, a->bare, a->bare_size) == 0;
}

/* Whether the schema asks for this type. */
static bool wants(const pawl_wait *w, const char *type)
{
    const char *is = pawl_value_string(pawl_value_get(w->schema, "type"));

    return is != NULL && strcmp(is, type) == 0;
}

static const pawl_value *as_json(typed_answer *a) { return value_parse(&a->mem, a->bare, a->bare_size, "the answer", NULL); }
static const pawl_value *as_string(typed_answer *a) { return value_string(&a->mem, a->text, a->size); }

static bool text_equals(const pawl_value *v, const char *text, size_t size)
{
    return pawl_value_string(v) != NULL && pawl_value_size(v) == size && memcmp(pawl_value_string(v), text, size) == 0;
}

/* The option that the text names by its label or value, else by its number. */
static const pawl_value *picked(typed_answer *a, const char *text, size_t size)
{
    pawl_iter it = pawl_iter_of(a->w->options);
    const pawl_value *option, *json = value_parse(&a->mem, text, size, "the answer", NULL);

    while ((option = pawl_iter_next(&it, NULL)) != NULL)
        if (text_equals(value_option(option), text, size) || text_equals(pawl_value_get(option, "label"), text, size) ||
            pawl_value_equal(value_option(option), json))
            return value_option(option);
    return pawl_value_int(json) < 1 ? NULL : value_option(pawl_value_at(a->w->options, (size_t)pawl_value_int(json) - 1));
}

/* "1, 3", each once; a label may contain a comma. */
static const pawl_value *as_options(typed_answer *a)
{
    const pawl_value *all = value_pack(&a->mem, NULL, "[]"), *one = picked(a, a->bare, a->bare_size);
    const char *p = a->bare, *end = p + a->bare_size;

    if (one != NULL)
        return value_push(&a->mem, all, one);
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *next = comma != NULL ? comma + 1 : end, *to = comma != NULL ? comma : end;

        while (p < to && is_blank(*p))
            p++;
        while (to > p && is_blank(to[-1]))
            to--;
        if ((one = picked(a, p, (size_t)(to - p))) == NULL)
            return NULL;
        if (!value_one_of(all, one))
            all = value_push(&a->mem, all, one);
        p = next;
    }
    return pawl_value_size(all) > 0 ? all : NULL;
}

static const pawl_value *as_option(typed_answer *a)
{
    return a->several ? as_options(a) : picked(a, a->bare, a->bare_size);
}

static const pawl_value *as_truth(typed_answer *a)
{
    if (a->w->kind != PAWL_WAIT_APPROVAL && !wants(a->w, "boolean"))
        return NULL;
    if (is_text(a, "y") || is_text(a, "yes") || is_text(a, "true"))
        return value_bool(&a->mem, true);
    return is_text(a, "n") || is_text(a, "no") || is_text(a, "false") ? value_bool(&a->mem, false) : NULL;
}

/* In quotes it is JSON; else the text itself. */
static const pawl_value *as_wanted_string(typed_answer *a)
{
    const pawl_value *quoted;

    if (!wants(a->w, "string"))
        return NULL;
    quoted = a->bare_size > 1 && *a->bare == '"' ? as_json(a) : NULL;
    return quoted != NULL ? quoted : as_string(a);
}

/* Ways to read the text, in order; the first that fits is used. */
static const pawl_value *(*const ways[])(typed_answer *a) = { as_option, as_truth, as_wanted_string, as_json, as_string };

static bool is_option(const pawl_wait *w, const pawl_value *v)
{
    return pawl_value_size(w->options) == 0 || (w->kind == PAWL_WAIT_APPROVAL && pawl_value_type(v) == PAWL_TYPE_BOOL) || value_one_of(w->options, v);
}

/* An approval without a schema takes yes or no. */
static bool is_verdict(const pawl_wait *w, const pawl_value *v)
{
    return w->kind != PAWL_WAIT_APPROVAL || w->schema != NULL || pawl_value_size(w->options) > 0 || pawl_value_type(v) == PAWL_TYPE_BOOL;
}

/* Who asks: the node, or the run. */
static const char *name_of(const pawl_wait *w, char run[RUN_ID_BYTES])
{
    if (w->node != NULL && *w->node != '\0')
        return w->node;
    asks_run_of(w->id != NULL ? w->id : "", run);
    return *run != '\0' ? run : "the answer";
}

static pawl_code unfit(const typed_answer *a, const char *name, const pawl_err *why, pawl_err *err)
{
    const pawl_wait *w = a->w;
    buf due, said;
    pawl_code rc;

    buf_init(&due, NULL);
    buf_init(&said, NULL);
    words_fit(&said, a->text, a->size, 40);
    if (pawl_value_size(w->options) > 0) {
        buf_fmt(&due, a->several ? "numbers from 1 to %zu, with commas, or some of:" : "a number from 1 to %zu, or one of:", pawl_value_size(w->options));
        for (size_t i = 0; i < pawl_value_size(w->options); i++) {
            buf_text(&due, i == 0 ? " " : ", ");
            words_option(&due, pawl_value_at(w->options, i), false);
        }
    } else if (w->kind == PAWL_WAIT_APPROVAL && w->schema == NULL) {
        buf_text(&due, "yes or no");
    } else {
        words_schema(&due, w->schema);
    }
    buf_char(&due, '\0');
    buf_char(&said, '\0');
    if (due.failed || said.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for an answer", name);
    else if (due.size > 1)
        rc = fail(err, PAWL_INVALID, "%s: \"%s\" does not fit: answer with %s", name, said.data, due.data);
    else
        rc = fail(err, PAWL_INVALID, "%s", why->text);
    buf_free(&due);
    buf_free(&said);
    return rc;
}

static pawl_code answer_to(const pawl_wait *w, bool several, const char *text, buf *json, pawl_err *err)
{
    typed_answer a = { .w = w, .several = several, .text = text, .size = strlen(text), .bare = text };
    const size_t n = several ? 1 : sizeof ways / sizeof *ways;
    char run[RUN_ID_BYTES];
    const char *name = name_of(w, run);
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = PAWL_PENDING;

    while (is_blank(*a.bare))
        a.bare++;
    a.bare_size = strlen(a.bare);
    while (a.bare_size > 0 && is_blank(a.bare[a.bare_size - 1]))
        a.bare_size--;
    arena_init(&a.mem, NULL, 1024);
    for (size_t i = 0; i < n && rc != PAWL_OK; i++) {
        const pawl_value *v = ways[i](&a);

        if (v == NULL || (!several && !is_option(w, v)) || !is_verdict(w, v))
            continue;
        rc = w->schema == NULL ? PAWL_OK : schema_check(w->schema, v, name, &why);
        if (rc == PAWL_OK)
            canon(json, v);
    }
    if (a.mem.failed || json->failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for an answer", name);
    else if (rc != PAWL_OK)
        rc = unfit(&a, name, &why, err);
    arena_free(&a.mem);
    return rc;
}

/* ---- what an agent asks its user ---------------------------------------------------------------------------- */

/* One to four questions of an agent are one wait; its answer is an object by their headers. For a single question the bare answer is accepted. */
static const pawl_value *questions_of(const pawl_wait *w)
{
    return w->kind == PAWL_WAIT_QUESTION ? pawl_value_get(w->about, "questions") : NULL;
}

/* One of the questions as a wait of its own. *several: more than one label may be chosen. */
static pawl_wait question_wait(arena *mem, const pawl_wait *w, const pawl_value *question, bool *several)
{
    pawl_wait one = { .id = w->id, .slot = w->slot, .node = w->node, .kind = PAWL_WAIT_QUESTION, .asked_of = w->asked_of,
                      .prompt = pawl_value_get(question, "question"), .options = value_pack(mem, NULL, "[]") };
    pawl_iter it = pawl_iter_of(pawl_value_get(question, "options"));
    const pawl_value *option;

    while ((option = pawl_iter_next(&it, NULL)) != NULL)
        one.options = value_push(mem, one.options, value_with(mem, option, "value", pawl_value_get(option, "label")));
    *several = pawl_value_bool(pawl_value_get(question, "multi_select"));
    return one;
}

/* An example for an error: {"Colour":"red","Size":["small"]}, the first label of each. */
static const pawl_value *answer_alike(arena *mem, const pawl_value *questions)
{
    const pawl_value *out = value_pack(mem, NULL, "{}"), *one;
    pawl_iter it = pawl_iter_of(questions);

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_value *label = pawl_value_get(pawl_value_at(pawl_value_get(one, "options"), 0), "label");
        const char *header = pawl_value_string(pawl_value_get(one, "header"));

        if (header != NULL)
            out = value_with(mem, out, header, pawl_value_bool(pawl_value_get(one, "multi_select")) ? value_pack(mem, NULL, "[v]", label) : label);
    }
    return out;
}

static pawl_code unfit_all(arena *mem, const pawl_wait *w, const char *text, pawl_err *err)
{
    char run[RUN_ID_BYTES];
    buf said, alike;
    pawl_code rc;

    buf_init(&said, NULL);
    buf_init(&alike, NULL);
    words_fit(&said, text, strlen(text), 40);
    buf_char(&said, '\0');
    canon(&alike, answer_alike(mem, questions_of(w)));
    buf_char(&alike, '\0');
    if (said.failed || alike.failed || mem->failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for an answer", name_of(w, run));
    else
        rc = fail(err, PAWL_INVALID, "%s: \"%s\" does not fit: answer with one for each question, as %s", name_of(w, run), said.data, alike.data);
    buf_free(&said);
    buf_free(&alike);
    return rc;
}

pawl_code view_answer(const pawl_wait *w, const char *text, buf *json, pawl_err *err)
{
    const pawl_value *questions = questions_of(w), *whole;
    bool several;
    pawl_wait one;
    pawl_code rc;
    arena mem;

    if (questions == NULL)
        return answer_to(w, false, text, json, err);
    arena_init(&mem, NULL, 1024);
    whole = value_parse(&mem, text, strlen(text), "the answer", NULL);
    if (whole != NULL && schema_check(w->schema, whole, "the answer", NULL) == PAWL_OK) {
        canon(json, whole);
        rc = json->failed ? fail(err, PAWL_NOMEM, "no memory for an answer") : PAWL_OK;
    } else if (pawl_value_size(questions) > 1) {
        rc = unfit_all(&mem, w, text, err);
    } else {
        one = question_wait(&mem, w, pawl_value_at(questions, 0), &several);
        rc = mem.failed ? fail(err, PAWL_NOMEM, "no memory for an answer") : answer_to(&one, several, text, json, err);
    }
    arena_free(&mem);
    return rc;
}

/* ---- the question ------------------------------------------------------------------------------------------ */

/* Bytes of a line that fit into one row: up to the last blank that fits, else as many as fit. */
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

/* The id of the run, taken from the wait's id. */
static void run_of(buf *out, const pawl_wait *w)
{
    const char *id = w->id != NULL ? w->id : "";

    buf_put(out, id, strcspn(id, "~"));
}

static void print_options(buf *out, const pawl_wait *w, size_t columns)
{
    pawl_iter it = pawl_iter_of(w->options);
    const pawl_value *option;
    buf text;

    buf_init(&text, NULL);
    for (size_t i = 1; (option = pawl_iter_next(&it, NULL)) != NULL; i++) {
        buf_reset(&text);
        words_option(&text, option, true);
        buf_fmt(out, "%6zu  ", i);
        words_fit(out, text.data, text.size, columns > 16 ? columns - 8 : 8);
        buf_char(out, '\n');
    }
    out->failed = out->failed || text.failed;
    buf_free(&text);
}

/* Prints which answers fit, until when, and what happens then. */
static void print_terms(buf *out, const pawl_wait *w, size_t columns)
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
        buf_text(out, "    answer: any text or JSON\n");
    }
    if (w->expires_ms > 0 && w->otherwise != NULL) {
        cli_time(when, w->expires_ms);
        buf_reset(&text);
        buf_fmt(&text, "without an answer by %s, the answer is: ", when);
        if (w->kind == PAWL_WAIT_APPROVAL && pawl_value_type(w->otherwise) == PAWL_TYPE_BOOL)
            buf_text(&text, pawl_value_bool(w->otherwise) ? "yes" : "no");
        else
            words_prompt(&text, w->otherwise);
        wrapped(out, text.data, text.size, 4, columns);
    }
    out->failed = out->failed || text.failed;
    buf_free(&text);
}

/* Prints what "no" and "later" do. */
static void print_ways(buf *out, const pawl_wait *w, const char *no, size_t columns)
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

static bool print_question(const cli_call *c, const pawl_wait *w, const char *no)
{
    size_t columns = (size_t)cli_columns(2);
    const char *bold = c->err_colour ? "\x1b[1m" : "", *plain = c->err_colour ? "\x1b[0m" : "";
    char run[RUN_ID_BYTES];
    const char *name = name_of(w, run);
    bool good;
    buf out, text;

    buf_init(&out, NULL);
    buf_init(&text, NULL);
    words_prompt(&text, w->prompt);
    buf_text(&out, "\n  ");
    words_fit(&out, name, strlen(name), columns - 24);
    if (w->element != NULL) {
        buf_char(&out, ' ');
        words_element(&out, w->element);
    }
    buf_text(&out, w->kind == PAWL_WAIT_APPROVAL ? " asks for approval" : " asks");
    if (w->asked_of != NULL) {
        buf_text(&out, ", of ");
        words_fit(&out, w->asked_of, strlen(w->asked_of), columns / 2);
    }
    buf_fmt(&out, "\n%s", bold);
    wrapped(&out, text.data, text.size, 4, columns);
    buf_text(&out, plain);
    words_about(&out, w->about, "    ");
    words_signers(&out, w->approvers, w->signed_by, "    ");
    print_options(&out, w, columns);
    print_terms(&out, w, columns);
    print_ways(&out, w, no, columns);
    good = !out.failed && !text.failed;
    if (good)
        fwrite(out.data, 1, out.size, stderr);
    buf_free(&out);
    buf_free(&text);
    return good;
}

static void print_why(const char *text)
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

ssize_t ask_line(cli_call *c, char **line, size_t *room)
{
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    int ready = c->rests != NULL ? 0 : 1;

    while (ready == 0)
        if ((ready = poll(&in, 1, CLI_REST_LOOK_MS)) == 0 || (ready < 0 && errno == EINTR))
            ready = c->rests(c->rests_ctx) ? 0 : -1;
    return ready < 0 ? -1 : getline(line, room, stdin);
}

static ask_result ask_one(cli_call *c, const pawl_wait *w, bool several, const char *no, buf *answer)
{
    const char *due = w->kind == PAWL_WAIT_APPROVAL ? "  [y]es, [n]o, [l]ater: " : several ? "  numbers or texts, with commas: " :
                      pawl_value_size(w->options) > 0 ? "  number or text: " : "  > ";
    char *line = NULL;
    size_t room = 0;
    ask_result how = ASKED_GONE;

    if (!print_question(c, w, no))
        return ASKED_GONE;
    clearerr(stdin);            /* an end of file that was typed at an earlier question */
    for (;;) {
        pawl_err err = { PAWL_OK, "" };
        ssize_t n;

        fputs(due, stderr);
        fflush(stderr);
        if ((n = ask_line(c, &line, &room)) < 0) {
            fputc('\n', stderr);
            break;
        }
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = '\0';
        if (is_later(w, line)) {
            how = ASKED_LATER;
            break;
        }
        if (strlen(line) == (size_t)n && answer_to(w, several, line, answer, &err) == PAWL_OK) {
            how = ASKED_ANSWER;
            break;
        }
        buf_reset(answer);
        print_why(err.code != PAWL_OK ? err.text : "an answer has no NUL in it");
    }
    free(line);
    return how;
}

ask_result view_ask(cli_call *c, const pawl_wait *w, const char *no, buf *answer)
{
    const pawl_value *questions = questions_of(w), *one, *all;
    pawl_iter it = pawl_iter_of(questions);
    ask_result how = ASKED_ANSWER;
    bool several;
    arena mem;

    if (questions == NULL)
        return ask_one(c, w, false, no, answer);
    arena_init(&mem, NULL, 1024);
    all = value_pack(&mem, NULL, "{}");
    while (how == ASKED_ANSWER && (one = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_wait of = question_wait(&mem, w, one, &several);

        buf_reset(answer);
        if (!mem.failed && (how = ask_one(c, &of, several, NULL, answer)) == ASKED_ANSWER)
            all = value_with(&mem, all, pawl_value_string(pawl_value_get(one, "header")), value_read(&mem, answer->data, answer->size, "an answer", NULL));
    }
    buf_reset(answer);
    if (how == ASKED_ANSWER)
        canon(answer, all);
    if (mem.failed || answer->failed)
        how = ASKED_GONE;
    arena_free(&mem);
    return how;
}
