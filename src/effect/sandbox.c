/* sandbox.c - runs bubblewrap for plan mode and for the tools of an agent.
 *
 * Called by the handlers on any thread; sandbox_try() keeps its result for the process. A read-only file system does not prevent writing to pipes and
 * sockets in it. So in plan mode bubblewrap starts a program of ours (src/inside/), which prevents that and then executes the command. The library
 * contains the bytes of that program, and runs it from memory. */
#define _GNU_SOURCE             /* environ, memfd_create, realpath */
#include "effect/sandbox.h"
#include "effect/effect.h"
#include "effect/inside.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U        /* of Linux 6.3: allow execution, whatever the system's default is */
#endif

enum { TRY_MS = 5000 };

/* Not searched in PATH, which a project may have changed. */
static const char *const places[] = { "/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap" };

/* Root keeps no capability: with one it could mount everything again for writing. /run and /tmp are hidden: a socket there leads to a program that may
 * write. */
static const char *const words[] = { "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run",
                                     "--ro-bind-try", "/run/current-system", "/run/current-system", "--unshare-all", "--new-session",
                                     "--die-with-parent", "--cap-drop", "ALL" };
/* Needed to look up host names if the host keeps resolv.conf in /run. */
static const char *const net_words[] = { "--share-net", "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve",
                                         "--ro-bind-try", "/run/NetworkManager", "/run/NetworkManager",
                                         "--ro-bind-try", "/run/resolvconf", "/run/resolvconf" };
/* What plan mode may open for writing: devices that discard data, and the sandbox's own folders. */
static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts" };
static const char *const own_folders[] = { "/dev/shm", "/tmp" };
enum {
    PLACES = sizeof places / sizeof *places,
    WORDS = sizeof words / sizeof *words,
    NET_WORDS = sizeof net_words / sizeof *net_words,
    DEVICES = sizeof devices / sizeof *devices,
    OWN_FOLDERS = sizeof own_folders / sizeof *own_folders,
    INSIDE_WORDS = DEVICES + OWN_FOLDERS + 5,
    FOLDER_WORDS = 6
};

static const char *place(void)
{
    for (size_t i = 0; i < PLACES; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* ---- words ------------------------------------------------------------------------------------- */

static const char *joined(arena *mem, const char *folder, const char *name)
{
    size_t n = strlen(folder), m = strlen(name);
    char *path = arena_get(mem, n + m + 1);

    if (path == NULL)
        return NULL;
    memcpy(path, folder, n);
    memcpy(path + n, name, m + 1);
    return path;
}

/* Links are resolved, so that nesting is known; a folder comes before those inside it, because a later mount hides an earlier one. */
static sandbox_folder *outer_first(arena *mem, const sandbox_folder *folders, size_t n, const char **cwd)
{
    sandbox_folder *out = arena_get(mem, (n + 1) * sizeof *out), one;
    char real[PATH_MAX];

    for (size_t i = 0, at; out != NULL && i < n; i++) {
        one = folders[i];
        if (realpath(one.path, real) != NULL && (one.path = arena_text(mem, real)) == NULL)
            return NULL;
        if (i == 0)
            *cwd = one.path;
        for (at = i; at > 0 && strlen(out[at - 1].path) > strlen(one.path); at--)
            out[at] = out[at - 1];
        out[at] = one;
    }
    return out;
}

static size_t folders_put(arena *mem, bool writes, const sandbox_folder *folders, size_t n, const char **out)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(folders[i].path, "/") == 0)
            continue;
        out[at++] = writes && !folders[i].read_only ? "--bind" : "--ro-bind";
        out[at++] = folders[i].path;
        out[at++] = folders[i].path;
    }
    for (size_t i = 0; writes && i < n; i++) {      /* last, so that no mount of an outer folder reveals it again */
        if (strcmp(folders[i].path, "/") == 0)
            continue;
        out[at++] = "--ro-bind-try";
        out[at] = out[at + 1] = joined(mem, folders[i].path, "/.pawl");
        at += 2;
    }
    return at;
}

