/* prove_call.c - the possible decisions for the call of one node: every rule that its text may fit, every moment, every verdict of hooks.
 *
 * Owns nothing beyond the caller's arena. Called by prove_visit.c; pure, one thread.
 * Invariant: the real gate decides each combination (gate_decided, call by call), so the proof and a run use the same code. */
#include "proof/prove_inner.h"

typedef struct call_view {               /* a text of the call, and the rules that fit it */
    const pawl_value *args;
    pawl_policy *policy;
    const char *rule, *unfit, *text;
    bool lent;                      /* the policy belongs to another view */
} call_view;

typedef struct judging {
    rules *r;
    const file_node *n;
    pawl_mode mode;
    const char *tool;               /* NULL: no call */
    const char *cwd;                /* the folder that the node names; NULL: none */
    const pawl_value *name;
    call_view *own, *foreign;            /* as the author wrote it; as a hook may rewrite it */
    size_t nown, nforeign;
    node_judgement *out;
    pawl_err *err;
} judging;

/* ---- the known part of a call ------------------------------------------------------------------------------- */

static bool template_unknown(const template *t)
{
    for (size_t i = 0; i < t->npieces; i++)
        if (t->pieces[i].e != NULL)
            return true;
    return false;
}

bool form_unknown(const form *f)
{
    if (f == NULL)
        return false;
    for (size_t i = 0; i < f->n; i++)
        if (form_unknown(f->items[i]))
            return true;
    return f->kind == FORM_EXPRESSION || ((f->kind == FORM_TEXT || f->kind == FORM_KEEP) && template_unknown(&f->text));
}

/* With `fill` in place of the unknown. */
static const pawl_value *text_filled(arena *mem, const template *t, const char *fill)
{
    const pawl_value *v = NULL;
    buf b;

    buf_init(&b, &mem->alloc);
    for (size_t i = 0; i < t->npieces; i++)
        if (t->pieces[i].e != NULL)
            buf_text(&b, fill);
        else
            buf_put(&b, t->pieces[i].text, t->pieces[i].size);
    if (!b.failed)
        v = value_string(mem, b.size > 0 ? b.data : "", b.size);
    buf_free(&b);
    return v;
}

static const pawl_value *form_filled(arena *mem, const form *f, const char *fill)
{
    const pawl_value *v = NULL;

    switch (f->kind) {
    case FORM_VALUE: return f->value;
    case FORM_TEXT: case FORM_KEEP: return text_filled(mem, &f->text, fill);
    case FORM_EXPRESSION: return value_string(mem, fill, strlen(fill));
    case FORM_LIST:
        v = value_pack(mem, NULL, "[]");
        for (size_t i = 0; v != NULL && i < f->n; i++)
            v = value_push(mem, v, form_filled(mem, f->items[i], fill));
        return v;
    case FORM_MAP:
        v = value_pack(mem, NULL, "{}");
        for (size_t i = 0; v != NULL && i < f->n; i++)
            v = value_with(mem, v, f->keys[i], form_filled(mem, f->items[i], fill));
        return v;
    }
    return NULL;
}

static const form *call_part(const file_node *n, const char *key)
{
    for (size_t i = 0; n->call != NULL && i < n->call->n; i++)
        if (strcmp(n->call->keys[i], key) == 0)
            return n->call->items[i];
    return NULL;
}

static const char *command_filled(arena *mem, const file_node *n, const char *fill)
{
    const form *run = call_part(n, "run");
    const pawl_value *words = run == NULL ? NULL : form_filled(mem, run, fill), *one;
    pawl_iter it = pawl_iter_of(words);
    const char *out = NULL;
    buf b;

    if (n->kind == KIND_SHELL)
        return pawl_value_string(pawl_value_at(words, 2));
    buf_init(&b, &mem->alloc);
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        guard_word(&b, pawl_value_string(one) != NULL ? pawl_value_string(one) : "?", pawl_value_string(one) != NULL ? pawl_value_size(one) : 1);
    if (!b.failed)
        out = arena_strdup(mem, b.size > 0 ? b.data : "", b.size);
    buf_free(&b);
    return out;
}

static const pawl_value *command_args(arena *mem, const char *command)
{
    return command == NULL ? NULL : value_pack(mem, NULL, "{s:s}", "command", command);
}

