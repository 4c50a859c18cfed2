/* tool_set_test.c - a set of tools: what is taken into it, how it is searched, and that docs/TOOLS.md has what it says. With PAWL_TOOLS_WRITE in the
 * environment the page is written anew. */
#define _XOPEN_SOURCE 700
#include "effect/tooling.h"
#include "lib/heap.h"

#define NONE "{\"type\":\"object\"}"

/* ---- what is taken -------------------------------------------------------------------------------------- */

static pawl_code one(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    ++*(int *)arg;
    return pawl_reply_json(reply, "{\"content\":\"one\"}");
}

PAWL_TEST(test_A5_a_tool_that_is_wrong_is_refused_by_name)
{
    static const struct { pawl_tool tool; pawl_code code; const char *text; } rows[] = {
        { { .schema = NONE, .cls = PAWL_PERMISSION_READ }, PAWL_INVALID, "tool \"\": its name is not 1 to 56 of A-Z a-z 0-9 _ -" },
        { { .name = "a b", .schema = NONE, .cls = PAWL_PERMISSION_READ }, PAWL_INVALID, "tool \"a b\": its name is not 1 to 56 of A-Z a-z 0-9 _ -" },
        { { .name = "a23456789012345678901234567890123456789012345678901234567", .schema = NONE, .cls = PAWL_PERMISSION_READ }, PAWL_INVALID,
          "tool \"a23456789012345678901234567890123456789012345678901234567\": its name is not 1 to 56 of A-Z a-z 0-9 _ -" },
        { { .name = "-a", .schema = NONE, .cls = PAWL_PERMISSION_READ }, PAWL_INVALID, "tool \"-a\": its name begins with a dash; choose another one" },
        { { .name = "a", .cls = PAWL_PERMISSION_READ }, PAWL_INVALID, "tool a: a schema is due, of at most 65536 bytes" },
        { { .name = "a", .schema = "{", .cls = PAWL_PERMISSION_READ }, PAWL_INVALID, NULL },
        { { .name = "a", .schema = "[]", .cls = PAWL_PERMISSION_READ }, PAWL_INVALID, "tool a: its schema is no object" },
        { { .name = "a", .schema = NONE }, PAWL_INVALID, "tool a: 0 is no class of permission" },
        { { .name = "a", .schema = NONE, .cls = PAWL_PERMISSION_READ, .effect = (pawl_class)9 }, PAWL_INVALID, "tool a: 9 is no class of effects" },
        { { .name = "a", .rule = "", .schema = NONE, .cls = PAWL_PERMISSION_READ }, PAWL_INVALID,
            "tool a: its name in rules is not 1 to 56 of A-Z a-z 0-9 _ -" },
        { { .name = "a", .description = "\xff", .schema = NONE, .cls = PAWL_PERMISSION_READ }, PAWL_INVALID,
          "tool a: its description or hint is no UTF-8, or over 16384 bytes" },
        { { .name = "a", .schema = NONE, .cls = PAWL_PERMISSION_READ, .timeout_ms = 3600001 }, PAWL_INVALID,
          "tool a: more than 3600000 ms, or than 1048576 bytes of output" },
        { { .name = "bash", .schema = NONE, .cls = PAWL_PERMISSION_READ }, PAWL_CONFLICT, "tool bash: there is one of that name already" },
    };
    kit k;

    kit_open(&k);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pawl_err err = {0};
        size_t before = pawl_tools_count(k.set);

        CHECK_INT(pawl_tools_add(k.set, &rows[i].tool, &err), rows[i].code);
        if (rows[i].text != NULL)
            CHECK_STR(err.text, rows[i].text);
        else
            CHECK(strncmp(err.text, "tool a: schema", 14) == 0);
        CHECK_INT(pawl_tools_count(k.set), before);
    }
    kit_close(&k);
}

/* Runs that were begun with them replay only if their machine is made of the same texts. */
static void set_is(unsigned set, const char *want)
{
    pawl_tools *t = pawl_tools_new(NULL, NULL);
    char hex[HASH_HEX + 1];
    hash h;
    buf b;

    buf_init(&b, NULL);
    CHECK_INT(tools_add_set(t, set, NULL), PAWL_OK);
    for (size_t i = 0; i < pawl_tools_count(t); i++) {
        const pawl_tool *tool = pawl_tools_at(t, i);
        const char *const texts[] = { tool->name, tool->schema, tool->description };

        CHECK(tool->usual_args == (set > TOOLSET_FIRST));
        for (size_t j = 0; j < 3; j++)
            buf_put(&b, texts[j], strlen(texts[j]) + 1);
    }
    hash_of(b.data, b.size, &h);
    hash_hex(&h, hex);
    hex[16] = '\0';
    CHECK_STR(hex, want);
    buf_free(&b);
    pawl_tools_free(t);
}

