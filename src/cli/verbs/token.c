/* token.c - `pawl token`: who may use the servers of a store, and for what (N4).
 *
 * Called by main.c on the main thread; the file is that of src/app/tokens.c. The text of a token goes to stdout once, and is kept nowhere. */
#include "app/tokens.h"
#include "cli/verbs.h"
#include "net/net.h"

/* ---- new -------------------------------------------------------------------------------------------------- */

static bool limits_of(const cli_call *c, const char *option, const char **out, size_t *n)
{
    for (const char *one; (one = cli_given_at(c, option, *n)) != NULL;) {
        if (*n == TOKEN_LIMITS_MAX || *one == '\0' || !utf8_valid(one, strlen(one)))
            return false;
        out[(*n)++] = one;
    }
    return true;
}

/* EXIT_DONE, or the usage error was printed. */
static int row_of(const cli_call *c, token_row *t)
{
    const char *scopes = cli_given(c, "scope"), *mode = cli_given(c, "mode"), *expires = cli_given(c, "expires");
    int64_t ms;

    t->who.scopes = scopes != NULL ? scopes_named(scopes) : 0;
    t->who.most = mode != NULL ? pawl_mode_named(mode) : PAWL_MODE_DEFAULT;
    if (t->who.scopes == 0)
        return cli_usage(c, "--scope says what the token is for: one or several of read, answer, run, admin and work, separated by commas");
    if (t->who.most == PAWL_MODE_NONE)
        return cli_usage(c, "--mode is plan, default, acceptEdits or bypassPermissions, and not \"%s\"", mode);
    if (expires != NULL && (!cli_duration(expires, &ms) || ms == 0))
        return cli_usage(c, "--expires %s: not a time such as 12h or 30d", expires);
    if (!limits_of(c, "machine", t->who.machines, &t->who.nmachines) || !limits_of(c, "label", t->who.labels, &t->who.nlabels))
        return cli_usage(c, "--machine and --label are texts, %d of each at most", TOKEN_LIMITS_MAX);
    t->expires_ms = expires != NULL ? epoch_ms() + ms : 0;
    return EXIT_DONE;
}

static int token_new(cli_call *c)
{
    token_row t = { .name = c->args[1] };
    pawl_err err = { PAWL_OK, "" };
    char text[TOKEN_TEXT_BYTES], scopes[32];
    pawl_store *s;
    int code;
    bool put;
    buf out;

    if ((code = row_of(c, &t)) != EXIT_DONE)
        return code;
    if ((s = cli_store(c, true, &err)) == NULL)
        return cli_fail(c, err.code, &err);
    t.store = s->verbs->id != NULL ? s->verbs->id(s, &err) : NULL;
    if (t.store == NULL && err.code == PAWL_OK)
        fail(&err, PAWL_INVALID, "%s: a token is for a store that is kept, and this one is not", cli_store_name(c));
    if (t.store == NULL || tokens_new(&t, text, &err) != PAWL_OK) {
        pawl_store_free(s);
        return cli_fail(c, err.code, &err);
    }
    pawl_store_free(s);
    scopes_said(t.who.scopes, scopes);
    cli_note(c, "%s may %s in %s; this is the only time that its token is shown", t.name, scopes, cli_store_name(c));
    buf_init(&out, NULL);
    buf_fmt(&out, "%s\n", text);
    put = cli_put(c, &out);
    buf_free(&out);
    return put ? EXIT_DONE : EXIT_FAILED;
}

/* ---- list, remove ------------------------------------------------------------------------------------------- */

static const pawl_value *row_json(arena *mem, const token_row *t)
{
    char scopes[32];
    const pawl_value *v;

    scopes_said(t->who.scopes, scopes);
    v = value_pack(mem, NULL, "{s:i,s:s,s:s,s:s,s:s}", "created_ms", t->created_ms, "mode", pawl_mode_name(t->who.most), "name", t->name, "scopes", scopes,
                   "store", t->store);
    v = value_with(mem, v, "labels", token_texts(mem, t->who.labels, t->who.nlabels));
    v = value_with(mem, v, "machines", token_texts(mem, t->who.machines, t->who.nmachines));
    return t->expires_ms != 0 ? value_with(mem, v, "expires_ms", value_int(mem, t->expires_ms)) : v;
}

