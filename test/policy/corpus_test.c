/* corpus_test.c - every row of test/policy/corpus: a mode, rules, a call, and what has to come of it. */
#include "policy/policing.h"

#include <stdio.h>
#include <stdlib.h>

enum { RULES_MAX = 24, LINKS_MAX = 8, LINE_BYTES = 1024, ROWS_MIN = 300 };

/* What the lines since `case` came to. */
typedef struct scene {
    char rules[3][RULES_MAX][256];      /* deny, ask, allow */
    size_t nrules[3];
    char links[LINKS_MAX][2][128];
    size_t nlinks;
    char hook[16], name[128];
    pawl_request q;
    bool first;
} scene;

static size_t wrong_rows;           /* of a file: all of them are told */

static const char *const kinds[] = { "deny", "ask", "allow" };

static pawl_policy *scene_policy(const scene *s, const char *where)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_policy *p;
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "{\"cwd\":\"/w\",\"home\":\"/home/ann\",\"directories\":[\"/data/shared\"]");
    for (size_t k = 0; k < 3; k++) {
        buf_fmt(&b, ",\"%s\":[", kinds[k]);
        for (size_t i = 0; i < s->nrules[k]; i++) {
            buf_text(&b, i > 0 ? "," : "");
            if (s->rules[k][i][0] == '{') {
                buf_text(&b, s->rules[k][i]);
            } else {
                canon_string(&b, s->rules[k][i], strlen(s->rules[k][i]));
            }
        }
        buf_char(&b, ']');
    }
    buf_char(&b, '}');
    CHECK(!b.failed);
    p = pawl_policy_read(NULL, b.data, b.size, &err);
    if (p == NULL)
        CHECK_FAIL("%s: %s", where, err.text);
    buf_free(&b);
    return p;
}

static const pawl_value *scene_links(const scene *s, arena *a)
{
    const pawl_value *v = value_pack(a, NULL, "{}");

    for (size_t i = 0; i < s->nlinks; i++)
        v = value_with(a, v, s->links[i][0], value_string(a, s->links[i][1], strlen(s->links[i][1])));
    return v;
}

/* %n, %t, %0, %1 .. in a call: what a line of text cannot hold. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '%' && p[1] == 'n')
            *to++ = '\n', p++;
        else if (*p == '%' && p[1] == 't')
            *to++ = '\t', p++;
        else if (*p == '%' && p[1] == 'r')
            *to++ = '\r', p++;
        else if (*p == '%' && p[1] == '%')
            *to++ = '%', p++;
        else
            *to++ = *p;
    }
    *to = '\0';
}

/* DECISION GROUND TOOL WHAT */
static void row(scene *s, char *line, const char *where)
{
    char want[2][32], tool[128], got[64], due[64];
    int at = 0;
    pawl_decision d;
    pawl_policy *p;
    arena a;

    if (sscanf(line, "%31s %31s %127s %n", want[0], want[1], tool, &at) < 3)
        CHECK_FAIL("%s: a row is DECISION GROUND TOOL WHAT", where);
    for (char *c = want[1]; *c != '\0'; c++)
        *c = *c == '_' ? ' ' : *c;
    unescape(line + at);
    arena_init(&a, NULL, 4096);
    p = scene_policy(s, where);
    s->q.tool = tool;
    s->q.cls = police_class(tool);
    s->q.args = police_args(&a, tool, line + at);
    s->q.links = scene_links(s, &a);
    CHECK(s->q.args != NULL && s->q.links != NULL);
    memset(&d, 0x55, sizeof d);
    if (s->first)
        pawl_decide_first(p, &s->q, &d);
    else
        pawl_decide(p, &s->q, &d);
    snprintf(got, sizeof got, "%s by %s", pawl_behavior_name(d.behavior), pawl_ground_name(d.ground));
    snprintf(due, sizeof due, "%.28s by %.28s", want[0], want[1]);
    if (strcmp(got, due) != 0)
        wrong_rows += fprintf(stderr, "%s (%s): %s %s: %s, and not %s: %s\n", where, s->name, tool, line + at, got, due, d.reason) > 0;
    CHECK((d.reason[0] != '\0' || s->first) && strchr(d.reason, '\n') == NULL);
    CHECK(utf8_valid(d.reason, strlen(d.reason)) && utf8_valid(d.part, strlen(d.part)));
    CHECK(d.rule == SIZE_MAX || d.rule < pawl_policy_count(p));
    pawl_policy_free(p);
    arena_free(&a);
}

