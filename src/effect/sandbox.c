/* sandbox.c - runs bubblewrap for plan mode and for the tools of an agent.
 *
 * Called by the handlers on any thread; sandbox_try() keeps its result for the process. A read-only file system does not prevent writing to pipes and
 * sockets in it. So bubblewrap starts a program of ours (src/inside/), which prevents that, sets limits, and then executes the command. The library
 * contains the bytes of that program, and runs it from memory. */
#define _GNU_SOURCE             /* environ, memfd_create */
#include "effect/sandbox.h"
#include "effect/effect.h"
#include "effect/inside.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U        /* of Linux 6.3: allow execution, whatever the system's default is */
#endif

enum { TRY_MS = 5000 };

/* Not searched in PATH, which a project may have changed. */
static const char *const places[] = { "/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap" };

enum { PLACES = sizeof places / sizeof *places };

static const char *place(void)
{
    for (size_t i = 0; i < PLACES; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* Root keeps no capability: with one it could mount everything again for writing. /run and /tmp are hidden: a socket there leads to a program that may
 * write. */
static pawl_code words_make(arena *mem, const sandbox_ask *ask, sandbox *s)
{
    static const char *const apart[] = { "--unshare-all", "--unshare-user", "--disable-userns", "--new-session", "--die-with-parent", "--cap-drop", "ALL" };
    const char *bwrap = place(), *cwd = NULL;
    sandbox_words w = { .mem = mem };
    sandbox_ask real = *ask;

    if ((real.folders = folders_real(mem, ask, &cwd)) == NULL)
        return PAWL_NOMEM;

    words_put(&w, bwrap != NULL ? bwrap : places[0]);
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        words_put(&w, apart[i]);
    view_put(&w, &real);
    if (ask->kind == SANDBOX_READ_ONLY && !apart_from(&real, "/tmp")) {
        words_put(&w, "--setenv");
        words_put(&w, "TMPDIR");
        words_put(&w, "/dev/shm");
    }
    if (cwd != NULL) {
        words_put(&w, "--chdir");
        words_put(&w, cwd);
    }
    words_put(&w, "--");
    inside_put(&w, &real);
    s->n = w.n;
    words_put(&w, "");
    if (w.failed || mem->failed)
        return PAWL_NOMEM;
    w.all[s->n] = NULL;
    s->words = w.all;
    return PAWL_OK;
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

/* A sealed descriptor above 4; 0: it cannot be made. */
static int inside_open(void)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int low = memfd_create("pawl-inside", flags | MFD_EXEC), fd;

    if (low < 0 && errno == EINVAL)
        low = memfd_create("pawl-inside", flags);
    if (low < 0)
        return 0;
    fd = fcntl(low, F_DUPFD_CLOEXEC, 5);
    close(low);
    if (fd < 0)
        return 0;
    if (written(fd) && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    close(fd);
    return 0;
}

pawl_code sandbox_open(arena *mem, const sandbox_ask *ask, sandbox *out, pawl_err *err)
{
    *out = (sandbox){ .inside = 0 };
    if (words_make(mem, ask, out) != PAWL_OK)
        return fail(err, PAWL_NOMEM, "no memory for a sandbox");
    if ((out->inside = inside_open()) == 0)
        return fail(err, PAWL_TRANSIENT, "the system lets no program be run from memory (errno %d)", errno);
    if (pawl_policy_networks(ask->policy) && (out->way = egress_start(ask->policy, &out->channel, err)) == NULL) {
        sandbox_close(out);
        return err->code;
    }
    if (ask->hidden != NULL)
        (void)cgroup_make(&out->group, sandbox_limit(ask->hidden->processes, PAWL_SANDBOX_PROCESSES),
                          sandbox_limit(ask->hidden->memory_bytes, PAWL_SANDBOX_MEMORY_BYTES));
    return PAWL_OK;
}

void sandbox_close(sandbox *s)
{
    if (s->inside > 0)
        close(s->inside);
    s->inside = 0;
    egress_stop(s->way);
    s->way = NULL;
    cgroup_end(&s->group);
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
    p->groups = s->group.entries;
    p->ngroups = s->group.n;
    return mem->failed ? fail(err, PAWL_NOMEM, "no memory for a sandbox") : PAWL_OK;
}

static void try_it(sandbox_kind kind)
{
    static const pawl_sandbox usual = { .need = PAWL_SANDBOX_REQUIRED };
    const sandbox_ask ask = { .kind = kind, .hidden = kind == SANDBOX_WORKSPACE ? &usual : NULL };
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
    if (sandbox_open(&mem, &ask, &s, &err) != PAWL_OK || argv_make(&mem, &s, &p, &err) != PAWL_OK || process_run(&p, &err) != PAWL_OK)
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
    const sandbox_ask ask = { .kind = SANDBOX_READ_ONLY, .folders = &folder, .n = cwd != NULL ? 1 : 0 };
    char said[SANDBOX_SAID_BYTES];
    const sandbox_is now = sandbox_try(SANDBOX_READ_ONLY, said);
    pawl_err err = {0};
    sandbox s;
    pawl_code rc;
    arena mem;

    if (now != SANDBOX_WORKS)
        return sandbox_refuses(r, now, said);
    arena_init(&mem, &r->alloc, 4096);
    if ((rc = sandbox_open(&mem, &ask, &s, &err)) == PAWL_OK) {
        rc = command_run(job, r, &s, as);
    } else {
        pawl_reply_untouched(r);
        rc = pawl_reply_fail(r, rc, "%s: %s", job->effect, err.text);
    }
    sandbox_close(&s);
    arena_free(&mem);
    return rc;
}