PAWL_TEST(test_K5_earlier_sets_of_tools_never_change)
{
    set_is(TOOLSET_FIRST, "025c374fbaeb603a");
    set_is(2, "c2108225a9e7f1e1");
    set_is(3, "8c16afce52d124ce");
}

PAWL_TEST(test_A5_a_function_is_asked_after_its_schema_only)
{
    int calls = 0;
    pawl_tool tool = { .name = "one", .schema = "{\"type\":\"object\",\"required\":[\"a\"]}", .cls = PAWL_PERMISSION_OTHER, .fn = one, .arg = &calls };
    char name[4] = "one";
    pawl_err err = {0};
    kit k;

    kit_open(&k);
    tool.name = name;
    CHECK_INT(pawl_tools_add(k.set, &tool, &err), PAWL_OK);
    name[0] = 'x';              /* it is copied */
    REFUSES(&k, "one", "{}", "Invalid arguments: input: \"a\" is missing");
    CHECK_INT(calls, 0);
    GIVES(&k, "one", "{\"a\":1}", "one");
    k.h.job.mode = "plan";
    CHECK_INT(use(&k, "one", "{\"a\":1}"), PAWL_DENIED);
    CHECK_INT(calls, 1);
    CHECK_STR(pawl_tools_find(k.set, "one")->rule, "one");
    CHECK_INT(pawl_tools_find(k.set, "one")->timeout_ms, PAWL_TOOL_TIMEOUT_MS);
    CHECK_INT(pawl_tools_find(k.set, "one")->output_bytes, PAWL_TOOL_OUTPUT_BYTES);
    kit_close(&k);
}

PAWL_TEST(test_A5_builtin_tools_by_name_or_all)
{
    pawl_err err = {0};
    pawl_tools *t = pawl_tools_new(NULL, &err);

    CHECK_INT(pawl_tools_add_builtin(t, "grep", &err), PAWL_OK);
    CHECK_INT(pawl_tools_add_builtin(t, "none", &err), PAWL_INVALID);
    CHECK_STR(err.text, "tool none: none of that name comes with the library");
    CHECK_INT(pawl_tools_count(t), 1);
    CHECK_INT(pawl_tools_add_builtin(t, NULL, NULL), PAWL_CONFLICT);
    CHECK_INT(pawl_tools_count(t), 1);
    CHECK(pawl_tools_at(t, 1) == NULL && pawl_tools_find(t, "read_file") == NULL && pawl_tools_find(t, NULL) == NULL);
    pawl_tools_free(t);
    pawl_tools_free(NULL);
}

