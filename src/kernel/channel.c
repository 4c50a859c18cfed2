/* channel.c - the merge rules (K3), and the memory of channel values.
 *
 * Called by the folds, inside a transaction. A write is checked before the channel changes, so that a refused write leaves the channel
 * as it was. */
#include "kernel/channel.h"
#include "kernel/names.h"

#include <string.h>

bool rule_is_list(unsigned rule)
{
    return rule == PAWL_RULE_APPEND || rule == PAWL_RULE_UNION || rule == PAWL_RULE_TOPIC || rule == PAWL_RULE_BARRIER;
}

/* ---- lists ------------------------------------------------------------------------------ */

list *list_new(pawl_state *st)
{
    list *l = list_make(&st->alloc);

    if (l != NULL && !st_list_alloc(st, l)) {
        list_free(l);
        return NULL;
    }
    return l;
}

static bool list_add(pawl_state *st, list *l, const yyjson_val *nodes, size_t n)
{
    if (!st_list_grew(st, l, n, 1))     /* logged before the list grows, so that without memory nothing has changed */
        return false;
    if (!list_append(l, nodes, n, txn_keeps(st))) {
        st_list_grew_not(st, l);
        return false;
    }
    if (st->t->mode == TXN_FEED || st->t->mode == TXN_ADVANCE)
        l->floating++;
    return true;
}

bool list_push(pawl_state *st, list *l, const pawl_value *v)
{
    return list_add(st, l, val_of(v), value_nodes(v));
}

/* ---- one channel --------------------------------------------------------------------------- */

enum { FEW_CHANNELS = 8 };     /* a linear search of fewer channels is faster than hashing the name */

channel *channel_search(const frame *f, const char *name)
{
    uint32_t h, at, i;

    if (f->nchannels <= FEW_CHANNELS) {
        for (i = 0; i < f->nchannels; i++)
            if (*f->channels[i].d->name == *name && strcmp(f->channels[i].d->name, name) == 0)
                return &f->channels[i];
        return NULL;
    }
    h = name_hash(name);
    at = hash_index_first(&f->by_name, h);
    while ((i = hash_index_next(&f->by_name, h, &at)) != UINT32_MAX)
        if (strcmp(f->channels[i].d->name, name) == 0)
            return &f->channels[i];
    return NULL;
}

bool channels_index(pawl_state *st, frame *f)
{
    const uint32_t size = hash_index_size(f->nchannels);

    st_free(st, f->by_name.slots, f->by_name.size * sizeof *f->by_name.slots);
    f->by_name = (hash_index){ NULL, 0, 0 };
    if (f->nchannels <= FEW_CHANNELS)
        return true;
    if (!hash_index_lent(&f->by_name, st_alloc(st, size * sizeof *f->by_name.slots), size))
        return false;
    for (uint32_t i = 0; i < f->nchannels; i++)
        (void)hash_index_add(&f->by_name, &st->alloc, f->channels[i].d->hash, i);
    return true;
}

pawl_code list_load(pawl_state *st, channel *c, pawl_err *err)
{
    PAWL_ASSERT(st->segment_load != NULL, "K7: a list has a segment only of a snapshot that was read");
    return st->segment_load(st, c, err);
}

const pawl_value *channel_load(pawl_state *st, channel *c)
{
    list *l = c->list.of;

    return l->segment > 0 && list_load(st, c, NULL) != PAWL_OK ? NULL : list_value(l);
}

void channel_drop(pawl_state *st, channel *c)
{
    if (c->form == CHANNEL_BLOCK)
        st_free(st, c->block.nodes, c->block.bytes);
    else
        st_list_free(st, channel_list(c));
}

static pawl_code value_put(pawl_state *st, channel *c, const pawl_value *v)
{
    const pawl_value *kept = NULL;
    size_t bytes = 0;

    if ((val_of(v)->tag & YYJSON_TYPE_MASK) >= YYJSON_TYPE_STR && (kept = st_value(st, v, &bytes)) == NULL)
        return PAWL_NOMEM;
    if (!TOUCH(st, c))
        return PAWL_NOMEM;
    if (c->form > CHANNEL_SCALAR)
        channel_drop(st, c);
    if (kept == NULL) {
        c->scalar = *val_of(v);
        c->form = CHANNEL_SCALAR;
    } else {
        c->block.nodes = kept;
        c->block.bytes = bytes;
        c->form = CHANNEL_BLOCK;
    }
    return PAWL_OK;
}

