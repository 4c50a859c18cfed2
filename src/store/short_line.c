/* short_line.c - shortens a journal line for a file: hex digests as 32 bytes, frequent texts as one byte each.
 *
 * Owns nothing: pure functions, on any thread. Called by the SQLite store, for lines that no codec encodes.
 * Invariant: a journal line has no byte below 20 (hex), so each of those may stand for a text. docs/INTERFACES.md lists them; stored files have
 * them, so a number is never reused. A line that gets no shorter is stored as it is. */
#include "store/store.h"

enum { DIGEST = 2, FIRST_TEXT = 3, TEXT_BYTES_LEAST = 8, LEAST = 0x20, SHORTEN_BYTES_MAX = 16384 };

/* 0a (newline) is left out, so that a shell can show a row. */
#define TEXT(t) { t, sizeof t - 1 }
static const struct { char t[31]; uint8_t n; } texts[LEAST] = {
    [0x03] = TEXT("[[\"receipt\",\""), [0x04] = TEXT("[\"leave\",\""), [0x05] = TEXT("[\"close\",[\""),
    [0x06] = TEXT("[\"close\",[]"), [0x07] = TEXT("[\"call\",\""), [0x08] = TEXT("[\"ask\",\""), [0x09] = TEXT("[[\"records\","),
    [0x0b] = TEXT("[[\"leave\",\""), [0x0c] = TEXT("[[\"answer\",\""), [0x0d] = TEXT("[[\"visit\",\""),
    [0x0e] = TEXT("[\"visit\",\""), [0x0f] = TEXT("[[\"\",\"event\",\"0\"]]]"), [0x10] = TEXT("[\"sleep\",\""),
    [0x11] = TEXT("[\"emit\",\""), [0x12] = TEXT("[\"put\",[[\""), [0x13] = TEXT("\"tick\",\"working\","),
    [0x14] = TEXT("\"receipt\",\"working\","), [0x15] = TEXT("\"receipt\",\"completed\","),
    [0x16] = TEXT("\"answer\",\"working\","), [0x17] = TEXT("\"timer\",\"working\","), [0x18] = TEXT("\"start\",\"working\","),
    [0x19] = TEXT("\"input\",\"working\","), [0x1a] = TEXT("\"signal\",\"working\","), [0x1b] = TEXT("\"tick\",\"completed\","),
    [0x1c] = TEXT("\"receipt\",\"input-required\","), [0x1d] = TEXT("\"tick\",\"input-required\","),
};

/* ---- finding ---------------------------------------------------------------------------------------------- */

/* The first byte below LEAST at or after `at`, or the end; eight bytes at a time. */
static size_t low_find(pawl_bytes b, size_t at)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word;

    for (; at + 8 <= b.size; at += 8) {
        memcpy(&word, b.data + at, 8);
        if (((word - ones * LEAST) & ~word & ones * 0x80) != 0)
            break;
    }
    while (at < b.size && (unsigned char)b.data[at] >= LEAST)
        at++;
    return at;
}

/* 16: not a hex digit. */
static unsigned digit_of(char c)
{
    unsigned n = (unsigned)(unsigned char)c - '0', a = (unsigned)(unsigned char)c - 'a';

    return n <= 9 ? n : a <= 5 ? a + 10 : 16;
}

