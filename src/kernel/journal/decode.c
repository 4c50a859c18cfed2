/* decode.c - reads items and entries from bytes.
 *
 * Called by the code that reads journals and snapshots; pure, in the caller's arena. The bytes are not trusted: anything that encode.c would not write
 * is refused, with its place in the text. Whether an item fits the state is checked by the folds. */
#include "kernel/frame.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"

#include <string.h>

/* Text that is not canonical JSON ends the scan. Valid JSON of the wrong kind is noted in `wrong` and skipped. */
typedef struct reader {
    scan s;
    size_t at;              /* number of the element, for errors */
    const char *wrong;      /* the first wrong element; NULL: none */
} reader;

static void unfit(reader *r, const char *what)
{
    if (r->wrong == NULL)
        r->wrong = what;
}

/* Moves to the next element of the open array. */
static inline bool next(reader *r)
{
    r->at++;
    if (scan_left(&r->s))
        return scan_next(&r->s);
    unfit(r, "an element is missing");
    return false;
}

static const pawl_value *next_value(reader *r)
{
    return next(r) ? scan_value(&r->s) : NULL;
}

/* Skips another value where a text is due. */
APART static void text_missing(reader *r, scan_text *out)
{
    *out = (scan_text){ .text = "" };
    (void)scan_value(&r->s);
    unfit(r, "a text is due");
}

/* Reads a text without NUL. `out` is a parameter, since returning the struct would copy it. */
static inline void text_into(reader *r, scan_text *out)
{
    if (*r->s.at != '"')
        text_missing(r, out);
    else if (!scan_string(&r->s, out))
        *out = (scan_text){ .text = "" };
    else if (!out->plain && strlen(out->text) != out->size)
        unfit(r, "a text is due");
}

static const char *text_here(reader *r)
{
    scan_text t;

    text_into(r, &t);
    return t.text;
}

static const char *next_text(reader *r)
{
    return next(r) ? text_here(r) : "";
}

/* Reads an integer; false: another value, which is skipped. */
static bool whole_here(reader *r, bool *below, uint64_t *n)
{
    if (*r->s.at == '-' || (*r->s.at >= '0' && *r->s.at <= '9'))
        return scan_int(&r->s, below, n);
    (void)scan_value(&r->s);
    return false;
}

static uint64_t next_uint(reader *r, uint64_t most)
{
    uint64_t n = 0;
    bool below = false;

    if (next(r) && (!whole_here(r, &below, &n) || below || n > most))
        unfit(r, "a number is due");
    return n;
}

static int64_t next_int(reader *r)
{
    uint64_t n = 0;
    bool below = false;

    if (next(r) && (!whole_here(r, &below, &n) || (!below && n > INT64_MAX)))
        unfit(r, "a whole number is due");
    return (int64_t)(below ? 0 - n : n);
}

static const pawl_value *value_of(reader *r, pawl_type type)
{
    const pawl_value *v = scan_value(&r->s);

    if (pawl_value_type(v) != type)
        unfit(r, type == PAWL_TYPE_OBJECT ? "an object is due" : "an array is due");
    return pawl_value_type(v) == type ? v : NULL;
}

static const pawl_value *next_object(reader *r)
{
    return next(r) ? value_of(r, PAWL_TYPE_OBJECT) : NULL;
}

APART static bool bracket_missing(reader *r, char bracket)
{
    (void)scan_value(&r->s);
    unfit(r, bracket == '{' ? "an object is due" : "an array is due");
    return false;
}

/* Enters an array or object; false: another value, which is skipped. */
static inline bool enter(reader *r, char bracket)
{
    return *r->s.at == bracket ? scan_open(&r->s, bracket) : bracket_missing(r, bracket);
}

APART static void rest_unfit(reader *r, const char *what)
{
    unfit(r, what);
    while (scan_left(&r->s) && scan_next(&r->s) && scan_value(&r->s) != NULL)
        ;
}

/* Leaves the array; skips further elements, which are wrong. */
static inline void leave_array(reader *r, const char *what)
{
    if (scan_left(&r->s))
        rest_unfit(r, what);
    (void)scan_close(&r->s, ']');
}

static bool room(reader *r, void **all, size_t *cap, size_t count, size_t size)
{
    return arena_room(r->s.a, all, cap, count, size) || scan_wrong(&r->s);
}

/* ---- parts of items ------------------------------------------------------------------------- */

