/* doctor.c - `pawl doctor`: what works on this machine and in this folder, one line each.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. Each check is a row of a table, and writes one finding. */
#define _GNU_SOURCE             /* environ */
#include "app/settings.h"
#include "cli/store_place.h"
#include "effect/jq/jq.h"
#include "effect/effect.h"
#include "effect/sandbox.h"
#include "net/net.h"
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

enum {
    PROGRAM_MS = 5000,          /* for a program that is tried */
    SAID_BYTES = 4096,          /* of its output that is kept */
    COMMITS = 9,                /* commits that are timed; the median is printed */
    COMMIT_BYTES = 4096,
    PAGE_RUNS = 1000,           /* read at a time */
    FILES_LEAST = 256,          /* that a few parallel nodes may need */
    AHEAD_MS = 60000,           /* the newest change may be ahead of the clock so much: written by another machine, or before a correction */
    FREE_MIB_LEAST = 100
};
static const int64_t EPOCH_LEAST_MS = 1767225600000;    /* 2026-01-01: this program is newer */

typedef enum state { FINE, WARNING, MISSING, BROKEN } state;
static const char *const state_names[] = { "ok", "warning", "missing", "broken" };
static const char *const state_colours[] = { "\x1b[32m", "\x1b[33m", "\x1b[33m", "\x1b[31m" };

typedef struct finding {
    state state;
    buf text;                   /* one line: the finding, and what to do */
} finding;

typedef struct doctor {
    cli_call *call;
    pawl_store *store;          /* NULL: `store_err` says why, or there is none yet */
    pawl_err store_err;
    const char *path;           /* of the store's file; NULL: it has no file */
    const char *folder;         /* of that file, existing or not */
    int64_t newest_ms;          /* of the newest change in the store; 0: none */
} doctor;

static void finding_set(finding *f, state s, const char *fmt, ...) PAWL_PRINTF(3, 4);
static void finding_set(finding *f, state s, const char *fmt, ...)
{
    va_list args;

    f->state = s;
    va_start(args, fmt);
    buf_fmtv(&f->text, fmt, args);
    va_end(args);
}

/* ---- programs ------------------------------------------------------------------------------------ */

extern char **environ;

/* Whether `argv` ran to its end with success. `said`: the first line of its stderr, else of its stdout; if it did not run, the reason. */
static bool try_program(char **argv, char said[SAID_BYTES], bool *there)
{
    const pawl_job job = { .effect = "doctor" };
    process p = { .job = &job, .argv = argv, .envp = environ, .output_bytes = SAID_BYTES, .until_ms = clock_ms() + PROGRAM_MS };
    pawl_err err = { 0 };
    const buf *from;
    pawl_code rc;
    size_t n = 0;

    buf_init(&p.out, NULL);
    buf_init(&p.err, NULL);
    rc = process_run(&p, &err);
    from = p.err.size > 0 ? &p.err : &p.out;
    while (n < from->size && n < SAID_BYTES - 1 && from->data[n] != '\n')
        n++;
    if (rc != PAWL_OK)
        snprintf(said, SAID_BYTES, "%s", err.text);
    else if (p.stopped != STOPPED_NOT)
        snprintf(said, SAID_BYTES, "%s: did not end within %d s", argv[0], PROGRAM_MS / 1000);
    else
        snprintf(said, SAID_BYTES, "%.*s", (int)n, n == 0 ? "" : from->data);
    *there = rc == PAWL_OK;
    buf_free(&p.out);
    buf_free(&p.err);
    return rc == PAWL_OK && p.stopped == STOPPED_NOT && p.status == 0;
}

static void check_dot(doctor *d, finding *f)
{
    char name[] = "dot", version[] = "-V", *argv[] = { name, version, NULL }, said[SAID_BYTES];
    bool there;

    (void)d;
    if (try_program(argv, said, &there))
        finding_set(f, FINE, "%s", said);
    else if (there)
        finding_set(f, BROKEN, "%s; `pawl draw --format svg` needs it: install graphviz again", said);
    else
        finding_set(f, MISSING, "`pawl draw --format svg` needs it: install graphviz; text, mermaid and dot are drawn without");
}