static bool lies_in(const char *path, const char *folder)
{
    const size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

/* A permission for a folder covers everything mounted below it, so the sandbox's own folders are usable only if none of ours lies in them. */
static bool apart(const char *own, const sandbox_folder *folders, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(folders[i].path, "/") != 0 && (lies_in(folders[i].path, own) || lies_in(own, folders[i].path)))
            return false;
    return true;
}

static size_t inside_put(const sandbox_folder *folders, size_t n, const char **out)
{
    size_t at = 0;

    out[at++] = "/proc/self/fd/3";
    for (size_t i = 0; i < DEVICES; i++)
        if (apart(devices[i], folders, n))
            out[at++] = devices[i];
    for (size_t i = 0; i < OWN_FOLDERS; i++)
        if (apart(own_folders[i], folders, n))
            out[at++] = own_folders[i];
    out[at++] = "--";
    return at;
}

static pawl_code words_make(arena *mem, sandbox_kind kind, const sandbox_folder *folders, size_t n, sandbox *s)
{
    const bool writes = kind == SANDBOX_WORKSPACE;
    const char **out = arena_get(mem, (WORDS + NET_WORDS + n * FOLDER_WORDS + INSIDE_WORDS + 9) * sizeof *out), *bwrap = place(), *cwd = NULL;
    const sandbox_folder *sorted = outer_first(mem, folders, n, &cwd);
    bool all = false;
    size_t at = 0;

    if (out == NULL || sorted == NULL)
        return PAWL_NOMEM;
    for (size_t i = 0; i < n; i++)
        all = all || (strcmp(sorted[i].path, "/") == 0 && !sorted[i].read_only);
    out[at++] = bwrap != NULL ? bwrap : places[0];
    out[at++] = writes && all ? "--bind" : "--ro-bind";
    for (size_t i = 0; i < WORDS; i++)
        out[at++] = words[i];
    for (size_t i = 0; writes && i < NET_WORDS; i++)
        out[at++] = net_words[i];
    at += folders_put(mem, writes, sorted, n, out + at);
    if (!writes && !apart("/tmp", sorted, n)) {
        out[at++] = "--setenv";
        out[at++] = "TMPDIR";
        out[at++] = "/dev/shm";
    }
    if (n > 0) {
        out[at++] = "--chdir";
        out[at++] = cwd;
    }
    out[at++] = "--";
    if (!writes)
        at += inside_put(sorted, n, out + at);
    out[at] = NULL;
    s->words = out;
    s->n = at;
    return mem->failed ? PAWL_NOMEM : PAWL_OK;
}

/* ---- the program inside --------------------------------------------------------------------------- */