static const pawl_value *args_filled(judging *j, const char *fill)
{
    if (strcmp(j->tool, "Bash") == 0)
        return command_args(j->r->mem, command_filled(j->r->mem, j->n, fill));
    return j->n->call == NULL ? NULL : form_filled(j->r->mem, j->n->call, fill);
}

/* As permission.c makes it absolute. */
static const char *own_folder(judging *j)
{
    const pawl_value *own = j->n->cwd != NULL ? form_filled(j->r->mem, j->n->cwd, "x") : NULL;
    const char *text = pawl_value_string(own), *base = pawl_value_string(pawl_value_get(j->r->policy, "cwd"));
    const char *out = text;
    buf b;

    if (text == NULL || *text == '/')
        return text;
    buf_init(&b, &j->r->mem->alloc);
    buf_fmt(&b, "%s/%s", base != NULL ? base : "", text);
    out = b.failed ? NULL : arena_strdup(j->r->mem, b.data, b.size);
    buf_free(&b);
    return out;
}

static pawl_request request_of(const judging *j)
{
    pawl_request q = guard_request(j->n, j->tool, NULL, j->mode);

    q.cwd = j->cwd;
    return q;
}

static bool call_unknown(const judging *j)
{
    const form *run = call_part(j->n, "run");

    if (form_unknown(j->n->cwd))
        return true;
    if (strcmp(j->tool, "Bash") != 0)
        return form_unknown(j->n->call);
    if (j->n->kind == KIND_SHELL)
        return run != NULL && run->n > 2 && form_unknown(run->items[2]);
    return form_unknown(run);
}

/* The words before the first unknown one; "": none. */
static const char *words_known(judging *j)
{
    const form *run = strcmp(j->tool, "Bash") == 0 ? call_part(j->n, "run") : NULL;
    const char *out = "";
    buf b;

    buf_init(&b, &j->r->mem->alloc);
    for (size_t i = 0; run != NULL && i < run->n && !form_unknown(run->items[i]); i++) {
        const pawl_value *v = form_filled(j->r->mem, run->items[i], "");

        if (pawl_value_string(v) != NULL)
            guard_word(&b, pawl_value_string(v), pawl_value_size(v));
    }
    if (!b.failed && b.size > 0)
        out = arena_strdup(j->r->mem, b.data, b.size);
    buf_free(&b);
    return out != NULL ? out : "";
}

const char *call_words(arena *mem, const file_node *n)
{
    const char *text, *out;
    size_t size;
    buf b;

    if (n->kind == KIND_RUN || n->kind == KIND_SHELL) {
        if ((text = command_filled(mem, n, "...")) == NULL)
            return n->word;
    } else {
        const pawl_value *v = n->kind == KIND_HTTP && call_part(n, "url") != NULL ? form_filled(mem, call_part(n, "url"), "...") : NULL;

        if ((text = pawl_value_string(v)) == NULL)
            return n->word != NULL ? n->word : "";
    }
    size = strcspn(text, "\n");
    if (size > 60)
        size = 60;
    while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
        size--;
    buf_init(&b, &mem->alloc);
    buf_fmt(&b, "%s %.*s%s", n->word, (int)size, text, text[size] != '\0' ? "..." : "");
    out = b.failed ? n->word : arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return out;
}

/* ---- rules that a text may fit ---------------------------------------------------------------------------------- */

static const char *const lists[] = { "deny", "ask", "allow" };

static const char *rule_text(const pawl_value *rule)
{
    return pawl_value_string(pawl_value_type(rule) == PAWL_TYPE_OBJECT ? pawl_value_get(rule, "rule") : rule);
}

/* It has a spec: it fits only some calls of the tool. */
static bool rule_picks(const char *rule, const char *tool)
{
    const char *paren = strchr(rule, '(');

    return paren != NULL && (size_t)(paren - rule) == strlen(tool) && memcmp(rule, tool, strlen(tool)) == 0;
}

/* "Bash(git push:*)" for a command that begins with git push and goes on with words only. */
static bool rule_always(const char *rule, const char *known)
{
    const char *spec = strchr(rule, '(');
    const size_t size = spec == NULL ? 0 : strlen(++spec);

    if (size < 4 || strcmp(spec + size - 3, ":*)") != 0 || strncmp(known, spec, size - 3) != 0)
        return false;
    return known[size - 3] == '\0' || known[size - 3] == ' ';
}

