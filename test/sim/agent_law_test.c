/* agent_law_test.c - agents in trouble, and the law that holds at every entry of theirs: no more is spent than was allowed, in the whole tree of
 * runs (A8), and what a person has to be asked for runs after a yes to just that, once (P1, P2, W6). Their models fail, are cut off, call
 * what is not there, with arguments that are none, under ids that were there before; rules, modes and budgets change; and people interrupt. */
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "lib/check.h"
#include "pawl/agent.h"
#include "pawl/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 60, ALL_SEEDS = 5000, RUNS = 64, YESES = 256, BILLS = 512, CHILDREN = 512, ANSWERS_MAX = 7,
       EXCESS = 1000000 };      /* now and then a bill is far above what was set aside */

static const char object[] = "{\"type\":\"object\"}";
static const char path_schema[] = "{\"properties\":{\"file_path\":{\"type\":\"string\"}},\"required\":[\"file_path\"],\"type\":\"object\"}";
static const char command_schema[] = "{\"properties\":{\"command\":{\"type\":\"string\"}},\"required\":[\"command\"],\"type\":\"object\"}";
static const char plan_schema[] = "{\"properties\":{\"plan\":{\"type\":\"string\"}},\"required\":[\"plan\"],\"type\":\"object\"}";
static const pawl_agent_tool tools[] = {
    { .name = "read_file", .rule = "Read", .schema = path_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .beside = true },
    { .name = "edit_file", .rule = "Edit", .schema = path_schema, .cls = PAWL_PERMISSION_EDIT, .effect = PAWL_CLASS_ONCE, .mutates = true },
    { .name = "bash", .rule = "Bash", .schema = command_schema, .cls = PAWL_PERMISSION_EXEC, .effect = PAWL_CLASS_ONCE, .mutates = true },
    { .name = "web_fetch", .rule = "WebFetch", .schema = object, .cls = PAWL_PERMISSION_NET, .effect = PAWL_CLASS_AT_LEAST_ONCE, .beside = true },
    { .name = "todo", .schema = object, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_TODO },
    { .name = "plan_enter", .schema = object, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_PLAN_ENTER },
    { .name = "plan_exit", .schema = plan_schema, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_PLAN_EXIT },
    { .name = "ask_user", .schema = object, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_ASK_USER },
    { .name = "spawn_agent", .schema = object, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_SPAWN_AGENT, .beside = true },
};
static const pawl_agent_helper helpers[] = { { "helper", "It helps." } };

static pawl_machine *helper(void *ctx, pawl_err *err)
{
    const pawl_agent a = { .name = "helper", .version = 1, .model = "script:none", .tools = tools, .ntools = sizeof tools / sizeof *tools, .helpers = helpers,
                           .nhelpers = 1, .post_tools = true, .max_tokens = 300, .max_depth = 2, .price_input = 3000000, .price_output = 15000000,
                           .denied = PAWL_DENIED_TELLS };

    (void)ctx;
    return pawl_agent_machine(&a, NULL, err);
}

/* ---- what it is judged by ------------------------------------------------------------------------------------------- */

typedef struct yes {            /* an approval that was asked for */
    char id[600], call[64], rule[32], digest[HASH_HEX + 1];     /* call: not its slot, which gets a number while another wait has that name */
    bool answered, given, used;
    size_t round;               /* so many answers of the model were there */
    char under[2 * HASH_HEX + 40];
} yes;

typedef struct bill { char id[600]; int64_t tokens, micros; } bill;    /* what a call has cost, in truth */

typedef struct judged {         /* a run */
    char id[RUN_BYTES_MAX + 1];
    yes all[YESES];
    size_t n;
    char seen[BILLS][HASH_HEX + 1];     /* digests of the ids of its commands */
    size_t nseen;
    bool over;                  /* an overdraft stood before this entry */
} judged;

typedef struct kin {            /* a child: what it was given when it was spawned, and the least that it was told since */
    char run[RUN_BYTES_MAX + 1], id[600];       /* and the command that it is */
    pawl_mode most, told;
    pawl_caps share;
} kin;

typedef struct court {
    uint64_t salt;              /* of a seed: another one, other people and models */
    judged runs[RUNS];
    size_t nruns;
    bill bills[BILLS];          /* of all runs */
    size_t nbills;
    kin children[CHILDREN];
    size_t nchildren;
    pawl_step *look;
    char wrong[800];
    uint64_t approved, refused, overdrafts, limits, shared;
} court;

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint64_t of_text(uint64_t h, const char *text)
{
    while (text != NULL && *text != '\0')
        h = (h ^ (unsigned char)*text++) * UINT64_C(1099511628211);
    return h;
}

static void digest_of(const pawl_value *v, char hex[HASH_HEX + 1])
{
    hash h;
    buf b;

    buf_init(&b, NULL);
    if (v != NULL)
        canon(&b, v);
    if (b.failed)
        abort();
    hash_of(b.data, b.size, &h);
    hash_hex(&h, hex);
    buf_free(&b);
}

