/* record_rights.c - puts the mode and the rights of a run's record into its start, and keeps updates below them (P1, E11).
 *
 * Called by begin.c and run_feed.c, by hosts and for children, on any thread: every start and every update of a run passes here before it is fed. So what
 * is enforced stands in the journal, and a replay needs no record. */
#include "engine/run/record_rights.h"
#include "kernel/machine.h"
#include "kernel/rights.h"
#include "kernel/state.h"

#include <string.h>

static bool has_text(const char *text, size_t size, const char *part)
{
    const size_t n = strlen(part);

    for (size_t i = 0; text != NULL && i + n <= size; i++) {
        const char *at = memchr(text + i, part[0], size - n + 1 - i);

        if (at == NULL)
            return false;
        i = (size_t)(at - text);
        if (memcmp(at, part, n) == 0)
            return true;
    }
    return false;
}

static const pawl_value *rank_value(arena *mem, mode_rank r)
{
    return value_string(mem, mode_text(r), strlen(mode_text(r)));
}

typedef struct recorded { mode_rank mode, rights; } recorded;

static pawl_code record_read(arena *mem, pawl_bytes base, recorded *out, pawl_err *err)
{
    const pawl_value *v;

    *out = (recorded){ RANK_NONE, RANK_NONE };
    if (!has_text(base.data, base.size, "\"mode\":\"") && !has_text(base.data, base.size, "\"rights\":\""))     /* no record of them: the usual case */
        return PAWL_OK;
    if ((v = value_read(mem, base.data, base.size, "the base", err)) == NULL)
        return mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
    out->mode = mode_ranked(pawl_value_string(pawl_value_get(v, "mode")));
    out->rights = mode_ranked(pawl_value_string(pawl_value_get(v, "rights")));
    return PAWL_OK;
}

static mode_rank lower(mode_rank a, mode_rank b)
{
    return a == RANK_NONE ? b : b == RANK_NONE || a < b ? a : b;
}

static const pawl_value *without_own(arena *mem, const pawl_value *v)
{
    const pawl_value *out = value_pack(mem, NULL, "{}"), *key, *one;
    pawl_iter it = pawl_iter_of(v);

    while ((one = pawl_iter_next(&it, &key)) != NULL)
        if (strcmp(pawl_value_string(key), "@mode") != 0 && strcmp(pawl_value_string(key), "@rights") != 0)
            out = value_with(mem, out, pawl_value_string(key), one);
    return out;
}

/* For a machine without modes: it needs none in default and above, and plan mode could not be enforced. */
static pawl_code start_without(const pawl_machine *m, arena *mem, recorded r, bool child, const pawl_value **v, pawl_err *err)
{
    const char *given = pawl_value_string(pawl_value_get(*v, "@mode"));

    if (child) {
        r.mode = lower(lower(r.mode, mode_ranked(given)), mode_ranked(pawl_value_string(pawl_value_get(*v, "@rights"))));
        *v = without_own(mem, *v);
    }
    if (lower(r.mode, r.rights) == RANK_PLAN)
        return fail(err, PAWL_INVALID, "machine \"%s\" has no modes, so plan mode cannot hold: declare pawl_graph_modes, or take another mode", m->name);
    return PAWL_OK;
}

static pawl_code start_with(const pawl_machine *m, arena *mem, recorded r, bool child, const pawl_value **v, pawl_err *err)
{
    const bool caps = machine_channel_find(m, "", "@rights") != NULL;
    const mode_rank given = mode_ranked(pawl_value_string(pawl_value_get(*v, "@mode")));
    mode_rank mode;

    if (machine_channel_find(m, "", "@mode") == NULL)
        return start_without(m, mem, r, child, v, err);
    r.rights = lower(r.rights, mode_ranked(pawl_value_string(pawl_value_get(*v, "@rights"))));
    mode = lower(r.mode, given);
    if (r.rights != RANK_NONE)
        mode = lower(mode != RANK_NONE ? mode : RANK_DEFAULT, r.rights);
    if (mode != RANK_NONE && mode != given)
        *v = value_with(mem, *v, "@mode", rank_value(mem, mode));
    if (r.rights != RANK_NONE && caps)
        *v = value_with(mem, *v, "@rights", rank_value(mem, r.rights));
    else if (child && !caps && pawl_value_get(*v, "@rights") != NULL)
        *v = value_with(mem, without_own(mem, *v), "@mode", rank_value(mem, mode));
    return PAWL_OK;
}

