/* traps.h - a folder full of traps for programs that only read: files that are named like options, a repository whose configuration and attributes run
 * programs wherever git lets them, scripts that write to a file when they run, folders that hold programs of other programs' names. */
#ifndef TEST_POLICY_TRAPS_H
#define TEST_POLICY_TRAPS_H

#include "lib/check.h"
#include "shell/shell.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ENV_MAX = 4096, ENTRIES_MAX = 2048 };

/* ---- the folder with the traps --------------------------------------------------------------------------------- */

static const char traps[] =
    "set -e; cd \"$1\"; D=$PWD; export HOME=$D/home; mkdir home\n"
    "trap_at() { printf '#!/bin/sh\\necho \"$0 $*\" >>%s/ran\\n' \"$D\" >\"$1\"; chmod +x \"$1\"; }\n"
    ": >ran; trap_at x; mkdir sub sub/deep 10 11 12 13\n"
    "printf 'hello\\nworld\\nhello\\n' >a; printf '3\\n1\\n2\\n' >b; cp a in; cp a 'a b'; cp a .env; cp a sub/a; cp b sub/deep/b; cp a main.c; cp b sub/x.c\n"
    "echo '{\"a\":[1,2]}' >a.json; echo '.a' >f.jq; printf 'w F\\ne ./x\\n' >script.sed; echo './x' >cmds; ln -s a link; ln -s sub dirlink\n"
    "for n in -o -i -delete -exec --output=F --pre=x -C -m -T. -oF -R -a,a.out -v a,out; do cp a ./\"$n\"; done\n"
    "mkdir opt1 opt2 opt3 opt4 opt5; for n in 1 2 3 4 5; do cp a b opt$n; done; cp a opt1/-i; cp a opt2/--output=F; mv opt3/a opt3/-delete; rm opt3/b; cp a opt4/-oF; cp a opt5/--pre=.x\n"
    "trap_at opt5/.x\n"
    "printf '0 string hello x\\n' >magic; trap_at sub/x; trap_at sub/deep/git\n"
    "for d in 10 11 12 13; do for n in ls cat git grep true echo sh find sort head wc; do trap_at $d/$n; done; done\n"
    "git() { command git -c user.name=n -c user.email=e@x -c init.defaultBranch=main \"$@\"; }\n"
    "git init -q .; git add a b in main.c sub/a; git commit -qm one; echo more >>a; git commit -qam two; git tag t1; git branch other\n"
    "mkdir subm; git init -q subm; cp a subm/s; git -C subm add s; git -C subm commit -qm sub; git add subm 2>/dev/null; git commit -qm three\n"
    "git stash -q 2>/dev/null || true; echo again >>b; git stash -q; echo last >>a; echo last >>subm/s\n"
    "git rev-parse HEAD >/dev/null; git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\\n \\n x\\n -----END PGP SIGNATURE-----'"
    " >home/c; git tag signed $(git hash-object -t commit -w home/c)\n"
    "git checkout -q -b broken; echo lost >gone; git add gone; git commit -qm gone; h=$(git rev-parse HEAD:gone); git checkout -q main\n"
    "rm -f .git/objects/${h%${h#??}}/${h#??}\n"
    "cp x .git/hooks/post-index-change; for n in pre-commit post-checkout reference-transaction fsmonitor-watchman; do cp x .git/hooks/$n; done\n"
    "evil() { cat <<END\n[core]\n fsmonitor = $D/x\n pager = $D/x\n editor = $D/x\n sshCommand = $D/x\n askPass = $D/x\n alternateRefsCommand = $D/x\n"
    "[diff]\n external = $D/x\n submodule = diff\n[diff \"evil\"]\n textconv = $D/x\n command = $D/x\n[filter \"evil\"]\n clean = $D/x\n smudge = $D/x\n"
    " process = $D/x\n required = true\n[filter \"o t\\\\\"her\"]\n clean = $D/x\n process = $D/x\n[merge \"evil\"]\n driver = $D/x\n[log]\n showSignature = true\n"
    " diffMerges = remerge\n[gpg]\n program = $D/x\n[gpg \"ssh\"]\n program = $D/x\n[gpg \"x509\"]\n program = $D/x\n[status]\n submoduleSummary = true\n"
    "[format]\n pretty = evil\n[pretty]\n evil = %%G? %%GS %%h\n[alias]\n st = !$D/x\n status = !$D/x\n[pager]\n log = $D/x\n diff = $D/x\n status = $D/x\n"
    "[submodule]\n recurse = true\n[submodule \"subm\"]\n ignore = none\n url = ext::$D/x\n update = !$D/x\n[trailer \"e\"]\n command = $D/x\n key = e\n"
    "[extensions]\n partialClone = origin\n[remote \"origin\"]\n url = $D/sub\n promisor = true\n uploadpack = $D/x\n partialclonefilter = blob:none\n"
    "[interactive]\n diffFilter = $D/x\n[credential]\n helper = !$D/x\n[column]\n ui = never\n[tar \"x\"]\n command = $D/x\n[diff]\n tool = e\n"
    "[difftool \"e\"]\n cmd = $D/x\n[browser \"e\"]\n cmd = $D/x\n[man \"e\"]\n cmd = $D/x\n[instaweb]\n httpd = $D/x\nEND\n}\n"
    "printf '[core]\\n repositoryformatversion = 1\\n' >>.git/config; evil >>.git/config; evil >>subm/.git/config\n"
    "mkdir bare bare/refs bare/objects; echo 'ref: refs/heads/main' >bare/HEAD; printf '[core]\\n repositoryformatversion = 0\\n worktree = .\\n fsmonitor = %s/x\\n' \"$D\" >bare/config\n"
    "printf '* filter=evil diff=evil merge=evil\\nb filter=o\\\\ther\\n' >.gitattributes; cp .gitattributes subm/.gitattributes; cp .gitattributes .git/info/attributes\n"
    "printf '[submodule \"subm\"]\\n path = subm\\n url = ./subm\\n' >.gitmodules; echo more >>main.c; chmod -R a-s .\n";

