/* agent_hooks_test.c - the published vectors of AGENT-HOOKS 0.1, those that apply: each interceptor's answer is made a receipt, goes through
 * hook_verdict() and hook_merge(), and what comes of it is what the vector expects. The folder of the vectors is $AGENT_HOOKS_VECTORS, or
 * test/policy/agent_hooks/vectors; without it only the table of docs/AGENT_HOOKS.md is checked. `--write` writes that table. */
#include "policy/hooking.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- which apply ----------------------------------------------------------------------------------------------- */

typedef struct vector_row {
    const char *id;
    const char *what;
    const char *why_not;        /* NULL: it applies */
} vector_row;

#define NO_POINT    "not about a tool call; only those are compared"
#define NO_PATHS    "there are no paths: a rewrite replaces the whole input, so it cannot miss its target"
#define NO_RECORDS  "there is no such record: the journal has the receipt of each hook"
#define NO_PROFILE  "all hooks are called, one after another; there is no other profile"
#define NO_IDENTITY "an approval is bound to the digest of canonical JSON, which is not RFC 8785"
#define NO_RESOLVER "an approval is a wait of the run that a person answers; the tests of waits cover it (W1 to W6)"
#define NO_STREAM   "hooks receive the answer of a model when it is complete"
#define NO_REHEARSE "every hook counts; there is no mode that ignores verdicts"

static const vector_row rows[] = {
    { "AH-CTK-001", "all eight points in order", NO_POINT },
    { "AH-CTK-002", "a loop without tools", NO_POINT },
    { "AH-CTK-003", "sequence numbers of emissions", NO_POINT },
    { "AH-CTK-010", "deny before a tool", NULL },
    { "AH-CTK-011", "deny of an input", NO_POINT },
    { "AH-CTK-012", "deny of an output", NO_POINT },
    { "AH-CTK-020", "a rewrite before a tool", NULL },
    { "AH-CTK-021", "another name of the target", NO_PATHS },
    { "AH-CTK-022", "a rewrite at the start", NO_POINT },
    { "AH-CTK-030", "approval required, approved", NULL },
    { "AH-CTK-031", "approval required, denied", NULL },
    { "AH-CTK-032", "approval required, no approver", "a call without an approver waits, and is not denied" },
    { "AH-CTK-040", "a deny that is only logged", NO_REHEARSE },
    { "AH-CTK-050", "warnings", "there are no warnings; a hook may give a message for the person" },
    { "AH-CTK-060", "the second hook sees the rewrite of the first", NULL },
    { "AH-CTK-061", "no hook", "without hooks the rules and the mode decide" },
    { "AH-CTK-070", "a hook that fails", NULL },
    { "AH-CTK-071", "an invalid verdict", NULL },
    { "AH-CTK-072", "an approval of another call", NO_IDENTITY },
    { "AH-CTK-073", "an approver that fails", NO_RESOLVER },
    { "AH-CTK-074", "deny at the start", NO_POINT },
    { "AH-CTK-080", "stop at the first deny, continue after approval", NO_PROFILE },
    { "AH-CTK-081", "all hooks are called, a deny wins", NULL },
    { "AH-CTK-082", "one approval for two hooks that ask", NULL },
    { "AH-CTK-083", "a deny beats an ask", NULL },
    { "AH-CTK-084", "parallel: one rewrite", NO_PROFILE },
    { "AH-CTK-085", "parallel: two rewrites", NO_PROFILE },
    { "AH-CTK-086", "parallel: two rewrites, approved", NO_PROFILE },
    { "AH-CTK-087", "unanimous: verdicts differ", NO_PROFILE },
    { "AH-CTK-088", "unanimous: verdicts differ, approved", NO_PROFILE },
    { "AH-CTK-089", "no identity", NO_IDENTITY },
    { "AH-CTK-090", "an integer over 2^53", NO_IDENTITY },
    { "AH-CTK-091", "an integer over 2^64", NO_IDENTITY },
    { "AH-CTK-092", "evidence that is too large", "a verdict has no evidence" },
    { "AH-CTK-093", "the record of a rewrite", NO_RECORDS },
    { "AH-CTK-094", "the second hook fails", NULL },
    { "AH-CTK-095", "a rewrite to an integer over 2^53", NO_IDENTITY },
    { "AH-CTK-096", "an identity that fails", NO_IDENTITY },
    { "AH-CTK-097", "the first hook fails, the second is still called", NULL },
    { "AH-CTK-098", "an approval that contains a deny", NO_RESOLVER },
    { "AH-CTK-099", "an approval of redacted input", NO_RESOLVER },
    { "AH-CTK-100", "deny after a tool", NULL },
    { "AH-CTK-101", "no hook, in rehearsal", NO_REHEARSE },
    { "AH-CTK-102", "a rewrite without a target", NO_PATHS },
    { "AH-CTK-103", "an approval with a rewrite without a target", NO_RESOLVER },
    { "AH-CTK-104", "a hook that modifies its input", NULL },
    { "AH-CTK-105", "two hooks ask, continue after each approval", NO_PROFILE },
    { "AH-CTK-110", "a stream, passed piece by piece", NO_STREAM },
    { "AH-CTK-111", "a stream, denied midway", NO_STREAM },
    { "AH-CTK-112", "a stream that breaks", NO_STREAM },
    { "AH-CTK-113", "a stream, and its stored part", NO_STREAM },
};
enum { ROWS = sizeof rows / sizeof *rows };

