/* item_table.c - the table of open items: a tree whose root is the run, an index, the life cycles, and the changes of one place.
 *
 * Owns open_item. Called by items.c and items_agent.c only, on the thread of the reader; no lock. An item that has ended keeps its texts until the next
 * place, because changes refer to them. Invariants I1 to I3 of projection.h are asserted here. */
#include "base/sm.h"
#include "stream/projection.h"

#include <stdio.h>

enum { SLOTS_FIRST = 64 };

/* ---- life cycles ------------------------------------------------------------------------------------------- */

#define BEGINS SM_FIRST
#define ENDS SM_LAST
#define LATER (SM_TO(PAWL_ITEM_DONE) | SM_TO(PAWL_ITEM_FAILED) | SM_TO(PAWL_ITEM_DROPPED))
#define WORKS (SM_TO(PAWL_ITEM_RUNNING) | SM_TO(PAWL_ITEM_WAITING))
#define STATES (PAWL_ITEM_REFUSED + 1)
#define ANY (SM_TO(PAWL_ITEM_PROPOSED) | WORKS | LATER | SM_TO(PAWL_ITEM_REFUSED))

static const char *item_wrong(const void *owner, unsigned state)
{
    const open_item *it = owner;

    if (it == NULL)
        return NULL;
    if (state >= PAWL_ITEM_DONE && it->first != NULL && it->kind != PAWL_ITEM_RUN)
        return "I1: it ended, and something of it is open";
    if (it->kind == PAWL_ITEM_TASK && state < PAWL_ITEM_DONE && (state == PAWL_ITEM_WAITING) != (it->waits > 0))
        return "I3: a task waits exactly while one of its waits is open";
    return NULL;
}

static const sm_row run_rows[STATES] = {        /* a run may be reopened */
    [PAWL_ITEM_PROPOSED] = { "submitted", ANY, BEGINS },
    [PAWL_ITEM_RUNNING] = { "working", ANY, BEGINS },
    [PAWL_ITEM_WAITING] = { "input-required", ANY, BEGINS },
    [PAWL_ITEM_IDLE] = { "idle", 0, 0 },
    [PAWL_ITEM_DONE] = { "completed", ANY, ENDS },
    [PAWL_ITEM_FAILED] = { "failed", ANY, ENDS },
    [PAWL_ITEM_DROPPED] = { "canceled", ANY, ENDS },
    [PAWL_ITEM_REFUSED] = { "rejected", ANY, ENDS },
};
static const sm_row message_rows[STATES] = {
    [PAWL_ITEM_PROPOSED] = { "proposed", 0, 0 },
    [PAWL_ITEM_RUNNING] = { "streaming", SM_TO(PAWL_ITEM_WAITING) | LATER, BEGINS },
    [PAWL_ITEM_WAITING] = { "waiting", SM_TO(PAWL_ITEM_RUNNING) | LATER, 0 },
    [PAWL_ITEM_IDLE] = { "idle", 0, 0 },
    [PAWL_ITEM_DONE] = { "done", 0, BEGINS | ENDS },
    [PAWL_ITEM_FAILED] = { "failed", 0, ENDS },
    [PAWL_ITEM_DROPPED] = { "dropped", 0, ENDS },
    [PAWL_ITEM_REFUSED] = { "refused", 0, BEGINS | ENDS },
};
static const sm_row command_rows[STATES] = {    /* tool calls and children */
    [PAWL_ITEM_PROPOSED] = { "proposed", WORKS | LATER, BEGINS },
    [PAWL_ITEM_RUNNING] = { "running", SM_TO(PAWL_ITEM_WAITING) | LATER, BEGINS },
    [PAWL_ITEM_WAITING] = { "waiting", SM_TO(PAWL_ITEM_RUNNING) | LATER, BEGINS },
    [PAWL_ITEM_IDLE] = { "idle", 0, 0 },
    [PAWL_ITEM_DONE] = { "done", 0, ENDS },
    [PAWL_ITEM_FAILED] = { "failed", 0, ENDS },
    [PAWL_ITEM_DROPPED] = { "dropped", 0, ENDS },
    [PAWL_ITEM_REFUSED] = { "refused", 0, BEGINS | ENDS },
};
static const sm_row node_rows[STATES] = {
    [PAWL_ITEM_PROPOSED] = { "proposed", 0, 0 },
    [PAWL_ITEM_RUNNING] = { "running", SM_TO(PAWL_ITEM_IDLE) | LATER, BEGINS },
    [PAWL_ITEM_WAITING] = { "waiting", 0, 0 },
    [PAWL_ITEM_IDLE] = { "idle", SM_TO(PAWL_ITEM_RUNNING) | LATER, BEGINS },
    [PAWL_ITEM_DONE] = { "done", 0, ENDS },
    [PAWL_ITEM_FAILED] = { "failed", 0, ENDS },
    [PAWL_ITEM_DROPPED] = { "dropped", 0, ENDS },
    [PAWL_ITEM_REFUSED] = { "refused", 0, 0 },
};
static const sm_row task_rows_seen[STATES] = {
    [PAWL_ITEM_PROPOSED] = { "proposed", 0, 0 },
    [PAWL_ITEM_RUNNING] = { "running", SM_TO(PAWL_ITEM_WAITING) | LATER, BEGINS },
    [PAWL_ITEM_WAITING] = { "waiting", SM_TO(PAWL_ITEM_RUNNING) | LATER, 0 },
    [PAWL_ITEM_IDLE] = { "idle", 0, 0 },
    [PAWL_ITEM_DONE] = { "done", 0, ENDS },
    [PAWL_ITEM_FAILED] = { "failed", 0, ENDS },
    [PAWL_ITEM_DROPPED] = { "dropped", 0, ENDS },
    [PAWL_ITEM_REFUSED] = { "refused", 0, 0 },
};
static const sm_row wait_rows[STATES] = {
    [PAWL_ITEM_PROPOSED] = { "proposed", 0, 0 },
    [PAWL_ITEM_RUNNING] = { "running", 0, 0 },
    [PAWL_ITEM_WAITING] = { "waiting", LATER, BEGINS },
    [PAWL_ITEM_IDLE] = { "idle", 0, 0 },
    [PAWL_ITEM_DONE] = { "done", 0, ENDS },
    [PAWL_ITEM_FAILED] = { "failed", 0, ENDS },
    [PAWL_ITEM_DROPPED] = { "dropped", 0, ENDS },
    [PAWL_ITEM_REFUSED] = { "refused", 0, 0 },
};
static const sm_row whole_rows[STATES] = {      /* artifacts, errors, usages: complete at once */
    [PAWL_ITEM_PROPOSED] = { "proposed", 0, 0 },
    [PAWL_ITEM_RUNNING] = { "running", 0, 0 },
    [PAWL_ITEM_WAITING] = { "waiting", 0, 0 },
    [PAWL_ITEM_IDLE] = { "idle", 0, 0 },
    [PAWL_ITEM_DONE] = { "done", 0, BEGINS | ENDS },
    [PAWL_ITEM_FAILED] = { "failed", 0, 0 },
    [PAWL_ITEM_DROPPED] = { "dropped", 0, 0 },
    [PAWL_ITEM_REFUSED] = { "refused", 0, 0 },
};

