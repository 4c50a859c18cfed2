/* error.c - the errors of A2A: one table with their code in JSON-RPC, their reason and their statuses; and how each binding says them. Pure.
 *
 * Called by readers (a2a_wrong) and by src/serve, which replies. */
#include "a2a/a2a.h"

static const struct {
    int code;
    unsigned http;
    const char *reason, *status, *text;         /* status: of gRPC, in replies of HTTP+JSON */
} rows[] = {
    [A2A_FINE] = { 0, 200, "", "OK", "" },
    [A2A_TASK_NOT_FOUND] = { -32001, 404, "TASK_NOT_FOUND", "NOT_FOUND", "Task not found" },
    [A2A_TASK_NOT_CANCELABLE] = { -32002, 400, "TASK_NOT_CANCELABLE", "FAILED_PRECONDITION", "Task cannot be canceled" },
    [A2A_PUSH_NOT_SUPPORTED] = { -32003, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED", "FAILED_PRECONDITION", "Push notifications are not supported" },
    [A2A_UNSUPPORTED_OPERATION] = { -32004, 400, "UNSUPPORTED_OPERATION", "FAILED_PRECONDITION", "This operation is not supported" },
    [A2A_CONTENT_TYPE] = { -32005, 400, "CONTENT_TYPE_NOT_SUPPORTED", "INVALID_ARGUMENT", "Content type not supported" },
    [A2A_INVALID_AGENT_RESPONSE] = { -32006, 500, "INVALID_AGENT_RESPONSE", "INTERNAL", "Invalid agent response" },
    [A2A_NO_EXTENDED_CARD] = { -32007, 400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "FAILED_PRECONDITION", "No extended agent card is configured" },
    [A2A_EXTENSION_REQUIRED] = { -32008, 400, "EXTENSION_SUPPORT_REQUIRED", "FAILED_PRECONDITION", "An extension is required" },
    [A2A_VERSION_NOT_SUPPORTED] = { -32009, 400, "VERSION_NOT_SUPPORTED", "FAILED_PRECONDITION", "This protocol version is not supported" },
    [A2A_PARSE_ERROR] = { -32700, 400, "", "INVALID_ARGUMENT", "Parse error" },
    [A2A_INVALID_REQUEST] = { -32600, 400, "", "INVALID_ARGUMENT", "Invalid request" },
    [A2A_METHOD_NOT_FOUND] = { -32601, 404, "", "UNIMPLEMENTED", "Method not found" },
    [A2A_INVALID_PARAMS] = { -32602, 400, "", "INVALID_ARGUMENT", "Invalid parameters" },
    [A2A_INTERNAL] = { -32603, 500, "", "INTERNAL", "Internal error" },
};

bool a2a_wrong(a2a_fault *f, a2a_error error, const char *field, const char *fmt, ...)
{
    pawl_err err = { PAWL_OK, "" };
    va_list args;

    if (f->error != A2A_FINE)
        return false;
    va_start(args, fmt);
    (void)failv(&err, PAWL_INVALID, fmt, args);
    va_end(args);
    f->error = error;
    for (size_t i = 0; i + 1 < sizeof f->text && err.text[i] != '\0'; i++)
        f->text[i] = err.text[i];
    for (size_t i = 0; i + 1 < sizeof f->field && field != NULL && field[i] != '\0'; i++)
        f->field[i] = field[i];
    return false;
}

int a2a_error_code(a2a_error error) { return rows[error].code; }
unsigned a2a_error_status(a2a_error error) { return rows[error].http; }
const char *a2a_error_reason(a2a_error error) { return rows[error].reason; }

static const char *text_of(const a2a_fault *f)
{
    const size_t n = strlen(f->text);

    return n > 0 && utf8_valid(f->text, n) ? f->text : rows[f->error].text;     /* a text that was cut by bytes may not be UTF-8 */
}

/* google.rpc.ErrorInfo, or BadRequest for an invalid parameter; nothing for what has neither. */
static void details_put(buf *b, const a2a_fault *f)
{
    buf_char(b, '[');
    if (*rows[f->error].reason != '\0') {
        buf_fmt(b, "{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"domain\":\"a2a-protocol.org\",\"metadata\":{},\"reason\":\"%s\"}",
                rows[f->error].reason);
    } else if (f->error == A2A_INVALID_PARAMS && *f->field != '\0' && utf8_valid(f->field, strlen(f->field))) {
        buf_word(b, "{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\",\"fieldViolations\":[{\"description\":");
        canon_string(b, text_of(f), strlen(text_of(f)));
        buf_word(b, ",\"field\":");
        canon_string(b, f->field, strlen(f->field));
        buf_word(b, "}]}");
    }
    buf_char(b, ']');
}

void a2a_error_put(buf *b, const a2a_fault *f, a2a_version version)
{
    buf_fmt(b, "{\"code\":%d,", rows[f->error].code);
    if (version == A2A_1_0) {
        buf_word(b, "\"data\":");
        details_put(b, f);
        buf_char(b, ',');
    }
    buf_word(b, "\"message\":");
    canon_string(b, text_of(f), strlen(text_of(f)));
    buf_char(b, '}');
}

void a2a_rest_error_put(buf *b, const a2a_fault *f)
{
    buf_fmt(b, "{\"error\":{\"code\":%u,\"details\":", rows[f->error].http);
    details_put(b, f);
    buf_word(b, ",\"message\":");
    canon_string(b, text_of(f), strlen(text_of(f)));
    buf_fmt(b, ",\"status\":\"%s\"}}", rows[f->error].status);
}