static const pawl_value *refs_here(reader *r)
{
    const pawl_value *array = value_of(r, PAWL_TYPE_ARRAY);
    pawl_iter it = pawl_iter_of(array);
    const pawl_value *ref;

    while ((ref = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_type(ref) != PAWL_TYPE_ARRAY || pawl_value_size(ref) < 3 || pawl_value_size(ref) > 4)
            unfit(r, "a reference is [path,form,target]");
    return array;
}

/* Reads the references of the item's VALUE, an optional element after its last one. */
static void refs_last(reader *r, item *it)
{
    if (scan_left(&r->s) && next(r))
        it->refs.list = refs_here(r);
}

static void write_here(reader *r, item_write *w)
{
    *w = (item_write){ .channel = "" };
    if (!enter(r, '['))
        return;
    w->channel = next_text(r);
    w->value = next_value(r);
    if (scan_left(&r->s)) {
        int op = name_index(op_names, 3, next_text(r));

        w->op = (uint8_t)(op < 0 ? 0 : op);
        if (op < 0)
            unfit(r, "an unknown op");
    }
    if (scan_left(&r->s) && next(r))
        w->refs.list = refs_here(r);
    leave_array(r, "a write has four elements at most");
}

static const item_write *writes_here(reader *r, uint32_t *count)
{
    size_t at = r->at, cap = 0, n = 0;
    item_write *all = NULL;

    if (!enter(r, '['))
        return NULL;
    for (; scan_left(&r->s) && scan_next(&r->s) && room(r, (void **)&all, &cap, n, sizeof *all); n++)
        write_here(r, &all[n]);
    (void)scan_close(&r->s, ']');
    *count = (uint32_t)n;
    r->at = at;
    return all;
}

static const item_write *next_writes(reader *r, uint32_t *count)
{
    return next(r) ? writes_here(r, count) : NULL;
}

static void named_one(reader *r, named *v, bool sender)
{
    *v = (named){ .name = "" };
    if (!enter(r, '['))
        return;
    if (sender)
        v->sender = (uint32_t)next_uint(r, UINT32_MAX);
    v->name = next_text(r);
    v->value = next_value(r);
    if (pawl_value_type(v->value) == PAWL_TYPE_NULL && !scan_left(&r->s))
        v->value = NULL;
    if (scan_left(&r->s) && next(r))
        v->refs.list = refs_here(r);
    leave_array(r, "too many elements");
}

static const named *named_here(reader *r, bool senders, uint32_t *count)
{
    size_t at = r->at, cap = 0, n = 0;
    named *all = NULL;

    if (!enter(r, '['))
        return NULL;
    for (; scan_left(&r->s) && scan_next(&r->s) && room(r, (void **)&all, &cap, n, sizeof *all); n++)
        named_one(r, &all[n], senders);
    (void)scan_close(&r->s, ']');
    *count = (uint32_t)n;
    r->at = at;
    return all;
}

static const char *const *names_here(reader *r, uint32_t *count)
{
    size_t cap = 0, n = 0;
    const char **all = NULL;

    if (!enter(r, '['))
        return NULL;
    for (; scan_left(&r->s) && scan_next(&r->s) && room(r, (void **)&all, &cap, n, sizeof *all); n++)
        all[n] = text_here(r);
    (void)scan_close(&r->s, ']');
    *count = (uint32_t)n;
    return all;
}

/* Reads the next key of the open object; keys ascend. */
static const char *key_here(reader *r, const char **before)
{
    scan_text t;

    if (!scan_next(&r->s) || !scan_string(&r->s, &t) || !scan_due(&r->s, ':'))
        return "";
    if (strcmp(t.text, *before) <= 0)
        (void)scan_wrong(&r->s);
    return *before = t.text;
}

static void unknown_here(reader *r, const char *what)
{
    (void)scan_value(&r->s);
    unfit(r, what);
}

/* Reads an optional last object, whose members have fixed names. */
static const leave *leave_of(reader *r)
{
    leave *l = arena_get(r->s.a, sizeof *l);
    const char *before = "";

    if (l == NULL) {
        (void)scan_wrong(&r->s);
        return NULL;
    }
    *l = (leave){0};
    l->writes = next_writes(r, &l->nwrites);
    if (!scan_left(&r->s) || !next(r) || !enter(r, '{'))
        return l;
    while (scan_left(&r->s)) {
        const char *name = key_here(r, &before);

        if (strcmp(name, "emit") == 0)
            l->emits = named_here(r, false, &l->nemits);
        else if (strcmp(name, "send") == 0)
            l->sends = named_here(r, false, &l->nsends);
        else if (strcmp(name, "goto") == 0)
            l->gotos = names_here(r, &l->ngotos);
        else if (strcmp(name, "hold") == 0)
            l->hold = value_of(r, PAWL_TYPE_OBJECT);
        else if (strcmp(name, "end") == 0)
            l->halt = *text_here(r) != '\0';
        else
            unknown_here(r, "an unknown member of leave");
    }
    (void)scan_close(&r->s, '}');
    return l;
}

static void drop_here(reader *r, closing *cl)
{
    size_t at = r->at, cap = 0, n = 0;
    uint32_t *all = NULL;

    if (*r->s.at == 't') {
        cl->drop_all = scan_value(&r->s) != NULL;
        return;
    }
    if (!enter(r, '['))
        return;
    for (; scan_left(&r->s) && room(r, (void **)&all, &cap, n, sizeof *all); n++)
        all[n] = (uint32_t)next_uint(r, UINT32_MAX);
    (void)scan_close(&r->s, ']');
    cl->drop = all;
    cl->ndrop = (uint32_t)n;
    r->at = at;
}

bool names_valid(const pawl_value *names)
{
    pawl_iter it = pawl_iter_of(names);
    const pawl_value *v;

    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_type(v) != PAWL_TYPE_STRING)
            return false;
    return pawl_value_type(names) == PAWL_TYPE_ARRAY;
}

