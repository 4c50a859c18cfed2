/* missing_secret.c - the secret for which a run waits. See missing_secret.h.
 *
 * Called on the main thread for a state that nobody changes meanwhile. Nothing is read but the environment and whether a file is there. */
#include "cli/missing_secret.h"
#include "pawl/history.h"

#include <stdlib.h>
#include <unistd.h>

static bool there(const char *spec)
{
    char name[160];

    if (strncmp(spec, "env:", 4) == 0)
        return variable_name_valid(spec + 4) && getenv(spec + 4) != NULL;
    if (strncmp(spec, "file:", 5) == 0)
        return access(spec + 5, R_OK) == 0;
    snprintf(name, sizeof name, "PAWL_SECRET_%s", strncmp(spec, "given:", 6) == 0 ? spec + 6 : spec);
    return strncmp(spec, "given:", 6) == 0 && variable_name_valid(spec + 6) && getenv(name) != NULL;
}

/* The node in RUN~LIFE/SUPERSTEP.TASK.VISIT.N. */
static const char *node_of(arena *mem, const char *id)
{
    const char *at = strchr(id, '/'), *end = id + strlen(id);

    at = at != NULL ? strchr(at, '.') : NULL;
    for (int i = 0; i < 2 && at != NULL; i++)
        do
            end--;
        while (end > at && *end != '.');
    return at == NULL || end <= at + 1 ? "a command" : arena_strdup(mem, at + 1, (size_t)(end - at - 1));
}

static const char *of_command(arena *mem, const pawl_command *cmd, const pawl_value *secrets)
{
    pawl_iter it = pawl_iter_of(secrets);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *spec = pawl_value_string(pawl_value_at(one, 1)), *node;
        char text[400];

        if (spec == NULL || there(spec))
            continue;
        node = node_of(mem, cmd->id);
        snprintf(text, sizeof text, "%s needs the secret %s, which is %s", node != NULL ? node : "", spec,
                 strncmp(spec, "file:", 5) == 0 ? "not there" : "not set");
        return arena_text(mem, text);
    }
    return NULL;
}

const char *missing_secret_at(arena *mem, pawl_state *st, pawl_step *step, size_t i)
{
    const pawl_value *secrets = NULL;
    pawl_command cmd;

    return pawl_state_command(st, i, step, &cmd, &secrets, NULL) == PAWL_OK ? of_command(mem, &cmd, secrets) : NULL;
}

const char *missing_secret(arena *mem, pawl_state *st)
{
    const size_t n = pawl_state_commands(st);
    pawl_step *step = n > 0 ? pawl_step_new(NULL) : NULL;
    const char *out = NULL;

    for (size_t i = 0; step != NULL && i < n && out == NULL; i++)
        out = missing_secret_at(mem, st, step, i);
    pawl_step_free(step);
    return out;
}

const char *missing_secret_of(arena *mem, pawl_store *s, const char *run)
{
    pawl_state *st = NULL;
    const char *out = NULL;

    if (pawl_history_state(s, run, 0, &st, NULL) == PAWL_OK)
        out = missing_secret(mem, st);
    pawl_state_free(st);
    return out;
}
