/* recording.c - extracts the answers of a run's models from its journal, as lines of a record (docs/INTERFACES.md, A record of models).
 *
 * Called by the program and by tests, on the thread of the store's handle; no lock, nothing is written. A command is remembered from the line that
 * issues it to its receipt. */
#include "effect/llm/llm.h"
#include "history/history.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/state.h"

typedef struct recorded_call {          /* an open command */
    const char *id;             /* without the run */
    hash key;
} recorded_call;

typedef struct recording {
    const char *effect;
    pawl_state *st;
    arena mem;
    recorded_call *open;
    size_t n, cap;
    pawl_step *look;
    pawl_sink_fn *sink;
    void *ctx;
    pawl_err *err;
} recording;

static pawl_code nomem(const recording *r)
{
    return fail(r->err, PAWL_NOMEM, "%s: no memory for a record of it", r->st->run);
}

static recorded_call *asked_find(const recording *r, const char *id)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->open[i].id, id) == 0)
            return &r->open[i];
    return NULL;
}

/* The effect itself, or one with limits of its own: "prompt-1f2e3d4c". */
static bool is_of(const char *name, const char *effect)
{
    const size_t n = strlen(effect);

    return strncmp(name, effect, n) == 0 && (name[n] == '\0' || name[n] == '-');
}

/* Its arguments refer to channels as they are now, so its request is resolved now. */
static pawl_code asked_add(recording *r, const pawl_command *cmd)
{
    const char *id = strchr(cmd->id, '~');      /* RUN~LIFE/ID */
    recorded_call one;

    if (cmd->effect == NULL || !is_of(cmd->effect, r->effect) || cmd->kind != PAWL_COMMAND_CALL)
        return PAWL_OK;
    id = id != NULL ? strchr(id, '/') : NULL;
    if (id == NULL || asked_find(r, id + 1) != NULL)
        return PAWL_OK;
    one.id = arena_text(&r->mem, id + 1);
    if (one.id == NULL || !llm_record_key(cmd->args, &r->mem.alloc, &one.key) || !arena_room(&r->mem, (void **)&r->open, &r->cap, r->n, sizeof one))
        return nomem(r);
    r->open[r->n++] = one;
    return PAWL_OK;
}

static pawl_code calls_read(recording *r)
{
    pawl_command cmd;
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; rc == PAWL_OK && i < pawl_state_commands(r->st); i++)
        if ((rc = pawl_state_command(r->st, i, r->look, &cmd, NULL, r->err)) == PAWL_OK)
            rc = asked_add(r, &cmd);
    return rc;
}

static pawl_code receipt_match(recording *r, const item *it)
{
    const pawl_value *usage = pawl_value_get(it->more, "usage"), *tokens = pawl_value_get(usage, "tokens");
    recorded_call *a;
    pawl_code rc = PAWL_OK;
    buf b;

    buf_init(&b, &r->mem.alloc);
    id_code(&b, it);
    buf_char(&b, '\0');
    a = b.failed ? NULL : asked_find(r, b.data);
    if (a != NULL && it->outcome == PAWL_OUTCOME_DONE && it->value != NULL) {
        buf_reset(&b);
        llm_record_line(&b, &a->key, it->value, tokens != NULL ? pawl_value_int(tokens) : -1, pawl_value_int(pawl_value_get(usage, "micros")));
        if (!b.failed && !r->sink(r->ctx, (pawl_bytes){ b.data, b.size }))
            rc = fail(r->err, PAWL_IO, "%s: its record cannot be written", r->st->run);
    }
    if (b.failed)
        rc = nomem(r);
    if (a != NULL)
        *a = r->open[--r->n];
    buf_free(&b);
    return rc;
}

/* Folds one line; its receipts end open commands, and then the commands that it issues are added. */
static pawl_code line_fold(recording *r, pawl_bytes line, pawl_step *step)
{
    pawl_entry *e;
    pawl_code rc = pawl_entry_read(line, step, &e, r->err);

    if (rc == PAWL_OK)
        rc = pawl_apply(r->st, e, r->err);
    for (const item *it = rc == PAWL_OK ? e->items : NULL; it != NULL && rc == PAWL_OK; it = it->next)
        if (it->kind == ITEM_RECEIPT)
            rc = receipt_match(r, it);
    return rc == PAWL_OK ? calls_read(r) : rc;
}

static pawl_code lines_fold(recording *r, const buf *text, const pawl_loader *loader)
{
    const char *at = text->data, *end = at + text->size, *nl = memchr(at, '\n', text->size);
    pawl_step *step = pawl_step_new(NULL);
    pawl_code rc = PAWL_NOMEM;

    r->look = pawl_step_new(NULL);
    if (step != NULL && r->look != NULL && nl != NULL)
        rc = pawl_state_load((pawl_bytes){ at, (size_t)(nl - at) }, (pawl_bytes){ 0 }, loader, NULL, &r->st, r->err);
    else
        fail(r->err, PAWL_NOMEM, "no memory for a record");
    if (rc == PAWL_OK)
        rc = calls_read(r);
    while (rc == PAWL_OK && (at = nl + 1) < end && (nl = memchr(at, '\n', (size_t)(end - at))) != NULL)
        rc = line_fold(r, (pawl_bytes){ at, (size_t)(nl - at) }, step);
    pawl_state_free(r->st);
    pawl_step_free(r->look);
    pawl_step_free(step);
    return rc;
}

pawl_code pawl_llm_recording_of_run(pawl_store *s, const char *run, const char *effect, pawl_sink_fn *sink, void *ctx, pawl_err *err)
{
    recording r = { .effect = effect, .sink = sink, .ctx = ctx, .err = err };
    blobs_of blobs;
    buf text;
    pawl_code rc;

    if (s == NULL || effect == NULL || sink == NULL)
        return fail(err, PAWL_INVALID, "a record needs a store, an effect and a function: one of them is NULL");
    arena_init(&r.mem, NULL, 4096);
    buf_init(&text, NULL);
    blobs_begin(&blobs, s, run);
    rc = store_journal(s, run, 0, &text, NULL, err);
    if (rc == PAWL_OK)
        rc = lines_fold(&r, &text, &blobs.loader);
    blobs_end(&blobs);
    buf_free(&text);
    arena_free(&r.mem);
    return rc;
}
