/* view_draw.c - draws the picture as lines that fit the terminal.
 *
 * Called by view_paint.c on the thread that paints, and by tests. Pure: it reads the view of view.c and the given time. */
#include "cli/ui/picture.h"

#include <stdlib.h>

enum { STATE_COLUMNS = 9, WHAT_LEAST = 16, WHAT_ROOM = 4 };    /* WHAT_LEAST: a shorter rest of a text is left out */

typedef struct look { const char *word, *sgr; } look;       /* sgr: its colour on a terminal */

static const look looks[] = {
    [NOTE_DONE] = { "done", "32" },     [NOTE_FAILED] = { "failed", "31" }, [NOTE_DENIED] = { "denied", "31" },
    [NOTE_CANCEL] = { "cancel", "33" }, [NOTE_UNDO] = { "undo", "33" },     [NOTE_STOP] = { "stop", "33" },
    [NOTE_AGAIN] = { "again", "33" },   [NOTE_WAITS] = { "waits", "33" },   [NOTE_ANSWER] = { "answer", "36" },
    [NOTE_SO_FAR] = { "...", "36" },
};

/* "18/20, 1 failed" */
void group_counts(const group *g, buf *out)
{
    buf_fmt(out, "%zu/%zu", g->count[TASK_DONE], g->total);
    if (g->count[TASK_FAILED] > 0)
        buf_fmt(out, ", %zu failed", g->count[TASK_FAILED]);
    if (g->count[TASK_DENIED] > 0)
        buf_fmt(out, ", %zu denied", g->count[TASK_DENIED]);
}

static void piece(buf *out, const buf *text, size_t columns)
{
    if (columns == 0)
        return;
    buf_text(out, "  ");
    words_fit(out, text->data, text->size, columns);
}

/* The columns of each part: the name gets half if there is more to show; the tail is dropped first. */
typedef struct widths { size_t name, what, tail; } widths;

static widths widths_in(size_t room, const buf *name, const buf *what, const buf *tail)
{
    widths w = { cli_width(name->data, name->size), cli_width(what->data, what->size), cli_width(tail->data, tail->size) };
    size_t most = w.what == 0 ? room : room / 2, least = w.what == 0 ? 0 : 2 + (w.what < WHAT_LEAST ? w.what : WHAT_LEAST);

    if (w.name > most)
        w.name = most;
    room -= w.name;
    if (w.tail == 0 || w.tail + 2 + least > room)
        w.tail = 0;
    else
        room -= w.tail + 2;
    if (w.what + 2 > room)
        w.what = room >= 2 + WHAT_ROOM ? room - 2 : 0;
    return w;
}

/* "  done   NAME  WHAT  TAIL" */
static void line(buf *out, bool colour, size_t columns, look how, const char *name, const char *what, const char *tail)
{
    const char *texts[3] = { name, what, tail };
    buf clean[3];
    widths w;

    for (int i = 0; i < 3; i++) {
        buf_init(&clean[i], NULL);
        words_fit(&clean[i], texts[i], strlen(texts[i]), columns);
        out->failed = out->failed || clean[i].failed;
    }
    w = widths_in(columns > STATE_COLUMNS ? columns - STATE_COLUMNS : 0, &clean[0], &clean[1], &clean[2]);
    buf_text(out, "  ");
    buf_fmt(out, colour ? "\x1b[%sm%s\x1b[0m" : "%.0s%s", how.sgr, how.word);
    buf_fmt(out, "%*s", (int)(STATE_COLUMNS - 2 - strlen(how.word)), "");
    words_fit(out, clean[0].data, clean[0].size, w.name);
    piece(out, &clean[1], w.what);
    piece(out, &clean[2], w.tail);
    buf_char(out, '\n');
    for (int i = 0; i < 3; i++)
        buf_free(&clean[i]);
}

/* ---- what has ended ---------------------------------------------------------------------------------- */

void view_past(view *v, int columns, bool all, buf *out)
{
    char took[ELAPSED_BYTES];

    for (note *n = v->notes, *next; n != NULL; n = next) {
        next = n->next;
        words_elapsed(took, n->took_ms);
        if (out != NULL && (all || n->kind < NOTES_PIPE))
            line(out, v->colour, (size_t)columns, looks[n->kind], n->name, n->what, n->took_ms < 0 ? "" : took);
        free(n->name);
        free(n->what);
        free(n);
    }
    v->notes = NULL;
    v->notes_last = &v->notes;
}

