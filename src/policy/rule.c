/* rule.c - compiles rules as people write them: Tool, Tool(spec). A rule that cannot be read is refused with a hint at what is right.
 *
 * Owns nothing: compiled texts are in the policy's arena. Called by parse_policy.c and explain.c, and by match.c to compare texts; pure, any thread.
 * Invariant: no rule is dropped or weakened: a policy with one that cannot be read is refused as a whole. */
#include "base/glob.h"
#include "policy/policy.h"

/* ---- tools by name -------------------------------------------------------------------------------------- */

bool tool_reads(const char *tool)
{
    return text_listed(tool, strlen(tool), " Read Glob Grep LS NotebookRead ");
}

bool tool_edits(const char *tool)
{
    return text_listed(tool, strlen(tool), " Edit Write MultiEdit NotebookEdit ");
}

bool tool_on_path(const char *tool)
{
    return tool_reads(tool) || tool_edits(tool);
}

static bool tool_named(const char *tool)
{
    return text_listed(tool, strlen(tool), " Agent Task Skill ");
}

/* ---- * in texts ----------------------------------------------------------------------------------------------- */

bool text_glob(const char *pattern, size_t np, const char *text, size_t nt)
{
    return glob_fits(pattern, pattern + np, text, text + nt, GLOB_STARS);
}

bool rule_text_fits(const policy_rule *r, const char *text, size_t size, bool loose)
{
    const char *lead = r->text;
    size_t n = r->literal;

    if (size < n)
        return false;
    if (!loose && memcmp(lead, text, n) != 0)
        return false;
    for (size_t i = 0; loose && i < n; i++)
        if (lead[i] != text[i] && !(lead[i] == ' ' && text[i] == WORD_BLANK))
            return false;
    return glob_fits(lead + n, lead + r->size, text + n, text + size, GLOB_STARS | (loose ? GLOB_BLANKS : 0) | (r->word ? GLOB_MORE_WORDS : 0));
}

/* ---- specs ------------------------------------------------------------------------------------------------------ */

static bool rule_refuse(pawl_err *err, const policy_rule *r, const char *what)
{
    fail(err, PAWL_INVALID, "rule \"%.90s\": %s", r->info.text, what);
    return false;
}

static bool compile_command(policy_rule *r, pawl_err *err)
{
    while (r->size > 0 && *r->text == ' ') {
        r->text++;
        r->size--;
    }
    if (r->size >= 2 && r->text[r->size - 1] == '*' && (r->text[r->size - 2] == ':' || r->text[r->size - 2] == ' ')) {
        r->word = true;
        r->size -= 2;
    }
    while (r->size > 0 && r->text[r->size - 1] == ' ')
        r->size--;
    if (r->size == 0)
        return rule_refuse(err, r, "it names no command; for all of them write Bash");
    r->spec = SPEC_COMMAND;
    r->exact = !r->word;
    for (size_t i = 0; i < r->size && r->exact; i++) {
        if (r->text[i] == '\\' && i + 1 < r->size && (r->text[i + 1] == '*' || r->text[i + 1] == '\\'))
            i++;
        else
            r->exact = r->text[i] != '*';
    }
    while (r->literal < r->size && r->text[r->literal] != '*' && r->text[r->literal] != '\\')
        r->literal++;
    return true;
}

static bool compile_base(policy_rule *r, const char *base, const char *what, arena *mem, pawl_err *err)
{
    path at;

    if (base == NULL)
        return rule_refuse(err, r, what);
    if (!path_set(&at, base, strlen(base), NULL, NULL))
        return rule_refuse(err, r, "the folder that it begins at is no absolute path");
    r->path.base_size = at.size > 1 ? at.size : 0;
    if ((r->path.base = arena_strdup(mem, at.text, r->path.base_size)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a rule");
        return false;
    }
    return true;
}

static bool pattern_sound(policy_rule *r, const char *p, size_t n, pawl_err *err)
{
    const char *end = p + n;

    for (const char *at = p; at < end; ) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t m = (size_t)((slash != NULL ? slash : end) - at);

        if (m == 0)
            return rule_refuse(err, r, "it has // within; an absolute path begins with //");
        if ((m == 2 && memcmp(at, "..", 2) == 0) || (m == 1 && *at == '.'))
            return rule_refuse(err, r, "write the path without . and .. in it");
        for (size_t i = 0; i < m; i++)
            if (at[i] == '\\')
                i++;
            else if (at[i] == '[' && memchr(at + i, ']', m - i) == NULL)
                return rule_refuse(err, r, "a [ in it has no ]");
        at += m + (slash != NULL);
    }
    return true;
}

