/* begun.c - what a run was begun with, read from its base and its first entry. See begun.h.
 *
 * Called by `run` and `fork`, on the main thread or for a server; all values are in the memory of the session. */
#include "cli/begun.h"

enum { DIFFERS_BYTES = 120 };

typedef struct begun_look { arena *mem; const pawl_value *base; } begun_look;

static bool see_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    begun_look *l = ctx;

    (void)seq;
    if (kind == PAWL_LINE_BASE)
        l->base = value_parse(l->mem, line.data, line.size, "a base", NULL);
    return false;
}

static const pawl_value *base_of(session *s, const char *run, pawl_err *err)
{
    begun_look l = { .mem = &s->mem };
    const pawl_code rc = session_store(s)->verbs->load(session_store(s), run, see_base, &l, err);

    if (rc == PAWL_OK && l.base == NULL)
        fail(err, PAWL_NOMEM, "%s: no memory for what it was begun with", run);
    return rc == PAWL_OK ? l.base : NULL;
}

/* The channels that the first entry of `run` writes, if it is of that kind; NULL: it is not, or was pruned. */
static const pawl_value *first_writes(session *s, const char *run, const char *kind)
{
    const pawl_stream_options from = { .kinds = PAWL_STREAM_UPDATES };
    pawl_stream *r = pawl_stream_open(NULL, session_store(s), run, &from, NULL);
    const pawl_value *out = NULL, *writes, *one;
    pawl_stream_event ev;
    pawl_iter it;

    if (r != NULL && pawl_stream_next(r, &ev, NULL) == PAWL_OK && strcmp(ev.name, kind) == 0) {
        writes = value_parse(&s->mem, ev.json, strlen(ev.json), kind, NULL);
        out = value_pack(&s->mem, NULL, "{}");
        it = pawl_iter_of(writes);
        while ((one = pawl_iter_next(&it, NULL)) != NULL) {
            const char *name = pawl_value_string(pawl_value_at(one, 0));

            if (name != NULL && *name != '@')
                out = value_with(&s->mem, out, name, pawl_value_at(one, 1));
        }
    }
    pawl_stream_close(r);
    return out;
}

const pawl_value *begun_with(session *s) { return first_writes(s, s->run, "start"); }

/* ---- what differs -------------------------------------------------------------------------------------------- */

static void differs(char list[DIFFERS_BYTES], bool so, const char *what)
{
    if (so)
        snprintf(list + strlen(list), DIFFERS_BYTES - strlen(list), "%s%s", list[0] != '\0' ? ", " : "", what);
}

static bool text_differs(const pawl_value *base, const char *name, const char *now)
{
    const char *was = pawl_value_string(pawl_value_get(base, name));

    return (was == NULL) != (now == NULL) || (was != NULL && strcmp(was, now) != 0);
}

static bool has_label(const pawl_run_info *i, const char *label)
{
    bool found = false;

    for (size_t k = 0; k < sizeof i->labels / sizeof *i->labels && !found; k++)
        found = i->labels[k] != NULL && label != NULL && strcmp(i->labels[k], label) == 0;
    return found;
}

static bool labels_differ(const pawl_value *was, const pawl_run_info *now)
{
    bool differ = false;

    for (size_t i = 0; i < pawl_value_size(was); i++)
        differ = differ || !has_label(now, pawl_value_string(pawl_value_at(was, i)));
    for (size_t k = 0; k < sizeof now->labels / sizeof *now->labels; k++) {
        bool found = now->labels[k] == NULL;

        for (size_t i = 0; i < pawl_value_size(was) && !found; i++)
            found = strcmp(now->labels[k], pawl_value_string(pawl_value_at(was, i))) == 0;
        differ = differ || !found;
    }
    return differ;
}

pawl_code begun_same(session *s, const beginning *b, pawl_err *err)
{
    const pawl_value *base = base_of(s, s->run, err), *input = begun_with(s);
    const char *file = pawl_value_string(pawl_value_find(base, "/machine/hash"));
    char list[DIFFERS_BYTES] = "";

    if (base == NULL)
        return err->code;
    differs(list, input != NULL && !pawl_value_equal(b->input, input), "input");
    differs(list, file == NULL || strcmp(file, pawl_machine_hash(s->machine)) != 0, "file");
    differs(list, text_differs(base, "context", b->info.context), "context");
    differs(list, labels_differ(pawl_value_get(base, "labels"), &b->info), "label");
    differs(list, text_differs(base, "mode", b->info.mode), "mode");
    return list[0] == '\0' ? PAWL_OK : fail(err, PAWL_CONFLICT, "%s was begun with another %s under this key", s->run, list);
}

/* ---- forks ------------------------------------------------------------------------------------------------------ */

uint64_t forked_at(session *s, const char *fork)
{
    const pawl_value *of = pawl_value_get(base_of(s, fork, NULL), "lineage");
    const char *run = pawl_value_string(pawl_value_get(of, "run"));

    return run != NULL && strcmp(run, s->run) == 0 ? pawl_value_uint(pawl_value_get(of, "seq")) : 0;
}

/* Its first entry is the one that made it: a fork with a key has one always. */
pawl_code forked_same(session *s, const char *fork, uint64_t seq, const pawl_value *set, pawl_mode mode, pawl_err *err)
{
    const pawl_value *was = first_writes(s, fork, "update");
    const uint64_t at = forked_at(s, fork);
    pawl_state *st = NULL;
    char list[DIFFERS_BYTES] = "";

    if (at == 0)
        return fail(err, PAWL_CONFLICT, "%s is no fork of %s", fork, s->run);
    differs(list, seq != 0 && seq != at, "at");
    differs(list, was != NULL && !pawl_value_equal(was, set), "set");
    if (mode != PAWL_MODE_NONE && pawl_history_state(session_store(s), fork, 1, &st, &(pawl_err){ PAWL_OK, "" }) == PAWL_OK)
        differs(list, mode != pawl_mode_named(run_mode_of(st)), "mode");
    pawl_state_free(st);
    return list[0] == '\0' ? PAWL_OK : fail(err, PAWL_CONFLICT, "%s was forked with another %s under this key", fork, list);
}