static const vector_row *row_of(const char *id)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].id, id) == 0)
            return &rows[i];
    return NULL;
}

/* ---- files ----------------------------------------------------------------------------------------------------------- */

static const char doc_path[] = PAWL_SOURCE_DIR "/docs/AGENT_HOOKS.md";
static const char mark[] = "| vector | what | applies | result |\n";

static bool file_read(const char *path, buf *b)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    buf_reset(b);
    if (f == NULL)
        return false;
    while (buf_room(b, 4096) && (n = fread(b->data + b->size, 1, 4096, f)) > 0)
        b->size += n;
    fclose(f);
    buf_char(b, '\0');
    return !b->failed;
}

static void table_tell(buf *b)
{
    size_t apply = 0;

    buf_text(b, mark);
    buf_text(b, "|---|---|---|---|\n");
    for (size_t i = 0; i < ROWS; i++) {
        apply += rows[i].why_not == NULL;
        buf_fmt(b, "| %s | %s | %s | %s |\n", rows[i].id, rows[i].what, rows[i].why_not == NULL ? "yes" : "no",
                rows[i].why_not == NULL ? "passes" : rows[i].why_not);
    }
    buf_fmt(b, "\n%zu vectors: %zu apply, and pass; %zu do not apply.\n", (size_t)ROWS, apply, ROWS - apply);
}

static int doc_write(void)
{
    char *at;
    FILE *f;
    buf b;

    buf_init(&b, NULL);
    if (!file_read(doc_path, &b) || (at = strstr(b.data, mark)) == NULL)
        return 1;
    b.size = (size_t)(at - b.data);
    table_tell(&b);
    if ((f = fopen(doc_path, "wb")) == NULL)
        return 1;
    fwrite(b.data, 1, b.size, f);
    buf_free(&b);
    return fclose(f) != 0;
}

PAWL_TEST(test_P5_the_table_in_the_document_is_this_one)
{
    const char *at;
    buf b, table;

    buf_init(&b, NULL);
    buf_init(&table, NULL);
    CHECK(file_read(doc_path, &b));
    CHECK((at = strstr(b.data, mark)) != NULL);
    table_tell(&table);
    buf_char(&table, '\0');
    if (strcmp(at, table.data) != 0)
        CHECK_FAIL("docs/AGENT_HOOKS.md has another table: run this test with --write");
    buf_free(&b);
    buf_free(&table);
}

/* ---- one vector ------------------------------------------------------------------------------------------------------- */

typedef struct scene {
    arena mem;
    const pawl_value *vector, *scripts, *call, *args, *value;
    verdict said[8], all;
} scene;

static const char *text_at(const pawl_value *v, const char *path)
{
    const char *text = pawl_value_string(pawl_value_find(v, path));

    return text != NULL ? text : "";
}

/* "tool_call.args.url" as a JSON pointer. */
static const char *pointer_of(const char *dotted, char *out, size_t size)
{
    size_t n = 0;

    out[n++] = '/';
    for (; *dotted != '\0' && n + 1 < size; dotted++)
        out[n++] = *dotted == '.' ? '/' : *dotted;
    out[n] = '\0';
    return out;
}

static bool rule_fits(const pawl_value *rule, const char *point, const pawl_value *context)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(rule, "match"));
    const pawl_value *key, *v;
    char path[200];

    if (strcmp(text_at(rule, "/at"), point) != 0)
        return false;
    while ((v = pawl_iter_next(&it, &key)) != NULL)
        if (!pawl_value_equal(v, pawl_value_find(context, pointer_of(pawl_value_string(key), path, sizeof path))))
            return false;
    return true;
}

