/* tool_ignore_test.c - glob and grep leave out what git ignores, by git's own word: `git check-ignore` is asked about random rules. */
#define _XOPEN_SOURCE 700
#include "effect/tooling.h"

enum { ROUNDS = 60, ROUNDS_ALL = 1000 };

static const char git_env[] = "LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent";

/* What a line of the shell says in the workspace of the kit. */
static int shell(const kit *k, const char *line)
{
    char text[2000];

    CHECK(snprintf(text, sizeof text, "cd '%s' && export %s && { %s; }", k->work, git_env, line) < (int)sizeof text);
    return system(text);
}

static void git_needed(void)
{
    if (system("git --version >/dev/null 2>&1") != 0)
        check_skip("no git");
}

static void tree_init(kit *k)
{
    kit_open(k);
    CHECK_INT(shell(k, "git init -q ."), 0);
}

/* ---- examples ------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_glob_and_grep_leave_out_what_git_ignores)
{
    kit k;

    git_needed();
    tree_init(&k);
    CHECK_INT(shell(&k, "mkdir -p build src/gen sub/deep; for f in a.c a.o build/x.c src/b.c src/b.o src/gen/keep.c src/gen/g.c sub/deep/z.c sub/t.log; do "
                        "echo needle >$f; done; printf '*.o\\nbuild/\\n' >.gitignore; printf 'gen/*\\n!gen/keep.c\\n' >src/.gitignore; "
                        "echo '*.log' >.git/info/exclude"), 0);
    GIVES(&k, "glob", "{\"pattern\":\"**/[!.]*\",\"sort\":\"name\"}",
          "a.c\nsrc/b.c\nsrc/gen/keep.c\nsub/deep/z.c\n[5 left out as git ignores them; \"no_ignore\":true looks there, too]\n");
    GIVES(&k, "grep", "{\"pattern\":\"needle\",\"output_mode\":\"files\",\"path\":\"src\"}",
          "src/b.c\nsrc/gen/keep.c\n[2 left out as git ignores them; \"no_ignore\":true looks there, too]\n");
    GIVES(&k, "glob", "{\"pattern\":\"*.o\",\"sort\":\"name\",\"no_ignore\":true}", "a.o\nsrc/b.o\n");
    GIVES(&k, "grep", "{\"pattern\":\"needle\",\"output_mode\":\"files\",\"path\":\"sub\",\"no_ignore\":true}", "sub/deep/z.c\nsub/t.log\n");
    /* what is named is looked at */
    GIVES(&k, "glob", "{\"pattern\":\"*\",\"path\":\"build\"}", "build/x.c\n");
    GIVES(&k, "grep", "{\"pattern\":\"needle\",\"path\":\"a.o\"}", "a.o:1:needle\n");
    kit_close(&k);
}

PAWL_TEST(test_A5_rules_of_git_count_in_its_worktrees_alone)
{
    kit k;

    git_needed();
    kit_open(&k);
    CHECK_INT(shell(&k, "mkdir a b; touch a/x.o b/x.o; echo '*.o' >.gitignore; git init -q b; touch b/y"), 0);
    GIVES(&k, "glob", "{\"pattern\":\"[xy]*\",\"sort\":\"name\"}", "a/x.o\nb/x.o\nb/y\n");
    CHECK_INT(shell(&k, "echo y >b/.gitignore"), 0);
    GIVES(&k, "glob", "{\"pattern\":\"[xy]*\",\"sort\":\"name\"}", "a/x.o\nb/x.o\n[1 left out as git ignores it; \"no_ignore\":true looks there, too]\n");
    /* the rules of the outer worktree end at the inner one */
    CHECK_INT(shell(&k, "git init -q ."), 0);
    GIVES(&k, "glob", "{\"pattern\":\"[xy]*\",\"sort\":\"name\"}", "b/x.o\n[2 left out as git ignores them; \"no_ignore\":true looks there, too]\n");
    /* a linked worktree has the exclude file of the first */
    CHECK_INT(shell(&k, "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git worktree add -q c && echo z >.git/info/exclude && "
                        "touch c/z c/w"), 0);
    GIVES(&k, "glob", "{\"pattern\":\"[wz]\",\"path\":\"c\"}", "c/w\n[1 left out as git ignores it; \"no_ignore\":true looks there, too]\n");
    kit_close(&k);
}

PAWL_TEST(test_P8_rules_of_git_are_not_read_from_what_a_search_may_not_read)
{
    static const char rules[] = "{\"cwd\":\"%s\",\"deny\":[\"Read(secret)\"]}";
    char text[200], path[512];
    pawl_policy *p;
    kit k;

    git_needed();
    tree_init(&k);
    CHECK_INT(shell(&k, "echo hunter2 >secret; ln -s secret .gitignore; touch hunter2; mkdir sub; touch sub/hunter2; ln secret sub/.gitignore"), 0);
    GIVES(&k, "glob", "{\"pattern\":\"hunter2\"}", "hunter2\n[1 left out as git ignores it; \"no_ignore\":true looks there, too]\n");
    path_in(&k, "", path);
    snprintf(text, sizeof text, rules, k.work);
    CHECK((p = pawl_policy_read(NULL, text, strlen(text), NULL)) != NULL);
    k.h.job.policy = p;
    GIVES(&k, "glob", "{\"pattern\":\"hunter2\",\"sort\":\"name\"}", "hunter2\nsub/hunter2\n");
    k.h.job.policy = NULL;
    pawl_policy_free(p);
    kit_close(&k);
}

