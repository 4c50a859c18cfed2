/* schema.c - `pawl schema`: prints the JSON Schema of agent files, for editors.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "cli/cli.h"
#include "file/schema.h"

static int run_schema(cli_call *c)
{
    (void)c;
    fwrite(agent_schema, 1, agent_schema_size, stdout);     /* main reports at the end if stdout could not be written */
    return EXIT_DONE;
}

const cli_verb verb_schema = {
    .name = "schema",
    .form = "",
    .what = "print the JSON Schema of agent files, for editors",
    .about = "An editor that knows the schema completes and explains keys and marks errors.\n"
             "Keep it beside the files, and name it in their first line. `pawl check FILE`\n"
             "also finds errors that a schema cannot, such as a missing node.",
    .example = "pawl schema > pawl.schema.json\n"
               "sed -i '1i # yaml-language-server: $schema=pawl.schema.json' survey.yaml",
    .run = run_schema,
};
