/* reads_fuzz_test.c - P7 against the real bash: random hostile commands, made of the programs and options of the table. Each that would run unasked is
 * run without any sandbox, in a folder full of traps, and must leave the folder as it was.
 *
 * The traps: files that are named like options, a repository whose configuration and attributes run programs wherever git lets them, scripts that
 * write to a file when they run, folders that hold programs of other programs' names. It runs 2000 commands; 200000 with `--all` or PAWL_TEST_ALL=1. */
#include "policy/policing.h"
#include "shell/readers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { RUNS = 2000, RUNS_ALL = 200000, BATCH = 250, COMMAND_BYTES = 1024, ENV_MAX = 4096, ENTRIES_MAX = 2048 };

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

static char folder[64], list_path[96], kept_path[96];

/* `reading`: with the environment of commands that only read. */
static int run(const char *const *words, bool reading)
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

static void traps_set(void)
{
    const char *const words[] = { "bash", "--norc", "-c", traps, "bash", folder, NULL };
    const char *const make[] = { "mkdir", folder, NULL };
    const char *const keep[] = { "cp", "-a", folder, kept_path, NULL };

    CHECK(run(make, false) == 0 && run(words, false) == 0 && run(keep, false) == 0);
}

static void traps_again(void)
{
    const char *const words[] = { "bash", "-c", "rm -rf \"$1\" && cp -a \"$2\" \"$1\"", "bash", folder, kept_path, NULL };

    CHECK(run(words, false) == 0);
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

static uint64_t content(const char *path)
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

static int by_name(const void *a, const void *b) { return strcmp(((const entry_seen *)a)->name, ((const entry_seen *)b)->name); }

static void look_in(look *l, const char *path)
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
        x->hash = S_ISREG(st.st_mode) ? content(x->name) : 0;
        l->n++;
        if (S_ISDIR(st.st_mode))
            look_in(l, x->name);
    }
    if (d != NULL)
        closedir(d);
}

static void look_at(look *l)
{
    l->n = 0;
    look_in(l, folder);
    qsort(l->all, l->n, sizeof *l->all, by_name);
}

/* The first entry that differs; NULL: none. */
static const char *differs(const look *a, const look *b)
{
    for (size_t i = 0; i < a->n || i < b->n; i++) {
        if (i >= a->n)
            return b->all[i].name;
        if (i >= b->n || memcmp(&a->all[i], &b->all[i], sizeof a->all[i]) != 0)
            return a->all[i].name;
    }
    return NULL;
}

/* ---- commands ------------------------------------------------------------------------------------------------------- */

typedef struct text_made { char text[COMMAND_BYTES]; size_t n; } text_made;

#define PICK(words) (words)[check_rand_below(sizeof(words) / sizeof *(words))]

static void add(text_made *t, const char *text, size_t n)
{
    if (t->n + n + 1 < sizeof t->text) {
        memcpy(t->text + t->n, text, n);
        t->n += n;
        t->text[t->n] = '\0';
    }
}

static void add_text(text_made *t, const char *text) { add(t, text, strlen(text)); }
static bool one_in(uint64_t n) { return check_rand_below(n) == 0; }