/* One of the texts of an event, as JSON. */
static pawl_code text_change(const pawl_machine *m, arena *mem, recorded r, bool child, bool start, pawl_bytes *json, buf *text, pawl_err *err)
{
    const pawl_value *was = json->data == NULL ? value_pack(mem, NULL, "{}") : value_parse(mem, json->data, json->size, "an event", NULL), *v = was;
    mode_rank mode;
    pawl_code rc = PAWL_OK;

    if (was == NULL || pawl_value_type(was) != PAWL_TYPE_OBJECT)
        return mem->failed ? fail(err, PAWL_NOMEM, "no memory for an event") : PAWL_OK;        /* the kernel refuses it */
    mode = mode_ranked(pawl_value_string(pawl_value_get(was, "@mode")));
    if (start)
        rc = start_with(m, mem, r, child, &v, err);
    else if (mode > r.rights)
        v = value_with(mem, v, "@mode", rank_value(mem, r.rights));
    if (rc != PAWL_OK || v == was)
        return rc;
    canon(text, v);
    buf_char(text, '\0');
    if (v == NULL || text->failed)
        return fail(err, PAWL_NOMEM, "no memory for the mode of a run");
    *json = (pawl_bytes){ text->data, text->size - 1 };
    return PAWL_OK;
}

pawl_code record_rights(const pawl_machine *m, pawl_bytes base, bool child, pawl_event *ev, buf *text, pawl_err *err)
{
    const bool start = ev->kind == PAWL_EV_START, updates = ev->kind == PAWL_EV_ANSWER || ev->kind == PAWL_EV_REOPEN;
    pawl_bytes json = updates ? (pawl_bytes){ ev->update, ev->update != NULL ? strlen(ev->update) : 0 }
                              : (pawl_bytes){ ev->value, ev->value_size > 0 || ev->value == NULL ? ev->value_size : strlen(ev->value) };
    recorded r;
    pawl_code rc;
    arena mem;

    if (!start && !updates && ev->kind != PAWL_EV_UPDATE && ev->kind != PAWL_EV_INPUT)
        return PAWL_OK;
    if (!start && json.size == 0)
        return PAWL_OK;
    arena_init(&mem, NULL, 1024);
    rc = record_read(&mem, base, &r, err);
    if (rc == PAWL_OK && (r.rights != RANK_NONE || (start && (r.mode != RANK_NONE || child))))      /* an update is kept below rights alone */
        rc = text_change(m, &mem, r, child, start, &json, text, err);
    arena_free(&mem);
    if (rc != PAWL_OK || text->size == 0)
        return rc;
    if (updates)
        ev->update = json.data;
    else
        ev->value = json.data, ev->value_size = json.size;
    return PAWL_OK;
}

pawl_code start_try(const pawl_machine *m, pawl_state *st, pawl_bytes input, int64_t now, pawl_step *step, pawl_err *err)
{
    pawl_event start = { .kind = PAWL_EV_START, .value = input.data, .value_size = input.size, .time_ms = now };
    pawl_code rc;
    buf text;

    buf_init(&text, NULL);
    if ((rc = record_rights(m, pawl_state_base(st), st->parent != NULL, &start, &text, err)) == PAWL_OK)
        rc = pawl_feed(m, st, &start, step, err);
    buf_free(&text);
    return rc;
}