/* Tries a command as plan mode would run it. */
static void check_bubblewrap(doctor *d, finding *f)
{
    char said[SANDBOX_SAID_BYTES];

    (void)d;
    switch (sandbox_try(SANDBOX_READ_ONLY, said)) {
    case SANDBOX_WORKS:
        finding_set(f, FINE, "a sandbox that can only read, without network, pipes and sockets, can be made");
        break;
    case SANDBOX_MISSING:
        finding_set(f, MISSING, "in plan mode commands run in its sandbox, or not at all: install bubblewrap");
        break;
    case SANDBOX_REFUSED:
        finding_set(f, WARNING, "no sandbox can be made here (%s), and in plan mode commands run in one, or not at all: allow user namespaces and Landlock, "
             "or run outside of this container", said);
        break;
    }
}

typedef struct walls { unsigned held, open; buf names; } walls;

/* Root is not held by a limit of processes, which is no news. */
static void wall_take(void *ctx, const char *name, bool held)
{
    walls *w = ctx;

    if (held)
        w->held++;
    else
        buf_fmt(&w->names, "%s%s%s", w->open++ > 0 ? ", " : "", name, getuid() == 0 && strcmp(name, "processes") == 0 ? " (root has no such limit)" : "");
}

static void walls_set(finding *f, const walls *w, const char *unlike)
{
    if (w->open > 0)
        finding_set(f, WARNING, "%u walls hold, and these do not: %.*s%s", w->held, (int)w->names.size, w->names.data, unlike);
    else
        finding_set(f, FINE, "its %u walls hold: files, home, pipes, sockets, network, signals, variables, namespaces, ptrace, keyrings, io_uring, limits%s",
                    w->held, unlike);
}

/* Tries each wall around the commands of agents. */
static void check_sandbox(doctor *d, finding *f)
{
    const char *from;
    pawl_sandbox box;
    pawl_err err = { 0 };
    walls w = { .held = 0 };
    arena mem;

    (void)d;
    arena_init(&mem, NULL, 4096);
    buf_init(&w.names, NULL);
    if (sandbox_settings(&mem, &box, &from, &err) != PAWL_OK)
        finding_set(f, BROKEN, "%s", err.text);
    else if (sandbox_try(SANDBOX_WORKSPACE, NULL) != SANDBOX_WORKS)
        finding_set(f, WARNING, "no command of an agent runs in a sandbox here%s", box.need == PAWL_SANDBOX_REQUIRED ? ", so none runs" : ": none is required");
    else if (sandbox_walls(&box, wall_take, &w, &err) != PAWL_OK)
        finding_set(f, WARNING, "its walls cannot be tried: %s", err.text);
    else
        walls_set(f, &w, box.need == PAWL_SANDBOX_OFF ? "; yet it is off: commands of agents run without it" :
                   box.need == PAWL_SANDBOX_PREFERRED ? "; it is preferred, not required" : "");
    buf_free(&w.names);
    arena_free(&mem);
}

/* ---- libraries ------------------------------------------------------------------------------------- */

static void check_sqlite(doctor *d, finding *f)
{
    const int n = sqlite3_libversion_number();
    const bool fixed = n >= 3051003 || (n >= 3050007 && n < 3051000) || (n >= 3044006 && n < 3045000);

    (void)d;
    if (sqlite3_threadsafe() == 0)
        finding_set(f, BROKEN, "%s was built for one thread alone; install one that was not", sqlite3_libversion());
    else if (fixed)
        finding_set(f, FINE, "%s", sqlite3_libversion());
    else
        finding_set(f, FINE, "%s; before 3.51.3, so a lock beside the file keeps writers apart", sqlite3_libversion());
}

