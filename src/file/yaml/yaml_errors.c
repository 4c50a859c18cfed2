/* yaml_errors.c - replaces libyaml's errors by texts that say what to write instead.
 *
 * Called by yaml.c. Pure. */
#include "file/read.h"

#include <yaml.h>

/* ---- where ------------------------------------------------------------------------------------------------- */

typedef struct complaint {
    doc_reading *r;
    const char *problem, *context;
    source_place at, from;             /* where it stopped; where the construct around it began, or line 0 */
    const char *line, *here;    /* in the text: the line of `at`, and `at` */
} complaint;

static const char *line_end(const doc_reading *r, const char *p)
{
    while (p < r->end && *p != '\n' && *p != '\r')
        p++;
    return p;
}

static source_place place_in(const complaint *c, uint32_t line, const char *start, const char *at)
{
    source_place p = { c->r->file, line, 1 };

    (void)place_move(&p, start, (size_t)(at - start));
    return p;
}

static void complaint_add(const complaint *c, source_place at, const char *text)
{
    fault_at(c->r->f, at, PAWL_SEVERITY_FAULT, "syntax", "%s", text);
}

/* ---- mistakes that libyaml sees too late ---------------------------------------------------------------------- */

static bool tab_indents(const complaint *c)
{
    const char *p = c->line;

    while (p < c->r->end && *p == ' ')
        p++;
    if (p == c->r->end || *p != '\t')
        return false;
    complaint_add(c, place_in(c, c->at.line, c->line, p), "a tab indents this line: YAML wants spaces");
    return true;
}

/* `{{` without a quote before it, if libyaml stopped after it. */
static bool braces_bare(const complaint *c)
{
    for (const char *p = c->line; p <= c->here && p + 1 < c->r->end; p++) {
        if (*p == '"' || *p == '\'' || *p == '#' || *p == '\n' || *p == '\r')
            return false;
        if (p[0] == '{' && p[1] == '{') {
            complaint_add(c, place_in(c, c->at.line, c->line, p), "`{{` without quotes around it: put the whole text in quotes, \"...{{...}}...\"");
            return true;
        }
    }
    return false;
}

/* In the line from `start`, a `:` that no blank follows, as in `name:value`. */
static bool colon_bare(const complaint *c, uint32_t line, const char *start)
{
    const char *end = line_end(c->r, start);

    for (const char *p = start; p < end && *p != '"' && *p != '\'' && *p != '#'; p++) {
        if (*p != ':')
            continue;
        if (p + 1 == end || p[1] == ' ' || p[1] == '\t' || p[1] == '/' || p[1] == ':')
            return false;
        complaint_add(c, place_in(c, line, start, p + 1), "a space is missing after the `:` of this key");
        return true;
    }
    return false;
}

/* ---- one problem each -------------------------------------------------------------------------------------------- */

static bool cannot_start(const complaint *c)
{
    if (c->here == c->r->end || tab_indents(c))
        return c->here != c->r->end;
    if (*c->here == '\t')
        complaint_add(c, c->at, "a tab stands where YAML wants spaces");
    else
        fault_at(c->r->f, c->at, PAWL_SEVERITY_FAULT, "syntax", "`%c` cannot begin a value: put the value in quotes", *c->here);
    return true;
}

static bool colon_missing(const complaint *c)
{
    const char *start;

    if (c->from.line == 0)
        return false;
    start = reading_line(c->r, c->from.line);
    if (colon_bare(c, c->from.line, start))
        return true;
    complaint_add(c, c->from, "a key and its `: ` are due here: is the colon missing, or is this line indented otherwise than the ones that it belongs to?");
    return true;
}

/* `a: b: c`, or a key inside a value of several lines. */
static bool colon_late(const complaint *c)
{
    if (tab_indents(c))
        return true;
    for (const char *p = c->line; p + 1 < c->here; p++)
        if (*p == ':' && p[1] == ' ') {
            complaint_add(c, c->at, "a second `: ` in one line: put the value in quotes, or the map that it begins on lines of its own");
            return true;
        }
    if (c->at.line > 1 && colon_bare(c, c->at.line - 1, reading_line(c->r, c->at.line - 1)))
        return true;
    complaint_add(c, c->at, "a `: ` cannot stand here: the line before it is the beginning of the same value. Is its colon missing, or is this line "
                   "indented too far?");
    return true;
}

static bool key_misplaced(const complaint *c)
{
    const char *p = c->here;

    if (tab_indents(c))
        return true;
    while (p > c->line && (p[-1] == ' ' || p[-1] == '\t'))
        p--;
    if (p > c->line && (p[-1] == '"' || p[-1] == '\'')) {
        complaint_add(c, c->at, "text after the closing quote: the quotes go around all of the value");
        return true;
    }
    if (c->from.line == 0 || c->from.column == c->at.column)
        return false;
    fault_at(c->r->f, c->at, PAWL_SEVERITY_FAULT, "syntax", "this belongs to nothing: the %s that begins in line %u has its %s in column %u",
             strstr(c->context, "collection") != NULL ? "list" : "map", (unsigned)c->from.line,
             strstr(c->context, "collection") != NULL ? "`-`" : "keys", (unsigned)c->from.column);
    return true;
}

