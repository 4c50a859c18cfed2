/* decide.c - decides a call: deny rules, a hook's deny and the mode's deny first, then what asks, then what allows (P2).
 *
 * Owns nothing. pawl_decide and pawl_decide_first are public; call_decide is called by explain.c. Pure, any thread.
 * Invariant P2: the order is fixed, so nothing that allows is asked before everything that denies. */
#include "policy/policy.h"

/* ---- reasons in words: they are journaled with the question that they lead to, so none is ever reworded (K5) ------------- */

static char *put_text(char *at, char *end, const char *text, size_t size)
{
    size_t room = (size_t)(end - at), n = size < room ? size : room;

    if (n < size)   /* between characters */
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
    return at + n;
}

void line_put(char *out, size_t size, const char *fmt, ...)
{
    char *at = out, *end = out + size - 1;
    va_list args;

    va_start(args, fmt);
    for (; *fmt != '\0' && at < end; fmt++) {
        if (*fmt != '%') {
            *at++ = *fmt;
        } else if (*++fmt == 's') {
            const char *text = va_arg(args, const char *);
            at = put_text(at, end, text, strlen(text));
        } else {
            const pawl_bytes *b = va_arg(args, const pawl_bytes *);
            at = put_text(at, end, b->data, b->size);
        }
    }
    va_end(args);
    *at = '\0';
}

pawl_bytes call_subject(const policy_call *c, size_t part)
{
    static const char *const keys[] = { "command", "file_path", "path", "notebook_path", "url" };

    if (part < c->sh.nparts)
        return (pawl_bytes){ c->sh.parts[part].from, c->sh.parts[part].size };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const pawl_value *v = pawl_value_get(c->q->args, keys[i]);

        if (pawl_value_string(v) != NULL)
            return (pawl_bytes){ pawl_value_string(v), pawl_value_size(v) };
    }
    return (pawl_bytes){ c->tool, strlen(c->tool) };
}

static void outcome(pawl_decision *out, pawl_behavior b, pawl_ground g, size_t rule)
{
    out->behavior = b;
    out->ground = g;
    out->rule = rule;
    out->part[0] = out->reason[0] = '\0';
}

static void outcome_part(const policy_call *c, size_t part, pawl_decision *out)
{
    pawl_bytes b = call_subject(c, part);

    if (part < c->sh.nparts && c->sh.nparts > 1)
        line_put(out->part, sizeof out->part, "%t", &b);
}

static void by_rule(const policy_call *c, size_t rule, size_t part, pawl_decision *out)
{
    static const char *const verbs[] = { "", "allowed", "asked", "denied" };
    const pawl_rule_info *r = &c->p->rules[rule].info;
    pawl_bytes subject = call_subject(c, part);

    outcome(out, r->behavior, r->behavior == PAWL_BEHAVIOR_DENY ? PAWL_GROUND_DENY_RULE : r->behavior == PAWL_BEHAVIOR_ASK ? PAWL_GROUND_ASK_RULE
        : PAWL_GROUND_ALLOW_RULE, rule);
    outcome_part(c, part, out);
    line_put(out->reason, sizeof out->reason, "%s by the rule %s%s%s: %t", verbs[r->behavior], r->text, *r->from != '\0' ? " of " : "", r->from,
             &subject);
}

static void by_mode(const policy_call *c, pawl_behavior b, const char *why, size_t part, pawl_decision *out)
{
    pawl_bytes subject = call_subject(c, part);

    outcome(out, b, PAWL_GROUND_MODE, SIZE_MAX);
    outcome_part(c, part, out);
    line_put(out->reason, sizeof out->reason, "%s: %t", why, &subject);
}

static void by_hook(const policy_call *c, pawl_behavior b, pawl_decision *out)
{
    static const char *const verbs[] = { "", "allowed", "asked", "denied" };
    const char *name = c->q->hook_name, *why = c->q->hook_reason;

    outcome(out, b, PAWL_GROUND_HOOK, SIZE_MAX);
    line_put(out->reason, sizeof out->reason, "%s by %s%s%s%s", verbs[b], name != NULL ? "the hook " : "a hook", name != NULL ? name : "",
             why != NULL ? ": " : "", why != NULL ? why : "");
}

