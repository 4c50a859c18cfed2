/* sqlite_world_test.c - the SQLite store among other processes: locked, killed, written by rivals, on a full disk, read-only. */
#if defined __linux__
#define _GNU_SOURCE /* unshare */
#include <sched.h>
#include <sys/mount.h>
#endif

#include "store/sqlite_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

enum { BUSY_MS = 20, NOBODY = 65534 };

static const char *wrong(const char *what, pawl_code rc, const pawl_err *err)
{
    return text("%s: %s: %s", what, pawl_code_name(rc), err->text);
}

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* ---- locks ----------------------------------------------------------------------------------- */

PAWL_TEST(test_Q1_nobody_writes_while_another_holds_the_lock)
{
    pawl_store *s = file_fresh(), *t = file_open("a.pawl", BUSY_MS, NULL);
    uint64_t f = begun(s, "r", "");
    int fd = open(in_folder("a.pawl-lock"), O_RDWR);
    pawl_err err = { PAWL_OK, "" };

    CHECK(fd >= 0 && t != NULL);
    entries(s, "r", f, 1, 1);
    CHECK_INT(flock(fd, LOCK_EX | LOCK_NB), 0);
    CHECK_INT(entry_put(t, "r", f, 2, "[]", &err), PAWL_TRANSIENT);
    CHECK(strstr(err.text, "a.pawl: the store is busy") != NULL);
    CHECK_INT(head(t, "r").seq, 1);
    CHECK_STR(ranged(t, "r", 0, 0), "base 0 {\"at\":10\n1 []\n");
    CHECK_INT(t->verbs->vacuum(t, NULL), PAWL_TRANSIENT);
    CHECK_INT(flock(fd, LOCK_UN), 0);
    CHECK_INT(entry_put(t, "r", f, 2, "[]", NULL), PAWL_OK);
    entries(s, "r", f, 3, 3);
    close(fd);
    pawl_store_free(t);
    pawl_store_free(s);
}

