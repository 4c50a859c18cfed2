/* parse.c - items and entries back from bytes. Nothing read is trusted: whatever is not exactly what code.c
 * writes is refused with its place. What an item means in this state is the fold's to judge. */
#include "kernel/kernel.h"

#include <string.h>

typedef struct reader {
    arena *a;
    pawl_iter it;
    size_t at;              /* of the element, for messages */
    const char *wrong;      /* the first thing that was not as it should be */
} reader;

static const pawl_value *next_value(reader *r)
{
    const pawl_value *v = pawl_iter_next(&r->it, NULL);

    r->at++;
    if (v == NULL && r->wrong == NULL)
        r->wrong = "an element is missing";
    return v;
}

static const char *next_text(reader *r)
{
    const pawl_value *v = next_value(r);
    const char *text = pawl_value_string(v);

    if ((text == NULL || strlen(text) != pawl_value_size(v)) && r->wrong == NULL)
        r->wrong = "a text is due";
    return text != NULL ? text : "";
}

static uint64_t next_uint(reader *r, uint64_t most)
{
    const pawl_value *v = next_value(r);
    uint64_t n = pawl_value_uint(v);

    if ((pawl_value_type(v) != PAWL_TYPE_INT || n > most || (n == 0 && pawl_value_int(v) < 0)) && r->wrong == NULL)
        r->wrong = "a number is due";
    return n;
}

static int64_t next_int(reader *r)
{
    const pawl_value *v = next_value(r);
    int64_t n = pawl_value_int(v);

    if ((pawl_value_type(v) != PAWL_TYPE_INT || (n == 0 && pawl_value_uint(v) != 0)) && r->wrong == NULL)
        r->wrong = "a whole number is due";
    return n;
}

static const pawl_value *next_of(reader *r, pawl_type type)
{
    const pawl_value *v = next_value(r);

    if (pawl_value_type(v) != type && r->wrong == NULL)
        r->wrong = type == PAWL_TYPE_OBJECT ? "an object is due" : "an array is due";
    return pawl_value_type(v) == type ? v : NULL;
}

static reader reader_of(arena *a, const pawl_value *array)
{
    return (reader){ .a = a, .it = pawl_iter_of(array) };
}

static void *many(reader *r, size_t n, size_t size)
{
    void *p = n == 0 ? NULL : arena_zero(r->a, n * size);

    if (p == NULL && n > 0 && r->wrong == NULL)
        r->wrong = "no memory";
    return p;
}

/* ---- parts of items ------------------------------------------------------------------------- */

