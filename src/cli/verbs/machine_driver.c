/* machine_driver.c - the thread that drives the runs of one machine for a worker.
 *
 * Owns one session with its engine. Made, started, joined and closed by the worker's main thread (worker.c); between start and join the engine
 * belongs to the thread that is started here. The state is changed under the lock of the board.
 * Invariants: a thread exists exactly in the states working, backing-off and returned; failures > 0 in backing-off. */
#include "app/ways.h"
#include "base/sm.h"
#include "cli/prove.h"
#include "cli/run_driver.h"
#include "cli/ui/format.h"
#include "cli/verbs/machine_driver.h"
#include "engine/engine.h"
#include "engine/scheduler/scheduler.h"

#include <stdlib.h>
#include <time.h>

enum {
    LINGER_MS = 5000,           /* a thread waits so long for more runs of its machine: waking it takes milliseconds */
    BACK_OFF_MS = 200, BACK_OFF_MAX_MS = 10000,
    ONCE_TRIES_MAX = 6,         /* of `worker --once`: about seven seconds */
    GIVE_UP_MS = 30000,         /* as long as a lease: after that another worker may have its runs */
    NODE_COLUMNS = 60,
    SLICE_MS = 50               /* a stop is noticed after at most so long while it backs off */
};

static const char *driver_wrong(const void *owner, unsigned state)
{
    const driver *d = owner;

    if (state == DRIVER_BACKING_OFF && d->failures == 0)
        return "it backs off without an error";
    return state != DRIVER_CLOSED && d->s == NULL ? "its session is gone" : NULL;
}

static const sm_row driver_rows[] = {
    [DRIVER_IDLE] = { "idle", SM_TO(DRIVER_WORKING) | SM_TO(DRIVER_CLOSED), SM_FIRST },
    [DRIVER_WORKING] = { "working", SM_TO(DRIVER_BACKING_OFF) | SM_TO(DRIVER_RETURNED) | SM_TO(DRIVER_IDLE), 0 },
    [DRIVER_BACKING_OFF] = { "backing-off", SM_TO(DRIVER_WORKING) | SM_TO(DRIVER_RETURNED), 0 },
    [DRIVER_RETURNED] = { "returned", SM_TO(DRIVER_IDLE), 0 },
    [DRIVER_CLOSED] = { "closed", 0, SM_LAST },
};
const sm_table driver_table = { "driver", driver_rows, DRIVER_STATES, driver_wrong };

static void driver_move(driver *d, driver_state to)
{
    pthread_mutex_lock(&d->board->lock);
    sm_move(&driver_table, &d->state, to, d);
    if (to == DRIVER_RETURNED)
        pthread_cond_broadcast(&d->board->returned);
    pthread_mutex_unlock(&d->board->lock);
}

driver_state driver_now(driver *d)
{
    driver_state now;

    pthread_mutex_lock(&d->board->lock);
    now = (driver_state)d->state;
    pthread_mutex_unlock(&d->board->lock);
    return now;
}

int64_t driver_clock_ms(void)
{
    return steady_ms();
}

/* ---- which runs it may drive ------------------------------------------------------------------------------ */

static void print_asked(const driver *d, const char *run, const pawl_value *item)
{
    const char *id = pawl_value_string(pawl_value_at(item, 1)), *kind = pawl_value_string(pawl_value_get(pawl_value_at(item, 3), "kind"));
    const char *path = id != NULL ? strchr(id, '.') : NULL;     /* SUPERSTEP.PATH.VISIT.N; of an agent there is no path */
    buf b;

    if (kind == NULL)
        return;
    buf_init(&b, NULL);
    for (int k = PAWL_WAIT_APPROVAL; k <= PAWL_WAIT_SIGNAL; k++)
        if (strcmp(kind, pawl_wait_kind_name((pawl_wait_kind)k)) == 0)
            buf_text(&b, wait_kind_text((pawl_wait_kind)k));
    if (path != NULL && strcspn(path + 1, ".") < strlen(path + 1) && path[1] != '@') {
        buf_text(&b, " at ");
        words_fit(&b, path + 1, strcspn(path + 1, "."), NODE_COLUMNS);
    }
    if (b.size > 0 && !b.failed)
        cli_note(d->s->c, "%s waits for %.*s", run, (int)b.size, b.data);
    buf_free(&b);
}

/* Prints what a journal line asks, for the person at the terminal of a worker. */
static void print_asks_of(const driver *d, const pawl_state *st, const pawl_entry *entry)
{
    const pawl_value *item;
    const char *name;
    pawl_iter items;
    arena mem;

    arena_init(&mem, NULL, 4096);
    items = pawl_iter_of(logging_items(&mem, pawl_entry_bytes(entry), pawl_entry_is_record(entry)));
    while ((item = pawl_iter_next(&items, NULL)) != NULL)
        if ((name = pawl_value_string(pawl_value_at(item, 0))) != NULL && strcmp(name, "ask") == 0)
            print_asked(d, pawl_state_run(st), item);
    arena_free(&mem);
}

