/* child.c - a command that is a run of its own (E11).
 *
 * Its id and its life follow from the invocation id, so that it is begun once, whoever begins it again. It has the rights of its parent. How
 * it ended is left for the parent as a receipt; until that is there, the end of the child is due like a timer, so
 * that no crash in between keeps the parent waiting. */
#include "engine/child/child.h"
#include "engine/command/handler.h"
#include "engine/run/run.h"

#include <stdio.h>
#include <string.h>

enum { NAME_DIGITS = 12, NAME_BYTES = RUN_BYTES_MAX + 1 };

/* ---- names ------------------------------------------------------------------------------------- */

static uint64_t number_of(const hash *h, size_t at)
{
    uint64_t n = 0;

    for (size_t i = 0; i < 8; i++)
        n = n << 8 | h->b[at + i];
    return n != 0 ? n : 1;
}

/* What its parent calls it; else RUN.DIGITS, a long RUN cut. */
const char *child_name(arena *a, const char *invocation, const char *said)
{
    size_t n = strcspn(invocation, "~");
    char hex[HASH_HEX + 1], name[NAME_BYTES];
    hash h;

    if (said != NULL && *said != '\0' && n < NAME_BYTES)
        return child_run_name(a, invocation, n, said);
    if (n > RUN_BYTES_MAX - NAME_DIGITS - 1)
        n = RUN_BYTES_MAX - NAME_DIGITS - 1;
    hash_of(invocation, strlen(invocation), &h);
    hash_hex(&h, hex);
    snprintf(name, sizeof name, "%.*s.%.*s", (int)n, invocation, NAME_DIGITS, hex);
    return arena_strdup(a, name, strlen(name));
}

bool children_open(const cached_run *r)
{
    return outbox_count(&r->outbox, ENTRIES_CHILD) > 0;
}

/* ---- begun --------------------------------------------------------------------------------------- */

static pawl_code start_leave(pawl_engine *e, const char *child, const buf *input, pawl_err *err)
{
    pawl_delivery d = { .id = "start", .kind = PAWL_DELIVER_START, .value = { input->data, input->size } };
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->deliver(e->store, child, &d, err);
    pthread_mutex_unlock(&e->lock);
    e->left = true;
    return rc;
}

/* What it may do was settled meanwhile: it is told that before. */
static pawl_code child_start(pawl_engine *e, cached_run *r, const outbox_entry *entry, const buf *input, pawl_err *err)
{
    const pawl_code rc = rights_before_start(e, r, entry);

    return rc == PAWL_OK ? start_leave(e, entry_child(entry), input, err) : fail(err, rc, "%s: it could not be told what it may do", entry_child(entry));
}

static void info_of_child(pawl_run_info *info, const outbox_entry *entry, int64_t now)
{
    hash h;

    hash_of(entry_id(entry), strlen(entry_id(entry)), &h);
    info->id = entry_child(entry);
    info->life = number_of(&h, 8);
    info->seed = number_of(&h, 16);
    info->parent = entry_id(entry);
    info->created_ms = now;
    info->dedupe_key = NULL;
    info->budget = entry_share(entry);
    memset(info->labels, 0, sizeof info->labels);
}

/* What its machine refuses is the receipt, and leaves nothing behind. */
static pawl_code child_create(pawl_engine *e, cached_run *r, outbox_entry *entry, const pawl_machine *m, const buf *input, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_event start = { .kind = PAWL_EV_START, .value = input->data, .value_size = input->size, .time_ms = engine_now(e) };
    pawl_run_info info;
    pawl_state *st = NULL;
    pawl_code rc = pawl_state_info(r->st, e->look, &info, err);

    if (rc != PAWL_OK)
        return rc;
    info_of_child(&info, entry, start.time_ms);
    if ((rc = pawl_state_new(m, &info, 0, NULL, &st, &why)) == PAWL_OK)
        rc = pawl_feed(m, st, &start, e->step, &why);
    if (rc == PAWL_NOMEM || rc == PAWL_IO)
        fail(err, rc, "%s", why.text);
    else if (rc < 0)
        entry_refuse(e, entry, rc, why.text);
    if (rc >= 0) {
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->create(e->store, pawl_state_base(st), NULL, &why);
        pthread_mutex_unlock(&e->lock);
        if (rc != PAWL_OK && rc != PAWL_CONFLICT)       /* somebody was faster: it is looked at again */
            fail(err, rc, "%s", why.text);
        if (rc == PAWL_OK)
            rc = child_start(e, r, entry, input, err);
        if (rc == PAWL_OK)
            entry_child_started(entry);
    }
    pawl_state_free(st);
    return rc == PAWL_CONFLICT || entry_state_of(entry) == ENTRY_DONE ? PAWL_OK : rc;
}

