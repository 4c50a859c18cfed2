/* explain.c - explains policies: which rules fit a call, which can never decide, how two policies differ, what "always" would write.
 *
 * Owns nothing; pure, any thread. Its functions are public (pawl/policy.h); called by `pawl policy`, `pawl prove` and the questions of the agent. */
#include "policy/policy.h"

/* ---- which rules fit ----------------------------------------------------------------------------------------------- */

static bool fit_report(const policy_call *c, const pawl_decision *out, size_t i, size_t part, pawl_fits_fn *fn, void *ctx)
{
    pawl_bytes b = call_subject(c, part);
    char text[160] = "";

    if (part < c->sh.nparts && c->sh.nparts > 1)
        line_put(text, sizeof text, "%t", &b);
    return fn(ctx, i, text, i == out->rule && out->ground != PAWL_GROUND_SYNTAX);
}

static bool fits_some(const policy_call *c, size_t i, size_t *part)
{
    const policy_rule *r = &c->p->rules[i];

    if (!rule_active(r, c->q->time_ms))
        return false;
    if (i < c->p->ask_end)
        return rule_fits_any(r, c, part) || call_path_rule(c, i, i + 1, part, NULL, NULL) == i;
    for (*part = 0; c->command && *part < c->sh.nparts; ++*part)
        if (!c->sh.parts[*part].hidden && rule_fits_part(r, c, *part))
            return true;
    *part = SIZE_MAX;
    return !c->command && rule_fits_part(r, c, SIZE_MAX);
}

void pawl_policy_why(const pawl_policy *p, const pawl_request *q, pawl_decision *out, pawl_fits_fn *fn, void *ctx)
{
    policy_call c;
    size_t part;

    call_read(&c, p, q);
    call_decide(&c, out);
    for (size_t i = 0; p != NULL && fn != NULL && i < p->count; i++)
        if ((fits_some(&c, i, &part) || i == out->rule) && !fit_report(&c, out, i, part, fn, ctx))
            return;
}

/* ---- shadowed --------------------------------------------------------------------------------------------- */

/* By their scopes, a fits everything that b fits. */
static bool scope_covers(const policy_rule *a, const policy_rule *b)
{
    switch (a->scope) {
    case SCOPE_EDITS:
        return b->scope == SCOPE_EDITS || (b->scope == SCOPE_NAME && tool_edits(b->tool));
    case SCOPE_READS:
        return b->scope == SCOPE_READS ? b->spec != SPEC_NONE || a->spec == SPEC_NONE : b->scope == SCOPE_NAME && tool_reads(b->tool);
    case SCOPE_SERVER:
        return strncmp(a->tool, b->tool, a->tool_size) == 0 && (b->tool[a->tool_size] == '\0' ? b->scope == SCOPE_SERVER :
               strncmp(b->tool + a->tool_size, "__", 2) == 0);
    case SCOPE_GLOB:
        if (b->scope == SCOPE_EDITS || b->scope == SCOPE_READS || b->scope == SCOPE_AGENT)
            return strcmp(a->tool, "*") == 0;
        if (b->scope == SCOPE_SERVER)   /* fits the bare name, too, and anything after __ */
            return text_glob(a->tool, a->tool_size, b->tool, b->tool_size) && a->tool[a->tool_size - 1] == '*';
        return text_glob(a->tool, a->tool_size, b->tool, b->tool_size);
    case SCOPE_AGENT:
        return b->scope == SCOPE_AGENT;
    case SCOPE_NAME:
        return b->scope == SCOPE_NAME && strcmp(a->tool, b->tool) == 0;
    }
    return false;
}

static bool same_text(const policy_rule *a, const policy_rule *b)
{
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0 && a->word == b->word;
}

static bool same_pattern(const path_pattern *a, const path_pattern *b)
{
    return a->base_size == b->base_size && memcmp(a->base, b->base, a->base_size) == 0 && a->size == b->size &&
           memcmp(a->text, b->text, a->size) == 0 && a->anchored == b->anchored && (a->folder == b->folder || b->folder);
}

static bool has_wild(const char *text, size_t n)
{
    return memchr(text, '*', n) != NULL || memchr(text, '?', n) != NULL || memchr(text, '[', n) != NULL || memchr(text, '\\', n) != NULL;
}

