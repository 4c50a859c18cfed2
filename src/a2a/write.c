/* write.c - tasks, messages and events as JSON of either version, in strict lowerCamelCase. Pure.
 *
 * Called by src/serve for replies and streams. Members stand in no order that means anything; what is not there is left out. */
#include "a2a/task_inner.h"

static void comma(buf *b)
{
    if (b->size > 0 && b->data[b->size - 1] != '{' && b->data[b->size - 1] != '[')
        buf_char(b, ',');
}

/* `text` NULL: nothing. */
static void text_put(buf *b, const char *name, const char *text)
{
    if (text == NULL)
        return;
    comma(b);
    buf_fmt(b, "\"%s\":", name);
    canon_string(b, text, strlen(text));
}

static void value_put(buf *b, const char *name, const pawl_value *v)
{
    if (v == NULL)
        return;
    comma(b);
    buf_fmt(b, "\"%s\":", name);
    canon(b, v);
}

static void open_put(buf *b, const char *name, char bracket)
{
    comma(b);
    buf_fmt(b, "\"%s\":%c", name, bracket);
}

/* ---- times ---------------------------------------------------------------------------------------------------------- */

/* The date of a day since 1970-01-01, in the Gregorian calendar. */
static void date_of(int64_t days, int *y, int *m, int *d)
{
    const int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    const int64_t of_400 = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * of_400 + of_400 / 4 - of_400 / 100), month = (5 * of_year + 2) / 153;

    *d = (int)(of_year - (153 * month + 2) / 5 + 1);
    *m = (int)(month < 10 ? month + 3 : month - 9);
    *y = (int)(of_400 + era * 400 + (*m <= 2));
}

void a2a_time_put(buf *b, int64_t ms)
{
    const int64_t most = 253402300799999, at = ms < 0 ? 0 : ms > most ? most : ms, of_day = at % 86400000;
    int y, m, d;

    date_of(at / 86400000, &y, &m, &d);
    buf_fmt(b, "\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"", y, m, d, (int)(of_day / 3600000), (int)(of_day / 60000 % 60), (int)(of_day / 1000 % 60),
            (int)(of_day % 1000));
}

/* ---- messages ---------------------------------------------------------------------------------------------------------- */

static void old_file_put(buf *b, const a2a_part *p)
{
    open_put(b, "file", '{');
    text_put(b, "bytes", p->raw);
    text_put(b, "mimeType", p->media_type);
    text_put(b, "name", p->filename);
    text_put(b, "uri", p->url);
    buf_char(b, '}');
}

/* Of 0.3, data is an object: any other value stands in its member `value`. */
static void old_part_put(buf *b, const a2a_part *p)
{
    buf_char(b, '{');
    text_put(b, "kind", p->text != NULL ? "text" : p->data != NULL ? "data" : "file");
    text_put(b, "text", p->text);
    if (p->data != NULL && pawl_value_type(p->data) != PAWL_TYPE_OBJECT) {
        open_put(b, "data", '{');
        value_put(b, "value", p->data);
        buf_char(b, '}');
    } else {
        value_put(b, "data", p->data);
    }
    if (p->raw != NULL || p->url != NULL)
        old_file_put(b, p);
    value_put(b, "metadata", p->metadata);
    buf_char(b, '}');
}

static void part_put(buf *b, const a2a_part *p)
{
    buf_char(b, '{');
    text_put(b, "text", p->text);
    text_put(b, "raw", p->raw);
    text_put(b, "url", p->url);
    value_put(b, "data", p->data);
    text_put(b, "filename", p->filename);
    text_put(b, "mediaType", p->media_type != NULL ? p->media_type : p->text != NULL ? "text/plain" : p->data != NULL ? "application/json" : NULL);
    value_put(b, "metadata", p->metadata);
    buf_char(b, '}');
}

static void parts_put(buf *b, const a2a_part *parts, size_t n, a2a_version version)
{
    open_put(b, "parts", '[');
    for (size_t i = 0; i < n; i++) {
        comma(b);
        if (version == A2A_1_0)
            part_put(b, &parts[i]);
        else
            old_part_put(b, &parts[i]);
    }
    buf_char(b, ']');
}

