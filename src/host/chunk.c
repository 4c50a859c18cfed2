/* chunk.c - the output of an agent and its children as chunks of sixteen kinds (A3, A7).
 *
 * A reader has one stream of the agent's run, and one of each child from the entry that starts the child. Used by one thread at a time.
 * Invariants: no chunk of a child comes before the chunk that announces the child, and none after the chunk that ends it. */
#include "host/host.h"
#include "effect/effect.h"
#include "stream/projection.h"

#include <stdio.h>
#include <string.h>

enum {
    HOLD_MS = 1000,             /* the end of a child is held back until the child is read to its end, or was silent for that long */
    LOOK_MS = 20,               /* a waiting reader polls the store that often, for what nobody announces; */
    LOOK_MOST_MS = 250,         /* while nothing comes the interval doubles, up to this, */
    LOOK_DRIVEN_MS = 10000,     /* or to this while the host drives, whose engine announces what others write, too */
    PLACE_BYTES = 48
};
enum { CHUNK_ITEMS = PAWL_ITEM_MESSAGE | PAWL_ITEM_TOOL_CALL | PAWL_ITEM_ARTIFACT | PAWL_ITEM_ERROR };

typedef struct spot { uint64_t seq, index; char cursor[PLACE_BYTES]; } spot;   /* a position in a run */

typedef struct source {         /* a run that is read: the agent's, or a child's */
    struct source *next, *parent;
    pawl_items *r;              /* NULL: the run does not exist yet, or is reopened at its position */
    bool from_now;              /* starts at the newest position; else at the beginning, or at a given cursor */
    bool over;
    spot at;                    /* after the last chunk of it; cursor "": not read yet */
    struct source *awaited;     /* a child whose end is reported after all its output; NULL: nothing is held back */
    int64_t held_ms;            /* the time since then */
    pawl_chunk held;
    spot held_at;
    buf json;                   /* of the chunk that is held back */
    char id[];
} source;

struct pawl_chunks {
    pawl_alloc alloc;
    pawl_host *h;
    pawl_engine *e;
    source *all, *turn;         /* the last of `all` is the agent's run; `turn`: the one to read next, NULL: the first */
    uint64_t told;              /* number of chunks of children: the `live` of the next one */
    arena mem;                  /* for the current chunk */
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool stirred, stopped;
    int64_t look_ms;            /* until the store is polled next */
};

/* ---- names ------------------------------------------------------------------------------------------ */

static const char *const names[] = {
    [PAWL_CHUNK_TEXT_DELTA] = "TextDelta", [PAWL_CHUNK_TEXT_COMPLETE] = "TextComplete", [PAWL_CHUNK_THINKING_DELTA] = "ThinkingDelta",
    [PAWL_CHUNK_THINKING_COMPLETE] = "ThinkingComplete", [PAWL_CHUNK_TOOL_START] = "ToolStart", [PAWL_CHUNK_TOOL_PROGRESS] = "ToolProgress",
    [PAWL_CHUNK_TOOL_END] = "ToolEnd", [PAWL_CHUNK_PERMISSION_REQUEST] = "PermissionRequest", [PAWL_CHUNK_SUB_AGENT_SPAWNED] = "SubAgentSpawned",
    [PAWL_CHUNK_SUB_AGENT_OUTPUT] = "SubAgentOutput", [PAWL_CHUNK_SUB_AGENT_COMPLETE] = "SubAgentComplete",
    [PAWL_CHUNK_ASK_USER_QUESTION] = "AskUserQuestion", [PAWL_CHUNK_STATE_CHANGE] = "StateChange", [PAWL_CHUNK_STATUS] = "Status",
    [PAWL_CHUNK_ERROR] = "Error", [PAWL_CHUNK_DONE] = "Done",
};

const char *pawl_chunk_name(pawl_chunk_kind kind)
{
    return (int)kind > 0 && (size_t)kind < sizeof names / sizeof *names ? names[kind] : "";
}

/* ---- a change as a chunk ------------------------------------------------------------------------------ */

typedef struct chunk_row { const char *part; pawl_chunk_kind kind; const char *as; } chunk_row;     /* as: the member of a Status chunk; NULL: unchanged */

