/* command_paths.c - the paths of a command: targets of redirections, and operands of the programs that src/shell knows.
 *
 * Owns nothing; pure, any thread. Called by decide.c and explain.c, for a call that match.c has read. */
#include "policy/file_rules.h"
#include "policy/policy.h"

typedef struct walker {
    const policy_call *c;
    command_path_fn *fn;
    void *ctx;
    command_path w;
    path here;                      /* after cd */
    char key[PATH_BYTES];           /* of the current path, in `links` */
    int moved;                      /* 0: no cd yet; 1: to `here`; 2: to an unknown folder */
} walker;

/* Sets `at`; false: cannot be determined. `moved`: `cwd` is not where the command begins, so what is known of the path as written is of another one. */
static bool path_place(walker *k, const char *text, size_t size, uint32_t flags, const char *cwd, bool moved)
{
    const policy_call *c = k->c;
    const char *home = c->p != NULL ? c->p->home : NULL;
    char *at = k->key;

    k->w.at.linked = k->w.at.shared = false;
    k->w.key = NULL;
    if ((flags & (WORD_UNKNOWN | WORD_GLOB)) != 0 || size + 3 > sizeof k->key)
        return false;
    if (size > 0 && *text == '~' && (flags & WORD_TILDE) == 0) {    /* quoted */
        memcpy(k->key, "./", 2);
        at += 2;
    }
    for (size_t i = 0; i < size; i++)
        at[i] = text[i] == WORD_BLANK ? ' ' : text[i];
    at[size] = '\0';
    k->w.key = at;
    if (!path_set(&k->w.at.given, k->key, (size_t)(at + size - k->key), cwd, home))
        return false;
    return call_follow(c, moved ? NULL : at, &k->w.at);
}

/* Emits a path; after a cd both places where it may be. */
static bool path_report(walker *k, const shell_word *w, const char *text, size_t size, uint32_t flags)
{
    const policy_call *c = k->c;
    bool relative = size == 0 || (*text != '/' && (flags & WORD_TILDE) == 0);

    k->w.word = w;
    k->w.moved = relative && k->moved != 0;
    k->w.sure = path_place(k, text, size, flags, c->cwd, false);
    if (!k->fn(k->ctx, &k->w))
        return false;
    if (!k->w.moved)
        return true;
    k->w.sure = k->moved == 1 && path_place(k, text, size, flags, k->here.text, true);
    return k->fn(k->ctx, &k->w);
}

static void move(walker *k, const shell_part *p)
{
    const shell_word *w = &k->c->sh.words[p->first];
    const bool moved = k->moved == 1;

    k->w.key = NULL;
    if (!word_is(w, "cd") || p->count != 2 || k->moved == 2 || word_is(&w[1], "-") ||
        !path_place(k, w[1].text, w[1].size, w[1].flags, moved ? k->here.text : k->c->cwd, moved)) {
        k->moved = 2;
        return;
    }
    k->here = k->w.at.linked ? k->w.at.real : k->w.at.given;
    k->moved = 1;
}

static bool visit_operands(walker *k, const shell_part *p, operand_use use)
{
    const shell *s = &k->c->sh;
    bool after = false;

    k->w.redirection = false;
    k->w.removal = program_removes_tree(s, p);
    for (uint32_t i = 1; i < p->count; i++) {
        const shell_word *w = &s->words[p->first + i];
        const uint32_t flags = w->flags | (program_globs(s, p, w) ? WORD_GLOB : 0);
        uint32_t size = w->size;
        bool ends = false;
        const char *text = program_operand(s, p, i, after, &ends, &size);

        after = after || word_is(w, "--");
        if (ends)
            break;
        if (text == NULL)
            continue;
        k->w.edit = use != OPERAND_READ;
        if (!path_report(k, w, text, size, flags))
            return false;
        k->w.edit = false;
        if (use == OPERAND_BOTH && !path_report(k, w, text, size, flags))
            return false;
    }
    if (p->more) {
        k->w.edit = use != OPERAND_READ;
        k->w.sure = false;
        k->w.key = NULL;
        k->w.word = &s->words[p->first];
        return k->fn(k->ctx, &k->w);
    }
    return true;
}