static judged *judged_of(court *c, const char *run)
{
    for (size_t i = 0; i < c->nruns; i++)
        if (strcmp(c->runs[i].id, run) == 0)
            return &c->runs[i];
    if (c->nruns == RUNS)
        abort();
    c->runs[c->nruns].n = c->runs[c->nruns].nseen = 0;
    c->runs[c->nruns].over = false;
    snprintf(c->runs[c->nruns].id, sizeof c->runs[0].id, "%s", run);
    return &c->runs[c->nruns++];
}

static const char *wrong(court *c, const char *fmt, ...) PAWL_PRINTF(2, 3);
static const char *wrong(court *c, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(c->wrong, sizeof c->wrong, fmt, args);
    va_end(args);
    return c->wrong;
}

static const char *text_at(const pawl_value *v, const char *path)
{
    const char *text = pawl_value_string(pawl_value_find(v, path));

    return text != NULL ? text : "";
}

/* ---- budgets ------------------------------------------------------------------------------------------------------------ */

static bool above(int64_t cap, int64_t spent) { return cap > 0 && spent > cap; }

/* The runs below it are named after it. */
static bool below(const char *id, const char *root)
{
    const size_t n = strlen(root);

    return strncmp(id, root, n) == 0 && (id[n] == '~' || id[n] == '.');
}

static const char *ledger_wrong(court *c, judged *j, pawl_state *st)
{
    pawl_cost truth = {0}, open = {0};
    pawl_command cmd;
    pawl_spent s;

    if (!pawl_state_spent(st, &s))
        return wrong(c, "it has no budget");
    for (size_t i = 0; i < c->nbills; i++)
        if (below(c->bills[i].id, j->id)) {
            truth.tokens += c->bills[i].tokens;
            truth.micros += c->bills[i].micros;
            truth.calls++;
        }
    for (size_t i = 0; i < pawl_state_commands(st); i++) {
        if (pawl_state_command(st, i, c->look, &cmd, NULL, NULL) != PAWL_OK)
            return wrong(c, "a command cannot be looked at");
        open.tokens += cmd.kind == PAWL_COMMAND_SPAWN ? cmd.share.tokens : cmd.limits.cost.tokens;
        open.micros += cmd.kind == PAWL_COMMAND_SPAWN ? cmd.share.micros : cmd.limits.cost.micros;
        open.calls += cmd.kind == PAWL_COMMAND_SPAWN ? cmd.share.calls : cmd.kind == PAWL_COMMAND_CALL && cmd.limits.cls != PAWL_CLASS_PURE ? 1
            : cmd.limits.cost.calls;
    }
    if (s.reserved.tokens < open.tokens || s.reserved.micros < open.micros || s.reserved.calls < open.calls)
        return wrong(c, "less is set aside than what is open may cost: %lld of %lld tokens, %lld of %lld calls", (long long)s.reserved.tokens,
                     (long long)open.tokens, (long long)s.reserved.calls, (long long)open.calls);
    c->overdrafts += s.overdraft && !j->over;
    if (s.overdraft)
        return NULL;
    if (above(s.caps.tokens, s.used.tokens + s.reserved.tokens) || above(s.caps.micros, s.used.micros + s.reserved.micros) ||
        above(s.caps.calls, s.used.calls + s.reserved.calls))
        return wrong(c, "used and set aside are above a cap: %lld + %lld of %lld tokens, %lld + %lld of %lld calls", (long long)s.used.tokens,
                     (long long)s.reserved.tokens, (long long)s.caps.tokens, (long long)s.used.calls, (long long)s.reserved.calls, (long long)s.caps.calls);
    if (above(s.caps.tokens, truth.tokens) || above(s.caps.micros, truth.micros) || above(s.caps.calls, truth.calls))
        return wrong(c, "its tree has cost %lld of %lld tokens, %lld of %lld micros, %lld of %lld calls", (long long)truth.tokens, (long long)s.caps.tokens,
                     (long long)truth.micros, (long long)s.caps.micros, (long long)truth.calls, (long long)s.caps.calls);
    return NULL;
}

/* ---- children: no more than their parents ---------------------------------------------------------------------------- */

static void child_born(court *c, const judged *j, const pawl_command *cmd, pawl_mode most)
{
    kin *k = &c->children[c->nchildren++];

    if (c->nchildren == CHILDREN)
        abort();
    *k = (kin){ .most = most, .told = most, .share = cmd->share };
    snprintf(k->id, sizeof k->id, "%s", cmd->id);
    snprintf(k->run, sizeof k->run, "%.60s.sub-%.60s", j->id, cmd->child != NULL ? cmd->child : "");
    c->shared++;
}

