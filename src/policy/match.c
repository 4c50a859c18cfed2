/* match.c - reads a call once (call_read), and says whether a rule fits it.
 *
 * Owns nothing: a policy_call is the caller's, and borrows the request. Called by decide.c and explain.c; pure, any thread.
 * Invariant: deny and ask rules fit generously, allow rules strictly: what is unknown of a call may fit a deny rule, and never an allow rule. */
#include "policy/policy.h"

/* ---- reading a call ------------------------------------------------------------------------------------ */

static size_t name_begins(const shell_word *w)
{
    size_t n = w->size;

    while (n > 0 && w->text[n - 1] != '/')
        n--;
    return n;
}

static void note_begins(policy_call *c, const shell_part *p)
{
    const shell_word *w = &c->sh.words[p->first];

    if (p->size > 0)
        c->begins[(unsigned char)*p->from] = true;
    for (uint32_t i = 0; i < (p->carries ? p->count : p->count > 0); i++) {
        size_t skip = name_begins(&w[i]);

        c->begins[(unsigned char)*w[i].text] = true;
        c->begins[(unsigned char)w[i].text[skip]] = true;
    }
}

static void read_command(policy_call *c)
{
    const pawl_value *v = pawl_value_get(c->q->args, "command");
    bool text = pawl_value_type(v) == PAWL_TYPE_STRING;

    c->command = true;
    memset(c->begins, 0, sizeof c->begins);
    if (text && pawl_value_size(v) > 0)
        c->begins[(unsigned char)*pawl_value_string(v)] = true;
    if (text)
        shell_split(&c->sh, pawl_value_string(v), pawl_value_size(v));
    else
        shell_split_words(&c->sh, v);
    c->unsure = c->sh.unsure;
    c->vague = c->unsure != NULL;
    for (size_t i = 0; i < c->sh.nparts; i++) {
        const shell_part *p = &c->sh.parts[i];
        const shell_word *w = &c->sh.words[p->first];

        note_begins(c, p);
        c->use[i] = (unsigned char)program_operand_use(&c->sh, p);
        if (c->use[i] == OPERAND_NONE && p->count > 0 && (p->carries || text_listed(w->text, w->size, " cd pushd popd ")))
            c->use[i] = OPERAND_LOOK;
        for (uint32_t k = 0; k < p->count; k++)
            c->vague = c->vague || (w[k].flags & (WORD_UNKNOWN | WORD_GLOB)) != 0 || (c->use[i] == OPERAND_READ && program_globs(&c->sh, p, &w[k]));
        c->vague = c->vague || p->more || (c->use[i] == OPERAND_LOOK && !p->carries);
        c->has_paths = c->has_paths || c->use[i] != OPERAND_NONE || p->edits > 0;
    }
}

static const pawl_value *path_arg(const policy_call *c)
{
    static const char *const keys[] = { "file_path", "path", "notebook_path" };
    const pawl_value *v = NULL;

    for (size_t i = 0; v == NULL && i < sizeof keys / sizeof *keys; i++)
        v = pawl_value_get(c->q->args, keys[i]);
    return v;
}

static bool follow_to(const policy_call *c, const char *to, path *out, bool *set)
{
    *set = to != NULL;
    return to == NULL || path_set(out, to, strlen(to), c->cwd, c->p != NULL ? c->p->home : NULL);
}

/* An entry is a text, or {"to": the target, "same": another name of the file}. Both are looked up: by the path as it is written, as the words of a command
 * are asked for, and by the absolute path, as the path of a tool is. */
bool call_follow(const policy_call *c, const char *written, policy_place *at)
{
    const pawl_value *led = written != NULL ? pawl_value_get(c->q->links, written) : NULL;
    const char *to;

    if (led == NULL)
        led = pawl_value_get(c->q->links, at->given.text);
    to = pawl_value_string(led);
    if (to == NULL)
        to = pawl_value_string(pawl_value_get(led, "to"));
    if (!follow_to(c, to, &at->real, &at->linked))
        return false;
    return follow_to(c, pawl_value_string(pawl_value_get(led, "same")), &at->same, &at->shared);
}

