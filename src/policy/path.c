/* path.c - absolute paths without . and .., and patterns of paths as in .gitignore.
 *
 * Owns nothing; pure, any thread. Called by rule.c, match.c, command_paths.c, decide.c and parse_policy.c, and by src/agent.
 * Invariant: a path that cannot be determined for certain is not `sure`, so no allow rule fits it. */
#include "base/glob.h"
#include "policy/gate.h"
#include "policy/policy.h"

/* ---- paths -------------------------------------------------------------------------------------------- */

/* Appends the segments of `text` to `out`. */
static bool path_walk(path *out, const char *text, size_t size)
{
    const char *p = text, *end = text + size;

    while (p < end) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        size_t n = (size_t)((slash != NULL ? slash : end) - p);

        if (n == 2 && p[0] == '.' && p[1] == '.') {
            while (out->size > 0 && out->text[--out->size] != '/')
                ;
        } else if (n > 0 && !(n == 1 && *p == '.')) {
            if (n + 1 >= PATH_BYTES - out->size)
                return false;
            out->text[out->size++] = '/';
            memcpy(out->text + out->size, p, n);
            out->size += (uint32_t)n;
        }
        p += n + (slash != NULL ? 1 : 0);
    }
    return true;
}

bool path_set(path *out, const char *text, size_t size, const char *cwd, const char *home)
{
    bool good = true;

    out->size = 0;
    out->sure = false;
    out->text[0] = '\0';
    if (size >= PATH_BYTES || memchr(text, '\0', size) != NULL)
        return false;
    if (size > 0 && *text == '~') {
        if (home == NULL || (size > 1 && text[1] != '/'))
            return false;
        good = path_walk(out, home, strlen(home));
        text++;
        size--;
    } else if (size == 0 || *text != '/') {
        if (cwd == NULL)
            return false;
        good = path_walk(out, cwd, strlen(cwd));
    }
    if (!good || !path_walk(out, text, size)) {
        out->text[0] = '\0';    /* never half of a path */
        return false;
    }
    if (out->size == 0)
        out->text[out->size++] = '/';
    out->text[out->size] = '\0';
    return out->sure = true;
}

bool path_within(const char *folder, const char *p)
{
    size_t n = strlen(folder);

    if (n == 1)
        return true;    /* the root */
    return strncmp(folder, p, n) == 0 && (p[n] == '\0' || p[n] == '/');
}

bool path_critical(const char *p)
{
    return strchr(p + 1, '/') == NULL;
}

static bool same_caseless(const char *p, size_t n, const char *name)
{
    if (strlen(name) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((p[i] >= 'A' && p[i] <= 'Z' ? p[i] + 32 : p[i]) != name[i])
            return false;
    return true;
}

bool path_protected(const char *p, const char *home)
{
    static const char *const folders[] = { ".git", ".pawl", ".claude", ".ssh", ".vscode", ".idea", ".husky" };
    static const char *const files[] = {
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin",
        ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".gitconfig",
        ".gitmodules", ".envrc", ".mcp.json", ".claude.json", ".npmrc", ".netrc",
    };
    const char *at = p + 1;

    for (;;) {
        const char *slash = strchr(at, '/');
        size_t n = slash != NULL ? (size_t)(slash - at) : strlen(at);

        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
            if (same_caseless(at, n, folders[i]))
                return true;
        for (size_t i = 0; i < sizeof files / sizeof *files && slash == NULL; i++)
            if (same_caseless(at, n, files[i]))
                return true;
        if (same_caseless(at, n, ".config") && slash != NULL) {
            const char *in = slash + 1, *out = strchr(in, '/');
            size_t m = out != NULL ? (size_t)(out - in) : strlen(in);
            if (same_caseless(in, m, "pawl") || same_caseless(in, m, "fish") || same_caseless(in, m, "git"))
                return true;
        }
        if (slash == NULL)
            break;
        at = slash + 1;
    }
    return home != NULL && strcmp(p, home) == 0;
}

/* ---- patterns --------------------------------------------------------------------------------------------- */

static bool pattern_fits(const path_pattern *t, const char *p, const char *end)
{
    const char *last = end;

    if (t->anchored)
        return glob_path_fits(t->text, t->text + t->size, p, end, GLOB_BYTES);
    while (last > p && last[-1] != '/')
        last--;
    return glob_fits(t->text, t->text + t->size, last, end, GLOB_BYTES);
}

bool path_fits(const path_pattern *t, const path *p, bool loose)
{
    const char *from = p->text + t->base_size, *end = p->text + p->size;
    bool deep = t->size >= 3 && memcmp(t->text + t->size - 3, "/**", 3) == 0;

    if (p->size < t->base_size || memcmp(p->text, t->base, t->base_size) != 0 || (*from != '/' && *from != '\0'))
        return false;
    if (*from == '/')
        from++;
    if (t->size == 0)
        return loose || from < end;
    if (loose && deep) {    /* the folder itself */
        path_pattern folder = *t;

        folder.size -= 3;
        if (pattern_fits(&folder, from, end))
            return true;
    }
    if (from == end)
        return false;
    if (pattern_fits(t, from, end) && (loose || !t->folder))
        return true;
    if (!loose && !t->plain_end)
        return false;
    while (end > from) {    /* a folder above it fits */
        while (end > from && end[-1] != '/')
            end--;
        if (end > from)
            end--;
        if (end > from && pattern_fits(t, from, end))
            return true;
    }
    return false;
}

static const char *segment_end(const char *p, const char *end)
{
    const char *slash = memchr(p, '/', (size_t)(end - p));

    return slash != NULL ? slash : end;
}

bool path_above(const path_pattern *t, const path *p)
{
    const char *text = t->text, *end = t->text + t->size, *at;
    size_t base = t->base_size;

    if (p->size == 1)
        return true;
    if (p->size <= base)
        return memcmp(p->text, t->base, p->size) == 0 && (p->size == base || t->base[p->size] == '/');
    if (memcmp(p->text, t->base, base) != 0 || p->text[base] != '/')
        return false;
    if (!t->anchored)
        return true;        /* fits at any depth, so perhaps there */
    for (at = p->text + base + 1; at < p->text + p->size; ) {
        const char *pe = segment_end(text, end), *te = segment_end(at, p->text + p->size);

        if (text >= end)
            return false;
        if (pe - text == 2 && memcmp(text, "**", 2) == 0)
            return true;
        if (!glob_fits(text, pe, at, te, GLOB_BYTES))
            return false;
        text = pe < end ? pe + 1 : end;
        at = te + 1;
    }
    return text < end;
}

const char *gate_path(arena *mem, const pawl_value *path_in, const char *cwd)
{
    const char *text = pawl_value_string(path_in);
    size_t size = pawl_value_size(path_in);
    char name[PATH_BYTES];
    path at;

    if (text == NULL || size + 3 > sizeof name)
        return NULL;
    if (*text == '~') {         /* a name like any other, for there is no home here */
        memcpy(name, "./", 2);
        memcpy(name + 2, text, size);
        text = name;
        size += 2;
    }
    return path_set(&at, text, size, cwd, NULL) ? arena_strdup(mem, at.text, at.size) : NULL;
}
