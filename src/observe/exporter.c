/* exporter.c - the thread that makes batches of spans and hands them to the collector.
 *
 * `lock` covers `stop`. All else belongs to the thread: its store handle, the cursor file, the reader of journals and the batch. Life cycle: sending_rows.
 * Invariants: a batch is in the cursor file before it leaves, and one is there at most; spans are read only when none is. So memory is bounded, whatever the
 * collector does, and what it did not take is not read past. */
#include "base/sm.h"
#include "net/net.h"
#include "observe/exporter_plan.h"
#include "observe/journals.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH_SPANS = 512, BATCH_BYTES = 1 << 20, ANSWER_BYTES = 4096, SAID_BYTES = 200 };
enum { LOOK_MS = 500, STANDBY_MS = 3000, BACK_FIRST_MS = 1000, BACK_MOST_MS = 60000, QUIET_MS = 4000, LAST_MS = 5000 };
static const char batch_name[] = "traces";

enum sending_state { SENDING_CLOSED, SENDING_READS, SENDING_HAS, SENDING_BACKS_OFF, SENDING_STATES };

struct exporter {
    const exporter_plan *plan;
    pawl_store *store;
    void (*note)(void *ctx, const char *text);
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    bool stop;
    int64_t stop_ms;            /* when it was told to stop */
    uint8_t state;
    cursor_file *file;          /* NULL: not open */
    journals *journals;
    otlp_batch made;            /* while journals are read */
    buf batch;                  /* that is to be sent */
    uint64_t version;           /* of the store, when it was last read to its end */
    int64_t quiet_ms;           /* since when it has not changed */
    int64_t back_ms, until_ms;  /* the last back-off, and when it ends */
    bool troubled;              /* trouble was noted, and not yet that it is over */
    bool aside;                 /* it was noted that another process sends */
};

static const sm_row sending_rows[] = {
    [SENDING_CLOSED] = { "closed", SM_TO(SENDING_READS) | SM_TO(SENDING_HAS), SM_FIRST | SM_LAST },
    [SENDING_READS] = { "reading", SM_TO(SENDING_HAS) | SM_TO(SENDING_CLOSED), SM_LAST },
    [SENDING_HAS] = { "has a batch", SM_TO(SENDING_READS) | SM_TO(SENDING_BACKS_OFF) | SM_TO(SENDING_CLOSED), SM_LAST },
    [SENDING_BACKS_OFF] = { "backs off", SM_TO(SENDING_HAS) | SM_TO(SENDING_CLOSED), SM_LAST },
};
static const char *sending_wrong(const void *owner, unsigned state)
{
    const exporter *e = owner;

    if ((e->file == NULL) != (state == SENDING_CLOSED))
        return "the file is open, except when it is closed";
    if ((e->batch.size > 0) != (state == SENDING_HAS || state == SENDING_BACKS_OFF))
        return "there is a batch exactly while one is to be sent";
    return NULL;
}
static const sm_table sending_table = { "sending", sending_rows, SENDING_STATES, sending_wrong };

static void noted(exporter *e, const char *fmt, ...) PAWL_PRINTF(2, 3);
static void noted(exporter *e, const char *fmt, ...)
{
    char text[1200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    e->note(e->ctx, text);
}

/* Trouble is noted once, until it is over. */
static void trouble(exporter *e, const char *why)
{
    if (!e->troubled)
        noted(e, "spans: %s; they are kept, and sent later", why);
    e->troubled = true;
}

static void trouble_over(exporter *e)
{
    if (e->troubled)
        noted(e, "spans: sent to %s again", e->plan->shown);
    e->troubled = false;
}

static bool stopping(exporter *e)
{
    bool stop;

    pthread_mutex_lock(&e->lock);
    stop = e->stop;
    pthread_mutex_unlock(&e->lock);
    return stop;
}

/* Until it is told to stop, `ms` at most. */
static void rest(exporter *e, int64_t ms)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&e->lock);
    if (!e->stop)
        pthread_cond_timedwait(&e->more, &e->lock, &until);
    pthread_mutex_unlock(&e->lock);
}

/* ---- the file ------------------------------------------------------------------------------------------------------------ */

static void span_comes(void *ctx, const run_span *s)
{
    exporter *e = ctx;

    otlp_span(&e->made, s);
}

static bool batch_is_full(void *ctx)
{
    const exporter *e = ctx;

    return e->made.spans >= BATCH_SPANS || e->made.body.size >= BATCH_BYTES || e->made.body.failed;
}

static void file_close(exporter *e)
{
    journals_forget(e->journals);
    cursor_file_close(e->file);
    e->file = NULL;
    buf_reset(&e->batch);
    sm_move(&sending_table, &e->state, SENDING_CLOSED, e);
}

