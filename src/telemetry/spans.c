/* spans.c - makes the spans of one run from the changes of its items.
 *
 * Pure, on the thread of its reader. Owns the items that are open, in the order in which they began, and those that have ended in the current line. Nothing
 * is told before the line ends: what belongs to a command, such as its usage, comes behind its end. Invariants: a span is told once, at the line in which it
 * ended; its parent is told in the same stretch; after a rest no task has an open part. */
#include "telemetry/spans.h"
#include "base/id_index.h"
#include "json/json.h"

enum { TEXT_MOST = 200 };       /* bytes of a name that is kept; the rest is cut off */

typedef struct kept {           /* an item */
    struct kept *next, *prev;   /* among the open ones, or the ended ones */
    struct kept *task;          /* to which it belongs, while that is open; NULL: none */
    struct kept *part_next;     /* of tasks with an open part */
    char *id, *name, *node, *call, *effect, *effect_class, *outcome, *error, *model, *stop, *child;
    span_kind kind;
    bool told;                  /* its kind is one that becomes a span */
    bool tool;                  /* has run, or its command is known */
    bool in_part;               /* a task: a part of it is open */
    uint8_t state;
    uint32_t open_children;     /* a task: child runs that it waits for */
    uint32_t uses;              /* a task: items that refer to it, and whether it is open */
    int64_t begin_ms, end_ms;
    uint64_t begin_seq, begin_index, seq, index;
    span_id parent;
    span_usage usage;
} kept;

struct span_maker {
    pawl_alloc alloc;
    span_run of;
    char *texts[7];             /* of `of` */
    span_fn *fn;
    void *ctx;
    id_index by_id;             /* open items */
    kept *first, *last, *ended, **ended_last, *parts;
    size_t active;              /* commands that are at work */
    size_t waits, children;
    size_t busy_tasks;          /* that wait for nothing outside */
    trace_id trace;
    span_id caller;             /* of the caller's traceparent; zero: none */
    span_link parent_link;
    bool has_parent_link;
    bool in_stretch;
    uint64_t stretch, stretch_seq, stretch_index;
    int64_t stretch_ms;
    span_id root, root_before;
    uint8_t run_state;
    int64_t first_ms, now_ms;
    uint64_t seq, index;        /* of the newest change */
    arena mem;                  /* of one change */
    bool failed;
};

/* ---- memory ------------------------------------------------------------------------------------------------------------ */

static void text_set(span_maker *m, char **to, const char *from)
{
    size_t n = from != NULL ? strlen(from) : 0;
    char *text;

    if (n > TEXT_MOST)
        for (n = TEXT_MOST; n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80; n--)
            ;
    if (from == NULL || (text = mem_new(&m->alloc, n + 1)) == NULL) {
        m->failed = m->failed || from != NULL;
        return;
    }
    memcpy(text, from, n);
    if (*to != NULL)
        mem_free(&m->alloc, *to, strlen(*to) + 1);
    *to = text;
}

static char *whole_text(span_maker *m, const char *from)
{
    char *text = from != NULL ? mem_text(&m->alloc, from) : NULL;

    m->failed = m->failed || (from != NULL && text == NULL);
    return text;
}

static void text_free(span_maker *m, char *text)
{
    if (text != NULL)
        mem_free(&m->alloc, text, strlen(text) + 1);
}

static void kept_free(span_maker *m, kept *k)
{
    char *const texts[] = { k->id, k->name, k->node, k->call, k->effect, k->effect_class, k->outcome, k->error, k->model, k->stop, k->child };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_free(m, texts[i]);
    mem_free(&m->alloc, k, sizeof *k);
}

/* A task is freed with the last item that refers to it. */
static void kept_drop(span_maker *m, kept *k)
{
    kept *task = k->task;

    if (--k->uses > 0)
        return;
    kept_free(m, k);
    if (task != NULL)
        kept_drop(m, task);
}

