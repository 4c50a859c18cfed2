/* schema.c - JSON Schema: does a value fit, and if not, where and why (X3).
 *
 * Schemas come from outside as values do: a malformed one, a $ref that goes round or leads
 * nowhere, and one that costs too much refuse every value, inside `not` too. Keywords are
 * taken in the order of the table, not of the text, so that the refusal is the same when
 * both have been through canonical JSON. */
#include "json/inner.h"
#include "json/schema_parts.h"


enum {
    SCHEMA_STEPS_MAX = 1 << 24, /* of one call: schemas applied, members searched, values compared */
    SCHEMA_STEP = 32,           /* members searched, bytes compared or nodes visited that count as one step */
    SCHEMA_UNIQUE_ITEMS_MAX = 1000,
    SCHEMA_TEXT_MAX = 104 /* bytes of a path or value that an error shows */
};

/* What the argument of a keyword must be. */
typedef enum schema_form {
    SCHEMA_ANY,
    SCHEMA_TEXT,
    SCHEMA_FLAG,
    SCHEMA_LIST,
    SCHEMA_NAMES,
    SCHEMA_TYPES,
    SCHEMA_NUMBER,
    SCHEMA_POSITIVE,
    SCHEMA_COUNT,
    SCHEMA_PATTERN,
    SCHEMA_ONE,
    SCHEMA_SOME,
    SCHEMA_MAP,
    SCHEMA_REF
} schema_form;

typedef struct schema_run {
    const pawl_value *root; /* the document for $ref */
    const char *what;
    pawl_err *err;
    size_t steps;
    bool patterns;    /* `pattern` restricts */
    unsigned mute;    /* inside anyOf, oneOf, not: a mismatch is not the final result */
    pawl_code broken; /* an error of the schema, or a limit: nothing matches any more */
} schema_run;

typedef struct schema_keyword schema_keyword;

/* A schema applied to a value; in schema_known, to itself. Frames up to the root are on the stack, and their number is limited. */
typedef struct schema_frame {
    const struct schema_frame *up;
    const pawl_value *schema, *value;
    const char *key; /* the key that leads from the value of `up` to this one; */
    size_t index;    /* if key is NULL, the index */
    unsigned depth;
    const schema_keyword *keyword; /* the current keyword */
} schema_frame;

typedef bool schema_check_fn(schema_run *run, const schema_frame *f, const pawl_value *arg);
struct schema_keyword {
    const char *name;
    schema_form form;
    schema_check_fn *check; /* NULL: it does not restrict the value */
    pawl_type on;           /* of a size: the type it applies to */
    unsigned fits;          /* of a bound: the accepted results SCHEMA_LESS, SCHEMA_SAME, SCHEMA_MORE */
    const char *words;
};

static schema_check_fn schema_check_type, schema_check_value, schema_check_number, schema_check_size,
    schema_check_pattern, schema_check_required, schema_check_members, schema_check_items, schema_check_unique, schema_check_all,
    schema_check_some, schema_check_not;

