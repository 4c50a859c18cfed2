/* card.c - the agent card: who answers at an address, in which versions, and what it can do. Pure.
 *
 * Called by src/serve. A card is of one machine, or of all machines of a server: then each is a skill, and a message names its skill. */
#include "a2a/a2a.h"

static void text_put(buf *b, const char *name, const char *text)
{
    buf_fmt(b, "\"%s\":", name);
    canon_string(b, text, strlen(text));
}

static const char *described(const a2a_taker *t) { return t->description != NULL && *t->description != '\0' ? t->description : t->name; }

/* Agents take images, and graphs files if they have a channel for them. */
static void modes_put(buf *b, const a2a_taker *t)
{
    buf_word(b, "\"inputModes\":[\"text/plain\",\"application/json\"");
    if (t->agent)
        buf_word(b, ",\"image/png\",\"image/jpeg\",\"image/gif\",\"image/webp\"");
    else if (t->whole)
        buf_word(b, ",\"application/octet-stream\"");
    buf_word(b, "],\"outputModes\":[\"text/plain\",\"application/json\"]");
}

static void skill_put(buf *b, const a2a_taker *t)
{
    buf_char(b, '{');
    text_put(b, "id", t->name);
    buf_char(b, ',');
    text_put(b, "name", t->name);
    buf_char(b, ',');
    text_put(b, "description", described(t));
    buf_fmt(b, ",\"tags\":[\"%s\"", t->agent ? "agent" : "graph");
    for (size_t i = 0; i < t->ntags; i++) {
        buf_char(b, ',');
        canon_string(b, t->tags[i], strlen(t->tags[i]));
    }
    buf_word(b, "],");
    modes_put(b, t);
    buf_char(b, '}');
}

static void body_put(buf *b, const a2a_card *c, bool new)
{
    const a2a_taker *one = c->ntakers == 1 ? c->takers[0] : NULL;

    text_put(b, "name", one != NULL ? one->name : "pawl");
    buf_char(b, ',');
    text_put(b, "description", one != NULL ? described(one) : "Machines of a Pawl server; each is a skill, which metadata.skill of a message names.");
    if (one != NULL)
        buf_fmt(b, ",\"version\":\"%u\"", (unsigned)one->version);
    else
        buf_fmt(b, ",\"version\":\"%s\"", c->server_version);
    buf_fmt(b, ",\"capabilities\":{%s\"pushNotifications\":%s,\"streaming\":true}", new ? "\"extendedAgentCard\":true," : "", c->push ? "true" : "false");
    buf_word(b, ",\"defaultInputModes\":[\"text/plain\",\"application/json\"],\"defaultOutputModes\":[\"text/plain\",\"application/json\"],\"skills\":[");
    for (size_t i = 0; i < c->ntakers; i++) {
        buf_text(b, i > 0 ? "," : "");
        skill_put(b, c->takers[i]);
    }
    buf_char(b, ']');
}

static void interface_put(buf *b, const a2a_card *c, const char *key, const char *binding, const char *version)
{
    buf_fmt(b, "{\"%s\":\"%s\",", key, binding);
    if (version != NULL)
        buf_fmt(b, "\"protocolVersion\":\"%s\",", version);
    text_put(b, "url", c->url);
    buf_char(b, '}');
}

void a2a_card_put(buf *b, const a2a_card *c, a2a_card_shape shape)
{
    buf_char(b, '{');
    body_put(b, c, shape == A2A_CARD_1_0);
    if (shape == A2A_CARD_1_0) {
        buf_word(b, ",\"supportedInterfaces\":[");
        interface_put(b, c, "protocolBinding", "JSONRPC", "1.0");
        buf_char(b, ',');
        interface_put(b, c, "protocolBinding", "HTTP+JSON", "1.0");
        buf_char(b, ',');
        interface_put(b, c, "protocolBinding", "JSONRPC", "0.3");
        buf_char(b, ']');
        if (c->token)
            buf_word(b, ",\"securityRequirements\":[{\"schemes\":{\"bearer\":{\"list\":[]}}}],"
                        "\"securitySchemes\":{\"bearer\":{\"httpAuthSecurityScheme\":{\"scheme\":\"Bearer\"}}}");
    } else {
        buf_word(b, ",\"additionalInterfaces\":[");
        interface_put(b, c, "transport", "JSONRPC", NULL);
        buf_word(b, "],\"preferredTransport\":\"JSONRPC\",\"protocolVersion\":\"0.3.0\",\"supportsAuthenticatedExtendedCard\":true,");
        text_put(b, "url", c->url);
        if (c->token)
            buf_word(b, ",\"security\":[{\"bearer\":[]}],\"securitySchemes\":{\"bearer\":{\"scheme\":\"Bearer\",\"type\":\"http\"}}");
    }
    buf_char(b, '}');
}
