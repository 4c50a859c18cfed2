/* signals.c - Ctrl-C and SIGTERM: the first one drains the engine, the second one stops it at once. In a chat a Ctrl-C before them interrupts the turn.
 *
 * signals_catch() is called by run_driver.c on the main thread. The handler runs on any thread: it sets flags of its own and makes the two calls of the
 * engine that a handler may make. Whatever the moment, nothing that is stored is lost. */
#include "cli/run_driver.h"
#include "cli/ui/view.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static pawl_engine *volatile driving;
static volatile sig_atomic_t caught, times;
static volatile sig_atomic_t turn, interrupts;  /* a Ctrl-C interrupts the turn; one has come */
static struct sigaction before_int, before_term;

static void on_signal(int sig)
{
    static const char drains[] = "\nstopping: running commands end first; Ctrl-C again stops at once\n";
    static const char ends[] = "\ninterrupting the turn: what was said is kept; Ctrl-C again stops\n";
    int kept = errno;

    if (turn && sig == SIGINT && interrupts == 0) {
        interrupts = 1;
        (void)!write(STDERR_FILENO, ends, sizeof ends - 1);
        errno = kept;
        return;
    }
    caught = sig;
    times++;
    if (driving != NULL && times == 1) {
        pawl_engine_drain(driving);
        if (!view_stopping() && sig == SIGINT)
            (void)!write(STDERR_FILENO, drains, sizeof drains - 1);
    } else if (driving != NULL) {
        pawl_engine_abandon(driving);
    }
    errno = kept;
}

void signals_catch(pawl_engine *e)
{
    struct sigaction act = { .sa_handler = on_signal };

    if (e != NULL && driving == NULL) {
        sigemptyset(&act.sa_mask);
        driving = e;
        sigaction(SIGINT, &act, &before_int);
        sigaction(SIGTERM, &act, &before_term);
    } else if (e == NULL && driving != NULL) {
        sigaction(SIGINT, &before_int, NULL);
        sigaction(SIGTERM, &before_term, NULL);
        driving = NULL;
    }
}

void signals_interrupt_turn(void) { turn = 1; }
bool signals_interrupted(void) { return interrupts != 0; }

int signals_stopped(void)
{
    return caught == 0 ? 0 : 128 + (int)caught;
}