static const pawl_value *refs_of(reader *r)
{
    const pawl_value *array = next_of(r, PAWL_TYPE_ARRAY);
    pawl_iter it = pawl_iter_of(array);
    const pawl_value *ref;

    while ((ref = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_type(ref) != PAWL_TYPE_ARRAY || pawl_value_size(ref) < 3 || pawl_value_size(ref) > 4)
            r->wrong = "a reference is [path,form,target]";
    return array;
}

static const write *writes_of(reader *r, const pawl_value *array, uint32_t *count)
{
    size_t n = pawl_value_size(array);
    write *w = many(r, n, sizeof *w);
    pawl_iter it = pawl_iter_of(array);

    *count = 0;
    for (size_t i = 0; w != NULL && i < n && r->wrong == NULL; i++) {
        const pawl_value *v = pawl_iter_next(&it, NULL);
        reader in = reader_of(r->a, v);

        if (pawl_value_type(v) != PAWL_TYPE_ARRAY) {
            r->wrong = "a write is [channel,value]";
            break;
        }
        w[i].channel = next_text(&in);
        w[i].value = next_value(&in);
        if (in.it.left > 0) {
            int op = name_index(op_names, 3, next_text(&in));

            w[i].op = (uint8_t)(op < 0 ? 0 : op);
            if (op < 0)
                in.wrong = "an unknown op";
        }
        if (in.it.left > 0)
            w[i].refs.list = refs_of(&in);
        if (in.it.left > 0)
            in.wrong = "a write has four elements at most";
        r->wrong = in.wrong;
        *count = (uint32_t)i + 1;
    }
    return w;
}

static const named *named_of(reader *r, const pawl_value *array, bool senders, uint32_t *count)
{
    size_t n = pawl_value_size(array);
    named *v = many(r, n, sizeof *v);
    pawl_iter it = pawl_iter_of(array);

    *count = 0;
    for (size_t i = 0; v != NULL && i < n && r->wrong == NULL; i++) {
        const pawl_value *e = pawl_iter_next(&it, NULL);
        reader in = reader_of(r->a, e);

        if (pawl_value_type(e) != PAWL_TYPE_ARRAY) {
            r->wrong = "an array is due";
            break;
        }
        if (senders)
            v[i].sender = (uint32_t)next_uint(&in, UINT32_MAX);
        v[i].name = next_text(&in);
        v[i].value = next_value(&in);
        if (pawl_value_type(v[i].value) == PAWL_TYPE_NULL && in.it.left == 0)
            v[i].value = NULL;
        if (in.it.left > 0)
            v[i].refs.list = refs_of(&in);
        if (in.it.left > 0)
            in.wrong = "too many elements";
        r->wrong = in.wrong;
        *count = (uint32_t)i + 1;
    }
    return v;
}

static const char *const *names_of(reader *r, const pawl_value *array, uint32_t *count)
{
    size_t n = pawl_value_size(array);
    const char **names = many(r, n, sizeof *names);
    reader in = reader_of(r->a, array);

    for (size_t i = 0; names != NULL && i < n; i++)
        names[i] = next_text(&in);
    if (r->wrong == NULL)
        r->wrong = in.wrong;
    *count = names != NULL ? (uint32_t)n : 0;
    return names;
}

/* Members of an optional last object, each known by name. */
static const leave *leave_of(reader *r)
{
    leave *l = many(r, 1, sizeof *l);
    const pawl_value *key, *v;
    pawl_iter it;

    if (l == NULL)
        return NULL;
    l->writes = writes_of(r, next_of(r, PAWL_TYPE_ARRAY), &l->nwrites);
    if (r->it.left == 0)
        return l;
    it = pawl_iter_of(next_of(r, PAWL_TYPE_OBJECT));
    while (r->wrong == NULL && (v = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = pawl_value_string(key);

        if (strcmp(name, "emit") == 0)
            l->emits = named_of(r, v, false, &l->nemits);
        else if (strcmp(name, "send") == 0)
            l->sends = named_of(r, v, false, &l->nsends);
        else if (strcmp(name, "goto") == 0)
            l->gotos = names_of(r, v, &l->ngotos);
        else if (strcmp(name, "hold") == 0 && pawl_value_type(v) == PAWL_TYPE_OBJECT)
            l->hold = v;
        else if (strcmp(name, "end") == 0 && pawl_value_type(v) == PAWL_TYPE_STRING)
            l->halt = true;
        else
            r->wrong = "an unknown member of leave";
    }
    return l;
}

static void drop_of(reader *r, closing *cl, const pawl_value *v)
{
    uint32_t *drop;
    reader in = reader_of(r->a, v);

    if (pawl_value_bool(v)) {
        cl->drop_all = true;
        return;
    }
    cl->ndrop = (uint32_t)pawl_value_size(v);
    cl->drop = drop = many(r, cl->ndrop, sizeof *drop);
    for (uint32_t i = 0; drop != NULL && i < cl->ndrop; i++)
        drop[i] = (uint32_t)next_uint(&in, UINT32_MAX);
    if (r->wrong == NULL)
        r->wrong = in.wrong;
}

bool names_good(const pawl_value *names)
{
    pawl_iter it = pawl_iter_of(names);
    const pawl_value *v;

    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_type(v) != PAWL_TYPE_STRING)
            return false;
    return pawl_value_type(names) == PAWL_TYPE_ARRAY;
}

bool joins_good(const pawl_value *joins)
{
    pawl_iter it = pawl_iter_of(joins);
    const pawl_value *v;

    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if (!names_good(v))
            return false;
    return pawl_value_type(joins) == PAWL_TYPE_OBJECT;
}

static const closing *closing_of(reader *r, const char **where)
{
    closing *cl = many(r, 1, sizeof *cl);
    const pawl_value *key, *v;
    pawl_iter it;

    if (cl == NULL)
        return NULL;
    *where = "";
    cl->next = names_of(r, next_of(r, PAWL_TYPE_ARRAY), &cl->nnext);
    if (r->it.left == 0)
        return cl;
    it = pawl_iter_of(next_of(r, PAWL_TYPE_OBJECT));
    while (r->wrong == NULL && (v = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = pawl_value_string(key);

        if (strcmp(name, "defer") == 0 && names_good(v))
            cl->defer = v;
        else if (strcmp(name, "joins") == 0 && joins_good(v))
            cl->joins = v;
        else if (strcmp(name, "drop") == 0)
            drop_of(r, cl, v);
        else if (strcmp(name, "merged") == 0)
            cl->merged = writes_of(r, v, &cl->nmerged);
        else if (strcmp(name, "send") == 0)
            cl->sends = named_of(r, v, true, &cl->nsends);
        else
            r->wrong = "an unknown member of close";
    }
    if (r->it.left > 0)
        *where = next_text(r);
    return cl;
}

bool id_parse(const char *id, char *path, uint64_t *superstep, uint32_t *visit_no, uint32_t *n)
{
    const char *dot = strchr(id, '.'), *last = strrchr(id, '.'), *mid = last;
    uint64_t part[3] = {0};
    const char *from[3], *to[3];

    if (dot == NULL || last == dot)
        return false;
    do
        mid--;
    while (mid > dot && *mid != '.');
    if (mid <= dot || (size_t)(mid - dot) > PATH_BYTES_MAX)
        return false;
    from[0] = id, to[0] = dot;
    from[1] = mid + 1, to[1] = last;
    from[2] = last + 1, to[2] = last + strlen(last);
    for (int i = 0; i < 3; i++) {
        if (from[i] == to[i] || to[i] - from[i] > 18 || (*from[i] == '0' && to[i] - from[i] > 1))
            return false;
        for (const char *p = from[i]; p < to[i]; p++) {
            if (*p < '0' || *p > '9')
                return false;
            part[i] = part[i] * 10 + (uint64_t)(*p - '0');
        }
    }
    if (part[1] > UINT32_MAX || part[2] > UINT32_MAX)
        return false;
    memcpy(path, dot + 1, (size_t)(mid - dot - 1));
    path[mid - dot - 1] = '\0';
    *superstep = part[0];
    *visit_no = (uint32_t)part[1];
    *n = (uint32_t)part[2];
    return true;
}

static void id_of(reader *r, item *it)
{
    char path[PATH_BYTES_MAX + 1];
    const char *id = next_text(r);

    it->task = "";
    if (!id_parse(id, path, &it->superstep, &it->visit, &it->n)) {
        if (r->wrong == NULL)
            r->wrong = "an id is SUPERSTEP.TASK.VISIT.N";
        return;
    }
    it->task = arena_strdup(r->a, path, strlen(path));
    if (it->task == NULL)
        r->wrong = "no memory";
}

/* ---- items ------------------------------------------------------------------------------------- */

/* A SPEC is kept as canonical text; its members are looked at when they are needed. */
static void spec_of(reader *r, item *it)
{
    const pawl_value *v = next_of(r, PAWL_TYPE_OBJECT);
    const char *kind = pawl_value_string(pawl_value_get(v, "kind"));
    buf b;

    if (v == NULL)
        return;
    it->value = v;
    if (it->kind == ITEM_ASK) {
        int wait = name_index(wait_names, 5, kind);

        it->wait = (uint8_t)(wait > 0 ? wait : PAWL_WAIT_QUESTION);
        it->hold = pawl_value_bool(pawl_value_get(v, "hold"));
        if (kind != NULL && wait < 0)
            r->wrong = "an unknown kind of wait";
    }
    buf_init(&b, &r->a->alloc);
    canon(&b, v);
    it->spec_size = b.size;
    it->spec = b.failed ? NULL : arena_strdup(r->a, b.data, b.size);
    if (it->spec == NULL) {
        r->wrong = "no memory";
        r->a->failed = true;
    }
    buf_free(&b);
}

static void visit_of(reader *r, item *it)
{
    it->task = next_text(r);
    it->visit = (uint32_t)next_uint(r, UINT32_MAX);
}

static void receipt_of(reader *r, item *it)
{
    id_of(r, it);
    it->at = next_int(r);
    if (it->kind == ITEM_RECEIPT) {
        int outcome = name_index(outcome_names, 5, next_text(r));

        it->outcome = (uint8_t)(outcome < 0 ? 0 : outcome);
        if (outcome < 0)
            r->wrong = "an unknown outcome";
    }
    it->value = next_value(r);
    if (r->it.left > 0)
        it->more = next_of(r, PAWL_TYPE_OBJECT);
    if (pawl_value_get(it->more, "update") != NULL &&
        pawl_value_type(pawl_value_get(it->more, "update")) != PAWL_TYPE_OBJECT)
        r->wrong = "an update is an object";
}

static void update_checked(reader *r, const pawl_value *object)
{
    const pawl_value *update = pawl_value_get(object, "update");

    if (update != NULL && pawl_value_type(update) != PAWL_TYPE_OBJECT)
        r->wrong = "an update is an object";
}

static void select_of(reader *r, item *it)
{
    visit_of(r, it);
    it->k = (uint32_t)next_uint(r, UINT32_MAX);
    it->n = UINT32_MAX;
    if (r->it.left > 0 && pawl_value_type(r->it.next) == PAWL_TYPE_NULL)
        (void)next_value(r);
    else
        it->n = (uint32_t)next_uint(r, UINT32_MAX - 1);
}

/* What came in from outside. */
static void event_of_item(reader *r, item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_START:
    case ITEM_INPUT:
        it->value = next_value(r);
        if (pawl_value_type(it->value) != PAWL_TYPE_OBJECT && pawl_value_type(it->value) != PAWL_TYPE_NULL)
            r->wrong = "an object is due";
        break;
    case ITEM_UPDATE:
        it->value = next_of(r, PAWL_TYPE_OBJECT);
        it->more = next_of(r, PAWL_TYPE_OBJECT);
        break;
    case ITEM_CANCEL:
    case ITEM_REOPEN:
    case ITEM_ADOPT:
        it->value = next_of(r, PAWL_TYPE_OBJECT);
        update_checked(r, it->value);
        break;
    default:        /* signal, and emit, which looks alike */
        it->task = next_text(r);
        it->value = next_value(r);
        break;
    }
}

static void visit_item_of(reader *r, item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_VISIT:
        visit_of(r, it);
        it->at = next_int(r);
        break;
    case ITEM_SELECT:
        select_of(r, it);
        break;
    case ITEM_FRAME:
        visit_of(r, it);
        it->writes = writes_of(r, next_of(r, PAWL_TYPE_ARRAY), &it->nwrites);
        if (r->it.left > 0)
            it->more = next_of(r, PAWL_TYPE_OBJECT);
        break;
    case ITEM_FAIL:
        visit_of(r, it);
        spec_of(r, it);
        break;
    default:        /* leave */
        visit_of(r, it);
        it->leave = leave_of(r);
        break;
    }
}