/* Made by somebody before, perhaps not started. */
static pawl_code child_found(pawl_engine *e, cached_run *r, outbox_entry *entry, const pawl_head *head, bool mine, const buf *input, pawl_err *err)
{
    char text[2 * NAME_BYTES + 64];
    pawl_code rc = PAWL_OK;

    if (!mine) {
        snprintf(text, sizeof text, "%s: a run of that id is there, and is no child of this one", entry_child(entry));
        entry_refuse(e, entry, PAWL_CONFLICT, text);
        return PAWL_OK;
    }
    if (head->seq == 0 && !head->over)      /* its start may be there, and is left once; other mail may be, too */
        rc = child_start(e, r, entry, input, err);
    else if (!head->over && (rc = rights_before_start(e, r, entry)) != PAWL_OK)   /* whoever began it may not have known */
        fail(err, rc, "%s: it could not be told what it may do", entry_child(entry));
    if (rc == PAWL_OK)
        entry_child_started(entry);
    return rc;
}

static pawl_code child_begin(pawl_engine *e, cached_run *r, outbox_entry *entry, pawl_err *why, pawl_err *err)
{
    const pawl_machine *m = machine_named(e, entry_effect(entry));
    pawl_head head;
    bool mine;
    buf input;
    pawl_code rc;

    buf_init(&input, &e->alloc);
    if (entry_args_of(entry) != NULL && pawl_value_type(entry_args_of(entry)) != PAWL_TYPE_NULL)
        canon(&input, entry_args_of(entry));
    pthread_mutex_lock(&e->lock);
    rc = input.failed ? PAWL_NOMEM : e->store->verbs->head(e->store, entry_child(entry), &head, NULL);
    mine = rc == PAWL_OK && head.parent != NULL && strcmp(head.parent, entry_id(entry)) == 0;
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK)
        rc = child_found(e, r, entry, &head, mine, &input, err);
    else if (rc == PAWL_GONE && m == NULL)
        rc = (fail(why, PAWL_PENDING, "%s: no machine \"%s\" here for a child run", entry_id(entry), entry_effect(entry)), PAWL_OK);
    else if (rc == PAWL_GONE)
        rc = child_create(e, r, entry, m, &input, err);
    else
        fail(err, rc, "%s: its child %s cannot be looked at", r->id, entry_child(entry));
    buf_free(&input);
    return rc;
}

pawl_code children_begin(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err)
{
    outbox_entry *entry = r->st->canceling ? NULL : outbox_first(&r->outbox, ENTRY_CHILD_NEW), *next;
    pawl_code rc = PAWL_OK;

    for (; entry != NULL && rc == PAWL_OK; entry = next) {
        next = entry_next(entry);
        rc = child_begin(e, r, entry, why, err);
    }
    return rc;
}

/* By what the store knows of it, for it was let go of. */
static bool child_stands(pawl_engine *e, const char *child)
{
    pawl_head head;
    bool stands;

    pthread_mutex_lock(&e->lock);
    stands = e->store->verbs->head(e->store, child, &head, NULL) == PAWL_OK && !head.over && head.waits == 0;
    pthread_mutex_unlock(&e->lock);
    return stands;
}

static void command_why(pawl_engine *e, const pawl_command *cmd, pawl_err *why);

static void child_why(pawl_engine *e, const char *child, const pawl_command *cmd, pawl_err *why)
{
    cached_run *r = cached_run_find(e, child);
    size_t n = r != NULL && r->st != NULL ? pawl_state_commands(r->st) : 0;
    pawl_command of;

    if (!child_stands(e, child))
        return;
    if (machine_named(e, cmd->effect) == NULL)
        fail(why, PAWL_PENDING, "%s: no machine \"%s\" here for a child run", cmd->id, cmd->effect);
    for (size_t i = 0; i < n && why->code == PAWL_OK; i++)
        if (pawl_state_command(r->st, i, e->look, &of, NULL, NULL) == PAWL_OK)
            command_why(e, &of, why);
}

static void command_why(pawl_engine *e, const pawl_command *cmd, pawl_err *why)
{
    arena mem;
    const char *child;

    if (cmd->kind == PAWL_CALL && handler_of(e, cmd->effect) == NULL)
        fail(why, PAWL_PENDING, "%s: no handler for effect \"%s\"", cmd->id, cmd->effect);
    if (cmd->kind != PAWL_SPAWN)
        return;
    arena_init(&mem, &e->alloc, 0);
    if ((child = child_name(&mem, cmd->id, cmd->child)) != NULL)
        child_why(e, child, cmd, why);
    arena_free(&mem);
}