static const schema_keyword schema_keywords[] = {
    { "type", SCHEMA_TYPES, schema_check_type, 0, 0, NULL },
    { "const", SCHEMA_ANY, schema_check_value, 0, 0, NULL },
    { "enum", SCHEMA_LIST, schema_check_value, 0, 0, NULL },
    { "minimum", SCHEMA_NUMBER, schema_check_number, 0, SCHEMA_SAME | SCHEMA_MORE, "at least" },
    { "maximum", SCHEMA_NUMBER, schema_check_number, 0, SCHEMA_LESS | SCHEMA_SAME, "at most" },
    { "exclusiveMinimum", SCHEMA_NUMBER, schema_check_number, 0, SCHEMA_MORE, "more than" },
    { "exclusiveMaximum", SCHEMA_NUMBER, schema_check_number, 0, SCHEMA_LESS, "less than" },
    { "multipleOf", SCHEMA_POSITIVE, schema_check_number, 0, 0, "a multiple of" },
    { "minLength", SCHEMA_COUNT, schema_check_size, PAWL_TYPE_STRING, SCHEMA_SAME | SCHEMA_MORE, "at least" },
    { "maxLength", SCHEMA_COUNT, schema_check_size, PAWL_TYPE_STRING, SCHEMA_LESS | SCHEMA_SAME, "at most" },
    { "pattern", SCHEMA_PATTERN, schema_check_pattern, PAWL_TYPE_STRING, 0, NULL },
    { "minItems", SCHEMA_COUNT, schema_check_size, PAWL_TYPE_ARRAY, SCHEMA_SAME | SCHEMA_MORE, "at least" },
    { "maxItems", SCHEMA_COUNT, schema_check_size, PAWL_TYPE_ARRAY, SCHEMA_LESS | SCHEMA_SAME, "at most" },
    { "required", SCHEMA_NAMES, schema_check_required, 0, 0, NULL },
    { "properties", SCHEMA_MAP, schema_check_members, 0, 0, NULL },
    { "additionalProperties", SCHEMA_ONE, schema_check_members, 0, 0, NULL },
    { "items", SCHEMA_ONE, schema_check_items, 0, 0, NULL },
    { "uniqueItems", SCHEMA_FLAG, schema_check_unique, 0, 0, NULL },
    { "allOf", SCHEMA_SOME, schema_check_all, 0, 0, NULL },
    { "anyOf", SCHEMA_SOME, schema_check_some, 0, SCHEMA_SAME | SCHEMA_MORE, NULL },
    { "oneOf", SCHEMA_SOME, schema_check_some, 0, SCHEMA_SAME, NULL },
    { "not", SCHEMA_ONE, schema_check_not, 0, 0, NULL },
    { "$ref", SCHEMA_REF, NULL, 0, 0, NULL }, /* schema_apply follows it, last */
    { "$defs", SCHEMA_MAP, NULL, 0, 0, NULL },
    { "definitions", SCHEMA_MAP, NULL, 0, 0, NULL },
    { "title", SCHEMA_TEXT, NULL, 0, 0, NULL },
    { "description", SCHEMA_TEXT, NULL, 0, 0, NULL },
    { "default", SCHEMA_ANY, NULL, 0, 0, NULL },
    { "examples", SCHEMA_LIST, NULL, 0, 0, NULL },
    { "format", SCHEMA_TEXT, NULL, 0, 0, NULL },
    { "$schema", SCHEMA_TEXT, NULL, 0, 0, NULL },
    { "$id", SCHEMA_TEXT, NULL, 0, 0, NULL },
    { "$comment", SCHEMA_TEXT, NULL, 0, 0, NULL },
};
enum { SCHEMA_KEYWORDS = sizeof schema_keywords / sizeof *schema_keywords };

static const struct schema_type_name {
    const char *name, *words;
} schema_types[] = {
    { "null", "null" },        { "boolean", "a boolean" }, { "integer", "an integer" },
    { "number", "a number" },  { "string", "a string" },   { "array", "an array" },
    { "object", "an object" },
};

static bool schema_apply(schema_run *run, schema_frame *f);
static bool schema_walk(schema_run *run, const schema_frame *f);

/* ---- the two calls -------------------------------------------------------------------------- */

static pawl_code schema_met(const pawl_value *schema, const pawl_value *v, bool patterns, const char *what, pawl_err *err)
{
    schema_run run = { .root = schema, .what = what, .err = err, .patterns = patterns };
    schema_frame f = { NULL, schema, v, NULL, 0, 0, NULL };

    if (v == NULL)
        return fail(err, PAWL_INVALID, "%s: nothing was given", what);
    if (schema_apply(&run, &f))
        return PAWL_OK;
    return run.broken != PAWL_OK ? run.broken : PAWL_INVALID;
}

pawl_code schema_check(const pawl_value *schema, const pawl_value *v, const char *what, pawl_err *err)
{
    return schema_met(schema, v, true, what, err);
}

pawl_code schema_check_loose(const pawl_value *schema, const pawl_value *v, const char *what, pawl_err *err)
{
    return schema_met(schema, v, false, what, err);
}