bool joins_valid(const pawl_value *joins)
{
    pawl_iter it = pawl_iter_of(joins);
    const pawl_value *v;

    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if (!names_valid(v))
            return false;
    return pawl_value_type(joins) == PAWL_TYPE_OBJECT;
}

static const pawl_value *good_here(reader *r, bool (*good)(const pawl_value *v), const char *what)
{
    const pawl_value *v = scan_value(&r->s);

    if (!good(v))
        unfit(r, what);
    return v;
}

static const closing *closing_of(reader *r, const char **where)
{
    const char *const unknown = "an unknown member of close", *before = "";
    closing *cl = arena_get(r->s.a, sizeof *cl);

    *where = "";
    if (cl == NULL) {
        (void)scan_wrong(&r->s);
        return NULL;
    }
    *cl = (closing){0};
    cl->next = next(r) ? names_here(r, &cl->nnext) : NULL;
    if (!scan_left(&r->s) || !next(r) || !enter(r, '{'))
        return cl;
    while (scan_left(&r->s)) {
        const char *name = key_here(r, &before);

        if (strcmp(name, "defer") == 0)
            cl->defer = good_here(r, names_valid, unknown);
        else if (strcmp(name, "joins") == 0)
            cl->joins = good_here(r, joins_valid, unknown);
        else if (strcmp(name, "drop") == 0)
            drop_here(r, cl);
        else if (strcmp(name, "merged") == 0)
            cl->merged = writes_here(r, &cl->nmerged);
        else if (strcmp(name, "send") == 0)
            cl->sends = named_here(r, true, &cl->nsends);
        else
            unknown_here(r, unknown);
    }
    if (scan_close(&r->s, '}') && scan_left(&r->s))
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

    it->task = "";
    if (!id_parse(next_text(r), path, &it->superstep, &it->visit, &it->n)) {
        unfit(r, "an id is SUPERSTEP.TASK.VISIT.N");
        return;
    }
    it->task = arena_strdup(r->s.a, path, strlen(path));
    if (it->task == NULL)
        (void)scan_wrong(&r->s);
}

/* ---- items ------------------------------------------------------------------------------------- */

/* A SPEC stays canonical text in the line; its members are parsed when they are needed. */
static void spec_of(reader *r, item *it)
{
    const pawl_value *v;
    const char *kind;
    size_t from;

    if (!next(r))
        return;
    from = (size_t)(r->s.at - r->s.from);
    if ((v = value_of(r, PAWL_TYPE_OBJECT)) == NULL)
        return;
    it->value = v;
    it->spec = r->s.text + from;
    it->spec_size = (size_t)(r->s.at - r->s.from) - from;
    if (it->kind == ITEM_ASK) {
        int wait = name_index(wait_names, 5, kind = pawl_value_string(pawl_value_get(v, "kind")));

        it->wait = (uint8_t)(wait > 0 ? wait : PAWL_WAIT_QUESTION);
        it->hold = pawl_value_bool(pawl_value_get(v, "hold"));
        if (kind != NULL && wait < 0)
            unfit(r, "an unknown kind of wait");
    }
}

static void visit_of(reader *r, item *it)
{
    it->task = next_text(r);
    it->visit = (uint32_t)next_uint(r, UINT32_MAX);
}

