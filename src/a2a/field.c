/* field.c - members of what a client sends, liberally: in lowerCamelCase or snake_case, a null as if it were not there (ProtoJSON). Pure.
 *
 * Called by message.c and request.c. */
#include "a2a/a2a.h"

enum { NAME_BYTES = 64 };

/* "historyLength" -> "history_length" */
static void snake(const char *name, char out[NAME_BYTES])
{
    size_t n = 0;

    for (; *name != '\0' && n + 3 < NAME_BYTES; name++) {
        const bool upper = *name >= 'A' && *name <= 'Z';

        if (upper)
            out[n++] = '_';
        out[n++] = upper ? (char)(*name - 'A' + 'a') : *name;
    }
    out[n] = '\0';
}

const pawl_value *a2a_field(const pawl_value *object, const char *name)
{
    const pawl_value *v = pawl_value_get(object, name);
    char other[NAME_BYTES];

    if (v == NULL) {
        snake(name, other);
        v = pawl_value_get(object, other);
    }
    return pawl_value_type(v) == PAWL_TYPE_NULL ? NULL : v;
}

bool a2a_text(const pawl_value *object, const char *name, const char **out, a2a_fault *f)
{
    const pawl_value *v = a2a_field(object, name);
    const char *text = pawl_value_string(v);

    if (v == NULL)
        return true;
    if (text == NULL || strlen(text) != pawl_value_size(v))
        return a2a_wrong(f, A2A_INVALID_PARAMS, name, "%s: a text is wanted", name);
    if (*text != '\0')
        *out = text;
    return true;
}

bool a2a_bool(const pawl_value *object, const char *name, bool *out, a2a_fault *f)
{
    const pawl_value *v = a2a_field(object, name);
    const char *text = pawl_value_string(v);

    if (v == NULL)
        return true;
    if (pawl_value_type(v) == PAWL_TYPE_BOOL)
        *out = pawl_value_bool(v);
    else if (text != NULL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        *out = strcmp(text, "true") == 0;
    else
        return a2a_wrong(f, A2A_INVALID_PARAMS, name, "%s: true or false is wanted", name);
    return true;
}

bool a2a_count(const pawl_value *object, const char *name, int64_t least, int64_t most, int64_t *out, a2a_fault *f)
{
    const pawl_value *v = a2a_field(object, name);
    const char *text = pawl_value_string(v), *end = NULL;
    uint64_t n = 0;
    bool whole;

    if (v == NULL)
        return true;
    if (text != NULL)
        whole = (end = digits_read(text, &n)) != NULL && *end == '\0' && n <= INT64_MAX;
    else
        whole = pawl_value_type(v) == PAWL_TYPE_INT || (pawl_value_type(v) == PAWL_TYPE_REAL && pawl_value_real(v) >= -1e15 && pawl_value_real(v) <= 1e15 &&
                                                        pawl_value_real(v) == (double)(int64_t)pawl_value_real(v));
    if (whole)
        *out = text != NULL ? (int64_t)n : pawl_value_type(v) == PAWL_TYPE_INT ? pawl_value_int(v) : (int64_t)pawl_value_real(v);
    if (!whole || *out < least || *out > most)
        return a2a_wrong(f, A2A_INVALID_PARAMS, name, "%s: a whole number from %lld to %lld is wanted", name, (long long)least, (long long)most);
    return true;
}

bool a2a_object(const pawl_value *object, const char *name, const pawl_value **out, a2a_fault *f)
{
    const pawl_value *v = a2a_field(object, name);

    if (v == NULL)
        return true;
    if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return a2a_wrong(f, A2A_INVALID_PARAMS, name, "%s: an object is wanted", name);
    *out = v;
    return true;
}
