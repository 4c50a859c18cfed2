/* encode.c - writes entries and items as bytes, in the format of docs/INTERFACES.md. Called by the step loop and by the code that writes a
 * state, on the thread that owns the step. The bytes are canonical, because hashes and comparisons depend on them. */
#include "kernel/frame.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"

#include <string.h>

typedef struct coder {
    buf *b;
    value_refs *refs;           /* NULL: the values have no references */
    buf *list;              /* the references of the value being written */
    blob_set *apart;
    size_t most;            /* a value with a longer text is searched for blobs */
} coder;

enum { HEAD_BYTES_MAX = 32, ENVELOPE_BYTES_MAX = 128 };

static void text_code(buf *b, const char *text)
{
    canon_string(b, text, strlen(text));
}

static void value_named(coder *c, const char *form, const char *target)
{
    buf_word(c->b, "null");
    buf_word(c->list, "[\"\",\"");
    buf_text(c->list, form);
    buf_word(c->list, "\",");
    text_code(c->list, target);
    buf_char(c->list, ']');
}

/* Writes a VALUE; its references and blobs go to c->list. */
static void value_code(coder *c, const pawl_value *v, const char *event, const char *from)
{
    size_t at = c->b->size;

    buf_reset(c->list);
    if (v == NULL) {
        buf_word(c->b, "null");
        return;
    }
    if (event != NULL || from != NULL) {
        value_named(c, event != NULL ? "event" : "channel", event != NULL ? event : from);
    } else {
        canon_refs(c->b, v, c->refs, c->list);
    }
    if (c->b->size - at > c->most && c->list->size == 0)
        blob_apart(c->apart, c->b, at, v, "", c->list);
    if (c->list->failed)
        c->b->failed = true;
}

static void list_code(coder *c)
{
    buf_char(c->b, '[');
    buf_put(c->b, c->list->data, c->list->size);
    buf_char(c->b, ']');
}

static void writes_code(coder *c, const item_write *w, uint32_t n)
{
    buf_char(c->b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            buf_char(c->b, ',');
        buf_char(c->b, '[');
        text_code(c->b, w[i].channel);
        buf_char(c->b, ',');
        value_code(c, w[i].value, w[i].event, w[i].from);
        if (w[i].op != OP_MERGE || c->list->size > 0) {
            buf_char(c->b, ',');
            text_code(c->b, op_names[w[i].op]);
        }
        if (c->list->size > 0) {
            buf_char(c->b, ',');
            list_code(c);
        }
        buf_char(c->b, ']');
    }
    buf_char(c->b, ']');
}

static void named_code(coder *c, const named *v, uint32_t n, bool senders)
{
    buf_char(c->b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            buf_char(c->b, ',');
        buf_char(c->b, '[');
        if (senders) {
            buf_uint(c->b, v[i].sender);
            buf_char(c->b, ',');
        }
        text_code(c->b, v[i].name);
        buf_char(c->b, ',');
        value_code(c, v[i].value, v[i].event, NULL);
        if (c->list->size > 0) {
            buf_char(c->b, ',');
            list_code(c);
        }
        buf_char(c->b, ']');
    }
    buf_char(c->b, ']');
}

static void names_code(buf *b, const char *const *names, uint32_t n)
{
    buf_char(b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            buf_char(b, ',');
        text_code(b, names[i]);
    }
    buf_char(b, ']');
}

/* Writes the start of the next member: `{"name":` or `,"name":`. */
static void member(buf *b, bool *first, const char *name)
{
    buf_char(b, *first ? '{' : ',');
    buf_char(b, '"');
    buf_text(b, name);
    buf_word(b, "\":");
    *first = false;
}

static void leave_code(coder *c, const leave *l)
{
    bool first = true;

    buf_char(c->b, ',');
    writes_code(c, l->writes, l->nwrites);
    if (l->nemits == 0 && !l->halt && l->ngotos == 0 && l->hold == NULL && l->nsends == 0)
        return;
    buf_char(c->b, ',');
    if (l->nemits > 0) {
        member(c->b, &first, "emit");
        named_code(c, l->emits, l->nemits, false);
    }
    if (l->halt) {
        member(c->b, &first, "end");
        buf_word(c->b, "\"halt\"");
    }
    if (l->ngotos > 0) {
        member(c->b, &first, "goto");
        names_code(c->b, l->gotos, l->ngotos);
    }
    if (l->hold != NULL) {
        member(c->b, &first, "hold");
        canon(c->b, l->hold);
    }
    if (l->nsends > 0) {
        member(c->b, &first, "send");
        named_code(c, l->sends, l->nsends, false);
    }
    buf_char(c->b, '}');
}

static void drop_code(buf *b, const closing *cl)
{
    if (cl->drop_all) {
        buf_word(b, "true");
        return;
    }
    buf_char(b, '[');
    for (uint32_t i = 0; i < cl->ndrop; i++) {
        if (i > 0)
            buf_char(b, ',');
        buf_uint(b, cl->drop[i]);
    }
    buf_char(b, ']');
}

