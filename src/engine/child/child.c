/* child.c - a command that is a run of its own (E11).
 *
 * Its id and its life follow from the invocation id, so that it is begun once, whoever begins it again. It has the rights of its parent. How
 * it ended is left for the parent as a receipt; until that is there, the end of the child is due like a timer, so
 * that no crash in between keeps the parent waiting. */
#include "engine/command/outbox.h"

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
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->child != NULL && er->open && er->at == ERRAND_READY)
            return true;
    return false;
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
static pawl_code child_start(pawl_engine *e, cached_run *r, const errand *er, const buf *input, pawl_err *err)
{
    const pawl_code rc = rights_coming(e, r, er);

    return rc == PAWL_OK ? start_leave(e, er->child, input, err) : fail(err, rc, "%s: it could not be told what it may do", er->child);
}

static void child_refused(pawl_engine *e, errand *er, pawl_code code, const char *text)
{
    er->rc = pawl_reply_fail(&er->reply, code, "%s", text);
    receipt_make(e, er);
    cost_say_none(er);
}

static void info_of_child(pawl_run_info *info, const errand *er, int64_t now)
{
    hash h;

    hash_of(er->job.id, strlen(er->job.id), &h);
    info->id = er->child;
    info->life = number_of(&h, 8);
    info->seed = number_of(&h, 16);
    info->parent = er->job.id;
    info->created_ms = now;
    info->dedupe_key = NULL;
    info->budget = er->share;
    memset(info->labels, 0, sizeof info->labels);
}

/* What its machine refuses is the receipt, and leaves nothing behind. */
static pawl_code child_create(pawl_engine *e, cached_run *r, errand *er, const pawl_machine *m, const buf *input, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_event start = { .kind = PAWL_EV_START, .value = input->data, .value_size = input->size, .time_ms = engine_now(e) };
    pawl_run_info info;
    pawl_state *st = NULL;
    pawl_code rc = pawl_state_info(r->st, e->look, &info, err);

    if (rc != PAWL_OK)
        return rc;
    info_of_child(&info, er, start.time_ms);
    if ((rc = pawl_state_new(m, &info, 0, NULL, &st, &why)) == PAWL_OK)
        rc = pawl_feed(m, st, &start, e->step, &why);
    if (rc == PAWL_NOMEM || rc == PAWL_IO)
        fail(err, rc, "%s", why.text);
    else if (rc < 0)
        child_refused(e, er, rc, why.text);
    if (rc >= 0) {
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->create(e->store, pawl_state_base(st), NULL, &why);
        pthread_mutex_unlock(&e->lock);
        if (rc != PAWL_OK && rc != PAWL_CONFLICT)       /* somebody was faster: it is looked at again */
            fail(err, rc, "%s", why.text);
        if (rc == PAWL_OK)
            rc = child_start(e, r, er, input, err);
        er->began = rc == PAWL_OK;
    }
    pawl_state_free(st);
    return rc == PAWL_CONFLICT || er->at == ERRAND_DONE ? PAWL_OK : rc;
}

/* Made by somebody before, perhaps not started. */
static pawl_code child_found(pawl_engine *e, cached_run *r, errand *er, const pawl_head *head, const buf *input, pawl_err *err)
{
    char text[2 * NAME_BYTES + 64];
    pawl_code rc = PAWL_OK;

    if (head->parent == NULL || strcmp(head->parent, er->job.id) != 0) {
        snprintf(text, sizeof text, "%s: a run of that id is there, and is no child of this one", er->child);
        child_refused(e, er, PAWL_CONFLICT, text);
        return PAWL_OK;
    }
    if (head->seq == 0 && !head->over)      /* its start may be there, and is left once; other mail may be, too */
        rc = child_start(e, r, er, input, err);
    else if (!head->over && (rc = rights_coming(e, r, er)) != PAWL_OK)   /* whoever began it may not have known */
        fail(err, rc, "%s: it could not be told what it may do", er->child);
    er->began = rc == PAWL_OK;
    return rc;
}

static pawl_code child_begin(pawl_engine *e, cached_run *r, errand *er, pawl_err *why, pawl_err *err)
{
    const pawl_machine *m = machine_named(e, er->job.effect);
    pawl_head head;
    buf input;
    pawl_code rc;

    buf_init(&input, &e->alloc);
    if (er->job.args != NULL && pawl_value_type(er->job.args) != PAWL_TYPE_NULL)
        canon(&input, er->job.args);
    pthread_mutex_lock(&e->lock);
    rc = input.failed ? PAWL_NOMEM : e->store->verbs->head(e->store, er->child, &head, NULL);
    if (rc == PAWL_OK && head.parent != NULL && (head.parent = arena_strdup(&er->mem, head.parent, strlen(head.parent))) == NULL)
        rc = PAWL_NOMEM;
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK)
        rc = child_found(e, r, er, &head, &input, err);
    else if (rc == PAWL_GONE && m == NULL)
        rc = (fail(why, PAWL_PENDING, "%s: no machine \"%s\" here for a child run", er->job.id, er->job.effect), PAWL_OK);
    else if (rc == PAWL_GONE)
        rc = child_create(e, r, er, m, &input, err);
    else
        fail(err, rc, "%s: its child %s cannot be looked at", r->id, er->child);
    buf_free(&input);
    return rc;
}

