/* sandbox_view.c - what can be seen, and what can be written, inside a sandbox: the mounts of bubblewrap and the folders of `inside`.
 *
 * Called by sandbox.c, on any thread. Reads HOME and follows links; writes nothing.
 *
 * Invariants:
 *   V1  a folder is mounted before those inside it, because a later mount hides an earlier one.
 *   V2  what is Pawl's own in a folder is mounted last, read-only, and so is what starts programs in a home that can be written: no other mount shows it
 *       again. Stores and settings are hidden after that. */
#define _XOPEN_SOURCE 700       /* realpath */
#include "effect/masks.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_TEXT = 24 };

/* ---- words -------------------------------------------------------------------------------------------- */

void words_put(sandbox_words *w, const char *word)
{
    if (w->n == w->room) {
        const size_t room = w->room > 0 ? 2 * w->room : 64;
        const char **all = arena_get(w->mem, room * sizeof *all);

        if (all == NULL) {
            w->failed = true;
            return;
        }
        if (w->n > 0)
            memcpy(all, w->all, w->n * sizeof *all);
        w->all = all;
        w->room = room;
    }
    w->failed = w->failed || word == NULL;
    w->all[w->n++] = word;
}

void words_pair(sandbox_words *w, const char *option, const char *path)
{
    words_put(w, option);
    words_put(w, path);
    words_put(w, path);
}

static void words_option(sandbox_words *w, const char *option, const char *value)
{
    words_put(w, option);
    words_put(w, value);
}

static const char *number(arena *mem, uint64_t n)
{
    char text[SIZE_TEXT];

    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    return arena_text(mem, text);
}

static const char *joined(arena *mem, const char *folder, const char *name)
{
    const size_t n = strlen(folder), m = strlen(name);
    char *path = arena_get(mem, n + m + 1);

    if (path == NULL)
        return NULL;
    memcpy(path, folder, n);
    memcpy(path + n, name, m + 1);
    return path;
}

/* ---- folders ------------------------------------------------------------------------------------------ */

static bool is_root(const char *path) { return strcmp(path, "/") == 0; }
static bool writes(const sandbox_ask *a) { return a->kind == SANDBOX_WORKSPACE; }

static bool lies_in(const char *path, const char *folder)
{
    const size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

const sandbox_folder *folders_real(arena *mem, const sandbox_ask *ask, const char **cwd)
{
    sandbox_folder *out = arena_get(mem, (ask->n + 1) * sizeof *out), one;
    char real[PATH_MAX];

    for (size_t i = 0, at; out != NULL && i < ask->n; i++) {
        one = ask->folders[i];
        if (realpath(one.path, real) != NULL && (one.path = arena_text(mem, real)) == NULL)
            return NULL;
        if (i == 0)
            *cwd = one.path;
        for (at = i; at > 0 && strlen(out[at - 1].path) > strlen(one.path); at--)
            out[at] = out[at - 1];
        out[at] = one;
    }
    return out;
}

/* What programs outside of the sandbox start or obey, where the workspace is the home of its person, or encloses it. */
static const char *const home_starts[] = {
    "/.pawl", "/.claude", "/.claude.json", "/.config/pawl", "/.config/fish", "/.config/git", "/.config/autostart", "/.config/systemd", "/.config/environment.d",
    "/.ssh", "/.gnupg", "/.gitconfig", "/.bashrc", "/.bash_profile", "/.bash_login", "/.bash_logout", "/.bash_aliases", "/.profile", "/.zshrc", "/.zprofile",
    "/.zshenv", "/.zlogin", "/.zlogout", "/.kshrc", "/.cshrc", "/.tcshrc", "/.login", "/.inputrc", "/.xprofile", "/.xsessionrc", "/.vscode", "/.idea",
    "/.npmrc", "/.netrc", "/.local/share/systemd",
};

static const char *home_folder(arena *mem);

/* Those that exist: a mount needs something to lie on. Of a link its target is mounted, for nothing can be mounted on a link. */
static void home_starts_put(sandbox_words *w, const sandbox_ask *ask)
{
    const char *home = home_folder(w->mem), *path;
    char real[PATH_MAX];
    bool writable = false;

    for (size_t i = 0; home != NULL && i < ask->n; i++)
        writable = writable || (!ask->folders[i].read_only && lies_in(home, ask->folders[i].path));
    for (size_t i = 0; writable && i < sizeof home_starts / sizeof *home_starts; i++)
        if ((path = joined(w->mem, home, home_starts[i])) != NULL && realpath(path, real) != NULL && lies_in(real, home))
            words_pair(w, "--ro-bind-try", arena_text(w->mem, real));
}

static void folders_put(sandbox_words *w, const sandbox_ask *ask)
{
    for (size_t i = 0; i < ask->n; i++)
        if (!is_root(ask->folders[i].path))
            words_pair(w, writes(ask) && !ask->folders[i].read_only ? "--bind" : "--ro-bind", ask->folders[i].path);
    for (size_t i = 0; writes(ask) && i < ask->n; i++)      /* V2: settings and their hooks act outside of the sandbox */
        if (!is_root(ask->folders[i].path) && !ask->folders[i].read_only) {
            words_pair(w, "--ro-bind-try", joined(w->mem, ask->folders[i].path, "/.pawl"));
            words_pair(w, "--ro-bind-try", joined(w->mem, ask->folders[i].path, "/.claude"));
        }
    if (writes(ask))
        home_starts_put(w, ask);
}

/* ---- what the machine has --------------------------------------------------------------------------------- */

/* Programs, libraries and their settings. */
static const char *const system_folders[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu" };
/* System files that a command may not read: whether Pawl could read them depends on its user. */
static const char *const system_secrets[] = { "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/ssh",
                                              "/etc/wireguard", "/etc/NetworkManager/system-connections", "/etc/krb5.keytab" };
/* Tools that people install in their home, and who they are to git; none of them keeps a password there. */
static const char *const home_tools[] = { "/.local/bin", "/.local/lib", "/.local/pipx", "/.local/share/pnpm", "/.local/share/uv", "/.local/share/mise",
                                          "/.cargo/bin", "/.cargo/registry", "/.cargo/git", "/.rustup", "/.nvm", "/.fnm", "/.volta", "/.bun/bin",
                                          "/.deno/bin", "/.pyenv", "/.rbenv", "/.asdf", "/.sdkman/candidates", "/.ghcup", "/go", "/miniconda3",
                                          "/.nix-profile", "/.gitconfig", "/.config/git/config", "/.config/git/ignore" };

static void cover(sandbox_words *w, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        words_option(w, "--tmpfs", path);
        words_option(w, "--remount-ro", path);
    } else {
        words_put(w, "--ro-bind");
        words_option(w, "/dev/null", path);
    }
}

static const char *home_folder(arena *mem)
{
    const char *home = getenv("HOME");
    char real[PATH_MAX];

    return home != NULL && *home == '/' && !is_root(home) && realpath(home, real) != NULL && !is_root(real) ? arena_text(mem, real) : NULL;
}

static void listed_put(sandbox_words *w, const char *option, const char *const *paths)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++)
        words_pair(w, option, paths[i]);
}