pawl_code schema_known(const pawl_value *schema, const char *what, pawl_err *err)
{
    schema_run run = { .root = schema, .what = what, .err = err };
    schema_frame f = { NULL, schema, schema, NULL, 0, 0, NULL };

    return schema_walk(&run, &f) ? PAWL_OK : run.broken;
}

/* ---- words ---------------------------------------------------------------------------------- */

static const char *const schema_kinds[] = {
    [PAWL_TYPE_NONE] = "nothing",   [PAWL_TYPE_NULL] = "null",       [PAWL_TYPE_BOOL] = "a boolean",
    [PAWL_TYPE_INT] = "a number",   [PAWL_TYPE_REAL] = "a number",   [PAWL_TYPE_STRING] = "a string",
    [PAWL_TYPE_ARRAY] = "an array", [PAWL_TYPE_OBJECT] = "an object"
};

static const char *schema_kind(const pawl_value *v)
{
    return schema_kinds[pawl_value_type(v)];
}

static const char *schema_type_words(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof schema_types / sizeof *schema_types; i++)
        if (strcmp(name, schema_types[i].name) == 0)
            return schema_types[i].words;
    return NULL;
}

typedef struct schema_text {
    char data[SCHEMA_TEXT_MAX];
    buf b; /* over `data`, never larger */
} schema_text;

static void *schema_no_more(void *ctx, void *ptr, size_t old_size, size_t size)
{
    (void)ctx, (void)ptr, (void)old_size, (void)size;
    return NULL;
}

static void schema_text_init(schema_text *t)
{
    buf_init(&t->b, &(pawl_alloc){ schema_no_more, NULL });
    t->b.data = t->data;
    t->b.cap = sizeof t->data - sizeof "/..."; /* room for that is reserved */
}

/* The text; if it is cut, its whole part of `size` bytes and `more`. */
static const char *schema_text_end(schema_text *t, size_t size, const char *more)
{
    if (!t->b.failed)
        size = t->b.size, more = "";
    memcpy(t->data + size, more, strlen(more) + 1);
    return t->data;
}

static const char *schema_show(const schema_run *run, schema_text *t, const pawl_value *v)
{
    if (run->mute > 0) /* nobody reads it */
        return "";
    schema_text_init(t);
    canon(&t->b, v);
    return schema_text_end(t, 0, "...");
}

static const char *schema_show_place(schema_text *t, const schema_frame *f)
{
    const schema_frame *way[DEPTH_MAX + 3]; /* a keyword, and what is in it, below the last schema */
    size_t n = 0, whole = 0;

    schema_text_init(t);
    for (; f->up != NULL; f = f->up)
        if (f->value != f->up->value)
            way[n++] = f;
    while (n-- > 0 && !t->b.failed) {
        whole = t->b.size;
        buf_char(&t->b, '/');
        if (way[n]->key == NULL)
            buf_uint(&t->b, way[n]->index);
        for (const char *p = way[n]->key; p != NULL && *p != '\0'; p++)
            buf_put(&t->b, *p == '~' ? "~0" : *p == '/' ? "~1" : p, *p == '~' || *p == '/' ? 2 : 1);
    }
    return schema_text_end(t, whole, "/...");
}

/* False: the value does not match. If `broken` is set, by the schema or a limit, the result is false whatever surrounds it. */
static PAWL_PRINTF(4, 5) bool schema_refuse(schema_run *run, const schema_frame *f, pawl_code broken,
                                            const char *fmt, ...)
{
    pawl_err words = { PAWL_OK, "" };
    schema_text t;
    const char *place;
    va_list args;

    if (run->broken != PAWL_OK || (broken == PAWL_OK && run->mute > 0))
        return false;
    run->broken = broken;
    va_start(args, fmt);
    failv(&words, PAWL_INVALID, fmt, args);
    va_end(args);
    place = schema_show_place(&t, f);
    fail(run->err, broken != PAWL_OK ? broken : PAWL_INVALID, "%s: %s%s%s", run->what, place,
         *place != '\0' ? ": " : "", words.text);
    return false;
}

