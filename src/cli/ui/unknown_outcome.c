/* unknown_outcome.c - a command that must not run twice was cut off: prints the question about its outcome, and converts an answer in words to its
 * receipt (E5).
 *
 * Called by the verbs that print open waits or take answers, on the main thread. Owns nothing. */
#include "cli/run_driver.h"
#include "cli/ui/format.h"
#include "cli/ui/view.h"
#include "pawl/stream.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_COLUMNS = 56 };

bool doubt_is(const pawl_wait *w)
{
    return pawl_agent_unknown(w);
}

/* Without what Pawl itself adds to the arguments of a command. */
static const pawl_value *args_shown(arena *mem, const pawl_value *args)
{
    static const char *const own[] = { "check", "decision", "sandbox", "undo" };
    const pawl_value *out = value_pack(mem, NULL, "{}"), *key, *v;
    pawl_iter it = pawl_iter_of(args);

    if (pawl_value_type(args) != PAWL_TYPE_OBJECT)
        return args;
    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        size_t i = 0;

        while (i < sizeof own / sizeof *own && strcmp(pawl_value_string(key), own[i]) != 0)
            i++;
        if (i == sizeof own / sizeof *own)
            out = value_with(mem, out, pawl_value_string(key), v);
    }
    return out;
}

/* An inverse is shown as the command that undoes, with the node whose command it undoes. */
static const pawl_value *command_shown(arena *mem, const char *task, const pawl_value *args)
{
    const pawl_value *undo = pawl_value_find(args, "/args/undo");
    const char *id = pawl_value_string(pawl_value_get(args, "id")), *dot = id != NULL ? strchr(id, '.') : NULL;
    char tool[128];

    if ((*task != '\0' && strcmp(task, "@undo") != 0) || undo == NULL || dot == NULL)
        return value_pack(mem, NULL, "{s:v,s:s}", "input", args_shown(mem, args), "tool", task);
    snprintf(tool, sizeof tool, "undo of %.*s", (int)strcspn(dot + 1, "."), dot + 1);
    return value_pack(mem, NULL, "{s:v,s:s}", "input", undo, "tool", tool);
}

/* The command of a node that was cut off, as its run stored it: its id is that of the wait. NULL: pruned, or no memory. */
const pawl_value *doubt_command(arena *mem, pawl_store *store, const char *run, const char *id, const char *task)
{
    const pawl_stream_options tasks = { .kinds = PAWL_STREAM_TASKS };
    pawl_stream *r = pawl_stream_open(NULL, store, run, &tasks, NULL);
    const pawl_value *about = NULL;
    pawl_stream_event ev;

    while (r != NULL && about == NULL && pawl_stream_next(r, &ev, NULL) == PAWL_OK)
        if (ev.live == 0 && ev.id != NULL && ev.json != NULL && strcmp(ev.name, "call") == 0 && strcmp(ev.id, id) == 0)
            about = command_shown(mem, task, pawl_value_get(value_parse(mem, ev.json, strlen(ev.json), "a call", NULL), "args"));
    pawl_stream_close(r);
    return about;
}

void doubt_print(const pawl_wait *w, const pawl_value *about, buf *b)
{
    const char *tool = pawl_value_string(pawl_value_get(about, "tool"));

    buf_text(b, "    ");
    words_unknown(b, tool != NULL ? tool : w->node, w->prompt);
    buf_text(b, ": find out, and answer\n");
    words_lines(b, pawl_value_string(pawl_value_find(w->prompt, "/known/detail")), "    ");
}

void doubt_print_ways(const pawl_wait *w, const char *run, bool only, buf *b)
{
    const char *gap = only ? "" : " ", *slot = only ? "" : w->slot;

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
        return fail(err, PAWL_INVALID, "%.56s: \"%.80s\" does not fit: answer with done, done:TEXT, failed:WHY or again",
                    *w->node != '\0' ? w->node : s->run, text);
    canon(json, v);
    return json->failed ? fail(err, PAWL_NOMEM, "no memory for the answer") : PAWL_OK;
}

static void doubt_question(session *s, const char *run, const pawl_wait *w)
{
    const pawl_value *about = w->about != NULL ? w->about : doubt_command(&s->mem, session_store(s), run, w->id, w->node);
    const char *name = *w->node != '\0' ? w->node : run;
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "\n  ");
    words_fit(&b, name, strlen(name), NAME_COLUMNS);
    buf_text(&b, " asks\n");
    doubt_print(w, about, &b);
    words_about(&b, about, "    ");
    buf_text(&b, "    done, done:TEXT with what it printed, failed:WHY, or again: it begins again\n");
    buf_fmt(&b, "    an empty line: keeps the question; `pawl answer %s VALUE` goes on\n", run);
    if (!b.failed)
        fwrite(b.data, 1, b.size, stderr);
    buf_free(&b);
}

ask_result doubt_ask(session *s, const char *run, const pawl_wait *w, buf *answer)
{
    ask_result how = ASKED_GONE;
    char *line = NULL;
    size_t room = 0;
    ssize_t n;

    doubt_question(s, run, w);
    clearerr(stdin);            /* an end of file that was typed at an earlier question */
    while (fputs("  > ", stderr), fflush(stderr), (n = ask_line(s->c, &line, &room)) >= 0) {
        pawl_err err = { PAWL_OK, "" };

        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = '\0';
        if (n == 0 || doubt_answer(s, w, line, answer, &err) == PAWL_OK) {
            how = n == 0 ? ASKED_LATER : ASKED_ANSWER;
            break;
        }
        buf_reset(answer);
        fprintf(stderr, "  %s\n", err.text);
    }
    if (how == ASKED_GONE)
        fputc('\n', stderr);
    free(line);
    return how;
}
