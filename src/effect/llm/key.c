/* key.c - takes the key of a model out of a text: as it is, in base64 (alone, or behind a user's name) and in hex, for a server may echo headers.
 *
 * Called by fail.c and llm.c, on any thread. */
#include "effect/llm/llm.h"

#include <stdlib.h>

enum { KEY_CODED_LEAST = 8 };   /* shorter than any key: words of that length may be a part of anything */

static void starred(char *text, const char *what, size_t n)
{
    for (char *at = text; n > 0 && (at = strstr(at, what)) != NULL; at += n)
        memset(at, '*', n);
}

static bool in_base64(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("+/-_", c) != NULL;
}

/* The letters that stand for bits of the key alone, `before` bytes after the beginning of what was encoded; those beside them hold bits of it, too. */
static void starred_base64(char *text, const char *key, size_t n, size_t before, const char *alphabet, char *room)
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
    for (char *at = text; size >= KEY_CODED_LEAST && (at = strstr(at, room)) != NULL; at += size) {
        memset(at, '*', size);
        if (at > text && in_base64(at[-1]))
            at[-1] = '*';
        if (at[size] != '\0' && in_base64(at[size]))
            at[size] = '*';
    }
}

void llm_key_star(char *text, const char *key)
{
    static const char *const base64[] = { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" };
    static const char *const hex[] = { "0123456789abcdef", "0123456789ABCDEF" };
    const size_t n = key != NULL ? strlen(key) : 0, room_size = 2 * n + 8;
    char *room;

    starred(text, key, n);
    if (n < KEY_CODED_LEAST)
        return;
    if ((room = malloc(room_size)) == NULL) {
        *text = '\0';           /* rather no words than the key */
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        for (size_t before = 0; before < 3; before++)
            starred_base64(text, key, n, before, base64[i], room);
        for (size_t k = 0; k < n; k++) {
            room[2 * k] = hex[i][(unsigned char)key[k] >> 4];
            room[2 * k + 1] = hex[i][(unsigned char)key[k] & 15];
        }
        room[2 * n] = '\0';
        starred(text, room, 2 * n);
    }
    memset(room, 0, room_size);
    free(room);
}
