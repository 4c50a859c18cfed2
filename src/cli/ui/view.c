/* view.c - folds the changes of a run's items into a picture: nodes that work, and lines about nodes that have ended.
 *
 * Owns view. Called by view_paint.c on the thread that paints, and by tests; no lock. Pure: no terminal, no clock, no store. Invariants: `total` of a
 * group is at least the number of its tasks; each task is in its slot, in its group and in one of the group's counts. */
#include "cli/ui/picture.h"
#include "sign/sign.h"

#include <stdlib.h>

/* ---- pieces ----------------------------------------------------------------------------------------- */

static char *text_of(view *v, buf *b)
{
    char *text = b->failed ? NULL : malloc(b->size + 1);

    if (text == NULL) {
        v->failed = true;
    } else {
        if (b->size > 0)
            memcpy(text, b->data, b->size);
        text[b->size] = '\0';
    }
    buf_free(b);
    return text;
}

static char *text_copied(view *v, const char *from)
{
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, from);
    return text_of(v, &b);
}

static void text_take(char **at, char *text)
{
    free(*at);
    *at = text;
}

static char *label(view *v, const char *path, bool numbered)
{
    buf b;

    buf_init(&b, NULL);
    words_task(&b, path, numbered);
    return text_of(v, &b);
}

/* Takes both texts. */
static void note_add(view *v, note_kind kind, char *name, char *what, int64_t took_ms)
{
    note *n = name == NULL || what == NULL ? NULL : malloc(sizeof *n);

    if (n == NULL) {
        free(name);
        free(what);
        v->failed = true;
        return;
    }
    *n = (note){ .kind = kind, .name = name, .what = what, .took_ms = took_ms };
    *v->notes_last = n;
    v->notes_last = &n->next;
}

/* ---- groups and tasks --------------------------------------------------------------------------------- */

static seen **slot_of(view *v, const char *path)
{
    uint32_t h = 2166136261u;

    for (const char *p = path; *p != '\0'; p++)
        h = (h ^ (uint8_t)*p) * 16777619u;
    return &v->slots[(h ^ h >> 15) % TASK_SLOTS];
}

static seen *task_find(view *v, const char *path)
{
    seen *t = *slot_of(v, path);

    while (t != NULL && strcmp(t->path, path) != 0)
        t = t->next;
    return t;
}

static group *group_find(view *v, const char *name)
{
    group *g = v->first;

    while (g != NULL && strcmp(g->name, name) != 0)
        g = g->next;
    return g;
}

static group *group_add(view *v, const char *name, bool deep)
{
    size_t size = strlen(name) + 1;
    group *g = calloc(1, sizeof *g + size);

    if (g == NULL) {
        v->failed = true;
        return NULL;
    }
    memcpy(g->name, name, size);
    g->began_ms = v->now_ms;
    g->deep = deep;
    *v->last = g;
    v->last = &g->next;
    return g;
}

static group *group_of(view *v, const char *name, bool deep)
{
    group *g = group_find(v, name);

    return g != NULL ? g : group_add(v, name, deep);
}

static void group_remove(view *v, group *g)
{
    group **at = &v->first;

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    if (v->last == &g->next)
        v->last = at;
    for (seen *t = g->tasks, *next; t != NULL; t = next) {
        seen **in = slot_of(v, t->path);

        next = t->sibling;
        while (*in != t)
            in = &(*in)->next;
        *in = t->next;
        free(t);
    }
    free(g->what);
    free(g->trouble);
    free(g);
}

/* Whether a path leads through one of several subgraphs with the same name. */
static bool is_deep(const char *path)
{
    const char *last = strrchr(path, '/'), *colon = strchr(path, ':');

    return last != NULL && colon != NULL && colon < last;
}

static seen *task_add(view *v, const char *path, group *g)
{
    size_t size = strlen(path) + 1;
    seen *t = g == NULL ? NULL : calloc(1, sizeof *t + size);

    if (t == NULL) {
        v->failed = true;
        return NULL;
    }
    memcpy(t->path, path, size);
    t->of = g;
    t->next = *slot_of(v, path);
    *slot_of(v, path) = t;
    t->sibling = g->tasks;
    g->tasks = t;
    g->count[TASK_READY]++;
    if (++g->known > g->total)
        g->total = g->known;
    return t;
}

