/* status_word.c - the word for the status of a run: an agent that waits for its next message is idle, though its status is input-required.
 *
 * Called by verbs, on the main thread. Owns nothing. The head of a run does not say what it waits for, so the state of a run with one wait is read. */
#include "cli/status_word.h"
#include "history/current_state.h"
#include "pawl/agent.h"

bool run_is_idle(pawl_store *store, const pawl_head *h)
{
    current_state now;
    pawl_err err = {0};
    bool is = false;

    if ((pawl_status)h->status != PAWL_STATUS_INPUT_REQUIRED || h->waits != 1 || h->parked != NULL)
        return false;
    if (current_state_load(&now, store, h->run, &err) == PAWL_OK)
        is = pawl_agent_idle(now.st);
    current_state_free(&now);
    return is;
}

const char *run_word(pawl_store *store, const pawl_head *h)
{
    return run_is_idle(store, h) ? "idle" : pawl_status_name((pawl_status)h->status);
}

const char *state_word(pawl_state *st)
{
    return pawl_agent_idle(st) ? "idle" : pawl_status_name(pawl_state_status(st));
}
