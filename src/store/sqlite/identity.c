/* identity.c - what tells a store from every other: a random number in its file, and its namespace (P12).
 *
 * Owns the text. Called through the verb id, on the thread that uses the handle. A store that was made before there was an id gets one when it is first
 * asked for, with PATH-lock held (Q1). A copy of a file has the id of the file: it is an older state of the same store. */
#include "store/sqlite/sqlite.h"

#include <inttypes.h>
#include <stdio.h>

static int64_t number_read(sqlite_store *s)
{
    sqlite3_stmt *q = sql_use(s, SQL_META);

    sql_text(q, 1, "id");
    return sql_number(s, q);
}

static pawl_code number_find(sqlite_store *s, int64_t *out, pawl_err *err)
{
    pawl_code rc = read_begin(s, err);

    if (rc != PAWL_OK)
        return rc;
    *out = number_read(s);
    if ((rc = read_end(s, PAWL_OK, err)) != PAWL_OK || *out != 0)
        return rc;
    if ((rc = write_begin(s, TXN_SYNCED, err)) != PAWL_OK)
        return rc;
    sql_run(s, sql_use(s, SQL_META_ID));        /* another process may have been faster: then it does nothing */
    *out = number_read(s);
    return write_end(s, PAWL_OK, err);
}

const char *sqlite_id(pawl_store *st, pawl_err *err)
{
    sqlite_store *s = sqlite_of(st);
    int64_t number = 0;
    size_t room;

    if (s->id != NULL)
        return s->id;
    if (number_find(s, &number, err) != PAWL_OK)
        return NULL;
    room = 16 + 1 + strlen(s->space_name) + 1;
    if ((s->id = mem_new(&s->alloc, room)) == NULL) {
        fail(err, PAWL_NOMEM, "%s: no memory for its id", s->path);
        return NULL;
    }
    snprintf(s->id, room, "%016" PRIx64 "%s%s", (uint64_t)number, *s->space_name != '\0' ? "/" : "", s->space_name);
    return s->id;
}