static void by_syntax(const policy_call *c, const char *why, size_t rule, size_t part, pawl_decision *out)
{
    pawl_bytes subject = call_subject(c, part);

    outcome(out, PAWL_BEHAVIOR_ASK, PAWL_GROUND_SYNTAX, rule);
    outcome_part(c, part, out);
    if (rule != SIZE_MAX)
        line_put(out->reason, sizeof out->reason, "not read for sure, and the rule %s might fit: %t", c->p->rules[rule].info.text, &subject);
    else
        line_put(out->reason, sizeof out->reason, "not read for sure: %s: %t", why, &subject);
}

/* ---- deny and ask rules ------------------------------------------------------------------------------------ */

typedef struct rule_match { size_t rule, part, may, may_part; } rule_match;

static bool first_rule(const policy_call *c, size_t from, size_t to, rule_match *h)
{
    size_t part, found;

    *h = (rule_match){ SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX };
    for (size_t i = from; i < to && h->rule == SIZE_MAX; i++) {
        const policy_rule *r = &c->p->rules[i];

        if (rule_active(r, c->q->time_ms) && rule_fits_any(r, c, &part)) {
            h->rule = i;
            h->part = part;
        }
    }
    found = call_path_rule(c, from, h->rule < to ? h->rule : to, &part, &h->may, &h->may_part);
    if (found != SIZE_MAX) {
        h->rule = found;
        h->part = part;
    }
    return h->rule != SIZE_MAX;
}

/* A deny or ask rule may fit the unknown part of the call: it must not be evaded by that. */
static bool evadable(const policy_call *c, rule_match *h)
{
    if (!c->vague || c->p == NULL)
        return false;
    for (size_t i = 0; i < c->p->ask_end; i++)
        if (rule_active(&c->p->rules[i], c->q->time_ms) && rule_may_fit(&c->p->rules[i], c, &h->may_part)) {
            h->may = i;
            return true;
        }
    call_path_rule(c, 0, c->p->ask_end, &h->part, &h->may, &h->may_part);
    return h->may != SIZE_MAX;
}

/* ---- what a command edits ------------------------------------------------------------------------------------- */

typedef struct command_edits {
    const policy_call *c;
    bool edits_allowed;             /* inside the workspace, by the mode */
    size_t critical, protected_part, edit, rule;    /* parts; SIZE_MAX: none. edit: a redirection that neither mode nor rule allows */
    bool unknown;                   /* it is unknown what `critical` removes */
    bool by_rule;
    bool outside[SHELL_PARTS_MAX];  /* it edits outside the workspace, or in an unknown place */
} command_edits;

static bool is_sink(const path *p)
{
    return text_listed(p->text, p->size, " /dev/null /dev/stdout /dev/stderr /dev/fd/1 /dev/fd/2 ");
}

/* The root, a folder in it, home, the workspace, or above one of those. */
static bool is_critical(const policy_call *c, const path *at)
{
    if (path_critical(at->text) || (c->p != NULL && c->p->home != NULL && path_within(at->text, c->p->home)))
        return true;
    for (size_t i = 0; c->p != NULL && i < c->p->nfolders; i++)
        if (path_within(at->text, c->p->folders[i]))
            return true;
    return false;
}

/* Everything in a critical folder: *, ~/ *, /.[!.]* */
static bool glob_critical(const policy_call *c, const shell_word *w)
{
    const char *end = w->text + w->size, *at;
    char text[PATH_BYTES];
    path folder;

    while (end > w->text && end[-1] == '/')
        end--;
    for (at = end; at > w->text && at[-1] != '/'; at--)
        if (strchr("*?.[]!{},^", at[-1]) == NULL)
            return false;
    if ((size_t)(at - w->text) + 2 > sizeof text || memchr(w->text, '*', (size_t)(at - w->text)) != NULL)
        return true;
    if (at == w->text)
        return true;    /* everything in the working folder */
    memcpy(text, w->text, (size_t)(at - w->text));
    if (!path_set(&folder, text, (size_t)(at - w->text), c->cwd, c->p != NULL ? c->p->home : NULL))
        return true;
    return is_critical(c, &folder);
}

