/* sandbox_walls.c - tries each wall of the sandbox for agents on this machine: makes things outside of it, and has `inside` try to reach them.
 *
 * Called by `pawl doctor` and tests, while no other thread reads the environment; it waits for the probe, and removes what it made. */
#define _GNU_SOURCE             /* environ */
#include "effect/sandbox.h"
#include "net/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WALLS_MS = 20000, PROBE_PROCESSES = 48, PATH_SIZE = 200, SHORT_SIZE = 32 };
#define PROBE_MEMORY_BYTES (UINT64_C(1) << 30)
#define PROBE_VARIABLE "PAWL_WALL_PASSWORD"

/* The things outside of the sandbox that are tried: one for each wall. */
typedef struct outside {
    char folder[SHORT_SIZE], file[SHORT_SIZE + 16], made[SHORT_SIZE + 16], pipe[SHORT_SIZE + 16], path[SHORT_SIZE + 16], home[PATH_SIZE];
    char abstract[SHORT_SIZE], port[16], pid[24], processes[24], memory[24];
    int listener, at_path, at_name, reader;
} outside;

static int listens(const struct sockaddr *at, socklen_t size)
{
    const int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, at, size) == 0 && listen(fd, 1) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool file_made(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void home_make(outside *o)
{
    const char *home = getenv("HOME");
    int fd;

    if (home == NULL || *home != '/' || snprintf(o->home, sizeof o->home, "%s/.pawl-wall-XXXXXX", home) >= (int)sizeof o->home || (fd = mkstemp(o->home)) < 0)
        o->home[0] = '\0';
    else
        close(fd);
}

static bool outside_make(outside *o, pawl_err *err)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un at = { .sun_family = AF_UNIX }, name = { .sun_family = AF_UNIX };
    socklen_t size = sizeof here;

    *o = (outside){ .folder = "/var/tmp/pawl-walls-XXXXXX", .listener = -1, .at_path = -1, .at_name = -1, .reader = -1 };
    if (mkdtemp(o->folder) == NULL) {
        o->folder[0] = '\0';
        return fail(err, PAWL_TRANSIENT, "no folder can be made in /var/tmp (errno %d)", errno) == PAWL_OK;
    }
    snprintf(o->file, sizeof o->file, "%s/file", o->folder);
    snprintf(o->made, sizeof o->made, "%s/made", o->folder);
    snprintf(o->pipe, sizeof o->pipe, "%s/pipe", o->folder);
    snprintf(o->path, sizeof o->path, "%s/socket", o->folder);
    snprintf(o->abstract, sizeof o->abstract, "pawl-wall-%ld", (long)getpid());
    snprintf(o->pid, sizeof o->pid, "%ld", (long)getpid());
    snprintf(o->processes, sizeof o->processes, "%d", PROBE_PROCESSES);
    snprintf(o->memory, sizeof o->memory, "%llu", (unsigned long long)PROBE_MEMORY_BYTES);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", o->path);
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "%s", o->abstract);
    home_make(o);
    o->listener = listens((const struct sockaddr *)&here, sizeof here);
    o->at_path = listens((const struct sockaddr *)&at, sizeof at);
    o->at_name = listens((const struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(o->abstract)));
    if (!file_made(o->file) || mkfifo(o->pipe, 0600) != 0 || (o->reader = open(o->pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0 || o->listener < 0 ||
        o->at_path < 0 || o->at_name < 0 || getsockname(o->listener, (struct sockaddr *)&here, &size) != 0)
        return fail(err, PAWL_TRANSIENT, "what the walls are tried with cannot be made (errno %d)", errno) == PAWL_OK;
    snprintf(o->port, sizeof o->port, "%u", (unsigned)ntohs(here.sin_port));
    return true;
}

static void outside_remove(outside *o)
{
    const int fds[] = { o->listener, o->at_path, o->at_name, o->reader };

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (o->home[0] != '\0')
        (void)unlink(o->home);
    if (o->folder[0] == '\0')
        return;
    (void)unlink(o->file);
    (void)unlink(o->made);
    (void)unlink(o->pipe);
    (void)unlink(o->path);
    (void)rmdir(o->folder);
}

/* The command: that of the sandbox, with a probe in the place of the program. */
static char **argv_make(arena *mem, const sandbox *s, const outside *o)
{
    const char *const pairs[] = { "write", o->file, "make", o->made, "pipe", o->pipe, "loopback", o->port, "socket", o->path, "abstract", o->abstract,
                                  "signal", o->pid, "variable", PROBE_VARIABLE, "processes", o->processes, "memory", o->memory, "read", o->home };
    const size_t n = sizeof pairs / sizeof *pairs - (o->home[0] == '\0' ? 2 : 0);
    char **argv = arena_zero(mem, (s->n + n + 1) * sizeof *argv);

    if (argv == NULL)
        return NULL;
    for (size_t i = 0; i + 1 < s->n; i++)       /* without the "--" at its end */
        argv[i] = arena_text(mem, s->words[i]);
    argv[s->n - 1] = arena_text(mem, "-probe");
    for (size_t i = 0; i < n; i++)
        argv[s->n + i] = arena_text(mem, pairs[i]);
    return mem->failed ? NULL : argv;
}

/* "NAME shut" or "NAME open", a line each. */
static void lines_report(const process *p, sandbox_wall_fn *fn, void *ctx)
{
    const char *at = p->out.data, *end = at + p->out.size;

    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at)), *blank = line != NULL ? memchr(at, ' ', (size_t)(line - at)) : NULL;
        char name[32];

        if (blank == NULL)
            return;
        snprintf(name, sizeof name, "%.*s", (int)(blank - at), at);
        fn(ctx, name, line - blank == 5 && memcmp(blank, " shut", 5) == 0);
        at = line + 1;
    }
}