static void read_path(policy_call *c)
{
    const pawl_value *v = path_arg(c);
    const char *text = pawl_value_string(v), *home = c->p != NULL ? c->p->home : NULL;
    size_t n = pawl_value_size(v);

    if (v == NULL) {
        if (!tool_on_path(c->tool))
            return;
        if (!text_listed(c->tool, strlen(c->tool), " Glob Grep LS ")) {
            c->unsure = "it names no path";
            return;
        }
        text = ".";
        n = 1;
    }
    c->has_path = true;
    c->at.given.sure = false;
    c->at.given.text[0] = '\0';
    if (text == NULL) {
        c->unsure = "its path is no text";
        return;
    }
    if (!path_set(&c->at.given, text, n, c->cwd, home)) {
        if (c->cwd != NULL || *text == '/' || *text == '~')
            c->unsure = "its path cannot be read for sure";
        return;
    }
    if (!call_follow(c, text, &c->at))
        c->unsure = "it is not known where its path leads";
}

static void read_url(policy_call *c)
{
    const pawl_value *v = pawl_value_get(c->q->args, "url");
    const char *text = pawl_value_string(v);

    if (strcmp(c->tool, "WebFetch") != 0)
        return;
    c->net = true;
    if (text == NULL || !url_host(text, pawl_value_size(v), c->host, sizeof c->host)) {
        c->host[0] = '\0';
        c->unsure = "its address cannot be read for sure";
    }
}

void call_read(policy_call *c, const pawl_policy *p, const pawl_request *q)
{
    c->p = p;
    c->q = q;
    c->tool = q->tool != NULL ? q->tool : "";
    c->cwd = q->cwd != NULL && *q->cwd == '/' ? q->cwd : p != NULL ? p->cwd : NULL;
    c->command = c->has_path = c->at.linked = c->at.shared = c->net = c->has_paths = false;
    c->vague = c->reads = c->edits = false;
    c->unsure = NULL;
    c->host[0] = '\0';
    if (strcmp(c->tool, "Bash") == 0) {
        read_command(c);
        return;
    }
    c->reads = tool_reads(c->tool);
    c->edits = tool_edits(c->tool);
    c->sh.nparts = 0;
    c->sh.unseen = false;
    if (c->reads || c->edits || q->cls == PAWL_PERMISSION_READ || q->cls == PAWL_PERMISSION_EDIT)
        read_path(c);
    read_url(c);
    c->vague = c->unsure != NULL;
}

/* ---- rules ------------------------------------------------------------------------------------------------- */

bool rule_for(const policy_rule *r, const policy_call *c)
{
    const char *t = c->tool;

    switch (r->scope) {
    case SCOPE_NAME:
        return r->bash == c->command && (r->bash || strcmp(r->tool, t) == 0);
    case SCOPE_EDITS:
        return c->edits || (!c->command && c->q->cls == PAWL_PERMISSION_EDIT);
    case SCOPE_READS:           /* what may not be read may not be edited either: an edit shows what was there, or takes it away */
        return c->reads || (!c->command && c->q->cls == PAWL_PERMISSION_READ && c->has_path) ||
               (r->on_edits && (c->edits || (!c->command && c->q->cls == PAWL_PERMISSION_EDIT)));
    case SCOPE_AGENT:
        return strcmp(t, "Agent") == 0 || strcmp(t, "Task") == 0;
    case SCOPE_SERVER:
        return strncmp(t, r->tool, r->tool_size) == 0 && (t[r->tool_size] == '\0' || strncmp(t + r->tool_size, "__", 2) == 0);
    case SCOPE_GLOB:
        return text_glob(r->tool, r->tool_size, t, strlen(t));
    }
    return false;
}

