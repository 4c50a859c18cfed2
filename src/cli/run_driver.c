/* run_driver.c - drives a run until it ends, waits for a person who is not at this terminal, or is stopped; prints how it ended.
 *
 * Called by the verbs that drive a run, on the main thread; a view paints on a thread of its own (ui/view_paint.c). Owns nothing: the session is the
 * verb's. Invariant: while the engine drives, the store handle of the session is the engine's alone. */
#include "app/signers.h"
#include "cli/failed_tasks.h"
#include "cli/missing_secret.h"
#include "cli/run_driver.h"
#include "cli/status_word.h"
#include "host/open_questions.h"
#include "app/run_settings.h"
#include "cli/ui/view.h"
#include "cli/ui/format.h"
#include "engine/engine.h"
#include "engine/run/query.h"
#include "engine/run/owner.h"
#include "sign/sign.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

pawl_code drive_continue(session *s, void *ctx, pawl_err *err)
{
    (void)ctx;
    return pawl_run(s->engine, s->run, NULL, err);
}

static pawl_code driven(session *s, drive_fn *fn, void *ctx, pawl_err *err)
{
    viewing *w = view_begin(s->c, s->engine, s->run);
    const pawl_code rc = fn(s, ctx, err);

    view_end(w);
    return rc;
}

pawl_code drive_event(session *s, void *ctx, pawl_err *err)
{
    const pawl_event *ev = ctx;
    pawl_code rc = pawl_event_send(s->engine, s->run, ev, err);

    s->took = rc >= 0 && rc != PAWL_PENDING && rc != PAWL_IGNORED;
    s->left_no = engine_left_no(s->engine);
    if (rc == PAWL_IGNORED)
        logging_line(&s->log, LOG_WARN, s->run, "ignored", pawl_event_kind_name(ev->kind));
    if (rc == PAWL_IGNORED && ev->kind == PAWL_EV_INPUT)
        return fail(err, PAWL_INVALID, "%s takes no input now: only an agent does, and a graph with `turns:` at the end of a turn", s->run);
    return rc == PAWL_IGNORED ? pawl_run(s->engine, s->run, NULL, err) : rc;
}

/* ---- others ------------------------------------------------------------------------------------------- */

bool driven_elsewhere(session *s, char who[DRIVER_NAME_BYTES])
{
    pawl_store *store = session_store(s);
    pawl_head head;

    if (run_is_free(s->engine, s->run))
        return false;
    if (store->verbs->head(store, s->run, &head, NULL) != PAWL_OK || head.owner == NULL || head.lease_ms <= store->verbs->now(store) || owner_dead(head.owner))
        return false;
    if (owner_is_own(head.owner))
        return false;
    if (who != NULL)
        snprintf(who, DRIVER_NAME_BYTES, "%s", head.owner);
    return true;
}

/* ---- asking --------------------------------------------------------------------------------------------- */

typedef enum answered { ANSWERED, LEFT, GONE } answered;

static bool is_childs(const session *s, const pawl_event *ev)
{
    char run[RUN_ID_BYTES];

    if (ev->kind != PAWL_EV_ANSWER || ev->id == NULL || strchr(ev->id, '~') == NULL)
        return false;
    asks_run_of(ev->id, run);
    return strcmp(run, s->run) != 0;
}

/* An answer to a child is delivered before the engine drives, because then the store handle is the engine's. Driving the parent also drives the child. */
static pawl_code drive_child_answer(session *s, void *ctx, pawl_err *err)
{
    const pawl_event *ev = ctx;
    char run[RUN_ID_BYTES];
    pawl_code rc;

    asks_run_of(ev->id, run);
    rc = session_deliver_to(s, run, ev, err);
    return rc == PAWL_OK ? driven(s, drive_continue, NULL, err) : rc;
}

/* The visit that asks: the id of its wait without its last number. */
static size_t visit_size(const char *id)
{
    const char *last = strrchr(id, '.');

    return last != NULL ? (size_t)(last - id) : strlen(id);
}

