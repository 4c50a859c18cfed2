/* a2a_routes.c - requests of A2A from their target and body to what they ask: JSON-RPC at one address, HTTP+JSON at paths below it. Loop thread. */
#include "serve/a2a_call.h"

#include <stdio.h>
#include <strings.h>

static void call_unknown(a2a_call *c)
{
    (void)a2a_wrong(&c->fault, A2A_METHOD_NOT_FOUND, NULL, "no such path; GET / lists those of this server");
    a2a_reply_fault(c);
}

/* "application/json; charset=utf-8" */
static bool media_is(const char *given, const char *media)
{
    const size_t n = strlen(media);

    return given != NULL && strncasecmp(given, media, n) == 0 && (given[n] == '\0' || given[n] == ';' || given[n] == ' ');
}

static bool media_fits(a2a_call *c)
{
    const char *type = http_header(c->r, "content-type"), *accept = http_header(c->r, "accept");

    if (c->rest && (media_is(type, "application/a2a+json") || (accept != NULL && strstr(accept, "application/a2a+json") != NULL)))
        c->media = "application/a2a+json";
    if (media_is(type, "application/json") || media_is(type, "application/a2a+json") || (c->rest && http_body(c->r).size == 0))
        return true;
    return a2a_wrong(&c->fault, A2A_CONTENT_TYPE, NULL, "the body is JSON, with Content-Type: application/json");
}

/* Cuts "/a2a/NAME" off the path. NULL: there is no such machine, or none that the caller may see. */
static const char *path_below(a2a_call *c)
{
    const char *path = http_path(c->r), *name = path + 5;
    const size_t n = strncmp(path, "/a2a/", 5) == 0 ? strcspn(name, "/") : 0;
    const serve_config *config = c->s->config;

    if (strcmp(path, "/a2a") == 0 || strcmp(path, "/a2a/") == 0)
        return "";
    if (n == 0)
        return path;
    for (size_t i = 0; i < config->nmachines && c->machine == NULL; i++)
        if (strlen(config->machines[i].name) == n && strncmp(config->machines[i].name, name, n) == 0 && machine_fits(c->by.who, &config->machines[i]))
            c->machine = &config->machines[i];
    return c->machine != NULL ? name + n : NULL;
}

/* `tenant` is the name of a machine, as in its address. */
static bool tenant_fits(a2a_call *c)
{
    const serve_config *config = c->s->config;

    if (c->q.tenant == NULL || (c->machine != NULL && strcmp(c->machine->name, c->q.tenant) == 0))
        return true;
    for (size_t i = 0; i < config->nmachines && c->machine == NULL; i++)
        if (strcmp(config->machines[i].name, c->q.tenant) == 0 && machine_fits(c->by.who, &config->machines[i]))
            c->machine = &config->machines[i];
    return (c->machine != NULL && strcmp(c->machine->name, c->q.tenant) == 0) ||
           a2a_wrong(&c->fault, A2A_INVALID_PARAMS, "tenant", "tenant: no such machine at this address");
}

static void get(a2a_call *c)
{
    if (!a2a_scopes(c, SCOPE_READ))
        return;
    if (!a2a_run_is_seen(c, c->q.task)) {
        a2a_reply_fault(c);
        return;
    }
    snprintf(c->run, sizeof c->run, "%s", c->q.task);
    a2a_follow(c);
}

static void perform(a2a_call *c)
{
    if (c->fault.error != A2A_FINE || !tenant_fits(c)) {
        a2a_reply_fault(c);
        return;
    }
    switch (c->q.method) {
    case A2A_SEND: case A2A_STREAM: a2a_send(c); return;
    case A2A_GET: case A2A_SUBSCRIBE: get(c); return;
    case A2A_LIST: a2a_list(c); return;
    case A2A_CANCEL: a2a_cancel(c); return;
    case A2A_EXTENDED_CARD: a2a_extended_card(c); return;
    case A2A_PUSH_CREATE: case A2A_PUSH_GET: case A2A_PUSH_LIST: case A2A_PUSH_DELETE: case A2A_METHODS: break;
    }
    call_unknown(c);
}

/* The header, or the parameter of the query. */
static const char *version_given(a2a_call *c, const params *p)
{
    const char *header = http_header(c->r, "a2a-version");

    return header != NULL ? header : params_get(p, "A2A-Version");
}

void serve_a2a_rpc(server *s, http_req *r, const admitted *by, const char *run, const params *none)
{
    a2a_call *c = a2a_call_new(s, r, by);
    params p;

    (void)run, (void)none;
    if (c == NULL)
        return;
    if (!params_read(&p, http_query(r)))
        (void)a2a_wrong(&c->fault, A2A_INVALID_REQUEST, NULL, "the target is malformed");
    else if (media_fits(c) && a2a_rpc_read(&c->mem, http_body(r), version_given(c, &p), &c->q, &c->fault) && path_below(c) == NULL)
        (void)a2a_wrong(&c->fault, A2A_INVALID_REQUEST, NULL, "no such machine at this address");
    perform(c);
    params_free(&p);
}

/* ---- HTTP+JSON ------------------------------------------------------------------------------------------------------------- */