static char folder[160], list_path[192], kept_path[192];

/* `reading`: with the environment of commands that only read. */
static inline int spawned(const char *const *words, bool reading)
{
    const char *env[ENV_MAX];
    size_t n = 0;
    int status = 0;
    pid_t pid;

    for (char **e = environ; *e != NULL && n < ENV_MAX / 2; e++) {
        bool kept = strncmp(*e, "HOME=", 5) != 0;

        for (const char *const *r = shell_reading_env(); reading && *r != NULL; r++) {
            const size_t m = strcspn(*r, "=");

            kept = kept && !(strncmp(*e, *r, m) == 0 && (*e)[m] == '=');
        }
        if (kept)
            env[n++] = *e;
    }
    for (const char *const *r = shell_reading_env(); reading && *r != NULL; r++)
        if (strchr(*r, '=') != NULL)
            env[n++] = *r;
    env[n++] = "HOME=/nonexistent";
    env[n] = NULL;
    CHECK((pid = fork()) >= 0);
    if (pid == 0) {
        const int null = open("/dev/null", O_RDWR);

        dup2(null, 0);
        if (strcmp(words[0], "timeout") == 0) {
            dup2(null, 1);
            dup2(null, 2);
        }
        environ = (char **)(uintptr_t)env;
        execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static inline void traps_set(void)
{
    const char *const words[] = { "bash", "--norc", "-c", traps, "bash", folder, NULL };
    const char *const make[] = { "mkdir", folder, NULL };
    const char *const keep[] = { "cp", "-a", folder, kept_path, NULL };

    CHECK(spawned(make, false) == 0 && spawned(words, false) == 0 && spawned(keep, false) == 0);
}

static inline void traps_again(void)
{
    const char *const words[] = { "bash", "-c", "rm -rf \"$1\" && cp -a \"$2\" \"$1\"", "bash", folder, kept_path, NULL };

    CHECK(spawned(words, false) == 0);
}

/* ---- what is in it ------------------------------------------------------------------------------------------------ */

typedef struct entry_seen {
    char name[192];
    uint64_t hash;
    int64_t size, mtime;
    mode_t mode;
} entry_seen;

typedef struct look {
    entry_seen all[ENTRIES_MAX];
    size_t n;
} look;

static inline uint64_t bytes_hash(const char *path)
{
    char data[8192];
    uint64_t h = 14695981039346656037u;
    ssize_t n;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);

    while (fd >= 0 && (n = read(fd, data, sizeof data)) > 0)
        for (ssize_t i = 0; i < n; i++)
            h = (h ^ (unsigned char)data[i]) * 1099511628211u;
    if (fd >= 0)
        close(fd);
    return h;
}

static inline int by_name(const void *a, const void *b) { return strcmp(((const entry_seen *)a)->name, ((const entry_seen *)b)->name); }

static inline void look_in(look *l, const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;

    while (d != NULL && (e = readdir(d)) != NULL) {
        entry_seen *x = &l->all[l->n];
        struct stat st;
        int n;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        CHECK(l->n + 1 < ENTRIES_MAX);
        memset(x, 0, sizeof *x);
        n = snprintf(x->name, sizeof x->name, "%s/%s", path, e->d_name);
        CHECK(n > 0 && (size_t)n < sizeof x->name && lstat(x->name, &st) == 0);
        x->mode = st.st_mode;
        x->size = S_ISDIR(st.st_mode) ? 0 : st.st_size;
        x->mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        x->hash = S_ISREG(st.st_mode) ? bytes_hash(x->name) : 0;
        l->n++;
        if (S_ISDIR(st.st_mode))
            look_in(l, x->name);
    }
    if (d != NULL)
        closedir(d);
}

static inline void look_at(look *l)
{
    l->n = 0;
    look_in(l, folder);
    qsort(l->all, l->n, sizeof *l->all, by_name);
}

/* The first entry that differs; NULL: none. */
static inline const char *differs(const look *a, const look *b)
{
    for (size_t i = 0; i < a->n || i < b->n; i++) {
        if (i >= a->n)
            return b->all[i].name;
        if (i >= b->n || memcmp(&a->all[i], &b->all[i], sizeof a->all[i]) != 0)
            return a->all[i].name;
    }
    return NULL;
}

#endif
