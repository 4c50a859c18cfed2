/* property_test.c - what holds of random policies and calls: rules that deny never loosen, plan is never loosened, the order of rules of
 * one kind does not matter, the same words however they are written come to the same. */
#include "policy/policing.h"

#include <stdio.h>

enum { ROUNDS = 4000, RULES = 8, TEXT = 512 };

static const char *pick(const char *const *from, size_t n) { return from[check_rand_below(n)]; }
#define PICK(list) pick(list, sizeof(list) / sizeof *(list))

typedef struct made {
    char rules[3][RULES][64];       /* deny, ask, allow */
    size_t n[3];
} made;

static void make_rule(char out[64])
{
    static const char *const rules[] = {
        "Bash(rm *)", "Bash(git *)", "Bash(git push:*)", "Bash(npm test)", "Bash(npm *)", "Bash(make*)", "Bash", "Bash(* x)", "Bash(ls -l)",
        "Bash(cat a)",
        "Read(a)", "Read(src/**)", "Read(*.key)", "Read", "Edit(out)", "Edit(src/)", "Edit(//tmp/**)", "Edit", "Write(b)", "Edit(~/x)",
        "WebFetch(domain:a.org)", "WebFetch(domain:*.a.org)", "WebFetch", "mcp__s", "mcp__s__t", "Agent(A)",
    };

    snprintf(out, 64, "%s", PICK(rules));
}

static void make_policy(made *m)
{
    for (size_t k = 0; k < 3; k++) {
        m->n[k] = check_rand_below(4);
        for (size_t i = 0; i < m->n[k]; i++)
            make_rule(m->rules[k][i]);
    }
}

static pawl_policy *read_made(const made *m, bool turned)
{
    static const char *const kinds[] = { "deny", "ask", "allow" };
    pawl_err err = { PAWL_OK, "" };
    pawl_policy *p;
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "{\"cwd\":\"/w\",\"home\":\"/home/ann\"");
    for (size_t k = 0; k < 3; k++) {
        buf_fmt(&b, ",\"%s\":[", kinds[k]);
        for (size_t i = 0; i < m->n[k]; i++)
            buf_fmt(&b, "%s\"%s\"", i > 0 ? "," : "", m->rules[k][turned ? m->n[k] - 1 - i : i]);
        buf_char(&b, ']');
    }
    buf_char(&b, '}');
    p = pawl_policy_read(NULL, b.data, b.size, &err);
    if (p == NULL)
        CHECK_FAIL("%s", err.text);
    buf_free(&b);
    return p;
}

static void make_part(char *out, size_t size)
{
    static const char *const parts[] = {
        "rm x", "rm -rf src", "git push origin", "git status", "git log -3", "npm test", "npm run x", "make all", "makex", "ls -l", "ls",
        "cat a", "cat b.key",
        "echo x > out", "echo x >> src/y", "echo $HOME", "cat $X", "rm $X", "$X", "git $X", "echo $(rm x)", "(git push)", "touch b", "cp a src/b",
        "cd src", "cat < a",
        "sh -c 'rm x'", "sudo rm x", "rm -rf /", "tee /tmp/q", "if a; then b; fi", "git commit -m 'a && b'", "xargs rm", "rm *", "eval rm",
    };

    snprintf(out, size, "%s", PICK(parts));
}

/* A call's tool and text; its class goes by the tool. */
static const char *make_call(char *what, size_t size)
{
    static const char *const tools[] = { "Bash", "Bash", "Bash", "Read", "Edit", "Write", "Grep", "WebFetch", "mcp__s__t", "mcp__s2__t", "Agent" };
    static const char *const paths[] = { "a", "src/a", "src/b.key", "/tmp/x", "~/x", "out", ".git/config", "../w/a", "/etc/passwd", "~bob/x" };
    static const char *const urls[] = { "https://a.org/", "https://b.a.org", "https://c.org", "https://a@b@a.org", "x" };
    static const char *const joins[] = { " && ", "; ", " | ", " || ", " & ", "\n" };
    const char *tool = PICK(tools);

    if (strcmp(tool, "Bash") == 0) {
        size_t at = 0, parts = 1 + check_rand_below(3);

        for (size_t i = 0; i < parts; i++) {
            char part[64];

            make_part(part, sizeof part);
            at += (size_t)snprintf(what + at, size - at, "%s%s", i > 0 ? PICK(joins) : "", part);
        }
    } else if (strcmp(tool, "WebFetch") == 0) {
        snprintf(what, size, "%s", PICK(urls));
    } else if (strcmp(tool, "Agent") == 0) {
        snprintf(what, size, "A");
    } else if (strncmp(tool, "mcp", 3) == 0) {
        snprintf(what, size, "{}");
    } else {
        snprintf(what, size, "%s", PICK(paths));
    }
    return tool;
}