static bool denied_before(const session *s, const pawl_wait *w)
{
    const size_t n = visit_size(w->id);
    pawl_iter it = pawl_iter_of(s->denied);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_size(one) == n && memcmp(pawl_value_string(one), w->id, n) == 0)
            return true;
    return false;
}

static pawl_code give(session *s, const pawl_wait *w, const char *json, const char *by, pawl_err *err)
{
    pawl_event ev = { .kind = PAWL_EV_ANSWER, .by = by };
    char id[512];
    const pawl_code rc = signers_sign(&s->mem, w, json, NULL, NULL, NULL, &ev.value, err);

    if (rc != PAWL_OK)
        return rc;
    snprintf(id, sizeof id, "%s", w->id);
    ev.id = id;
    if (w->kind == PAWL_WAIT_APPROVAL && strcmp(json, "false") == 0)
        s->denied = value_push(&s->mem, s->denied != NULL ? s->denied : value_pack(&s->mem, NULL, "[]"), value_string(&s->mem, id, visit_size(id)));
    return is_childs(s, &ev) ? drive_child_answer(s, &ev, err) : driven(s, drive_event, &ev, err);
}

/* --yes and --no answer approvals, never a question, and nothing that is signed: to sign is a decision about one call. */
static answered answer_flag(session *s, const pawl_wait *w, pawl_code *rc, pawl_err *err)
{
    bool yes = cli_given(s->c, "yes") != NULL, no = cli_given(s->c, "no") != NULL;
    char by[128];

    if (w->kind != PAWL_WAIT_APPROVAL || w->approvers != NULL || (!yes && !no) || (no && denied_before(s, w)))
        return LEFT;
    snprintf(by, sizeof by, "%s, by %s", cli_by(s->c), yes ? "--yes" : "--no");
    *rc = give(s, w, yes ? "true" : "false", by, err);
    return ANSWERED;
}

/* A mode that another process sets reaches the shells in the background before the answer comes. An error shows itself when the run is driven again. */
static bool at_rest(void *ctx)
{
    const session *s = ctx;
    pawl_err err = {0};

    if (signals_stopped() == 0)
        (void)engine_rest_check(s->engine, s->run, &err);
    return signals_stopped() == 0;
}

static answered answer_here(session *s, const char *run, const pawl_wait *w, pawl_code *rc, pawl_err *err)
{
    answered how = LEFT;
    buf json, no;

    if (!s->c->err_tty || !isatty(STDIN_FILENO) || w->kind == PAWL_WAIT_SIGNAL || w->kind == PAWL_WAIT_INPUT || s->c->json ||
        !signers_can_sign(&s->mem, w) || denied_before(s, w))
        return LEFT;
    buf_init(&json, NULL);
    buf_init(&no, NULL);
    session_no(s, run, w, &no);
    buf_char(&no, '\0');
    s->c->rests = at_rest;
    s->c->rests_ctx = s;
    switch (doubt_is(w) ? doubt_ask(s, run, w, &json) : view_ask(s->c, w, no.size > 1 ? no.data : NULL, &json)) {
    case ASKED_ANSWER:
        buf_char(&json, '\0');
        *rc = give(s, w, json.data, cli_by(s->c), err);
        how = ANSWERED;
        break;
    case ASKED_LATER:
        break;
    case ASKED_GONE:
        how = GONE;
        break;
    }
    buf_free(&no);
    buf_free(&json);
    return how;
}

/* Answers the first wait that can be answered here; LEFT: none can. */
static answered answer_one(session *s, pawl_code *rc, pawl_err *err)
{
    answered how = LEFT;
    asks all;

    if (!session_asks(s, s->run, &all))
        return LEFT;
    for (size_t i = 0; i < all.n && how == LEFT; i++) {
        how = answer_flag(s, &all.all[i].w, rc, err);
        if (how == LEFT)
            how = answer_here(s, all.all[i].run, &all.all[i].w, rc, err);
    }
    return how;
}

