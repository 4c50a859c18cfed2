/* keys.c - which environment variables are keys of models or secrets of runs: programs get these only if they are named.
 *
 * Called by tool/bash.c and src/app, on any thread; only reads the environment. */
#define _GNU_SOURCE             /* environ */
#include "effect/effect.h"

#include <strings.h>
#include <unistd.h>

/* For NAME or NAME=VALUE. The key of a provider is PROVIDER_API_KEY, a secret given to a run PAWL_SECRET_NAME. */
static bool is_key(const char *entry)
{
    static const char end[] = "API_KEY", secret[] = "PAWL_SECRET_";
    const size_t n = strcspn(entry, "="), m = sizeof end - 1;

    if (strncmp(entry, secret, sizeof secret - 1) == 0)
        return true;
    return n >= m && strncasecmp(entry + n - m, end, m) == 0 && (n == m || entry[n - m - 1] == '_');
}

static bool among(const char *entry, const char *const *names)
{
    const size_t n = strcspn(entry, "=");

    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        if (strlen(names[i]) == n && memcmp(names[i], entry, n) == 0)
            return true;
    return false;
}

const pawl_value *env_keyless(arena *mem, const char *const *names)
{
    const pawl_value *env = value_pack(mem, NULL, "{}");

    for (size_t i = 0; environ != NULL && environ[i] != NULL && env != NULL; i++) {
        const char *name;

        if (!is_key(environ[i]) || among(environ[i], names))
            continue;
        name = arena_strdup(mem, environ[i], strcspn(environ[i], "="));
        env = name != NULL ? value_with(mem, env, name, value_null(mem)) : NULL;
    }
    return env;
}

const pawl_value *env_more(arena *mem, const pawl_value *env, const pawl_value *more, const char *const *names)
{
    pawl_iter it = pawl_iter_of(more);
    const pawl_value *key, *v;

    while (env != NULL && (v = pawl_iter_next(&it, &key)) != NULL)
        if (!is_key(pawl_value_string(key)) || among(pawl_value_string(key), names))
            env = value_with(mem, env, pawl_value_string(key), v);
    return env;
}