pawl_code children_begin(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (errand *er = r->errands; er != NULL && rc == PAWL_OK; er = er->next)
        if (er->child != NULL && !er->began && er->open && er->at == ERRAND_READY && !r->st->canceling)
            rc = child_begin(e, r, er, why, err);
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
    cached_run *r = live_find(e, child);
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
    for (const errand *er = r->errands; er != NULL && why->code == PAWL_OK; er = er->next)
        if (er->child != NULL && er->began && er->open && er->at == ERRAND_READY)
            child_why(e, er->child, &(pawl_command){ .id = er->job.id, .kind = PAWL_SPAWN, .effect = er->job.effect }, why);
}

/* ---- called off ------------------------------------------------------------------------------------- */

/* A run of that id is there, and somebody else has begun it: it is none of this command's. */
static bool child_strange(pawl_engine *e, const errand *er)
{
    pawl_head head;
    bool strange;

    if (er->began)
        return false;
    pthread_mutex_lock(&e->lock);
    strange = e->store->verbs->head(e->store, er->child, &head, NULL) == PAWL_OK && (head.parent == NULL || strcmp(head.parent, er->job.id) != 0);
    pthread_mutex_unlock(&e->lock);
    return strange;
}

/* It ends in its own time, and that is the receipt. False: it was never begun. */
bool child_cancel(pawl_engine *e, errand *er)
{
    pawl_delivery d = { .kind = PAWL_DELIVER_CANCEL, .by = "@parent" };
    char id[ID_BYTES_MAX + 16];
    pawl_code rc;

    if (er->told_off)
        return true;
    if (child_strange(e, er))
        return false;
    snprintf(id, sizeof id, "cancel-%s", er->job.id);
    d.id = id;
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->deliver(e->store, er->child, &d, NULL);
    pthread_mutex_unlock(&e->lock);
    er->told_off = rc == PAWL_OK;
    er->began = er->began || er->told_off;      /* it is there, and driven to its end */
    e->left = e->left || er->told_off;
    return rc != PAWL_GONE;
}

/* It is not there, and somebody who held this run before may just be about to begin it: it is there from now on, to be called off. */
static pawl_code child_unborn(pawl_engine *e, cached_run *r, errand *er)
{
    const pawl_machine *m = machine_named(e, er->job.effect);
    pawl_run_info info;
    pawl_state *st = NULL;
    pawl_code rc = m == NULL ? PAWL_PENDING : pawl_state_info(r->st, e->look, &info, NULL);

    if (rc != PAWL_OK)
        return rc;
    info_of_child(&info, er, engine_now(e));
    if ((rc = pawl_state_new(m, &info, 0, NULL, &st, NULL)) == PAWL_OK) {
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->create(e->store, pawl_state_base(st), NULL, NULL);
        pthread_mutex_unlock(&e->lock);
    }
    pawl_state_free(st);
    return rc == PAWL_CONFLICT ? PAWL_OK : rc;
}

bool child_make(pawl_engine *e, cached_run *r, const char *child)
{
    for (errand *er = r->errands; er != NULL; er = er->next)
        if (er->child != NULL && er->open && !er->began && er->at == ERRAND_READY && strcmp(er->child, child) == 0)
            return child_unborn(e, r, er) == PAWL_OK;
    return false;
}

/* Those that the step at hand gives up are told before it is stored: killed in between, the parent gives them up once more, or hears that they were
 * called off; the other way round nobody would ever tell them. */
pawl_code children_left(pawl_engine *e, cached_run *r)
{
    for (errand *er = r->errands; er != NULL; er = er->next) {
        if (er->child == NULL || !er->open || er->at != ERRAND_READY || call_open(r->st, er->job.id) || child_strange(e, er))
            continue;
        if (!child_cancel(e, er) && child_unborn(e, r, er) == PAWL_OK)
            (void)child_cancel(e, er);
        if (!er->told_off && machine_named(e, er->job.effect) != NULL)
            return PAWL_IO;
    }
    return PAWL_OK;
}

/* ---- its end ------------------------------------------------------------------------------------------ */

bool child_untold(const cached_run *r)
{
    return r->st != NULL && r->st->parent != NULL && !r->told && pawl_status_terminal((pawl_status)r->st->status);
}

bool child_told(const cached_run *r)
{
    return r->st->parent != NULL && r->over && r->told && r->wake_ms == UNTOLD_MS;
}

void child_ended(const cached_run *r, const pawl_delivery *d)
{
    errand *er = strncmp(d->id, "end-", 4) == 0 ? errand_find(r, d->name) : NULL;

    if (er != NULL && er->child != NULL)
        er->told_off = true;
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

pawl_code child_tell(pawl_engine *e, cached_run *r, pawl_err *err)
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