/* ---- how it ended ------------------------------------------------------------------------------------------ */

static void print_value(const session *s, const pawl_value *v)
{
    buf b;

    buf_init(&b, NULL);
    if (pawl_value_type(v) == PAWL_TYPE_STRING && !s->c->json)
        buf_put(&b, pawl_value_string(v), pawl_value_size(v));
    else
        canon(&b, v);
    if (b.size == 0 || b.data[b.size - 1] != '\n')
        buf_char(&b, '\n');
    cli_put(s->c, &b);
    buf_free(&b);
}

static int completed(session *s, pawl_state *st)
{
    pawl_err err = {0};
    const pawl_value *out = session_output(s, st, &err);
    const char *json;

    if (err.code != PAWL_OK)
        return cli_fail(s->c, PAWL_EFFECT, &err);
    if (out != NULL) {
        print_value(s, out);
    } else if (s->c->json && (json = pawl_state_json(st, pawl_engine_step(s->engine), &err)) != NULL) {
        fputs(json, stdout);
        fputc('\n', stdout);
    }
    return EXIT_DONE;
}

static void print_detail(const pawl_value *reason, const pawl_value *failed)
{
    buf b;

    buf_init(&b, NULL);
    words_lines(&b, pawl_value_string(pawl_value_find(reason, "/receipt/detail")), "    ");
    failed_tasks_put(&b, failed, "    ");
    if (!b.failed && b.size > 0)
        fwrite(b.data, 1, b.size, stderr);
    buf_free(&b);
}

static const char *ended_word(pawl_status status)
{
    return status == PAWL_STATUS_CANCELED ? "was canceled" : status == PAWL_STATUS_REJECTED ? "was rejected" : "failed";
}

void put_refusal(session *s, buf *b)
{
    past_answer last = {0};

    if (!past_answer_find(s, s->run, NULL, &last) || !answer_is_no(last.value))
        return;
    if (last.by != NULL)
        buf_fmt(b, ", by %s", last.by);
    if (last.note != NULL)
        buf_fmt(b, ": %s", last.note);
}

/* The first node whose `fail` ended the run, when nothing else failed; NULL: none. */
static const char *failed_on_purpose(const session *s, const pawl_value *failed)
{
    pawl_iter it = pawl_iter_of(failed);
    const char *first = NULL;
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *node = pawl_value_string(pawl_value_get(one, "node"));

        if (!session_fails_at(s, node))
            return NULL;
        first = first != NULL ? first : node;
    }
    return first;
}

/* What to do about a run that failed. */
static void advise(const session *s, const pawl_state *st, const char *why, const pawl_value *failed)
{
    const char *node = failed_on_purpose(s, failed);

    if (kept_undone(st))
        cli_note(s->c, "its compensable steps were undone: start a new run. A fork (pawl fork %s --at SEQ) takes what was done before SEQ as done: give an "
                 "entry before the first of them", s->run);
    else if (node != NULL)
        cli_note(s->c, "`fail` of \"%s\" ended it. With other values: pawl retry %s --set CHANNEL=JSON; on another way: pawl fork %s --at SEQ", node,
                 s->run, s->run);
    else if (s->path != NULL && why != NULL && strstr(why, ": max_steps ") != NULL)
        cli_note(s->c, "raise `max_steps` in the file, then: pawl retry %s --file %s --upgrade", s->run, s->path);
    else
        cli_note(s->c, "try again: pawl retry %s%s", s->run,
                 why != NULL && strstr(why, "budget: ") != NULL ? " --budget calls=N (or tokens, money, time)" : "");
}