/* False also where it cannot be shown. */
static bool spec_covers(const policy_rule *a, const policy_rule *b)
{
    path at;

    if (a->spec == SPEC_NONE)
        return true;
    if (a->spec != b->spec)
        return false;
    switch (a->spec) {
    case SPEC_NONE:
        return true;
    case SPEC_COMMAND:  /* only a * of a fits the * of b */
        if (same_text(a, b))
            return true;
        if (memchr(b->text, '\\', b->size) != NULL || (b->word && !a->word && !(a->size > 0 && a->text[a->size - 1] == '*')))
            return false;
        return rule_text_fits(a, b->text, b->size, false);
    case SPEC_PATH:
        if (same_pattern(&a->path, &b->path))
            return true;
        if (b->path.base_size + b->path.size + 2 >= sizeof at.text || !b->path.anchored || has_wild(b->path.text, b->path.size) || a->path.folder)
            return false;
        at.size = b->path.base_size + 1 + b->path.size;
        memcpy(at.text, b->path.base, b->path.base_size);
        at.text[b->path.base_size] = '/';
        memcpy(at.text + b->path.base_size + 1, b->path.text, b->path.size);
        at.text[at.size] = '\0';
        return b->path.size > 0 && path_fits(&a->path, &at, false) && (a->info.behavior != PAWL_BEHAVIOR_ALLOW || a->path.plain_end);
    case SPEC_DOMAIN:
        if (a->port != 0 && a->port != b->port)
            return false;
        return strcmp(a->text, b->text) == 0 || strcmp(a->text, "*") == 0 || (*b->text != '*' && host_fits(a->text, b->text)) ||
               (*a->text == '*' && *b->text == '*' && b->text[1] != '\0' && host_fits(a->text, b->text + 1));
    case SPEC_NAMED:
        return same_text(a, b) || (memchr(b->text, '\\', b->size) == NULL && text_glob(a->text, a->size, b->text, b->size));
    case SPEC_PARAM:
        return strcmp(a->param, b->param) == 0 && (same_text(a, b) || (memchr(b->text, '\\', b->size) == NULL &&
               text_glob(a->text, a->size, b->text, b->size)));
    }
    return false;
}

static bool covers(const policy_rule *a, const policy_rule *b)
{
    bool outlives = a->info.until_ms == 0 || (b->info.until_ms != 0 && a->info.until_ms >= b->info.until_ms);

    return outlives && scope_covers(a, b) && spec_covers(a, b);
}

void pawl_policy_shadowed(const pawl_policy *p, pawl_shadow_fn *fn, void *ctx)
{
    for (size_t b = 0; p != NULL && b < p->count; b++) {
        for (size_t a = 0; a < b; a++) {
            if (!covers(&p->rules[a], &p->rules[b]))
                continue;
            if (!fn(ctx, b, a))
                return;
            break;
        }
    }
}

/* ---- differences ---------------------------------------------------------------------------------------------- */

enum { SAMPLES = 2 };

static pawl_permission sample_class(const char *tool)
{
    if (tool_reads(tool))
        return PAWL_PERMISSION_READ;
    if (tool_edits(tool))
        return PAWL_PERMISSION_EDIT;
    if (strcmp(tool, "Bash") == 0)
        return PAWL_PERMISSION_EXEC;
    return text_listed(tool, strlen(tool), " WebFetch WebSearch ") ? PAWL_PERMISSION_NET : PAWL_PERMISSION_OTHER;
}

/* A text that the pattern fits: `with` for each *. */
static void fill(buf *b, const char *text, size_t n, const char *with)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\' && i + 1 < n)
            buf_char(b, text[++i]);
        else if (text[i] == '*' && i + 1 < n && text[i + 1] == '*')
            i++, buf_text(b, "deep/x");
        else if (text[i] == '*' || text[i] == '?')
            buf_text(b, text[i] == '*' ? with : "x");
        else
            buf_char(b, text[i]);
    }
}

/* A call that `r` fits, as its text. */
static void sample(buf *b, const policy_rule *r, int which)
{
    buf_reset(b);
    switch (r->spec) {
    case SPEC_NONE:
        if (strcmp(r->tool, "Bash") == 0)
            buf_text(b, "make-something");
        else if (tool_on_path(r->tool))
            buf_text(b, "something");
        else if (strcmp(r->tool, "WebFetch") == 0)
            buf_text(b, "https://example.org/");
        break;
    case SPEC_COMMAND:
        fill(b, r->text, r->size, "x");
        if (r->word && which == 1)
            buf_text(b, " x");
        break;
    case SPEC_PATH:
        buf_put(b, r->path.base, r->path.base_size);
        buf_char(b, '/');
        fill(b, r->path.text, r->path.size, "x");
        if (which == 1 || r->path.folder || r->path.size == 0)
            buf_text(b, "/x");
        break;
    case SPEC_DOMAIN:
        buf_text(b, "https://");
        fill(b, r->text, strlen(r->text), "x");
        buf_text(b, "/");
        break;
    case SPEC_NAMED: case SPEC_PARAM:
        fill(b, r->text, r->size, "x");
        break;
    }
}