static bool written(int fd)
{
    for (size_t at = 0; at < inside_program_size; ) {
        const ssize_t n = write(fd, inside_program + at, inside_program_size - at);

        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* A sealed descriptor above 2; 0: it cannot be made. */
static int inside_open(void)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int low = memfd_create("pawl-inside", flags | MFD_EXEC), fd;

    if (low < 0 && errno == EINVAL)
        low = memfd_create("pawl-inside", flags);
    if (low < 0)
        return 0;
    fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
    close(low);
    if (fd < 0)
        return 0;
    if (written(fd) && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    close(fd);
    return 0;
}

pawl_code sandbox_open(arena *mem, sandbox_kind kind, const sandbox_folder *folders, size_t n, sandbox *out, pawl_err *err)
{
    *out = (sandbox){0};
    if (words_make(mem, kind, folders, n, out) != PAWL_OK)
        return fail(err, PAWL_NOMEM, "no memory for a sandbox");
    if (kind == SANDBOX_READ_ONLY && (out->inside = inside_open()) == 0)
        return fail(err, PAWL_TRANSIENT, "the system lets no program be run from memory (errno %d)", errno);
    return PAWL_OK;
}

void sandbox_close(sandbox *s)
{
    if (s->inside > 0)
        close(s->inside);
    s->inside = 0;
}

/* ---- tried ------------------------------------------------------------------------------------- */

static pthread_once_t once[SANDBOX_KINDS] = { PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT };
static sandbox_is is[SANDBOX_KINDS];
static char why[SANDBOX_KINDS][SANDBOX_SAID_BYTES];

/* The first sentence is the error, the next says where to read on. */
static void why_keep(sandbox_kind kind, const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && n < SANDBOX_SAID_BYTES - 1 && text[n] != '\n' && !(text[n] == '.' && n + 1 < size && text[n + 1] == ' '))
        n++;
    memcpy(why[kind], text, n);
    why[kind][n] = '\0';
}

static pawl_code argv_make(arena *mem, const sandbox *s, process *p, pawl_err *err)
{
    if ((p->argv = arena_zero(mem, (s->n + 2) * sizeof *p->argv)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a sandbox");
    for (size_t i = 0; i < s->n; i++)
        p->argv[i] = arena_text(mem, s->words[i]);
    p->argv[s->n] = arena_strdup(mem, "true", 4);
    p->third = s->inside;
    return mem->failed ? fail(err, PAWL_NOMEM, "no memory for a sandbox") : PAWL_OK;
}

static void try_it(sandbox_kind kind)
{
    const pawl_job job = { .effect = "sandbox" };
    process p = { .job = &job, .envp = environ, .output_bytes = SANDBOX_SAID_BYTES, .until_ms = clock_ms() + TRY_MS };
    pawl_err err = {0};
    sandbox s;
    arena mem;

    is[kind] = SANDBOX_MISSING;
    if (place() == NULL)
        return;
    is[kind] = SANDBOX_REFUSED;
    arena_init(&mem, NULL, 1024);
    buf_init(&p.out, NULL);
    buf_init(&p.err, NULL);
    if (sandbox_open(&mem, kind, NULL, 0, &s, &err) != PAWL_OK || argv_make(&mem, &s, &p, &err) != PAWL_OK || process_run(&p, &err) != PAWL_OK)
        why_keep(kind, err.text, strlen(err.text));
    else if (p.stopped == STOPPED_NOT && p.status == 0)
        is[kind] = SANDBOX_WORKS;
    else
        why_keep(kind, p.err.size > 0 ? p.err.data : p.out.data, p.err.size > 0 ? p.err.size : p.out.size);
    sandbox_close(&s);
    buf_free(&p.out);
    buf_free(&p.err);
    arena_free(&mem);
}

static void try_read_only(void) { try_it(SANDBOX_READ_ONLY); }
static void try_workspace(void) { try_it(SANDBOX_WORKSPACE); }

sandbox_is sandbox_try(sandbox_kind kind, char said[SANDBOX_SAID_BYTES])
{
    pthread_once(&once[kind], kind == SANDBOX_READ_ONLY ? try_read_only : try_workspace);
    if (said != NULL)
        memcpy(said, why[kind], sizeof why[kind]);
    return is[kind];
}

/* ---- used ---------------------------------------------------------------------------------------- */

pawl_code sandbox_refuses(pawl_reply *r, sandbox_is now, const char *said)
{
    pawl_reply_untouched(r);
    if (now == SANDBOX_MISSING)
        return pawl_reply_fail(r, PAWL_DENIED, "in plan mode a command runs in a sandbox that can only read, and bwrap is not here: install bubblewrap");
    return pawl_reply_fail(r, PAWL_DENIED, "in plan mode a command runs in a sandbox that can only read, and none can be made here: %.160s", said);
}

pawl_code sandbox_command(const pawl_job *job, pawl_reply *r, effect_codes as)
{
    const char *cwd = pawl_value_string(pawl_value_get(job->args, "cwd"));
    const sandbox_folder folder = { cwd, true };
    char said[SANDBOX_SAID_BYTES];
    const sandbox_is now = sandbox_try(SANDBOX_READ_ONLY, said);
    pawl_err err = {0};
    sandbox s;
    pawl_code rc;
    arena mem;

    if (now != SANDBOX_WORKS)
        return sandbox_refuses(r, now, said);
    arena_init(&mem, &r->alloc, 4096);
    if ((rc = sandbox_open(&mem, SANDBOX_READ_ONLY, &folder, cwd != NULL ? 1 : 0, &s, &err)) == PAWL_OK) {
        rc = command_run(job, r, &s, as);
    } else {
        pawl_reply_untouched(r);
        rc = pawl_reply_fail(r, rc, "%s: %s", job->effect, err.text);
    }
    sandbox_close(&s);
    arena_free(&mem);
    return rc;
}
