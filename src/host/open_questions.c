/* open_questions.c - finds the open waits of a run and of the children that it waits for, at any depth.
 *
 * Reads only the store, on the thread of its caller, who holds the store handle. */
#include "host/open_questions.h"
#include "engine/child/child.h"
#include "history/current_state.h"
#include "kernel/names.h"
#include "kernel/state.h"
#include "policy/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)ASKS_RUN_BYTES == (int)RUN_BYTES_MAX + 1, "a run's id has another length");

typedef struct question_reader { pawl_store *store; arena *mem; asks *out; bool *mail; pawl_err *err; } question_reader;

static const pawl_value *kept_value(arena *mem, const pawl_value *v)
{
    return v == NULL ? NULL : value_copy(mem, v);
}

/* The tool call whose outcome is unknown, in the form that an approval has. NULL: the wait is about something else. */
const pawl_value *asks_about(arena *mem, pawl_state *st, const pawl_wait *w)
{
    const pawl_value *one = pawl_agent_unknown_call(st, w);
    const pawl_value *v = one == NULL ? NULL : value_pack(mem, NULL, "{s:v,s:v}", "input", pawl_value_get(one, "input"), "tool", pawl_value_get(one, "name"));

    return v != NULL ? value_copy(mem, v) : NULL;
}

static void ask_add(question_reader *r, const char *run, const char *of, size_t open, pawl_state *st, const pawl_wait *w)
{
    arena *mem = r->mem;
    ask *a;

    if (!arena_room(mem, (void **)&r->out->all, &r->out->cap, r->out->n, sizeof *r->out->all))
        return;
    a = &r->out->all[r->out->n++];
    *a = (ask){ .run = run, .call = of, .open = open, .w = *w };
    a->w.id = arena_text(mem, w->id);
    a->w.slot = arena_text(mem, w->slot);
    a->w.node = arena_text(mem, w->node);
    a->w.asked_of = arena_text(mem, w->asked_of);
    a->w.element = kept_value(mem, w->element);
    a->w.prompt = kept_value(mem, w->prompt);
    a->w.schema = kept_value(mem, w->schema);
    a->w.options = kept_value(mem, w->options);
    a->w.otherwise = kept_value(mem, w->otherwise);
    a->w.approvers = kept_value(mem, w->approvers);
    a->w.signed_by = kept_value(mem, w->signed_by);
    a->w.about = w->about != NULL ? kept_value(mem, w->about) : asks_about(mem, st, w);
}

/* The tool call that started a child of that name: if an id was used twice, the record of the call has the name of the second child. */
static const char *call_of(pawl_state *st, const char *child)
{
    const pawl_value *calls = pawl_state_get(st, "@calls"), *one, *key;
    pawl_iter it = pawl_iter_of(pawl_state_get(st, "@uses"));
    const char *id = child, *name, *rest;
    uint64_t k;

    while (child != NULL && (one = pawl_iter_next(&it, &key)) != NULL)
        if ((name = pawl_value_string(pawl_value_get(one, "child"))) != NULL && strcmp(name, child) == 0 &&
            (rest = digits_read(pawl_value_string(key), &k)) != NULL && *rest == '\0')
            id = pawl_value_string(pawl_value_get(pawl_value_at(calls, (size_t)k), "id"));
    return id;
}

/* A message of an agent to its children, such as an interrupt, that was not delivered yet. */
static bool is_tell_command(pawl_state *st, const pawl_command *cmd)
{
    return cmd->effect != NULL && strcmp(cmd->effect, "tell") == 0 && pawl_state_get(st, "@agent") != NULL;
}

static pawl_code run_read(question_reader *r, const char *run, const char *of, unsigned depth);

static pawl_code children_read(question_reader *r, pawl_state *st, pawl_step *step, unsigned depth)
{
    pawl_code rc = PAWL_OK;
    size_t spawned = 0;

    for (size_t i = 0; i < pawl_state_commands(st) && rc == PAWL_OK; i++) {
        const char *child, *of;
        pawl_command cmd;
        bool refers;

        if ((rc = state_command_bare(st, i, step, &cmd, &refers, r->err)) != PAWL_OK)
            return rc;
        if (cmd.kind != PAWL_COMMAND_SPAWN) {
            r->out->works = true;
            if (r->mail != NULL)
                *r->mail = *r->mail || is_tell_command(st, &cmd);
            continue;
        }
        spawned++;
        child = child_name(r->mem, cmd.id, cmd.child);
        of = arena_text(r->mem, call_of(st, cmd.child));
        if (child != NULL && arena_room(r->mem, (void **)&r->out->children, &r->out->children_cap, r->out->nchildren, sizeof *r->out->children))
            r->out->children[r->out->nchildren++] = (ask_child){ child, of };
        rc = child == NULL || depth == ASKS_DEPTH_MAX ? PAWL_GONE : run_read(r, child, of, depth + 1);
        r->out->works = r->out->works || rc == PAWL_GONE;       /* it will start soon */
        rc = rc == PAWL_GONE ? PAWL_OK : rc;
    }
    r->out->works = r->out->works || (spawned == 0 && pawl_state_status(st) != PAWL_STATUS_INPUT_REQUIRED);
    return rc;
}