static int ended(session *s, pawl_state *st)
{
    pawl_status status = pawl_state_status(st);
    const pawl_value *reason = pawl_state_reason(st);
    const char *why = pawl_value_string(pawl_value_get(reason, "text")), *inner = pawl_value_string(pawl_value_find(reason, "/receipt/text"));
    arena *mem = &s->c->mem;
    const pawl_value *failed = status == PAWL_STATUS_FAILED ? failed_tasks(mem, st) : NULL, *v;
    buf b;

    if (status == PAWL_STATUS_COMPLETED)
        return completed(s, st);
    buf_init(&b, NULL);
    if (why != NULL)
        buf_fmt(&b, ": %s", why);
    if (inner != NULL && (why == NULL || strstr(why, inner) == NULL))
        buf_fmt(&b, " (%s)", inner);
    if (status == PAWL_STATUS_REJECTED)
        put_refusal(s, &b);
    buf_char(&b, '\0');
    cli_note(s->c, "%s %s%s", s->run, ended_word(status), b.failed ? "" : b.data);
    buf_free(&b);
    print_detail(reason, failed);
    if (status == PAWL_STATUS_FAILED)
        advise(s, st, why, failed);
    if (!s->c->json)
        return cli_exit_of(status, false);
    v = value_pack(mem, NULL, "{s:v,s:s,s:s}", "reason", reason != NULL ? reason : value_null(mem), "run", s->run, "status", pawl_status_name(status));
    cli_json(s->c, pawl_value_size(failed) > 0 ? value_with(mem, v, "failed", failed) : v);
    return cli_exit_of(status, false);
}

/* The open waits of the run, as JSON. */
static void print_waiting(session *s, pawl_state *st, const asks *all, const pawl_value *turn)
{
    arena *mem = &s->c->mem;
    const pawl_value *v = value_pack(mem, NULL, "{s:s,s:s,s:v}", "run", s->run, "status", pawl_status_name(asks_status(all, pawl_state_status(st))), "waits",
                                     asks_json(mem, all));

    if (turn != NULL)
        v = value_with(mem, v, "output", turn);
    if (pawl_agent_idle(st))
        v = value_with(mem, v, "idle", value_bool(mem, true));
    cli_json(s->c, v);
}

/* The output of a turn that has ended. NULL: it has not, or there is none. */
static const pawl_value *turn_output(session *s, pawl_state *st, pawl_err *err)
{
    pawl_wait w;

    if (session_is_agent(s) && strcmp(agent_end(st), "answer") != 0)
        return NULL;
    if (pawl_state_waits(st) != 1 || pawl_state_wait(st, 0, pawl_engine_step(s->engine), &w, NULL) != PAWL_OK || w.kind != PAWL_WAIT_INPUT)
        return NULL;
    return session_output(s, st, err);
}

static int waiting(session *s, pawl_state *st, const asks *all)
{
    pawl_err err = {0};
    const pawl_value *turn = turn_output(s, st, &err);

    if (err.code != PAWL_OK)
        return cli_fail(s->c, PAWL_EFFECT, &err);
    if (s->c->json)
        print_waiting(s, st, all, turn);
    else if (turn != NULL)
        print_value(s, turn);
    if (session_is_agent(s) && agent_failed(s, st))
        return EXIT_FAILED;
    print_asks(s, all);
    if (s->c->verb->answers && session_is_agent(s) && all->n == 1 && all->all[0].w.kind == PAWL_WAIT_INPUT)
        return strcmp(agent_end(st), "answer") == 0 ? EXIT_DONE : EXIT_FAILED;
    return EXIT_WAITS;
}

static int held(session *s, const pawl_err *err)
{
    char who[DRIVER_NAME_BYTES];
    pawl_err why = {0};

    if (!driven_elsewhere(s, who))
        return cli_fail(s->c, PAWL_HELD, err);
    fail(&why, PAWL_HELD, "%s: %s drives it; answers and signals reach it there, `pawl log %s --follow` shows its progress", s->run, who, s->run);
    return cli_fail(s->c, PAWL_HELD, &why);
}

/* Another process drives the run, and has the event or will take it. */
static int print_left(session *s, const char *who)
{
    if (s->left_taken)
        cli_note(s->c, "%s: taken; %s drives the run and continues with it", s->run, who);
    else
        cli_note(s->c, "%s: stored; %s drives the run and has not taken it yet", s->run, who);
    if (s->c->json)
        cli_json(s->c, value_pack(&s->c->mem, NULL, "{s:s,s:s,s:b}", "owner", who, "run", s->run, "taken", s->left_taken));
    return EXIT_DONE;
}