static bool visit_part(walker *k, size_t i)
{
    const shell *s = &k->c->sh;
    shell_part p = s->parts[i];
    operand_use use = (operand_use)(k->c->use[i] == OPERAND_LOOK ? OPERAND_NONE : k->c->use[i]);

    k->w.part = i;
    k->w.goes = false;
    for (uint32_t e = 0; e < p.edits; e++) {
        const shell_edit *x = &s->edits[p.edit + e];

        k->w.edit = !x->reads;
        k->w.redirection = true;
        k->w.removal = false;
        if (!path_report(k, &x->to, x->to.text, x->to.size, x->to.flags))
            return false;
    }
    if (p.count == 0)
        return true;
    for (; p.carries && use == OPERAND_NONE && p.count > 1; use = program_operand_use(s, &p)) {
        p.first++;
        p.count--;
    }
    if (use != OPERAND_NONE && !visit_operands(k, &p, use))
        return false;
    if (text_listed(s->words[p.first].text, s->words[p.first].size, " cd pushd popd ")) {
        move(k, &p);
        k->w.goes = true;
        k->w.redirection = k->w.removal = k->w.edit = k->w.moved = false;
        k->w.sure = k->moved == 1;
        return k->fn(k->ctx, &k->w);
    }
    return true;
}

void command_paths_visit(const policy_call *c, command_path_fn *fn, void *ctx)
{
    walker k;

    k.c = c;
    k.fn = fn;
    k.ctx = ctx;
    k.moved = 0;
    for (size_t i = 0; i < c->sh.nparts; i++)
        if ((c->use[i] != OPERAND_NONE || c->sh.parts[i].edits > 0) && !visit_part(&k, i))
            return;
}

/* ---- folders that are read with all below them ------------------------------------------------------------------- */

/* An option: one of `letters` in -abc, or one of the long ones, which may have a value. */
static bool option_is(const shell_word *w, const char *letters, const char *longs)
{
    const char *eq = memchr(w->text, '=', w->size);
    const size_t n = eq != NULL ? (size_t)(eq - w->text) : w->size;

    if (w->size < 2 || *w->text != '-')
        return false;
    if (w->text[1] == '-')
        return text_listed(w->text, n, longs);
    for (size_t i = 1; i < w->size; i++)
        if (strchr(letters, w->text[i]) != NULL)
            return true;
    return false;
}

static bool has_option(const shell *s, const shell_part *p, const char *letters, const char *longs)
{
    for (uint32_t i = 1; i < p->count; i++)
        if (option_is(&s->words[p->first + i], letters, longs))
            return true;
    return false;
}

static bool reads_tree(const shell *s, const shell_part *p, bool *hidden)
{
    const shell_word *w = &s->words[p->first];
    const char *name = w->text;
    size_t n = w->size;

    for (const char *slash; (slash = memchr(name, '/', n)) != NULL; name = slash + 1)
        n -= (size_t)(slash + 1 - name);
    *hidden = true;
    if (text_listed(name, n, " grep egrep fgrep zgrep "))
        return has_option(s, p, "rR", " --recursive --dereference-recursive ") || has_option(s, p, "d", " --directories ");
    if (text_listed(name, n, " diff "))
        return has_option(s, p, "r", " --recursive ");
    if (text_listed(name, n, " cp scp "))
        return has_option(s, p, "rRa", " --recursive --archive ");
    if (!text_listed(name, n, " rg ag ack "))
        return false;
    *hidden = !text_listed(name, n, " rg ag ") || has_option(s, p, ".uU", " --hidden --unrestricted ");
    return true;
}

static bool tree_report(walker *k, const shell_part *p, bool hidden, call_tree_fn *fn, void *ctx)
{
    const shell *s = &k->c->sh;
    const bool moved = k->moved == 1;
    const char *cwd = moved ? k->here.text : k->c->cwd;
    bool any = false, on = true, after = false;

    for (uint32_t i = 1; i < p->count && on; i++) {
        const shell_word *w = &s->words[p->first + i];
        uint32_t size = w->size;
        bool ends = false;
        const char *text = program_operand(s, p, i, after, &ends, &size);

        after = after || word_is(w, "--");
        if (text == NULL || text != w->text)
            continue;
        any = true;
        if (path_place(k, text, size, w->flags, cwd, moved))
            on = fn(ctx, k->w.at.given.text, hidden) && (!k->w.at.linked || fn(ctx, k->w.at.real.text, hidden));
    }
    return on && (any || cwd == NULL || fn(ctx, cwd, hidden));
}

