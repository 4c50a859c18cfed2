/* list.c - lists of runs by a filter (S6), and the runs that are due (E9, E12, E14).
 *
 * Owns nothing. Called through the verbs list, due and next_due, on the thread that uses the handle, in a read transaction.
 * Each list goes along one index and checks the rest of the filter run by run; it costs what it returns. */
#include "store/sqlite/sqlite.h"

#include <stdlib.h>

/* ---- listing (S6) ---------------------------------------------------------------------------- */

/* The index of the most selective member of the filter. */
static sql_id list_index(const pawl_filter *f)
{
    if (f->parent != NULL)
        return SQL_LIST_PARENT;
    if (f->label != NULL)
        return SQL_LIST_LABEL;
    if (f->context != NULL)
        return SQL_LIST_CONTEXT;
    if (f->held)
        return SQL_LIST_HELD;
    if (f->parked)
        return SQL_LIST_PARKED;
    if (f->waiting)
        return SQL_LIST_WAITING;
    if (f->status != 0)
        return SQL_LIST_STATUS;
    return f->machine != NULL ? SQL_LIST_MACHINE : SQL_LIST_ALL;
}

static void bind_flag(sqlite3_stmt *q, int at, bool wanted, int64_t value)
{
    if (wanted)
        sql_int(q, at, value);
    else
        sql_null(q, at);
}

/* Returns how much of `limit` is left; 0 when the callback stopped. */
static size_t heads_emit(sqlite_store *s, sqlite3_stmt *q, size_t limit, int64_t since_ms, pawl_head_fn *fn, void *ctx)
{
    pawl_head h;

    while (limit > 0 && sql_row(s, q)) {
        head_read(s, q, &h);
        if (h.changed_ms < since_ms)
            continue;
        limit--;
        if (!fn(ctx, &h))
            limit = 0;
    }
    sql_end(q);
    return limit;
}

/* The caller binds ?2, the bound of the page. */
static sqlite3_stmt *filter_use(sqlite_store *s, const pawl_filter *f, sql_id id)
{
    sqlite3_stmt *q = sql_use(s, id);

    sql_int(q, 1, s->space);
    sql_text(q, 3, f->machine);
    sql_text(q, 4, f->context);
    sql_text(q, 5, f->parent);
    sql_text(q, 6, f->label);
    bind_flag(q, 7, f->status != 0, f->status - 1);
    bind_flag(q, 8, f->waiting, 1);
    bind_flag(q, 9, f->parked, 1);
    bind_flag(q, 10, f->held, 1);
    return q;
}

/* The index of ids gives the numbers, which are sorted; then each run is read by its number. */
static void list_by_prefix(sqlite_store *s, const pawl_filter *f, int64_t before, size_t limit, pawl_head_fn *fn, void *ctx)
{
    sqlite3_stmt *nos = sql_use(s, SQL_LIST_PREFIX);

    sql_int(nos, 1, s->space);
    sql_int(nos, 2, before);
    sql_text(nos, 3, f->begins);
    while (limit > 0 && sql_row(s, nos)) {
        sqlite3_stmt *q = filter_use(s, f, SQL_LIST_ONE);

        sql_int(q, 2, sql_get_int(nos, 0));
        limit = heads_emit(s, q, limit, f->changed_since_ms, fn, ctx);
    }
    sql_end(nos);
}

/* ---- by time of change ---------------------------------------------------------- */