/* The rule without its spec. */
static const pawl_value *rule_whole(arena *mem, const pawl_value *rule, const char *tool)
{
    const pawl_value *text = value_string(mem, tool, strlen(tool));

    return pawl_value_type(rule) == PAWL_TYPE_OBJECT ? value_with(mem, rule, "rule", text) : text;
}

static pawl_policy *policy_of(judging *j, const pawl_value *v)
{
    return gate_policy(&j->r->mem->alloc, v, j->err);
}

/* The rules that fit whatever the text is, and of the others only number `chosen` (SIZE_MAX: none). */
static const pawl_value *rules_chosen(judging *j, const char *known, size_t chosen)
{
    const pawl_value *out = j->r->policy, *one;
    size_t at = 0;

    for (size_t i = 0; i < 3 && out != NULL; i++) {
        const pawl_value *kept = value_pack(j->r->mem, NULL, "[]");
        pawl_iter it = pawl_iter_of(pawl_value_get(j->r->policy, lists[i]));

        if (pawl_value_get(j->r->policy, lists[i]) == NULL)
            continue;
        while ((one = pawl_iter_next(&it, NULL)) != NULL) {
            const char *text = rule_text(one);
            bool picks = text != NULL && rule_picks(text, j->tool), always = picks && i < 2 && rule_always(text, known);

            if (!picks || always || at++ == chosen)
                kept = value_push(j->r->mem, kept, picks ? rule_whole(j->r->mem, one, j->tool) : one);
        }
        out = value_with(j->r->mem, out, lists[i], kept);
    }
    return out;
}

/* Rule number `chosen`; *which: 0 deny, 1 ask, 2 allow. NULL: no such number. */
static const char *rule_chosen(judging *j, const char *known, size_t chosen, size_t *which)
{
    size_t at = 0;

    for (*which = 0; *which < 3; ++*which) {
        pawl_iter it = pawl_iter_of(pawl_value_get(j->r->policy, lists[*which]));
        const pawl_value *one;

        while ((one = pawl_iter_next(&it, NULL)) != NULL) {
            const char *text = rule_text(one);

            if (text != NULL && rule_picks(text, j->tool) && !(*which < 2 && rule_always(text, known)) && at++ == chosen)
                return text;
        }
    }
    return NULL;
}

/* A text that the rule fits: "git push" for "Bash(git push:*)". */
static const char *rule_example(arena *mem, const char *rule)
{
    const char *spec = strchr(rule, '(') + 1;
    size_t size = strlen(spec);
    char *out;

    size -= size > 0 && spec[size - 1] == ')';
    size -= size >= 2 && strncmp(spec + size - 2, ":*", 2) == 0 ? 2 : 0;
    if ((out = arena_strdup(mem, spec, size)) != NULL)
        for (char *at = out; *at != '\0'; at++)
            *at = *at == '*' ? 'x' : *at;
    return out;
}

static pawl_code views_known(judging *j, call_view **out, size_t *n)
{
    const pawl_value *args = args_filled(j, "");

    if ((*out = arena_zero(j->r->mem, sizeof **out)) == NULL || args == NULL)
        return fail(j->err, PAWL_NOMEM, "no memory for the rules");
    **out = (call_view){ .args = args };
    *n = 1;
    if (j->r->policy != NULL && ((*out)->policy = policy_of(j, j->r->policy)) == NULL)
        return j->err->code;
    return PAWL_OK;
}

