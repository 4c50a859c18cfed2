/* turn.c - a message becomes what a run takes: the input that begins it or its next turn, or the answer of an open wait. Pure.
 *
 * Called by src/serve, which gives it to the verb. Nothing is guessed where the file can say it: data parts are channels by their names, text goes to one
 * channel, which the input schema names, and an answer goes to the one wait that is open, or to the one that `metadata.wait` names. */
#include "a2a/a2a.h"

/* ---- input --------------------------------------------------------------------------------------------------------------- */

static bool takes_text(const pawl_value *schema)
{
    const pawl_value *type = pawl_value_get(schema, "type");
    const char *name = pawl_value_string(type);

    return type == NULL || (name != NULL && strcmp(name, "string") == 0);
}

static bool is_required(const pawl_value *schema, const char *name)
{
    const pawl_value *list = pawl_value_get(schema, "required");
    bool found = false;

    for (size_t i = 0; i < pawl_value_size(list) && !found; i++)
        found = strcmp(pawl_value_string(pawl_value_at(list, i)) != NULL ? pawl_value_string(pawl_value_at(list, i)) : "", name) == 0;
    return found;
}

/* The only one; NULL: there is none, or several. */
static const char *only_text(const pawl_value *schema, bool required)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(schema, "properties"));
    const pawl_value *key, *one;
    const char *found = NULL;
    size_t n = 0;

    while ((one = pawl_iter_next(&it, &key)) != NULL)
        if (takes_text(one) && strcmp(pawl_value_string(key), "a2a") != 0 && (!required || is_required(schema, pawl_value_string(key)))) {
            found = pawl_value_string(key);
            n++;
        }
    return n == 1 ? found : NULL;
}

const char *a2a_text_channel(const pawl_value *schema, const char *const *channels, size_t n)
{
    static const char *const usual[A2A_TEXT_CHANNELS] = { "message", "input", "text", "question" };
    const char *found = only_text(schema, true);

    if (found == NULL)
        found = only_text(schema, false);
    for (size_t k = 0; k < A2A_TEXT_CHANNELS && found == NULL; k++)
        for (size_t i = 0; i < n && found == NULL; i++)
            found = strcmp(channels[i], usual[k]) == 0 ? channels[i] : NULL;
    return found;
}

static void member(buf *b, const char *name, const char *text)
{
    if (text == NULL || b->failed)
        return;
    buf_fmt(b, "%s\"%s\":", b->data[b->size - 1] == '{' ? "" : ",", name);
    canon_string(b, text, strlen(text));
}

/* A part as 1.0 has it: what a channel "a2a" gets. */
static void part_put(buf *b, const a2a_part *p)
{
    buf_char(b, '{');
    if (b->failed)
        return;
    member(b, "filename", p->filename);
    member(b, "mediaType", p->media_type);
    member(b, "raw", p->raw);
    member(b, "text", p->text);
    member(b, "url", p->url);
    if (p->data != NULL) {
        buf_text(b, b->failed || b->data[b->size - 1] == '{' ? "\"data\":" : ",\"data\":");
        canon(b, p->data);
    }
    buf_char(b, '}');
}

static const pawl_value *whole(arena *mem, const a2a_message *m)
{
    const pawl_value *v, *out;
    buf b;

    buf_init(&b, NULL);
    buf_char(&b, '[');
    for (size_t i = 0; i < m->nparts; i++) {
        buf_text(&b, i > 0 ? "," : "");
        part_put(&b, &m->parts[i]);
    }
    buf_char(&b, ']');
    v = b.failed ? NULL : value_parse(mem, b.data, b.size, "the message", NULL);
    out = value_pack(mem, NULL, "{s:s,s:v,s:s}", "messageId", m->id, "parts", v, "role", "ROLE_USER");
    if (m->metadata != NULL)
        out = value_with(mem, out, "metadata", m->metadata);
    buf_free(&b);
    return out;
}

