/* laps.c - the history of calls that the loop guard compares: kept by folds, written and read. See laps.h.
 *
 * The digest of a command covers its effect, its arguments and their references; the digest of a result covers outcome and value. Each
 * graph keeps the last CYCLE_MAX * N laps; a person's yes empties the list. */
#include "kernel/laps.h"
#include "kernel/names.h"
#include "kernel/references.h"

#include <assert.h>
#include <string.h>

static_assert((int)SAYS_NODE_BYTES > (int)NAME_BYTES_MAX, "a node's name is longer than what is kept of it");

static size_t laps_bytes(uint32_t n) { return offsetof(laps, of) + n * sizeof(lap); }

void laps_free(pawl_state *st, const laps *l)
{
    if (l != NULL)
        st_free(st, l, laps_bytes(l->n));
}

bool command_same(const lap *a, const lap *b)
{
    return !a->fresh && !b->fresh && memcmp(a->command, b->command, LAP_BYTES) == 0;
}

bool lap_same(const lap *a, const lap *b)
{
    return command_same(a, b) && memcmp(a->result, b->result, LAP_BYTES) == 0;
}

static void lap_digest(const buf *b, unsigned char out[LAP_BYTES])
{
    hash h;

    hash_of(b->data, b->size, &h);
    memcpy(out, h.b, LAP_BYTES);
}

bool window_begin(const pawl_state *st, arena *a, window *w)
{
    *w = (window){ .cap = CYCLE_MAX * st->no_progress };
    w->at = arena_get(a, w->cap * sizeof *w->at);
    return w->at != NULL;
}

void window_add(window *w, const lap *l)
{
    if (w->n == w->cap)
        memmove(w->at, w->at + 1, --w->n * sizeof *w->at);
    w->at[w->n++] = l;
}

void window_all(window *w, const laps *l)
{
    for (uint32_t i = 0; l != NULL && i < l->n; i++)
        window_add(w, &l->of[i]);
}

static pawl_code laps_put(pawl_state *st, const window *w, const laps **to)
{
    laps *l = st_alloc(st, laps_bytes(w->n));

    if (l == NULL)
        return PAWL_NOMEM;
    l->n = w->n;
    for (uint32_t i = 0; i < w->n; i++)
        l->of[i] = *w->at[i];
    laps_free(st, *to);
    *to = l;
    return PAWL_OK;
}

/* ---- a command ---------------------------------------------------------------------------------- */

/* The text of a call for the question, truncated between two characters. */
static void lap_text(lap *l, const char *effect, const char *args, size_t size)
{
    const size_t head = strlen(effect), room = sizeof l->says - head - 6;
    const bool cut = size > room;

    if (cut)
        for (size = room; size > 0 && ((unsigned char)args[size] & 0xC0) == 0x80; size--)
            ;
    memcpy(l->says, effect, head);
    l->says[head] = '(';
    memcpy(l->says + head + 1, args, size);
    memcpy(l->says + head + 1 + size, cut ? "...)" : ")", cut ? 5 : 2);
}

/* Resolves references to receipts of the visit; other references are compared by their digest. False: the arguments refer to something without
 * a digest, such as the whole state, so the command cannot be compared. */
static bool args_whole(pawl_state *st, arena *a, const task *tk, const pawl_value *stand, const pawl_value **args, buf *beside)
{
    pawl_iter it = pawl_iter_of(stand);
    const pawl_value *ref;
    pawl_err why = {0};

    while ((ref = pawl_iter_next(&it, NULL)) != NULL) {
        const char *form = pawl_value_string(pawl_value_at(ref, 1));

        if (form != NULL && strcmp(form, "event") == 0) {
            *args = refs_resolve(st, a, tk, NULL, *args, value_pack(a, NULL, "[v]", ref), NULL, &why);
            if (*args == NULL)
                return false;
            continue;
        }
        if (form == NULL || (strcmp(form, "channel") == 0 && pawl_value_at(ref, 3) == NULL))
            return false;
        canon(beside, ref);
    }
    return true;
}

