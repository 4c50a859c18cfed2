/* approvers.c - who has to sign the answer to a wait: names with keys, and how many of them. Pure; any thread. */
#include "sign/sign.h"

#include <string.h>

enum { APPROVER_NAME_MAX = 64 };

bool pawl_approver_name_valid(const char *name)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

    return name != NULL && *name != '\0' && strchr("._-", *name) == NULL && strspn(name, good) == strlen(name) && strlen(name) <= APPROVER_NAME_MAX;
}

uint64_t approvers_need(const pawl_value *approvers)
{
    return pawl_value_uint(pawl_value_get(approvers, "need"));
}

const char *approvers_key(const pawl_value *approvers, const char *name)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(approvers, "keys"));
    const pawl_value *one;

    while (name != NULL && (one = pawl_iter_next(&it, NULL)) != NULL)
        if (strcmp(pawl_value_string(pawl_value_get(one, "name")), name) == 0)
            return pawl_value_string(pawl_value_get(one, "key"));
    return NULL;
}

static bool member_twice(const pawl_value *keys, size_t before, const char *member, const char *text)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(pawl_value_string(pawl_value_get(pawl_value_at(keys, i), member)), text) == 0)
            return true;
    return false;
}

pawl_code approvers_check(const pawl_value *approvers, pawl_err *err)
{
    const pawl_value *keys = pawl_value_get(approvers, "keys");
    const size_t n = pawl_value_size(keys);

    if (pawl_value_type(approvers) != PAWL_TYPE_OBJECT || pawl_value_size(approvers) != 2 || pawl_value_type(keys) != PAWL_TYPE_ARRAY)
        return fail(err, PAWL_INVALID, "approvers are {\"keys\":[{\"key\":\"ed25519:..\",\"name\":\"alice\"}],\"need\":1}");
    if (n == 0 || n > PAWL_APPROVERS_MAX)
        return fail(err, PAWL_INVALID, "approvers are 1 to %d keys, and these are %zu", (int)PAWL_APPROVERS_MAX, n);
    for (size_t i = 0; i < n; i++) {
        const char *name = pawl_value_string(pawl_value_get(pawl_value_at(keys, i), "name"));
        const char *key = pawl_value_string(pawl_value_get(pawl_value_at(keys, i), "key"));

        if (!pawl_approver_name_valid(name))
            return fail(err, PAWL_INVALID, "the name of an approver has letters, digits, '.', '_' and '-', and not \"%.64s\"", name != NULL ? name : "");
        if (!pawl_key_valid(key))
            return fail(err, PAWL_INVALID, "approver %s: a key is ed25519: and the base64 of 32 bytes, and not \"%.64s\"", name, key != NULL ? key : "");
        if (member_twice(keys, i, "name", name) || member_twice(keys, i, "key", key))
            return fail(err, PAWL_INVALID, "approver %s: each name and each key is there once", name);
    }
    if (approvers_need(approvers) < 1 || approvers_need(approvers) > n)
        return fail(err, PAWL_INVALID, "`need` of approvers is 1 to %zu, the number of keys", n);
    return PAWL_OK;
}

void approvers_phrase(buf *b, const pawl_value *approvers)
{
    const pawl_value *keys = pawl_value_get(approvers, "keys");
    const size_t n = pawl_value_size(keys);
    const uint64_t need = approvers_need(approvers);

    if (need < n && need > 1)
        buf_fmt(b, "%u of ", (unsigned)need);
    for (size_t i = 0; i < n; i++)
        buf_fmt(b, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : need == 1 ? " or " : " and ", pawl_value_string(pawl_value_get(pawl_value_at(keys, i), "name")));
}
