/* cost.c - costs and caps as numbers: read, checked and written as JSON. See cost.h. */
#include "kernel/cost.h"
#include "kernel/names.h"

#include <string.h>

const char *const cost_names[COSTS] = { "calls", "micros", "tokens" };

static amounts of_cost(const pawl_cost *c) { return (amounts){ .n = { c->calls, c->micros, c->tokens } }; }

amounts cost_due(const pawl_limits *l)
{
    const pawl_limits none = {0};
    amounts due;

    l = l != NULL ? l : &none;
    due = of_cost(&l->cost);
    if (due.n[COST_CALLS] == 0 && l->cls != PAWL_CLASS_PURE)      /* not declared: a call for each attempt that may be made */
        due.n[COST_CALLS] = l->retry.max_attempts > 1 ? l->retry.max_attempts : 1;
    return due;
}

amounts share_due(const pawl_caps *share)
{
    return (amounts){ .n = { share->calls, share->micros, share->tokens } };
}

const char *cost_error(const pawl_cost *c)
{
    return c->calls < 0 || c->micros < 0 || c->tokens < 0 ? "what it may cost is not below 0" : NULL;
}

/* The fault of an object of amounts; NULL: none. `also`: a further member that it may have. A number above INT64_MAX is 0 as an int, and none as a uint. */
static const char *numbers_wrong(const pawl_value *v, const char *also)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *key, *n;

    if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return "it is no object";
    while ((n = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = pawl_value_string(key);

        if (name_index(cost_names, COSTS, name) < 0 && (also == NULL || strcmp(name, also) != 0))
            return also != NULL && strcmp(also, "ms") == 0 ? "its members are calls, micros, ms and tokens" : "its members are calls, micros and tokens";
        if (pawl_value_type(n) != PAWL_TYPE_INT || pawl_value_int(n) < 0 || (pawl_value_int(n) == 0 && pawl_value_uint(n) != 0))
            return "its members are whole numbers, not below 0";
    }
    return NULL;
}

const char *usage_error(const pawl_value *usage) { return numbers_wrong(usage, NULL); }
const char *receipt_usage_error(const pawl_value *usage) { return numbers_wrong(usage, "unseen"); }
const char *caps_error(const pawl_value *caps) { return numbers_wrong(caps, "ms"); }
bool caps_none(const pawl_caps *c) { return c->calls == 0 && c->micros == 0 && c->tokens == 0 && c->ms == 0; }

void caps_read(const pawl_value *v, pawl_caps *caps)
{
    *caps = (pawl_caps){ .tokens = pawl_value_int(pawl_value_get(v, "tokens")), .calls = pawl_value_int(pawl_value_get(v, "calls")),
                         .micros = pawl_value_int(pawl_value_get(v, "micros")), .ms = pawl_value_int(pawl_value_get(v, "ms")) };
}

bool share_of(const pawl_value *spec, pawl_caps *share)
{
    const pawl_value *v = pawl_value_get(spec, "budget");

    if (v == NULL || caps_error(v) != NULL)
        v = NULL;
    caps_read(v, share);
    return v != NULL;
}

void amounts_code(buf *b, const amounts *a, int64_t ms)
{
    const struct { const char *name; int64_t n; } all[] = {
        { "calls", a->n[COST_CALLS] }, { "micros", a->n[COST_MICROS] }, { "ms", ms }, { "tokens", a->n[COST_TOKENS] },
    };
    char before = '{';

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].n == 0)
            continue;
        buf_fmt(b, "%c\"%s\":%lld", before, all[i].name, (long long)all[i].n);
        before = ',';
    }
    buf_text(b, before == '{' ? "{}" : "}");
}

void share_code(buf *b, const pawl_caps *share)
{
    const amounts a = share_due(share);

    amounts_code(b, &a, share->ms);
}