span_maker *span_maker_new(const span_run *of, span_fn *fn, void *ctx)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    span_maker *m = mem_new(&alloc, sizeof *m);
    const char *const given[] = { of->run, of->id, of->machine, of->context, of->parent, of->trace, of->parent_trace };
    span_id unused;

    if (m == NULL)
        return NULL;
    m->alloc = alloc;
    m->fn = fn;
    m->ctx = ctx;
    m->ended_last = &m->ended;
    arena_init(&m->mem, &alloc, 4096);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        m->texts[i] = whole_text(m, given[i]);
    m->of = (span_run){ m->texts[0], m->texts[1], m->texts[2], m->texts[3], m->texts[4], m->texts[5], m->texts[6] };
    if (m->failed) {
        span_maker_free(m);
        return NULL;
    }
    if (!traceparent_read(of->trace, &m->trace, &m->caller)) {
        m->trace = trace_id_of_run(of->id);
        m->caller = (span_id){ { 0 } };
    }
    if (of->parent != NULL) {
        m->has_parent_link = true;
        if (!traceparent_read(of->parent_trace, &m->parent_link.trace, &unused))
            m->parent_link.trace = trace_id_of_run(of->parent);
        m->parent_link.span = span_id_of(of->parent, 0, 0);
    }
    return m;
}

void span_maker_free(span_maker *m)
{
    if (m == NULL)
        return;
    for (int round = 0; round < 2; round++)
        for (kept *k = round == 0 ? m->first : m->ended, *next; k != NULL; k = next) {
            next = k->next;
            kept_drop(m, k);
        }
    for (size_t i = 0; i < sizeof m->texts / sizeof *m->texts; i++)
        text_free(m, m->texts[i]);
    id_index_free(&m->by_id, &m->alloc);
    arena_free(&m->mem);
    mem_free(&m->alloc, m, sizeof *m);
}

void span_maker_place(const span_maker *m, uint64_t *seq, uint64_t *index)
{
    *seq = m->seq;
    *index = m->index;
}

static kept *find(const span_maker *m, const char *id)
{
    const uint32_t h = id_hash(id);
    size_t at = id_index_first(&m->by_id, h);
    kept *k;

    while ((k = id_index_next(&m->by_id, h, &at)) != NULL)
        if (strcmp(k->id, id) == 0)
            return k;
    return NULL;
}

/* ---- what a run waits for --------------------------------------------------------------------------------------------- */

static bool is_active(const kept *k)
{
    return (k->kind == SPAN_MODEL || k->kind == SPAN_TOOL || k->kind == SPAN_EFFECT) && k->state == PAWL_ITEM_RUNNING && k->child == NULL;
}

static bool is_child(const kept *k)
{
    return k->kind == SPAN_CHILD || (k->kind == SPAN_TOOL && k->child != NULL);
}

static bool is_busy(const kept *k) { return k->kind == SPAN_TASK && k->state == PAWL_ITEM_RUNNING && k->open_children == 0; }

/* Counts an open item, or no longer: around each change of it. */
static void count(span_maker *m, kept *k, bool in)
{
    const size_t one = in ? 1 : (size_t)-1;

    m->active += is_active(k) ? one : 0;
    m->waits += k->kind == SPAN_WAIT ? one : 0;
    m->busy_tasks += is_busy(k) ? one : 0;
    if (!is_child(k))
        return;
    m->children += one;
    if (k->task == NULL || k->task->state >= PAWL_ITEM_DONE)
        return;
    m->busy_tasks -= is_busy(k->task);
    k->task->open_children += in ? 1u : (uint32_t)-1;
    m->busy_tasks += is_busy(k->task);
}

/* ---- spans -------------------------------------------------------------------------------------------------------------- */

static const char *text_or(const char *text, const char *other) { return text != NULL ? text : other; }

static run_span span_begin(const span_maker *m, span_kind kind)
{
    return (run_span){ .of = &m->of, .kind = kind, .trace = m->trace, .seq = m->seq, .index = m->index, .stretch = m->stretch, .item = m->of.id, .name = "",
                   .node = "", .effect = "", .effect_class = "", .outcome = "", .error = "", .model = "", .stop = "", .child = "",
                   .usage = { -1, -1, -1, -1, -1 } };
}

static void tell(const span_maker *m, run_span *s)
{
    if (s->begin_ms == 0)
        s->begin_ms = m->first_ms;      /* it was open at the base of a pruned journal */
    if (s->end_ms < s->begin_ms)
        s->end_ms = s->begin_ms;
    if (s->kind != SPAN_STRETCH && s->kind != SPAN_BEGUN && span_id_none(&s->parent))
        s->parent = m->root;
    m->fn(m->ctx, s);
}