/* Exactly 64 hex digits: a longer sequence is not a digest. */
static bool digest_at(const char *at, const char *end, unsigned char out[HASH_BYTES])
{
    unsigned bad = 0;

    if (end - at < HASH_HEX || digit_of(at[0]) > 15 || digit_of(at[1]) > 15 || (end - at > HASH_HEX && digit_of(at[HASH_HEX]) <= 15))
        return false;
    for (int i = 0; i < HASH_BYTES; i++) {
        unsigned high = digit_of(at[2 * i]), low = digit_of(at[2 * i + 1]);

        bad |= high | low;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return bad <= 15;
}

/* ---- shortening ---------------------------------------------------------------------------------------------- */

typedef struct shortener { buf *out; const char *from, *end; } shortener;    /* bytes before `from` are written */

static void copy_to(shortener *s, const char *at)
{
    buf_put(s->out, s->from, (size_t)(at - s->from));
    s->from = at;
}

static const char *digest_shorten(shortener *s, const char *at)
{
    unsigned char digest[HASH_BYTES];

    if (!digest_at(at, s->end, digest))
        return at;
    copy_to(s, at);
    buf_char(s->out, DIGEST);
    buf_put(s->out, digest, HASH_BYTES);
    return s->from = at + HASH_HEX;
}

static const char *text_shorten(shortener *s, const char *at)
{
    for (int i = FIRST_TEXT; i < LEAST && s->end - at > TEXT_BYTES_LEAST; i++) {
        size_t n = texts[i].n;

        if (memcmp(at, texts[i].t, TEXT_BYTES_LEAST) != 0 || n == 0 || (size_t)(s->end - at) < n || memcmp(at, texts[i].t, n) != 0)
            continue;
        copy_to(s, at);
        buf_char(s->out, (char)i);
        return s->from = at + n;
    }
    return at;
}

/* A journal line has digests at its beginning, after a colon, and in the item "records". */
static const char *next_shorten(shortener *s, const char *at)
{
    bool is_records_item = *at == '[' && s->end - at > 4 && at[2] == '"' && at[3] == 'r' && at[4] == 'e' && at[5] == 'c' && at[6] == 'o';
    const char *after = *at == ':' ? digest_shorten(s, at + 1) : text_shorten(s, at);

    if (!is_records_item || after == at)
        return after > at ? after : at + 1;
    for (at = after; at < s->end && *at >= '0' && *at <= '9';)
        at++;
    return s->end - at > 2 && at[0] == ',' && at[1] == '"' ? digest_shorten(s, at + 2) : at;
}

bool store_line_shorten(pawl_bytes line, buf *out)
{
    shortener s = { out, line.data, line.data + line.size };
    const char *at = line.data, *bracket = at, *colon = at, *quote;

    buf_reset(out);
    if (line.size < 8 || line.size > SHORTEN_BYTES_MAX || low_find(line, 0) < line.size)
        return false;
    at = digest_shorten(&s, at);
    quote = memchr(at, '"', (size_t)(s.end - at));
    if (at > line.data && quote != NULL)
        at = text_shorten(&s, quote);     /* kind and status */
    for (; at < s.end; at = next_shorten(&s, at)) {
        if (bracket != NULL && bracket < at)
            bracket = memchr(at, '[', (size_t)(s.end - at));
        if (colon != NULL && colon < at)
            colon = memchr(at, ':', (size_t)(s.end - at));
        if (bracket == NULL && colon == NULL)
            break;
        at = colon == NULL || (bracket != NULL && bracket < colon) ? bracket : colon;
    }
    copy_to(&s, s.end);
    return !out->failed && out->size < line.size;
}

/* ---- restoring --------------------------------------------------------------------------------------- */

bool store_line_restore(pawl_bytes stored, buf *out)
{
    static const char digits[] = "0123456789abcdef";
    char hex[HASH_HEX];

    buf_reset(out);
    for (size_t at = 0, low; at < stored.size; at = low + 1) {
        unsigned char code;

        low = low_find(stored, at);
        buf_put(out, stored.data + at, low - at);
        if (low == stored.size)
            break;
        code = (unsigned char)stored.data[low];
        if (code != DIGEST && texts[code].n == 0)
            return false;
        if (code != DIGEST) {
            buf_put(out, texts[code].t, texts[code].n);
            continue;
        }
        if (stored.size - low <= HASH_BYTES)
            return false;
        for (int i = 0; i < HASH_BYTES; i++) {
            unsigned char byte = (unsigned char)stored.data[++low];

            hex[2 * i] = digits[byte >> 4];
            hex[2 * i + 1] = digits[byte & 15];
        }
        buf_put(out, hex, HASH_HEX);
    }
    return true;
}
