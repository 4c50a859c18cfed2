/* handle.c - messages to an agent: each is a delivery, durable when the call returns, which the process that drives the run takes (E16).
 *
 * Called on any thread, one at a time for a handle; the store is used under the lock of the host (host_hold). Also what a program reads of an agent's
 * channels. */
#include "agent/agent.h"
#include "host/open_questions.h"
#include "host/host.h"
#include "history/current_state.h"
#include "history/index_check.h"
#include "policy/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pawl_code pawl_handle_by(pawl_handle *a, const char *by, pawl_err *err)
{
    const size_t n = by == NULL ? 0 : strlen(by);

    if (a == NULL)
        return fail(err, PAWL_INVALID, "there is no handle");
    if (n >= sizeof a->by || !utf8_valid(by != NULL ? by : "", n))
        return fail(err, PAWL_INVALID, "%s: who speaks has a name of UTF-8 and at most %zu bytes", a->id, sizeof a->by - 1);
    memcpy(a->by, by != NULL ? by : "", n + 1);
    return PAWL_OK;
}

/* Called while the store is held. */
static pawl_code left_for(pawl_handle *a, pawl_store *s, const char *run, pawl_delivery *d, pawl_err *err)
{
    uint64_t drawn[2];
    char id[40];
    pawl_code rc;

    if (!chance(a->h->e, drawn))
        return fail(err, PAWL_IO, "%s: the system gives no random numbers", a->id);
    snprintf(id, sizeof id, "h-%016llx%016llx", (unsigned long long)drawn[0], (unsigned long long)drawn[1]);
    d->id = id;
    d->by = a->by[0] != '\0' ? a->by : NULL;
    rc = s->verbs->deliver(s, run, d, err);
    pawl_engine_wake(a->h->e);
    return rc;
}

static pawl_code is_there(pawl_handle *a, pawl_store *s, pawl_err *err)
{
    pawl_head head;
    const pawl_code rc = handle_head(a, s, &head, err);

    if (rc != PAWL_OK)
        return rc;
    return head.over ? fail(err, PAWL_CONFLICT, "%s: the run has ended, and takes no more messages", a->id) : PAWL_OK;
}

static pawl_code signal_leave(pawl_handle *a, const char *name, const char *value, pawl_err *err)
{
    pawl_delivery d = { .kind = PAWL_DELIVER_SIGNAL, .name = name };
    pawl_store *s;
    pawl_code rc;

    if (a == NULL)
        return fail(err, PAWL_INVALID, "there is no handle");
    if (value != NULL)
        d.value = (pawl_bytes){ value, strlen(value) };
    s = host_hold(a->h);
    if ((rc = is_there(a, s, err)) == PAWL_OK)
        rc = left_for(a, s, a->id, &d, err);
    host_let(a->h);
    return rc;
}

pawl_code pawl_handle_send(pawl_handle *a, const char *input, pawl_err *err)
{
    const pawl_value *v;
    pawl_err why = {0};
    arena mem;

    if (input == NULL)
        return fail(err, PAWL_INVALID, "%s: input is JSON text", a != NULL ? a->id : "");
    arena_init(&mem, NULL, 1024);
    v = value_parse(&mem, input, strlen(input), "input", NULL);
    if (v != NULL)
        (void)input_check(v, &why);
    arena_free(&mem);
    if (why.code != PAWL_OK)    /* the store refuses invalid JSON, and the machine invalid input: it may not be an agent's */
        return fail(err, PAWL_INVALID, "%s: %s", a != NULL ? a->id : "", why.text);
    return signal_leave(a, "input", input, err);
}

pawl_code pawl_handle_interrupt(pawl_handle *a, pawl_err *err) { return signal_leave(a, "interrupt", NULL, err); }
/* Called while the store is held. */
static pawl_code retry_leave(pawl_handle *a, pawl_store *s, pawl_err *err)
{
    pawl_delivery d = { .kind = PAWL_DELIVER_SIGNAL, .name = "retry_turn" };
    pawl_agent_view v;
    current_state now;
    pawl_code rc = current_state_load(&now, s, a->id, err);

    if (rc == PAWL_OK)
        rc = pawl_agent_display(now.st, &v, err);
    if (rc == PAWL_OK && pawl_state_status(now.st) == PAWL_STATUS_FAILED)
        d = (pawl_delivery){ .kind = PAWL_DELIVER_REOPEN };
    else if (rc == PAWL_OK && !pawl_agent_can_retry(now.st))
        rc = fail(err, PAWL_INVALID, "%s: its last turn has not failed, and there is nothing to try again", a->id);
    current_state_free(&now);
    return rc == PAWL_OK ? left_for(a, s, a->id, &d, err) : rc;
}

