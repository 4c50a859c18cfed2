/* a2a_send.c - messages and cancels: what a client says becomes a verb, `run`, `answer`, `approve`, `deny`, `send` or `cancel` (N1). Loop thread.
 *
 * A message to a task that comes again, with the same id and the same content from the same caller, is delivered once: its delivery id follows from these
 * (E16). A message without a task begins a new one each time, since clients use ids of messages again; with an Idempotency-Key it begins one. */
#include "serve/a2a_call.h"

#include <stdio.h>
#include <sys/random.h>

enum { CANCEL_MS = 5000, ID_MOST = 200, KEY_MOST = 200, CONTEXT_BYTES = 16, WORDS_MOST = 12 };

static const char *word(a2a_call *c, const char *name, const char *value)
{
    const size_t n = strlen(name);
    char *out = arena_get(&c->mem, n + strlen(value) + 1);

    if (out != NULL) {
        memcpy(out, name, n);
        memcpy(out + n, value, strlen(value) + 1);
    }
    return out;
}

/* NULL: no memory. The parts of a key stand apart. */
static const char *key_of(a2a_call *c, const char *a, const char *b, const char *d)
{
    const char *out;
    buf k;

    buf_init(&k, NULL);
    buf_fmt(&k, "a2a\n%s\n%s\n%s", a, b, d);
    out = k.failed ? NULL : arena_strdup(&c->mem, k.data, k.size);
    buf_free(&k);
    return out;
}

static bool is_plain(const char *text, size_t most)
{
    const size_t n = strlen(text);
    bool good = n > 0 && n <= most && utf8_valid(text, n);

    for (size_t i = 0; i < n && good; i++)
        good = (unsigned char)text[i] >= ' ' && text[i] != 0x7f;
    return good;
}

static void no_memory(a2a_call *c)
{
    (void)a2a_wrong(&c->fault, A2A_INTERNAL, NULL, "no memory for this request");
    a2a_reply_fault(c);
}

/* True: it was performed. Else the fault was replied. */
static bool is_done(a2a_call *c, int code, const serve_verb *v)
{
    if (code == 0)
        return true;
    a2a_fault_of(c, v->why < PAWL_OK ? v->why : code == 2 ? PAWL_INVALID : PAWL_IO, v->said[0] != '\0' && utf8_valid(v->said, strlen(v->said)) ? v->said : "");
    a2a_reply_fault(c);
    return false;
}

/* ---- a new task --------------------------------------------------------------------------------------------------------- */

static const serve_machine *machine_named(const a2a_call *c, const char *name)
{
    const serve_config *config = c->s->config;
    const serve_machine *found = NULL;

    for (size_t i = 0; i < config->nmachines && found == NULL; i++)
        if (machine_fits(c->by.who, &config->machines[i]) && strcmp(config->machines[i].name, name) == 0)
            found = &config->machines[i];
    return found;
}

/* That of the address, of metadata.skill, or the only one. NULL: the fault was set. */
static const serve_machine *machine_of(a2a_call *c)
{
    const serve_config *config = c->s->config;
    const pawl_value *skill = pawl_value_get(c->q.message.metadata, "skill");
    const char *name = pawl_value_string(skill != NULL ? skill : pawl_value_get(c->q.metadata, "skill"));
    const serve_machine *found = NULL;
    size_t n = 0;

    if (c->machine != NULL)
        return c->machine;
    if (name != NULL && (found = machine_named(c, name)) == NULL)
        (void)a2a_wrong(&c->fault, A2A_INVALID_PARAMS, "metadata.skill", "%.100s: no such skill; the agent card lists them", name);
    for (size_t i = 0; i < config->nmachines && name == NULL; i++)
        if (machine_fits(c->by.who, &config->machines[i])) {
            found = &config->machines[i];
            n++;
        }
    if (name == NULL && n == 0)
        (void)a2a_wrong(&c->fault, A2A_UNSUPPORTED_OPERATION, NULL, "no machine begins runs here: its file is given to `pawl serve FILE`");
    else if (n > 1)
        (void)a2a_wrong(&c->fault, A2A_INVALID_PARAMS, "metadata.skill", "there are several skills here: name one in metadata.skill of the message, or use its address");
    return c->fault.error == A2A_FINE ? found : NULL;
}