bool rule_fits_place(const policy_rule *r, const policy_place *at, bool loose)
{
    if (!loose)
        return path_fits(&r->path, &at->given, false) && (!at->linked || path_fits(&r->path, &at->real, false));
    return path_fits(&r->path, &at->given, true) || (at->linked && path_fits(&r->path, &at->real, true)) ||
           (at->shared && path_fits(&r->path, &at->same, true));
}

static bool fits_named(const policy_rule *r, const policy_call *c)
{
    static const char *const keys[] = { "subagent_type", "agent_type", "agent", "skill", "name", "command" };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const pawl_value *v = pawl_value_get(c->q->args, keys[i]);

        if (pawl_value_string(v) != NULL)
            return text_glob(r->text, r->size, pawl_value_string(v), pawl_value_size(v));
    }
    return false;
}

static bool fits_param(const policy_rule *r, const policy_call *c)
{
    const pawl_value *v = pawl_value_get(c->q->args, r->param);
    char digits[UINT_TEXT_MAX + 1], *end;

    switch (pawl_value_type(v)) {
    case PAWL_TYPE_STRING:
        return text_glob(r->text, r->size, pawl_value_string(v), pawl_value_size(v));
    case PAWL_TYPE_BOOL:
        return text_glob(r->text, r->size, pawl_value_bool(v) ? "true" : "false", pawl_value_bool(v) ? 4 : 5);
    case PAWL_TYPE_INT:
        end = pen_int(digits, pawl_value_int(v));
        return text_glob(r->text, r->size, digits, (size_t)(end - digits));
    case PAWL_TYPE_NONE:
        return false;
    case PAWL_TYPE_NULL: case PAWL_TYPE_REAL: case PAWL_TYPE_ARRAY: case PAWL_TYPE_OBJECT:
        return r->size == 1 && *r->text == '*';
    }
    return false;
}

/* The words of a part, the same with the bare name of its program, and each other word that may begin a command. */
static bool fits_words(const policy_rule *r, const shell *s, const shell_part *p)
{
    pawl_bytes all = shell_joined(s, p);
    size_t skip;

    if (p->count == 0)
        return false;
    if (rule_text_fits(r, all.data, all.size, true))
        return true;
    for (uint32_t i = 0; i < (p->carries ? p->count : 1); i++) {
        const shell_word *w = &s->words[p->first + i];
        const char *from = w->text;

        if (i > 0 && rule_text_fits(r, from, (size_t)(all.data + all.size - from), true))
            return true;
        skip = name_begins(w);
        if (skip > 0 && rule_text_fits(r, from + skip, (size_t)(all.data + all.size - from) - skip, true))
            return true;
    }
    return false;
}

static bool fits_command(const policy_rule *r, const policy_call *c, size_t *part)
{
    const shell *s = &c->sh;
    const pawl_value *v;

    *part = SIZE_MAX;
    if (r->literal > 0 && !c->begins[(unsigned char)*r->text])
        return false;
    for (size_t i = 0; i < s->nparts; i++) {
        const shell_part *p = &s->parts[i];

        *part = i;
        if (fits_words(r, s, p) || rule_text_fits(r, p->from, p->size, true))
            return true;
    }
    *part = SIZE_MAX;
    v = pawl_value_get(c->q->args, "command");
    return pawl_value_string(v) != NULL && rule_text_fits(r, pawl_value_string(v), pawl_value_size(v), true);
}

bool rule_fits_any(const policy_rule *r, const policy_call *c, size_t *part)
{
    *part = SIZE_MAX;
    if (!rule_for(r, c))
        return false;
    switch (r->spec) {
    case SPEC_NONE:
        return true;
    case SPEC_COMMAND:
        return c->command && fits_command(r, c, part);
    case SPEC_PATH:
        return c->has_path && c->at.given.sure && rule_fits_place(r, &c->at, true);
    case SPEC_DOMAIN:
        return c->net && c->host[0] != '\0' && host_fits(r->text, c->host);
    case SPEC_NAMED:
        return fits_named(r, c);
    case SPEC_PARAM:
        return fits_param(r, c);
    }
    return false;
}