static bool schema_spend(schema_run *run, const schema_frame *f, size_t steps)
{
    if (steps > SCHEMA_STEPS_MAX - run->steps)
        return schema_refuse(run, f, PAWL_LIMIT, "the schema takes more than %d steps", SCHEMA_STEPS_MAX);
    run->steps += steps;
    return true;
}

/* Also NULL when the steps are used up: see run->broken. */
static const pawl_value *schema_member(schema_run *run, const schema_frame *f, const pawl_value *object,
                                       const char *key)
{
    if (!schema_spend(run, f, 1 + pawl_value_size(object) / SCHEMA_STEP))
        return NULL;
    return pawl_value_get(object, key);
}

/* ---- equality: as JSON Schema has it, 1 is 1.0 ------------------------------------------------ */

/* Also false if run->broken. */
static bool schema_same(schema_run *run, const schema_frame *f, const pawl_value *a, const pawl_value *b,
                        unsigned depth)
{
    const pawl_value *item, *key, *twin, *twin_key;
    pawl_iter it = pawl_iter_of(a), other = pawl_iter_of(b);
    size_t size = pawl_value_size(a);

    if (depth > DEPTH_MAX)
        return schema_refuse(run, f, PAWL_LIMIT, "more than %d levels to compare", DEPTH_MAX);
    if (!schema_spend(run, f, 1 + (pawl_value_string(a) != NULL ? size / SCHEMA_STEP : 0)))
        return false;
    if (schema_is_number(a) && schema_is_number(b))
        return schema_order(schema_number_of(a), schema_number_of(b)) == SCHEMA_SAME;
    if (pawl_value_type(a) != pawl_value_type(b) || size != pawl_value_size(b))
        return false;
    if (pawl_value_string(a) != NULL)
        return memcmp(pawl_value_string(a), pawl_value_string(b), size) == 0;
    while ((item = pawl_iter_next(&it, &key)) != NULL) {
        twin = pawl_iter_next(&other, &twin_key);
        if (key != NULL && strcmp(pawl_value_string(key), pawl_value_string(twin_key)) != 0)
            twin = schema_member(run, f, b, pawl_value_string(key));
        if (twin == NULL || !schema_same(run, f, item, twin, depth + 1))
            return false;
    }
    return pawl_value_bool(a) == pawl_value_bool(b);
}

/* ---- a schema is well formed ------------------------------------------------------------------ */

/* A string that is also a C string; else NULL. */
static const char *schema_word(const pawl_value *v)
{
    const char *text = pawl_value_string(v);

    return text != NULL && strlen(text) == pawl_value_size(v) ? text : NULL;
}

static bool schema_is_one(const pawl_value *v)
{
    return pawl_value_type(v) == PAWL_TYPE_BOOL || pawl_value_type(v) == PAWL_TYPE_OBJECT;
}

static bool schema_all_words(const pawl_value *list, bool types)
{
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *item;

    while ((item = pawl_iter_next(&it, NULL)) != NULL)
        if (schema_word(item) == NULL || (types && schema_type_words(schema_word(item)) == NULL))
            return false;
    return pawl_value_type(list) == PAWL_TYPE_ARRAY;
}

/* NULL, or what an argument of this form must be. Nested schemas are not checked. */
static const char *schema_malformed(schema_form form, const pawl_value *arg)
{
    const bool array = pawl_value_type(arg) == PAWL_TYPE_ARRAY;

    switch (form) {
    case SCHEMA_ANY: return NULL;
    case SCHEMA_TEXT:
    case SCHEMA_PATTERN: return pawl_value_string(arg) != NULL ? NULL : "a string";
    case SCHEMA_FLAG: return pawl_value_type(arg) == PAWL_TYPE_BOOL ? NULL : "a boolean";
    case SCHEMA_LIST: return array ? NULL : "an array";
    case SCHEMA_NAMES: return schema_all_words(arg, false) ? NULL : "an array of names";
    case SCHEMA_TYPES:
        if (schema_type_words(schema_word(arg)) != NULL)
            return NULL;
        return pawl_value_size(arg) > 0 && schema_all_words(arg, true) ? NULL : "a type or an array of types";
    case SCHEMA_NUMBER: return schema_is_number(arg) ? NULL : "a number";
    case SCHEMA_POSITIVE:
        return schema_is_number(arg) && pawl_value_real(arg) > 0 ? NULL : "a number above 0";
    case SCHEMA_COUNT:
        return schema_is_whole(arg) && schema_number_of(arg).sign >= 0 ? NULL : "an integer from 0 on";
    case SCHEMA_ONE: return schema_is_one(arg) ? NULL : "a schema";
    case SCHEMA_SOME: return array && pawl_value_size(arg) > 0 ? NULL : "an array of schemas";
    case SCHEMA_MAP: return pawl_value_type(arg) == PAWL_TYPE_OBJECT ? NULL : "an object of schemas";
    case SCHEMA_REF: return schema_word(arg) != NULL ? NULL : "a string";
    }
    return NULL;
}

