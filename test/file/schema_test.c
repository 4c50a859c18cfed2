/* The JSON Schema of agent files has every key that a file may have, explains it, and takes and refuses what it should. */
#include "json/json.h"
#include "file/load/load.h"
#include "file/schema.h"
#include "lib/check.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static arena mem;

static const pawl_value *read_text(const char *text, size_t size)
{
    pawl_err err = { 0 };
    const pawl_value *v = value_parse(&mem, text, size, "text", &err);

    if (v == NULL)
        CHECK_FAIL("%s", err.text);
    return v;
}

static const pawl_value *the_schema(void)
{
    arena_free(&mem);
    arena_init(&mem, NULL, 65536);
    return read_text(agent_schema, agent_schema_size);
}

static void check_described(const pawl_value *root, const char *where, const char *const *keys, size_t n)
{
    const pawl_value *all = pawl_value_find(root, where), *one;

    for (size_t i = 0; i < n; i++) {
        const char *ref;

        if ((one = pawl_value_get(all, keys[i])) == NULL)
            CHECK_FAIL("%s: no %s", where, keys[i]);
        if ((ref = pawl_value_string(pawl_value_get(one, "$ref"))) != NULL && pawl_value_get(one, "description") == NULL)
            one = pawl_value_find(root, ref + 1);
        if (pawl_value_size(pawl_value_get(one, "description")) == 0)
            CHECK_FAIL("%s/%s says nothing of itself", where, keys[i]);
    }
    if (pawl_value_size(all) != n)
        CHECK_FAIL("%s has %zu keys, more than the %zu that are known", where, pawl_value_size(all), n);
}
#define DESCRIBED(root, where, ...)                                                                          \
    check_described(root, where, (const char *const[]){ __VA_ARGS__ },                                       \
                    sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

PAWL_TEST(test_every_key_of_the_loader_is_explained)
{
    const pawl_value *s = the_schema();

    check_described(s, "/properties", file_key_names, file_key_count);
    check_described(s, "/$defs/node/properties", node_key_names, node_key_count);
    check_described(s, "/properties/agent/properties", agent_key_names, agent_key_count);
}

/* As load.c, node_keys.c and keys.c have them beside what they do. */
PAWL_TEST(test_every_key_further_down_is_explained)
{
    const pawl_value *s = the_schema();

    DESCRIBED(s, "/properties/defaults/properties", "retry", "timeout", "model");
    DESCRIBED(s, "/$defs/channel/anyOf/1/properties", "merge", "default", "secret", "keep", "accumulate");
    DESCRIBED(s, "/$defs/channel/anyOf/1/properties/secret/properties", "env", "file", "given");
    DESCRIBED(s, "/$defs/retry/properties", "max_attempts", "initial", "max", "factor", "jitter");
    DESCRIBED(s, "/$defs/timeout/anyOf/1/properties", "attempt", "total");
    DESCRIBED(s, "/$defs/node/properties/http/anyOf/1/properties", "url", "method", "headers", "body", "timeout_ms", "response_bytes",
              "redirects", "ca");
    DESCRIBED(s, "/$defs/node/properties/wait/anyOf/1/properties", "for", "until", "signal");
    DESCRIBED(s, "/$defs/node/properties/each/properties", "of", "node", "as");
    DESCRIBED(s, "/$defs/node/properties/join/anyOf/1/properties", "of", "need", "rest");
    DESCRIBED(s, "/$defs/node/properties/undo/properties", "run", "stdin", "env", "cwd");
    DESCRIBED(s, "/properties/agent/properties/thinking/anyOf/1/properties", "budget_tokens");
    DESCRIBED(s, "/properties/agent/properties/compact/anyOf/1/properties", "tokens", "method");
    DESCRIBED(s, "/properties/agent/properties/post_tools/anyOf/1/properties", "run", "env");
    DESCRIBED(s, "/$defs/hook/properties", "type", "command", "run", "env", "url", "headers", "timeout", "profile", "if", "statusMessage");
    DESCRIBED(s, "/$defs/tool/properties", "name", "description", "schema", "run", "class", "effect", "timeout",
              "beside", "rule", "mutates", "deferred", "hint", "env");
}

static void check_same_keys(const pawl_value *a, const pawl_value *b)
{
    pawl_iter it = pawl_iter_of(a);
    const pawl_value *key;

    CHECK_INT(pawl_value_size(a), pawl_value_size(b));
    while (pawl_iter_next(&it, &key) != NULL)
        if (pawl_value_get(b, pawl_value_string(key)) == NULL)
            CHECK_FAIL("%s is not in both", pawl_value_string(key));
}

PAWL_TEST(test_a_known_node_knows_every_key)
{
    const pawl_value *s = the_schema();

    check_same_keys(pawl_value_find(s, "/$defs/node/properties"), pawl_value_find(s, "/$defs/known-node/properties"));
}

static void check_refs(const pawl_value *root, const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *key, *item;

    while ((item = pawl_iter_next(&it, &key)) != NULL) {
        const char *ref = key != NULL && strcmp(pawl_value_string(key), "$ref") == 0 ? pawl_value_string(item) : NULL;

        if (ref != NULL && pawl_value_find(root, ref + 1) == NULL)
            CHECK_FAIL("%s is not there", ref);
        check_refs(root, item);
    }
}

PAWL_TEST(test_every_ref_leads_somewhere)
{
    const pawl_value *s = the_schema();

    check_refs(s, s);
}

/* The whole file; `if` and `else` are not looked at here, so the nodes are held against known-node, too. */
static pawl_code fit(const pawl_value *s, const pawl_value *v, pawl_err *err)
{
    static const char *const known = "{\"additionalProperties\":{\"$ref\":\"#/$defs/known-node\"}}";
    const pawl_value *nodes = value_with(&mem, read_text(known, strlen(known)), "$defs", pawl_value_get(s, "$defs"));
    pawl_code rc = schema_check(s, v, "file", err);

    return rc != PAWL_OK || pawl_value_get(v, "plugins") != NULL || pawl_value_get(v, "jobs") != NULL || pawl_value_get(v, "agent") != NULL
               ? rc : schema_check(nodes, pawl_value_get(v, "nodes"), "nodes", err);
}

static bool fits(const char *text)
{
    const pawl_value *s = the_schema();
    pawl_err err = { 0 };

    return fit(s, read_text(text, strlen(text)), &err) == PAWL_OK;
}

/* Answers of a scripted model are YAML, too, and no agent file. False: it is none. */
static bool check_example(const char *path, bool broken)
{
    static char text[FILE_BYTES_MAX];
    const pawl_value *s = the_schema(), *v;
    FILE *in = fopen(path, "r");
    size_t n = in == NULL ? 0 : fread(text, 1, sizeof text, in);
    pawl_err err = { 0 };
    pawl_code rc;
    faults f;

    if (in != NULL)
        fclose(in);
    faults_init(&f, &mem);
    v = doc_value(doc_read(&mem, path, (pawl_bytes){ text, n }, &f), &mem, &f);
    if (v == NULL || f.count > 0)
        CHECK_FAIL("%s: %s", path, f.first == NULL ? "no memory" : f.first->text);
    if (pawl_value_get(v, "nodes") == NULL && pawl_value_get(v, "agent") == NULL)
        return false;
    rc = fit(s, v, &err);
    if (broken ? rc == PAWL_OK : rc != PAWL_OK)
        CHECK_FAIL("%s: %s", path, broken ? "taken" : err.text);
    return true;
}

PAWL_TEST(test_every_example_fits)
{
    const char *const folder = PAWL_SOURCE_DIR "/examples";
    DIR *d = opendir(folder);
    struct dirent *one;
    size_t n = 0;

    while (d != NULL && (one = readdir(d)) != NULL) {
        char path[1024];
        const char *dot = strrchr(one->d_name, '.');

        if (dot == NULL || strcmp(dot, ".yaml") != 0 || strstr(one->d_name, "-answers.") != NULL || strcmp(one->d_name, "broken.yaml") == 0)
            continue;           /* the others are what a scripted model says, and what another one mends */
        snprintf(path, sizeof path, "%s/%s", folder, one->d_name);
        n += check_example(path, strcmp(one->d_name, "broken.yaml") == 0);
    }
    if (d != NULL)
        closedir(d);
    if (n == 0)
        check_skip("there are no agent files under examples/");
}

typedef struct trial { const char *head, *node; bool good; } trial;

static pawl_code give(void *ctx, arena *to, const char *from, const char *name, const char **path, pawl_bytes *text, pawl_err *err)
{
    (void)to;
    (void)err;
    *path = name;
    *text = from == NULL ? *(const pawl_bytes *)ctx : (pawl_bytes){ "", 0 };
    return PAWL_OK;
}

/* What the loader says of it. */
static bool loads(const char *text, char why[256])
{
    pawl_bytes bytes = { text, strlen(text) };
    const file_reader reader = { .read = give, .ctx = &bytes };
    faults f;

    faults_init(&f, &mem);
    file_load(&mem, "trial.json", &reader, &f);
    snprintf(why, 256, "%s", f.first == NULL ? "" : f.first->text);
    return f.count == 0;
}

/* Both say the same of every trial. */
PAWL_TEST(test_what_fits_is_what_loads)
{
    static const trial all[] = {
        { "", "\"set\":{\"n\":\".n + 1\"}", true },
        { "", "\"set\":{\"n\":5,\"m\":{\"__overwrite__\":\"{{.n}}\"}}", true },
        { "\"name\":\"s\",\"version\":2,\"retention\":\"keep:7d\",\"output\":\".n\",\"gate\":\"deny\",", "\"run\":[\"head\",\"-n\",5]", true },
        { "\"max_steps\":5,\"max_concurrency\":2,\"no_progress\":3,\"interrupt_before\":\"a\",\"interrupt_after\":[\"a\"],\"turns\":\"more?\",",
          "\"shell\":\"ls \\\"$1\\\"\",\"args\":[\"{{.n}}\"],\"env\":{\"A\":\"1\"},\"cwd\":\"/\",\"output_bytes\":100,\"lines\":\"n\"", true },
        { "\"defaults\":{\"retry\":{\"max_attempts\":3},\"timeout\":{\"attempt\":\"1.5s\",\"total\":\"1 m\"}},",
          "\"ask\":\"well?\",\"to\":\"n\",\"options\":[\"yes\",\"no\"],\"timeout\":\"2h\",\"default\":\"no\",\"of\":\"me\"", true },
        { "", "\"ask\":\"sure?\",\"run\":[\"tee\"],\"stdin\":[\"{{.n}}\"],\"on_no\":\"end\",\"on_error\":\"end\",\"artifact\":\"report\"", true },
        { "\"description\":\"d\",", "\"http\":\"http://x/{{.n}}\",\"json\":\"n\",\"retry\":{\"max_attempts\":3,\"initial\":\"1s\",\"jitter\":true}", true },
        { "", "\"http\":{\"url\":\"http://x\",\"method\":\"PUT\",\"headers\":{\"A\":\"b\"},\"body\":{\"a\":\"{{.n}}\"},\"redirects\":0},\"status\":\"n\"",
          true },
        { "", "\"wait\":{\"signal\":\"go\"},\"to\":\"n\"", true },
        { "", "\"wait\":{\"until\":\"03:00\"},\"interrupt_after\":true,\"defer\":true,\"description\":\"d\"", true },
        { "", "\"wait\":\"5m\",\"interrupt_before\":true,\"requires\":\"plan\"", true },
        { "", "\"run\":[\"cp\"],\"effect\":\"compensable\",\"undo\":{\"run\":[\"rm\"],\"env\":{\"A\":\"b\"}}", true },
        { "", "\"run\":[\"true\"],\"each\":{\"of\":\".l\",\"node\":\"a\",\"as\":\"i\"}", true },

        { "\"nodez\":{},", "\"run\":[\"true\"]", false },
        { "\"name\":\"-s\",\"max_steps\":0,", "\"run\":[\"true\"]", false },
        { "\"gate\":\"shut\",", "\"run\":[\"true\"]", false },
        { "\"no_progress\":0,", "\"run\":[\"true\"]", false },
        { "\"defaults\":{\"retry\":{\"initial\":\"1s\"}},", "\"run\":[\"true\"]", false },
        { "\"plugins\":5,", "\"run\":[\"true\"]", false },
        { "\"jobs\":[\"mail\"],", "\"mail\":{\"to\":\"ada\"}", true },
        { "\"jobs\":[\"-mail\"],", "\"run\":[\"true\"]", false },
        { "", "\"description\":\"does nothing\"", false },
        { "", "\"run\":[\"true\"],\"shell\":\"true\"", false },
        { "", "\"run\":\"true\"", false },
        { "", "\"run\":[]", false },
        { "", "\"run\":[\"true\"],\"nexxt\":\"end\"", false },
        { "", "\"run\":[\"true\"],\"effect\":\"twice\"", false },
        { "", "\"run\":[\"true\"],\"requires\":\"root\"", false },
        { "", "\"run\":[\"true\"],\"interrupt_after\":\"yes\"", false },
        { "", "\"run\":[\"true\"],\"each\":{\"of\":\".l\",\"node\":\"a\"}", false },
        { "", "\"run\":[\"true\"],\"join\":{\"need\":1}", false },
        { "", "\"run\":[\"true\"],\"undo\":{\"env\":{}}", false },
        { "", "\"tool\":[\"bash\"]", false },
        { "", "\"http\":{\"method\":\"GET\"}", false },
        { "", "\"http\":{\"url\":\"http://x\",\"verb\":\"GET\"}", false },
        { "", "\"wait\":{\"for\":\"5m\",\"signal\":\"go\"}", false },
        { "", "\"ask\":\"well?\",\"to\":\"n\",\"options\":[]", false },
    };
    char text[1024], why[256];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        bool fitting, load;

        snprintf(text, sizeof text, "{%s\"start\":\"a\",\"state\":{\"n\":{},\"m\":null,\"l\":{\"merge\":\"append\",\"default\":[]},"
                 "\"t\":{\"secret\":{\"env\":\"T\"}}},\"nodes\":{\"a\":{%s,\"next\":\"end\"}}}", all[i].head, all[i].node);
        fitting = fits(text);
        load = loads(text, why);
        if (fitting != all[i].good)
            CHECK_FAIL("the schema %s: %s", fitting ? "takes" : "refuses", text);
        if (load != all[i].good)
            CHECK_FAIL("the loader %s: %s (%s)", load ? "takes" : "refuses", text, why);
    }
}

