/* perform.c - a command is carried out: its handler is called, again when it may be, and its receipt is made. */
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECRET_BYTES_MAX = 65536 };

/* ---- replies --------------------------------------------------------------------------------- */

pawl_code pawl_reply_json(pawl_reply *r, const char *text)
{
    buf_reset(&r->text);
    buf_text(&r->text, text != NULL ? text : "(NULL)");     /* no JSON: it is told */
    return PAWL_OK;
}

pawl_code pawl_reply_string(pawl_reply *r, const char *text)
{
    buf_reset(&r->text);
    if (text == NULL)
        buf_text(&r->text, "null");
    else
        canon_string(&r->text, text, strlen(text));
    return PAWL_OK;
}

pawl_code pawl_reply_int(pawl_reply *r, int64_t n)
{
    buf_reset(&r->text);
    buf_int(&r->text, n);
    return PAWL_OK;
}

pawl_code pawl_reply_fail(pawl_reply *r, pawl_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    r->err = (pawl_err){0};
    failv(&r->err, code < 0 ? code : PAWL_EFFECT, format, args);
    va_end(args);
    return r->err.code;
}

/* ---- secrets (K4) -------------------------------------------------------------------------------- */

static bool secret_file(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    if (f == NULL)
        return false;
    n = fread(out, 1, size, f);
    fclose(f);
    if (n == size)
        return false;       /* half a secret is none */
    while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == '\r'))
        n--;
    out[n] = '\0';
    return true;
}

static const char *secret_value(const pawl_engine *e, const char *spec, char *room, size_t size)
{
    if (strncmp(spec, "env:", 4) == 0)
        return getenv(spec + 4);
    if (strncmp(spec, "file:", 5) == 0)
        return secret_file(spec + 5, room, size) ? room : NULL;
    if (strncmp(spec, "given:", 6) == 0 && e->secret != NULL)
        return e->secret(e->secret_ctx, spec + 6);
    return NULL;
}