static int newer_first(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

typedef struct numbers { int64_t *all; size_t n, cap; } numbers;

static bool number_add(sqlite_store *s, numbers *list, int64_t no)
{
    if (!arena_room(&s->mem, (void **)&list->all, &list->cap, list->n, sizeof *list->all)) {
        s->rc = SQLITE_NOMEM;
        return false;
    }
    list->all[list->n++] = no;
    return true;
}

/* A head may be older than the newest row of its run (Q3), so both are asked. False: more than CHANGED_RUNS_MAX, or s->rc. */
static bool changed_collect(sqlite_store *s, int64_t since_ms, int64_t before, numbers *out)
{
    sqlite3_stmt *q = sql_use(s, SQL_LIST_CHANGED);

    sql_int(q, 1, s->space);
    sql_int(q, 2, before);
    sql_int(q, 3, since_ms);
    sql_int(q, 4, CHANGED_RUNS_MAX + 1);
    while (sql_row(s, q) && number_add(s, out, sql_get_int(q, 0)))
        ;
    sql_end(q);
    for (size_t i = 0; i < s->tail_cap && out->n <= CHANGED_RUNS_MAX && s->rc == SQLITE_OK; i++)
        if (s->tail[i].no != 0 && s->tail[i].no < before && s->tail[i].changed_ms >= since_ms)
            (void)number_add(s, out, s->tail[i].no);
    return s->rc == SQLITE_OK && out->n <= CHANGED_RUNS_MAX;
}

/* True: the list is complete. The tail also has runs of other namespaces, which SQL_LIST_ONE does not find. */
static bool list_by_change(sqlite_store *s, const pawl_filter *f, int64_t before, size_t limit, pawl_head_fn *fn, void *ctx)
{
    numbers list = { NULL, 0, 0 };

    if (!changed_collect(s, f->changed_since_ms, before, &list))
        return s->rc != SQLITE_OK;
    if (list.n > 0)
        qsort(list.all, list.n, sizeof *list.all, newer_first);
    for (size_t i = 0; i < list.n && limit > 0; i++) {
        sqlite3_stmt *q;

        if (i > 0 && list.all[i] == list.all[i - 1])
            continue;
        q = filter_use(s, f, SQL_LIST_ONE);
        sql_int(q, 2, list.all[i]);
        limit = heads_emit(s, q, limit, f->changed_since_ms, fn, ctx);
    }
    return true;
}

pawl_code sqlite_list(pawl_store *st, const pawl_filter *filter, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    static const pawl_filter any = { 0 };
    sqlite_store *s = sqlite_of(st);
    const pawl_filter *f = filter == NULL ? &any : filter;
    const int64_t before = f->before == 0 || f->before > INT64_MAX ? INT64_MAX : (int64_t)f->before;
    const size_t limit = f->limit == 0 ? STORE_LIST_LIMIT : f->limit;
    sqlite3_stmt *q;
    pawl_code rc;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list needs a callback");
    if ((rc = read_begin(s, err)) != PAWL_OK)
        return rc;
    if (f->begins != NULL) {
        list_by_prefix(s, f, before, limit, fn, ctx);
    } else if (f->changed_since_ms <= 0 || !list_by_change(s, f, before, limit, fn, ctx)) {
        q = filter_use(s, f, list_index(f));
        sql_int(q, 2, before);
        heads_emit(s, q, limit, f->changed_since_ms, fn, ctx);
    }
    return read_end(s, PAWL_OK, err);
}

/* ---- due runs ---------------------------------------------------------------------- */

/* Timers are compared with now_ms, leases with the store's own time. */
static size_t due_list(sqlite_store *s, sql_id id, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx)
{
    sqlite3_stmt *q = sql_use(s, id);

    sql_int(q, 1, s->space);
    sql_int(q, 2, now_ms);
    sql_int(q, 3, store_now(s));
    sql_int(q, 4, after == NULL ? INT64_MIN : after->look_ms);
    if (id == SQL_DUE_SAME_TIME)
        sql_int(q, 5, (int64_t)after->no);
    return heads_emit(s, q, limit, INT64_MIN, fn, ctx);
}

/* Runs with the same time as `after` come first: many may have one time. */
pawl_code sqlite_due(pawl_store *st, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_code rc;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list of due runs needs a callback");
    if ((rc = read_begin(s, err)) != PAWL_OK)
        return rc;
    if (after != NULL)
        limit = due_list(s, SQL_DUE_SAME_TIME, now_ms, after, limit, fn, ctx);
    if (limit > 0)
        due_list(s, SQL_DUE, now_ms, after, limit, fn, ctx);
    return read_end(s, PAWL_OK, err);
}

int64_t sqlite_next_due(pawl_store *st)
{
    sqlite_store *s = sqlite_of(st);
    sqlite3_stmt *q;
    int64_t due = 0;

    if (read_begin(s, NULL) != PAWL_OK)
        return 0;
    q = sql_use(s, SQL_NEXT_DUE);
    sql_int(q, 1, s->space);
    if (sql_row(s, q)) {
        due = sql_get_int(q, 0);
        sql_end(q);
    }
    return read_end(s, PAWL_OK, NULL) == PAWL_OK ? due : 0;
}
