/* split.c - splits a command line into its parts: commands with their words, redirections and here-documents.
 *
 * Read as POSIX shells and bash read it, without running it. Owns nothing: everything is in the caller's struct shell. Called by src/policy; pure,
 * any thread. Invariant: what cannot be read for certain is marked (unsure, unseen); the parts that were seen are there all the same, for deny rules. */
#include "shell/shell.h"

enum { HERES_MAX = 4, WORK_MAX = 16 * SHELL_BYTES_MAX };

typedef struct heredoc {               /* a here-document whose lines follow */
    const char *name;
    size_t size, part;
    bool quoted, tabs;
} heredoc;

typedef struct lexer {
    shell *s;
    const char *p, *end;
    bool hidden, open;              /* in a part */
    shell_part part;
    heredoc heres[HERES_MAX];
    size_t nheres;
} lexer;

/* ---- parts ------------------------------------------------------------------------------------------ */

static void part_open(lexer *l)
{
    if (l->open)
        return;
    l->open = true;
    l->part = (shell_part){ .from = l->p, .first = (uint32_t)l->s->nwords, .edit = (uint32_t)l->s->nedits, .hidden = l->hidden };
}

static void part_close(lexer *l)
{
    shell *s = l->s;
    const char *end = l->p;

    if (!l->open)
        return;
    l->open = false;
    while (end > l->part.from && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    l->part.size = (uint32_t)(end - l->part.from);
    if (s->nparts == SHELL_PARTS_MAX) {
        shell_lost(s, "it has too many parts", l->part.from);
        return;
    }
    s->parts[s->nparts] = l->part;
    shell_part_done(s, &s->parts[s->nparts++]);
}

static shell_word pen_word_of(const shell_pen *pen)
{
    return (shell_word){ pen->from, (uint32_t)(pen->at - pen->from), pen->flags, pen->known };
}

/* A word that does not belong to the words of the part. */
static shell_word word_aside(lexer *l, bool *quoted)
{
    shell *s = l->s;
    shell_pen pen = { .at = s->aside + s->aside_used, .end = s->aside + SHELL_ASIDE_BYTES };

    l->p = shell_word_read(s, &pen, l->p, l->end);
    s->aside_used = (size_t)(pen.at - s->aside);
    if (quoted != NULL)
        *quoted = pen.quoted;
    return pen_word_of(&pen);
}

/* ---- redirections -------------------------------------------------------------------------------------- */

static void edit_add(lexer *l, shell_word to, bool reads)
{
    shell *s = l->s;

    if (s->nedits == SHELL_EDITS_MAX) {
        shell_lost(s, "it has too many redirections", l->p);
        return;
    }
    if (to.flags & (WORD_UNKNOWN | WORD_GLOB))
        shell_doubt(s, "it is not known where a redirection leads", to.text);
    if (to.size >= 9 && (memcmp(to.text, "/dev/tcp/", 9) == 0 || memcmp(to.text, "/dev/udp/", 9) == 0))
        shell_doubt(s, "a redirection leads to the network", to.text);
    s->edits[s->nedits++] = (shell_edit){ to, reads };
    l->part.edits++;
}

static void here_begin(lexer *l, bool tabs)
{
    bool quoted;
    shell_word w = word_aside(l, &quoted);

    if (l->nheres == HERES_MAX || (w.flags & WORD_UNKNOWN) != 0 || w.size == 0) {
        shell_lost(l->s, "a here-document is not to be followed", l->p);
        return;
    }
    l->heres[l->nheres++] = (heredoc){ w.text, w.size, l->s->nparts, quoted, tabs };
    l->part.fed = true;
    l->part.feed = (shell_word){ "", 0, 0, 0 };     /* until its lines are read */
}

static bool is_descriptor(const shell_word *w)
{
    size_t n = w->size;

    if (n > 0 && w->text[n - 1] == '-')
        n--;
    for (size_t i = 0; i < n; i++)
        if (w->text[i] < '0' || w->text[i] > '9')
            return false;
    return w->size > 0;
}

static bool starts(const lexer *l, const char *with)
{
    size_t n = strlen(with);

    return (size_t)(l->end - l->p) >= n && memcmp(l->p, with, n) == 0;
}

/* At < or > or &>: the operator and its target. */
static void redirection(lexer *l)
{
    static const char *const ops[] = { "&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|", "<", ">" };
    const char *op = NULL;
    shell_word to;

    for (size_t i = 0; op == NULL; i++)
        if (starts(l, ops[i]))
            op = ops[i];
    l->p += strlen(op);
    if (l->p < l->end && *l->p == '(') {    /* <( ) and >( ) */
        const char *out = shell_skip(l->p + 1, l->end, '(');

        shell_doubt(l->s, "it has a process substitution", l->p - 1);
        if (out == NULL)
            shell_lost(l->s, "a process substitution has no end", l->p - 1);
        shell_queue(l->s, l->p + 1, (size_t)((out != NULL ? out - 1 : l->end) - (l->p + 1)), false);
        l->p = out != NULL ? out : l->end;
        return;
    }
    l->p = shell_blanks(l->p, l->end);
    if (l->p == l->end || strchr("\n;&|()<>", *l->p) != NULL) {
        shell_doubt(l->s, "a redirection leads nowhere", l->p);
        return;
    }
    if (op[0] == '<' && op[1] == '<' && op[2] != '<') {
        here_begin(l, op[2] == '-');
        return;
    }
    to = word_aside(l, NULL);
    if (op[1] == '<') {
        l->part.fed = true;
        l->part.feed = to;
    } else if (op[1] != '&' || !is_descriptor(&to)) {
        if (op[0] == '<' && op[1] == '&')
            shell_doubt(l->s, "it is not known what a redirection reads", to.text);
        edit_add(l, to, op[0] == '<' && op[1] != '>');
    }
}

/* p: the first line. Reads all here-documents that were announced on the line before. */
static void here_lines(lexer *l)
{
    shell *s = l->s;

    for (size_t i = 0; i < l->nheres; i++) {
        const heredoc *h = &l->heres[i];
        const char *body = l->p, *body_end = NULL;
        bool plain = h->quoted;

        while (body_end == NULL && l->p < l->end) {
            const char *from = l->p, *line = from, *nl = memchr(from, '\n', (size_t)(l->end - from));

            nl = nl != NULL ? nl : l->end;
            while (h->tabs && line < nl && *line == '\t')
                line++;
            l->p = nl < l->end ? nl + 1 : nl;
            if ((size_t)(nl - line) == h->size && memcmp(line, h->name, h->size) == 0)
                body_end = from;
        }
        if (body_end == NULL) {
            shell_lost(s, "a here-document has no end", body);
            body_end = l->end;
        }
        if (!plain) {
            plain = true;
            for (const char *p = body; p < body_end; p++)
                plain = plain && *p != '$' && *p != '`' && *p != '\\';
            if (!plain) {
                shell_doubt(s, "a here-document has expansions", body);
                shell_inner(s, body, body_end);
            }
        }
        if (h->part >= s->nparts)
            continue;
        s->parts[h->part].feed = (shell_word){ body, (uint32_t)(body_end - body), 0, 0 };
        shell_part_fed(s, &s->parts[h->part]);
    }
    l->nheres = 0;
}

/* ---- words -------------------------------------------------------------------------------------------------- */

/* A reserved word of the shell where a command may begin. False: a plain word. */
static bool reserved(lexer *l, const char *p, size_t n)
{
    if (n == 1 && *p == '!')
        return true;
    if (n == 0 || n > 8)
        return false;
    if (text_listed(p, n, " case function coproc ")) {
        shell_lost(l->s, "it has control flow", p);
        return true;
    }
    if (text_listed(p, n, " if then elif else fi for while until do done esac select [[ ]] { } in ")) {
        shell_doubt(l->s, "it has control flow", p);
        return true;
    }
    return false;
}

/* The length of the name in NAME= or NAME+= or NAME[..]=; 0: not an assignment. */
static size_t assigned(const char *p, const char *end)
{
    const char *q = p;

    while (q < end && ((*q >= 'a' && *q <= 'z') || (*q >= 'A' && *q <= 'Z') || *q == '_' || (q > p && *q >= '0' && *q <= '9')))
        q++;
    size_t n = (size_t)(q - p);
    if (n > 0 && q < end && *q == '[')
        while (q < end && *q != '=')
            q++;
    if (n > 0 && q < end && *q == '+')
        q++;
    return q < end && *q == '=' ? n : 0;
}

/* A variable such as PATH or LD_PRELOAD may change what every command does. */
static void judge_assignment(shell *s, const char *p, const char *end)
{
    size_t n = assigned(p, end);

    if (n == 0)
        return;
    if (p[n] == '[') {      /* bash evaluates the subscript, quoted or not */
        shell_lost(s, "it evaluates a text", p);
        shell_inner(s, p + n, end);
    }
    if (shell_steers(p, n))
        shell_lost(s, "it sets a variable that may change what runs", p);
    else if (!shell_harmless(p, n))
        shell_doubt(s, "it sets a variable that may change what runs", p);
}

static void word_take(lexer *l)
{
    shell *s = l->s;
    shell_pen pen = { .at = s->pool + s->pool_used, .end = s->pool + SHELL_POOL_BYTES };
    const char *from = l->p;
    shell_word w;
    bool digits = true;

    part_open(l);
    l->p = shell_word_read(s, &pen, l->p, l->end);
    w = pen_word_of(&pen);
    for (const char *q = from; q < l->p; q++)
        digits = digits && *q >= '0' && *q <= '9';
    if (digits && l->p < l->end && (*l->p == '<' || *l->p == '>'))
        return;     /* the number of a redirection */
    if (l->p - from > 2 && *from == '{' && l->p[-1] == '}' && l->p < l->end && (*l->p == '<' || *l->p == '>')) {
        shell_lost(s, "a redirection sets a variable", from);
        return;
    }
    if (l->part.count == 0) {
        if (assigned(from, l->p) > 0) {
            judge_assignment(s, from, l->p);
            l->part.alters = true;
            return;
        }
        if (!pen.quoted && !(word_is(&w, "!") && (l->part.edits > 0 || l->part.fed)) && reserved(l, from, (size_t)(l->p - from)))
            return;     /* behind a redirection ! is the name of a program */
    }
    if (s->nwords == SHELL_WORDS_MAX || pen.at == pen.end) {
        shell_lost(s, "it has too many words", from);
        return;
    }
    *pen.at++ = ' ';
    s->pool_used = (size_t)(pen.at - s->pool);
    s->words[s->nwords++] = w;
    l->part.count++;
}

/* ---- a text --------------------------------------------------------------------------------------------------- */

static void lex_one(lexer *l)
{
    char c = *l->p;

    switch (c) {
    case ' ': case '\t':
        l->p++;
        return;
    case '\n':
        part_close(l);
        l->p++;
        here_lines(l);
        return;
    case '\0':
        part_close(l);
        l->p++;
        return;
    case '#':
        while (l->p < l->end && *l->p != '\n')
            l->p++;
        return;
    case '(': case ')':
        shell_doubt(l->s, "it has a group", l->p);
        part_close(l);
        l->p++;
        return;
    case '&':
        if (starts(l, "&>")) {
            part_open(l);
            redirection(l);
            return;
        }
        part_close(l);
        l->p++;
        return;
    case ';': case '|':
        part_close(l);
        l->p++;
        return;
    case '<': case '>':
        part_open(l);
        redirection(l);
        return;
    case '\\':
        if (starts(l, "\\\n")) {
            l->p += 2;
            return;
        }
        break;
    }
    word_take(l);
}

static void split_text(shell *s, shell_text t, bool hidden)
{
    lexer l;

    if ((s->work += t.size) > WORK_MAX) {
        shell_lost(s, "it has too many commands in commands", t.text);
        return;
    }
    l.s = s;
    l.p = t.text;
    l.end = t.text + t.size;
    l.hidden = hidden;
    l.open = false;
    l.nheres = 0;
    while (l.p < l.end)
        lex_one(&l);
    part_close(&l);
    if (l.nheres > 0)
        shell_lost(s, "a here-document has no end", t.text);
}

static void shell_begin(shell *s)
{
    s->unsure = s->unsure_text = NULL;
    s->unseen = false;
    s->nparts = s->nwords = s->nedits = s->ntexts = s->texts_done = 0;
    s->pool_used = s->aside_used = s->work = 0;
}

static void split_queued(shell *s, bool hidden)
{
    for (; s->texts_done < s->ntexts; hidden = true)
        split_text(s, s->texts[s->texts_done++], hidden);
}

void shell_split(shell *s, const char *text, size_t size)
{
    shell_begin(s);
    if (size > SHELL_BYTES_MAX) {
        shell_lost(s, "it is longer than 16384 bytes", NULL);
        size = SHELL_BYTES_MAX;
    }
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];

        if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f) {
            if (c == '\0')
                shell_lost(s, "it has a NUL", text + i);
            else
                shell_doubt(s, "it has a control character", text + i);
        }
    }
    shell_queue(s, text, size, false);
    split_queued(s, false);
}