static pawl_code views_unknown(judging *j, const pawl_value *args, const char *known, call_view **out, size_t *n)
{
    const char *rule, *asks = NULL;
    size_t which;

    *n = 0;
    while (j->r->policy != NULL && *n < PROVE_RULES_MAX && rule_chosen(j, known, *n, &which) != NULL)
        ++*n;
    if (args == NULL || (*out = arena_zero(j->r->mem, (*n + 1) * sizeof **out)) == NULL)
        return fail(j->err, PAWL_NOMEM, "no memory for the rules");
    for (size_t i = 0; i < *n; i++) {
        rule = rule_chosen(j, known, i, &which);
        asks = asks == NULL && which < 2 ? rule : asks;
        (*out)[i + 1] = (call_view){ .args = args, .rule = which == 2 ? rule : NULL, .text = rule_example(j->r->mem, rule),
                                .policy = policy_of(j, rules_chosen(j, known, i)) };
        if ((*out)[i + 1].policy == NULL)
            return j->err->code;
    }
    **out = (call_view){ .args = args, .unfit = asks };
    ++*n;
    if (j->r->policy != NULL && ((*out)->policy = policy_of(j, rules_chosen(j, known, SIZE_MAX))) == NULL)
        return j->err->code;
    return PAWL_OK;
}

/* A call that a hook or a person rewrote is unknown. */
static const pawl_value *args_foreign(judging *j)
{
    return strcmp(j->tool, "Bash") == 0 ? command_args(j->r->mem, "x") : value_pack(j->r->mem, NULL, "{}");
}

static pawl_code views_make(judging *j)
{
    pawl_code rc;

    if (j->tool == NULL || j->n->call == NULL) {
        j->tool = NULL;
        if ((j->own = arena_zero(j->r->mem, sizeof *j->own)) == NULL)
            return fail(j->err, PAWL_NOMEM, "no memory for the rules");
        j->nown = 1;
        return j->r->policy != NULL && (j->own->policy = policy_of(j, j->r->policy)) == NULL ? j->err->code : PAWL_OK;
    }
    if (call_unknown(j))
        rc = views_unknown(j, args_filled(j, "x"), words_known(j), &j->own, &j->nown);
    else
        rc = views_known(j, &j->own, &j->nown);
    if (rc == PAWL_OK && j->r->hooks.count > 0)
        rc = views_unknown(j, args_foreign(j), "", &j->foreign, &j->nforeign);
    return rc;
}

static void views_free(judging *j)
{
    for (size_t i = 0; j->own != NULL && i < j->nown; i++)
        pawl_policy_free(j->own[i].policy);
    for (size_t i = 0; j->foreign != NULL && i < j->nforeign; i++)
        pawl_policy_free(j->foreign[i].policy);
}

/* ---- verdicts of hooks --------------------------------------------------------------------------------------- */

/* Merged as permission.c does: the behavior, whether the call was changed, and by which hook. */
typedef struct hooked {
    bool is;
    trace how;
} hooked;
enum { HOOKED = 8 };                /* behavior, and 4 more where the call was changed */

typedef struct outcome { const char *name; pawl_behavior says; bool changes, fails; } outcome;
static const outcome outcomes[] = {
    { "proceeds", PAWL_BEHAVIOR_OPEN, false, false }, { "allows it", PAWL_BEHAVIOR_ALLOW, false, false }, { "asks", PAWL_BEHAVIOR_ASK, false, false },
    { "denies it", PAWL_BEHAVIOR_DENY, false, false }, { "rewrites it", PAWL_BEHAVIOR_OPEN, true, false }, { "rewrites it and allows it",
        PAWL_BEHAVIOR_ALLOW, true, false },
    { "rewrites it and asks", PAWL_BEHAVIOR_ASK, true, false }, { "times out", PAWL_BEHAVIOR_OPEN, false, true }, { "crashes", PAWL_BEHAVIOR_OPEN,
        false, true },
    { "answers garbage", PAWL_BEHAVIOR_OPEN, false, true },
};

/* Whether it is asked: 0 no, 1 perhaps, 2 yes. */
static pawl_code hook_due(judging *j, const hook_entry *h, hook_point point, int *due)
{
    call_view *all;
    size_t n;
    pawl_request q = request_of(j);
    judging only = *j;
    rules one = *j->r;
    pawl_code rc;
    bool fits = false, misses = false;

    *due = 0;
    if (!hook_wanted(h, point, j->n->name, j->tool))
        return PAWL_OK;
    *due = 2;
    if (h->rule == NULL || j->tool == NULL)
        return PAWL_OK;
    one.policy = value_pack(one.mem, NULL, "{s:[s]}", "deny", h->rule);
    only.r = &one;
    if (call_unknown(&only))
        rc = views_unknown(&only, args_filled(&only, "x"), words_known(&only), &all, &n);
    else
        rc = views_known(&only, &all, &n);
    for (size_t i = 0; rc == PAWL_OK && i < n; i++) {
        pawl_decision d;

        q.args = all[i].args;
        pawl_decide_first(all[i].policy, &q, &d);
        fits = fits || d.behavior == PAWL_BEHAVIOR_DENY;
        misses = misses || d.behavior != PAWL_BEHAVIOR_DENY;
        pawl_policy_free(all[i].policy);
    }
    *due = fits && misses ? 1 : fits ? 2 : 0;
    return rc;
}