static void begun(a2a_call *c, int code, const serve_verb *v, const buf *out)
{
    const pawl_value *reply = code == 0 && out != NULL ? value_parse(&c->mem, out->data, out->size, "a reply", NULL) : NULL;
    const char *run = pawl_value_string(pawl_value_get(reply, "run"));

    c->begins = NULL;
    if (!is_done(c, code, v))
        return;
    if (run == NULL || strlen(run) >= sizeof c->run) {
        no_memory(c);
        return;
    }
    snprintf(c->run, sizeof c->run, "%s", run);
    a2a_follow(c);
}

/* A context of its own: of a request that comes again, the same. */
static const char *context_of(a2a_call *c, const char *key)
{
    uint8_t bytes[CONTEXT_BYTES];
    char text[2 * CONTEXT_BYTES + 8] = "ctx-";
    hash h;

    if (c->q.message.context != NULL)
        return c->q.message.context;
    if (key != NULL) {
        hash_of(key, strlen(key), &h);
        memcpy(bytes, h.b, sizeof bytes);
    } else if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 4 + 2 * i, 3, "%02x", bytes[i]);
    return arena_text(&c->mem, text);
}

static void send_new(a2a_call *c)
{
    const char *given = http_header(c->r, "idempotency-key"), *key = NULL, *input, *context, *words[WORDS_MOST];
    const serve_machine *m;
    size_t n = 0;

    if (!a2a_scopes(c, SCOPE_READ | SCOPE_RUN))
        return;
    if ((m = machine_of(c)) == NULL || (input = a2a_input(&c->mem, &m->taker, &c->q.message, &c->fault)) == NULL) {
        a2a_reply_fault(c);
        return;
    }
    if (given != NULL && !is_plain(given, KEY_MOST)) {
        (void)a2a_wrong(&c->fault, A2A_INVALID_PARAMS, "Idempotency-Key", "Idempotency-Key: 1 to 200 printable characters");
        a2a_reply_fault(c);
        return;
    }
    key = given != NULL ? key_of(c, "begin", m->name, given) : NULL;
    if ((context = context_of(c, key)) == NULL || (given != NULL && key == NULL)) {
        no_memory(c);
        return;
    }
    words[n++] = "run";
    words[n++] = "--no-run";
    words[n++] = "--json";
    words[n++] = word(c, "--input=", input);
    words[n++] = word(c, "--context=", context);
    if (is_plain(c->q.message.id, ID_MOST))
        words[n++] = word(c, "--label=a2a:", c->q.message.id);
    words[n++] = "--";
    words[n++] = m->path;
    if (c->mem.failed) {
        no_memory(c);
        return;
    }
    c->begins = m;
    a2a_verb(c, words, n, key, begun);
}

/* ---- a task that is there -------------------------------------------------------------------------------------------------- */

static void told(a2a_call *c, int code, const serve_verb *v, const buf *out)
{
    (void)out;
    if (is_done(c, code, v))
        a2a_follow(c);
}

/* The message was delivered before, and is as good as new; else it is refused, as was found. */
static void told_before(a2a_call *c, int code, const serve_verb *v, const buf *out)
{
    (void)v, (void)out;
    if (code != 0) {
        a2a_reply_fault(c);
        return;
    }
    c->fault = (a2a_fault){ A2A_FINE, "", "" };
    a2a_follow(c);
}

/* No wait has that id, so only what was delivered before succeeds. */
static void ask_whether_told(a2a_call *c, const char *key)
{
    const char *none = word(c, c->run, "~0/none");
    const char *const words[] = { "answer", "--no-run", "--json", "--", c->run, none, "null" };

    if (none == NULL)
        a2a_reply_fault(c);
    else
        a2a_verb(c, words, 7, key, told_before);
}