static const chunk_row emitted[] = {
    { "text_complete", PAWL_CHUNK_TEXT_COMPLETE, NULL }, { "thinking_complete", PAWL_CHUNK_THINKING_COMPLETE, NULL },
    { "tool_start", PAWL_CHUNK_TOOL_START, NULL }, { "tool_end", PAWL_CHUNK_TOOL_END, NULL },
    { "permission_request", PAWL_CHUNK_PERMISSION_REQUEST, NULL }, { "sub_agent_spawned", PAWL_CHUNK_SUB_AGENT_SPAWNED, NULL },
    { "sub_agent_complete", PAWL_CHUNK_SUB_AGENT_COMPLETE, NULL }, { "ask_user_question", PAWL_CHUNK_ASK_USER_QUESTION, NULL },
    { "state", PAWL_CHUNK_STATE_CHANGE, NULL }, { "status", PAWL_CHUNK_STATUS, NULL }, { "error", PAWL_CHUNK_ERROR, NULL },
    { "done", PAWL_CHUNK_DONE, NULL }, { "compact", PAWL_CHUNK_STATUS, "compact" }, { "cache_break", PAWL_CHUNK_STATUS, "cache_break" },
};

static const chunk_row *row_of(const pawl_item_change *ch)
{
    for (size_t i = 0; i < sizeof emitted / sizeof *emitted; i++)
        if (strcmp(emitted[i].part, ch->part) == 0)
            return &emitted[i];
    return NULL;
}

/* A message of the model that no answer brought: the text that an interrupt or a shutdown kept. The run emits nothing about it. */
static bool is_kept_text(const pawl_item_change *ch)
{
    return ch->kind == PAWL_ITEM_MESSAGE && (ch->what & PAWL_ITEM_ADDED) != 0 && strcmp(ch->part, "message") == 0 && strcmp(ch->name, "assistant") == 0;
}

/* Whether a run or a handler has output something. Other changes of items are not chunks. */
static bool is_chunk(const pawl_item_change *ch)
{
    if (ch->live > 0)
        return (ch->what & PAWL_ITEM_GAP) != 0 || (strcmp(ch->part, "started") != 0 && strcmp(ch->part, "again") != 0);
    return (ch->what & (PAWL_ITEM_GAP | PAWL_ITEM_EMITTED)) != 0 || is_kept_text(ch);
}

/* Partial output of a model (text, thinking, a new attempt) and of a tool. */
static const pawl_value *delta_of(arena *mem, const pawl_delta *d, pawl_chunk_kind *kind)
{
    const pawl_value *text = value_string(mem, d->size > 0 ? d->bytes : "", d->size);

    switch (d->kind) {
    case PAWL_DELTA_BEGIN:
        *kind = PAWL_CHUNK_STATUS;
        return value_pack(mem, NULL, "{s:i}", "attempt", (int64_t)d->number);
    case PAWL_DELTA_TEXT:
        *kind = PAWL_CHUNK_TEXT_DELTA;
        return value_pack(mem, NULL, "{s:v}", "text", text);
    case PAWL_DELTA_THINKING:
        *kind = PAWL_CHUNK_THINKING_DELTA;
        return value_pack(mem, NULL, "{s:v}", "thinking", text);
    case PAWL_DELTA_TOOL_OUTPUT:
        *kind = PAWL_CHUNK_TOOL_PROGRESS;
        return value_pack(mem, NULL, "{s:v,s:s}", "output", text, "tool_use_id", d->id != NULL ? d->id : "");
    case PAWL_DELTA_CUSTOM:
    case PAWL_DELTA_TOOL_INPUT:
        break;
    }
    return NULL;
}

