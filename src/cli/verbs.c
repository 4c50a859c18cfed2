/* verbs.c - the verbs in the order of the help, and those that are not there yet. */
#include "cli/verbs.h"

static const cli_verb verb_serve = {
    .name = "serve", .form = "FILE...", .what = "serve machines over HTTP", .most = UINT8_MAX, .store = true,
    .example = "pawl worker survey.yaml         # drives whatever is due, without HTTP",
    .later = "serving over HTTP is not in this version; `pawl worker FILE...` drives what others begin, and the library can be embedded",
};
static const cli_verb verb_chat = {
    .name = "chat", .form = "[FILE]", .what = "talk to an agent", .most = 1, .store = true,
    .example = "pawl run survey.yaml            # asks at a wait, and goes on",
    .later = "agents with a model and tools are not in this version; `pawl run FILE` asks at a wait, and goes on",
};

const cli_verb *const cli_verbs[] = {
    &verb_init, &verb_run, &verb_resume, &verb_retry, &verb_cancel,
    &verb_answer, &verb_approve, &verb_deny, &verb_send, &verb_mode, &verb_inbox, &verb_policy, &verb_budget,
    &verb_rm, &verb_ls, &verb_show, &verb_log, &verb_replay, &verb_fork, &verb_diff,
    &verb_draw, &verb_check, &verb_sim, &verb_worker, &verb_tick,
    &verb_export, &verb_import, &verb_backup, &verb_prune,
    &verb_schema, &verb_doctor, &verb_completions, &verb_version, &verb_help,
    &verb_interrupt, &verb_serve, &verb_chat,
    NULL,
};

const cli_section cli_sections[] = {
    { "Begin a run, go on, stop", &verb_init },
    { "Answer it, tell it something", &verb_answer },
    { "Runs of a store", &verb_rm },
    { "Machines", &verb_draw },
    { "Stores", &verb_export },
    { "Pawl itself", &verb_schema },
    { "Not there yet", &verb_interrupt },
    { NULL, NULL },
};
