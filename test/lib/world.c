/* world.c - see world.h. Owns machine, state, journal and trace of one run; one thread. Invariants checked after each step: K2, K5, K6, K8. */
#include "kernel/channel.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "kernel/state.h"
#include "kernel/step.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- trace ------------------------------------------------------------------------------------ */

static void trace_value(buf *b, const pawl_value *v)
{
    if (v == NULL)
        buf_text(b, "null");
    else
        canon(b, v);
}

static void trace_writes(buf *b, const item_write *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        buf_fmt(b, " %s%s", w[i].channel, w[i].op == OP_EXTEND ? "+=" : w[i].op == OP_OVERWRITE ? ":=" : "=");
        trace_value(b, w[i].value);
    }
}

static void trace_leave(buf *b, const item *it)
{
    const leave *l = it->leave;

    buf_fmt(b, "%s leaves", it->task);
    trace_writes(b, l->writes, l->nwrites);
    for (uint32_t i = 0; i < l->ngotos; i++)
        buf_fmt(b, " goto %s", l->gotos[i]);
    for (uint32_t i = 0; i < l->nsends; i++) {
        buf_fmt(b, " send %s ", l->sends[i].name);
        trace_value(b, l->sends[i].value);
    }
    for (uint32_t i = 0; i < l->nemits; i++) {
        buf_fmt(b, " emit %s ", l->emits[i].name);
        trace_value(b, l->emits[i].value);
    }
    if (l->halt)
        buf_text(b, " halt");
}

static void trace_close(buf *b, const item *it)
{
    const closing *cl = it->closing;

    buf_fmt(b, "%s%sclose ->", it->task, *it->task != '\0' ? " " : "");
    for (uint32_t i = 0; i < cl->nnext; i++)
        buf_fmt(b, " %s", cl->next[i]);
    for (uint32_t i = 0; i < cl->nsends; i++) {
        buf_fmt(b, " send %s ", cl->sends[i].name);
        trace_value(b, cl->sends[i].value);
    }
    if (cl->joins != NULL) {
        buf_text(b, " joins ");
        canon(b, cl->joins);
    }
    if (cl->defer != NULL) {
        buf_text(b, " defer ");
        canon(b, cl->defer);
    }
    if (cl->drop_all || cl->ndrop > 0)
        buf_text(b, " drops");
}

static void trace_id(buf *b, const item *it)
{
    buf_text(b, item_name(it->kind));
    buf_char(b, ' ');
    id_code(b, it);
    buf_char(b, ' ');
    if (it->kind == ITEM_RECEIPT && it->outcome != PAWL_OUTCOME_DONE)
        buf_fmt(b, "%s ", outcome_names[it->outcome]);
    if (it->kind == ITEM_RECEIPT || it->kind == ITEM_ANSWER)
        trace_value(b, it->value);
    else if (it->kind != ITEM_DROP)
        buf_put(b, it->spec, it->spec_size);
    else
        b->size--;
}

static void trace_task(buf *b, const item *it)
{
    if (it->kind == ITEM_LEAVE) {
        trace_leave(b, it);
    } else if (it->kind == ITEM_FRAME) {
        buf_fmt(b, "%s enters", it->task);
        trace_writes(b, it->writes, it->nwrites);
    } else if (it->kind == ITEM_VISIT) {
        buf_fmt(b, "%s visit %u", it->task, (unsigned)it->visit);
    } else if (it->n == UINT32_MAX) {
        buf_fmt(b, "%s race %u", it->task, (unsigned)it->k);
    } else {
        buf_fmt(b, "%s race %u won by %u", it->task, (unsigned)it->k, (unsigned)it->n);
    }
}

