/* openapi.c - the table of routes as an OpenAPI 3.1 document, and as a page for people (docs/API.md). Pure.
 *
 * Both are made from the table alone, so neither can say what is not so. A row of a stream or a health check has its media type from the table, too. */
#include "json/json.h"
#include "serve/serve_inner.h"

#include <stdio.h>

const char *scope_said(const route *row)
{
    static const struct { uint8_t scope; const char *name; } rows[] = { { SCOPE_READ, "read" }, { SCOPE_ANSWER, "answer" }, { SCOPE_RUN, "run" },
        { SCOPE_ADMIN, "admin" }, { SCOPE_WORK, "work" }, { SCOPE_NAMED, "any" }, { SCOPE_OPEN, "none" } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].scope == row->scope)
            return rows[i].name;
    return "nobody";
}

static void text(buf *b, const char *value) { canon_string(b, value, strlen(value)); }

/* "/v1/runs/{run}/diff/{run}" -> "/v1/runs/{run}/diff/{other}": a name stands for one thing. */
static void path_put(buf *b, const char *path)
{
    const char *first = strstr(path, "{run}"), *second = first != NULL ? strstr(first + 5, "{run}") : NULL;

    if (second == NULL)
        buf_text(b, path);
    else
        buf_fmt(b, "%.*s{other}%s", (int)(second - path), path, second + 5);
}

static bool is_first(const route *table, const route *row)
{
    for (const route *at = table; at != row; at++)
        if (strcmp(at->path, row->path) == 0)
            return false;
    return true;
}

/* ---- OpenAPI --------------------------------------------------------------------------------------------------------- */

static void schema_put(buf *b, const parameter *m)
{
    static const char *const of[] = {
        [MEMBER_TEXT] = "\"type\":\"string\"", [MEMBER_JSON] = "", [MEMBER_FLAG] = "\"type\":\"boolean\"",
        [MEMBER_COUNT] = "\"minimum\":0,\"type\":\"integer\"",
        [MEMBER_EACH] = "\"type\":\"object\"", [MEMBER_BOUNDS] = "\"type\":\"object\"", [MEMBER_LIST] = "\"items\":{\"type\":\"string\"},\"type\":\"array\"",
        [MEMBER_ARG] = "", [MEMBER_ARG_JSON] = "",
    };

    buf_word(b, "{\"description\":");
    text(b, m->what);
    buf_fmt(b, "%s%s}", of[m->kind][0] != '\0' ? "," : "", of[m->kind]);
}

static void param_put(buf *b, const char *in, const char *name, bool needed, const char *schema, const char *what, bool *any)
{
    buf_text(b, *any ? "," : "");
    *any = true;
    buf_word(b, "{\"description\":");
    text(b, what);
    buf_fmt(b, ",\"in\":\"%s\",\"name\":\"%s\",\"required\":%s,\"schema\":%s}", in, name, needed ? "true" : "false", schema);
}

static void params_put(buf *b, const route *row)
{
    const char *first = strstr(row->path, "{run}");
    bool any = false;

    buf_word(b, "\"parameters\":[");
    if (first != NULL)
        param_put(b, "path", "run", true, "{\"type\":\"string\"}", "the whole id of a run", &any);
    if (first != NULL && strstr(first + 5, "{run}") != NULL)
        param_put(b, "path", "other", true, "{\"type\":\"string\"}", "the whole id of another run", &any);
    if (strstr(row->path, "{job}") != NULL)
        param_put(b, "path", "job", true, "{\"type\":\"string\"}", "the id of a job", &any);
    if (strstr(row->path, "{machine}") != NULL)
        param_put(b, "path", "machine", true, "{\"type\":\"string\"}", "the name of a machine", &any);
    if (strstr(row->path, "{task}") != NULL)
        param_put(b, "path", "task", true, "{\"type\":\"string\"}", "the id of a task: of a run", &any);
    if (strstr(row->path, "{config}") != NULL)
        param_put(b, "path", "config", true, "{\"type\":\"string\"}", "the id of a configuration", &any);
    for (const parameter *m = row->params; m->name != NULL; m++)
        param_put(b, "query", m->name, m->needed, m->kind == MEMBER_FLAG ? "{\"maxLength\":0,\"type\":\"string\"}" : "{\"type\":\"string\"}", m->what, &any);
    if (row->keyed)
        param_put(b, "header", "Idempotency-Key", false, "{\"maxLength\":200,\"minLength\":1,\"type\":\"string\"}", "the same request again changes nothing",
                  &any);
    buf_word(b, "],");
}

