/* sandbox.c - bubblewrap, as it is run for plan mode. */
#define _GNU_SOURCE             /* environ */
#include "cli/sandbox.h"
#include "effect/effect.h"
#include "net/net.h"

#include <pthread.h>
#include <unistd.h>

enum { TRY_MS = 5000 };

/* Not looked for in PATH, which a project may have changed. */
static const char *const places[] = { "/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap" };

/* Who is root keeps no capability: with them it would mount all of it anew, for writing. What lies in /run and /tmp is out of sight: sockets lie there, and who may talk to one may have others write. */
static const char *const words[] = { "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run",
                                     "--ro-bind-try", "/run/current-system", "/run/current-system", "--unshare-all", "--new-session",
                                     "--die-with-parent", "--cap-drop", "ALL" };
enum { PLACES = sizeof places / sizeof *places, WORDS = sizeof words / sizeof *words };

static const char *place(void)
{
    for (size_t i = 0; i < PLACES; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* ---- tried ------------------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sandbox_is is;
static char why[SANDBOX_SAID_BYTES];

/* Its first sentence says what is wrong, the next where to read on. */
static void why_keep(const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && n < sizeof why - 1 && text[n] != '\n' && !(text[n] == '.' && n + 1 < size && text[n + 1] == ' '))
        n++;
    memcpy(why, text, n);
    why[n] = '\0';
}

static void try_it(void)
{
    const pawl_job job = { .effect = "sandbox" };
    process p = { .job = &job, .envp = environ, .output_bytes = sizeof why, .until_ms = clock_ms() + TRY_MS };
    const char *bwrap = place();
    pawl_err err = {0};
    arena mem;

    is = SANDBOX_MISSING;
    if (bwrap == NULL)
        return;
    is = SANDBOX_REFUSED;
    arena_init(&mem, NULL, 1024);
    buf_init(&p.out, NULL);
    buf_init(&p.err, NULL);
    if ((p.argv = arena_zero(&mem, (WORDS + 4) * sizeof *p.argv)) != NULL) {
        p.argv[0] = arena_strdup(&mem, bwrap, strlen(bwrap));
        for (size_t i = 0; i < WORDS; i++)
            p.argv[i + 1] = arena_strdup(&mem, words[i], strlen(words[i]));
        p.argv[WORDS + 1] = arena_strdup(&mem, "--", 2);
        p.argv[WORDS + 2] = arena_strdup(&mem, "true", 4);
    }
    if (mem.failed || p.argv == NULL)
        why_keep("no memory", 9);
    else if (process_run(&p, &err) != PAWL_OK)
        why_keep(err.text, strlen(err.text));
    else if (p.stopped == STOPPED_NOT && p.status == 0)
        is = SANDBOX_WORKS;
    else
        why_keep(p.err.size > 0 ? p.err.data : p.out.data, p.err.size > 0 ? p.err.size : p.out.size);
    buf_free(&p.out);
    buf_free(&p.err);
    arena_free(&mem);
}

sandbox_is sandbox_try(char said[SANDBOX_SAID_BYTES])
{
    pthread_once(&once, try_it);
    if (said != NULL)
        memcpy(said, why, sizeof why);
    return is;
}

/* ---- used ---------------------------------------------------------------------------------------- */

static const pawl_value *words_push(arena *mem, const pawl_value *list, const char *const *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        list = value_push(mem, list, value_string(mem, from[i], strlen(from[i])));
    return list;
}

const pawl_value *sandboxed(arena *mem, const pawl_value *args)
{
    const char *cwd = pawl_value_string(pawl_value_get(args, "cwd")), *bwrap = place();
    const char *const first[] = { bwrap != NULL ? bwrap : places[0] }, *const here[] = { "--ro-bind", cwd, cwd, "--chdir", cwd };
    const char *const end[] = { "--" };
    const pawl_value *run = words_push(mem, value_pack(mem, NULL, "[]"), first, 1), *one;
    pawl_iter it = pawl_iter_of(pawl_value_get(args, "run"));

    run = words_push(mem, run, words, WORDS);
    if (cwd != NULL)
        run = words_push(mem, run, here, sizeof here / sizeof *here);
    run = words_push(mem, run, end, 1);
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        run = value_push(mem, run, one);
    return value_with(mem, args, "run", run);
}
