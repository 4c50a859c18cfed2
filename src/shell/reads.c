/* reads.c - whether a command only reads: it writes nothing and runs nothing (P7).
 *
 * Pure, any thread. Called by parts.c, by src/policy, and by src/effect where it runs commands.
 * Invariant: true only for words that are certain: programs, options and their values of the table in readers.c, in the grammar of each program. What is
 * true here is run in a sandbox where it can only read, so that a mistake of the table writes nothing. */
#include "shell/readers.h"

/* ---- git ------------------------------------------------------------------------------------------------ */

/* Verbs that only read if the next word is this one. */
static bool git_lists(const program_reader *r, const shell_word *w, uint32_t n)
{
    static const struct { const char *verb, *next; } lists[] = { { "stash", "list" }, { "worktree", "list" }, { "reflog", "show" }, { "remote", "get-url" } };
    operand_list o;

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (n > 1 && strcmp(r->name, lists[i].verb) == 0 && word_is(&w[1], lists[i].next))
            return reader_words(r, &w[1], n - 1, &o);
    if (strcmp(r->name, "reflog") == 0)
        return n == 1;
    return strcmp(r->name, "remote") == 0 && (n == 1 || (n == 2 && (word_is(&w[1], "-v") || word_is(&w[1], "--verbose"))));
}

/* An option of `texts` stands before all operands: git config takes what is behind the first one for a value. */
static bool option_first(const shell_word *w, uint32_t n, const operand_list *o, const char *texts)
{
    const uint32_t end = o->count > 0 ? o->first[0] : n;

    for (uint32_t i = 1; i < end && !word_is(&w[i], "--"); i++)
        if (word_sure(&w[i]) && text_listed(w[i].text, w[i].size, texts))
            return true;
    return false;
}

bool git_only_reads(const shell_word *w, uint32_t n)
{
    const program_reader *r;
    operand_list o;
    uint32_t i = 1;

    while (i < n && (word_is(&w[i], "--no-pager") || word_is(&w[i], "-P") || word_is(&w[i], "--no-optional-locks")))
        i++;
    if (i == n || (r = reader_of_verb(&w[i])) == NULL)
        return false;
    for (uint32_t k = i + 1; k < n; k++)
        if (word_has(&w[k], "%G") || word_has(&w[k], "signature"))
            return false;       /* a signature is looked at by another program */
    if (text_listed(w[i].text, w[i].size, " stash worktree reflog remote "))
        return git_lists(r, &w[i], n - i);
    if (!reader_words(r, &w[i], n - i, &o))
        return false;
    if (word_is(&w[i], "branch"))       /* -l made a reflog for a new branch before git 2.19 */
        return o.count == 0 || option_first(&w[i], n - i, &o, " --list ");
    if (word_is(&w[i], "tag"))
        return o.count == 0 || option_first(&w[i], n - i, &o, " --list -l ");
    if (word_is(&w[i], "config"))
        return option_first(&w[i], n - i, &o, " --get --get-all --get-regexp --list -l ");
    return true;
}

/* ---- find ------------------------------------------------------------------------------------------------- */

#define FIND_PLAIN " -daystart -depth -follow -mount -noleaf -xdev -ignore_readdir_race -noignore_readdir_race -warn -nowarn -empty -executable -false -true " \
    "-nogroup -nouser -readable -writable -ls -print -print0 -prune -quit -a -and -o -or -not ! ( ) , "
#define FIND_VALUE " -maxdepth -mindepth -regextype -amin -anewer -atime -cmin -cnewer -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex " \
    "-iwholename -links -lname -mmin -mtime -name -newer -path -perm -regex -samefile -size -type -uid -used -user -wholename -xtype -printf "

bool find_only_reads(const shell_word *w, uint32_t n)
{
    uint32_t i = 1;
    bool within = false;        /* the expression has begun */

    while (i < n && word_sure(&w[i]) && text_listed(w[i].text, w[i].size, " -H -L -P "))
        i++;
    for (; i < n; i++) {
        const shell_word *x = &w[i];

        within = within || (x->size > 0 && strchr("-(),!", x->text[0]) != NULL);
        if (!within) {          /* where it starts */
            if (!word_sure(x) && ((x->flags & (WORD_UNKNOWN | WORD_BRACE)) != 0 || x->known == 0))
                return false;
            continue;
        }
        if (!word_sure(x))
            return false;
        if (text_listed(x->text, x->size, FIND_PLAIN))
            continue;
        if (!text_listed(x->text, x->size, FIND_VALUE) || ++i == n || !word_sure(&w[i]))
            return false;
    }
    return true;
}

/* ---- other grammars of their own ------------------------------------------------------------------------------ */

/* bash evaluates the subscript of a name after -v and -R. */
static bool test_only_reads(const shell_word *w, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (!word_sure(&w[i]) || word_is(&w[i], "-v") || word_is(&w[i], "-R") || word_has(&w[i], "$") || word_has(&w[i], "`"))
            return false;
    return true;
}

/* -v names a variable, and so does %n in the format. */
static bool printf_only_reads(const shell_word *w, uint32_t n)
{
    uint32_t i = n > 1 && word_is(&w[1], "--") ? 2 : 1;

    if (i >= n || (i == 1 && w[i].size > 0 && w[i].text[0] == '-'))
        return false;
    for (uint32_t k = i; k < n; k++)
        if (!word_sure(&w[k]))
            return false;
    for (const char *p = w[i].text, *end = p + w[i].size; p < end; p++) {
        if (*p != '%')
            continue;
        for (p++; p < end && strchr("#'-+0123456789.*", *p) != NULL && *p != '\0'; )
            p++;
        if (p == end || *p == '\0' || strchr("%diouxXeEfFgGsbqc", *p) == NULL)
            return false;
    }
    return true;
}

