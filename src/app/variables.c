/* variables.c - the `env` of settings of Claude Code for what agents start: hooks, commands, programs after tools, and for the models (P14).
 *
 * session_env_read is called when a session opens, on its thread; the others by handlers, on any thread. No variable of this process is set: it has threads,
 * and its runs may work in folders with other settings. */
#include "app/claude_settings.h"
#include "effect/effect.h"

#include <stdlib.h>

/* Settings are about agents. */
static bool has_agents_here(const session *s)
{
    return s->file != NULL && !s->hands_out && (s->file->agent != NULL || s->file->helpers != NULL);
}

const char *session_setting(void *ctx, const char *name)
{
    const session *s = ctx;
    const char *text = pawl_value_string(pawl_value_get(s->env, name));

    return text != NULL ? text : getenv(name);
}

pawl_code session_env_read(session *s, pawl_err *err)
{
    const claude_files *files;
    pawl_err why = {0};

    if (!has_agents_here(s) || s->folder == NULL)
        return PAWL_OK;
    if ((files = claude_look(&s->mem, s->folder, s->caller->without_sources, &why)) == NULL ||
        (s->env = claude_env(&s->mem, files, false, &why)) == NULL || (s->env_of_model = claude_env(&s->mem, files, true, &why)) == NULL)
        return fail(err, why.code, "%s", why.text);
    return PAWL_OK;
}

/* A worker has one session for runs of many folders. */
static const pawl_value *env_at(const session *s, arena *mem, const char *cwd, bool for_model, pawl_err *err)
{
    const claude_files *files;

    if (!has_agents_here(s) || cwd == NULL || *cwd == '\0' || s->folder == NULL || strcmp(cwd, s->folder) == 0)
        return for_model ? s->env_of_model : s->env;
    files = claude_look(mem, cwd, s->caller->without_sources, err);
    return files != NULL ? claude_env(mem, files, for_model, err) : NULL;
}

const pawl_value *session_env(const session *s, arena *mem, const char *cwd, pawl_err *err)
{
    return env_at(s, mem, cwd, false, err);
}

const pawl_value *session_env_of_model(void *ctx, arena *mem, const char *cwd, pawl_err *err)
{
    return env_at(ctx, mem, cwd, true, err);
}
