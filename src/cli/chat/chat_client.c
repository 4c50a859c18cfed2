/* chat_client.c - the client of a call without a verb, an SDK for agents: its first frame, what its call gives beside the settings, and frames for it.
 *
 * Called by chat.c on the main thread, before the listener begins and after it has ended. What is not there is refused by its name (docs/SDK.md). */
#include "cli/chat/chat.h"
#include "app/settings.h"
#include "policy/hook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART_BYTES = 65536 };

/* ---- its first frame ------------------------------------------------------------------------------------ */

/* The next line of stdin that is not blank, or what is left at its end. False: there is none. */
static bool first_line(chat *k, size_t *size)
{
    char part[PART_BYTES];
    size_t blank;
    const char *end;
    ssize_t n;

    for (;;) {
        blank = k->ahead.size > 0 ? strspn(k->ahead.data, " \t\r\n") : 0;
        end = k->ahead.size > blank ? memchr(k->ahead.data + blank, '\n', k->ahead.size - blank) : NULL;
        if (end != NULL || k->ahead.size > CHAT_LINE_BYTES_MAX)
            break;
        while ((n = read(STDIN_FILENO, part, sizeof part)) < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        buf_put(&k->ahead, part, (size_t)n);
        buf_char(&k->ahead, '\0');      /* for strspn; not part of it */
        if (k->ahead.failed)
            return false;
        k->ahead.size--;
    }
    *size = end != NULL ? (size_t)(end - k->ahead.data) + 1 : k->ahead.size;
    return *size > blank;
}

bool chat_hello(chat *k)
{
    const pawl_value *v, *request;
    const char *subtype, *id;
    size_t size;

    k->greeted = true;
    if (!first_line(k, &size))
        return !k->ahead.failed;
    v = value_parse(&k->c->mem, k->ahead.data, size, "a frame", NULL);
    request = pawl_value_get(v, "request");
    subtype = pawl_value_string(pawl_value_get(request, "subtype"));
    id = pawl_value_string(pawl_value_get(v, "request_id"));
    if (subtype == NULL || id == NULL || strcmp(subtype, "initialize") != 0)
        return true;            /* the listener reads it as any other */
    k->hello = request;
    k->hello_id = id;
    memmove(k->ahead.data, k->ahead.data + size, k->ahead.size - size);
    k->ahead.size -= size;
    return true;
}

bool chat_is_empty(const pawl_value *v)
{
    const pawl_type t = pawl_value_type(v);

    return t == PAWL_TYPE_NULL || (t == PAWL_TYPE_BOOL && !pawl_value_bool(v)) || ((t == PAWL_TYPE_ARRAY || t == PAWL_TYPE_OBJECT) && pawl_value_size(v) == 0);
}

/* Members that only ask for more frames, or describe the client, take nothing away when they are not served. */
pawl_code chat_hello_check(const pawl_value *hello, pawl_err *err)
{
    static const char *const known[] = { "subtype", "hooks", "systemPrompt", "appendSystemPrompt", "title", "excludeDynamicSections", "systemPromptSnapshot",
                                         "promptSuggestions", "agentProgressSummaries", "forwardSubagentText", "supportedDialogKinds",
                                         "perTaskStopAffordance", "rapidFollowupPreempt", "forwardNestedSubagentToolCalls" };
    pawl_iter it = pawl_iter_of(hello);
    const pawl_value *key, *v;

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = pawl_value_string(key);
        size_t i = 0;

        while (i < sizeof known / sizeof *known && strcmp(known[i], name) != 0)
            i++;
        if (i < sizeof known / sizeof *known || chat_is_empty(v))
            continue;
        return fail(err, PAWL_INVALID, "initialize: %.60s is not in this version of Pawl, and is not left out silently%s", name,
                    strcmp(name, "sdkMcpServers") == 0 ? ": tools of a program are in an agent file, see docs/AGENT_FILE.md" : strcmp(name, "agents") == 0
                    ? ": name agents in an agent file, see docs/AGENT_FILE.md" : "");
    }
    return PAWL_OK;
}

/* ---- hooks ------------------------------------------------------------------------------------------------ */

