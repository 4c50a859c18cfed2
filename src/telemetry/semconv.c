/* semconv.c - the tables of names by version. Constant. */
#include "telemetry/semconv.h"

#include <stddef.h>
#include <string.h>

const semconv semconv_tables[] = {
    { .version = "0.1",
      .operation = "gen_ai.operation.name", .agent = "gen_ai.agent.name", .conversation = "gen_ai.conversation.id", .provider = "gen_ai.provider.name",
      .request_model = "gen_ai.request.model", .response_model = "gen_ai.response.model", .finish_reasons = "gen_ai.response.finish_reasons",
      .input_tokens = "gen_ai.usage.input_tokens", .output_tokens = "gen_ai.usage.output_tokens",
      .cache_read_tokens = "gen_ai.usage.cache_read.input_tokens", .cache_write_tokens = "gen_ai.usage.cache_creation.input_tokens",
      .tool = "gen_ai.tool.name", .tool_call = "gen_ai.tool.call.id", .error = "error.type",
      .invoke_agent = "invoke_agent", .chat = "chat", .execute_tool = "execute_tool" },
    { .version = NULL },
};

const semconv *semconv_of(const char *version)
{
    for (const semconv *s = semconv_tables; s->version != NULL; s++)
        if (version == NULL || strcmp(s->version, version) == 0)
            return s;
    return NULL;
}
