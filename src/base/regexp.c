/* regexp.c - regular expressions that one pass decides. See regexp.h.
 *
 * Owns nothing; pure, any thread. Called for the matchers of hooks, for `pattern` of schemas, and by `grep` for patterns of several lines. */
#include "base/regexp.h"

#include <string.h>

enum { RE_DEPTH = 24, RE_REPEAT = 1000, RE_STOP_EVERY = 8192 };
enum { RE_CHAR, RE_ANY, RE_SET, RE_SPLIT, RE_JUMP, RE_BEGIN, RE_END, RE_WORD, RE_NOT_WORD, RE_MATCH, RE_REST };

static bool re_wrong(re_program *p, const char *why)
{
    if (p->why == NULL)
        p->why = why;
    return false;
}

/* Where it lies; RE_INSTS: there is no room. */
static uint16_t re_emit(re_program *p, uint8_t op, uint8_t c)
{
    if (p->n == RE_INSTS) {
        re_wrong(p, "it is too long");
        return RE_INSTS;
    }
    p->insts[p->n] = (re_inst){ .op = op, .c = c, .x = (uint16_t)(p->n + 1) };
    return (uint16_t)p->n++;
}

/* ---- sets of bytes ---------------------------------------------------------------------------------------------- */

static bool re_word(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void set_add(re_set *s, unsigned char c)
{
    s->bits[c / 8] = (uint8_t)(s->bits[c / 8] | 1U << c % 8);
}

/* \d \w \s and their opposites. False: it is none of them. */
static bool set_class(re_set *s, char name)
{
    const char kind = (char)(name | 0x20);

    if (kind != 'd' && kind != 'w' && kind != 's')
        return false;
    for (unsigned c = 0; c < 256; c++) {
        const bool in = kind == 'd' ? c >= '0' && c <= '9' : kind == 'w' ? re_word((unsigned char)c) : c == ' ' || (c >= '\t' && c <= '\r');
        if (in == (name == kind))
            set_add(s, (unsigned char)c);
    }
    return true;
}

/* The byte of an escape; -1: an escape that is not supported. */
static int escape_byte(char c)
{
    static const char letters[] = "tnrfv", bytes[] = "\t\n\r\f\v";
    const char *at = c != '\0' ? strchr(letters, c) : NULL;

    if (at != NULL)
        return bytes[at - letters];
    return c == '\0' || re_word((unsigned char)c) || (unsigned char)c >= 0x80 ? -1 : (unsigned char)c;
}

/* One byte of a set, or a class of them. -1: it was a class, or is wrong. */
static int set_item(re_program *p, re_set *s)
{
    int c = (unsigned char)*p->at++;

    if (c >= 0x80) {
        re_wrong(p, "[...] holds what is no ASCII");
        return -1;
    }
    if (c != '\\')
        return c;
    if (set_class(s, *p->at)) {
        p->at++;
        return -1;
    }
    if ((c = escape_byte(*p->at)) < 0)
        re_wrong(p, "[...] holds an escape that is not read here");
    else
        p->at++;
    return c;
}

/* The bytes behind the first of a character. */
static bool rest_emit(re_program *p)
{
    return !p->characters || re_emit(p, RE_REST, 0) != RE_INSTS;
}

static bool set_emit(re_program *p, re_set s)
{
    const bool wide = p->characters && s.bits[0xC0 / 8] != 0;
    size_t i = 0;

    if (p->characters)
        memset(&s.bits[0x80 / 8], 0, (0xC0 - 0x80) / 8);       /* no character begins with these */
    while (i < p->nsets && memcmp(&p->sets[i], &s, sizeof s) != 0)
        i++;
    if (i == RE_SETS)
        return re_wrong(p, "it has too many sets");
    p->sets[i] = s;
    p->nsets += i == p->nsets;
    return re_emit(p, RE_SET, (uint8_t)i) != RE_INSTS && (!wide || rest_emit(p));
}

static bool re_brackets(re_program *p)
{
    re_set s = { { 0 } };
    const bool not = *p->at == '^';

    p->at += not;
    while (*p->at != ']' && p->why == NULL) {
        int c, to;

        if (*p->at == '\0')
            return re_wrong(p, "a [ has no ]");
        c = to = set_item(p, &s);
        if (c >= 0 && p->at[0] == '-' && p->at[1] != ']' && p->at[1] != '\0') {
            p->at++;
            to = set_item(p, &s);
            if (to < c)
                return re_wrong(p, "[...] holds a range that ends before it begins");
        }
        for (; c >= 0 && c <= to; c++)
            set_add(&s, (unsigned char)c);
    }
    if (p->why != NULL)
        return false;
    p->at++;
    for (unsigned c = 'a'; p->icase && c <= 'z'; c++)
        if (((s.bits[c / 8] >> c % 8 | s.bits[(c - 32) / 8] >> (c - 32) % 8) & 1) != 0) {
            set_add(&s, (unsigned char)c);
            set_add(&s, (unsigned char)(c - 32));
        }
    for (size_t i = 0; not && i < sizeof s.bits; i++)
        s.bits[i] = (uint8_t)~s.bits[i];
    return set_emit(p, s);
}

/* ---- patterns ------------------------------------------------------------------------------------------------------ */

static bool re_either(re_program *p);

static bool re_group(re_program *p)
{
    if (p->at[0] == '?' && p->at[1] != ':')
        return re_wrong(p, "(?...) is not read here, but for (?:...)");
    if (*p->at == '?')
        p->at += 2;
    if (++p->depth > RE_DEPTH)
        return re_wrong(p, "its groups are too deep");
    if (!re_either(p))
        return false;
    p->depth--;
    if (*p->at != ')')
        return re_wrong(p, "a ( has no )");
    p->at++;
    return true;
}

static bool re_escape(re_program *p)
{
    const char c = *p->at;
    re_set s = { { 0 } };
    int byte;

    if (c == 'b' || c == 'B') {
        p->at++;
        return re_emit(p, c == 'b' ? RE_WORD : RE_NOT_WORD, 0) != RE_INSTS;
    }
    if (set_class(&s, c)) {
        p->at++;
        return set_emit(p, s);
    }
    if ((byte = escape_byte(c)) < 0)
        return re_wrong(p, c == '\0' ? "it ends in a \\" : "it has an escape that is not read here");
    p->at++;
    return re_emit(p, RE_CHAR, (uint8_t)byte) != RE_INSTS;
}

static bool re_atom(re_program *p)
{
    const unsigned char c = (unsigned char)*p->at++;

    switch (c) {
    case '(': return re_group(p);
    case '[': return re_brackets(p);
    case '\\': return re_escape(p);
    case '.': return re_emit(p, RE_ANY, 0) != RE_INSTS && rest_emit(p);
    case '^': return re_emit(p, RE_BEGIN, 0) != RE_INSTS;
    case '$': return re_emit(p, RE_END, 0) != RE_INSTS;
    case '*': case '+': case '?': return re_wrong(p, "there is nothing to repeat");
    }
    if (re_emit(p, RE_CHAR, c) == RE_INSTS)
        return false;
    while (c >= 0xC0 && ((unsigned char)*p->at & 0xC0) == 0x80)     /* a character is one, whatever its bytes */
        if (re_emit(p, RE_CHAR, (uint8_t)*p->at++) == RE_INSTS)
            return false;
    return true;
}

static unsigned re_count(const char **at)
{
    unsigned n = 0;

    for (; **at >= '0' && **at <= '9'; ++*at)
        n = n > RE_REPEAT ? n : n * 10 + (unsigned)(**at - '0');
    return n;
}

/* * + ? {n} {n,} {n,m}, and a ? behind it, which makes it lazy. *most RE_REPEAT + 1: without end. */
static bool re_repeat(re_program *p, unsigned *least, unsigned *most, uint8_t *lazy)
{
    const char *at = p->at;

    *least = *most = 1;
    *lazy = 0;
    if (*at == '*' || *at == '+' || *at == '?') {
        *least = *at == '+';
        *most = *at == '?' ? 1 : RE_REPEAT + 1;
        at++;
    } else if (*at == '{' && at[1] >= '0' && at[1] <= '9') {
        at++;
        *least = *most = re_count(&at);
        if (*at == ',') {
            at++;
            *most = *at == '}' ? RE_REPEAT + 1 : re_count(&at);
        }
        if (*at != '}' || *least > RE_REPEAT || *most < *least || *most == 0)
            return re_wrong(p, "it has a {...} that cannot be");
        at++;
    } else {
        return true;
    }
    *lazy = *at == '?';
    p->at = at + *lazy;
    if (*p->at == '*' || *p->at == '+' || *p->at == '?' || (p->at[0] == '{' && p->at[1] >= '0' && p->at[1] <= '9'))
        return re_wrong(p, "it repeats what is repeated");
    return true;
}

/* Put an instruction before those from `at` on, which lead nowhere else. */
static uint16_t re_insert(re_program *p, size_t at, uint8_t op, uint8_t c)
{
    if (re_emit(p, op, c) == RE_INSTS)
        return RE_INSTS;
    memmove(&p->insts[at + 1], &p->insts[at], (p->n - 1 - at) * sizeof *p->insts);
    for (size_t i = at + 1; i < p->n; i++) {
        p->insts[i].x = (uint16_t)(p->insts[i].x + (p->insts[i].x >= at));
        p->insts[i].y = (uint16_t)(p->insts[i].y + (p->insts[i].y >= at));
    }
    p->insts[at] = (re_inst){ .op = op, .c = c, .x = (uint16_t)(at + 1), .y = RE_INSTS };
    return (uint16_t)at;
}

/* Those that may be there or not, behind those that have to: `split` is of the first, RE_INSTS: none is there yet. */
static bool re_options(re_program *p, const char *from, uint16_t split, unsigned n, uint8_t lazy)
{
    uint16_t last = split;

    for (; n > 0; n--) {
        if ((split = re_emit(p, RE_SPLIT, lazy)) == RE_INSTS)
            return false;
        p->insts[split].y = last;       /* a chain, until the end is known */
        last = split;
        p->at = from;
        if (!re_atom(p))
            return false;
    }
    while (last != RE_INSTS) {
        split = last;
        last = p->insts[split].y;
        p->insts[split].y = (uint16_t)p->n;
    }
    return true;
}

/* An atom and how often: it is read again for each further time, and every reading leaves instructions, so there is an end. */
static bool re_piece(re_program *p)
{
    const char *from = p->at, *behind;
    size_t start = p->n;
    unsigned least, most;
    uint16_t split = RE_INSTS;
    uint8_t lazy;

    if (!re_atom(p) || !re_repeat(p, &least, &most, &lazy))
        return false;
    behind = p->at;
    if (least == 0 && (split = re_insert(p, start, RE_SPLIT, lazy)) == RE_INSTS)
        return false;
    for (unsigned made = 1; made < least; made++) {
        start = p->n;
        p->at = from;
        if (!re_atom(p))
            return false;
    }
    if (most > RE_REPEAT) {
        if (re_emit(p, split != RE_INSTS ? RE_JUMP : RE_SPLIT, lazy) == RE_INSTS)
            return false;
        p->insts[p->n - 1].x = split != RE_INSTS ? split : (uint16_t)start;
        p->insts[p->n - 1].y = (uint16_t)p->n;
        most = least;
    } else {
        most -= least == 0;
    }
    if (!re_options(p, from, split, most - least, lazy))
        return false;
    p->at = behind;
    return true;
}

static bool re_either(re_program *p)
{
    uint16_t head, tail, last = RE_INSTS;

    for (;;) {
        if ((head = re_emit(p, RE_JUMP, 0)) == RE_INSTS)
            return false;
        while (*p->at != '\0' && *p->at != '|' && *p->at != ')')
            if (!re_piece(p))
                return false;
        if (*p->at != '|')
            break;
        p->at++;
        if ((tail = re_emit(p, RE_JUMP, 0)) == RE_INSTS)
            return false;
        p->insts[tail].x = last;
        last = tail;
        p->insts[head].op = RE_SPLIT;
        p->insts[head].y = (uint16_t)p->n;
    }
    while (last != RE_INSTS) {
        tail = last;
        last = p->insts[tail].x;
        p->insts[tail].x = (uint16_t)p->n;
    }
    return true;
}

static bool re_whole(re_program *p)
{
    if (!re_either(p))
        return false;
    if (*p->at != '\0')
        return re_wrong(p, "a ) has no (");
    return re_emit(p, RE_MATCH, 0) != RE_INSTS;
}

bool re_compile_as(re_program *p, const char *pattern, unsigned flags, const char **why)
{
    bool good;

    p->n = p->nsets = 0;
    p->at = pattern;
    p->why = NULL;
    p->depth = 0;
    p->characters = (flags & RE_AS_CHARACTERS) != 0;
    p->icase = (flags & RE_AS_ICASE) != 0;
    p->lines = (flags & RE_AS_LINES) != 0;
    good = re_whole(p);
    *why = p->why;
    return good;
}

bool re_compile(re_program *p, const char *pattern, bool characters, const char **why)
{
    return re_compile_as(p, pattern, characters ? RE_AS_CHARACTERS : 0, why);
}

/* ---- texts ------------------------------------------------------------------------------------------------------------ */

typedef struct re_ways { uint16_t at[RE_INSTS]; size_t n; } re_ways;
typedef struct re_text { const char *text, *end; } re_text;

/* A byte of a character behind its first. */
static bool re_rest(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

static bool re_begins(const re_program *p, const re_text *t, const char *at)
{
    return at == t->text || (p->lines && at[-1] == '\n');
}

static bool re_ends(const re_program *p, const re_text *t, const char *at)
{
    return at == t->end || (p->lines && (*at == '\n' || (*at == '\r' && (at + 1 == t->end || at[1] == '\n'))));
}

/* All that is reached from instruction `from` without reading a byte, what is preferred first. True: the match is reached, and what is preferred less is
 * left out. */
static bool re_reach(const re_program *p, re_ways *w, uint32_t *seen, uint32_t round, uint16_t from, const re_text *t, const char *at)
{
    uint16_t stack[RE_INSTS];
    size_t n = 0;
    const bool more = at < t->end && re_rest((unsigned char)*at), before = at > t->text && re_word((unsigned char)at[-1]),
               here = re_word((unsigned char)*at);

    stack[n++] = from;
    while (n > 0) {
        const uint16_t i = stack[--n];
        const re_inst *in = &p->insts[i];
        bool on = in->op == RE_SPLIT || in->op == RE_JUMP;

        if (seen[i] == round)
            continue;
        seen[i] = round;
        if (in->op == RE_MATCH)
            return true;
        if (in->op == RE_CHAR || in->op == RE_ANY || in->op == RE_SET || (in->op == RE_REST && more))
            w->at[w->n++] = i;
        on = on || (in->op == RE_BEGIN && re_begins(p, t, at)) || (in->op == RE_END && re_ends(p, t, at)) || (in->op == RE_WORD && before != here) ||
             (in->op == RE_NOT_WORD && before == here) || (in->op == RE_REST && !more);
        if (in->op == RE_SPLIT && n + 1 < RE_INSTS) {   /* the last one is taken first */
            stack[n++] = in->c != 0 ? in->x : in->y;
            stack[n++] = in->c != 0 ? in->y : in->x;
        } else if (on) {
            stack[n++] = in->x;
        }
    }
    return false;
}

static unsigned char re_low(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

static bool re_steps(const re_program *p, const re_inst *in, unsigned char c)
{
    if (in->op == RE_SET)
        return (p->sets[in->c].bits[c / 8] >> c % 8 & 1) != 0;
    if (in->op == RE_ANY)
        return (p->lines || (c != '\n' && c != '\r')) && !(p->characters && re_rest(c));
    return in->op == RE_REST ? re_rest(c) : p->icase ? re_low(in->c) == re_low(c) : in->c == c;
}

bool re_found(const re_program *p, const char *text, size_t size)
{
    const re_text t = { text, text + size };
    re_ways ways[2] = { { .n = 0 }, { .n = 0 } }, *now = &ways[0], *next = &ways[1], *swap;
    uint32_t seen[RE_INSTS] = { 0 }, round = 1;

    for (const char *at = text;; at++, round++) {
        if (re_reach(p, now, seen, round, 0, &t, at))      /* it may begin anywhere */
            return true;
        if (at == t.end)
            return false;
        next->n = 0;
        for (size_t i = 0; i < now->n; i++) {
            const re_inst *in = &p->insts[now->at[i]];

            if (re_steps(p, in, (unsigned char)*at) &&
                re_reach(p, next, seen, round + 1, in->op == RE_REST ? now->at[i] : in->x, &t, at + 1))
                return true;
        }
        swap = now;
        now = next;
        next = swap;
    }
}

/* ---- where a match is --------------------------------------------------------------------------------------------- */

/* Ways in the order of preference, each with where its match begins. */
typedef struct re_threads { re_ways w; const char *begin[RE_INSTS]; } re_threads;

static bool re_follow(const re_program *p, re_threads *to, uint32_t *seen, uint32_t round, uint16_t from, const re_text *t, const char *at, const char *begin)
{
    const size_t had = to->w.n;
    const bool matched = re_reach(p, &to->w, seen, round, from, t, at);

    for (size_t i = had; i < to->w.n; i++)
        to->begin[i] = begin;
    return matched;
}

/* All ways read the byte at `at`. True: one of them has matched then, and those that are preferred less are left out. */
static bool re_read(const re_program *p, const re_threads *now, re_threads *next, uint32_t *seen, uint32_t round, const re_text *t, const char *at,
                    const char **begin)
{
    next->w.n = 0;
    for (size_t i = 0; i < now->w.n; i++) {
        const re_inst *in = &p->insts[now->w.at[i]];

        if (re_steps(p, in, (unsigned char)*at) &&
            re_follow(p, next, seen, round, in->op == RE_REST ? now->w.at[i] : in->x, t, at + 1, now->begin[i])) {
            *begin = now->begin[i];
            return true;
        }
    }
    return false;
}

bool re_find(const re_program *p, const char *text, size_t size, size_t from, re_stop_fn *stop, void *ctx, re_span *out)
{
    const re_text t = { text, text + size };
    re_threads ways[2], *now = &ways[0], *next = &ways[1], *swap;
    uint32_t seen[RE_INSTS] = { 0 }, round = 1;
    const char *begin = NULL, *end = NULL;

    now->w.n = 0;
    for (const char *at = text + from;; at++, round++) {
        if (begin == NULL && re_follow(p, now, seen, round, 0, &t, at, at))     /* it may begin anywhere, the earlier the better */
            begin = end = at;
        if (at == t.end || (begin != NULL && now->w.n == 0))
            break;
        if (stop != NULL && round % RE_STOP_EVERY == 0 && stop(ctx))
            return false;
        if (re_read(p, now, next, seen, round + 1, &t, at, &begin))
            end = at + 1;
        swap = now;
        now = next;
        next = swap;
    }
    if (begin != NULL)
        *out = (re_span){ (size_t)(begin - text), (size_t)(end - text) };
    return begin != NULL;
}
