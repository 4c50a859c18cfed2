/* fuzz_entry.c - any bytes as an entry or a task record: refused with words, and then nothing has happened; or taken
 * (K1, K8). The first byte says where the run stands that it is applied to. */
#include "fuzz/fuzz_run.h"
#include "kernel/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *fold_of(pawl_state *st, pawl_step *look)
{
    uint32_t marks = st->nmarks;
    size_t tail = st->tail_bytes, last = st->snapshot_bytes;
    pawl_bytes bytes;
    char *text;

    st->nmarks = 0;             /* in the middle of a superstep, too */
    must(pawl_state_snapshot(st, look, &bytes, NULL) == PAWL_OK);
    st->nmarks = marks;
    st->tail_bytes = tail;
    st->snapshot_bytes = last;
    text = calloc(1, bytes.size + 1);
    must(text != NULL);
    memcpy(text, bytes.data, bytes.size);
    return text;
}

static void look_at(const pawl_entry *e, pawl_bytes bytes)
{
    const char *name, *node;

    must(pawl_entry_bytes(e).size == bytes.size && memcmp(pawl_entry_bytes(e).data, bytes.data, bytes.size) == 0);
    must(pawl_entry_is_record(e) == (pawl_entry_hash(e)[0] == '\0'));
    must(pawl_entry_seq(e) == 0 || pawl_event_kind_name(pawl_entry_kind(e)) != NULL);
    must(pawl_status_name(pawl_entry_status(e)) != NULL);
    for (size_t i = 0; pawl_entry_emission(e, i, &name, &node) != NULL; i++)
        must(name != NULL && node != NULL);
}

static void apply_to(const fuzz_run *r, pawl_state *st, pawl_bytes bytes)
{
    pawl_step *s = pawl_step_new(NULL), *look = pawl_step_new(NULL);
    pawl_err err = { PAWL_OK, "" };
    pawl_entry *e = NULL;
    pawl_code rc = pawl_entry_read(bytes, s, &e, &err);
    char *before, *after;

    must_tell(rc, &err);
    must((rc == PAWL_OK) == (e != NULL));
    if (rc == PAWL_OK) {
        look_at(e, bytes);
        must_tell(pawl_entry_load(st, e, &err), &err);
        err = (pawl_err){ PAWL_OK, "" };
        look_at(e, bytes);
        before = fold_of(st, look);
        rc = pawl_apply(st, e, &err);
        must_tell(rc, &err);
        after = fold_of(st, look);
        must(rc == PAWL_OK || strcmp(before, after) == 0);
        free(before);
        free(after);
        if (rc == PAWL_OK)
            fuzz_look(r, st);
    }
    pawl_step_free(s);
    pawl_step_free(look);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const fuzz_run *r = fuzz_the_run();
    pawl_bytes bytes;
    pawl_state *st;
    hash self;
    buf sealed;

    if (size == 0)
        return 0;
    bytes = (pawl_bytes){ (const char *)data + 1, size - 1 };
    st = fuzz_state(r, data[0]);
    apply_to(r, st, bytes);
    pawl_state_free(st);
    st = fuzz_state(r, data[0]);
    buf_init(&sealed, NULL);
    fuzz_seal(bytes, &st->head, &self, &sealed);
    if (sealed.size > 0)
        apply_to(r, st, (pawl_bytes){ sealed.data, sealed.size });
    buf_free(&sealed);
    pawl_state_free(st);
    return 0;
}
