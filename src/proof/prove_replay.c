/* prove_replay.c - drives the machine along a path of prove_path.c by kernel steps alone, with the receipts and answers that the path needs.
 *
 * Receipts of jq expressions and hooks are made up, for a run gets them from outside; channels that plain paths read are written beforehand, as a
 * person may. Where no values lead along the path the machine goes elsewhere, and that is reported. Owns the state that it drives, and frees it.
 * Called by `pawl prove` and tests; pure, one thread. */
#include "file/run/permission.h"
#include "kernel/state.h"
#include "proof/prove.h"

enum { REPLAY_STEPS_MAX = 100000 };

typedef struct replay {
    const agent_file *a;
    const pawl_machine *m;
    arena *mem;
    pawl_err *err;
    const pawl_value *steps;        /* the path */
    pawl_state *st;
    pawl_step *s, *look;
    int64_t now;
    uint64_t ready;                 /* the superstep that everything was written for */
    const char *yes;                /* the visit that has a person's; "" */
    bool left;
    const char *why;
} replay;

/* Where a command or a wait comes from. */
typedef struct origin {
    uint64_t superstep;             /* of the innermost graph */
    const file_node *n;             /* NULL: none of the file */
    const pawl_value *step;         /* of the path; NULL: none */
    bool hole;
    const char *visit;              /* its id without the number of the command */
} origin;

/* ---- the path ----------------------------------------------------------------------------------------------- */

static const char *replay_text(const pawl_value *v, const char *key)
{
    const char *text = pawl_value_string(pawl_value_get(v, key));

    return text != NULL ? text : "";
}

static bool is_kind(const pawl_value *step, const char *kind)
{
    return strcmp(replay_text(step, "kind"), kind) == 0;
}

/* What node does in superstep k of the graph whose steps begin at *from. `enter` and what follows it is a graph's own: *inside and *from. */
static const pawl_value *step_find(const pawl_value *steps, size_t *from, const char *prefix, uint64_t k, const char *node, const pawl_value **inside)
{
    uint64_t at = 0;

    for (size_t i = *from; i < pawl_value_size(steps); i++) {
        const pawl_value *one = pawl_value_at(steps, i);

        if (is_kind(one, "begin") || is_kind(one, "mode"))
            continue;
        if (strcmp(replay_text(one, "graph"), prefix) != 0)
            return NULL;
        if (is_kind(one, "close")) {
            at++;
            continue;
        }
        if (at != k || strcmp(replay_text(one, "node"), node) != 0) {
            if (is_kind(one, "enter"))
                return NULL;
            continue;
        }
        *inside = is_kind(one, "enter") ? steps : pawl_value_get(one, "inside");
        *from = is_kind(one, "enter") ? i + 1 : 0;
        return one;
    }
    return NULL;
}

/* The mode that holds in that superstep. */
static const char *mode_due(const replay *r, uint64_t superstep)
{
    const char *mode = "default";
    uint64_t at = 0;

    for (size_t i = 0; i < pawl_value_size(r->steps); i++) {
        const pawl_value *one = pawl_value_at(r->steps, i);

        if (is_kind(one, "close") && *replay_text(one, "graph") == '\0')
            at++;
        if (at <= superstep && (is_kind(one, "begin") || is_kind(one, "mode")))
            mode = replay_text(one, "mode");
    }
    return mode;
}

/* ---- ids: RUN~LIFE/SUPERSTEP.NODE/VISIT/SUPERSTEP/NODE:I.VISIT.N ----------------------------------------------- */

static const file_node *choice_of(const agent_file *a, const char *name)
{
    const size_t size = strlen(name), suffix = strlen(CHOICE_SUFFIX);
    char copy[NODE_NAME_MAX + 1];

    if (size <= suffix || strcmp(name + size - suffix, CHOICE_SUFFIX) != 0 || size - suffix > NODE_NAME_MAX)
        return NULL;
    memcpy(copy, name, size - suffix);
    copy[size - suffix] = '\0';
    return file_node_find(a, copy);
}

static uint64_t number(const char *text)
{
    uint64_t n = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        n = n * 10 + (uint64_t)(*text - '0');
    return n;
}

static const char *prefix_below(replay *r, const char *prefix, const char *name)
{
    const size_t size = strlen(prefix) + strlen(name) + 2;
    char *out = arena_get(r->mem, size);

    if (out != NULL)
        snprintf(out, size, "%s%s/", prefix, name);
    return out;
}

