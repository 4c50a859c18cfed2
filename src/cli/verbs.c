/* verbs.c - the rows of all verbs, in the order of the help.
 *
 * Read by main.c, the help and the completions; constant. */
#include "cli/verbs.h"

static const cli_verb *const verbs[] = {
    &verb_init, &verb_run, &verb_chat, &verb_resume, &verb_retry, &verb_interrupt, &verb_cancel,
    &verb_answer, &verb_approve, &verb_deny, &verb_send, &verb_mode, &verb_inbox, &verb_notify, &verb_policy, &verb_budget, &verb_key,
    &verb_ls, &verb_watch, &verb_show, &verb_log, &verb_replay, &verb_verify, &verb_fork, &verb_diff,
    &verb_draw, &verb_check, &verb_sim, &verb_worker, &verb_tick, &verb_serve, &verb_token,
    &verb_export, &verb_import, &verb_backup, &verb_store, &verb_rm, &verb_prune,
    &verb_schema, &verb_doctor, &verb_completions, &verb_version, &verb_help,
    NULL,
};

static const cli_section sections[] = {
    { "Start, continue and stop runs", &verb_init },
    { "Answers and messages", &verb_answer },
    { "Inspect runs", &verb_ls },
    { "Agent files and workers", &verb_draw },
    { "Stores", &verb_export },
    { "Pawl", &verb_schema },
    { NULL, NULL },
};

const cli_program cli_program_pawl = { verbs, sections, &verb_chat };