/* {"matcher","hookCallbackIds","timeout"} as a group of the settings; NULL: see err. */
static const pawl_value *group_of(arena *mem, const char *event, const pawl_value *group, pawl_err *err)
{
    const pawl_value *matcher = pawl_value_get(group, "matcher"), *ids = pawl_value_get(group, "hookCallbackIds"), *limit = pawl_value_get(group, "timeout");
    const pawl_value *hooks = value_pack(mem, NULL, "[]"), *v = value_pack(mem, NULL, "{}"), *id;
    pawl_iter it = pawl_iter_of(ids);
    const double seconds = pawl_value_type(limit) == PAWL_TYPE_INT ? (double)pawl_value_int(limit) : pawl_value_real(limit);
    int64_t whole = seconds >= (double)HOOK_TIMEOUT_S_MAX ? HOOK_TIMEOUT_S_MAX : seconds > 0 ? (int64_t)seconds : HOOK_TIMEOUT_S;

    if (seconds > (double)whole && whole < HOOK_TIMEOUT_S_MAX)
        whole++;
    while ((id = pawl_iter_next(&it, NULL)) != NULL) {
        if (pawl_value_type(id) != PAWL_TYPE_STRING || pawl_value_size(id) == 0)
            break;
        hooks = value_push(mem, hooks, value_pack(mem, NULL, "{s:v,s:i,s:s}", "callback", id, "timeout", whole, "type", "callback"));
    }
    if (pawl_value_size(hooks) == 0 || id != NULL ||
        (matcher != NULL && pawl_value_type(matcher) != PAWL_TYPE_NULL && pawl_value_type(matcher) != PAWL_TYPE_STRING)) {
        fail(err, PAWL_INVALID, "initialize: hooks.%.40s is a list of {\"matcher\",\"hookCallbackIds\",\"timeout\"}", event);
        return NULL;
    }
    if (pawl_value_size(matcher) > 0)
        v = value_with(mem, v, "matcher", matcher);
    return value_with(mem, v, "hooks", hooks);
}

static pawl_code hooks_give(chat *k, pawl_err *err)
{
    arena *mem = &k->s->mem;
    const pawl_value *hooks = pawl_value_get(k->hello, "hooks"), *events = value_pack(mem, NULL, "{}"), *groups, *event, *one, *v;
    pawl_iter it = pawl_iter_of(hooks), at;
    hook_list checked = {0};

    if (chat_is_empty(hooks) || hooks == NULL)
        return PAWL_OK;
    if (pawl_value_type(hooks) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_INVALID, "initialize: hooks are an object of events");
    while ((groups = pawl_iter_next(&it, &event)) != NULL) {
        const pawl_value *all = value_pack(mem, NULL, "[]");

        at = pawl_iter_of(groups);
        while ((one = pawl_iter_next(&at, NULL)) != NULL) {
            if ((v = group_of(mem, pawl_value_string(event), one, err)) == NULL)
                return err->code != PAWL_OK ? err->code : fail(err, PAWL_NOMEM, "no memory for hooks");
            all = value_push(mem, all, v);
        }
        if (pawl_value_size(all) > 0)
            events = value_with(mem, events, pawl_value_string(event), all);
    }
    if (hooks_read_in(mem, events, HOOKS_OF_CLIENT, k->s->folder, &checked, err) != PAWL_OK)
        return err->code;
    if (k->s->given == NULL)
        k->s->given = value_pack(mem, NULL, "{}");
    v = pawl_value_get(k->s->given, "hooks");
    v = value_push(mem, v != NULL ? v : value_pack(mem, NULL, "[]"), value_pack(mem, NULL, "{s:s,s:v,s:s}", "from", HOOKS_OF_CLIENT, "hooks", events,
                                                                                                    "project", k->s->folder));
    k->s->given = value_with(mem, k->s->given, "hooks", v);
    return k->s->given != NULL ? PAWL_OK : fail(err, PAWL_NOMEM, "no memory for hooks");
}

/* ---- rules and folders ---------------------------------------------------------------------------------------- */

/* The tool by its name here: TodoWrite is Todo. */
static bool rule_give(chat *k, const char *list, const char *rule, size_t size, const char *from)
{
    const char *open = memchr(rule, '(', size), *here = hook_tool_here(rule, open != NULL ? (size_t)(open - rule) : size);
    bool given;
    buf b;

    if (here == NULL)
        return given_rule(k->s, list, rule, size, from);
    buf_init(&b, NULL);
    buf_fmt(&b, "%s%.*s", here, open != NULL ? (int)(size - (size_t)(open - rule)) : 0, open != NULL ? open : "");
    given = !b.failed && given_rule(k->s, list, b.data, b.size, from);
    buf_free(&b);
    return given;
}

/* "Read,Bash(git diff:*)": rules separated by commas or blanks; inside of parentheses both belong to the rule. */
static pawl_code rules_give(chat *k, const char *option, const char *list, pawl_err *err)
{
    const char *at = cli_given(k->c, option);
    char from[40];

    snprintf(from, sizeof from, "--%s", option);
    while (at != NULL && *(at += strspn(at, ", ")) != '\0') {
        size_t n = 0, depth = 0;

        while (at[n] != '\0' && (depth > 0 || (at[n] != ',' && at[n] != ' '))) {
            depth += at[n] == '(';
            depth -= at[n] == ')' && depth > 0;
            n++;
        }
        if (!rule_give(k, list, at, n, from))
            return fail(err, PAWL_NOMEM, "no memory for --%s", option);
        at += n;
    }
    return PAWL_OK;
}