static pawl_code waits_read(question_reader *r, const char *run, const char *of, pawl_state *st, pawl_step *step)
{
    const size_t n = pawl_state_waits(st), before = r->out->n;
    wait_list open = {0};
    pawl_code rc = n > 0 ? waits_open(st, r->mem, &open) : PAWL_OK;
    pawl_wait w;

    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if ((rc = pawl_state_wait(st, i, step, &w, r->err)) == PAWL_OK)
            ask_add(r, run, of, n, st, &w);
    for (size_t i = before, k = 0; i < r->out->n; i++) {
        while (k < open.n && strcmp(open.all[k].id, r->out->all[i].w.id) != 0)
            k++;
        r->out->all[i].spec = k < open.n ? open.all[k].spec : (pawl_bytes){ "", 0 };    /* both are in the order of the state */
    }
    return rc;
}

static pawl_code state_read(question_reader *r, const char *run, const char *of, pawl_state *st, unsigned depth)
{
    pawl_step *step = pawl_step_new(NULL);
    pawl_code rc = step == NULL ? fail(r->err, PAWL_NOMEM, "%s: no memory for what it asks", run) : waits_read(r, run, of, st, step);

    if (rc == PAWL_OK)
        rc = children_read(r, st, step, depth);
    pawl_step_free(step);
    return rc;
}

static bool see_mail(void *ctx, const pawl_delivery *d)
{
    static const char *const own[] = { "input", "interrupt", "shutdown", "retry_turn" };        /* signals that an agent takes */
    bool *mail = ctx;

    *mail = d->kind != PAWL_DELIVER_SIGNAL;
    for (size_t i = 0; i < sizeof own / sizeof *own && !*mail; i++)
        *mail = d->name != NULL && strcmp(d->name, own[i]) == 0;
    return !*mail;
}

pawl_code asks_mail(pawl_store *store, const char *run, bool *mail, pawl_err *err)
{
    return store->verbs->deliveries(store, run, see_mail, mail, err);
}

/* Whether it has deliveries that somebody will take; nobody takes those of a parked run. */
static pawl_code mail_read(question_reader *r, const char *run, unsigned depth, pawl_err *err)
{
    pawl_head head;
    pawl_code rc = PAWL_OK;

    if (r->mail == NULL || depth == 0 || *r->mail)
        return PAWL_OK;
    if ((rc = r->store->verbs->head(r->store, run, &head, err)) == PAWL_OK && head.parked == NULL)
        rc = asks_mail(r->store, run, r->mail, err);
    return rc;
}

static pawl_code run_read(question_reader *r, const char *run, const char *of, unsigned depth)
{
    current_state now;
    pawl_err why = {0};
    pawl_code rc = mail_read(r, run, depth, &why);

    if (rc != PAWL_OK) {
        if (rc != PAWL_GONE || depth == 0)
            fail(r->err, rc, "%s", why.text);
        return rc;
    }
    rc = current_state_load(&now, r->store, run, &why);
    if (rc != PAWL_OK && (rc != PAWL_GONE || depth == 0))
        fail(r->err, rc, "%s", why.text);
    if (rc == PAWL_OK)
        rc = state_read(r, run, of, now.st, depth);
    current_state_free(&now);
    return rc;
}

pawl_code asks_read(pawl_store *store, arena *mem, const char *run, asks *out, pawl_err *err)
{
    question_reader r = { store, mem, out, NULL, err };
    pawl_code rc;

    *out = (asks){0};
    rc = run_read(&r, arena_text(mem, run), NULL, 0);
    return rc == PAWL_OK && mem->failed ? fail(err, PAWL_NOMEM, "%s: no memory for what it asks", run) : rc;
}

pawl_code asks_under(pawl_store *store, arena *mem, pawl_state *st, bool *mail, asks *out, pawl_err *err)
{
    question_reader r = { store, mem, out, mail, err };
    const char *run = arena_text(mem, pawl_state_run(st));
    pawl_code rc;

    *out = (asks){0};
    rc = run == NULL ? PAWL_OK : state_read(&r, run, NULL, st, 0);
    return rc == PAWL_OK && mem->failed ? fail(err, PAWL_NOMEM, "%s: no memory for what it asks", pawl_state_run(st)) : rc;
}