/* Down the path of a task, a node and two numbers at a time. */
static bool origin_walk(replay *r, char *walk, origin *out)
{
    const pawl_value *steps = r->steps;
    const agent_file *a = r->a;
    const char *prefix = "";
    size_t from = 0;

    for (char *at = walk;;) {
        char *slash = strchr(at, '/'), *colon, *next;
        const pawl_value *inside = NULL;

        if (slash != NULL)
            *slash = '\0';
        if ((colon = strchr(at, ':')) != NULL)
            *colon = '\0';
        out->step = steps == NULL ? NULL : step_find(steps, &from, prefix, out->superstep, at, &inside);
        out->n = file_node_find(a, at) != NULL ? file_node_find(a, at) : choice_of(a, at);
        if (slash == NULL || out->n == NULL || out->n->inner == NULL)
            return out->n != NULL;
        if ((next = strchr(slash + 1, '/')) == NULL)
            return false;
        out->superstep = number(next + 1);
        if ((next = strchr(next + 1, '/')) == NULL)
            return false;
        if ((prefix = prefix_below(r, prefix, out->n->name)) == NULL)
            return false;
        steps = out->step == NULL ? NULL : inside;
        a = out->n->inner;
        at = next + 1;
    }
}

static bool origin_of(replay *r, const char *id, origin *out)
{
    const char *head = strchr(id, '/'), *dot = head != NULL ? strchr(head, '.') : NULL, *n = strrchr(id, '.'), *from = n;
    char *walk;

    *out = (origin){0};
    if (dot == NULL)
        return false;
    while (from > dot + 1 && from[-1] != '.')
        from--;
    out->superstep = number(head + 1);
    out->visit = arena_strdup(r->mem, id, (size_t)(n - id));
    if (from <= dot + 1 || (walk = arena_strdup(r->mem, dot + 1, (size_t)(from - dot - 2))) == NULL || out->visit == NULL ||
        !origin_walk(r, walk, out))
        return false;
    out->hole = out->step != NULL && is_kind(out->step, "act");
    return true;
}

/* ---- events --------------------------------------------------------------------------------------------------------- */

static pawl_code feed(replay *r, pawl_event ev)
{
    pawl_err err = {0};
    pawl_code rc;

    ev.time_ms = r->now++;
    rc = pawl_advance(r->m, r->st, &ev, r->s, &err);
    if (rc < 0)
        fail(r->err, rc, "%s", err.text);
    return rc;
}

static const char *canon_text(replay *r, const pawl_value *v)
{
    const char *out = NULL;
    buf b;

    if (v == NULL)
        return NULL;
    buf_init(&b, &r->mem->alloc);
    canon(&b, v);
    if (!b.failed)
        out = arena_strdup(r->mem, b.data, b.size);
    buf_free(&b);
    return out;
}

static pawl_code feed_value(replay *r, pawl_event ev, const pawl_value *v)
{
    if ((ev.value = canon_text(r, v)) == NULL)
        return fail(r->err, PAWL_NOMEM, "no memory for the replay");
    return feed(r, ev);
}

/* ---- what expressions say ------------------------------------------------------------------------------------------- */

static bool leads_to(const pawl_value *step, const char *name)
{
    const pawl_value *names = pawl_value_get(step, "to");

    for (size_t i = 0; i < pawl_value_size(names); i++)
        if (strcmp(pawl_value_string(pawl_value_at(names, i)), name) == 0)
            return true;
    return pawl_value_size(names) == 0 && strcmp(name, "end") == 0;
}

/* The value that `e`, an expression in a route of `n`, has to have for the path. NULL: `e` does not decide. */
static const pawl_value *deciding(replay *r, const file_node *n, const pawl_value *step, const expression *e)
{
    bool earlier = n->each_node != NULL && leads_to(step, n->each_node);

    if (e == n->each_of)
        return earlier ? value_pack(r->mem, NULL, "[s]", "x") : value_pack(r->mem, NULL, "[]");
    for (size_t i = 0; i < n->nways; i++) {
        const bool takes = !earlier && leads_to(step, n->ways[i].to);

        if (n->ways[i].when == e)
            return value_bool(r->mem, takes);
        earlier = earlier || takes;
    }
    return NULL;
}

/* The n-th word of a text. */
static const pawl_value *word_at(replay *r, const char *text, size_t n)
{
    while (n > 0 && *text != '\0') {
        text += strcspn(text, " ");
        text += *text == ' ';
        n--;
    }
    return *text == '\0' ? value_string(r->mem, "x", 1) : value_string(r->mem, text, strcspn(text, " "));
}