/* NULL: not of that kind, or no memory. */
static const pawl_value *chunk_value(arena *mem, const pawl_item_change *ch, const pawl_value *v, pawl_chunk_kind *kind)
{
    const chunk_row *one;
    pawl_delta said;

    if (ch->delta != NULL)
        return delta_of(mem, ch->delta, kind);
    *kind = PAWL_CHUNK_STATUS;
    if ((ch->what & PAWL_ITEM_GAP) != 0)
        return value_pack(mem, NULL, "{s:v,s:s}", "gap", v, "why", ch->part);
    if (ch->live > 0 && strcmp(ch->part, "message") == 0)
        return delta_of_value(v, &said) ? delta_of(mem, &said, kind) : NULL;
    *kind = PAWL_CHUNK_TOOL_PROGRESS;
    if (ch->live > 0)
        return strcmp(ch->part, "tool_progress") == 0 ? v : NULL;
    if (is_kept_text(ch)) {
        *kind = PAWL_CHUNK_TEXT_COMPLETE;
        return value_pack(mem, NULL, "{s:v}", "text", pawl_value_get(pawl_value_at(pawl_value_get(v, "content"), 0), "text"));
    }
    if ((one = row_of(ch)) == NULL)
        return NULL;
    *kind = one->kind;
    return one->as == NULL ? v : value_pack(mem, NULL, "{s:v}", one->as, v);
}

static const char *json_of(pawl_chunks *c, const pawl_value *v)
{
    const char *out = NULL;
    buf b;

    buf_init(&b, &c->alloc);
    canon(&b, v);
    if (!b.failed)
        out = arena_strdup(&c->mem, b.data, b.size);
    buf_free(&b);
    return out;
}

/* ---- runs that are read --------------------------------------------------------------------------------- */

/* Called by the stream, on any thread, when one of the runs may have changed. */
static void stirs(void *ctx)
{
    pawl_chunks *c = ctx;

    pthread_mutex_lock(&c->lock);
    c->stirred = true;
    pthread_cond_broadcast(&c->woken);
    pthread_mutex_unlock(&c->lock);
}

static source *source_add(pawl_chunks *c, source *parent, const char *id, bool from_now)
{
    const size_t n = strlen(id) + 1;
    source *s;

    for (s = c->all; s != NULL; s = s->next)
        if (strcmp(s->id, id) == 0)
            return s;
    if ((s = mem_new(&c->alloc, sizeof *s + n)) == NULL)
        return NULL;
    memcpy(s->id, id, n);
    s->parent = parent;
    s->from_now = from_now;
    buf_init(&s->json, &c->alloc);
    s->next = c->all;
    c->all = s;
    return s;
}

static void source_free(pawl_chunks *c, source *s)
{
    pawl_items_close(s->r);
    buf_free(&s->json);
    mem_free(&c->alloc, s, sizeof *s + strlen(s->id) + 1);
}

static void spot_set(spot *at, uint64_t seq, uint64_t index)
{
    at->seq = seq;
    at->index = index;
    snprintf(at->cursor, sizeof at->cursor, "%llu.%llu", (unsigned long long)seq, (unsigned long long)index);
}

/* Opens the reader at the source's position; `from` is for one that was not read yet. */
static bool source_open(pawl_chunks *c, source *s, const char *from, pawl_err *err)
{
    const pawl_items_options options = { .from = s->at.cursor[0] != '\0' ? s->at.cursor : s->from_now ? "now" : from, .kinds = CHUNK_ITEMS, .wake = stirs,
                                         .wake_ctx = c };
    const char *at;
    uint64_t seq = 0, index = 0;

    if ((s->r = pawl_items_open(c->e, NULL, s->id, &options, err)) == NULL)
        return false;
    at = strchr(pawl_items_cursor(s->r), ':');
    if (at != NULL && (at = digits_read(at + 1, &seq)) != NULL && *at == '.')
        (void)digits_read(at + 1, &index);
    spot_set(&s->at, seq, index);
    return true;
}

/* The last change could not be returned: the reader goes back before it. */
static void source_back(source *s, const spot *at)
{
    pawl_items_close(s->r);
    s->r = NULL;
    s->at = *at;
    s->over = false;
}

/* Frees sources whose run has ended, if everything of them and of their children was returned. */
static void sources_sweep(pawl_chunks *c)
{
    for (source **at = &c->all; *at != NULL;) {
        source *s = *at;
        bool wanted = !s->over || s->parent == NULL || s->awaited != NULL;

        for (const source *o = c->all; o != NULL && !wanted; o = o->next)
            wanted = o->parent == s || o->awaited == s;
        if (wanted) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        if (c->turn == s)
            c->turn = s->next;
        source_free(c, s);
        at = &c->all;
    }
}

/* ---- what comes next -------------------------------------------------------------------------------------- */

