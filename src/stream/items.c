/* items.c - the projection: changes of items for each place of a journal. Channels and emissions of agents are in items_agent.c.
 *
 * Owns projection. Called by items_reader.c for each place of a stream, by tests and the bench for each place of a journal, on the reader's thread; no
 * lock, no store, no clock. Each place has at least one change, whose JSON is that of the place (`head`); the end of an entry has one only if the status
 * changed. A reference to something that was never seen, in a pruned or damaged journal, becomes a change of the run. */
#include "engine/child/child.h"
#include "kernel/compensation.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "stream/projection.h"

#include <stdio.h>

enum { KEY_BYTES = PATH_BYTES_MAX + 64 };

/* ---- keys ---------------------------------------------------------------------------------------------- */

static char *key_begin(char *pen, uint64_t superstep, const char *path)
{
    size_t n = strlen(path);

    pen = pen_uint(pen, superstep);
    *pen++ = '.';
    memcpy(pen, path, n + 1);
    return pen + n;
}

static const char *command_key(const item *it, char out[KEY_BYTES])
{
    char *pen = key_begin(out, it->superstep, it->task);

    *pen++ = '.';
    pen = pen_uint(pen, it->visit);
    *pen++ = '.';
    pen = pen_uint(pen, it->n);
    *pen = '\0';
    return out;
}

/* "desk/1/1/worker:3" is a task of the node "desk/worker". */
static void node_path(const char *path, char out[KEY_BYTES])
{
    char *pen = out;

    for (;;) {
        size_t n = strcspn(path, ":/");

        memcpy(pen, path, n);
        pen += n;
        path += strcspn(path, "/");
        for (int i = 0; i < 3 && *path == '/'; i++)
            path += i < 2 ? 1 + strcspn(path + 1, "/") : 1;
        if (*path == '\0')
            break;
        *pen++ = '/';
    }
    *pen = '\0';
}

/* ---- tasks and nodes --------------------------------------------------------------------------------------- */

static open_item *node_due(projection *p, const char *path)
{
    char key[KEY_BYTES];
    open_item *node;

    node_path(path, key);
    if ((node = item_find(p, KEY_NODE, key)) == NULL)
        node = item_open(p, KEY_NODE, PAWL_ITEM_NODE, PAWL_ITEM_RUNNING, p->run, &(item_words){ .key = key, .name = key });
    else if (node->state != PAWL_ITEM_RUNNING) {
        item_move(node, PAWL_ITEM_RUNNING);
        (void)item_changes(p, node, PAWL_ITEM_UPDATED, "state", JSON_NONE);
    }
    return node;
}

/* The size of the path of the task around it: "desk/1/1/check" is inside "desk". 0: it is in no subgraph. */
static size_t outer_size(const char *path)
{
    const char *at = path + strlen(path);

    for (int i = 0; i < 3; i++) {
        do
            at--;
        while (at > path && *at != '/');
        if (at <= path)
            return 0;
    }
    return (size_t)(at - path);
}

/* The task with that path, which is opened if necessary; NULL: it is Pawl's own, or no memory. */
static open_item *task_due(projection *p, const char *path)
{
    char key[KEY_BYTES], outer[KEY_BYTES];
    const char *last = strrchr(path, '/');
    open_item *it, *parent = p->run, *node;
    size_t n;

    last = last != NULL ? last + 1 : path;
    if (*last == '@' || *last == '\0' || *path == '@' || strlen(path) > PATH_BYTES_MAX)
        return NULL;
    (void)key_begin(key, p->superstep, path);
    if ((it = item_find(p, KEY_TASK, key)) != NULL)
        return it;
    if ((n = outer_size(path)) > 0) {
        memcpy(outer, path, n);
        outer[n] = '\0';
        parent = task_due(p, outer);
        parent = parent != NULL ? parent : p->run;
    }
    if ((node = node_due(p, path)) == NULL ||
        (it = item_open(p, KEY_TASK, PAWL_ITEM_TASK, PAWL_ITEM_RUNNING, parent, &(item_words){ .key = key, .name = last })) == NULL)
        return NULL;
    it->link = node;
    it->visit = 1;
    node->waits++;
    return it;
}

