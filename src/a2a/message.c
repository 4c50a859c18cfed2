/* message.c - messages and their parts, as either version has them. Pure.
 *
 * Called by request.c for what a client sends, and by task.c for messages that a run keeps. 1.0 says what a part is by its member (text, raw, url, data);
 * 0.3 by `kind`, with the content of a file in `file`. Both are taken, whatever the version of the request is. */
#include "a2a/a2a.h"

/* 0.3: {"kind":"file","file":{"bytes"|"uri","name","mimeType"}} */
static bool file_read(const pawl_value *file, a2a_part *out, a2a_fault *f)
{
    const char *mime = NULL, *name = NULL;

    if (pawl_value_type(file) != PAWL_TYPE_OBJECT)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message.parts", "a part of kind file has an object `file`");
    if (!a2a_text(file, "bytes", &out->raw, f) || !a2a_text(file, "uri", &out->url, f) || !a2a_text(file, "mimeType", &mime, f) ||
        !a2a_text(file, "name", &name, f))
        return false;
    out->media_type = mime != NULL ? mime : out->media_type;
    out->filename = name != NULL ? name : out->filename;
    return true;
}

static bool is_base64(const char *text)
{
    const size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_");

    return strspn(text + n, "=") <= 2 && text[n + strspn(text + n, "=")] == '\0';
}

bool a2a_part_read(const pawl_value *v, a2a_part *out, a2a_fault *f)
{
    const pawl_value *file = a2a_field(v, "file"), *text = a2a_field(v, "text");
    const char *kind = pawl_value_string(a2a_field(v, "kind"));

    *out = (a2a_part){ .data = pawl_value_get(v, "data") };
    if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message.parts", "a part is an object");
    if (!a2a_text(v, "raw", &out->raw, f) || !a2a_text(v, "url", &out->url, f) || !a2a_text(v, "filename", &out->filename, f) ||
        !a2a_text(v, "mediaType", &out->media_type, f) || !a2a_object(v, "metadata", &out->metadata, f))
        return false;
    if (kind != NULL && strcmp(kind, "text") != 0 && strcmp(kind, "file") != 0 && strcmp(kind, "data") != 0)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message.parts", "%.40s: no such kind of a part", kind);
    if (text != NULL && (out->text = pawl_value_string(text)) == NULL)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message.parts", "the text of a part is a text");
    if (file != NULL && !file_read(file, out, f))
        return false;
    if ((out->text != NULL) + (out->raw != NULL) + (out->url != NULL) + (out->data != NULL) != 1)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message.parts", "a part has exactly one of text, raw, url and data");
    if (out->raw != NULL && !is_base64(out->raw))
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message.parts", "raw is base64");
    return true;
}

static bool role_read(const pawl_value *v, bool *user, a2a_fault *f)
{
    const char *text = pawl_value_string(v);
    const bool is_user = (text != NULL && (strcmp(text, "ROLE_USER") == 0 || strcmp(text, "user") == 0)) || (text == NULL && pawl_value_int(v) == 1);
    const bool is_agent = (text != NULL && (strcmp(text, "ROLE_AGENT") == 0 || strcmp(text, "agent") == 0)) || (text == NULL && pawl_value_int(v) == 2);

    *user = is_user;
    return is_user || is_agent || a2a_wrong(f, A2A_INVALID_PARAMS, "message.role", "message.role: user or agent is wanted");
}

static bool list_read(const pawl_value *v, const char *name, const pawl_value **out, a2a_fault *f)
{
    const pawl_value *list = a2a_field(v, name);

    for (size_t i = 0; list != NULL && i < pawl_value_size(list); i++)
        if (pawl_value_string(pawl_value_at(list, i)) == NULL)
            return a2a_wrong(f, A2A_INVALID_PARAMS, name, "%s: a list of texts is wanted", name);
    if (list != NULL && pawl_value_type(list) != PAWL_TYPE_ARRAY)
        return a2a_wrong(f, A2A_INVALID_PARAMS, name, "%s: a list of texts is wanted", name);
    *out = list;
    return true;
}

bool a2a_message_read(arena *mem, const pawl_value *v, a2a_message *out, a2a_fault *f)
{
    const pawl_value *parts = a2a_field(v, "parts");

    *out = (a2a_message){ .nparts = pawl_value_size(parts) };
    if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message", "message: an object is wanted");
    if (!a2a_text(v, "messageId", &out->id, f) || !a2a_text(v, "contextId", &out->context, f) || !a2a_text(v, "taskId", &out->task, f) ||
        !a2a_object(v, "metadata", &out->metadata, f) || !list_read(v, "extensions", &out->extensions, f) ||
        !list_read(v, "referenceTaskIds", &out->references, f) || !role_read(a2a_field(v, "role"), &out->user, f))
        return false;
    if (out->id == NULL)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message.messageId", "message.messageId: it is missing");
    if (pawl_value_type(parts) != PAWL_TYPE_ARRAY || out->nparts == 0)
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message.parts", "message.parts: at least one part is wanted");
    if ((out->parts = arena_get(mem, out->nparts * sizeof *out->parts)) == NULL)
        return a2a_wrong(f, A2A_INTERNAL, NULL, "no memory for this message");
    for (size_t i = 0; i < out->nparts; i++)
        if (!a2a_part_read(pawl_value_at(parts, i), &out->parts[i], f))
            return false;
    return true;
}

const char *a2a_message_text(arena *mem, const a2a_message *m)
{
    const char *text = NULL;
    size_t n = 0;
    buf b;

    buf_init(&b, NULL);
    for (size_t i = 0; i < m->nparts; i++)
        if (m->parts[i].text != NULL) {
            buf_text(&b, n++ > 0 ? "\n" : "");
            buf_text(&b, m->parts[i].text);
        }
    if (n > 0 && !b.failed)
        text = arena_strdup(mem, b.data != NULL ? b.data : "", b.size);
    buf_free(&b);
    return text;
}

static void piece(buf *b, char kind, const char *text)
{
    if (text != NULL) {
        buf_char(b, kind);
        buf_put(b, text, strlen(text) + 1);
    }
}

bool a2a_message_digest(const a2a_message *m, char out[HASH_HEX + 1])
{
    hash h;
    buf b;

    buf_init(&b, NULL);
    for (size_t i = 0; i < m->nparts; i++) {
        const a2a_part *p = &m->parts[i];

        piece(&b, 't', p->text);
        piece(&b, 'r', p->raw);
        piece(&b, 'u', p->url);
        piece(&b, 'f', p->filename);
        piece(&b, 'm', p->media_type);
        if (p->data != NULL)
            canon(&b, p->data);
        buf_char(&b, ';');
    }
    if (m->metadata != NULL)
        canon(&b, m->metadata);
    const bool good = !b.failed;

    hash_of(b.data != NULL ? b.data : "", good ? b.size : 0, &h);
    hash_hex(&h, out);
    buf_free(&b);
    return good;
}
