/* fuzz_journal.c - any bytes as a journal: folded and verified, or refused with words (K5, K8). Each is tried as it
 * is, and with the hashes that it should have, so that more than the first hash is looked at. */
#include "fuzz/fuzz_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const fuzz_run *r, pawl_bytes journal)
{
    const pawl_loader loader = fuzz_loader(r);
    pawl_err err = { PAWL_OK, "" }, why = { PAWL_OK, "" };
    pawl_state *st = NULL;
    pawl_verdict v;
    pawl_code rc = pawl_replay_with(journal, 0, &loader, NULL, &st, &err), verified;

    must_tell(rc, &err);
    must((rc == PAWL_OK) == (st != NULL));
    verified = pawl_verify_with(r->m, journal, &loader, NULL, &v, &why);
    must_tell(verified, &why);
    must(verified != PAWL_OK || rc == PAWL_OK);     /* what verifies folds */
    if (st != NULL)
        fuzz_look(r, st);
    pawl_state_free(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const fuzz_run *r = fuzz_the_run();
    const char *at = (const char *)data, *end = at + size, *nl;
    hash head;
    buf sealed;

    if (size == 0)
        return 0;
    judge(r, (pawl_bytes){ at, size });
    buf_init(&sealed, NULL);
    for (bool base = true; at < end; base = false, at = nl + 1) {
        if ((nl = memchr(at, '\n', (size_t)(end - at))) == NULL)
            nl = end;
        const pawl_bytes line = { at, (size_t)(nl - at) };
        if (base) {
            hash_of(line.data, line.size, &head);
            buf_put(&sealed, line.data, line.size);
        } else {
            fuzz_seal(line, &head, &head, &sealed);
        }
        if (nl < end)
            buf_char(&sealed, '\n');
    }
    if (sealed.size > 0)
        judge(r, (pawl_bytes){ sealed.data, sealed.size });
    buf_free(&sealed);
    return 0;
}