pawl_code pawl_handle_retry(pawl_handle *a, pawl_err *err)
{
    pawl_head head;
    pawl_store *s;
    pawl_code rc;

    if (a == NULL)
        return fail(err, PAWL_INVALID, "there is no handle");
    s = host_hold(a->h);
    if ((rc = handle_head(a, s, &head, err)) == PAWL_OK)
        rc = retry_leave(a, s, err);
    host_let(a->h);
    return rc;
}

pawl_code pawl_handle_shutdown(pawl_handle *a, pawl_err *err) { return signal_leave(a, "shutdown", NULL, err); }

/* ---- which wait is meant -------------------------------------------------------------------------- */

typedef struct meaning {
    const char *want;           /* an id or a slot; NULL: the only open wait */
    bool approvals;             /* only approvals count */
    bool exact;                 /* the id matches */
    size_t n;
    bool other;                 /* it is open, but of another kind */
    arena mem;
    const char *run, *id;       /* the run that waits: that of the handle, or a child */
} meaning;

static bool of_kind(const meaning *m, const pawl_value *spec)
{
    const char *kind = pawl_value_string(pawl_value_get(spec, "kind"));

    if (kind == NULL)
        return false;
    return strcmp(kind, "approval") == 0 || (!m->approvals && (m->want != NULL || strcmp(kind, "question") == 0));
}

static bool see_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    meaning *m = ctx;
    const pawl_value *spec = value_parse(&m->mem, w->spec.data, w->spec.size, "a wait", NULL);
    const char *slot = pawl_value_string(pawl_value_get(spec, "slot"));

    m->exact = m->want != NULL && strcmp(m->want, w->id) == 0;
    if (m->want != NULL && !m->exact && (slot == NULL || strcmp(slot, m->want) != 0))
        return true;
    if (!of_kind(m, spec)) {
        m->other = m->other || m->want != NULL;
        return !m->exact;
    }
    m->n++;
    m->id = arena_text(&m->mem, w->id);
    m->run = arena_text(&m->mem, run);
    return !m->exact && !m->mem.failed;
}

/* An id contains its run: it must be this run or one of its descendants. */
static bool is_above(pawl_store *s, const char *run, const char *of)
{
    char at[ASKS_RUN_BYTES];
    pawl_head head;

    snprintf(at, sizeof at, "%s", of);
    for (int i = 0; i < ASKS_DEPTH_MAX && strcmp(at, run) != 0; i++) {
        if (s->verbs->head(s, at, &head, NULL) != PAWL_OK || head.parent == NULL)
            return false;
        asks_run_of(head.parent, at);
    }
    return strcmp(at, run) == 0;
}

/* Searches the run's own waits, then those of the children that it waits for, at any depth; with an id only in its run. */
static pawl_code waits_find(pawl_handle *a, pawl_store *s, meaning *m, pawl_err *err)
{
    char of[ASKS_RUN_BYTES];
    asks all;
    pawl_code rc;

    m->run = a->id;
    if (m->want != NULL && strchr(m->want, '~') != NULL) {
        asks_run_of(m->want, of);
        if (strcmp(of, a->id) != 0 && is_above(s, a->id, of) && (m->run = arena_text(&m->mem, of)) == NULL)
            return PAWL_OK;
        return waits_checked(s, m->run, see_wait, m, err);
    }
    if ((rc = waits_checked(s, a->id, see_wait, m, err)) != PAWL_OK || (rc = asks_read(s, &m->mem, a->id, &all, err)) != PAWL_OK)
        return rc;
    for (size_t i = 0; i < all.nchildren && rc == PAWL_OK; i++)
        if ((rc = waits_checked(s, all.children[i].run, see_wait, m, err)) == PAWL_GONE)
            rc = PAWL_OK;       /* it will start soon */
    return rc;
}

