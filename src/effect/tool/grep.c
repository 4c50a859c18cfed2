/* grep.c - the tool `grep`: searches lines of files by a regular expression or a plain text.
 *
 * Called by call.c. Owns one compiled expression for the call; regex.c refuses expressions that would take the C library too long. A pattern of several
 * lines is matched by base/regexp.c in the whole text of a file; the lines of a match are then shown as any other. */
#define _GNU_SOURCE             /* memmem */
#include "base/regexp.h"
#include "effect/tool/tool.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <unistd.h>

enum {
    MATCHES = 250,
    CONTEXT_MAX = 20,
    SEARCHED_BYTES = 16384,     /* searched of a line */
    SHOWN_BYTES = 500,          /* returned of a line */
    GREP_MS = 20000,
    WHOLE_FILE_BYTES = 262144,
    PLAIN_SIZE = 24,            /* elements of an expression; a larger one is recompiled */
    ANEW_BYTES = 65536          /* after so many bytes: the C library caches what it learned, which takes memory */
};

typedef enum mode { MODE_CONTENT, MODE_FILES, MODE_COUNT } mode;

typedef struct kept_line { int64_t line; size_t size; char text[SHOWN_BYTES]; } kept_line;

typedef struct grep {
    tool_call *c;
    const roots *r;
    const file_place *from;
    walk *w;
    mode mode;
    int64_t before, after, most, found, skip;   /* skip: of the first ones */
    bool more, icase, bare;     /* more: there are further matches; bare: without line numbers */
    /* the expression */
    const char *fixed;
    size_t fixed_size;
    buf expr;
    regex_t re;
    bool made, nomem;
    size_t size, learned;
    const pattern *glob, *type;
    char literal[REGEX_LITERAL_BYTES];  /* what each line that fits has; its size 0: nothing is known */
    size_t literal_size;
    char *whole;                /* WHOLE_FILE_BYTES: a file is looked at at once, where there is a literal */
    /* the current file */
    const char *path;           /* relative to `from`; NULL: it is `from` */
    int64_t line, count, printed, left; /* printed: last line that was returned; left: context lines still to return */
    kept_line ring[CONTEXT_MAX];
    size_t used;
    bool begun;
    char text[SEARCHED_BYTES + 1];
    /* a pattern of several lines; NULL: it is of one */
    re_program *multi;
    buf all;                    /* the text of the current file, and a NUL */
    size_t at, next;            /* of the current line, and of the one behind it */
    bool matches;               /* `match` is one that no line is behind yet */
    re_span match;
    int64_t too_large;          /* files that were not searched */
} grep;

/* ---- one line -------------------------------------------------------------------------------------------- */

