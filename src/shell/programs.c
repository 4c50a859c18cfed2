/* programs.c - programs that edit no more than the files they name, and which words of a program are paths.
 *
 * Constant tables: any thread. Called by parts.c and by src/policy.
 * Invariant: paths are found generously, for rules that deny: a word that may be one is one. */
#include "shell/readers.h"

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

bool program_is_shell(const shell_word *w)
{
    size_t n;
    const char *name = program_of(w, &n);

    return text_listed(name, n, " sh bash dash zsh ksh mksh ash fish rbash csh tcsh yash posh ");
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
    "cksum readlink realpath jq grep egrep fgrep rg find awk gawk sed less more bat xxd base64 tree join paste column view sha224sum sha384sum b2sum sum " \
    "base32 zcat bzcat xzcat zgrep fold fmt expand pr diff3 sdiff hd nm objdump readelf iconv batcat ag ack "
#define EDITS " tee touch mkdir rmdir rm unlink shred truncate chmod chown chgrp ln patch nano vim vi ed ex "
#define BOTHS " mv cp install rsync scp dd "
#define PATTERN_FIRST " grep egrep fgrep rg awk gawk sed jq chmod chown chgrp "
#define GIT_FILES " diff show blame annotate log grep cat-file diff-files diff-index diff-tree archive "

static bool name_is(const char *name, size_t n, const char *text) { return strlen(text) == n && memcmp(name, text, n) == 0; }

/* The place of git's verb; 0: none of those that show files. */
static uint32_t git_verb(const shell *s, const shell_part *p)
{
    const shell_word *w = &s->words[p->first];
    uint32_t i = 1;

    while (i < p->count && word_option(&w[i]))
        i += word_sure(&w[i]) && text_listed(w[i].text, w[i].size, " -C -c --git-dir --work-tree --namespace --config-env --attr-source ") ? 2 : 1;
    return i < p->count && word_sure(&w[i]) && text_listed(w[i].text, w[i].size, GIT_FILES) ? i : 0;
}

operand_use program_operand_use(const shell *s, const shell_part *p)
{
    size_t n;
    const char *name;

    if (p->count == 0)
        return OPERAND_NONE;
    name = program_of(&s->words[p->first], &n);
    if (name_is(name, n, "sed"))
        for (uint32_t i = 1; i < p->count; i++) {
            const shell_word *w = &s->words[p->first + i];
            if (w->size > 1 && w->text[0] == '-' && memchr(w->text, 'i', w->size) != NULL)
                return OPERAND_BOTH;
        }
    if (name_is(name, n, "find"))
        return program_removes_tree(s, p) ? OPERAND_BOTH : OPERAND_READ;
    if (name_is(name, n, "git"))
        return git_verb(s, p) > 0 ? OPERAND_READ : OPERAND_NONE;
    if (text_listed(name, n, READS))
        return OPERAND_READ;
    if (text_listed(name, n, EDITS))
        return OPERAND_EDIT;
    return text_listed(name, n, BOTHS) ? OPERAND_BOTH : OPERAND_NONE;
}

/* Letters of options without a value. */
static const char *plain_letters(const char *name, size_t n)
{
    if (name_is(name, n, "sed"))
        return "nErsuz";
    if (text_listed(name, n, " chmod chown chgrp "))
        return "cfvRhHLP";
    return "";
}

/* The letter is an option without a value. */
static bool letter_plain(const program_reader *r, const char *more, char c)
{
    const char *at = r != NULL && c != ':' ? strchr(r->letters, c) : NULL;

    return c != '\0' && ((at != NULL && at[1] != ':') || strchr(more, c) != NULL);
}

/* The value in the same word as an option's letter: -f.env, -nf.env. NULL: none. */
static const char *attached(const shell_word *w, const shell_word *x)
{
    size_t n;
    const char *name = program_of(w, &n), *more = plain_letters(name, n);
    const program_reader *r = reader_named(w);

    for (size_t i = 1; i + 1 < x->size; i++)
        if (!letter_plain(r, more, x->text[i]))
            return x->text + i + 1;
    return NULL;
}

/* The first operand is a pattern, for no option gives one, or says in which file it is. */
static bool pattern_first(const shell_word *w, uint32_t count)
{
    size_t n;
    const char *name = program_of(w, &n), *more = plain_letters(name, n);
    const program_reader *r = reader_named(w);

    for (uint32_t i = 1; i < count && !word_is(&w[i], "--"); i++) {
        const shell_word *x = &w[i];

        if (!word_option(x))
            continue;
        if (x->text[1] == '-' && option_among(x, " --regexp --file --from-file --expression --reference "))
            return false;
        for (size_t k = 1; k < x->size && x->text[1] != '-'; k++)
            if (!letter_plain(r, more, x->text[k])) {
                if (strchr("ef", x->text[k]) != NULL)
                    return false;
                break;
            }
    }
    return true;
}

/* HEAD:.env, :0:.env, :(top).env, :/.env */
static const char *git_path(const shell_word *x, uint32_t *size)
{
    const char *end = x->text + x->size, *colon = memchr(x->text, ':', x->size), *at = colon != NULL ? colon + 1 : x->text, *close;

    if (colon == x->text && end - at > 2 && at[1] == ':' && *at >= '0' && *at <= '3')
        at += 2;    /* :0:.env */
    else if (colon != NULL && at < end && *at == '(' && (close = memchr(at, ')', (size_t)(end - at))) != NULL)
        at = close + 1;
    while (colon != NULL && at < end && (*at == '/' || *at == '!' || *at == '^'))
        at++;
    *size = (uint32_t)(end - at);
    return at;
}

static const char *option_path(const shell_word *w, const shell_word *x, operand_use use, uint32_t *size)
{
    const char *eq = memchr(x->text, '=', x->size), *at = NULL;

    if (x->text[1] == '-' || (eq != NULL && use != OPERAND_READ))
        at = eq != NULL ? eq + 1 : NULL;
    else if (use == OPERAND_READ)
        at = attached(w, x);
    else if ((at = memchr(x->text, 't', x->size)) != NULL && text_listed(w->text, w->size, " cp mv install ln "))
        at = at + 1 < x->text + x->size ? at + 1 : NULL;
    else
        at = NULL;
    *size = at != NULL ? (uint32_t)(x->text + x->size - at) : 0;
    return at;
}

const char *program_operand(const shell *s, const shell_part *p, size_t i, bool after, bool *ends, uint32_t *size)
{
    const shell_word *w = &s->words[p->first], *x = &w[i];
    const char *eq = memchr(x->text, '=', x->size), *name;
    size_t n;

    name = program_of(w, &n);
    *ends = false;
    *size = x->size;
    if (after)
        return name_is(name, n, "git") ? git_path(x, size) : x->text;
    if (name_is(name, n, "find") && x->size > 0 && (word_option(x) || x->text[0] == '(' || x->text[0] == '!')) {
        *ends = !text_listed(x->text, x->size, " -L -P -H ");
        return NULL;
    }
    if (name_is(name, n, "git") && i <= git_verb(s, p))
        return NULL;
    if (name_is(name, n, "dd")) {
        *size = eq != NULL ? (uint32_t)(x->text + x->size - (eq + 1)) : 0;
        return eq != NULL ? eq + 1 : NULL;
    }
    if (word_option(x))
        return option_path(w, x, program_operand_use(s, p), size);
    if (name_is(name, n, "git"))
        return git_path(x, size);
    if (name_is(name, n, "strings") && x->size > 0 && x->text[0] == '@') {    /* options from a file */
        --*size;
        return x->text + 1;
    }
    if (text_listed(name, n, PATTERN_FIRST)) {
        size_t before = 1;

        while (before < i && word_option(&w[before]))
            before++;
        if (before == i && pattern_first(w, p->count))
            return NULL;
    }
    return x->text;
}

bool program_globs(const shell *s, const shell_part *p, const shell_word *w)
{
    size_t n;
    const char *name = program_of(&s->words[p->first], &n);

    return name_is(name, n, "git") && (memchr(w->text, '*', w->size) != NULL || memchr(w->text, '?', w->size) != NULL || memchr(w->text, '[', w->size) != NULL);
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
