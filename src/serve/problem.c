/* problem.c - replies that every route has: errors (RFC 9457), and JSON with an entity tag. Loop thread. */
#include "json/json.h"
#include "serve/serve_inner.h"

void problem_with(http_req *r, unsigned status, const char *code, const char *detail, const http_field *more)
{
    const http_field fields[] = { { "Content-Type", "application/problem+json" }, { "Cache-Control", "no-store" },
        { "WWW-Authenticate", status == 401 ? "Bearer realm=\"pawl\"" : NULL }, { "Retry-After", status == 429 ? "1" : NULL },
        more != NULL ? *more : (http_field){ "X", NULL } };
    buf b;

    if (!utf8_valid(detail, strlen(detail)))    /* a long text is cut by bytes */
        detail = "the reason has text that is not UTF-8";
    buf_init(&b, NULL);
    buf_fmt(&b, "{\"code\":\"%s\",\"detail\":", code);
    canon_string(&b, detail, strlen(detail));
    buf_fmt(&b, ",\"status\":%u,\"title\":\"%s\"}\n", status, http_status_text(status));
    http_reply(r, status, fields, 5, b.failed ? "{}\n" : b.data, b.failed ? 3 : b.size);
    buf_free(&b);
}

void problem(http_req *r, unsigned status, const char *code, const char *detail) { problem_with(r, status, code, detail, NULL); }

unsigned problem_status(pawl_code code)
{
    switch (code) {
    case PAWL_INVALID: return 400;
    case PAWL_GONE: return 404;
    case PAWL_DENIED: return 403;
    case PAWL_CONFLICT: case PAWL_HELD: case PAWL_FENCED: return 409;
    case PAWL_LIMIT: return 413;
    case PAWL_TRANSIENT: case PAWL_IO: case PAWL_NOMEM: return 503;
    case PAWL_TIMEOUT: return 504;
    case PAWL_OK: case PAWL_PENDING: case PAWL_INTERRUPTED: case PAWL_HALTED: case PAWL_IGNORED: case PAWL_CORRUPT: case PAWL_EFFECT: case PAWL_CANCELED:
    case PAWL_UNKNOWN: break;
    }
    return 500;
}

void problem_of(http_req *r, const pawl_err *err)
{
    problem(r, problem_status(err->code), pawl_code_name(err->code), err->text[0] != '\0' ? err->text : pawl_code_name(err->code));
}

void text_tag(const buf *body, char tag[TAG_BYTES])
{
    hash h;

    hash_of(body->data, body->size, &h);
    tag[0] = '"';
    hash_hex(&h, tag + 1);
    memcpy(tag + 1 + HASH_HEX, "\"", 2);
}

void text_reply_tagged(http_req *r, const char *type, buf *body, const char *tag)
{
    const char *known = http_header(r, "if-none-match");

    if (body->failed) {
        buf_free(body);
        problem(r, 503, "nomem", "no memory for this reply");
        return;
    }
    const http_field fields[] = { { "ETag", tag }, { "Cache-Control", "no-cache" }, { "Content-Type", type } };
    const bool same = known != NULL && (strcmp(known, "*") == 0 || strstr(known, tag) != NULL);

    http_reply(r, same ? 304 : 200, fields, same ? 2 : 3, body->data, body->size);
    buf_free(body);
}

void text_reply(http_req *r, const char *type, buf *body)
{
    char tag[TAG_BYTES] = "";

    if (!body->failed)
        text_tag(body, tag);
    text_reply_tagged(r, type, body, tag);
}
