/* status_word.h - the word for the status of a run: its name, or "idle" of an agent that waits for its next message. */
#ifndef CLI_STATUS_WORD_H
#define CLI_STATUS_WORD_H

#include "pawl/kernel.h"
#include "pawl/store.h"

bool run_is_idle(pawl_store *store, const pawl_head *h);        /* may read the state: not within a callback of the store */
const char *run_word(pawl_store *store, const pawl_head *h);    /* the same */
const char *state_word(pawl_state *st);

#endif
