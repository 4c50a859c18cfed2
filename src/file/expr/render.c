/* render.c - replaces the expressions in values by their results, in a visit.
 *
 * Called by execute.c, permission.c and routing.c, in a step. Plain paths are followed here. All jq expressions of a node are one call of the effect
 * "jq" before anything else: its receipt is in the journal, so a replay evaluates nothing. */
#include "file/expr/scope.h"
#include "file/read.h"
#include "kernel/state.h"
#include "kernel/step.h"

typedef struct render_item {       /* a reference in the arguments: its place and its channel */
    struct render_item *next;
    const char *path, *channel;
} render_item;

bool value_true(const pawl_value *v)
{
    pawl_type t = pawl_value_type(v);

    return t != PAWL_TYPE_NONE && t != PAWL_TYPE_NULL && (t != PAWL_TYPE_BOOL || pawl_value_bool(v));
}

pawl_code scope_fail(scope *sc, pawl_code code, const char *why)
{
    if (sc->failed == PAWL_OK) {
        sc->failed = why == NULL || sc->s->mem.failed ? PAWL_NOMEM : code;
        sc->why = why;
    }
    return sc->failed;
}

static const pawl_value *wrong(scope *sc, pawl_code code, const char *text)
{
    scope_fail(sc, code, arena_text(&sc->s->mem, text));
    return NULL;
}

/* ---- jq's, all at once --------------------------------------------------------------------------------- */

static const pawl_value *everything(scope *sc)
{
    arena *a = &sc->s->mem;
    const pawl_value *out = value_pack(a, NULL, "{}"), *args = pawl_args(sc->s), *key, *v;
    pawl_iter it = pawl_iter_of(pawl_value_type(args) == PAWL_TYPE_OBJECT ? args : NULL);

    for (size_t i = 0; out != NULL && i < sc->n->file->nchannels; i++) {
        const pawl_channel *c = &sc->n->file->channels[i].c;

        if (c->secret == NULL && (v = pawl_get(sc->s, c->name)) != NULL)
            out = value_with(a, out, c->name, v);
    }
    while (out != NULL && (v = pawl_iter_next(&it, &key)) != NULL)
        out = value_with(a, out, pawl_value_string(key), v);
    return out;
}

static const pawl_value *state_whole(pawl_step *s)
{
    yyjson_val *node = arena_get(&s->mem, sizeof *node);

    if (node == NULL)
        return NULL;
    node->tag = YYJSON_TYPE_NULL | NODE_REF;
    node->uni.u64 = 0;
    return step_ref(s, of_val(node), "channel", "*", NULL) == PAWL_OK ? of_val(node) : NULL;
}

static const pawl_value *labels_of(pawl_step *s, const file_node *n)
{
    const pawl_value *out = value_pack(&s->mem, NULL, "[]");

    for (size_t i = 0; out != NULL && i < n->nbody; i++)
        out = value_push(&s->mem, out, value_string(&s->mem, n->body[i]->label, strlen(n->body[i]->label)));
    return out;
}

/* Evaluates the expressions now, for `replay --against`: where would a changed file lead? */
static pawl_code evaluate_anew(scope *sc, const pawl_value *labels)
{
    const agent_file *root = sc->n->file->root;
    const pawl_value *input = everything(sc);
    pawl_err err = {0};

    if (input == NULL)
        return PAWL_NOMEM;
    sc->values = root->anew(root->anew_ctx, &sc->s->mem, labels, input, &err);
    if (sc->values == NULL)
        wrong(sc, PAWL_EFFECT, err.text);
    return sc->failed;
}

pawl_code scope_begin(scope *sc, pawl_step *s, const file_node *n)
{
    const pawl_value *labels, *args, *receipt = NULL, *given = pawl_args(s);
    const char *text;
    pawl_code rc;

    *sc = (scope){ .s = s, .n = n };
    if (n->nbody == 0)
        return PAWL_OK;
    labels = labels_of(s, n);
    args = pawl_value_type(given) == PAWL_TYPE_OBJECT
               ? pawl_pack(s, "{s:v,s:v,s:v}", "args", given, "jq", labels, "state", state_whole(s))
               : pawl_pack(s, "{s:v,s:v}", "jq", labels, "state", state_whole(s));
    rc = pawl_call(s, "jq", args, &receipt);
    if (rc == PAWL_OK && n->file->root->anew != NULL)
        return evaluate_anew(sc, labels);
    sc->values = receipt;
    if (rc != PAWL_EFFECT)
        return rc;
    text = pawl_value_string(pawl_value_get(receipt, "text"));
    return scope_fail(sc, rc, text != NULL ? text : "its expressions could not be evaluated");
}

