/* trace_id.c - the ids of traces and spans: the first bytes of digests, and the header that carries them. Pure; any thread. */
#include "base/trace_id.h"

static const char hex_digits[] = "0123456789abcdef";

void hex_write(const uint8_t *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = hex_digits[bytes[i] >> 4];
        out[2 * i + 1] = hex_digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

static bool all_zero(const uint8_t *bytes, size_t n)
{
    uint8_t any = 0;

    for (size_t i = 0; i < n; i++)
        any |= bytes[i];
    return any == 0;
}

/* No id is zero: that means none. */
static void id_take(const hash *h, uint8_t *out, size_t n)
{
    memcpy(out, h->b, n);
    if (all_zero(out, n))
        out[n - 1] = 1;
}

trace_id trace_id_of_run(const char *id)
{
    static const char what[] = "pawl trace\n";
    const pawl_bytes parts[] = { { what, sizeof what - 1 }, { id, strcspn(id, "/") } };
    trace_id t;
    hash h;

    hash_parts(parts, 2, &h);
    id_take(&h, t.b, sizeof t.b);
    return t;
}

span_id span_id_of(const char *id, uint64_t seq, uint64_t index)
{
    static const char what[] = "pawl span\n";
    char seq_text[UINT_TEXT_MAX], index_text[UINT_TEXT_MAX];
    const pawl_bytes parts[] = { { what, sizeof what - 1 }, { id, strlen(id) }, { "@", 1 }, { seq_text, uint_text(seq, seq_text) }, { ".", 1 },
                                 { index_text, uint_text(index, index_text) } };
    span_id s;
    hash h;

    hash_parts(parts, seq != 0 ? 6 : 2, &h);
    id_take(&h, s.b, sizeof s.b);
    return s;
}

bool span_id_none(const span_id *s) { return all_zero(s->b, sizeof s->b); }

static bool hex_read(const char *text, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < 2 * n; i++) {
        const char *at = text[i] != '\0' ? strchr(hex_digits, text[i]) : NULL;

        if (at == NULL)
            return false;
        out[i / 2] = (uint8_t)((i % 2 == 0 ? 0 : out[i / 2] << 4) | (at - hex_digits));
    }
    return true;
}

/* A later version may have more behind its flags; version ff is none. */
bool traceparent_read(const char *text, trace_id *trace, span_id *span)
{
    uint8_t version, flags;

    if (text == NULL || strlen(text) < TRACEPARENT_BYTES - 1 || text[2] != '-' || text[35] != '-' || text[52] != '-')
        return false;
    if (!hex_read(text, &version, 1) || !hex_read(text + 3, trace->b, sizeof trace->b) || !hex_read(text + 36, span->b, sizeof span->b) ||
        !hex_read(text + 53, &flags, 1))
        return false;
    if (version == 0xff || (version == 0 && text[55] != '\0') || (text[55] != '\0' && text[55] != '-'))
        return false;
    return !all_zero(trace->b, sizeof trace->b) && !span_id_none(span);
}

void traceparent_write(const trace_id *trace, const span_id *span, char out[TRACEPARENT_BYTES])
{
    memcpy(out, "00-", 3);
    hex_write(trace->b, sizeof trace->b, out + 3);
    out[35] = '-';
    hex_write(span->b, sizeof span->b, out + 36);
    memcpy(out + 52, "-01", 4);
}
