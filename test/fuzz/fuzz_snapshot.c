/* fuzz_snapshot.c - any bytes as a base, or as a snapshot after a good base: refused with words, or a state that can be
 * asked anything (K6, X3). The first byte says which: 'b' a base, else a snapshot. */
#include "fuzz/fuzz_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const fuzz_run *r = fuzz_the_run();
    union { const fuzz_run *in; void *out; } ctx = { r };
    const pawl_loader loader = { .entry = fuzz_entry_lines, .blob = fuzz_blob, .ctx = ctx.out };
    pawl_bytes bytes, base = { r->journal.data, r->ends[0] - 1 };
    pawl_err err = { PAWL_OK, "" };
    pawl_state *st = NULL;
    pawl_code rc;

    if (size < 2)
        return 0;
    bytes = (pawl_bytes){ (const char *)data + 1, size - 1 };
    if (data[0] == 'b')
        rc = pawl_state_load(bytes, (pawl_bytes){ NULL, 0 }, &loader, NULL, &st, &err);
    else
        rc = pawl_state_load(base, bytes, &loader, NULL, &st, &err);
    must_tell(rc, &err);
    must((rc == PAWL_OK) == (st != NULL));
    if (st != NULL)
        fuzz_look(r, st);
    pawl_state_free(st);
    return 0;
}