static void task_changes(projection *p, const item *it, const char *piece)
{
    open_item *tk = task_due(p, it->task);

    (void)item_changes(p, tk != NULL ? tk : p->run, PAWL_ITEM_UPDATED, piece, JSON_PLACE);
}

static void task_ends(projection *p, const item *it, unsigned state)
{
    open_item *tk = task_due(p, it->task);

    if (tk != NULL)
        item_end(p, tk, state, item_name(it->kind), JSON_PLACE);
    else
        (void)item_changes(p, p->run, PAWL_ITEM_UPDATED, item_name(it->kind), JSON_PLACE);
}

/* Items of an earlier visit end, dropped. */
static void visit_begins(projection *p, const item *it)
{
    open_item *tk = task_due(p, it->task);

    if (tk != NULL && it->visit > tk->visit)
        items_end(p, tk, false);
    if (tk != NULL)
        tk->visit = it->visit;
    (void)item_changes(p, tk != NULL ? tk : p->run, PAWL_ITEM_UPDATED, item_name(it->kind), JSON_PLACE);
}

/* ---- commands and waits ---------------------------------------------------------------------------------------- */

static bool is_model(const char *effect)
{
    return strcmp(effect, "llm") == 0 || strcmp(effect, "prompt") == 0 || strncmp(effect, "prompt-", 7) == 0;
}

static const char *text_of(const pawl_value *v, const char *key, const char *otherwise)
{
    const char *text = pawl_value_string(pawl_value_get(v, key));

    return text != NULL ? text : otherwise;
}

/* The child run of a spawn, by the engine's rule (child_run_name) or the digits of the invocation id. NULL: no memory. */
static const char *child_run(projection *p, const item *it, const char *key)
{
    const char *said = pawl_value_string(pawl_value_get(it->value, "name"));
    char *invocation = arena_get(&p->mem, p->prefix_size + strlen(key) + 1);
    const char *run;

    if (invocation == NULL)
        return NULL;
    memcpy(invocation, p->prefix, p->prefix_size);
    memcpy(invocation + p->prefix_size, key, strlen(key) + 1);
    run = child_name(&p->mem, invocation, said);
    p->failed = p->failed || run == NULL;
    return run;
}

/* The id of a command contains its superstep, even after an erased entry. */
static void superstep_follows(projection *p, const item *it)
{
    if (*it->task != '@' && !it->hold && it->superstep > p->superstep)
        p->superstep = it->superstep;
}

static open_item *parent_of(projection *p, const item *it)
{
    open_item *tk;

    superstep_follows(p, it);
    tk = it->hold ? NULL : task_due(p, it->task);
    return tk != NULL ? tk : p->run;
}

static void run_changes(projection *p, const char *piece)
{
    (void)item_changes(p, p->run, PAWL_ITEM_UPDATED, piece, JSON_PLACE);
}