/* Replaces the value of the channel by a list; NULL: no memory for it. */
static pawl_code list_put(pawl_state *st, channel *c, list *l)
{
    if (l == NULL || !TOUCH(st, c))
        return PAWL_NOMEM;
    channel_drop(st, c);
    c->list.of = l;
    c->list.born = st->seq;
    c->form = CHANNEL_LIST;
    return PAWL_OK;
}

/* Makes the value a list, unless it is one. */
static pawl_code list_begin(pawl_state *st, channel *c) { return c->form == CHANNEL_LIST ? PAWL_OK : list_put(st, c, list_new(st)); }

pawl_code channel_clear(pawl_state *st, channel *c)
{
    if (!channel_is_set(c))
        return PAWL_OK;
    if (!TOUCH(st, c))
        return PAWL_NOMEM;
    channel_drop(st, c);
    c->form = CHANNEL_UNSET;
    return PAWL_OK;
}

static pawl_code wrong(pawl_err *err, const channel *c, const char *what)
{
    return fail(err, PAWL_INVALID, "channel \"%s\": %s", c->d->name, what);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static pawl_code write_element(pawl_state *st, channel *c, const pawl_value *v)
{
    pawl_code rc;

    if ((rc = list_begin(st, c)) != PAWL_OK)
        return rc;
    if (c->d->rule == PAWL_RULE_UNION || c->d->rule == PAWL_RULE_BARRIER) {
        if (c->list.of->segment > 0 && (rc = list_load(st, c, NULL)) != PAWL_OK)
            return rc;
        if (list_has(c->list.of, v))
            return PAWL_OK;
    }
    return list_push(st, c->list.of, v) ? PAWL_OK : PAWL_NOMEM;
}

static pawl_code write_elements(pawl_state *st, channel *c, const pawl_value *array)
{
    pawl_iter it = pawl_iter_of(array);
    const pawl_value *v;
    pawl_code rc = list_begin(st, c);

    while (rc == PAWL_OK && (v = pawl_iter_next(&it, NULL)) != NULL)
        rc = write_element(st, c, v);
    return rc;
}

static pawl_code write_overwrite(pawl_state *st, channel *c, const pawl_value *v, pawl_err *err)
{
    pawl_code rc;

    if (!rule_is_list(c->d->rule))
        return value_put(st, c, v);
    if (pawl_value_type(v) != PAWL_TYPE_ARRAY)
        return wrong(err, c, "is a list; overwrite it with an array");
    if ((rc = list_put(st, c, list_new(st))) != PAWL_OK)
        return rc;
    return write_elements(st, c, v);
}

/* pawl_value_int() returns 0 for integers above INT64_MAX. */
static bool beyond_int64(const pawl_value *v)
{
    return pawl_value_uint(v) > INT64_MAX;
}

static bool add_int64(const pawl_value *a, const pawl_value *b, int64_t *sum)
{
    if (beyond_int64(a) || beyond_int64(b))
        return false;
    return !__builtin_add_overflow(pawl_value_int(a), pawl_value_int(b), sum);
}

static bool is_real(const pawl_value *number)
{
    return (val_of(number)->tag & YYJSON_SUBTYPE_MASK) == YYJSON_SUBTYPE_REAL;
}

static pawl_code write_sum(pawl_state *st, channel *c, const pawl_value *old, const pawl_value *v, pawl_err *err)
{
    const pawl_value *result;
    int64_t sum = 0;

    if (!is_real(v) && !is_real(old)) {
        if (!add_int64(old, v, &sum))
            return fail(err, PAWL_LIMIT, "channel \"%s\": the sum leaves the range of int64", c->d->name);
        result = value_int(st->t->mem, sum);
    } else {
        double x = pawl_value_real(old) + pawl_value_real(v);

        if (!(x - x == 0.0))
            return fail(err, PAWL_LIMIT, "channel \"%s\": the sum leaves the range of double", c->d->name);
        result = value_real(st->t->mem, x);
    }
    return result == NULL ? PAWL_NOMEM : value_put(st, c, result);
}

/* Compares an integer and a double exactly: when the integer rounds to the same double, the rounding error decides. */
static int int_order(const pawl_value *i, double x)
{
    double near = pawl_value_real(i);

    if (near != x)
        return (near > x) - (near < x);
    if (x < 0)
        return (pawl_value_int(i) > (int64_t)x) - (pawl_value_int(i) < (int64_t)x);
    if (x >= 18446744073709551616.0)
        return -1;
    return (pawl_value_uint(i) > (uint64_t)x) - (pawl_value_uint(i) < (uint64_t)x);
}

/* -1, 0, 1 for two numbers, exact also between integers and doubles; or two strings by bytes. */
static int value_order(const pawl_value *a, const pawl_value *b)
{
    if (pawl_value_type(a) == PAWL_TYPE_STRING) {
        size_t n = pawl_value_size(a), m = pawl_value_size(b);
        int d = memcmp(pawl_value_string(a), pawl_value_string(b), n < m ? n : m);

        return d != 0 ? d : (n > m) - (n < m);
    }
    if (pawl_value_type(a) == PAWL_TYPE_INT && pawl_value_type(b) == PAWL_TYPE_INT) {
        int64_t i = pawl_value_int(a), j = pawl_value_int(b);

        if (i < 0 || j < 0)
            return (i > j) - (i < j);
        return (pawl_value_uint(a) > pawl_value_uint(b)) - (pawl_value_uint(a) < pawl_value_uint(b));
    }
    if (pawl_value_type(a) == PAWL_TYPE_INT)
        return int_order(a, pawl_value_real(b));
    if (pawl_value_type(b) == PAWL_TYPE_INT)
        return -int_order(b, pawl_value_real(a));
    double x = pawl_value_real(a), y = pawl_value_real(b);
    return (x > y) - (x < y);
}

static bool is_number(const pawl_value *v)
{
    return v != NULL && (val_of(v)->tag & YYJSON_TYPE_MASK) == YYJSON_TYPE_NUM;
}

static pawl_code write_extreme(pawl_state *st, channel *c, const pawl_value *old, const pawl_value *v, pawl_err *err)
{
    if (is_number(old) != is_number(v) || (!is_number(old) && pawl_value_type(old) != PAWL_TYPE_STRING))
        return wrong(err, c, "min and max take all numbers or all strings");
    int d = value_order(v, old);
    bool wins = c->d->rule == PAWL_RULE_MIN ? d < 0 : d > 0;

    return wins ? value_put(st, c, v) : PAWL_OK;
}

/* ---- merge: objects, shallow ------------------------------------------------------------------- */

enum { MEMBERS_FEW = 32, STALE_BYTES_LEAST = 4096 };   /* an object with fewer members is one block */

/* Index of the members of an update by key, with a flag for each member that the old object has. */
typedef struct update_keys { list view; bool *met; } update_keys;

static bool keys_begin(pawl_state *st, update_keys *k, const pawl_value *v)
{
    k->view = (list){ .nodes = arena_get(st->t->mem, value_nodes(v) * sizeof(yyjson_val)), .used = value_nodes(v),
                      .count = pawl_value_size(v), .object = true };
    k->met = arena_zero(st->t->mem, value_nodes(v) + 1);
    arena_init(&k->view.strings, &st->alloc, 1);
    if (k->view.nodes == NULL || k->met == NULL)
        return false;
    memcpy(k->view.nodes, val_of(v), value_nodes(v) * sizeof(yyjson_val));
    return true;
}

/* The old members in their order with new values, then the new members; in the transaction's arena. NULL: no memory. */
static const pawl_value *object_merged(pawl_state *st, const pawl_value *old, const pawl_value *v)
{
    size_t used = 1, count = 0;
    yyjson_val *out = arena_get(st->t->mem, (value_nodes(old) + value_nodes(v)) * sizeof *out);
    const pawl_value *key, *member;
    pawl_iter it = pawl_iter_of(old);
    update_keys k;

    if (!keys_begin(st, &k, v) || out == NULL)
        return NULL;
    for (int pass = 0; pass < 2; pass++) {
        while ((member = pawl_iter_next(&it, &key)) != NULL) {
            size_t at = pass == 0 ? list_key(&k.view, val_of(key)) : (size_t)(val_of(key) - val_of(v));

            if (pass == 1 && k.met[at])
                continue;
            if (pass == 0 && at > 0) {
                k.met[at] = true;
                member = of_val(val_of(v) + at + 1);
            }
            out[used++] = *val_of(key);
            memcpy(out + used, val_of(member), value_nodes(member) * sizeof *out);
            used += value_nodes(member);
            count++;
        }
        it = pawl_iter_of(v);
    }
    list_forget_index(&k.view);
    out[0].tag = (uint64_t)count << YYJSON_TAG_BIT | YYJSON_TYPE_OBJ;
    out[0].uni.ofs = used * sizeof *out;
    return of_val(out);
}

/* Turns an object of many members into a list, which grows in place. */
static pawl_code object_grows(pawl_state *st, channel *c, const pawl_value *v)
{
    list *l = list_new(st);
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *key, *member;

    if (l == NULL)
        return PAWL_NOMEM;
    l->object = true;
    while ((member = pawl_iter_next(&it, &key)) != NULL)
        if (!list_append(l, val_of(key), 1 + value_nodes(member), txn_keeps(st)))
            return PAWL_NOMEM;
    return list_put(st, c, l);
}

/* Whether each existing member has as many nodes as its new value, so that the nodes can be overwritten in place. */
static bool object_fits(list *l, const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *key, *member;

    if (l->stale_bytes > STALE_BYTES_LEAST && l->stale_bytes > l->text_bytes / 2)
        return false;           /* too many bytes of replaced strings: build a new list, which frees them */
    while ((member = pawl_iter_next(&it, &key)) != NULL) {
        size_t at = list_key(l, val_of(key));

        if (at > 0 && value_nodes(of_val(l->nodes + at + 1)) != value_nodes(member))
            return false;
    }
    return true;
}

static pawl_code object_put(pawl_state *st, list *l, const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *key, *member;

    while ((member = pawl_iter_next(&it, &key)) != NULL) {
        size_t at = list_key(l, val_of(key)), n = value_nodes(member);

        if (at == 0 ? !list_add(st, l, val_of(key), 1 + n)
                    : !st_list_changes(st, l, at + 1, n) || !list_put_nodes(l, at + 1, val_of(member), n, txn_keeps(st)))
            return PAWL_NOMEM;
    }
    return PAWL_OK;
}

static pawl_code write_object(pawl_state *st, channel *c, const pawl_value *old, const pawl_value *v)
{
    list *l = channel_list(c);

    if (l != NULL && object_fits(l, v)) {
        if (val_of(v) >= l->nodes && val_of(v) < l->nodes + l->used && (v = value_copy(st->t->mem, v)) == NULL)
            return PAWL_NOMEM;  /* the value is a part of this list, whose buffer may move */
        return object_put(st, l, v);
    }
    if ((v = object_merged(st, old, v)) == NULL)
        return PAWL_NOMEM;
    return pawl_value_size(v) < MEMBERS_FEW ? value_put(st, c, v) : object_grows(st, c, v);
}

/* The demands of a rule on an update, independent of the current value. */
static pawl_code update_check(const channel *c, unsigned op, const pawl_value *v, pawl_err *err)
{
    pawl_type type;

    if (op == OP_MERGE && c->d->rule == PAWL_RULE_SUM && is_number(v))
        return PAWL_OK;
    if ((type = pawl_value_type(v)) == PAWL_TYPE_NONE)
        return wrong(err, c, "no value was given");
    if (op == OP_EXTEND && !rule_is_list(c->d->rule))
        return wrong(err, c, "extend is for append, union, topic and barrier");
    if (op == OP_EXTEND && type != PAWL_TYPE_ARRAY)
        return wrong(err, c, "extend takes an array");
    if (op != OP_MERGE)
        return PAWL_OK;
    if (c->d->rule == PAWL_RULE_SUM && !is_number(v))
        return wrong(err, c, "a sum takes numbers");
    if ((c->d->rule == PAWL_RULE_MIN || c->d->rule == PAWL_RULE_MAX) && !is_number(v) && type != PAWL_TYPE_STRING)
        return wrong(err, c, "min and max take numbers or strings");
    if (c->d->rule == PAWL_RULE_MERGE && type != PAWL_TYPE_OBJECT)
        return wrong(err, c, "merge takes objects");
    if (c->d->rule == PAWL_RULE_BARRIER && type != PAWL_TYPE_STRING)
        return wrong(err, c, "a barrier takes names");
    return PAWL_OK;
}

pawl_code channel_takes(const channel *c, unsigned op, const pawl_value *v, pawl_err *err)
{
    if (c->d->secret != NULL)
        return wrong(err, c, "is a secret, and is never written");
    return update_check(c, op, v, err);
}

pawl_code channel_write(pawl_state *st, channel *c, unsigned op, const pawl_value *v, pawl_err *err)
{
    const pawl_value *old;
    pawl_code rc;

    if (c->d->rule == PAWL_RULE_LAST && op == OP_MERGE && c->d->secret == NULL && v != NULL)
        return value_put(st, c, v);
    if ((rc = channel_takes(c, op, v, err)) != PAWL_OK)
        return rc;
    if (op == OP_OVERWRITE)
        return write_overwrite(st, c, v, err);
    if (op == OP_EXTEND)
        return write_elements(st, c, v);
    if (rule_is_list(c->d->rule))
        return write_element(st, c, v);
    if ((old = channel_value(st, c)) == NULL)
        return value_put(st, c, v);         /* the first write is the rule's result */
    switch ((pawl_rule)c->d->rule) {
    case PAWL_RULE_SUM:
        if (!is_number(old))
            return wrong(err, c, "a sum was overwritten with what is no number");
        return write_sum(st, c, old, v, err);
    case PAWL_RULE_MIN:
    case PAWL_RULE_MAX:
        return write_extreme(st, c, old, v, err);
    case PAWL_RULE_MERGE:
        return pawl_value_type(old) == PAWL_TYPE_OBJECT ? write_object(st, c, old, v) : value_put(st, c, v);
    case PAWL_RULE_LAST:
    case PAWL_RULE_SINGLE:
    case PAWL_RULE_EPHEMERAL:
    case PAWL_RULE_CUSTOM:
    case PAWL_RULE_APPEND:
    case PAWL_RULE_UNION:
    case PAWL_RULE_TOPIC:
    case PAWL_RULE_BARRIER:
        break;
    }
    return value_put(st, c, v);
}

/* ---- a frame's channels -------------------------------------------------------------------------- */

pawl_code channels_init(pawl_state *st, frame *f)
{
    uint32_t n = 0;
    pawl_code rc = PAWL_OK;

    for (uint32_t i = 0; i < st->ndecls; i++)
        n += strcmp(st->decls[i].where, f->where) == 0;
    if (n == 0)
        return PAWL_OK;
    if ((f->channels = st_alloc(st, n * sizeof *f->channels)) == NULL)
        return PAWL_NOMEM;
    for (uint32_t i = 0; i < st->ndecls && rc == PAWL_OK; i++) {
        if (strcmp(st->decls[i].where, f->where) != 0)
            continue;
        channel *c = &f->channels[f->nchannels++];

        c->d = &st->decls[i];
        f->has_ephemeral = f->has_ephemeral || decl_is_ephemeral(c->d);
        if (c->d->first != NULL)
            rc = channel_write(st, c, OP_OVERWRITE, c->d->first, NULL);
    }
    return rc == PAWL_OK && !channels_index(st, f) ? PAWL_NOMEM : rc;
}

pawl_code put_writes(pawl_state *st, frame *f, const pawl_value *object, bool custom, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(object);
    const pawl_value *key, *v;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && (v = pawl_iter_next(&it, &key)) != NULL) {
        channel *c = channel_find(f, pawl_value_string(key));

        if (c == NULL && st->only)
            continue;
        if (c == NULL)
            return fail(err, PAWL_INVALID, "there is no channel \"%s\"", pawl_value_string(key));
        if (c->d->rule == PAWL_RULE_CUSTOM && !custom)
            continue;           /* the merged result is in a put item */
        rc = channel_write(st, c, OP_MERGE, v, err);
    }
    return rc;
}

pawl_code writes_check(const pawl_state *st, const frame *f, const pawl_value *object, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(object);
    const pawl_value *key, *v;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && (v = pawl_iter_next(&it, &key)) != NULL) {
        const channel *c = channel_find(f, pawl_value_string(key));

        if (c == NULL && st->only)
            continue;
        rc = c == NULL ? fail(err, PAWL_INVALID, "there is no channel \"%s\"", pawl_value_string(key)) : channel_takes(c, OP_MERGE, v, err);
    }
    return rc;
}