static const sm_table run_table_seen = { "item of a run", run_rows, STATES, item_wrong }, message_table = { "message", message_rows, STATES, item_wrong };
static const sm_table tool_table = { "tool call", command_rows, STATES, item_wrong }, node_table = { "node", node_rows, STATES, item_wrong };
static const sm_table task_table_seen = { "item of a task", task_rows_seen, STATES, item_wrong }, wait_table = { "wait", wait_rows, STATES, item_wrong };
static const sm_table child_table = { "child", command_rows, STATES, item_wrong }, whole_table = { "whole item", whole_rows, STATES, item_wrong };

const sm_table *const item_tables[] = { &run_table_seen, &message_table, &tool_table, &node_table, &task_table_seen, &wait_table, &child_table,
                                        &whole_table, &whole_table, &whole_table, &run_table_seen };

unsigned kind_number(unsigned kind)
{
    unsigned n = 0;

    while (kind > 1)
        kind >>= 1, n++;
    return n;
}

static const sm_table *table_of(const open_item *it)
{
    return item_tables[kind_number(it->kind)];
}

void item_move(open_item *it, unsigned state)
{
    if (it->state != state)
        sm_move(table_of(it), &it->state, state, it);
}

/* Called before other changes of the item at this place, since no change may refer to the text that is freed here. */
void item_child(projection *p, open_item *it, const char *run)
{
    const size_t bytes = run != NULL ? strlen(run) + 1 : 0;
    char *text = run != NULL ? mem_new(&p->alloc, bytes) : NULL;

    p->failed = p->failed || (run != NULL && text == NULL);
    if (it->child_bytes > 0)
        mem_free(&p->alloc, (char *)(uintptr_t)it->child, it->child_bytes);
    if (text != NULL)
        memcpy(text, run, bytes);
    it->child = text;
    it->child_bytes = text != NULL ? bytes : 0;
}

