/* anchor.c - keeps heads of journals in a file that is only appended to, or gives them to a command, one JSON line each (P12).
 *
 * A handle belongs to one session, and is used on the thread that drives its engine; several processes and sessions may append to one file, since each
 * batch is one write. Invariants: what was written is never read, moved or cut, so the file may have the attribute that allows nothing else (chattr +a);
 * PAWL_OK means that the lines are on the disk, or that the command took them. */
#define _XOPEN_SOURCE 700       /* realpath */
#include "app/anchor.h"
#include "app/settings.h"
#include "effect/effect.h"
#include "effect/reach.h"
#include "net/net.h"
#include "pawl/history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { COMMAND_MS = 60000, COMMAND_SAID_BYTES = 4096, PRINTED_BYTES_MAX = 1 << 30 };

struct app_anchor {
    char *name;                 /* as it was named: a path, or a command without its "|" */
    int fd;                     /* of the file; -1: it is a command */
    bool torn;                  /* the last write was cut off: the next one begins with a newline */
    char *path;                 /* absolute */
    reach_store reach;
};

/* ---- which ------------------------------------------------------------------------------------------------ */

static const char *of_settings(arena *mem, pawl_err *err)
{
    const char *path = settings_of_person(mem), *home = getenv("HOME"), *text;
    const pawl_value *v;

    if (path == NULL || access(path, F_OK) != 0)        /* a home that this user may not enter has no settings of this user */
        return NULL;
    if ((v = pawl_value_get(settings_read(mem, path, err), "anchor")) == NULL)
        return NULL;
    text = pawl_value_string(v);
    if (text != NULL && (*text == '/' || (*text == '|' && text[1] != '\0')))
        return text;
    if (text != NULL && strncmp(text, "~/", 2) == 0 && home != NULL)
        return settings_path(mem, text);
    fail(err, PAWL_INVALID, "%s: anchor is a path that begins with / or ~/, or a command after a |", path);
    return NULL;
}

const char *anchor_named(const app_caller *caller, arena *mem, pawl_err *err)
{
    const char *word = caller != NULL ? caller->anchor : NULL;

    if (word == NULL && ((word = getenv("PAWL_ANCHOR")) == NULL || *word == '\0'))
        return of_settings(mem, err);
    if (*word == '\0' || strcmp(word, "|") == 0) {
        fail(err, PAWL_INVALID, "an anchor is a file, or a command after a |: --anchor FILE, --anchor '|CMD'");
        return NULL;
    }
    return word;
}

/* ---- the file ---------------------------------------------------------------------------------------------- */

static pawl_code file_open(app_anchor *a, pawl_err *err)
{
    struct stat st;

    if ((a->fd = open(a->name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600)) < 0)
        return fail(err, PAWL_IO, "%s: heads cannot be anchored there: %s; nothing is driven without it", a->name, strerror(errno));
    if (fstat(a->fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)))
        return fail(err, PAWL_INVALID, "%s: heads are anchored in a file, or by a command: --anchor '|CMD'", a->name);
    if ((a->path = realpath(a->name, NULL)) == NULL)
        return fail(err, PAWL_IO, "%s: its folder cannot be found: %s", a->name, strerror(errno));
    a->reach = (reach_store){ .path = a->path, .alone = true };
    reach_keep(&a->reach);
    return PAWL_OK;
}

static pawl_code file_append(app_anchor *a, const buf *lines, pawl_err *err)
{
    struct stat st;
    size_t done = 0;

    if (fstat(a->fd, &st) != 0 || st.st_nlink == 0)
        return fail(err, PAWL_IO, "%s was deleted while it was open", a->name);
    while (done < lines->size) {
        const ssize_t n = write(a->fd, lines->data + done, lines->size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            a->torn = a->torn || done > 0;
            return fail(err, PAWL_IO, "%s: %s", a->name, n < 0 ? strerror(errno) : "nothing more can be written");
        }
        done += (size_t)n;
    }
    a->torn = false;
    if (fdatasync(a->fd) != 0 && errno != EINVAL && errno != EROFS)     /* these two: a device, which keeps nothing back */
        return fail(err, PAWL_IO, "%s: %s", a->name, strerror(errno));
    return PAWL_OK;
}

/* ---- the command -------------------------------------------------------------------------------------------- */

/* The last line that it said. */
static void last_line(const buf *b, char *out, size_t room)
{
    size_t end = b->size, at;

    while (end > 0 && (b->data[end - 1] == '\n' || b->data[end - 1] == '\r'))
        end--;
    for (at = end; at > 0 && b->data[at - 1] != '\n';)
        at--;
    snprintf(out, room, "%s%.*s", end > at ? ": " : "", (int)(end - at < 200 ? end - at : 200), end > at ? b->data + at : "");
}