/* Adds the elements of `more` to s->given. */
static void list_give(session *s, const char *name, const pawl_value *more)
{
    const pawl_value *list = pawl_value_get(s->given, name), *one;
    pawl_iter it = pawl_iter_of(more);

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        list = value_push(&s->mem, list != NULL ? list : value_pack(&s->mem, NULL, "[]"), one);
    if (pawl_value_size(more) > 0)
        s->given = value_with(&s->mem, s->given != NULL ? s->given : value_pack(&s->mem, NULL, "{}"), name, list);
}

/* JSON on the command line, or the name of a file. NULL: see err. */
static const pawl_value *json_given(chat *k, const char *option, pawl_err *err)
{
    const char *text = cli_given(k->c, option);
    const pawl_value *v;

    if (text[strspn(text, " \t\r\n")] == '{')
        return value_parse(&k->c->mem, text, strlen(text), option, err);
    if ((v = settings_read(&k->c->mem, text, err)) == NULL && err->code == PAWL_OK)
        fail(err, PAWL_GONE, "--%s: there is no file %.200s", option, text);
    return v;
}

static pawl_code settings_give(chat *k, pawl_err *err)
{
    static const char *const lists[] = { "allow", "ask", "deny", "directories", "hooks" }, *const marks[] = { "unasked", "unasked_always", "no_bypass" };
    const pawl_value *v, *made;
    session *s = k->s;

    if (cli_given(k->c, "settings") == NULL)
        return PAWL_OK;
    if ((v = json_given(k, "settings", err)) == NULL ||
        (made = settings_of_value(s->caller, &s->mem, v, "--settings", s->folder, &k->settings_mode, err)) == NULL)
        return err->code;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        list_give(s, lists[i], pawl_value_get(made, lists[i]));
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if ((v = pawl_value_get(made, marks[i])) != NULL)
            s->given = value_with(&s->mem, s->given != NULL ? s->given : value_pack(&s->mem, NULL, "{}"), marks[i], v);
    return PAWL_OK;
}

/* No server of tools can be started here, so each is refused by its name. */
static pawl_code servers_check(chat *k, pawl_err *err)
{
    const pawl_value *v, *key;
    pawl_iter it;

    if (cli_given(k->c, "mcp-config") == NULL)
        return PAWL_OK;
    if ((v = json_given(k, "mcp-config", err)) == NULL)
        return err->code;
    it = pawl_iter_of(pawl_value_get(v, "mcpServers"));
    if (pawl_iter_next(&it, &key) != NULL)
        return fail(err, PAWL_INVALID, "--mcp-config: server \"%.60s\": MCP servers are not in this version of Pawl; tools of a program are in an agent file",
                    pawl_value_string(key));
    return PAWL_OK;
}

/* Settings that are not among them may deny and ask, and have hooks; they allow nothing (given.c). */
pawl_code chat_sources(chat *k, pawl_err *err)
{
    static const char *const names[] = { "user", "project", "local" };
    const char *list = cli_given(k->c, "setting-sources");
    unsigned bits = 0;

    if (list == NULL)
        return PAWL_OK;
    while (*(list += strspn(list, ", ")) != '\0') {
        const size_t size = strcspn(list, ", ");
        size_t i = 0;

        while (i < 3 && (strlen(names[i]) != size || memcmp(names[i], list, size) != 0))
            i++;
        if (i == 3)
            return fail(err, PAWL_INVALID, "--setting-sources is a list of user, project and local, and \"%.*s\" is none", (int)(size < 40 ? size : 40), list);
        bits |= 1U << i;
        list += size;
    }
    k->c->app.without_sources = 7 & ~bits;
    return PAWL_OK;
}

pawl_code chat_given(chat *k, pawl_err *err)
{
    const pawl_value *folders = value_pack(&k->s->mem, NULL, "[]");
    const char *folder, *here;
    buf b;

    if (k->dont_ask)
        k->s->given = value_pack(&k->s->mem, NULL, "{s:b,s:b}", "unasked", 1, "unasked_always", 1);
    k->s->without_sources = k->c->app.without_sources;
    k->s->gives_up_hooks = cli_given(k->c, "without-client-hooks") != NULL;
    if (k->c->bare && k->frames_in) {
        k->s->client = chat_hook;
        k->s->client_arg = k;
    }
    buf_init(&b, NULL);
    buf_fmt(&b, "%s/.", k->s->folder);
    here = b.failed ? NULL : arena_strdup(&k->s->mem, b.data, b.size);
    buf_free(&b);
    for (size_t i = 0; here != NULL && (folder = cli_given_at(k->c, "add-dir", i)) != NULL; i++) {
        folder = path_beside(&k->s->mem, here, folder);
        if (folder != NULL)
            folders = value_push(&k->s->mem, folders, value_string(&k->s->mem, folder, strlen(folder)));
    }
    list_give(k->s, "directories", folders);
    if (rules_give(k, "allowedTools", "allow", err) != PAWL_OK || rules_give(k, "disallowedTools", "deny", err) != PAWL_OK ||
        settings_give(k, err) != PAWL_OK || servers_check(k, err) != PAWL_OK || hooks_give(k, err) != PAWL_OK)
        return err->code;
    return k->s->mem.failed ? fail(err, PAWL_NOMEM, "no memory for what the call gives") : PAWL_OK;
}