static void child_told(court *c, const pawl_command *cmd)
{
    const pawl_mode to = pawl_mode_named(text_at(cmd->args, "/update/@rights"));

    for (size_t i = 0; i < c->nchildren && to != PAWL_MODE_NONE; i++)
        if (strcmp(c->children[i].run, text_at(cmd->args, "/run")) == 0 && to < c->children[i].told)
            c->children[i].told = to;
}

/* What its parent loses it is told in the same entry. */
static const char *parent_wrong(court *c, const pawl_command *cmd, pawl_mode mode)
{
    for (size_t i = 0; i < c->nchildren && cmd->kind == PAWL_COMMAND_SPAWN; i++)
        if (strcmp(c->children[i].id, cmd->id) == 0 && c->children[i].told > mode)
            return wrong(c, "%s: it may go on in %s, and its parent is in %s", cmd->id, pawl_mode_name(c->children[i].told), pawl_mode_name(mode));
    return NULL;
}

static bool wider(int64_t caps, int64_t share) { return share > 0 && (caps == 0 || caps > share); }

/* A model that says an id twice spawns once: which of both that is, is not asked. */
static const char *child_wrong(court *c, const judged *j, pawl_state *st, pawl_mode mode)
{
    const char *why = strchr(j->id, '.') == NULL ? NULL : wrong(c, "nobody has spawned it");
    pawl_spent s;

    if (why == NULL || pawl_state_get(st, "@agent") == NULL)     /* it was called off before it began */
        return NULL;
    for (size_t i = 0; i < c->nchildren && why != NULL; i++) {
        const kin *k = &c->children[i];

        if (strcmp(k->run, j->id) != 0)
            continue;
        if (mode > k->most)
            why = wrong(c, "it is in %s, and was spawned by one in %s", pawl_mode_name(mode), pawl_mode_name(k->most));
        else if (!pawl_state_spent(st, &s) || wider(s.caps.tokens, k->share.tokens) || wider(s.caps.micros, k->share.micros) ||
                 wider(s.caps.calls, k->share.calls))
            why = wrong(c, "its budget is above its share of its parent's");
        else
            why = NULL;
    }
    return why;
}

/* ---- approvals ------------------------------------------------------------------------------------------------------------- */

typedef enum say { SAY_ALLOW, SAY_ASK, SAY_DENY } say;

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* The law once more, as these tools and these rules have it: {"allow":["Bash(git:*)"],"ask":["WebFetch"],"deny":["Bash(rm:*)"]}, and make as it
 * was granted to the run. */
static say law(const char *tool, const char *cwd, const pawl_value *input, pawl_mode mode, bool rules, bool granted)
{
    const char *command = text_at(input, "/command");
    const size_t n = strlen(cwd);
    const char *file = text_at(input, "/file_path");
    const bool inside = *file != '/' || (strncmp(file, cwd, n) == 0 && file[n] == '/');

    if (strcmp(tool, "bash") == 0 && rules && (begins(command, "rm ") || strcmp(command, "rm") == 0))
        return SAY_DENY;
    if (strcmp(tool, "read_file") == 0)
        return SAY_ALLOW;
    if (mode == PAWL_MODE_PLAN)      /* there a shell can only read, and its handler sees to that */
        return strcmp(tool, "bash") == 0 ? SAY_ALLOW : SAY_DENY;
    if (strcmp(tool, "web_fetch") == 0 && rules)
        return SAY_ASK;
    if (mode == PAWL_MODE_BYPASS || (strcmp(tool, "edit_file") == 0 && mode == PAWL_MODE_ACCEPT_EDITS && inside))
        return SAY_ALLOW;
    if (strcmp(tool, "bash") == 0 && ((rules && begins(command, "git ")) || (granted && begins(command, "make "))))
        return SAY_ALLOW;
    return SAY_ASK;
}

static size_t answers_in(const pawl_value *messages)
{
    pawl_iter it = pawl_iter_of(messages);
    const pawl_value *one;
    size_t n = 0;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        n += strcmp(text_at(one, "/role"), "assistant") == 0;
    return n;
}

static pawl_mode mode_of(pawl_state *st)
{
    const pawl_mode own = pawl_mode_named(pawl_value_string(pawl_state_get(st, "@mode"))),
        most = pawl_mode_named(pawl_value_string(pawl_state_get(st, "@rights")));
    const pawl_mode now = own != PAWL_MODE_NONE ? own : PAWL_MODE_DEFAULT;

    return most != PAWL_MODE_NONE && most < now ? most : now;
}

/* Mode, rules and grants. */
static void under_of(pawl_state *st, char *out, size_t size)
{
    char rules[HASH_HEX + 1], grants[HASH_HEX + 1];

    digest_of(pawl_state_get(st, "@policy"), rules);
    digest_of(pawl_state_get(st, "@grants"), grants);
    snprintf(out, size, "%s %s %s", pawl_mode_name(mode_of(st)), rules, grants);
}