/* The schema that `ref` names in #/$defs or #/definitions; or NULL. */
static const pawl_value *schema_target(schema_run *run, const schema_frame *f, const pawl_value *ref)
{
    const char *path = schema_word(ref);
    const pawl_value *target = NULL;

    if (path == NULL)
        schema_refuse(run, f, PAWL_INVALID, "the schema's \"$ref\": a string is due");
    else if (!schema_spend(run, f, (value_nodes(run->root) + strlen(path)) / SCHEMA_STEP))
        return NULL;
    else if (strncmp(path, "#/$defs/", 8) != 0 && strncmp(path, "#/definitions/", 14) != 0)
        schema_refuse(run, f, PAWL_INVALID, "the schema's $ref \"%s\" is not into #/$defs", path);
    else if (!schema_is_one(target = pawl_value_find(run->root, path + 1)))
        schema_refuse(run, f, PAWL_INVALID, "the schema's $ref \"%s\" leads to no schema", path);
    return run->broken == PAWL_OK ? target : NULL;
}

static const schema_keyword *schema_keyword_of(const char *name)
{
    for (size_t i = 0; i < SCHEMA_KEYWORDS; i++)
        if (strcmp(name, schema_keywords[i].name) == 0)
            return &schema_keywords[i];
    return NULL;
}

static bool schema_unknown(schema_run *run, const schema_frame *f, const char *name)
{
    const char *names[SCHEMA_KEYWORDS];
    char hint[SCHEMA_TEXT_MAX];

    for (size_t i = 0; i < SCHEMA_KEYWORDS; i++)
        names[i] = schema_keywords[i].name;
    return schema_refuse(run, f, PAWL_INVALID, "no keyword \"%s\"%s", name,
                         did_you_mean(hint, sizeof hint, name, names, SCHEMA_KEYWORDS));
}

/* Follows a chain of $refs; loops through allOf and similar are found when they are applied. */
static bool schema_walk_ref(schema_run *run, const schema_frame *f, const pawl_value *ref)
{
    for (unsigned hops = 0; ref != NULL; hops++) {
        const pawl_value *target = schema_target(run, f, ref);
        if (target == NULL)
            return false;
        if (hops > DEPTH_MAX)
            return schema_refuse(run, f, PAWL_INVALID, "the schema's $refs go round");
        ref = pawl_value_get(target, "$ref");
    }
    return true;
}

static bool schema_walk_keyword(schema_run *run, const schema_frame *up, const char *name,
                                const pawl_value *arg)
{
    const schema_keyword *k = schema_keyword_of(name);
    schema_frame f = { up, arg, arg, name, 0, up->depth + 1, NULL };
    const char *due = k != NULL ? schema_malformed(k->form, arg) : NULL;
    pawl_iter it = pawl_iter_of(arg);
    const pawl_value *item, *key;
    schema_text t;

    if (k == NULL)
        return schema_unknown(run, up, name);
    if (due != NULL)
        return schema_refuse(run, &f, PAWL_INVALID, "%s is due, not %s", due, schema_show(run, &t, arg));
    if (k->form == SCHEMA_PATTERN && (due = schema_pattern_error(arg)) != NULL)
        return schema_refuse(run, &f, PAWL_INVALID, "%s is no pattern that is read here: %s", schema_show(run, &t, arg), due);
    if (k->form == SCHEMA_REF)
        return schema_walk_ref(run, &f, arg);
    if (k->form == SCHEMA_ONE)
        return schema_walk(run, &f);
    if (k->form != SCHEMA_SOME && k->form != SCHEMA_MAP)
        return true;
    for (size_t i = 0; (item = pawl_iter_next(&it, &key)) != NULL; i++) {
        schema_frame inner = { &f, item, item, pawl_value_string(key), i, f.depth + 1, NULL };
        if (!schema_walk(run, &inner))
            return false;
    }
    return true;
}

