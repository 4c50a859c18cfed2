/* hostile_commands.h - random commands, made of the programs and options that are known to only read, and of what could make them do more. */
#ifndef TEST_POLICY_HOSTILE_COMMANDS_H
#define TEST_POLICY_HOSTILE_COMMANDS_H

#include "lib/check.h"
#include "shell/readers.h"

#include <string.h>

enum { COMMAND_BYTES = 1024 };

typedef struct text_made { char text[COMMAND_BYTES]; size_t n; } text_made;

#define PICK(words) (words)[check_rand_below(sizeof(words) / sizeof *(words))]

static inline void add(text_made *t, const char *text, size_t n)
{
    if (t->n + n + 1 < sizeof t->text) {
        memcpy(t->text + t->n, text, n);
        t->n += n;
        t->text[t->n] = '\0';
    }
}

static inline void add_text(text_made *t, const char *text) { add(t, text, strlen(text)); }
static inline bool one_in(uint64_t n) { return check_rand_below(n) == 0; }

static inline const char *operand(void)
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
static inline void add_option(text_made *t, const program_reader *r)
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

static inline void add_find(text_made *t)
{
    static const char *const words[] = {
        "-name", "'*.c'", "-type", "f", "-print", "-maxdepth", "1", "!", "\\(", "\\)", "-o", "-size", "+1", "-newer", "a", "-printf", "'%p\\n'",
        "-prune", "-L", "sub", ".", "-empty", "-ls", "-path", "-regex", "-perm", "-u+r", "-mtime", "-1", ","
    };

    add_text(t, one_in(4) ? operand() : PICK(words));
}

static inline void add_program(text_made *t)
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

static inline void command_made(text_made *t)
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

#endif