/* A call as an approval is bound to it. */
static void call_digest(const pawl_value *input, const char *rule, char hex[HASH_HEX + 1])
{
    hash h;
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "{\"input\":");
    canon(&b, input);
    buf_fmt(&b, ",\"tool\":\"%s\"}", rule);
    if (b.failed)
        abort();
    hash_of(b.data, b.size, &h);
    hash_hex(&h, hex);
    buf_free(&b);
}

static void questions_see(court *c, judged *j, pawl_state *st)
{
    pawl_wait w;

    for (size_t i = 0; i < pawl_state_waits(st); i++) {
        size_t k = 0;

        if (pawl_state_wait(st, i, c->look, &w, NULL) != PAWL_OK || w.kind != PAWL_WAIT_APPROVAL)
            continue;
        while (k < j->n && strcmp(j->all[k].id, w.id) != 0)
            k++;
        if (k < j->n)
            continue;
        if (j->n == YESES)
            abort();
        j->all[j->n] = (yes){ .round = answers_in(pawl_state_get(st, "messages")) };
        snprintf(j->all[j->n].id, sizeof j->all[0].id, "%s", w.id);
        snprintf(j->all[j->n].call, sizeof j->all[0].call, "%s", text_at(w.about, "/call"));
        snprintf(j->all[j->n].rule, sizeof j->all[0].rule, "%s", text_at(w.about, "/tool"));
        snprintf(j->all[j->n].digest, sizeof j->all[0].digest, "%s", text_at(w.about, "/digest"));
        under_of(st, j->all[j->n].under, sizeof j->all[0].under);
        j->n++;
    }
}

/* What the answer is to: with a person's edit, to that. */
static void answer_see(court *c, judged *j, pawl_state *st, const item *it)
{
    const pawl_value *input = pawl_value_get(it->value, "input");
    char id[600];
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s~%016llx/", j->id, (unsigned long long)pawl_state_life(st));
    id_code(&b, it);
    snprintf(id, sizeof id, "%.*s", (int)b.size, b.data);
    buf_free(&b);
    for (size_t i = 0; i < j->n; i++) {
        yes *y = &j->all[i];

        if (strcmp(y->id, id) != 0 || y->answered)
            continue;
        y->answered = true;
        y->given = pawl_value_bool(it->value) || pawl_value_bool(pawl_value_get(it->value, "approve"));
        *(y->given ? &c->approved : &c->refused) += 1;
        if (input != NULL)
            call_digest(input, y->rule, y->digest);
    }
}

/* A yes to this very call, in this answer of the model, under what holds now, that nothing has run by yet. */
static const char *yes_wrong(court *c, judged *j, const pawl_command *cmd, const char *digest, const char *under, size_t round)
{
    const yes *near = NULL;

    for (size_t i = j->n; i > 0; i--) {
        yes *y = &j->all[i - 1];

        if (strcmp(y->call, text_at(cmd->args, "/call")) != 0 || y->round != round)
            continue;
        if (y->given && !y->used && strcmp(y->digest, digest) == 0 && strcmp(y->under, under) == 0) {
            y->used = true;
            return strcmp(text_at(cmd->args, "/decision/digest"), digest) == 0 ? NULL : wrong(c, "%s: its decision is to another call", cmd->id);
        }
        near = near != NULL ? near : y;
    }
    if (near == NULL)
        return wrong(c, "%s: %s runs, and nobody was asked, under %s", cmd->id, text_at(cmd->args, "/tool"), under);
    return wrong(c, "%s: %s runs by an approval that was %s, to %s, under %s, and this is %s, under %s", cmd->id, text_at(cmd->args, "/tool"),
                 near->used ? "used before" : near->given ? "given" : near->answered ? "refused" : "not answered", near->digest, near->under, digest, under);
}

/* So many calls of that id are in the last answer of the model. */
static size_t calls_of(pawl_state *st, const char *id)
{
    const pawl_value *messages = pawl_state_get(st, "messages"), *block;
    size_t at = pawl_value_size(messages), n = 0;
    pawl_iter it;

    while (at > 0 && strcmp(text_at(pawl_value_at(messages, at - 1), "/role"), "assistant") != 0)
        at--;
    it = pawl_iter_of(at > 0 ? pawl_value_get(pawl_value_at(messages, at - 1), "content") : NULL);
    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        n += strcmp(text_at(block, "/id"), id) == 0;
    return n;
}

