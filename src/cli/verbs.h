/* verbs.h - every verb is a row of its own, in the file that does it. */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "cli/cli.h"

extern const cli_verb verb_init, verb_run, verb_chat, verb_resume, verb_retry, verb_cancel, verb_interrupt;
extern const cli_verb verb_answer, verb_approve, verb_deny, verb_send, verb_mode, verb_inbox, verb_policy, verb_budget;
extern const cli_verb verb_rm, verb_ls, verb_show, verb_log, verb_replay, verb_fork, verb_diff;
extern const cli_verb verb_draw, verb_check, verb_sim, verb_worker, verb_tick;
extern const cli_verb verb_export, verb_import, verb_backup, verb_prune;
extern const cli_verb verb_schema, verb_doctor, verb_completions, verb_version, verb_help;

/* ---- help.c ------------------------------------------------------------------------------------ */

typedef struct cli_section { const char *title; const cli_verb *first; } cli_section;  /* it goes up to the next one's first */
extern const cli_section cli_sections[];        /* ends with a title of NULL */
const cli_verb *cli_verb_named(const char *name);               /* NULL: there is none */
void help_all(buf *out);
void help_verb(const cli_verb *v, buf *out);
void help_usage(const cli_verb *v, buf *out);                   /* "pawl ls [--status STATUS] ..." is too long: "pawl ls [OPTION...]" */
int help_unknown(const char *name);                             /* no such verb: says so; EXIT_USAGE */
/* The options of a verb one by one, --store and --help too; NULL after the last. */
const cli_option *cli_option_at(const cli_verb *v, size_t index);

/* ---- record.c ---------------------------------------------------------------------------------- */

/* What the models of a run and of its children have answered, as lines of a record. PAWL_IO: `sink` said no. */
pawl_code record_export(pawl_store *s, const char *run, pawl_sink_fn *sink, void *ctx, pawl_err *err);

/* ---- hold.c ------------------------------------------------------------------------------------ */

/* Take a run for this verb alone. PAWL_HELD: err names who has it; one that is dead has nothing. `head`: its texts are lent until the
 * next call on the handle. */
pawl_code hold_run(pawl_store *s, const char *run, pawl_head *head, pawl_err *err);
void hold_drop(pawl_store *s, const char *run, uint64_t fence);

/* ---- man.c ------------------------------------------------------------------------------------- */

int man_page(void);             /* pawl(1) as scdoc reads it */

#endif
