/* begin.c - the one function that begins runs: mode, rules, hooks, budget and retention are those of the file and of the settings (P1, P2, A8, G10).
 *
 * Called by every verb that begins a run (run, tick, chat), on its own thread. */
#include "app/settings.h"
#include "app/ways.h"

static pawl_code plugin_settle(session *s, beginning *b, pawl_err *err)
{
    buf label;

    buf_init(&label, NULL);
    buf_fmt(&label, "plugin=%s", s->path);      /* a later process finds the plug-in by this label */
    b->info.labels[0] = label.failed ? NULL : arena_strdup(&s->mem, label.data, label.size);
    buf_free(&label);
    return b->info.labels[0] != NULL ? PAWL_OK : fail(err, PAWL_NOMEM, "no memory for a label");
}

pawl_code session_settle(session *s, beginning *b, pawl_err *err)
{
    const bool decides = b->mode == PAWL_MODE_NONE || b->mode == PAWL_MODE_BYPASS || session_has(s, "@policy");
    const struct claude_files *found;

    err->code = PAWL_OK;
    found = decides ? settings_claude(s->caller, &s->mem, s->file, s->folder, err) : NULL;
    if (err->code != PAWL_OK)
        return err->code;
    if (s->file == NULL && plugin_settle(s, b, err) != PAWL_OK)
        return err->code;
    if (b->mode == PAWL_MODE_NONE)
        b->mode = settings_mode(s->caller, &s->mem, s->file, s->folder, session_is_agent(s) ? s->of->agent->mode : PAWL_MODE_NONE, found, err);
    else if (b->mode == PAWL_MODE_BYPASS && settings_bypass(&s->mem, s->file, s->folder, found, err) != PAWL_OK)
        return err->code;
    if (b->mode == PAWL_MODE_NONE && s->file != NULL)
        b->mode = PAWL_MODE_DEFAULT;
    if (err->code == PAWL_OK && session_has(s, "@policy"))
        s->policy = settings_policy(s->caller, &s->mem, s->file, s->folder, found, err);
    if (err->code == PAWL_OK && given_add(s, &s->mem, NULL, &s->policy, err) != PAWL_OK)
        return err->code;
    if (session_is_agent(s) && session_instructions_look(s, found, err) != PAWL_OK)
        return err->code;
    if (s->file != NULL) {
        b->info.retention = s->file->retention;
        b->info.budget = s->file->caps;
    }
    b->info.mode = b->mode != PAWL_MODE_NONE ? pawl_mode_name(b->mode) : NULL;
    b->settled = err->code == PAWL_OK;
    return err->code;
}

pawl_code session_begin(session *s, beginning *b, pawl_err *err)
{
    pawl_code rc = b->settled ? PAWL_OK : session_settle(s, b, err);
    buf text;

    buf_init(&text, NULL);
    if (rc == PAWL_OK && !session_input(s, b->input, b->mode, &text, err))
        rc = err->code < 0 ? err->code : PAWL_NOMEM;
    buf_char(&text, '\0');
    if (rc == PAWL_OK && text.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its input", b->info.id);
    if (rc == PAWL_OK)
        rc = b->only ? pawl_begin_with(s->engine, &b->info, text.data, err) : pawl_run_with(s->engine, &b->info, text.data, err);
    buf_free(&text);
    return rc;
}