/* The name of a job that has no handler here; NULL: there is none. */
static const char *job_waiting(session *s, pawl_state *st)
{
    for (size_t i = 0; i < pawl_state_commands(st); i++) {
        pawl_command cmd;

        if (pawl_state_command(st, i, pawl_engine_step(s->engine), &cmd, NULL, NULL) == PAWL_OK && cmd.effect != NULL)
            for (const file_effect *e = s->file != NULL ? s->file->effects : NULL; e != NULL; e = e->next)
                if (strcmp(e->name, cmd.effect) == 0 && strncmp(e->word, FILE_JOB_PREFIX, sizeof FILE_JOB_PREFIX - 1) == 0)
                    return e->word + sizeof FILE_JOB_PREFIX - 1;
    }
    return NULL;
}

/* For a secret, for a worker elsewhere, or for a handler. */
static int waits_for_more(session *s, pawl_state *st, const pawl_err *err)
{
    arena *mem = &s->c->mem;
    const char *why = missing_secret(mem, st), *job = why == NULL ? job_waiting(s, st) : NULL;

    if (job != NULL) {
        cli_note(s->c, "%s: the job `%s` is for a worker elsewhere: `pawl serve %s` goes on with the run, and gives its jobs to workers", s->run, job,
                 s->path != NULL ? s->path : "FILE");
    } else {
        cli_note(s->c, "%s: %s", s->run, why != NULL ? why : err->text);
        cli_note(s->c, "when it is there, go on: pawl resume %s", s->run);
    }
    if (s->c->json)
        cli_json(s->c, value_pack(mem, NULL, "{s:{s:s,s:s},s:s,s:s,s:[]}", "reason", "code", pawl_code_name(PAWL_PENDING), "text",
                                  why != NULL ? why : err->text, "run", s->run, "status", pawl_status_name(pawl_state_status(st)), "waits"));
    return EXIT_WAITS;
}

static int stands(session *s, pawl_code rc, const pawl_err *err)
{
    char who[DRIVER_NAME_BYTES];
    pawl_err why = {0};
    pawl_state *st;
    asks all;

    if (rc == PAWL_HELD)
        return held(s, err);
    if (rc == PAWL_CORRUPT || rc == PAWL_CONFLICT)
        logging_line(&s->log, LOG_ERROR, s->run, "parked", err->text);
    if (rc < 0)
        return cli_fail(s->c, rc, err);
    if (rc == PAWL_PENDING && signals_stopped() == 0 && driven_elsewhere(s, who))
        return print_left(s, who);
    if ((st = pawl_run_state(s->engine, s->run, &why)) == NULL)
        return cli_fail(s->c, why.code < 0 ? why.code : PAWL_IO, &why);
    if (pawl_state_next(st) == PAWL_HALTED)
        return ended(s, st);
    if (signals_stopped() != 0) {
        cli_note(s->c, "%s is stopped, and nothing is lost; go on: pawl resume %s", s->run, s->run);
        return signals_stopped();
    }
    if (session_asks(s, s->run, &all) && all.n > 0)
        return waiting(s, st, &all);
    if (*err->text != '\0') {
        return waits_for_more(s, st, err);
    }
    cli_note(s->c, "%s is %s; go on: pawl resume %s", s->run, state_word(st), s->run);
    return EXIT_WAITS;
}

/* ---- driving -------------------------------------------------------------------------------------------------- */

static bool ask_on(session *s, pawl_code rc)
{
    return rc >= 0 && rc != PAWL_HALTED && signals_stopped() == 0 && !(rc == PAWL_PENDING && driven_elsewhere(s, NULL));
}

/* The event is a delivery to `run`, for the process that drives it, `who`. Waits until that process has taken it, in growing intervals. When the lease
 * of the session's run is free, the run is driven here, and what that returned is returned. */