static void update_checked(reader *r, const pawl_value *object)
{
    const pawl_value *update = pawl_value_get(object, "update");

    if (update != NULL && pawl_value_type(update) != PAWL_TYPE_OBJECT)
        unfit(r, "an update is an object");
}

static void receipt_of(reader *r, item *it)
{
    id_of(r, it);
    it->at = next_int(r);
    if (it->kind == ITEM_RECEIPT) {
        int outcome = name_index(outcome_names, 5, next_text(r));

        it->outcome = (uint8_t)(outcome < 0 ? 0 : outcome);
        if (outcome < 0)
            unfit(r, "an unknown outcome");
    }
    it->value = next_value(r);
    if (strncmp(r->s.at, ",[", 2) != 0 && scan_left(&r->s))
        it->more = next_object(r);
    update_checked(r, it->more);
    if (pawl_value_get(it->more, "usage") != NULL && receipt_usage_error(pawl_value_get(it->more, "usage")) != NULL)
        unfit(r, "a usage is an object of calls, micros and tokens");
    refs_last(r, it);
}

static void select_of(reader *r, item *it)
{
    visit_of(r, it);
    it->k = (uint32_t)next_uint(r, UINT32_MAX);
    it->n = UINT32_MAX;
    if (strncmp(r->s.at, ",null", 5) == 0)
        (void)next_value(r);
    else
        it->n = (uint32_t)next_uint(r, UINT32_MAX - 1);
}

/* Items of events. */
static void event_of_item(reader *r, item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_START:
    case ITEM_INPUT:
        it->value = next_value(r);
        if (pawl_value_type(it->value) != PAWL_TYPE_OBJECT && pawl_value_type(it->value) != PAWL_TYPE_NULL)
            unfit(r, "an object is due");
        refs_last(r, it);
        break;
    case ITEM_UPDATE:
        it->value = next_value(r);
        it->more = next_object(r);
        refs_last(r, it);
        if (pawl_value_type(it->value) != PAWL_TYPE_OBJECT && (it->refs.list == NULL || pawl_value_type(it->value) != PAWL_TYPE_NULL))
            unfit(r, "an object is due");
        break;
    case ITEM_CANCEL:
    case ITEM_REOPEN:
    case ITEM_ADOPT:
        it->value = next_object(r);
        update_checked(r, it->value);
        break;
    default:        /* signal and emit, which have the same form */
        it->task = next_text(r);
        it->value = next_value(r);
        refs_last(r, it);
        break;
    }
}

static void visit_item_of(reader *r, item *it)
{
    visit_of(r, it);
    switch ((item_kind)it->kind) {
    case ITEM_VISIT:
        it->at = next_int(r);
        break;
    case ITEM_FRAME:
        it->writes = next_writes(r, &it->nwrites);
        if (scan_left(&r->s))
            it->more = next_object(r);
        break;
    case ITEM_FAIL:
        spec_of(r, it);
        break;
    default:        /* leave */
        it->leave = leave_of(r);
        break;
    }
}

static void command_of(reader *r, item *it)
{
    id_of(r, it);
    if (it->kind == ITEM_SLEEP || it->kind == ITEM_ASK || it->kind == ITEM_DOUBT)
        it->at = next_int(r);
    spec_of(r, it);
}

static void refuse_of(reader *r, item *it)
{
    const char *kind;

    id_of(r, it);
    it->at = next_int(r);
    kind = next_text(r);
    it->wait = strcmp(kind, item_name(ITEM_SPAWN)) == 0 ? CALL_SPAWN : CALL_CALL;
    if (it->wait == CALL_CALL && strcmp(kind, item_name(ITEM_CALL)) != 0)
        unfit(r, "a call or a spawn is refused");
    spec_of(r, it);
    it->value = next_object(r);
}