static seen *task_of(view *v, const char *path)
{
    seen *t = task_find(v, path);
    char *name;

    if (t != NULL)
        return t;
    name = label(v, path, false);
    t = name == NULL ? NULL : task_add(v, path, group_of(v, name, is_deep(path)));
    free(name);
    return t;
}

static void task_move(view *v, seen *t, doing to)
{
    group *g = t->of;
    bool waits;

    g->count[t->at]--;
    g->count[to]++;
    t->at = to;
    waits = g->count[TASK_WAITS] > 0 && g->count[TASK_RUNNING] + g->count[TASK_READY] + g->count[TASK_RETRIES] + g->count[TASK_SLEEPS] == 0;
    if (waits == (g->waits_ms != 0))
        return;
    g->waited_ms += waits ? 0 : v->now_ms - g->waits_ms;
    g->waits_ms = waits ? v->now_ms : 0;
}

/* Without the time in which it only waited for somebody. */
static int64_t took_ms(const view *v, const group *g)
{
    return v->now_ms - g->began_ms - g->waited_ms - (g->waits_ms != 0 ? v->now_ms - g->waits_ms : 0);
}

static size_t group_ended(const group *g) { return g->count[TASK_DONE] + g->count[TASK_FAILED] + g->count[TASK_DENIED]; }

/* All its tasks have ended, or no more will start. */
static void group_end(view *v, group *g)
{
    buf b;

    if (g->total > 1 && group_ended(g) > 0) {
        buf_init(&b, NULL);
        group_counts(g, &b);
        note_add(v, g->count[TASK_FAILED] > 0 ? NOTE_FAILED : NOTE_DONE, text_copied(v, g->name), text_of(v, &b), took_ms(v, g));
    } else if (g->count[TASK_DONE] > 0) {
        note_add(v, NOTE_DONE, text_copied(v, g->name), text_copied(v, ""), took_ms(v, g));
    }
    group_remove(v, g);
}

static void so_far(view *v, group *g)
{
    size_t tenth = g->total < FAN_OUT_TENTHS ? 0 : group_ended(g) * FAN_OUT_TENTHS / g->total;
    buf b;

    if (tenth <= g->tenth || tenth == FAN_OUT_TENTHS)
        return;
    g->tenth = tenth;
    buf_init(&b, NULL);
    group_counts(g, &b);
    note_add(v, NOTE_SO_FAR, text_copied(v, g->name), text_of(v, &b), took_ms(v, g));
}

static void task_ends(view *v, seen *t, doing how)
{
    group *g = t->of;

    t->over = true;
    task_move(v, t, how);
    if (!g->deep && group_ended(g) >= g->total)
        group_end(v, g);
    else
        so_far(v, g);
}

/* ---- what the next superstep will hold ------------------------------------------------------------------- */

static void sends_free(sends *s)
{
    free(s->at);
    free(s->node);
    free(s);
}

static void sends_add(view *v, uint64_t seq, bool close, const char *at, const char *node)
{
    sends *s;

    for (s = v->sent; s != NULL; s = s->next)
        if (s->seq == seq && s->close == close && !s->due && strcmp(s->at, at) == 0 && strcmp(s->node, node) == 0) {
            s->n++;
            return;
        }
    if ((s = calloc(1, sizeof *s)) == NULL) {
        v->failed = true;
        return;
    }
    *s = (sends){ .seq = seq, .close = close, .n = 1, .at = text_copied(v, at), .node = text_copied(v, node) };
    if (s->at == NULL || s->node == NULL) {
        sends_free(s);
        return;
    }
    *v->sent_last = s;
    v->sent_last = &s->next;
}

