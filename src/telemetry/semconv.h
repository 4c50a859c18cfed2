/* semconv.h - the names of attributes by the semantic conventions for generative AI, one table for each version.
 *
 * These conventions are in development, and names of theirs change; so no name stands anywhere else. Pure. */
#ifndef TELEMETRY_SEMCONV_H
#define TELEMETRY_SEMCONV_H

typedef struct semconv {
    const char *version;
    const char *operation, *agent, *conversation, *provider, *request_model, *response_model, *finish_reasons, *input_tokens, *output_tokens,
        *cache_read_tokens, *cache_write_tokens, *tool, *tool_call, *error;
    const char *invoke_agent, *chat, *execute_tool;     /* values of `operation`, and the first words of names of spans */
} semconv;

extern const semconv semconv_tables[];  /* newest first; ends with a version of NULL */
const semconv *semconv_of(const char *version);         /* NULL: the newest. NULL is returned if there is none of that version */

#endif