static void unwind_of(reader *r, item *it)
{
    int status = name_index(status_names, 7, next_text(r));

    if (status < PAWL_STATUS_FAILED)
        unfit(r, "the status of a run that is over and did not complete is due");
    it->outcome = (uint8_t)(status < 0 ? 0 : status);
    if (scan_left(&r->s))
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
    case ITEM_SELECT:
        select_of(r, it);
        break;
    case ITEM_VISIT:
    case ITEM_FRAME:
    case ITEM_FAIL:
    case ITEM_LEAVE:
        visit_item_of(r, it);
        break;
    case ITEM_PUT:
        it->writes = next_writes(r, &it->nwrites);
        if (scan_left(&r->s))
            it->task = next_text(r);
        break;
    case ITEM_END:
        spec_of(r, it);
        break;
    case ITEM_UNWIND:
        unwind_of(r, it);
        break;
    case ITEM_DROP:
        id_of(r, it);
        break;
    case ITEM_CALL:
    case ITEM_SLEEP:
    case ITEM_SPAWN:
    case ITEM_ASK:
    case ITEM_DOUBT:
        command_of(r, it);
        break;
    case ITEM_REFUSAL:
        refuse_of(r, it);
        break;
    case ITEM_RECEIPT:
    case ITEM_ANSWER:
    case ITEM_SIGN:
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

/* Reads an item; NULL: err is set, except for errors that ended the scan. */
static item *item_here(reader *r, pawl_err *err)
{
    item *it = arena_get(r->s.a, sizeof *it);
    scan_text name = { "", 0, true };
    bool array;
    int kind;

    if (it == NULL) {
        (void)scan_wrong(&r->s);
        return NULL;
    }
    item_zero(it);
    r->at = 0;
    r->wrong = NULL;
    it->task = "";
    array = *r->s.at == '[';
    if (enter(r, '[') && next(r))
        text_into(r, &name);
    kind = item_kind_of(name.text, name.size);
    if (kind < 0 && r->s.wrong == NULL)
        fail(err, PAWL_CORRUPT, "\"%.40s\" is no kind of item that this version knows", name.text);
    if (kind < 0 || !array)
        return NULL;
    it->kind = (uint8_t)kind;
    rest_of(r, it);
    leave_array(r, "too many elements");
    if (r->wrong != NULL && r->s.wrong == NULL)
        fail(err, PAWL_CORRUPT, "item \"%s\", element %zu: %s", name.text, r->at, r->wrong);
    return r->wrong == NULL && r->s.wrong == NULL ? it : NULL;
}

static bool reader_begin(reader *r, arena *a, const char *text, size_t size)
{
    r->at = 0;
    r->wrong = NULL;
    return scan_begin(&r->s, a, text, size);
}

item *item_parse(arena *a, const char *text, size_t size, pawl_err *err)
{
    reader r;
    item *it = reader_begin(&r, a, text, size) ? item_here(&r, err) : NULL;

    if (it != NULL && r.s.at != r.s.end)
        (void)scan_wrong(&r.s);
    if (a->failed || r.s.wrong != NULL)
        (void)scan_fails(&r.s, "an item", err);
    return !a->failed && r.s.wrong == NULL ? it : NULL;
}

item *item_of_value(arena *a, const pawl_value *v, const char **text, pawl_err *err)
{
    item *it = NULL;
    buf b;

    buf_init(&b, &a->alloc);
    canon(&b, v);
    *text = b.failed ? NULL : arena_strdup(a, b.data, b.size);
    a->failed = a->failed || *text == NULL;
    if (*text != NULL && (it = item_parse(a, *text, b.size, err)) != NULL)
        it->text_size = (uint32_t)b.size;
    buf_free(&b);
    return it;
}

const leave *leave_parse(arena *a, const char *text, size_t size, pawl_err *err)
{
    item *it = item_parse(a, text, size, err);

    return it == NULL ? NULL : it->leave;
}

static void item_add(pawl_entry *e, item *it)
{
    if (e->last == NULL)
        e->items = it;
    else
        e->last->next = it;
    e->last = it;
    e->count++;
    e->kinds |= kind_bit(it->kind);
    if (it->kind == ITEM_CLOSE && *it->task == '\0')
        e->closes = true;
}

pawl_code items_parse(pawl_entry *e, const char *text, size_t size, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    reader r;

    e->items_text = text;
    if (!reader_begin(&r, e->mem, text, size))
        return scan_fails(&r.s, "items", err);
    if (!enter(&r, '[') && r.s.wrong == NULL && r.s.at == r.s.end)
        return fail(err, PAWL_CORRUPT, "an entry's body is an array of items");
    while (rc == PAWL_OK && scan_left(&r.s) && scan_next(&r.s)) {
        const char *from = r.s.at;
        item *it = item_here(&r, err);

        if (it == NULL) {
            rc = PAWL_CORRUPT;
            break;
        }
        it->text_at = (uint32_t)(from - r.s.from);
        it->text_size = (uint32_t)(r.s.at - from);
        item_add(e, it);
    }
    if (rc == PAWL_OK && scan_close(&r.s, ']') && r.s.at != r.s.end)
        (void)scan_wrong(&r.s);
    return r.s.wrong != NULL || e->mem->failed ? scan_fails(&r.s, "items", err) : rc;
}
