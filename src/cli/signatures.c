/* signatures.c - looks through the journal of a run for signatures whose keys are distrusted on this machine.
 *
 * Called by the verbs replay and verify, on the main thread, after the journal was verified. */
#include "app/signers.h"
#include "cli/signatures.h"
#include "kernel/item.h"

typedef struct trust_read { const pawl_value *known; pawl_err *err; uint64_t seq; pawl_code rc; } trust_read;

static bool see_signed(void *ctx, uint64_t seq, const pawl_entry *e)
{
    trust_read *t = ctx;

    for (const item *it = e->items; it != NULL && t->rc == PAWL_OK; it = it->next) {
        const pawl_value *by = pawl_value_get(pawl_value_get(it->value, "signed"), "by"), *one = it->kind == ITEM_SIGN ? it->value : pawl_value_at(by, 0);

        for (size_t i = 0; (it->kind == ITEM_ANSWER || it->kind == ITEM_SIGN) && one != NULL && t->rc == PAWL_OK; one = pawl_value_at(by, ++i)) {
            const char *name = pawl_value_string(pawl_value_get(one, "name")), *key = pawl_value_string(pawl_value_get(one, "key"));

            t->rc = name == NULL || key == NULL ? PAWL_OK : signers_count(t->known, name, key, t->err);
        }
    }
    t->seq = seq;
    return t->rc == PAWL_OK;
}

pawl_code signatures_trusted(const pawl_value *known, pawl_store *store, const char *run, uint64_t *seq, pawl_err *err)
{
    trust_read t = { .known = known, .err = err };
    pawl_err why = { PAWL_OK, "" };

    if (pawl_value_size(pawl_value_get(t.known, "distrusted")) + pawl_value_size(pawl_value_get(t.known, "trusted")) == 0)
        return PAWL_OK;
    if (pawl_history_walk(store, run, 0, 0, see_signed, &t, &why) != PAWL_OK && t.rc == PAWL_OK)
        t.rc = fail(err, why.code, "%s", why.text);
    *seq = t.rc != PAWL_OK ? t.seq : *seq;
    return t.rc;
}