pawl_code lap_of(pawl_state *st, arena *a, const task *tk, const char *text, size_t size, lap *l, bool *counts)
{
    const pawl_value *spec = value_read(a, text, size, "a command", NULL), *args = pawl_value_get(spec, "args");
    const char *cls = pawl_value_string(pawl_value_get(spec, "class")), *effect = pawl_value_string(pawl_value_get(spec, "effect"));
    buf b, beside;
    size_t head;
    pawl_code rc;

    *counts = false;
    if (spec == NULL || effect == NULL || strlen(effect) > NAME_BYTES_MAX || (cls != NULL && strcmp(cls, class_names[PAWL_CLASS_PURE]) == 0))
        return a->failed ? PAWL_NOMEM : PAWL_OK;
    buf_init(&b, &st->alloc);
    buf_init(&beside, &st->alloc);
    if (args_whole(st, a, tk, pawl_value_get(spec, "refs"), &args, &beside)) {
        canon_string(&b, effect, strlen(effect));
        head = b.size;
        if (args != NULL)
            canon(&b, args);
        *l = (lap){0};
        if (!b.failed && !beside.failed)
            lap_text(l, effect, b.data + head, b.size - head);
        if (st->progress_nodes > 0 && tk->node_size <= NAME_BYTES_MAX)
            memcpy(l->node, tk->name, tk->node_size);
        buf_put(&b, beside.data, beside.size);
        if (!b.failed)
            lap_digest(&b, l->command);
        *counts = true;
    }
    rc = a->failed || b.failed || beside.failed ? PAWL_NOMEM : PAWL_OK;
    buf_free(&b);
    buf_free(&beside);
    return rc;
}

bool loop_guard_asked(arena *a, const call *c)
{
    const pawl_value *about;

    if (c->kind != CALL_ASK || c->wait != PAWL_WAIT_APPROVAL)
        return false;
    about = pawl_value_get(value_read(a, c->spec, c->spec_size, "a wait", NULL), "about");
    return pawl_value_get(about, "cycle") != NULL && pawl_value_get(about, "times") != NULL;
}

/* ---- the folds ---------------------------------------------------------------------------------- */

pawl_code progress_call(pawl_state *st, const task *tk, call *c)
{
    lap l, *own;
    bool counts;
    pawl_code rc = lap_of(st, st->t->mem, tk, c->spec, c->spec_size, &l, &counts);

    if (rc != PAWL_OK || !counts)
        return rc;
    for (uint32_t i = 0; i < tk->ncalls && !l.beside; i++)
        l.beside = tk->calls[i].lap != NULL && call_is_open(&tk->calls[i]) && command_same(tk->calls[i].lap, &l);
    if ((own = st_alloc(st, sizeof *own)) == NULL)
        return PAWL_NOMEM;
    *own = l;
    c->lap = own;
    return PAWL_OK;
}

pawl_code progress_receipt(pawl_state *st, call *c, pawl_outcome outcome, const pawl_value *value, const pawl_value *more)
{
    const pawl_value *usage = pawl_value_get(more, "usage");
    lap *l = c->lap;
    pawl_caps said;
    buf b;
    bool good;

    if (!TOUCH(st, l))
        return PAWL_NOMEM;
    caps_read(usage, &said);
    l->cost = share_due(&said);
    if (pawl_value_get(usage, "calls") == NULL)
        l->cost.n[COST_CALLS] = 1;
    l->beside = l->beside || pawl_value_bool(pawl_value_get(more, "beside"));
    l->done = true;
    buf_init(&b, &st->alloc);
    buf_text(&b, outcome_names[outcome]);
    if (value != NULL)
        canon(&b, value);
    else
        buf_text(&b, "null");
    if ((good = !b.failed))
        lap_digest(&b, l->result);
    buf_free(&b);
    return good ? PAWL_OK : PAWL_NOMEM;
}

/* The laps of the subgraph come first, since its frame is freed after this. */
pawl_code progress_visit_end(pawl_state *st, task *tk)
{
    static const lap fresh = { .fresh = true };
    arena *a = st->t->mem;
    const laps *inner = tk->child != NULL ? tk->child->history : NULL;
    bool any = inner != NULL;
    window w;

    if (!window_begin(st, a, &w))
        return PAWL_NOMEM;
    window_all(&w, tk->history);
    window_all(&w, inner);
    for (uint32_t i = 0; i < tk->ncalls; i++) {
        const call *c = &tk->calls[i];
        bool counts = c->lap != NULL && c->lap->done && !c->lap->beside;

        if (c->kind == CALL_ASK && c->at == CALL_ANSWERED && loop_guard_asked(a, c) && pawl_value_bool(c->value)) {
            w.n = 0;
            window_add(&w, &fresh);
            any = true;
        } else if (counts) {
            window_add(&w, c->lap);
            any = true;
        }
    }
    if (!any)
        return a->failed ? PAWL_NOMEM : PAWL_OK;
    return TOUCH(st, &tk->history) ? laps_put(st, &w, &tk->history) : PAWL_NOMEM;
}