static const char *operand(void)
{
    static const char *const plain[] = {
        "a", "b", "in", "sub", "sub/a", "a.json", ".", "main.c", ".env", "'a b'", "link", "dirlink/a", "hello", "HEAD", "x", "1", "-", "./-o", "''",
        "HEAD~1", "main", "t1", "other", "subm", "HEAD:a", "1,2p", "+%s", "signed", "\"a b\"", "$'a'", "..", "10", "l", "'*.c'", "5", "bare",
        "broken", "list", "show", "magic", "cmds"
    };
    static const char *const hostile[] = {
        "--", "-o", "F", "-exec", "./x", "x", "-delete", "a{,.out}", "{a,b}", "-{o,F}", "*", "-*", "a*", "./*", "sub/*", "?", "[a-z]*", "'a[$(./x)]'",
        "a[$(./x)]", "a[`./x`]", "$(./x)", "`./x`", "${x:-$(./x)}", "$((a[$(./x)]))", "$X", "\"$X\"", "<(./x)", ">(./x)", "~", "~+/a", "~-/a",
        "$'\\x2do'", "-\"o\"", "\\-o", "'-o' F", "{PATH}>/dev/null", ">F", "2>/dev/null", "<in", ">&2", "&>F", ">|F", "<>F", ">>F", "2>&1",
        ">/dev/null", "<<<a", "-v", "-R", "-a", "!", "\\(", "=", "-C", "-m", "-f", "w", "\\;", "{}", "{} +", "--output=F", "--{output=F,reverse}",
        "--pre=./x", "--pre ./x", "--compress-program=./x", "-O./x", "-T.", "-T .", "-i", "-ni", "-s0", "-c", "-F", "--ext-diff", "--textconv",
        "--show-signature", "--open-files-in-pager=./x", "--filters", "--paginate", "-p", "--exec-path=.", "--upload-pack=./x", "-c core.pager=./x",
        "--ignore-submodules=none", "--submodule=diff", "--recurse-submodules", "--remerge-diff", "--diff-merges=remerge", "--format=%G?",
        "--pretty=evil", "--format=evil", "--dirty", "-D", "-d", "-m", "--edit-description", "-u", "--set", "-s", "'w F'", "'1w F'", "'e ./x'",
        "'1e./x'", "'s/a/b/w F'", "'s/h/.\\/x/e'", "\"1,2{w F\n}\"", "-f cmds", "-fscript.sed", "-X ./x", "-x ./x", "--exec=./x", "-j1", "-P", "-z",
        "--search-zip", "--hostname-bin=./x", "-fprint F", "-fls F", "-ok ./x \\;", "-execdir ./x \\;", "-{print,delete}", "-files0-from F",
        "--files0-from=F", "-C -m magic", "-l", "-L sub", "@cmds", "%n", "'%n'", "'%*n'", "'%(%s)T'", "-print0", "0101", "--version", "--help", "#",
        "--list", "--get", "user.name", "--unset", "--add", "--global", "add", "remove", "prune", "set-url", "drop", "clear", "expire", "delete",
        "HISTFILE=F", "input_filename", "'import \"a\" as $x; .'", "'include \"f\"; .'", "$'a\\nb'", "$'\\'x'", "''-o", "a\\\n", "-\\\no", "\"$\\\n(./x)\"", "$\\\n(./x)", "\"$\\\n{Y:-$(./x)}\"", "x{a},b}", "~x",
        "a=~", "-n", "--sort", "-S 1", "-t", "-k1", "-T", "--parallel=2", "--batch-size=2", "--random-source -- -o F", "-k -- -o F", "-t -- -o F",
        "-P -- -o F", "-e -- --pre=./x", "-F -- -C -m magic", "-- -= -- -v 'a[$(./x)]'", "-A -- -O./x",
    };

    return one_in(3) ? PICK(hostile) : PICK(plain);
}

/* An option of the table, perhaps shortened or with a value that it should not have. */
static void add_option(text_made *t, const program_reader *r)
{
    const size_t letters = strlen(r->letters), longs = strlen(r->longs);

    if (longs > 2 && (letters == 0 || one_in(2))) {
        const char *from = r->longs + check_rand_below(longs), *end;
        size_t n;

        while (from > r->longs && *from != ' ')
            from--;
        from += *from == ' ';
        if ((end = strchr(from, ' ')) == NULL)
            return;
        n = (size_t)(end - from);
        n -= n > 0 && (from[n - 1] == '=' || from[n - 1] == '?');
        add(t, from, one_in(8) && n > 4 ? 3 + check_rand_below(n - 2) : n);
        if (*(end - 1) == '=' || *(end - 1) == '?' || one_in(20)) {
            add_text(t, one_in(2) ? "=" : *(end - 1) == '?' ? "=" : " ");
            add_text(t, operand());
        }
    } else if (letters > 0) {
        add_text(t, "-");
        for (uint64_t i = 0, n = 1 + check_rand_below(3); i < n; i++) {
            const char *at = r->letters + check_rand_below(letters);
            const bool value = *at != ':' && at[1] == ':';

            if (*at == ':')
                continue;
            add(t, at, 1);
            if (value) {
                add_text(t, at[2] == ':' || one_in(2) ? "" : " ");
                add_text(t, operand());
                break;
            }
        }
    }
}

static void add_find(text_made *t)
{
    static const char *const words[] = {
        "-name", "'*.c'", "-type", "f", "-print", "-maxdepth", "1", "!", "\\(", "\\)", "-o", "-size", "+1", "-newer", "a", "-printf", "'%p\\n'",
        "-prune", "-L", "sub", ".", "-empty", "-ls", "-path", "-regex", "-perm", "-u+r", "-mtime", "-1", ","
    };

    add_text(t, one_in(4) ? operand() : PICK(words));
}

