/* key.c - `pawl key`: the keys with which approvers sign (P11), own ones and those that this person trusts.
 *
 * Called by main.c on the main thread; the files are those of src/app/signers.c. */
#include "app/signers.h"
#include "cli/run_driver.h"
#include "cli/verbs.h"

/* The name of the user, without what a name of a key cannot have. */
static const char *name_default(cli_call *c)
{
    char *name = arena_strdup(&c->mem, caller_name(), strlen(caller_name())), *to = name;

    for (const char *at = name; at != NULL && *at != '\0'; at++)
        if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') || (to > name && strchr("._-", *at) != NULL))
            *to++ = *at;
    if (to != NULL)
        *to = '\0';
    return name == NULL || *name == '\0' ? "me" : name;
}

static int key_new(cli_call *c)
{
    pawl_err err = { PAWL_OK, "" };
    own_key k;
    bool put;
    buf out;

    if (signers_new(&c->mem, c->nargs > 1 ? c->args[1] : name_default(c), &k, &err) != PAWL_OK)
        return cli_fail(c, err.code, &err);
    buf_init(&out, NULL);
    buf_fmt(&out, "%s %s\n", k.name, k.key);
    put = cli_put(c, &out);
    buf_free(&out);
    return put ? EXIT_DONE : EXIT_FAILED;
}

/* ---- list ------------------------------------------------------------------------------------------------- */

static const pawl_value *row(cli_call *c, const char *name, const char *key, const char *what)
{
    char fingerprint[PAWL_FINGERPRINT_ROOM];

    if (!pawl_key_fingerprint(key, fingerprint))
        fingerprint[0] = '\0';
    return value_pack(&c->mem, NULL, "{s:s,s:s,s:s,s:s}", "fingerprint", fingerprint, "is", what, "key", key, "name", name);
}

/* *code: EXIT_FAILED where the file of an own key cannot be used, which is said. */
static const pawl_value *rows(cli_call *c, int *code, pawl_err *err)
{
    const pawl_value *out = value_pack(&c->mem, NULL, "[]"), *known = signers_known(&c->mem, err), *one, *key;
    own_key *own;
    size_t n = 0;
    pawl_iter it;

    if (known == NULL || signers_own(&c->mem, &own, &n, err) != PAWL_OK)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (own[i].why == NULL)
            out = value_push(&c->mem, out, row(c, own[i].name, own[i].key, "own"));
    for (size_t i = 0; i < n; i++)
        if (own[i].why != NULL) {
            cli_note(c, "%s", own[i].why);
            *code = EXIT_FAILED;
        }
    it = pawl_iter_of(pawl_value_get(known, "trusted"));
    while ((one = pawl_iter_next(&it, &key)) != NULL)
        out = value_push(&c->mem, out, row(c, pawl_value_string(key), pawl_value_string(one), "trusted"));
    it = pawl_iter_of(pawl_value_get(known, "distrusted"));
    while ((one = pawl_iter_next(&it, &key)) != NULL)
        out = value_push(&c->mem, out, row(c, pawl_value_string(one), pawl_value_string(key), "distrusted"));
    if (out == NULL)
        fail(err, PAWL_NOMEM, "no memory for the keys");
    return out;
}

static int key_list(cli_call *c)
{
    pawl_err err = { PAWL_OK, "" };
    int code = EXIT_DONE;
    const pawl_value *all = rows(c, &code, &err), *one;
    pawl_iter it = pawl_iter_of(all);
    bool put;
    buf out;

    if (all == NULL)
        return cli_fail(c, err.code, &err);
    if (c->json)
        return cli_json(c, all) ? code : EXIT_FAILED;
    buf_init(&out, NULL);
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        cli_cell(&out, pawl_value_string(pawl_value_get(one, "name")), 20);
        cli_cell(&out, pawl_value_string(pawl_value_get(one, "is")), 12);
        buf_fmt(&out, "%s  %s\n", pawl_value_string(pawl_value_get(one, "fingerprint")), pawl_value_string(pawl_value_get(one, "key")));
    }
    if (out.size == 0 && code == EXIT_DONE)
        cli_note(c, "there are no keys: pawl key new makes one, pawl key trust NAME ed25519:BASE64 takes that of another person");
    put = cli_put(c, &out);
    buf_free(&out);
    return put ? code : EXIT_FAILED;
}

/* ---- trust ------------------------------------------------------------------------------------------------ */

static int key_trust(cli_call *c)
{
    char fingerprint[PAWL_FINGERPRINT_ROOM];
    pawl_err err = { PAWL_OK, "" };

    if (signers_trust(&c->mem, c->args[1], c->args[2], &err) != PAWL_OK)
        return cli_fail(c, err.code, &err);
    (void)pawl_key_fingerprint(c->args[2], fingerprint);
    cli_note(c, "%s is trusted as an approver, fingerprint %s: compare it with what `pawl key list` of %s prints", c->args[1], fingerprint, c->args[1]);
    return EXIT_DONE;
}

static int key_distrust(cli_call *c)
{
    pawl_err err = { PAWL_OK, "" };

    if (signers_distrust(&c->mem, c->args[1], &err) != PAWL_OK)
        return cli_fail(c, err.code, &err);
    cli_note(c, "%s is distrusted: signatures of its key do not count on this machine, also in runs that name it", c->args[1]);
    return EXIT_DONE;
}

static int key_run(cli_call *c)
{
    static const struct { const char *word; size_t least, most; int (*run)(cli_call *c); } words[] = {
        { "new", 1, 2, key_new }, { "list", 1, 1, key_list }, { "trust", 3, 3, key_trust }, { "distrust", 2, 2, key_distrust },
    };
    const char *word = c->nargs > 0 ? c->args[0] : "list";

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0 && (c->nargs == 0 || (c->nargs >= words[i].least && c->nargs <= words[i].most)))
            return words[i].run(c);
    return cli_usage(c, "key new [NAME], key list, key trust NAME KEY, or key distrust NAME");
}

static const cli_option options[] = {
    { "json", NULL, "with list: one JSON array" },
    { NULL, NULL, NULL },
};

const cli_verb verb_key = {
    .name = "key", .form = "[new|list|trust|distrust [NAME [KEY]]]", .what = "make and trust the keys of approvers", .options = options, .most = 3,
    .acts = true, .run = key_run,
    .about = "A gate with `approvers:` takes only answers that are signed with their keys.\n"
             "`new [NAME]` makes a key of your own, in ~/.config/pawl/keys, and prints its\n"
             "public line `NAME ed25519:BASE64`; NAME is your user name if it is not given.\n"
             "`list`, the default: your own keys, those that you trust, and those that you\n"
             "distrust. `trust NAME KEY`: files may name this approver; your own keys need no\n"
             "trust. `distrust NAME`: signatures of this key do not count on this machine,\n"
             "neither at an answer nor before a command; a key instead of a NAME distrusts\n"
             "one that only a file names.",
    .example = "pawl key new alice\npawl key trust bob ed25519:mbtdbvOwR4ryImSjZVUPzMz8uFBNPVfbKzY8aLQsRGk=\npawl key list",
};