/* ---- found by what it is about --------------------------------------------------------------------------------- */

static uint64_t key_hash(unsigned space, const char *key)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) + space;

    for (; *key != '\0'; key++)
        h = (h ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
    return h ^ h >> 32;
}

open_item *item_find(const projection *p, key_space space, const char *key)
{
    uint64_t h = key_hash(space, key);

    for (open_item *it = p->slots[h & (p->nslots - 1)]; it != NULL; it = it->bucket_next)
        if (it->hash == h && it->space == space && strcmp(it->key, key) == 0)
            return it;
    return NULL;
}

static void slots_grow(projection *p)
{
    size_t n = p->nslots * 2;
    open_item **more = mem_new(&p->alloc, n * sizeof *more);

    if (more == NULL)
        return;                 /* without the index it is found more slowly */
    for (size_t i = 0; i < p->nslots; i++)
        for (open_item *it = p->slots[i], *next; it != NULL; it = next) {
            next = it->bucket_next;
            it->bucket_next = more[it->hash & (n - 1)];
            more[it->hash & (n - 1)] = it;
        }
    mem_free(&p->alloc, p->slots, p->nslots * sizeof *more);
    p->slots = more;
    p->nslots = n;
}

static void slot_put(projection *p, open_item *it)
{
    if (p->count >= p->nslots)
        slots_grow(p);
    it->bucket_next = p->slots[it->hash & (p->nslots - 1)];
    p->slots[it->hash & (p->nslots - 1)] = it;
    p->count++;
}

static void slot_leave(projection *p, open_item *it)
{
    for (open_item **at = &p->slots[it->hash & (p->nslots - 1)]; *at != NULL; at = &(*at)->bucket_next)
        if (*at == it) {
            *at = it->bucket_next;
            p->count--;
            return;
        }
}

/* ---- the tree --------------------------------------------------------------------------------------------------- */

static void tree_put(open_item *parent, open_item *it)
{
    it->parent = parent;
    it->before = parent->last;
    *(parent->last != NULL ? &parent->last->after : &parent->first) = it;
    parent->last = it;
}

static void tree_leave(open_item *it)
{
    *(it->before != NULL ? &it->before->after : &it->parent->first) = it->after;
    *(it->after != NULL ? &it->after->before : &it->parent->last) = it->before;
}

static void item_free(projection *p, open_item *it)
{
    if (it->child_bytes > 0)
        mem_free(&p->alloc, (char *)(uintptr_t)it->child, it->child_bytes);
    mem_free(&p->alloc, it, it->bytes);
}

/* ---- changes of one place ------------------------------------------------------------------------------------------ */

void place_next(projection *p, uint64_t seq, uint64_t index)
{
    for (open_item *it = p->ended, *next; it != NULL; it = next) {
        next = it->bucket_next;
        item_free(p, it);
    }
    p->ended = NULL;
    p->nchanges = 0;
    p->made = 0;
    p->seq = seq;
    p->index = index;
    p->head = SIZE_MAX;
    arena_reset(&p->mem);
}

const char *text_kept(projection *p, const char *text)
{
    const char *kept = arena_text(&p->mem, text);

    p->failed = p->failed || (text != NULL && kept == NULL);
    return kept;
}

static change *change_new(projection *p)
{
    if (p->nchanges == p->changes_cap && !mem_room(&p->alloc, (void **)&p->changes, &p->changes_cap, p->nchanges, sizeof *p->changes)) {
        p->failed = true;
        return NULL;
    }
    return &p->changes[p->nchanges++];
}

static const char *call_of(const open_item *it)
{
    if (it->space == KEY_COMMAND)
        return it->id;
    if (it->space == KEY_DOUBT)
        return it->child;
    return it->space == KEY_TOOL && it->link != NULL ? it->link->id : NULL;
}

change *item_changes(projection *p, open_item *it, unsigned what, const char *piece, change_json json)
{
    change *c = change_new(p);

    if (c == NULL)
        return NULL;
    *c = (change){ .kind = 0, .state = it->state, .what = (uint8_t)what, .json = (uint8_t)json, .id = it->id, .name = it->name, .part = piece,
                   .parent = it->parent != NULL ? it->parent->id : it->id, .call = call_of(it), .child = it->space == KEY_DOUBT ? NULL : it->child };
    c->kind = (uint8_t)kind_number(it->kind);
    if (json == JSON_PLACE && p->head == SIZE_MAX)
        p->head = p->nchanges - 1;
    return c;
}