/* ---- one expression ----------------------------------------------------------------------------------------- */

static const pawl_value *path_value(scope *sc, const expression *e)
{
    const pawl_value *args = pawl_args(sc->s), *root = NULL, *v;
    expression rest = *e;
    pawl_err err = {0};

    if (e->nsteps == 0 || e->steps[0].key == NULL) {
        root = everything(sc);
    } else {
        if (pawl_value_type(args) == PAWL_TYPE_OBJECT)
            root = pawl_value_get(args, e->steps[0].key);
        if (root == NULL && file_channel_find(sc->n->file, e->steps[0].key) != NULL)
            root = pawl_get(sc->s, e->steps[0].key);
        rest.steps++;
        rest.nsteps--;
    }
    if (root == NULL)
        root = value_null(&sc->s->mem);
    if (rest.nsteps == 0 || root == NULL)
        return root;
    if ((v = path_follow(&rest, root, &err)) != NULL)
        return v;
    if (rest.nsteps < e->nsteps && (root = value_pack(&sc->s->mem, NULL, "{s:v}", e->steps[0].key, root)) != NULL) {
        err = (pawl_err){0};    /* the expression is reported from its beginning */
        (void)path_follow(e, root, &err);
    }
    return wrong(sc, PAWL_INVALID, err.text);
}

