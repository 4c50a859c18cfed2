/* die.c - put before a program (LD_PRELOAD): it is killed, as by kill -9, at its n-th write, n and the side being told by PAWL_DIE: `before 3`
 * is killed when all of the third is there but its COMMIT, `after 3` when that has returned, before anybody acts on it.
 *
 * A write is a transaction that adds an entry, or counts an attempt. What it kills makes a file `killed`. A child of the program is left alone. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sqlite3_stmt sqlite3_stmt;
const char *sqlite3_sql(sqlite3_stmt *q);
int sqlite3_step(sqlite3_stmt *q);

static char side[8];
static int left;
static __thread int writes;     /* in the transaction of this thread */

__attribute__((constructor)) static void told(void)
{
    const char *die = getenv("PAWL_DIE");

    if (die == NULL || sscanf(die, "%7s %d", side, &left) != 2)
        left = 0;
    unsetenv("LD_PRELOAD");
    unsetenv("PAWL_DIE");
}

static int begins(const char *sql, const char *with)
{
    return strncmp(sql, with, strlen(with)) == 0;
}

static void dies(void)
{
    close(open("killed", O_WRONLY | O_CREAT, 0600));
    kill(getpid(), SIGKILL);
}

int sqlite3_step(sqlite3_stmt *q)
{
    static int (*step)(sqlite3_stmt *);
    const char *sql = q != NULL ? sqlite3_sql(q) : NULL;
    int last = 0, rc;

    if (step == NULL)
        *(void **)&step = dlsym(RTLD_NEXT, "sqlite3_step");
    if (sql == NULL || left <= 0)
        return step(q);
    if (begins(sql, "BEGIN") || begins(sql, "ROLLBACK") || begins(sql, "COMMIT")) {
        last = begins(sql, "COMMIT") && writes && __sync_sub_and_fetch(&left, 1) == 0;
        writes = 0;
    } else if (begins(sql, "INSERT INTO entries(run") || begins(sql, "INSERT INTO marks")) {
        writes = 1;
    }
    if (last && strcmp(side, "before") == 0)
        dies();
    rc = step(q);
    if (last)
        dies();
    return rc;
}
