/* node_api.c - the public calls of node code: read channels, build values, write, issue commands. Called inside a visit, on the thread that owns
 * the step; the visit collects everything, and the state changes only when the visit's items are folded. */
#include "kernel/budget_ask.h"
#include "kernel/events.h"
#include "kernel/loop_guard.h"
#include "kernel/machine.h"
#include "kernel/node_api.h"
#include "kernel/references.h"
#include "kernel/visit.h"

#include <string.h>

/* ---- reading ------------------------------------------------------------------------------------ */

const pawl_value *pawl_get(pawl_step *s, const char *name)
{
    const pawl_value *v;
    channel *c;

    if (!in_node(s) || name == NULL)
        return NULL;
    if ((c = channel_find(s->v->frame, name)) == NULL) {
        visit_wrong(s, PAWL_INVALID, "there is no channel \"%s\"", name);
        return NULL;
    }
    if (c->d->secret != NULL)
        return NULL;            /* K4: a machine cannot read a secret */
    v = channel_value(s->st, c);
    if (v == NULL && s->st->load_failed != PAWL_OK)
        visit_wrong(s, s->st->load_failed, "channel \"%s\" could not be loaded", name);
    if (v == of_val(&c->scalar) && s->v->frame != &s->st->root)
        v = value_copy(&s->mem, v);     /* a subgraph that this step entered: a rollback of this step would free the value */
    return v;
}

const pawl_value *pawl_args(pawl_step *s) { return in_node(s) ? s->v->args : NULL; }
int64_t pawl_get_int(pawl_step *s, const char *name) { return pawl_value_int(pawl_get(s, name)); }
bool pawl_get_bool(pawl_step *s, const char *name) { return pawl_value_bool(pawl_get(s, name)); }
double pawl_get_real(pawl_step *s, const char *name) { return pawl_value_real(pawl_get(s, name)); }
const char *pawl_get_string(pawl_step *s, const char *name) { return pawl_value_string(pawl_get(s, name)); }
const char *pawl_get_json(pawl_step *s, const char *name) { return pawl_text(s, pawl_get(s, name)); }
const char *pawl_node_name(const pawl_step *s) { return in_node(s) ? s->v->node : ""; }
int64_t pawl_now(const pawl_step *s) { return in_node(s) ? s->v->now : 0; }
uint32_t pawl_visit(const pawl_step *s) { return in_node(s) && s->v->task != NULL ? s->v->task->visit : 0; }

