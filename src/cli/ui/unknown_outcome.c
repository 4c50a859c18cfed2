/* unknown_outcome.c - a command that must not run twice was cut off: prints the question about its outcome, and converts an answer in words to its
 * receipt (E5).
 *
 * Called by the verbs that print open waits or take answers, on the main thread. Owns nothing. */
#include "cli/run_driver.h"
#include "cli/ui/format.h"

bool doubt_is(const pawl_wait *w)
{
    return pawl_agent_unknown(w);
}

void doubt_say(const pawl_wait *w, const char *run, bool only, buf *b)
{
    const char *gap = only ? "" : " ", *slot = only ? "" : w->slot;
    const char *tool = pawl_value_string(pawl_value_get(w->about, "tool"));

    buf_text(b, "    ");
    words_unknown(b, tool != NULL ? tool : w->node, w->prompt);
    buf_text(b, ": find out, and answer\n");
    words_lines(b, pawl_value_string(pawl_value_find(w->prompt, "/known/detail")), "    ");
    buf_fmt(b, "    it is done:  pawl answer %s%s%s done      (done:TEXT with what it printed)\n", run, gap, slot);
    buf_fmt(b, "    it failed:   pawl answer %s%s%s failed:WHY\n", run, gap, slot);
    buf_fmt(b, "    begin again: pawl answer %s%s%s again\n", run, gap, slot);
}

/* The receipt that the handler of the effect would have made of `text`. */
static const pawl_value *receipt(const session *s, arena *mem, const pawl_wait *w, const pawl_value *text)
{
    const char *name = pawl_value_string(pawl_value_get(w->prompt, "effect")), *word = "";

    for (const file_effect *e = s->file != NULL && name != NULL ? s->file->effects : NULL; e != NULL; e = e->next)
        if (strcmp(e->name, name) == 0)
            word = e->word;
    if (strcmp(word, "run") == 0 || strcmp(word, "undo") == 0)
        return value_pack(mem, NULL, "{s:i,s:s,s:v}", "status", (int64_t)0, "stderr", "", "stdout", text);
    if (strcmp(word, "http") == 0)
        return value_pack(mem, NULL, "{s:v,s:{},s:i}", "body", text, "headers", "status", (int64_t)200);
    if (strcmp(word, "prompt") == 0)
        return value_pack(mem, NULL, "{s:v}", "text", text);
    return text;
}

/* "done", "done:TEXT", "failed", "failed:WHY"; NULL: none of these. */
static const pawl_value *worded(const session *s, arena *mem, const pawl_wait *w, const char *text)
{
    const size_t done = strlen("done"), failed = strlen("failed");

    if (strncmp(text, "done", done) == 0 && (text[done] == '\0' || text[done] == ':')) {
        text += done + (text[done] == ':');
        return value_pack(mem, NULL, "{s:v}", "done", receipt(s, mem, w, value_string(mem, text, strlen(text))));
    }
    if (strncmp(text, "failed", failed) == 0 && (text[failed] == '\0' || text[failed] == ':')) {
        text += failed + (text[failed] == ':');
        text += strspn(text, " ");
        return value_pack(mem, NULL, "{s:s}", "failed", *text != '\0' ? text : "it failed");
    }
    return strcmp(text, "again") == 0 ? value_pack(mem, NULL, "s", "again") : NULL;
}

pawl_code doubt_answer(session *s, const pawl_wait *w, const char *text, buf *json, pawl_err *err)
{
    arena *mem = &s->mem;
    const pawl_value *v = worded(s, mem, w, text);

    if (v == NULL)
        v = value_parse(mem, text, strlen(text), "the answer", NULL);
    if (pawl_value_type(pawl_value_get(v, "done")) == PAWL_TYPE_STRING)
        v = value_with(mem, v, "done", receipt(s, mem, w, pawl_value_get(v, "done")));
    if (v == NULL || (w->schema != NULL && schema_check(w->schema, v, "the answer", NULL) != PAWL_OK))
        return fail(err, PAWL_INVALID, "%.56s: \"%.80s\" does not fit: answer with done, done:TEXT, failed:WHY or again", w->node, text);
    canon(json, v);
    return json->failed ? fail(err, PAWL_NOMEM, "no memory for the answer") : PAWL_OK;
}