typedef struct rest_path { const char *method, *path; a2a_method asks; } rest_path;
static const rest_path rest_paths[] = {         /* {} is the id of a task, or of a configuration */
    { "POST", "/message:send", A2A_SEND }, { "POST", "/message:stream", A2A_STREAM }, { "GET", "/tasks", A2A_LIST },
    { "POST", "/tasks/{}:cancel", A2A_CANCEL }, { "GET", "/tasks/{}:subscribe", A2A_SUBSCRIBE }, { "POST", "/tasks/{}:subscribe", A2A_SUBSCRIBE },
    { "GET", "/tasks/{}", A2A_GET }, { "POST", "/tasks/{}/pushNotificationConfigs", A2A_PUSH_CREATE },
    { "GET", "/tasks/{}/pushNotificationConfigs", A2A_PUSH_LIST }, { "GET", "/tasks/{}/pushNotificationConfigs/{}", A2A_PUSH_GET },
    { "DELETE", "/tasks/{}/pushNotificationConfigs/{}", A2A_PUSH_DELETE }, { "GET", "/extendedAgentCard", A2A_EXTENDED_CARD },
};

/* Whether `path` is of this pattern; its first {} goes to *id. */
static bool rest_fits(const char *pattern, const char *path, pawl_bytes *id)
{
    *id = (pawl_bytes){ NULL, 0 };
    while (*pattern != '\0' && *path != '\0') {
        if (*pattern == '{') {
            size_t n = strcspn(path, "/");

            pattern += 2;
            if (*pattern == ':' && n > strlen(pattern) && strncmp(path + n - strlen(pattern), pattern, strlen(pattern)) == 0)
                n -= strlen(pattern);
            *id = id->data == NULL ? (pawl_bytes){ path, n } : *id;
            path += n;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == '\0' && *path == '\0';
}

static bool rest_find(a2a_call *c, const char *path, pawl_bytes *id)
{
    const char *method = strcmp(http_method(c->r), "HEAD") == 0 ? "GET" : http_method(c->r);

    for (size_t i = 0; i < sizeof rest_paths / sizeof rest_paths[0]; i++)
        if (strcmp(rest_paths[i].method, method) == 0 && rest_fits(rest_paths[i].path, path, id)) {
            c->q.method = rest_paths[i].asks;
            return true;
        }
    return false;
}

/* The parameters: of the query, or the body; and the id of the path. NULL: the fault was set. */
static const pawl_value *rest_params(a2a_call *c, const params *p, pawl_bytes id)
{
    const pawl_bytes body = http_body(c->r);
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v = body.size > 0 ? value_parse(&c->mem, body.data, body.size, "the body", &err) : value_pack(&c->mem, &err, "{}");
    const char *task = id.data != NULL ? segment_decode(&c->mem, id.data, id.size) : NULL;

    for (size_t i = 0; v != NULL && i < p->n; i++)
        if (pawl_value_get(v, p->names[i]) == NULL)
            v = value_with(&c->mem, v, p->names[i], value_string(&c->mem, p->values[i], strlen(p->values[i])));
    if (v != NULL && pawl_value_type(v) != PAWL_TYPE_OBJECT)
        (void)a2a_wrong(&c->fault, A2A_INVALID_PARAMS, "body", "the body is an object in JSON");
    else if (v == NULL)
        (void)a2a_wrong(&c->fault, err.code == PAWL_NOMEM ? A2A_INTERNAL : A2A_PARSE_ERROR, NULL, "%s", err.text);
    else if (id.data != NULL && task == NULL)
        (void)a2a_wrong(&c->fault, A2A_TASK_NOT_FOUND, NULL, "task not found");
    else
        return task != NULL ? value_with(&c->mem, v, "id", value_string(&c->mem, task, strlen(task))) : v;
    return NULL;
}

void serve_a2a_rest(server *s, http_req *r, const admitted *by, const char *run, const params *none)
{
    a2a_call *c = a2a_call_new(s, r, by);
    a2a_version said = A2A_1_0;
    const pawl_value *v = NULL;
    pawl_bytes id;
    const char *path;
    params p;

    (void)run, (void)none;
    if (c == NULL)
        return;
    c->rest = true;
    if (!params_read(&p, http_query(r)))
        (void)a2a_wrong(&c->fault, A2A_INVALID_REQUEST, NULL, "the target is malformed");
    else if ((path = path_below(c)) == NULL || !rest_find(c, path, &id))
        (void)a2a_wrong(&c->fault, A2A_METHOD_NOT_FOUND, NULL, "no such path; GET / lists those of this server");
    else if (media_fits(c) && a2a_version_read(version_given(c, &p), &said, &c->fault) && (v = rest_params(c, &p, id)) != NULL)
        (void)a2a_params_read(&c->mem, v, &c->q, &c->fault);
    if (said == A2A_0_3)
        (void)a2a_wrong(&c->fault, A2A_VERSION_NOT_SUPPORTED, NULL, "HTTP+JSON is served in version 1.0; 0.3 is JSON-RPC");
    perform(c);
    params_free(&p);
}