static void add_program(text_made *t)
{
    static const char *const wrappers[] = {
        "timeout 5", "nice", "nice -n 1", "env", "env -i", "env A=b", "env -S", "command", "builtin", "time", "nohup", "xargs", "stdbuf -oL",
        "command -v", "LC_ALL=C", "LANG['x[$(./x)]']=1", "PATH=10", "A=b", "!", "exec", "xargs -n1", "env -u A", "eval", "sudo", "time -p",
        "timeout -k 1 5", "noglob", "\\", "LANG[$(./x)]+=1", "TZ=:./x", "{PATH}>/dev/null", "<in", "2>/dev/null"
    };
    static const char *const others[] = {
        "cd sub", "cd", "cd ..", "cd bare", "cd subm", ":", "echo {PATH}>/dev/null", "read a <in", "set -H", "hash -p ./x ls", "alias ls=./x",
        "unset a", "export A=b", "exec 3<in", "pushd sub", "umask 0", "X=a", "x=*", "declare -i a", "trap ./x EXIT", "awk 1 a", "xxd a", "tee F",
        "touch F", "rg hello"
    };
    static const char *const numbers[] = { "1", "2", "3", "4", "5" };
    size_t programs = 0, verbs = 0, i;
    const program_reader *r;
    bool git;

    while (reader_at(programs, false) != NULL)
        programs++;
    while (reader_at(verbs, true) != NULL)
        verbs++;
    if (one_in(40)) {
        add_text(t, PICK(others));
        return;
    }
    while (one_in(12)) {
        add_text(t, PICK(wrappers));
        add_text(t, " ");
    }
    if (one_in(20)) {
        add_text(t, "cd opt");
        add_text(t, PICK(numbers));
        add_text(t, " && ");
    }
    git = one_in(4);
    i = check_rand_below(git ? verbs : programs);
    r = reader_at(i, git);
    if (git)
        add_text(t, one_in(10) ? "git --no-pager " : "git ");
    add_text(t, r->name);
    for (uint64_t n = check_rand_below(6); n > 0; n--) {
        add_text(t, " ");
        if (strcmp(r->name, "sleep") == 0)
            add_text(t, "0");
        else if (strcmp(r->name, "find") == 0)
            add_find(t);
        else if (one_in(2))
            add_option(t, r);
        else
            add_text(t, strcmp(r->name, "printf") == 0 && one_in(2) ? "'%s %d\\n'" : operand());
    }
    if (strcmp(r->name, "[") == 0)
        add_text(t, " ]");
}

static void command_made(text_made *t)
{
    static const char *const joins[] = { " | ", "; ", " && ", " || ", " & ", "\n", " |& " };

    t->n = 0;
    add_program(t);
    while (one_in(6)) {
        add_text(t, PICK(joins));
        add_program(t);
    }
    if (one_in(60))
        add_text(t, " <<E\n$(./x)\nE");
    if (one_in(60))
        add_text(t, " <<'E'\n$(./x)\nE");
}

/* ---- the test --------------------------------------------------------------------------------------------------------- */

static bool unasked(const pawl_policy *p, const text_made *t)
{
    static shell s;
    pawl_request q = { .tool = "Bash", .cls = PAWL_EXEC, .mode = PAWL_DEFAULT };
    pawl_decision d;
    bool reads;
    arena a;

    arena_init(&a, NULL, 1024);
    q.args = value_pack(&a, NULL, "{s:s}", "command", t->text);
    pawl_decide(p, &q, &d);
    arena_free(&a);
    reads = shell_only_reads(&s, t->text, t->n);
    if (d.behavior == PAWL_ALLOW && !reads)
        CHECK_FAIL("it runs unasked, and not where it can only read: %s", t->text);
    return d.behavior == PAWL_ALLOW;
}

static void run_list(const text_made *list, size_t n, bool reading)
{
    static const char loop[] = "cd \"$1\" || exit 1; while IFS= read -r -d '' c; do ( eval \"$c\"; wait ) </dev/null >/dev/null 2>&1; done <\"$2\"; exit 0";
    const char *const words[] = { "timeout", "-k", "1", "300", "bash", "--norc", "-c", loop, "bash", folder, list_path, NULL };
    FILE *f = fopen(list_path, "w");

    CHECK(f != NULL);
    for (size_t i = 0; i < n; i++)
        CHECK(fwrite(list[i].text, 1, list[i].n + 1, f) == list[i].n + 1);
    CHECK(fclose(f) == 0);
    CHECK(run(words, reading) == 0);
}