/* Tries everything: the child process, its limits, the library. */
static void check_jq(doctor *d, finding *f)
{
    static const char *const texts[] = { "map(. + 1) | add" };
    const uint32_t which = 0;
    pawl_err err = { 0 };
    jq *q = jq_open(texts, 1);
    const char *engine = q == NULL ? NULL : jq_engine(q, &err);
    buf out;

    (void)d;
    buf_init(&out, NULL);
    if (q == NULL)
        finding_set(f, BROKEN, "no memory for it");
    else if (engine == NULL || *engine == '\0')
        finding_set(f, MISSING, "expressions other than plain paths need it: %s", err.text[0] != '\0' ? err.text : "install libjq1");
    else if (jq_evaluate(q, &which, 1, (pawl_bytes){ "[1,2]", 5 }, &out, &err) != PAWL_OK)
        finding_set(f, BROKEN, "%s does not evaluate: %s", engine, err.text);
    else if (out.size != 3 || memcmp(out.data, "[5]", 3) != 0)
        finding_set(f, BROKEN, "%s evaluates [1,2] | %s to %.*s", engine, texts[0], (int)out.size, out.data);
    else
        finding_set(f, FINE, "%s", engine);
    buf_free(&out);
    jq_close(q);
}

static void check_curl(doctor *d, finding *f)
{
    net_library l;

    (void)d;
    if (net_library_of(&l))
        finding_set(f, l.tls == NULL ? WARNING : FINE, "libcurl %s, %s", l.version, l.tls == NULL ? "without TLS: no https" : l.tls);
    else
        finding_set(f, MISSING, "`http` nodes need it: install libcurl4");
}

static bool holds_certificates(const char *path)
{
    static const char mark[] = "-----BEGIN ";
    char head[16384];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head - 1);

    if (fd >= 0)
        close(fd);
    head[n > 0 ? n : 0] = '\0';
    return strstr(head, mark) != NULL;      /* a comment may precede the first */
}

static void check_certificates(doctor *d, finding *f)
{
    const char *own = getenv("SSL_CERT_FILE");
    struct stat st;
    net_library l;

    (void)d;
    if (!net_library_of(&l))
        finding_set(f, WARNING, "unknown, because libcurl is missing");
    else if (own != NULL && *own != '\0' && holds_certificates(own))
        finding_set(f, FINE, "%s (SSL_CERT_FILE)", own);
    else if (own != NULL && *own != '\0')
        finding_set(f, BROKEN, "SSL_CERT_FILE names %s, in which there are none; name another file, or unset it", own);
    else if (l.ca_file != NULL && holds_certificates(l.ca_file))
        finding_set(f, FINE, "%s", l.ca_file);
    else if (l.ca_file == NULL && l.ca_folder != NULL && stat(l.ca_folder, &st) == 0)
        finding_set(f, FINE, "%s", l.ca_folder);
    else if (l.ca_file == NULL && l.ca_folder == NULL)
        finding_set(f, FINE, "those of %s", l.tls == NULL ? "nobody" : l.tls);
    else
        finding_set(f, MISSING, "no https without them: install ca-certificates, or name a file in SSL_CERT_FILE");
}

/* ---- the machine ------------------------------------------------------------------------------------- */

static void check_clock(doctor *d, finding *f)
{
    const int64_t now = epoch_ms();
    char text[32], ahead[16];

    cli_time(text, now);
    if (now < EPOCH_LEAST_MS) {
        finding_set(f, BROKEN, "it says %s: set it, for timers and leases go by it", text);
    } else if (d->newest_ms > now + AHEAD_MS) {
        cli_ago(ahead, d->newest_ms - now);
        finding_set(f, WARNING, "it says %s, and the newest change in the store is %s ahead of that: set it, for timers and leases go by it", text, ahead);
    } else {
        finding_set(f, FINE, "it says %s", text);
    }
}

static void check_program(doctor *d, finding *f)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

    (void)d;
    if (n > 0)
        finding_set(f, FINE, "%.*s", (int)n, path);
    else
        finding_set(f, BROKEN, "/proc/self/exe is not to be read (%s); expressions other than plain paths need it: mount /proc", strerror(errno));
}