static void tell_kept(const span_maker *m, const kept *k)
{
    run_span s = span_begin(m, k->kind);

    s.state = (pawl_item_state)k->state;
    if (k->kind == SPAN_TASK || k->kind == SPAN_WAIT)   /* these may begin again */
        s.id = span_id_of(k->id, k->begin_seq, k->begin_index);
    else
        s.id = span_id_of(text_or(k->call, k->id), 0, 0);
    s.parent = k->kind == SPAN_TASK ? m->root : k->parent;
    s.begin_ms = k->begin_ms;
    s.end_ms = k->end_ms;
    s.seq = k->seq;
    s.index = k->index;
    s.item = k->id;
    s.name = text_or(k->name, "");
    s.node = text_or(k->node, "");
    s.effect = text_or(k->effect, "");
    s.effect_class = text_or(k->effect_class, "");
    s.outcome = text_or(k->outcome, "");
    s.error = text_or(k->error, "");
    s.model = text_or(k->model, "");
    s.stop = text_or(k->stop, "");
    s.child = text_or(k->child, "");
    s.usage = k->usage;
    tell(m, &s);
}

static void part_begin(span_maker *m, kept *task)
{
    if (task->in_part)
        return;
    task->in_part = true;
    task->begin_ms = m->now_ms;
    task->begin_seq = m->seq;
    task->begin_index = m->index;
    task->part_next = m->parts;
    m->parts = task;
}

static void part_end(span_maker *m, kept *task)
{
    for (kept **at = &m->parts; *at != NULL; at = &(*at)->part_next)
        if (*at == task) {
            *at = task->part_next;
            break;
        }
    task->in_part = false;
}

static void stretch_begin(span_maker *m)
{
    m->in_stretch = true;
    m->stretch++;
    m->stretch_ms = m->now_ms;
    m->stretch_seq = m->seq;
    m->stretch_index = m->index;
    m->root_before = m->root;
    m->root = span_id_of(m->of.id, m->seq, m->index);
}

/* The parts of tasks in the order in which they began. */
static kept *parts_in_order(kept *all)
{
    kept *out = NULL;

    while (all != NULL) {
        kept *next = all->part_next;

        all->part_next = out;
        out = all;
        all = next;
    }
    return out;
}

static void stretch_end(span_maker *m)
{
    run_span s = span_begin(m, SPAN_STRETCH);

    for (kept *k = parts_in_order(m->parts), *next; k != NULL; k = next) {
        next = k->part_next;
        k->in_part = false;
        k->end_ms = m->now_ms;
        k->seq = m->seq;
        k->index = m->index;
        tell_kept(m, k);
    }
    m->parts = NULL;
    m->in_stretch = false;
    s.id = m->root;
    s.state = (pawl_item_state)m->run_state;
    s.begin_ms = m->stretch_ms;
    s.end_ms = m->now_ms;
    s.name = text_or(m->of.machine, "");
    if (m->stretch == 1)
        s.parent = m->caller;
    if (m->stretch == 1 && m->has_parent_link)
        s.links[s.nlinks++] = m->parent_link;
    if (!span_id_none(&m->root_before))
        s.links[s.nlinks++] = (span_link){ m->trace, m->root_before };
    tell(m, &s);
}

bool span_maker_line(span_maker *m)
{
    const bool over = m->run_state >= PAWL_ITEM_DONE;

    for (kept *k = m->ended, *next; k != NULL; k = next) {
        next = k->next;
        if (k->told)
            tell_kept(m, k);
        kept_drop(m, k);
    }
    m->ended = NULL;
    m->ended_last = &m->ended;
    if (m->in_stretch && (over || (m->active == 0 && m->busy_tasks == 0 && m->waits + m->children > 0)))
        stretch_end(m);
    return !m->failed;
}

/* ---- changes ----------------------------------------------------------------------------------------------------------------- */

bool span_line_begins(const pawl_item_change *c)
{
    return c->kind == PAWL_ITEM_LINE || (c->what & PAWL_ITEM_GAP) != 0;
}

static bool is_receipt(const pawl_item_change *c) { return strcmp(c->part, "receipt") == 0 || strcmp(c->part, "refusal") == 0; }

static bool is_call(const pawl_item_change *c) { return strcmp(c->part, "call") == 0 || strcmp(c->part, "spawn") == 0; }

