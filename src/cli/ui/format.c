/* format.c - pieces of lines for people: texts that fit, times, tasks, commands.
 *
 * Called by the view on its own thread, else by the verbs on the main thread. Pure. */
#include "cli/ui/format.h"

#include "file/reader.h"

#include <string.h>

enum { KNOWN_COLUMNS = 160 };   /* of the error that made the outcome unknown */
enum { BUSY_COLUMNS = 60 };     /* of an error without a status */
enum { ELEMENT_COLUMNS = 80 };

void words_fit(buf *out, const char *text, size_t size, size_t columns)
{
    size_t most = columns * 4 + 4;      /* more characters than fit, so that an incomplete last one is cut off anyway */
    buf line;

    buf_init(&line, NULL);
    buf_put(&line, text, size < most ? size : most);
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] == '\n' || line.data[i] == '\r' || line.data[i] == '\t')
            line.data[i] = ' ';
    while (line.size > 0 && line.data[line.size - 1] == ' ')
        line.size--;
    cli_cut(out, line.data, line.size, columns);
    out->failed = out->failed || line.failed;
    buf_free(&line);
}

void words_elapsed(char out[ELAPSED_BYTES], int64_t ms)
{
    long long s = (ms > 0 ? ms : 0) / 1000;

    if (s < 10)
        snprintf(out, ELAPSED_BYTES, "%lld.%lld s", s, (ms > 0 ? (long long)ms : 0) / 100 % 10);
    else if (s < 60)
        snprintf(out, ELAPSED_BYTES, "%lld s", s);
    else if (s < 3600)
        snprintf(out, ELAPSED_BYTES, "%lld min %lld s", s / 60, s % 60);
    else
        snprintf(out, ELAPSED_BYTES, "%lld h %lld min", s / 3600, s / 60 % 60);
}

/* ---- tasks and commands ------------------------------------------------------------------------------- */

void words_task(buf *out, const char *path, bool numbered)
{
    for (bool first = true;; first = false) {
        size_t n = strcspn(path, "/"), name = numbered ? n : strcspn(path, ":/");

        if (!first)
            buf_char(out, '/');
        buf_put(out, path, name);
        path += n;
        for (int i = 0; i < 3 && *path == '/'; i++)     /* skips its visit and superstep */
            path += i < 2 ? 1 + strcspn(path + 1, "/") : 1;
        if (*path == '\0')
            return;
    }
}

bool words_own(const char *name)
{
    const char *last = strrchr(name, '/');

    return (last != NULL ? last[1] : *name) == '@';
}

bool words_choice(const char *path)
{
    const char *last = strrchr(path, '/'), *name = last != NULL ? last + 1 : path;
    const size_t n = strcspn(name, ":"), m = strlen(CHOICE_SUFFIX);

    return n > m && memcmp(name + n - m, CHOICE_SUFFIX, m) == 0;
}

void words_prompt(buf *out, const pawl_value *prompt)
{
    const char *text = pawl_value_string(prompt);

    if (text == NULL)
        text = pawl_value_string(pawl_value_get(prompt, "text"));
    if (text != NULL)
        words_asked(out, text);
    else if (prompt != NULL)
        canon(out, prompt);
}

void words_asked(buf *out, const char *text)
{
    static const char stored[] = "asked, for no rule allows it: ";

    if (strncmp(text, stored, sizeof stored - 1) == 0) {
        buf_text(out, "approval required, no rule allows it: ");
        text += sizeof stored - 1;
    }
    buf_text(out, text);
}

void words_option(buf *out, const pawl_value *option, bool whole)
{
    const char *label = pawl_value_string(pawl_value_get(option, "label"));
    const pawl_value *value = value_option(option), *more = pawl_value_get(option, "description");

    if (label != NULL)
        buf_text(out, label);
    else
        words_prompt(out, value);
    if (label != NULL && value != option && !pawl_value_equal(value, pawl_value_get(option, "label"))) {
        buf_text(out, " (");
        words_prompt(out, value);
        buf_char(out, ')');
    }
    if (whole && pawl_value_type(more) == PAWL_TYPE_STRING && pawl_value_size(more) > 0) {
        buf_text(out, ": ");
        words_prompt(out, more);
    }
}

