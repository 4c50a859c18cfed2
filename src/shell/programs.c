/* programs.c - the table of programs whose words are understood: those that only read, those that edit no more than the files they name, and which
 * of their words are paths. A program that is not in the table is unknown, and a person is asked.
 *
 * Constant tables: any thread. Called by parts.c and by src/policy.
 * Invariant: an option that is not listed as harmless makes the program unknown. */
#include "shell/shell.h"

enum {
    ANY_WORDS = 1,      /* a read-only program stays one with unknown words */
    LITERAL = 2,        /* a here-document is plain text for it */
    SPECIAL = 4         /* has a function of its own */
};

typedef struct program_reader {
    const char *name;
    const char *letters, *words;    /* options with which it writes or runs something; words may be shortened */
    unsigned flags;
} program_reader;

static const program_reader readers[] = {
    { "[",         "v",  " ",                                                 0 },
    { "arch",      "",   " ",                                                 0 },
    { "basename",  "",   " ",                                                 0 },
    { "cat",       "",   " ",                                                 LITERAL },
    { "cksum",     "",   " ",                                                 LITERAL },
    { "cmp",       "",   " ",                                                 0 },
    { "column",    "",   " ",                                                 LITERAL },
    { "comm",      "",   " ",                                                 0 },
    { "cut",       "",   " ",                                                 LITERAL },
    { "date",      "",   " ",                                                 SPECIAL },
    { "df",        "",   " ",                                                 0 },
    { "diff",      "l",  " --paginate ",                                      0 },
    { "dirname",   "",   " ",                                                 0 },
    { "du",        "",   " ",                                                 0 },
    { "echo",      "",   " ",                                                 ANY_WORDS },
    { "egrep",     "",   " ",                                                 LITERAL },
    { "false",     "",   " ",                                                 ANY_WORDS },
    { "fgrep",     "",   " ",                                                 LITERAL },
    { "file",      "CzZ", " --compile --uncompress ",                         0 },
    { "find",      "",   " ",                                                 SPECIAL },
    { "git",       "",   " ",                                                 SPECIAL },
    { "grep",      "",   " ",                                                 LITERAL },
    { "head",      "",   " ",                                                 LITERAL },
    { "hexdump",   "",   " ",                                                 0 },
    { "hostname",  "",   " ",                                                 SPECIAL },
    { "id",        "",   " ",                                                 0 },
    { "join",      "",   " ",                                                 0 },
    { "jq",        "",   " ",                                                 LITERAL },
    { "ls",        "",   " ",                                                 0 },
    { "md5sum",    "",   " ",                                                 LITERAL },
    { "nl",        "",   " ",                                                 LITERAL },
    { "nproc",     "",   " ",                                                 0 },
    { "od",        "",   " ",                                                 0 },
    { "paste",     "",   " ",                                                 0 },
    { "printf",    "v",  " ",                                                 0 },
    { "pwd",       "",   " ",                                                 0 },
    { "readlink",  "",   " ",                                                 0 },
    { "realpath",  "",   " ",                                                 0 },
    { "rev",       "",   " ",                                                 LITERAL },
    { "rg",        "z",  " --pre --hostname-bin --search-zip ",               0 },
    { "seq",       "",   " ",                                                 0 },
    { "sha1sum",   "",   " ",                                                 LITERAL },
    { "sha256sum", "",   " ",                                                 LITERAL },
    { "sha512sum", "",   " ",                                                 LITERAL },
    { "sleep",     "",   " ",                                                 0 },
    { "sort",      "oT", " --output --compress-program --temporary-directory ", LITERAL },
    { "stat",      "",   " ",                                                 0 },
    { "strings",   "",   " ",                                                 0 },
    { "tac",       "",   " ",                                                 LITERAL },
    { "tail",      "",   " ",                                                 LITERAL },
    { "test",      "v",  " ",                                                 0 },
    { "tr",        "",   " ",                                                 LITERAL },
    { "tree",      "oR", " --output ",                                        0 },
    { "true",      "",   " ",                                                 ANY_WORDS },
    { "type",      "",   " ",                                                 0 },
    { "uname",     "",   " ",                                                 0 },
    { "uniq",      "",   " ",                                                 SPECIAL },
    { "uptime",    "",   " ",                                                 0 },
    { "wc",        "",   " ",                                                 LITERAL },
    { "which",     "",   " ",                                                 0 },
    { "whoami",    "",   " ",                                                 0 },
};

