/* verbs.h - the row of each verb, which is in the verb's own file. */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "cli/cli.h"

extern const cli_verb verb_init, verb_run, verb_chat, verb_resume, verb_retry, verb_cancel, verb_interrupt;
extern const cli_verb verb_answer, verb_approve, verb_deny, verb_send, verb_mode, verb_inbox, verb_notify, verb_policy, verb_budget, verb_key;
extern const cli_verb verb_ls, verb_watch, verb_show, verb_log, verb_replay, verb_verify, verb_fork, verb_diff;
extern const cli_verb verb_draw, verb_check, verb_sim, verb_worker, verb_tick, verb_serve, verb_token;
extern const cli_verb verb_export, verb_import, verb_backup, verb_store, verb_rm, verb_prune;
extern const cli_verb verb_schema, verb_doctor, verb_completions, verb_version, verb_help;

extern const cli_program cli_program_pawl;      /* verbs.c: all of them */

/* ---- usage.c: how a verb is used, from its row --------------------------------------------------- */

const cli_verb *cli_verb_named(const cli_program *p, const char *name);        /* NULL: there is none */
void help_verb(const cli_verb *v, buf *out);
void help_usage(const cli_verb *v, buf *out);                   /* if "pawl ls [--status STATUS] ..." is too long: "pawl ls [OPTION...]" */
void help_term(buf *out, const char *name, const char *what);   /* a row of two columns */
int help_unknown(const cli_program *p, const char *name);       /* prints that there is no such verb; EXIT_USAGE */
/* The options of a verb one by one, --store and --help too; NULL after the last. */
void usage_missing(const cli_verb *v, size_t n, buf *out);     /* argument `n` is missing, from 0: what it is, and an example; a text with its NUL */
void usage_value(const cli_verb *v, const cli_option *o, buf *out);    /* the same of the value of an option */
const cli_option *cli_option_at(const cli_verb *v, size_t index);

/* ---- run_lock.c ------------------------------------------------------------------------------------ */

/* Take the lease of a run for this verb. PAWL_HELD: err names the holder; a dead holder has no lease. `head`: its texts are lent until the next call on
 * the handle. */
pawl_code hold_run(pawl_store *s, const char *run, pawl_head *head, pawl_err *err);
void hold_drop(pawl_store *s, const char *run, uint64_t fence);

/* ---- man.c ------------------------------------------------------------------------------------- */

int man_page(const cli_program *p);     /* prints pawl(1) as scdoc source */
int api_page(void);                     /* api.c: prints docs/API.md */

#endif