static char low(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool fixed_fits(const grep *g)
{
    for (size_t i = 0; i + g->fixed_size <= g->used; i++) {
        size_t n = 0;

        if (g->icase)
            while (n < g->fixed_size && low(g->text[i + n]) == low(g->fixed[n]))
                n++;
        else if (memcmp(g->text + i, g->fixed, g->fixed_size) == 0)
            n = g->fixed_size;
        if (n == g->fixed_size)
            return true;
    }
    return false;
}

static bool make(grep *g, char *why, size_t size)
{
    int rc = regcomp(&g->re, g->expr.data, REG_EXTENDED | REG_NOSUB | (g->icase ? REG_ICASE : 0));

    g->made = rc == 0;
    if (rc != 0)
        regerror(rc, &g->re, why, size);
    return g->made;
}

static bool late(const grep *g)
{
    return job_canceled(g->c->job) || clock_ms() >= g->c->until_ms || clock_ms() >= g->w->until_ms;
}

static bool late_of(void *ctx)
{
    return late(ctx);
}

static void match_find(grep *g, size_t from)
{
    g->matches = from <= g->all.size - 1 && re_find(g->multi, g->all.data, g->all.size - 1, from, late_of, g, &g->match);
}

static size_t match_past(const grep *g)
{
    return g->match.end + (g->match.end == g->match.begin);
}

/* Whether a match has bytes of the current line, or is empty and in it. */
static bool multi_fits(grep *g)
{
    while (g->matches && g->match.begin < g->at && g->match.end <= g->at)
        match_find(g, match_past(g));
    return g->matches && g->match.begin < g->next;
}

static bool fits(grep *g)
{
    int rc;

    if (g->multi != NULL)
        return multi_fits(g);
    if (g->fixed != NULL)
        return fixed_fits(g);
    g->learned += g->used;
    if (g->size > PLAIN_SIZE && g->learned > ANEW_BYTES) {
        char why[80];

        g->learned = 0;
        regfree(&g->re);
        g->nomem = !make(g, why, sizeof why);
    }
    for (size_t i = 0; i < g->used; i++)
        if (g->text[i] == '\0')
            g->text[i] = ' ';
    g->text[g->used] = '\0';
    rc = g->made ? regexec(&g->re, g->text, 0, NULL, 0) : REG_NOMATCH;
    g->nomem = g->nomem || rc == REG_ESPACE;
    return rc == 0;
}

static void show(grep *g, int64_t line, const char *text, size_t size, char mark)
{
    buf *out = &g->c->out;

    if (g->printed > 0 && line > g->printed + 1 && (g->before > 0 || g->after > 0))
        buf_text(out, "--\n");
    place_put(out, g->r, g->from, g->path);
    if (g->bare)
        buf_char(out, mark);
    else
        buf_fmt(out, "%c%lld%c", mark, (long long)line, mark);
    plain_put(out, text, size > SHOWN_BYTES ? cut_end(text, SHOWN_BYTES) : size);
    buf_char(out, '\n');
    g->printed = line;
}

static void matched(grep *g)
{
    if (g->mode == MODE_CONTENT && g->found == g->most) {
        g->more = true;
        return;
    }
    g->count++;
    if (g->mode != MODE_CONTENT || (g->skip > 0 && g->skip-- > 0))
        return;
    g->found++;
    for (int64_t i = g->line - g->before; i < g->line; i++) {
        const kept_line *k = i > g->printed ? &g->ring[i % CONTEXT_MAX] : NULL;

        if (k != NULL && k->line == i && i > 0)
            show(g, i, k->text, k->size, '-');
    }
    show(g, g->line, g->text, g->used, ':');
    g->left = g->after;
}

static void line_end(grep *g)
{
    kept_line *k = &g->ring[++g->line % CONTEXT_MAX];

    if (g->used > 0 && g->text[g->used - 1] == '\r')
        g->used--;
    if (fits(g))
        matched(g);
    else if (g->left > 0 && g->left-- > 0)
        show(g, g->line, g->text, g->used, '-');
    if (g->before > 0) {
        k->line = g->line;
        k->size = g->used > SHOWN_BYTES ? cut_end(g->text, SHOWN_BYTES) : g->used;
        memcpy(k->text, g->text, k->size);
    }
    g->used = 0;
    g->begun = false;
}

/* ---- one file ------------------------------------------------------------------------------------------------ */

/* Whether the rest of the file does not matter. */
static bool over(const grep *g)
{
    return g->more || g->nomem || (g->mode == MODE_FILES && g->count > 0);
}

static void feed(grep *g, const char *data, size_t size)
{
    while (size > 0 && !over(g)) {
        const char *end = memchr(data, '\n', size);
        size_t n = end != NULL ? (size_t)(end - data) : size, room = SEARCHED_BYTES - g->used;

        memcpy(g->text + g->used, data, n < room ? n : room);
        g->used += n < room ? n : room;
        g->begun = true;
        g->next += n + (end != NULL);
        if (end == NULL)
            return;
        line_end(g);
        g->at = g->next;
        data += n + 1;
        size -= n + 1;
    }
}

static void file_report(grep *g)
{
    buf *out = &g->c->out;

    if (g->mode == MODE_CONTENT || g->count == 0 || (g->skip > 0 && g->skip-- > 0))
        return;
    if (g->found == g->most) {
        g->more = true;
        return;
    }
    g->found++;
    place_put(out, g->r, g->from, g->path);
    if (g->mode == MODE_COUNT)
        buf_fmt(out, ":%lld", (long long)g->count);
    buf_char(out, '\n');
}

/* The whole text of a file. False: it is no text, or cannot be read, or is too large. */
static bool load(grep *g, int fd)
{
    char chunk[16384];
    ssize_t n = 1;

    buf_reset(&g->all);
    while (n != 0 && !g->all.failed && !late(g)) {
        n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (g->all.size == 0 && plain_binary(chunk, (size_t)n)))
            return false;
        buf_put(&g->all, chunk, (size_t)n);
        if (g->all.size > FILE_BYTES_MAX) {
            g->too_large++;
            return false;
        }
    }
    buf_char(&g->all, '\0');
    g->nomem = g->all.failed;
    return !g->nomem && n == 0;
}

