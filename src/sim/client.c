/* client.c - those who begin runs, answer, signal and call off: through whatever worker they find, and again when it failed. */
#include "sim/sim.h"

#include <string.h>

/* ---- answers ---------------------------------------------------------------------------------------- */

static void fit(buf *b, const pawl_value *schema, int depth);

static void fit_object(buf *b, const pawl_value *schema, int depth)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(schema, "required"));
    const pawl_value *properties = pawl_value_get(schema, "properties"), *one;
    bool more = false;

    buf_char(b, '{');
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *name = pawl_value_string(one);

        if (name == NULL)
            continue;
        if (more)
            buf_char(b, ',');
        more = true;
        canon_string(b, name, strlen(name));
        buf_char(b, ':');
        fit(b, pawl_value_get(properties, name), depth + 1);
    }
    buf_char(b, '}');
}

static void fit_type(buf *b, const pawl_value *schema, const char *type, int depth)
{
    const pawl_value *least = pawl_value_get(schema, "minimum");
    uint64_t n = pawl_value_uint(pawl_value_get(schema, strcmp(type, "array") == 0 ? "minItems" : "minLength"));

    if (strcmp(type, "object") == 0) {
        fit_object(b, schema, depth);
    } else if (strcmp(type, "array") == 0) {
        buf_char(b, '[');
        for (uint64_t i = 0; i < n && i < 64; i++) {
            buf_text(b, i > 0 ? "," : "");
            fit(b, pawl_value_get(schema, "items"), depth + 1);
        }
        buf_char(b, ']');
    } else if (strcmp(type, "string") == 0) {
        buf_char(b, '"');
        for (uint64_t i = 0; i < n && i < 4096; i++)
            buf_char(b, 'x');
        buf_char(b, '"');
    } else if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0) {
        if (least != NULL)
            canon(b, least);
        else
            buf_char(b, '0');
    } else {
        buf_text(b, strcmp(type, "null") == 0 ? "null" : "true");
    }
}

/* What the schema asks for, as far as the plain keywords say it. */
static void fit(buf *b, const pawl_value *schema, int depth)
{
    const pawl_value *first = pawl_value_get(schema, "const"), *type = pawl_value_get(schema, "type");
    const char *name = pawl_value_string(pawl_value_type(type) == PAWL_TYPE_ARRAY ? pawl_value_at(type, 0) : type);

    if (first == NULL)
        first = pawl_value_get(schema, "default");
    if (first == NULL)
        first = pawl_value_at(pawl_value_get(schema, "enum"), 0);
    if (first != NULL) {
        canon(b, first);
        return;
    }
    first = pawl_value_at(pawl_value_get(schema, "anyOf"), 0);
    if (first == NULL)
        first = pawl_value_at(pawl_value_get(schema, "oneOf"), 0);
    if (first != NULL && depth < DEPTH_MAX)
        fit(b, first, depth + 1);
    else
        fit_type(b, schema, name == NULL || depth >= DEPTH_MAX ? "" : name, depth);
}

const char *answer_to(world *w, const pawl_wait *wait, buf *room)
{
    const char *text = wait->kind == PAWL_WAIT_SIGNAL || w->setup->answer == NULL ? NULL : w->setup->answer(w->setup->ctx, wait);

    buf_reset(room);
    if (wait->kind == PAWL_WAIT_SIGNAL || (text != NULL && *text == '\0'))
        return NULL;
    if (text == NULL && (wait->kind == PAWL_WAIT_INPUT || (wait->expires_ms > 0 && wait->otherwise != NULL)))
        return NULL;
    if (text != NULL)
        buf_text(room, text);
    else if (pawl_value_at(wait->options, 0) != NULL)
        canon(room, pawl_value_at(wait->options, 0));
    else
        fit(room, wait->schema, 0);
    buf_char(room, '\0');
    if (room->failed)
        sim_nomem(w);
    return room->failed ? NULL : room->data;
}

