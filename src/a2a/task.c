/* task.c - a run as a task: a fold of the changes of its items, which are the same for every reader, so every snapshot and stream says the same. Pure.
 *
 * Called by src/serve with each change from the first one on. A line of the journal (an entry or a task record) is stored whole: artifacts and what an agent
 * says are told as they come, the status at the end of the line, so that a run that asks anew in the entry that took an answer never seems to work in
 * between. Each event has a place: that of the change that led to it, and a number there. */
#include "a2a/task_inner.h"

#include <stdlib.h>

enum { FIRST_BYTES = 2048 };

a2a_task *a2a_task_new(const a2a_task_of *of)
{
    a2a_task *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    arena_init(&t->mem, NULL, FIRST_BYTES);
    t->id = arena_text(&t->mem, of->run);
    t->context = arena_text(&t->mem, of->context != NULL && *of->context != '\0' ? of->context : of->run);
    t->machine = arena_text(&t->mem, of->machine);
    t->first = arena_text(&t->mem, of->message);
    t->life = of->life;
    t->failed = t->mem.failed;
    return t;
}

void a2a_task_free(a2a_task *t)
{
    if (t == NULL)
        return;
    arena_free(&t->mem);
    free(t);
}

bool a2a_task_failed(const a2a_task *t) { return t->failed || t->mem.failed; }
const char *a2a_task_id(const a2a_task *t) { return t->id; }
uint64_t a2a_task_life(const a2a_task *t) { return t->life; }
a2a_place a2a_task_at(const a2a_task *t) { return t->at; }
const char *a2a_task_context(const a2a_task *t) { return t->context; }
bool a2a_task_is_graph(const a2a_task *t) { return t->graph; }
size_t a2a_task_waits(const a2a_task *t) { return t->nwaits; }
const a2a_wait *a2a_task_wait(const a2a_task *t, size_t i) { return &t->waits[i]; }

static const char *joined(a2a_task *t, const char *a, const char *b)
{
    const size_t n = strlen(a), k = strlen(b);
    char *out = arena_get(&t->mem, n + k + 1);

    if (out == NULL)
        return NULL;
    memcpy(out, a, n);
    memcpy(out + n, b, k + 1);
    return out;
}

/* ---- places -------------------------------------------------------------------------------------------------------------- */

/* "RUN:SEQ.INDEX" or "RUN:SEQ.INDEX.SUB"; the last change of a place has no SUB. */
static bool numbers_read(const char *p, a2a_place *out)
{
    *out = (a2a_place){ .sub = UINT64_MAX };
    if ((p = digits_read(p, &out->seq)) == NULL || *p != '.' || (p = digits_read(p + 1, &out->index)) == NULL)
        return false;
    if (*p == '.' && (p = digits_read(p + 1, &out->sub)) == NULL)
        return false;
    if (*p == '+')
        return (p = digits_read(p + 1, &out->n)) != NULL && *p == '\0';
    return *p == '\0';
}

bool a2a_place_read(const char *text, const char *run, uint64_t life, a2a_place *out)
{
    const size_t n = strlen(run);
    uint64_t of = 0;

    if (strncmp(text, run, n) != 0 || text[n] != '~')
        return false;
    for (text += n + 1; *text != ':' && *text != '\0'; text++) {
        const unsigned digit = *text >= '0' && *text <= '9' ? (unsigned)(*text - '0') : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a') + 10 : 16;

        if (digit == 16)
            return false;
        of = of << 4 | digit;
    }
    return *text == ':' && of == life && numbers_read(text + 1, out);
}

const char *a2a_place_text(arena *mem, const a2a_task *t, const a2a_place *at)
{
    const char *out;
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s~%016llx:%llu.%llu", t->id, (unsigned long long)t->life, (unsigned long long)at->seq, (unsigned long long)at->index);
    if (at->sub != UINT64_MAX)
        buf_fmt(&b, ".%llu", (unsigned long long)at->sub);
    buf_fmt(&b, "+%llu", (unsigned long long)at->n);
    out = b.failed ? NULL : arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return out;
}

bool a2a_place_after(const a2a_place *a, const a2a_place *b)
{
    if (a->seq != b->seq)
        return a->seq > b->seq;
    if (a->index != b->index)
        return a->index > b->index;
    return a->sub != b->sub ? a->sub > b->sub : a->n > b->n;
}