static void check_files(doctor *d, finding *f)
{
    struct rlimit limit;

    (void)d;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        finding_set(f, FINE, "no limit");
    else if (limit.rlim_cur < FILES_LEAST)
        finding_set(f, WARNING, "%llu at a time, which a few nodes side by side may reach: `ulimit -n 1024`", (unsigned long long)limit.rlim_cur);
    else
        finding_set(f, FINE, "%llu at a time", (unsigned long long)limit.rlim_cur);
}

static void check_terminal(doctor *d, finding *f)
{
    const char *term = getenv("TERM");
    struct winsize size = { 0 };

    if (!d->call->err_tty) {
        finding_set(f, FINE, "stderr is none: plain lines, no questions");
        return;
    }
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        finding_set(f, WARNING, "its size is not known, 80 columns are assumed");
    else if (size.ws_col < CLI_COLUMNS_LEAST)
        finding_set(f, WARNING, "%d columns, less than the %d that lines need", size.ws_col, CLI_COLUMNS_LEAST);
    else
        finding_set(f, FINE, "%d columns, %d rows", size.ws_col, size.ws_row);
    buf_fmt(&f->text, ", TERM=%s, %s", term == NULL ? "" : term, d->call->err_colour ? "colour" : "no colour");
}

/* ---- the store's folder ---------------------------------------------------------------------------------- */

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* An unnamed temporary file in the folder. -1: see errno. */
static int scratch_open(const char *folder)
{
    char path[STORE_URL_BYTES + 64];
    int fd;

    snprintf(path, sizeof path, "%s/.pawl-doctor-%ld", folder, (long)getpid());
    if ((fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) >= 0)
        unlink(path);
    return fd;
}

/* The median time of some durable writes, in us; below 0: see errno. */
static int64_t time_commit(int fd)
{
    static const char page[COMMIT_BYTES];
    int64_t took[COMMITS];

    for (int i = 0; i < COMMITS; i++) {
        int64_t began = now_us();

        if (write(fd, page, sizeof page) != (ssize_t)sizeof page || fdatasync(fd) != 0)
            return -1;
        took[i] = now_us() - began;
    }
    qsort(took, COMMITS, sizeof *took, by_size);
    return took[COMMITS / 2];
}

/* A file system that is unfit for a store, and why; NULL: none known. */
static const char *poor_ground(int fd)
{
#ifdef __linux__
    struct statfs fs;

    if (fstatfs(fd, &fs) != 0)
        return NULL;
    switch ((unsigned long)fs.f_type) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC: return "it is in memory, and is lost when the machine stops";
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case 0xff534d42UL:          /* cifs */
    case 0xfe534d42UL:          /* smb2 */
    case AFS_SUPER_MAGIC: return "it is on another machine: use it from one machine only";
    case V9FS_MAGIC: return "it is shared with another system: use it from one of them only";
    default: return NULL;
    }
#else
    (void)fd;
    return NULL;
#endif
}