/* Equal laps of several tasks of one superstep count as one, since the tasks ran side by side. A subgraph keeps the `fresh` mark, because
 * the laps before the mark are in the frames around it. */
pawl_code progress_close(pawl_state *st, frame *f)
{
    uint32_t here, own;         /* index of the first lap of this superstep, and of this task */
    bool any = false;
    window w;

    if (!window_begin(st, st->t->mem, &w))
        return PAWL_NOMEM;
    window_all(&w, f->history);
    here = w.n;
    for (uint32_t i = 0; i < f->ntasks; i++) {
        const laps *l = f->tasks[i].history;

        own = w.n;
        for (uint32_t k = 0; l != NULL && k < l->n; k++) {
            const bool fresh = l->of[k].fresh;
            bool twin = false;

            any = true;
            if (fresh)
                w.n = here = own = 0;
            for (uint32_t j = here; j < own && !twin; j++)
                twin = lap_same(w.at[j], &l->of[k]);
            if (twin || (fresh && f->parent == NULL))
                continue;
            here -= w.n == w.cap && here > 0;
            own -= w.n == w.cap && own > 0;
            window_add(&w, &l->of[k]);
        }
    }
    if (!any)
        return PAWL_OK;
    if (f->parent != NULL && !TOUCH(st, &f->history))
        return PAWL_NOMEM;
    return laps_put(st, &w, &f->history);
}

/* ---- written down, and read --------------------------------------------------------------------- */

void digest_hex(const unsigned char digest[LAP_BYTES], char out[HASH_HEX + 1])
{
    hash h = {{0}};

    memcpy(h.b, digest, LAP_BYTES);
    hash_hex(&h, out);
    out[2 * LAP_BYTES] = '\0';
}

const pawl_value *cost_value(arena *a, const amounts *c)
{
    return value_pack(a, NULL, "{s:i,s:i,s:i}", "calls", c->n[COST_CALLS], "micros", c->n[COST_MICROS], "tokens", c->n[COST_TOKENS]);
}

const pawl_value *progress_more(arena *a, const lap *l)
{
    const pawl_value *usage = cost_value(a, &l->cost);

    return l->beside ? value_pack(a, NULL, "{s:b,s:v}", "beside", 1, "usage", usage) : value_pack(a, NULL, "{s:v}", "usage", usage);
}

static void lap_code(buf *b, const lap *l)
{
    const pawl_caps cost = { .calls = l->cost.n[COST_CALLS], .micros = l->cost.n[COST_MICROS], .tokens = l->cost.n[COST_TOKENS] };
    char hex[HASH_HEX + 1];

    if (l->fresh) {
        buf_text(b, "null");
        return;
    }
    digest_hex(l->command, hex);
    buf_fmt(b, "[\"%s\",", hex);
    digest_hex(l->result, hex);
    buf_fmt(b, "\"%s\",", hex);
    canon_string(b, l->says, strlen(l->says));
    buf_char(b, ',');
    share_code(b, &cost);
    if (*l->node != '\0') {
        buf_char(b, ',');
        canon_string(b, l->node, strlen(l->node));
    }
    buf_char(b, ']');
}

typedef struct laps_writer { buf *b; bool tasks, fork, any; } laps_writer;

static void laps_code(laps_writer *t, const char *path, const laps *l)
{
    if (l == NULL)
        return;
    if (t->b != NULL) {
        buf_text(t->b, t->any ? ",[" : "[");
        canon_string(t->b, path, strlen(path));
        for (uint32_t i = 0; i < l->n; i++) {
            buf_text(t->b, i > 0 ? "," : ",[");
            lap_code(t->b, &l->of[i]);
        }
        buf_text(t->b, l->n > 0 ? "]]" : ",[]]");
    }
    t->any = true;
}

static void frame_code(laps_writer *t, const frame *f, const char *path, const char *prefix)
{
    char own[PATH_BYTES_MAX + 64], inner[PATH_BYTES_MAX + 128];
    buf p = { .data = own, .cap = sizeof own }, q = { .data = inner, .cap = sizeof inner };

    if (!t->tasks)
        laps_code(t, path, f->history);
    for (uint32_t i = 0; i < f->ntasks && !t->fork; i++) {
        const task *tk = &f->tasks[i];

        if (tk->history == NULL && tk->child == NULL)
            continue;
        if (strlen(prefix) + strlen(tk->name) + 64 > PATH_BYTES_MAX + 64)
            continue;           /* unreachable: no path is longer (PATH_BYTES_MAX) */
        p.size = q.size = 0;
        buf_text(&p, prefix);
        buf_text(&p, tk->name);
        own[p.size] = '\0';
        if (t->tasks)
            laps_code(t, own, tk->history);
        if (tk->child == NULL)
            continue;
        buf_put(&q, own, p.size);
        buf_char(&q, '/');
        buf_uint(&q, tk->visit);
        buf_char(&q, '/');
        buf_uint(&q, tk->child->superstep);
        buf_char(&q, '/');
        inner[q.size] = '\0';
        frame_code(t, tk->child, own, inner);
    }
}