/* ---- what was said --------------------------------------------------------------------------------------------------------- */

static a2a_message *message_add(a2a_task *t, bool user, const char *id, size_t nparts)
{
    a2a_part *parts = arena_zero(&t->mem, (nparts > 0 ? nparts : 1) * sizeof *parts);

    if (parts == NULL || id == NULL || !arena_room(&t->mem, (void **)&t->history, &t->history_cap, t->nhistory, sizeof *t->history)) {
        t->failed = true;
        return NULL;
    }
    t->guessed = false;
    t->history[t->nhistory] = (a2a_message){ .id = id, .user = user, .parts = parts, .nparts = nparts };
    return &t->history[t->nhistory++];
}

/* Of its own, because the history moves when it grows. */
static const a2a_message *message_kept(a2a_task *t, const a2a_message *m)
{
    a2a_message *out = m != NULL ? arena_get(&t->mem, sizeof *out) : NULL;

    if (out != NULL)
        *out = *m;
    return out;
}

/* A text is a text, anything else is data. */
static void part_of(a2a_part *p, const pawl_value *v)
{
    p->text = pawl_value_string(v);
    p->data = p->text == NULL ? v : NULL;
}

static const pawl_value *parsed(a2a_task *t, a2a_json_fn *json, void *ctx)
{
    const char *text = json(ctx);
    const pawl_value *v = text != NULL ? value_read(&t->mem, text, strlen(text), "an item", NULL) : NULL;

    t->failed = t->failed || v == NULL;
    return v;
}

/* The message as the client sent it, which the channel "a2a" has. */
static bool whole_add(a2a_task *t, const pawl_value *v)
{
    a2a_fault none = { A2A_FINE, "", "" };
    a2a_message m, *kept;

    if (pawl_value_type(v) != PAWL_TYPE_OBJECT || !a2a_message_read(&t->mem, v, &m, &none))
        return false;
    kept = message_add(t, true, m.id, 0);
    if (kept != NULL) {
        kept->parts = m.parts;
        kept->nparts = m.nparts;
        kept->metadata = m.metadata;
    }
    return true;
}

/* What began the run, or its next turn: writes of channels. An agent's own message comes after it, and takes its place. */
static void channels_said(a2a_task *t, const pawl_value *writes, const char *id)
{
    const pawl_value *all = value_pack(&t->mem, NULL, "{}"), *last = NULL, *one;
    pawl_iter it = pawl_iter_of(writes);
    a2a_message *m;
    size_t n = 0;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *name = pawl_value_string(pawl_value_at(one, 0));

        if (name == NULL || *name == '@')
            continue;
        last = pawl_value_at(one, 1);
        if (strcmp(name, "a2a") == 0 && whole_add(t, last))
            return;
        all = value_with(&t->mem, all, name, last);
        n++;
    }
    if (n == 0)
        return;
    if ((m = message_add(t, true, id, 1)) != NULL) {
        part_of(&m->parts[0], n == 1 && pawl_value_type(last) == PAWL_TYPE_STRING ? last : all);
        t->guessed = true;
    }
}

/* The texts and images of a message of an agent's conversation; what its tools said and were asked is not of the client. */
static void conversation_add(a2a_task *t, const pawl_value *v, const char *id, bool user)
{
    const pawl_value *content = pawl_value_get(v, "content"), *one;
    const size_t n = pawl_value_type(content) == PAWL_TYPE_ARRAY ? pawl_value_size(content) : 1;
    a2a_message *m;
    size_t k = 0;

    if (user && t->guessed && t->nhistory > 0) {
        id = t->history[t->nhistory - 1].id;
        t->nhistory--;
    }
    if ((m = message_add(t, user, id, n)) == NULL)
        return;
    for (size_t i = 0; i < n; i++) {
        one = pawl_value_type(content) == PAWL_TYPE_ARRAY ? pawl_value_at(content, i) : content;
        const char *type = pawl_value_string(pawl_value_get(one, "type"));

        if (pawl_value_type(one) == PAWL_TYPE_STRING)
            m->parts[k].text = pawl_value_string(one);
        else if (type != NULL && strcmp(type, "text") == 0)
            m->parts[k].text = pawl_value_string(pawl_value_get(one, "text"));
        else if (type != NULL && strcmp(type, "image") == 0)
            m->parts[k] = (a2a_part){ .raw = pawl_value_string(pawl_value_get(one, "data")),
                                      .media_type = pawl_value_string(pawl_value_get(one, "media_type")) };
        k += m->parts[k].text != NULL || m->parts[k].raw != NULL;
    }
    m->nparts = k;
    t->nhistory -= k == 0;
}