bool span_maker_needs(const pawl_item_change *c)
{
    const unsigned commands = PAWL_ITEM_MESSAGE | PAWL_ITEM_TOOL_CALL | PAWL_ITEM_CHILD;

    if (c->live != 0)
        return false;
    return c->kind == PAWL_ITEM_USAGE || ((c->kind & commands) != 0 && (is_receipt(c) || is_call(c))) ||
           (c->kind == PAWL_ITEM_TASK && strcmp(c->part, "fail") == 0) || (c->kind == PAWL_ITEM_ERROR && strcmp(c->part, "fail") == 0);
}

static bool after_slash(const char *id, const char *with)
{
    const char *slash = strchr(id, '/');

    return slash != NULL && strncmp(slash + 1, with, strlen(with)) == 0;
}

/* A message with an invocation id is a request to a model; any other is text. */
static span_kind kind_of(const pawl_item_change *c, bool *told)
{
    *told = true;
    switch (c->kind) {
    case PAWL_ITEM_TASK:      return SPAN_TASK;
    case PAWL_ITEM_WAIT:      return SPAN_WAIT;
    case PAWL_ITEM_CHILD:     return SPAN_CHILD;
    case PAWL_ITEM_TOOL_CALL: return after_slash(c->id, "tool:") ? SPAN_TOOL : SPAN_EFFECT;
    case PAWL_ITEM_MESSAGE:
        if (c->call != NULL && strcmp(c->call, c->id) == 0)
            return SPAN_MODEL;
        break;
    default:
        break;
    }
    *told = false;
    return SPAN_BEGUN;
}

static kept *item_begin(span_maker *m, const pawl_item_change *c)
{
    kept *above = find(m, c->parent), *k = mem_new(&m->alloc, sizeof *k);

    if (k == NULL || (k->id = whole_text(m, c->id)) == NULL || !id_index_add(&m->by_id, &m->alloc, id_hash(c->id), k)) {
        m->failed = true;
        if (k != NULL)
            kept_free(m, k);
        return NULL;
    }
    k->uses = 1;
    k->kind = kind_of(c, &k->told);
    text_set(m, &k->name, c->name);
    text_set(m, &k->node, c->node);
    k->state = (uint8_t)c->state;
    k->begin_ms = m->now_ms;
    k->begin_seq = m->seq;
    k->begin_index = m->index;
    k->usage = (span_usage){ -1, -1, -1, -1, -1 };
    k->task = above == NULL ? NULL : above->kind == SPAN_TASK ? above : above->task;
    if (k->kind == SPAN_TASK)
        part_begin(m, k);
    if (k->task != NULL) {
        k->task->uses++;
        if (k->task->state < PAWL_ITEM_DONE && m->in_stretch)
            part_begin(m, k->task);
    }
    k->parent = k->task != NULL && k->task->in_part ? span_id_of(k->task->id, k->task->begin_seq, k->task->begin_index) : m->root;
    k->prev = m->last;
    *(m->last != NULL ? &m->last->next : &m->first) = k;
    m->last = k;
    count(m, k, true);
    return k;
}

static void item_end(span_maker *m, kept *k)
{
    id_index_remove(&m->by_id, id_hash(k->id), k);
    *(k->prev != NULL ? &k->prev->next : &m->first) = k->next;
    *(k->next != NULL ? &k->next->prev : &m->last) = k->prev;
    k->next = k->prev = NULL;
    if (k->kind == SPAN_TASK) {
        part_begin(m, k);
        part_end(m, k);
    }
    k->end_ms = m->now_ms;
    k->seq = m->seq;
    k->index = m->index;
    *m->ended_last = k;
    m->ended_last = &k->next;
}

static int64_t number_of(const pawl_value *of, const char *name)
{
    const pawl_value *v = pawl_value_get(of, name);

    return pawl_value_type(v) == PAWL_TYPE_INT && pawl_value_int(v) >= 0 ? pawl_value_int(v) : -1;
}

/* {"calls","micros","model":{"input_tokens",...},"tokens"} */
static void usage_read(span_maker *m, const char *parent, const pawl_value *v)
{
    const pawl_value *model = pawl_value_get(v, "model");
    kept *k = find(m, parent);

    for (kept *e = m->ended; k == NULL && e != NULL; e = e->next)
        if (strcmp(e->id, parent) == 0)
            k = e;
    if (k == NULL)
        return;
    k->usage.micros = number_of(v, "micros");
    k->usage.input = number_of(model, "input_tokens");
    k->usage.output = number_of(model, "output_tokens");
    k->usage.cache_read = number_of(model, "cache_read_tokens");
    k->usage.cache_write = number_of(model, "cache_write_tokens");
}

