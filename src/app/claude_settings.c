/* claude_settings.c - reads the settings files of Claude Code, in the form of Pawl's own settings (P14).
 *
 * Called by settings.c and by the verb that begins a conversation, on their thread. What a file of a project widens counts once the person trusts the
 * folder. A member that is not known here may restrict: it is refused by its name, unless the person has said that it is ignored. */
#include "app/claude_settings.h"
#include "policy/gate.h"
#include "shell/shell.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- which members there are ------------------------------------------------------------------------------ */

/* How a member is treated. KEY_IDLE: Pawl has nothing that it is about (the screen, plug-ins, accounts, MCP servers, ..), or satisfies it anyway. */
typedef enum claude_key { KEY_UNKNOWN, KEY_USED, KEY_INSIDE, KEY_IDLE, KEY_ADDS, KEY_RESTRICTS } claude_key;

static const struct { claude_key key; const char *names; } keys[] = {
    { KEY_USED, " $schema env hooks disableAllHooks permissions.allow permissions.ask permissions.deny permissions.additionalDirectories "
                "permissions.defaultMode permissions.disableBypassPermissionsMode permissions.denyInsteadOfPrompting sandbox.filesystem.denyRead "
                "sandbox.filesystem.denyWrite sandbox.network.deniedDomains " },
    { KEY_INSIDE, " permissions sandbox sandbox.filesystem sandbox.network " },
    { KEY_ADDS, " model agent advisorModel fallbackModel modelOverrides effortLevel alwaysThinkingEnabled fastMode outputStyle language claudeMd "
                "autoMode skillOverrides enabledPlugins extraKnownMarketplaces pluginConfigs enableAllProjectMcpServers enabledMcpjsonServers "
                "mcpServers allowAllClaudeAiMcps apiKeyHelper awsAuthRefresh awsCredentialExport gcpAuthRefresh otelHeadersHelper worktree "
                "plansDirectory autoMemoryDirectory claudeMdExcludes attribution includeCoAuthoredBy askUserQuestionTimeout "
                "sandbox.autoAllowBashIfSandboxed sandbox.excludedCommands sandbox.allowUnsandboxedCommands sandbox.filesystem.allowWrite "
                "sandbox.filesystem.allowRead sandbox.filesystem.disabled sandbox.ignoreViolations sandbox.enableWeakerNestedSandbox "
                "sandbox.enableWeakerNetworkIsolation sandbox.allowAppleEvents sandbox.network.allowUnixSockets sandbox.network.allowAllUnixSockets "
                "sandbox.network.allowLocalBinding sandbox.network.allowMachLookup sandbox.network.allowedDomains " },
    { KEY_IDLE, " fastModePerSessionOptIn showThinkingSummaries switchModelsOnFlag ultracode disableAutoMode permissions.disableAutoMode "
                "useAutoModeDuringPlan skipAutoPermissionPrompt skipDangerousModePermissionPrompt sandbox.enabled sandbox.failIfUnavailable "
                "sandbox.ripgrep sandbox.bwrapPath sandbox.socatPath sandbox.filesystem.allowManagedReadPathsOnly sandbox.network.strictAllowlist "
                "sandbox.network.allowManagedDomainsOnly autoCompactEnabled autoCompactWindow autoMemoryEnabled fileCheckpointingEnabled "
                "skillListingBudgetFraction skillListingMaxDescChars autoScrollEnabled axScreenReader companyAnnouncements defaultShell dialogExpiry "
                "editorMode emojiCompletionEnabled fileSuggestion footerLinksRegexes keybindingFlavor prefersReducedMotion promptSuggestionEnabled "
                "respectGitignore respondToBashCommands showClearContextOnPlanAccept showTurnDuration spellcheck spinnerTipsEnabled "
                "spinnerTipsOverride spinnerVerbs statusLine subagentStatusLine syntaxHighlightingDisabled terminalProgressBarEnabled "
                "terminalTitleFromRename theme tui verbose viewMode vimInsertModeRemaps voice voiceEnabled wheelScrollAccelerationEnabled "
                "includeGitInstructions prUrlTemplate disableWorkflows enableWorkflows httpHookAllowedEnvVars workflowKeywordTriggerEnabled "
                "workflowSizeGuideline disableBundledSkills disableSkillShellExecution syncClaudeAiSkills allowedChannelPlugins blockedMarketplaces "
                "channelsEnabled disableCommandPluginSources pluginSuggestionMarketplaces pluginTrustMessage strictKnownMarketplaces "
                "allowedMcpServers allowManagedMcpServersOnly deniedMcpServers disableClaudeAiConnectors disabledMcpjsonServers "
                "crossSessionInbound disableAgentView isolatePeerMachines teammateMode agentPushNotifEnabled awaySummaryEnabled disableArtifact "
                "disableDeepLinkRegistration disableRemoteControl enableArtifact inputNeededNotifEnabled preferredNotifChannel remote "
                "remoteControlAtStartup sshConfigs sshHostAllowlist forceLoginMethod forceLoginGatewayUrl forceLoginOrgUUID autoUpdatesChannel "
                "autoUpdates minimumVersion requiredMaximumVersion requiredMinimumVersion browserExternalPageTools "
                "disableBrowserExternalNavigation disableMobileSimulatorTools cleanupPeriodDays feedbackSurveyRate skipWebFetchPreflight "
                "disableSideloadFlags forceRemoteSettingsRefresh parentSettingsBehavior wslInheritsWindowsSettings autoConnectIde "
                "autoInstallIdeExtension diffTool externalEditorContext permissionExplainerEnabled teammateDefaultModel " },
    { KEY_RESTRICTS, " availableModels enforceAvailableModels allowManagedPermissionRulesOnly allowManagedHooksOnly allowedHttpHookUrls processWrapper "
                     "strictPluginOnlyCustomization policyHelper sandbox.credentials sandbox.network.httpProxyPort sandbox.network.socksProxyPort "
                     "sandbox.network.tlsTerminate permissions.blockReadsOutsideWorkingDirectories "
                     "permissions.blockWritesOutsideWorkingDirectories " },
};