static void trace_item(buf *b, const item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_LEAVE:
    case ITEM_FRAME:
    case ITEM_VISIT:
    case ITEM_SELECT:
        trace_task(b, it);
        return;
    case ITEM_CLOSE:
        trace_close(b, it);
        return;
    case ITEM_PUT:
        buf_text(b, "put");
        trace_writes(b, it->writes, it->nwrites);
        return;
    case ITEM_RECORDS:
        buf_fmt(b, "records %u", (unsigned)it->n);
        return;
    case ITEM_CALL:
    case ITEM_SPAWN:
    case ITEM_ASK:
    case ITEM_SLEEP:
    case ITEM_DOUBT:
    case ITEM_RECEIPT:
    case ITEM_ANSWER:
    case ITEM_DROP:
        trace_id(b, it);
        return;
    case ITEM_FAIL:
    case ITEM_END:
        buf_fmt(b, "%s%s%s ", it->task, *it->task != '\0' ? " " : "", item_name(it->kind));
        buf_put(b, it->spec, it->spec_size);
        return;
    case ITEM_UNWIND:
        buf_fmt(b, "unwind %s ", status_names[it->outcome]);
        buf_put(b, it->spec != NULL ? it->spec : "", it->spec_size);
        return;
    case ITEM_SIGNAL:
    case ITEM_EMIT:
        buf_fmt(b, "%s %s ", item_name(it->kind), it->task);
        trace_value(b, it->value);
        return;
    default:
        buf_text(b, item_name(it->kind));
        if (it->value != NULL) {
            buf_char(b, ' ');
            trace_value(b, it->value);
        }
        return;
    }
}

static void trace_entry(world *w, const pawl_entry *e)
{
    buf *b = &w->trace;
    const char *sep = e->record ? ". " : " | ";

    if (!e->record)
        buf_fmt(b, "%llu %s %s", (unsigned long long)e->seq, kind_names[e->kind], status_names[e->status]);
    for (const item *it = e->items; it != NULL; it = it->next) {
        buf_text(b, sep);
        trace_item(b, it);
        sep = "; ";
    }
    buf_char(b, '\n');
}

void world_expect(world *w, const char *trace)
{
    buf_char(&w->trace, '\0');
    CHECK_STR(w->trace.data, trace);
    buf_reset(&w->trace);
}

/* ---- invariants -------------------------------------------------------------------------------------- */

const char *world_fold(pawl_state *st, pawl_step *look)
{
    pawl_err err = {0};
    pawl_bytes bytes;
    size_t tail = st->tail_bytes, snap = st->snapshot_bytes, limit = look->blobs.limit;
    uint32_t nmarks = st->nmarks;
    pawl_code rc;

    look->blobs.limit = SIZE_MAX;
    st->nmarks = 0;         /* also in the middle of a superstep, for comparison only */
    rc = pawl_state_snapshot(st, look, &bytes, &err);
    look->blobs.limit = limit;
    st->nmarks = nmarks;
    st->tail_bytes = tail;
    st->snapshot_bytes = snap;
    if (rc != PAWL_OK)
        CHECK_FAIL("no snapshot: %s", err.text);
    buf_char(&look->out, '\0');
    return look->out.data;
}

static pawl_code entry_lines(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err)
{
    world *w = ctx;
    const char *at = w->journal.data, *end = at + w->journal.size, *first = NULL;
    char seq_text[32];
    int n = snprintf(seq_text, sizeof seq_text, " [%llu,", (unsigned long long)seq);

    at = memchr(at, '\n', (size_t)(end - at));
    for (at = at + 1; at < end;) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));

        if (*at == '[' && first == NULL)
            first = at;
        if (*at != '[') {
            if (strncmp(at + HASH_HEX, seq_text, (size_t)n) == 0) {
                *entry = (pawl_bytes){ at, (size_t)(nl - at) };
                *records = first == NULL ? (pawl_bytes){0} : (pawl_bytes){ first, (size_t)(at - first) };
                return PAWL_OK;
            }
            first = NULL;
        }
        at = nl + 1;
    }
    return fail(err, PAWL_GONE, "the test journal has no entry %llu", (unsigned long long)seq);
}

static size_t apart_limit;
static pawl_caps budget;

void world_apart(size_t limit) { apart_limit = limit; }
void world_budget(pawl_caps caps) { budget = caps; }

static pawl_code blob_of(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    return bag_find(&((world *)ctx)->apart, digest, bytes, err);
}

static pawl_loader loader_of(world *w)
{
    return (pawl_loader){ .entry = entry_lines, .blob = blob_of, .ctx = w };
}

