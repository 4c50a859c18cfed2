/* frame.c - makes and frees frames, tasks and calls, and counts the open calls.
 *
 * Called by the folds, inside a transaction. Invariant: the counts of open commands and waits change only in the movers of a call. */
#include "kernel/channel.h"
#include "kernel/txn.h"

#include <string.h>

bool call_touch(pawl_state *st, task *tk)
{
    return tk == NULL || st->t->task == tk || touch(st, &tk->commands, sizeof tk->commands + sizeof tk->waits);
}

/* Adds `by` (1 or -1) to the counts of open calls. */
static void call_count(pawl_state *st, task *tk, const call *c, int by)
{
    uint32_t d = (uint32_t)by;

    PAWL_ASSERT(by > 0 || (call_asks(c) ? st->waits : st->commands) > 0, "E1: no more is answered than was asked");
    if (!call_asks(c)) {
        st->commands += d;
        if (tk != NULL)
            tk->commands += d;
        return;
    }
    st->waits += d;
    if (tk != NULL)
        tk->waits += d;
    if (c->wait != PAWL_WAIT_SIGNAL)
        st->people += d;
    PAWL_ASSERT(st->people <= st->waits, "W1: a question to a person is a wait");
}

void call_state_begin(pawl_state *st, task *tk, call *c, call_state first)
{
    PAWL_ASSERT(c->kind >= CALL_CALL && c->kind <= CALL_ASK, "E1: a call is a command or a wait");
    sm_begin(&call_table, &c->at, first, c);
    if (call_is_open(c))
        call_count(st, tk, c, 1);
}

void call_state_move(pawl_state *st, task *tk, call *c, call_state to)
{
    PAWL_ASSERT(tk == NULL || (c >= tk->calls && c < tk->calls + tk->calls_cap), "E1: it is a call of that task");
    if (call_is_open(c))
        call_count(st, tk, c, -1);
    sm_move(&call_table, &c->at, to, c);
    if (call_is_open(c))
        call_count(st, tk, c, 1);
}

void call_drop(pawl_state *st, call *c)
{
    if (call_is_open(c))
        call_count(st, NULL, c, -1);
    st_free(st, c->spec, c->spec_size + 1);
    st_free(st, c->value, c->value_bytes);
    st_free(st, c->update, c->update_bytes);
    if (c->task != NULL)
        st_free(st, c->task, strlen(c->task) + 1);
    if (c->doubt != NULL)
        st_free(st, c->doubt, strlen(c->doubt) + 1);
    if (c->lap != NULL)
        st_free(st, c->lap, sizeof *c->lap);
}

void visit_drop(pawl_state *st, task *tk)
{
    for (uint32_t i = 0; i < tk->ncalls; i++)
        call_drop(st, &tk->calls[i]);
    st_free(st, tk->calls, tk->calls_cap * sizeof *tk->calls);
    st_free(st, tk->wins, tk->nwins * sizeof *tk->wins);
    if (tk->left != NULL)
        st_free(st, tk->left, tk->left_size + 1);
    if (tk->fault != NULL)
        st_free(st, tk->fault, tk->fault_size + 1);
    if (tk->child != NULL)
        frame_drop(st, tk->child);
}

void task_drop(pawl_state *st, task *tk)
{
    visit_drop(st, tk);     /* the block of all tasks owns the name and the arguments */
    laps_free(st, tk->history);
}

void frame_drop(pawl_state *st, frame *f)
{
    call *c;

    for (uint32_t i = 0; i < f->ntasks; i++)
        task_drop(st, &f->tasks[i]);
    st_free(st, f->tasks, f->tasks_bytes);
    for (uint32_t at = 0; (c = detached_next(f, &at)) != NULL;)
        call_drop(st, c);
    st_free(st, f->detached, f->detached_cap * sizeof *f->detached);
    for (uint32_t i = 0; i < f->nchannels; i++)
        channel_drop(st, &f->channels[i]);
    st_free(st, f->channels, f->nchannels * sizeof *f->channels);
    st_free(st, f->by_name.slots, f->by_name.size * sizeof *f->by_name.slots);
    st_free(st, f->joins, f->joins_bytes);
    st_free(st, f->defer, f->defer_bytes);
    laps_free(st, f->history);
    if (f->parent != NULL) {
        st_free(st, f->where, strlen(f->where) + 1);
        st_free(st, f, sizeof *f);
    }
}

frame *frame_new(pawl_state *st, frame *parent, const char *where)
{
    frame *f = st_alloc(st, sizeof *f);

    PAWL_ASSERT(parent != NULL, "G6: a subgraph is in a graph");
    if (f == NULL || (f->where = st_text(st, where, strlen(where))) == NULL)
        return NULL;
    f->parent = parent;
    return channels_init(st, f) == PAWL_OK ? f : NULL;
}

/* Frees everything except the channels: tasks, detached calls, joins. */
void frame_clear(pawl_state *st, frame *f)
{
    frame empty = { .parent = f->parent, .where = f->where, .channels = f->channels, .nchannels = f->nchannels, .by_name = f->by_name,
                    .has_ephemeral = f->has_ephemeral };
    frame old = *f;

    old.channels = NULL;
    old.nchannels = 0;
    old.by_name = (hash_index){ NULL, 0, 0 };
    PAWL_ASSERT(f->parent == NULL, "K6: only the frame of the run is made empty");
    frame_drop(st, &old);
    *f = empty;
    PAWL_ASSERT(st->commands == 0 && st->waits == 0 && st->people == 0, "E1: what is open is in the frames of the run");
}