/* In an item of an entry or a record: the leave of a task has [[NODE,VALUE]...], a close [[SENDER,NODE,VALUE]...]. */
static void sends_of(view *v, uint64_t seq, const pawl_value *item)
{
    const char *kind = pawl_value_string(pawl_value_at(item, 0));
    bool close = kind != NULL && strcmp(kind, "close") == 0;
    const pawl_value *how = pawl_value_at(item, close ? 2 : 4), *list = pawl_value_get(how, "send"), *one;
    const char *at = pawl_value_string(pawl_value_at(item, close ? 3 : 1)), *node;
    pawl_iter it = pawl_iter_of(list);

    if (kind == NULL || (!close && strcmp(kind, "leave") != 0))
        return;
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if ((node = pawl_value_string(pawl_value_at(one, close ? 1 : 0))) != NULL)
            sends_add(v, seq, close, at != NULL ? at : "", node);
}

/* Whether the task with that path is directly in the frame. */
static bool is_in_frame(const char *path, const char *frame)
{
    size_t n = strlen(frame);
    const char *rest = n == 0 ? path : path + n + 1;

    if (n > 0 && (strncmp(path, frame, n) != 0 || path[n] != '/'))
        return false;
    if (n > 0 && ((rest = strchr(rest, '/')) == NULL || (rest = strchr(rest + 1, '/')) == NULL))
        return false;
    return strchr(n > 0 ? rest + 1 : rest, '/') == NULL;
}

static group *group_in(view *v, const char *frame, const char *node)
{
    char *name;
    group *g;
    buf b;

    buf_init(&b, NULL);
    words_task(&b, frame, false);
    buf_text(&b, *frame != '\0' ? "/" : "");
    buf_text(&b, node);
    name = text_of(v, &b);
    g = name == NULL ? NULL : group_of(v, name, strchr(frame, ':') != NULL);
    free(name);
    return g;
}

static void sends_begin(view *v, const char *frame)
{
    for (sends **at = &v->sent, *s; (s = *at) != NULL;) {
        bool mine = s->close ? strcmp(s->at, frame) == 0 : s->due && is_in_frame(s->at, frame);
        group *g = !mine || words_own(s->node) || words_choice(s->node) ? NULL : group_in(v, frame, s->node);

        if (g != NULL)
            g->total += s->n;
        if (!mine) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        if (v->sent_last == &s->next)
            v->sent_last = at;
        sends_free(s);
    }
}

/* ---- changes of items ---------------------------------------------------------------------------------------- */

enum { COMMANDS = PAWL_ITEM_MESSAGE | PAWL_ITEM_TOOL_CALL | PAWL_ITEM_CHILD };

static char *failure_text(view *v, const pawl_value *failure)
{
    buf b;

    buf_init(&b, NULL);
    words_failure(&b, failure);
    return text_of(v, &b);
}

/* Counts the tasks that a journal line will send, before the items of the line arrive: those say only that tasks leave. */
static void on_line(view *v, const pawl_item_change *c, const pawl_value *json)
{
    pawl_iter it = pawl_iter_of(strcmp(c->part, "entry") == 0 ? pawl_value_get(json, "body") : json);
    const pawl_value *item;

    while ((item = pawl_iter_next(&it, NULL)) != NULL)
        sends_of(v, c->seq, item);
}

/* The tasks of that superstep have ended, and so have those of its subgraphs. */
static void on_close(view *v, const pawl_item_change *c, const pawl_value *json)
{
    const char *frame = c->path, *node;
    char *name = label(v, frame, false);
    size_t n = name == NULL ? 0 : strlen(name);
    pawl_iter it = pawl_iter_of(pawl_value_get(json, "next"));
    const pawl_value *item;
    group *g;

    if (name == NULL)
        return;
    for (group *at = v->first, *next; at != NULL && strchr(frame, ':') == NULL; at = next) {
        next = at->next;
        if (n == 0 || (strncmp(at->name, name, n) == 0 && at->name[n] == '/'))
            group_end(v, at);
    }
    free(name);
    while ((item = pawl_iter_next(&it, NULL)) != NULL)
        if ((node = pawl_value_string(item)) != NULL && !words_own(node) && !words_choice(node) && (g = group_in(v, frame, node)) != NULL)
            g->total++;
    sends_begin(v, frame);
}

static void failed_add(view *v, const seen *s, note_kind kind, char *why)
{
    bool one = s->of->total == 1;

    note_add(v, kind, label(v, s->path, !one), why, one ? took_ms(v, s->of) : -1);
}