/* What the interceptor answers, as a hook that says the same would: a command's output, or that it failed. */
static const pawl_value *answer_of(scene *s, const pawl_value *rule)
{
    const pawl_value *ret = pawl_value_get(rule, "return"), *args;
    const char *fault = text_at(rule, "/fault"), *decision = text_at(ret, "/decision"), *path = text_at(ret, "/transform/path");
    char pointer[200];

    if (strcmp(fault, "raise") == 0)
        return json_of(&s->mem, "{\"failed\":\"effect\",\"text\":\"it raised\"}");
    if (strcmp(fault, "malformed_verdict") == 0)
        return exited(&s->mem, 0, "{\"decision\":\"transform\"}", "");
    if (rule == NULL || *fault != '\0' || strcmp(decision, "allow") == 0)
        return json_of(&s->mem, "{\"verdict\":\"proceed\"}");
    if (strcmp(decision, "deny") == 0)
        return value_pack(&s->mem, NULL, "{s:s,s:s}", "verdict", pawl_value_get(ret, "approval") != NULL ? "ask" : "deny", "reason",
                          text_at(ret, "/reason"));
    CHECK_STR(decision, "transform");
    CHECK(strncmp(path, "$target.", 8) == 0);
    args = value_splice(&s->mem, s->args, pointer_of(path + 8, pointer, sizeof pointer), pawl_value_find(ret, "/transform/value"));
    CHECK(args != NULL);
    return value_pack(&s->mem, NULL, "{s:s,s:v}", "verdict", "modify", "args", args);
}

/* Ask all, in their order; each sees the arguments as they are by then. */
static void ask_all(scene *s, const char *point, const char *event)
{
    s->all = (verdict){ .behavior = PAWL_BEHAVIOR_OPEN };
    for (size_t i = 0; i < pawl_value_size(s->scripts); i++) {
        const pawl_value *call = value_with(&s->mem, s->call, "args", s->args), *rule, *fits = NULL;
        const pawl_value *context = value_pack(&s->mem, NULL, "{s:v,s:v}", "tool_call", call, "target", s->value != NULL ? s->value : s->args);
        pawl_iter it = pawl_iter_of(pawl_value_at(s->scripts, i));

        if (s->value != NULL)
            context = value_with(&s->mem, context, "tool_result", value_pack(&s->mem, NULL, "{s:v}", "value", s->value));
        CHECK(context != NULL && i < sizeof s->said / sizeof *s->said);
        while (fits == NULL && (rule = pawl_iter_next(&it, NULL)) != NULL)
            fits = rule_fits(rule, point, context) ? rule : NULL;
        CHECK_INT(hook_verdict(&s->mem, HOOK_STRICT, event, answer_of(s, fits), &s->said[i], NULL), PAWL_OK);
        CHECK_INT(hook_merge(&s->mem, &s->all, &s->said[i]), PAWL_OK);
        if (s->said[i].input != NULL)
            s->args = s->said[i].input;
    }
}

/* Whether it is let go: a person's yes is what `approval_script` says. */
static bool lets_go(const scene *s)
{
    const pawl_value *resolve = pawl_value_find(s->vector, "/approval_script/0/resolve");

    if (s->all.behavior == PAWL_BEHAVIOR_ASK)
        return strcmp(text_at(resolve, "/outcome"), "approve") == 0 && strcmp(text_at(resolve, "/verdict/decision"), "allow") == 0;
    return s->all.behavior != PAWL_BEHAVIOR_DENY;
}

static const char *decision_of(const verdict *v)
{
    return v->behavior >= PAWL_BEHAVIOR_ASK ? "deny" : v->input != NULL ? "transform" : "allow";
}

static void record_check(const scene *s, const pawl_value *record, const char *decision)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(record, "assert"));
    const pawl_value *key, *v;

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = pawl_value_string(key), *text = pawl_value_string(v);
        const bool of_person = pawl_value_find(record, "/assert/resolved_by") != NULL;
        unsigned i;
        char member[32];

        if (strcmp(name, "verdict.decision") == 0)
            CHECK_STR(decision, text);
        if (strcmp(name, "verdict.reason") == 0 && !of_person && strncmp(text, "host_error:", 11) != 0)
            CHECK_STR(s->all.reason, text);
        if (sscanf(name, "verdicts[%u].%31s", &i, member) == 2 && strcmp(member, "decision") == 0) {
            CHECK(i < pawl_value_size(s->scripts));
            CHECK_STR(decision_of(&s->said[i]), text);
        }
    }
}

