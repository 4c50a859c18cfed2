/* open.c - opens and closes a handle on a SQLite file; the table of verbs.
 *
 * Owns sqlite_store and all that it points to. Called by pawl_store_sqlite and pawl_store_free. A handle is used by one thread at a time. */
#include "store/sqlite/sqlite.h"

#include <fcntl.h>
#include <unistd.h>

static int wal_pages_hook(void *ctx, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((sqlite_store *)ctx)->wal_pages = pages;
    return SQLITE_OK;
}

static int64_t sqlite_now(pawl_store *s)
{
    return store_now(sqlite_of(s));
}

static uint64_t sqlite_version(pawl_store *st)
{
    sqlite_store *s = sqlite_of(st);
    const bool read = others_read(s);

    s->rc = SQLITE_OK;
    return read ? version_known(s) : 0;
}

static const char *sqlite_file(pawl_store *st)
{
    return sqlite3_db_filename(sqlite_of(st)->db, "main");
}

/* ---- closing --------------------------------------------------------------------------------- */

/* Whether the next handle would read many rows above the watermark to find the newest row of each run (Q3). */
static bool tail_is_long(const sqlite_store *s)
{
    bool unheaded = false;

    for (size_t i = 0; i < s->tail_cap && !unheaded; i++)
        unheaded = s->tail[i].no != 0 && s->tail[i].written_here && !s->tail[i].in_head;
    return unheaded || s->tail_rows >= TAIL_ROWS_CLOSED;
}

/* Writes the heads and checkpoints, so that the next handle opens the file fast. When the lock is taken, both are left to its holder (Q1). */
static void heads_close(sqlite_store *s)
{
    int busy_ms = s->busy_ms;
    bool written = s->own_writes > 0;

    s->busy_ms = 0;
    if (written && tail_is_long(s) && write_begin(s, TXN_UNSYNCED, NULL) == PAWL_OK) {
        if (s->tail_count > 0)
            watermark_move(s);
        write_end(s, PAWL_OK, NULL);
    }
    if (sqlite3_db_readonly(s->db, "main") == 0 && lock_take(s, NULL) == PAWL_OK) {
        if (written)
            checkpoint(s, SQLITE_CHECKPOINT_PASSIVE);
    } else {
        sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    }
    s->busy_ms = busy_ms;
}