static pawl_code meant(pawl_handle *a, pawl_store *s, meaning *m, pawl_err *err)
{
    const pawl_code rc = waits_find(a, s, m, err);

    if (rc != PAWL_OK)
        return rc;
    if (m->mem.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for an answer", a->id);
    if (m->exact && m->n > 0)
        return PAWL_OK;
    if (m->n > 1)
        return fail(err, PAWL_INVALID, "%s: %zu waits are open%s%s: name one by its id", a->id, m->n, m->want != NULL ? " in " : "",
                    m->want != NULL ? m->want : "");
    if (m->n == 0 && m->other)
        return fail(err, PAWL_INVALID, "%s: %s is no approval", a->id, m->want);
    if (m->n == 0 && m->want == NULL)
        return fail(err, PAWL_INVALID, m->approvals ? "%s: no approval is asked" : "%s: nothing is asked", a->id);
    if (m->n == 0)
        m->id = m->want;        /* the store knows whether it was ever opened, and its answer */
    return PAWL_OK;
}

static pawl_code answer_leave(pawl_handle *a, const char *wait, bool approvals, const char *json, pawl_err *err)
{
    pawl_delivery d = { .kind = PAWL_DELIVER_ANSWER };
    meaning m = { .want = wait, .approvals = approvals };
    pawl_store *s;
    pawl_code rc;

    if (a == NULL || json == NULL)
        return fail(err, PAWL_INVALID, "%s: an answer is JSON text", a != NULL ? a->id : "");
    d.value = (pawl_bytes){ json, strlen(json) };
    arena_init(&m.mem, &a->h->alloc, 512);
    s = host_hold(a->h);
    if ((rc = is_there(a, s, err)) == PAWL_OK && (rc = meant(a, s, &m, err)) == PAWL_OK) {
        d.name = m.id;
        rc = left_for(a, s, m.run, &d, err);
    }
    host_let(a->h);
    arena_free(&m.mem);
    return rc;
}

pawl_code pawl_handle_answer(pawl_handle *a, const char *wait, const char *json, pawl_err *err)
{
    return answer_leave(a, wait, false, json, err);
}

/* It is put into an answer unchanged, so it must be exactly one JSON object. */
static pawl_code object_check(const pawl_handle *a, const char *input, pawl_err *err)
{
    const pawl_value *v;
    pawl_err why = {0};
    arena mem;
    pawl_type type;

    arena_init(&mem, NULL, 1024);
    v = value_parse(&mem, input, strlen(input), "another input", &why);
    type = pawl_value_type(v);
    arena_free(&mem);
    if (v == NULL)
        return fail(err, why.code, "%s: %s", a != NULL ? a->id : "", why.text);
    return type == PAWL_TYPE_OBJECT ? PAWL_OK : fail(err, PAWL_INVALID, "%s: another input is an object", a != NULL ? a->id : "");
}

pawl_code pawl_handle_permit(pawl_handle *a, const char *wait, bool yes, const char *note, const char *input, pawl_err *err)
{
    pawl_code rc;
    buf b;

    if (input != NULL && !yes)
        return fail(err, PAWL_INVALID, "%s: another input goes with a yes", a != NULL ? a->id : "");
    if (input != NULL && (rc = object_check(a, input, err)) != PAWL_OK)
        return rc;
    if (note == NULL && input == NULL)
        return answer_leave(a, wait, true, yes ? "true" : "false", err);
    buf_init(&b, NULL);
    buf_text(&b, yes ? "{\"approve\":true" : "{\"approve\":false");
    if (input != NULL) {
        buf_text(&b, ",\"input\":");
        buf_text(&b, input);
    }
    if (note != NULL) {
        buf_text(&b, ",\"note\":");
        canon_string(&b, note, strlen(note));
    }
    buf_put(&b, "}", 2);
    rc = b.failed ? fail(err, PAWL_NOMEM, "no memory for an answer") : answer_leave(a, wait, true, b.data, err);
    buf_free(&b);
    return rc;
}

/* ---- rights ---------------------------------------------------------------------------------------------------- */

static pawl_code update_leave(pawl_handle *a, const char *run, const char *update, pawl_err *err)
{
    pawl_delivery d = { .kind = PAWL_DELIVER_UPDATE, .value = { update, strlen(update) } };
    pawl_store *s = host_hold(a->h);
    pawl_code rc = is_there(a, s, err);

    if (rc == PAWL_OK)
        rc = left_for(a, s, run, &d, err);
    host_let(a->h);
    return rc;
}

/* Rules that cannot be read would stop the agent, so they are read here first. */
static pawl_code rules_check(const pawl_handle *a, arena *mem, const pawl_value *update, pawl_err *err)
{
    const pawl_value *policy = pawl_value_get(update, "@policy"), *grants = pawl_value_get(update, "@grants"), *all;
    const pawl_type type = pawl_value_type(policy);
    hook_list hooks;
    pawl_err why = {0};
    pawl_policy *p;
    pawl_code rc;

    if (policy != NULL && type != PAWL_TYPE_OBJECT && type != PAWL_TYPE_NULL)
        return fail(err, PAWL_INVALID, "%s: @policy is an object of rules, or null", a->id);
    if (grants != NULL && pawl_value_type(grants) != PAWL_TYPE_ARRAY)
        return fail(err, PAWL_INVALID, "%s: @grants is a list of rules such as [{\"rule\":\"Bash(make)\"}]", a->id);
    if ((all = gate_rules(mem, policy, grants != NULL ? value_pack(mem, NULL, "[v]", grants) : NULL)) == NULL)
        return mem->failed ? fail(err, PAWL_NOMEM, "%s: no memory for its rules", a->id) : PAWL_OK;
    if ((p = gate_policy(NULL, all, &why)) == NULL)
        return fail(err, why.code, "%s: %s", a->id, why.text);
    pawl_policy_free(p);
    rc = gate_hooks(mem, all, &hooks, &why);
    return rc == PAWL_OK ? rc : fail(err, rc, "%s: %s", a->id, why.text);
}

/* Each member is a channel that an agent lets others change. */
static pawl_code update_check(const pawl_handle *a, arena *mem, const pawl_value *v, const char *text, pawl_err *err)
{
    static const char *const channels[] = { "@mode", "@policy", "@grants", "@config" };
    const pawl_value *mode = pawl_value_get(v, "@mode"), *config = pawl_value_get(v, "@config"), *key;
    pawl_iter it = pawl_iter_of(v);

    if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_INVALID, "%s: an update is an object of channels, and not %.60s", a->id, text);
    while (pawl_iter_next(&it, &key) != NULL) {
        const char *name = pawl_value_string(key);
        size_t i = 0;

        while (i < sizeof channels / sizeof *channels && strcmp(name, channels[i]) != 0)
            i++;
        if (i == sizeof channels / sizeof *channels)
            return fail(err, PAWL_INVALID, "%s: an update may have @mode, @policy, @grants and @config, and not \"%.60s\"", a->id, name);
    }
    if (mode != NULL && pawl_mode_named(pawl_value_string(mode)) == PAWL_MODE_NONE)
        return fail(err, PAWL_INVALID, "%s: @mode is one of plan, default, acceptEdits, bypassPermissions", a->id);
    if (config != NULL && pawl_value_type(config) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_INVALID, "%s: @config is an object", a->id);
    return rules_check(a, mem, v, err);
}

