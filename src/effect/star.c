/* star.c - takes a secret, such as the key of a model, out of a text: as it is, in base64 (alone, or behind a user's name) and in hex, for a server may echo
 * headers.
 *
 * Called by the handlers of models, and by the engine for each reply to a command that had a secret, on any thread. */
#include "effect/effect.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_CODED_LEAST = 8 };   /* shorter than any key: words of that length may be a part of anything */

typedef struct starring { char *text, *end; size_t hits; } starring;

static char *find(const starring *s, char *from, const char *what, size_t n)
{
    for (char *at = from; n > 0 && at < s->end && (size_t)(s->end - at) >= n; at++)
        if ((at = memchr(at, what[0], (size_t)(s->end - at) - n + 1)) == NULL || memcmp(at, what, n) == 0)
            return at;
    return NULL;
}

static void starred(starring *s, const char *what, size_t n)
{
    for (char *at = s->text; (at = find(s, at, what, n)) != NULL; at += n, s->hits++)
        memset(at, '*', n);
}

static bool in_base64(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("+/-_", c) != NULL;
}

/* The letters that stand for bits of the key alone, `before` bytes after the beginning of what was encoded; those beside them hold bits of it, too. */
static void starred_base64(starring *s, const char *key, size_t n, size_t before, const char *alphabet, char *room)
{
    const size_t from = (8 * before + 5) / 6, to = 8 * (before + n) / 6;
    size_t size = 0;

    for (size_t letter = from; letter < to; letter++) {
        unsigned bits = 0;

        for (size_t bit = 6 * letter; bit < 6 * letter + 6; bit++)
            bits = bits << 1 | ((unsigned char)key[bit / 8 - before] >> (7 - bit % 8) & 1u);
        room[size++] = alphabet[bits];
    }
    room[size] = '\0';
    for (char *at = s->text; size >= KEY_CODED_LEAST && (at = find(s, at, room, size)) != NULL; at += size, s->hits++) {
        memset(at, '*', size);
        if (at > s->text && in_base64(at[-1]))
            at[-1] = '*';
        if (at + size < s->end && in_base64(at[size]))
            at[size] = '*';
    }
}

size_t text_star(char *text, size_t size, const char *secret)
{
    static const char *const base64[] = { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" };
    static const char *const hex[] = { "0123456789abcdef", "0123456789ABCDEF" };
    const size_t n = secret != NULL ? strlen(secret) : 0, room_size = 2 * n + 8;
    starring s = { text, text + size, 0 };
    char *room;

    starred(&s, secret, n);
    if (n < KEY_CODED_LEAST)
        return s.hits;
    if ((room = malloc(room_size)) == NULL) {
        memset(text, '*', size);        /* rather no words than the secret */
        return size;
    }
    for (size_t i = 0; i < 2; i++) {
        for (size_t before = 0; before < 3; before++)
            starred_base64(&s, secret, n, before, base64[i], room);
        for (size_t k = 0; k < n; k++) {
            room[2 * k] = hex[i][(unsigned char)secret[k] >> 4];
            room[2 * k + 1] = hex[i][(unsigned char)secret[k] & 15];
        }
        room[2 * n] = '\0';
        starred(&s, room, 2 * n);
    }
    memset(room, 0, room_size);
    free(room);
    return s.hits;
}