/* Searches it for a pattern of several lines. A count is that of matches. */
static void search_whole(grep *g)
{
    const size_t size = g->all.size - 1;

    if (g->literal_size > 0 && memmem(g->all.data, size, g->literal, g->literal_size) == NULL)
        return;
    match_find(g, 0);
    if (g->mode == MODE_CONTENT && g->matches) {
        feed(g, g->all.data, size);
        return;
    }
    for (; g->matches && !over(g); match_find(g, match_past(g)))
        g->count++;
}

static void file_begin(grep *g, const char *path)
{
    g->path = path;
    g->line = g->count = g->printed = g->left = 0;
    g->used = g->at = g->next = 0;
    g->begun = false;
    for (size_t i = 0; i < CONTEXT_MAX; i++)
        g->ring[i].line = 0;
}

/* False: stop. An unreadable file is skipped. */
static bool search(grep *g, int fd, const char *path)
{
    char chunk[16384];
    bool first = true;
    ssize_t n = 1;

    file_begin(g, path);
    if (g->multi != NULL && load(g, fd))
        search_whole(g);
    while (g->multi == NULL && n != 0 && !over(g)) {
        if (late(g))
            break;              /* the walk has the reason */
        n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (first && plain_binary(chunk, (size_t)n)))
            return true;
        feed(g, chunk, (size_t)n);
        first = false;
    }
    if (g->begun && !over(g))
        line_end(g);
    file_report(g);
    return !g->more && !g->nomem;
}

/* Whether a file may have a line that fits: it is larger than WHOLE_FILE_BYTES, or has the literal. */
static bool may_fit(grep *g, int fd, const struct stat *st)
{
    ssize_t n;

    if (g->literal_size == 0 || st->st_size > WHOLE_FILE_BYTES)
        return true;
    if (g->whole == NULL && (g->whole = arena_get(&g->c->mem, WHOLE_FILE_BYTES + 1)) == NULL)
        return true;
    n = pread(fd, g->whole, WHOLE_FILE_BYTES + 1, 0);
    return n < 0 || n < st->st_size || n > WHOLE_FILE_BYTES || memmem(g->whole, (size_t)n, g->literal, g->literal_size) != NULL;
}

static bool wants(void *ctx, const char *path)
{
    const grep *g = ctx;

    return (g->glob == NULL || pattern_fits(g->glob, path)) && (g->type == NULL || pattern_fits(g->type, path));
}

static bool take(void *ctx, const walked *w)
{
    grep *g = ctx;
    struct stat st;
    bool on = true;
    int fd;

    fd = openat(w->dir, w->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return true;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !reach_forbids(g->c->reach, w->dir, w->name, &st) &&
        !opened_hides(g->c, w->whole, w->dir, fd, &st))
        on = !may_fit(g, fd, &st) || search(g, fd, w->path);
    close(fd);
    return on;
}

/* ---- the tool ------------------------------------------------------------------------------------------------- */

static pawl_code matches_report(grep *g)
{
    buf *out = &g->c->out;

    if (out->size == 0)
        buf_text(out, "(no line fits)\n");
    if (g->more)
        buf_fmt(out, "[truncated: %lld %s are shown, and there are more]\n", (long long)g->found, g->mode == MODE_CONTENT ? "lines" : "files");
    opened_hidden_put(g->c);
    walk_ignored_put(g->w);
    if (g->too_large > 0)
        buf_fmt(out, "[%lld larger than 16 MiB: not searched, since multiline takes a file as a whole]\n", (long long)g->too_large);
    if (g->w->cut != NULL)
        buf_fmt(out, "[not all was looked at: %s; give a narrower path or a glob]\n", g->w->cut);
    return tool_text(g->c, CUT_END, false);
}