pawl_code pawl_handle_update(pawl_handle *a, const char *update, pawl_err *err)
{
    const pawl_value *v;
    pawl_err why = {0};
    pawl_code rc;
    arena mem;

    if (a == NULL || update == NULL)
        return fail(err, PAWL_INVALID, "%s: an update is JSON text", a != NULL ? a->id : "");
    arena_init(&mem, NULL, 1024);
    v = value_parse(&mem, update, strlen(update), "an update", &why);
    rc = v == NULL ? fail(err, why.code, "%s: %s", a->id, why.text) : update_check(a, &mem, v, update, err);
    arena_free(&mem);
    return rc != PAWL_OK ? rc : update_leave(a, a->id, update, err);
}

pawl_code pawl_handle_mode(pawl_handle *a, pawl_mode mode, pawl_err *err)
{
    char text[64];

    if (*pawl_mode_name(mode) == '\0')
        return fail(err, PAWL_INVALID, "%s: there is no mode %d", a != NULL ? a->id : "", (int)mode);
    snprintf(text, sizeof text, "{\"@mode\":\"%s\"}", pawl_mode_name(mode));
    return pawl_handle_update(a, text, err);
}

typedef struct allowed { char rules[PAWL_ALWAYS_MAX][PAWL_RULE_BYTES]; size_t n; char run[ASKS_RUN_BYTES], id[ASKS_RUN_BYTES + 256]; } allowed;

/* The rules that would allow the call about which the wait asks. Called while the store is held. */
static pawl_code allowed_read(pawl_store *s, meaning *m, allowed *out, pawl_err *err)
{
    current_state now;
    asks open = {0};
    size_t i = 0;
    pawl_code rc = current_state_load(&now, s, m->run, err);

    if (rc == PAWL_OK)
        rc = asks_own(&m->mem, now.st, &open);
    while (i < open.n && strcmp(open.all[i].w.id, m->id) != 0)
        i++;
    if (rc == PAWL_OK)
        rc = i == open.n ? fail(err, PAWL_CONFLICT, "%s: the approval %s is not open", m->run, m->id)
                         : ask_always(m->run, pawl_state_get(now.st, "@policy"), &open.all[i].w, out->rules, &out->n, err);
    else
        (void)fail(err, rc, "%s: what it asks cannot be read", m->run);
    current_state_free(&now);
    return rc;
}