static claude_key key_of(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (text_listed(name, strlen(name), keys[i].names))
            return keys[i].key;
    return KEY_UNKNOWN;
}

/* false, null, "", [] and {} say nothing. */
static bool says_nothing(const pawl_value *v)
{
    const pawl_type type = pawl_value_type(v);

    return type == PAWL_TYPE_NULL || (type == PAWL_TYPE_BOOL && !pawl_value_bool(v)) ||
           ((type == PAWL_TYPE_STRING || type == PAWL_TYPE_ARRAY || type == PAWL_TYPE_OBJECT) && pawl_value_size(v) == 0);
}

static bool has_text(const pawl_value *list, const char *text)
{
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(one) != NULL && strcmp(pawl_value_string(one), text) == 0)
            return true;
    return false;
}

typedef struct key_look { const claude_files *of; const claude_file *f; buf *told; pawl_err *err; } key_look;

static pawl_code key_refused(const key_look *k, const char *name, claude_key key)
{
    return fail(k->err, PAWL_INVALID, "%s: \"%.60s\" %s: remove it, or go on without it by {\"claude\": {\"ignore\": [\"%.60s\"]}} in your own "
                "settings.json of Pawl", k->f->path, name,
                key == KEY_UNKNOWN ? "is not known here, and may restrict" : "restricts, and cannot be done here", name);
}

/* Members that decide, and their types: a member of another type would restrict nothing, unnoticed. */
static pawl_code shape_look(const key_look *k, const char *name, const pawl_value *v)
{
    static const struct { pawl_type type; const char *is, *names; } shapes[] = {
        { PAWL_TYPE_OBJECT, "an object", " env hooks permissions sandbox sandbox.filesystem sandbox.network " },
        { PAWL_TYPE_ARRAY, "a list", " permissions.allow permissions.ask permissions.deny permissions.additionalDirectories "
                                     "sandbox.filesystem.denyRead sandbox.filesystem.denyWrite sandbox.network.deniedDomains " },
        { PAWL_TYPE_BOOL, "true or false", " disableAllHooks permissions.denyInsteadOfPrompting " },
        { PAWL_TYPE_STRING, "a text", " permissions.defaultMode permissions.disableBypassPermissionsMode " },
    };
    const char *text = pawl_value_string(v);

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (text_listed(name, strlen(name), shapes[i].names) && pawl_value_type(v) != PAWL_TYPE_NULL &&
            (pawl_value_type(v) != shapes[i].type || (text != NULL && strlen(text) != pawl_value_size(v))))
            return fail(k->err, PAWL_INVALID, "%s: \"%.60s\" is %s", k->f->path, name, shapes[i].is);
    if (text != NULL && strcmp(name, "permissions.disableBypassPermissionsMode") == 0 && strcmp(text, "disable") != 0)
        return fail(k->err, PAWL_INVALID, "%s: \"%.60s\" is \"disable\"", k->f->path, name);
    return PAWL_OK;
}