static uint32_t known_bytes(const shell *s, const shell_part *p, bool *whole)
{
    const char *from = p->count > 0 ? s->words[p->first].text : "";

    *whole = false;
    for (uint32_t i = 0; i < p->count; i++) {
        const shell_word *w = &s->words[p->first + i];

        if (w->flags & (WORD_UNKNOWN | WORD_GLOB))
            return (uint32_t)(w->text - from) + w->known;
    }
    *whole = !p->more;
    return (uint32_t)shell_joined(s, p).size;
}

static bool may_fit_part(const policy_rule *r, const shell *s, const shell_part *p)
{
    bool whole;
    uint32_t known = known_bytes(s, p, &whole);
    const char *text = p->count > 0 ? s->words[p->first].text : "";
    size_t skip;

    if (whole || p->count == 0)
        return false;
    if (p->carries || r->literal == 0)
        return true;
    skip = name_begins(&s->words[p->first]);
    for (int turn = 0; turn < 2; turn++) {
        uint32_t n = known < r->literal ? known : r->literal;

        if (memcmp(text, r->text, n) == 0)
            return true;
        if (skip == 0 || skip > known)
            return false;
        text += skip;
        known -= (uint32_t)skip;
    }
    return false;
}

bool rule_may_fit(const policy_rule *r, const policy_call *c, size_t *part)
{
    *part = SIZE_MAX;
    if (c->command && c->sh.unseen && (r->spec == SPEC_COMMAND || rule_on_paths(r, true) || rule_on_paths(r, false)))
        return true;
    if (!rule_for(r, c))
        return false;
    if (r->spec == SPEC_PATH || r->spec == SPEC_DOMAIN)
        return c->unsure != NULL;
    if (r->spec != SPEC_COMMAND || !c->command)
        return false;
    for (size_t i = 0; i < c->sh.nparts; i++) {
        *part = i;
        if (may_fit_part(r, &c->sh, &c->sh.parts[i]))
            return true;
    }
    return false;
}

/* ---- allow rules ---------------------------------------------------------------------------------------------- */

/* Unknown words may only be where the rule fits anything. */
static bool fits_command_part(const policy_rule *r, const shell *s, const shell_part *p)
{
    pawl_bytes all = shell_joined(s, p);
    bool whole;
    uint32_t known = known_bytes(s, p, &whole);

    if (r->exact && rule_text_fits(r, p->from, p->size, false))
        return true;
    if (p->count == 0)
        return false;
    if (whole)
        return rule_text_fits(r, all.data, all.size, false);
    if (r->literal > known || memcmp(all.data, r->text, r->literal) != 0)
        return false;
    if (r->word && r->literal == r->size)
        return all.size == r->size || all.data[r->literal] == ' ';
    return !r->word && r->literal + 1 == r->size && r->text[r->literal] == '*';
}

bool rule_fits_part(const policy_rule *r, const policy_call *c, size_t part)
{
    if (!rule_for(r, c))
        return false;
    switch (r->spec) {
    case SPEC_NONE:
        return true;
    case SPEC_COMMAND:
        return c->command && (r->literal == 0 || c->begins[(unsigned char)*r->text]) && fits_command_part(r, &c->sh, &c->sh.parts[part]);
    case SPEC_PATH:
        return c->has_path && c->unsure == NULL && c->at.given.sure && rule_fits_place(r, &c->at, false);
    case SPEC_DOMAIN:
        return c->net && c->unsure == NULL && host_fits(r->text, c->host);
    case SPEC_NAMED:
        return fits_named(r, c);
    case SPEC_PARAM:
        return false;
    }
    return false;
}