static void on_leave(view *v, const pawl_item_change *c, const pawl_value *json)
{
    seen *s;

    (void)json;
    for (sends *at = v->sent; at != NULL; at = at->next)
        at->due = at->due || (!at->close && strcmp(at->at, c->path) == 0);
    if (words_own(c->path) || words_choice(c->path) || (s = task_of(v, c->path)) == NULL)
        return;
    if ((s->erred || s->denied) && s->of->trouble != NULL && s->of->failures++ < FAILURES_SHOWN)
        failed_add(v, s, s->erred ? NOTE_FAILED : NOTE_DENIED, text_copied(v, s->of->trouble));
    task_ends(v, s, s->erred ? TASK_FAILED : s->denied ? TASK_DENIED : TASK_DONE);
}

/* Drops the node's name at the beginning of a failure text: the line has it already. */
static char *name_dropped(char *why, const char *path)
{
    const char *last = strrchr(path, '/'), *name = last != NULL ? last + 1 : path;
    const size_t n = strcspn(name, ":");

    if (why != NULL && strncmp(why, name, n) == 0 && strncmp(why + n, ": ", 2) == 0)
        memmove(why, why + n + 2, strlen(why + n + 2) + 1);
    return why;
}

static void on_fail(view *v, const pawl_item_change *c, const pawl_value *json)
{
    const char *code = pawl_value_string(pawl_value_get(json, "code"));
    const bool denied = code != NULL && strcmp(code, pawl_code_name(PAWL_DENIED)) == 0;
    seen *s = task_of(v, c->path);

    if (s == NULL)
        return;
    if (s->of->failures++ < FAILURES_SHOWN)
        failed_add(v, s, denied ? NOTE_DENIED : NOTE_FAILED, denied && s->denied && s->of->trouble != NULL ?
                   text_copied(v, s->of->trouble) : name_dropped(failure_text(v, json), c->path));
    task_ends(v, s, TASK_FAILED);
}

static void on_call(view *v, const pawl_item_change *c, const pawl_value *json)
{
    seen *s = task_of(v, c->path);
    buf b;

    if (s == NULL)
        return;
    task_move(v, s, TASK_RUNNING);
    s->denied = false;
    buf_init(&b, NULL);
    if (strcmp(c->name, "jq") != 0)     /* an expression of the file is not work of the node */
        words_command(&b, json);
    text_take(&s->of->what, text_of(v, &b));
}

/* A live event may arrive after its task has ended: then it starts no new task. */
static void on_started(view *v, const pawl_item_change *c, const pawl_value *json)
{
    seen *s = task_find(v, c->path);

    (void)json;
    if (s != NULL)
        task_move(v, s, TASK_RUNNING);
}

static void on_again(view *v, const pawl_item_change *c, const pawl_value *json)
{
    seen *s = task_find(v, c->path);
    char time[ELAPSED_BYTES];
    buf b;

    if (s == NULL)
        return;
    task_move(v, s, TASK_RETRIES);
    s->due_ms = pawl_value_int(pawl_value_get(json, "at"));
    text_take(&s->of->trouble, failure_text(v, pawl_value_get(json, "error")));
    if (s->of->total > 1 || s->of->trouble == NULL)
        return;
    words_elapsed(time, s->due_ms - (c->time_ms > 0 ? c->time_ms : v->now_ms));
    buf_init(&b, NULL);
    buf_fmt(&b, "in %s: %s", time, s->of->trouble);
    note_add(v, NOTE_AGAIN, label(v, c->path, false), text_of(v, &b), -1);
}

static void on_sleep(view *v, const pawl_item_change *c, const pawl_value *json)
{
    seen *s = task_of(v, c->path);
    char time[ELAPSED_BYTES];
    buf b;

    if (s == NULL || s->at == TASK_WAITS)      /* the deadline of a wait, which is shown */
        return;
    task_move(v, s, TASK_SLEEPS);
    s->due_ms = pawl_value_int(pawl_value_get(json, "due"));
    if (s->of->total > 1)
        return;
    words_elapsed(time, s->due_ms - v->now_ms);
    buf_init(&b, NULL);
    buf_fmt(&b, "for %s", time);
    note_add(v, NOTE_WAITS, label(v, c->path, false), text_of(v, &b), -1);
}