static const char *sample_key(const policy_rule *r, const char *tool)
{
    if (r->spec == SPEC_PARAM)
        return r->param;
    if (strcmp(tool, "Bash") == 0)
        return "command";
    if (strcmp(tool, "NotebookEdit") == 0)
        return "notebook_path";
    if (tool_on_path(tool))
        return text_listed(tool, strlen(tool), " Glob Grep LS ") ? "path" : "file_path";
    if (strcmp(tool, "Node") == 0)
        return "name";
    return strcmp(tool, "WebFetch") == 0 ? "url" : strcmp(tool, "Skill") == 0 ? "skill" : "subagent_type";
}

typedef struct comparison {
    const pawl_policy *a, *b;
    pawl_mode mode;
    pawl_differs_fn *fn;
    void *ctx;
    arena mem;
    buf text, tool;
} comparison;

/* False: no more, or no memory (x->mem.failed, x->text.failed). */
static bool compare(comparison *x, const policy_rule *r, int which)
{
    pawl_request q = { .mode = x->mode };
    pawl_decision da, db;

    buf_reset(&x->tool);
    fill(&x->tool, r->tool, r->tool_size, "x");
    if (r->scope == SCOPE_SERVER)
        buf_text(&x->tool, "__x");
    buf_char(&x->tool, '\0');
    sample(&x->text, r, which);
    buf_char(&x->text, '\0');
    if (x->tool.failed || x->text.failed)
        return false;
    arena_reset(&x->mem);
    q.tool = x->tool.data;
    q.cls = sample_class(q.tool);
    q.node = strcmp(q.tool, "Node") == 0;
    q.requires = q.node ? PAWL_MODE_BYPASS : PAWL_MODE_NONE;     /* where an allow rule counts */
    q.args = value_pack(&x->mem, NULL, "{s:s}", sample_key(r, q.tool), x->text.data);
    if (q.args == NULL)
        return !x->mem.failed;
    pawl_decide(x->a, &q, &da);
    pawl_decide(x->b, &q, &db);
    return da.behavior == db.behavior || x->fn(x->ctx, q.tool, x->text.data, &da, &db);
}

static bool same_rule(const policy_rule *a, const policy_rule *b)
{
    return strcmp(a->info.text, b->info.text) == 0 && a->spec == b->spec && (a->spec != SPEC_PATH || same_pattern(&a->path, &b->path));
}

static bool rule_is_twice(const pawl_policy *p, size_t n, const policy_rule *r)
{
    for (size_t i = 0; i < n; i++)
        if (same_rule(&p->rules[i], r))
            return true;
    return false;
}

pawl_code pawl_policy_diff(const pawl_policy *a, const pawl_policy *b, pawl_mode mode, pawl_differs_fn *fn, void *ctx)
{
    comparison x = { .a = a, .b = b, .mode = mode, .fn = fn, .ctx = ctx };
    const pawl_policy *const both[] = { a, b };
    bool more = true;
    pawl_code rc;

    arena_init(&x.mem, a != NULL ? &a->alloc : b != NULL ? &b->alloc : NULL, 1024);
    buf_init(&x.text, &x.mem.alloc);
    buf_init(&x.tool, &x.mem.alloc);
    for (size_t k = 0; k < 2 && more; k++)
        for (size_t i = 0; both[k] != NULL && i < both[k]->count && more; i++) {
            const policy_rule *r = &both[k]->rules[i];

            if (rule_is_twice(both[k], i, r) || (k == 1 && a != NULL && rule_is_twice(a, a->count, r)))
                continue;
            for (int which = 0; which < SAMPLES && more; which++)
                more = (which == 1 && !r->word && r->spec != SPEC_PATH) || compare(&x, r, which);
        }
    rc = x.mem.failed || x.text.failed || x.tool.failed ? PAWL_NOMEM : PAWL_OK;
    buf_free(&x.text);
    buf_free(&x.tool);
    arena_free(&x.mem);
    return rc;
}

/* ---- always ------------------------------------------------------------------------------------------------------ */

/* TOOL(LEAD + text, escaped); false: too long, or not expressible as a rule. */
static bool write_rule(char out[PAWL_RULE_BYTES], const char *tool, const char *lead, const char *text, size_t n, const char *special)
{
    size_t at = strlen(tool) + 1 + strlen(lead);

    if (at + n + 2 > PAWL_RULE_BYTES)
        return false;
    line_put(out, PAWL_RULE_BYTES, "%s(%s", tool, lead);
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f || at + 4 > PAWL_RULE_BYTES)
            return false;
        if (strchr(special, text[i]) != NULL)
            out[at++] = '\\';
        out[at++] = text[i];
    }
    out[at++] = ')';
    out[at] = '\0';
    return true;
}

static bool always_path(const char *tool, const path *p, char out[PAWL_RULE_BYTES])
{
    return p->size > 1 && write_rule(out, tool, "/", p->text, p->size, "*?[\\");
}