/* The input of a graph: data parts by name, the text in its channel. */
static const pawl_value *channels_of(arena *mem, const a2a_taker *of, const a2a_message *m, a2a_fault *f)
{
    const pawl_value *out = value_pack(mem, NULL, "{}");
    const char *text = a2a_message_text(mem, m);

    for (size_t i = 0; i < m->nparts; i++) {
        const a2a_part *p = &m->parts[i];

        if (p->data != NULL && pawl_value_type(p->data) == PAWL_TYPE_OBJECT) {
            out = of->whole ? out : value_with_all(mem, out, p->data);
        } else if ((p->data != NULL || p->raw != NULL || p->url != NULL) && !of->whole) {
            (void)a2a_wrong(f, A2A_CONTENT_TYPE, NULL, "%.60s takes text, and data that is an object of its channels%s", of->name,
                            p->data == NULL ? "; files need a channel a2a" : "");
            return NULL;
        }
    }
    if (text != NULL && of->text != NULL && pawl_value_get(out, of->text) == NULL) {
        out = value_with(mem, out, of->text, value_string(mem, text, strlen(text)));
    } else if (text != NULL && of->text == NULL && !of->whole) {
        (void)a2a_wrong(f, A2A_CONTENT_TYPE, NULL, "%.60s has no channel for text: send a data part, an object of its channels", of->name);
        return NULL;
    }
    return of->whole ? value_with(mem, out, "a2a", whole(mem, m)) : out;
}

/* One block of a message to an agent. NULL: no memory, or the fault. */
static const pawl_value *block_of(arena *mem, const a2a_part *p, a2a_fault *f)
{
    const char *text = p->text;
    const pawl_value *block;
    buf b;

    if (p->raw != NULL && p->media_type != NULL && strncmp(p->media_type, "image/", 6) == 0)
        return value_pack(mem, NULL, "{s:s,s:s,s:s}", "data", p->raw, "media_type", p->media_type, "type", "image");
    if (p->raw != NULL) {
        (void)a2a_wrong(f, A2A_CONTENT_TYPE, NULL, "an agent takes text, data, images and URLs, and no %.60s", p->media_type != NULL ? p->media_type : "file");
        return NULL;
    }
    buf_init(&b, NULL);
    if (p->data != NULL)
        canon(&b, p->data);
    if (text == NULL)
        text = p->url != NULL ? p->url : b.failed ? NULL : arena_strdup(mem, b.data, b.size);
    block = value_pack(mem, NULL, "{s:s,s:s}", "text", text, "type", "text");
    buf_free(&b);
    return block;
}

static const pawl_value *blocks_of(arena *mem, const a2a_message *m, a2a_fault *f)
{
    const pawl_value *list = value_pack(mem, NULL, "[]");

    if (m->nparts == 1 && m->parts[0].text != NULL)
        return value_pack(mem, NULL, "{s:s}", "input", m->parts[0].text);
    for (size_t i = 0; i < m->nparts; i++)
        list = value_push(mem, list, block_of(mem, &m->parts[i], f));
    return value_pack(mem, NULL, "{s:v}", "input", list);
}

static const char *said(arena *mem, const pawl_value *v)
{
    const char *out;
    buf b;

    buf_init(&b, NULL);
    if (v != NULL)
        canon(&b, v);
    out = v == NULL || b.failed ? NULL : arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return out;
}

const char *a2a_input(arena *mem, const a2a_taker *of, const a2a_message *m, a2a_fault *f)
{
    const pawl_value *v = of->agent ? blocks_of(mem, m, f) : channels_of(mem, of, m, f);
    const char *json = f->error == A2A_FINE ? said(mem, v) : NULL;

    if (json == NULL)
        (void)a2a_wrong(f, A2A_INTERNAL, NULL, "no memory for this message");
    return json;
}

/* ---- answers ------------------------------------------------------------------------------------------------------------------ */

/* The wait that the message answers, or the only one. NULL: see the fault; or none is open (no fault). */
static const a2a_wait *wait_of(const a2a_task *t, const a2a_message *m, a2a_fault *f)
{
    const char *name = pawl_value_string(pawl_value_get(m->metadata, "wait"));
    const a2a_wait *found = NULL;
    size_t n = 0;

    for (size_t i = 0; i < a2a_task_waits(t); i++) {
        const a2a_wait *w = a2a_task_wait(t, i);

        if (w->answered || (name != NULL && strcmp(name, w->id) != 0 && strcmp(name, w->slot) != 0))
            continue;
        found = w;
        n++;
    }
    if (n > 1)
        (void)a2a_wrong(f, A2A_INVALID_PARAMS, "message.metadata.wait", "several questions are open: name one in metadata.wait, by its slot or its id");
    else if (n == 0 && name != NULL)
        (void)a2a_wrong(f, A2A_INVALID_PARAMS, "message.metadata.wait", "%.100s: no such question is open", name);
    return n == 1 ? found : NULL;
}

