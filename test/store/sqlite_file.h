/* sqlite_file.h - a folder with one store in it, for tests that look at the file, or let others at it. */
#ifndef TEST_STORE_SQLITE_FILE_H
#define TEST_STORE_SQLITE_FILE_H

#include "store/contract_inner.h"

#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[200];

static inline char *in_folder(const char *name)
{
    return text("%s/%s", folder, name);
}

static inline void folder_empty(void)
{
    DIR *d = opendir(folder);
    struct dirent *e;

    while (d != NULL && (e = readdir(d)) != NULL)
        if (e->d_name[0] != '.')
            unlink(in_folder(e->d_name));
    if (d != NULL)
        closedir(d);
}

static inline bool folder_make(void)
{
    const char *temp = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%.150s/pawl-sqlite-XXXXXX", temp != NULL ? temp : "/tmp");
    return mkdtemp(folder) != NULL;
}

/* Of the last commits nothing is lost with the process, and these tests cut no power: NORMAL is enough, and faster. */
static inline pawl_store *file_open(const char *name, int busy_ms, pawl_err *err)
{
    return pawl_store_sqlite(in_folder(name), &(pawl_sqlite){ .normal = true, .busy_ms = busy_ms }, err);
}

static inline pawl_store *file_opened(const char *name)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = file_open(name, 0, &err);

    if (s == NULL)
        CHECK_FAIL("no store: %s", err.text);
    return s;
}

static inline pawl_store *file_fresh(void)
{
    folder_empty();
    return file_opened("a.pawl");
}

/* Entry `seq`, after which it is the newest. For processes of their own too, where nothing may be CHECKed. */
static inline pawl_code entry_put(pawl_store *s, const char *run, uint64_t fence, uint64_t seq, const char *items, pawl_err *err)
{
    pawl_bytes line = bytes(entry(seq, items));
    pawl_append a = { .run = run, .fence = fence, .seq = seq - 1, .lines = &line, .nlines = 1 };
    pawl_code rc = s->verbs->append(s, &a, 1, err);

    return rc != PAWL_OK ? rc : a.rc;
}

/* ---- other processes ------------------------------------------------------------------------- */

/* NULL: all went well; "skip: ..." or what went wrong. */
typedef const char *child_fn(int number);

typedef struct child { pid_t pid; int fd; } child;

static inline child child_begin(child_fn *fn, int number)
{
    child c = { -1, -1 };
    int fds[2];

    if (pipe(fds) != 0)
        CHECK_FAIL("no pipe");
    fflush(NULL);
    if ((c.pid = fork()) < 0)
        CHECK_FAIL("no process");
    if (c.pid == 0) {
        const char *said = fn(number);

        if (said != NULL && write(fds[1], said, strlen(said)) < 0)
            _exit(2);
        _exit(0);
    }
    close(fds[1]);
    c.fd = fds[0];
    return c;
}

static inline const char *child_end(child c)
{
    static char said[512];
    size_t n = 0;
    ssize_t got;
    int status = 0;

    while (n + 1 < sizeof said && (got = read(c.fd, said + n, sizeof said - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = '\0';
    close(c.fd);
    waitpid(c.pid, &status, 0);
    if (WIFSIGNALED(status))
        snprintf(said, sizeof said, "killed by signal %d", WTERMSIG(status));
    else if (n == 0 && WEXITSTATUS(status) != 0)
        snprintf(said, sizeof said, "exit %d", WEXITSTATUS(status));
    return said;
}

static inline void child_run(child_fn *fn, int number)
{
    const char *said = child_end(child_begin(fn, number));

    if (strncmp(said, "skip: ", 6) == 0)
        check_skip(said + 6);
    CHECK_STR(said, "");
}

#endif