static void hook_adds(judging *j, const hook_entry *h, const hooked *before, hooked *after)
{
    for (size_t i = 0; i < HOOKED; i++) {
        for (size_t k = 0; before[i].is && k < sizeof outcomes / sizeof *outcomes; k++) {
            const outcome *o = &outcomes[k];
            const bool opened = o->fails && h->profile == HOOK_CLAUDE, sets = o->changes && j->tool != NULL;
            pawl_behavior says = o->fails && !opened ? PAWL_BEHAVIOR_DENY : o->says, was = (pawl_behavior)(i & 3);
            size_t to = (size_t)(says > was ? says : was) | (i & 4) | (sets ? 4u : 0u);

            if (j->r->q->hooks_ask && !o->fails && o->says != PAWL_BEHAVIOR_ASK && o->says != PAWL_BEHAVIOR_DENY)
                continue;
            if (after[to].is)
                continue;
            after[to] = (hooked){ true, before[i].how };
            if (says > PAWL_BEHAVIOR_OPEN || opened || sets)
                after[to].how = (trace){ .hook = h->name, .outcome = o->name, .opened = opened };
        }
    }
}

static pawl_code hooks_decide(judging *j, hooked all[HOOKED])
{
    pawl_code rc = PAWL_OK;

    memset(all, 0, HOOKED * sizeof *all);
    all[PAWL_BEHAVIOR_OPEN].is = true;
    for (size_t i = 0; i < j->r->hooks.count && rc == PAWL_OK; i++) {
        hooked after[HOOKED] = { { false, { 0 } } };
        int due;

        if ((rc = hook_due(j, &j->r->hooks.items[i], HOOK_PRE, &due)) != PAWL_OK || due == 0)
            continue;
        if (due == 1)
            memcpy(after, all, sizeof after);
        hook_adds(j, &j->r->hooks.items[i], all, after);
        memcpy(all, after, sizeof after);
        j->out->replaced = j->out->replaced || !j->r->q->hooks_ask;
    }
    return rc;
}

static pawl_code hooks_route(judging *j)
{
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < j->r->hooks.count && rc == PAWL_OK; i++) {
        int due;

        if ((rc = hook_due(j, &j->r->hooks.items[i], HOOK_POST, &due)) == PAWL_OK && due > 0)
            j->out->reroutes = true;
    }
    return rc;
}

/* ---- deciding ---------------------------------------------------------------------------------------------------------- */

/* If there are two ways through, the first is reported. */
static void decision_takes(judging *j, const call_view *v, const pawl_decision *d, const hooked *h)
{
    node_judgement *out = j->out;

    out->denies = out->denies || d->behavior == PAWL_BEHAVIOR_DENY;
    if (d->behavior == PAWL_BEHAVIOR_ASK && !out->asks)
        out->asked = h->how;
    out->asks = out->asks || d->behavior == PAWL_BEHAVIOR_ASK;
    if (d->behavior == PAWL_BEHAVIOR_DENY || d->behavior == PAWL_BEHAVIOR_ASK || out->passes)
        return;
    out->passes = true;
    out->how = h->how;
    out->how.ground = d->ground;
    out->how.rule = v->rule != NULL ? v->rule : d->rule != SIZE_MAX ? arena_strdup(j->r->mem, pawl_policy_rule(v->policy, d->rule).text,
                                                                                strlen(pawl_policy_rule(v->policy, d->rule).text)) : NULL;
    out->how.unfit = v->unfit;
    out->how.text = v->text;
}