static void records_check(const scene *s, const char *point, bool goes)
{
    const pawl_value *records = pawl_value_find(s->vector, "/expect/records");
    const char *decision = !goes ? "deny" : s->all.input != NULL ? "transform" : "allow";

    for (size_t i = 0; i < pawl_value_size(records); i++)
        if (strcmp(text_at(pawl_value_at(records, i), "/interception_point"), point) == 0)
            record_check(s, pawl_value_at(records, i), decision);
}

static bool list_holds(const pawl_value *list, const char *name)
{
    for (size_t i = 0; i < pawl_value_size(list); i++)
        if (strcmp(pawl_value_string(pawl_value_at(list, i)), name) == 0)
            return true;
    return false;
}

static void scene_play(scene *s)
{
    const pawl_value *ran = pawl_value_find(s->vector, "/expect/tool_invocations"), *result;
    const pawl_value *absent = pawl_value_find(s->vector, "/expect/interceptions_absent");
    const char *tool = text_at(s->call, "/name");
    const bool not = list_holds(pawl_value_find(s->vector, "/expect/tool_not_invoked"), tool);
    bool goes;

    ask_all(s, "pre_tool_call", "PreToolUse");
    goes = lets_go(s);
    CHECK(ran != NULL || not);
    CHECK_INT(goes, !not);
    CHECK(!list_holds(absent, "post_tool_call") || !goes);
    records_check(s, "pre_tool_call", goes);
    if (!goes)
        return;
    CHECK_INT(pawl_value_size(ran), 1);
    CHECK(pawl_value_equal(pawl_value_find(ran, "/0/args"), s->args));
    result = pawl_value_find(s->vector, "/scenario/tools/0/behavior/0/return");
    s->value = result != NULL ? result : value_null(&s->mem);
    ask_all(s, "post_tool_call", "PostToolUse");
    records_check(s, "post_tool_call", lets_go(s));
}

static void vector_run(const char *text, size_t size, size_t *ran, size_t *seen)
{
    scene s = { .value = NULL };
    pawl_err err = { PAWL_OK, "" };
    const vector_row *row;

    arena_init(&s.mem, NULL, 16384);
    if ((s.vector = value_parse(&s.mem, text, size, "vector", &err)) == NULL && strstr(text, "\"AH-CTK-091\"") != NULL) {
        ++*seen;                /* its integer is none that canonical JSON has */
        arena_free(&s.mem);
        return;
    }
    if (s.vector == NULL)
        CHECK_FAIL("%s", err.text);
    if ((row = row_of(text_at(s.vector, "/id"))) == NULL)
        CHECK_FAIL("%s: it is not in the table", text_at(s.vector, "/id"));
    ++*seen;
    if (row->why_not == NULL) {
        s.scripts = pawl_value_get(s.vector, "interceptor_scripts");
        if (s.scripts == NULL)
            s.scripts = value_pack(&s.mem, NULL, "[v]", pawl_value_get(s.vector, "interceptor_script"));
        s.call = pawl_value_find(s.vector, "/scenario/model_script/0/respond/tool_calls/0");
        s.args = pawl_value_get(s.call, "args");
        CHECK(s.scripts != NULL && s.args != NULL);
        printf("%s\n", row->id);
        scene_play(&s);
        ++*ran;
    }
    arena_free(&s.mem);
}

static const char *vectors_path(void)
{
    const char *path = getenv("AGENT_HOOKS_VECTORS");

    return path != NULL && *path != '\0' ? path : PAWL_SOURCE_DIR "/test/policy/agent_hooks/vectors";
}

