/* contract.c - one store after another, and what is in it as a text. */
#include "store/contract_inner.h"

#include <stdarg.h>
#include <time.h>

enum { TEXTS_MAX = 256, TEXT_BYTES = 1 << 16, LINES_MAX = 16, HASH_DIGITS = 64 };

const contract_maker *made;

/* ---- texts ------------------------------------------------------------------------------------------------ */

/* The last TEXTS_MAX of them. */
static char *keep(char *given)
{
    static char *kept[TEXTS_MAX];
    static size_t at;

    free(kept[at % TEXTS_MAX]);
    return kept[at++ % TEXTS_MAX] = given;
}

char *text(const char *fmt, ...)
{
    char line[1024];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line)
        CHECK_FAIL("a text of %d bytes", n);
    return keep(check_copy(line, (size_t)n));
}

pawl_bytes bytes(const char *s)
{
    return (pawl_bytes){ s, s == NULL ? 0 : strlen(s) };
}

const char *base(const char *run, const char *more)
{
    return text("{\"at\":1000,\"channels\":{},\"format\":1,\"id\":\"%s\",\"life\":\"00000000000000ab\","
                "\"machine\":{\"hash\":\"00\",\"name\":\"essay\",\"version\":1},\"seed\":\"0000000000000007\"%s}", run, more);
}

const char *entry(uint64_t seq, const char *items)
{
    return text("%0*d [%llu,1000,\"tick\",\"working\",1] %s", HASH_DIGITS, 7, (unsigned long long)seq, items);
}

/* ---- stores ---------------------------------------------------------------------------------------------------- */

pawl_store *opened(const char *space)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = made->open(space, &err);

    if (s == NULL)
        CHECK_FAIL("no store: %s", err.text);
    return s;
}

pawl_store *fresh(void)
{
    made->fresh();
    return opened("");
}

pawl_store *again(pawl_store *s)
{
    if (!made->shared)
        return s;
    pawl_store_free(s);
    return opened("");
}