static void command_of(reader *r, item *it)
{
    id_of(r, it);
    if (it->kind == ITEM_SLEEP || it->kind == ITEM_ASK)
        it->at = next_int(r);
    spec_of(r, it);
}

static void rest_of(reader *r, item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_START:
    case ITEM_INPUT:
    case ITEM_UPDATE:
    case ITEM_CANCEL:
    case ITEM_REOPEN:
    case ITEM_ADOPT:
    case ITEM_SIGNAL:
    case ITEM_EMIT:
        event_of_item(r, it);
        break;
    case ITEM_RECORDS:
        it->n = (uint32_t)next_uint(r, UINT32_MAX);
        it->value = next_value(r);
        break;
    case ITEM_VISIT:
    case ITEM_SELECT:
    case ITEM_FRAME:
    case ITEM_FAIL:
    case ITEM_LEAVE:
        visit_item_of(r, it);
        break;
    case ITEM_PUT:
        it->writes = writes_of(r, next_of(r, PAWL_TYPE_ARRAY), &it->nwrites);
        if (r->it.left > 0)
            it->task = next_text(r);
        break;
    case ITEM_END:
        spec_of(r, it);
        break;
    case ITEM_DROP:
        id_of(r, it);
        break;
    case ITEM_CALL:
    case ITEM_SLEEP:
    case ITEM_SPAWN:
    case ITEM_ASK:
        command_of(r, it);
        break;
    case ITEM_RECEIPT:
    case ITEM_ANSWER:
        receipt_of(r, it);
        break;
    case ITEM_CLOSE:
        it->closing = closing_of(r, &it->task);
        break;
    case ITEM_TURN:
    case ITEM_KINDS:
        break;
    }
}