/* Every schema is well formed, and those of the machine's tools take what they are for. */
PAWL_TEST(test_A5_schemas_of_builtin_tools)
{
    static const struct { const char *tool, *input, *wrong; } rows[] = {
        { "todo", "{\"todos\":[{\"content\":\"a\",\"status\":\"pending\"}]}", NULL },
        { "todo", "{\"todos\":[{\"content\":\"a\",\"status\":\"done\"}]}", "Invalid arguments: input: /todos/0/status:" },
        { "ask_user", "{\"questions\":[{\"question\":\"q\",\"header\":\"h\",\"options\":[{\"label\":\"a\"},{\"label\":\"b\",\"description\":\"c\"}],\"multi_select\":true}]}", NULL },
        { "ask_user", "{\"questions\":[]}", "Invalid arguments: input: /questions:" },
        { "ask_user", "{\"questions\":[{\"question\":\"q\",\"header\":\"thirteen char\",\"options\":[{\"label\":\"a\"},{\"label\":\"b\"}]}]}",
          "Invalid arguments: input: /questions/0/header:" },
        { "ask_user", "{\"questions\":[{\"question\":\"q\",\"header\":\"h\",\"options\":[{\"label\":\"a\"}]}]}",
          "Invalid arguments: input: /questions/0/options:" },
        { "spawn_agent", "{\"prompt\":\"p\",\"agent\":\"a\",\"description\":\"d\"}", NULL },
        { "plan_enter", "{}", NULL },
        { "plan_enter", "{\"a\":1}", "Invalid arguments: input:" },
        { "plan_exit", "{\"plan\":\"p\"}", NULL },
        { "plan_exit", "{}", "Invalid arguments: input:" },
        { "tool_search", "{\"query\":\"q\",\"max_results\":5}", NULL },
        { "none", "{}", "Tool not found: none" },
    };
    pawl_err err;
    arena mem;
    kit k;

    kit_open(&k);
    arena_init(&mem, NULL, 4096);
    for (size_t i = 0; i < pawl_tools_count(k.set); i++) {
        const pawl_tool *t = pawl_tools_at(k.set, i);
        const pawl_value *schema = value_parse(&mem, t->schema, strlen(t->schema), t->name, NULL);

        err = (pawl_err){0};
        if (schema_known(schema, t->name, &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
        CHECK(t->description != NULL && (t->fn == NULL) == (i >= 10));
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err = (pawl_err){0};
        CHECK_INT(pawl_tools_check(k.set, rows[i].tool, value_parse(&mem, rows[i].input, strlen(rows[i].input), "input", NULL), &err),
                  rows[i].wrong == NULL ? PAWL_OK : PAWL_INVALID);
        if (rows[i].wrong != NULL && strncmp(err.text, rows[i].wrong, strlen(rows[i].wrong)) != 0)
            CHECK_FAIL("%s: %s", rows[i].tool, err.text);
    }
    arena_free(&mem);
    kit_close(&k);
}

/* ---- searched ----------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_tools_are_found_by_words)
{
    static const struct { const char *words, *found; } rows[] = {
        { "mail", "send_mail list_mail archive" }, { "SEND", "send_mail" }, { "mail list", "list_mail send_mail archive" },
        { "inbox", "list_mail" }, { "old", "archive" }, { "letters", "" }, { "", "" }, { " ,;", "" }, { "ail", "" },
    };
    const pawl_tool tools[] = {
        { .name = "send_mail", .schema = NONE, .cls = PAWL_PERMISSION_NET, .hint = "post", .description = "Send one.", .deferred = true },
        { .name = "list_mail", .schema = NONE, .cls = PAWL_PERMISSION_NET, .hint = "inbox", .deferred = true },
        { .name = "archive", .schema = NONE, .cls = PAWL_PERMISSION_NET, .hint = "old mails", .deferred = true },
    };
    pawl_err err = {0};
    pawl_tools *t = pawl_tools_new(NULL, &err);

    for (size_t i = 0; i < 3; i++)
        CHECK_INT(pawl_tools_add(t, &tools[i], &err), PAWL_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const pawl_tool *found[8];
        char list[200] = "";
        size_t n = pawl_tools_search(t, rows[i].words, found, 8);

        for (size_t j = 0; j < n; j++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", j > 0 ? " " : "", found[j]->name);
        CHECK_STR(list, rows[i].found);
        CHECK(pawl_tools_search(t, rows[i].words, found, 1) == (n > 0));
    }
    CHECK_INT(pawl_tools_search(t, NULL, NULL, 0), 0);
    pawl_tools_free(t);
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_every_allocation_of_a_set_fails_once)
{
    const char *const run[] = { "a", "b", NULL };
    pawl_tool tool = { .name = "own", .description = "d", .schema = NONE, .cls = PAWL_PERMISSION_READ, .hint = "h", .fn = one };
    heap h;

    heap_init(&h);
    for (size_t n = 0;; n++) {
        pawl_alloc alloc = heap_alloc(&h);
        pawl_err err = {0};
        pawl_tools *t;
        pawl_code rc = PAWL_NOMEM;

        heap_fail_at(&h, n);
        t = pawl_tools_new(&alloc, &err);
        if (t != NULL && (rc = pawl_tools_add_builtin(t, NULL, &err)) == PAWL_OK && (tool.name = "own", rc = pawl_tools_add(t, &tool, &err)) == PAWL_OK)
            tool.name = "program", rc = pawl_tool_command(t, &tool, run, &err);
        CHECK_INT(rc, h.fired ? PAWL_NOMEM : PAWL_OK);
        CHECK_INT(err.code, rc);
        heap_fail_never(&h);
        if (h.fired && t != NULL && pawl_tools_count(t) == 0)       /* what failed can be done again */
            CHECK_INT(pawl_tools_add_builtin(t, NULL, NULL), PAWL_OK);
        pawl_tools_free(t);
        heap_check(&h);
        if (rc == PAWL_OK)
            break;
    }
}

