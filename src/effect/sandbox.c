/* sandbox.c - bubblewrap, as it is run for plan mode and for the tools of an agent. */
#define _GNU_SOURCE             /* environ */
#include "effect/sandbox.h"
#include "effect/effect.h"
#include "net/net.h"

#include <pthread.h>
#include <unistd.h>

enum { TRY_MS = 5000 };

/* Not looked for in PATH, which a project may have changed. */
static const char *const places[] = { "/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap" };

/* Who is root keeps no capability: with them it would mount all of it anew, for writing. What lies in /run and /tmp is out of sight: sockets lie there, and who may talk to one may have others write. */
static const char *const words[] = { "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run",
                                     "--ro-bind-try", "/run/current-system", "/run/current-system", "--unshare-all", "--new-session",
                                     "--die-with-parent", "--cap-drop", "ALL" };
/* Where names are looked up, on hosts that keep it in /run. */
static const char *const net_words[] = { "--share-net", "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve",
                                         "--ro-bind-try", "/run/NetworkManager", "/run/NetworkManager",
                                         "--ro-bind-try", "/run/resolvconf", "/run/resolvconf" };
enum {
    PLACES = sizeof places / sizeof *places,
    WORDS = sizeof words / sizeof *words,
    NET_WORDS = sizeof net_words / sizeof *net_words,
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

/* A folder before those that lie in it: what is mounted later hides what was there. */
static const sandbox_folder *outer_first(arena *mem, const sandbox_folder *folders, size_t n)
{
    sandbox_folder *out = arena_get(mem, (n + 1) * sizeof *out);

    for (size_t i = 0, at; out != NULL && i < n; i++) {
        for (at = i; at > 0 && strlen(out[at - 1].path) > strlen(folders[i].path); at--)
            out[at] = out[at - 1];
        out[at] = folders[i];
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
    for (size_t i = 0; writes && i < n; i++) {      /* last, so that no folder around it brings it back */
        if (strcmp(folders[i].path, "/") == 0)
            continue;
        out[at++] = "--ro-bind-try";
        out[at] = out[at + 1] = joined(mem, folders[i].path, "/.pawl");
        at += 2;
    }
    return at;
}

const char **sandbox_words(arena *mem, sandbox_kind kind, const sandbox_folder *folders, size_t n, size_t *count)
{
    const bool writes = kind == SANDBOX_WORKSPACE;
    const char **out = arena_get(mem, (WORDS + NET_WORDS + n * FOLDER_WORDS + 6) * sizeof *out), *bwrap = place();
    const sandbox_folder *sorted = outer_first(mem, folders, n);
    bool all = false;
    size_t at = 0;

    if (out == NULL || sorted == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        all = all || (strcmp(folders[i].path, "/") == 0 && !folders[i].read_only);
    out[at++] = bwrap != NULL ? bwrap : places[0];
    out[at++] = writes && all ? "--bind" : "--ro-bind";
    for (size_t i = 0; i < WORDS; i++)
        out[at++] = words[i];
    for (size_t i = 0; writes && i < NET_WORDS; i++)
        out[at++] = net_words[i];
    at += folders_put(mem, writes, sorted, n, out + at);
    if (n > 0) {
        out[at++] = "--chdir";
        out[at++] = folders[0].path;
    }
    out[at++] = "--";
    out[at] = NULL;
    *count = at;
    return mem->failed ? NULL : out;
}

/* ---- tried ------------------------------------------------------------------------------------- */

static pthread_once_t once[SANDBOX_KINDS] = { PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT };
static sandbox_is is[SANDBOX_KINDS];
static char why[SANDBOX_KINDS][SANDBOX_SAID_BYTES];

/* Its first sentence says what is wrong, the next where to read on. */
static void why_keep(sandbox_kind kind, const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && n < SANDBOX_SAID_BYTES - 1 && text[n] != '\n' && !(text[n] == '.' && n + 1 < size && text[n + 1] == ' '))
        n++;
    memcpy(why[kind], text, n);
    why[kind][n] = '\0';
}

static bool argv_make(arena *mem, sandbox_kind kind, process *p)
{
    size_t n = 0;
    const char **list = sandbox_words(mem, kind, NULL, 0, &n);

    if (list == NULL || (p->argv = arena_zero(mem, (n + 2) * sizeof *p->argv)) == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        p->argv[i] = arena_strdup(mem, list[i], strlen(list[i]));
    p->argv[n] = arena_strdup(mem, "true", 4);
    return !mem->failed;
}

static void try_it(sandbox_kind kind)
{
    const pawl_job job = { .effect = "sandbox" };
    process p = { .job = &job, .envp = environ, .output_bytes = SANDBOX_SAID_BYTES, .until_ms = clock_ms() + TRY_MS };
    pawl_err err = {0};
    arena mem;

    is[kind] = SANDBOX_MISSING;
    if (place() == NULL)
        return;
    is[kind] = SANDBOX_REFUSED;
    arena_init(&mem, NULL, 1024);
    buf_init(&p.out, NULL);
    buf_init(&p.err, NULL);
    if (!argv_make(&mem, kind, &p))
        why_keep(kind, "no memory", 9);
    else if (process_run(&p, &err) != PAWL_OK)
        why_keep(kind, err.text, strlen(err.text));
    else if (p.stopped == STOPPED_NOT && p.status == 0)
        is[kind] = SANDBOX_WORKS;
    else
        why_keep(kind, p.err.size > 0 ? p.err.data : p.out.data, p.err.size > 0 ? p.err.size : p.out.size);
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

const pawl_value *sandboxed(arena *mem, const pawl_value *args)
{
    const char *cwd = pawl_value_string(pawl_value_get(args, "cwd"));
    size_t n = 0;
    const char **list = sandbox_words(mem, SANDBOX_READ_ONLY, &(sandbox_folder){ cwd, true }, cwd != NULL ? 1 : 0, &n);
    const pawl_value *run = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(pawl_value_get(args, "run"));

    if (list == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        run = value_push(mem, run, value_string(mem, list[i], strlen(list[i])));
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        run = value_push(mem, run, one);
    return value_with(mem, args, "run", run);
}
