/* approver_keys.c - `approvers` of a gate and of `permissions`: who has to sign an approval (P11).
 *
 *     approvers: [alice, bob]                             one of them
 *     approvers: {need: 2, of: [alice, bob, carol=ed25519:BASE64]}
 *
 * A member is a name, whose key the person trusts, or a name with its key. Called by node_keys.c and permission_keys.c, on one thread. All names of a file
 * are in one list of its root: a run keeps the key of each from its beginning on. */
#include "file/load/load.h"
#include "sign/sign.h"

static file_signer *signer_find(const agent_file *root, const char *name)
{
    file_signer *one = root->signers;

    while (one != NULL && strcmp(one->name, name) != 0)
        one = one->next;
    return one;
}

/* NULL: a fault was reported, or no memory. */
static file_signer *signer_named(loader *l, const doc *d, const char *text)
{
    const char *equals = strchr(text, '='), *key = equals != NULL ? equals + 1 : NULL;
    const char *name = arena_strdup(l->mem, text, equals != NULL ? (size_t)(equals - text) : strlen(text));
    file_signer *one;

    if (name == NULL)
        return NULL;
    if (!pawl_approver_name_valid(name) || (key != NULL && !pawl_key_valid(key))) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "approvers", "an approver is the name of a key that you trust, or NAME=ed25519:BASE64, as `pawl key new` prints it, "
                 "and not \"%.80s\"", text);
        return NULL;
    }
    if ((one = signer_find(l->a->root, name)) != NULL) {
        if (key != NULL && one->key != NULL && strcmp(one->key, key) != 0) {
            fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "approvers", "%s has another key here than at another place of the file: give them two names", name);
            return NULL;
        }
        one->key = one->key != NULL ? one->key : key;
        return one;
    }
    if ((one = arena_zero(l->mem, sizeof *one)) == NULL)
        return NULL;
    *one = (file_signer){ .name = name, .key = key, .at = d->at, .next = l->a->root->signers };
    return l->a->root->signers = one;
}

static const pawl_value *members_of(loader *l, const doc *list)
{
    const pawl_value *out = value_pack(l->mem, NULL, "[]");
    const char *text;

    if (list->size == 0 || list->size > PAWL_APPROVERS_MAX) {
        fault_at(l->f, list->at, PAWL_SEVERITY_FAULT, "approvers", "approvers are 1 to %d, and here are %zu", (int)PAWL_APPROVERS_MAX, list->size);
        return NULL;
    }
    for (size_t i = 0; i < list->size; i++) {
        const file_signer *one;

        if (!key_plain(l, list->items[i], "approvers", &text) || (one = signer_named(l, list->items[i], text)) == NULL)
            return NULL;
        for (size_t k = 0; k < i; k++)
            if (strcmp(pawl_value_string(pawl_value_at(out, k)), one->name) == 0) {
                fault_at(l->f, list->items[i]->at, PAWL_SEVERITY_FAULT, "approvers", "%s is named twice", one->name);
                return NULL;
            }
        out = value_push(l->mem, out, value_string(l->mem, one->name, strlen(one->name)));
    }
    return out;
}

const pawl_value *read_approver_list(loader *l, const doc *d)
{
    static const char *const names[] = { "need", "of" };
    const doc *list = d->kind == DOC_MAP ? doc_get(d, "of") : d, *count = d->kind == DOC_MAP ? doc_get(d, "need") : NULL;
    const pawl_value *of;
    uint32_t need = 1;

    if (d->kind == DOC_MAP)
        keys_known(l, d, "`approvers`", names, 2);
    if (list == NULL || list->kind != DOC_LIST) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type",
                 "`approvers` is a list of names, [alice, bob], or {need: 2, of: [alice, bob, carol]}, and this is %s", doc_what(l, d));
        return NULL;
    }
    if ((of = members_of(l, list)) == NULL || (count != NULL && !key_count(l, count, "need", 1, (uint32_t)list->size, &need)))
        return NULL;
    return value_pack(l->mem, NULL, "{s:i,s:v}", "need", (int64_t)need, "of", of);
}
