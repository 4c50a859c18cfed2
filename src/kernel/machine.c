/* machine.c - the part that all machines have in common: a name, a version, channels, effects, a hash (F5). See machine.h. */
#include "kernel/cost.h"
#include "kernel/machine.h"
#include "kernel/names.h"

#include <string.h>

void pawl_machine_free(pawl_machine *m)
{
    if (m == NULL)
        return;
    if (m->declares)
        arena_free(&m->declared);
    m->ops->free(m);
}

const char *pawl_machine_name(const pawl_machine *m) { return m->name; }
uint32_t pawl_machine_version(const pawl_machine *m) { return m->version; }
const char *pawl_machine_hash(const pawl_machine *m) { return m->hash_hex; }

bool pawl_machine_effect(const pawl_machine *m, const char *effect, pawl_class *cls)
{
    const pawl_limits *l = machine_limits(m, effect);

    if (l != NULL && cls != NULL)
        *cls = l->cls;
    return l != NULL;
}

void retry_code(buf *b, const pawl_retry *r)
{
    char factor[REAL_TEXT_MAX];

    buf_fmt(b, "[%lu,%lu,%lu,", (unsigned long)r->max_attempts, (unsigned long)r->initial_ms, (unsigned long)r->max_ms);
    buf_put(b, factor, real_text(r->factor, factor));
    buf_text(b, r->jitter ? ",true]" : ",false]");
}

void limits_code(buf *b, const pawl_limits *l)
{
    buf_fmt(b, "[\"%s\",", class_names[l->cls]);
    retry_code(b, &l->retry);
    buf_fmt(b, ",%lu,%lu,%lu", (unsigned long)l->attempt_timeout_ms, (unsigned long)l->total_timeout_ms,
            (unsigned long)l->heartbeat_ms);
    if (l->inverse != NULL)
        buf_fmt(b, ",\"inverse:%s\"", l->inverse);
    if (l->on_unknown != NULL)
        buf_fmt(b, ",\"on_unknown:%s\"", l->on_unknown);
    if (l->cost.calls > 0 || l->cost.micros > 0 || l->cost.tokens > 0)
        buf_fmt(b, ",\"cost:%lld,%lld,%lld\"", (long long)l->cost.calls, (long long)l->cost.micros, (long long)l->cost.tokens);
    buf_char(b, ']');
}

const char *limits_error(const pawl_limits *l)
{
    if (l->inverse != NULL && (l->cls != PAWL_CLASS_COMPENSABLE || !name_valid(l->inverse)))
        return "an inverse is the name of an effect, and goes with the class compensable";
    if (l->on_unknown != NULL && ((l->cls != PAWL_CLASS_ONCE && l->cls != PAWL_CLASS_COMPENSABLE) || !name_valid(l->on_unknown)))
        return "on_unknown is the name of an effect, and goes with the classes once and compensable";
    return cost_error(&l->cost);
}

const char *pawl_version(void) { return PAWL_VERSION; }

const pawl_limits *machine_limits(const pawl_machine *m, const char *effect)
{
    for (uint32_t i = 0; i < m->neffects; i++)
        if (strcmp(m->effects[i].name, effect) == 0)
            return &m->effects[i].limits;
    return NULL;
}

const machine_channel *machine_channel_find(const pawl_machine *m, const char *where, const char *name)
{
    for (uint32_t i = 0; i < m->nchannels; i++)
        if (strcmp(m->channels[i].c.name, name) == 0 && strcmp(m->channels[i].where, where) == 0)
            return &m->channels[i];
    return NULL;
}

/* The bytes of "NAME" or "WHERE/NAME", one by one, without building the text; -1 at its end. */
static int key_byte(const machine_channel *mc, size_t i)
{
    size_t n = strlen(mc->where), m = strlen(mc->c.name);

    if (n > 0 && i <= n)
        return i < n ? (unsigned char)mc->where[i] : '/';
    i -= n > 0 ? n + 1 : 0;
    return i < m ? (unsigned char)mc->c.name[i] : -1;
}

