/* writes.c - put before a program (LD_PRELOAD): the file that PAWL_WRITES names gets a letter for each of its transactions on a SQLite store: w, one that
 * writes; r, one that reads, on the main thread; v, on another thread; and l for each time that a run is loaded. A child of the program is left alone. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct sqlite3_stmt sqlite3_stmt;
const char *sqlite3_sql(sqlite3_stmt *q);
int sqlite3_step(sqlite3_stmt *q);
int sqlite3_stmt_busy(sqlite3_stmt *q);

static char path[4096];

__attribute__((constructor)) static void told(void)
{
    const char *named = getenv("PAWL_WRITES");

    if (named != NULL && strlen(named) < sizeof path)
        memcpy(path, named, strlen(named) + 1);
    unsetenv("LD_PRELOAD");
    unsetenv("PAWL_WRITES");
}

/* NULL: it is not counted. */
static const char *letter_of(sqlite3_stmt *q)
{
    const char *sql = q != NULL && !sqlite3_stmt_busy(q) ? sqlite3_sql(q) : NULL;

    if (sql == NULL)
        return NULL;
    if (strncmp(sql, "BEGIN IMMEDIATE", 15) == 0)
        return "w";
    if (strcmp(sql, "BEGIN") == 0)
        return syscall(SYS_gettid) == getpid() ? "r" : "v";
    return strstr(sql, "FROM snapshots") != NULL ? "l" : NULL;
}

int sqlite3_step(sqlite3_stmt *q)
{
    static int (*step)(sqlite3_stmt *);
    const char *letter = *path != '\0' ? letter_of(q) : NULL;

    if (step == NULL)
        *(void **)&step = dlsym(RTLD_NEXT, "sqlite3_step");
    if (letter != NULL) {
        int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);

        if (fd < 0 || write(fd, letter, 1) != 1)
            abort();
        close(fd);
    }
    return step(q);
}