/* ---- "/retry" ------------------------------------------------------------------------------------------------- */

bool chat_is_retry(const pawl_value *content)
{
    const char *text = pawl_value_string(pawl_value_type(content) == PAWL_TYPE_ARRAY && pawl_value_size(content) == 1
                                         ? pawl_value_get(pawl_value_at(content, 0), "text") : content);

    return text != NULL && strcmp(text, "/retry") == 0;
}

bool chat_may_retry(const char *run, pawl_state *st, pawl_err *err)
{
    if (pawl_agent_can_retry(st))
        return true;
    fail(err, PAWL_INVALID, "%s: its last turn has not failed, and there is nothing to try again: send a message", run);
    return false;
}

/* ---- frames to the client ------------------------------------------------------------------------------------------ */

/* SDKs require that the hooks of the client apply, and that a hook which fails denies. */
const pawl_value *chat_greeting(const chat *k, arena *mem)
{
    const char *model = k->model != NULL ? k->model : "";
    const pawl_value *v = value_pack(mem, NULL, "{s:{},s:[],s:[s],s:[],s:b,s:b}", "account", "agents", "available_output_styles", "default", "commands",
                                     "hook_on_failure_supported", 1, "hooks_applied", 1);

    v = value_with(mem, v, "models", value_pack(mem, NULL, "[{s:s,s:s,s:s}]", "description", model, "displayName", model, "value", model));
    v = value_with(mem, v, "output_style", value_pack(mem, NULL, "s", "default"));
    v = value_with(mem, v, "pid", value_int(mem, (int64_t)getpid()));
    return value_with(mem, v, "session_id", value_string(mem, k->s->run, strlen(k->s->run)));
}

const pawl_value *chat_error_result(arena *mem, const char *run, const char *text)
{
    return value_pack(mem, NULL, "{s:i,s:i,s:[s],s:b,s:i,s:{},s:[],s:s,s:n,s:s,s:s,s:f,s:s,s:{},s:v}", "duration_api_ms", (int64_t)0, "duration_ms",
                      (int64_t)0, "errors", text, "is_error", 1, "num_turns", (int64_t)0, "modelUsage", "permission_denials", "session_id", run,
                      "stop_reason", "subtype", "error_during_execution", "terminal_reason", "error", "total_cost_usd", 0.0, "type", "result", "usage",
                      "uuid", chat_uuid(mem));
}

/* A client that is still writing its first frame would see no more than a closed pipe: the frame is read, and answered. */
void chat_print_refusal(chat *k)
{
    arena *mem = &k->c->mem;
    const char *text = *k->c->said != '\0' ? k->c->said : "it did not begin: see stderr";

    if (k->frames_in && !k->greeted)
        (void)chat_hello(k);
    if (k->hello_id != NULL)
        chat_write(k, value_pack(mem, NULL, "{s:{s:s,s:s,s:s},s:s}", "response", "error", text, "request_id", k->hello_id, "subtype", "error", "type",
                                 "control_response"));
    else
        chat_write(k, chat_error_result(mem, "", text));
}

/* Whether `option` is among the words with that value. */
static bool has_word(int n, char **words, const char *option, const char *value)
{
    const size_t size = strlen(option);

    for (int i = 0; i < n; i++)
        if (strncmp(words[i], option, size) == 0 && ((words[i][size] == '=' && strcmp(words[i] + size + 1, value) == 0) ||
                                                     (words[i][size] == '\0' && i + 1 < n && strcmp(words[i + 1], value) == 0)))
            return true;
    return false;
}

void chat_refused(cli_call *c, int n, char **words)
{
    chat *k = has_word(n, words, "--output-format", "stream-json") ? calloc(1, sizeof *k) : NULL;

    if (k == NULL)
        return;
    k->c = c;
    k->frames_in = has_word(n, words, "--input-format", "stream-json");
    pthread_mutex_init(&k->writing, NULL);
    buf_init(&k->ahead, NULL);
    chat_print_refusal(k);
    buf_free(&k->ahead);
    free(k);
}
