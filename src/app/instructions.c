/* instructions.c - the instructions of a project: AGENTS.md, else CLAUDE.md with the files that it imports by @PATH (P8, P14).
 *
 * Called when a run of an agent begins, on the thread of its caller; what it reads becomes part of the run. An import is decided by the true path of what was
 * opened: outside of the working folder it counts once the person trusts the folder, and a deny rule about reading holds. One that does not count is noted. */
#define _XOPEN_SOURCE 700       /* realpath */
#include "app/settings.h"
#include "effect/effect.h"
#include "effect/reach.h"
#include "policy/file_rules.h"
#include "policy/gate.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IMPORT_HOPS = 4, IMPORTS_MAX = 100, IMPORT_BYTES = 1 << 20, IMPORTS_BYTES = 4 << 20 };

typedef struct imports {
    session *s;
    arena *mem;
    pawl_policy *policy;        /* NULL: no rules */
    const char *folder;         /* the working folder, without links */
    bool trusted;
    buf out;
    const char *taken[IMPORTS_MAX];     /* true paths: each file is there once */
    size_t n;
    pawl_code rc;
} imports;

/* ---- where imports stand in a text ------------------------------------------------------------------------- */

static size_t run_of(const char *at, char c)
{
    size_t n = 0;

    while (at[n] == c)
        n++;
    return n;
}

/* The end of the block of code whose fence begins at this line; NULL: there is none. It is closed by as many of the same, or by the end. */
static const char *fence_end(const char *line)
{
    const char *at = line + run_of(line, ' ');
    const char mark = *at;
    const size_t n = at - line <= 3 && (mark == '`' || mark == '~') ? run_of(at, mark) : 0;

    if (n < 3)
        return NULL;
    while ((at = strchr(at, '\n')) != NULL) {
        const char *next = at + 1 + run_of(at + 1, ' ');
        const size_t m = next - at <= 4 ? run_of(next, mark) : 0;

        at++;
        if (m >= n && next[m + strspn(next + m, " \t\r")] == '\n')
            return next + m;
        if (m >= n && next[m + strspn(next + m, " \t\r")] == '\0')
            return next + strlen(next);
    }
    return line + strlen(line);
}

/* The end of a span of code that begins here: as many backticks, in the same paragraph; else of the backticks themselves. */
static const char *span_end(const char *at)
{
    const size_t n = run_of(at, '`');
    const char *end = strstr(at, "\n\n"), *next = at + n;

    while ((next = strchr(next, '`')) != NULL && (end == NULL || next < end)) {
        const size_t m = run_of(next, '`');

        next += m;
        if (m == n)
            return next;
    }
    return at + n;
}

typedef void import_fn(imports *all, const char *from, const char *name, size_t size, int hops);

static void each_import(imports *all, const char *from, const char *text, int hops, import_fn *fn)
{
    bool line = true;           /* a line begins here */
    char before = '\n';

    for (const char *at = text; *at != '\0';) {
        const char *end = line ? fence_end(at) : NULL;
        size_t n;

        if (end == NULL && *at == '`')
            end = span_end(at);
        if (end != NULL) {
            line = false;
            before = '`';
            at = end;
            continue;
        }
        n = *at == '@' && (before == ' ' || before == '\t' || before == '\n' || before == '\r') ? strcspn(at + 1, " \t\r\n") : 0;
        if (n > 0)
            fn(all, from, at + 1, n, hops);
        at += n;
        before = *at;
        line = *at == '\n';
        at += *at != '\0';
    }
}

/* ---- one file -------------------------------------------------------------------------------------------------- */