static void on_ask(view *v, const pawl_item_change *c, const pawl_value *json)
{
    seen *s = task_of(v, c->path);
    buf b;

    if (s == NULL)
        return;
    task_move(v, s, TASK_WAITS);
    s->over = pawl_value_bool(pawl_value_get(json, "hold"));
    buf_init(&b, NULL);
    if (strcmp(c->name, "signal") == 0) {
        buf_text(&b, "for the signal ");
        words_prompt(&b, pawl_value_get(json, "name"));
    } else {
        words_prompt(&b, pawl_value_get(json, "prompt"));
    }
    if (strcmp(c->name, "doubt") == 0) {
        buf_reset(&b);
        words_unknown(&b, c->path, pawl_value_get(json, "prompt"));
    }
    text_take(&s->of->what, text_of(v, &b));
    if (s->of->what != NULL && s->of->count[TASK_WAITS] == 1)
        note_add(v, NOTE_WAITS, label(v, c->path, true), text_copied(v, s->of->what), -1);
}

static void on_answer(view *v, const pawl_item_change *c, const pawl_value *json)
{
    seen *s = task_of(v, c->path);
    const char *by = pawl_value_string(pawl_value_get(json, "by"));
    const char *why = pawl_value_string(pawl_value_get(json, "note"));
    const pawl_value *value = pawl_value_get(json, "value");
    buf b;

    if (s == NULL)
        return;
    s->denied = strcmp(c->name, "approval") == 0 && answer_is_no(value);
    if (s->denied) {
        buf_init(&b, NULL);
        if (by != NULL)
            buf_fmt(&b, "by %s%s", *by == '@' ? by + 1 : by, why != NULL ? ": " : "");
        buf_text(&b, why != NULL ? why : "");
        text_take(&s->of->trouble, text_of(v, &b));
    }
    buf_init(&b, NULL);
    if (!words_signed(&b, value))
        words_prompt(&b, value);
    if (by != NULL)
        buf_fmt(&b, ", by %s", *by == '@' ? by + 1 : by);
    if (why != NULL)
        buf_fmt(&b, ": %s", why);
    note_add(v, NOTE_ANSWER, label(v, c->path, true), text_of(v, &b), -1);
    text_take(&s->of->what, NULL);
    if (s->over && s->of->total == 1)
        group_remove(v, s->of);
    else
        task_move(v, s, s->over ? TASK_DONE : TASK_READY);
}

/* One of several approvers has signed: the wait stays open. */
static void on_sign(view *v, const pawl_item_change *c, const pawl_value *json)
{
    buf b;

    if (task_of(v, c->path) == NULL)
        return;
    buf_init(&b, NULL);
    (void)words_signed(&b, pawl_value_get(json, "value"));
    note_add(v, NOTE_ANSWER, label(v, c->path, true), text_of(v, &b), -1);
}

static void on_receipt(view *v, const pawl_item_change *c, const pawl_value *json)
{
    seen *s = task_of(v, c->path);
    const char *outcome = pawl_value_string(pawl_value_get(json, "outcome"));
    const pawl_value *value = pawl_value_get(json, "value");

    if (s == NULL)
        return;
    task_move(v, s, TASK_READY);
    s->erred = c->state != PAWL_ITEM_DONE;
    if (s->erred)
        text_take(&s->of->trouble, pawl_value_type(value) == PAWL_TYPE_OBJECT || outcome == NULL ? failure_text(v, value) : text_copied(v, outcome));
}

static void on_visit(view *v, const pawl_item_change *c, const pawl_value *json)
{
    seen *s = task_of(v, c->path);

    (void)json;
    if (s == NULL)
        return;
    task_move(v, s, TASK_READY);
    s->over = s->erred = s->denied = false;
}

static void on_drop(view *v, const pawl_item_change *c, const pawl_value *json)
{
    seen *s = task_find(v, c->path);

    (void)json;
    if (s != NULL && !s->over)
        task_move(v, s, TASK_READY);
}