static pawl_step *step_new(const pawl_alloc *alloc)
{
    pawl_step *s = pawl_step_new(alloc);

    if (s != NULL)
        pawl_step_blobs(s, apart_limit);
    return s;
}

static pawl_state *load(world *w, bool from_snapshot)
{
    pawl_loader loader = loader_of(w);
    const char *nl = memchr(w->journal.data, '\n', w->journal.size), *at, *end = w->journal.data + w->journal.size;
    pawl_bytes snapshot = from_snapshot ? (pawl_bytes){ w->snapshot.data, w->snapshot.size } : (pawl_bytes){0};
    pawl_state *st;
    pawl_err err = {0};

    if (pawl_state_load((pawl_bytes){ w->journal.data, (size_t)(nl - w->journal.data) }, snapshot, &loader, NULL, &st, &err) != PAWL_OK)
        CHECK_FAIL("load%s: %s", from_snapshot ? " from a snapshot" : "", err.text);
    for (at = from_snapshot && w->snapshot.size > 0 ? w->journal.data + w->snapshot_at : nl + 1; at < end; at = nl + 1) {
        pawl_entry *e;

        nl = memchr(at, '\n', (size_t)(end - at));
        if (pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, w->look, &e, &err) != PAWL_OK || pawl_apply(st, e, &err) != PAWL_OK)
            CHECK_FAIL("load: %s", err.text);
    }
    return st;
}

static void same_fold(world *w, pawl_state *other, const char *what)
{
    char *live = strdup(world_fold(w->st, w->look));
    const char *then = world_fold(other, w->look);

    if (strcmp(live, then) != 0)
        printf("%s, after entry %llu:\n", what, (unsigned long long)w->st->seq);
    CHECK_STR(then, live);
    CHECK_INT(pawl_state_next(other), pawl_state_next(w->st));
    CHECK_INT(pawl_state_commands(other), pawl_state_commands(w->st));
    CHECK_INT(pawl_state_waits(other), pawl_state_waits(w->st));
    free(live);
}

/* K6: snapshot and tail, and the fold from the base, are the live state. */
static void check_state(world *w)
{
    pawl_state *st = load(w, false);

    same_fold(w, st, "folded from the base");
    pawl_state_free(st);
    if (w->snapshot.size == 0)
        return;
    st = load(w, true);
    for (uint32_t i = 0; i < st->root.nchannels; i++)
        CHECK(channel_value(st, &st->root.channels[i]) != NULL || !channel_is_set(&st->root.channels[i]));
    same_fold(w, st, "folded from a snapshot");
    pawl_state_free(st);
}

/* ---- a run ----------------------------------------------------------------------------------------------- */

pawl_code world_try_begin(world *w, pawl_machine *m, const char *input, const pawl_alloc *alloc)
{
    const pawl_run_info info = { .id = "run-1", .life = 1, .seed = 7, .created_ms = 1000, .budget = budget };
    pawl_event start = { .kind = PAWL_EV_START, .value = input };
    pawl_code rc;

    *w = (world){ .m = m, .now = 1000, .alloc = mem_or_default(NULL) };
    buf_init(&w->journal, &w->alloc);
    buf_init(&w->trace, &w->alloc);
    buf_init(&w->snapshot, &w->alloc);
    w->unchecked = alloc != NULL;
    w->s = step_new(alloc);
    w->look = step_new(alloc);
    if (m == NULL || w->s == NULL || w->look == NULL)
        return PAWL_NOMEM;
    if ((rc = pawl_state_new(m, &info, 0, alloc, &w->st, &w->err)) != PAWL_OK)
        return rc;
    if (apart_limit > 0)
        pawl_state_loader(w->st, &(pawl_loader){ .blob = blob_of, .ctx = w });
    buf_put(&w->journal, w->st->base.data, w->st->base.size);
    buf_char(&w->journal, '\n');
    rc = world_feed(w, &start);
    return rc < 0 ? rc : world_go(w);
}

void world_begin(world *w, pawl_machine *m, const char *input)
{
    if (m == NULL)
        CHECK_FAIL("there is no machine");
    if (world_try_begin(w, m, input, NULL) < 0)
        CHECK_FAIL("begin: %s", w->err.text);
}

