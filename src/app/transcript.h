/* transcript.h - the conversation of a run as a file in the manner of Claude Code, for its hooks (P14). */
#ifndef APP_TRANSCRIPT_H
#define APP_TRANSCRIPT_H

#include "app/app.h"
#include "pawl/engine.h"

enum { TRANSCRIPT_PATH_BYTES = 4400 };

typedef struct transcript transcript;

/* What a tool of this name is called there; NULL: the same. */
typedef const char *transcript_name_fn(void *ctx, const char *tool);

/* Of the runs that one engine drives in `store` (lent; as in app_caller). NULL: no memory. */
transcript *transcript_new(const char *store, transcript_name_fn *name, void *ctx);
void transcript_free(transcript *t);
/* As pawl_watch_fn: adds the messages that are new, if the run has hooks in the manner of Claude Code. What cannot be written is left: a hook may fail,
 * a run does not. */
void transcript_entry(transcript *t, const pawl_state *st, const pawl_entry *entry);

/* Its path, whether or not it is there; by the environment, the store and the run alone. False: there is no place for it. Any thread. */
bool transcript_path(const char *store, const char *run, char out[TRANSCRIPT_PATH_BYTES]);
void transcript_forget(const char *store, const char *run);     /* the run is removed */
/* Removes those of runs that are not in the store any more, by `there`. */
void transcript_sweep(const char *store, bool (*there)(void *ctx, const char *run), void *ctx);

#endif