/* Holds back the end of a child that still has output. */
static bool holds(pawl_chunks *c, source *s, const pawl_chunk *k, const pawl_value *v, const pawl_item_change *ch)
{
    const char *run = pawl_value_string(pawl_value_get(v, "session_id"));
    source *child = NULL;

    for (source *o = c->all; o != NULL && run != NULL; o = o->next)
        if (o->parent == s && strcmp(o->id, run) == 0)
            child = o;
    if (k->kind != PAWL_CHUNK_SUB_AGENT_COMPLETE || child == NULL || child->over)
        return false;
    buf_reset(&s->json);
    buf_put(&s->json, k->json, strlen(k->json) + 1);
    spot_set(&s->held_at, ch->seq, ch->index);
    s->held = *k;
    s->held_ms = steady_ms();
    s->awaited = s->json.failed ? NULL : child;
    return s->awaited != NULL;
}

/* Returns it once the child has ended or was silent for long. */
static pawl_code held_next(source *s, pawl_chunk *out)
{
    if (!s->awaited->over && steady_ms() - s->held_ms < HOLD_MS)
        return PAWL_PENDING;
    s->awaited->over = true;
    s->awaited = NULL;
    s->at = s->held_at;
    *out = s->held;
    out->json = s->json.data;
    return PAWL_OK;
}

/* PAWL_OK: *out is a chunk if its kind is not 0. */
static pawl_code change_take(pawl_chunks *c, source *s, const pawl_item_change *ch, pawl_chunk *out, pawl_err *err)
{
    const char *json = ch->delta != NULL ? "" : pawl_items_json(s->r, err), *run;
    const pawl_value *v = json != NULL && *json != '\0' ? value_read(&c->mem, json, strlen(json), ch->part, err) : NULL;
    pawl_chunk_kind kind;

    if (json == NULL)
        return err->code;
    run = pawl_value_string(pawl_value_get(v, "session_id"));
    *out = (pawl_chunk){ .run = s->id, .seq = ch->seq, .index = ch->index, .live = ch->live, .time_ms = ch->time_ms };
    if (s->parent != NULL && s->parent->awaited == s)
        s->parent->held_ms = steady_ms();
    if ((v = chunk_value(&c->mem, ch, v, &kind)) != NULL && (out->json = json_of(c, v)) != NULL)
        out->kind = kind;
    if (c->mem.failed || (v != NULL && out->json == NULL) ||
        (out->kind == PAWL_CHUNK_SUB_AGENT_SPAWNED && run != NULL && source_add(c, s, run, false) == NULL))
        return fail(err, PAWL_NOMEM, "%s: no memory for what it says", s->id);
    if (out->kind != 0 && holds(c, s, out, v, ch))
        out->kind = (pawl_chunk_kind)0;
    else
        spot_set(&s->at, ch->seq, ch->index);
    return PAWL_OK;
}

/* The next chunk of one run. PAWL_PENDING: none now. */
static pawl_code source_next(pawl_chunks *c, source *s, pawl_chunk *out, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_item_change ch;
    pawl_code rc = PAWL_OK;

    if (s->over && s->parent != NULL)
        return PAWL_PENDING;
    for (out->kind = (pawl_chunk_kind)0; rc == PAWL_OK && out->kind == 0;) {
        arena_reset(&c->mem);
        if (s->awaited != NULL)
            return held_next(s, out);
        if (s->r == NULL && !source_open(c, s, NULL, &why))
            rc = why.code != PAWL_GONE ? why.code :
                 s->parent != NULL && s->parent->over ? PAWL_HALTED : PAWL_PENDING;  /* it will start, or never will */
        else
            rc = pawl_items_next(s->r, &ch, &why);
        if (rc == PAWL_OK && is_chunk(&ch))
            rc = change_take(c, s, &ch, out, &why);
    }
    s->over = rc == PAWL_HALTED || (rc == PAWL_GONE && s->parent != NULL);
    if (rc == PAWL_GONE && s->parent != NULL)
        rc = PAWL_PENDING;
    return rc < 0 ? fail(err, rc, "%s", why.text) : rc == PAWL_HALTED ? PAWL_PENDING : rc;
}