static bool compile_path(policy_rule *r, const pawl_policy *p, arena *mem, pawl_err *err)
{
    const char *t = r->text;
    path_pattern *x = &r->path;
    size_t n = r->size, last;

    if (*t == '!')
        return rule_refuse(err, r, "a pattern cannot be negated by !; write a rule of another kind");
    x->anchored = true;
    if (n >= 2 && t[0] == '/' && t[1] == '/') {
        if (!compile_base(r, "/", "", mem, err))
            return false;
        t += 2, n -= 2;
    } else if (*t == '~' && (n == 1 || t[1] == '/')) {
        if (!compile_base(r, p->home, "the policy does not say what \"home\" is", mem, err))
            return false;
        t += n > 1 ? 2 : 1, n -= n > 1 ? 2 : 1;
    } else if (*t == '/') {
        if (!compile_base(r, r->base != NULL ? r->base : p->cwd, "/ is the rule's \"base\", which it does not say; the root is //", mem, err))
            return false;
        t++, n--;
    } else {
        if (!compile_base(r, p->cwd, "the policy does not say \"cwd\", where it begins; an absolute path begins with //", mem, err))
            return false;
        x->anchored = n >= 2 && t[0] == '.' && t[1] == '/';
        if (x->anchored || (n == 1 && *t == '.'))
            t += n > 1 ? 2 : 1, n -= n > 1 ? 2 : 1;
    }
    if (n > 0 && t[n - 1] == '/') {
        x->folder = true;
        n--;
    }
    if (!pattern_sound(r, t, n, err))
        return false;
    x->text = t;
    x->size = (uint32_t)n;
    if (memchr(t, '/', n) != NULL || n == 0)
        x->anchored = true;
    for (last = n; last > 0 && t[last - 1] != '/'; last--)
        ;
    x->plain_end = memchr(t + last, '*', n - last) == NULL && memchr(t + last, '?', n - last) == NULL && memchr(t + last, '[', n - last) == NULL;
    r->spec = SPEC_PATH;
    return true;
}

