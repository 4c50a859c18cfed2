/* client.c - the clients: start runs, answer, signal and cancel, through any worker, and try again after a failure.
 *
 * Called by workers.c for a turn, on the thread of pawl_sim. */
#include "kernel/names.h"
#include "sim/sim.h"

#include <string.h>

/* ---- what is said -------------------------------------------------------------------------------------- */

static bool left(world *w, worker *k, const sim_run *y, pawl_delivery *d, const char *what)
{
    pawl_store *s = pawl_engine_store(k->e);
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc = s->verbs->deliver(s, y->id, d, &err);

    trace_line(w, k, "%s: %s is left: %s", y->id, what, rc == PAWL_OK ? "ok" : err.text);
    return rc == PAWL_OK;
}

/* Some clients give the run to the engine and drive it; others leave it for a worker. */
static void begin(world *w, worker *k, sim_run *y)
{
    const pawl_run_info info = { .id = y->id, .budget = w->setup->budget };
    pawl_err err = { PAWL_OK, "" };
    const sim_run *before = w->starting;
    bool through = !w->plain && sim_below(w, 3) == 0;
    pawl_code rc;

    w->starting = y;
    rc = through ? pawl_run_with(k->e, &info, y->input, &err) : pawl_begin_with(k->e, &info, y->input, &err);
    w->starting = before;
    if (k->dead)
        return;                 /* the call has failed, whatever it returned */
    trace_line(w, k, "%s: %s: %s", y->id, through ? "run" : "begin", rc >= 0 ? "ok" : err.text);
    y->begun = rc >= 0 || (y->st != NULL && pawl_state_seq(y->st) > 0);
}

static void call_off(world *w, worker *k, sim_run *y)
{
    pawl_delivery d = { .id = "call-off", .kind = PAWL_DELIVER_CANCEL, .by = "sim" };
    const pawl_event ev = { .kind = PAWL_EV_CANCEL, .by = "sim" };
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc;

    w->report->cancels++;
    if (sim_below(w, 2) == 0) {
        y->called_off = left(w, k, y, &d, "a cancel") || y->called_off;
        return;
    }
    rc = pawl_event_send(k->e, y->id, &ev, &err);
    if (k->dead)
        return;
    trace_line(w, k, "%s: cancel: %s", y->id, rc >= 0 ? "ok" : err.text);
    y->called_off = y->called_off || rc >= 0;
}

static void signal_next(world *w, worker *k, sim_run *y)
{
    const pawl_sim_signal *signal = &w->setup->signals[y->signals];
    char id[32] = "";
    buf name = { .data = id, .cap = sizeof id - 1 };
    pawl_delivery d = { .id = id, .kind = signal->name != NULL ? PAWL_DELIVER_SIGNAL : PAWL_DELIVER_UPDATE, .name = signal->name, .by = "sim" };
    size_t n = y->signals;

    y->signaled_round = w->round;       /* the next one is sent when more of the run is done */

    buf_text(&name, "signal-");
    buf_uint(&name, n);
    if (signal->value != NULL)
        d.value = (pawl_bytes){ signal->value, strlen(signal->value) };
    w->report->signals++;
    if (left(w, k, y, &d, signal->name != NULL ? signal->name : signal->value) && y->signals == n)
        y->signals++;
}

static bool answer_next(world *w, worker *k, sim_run *y)
{
    char id[ID_BYTES_MAX + 1], said[ID_BYTES_MAX + 32] = "";
    buf name = { .data = said, .cap = sizeof said - 1 };
    const char *text = NULL;
    pawl_err err = { PAWL_OK, "" };
    const sim_command *d = NULL;
    buf room;

    buf_init(&room, &w->alloc);
    for (size_t i = 0; i < pawl_state_waits(y->st) && text == NULL; i++) {
        pawl_wait wait;

        if (pawl_state_wait(y->st, i, w->look, &wait, &err) != PAWL_OK || strlen(wait.id) >= sizeof id)
            break;
        memcpy(id, wait.id, strlen(wait.id) + 1);
        name.size = 0;
        buf_fmt(&name, "%s@%lld", id, (long long)wait.asked_ms);    /* the same wait may be asked again */
        buf_char(&name, '\0');
        if ((d = command_find(w, y, id, false)) == NULL)
            text = answer_to(w, &wait, &room);
        else if (remote_outcome(w, y, d, &room))        /* the outcome of a command is unknown */
            text = room.data;
    }
    if (text != NULL) {
        pawl_delivery note = { .id = said, .kind = PAWL_DELIVER_ANSWER, .name = id, .value = { text, strlen(text) }, .by = "sim" };
        pawl_code rc;

        w->report->answers++;
        w->report->doubts += d != NULL;
        if (sim_below(w, 2) == 0) {
            (void)left(w, k, y, &note, "an answer");
        } else {
            rc = pawl_answer(k->e, y->id, id, text, &err);
            trace_line(w, k, "%s: answer: %s", id, rc >= 0 ? "ok" : err.text);
        }
    }
    buf_free(&room);
    return text != NULL;
}

static bool client_turn(world *w, worker *k, sim_run *y)
{
    bool over = y->st != NULL && pawl_state_next(y->st) == PAWL_HALTED;

    if (over)
        return false;
    if (!y->begun) {
        begin(w, k, y);
        return true;
    }
    if (y->cancel && !y->called_off && !w->plain && w->now >= y->cancel_ms) {
        call_off(w, k, y);
        return true;
    }
    if (!y->child && y->signals < w->setup->nsignals && (w->plain || !w->calm || y->signaled_round != w->round)) {
        if (w->plain || y->st == NULL || sim_below(w, 3) > 0 || !answer_next(w, k, y))      /* now and then an open question comes first */
            signal_next(w, k, y);
        return true;
    }
    return y->st != NULL && answer_next(w, k, y);
}

bool client_acts(world *w, worker *k)
{
    unsigned from = (unsigned)sim_below(w, w->nruns);

    for (unsigned i = 0; i < w->nruns; i++)
        if (client_turn(w, k, &w->runs[(from + i) % w->nruns]))
            return true;
    return false;
}
