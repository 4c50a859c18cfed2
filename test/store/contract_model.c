/* contract_model.c - the contract: random writes to some runs, and a model of what they must come to. */
#include "store/contract_inner.h"

enum { RUNS = 5, STEPS = 400, STEPS_ALL = 4000, LINES_MAX = 6, LINE_BYTES_MAX = 3000, JOURNAL_BYTES_MAX = 1 << 23 };

typedef struct model {
    bool there;
    uint64_t fence, seq, base_seq, snapshot_seq;
    char *text;                 /* the journal after its base */
    size_t size;
    char base[512];
    char lines[LINES_MAX][LINE_BYTES_MAX]; /* of the append at hand */
} model;

static model runs[RUNS];

static const char *name(int i)
{
    return text("run-%d", i);
}

static void model_begin(pawl_store *s, int i)
{
    model *m = &runs[i];
    char *kept = m->text != NULL ? m->text : malloc(JOURNAL_BYTES_MAX);

    if (kept == NULL)
        abort();
    *m = (model){ .there = true, .text = kept };
    snprintf(m->base, sizeof m->base, "%s", base(name(i), ""));
    m->fence = begun(s, name(i), "");
}

static void line_make(char *out, uint64_t seq, bool record)
{
    size_t n = (size_t)check_rand_below(check_rand_below(10) == 0 ? LINE_BYTES_MAX - 200 : 60), at;

    at = (size_t)snprintf(out, LINE_BYTES_MAX, "%s", record ? "[[" : entry(seq, "["));
    for (size_t i = 0; i < n; i++)
        out[at++] = (char)('a' + check_rand_below(26));
    snprintf(out + at, LINE_BYTES_MAX - at, "%s", record ? "]]" : "]");
}

/* Random lines for run `i`, to be written after `seq`; whether the last is an entry. */
static bool lines_make(pawl_append *a, pawl_bytes *lines, int i)
{
    uint64_t seq = a->seq;
    bool entry_last = false;

    a->run = name(i);
    a->lines = lines;
    a->nlines = (size_t)check_rand_below(LINES_MAX + 1);
    for (size_t k = 0; k < a->nlines; k++) {
        entry_last = check_rand_below(3) > 0;
        seq += entry_last;
        line_make(runs[i].lines[k], seq, !entry_last);
        lines[k] = bytes(runs[i].lines[k]);
    }
    return entry_last;
}

static void model_append(model *m, const pawl_append *a)
{
    for (size_t k = 0; k < a->nlines; k++) {
        if (m->size + a->lines[k].size + 1 > JOURNAL_BYTES_MAX)
            abort();
        memcpy(m->text + m->size, a->lines[k].data, a->lines[k].size);
        m->size += a->lines[k].size;
        m->text[m->size++] = '\n';
        m->seq += a->lines[k].data[0] != '[';
    }
    if (a->snapshot.size > 0)
        m->snapshot_seq = m->seq;
}

/* Where the line after entry `seq` begins. */
static size_t after_entry(const model *m, uint64_t seq)
{
    uint64_t at = m->base_seq;
    size_t i = 0;

    while (i < m->size && at < seq) {
        at += m->text[i] != '[';
        i += (size_t)((char *)memchr(m->text + i, '\n', m->size - i) - (m->text + i)) + 1;
    }
    return i;
}

typedef struct compare {
    const char *at, *end;
    size_t heads;
} compare;

static bool is_same(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    compare *c = ctx;

    (void)seq;
    if (kind == PAWL_LINE_BASE || kind == PAWL_LINE_SNAPSHOT) {
        c->heads++;
        return true;
    }
    CHECK(line.size < (size_t)(c->end - c->at));
    CHECK_BYTES(line.data, line.size, c->at, line.size);
    CHECK_INT(c->at[line.size], '\n');
    CHECK_INT(kind, *line.data == '[' ? PAWL_LINE_RECORD : PAWL_LINE_ENTRY);
    c->at += line.size + 1;
    return true;
}

