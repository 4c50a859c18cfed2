/* list.c - which runs there are, and which want somebody. */
#include "store/sqlite/sqlite.h"

/* ---- listing (S6) ---------------------------------------------------------------------------- */

/* Along the index that leaves out most. */
static sql_id list_along(const pawl_filter *f)
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
        sql_blank(q, at);
}

/* At most `limit` of them, those that changed since; how many more there may be. */
static size_t heads_tell(sqlite_store *s, sqlite3_stmt *q, size_t limit, int64_t since_ms, pawl_head_fn *fn, void *ctx)
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

/* The filter, but for how far to go. */
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

/* Along the ids: the numbers first, as there may be many, and then each run for itself. */
static void begins_tell(sqlite_store *s, const pawl_filter *f, int64_t before, size_t limit, pawl_head_fn *fn, void *ctx)
{
    sqlite3_stmt *nos = sql_use(s, SQL_LIST_BEGINS);

    sql_int(nos, 1, s->space);
    sql_int(nos, 2, before);
    sql_text(nos, 3, f->begins);
    while (limit > 0 && sql_row(s, nos)) {
        sqlite3_stmt *q = filter_use(s, f, SQL_LIST_ONE);

        sql_int(q, 2, sql_get_int(nos, 0));
        limit = heads_tell(s, q, limit, f->changed_since_ms, fn, ctx);
    }
    sql_end(nos);
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
        return fail(err, PAWL_INVALID, "runs are listed for nobody");
    if ((rc = read_begin(s, err)) != PAWL_OK)
        return rc;
    if (f->begins != NULL) {
        begins_tell(s, f, before, limit, fn, ctx);
    } else {
        q = filter_use(s, f, list_along(f));
        sql_int(q, 2, before);
        heads_tell(s, q, limit, f->changed_since_ms, fn, ctx);
    }
    return read_end(s, PAWL_OK, err);
}

/* ---- who wants somebody ---------------------------------------------------------------------- */

/* Along heads_look (schema.c). A timer counts at the time that was asked for, leases at the store's own. */
static size_t due_tell(sqlite_store *s, sql_id id, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx)
{
    sqlite3_stmt *q = sql_use(s, id);

    sql_int(q, 1, s->space);
    sql_int(q, 2, now_ms);
    sql_int(q, 3, store_now(s));
    sql_int(q, 4, after == NULL ? INT64_MIN : after->look_ms);
    if (id == SQL_DUE_THEN)
        sql_int(q, 5, (int64_t)after->no);
    return heads_tell(s, q, limit, INT64_MIN, fn, ctx);
}

/* Those at the very time of `after` first: many may have one time. */
pawl_code sqlite_due(pawl_store *st, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    pawl_code rc;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "what is due is told to nobody");
    if ((rc = read_begin(s, err)) != PAWL_OK)
        return rc;
    if (after != NULL)
        limit = due_tell(s, SQL_DUE_THEN, now_ms, after, limit, fn, ctx);
    if (limit > 0)
        due_tell(s, SQL_DUE, now_ms, after, limit, fn, ctx);
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