/* ---- docs/TOOLS.md ------------------------------------------------------------------------------------------------ */

static const char *effect_name(pawl_class effect)
{
    static const char *const names[] = { "at-least-once", "pure", "idempotent", "compensable", "once" };

    return names[effect];
}

static const char *type_of(const pawl_value *schema)
{
    if (pawl_value_get(schema, "enum") != NULL)
        return "one of";
    return pawl_value_string(pawl_value_get(schema, "type"));
}

static void inputs_put(buf *b, const pawl_value *schema)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(schema, "properties")), due;
    const pawl_value *key, *v, *name, *word;
    bool first = true;

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        bool needed = false;

        for (due = pawl_iter_of(pawl_value_get(schema, "required")); (name = pawl_iter_next(&due, NULL)) != NULL;)
            needed = needed || pawl_value_equal(name, key);
        buf_fmt(b, "%s`%s`%s %s", first ? "" : ", ", pawl_value_string(key), needed ? "" : "?", type_of(v));
        for (due = pawl_iter_of(pawl_value_get(v, "enum")); (word = pawl_iter_next(&due, NULL)) != NULL;)
            buf_fmt(b, " %s", pawl_value_string(word));
        if (pawl_value_get(v, "maximum") != NULL)
            buf_fmt(b, " %lld to %lld", (long long)pawl_value_int(pawl_value_get(v, "minimum")), (long long)pawl_value_int(pawl_value_get(v, "maximum")));
        if (pawl_value_get(v, "maxItems") != NULL)
            buf_fmt(b, " of at most %lld", (long long)pawl_value_int(pawl_value_get(v, "maxItems")));
        first = false;
    }
    buf_text(b, first ? "none" : "");
}

static void row_put(buf *b, const pawl_tool *t)
{
    arena mem;

    arena_init(&mem, NULL, 4096);
    buf_fmt(b, "| `%s` | `%s` | ", t->name, t->rule);
    inputs_put(b, value_parse(&mem, t->schema, strlen(t->schema), t->name, NULL));
    buf_fmt(b, " | %s | %s | ", pawl_permission_name(t->cls), effect_name(t->effect));
    if (t->fn == NULL)
        buf_text(b, "the agent | | |\n");
    else
        buf_fmt(b, "%lu s | %zu | %s%s%s |\n", (unsigned long)t->timeout_ms / 1000, t->output_bytes, t->beside ? "beside" : "",
                t->beside && t->mutates ? ", " : "", t->mutates ? "mutates" : "");
    arena_free(&mem);
}

static void write_page(const char *path, const char *text, size_t size)
{
    FILE *f = fopen(path, "w");

    CHECK(f != NULL && fwrite(text, 1, size, f) == size);
    CHECK_INT(fclose(f), 0);
}

PAWL_TEST(test_the_page_of_the_tools_has_what_they_say)
{
    static const char path[] = PAWL_SOURCE_DIR "/docs/TOOLS.md", begin[] = "<!-- printed -->\n", end[] = "<!-- until here -->\n";
    char page[65536], *from, *to;
    FILE *f = fopen(path, "r");
    size_t n;
    buf b, whole;
    kit k;

    CHECK(f != NULL);
    n = fread(page, 1, sizeof page - 1, f);
    fclose(f);
    page[n] = '\0';
    CHECK((from = strstr(page, begin)) != NULL && (to = strstr(from, end)) != NULL);
    from += strlen(begin);
    kit_open(&k);
    buf_init(&b, NULL);
    buf_text(&b, "| tool | in rules | input | class | effect | time | output, bytes | |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < pawl_tools_count(k.set); i++)
        row_put(&b, pawl_tools_at(k.set, i));
    if (getenv("PAWL_TOOLS_WRITE") != NULL) {
        buf_init(&whole, NULL);
        buf_put(&whole, page, (size_t)(from - page));
        buf_put(&whole, b.data, b.size);
        buf_text(&whole, to);
        write_page(path, whole.data, whole.size);
        buf_free(&whole);
    } else {
        CHECK_BYTES(from, (size_t)(to - from), b.data, b.size);
    }
    buf_free(&b);
    kit_close(&k);
}