static void on_cancel(view *v, const pawl_item_change *c, const pawl_value *json)
{
    const char *by = pawl_value_string(pawl_value_get(json, "by"));
    const char *why = pawl_value_string(pawl_value_get(json, "note"));
    buf b;

    (void)c;
    buf_init(&b, NULL);
    if (by != NULL)
        buf_fmt(&b, "by %s%s", *by == '@' ? by + 1 : by, why != NULL ? ": " : "");
    buf_text(&b, why != NULL ? why : "");
    note_add(v, NOTE_CANCEL, text_copied(v, "the run is canceled"), text_of(v, &b), -1);
}

static void on_unwind(view *v, const pawl_item_change *c, const pawl_value *json)
{
    (void)c, (void)json;
    note_add(v, NOTE_UNDO, text_copied(v, "the completed steps, last one first"), text_copied(v, ""), -1);
}

/* ---- an agent's messages and tool calls ------------------------------------------------------------------------ */

/* A request to a model, or a tool call: belongs to the run itself and is found by its id. An inverse, a command of Pawl's own, is added as a part. */
static seen *agent_item(view *v, const pawl_item_change *c)
{
    seen *s = task_find(v, c->id);
    const bool begins = (c->what & PAWL_ITEM_ADDED) != 0 && (c->what & PAWL_ITEM_ENDED) == 0;
    const bool model = c->kind == PAWL_ITEM_MESSAGE && strcmp(c->path, "@") == 0, tool = c->kind == PAWL_ITEM_TOOL_CALL && *c->part == '\0';

    if (s != NULL || !begins || (!model && !tool))
        return s;
    return task_add(v, c->id, group_add(v, c->name, false));
}

static void agent_ends(view *v, const pawl_item_change *c, const pawl_value *json, seen *s)
{
    group *g = s->of;
    const pawl_value *result = pawl_value_get(json, "result");
    buf b;

    if (c->kind == PAWL_ITEM_TOOL_CALL && c->state != PAWL_ITEM_DROPPED) {
        buf_init(&b, NULL);
        buf_text(&b, g->what != NULL ? g->what : "");
        if (c->state == PAWL_ITEM_FAILED && result != NULL) {
            buf_text(&b, b.size > 0 ? ": " : "");
            words_prompt(&b, result);
        }
        note_add(v, c->state == PAWL_ITEM_FAILED ? NOTE_FAILED : NOTE_DONE, text_copied(v, g->name), text_of(v, &b), took_ms(v, g));
    }
    group_remove(v, g);
}

static void on_agent(view *v, const pawl_item_change *c, const pawl_value *json)
{
    const pawl_value *input = pawl_value_get(json, "input");
    seen *s = agent_item(v, c);
    buf b;

    if (s == NULL)
        return;
    if (c->state >= PAWL_ITEM_DONE) {
        agent_ends(v, c, json, s);
        return;
    }
    task_move(v, s, c->state == PAWL_ITEM_WAITING ? TASK_WAITS : c->state == PAWL_ITEM_RUNNING ? TASK_RUNNING : TASK_READY);
    if (c->kind == PAWL_ITEM_TOOL_CALL && input != NULL) {
        buf_init(&b, NULL);
        words_input(&b, input);
        text_take(&s->of->what, text_of(v, &b));
    }
}

/* ---- what is fed ------------------------------------------------------------------------------------------------- */

/* Which kinds of items have which part, and whether it is about a task of the graph. Items that change together with another one at the same place have
 * the same part and are left out: an error with its task, a usage with its command. */
static const struct { const char *part; unsigned kinds; bool task; void (*fn)(view *v, const pawl_item_change *c, const pawl_value *json); } changes[] = {
    { "again", COMMANDS, true, on_again },
    { "answer", PAWL_ITEM_WAIT | PAWL_ITEM_RUN, true, on_answer },
    { "ask", PAWL_ITEM_WAIT, true, on_ask },
    { "call", COMMANDS, true, on_call },
    { "cancel", PAWL_ITEM_RUN, false, on_cancel },
    { "close", PAWL_ITEM_RUN | PAWL_ITEM_TASK, false, on_close },
    { "doubt", PAWL_ITEM_WAIT, true, on_ask },
    { "drop", COMMANDS | PAWL_ITEM_WAIT, true, on_drop },
    { "entry", PAWL_ITEM_LINE, false, on_line },
    { "fail", PAWL_ITEM_TASK, true, on_fail },
    { "frame", PAWL_ITEM_TASK, true, on_visit },
    { "leave", PAWL_ITEM_TASK | PAWL_ITEM_RUN, false, on_leave },
    { "receipt", COMMANDS, true, on_receipt },
    { "record", PAWL_ITEM_LINE, false, on_line },
    { "sign", PAWL_ITEM_WAIT, true, on_sign },
    { "sleep", PAWL_ITEM_WAIT, true, on_sleep },
    { "spawn", PAWL_ITEM_CHILD, true, on_call },
    { "started", COMMANDS, true, on_started },
    { "unwind", PAWL_ITEM_RUN, false, on_unwind },
    { "visit", PAWL_ITEM_TASK, true, on_visit },
};
enum { CHANGES = sizeof changes / sizeof *changes };