/* A message that came while the run was at work. */
static void signal_said(a2a_task *t, const pawl_value *v)
{
    const char *name = pawl_value_string(pawl_value_get(v, "name"));

    if (name != NULL && strcmp(name, A2A_SIGNAL) == 0)
        (void)whole_add(t, pawl_value_get(v, "value"));
}

void a2a_task_coming(a2a_task *t, const pawl_bytes *values, size_t n)
{
    t->ncoming = 0;
    t->coming = n > 0 ? arena_get(&t->mem, n * sizeof *t->coming) : NULL;
    for (size_t i = 0; i < n && t->coming != NULL; i++) {
        const pawl_value *v = value_parse(&t->mem, values[i].data, values[i].size, "a message", NULL);
        a2a_fault none = { A2A_FINE, "", "" };

        t->ncoming += a2a_message_read(&t->mem, v, &t->coming[t->ncoming], &none);
    }
}

/* ---- events --------------------------------------------------------------------------------------------------------------- */

static void event_tell(a2a_task *t, const a2a_event *e, a2a_event_fn *fn, void *ctx)
{
    a2a_event out = *e;

    if (out.at.seq == 0) {
        t->at.n++;
        out.at = t->at;
    }
    if (fn != NULL && !a2a_task_failed(t))
        fn(ctx, &out);
}

static void status_tell(a2a_task *t, a2a_state state, const a2a_message *said, a2a_event_fn *fn, void *ctx)
{
    t->told = (a2a_status){ .state = state, .said = said, .time_ms = t->time_ms };
    if (state == A2A_COMPLETED)
        t->output_at = t->at, t->output_at.n = ++t->at.n;       /* the place of the artifact that comes before it */
    event_tell(t, &(a2a_event){ .status = t->told }, fn, ctx);
}

/* What an agent said before is told, as a task at work; what it says now is told with the next status. */
static void agent_says(a2a_task *t, a2a_event_fn *fn, void *ctx)
{
    if (t->spoken != NULL)
        status_tell(t, A2A_WORKING, t->spoken, fn, ctx);
    t->spoken = message_kept(t, &t->history[t->nhistory - 1]);
}

/* `at` NULL: here. */
static void artifact_add(a2a_task *t, const char *name, const pawl_value *value, const a2a_place *at, a2a_event_fn *fn, void *ctx)
{
    a2a_part *part = arena_zero(&t->mem, sizeof *part);
    a2a_fault none = { A2A_FINE, "", "" };
    size_t i = 0;

    if (name == NULL || part == NULL) {
        t->failed = t->failed || part == NULL;
        return;
    }
    /* An object with exactly one content is a part by itself: a file, for one. */
    if (pawl_value_type(value) != PAWL_TYPE_OBJECT || !a2a_part_read(value, part, &none)) {
        *part = (a2a_part){ .text = NULL };
        part_of(part, value);
    }
    if (part->filename == NULL && part->data == NULL)
        part->filename = name;
    while (i < t->nartifacts && strcmp(t->artifacts[i].name, name) != 0)
        i++;
    if (i == t->nartifacts && !arena_room(&t->mem, (void **)&t->artifacts, &t->artifacts_cap, t->nartifacts, sizeof *t->artifacts)) {
        t->failed = true;
        return;
    }
    t->nartifacts += i == t->nartifacts;
    t->artifacts[i] = (a2a_artifact){ .id = name, .name = name, .parts = part, .nparts = 1 };
    const a2a_artifact told = t->artifacts[i];

    event_tell(t, &(a2a_event){ .at = at != NULL ? *at : (a2a_place){ .seq = 0 }, .artifact = &told }, fn, ctx);
}

/* ---- waits and work ---------------------------------------------------------------------------------------------------------- */