static bool lies_in(const char *path, const char *folder)
{
    const size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* Why it does not count; NULL: it does. */
static const char *refusal(imports *all, const char *real, const struct stat *st)
{
    const file_use use = { .tool = "Read", .cls = PAWL_READ, .time_ms = 0 };
    const char *slash = strrchr(real, '/'), *rule = file_rule_denies(all->policy, &use, real);
    const reach_list *own = reach_look(all->mem);
    const char *folder = slash > real ? arena_strdup(all->mem, real, (size_t)(slash - real)) : "/";

    if (rule != NULL)
        return hook_words(all->mem, "the rule %s denies it", rule);
    if (own == NULL || folder == NULL || reach_encloses(own, folder))
        return "it is Pawl's own";
    if (!lies_in(real, all->folder) && !all->trusted)
        return hook_words(all->mem, "it lies outside of the folder, and counts once you trust that: pawl policy trust %s", all->folder);
    return st->st_size > IMPORT_BYTES ? hook_words(all->mem, "it has more than %d bytes", IMPORT_BYTES) : NULL;
}

static const char *text_read(imports *all, int fd, const struct stat *st)
{
    char *text = arena_get(all->mem, (size_t)st->st_size + 1);
    size_t n = 0;
    ssize_t got;

    while (text != NULL && n < (size_t)st->st_size && (got = read(fd, text + n, (size_t)st->st_size - n)) > 0)
        n += (size_t)got;
    if (text != NULL)
        text[n] = '\0';
    return text != NULL && strlen(text) == n && utf8_valid(text, n) ? text : NULL;
}

/* The file under this name, opened; -1: there is none. `name` may have more behind it: "see @a.md." */
static int import_open(imports *all, const char *from, const char *name, size_t size, const char **path)
{
    for (; size > 0; size--) {
        const char *text = settings_path(all->mem, arena_strdup(all->mem, name, size));
        const int fd = text != NULL && (*path = path_beside(all->mem, from, text)) != NULL ? open(*path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) : -1;

        if (fd >= 0 || strchr(".,;:!?)]\"'", name[size - 1]) == NULL)
            return fd;
    }
    return -1;
}

static void import_take(imports *all, const char *from, const char *name, size_t size, int hops)
{
    char real[TOOL_PATH_BYTES];
    const char *path = NULL, *why, *text;
    const int fd = import_open(all, from, name, size, &path);
    struct stat st;

    if (fd < 0)                 /* a word like any other */
        return;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !fd_path(fd, real)) {
        close(fd);
        return;
    }
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->taken[i], real) == 0) {
            close(fd);
            return;
        }
    why = hops > IMPORT_HOPS ? hook_words(all->mem, "it is imported over more than %d files", IMPORT_HOPS) : refusal(all, real, &st);
    if (why == NULL && (all->n == IMPORTS_MAX || all->out.size + (size_t)st.st_size > IMPORTS_BYTES))
        why = "there are too many imports, or they are too long";
    text = why == NULL ? text_read(all, fd, &st) : NULL;
    close(fd);
    if (text == NULL) {
        app_note(all->s->caller, "%s: @%.*s does not count: %s", from, (int)size, name, why != NULL ? why : "it is no text");
        return;
    }
    if ((all->taken[all->n++] = arena_text(all->mem, real)) == NULL) {
        all->rc = PAWL_NOMEM;
        return;
    }
    buf_fmt(&all->out, "\n\n%s, imported by %s:\n\n", path, from);
    buf_text(&all->out, text);
    each_import(all, path, text, hops + 1, import_take);
}

/* ---- the instructions -------------------------------------------------------------------------------------------- */

/* What CLAUDE.md imports, behind its own text. */
static pawl_code imports_add(session *s, const char *path, const char *text, buf *b, pawl_err *err)
{
    imports all = { .s = s, .mem = &s->mem, .folder = s->folder };
    char *real = realpath(s->folder, NULL), *own = realpath(path, NULL);
    const char *project = settings_project_claude(&s->mem, s->folder, err);

    if (err->code == PAWL_OK && real != NULL)
        all.folder = arena_text(&s->mem, real);
    if (err->code == PAWL_OK)
        all.trusted = project != NULL ? settings_trusts(&s->mem, project, TRUST_CLAUDE, err)
                                      : settings_trusts(&s->mem, settings_project(&s->mem, s->folder), TRUST_OWN, err);
    if (own != NULL)
        all.taken[all.n++] = arena_text(&s->mem, own);
    free(real);
    free(own);
    if (err->code == PAWL_OK && s->policy != NULL)
        all.policy = gate_policy(NULL, s->policy, err);
    if (err->code != PAWL_OK)
        return err->code;
    buf_init(&all.out, NULL);
    each_import(&all, path, text, 1, import_take);
    buf_put(b, all.out.data != NULL ? all.out.data : "", all.out.size);
    all.rc = all.out.failed || s->mem.failed || all.rc != PAWL_OK ? fail(err, PAWL_NOMEM, "%s: no memory for its imports", path) : PAWL_OK;
    buf_free(&all.out);
    pawl_policy_free(all.policy);
    return all.rc;
}

const pawl_value *session_instructions(session *s, pawl_err *err)
{
    static const char *const names[] = { "AGENTS.md", "CLAUDE.md" };
    char path[4200];
    pawl_bytes text;
    buf b;
    const pawl_value *v = NULL;

    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", s->folder, names[i]);
        if (access(path, R_OK) != 0)
            continue;
        if (read_disk(&s->mem, path, &text, err) != PAWL_OK)
            return NULL;
        if (!utf8_valid(text.data, text.size)) {
            fail(err, PAWL_INVALID, "%s is no UTF-8", path);
            return NULL;
        }
        buf_init(&b, NULL);
        buf_fmt(&b, "%s of this project:\n\n", names[i]);
        buf_put(&b, text.data, text.size);
        if (i == 0 || imports_add(s, path, arena_strdup(&s->mem, text.data, text.size), &b, err) == PAWL_OK)
            v = b.failed ? NULL : value_string(&s->mem, b.data, b.size);
        buf_free(&b);
        return v;
    }
    return NULL;
}