static bool compile_domain(policy_rule *r, arena *mem, pawl_err *err)
{
    char host[256];

    if (r->size < 8 || memcmp(r->text, "domain:", 7) != 0 || !host_read(r->text + 7, r->size - 7, host, sizeof host, true))
        return rule_refuse(err, r, "write WebFetch(domain:example.com) or WebFetch(domain:*.example.com)");
    r->spec = SPEC_DOMAIN;
    r->size = (uint32_t)strlen(host);
    if ((r->text = arena_strdup(mem, host, r->size)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a rule");
        return false;
    }
    return true;
}

/* host:port, *.host:port, host:* */
static bool compile_network(policy_rule *r, arena *mem, pawl_err *err)
{
    const char *colon = NULL;
    char host[256];
    unsigned port = 0;
    size_t n = 0;

    for (size_t i = 0; i < r->size; i++)
        if (r->text[i] == ':')
            colon = r->text + i;
    n = colon != NULL ? (size_t)(r->text + r->size - colon - 1) : 0;
    for (size_t i = 1; i <= n && n <= 5; i++)
        port = colon[i] >= '0' && colon[i] <= '9' && port <= UINT16_MAX ? port * 10 + (unsigned)(colon[i] - '0') : UINT16_MAX + 1U;
    if (n == 1 && colon[1] == '*')
        port = 0;
    if (n == 0 || n > 5 || (port == 0 && colon[1] != '*') || port > UINT16_MAX || !host_read(r->text, (size_t)(colon - r->text), host, sizeof host, true))
        return rule_refuse(err, r, "write Network(example.com:443), Network(*.example.com:443) or Network(example.com:*)");
    r->spec = SPEC_DOMAIN;
    r->port = (uint16_t)port;
    r->size = (uint32_t)strlen(host);
    if ((r->text = arena_strdup(mem, host, r->size)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a rule");
        return false;
    }
    return true;
}

static bool compile_param(policy_rule *r, arena *mem, pawl_err *err)
{
    const char *colon = memchr(r->text, ':', r->size);

    if (colon == NULL || colon == r->text)
        return rule_refuse(err, r, "what is in ( ) of this tool is a parameter: Tool(name:value)");
    if (r->info.behavior == PAWL_BEHAVIOR_ALLOW)
        return rule_refuse(err, r, "a parameter may be denied or asked, not allowed; allow the tool by its name");
    if ((r->param = arena_strdup(mem, r->text, (size_t)(colon - r->text))) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a rule");
        return false;
    }
    r->size -= (uint32_t)(colon + 1 - r->text);
    r->text = colon + 1;
    r->spec = SPEC_PARAM;
    return true;
}

/* Node(write), Node(name:write): a node has no other argument. */
static bool compile_name(policy_rule *r)
{
    const bool prefixed = r->size > 5 && memcmp(r->text, "name:", 5) == 0;

    if (!prefixed && memchr(r->text, ':', r->size) != NULL)
        return false;
    r->text += prefixed ? 5 : 0;
    r->size -= prefixed ? 5 : 0;
    r->spec = SPEC_NAMED;
    return true;
}

/* ---- tools ------------------------------------------------------------------------------------------------------------ */

static bool tool_chars(const char *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((t[i] >= 'a' && t[i] <= 'z') || (t[i] >= 'A' && t[i] <= 'Z') || (t[i] >= '0' && t[i] <= '9') || strchr("_-.:/*", t[i]) != NULL))
            return false;
    return n > 0;
}

static bool compile_scope(policy_rule *r, pawl_err *err)
{
    char *t = (char *)(uintptr_t)r->tool;   /* our own copy */
    size_t n = r->tool_size;
    bool server = n > 5 && memcmp(t, "mcp__", 5) == 0;

    if (server && n > 8 && strcmp(t + n - 3, "__*") == 0 && memchr(t, '*', n - 1) == NULL) {
        t[n - 3] = '\0';
        r->tool_size -= 3;
        r->scope = SCOPE_SERVER;
        return true;
    }
    if (strchr(t, '*') != NULL) {
        if (r->info.behavior == PAWL_BEHAVIOR_ALLOW)
            return rule_refuse(err, r, "a tool's name with * is for rules that deny or ask; mcp__server__* may be allowed");
        r->scope = SCOPE_GLOB;
        return true;
    }
    if (server && strstr(t + 5, "__") == NULL)
        r->scope = SCOPE_SERVER;
    else if (strcmp(t, "Edit") == 0)
        r->scope = SCOPE_EDITS;
    else if (strcmp(t, "Read") == 0)
        r->scope = SCOPE_READS;
    else if (strcmp(t, "Agent") == 0 || strcmp(t, "Task") == 0)
        r->scope = SCOPE_AGENT;
    return true;
}

/* bash(ls) would fit nothing, and its author would not notice. */
static bool misspelt(const char *tool, pawl_err *err, const policy_rule *r)
{
    static const char *const names[] = {
        "Bash", "Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS", "WebFetch", "Network", "Agent", "Task", "Skill",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *a = names[i], *b = tool;

        while (*a != '\0' && (*a | 32) == (*b | 32))
            a++, b++;
        if (*a == '\0' && *b == '\0' && strcmp(names[i], tool) != 0) {
            fail(err, PAWL_INVALID, "rule \"%.90s\": no tool has that name with ( ) (did you mean \"%s\"?)", r->info.text, names[i]);
            return true;
        }
    }
    return false;
}

static bool two_rules(const char *spec, size_t n)
{
    for (size_t i = 0; i + 3 < n; i++) {
        if (spec[i] == ')' && spec[i + 1] == ',' && spec[i + 2] == ' ' && spec[i + 3] >= 'A' && spec[i + 3] <= 'Z')
            return true;
    }
    return false;
}

static bool rule_compiled(policy_rule *r, const pawl_policy *p, arena *mem, pawl_err *err)
{
    const char *text = r->info.text, *open = strchr(text, '(');
    size_t n = strlen(text), t = open != NULL ? (size_t)(open - text) : n;

    if (n == 0)
        return rule_refuse(err, r, "it is empty; write Tool or Tool(spec)");
    if (!tool_chars(text, t))
        return rule_refuse(err, r, "it does not begin with the name of a tool; write Tool or Tool(spec)");
    if (open != NULL && text[n - 1] != ')')
        return rule_refuse(err, r, "it does not end with ); write Tool(spec)");
    if ((r->tool = arena_strdup(mem, text, t)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a rule");
        return false;
    }
    r->tool_size = (uint32_t)t;
    if (!compile_scope(r, err))
        return false;
    if (open == NULL)
        return true;
    r->text = open + 1;
    r->size = (uint32_t)(n - t - 2);
    if (r->size == 0)
        return rule_refuse(err, r, "there is nothing in ( ); for all that the tool does write its name alone");
    if (two_rules(r->text, r->size))
        return rule_refuse(err, r, "these are two rules; write each by itself");
    if (misspelt(r->tool, err, r))
        return false;
    if (r->size == 1 && *r->text == '*')
        return true;
    if (strcmp(r->tool, "Bash") == 0)
        return compile_command(r, err);
    if (tool_on_path(r->tool))
        return compile_path(r, p, mem, err);
    if (strcmp(r->tool, "WebFetch") == 0)
        return compile_domain(r, mem, err);
    if (strcmp(r->tool, "Network") == 0)
        return compile_network(r, mem, err);
    if (tool_named(r->tool)) {
        r->spec = SPEC_NAMED;
        return true;
    }
    return (strcmp(r->tool, "Node") == 0 && compile_name(r)) || compile_param(r, mem, err);
}

bool rule_compile(policy_rule *r, const pawl_policy *p, arena *mem, pawl_err *err)
{
    bool good = rule_compiled(r, p, mem, err), paths = r->spec == SPEC_PATH || r->spec == SPEC_NONE;

    if (good) {
        r->bash = strcmp(r->tool, "Bash") == 0;
        r->on_reads = paths && r->scope == SCOPE_READS;
        r->on_edits = paths && (r->scope == SCOPE_EDITS || (r->scope == SCOPE_NAME && strcmp(r->tool, "Write") == 0) ||
                                (r->on_reads && r->spec == SPEC_PATH && r->info.behavior == PAWL_BEHAVIOR_DENY));
    }
    return good;
}