static void command_opens(projection *p, const item *it)
{
    const char *effect = text_of(it->value, "effect", ""), *use = text_of(pawl_value_get(it->value, "args"), "call", NULL);
    const char *piece = item_name(it->kind);
    char key[KEY_BYTES];
    open_item *parent = parent_of(p, it), *tool;
    item_words as = { .key = command_key(it, key), .name = effect, .part = piece, .json = JSON_PLACE };

    if (item_find(p, KEY_COMMAND, key) != NULL || item_find(p, KEY_ALIAS, key) != NULL) {   /* only in a damaged journal */
        run_changes(p, piece);
        return;
    }
    if (it->kind == ITEM_CALL && use != NULL && *it->task == '@' && strncmp(effect, "tool-", 5) == 0 && (tool = item_find(p, KEY_TOOL, use)) != NULL) {
        if (alias_open(p, tool, key))
            (void)item_changes(p, tool, PAWL_ITEM_UPDATED, piece, JSON_PLACE);
        return;
    }
    if (it->kind == ITEM_ASK || it->kind == ITEM_SLEEP) {
        as.name = it->kind == ITEM_ASK ? text_of(it->value, "kind", wait_names[it->wait]) : "sleep";
        (void)item_open(p, KEY_COMMAND, PAWL_ITEM_WAIT, PAWL_ITEM_WAITING, parent, &as);
    } else if (it->kind == ITEM_SPAWN) {
        as.child = child_run(p, it, key);
        (void)item_open(p, KEY_COMMAND, PAWL_ITEM_CHILD, PAWL_ITEM_RUNNING, parent, &as);
    } else {
        (void)item_open(p, KEY_COMMAND, is_model(effect) ? PAWL_ITEM_MESSAGE : PAWL_ITEM_TOOL_CALL, PAWL_ITEM_RUNNING, parent, &as);
    }
}

/* Its id is that of the command that was not made. */
static void refusal_adds(projection *p, const item *it)
{
    const pawl_value *spec = value_read(&p->mem, it->spec, it->spec_size, "a spec", NULL);
    const char *effect = text_of(spec, "effect", "");
    const unsigned kind = it->wait == CALL_SPAWN ? PAWL_ITEM_CHILD : is_model(effect) ? PAWL_ITEM_MESSAGE : PAWL_ITEM_TOOL_CALL;
    char key[KEY_BYTES];
    open_item *parent = parent_of(p, it);
    change *c = item_at_once(p, kind, PAWL_ITEM_REFUSED, command_key(it, key), parent->id, text_kept(p, effect), "refusal", JSON_PLACE);
    char *id = arena_get(&p->mem, p->prefix_size + strlen(key) + 1);

    p->failed = p->failed || id == NULL;
    if (id == NULL || c == NULL)
        return;
    memcpy(id, p->prefix, p->prefix_size);
    memcpy(id + p->prefix_size, key, strlen(key) + 1);
    c->id = c->call = id;
}

/* The command with that key, or the one that performs a tool call; NULL: not open, or answered in this entry. */
static open_item *command_find(const projection *p, const char *key)
{
    open_item *one = item_find(p, KEY_COMMAND, key);

    if (one == NULL)
        one = item_find(p, KEY_ALIAS, key);
    return one != NULL && one->space == KEY_COMMAND && one->outcome != 0 ? NULL : one;
}

static unsigned outcome_state(unsigned outcome)
{
    return outcome == PAWL_OUTCOME_DONE ? PAWL_ITEM_DONE : outcome == PAWL_OUTCOME_CANCELED ? PAWL_ITEM_DROPPED : PAWL_ITEM_FAILED;
}

static void usage_adds(projection *p, const item *it, const char *key, const char *of)
{
    const pawl_value *cost = pawl_value_get(it->more, "usage"), *model = pawl_value_get(it->value, "usage");

    if (cost != NULL || pawl_value_type(model) == PAWL_TYPE_OBJECT)
        (void)item_at_once(p, PAWL_ITEM_USAGE, PAWL_ITEM_DONE, key, of, "", "receipt", JSON_USAGE);
}

static void receipt_comes(projection *p, const item *it)
{
    char key[KEY_BYTES];
    open_item *one = command_find(p, command_key(it, key)), *of = one != NULL && one->space == KEY_ALIAS ? one->link : one;
    const unsigned state = outcome_state(it->outcome);

    if (one == NULL) {
        run_changes(p, "receipt");
    } else if (of != one) {
        (void)item_changes(p, of, PAWL_ITEM_UPDATED, "receipt", JSON_PLACE);
        alias_close(p, one);
    } else if (one->kind == PAWL_ITEM_MESSAGE && *it->task == '@') {
        (void)item_changes(p, one, PAWL_ITEM_UPDATED, "receipt", JSON_PLACE);
        message_answered(p, one, state);
    } else {
        item_end(p, one, state, "receipt", JSON_PLACE);
    }
    usage_adds(p, it, key, of != NULL ? of->id : NULL);
}

