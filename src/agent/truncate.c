/* truncate.c - truncates single messages that are too long for the model: tool results, also of the last round, and user messages of earlier turns. The
 * beginning and the end of a message stay, in whole lines if possible; a line between them says how much is missing and where the whole is.
 *
 * Providers do not say how much would fit, so each refusal removes half of all bytes, from the longest messages; blocks that are not text are removed
 * when no text is left to truncate. Pinned messages and the user's messages of this turn are never truncated: the turn then ends with an error that
 * names the sizes. Called by compact.c; pure. */
#include "agent/agent.h"
#include "kernel/state.h"
#include "kernel/step.h"

enum { CUT_LEAST = 2000 };      /* bytes that remain of each at least */

/* ---- what may be cut ------------------------------------------------------------------------------------------- */

static const char *cut_role(const pawl_value *message)
{
    const char *role = pawl_value_string(pawl_value_get(message, "role"));

    return role != NULL ? role : "";
}

static bool cut_may(const turn *t, const pawl_value *message, uint32_t i)
{
    if (pawl_value_bool(pawl_value_get(message, "pinned")) || pawl_value_bool(pawl_value_get(message, "summary")))
        return false;
    return strcmp(cut_role(message), "tool") == 0 || (i < t->first_message && strcmp(cut_role(message), "user") == 0);
}

static const pawl_value *cut_block_text(const pawl_value *block)
{
    const char *type = pawl_value_string(pawl_value_get(block, "type"));
    const pawl_value *text = pawl_value_get(block, "text");

    return type != NULL && strcmp(type, "text") == 0 && pawl_value_type(text) == PAWL_TYPE_STRING ? text : NULL;
}

/* Bytes of the texts of a message, and the number of its blocks that are no text. */
static size_t cut_texts(const pawl_value *message, size_t *others)
{
    const pawl_value *content = pawl_value_get(message, "content"), *block, *text;
    pawl_iter it = pawl_iter_of(content);
    size_t size = 0;

    *others = 0;
    if (pawl_value_type(content) == PAWL_TYPE_STRING)
        return pawl_value_size(content);
    while (pawl_value_type(content) == PAWL_TYPE_ARRAY && (block = pawl_iter_next(&it, NULL)) != NULL)
        if ((text = cut_block_text(block)) != NULL)
            size += pawl_value_size(text);
        else
            *others += 1;
    return size;
}

typedef struct cut_measure { size_t longest, total, others; } cut_measure;

static cut_measure cut_measured(turn *t, const pawl_value **all, uint32_t n)
{
    cut_measure l = {0};

    for (uint32_t i = 0; i < n; i++) {
        size_t others, size;

        if (!cut_may(t, all[i], i))
            continue;
        size = cut_texts(all[i], &others);
        l.total += size;
        l.others += others;
        l.longest = size > l.longest ? size : l.longest;
    }
    return l;
}

bool cut_can(turn *t, const pawl_value **all, uint32_t n)
{
    const cut_measure l = cut_measured(t, all, n);

    return l.longest > CUT_LEAST || l.others > 0;
}

/* ---- cut ---------------------------------------------------------------------------------------------------------- */

/* The limit for a single message at which half of all bytes remain. */
static size_t cut_level(turn *t, const pawl_value **all, uint32_t n, const cut_measure *l)
{
    size_t low = CUT_LEAST, high = l->longest, others;

    while (low < high) {
        const size_t level = low + (high - low + 1) / 2;
        size_t left = 0;

        for (uint32_t i = 0; i < n; i++) {
            const size_t size = cut_may(t, all[i], i) ? cut_texts(all[i], &others) : 0;

            left += size < level ? size : level;
        }
        if (left <= l->total / 2)
            low = level;
        else
            high = level - 1;
    }
    return low;
}