void children_why(pawl_engine *e, const cached_run *r, pawl_err *why)
{
    static const entry_state started[] = { ENTRY_CHILD_STARTED, ENTRY_CHILD_RELEASED };

    for (size_t i = 0; i < sizeof started / sizeof *started; i++)
        for (const outbox_entry *entry = outbox_first(&r->outbox, started[i]); entry != NULL && why->code == PAWL_OK; entry = entry_next(entry))
            child_why(e, entry_child(entry), &(pawl_command){ .id = entry_id(entry), .kind = PAWL_SPAWN, .effect = entry_effect(entry) }, why);
}

/* ---- called off ------------------------------------------------------------------------------------- */

/* A run of that id is there, and somebody else has begun it: it is none of this command's. */
static bool child_is_foreign(pawl_engine *e, const outbox_entry *entry)
{
    pawl_head head;
    bool strange;

    if (entry_state_of(entry) != ENTRY_CHILD_NEW)
        return false;
    pthread_mutex_lock(&e->lock);
    strange = e->store->verbs->head(e->store, entry_child(entry), &head, NULL) == PAWL_OK && (head.parent == NULL || strcmp(head.parent, entry_id(entry)) != 0);
    pthread_mutex_unlock(&e->lock);
    return strange;
}

/* It ends in its own time, and that is the receipt. False: it was never begun. */
bool child_cancel(pawl_engine *e, outbox_entry *entry)
{
    pawl_delivery d = { .kind = PAWL_DELIVER_CANCEL, .by = "@parent" };
    char id[ID_BYTES_MAX + 16];
    pawl_code rc;

    if (entry_state_of(entry) == ENTRY_CHILD_RELEASED)
        return true;
    if (child_is_foreign(e, entry))
        return false;
    snprintf(id, sizeof id, "cancel-%s", entry_id(entry));
    d.id = id;
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->deliver(e->store, entry_child(entry), &d, NULL);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK) {
        entry_child_released(entry);    /* it is there, and driven to its end */
        e->left = true;
    }
    return rc != PAWL_GONE;
}

/* It is not there, and somebody who held this run before may just be about to begin it: it is there from now on, to be called off. */
static pawl_code child_reserve(pawl_engine *e, cached_run *r, outbox_entry *entry)
{
    const pawl_machine *m = machine_named(e, entry_effect(entry));
    pawl_run_info info;
    pawl_state *st = NULL;
    pawl_code rc = m == NULL ? PAWL_PENDING : pawl_state_info(r->st, e->look, &info, NULL);

    if (rc != PAWL_OK)
        return rc;
    info_of_child(&info, entry, engine_now(e));
    if ((rc = pawl_state_new(m, &info, 0, NULL, &st, NULL)) == PAWL_OK) {
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->create(e->store, pawl_state_base(st), NULL, NULL);
        pthread_mutex_unlock(&e->lock);
    }
    pawl_state_free(st);
    return rc == PAWL_CONFLICT ? PAWL_OK : rc;
}

bool child_reserve_named(pawl_engine *e, cached_run *r, const char *child)
{
    for (outbox_entry *entry = outbox_first(&r->outbox, ENTRY_CHILD_NEW); entry != NULL; entry = entry_next(entry))
        if (strcmp(entry_child(entry), child) == 0)
            return child_reserve(e, r, entry) == PAWL_OK;
    return false;
}

/* Those that the step at hand gives up are told before it is stored: killed in between, the parent gives them up once more, or hears that they were
 * called off; the other way round nobody would ever tell them. */
pawl_code children_cancel_dropped(pawl_engine *e, cached_run *r)
{
    static const entry_state states[] = { ENTRY_CHILD_STARTED, ENTRY_CHILD_NEW };      /* those that were released know it */
    outbox_entry *next;

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        for (outbox_entry *entry = outbox_first(&r->outbox, states[i]); entry != NULL; entry = next) {
            next = entry_next(entry);
            if (call_open(r->st, entry_id(entry)) || child_is_foreign(e, entry))
                continue;
            if (!child_cancel(e, entry) && child_reserve(e, r, entry) == PAWL_OK)
                (void)child_cancel(e, entry);
            if (entry_state_of(entry) != ENTRY_CHILD_RELEASED && machine_named(e, entry_effect(entry)) != NULL)
                return PAWL_IO;
        }
    return PAWL_OK;
}

/* ---- its end ------------------------------------------------------------------------------------------ */