void shell_split_words(shell *s, const pawl_value *words)
{
    shell_part p = {0};

    shell_begin(s);
    for (size_t i = 0; i < pawl_value_size(words); i++) {
        const pawl_value *v = pawl_value_at(words, i);
        const char *text = pawl_value_string(v);
        size_t n = pawl_value_size(v);
        char *to = s->pool + s->pool_used;

        if (text == NULL || memchr(text, '\0', n) != NULL || n + 1 > SHELL_POOL_BYTES - s->pool_used || s->nwords == SHELL_WORDS_MAX) {
            shell_lost(s, text == NULL ? "one of its words is no text" : "it has too many words", NULL);
            break;
        }
        for (size_t k = 0; k < n; k++) {
            to[k] = text[k] == ' ' ? WORD_BLANK : text[k];
            if (text[k] == WORD_BLANK)
                shell_doubt(s, "a word has a control character", NULL);
        }
        to[n] = ' ';
        s->pool_used += n + 1;
        s->words[s->nwords++] = (shell_word){ to, (uint32_t)n, 0, (uint32_t)n };
        p.count++;
    }
    if (p.count == 0) {
        shell_lost(s, "it has no command", NULL);
        return;
    }
    p.from = s->words[0].text;
    p.size = (uint32_t)shell_joined(s, &p).size;
    s->parts[s->nparts] = p;
    shell_part_done(s, &s->parts[s->nparts++]);
    split_queued(s, true);
}