/* A channel with the first bytes of its key, which decide nearly every comparison: the names lie all over the memory. */
typedef struct channel_key {
    uint64_t head;              /* the first byte highest; zeros behind a shorter key */
    const machine_channel *mc;
} channel_key;

static channel_key channel_key_of(const machine_channel *mc)
{
    channel_key k = { 0, mc };
    bool more = true;

    for (size_t i = 0; i < sizeof k.head; i++) {
        int c = more ? key_byte(mc, i) : -1;

        more = c >= 0;
        k.head = k.head << 8 | (more ? (uint64_t)c : 0);
    }
    return k;
}

static int key_order(const channel_key *a, const channel_key *b)
{
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    if (*a->mc->where == '\0' && *b->mc->where == '\0')
        return strcmp(a->mc->c.name, b->mc->c.name);
    for (size_t i = sizeof a->head;; i++) {
        int x = key_byte(a->mc, i), y = key_byte(b->mc, i);

        if (x != y || x < 0)
            return x - y;
    }
}

/* Bottom-up merge sort; `room` is as large as the array. Returns the one of the two that has the result. */
static const channel_key *channel_keys_sort(channel_key *v, channel_key *room, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t mid = low + width < n ? low + width : n, high = mid + width < n ? mid + width : n, i = low, j = mid;

            for (size_t k = low; k < high; k++)
                room[k] = j >= high || (i < mid && key_order(&v[i], &v[j]) <= 0) ? v[i++] : v[j++];
        }
        channel_key *sorted = room;

        room = v;
        v = sorted;
    }
    return v;
}

static bool channel_code(buf *b, arena *a, const machine_channel *mc, pawl_err *err)
{
    const pawl_value *first = NULL;
    bool any = false;

    if (mc->c.first != NULL && (first = value_parse(a, mc->c.first, strlen(mc->c.first), "a channel's first value", err)) == NULL)
        return false;
    buf_char(b, '"');
    if (*mc->where != '\0') {
        buf_text(b, mc->where);
        buf_char(b, '/');
    }
    buf_text(b, mc->c.name);
    buf_text(b, "\":");
    if (mc->c.accumulate)
        buf_text(b, "{\"accumulate\":true"), any = true;
    if (first != NULL) {
        buf_text(b, any ? ",\"first\":" : "{\"first\":");
        canon(b, first);
        any = true;
    }
    if (mc->c.keep)
        buf_text(b, any ? ",\"keep\":true" : "{\"keep\":true"), any = true;
    buf_text(b, any ? ",\"rule\":\"" : "{\"rule\":\"");
    buf_text(b, rule_names[mc->c.rule]);
    buf_char(b, '"');
    if (mc->c.secret != NULL) {
        buf_text(b, ",\"secret\":");
        canon_string(b, mc->c.secret, strlen(mc->c.secret));
    }
    buf_char(b, '}');
    return true;
}

const char *channels_code(arena *a, const machine_channel *c, size_t n, pawl_err *err)
{
    channel_key *keys = arena_get(a, 2 * (n + 1) * sizeof *keys);
    const channel_key *order = NULL;
    const char *out = NULL;
    bool good = keys != NULL;
    buf b;

    for (size_t i = 0; good && i < n; i++)
        keys[i] = channel_key_of(&c[i]);
    if (good)
        order = channel_keys_sort(keys, keys + n + 1, n);
    buf_init(&b, &a->alloc);
    buf_char(&b, '{');
    for (size_t i = 0; good && i < n; i++) {
        if (i > 0)
            buf_char(&b, ',');
        good = channel_code(&b, a, order[i].mc, err);
    }
    buf_char(&b, '}');
    if (good && !b.failed)
        out = arena_strdup(a, b.data, b.size);
    else if (good)
        a->failed = true;
    buf_free(&b);
    return out;
}