pawl_code asks_own(arena *mem, pawl_state *st, asks *out)
{
    question_reader r = { .mem = mem, .out = out };
    pawl_step *step = pawl_step_new(NULL);
    pawl_code rc = step == NULL ? PAWL_NOMEM : waits_read(&r, arena_text(mem, pawl_state_run(st)), NULL, st, step);

    pawl_step_free(step);
    return rc == PAWL_OK && mem->failed ? PAWL_NOMEM : rc;
}

bool ask_is_childs(const ask *a, const char *run) { return strcmp(a->run, run) != 0; }

bool asks_people(const asks *all)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->all[i].w.kind == PAWL_WAIT_APPROVAL || all->all[i].w.kind == PAWL_WAIT_QUESTION)
            return true;
    return false;
}

pawl_status asks_status(const asks *all, pawl_status own)
{
    return own == PAWL_STATUS_WORKING && !all->works && asks_people(all) ? PAWL_STATUS_INPUT_REQUIRED : own;
}

void asks_run_of(const char *wait, char run[ASKS_RUN_BYTES])
{
    snprintf(run, ASKS_RUN_BYTES, "%.*s", (int)strcspn(wait, "~"), wait);
}

pawl_code asks_climb(pawl_store *store, const char *from, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    char run[ASKS_RUN_BYTES];
    pawl_head head;

    for (int i = 0; i < ASKS_DEPTH_MAX; i++, from = head.parent) {
        const char *at = strchr(from, '~');
        const uint64_t life = at != NULL ? strtoull(at + 1, NULL, 16) : 0;
        pawl_code rc;

        asks_run_of(from, run);
        if ((rc = store->verbs->head(store, run, &head, err)) != PAWL_OK)
            return rc;
        if (life != 0 && head.life != life)
            return fail(err, PAWL_GONE, "%s: the run of that id is another one", run);
        if (!fn(ctx, &head) || head.parent == NULL)
            return PAWL_OK;
    }
    return fail(err, PAWL_GONE, "%s: it has more than %d runs above it", run, ASKS_DEPTH_MAX);
}

static bool top_see(void *ctx, const pawl_head *head)
{
    if (!head->over)
        snprintf(ctx, ASKS_RUN_BYTES, "%s", head->run);
    return !head->over;
}

void asks_top(pawl_store *store, const char *run, char top[ASKS_RUN_BYTES])
{
    snprintf(top, ASKS_RUN_BYTES, "%s", run);
    (void)!asks_climb(store, run, top_see, top, NULL);
}

pawl_code ask_always(const char *run, const pawl_value *policy, const pawl_wait *w, char rules[PAWL_ALWAYS_MAX][PAWL_RULE_BYTES], size_t *n, pawl_err *err)
{
    const char *ground = pawl_value_string(pawl_value_get(w->about, "ground")), *risk = pawl_value_string(pawl_value_get(w->about, "risk"));
    pawl_request q = { .tool = pawl_value_string(pawl_value_get(w->about, "tool")), .args = pawl_value_get(w->about, "input"),
                       .mode = pawl_mode_named(pawl_value_string(pawl_value_get(w->about, "mode"))), .cls = PAWL_PERMISSION_OTHER };
    pawl_err why = { PAWL_OK, "" };
    pawl_policy *p;

    if (w->approvers != NULL)
        return fail(err, PAWL_INVALID, "%s: a signature is for one call, and a rule would allow calls that nobody signed: approve this call only", run);
    if (q.tool == NULL || q.args == NULL || ground == NULL || strcmp(ground, pawl_ground_name(PAWL_GROUND_DEFAULT)) != 0)
        return fail(err, PAWL_INVALID, "%s: %s, and no allow rule changes that: approve it once", run,
                    ground == NULL ? "the author of the file asks for it" : "what asks is a rule, a hook, or a command that cannot be parsed reliably");
    for (int k = PAWL_PERMISSION_READ; k <= PAWL_PERMISSION_OTHER; k++)
        if (risk != NULL && strcmp(pawl_permission_name((pawl_permission)k), risk) == 0)
            q.cls = (pawl_permission)k;
    p = pawl_value_type(policy) == PAWL_TYPE_OBJECT ? gate_policy(NULL, policy, &why) : pawl_policy_read(NULL, "{}", 2, &why);
    if (p == NULL)
        return fail(err, why.code < 0 ? why.code : PAWL_NOMEM, "%s", why.text);
    *n = pawl_policy_always(p, &q, rules);
    pawl_policy_free(p);
    return *n > 0 ? PAWL_OK : fail(err, PAWL_INVALID, "%s: no rules can describe the whole call: approve it once", run);
}