static bool at_the_end(const complaint *c)
{
    const char *p = c->here;

    while (p < c->r->end && (*p == ' ' || *p == '\n' || *p == '\r'))
        p++;
    if (p < c->r->end)
        return false;
    complaint_add(c, c->at, "the file ends inside a bracket that is not closed");
    return true;
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

typedef struct word {
    const char *problem, *context;      /* libyaml's: all of problem, a part of context; NULL: any */
    bool (*tell)(const complaint *c);   /* true: it has reported the error */
    const char *text;                   /* else this text */
    bool opened;                        /* with the place where the construct began */
} word;

static const word words[] = {
    { "found character that cannot start any token", NULL, cannot_start, "the file ends where a value is due", false },
    { "found a tab character that violates indentation", NULL, tab_indents, "a tab stands where YAML wants spaces", false },
    { "found a tab character where an indentation space is expected", NULL, tab_indents, "a tab stands where YAML wants spaces", false },
    { "could not find expected ':'", NULL, colon_missing, "a key has no `:`", false },
    { "mapping values are not allowed in this context", NULL, colon_late, "a `: ` cannot stand here", false },
    { "did not find expected key", NULL, key_misplaced, "a key is due here", false },
    { "did not find expected '-' indicator", NULL, key_misplaced, "a `- ` is due here", false },
    { "block sequence entries are not allowed in this context", NULL, tab_indents, "a list of `-` begins on a line of its own, below its key", false },
    { "mapping keys are not allowed in this context", NULL, tab_indents, "`? ` cannot stand here: put a text that begins with it in quotes", false },
    { "found unexpected end of stream", "quoted scalar", NULL, "the file ends inside quotes that are not closed", true },
    { "found unexpected document indicator", "quoted scalar", NULL, "`---` or `...` begins a line inside quotes: are they not closed?", true },
    { "did not find expected ',' or ']'", NULL, NULL, "a `,` or the closing `]` of a list is due here", true },
    { "did not find expected ',' or '}'", NULL, NULL, "a `,` or the closing `}` of a map is due here", true },
    { "did not find expected node content", NULL, at_the_end, "a value is missing here", false },
    { "found unexpected ':'", NULL, NULL, "a `:` at the end of a text, between brackets: put a value behind it, or the text in quotes", false },
    { "found unknown escape character", NULL, NULL, "an escape that YAML does not have: write `\\\\` for a backslash, or use single quotes", false },
    { "did not find expected hexdecimal number", NULL, NULL, "an escape is not whole: `\\x` takes 2 hexadecimal digits, `\\u` 4, `\\U` 8", false },
    { "found invalid Unicode character escape code", NULL, NULL,
      "an escape of no character: one above U+FFFF is one `\\U` with 8 digits, or stands as it is", false },
    { "did not find expected comment or line break", "block scalar", NULL, "after `|` or `>` the line ends: the text begins on the next one", false },
    { "found an indentation indicator equal to 0", NULL, NULL, "the number after `|` or `>` is 1 to 9", false },
    { "found unknown directive name", NULL, NULL, "the only directive is `%YAML 1.2`", false },
    { "found incompatible YAML document", NULL, NULL, "an agent file is YAML 1.2 (or 1.1): write `%YAML 1.2`, or nothing", false },
    { "found duplicate %YAML directive", NULL, NULL, "`%YAML` stands here twice", false },
    { NULL, "scanning an alias", NULL, "a text that begins with `*` stands in quotes", false },
    { NULL, "scanning an anchor", NULL, "a text that begins with `&` stands in quotes", false },
    { NULL, "directive", NULL, "the only directive is `%YAML 1.2`; a text that begins with `%` stands in quotes", false },
    { "found undefined tag handle", NULL, NULL, "an agent file has no tags: a text that begins with `!` stands in quotes", false },
    { NULL, "tag", NULL, "an agent file has no tags: a text that begins with `!` stands in quotes", false },
    { "did not find expected <document start>", NULL, NULL, "this belongs to nothing: what stands before it is a whole document already", false },
};

static const word *word_of(const complaint *c)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((words[i].problem == NULL || strcmp(c->problem, words[i].problem) == 0) &&
            (words[i].context == NULL || strstr(c->context, words[i].context) != NULL))
            return &words[i];
    return NULL;
}

void yaml_complain(doc_reading *r, const void *parser)
{
    const yaml_parser_t *p = parser;
    complaint c = { .r = r, .problem = p->problem == NULL ? "" : p->problem, .context = p->context == NULL ? "" : p->context };
    const word *w;

    if (p->error == YAML_MEMORY_ERROR) {
        r->mem->failed = true;
        return;
    }
    c.at = (source_place){ r->file, (uint32_t)p->problem_mark.line + 1, (uint32_t)p->problem_mark.column + 1 };
    if (p->context != NULL)
        c.from = (source_place){ r->file, (uint32_t)p->context_mark.line + 1, (uint32_t)p->context_mark.column + 1 };
    reading_to_index(r, p->problem_mark.index);
    c.line = reading_line(r, c.at.line);
    c.here = r->at;
    w = word_of(&c);
    if (braces_bare(&c) || (w != NULL && w->tell != NULL && w->tell(&c)))
        return;
    if (w == NULL)
        fault_at(r->f, c.at, PAWL_SEVERITY_FAULT, "syntax", "not YAML: %s%s%s", c.context, *c.context != '\0' ? ", " : "", c.problem);
    else if (w->opened && c.from.line != 0)
        fault_at(r->f, c.at, PAWL_SEVERITY_FAULT, "syntax", "%s (opened in line %u, column %u)", w->text, (unsigned)c.from.line, (unsigned)c.from.column);
    else
        complaint_add(&c, c.at, w->text);
}
