/* request.c - what a client asks: a body of JSON-RPC, or the parameters of a method, of both versions in one form. Pure.
 *
 * Called by src/serve for each request. The name of a method of JSON-RPC says its version: names with a slash are of 0.3, the others of 1.0. */
#include "a2a/a2a.h"

static const struct { const char *old, *name; } methods[A2A_METHODS] = {
    [A2A_SEND] = { "message/send", "SendMessage" },
    [A2A_STREAM] = { "message/stream", "SendStreamingMessage" },
    [A2A_GET] = { "tasks/get", "GetTask" },
    [A2A_LIST] = { NULL, "ListTasks" },
    [A2A_CANCEL] = { "tasks/cancel", "CancelTask" },
    [A2A_SUBSCRIBE] = { "tasks/resubscribe", "SubscribeToTask" },
    [A2A_PUSH_CREATE] = { "tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig" },
    [A2A_PUSH_GET] = { "tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig" },
    [A2A_PUSH_LIST] = { "tasks/pushNotificationConfig/list", "ListTaskPushNotificationConfigs" },
    [A2A_PUSH_DELETE] = { "tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig" },
    [A2A_EXTENDED_CARD] = { "agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard" },
};
enum { PAGE_DEFAULT = 50, PAGE_MOST = 100 };

bool a2a_version_read(const char *version, a2a_version *out, a2a_fault *f)
{
    if (version == NULL || *version == '\0')
        return true;
    if (strncmp(version, "0.3", 3) == 0 && (version[3] == '\0' || version[3] == '.'))
        *out = A2A_0_3;
    else if (strncmp(version, "1.0", 3) == 0 && (version[3] == '\0' || version[3] == '.'))
        *out = A2A_1_0;
    else
        return a2a_wrong(f, A2A_VERSION_NOT_SUPPORTED, NULL, "A2A-Version %.20s is not served here: 1.0 and 0.3 are", version);
    return true;
}

/* ---- times ------------------------------------------------------------------------------------------------------------ */

/* `n` digits at *at, as a number from `least` to `most`. */
static bool digits(const char **at, size_t n, int64_t least, int64_t most, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++, ++*at) {
        if (**at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return *out >= least && *out <= most;
}

static bool due(const char **at, char c)
{
    if (**at != c && !(c == 'T' && (**at == 't' || **at == ' ')))
        return false;
    ++*at;
    return true;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    const int64_t yy = m <= 2 ? y - 1 : y, era = (yy >= 0 ? yy : yy - 399) / 400, of_era = yy - era * 400;
    const int64_t of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* "Z", "+02:00" */
static bool offset_read(const char **at, int64_t *minutes)
{
    const char sign = **at;
    int64_t h, m;

    *minutes = 0;
    if (sign == 'Z' || sign == 'z') {
        ++*at;
        return true;
    }
    if (sign != '+' && sign != '-')
        return false;
    ++*at;
    if (!digits(at, 2, 0, 23, &h) || !due(at, ':') || !digits(at, 2, 0, 59, &m))
        return false;
    *minutes = (sign == '-' ? -1 : 1) * (h * 60 + m);
    return true;
}

bool a2a_time_read(const char *text, int64_t *ms)
{
    int64_t y, mo, d, h, mi, s, part = 0, scale = 100, minutes;

    if (!digits(&text, 4, 1, 9999, &y) || !due(&text, '-') || !digits(&text, 2, 1, 12, &mo) || !due(&text, '-') || !digits(&text, 2, 1, 31, &d) ||
        !due(&text, 'T') || !digits(&text, 2, 0, 23, &h) || !due(&text, ':') || !digits(&text, 2, 0, 59, &mi) || !due(&text, ':') ||
        !digits(&text, 2, 0, 60, &s))
        return false;
    if (*text == '.') {
        if (text[1] < '0' || text[1] > '9')
            return false;
        for (text++; *text >= '0' && *text <= '9'; text++, scale /= 10)
            part += (*text - '0') * scale;
    }
    if (!offset_read(&text, &minutes) || *text != '\0')
        return false;
    *ms = ((days_of(y, mo, d) * 24 + h) * 60 + mi - minutes) * 60000 + s * 1000 + part;
    return true;
}

/* ---- parameters --------------------------------------------------------------------------------------------------------- */

static bool configuration_read(const pawl_value *params, a2a_request *out, a2a_fault *f)
{
    const pawl_value *c = NULL;
    bool now = false, blocking = false;

    if (!a2a_object(params, "configuration", &c, f) || !a2a_count(c, "historyLength", 0, INT32_MAX, &out->history, f) ||
        !a2a_bool(c, "returnImmediately", &now, f) || !a2a_bool(c, "blocking", &blocking, f))
        return false;
    if (a2a_field(c, "taskPushNotificationConfig") != NULL || a2a_field(c, "pushNotificationConfig") != NULL)
        return a2a_wrong(f, A2A_PUSH_NOT_SUPPORTED, NULL, "push notifications are not in this version");
    out->blocking = out->version == A2A_1_0 ? !now : blocking;
    return true;
}

static bool send_read(arena *mem, const pawl_value *params, a2a_request *out, a2a_fault *f)
{
    if (!a2a_message_read(mem, a2a_field(params, "message"), &out->message, f) || !configuration_read(params, out, f) ||
        !a2a_object(params, "metadata", &out->metadata, f))
        return false;
    if (!out->message.user)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message.role", "message.role: what is sent to an agent is of a user");
    out->task = out->message.task;
    return true;
}

static bool list_read(const pawl_value *params, a2a_request *out, a2a_fault *f)
{
    const pawl_value *status = a2a_field(params, "status");
    const char *after = NULL, *name = pawl_value_string(status);
    const bool any = status == NULL || (name != NULL ? *name == '\0' || strcmp(name, "TASK_STATE_UNSPECIFIED") == 0
                                                     : pawl_value_type(status) == PAWL_TYPE_INT && pawl_value_int(status) == 0);

    out->page_size = PAGE_DEFAULT;
    out->state = any ? A2A_STATES : a2a_state_read(status);
    if (!any && out->state == A2A_STATES)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "status", "status: no such state of a task");
    if (!a2a_text(params, "contextId", &out->context, f) || !a2a_text(params, "pageToken", &out->page_token, f) ||
        !a2a_count(params, "pageSize", 1, PAGE_MOST, &out->page_size, f) || !a2a_count(params, "historyLength", 0, INT32_MAX, &out->history, f) ||
        !a2a_bool(params, "includeArtifacts", &out->artifacts, f) || !a2a_text(params, "statusTimestampAfter", &after, f))
        return false;
    if (after != NULL && !a2a_time_read(after, &out->after_ms))
        return a2a_wrong(f, A2A_INVALID_PARAMS, "statusTimestampAfter", "statusTimestampAfter: a time as 2026-11-28T12:00:00Z is wanted");
    return true;
}

bool a2a_params_read(arena *mem, const pawl_value *params, a2a_request *out, a2a_fault *f)
{
    const bool pushes = out->method >= A2A_PUSH_CREATE && out->method <= A2A_PUSH_DELETE;

    out->history = out->after_ms = -1;
    out->state = A2A_STATES;
    if (params != NULL && pawl_value_type(params) != PAWL_TYPE_OBJECT)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "params", "params: an object is wanted");
    if (pushes)
        return a2a_wrong(f, A2A_PUSH_NOT_SUPPORTED, NULL, "push notifications are not in this version");
    if (!a2a_text(params, "tenant", &out->tenant, f))
        return false;
    if (out->method == A2A_SEND || out->method == A2A_STREAM)
        return send_read(mem, params, out, f);
    if (out->method == A2A_LIST)
        return list_read(params, out, f);
    if (out->method == A2A_EXTENDED_CARD)
        return true;
    if (!a2a_text(params, "id", &out->task, f) || !a2a_count(params, "historyLength", 0, INT32_MAX, &out->history, f) ||
        !a2a_object(params, "metadata", &out->metadata, f))
        return false;
    return out->task != NULL || a2a_wrong(f, A2A_INVALID_PARAMS, "id", "id: the id of the task is missing");
}