bool progress_any(const pawl_state *st, bool fork)
{
    laps_writer t = { .fork = fork };

    if (st->no_progress == 0)
        return false;
    frame_code(&t, &st->root, "", "");
    t.tasks = true;
    frame_code(&t, &st->root, "", "");
    return t.any;
}

void progress_code(const pawl_state *st, buf *b, bool fork)
{
    laps_writer t = { .b = b, .fork = fork };

    buf_text(b, "{\"frames\":[");
    frame_code(&t, &st->root, "", "");
    buf_text(b, "],\"tasks\":[");
    t.tasks = true;
    t.any = false;
    frame_code(&t, &st->root, "", "");
    buf_text(b, "]}");
}

static bool digest_read(const pawl_value *v, unsigned char out[LAP_BYTES])
{
    const char *text = pawl_value_string(v);
    char hex[HASH_HEX + 1];
    hash h;

    if (text == NULL || strlen(text) != 2 * LAP_BYTES)
        return false;
    memset(hex, '0', HASH_HEX);
    hex[HASH_HEX] = '\0';
    memcpy(hex, text, 2 * LAP_BYTES);
    if (!hash_unhex(hex, HASH_HEX, &h))
        return false;
    memcpy(out, h.b, LAP_BYTES);
    return true;
}

static bool lap_read(const pawl_value *v, lap *l)
{
    const char *says = pawl_value_string(pawl_value_at(v, 2)), *node = pawl_value_string(pawl_value_at(v, 4));
    pawl_caps cost;

    if (pawl_value_type(v) == PAWL_TYPE_NULL) {
        l->fresh = true;
        return true;
    }
    if (says == NULL || strlen(says) >= sizeof l->says || (node != NULL && strlen(node) >= sizeof l->node) || usage_error(pawl_value_at(v, 3)) != NULL)
        return false;
    caps_read(pawl_value_at(v, 3), &cost);
    l->cost = share_due(&cost);
    l->done = true;
    memcpy(l->says, says, strlen(says) + 1);
    if (node != NULL)
        memcpy(l->node, node, strlen(node) + 1);
    return digest_read(pawl_value_at(v, 0), l->command) && digest_read(pawl_value_at(v, 1), l->result);
}

static pawl_code laps_read(pawl_state *st, const pawl_value *v, const laps **to)
{
    size_t n = pawl_value_size(v);
    laps *l;

    if (pawl_value_type(v) != PAWL_TYPE_ARRAY || n > CYCLE_MAX * (size_t)st->no_progress)
        return PAWL_CORRUPT;
    if ((l = st_alloc(st, laps_bytes((uint32_t)n))) == NULL)
        return PAWL_NOMEM;
    l->n = (uint32_t)n;
    laps_free(st, *to);
    *to = l;
    for (uint32_t i = 0; i < n; i++)
        if (!lap_read(pawl_value_at(v, i), &l->of[i]))
            return PAWL_CORRUPT;
    return PAWL_OK;
}

pawl_code progress_read(pawl_state *st, const pawl_value *v, pawl_err *err)
{
    static const char *const names[] = { "frames", "tasks" };
    pawl_code rc = PAWL_OK;

    if (v == NULL)
        return PAWL_OK;
    for (int i = 0; i < 2; i++) {
        pawl_iter it = pawl_iter_of(pawl_value_get(v, names[i]));
        const pawl_value *one;

        while (rc == PAWL_OK && (one = pawl_iter_next(&it, NULL)) != NULL) {
            const char *path = pawl_value_string(pawl_value_at(one, 0));
            frame *f = path != NULL && i == 0 ? frame_find(st, path) : NULL, *in;
            task *tk = path != NULL && i == 1 ? task_find(st, path, &in) : NULL;

            rc = PAWL_CORRUPT;
            if (f != NULL || tk != NULL)
                rc = laps_read(st, pawl_value_at(one, 1), f != NULL ? &f->history : &tk->history);
        }
    }
    return rc == PAWL_CORRUPT ? fail(err, rc, "a folded state: progress is {\"frames\",\"tasks\"}, each [[PATH,LAPS]...]") : rc;
}