/* A position before `at`: after the last line break if one is near, else between two characters. */
static size_t cut_head(const char *text, size_t at)
{
    for (size_t i = at; i > at - at / 8; i--)
        if (text[i - 1] == '\n')
            return i;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static size_t cut_tail(const char *text, size_t at, size_t size)
{
    for (size_t i = at; i < at + (size - at) / 8; i++)
        if (text[i - 1] == '\n')
            return i;
    while (at < size && ((unsigned char)text[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* The line that replaces the middle of a message of `whole` bytes. */
static const pawl_value *cut_text(turn *t, const char *text, size_t size, size_t level, size_t whole, bool result)
{
    static const char form[] = "\n[%zu of %zu bytes are left out here, since it is too long for the model%s. All of it is kept: pawl log %s --json]\n";
    const char *hint = result ? "; ask for less of it at a time" : "";
    const char *note = pawl_format(t->s, form, whole, whole, hint, t->s->st->run);
    const size_t keep = note != NULL && strlen(note) < level ? (level - strlen(note)) / 2 : 0;
    const size_t head = cut_head(text, keep), tail = cut_tail(text, size - keep, size);
    const pawl_value *out;
    buf b;

    buf_init(&b, &t->mem->alloc);
    buf_put(&b, text, head);
    note = pawl_format(t->s, form, whole - head - (size - tail), whole, hint, t->s->st->run);
    buf_text(&b, note != NULL ? note : "");
    buf_put(&b, text + tail, size - tail);
    t->mem->failed = t->mem->failed || b.failed || note == NULL;
    out = b.failed ? NULL : value_string(t->mem, b.data, b.size);
    buf_free(&b);
    return out;
}

/* The texts of a message as one; with `all`, also a line for each block that is no text. */
static void cut_joined(turn *t, const pawl_value *content, bool all, buf *b)
{
    pawl_iter it = pawl_iter_of(content);
    const pawl_value *block, *text;
    buf one;

    if (pawl_value_type(content) == PAWL_TYPE_STRING) {
        buf_put(b, pawl_value_string(content), pawl_value_size(content));
        return;
    }
    buf_init(&one, &t->mem->alloc);
    while ((block = pawl_iter_next(&it, NULL)) != NULL) {
        const char *type = pawl_value_string(pawl_value_get(block, "type"));

        if ((text = cut_block_text(block)) == NULL && !all)
            continue;
        buf_text(b, b->size > 0 ? "\n\n" : "");
        if (text != NULL) {
            buf_put(b, pawl_value_string(text), pawl_value_size(text));
            continue;
        }
        buf_reset(&one);
        canon(&one, block);
        buf_fmt(b, "[%s of %zu bytes is left out: it is too long for the model]", type != NULL ? text_cut(t, type, 40) : "something", one.size);
    }
    t->mem->failed = t->mem->failed || one.failed;
    buf_free(&one);
}

static const pawl_value *cut_with_others(turn *t, const pawl_value *content, const pawl_value *text)
{
    const pawl_value *all = value_push(t->mem, value_pack(t->mem, NULL, "[]"), value_pack(t->mem, NULL, "{s:v,s:s}", "text", text, "type", "text")), *block;
    pawl_iter it = pawl_iter_of(content);

    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        if (cut_block_text(block) == NULL)
            all = value_push(t->mem, all, block);
    return all;
}

/* The message truncated to `level` bytes; itself when it is short enough. `level` 0: only blocks that are no text are removed. */
static const pawl_value *cut_message(turn *t, const pawl_value *message, size_t level)
{
    const pawl_value *content = pawl_value_get(message, "content"), *text;
    const uint64_t before = pawl_value_uint(pawl_value_get(message, "cut"));
    size_t others;
    const size_t size = cut_texts(message, &others);
    buf b;

    if (level == 0 ? others == 0 : size <= level)
        return message;
    buf_init(&b, &t->mem->alloc);
    cut_joined(t, content, level == 0, &b);
    t->mem->failed = t->mem->failed || b.failed;
    if (b.failed)
        text = NULL;
    else if (level == 0)
        text = value_string(t->mem, b.data, b.size);
    else
        text = cut_text(t, b.data, b.size, level, before > b.size ? (size_t)before : b.size, strcmp(cut_role(message), "tool") == 0);
    if (level > 0 && before == 0)
        message = value_with(t->mem, message, "cut", value_int(t->mem, (int64_t)b.size));
    buf_free(&b);
    return value_with(t->mem, message, "content", others > 0 && level > 0 ? cut_with_others(t, content, text) : text);
}

const pawl_value *cut_longest(turn *t, const pawl_value **all, uint32_t n)
{
    const pawl_value *out = value_pack(t->mem, NULL, "[]");
    const cut_measure l = cut_measured(t, all, n);
    const size_t level = l.longest > CUT_LEAST ? cut_level(t, all, n, &l) : 0;
    uint32_t some = 0;

    if (level == 0 && l.others == 0)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        const pawl_value *one = cut_may(t, all[i], i) ? cut_message(t, all[i], level) : all[i];

        some += one != all[i];
        out = value_push(t->mem, out, one);
    }
    pawl_emit(t->s, "status", pawl_pack(t->s, "{s:s}", "note",
                 pawl_format(t->s, "It is too long for the model: %u of %u messages are cut in what it is sent", (unsigned)some, (unsigned)n)));
    return out;
}

/* ---- when nothing can be truncated --------------------------------------------------------------------------------------- */

enum { CUT_SAID, CUT_PINNED, CUT_SYSTEM, CUT_TOOLS, CUT_REST, CUT_PARTS };

const char *cut_sizes(turn *t, const pawl_value **all, uint32_t n)
{
    static const struct { const char *what, *then; } parts[CUT_PARTS] = {
        [CUT_SAID] = { "what is said in this turn has", "say it in parts, or put it into a file that is read piece by piece" },
        [CUT_PINNED] = { "what is pinned has", "begin another conversation, and pin less" },
        [CUT_SYSTEM] = { "the system prompt has", "make it shorter" },
        [CUT_TOOLS] = { "the tools have", "give it fewer" },
        [CUT_REST] = { "the rest has", "begin another conversation" },
    };
    size_t sizes[CUT_PARTS] = { [CUT_SYSTEM] = canon_bytes(t, pawl_get(t->s, "@system")) + canon_bytes(t, pawl_get(t->s, "@pinned")),
                                [CUT_TOOLS] = canon_bytes(t, tools_now(t)) }, total = 0;
    unsigned most = 0;

    for (uint32_t i = 0; i < n; i++) {
        const bool user = strcmp(cut_role(all[i]), "user") == 0, pinned = user && pawl_value_bool(pawl_value_get(all[i], "pinned"));

        sizes[user && i >= t->first_message ? CUT_SAID : pinned ? CUT_PINNED : CUT_REST] += canon_bytes(t, all[i]);
    }
    for (unsigned k = 0; k < CUT_PARTS; k++) {
        total += sizes[k];
        most = sizes[k] > sizes[most] ? k : most;
    }
    return pawl_format(t->s, "%s %zu of %zu bytes; %s, or take a model that reads more", parts[most].what, sizes[most], total, parts[most].then);
}