/* An expression that is the whole of a word, for a text that the call is to have. */
static const pawl_value *worded(replay *r, const file_node *n, const pawl_value *step, const expression *e)
{
    const char *call_text = replay_text(step, "call");
    const form *run = NULL;

    for (size_t i = 0; n->call != NULL && i < n->call->n; i++)
        run = strcmp(n->call->keys[i], "run") == 0 ? n->call->items[i] : run;
    for (size_t i = 0; run != NULL && i < run->n; i++)
        for (size_t k = 0; k < run->items[i]->text.npieces; k++)
            if (run->items[i]->text.pieces[k].e == e)
                return word_at(r, call_text, i);
    return value_string(r->mem, "x", 1);
}

static const pawl_value *label_choice(replay *r, const origin *o, const char *label)
{
    const expression *e = NULL;
    const pawl_value *v;

    for (size_t i = 0; i < r->a->njq && e == NULL; i++)
        if (strcmp(r->a->jq[i]->label, label) == 0)
            e = r->a->jq[i];
    if ((v = deciding(r, o->n, o->step, e)) != NULL)
        return v;
    for (size_t i = 0; i < o->n->nsets; i++)
        if (o->n->sets[i].extend)
            return value_pack(r->mem, NULL, "[]");
    return worded(r, o->n, o->step, e);
}

static pawl_code answer_jq(replay *r, const origin *o, const pawl_command *c)
{
    const pawl_value *labels = pawl_value_get(c->args, "jq"), *out = value_pack(r->mem, NULL, "[]");

    for (size_t i = 0; i < pawl_value_size(labels); i++)
        out = value_push(r->mem, out, label_choice(r, o, pawl_value_string(pawl_value_at(labels, i))));
    return feed_value(r, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = c->id }, out);
}

/* A value with which the path gives `v`. */
static const pawl_value *nested(replay *r, const expression *e, size_t from, const pawl_value *v)
{
    for (size_t i = e->nsteps; i > from; i--) {
        const path_step *p = &e->steps[i - 1];

        if (p->key != NULL)
            v = value_with(r->mem, value_pack(r->mem, NULL, "{}"), p->key, v);
        else if (p->index == 0 || p->index == -1)
            v = value_push(r->mem, value_pack(r->mem, NULL, "[]"), v);
    }
    return v;
}

static const pawl_value *written(replay *r, const file_node *n, const pawl_value *out, const expression *e, const pawl_value *v)
{
    if (e == NULL || !e->path || e->nsteps == 0 || e->steps[0].key == NULL || v == NULL || file_channel_find(n->file, e->steps[0].key) == NULL)
        return out;
    return value_with(r->mem, out, e->steps[0].key, nested(r, e, 1, v));
}

typedef struct worded_by { replay *r; const file_node *n; const pawl_value *step, *out; } worded_by;

static void see_word(void *ctx, expression *e, bool whole, bool keeps)
{
    worded_by *w = ctx;

    (void)whole, (void)keeps;
    w->out = written(w->r, w->n, w->out, e, worded(w->r, w->n, w->step, e));
}

/* The values that channels of the run must have for the steps of its superstep k. */
static const pawl_value *writes_due(replay *r, uint64_t k)
{
    const pawl_value *out = value_pack(r->mem, NULL, "{}");
    uint64_t at = 0;

    for (size_t i = 0; i < pawl_value_size(r->steps); i++) {
        const pawl_value *one = pawl_value_at(r->steps, i);
        const file_node *n = *replay_text(one, "graph") != '\0' ? NULL : file_node_find(r->a, replay_text(one, "node"));
        worded_by w = { r, n, one, out };

        at += is_kind(one, "close") && *replay_text(one, "graph") == '\0';
        if (n == NULL)
            n = choice_of(r->a, replay_text(one, "node"));
        if (n == NULL || at != k || *replay_text(one, "graph") != '\0')
            continue;
        if (n->each_of != NULL)
            out = written(r, n, out, n->each_of, deciding(r, n, one, n->each_of));
        for (size_t j = 0; j < n->nways && is_kind(one, "run"); j++)
            if (n->ways[j].when != NULL)
                out = written(r, n, out, n->ways[j].when, deciding(r, n, one, n->ways[j].when));
        w.n = n;
        w.out = out;
        if (n->call != NULL)
            form_each(n->call, see_word, &w);
        out = w.out;
    }
    return out;
}