static void stored(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    const driver *d = ctx;
    const char *why;
    pawl_status now;

    d->board->stored++;
    if (pawl_state_waits(st) > 0)
        print_asks_of(d, st, entry);
    if (pawl_entry_is_record(entry) || !pawl_status_terminal(now = pawl_entry_status(entry)))
        return;
    why = pawl_value_string(pawl_value_get(pawl_state_reason(st), "text"));
    cli_note(d->s->c, "%s: %s%s%s", pawl_state_run(st), pawl_status_name(now), why != NULL ? ": " : "", why != NULL ? why : "");
}

/* With `next`, the value from the next superstep on; else that of the open superstep, which its subgraphs still use. */
static const pawl_value *rule_channel(pawl_state *st, const char *name, bool next)
{
    const pawl_value *coming = next ? pawl_state_coming(st, name) : NULL;

    return coming != NULL ? coming : pawl_state_get(st, name);
}

/* Whether its file has a proof in the run's mode, under the run's rules. The result is kept: runs of one file usually have the same rules. */
static pawl_code proof_admits(driver *d, pawl_state *st, bool next, pawl_err *err)
{
    const pawl_value *policy = rule_channel(st, "@policy", next), *grants = rule_channel(st, "@grants", next);
    const pawl_mode had = pawl_mode_named(pawl_value_string(rule_channel(st, "@mode", next))), mode = had != PAWL_MODE_NONE ? had : PAWL_MODE_DEFAULT;
    pawl_code rc;
    hash rules;
    buf b;

    buf_init(&b, NULL);
    if (policy != NULL)
        canon(&b, policy);
    buf_char(&b, '\n');
    if (grants != NULL)
        canon(&b, grants);
    if (b.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its proof", pawl_state_run(st));
    else if (hash_of(b.data, b.size, &rules), d->good_known[mode] && memcmp(&rules, &d->good[mode], sizeof rules) == 0)
        rc = PAWL_OK;
    else if ((rc = prove_admits(d->s, mode, policy, grants, err)) == PAWL_OK) {
        d->good[mode] = rules;
        d->good_known[mode] = true;
    }
    buf_free(&b);
    return rc;
}

/* A note about settings is said once, and not again for each run and each machine. */
static void note_once(void *ctx, const char *text)
{
    driver *d = ctx;
    driver_board *b = d->board;
    bool again = false;
    hash h;

    hash_of(text, strlen(text), &h);
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < b->nnoted && i < DRIVER_NOTES_MAX; i++)
        again = again || hash_equal(&b->noted[i], &h);
    if (!again)
        b->noted[b->nnoted++ % DRIVER_NOTES_MAX] = h;
    pthread_mutex_unlock(&b->lock);
    if (!again)
        app_note(d->s->caller, "%s", text);
}

/* The current settings, as for a verb that goes on with the run (app/ways.h). Those that cannot be read park it: its rules are not known. */
static pawl_code settings_now(void *ctx, pawl_state *st, const char **update, pawl_err *err)
{
    driver *d = ctx;
    const pawl_value *all;
    pawl_code rc;

    arena_reset(&d->settings);
    buf_reset(&d->update);
    rc = session_go_on(d->s, st, &(going_on){ .served = true, .told = &d->told, .mem = &d->settings }, &all, err);
    if (rc != PAWL_OK || all == NULL)
        return rc == PAWL_OK || rc == PAWL_NOMEM ? rc : PAWL_DENIED;
    canon(&d->update, all);
    buf_char(&d->update, '\0');
    *update = d->update.data;
    return d->update.failed ? fail(err, PAWL_NOMEM, "%s: no memory for its rules", pawl_state_run(st)) : PAWL_OK;
}

/* bypassPermissions is not stored: it must be given again to continue such a run (P1). */
static pawl_code admits(void *ctx, pawl_state *st, pawl_err *err)
{
    driver *d = ctx;
    const char *mode = run_mode_of(st);
    pawl_code rc = PAWL_OK;

    if (pawl_state_next(st) == PAWL_HALTED)
        return PAWL_OK;
    if (mode == NULL || pawl_mode_named(mode) != PAWL_MODE_BYPASS || d->board->bypass) {
        if (d->board->proven && (rc = proof_admits(d, st, false, err)) == PAWL_OK)
            rc = proof_admits(d, st, true, err);
        return rc;
    }
    return fail(err, PAWL_DENIED, "%s was in bypassPermissions, which is not kept: `pawl resume %s --mode MODE`, or a worker with --bypass, goes on",
                pawl_state_run(st), pawl_state_run(st));
}

/* ---- the thread --------------------------------------------------------------------------------------------- */

/* Parked runs are not due: another version may have parked them, so each is tried once. */
static void try_parked(driver *d)
{
    for (size_t i = 0; i < d->nparked && !d->board->stop; i++)
        (void)!parked_try(d->s->engine, d->parked[i], &(pawl_err){ PAWL_OK, "" });
    free(d->parked);
    d->parked = NULL;
    d->nparked = 0;
}