static bool schema_walk(schema_run *run, const schema_frame *f)
{
    pawl_iter it = pawl_iter_of(f->schema);
    const pawl_value *arg, *key;

    if (f->depth > DEPTH_MAX)
        return schema_refuse(run, f, PAWL_LIMIT, "more than %d levels of schemas", DEPTH_MAX);
    if (!schema_is_one(f->schema))
        return schema_refuse(run, f, PAWL_INVALID, "a schema is due, not %s", schema_kind(f->schema));
    while ((arg = pawl_iter_next(&it, &key)) != NULL)
        if (!schema_walk_keyword(run, f, pawl_value_string(key), arg))
            return false;
    return true;
}

/* ---- a schema meets a value ------------------------------------------------------------------- */

/* Whether this schema is already being applied to the same value. */
static bool schema_goes_round(const schema_frame *f)
{
    for (const schema_frame *at = f->up; at != NULL && at->value == f->value; at = at->up)
        if (at->schema == f->schema)
            return true;
    return false;
}

static bool schema_apply_keywords(schema_run *run, schema_frame *f)
{
    const schema_keyword *k = schema_keywords;

    for (; k < schema_keywords + SCHEMA_KEYWORDS; k++) {
        const pawl_value *arg = k->check != NULL ? pawl_value_get(f->schema, k->name) : NULL;
        const char *due = arg != NULL ? schema_malformed(k->form, arg) : NULL;
        if (due != NULL)
            return schema_refuse(run, f, PAWL_INVALID, "the schema's \"%s\": %s is due", k->name, due);
        f->keyword = k;
        if (arg != NULL && !k->check(run, f, arg))
            return false;
    }
    return true;
}

/* A $ref is followed in place, after its siblings, so it takes no level. */
static bool schema_apply(schema_run *run, schema_frame *f)
{
    const pawl_value *ref;

    if (f->depth > DEPTH_MAX)
        return schema_refuse(run, f, PAWL_LIMIT, "more than %d levels of schemas", DEPTH_MAX);
    for (unsigned hops = 0;; hops++) {
        if (hops > DEPTH_MAX || schema_goes_round(f))
            return schema_refuse(run, f, PAWL_INVALID, "the schema's $refs go round");
        if (!schema_spend(run, f, 4 + pawl_value_size(f->schema)))
            return false;
        if (pawl_value_type(f->schema) == PAWL_TYPE_BOOL)
            return pawl_value_bool(f->schema) || schema_refuse(run, f, PAWL_OK, "nothing is allowed here");
        if (pawl_value_type(f->schema) != PAWL_TYPE_OBJECT)
            return schema_refuse(run, f, PAWL_INVALID, "the schema is %s", schema_kind(f->schema));
        if (!schema_apply_keywords(run, f))
            return false;
        if ((ref = pawl_value_get(f->schema, "$ref")) == NULL)
            return true;
        if ((f->schema = schema_target(run, f, ref)) == NULL)
            return false;
    }
}

/* Applies it to `v`, which is in the value of `up` at `key` or `index`; or to the value of `up` itself. */
static bool schema_apply_at(schema_run *run, const schema_frame *up, const pawl_value *schema,
                            const pawl_value *v, const char *key, size_t index)
{
    schema_frame f = { up, schema, v, key, index, up->depth + 1, NULL };

    return schema_apply(run, &f);
}

/* ---- the keywords, one by one ------------------------------------------------------------------ */

