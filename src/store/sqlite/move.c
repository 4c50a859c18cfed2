/* move.c - moves a file to another path, so that nobody sees two stores or none.
 *
 * Called by pawl_store_sqlite_move(), on the caller's thread. The copy is made under an exclusive lock and checked before the original is removed.
 * Whoever opened the original meanwhile waits for the lock, and then finds that his file was removed (file_checked_ms). */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* In WAL mode every open connection holds a lock on the file, which only a change of the mode asks for. The exclusive lock is kept until the end. */
static pawl_code alone(sqlite_store *s, pawl_err *err)
{
    int rc = sqlite3_busy_timeout(s->db, 0);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(s->db, "PRAGMA journal_mode=DELETE; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT", NULL, NULL, NULL);
    if ((rc & 0xff) == SQLITE_BUSY)
        return fail(err, PAWL_HELD, "%s: another process has it open; end it first (a worker, a chat, a run), and try again", s->path);
    return rc == SQLITE_OK ? PAWL_OK : sql_fail(s, rc, err);
}

static void beside_remove(const char *path, const char *end)
{
    char name[4096];

    if (snprintf(name, sizeof name, "%s%s", path, end) < (int)sizeof name)
        unlink(name);
}

static void files_remove(const char *path)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-journal", "-lock" };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        beside_remove(path, ends[i]);
}

static pawl_code copy_check(const char *path, pawl_err *err)
{
    pawl_store *s = pawl_store_sqlite(path, NULL, err);
    pawl_code rc = s == NULL ? err->code : s->verbs->check(s, err);

    pawl_store_free(s);
    return rc;
}

static pawl_code copy_make(pawl_store *from, const char *to, pawl_err *err)
{
    pawl_code rc;

    if ((rc = from->verbs->backup(from, to, err)) != PAWL_OK)
        return rc;      /* what it made it removed, and what was there it left */
    if ((rc = copy_check(to, err)) != PAWL_OK)
        files_remove(to);
    return rc;
}

pawl_code pawl_store_sqlite_move(const char *from, const char *to, pawl_err *err)
{
    pawl_err none = {0};
    struct stat st;
    pawl_store *s;
    pawl_code rc;
    char *file = NULL;

    err = err != NULL ? err : &none;
    if (from == NULL || to == NULL || stat(from, &st) != 0)
        return fail(err, PAWL_GONE, "%s: there is no such file", from == NULL ? "(no path)" : from);
    if ((s = pawl_store_sqlite(from, NULL, err)) == NULL)
        return err->code;
    if ((rc = lock_take(sqlite_of(s), err)) == PAWL_OK && (rc = alone(sqlite_of(s), err)) == PAWL_OK && (rc = copy_make(s, to, err)) == PAWL_OK &&
        (file = mem_text(&sqlite_of(s)->alloc, sqlite3_db_filename(sqlite_of(s)->db, "main"))) != NULL)
        files_remove(file);
    if (rc == PAWL_OK && file == NULL)
        rc = fail(err, PAWL_NOMEM, "%s: no memory to move it; %s is a copy", from, to);
    mem_free(&sqlite_of(s)->alloc, file, file == NULL ? 0 : strlen(file) + 1);
    pawl_store_free(s);
    if (rc != PAWL_OK && (s = pawl_store_sqlite(from, NULL, NULL)) != NULL)     /* in WAL mode again */
        pawl_store_free(s);
    return rc;
}