/* Builds the JSON text directly, because the value may be nested deeper than a parser allows. */
static const char *wrapped_json(pawl_chunks *c, const source *s, const pawl_chunk *k)
{
    const char *out = NULL;
    buf b;

    buf_init(&b, &c->alloc);
    buf_fmt(&b, "{\"chunk\":{\"index\":%llu,\"kind\":\"%s\",\"live\":%llu,\"run\":", (unsigned long long)k->index, pawl_chunk_name(k->kind),
            (unsigned long long)k->live);
    canon_string(&b, k->run, strlen(k->run));
    buf_fmt(&b, ",\"seq\":%llu,\"value\":", (unsigned long long)k->seq);
    buf_text(&b, k->json);
    buf_text(&b, "},\"session_id\":");
    canon_string(&b, s->id, strlen(s->id));
    buf_char(&b, '}');
    if (!b.failed)
        out = arena_strdup(&c->mem, b.data, b.size);
    buf_free(&b);
    return out;
}

/* Output of a child as output of its parent; of a grandchild through the child. */
static pawl_code wrapped(pawl_chunks *c, const source *s, pawl_chunk *k, pawl_err *err)
{
    for (; s->parent != NULL; s = s->parent) {
        pawl_chunk *inner = arena_get(&c->mem, sizeof *inner);
        const char *json = wrapped_json(c, s, k);

        if (inner == NULL || json == NULL)
            return fail(err, PAWL_NOMEM, "%s: no memory for what it says", s->id);
        *inner = *k;
        *k = (pawl_chunk){ .kind = PAWL_CHUNK_SUB_AGENT_OUTPUT, .run = s->parent->id, .seq = s->parent->at.seq, .index = s->parent->at.index, .live = ++c->told,
                           .session_id = s->id, .chunk = inner, .time_ms = k->time_ms, .json = json };
    }
    return PAWL_OK;
}

pawl_code pawl_chunks_next(pawl_chunks *c, pawl_chunk *out, pawl_err *err)
{
    const source *agent = c == NULL ? NULL : c->all;    /* the last of the list, see below */
    pawl_code rc = PAWL_PENDING;
    size_t n = 0;

    if (c == NULL || out == NULL)
        return fail(err, PAWL_INVALID, "next: a reader and room for a chunk are needed");
    *out = (pawl_chunk){ .kind = (pawl_chunk_kind)0 };
    sources_sweep(c);
    for (const source *s = c->all; s != NULL; agent = s, s = s->next)
        n++;
    for (size_t i = 0; i < n && rc == PAWL_PENDING; i++) {      /* each run has its turn, so that none keeps the others waiting */
        source *s = c->turn != NULL ? c->turn : c->all;
        const spot before = s->at;

        c->turn = s->next;
        if ((rc = source_next(c, s, out, err)) == PAWL_OK)
            rc = wrapped(c, s, out, err);
        if (rc == PAWL_NOMEM)
            source_back(s, &before);
    }
    out->cursor = agent->at.cursor;
    return rc == PAWL_PENDING && n == 1 && agent->over && agent->awaited == NULL && c->all == agent ? PAWL_HALTED : rc;
}

/* ---- waiting ------------------------------------------------------------------------------------------------ */

/* A run that does not exist yet, or the end of a child that is held back: no engine announces it. */
static bool is_pending(const pawl_chunks *c)
{
    for (const source *s = c->all; s != NULL; s = s->next)
        if (s->awaited != NULL || (s->r == NULL && !s->over))
            return true;
    return false;
}

/* Waits until one of the runs may have changed, or until it is time to poll the store. What the engine of this host does wakes it at once. */
static bool rest(pawl_chunks *c, int64_t until)
{
    const int64_t now = steady_ms(), at = now + c->look_ms < until ? now + c->look_ms : until;
    const int64_t most = host_drives(c->h) ? LOOK_DRIVEN_MS : LOOK_MOST_MS;
    bool stopped;

    pthread_mutex_lock(&c->lock);
    while (!c->stirred && !c->stopped && cond_wait(&c->woken, &c->lock, at))
        continue;
    c->look_ms = c->stirred || is_pending(c) ? LOOK_MS : 2 * c->look_ms < most ? 2 * c->look_ms : most;
    c->stirred = false;
    stopped = c->stopped;
    pthread_mutex_unlock(&c->lock);
    return !stopped;
}