static pawl_code left_to(session *s, const char *run, char who[DRIVER_NAME_BYTES], pawl_err *err)
{
    pawl_store *store = session_store(s);
    uint64_t seen = store->verbs->version(store), looked = 0;
    int ms = WRITE_MS;

    for (int waited = 0; signals_stopped() == 0; waited += ms, ms = ms < WRITE_MS_MAX ? 2 * ms : ms) {
        if (seen == 0 || seen != looked || *who == '\0' || owner_dead(who)) {  /* else nobody has written, and that process is alive */
            pawl_code rc;

            s->left_taken = s->left_no == 0 || !delivery_is_open(s, run, s->left_no);
            rc = driven_elsewhere(s, who) ? PAWL_HELD : driven(s, drive_continue, NULL, err);
            if (rc != PAWL_HELD) {
                s->left_taken = true;           /* by the holder before, or by the engine here */
                *who = '\0';
                return rc;
            }
            *err = (pawl_err){0};
            if (*who != '\0' && s->left_taken)
                break;
        }
        if (waited >= TAKEN_MS_MAX)
            break;
        looked = seen;
        wait_for_write(store, &seen, ms);
    }
    if (signals_stopped() != 0)
        *who = '\0';
    return PAWL_PENDING;
}

/* Two processes may answer at the same moment: one answer is refused, and the run goes on with the other one. */
static pawl_code sent(session *s, const pawl_event *ev, pawl_code rc, char who[DRIVER_NAME_BYTES], pawl_err *err)
{
    pawl_err why = {0};
    pawl_code on;

    if (rc == PAWL_PENDING)
        return left_to(s, s->run, who, err);
    rc = answered_before(s, ev, rc, err);       /* not earlier: while the engine drives, the store handle is the engine's */
    if (rc != PAWL_CONFLICT || ev->kind != PAWL_EV_ANSWER || signals_stopped() != 0)
        return rc;
    on = driven(s, drive_continue, NULL, &why);
    if (on < 0 && on != PAWL_HELD && on != rc)
        cli_note(s->c, "%s", why.text);
    return rc;
}

int drive_run(session *s, drive_fn *first, void *ctx)
{
    char who[DRIVER_NAME_BYTES] = "", child[RUN_ID_BYTES] = "";
    pawl_err err = {0};
    pawl_code rc;
    bool took;
    int code;

    s->left_no = 0;
    s->took = s->left_taken = false;
    if (first == drive_child_answer)
        asks_run_of(((const pawl_event *)ctx)->id, child);
    signals_catch(s->engine);
    rc = first == drive_child_answer ? drive_child_answer(s, ctx, &err) : driven(s, first, ctx, &err);
    took = s->took;
    if (first == drive_event)
        rc = sent(s, ctx, rc, who, &err);
    else if (first == drive_child_answer && rc == PAWL_HELD)
        rc = left_to(s, child, who, &err);
    while (*who == '\0' && ask_on(s, rc)) {
        pawl_err why = {0};

        if (answer_one(s, &rc, &why) != ANSWERED)
            break;
        err = (pawl_err){0};
        if (rc == PAWL_CONFLICT) {      /* another process was first */
            cli_note(s->c, "%s", why.text);
            rc = driven(s, drive_continue, NULL, &err);
        } else {
            err = why;
        }
    }
    code = *who != '\0' ? print_left(s, who) : stands(s, rc, &err);
    s->took = took;
    signals_catch(NULL);
    return code;
}

/* ---- delivered, not driven --------------------------------------------------------------------------------------------- */