/* A link into /usr, as /bin is today, stays one: a mount costs more. */
static void system_put(sandbox_words *w, const char *folder)
{
    char to[PATH_MAX];
    const ssize_t n = readlink(folder, to, sizeof to - 1);

    to[n > 0 ? n : 0] = '\0';
    if (strncmp(to, "usr/", 4) != 0) {
        words_pair(w, "--ro-bind-try", folder);
        return;
    }
    words_put(w, "--symlink");
    words_option(w, arena_text(w->mem, to), folder);
}

/* The home of a service may lie in /opt: it is mounted with the folder. */
static bool in_system(const char *home)
{
    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++)
        if (lies_in(home, system_folders[i]))
            return true;
    return false;
}

/* System folders, an empty home, and what is listed. Where nothing is written, the home is a folder of the root, which is read-only. */
static void hidden_put(sandbox_words *w, const sandbox_ask *ask)
{
    const pawl_sandbox *s = ask->hidden;
    const char *home = home_folder(w->mem);

    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++)
        system_put(w, system_folders[i]);
    for (size_t i = 0; i < sizeof system_secrets / sizeof *system_secrets; i++)
        if (access(system_secrets[i], R_OK) == 0 || access(system_secrets[i], X_OK) == 0)   /* else the command cannot read, or enter, it either */
            cover(w, system_secrets[i]);
    words_option(w, "--size", number(w->mem, sandbox_limit(s->scratch_bytes, PAWL_SANDBOX_SCRATCH_BYTES)));
    words_option(w, "--tmpfs", "/var/tmp");
    if (home != NULL && !writes(ask) && !in_system(home))
        words_option(w, "--dir", home);
    else if (home != NULL) {
        words_option(w, "--size", number(w->mem, sandbox_limit(s->scratch_bytes, PAWL_SANDBOX_SCRATCH_BYTES)));
        words_option(w, "--tmpfs", home);
    }
    if (home != NULL)
        for (size_t i = 0; i < sizeof home_tools / sizeof *home_tools; i++)
            words_pair(w, "--ro-bind-try", joined(w->mem, home, home_tools[i]));
    listed_put(w, "--ro-bind-try", s->read);
    listed_put(w, writes(ask) ? "--bind-try" : "--ro-bind-try", s->write);
}