static bool is_stopped(pawl_chunks *c)
{
    bool stopped;

    pthread_mutex_lock(&c->lock);
    stopped = c->stopped;
    pthread_mutex_unlock(&c->lock);
    return stopped;
}

pawl_code pawl_chunks_wait(pawl_chunks *c, int64_t timeout_ms, pawl_chunk *out, pawl_err *err)
{
    const int64_t now = steady_ms(), until = timeout_ms < 0 || timeout_ms > INT64_MAX / 2 ? INT64_MAX / 2 : now + timeout_ms;
    bool going = c == NULL || !is_stopped(c);
    pawl_code rc;

    while (going) {
        rc = pawl_chunks_next(c, out, err);
        if (rc == PAWL_OK)
            c->look_ms = LOOK_MS;
        if (rc != PAWL_PENDING || steady_ms() >= until)
            return rc;
        going = rest(c, until);
    }
    return fail(err, PAWL_CANCELED, "its reader was asked to stop");
}

void pawl_chunks_stop(pawl_chunks *c)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    c->stopped = true;
    pthread_cond_broadcast(&c->woken);
    pthread_mutex_unlock(&c->lock);
}

/* ---- opened ---------------------------------------------------------------------------------------------------- */

typedef struct children { pawl_chunks *c; source *of; pawl_err *err; pawl_code rc; } children;

static pawl_code children_known(pawl_chunks *c, source *s, pawl_err *err);

static bool child_opens(void *ctx, const char *run)
{
    children *k = ctx;
    source *child = source_add(k->c, k->of, run, k->of->from_now);

    if (child == NULL)
        k->rc = fail(k->err, PAWL_NOMEM, "%s: no memory to read it", run);
    if (child == NULL || child->r != NULL)
        return child != NULL;
    child->from_now = source_open(k->c, child, NULL, NULL) && child->from_now;  /* a child that does not exist yet is read from its beginning */
    if (child->from_now)
        k->rc = children_known(k->c, child, k->err);
    return k->rc == PAWL_OK;
}

/* Opens its children that had started before its position and whose end was not returned; recursively. */
static pawl_code children_known(pawl_chunks *c, source *s, pawl_err *err)
{
    children k = { c, s, err, PAWL_OK };

    items_each_child(s->r, child_opens, &k);
    return k.rc;
}

static pawl_code chunks_begin(pawl_chunks *c, const char *run, const char *from, pawl_err *err)
{
    source *s = source_add(c, NULL, run, from != NULL && strcmp(from, "now") == 0);

    if (s == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory to read it", run);
    if (!source_open(c, s, from, err))
        return err->code;
    return from == NULL ? PAWL_OK : children_known(c, s, err);
}

pawl_chunks *pawl_handle_chunks(pawl_handle *a, const char *from, pawl_err *err)
{
    pawl_err mine = { PAWL_OK, "" };
    pawl_alloc alloc = mem_or_default(NULL);
    pawl_chunks *c;
    pawl_head head;
    pawl_code rc;

    err = err != NULL ? err : &mine;
    if (a == NULL) {
        fail(err, PAWL_INVALID, "there is no handle");
        return NULL;
    }
    rc = handle_head(a, host_hold(a->h), &head, err);
    host_let(a->h);
    if (rc != PAWL_OK)
        return NULL;
    if ((c = mem_new(&alloc, sizeof *c)) == NULL) {
        fail(err, PAWL_NOMEM, "%s: no memory to read it", a->id);
        return NULL;
    }
    c->alloc = alloc;
    c->h = a->h;
    c->e = a->h->e;
    c->look_ms = LOOK_MS;
    arena_init(&c->mem, &alloc, 4096);
    pthread_mutex_init(&c->lock, NULL);
    cond_begin(&c->woken);
    if (chunks_begin(c, a->id, from, err) == PAWL_OK)
        return c;
    pawl_chunks_close(c);
    return NULL;
}

void pawl_chunks_close(pawl_chunks *c)
{
    pawl_alloc alloc;

    if (c == NULL)
        return;
    alloc = c->alloc;
    for (source *s = c->all, *next; s != NULL; s = next) {
        next = s->next;
        source_free(c, s);
    }
    arena_free(&c->mem);
    pthread_cond_destroy(&c->woken);
    pthread_mutex_destroy(&c->lock);
    mem_free(&alloc, c, sizeof *c);
}