static void close_code(coder *c, const closing *cl, const char *where)
{
    bool plain = cl->defer == NULL && !cl->drop_all && cl->ndrop == 0 && cl->joins == NULL && cl->nmerged == 0 && cl->nsends == 0;
    bool first = true;

    buf_char(c->b, ',');
    names_code(c->b, cl->next, cl->nnext);
    if (!plain) {
        buf_char(c->b, ',');
        if (cl->defer != NULL) {
            member(c->b, &first, "defer");
            canon(c->b, cl->defer);
        }
        if (cl->drop_all || cl->ndrop > 0) {
            member(c->b, &first, "drop");
            drop_code(c->b, cl);
        }
        if (cl->joins != NULL) {
            member(c->b, &first, "joins");
            canon(c->b, cl->joins);
        }
        if (cl->nmerged > 0) {
            member(c->b, &first, "merged");
            writes_code(c, cl->merged, cl->nmerged);
        }
        if (cl->nsends > 0) {
            member(c->b, &first, "send");
            named_code(c, cl->sends, cl->nsends, true);
        }
        buf_char(c->b, '}');
    }
    if (*where != '\0') {
        buf_text(c->b, plain ? ",{}," : ",");
        text_code(c->b, where);
    }
}

void id_code(buf *b, const item *it)
{
    buf_uint(b, it->superstep);
    buf_char(b, '.');
    buf_text(b, it->task);
    buf_char(b, '.');
    buf_uint(b, it->visit);
    buf_char(b, '.');
    buf_uint(b, it->n);
}

static void id_member(buf *b, const item *it)
{
    buf_word(b, ",\"");     /* names need no escapes */
    id_code(b, it);
    buf_char(b, '"');
}

static void task_member(buf *b, const item *it)
{
    buf_char(b, ',');
    text_code(b, it->task);
    buf_char(b, ',');
    buf_uint(b, it->visit);
}

static void value_member(coder *c, const pawl_value *v)
{
    buf_char(c->b, ',');
    if (v == NULL)
        buf_word(c->b, "null");
    else
        canon(c->b, v);
}

/* Writes the VALUE of an item; its references follow the item's last element. */
static void value_whole(coder *c, const pawl_value *v)
{
    size_t at = c->b->size + 1;

    value_member(c, v);
    buf_reset(c->list);
    if (v != NULL && c->b->size - at > c->most)
        blob_apart(c->apart, c->b, at, v, "", c->list);
}

static void refs_member(coder *c)
{
    c->b->failed = c->b->failed || c->list->failed;
    if (c->list->size == 0)
        return;
    buf_char(c->b, ',');
    list_code(c);
}

static void command_code(coder *c, const item *it)
{
    id_member(c->b, it);
    if (it->kind == ITEM_SLEEP || it->kind == ITEM_ASK || it->kind == ITEM_DOUBT || it->kind == ITEM_REFUSAL) {
        buf_char(c->b, ',');
        buf_int(c->b, it->at);
    }
    if (it->kind == ITEM_REFUSAL) {
        buf_char(c->b, ',');
        text_code(c->b, item_name(it->wait == CALL_SPAWN ? ITEM_SPAWN : ITEM_CALL));
    }
    buf_char(c->b, ',');
    buf_put(c->b, it->spec, it->spec_size);
    if (it->kind == ITEM_REFUSAL)
        value_member(c, it->value);
}

static void receipt_code(coder *c, const item *it)
{
    id_member(c->b, it);
    buf_char(c->b, ',');
    buf_int(c->b, it->at);
    if (it->kind == ITEM_RECEIPT) {
        buf_char(c->b, ',');
        text_code(c->b, outcome_names[it->outcome]);
    }
    value_whole(c, it->value);
    if (it->more != NULL)
        value_member(c, it->more);
    refs_member(c);
}

static void input_code(coder *c, const item *it)
{
    if (it->kind == ITEM_SIGNAL || it->kind == ITEM_EMIT) {
        buf_char(c->b, ',');
        text_code(c->b, it->task);
    }
    if (snapshot_is_name(it)) {         /* whole, whatever the limit for blobs is: it is read without any (K11) */
        value_member(c, it->value);
        value_member(c, it->more);
        return;
    }
    value_whole(c, it->value);
    if (it->kind == ITEM_UPDATE)
        value_member(c, it->more);
    refs_member(c);
}