/* ---- what is said -------------------------------------------------------------------------------------- */

static bool left(world *w, worker *k, const story *y, pawl_delivery *d, const char *what)
{
    pawl_store *s = pawl_engine_store(k->e);
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc = s->verbs->deliver(s, y->id, d, &err);

    sim_tell(w, k, "%s: %s is left: %s", y->id, what, rc == PAWL_OK ? "ok" : err.text);
    return rc == PAWL_OK;
}

/* Some hands it to the engine and see it through, some leave it for whoever works. */
static void begin(world *w, worker *k, story *y)
{
    pawl_err err = { PAWL_OK, "" };
    const story *before = w->starting;
    bool through = !w->plain && sim_below(w, 3) == 0;
    pawl_code rc;

    w->starting = y;
    rc = through ? pawl_run(k->e, y->id, y->input, &err) : pawl_begin(k->e, y->id, y->input, &err);
    w->starting = before;
    if (k->dead)
        return;                 /* whatever he said, nobody has heard it */
    sim_tell(w, k, "%s: %s: %s", y->id, through ? "run" : "begin", rc >= 0 ? "ok" : err.text);
    y->begun = rc >= 0 || (y->st != NULL && pawl_state_seq(y->st) > 0);
}

static void call_off(world *w, worker *k, story *y)
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
    sim_tell(w, k, "%s: cancel: %s", y->id, rc >= 0 ? "ok" : err.text);
    y->called_off = y->called_off || rc >= 0;
}

static void signal_next(world *w, worker *k, story *y)
{
    const pawl_sim_signal *signal = &w->setup->signals[y->signals];
    char id[32] = "";
    buf name = { .data = id, .cap = sizeof id - 1 };
    pawl_delivery d = { .id = id, .kind = PAWL_DELIVER_SIGNAL, .name = signal->name, .by = "sim" };
    size_t n = y->signals;

    buf_text(&name, "signal-");
    buf_uint(&name, n);
    if (signal->value != NULL)
        d.value = (pawl_bytes){ signal->value, strlen(signal->value) };
    w->report->signals++;
    if (left(w, k, y, &d, signal->name) && y->signals == n)
        y->signals++;
}

static bool answer_next(world *w, worker *k, story *y)
{
    char id[ID_BYTES_MAX + 1], said[ID_BYTES_MAX + 32] = "";
    buf name = { .data = said, .cap = sizeof said - 1 };
    const char *text = NULL;
    pawl_err err = { PAWL_OK, "" };
    const deed *d = NULL;
    buf room;

    buf_init(&room, &w->alloc);
    for (size_t i = 0; i < pawl_state_waits(y->st) && text == NULL; i++) {
        pawl_wait wait;

        if (pawl_state_wait(y->st, i, w->look, &wait, &err) != PAWL_OK || strlen(wait.id) >= sizeof id)
            break;
        memcpy(id, wait.id, strlen(wait.id) + 1);
        name.size = 0;
        buf_fmt(&name, "%s@%lld", id, (long long)wait.asked_ms);    /* it may be asked again */
        buf_char(&name, '\0');
        if ((d = deed_of(w, y, id, false)) == NULL)
            text = answer_to(w, &wait, &room);
        else if (far_tells(w, d, &room))        /* what came of a command is in doubt */
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
            sim_tell(w, k, "%s: answer: %s", id, rc >= 0 ? "ok" : err.text);
        }
    }
    buf_free(&room);
    return text != NULL;
}

static bool says(world *w, worker *k, story *y)
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
    if (!y->child && y->signals < w->setup->nsignals) {
        signal_next(w, k, y);
        return true;
    }
    return y->st != NULL && answer_next(w, k, y);
}

bool client_acts(world *w, worker *k)
{
    unsigned from = (unsigned)sim_below(w, w->nruns);

    for (unsigned i = 0; i < w->nruns; i++)
        if (says(w, k, &w->runs[(from + i) % w->nruns]))
            return true;
    return false;
}