static void note_removal(command_edits *j, const command_path *w)
{
    bool dot;

    if (j->critical != SIZE_MAX && !j->unknown)
        return;
    dot = text_listed(w->word->text, w->word->size, " / ~ ~/ . .. ./ ../ ");
    if (dot || (w->sure && (is_critical(j->c, &w->at.given) || (w->at.linked && is_critical(j->c, &w->at.real)))) ||
        ((w->word->flags & WORD_GLOB) != 0 && (w->word->flags & WORD_UNKNOWN) == 0 && glob_critical(j->c, w->word))) {
        j->critical = w->part;
        j->unknown = false;
    } else if (!w->sure && (w->word->flags & WORD_GLOB) == 0 && j->critical == SIZE_MAX) {
        j->critical = w->part;
        j->unknown = true;
    }
}

static void note_redirection(command_edits *j, const command_path *w)
{
    const policy_call *c = j->c;
    bool hidden = c->sh.parts[w->part].hidden;

    if (hidden || (w->sure && is_sink(&w->at.given) && shell_sink(w->word)) || (j->edits_allowed && call_inside(c, w)))
        return;
    for (size_t i = c->p != NULL ? c->p->ask_end : 0; c->p != NULL && w->sure && i < c->p->count; i++) {
        const policy_rule *r = &c->p->rules[i];

        if (rule_on_paths(r, true) && rule_active(r, c->q->time_ms) &&
            (r->spec == SPEC_NONE || (!w->moved && rule_fits_place(r, &w->at, false)))) {
            j->by_rule = true;
            j->rule = j->rule == SIZE_MAX ? i : j->rule;
            return;
        }
    }
    j->edit = j->edit == SIZE_MAX ? w->part : j->edit;
}

static bool note_path(void *ctx, const command_path *w)
{
    command_edits *j = ctx;

    if (w->goes) {
        j->outside[w->part] = !call_inside(j->c, w);
        return true;
    }
    if (!w->edit)
        return true;
    if (w->removal)
        note_removal(j, w);
    if (w->sure && place_protected(j->c->p, &w->at) && j->protected_part == SIZE_MAX)
        j->protected_part = w->part;
    if (w->redirection)
        note_redirection(j, w);
    else if (!call_inside(j->c, w))
        j->outside[w->part] = true;
    return true;
}

static void command_edits_read(const policy_call *c, command_edits *j, bool edits_allowed)
{
    j->c = c;
    j->edits_allowed = edits_allowed;
    j->critical = j->protected_part = j->edit = j->rule = SIZE_MAX;
    j->unknown = j->by_rule = false;
    memset(j->outside, 0, c->sh.nparts * sizeof *j->outside);
    if (c->command && c->has_paths)
        command_paths_visit(c, note_path, j);
}

/* ---- allowing ----------------------------------------------------------------------------------------------------- */

/* `whole`: only rules that allow the tool with any arguments. */
static size_t allow_rule(const policy_call *c, size_t part, bool whole)
{
    for (size_t i = c->p != NULL ? c->p->ask_end : 0; c->p != NULL && i < c->p->count; i++)
        if (rule_active(&c->p->rules[i], c->q->time_ms) && (!whole || c->p->rules[i].spec == SPEC_NONE) && rule_fits_part(&c->p->rules[i], c, part))
            return i;
    return SIZE_MAX;
}

/* A rule allows every command, also one that cannot be read; SIZE_MAX: none does. */
static size_t whole_rule(const policy_call *c)
{
    if (!c->command || c->unsure == NULL || c->p == NULL || !c->p->whole)
        return SIZE_MAX;
    for (size_t i = c->p->ask_end; i < c->p->count; i++) {
        const policy_rule *r = &c->p->rules[i];

        if (r->scope == SCOPE_NAME && r->bash && r->spec == SPEC_NONE && rule_active(r, c->q->time_ms))
            return i;
    }
    return SIZE_MAX;
}