static void sqlite_close_store(pawl_store *st)
{
    sqlite_store *s = sqlite_of(st);
    pawl_alloc alloc = s->alloc;

    if (s->open)
        heads_close(s);
    else if (s->db != NULL)
        sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    for (size_t i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(s->stmts[i]);
    sqlite3_close_v2(s->db);
    lock_release(s);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    caches_free(s);
    for (int i = 0; i < SLOTS; i++) {
        buf_free(&s->encoded[i].b);
        buf_free(&s->decoded[i].b);
    }
    mem_free(&alloc, s->own_codecs, s->codecs.n * sizeof *s->own_codecs);
    arena_free(&s->mem);
    arena_free(&s->lent);
    mem_free(&alloc, s->lock_path, s->lock_path == NULL ? 0 : strlen(s->lock_path) + 1);
    mem_free(&alloc, s->space_name, s->space_name == NULL ? 0 : strlen(s->space_name) + 1);
    mem_free(&alloc, s->id, s->id == NULL ? 0 : strlen(s->id) + 1);
    mem_free(&alloc, s->path, s->path == NULL ? 0 : strlen(s->path) + 1);
    mem_free(&alloc, s, sizeof *s);
}

static const pawl_store_verbs sqlite_verbs = {
    .name = "sqlite",
    .sql = "sqlite",
    .close = sqlite_close_store,
    .now = sqlite_now,
    .version = sqlite_version,
    .create = sqlite_create,
    .claim = sqlite_claim,
    .renew = sqlite_renew,
    .release = sqlite_release,
    .append = sqlite_append,
    .mark = sqlite_mark,
    .marks = sqlite_marks,
    .deliver = sqlite_deliver,
    .deliveries = sqlite_deliveries,
    .load = sqlite_load,
    .snapshot = sqlite_snapshot,
    .read = sqlite_read,
    .blob = sqlite_blob,
    .head = sqlite_head,
    .list = sqlite_list,
    .waits = sqlite_waits,
    .due = sqlite_due,
    .next_due = sqlite_next_due,
    .prune = sqlite_prune,
    .remove = sqlite_remove,
    .check = sqlite_check,
    .backup = sqlite_backup,
    .vacuum = sqlite_vacuum,
    .look = sqlite_look,
    .file = sqlite_file,
    .id = sqlite_id,
    .losses = sqlite_losses,
};

/* ---- opening --------------------------------------------------------------------------------- */

static char *join(const pawl_alloc *alloc, const char *a, const char *b)
{
    size_t an = strlen(a), bn = strlen(b);
    char *out = mem_new(alloc, an + bn + 1);

    if (out != NULL) {
        memcpy(out, a, an);
        memcpy(out + an, b, bn);
    }
    return out;
}

/* Only its owner reads a store (P9): what SQLite creates, everybody could read. The files beside it get the mode of the file. An error is SQLite's to
 * tell. */
static void file_make(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
}

/* Named after the file that symbolic links lead to: two names of one file must not have two locks (Q1). */
static pawl_code open_file(sqlite_store *s, const char *path, bool read_only, pawl_err *err)
{
    int flags = (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, rc;
    const char *file;
    pawl_code code;

    if (!read_only)
        file_make(path);
    rc = sqlite3_open_v2(path, &s->db, flags, NULL);

    if (rc != SQLITE_OK)
        return sql_fail(s, rc, err);
    file = sqlite3_db_filename(s->db, "main");
    s->lock_path = join(&s->alloc, file == NULL ? path : file, "-lock");
    if (s->lock_path == NULL)
        return sql_fail(s, SQLITE_NOMEM, err);
    sqlite3_busy_timeout(s->db, s->busy_ms);
    if ((code = schema_open(s, err)) != PAWL_OK)
        return code;
    sqlite3_wal_hook(s->db, wal_pages_hook, s); /* last: PRAGMA wal_autocheckpoint replaces the hook */
    s->open = true;
    return PAWL_OK;
}

static bool codecs_copy(sqlite_store *s, const pawl_sqlite *o)
{
    for (int i = 0; i < SLOTS; i++) {
        buf_init(&s->encoded[i].b, &s->alloc);
        buf_init(&s->decoded[i].b, &s->alloc);
    }
    if (o->ncodecs == 0)
        return true;
    if ((s->own_codecs = mem_new(&s->alloc, o->ncodecs * sizeof *s->own_codecs)) == NULL)
        return false;
    memcpy(s->own_codecs, o->codecs, o->ncodecs * sizeof *s->own_codecs);
    s->codecs = (store_codecs){ .all = s->own_codecs, .n = o->ncodecs };
    for (size_t i = 0; i < o->ncodecs && s->codecs.encoder == NULL; i++)
        s->codecs.encoder = s->own_codecs[i].encode != NULL ? &s->own_codecs[i] : NULL;
    return true;
}

pawl_store *pawl_store_sqlite(const char *path, const pawl_sqlite *options, pawl_err *err)
{
    static const pawl_sqlite none = { 0 };
    const pawl_sqlite *o = options == NULL ? &none : options;
    pawl_alloc alloc = mem_or_default(NULL);
    sqlite_store *s;

    if (path == NULL || path[0] == '\0' || path[0] == ':') {
        fail(err, PAWL_INVALID, "a SQLite store needs the path of a file; for a store in memory call pawl_store_memory()");
        return NULL;
    }
    if (store_codecs_check(o->codecs, o->ncodecs, err) != PAWL_OK)
        return NULL;
    if ((s = mem_new(&alloc, sizeof *s)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a store");
        return NULL;
    }
    s->verbs.verbs = &sqlite_verbs;
    s->alloc = alloc;
    s->lock_fd = -1;
    s->others = -1;
    s->file_checked_ms = FILE_UNCHECKED;
    s->busy_ms = o->busy_ms == 0 ? BUSY_MS : o->busy_ms;
    s->signals_max = o->signals_max == 0 ? STORE_SIGNALS_MAX : o->signals_max;
    s->normal = o->normal;
    s->wal_pages_next = CHECKPOINT_PAGES;
    arena_init(&s->mem, &s->alloc, 4096);
    arena_init(&s->lent, &s->alloc, 512);
    s->path = mem_text(&alloc, path);
    s->space_name = mem_text(&alloc, o->space == NULL ? "" : o->space);
    if (s->path == NULL || s->space_name == NULL || !codecs_copy(s, o))
        fail(err, PAWL_NOMEM, "no memory for a store");
    else if (open_file(s, path, o->read_only, err) == PAWL_OK)
        return &s->verbs;
    sqlite_close_store(&s->verbs);
    return NULL;
}