static const char *call_wrong(court *c, judged *j, pawl_state *st, const pawl_command *cmd)
{
    static const struct { const char *tool, *rule; } rules[] = { { "edit_file", "Edit" }, { "bash", "Bash" }, { "web_fetch", "WebFetch" },
                                                                 { "read_file", "Read" } };
    const char *tool = text_at(cmd->args, "/tool"), *id = text_at(cmd->args, "/call"), *cwd = text_at(pawl_state_get(st, "@cwd"), "");
    const pawl_value *input = pawl_value_get(cmd->args, "input");
    const size_t round = answers_in(pawl_state_get(st, "messages"));
    char under[sizeof j->all[0].under], digest[HASH_HEX + 1] = "";
    const say says = law(tool, cwd, input, mode_of(st), pawl_value_size(pawl_state_get(st, "@policy")) > 0, pawl_value_size(pawl_state_get(st, "@grants")) > 0);

    under_of(st, under, sizeof under);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].tool, tool) == 0)
            call_digest(input, rules[i].rule, digest);
    if (says == SAY_DENY)
        return wrong(c, "%s: %s runs, and is denied under %s", cmd->id, tool, under);
    if (says == SAY_ASK)
        return yes_wrong(c, j, cmd, digest, under, round);
    for (size_t i = 0; i < j->n && calls_of(st, id) == 1; i++)        /* of two under one id a no is to one */
        if (strcmp(j->all[i].call, id) == 0 && j->all[i].answered && !j->all[i].given && j->all[i].round == round && strcmp(j->all[i].digest, digest) == 0)
            return wrong(c, "%s: %s runs after a no: %s", cmd->id, tool, j->all[i].id);
    return NULL;
}

static bool seen_before(judged *j, const char *id)
{
    char hex[HASH_HEX + 1];
    hash h;

    hash_of(id, strlen(id), &h);
    hash_hex(&h, hex);
    for (size_t k = 0; k < j->nseen; k++)
        if (strcmp(j->seen[k], hex) == 0)
            return true;
    if (j->nseen == BILLS)
        abort();
    memcpy(j->seen[j->nseen++], hex, sizeof hex);
    return false;
}

static const char *commands_wrong(court *c, judged *j, pawl_state *st)
{
    const size_t n = pawl_state_commands(st);
    const char *why = NULL;
    pawl_command cmd;

    for (size_t i = 0; i < n && why == NULL; i++) {
        if (pawl_state_command(st, i, c->look, &cmd, NULL, NULL) != PAWL_OK)
            return wrong(c, "a command cannot be looked at");
        if (seen_before(j, cmd.id))
            continue;
        if (cmd.kind == PAWL_COMMAND_SPAWN)
            child_born(c, j, &cmd, mode_of(st));
        if (j->over && cmd.kind != PAWL_COMMAND_SLEEP)
            why = wrong(c, "%s: it leaves after an overdraft", cmd.id);
        else if (cmd.effect != NULL && strcmp(cmd.effect, "tell") == 0)
            child_told(c, &cmd);
        else if (cmd.effect != NULL && begins(cmd.effect, "tool-"))
            why = call_wrong(c, j, st, &cmd);
    }
    for (size_t i = 0; i < n && why == NULL; i++)
        if (pawl_state_command(st, i, c->look, &cmd, NULL, NULL) == PAWL_OK)
            why = parent_wrong(c, &cmd, mode_of(st));
    return why;
}

/* ---- messages, whenever it rests ---------------------------------------------------------------------------------------------- */

static const char *talk_wrong(court *c, pawl_state *st)
{
    pawl_iter it = pawl_iter_of(pawl_state_get(st, "messages"));
    const pawl_value *one, *calls = NULL;
    size_t at = 0;

    for (;;) {
        const bool more = (one = pawl_iter_next(&it, NULL)) != NULL, result = more && strcmp(text_at(one, "/role"), "tool") == 0;
        const pawl_value *block = NULL;

        while (calls != NULL && (block = pawl_value_at(calls, at)) != NULL && strcmp(text_at(block, "/type"), "tool_use") != 0)
            at++;
        if (result && (block == NULL || strcmp(text_at(block, "/id"), text_at(one, "/tool_call_id")) != 0))
            return wrong(c, "a result of %s, which was not called there", text_at(one, "/tool_call_id"));
        if (!result && block != NULL)
            return wrong(c, "no result of %s", text_at(block, "/id"));
        if (!more)
            return NULL;
        at++;
        if (!result) {
            calls = strcmp(text_at(one, "/role"), "assistant") == 0 ? pawl_value_get(one, "content") : NULL;
            at = 0;
        }
    }
}

/* It begins, in this world or the next: nothing is known of it and of those below it. */
static void tree_forget(court *c, const char *root)
{
    for (size_t i = c->nbills; i > 0; i--)
        if (below(c->bills[i - 1].id, root))
            c->bills[i - 1] = c->bills[--c->nbills];
    for (size_t i = c->nchildren; i > 0; i--)
        if (below(c->children[i - 1].run, root))
            c->children[i - 1] = c->children[--c->nchildren];
    for (size_t i = c->nruns; i > 0; i--)
        if (below(c->runs[i - 1].id, root) || strcmp(c->runs[i - 1].id, root) == 0)
            c->runs[i - 1] = c->runs[--c->nruns];
}