PAWL_TEST(test_what_is_around_the_nodes)
{
    static const char *const bad[] = {
        "{\"nodes\":{\"a\":{\"set\":{\"n\":\"1\"},\"next\":\"end\"}}}",
        "{\"start\":\"a\"}",
        "{\"start\":\"a\",\"nodes\":[]}",
        "{\"start\":\"a\",\"nodes\":{\"a\":{\"run\":[\"true\"]}}}",
        "{\"start\":\"a\",\"nodes\":{\"a\":{\"run\":[\"true\"],\"next\":[{\"when\":\".n\"}]}}}",
        "{\"start\":\"a\",\"nodes\":{\"a\":{\"run\":[\"true\"],\"next\":[{\"when\":\".n\",\"to\":\"a\"},\"end\"]}}}",
        "{\"start\":\"a\",\"state\":{\"n\":{\"merge\":\"add\"}},\"nodes\":{\"a\":{\"run\":[\"true\"],\"next\":\"end\"}}}",
        "{\"start\":\"a\",\"state\":{\"n\":5},\"nodes\":{\"a\":{\"run\":[\"true\"],\"next\":\"end\"}}}",
        "{\"start\":\"a\",\"state\":{\"t\":{\"secret\":{\"env\":\"T\",\"file\":\"t\"}}},\"nodes\":{\"a\":{\"run\":[\"true\"],\"next\":\"end\"}}}",
    };
    static const char *const good[] = {
        "{\"start\":[\"a\",\"b\"],\"nodes\":{\"a\":{\"run\":[\"true\"],\"next\":[\"c\"]},\"b\":{\"run\":[\"true\"],\"next\":\"c\"},"
        "\"c\":{\"wait\":\"5s\",\"join\":{\"of\":[\"a\",\"b\"],\"need\":1,\"rest\":\"cancel\"},\"next\":"
        "[{\"when\":\".n\",\"to\":\"a\"},{\"else\":\"end\"}]}},\"state\":{\"n\":{\"keep\":\"context\"},\"q\":{\"merge\":\"topic\",\"accumulate\":true}}}",
    };
    char why[256];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (fits(bad[i]) || loads(bad[i], why))
            CHECK_FAIL("taken: %s", bad[i]);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!fits(good[i]))
            CHECK_FAIL("the schema refuses: %s", good[i]);
        if (!loads(good[i], why))
            CHECK_FAIL("the loader refuses: %s (%s)", good[i], why);
    }
}

