/* typed_state.c - a C struct as a view of the channels (K9): a node reads the whole struct and writes single fields. Called inside a visit, on the
 * thread that owns the step. */
#include "kernel/visit.h"

#include <string.h>

static pawl_code field_wrong(pawl_step *s, const pawl_field *f, const char *due)
{
    return visit_wrong(s, PAWL_INVALID, "channel \"%s\" holds what is no %s", f->channel.name, due);
}

static pawl_code field_read(pawl_step *s, const pawl_field *f, void *at)
{
    const pawl_value *v = pawl_get(s, f->channel.name);
    pawl_type type = pawl_value_type(v);
    bool unset = type == PAWL_TYPE_NONE || type == PAWL_TYPE_NULL;

    switch (f->type) {
    case PAWL_FIELD_INT:
        *(int64_t *)at = pawl_value_int(v);
        if (!unset && (type != PAWL_TYPE_INT || (pawl_value_int(v) == 0 && pawl_value_uint(v) != 0)))
            return field_wrong(s, f, "int64");
        break;
    case PAWL_FIELD_BOOL:
        *(bool *)at = pawl_value_bool(v);
        if (!unset && type != PAWL_TYPE_BOOL)
            return field_wrong(s, f, "boolean");
        break;
    case PAWL_FIELD_REAL:
        *(double *)at = pawl_value_real(v);
        if (!unset && type != PAWL_TYPE_REAL && type != PAWL_TYPE_INT)
            return field_wrong(s, f, "number");
        break;
    case PAWL_FIELD_STRING:
        *(const char **)at = pawl_value_string(v);
        if (!unset && type != PAWL_TYPE_STRING)
            return field_wrong(s, f, "string");
        break;
    case PAWL_FIELD_VALUE:
        *(const pawl_value **)at = v;
        break;
    }
    return PAWL_OK;
}

pawl_code pawl_read(pawl_step *s, const pawl_field *fields, size_t n, void *out)
{
    pawl_code rc = PAWL_OK;

    if (s == NULL || s->v == NULL)
        return PAWL_INVALID;
    for (size_t i = 0; i < n; i++)      /* sets every field, also after an error, so that no field is uninitialized */
        if (field_read(s, &fields[i], (char *)out + fields[i].offset) != PAWL_OK)
            rc = PAWL_INVALID;
    return rc;
}

void pawl_write(pawl_step *s, const pawl_field *fields, size_t n, const char *name, const void *value)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(fields[i].channel.name, name) != 0)
            continue;
        switch (fields[i].type) {
        case PAWL_FIELD_INT:    pawl_set_int(s, name, *(const int64_t *)value); return;
        case PAWL_FIELD_BOOL:   pawl_set_bool(s, name, *(const bool *)value); return;
        case PAWL_FIELD_REAL:   pawl_set_real(s, name, *(const double *)value); return;
        case PAWL_FIELD_STRING: pawl_set_string(s, name, *(const char *const *)value); return;
        case PAWL_FIELD_VALUE:  pawl_set(s, name, *(const pawl_value *const *)value); return;
        }
    }
    visit_wrong(s, PAWL_INVALID, "the struct has no field \"%s\"", name);
}