/* A filter that names no other file. With options that take the filter from a file, words are not known. */
static bool jq_only_reads(const program_reader *r, const shell_word *w, uint32_t n)
{
    static const char *const loads[] = { "import", "include", "$__", "input_filename", "get_search_list" };
    operand_list o;

    if (!reader_words(r, w, n, &o) || o.count == 0 || !word_sure(&w[o.first[0]]))
        return false;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (word_has(&w[o.first[0]], loads[i]))
            return false;
    return true;
}

/* The end of a line's address: a number, $, or /a plain expression/. */
static const char *sed_address(const char *p, const char *end)
{
    if (p < end && *p == '$')
        return p + 1;
    if (p < end && *p == '/') {
        for (p++; p < end && *p != '/'; p++)
            if (*p == '\\' || *p == '[' || *p == '\n')
                return NULL;
        return p < end ? p + 1 : NULL;
    }
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Prints lines: 1,20p;30p;/x/,$p */
static bool sed_prints(const shell_word *w)
{
    const char *p = w->text, *end = p + w->size;

    while (p < end) {
        while (p < end && (*p == WORD_BLANK || *p == ';'))
            p++;
        if (p == end)
            break;
        if ((p = sed_address(p, end)) == NULL)
            return false;
        if (p < end && *p == ',') {
            p++;
            p += p < end && *p == '+';
            if ((p = sed_address(p, end)) == NULL)
                return false;
        }
        if (p == end || strchr("p=q", *p) == NULL || *p == '\0')
            return false;
        p++;
        if (p < end && *p != ';' && *p != WORD_BLANK)
            return false;
    }
    return true;
}

static bool sed_only_reads(const program_reader *r, const shell_word *w, uint32_t n)
{
    operand_list o;
    bool ended = false;

    if (!reader_words(r, w, n, &o) || o.count == 0 || !word_sure(&w[o.first[0]]) || !sed_prints(&w[o.first[0]]))
        return false;
    for (uint32_t i = 1; i < o.first[0]; i++)
        ended = ended || word_is(&w[i], "--");
    for (uint32_t i = o.first[0] + 1; i < n; i++)
        if (w[i].size > 0 && w[i].text[0] == '-' && !ended)
            return false;
    return true;
}

static bool date_only_reads(const program_reader *r, const shell_word *w, uint32_t n)
{
    operand_list o;

    return reader_words(r, w, n, &o) && (o.count == 0 || (w[o.first[0]].size > 0 && w[o.first[0]].text[0] == '+'));
}

/* @file is options from a file. */
static bool strings_only_reads(const program_reader *r, const shell_word *w, uint32_t n)
{
    operand_list o;

    for (uint32_t i = 1; i < n; i++)
        if (w[i].size > 0 && (w[i].text[0] == '@' || (w[i].known == 0 && !word_sure(&w[i]))))
            return false;
    return reader_words(r, w, n, &o);
}

static bool own_only_reads(const program_reader *r, const shell_part *p, const shell_word *w)
{
    const uint32_t n = p->count;

    switch (r->name[0]) {
    case 'g':
        return !p->wrapped && git_only_reads(w, n);     /* a wrapper runs the program, and not the function of shell_reading_env() */
    case 'f':
        return find_only_reads(w, n);
    case '[': case 't':
        return test_only_reads(w, n);
    case 'p':
        return printf_only_reads(w, n);
    case 'j':
        return jq_only_reads(r, w, n);
    case 'd':
        return date_only_reads(r, w, n);
    }
    return strcmp(r->name, "sed") == 0 ? sed_only_reads(r, w, n) : strings_only_reads(r, w, n);
}

/* ---- a command ------------------------------------------------------------------------------------------------ */

static bool has_brace(const shell_word *w, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (w[i].flags & WORD_BRACE)
            return true;
    return false;
}

bool program_only_reads(const shell *s, const shell_part *p)
{
    const shell_word *w = &s->words[p->first];
    const program_reader *r = p->count > 0 && !p->carries && !p->alters && !p->raises ? reader_named(w) : NULL;
    operand_list o;

    if (r == NULL)      /* command -v NAME */
        return p->count == 3 && !p->carries && !p->alters && !p->wrapped && !p->more && word_is(w, "command") &&
               (word_is(&w[1], "-v") || word_is(&w[1], "-V")) && word_sure(&w[2]);
    if (r->traits & READER_ANY_WORDS)
        return !has_brace(w, p->count);     /* {1..999999999} takes the memory */
    if (p->more && (r->traits & READER_ANY_GLOB) == 0)
        return false;   /* words that are read from a file may be options */
    return (r->traits & READER_OWN) != 0 ? own_only_reads(r, p, w) : reader_words(r, w, p->count, &o);
}

bool program_reads_text(const shell *s, const shell_part *p)
{
    const program_reader *r = p->count > 0 ? reader_named(&s->words[p->first]) : NULL;

    return r != NULL && (r->traits & READER_LITERAL) != 0 && program_only_reads(s, p);
}