PAWL_TEST(test_S4_another_program_that_locks_the_file_is_waited_for_and_told_of)
{
    pawl_store *s = file_fresh(), *t = file_open("a.pawl", BUSY_MS, NULL);
    uint64_t f = begun(s, "r", "");
    pawl_err err = { PAWL_OK, "" };
    sqlite3 *db = NULL;

    CHECK_INT(sqlite3_open(in_folder("a.pawl"), &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    CHECK_INT(entry_put(t, "r", f, 1, "[]", &err), PAWL_TRANSIENT);
    CHECK(strstr(err.text, "another program has it locked") != NULL);
    CHECK_INT(head(t, "r").seq, 0);
    CHECK_INT(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    CHECK_INT(entry_put(t, "r", f, 1, "[]", NULL), PAWL_OK);
    sqlite3_close(db);
    pawl_store_free(t);
    pawl_store_free(s);
}

/* ---- kill -9 --------------------------------------------------------------------------------- */

static int told[2];

/* Appends for ever, and tells the number of each entry once it is told that it is durable. */
static const char *appends(int number)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(in_folder("a.pawl"), NULL, &err);
    pawl_head h;
    pawl_code rc;

    (void)number;
    if (s == NULL || (rc = claim_one(s, "r", "me", LONG_MS, &h, &err)) != PAWL_OK)
        return wrong("claim", err.code, &err);
    for (uint64_t seq = h.seq + 1;; seq++) {
        if ((rc = entry_put(s, "r", h.fence, seq, "[]", &err)) != PAWL_OK)
            return wrong("append", rc, &err);
        if (write(told[1], &seq, sizeof seq) != (ssize_t)sizeof seq)
            return "nobody listens";
    }
}

PAWL_TEST(test_K8_what_was_acknowledged_survives_kill_9)
{
    pawl_store *s = file_fresh();
    uint64_t last = 0, seq;

    begun(s, "r", "");
    pawl_store_free(s);
    for (int round = 0; round < (check_run_all() ? 100 : 12); round++) {
        uint64_t until = last + 1 + check_rand_below(150);
        child c;

        CHECK_INT(pipe(told), 0);
        c = child_begin(appends, round);
        close(told[1]);
        while (last < until && read(told[0], &seq, sizeof seq) == (ssize_t)sizeof seq)
            last = seq;
        kill(c.pid, SIGKILL);
        while (read(told[0], &seq, sizeof seq) == (ssize_t)sizeof seq)
            last = seq;
        close(told[0]);
        CHECK_STR(child_end(c), "killed by signal 9");
        CHECK(last >= until);
        s = file_opened("a.pawl");
        CHECK(head(s, "r").seq == last || head(s, "r").seq == last + 1);
        CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
        last = head(s, "r").seq;
        pawl_store_free(s);
    }
}

/* ---- rivals (S2) ----------------------------------------------------------------------------- */

enum { OWN = 1500, SHARED = 150, TIMES_ALL = 12 };

static int times(int n) { return check_run_all() ? n * TIMES_ALL : n; }

static const char *writes_shared(pawl_store *s, int number)
{
    const char *owner = text("w%d", number);
    pawl_err err = { PAWL_OK, "" };
    pawl_head h;
    pawl_code rc;

    while ((rc = claim_one(s, "shared", owner, LONG_MS, &h, NULL)) == PAWL_HELD)
        wait_ms(1);
    if (rc == PAWL_OK)
        rc = entry_put(s, "shared", h.fence, h.seq + 1, text("[\"%s\"]", owner), &err);
    if (rc == PAWL_OK)
        rc = release_one(s, "shared", h.fence, &err);
    return rc == PAWL_OK ? NULL : wrong("shared", rc, &err);
}

static const char *writes(int number)
{
    const char *run = text("w%d", number), *bad = NULL;
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = file_open("a.pawl", 60000, &err);
    pawl_head h;
    pawl_code rc;

    if (s == NULL || (rc = claim_one(s, run, "me", LONG_MS, &h, &err)) != PAWL_OK)
        return wrong("claim", err.code, &err);
    for (int seq = 1; seq <= times(OWN) && bad == NULL; seq++) {
        run = text("w%d", number);
        if ((rc = entry_put(s, run, h.fence, (uint64_t)seq, "[\"some bytes, so that pages fill and the log goes round\"]", &err)) != PAWL_OK)
            bad = wrong("append", rc, &err);
        else if (seq % (OWN / SHARED) == 0)
            bad = writes_shared(s, number);
    }
    pawl_store_free(s);
    return bad;
}

/* Opens, writes and closes: each closing is a checkpoint. And looks on meanwhile. */
static const char *checkpoints(int number)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_head h = { .seq = 0 };
    pawl_code rc = PAWL_OK;

    (void)number;
    for (int i = 0; rc == PAWL_OK && (i < 40 || h.seq < (uint64_t)times(SHARED)); i++) {
        pawl_store *s = file_open("a.pawl", 60000, &err);
        pawl_delivery d = { .id = text("d%d", i), .kind = PAWL_DELIVER_SIGNAL, .name = "bell" };

        if (s == NULL)
            return wrong("open", err.code, &err);
        rc = s->verbs->deliver(s, "shared", &d, &err);
        if (rc == PAWL_OK)
            rc = s->verbs->head(s, "shared", &h, &err);
        if (rc == PAWL_OK && i % 8 == 0)
            rc = s->verbs->check(s, &err);
        pawl_store_free(s);
    }
    return rc == PAWL_OK ? NULL : wrong("checkpoint", rc, &err);
}

PAWL_TEST(test_S2_two_that_write_and_one_that_checkpoints_at_once)
{
    pawl_store *s = file_fresh();
    child all[3];

    CHECK_INT(s->verbs->create(s, bytes(base("w0", "")), NULL, NULL), PAWL_OK);
    CHECK_INT(s->verbs->create(s, bytes(base("w1", "")), NULL, NULL), PAWL_OK);
    CHECK_INT(s->verbs->create(s, bytes(base("shared", "")), NULL, NULL), PAWL_OK);
    pawl_store_free(s);
    all[0] = child_begin(writes, 0);
    all[1] = child_begin(writes, 1);
    all[2] = child_begin(checkpoints, 2);
    for (int i = 0; i < 3; i++)
        CHECK_STR(text("%s", child_end(all[i])), "");
    s = file_opened("a.pawl");
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    CHECK_INT(head(s, "w0").seq, times(OWN));
    CHECK_INT(head(s, "w1").seq, times(OWN));
    CHECK_INT(head(s, "shared").seq, 2 * times(SHARED));
    pawl_store_free(s);
}

/* ---- threads, each with its own handle ------------------------------------------------------------ */

typedef struct writer { pthread_t thread; const char *run; pawl_code rc; } writer;

/* Nothing of the tests' own here: their texts belong to one thread. */
static void *writes_in_a_thread(void *arg)
{
    writer *w = arg;
    char path[300], line[128];
    pawl_head h;
    pawl_store *s;

    snprintf(path, sizeof path, "%s/a.pawl", folder);
    s = pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true, .busy_ms = 60000 }, NULL);
    w->rc = s == NULL ? PAWL_IO : claim_one(s, w->run, "me", LONG_MS, &h, NULL);
    for (unsigned seq = 1; w->rc == PAWL_OK && seq <= SHARED; seq++) {
        int n = snprintf(line, sizeof line, "%064d [%u,1000,\"tick\",\"working\",1] []", 7, seq);
        pawl_bytes b = { line, (size_t)n };
        pawl_append a = { .run = w->run, .fence = h.fence, .seq = seq - 1, .lines = &b, .nlines = 1 };

        w->rc = s->verbs->append(s, &a, 1, NULL);
        if (w->rc == PAWL_OK)
            w->rc = a.rc;
    }
    pawl_store_free(s);
    return NULL;
}