/* An argument as it would be typed in a shell. */
static void argument(buf *out, const pawl_value *v)
{
    const char *text = pawl_value_string(v);

    if (text == NULL && pawl_value_type(v) != PAWL_TYPE_NULL)
        canon(out, v);
    else if (text == NULL)
        buf_text(out, "(secret)");
    else if (*text != '\0' && strpbrk(text, " \t\n'\"") == NULL)
        buf_text(out, text);
    else
        buf_fmt(out, strchr(text, '\'') == NULL ? "'%s'" : "\"%s\"", text);
}

/* "run-1a2b3c4d": the part after the dash only makes the name unique. */
static size_t effect_size(const char *effect)
{
    const char *dash = strrchr(effect, '-');

    return dash != NULL && strlen(dash) == 9 && strspn(dash + 1, "0123456789abcdef") == 8 ? (size_t)(dash - effect) : strlen(effect);
}

void words_command(buf *out, const pawl_value *spec)
{
    const char *effect = pawl_value_string(pawl_value_get(spec, "effect"));
    const pawl_value *args = pawl_value_get(spec, "args"), *url = pawl_value_get(args, "url");
    const char *method = pawl_value_string(pawl_value_get(args, "method"));
    pawl_iter it = pawl_iter_of(pawl_value_get(args, "run"));
    const pawl_value *item;

    if (effect != NULL && *effect != '@')
        buf_put(out, effect, effect_size(effect));
    for (; (item = pawl_iter_next(&it, NULL)) != NULL && !it.keyed;) {
        buf_char(out, ' ');
        argument(out, item);
    }
    if (url != NULL) {
        buf_fmt(out, " %s ", method != NULL ? method : pawl_value_get(args, "body") != NULL ? "POST" : "GET");
        argument(out, url);
    }
}

void words_unknown(buf *out, const char *node, const pawl_value *prompt)
{
    const char *effect = pawl_value_string(pawl_value_get(prompt, "effect")), *known = pawl_value_string(pawl_value_find(prompt, "/known/text"));
    const char *code = pawl_value_string(pawl_value_find(prompt, "/known/code"));
    const size_t tool = effect != NULL && strncmp(effect, "tool-", 5) == 0 ? 5 : 0;
    const unsigned times = (unsigned)pawl_value_uint(pawl_value_find(prompt, "/known/attempts"));

    if (known != NULL && effect != NULL && strncmp(effect, "undo", effect_size(effect)) == 0) {     /* the inverse of a file's node */
        buf_text(out, "the ");
        words_task(out, node != NULL && strncmp(node, "undo of ", 8) == 0 ? node : "undo of a completed step", true);
        buf_text(out, " failed");
        buf_fmt(out, times > 1 ? " %u times (" : " (", times);
        words_fit(out, known, strlen(known), KNOWN_COLUMNS);
        buf_char(out, ')');
        return;
    }
    if (node != NULL && *node != '\0' && !words_own(node))
        words_task(out, node, true);
    else if (effect != NULL)
        buf_put(out, effect + tool, effect_size(effect + tool));
    else
        buf_text(out, "a command");
    buf_text(out, " had begun, and its outcome is unknown");
    if (known == NULL || (code != NULL && strcmp(code, pawl_code_name(PAWL_UNKNOWN)) == 0))     /* the prompt says that already */
        return;
    buf_text(out, " (");
    words_fit(out, known, strlen(known), KNOWN_COLUMNS);
    buf_char(out, ')');
}

void words_lines(buf *out, const char *text, const char *indent)
{
    while (text != NULL && *text != '\0') {
        const size_t n = strcspn(text, "\n");

        buf_text(out, indent);
        buf_text(out, "| ");
        cli_clean(out, text, n);
        buf_char(out, '\n');
        text += n + (text[n] == '\n');
    }
}

void words_failure(buf *out, const pawl_value *failure)
{
    const char *text = pawl_value_string(pawl_value_get(failure, "text"));
    const char *code = pawl_value_string(pawl_value_get(failure, "code"));

    if (text != NULL || code != NULL)
        buf_text(out, text != NULL && *text != '\0' ? text : code);
    else
        words_prompt(out, failure);
}

/* ---- what fits ------------------------------------------------------------------------------------------- */

