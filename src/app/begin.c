/* begin.c - the settings with which a new run of a file starts besides its input: mode, policy, budget, retention.
 *
 * Called by every verb that starts a run (run, tick, chat), on its own thread, before session_input. */
#include "app/session.h"
#include "app/settings.h"

pawl_code session_begin_settings(session *s, pawl_mode *mode, pawl_run_info *info, pawl_err *err)
{
    buf label;

    err->code = PAWL_OK;
    if (s->file == NULL) {
        buf_init(&label, NULL);
        buf_fmt(&label, "plugin=%s", s->path);      /* a later process finds the plug-in by this label */
        info->labels[0] = label.failed ? NULL : arena_strdup(&s->mem, label.data, label.size);
        buf_free(&label);
        return info->labels[0] != NULL ? PAWL_OK : fail(err, PAWL_NOMEM, "no memory for a label");
    }
    if (*mode == PAWL_MODE_NONE)
        *mode = settings_mode(&s->mem, s->folder, err);
    if (*mode == PAWL_MODE_NONE && session_is_agent(s))
        *mode = s->of->agent->mode;
    if (err->code == PAWL_OK)
        s->policy = settings_policy(s->caller, &s->mem, s->file, s->folder, err);
    info->retention = s->file->retention;
    info->budget = s->file->caps;
    info->mode = *mode != PAWL_MODE_NONE ? pawl_mode_name(*mode) : NULL;
    return err->code;
}
