/* scan.c - reads canonical text in one pass: what canon.c writes, and nothing else (K2).
 *
 * Pure. Entries are read far more often than other JSON, and every byte of them was written by Pawl: so there is nothing to skip, to sort or to read
 * twice. Strings are terminated by NUL in place of their closing quote, in a copy of the text. */
#include "json/inner.h"

enum {
    NULS = 8,               /* after the text, because it is read eight bytes at a time */
    NODES_LEAST = 8,
    BYTES_A_NODE = 16,      /* of text, for the first guess */
    UINT_DIGITS_MAX = 20
};

bool scan_begin(scan *s, arena *a, const char *text, size_t size)
{
    char *copy = size < TEXT_BYTES_MAX ? arena_get(a, size + NULS) : NULL;

    s->a = a;       /* member by member: clearing a struct of this size at once is slower */
    s->at = s->from = s->end = copy;
    s->text = text;
    s->size = size;
    s->nodes = NULL;
    s->depth = s->start = s->used = s->cap = 0;
    s->wrong = NULL;
    if (copy == NULL)
        return false;
    memcpy(copy, text, size);
    memset(copy + size, 0, NULS);
    s->end += size;
    return true;
}

bool scan_wrong(scan *s)
{
    if (s->wrong == NULL)
        s->wrong = s->at;
    s->at = s->end;
    return false;
}

pawl_code scan_fails(const scan *s, const char *what, pawl_err *err)
{
    if (!s->a->failed && value_read(s->a, s->text, s->size, what, err) != NULL)
        return fail(err, PAWL_CORRUPT, "%s: byte %zu: what stands there is not in its canonical form", what,
                    (size_t)((s->wrong != NULL ? s->wrong : s->at) - s->from));
    return s->a->failed ? fail(err, PAWL_NOMEM, "%s: no memory to read it", what) : PAWL_CORRUPT;
}

/* ---- strings -------------------------------------------------------------------------------------- */

/* The character that the escape at p stands for; for an invalid escape a character that needs none, so that the caller refuses it. */
static unsigned char escape_meant(const char *p, const char *end)
{
    static const char hex[] = "0123456789abcdef", letters[] = "btnfr\"\\", meant[] = "\b\t\n\f\r\"\\";
    const char *at = p[1] != '\0' ? strchr(letters, p[1]) : NULL;

    if (at != NULL)
        return (unsigned char)meant[at - letters];
    if (end - p >= 6 && p[1] == 'u' && (p[4] == '0' || p[4] == '1') && p[5] != '\0' && (at = strchr(hex, p[5])) != NULL)
        return (unsigned char)((p[4] - '0') << 4 | (int)(at - hex));
    return ' ';
}

/* The size of the escape at p, which is decoded to `to` (may be p itself); 0: not as canon() writes it. */
static size_t escape_read(const char *p, const char *end, char *to)
{
    const char means = (char)escape_meant(p, end);
    char text[ESCAPE_TEXT_MAX];
    size_t n;

    if (text_run(&means, &means + 1) != 0)
        return 0;
    n = escape_char(text, (unsigned char)means);
    if ((size_t)(end - p) < n || memcmp(p, text, n) != 0)
        return 0;
    *to = means;
    return n;
}

/* From `p` on there are escapes or bytes beyond ASCII. The string is moved up as escapes are decoded. */
APART static bool string_rest(scan *s, char *p, scan_text *out)
{
    char *to = p;
    size_t n;

    for (;;) {
        n = text_run(p, s->end);
        if (to != p)
            memmove(to, p, n);
        to += n;
        p += n;
        if (*p != '\\')
            break;
        if ((n = escape_read(p, s->end, to)) == 0)
            break;
        out->plain = false;
        to++;
        p += n;
    }
    s->at = p;
    if (*p != '"' || !utf8_valid(out->text, (size_t)(to - out->text)))
        return scan_wrong(s);
    s->at++;
    *to = '\0';
    out->size = (size_t)(to - out->text);
    return true;
}