static void make_request(pawl_request *q, const char *tool)
{
    *q = (pawl_request){ .tool = tool, .cls = police_class(tool), .mode = (pawl_mode)(1 + check_rand_below(4)), .time_ms = 1 };
    q->hook = (pawl_behavior)(check_rand_below(3) == 0 ? check_rand_below(4) : 0);
    q->node = check_rand_below(6) == 0;
    q->read_only = check_rand_below(8) == 0;
    q->requires = (pawl_mode)(q->node ? check_rand_below(5) : 0);
}

static pawl_decision decide(const made *m, const pawl_request *q, const char *what, bool turned)
{
    pawl_policy *p = read_made(m, turned);
    pawl_request asked = *q;
    pawl_decision d;
    arena a;

    arena_init(&a, NULL, 1024);
    asked.args = police_args(&a, q->tool, what);
    CHECK(asked.args != NULL);
    pawl_decide(p, &asked, &d);
    arena_free(&a);
    pawl_policy_free(p);
    CHECK(d.behavior >= PAWL_BEHAVIOR_ALLOW && d.behavior <= PAWL_BEHAVIOR_DENY);
    return d;
}

PAWL_TEST(test_P2_one_more_deny_never_loosens)
{
    for (int i = 0; i < ROUNDS; i++) {
        char what[TEXT];
        pawl_request q;
        made m;
        pawl_decision a, b;

        make_policy(&m);
        make_request(&q, make_call(what, sizeof what));
        a = decide(&m, &q, what, false);
        make_rule(m.rules[0][m.n[0]++]);
        b = decide(&m, &q, what, false);
        if (b.behavior < a.behavior)
            CHECK_FAIL("%s %s in %s: %s, and with deny %s: %s", q.tool, what, pawl_mode_name(q.mode), a.reason, m.rules[0][m.n[0] - 1], b.reason);
    }
}

PAWL_TEST(test_P2_no_allow_rule_and_no_hook_loosens_plan)
{
    for (int i = 0; i < ROUNDS; i++) {
        char what[TEXT];
        pawl_request q;
        made m;
        pawl_decision a, b;

        make_policy(&m);
        make_request(&q, make_call(what, sizeof what));
        q.mode = PAWL_MODE_PLAN;
        q.hook = PAWL_BEHAVIOR_OPEN;
        a = decide(&m, &q, what, false);
        make_rule(m.rules[2][m.n[2]++]);
        q.hook = PAWL_BEHAVIOR_ALLOW;
        b = decide(&m, &q, what, false);
        if (a.behavior == PAWL_BEHAVIOR_DENY && b.behavior != PAWL_BEHAVIOR_DENY)
            CHECK_FAIL("%s %s: %s, and then %s", q.tool, what, a.reason, b.reason);
        if (b.behavior == PAWL_BEHAVIOR_ALLOW && q.cls != PAWL_PERMISSION_READ && !q.read_only)
            CHECK_FAIL("%s %s in plan: %s", q.tool, what, b.reason);
    }
}

PAWL_TEST(test_P2_the_order_of_rules_of_a_kind_does_not_matter)
{
    for (int i = 0; i < ROUNDS; i++) {
        char what[TEXT];
        pawl_request q;
        made m;
        pawl_decision a, b;

        make_policy(&m);
        make_request(&q, make_call(what, sizeof what));
        a = decide(&m, &q, what, false);
        b = decide(&m, &q, what, true);
        if (a.behavior != b.behavior || a.ground != b.ground)
            CHECK_FAIL("%s %s: %s, and turned %s", q.tool, what, a.reason, b.reason);
    }
}

PAWL_TEST(test_P3_one_more_part_never_loosens)
{
    static const char *const joins[] = { " && ", "; ", " | ", " || ", " & ", "\n" };

    for (int i = 0; i < ROUNDS; i++) {
        char what[64], more[64], both[TEXT];
        pawl_request q;
        made m;
        pawl_decision a, b, c;

        make_policy(&m);
        make_request(&q, "Bash");
        make_part(what, sizeof what);
        make_part(more, sizeof more);
        snprintf(both, sizeof both, "%s%s%s", what, PICK(joins), more);
        a = decide(&m, &q, what, false);
        b = decide(&m, &q, both, false);
        c = decide(&m, &q, more, false);
        if (b.behavior < a.behavior || b.behavior < c.behavior)
            CHECK_FAIL("%s in %s: %s, and %s: %s", what, pawl_mode_name(q.mode), a.reason, both, b.reason);
    }
}