/* ---- what the world says ----------------------------------------------------------------------------------------------- */

/* A hook's answer that makes another call of it. */
static const pawl_value *rewriting(replay *r, const origin *o, const char *says)
{
    const char *call_text = replay_text(o->step, "call"), *text;
    const pawl_value *input = value_pack(r->mem, NULL, "{s:s}", "command", *call_text != '\0' ? call_text : "x"), *own;

    if (says == NULL)
        return value_pack(r->mem, NULL, "{s:v,s:s}", "args", input, "verdict", "modify");
    own = value_pack(r->mem, NULL, "{s:{s:s,s:s,s:v}}", "hookSpecificOutput", "hookEventName", "PreToolUse", "permissionDecision", says,
                     "updatedInput", input);
    text = canon_text(r, own);
    return text == NULL ? NULL : value_pack(r->mem, NULL, "{s:i,s:s,s:s}", "status", (int64_t)0, "stderr", "", "stdout", text);
}

static pawl_code answer_hook(replay *r, const origin *o, const pawl_command *c, bool edited)
{
    static const struct { const char *outcome; pawl_outcome how; const char *value; } rows[] = {
        { "allows it", PAWL_OUTCOME_DONE,
          "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\","
          "\\\"permissionDecision\\\":\\\"allow\\\"}}\"}" },
        { "asks", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\","
                             "\\\"permissionDecision\\\":\\\"ask\\\"}}\"}" },
        { "denies it", PAWL_OUTCOME_DONE, "{\"verdict\":\"deny\"}" },
        { "times out", PAWL_OUTCOME_TIMEOUT, "{\"code\":\"timeout\",\"text\":\"it took too long\"}" },
        { "crashes", PAWL_OUTCOME_DONE, "{\"signal\":11,\"status\":139,\"stderr\":\"\",\"stdout\":\"\"}" },
        { "answers garbage", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"permissionDecision\"}" },
    };
    const char *name = replay_text(pawl_value_get(c->args, "hook"), "name"), *outcome = replay_text(o->step, "outcome");
    const bool here = strcmp(name, replay_text(o->step, "hook")) == 0;
    const pawl_value *names = pawl_value_get(o->step, "to");

    if (strcmp(replay_text(pawl_value_get(c->args, "input"), "hook_event_name"), hook_point_name(HOOK_POST)) == 0) {
        if (strcmp(replay_text(o->step, "way"), "hook") != 0)
            return feed(r, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = c->id, .value = "{\"verdict\":\"proceed\"}" });
        names = pawl_value_size(names) > 0 ? names : value_pack(r->mem, NULL, "[s]", "end");
        return feed_value(r, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = c->id }, value_pack(r->mem, NULL, "{s:v,s:s}", "goto", names, "verdict",
                                                                                              "modify"));
    }
    for (size_t i = 0; here && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].outcome, outcome) == 0)
            return feed(r, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = c->id, .outcome = rows[i].how, .value = rows[i].value });
    if ((here && strncmp(outcome, "rewrites", 8) == 0) || (edited && pawl_value_get(o->step, "edited") != NULL))
        return feed_value(r, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = c->id }, rewriting(r, o, strstr(outcome, "allows") != NULL ? "allow"
                                                                                             : strstr(outcome, "asks") != NULL ? "ask" : NULL));
    return feed(r, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = c->id, .value = "{\"verdict\":\"proceed\"}" });
}

static pawl_code answer_call(replay *r, const origin *o, const pawl_command *c)
{
    const file_node *n = o->n;

    if (strcmp(replay_text(o->step, "way"), "error") == 0)
        return feed(r, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = c->id, .outcome = PAWL_OUTCOME_ERROR,
                                     .value = "{\"code\":\"effect\",\"text\":\"it failed\"}" });
    if (n->kind == KIND_RUN || n->kind == KIND_SHELL)
        return feed(r, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = c->id, .value = "{\"status\":0,\"stderr\":\"\",\"stdout\":\"1\\n\"}" });
    if (n->kind == KIND_HTTP)
        return feed(r, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = c->id,
                                     .value = "{\"body\":\"1\",\"body_json\":1,\"headers\":{},\"status\":200}" });
    return feed(r, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = c->id, .value = n->kind == KIND_PROMPT ? "{\"text\":\"1\"}" : "{}" });
}