item *item_parse(arena *a, const pawl_value *v, pawl_err *err)
{
    reader r = reader_of(a, v);
    item *it = arena_zero(a, sizeof *it);
    const char *name;
    unsigned kind = 0;

    if (it == NULL) {
        fail(err, PAWL_NOMEM, "no memory");
        return NULL;
    }
    it->task = "";
    name = next_text(&r);
    while (kind < ITEM_KINDS && strcmp(item_name(kind), name) != 0)
        kind++;
    it->kind = (uint8_t)kind;
    if (pawl_value_type(v) != PAWL_TYPE_ARRAY || kind == ITEM_KINDS) {
        fail(err, PAWL_CORRUPT, "\"%.40s\" is no kind of item that this version knows", name);
        return NULL;
    }
    rest_of(&r, it);
    if (r.wrong == NULL && r.it.left > 0)
        r.wrong = "too many elements";
    if (a->failed)
        fail(err, PAWL_NOMEM, "no memory");
    else if (r.wrong != NULL)
        fail(err, PAWL_CORRUPT, "item \"%s\", element %zu: %s", name, r.at, r.wrong);
    return r.wrong == NULL && !a->failed ? it : NULL;
}

const leave *leave_parse(arena *a, const char *text, size_t size, pawl_err *err)
{
    const pawl_value *v = value_read(a, text, size, "a leave", err);
    item *it = v == NULL ? NULL : item_parse(a, v, err);

    return it == NULL ? NULL : it->leave;
}