static const char *holds(void *ctx, pawl_state *st, const pawl_entry *entry)
{
    court *c = ctx;
    const char *run = pawl_state_run(st), *why = NULL;
    judged *j;
    pawl_wait w;
    pawl_spent s;

    if (entry == NULL && strchr(run, '.') == NULL)
        tree_forget(c, run);
    j = judged_of(c, run);
    if (entry == NULL)
        return NULL;
    for (const item *it = entry->items; it != NULL; it = it->next)
        if (it->kind == ITEM_ANSWER)
            answer_see(c, j, st, it);
    questions_see(c, j, st);
    if ((why = commands_wrong(c, j, st)) == NULL)
        why = ledger_wrong(c, j, st);
    if (why == NULL)
        why = child_wrong(c, j, st, mode_of(st));
    for (size_t i = 0; i < pawl_state_waits(st) && why == NULL; i++)
        if (pawl_state_wait(st, i, c->look, &w, NULL) == PAWL_OK && w.kind == PAWL_WAIT_INPUT)
            why = talk_wrong(c, st);
    j->over = pawl_state_spent(st, &s) && s.overdraft;
    c->limits += pawl_state_get(st, "@agent") != NULL && strcmp(text_at(pawl_state_get(st, "@agent"), "/end"), "budget") == 0;
    return why;
}

static bool stored(void *ctx, pawl_state *st, const pawl_entry *entry, const char **oracle, pawl_err *err)
{
    const char *why = holds(ctx, st, entry);

    *oracle = "law";
    if (why != NULL)
        snprintf(err->text, sizeof err->text, "%s", why);
    return why == NULL;
}

/* ---- a model that knows no manners ------------------------------------------------------------------------------------------------ */

static void calls_say(uint64_t h, size_t answers, buf *b)
{
    static const char *const all[] = {
        "\"name\":\"read_file\",\"input\":{\"file_path\":\"a\"}", "\"name\":\"edit_file\",\"input\":{\"file_path\":\"/w/a\"}",
        "\"name\":\"edit_file\",\"input\":{\"file_path\":\"/etc/b\"}", "\"name\":\"bash\",\"input\":{\"command\":\"make x\"}",
        "\"name\":\"bash\",\"input\":{\"command\":\"git push\"}", "\"name\":\"bash\",\"input\":{\"command\":\"rm -r a\"}",
        "\"name\":\"web_fetch\",\"input\":{\"url\":\"http://x\"}", "\"name\":\"todo\",\"input\":{\"todos\":[]}", "\"name\":\"plan_enter\",\"input\":{}",
        "\"name\":\"plan_exit\",\"input\":{\"plan\":\"Go.\"}", "\"name\":\"spawn_agent\",\"input\":{\"prompt\":\"look\"}",
        "\"name\":\"ask_user\",\"input\":{\"questions\":[{\"header\":\"Color\",\"options\":[\"red\",\"blue\"],\"question\":\"Which?\"}]}",
        "\"name\":\"nothing\",\"input\":{}", "\"name\":\"bash\",\"input\":{\"command\":7}", "\"name\":\"edit_file\",\"input\":{},\"invalid\":\"{\\\"file\"",
        "\"name\":\"spawn_agent\",\"input\":{}",
    };
    const size_t n = 1 + (h >> 8) % 4;
    uint64_t id = (h >> 16) % 3 == 0 ? 0 : answers * 10;        /* 0: as in other answers, too */

    for (size_t i = 0; i < n; i++) {
        h = mixed(h + i + 1);
        id += i > 0 && h % 16 == 0 ? 0 : 1;                     /* or in this one */
        buf_fmt(b, "%s{\"type\":\"tool_use\",\"id\":\"c%llu\",%s}", i > 0 ? "," : "", (unsigned long long)id, all[(h >> 8) % (sizeof all / sizeof *all)]);
    }
}

static void bill_write(court *c, const char *id, int64_t tokens, int64_t micros)
{
    size_t i = 0;

    while (i < c->nbills && strcmp(c->bills[i].id, id) != 0)
        i++;
    if (i == BILLS)
        abort();
    if (i == c->nbills)
        snprintf(c->bills[c->nbills++].id, sizeof c->bills[0].id, "%s", id);
    c->bills[i].tokens = tokens;
    c->bills[i].micros = micros;
}

static pawl_code fails(pawl_reply *reply, uint64_t kind)
{
    if (kind < 6)
        return pawl_reply_fail(reply, PAWL_TRANSIENT, "API error: 529 busy");
    if (kind < 9) {
        pawl_reply_retry_after(reply, 700);
        return pawl_reply_fail(reply, PAWL_TRANSIENT, "Rate limited: 429");
    }
    if (kind < 12)
        return pawl_reply_fail(reply, PAWL_TRANSIENT, "Invalid response: its end, and no reason for it");
    return pawl_reply_fail(reply, kind == 12 ? PAWL_DENIED : kind == 13 ? PAWL_TIMEOUT : PAWL_INVALID, "API error: it will not");
}