/* The commands one by one, to name the one that did it. */
static void blame(const text_made *list, size_t n)
{
    static look before, after;

    for (size_t i = 0; i < n; i++) {
        const char *name;

        traps_again();
        look_at(&before);
        run_list(&list[i], 1, true);
        look_at(&after);
        if ((name = differs(&before, &after)) != NULL)
            CHECK_FAIL("it is not a reader (seed %llu): %s\n  %s is not as it was", (unsigned long long)check_seed(), list[i].text, name);
    }
    CHECK_FAIL("the folder changed (seed %llu), and no command of %zu does it alone", (unsigned long long)check_seed(), n);
}

static void folder_begin(void)
{
    const char *const tools[] = { "bash", "-c", "command -v git >/dev/null && command -v timeout >/dev/null", NULL };

    if (run(tools, false) != 0)
        check_skip("no bash, git or timeout");
    snprintf(folder, sizeof folder, "/tmp/pawl_reads.%ld", (long)getpid());
    snprintf(list_path, sizeof list_path, "%s.list", folder);
    snprintf(kept_path, sizeof kept_path, "%s.kept", folder);
    traps_set();
}

static void folder_end(void)
{
    const char *const clean[] = { "bash", "-c", "rm -rf \"$@\"", "bash", folder, list_path, kept_path, NULL };

    (void)run(clean, false);
}

/* Without traps that work the next test would prove nothing. */
PAWL_TEST(test_P7_the_traps_work)
{
    static const struct { const char *command; bool reading; } bad[] = {
        { "git status", false }, { "git diff", false }, { "git log -p -1", false }, { "git show", false }, { "git blame a", false },
        { "git ls-files -m", false }, { "git log --format=%G? -1 signed", false }, { "git log -p broken -1", false }, { "git log -1 signed", false },
        { "cd bare && git status", false }, { "git diff --ext-diff", true }, { "git diff --textconv", true }, { "timeout 5 git diff", true },
        { "git log -3 -p --textconv", true }, { "find . -maxdepth 0 -{print,exec} ./x \\;", true }, { "sort --{output=F,reverse} in", true },
        { "LANG['x[$(./x)]']=1", true }, { "[ -v 'a[$(./x)]' ]", true }, { "test -- = -- -a -v 'a[$(./x)]'", true },
        { "printf -v 'a[$(./x)]' 1", true }, { "uniq a{,.out}", true }, { "uniq a F", true }, { "sort --random-source -- -o F in", true },
        { "echo {PATH}>/dev/null; ls", true }, { "sed -n '1w F' a", true }, { "cd opt1 && sed -n 1p *", true }, { "cd opt2 && sort *", true },
        { "cd opt3 && find *", true }, { "sed -n 1e./x a", true }, { "cat a >F", true }, { "git branch new", true }, { "git stash list -p", false },
        { "echo \"$\\\n(./x)\"", true }, { "date >F", true }, { "find . -fprint F", true }, { "PATH=10 ls", true }, { "git grep -O./x hello", true },
    };
    static look before, after;

    folder_begin();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text_made t = {0};

        add_text(&t, bad[i].command);
        traps_again();
        look_at(&before);
        run_list(&t, 1, bad[i].reading);
        look_at(&after);
        if (differs(&before, &after) == NULL)
            CHECK_FAIL("nothing saw that it writes or runs something: %s", bad[i].command);
    }
    folder_end();
}

PAWL_TEST(test_P7_what_runs_unasked_writes_nothing_and_runs_nothing)
{
    static text_made list[BATCH];
    static look before, after;
    const size_t runs = check_run_all() || getenv("PAWL_TEST_ALL") != NULL ? RUNS_ALL : RUNS;
    static const char rules[] = "{\"cwd\":\"/w\"}";
    pawl_policy *p = pawl_policy_read(NULL, rules, sizeof rules - 1, NULL);
    size_t n = 0, made = 0, ran = 0;

    folder_begin();
    look_at(&before);
    CHECK(p != NULL && before.n > 100);
    while (ran < runs) {
        command_made(&list[n]);
        made++;
        n += unasked(p, &list[n]);
        if (n < BATCH)
            continue;
        run_list(list, n, true);
        look_at(&after);
        if (differs(&before, &after) != NULL)
            blame(list, n);
        ran += n;
        n = 0;
    }
    printf("seed %llu: %zu commands, %zu of them run\n", (unsigned long long)check_seed(), made, ran);
    folder_end();
    pawl_policy_free(p);
}