/* False: another process has it, or it cannot be opened. */
static bool file_open(exporter *e)
{
    char path[4096];
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc;

    snprintf(path, sizeof path, "%s.spans", e->store->verbs->file(e->store));
    if ((e->file = cursor_file_open(path, true, e->store->verbs->now(e->store), &err)) == NULL) {
        if (err.code != PAWL_HELD)
            trouble(e, err.text);
        else if (!e->aside)
            noted(e, "spans: another process of this store sends them; this one goes on when it has ended");
        e->aside = e->aside || err.code == PAWL_HELD;
        return false;
    }
    e->aside = false;
    e->version = 0;
    rc = cursor_batch_get(e->file, batch_name, &e->batch, &err);
    if (rc == PAWL_OK && e->batch.size > 0) {
        sm_move(&sending_table, &e->state, SENDING_HAS, e);
        return true;
    }
    buf_reset(&e->batch);
    sm_move(&sending_table, &e->state, SENDING_READS, e);
    if (rc == PAWL_GONE)
        return true;
    trouble(e, err.text);
    file_close(e);
    return false;
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

/* A batch with what is new is stored with the places that it was read up to. *more: it is not all. */
static pawl_code batch_make(exporter *e, bool *more, pawl_err *err)
{
    pawl_code rc = cursor_begin(e->file, err);

    if (rc != PAWL_OK)
        return rc;
    otlp_begin(&e->made, e->plan->names, e->plan->resource, e->plan->nresource);
    rc = journals_look(e->journals, e->file, more, err);
    otlp_end(&e->made);
    if (rc == PAWL_OK && e->made.body.failed)
        rc = fail(err, PAWL_NOMEM, "no memory for a batch of spans");
    if (rc == PAWL_OK && e->made.spans > 0)
        rc = cursor_batch_put(e->file, batch_name, (pawl_bytes){ e->made.body.data, e->made.body.size }, err);
    if (rc == PAWL_OK)
        rc = cursor_commit(e->file, err);
    if (rc == PAWL_OK && e->made.spans > 0) {
        buf_free(&e->batch);
        e->batch = e->made.body;
        buf_init(&e->made.body, NULL);
    }
    buf_free(&e->made.body);
    return rc;
}

/* Reads, unless nothing can be new: the store has not changed for so long that no late write is to come. False: nothing is there now. */
static bool look(exporter *e)
{
    const uint64_t version = e->store->verbs->version(e->store);
    const int64_t now = clock_ms();
    pawl_err err = { PAWL_OK, "" };
    bool more = false;

    if (version == 0 || version != e->version)
        e->quiet_ms = now;
    else if (now - e->quiet_ms > QUIET_MS)
        return false;
    if (batch_make(e, &more, &err) != PAWL_OK) {
        cursor_rollback(e->file);
        trouble(e, err.text);
        file_close(e);
        return false;
    }
    e->version = more ? 0 : version;
    if (e->batch.size > 0)
        sm_move(&sending_table, &e->state, SENDING_HAS, e);
    return more || e->state == SENDING_HAS;
}

/* A collector that hangs does not keep the process. */
static bool is_late(void *ctx)
{
    exporter *e = ctx;
    bool late;

    pthread_mutex_lock(&e->lock);
    late = e->stop && clock_ms() > e->stop_ms + LAST_MS;
    pthread_mutex_unlock(&e->lock);
    return late;
}

/* ---- sending -------------------------------------------------------------------------------------------------------------- */

static void back_off(exporter *e, int64_t asked_ms)
{
    e->back_ms = e->back_ms == 0 ? BACK_FIRST_MS : e->back_ms * 2 < BACK_MOST_MS ? e->back_ms * 2 : BACK_MOST_MS;
    e->until_ms = clock_ms() + (asked_ms > e->back_ms ? asked_ms : e->back_ms);
    sm_move(&sending_table, &e->state, SENDING_BACKS_OFF, e);
}

/* What the collector says of spans that it took or refused, on one line. */
static void answer_said(const net_answer *a, char out[SAID_BYTES])
{
    size_t n = a->body.size < SAID_BYTES - 1 ? a->body.size : SAID_BYTES - 1;

    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)a->body.data[i] < ' ' || (unsigned char)a->body.data[i] > '~' ? ' ' : a->body.data[i];
    out[n] = '\0';
}

/* {"partialSuccess":{"rejectedSpans":"3",...}} */
static bool some_refused(const net_answer *a)
{
    const pawl_value *v, *n;
    bool some;
    arena mem;

    arena_init(&mem, NULL, 4096);
    v = a->body.size > 0 ? value_parse(&mem, a->body.data, a->body.size, "an answer", NULL) : NULL;
    n = pawl_value_find(v, "/partialSuccess/rejectedSpans");
    some = pawl_value_int(n) > 0 || (pawl_value_string(n) != NULL && strcmp(pawl_value_string(n), "0") != 0 && *pawl_value_string(n) != '\0');
    arena_free(&mem);
    return some;
}

static void batch_taken(exporter *e)
{
    pawl_err err = { PAWL_OK, "" };

    if (cursor_batch_drop(e->file, batch_name, &err) != PAWL_OK) {
        trouble(e, err.text);   /* it is sent again */
        file_close(e);
        return;
    }
    buf_reset(&e->batch);
    e->back_ms = 0;
    sm_move(&sending_table, &e->state, SENDING_READS, e);
}