/* Each member of `object` below `prefix`; the names of those that only add are put into k->told, which is reported. */
static pawl_code keys_look(const key_look *k, const pawl_value *object, const char *prefix)
{
    pawl_iter it = pawl_iter_of(object);
    const pawl_value *key, *v;
    char name[160];
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && (v = pawl_iter_next(&it, &key)) != NULL) {
        snprintf(name, sizeof name, "%s%s%.80s", prefix, *prefix != '\0' ? "." : "", pawl_value_string(key));
        if (has_text(k->of->ignored, name))
            continue;
        switch (strchr(pawl_value_string(key), '.') == NULL ? key_of(name) : KEY_UNKNOWN) {     /* "permissions.deny" is within "permissions" */
        case KEY_USED: rc = shape_look(k, name, v); break;
        case KEY_IDLE: break;
        case KEY_INSIDE:
            if ((rc = shape_look(k, name, v)) == PAWL_OK)
                rc = keys_look(k, v, name);
            break;
        case KEY_ADDS:
            if (!says_nothing(v))
                buf_fmt(k->told, "%s%s", k->told->size > 0 ? ", " : "", name);
            break;
        case KEY_RESTRICTS:
            if (!says_nothing(v))
                rc = key_refused(k, name, KEY_RESTRICTS);
            break;
        case KEY_UNKNOWN: rc = key_refused(k, name, KEY_UNKNOWN);
        }
    }
    return rc;
}

/* ---- where they lie ------------------------------------------------------------------------------------------ */

/* The person's folder of Claude Code; NULL: there is no home. */
static const char *claude_home(arena *mem)
{
    const char *own = getenv("CLAUDE_CONFIG_DIR"), *home = getenv("HOME");

    if (own != NULL && *own == '/')
        return arena_text(mem, own);
    return home != NULL && *home == '/' ? settings_in(mem, home, ".claude") : NULL;
}

static bool is_of_project(const claude_file *f)
{
    return f->scope == CLAUDE_LOCAL || f->scope == CLAUDE_PROJECT;
}

static trust_ask trust_of(const claude_files *of, const claude_file *f, const char *digest)
{
    return (trust_ask){ .project = f->project, .kind = TRUST_CLAUDE, .path = f->path, .digest = digest, .hooks = pawl_value_get(f->v, "hooks"),
                        .cwd = of->folder };
}

static pawl_code file_add(arena *mem, claude_files *out, claude_file f, pawl_err *err)
{
    char digest[SCRIPT_DIGEST_BYTES];
    trust_ask ask;

    if (f.path == NULL || (f.v = settings_read_digest(mem, f.path, digest, err)) == NULL)
        return f.path == NULL ? fail(err, PAWL_NOMEM, "no memory for the settings") : err->code;
    ask = trust_of(out, &f, digest);
    if (is_of_project(&f) && trust_read(mem, &ask, &f.trust, err) != PAWL_OK)
        return err->code;
    if (is_of_project(&f)) {
        f.trusted = !f.outer && f.trust.state == TRUST_HOLDS;
        f.guards = f.outer && f.trust.state == TRUST_HOLDS;     /* else a .claude that is made in a folder below would disable them */
    }
    if (out->count == CLAUDE_FILES_MAX)
        return fail(err, PAWL_LIMIT, "%s: more than %d settings files of Claude Code from this folder upward (CLAUDE_FILES_MAX)", f.path, CLAUDE_FILES_MAX);
    out->all[out->count++] = f;
    return PAWL_OK;
}

/* Those of one folder; the person's own .claude is no project's, but where the person works in the home itself. */
static pawl_code folder_add(arena *mem, claude_files *out, const char *at, const char *home, pawl_err *err)
{
    const char *folder = settings_in(mem, at, ".claude");
    const size_t before = out->count;
    const bool outer = out->project != NULL, is_home = home != NULL && folder != NULL && strcmp(folder, home) == 0;
    claude_file f = { .base = at, .project = at, .outer = outer };
    pawl_code rc;

    if (folder == NULL)
        return fail(err, PAWL_NOMEM, "no memory for the settings");
    if (!is_home && settings_no_link(mem, at, ".claude", err) != PAWL_OK)     /* also one that leads nowhere, or in a circle */
        return err->code;
    if (access(folder, F_OK) != 0)
        return errno == ENOENT || errno == ENOTDIR ? PAWL_OK : fail(err, PAWL_IO, "%s: %s", folder, strerror(errno));
    f.scope = CLAUDE_LOCAL;
    f.path = settings_in(mem, folder, "settings.local.json");
    if ((rc = file_add(mem, out, f, err)) == PAWL_OK && !is_home) {
        f.scope = CLAUDE_PROJECT;
        f.path = settings_in(mem, folder, "settings.json");
        rc = file_add(mem, out, f, err);
    }
    if (out->count > before && !outer)
        out->project = at;
    return rc;
}

static const char *above(arena *mem, const char *at)
{
    const char *slash = strrchr(at, '/');

    if (slash == NULL || at[1] == '\0')
        return NULL;
    return slash == at ? "/" : arena_strdup(mem, at, (size_t)(slash - at));
}

