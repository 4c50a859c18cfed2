/* format.h - pieces of lines for people, shared by the view, the log and the questions. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include "cli/cli.h"

enum { COLUMNS_ANY = 1 << 20, ELAPSED_BYTES = 32 };     /* COLUMNS_ANY: as long as it is */

/* Somebody's text: clean, in one line, at most `columns` wide, cut with "...". */
void words_fit(buf *out, const char *text, size_t size, size_t columns);
void words_elapsed(char out[ELAPSED_BYTES], int64_t ms);        /* "0.2 s", "12 s", "3 min 5 s", "2 h 7 min" */
/* A task's path without what only Pawl counts: "desk/1/1/check:3" is "desk/check:3"; `numbered` false: "desk/check". */
void words_task(buf *out, const char *path, bool numbered);
bool words_choice(const char *path);    /* a node that evaluates where another one leads: the view leaves it out */
bool words_own(const char *name);       /* of Pawl itself: a channel, or the last name of a path; never shown */
/* What a prompt says: a string itself, the `text` of an object, else JSON. */
void words_prompt(buf *out, const pawl_value *prompt);
/* What an option of a question says: "Red (r)" of {"label":"Red","value":"r"}; else as a prompt. `whole`: and its "description". */
void words_option(buf *out, const pawl_value *option, bool whole);
/* What a command is: "run wc -l a.c", "http GET https://...", "llm". */
void words_command(buf *out, const pawl_value *spec);
/* "sum had begun, and its outcome is unknown (the line went dead)": of a command that was cut off (E5), named by its node, else by its effect;
 * `prompt`: of the wait that asks for it. */
void words_unknown(buf *out, const char *node, const pawl_value *prompt);
/* What failed, of {"code","text",...}. */
void words_failure(buf *out, const pawl_value *failure);
/* What values fit, in words: "a whole number from 1 to 10"; nothing when there is little to say. */
void words_schema(buf *out, const pawl_value *schema);

/* What the input of a tool call says, short: its command, its file; else all of it. */
void words_input(buf *out, const pawl_value *input);
/* The call that an approval is about, one line: "Bash: git push"; nothing, where there is none. */
void words_about(buf *out, const pawl_value *about, const char *indent, size_t columns);
/* What an agent asks its user, a line each question and each answer that it offers; nothing, where it asks nothing. */
void words_questions(buf *out, const pawl_value *about, const char *indent, size_t columns);

#endif