/* splitmix64, seeded with the run's seed, the task and the visit, so that a replay draws the same numbers. */
uint64_t pawl_random(pawl_step *s)
{
    uint64_t z;

    if (!in_node(s))
        return 0;
    z = s->v->task != NULL ? s->st->root.superstep : s->st->seq + 1;       /* a reducer has no supersteps: the number of its entry */
    z = s->st->seed ^ (z << 32) ^ name_hash(s->v->path) ^ ((uint64_t)pawl_visit(s) << 48);
    z += (++s->v->randoms) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- building --------------------------------------------------------------------------------------- */

/* Appends the JSON pointer from `root` to the node `at` to `b`. */
static bool pointer_to(buf *b, const pawl_value *root, const pawl_value *at)
{
    pawl_iter it = pawl_iter_of(root);
    const pawl_value *key, *v;

    if (root == at)
        return true;
    for (size_t i = 0; (v = pawl_iter_next(&it, &key)) != NULL; i++) {
        if (val_of(at) < val_of(v) || val_of(at) >= val_of(v) + value_nodes(v))
            continue;
        buf_char(b, '/');
        if (key == NULL)
            buf_uint(b, i);
        for (const char *p = pawl_value_string(key); p != NULL && *p != '\0'; p++) {
            if (*p == '~' || *p == '/')
                buf_text(b, *p == '~' ? "~0" : "~1");
            else
                buf_char(b, *p);
        }
        return pointer_to(b, v, at);
    }
    return false;
}

enum { EVENT_BYTES_LEAST = 48 };       /* text bytes; a smaller value is stored itself, since a reference is as long */

bool worth_naming(const pawl_value *v)
{
    size_t nodes = value_nodes(v);

    return nodes >= 4 || value_block_bytes(v) - nodes * sizeof(yyjson_val) > EVENT_BYTES_LEAST;     /* counts the NULs too */
}

static bool lies_in(const pawl_value *v, const pawl_value *root)
{
    return root != NULL && val_of(v) >= val_of(root) && val_of(v) < val_of(root) + value_nodes(root);
}

static const char *event_named(pawl_step *s, const char *who, const pawl_value *root, const pawl_value *v)
{
    buf *b = step_text(s);

    buf_text(b, who);
    return pointer_to(b, root, v) ? step_copy(s, b, NULL) : NULL;
}

/* The reference to the receipt of this visit that `v` is a part of, since a receipt is stored only once (K7). NULL: `v` is stored itself. */
static const char *event_of(pawl_step *s, const pawl_value *v)
{
    const visit *vi = s->v;
    char number[16];

    if (vi == NULL || v == NULL || !worth_naming(v))
        return NULL;
    if (vi->task == NULL)
        return s->in != NULL && lies_in(v, s->in->value) ? event_named(s, "@", s->in->value, v) : NULL;
    for (uint32_t i = 0; i < vi->task->ncalls; i++) {
        if (!lies_in(v, vi->task->calls[i].value))
            continue;
        buf *b = step_text(s);
        buf_uint(b, i);
        if (b->failed || b->size >= sizeof number)
            return NULL;
        memcpy(number, b->data, b->size);
        number[b->size] = '\0';
        return event_named(s, number, vi->task->calls[i].value, v);
    }
    return NULL;
}

static void ref_copied(pawl_step *s, const pawl_value *from, const pawl_value *to, bool inside)
{
    const value_ref *of = step_ref_of(s, from), r = of != NULL ? *of : (value_ref){0};
    union { const yyjson_val *in; yyjson_val *out; } node = { val_of(to) };

    if (of != NULL && (!inside || strcmp(r.form, "event") != 0))
        step_ref(s, to, r.form, r.target, r.digest);
    else if (inside)
        node.out->tag &= ~(uint64_t)NODE_REF;   /* the copy is stored itself */
}

/* Callback of value copies: a copy of a reference to a channel or a secret is such a reference too, at any depth. A reference to an event also
 * has the value; inside a larger copy that value is stored again. */
static void copied(void *ctx, const pawl_value *from, const pawl_value *to)
{
    pawl_step *s = ctx;
    const size_t nodes = s->refs.count > 0 ? value_nodes(from) : 0;
    const char *target;
    union { const yyjson_val *in; yyjson_val *out; } node = { val_of(to) };

    for (size_t i = 0; i < nodes; i++)
        if ((val_of(from)[i].tag & NODE_REF) != 0)
            ref_copied(s, of_val(val_of(from) + i), of_val(val_of(to) + i), i > 0);
    if ((val_of(to)->tag & NODE_REF) != 0)
        return;
    if ((target = event_of(s, from)) == NULL)
        return;
    if (step_ref(s, to, "event", target, NULL) == PAWL_OK)
        node.out->tag |= NODE_REF;
}

static pawl_err *visit_err(pawl_step *s)
{
    return s->v != NULL ? &s->v->err : NULL;
}

const pawl_value *pawl_pack(pawl_step *s, const char *format, ...)
{
    const pawl_value *v;
    va_list args;

    va_start(args, format);
    v = value_packv(&s->mem, copied, s, visit_err(s), format, args);
    va_end(args);
    return v;
}

const pawl_value *pawl_json(pawl_step *s, const char *text)
{
    return text == NULL ? NULL : value_parse(&s->mem, text, strlen(text), "a JSON text", visit_err(s));
}

const char *pawl_text(pawl_step *s, const pawl_value *v)
{
    buf *b = step_text(s);

    if (v == NULL)
        return NULL;
    canon(b, v);
    return step_copy(s, b, NULL);
}

const pawl_value *pawl_ref(pawl_step *s, const char *name)
{
    char digest[HASH_HEX + 32] = "";
    channel *c = in_node(s) && name != NULL ? channel_find(s->v->frame, name) : NULL;
    yyjson_val *node;
    const char *target, *d = NULL;
    pawl_code rc;
    pawl_err err = {0};

    if (c == NULL) {
        if (in_node(s))
            visit_wrong(s, PAWL_INVALID, "there is no channel \"%s\" to refer to", name != NULL ? name : "");
        return NULL;
    }
    if ((node = arena_get(&s->mem, sizeof *node)) == NULL)
        return NULL;
    node->tag = YYJSON_TYPE_NULL | NODE_REF;
    node->uni.u64 = 0;
    if (c->d->secret != NULL)
        return step_ref(s, of_val(node), "secret", c->d->secret, NULL) == PAWL_OK ? of_val(node) : NULL;
    if ((rc = channel_digest(s->st, c, digest, sizeof digest, &err)) != PAWL_OK) {
        s->mem.failed = s->mem.failed || rc == PAWL_NOMEM;
        visit_wrong(s, rc, "%s", err.text);
        return NULL;
    }
    target = arena_strdup(&s->mem, name, strlen(name));
    d = arena_strdup(&s->mem, digest, strlen(digest));
    if (target == NULL || d == NULL || step_ref(s, of_val(node), "channel", target, d) != PAWL_OK)
        return NULL;
    return of_val(node);
}

/* ---- writing --------------------------------------------------------------------------------------------- */

/* A value that is valid as long as the step: copies a value that the state owns. Refuses a value that is too deep to be read back. */
static const pawl_value *value_held(pawl_step *s, const pawl_value *v, size_t levels)
{
    if (value_deeper(v, levels)) {
        visit_wrong(s, PAWL_LIMIT, "a value of more than %d levels (DEPTH_MAX)", (int)DEPTH_MAX);
        return NULL;
    }
    return arena_owns(&s->mem, v) ? v : value_copy(&s->mem, v);
}

/* A value of one node without a text or a reference: copying it is cheaper than finding its owner. */
static bool is_simple(const pawl_value *v)
{
    return (val_of(v)->tag & (YYJSON_TYPE_MASK | NODE_REF)) <= YYJSON_TYPE_NUM;
}

static const pawl_value *simple_copy(pawl_step *s, const pawl_value *v)
{
    yyjson_val *copy = arena_get(&s->mem, sizeof *copy);

    if (copy == NULL)
        return NULL;
    *copy = *val_of(v);
    return of_val(copy);
}

/* The channel of a write; NULL: refused, the visit has the error. */
static channel *write_to(pawl_step *s, const char *name, const pawl_value *v)
{
    channel *c;

    if (!in_node(s))
        return NULL;
    if (s->v->reading)
        visit_wrong(s, PAWL_INVALID, "a route writes nothing");
    else if (name == NULL || (c = channel_find(s->v->frame, name)) == NULL)
        visit_wrong(s, PAWL_INVALID, "there is no channel \"%s\"", name != NULL ? name : "");
    else if (v == NULL && !s->mem.failed)
        visit_wrong(s, PAWL_INVALID, "channel \"%s\" was given no value", name);
    else if (c->d->secret != NULL)
        visit_wrong(s, PAWL_INVALID, "channel \"%s\" is a secret, and is never written", name);
    else if (v != NULL)
        return c;
    return NULL;
}

static inline void write_put(pawl_step *s, const channel *c, const pawl_value *v, const char *event, unsigned op)
{
    visit *vi = s->v;

    if (v != NULL && arena_room(&s->mem, (void **)&vi->writes, &vi->writes_cap, vi->nwrites, sizeof *vi->writes))
        vi->writes[vi->nwrites++] = (item_write){ .channel = c->d->name, .value = v, .event = event, .op = (uint8_t)op,
                                             .place = (uint32_t)(c - vi->frame->channels) };
}

/* Writes a value of one node that the step owns. */
static void write_made(pawl_step *s, const char *name, const pawl_value *v)
{
    const channel *c = write_to(s, name, v);

    if (c != NULL)
        write_put(s, c, v, NULL, OP_MERGE);
}

static void write_add(pawl_step *s, const char *name, const pawl_value *v, unsigned op)
{
    const channel *c = write_to(s, name, v);
    const char *event = NULL;

    if (c == NULL)
        return;
    if (is_simple(v)) {
        v = simple_copy(s, v);
    } else {
        event = event_of(s, v);
        if (!refs_none(s, v))
            return;
        if (event == NULL)
            v = value_held(s, v, (size_t)DEPTH_MAX + (op != OP_MERGE && rule_is_list(c->d->rule) ? 1u : 0u));
    }
    write_put(s, c, v, event, op);
}

void pawl_set(pawl_step *s, const char *name, const pawl_value *v) { write_add(s, name, v, OP_MERGE); }
void pawl_set_int(pawl_step *s, const char *name, int64_t n) { write_made(s, name, value_int(&s->mem, n)); }
void pawl_set_bool(pawl_step *s, const char *name, bool b) { write_made(s, name, value_bool(&s->mem, b)); }
void pawl_set_real(pawl_step *s, const char *name, double x) { write_made(s, name, value_real(&s->mem, x)); }
void pawl_set_json(pawl_step *s, const char *name, const char *text) { write_add(s, name, pawl_json(s, text), OP_MERGE); }
void pawl_extend(pawl_step *s, const char *name, const pawl_value *array) { write_add(s, name, array, OP_EXTEND); }
void pawl_overwrite(pawl_step *s, const char *name, const pawl_value *v) { write_add(s, name, v, OP_OVERWRITE); }

void pawl_set_string(pawl_step *s, const char *name, const char *text)
{
    write_add(s, name, text == NULL ? NULL : value_string(&s->mem, text, strlen(text)), OP_MERGE);
}

void pawl_emit(pawl_step *s, const char *name, const pawl_value *v)
{
    visit *vi = s->v;
    const char *copy, *event;

    if (!in_node(s) || name == NULL || v == NULL) {
        if (in_node(s) && !s->mem.failed)
            visit_wrong(s, PAWL_INVALID, "an emission needs a name and a value");
        return;
    }
    if (!refs_none(s, v))
        return;
    /* A stream reader has only this entry. The entry has a receipt for certain only when the visit made a single command. */
    event = vi->task == NULL || vi->task->ncalls == 1 ? event_of(s, v) : NULL;
    if (event != NULL && s->t.mode == TXN_ADVANCE)     /* the fold frees the receipt before the reader sees the entry */
        v = value_held(s, v, DEPTH_MAX);
    copy = arena_strdup(&s->mem, name, strlen(name));
    if (event == NULL)
        v = value_held(s, v, DEPTH_MAX);
    if (copy == NULL || v == NULL || !arena_room(&s->mem, (void **)&vi->emits, &vi->emits_cap, vi->nemits, sizeof *vi->emits))
        return;
    vi->emits[vi->nemits++] = (named){ .name = copy, .value = v, .event = event, .owner = vi->owner };
}

void node_send(pawl_step *s, const char *node, const pawl_value *v)
{
    visit *vi = s->v;
    const char *event = v != NULL ? event_of(s, v) : NULL;

    if (!refs_none(s, v))
        return;
    if (v != NULL && event == NULL && vi->reading)      /* a route reads the merged state of a transaction that is rolled back, with its texts */
        v = value_deeper(v, DEPTH_MAX) ? value_held(s, v, DEPTH_MAX) : value_copy(&s->mem, v);
    else if (v != NULL && event == NULL && !is_simple(v))
        v = value_held(s, v, DEPTH_MAX);
    else if (v != NULL && event == NULL)
        v = simple_copy(s, v);
    if (!arena_room(&s->mem, (void **)&vi->sends, &vi->sends_cap, vi->nsends, sizeof *vi->sends))
        return;
    vi->sends[vi->nsends++] = (named){ .name = node, .value = v, .event = event };
}

void node_goto(pawl_step *s, const char *node)
{
    visit *vi = s->v;

    if (arena_room(&s->mem, (void **)&vi->gotos, &vi->gotos_cap, vi->ngotos, sizeof *vi->gotos))
        vi->gotos[vi->ngotos++] = node;
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

pawl_code visit_mode_denies(pawl_step *s, mode_rank requires, mode_rank now)
{
    return visit_wrong(s, PAWL_DENIED, "Node '%s' requires %s mode; current mode is %s.", s->v->node, rank_title(requires), rank_title(now));
}

pawl_code pawl_call(pawl_step *s, const char *effect, const pawl_value *args, const pawl_value **receipt)
{
    return pawl_call_with(s, effect, args, NULL, receipt);
}

/* The cost that a call states replaces the declared cost of its effect. */
static pawl_code cost_check(pawl_step *s, const pawl_cost *cost, const pawl_limits **limits, pawl_limits *own)
{
    if (cost == NULL)
        return PAWL_OK;
    if (cost_error(cost) != NULL)
        return visit_wrong(s, PAWL_INVALID, "%s", cost_error(cost));
    *own = *limits != NULL ? **limits : (pawl_limits){0};
    own->cost = *cost;
    *limits = own;
    return PAWL_OK;
}

pawl_code pawl_call_with(pawl_step *s, const char *effect, const pawl_value *args, const pawl_cost *cost, const pawl_value **receipt)
{
    const pawl_limits *limits;
    pawl_limits own;
    amounts due;
    const char *spec;
    const call *c;
    size_t size = 0;
    pawl_code rc;

    if (receipt != NULL)
        *receipt = NULL;
    if (!in_node(s) || s->v->task == NULL)
        return not_here(s, "call");
    if (!name_valid(effect))
        return visit_wrong(s, PAWL_INVALID, "\"%s\" is no name of an effect", effect != NULL ? effect : "");
    if (args == NULL && s->mem.failed)
        return PAWL_NOMEM;
    limits = s->v->limits != NULL ? s->v->limits : machine_limits(s->m, effect);
    if (s->v->node_limits != NULL && limits == NULL)
        limits = s->v->node_limits;
    if (s->v->plan && s->v->cursor >= s->v->task->ncalls && (limits == NULL || limits->cls != PAWL_CLASS_PURE))
        return visit_mode_denies(s, RANK_DEFAULT, RANK_PLAN);
    if ((rc = cost_check(s, cost, &limits, &own)) != PAWL_OK)
        return rc;
    due = cost_due(limits);
    spec = spec_call(s, effect, args, limits, NULL, &size);
    if (s->st->no_progress > 0 && (rc = loop_guard_check(s, spec, size)) != PAWL_OK)
        return rc;
    rc = visit_command(s, CALL_CALL, 0, 0, spec, size, &due, &c);
    return command_value(rc, c, receipt);
}

/* A child begins with the mode that this run has in the open superstep, and never has a higher one (E11). A lower one that comes meanwhile is delivered to
 * it (child_tell.c). */
static const pawl_value *with_rights(pawl_step *s, const pawl_value *input)
{
    const char *mode = mode_text(run_mode(s->st, false));
    const pawl_value *given = input != NULL ? input : value_pack(&s->mem, NULL, "{}");

    if (pawl_value_get(given, "@mode") == NULL)
        given = value_with(&s->mem, given, "@mode", value_string(&s->mem, mode, strlen(mode)));
    return value_with(&s->mem, given, "@rights", value_string(&s->mem, mode, strlen(mode)));
}

pawl_code pawl_spawn(pawl_step *s, const char *machine, const pawl_value *input, const pawl_value **result)
{
    return pawl_spawn_with(s, machine, input, NULL, result);
}

pawl_code pawl_spawn_with(pawl_step *s, const char *machine, const pawl_value *input, const pawl_caps *share, const pawl_value **result)
{
    pawl_caps given;
    amounts due;
    const char *spec;
    const call *c;
    size_t size = 0;
    pawl_code rc;

    if (result != NULL)
        *result = NULL;
    if (!in_node(s) || s->v->task == NULL)
        return not_here(s, "spawn");
    if (!name_valid(machine))
        return visit_wrong(s, PAWL_INVALID, "\"%s\" is no name of a machine", machine != NULL ? machine : "");
    if ((rc = budget_share(s, share, &given)) != PAWL_OK)
        return rc;
    due = share_due(&given);
    if (s->m->modes && (input = with_rights(s, input)) == NULL)
        return PAWL_NOMEM;
    spec = spec_spawn(s, machine, input, &given, NULL, &size);
    rc = visit_command(s, CALL_SPAWN, 0, 0, spec, size, &due, &c);
    return command_value(rc, c, result);
}

pawl_code pawl_sleep(pawl_step *s, int64_t ms)
{
    const call *c;
    size_t size;
    buf *b;
    const char *spec;

    if (!in_node(s) || s->v->task == NULL)
        return not_here(s, "sleep");
    if (ms < 0)
        ms = 0;
    b = step_text(s);
    buf_text(b, "{\"ms\":");
    buf_int(b, ms);
    buf_char(b, '}');
    spec = step_copy(s, b, &size);
    return visit_command(s, CALL_SLEEP, s->v->at > INT64_MAX - ms ? INT64_MAX : s->v->at + ms, 0, spec, size, NULL, &c);
}

static bool has_won(const visit *v, uint32_t n)
{
    for (uint32_t w = 0; w < v->task->nwins; w++)
        if (v->task->wins[w] == n)
            return true;
    for (uint32_t w = 0; w < v->nwon; w++)
        if (v->won[w] == n)
            return true;
    return false;
}

pawl_code pawl_select(pawl_step *s, uint32_t *winner)
{
    visit *v = s->v;

    if (!in_node(s) || v->task == NULL)
        return not_here(s, "select");
    v->raced = true;
    if (v->races < v->task->nwins) {
        *winner = loop_guard_number(s, v->task->wins[v->races++]);
        return PAWL_OK;
    }
    for (uint32_t i = 0; i < v->task->ncalls && i < v->cursor && v->nwon < RACES_MAX; i++) {
        if (v->task->calls[i].at != CALL_ANSWERED || has_won(v, i) || loop_guard_is_wait(s, &v->task->calls[i]))
            continue;
        v->won[v->nwon++] = i;
        *winner = loop_guard_number(s, i);
        v->races++;
        return PAWL_OK;
    }
    if (v->nwon == RACES_MAX)
        return visit_wrong(s, PAWL_LIMIT, "more than %d races decided in one pass (RACES_MAX)", RACES_MAX);
    v->racing = true;
    v->unanswered = true;
    return PAWL_PENDING;
}

pawl_code pawl_fail(pawl_step *s, pawl_code code, const char *format, ...)
{
    va_list args;

    if (code >= 0)
        code = PAWL_INVALID;
    if (!in_node(s))
        return code;
    va_start(args, format);
    failv(&s->v->err, code, format, args);
    va_end(args);
    return code;
}