/* One word as a shell may be told it. */
static size_t quote(char *out, size_t size, const char *word)
{
    size_t at = 0;

    switch (check_rand_below(5)) {
    case 0:
        return (size_t)snprintf(out, size, "'%s'", word);
    case 1:
        return (size_t)snprintf(out, size, "\"%s\"", word);
    case 2:
        return (size_t)snprintf(out, size, "$'%s'", word);
    case 3:
        for (const char *p = word; *p != '\0'; p++)
            at += (size_t)snprintf(out + at, size - at, "%s%c", check_rand_below(2) == 0 ? "\\" : "", *p);
        return at;
    default:
        return (size_t)snprintf(out, size, "%s", word);
    }
}

static bool reads(const char *command) { return strncmp(command, "ls", 2) == 0 || strncmp(command, "cat", 3) == 0; }

PAWL_TEST(test_P3_the_same_words_come_to_the_same)
{
    static const char *const commands[] = {
        "rm x", "rm -rf src", "git push origin", "git status", "npm test", "npm run x", "make all", "ls -l", "cat a", "touch b", "rm -rf /",
    };
    static const char *const wrappers[] = {
        "", "timeout 5 ", "nice -n 3 ", "command ", "stdbuf -oL ", "time ", "timeout -k 1 2 nice ", "nohup ", "env CI=1 ", "NODE_ENV=x ",
    };
    enum { PLAIN_WRAPPERS = 7 };    /* the others are asked before a command that only reads */

    for (int i = 0; i < ROUNDS; i++) {
        const char *command = PICK(commands), *p = command;
        char plain[TEXT];
        size_t at;
        pawl_request q;
        made m;
        pawl_decision a, b;

        do {
            make_policy(&m);
            at = 0;
            for (size_t k = 0; k < 2; k++)      /* one that begins with * is about the wrapper, too */
                for (size_t r = 0; r < m.n[k]; r++)
                    at += strcmp(m.rules[k][r], "Bash(* x)") == 0;
        } while (at > 0);
        make_request(&q, "Bash");
        at = 0;     /* git behind a wrapper is not the one that was made to read only */
        if (strncmp(command, "git status", 10) != 0)
            at = (size_t)snprintf(plain, sizeof plain, "%s", wrappers[check_rand_below(reads(command) ? PLAIN_WRAPPERS : sizeof wrappers / sizeof *wrappers)]);
        while (*p != '\0') {
            char word[32];
            size_t n = strcspn(p, " ");

            snprintf(word, sizeof word, "%.*s", (int)n, p);
            at += quote(plain + at, sizeof plain - at, word);
            p += n;
            for (; *p == ' '; p++)
                at += (size_t)snprintf(plain + at, sizeof plain - at, "%s", check_rand_below(2) == 0 ? " " : " \t ");
        }
        a = decide(&m, &q, command, false);
        b = decide(&m, &q, plain, false);
        if (a.behavior != b.behavior || a.ground != b.ground)
            CHECK_FAIL("%s in %s: %s, and %s: %s", command, pawl_mode_name(q.mode), a.reason, plain, b.reason);
    }
}

PAWL_TEST(test_P2_first_denies_no_more_than_the_whole)
{
    for (int i = 0; i < ROUNDS; i++) {
        char what[TEXT];
        pawl_request q;
        made m;
        pawl_decision first, d;
        pawl_policy *p;
        arena a;

        make_policy(&m);
        make_request(&q, make_call(what, sizeof what));
        d = decide(&m, &q, what, false);
        arena_init(&a, NULL, 1024);
        q.args = police_args(&a, q.tool, what);
        p = read_made(&m, false);
        pawl_decide_first(p, &q, &first);
        CHECK(first.behavior == PAWL_BEHAVIOR_OPEN || first.behavior == PAWL_BEHAVIOR_DENY);
        if ((first.behavior == PAWL_BEHAVIOR_DENY) != (d.ground == PAWL_GROUND_DENY_RULE))
            CHECK_FAIL("%s %s: %s, and first %s", q.tool, what, d.reason, first.reason);
        pawl_policy_free(p);
        arena_free(&a);
    }
}