static const program_reader *reader_of(const shell_word *w)
{
    size_t low = 0, high = sizeof readers / sizeof *readers;

    if (w->flags & (WORD_UNKNOWN | WORD_GLOB))
        return NULL;
    while (low < high) {
        size_t mid = low + (high - low) / 2, n = strlen(readers[mid].name);
        int order = memcmp(w->text, readers[mid].name, n < w->size ? n : w->size);

        if (order == 0 && n == w->size)
            return &readers[mid];
        if (order > 0 || (order == 0 && w->size > n))
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static const char *program_of(const shell_word *w, size_t *n)       /* the name without folders */
{
    const char *at = w->text + w->size;

    while (at > w->text && at[-1] != '/')
        at--;
    *n = (size_t)(w->text + w->size - at);
    return at;
}

static bool word_option(const shell_word *w) { return w->size > 1 && w->text[0] == '-'; }

/* A long option, whole or shortened, is one of `words`. */
static bool option_among(const shell_word *w, const char *words)
{
    const char *eq = memchr(w->text, '=', w->size);
    size_t n = eq != NULL ? (size_t)(eq - w->text) : w->size;

    for (const char *at = words; (at = strchr(at, ' ')) != NULL && at[1] != '\0'; at++)
        if (n > 2 && strncmp(at + 1, w->text, n) == 0)
            return true;
    return false;
}

static bool option_bad(const shell_word *w, const char *letters, const char *words)
{
    if (w->text[1] == '-')
        return option_among(w, words);
    for (size_t i = 1; i < w->size; i++)
        if (w->text[i] != '\0' && strchr(letters, w->text[i]) != NULL)
            return true;
    return false;
}

/* ---- read-only programs with a function of their own --------------------------------------------------------- */

#define GIT_BRANCH " -a -r -v -vv --all --remotes --verbose --list -l --show-current --no-color --no-column "
#define GIT_BAD " --output --ext-diff --textconv --show-signature --open-files-in-pager --filters --exec-path --paginate --upload-pack "

static bool git_only_reads(const shell_word *w, uint32_t n)
{
    uint32_t i = 1;
    bool lists = false;

    while (i < n && (word_is(&w[i], "--no-pager") || word_is(&w[i], "-P") || word_is(&w[i], "--no-optional-locks")))
        i++;
    if (i == n)
        return false;
    const shell_word *verb = &w[i++];
    if (text_listed(verb->text, verb->size, " branch tag stash reflog remote worktree ")) {
        bool options = true, operands = false;

        for (; i < n; i++) {
            if (!word_option(&w[i])) {
                lists = lists || (!operands && text_listed(verb->text, verb->size, " stash reflog worktree ") &&
                                  text_listed(w[i].text, w[i].size, " list show "));
                operands = true;
            } else {
                options = options && text_listed(w[i].text, w[i].size, GIT_BRANCH);
                lists = lists || ((word_is(&w[i], "--list") || word_is(&w[i], "-l")) && (word_is(verb, "branch") || word_is(verb, "tag")));
            }
        }
        if (word_is(verb, "stash") || word_is(verb, "worktree"))
            return options && lists;
        return options && (lists || !operands);
    }
    if (!text_listed(verb->text, verb->size, " status diff log show rev-parse ls-files blame describe shortlog cat-file grep merge-base name-rev "
        "rev-lists for-each-ref ls-tree diff-tree show-ref count-objects "))
        return false;
    for (; i < n; i++)
        if (word_option(&w[i]) && option_bad(&w[i], word_is(verb, "grep") ? "O" : "", GIT_BAD))
            return false;
    return true;
}

static bool find_only_reads(const shell_word *w, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (text_listed(w[i].text, w[i].size, " -exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from "))
            return false;
    return true;
}

static bool special_only_reads(const shell_word *w, uint32_t n)
{
    uint32_t operands = 0;

    if (word_is(w, "git"))
        return git_only_reads(w, n);
    if (word_is(w, "find"))
        return find_only_reads(w, n);
    if (word_is(w, "hostname"))
        return n == 1;
    for (uint32_t i = 1; i < n; i++) {
        if (word_is(w, "date") && !(w[i].size > 0 && w[i].text[0] == '+') &&
            !text_listed(w[i].text, w[i].size, " -u --utc --universal -I -Iseconds -R "))
            return false;
        operands += !word_option(&w[i]) || i + 1 == n;
    }
    return word_is(w, "date") || operands <= 1;     /* uniq writes its second operand */
}

bool program_only_reads(const shell *s, const shell_part *p)
{
    const shell_word *w = &s->words[p->first];
    const program_reader *r = p->count > 0 ? reader_of(w) : NULL;
    bool writes, ended = false;

    if (r == NULL || p->carries)
        return p->count > 1 && !p->carries && word_is(w, "command") && (word_is(&w[1], "-v") || word_is(&w[1], "-V"));
    writes = r->letters[0] != '\0' || r->words[1] != '\0' || (r->flags & SPECIAL) != 0;
    if (p->more && writes)
        return false;
    for (uint32_t i = 1; i < p->count; i++) {
        if (w[i].flags & WORD_UNKNOWN && (r->flags & ANY_WORDS) == 0)
            return false;
        if (w[i].flags & WORD_GLOB && w[i].known == 0 && writes)
            return false;   /* a file may be named like an option */
        ended = ended || word_is(&w[i], "--");
        if (!ended && word_option(&w[i]) && option_bad(&w[i], r->letters, r->words))
            return false;
    }
    return (r->flags & SPECIAL) == 0 || special_only_reads(w, p->count);
}

bool program_reads_text(const shell *s, const shell_part *p)
{
    const program_reader *r = p->count > 0 ? reader_of(&s->words[p->first]) : NULL;

    return r != NULL && (r->flags & LITERAL) != 0 && program_only_reads(s, p);
}

bool program_is_shell(const shell_word *w)
{
    size_t n;
    const char *name = program_of(w, &n);

    return text_listed(name, n, " sh bash dash zsh ksh mksh ash fish rbash ");
}

/* ---- programs that edit files ------------------------------------------------------------------------------------- */

/* s/A/B/FLAGS, once, and nothing that runs or writes. */
static bool script_plain(const shell_word *w)
{
    const char *p = w->text + 2, *end = w->text + w->size;
    char delim;
    unsigned seen = 0;

    if (w->size < 4 || w->text[0] != 's' || (delim = w->text[1]) == '\\' || delim == '\n' || memchr(w->text, '\n', w->size) != NULL)
        return false;
    for (; p < end && seen < 2; p++) {
        if (*p == '\\')
            p++;
        else if (*p == delim)
            seen++;
    }
    for (; p < end; p++)
        if (strchr("gIip", *p) == NULL && (*p < '0' || *p > '9'))
            return false;
    return seen == 2;
}

typedef struct editor { const char *name, *letters; } editor;

static const editor *editor_of(const shell_word *w)
{
    static const editor editors[] = {
        { "mkdir", "pv" }, { "touch", "acm" }, { "rmdir", "pv" }, { "mv", "finvu" }, { "cp", "finvupaRr" }, { "rm", "fiv" }, { "sed", "iEnrs" },
    };

    for (size_t i = 0; i < sizeof editors / sizeof *editors; i++)
        if (word_is(w, editors[i].name))
            return &editors[i];
    return NULL;
}

bool program_edits_operands(const shell *s, const shell_part *p)
{
    const shell_word *w = &s->words[p->first];
    const editor *e = p->count > 1 && !p->more ? editor_of(w) : NULL;
    bool sed = e != NULL && word_is(w, "sed"), in_place = !sed, script = !sed;
    uint32_t operands = 0;

    if (e == NULL)
        return false;
    for (uint32_t i = 1; i < p->count; i++) {
        if ((w[i].flags & (WORD_UNKNOWN | WORD_GLOB)) != 0 && (script || (w[i].flags & WORD_UNKNOWN) != 0))
            return false;
        if (word_option(&w[i])) {
            for (size_t k = 1; k < w[i].size; k++)
                if (w[i].text[k] == '\0' || strchr(e->letters, w[i].text[k]) == NULL)
                    return false;
            in_place = in_place || word_is(&w[i], "-i");
            if (sed && !word_is(&w[i], "-i") && memchr(w[i].text, 'i', w[i].size) != NULL)
                return false;
        } else if (!script) {
            script = true;
            if (!script_plain(&w[i]))
                return false;
        } else {
            operands++;
        }
    }
    return in_place && script && operands > 0;
}

/* ---- paths among words ---------------------------------------------------------------------------------------------- */

#define READS " cat head tail wc ls stat file du sort uniq diff cmp comm cut nl tac rev od hexdump strings md5sum sha1sum sha256sum sha512sum " \
    "cksum readlink realpath jq grep egrep fgrep rg find awk gawk sed less more bat xxd base64 tree join paste column view "
#define EDITS " tee touch mkdir rmdir rm unlink shred truncate chmod chown chgrp ln patch nano vim vi ed ex "
#define BOTHS " mv cp install rsync scp dd "
#define PATTERN_FIRST " grep egrep fgrep rg awk gawk sed jq chmod chown chgrp "

operand_use program_operand_use(const shell *s, const shell_part *p)
{
    size_t n;
    const char *name;

    if (p->count == 0)
        return OPERAND_NONE;
    name = program_of(&s->words[p->first], &n);
    if (n == 3 && memcmp(name, "sed", 3) == 0)
        for (uint32_t i = 1; i < p->count; i++) {
            const shell_word *w = &s->words[p->first + i];
            if (w->size > 1 && w->text[0] == '-' && memchr(w->text, 'i', w->size) != NULL)
                return OPERAND_BOTH;
        }
    if (n == 4 && memcmp(name, "find", 4) == 0)
        return program_removes_tree(s, p) ? OPERAND_BOTH : OPERAND_READ;
    if (text_listed(name, n, READS))
        return OPERAND_READ;
    if (text_listed(name, n, EDITS))
        return OPERAND_EDIT;
    return text_listed(name, n, BOTHS) ? OPERAND_BOTH : OPERAND_NONE;
}

const char *program_operand(const shell *s, const shell_part *p, size_t i, bool *ends, uint32_t *size)
{
    const shell_word *w = &s->words[p->first], *x = &w[i];
    const char *eq = memchr(x->text, '=', x->size), *name;
    size_t n;

    name = program_of(w, &n);
    *ends = false;
    *size = x->size;
    if (n == 4 && memcmp(name, "find", 4) == 0 && x->size > 0 && (word_option(x) || x->text[0] == '(' || x->text[0] == '!')) {
        *ends = !text_listed(x->text, x->size, " -L -P -H ");
        return NULL;
    }
    if (word_option(x) || (n == 2 && memcmp(name, "dd", 2) == 0)) {
        if (eq == NULL)
            return NULL;
        *size = (uint32_t)(x->text + x->size - (eq + 1));
        return eq + 1;
    }
    if (text_listed(name, n, PATTERN_FIRST)) {
        size_t before = 1;

        while (before < i && word_option(&w[before]))
            before++;
        if (before == i)
            return NULL;
    }
    return x->text;
}

bool program_removes_tree(const shell *s, const shell_part *p)
{
    const shell_word *w = &s->words[p->first];
    size_t n;
    const char *name;
    bool find, rm;

    if (p->count == 0)
        return false;
    name = program_of(w, &n);
    rm = n == 2 && memcmp(name, "rm", 2) == 0;
    find = n == 4 && memcmp(name, "find", 4) == 0;
    for (uint32_t i = 1; i < p->count && (rm || find); i++) {
        if (find && (word_is(&w[i], "-delete") || word_is(&w[i], "rm")))
            return true;
        if (rm && word_option(&w[i]) && (w[i].text[1] == '-' ? option_among(&w[i], " --recursive ") :
            memchr(w[i].text, 'r', w[i].size) != NULL || memchr(w[i].text, 'R', w[i].size) != NULL))
            return true;
    }
    return false;
}