/* A batch that the collector will never take as it is would hold back all that come after it. */
static bool is_refused(long status) { return status == 400 || status == 413 || status == 415 || status == 422; }

static void send_batch(exporter *e)
{
    union { const char *const *in; const char **out; } headers = { e->plan->headers };
    const net_request r = { .method = "POST", .url = e->plan->url, .headers = headers.out, .ca = e->plan->ca, .body = e->batch.data,
                            .body_size = e->batch.size, .response_bytes = ANSWER_BYTES, .until_ms = clock_ms() + e->plan->timeout_ms, .stop = is_late, .ctx = e,
                            .poll_ms = 200 };
    char text[SAID_BYTES + 400], said[SAID_BYTES];
    pawl_err err = { PAWL_OK, "" };
    net_answer a;
    pawl_code rc;
    const char *after, *date;

    net_answer_init(&a, NULL);
    rc = net_fetch(&r, &a, &err);
    answer_said(&a, said);
    if (rc == PAWL_OK && a.status >= 200 && a.status <= 299) {
        if (some_refused(&a))
            noted(e, "spans: %s did not take all of a batch: %s", e->plan->shown, said);
        trouble_over(e);
        batch_taken(e);
    } else if (rc == PAWL_OK && is_refused(a.status)) {
        noted(e, "spans: %s refuses a batch with status %ld, and it is left out: %s", e->plan->shown, a.status, said);
        batch_taken(e);
    } else {
        if (rc == PAWL_OK)
            snprintf(text, sizeof text, "%s answers with status %ld: %s", e->plan->shown, a.status, said);
        else
            snprintf(text, sizeof text, "%s: %.200s", e->plan->shown, err.text);
        trouble(e, text);
        after = rc == PAWL_OK ? net_head(&a.head, "retry-after") : NULL;
        date = rc == PAWL_OK ? net_head(&a.head, "date") : NULL;
        back_off(e, after != NULL ? retry_after_ms(after, date) : 0);
    }
    net_answer_free(&a);
}

/* ---- the thread ------------------------------------------------------------------------------------------------------------ */

/* One step. How long to rest after it; 0: none. */
static int64_t step(exporter *e)
{
    int64_t left;

    switch ((enum sending_state)e->state) {
    case SENDING_CLOSED:
        return file_open(e) ? 0 : STANDBY_MS;
    case SENDING_READS:
        return look(e) ? 0 : LOOK_MS;
    case SENDING_HAS:
        send_batch(e);
        return 0;
    case SENDING_BACKS_OFF:
        if ((left = e->until_ms - clock_ms()) > 0)
            return left;
        sm_move(&sending_table, &e->state, SENDING_HAS, e);
        return 0;
    case SENDING_STATES:
        break;
    }
    return LOOK_MS;
}

static void *export(void *ctx)
{
    exporter *e = ctx;
    int64_t until;

    while (!stopping(e)) {
        const int64_t ms = step(e);

        if (ms > 0)
            rest(e, ms);
    }
    /* What is there is sent, unless the collector is in trouble. */
    for (until = clock_ms() + LAST_MS; clock_ms() < until && e->state != SENDING_BACKS_OFF;) {
        e->version = 0;
        if (step(e) > 0)
            break;
    }
    if (e->state != SENDING_CLOSED)
        file_close(e);
    return NULL;
}

static bool thread_begin(exporter *e)
{
    sigset_t all, before;
    bool good;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);        /* signals are the caller's */
    good = pthread_create(&e->thread, NULL, export, e) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

exporter *exporter_begin(const exporter_plan *plan, pawl_store *store, void (*note)(void *ctx, const char *text), void *ctx, pawl_err *err)
{
    exporter *e = calloc(1, sizeof *e);
    const journals_sink sink = { span_comes, NULL, batch_is_full, e };
    const char *file = store->verbs->file != NULL ? store->verbs->file(store) : NULL;

    if (e == NULL) {
        fail(err, PAWL_NOMEM, "no memory to send spans");
    } else if (file == NULL || strlen(file) > 4000) {
        fail(err, PAWL_INVALID, "spans are sent only from a store in a file");
    } else if ((e->journals = journals_new(store, &sink, err)) != NULL) {
        e->plan = plan;
        e->store = store;
        e->note = note;
        e->ctx = ctx;
        buf_init(&e->batch, NULL);
        pthread_mutex_init(&e->lock, NULL);
        pthread_cond_init(&e->more, NULL);
        sm_begin(&sending_table, &e->state, SENDING_CLOSED, e);
        if (thread_begin(e))
            return e;
        fail(err, PAWL_NOMEM, "no thread to send spans");
        pthread_mutex_destroy(&e->lock);
        pthread_cond_destroy(&e->more);
        journals_free(e->journals);
    }
    free(e);
    pawl_store_free(store);
    return NULL;
}

void exporter_end(exporter *e)
{
    if (e == NULL)
        return;
    pthread_mutex_lock(&e->lock);
    e->stop = true;
    e->stop_ms = clock_ms();
    pthread_cond_signal(&e->more);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    journals_free(e->journals);
    buf_free(&e->batch);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->more);
    pawl_store_free(e->store);
    free(e);
}
