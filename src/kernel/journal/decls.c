/* decls.c - the declarations of a run's channels: read from its base or an adopted machine, and written.
 *
 * Called when a state is loaded, by the fold of an adoption (both inside a transaction), and by the code that writes a state. */
#include "kernel/channel.h"
#include "kernel/journal/base.h"
#include "kernel/names.h"

#include <string.h>

const char *fixed_text(pawl_state *st, const pawl_value *v)
{
    return pawl_value_type(v) == PAWL_TYPE_STRING ? arena_strdup(&st->fixed, pawl_value_string(v), pawl_value_size(v)) : NULL;
}

/* Splits a stored name: "count" is of the run; "inner/x" of a subgraph; "a/b/x" of a subgraph inside another. */
static bool decl_name(pawl_state *st, decl *d, const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *last = slash == NULL ? name : slash + 1;

    d->where = slash == NULL ? "" : arena_strdup(&st->fixed, name, (size_t)(slash - name));
    d->name = arena_strdup(&st->fixed, last, strlen(last));
    if (d->where == NULL || d->name == NULL)
        return false;
    d->hash = name_hash(d->name);
    return true;
}

static pawl_code decl_read(pawl_state *st, decl *d, const char *name, const pawl_value *v, pawl_err *err)
{
    const pawl_value *first = pawl_value_get(v, "first");
    int rule = name_index(rule_names, 13, pawl_value_string(pawl_value_get(v, "rule")));

    if (rule < 1)
        return fail(err, PAWL_CORRUPT, "the base: channel \"%s\" has no rule that this version knows", name);
    d->rule = (uint8_t)rule;
    d->accumulate = pawl_value_bool(pawl_value_get(v, "accumulate"));
    d->keep = pawl_value_bool(pawl_value_get(v, "keep"));
    d->secret = fixed_text(st, pawl_value_get(v, "secret"));
    if (first != NULL)
        d->first = value_copy(&st->fixed, first);
    if (!decl_name(st, d, name) || st->fixed.failed)
        return PAWL_NOMEM;
    if (first != NULL && rule_is_list((unsigned)rule) && pawl_value_type(first) != PAWL_TYPE_ARRAY)
        return fail(err, PAWL_CORRUPT, "the base: channel \"%s\" is a list, and begins with none", name);
    return PAWL_OK;
}

pawl_code decls_read(pawl_state *st, const pawl_value *channels, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(channels);
    const pawl_value *key, *v;
    decl *d = arena_zero(&st->fixed, (pawl_value_size(channels) + 1) * sizeof *d);
    pawl_code rc = d == NULL ? PAWL_NOMEM : PAWL_OK;

    if (pawl_value_type(channels) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_CORRUPT, "the base has no channels");
    st->decls = d;
    while (rc == PAWL_OK && (v = pawl_iter_next(&it, &key)) != NULL)
        rc = decl_read(st, &d[st->ndecls++], pawl_value_string(key), v, err);
    return rc;
}

static pawl_code channels_grow(pawl_state *st, frame *f, uint32_t n)
{
    channel *grown;

    if (!TOUCH(st, f) || (grown = st_alloc(st, (f->nchannels + n) * sizeof *grown)) == NULL)
        return PAWL_NOMEM;
    if (f->nchannels > 0)
        memcpy(grown, f->channels, f->nchannels * sizeof *grown);
    st_free(st, f->channels, f->nchannels * sizeof *grown);
    f->channels = grown;
    return PAWL_OK;
}

/* Adds the new channels to a frame and to the open subgraphs in it; existing channels keep their values. */
static pawl_code channels_add(pawl_state *st, frame *f, const decl *d, uint32_t n)
{
    uint32_t own = 0;
    pawl_code rc = PAWL_OK;

    for (uint32_t i = 0; i < n; i++)
        own += strcmp(d[i].where, f->where) == 0;
    if (own > 0)
        rc = channels_grow(st, f, own);
    for (uint32_t i = 0; i < n && own > 0 && rc == PAWL_OK; i++) {
        if (strcmp(d[i].where, f->where) != 0)
            continue;
        channel *c = &f->channels[f->nchannels++];

        c->d = &d[i];
        f->has_ephemeral = f->has_ephemeral || decl_is_ephemeral(c->d);
        if (d[i].first != NULL)
            rc = channel_write(st, c, OP_OVERWRITE, d[i].first, NULL);
    }
    if (own > 0 && rc == PAWL_OK && !channels_index(st, f))
        return PAWL_NOMEM;
    for (uint32_t i = 0; i < f->ntasks && rc == PAWL_OK; i++)
        if (f->tasks[i].child != NULL)
            rc = channels_add(st, f->tasks[i].child, d, n);
    return rc;
}

/* Skips declarations that the run has already: a base made after an adoption has them, and so have the snapshots after it. */
static bool decl_known(const pawl_state *st, const decl *d)
{
    for (uint32_t i = 0; i < st->ndecls; i++)
        if (strcmp(st->decls[i].name, d->name) == 0 && strcmp(st->decls[i].where, d->where) == 0)
            return true;
    return false;
}

pawl_code decls_add(pawl_state *st, const pawl_value *channels, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(channels);
    const pawl_value *key, *v;
    uint32_t n = (uint32_t)pawl_value_size(channels), added = 0;
    decl *all, *own;
    pawl_code rc = PAWL_OK;

    if (channels != NULL && pawl_value_type(channels) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_CORRUPT, "channels is no object");
    if (n == 0)
        return PAWL_OK;
    all = arena_zero(&st->fixed, (st->ndecls + n) * sizeof *all);   /* the old array stays allocated, since channels point into it */
    own = arena_zero(&st->fixed, n * sizeof *own);
    if (all == NULL || own == NULL || !TOUCH(st, st))
        return PAWL_NOMEM;
    memcpy(all, st->decls, st->ndecls * sizeof *all);
    while (rc == PAWL_OK && (v = pawl_iter_next(&it, &key)) != NULL) {
        decl *d = &all[st->ndecls + added];

        rc = decl_read(st, d, pawl_value_string(key), v, err);
        if (rc != PAWL_OK || decl_known(st, d))
            continue;
        own[added++] = *d;
    }
    st->decls = all;
    st->ndecls += added;
    return rc != PAWL_OK || added == 0 ? rc : channels_add(st, &st->root, own, added);
}

void decls_code(buf *b, const decl *d, uint32_t n)
{
    buf_char(b, '{');
    for (uint32_t i = 0; i < n; i++) {
        buf_text(b, i > 0 ? ",\"" : "\"");
        if (*d[i].where != '\0') {
            buf_text(b, d[i].where);
            buf_char(b, '/');
        }
        buf_text(b, d[i].name);
        buf_text(b, "\":{");
        buf_text(b, d[i].accumulate ? "\"accumulate\":true," : "");
        if (d[i].first != NULL) {
            buf_text(b, "\"first\":");
            canon(b, d[i].first);
            buf_char(b, ',');
        }
        buf_text(b, d[i].keep ? "\"keep\":true," : "");
        buf_text(b, "\"rule\":\"");
        buf_text(b, rule_names[d[i].rule]);
        buf_char(b, '"');
        if (d[i].secret != NULL) {
            buf_text(b, ",\"secret\":");
            canon_string(b, d[i].secret, strlen(d[i].secret));
        }
        buf_char(b, '}');
    }
    buf_char(b, '}');
}
