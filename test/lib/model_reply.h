/* model_reply.h - writes the reply of a model from a text and tool calls, "NAME ID INPUT;NAME ID INPUT". */
#ifndef TEST_LIB_MODEL_REPLY_H
#define TEST_LIB_MODEL_REPLY_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The reply of the effect "llm" as JSON; `text` and `calls` may be NULL. Neither may need escapes. False: `calls` is malformed. */
static inline bool model_reply(char *json, size_t room, const char *text, const char *calls)
{
    size_t n = (size_t)snprintf(json, room, "{\"message\":{\"content\":[");
    const char *sep = "";

    if (text != NULL)
        n += (size_t)snprintf(json + n, room - n, "{\"text\":\"%s\",\"type\":\"text\"}", text), sep = ",";
    while (calls != NULL && *calls != '\0') {
        char name[64], id[64];
        int at = 0;
        const char *end;

        if (sscanf(calls, "%63s %63s %n", name, id, &at) != 2)
            return false;
        end = strchr(calls + at, ';');
        end = end != NULL ? end : calls + strlen(calls);
        n += (size_t)snprintf(json + n, room - n, "%s{\"id\":\"%s\",\"input\":%.*s,\"name\":\"%s\",\"type\":\"tool_use\"}", sep, id,
                              (int)(end - calls - at), calls + at, name);
        sep = ",";
        calls = *end == ';' ? end + 1 : end;
    }
    snprintf(json + n, room - n, "],\"role\":\"assistant\"},\"stop\":\"end_turn\",\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}");
    return true;
}

#endif