/* The outcome of a command is unknown: a question is opened, and the command waits. */
static void doubt_opens(projection *p, const item *it)
{
    char key[KEY_BYTES];
    open_item *one = command_find(p, command_key(it, key)), *of = one != NULL && one->space == KEY_ALIAS ? one->link : one;

    if (of == NULL || of->kind == PAWL_ITEM_WAIT || item_find(p, KEY_DOUBT, key) != NULL) {
        run_changes(p, "doubt");
        return;
    }
    (void)item_open(p, KEY_DOUBT, PAWL_ITEM_WAIT, PAWL_ITEM_WAITING, of->parent,
                    &(item_words){ .key = key, .name = "doubt", .child = one->id, .part = "doubt", .json = JSON_PLACE });
    item_move(of, PAWL_ITEM_WAITING);
    (void)item_changes(p, of, PAWL_ITEM_UPDATED, "state", JSON_NONE);
}

/* A person gave the outcome of a command, or asked for another attempt. */
static void doubt_answered(projection *p, const item *it, open_item *doubt, const char *key)
{
    open_item *one = command_find(p, key), *of = one != NULL && one->space == KEY_ALIAS ? one->link : one;
    pawl_outcome outcome = PAWL_OUTCOME_DONE;
    const pawl_value *v = NULL;
    bool ended = doubt_answer_read(it->value, &p->mem, &outcome, &v);

    item_end(p, doubt, PAWL_ITEM_DONE, "answer", JSON_PLACE);
    if (of == NULL)
        return;
    if (!ended || of != one) {
        item_move(of, PAWL_ITEM_RUNNING);
        (void)item_changes(p, of, PAWL_ITEM_UPDATED, "state", JSON_NONE);
    } else if (of->kind == PAWL_ITEM_MESSAGE && *it->task == '@') {
        message_answered(p, of, outcome_state(outcome));
    } else {
        item_end(p, of, outcome_state(outcome), "answer", JSON_NONE);
    }
    if (ended && of != one)
        alias_close(p, one);
}

static void answer_comes(projection *p, const item *it)
{
    char key[KEY_BYTES];
    open_item *doubt = item_find(p, KEY_DOUBT, command_key(it, key)), *one = command_find(p, key);

    if (doubt != NULL)
        doubt_answered(p, it, doubt, key);
    else if (one != NULL && one->kind == PAWL_ITEM_WAIT)
        item_end(p, one, PAWL_ITEM_DONE, "answer", JSON_PLACE);
    else
        run_changes(p, "answer");
}

/* One more of the approvers has signed. */
static void sign_comes(projection *p, const item *it)
{
    char key[KEY_BYTES];
    open_item *one = command_find(p, command_key(it, key));

    if (one != NULL)
        (void)item_changes(p, one, PAWL_ITEM_UPDATED, "sign", JSON_PLACE);
    else
        run_changes(p, "sign");
}

static void drop_comes(projection *p, const item *it)
{
    char key[KEY_BYTES];
    open_item *one = command_find(p, command_key(it, key)), *doubt = item_find(p, KEY_DOUBT, key);

    if (doubt != NULL)
        item_end(p, doubt, PAWL_ITEM_DROPPED, "", JSON_NONE);
    if (one == NULL) {
        run_changes(p, "drop");
    } else if (one->space == KEY_ALIAS) {
        (void)item_changes(p, one->link, PAWL_ITEM_UPDATED, "drop", JSON_PLACE);
        alias_close(p, one);
    } else {
        item_end(p, one, PAWL_ITEM_DROPPED, "drop", JSON_PLACE);
    }
}

/* ---- places ----------------------------------------------------------------------------------------------------------- */