void call_trees(const pawl_policy *p, const pawl_request *q, call_tree_fn *fn, void *ctx)
{
    policy_call c;
    walker k;
    bool on = true, hidden;

    call_read(&c, p, q);
    k.c = &c;
    k.moved = 0;
    for (size_t i = 0; c.command && i < c.sh.nparts && on; i++) {
        shell_part part = c.sh.parts[i];

        for (; part.carries && part.count > 1 && !reads_tree(&c.sh, &part, &hidden); part.count--)
            part.first++;
        if (part.count == 0)
            continue;
        if (text_listed(c.sh.words[part.first].text, c.sh.words[part.first].size, " cd pushd popd "))
            move(&k, &part);
        else if (reads_tree(&c.sh, &part, &hidden))
            on = tree_report(&k, &part, hidden, fn, ctx);
    }
}

/* ---- queries ---------------------------------------------------------------------------------------------- */

bool folder_inside(const pawl_policy *p, const path *at)
{
    for (size_t i = 0; p != NULL && i < p->nfolders; i++)
        if (path_within(p->folders[i], at->text))
            return true;
    return false;
}

static bool protected_at(const pawl_policy *p, const path *at)
{
    for (size_t i = 0; p != NULL && i < p->nkept; i++)
        if (path_within(p->kept[i], at->text))
            return true;
    return path_protected(at->text, p != NULL ? p->home : NULL);
}

bool place_protected(const pawl_policy *p, const policy_place *at)
{
    return protected_at(p, &at->given) || (at->linked && protected_at(p, &at->real));
}

bool call_inside(const policy_call *c, const command_path *w)
{
    return w->sure && !w->moved && folder_inside(c->p, &w->at.given) && (!w->at.linked || folder_inside(c->p, &w->at.real));
}

typedef struct path_rules {
    const policy_call *c;
    size_t from, to, found, *part, *may, *may_part;
} path_rules;

static bool rules_of_path(void *ctx, const command_path *w)
{
    path_rules *x = ctx;

    if (w->goes)
        return true;
    for (size_t i = x->from; i < x->to && i < x->found; i++) {
        const policy_rule *r = &x->c->p->rules[i];

        if (!rule_on_paths(r, w->edit) || !rule_active(r, x->c->q->time_ms))
            continue;
        if (r->spec == SPEC_NONE || (w->sure && (rule_fits_place(r, &w->at, true) ||
                                                 (w->removal && path_above(&r->path, &w->at.given))))) {
            x->found = i;
            *x->part = w->part;
        } else if (!w->sure && x->may != NULL && *x->may == SIZE_MAX) {
            *x->may = i;
            *x->may_part = w->part;
        }
    }
    return true;
}

size_t call_path_rule(const policy_call *c, size_t from, size_t to, size_t *part, size_t *may, size_t *may_part)
{
    path_rules x = { c, from, to, SIZE_MAX, part, may, may_part };

    if (c->command && c->has_paths && from < to)
        command_paths_visit(c, rules_of_path, &x);
    return x.found;
}

/* ---- paths whose links the caller must resolve --------------------------------------------------------------------------- */

typedef struct path_reporter { pawl_path_fn *fn; void *ctx; } path_reporter;

static bool visit_key(void *ctx, const command_path *w)
{
    const path_reporter *t = ctx;

    return w->key == NULL || t->fn(t->ctx, w->key);
}

void pawl_policy_paths(const pawl_policy *p, const pawl_request *q, pawl_path_fn *fn, void *ctx)
{
    bool any = false;

    for (size_t i = 0; p != NULL && i < p->count && !any; i++)
        any = p->rules[i].on_edits || p->rules[i].on_reads;
    if (any)
        call_paths(p, q, fn, ctx);
}

void call_paths(const pawl_policy *p, const pawl_request *q, pawl_path_fn *fn, void *ctx)
{
    path_reporter t = { fn, ctx };
    policy_call c;

    call_read(&c, p, q);
    if (c.command)
        command_paths_visit(&c, visit_key, &t);
    else if (c.has_path)
        (void)fn(ctx, c.at.given.text);
}