/* Part of it runs with the rights of another user: no pattern says what that may be. */
static bool raises_rights(const policy_call *c)
{
    for (size_t i = 0; i < c->sh.nparts; i++)
        if (c->sh.parts[i].raises)
            return true;
    return false;
}

bool call_moves(const policy_call *c, size_t part)
{
    const shell_part *p = &c->sh.parts[part];

    return p->count > 0 && text_listed(c->sh.words[p->first].text, c->sh.words[p->first].size, " cd pushd popd ");
}

bool call_part_reads(const policy_call *c, size_t part, bool moved)
{
    const shell_part *p = &c->sh.parts[part];

    if (p->count == 0)
        return !p->alters;      /* only redirections */
    if (moved && word_is(&c->sh.words[p->first], "git"))
        return false;           /* another repository */
    return program_only_reads(&c->sh, p);
}

static bool part_reads(const policy_call *c, const command_edits *j, size_t i, bool moved)
{
    const shell_part *p = &c->sh.parts[i];

    if (p->count > 0 && word_is(&c->sh.words[p->first], "cd"))
        return p->count == 2 && !p->alters && !p->wrapped && !j->outside[i];
    return call_part_reads(c, i, moved);
}

/* Every part is allowed by the mode (*rule SIZE_MAX) or a rule; false: *part is not. `rules`: allow rules count, too. A pattern is about a command in
 * the working folder: it does not fit behind a cd that only the mode allows. */
static bool command_allowed(const policy_call *c, const command_edits *j, bool reads, bool rules, size_t *rule, size_t *part)
{
    const bool raised = raises_rights(c);
    bool moves, moved = false, strayed = false;

    *rule = SIZE_MAX;
    *part = j->edit;
    if (j->edit != SIZE_MAX || (j->by_rule && !rules) || c->unsure != NULL)
        return false;
    if (j->by_rule)
        *rule = j->rule;
    for (size_t i = 0; i < c->sh.nparts; i++) {
        size_t by;

        *part = i;
        if (c->sh.parts[i].hidden)
            continue;
        moves = call_moves(c, i);
        moved = moved || moves;
        strayed = strayed || (moves && rules && allow_rule(c, i, raised) == SIZE_MAX);
        if (reads && part_reads(c, j, i, moved))
            continue;
        if (j->edits_allowed && !j->outside[i] && program_edits_operands(&c->sh, &c->sh.parts[i]))
            continue;
        if (!rules || (by = allow_rule(c, i, raised || strayed)) == SIZE_MAX)
            return false;
        *rule = *rule == SIZE_MAX ? by : *rule;
    }
    *part = SIZE_MAX;
    return c->sh.nparts > 0;
}

/* ---- the decision ------------------------------------------------------------------------------------------------------ */

typedef struct policy_question {
    pawl_mode mode;
    pawl_permission cls;
    bool node, unmet;               /* `requires` is a higher mode than the one now */
    bool lenient;                   /* being unreadable alone is no reason to ask */
} policy_question;

static const char *mode_title(pawl_mode m)
{
    static const char *const words[] = { "", "Plan", "Default", "AcceptEdits", "BypassPermissions" };

    return (unsigned)m < sizeof words / sizeof *words ? words[m] : "";
}

static policy_question question_of(const policy_call *c)
{
    const pawl_request *q = c->q;
    policy_question a;

    a.mode = q->mode >= PAWL_MODE_PLAN && q->mode <= PAWL_MODE_BYPASS ? q->mode : PAWL_MODE_DEFAULT;
    a.cls = c->command ? PAWL_PERMISSION_EXEC : tool_edits(c->tool) ? PAWL_PERMISSION_EDIT : q->cls;
    a.node = q->node;
    a.unmet = q->node && q->requires != PAWL_MODE_NONE && !pawl_mode_permits(a.mode, q->requires);
    a.lenient = q->node || a.mode == PAWL_MODE_BYPASS || (a.mode == PAWL_MODE_PLAN && q->read_only);
    return a;
}