static void flag(scene *s, const char *name, const char *where)
{
    if (strcmp(name, "node") == 0)
        s->q.node = true;
    else if (strcmp(name, "read_only") == 0)
        s->q.read_only = true;
    else if (strcmp(name, "deny_gate") == 0)
        s->q.deny_gate = true;
    else if (strcmp(name, "edited") == 0)
        s->q.edited = true;
    else if (strcmp(name, "rewritten") == 0)
        s->q.rewritten = true;
    else if (strcmp(name, "first") == 0)
        s->first = true;
    else
        CHECK_FAIL("%s: no flag %s", where, name);
}

static void set(scene *s, char *line, const char *where)
{
    char word[32], rest[512];

    if (sscanf(line, "%31s %511[^\n]", word, rest) < 2)
        CHECK_FAIL("%s: %s", where, line);
    for (size_t k = 0; k < 3; k++)
        if (strcmp(word, kinds[k]) == 0) {
            CHECK(s->nrules[k] < RULES_MAX && strlen(rest) < sizeof s->rules[k][0]);
            memcpy(s->rules[k][s->nrules[k]++], rest, strlen(rest) + 1);
            return;
        }
    if (strcmp(word, "case") == 0) {
        memset(s, 0, sizeof *s);
        s->q.mode = PAWL_MODE_DEFAULT;
        s->q.time_ms = 1000;
        snprintf(s->name, sizeof s->name, "%.100s", rest);
    } else if (strcmp(word, "mode") == 0) {
        CHECK((s->q.mode = pawl_mode_named(rest)) != PAWL_MODE_NONE);
    } else if (strcmp(word, "requires") == 0) {
        CHECK((s->q.requires = pawl_mode_named(rest)) != PAWL_MODE_NONE);
    } else if (strcmp(word, "hook") == 0) {
        s->q.hook = *rest == 'd' ? PAWL_BEHAVIOR_DENY : strcmp(rest, "ask") == 0 ? PAWL_BEHAVIOR_ASK : strcmp(rest, "allow") == 0
            ? PAWL_BEHAVIOR_ALLOW : PAWL_BEHAVIOR_OPEN;
        s->q.hook_name = "guard";
    } else if (strcmp(word, "link") == 0) {
        CHECK(s->nlinks < LINKS_MAX && sscanf(rest, "%127s %127s", s->links[s->nlinks][0], s->links[s->nlinks][1]) == 2);
        s->nlinks++;
    } else if (strcmp(word, "flag") == 0) {
        flag(s, rest, where);
    } else {
        CHECK_FAIL("%s: no such line: %s", where, line);
    }
}

static size_t file_rows(const char *name)
{
    char path[512], line[LINE_BYTES], where[600];
    size_t rows = 0, number = 0;
    scene *s = calloc(1, sizeof *s);
    FILE *f;

    wrong_rows = 0;
    snprintf(path, sizeof path, "%s/test/policy/corpus/%s.txt", PAWL_SOURCE_DIR, name);
    if ((f = fopen(path, "r")) == NULL || s == NULL)
        CHECK_FAIL("%s is not there", path);
    while (fgets(line, sizeof line, f) != NULL) {
        size_t n = strlen(line);

        CHECK(n + 1 < sizeof line);
        if (n > 0 && line[n - 1] == '\n')
            line[n - 1] = '\0';
        snprintf(where, sizeof where, "%s.txt:%zu", name, ++number);
        if (line[0] == '=') {
            row(s, line + 1, where);
            rows++;
        } else if (line[0] != '#' && line[0] != '\0') {
            set(s, line, where);
        }
    }
    fclose(f);
    free(s);
    CHECK(rows > 0);
    CHECK_INT(wrong_rows, 0);
    return rows;
}

static size_t total;

PAWL_TEST(test_P3_shell) { total += file_rows("shell"); }
PAWL_TEST(test_P3_paths) { total += file_rows("paths"); }
PAWL_TEST(test_P3_tools) { total += file_rows("tools"); }
PAWL_TEST(test_P2_order) { total += file_rows("order"); }
PAWL_TEST(test_P3_reports) { total += file_rows("reports"); }
PAWL_TEST(test_the_corpus_is_whole)
{
    if (total < ROWS_MIN)
        CHECK_FAIL("%zu rows, and %d are due (did a file fail, or was one test asked for alone?)", total, ROWS_MIN);
}