PAWL_TEST(test_P5_the_published_vectors_that_apply)
{
    size_t ran = 0, seen = 0, apply = 0;
    struct dirent *e;
    char path[4096];
    DIR *d = opendir(vectors_path());
    buf b;

    if (d == NULL) {
        check_skip("the vectors are not here: AGENT_HOOKS_VECTORS names their folder");
        return;
    }
    buf_init(&b, NULL);
    while ((e = readdir(d)) != NULL) {
        if (strstr(e->d_name, ".json") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", vectors_path(), e->d_name);
        CHECK(file_read(path, &b));
        vector_run(b.data, b.size - 1, &ran, &seen);
    }
    closedir(d);
    buf_free(&b);
    for (size_t i = 0; i < ROWS; i++)
        apply += rows[i].why_not == NULL;
    CHECK_INT(seen, ROWS);
    CHECK_INT(ran, apply);
}

/* ---- RFC 8785 ------------------------------------------------------------------------------------------------------------ */

/* Ours (K2) and RFC 8785's of the same value; the same where they are the same text. */
PAWL_TEST(test_K2_where_canonical_JSON_is_that_of_RFC_8785_and_where_not)
{
    const struct { const char *json, *ours, *theirs; } texts[] = {
        { "{\"b\":1,\"a\":[true,null,{}]}", "{\"a\":[true,null,{}],\"b\":1}", "{\"a\":[true,null,{}],\"b\":1}" },
        { "\"\\u0001\\u000b\\n\\/\\u007f\\\"\\\\\\u00e9\"", "\"\\u0001\\u000b\\n/\x7F\\\"\\\\\xC3\xA9\"",
          "\"\\u0001\\u000b\\n/\x7F\\\"\\\\\xC3\xA9\"" },
        { "[0,-1,9007199254740991,0.5,3.25,0.1]", "[0,-1,9007199254740991,0.5,3.25,0.1]", "[0,-1,9007199254740991,0.5,3.25,0.1]" },
        { "{\"z\":1,\"\xC3\xA9\":2,\"\":3}", "{\"\":3,\"z\":1,\"\xC3\xA9\":2}", "{\"\":3,\"z\":1,\"\xC3\xA9\":2}" },
        { "1.0", "1.0", "1" },          /* an integer is not a real */
        { "-0.0", "0.0", "0" },
        { "1e21", "1e21", "1e+21" },
        { "1e-7", "1e-7", "1e-7" },
        { "9007199254740993", "9007199254740993", "9007199254740992" },     /* integers are whole */
        { "{\"\xF0\x90\x80\x80\":1,\"\xEE\x80\x80\":2}", "{\"\xEE\x80\x80\":2,\"\xF0\x90\x80\x80\":1}",     /* by bytes, not by UTF-16 */
          "{\"\xF0\x90\x80\x80\":1,\"\xEE\x80\x80\":2}" },
    };
    static const bool same[] = { true, true, true, true, false, false, false, true, false, false };
    arena mem;
    buf b;

    arena_init(&mem, NULL, 4096);
    buf_init(&b, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        buf_reset(&b);
        canon(&b, json_of(&mem, texts[i].json));
        buf_char(&b, '\0');
        CHECK_STR(b.data, texts[i].ours);
        CHECK_INT(strcmp(texts[i].ours, texts[i].theirs) == 0, same[i]);
    }
    buf_free(&b);
    arena_free(&mem);
}

/* Their golden identities: ours where no number is a real, and no key begins beyond U+D7FF. */
static void golden_check(scene *s, const pawl_value *fixture, buf *b, size_t *same, size_t *other)
{
    const pawl_value *text = pawl_value_find(fixture, "/expect/canonical_json"), *v;
    const char *identity = text_at(fixture, "/expect/context_identity"), *id = text_at(fixture, "/id");
    const bool differs = strncmp(id, "G-03", 4) == 0 || strncmp(id, "G-11", 4) == 0 || strncmp(id, "G-15", 4) == 0;
    char hex[HASH_HEX + 1];
    hash h;

    if (text == NULL || strncmp(id, "G-05-", 5) == 0)      /* refused; or not the text that is hashed */
        return;
    CHECK((v = value_parse(&s->mem, pawl_value_string(text), pawl_value_size(text), id, NULL)) != NULL);
    buf_reset(b);
    canon(b, v);
    hash_of(b->data, b->size, &h);
    hash_hex(&h, hex);
    if ((strcmp(identity + 7, hex) == 0) == differs)
        CHECK_FAIL("%s: it is %s", id, differs ? "the same" : "another");
    *same += !differs;
    *other += differs;
}

PAWL_TEST(test_K2_the_golden_identities)
{
    size_t same = 0, other = 0;
    const pawl_value *fixtures, *fixture;
    scene s = { .value = NULL };
    char path[4096];
    pawl_iter it;
    buf b, text;

    snprintf(path, sizeof path, "%s/../golden/identity.json", vectors_path());
    buf_init(&b, NULL);
    buf_init(&text, NULL);
    if (!file_read(path, &text)) {
        buf_free(&text);
        check_skip("the identities are not here: AGENT_HOOKS_VECTORS names the folder beside them");
        return;
    }
    arena_init(&s.mem, NULL, 65536);
    CHECK((fixtures = value_parse(&s.mem, text.data, text.size - 1, "golden", NULL)) != NULL);
    it = pawl_iter_of(pawl_value_get(fixtures, "fixtures"));
    while ((fixture = pawl_iter_next(&it, NULL)) != NULL)
        golden_check(&s, fixture, &b, &same, &other);
    CHECK_INT(same, 12);
    CHECK_INT(other, 3);
    buf_free(&b);
    buf_free(&text);
    arena_free(&s.mem);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--write") == 0)
        return doc_write();
    return check_main(argc, argv);
}