static const char *const kind_words[] = { "run", "message", "tool", "node", "task", "wait", "child", "artifact", "error", "usage", "line" };

change *item_at_once(projection *p, unsigned kind, unsigned state, const char *key, const char *parent, const char *name, const char *piece, change_json json)
{
    char number[64];
    size_t size;
    char *id;
    change *c;

    if (key == NULL && p->made == 0)
        snprintf(number, sizeof number, "%llu.%llu", (unsigned long long)p->seq, (unsigned long long)p->index);
    else if (key == NULL)
        snprintf(number, sizeof number, "%llu.%llu.%u", (unsigned long long)p->seq, (unsigned long long)p->index, (unsigned)p->made);
    p->made += key == NULL;
    key = key != NULL ? key : number;
    size = p->prefix_size + strlen(key) + 16;
    if ((id = arena_get(&p->mem, size)) == NULL || (c = change_new(p)) == NULL) {
        p->failed = true;
        return NULL;
    }
    snprintf(id, size, "%s%s:%s", p->prefix, kind_words[kind_number(kind)], key);
    *c = (change){ .kind = (uint8_t)kind_number(kind), .state = (uint8_t)state, .what = PAWL_ITEM_ADDED | PAWL_ITEM_ENDED, .json = (uint8_t)json, .id = id,
                   .parent = parent != NULL ? parent : p->run->id, .name = name, .part = piece };
    if (json == JSON_PLACE && p->head == SIZE_MAX)
        p->head = p->nchanges - 1;
    return c;
}

/* ---- opened, and ended ------------------------------------------------------------------------------------------------- */

/* RUN~LIFE/KEY for a command, RUN~LIFE/WORD:KEY for other items; `child` of a question about an unknown outcome is the command's invocation id. */
static open_item *item_new(projection *p, key_space space, unsigned kind, const char *key, const char *name, const char *child)
{
    static const char *const words[] = { [KEY_COMMAND] = "", [KEY_DOUBT] = "doubt:", [KEY_TASK] = "task:", [KEY_NODE] = "node:", [KEY_TOOL] = "tool:",
                                         [KEY_ALIAS] = "" };
    const size_t nkey = strlen(key), nword = strlen(words[space]), nname = strlen(name) + 1, nchild = child != NULL ? strlen(child) + 1 : 0;
    const size_t extra = space == KEY_TOOL ? UINT_TEXT_MAX + 1 : 0;     /* a provider may reuse the id of a tool call, so the seq of its entry is added */
    const size_t bytes = sizeof(open_item) + p->prefix_size + nword + extra + nkey + 1 + nname + nchild;
    open_item *it = mem_new(&p->alloc, bytes);
    char *pen;

    if (it == NULL) {
        p->failed = true;
        return NULL;
    }
    it->bytes = bytes;
    it->space = (uint8_t)space;
    it->kind = (uint8_t)kind;
    it->hash = key_hash(space, key);
    memcpy(it->text, p->prefix, p->prefix_size);
    memcpy(it->text + p->prefix_size, words[space], nword);
    pen = it->text + p->prefix_size + nword;
    if (space == KEY_TOOL) {
        pen = pen_uint(pen, p->seq);
        *pen++ = '.';
    }
    it->id = it->text;
    it->key = memcpy(pen, key, nkey + 1);
    it->name = memcpy(pen + nkey + 1, name, nname);
    it->child = child != NULL ? memcpy(pen + nkey + 1 + nname, child, nchild) : NULL;
    return it;
}

static void state_follows(projection *p, open_item *tk);

open_item *item_open(projection *p, key_space space, unsigned kind, unsigned state, open_item *parent, const item_words *as)
{
    open_item *it = item_new(p, space, kind, as->key, as->name, as->child);

    if (it == NULL)
        return NULL;
    slot_put(p, it);
    tree_put(parent, it);
    sm_begin(table_of(it), &it->state, state, it);
    if (kind == PAWL_ITEM_WAIT && parent->kind == PAWL_ITEM_TASK)
        parent->waits++;
    (void)item_changes(p, it, PAWL_ITEM_ADDED, as->part != NULL ? as->part : "", as->json);
    if (kind == PAWL_ITEM_WAIT)
        state_follows(p, parent);
    return it;
}

