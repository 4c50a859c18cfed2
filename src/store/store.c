/* store.c - functions that work on any store through its verbs: closing a handle, and reading a whole journal as one text.
 *
 * Owns nothing. pawl_store_free and pawl_store_journal are public; store_journal is called by src/engine/command (arguments of an earlier state) and
 * src/history, which fold the text (journal_fold); store_records by those who anchor heads. On the thread that uses the handle. */
#include "store/store.h"

typedef struct journal_builder { buf *out; uint64_t base_seq; bool has_base; } journal_builder;

static void line_add(journal_builder *j, pawl_bytes line)
{
    buf_put(j->out, line.data, line.size);
    buf_char(j->out, '\n');
}

/* Stops after the first line: load would go on with the snapshot. */
static bool add_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    journal_builder *j = ctx;

    j->has_base = kind == PAWL_LINE_BASE;
    j->base_seq = seq;
    line_add(j, line);
    return false;
}

/* A read from entry 0 begins with the base, one of a pruned journal does not: the base is added by add_base alone. */
static bool add_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    journal_builder *j = ctx;

    (void)seq;
    if (kind != PAWL_LINE_BASE)
        line_add(j, line);
    return !j->out->failed;
}

pawl_code store_journal(pawl_store *s, const char *run, uint64_t upto, buf *out, uint64_t *base_seq, pawl_err *err)
{
    journal_builder j = { .out = out };
    pawl_code rc = run == NULL ? fail(err, PAWL_INVALID, "a run has an id") : s->verbs->load(s, run, add_base, &j, err);

    if (rc == PAWL_OK && !j.has_base)
        rc = fail(err, PAWL_CORRUPT, "%s: its journal has no base", run);
    if (rc != PAWL_OK)
        return rc;
    if (upto != 0 && upto < j.base_seq)
        return fail(err, PAWL_GONE, "%s: entry %llu was pruned, it begins at %llu", run, (unsigned long long)upto,
                    (unsigned long long)j.base_seq);
    rc = s->verbs->read(s, run, j.base_seq, upto, add_line, &j, err);
    if (rc == PAWL_OK && out->failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its journal", run);
    if (base_seq != NULL)
        *base_seq = j.base_seq;
    return rc;
}

typedef struct record_reader { buf text; uint64_t n, most; } record_reader;

static bool add_record(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    record_reader *k = ctx;

    (void)seq;
    if (kind == PAWL_LINE_ENTRY || k->n == k->most)
        return false;
    if (kind != PAWL_LINE_RECORD)
        return true;
    buf_put(&k->text, line.data, line.size);
    buf_char(&k->text, '\n');
    k->n++;
    return !k->text.failed;
}

pawl_code store_records(pawl_store *s, const char *run, uint64_t seq, uint64_t n, uint64_t *found, hash *out, pawl_err *err)
{
    record_reader k = { .most = n };
    pawl_code rc;

    buf_init(&k.text, NULL);
    rc = s->verbs->read(s, run, seq, 0, add_record, &k, err);
    if (rc == PAWL_OK && k.text.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its task records", run);
    if (rc == PAWL_OK)
        hash_of(k.text.data, k.text.size, out);
    *found = k.n;
    buf_free(&k.text);
    return rc;
}

/* For a store without the verb `look`: head, lines, head, and the lives of both heads are compared. */
static pawl_code look_in_turn(pawl_store *s, const char *run, pawl_look *look, pawl_err *err)
{
    const pawl_store_verbs *v = s->verbs;
    const uint64_t version = v->version(s);
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = v->head(s, run, &look->head, err), lines = PAWL_OK;
    const uint64_t life = look->head.life;

    if (rc == PAWL_OK && look->fn != NULL) {
        lines = look->load ? v->load(s, run, look->fn, look->ctx, &why) : v->read(s, run, look->after, look->upto, look->fn, look->ctx, &why);
        rc = lines == PAWL_OK || lines == PAWL_GONE ? v->head(s, run, &look->head, err) : fail(err, lines, "%s", why.text);
    }
    if (rc == PAWL_OK && look->head.life != life)
        rc = fail(err, PAWL_GONE, "%s: the run was deleted, and another one was begun under its id", run);
    look->version = version;
    if (rc != PAWL_OK)
        look->head = (pawl_head){ .run = NULL };
    return rc == PAWL_OK && lines != PAWL_OK ? fail(err, lines, "%s", why.text) : rc;
}

pawl_code store_look(pawl_store *s, const char *run, pawl_look *look, pawl_err *err)
{
    look->head = (pawl_head){ .run = NULL };
    look->version = 0;
    return s->verbs->look != NULL ? s->verbs->look(s, run, look, err) : look_in_turn(s, run, look, err);
}

pawl_bytes pawl_store_journal(pawl_store *s, const char *run, pawl_err *err)
{
    buf text;

    if (s == NULL) {
        fail(err, PAWL_INVALID, "a journal needs a store");
        return (pawl_bytes){0};
    }
    buf_init(&text, NULL);
    if (store_journal(s, run, 0, &text, NULL, err) != PAWL_OK)
        buf_free(&text);
    return (pawl_bytes){ text.data, text.size };
}

void pawl_store_free(pawl_store *s)
{
    if (s != NULL)
        s->verbs->close(s);
}