void pass(pawl_store *s, int64_t ms)
{
    int64_t until = s->verbs->now(s) + ms;

    if (made->pass != NULL)
        made->pass(s, ms);
    while (s->verbs->now(s) < until)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* ---- verbs ----------------------------------------------------------------------------------------------------- */

uint64_t claimed(pawl_store *s, const char *run, const char *owner)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_head h;

    if (claim_one(s, run, owner, LONG_MS, &h, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    return h.fence;
}

uint64_t begun(pawl_store *s, const char *run, const char *more)
{
    pawl_err err = { PAWL_OK, "" };

    if (s->verbs->create(s, bytes(base(run, more)), NULL, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    return claimed(s, run, "me");
}

pawl_code put_one(pawl_store *s, pawl_append *a)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc = s->verbs->append(s, a, 1, &err);

    if (rc != PAWL_OK)
        CHECK_FAIL("append: %s: %s", pawl_code_name(rc), err.text);
    return a->rc;
}

pawl_code put(pawl_store *s, const char *run, uint64_t fence, uint64_t seq, ...)
{
    pawl_bytes lines[LINES_MAX];
    pawl_append a = { .run = run, .fence = fence, .seq = seq, .lines = lines };
    const char *line;
    va_list args;

    va_start(args, seq);
    while ((line = va_arg(args, const char *)) != NULL && a.nlines < LINES_MAX)
        lines[a.nlines++] = bytes(line);
    va_end(args);
    return put_one(s, &a);
}

void entries(pawl_store *s, const char *run, uint64_t fence, uint64_t from, uint64_t to)
{
    for (uint64_t seq = from; seq <= to; seq++)
        CHECK_INT(put(s, run, fence, seq - 1, entry(seq, "[]"), NULL), PAWL_OK);
}

pawl_head head(pawl_store *s, const char *run)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_head h;

    if (s->verbs->head(s, run, &h, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    return h;
}

pawl_code deliver(pawl_store *s, const char *run, const char *id, pawl_delivery_kind kind, const char *name, const char *value)
{
    pawl_delivery d = { .id = id, .kind = kind, .name = name, .value = bytes(value) };

    return s->verbs->deliver(s, run, &d, NULL);
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

typedef struct note {
    char *data;
    size_t size, left;
} note;

static note note_new(size_t most)
{
    note n = { .data = keep(malloc(TEXT_BYTES)), .left = most == 0 ? SIZE_MAX : most };

    if (n.data == NULL)
        abort();
    n.data[0] = '\0';
    return n;
}

static bool add(note *n, const char *fmt, ...)
#if defined __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
static bool add(note *n, const char *fmt, ...)
{
    va_list args;
    int size;

    va_start(args, fmt);
    size = vsnprintf(n->data + n->size, TEXT_BYTES - n->size, fmt, args);
    va_end(args);
    if (size < 0 || (size_t)size >= TEXT_BYTES - n->size)
        abort();
    n->size += (size_t)size;
    return --n->left > 0;
}

void check_journal(pawl_store *s, const char *run, const char *expected)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes b = pawl_store_journal(s, run, &err);

    if (b.data == NULL)
        CHECK_FAIL("%s", err.text);
    char *is = keep(check_copy(b.data, b.size));
    free((void *)(uintptr_t)b.data);
    CHECK_STR(is, expected);
}

static bool add_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    static const char *const names[] = { "blob", "base", "snapshot", "record", "" };
    const char *body = line.data;
    int size = (int)line.size;

    if (kind == PAWL_LINE_ENTRY) { /* without what is the same in all of them */
        body = memchr(line.data, ']', line.size);
        size = (int)line.size - (int)(body - line.data) - 2;
        return add(ctx, "%llu %.*s\n", (unsigned long long)seq, size, body + 2);
    }
    if (kind == PAWL_LINE_RECORD)
        return add(ctx, "record %.*s\n", size, body);
    if (kind == PAWL_LINE_BASE && size > 8)
        size = 8;
    return add(ctx, "%s %llu %.*s\n", names[kind], (unsigned long long)seq, size, body);
}

const char *loaded(pawl_store *s, const char *run, size_t most)
{
    pawl_err err = { PAWL_OK, "" };
    note n = note_new(most);

    if (s->verbs->load(s, run, add_line, &n, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    return n.data;
}

const char *ranged(pawl_store *s, const char *run, uint64_t after, uint64_t upto)
{
    note n = note_new(0);
    pawl_code rc = s->verbs->read(s, run, after, upto, add_line, &n, NULL);

    return rc == PAWL_OK ? n.data : pawl_code_name(rc);
}

static bool add_head(void *ctx, const pawl_head *h) { return add(ctx, "%s ", h->run); }
static bool add_wait(void *ctx, const char *run, const pawl_waiting *w) { return add(ctx, "%s %s ", run, w->id); }
static bool add_delivery(void *ctx, const pawl_delivery *d) { return add(ctx, "%s ", d->id); }

const char *listed(pawl_store *s, const pawl_filter *f)
{
    note n = note_new(0);

    CHECK_INT(s->verbs->list(s, f, add_head, &n, NULL), PAWL_OK);
    return n.data;
}

const char *due(pawl_store *s, int64_t now_ms, size_t limit)
{
    note n = note_new(0);

    CHECK_INT(s->verbs->due(s, now_ms, NULL, limit, add_head, &n, NULL), PAWL_OK);
    return n.data;
}

const char *waits(pawl_store *s, const char *run)
{
    note n = note_new(0);

    CHECK_INT(s->verbs->waits(s, run, add_wait, &n, NULL), PAWL_OK);
    return n.data;
}

const char *deliveries(pawl_store *s, const char *run)
{
    note n = note_new(0);

    CHECK_INT(s->verbs->deliveries(s, run, add_delivery, &n, NULL), PAWL_OK);
    return n.data;
}

typedef struct marked {
    char *all[LINES_MAX];
    size_t n;
} marked;

static bool add_mark(void *ctx, const pawl_mark *mark)
{
    marked *m = ctx;
    const char *times = mark->first_ms == 0 && mark->again_ms == 0 ? "" : text("(%lld,%lld)", (long long)mark->first_ms, (long long)mark->again_ms);

    if (m->n < LINES_MAX)
        m->all[m->n++] = text("%s=%lu%s ", mark->id, (unsigned long)mark->attempts, times);
    return true;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

const char *marks(pawl_store *s, const char *run)
{
    marked m = { .n = 0 };
    note n = note_new(0);

    CHECK_INT(s->verbs->marks(s, run, add_mark, &m, NULL), PAWL_OK);
    qsort(m.all, m.n, sizeof *m.all, by_text);
    for (size_t i = 0; i < m.n; i++)
        add(&n, "%s", m.all[i]);
    return n.data;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------ */

int contract_main(int argc, char **argv, const contract_maker *maker)
{
    made = maker;
    return check_main(argc, argv);
}