bool child_must_notify(const cached_run *r)
{
    return r->st != NULL && r->st->parent != NULL && !r->told && pawl_status_terminal((pawl_status)r->st->status);
}

bool child_was_notified(const cached_run *r)
{
    return r->st->parent != NULL && r->over && r->told && r->wake_ms == PARENT_UNNOTIFIED_MS;
}

void child_end_came(const cached_run *r, const pawl_delivery *d)
{
    outbox_entry *entry = strncmp(d->id, "end-", 4) == 0 ? outbox_find(r, d->name) : NULL;

    if (entry != NULL && (ENTRY_IN(entry_state_of(entry)) & ENTRIES_CHILD) != 0)
        entry_child_released(entry);
}

static void end_error(const cached_run *r, const char *code, const char *text, buf *out)
{
    buf_text(out, "{\"code\":");
    canon_string(out, code, strlen(code));
    buf_fmt(out, ",\"run\":\"%s\",\"status\":\"%s\",\"text\":", r->id, pawl_status_name(pawl_state_status(r->st)));
    canon_string(out, text, strlen(text));
    buf_char(out, '}');
}

/* What its machine says is its output, else all channels, of one that completed; else why it did not. */
static pawl_outcome end_value(pawl_engine *e, cached_run *r, buf *out)
{
    pawl_status status = pawl_state_status(r->st);
    const pawl_value *why = pawl_state_reason(r->st);
    const char *text = pawl_value_string(pawl_value_get(why, "text")), *code = pawl_value_string(pawl_value_get(why, "code"));

    if (status == PAWL_COMPLETED && r->m != NULL && r->m->output != NULL) {
        const pawl_value *v = pawl_state_get(r->st, r->m->output);

        if (v != NULL)
            canon(out, v);
        else
            buf_text(out, "null");
        return PAWL_DONE;
    }
    if (status == PAWL_COMPLETED) {
        const char *json = pawl_state_json(r->st, e->look, NULL);

        out->failed = out->failed || json == NULL;
        buf_text(out, json != NULL ? json : "");
        return PAWL_DONE;
    }
    code = code != NULL ? code : pawl_code_name(status == PAWL_CANCELED_RUN ? PAWL_CANCELED : PAWL_EFFECT);
    end_error(r, code, text != NULL ? text : pawl_status_name(status), out);
    return status == PAWL_CANCELED_RUN ? PAWL_CALLED_OFF : PAWL_ERROR;
}

static pawl_code end_leave(pawl_engine *e, const char *parent, pawl_delivery *d, const buf *value, pawl_err *err)
{
    pawl_code rc;

    d->value = (pawl_bytes){ value->data, value->size };
    pthread_mutex_lock(&e->lock);
    rc = value->failed ? PAWL_NOMEM : e->store->verbs->deliver(e->store, parent, d, err);
    pthread_mutex_unlock(&e->lock);
    return rc;
}

pawl_code child_notify(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    char id[NAME_BYTES + 32], parent[NAME_BYTES];
    pawl_delivery d = { .id = id, .kind = PAWL_DELIVER_RECEIPT, .name = r->st->parent };
    size_t n = strcspn(r->st->parent, "~");
    pawl_code rc;
    buf value, usage;

    if (n >= sizeof parent || r->st->parent[n] == '\0') {
        r->told = true;         /* it was said by hand: nobody waits for it */
        return PAWL_OK;
    }
    memcpy(parent, r->st->parent, n);
    parent[n] = '\0';
    snprintf(id, sizeof id, "end-%s~%016llx", r->id, (unsigned long long)r->st->life);
    buf_init(&value, &e->alloc);
    buf_init(&usage, &e->alloc);
    d.outcome = (int)end_value(e, r, &value);
    cost_of_run(r, &usage);
    d.update = (pawl_bytes){ usage.data, usage.size };
    value.failed = value.failed || usage.failed;
    if ((rc = end_leave(e, parent, &d, &value, &why)) == PAWL_INVALID) {    /* one level deeper than a channel may be: its parent is told that */
        buf_reset(&value);
        end_error(r, pawl_code_name(PAWL_LIMIT), why.text, &value);
        d.outcome = PAWL_ERROR;
        rc = end_leave(e, parent, &d, &value, NULL);
    }
    buf_free(&value);
    buf_free(&usage);
    if (rc == PAWL_GONE || rc == PAWL_CONFLICT || rc == PAWL_INVALID)
        rc = PAWL_OK;           /* nobody is there any more, or it was told before */
    r->told = rc == PAWL_OK;
    e->left = true;
    return rc == PAWL_OK || why.code == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
}