static pawl_code one_command(replay *r, const pawl_command *given)
{
    const pawl_command c = { .id = arena_text(r->mem, given->id), .kind = given->kind, .effect = given->effect,
                             .args = given->args, .due_ms = given->due_ms };
    const bool hooked_by = c.effect != NULL && strcmp(c.effect, "hook") == 0, jq = c.effect != NULL && strcmp(c.effect, "jq") == 0;
    origin o;

    if (c.id == NULL || !origin_of(r, c.id, &o))
        return fail(r->err, PAWL_INVALID, "the replay does not know %.100s", given->id);
    if (c.kind == PAWL_COMMAND_SLEEP) {
        r->now = c.due_ms > r->now ? c.due_ms : r->now;
        return feed(r, (pawl_event){ .kind = PAWL_EV_TIMER, .id = c.id });
    }
    if (jq && !(o.n->on_error.name != NULL && strcmp(replay_text(o.step, "way"), "error") == 0 && !guard_acts(o.n)))
        return answer_jq(r, &o, &c);
    if (hooked_by)
        return answer_hook(r, &o, &c, strcmp(r->yes, o.visit) == 0);
    if (o.hole) {
        r->left = strcmp(r->yes, o.visit) != 0 || pawl_value_get(o.step, "edited") != NULL;
        r->why = "it left, with a person's yes";
        return PAWL_HALTED;
    }
    return answer_call(r, &o, &c);
}

static const pawl_value *question_value(replay *r, const pawl_wait *w)
{
    const char *type = pawl_value_string(pawl_value_get(w->schema, "type"));
    const pawl_value *values = pawl_value_get(w->schema, "enum");

    if (pawl_value_size(w->options) > 0)
        return value_option(pawl_value_at(w->options, 0));
    if (pawl_value_size(values) > 0)
        return pawl_value_at(values, 0);
    if (type != NULL && (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0))
        return pawl_value_get(w->schema, "minimum") != NULL ? pawl_value_get(w->schema, "minimum") : value_int(r->mem, 0);
    if (type != NULL && strcmp(type, "object") == 0)
        return value_pack(r->mem, NULL, "{}");
    if (type != NULL && strcmp(type, "array") == 0)
        return value_pack(r->mem, NULL, "[]");
    return type != NULL && strcmp(type, "boolean") == 0 ? value_bool(r->mem, true) : value_string(r->mem, "x", 1);
}

static pawl_code one_wait(replay *r, const pawl_wait *w)
{
    const char *id = arena_text(r->mem, w->id);
    const pawl_value *yes, *input;
    origin o;

    if (id == NULL || !origin_of(r, id, &o))
        return fail(r->err, PAWL_INVALID, "the replay does not know %.100s", w->id);
    if (w->kind == PAWL_WAIT_SIGNAL && o.n->signal != NULL)
        return feed(r, (pawl_event){ .kind = PAWL_EV_SIGNAL, .name = o.n->signal, .value = "1" });
    if (w->kind != PAWL_WAIT_APPROVAL)
        return feed_value(r, (pawl_event){ .kind = PAWL_EV_ANSWER, .id = id }, question_value(r, w));
    yes = pawl_value_get(o.step, "yes");
    if (o.hole && pawl_value_get(o.step, "edited") == NULL) {
        r->why = "a person is asked first";
        return PAWL_HALTED;
    }
    if (yes != NULL && !pawl_value_bool(yes))
        return feed(r, (pawl_event){ .kind = PAWL_EV_ANSWER, .id = id, .value = "false" });
    r->yes = o.visit;
    if (!o.hole)
        return feed(r, (pawl_event){ .kind = PAWL_EV_ANSWER, .id = id, .value = "true" });
    input = value_pack(r->mem, NULL, "{s:b,s:{s:s}}", "approve", 1, "input", "command", "true");
    return feed_value(r, (pawl_event){ .kind = PAWL_EV_ANSWER, .id = id }, input);
}

/* Of the open calls and waits, those that the path names come first; the others may stay open. */
static pawl_code answer_one(replay *r)
{
    pawl_command c;
    pawl_wait w;
    origin o;

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < pawl_state_waits(r->st); i++) {
            if (pawl_state_wait(r->st, i, r->look, &w, r->err) != PAWL_OK)
                return PAWL_NOMEM;
            if (!origin_of(r, w.id, &o) || round == 1 || o.step != NULL)
                return one_wait(r, &w);
        }
        for (size_t i = 0; i < pawl_state_commands(r->st); i++) {
            if (pawl_state_command(r->st, i, r->look, &c, NULL, r->err) != PAWL_OK)
                return PAWL_NOMEM;
            if (!origin_of(r, c.id, &o) || round == 1 || o.step != NULL)
                return one_command(r, &c);
        }
    }
    r->why = "nothing is left to be answered";
    return PAWL_HALTED;
}