/* The row of the table; CHANGES: none. */
static size_t row_of(const pawl_item_change *c)
{
    for (size_t i = 0; i < CHANGES; i++)
        if ((changes[i].kinds & c->kind) != 0 && strcmp(changes[i].part, c->part) == 0)
            return changes[i].task && (*c->path == '\0' || words_own(c->path) || words_choice(c->path)) ? CHANGES : i;
    return CHANGES;
}

/* Not a task of the graph, but of an agent. */
static bool is_agent(const pawl_item_change *c)
{
    return (c->kind & (PAWL_ITEM_MESSAGE | PAWL_ITEM_TOOL_CALL)) != 0 && (*c->path == '\0' || words_own(c->path)) && c->live == 0;
}

/* What an agent emits about a request that is made again, beside other things. */
static bool is_busy(const pawl_item_change *c)
{
    return (c->what & PAWL_ITEM_EMITTED) != 0 && strcmp(c->part, "status") == 0;
}

static void on_busy(view *v, const pawl_value *json)
{
    buf b;

    buf_init(&b, NULL);
    words_retry(&b, json);
    if (b.size > 0 || b.failed)
        note_add(v, NOTE_AGAIN, text_copied(v, "model"), text_of(v, &b), -1);
}

bool view_reads(const pawl_item_change *c)
{
    return is_busy(c) || row_of(c) < CHANGES ||
           (is_agent(c) && (strcmp(c->part, "proposed") == 0 || strcmp(c->part, "tool_start") == 0 || strcmp(c->part, "tool_end") == 0));
}

bool view_feed(view *v, const pawl_item_change *c, const char *json)
{
    const size_t row = row_of(c);
    const pawl_value *value = NULL;

    v->failed = false;
    arena_reset(&v->mem);
    if (c->time_ms > v->now_ms)
        v->now_ms = c->time_ms;
    if (c->kind == PAWL_ITEM_RUN)
        v->over = c->state >= PAWL_ITEM_DONE;
    if ((row == CHANGES && !is_agent(c) && !is_busy(c)) || (row < CHANGES && changes[row].fn == on_line && strstr(json, "\"send\"") == NULL))
        return true;
    if ((value = value_read(&v->mem, json, strlen(json), "an item", NULL)) == NULL)
        return false;
    if (is_busy(c))
        on_busy(v, value);
    else if (row < CHANGES)
        changes[row].fn(v, c, value);
    else
        on_agent(v, c, value);
    return !v->failed;
}

void view_stop(view *v)
{
    note_add(v, NOTE_STOP, text_copied(v, "running commands end first"), text_copied(v, "Ctrl-C again stops at once"), -1);
}

/* ---- made and freed ---------------------------------------------------------------------------------------- */

view *view_new(bool colour)
{
    view *v = calloc(1, sizeof *v);

    if (v == NULL)
        return NULL;
    v->colour = colour;
    v->last = &v->first;
    v->notes_last = &v->notes;
    v->sent_last = &v->sent;
    arena_init(&v->mem, NULL, 4096);
    return v;
}

void view_free(view *v)
{
    if (v == NULL)
        return;
    while (v->first != NULL)
        group_remove(v, v->first);
    for (sends *s = v->sent, *next; s != NULL; s = next) {
        next = s->next;
        sends_free(s);
    }
    view_past(v, 0, true, NULL);
    arena_free(&v->mem);
    free(v);
}
