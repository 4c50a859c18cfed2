/* mode.c - `pawl mode`: sets what the nodes of a run may do without approval (P1).
 *
 * Called by main.c on the main thread. Owns its session, which it frees; it drives no run. */
#include "app/settings.h"
#include "cli/run_driver.h"
#include "cli/verbs.h"

static int mode_run(cli_call *c)
{
    char json[64];
    pawl_event ev = { .kind = PAWL_EV_UPDATE, .by = cli_by(c), .value = json };
    pawl_err err = {0};
    pawl_code rc;
    session *s;
    int code = EXIT_DONE;

    if (pawl_mode_named(c->args[1]) == PAWL_MODE_NONE)
        return cli_usage(c, "a mode is plan, default, acceptEdits or bypassPermissions, and not \"%s\"", c->args[1]);
    if (!mode_within(c, pawl_mode_named(c->args[1]), &code))
        return code;
    if ((s = session_of_run(c, c->args[0], &code)) == NULL)
        return code;
    snprintf(json, sizeof json, "{\"@mode\":\"%s\"}", c->args[1]);
    if (s->file == NULL) {
        fail(&err, PAWL_INVALID, "%s: a plug-in that is the whole agent has no mode", s->run);
        code = cli_fail(c, PAWL_INVALID, &err);
    } else if (pawl_mode_named(c->args[1]) == PAWL_MODE_BYPASS && (rc = settings_bypass(&s->mem, s->file, s->folder, NULL, &err)) != PAWL_OK) {
        code = cli_fail(c, rc, &err);
    } else if (!delivered_before(s, s->run) && (code = event_allowed(s, PAWL_EV_UPDATE)) != EXIT_DONE) {
        ;                       /* said */
    } else if ((rc = session_deliver_once(s, s->run, &ev, &err)) != PAWL_OK) {
        code = cli_fail(c, rc, &err);
    } else {
        cli_note(c, "%s: %s from its next step on", s->run, c->args[1]);
        code = left_print(s, s->run);
    }
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "json", NULL, "that it is stored, as JSON" },
    { NULL, NULL, NULL },
};

const cli_verb verb_mode = {
    .name = "mode", .form = "RUN MODE", .what = "set what a run may do without approval", .options = options, .least = 2, .most = 2, .store = true,
    .acts = true, .run = mode_run,
    .about = "`plan`: no node may act; commands and requests that write are denied. `default`:\n"
             "nodes that require more need approval. `acceptEdits`: nodes that require it run.\n"
             "`bypassPermissions`: all nodes run, except for deny and ask rules; it is not\n"
             "kept when a run is resumed, and must be given again.\n"
             "\n"
             "The mode applies from the run's next step on. This verb does not drive the run.",
    .example = "pawl mode @ plan\npawl mode deploy-3fza acceptEdits",
};