static void failure_adds(projection *p, const item *it)
{
    const open_item *tk = it->kind == ITEM_FAIL ? task_due(p, it->task) : NULL;
    const char *piece = item_name(it->kind), *of = text_kept(p, tk != NULL ? tk->id : p->run->id);

    if (tk != NULL)
        task_ends(p, it, PAWL_ITEM_FAILED);
    else
        run_changes(p, piece);
    (void)item_at_once(p, PAWL_ITEM_ERROR, PAWL_ITEM_DONE, NULL, of, piece, piece, JSON_PLACE);
}

static void close_comes(projection *p, const item *it)
{
    if (*it->task != '\0') {
        task_changes(p, it, "close");
        return;
    }
    run_changes(p, "close");
    p->superstep++;
}

/* `w` NULL: an item that is open in the base. */
static void project_item(projection *p, line_walk *w, const item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_CALL:
    case ITEM_SLEEP:
    case ITEM_SPAWN:
    case ITEM_ASK:     command_opens(p, it); break;
    case ITEM_REFUSAL: refusal_adds(p, it); break;
    case ITEM_RECEIPT: receipt_comes(p, it); break;
    case ITEM_ANSWER:  answer_comes(p, it); break;
    case ITEM_DOUBT:   doubt_opens(p, it); break;
    case ITEM_SIGN:    sign_comes(p, it); break;
    case ITEM_DROP:    drop_comes(p, it); break;
    case ITEM_VISIT:
    case ITEM_FRAME:   visit_begins(p, it); break;
    case ITEM_SELECT:  task_changes(p, it, "select"); break;
    case ITEM_LEAVE:   task_ends(p, it, PAWL_ITEM_DONE); break;
    case ITEM_FAIL:
    case ITEM_END:     failure_adds(p, it); break;
    case ITEM_CLOSE:   close_comes(p, it); break;
    case ITEM_EMIT:
        if (w != NULL)
            agent_emits(p, w, it->task);
        break;
    case ITEM_PUT:
        run_changes(p, "put");
        if (w != NULL && *it->task == '\0')
            agent_writes(p, w, it->writes, it->nwrites);
        break;
    case ITEM_REOPEN:
        item_move(p->run, PAWL_ITEM_RUNNING);
        run_changes(p, "reopen");
        break;
    case ITEM_START:
    case ITEM_INPUT:
    case ITEM_SIGNAL:
    case ITEM_CANCEL:
    case ITEM_ADOPT:
    case ITEM_TURN:
    case ITEM_UNWIND:  run_changes(p, item_name(it->kind)); break;
    case ITEM_UPDATE:
        if (!snapshot_is_name(it))
            run_changes(p, item_name(it->kind));
        break;
    case ITEM_RECORDS:
    case ITEM_KINDS:   break;
    }
}

static void line_comes(projection *p, const pawl_entry *e)
{
    change *c = item_changes(p, p->run, PAWL_ITEM_UPDATED | (e->erased ? PAWL_ITEM_GAP : 0), e->erased ? "erased" : e->record ? "record" : "entry", JSON_PLACE);

    if (c != NULL && !e->erased)
        c->kind = (uint8_t)kind_number(PAWL_ITEM_LINE);
}

static void status_comes(projection *p, unsigned status)
{
    static const uint8_t states[] = { PAWL_ITEM_PROPOSED, PAWL_ITEM_RUNNING, PAWL_ITEM_WAITING, PAWL_ITEM_DONE, PAWL_ITEM_FAILED, PAWL_ITEM_DROPPED,
                                      PAWL_ITEM_REFUSED };
    const unsigned state = states[status];
    const bool moved = p->run->state != state;

    agent_entry_ends(p);
    if (state >= PAWL_ITEM_DONE)
        items_end(p, p->run, false);
    item_move(p->run, state);
    if (moved)
        (void)item_changes(p, p->run, state >= PAWL_ITEM_DONE ? PAWL_ITEM_ENDED : PAWL_ITEM_UPDATED, "status", JSON_NONE);
}