/* The kinds of files by the names that ripgrep has for them. */
static const struct { const char *name, *files; } types[] = {
    { "c", "*.{c,h,H}" }, { "cmake", "{*.cmake,CMakeLists.txt}" }, { "cpp", "*.{C,cc,cpp,cxx,c++,h,H,hh,hpp,hxx,inl}" }, { "cs", "*.cs" },
    { "css", "*.{css,scss}" }, { "csv", "*.csv" }, { "dart", "*.dart" }, { "docker", "*Dockerfile*" }, { "elixir", "*.{ex,exs,eex,heex}" },
    { "erlang", "*.{erl,hrl}" }, { "go", "*.go" }, { "haskell", "*.{hs,lhs}" }, { "html", "*.{htm,html,ejs}" }, { "java", "*.{java,jsp,properties}" },
    { "js", "*.{js,jsx,vue,cjs,mjs}" }, { "json", "*.{json,sarif}" }, { "kotlin", "*.{kt,kts}" }, { "lua", "*.lua" },
    { "make", "{[Mm]akefile,GNUmakefile,*.mk,*.mak}" }, { "markdown", "*.{md,markdown,mdown,mdx,mkd}" }, { "md", "*.{md,markdown,mdown,mdx,mkd}" },
    { "perl", "*.{pl,pm,t}" }, { "php", "*.{php,phtml}" }, { "protobuf", "*.proto" }, { "py", "*.{py,pyi}" }, { "r", "*.{r,R,Rmd}" },
    { "ruby", "{*.rb,*.gemspec,Gemfile,Rakefile}" }, { "rust", "*.rs" }, { "scala", "*.{scala,sbt}" }, { "sh", "*.{sh,bash,zsh,ksh}" },
    { "sql", "*.sql" }, { "swift", "*.swift" }, { "tex", "*.{tex,ltx,cls,sty,bib}" }, { "toml", "*.toml" }, { "ts", "*.{ts,tsx,cts,mts}" },
    { "txt", "*.txt" }, { "xml", "*.{xml,xsd,xsl,xslt}" }, { "yaml", "*.{yaml,yml}" }, { "zig", "*.zig" },
};

/* PAWL_OK with *replied: there is no such kind, and the reply says so. */
static pawl_code type_take(grep *g, const char *type, bool *replied)
{
    tool_call *c = g->c;
    pattern *p = arena_get(&c->mem, sizeof *p);
    char names[600];
    size_t n = 0;

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        n += (size_t)snprintf(names + n, sizeof names - n, " %s", types[i].name);
        if (strcmp(types[i].name, type) == 0) {
            g->type = p;
            return p == NULL || pattern_make(&c->mem, types[i].files, p) != NULL ? tool_nomem(c) : PAWL_OK;
        }
    }
    *replied = true;
    return tool_error(c, "Invalid arguments: type: \"%.40s\" is none of%s", type, names);
}

/* (?i), (?s) and (?m) before a pattern: the last two hold anyway. */
static const char *flags_read(grep *g, const char *text)
{
    const size_t n = strncmp(text, "(?", 2) == 0 ? strspn(text + 2, "ims") : 0;

    if (n == 0 || text[2 + n] != ')')
        return text;
    g->icase = g->icase || memchr(text + 2, 'i', n) != NULL;
    return text + n + 3;
}

/* A pattern of several lines. PAWL_OK with *replied: it is wrong, and the reply says so. */
static pawl_code multi_make(grep *g, const char *text, bool fixed, bool *replied)
{
    tool_call *c = g->c;
    const char *wrong = NULL, *bracket;

    if ((g->multi = arena_get(&c->mem, sizeof *g->multi)) == NULL)
        return tool_nomem(c);
    if (!fixed)
        text = flags_read(g, text);
    else
        for (; *text != '\0'; text++)
            buf_fmt(&g->expr, strchr("^$.[]|()?*+{}\\", *text) != NULL ? "\\%c" : "%c", *text);
    buf_char(&g->expr, '\0');
    if (g->expr.failed)
        return tool_nomem(c);
    if (fixed)
        text = g->expr.data;
    bracket = fixed ? NULL : strstr(text, "[:");
    if (*text == '\0')
        wrong = "it is empty";
    else if (strlen(text) > REGEX_BYTES_MAX)
        wrong = "it is too long";
    else if (bracket != NULL && strstr(bracket, ":]") != NULL)
        wrong = "[:name:] is not read with multiline; write \\d, \\w or \\s";
    else if (re_compile_as(g->multi, text, RE_AS_CHARACTERS | RE_AS_LINES | (g->icase ? RE_AS_ICASE : 0), &wrong))
        return PAWL_OK;
    *replied = true;
    return tool_error(c, "Invalid arguments: pattern: %s", wrong);
}

/* A pattern of one line. PAWL_OK with *replied: it is wrong, and the reply says so. */
static pawl_code line_make(grep *g, const char *text, bool *replied)
{
    tool_call *c = g->c;
    const char *wrong = regex_make(text, &g->expr, &g->icase, &g->size);
    char why[120];

    buf_char(&g->expr, '\0');
    if (g->expr.failed)
        return tool_nomem(c);
    if (wrong == NULL && make(g, why, sizeof why))
        return PAWL_OK;
    *replied = true;
    return tool_error(c, "Invalid arguments: pattern: %s", wrong != NULL ? wrong : why);
}