static void whole_put(sandbox_words *w, const sandbox_ask *ask)
{
    bool all = false;

    for (size_t i = 0; i < ask->n; i++)
        all = all || (is_root(ask->folders[i].path) && !ask->folders[i].read_only);
    words_pair(w, writes(ask) && all ? "--bind" : "--ro-bind", "/");
}

static bool has_root(const sandbox_ask *ask)
{
    for (size_t i = 0; i < ask->n; i++)
        if (is_root(ask->folders[i].path))
            return true;
    return false;
}

static void masks_put(sandbox_words *w, const masks *m)
{
    for (size_t i = 0; i < m->n; i++)
        cover(w, m->all[i].path);
}

void view_put(sandbox_words *w, const sandbox_ask *ask)
{
    static const char *const common[] = { "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run",
                                          "--ro-bind-try", "/run/current-system", "/run/current-system" };
    const bool hidden = ask->hidden != NULL && !has_root(ask);
    sandbox_ask whole = *ask;
    const char *first = NULL, *home;
    masks own;

    if (masks_find(w->mem, ask, home_folder(w->mem), &own) != PAWL_OK) {
        w->failed = true;
        return;
    }
    whole.folders = own.folders;
    whole.n = own.nfolders;
    if ((whole.folders = folders_real(w->mem, &whole, &first)) == NULL) {
        w->failed = true;
        return;
    }
    if (!hidden)
        whole_put(w, ask);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        if (i == 4)
            words_option(w, "--size", number(w->mem, sandbox_limit(ask->hidden != NULL ? ask->hidden->scratch_bytes : 0, PAWL_SANDBOX_SCRATCH_BYTES)));
        words_put(w, common[i]);
    }
    if (hidden)
        hidden_put(w, ask);
    folders_put(w, &whole);
    masks_put(w, &own);
    if (hidden)
        words_option(w, "--remount-ro", "/");
    if (hidden && !writes(ask) && (home = home_folder(w->mem)) != NULL && in_system(home))
        words_option(w, "--remount-ro", home);
}

/* ---- what `inside` lets be written ---------------------------------------------------------------------------- */

/* Devices that discard data. */
static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts" };
static const char *const own_folders[] = { "/dev/shm", "/tmp", "/var/tmp" };

/* A permission for a folder covers everything mounted below it, so where nothing of ours may be written, the sandbox's own folders are usable only if
 * none of ours lies in them. */
bool apart_from(const sandbox_ask *ask, const char *own)
{
    for (size_t i = 0; i < ask->n; i++)
        if (!is_root(ask->folders[i].path) && (lies_in(ask->folders[i].path, own) || lies_in(own, ask->folders[i].path)))
            return false;
    return true;
}

static void where_put(sandbox_words *w, const sandbox_ask *ask, const char *own)
{
    if (writes(ask) || apart_from(ask, own))
        words_put(w, own);
}

static void limit_put(sandbox_words *w, const char *name, uint64_t given, uint64_t otherwise)
{
    words_option(w, name, number(w->mem, sandbox_limit(given, otherwise)));
}

void inside_put(sandbox_words *w, const sandbox_ask *ask)
{
    static const pawl_sandbox usual = { .need = PAWL_SANDBOX_REQUIRED };
    const pawl_sandbox *s = ask->hidden, *limits = s != NULL ? s : &usual;
    const char *home = s != NULL ? home_folder(w->mem) : NULL;

    words_put(w, "/proc/self/fd/3");
    if (writes(ask))
        words_put(w, "-loose");
    if (pawl_policy_networks(ask->policy))
        words_put(w, "-proxy");
    if (s != NULL && s->unix_sockets && writes(ask))
        words_put(w, "-unix");
    limit_put(w, "-processes", limits->processes, PAWL_SANDBOX_PROCESSES);
    limit_put(w, "-memory", limits->memory_bytes, PAWL_SANDBOX_MEMORY_BYTES);
    limit_put(w, "-file", limits->file_bytes, PAWL_SANDBOX_FILE_BYTES);
    limit_put(w, "-files", limits->files, PAWL_SANDBOX_FILES);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        where_put(w, ask, devices[i]);
    for (size_t i = 0; i < sizeof own_folders / sizeof *own_folders; i++)
        where_put(w, ask, own_folders[i]);
    if (home != NULL)
        where_put(w, ask, home);
    for (size_t i = 0; writes(ask) && i < ask->n; i++)
        if (!ask->folders[i].read_only)
            words_put(w, ask->folders[i].path);
    for (size_t i = 0; s != NULL && writes(ask) && s->write != NULL && s->write[i] != NULL; i++)
        words_put(w, s->write[i]);
    words_put(w, "--");
}