static void body_put(buf *b, const route *row)
{
    bool needed = false;

    if (row->own && strcmp(row->method, "POST") == 0)   /* as the protocol has it */
        buf_word(b, "\"requestBody\":{\"content\":{\"application/json\":{\"schema\":{\"additionalProperties\":true,\"type\":\"object\"}}},"
                    "\"required\":false},");
    if (row->members == NULL)
        return;
    buf_word(b, "\"requestBody\":{\"content\":{\"application/json\":{\"schema\":{\"additionalProperties\":false,\"properties\":{");
    for (const parameter *m = row->members; m->name != NULL; m++) {
        buf_fmt(b, m == row->members ? "\"%s\":" : ",\"%s\":", m->name);
        schema_put(b, m);
    }
    buf_word(b, "}");
    for (const parameter *m = row->members; m->name != NULL; m++)
        if (m->needed) {
            buf_fmt(b, needed ? ",\"%s\"" : ",\"required\":[\"%s\"", m->name);
            needed = true;
        }
    buf_fmt(b, "%s,\"type\":\"object\"}}},\"required\":%s},", needed ? "]" : "", needed ? "true" : "false");
}

static void operation_put(buf *b, const route *table, const route *row)
{
    const unsigned status = row->how.status != 0 ? row->how.status : 200;

    for (const char *at = row->method; *at != '\0'; at++)
        buf_char(b, (char)(*at | 0x20));
    buf_word(b, "\":{\"description\":");
    text(b, row->what);
    buf_fmt(b, ",\"operationId\":\"op%u\",", (unsigned)(row - table));
    params_put(b, row);
    body_put(b, row);
    buf_fmt(b, "\"responses\":{\"%u\":{", status);
    if (status != 204)
        buf_fmt(b, "\"content\":{\"%s\":{}},", row->how.type);
    buf_fmt(b, "\"description\":\"%s\"},\"default\":{\"$ref\":\"#/components/responses/problem\"}},", http_status_text(status));
    if (row->scope == SCOPE_OPEN)
        buf_word(b, "\"security\":[],");
    buf_fmt(b, "\"x-scope\":\"%s\"}", scope_said(row));
}

void openapi_write(buf *b, const route *table)
{
    bool any = false;

    buf_word(b, "{\"components\":{\"responses\":{\"problem\":{\"content\":{\"application/problem+json\":{\"schema\":{\"properties\":{\"code\":{\"type\":\"string\"},"
                "\"detail\":{\"type\":\"string\"},\"status\":{\"type\":\"integer\"},\"title\":{\"type\":\"string\"}},\"required\":[\"code\",\"detail\",\"status\","
                "\"title\"],\"type\":\"object\"}}},\"description\":\"an error\"}},\"securitySchemes\":{\"token\":{\"scheme\":\"bearer\",\"type\":\"http\"}}},");
    buf_fmt(b, "\"info\":{\"title\":\"Pawl\",\"version\":\"%d.%d.%d\"},\"openapi\":\"3.1.0\",\"paths\":{", PAWL_VERSION_MAJOR, PAWL_VERSION_MINOR,
            PAWL_VERSION_PATCH);
    for (const route *row = table; row->method != NULL; row++) {
        const route *first = row;

        if (!is_first(table, row))
            continue;
        buf_text(b, any ? ",\"" : "\"");
        any = true;
        path_put(b, row->path);
        buf_word(b, "\":{\"");
        for (const route *at = row; at->method != NULL; at++)
            if (strcmp(at->path, row->path) == 0) {
                buf_text(b, at == first ? "" : ",\"");
                operation_put(b, table, at);
            }
        buf_word(b, "}");
    }
    buf_word(b, "},\"security\":[{\"token\":[]}]}\n");
}

/* ---- a page for people ------------------------------------------------------------------------------------------------- */

static void table_put(buf *b, const char *head, const parameter *all)
{
    if (all == NULL || all->name == NULL)
        return;
    buf_fmt(b, "\n| %s | what |\n|---|---|\n", head);
    for (const parameter *m = all; m->name != NULL; m++)
        buf_fmt(b, "| `%s` | %s%s%s |\n", m->name, m->what, m->needed ? "; needed" : "", m->scope == SCOPE_ADMIN ? "; needs the scope admin" : "");
}

void api_page_write(buf *b, const route *table)
{
    buf_word(b, "# Routes of `pawl serve`\n\nThis page is made from the program's table of routes by `tools/api`; `/v1/openapi.json` is the same as an OpenAPI 3.1\n"
                "document. [SERVING.md](SERVING.md) says how requests, tokens, streams and errors work.\n");
    for (const route *row = table; row->method != NULL; row++) {
        const unsigned status = row->how.status != 0 ? row->how.status : 200;

        buf_fmt(b, "\n## %s ", row->method);
        path_put(b, row->path);
        buf_fmt(b, "\n\n%s. Scope: %s. Success: %u", row->what, scope_said(row), status);
        if (status != 204)
            buf_fmt(b, ", `%s`", row->how.type);
        buf_fmt(b, ".%s\n", row->keyed ? " It takes an `Idempotency-Key`." : "");
        table_put(b, "parameter", row->params);
        table_put(b, "member of the body", row->members);
    }
}
