/* query.c - the parameters of a target, decoded. Pure. */
#include "serve/serve_inner.h"

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NULL: a malformed escape, a control character, or no memory. */
static char *decode(arena *mem, const char *text, size_t size, bool plus)
{
    char *out = arena_get(mem, size + 1), *to = out;

    for (size_t i = 0; out != NULL && i < size; i++) {
        char c = text[i];

        if (c == '%') {
            const int high = i + 2 < size ? hex_of(text[i + 1]) : -1, low = i + 2 < size ? hex_of(text[i + 2]) : -1;

            if (high < 0 || low < 0)
                return NULL;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if ((unsigned char)c < ' ' || c == 0x7f)
            return NULL;
        *to++ = c;
    }
    if (out != NULL)
        *to = '\0';
    return out != NULL && utf8_valid(out, (size_t)(to - out)) ? out : NULL;
}

bool params_read(params *p, const char *query)
{
    p->n = 0;
    arena_init(&p->mem, NULL, 1024);
    while (query != NULL && *query != '\0') {
        const size_t size = strcspn(query, "&"), name = strcspn(query, "=&");

        if (size > 0) {
            if (p->n == PARAMS_MAX)
                return false;
            p->names[p->n] = decode(&p->mem, query, name, true);
            p->values[p->n] = name < size ? decode(&p->mem, query + name + 1, size - name - 1, true) : "";
            if (p->names[p->n] == NULL || p->values[p->n] == NULL)
                return false;
            p->n++;
        }
        query += size + (query[size] == '&' ? 1 : 0);
    }
    return true;
}

void params_free(params *p) { arena_free(&p->mem); }

const char *params_get(const params *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->names[i], name) == 0)
            return p->values[i];
    return NULL;
}

const char *segment_decode(arena *mem, const char *text, size_t size)
{
    const char *out = size > 0 ? decode(mem, text, size, false) : NULL;

    return out != NULL && strchr(out, '/') == NULL ? out : NULL;
}