static pawl_code model(const pawl_job *job, pawl_reply *reply, void *arg)
{
    court *c = arg;
    const pawl_value *messages = pawl_value_get(job->args, "messages");
    const size_t answers = answers_in(messages);
    int64_t tokens, micros;
    char hex[HASH_HEX + 1];
    pawl_code rc;
    uint64_t h;
    buf b;

    digest_of(job->args, hex);
    h = mixed(of_text(c->salt, hex));
    tokens = h >> 32 & 127 ? 20 + (int64_t)(h >> 40) % 300 : EXCESS;
    micros = 4 * tokens;
    pawl_reply_cost(reply, tokens, micros);
    bill_write(c, job->id, tokens < EXCESS ? tokens : 0, micros < 4 * EXCESS ? micros : 0);     /* such a bill may never be known: it was interrupted */
    if (h % 100 < 15)
        return fails(reply, h % 100);
    buf_init(&b, NULL);
    if (h % 100 == 15) {
        buf_text(&b, "{\"odd\":true}");
    } else {
        buf_text(&b, "{\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"so\"}");
        if (answers < ANSWERS_MAX && h % 100 < 85) {
            buf_char(&b, ',');
            calls_say(h, answers, &b);
        }
        buf_fmt(&b, "]},\"stop\":\"end_turn\",\"usage\":{\"input_tokens\":%lld,\"output_tokens\":%lld}}", (long long)tokens / 2,
                (long long)(tokens - tokens / 2));
    }
    buf_char(&b, '\0');
    rc = b.failed ? PAWL_NOMEM : pawl_reply_json(reply, b.data);
    buf_free(&b);
    return rc;
}

static pawl_code used(const pawl_job *job, pawl_reply *reply, void *arg)
{
    char hex[HASH_HEX + 1];

    digest_of(job->args, hex);
    if (strcmp(job->effect, "tool-read_file") != 0)     /* that one is pure, and none */
        bill_write(arg, job->id, 0, 0);
    if (mixed(of_text(((court *)arg)->salt, hex)) % 8 == 0)
        return pawl_reply_fail(reply, PAWL_EFFECT, "it does not work");
    return pawl_reply_json(reply, "{\"content\":\"well\"}");
}

/* It lets go on, denies, fails, asks, or makes another call of it; it never allows by itself. */
static pawl_code hook(const pawl_job *job, pawl_reply *reply, void *arg)
{
    static const char *const all[] = {
        "{\"status\":2,\"stderr\":\"not that\",\"stdout\":\"\"}", "{\"status\":7,\"stderr\":\"\",\"stdout\":\"\"}",
        "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{]\"}",
        "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\",\\\"permissionDecision\\\":\\\"ask\\\"}}\"}",
        "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\",\\\"updatedInput\\\":{\\\"command\\\":\\\"make it\\\"}}}\"}",
        "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\",\\\"updatedInput\\\":{\\\"command\\\":\\\"rm it\\\"}}}\"}",
    };
    char hex[HASH_HEX + 1];
    uint64_t h;

    digest_of(job->args, hex);
    h = mixed(of_text(((court *)arg)->salt, hex)) % 12;
    return pawl_reply_json(reply, h < 6 ? all[h] : "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}");
}

static pawl_code links(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    return pawl_reply_json(reply, "{}");
}

/* People say yes, no, no with a reason, and what else it should be. */
static const char *answer(void *ctx, const pawl_wait *wait)
{
    const court *c = ctx;
    const uint64_t h = mixed(of_text(of_text(c->salt, wait->slot), pawl_value_string(wait->prompt)));
    const char *prompt = pawl_value_string(wait->prompt);

    if (wait->kind == PAWL_WAIT_INPUT)
        return "";
    if (wait->kind == PAWL_WAIT_QUESTION)
        return "{\"Color\":\"red\"}";
    if (h % 8 == 0 && prompt != NULL && strstr(prompt, "Bash") != NULL)
        return h & 256 ? "{\"approve\":true,\"input\":{\"command\":\"make all\"}}" : "{\"approve\":true,\"input\":{\"command\":\"rm it\"}}";
    return h % 8 < 6 ? "true" : h % 8 == 6 ? "false" : "{\"approve\":false,\"note\":\"not now\"}";
}

/* ---- trials --------------------------------------------------------------------------------------------------------------------------- */

#define RULES "{\"allow\":[\"Bash(git:*)\"],\"ask\":[\"WebFetch\"],\"cwd\":\"/w\",\"deny\":[\"Bash(rm:*)\"],\"hooks\":[{\"from\":\"s\",\"hooks\":{\"PreToolUse\":" \
              "[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"check\"}]}]}}]}"
