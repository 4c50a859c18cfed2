/* transcript.h - the conversation of a run as a file in the manner of Claude Code, for its hooks (P14). */
#ifndef APP_TRANSCRIPT_H
#define APP_TRANSCRIPT_H

#include "json/json.h"
#include "pawl/engine.h"

enum { TRANSCRIPT_PATH_BYTES = 4400 };

typedef struct transcript transcript;

/* What a tool of this name is called there; NULL: the same. */
typedef const char *transcript_name_fn(void *ctx, const char *tool);

/* Of the runs that one engine drives. NULL: no memory. */
transcript *transcript_new(transcript_name_fn *name, void *ctx);
void transcript_free(transcript *t);
/* As pawl_watch_fn: adds the messages that are new, if the run has hooks in the manner of Claude Code. What cannot be written is left: a hook may fail,
 * a run does not. */
void transcript_told(transcript *t, const pawl_state *st, const pawl_entry *entry);

/* Its path, whether or not it is there; by the environment and the run alone. False: there is no place for it. Any thread. */
bool transcript_path(const char *run, char out[TRANSCRIPT_PATH_BYTES]);
void transcript_forget(const char *run);        /* the run is removed */

#endif