void world_drop(world *w)
{
    pawl_state_free(w->st);
    pawl_step_free(w->s);
    pawl_step_free(w->look);
    if (!w->lent)
        pawl_machine_free(w->m);
    buf_free(&w->journal);
    buf_free(&w->trace);
    buf_free(&w->snapshot);
    bag_free(&w->apart);
}

void world_end(world *w)
{
    const pawl_loader loader = loader_of(w);
    pawl_verdict v;
    pawl_err err = {0};

    if (!w->no_verify && pawl_verify_with(w->m, (pawl_bytes){ w->journal.data, w->journal.size }, &loader, NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("verify: entry %llu: %s", (unsigned long long)v.seq, err.text);
    world_drop(w);
}

static void feed_twice(world *w, const pawl_event *ev)
{
    char *before = strdup(world_fold(w->st, w->look));
    pawl_err err = {0};
    pawl_code first = pawl_feed(w->m, w->st, ev, w->s, &err), second;
    pawl_bytes bytes = pawl_step_bytes(w->s);
    char *text = calloc(1, bytes.size + 1);

    if (bytes.size > 0)
        memcpy(text, bytes.data, bytes.size);
    CHECK_STR(world_fold(w->st, w->look), before);      /* feeding left the state as it was */
    err = (pawl_err){0};
    second = pawl_feed(w->m, w->st, ev, w->s, &err);    /* K2 */
    CHECK_INT(second, first);
    CHECK_BYTES(text, strlen(text), w->s->entry.bytes.data != NULL ? w->s->entry.bytes.data : "", pawl_step_bytes(w->s).size);
    free(before);
    free(text);
}

/* The fold of a copy of the state after pawl_advance, or the unchanged one; free() it. */
static char *advanced(world *w, const pawl_event *ev)
{
    pawl_step *look = w->look, *s = w->look = step_new(NULL);     /* the event may refer to values in the world's own step */
    pawl_state *copy = load(w, false);
    pawl_err err = {0};
    pawl_code rc = pawl_advance(w->m, copy, ev, s, &err);
    pawl_bytes bytes = pawl_step_bytes(s), fed = pawl_step_bytes(w->s);
    char *fold;

    CHECK_BYTES(bytes.data != NULL ? bytes.data : "", bytes.size, fed.data != NULL ? fed.data : "", fed.size);
    fold = strdup(world_fold(copy, s));
    if (rc < 0 || rc == PAWL_IGNORED)
        CHECK_STR(fold, world_fold(w->st, s));
    else
        CHECK_INT(pawl_state_next(copy), rc);
    w->look = look;
    pawl_step_free(s);
    pawl_state_free(copy);
    return fold;
}

pawl_code world_feed(world *w, const pawl_event *given)
{
    bool checked = !w->unchecked && !w->quiet;
    pawl_event ev = *given;
    char *fold = NULL;
    pawl_bytes bytes;
    pawl_code rc;

    if (ev.time_ms == 0)
        ev.time_ms = w->now;
    w->now = (ev.time_ms > w->now ? ev.time_ms : w->now) + 1;
    w->err = (pawl_err){0};
    if (checked) {
        feed_twice(w, &ev);
        fold = advanced(w, &ev);
    }
    w->rc = pawl_feed(w->m, w->st, &ev, w->s, &w->err);
    if (w->rc < 0 || w->rc == PAWL_IGNORED) {
        free(fold);
        return w->rc;
    }
    bytes = pawl_step_bytes(w->s);
    bag_take(&w->apart, w->s);
    buf_put(&w->journal, bytes.data, bytes.size);
    buf_char(&w->journal, '\n');
    if (!w->quiet)
        trace_entry(w, pawl_step_entry(w->s));
    if ((rc = pawl_apply(w->st, pawl_step_entry(w->s), &w->err)) != PAWL_OK) {
        w->journal.size -= bytes.size + 1;
        if (rc != PAWL_NOMEM)
            CHECK_FAIL("apply: %s", w->err.text);
        return w->rc = rc;
    }
    CHECK_INT(pawl_state_next(w->st), w->rc);
    if (checked) {
        CHECK_STR(fold, world_fold(w->st, w->look));
        check_state(w);
    }
    free(fold);
    return w->rc;
}

pawl_code world_tick(world *w)
{
    return world_feed(w, &(pawl_event){ .kind = PAWL_EV_TICK });
}

pawl_code world_go(world *w)
{
    for (int i = 0; i < 100000 && pawl_state_next(w->st) == PAWL_OK; i++) {
        pawl_code rc = world_tick(w);

        if (rc < 0)
            return rc;
        if (rc == PAWL_IGNORED)
            CHECK_FAIL("a tick is due, and ignored");
    }
    return pawl_state_next(w->st);
}

/* ---- open commands and waits ---------------------------------------------------------------------------------------------- */

static bool is_of(const char *id, const char *node)
{
    const char *local = strchr(id, '/') + 1, *name = strchr(local, '.') + 1;
    size_t n = strlen(node);

    if (strcmp(id, node) == 0 || strcmp(local, node) == 0)
        return true;
    for (const char *p = name; p != NULL; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, node, n) == 0 && (p[n] == '.' || (p[n] == ':' && strchr(node, ':') == NULL)))
            return true;
    }
    return false;
}