PAWL_TEST(test_S2_threads_with_a_handle_each_write_one_file)
{
    pawl_store *s = file_fresh();
    writer all[2] = { { .run = "w0" }, { .run = "w1" } };

    CHECK_INT(s->verbs->create(s, bytes(base("w0", "")), NULL, NULL), PAWL_OK);
    CHECK_INT(s->verbs->create(s, bytes(base("w1", "")), NULL, NULL), PAWL_OK);
    for (int i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&all[i].thread, NULL, writes_in_a_thread, &all[i]), 0);
    for (int i = 0; i < 2; i++)
        CHECK_INT(pthread_join(all[i].thread, NULL), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(all[i].rc, PAWL_OK);
        CHECK_INT(head(s, all[i].run).seq, SHARED);
    }
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

/* ---- a full disk (S4) ------------------------------------------------------------------------ */

#if defined __linux__
static const char *small_disk(void)
{
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return "skip: no mount namespace may be made here";
    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    return mount("none", folder, "tmpfs", 0, "size=2m") == 0 ? NULL : "skip: no tmpfs may be mounted here";
}
#else
static const char *small_disk(void) { return "skip: no small disk here"; }
#endif

/* The disk fills up while entries are written; then somebody makes room. */
static const char *fills(int number)
{
    const char *bad = small_disk();
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = bad == NULL ? file_open("a.pawl", 0, &err) : NULL;
    pawl_bytes b = bytes(base("r", ""));
    pawl_head h;
    uint64_t seq = 0;
    char block[4096] = { 0 };
    int fd = bad == NULL ? open(in_folder("filler"), O_RDWR | O_CREAT, 0666) : -1;
    pawl_code rc;

    (void)number;
    for (int i = 0; fd >= 0 && i < 128 && write(fd, block, sizeof block) > 0; i++)
        ;
    if (bad != NULL || s == NULL)
        return bad != NULL ? bad : wrong("open", err.code, &err);
    if ((rc = s->verbs->create(s, b, NULL, &err)) != PAWL_OK || (rc = claim_one(s, "r", "me", LONG_MS, &h, &err)) != PAWL_OK)
        return wrong("begin", rc, &err);
    while ((rc = entry_put(s, "r", h.fence, seq + 1, "[]", &err)) == PAWL_OK)
        seq++;
    if (rc != PAWL_IO || strstr(err.text, "the disk is full") == NULL || seq < 10)
        return wrong("full", rc, &err);
    if (entry_put(s, "r", h.fence, seq + 1, "[]", NULL) != PAWL_IO || s->verbs->head(s, "r", &h, NULL) != PAWL_OK || h.seq != seq)
        return text("it says entry %llu, and %llu was told", (unsigned long long)h.seq, (unsigned long long)seq);
    unlink(in_folder("filler"));
    if (fd < 0 || ftruncate(fd, 0) != 0)
        return "no room could be made";
    for (int i = 0; i < 10; i++)
        if ((rc = entry_put(s, "r", h.fence, ++seq, "[]", &err)) != PAWL_OK)
            return text("after room was made: %s", pawl_code_name(rc));
    if ((rc = s->verbs->check(s, NULL)) != PAWL_OK || s->verbs->head(s, "r", &h, NULL) != PAWL_OK || h.seq != seq)
        return "it is not whole";
    pawl_store_free(s);
    s = file_open("a.pawl", 0, NULL);
    return s != NULL && s->verbs->head(s, "r", &h, NULL) == PAWL_OK && h.seq == seq ? NULL : "opened again it is not whole";
}

