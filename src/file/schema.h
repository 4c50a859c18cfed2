/* schema.h - the JSON Schema of agent files, for editors: agent.schema.json, which the build embeds into the program. */
#ifndef FILE_SCHEMA_H
#define FILE_SCHEMA_H

#include <stddef.h>

extern const char agent_schema[];       /* JSON text, ends in a newline and NUL */
extern const size_t agent_schema_size;  /* without the NUL */

#endif