/* Each secret in its place; the command waits when one is missing, and `why` says which. */
static pawl_code secrets_put(pawl_engine *e, arena *mem, pawl_command *cmd, const pawl_value *secrets, bool *missing, pawl_err *why,
                             pawl_err *err)
{
    pawl_iter it = pawl_iter_of(secrets);
    char *room = secrets == NULL ? NULL : mem_new(&e->alloc, SECRET_BYTES_MAX);
    const pawl_value *one;
    pawl_code rc = secrets != NULL && room == NULL ? PAWL_NOMEM : PAWL_OK;

    while (rc == PAWL_OK && (one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *spec = pawl_value_string(pawl_value_at(one, 1)), *value;

        value = spec == NULL ? NULL : secret_value(e, spec, room, SECRET_BYTES_MAX);
        if (value == NULL || !utf8_valid(value, strlen(value))) {
            *missing = true;
            fail(why, PAWL_PENDING, "%s: secret %s is %s; the command waits for it", cmd->id, spec != NULL ? spec : "",
                 value == NULL ? "missing" : "no UTF-8 text");
            break;
        }
        cmd->args = value_splice(mem, cmd->args, pawl_value_string(pawl_value_at(one, 0)), value_string(mem, value, strlen(value)));
        rc = cmd->args == NULL ? PAWL_NOMEM : PAWL_OK;
    }
    if (rc == PAWL_NOMEM)
        fail(err, rc, "%s: no memory for its secrets", cmd->id);
    if (room != NULL)
        memset(room, 0, SECRET_BYTES_MAX);
    mem_free(&e->alloc, room, room != NULL ? SECRET_BYTES_MAX : 0);
    return rc;
}

/* ---- attempts ----------------------------------------------------------------------------------------- */

static const handler *handler_of(const pawl_engine *e, const char *effect)
{
    for (const handler *h = e->handlers; h != NULL && effect != NULL; h = h->next)
        if (strcmp(h->name, effect) == 0)
            return h;
    return NULL;
}

static int64_t delay_before(const pawl_retry *r, uint32_t attempt)
{
    double ms = r->initial_ms, factor = r->factor > 0 ? r->factor : 2, most = r->max_ms > 0 ? r->max_ms : 86400000.0;
    uint64_t drawn[2] = {0};

    for (uint32_t i = 1; i < attempt && ms < most; i++)
        ms *= factor;
    ms = ms < most ? ms : most;
    if (r->jitter && chance(drawn))
        ms = ms * (double)(drawn[1] >> 11) / 9007199254740992.0;
    return (int64_t)ms;
}

static bool tried_again(pawl_code code)
{
    return code == PAWL_TRANSIENT || code == PAWL_TIMEOUT || code == PAWL_IO;
}

/* A handler is not stopped in the middle here; but what comes too late does not count (E8). */
static pawl_code one_attempt(pawl_engine *e, const handler *h, const pawl_command *cmd, int64_t first)
{
    const pawl_limits *l = &cmd->limits;
    int64_t began = e->clock.now_ms(e->clock.ctx), took;
    pawl_code rc;

    buf_reset(&e->reply.text);
    e->reply.err = (pawl_err){0};
    rc = h->fn(cmd, &e->reply, h->arg);
    if (rc > 0)
        rc = pawl_reply_fail(&e->reply, PAWL_INVALID, "%s: its handler returned \"%s\", which is no result", cmd->effect, pawl_code_name(rc));
    took = e->clock.now_ms(e->clock.ctx) - began;
    if (l->total_timeout_ms > 0 && began + took - first > l->total_timeout_ms)
        return pawl_reply_fail(&e->reply, PAWL_TIMEOUT, "%s: over %u ms in all (total_timeout_ms)", cmd->effect, (unsigned)l->total_timeout_ms);
    if (l->attempt_timeout_ms > 0 && took > l->attempt_timeout_ms)
        return pawl_reply_fail(&e->reply, PAWL_TIMEOUT, "%s: an attempt over %u ms (attempt_timeout_ms)", cmd->effect, (unsigned)l->attempt_timeout_ms);
    return rc;
}

static pawl_code attempts(pawl_engine *e, const handler *h, const pawl_command *cmd)
{
    const pawl_limits *l = &cmd->limits;
    uint32_t most = l->retry.max_attempts > 0 ? l->retry.max_attempts : 1;
    int64_t first = e->clock.now_ms(e->clock.ctx), then;
    pawl_code rc = PAWL_OK;

    for (uint32_t attempt = 1; attempt <= most; attempt++) {
        rc = one_attempt(e, h, cmd, first);
        then = e->clock.now_ms(e->clock.ctx) + delay_before(&l->retry, attempt);
        if (rc >= 0 || !tried_again(rc) || attempt == most || (l->total_timeout_ms > 0 && then - first > l->total_timeout_ms))
            break;
        e->clock.sleep_until(e->clock.ctx, then);
    }
    return rc;
}

/* What the handler said becomes the receipt's value; what is no JSON is an error of the handler's. */
static void receipt_make(pawl_engine *e, const pawl_command *cmd, pawl_code rc, pawl_event *ev)
{
    buf *b = &e->reply.text;
    arena mem;
    pawl_err wrong = {0};

    if (rc >= 0 && b->size == 0)
        buf_text(b, "null");
    if (rc >= 0 && b->failed)
        return;
    arena_init(&mem, &e->alloc, 4096);
    if (rc >= 0 && value_parse(&mem, b->data, b->size, "the reply", &wrong) == NULL)
        rc = wrong.code;
    arena_free(&mem);
    if (wrong.code == PAWL_NOMEM) {
        b->failed = true;
        return;
    }
    if (wrong.code != PAWL_OK)
        rc = pawl_reply_fail(&e->reply, rc, "%s: %s", cmd->effect, wrong.text);
    ev->outcome = rc >= 0 ? PAWL_DONE : rc == PAWL_TIMEOUT ? PAWL_TIMED_OUT : rc == PAWL_UNKNOWN ? PAWL_OUTCOME_UNKNOWN : PAWL_ERROR;
    if (rc < 0) {
        buf_reset(b);
        buf_text(b, "{\"code\":\"");
        buf_text(b, pawl_code_name(rc));
        buf_text(b, "\",\"text\":");
        canon_string(b, e->reply.err.text, strlen(e->reply.err.text));
        buf_char(b, '}');
    }
    ev->value = b->data;
    ev->value_size = b->size;
}

/* ---- receipts that could not be stored ------------------------------------------------------------------- */

/* Room for it is taken before the effect leaves. */
static bool receipt_room(pawl_engine *e, live *r, const char *id)
{
    receipt_forget(e, r);
    r->command_bytes = strlen(id) + 1;
    if ((r->command = mem_new(&e->alloc, r->command_bytes)) == NULL)
        return false;
    memcpy(r->command, id, r->command_bytes);
    return true;
}

void receipt_forget(pawl_engine *e, live *r)
{
    mem_free(&e->alloc, r->command, r->command != NULL ? r->command_bytes : 0);
    r->command = NULL;
    r->performed = false;
}

/* A command of class once whose receipt there is no memory for has happened, and its outcome is not known. */
static pawl_code receipt_keep(pawl_engine *e, live *r, const pawl_command *cmd, pawl_event *ev, pawl_err *err)
{
    static const char lost[] = "{\"code\":\"nomem\",\"text\":\"its receipt found no memory\"}";
    buf was = r->receipt;

    if (e->reply.text.failed && cmd->limits.cls != PAWL_ONCE)
        return fail(err, PAWL_NOMEM, "%s: no memory for its receipt", cmd->id);
    if (e->reply.text.failed) {
        ev->outcome = PAWL_OUTCOME_UNKNOWN;
        ev->value = lost;
        ev->value_size = sizeof lost - 1;
        return PAWL_OK;
    }
    r->receipt = e->reply.text;
    e->reply.text = was;
    r->outcome = ev->outcome;
    r->performed = true;
    return PAWL_OK;
}

/* What was performed already and is still open: it is told again, and not done again. */
static pawl_code receipt_again(pawl_engine *e, live *r, bool *done, pawl_event *ev, char *id, size_t size, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < pawl_state_commands(r->st) && rc == PAWL_OK && !*done; i++) {
        pawl_command cmd;

        rc = pawl_state_command(r->st, i, e->look, &cmd, NULL, err);
        if (rc != PAWL_OK || strcmp(cmd.id, r->command) != 0 || r->command_bytes > size)
            continue;
        memcpy(id, r->command, r->command_bytes);
        *ev = (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .outcome = r->outcome, .value = r->receipt.data,
                            .value_size = r->receipt.size, .time_ms = ev->time_ms };
        *done = true;
    }
    return rc;
}