static void answer_words(a2a_call *c, const a2a_answer *a, const char *key)
{
    const bool denies = strcmp(a->verb, "deny") == 0, sends = strcmp(a->verb, "send") == 0;
    const char *words[WORDS_MOST], *id = c->q.message.id;
    size_t n = 0;

    words[n++] = a->verb;
    words[n++] = "--no-run";
    words[n++] = "--json";
    if (a->reason != NULL)
        words[n++] = word(c, "--reason=", a->reason);
    else if (!denies && !sends && is_plain(id, ID_MOST))        /* an agent is told the reason of a denial */
        words[n++] = word(c, "--reason=a2a:", id);
    if (a->input != NULL)
        words[n++] = word(c, "--input=", a->input);
    if (a->signal != NULL)
        words[n++] = word(c, "--signal=", a->signal);
    if (a->sign != NULL)
        words[n++] = word(c, "--signed=", a->sign);
    words[n++] = "--";
    words[n++] = c->run;
    if (a->wait != NULL)
        words[n++] = word(c, a->wait, "");
    if (a->value != NULL)
        words[n++] = a->value;
    if (c->mem.failed)
        no_memory(c);
    else
        a2a_verb(c, words, n, key, told);
}

/* The task as it is stored now, with what is on its way to it. False: the fault was set. */
static bool task_now(a2a_call *c)
{
    if (!a2a_run_is_seen(c, c->q.task) || !a2a_open_task(c, c->q.task))
        return false;
    return a2a_read_task(c, SIZE_MAX, NULL, NULL) >= PAWL_OK && a2a_look_at_mail(c);
}

static const a2a_taker *taker_of(const a2a_call *c)
{
    const serve_machine *found = NULL;
    pawl_head head = { 0 };

    if (c->s->store->verbs->head(c->s->store, c->run, &head, NULL) == PAWL_OK)
        found = machine_named(c, head.machine);
    return found != NULL ? &found->taker : NULL;
}

static void send_to_task(a2a_call *c)
{
    const a2a_message *m = &c->q.message;
    char digest[HASH_HEX + 1];
    a2a_answer a;

    if (!a2a_scopes(c, SCOPE_READ | SCOPE_ANSWER))
        return;
    if (!task_now(c)) {
        a2a_reply_fault(c);
        return;
    }
    if (m->context != NULL && strcmp(m->context, a2a_task_context(c->t)) != 0) {
        (void)a2a_wrong(&c->fault, A2A_INVALID_PARAMS, "message.contextId", "message.contextId: the task is of another context");
        a2a_reply_fault(c);
        return;
    }
    const char *key = a2a_message_digest(m, digest) ? key_of(c, c->run, m->id, digest) : NULL;

    if (key == NULL) {
        no_memory(c);
    } else if (a2a_state_over(a2a_task_status(c->t).state)) {
        (void)a2a_wrong(&c->fault, A2A_UNSUPPORTED_OPERATION, NULL, "%s: the task is over, and takes no messages", c->run);
        ask_whether_told(c, key);
    } else if (!a2a_answer_of(&c->mem, c->t, taker_of(c), m, &a, &c->fault)) {
        ask_whether_told(c, key);
    } else {
        answer_words(c, &a, key);
    }
}

void a2a_send(a2a_call *c)
{
    if (c->q.task != NULL)
        send_to_task(c);
    else
        send_new(c);
}

/* ---- cancel ------------------------------------------------------------------------------------------------------------------- */

static void canceled(a2a_call *c, int code, const serve_verb *v, const buf *out)
{
    (void)out;
    c->due_ms = http_now(c->s->http) + CANCEL_MS;       /* it is durable; commands that end take their time */
    if (is_done(c, code, v))
        a2a_follow(c);
}

void a2a_cancel(a2a_call *c)
{
    const char *const words[] = { "cancel", "--no-run", "--json", "--", c->run };
    a2a_state s;

    if (!a2a_scopes(c, SCOPE_READ | SCOPE_RUN))
        return;
    if (!task_now(c)) {
        a2a_reply_fault(c);
        return;
    }
    s = a2a_task_status(c->t).state;
    if (s == A2A_CANCELED && c->q.version == A2A_1_0) {
        a2a_follow(c);
    } else if (a2a_state_over(s)) {
        (void)a2a_wrong(&c->fault, A2A_TASK_NOT_CANCELABLE, NULL, "%s: the task is %s", c->run, a2a_state_name(s, A2A_0_3));
        a2a_reply_fault(c);
    } else {
        a2a_verb(c, words, 5, NULL, canceled);
    }
}