static bool mode_denies(const policy_call *c, const policy_question *a, pawl_decision *out)
{
    const pawl_request *q = c->q;
    bool acts = a->mode == PAWL_MODE_PLAN && a->cls != PAWL_PERMISSION_READ && !q->read_only;
    const char *name = pawl_value_string(pawl_value_get(q->args, "node"));
    pawl_mode due = q->requires > PAWL_MODE_DEFAULT ? q->requires : PAWL_MODE_DEFAULT;

    if (!a->node && acts) {
        by_mode(c, PAWL_BEHAVIOR_DENY, "denied by plan mode, which only reads", SIZE_MAX, out);
        return true;
    }
    if (!a->node || (!acts && !(a->unmet && (a->mode == PAWL_MODE_PLAN || q->deny_gate))))
        return false;
    if (!acts)
        due = q->requires;
    outcome(out, PAWL_BEHAVIOR_DENY, PAWL_GROUND_MODE, SIZE_MAX);
    line_put(out->reason, sizeof out->reason, "Node '%s' requires %s mode; current mode is %s.", name != NULL ? name : c->tool, mode_title(due),
             mode_title(a->mode));
    return true;
}

static bool denies(const policy_call *c, const policy_question *a, pawl_decision *out)
{
    rule_match h;

    if (c->p != NULL && first_rule(c, 0, c->p->deny_end, &h)) {
        by_rule(c, h.rule, h.part, out);
        return true;
    }
    if (c->q->edited && c->q->rewritten) {
        outcome(out, PAWL_BEHAVIOR_DENY, PAWL_GROUND_HOOK, SIZE_MAX);
        line_put(out->reason, sizeof out->reason, "denied: %s%s rewrote what a person had edited", c->q->hook_name != NULL ? "the hook " : "a hook",
                 c->q->hook_name != NULL ? c->q->hook_name : "");
        return true;
    }
    if (c->q->hook == PAWL_BEHAVIOR_DENY) {
        by_hook(c, PAWL_BEHAVIOR_DENY, out);
        return true;
    }
    return mode_denies(c, a, out);
}

static bool path_is_protected(const policy_call *c)
{
    return c->has_path && c->at.given.sure && place_protected(c->p, &c->at);
}

static bool asks(const policy_call *c, const policy_question *a, const command_edits *j, pawl_decision *out)
{
    rule_match h = { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX };
    bool guarded = a->mode != PAWL_MODE_BYPASS && !a->node && !(a->mode == PAWL_MODE_PLAN && c->q->read_only);

    if (c->p != NULL && first_rule(c, c->p->deny_end, c->p->ask_end, &h))
        by_rule(c, h.rule, h.part, out);
    else if (j->critical != SIZE_MAX && !j->unknown)
        by_mode(c, PAWL_BEHAVIOR_ASK, "asked in every mode, for it removes what all else stands on", j->critical, out);
    else if (j->critical != SIZE_MAX && !a->node)
        by_mode(c, PAWL_BEHAVIOR_ASK, "asked in every mode, for it is not known what it removes", j->critical, out);
    else if (guarded && j->protected_part != SIZE_MAX)
        by_mode(c, PAWL_BEHAVIOR_ASK, "asked, for it edits a protected place", j->protected_part, out);
    else if (guarded && a->cls == PAWL_PERMISSION_EDIT && path_is_protected(c))
        by_mode(c, PAWL_BEHAVIOR_ASK, "asked, for it edits a protected place", SIZE_MAX, out);
    else if (c->q->unlooked)
        by_syntax(c, "it names more paths than are looked up", SIZE_MAX, SIZE_MAX, out);
    else if (evadable(c, &h))
        by_syntax(c, "", h.may, h.may_part, out);
    else if (c->unsure != NULL && !a->lenient && whole_rule(c) == SIZE_MAX)
        by_syntax(c, c->unsure, SIZE_MAX, SIZE_MAX, out);
    else if (c->q->hook == PAWL_BEHAVIOR_ASK)
        by_hook(c, PAWL_BEHAVIOR_ASK, out);
    else
        return false;
    return true;
}

