/* instructions.c - the instructions of a project: AGENTS.md, else CLAUDE.md with the files that it imports by @PATH (P8, P14).
 *
 * Called when a run of an agent begins, on the thread of its caller; what it reads, once for a session, becomes part of the run. Each file, the
 * instructions themselves too, is decided by the true path of what was opened: outside of the working folder it counts once the person trusts the folder,
 * and a deny rule about reading holds, also for another name of the file. One that does not count is noted. The text may be a stranger's: what it costs
 * grows with its length alone. */
#define _GNU_SOURCE             /* realpath, O_PATH */
#include "app/claude_settings.h"
#include "effect/effect.h"
#include "effect/hard_links.h"
#include "effect/reach.h"
#include "effect/script_digest.h"
#include "policy/file_rules.h"
#include "policy/gate.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    IMPORT_HOPS = 4,
    IMPORTS_MAX = 100,          /* files that are taken */
    LOOKS_MAX = 1000,           /* files that are opened, whether or not they are taken */
    MARKS_MAX = 8,              /* of punctuation behind a path */
    TICKS_MAX = 80,             /* more backticks than that begin no code */
    IMPORT_BYTES = 1 << 20,
    IMPORTS_BYTES = 4 << 20
};

typedef struct imports {
    session *s;
    arena *mem;
    pawl_policy *policy;        /* NULL: no rules */
    const char *folder;         /* the working folder, without links */
    bool trusted;
    const reach_list *own;      /* what is Pawl's own; NULL: not looked for yet, as the two below */
    const denied_files *denied;
    const denied_ways *ways;
    buf out;
    const char *taken[IMPORTS_MAX];     /* true paths: each file is there once */
    const pawl_value *digests;          /* {PATH: DIGEST} of these */
    size_t n, looks;
    char path[PATH_MAX];        /* of the import under way */
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

/* Where the last run of so many backticks begins, up to `end`, the end of a paragraph: so a run without another is known without a search. */
typedef struct tick_runs { const char *end, *last[TICKS_MAX + 1]; } tick_runs;

static void ticks_find(tick_runs *r, const char *at)
{
    const char *end = strstr(at, "\n\n");

    memset(r, 0, sizeof *r);
    r->end = end != NULL ? end : at + strlen(at);
    while ((at = memchr(at, '`', (size_t)(r->end - at))) != NULL) {
        const size_t n = run_of(at, '`');

        if (n <= TICKS_MAX)
            r->last[n] = at;
        at += n;
    }
}

/* The end of a span of code that begins here: as many backticks, in the same paragraph; else of the backticks themselves. */
static const char *span_end(tick_runs *r, const char *at)
{
    const size_t n = run_of(at, '`');
    const char *next = at + n;

    if (r->end == NULL || at >= r->end)
        ticks_find(r, at);
    if (n > TICKS_MAX || r->last[n] == NULL || r->last[n] <= at)
        return at + n;
    while ((next = strchr(next, '`')) != NULL) {
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
    tick_runs ticks = {0};

    for (const char *at = text; *at != '\0';) {
        const char *end = line ? fence_end(at) : NULL;
        size_t n;

        if (end == NULL && *at == '`')
            end = span_end(&ticks, at);
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

/* The name by which a deny rule fits this file; NULL: none does. *unsure: that is not known. */
static const char *denied_as(imports *all, const file_use *use, const char *real, const struct stat *st, bool *unsure)
{
    const char *name = real;

    *unsure = false;
    if (all->policy == NULL || file_rule_denies(all->policy, use, real) != NULL)
        return all->policy != NULL ? real : NULL;
    if (all->ways == NULL)
        all->ways = denied_ways_find(all->mem, all->policy, use);
    if (all->ways != NULL && (name = denied_ways_name(all->ways, all->mem, real)) != NULL)
        return name;
    if (st->st_nlink < 2)
        return NULL;
    if (all->denied == NULL)
        all->denied = denied_files_find(all->mem, all->policy, use, NULL, NULL);
    name = all->denied != NULL ? denied_files_twin(all->denied, st) : NULL;
    *unsure = name == NULL && (all->denied == NULL || denied_files_cut(all->denied));
    return name;
}

static bool is_own(imports *all, const char *real, const struct stat *st)
{
    const char *slash = strrchr(real, '/'), *folder = slash > real ? arena_strdup(all->mem, real, (size_t)(slash - real)) : "/";
    int dir;
    bool own;

    if (all->own == NULL)
        all->own = reach_read(all->mem);
    if (all->own == NULL || folder == NULL || reach_encloses(all->own, folder) || (dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return true;
    own = reach_forbids(all->own, dir, slash + 1, st);
    close(dir);
    return own;
}

/* Why the file is not used; NULL: it is used. */
static const char *refusal(imports *all, const char *real, const struct stat *st)
{
    const file_use use = { .tool = "Read", .cls = PAWL_PERMISSION_READ, .time_ms = 0 };
    bool unsure;
    const char *name = denied_as(all, &use, real, st, &unsure), *rule = name != NULL ? file_rule_denies(all->policy, &use, name) : NULL;

    if (name != NULL)
        return hook_words(all->mem, "the rule %s denies it", rule != NULL ? rule : name);
    if (unsure)
        return "it has several names, and it is not known whether a rule denies one of them";
    if (is_own(all, real, st))
        return "it is Pawl's own";
    if (!lies_in(real, all->folder) && !all->trusted)
        return hook_words(all->mem, "it is outside of the folder, and is imported once you trust that folder: pawl policy trust %s", all->folder);
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

/* Notes what was read, under the name in the folder that it was read by. */
static void digest_note(imports *all, const char *path, const char *text)
{
    const char *folder = all->s->folder;
    char digest[SCRIPT_DIGEST_BYTES];

    text_digest(text, strlen(text), digest);
    all->digests = value_with(all->mem, all->digests, lies_in(path, folder) ? path + (strcmp(folder, "/") == 0 ? 1 : strlen(folder) + 1) : path,
                              value_string(all->mem, digest, strlen(digest)));
}

/* Puts the path that `name` is beside `from` into all->path. False: there is none, or it is too long. */
static bool path_put(imports *all, const char *from, const char *name, size_t size)
{
    const char *text, *path;
    arena mem;
    bool put;

    arena_init(&mem, NULL, 4096);
    text = settings_path(&mem, arena_strdup(&mem, name, size));
    path = text != NULL ? path_beside(&mem, from, text) : NULL;
    put = path != NULL && snprintf(all->path, sizeof all->path, "%s", path) < (int)sizeof all->path;
    arena_free(&mem);
    return put;
}

/* The file under this name, opened, with its path in all->path; -1: there is none. `name` may have more behind it: "see @a.md." */
static int import_open(imports *all, const char *from, const char *name, size_t size)
{
    if (size >= PATH_MAX)
        return -1;
    for (size_t marks = 0; size > 0 && marks <= MARKS_MAX; size--, marks++) {
        const int fd = path_put(all, from, name, size) ? open(all->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) : -1;

        if (fd >= 0 || strchr(".,;:!?)]\"'", name[size - 1]) == NULL)
            return fd;
    }
    return -1;
}

static void import_take(imports *all, const char *from, const char *name, size_t size, int hops)
{
    char real[TOOL_PATH_BYTES];
    const char *path, *why, *text;
    const int fd = all->looks <= LOOKS_MAX ? import_open(all, from, name, size) : -1;
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
    if (++all->looks > LOOKS_MAX) {
        app_note(all->s->caller, "%s: it imports more than %d files: those from @%.*s on are not imported", from, LOOKS_MAX, (int)size, name);
        close(fd);
        return;
    }
    why = hops > IMPORT_HOPS ? hook_words(all->mem, "it is imported over more than %d files", IMPORT_HOPS) : refusal(all, real, &st);
    if (why == NULL && (all->n == IMPORTS_MAX || all->out.size + (size_t)st.st_size > IMPORTS_BYTES))
        why = "there are too many imports, or they are too long";
    text = why == NULL ? text_read(all, fd, &st) : NULL;
    close(fd);
    if (text == NULL) {
        app_note(all->s->caller, "%s: @%.*s is not imported: %s", from, (int)size, name, why != NULL ? why : "it is no text");
        return;
    }
    path = arena_text(all->mem, all->path);
    if ((all->taken[all->n++] = arena_text(all->mem, real)) == NULL || path == NULL) {
        all->rc = PAWL_NOMEM;
        return;
    }
    digest_note(all, path, text);
    buf_fmt(&all->out, "\n\n%s, imported by %s:\n\n", path, from);
    buf_text(&all->out, text);
    each_import(all, path, text, hops + 1, import_take);
}

/* ---- the instructions -------------------------------------------------------------------------------------------- */

static pawl_code imports_open(session *s, const claude_files *found, imports *all, pawl_err *err)
{
    char *real = realpath(s->folder, NULL);
    const char *project = found != NULL ? found->project : settings_project_claude(&s->mem, s->folder, err);

    *all = (imports){ .s = s, .mem = &s->mem, .digests = value_pack(&s->mem, NULL, "{}"), .folder = real != NULL ? arena_text(&s->mem, real) : s->folder };
    free(real);
    buf_init(&all->out, NULL);
    if (err->code == PAWL_OK)
        all->trusted = project != NULL ? trust_named(&s->mem, project, TRUST_CLAUDE, err)
                                       : trust_named(&s->mem, settings_project(&s->mem, s->folder), TRUST_OWN, err);
    if (err->code == PAWL_OK && s->policy != NULL)
        all->policy = gate_policy(NULL, s->policy, err);
    return err->code;
}

/* Its text, which may be empty; NULL with err->code PAWL_OK: it does not exist, or is not used, which is noted. */
static const char *own_text(imports *all, const char *path, pawl_err *err)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    const char *why = NULL, *text;
    char real[TOOL_PATH_BYTES];
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !fd_path(fd, real))
        why = "it is no file";
    else if (st.st_size > IMPORT_BYTES)
        fail(err, PAWL_LIMIT, "%s: it has more than %d bytes", path, IMPORT_BYTES);
    else if ((why = refusal(all, real, &st)) == NULL && (all->taken[all->n++] = arena_text(all->mem, real)) == NULL)
        fail(err, PAWL_NOMEM, "%s: no memory", path);
    text = why == NULL && err->code == PAWL_OK ? text_read(all, fd, &st) : NULL;
    close(fd);
    if (why != NULL)
        app_note(all->s->caller, "%s is not used: %s", path, why);
    else if (text == NULL && err->code == PAWL_OK)
        fail(err, PAWL_INVALID, "%s is no UTF-8", path);
    if (text != NULL)
        digest_note(all, path, text);
    return text;
}

static const pawl_value *instructions_read(session *s, const claude_files *found, pawl_err *err)
{
    static const char *const names[] = { "AGENTS.md", "CLAUDE.md" };
    imports *all = arena_zero(&s->mem, sizeof *all);
    const char *path = NULL, *text = NULL;
    const pawl_value *v = NULL;
    size_t i;
    buf b;

    if (all == NULL) {
        fail(err, PAWL_NOMEM, "no memory for the instructions");
        return NULL;
    }
    if (imports_open(s, found, all, err) == PAWL_OK)
        for (i = 0; i < 2 && text == NULL && err->code == PAWL_OK; i++)
            text = (path = settings_in(&s->mem, s->folder, names[i])) != NULL ? own_text(all, path, err) : NULL;
    if (text != NULL) {
        buf_init(&b, NULL);
        buf_fmt(&b, "%s of this project:\n\n%s", names[i - 1], text);
        if (i == 2)             /* CLAUDE.md imports */
            each_import(all, path, text, 1, import_take);
        buf_put(&b, all->out.data != NULL ? all->out.data : "", all->out.size);
        v = b.failed || all->out.failed || all->rc != PAWL_OK ? NULL : value_string(&s->mem, b.data, b.size);
        buf_free(&b);
        if (v == NULL)
            fail(err, PAWL_NOMEM, "%s: no memory for its imports", path);
    }
    buf_free(&all->out);
    pawl_policy_free(all->policy);
    s->instruction_digests = err->code == PAWL_OK ? all->digests : NULL;
    return v;
}

/* They are read once for a run: what is told of them is what it begins with. */
static const pawl_value *read_once(session *s, const claude_files *found, pawl_err *err)
{
    if (!s->instructed) {
        s->instructions = instructions_read(s, found, err);
        s->instructed = err->code == PAWL_OK;
    }
    return s->instructions;
}

const pawl_value *session_instructions(session *s, pawl_err *err) { return read_once(s, NULL, err); }

pawl_code session_instructions_look(session *s, const struct claude_files *found, pawl_err *err)
{
    char *real;

    (void)read_once(s, found, err);
    if (err->code != PAWL_OK)
        return err->code;
    real = realpath(s->folder, NULL);
    s->instructions_changed = instructions_changed(s->caller, &s->mem, real != NULL ? real : s->folder, s->instruction_digests);
    free(real);
    return PAWL_OK;
}