static bool word_is(const char *text, size_t n, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strlen(*words) == n) {
            size_t i = 0;

            while (i < n && (text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]) == (*words)[i])
                i++;
            if (i == n)
                return true;
        }
    return false;
}

/* "deny: not on a Friday" */
static bool verdict_text(const char *text, bool *yes, const char **reason)
{
    static const char *const yeses[] = { "approve", "approved", "yes", "y", "ok", "true", "allow", NULL };
    static const char *const noes[] = { "deny", "denied", "no", "n", "false", "reject", "rejected", NULL };
    const char *at = text + strspn(text, " \t\r\n"), *rest;
    size_t n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

    *yes = word_is(at, n, yeses);
    if (!*yes && !word_is(at, n, noes))
        return false;
    rest = at + n;
    rest += strspn(rest, " \t\r\n.,:;!-");
    *reason = *rest != '\0' ? rest : NULL;
    return true;
}

static bool verdict_of(arena *mem, const a2a_message *m, const pawl_value *data, a2a_answer *out, a2a_fault *f)
{
    const pawl_value *approve = pawl_value_get(data, "approve");
    const char *text = a2a_message_text(mem, m);
    bool yes = pawl_value_type(data) == PAWL_TYPE_BOOL ? pawl_value_bool(data) : pawl_value_bool(approve);
    const bool told = pawl_value_type(data) == PAWL_TYPE_BOOL || pawl_value_type(approve) == PAWL_TYPE_BOOL;

    if (told) {
        out->reason = pawl_value_string(pawl_value_get(data, "reason"));
        out->reason = out->reason != NULL ? out->reason : text;
        out->input = pawl_value_get(data, "input") != NULL ? said(mem, pawl_value_get(data, "input")) : NULL;
        out->sign = pawl_value_get(data, "signed") != NULL ? said(mem, pawl_value_get(data, "signed")) : NULL;
    } else if (text == NULL || !verdict_text(text, &yes, &out->reason)) {
        return a2a_wrong(f, A2A_INVALID_PARAMS, "message.parts", "this is an approval: answer approve or deny, or with data {\"approve\":true}");
    }
    out->verb = yes ? "approve" : "deny";
    return true;
}

bool a2a_answer_of(arena *mem, const a2a_task *t, const a2a_taker *of, const a2a_message *m, a2a_answer *out, a2a_fault *f)
{
    const a2a_wait *w = wait_of(t, m, f);
    const pawl_value *data = NULL;

    *out = (a2a_answer){ .wait = w != NULL ? w->id : NULL };
    for (size_t i = 0; i < m->nparts && data == NULL; i++)
        data = m->parts[i].data;
    if (f->error != A2A_FINE)
        return false;
    if (w != NULL && w->kind == A2A_WAIT_APPROVAL)
        return verdict_of(mem, m, data, out, f);
    if (w != NULL && w->kind == A2A_WAIT_QUESTION) {
        out->verb = "answer";
        out->value = data != NULL ? said(mem, data) : a2a_message_text(mem, m);
        return out->value != NULL || a2a_wrong(f, A2A_CONTENT_TYPE, NULL, "a question is answered with text or data");
    }
    /* input: of an agent also while it works */
    const bool agent = of != NULL ? of->agent : !a2a_task_is_graph(t);
    const a2a_taker unknown = { .name = "the machine", .agent = agent };

    out->verb = "send";
    out->wait = NULL;
    if (w == NULL && !agent) {
        out->signal = A2A_SIGNAL;
        out->value = said(mem, whole(mem, m));
        return out->value != NULL || a2a_wrong(f, A2A_INTERNAL, NULL, "no memory for this message");
    }
    out->value = a2a_input(mem, of != NULL ? of : &unknown, m, f);
    return out->value != NULL;
}
