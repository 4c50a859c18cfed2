/* run_base.c - reads the base of a run: its id, life, machine and labels, and the entry that the journal begins after.
 *
 * Owns nothing: pure functions, on any thread. Called by each store when a run is created or pruned. */
#include "store/store.h"

static bool life_parse(const char *text, uint64_t *life)
{
    uint64_t n = 0;

    if (text == NULL || strlen(text) != 16)
        return false;
    for (; *text != '\0'; text++) {
        if (*text >= '0' && *text <= '9')
            n = n << 4 | (uint64_t)(*text - '0');
        else if (*text >= 'a' && *text <= 'f')
            n = n << 4 | (uint64_t)(*text - 'a' + 10);
        else
            return false;
    }
    *life = n;
    return n != 0;
}

/* *out NULL: no such member. False: the member is not a text, or has a NUL in it. */
static bool text_member(const pawl_value *v, const char *name, const char **out)
{
    const pawl_value *text = pawl_value_get(v, name);

    *out = pawl_value_string(text);
    return text == NULL || (*out != NULL && strlen(*out) == pawl_value_size(text));
}

static bool labels_read(const pawl_value *v, store_base *out)
{
    const pawl_value *labels = pawl_value_get(v, "labels");

    if (labels == NULL)
        return true;
    out->nlabels = pawl_value_size(labels);
    if (pawl_value_type(labels) != PAWL_TYPE_ARRAY || out->nlabels > STORE_LABELS_MAX)
        return false;
    for (size_t i = 0; i < out->nlabels; i++) {
        const pawl_value *label = pawl_value_at(labels, i);

        out->labels[i] = pawl_value_string(label);
        if (out->labels[i] == NULL || strlen(out->labels[i]) != pawl_value_size(label))
            return false;
    }
    return true;
}

static bool numbers_read(const pawl_value *v, store_base *out)
{
    const pawl_value *seq = pawl_value_get(v, "seq"), *at = pawl_value_get(v, "at"), *priority = pawl_value_get(v, "priority");
    int64_t wide = pawl_value_int(priority);

    out->seq = pawl_value_uint(seq);
    out->created_ms = pawl_value_int(at);
    out->priority = (int32_t)wide;
    return (seq == NULL || (out->seq > 0 && out->seq <= INT64_MAX)) && (at == NULL || pawl_value_type(at) == PAWL_TYPE_INT) &&
           (priority == NULL || (pawl_value_type(priority) == PAWL_TYPE_INT && wide == out->priority));
}

pawl_code store_base_read(arena *a, pawl_bytes base, store_base *out, pawl_err *err)
{
    const pawl_value *v = NULL;
    uint64_t format;

    *out = (store_base){ .run = NULL };
    if (base.data == NULL || base.size == 0)
        return fail(err, PAWL_INVALID, "a run needs a base");
    if (memchr(base.data, '\n', base.size) != NULL)
        return fail(err, PAWL_INVALID, "a base is one line, and this one has a newline");
    if ((v = value_read(a, base.data, base.size, "the base", err)) == NULL)
        return a->failed ? fail(err, PAWL_NOMEM, "no memory to read a base") : PAWL_INVALID;
    format = pawl_value_uint(pawl_value_get(v, "format"));
    if (format == 0)
        return fail(err, PAWL_INVALID, "the base names no format");
    if (format > STORE_FORMAT)
        return fail(err, PAWL_INVALID, "the base is of format %llu, and this version knows %d: take a newer one",
                    (unsigned long long)format, STORE_FORMAT);
    if (!text_member(v, "id", &out->run) || !store_run_valid(out->run))
        return fail(err, PAWL_INVALID, "the base has no run id");
    if (!life_parse(pawl_value_string(pawl_value_get(v, "life")), &out->life))
        return fail(err, PAWL_INVALID, "%s: the base has no life", out->run);
    if (!text_member(pawl_value_get(v, "machine"), "name", &out->machine) || out->machine == NULL)
        return fail(err, PAWL_INVALID, "%s: the base names no machine", out->run);
    if (!text_member(v, "context", &out->context) || !text_member(v, "parent", &out->parent) || !labels_read(v, out) || !numbers_read(v, out))
        return fail(err, PAWL_INVALID, "%s: context, parent, labels, priority, at or seq of the base is malformed", out->run);
    return PAWL_OK;
}