const char *world_open(world *w, const char *node, bool wait)
{
    size_t n = wait ? pawl_state_waits(w->st) : pawl_state_commands(w->st);
    pawl_command cmd;
    pawl_wait q;
    pawl_err err = {0};

    for (size_t i = 0; i < n; i++) {
        pawl_code rc = wait ? pawl_state_wait(w->st, i, w->look, &q, &err) : pawl_state_command(w->st, i, w->look, &cmd, NULL, &err);
        const char *id = wait ? q.id : cmd.id;

        if (rc == PAWL_NOMEM)
            return "";
        if (rc != PAWL_OK)
            CHECK_FAIL("open: %s", err.text);
        if (node == NULL || is_of(id, node) || (wait && q.slot != NULL && strcmp(q.slot, node) == 0))
            return id;
    }
    return "";
}

static pawl_code feed_and_go(world *w, const pawl_event *ev)
{
    pawl_code rc = world_feed(w, ev);

    return rc < 0 || rc == PAWL_IGNORED ? rc : world_go(w);
}

static pawl_code with_id(world *w, const char *node, pawl_event *ev)
{
    char *id = strdup(world_open(w, node, false));
    pawl_code rc;

    ev->id = *id != '\0' ? id : node;
    rc = feed_and_go(w, ev);
    free(id);
    return rc;
}

pawl_code world_receipt(world *w, const char *node, const char *value)
{
    return with_id(w, node, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .value = value });
}

pawl_code world_error(world *w, const char *node, const char *value)
{
    return with_id(w, node, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .outcome = PAWL_OUTCOME_ERROR, .value = value });
}

pawl_code world_outcome(world *w, const char *node, pawl_outcome outcome, const char *value)
{
    return with_id(w, node, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .outcome = outcome, .value = value });
}

pawl_code world_timer(world *w, const char *node)
{
    pawl_event ev = { .kind = PAWL_EV_TIMER };
    pawl_err err = {0};
    pawl_command cmd;

    for (size_t i = 0; i < pawl_state_commands(w->st); i++)
        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, &err) == PAWL_OK && cmd.kind == PAWL_COMMAND_SLEEP && is_of(cmd.id, node))
            ev.time_ms = cmd.due_ms;
    return with_id(w, node, &ev);
}

pawl_code world_answer(world *w, const char *slot, const char *value)
{
    return feed_and_go(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = slot, .value = value });
}

pawl_code world_signal(world *w, const char *name, const char *value)
{
    return feed_and_go(w, &(pawl_event){ .kind = PAWL_EV_SIGNAL, .name = name, .value = value });
}

pawl_code world_update(world *w, const char *as, const char *value)
{
    return feed_and_go(w, &(pawl_event){ .kind = PAWL_EV_UPDATE, .name = as, .value = value });
}

pawl_code world_cancel(world *w)
{
    return feed_and_go(w, &(pawl_event){ .kind = PAWL_EV_CANCEL });
}

