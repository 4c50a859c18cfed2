/* values.c - writes the values of a frame's channels as an object, sorted by name.
 *
 * Called by the code that writes a state and by queries of a state, on the thread that owns the state; changes nothing but lists that it loads. */
#include "kernel/journal/base.h"
#include "kernel/names.h"

#include <string.h>

void part_code(buf *b, blob_set *apart, buf *beside, const char *prefix, const char *name, const pawl_value *v)
{
    char path[NAME_BYTES_MAX + 32];
    size_t at = b->size, n = strlen(prefix), m = strlen(name);

    canon(b, v);
    if (apart == NULL || b->size - at <= blobs_most(apart) || n + m + 2 > sizeof path)
        return;
    memcpy(path, prefix, n);
    path[n] = '/';
    memcpy(path + n + 1, name, m + 1);
    blob_apart(apart, b, at, v, path, beside);
}

size_t channels_order_bytes(const frame *f) { return 2 * ((size_t)f->nchannels + 1) * sizeof(uint32_t); }

/* Bottom-up merge sort. */
uint32_t *channels_sorted(pawl_state *st, const frame *f)
{
    const uint32_t n = f->nchannels;
    uint32_t *order = mem_new(&st->alloc, channels_order_bytes(f)), *v = order, *room;

    if (order == NULL)
        return NULL;
    room = order + n + 1;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t mid = low + width < n ? low + width : n, high = mid + width < n ? mid + width : n, i = low, j = mid;

            for (size_t k = low; k < high; k++)
                room[k] = j >= high || (i < mid && strcmp(f->channels[v[i]].d->name, f->channels[v[j]].d->name) <= 0) ? v[i++] : v[j++];
        }
        uint32_t *sorted = room;

        room = v;
        v = sorted;
    }
    if (v != order)
        memcpy(order, v, n * sizeof *order);
    return order;
}

bool channel_by_entries(const channel *c)
{
    const list *l = c->d->rule == PAWL_RULE_APPEND ? channel_list(c) : NULL;

    return l != NULL && l->segment + l->count > 0;
}

void values_apart(pawl_state *st, const frame *f, buf *b, bool lists, bool secrets, bool own, blob_set *apart, buf *beside)
{
    uint32_t *order = channels_sorted(st, f);
    bool any = false;

    if (order == NULL)
        b->failed = true;
    buf_char(b, '{');
    for (uint32_t i = 0; order != NULL && i < f->nchannels; i++) {
        channel *c = &f->channels[order[i]];
        const pawl_value *v;

        if ((!lists && channel_by_entries(c)) || (!own && channel_own(c->d->name)))
            continue;
        v = channel_value(st, c);
        if (v == NULL && c->d->secret == NULL)
            continue;
        if (c->d->secret != NULL && !secrets)
            continue;
        if (any)
            buf_char(b, ',');
        canon_string(b, c->d->name, strlen(c->d->name));
        buf_char(b, ':');
        if (c->d->secret != NULL)
            canon_string(b, c->d->secret, strlen(c->d->secret));
        else
            part_code(b, apart, beside, "/values", c->d->name, v);
        any = true;
    }
    buf_char(b, '}');
    mem_free(&st->alloc, order, channels_order_bytes(f));
}

void values_code(pawl_state *st, const frame *f, buf *b, bool lists, bool secrets)
{
    values_apart(st, f, b, lists, secrets, false, NULL, NULL);
}