static bool mode_allows(const policy_call *c, const policy_question *a, const command_edits *j, pawl_decision *out)
{
    size_t rule, part;
    bool inside = false;

    if (a->node || (a->mode == PAWL_MODE_PLAN && c->q->read_only)) {
        if (a->node)
            return false;
        by_mode(c, PAWL_BEHAVIOR_ALLOW, "allowed, since it can only read where it runs", SIZE_MAX, out);
        return true;
    }
    if (c->has_path) {
        inside = c->at.given.sure && c->unsure == NULL && folder_inside(c->p, &c->at.given) && (!c->at.linked || folder_inside(c->p, &c->at.real));
    }
    if (c->command && a->mode != PAWL_MODE_BYPASS) {
        if (!command_allowed(c, j, a->mode == PAWL_MODE_DEFAULT || a->mode == PAWL_MODE_ACCEPT_EDITS, false, &rule, &part))
            return false;
        by_mode(c, PAWL_BEHAVIOR_ALLOW, "allowed by the mode, for it only reads, or edits inside the workspace", SIZE_MAX, out);
        return true;
    }
    if (pawl_mode_decision(a->mode, a->cls, inside) != PAWL_BEHAVIOR_ALLOW)
        return false;
    by_mode(c, PAWL_BEHAVIOR_ALLOW, a->mode == PAWL_MODE_BYPASS ? "allowed by the mode, which asks nothing" : "allowed by the mode", SIZE_MAX, out);
    return true;
}

static void by_default(const policy_call *c, const policy_question *a, size_t part, pawl_decision *out)
{
    pawl_bytes subject = call_subject(c, part);

    outcome(out, a->node && !a->unmet ? PAWL_BEHAVIOR_ALLOW : PAWL_BEHAVIOR_ASK, PAWL_GROUND_DEFAULT, SIZE_MAX);
    outcome_part(c, part, out);
    if (a->unmet)
        line_put(out->reason, sizeof out->reason, "asked: it requires %s mode, and the mode is %s", mode_title(c->q->requires), mode_title(a->mode));
    else
        line_put(out->reason, sizeof out->reason, a->node ? "allowed, for no rule speaks of it: %t" : "asked, for no rule allows it: %t", &subject);
}

void call_decide(policy_call *c, pawl_decision *out)
{
    const policy_question a = question_of(c);
    size_t rule = SIZE_MAX, part = SIZE_MAX;
    command_edits j;

    if (denies(c, &a, out))
        return;
    command_edits_read(c, &j, a.mode == PAWL_MODE_ACCEPT_EDITS || a.mode == PAWL_MODE_BYPASS);
    if (asks(c, &a, &j, out) || mode_allows(c, &a, &j, out))
        return;
    if (c->q->hook == PAWL_BEHAVIOR_ALLOW) {
        by_hook(c, PAWL_BEHAVIOR_ALLOW, out);
        return;
    }
    if (c->command) {
        if (command_allowed(c, &j, !a.node && a.mode != PAWL_MODE_PLAN, true, &rule, &part) && rule != SIZE_MAX) {
            by_rule(c, rule, SIZE_MAX, out);
            return;
        }
        if (j.edit == SIZE_MAX && (rule = whole_rule(c)) != SIZE_MAX) {
            by_rule(c, rule, SIZE_MAX, out);
            return;
        }
    } else if ((rule = allow_rule(c, SIZE_MAX, false)) != SIZE_MAX) {
        by_rule(c, rule, SIZE_MAX, out);
        return;
    }
    by_default(c, &a, part, out);
}

void pawl_decide(const pawl_policy *p, const pawl_request *q, pawl_decision *out)
{
    policy_call c;

    call_read(&c, p, q);
    call_decide(&c, out);
}

void pawl_decide_first(const pawl_policy *p, const pawl_request *q, pawl_decision *out)
{
    policy_call c;
    rule_match h;

    outcome(out, PAWL_BEHAVIOR_OPEN, PAWL_GROUND_DEFAULT, SIZE_MAX);
    if (p == NULL || p->deny_end == 0)
        return;
    call_read(&c, p, q);
    if (first_rule(&c, 0, p->deny_end, &h))
        by_rule(&c, h.rule, h.part, out);
}