/* Prints the error and waits. False: this thread does not try again. */
static bool back_off(driver *d)
{
    const int64_t now = steady_ms();
    int64_t wait = BACK_OFF_MS;

    if (d->failures++ == 0)
        d->failing_since_ms = now;
    for (unsigned i = 1; i < d->failures && wait < BACK_OFF_MAX_MS; i++)
        wait = wait * 2 < BACK_OFF_MAX_MS ? wait * 2 : BACK_OFF_MAX_MS;
    if (d->board->stop || (d->board->once && d->failures == ONCE_TRIES_MAX) || driver_gave_up(d)) {
        cli_note(d->s->c, "%s: %s; its runs are released", pawl_machine_name(d->s->machine), d->err.text);
        return false;
    }
    cli_note(d->s->c, "%s: %s; the next try is in %.1f s", pawl_machine_name(d->s->machine), d->err.text, (double)wait / 1000);
    driver_move(d, DRIVER_BACKING_OFF);
    for (int64_t until = now + wait; !d->board->stop && steady_ms() < until;)
        nanosleep(&(struct timespec){ 0, SLICE_MS * 1000000L }, NULL);
    driver_move(d, DRIVER_WORKING);
    return true;
}

static void *work(void *ctx)
{
    driver *d = ctx;

    try_parked(d);
    do {
        pawl_store *store = pawl_engine_store(d->s->engine);

        d->err = (pawl_err){0};
        d->rc = pawl_work(d->s->engine, d->board->once ? 0 : store->verbs->now(store) + LINGER_MS, &d->err);
        if (d->rc == PAWL_OK && d->failures > 0) {
            cli_note(d->s->c, "%s: it goes on", pawl_machine_name(d->s->machine));
            d->failures = 0;
        }
        if (d->rc != PAWL_OK && d->err.text[0] == '\0')
            fail(&d->err, d->rc, "%s: %s", d->board->store_name, pawl_code_name(d->rc));
    } while (d->rc != PAWL_OK && back_off(d));
    driver_move(d, DRIVER_RETURNED);
    return NULL;
}

/* ---- for the worker ------------------------------------------------------------------------------------------- */

void driver_board_init(driver_board *b)
{
    atomic_init(&b->stop, false);
    pthread_mutex_init(&b->lock, NULL);
    atomic_init(&b->stored, 0);
    cond_begin(&b->returned);
}

void driver_board_wait(driver_board *b, int ms)
{
    const int64_t until = steady_ms() + ms;
    const struct timespec at = { (time_t)(until / 1000), (long)(until % 1000) * 1000000L };

    pthread_mutex_lock(&b->lock);
    (void)pthread_cond_timedwait(&b->returned, &b->lock, &at);
    pthread_mutex_unlock(&b->lock);
}

driver *driver_new(driver_board *b, session *s)
{
    driver *d = calloc(1, sizeof *d);

    if (d == NULL) {
        session_free(s);
        return NULL;
    }
    d->board = b;
    d->s = s;
    d->told = (app_caller){ .note = note_once, .ctx = d };
    d->used_ms = steady_ms();
    sm_begin(&driver_table, &d->state, DRIVER_IDLE, d);
    session_watch(s, stored, d);
    arena_init(&d->settings, NULL, 4096);
    buf_init(&d->update, NULL);
    pawl_engine_settings(s->engine, settings_now, d);
    pawl_engine_admit(s->engine, admits, d);
    return d;
}

bool driver_try(driver *d, const char *run)
{
    char (*more)[RUN_ID_BYTES] = realloc(d->parked, (d->nparked + 1) * sizeof *more);

    if (more == NULL)
        return false;
    d->parked = more;
    snprintf(more[d->nparked++], RUN_ID_BYTES, "%s", run);
    return true;
}

bool driver_start(driver *d)
{
    driver_move(d, DRIVER_WORKING);
    if (pthread_create(&d->thread, NULL, work, d) == 0)
        return true;
    driver_move(d, DRIVER_IDLE);
    return false;
}

void driver_join(driver *d)
{
    pthread_join(d->thread, NULL);
    d->used_ms = steady_ms();
    driver_move(d, DRIVER_IDLE);
}

bool driver_tried(const driver *d, const pawl_head *head)
{
    pawl_store *store = pawl_engine_store(d->s->engine);

    return backlog_has(d->s->engine, head, store->verbs->now(store));
}

bool driver_has(const driver *d, const char *machine)
{
    return machine_named(d->s->engine, machine) != NULL;
}

bool driver_fits(const driver *d, const pawl_state *st)
{
    const pawl_machine *m = machine_named(d->s->engine, pawl_state_machine(st, NULL));

    return m != NULL && pawl_state_under(st, m);
}

bool driver_gave_up(const driver *d)
{
    return d->failures > 0 && steady_ms() - d->failing_since_ms > GIVE_UP_MS;
}

void driver_close(driver *d)
{
    session *s = d->s;

    driver_move(d, DRIVER_CLOSED);
    session_free(s);
    arena_free(&d->settings);
    buf_free(&d->update);
    free(d->parked);
    free(d);
}