/* A run that has ended accepts no event, except that a failed one may be retried. Another answer may have ended it a moment ago: it is quoted (W3). */
static int over_takes(session *s, pawl_state *st, const pawl_event *ev)
{
    const pawl_event_kind kind = ev->kind;
    pawl_status status = pawl_state_status(st);
    const char *is = pawl_status_name(status);
    char run[RUN_ID_BYTES];
    past_answer before = {0};
    pawl_err err = {0};

    asks_run_of(is_childs(s, ev) ? ev->id : s->run, run);
    if (kind == PAWL_EV_ANSWER && ev->id != NULL && past_answer_find(s, run, ev->id, &before))
        return cli_fail(s->c, past_answer_conflict(run, &before, &err), &err);
    if (kind == PAWL_EV_REOPEN && status == PAWL_STATUS_FAILED)
        return EXIT_DONE;
    if (kind == PAWL_EV_REOPEN && status == PAWL_STATUS_REJECTED && past_answer_find(s, run, NULL, &before) && answer_is_no(before.value) && before.seq > 1)
        fail(&err, PAWL_INVALID, "%s is rejected, and only a failed run can be retried; `pawl fork %s --at %llu` starts a new run that asks again", s->run,
             s->run, (unsigned long long)before.seq - 1);
    else if (kind == PAWL_EV_REOPEN)
        fail(&err, PAWL_INVALID, "%s is %s, and only a failed run can be retried; `pawl fork %s --at SEQ` starts a new run from an entry of it", s->run, is,
             s->run);
    else if (kind == PAWL_EV_CANCEL)
        fail(&err, PAWL_INVALID, "%s is %s: there is nothing to cancel", s->run, is);
    else
        fail(&err, PAWL_INVALID, "%s is %s and accepts nothing more", s->run, is);
    return cli_fail(s->c, PAWL_INVALID, &err);
}

static int may_deliver(session *s, const pawl_event *ev)
{
    const pawl_event_kind kind = ev->kind;
    pawl_err err = {0};
    pawl_state *st = pawl_run_state(s->engine, s->run, &err);
    if (st == NULL)
        return cli_fail(s->c, err.code < 0 ? err.code : PAWL_IO, &err);
    if (pawl_state_next(st) == PAWL_HALTED)
        return over_takes(s, st, ev);
    if (kind == PAWL_EV_REOPEN) {
        fail(&err, PAWL_INVALID, "%s is %s: it has not failed; `pawl resume %s` continues it", s->run, state_word(st),
             s->run);
        return cli_fail(s->c, PAWL_INVALID, &err);
    }
    return kind == PAWL_EV_CANCEL || kind == PAWL_EV_UPDATE ? EXIT_DONE
                                                            : mode_deliver(s, st, cli_given(s->c, "no-run") == NULL && !driven_elsewhere(s, NULL));
}

int event_allowed(session *s, pawl_event_kind kind)
{
    return may_deliver(s, &(pawl_event){ .kind = kind });
}

int left_print(session *s, const char *run)
{
    arena *mem = &s->c->mem;

    if (s->c->json)
        cli_json(s->c, value_pack(mem, NULL, "{s:v,s:s,s:b}", "owner", value_null(mem), "run", run, "taken", 0));
    return EXIT_DONE;
}

static int leave(session *s, const pawl_event *ev)
{
    pawl_err err = {0};
    char run[RUN_ID_BYTES];
    pawl_code rc;

    asks_run_of(is_childs(s, ev) ? ev->id : s->run, run);
    if ((rc = session_deliver_once(s, run, ev, &err)) != PAWL_OK)
        return cli_fail(s->c, rc, &err);
    cli_note(s->c, "%s: stored, and not driven; go on: pawl resume %s", run, s->run);
    return left_print(s, run);
}

int event_send(session *s, const pawl_event *ev)
{
    pawl_event copy = *ev;
    char run[RUN_ID_BYTES];
    int code;

    asks_run_of(is_childs(s, ev) ? ev->id : s->run, run);
    if (delivered_before(s, run))    /* what it led to may forbid it now */
        return leave(s, ev);
    code = may_deliver(s, ev);
    if (code != EXIT_DONE)
        return code;
    if (cli_given(s->c, "no-run") != NULL)
        return leave(s, ev);
    return drive_run(s, is_childs(s, ev) ? drive_child_answer : drive_event, &copy);
}