static bool schema_is_type(const pawl_value *v, const char *name)
{
    if (strcmp(name, "integer") == 0)
        return schema_is_whole(v);
    return strcmp(schema_type_words(name), schema_kind(v)) == 0;
}

static bool schema_check_type(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    const char *name = pawl_value_string(arg), *kind = schema_kind(f->value);
    pawl_iter it = pawl_iter_of(arg);
    const pawl_value *type;
    schema_text t;

    if (name != NULL)
        return schema_is_type(f->value, name) ||
               schema_refuse(run, f, PAWL_OK, "%s is due, not %s", schema_type_words(name), kind);
    while ((type = pawl_iter_next(&it, NULL)) != NULL)
        if (schema_is_type(f->value, pawl_value_string(type)))
            return true;
    return schema_refuse(run, f, PAWL_OK, "one of %s is due, not %s", schema_show(run, &t, arg), kind);
}

/* `const`, or the values of an `enum`. */
static bool schema_check_value(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    const bool many = f->keyword->form == SCHEMA_LIST;
    pawl_iter it = pawl_iter_of(arg);
    const pawl_value *one = many ? pawl_iter_next(&it, NULL) : arg;
    schema_text t;

    for (; one != NULL && run->broken == PAWL_OK; one = many ? pawl_iter_next(&it, NULL) : NULL)
        if (schema_same(run, f, f->value, one, 0))
            return true;
    return schema_refuse(run, f, PAWL_OK, "%s%s is due", many ? "one of " : "", schema_show(run, &t, arg));
}

static bool schema_check_number(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    const schema_keyword *k = f->keyword;
    schema_text due, is;
    bool fits;

    if (!schema_is_number(f->value))
        return true;
    if (k->form == SCHEMA_POSITIVE)
        fits = schema_is_multiple(schema_decimal_of(f->value), schema_decimal_of(arg));
    else
        fits = (schema_order(schema_number_of(f->value), schema_number_of(arg)) & k->fits) != 0;
    return fits || schema_refuse(run, f, PAWL_OK, "%s %s is due, not %s", k->words,
                                 schema_show(run, &due, arg), schema_show(run, &is, f->value));
}