static void views_decide(judging *j, size_t behavior, const hooked *h, bool changed)
{
    const call_view *all = changed ? j->foreign : j->own;
    const size_t n = changed ? j->nforeign : j->nown;
    pawl_request q = request_of(j);
    pawl_decision d;

    q.hook = (pawl_behavior)behavior;
    q.hook_name = h->how.hook;
    for (size_t t = 0; t < j->r->ntimes; t++) {
        for (size_t i = 0; i < n; i++, j->r->decided++) {
            q.args = all[i].args;
            q.time_ms = j->r->times[t];
            gate_decided(all[i].policy, &q, j->name, false, &d);
            decision_takes(j, &all[i], &d, h);
        }
    }
}

/* After an approval with changed arguments, a rewrite by a hook must be denied. */
static bool edit_slips(judging *j)
{
    pawl_request q = request_of(j);
    pawl_decision d;

    q.edited = q.rewritten = true;
    for (size_t i = 0; i < j->nforeign; i++) {
        q.args = j->foreign[i].args;
        gate_decided(j->foreign[i].policy, &q, j->name, false, &d);
        if (d.behavior != PAWL_BEHAVIOR_DENY)
            return true;
    }
    return false;
}

static bool may_change(const hooked all[HOOKED])
{
    for (size_t i = 4; i < HOOKED; i++)
        if (all[i].is)
            return true;
    return false;
}

pawl_code call_judge(rules *r, const file_node *n, pawl_mode mode, node_judgement *out, pawl_err *err)
{
    judging j = { .r = r, .n = n, .mode = mode, .tool = guard_tool(n), .out = out, .err = err };
    hooked all[HOOKED];
    pawl_code rc;

    *out = (node_judgement){ .acts = guard_acts(n) };
    if ((j.name = value_pack(r->mem, NULL, "{s:s}", "name", n->name)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for the rules");
    j.cwd = own_folder(&j);
    rc = views_make(&j);
    if (rc == PAWL_OK)
        rc = hooks_decide(&j, all);
    if (rc == PAWL_OK)
        rc = hooks_route(&j);
    for (size_t i = 0; rc == PAWL_OK && i < HOOKED; i++)
        if (all[i].is && (i & 3) == PAWL_BEHAVIOR_DENY)
            out->denies = true;
        else if (all[i].is)
            views_decide(&j, i & 3, &all[i], (i & 4) != 0);
    if (rc == PAWL_OK && j.tool != NULL && may_change(all))
        out->slips = edit_slips(&j);
    if (rc == PAWL_OK && j.tool != NULL && strcmp(j.tool, "Bash") == 0 && call_unknown(&j) && out->passes)
        out->asks = true;           /* some texts are asked in every mode */
    views_free(&j);
    return rc != PAWL_OK || !r->mem->failed ? rc : fail(err, PAWL_NOMEM, "no memory for the rules");
}

/* ---- the rules of the whole search ---------------------------------------------------------------------------------------- */

/* Now and after each end of a rule. */
static pawl_code times_read(rules *r, pawl_err *err)
{
    int64_t *times;
    size_t n = 1, most = 1;

    for (size_t i = 0; i < 3; i++)
        most += pawl_value_size(pawl_value_get(r->policy, lists[i]));
    if (most > PROVE_RULES_MAX)
        return fail(err, PAWL_LIMIT, "more than %d rules (PROVE_RULES_MAX)", PROVE_RULES_MAX);
    if ((times = arena_zero(r->mem, most * sizeof *times)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for the rules");
    for (size_t i = 0; i < 3; i++) {
        pawl_iter it = pawl_iter_of(pawl_value_get(r->policy, lists[i]));
        const pawl_value *one;

        while ((one = pawl_iter_next(&it, NULL)) != NULL) {
            int64_t until = pawl_value_int(pawl_value_get(one, "until"));
            size_t k = 0;

            while (k < n && times[k] != until)
                k++;
            if (until > 0 && k == n)
                times[n++] = until;
        }
    }
    r->times = times;
    r->ntimes = n;
    return PAWL_OK;
}

pawl_code rules_read(rules *r, pawl_err *err)
{
    pawl_code rc;

    r->policy = gate_rules(r->mem, r->q->policy, r->q->grants);
    rc = gate_hooks(r->mem, r->policy, &r->hooks, err);
    return rc == PAWL_OK ? times_read(r, err) : rc;
}
