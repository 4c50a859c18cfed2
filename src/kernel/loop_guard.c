/* loop_guard.c - asks a person before a node repeats the same calls with the same results once more.
 *
 * Called inside a visit when a node makes a call, on the thread that owns the step. The question is one more wait of the visit; later
 * passes meet it at the same number, whatever has happened since. laps.c keeps the history of calls. */
#include "kernel/loop_guard.h"
#include "kernel/references.h"
#include "kernel/visit.h"

#include <string.h>

/* ---- a command ----------------------------------------------------------------------------------- */

static bool is_digits(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f')))
            return false;
    return true;
}

/* NODE: EFFECT(ARGUMENTS). An agent file appends digits to the name of an effect with its own limits (run-4c8cd8e7); they are left out. */
static void lap_put(buf *b, const lap *l)
{
    enum { LIMITS = 8 };        /* number of these digits */
    const size_t n = strcspn(l->says, "(");
    const bool limits = n > LIMITS + 1 && l->says[n - LIMITS - 1] == '-' && is_digits(l->says + n - LIMITS, LIMITS);

    if (*l->node == '\0') {
        buf_text(b, l->says);
        return;
    }
    buf_fmt(b, "%s: ", l->node);
    buf_put(b, l->says, limits ? n - LIMITS - 1 : n);
    buf_text(b, l->says + n);
}

/* ---- asked before ------------------------------------------------------------------------------------ */

bool loop_guard_is_wait(pawl_step *s, const call *c) { return s->st->no_progress > 0 && loop_guard_asked(&s->mem, c); }

uint32_t loop_guard_number(pawl_step *s, uint32_t n)
{
    uint32_t own = n;

    for (uint32_t i = 0; s->st->no_progress > 0 && i < n && i < s->v->task->ncalls; i++)
        own -= loop_guard_asked(&s->mem, &s->v->task->calls[i]);
    return own;
}

/* Adds the laps of the surrounding graphs too, since a loop may go through them. */
static void window_frames(window *w, const frame *f)
{
    const frame *outer = f->parent;

    if (outer != NULL)
        window_frames(w, outer);
    for (uint32_t i = 0; outer != NULL && i < outer->ntasks; i++)
        if (outer->tasks[i].child == f)
            window_all(w, outer->tasks[i].history);
    window_all(w, f->history);
}

/* The laps before the next command of the visit. Calls of this visit that run side by side do not count. */
static bool window_of(pawl_step *s, window *w)
{
    const visit *v = s->v;

    if (!window_begin(s->st, &s->mem, w))
        return false;
    window_frames(w, v->frame);
    window_all(w, v->task->history);
    for (uint32_t i = 0; i < v->task->ncalls && i < v->cursor; i++) {
        const call *c = &v->task->calls[i];

        if (c->lap != NULL && c->lap->done && !c->lap->beside && !v->unanswered)
            window_add(w, c->lap);
        else if (c->kind == CALL_ASK && c->at == CALL_ANSWERED && loop_guard_asked(&s->mem, c))
            w->n = 0;
    }
    for (uint32_t i = w->n; i-- > 0; )
        if (w->at[i]->fresh) {          /* a person said "go on" here: earlier laps do not count */
            w->at += i + 1;
            w->n -= i + 1;
            break;
        }
    return true;
}

/* The number of calls in the cycle that `next` would repeat; 0: no cycle. */
static uint32_t cycle_of(const window *w, uint32_t times, const lap *next)
{
    for (uint32_t p = 1; p <= CYCLE_MAX && p * times <= w->n; p++) {
        bool same = command_same(w->at[w->n - p], next);

        for (uint32_t i = w->n - p * (times - 1); same && i < w->n; i++)
            same = lap_same(w->at[i], w->at[i - p]);
        if (same)
            return p;
    }
    return 0;
}