static void number_words(buf *out, const pawl_value *schema, const char *one)
{
    const pawl_value *least = pawl_value_get(schema, "minimum"), *most = pawl_value_get(schema, "maximum");
    const pawl_value *above = pawl_value_get(schema, "exclusiveMinimum"), *below = pawl_value_get(schema, "exclusiveMaximum");
    const struct { const char *word; const pawl_value *v; } ends[] = {
        { least != NULL && most != NULL ? " from " : " of at least ", least }, { " above ", above },
        { least != NULL && most != NULL ? " to " : " of at most ", most }, { " below ", below },
        { ", a multiple of ", pawl_value_get(schema, "multipleOf") },
    };

    buf_text(out, one);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends[i].v != NULL) {
            buf_text(out, ends[i].word);
            canon(out, ends[i].v);
        }
}

static void counted_words(buf *out, const char *one, const pawl_value *least, const pawl_value *most, const char *what)
{
    buf_text(out, one);
    if (least != NULL && most != NULL && pawl_value_equal(least, most))
        buf_fmt(out, " of %llu %s", (unsigned long long)pawl_value_uint(least), what);
    else if (least != NULL && most != NULL)
        buf_fmt(out, " of %llu to %llu %s", (unsigned long long)pawl_value_uint(least), (unsigned long long)pawl_value_uint(most), what);
    else if (least != NULL || most != NULL)
        buf_fmt(out, " of at %s %llu %s", least != NULL ? "least" : "most", (unsigned long long)pawl_value_uint(least != NULL ? least : most), what);
}

static void object_words(buf *out, const pawl_value *schema)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(schema, "required"));
    const pawl_value *item;
    const char *join = " with ";

    buf_text(out, "an object");
    for (; (item = pawl_iter_next(&it, NULL)) != NULL; join = ", ") {
        buf_text(out, join);
        words_prompt(out, item);
    }
}

static void one_of_words(buf *out, const pawl_value *list)
{
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *item;
    const char *join = "one of ";

    for (; (item = pawl_iter_next(&it, NULL)) != NULL; join = ", ") {
        buf_text(out, join);
        words_prompt(out, item);
    }
}

void words_schema(buf *out, const pawl_value *schema)
{
    const char *type = pawl_value_string(pawl_value_get(schema, "type"));

    if (pawl_value_get(schema, "const") != NULL) {
        words_prompt(out, pawl_value_get(schema, "const"));
    } else if (pawl_value_get(schema, "enum") != NULL) {
        one_of_words(out, pawl_value_get(schema, "enum"));
    } else if (type == NULL) {
        return;
    } else if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0) {
        number_words(out, schema, *type == 'i' ? "a whole number" : "a number");
    } else if (strcmp(type, "string") == 0) {
        counted_words(out, "a text", pawl_value_get(schema, "minLength"), pawl_value_get(schema, "maxLength"), "characters");
        if (pawl_value_string(pawl_value_get(schema, "pattern")) != NULL)
            buf_fmt(out, " that matches %s", pawl_value_string(pawl_value_get(schema, "pattern")));
    } else if (strcmp(type, "array") == 0) {
        counted_words(out, "a list, as JSON,", pawl_value_get(schema, "minItems"), pawl_value_get(schema, "maxItems"), "elements");
        if (out->size > 0 && out->data[out->size - 1] == ',')
            out->size--;
    } else if (strcmp(type, "object") == 0) {
        object_words(out, schema);
        buf_text(out, ", as JSON");
    } else if (strcmp(type, "boolean") == 0) {
        buf_text(out, "yes or no");
    } else {
        buf_text(out, type);
    }
}

/* ---- what an approval is about ---------------------------------------------------------------------------- */

/* The most telling member of a tool call's input; else all of it. */
static const pawl_value *input_shown(const pawl_value *input)
{
    static const char *const members[] = { "command", "run", "shell", "url", "file_path", "path" };
    const pawl_value *one = NULL;

    for (size_t i = 0; i < sizeof members / sizeof *members && one == NULL; i++)
        one = pawl_value_get(input, members[i]);
    return one != NULL ? one : input;
}

void words_input(buf *out, const pawl_value *input) { words_prompt(out, input_shown(input)); }