static void rest_code(coder *c, const item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_START:
    case ITEM_INPUT:
    case ITEM_UPDATE:
    case ITEM_SIGNAL:
    case ITEM_EMIT:
        input_code(c, it);
        break;
    case ITEM_RECORDS:
        buf_char(c->b, ',');
        buf_uint(c->b, it->n);
        value_member(c, it->value);
        break;
    case ITEM_VISIT:
        task_member(c->b, it);
        buf_char(c->b, ',');
        buf_int(c->b, it->at);
        break;
    case ITEM_SELECT:
        task_member(c->b, it);
        buf_char(c->b, ',');
        buf_uint(c->b, it->k);
        buf_char(c->b, ',');
        if (it->n == UINT32_MAX)
            buf_word(c->b, "null");
        else
            buf_uint(c->b, it->n);
        break;
    case ITEM_FRAME:
        task_member(c->b, it);
        buf_char(c->b, ',');
        writes_code(c, it->writes, it->nwrites);
        break;
    case ITEM_PUT:
        buf_char(c->b, ',');
        writes_code(c, it->writes, it->nwrites);
        if (*it->task != '\0') {
            buf_char(c->b, ',');
            canon_string(c->b, it->task, strlen(it->task));
        }
        break;
    case ITEM_FAIL:
    case ITEM_END:
        if (it->kind == ITEM_FAIL)
            task_member(c->b, it);
        buf_char(c->b, ',');
        buf_put(c->b, it->spec, it->spec_size);
        break;
    case ITEM_UNWIND:
        buf_char(c->b, ',');
        canon_string(c->b, status_names[it->outcome], strlen(status_names[it->outcome]));
        if (it->spec != NULL) {
            buf_char(c->b, ',');
            buf_put(c->b, it->spec, it->spec_size);
        }
        break;
    case ITEM_DROP:
        id_member(c->b, it);
        break;
    case ITEM_CANCEL:
    case ITEM_REOPEN:
    case ITEM_ADOPT:
        value_member(c, it->value);
        break;
    default:        /* item_code() writes these kinds itself */
        break;
    }
}

static void head_code(buf *b, const char *name)
{
    char *pen = pen_begin(b, HEAD_BYTES_MAX);

    if (pen != NULL)
        pen_end(b, pen_name(pen_word(pen, "["), name, strlen(name)));
}

void item_code(buf *b, const item *it, value_refs *held, blob_set *apart, buf *scratch)
{
    coder c = { .b = b, .refs = held, .list = scratch, .apart = apart, .most = apart != NULL ? blobs_most(apart) : SIZE_MAX };

    head_code(b, item_name(it->kind));
    switch ((item_kind)it->kind) {
    case ITEM_CALL:
    case ITEM_SLEEP:
    case ITEM_SPAWN:
    case ITEM_ASK:
    case ITEM_DOUBT:
    case ITEM_REFUSAL:
        command_code(&c, it);
        break;
    case ITEM_RECEIPT:
    case ITEM_ANSWER:
    case ITEM_SIGN:
        receipt_code(&c, it);
        break;
    case ITEM_LEAVE:
        task_member(b, it);
        leave_code(&c, it->leave);
        break;
    case ITEM_CLOSE:
        close_code(&c, it->closing, it->task);
        break;
    case ITEM_TURN:
        break;
    default:
        rest_code(&c, it);
        break;
    }
    buf_char(b, ']');
}

void envelope_code(buf *b, const pawl_entry *e)
{
    const char *kind = kind_names[e->kind], *status = status_names[e->status];
    char *pen = pen_begin(b, ENVELOPE_BYTES_MAX);

    if (pen == NULL)
        return;
    pen = pen_uint(pen_word(pen, "["), e->seq);
    pen = pen_int(pen_word(pen, ","), e->time_ms);
    pen = pen_name(pen_word(pen, ","), kind, strlen(kind));
    pen = pen_name(pen_word(pen, ","), status, strlen(status));
    pen = pen_uint(pen_word(pen, ","), e->turn);
    pen_end(b, pen_word(pen, "]"));
}

static void items_code(pawl_entry *e, buf *b, value_refs *held, blob_set *apart, buf *scratch, size_t from)
{
    buf_char(b, '[');
    for (item *it = e->items; it != NULL; it = it->next) {
        if (it != e->items)
            buf_char(b, ',');
        it->text_at = (uint32_t)(b->size - from);
        item_code(b, it, held, apart, scratch);
        it->text_size = (uint32_t)(b->size - from) - it->text_at;
    }
    buf_char(b, ']');
}

/* Writes "HASH ENVELOPE BODY", or the items of a task record. The hash covers the previous hash too (e->prev). */
void entry_code(pawl_entry *e, buf *b, value_refs *held, blob_set *apart, buf *scratch)
{
    size_t envelope = 0, body = 0;
    hash digest;

    buf_reset(b);
    if (!e->record && buf_room(b, HASH_HEX + 1)) {
        memset(b->data, '0', HASH_HEX);
        b->data[HASH_HEX] = ' ';
        envelope = b->size = HASH_HEX + 1;
        envelope_code(b, e);
        buf_char(b, ' ');
        body = b->size;
    }
    items_code(e, b, held, apart, scratch, body);
    if (b->failed)
        return;
    if (!e->record && e->hashed) {
        hash_of(b->data + body, b->size - body, &digest);
        const pawl_bytes parts[3] = {
            { (const char *)e->prev.b, HASH_BYTES },
            { b->data + envelope, body - 1 - envelope },
            { (const char *)digest.b, HASH_BYTES },
        };
        hash_parts(parts, 3, &e->self);
        hash_hex(&e->self, b->data);
        b->data[HASH_HEX] = ' ';        /* hash_hex() has put a NUL here */
    }
    e->bytes = (pawl_bytes){ b->data, b->size };
    e->items_text = b->data + body;
    e->coded = true;
}