static pawl_code command_call(const char *command, const buf *in, buf *printed, pawl_err *err)
{
    const pawl_job job = { .effect = "anchor" };
    char shell[] = "/bin/sh", option[] = "-c", *text = strdup(command), *argv[] = { shell, option, text, NULL }, why[256];
    process p = { .job = &job, .argv = argv, .envp = environ, .in = in != NULL ? in->data : NULL, .in_size = in != NULL ? in->size : 0,
                  .output_bytes = printed != NULL ? PRINTED_BYTES_MAX : COMMAND_SAID_BYTES, .until_ms = clock_ms() + COMMAND_MS };
    pawl_code rc;

    if (text == NULL)
        return fail(err, PAWL_NOMEM, "|%s: no memory", command);
    buf_init(&p.out, NULL);
    buf_init(&p.err, NULL);
    rc = process_run(&p, err);
    last_line(&p.err, why, sizeof why);
    if (rc != PAWL_OK)
        rc = rc == PAWL_NOMEM ? rc : PAWL_IO;
    else if (p.stopped != STOPPED_NOT)
        rc = fail(err, PAWL_IO, "|%.200s: it took longer than %d s", command, COMMAND_MS / 1000);
    else if (p.signal != 0)
        rc = fail(err, PAWL_IO, "|%.200s: it was ended by signal %d%s", command, p.signal, why);
    else if (p.status != 0)
        rc = fail(err, PAWL_IO, "|%.200s: it exited with %d%s", command, p.status, why);
    else if (printed != NULL && (p.out_cut || p.out.failed))
        rc = fail(err, PAWL_IO, "|%.200s: it printed more than %d MiB", command, PRINTED_BYTES_MAX >> 20);
    else if (printed != NULL)
        buf_put(printed, p.out.data, p.out.size);
    buf_free(&p.out);
    buf_free(&p.err);
    free(text);
    return rc;
}

pawl_code anchor_printed(const char *command, buf *out, pawl_err *err)
{
    return command_call(command, NULL, out, err);
}

/* ---- kept ------------------------------------------------------------------------------------------------- */

pawl_code anchor_keep(void *ctx, const char *store, const pawl_anchor *heads, size_t n, pawl_err *err)
{
    app_anchor *a = ctx;
    char line[PAWL_ANCHOR_LINE_BYTES];
    pawl_code rc = PAWL_OK;
    buf lines;

    buf_init(&lines, NULL);
    if (a->torn)
        buf_char(&lines, '\n');
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if ((rc = pawl_anchor_line(store, &heads[i], epoch_ms(), line, err)) == PAWL_OK)
            buf_text(&lines, line);
    if (rc == PAWL_OK && lines.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its lines", a->name);
    if (rc == PAWL_OK)
        rc = a->fd >= 0 ? file_append(a, &lines, err) : command_call(a->name, &lines, NULL, err);
    buf_free(&lines);
    return rc;
}

static pawl_code one_keep(app_anchor *a, pawl_store *store, const char *run, bool removed, pawl_err *err)
{
    const char *id = "-";
    pawl_err why = { PAWL_OK, "" };
    pawl_anchor head;
    pawl_code rc;

    if (a == NULL)
        return PAWL_OK;
    if (store->verbs->id != NULL && (id = store->verbs->id(store, err)) == NULL)
        return PAWL_IO;
    if ((rc = pawl_anchor_of(store, run, &head, &why)) != PAWL_OK)
        return removed && rc == PAWL_CORRUPT ? PAWL_OK : fail(err, rc, "%s", why.text);     /* a damaged run has no head */
    head.removed = removed;
    return anchor_keep(a, id, &head, 1, err);
}

pawl_code anchor_removed(app_anchor *a, pawl_store *store, const char *run, pawl_err *err) { return one_keep(a, store, run, true, err); }
pawl_code anchor_pruned(app_anchor *a, pawl_store *store, const char *run, pawl_err *err) { return one_keep(a, store, run, false, err); }

pawl_code anchor_open(const app_caller *caller, app_anchor **out, pawl_err *err)
{
    const char *named;
    pawl_code rc = PAWL_OK;
    app_anchor *a;
    arena mem;

    *out = NULL;
    if (caller == NULL || !caller->anchors)
        return PAWL_OK;
    arena_init(&mem, NULL, 1024);
    if ((named = anchor_named(caller, &mem, err)) == NULL) {
        rc = mem.failed ? fail(err, PAWL_NOMEM, "no memory for an anchor") : err->code;
    } else if ((a = calloc(1, sizeof *a)) == NULL || (a->fd = -1, a->name = strdup(named + (*named == '|'))) == NULL) {
        free(a);
        rc = fail(err, PAWL_NOMEM, "no memory for an anchor");
    } else {
        *out = a;
        if (*named != '|' && (rc = file_open(a, err)) != PAWL_OK) {
            anchor_close(a);
            *out = NULL;
        }
    }
    arena_free(&mem);
    return rc;
}

void anchor_close(app_anchor *a)
{
    if (a == NULL)
        return;
    if (a->path != NULL)
        reach_drop(&a->reach);
    if (a->fd >= 0)
        close(a->fd);
    free(a->path);
    free(a->name);
    free(a);
}