static size_t schema_characters(const pawl_value *v)
{
    const char *text = pawl_value_string(v);
    size_t count = 0;

    for (size_t i = 0, n = pawl_value_size(v); i < n; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static bool schema_check_size(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    const bool text = f->keyword->on == PAWL_TYPE_STRING;
    size_t size = pawl_value_size(f->value);
    schema_text t;

    if (pawl_value_type(f->value) != f->keyword->on)
        return true;
    if (text && !schema_spend(run, f, size / SCHEMA_STEP))
        return false;
    if (text)
        size = schema_characters(f->value);
    if ((schema_order((schema_number){ size > 0, size, 0 }, schema_number_of(arg)) & f->keyword->fits) != 0)
        return true;
    return schema_refuse(run, f, PAWL_OK, "%s: %s %s are due, not %zu", text ? "characters" : "items",
                         f->keyword->words, schema_show(run, &t, arg), size);
}

static bool schema_check_pattern(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    size_t steps = 0;
    bool found;
    schema_text t;

    if (!run->patterns || pawl_value_type(f->value) != f->keyword->on)
        return true;
    found = schema_pattern_found(arg, f->value, (SCHEMA_STEPS_MAX - run->steps) * SCHEMA_STEP, &steps);
    if (!schema_spend(run, f, steps / SCHEMA_STEP))
        return false;
    return found || schema_refuse(run, f, PAWL_OK, "a match of the pattern %s is due", schema_show(run, &t, arg));
}

static bool schema_check_required(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    pawl_iter it = pawl_iter_of(arg);
    const pawl_value *name;
    schema_text t;

    if (pawl_value_type(f->value) != PAWL_TYPE_OBJECT)
        return true;
    while ((name = pawl_iter_next(&it, NULL)) != NULL)
        if (schema_member(run, f, f->value, pawl_value_string(name)) == NULL)
            return schema_refuse(run, f, PAWL_OK, "%s is missing", schema_show(run, &t, name));
    return true;
}

/* `properties` checks the members that it names, `additionalProperties` all others. */
static bool schema_check_members(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    const bool others = f->keyword->form == SCHEMA_ONE;
    const pawl_value *named = others ? pawl_value_get(f->schema, "properties") : arg, *schema, *item, *key;
    pawl_iter it = pawl_iter_of(f->value);
    schema_text t;

    if (pawl_value_type(f->value) != PAWL_TYPE_OBJECT)
        return true;
    while ((item = pawl_iter_next(&it, &key)) != NULL) {
        schema = schema_member(run, f, named, pawl_value_string(key));
        if (run->broken != PAWL_OK)
            return false;
        if ((schema != NULL) == others)
            continue;
        if (others && pawl_value_type(arg) == PAWL_TYPE_BOOL && !pawl_value_bool(arg))
            return schema_refuse(run, f, PAWL_OK, "%s is none of its properties", schema_show(run, &t, key));
        if (!schema_apply_at(run, f, others ? arg : schema, item, pawl_value_string(key), 0))
            return false;
    }
    return true;
}

static bool schema_check_items(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    pawl_iter it = pawl_iter_of(f->value);
    const pawl_value *item;

    if (pawl_value_type(f->value) != PAWL_TYPE_ARRAY)
        return true;
    for (size_t i = 0; (item = pawl_iter_next(&it, NULL)) != NULL; i++)
        if (!schema_apply_at(run, f, arg, item, NULL, i))
            return false;
    return true;
}

static bool schema_check_unique(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    pawl_iter it = pawl_iter_of(f->value), later;
    const pawl_value *a, *b;

    if (pawl_value_type(f->value) != PAWL_TYPE_ARRAY || !pawl_value_bool(arg))
        return true;
    if (it.left > SCHEMA_UNIQUE_ITEMS_MAX)
        return schema_refuse(run, f, PAWL_LIMIT, "more than %d items to compare", SCHEMA_UNIQUE_ITEMS_MAX);
    for (size_t i = 0; (a = pawl_iter_next(&it, NULL)) != NULL; i++) {
        later = it;
        for (size_t j = i + 1; (b = pawl_iter_next(&later, NULL)) != NULL; j++) {
            if (schema_same(run, f, a, b, 0))
                return schema_refuse(run, f, PAWL_OK, "items %zu and %zu are the same", i, j);
            if (run->broken != PAWL_OK)
                return false;
        }
    }
    return true;
}

static bool schema_check_all(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    pawl_iter it = pawl_iter_of(arg);
    const pawl_value *schema;

    while ((schema = pawl_iter_next(&it, NULL)) != NULL)
        if (!schema_apply_at(run, f, schema, f->value, NULL, 0))
            return false;
    return true;
}

/* `oneOf`: exactly one; `anyOf`: at least one. */
static bool schema_check_some(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    const size_t enough = (f->keyword->fits & SCHEMA_MORE) != 0 ? 1 : 2, n = pawl_value_size(arg);
    pawl_iter it = pawl_iter_of(arg);
    size_t count = 0, first = 0;

    run->mute++;
    while (count < enough && it.left > 0 && run->broken == PAWL_OK)
        if (schema_apply_at(run, f, pawl_iter_next(&it, NULL), f->value, NULL, 0) && count++ == 0)
            first = n - it.left - 1;
    run->mute--;
    if (run->broken != PAWL_OK)
        return false;
    if (count == 2)
        return schema_refuse(run, f, PAWL_OK, "schemas %zu and %zu fit, and one is due", first,
                             n - it.left - 1);
    return count == 1 || schema_refuse(run, f, PAWL_OK, "none of %zu schemas fits", n);
}

static bool schema_check_not(schema_run *run, const schema_frame *f, const pawl_value *arg)
{
    bool fits;

    run->mute++;
    fits = schema_apply_at(run, f, arg, f->value, NULL, 0);
    run->mute--;
    return run->broken == PAWL_OK && (!fits || schema_refuse(run, f, PAWL_OK, "this is what is not allowed"));
}
