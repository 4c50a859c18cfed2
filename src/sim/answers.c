/* answers.c - what a person answers to a wait.
 *
 * Owns nothing. Called by the client, which answers, and by the oracle, which must know whether anybody will; on the thread of pawl_sim. */
#include "sim/sim.h"

const char *answer_to(world *w, const pawl_wait *wait, buf *room)
{
    const char *text = wait->kind == PAWL_WAIT_SIGNAL || w->setup->answer == NULL ? NULL : w->setup->answer(w->setup->ctx, wait);

    buf_reset(room);
    if (wait->kind == PAWL_WAIT_SIGNAL || (text != NULL && *text == '\0'))
        return NULL;
    if (text == NULL && (wait->kind == PAWL_WAIT_INPUT || (wait->expires_ms > 0 && wait->otherwise != NULL)))
        return NULL;
    if (text != NULL)
        buf_text(room, text);
    else if (pawl_value_at(wait->options, 0) != NULL)
        canon(room, value_option(pawl_value_at(wait->options, 0)));
    else
        schema_value(room, wait->schema, NULL);
    buf_char(room, '\0');
    if (room->failed)
        sim_nomem(w);
    return room->failed ? NULL : room->data;
}