/* The person's own setting for these files: `false`, or {"ignore": [NAME..]}. False: they are not read. */
static bool person_wants(arena *mem, claude_files *out, pawl_err *err)
{
    const pawl_value *said = pawl_value_get(settings_read(mem, settings_of_person(mem), err), "claude"), *ignore = pawl_value_get(said, "ignore");

    if (err->code != PAWL_OK || said == NULL || (pawl_value_type(said) == PAWL_TYPE_BOOL && pawl_value_bool(said)))
        return err->code == PAWL_OK;
    if (pawl_value_type(said) == PAWL_TYPE_BOOL)
        return false;
    if (pawl_value_type(said) != PAWL_TYPE_OBJECT || pawl_value_type(ignore) != PAWL_TYPE_ARRAY || pawl_value_size(said) != 1) {
        fail(err, PAWL_INVALID, "%s: \"claude\" is false, or an object with \"ignore\", a list of names", settings_of_person(mem));
        return false;
    }
    out->ignored = ignore;
    return true;
}

/* Compares file names by their bytes. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* managed-settings.d beside it: a later file wins over an earlier one, and each over managed-settings.json. */
static pawl_code managed_add(arena *mem, claude_files *out, pawl_err *err)
{
    claude_file f = { .scope = CLAUDE_MANAGED, .base = "/etc/claude-code", .trusted = true };
    static const char folder[] = "/etc/claude-code/managed-settings.d";
    const char *names[CLAUDE_FILES_MAX];
    DIR *dir = opendir(folder);
    struct dirent *e;
    pawl_code rc = PAWL_OK;
    size_t n = 0;

    if (dir == NULL && errno != ENOENT && errno != ENOTDIR)
        return fail(err, PAWL_IO, "%s: %s", folder, strerror(errno));
    while (dir != NULL && rc == PAWL_OK && (e = readdir(dir)) != NULL) {
        const size_t size = strlen(e->d_name);

        if (*e->d_name == '.' || size < 5 || strcmp(e->d_name + size - 5, ".json") != 0)
            continue;
        if (n == CLAUDE_FILES_MAX)
            rc = fail(err, PAWL_LIMIT, "%s: more than %d settings files (CLAUDE_FILES_MAX)", folder, CLAUDE_FILES_MAX);
        else if ((names[n++] = settings_in(mem, folder, e->d_name)) == NULL)
            rc = fail(err, PAWL_NOMEM, "no memory for the settings");
    }
    if (dir != NULL)
        closedir(dir);
    if (rc == PAWL_OK && n > 0)
        qsort(names, n, sizeof *names, by_name);
    while (rc == PAWL_OK && n > 0) {
        f.path = names[--n];
        rc = file_add(mem, out, f, err);
    }
    f.path = "/etc/claude-code/managed-settings.json";
    return rc == PAWL_OK ? file_add(mem, out, f, err) : rc;
}

/* The rules of the innermost folder are the project's; in the order in which single values win. */
static pawl_code found_in_order(arena *mem, const char *folder, claude_files *out, pawl_err *err)
{
    const char *home = claude_home(mem), *here = folder;
    claude_file f;
    pawl_code rc = managed_add(mem, out, err);

    for (; rc == PAWL_OK && here != NULL && out->project == NULL; here = above(mem, here))
        if (home == NULL || here == folder || strncmp(home, here, strlen(here)) != 0 || strcmp(home + strlen(here), "/.claude") != 0)
            rc = folder_add(mem, out, here, home, err);
    f = (claude_file){ .scope = CLAUDE_USER, .base = home, .trusted = true };
    if (rc == PAWL_OK && home != NULL) {
        f.path = settings_in(mem, home, "settings.json");
        rc = file_add(mem, out, f, err);
    }
    for (; rc == PAWL_OK && here != NULL; here = above(mem, here))
        if (home == NULL || strncmp(home, here, strlen(here)) != 0 || strcmp(home + strlen(here), "/.claude") != 0)
            rc = folder_add(mem, out, here, home, err);
    return rc;
}

/* As for a folder that is not trusted, except for its hooks. */
static void source_leave(claude_file *f, unsigned without)
{
    static const unsigned bits[] = { [CLAUDE_USER] = 1, [CLAUDE_PROJECT] = 2, [CLAUDE_LOCAL] = 4 };

    if (f->scope == CLAUDE_MANAGED || (without & bits[f->scope]) == 0)
        return;
    f->left = true;
    f->guards = f->guards || f->trusted;
    f->trusted = false;
}

pawl_code claude_find(arena *mem, const char *folder, unsigned without, claude_files *out, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    memset(out, 0, sizeof *out);
    out->folder = folder;
    if (!person_wants(mem, out, err))
        return err->code;
    if (folder != NULL && *folder == '/')
        rc = found_in_order(mem, folder, out, err);
    for (size_t i = 0; i < out->count; i++) {
        source_leave(&out->all[i], without);
        if (out->all[i].project == NULL)
            out->all[i].project = out->project != NULL ? out->project : folder;
    }
    return rc;
}