/* ---- one command ------------------------------------------------------------------------------------------ */

static pawl_code one_command(pawl_engine *e, live *r, size_t i, pawl_event *ev, char *id, size_t size, int64_t *due, bool *done,
                             pawl_err *why, pawl_err *err)
{
    const pawl_value *secrets = NULL;
    const handler *h;
    pawl_command cmd;
    bool missing = false;
    arena mem;
    pawl_code rc = pawl_state_command(r->st, i, e->look, &cmd, &secrets, err);

    if (rc != PAWL_OK)
        return rc;
    if (strlen(cmd.id) >= size)
        return fail(err, PAWL_LIMIT, "%s: an id over %zu bytes", r->id, size);
    memcpy(id, cmd.id, strlen(cmd.id) + 1);
    ev->id = id;
    if (cmd.kind == PAWL_SLEEP) {
        if (cmd.due_ms < *due)
            *due = cmd.due_ms;
        ev->kind = PAWL_EV_TIMER;
        *done = cmd.due_ms <= ev->time_ms;
        return PAWL_OK;
    }
    if (cmd.kind == PAWL_SPAWN || (h = handler_of(e, cmd.effect)) == NULL) {
        fail(why, PAWL_PENDING, cmd.kind == PAWL_SPAWN ? "%s: this engine runs no child runs (machine \"%s\")" : "%s: no handler for effect \"%s\"",
             cmd.id, cmd.effect);
        return PAWL_OK;
    }
    arena_init(&mem, &e->alloc, 1024);
    rc = secrets_put(e, &mem, &cmd, secrets, &missing, why, err);
    if (rc == PAWL_OK && !missing && !receipt_room(e, r, cmd.id))
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its receipt", r->id);
    if (rc == PAWL_OK && !missing) {
        ev->kind = PAWL_EV_RECEIPT;
        receipt_make(e, &cmd, attempts(e, h, &cmd), ev);
        ev->time_ms = e->clock.now_ms(e->clock.ctx);
        *done = true;
        rc = receipt_keep(e, r, &cmd, ev, err);
    }
    arena_free(&mem);
    return rc;
}

/* The first that can be carried out now; else the sleep that ends first is waited for. */
pawl_code perform(pawl_engine *e, live *r, bool *done, pawl_event *ev, char *id, size_t size, pawl_err *err)
{
    int64_t due = INT64_MAX;
    pawl_err why = {0};
    pawl_code rc = PAWL_OK;

    *done = false;
    if (r->performed && ((rc = receipt_again(e, r, done, ev, id, size, err)) != PAWL_OK || *done))
        return rc;
    for (int again = 0; again < 2 && rc == PAWL_OK && !*done; again++) {
        for (size_t i = 0; i < pawl_state_commands(r->st) && rc == PAWL_OK && !*done; i++)
            rc = one_command(e, r, i, ev, id, size, &due, done, &why, err);
        if (*done || due == INT64_MAX)
            break;
        e->clock.sleep_until(e->clock.ctx, due);
        ev->time_ms = e->clock.now_ms(e->clock.ctx);
    }
    if (rc == PAWL_OK && !*done && why.code != PAWL_OK)
        fail(err, why.code, "%s", why.text);        /* what it waits for, now that nothing else can be done */
    return rc;
}