static void question(buf *out, const pawl_value *one, bool only, const char *indent, size_t columns)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(one, "options"));
    const pawl_value *option;
    size_t i = 0;

    if (!only) {
        buf_text(out, indent);
        cli_short(out, pawl_value_get(one, "header"), columns);
        buf_text(out, ": ");
        cli_short(out, pawl_value_get(one, "question"), columns);
        buf_char(out, '\n');
    }
    while ((option = pawl_iter_next(&it, NULL)) != NULL) {
        if (only)               /* its number is an answer */
            buf_fmt(out, "%s%zu. ", indent, ++i);
        else
            buf_fmt(out, "%s- ", indent);
        cli_short(out, pawl_value_get(option, "label"), columns);
        if (pawl_value_size(pawl_value_get(option, "description")) > 0) {
            buf_text(out, ": ");
            cli_short(out, pawl_value_get(option, "description"), columns);
        }
        buf_char(out, '\n');
    }
}

void words_questions(buf *out, const pawl_value *about, const char *indent, size_t columns)
{
    const pawl_value *all = pawl_value_get(about, "questions"), *one;
    pawl_iter it = pawl_iter_of(all);

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        question(out, one, pawl_value_size(all) == 1, indent, columns);
}

/* ---- a request to a model that is made again ------------------------------------------------------------------- */

void words_busy(buf *out, const pawl_value *said)
{
    static const char lead[] = "LLM error: ";
    const int64_t status = pawl_value_int(pawl_value_get(said, "status"));
    const char *why = pawl_value_string(pawl_value_get(said, "error"));

    if (status > 0) {
        buf_fmt(out, "%s (%lld)", status == 429 ? "rate limited" : status == 503 || status == 529 ? "model busy" : "the model's server failed",
                (long long)status);
        return;
    }
    why = why == NULL ? "the request failed" : strncmp(why, lead, sizeof lead - 1) == 0 ? why + sizeof lead - 1 : why;
    words_fit(out, why, strlen(why), BUSY_COLUMNS);
}

void words_retry(buf *out, const pawl_value *said)
{
    const pawl_value *delay = pawl_value_get(said, "again_in_ms"), *most = pawl_value_get(said, "max_attempts");
    char time[ELAPSED_BYTES];

    if (delay == NULL)
        return;
    words_elapsed(time, pawl_value_int(delay));
    buf_fmt(out, "in %s: ", time);
    words_busy(out, said);
    if (most != NULL)
        buf_fmt(out, ", attempt %lld of %lld", (long long)pawl_value_int(pawl_value_get(said, "retries")) + 1, (long long)pawl_value_int(most));
}

void words_again(buf *out, const pawl_agent_view *v, int64_t now_ms, bool whole)
{
    if (v->again_ms == 0)
        return;
    if (v->again_ms > now_ms)
        buf_fmt(out, "in %lld s, ", (long long)((v->again_ms - now_ms + 999) / 1000));
    else
        buf_text(out, "now, ");
    buf_fmt(out, "attempt %u of %u", (unsigned)v->attempt, (unsigned)v->max_attempts);
    if (whole && v->again_why != NULL)
        buf_fmt(out, ": %s", v->again_why);
}

const pawl_value *again_json(arena *mem, const pawl_agent_view *v)
{
    return value_pack(mem, NULL, "{s:i,s:i,s:s,s:i}", "at_ms", v->again_ms, "attempt", (int64_t)v->attempt, "error",
                      v->again_why != NULL ? v->again_why : "", "max_attempts", (int64_t)v->max_attempts);
}

void words_owner(buf *out, const char *owner)
{
    const size_t host = strcspn(owner, ":"), pid = owner[host] == ':' ? strspn(owner + host + 1, "0123456789") : 0;

    if (pid > 0 && owner[host + 1 + pid] == ':')
        buf_fmt(out, "process %.*s on %.*s", (int)pid, owner + host + 1, (int)host, owner);
    else
        buf_text(out, owner);
}

void words_element(buf *out, const pawl_value *element)
{
    const pawl_value *v = element, *key;
    pawl_iter it = pawl_iter_of(element);

    if (pawl_value_size(element) == 1)
        v = pawl_iter_next(&it, &key);
    if (pawl_value_size(element) == 1 && pawl_value_string(v) != NULL)
        words_fit(out, pawl_value_string(v), pawl_value_size(v), ELEMENT_COLUMNS);
    else
        cli_short(out, v, ELEMENT_COLUMNS);
}
