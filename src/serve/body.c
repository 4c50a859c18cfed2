/* body.c - the body of a request, as words of a verb: strict, so that nothing that a client meant is left out in silence. Pure.
 *
 * Values become options as --NAME=VALUE, so that no value is taken for an option, and arguments, which the caller puts after "--". */
#include "json/json.h"
#include "serve/serve_inner.h"

#include <stdio.h>

/* A word is a C string. */
static const char *plain(const pawl_value *v)
{
    const char *text = pawl_value_string(v);

    return text != NULL && strlen(text) == pawl_value_size(v) ? text : NULL;
}

static const char *json_of(arena *mem, const pawl_value *v)
{
    char *out;
    buf b;

    buf_init(&b, NULL);
    canon(&b, v);
    out = b.failed ? NULL : arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return out;
}

static pawl_code option_add(arena *mem, body_words *out, const char *name, const char *key, const char *value, pawl_err *err)
{
    const size_t size = strlen(name) + (key != NULL ? strlen(key) : 0) + (value != NULL ? strlen(value) : 0) + 8;
    char *word = out->noptions < BODY_WORDS_MAX ? arena_get(mem, size) : NULL;

    if (out->noptions == BODY_WORDS_MAX)
        return fail(err, PAWL_LIMIT, "the body has more members than one request takes");
    if (word == NULL)
        return fail(err, PAWL_NOMEM, "no memory for this request");
    snprintf(word, size, "--%s%s%s%s%s", name, key != NULL || value != NULL ? "=" : "", key != NULL ? key : "", key != NULL ? "=" : "",
             value != NULL ? value : "");
    out->options[out->noptions++] = word;
    return PAWL_OK;
}

static pawl_code wrong(const parameter *m, const char *wanted, pawl_err *err) { return fail(err, PAWL_INVALID, "%s: wanted %s", m->name, wanted); }

static pawl_code each_add(arena *mem, const parameter *m, const pawl_value *v, body_words *out, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *one, *key;
    pawl_code rc = PAWL_OK;

    if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return wrong(m, "an object", err);
    while (rc == PAWL_OK && (one = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = plain(key), *value = m->kind == MEMBER_BOUNDS && pawl_value_type(one) == PAWL_TYPE_STRING ? plain(one) : json_of(mem, one);

        if (name == NULL || *name == '\0' || strchr(name, '=') != NULL || value == NULL)
            return wrong(m, "names without \"=\", each with its value", err);
        rc = option_add(mem, out, m->name, name, value, err);
    }
    return rc;
}

static pawl_code list_add(arena *mem, const parameter *m, const pawl_value *v, body_words *out, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    if (pawl_value_type(v) != PAWL_TYPE_ARRAY)
        return wrong(m, "an array of texts", err);
    for (size_t i = 0; i < pawl_value_size(v) && rc == PAWL_OK; i++) {
        const char *text = plain(pawl_value_at(v, i));

        rc = text == NULL ? wrong(m, "an array of texts", err) : option_add(mem, out, m->name, NULL, text, err);
    }
    return rc;
}

static pawl_code member_add(arena *mem, const parameter *m, const pawl_value *v, body_words *out, pawl_err *err)
{
    const char *text = plain(v), *json;

    switch ((enum member_kind)m->kind) {
    case MEMBER_EACH: case MEMBER_BOUNDS: return each_add(mem, m, v, out, err);
    case MEMBER_LIST: return list_add(mem, m, v, out, err);
    case MEMBER_FLAG:
        if (pawl_value_type(v) != PAWL_TYPE_BOOL)
            return wrong(m, "true or false", err);
        return pawl_value_bool(v) ? option_add(mem, out, m->name, NULL, NULL, err) : PAWL_OK;
    case MEMBER_TEXT: return text == NULL ? wrong(m, "a text", err) : option_add(mem, out, m->name, NULL, text, err);
    case MEMBER_COUNT:
        if (pawl_value_type(v) != PAWL_TYPE_INT || pawl_value_int(v) < 0)
            return wrong(m, "a whole number", err);
        break;
    case MEMBER_ARG: case MEMBER_ARG_JSON: case MEMBER_JSON: break;
    }
    if (m->kind == MEMBER_ARG && pawl_value_type(v) == PAWL_TYPE_STRING && text == NULL)
        return wrong(m, "a text without a NUL", err);
    json = m->kind == MEMBER_ARG && text != NULL ? text : json_of(mem, v);
    if (json == NULL)
        return fail(err, PAWL_NOMEM, "no memory for this request");
    if (m->kind == MEMBER_JSON || m->kind == MEMBER_COUNT)
        return option_add(mem, out, m->name, NULL, json, err);
    if (out->nargs == sizeof out->args / sizeof out->args[0])
        return fail(err, PAWL_LIMIT, "the body has more members than one request takes");
    out->args[out->nargs++] = json;
    return PAWL_OK;
}

static pawl_code unknown(const parameter *members, const char *name, pawl_err *err)
{
    char list[160] = "";

    for (const parameter *m = members; m->name != NULL; m++)
        snprintf(list + strlen(list), sizeof list - strlen(list), " %s", m->name);
    return fail(err, PAWL_INVALID, "%.60s: no such member here; there %s%s", name != NULL ? name : "\"\"", members->name == NULL ? "are none" : "are", list);
}

/* Arguments come in the order of the table, whatever the body's is. */
pawl_code body_read(arena *mem, pawl_bytes body, const parameter *members, const asker *who, body_words *out, pawl_err *err)
{
    const pawl_value *all = body.size > 0 ? value_parse(mem, body.data, body.size, "the body", err) : value_pack(mem, err, "{}"), *key, *v;
    pawl_iter it = pawl_iter_of(all);
    pawl_code rc = PAWL_OK;

    out->noptions = out->nargs = 0;
    if (all == NULL)
        return err->code;
    if (pawl_value_type(all) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_INVALID, "the body is an object in JSON");
    while (pawl_iter_next(&it, &key) != NULL) {
        const parameter *m = members;

        while (m->name != NULL && (plain(key) == NULL || strcmp(plain(key), m->name) != 0))
            m++;
        if (m->name == NULL)
            return unknown(members, plain(key), err);
        if ((m->scope & who->scopes) != m->scope)
            return fail(err, PAWL_DENIED, "%s: the scopes of this token do not have it", m->name);
    }
    for (const parameter *m = members; m->name != NULL && rc == PAWL_OK; m++) {
        if ((v = pawl_value_get(all, m->name)) != NULL)
            rc = member_add(mem, m, v, out, err);
        else if (m->needed)
            rc = fail(err, PAWL_INVALID, "%s: it is missing", m->name);
    }
    return rc;
}
