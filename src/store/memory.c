/* memory.c - journals in memory: one growing text a run. */
#include "store/store.h"

#include <string.h>

typedef struct memory_run {
    struct memory_run *next;
    buf journal;
    char id[];
} memory_run;

struct pawl_store {
    pawl_alloc alloc;
    memory_run *first, *last;
};

pawl_store *pawl_store_memory(pawl_err *err)
{
    return store_memory_in(NULL, err);
}

pawl_store *store_memory_in(const pawl_alloc *given, pawl_err *err)
{
    pawl_alloc alloc = mem_or_default(given);
    pawl_store *s = mem_new(&alloc, sizeof *s);

    if (s == NULL)
        fail(err, PAWL_NOMEM, "no memory for a store");
    else
        s->alloc = alloc;
    return s;
}

void pawl_store_free(pawl_store *s)
{
    if (s == NULL)
        return;
    for (memory_run *r = s->first, *next; r != NULL; r = next) {
        next = r->next;
        buf_free(&r->journal);
        mem_free(&s->alloc, r, sizeof *r + strlen(r->id) + 1);
    }
    pawl_alloc alloc = s->alloc;
    mem_free(&alloc, s, sizeof *s);
}

static memory_run *run_find(const pawl_store *s, const char *id)
{
    for (memory_run *r = s->first; r != NULL; r = r->next)
        if (strcmp(r->id, id) == 0)
            return r;
    return NULL;
}

pawl_bytes pawl_store_journal(const pawl_store *s, const char *id)
{
    const memory_run *r = s == NULL || id == NULL ? NULL : run_find(s, id);

    return r == NULL ? (pawl_bytes){0} : (pawl_bytes){ r->journal.data, r->journal.size };
}

const char *pawl_store_run(const pawl_store *s, size_t index)
{
    const memory_run *r = s->first;

    while (r != NULL && index-- > 0)
        r = r->next;
    return r == NULL ? NULL : r->id;
}

static pawl_code line_put(memory_run *r, pawl_bytes line, pawl_err *err)
{
    if (!buf_room(&r->journal, line.size + 1)) {
        r->journal.failed = false;
        return fail(err, PAWL_NOMEM, "%s: no memory for its journal", r->id);
    }
    buf_put(&r->journal, line.data, line.size);
    buf_char(&r->journal, '\n');
    return PAWL_OK;
}

pawl_code store_create(pawl_store *s, const char *id, pawl_bytes base, pawl_err *err)
{
    size_t n = strlen(id) + 1;
    memory_run *r = run_find(s, id);
    pawl_code rc;

    if (r != NULL)
        return fail(err, PAWL_CONFLICT, "%s: there is such a run", id);
    if ((r = mem_new(&s->alloc, sizeof *r + n)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for a run", id);
    memcpy(r->id, id, n);
    buf_init(&r->journal, &s->alloc);
    if ((rc = line_put(r, base, err)) != PAWL_OK) {
        buf_free(&r->journal);
        mem_free(&s->alloc, r, sizeof *r + n);
        return rc;
    }
    if (s->last == NULL)
        s->first = r;
    else
        s->last->next = r;
    s->last = r;
    return PAWL_OK;
}

pawl_code store_append(pawl_store *s, const char *id, const pawl_bytes *lines, size_t n, pawl_err *err)
{
    memory_run *r = run_find(s, id);
    size_t before;
    pawl_code rc = PAWL_OK;

    if (r == NULL)
        return fail(err, PAWL_GONE, "%s: there is no such run", id);
    before = r->journal.size;
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        rc = line_put(r, lines[i], err);
    if (rc != PAWL_OK)
        r->journal.size = before;
    return rc;
}
