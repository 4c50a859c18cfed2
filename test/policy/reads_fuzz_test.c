/* reads_fuzz_test.c - P7 against the real bash: random hostile commands, made of the programs and options of the table. Each that would run unasked is
 * run without any sandbox, in a folder full of traps, and must leave the folder as it was.
 *
 * It runs 2000 commands; 200000 with `--all` or PAWL_TEST_ALL=1; `--from` and `--count` are whole batches of 250. What the sandbox does where the table
 * is wrong: policy/sandbox_broken_test.c. */
#include "policy/hostile_commands.h"
#include "policy/policing.h"
#include "policy/traps.h"

enum { RUNS = 2000, RUNS_ALL = 200000, BATCH = 250 };

/* ---- the test --------------------------------------------------------------------------------------------------------- */

static bool unasked(const pawl_policy *p, const text_made *t)
{
    static shell s;
    pawl_request q = { .tool = "Bash", .cls = PAWL_PERMISSION_EXEC, .mode = PAWL_MODE_DEFAULT };
    pawl_decision d;
    bool reads;
    arena a;

    arena_init(&a, NULL, 1024);
    q.args = value_pack(&a, NULL, "{s:s}", "command", t->text);
    pawl_decide(p, &q, &d);
    arena_free(&a);
    reads = shell_only_reads(&s, t->text, t->n);
    if (d.behavior == PAWL_BEHAVIOR_ALLOW && !reads)
        CHECK_FAIL("it runs unasked, and not where it can only read: %s", t->text);
    return d.behavior == PAWL_BEHAVIOR_ALLOW;
}

static void run_list(const text_made *list, size_t n, bool reading)
{
    /* Each is run in a copy of this shell, which is cheaper than a new one. A reader may wait for ever, `tail -f`: so each has a time of its own, and others
     * begin meanwhile. */
    static const char loop[] =
        "cd \"$1\" || exit 1; declare -A at; t=0; trap 't=$((t+1))' ALRM; (while sleep 1; do kill -ALRM $$ || exit; done) & dog=$!; set -m\n"
        "ends() { wait -n; for p in \"${!at[@]}\"; do a=$((t-at[$p])); kill -0 $p || { unset \"at[$p]\"; continue; }\n"
        "[ $a -lt 6 ] || kill -TERM -- -$p; [ $a -lt 7 ] || kill -KILL -- -$p; done; }\n"
        "while IFS= read -r -d '' c; do (set +m; eval \"$c\"; wait) </dev/null >/dev/null 2>&1 & at[$!]=$t\n"
        "while [ ${#at[@]} -ge 16 ]; do ends; done; done <\"$2\"\n"
        "while [ ${#at[@]} -gt 0 ]; do ends; done; kill $dog; exit 0";
    const char *const words[] = { "timeout", "-k", "1", "1200", "bash", "--norc", "-c", loop, "bash", folder, list_path, NULL };
    FILE *f = fopen(list_path, "w");

    CHECK(f != NULL);
    for (size_t i = 0; i < n; i++)
        CHECK(fwrite(list[i].text, 1, list[i].n + 1, f) == list[i].n + 1);
    CHECK(fclose(f) == 0);
    CHECK(spawned(words, reading) == 0);
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

    if (spawned(tools, false) != 0)
        check_skip("no bash, git or timeout");
    snprintf(folder, sizeof folder, "/tmp/pawl_reads.%ld", (long)getpid());
    snprintf(list_path, sizeof list_path, "%s.list", folder);
    snprintf(kept_path, sizeof kept_path, "%s.kept", folder);
    traps_set();
}

static void folder_end(void)
{
    const char *const clean[] = { "bash", "-c", "rm -rf \"$@\"", "bash", folder, list_path, kept_path, NULL };

    (void)spawned(clean, false);
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
    const size_t first = check_from() / BATCH, last = (check_from() + check_count(RUNS, RUNS_ALL) + BATCH - 1) / BATCH;
    static const char rules[] = "{\"cwd\":\"/w\"}";
    pawl_policy *p = pawl_policy_read(NULL, rules, sizeof rules - 1, NULL);
    size_t made = 0, ran = 0;

    folder_begin();
    look_at(&before);
    CHECK(p != NULL && before.n > 100);
    for (size_t batch = first; batch < last; batch++) {
        check_case_at(batch * BATCH);
        for (size_t n = 0; n < BATCH; made++) {
            command_made(&list[n]);
            n += unasked(p, &list[n]);
        }
        run_list(list, BATCH, true);
        look_at(&after);
        if (differs(&before, &after) != NULL)
            blame(list, BATCH);
        ran += BATCH;
    }
    printf("seed %llu: %zu commands, %zu of them run\n", (unsigned long long)check_seed(), made, ran);
    folder_end();
    pawl_policy_free(p);
}