/* ---- rules ----------------------------------------------------------------------------------------------------- */

/* The rule by its name here: TodoWrite is Todo. */
static const pawl_value *rule_here(arena *mem, const pawl_value *rule)
{
    const char *text = pawl_value_string(rule), *open = strchr(text, '('), *here;
    const size_t n = open != NULL ? (size_t)(open - text) : strlen(text);
    buf b;

    if ((here = hook_tool_here(text, n)) == NULL)
        return rule;
    buf_init(&b, NULL);
    buf_fmt(&b, "%s%s", here, text + n);
    rule = b.failed ? NULL : value_string(mem, b.data, b.size);
    buf_free(&b);
    return rule;
}

static bool rule_reads(arena *mem, const pawl_value *rule, const char *list, pawl_err *why)
{
    const pawl_value *only = value_pack(mem, NULL, "{s:s,s:[{s:s,s:v}]}", "cwd", "/", list, "base", "/", "rule", rule);
    const char *home = getenv("HOME");
    pawl_policy *p;

    if (home != NULL && *home == '/')
        only = value_with(mem, only, "home", value_string(mem, home, strlen(home)));
    p = gate_policy(NULL, only, why);
    pawl_policy_free(p);
    return p != NULL;
}

/* Whether there is something that a rule about this tool could be about. Tools of the agent's own file are added by their names. */
static bool tool_here(const char *rule)
{
    static const char here[] = " Bash BashOutput KillShell Read Edit Write MultiEdit NotebookEdit NotebookRead Glob Grep LS WebFetch Network Agent Task Todo AskUser "
                               "EnterPlan ExitPlan ToolSearch Node Prompt ";
    const char *open = strchr(rule, '(');
    const size_t n = open != NULL ? (size_t)(open - rule) : strlen(rule);

    return memchr(rule, '*', n) != NULL || text_listed(rule, n, here);
}

typedef struct rules_look { const app_caller *told; arena *mem; const claude_files *of; const claude_file *f; pawl_err *err; } rules_look;

/* The rules of one list that can be read. An allow rule that cannot be is left out; one that restricts is refused. */
static pawl_code list_said(const rules_look *k, const pawl_value *list, const char *name, const pawl_value **out)
{
    const bool allows = strcmp(name, "allow") == 0;
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *one;

    if (list != NULL && pawl_value_type(list) != PAWL_TYPE_ARRAY)
        return fail(k->err, PAWL_INVALID, "%s: permissions.%s is a list of rules, such as [\"Bash(git diff:*)\"]", k->f->path, name);
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *text = pawl_value_string(one);
        pawl_err why = {0};

        if (text == NULL)
            return fail(k->err, PAWL_INVALID, "%s: permissions.%s has something that is no rule", k->f->path, name);
        if (has_text(k->of->ignored, text))
            continue;
        if (!rule_reads(k->mem, rule_here(k->mem, one), name, &why)) {
            if (!allows)
                return fail(k->err, PAWL_INVALID, "%s: %s", k->f->path, why.text);
            app_note(k->told, "%s: left out: %s", k->f->path, why.text);
            continue;
        }
        if (!allows && !tool_here(pawl_value_string(rule_here(k->mem, one))))
            app_note(k->told, "%s: the %s rule \"%s\" matches nothing: Pawl has no such tool", k->f->path, name, text);
        *out = value_push(k->mem, *out, rule_here(k->mem, one));
    }
    return PAWL_OK;
}

/* A path of the sandbox's lists, as a rule about it and all below: absolute, from the home, or from the file's own folder. */
static pawl_code path_rules(const rules_look *k, const pawl_value *list, const char *tool, const pawl_value **out)
{
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *given = pawl_value_string(one), *path = given;
        size_t n = given != NULL ? strlen(given) : 0;
        pawl_err why = {0};
        buf b;

        if (n == 0)
            return fail(k->err, PAWL_INVALID, "%s: a list of sandbox.filesystem has something that is no path", k->f->path);
        if (n > 3 && strcmp(path + n - 3, "/**") == 0)
            n -= 3;
        while (n > 1 && path[n - 1] == '/')
            n--;
        if (strcspn(path, "*?[") < n)
            return fail(k->err, PAWL_INVALID, "%s: sandbox.filesystem: \"%.200s\" has a character of patterns, and would be read as one: name the folder above it",
                        k->f->path, given);
        path = arena_strdup(k->mem, path, n);
        if (path != NULL && path[0] == '/' && path[1] == '/')
            path++;
        if (path != NULL && *path != '/' && *path != '~')
            path = path_beside(k->mem, settings_in(k->mem, k->f->base, "."), path);
        if (path == NULL)
            return fail(k->err, PAWL_NOMEM, "%s: no memory for its rules", k->f->path);
        buf_init(&b, NULL);
        buf_fmt(&b, "%s(%s%s)", tool, *path == '/' ? "/" : "", path);
        one = b.failed ? NULL : value_string(k->mem, b.data, b.size);
        buf_free(&b);
        if (one == NULL || !rule_reads(k->mem, one, "deny", &why))
            return fail(k->err, PAWL_INVALID, "%s: sandbox.filesystem: \"%.200s\": %s", k->f->path, given, why.text);
        *out = value_push(k->mem, *out, one);
    }
    return PAWL_OK;
}

