/* story.c - see story.h: a scene with a state for each attempt. Owns the journal and the states; one thread. */
#include "kernel/state.h"
#include "kernel/step.h"
#include "story.h"

#include <stdlib.h>
#include <string.h>

/* ---- steps and states with memory that can be refused ---------------------------------------- */

static size_t apart_limit;

void story_apart(size_t limit) { apart_limit = limit; }

void attempt_begin(attempt *a)
{
    *a = (attempt){ .load_fails_at = SIZE_MAX };
    heap_init(&a->h);
    a->alloc = heap_alloc(&a->h);
}

pawl_step *step_of(const pawl_alloc *alloc, bool fine)
{
    pawl_step *s = pawl_step_new(alloc);

    if (s != NULL && fine)
        s->mem.chunk_bytes = 0;
    if (s != NULL)
        pawl_step_blobs(s, apart_limit);
    return s;
}

void attempt_end(attempt *a)
{
    pawl_state_free(a->st);
    pawl_step_free(a->s);
    heap_check(&a->h);
}

void check_refused(const attempt *a, const char *what, size_t n, pawl_code rc)
{
    if (rc != PAWL_NOMEM || a->err.code != PAWL_NOMEM || a->err.text[0] == '\0')
        CHECK_FAIL("%s: allocation %zu refused: %s, and the error says %s: %s", what, n, pawl_code_name(rc),
                   pawl_code_name(a->err.code), a->err.text);
}

/* ---- the story that is marched through ------------------------------------------------------------ */

char *fold_text(story *y, pawl_state *st)
{
    return strdup(world_fold(st, y->look));
}

journal_text text_of(const story *y)
{
    return (journal_text){ y->journal.data, y->journal.size };
}

static pawl_code load_or_fail(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err)
{
    attempt *a = ctx;
    pawl_loader loader = journal_loader(&a->j);

    if (a->loads++ == a->load_fails_at)
        return fail(err, PAWL_IO, "the disk is away");
    return loader.entry(loader.ctx, seq, entry, records, err);
}

static pawl_code blob_or_fail(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    attempt *a = ctx;

    if (a->loads++ == a->load_fails_at)
        return fail(err, PAWL_IO, "the disk is away");
    return bag_find(a->apart, digest, bytes, err);
}

void attempt_state(attempt *a, story *y, bool fine)
{
    const pawl_loader loader = { .entry = load_or_fail, .blob = blob_or_fail, .ctx = a }, blobs = { .blob = blob_or_fail, .ctx = a };
    size_t at = y->snapshot_at;
    pawl_bytes line;
    pawl_entry *e;

    a->j = text_of(y);
    a->apart = &y->apart;
    CHECK((a->s = step_of(&a->alloc, fine)) != NULL);
    if (!y->lazy || y->snapshot.size == 0) {
        if (pawl_replay_with((pawl_bytes){ a->j.data, a->j.size }, 0, &blobs, &a->alloc, &a->st, &a->err) != PAWL_OK)
            CHECK_FAIL("replay: %s", a->err.text);
        return;
    }
    if (pawl_state_load(pawl_state_base(y->st), (pawl_bytes){ y->snapshot.data, y->snapshot.size }, &loader, &a->alloc, &a->st, &a->err) !=
        PAWL_OK)
        CHECK_FAIL("load: %s", a->err.text);
    while (journal_line(&a->j, &at, &line))
        if (pawl_entry_read(line, a->s, &e, &a->err) != PAWL_OK || pawl_apply(a->st, e, &a->err) != PAWL_OK)
            CHECK_FAIL("load: %s", a->err.text);
    pawl_step_free(a->s);       /* what it learnt by reading is not what is tried */
    CHECK((a->s = step_of(&a->alloc, fine)) != NULL);
}

void story_begin(story *y, const scene *sc)
{
    static const pawl_run_info info = { .id = "run-1", .life = 1, .seed = 7, .created_ms = 1000 };
    pawl_err err = { PAWL_OK, "" };

    *y = (story){ .sc = sc, .p = { .sc = sc } };
    y->m = sc->machine(NULL, &err);
    y->s = step_of(NULL, false);
    y->look = step_of(NULL, false);
    if (y->m == NULL || pawl_state_new(y->m, &info, 0, NULL, &y->st, &err) != PAWL_OK)
        CHECK_FAIL("%s: %s", sc->name, err.text);
    buf_init(&y->journal, NULL);
    buf_init(&y->snapshot, NULL);
    pawl_state_loader(y->st, &(pawl_loader){ .blob = bag_find, .ctx = &y->apart });
    buf_put(&y->journal, pawl_state_base(y->st).data, pawl_state_base(y->st).size);
    buf_char(&y->journal, '\n');
}

static void texts_free(story *y)
{
    free(y->bytes);
    free(y->before);
    free(y->after);
    y->bytes = y->before = y->after = NULL;
}

void story_end(story *y)
{
    texts_free(y);
    pawl_state_free(y->st);
    pawl_step_free(y->s);
    pawl_step_free(y->look);
    pawl_machine_free(y->m);
    buf_free(&y->journal);
    buf_free(&y->snapshot);
    bag_free(&y->apart);
}

bool story_next(story *y)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes bytes;

    texts_free(y);
    if (!play_next(&y->p, y->st, y->look, &y->ev))
        return false;
    y->before = fold_text(y, y->st);
    y->marks = y->st->nmarks;
    y->rc = pawl_feed(y->m, y->st, &y->ev, y->s, &err);
    if (y->rc < 0 || y->rc == PAWL_IGNORED)
        CHECK_FAIL("%s: move %zu: %s %s", y->sc->name, y->p.move, pawl_code_name(y->rc), err.text);
    bytes = pawl_step_bytes(y->s);
    bag_take(&y->apart, y->s);
    y->bytes = calloc(1, bytes.size + 1);
    memcpy(y->bytes, bytes.data, bytes.size);
    if (pawl_apply(y->st, pawl_step_entry(y->s), &err) != PAWL_OK)
        CHECK_FAIL("%s: move %zu: %s", y->sc->name, y->p.move, err.text);
    y->after = fold_text(y, y->st);
    return true;
}

/* Every second entry leaves a snapshot, so that there is a tail after it and something before. */
void story_stored(story *y)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes bytes;

    buf_text(&y->journal, y->bytes);
    buf_char(&y->journal, '\n');
    if (y->st->nmarks > 0 || y->st->seq % 2 == 1)
        return;
    if (pawl_state_snapshot(y->st, y->look, &bytes, &err) != PAWL_OK)
        CHECK_FAIL("%s: snapshot: %s", y->sc->name, err.text);
    bag_take(&y->apart, y->look);
    buf_reset(&y->snapshot);
    buf_put(&y->snapshot, bytes.data, bytes.size);
    y->snapshot_at = y->journal.size;
}

void check_same(story *y, attempt *a, const char *expected, const char *what, size_t n)
{
    char *now = fold_text(y, a->st);

    if (strcmp(now, expected) != 0)
        CHECK_FAIL("%s: %s after allocation %zu was refused\n  is   %s\n  not  %s", y->sc->name, what, n, now, expected);
    free(now);
}