static void check_folder(doctor *d, finding *f)
{
    struct statvfs fs;
    const char *poor;
    uint64_t free_mib;
    int fd;

    if (d->folder == NULL) {
        finding_set(f, FINE, "none: %s", cli_store_name(d->call));
        return;
    }
    if ((fd = scratch_open(d->folder)) < 0) {
        finding_set(f, MISSING, "no file can be made in %s (%s): make it writable, or name another store, --store sqlite:PATH", d->folder, strerror(errno));
        return;
    }
    poor = poor_ground(fd);
    free_mib = fstatvfs(fd, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize >> 20 : UINT64_MAX;
    close(fd);
    if (poor != NULL)
        finding_set(f, WARNING, "%s: %s", d->folder, poor);
    else if (free_mib < FREE_MIB_LEAST)
        finding_set(f, WARNING, "%s: %llu MiB are free; free some space, or runs will stop", d->folder, (unsigned long long)free_mib);
    else
        finding_set(f, FINE, "%s", d->folder);
}

static void check_commit(doctor *d, finding *f)
{
    int fd = d->folder == NULL ? -1 : scratch_open(d->folder);
    int64_t us;

    if (fd < 0) {
        finding_set(f, d->folder == NULL ? FINE : WARNING, "not measured: there is no folder to write to");
        return;
    }
    if ((us = time_commit(fd)) < 0)
        finding_set(f, BROKEN, "%s: nothing can be written durably (%s)", d->folder, strerror(errno));
    else
        finding_set(f, FINE, "%llu.%03llu ms for %d bytes and fdatasync", (unsigned long long)us / 1000, (unsigned long long)us % 1000, COMMIT_BYTES);
    close(fd);
}

/* ---- the store ---------------------------------------------------------------------------------------------- */

typedef struct counts {
    size_t page;
    uint64_t before, runs, going, waits, parked;
    int64_t newest_ms;
} counts;

static bool count_head(void *ctx, const pawl_head *h)
{
    counts *n = ctx;

    n->page++;
    n->before = h->no;
    n->runs++;
    n->going += !h->over;
    n->waits += h->waits;
    n->parked += h->parked != NULL;
    if (h->changed_ms > n->newest_ms)
        n->newest_ms = h->changed_ms;
    return true;
}

static pawl_code count_runs(pawl_store *s, counts *n, pawl_err *err)
{
    pawl_filter filter = { .limit = PAGE_RUNS };
    pawl_code rc;

    *n = (counts){ 0 };
    do {
        n->page = 0;
        filter.before = n->before;
        rc = s->verbs->list(s, &filter, count_head, n, err);
    } while (rc == PAWL_OK && n->page == PAGE_RUNS);
    return rc;
}

static void check_store(doctor *d, finding *f)
{
    const char *name = cli_store_name(d->call);
    pawl_err err = { 0 };
    int64_t began = now_us();
    counts n;
    struct stat st;

    if (d->store == NULL && d->path != NULL && (stat(d->path, &st) != 0 ? errno == ENOENT || errno == ENOTDIR : st.st_size == 0)) {
        finding_set(f, FINE, "none yet; `pawl run FILE` makes %s", d->path);
        return;
    }
    if (d->store == NULL) {
        finding_set(f, BROKEN, "%s", d->store_err.text);
        return;
    }
    if (count_runs(d->store, &n, &err) != PAWL_OK || d->store->verbs->check(d->store, &err) != PAWL_OK) {
        finding_set(f, BROKEN, "%s", err.text);
        return;
    }
    d->newest_ms = n.newest_ms;
    finding_set(f, n.parked > 0 ? WARNING : FINE, "%s, format %d, whole (%lld ms to check): %llu run%s, %llu not over, %llu wait%s open, %llu parked",
         name, SCHEMA_VERSION, (long long)(now_us() - began) / 1000, (unsigned long long)n.runs, n.runs == 1 ? "" : "s",
         (unsigned long long)n.going, (unsigned long long)n.waits, n.waits == 1 ? "" : "s", (unsigned long long)n.parked);
    if (n.parked > 0)
        buf_text(&f->text, "; `pawl ls --parked` lists those, `pawl show RUN` says why");
}

/* ---- the verb ------------------------------------------------------------------------------------------------ */

static const struct check {
    const char *name;
    bool needed;                /* no run can be trusted, or started, without it */
    void (*look)(doctor *d, finding *f);
} checks[] = {
    { "store", true, check_store },          /* first: the clock is compared with its newest change */
    { "folder", true, check_folder },
    { "durable write", true, check_commit },
    { "clock", true, check_clock },
    { "SQLite", true, check_sqlite },
    { "jq", false, check_jq },
    { "HTTP", false, check_curl },
    { "certificates", false, check_certificates },
    { "graphviz", false, check_dot },
    { "bubblewrap", false, check_bubblewrap },
    { "sandbox", false, check_sandbox },
    { "program", false, check_program },
    { "open files", false, check_files },
    { "terminal", false, check_terminal },
};
enum { CHECKS = sizeof checks / sizeof *checks };

/* The store as every verb would find it, and the folder of its file. */
static void find_store(doctor *d)
{
    static const char kind[] = "sqlite:";
    cli_call *c = d->call;
    const char *name, *slash;
    store_place *p = NULL;
    struct stat st;

    d->store = cli_store(c, false, &d->store_err);
    name = cli_store_name(c);
    if (name != NULL && strncmp(name, kind, sizeof kind - 1) == 0) {
        d->path = name + sizeof kind - 1;
    } else if (d->store == NULL && d->store_err.code != PAWL_INVALID && (p = arena_get(&c->mem, sizeof *p)) != NULL &&
               store_place_find(p, &(pawl_err){0}) == PAWL_OK && p->path[0] != '\0') {
        d->path = p->path;
    }
    if (d->path == NULL)
        return;
    slash = strrchr(d->path, '/');
    d->folder = slash == NULL ? "." : slash == d->path ? "/" : arena_strdup(&c->mem, d->path, (size_t)(slash - d->path));
    while (p != NULL && d->folder != NULL && stat(d->folder, &st) != 0 && errno == ENOENT && (slash = strrchr(d->folder, '/')) != NULL)
        d->folder = slash == d->folder ? "/" : arena_strdup(&c->mem, d->folder, (size_t)(slash - d->folder));     /* where it will be made */
}

static void print_line(const cli_call *c, const char *name, const finding *f, buf *out)
{
    buf_fmt(out, "%s%-8s%s %-14s ", c->colour ? state_colours[f->state] : "", state_names[f->state], c->colour ? "\x1b[0m" : "", name);
    cli_clean(out, f->text.size > 0 ? f->text.data : "", f->text.size);
    buf_char(out, '\n');
}

static void print_member(const struct check *check, const finding *f, buf *out)
{
    buf clean;

    buf_init(&clean, NULL);
    cli_clean(&clean, f->text.size > 0 ? f->text.data : "", f->text.size);
    buf_fmt(out, "%s{\"name\":\"%s\",\"needed\":%s,\"state\":\"%s\",\"text\":", out->size > 1 ? "," : "", check->name,
            check->needed ? "true" : "false", state_names[f->state]);
    canon_string(out, clean.size > 0 ? clean.data : "", clean.size);
    buf_char(out, '}');
    out->failed = out->failed || clean.failed;
    buf_free(&clean);
}

static int run_doctor(cli_call *c)
{
    doctor d = { .call = c };
    size_t bad = 0;
    buf out;

    buf_init(&out, NULL);
    find_store(&d);
    if (c->json)
        buf_char(&out, '[');
    for (size_t i = 0; i < CHECKS; i++) {
        finding f = { .state = FINE };

        buf_init(&f.text, NULL);
        checks[i].look(&d, &f);
        bad += f.state >= MISSING && checks[i].needed;
        if (c->json)
            print_member(&checks[i], &f, &out);
        else
            print_line(c, checks[i].name, &f, &out);
        out.failed = out.failed || f.text.failed;
        buf_free(&f.text);
    }
    if (c->json)
        buf_word(&out, "]\n");
    pawl_store_free(d.store);
    if (out.failed)
        fputs("pawl doctor: no memory\n", stderr);
    else
        fwrite(out.data, 1, out.size, stdout);
    if (bad > 0 && !c->json)
        fprintf(stderr, "pawl doctor: %zu required check%s failed\n", bad, bad == 1 ? "" : "s");
    bad += out.failed;
    buf_free(&out);
    return bad > 0 ? EXIT_FAILED : EXIT_DONE;
}

static const cli_option doctor_options[] = {
    { "json", NULL, "an array of {name, needed, state, text}" },
    { NULL, NULL, NULL },
};

const cli_verb verb_doctor = {
    .name = "doctor",
    .form = "",
    .what = "check what works on this machine, and what is missing",
    .about = "Checks the store and its folder, the clock, the libraries and the programs that\n"
             "Pawl can use; prints a line for each: ok, warning, missing or broken. The whole\n"
             "store is checked, which takes a while if it is large; one small file is written\n"
             "beside it and removed. Exits with 1 if something is missing or broken that every\n"
             "run needs: store, folder, durable writes, clock, SQLite.",
    .example = "pawl doctor\npawl doctor --store sqlite:/srv/pawl/pawl.db --json",
    .options = doctor_options,
    .store = true,
    .run = run_doctor,
};