/* One part by its words; by its source text where the words alone do not identify it. */
static bool always_part(const shell *s, const shell_part *p, char out[PAWL_RULE_BYTES])
{
    pawl_bytes all = shell_joined(s, p);
    bool plain = all.size > 0 && memchr(all.data, WORD_BLANK, all.size) == NULL && all.data[0] != ' ' && all.data[all.size - 1] != ' ' &&
                 all.data[all.size - 1] != '\n';

    for (uint32_t i = 0; i < p->count && plain; i++)
        plain = s->words[p->first + i].flags == 0 && s->words[p->first + i].size > 0;
    if (p->more || p->count == 0)
        return false;
    return plain ? write_rule(out, "Bash", "", all.data, all.size, "*\\") : write_rule(out, "Bash", "", p->from, p->size, "*\\");
}

typedef struct offers {
    const policy_call *c;
    char (*rules)[PAWL_RULE_BYTES];
    size_t n;
    bool lost;
} offers;

/* Drops the rule that was just written when an earlier one is the same. */
static void offer(offers *o, bool written)
{
    if (!written)
        o->lost = true;
    for (size_t i = 0; i < o->n && written; i++)
        if (strcmp(o->rules[i], o->rules[o->n]) == 0)
            return;
    o->n++;
}

static char *offer_room(offers *o)
{
    if (o->n >= PAWL_ALWAYS_MAX)
        o->lost = true;
    return o->lost ? NULL : o->rules[o->n];
}

static bool offer_edit(void *ctx, const command_path *w)
{
    offers *o = ctx;
    char *room;

    if (!w->edit || !w->redirection || w->goes || text_listed(w->at.given.text, w->at.given.size, " /dev/null /dev/stdout /dev/stderr "))
        return true;
    if (!w->sure || w->moved)
        o->lost = true;
    if ((room = offer_room(o)) != NULL)
        offer(o, always_path("Edit", &w->at.given, room));
    if (w->at.linked && (room = offer_room(o)) != NULL)
        offer(o, always_path("Edit", &w->at.real, room));
    return !o->lost;
}

static void offer_parts(offers *o)
{
    const policy_call *c = o->c;
    bool moved = false;

    for (size_t i = 0; i < c->sh.nparts && !o->lost; i++) {
        const shell_part *p = &c->sh.parts[i];
        char *room;

        if (p->raises)
            o->lost = true;     /* no pattern covers it */
        moved = moved || call_moves(c, i);
        if (p->hidden || (p->count == 0 && !p->alters) || (c->q->mode != PAWL_MODE_PLAN && !c->q->node && call_part_reads(c, i, moved)))
            continue;
        if ((room = offer_room(o)) != NULL)
            offer(o, always_part(&c->sh, p, room));
    }
    if (c->has_paths && !o->lost)
        command_paths_visit(c, offer_edit, o);
}

static void offer_call(offers *o)
{
    const policy_call *c = o->c;
    const char *agent = pawl_value_string(pawl_value_get(c->q->args, "subagent_type"));
    bool known_name = strcmp(c->tool, "Agent") == 0 || strcmp(c->tool, "Task") == 0;

    if (c->has_path && tool_on_path(c->tool)) {
        offer(o, c->at.given.sure && always_path(c->tool, &c->at.given, o->rules[0]));
        if (c->at.linked && !o->lost)
            offer(o, always_path(c->tool, &c->at.real, o->rules[1]));
    } else if (c->net) {
        offer(o, write_rule(o->rules[0], "WebFetch", "domain:", c->host, strlen(c->host), ""));
    } else if (known_name && agent != NULL && *agent != '\0') {
        offer(o, write_rule(o->rules[0], "Agent", "", agent, strlen(agent), "*\\"));
    } else {
        size_t n = strlen(c->tool);

        for (size_t i = 0; i < n; i++)
            if (strchr("(*) ", c->tool[i]) != NULL || (unsigned char)c->tool[i] <= ' ')
                o->lost = true;
        if (n == 0 || n >= PAWL_RULE_BYTES)
            o->lost = true;
        else
            line_put(o->rules[0], PAWL_RULE_BYTES, "%s", c->tool);
        o->n = 1;
    }
}

size_t pawl_policy_always(const pawl_policy *p, const pawl_request *q, char rules[PAWL_ALWAYS_MAX][PAWL_RULE_BYTES])
{
    policy_call c;
    pawl_decision d;
    offers o = { &c, rules, 0, false };

    call_read(&c, p, q);
    call_decide(&c, &d);
    if (d.behavior != PAWL_BEHAVIOR_ASK || d.ground != PAWL_GROUND_DEFAULT || c.unsure != NULL)
        return 0;
    if (c.command)
        offer_parts(&o);
    else
        offer_call(&o);
    return o.lost ? 0 : o.n;
}