pawl_code world_reopen(world *w, const char *update)
{
    return feed_and_go(w, &(pawl_event){ .kind = PAWL_EV_REOPEN, .update = update });
}

pawl_code world_run(world *w, world_say_fn *say, void *ctx)
{
    for (bool any = true; any && pawl_state_next(w->st) == PAWL_PENDING;) {
        size_t n = pawl_state_commands(w->st);

        any = false;
        for (size_t i = 0; i < n && !any; i++) {
            pawl_command cmd;
            pawl_event ev = { .kind = PAWL_EV_RECEIPT };
            pawl_err err = {0};
            char *id, *args;
            char node[128];
            const char *name;

            if (pawl_state_command(w->st, i, w->look, &cmd, NULL, &err) != PAWL_OK)
                return err.code;
            name = strchr(strchr(cmd.id, '/'), '.') + 1;
            snprintf(node, sizeof node, "%.*s", (int)strcspn(name, ":."), name);
            id = strdup(cmd.id);
            args = strdup(cmd.args != NULL ? pawl_text(w->look, cmd.args) : "null");
            ev.id = id;
            if (cmd.kind == PAWL_COMMAND_SLEEP)
                ev = (pawl_event){ .kind = PAWL_EV_TIMER, .id = id, .time_ms = cmd.due_ms };
            else
                ev.value = say(ctx, node, cmd.effect, args);
            any = ev.kind == PAWL_EV_TIMER || ev.value != NULL;
            if (any && feed_and_go(w, &ev) < 0)
                any = false;
            free(id);
            free(args);
            if (w->rc < 0)
                return w->rc;
        }
    }
    return pawl_state_next(w->st);
}

/* ---- reading -------------------------------------------------------------------------------------------------------- */

const char *world_get(world *w, const char *name)
{
    const pawl_value *v = pawl_state_get(w->st, name);
    const char *text = v == NULL ? NULL : pawl_text(w->look, v);

    return text != NULL ? text : "";
}

const char *world_all(world *w)
{
    const char *text = pawl_state_json(w->st, w->look, &w->err);

    return text != NULL ? text : w->err.text;
}

const char *world_status(const world *w)
{
    return pawl_status_name(pawl_state_status(w->st));
}

const char *world_reason(const world *w)
{
    const pawl_value *v = pawl_state_reason(w->st);

    return v == NULL ? "" : pawl_text(w->look, v);
}

const char *world_tasks(world *w)
{
    const char *name;
    buf *b = step_text(w->look);

    for (size_t i = 0; (name = pawl_state_task(w->st, i, NULL)) != NULL; i++)
        buf_fmt(b, "%s%s", i > 0 ? " " : "", name);
    return step_copy(w->look, b, NULL);
}

void world_crash(world *w)
{
    pawl_state *st = load(w, w->snapshot.size > 0);

    pawl_state_free(w->st);
    w->st = st;
}

void world_snapshot(world *w)
{
    pawl_bytes bytes;
    pawl_err err = {0};

    if (pawl_state_snapshot(w->st, w->look, &bytes, &err) != PAWL_OK)
        CHECK_FAIL("snapshot: %s", err.text);
    bag_take(&w->apart, w->look);
    buf_reset(&w->snapshot);
    buf_put(&w->snapshot, bytes.data, bytes.size);
    w->snapshot_at = w->journal.size;
}

void world_base(world *w, pawl_bytes base)
{
    buf_reset(&w->journal);
    buf_put(&w->journal, base.data, base.size);
    buf_char(&w->journal, '\n');
    buf_reset(&w->snapshot);
}

void world_fork(world *w, const pawl_run_info *info)
{
    const pawl_loader loader = { .blob = blob_of, .ctx = w };
    pawl_err err = {0};
    pawl_state *fork;

    if (pawl_state_fork(w->st, info, w->look, &fork, &err) != PAWL_OK)
        CHECK_FAIL("fork: %s", err.text);
    bag_free(&w->apart);
    bag_take(&w->apart, w->look);
    pawl_state_free(w->st);
    pawl_state_loader(fork, &loader);
    w->st = fork;
    world_base(w, pawl_state_base(fork));
}
