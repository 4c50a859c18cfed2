/* version.c - `pawl version`: the versions of Pawl and of its libraries.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "effect/jq/jq.h"
#include "cli/verbs.h"

#include <sqlite3.h>

static int version_run(cli_call *c)
{
    uint32_t yy = yyjson_version();
    char yyjson[32];
    jq *q = jq_open(NULL, 0);
    const char *engine = q == NULL ? "" : jq_engine(q, NULL);
    const pawl_value *v;
    bool put = true;

    if (strncmp(engine, "jq-", 3) == 0)
        engine += 3;
    snprintf(yyjson, sizeof yyjson, "%u.%u.%u", yy >> 16, yy >> 8 & 0xff, yy & 0xff);
    if (c->json) {
        v = value_pack(&c->mem, NULL, "{s:s,s:s,s:s}", "pawl", pawl_version(), "sqlite", sqlite3_libversion(), "yyjson", yyjson);
        if (engine[0] != '\0')
            v = value_with(&c->mem, v, "jq", value_string(&c->mem, engine, strlen(engine)));
        put = cli_json(c, v);
    } else {
        printf("pawl %s\nsqlite %s\nyyjson %s\n", pawl_version(), sqlite3_libversion(), yyjson);
        printf("jq %s\n", engine[0] == '\0' ? "is not there: expressions beyond a path cannot be evaluated" : engine);
    }
    jq_close(q);
    return put ? EXIT_DONE : EXIT_FAILED;
}

static const cli_option options[] = {
    { "json", NULL, "one JSON object" },
    { NULL, NULL, NULL },
};

const cli_verb verb_version = {
    .name = "version", .form = "", .what = "print the versions of Pawl and its libraries", .options = options, .run = version_run,
    .about = "--json: {\"jq\",\"pawl\",\"sqlite\",\"yyjson\"}; jq is omitted if it is not installed.",
    .example = "pawl version\npawl --version                  # the first line alone",
};