static const pawl_sim_signal changes[] = {
    { "input", "\"one\"" }, { NULL, "{\"@mode\":\"bypassPermissions\"}" }, { "interrupt", NULL }, { NULL, "{\"@policy\":" RULES "}" }, { "input", "\"two\"" },
    { NULL, "{\"@mode\":\"plan\"}" }, { NULL, "{\"@mode\":\"default\"}" }, { "input", "\"three\"" }, { "interrupt", NULL },
    { NULL, "{\"@grants\":[{\"from\":\"/w\",\"rule\":\"Bash(make:*)\",\"until\":99999999999999}]}" }, { NULL, "{\"@mode\":\"acceptEdits\"}" },
    { "input", "\"four\"" },
    { NULL, "{\"@budget\":{\"calls\":400,\"micros\":20000000,\"tokens\":4000000}}" }, { "input", "\"five\"" }, { "interrupt", NULL }, { "interrupt", NULL },
    { "input", "\"six\"" },
};

static const pawl_caps budgets[] = { { .tokens = 6000 }, { .tokens = 40000, .calls = 12 }, { .calls = 30, .micros = 150000 },
                                     { .tokens = 400000, .calls = 200, .micros = 4000000 } };

static const uint64_t found[] = { 1985 }, found_changing[] = { 103464 };      /* seeds that found something */

static void tried(uint64_t first, bool change)
{
    static const char *const inputs[] = { "{\"@cwd\":\"/w\",\"@mode\":\"default\",\"input\":\"go\"}",
                                          "{\"@cwd\":\"/w\",\"@mode\":\"acceptEdits\",\"@policy\":" RULES ",\"input\":\"go\"}",
                                          "{\"@cwd\":\"/w\",\"@mode\":\"bypassPermissions\",\"@once\":\"run\",\"input\":\"go\"}" };
    static court c;
    const pawl_sim_effect effects[] = { { "llm", model, &c }, { "tool-read_file", used, &c }, { "tool-edit_file", used, &c }, { "tool-bash", used, &c },
                                        { "tool-web_fetch", used, &c }, { "hook", hook, &c }, { "links", links, NULL } };
    const char *whole = getenv("PAWL_TEST_ALL");
    const uint64_t n = check_run_all() || (whole != NULL && strcmp(whole, "1") == 0) ? ALL_SEEDS : SEEDS;
    const uint64_t *again = change ? found_changing : found;
    const size_t nagain = change ? sizeof found_changing / sizeof *found_changing : sizeof found / sizeof *found;
    uint64_t kills = 0, performed = 0;

    c = (court){ .look = pawl_step_new(NULL) };
    for (uint64_t i = 0; i < n + nagain; i++) {
        const uint64_t seed = i < n ? first + i : again[i - n];
        const pawl_sim_setup setup = { .machine = helper, .inputs = inputs, .ninputs = 3, .effects = effects, .neffects = sizeof effects / sizeof *effects,
                                       .answer = answer,
                                       .ctx = &c, .signals = changes, .nsignals = change ? sizeof changes / sizeof *changes : 0, .loose = true,
                                       .stored = stored,
                                       .runs = 3, .budget = budgets[seed % 4], .cancel = 50 };
        pawl_sim_report report;
        pawl_err err = {0};
        pawl_code rc;

        c.salt = mixed(seed);
        c.nruns = c.nbills = c.nchildren = 0;
        rc = pawl_sim(&setup, seed, &report, &err);
        if (rc != PAWL_OK)
            fprintf(stderr, "%s\n", report.trace != NULL ? report.trace : "");
        kills += report.kills;
        performed += report.performed;
        pawl_sim_report_free(&report);
        if (rc != PAWL_OK)
            CHECK_FAIL("seed %llu: %s", (unsigned long long)seed, err.text);
    }
    pawl_step_free(c.look);
    printf("%llu seeds: %llu performed, %llu kills, %llu yes, %llu no, %llu children, %llu overdrafts, %llu entries at a limit\n",
           (unsigned long long)(n + nagain), (unsigned long long)performed,
           (unsigned long long)kills, (unsigned long long)c.approved, (unsigned long long)c.refused, (unsigned long long)c.shared,
           (unsigned long long)c.overdrafts, (unsigned long long)c.limits);
    CHECK(kills > 0 && c.approved > 0 && c.refused > 0 && c.shared > 0 && c.overdrafts > 0 && c.limits > 0);     /* else nothing was put to the test */
}

PAWL_TEST(test_A8_P1_W6_no_more_than_allowed) { tried(check_seed(), false); }
PAWL_TEST(test_A8_P1_W6_no_more_than_allowed_while_that_changes) { tried(check_seed() + 100000, true); }