const pawl_value *scope_value(scope *sc, const expression *e)
{
    const pawl_value *v = NULL;

    if (sc->failed != PAWL_OK)
        return NULL;
    if (e->path)
        return path_value(sc, e);
    for (size_t i = 0; i < sc->n->nbody && v == NULL; i++)
        if (sc->n->body[i] == e)
            v = pawl_value_at(sc->values, i);
    return v != NULL ? v : wrong(sc, PAWL_CORRUPT, "an expression has no value in the journal");
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static bool text_put(scope *sc, buf *b, const expression *e)
{
    const pawl_value *v = scope_value(sc, e);

    switch (pawl_value_type(v)) {
    case PAWL_TYPE_NONE:
        return false;
    case PAWL_TYPE_NULL:
        scope_fail(sc, PAWL_INVALID, pawl_format(sc->s, "{{%.*s}} is null, and nothing stands for that in a text", shown(e->text, strlen(e->text)), e->text));
        return false;
    case PAWL_TYPE_STRING:
        buf_put(b, pawl_value_string(v), pawl_value_size(v));
        return true;
    default:
        canon(b, v);
        return true;
    }
}

static const pawl_value *text_render(scope *sc, const template *t)
{
    const pawl_value *out = NULL;
    bool good = true;
    buf b;

    buf_init(&b, &sc->s->alloc);
    for (size_t i = 0; good && i < t->npieces; i++)
        if (t->pieces[i].e != NULL)
            good = text_put(sc, &b, t->pieces[i].e);
        else
            buf_put(&b, t->pieces[i].text, t->pieces[i].size);
    if (good && !b.failed && (out = value_string(&sc->s->mem, b.size > 0 ? b.data : "", b.size)) == NULL && !sc->s->mem.failed)
        wrong(sc, PAWL_INVALID, "a text of it is no UTF-8");
    buf_free(&b);
    return out;
}

/* ---- by reference --------------------------------------------------------------------------------------------------- */

/* Whether a whole `{{.channel}}` becomes a reference: always for a secret, which no machine may read; for another channel if the value keeps its type,
 * so that it is not stored again (K7). Not if the command has an inverse, which needs complete arguments. */
static const char *by_reference(const scope *sc, const form *f)
{
    const expression *e = template_whole(&f->text);
    const char *name = e != NULL && e->path && e->nsteps == 1 ? e->steps[0].key : NULL;
    const file_channel *c = name != NULL ? file_channel_find(sc->n->file, name) : NULL;
    const pawl_value *args = pawl_args(sc->s);

    if (c == NULL || (pawl_value_type(args) == PAWL_TYPE_OBJECT && pawl_value_get(args, name) != NULL))
        return NULL;
    if (c->c.secret != NULL)
        return name;
    return f->kind == FORM_KEEP && sc->n->limits.inverse == NULL && (sc->n->kind & (KIND_TOOL | KIND_AGENT)) == 0 &&
           pawl_get(sc->s, name) != NULL ? name : NULL;
}

static const pawl_value *stand(scope *sc, const char *name)
{
    render_item *st = arena_get(&sc->s->mem, sizeof *st);

    if (sc->at == sizeof sc->path)
        return wrong(sc, PAWL_LIMIT, "a value lies too deep in the arguments: the way to it has more than 512 bytes");
    if (st == NULL || (st->path = arena_strdup(&sc->s->mem, sc->path, sc->at)) == NULL)
        return NULL;
    st->channel = name;
    st->next = sc->standing;
    sc->standing = st;
    return value_null(&sc->s->mem);
}

/* The file of a secret is relative to the working folder of the run, wherever it is continued. */
static const char *secret_place(scope *sc, const value_ref *r)
{
    static const char lead[] = "file:";
    const size_t n = sizeof lead - 1;
    const char *cwd = pawl_get_string(sc->s, "@cwd");

    if (strcmp(r->form, "secret") != 0 || strncmp(r->target, lead, n) != 0 || r->target[n] == '/' || cwd == NULL)
        return r->target;
    return pawl_format(sc->s, "%s%s/%s", lead, cwd, r->target + n);
}

/* Whether the member at `path` is replaced by one of `over`. */
static bool is_over(const pawl_value *over, const char *path)
{
    pawl_iter it = pawl_iter_of(over);
    const pawl_value *key;

    while (pawl_iter_next(&it, &key) != NULL) {
        const size_t n = pawl_value_size(key);

        if (strncmp(path + 1, pawl_value_string(key), n) == 0 && (path[n + 1] == '/' || path[n + 1] == '\0'))
            return true;
    }
    return false;
}

/* Adds the references at the end, by their places in the value that was made. */
static const pawl_value *stand_all(scope *sc, const pawl_value *made, const pawl_value *over)
{
    for (const render_item *st = sc->standing; made != NULL && st != NULL; st = st->next) {
        if (is_over(over, st->path))
            continue;
        const pawl_value *at = pawl_value_find(made, st->path), *ref = pawl_ref(sc->s, st->channel);
        yyjson_val *node = at != NULL ? (yyjson_val *)(uintptr_t)(const void *)val_of(at) : NULL;
        value_ref r;

        if (ref == NULL || node == NULL)
            return NULL;
        r = sc->s->refs.list[sc->s->refs.count - 1];
        node->tag = YYJSON_TYPE_NULL | NODE_REF;
        if (step_ref(sc->s, at, r.form, secret_place(sc, &r), r.digest) != PAWL_OK)
            return NULL;
    }
    return made;
}

/* A secret is shown by its name. */
static const pawl_value *shown_by_name(scope *sc, const form *f, const char *name)
{
    const file_channel *c = file_channel_find(sc->n->file, name);

    return c->c.secret == NULL ? scope_value(sc, template_whole(&f->text)) : pawl_pack(sc->s, "s", pawl_format(sc->s, "<secret %s>", name));
}

/* The channel of a piece that is a secret; NULL: it is none. */
static const char *secret_piece(const scope *sc, const expression *e)
{
    const char *name = e != NULL && e->path && e->nsteps == 1 ? e->steps[0].key : NULL;
    const file_channel *c = name != NULL ? file_channel_find(sc->n->file, name) : NULL;
    const pawl_value *args = pawl_args(sc->s);

    return c == NULL || c->c.secret == NULL || (pawl_value_type(args) == PAWL_TYPE_OBJECT && pawl_value_get(args, name) != NULL) ? NULL : name;
}

static bool has_secret(const scope *sc, const template *t)
{
    for (size_t i = 0; i < t->npieces; i++)
        if (secret_piece(sc, t->pieces[i].e) != NULL)
            return true;
    return false;
}

static void pointer_put(scope *sc, const char *key, size_t index);

/* A text with a secret in it, which no machine may read: its pieces, which the handler joins. Shown as a text, with the name of the secret. */
static const pawl_value *pieces_render(scope *sc, const template *t)
{
    arena *a = &sc->s->mem;
    const pawl_value *out = value_pack(a, NULL, "[]");
    buf b;

    buf_init(&b, &sc->s->alloc);
    for (size_t i = 0; out != NULL && i < t->npieces && sc->failed == PAWL_OK; i++) {
        const char *name = secret_piece(sc, t->pieces[i].e);
        const size_t before = sc->at;

        if (!sc->showing)
            buf_reset(&b);
        if (t->pieces[i].e == NULL)
            buf_put(&b, t->pieces[i].text, t->pieces[i].size);
        else if (name == NULL && !text_put(sc, &b, t->pieces[i].e))
            out = NULL;
        if (sc->showing && name != NULL)
            buf_fmt(&b, "<secret %s>", name);
        if (b.failed)
            break;
        pointer_put(sc, NULL, i);
        if (out != NULL && !sc->showing)
            out = value_push(a, out, name != NULL ? stand(sc, name) : value_string(a, b.size > 0 ? b.data : "", b.size));
        sc->at = before;
    }
    if (out != NULL && sc->showing)
        out = value_string(a, b.size > 0 ? b.data : "", b.size);
    if (b.failed || a->failed)
        out = scope_fail(sc, PAWL_NOMEM, NULL) == PAWL_OK ? NULL : NULL;
    buf_free(&b);
    return out;
}

/* ---- forms ------------------------------------------------------------------------------------------------------------ */

/* Appends one step to the pointer; a size of sizeof sc->path means that it was too long. */
static void pointer_put(scope *sc, const char *key, size_t index)
{
    char number[24];

    if (key == NULL) {
        snprintf(number, sizeof number, "%zu", index);
        key = number;
    }
    if (sc->at + strlen(key) * 2 + 2 > sizeof sc->path) {
        sc->at = sizeof sc->path;
        return;
    }
    sc->path[sc->at++] = '/';
    for (; *key != '\0'; key++) {
        sc->path[sc->at++] = *key == '/' ? '~' : *key;
        if (*key == '~' || *key == '/')
            sc->path[sc->at++] = *key == '~' ? '0' : '1';
    }
}

static const pawl_value *members_render(scope *sc, const form *f)
{
    arena *a = &sc->s->mem;
    const pawl_value *out = value_pack(a, NULL, f->kind == FORM_LIST ? "[]" : "{}");

    for (size_t i = 0; out != NULL && i < f->n; i++) {
        const size_t before = sc->at;
        const pawl_value *one;

        pointer_put(sc, f->kind == FORM_MAP ? f->keys[i] : NULL, i);
        one = form_render(sc, f->items[i]);
        sc->at = before;
        out = f->kind == FORM_LIST ? value_push(a, out, one) : value_with(a, out, f->keys[i], one);
    }
    return out;
}

const pawl_value *form_render(scope *sc, const form *f)
{
    const char *name;

    if (sc->failed != PAWL_OK)
        return NULL;
    switch (f->kind) {
    case FORM_VALUE:
        return f->value;
    case FORM_EXPRESSION:
        return scope_value(sc, f->e);
    case FORM_TEXT:
    case FORM_KEEP:
        if (sc->arguments && (name = by_reference(sc, f)) != NULL)
            return sc->showing ? shown_by_name(sc, f, name) : stand(sc, name);
        if (f->kind == FORM_KEEP && template_whole(&f->text) != NULL)
            return scope_value(sc, template_whole(&f->text));
        return sc->arguments && has_secret(sc, &f->text) ? pieces_render(sc, &f->text) : text_render(sc, &f->text);
    case FORM_LIST:
    case FORM_MAP:
        return members_render(sc, f);
    }
    return NULL;
}

/* Members that are missing; recursively for members that are objects in both. */
static const pawl_value *added(arena *a, const pawl_value *made, const pawl_value *more)
{
    const pawl_value *key, *v;
    pawl_iter it = pawl_iter_of(more);

    while (made != NULL && (v = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = pawl_value_string(key);
        const pawl_value *there = pawl_value_get(made, name);

        if (there == NULL)
            made = value_with(a, made, name, v);
        else if (pawl_value_type(there) == PAWL_TYPE_OBJECT && pawl_value_type(v) == PAWL_TYPE_OBJECT)
            made = value_with(a, made, name, added(a, there, v));
    }
    return made;
}

const pawl_value *form_args(scope *sc, const form *f, const pawl_value *over, const pawl_value *more)
{
    pawl_iter it = pawl_iter_of(over);
    const pawl_value *made, *key, *v;

    sc->arguments = true;
    sc->at = 0;
    sc->standing = NULL;
    made = form_render(sc, f);
    sc->arguments = false;
    while (made != NULL && (v = pawl_iter_next(&it, &key)) != NULL)
        made = value_with(&sc->s->mem, made, pawl_value_string(key), v);
    return stand_all(sc, added(&sc->s->mem, made, more), over);
}

const pawl_value *form_shown(scope *sc, const form *f)
{
    const pawl_value *made;

    sc->arguments = sc->showing = true;
    sc->at = 0;
    made = form_render(sc, f);
    sc->arguments = sc->showing = false;
    return made;
}