/* {"cost","cycle","times"} of the last `p` laps. */
static const pawl_value *cycle_value(pawl_step *s, const window *w, uint32_t p)
{
    const uint32_t times = s->st->no_progress;
    const pawl_value *cycle = value_pack(&s->mem, NULL, "[]"), *one;
    char command[HASH_HEX + 1], result[HASH_HEX + 1];
    amounts sum = {0};

    for (uint32_t i = w->n - p * times; i < w->n; i++)
        for (int k = 0; k < COSTS; k++)
            sum.n[k] = sum.n[k] > INT64_MAX - w->at[i]->cost.n[k] ? INT64_MAX : sum.n[k] + w->at[i]->cost.n[k];
    for (uint32_t i = w->n - p; i < w->n; i++) {
        const char *says = w->at[i]->says;

        digest_hex(w->at[i]->command, command);
        digest_hex(w->at[i]->result, result);
        one = value_pack(&s->mem, NULL, "{s:s,s:v,s:s}", "command", command, "effect", value_string(&s->mem, says, strcspn(says, "(")), "result", result);
        if (*w->at[i]->node != '\0')
            one = value_with(&s->mem, one, "node", value_string(&s->mem, w->at[i]->node, strlen(w->at[i]->node)));
        cycle = value_push(&s->mem, cycle, one);
    }
    return value_pack(&s->mem, NULL, "{s:v,s:v,s:u}", "cost", cost_value(&s->mem, &sum), "cycle", cycle, "times", (uint64_t)times);
}

static const pawl_value *cycle_prompt(pawl_step *s, const window *w, uint32_t p)
{
    buf *b = step_text(s);
    size_t size;
    const char *text;

    if (p == 1)
        buf_text(b, "the same call");
    else
        buf_fmt(b, "the same %u calls", (unsigned)p);
    buf_fmt(b, " came to the same %u times: ", (unsigned)s->st->no_progress);
    for (uint32_t i = w->n - p; i < w->n; i++) {
        lap_put(b, w->at[i]);
        buf_text(b, i + 1 < w->n ? ", " : ": go on?");
    }
    text = step_copy(s, b, &size);
    return text != NULL ? value_string(&s->mem, text, size) : NULL;
}

static pawl_code asks_now(pawl_step *s, const window *w, uint32_t p)
{
    pawl_question q = { .kind = PAWL_WAIT_APPROVAL };

    q.about = cycle_value(s, w, p);
    q.prompt = cycle_prompt(s, w, p);
    q.schema = value_pack(&s->mem, NULL, "{s:s}", "type", "boolean");
    if (q.about == NULL || q.prompt == NULL || q.schema == NULL)
        return PAWL_NOMEM;
    s->v->guard_asked = true;          /* no further commands in this pass: their numbers would come before the call that waits here */
    return pawl_ask_with(s, &q, NULL);
}

/* An earlier pass asked at this number. Its stored question decides, not the current laps, which may have changed. */
static pawl_code asked_here(pawl_step *s, const call *c, const lap *next)
{
    const pawl_value *first = pawl_value_at(pawl_value_get(spec_get(s, c, "about"), "cycle"), 0), *prompt = spec_get(s, c, "prompt");
    const char *asked = pawl_value_string(pawl_value_get(first, "command"));
    char command[HASH_HEX + 1];

    digest_hex(next->command, command);
    if (s->mem.failed)
        return PAWL_NOMEM;
    if (asked == NULL || strcmp(asked, command) != 0)
        return visit_wrong(s, PAWL_CORRUPT, "command %u of visit %u was asked about, and now is %s: the node is not pure", (unsigned)s->v->cursor,
                           (unsigned)s->v->task->visit, next->says);
    s->v->cursor++;
    if (c->at != CALL_ANSWERED) {
        s->v->unanswered = s->v->guard_asked = true;
        return PAWL_INTERRUPTED;
    }
    if (pawl_value_bool(c->value))
        return PAWL_OK;
    return visit_wrong(s, PAWL_DENIED, "no progress: %s: no", pawl_value_string(prompt));
}

pawl_code loop_guard_check(pawl_step *s, const char *spec, size_t size)
{
    const visit *v = s->v;
    const call *c = v->cursor < v->task->ncalls ? &v->task->calls[v->cursor] : NULL;
    window w;
    lap next;
    bool counts;
    uint32_t p;
    pawl_code rc;

    if (s->st->no_progress == 0 || spec == NULL || v->reading || v->guard_asked)
        return PAWL_OK;
    if (c != NULL && !loop_guard_asked(&s->mem, c))
        return s->mem.failed ? PAWL_NOMEM : PAWL_OK;
    if ((rc = lap_of(s->st, &s->mem, v->task, spec, size, &next, &counts)) != PAWL_OK || !counts)
        return rc;
    if (c != NULL)
        return asked_here(s, c, &next);
    if (!window_of(s, &w))
        return PAWL_NOMEM;
    p = cycle_of(&w, s->st->no_progress, &next);
    return s->mem.failed ? PAWL_NOMEM : p > 0 ? asks_now(s, &w, p) : PAWL_OK;
}