/* ---- driven ------------------------------------------------------------------------------------------------------------- */

static uint64_t superstep(const replay *r)
{
    return r->st->root.superstep;
}

/* Values for a superstep are written before it begins: while the one before it is open, or none is. */
static pawl_code write_ahead(replay *r)
{
    const uint64_t next = superstep(r) + (r->st->root.open ? 1 : 0);
    const pawl_value *due;
    const char *mode = mode_due(r, next);

    if (r->ready >= next)
        return PAWL_OK;
    r->ready = next;
    if ((due = writes_due(r, next)) == NULL || (due = value_with(r->mem, due, "@mode", value_string(r->mem, mode, strlen(mode)))) == NULL)
        return fail(r->err, PAWL_NOMEM, "no memory for the replay");
    return feed_value(r, (pawl_event){ .kind = PAWL_EV_UPDATE, .by = "replay" }, due);
}

static pawl_code begin(replay *r, const pawl_value *policy)
{
    const pawl_run_info info = { .id = "replay", .life = 1, .seed = 1, .created_ms = 1 };
    const pawl_value *input = writes_due(r, 1);
    const char *mode = mode_due(r, 1), *cwd = pawl_value_string(pawl_value_get(policy, "cwd"));

    cwd = cwd != NULL ? cwd : "/";
    input = value_with(r->mem, input, "@mode", value_string(r->mem, mode, strlen(mode)));
    input = value_with(r->mem, input, "@cwd", value_string(r->mem, cwd, strlen(cwd)));
    if (policy != NULL)
        input = value_with(r->mem, input, "@policy", policy);
    r->s = pawl_step_new(&r->mem->alloc);
    r->look = pawl_step_new(&r->mem->alloc);
    if (r->s == NULL || r->look == NULL || input == NULL)
        return fail(r->err, PAWL_NOMEM, "no memory for the replay");
    if (pawl_state_new(r->m, &info, PAWL_STATE_NO_JOURNAL, &r->mem->alloc, &r->st, r->err) != PAWL_OK)
        return r->err->code;
    r->now = 1000;
    r->ready = 1;
    return feed_value(r, (pawl_event){ .kind = PAWL_EV_START }, input);
}

static pawl_code drive_path(replay *r, const pawl_value *policy)
{
    pawl_code rc = begin(r, policy);

    for (size_t i = 0; rc >= 0 && i < REPLAY_STEPS_MAX; i++) {
        pawl_code next = pawl_state_next(r->st);

        if (next == PAWL_HALTED) {
            const char *text = pawl_value_string(pawl_value_get(pawl_state_reason(r->st), "text"));

            text = text != NULL ? text : pawl_status_name(pawl_state_status(r->st));
            r->why = arena_text(r->mem, text);
            return PAWL_OK;
        }
        if ((rc = write_ahead(r)) < 0)
            return rc;
        rc = pawl_state_next(r->st) == PAWL_OK ? feed(r, (pawl_event){ .kind = PAWL_EV_TICK }) : answer_one(r);
        if (rc == PAWL_HALTED && (r->left || (r->why != NULL && pawl_state_next(r->st) != PAWL_HALTED)))
            return PAWL_OK;
    }
    r->why = r->why != NULL ? r->why : "it goes on for ever";
    return rc < 0 ? rc : PAWL_OK;
}

pawl_code prove_replay(const agent_file *a, const pawl_machine *m, const pawl_value *policy, const pawl_value *path, arena *mem, bool *left,
                       const char **why,
                       pawl_err *err)
{
    replay r = { .a = a, .m = m, .mem = mem, .err = err, .steps = path, .yes = "" };
    const pawl_value *last = pawl_value_at(path, pawl_value_size(path) - 1);
    pawl_code rc;

    *left = false;
    *why = NULL;
    if (pawl_value_size(path) == 0 || !is_kind(last, "act"))
        return fail(err, PAWL_INVALID, "it is no path to a command: `pawl check --prove FILE --path OUT` writes one");
    rc = drive_path(&r, policy);
    *left = r.left;
    *why = r.left ? NULL : r.why;
    pawl_state_free(r.st);
    pawl_step_free(r.s);
    pawl_step_free(r.look);
    return rc;
}