/* PAWL_OK with *replied: the pattern is wrong, and the reply says so. */
static pawl_code pattern_take(grep *g, const char *text, bool *replied)
{
    const bool fixed = input_flag(g->c, "fixed");
    pawl_code rc = PAWL_OK;

    if (input_flag(g->c, "multiline"))
        rc = multi_make(g, text, fixed, replied);
    else if (!fixed)
        rc = line_make(g, text, replied);
    if (fixed) {
        g->fixed = text;
        g->fixed_size = strlen(text);
    }
    if (!g->icase && !fixed)
        g->literal_size = regex_literal(text, g->literal);
    else if (!g->icase && g->fixed_size <= REGEX_LITERAL_BYTES)
        memcpy(g->literal, g->fixed, g->literal_size = g->fixed_size);
    return rc;
}

/* PAWL_OK with *replied: an argument is wrong, and the reply says so. */
static pawl_code prepare(grep *g, bool *replied)
{
    tool_call *c = g->c;
    const char *text = input_text(c, "pattern"), *glob = input_text(c, "glob"), *output = input_text(c, "output_mode"), *wrong = NULL;
    const char *type = input_text(c, "type");
    pattern *p;

    *replied = true;
    g->mode = output == NULL || strcmp(output, "content") == 0 ? MODE_CONTENT : strcmp(output, "files") == 0 ? MODE_FILES : MODE_COUNT;
    g->before = input_count(c, "before", input_count(c, "context", 0));
    g->after = input_count(c, "after", input_count(c, "context", 0));
    g->most = input_count(c, "max_matches", MATCHES);
    g->icase = input_flag(c, "ignore_case");
    g->skip = input_count(c, "offset", 0);
    g->bare = pawl_value_type(pawl_value_get(c->input, "line_numbers")) == PAWL_TYPE_BOOL && !input_flag(c, "line_numbers");
    if (type != NULL) {
        pawl_code rc;

        *replied = false;
        if ((rc = type_take(g, type, replied)) != PAWL_OK || *replied)
            return rc;
        *replied = true;
    }
    if (glob != NULL) {
        if ((p = arena_get(&c->mem, sizeof *p)) == NULL || ((wrong = pattern_make(&c->mem, glob, p)) != NULL && c->mem.failed))
            return tool_nomem(c);
        if (wrong != NULL)
            return tool_error(c, "Invalid arguments: glob: %s", wrong);
        g->glob = p;
    }
    *replied = false;
    return pattern_take(g, text, replied);
}

static pawl_code search_all(grep *g, const char *path)
{
    pawl_code rc = PAWL_OK;
    bool replied = false;
    struct stat st;
    int fd;

    if (S_ISDIR(g->from->st.st_mode)) {
        if ((rc = walk_below(g->w, g->from, path != NULL ? path : ".", &replied)) == PAWL_OK && replied)
            return rc;
    } else {
        if ((fd = place_read(g->c, g->from, path, &st, &rc)) < 0)
            return rc;
        search(g, fd, NULL);
        close(fd);
        if (clock_ms() >= g->w->until_ms)
            g->w->cut = "it took too long";
    }
    g->c->looks = 0;            /* check the time now */
    if (rc == PAWL_OK)
        rc = tool_stop(g->c);
    return rc != PAWL_OK ? rc : g->nomem ? tool_nomem(g->c) : matches_report(g);
}

pawl_code tool_grep(tool_call *c)
{
    const char *path = input_text(c, "path");
    grep *g = arena_zero(&c->mem, sizeof *g);
    roots *r;
    walk w = { .c = c, .fn = take, .wants = wants, .opens = true, .ctx = g, .until_ms = clock_ms() + GREP_MS, .all = input_flag(c, "no_ignore") };
    pawl_code rc = PAWL_OK;
    bool replied = false;
    file_place p;

    if (g == NULL)
        return tool_nomem(c);
    g->c = c;
    g->w = &w;
    g->from = &p;
    if ((g->r = r = roots_open(c, &rc)) == NULL)
        return rc;
    buf_init(&g->expr, &c->r->alloc);
    buf_init(&g->all, &c->r->alloc);
    if ((rc = prepare(g, &replied)) == PAWL_OK && !replied) {
        if (place_seek(c, r, path != NULL ? path : ".", MISSING_IS_ERROR, &p, &rc))
            rc = search_all(g, path);
        place_free(&p);
    }
    if (g->made)
        regfree(&g->re);
    buf_free(&g->all);
    buf_free(&g->expr);
    roots_close(r);
    return rc;
}
