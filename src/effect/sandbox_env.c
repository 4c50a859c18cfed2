/* sandbox_env.c - the environment of the commands of a model: a list of harmless variables, and those that the person names.
 *
 * Called by tool/bash.c, on any thread; only reads the environment. A variable that is not listed may hold a password: there is no end to their names. */
#define _GNU_SOURCE             /* environ */
#include "effect/sandbox.h"
#include "shell/shell.h"

#include <unistd.h>

/* Who, where, how texts are shown, and where compilers and interpreters find their parts. A name that ends in * stands for all that begin so. */
static const char *const harmless[] = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "HOSTNAME", "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR",
    "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "CI", "EDITOR", "VISUAL", "PAGER", "MANPATH", "INFOPATH",
    "CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "CMAKE_GENERATOR", "CMAKE_PREFIX_PATH", "CPATH",
    "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "ACLOCAL_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS",
    "TSAN_OPTIONS", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "RUST_BACKTRACE", "GOPATH", "GOROOT", "GOBIN", "GOFLAGS", "GOCACHE",
    "GOMODCACHE", "CGO_ENABLED", "JAVA_HOME", "MAVEN_HOME", "GRADLE_HOME", "SDKMAN_DIR", "ANDROID_HOME", "DOTNET_ROOT", "NVM_DIR", "NVM_BIN", "NODE_ENV",
    "NODE_PATH", "NODE_OPTIONS", "VOLTA_HOME", "BUN_INSTALL", "DENO_DIR", "PNPM_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT",
    "PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "GEM_HOME", "GEM_PATH", "RBENV_ROOT", "BUNDLE_PATH", "PERL5LIB",
    "ASDF_DIR", "NIX_PATH", "NIX_PROFILES", "NIX_SSL_CERT_FILE", "SSL_CERT_FILE", "SSL_CERT_DIR", "SOURCE_DATE_EPOCH", "DEBIAN_FRONTEND",
};

static bool names(const char *listed, const char *entry, size_t n)
{
    const size_t m = strlen(listed);

    if (m > 0 && listed[m - 1] == '*')
        return n >= m - 1 && memcmp(listed, entry, m - 1) == 0;
    return n == m && memcmp(listed, entry, n) == 0;
}

static bool allowed(const char *entry, const pawl_sandbox *s)
{
    const size_t n = strcspn(entry, "=");

    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (names(harmless[i], entry, n))
            return true;
    for (size_t i = 0; s != NULL && s->env != NULL && s->env[i] != NULL; i++)
        if (names(s->env[i], entry, n))
            return true;
    return false;
}

char *env_entry(arena *mem, const char *name, const char *value)
{
    const size_t n = strlen(name), m = strlen(value);
    char *entry = arena_get(mem, n + m + 2);

    if (entry == NULL)
        return NULL;
    memcpy(entry, name, n);
    entry[n] = '=';
    memcpy(entry + n + 1, value, m + 1);
    return entry;
}

static bool is_replaced(const char *entry, const pawl_value *more)
{
    pawl_iter it = pawl_iter_of(more);
    const size_t n = strcspn(entry, "=");
    const pawl_value *key;

    while (pawl_iter_next(&it, &key) != NULL)
        if (pawl_value_size(key) == n && memcmp(pawl_value_string(key), entry, n) == 0)
            return true;
    return false;
}

char **env_allowed(arena *mem, const pawl_sandbox *s, const pawl_value *more)
{
    size_t n = 0, at = 0;
    pawl_iter it = pawl_iter_of(more);
    const pawl_value *key, *v;
    char **out;

    while (environ != NULL && environ[n] != NULL)
        n++;
    if ((out = arena_get(mem, (n + pawl_value_size(more) + 1) * sizeof *out)) == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (allowed(environ[i], s) && !is_replaced(environ[i], more))
            out[at++] = environ[i];
    while ((v = pawl_iter_next(&it, &key)) != NULL)
        if (pawl_value_string(v) != NULL && (out[at++] = env_entry(mem, pawl_value_string(key), pawl_value_string(v))) == NULL)
            return NULL;
    out[at] = NULL;
    return out;
}

char **env_reading(arena *mem, const pawl_sandbox *s, const pawl_value *more)
{
    const char *const *own = shell_reading_env();
    char **allowed = env_allowed(mem, s, more), **out;
    size_t n = 0, nown = 0, at = 0;

    while (allowed != NULL && allowed[n] != NULL)
        n++;
    while (own[nown] != NULL)
        nown++;
    if (allowed == NULL || (out = arena_get(mem, (n + nown + 1) * sizeof *out)) == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        bool taken = false;

        for (size_t k = 0; k < nown && !taken; k++)
            taken = strcspn(own[k], "=") == strcspn(allowed[i], "=") && strncmp(own[k], allowed[i], strcspn(own[k], "=")) == 0;
        if (!taken)
            out[at++] = allowed[i];
    }
    for (size_t k = 0; k < nown; k++)
        if (strchr(own[k], '=') != NULL && (out[at++] = arena_text(mem, own[k])) == NULL)
            return NULL;
    out[at] = NULL;
    return out;
}
