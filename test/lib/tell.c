/* tell.c - see tell.h: runs a plot three times, and compares the journals. */
#include "kernel/state.h"
#include "tell.h"

#include <stdlib.h>
#include <string.h>

typedef enum dying { DYING_NEVER, DYING_ALWAYS, DYING_SNAPPED } dying;
static dying how;

void tell_crash(world *w)
{
    if (how == DYING_SNAPPED && w->st->nmarks == 0)
        world_snapshot(w);
    if (how != DYING_NEVER)
        world_crash(w);
}

void tell_event(world *w, const pawl_event *ev)
{
    if (world_feed(w, ev) < 0 || w->rc == PAWL_IGNORED)
        CHECK_FAIL("%s: %s %s", pawl_event_kind_name(ev->kind), pawl_code_name(w->rc), w->err.text);
    tell_crash(w);
    while (pawl_state_next(w->st) == PAWL_OK) {
        if (world_tick(w) < 0)
            CHECK_FAIL("a tick: %s", w->err.text);
        tell_crash(w);
    }
}

void tell_receipt(world *w, const char *id, const char *value)
{
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = value });
}

void tell_answer(world *w, const char *wait, const char *value)
{
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = wait, .value = value });
}

/* From its base, so that the first entries may be crashed after too. */
static void begin(world *w, pawl_machine *m, const char *input)
{
    world_begin(w, m, input);
    world_back(w, 0);
    buf_reset(&w->trace);
    w->now = 1000;
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_START, .value = input });
}

void tell_begin(world *w, pawl_machine *m, const char *input)
{
    how = DYING_NEVER;
    begin(w, m, input);
}

void tell(make_fn *make, const char *input, plot_fn *plot)
{
    char *whole = NULL;

    for (int i = DYING_NEVER; i <= DYING_SNAPPED; i++) {
        world w;

        how = (dying)i;
        begin(&w, make(), input);
        plot(&w);
        if (whole == NULL)
            whole = strdup(journal_of(&w));
        CHECK_STR(journal_of(&w), whole);
        world_end(&w);
    }
    how = DYING_NEVER;
    free(whole);
}