static void command_read(span_maker *m, kept *k, const pawl_item_change *c, const pawl_value *v)
{
    const pawl_value *value = pawl_value_get(v, "value"), *code = pawl_value_get(value, "code");

    if (is_call(c)) {
        text_set(m, &k->effect, pawl_value_string(pawl_value_get(v, "effect")));
        text_set(m, &k->effect_class, pawl_value_string(pawl_value_get(v, "class")));
        if (k->kind == SPAN_TOOL && k->call == NULL)
            k->call = whole_text(m, c->call);
        return;
    }
    text_set(m, &k->outcome, strcmp(c->part, "refusal") == 0 ? "refused" : pawl_value_string(pawl_value_get(v, "outcome")));
    text_set(m, &k->error, pawl_value_string(code != NULL ? code : pawl_value_get(v, "code")));
    text_set(m, &k->model, pawl_value_string(pawl_value_get(value, "model")));
    text_set(m, &k->stop, pawl_value_string(pawl_value_get(value, "stop")));
}

/* The task that has failed is named by the path of the error. */
static void failure_read(span_maker *m, const pawl_item_change *c, const pawl_value *v)
{
    kept *k = c->kind == PAWL_ITEM_TASK ? find(m, c->id) : find(m, c->parent);

    for (kept *e = m->ended; k == NULL && e != NULL; e = e->next)
        if (strcmp(e->id, c->kind == PAWL_ITEM_TASK ? c->id : c->parent) == 0)
            k = e;
    if (k != NULL)
        text_set(m, &k->error, pawl_value_string(pawl_value_get(v, "code")));
}

static void item_change(span_maker *m, const pawl_item_change *c, const pawl_value *v)
{
    kept *k = find(m, c->id);

    if (k == NULL && (k = item_begin(m, c)) == NULL)
        return;
    count(m, k, false);
    if (k->state == PAWL_ITEM_PROPOSED && c->state == PAWL_ITEM_RUNNING && !k->tool)
        k->begin_ms = m->now_ms;        /* before that it was asked about, or waited for others */
    k->tool = k->tool || c->state == PAWL_ITEM_RUNNING;
    k->state = (uint8_t)c->state;
    if (v != NULL && k->kind != SPAN_TASK)
        command_read(m, k, c, v);
    if (c->child != NULL)
        text_set(m, &k->child, c->child);
    if (k->kind == SPAN_TASK && m->in_stretch && c->state < PAWL_ITEM_DONE)
        part_begin(m, k);
    if ((c->what & PAWL_ITEM_ENDED) == 0)
        count(m, k, true);
    else
        item_end(m, k);
}

static void run_change(span_maker *m, const pawl_item_change *c)
{
    m->run_state = (uint8_t)c->state;
    if ((c->what & PAWL_ITEM_ADDED) != 0 && c->seq == 1 && c->index == 0) {
        run_span s = span_begin(m, SPAN_BEGUN);

        m->fn(m->ctx, &s);
    }
}

bool span_maker_takes(span_maker *m, const pawl_item_change *c, const char *json)
{
    const pawl_value *v = NULL;

    if (c->live != 0 || m->failed || span_line_begins(c))
        return !m->failed;
    if (c->time_ms > m->now_ms)
        m->now_ms = c->time_ms;
    if (m->first_ms == 0)
        m->first_ms = m->now_ms;
    m->seq = c->seq;
    m->index = c->index;
    if (!m->in_stretch && (m->now_ms != 0 || (c->what & PAWL_ITEM_ENDED) != 0))       /* what is open at a base has no time */
        stretch_begin(m);
    arena_reset(&m->mem);
    if (json != NULL && span_maker_needs(c))
        v = value_read(&m->mem, json, strlen(json), "an item", NULL);
    if (c->kind == PAWL_ITEM_RUN)
        run_change(m, c);
    else if (c->kind == PAWL_ITEM_USAGE && v != NULL)
        usage_read(m, c->parent, v);
    else if (c->kind == PAWL_ITEM_ERROR && v != NULL)
        failure_read(m, c, v);
    else if ((c->kind & (PAWL_ITEM_MESSAGE | PAWL_ITEM_TOOL_CALL | PAWL_ITEM_TASK | PAWL_ITEM_WAIT | PAWL_ITEM_CHILD)) != 0)
        item_change(m, c, v);
    return !m->failed;
}
