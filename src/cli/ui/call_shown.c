/* call_shown.c - shows a person the whole call that an approval is about (P10): what it writes, its stdin, environment, folder, method and body.
 *
 * Called by ask.c, waits.c and the verb inbox, on the main thread. Owns nothing. Everything comes from a model or the network, so each line is cleaned.
 * What is left out is counted, and the line says where all of it is. */
#include "cli/cli.h"
#include "cli/ui/format.h"
#include "sign/sign.h"

#include <string.h>

enum { LINES_MAX = 60, LINE_BYTES_MAX = 4000 };

static bool among(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

static bool one_line(const char *text, size_t size) { return memchr(text, '\n', size) == NULL && size <= LINE_BYTES_MAX; }

/* Cut between characters. */
static void line_put(buf *out, const char *text, size_t size)
{
    size_t n = size;

    if (size > LINE_BYTES_MAX)
        for (n = LINE_BYTES_MAX; n > 0 && (text[n] & 0xc0) == 0x80;)
            n--;
    cli_clean(out, text, n);
    if (n < size)
        buf_fmt(out, " [%zu more bytes: pawl inbox --json]", size - n);
    buf_char(out, '\n');
}

/* Each line of a text with `mark` in front of it. */
static void lines_put(buf *out, const char *indent, const char *mark, const char *text, size_t size)
{
    const char *end = text + size;
    size_t n = 0, more = 0;

    while (text < end) {
        const char *nl = memchr(text, '\n', (size_t)(end - text)), *to = nl != NULL ? nl : end;

        if (n++ < LINES_MAX) {
            buf_fmt(out, "%s%s", indent, mark);
            line_put(out, text, (size_t)(to - text));
        } else {
            more++;
        }
        text = to + 1;
    }
    if (more > 0)
        buf_fmt(out, "%s%s[%zu more lines: pawl inbox --json]\n", indent, mark, more);
}

/* "key: value"; a text of several lines is put below. */
static void member_put(buf *out, const char *indent, const char *key, const pawl_value *v)
{
    const char *text = pawl_value_string(v);
    size_t size = pawl_value_size(v);
    buf json;

    buf_init(&json, NULL);
    buf_text(out, indent);
    cli_clean(out, key, strlen(key));
    if (text == NULL) {
        canon(&json, v);
        text = json.data;
        size = json.size;
    }
    if (json.failed || text == NULL) {
        out->failed = true;
    } else if (pawl_value_type(v) != PAWL_TYPE_STRING || one_line(text, size)) {
        buf_text(out, ": ");
        line_put(out, text, size);
    } else {
        buf_text(out, ":\n");
        lines_put(out, indent, "  | ", text, size);
    }
    buf_free(&json);
}

static void members_put(buf *out, const char *indent, const pawl_value *v, const char *const *but)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *key, *one;

    while ((one = pawl_iter_next(&it, &key)) != NULL)
        if (!among(pawl_value_string(key), but))
            member_put(out, indent, pawl_value_string(key), one);
}

/* A text before and after, or all of a file that is written. */
static void change_put(buf *out, const char *indent, const pawl_value *input)
{
    static const struct { const char *key, *mark; } parts[] = { { "old_string", "  - " }, { "new_string", "  + " }, { "content", "  + " } };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const pawl_value *v = pawl_value_get(input, parts[i].key);

        if (pawl_value_string(v) != NULL)
            lines_put(out, indent, parts[i].mark, pawl_value_string(v), pawl_value_size(v));
    }
}

/* The member that says most about the call. */
static const char *head_of(const pawl_value *input)
{
    static const char *const keys[] = { "command", "run", "shell", "url", "file_path", "path" };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (pawl_value_get(input, keys[i]) != NULL)
            return keys[i];
    return NULL;
}

static void input_put(buf *out, const char *indent, const pawl_value *input)
{
    const char *head = head_of(input), *but[] = { head != NULL ? head : "", "old_string", "new_string", "content", NULL };
    const bool changes = pawl_value_string(pawl_value_get(input, "file_path")) != NULL;
    const pawl_value *v = head != NULL ? pawl_value_get(input, head) : NULL;
    buf json;

    if (!changes)
        but[1] = NULL;
    buf_init(&json, NULL);
    if (pawl_value_string(v) != NULL && one_line(pawl_value_string(v), pawl_value_size(v))) {
        buf_char(out, ' ');
        line_put(out, pawl_value_string(v), pawl_value_size(v));
    } else if (pawl_value_string(v) != NULL) {
        buf_char(out, '\n');
        lines_put(out, indent, "  | ", pawl_value_string(v), pawl_value_size(v));
    } else if (v != NULL || pawl_value_type(input) != PAWL_TYPE_OBJECT) {
        canon(&json, v != NULL ? v : input);
        buf_char(out, ' ');
        if (json.failed)
            out->failed = true;
        else
            line_put(out, json.data, json.size);
    } else {
        buf_char(out, '\n');
    }
    if (changes)
        change_put(out, indent, input);
    members_put(out, indent, input, but);
    buf_free(&json);
}

void words_signers(buf *out, const pawl_value *approvers, const pawl_value *signed_by, const char *indent)
{
    pawl_iter it = pawl_iter_of(signed_by);
    const pawl_value *one;
    size_t n = 0;

    if (approvers == NULL)
        return;
    buf_fmt(out, "%sto be signed by ", indent);
    approvers_phrase(out, approvers);
    buf_fmt(out, "; %zu of %u signed", pawl_value_size(signed_by), (unsigned)approvers_need(approvers));
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        buf_fmt(out, "%s%s", n++ == 0 ? ": " : ", ", pawl_value_string(pawl_value_get(pawl_value_get(one, "value"), "name")));
    buf_char(out, '\n');
}

bool words_signed(buf *out, const pawl_value *value)
{
    const pawl_value *by = pawl_value_get(pawl_value_get(value, "signed"), "by"), *one = pawl_value_get(value, "signature") != NULL ? value : NULL;
    const pawl_value *yes = pawl_value_get(one != NULL ? pawl_value_get(value, "answer") : value, "approve");
    const size_t n = one != NULL ? 1 : pawl_value_size(by);

    if (n == 0)
        return false;
    buf_fmt(out, "%s, signed by ", pawl_value_bool(yes) ? "yes" : "no");
    for (size_t i = 0; i < n; i++) {
        const char *name = pawl_value_string(pawl_value_get(one != NULL ? one : pawl_value_at(by, i), "name"));

        buf_text(out, i == 0 ? "" : i + 1 < n ? ", " : " and ");
        if (name != NULL)
            cli_clean(out, name, strlen(name));
    }
    return true;
}

void words_about(buf *out, const pawl_value *about, const char *indent)
{
    static const char *const all[] = { NULL };
    const pawl_value *input = pawl_value_get(about, "input");
    const char *tool = pawl_value_string(pawl_value_get(about, "tool"));
    char deeper[32];

    if (tool == NULL)
        return;
    snprintf(deeper, sizeof deeper, "%.20s  ", indent);
    buf_text(out, indent);
    cli_clean(out, tool, strlen(tool));
    buf_char(out, ':');
    if (input == NULL)
        buf_text(out, " more than is shown here: pawl show RUN --json has the call\n");
    else
        input_put(out, deeper, input);
    if (pawl_value_get(about, "again") != NULL)
        buf_fmt(out, "%sagain: the rules have changed since the last yes\n", indent);
    members_put(out, deeper, pawl_value_get(about, "with"), all);
}