/* Where an element stands in the text is needed for the digests of a record, and to keep a leave: the element's canonical
 * text is its own bytes, so its length is found by writing it. */
static bool item_place(item *it, const pawl_value *v, buf *b, size_t *at)
{
    buf_reset(b);
    canon(b, v);
    it->text_at = (uint32_t)*at;
    it->text_size = (uint32_t)b->size;
    *at += b->size + 1;
    return !b->failed;
}

pawl_code items_parse(pawl_entry *e, const char *text, size_t size, pawl_err *err)
{
    const pawl_value *body = value_read(e->mem, text, size, "items", err), *v;
    pawl_iter it = pawl_iter_of(body);
    size_t at = 1;
    bool places = e->record, left = false;  /* left: a leave that this entry does not merge */
    pawl_code rc = PAWL_OK;
    buf b;

    e->items_text = text;
    if (body == NULL)
        return e->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
    if (pawl_value_type(body) != PAWL_TYPE_ARRAY)
        return fail(err, PAWL_CORRUPT, "an entry's body is an array of items");
    buf_init(&b, &e->mem->alloc);
    for (uint32_t n = 0; rc == PAWL_OK && (v = pawl_iter_next(&it, NULL)) != NULL; n++) {
        item *i = item_parse(e->mem, v, err);

        if (i == NULL) {
            rc = e->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
            break;
        }
        if (e->last == NULL)
            e->items = i;
        else
            e->last->next = i;
        e->last = i;
        e->count++;
        if (i->kind == ITEM_CLOSE && *i->task == '\0')
            e->closes = true, left = false;
        else if (i->kind == ITEM_LEAVE)
            left = true, places = places || strchr(i->task, '/') != NULL;
    }
    places = places || left;
    it = pawl_iter_of(body);
    for (item *i = e->items; rc == PAWL_OK && places && i != NULL; i = i->next)
        if (!item_place(i, pawl_iter_next(&it, NULL), &b, &at))
            rc = PAWL_NOMEM;
    if (rc == PAWL_OK && places && at != size + (e->count == 0) && e->count > 0)
        rc = fail(err, PAWL_CORRUPT, "an entry's items are not canonical JSON");
    buf_free(&b);
    return rc;
}