static pawl_code host_rules(const rules_look *k, const pawl_value *list, const pawl_value **out)
{
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *rule = hook_words(k->mem, "Network(%.400s:*)", pawl_value_string(one) != NULL ? pawl_value_string(one) : "");
        pawl_err why = {0};

        if (rule == NULL || !rule_reads(k->mem, one = value_string(k->mem, rule, strlen(rule)), "deny", &why))
            return fail(k->err, PAWL_INVALID, "%s: sandbox.network.deniedDomains: %s", k->f->path, why.text);
        *out = value_push(k->mem, *out, one);
    }
    return PAWL_OK;
}

static void told_to(void *ctx, const char *text)
{
    app_note(ctx, "%s", text);
}

/* ---- its variables ------------------------------------------------------------------------------------------------ */

/* Those that decide what Pawl itself is, and where it keeps its things, are the person's, not a file's. */
static bool is_variable(const char *name)
{
    static const char *const own[] = { "PAWL_", "XDG_", "LD_", "CLAUDE_PROJECT_DIR", "CLAUDE_CONFIG_DIR" };

    if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != strlen(name) || *name == '\0' || strcmp(name, "HOME") == 0)
        return false;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(name, own[i], strlen(own[i])) == 0)
            return false;
    return true;
}

static bool is_text(const pawl_value *v)
{
    const char *text = pawl_value_string(v);

    return text != NULL && strlen(text) == pawl_value_size(v);
}

/* The variables that do not count. */
static void env_told(const rules_look *k)
{
    pawl_iter it = pawl_iter_of(k->f->trusted ? pawl_value_get(k->f->v, "env") : NULL);
    const pawl_value *key, *v;

    while ((v = pawl_iter_next(&it, &key)) != NULL)
        if (!is_variable(pawl_value_string(key)) || !is_text(v))
            app_note(k->told, "%s: env.%.80s is not set: %s", k->f->path, pawl_value_string(key),
                     is_variable(pawl_value_string(key)) ? "it is no text" : "this variable is not a file's to set");
}

/* ---- one file --------------------------------------------------------------------------------------------------- */

/* In one line what of it waits for trust. */
static void trust_wanted(const app_caller *caller, const claude_file *f)
{
    static const struct { const char *name, *what; } parts[] = { { "allow", "allow rules" }, { "additionalDirectories", "directories" } };
    const pawl_value *p = pawl_value_get(f->v, "permissions");
    const char *mode = pawl_value_string(pawl_value_get(p, "defaultMode"));
    buf b;

    buf_init(&b, NULL);
    for (size_t i = 0; i < 2; i++)
        if (pawl_value_size(pawl_value_get(p, parts[i].name)) > 0)
            buf_fmt(&b, "%s%s", b.size > 0 ? ", " : "", parts[i].what);
    if (pawl_value_size(pawl_value_get(f->v, "hooks")) > 0)
        buf_fmt(&b, "%shooks", b.size > 0 ? ", " : "");
    if (pawl_value_size(pawl_value_get(f->v, "env")) > 0)
        buf_fmt(&b, "%senv", b.size > 0 ? ", " : "");
    if (pawl_value_bool(pawl_value_get(f->v, "disableAllHooks")))
        buf_fmt(&b, "%sdisableAllHooks", b.size > 0 ? ", " : "");
    if (mode != NULL && strcmp(mode, "acceptEdits") == 0)
        buf_fmt(&b, "%sdefaultMode", b.size > 0 ? ", " : "");
    buf_char(&b, '\0');
    if (!b.failed && *b.data != '\0' && f->trust.state != TRUST_NONE)
        trust_report(caller, &f->trust, f->path, f->project, b.data);
    else if (!b.failed && *b.data != '\0')
        app_note(caller, "%s: what it allows (%s) applies once you trust the folder: pawl policy trust %s", f->path, b.data, f->project);
    buf_free(&b);
}