pawl_code project_place(projection *p, line_walk *w, pawl_err *err)
{
    const open_item *tk;

    place_next(p, w->at.seq, w->index + 1);
    switch (w->part) {
    case PART_LINE:
        line_comes(p, w->entry);
        break;
    case PART_ITEM:
        project_item(p, w, w->it);
        break;
    case PART_UPDATE:
        task_changes(p, w->it, "writes");
        break;
    case PART_EMIT:
        tk = task_due(p, w->it->task);
        artifact_add(p, w, tk, w->it->leave->emits[w->sub].name);
        break;
    case PART_VALUES:
        status_comes(p, w->entry->status);
        break;
    }
    return p->failed ? fail(err, PAWL_NOMEM, "%s: no memory for its items", w->run) : PAWL_OK;
}

/* ---- begun ---------------------------------------------------------------------------------------------------------------- */

/* A base may be in the middle of a superstep, and a fork's has waits. */
static pawl_code base_items(projection *p, const pawl_value *fold, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(fold, "open"));
    const pawl_value *v;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && (v = pawl_iter_next(&it, NULL)) != NULL) {
        const char *text;
        const item *one = item_of_value(&p->mem, v, &text, err);

        if (one == NULL)
            return p->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
        project_item(p, NULL, one);
        if (one->kind == ITEM_FRAME)
            rc = base_items(p, one->more, err);
    }
    return rc;
}

pawl_code projection_begin(projection *p, const pawl_alloc *alloc, const char *run, uint64_t life, const pawl_value *base, pawl_err *err)
{
    const pawl_value *fold = pawl_value_get(base, "fold");
    pawl_code rc = PAWL_OK;
    int status;

    if (!open_items_begin(p, alloc, run, life))
        return fail(err, PAWL_NOMEM, "%s: no memory for its items", run);
    place_next(p, pawl_value_uint(pawl_value_get(base, "seq")) + 1, 0);
    (void)item_changes(p, p->run, PAWL_ITEM_ADDED, "", JSON_NONE);
    p->superstep = pawl_value_uint(pawl_value_get(fold, "superstep"));
    if (fold != NULL)
        rc = base_items(p, fold, err);
    status = name_index(status_names, 7, pawl_value_string(pawl_value_get(fold, "status")));
    if (rc == PAWL_OK && status >= 0)
        status_comes(p, (unsigned)status);
    for (size_t i = 0; i < p->nchanges; i++)
        p->changes[i].json = JSON_NONE;
    if (rc == PAWL_OK && p->failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its items", run);
    return rc;
}

void projection_free(projection *p)
{
    open_items_free(p);
}

const open_item *projection_live(const projection *p, const char *id, const char *tool)
{
    const open_item *it = NULL;

    if (id != NULL && strncmp(id, p->prefix, p->prefix_size) == 0) {
        if ((it = item_find(p, KEY_COMMAND, id + p->prefix_size)) == NULL && (it = item_find(p, KEY_ALIAS, id + p->prefix_size)) != NULL)
            it = it->link;
    }
    return it != NULL || tool == NULL ? it : item_find(p, KEY_TOOL, tool);
}

/* ---- names -------------------------------------------------------------------------------------------------------------------- */

const char *pawl_item_kind_name(pawl_item_kind kind)
{
    static const char *const names[] = { "run", "message", "tool_call", "node", "task", "wait", "child", "artifact", "error", "usage", "line" };
    const unsigned n = kind_number((unsigned)kind);

    return (unsigned)kind != 0 && n < sizeof names / sizeof *names && (unsigned)kind == 1u << n ? names[n] : "";
}

const char *pawl_item_state_name(pawl_item_kind kind, pawl_item_state state)
{
    return *pawl_item_kind_name(kind) == '\0' || (unsigned)state > PAWL_ITEM_REFUSED ? "" : sm_name(item_tables[kind_number((unsigned)kind)], (unsigned)state);
}