/* The first quote, backslash, control character, or byte beyond ASCII. The NULs after the text end every string. */
static char *plain_end(char *p)
{
#ifdef FIRST_MARK
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    uint64_t x, marks;

    for (;; p += NULS) {
        memcpy(&x, p, NULS);        /* as text_marks(), shorter, because bytes beyond ASCII are marked, too */
        marks = ((x - ones * 0x20) | ((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones) | x) & highs;
        if (marks != 0)
            return p + FIRST_MARK(marks);
    }
#else
    while ((signed char)*p >= 0x20 && *p != '"' && *p != '\\')
        p++;
    return p;
#endif
}

bool scan_string(scan *s, scan_text *out)
{
    char *p = s->at + 1;

    if (*s->at != '"')
        return scan_wrong(s);
    out->text = p;
    out->plain = true;
    p = plain_end(p);
    if (*p != '"')
        return string_rest(s, p, out);
    *p = '\0';
    out->size = (size_t)(p - out->text);
    s->at = p + 1;
    return true;
}

/* ---- numbers --------------------------------------------------------------------------------------- */

const char *digits_many(const char *p, uint64_t *out)
{
    const uint64_t nineteen = UINT64_C(10000000000000000000);   /* a 20-digit number that wraps around is below this */
    const char *from = p;
    uint64_t n = 0;

    for (unsigned d; (d = (unsigned)(unsigned char)*p - '0') < 10; p++)
        n = n * 10 + d;
    *out = n;
    if (p == from || (*from == '0' && p - from > 1) || p - from > UINT_DIGITS_MAX)
        return NULL;
    return p - from < UINT_DIGITS_MAX || (*from == '1' && n >= nineteen) ? p : NULL;
}

bool scan_int(scan *s, bool *below, uint64_t *n)
{
    const char *end;

    *below = *s->at == '-';
    end = digits_read(s->at + *below, n);
    if (end == NULL || *end == '.' || *end == 'e' || (*below && (*n == 0 || *n > (uint64_t)INT64_MAX + 1)))
        return scan_wrong(s);
    s->at += end - s->at;
    return true;
}

/* yyjson parses it; it must be what real_text() writes. */
APART static bool real_node(scan *s, yyjson_val *v)
{
    yyjson_val read = { 0 };
    char text[REAL_TEXT_MAX];
    const char *end = yyjson_read_number(s->at, &read, YYJSON_READ_NOFLAG, NULL, NULL);
    size_t n;

    if (end == NULL || node_form(&read) != FORM_REAL)
        return scan_wrong(s);
    n = real_text(read.uni.f64, text);
    if ((size_t)(end - s->at) != n || memcmp(s->at, text, n) != 0)
        return scan_wrong(s);
    s->at += n;
    node_set_real(v, read.uni.f64);
    return true;
}

static bool number_node(scan *s, yyjson_val *v)
{
    const char *p = s->at + (*s->at == '-'), *end;
    uint64_t n;
    bool below;

    if (p == s->at && (end = digits_read(p, &n)) != NULL && *end != '.' && *end != 'e') {
        s->at += end - p;       /* the most frequent number, read once */
        node_set_uint(v, n);
        return true;
    }
    while (*p >= '0' && *p <= '9')
        p++;
    if (*p == '.' || *p == 'e')
        return real_node(s, v);
    if (!scan_int(s, &below, &n))
        return false;
    node_set_uint(v, below ? 0 - n : n);
    if (below)
        v->tag = FORM_SINT;
    return true;
}

/* ---- values ------------------------------------------------------------------------------------------ */

static bool value_node(scan *s);

/* Moves the nodes of the current value; earlier values stay where they are. */
static bool nodes_widen(scan *s)
{
    size_t some = s->used - s->start, guess = (size_t)(s->end - s->at) / BYTES_A_NODE;
    size_t cap = NODES_LEAST + (guess > 2 * some ? guess : 2 * some);
    yyjson_val *nodes = arena_get(s->a, cap * sizeof *nodes);

    if (nodes == NULL)
        return scan_wrong(s);
    if (some > 0)
        memcpy(nodes, s->nodes + s->start, some * sizeof *nodes);
    s->nodes = nodes;
    s->start = 0;
    s->used = some;
    s->cap = cap;
    return true;
}

static inline yyjson_val *node_more(scan *s)
{
    return s->used < s->cap || nodes_widen(s) ? &s->nodes[s->used++] : NULL;
}

static bool string_node(scan *s)
{
    yyjson_val *v = node_more(s);
    scan_text t;

    if (v == NULL || !scan_string(s, &t))
        return false;
    node_set_string(v, t.text, t.size);
    if (t.plain)
        v->tag |= YYJSON_SUBTYPE_NOESC;
    return true;
}

static bool word_node(scan *s, const char *word, unsigned form)
{
    size_t n = strlen(word);
    yyjson_val *v;

    if (strncmp(s->at, word, n) != 0)
        return scan_wrong(s);
    if ((v = node_more(s)) == NULL)
        return false;
    s->at += n;
    node_set(v, form, 0);
    return true;
}

static void holder_ends(scan *s, size_t place, unsigned type, size_t members)
{
    node_set_holder(s->nodes + s->start + place, type, members, s->nodes + s->used);
}

static bool array_node(scan *s)
{
    size_t place = s->used - s->start, n = 0;

    if (!scan_open(s, '[') || node_more(s) == NULL)
        return false;
    for (; scan_left(s); n++)
        if (!scan_next(s) || !value_node(s))
            return false;
    holder_ends(s, place, YYJSON_TYPE_ARR, n);
    return scan_close(s, ']');
}

/* Each key must be greater than the one before it: sorted and distinct. Keys contain no NUL. */
static bool key_node(scan *s, size_t before, size_t n)
{
    const yyjson_val *key;

    if (!scan_next(s) || !string_node(s))
        return false;
    key = &s->nodes[s->used - 1];
    if (n > 0 && key_compare(s->nodes + s->start + before, key) >= 0)
        return scan_wrong(s);
    if (node_form(key) != FORM_PLAIN && memchr(key->uni.str, '\0', node_size(key)) != NULL)
        return scan_wrong(s);
    return scan_due(s, ':');
}

static bool object_node(scan *s)
{
    size_t place = s->used - s->start, key = 0, n = 0;

    if (!scan_open(s, '{') || node_more(s) == NULL)
        return false;
    for (; scan_left(s); n++) {
        size_t before = key;

        key = s->used - s->start;
        if (!key_node(s, before, n) || !value_node(s))
            return false;
    }
    holder_ends(s, place, YYJSON_TYPE_OBJ, n);
    return scan_close(s, '}');
}

static bool value_node(scan *s)
{
    yyjson_val *v;

    switch (*s->at) {
    case '"': return string_node(s);
    case '[': return array_node(s);
    case '{': return object_node(s);
    case 'n': return word_node(s, "null", YYJSON_TYPE_NULL);
    case 't': return word_node(s, "true", FORM_TRUE);
    case 'f': return word_node(s, "false", YYJSON_TYPE_BOOL);
    default: return (v = node_more(s)) != NULL && number_node(s, v);
    }
}

const pawl_value *scan_value(scan *s)
{
    s->start = s->used;
    return value_node(s) ? of_val(s->nodes + s->start) : NULL;
}