/* ---- JSON-RPC ------------------------------------------------------------------------------------------------------------- */

static const char *id_said(arena *mem, const pawl_value *id)
{
    const char *said;
    buf b;

    buf_init(&b, NULL);
    canon(&b, id);
    said = b.failed ? NULL : arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return said != NULL ? said : "null";
}

static bool method_read(const char *name, a2a_request *out, a2a_fault *f)
{
    for (unsigned i = 0; i < A2A_METHODS; i++) {
        const bool old = methods[i].old != NULL && strcmp(methods[i].old, name) == 0;

        if (!old && strcmp(methods[i].name, name) != 0)
            continue;
        out->method = (a2a_method)i;
        out->version = old ? A2A_0_3 : A2A_1_0;
        return true;
    }
    return a2a_wrong(f, A2A_METHOD_NOT_FOUND, NULL, "%.100s: no such method", name);
}

bool a2a_rpc_read(arena *mem, pawl_bytes body, const char *version, a2a_request *out, a2a_fault *f)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *all = value_parse(mem, body.size > 0 ? body.data : "", body.size, "the body", &err), *id = pawl_value_get(all, "id");
    const char *jsonrpc = pawl_value_string(pawl_value_get(all, "jsonrpc")), *method = pawl_value_string(pawl_value_get(all, "method"));
    const pawl_type kind = pawl_value_type(id);
    a2a_version said = A2A_1_0;

    out->id = "null";
    out->version = A2A_1_0;
    if (all == NULL)
        return a2a_wrong(f, err.code == PAWL_NOMEM ? A2A_INTERNAL : A2A_PARSE_ERROR, NULL, "%s", err.text);
    if (pawl_value_type(all) != PAWL_TYPE_OBJECT)
        return a2a_wrong(f, A2A_INVALID_REQUEST, NULL, "a request is one object of JSON-RPC; batches are not taken");
    if (kind == PAWL_TYPE_OBJECT || kind == PAWL_TYPE_ARRAY || kind == PAWL_TYPE_BOOL)
        return a2a_wrong(f, A2A_INVALID_REQUEST, NULL, "id: a text or a number is wanted");
    if (id != NULL)
        out->id = id_said(mem, id);
    if (jsonrpc == NULL || strcmp(jsonrpc, "2.0") != 0)
        return a2a_wrong(f, A2A_INVALID_REQUEST, NULL, "jsonrpc: \"2.0\" is wanted");
    if (method == NULL || *method == '\0')
        return a2a_wrong(f, A2A_INVALID_REQUEST, NULL, "method: it is missing");
    return a2a_version_read(version, &said, f) && method_read(method, out, f) && a2a_params_read(mem, pawl_value_get(all, "params"), out, f);
}
