/* html.c - converts a page to text in one pass without a tree.
 *
 * Called by fetch.c; pure. Invalid markup costs some text, never more time. */
#include "effect/tool/tool.h"

enum {
    TAG_BYTES = 16,             /* of a tag's name; no longer name matters */
    URL_BYTES = 2000,
    ENTITY_BYTES = 10,
    BLANK_LINES_MAX = 1
};

typedef struct html_page {
    const char *p, *end;
    buf *out;
    bool blank;                 /* a space before the next word is pending */
    unsigned lines;             /* line ends before it that are pending */
    unsigned pre;
    bool begun;                 /* output has begun */
    const char *url;            /* of the open link */
    size_t url_size, url_from;  /* url_from: where the link's text begins */
} html_page;

typedef struct tag {
    char name[TAG_BYTES + 1];   /* in lower case */
    bool closes;
    const char *attrs, *attrs_end;
} tag;

static char low(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool same(const char *p, const char *end, const char *word)
{
    for (; *word != '\0'; p++, word++)
        if (p == end || low(*p) != *word)
            return false;
    return true;
}

/* ---- text -------------------------------------------------------------------------------------------- */

static void due(html_page *g)
{
    if (g->lines > 0 && g->begun)
        for (unsigned i = 0; i < g->lines && i <= BLANK_LINES_MAX; i++)
            buf_char(g->out, '\n');
    else if (g->blank && g->begun && g->lines == 0)
        buf_char(g->out, ' ');
    g->lines = 0;
    g->blank = false;
    g->begun = true;
}

static void word(html_page *g, const char *text, size_t size)
{
    due(g);
    buf_put(g->out, text, size);
}

static void line(html_page *g, unsigned n)
{
    if (n > g->lines)
        g->lines = n;
}

static size_t utf8_of(uint32_t c, char out[4])
{
    if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        c = 0xFFFD;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

static const struct { const char *name; uint32_t c; } entities[] = {
    { "amp", '&' }, { "lt", '<' }, { "gt", '>' }, { "quot", '"' }, { "apos", '\'' }, { "nbsp", ' ' }, { "copy", 0xA9 }, { "reg", 0xAE },
    { "trade", 0x2122 }, { "hellip", 0x2026 }, { "mdash", 0x2014 }, { "ndash", 0x2013 }, { "lsquo", 0x2018 }, { "rsquo", 0x2019 },
    { "ldquo", 0x201C }, { "rdquo", 0x201D }, { "laquo", 0xAB }, { "raquo", 0xBB }, { "bull", 0x2022 }, { "middot", 0xB7 }, { "times", 0xD7 },
    { "deg", 0xB0 }, { "euro", 0x20AC }, { "pound", 0xA3 }, { "sect", 0xA7 }, { "para", 0xB6 }, { "larr", 0x2190 }, { "rarr", 0x2192 },
    { "uarr", 0x2191 }, { "darr", 0x2193 }, { "le", 0x2264 }, { "ge", 0x2265 }, { "ne", 0x2260 }, { "auml", 0xE4 }, { "ouml", 0xF6 },
    { "uuml", 0xFC }, { "Auml", 0xC4 }, { "Ouml", 0xD6 }, { "Uuml", 0xDC }, { "szlig", 0xDF }, { "eacute", 0xE9 }, { "egrave", 0xE8 },
    { "agrave", 0xE0 }, { "ccedil", 0xE7 }, { "ntilde", 0xF1 }, { "shy", 0xAD }, { "ensp", ' ' }, { "emsp", ' ' }, { "thinsp", ' ' },
};

/* The character of the entity at *p, which is advanced. 0: not an entity. */
static uint32_t entity(const char **p, const char *end)
{
    const char *from = *p + 1, *at = from;
    uint32_t c = 0;

    while (at < end && at - from <= ENTITY_BYTES && *at != ';' && *at != '&' && *at != '<' && !space(*at))
        at++;
    if (at == end || *at != ';' || at == from)
        return 0;
    if (*from == '#') {
        bool hex = from[1] == 'x' || from[1] == 'X';

        for (const char *d = from + (hex ? 2 : 1); d < at; d++) {
            char digit = low(*d);

            if (digit >= '0' && digit <= '9')
                c = c * (hex ? 16 : 10) + (uint32_t)(digit - '0');
            else if (hex && digit >= 'a' && digit <= 'f')
                c = c * 16 + (uint32_t)(digit - 'a' + 10);
            else
                return 0;
            if (c > 0x10FFFF)
                c = 0x110000;
        }
        c = c == 0 || c > 0x10FFFF ? 0xFFFD : c;
    } else {
        for (size_t i = 0; i < sizeof entities / sizeof *entities && c == 0; i++)
            if (strlen(entities[i].name) == (size_t)(at - from) && memcmp(entities[i].name, from, (size_t)(at - from)) == 0)
                c = entities[i].c;
    }
    if (c != 0)
        *p = at + 1;
    return c;
}

static void text(html_page *g)
{
    while (g->p < g->end && *g->p != '<') {
        uint32_t c;
        char out[4];

        if (*g->p == '&' && (c = entity(&g->p, g->end)) != 0) {
            if (c == ' ' && g->pre == 0)
                g->blank = true;
            else
                word(g, out, utf8_of(c, out));
        } else if (space(*g->p) && g->pre == 0) {
            g->blank = true;
            g->p++;
        } else if (*g->p == '\r') {
            g->p++;
        } else {
            word(g, g->p++, 1);
        }
    }
}

/* ---- tags ----------------------------------------------------------------------------------------------- */

/* The value of an attribute; *size 0: none. */
static const char *attr(const tag *t, const char *name, size_t *size)
{
    const char *p = t->attrs, *end = t->attrs_end;

    *size = 0;
    while (p < end) {
        const char *from = p, *value;
        bool it;
        char quote;

        while (p < end && *p != '=' && !space(*p) && *p != '/')
            p++;
        it = (size_t)(p - from) == strlen(name) && same(from, p, name);
        while (p < end && space(*p))
            p++;
        if (p == end || *p != '=') {
            p += p == from && p < end;
            continue;
        }
        p++;
        while (p < end && space(*p))
            p++;
        quote = p < end && (*p == '"' || *p == '\'') ? *p++ : '\0';
        value = p;
        while (p < end && (quote != '\0' ? *p != quote : !space(*p)))
            p++;
        if (it) {
            *size = (size_t)(p - value);
            return value;
        }
        p += p < end;
    }
    return NULL;
}

/* At "<". False: it is text, not a tag; nothing was consumed. */
static bool tag_read(html_page *g, tag *t)
{
    const char *p = g->p + 1;
    size_t n = 0;
    char quote = '\0';

    t->closes = p < g->end && *p == '/';
    p += t->closes;
    if (p == g->end || low(*p) < 'a' || low(*p) > 'z')
        return false;
    for (; p < g->end && !space(*p) && *p != '>' && *p != '/'; p++)
        if (n <= TAG_BYTES)
            t->name[n++ < TAG_BYTES ? n - 1 : TAG_BYTES] = low(*p);
    t->name[n > TAG_BYTES ? 0 : n] = '\0';
    t->attrs = p;
    for (; p < g->end && (quote != '\0' || *p != '>'); p++)
        if (quote != '\0' ? *p == quote : (*p == '"' || *p == '\'') && p[-1] == '=')
            quote = quote != '\0' ? '\0' : *p;
    t->attrs_end = p;
    g->p = p < g->end ? p + 1 : p;
    return true;
}

/* Skips to its end: "-->", "</script". */
static void skip_to(html_page *g, const char *what, bool past)
{
    size_t n = strlen(what);

    while (g->p < g->end && !same(g->p, g->end, what))
        g->p++;
    if (past)
        g->p = (size_t)(g->end - g->p) < n ? g->end : g->p + n;
}

static bool one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Appends the address of a link, unless its text is the address. */
static void link_end(html_page *g)
{
    const size_t size = g->out->size > g->url_from ? g->out->size - g->url_from : 0;

    if (g->url != NULL && size > 0 && !(size == g->url_size && memcmp(g->out->data + g->url_from, g->url, size) == 0)) {
        buf_text(g->out, " (");
        for (size_t i = 0; i < g->url_size; i++) {
            const char *p = g->url + i, *from = p;
            char out[4];
            uint32_t c = *p == '&' ? entity(&p, g->url + g->url_size) : 0;

            if (c != 0) {
                buf_put(g->out, out, utf8_of(c, out));
                i += (size_t)(p - from) - 1;
            } else if (!space(*p)) {
                buf_char(g->out, *p);
            }
        }
        buf_char(g->out, ')');
    }
    g->url = NULL;
}

static void link_begin(html_page *g, const tag *t)
{
    size_t n;
    const char *url = attr(t, "href", &n);

    link_end(g);
    if (url == NULL || n == 0 || n > URL_BYTES || *url == '#' || same(url, url + n, "javascript:"))
        return;
    g->url = url;
    g->url_size = n;
    if (g->begun && (g->lines > 0 || g->blank))
        due(g);                 /* so that its text begins after them */
    g->url_from = g->out->size;
}

static void heading(html_page *g, const tag *t)
{
    line(g, 2);
    if (t->closes)
        return;
    word(g, "######", (size_t)(t->name[1] - '0'));
    g->blank = true;
}

static void tag_to_text(html_page *g, const tag *t)
{
    static const char *const blocks[] = { "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol", "dl", "table", "blockquote",
                                          "figure", "form", "fieldset", "title", "details", "body" };
    static const char *const lines[] = { "br", "tr", "dt", "dd", "option", "figcaption", "summary", "caption", "hr", "label", "legend" };

    if (strcmp(t->name, "a") == 0) {
        if (t->closes)
            link_end(g);
        else
            link_begin(g, t);
    } else if (strcmp(t->name, "li") == 0) {
        line(g, 1);
        if (!t->closes) {
            word(g, "-", 1);
            g->blank = true;
        }
    } else if (strcmp(t->name, "td") == 0 || strcmp(t->name, "th") == 0) {
        g->blank = true;
    } else if (t->name[0] == 'h' && t->name[1] >= '1' && t->name[1] <= '6' && t->name[2] == '\0') {
        heading(g, t);
    } else if (strcmp(t->name, "pre") == 0) {
        line(g, 2);
        g->pre = t->closes ? 0 : 1;
    } else if (one_of(t->name, blocks, sizeof blocks / sizeof *blocks)) {
        line(g, 2);
    } else if (one_of(t->name, lines, sizeof lines / sizeof *lines)) {
        line(g, 1);
    }
}

/* Skips an element without text, up to its closing tag. */
static bool dropped(html_page *g, const tag *t)
{
    static const struct { const char *name, *end; } none[] = { { "script", "</script" }, { "style", "</style" }, { "template", "</template" },
        { "svg", "</svg" }, { "noscript", "</noscript" }, { "iframe", "</iframe" }, { "textarea", "</textarea" }, { "math", "</math" } };

    for (size_t i = 0; i < sizeof none / sizeof *none && !t->closes; i++)
        if (strcmp(t->name, none[i].name) == 0) {
            if (t->attrs_end > t->attrs && t->attrs_end[-1] == '/' && strcmp(t->name, "svg") == 0)
                return true;
            skip_to(g, none[i].end, false);
            return true;
        }
    return false;
}

void html_text(const char *data, size_t size, buf *out)
{
    html_page g = { .p = data, .end = size > 0 ? data + size : data, .out = out };
    tag t;

    while (g.p < g.end) {
        if (*g.p != '<') {
            text(&g);
        } else if (same(g.p, g.end, "<!--")) {
            skip_to(&g, "-->", true);
        } else if (g.p + 1 < g.end && (g.p[1] == '!' || g.p[1] == '?')) {
            skip_to(&g, ">", true);
        } else if (tag_read(&g, &t)) {
            if (!dropped(&g, &t))
                tag_to_text(&g, &t);
        } else {
            word(&g, g.p++, 1);
        }
    }
    link_end(&g);
    if (g.begun)
        buf_char(out, '\n');
}
