/* backup.c - `pawl backup`: copies the whole store to a new file while it is in use.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "cli/verbs.h"

static int backup_run(cli_call *c)
{
    pawl_err err = { PAWL_OK, "" };
    int code = EXIT_FAILED;
    pawl_store *s = cli_store_of(c, NULL, NULL, &code);
    pawl_code rc;

    if (s == NULL)
        return code;
    rc = s->verbs->backup(s, c->args[0], &err);
    pawl_store_free(s);
    if (rc == PAWL_OK)
        cli_note(c, "%s is copied to %s", cli_store_name(c), c->args[0]);
    return rc == PAWL_OK ? EXIT_DONE : cli_fail(c, rc, &err);
}

const cli_verb verb_backup = {
    .name = "backup", .form = "PATH", .what = "copy the store to a new file, while it is in use", .least = 1, .most = 1, .store = true,
    .run = backup_run,
    .about = "The copy is a consistent store: `--store sqlite:PATH` opens it, and it can\n"
             "replace a lost one. What happened after the copy may then happen again, as after\n"
             "a crash.",
    .example = "pawl backup \"pawl-$(date +%F).db\"\npawl ls --store sqlite:pawl-2026-11-21.db",
};