/* Which wait is meant, and those rules. */
static pawl_code allowed_find(pawl_handle *a, const char *wait, allowed *out, pawl_err *err)
{
    meaning m = { .want = wait, .approvals = true };
    pawl_store *s;
    pawl_code rc;

    arena_init(&m.mem, &a->h->alloc, 512);
    s = host_hold(a->h);
    if ((rc = is_there(a, s, err)) == PAWL_OK && (rc = meant(a, s, &m, err)) == PAWL_OK && (rc = allowed_read(s, &m, out, err)) == PAWL_OK) {
        snprintf(out->run, sizeof out->run, "%s", m.run);
        snprintf(out->id, sizeof out->id, "%s", m.id);
    }
    host_let(a->h);
    arena_free(&m.mem);
    return rc;
}

/* A run that has ended after the yes asks nothing any more. */
static pawl_code grants_leave(pawl_handle *a, const char *run, const char *update, pawl_err *err)
{
    pawl_err why = {0};
    const pawl_code rc = update_leave(a, run, update, &why);

    return rc == PAWL_OK || rc == PAWL_CONFLICT || rc == PAWL_GONE ? PAWL_OK : fail(err, rc, "%s", why.text);
}

pawl_code pawl_handle_allow(pawl_handle *a, const char *wait, int64_t until_ms, pawl_err *err)
{
    allowed found = { .n = 0 };
    pawl_code rc;
    buf b;

    if (a == NULL || until_ms < 0)
        return fail(err, PAWL_INVALID, "%s: there is no %s", a != NULL ? a->id : "", a != NULL ? "such time" : "handle");
    if ((rc = allowed_find(a, wait, &found, err)) != PAWL_OK)
        return rc;
    buf_init(&b, NULL);
    buf_text(&b, "{\"@grants\":[");
    for (size_t i = 0; i < found.n; i++) {
        buf_text(&b, i > 0 ? ",{\"from\":\"an approval\",\"rule\":" : "{\"from\":\"an approval\",\"rule\":");
        canon_string(&b, found.rules[i], strlen(found.rules[i]));
        if (until_ms > 0)
            buf_fmt(&b, ",\"until\":%lld", (long long)until_ms);
        buf_text(&b, "}");
    }
    buf_put(&b, "]}", 3);
    /* The yes first: the agent decides an open call again when it gets grants, and the approval would be closed before its answer came. */
    rc = b.failed ? fail(err, PAWL_NOMEM, "%s: no memory for the rules", a->id) : pawl_handle_permit(a, found.id, true, NULL, NULL, err);
    if (rc == PAWL_OK)
        rc = grants_leave(a, found.run, b.data, err);
    if (rc == PAWL_OK && strcmp(found.run, a->id) != 0)     /* its other children, too */
        rc = grants_leave(a, a->id, b.data, err);
    buf_free(&b);
    return rc;
}

/* ---- what it has said --------------------------------------------------------------------------------------------- */

char *pawl_handle_channel(pawl_handle *a, const char *channel, pawl_err *err)
{
    pawl_state *st = NULL;
    const pawl_value *v;
    pawl_head head;
    pawl_store *s;
    char *text = NULL;
    pawl_code rc;
    buf b;

    if (a == NULL || channel == NULL) {
        fail(err, PAWL_INVALID, "%s: which channel?", a != NULL ? a->id : "");
        return NULL;
    }
    buf_init(&b, NULL);
    s = host_hold(a->h);
    if ((rc = handle_head(a, s, &head, err)) == PAWL_OK && (rc = pawl_history_state(s, a->id, 0, &st, err)) == PAWL_OK) {
        if ((v = pawl_state_get(st, channel)) != NULL)
            canon(&b, v);
        else
            buf_text(&b, "null");
        buf_char(&b, '\0');
        if (b.failed || (text = malloc(b.size)) == NULL)
            fail(err, PAWL_NOMEM, "%s: no memory for its channel %.60s", a->id, channel);
        else
            memcpy(text, b.data, b.size);
    }
    host_let(a->h);
    pawl_state_free(st);
    buf_free(&b);
    return text;
}