PAWL_TEST(test_S4_a_full_disk_loses_nothing_and_the_run_goes_on)
{
    folder_empty();
    child_run(fills, 0);
}

/* ---- read-only (S4) -------------------------------------------------------------------------- */

/* As a user who may not write. */
static const char *reads_only(int number)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s;
    pawl_head h;
    pawl_code rc;

    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return "skip: no other user can be had";
    s = file_open("a.pawl", BUSY_MS, &err);
    if (s == NULL)
        return number == 0 && err.code == PAWL_IO && strstr(err.text, "a.pawl") != NULL ? NULL : wrong("open", err.code, &err);
    if (s->verbs->head(s, "r", &h, &err) != PAWL_OK || h.seq != 3)
        return wrong("read", err.code, &err);
    rc = entry_put(s, "r", h.fence, 4, "[]", &err);
    pawl_store_free(s);
    return rc == PAWL_IO && strstr(err.text, "writable") != NULL ? NULL : wrong("write", rc, &err);
}

PAWL_TEST(test_S4_a_file_that_may_not_be_written_says_so_and_keeps_what_it_has)
{
    pawl_store *s = file_fresh();
    uint64_t f = begun(s, "r", "");

    entries(s, "r", f, 1, 3);
    pawl_store_free(s);
    CHECK_INT(chmod(folder, 0777), 0);              /* the file may not be written, but others may be made beside it */
    CHECK_INT(chmod(in_folder("a.pawl-lock"), 0666), 0);
    CHECK_INT(chmod(in_folder("a.pawl"), 0444), 0);
    child_run(reads_only, 1);
    CHECK_INT(chmod(folder, 0555), 0);              /* nor can others be made */
    child_run(reads_only, 0);
    CHECK_INT(chmod(folder, 0700), 0);
    CHECK_INT(chmod(in_folder("a.pawl"), 0644), 0);
    s = file_opened("a.pawl");
    entries(s, "r", f, 4, 4);
    pawl_store_free(s);
}

static const char *reads_old(int number)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s;

    (void)number;
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return "skip: no other user can be had";
    s = file_open("a.pawl", BUSY_MS, &err);
    pawl_store_free(s);
    return s == NULL && err.code == PAWL_IO && strstr(err.text, "older Pawl") != NULL ? NULL : wrong("open", err.code, &err);
}

PAWL_TEST(test_S4_a_file_of_an_older_version_that_may_not_be_written_says_so)
{
    char *path = in_folder("a.pawl");

    pawl_store_free(file_fresh());
    CHECK_INT(system(text("cp '%s/test/journals/0.1/store.db' '%s'", PAWL_SOURCE_DIR, path)), 0);
    CHECK_INT(chmod(folder, 0777), 0);
    CHECK_INT(chmod(in_folder("a.pawl-lock"), 0666), 0);
    CHECK_INT(chmod(path, 0444), 0);
    child_run(reads_old, 0);
    CHECK_INT(chmod(folder, 0700), 0);
    CHECK_INT(chmod(path, 0644), 0);
    pawl_store_free(file_opened("a.pawl"));
}

int main(int argc, char **argv)
{
    int code;

    signal(SIGPIPE, SIG_IGN);
    if (!folder_make()) {
        perror(folder);
        return 1;
    }
    code = check_main(argc, argv);
    chmod(folder, 0700);
    folder_empty();
    rmdir(folder);
    return code;
}