static pawl_code directories_said(const rules_look *k, const pawl_value *list, const pawl_value **out)
{
    const char *base = k->f->scope == CLAUDE_USER || k->f->scope == CLAUDE_MANAGED ? k->f->project : k->f->base;
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *name = settings_path(k->mem, pawl_value_string(one));
        const char *whole = name == NULL ? NULL : path_beside(k->mem, settings_in(k->mem, base, "."), name);

        if (whole == NULL)
            return fail(k->err, PAWL_INVALID, "%s: permissions.additionalDirectories is a list of paths", k->f->path);
        *out = value_push(k->mem, *out, value_string(k->mem, whole, strlen(whole)));
    }
    return PAWL_OK;
}

static pawl_code members_look(const rules_look *k)
{
    key_look look = { .of = k->of, .f = k->f, .err = k->err };
    pawl_code rc;
    buf told;

    buf_init(&told, NULL);
    look.told = &told;
    rc = keys_look(&look, k->f->v, "");
    buf_char(&told, '\0');
    if (rc == PAWL_OK && !told.failed && *told.data != '\0')
        app_note(k->told, "%s: not used here: %s", k->f->path, told.data);
    buf_free(&told);
    return rc;
}

const pawl_value *claude_said(const app_caller *caller, const app_caller *told, arena *mem, const claude_files *of, const claude_file *f,
                              pawl_err *err)
{
    static const char *const names[] = { "allow", "ask", "deny" };
    const pawl_value *p = pawl_value_get(f->v, "permissions"), *box = pawl_value_get(f->v, "sandbox"), *none = value_pack(mem, NULL, "[]");
    const pawl_value *lists[3] = { none, none, none }, *folders = none, *hooks = pawl_value_get(f->v, "hooks"), *out;
    const rules_look k = { .told = told, .mem = mem, .of = of, .f = f, .err = err };
    const hook_foreign foreign = { .from = f->path, .project = f->project, .ignored = of->ignored, .told = told_to, .ctx = (void *)(uintptr_t)told };
    pawl_code rc = members_look(&k);

    if (!f->trusted && !f->outer && !f->left)
        trust_wanted(caller, f);
    else if (f->outer && pawl_value_size(hooks) > 0)
        trust_report(caller, &f->trust, f->path, f->project, "hooks");
    for (size_t i = 0; i < 3 && rc == PAWL_OK; i++)
        rc = list_said(&k, pawl_value_get(p, names[i]), names[i], &lists[i]);
    if (rc == PAWL_OK)
        rc = path_rules(&k, pawl_value_get(pawl_value_get(box, "filesystem"), "denyRead"), "Read", &lists[2]);
    if (rc == PAWL_OK)
        rc = path_rules(&k, pawl_value_get(pawl_value_get(box, "filesystem"), "denyWrite"), "Edit", &lists[2]);
    if (rc == PAWL_OK)
        rc = host_rules(&k, pawl_value_get(pawl_value_get(box, "network"), "deniedDomains"), &lists[2]);
    if (rc == PAWL_OK && f->trusted)
        rc = directories_said(&k, pawl_value_get(p, "additionalDirectories"), &folders);
    if (rc != PAWL_OK)
        return NULL;
    out = value_pack(mem, NULL, "{s:{s:v,s:v,s:v,s:v}}", "permissions", "additionalDirectories", folders, "allow", lists[0], "ask", lists[1], "deny", lists[2]);
    env_told(&k);
    if (hooks == NULL || !(f->trusted || (f->guards && !pawl_value_bool(pawl_value_get(f->v, "disableAllHooks")))))
        return out;
    if ((hooks = hooks_of_claude(mem, hooks, &foreign, err)) == NULL)
        return NULL;
    if (is_of_project(f)) {
        const trust_ask ask = trust_of(of, f, NULL);

        hooks = trust_pinned(mem, hooks, &ask, f->trust.scripts);
    }
    return hooks != NULL ? value_with(mem, out, "hooks", hooks) : (fail(err, PAWL_NOMEM, "%s: no memory for its hooks", f->path), NULL);
}

/* ---- what they decide together ------------------------------------------------------------------------------------- */

/* *mode: what this file says; *unasked: dontAsk. PAWL_MODE_NONE and false: nothing that counts. */
static pawl_code mode_said(const app_caller *told, const claude_file *f, pawl_mode *mode, bool *unasked, pawl_err *err)
{
    const char *word = pawl_value_string(pawl_value_get(pawl_value_get(f->v, "permissions"), "defaultMode"));

    *mode = PAWL_MODE_NONE;
    *unasked = word != NULL && strcmp(word, "dontAsk") == 0;
    if (word == NULL || *unasked || strcmp(word, "default") == 0 || strcmp(word, "manual") == 0) {
        *mode = word != NULL ? PAWL_MODE_DEFAULT : PAWL_MODE_NONE;
        return PAWL_OK;
    }
    if (strcmp(word, "auto") == 0 || strcmp(word, "bypassPermissions") == 0) {
        app_note(told, "%s: its defaultMode \"%s\" is not used: %s", f->path, word,
                 *word == 'a' ? "there is no such mode here" : "give --mode bypassPermissions, each time");
        return PAWL_OK;
    }
    if (pawl_mode_named(word) == PAWL_MODE_NONE)
        return fail(err, PAWL_INVALID, "%s: permissions.defaultMode \"%.40s\" is not known here: plan, default, manual, acceptEdits and dontAsk are",
                    f->path, word);
    *mode = pawl_mode_named(word);
    return PAWL_OK;
}