static bool wait_kind_of(const char *name, uint8_t *kind)
{
    static const struct { const char *name; uint8_t kind; } rows[] = { { "approval", A2A_WAIT_APPROVAL }, { "question", A2A_WAIT_QUESTION },
        { "doubt", A2A_WAIT_QUESTION }, { "input", A2A_WAIT_INPUT } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0) {
            *kind = rows[i].kind;
            return true;
        }
    return false;       /* a signal, a timer: nobody is asked */
}

/* What it asks, as a message; how it is answered stands in its metadata. NULL: it asks nothing, as an agent that waits for its next turn. */
static const a2a_message *asked(a2a_task *t, const char *id, const char *kind, const pawl_value *spec)
{
    static const char *const told[] = { "options", "schema", "slot", "about" };
    const pawl_value *prompt = pawl_value_get(spec, "prompt"), *meta = value_pack(&t->mem, NULL, "{s:s,s:s}", "kind", kind, "wait", id);
    a2a_message *m;

    if (prompt == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
        if (pawl_value_get(spec, told[i]) != NULL)
            meta = value_with(&t->mem, meta, told[i], pawl_value_get(spec, told[i]));
    if ((m = message_add(t, false, joined(t, id, "/asked"), 1)) == NULL)
        return NULL;
    part_of(&m->parts[0], prompt);
    m->metadata = meta;
    return message_kept(t, m);
}

static void wait_opens(a2a_task *t, const pawl_item_change *ch, const pawl_value *spec)
{
    const char *slot = pawl_value_string(pawl_value_get(spec, "slot"));
    a2a_wait w = { .id = arena_text(&t->mem, ch->call != NULL ? ch->call : ch->id), .slot = slot != NULL ? slot : "" };

    if (!wait_kind_of(ch->name, &w.kind))
        return;
    w.signature = pawl_value_get(spec, "approvers") != NULL;
    w.asked = asked(t, w.id, arena_text(&t->mem, ch->name), spec);
    if (w.id == NULL || !arena_room(&t->mem, (void **)&t->waits, &t->waits_cap, t->nwaits, sizeof *t->waits)) {
        t->failed = true;
        return;
    }
    t->waits[t->nwaits++] = w;
    t->asked = true;
}

/* "@timer" answers nothing that a client has to see. The note of an answer over A2A has the id of its message. */
static void answer_said(a2a_task *t, const a2a_wait *w, const pawl_value *v)
{
    const pawl_value *value = pawl_value_get(v, "value");
    const char *by = pawl_value_string(pawl_value_get(v, "by")), *note = pawl_value_string(pawl_value_get(v, "note"));
    const char *id = note != NULL && strncmp(note, "a2a:", 4) == 0 ? note + 4 : joined(t, w->id, "/answer");
    a2a_message *m;

    if (by != NULL && strcmp(by, "@timer") == 0)
        return;
    if (w->kind == A2A_WAIT_INPUT && pawl_value_type(value) == PAWL_TYPE_OBJECT) {
        const pawl_value *key, *one, *writes = value_pack(&t->mem, NULL, "[]");
        pawl_iter it = pawl_iter_of(value);

        while ((one = pawl_iter_next(&it, &key)) != NULL)
            writes = value_push(&t->mem, writes, value_pack(&t->mem, NULL, "[v,v]", key, one));
        channels_said(t, writes, id);
        return;
    }
    if ((m = message_add(t, true, id, 1)) == NULL)
        return;
    part_of(&m->parts[0], value);
    if (pawl_value_type(value) == PAWL_TYPE_BOOL && w->kind == A2A_WAIT_APPROVAL)
        m->parts[0] = (a2a_part){ .text = pawl_value_bool(value) ? "approve" : "deny" };
}

static void wait_ends(a2a_task *t, const pawl_item_change *ch, a2a_json_fn *json, void *ctx)
{
    const char *id = ch->call != NULL ? ch->call : ch->id;

    for (size_t i = 0; i < t->nwaits; i++)
        if (strcmp(t->waits[i].id, id) == 0) {
            if (strcmp(ch->part, "answer") == 0)
                answer_said(t, &t->waits[i], parsed(t, json, ctx));
            t->waits[i] = t->waits[--t->nwaits];
            return;
        }
    if (strcmp(ch->name, "signal") == 0 && strcmp(ch->part, "answer") == 0)     /* perhaps a message that came while the run was at work */
        (void)whole_add(t, pawl_value_get(parsed(t, json, ctx), "value"));
}

static void work_changes(a2a_task *t, const pawl_item_change *ch)
{
    const bool works = ch->state == PAWL_ITEM_RUNNING || (ch->kind == PAWL_ITEM_WAIT && (ch->what & PAWL_ITEM_ENDED) == 0);
    size_t i = t->nopen;

    while (i > 0 && strcmp(t->open[i - 1].id, ch->id) != 0)
        i--;
    if ((ch->what & PAWL_ITEM_ENDED) != 0) {
        if (i > 0)
            t->open[i - 1] = t->open[--t->nopen];
        return;
    }
    if (i == 0 && !arena_room(&t->mem, (void **)&t->open, &t->open_cap, t->nopen, sizeof *t->open)) {
        t->failed = true;
        return;
    }
    if (i == 0)
        t->open[t->nopen++] = (a2a_open){ .id = arena_text(&t->mem, ch->id), .child = ch->kind == PAWL_ITEM_CHILD };
    t->open[i > 0 ? i - 1 : t->nopen - 1].works = works;
}

/* ---- the state -------------------------------------------------------------------------------------------------------------- */

static bool is_at_work(const a2a_task *t)
{
    bool works = false;

    for (size_t i = 0; i < t->nopen && !works; i++)
        works = t->open[i].works;
    return t->graph ? works : t->status != PAWL_STATUS_INPUT_REQUIRED;
}

/* The wait that the status speaks of: the first that a message can answer, else one that takes a signature. `all`: also one whose answer is stored, and
 * none of a child: when these are known is not the same for every reader. */
static const a2a_wait *wait_asking(const a2a_task *t, bool all)
{
    const a2a_wait *found = NULL;

    for (size_t i = 0; i < t->nwaits; i++)
        if ((all ? !t->waits[i].child : !t->waits[i].answered) && (found == NULL || (found->signature && !t->waits[i].signature)))
            found = &t->waits[i];
    return found;
}

static bool child_asks(const a2a_task *t)
{
    bool asks = false;

    for (size_t i = 0; i < t->nwaits && !asks; i++)
        asks = t->waits[i].child;
    return asks;
}

static const a2a_message *newest_of_agent(const a2a_task *t)
{
    for (size_t i = t->nhistory; i > 0; i--)
        if (!t->history[i - 1].user)
            return &t->history[i - 1];
    return NULL;
}

static a2a_status status_of(const a2a_task *t, bool all)
{
    const a2a_wait *w = is_at_work(t) && (all || !child_asks(t)) ? NULL : wait_asking(t, all);
    const a2a_asks asks = w == NULL ? A2A_ASKS_NOTHING : w->signature ? A2A_ASKS_SIGNATURE : A2A_ASKS_PERSON;
    a2a_status s = { .state = a2a_state_of(t->status, asks), .time_ms = t->told.time_ms };

    if (s.state == A2A_INPUT_REQUIRED || s.state == A2A_AUTH_REQUIRED)
        s.said = w->asked != NULL ? w->asked : newest_of_agent(t);
    else if (s.state == A2A_FAILED || s.state == A2A_REJECTED)
        s.said = t->fault;
    return s;
}

a2a_status a2a_task_status(const a2a_task *t) { return status_of(t, false); }

static void fault_say(a2a_task *t)
{
    const bool there = t->fault != NULL && t->fault->parts[0].text == t->why;
    a2a_part *part = there ? NULL : arena_zero(&t->mem, sizeof *part);
    a2a_message *m = there ? NULL : arena_zero(&t->mem, sizeof *m);

    if (there)
        return;
    if (part == NULL || m == NULL || (m->id = joined(t, t->id, "/fault")) == NULL) {
        t->failed = true;
        return;
    }
    part->text = t->why;
    m->parts = part;
    m->nparts = 1;
    t->fault = m;
}

/* The end of a line: its status is told, if it is another one, or if it speaks. */
static void line_ends(a2a_task *t, a2a_event_fn *fn, void *ctx)
{
    a2a_status now;

    if (t->why != NULL && (t->status == PAWL_STATUS_FAILED || t->status == PAWL_STATUS_REJECTED))
        fault_say(t);
    now = status_of(t, true);
    const bool asks = now.state == A2A_INPUT_REQUIRED || now.state == A2A_AUTH_REQUIRED, prompts = asks && t->asked && now.said != NULL;
    const bool own = prompts || a2a_state_over(now.state);

    if (t->spoken != NULL && own && (now.said == NULL || now.said->id != t->spoken->id))
        status_tell(t, A2A_WORKING, t->spoken, fn, ctx);
    if (now.state != t->told.state || t->spoken != NULL || prompts)
        status_tell(t, now.state, own || asks ? now.said : t->spoken, fn, ctx);
    t->spoken = NULL;
    t->asked = false;
}

/* ---- changes ------------------------------------------------------------------------------------------------------------------ */

static void run_changes(a2a_task *t, const pawl_item_change *ch, a2a_json_fn *json, void *ctx)
{
    static const uint8_t statuses[] = { [PAWL_ITEM_PROPOSED] = PAWL_STATUS_SUBMITTED, [PAWL_ITEM_RUNNING] = PAWL_STATUS_WORKING,
        [PAWL_ITEM_WAITING] = PAWL_STATUS_INPUT_REQUIRED, [PAWL_ITEM_IDLE] = PAWL_STATUS_WORKING, [PAWL_ITEM_DONE] = PAWL_STATUS_COMPLETED,
        [PAWL_ITEM_FAILED] = PAWL_STATUS_FAILED, [PAWL_ITEM_DROPPED] = PAWL_STATUS_CANCELED, [PAWL_ITEM_REFUSED] = PAWL_STATUS_REJECTED };

    t->status = statuses[ch->state];
    if (strcmp(ch->part, "start") == 0)
        channels_said(t, parsed(t, json, ctx), t->first != NULL ? t->first : joined(t, arena_text(&t->mem, ch->id), "/start"));
    else if (strcmp(ch->part, "input") == 0 && t->graph)        /* an agent's becomes a message of its conversation */
        channels_said(t, parsed(t, json, ctx), joined(t, arena_text(&t->mem, ch->cursor), "/input"));
    else if (strcmp(ch->part, "signal") == 0)
        signal_said(t, parsed(t, json, ctx));
    else if (strcmp(ch->part, "reopen") == 0)
        t->why = NULL;
}

static void message_changes(a2a_task *t, const pawl_item_change *ch, a2a_json_fn *json, void *json_ctx, a2a_event_fn *fn, void *ctx)
{
    const size_t before = t->nhistory;
    const pawl_value *v;
    const char *role;

    if (strcmp(ch->part, "message") != 0 || (v = parsed(t, json, json_ctx)) == NULL)
        return;
    role = pawl_value_string(pawl_value_get(v, "role"));
    const bool user = role != NULL && strcmp(role, "user") == 0;

    if (role != NULL && strcmp(role, "tool") == 0)
        return;
    if (role != NULL || pawl_value_get(v, "content") != NULL) {
        conversation_add(t, v, arena_text(&t->mem, ch->id), user);
    } else {                    /* a node's own message: any value */
        a2a_message *m = message_add(t, false, arena_text(&t->mem, ch->id), 1);

        if (m != NULL)
            part_of(&m->parts[0], v);
    }
    if (!user && t->nhistory > before && !a2a_task_failed(t))
        agent_says(t, fn, ctx);
}

static void error_comes(a2a_task *t, const pawl_item_change *ch, a2a_json_fn *json, void *ctx)
{
    const char *text = pawl_value_string(pawl_value_get(parsed(t, json, ctx), "text"));

    if (text != NULL)
        t->why = text;
    (void)ch;
}

void a2a_task_take(a2a_task *t, const pawl_item_change *ch, a2a_json_fn *json, void *json_ctx, a2a_event_fn *fn, void *ctx)
{
    const pawl_value *v;

    if (ch->kind == PAWL_ITEM_LINE || (ch->what & PAWL_ITEM_GAP) != 0)
        line_ends(t, fn, ctx);
    if (!numbers_read(ch->cursor + strlen(t->id) + 1, &t->at))
        t->at = (a2a_place){ .seq = ch->seq, .index = ch->index, .sub = UINT64_MAX };
    t->time_ms = ch->time_ms > t->time_ms ? ch->time_ms : t->time_ms;
    if (ch->kind == PAWL_ITEM_LINE)
        return;
    if (ch->kind == PAWL_ITEM_TOOL_CALL || ch->kind == PAWL_ITEM_MESSAGE || ch->kind == PAWL_ITEM_CHILD ||
        (ch->kind == PAWL_ITEM_WAIT && strcmp(ch->name, "sleep") == 0))
        work_changes(t, ch);
    switch (ch->kind) {
    case PAWL_ITEM_RUN: run_changes(t, ch, json, json_ctx); break;
    case PAWL_ITEM_NODE: t->graph = true; break;
    case PAWL_ITEM_MESSAGE: message_changes(t, ch, json, json_ctx, fn, ctx); break;
    case PAWL_ITEM_WAIT:
        if ((ch->what & PAWL_ITEM_ADDED) != 0)
            wait_opens(t, ch, *ch->part != '\0' ? parsed(t, json, json_ctx) : NULL);
        if ((ch->what & PAWL_ITEM_ENDED) != 0)
            wait_ends(t, ch, json, json_ctx);
        break;
    case PAWL_ITEM_ARTIFACT:
        if (strcmp(ch->part, "artifact") == 0 && (v = parsed(t, json, json_ctx)) != NULL && pawl_value_get(v, "value") != NULL)
            artifact_add(t, pawl_value_string(pawl_value_get(v, "name")), pawl_value_get(v, "value"), NULL, fn, ctx);
        break;
    case PAWL_ITEM_ERROR: error_comes(t, ch, json, json_ctx); break;
    case PAWL_ITEM_TASK: case PAWL_ITEM_TOOL_CALL: case PAWL_ITEM_CHILD: case PAWL_ITEM_USAGE: case PAWL_ITEM_LINE: break;
    }
}

void a2a_task_rest(a2a_task *t, a2a_event_fn *fn, void *ctx) { line_ends(t, fn, ctx); }

bool a2a_task_answered(a2a_task *t, const char *wait)
{
    bool found = false;

    for (size_t i = 0; i < t->nwaits; i++)
        if (wait != NULL ? strcmp(t->waits[i].id, wait) == 0 : t->waits[i].kind == A2A_WAIT_INPUT)
            found = t->waits[i].answered = true;
    return found;
}

bool a2a_task_has_children(const a2a_task *t)
{
    bool has = false;

    for (size_t i = 0; i < t->nopen && !has; i++)
        has = t->open[i].child;
    return has;
}

/* Not of its history, which is its journal's. */
static void child_wait_add(a2a_task *t, const char *id, const char *kind, pawl_bytes text)
{
    const pawl_value *spec = value_read(&t->mem, text.data, text.size, "a spec", NULL);
    const size_t before = t->nhistory;
    const bool guessed = t->guessed, asked_now = t->asked;

    wait_opens(t, &(pawl_item_change){ .id = id, .call = id, .name = kind }, spec);
    t->nhistory = before;
    t->guessed = guessed;
    t->asked = asked_now;
    if (t->nwaits > 0 && strcmp(t->waits[t->nwaits - 1].id, id) == 0)
        t->waits[t->nwaits - 1].child = true;
}

void a2a_task_children(a2a_task *t, const char *const *waits, const char *const *kinds, const pawl_bytes *specs, size_t n)
{
    for (size_t i = 0; i < t->nwaits;) {
        size_t k = 0;

        while (k < n && strcmp(t->waits[i].id, waits[k]) != 0)
            k++;
        if (t->waits[i].child && k == n)
            t->waits[i] = t->waits[--t->nwaits];
        else
            i++;
    }
    for (size_t k = 0; k < n && !a2a_task_failed(t); k++) {
        size_t i = 0;

        while (i < t->nwaits && strcmp(t->waits[i].id, waits[k]) != 0)
            i++;
        if (i == t->nwaits)
            child_wait_add(t, waits[k], kinds[k], specs[k]);
    }
}

void a2a_task_given(a2a_task *t, const char *output, a2a_event_fn *fn, void *ctx)
{
    const pawl_value *v = output != NULL ? value_parse(&t->mem, output, strlen(output), "the output", NULL) : NULL;

    if (v != NULL)
        artifact_add(t, "output", v, &t->output_at, fn, ctx);
}