/* ---- random rules ------------------------------------------------------------------------------------------------- */

static const char *one_of(const char *const *list, size_t n) { return list[check_rand() % n]; }
#define ONE_OF(list) one_of(list, sizeof list / sizeof *list)

static const char *a_name(void)
{
    static const char *const names[] = { "a", "b", "c", "ab", "abc", "a.c", "b.o", "c.o", "a b", "a[b", "#a", "!b", "*", "a-c", "foo", "d\\e",
                                         "\xc3\xa9", "b ", "x]" };

    return ONE_OF(names);
}

static void a_rule(buf *b)
{
    static const char *const pieces[] = { "a", "b", "c", "o", ".", "*", "*", "**", "/", "/", "?", "[ab]", "[!a]", "[^b-c]", "[a-c]", "[]x]", "[[:alpha:]]",
                                          "[[:punct:]]", "[", "]", "\\", "\\ ", " ", "#", "!", "-", "**/", "/**", "/**/", "a/", "foo", "[\\]a]", "[a\\-c]",
                                          "[[:nope:]]", "\xc3\xa9", "[a-", "[[:]", "\r", "d", "e", "\t" };
    size_t n = 1 + check_rand() % 5;

    if (check_rand() % 4 == 0)
        buf_text(b, "!");
    if (check_rand() % 5 == 0)
        buf_text(b, "/");
    while (n-- > 0)
        buf_text(b, check_rand() % 3 == 0 ? a_name() : ONE_OF(pieces));
    if (check_rand() % 6 == 0)
        buf_text(b, "/");
    if (check_rand() % 8 == 0)
        buf_text(b, "  ");
    if (check_rand() % 10 == 0)
        buf_text(b, "\r");
    if (check_rand() % 20 != 0)
        buf_text(b, "\n");
}

static void rules_put(const kit *k, const char *name)
{
    buf b;

    buf_init(&b, NULL);
    if (check_rand() % 12 == 0)
        buf_text(&b, "\xef\xbb\xbf");
    for (size_t n = check_rand() % 5; n > 0; n--)
        a_rule(&b);
    put_bytes(k, name, b.data != NULL ? b.data : "", b.size);
    buf_free(&b);
}

/* Folders and files with random names, three deep; what cannot be made since there is one already is left. */
static void tree_put(const kit *k, const char *at, unsigned depth)
{
    for (size_t i = 0; i < 6; i++) {
        char name[200], path[512];
        const bool folder = depth < 3 && check_rand() % 3 == 0;
        FILE *f;

        snprintf(name, sizeof name, "%s%s%s", at, *at != '\0' ? "/" : "", a_name());
        path_in(k, name, path);
        if (folder && mkdir(path, 0755) == 0) {
            tree_put(k, name, depth + 1);
            if (check_rand() % 3 == 0) {
                CHECK(strlen(name) + sizeof "/.gitignore" <= sizeof name);
                memcpy(name + strlen(name), "/.gitignore", sizeof "/.gitignore");
                rules_put(k, name);
            }
        } else if (!folder && (f = fopen(path, "a")) != NULL) {
            fclose(f);
        }
    }
}

/* What is not left out, by the tool, as lines in the file "ours" beside the workspace. */
static void ours_put(kit *k)
{
    char path[128];
    const char *text, *end;
    FILE *f;

    CHECK_INT(use(k, "glob", "{\"pattern\":\"**\",\"sort\":\"name\"}"), PAWL_OK);
    CHECK(!is_error(k));
    text = content(k);
    end = strstr(text, "(no file fits)\n") == text ? text : strstr(text, " left out as git ignores ");
    while (end != NULL && end > text && end[-1] != '\n')
        end--;
    snprintf(path, sizeof path, "%s/ours", k->top);
    CHECK((f = fopen(path, "w")) != NULL);
    fwrite(text, 1, end != NULL ? (size_t)(end - text) : strlen(text), f);
    CHECK_INT(fclose(f), 0);
}

PAWL_TEST(test_A5_random_rules_are_those_of_git)
{
    const int rounds = getenv("PAWL_TEST_ALL") != NULL ? ROUNDS_ALL : ROUNDS;

    git_needed();
    for (int round = 0; round < rounds; round++) {
        kit k;

        tree_init(&k);
        tree_put(&k, "", 1);
        rules_put(&k, ".gitignore");
        rules_put(&k, ".git/info/exclude");
        ours_put(&k);
        CHECK_INT(shell(&k, "find . -name .git -prune -o -type f -printf '%P\\n' | sort >../all; tr '\\n' '\\0' <../all | git check-ignore --no-index -z --stdin "
                            "| tr '\\0' '\\n' | sort | comm -23 ../all - >../theirs"), 0);
        if (shell(&k, "sort ../ours | diff ../theirs - >../diff") != 0) {
            shell(&k, "cat ../diff; find . -name .git -prune -o -name .gitignore -print -exec cat -A {} \\; ; cat -A .git/info/exclude");
            CHECK_FAIL("--seed %llu, round %d: what git leaves out differs (<: git shows it, >: the tool does)", (unsigned long long)check_seed(), round);
        }
        kit_close(&k);
    }
    printf("seed %llu: %d worktrees\n", (unsigned long long)check_seed(), rounds);
}