static void check_run(pawl_store *s, int i)
{
    const model *m = &runs[i];
    uint64_t from = m->base_seq + check_rand_below(m->seq - m->base_seq + 1), to = from + check_rand_below(m->seq - from + 1);
    compare c;
    pawl_bytes all;

    CHECK_INT(head(s, name(i)).seq, m->seq);
    all = pawl_store_journal(s, name(i), NULL);
    CHECK_BYTES(all.data, strlen(m->base), m->base, strlen(m->base));
    CHECK_BYTES(all.data + strlen(m->base) + 1, all.size - strlen(m->base) - 1, m->text, m->size);
    free((void *)(uintptr_t)all.data);
    c = (compare){ m->text + after_entry(m, m->snapshot_seq), m->text + m->size, 0 };
    CHECK_INT(s->verbs->load(s, name(i), is_same, &c, NULL), PAWL_OK);
    CHECK(c.at == c.end);
    CHECK_INT(c.heads, 1 + (m->snapshot_seq > 0));
    c = (compare){ m->text + after_entry(m, from), m->text + (to == 0 ? m->size : after_entry(m, to)), 0 };
    CHECK_INT(s->verbs->read(s, name(i), from, to, is_same, &c, NULL), PAWL_OK);
    CHECK(c.at == c.end);
}

static void step_append(pawl_store *s)
{
    pawl_append all[RUNS];
    pawl_bytes lines[RUNS][LINES_MAX];
    pawl_code rc[RUNS];

    for (int i = 0; i < RUNS; i++) {
        model *m = &runs[i];
        uint64_t wrong = check_rand_below(8);

        all[i] = (pawl_append){ .fence = m->fence + (wrong == 0 ? 1000000 : 0), .seq = m->seq + (wrong == 1) };
        rc[i] = !m->there ? PAWL_GONE : wrong == 0 ? PAWL_FENCED : wrong == 1 ? PAWL_CONFLICT : PAWL_OK;
        if (lines_make(&all[i], lines[i], i) && check_rand_below(5) == 0)
            all[i].snapshot = bytes("{\"fold\":0}");
    }
    CHECK_INT(s->verbs->append(s, all, RUNS, NULL), PAWL_OK);
    for (int i = 0; i < RUNS; i++) {
        CHECK_INT(all[i].rc, rc[i]);
        if (rc[i] == PAWL_OK)
            model_append(&runs[i], &all[i]);
    }
    if (check_rand_below(4) > 0)
        return;
    for (int i = 0; i < RUNS; i++) /* the reply was lost; without an entry it would be something new */
        if (rc[i] == PAWL_OK && runs[i].seq > all[i].seq)
            CHECK_INT(put_one(s, &all[i]), PAWL_OK);
}

static void step_prune(pawl_store *s, int i)
{
    model *m = &runs[i];
    uint64_t seq = m->base_seq + check_rand_below(m->seq - m->base_seq + 1);
    const char *cut = base(name(i), text(",\"seq\":%llu", (unsigned long long)seq));
    size_t gone = after_entry(m, seq);

    if (seq == m->base_seq)
        return;
    CHECK_INT(s->verbs->prune(s, name(i), m->fence, seq, bytes(cut), NULL), PAWL_OK);
    memmove(m->text, m->text + gone, m->size - gone);
    m->size -= gone;
    m->base_seq = seq;
    m->snapshot_seq = m->snapshot_seq <= seq ? 0 : m->snapshot_seq;     /* of `seq` itself: the base has the same state */
    snprintf(m->base, sizeof m->base, "%s", cut);
}

/* Through two handles, where there can be two: neither may go by what it remembers. */
PAWL_TEST(test_S3_random_writes_come_to_what_a_model_says)
{
    int steps = check_run_all() ? STEPS_ALL : STEPS;
    pawl_store *handles[2] = { fresh() }, *s = handles[0];

    handles[1] = made->shared ? opened("") : s;
    for (int i = 0; i < RUNS; i++)
        model_begin(s, i);
    for (int step = 0; step < steps; step++) {
        int i = (int)check_rand_below(RUNS), handle = (int)check_rand_below(2);
        uint64_t what = check_rand_below(40);

        s = handles[handle];
        if (what == 0 && runs[i].there) {
            CHECK_INT(s->verbs->remove(s, name(i), runs[i].fence, NULL), PAWL_OK);
            runs[i].there = false;
        } else if (what < 4 && !runs[i].there) {
            model_begin(s, i);
        } else if (what < 4) {
            runs[i].fence = claimed(s, name(i), "me");
        } else if (what < 7 && runs[i].there) {
            step_prune(s, i);
        } else if (what == 7) {
            s = handles[handle] = again(s);
        } else if (what < 12 && runs[i].there) {
            check_run(s, i);
        } else {
            step_append(s);
        }
    }
    for (int i = 0; i < RUNS; i++) {
        if (runs[i].there)
            check_run(s, i);
        free(runs[i].text);
        runs[i].text = NULL;
    }
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    if (handles[1] != handles[0])
        pawl_store_free(handles[1]);
    pawl_store_free(handles[0]);
}
