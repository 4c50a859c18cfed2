/* past_answer.c - finds an earlier answer to a wait of a run, in the task records of the store.
 *
 * Called by run_driver.c and waits.c, on the main thread. What it returns is in the session's arena. */
#include "cli/run_driver.h"

#include <time.h>

/* `given` is the id of the wait, RUN~LIFE/SUPERSTEP.TASK.VISIT.N, or its node. */
static bool answer_matches(const pawl_stream_event *ev, const char *given)
{
    return given == NULL || strcmp(given, ev->node) == 0 || strcmp(given, ev->path) == 0 || (ev->id != NULL && strcmp(given, ev->id) == 0);
}

bool past_answer_find(session *s, const char *run, const char *given, past_answer *out)
{
    const pawl_stream_options from = { .kinds = PAWL_STREAM_TASKS };
    pawl_stream *r = pawl_stream_open(NULL, session_store(s), run, &from, NULL);
    pawl_stream_event ev;
    bool any = false;

    while (r != NULL && pawl_stream_next(r, &ev, NULL) == PAWL_OK) {
        const pawl_value *v;

        if (strcmp(ev.name, "answer") != 0 || !answer_matches(&ev, given) || (v = value_parse(&s->mem, ev.json, strlen(ev.json), "answer", NULL)) == NULL)
            continue;
        any = true;
        *out = (past_answer){ .node = arena_text(&s->mem, ev.node), .by = pawl_value_string(pawl_value_get(v, "by")),
                       .note = pawl_value_string(pawl_value_get(v, "note")), .value = pawl_value_get(v, "value"), .seq = ev.seq };
    }
    pawl_stream_close(r);
    return any && out->node != NULL;
}

void wait_for_write(pawl_store *store, uint64_t *seen, int ms)
{
    const uint64_t before = *seen;

    for (int i = 0; i < ms / WRITE_LOOK_MS && (i == 0 || *seen == before); i++) {
        nanosleep(&(struct timespec){ .tv_nsec = WRITE_LOOK_MS * 1000000L }, NULL);
        *seen = store->verbs->version(store);
    }
}

/* The answer that another process gave a moment ago: it may not be stored yet, so this waits shortly. */
bool past_answer_await(session *s, const char *id, past_answer *out)
{
    pawl_store *store = session_store(s);
    uint64_t looked = store->verbs->version(store), seen = looked;
    char run[RUN_ID_BYTES];
    bool found;

    asks_run_of(id, run);
    found = past_answer_find(s, run, id, out);
    for (int i = 0; i < PAST_ANSWER_READS && !found; i++) {
        wait_for_write(store, &seen, WRITE_MS);
        if (seen != looked || seen == 0)
            found = past_answer_find(s, run, id, out);
        looked = seen;
    }
    return found;
}

pawl_code past_answer_conflict(const char *run, const past_answer *before, pawl_err *err)
{
    pawl_code rc;
    buf b;

    buf_init(&b, NULL);
    cli_short(&b, before->value, 60);
    buf_char(&b, '\0');
    rc = fail(err, PAWL_CONFLICT, "%s: %.56s%swas answered before, with %s%s%.48s", run, before->node, *before->node != '\0' ? " " : "", b.failed ? "" : b.data,
              before->by != NULL ? ", by " : "", before->by != NULL ? before->by : "");
    buf_free(&b);
    return rc;
}
