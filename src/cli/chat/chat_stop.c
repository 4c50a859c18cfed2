/* chat_stop.c - Ctrl-C in a turn of `pawl chat -p`: the turn is interrupted, what was said is kept, and the conversation goes on later (A4).
 *
 * The signal handler sets a flag; the reader's thread, which looks every 50 ms, leaves the interrupt for the run through a store handle of its own, since
 * the engine's is in use. A store without a second handle, in memory, has no such interrupt: there Ctrl-C stops as for every verb. */
#include "cli/chat/chat.h"
#include "cli/run_driver.h"

#include <unistd.h>

static pawl_store *other_handle(const chat *k)
{
    const char *name = k->c->store_name;

    return name != NULL && strncmp(name, "sqlite:", 7) == 0 ? pawl_store_sqlite(name + 7, NULL, NULL) : NULL;
}

void chat_stop_begin(chat *k)
{
    if (k->frames_in || (k->stops = other_handle(k)) == NULL)
        return;                 /* a client interrupts by a frame */
    signals_interrupt_turn();
}

void chat_stop_check(chat *k)
{
    char id[96];
    pawl_delivery d = { .kind = PAWL_DELIVER_SIGNAL, .name = "interrupt", .id = id, .by = caller_name() };

    if (k->stops == NULL || k->stopped || !signals_interrupted())
        return;
    k->stopped = true;
    chat_again_end(k);
    snprintf(id, sizeof id, "chat-stop-%ld-%lld", (long)getpid(), (long long)k->begun_ms);
    if (k->stops->verbs->deliver(k->stops, k->s->run, &d, NULL) != PAWL_OK)
        k->stopped = false;     /* the store is busy: at the next look */
}

void chat_stop_end(chat *k)
{
    pawl_store_free(k->stops);
    k->stops = NULL;
}