static pawl_code probe(arena *mem, const pawl_sandbox *limits, const outside *o, sandbox_wall_fn *fn, void *ctx, pawl_err *err)
{
    pawl_sandbox s = *limits;
    const sandbox_ask ask = { .kind = SANDBOX_WORKSPACE, .hidden = &s };
    const pawl_job job = { .effect = "sandbox" };
    process p = { .job = &job, .output_bytes = SANDBOX_SAID_BYTES, .until_ms = clock_ms() + WALLS_MS };
    sandbox box;
    pawl_code rc;

    s.processes = PROBE_PROCESSES;
    s.memory_bytes = PROBE_MEMORY_BYTES;
    if ((rc = sandbox_open(mem, &ask, &box, err)) != PAWL_OK)
        return rc;
    buf_init(&p.out, NULL);
    buf_init(&p.err, NULL);
    p.third = box.inside;
    p.groups = box.group.entries;
    p.ngroups = box.group.n;
    if ((p.argv = argv_make(mem, &box, o)) == NULL || (p.envp = env_allowed(mem, &s, NULL)) == NULL)
        rc = fail(err, PAWL_NOMEM, "no memory for a sandbox");
    else if ((rc = process_run(&p, err)) == PAWL_OK && (p.stopped != STOPPED_NOT || p.status != 0))
        rc = fail(err, PAWL_EFFECT, "the sandbox ended with status %d: %.*s", p.status, (int)(p.err.size < 200 ? p.err.size : 200), p.err.data);
    if (rc == PAWL_OK)
        lines_report(&p, fn, ctx);
    buf_free(&p.out);
    buf_free(&p.err);
    sandbox_close(&box);
    return rc;
}

pawl_code sandbox_walls(const pawl_sandbox *limits, sandbox_wall_fn *fn, void *ctx, pawl_err *err)
{
    outside o;
    pawl_code rc;
    arena mem;

    arena_init(&mem, NULL, 4096);
    if (setenv(PROBE_VARIABLE, "x", 1) != 0)
        rc = fail(err, PAWL_NOMEM, "no memory for a variable");
    else {
        rc = outside_make(&o, err) ? probe(&mem, limits, &o, fn, ctx, err) : err->code;
        outside_remove(&o);
    }
    (void)unsetenv(PROBE_VARIABLE);
    arena_free(&mem);
    return rc;
}
