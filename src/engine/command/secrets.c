/* secrets.c - puts each secret into the arguments of a command, when its entry is made (K4).
 *
 * Called by reconcile.c and receipts.c on the driving thread, without a lock. Invariant: a secret is only in the arguments of an entry, never in a journal
 * or an error: a program or server that got it may send it back, so it is removed from the reply. */
#include "engine/command/entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECRET_BYTES_MAX = 65536, STARRED_LEAST = 4 };        /* a shorter word may be a part of anything */

static bool secret_file(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    if (f == NULL)
        return false;
    n = fread(out, 1, size, f);
    fclose(f);
    if (n == size)
        return false;       /* a truncated secret must not be used */
    while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == '\r'))
        n--;
    out[n] = '\0';
    return true;
}

static const char *secret_value(const pawl_engine *e, const char *spec, char *room, size_t size)
{
    if (strncmp(spec, "env:", 4) == 0)
        return variable_name_valid(spec + 4) ? getenv(spec + 4) : NULL;
    if (strncmp(spec, "file:", 5) == 0)
        return secret_file(spec + 5, room, size) ? room : NULL;
    if (strncmp(spec, "given:", 6) == 0 && e->secret != NULL)
        return e->secret(e->secret_ctx, spec + 6);
    return NULL;
}

pawl_code secrets_put(pawl_engine *e, arena *mem, pawl_command *cmd, const pawl_value *secrets, bool *missing, pawl_err *why,
                      pawl_err *err)
{
    pawl_iter it = pawl_iter_of(secrets);
    char *room = secrets == NULL ? NULL : mem_new(&e->alloc, SECRET_BYTES_MAX);
    const pawl_value *one;
    pawl_code rc = secrets != NULL && room == NULL ? PAWL_NOMEM : PAWL_OK;

    while (rc == PAWL_OK && (one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *spec = pawl_value_string(pawl_value_at(one, 1)), *value;

        value = spec == NULL ? NULL : secret_value(e, spec, room, SECRET_BYTES_MAX);
        if (value == NULL || !utf8_valid(value, strlen(value))) {
            *missing = true;
            fail(why, PAWL_PENDING, "%s: secret %s is %s; the command waits for it", cmd->id, spec != NULL ? spec : "",
                 value == NULL ? "missing" : "no UTF-8 text");
            break;
        }
        cmd->args = value_splice(mem, cmd->args, pawl_value_string(pawl_value_at(one, 0)), value_string(mem, value, strlen(value)));
        rc = cmd->args == NULL ? PAWL_NOMEM : PAWL_OK;
    }
    if (rc == PAWL_NOMEM)
        fail(err, rc, "%s: no memory for its secrets", cmd->id);
    if (room != NULL)
        memset(room, 0, SECRET_BYTES_MAX);
    mem_free(&e->alloc, room, room != NULL ? SECRET_BYTES_MAX : 0);
    return rc;
}

/* ---- what comes back ------------------------------------------------------------------------------------- */

bool secrets_keep(outbox_entry *entry, const pawl_value *args, const pawl_value *secrets)
{
    const char **kept = arena_zero(&entry->mem, (pawl_value_size(secrets) + 1) * sizeof *kept);
    pawl_iter it = pawl_iter_of(secrets);
    const pawl_value *one;
    size_t n = 0;

    while (kept != NULL && (one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *value = pawl_value_string(pawl_value_find(args, pawl_value_string(pawl_value_at(one, 0))));

        if (value != NULL && strlen(value) >= STARRED_LEAST)
            kept[n++] = arena_text(&entry->mem, value);
    }
    entry->secrets = kept;
    return !entry->mem.failed;
}

bool secrets_copy(outbox_entry *copy, const outbox_entry *entry)
{
    size_t n = 0;

    if (entry->secrets == NULL)
        return true;
    while (entry->secrets[n] != NULL)
        n++;
    if ((copy->secrets = arena_zero(&copy->mem, (n + 1) * sizeof *copy->secrets)) == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        copy->secrets[i] = arena_text(&copy->mem, entry->secrets[i]);
    return !copy->mem.failed;
}

static size_t text_free_of(const outbox_entry *entry, char *text, size_t size)
{
    size_t hits = 0;

    for (const char *const *one = entry->secrets; *one != NULL; one++)
        hits += text_star(text, size, *one);
    return hits;
}

/* Strings and names of members, in place: `v` was parsed into memory of the caller. At most DEPTH_MAX levels. */
static size_t value_free_of(const outbox_entry *entry, const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *one, *key;
    size_t hits = 0;

    if (pawl_value_type(v) == PAWL_TYPE_STRING)
        return text_free_of(entry, (char *)(uintptr_t)pawl_value_string(v), pawl_value_size(v));
    if (pawl_value_type(v) != PAWL_TYPE_ARRAY && pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return 0;
    while ((one = pawl_iter_next(&it, &key)) != NULL)
        hits += value_free_of(entry, one) + (key != NULL ? value_free_of(entry, key) : 0);
    return hits;
}

void secrets_star(pawl_engine *e, outbox_entry *entry)
{
    pawl_reply *r = &entry->reply;
    const pawl_value *v;
    arena mem;

    if (entry->secrets == NULL)
        return;
    if (r->why != NULL)
        (void)text_free_of(entry, r->why, strlen(r->why));
    if (r->detail.size > 0)
        (void)text_free_of(entry, r->detail.data, r->detail.size);
    if (entry->rc < 0 || r->text.size == 0)
        return;
    arena_init(&mem, &e->alloc, r->text.size);
    v = value_parse(&mem, r->text.data, r->text.size, "the reply", NULL);
    if (v == NULL && mem.failed)
        entry->rc = PAWL_NOMEM;
    else if (v != NULL && value_free_of(entry, v) > 0) {        /* what is no JSON is no reply */
        buf_reset(&r->text);
        canon(&r->text, v);
    }
    arena_free(&mem);
}
