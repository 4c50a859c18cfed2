/* format.h - pieces of lines for people, shared by the view, the log and the questions.
 *
 * All functions append to a buf; any thread. */
#ifndef CLI_FORMAT_H
#define CLI_FORMAT_H

#include "cli/cli.h"

enum { COLUMNS_ANY = 1 << 20, ELAPSED_BYTES = 32 };     /* COLUMNS_ANY: as long as it is */

/* A text from outside: cleaned, in one line, at most `columns` wide, cut with "...". */
void words_fit(buf *out, const char *text, size_t size, size_t columns);
void words_elapsed(char out[ELAPSED_BYTES], int64_t ms);        /* "0.2 s", "12 s", "3 min 5 s", "2 h 7 min" */
/* A task's path without Pawl's counters: "desk/1/1/check:3" becomes "desk/check:3"; `numbered` false: "desk/check". */
void words_task(buf *out, const char *path, bool numbered);
bool words_choice(const char *path);    /* a node `NAME--next` that evaluates a route: not shown */
bool words_own(const char *name);       /* Pawl's own channel or node: never shown */
/* The text of a prompt: a string itself, the `text` of an object, else JSON. */
void words_prompt(buf *out, const pawl_value *prompt);
/* The text of a prompt in current words: journals have the words of the policy, which never change. */
void words_asked(buf *out, const char *text);
/* The text of an option: "Red (r)" for {"label":"Red","value":"r"}; else like a prompt. `whole`: with its "description". */
void words_option(buf *out, const pawl_value *option, bool whole);
/* A command in short: "run wc -l a.c", "http GET https://...", "llm". */
void words_command(buf *out, const pawl_value *spec);
/* "sum had begun, and its outcome is unknown (the line went dead)": for a command that was cut off (E5), named by its node, else by its effect.
 * `prompt`: of the wait that asks for the outcome. */
void words_unknown(buf *out, const char *node, const pawl_value *prompt);
void words_lines(buf *out, const char *text, const char *indent);      /* each line of `text` (NULL: none) after the indent and "| " */
/* The reason of a failure, from {"code","text",...}. */
void words_failure(buf *out, const pawl_value *failure);
/* The failure of a request to a model that is made again, in short: "model busy (529)". `said`: what the agent emitted about it. */
void words_busy(buf *out, const pawl_value *said);
void words_retry(buf *out, const pawl_value *said);    /* "in 2.9 s: model busy (529), attempt 2 of 3"; nothing if it is about something else */
/* "in 12 s, attempt 3 of 10: LLM error: ..."; nothing if no request is made again. `whole` false: without the reason. */
const pawl_value *again_json(arena *mem, const pawl_agent_view *v);     /* {"at_ms","attempt","error","max_attempts"} */
void words_again(buf *out, const pawl_agent_view *v, int64_t now_ms, bool whole);
/* The values that a schema accepts: "a whole number from 1 to 10"; nothing if there is little to say. */
void words_schema(buf *out, const pawl_value *schema);

/* The input of a tool call in short: its command or its file; else all of it. */
void words_input(buf *out, const pawl_value *input);
/* What a fan-out gave to a task: the value, without its name where there is only one. */
void words_element(buf *out, const pawl_value *element);
/* "process PID on HOST" for the name of an engine in a lease; a name of another form as it is. */
void words_owner(buf *out, const char *owner);
/* call_shown.c: the whole call that an approval is about: "Bash: git push", and below it what else belongs to it; nothing if there is none. */
/* Who has to sign, and who has signed: a line with this indent. Nothing without approvers. `signed_by` as of pawl_wait. */
void words_signers(buf *out, const pawl_value *approvers, const pawl_value *signed_by, const char *indent);
/* A signed answer, whole or of one approver: "yes, signed by alice and bob". False: it is none, and nothing is appended. */
bool words_signed(buf *out, const pawl_value *value);
void words_about(buf *out, const pawl_value *about, const char *indent);
/* The questions of an agent, one a line, with the answers that it offers; nothing if there are none. */
void words_questions(buf *out, const pawl_value *about, const char *indent, size_t columns);

#endif
