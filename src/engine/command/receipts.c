/* receipts.c - makes the receipt of a command from the reply of its handler.
 *
 * Called on the driving thread; reply_check() and reply_limit() by sql_command.c in the transaction of a commit, too. No lock, no store. */
#include "engine/command/attempt.h"
#include "kernel/compensation.h"

#include <string.h>

static pawl_outcome outcome_of(pawl_code rc)
{
    return rc >= 0 ? PAWL_OUTCOME_DONE : rc == PAWL_TIMEOUT ? PAWL_OUTCOME_TIMEOUT : rc == PAWL_UNKNOWN ? PAWL_OUTCOME_UNKNOWN
           : rc == PAWL_CANCELED ? PAWL_OUTCOME_CANCELED : PAWL_OUTCOME_ERROR;
}

/* Final, whatever it was: the same would come again (E13). */
void reply_limit(const pawl_engine *e, outbox_entry *entry)
{
    size_t bytes = entry->rc < 0 ? entry->reply.detail.size : entry->reply.text.size;

    if (bytes <= e->reply_bytes_max)
        return;
    entry->rc = pawl_reply_fail(&entry->reply, PAWL_LIMIT, "%s: %s: its reply has %zu bytes, which is over the limit of %zu (reply_bytes_max)", entry->job.id,
                             entry->job.effect, bytes, e->reply_bytes_max);
    buf_free(&entry->reply.detail);
    buf_init(&entry->reply.detail, &entry->reply.alloc);
}

/* A reply that is no JSON is an error of the handler. */
void reply_check(pawl_engine *e, outbox_entry *entry)
{
    buf *b = &entry->reply.text;
    arena mem;
    pawl_err wrong = {0};

    if (entry->rc >= 0 && b->size == 0)
        buf_text(b, "null");
    if (entry->rc < 0 || b->failed)
        return;
    arena_init(&mem, &e->alloc, 4096);
    if (value_parse(&mem, b->data, b->size, "the reply", &wrong) == NULL)
        entry->rc = wrong.code == PAWL_NOMEM ? PAWL_NOMEM : pawl_reply_fail(&entry->reply, wrong.code, "%s: %s", entry->job.effect, wrong.text);
    arena_free(&mem);
}

/* An inverse of a compensable command. When it fails, a person is asked, and may have it performed again: the attempts before that do not count any
 * more, so its receipt says how many they were. */
static bool is_inverse(const outbox_entry *entry)
{
    return strstr(entry->job.id, "." UNDO_TASK ".") != NULL;
}

/* What the handler said becomes the receipt's value. */
void receipt_make(pawl_engine *e, outbox_entry *entry)
{
    buf *b = &entry->reply.text;
    bool doubt;

    budget_leave(e, entry);
    if (entry->resolution == RESOLUTION_ASKING && !resolve_end(e, entry))
        return;
    secrets_star(e, entry);
    reply_check(e, entry);
    if (b->failed || entry->rc == PAWL_NOMEM)      /* the handler has run, and its reply is lost */
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_UNKNOWN, "%s: its receipt found no memory", entry->job.effect);
    if (entry->limits.cls == PAWL_CLASS_ONCE && is_retryable(entry->rc) && !entry->reply.untouched)
        entry->rc = PAWL_UNKNOWN;      /* it may have happened (E5) */
    doubt = entry->rc == PAWL_UNKNOWN && (entry->limits.cls == PAWL_CLASS_ONCE || entry->limits.cls == PAWL_CLASS_COMPENSABLE);
    if (doubt && resolve_begin(e, entry))
        return;
    entry->outcome = outcome_of(entry->rc);
    cost_report(entry);
    if (entry->rc < 0) {
        buf_reset(b);
        reply_failure(&entry->reply, entry->rc, doubt || is_inverse(entry) ? entry->job.attempt : 0, b);
    }
    if (entry->h == NULL || !entry->h->sql)     /* a command in SQL is performed again when its transaction is not stored */
        args_drop(entry);
    entry_move(entry, ENTRY_DONE);
}

void entry_refuse(pawl_engine *e, outbox_entry *entry, pawl_code code, const char *text)
{
    entry->rc = pawl_reply_fail(&entry->reply, code, "%s", text);
    receipt_make(e, entry);
    cost_report_none(entry);
}
