/* entry_page.c - reads entries for a state's loader many at once, since a state asks for them one after another.
 *
 * Owns entry_page, which belongs to one loader and its thread. Called by the loaders of run_store.c and of history/current_state.c; `read` takes the
 * locks of its store. */
#include "stream/entry_page.h"

#include <string.h>

enum { PAGE_ENTRIES = 256, PAGE_BYTES = 1 << 18 };

void entry_page_init(entry_page *p, const pawl_alloc *alloc)
{
    *p = (entry_page){ .next = 0 };
    buf_init(&p->text, alloc);
}

void entry_page_free(entry_page *p)
{
    buf_free(&p->text);
}

static bool see_entry(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    buf *text = ctx;

    (void)seq;
    if (kind != PAWL_LINE_ENTRY && kind != PAWL_LINE_RECORD)
        return true;
    buf_put(text, line.data, line.size);
    buf_char(text, '\n');
    return !text->failed && (kind == PAWL_LINE_RECORD || text->size < PAGE_BYTES);
}

pawl_code entry_page_get(entry_page *p, const char *run, uint64_t seq, entry_read_fn *read, void *ctx, pawl_bytes *entry, pawl_bytes *records, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    if (seq != p->next || p->at == p->text.size) {
        buf_reset(&p->text);
        p->next = p->at = 0;
        rc = read(ctx, seq - 1, seq - 1 + PAGE_ENTRIES, see_entry, &p->text, err);
        if (rc == PAWL_OK && p->text.failed)
            rc = fail(err, PAWL_NOMEM, "%s: no memory for entry %llu", run, (unsigned long long)seq);
    }
    for (size_t first = p->at, at = first; rc == PAWL_OK && at < p->text.size;) {
        const char *line = p->text.data + at, *nl = memchr(line, '\n', p->text.size - at);

        at = (size_t)(nl - p->text.data) + 1;
        if (*line == '[')
            continue;
        *records = (pawl_bytes){ p->text.data + first, (size_t)(line - p->text.data) - first };
        *entry = (pawl_bytes){ line, (size_t)(nl - line) };
        p->at = at;
        p->next = seq + 1;
        return PAWL_OK;
    }
    p->at = p->text.size;
    return rc == PAWL_OK ? fail(err, PAWL_GONE, "%s: there is no entry %llu", run, (unsigned long long)seq) : rc;
}