static void row_said(buf *out, const token_row *t, int64_t now_ms)
{
    char scopes[32], until[32];

    scopes_said(t->who.scopes, scopes);
    cli_time(until, t->expires_ms);
    cli_cell(out, t->name, 20);
    cli_cell(out, scopes, 24);
    cli_cell(out, pawl_mode_name(t->who.most), 18);
    buf_fmt(out, "%s", t->expires_ms == 0 ? "for ever" : now_ms >= t->expires_ms ? "expired" : until);
    for (size_t i = 0; i < t->who.nmachines; i++) {
        buf_text(out, i == 0 ? "  machine " : ", ");
        cli_clean(out, t->who.machines[i], strlen(t->who.machines[i]));
    }
    for (size_t i = 0; i < t->who.nlabels; i++) {
        buf_text(out, i == 0 ? "  label " : ", ");
        cli_clean(out, t->who.labels[i], strlen(t->who.labels[i]));
    }
    buf_fmt(out, "  store %s\n", t->store);
}

static int token_ls(cli_call *c)
{
    const pawl_value *all = value_pack(&c->mem, NULL, "[]");
    pawl_err err = { PAWL_OK, "" };
    token_list *l = NULL;
    bool put;
    buf out;

    if (tokens_read(&l, &err) != PAWL_OK)
        return cli_fail(c, err.code, &err);
    buf_init(&out, NULL);
    for (size_t i = 0; i < l->n; i++)
        if (c->json)
            all = value_push(&c->mem, all, row_json(&c->mem, &l->all[i]));
        else
            row_said(&out, &l->all[i], epoch_ms());
    if (!c->json && l->n == 0)
        cli_note(c, "there are no tokens: pawl token new NAME --scope read makes one");
    put = c->json ? cli_json(c, all) : cli_put(c, &out);
    buf_free(&out);
    tokens_drop(l);
    return put ? EXIT_DONE : EXIT_FAILED;
}

static int token_rm(cli_call *c)
{
    pawl_err err = { PAWL_OK, "" };

    if (tokens_remove(c->args[1], &err) != PAWL_OK)
        return cli_fail(c, err.code, &err);
    cli_note(c, "%s is removed; servers refuse it from now on", c->args[1]);
    return EXIT_DONE;
}

static int token_run(cli_call *c)
{
    static const struct { const char *word; size_t args; int (*run)(cli_call *c); } words[] = {
        { "new", 2, token_new }, { "ls", 1, token_ls }, { "rm", 2, token_rm },
    };
    const char *word = c->nargs > 0 ? c->args[0] : "ls";

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0 && (c->nargs == 0 || c->nargs == words[i].args))
            return words[i].run(c);
    return cli_usage(c, "token new NAME --scope SCOPES, token ls, or token rm NAME");
}

static const cli_option options[] = {
    { "scope", "SCOPES", "with new: read, answer, run, admin, work; several are separated by commas" },
    { "machine", "NAME...", "with new: only runs of this machine" },
    { "label", "LABEL...", "with new: only runs with this label; of several, with all of them" },
    { "mode", "plan|default|acceptEdits|bypassPermissions", "with new: the highest mode that it may give a run; default" },
    { "expires", "DURATION", "with new: for how long it counts: 12h, 30d; without it until it is removed" },
    { "json", NULL, "with ls: one JSON array" },
    { NULL, NULL, NULL },
};

const cli_verb verb_token = {
    .name = "token", .form = "[new|ls|rm [NAME]]", .what = "make tokens for the users of `pawl serve`", .options = options, .most = 2, .store = true,
    .acts = true, .run = token_run,
    .about = "`new NAME` prints a token of 256 random bits, once: only its digest is kept, in\n"
             "~/.config/pawl/tokens.json. It is for the store of this project, and what its\n"
             "owner does is by `token:NAME` in the journal. Scopes: read sees runs; answer\n"
             "answers, approves, denies and sends; run begins, cancels, retries and forks, and\n"
             "sets modes up to --mode; work takes jobs and replies to them, and sees their\n"
             "arguments; admin is the rest. A run that does not fit --machine and --label is\n"
             "not there for it; a child run is seen with its topmost parent.\n"
             "`rm` counts at once, in servers that run, too.\n"
             "\n"
             "ls --json: [{\"created_ms\",\"expires_ms\",\"labels\",\"machines\",\"mode\",\"name\",\n"
             "\"scopes\",\"store\"}].",
    .example = "pawl token new phone --scope read,answer --expires 30d\npawl token new ci --scope run --machine deploy --label team=web\npawl token ls",
};
