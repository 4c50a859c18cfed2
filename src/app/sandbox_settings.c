/* sandbox_settings.c - reads what the person allows the sandbox of agents: "sandbox" in the person's settings.json, and PAWL_SANDBOX.
 *
 * Called when a session binds the tools of its agents, on the thread of its caller. A project cannot widen it: its settings are not read here (P13). What
 * cannot be read is an error, and no run starts. */
#include "app/session.h"
#include "app/claude_settings.h"
#include "effect/effect.h"

#include <stdlib.h>
#include <string.h>

static const char *const needs[] = { "required", "preferred", "off" };
enum { NEEDS = sizeof needs / sizeof *needs };

static bool need_named(const char *word, pawl_sandbox_need *out)
{
    for (int i = 0; word != NULL && i < NEEDS; i++)
        if (strcmp(word, needs[i]) == 0) {
            *out = (pawl_sandbox_need)i;
            return true;
        }
    return false;
}

static const char *const *list_read(arena *mem, const pawl_value *v, const char *name, bool paths, const char *from, pawl_err *err)
{
    const pawl_value *list = pawl_value_get(v, name), *one;
    const char **out = arena_zero(mem, (pawl_value_size(list) + 1) * sizeof *out);
    pawl_iter it = pawl_iter_of(list);

    if (list == NULL || out == NULL)
        return NULL;
    for (size_t i = 0; (one = pawl_iter_next(&it, NULL)) != NULL; i++) {
        const char *text = pawl_value_string(one);

        out[i] = paths ? settings_path(mem, text) : text;
        if (text == NULL || *text == '\0' || (paths && (out[i] == NULL || out[i][0] != '/'))) {
            fail(err, PAWL_INVALID, "%s: sandbox.%s is a list of %s", from, name, paths ? "paths that begin with / or ~/" : "names of variables");
            return NULL;
        }
    }
    return out;
}

static uint64_t number_read(const pawl_value *v, const char *name, uint64_t most, const char *from, pawl_err *err)
{
    const pawl_value *n = pawl_value_get(v, name);

    if (n == NULL)
        return 0;
    if (pawl_value_type(n) == PAWL_TYPE_INT && pawl_value_int(n) > 0 && (uint64_t)pawl_value_int(n) <= most)
        return (uint64_t)pawl_value_int(n);
    fail(err, PAWL_INVALID, "%s: sandbox.%s is a whole number from 1 to %llu", from, name, (unsigned long long)most);
    return 0;
}

static pawl_code known(const pawl_value *v, const char *from, pawl_err *err)
{
    static const char *const names[] = { "need", "read", "write", "env", "unix_sockets", "processes", "files", "memory_mb", "file_mb", "scratch_mb", NULL };
    const char *other = settings_unknown(v, names);

    return other == NULL ? PAWL_OK : fail(err, PAWL_INVALID, "%s: sandbox.%.40s is not known: need, read, write, env, unix_sockets, processes, files, "
                                          "memory_mb, file_mb and scratch_mb are", from, other);
}

static pawl_code object_read(arena *mem, const pawl_value *v, const char *from, pawl_sandbox *out, pawl_err *err)
{
    const uint64_t mib = UINT64_C(1) << 20, most = UINT64_C(1) << 40;
    const pawl_value *need = pawl_value_get(v, "need"), *sockets = pawl_value_get(v, "unix_sockets");

    if (known(v, from, err) != PAWL_OK)
        return err->code;
    if (need != NULL && !need_named(pawl_value_string(need), &out->need))
        return fail(err, PAWL_INVALID, "%s: sandbox.need is required, preferred or off", from);
    if (sockets != NULL && pawl_value_type(sockets) != PAWL_TYPE_BOOL)
        return fail(err, PAWL_INVALID, "%s: sandbox.unix_sockets is true or false", from);
    out->unix_sockets = pawl_value_bool(sockets);
    out->read = list_read(mem, v, "read", true, from, err);
    out->write = list_read(mem, v, "write", true, from, err);
    out->env = list_read(mem, v, "env", false, from, err);
    out->processes = (uint32_t)number_read(v, "processes", UINT32_MAX, from, err);
    out->files = (uint32_t)number_read(v, "files", UINT32_MAX, from, err);
    out->memory_bytes = mib * number_read(v, "memory_mb", most / mib, from, err);
    out->file_bytes = mib * number_read(v, "file_mb", most / mib, from, err);
    out->scratch_bytes = mib * number_read(v, "scratch_mb", most / mib, from, err);
    return mem->failed ? fail(err, PAWL_NOMEM, "%s: no memory", from) : err->code;
}

pawl_code sandbox_settings(arena *mem, pawl_sandbox *out, const char **from, pawl_err *err)
{
    const char *path = settings_of_person(mem), *word = getenv("PAWL_SANDBOX");
    const pawl_value *all = settings_read(mem, path, err), *v = pawl_value_get(all, "sandbox");

    *out = (pawl_sandbox){ .need = PAWL_SANDBOX_REQUIRED };
    *from = path;
    if (all == NULL && err->code != PAWL_OK)
        return err->code;
    if (pawl_value_type(v) == PAWL_TYPE_OBJECT) {
        if (object_read(mem, v, path, out, err) != PAWL_OK)
            return err->code;
    } else if (v != NULL && !need_named(pawl_value_string(v), &out->need)) {
        return fail(err, PAWL_INVALID, "%s: sandbox is required, preferred, off, or an object with `need`", path);
    }
    if (word == NULL || *word == '\0')
        return PAWL_OK;
    *from = "PAWL_SANDBOX";
    return need_named(word, &out->need) ? PAWL_OK : fail(err, PAWL_INVALID, "PAWL_SANDBOX is required, preferred or off, and not \"%.40s\"", word);
}

pawl_code session_sandbox(session *s, pawl_err *err)
{
    tools_beside beside = { .env = session_env_of_model, .ctx = s };
    pawl_sandbox box;
    pawl_err why = {0};
    const char *from, *boxed = "";
    pawl_code rc;

    if (s->file == NULL || s->hands_out || (s->tools == NULL && s->file->agent == NULL && s->file->helpers == NULL))
        return PAWL_OK;
    (void)session_tool(s, 0);
    if (s->tools == NULL)
        return fail(err, PAWL_NOMEM, "no memory for tools");
    if ((rc = sandbox_settings(&s->mem, &box, &from, err)) != PAWL_OK)
        return rc;
    beside.keep = trust_folders(&s->mem, &why);
    if (why.code != PAWL_OK)
        return fail(err, why.code, "%s", why.text);
    if (box.need == PAWL_SANDBOX_PREFERRED)
        app_note(s->caller, "%s: commands of agents may run without a sandbox, where none can be made", from);
    if (box.need == PAWL_SANDBOX_OFF && (boxed = claude_boxed(&s->mem, s->folder, &why)) == NULL)
        return fail(err, why.code, "%s", why.text);
    if (box.need == PAWL_SANDBOX_OFF && *boxed != '\0')
        app_note(s->caller, "%s: commands of agents run without a sandbox, with all your rights, although %s says sandbox.enabled", from, boxed);
    else if (box.need == PAWL_SANDBOX_OFF)
        app_note(s->caller, "%s: commands of agents run without a sandbox, with all your rights", from);
    tools_beside_give(s->tools, &beside);
    return pawl_tools_sandbox(s->tools, &box, err);
}