/* ---- what is at work ----------------------------------------------------------------------------------- */

/* When the first pending retry is due. */
static int64_t soonest(const group *g)
{
    int64_t due = 0;

    for (const seen *t = g->tasks; t != NULL; t = t->sibling)
        if (t->at == TASK_RETRIES && (due == 0 || t->due_ms < due))
            due = t->due_ms;
    return due;
}

static void due_in(buf *out, int64_t due_ms, int64_t now_ms)
{
    char time[ELAPSED_BYTES];

    if (due_ms <= now_ms)
        return;
    if (due_ms - now_ms <= 59000) {     /* a countdown */
        buf_fmt(out, " in %lld s", (long long)((due_ms - now_ms + 999) / 1000));
        return;
    }
    words_elapsed(time, due_ms - now_ms);
    buf_fmt(out, " in %s", time);
}

static void fan_out(buf *out, const group *g, int64_t now_ms)
{
    group_counts(g, out);
    if (g->count[TASK_RETRIES] > 0) {
        buf_fmt(out, ", %zu retrying", g->count[TASK_RETRIES]);
        due_in(out, soonest(g), now_ms);
    }
    if (g->count[TASK_WAITS] > 0)
        buf_fmt(out, ", %zu waiting", g->count[TASK_WAITS]);
    if (g->count[TASK_SLEEPS] > 0)
        buf_fmt(out, ", %zu sleeping", g->count[TASK_SLEEPS]);
}

static look one_task(buf *out, const group *g, int64_t now_ms)
{
    doing at = g->tasks == NULL ? TASK_READY : g->tasks->at;

    switch (at) {
    case TASK_RETRIES:
        buf_text(out, "retrying");
        due_in(out, g->tasks->due_ms, now_ms);
        if (g->trouble != NULL)
            buf_fmt(out, ": %s", g->trouble);
        return looks[NOTE_AGAIN];
    case TASK_SLEEPS:
        buf_text(out, "goes on");
        due_in(out, g->tasks->due_ms, now_ms);
        return looks[NOTE_WAITS];
    case TASK_WAITS:
        buf_text(out, g->what != NULL ? g->what : "");
        return looks[NOTE_WAITS];
    case TASK_READY:
    case TASK_RUNNING:
    case TASK_DONE:
    case TASK_FAILED:
    case TASK_DENIED:
    case TASK_DOINGS:
        break;
    }
    buf_text(out, g->what != NULL ? g->what : "");
    return (look){ NULL, NULL };
}

static void group_line(const view *v, const group *g, int64_t now_ms, size_t columns, buf *out)
{
    static const char *const turning[] = { "|", "/", "-", "\\" };
    char took[ELAPSED_BYTES];
    look how = { NULL, NULL };
    buf what;

    buf_init(&what, NULL);
    if (g->total > 1)
        fan_out(&what, g, now_ms);
    else
        how = one_task(&what, g, now_ms);
    if (how.word == NULL)
        how = (look){ turning[(uint64_t)now_ms / 100 % 4], "36" };
    buf_char(&what, '\0');
    words_elapsed(took, now_ms - g->began_ms);
    if (what.failed)
        out->failed = true;
    else
        line(out, v->colour, columns, how, g->name, what.data, took);
    buf_free(&what);
}

void view_draw(const view *v, int64_t now_ms, int columns, int rows, buf *out)
{
    size_t left = 0;
    int row = 0;

    for (const group *g = v->first; g != NULL && !v->over; g = g->next)
        left++;
    for (const group *g = v->first; left > 0 && rows > 0; g = g->next, left--) {
        if (++row == rows && left > 1) {
            buf_fmt(out, "  ... and %zu more nodes\n", left);
            return;
        }
        group_line(v, g, now_ms, (size_t)columns, out);
    }
}

void view_resume(view *v, int64_t now_ms)
{
    v->now_ms = now_ms > v->now_ms ? now_ms : v->now_ms;
    for (group *g = v->first; g != NULL; g = g->next) {
        g->began_ms = v->now_ms;
        g->waits_ms = g->waits_ms != 0 ? v->now_ms : 0;
        g->waited_ms = 0;
    }
}