/* Of the trusted files the first one decides. Any other file, and one of a folder above, can only lower the mode. */
static void mode_takes(claude_word *out, const claude_file *f, pawl_mode mode, bool unasked, bool *moded)
{
    const bool first = f->trusted && !*moded && mode != PAWL_MODE_NONE;

    if (first) {
        out->mode = mode;
        *moded = true;
    } else if (!f->trusted && mode != PAWL_MODE_NONE && (out->most == PAWL_MODE_NONE || mode < out->most))
        out->most = mode;
    out->unasked = out->unasked || (unasked && (first || !f->trusted || f->scope == CLAUDE_USER || f->scope == CLAUDE_MANAGED));
}

pawl_code claude_decided(const app_caller *told, const claude_files *of, claude_word *out, pawl_err *err)
{
    bool moded = false, hooked = false, unasked;
    pawl_code rc = PAWL_OK;
    pawl_mode mode;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < of->count && rc == PAWL_OK; i++) {
        const claude_file *f = &of->all[i];
        const pawl_value *p = pawl_value_get(f->v, "permissions"), *off = pawl_value_get(f->v, "disableAllHooks");
        const char *bypass = pawl_value_string(pawl_value_get(p, "disableBypassPermissionsMode"));

        if (bypass != NULL && strcmp(bypass, "disable") == 0 && out->no_bypass == NULL)
            out->no_bypass = f->path;
        if (pawl_value_bool(pawl_value_get(p, "denyInsteadOfPrompting")))
            out->unasked = true;
        if ((rc = mode_said(told, f, &mode, &unasked, err)) == PAWL_OK)
            mode_takes(out, f, mode, unasked, &moded);
        if (off != NULL && f->trusted && !hooked) {     /* of a project that nobody trusts it would take the person's checks away */
            out->no_hooks = pawl_value_bool(off);
            hooked = true;
        }
    }
    return rc;
}

/* ---- variables -------------------------------------------------------------------------------------------------------- */

/* A list of names cannot be complete, so words that are in such names. */
static bool may_be_secret(const char *name)
{
    static const char *const words[] = { "KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH", "COOKIE", "SESSION", "PRIVATE", "DSN", "URL", "URI", "_PAT" };
    const size_t n = strlen(name);

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t m = strlen(words[i]);

        for (size_t at = 0; at + m <= n; at++)
            if (strncasecmp(name + at, words[i], m) == 0 && (*words[i] != '_' || name[at + m] == '\0' || name[at + m] == '_'))
                return true;
    }
    return strcasecmp(name, "PAT") == 0 || strncasecmp(name, "PAT_", 4) == 0;
}

const claude_files *claude_look(arena *mem, const char *folder, unsigned without, pawl_err *err)
{
    claude_files *files = arena_zero(mem, sizeof *files);

    if (files == NULL)
        fail(err, PAWL_NOMEM, "no memory for the settings");
    return files != NULL && claude_find(mem, folder, without, files, err) == PAWL_OK ? files : NULL;
}

const pawl_value *claude_env(arena *mem, const claude_files *files, bool for_model, pawl_err *err)
{
    const pawl_value *out = value_pack(mem, NULL, "{}");

    for (size_t i = 0; i < files->count; i++) {
        pawl_iter it = pawl_iter_of(files->all[i].trusted ? pawl_value_get(files->all[i].v, "env") : NULL);
        const pawl_value *key, *v;

        while ((v = pawl_iter_next(&it, &key)) != NULL) {
            const char *name = pawl_value_string(key);

            if (is_variable(name) && is_text(v) && !(for_model && may_be_secret(name)) && pawl_value_get(out, name) == NULL)
                out = value_with(mem, out, name, v);
        }
    }
    if (out == NULL)
        fail(err, PAWL_NOMEM, "no memory for variables of settings");
    return out;
}

/* ---- the sandbox -------------------------------------------------------------------------------------------------------- */

const char *claude_boxed(arena *mem, const char *folder, pawl_err *err)
{
    const claude_files *files = claude_look(mem, folder, 0, err);

    if (files == NULL)
        return NULL;
    for (size_t i = 0; i < files->count; i++)
        if (pawl_value_bool(pawl_value_get(pawl_value_get(files->all[i].v, "sandbox"), "enabled")))
            return files->all[i].path;
    return "";
}