PAWL_TEST(test_an_agent_in_place_of_a_graph)
{
    static const char *const bad[] = {
        "{\"agent\":{}}",
        "{\"agent\":\"anthropic/x\"}",
        "{\"agent\":{\"model\":\"anthropic/x\"},\"start\":\"a\",\"nodes\":{\"a\":{\"run\":[\"true\"],\"next\":\"end\"}}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"mode\":\"bypassPermissions\"}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"tools\":[{\"name\":\"a\"}]}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"tools\":[{\"name\":\"a\",\"run\":[\"b\"],\"class\":\"c\"}]}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"tools\":[{\"name\":\"a\",\"run\":[\"b\"],\"env\":{\"A_API_KEY\":\"x\"}}]}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"tools\":[{\"name\":\"a\",\"run\":[\"b\"],\"env\":[]}]}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"tool\":[]}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"post_tools\":{\"env\":[\"A_API_KEY\"]}}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"post_tools\":{\"run\":[\"a\"],\"env\":[]}}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"post_tools\":{\"run\":[\"a\"],\"stdin\":\"x\"}}}",
        "{\"agent\":{\"model\":\"anthropic/x\"},\"hooks\":{\"PreToolUse\":{}}}",
        "{\"agent\":{\"model\":\"anthropic/x\"},\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\"}]}}",
        "{\"agent\":{\"model\":\"anthropic/x\"},\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"shell\"}]}]}}",
        "{\"agent\":{\"model\":\"anthropic/x\"},\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\",\"env\":{\"A\":\"b\"}}]}]}}",
        "{\"agent\":{\"model\":\"anthropic/x\"},\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\",\"timeout\":0}]}]}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"compact\":{\"method\":\"drop\"}}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"max_iterations\":0}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"mcp\":{}}}",
    };
    static const char *const good[] = {
        "{\"agent\":{\"model\":\"anthropic/x\"}}",
        "{\"agent\":{\"model\":\"anthropic/x\",\"post_tools\":{\"run\":[\"wc\",1],\"env\":[\"A_API_KEY\"]}},\"hooks\":{\"Notification\":[],\"PreToolUse\":["
        "{\"matcher\":\"Bash|Edit\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\",\"env\":[\"A_API_KEY\"],\"timeout\":5,\"if\":\"Bash(git:*)\"},"
        "{\"type\":\"command\",\"run\":[\"x\",\"y\"],\"profile\":\"claude\",\"statusMessage\":\"\"},"
        "{\"type\":\"http\",\"url\":\"https://h/x\",\"headers\":{\"a\":\"b\"}}]}]}}",
        "{\"agent\":{\"model\":\"other-host/a/b:7\",\"name\":\"n\",\"tools\":[{\"name\":\"t\",\"run\":[\"wc\",1],\"class\":\"read\",\"schema\":{\"type\":\"object\"},"
        "\"timeout\":\"5s\",\"beside\":false,\"env\":[\"A_API_KEY\"]}],\"temperature\":0.5,\"thinking\":2000,\"compact\":{\"tokens\":5,\"method\":\"drop\"},\"denied\":\"tell\","
        "\"post_tools\":[\"cat\"],\"budget\":{\"calls\":5}},\"permissions\":{\"deny\":[\"Bash\"]},\"retention\":\"keep\"}",
    };
    char why[256];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (fits(bad[i]) || loads(bad[i], why))
            CHECK_FAIL("taken: %s", bad[i]);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!fits(good[i]))
            CHECK_FAIL("the schema refuses: %s", good[i]);
        if (!loads(good[i], why))
            CHECK_FAIL("the loader refuses: %s (%s)", good[i], why);
    }
}

int main(int argc, char **argv)
{
    int code = check_main(argc, argv);

    arena_free(&mem);
    return code;
}
