/* schema_text.h - the schemas of the built-in tools as C texts. */
#ifndef EFFECT_TOOL_SCHEMA_TEXT_H
#define EFFECT_TOOL_SCHEMA_TEXT_H

#define OBJECT(required, properties) \
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[" required "],\"properties\":{" properties "}}"
#define TEXT(name, more, what) "\"" name "\":{\"type\":\"string\"" more ",\"description\":\"" what "\"}"
#define NUMBER(name, least, most, what) \
    "\"" name "\":{\"type\":\"integer\",\"minimum\":" #least ",\"maximum\":" #most ",\"description\":\"" what "\"}"
#define FLAG(name, what) "\"" name "\":{\"type\":\"boolean\",\"description\":\"" what "\"}"
#define SOME ",\"minLength\":1"

#endif