static void message_put(buf *b, const a2a_task *t, const a2a_message *m, a2a_version version)
{
    const bool new = version == A2A_1_0;

    buf_char(b, '{');
    text_put(b, "kind", new ? NULL : "message");
    text_put(b, "messageId", m->id);
    text_put(b, "contextId", t->context);
    text_put(b, "taskId", t->id);
    text_put(b, "role", m->user ? (new ? "ROLE_USER" : "user") : new ? "ROLE_AGENT" : "agent");
    parts_put(b, m->parts, m->nparts, version);
    value_put(b, "metadata", m->metadata);
    buf_char(b, '}');
}

static void artifact_put(buf *b, const a2a_artifact *a, a2a_version version)
{
    buf_char(b, '{');
    text_put(b, "artifactId", a->id);
    text_put(b, "name", a->name);
    parts_put(b, a->parts, a->nparts, version);
    buf_char(b, '}');
}

static void status_put(buf *b, const a2a_task *t, const a2a_status *s, a2a_version version, int64_t time_ms)
{
    open_put(b, "status", '{');
    text_put(b, "state", a2a_state_name(s->state, version));
    if (s->said != NULL) {
        comma(b);
        buf_word(b, "\"message\":");
        message_put(b, t, s->said, version);
    }
    if (time_ms > 0) {
        buf_word(b, ",\"timestamp\":");
        a2a_time_put(b, time_ms);
    }
    buf_char(b, '}');
}

/* ---- tasks and events ------------------------------------------------------------------------------------------------------ */

void a2a_task_put(buf *b, const a2a_task *t, const a2a_view *view)
{
    const a2a_status s = a2a_task_status(t);
    const size_t n = t->nhistory + t->ncoming, most = view->history < 0 || (uint64_t)view->history > n ? n : (size_t)view->history;

    buf_char(b, '{');
    text_put(b, "kind", view->version == A2A_1_0 ? NULL : "task");
    text_put(b, "id", t->id);
    text_put(b, "contextId", t->context);
    status_put(b, t, &s, view->version, view->time_ms > 0 ? view->time_ms : s.time_ms);
    if (view->artifacts) {
        open_put(b, "artifacts", '[');
        for (size_t i = 0; i < t->nartifacts; i++) {
            comma(b);
            artifact_put(b, &t->artifacts[i], view->version);
        }
        buf_char(b, ']');
    }
    if (view->history != 0) {
        open_put(b, "history", '[');
        for (size_t i = n - most; i < n; i++) {
            comma(b);
            message_put(b, t, i < t->nhistory ? &t->history[i] : &t->coming[i - t->nhistory], view->version);
        }
        buf_char(b, ']');
    }
    open_put(b, "metadata", '{');
    text_put(b, "machine", t->machine);
    buf_word(b, "}}");
}

/* The wrapper of 1.0 is the end of the caller. */
static void event_begin(buf *b, const a2a_task *t, const char *name, const char *kind, a2a_version version)
{
    buf_char(b, '{');
    if (version == A2A_1_0)
        open_put(b, name, '{');
    else
        text_put(b, "kind", kind);
    text_put(b, "taskId", t->id);
    text_put(b, "contextId", t->context);
}

void a2a_event_put(buf *b, const a2a_task *t, const a2a_event *e, a2a_version version)
{
    if (e->artifact != NULL) {
        event_begin(b, t, "artifactUpdate", "artifact-update", version);
        comma(b);
        buf_word(b, "\"artifact\":");
        artifact_put(b, e->artifact, version);
        buf_word(b, ",\"append\":false,\"lastChunk\":true}");
    } else {
        event_begin(b, t, "statusUpdate", "status-update", version);
        status_put(b, t, &e->status, version, e->status.time_ms);
        if (version == A2A_0_3)
            buf_fmt(b, ",\"final\":%s", a2a_state_over(e->status.state) || e->status.state == A2A_INPUT_REQUIRED ? "true" : "false");
        buf_char(b, '}');
    }
    if (version == A2A_1_0)
        buf_char(b, '}');
}
