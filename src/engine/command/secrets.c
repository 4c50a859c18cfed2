/* secrets.c - puts each secret into the arguments of a command, when its entry is made (K4).
 *
 * Called by reconcile.c on the driving thread, without a lock. Invariant: a secret is only in the arguments of an entry, never in a journal or an error. */
#include "engine/command/entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECRET_BYTES_MAX = 65536 };

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
        return getenv(spec + 4);
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
