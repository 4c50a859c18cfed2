/* disk.c - a folder with a store in it, and beside that the plain loop: one row, one commit, with the pages and the
 * settings of the store. */
#include "bench.h"

#include <sqlite3.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The plain rows keep pages of 8 KiB, which the store had when these figures began: so they can be compared over time. */
enum { PAGE = 8192, WARM = 1100 };  /* rows until the WAL was full once and begins again */

bool disk_begin(disk *d, bool normal)
{
    *d = (disk){ .normal = normal, .folder = "pawl-bench-XXXXXX" };
    if (mkdtemp(d->folder) == NULL) {
        d->folder[0] = '\0';
        return bench_wrong("no folder can be made here", NULL);
    }
    snprintf(d->store, sizeof d->store, "%s/store", d->folder);
    snprintf(d->raw, sizeof d->raw, "%s/raw", d->folder);
    return true;
}

void disk_end(disk *d)
{
    DIR *dir = d->folder[0] == '\0' ? NULL : opendir(d->folder);
    const struct dirent *at;
    char path[400];

    sqlite3_finalize(d->insert);
    sqlite3_close(d->db);
    while (dir != NULL && (at = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", d->folder, at->d_name);
        unlink(path);
    }
    if (dir != NULL) {
        closedir(dir);
        rmdir(d->folder);
    }
    *d = (disk){ .folder = "" };
}

static bool raw_wrong(sqlite3 *db, const char *what)
{
    pawl_err err = { PAWL_IO, "" };

    snprintf(err.text, sizeof err.text, "%s", sqlite3_errmsg(db));
    return bench_wrong(what, &err);
}

static bool raw_begin(disk *d)
{
    char sql[256];
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    bool good = sqlite3_open(d->raw, &db) == SQLITE_OK;

    d->db = db;
    snprintf(sql, sizeof sql, "PRAGMA page_size=%d; PRAGMA journal_mode=WAL; PRAGMA synchronous=%s; PRAGMA secure_delete=0;"
             "CREATE TABLE entries(no INTEGER PRIMARY KEY, body BLOB)", PAGE, d->normal ? "NORMAL" : "FULL");
    good = good && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(db, "INSERT INTO entries(body) VALUES(?1)", -1, &q, NULL) == SQLITE_OK;
    d->insert = q;
    return good || raw_wrong(db, "the plain loop");
}

static bool raw_rows(disk *d, int n)
{
    static char body[4096];

    if (d->bytes > sizeof body)
        return bench_wrong("the plain loop has no such row", NULL);
    memset(body, 'r', d->bytes);
    for (int i = 0; i < n; i++) {
        sqlite3_bind_blob(d->insert, 1, body, (int)d->bytes, SQLITE_STATIC);
        if (sqlite3_step(d->insert) != SQLITE_DONE)
            return raw_wrong(d->db, "a plain row");
        sqlite3_reset(d->insert);
    }
    return true;
}

bool disk_raw(disk *d, size_t bytes, int n, double *ns)
{
    double from;
    bool good;

    d->bytes = bytes;
    if (d->db == NULL && (!raw_begin(d) || !raw_rows(d, WARM + (int)(bytes / PAGE))))
        return false;
    from = bench_ns();
    good = raw_rows(d, n);
    *ns += bench_ns() - from;
    return good;
}

bool disk_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    bool good = sqlite3_open(path, &db) == SQLITE_OK && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;

    good = good || raw_wrong(db, "a statement");
    sqlite3_close(db);
    return good;
}

/* Rows alone: nobody drives these. */
bool disk_runs(const disk *d, uint64_t runs, int64_t wake_ms)
{
    char sql[1024];
    turns t = { NULL, NULL };
    pawl_engine *e = disk_engine(d, loop_machine(&t));
    bool good = e != NULL && pawl_begin(e, "r0", NULL, NULL) == PAWL_OK;

    pawl_engine_free(e);
    snprintf(sql, sizeof sql, "PRAGMA synchronous=OFF; PRAGMA cache_size=-400000; BEGIN;"
             "INSERT INTO runs(space,id,life,machine,created_ms,priority,born,base_seq,base)"
             " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%llu)"
             " SELECT space,'x'||i,life,machine,created_ms,priority,born,base_seq,base FROM n,runs WHERE id='r0';"
             "INSERT INTO heads(no,space,status,seq,changed_ms,wake_ms)"
             " SELECT no,space,no%%5,0,created_ms,CASE WHEN %lld=0 THEN 0 ELSE %lld+no END FROM runs WHERE id<>'r0'; COMMIT;"
             "PRAGMA wal_checkpoint(TRUNCATE)", (unsigned long long)runs, (long long)wake_ms, (long long)wake_ms);
    return good && disk_sql(d->store, sql);
}

double disk_size(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (double)st.st_size : 0;
}

pawl_engine *disk_engine(const disk *d, pawl_machine *m)
{
    pawl_err err = {0};
    pawl_store *s = pawl_store_sqlite(d->store, &(pawl_sqlite){ .normal = d->normal }, &err);
    pawl_engine *e = pawl_engine_new(m, s, &err);

    if (e == NULL)
        bench_wrong("an engine", &err);
    return e;
}