/* A task waits while one of its waits is open (I3). */
static void state_follows(projection *p, open_item *tk)
{
    unsigned due = tk->waits > 0 ? PAWL_ITEM_WAITING : PAWL_ITEM_RUNNING;

    if (tk->kind != PAWL_ITEM_TASK || tk->state == due || tk->state >= PAWL_ITEM_DONE)
        return;
    item_move(tk, due);
    (void)item_changes(p, tk, PAWL_ITEM_UPDATED, "state", JSON_NONE);
}

bool alias_open(projection *p, open_item *tool, const char *key)
{
    open_item *it;

    if (tool->link != NULL)
        alias_close(p, tool->link);
    if ((it = item_new(p, KEY_ALIAS, 0, key, "", NULL)) == NULL)
        return false;
    slot_put(p, it);
    it->link = tool;
    tool->link = it;
    return true;
}

void alias_close(projection *p, open_item *alias)
{
    alias->link->link = NULL;
    slot_leave(p, alias);
    alias->bucket_next = p->ended;
    p->ended = alias;
}

/* The deepest first, so that an ended item has no open child (I1); recursion is limited by the nesting of subgraphs. Nodes end after their tasks. */
void items_end(projection *p, open_item *parent, bool stale_only)
{
    for (open_item *it = parent->first, *next; it != NULL; it = next) {
        next = it->after;
        if (it->kind != PAWL_ITEM_NODE && (!stale_only || (it->space == KEY_TOOL && it->stale)))
            item_end(p, it, PAWL_ITEM_DROPPED, "", JSON_NONE);
    }
    for (open_item *it = stale_only || parent != p->run ? NULL : parent->first, *next; it != NULL; it = next) {
        next = it->after;
        item_end(p, it, it->failed ? PAWL_ITEM_FAILED : PAWL_ITEM_DONE, "", JSON_NONE);
    }
}

static void node_follows(projection *p, const open_item *tk)
{
    open_item *node = tk->link;

    if (node == NULL)
        return;
    node->failed = tk->state == PAWL_ITEM_FAILED;
    if (--node->waits > 0)
        return;
    item_move(node, PAWL_ITEM_IDLE);
    (void)item_changes(p, node, PAWL_ITEM_UPDATED, "state", JSON_NONE);
}

void item_end(projection *p, open_item *it, unsigned state, const char *piece, change_json json)
{
    open_item *parent = it->parent;

    items_end(p, it, false);
    if (it->space == KEY_TOOL && it->link != NULL)
        alias_close(p, it->link);
    item_move(it, state);
    (void)item_changes(p, it, PAWL_ITEM_ENDED, piece, json);
    slot_leave(p, it);
    tree_leave(it);
    it->bucket_next = p->ended;
    p->ended = it;
    if (it->kind == PAWL_ITEM_WAIT && parent->kind == PAWL_ITEM_TASK) {
        parent->waits--;
        state_follows(p, parent);
    }
    if (it->kind == PAWL_ITEM_TASK)
        node_follows(p, it);
}

/* ---- made and freed --------------------------------------------------------------------------------------------------------- */

bool open_items_begin(projection *p, const pawl_alloc *alloc, const char *run, uint64_t life)
{
    const size_t n = strlen(run) + 19;

    *p = (projection){ .alloc = *alloc, .prefix_size = n - 1, .head = SIZE_MAX, .nslots = SLOTS_FIRST };
    arena_init(&p->mem, alloc, 1024);
    p->slots = mem_new(alloc, SLOTS_FIRST * sizeof *p->slots);
    if (p->slots == NULL || (p->prefix = mem_new(alloc, n)) == NULL)
        return false;
    snprintf(p->prefix, n, "%s~%016llx/", run, (unsigned long long)life);
    if ((p->run = item_new(p, KEY_ALIAS, PAWL_ITEM_RUN, "", run, NULL)) == NULL)
        return false;
    p->run->text[p->prefix_size - 1] = '\0';        /* without the slash: the run's id is RUN~LIFE */
    sm_begin(table_of(p->run), &p->run->state, PAWL_ITEM_PROPOSED, p->run);
    return true;
}

void open_items_free(projection *p)
{
    for (size_t i = 0; p->slots != NULL && i < p->nslots; i++)
        for (open_item *it = p->slots[i], *next; it != NULL; it = next) {
            next = it->bucket_next;
            item_free(p, it);
        }
    place_next(p, 0, 0);
    if (p->run != NULL)
        item_free(p, p->run);
    mem_free(&p->alloc, p->slots, p->nslots * sizeof *p->slots);
    mem_free(&p->alloc, p->prefix, p->prefix_size + 1);
    mem_free(&p->alloc, p->changes, p->changes_cap * sizeof *p->changes);
    arena_free(&p->mem);
}
