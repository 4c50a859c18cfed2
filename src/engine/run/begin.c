/* begin.c - starts runs with their records; starting an id that exists continues that run (S7, G10).
 *
 * The public functions pawl_run*() and pawl_begin*(). Called by hosts on the driving thread; the store is used under the engine's lock. Invariant: the
 * base of a run is stored together with its first entry, or with a delivery of its start. */
#include "engine/run/begin.h"
#include "engine/run/record_rights.h"
#include "engine/run/run.h"
#include "kernel/cost.h"
#include "kernel/item.h"
#include "kernel/machine.h"
#include "kernel/names.h"
#include "kernel/rights.h"
#include "kernel/state.h"
#include "kernel/step.h"

#include <stdio.h>
#include <string.h>

/* ---- a run's record --------------------------------------------------------------------------- */

enum { RECORD_BYTES_MAX = 4096, KEY_DIGITS = 32, LAST_PAGE = 64 };     /* RECORD_BYTES_MAX: of each text; KEY_DIGITS: of the digest of a dedupe key */

pawl_code info_draw(pawl_engine *e, pawl_run_info *info, pawl_err *err)
{
    uint64_t drawn[2] = {0};

    if ((info->life == 0 || info->seed == 0) && !chance(e, drawn))
        return fail(err, PAWL_IO, "%s: the system gives no random numbers", info->id != NULL ? info->id : "");
    if (info->life == 0)
        info->life = drawn[0];
    if (info->seed == 0)
        info->seed = drawn[1];
    if (info->created_ms == 0)
        info->created_ms = engine_now(e);
    return PAWL_OK;
}

pawl_code pawl_dedupe_run(const char *key, char run[PAWL_DEDUPE_RUN_BYTES])
{
    size_t n = key == NULL ? 0 : strnlen(key, RECORD_BYTES_MAX + 1);
    char hex[HASH_HEX + 1];
    hash h;

    *run = '\0';
    if (n == 0 || n > RECORD_BYTES_MAX || !utf8_valid(key, n))
        return PAWL_INVALID;
    hash_of(key, n, &h);
    hash_hex(&h, hex);
    snprintf(run, PAWL_DEDUPE_RUN_BYTES, "key-%.*s", KEY_DIGITS, hex);
    return PAWL_OK;
}

static pawl_code text_check(const char *run, const char *what, const char *text, pawl_err *err)
{
    size_t n = text == NULL ? 0 : strnlen(text, RECORD_BYTES_MAX + 1);

    if (text == NULL || (n > 0 && n <= RECORD_BYTES_MAX && utf8_valid(text, n)))
        return PAWL_OK;
    return fail(err, n > RECORD_BYTES_MAX ? PAWL_LIMIT : PAWL_INVALID, "%s: its %s is empty, no UTF-8, or of more than %d bytes", run, what,
                RECORD_BYTES_MAX);
}

pawl_code record_check(const pawl_run_info *i, pawl_err *err)
{
    const struct { const char *name, *text; } texts[] = {
        { "creator", i->created_by }, { "context", i->context }, { "parent", i->parent }, { "rights", i->rights }, { "trace", i->trace },
    };
    int64_t ms;
    pawl_code rc = PAWL_OK;

    for (size_t k = 0; k < sizeof texts / sizeof *texts && rc == PAWL_OK; k++)
        rc = text_check(i->id, texts[k].name, texts[k].text, err);
    for (size_t k = 0; k < sizeof i->labels / sizeof *i->labels && rc == PAWL_OK; k++)
        rc = text_check(i->id, "label", i->labels[k], err);
    if (rc != PAWL_OK || (rc = store_by_check(i->id, i->created_by, err)) != PAWL_OK)
        return rc;
    if (i->mode != NULL && mode_ranked(i->mode) == RANK_NONE)
        return fail(err, PAWL_INVALID, "%s: mode \"%.64s\" is none of plan, default, acceptEdits, bypassPermissions", i->id, i->mode);
    if (i->rights != NULL && mode_ranked(i->rights) == RANK_NONE)
        return fail(err, PAWL_INVALID, "%s: rights \"%.64s\" are none of plan, default, acceptEdits, bypassPermissions: the highest mode that it may have",
                    i->id, i->rights);
    if (!store_retention_read(i->retention, &ms))
        return fail(err, PAWL_INVALID, "%s: retention \"%.64s\" is none of keep, delete, keep:N with one of ms, s, m, h, d behind it", i->id,
                    i->retention);
    if (i->deadline_ms < 0 || i->created_ms < 0)
        return fail(err, PAWL_INVALID, "%s: its %s is before 1970", i->id, i->deadline_ms < 0 ? "deadline" : "beginning");
    if (i->budget.tokens < 0 || i->budget.micros < 0 || i->budget.calls < 0 || i->budget.ms < 0)
        return fail(err, PAWL_INVALID, "%s: its budget is below 0; 0 is no bound", i->id);
    return PAWL_OK;
}

/* Checks a record. With a dedupe key, the id follows from the key. */
static pawl_code info_of(const pawl_run_info *given, char key_run[PAWL_DEDUPE_RUN_BYTES], pawl_run_info *info, pawl_err *err)
{
    if (given == NULL)
        return fail(err, PAWL_INVALID, "a run is begun with a record of at least its id");
    *info = *given;
    if (given->dedupe_key == NULL)
        return given->id != NULL ? record_check(info, err) : fail(err, PAWL_INVALID, "a run has an id, or a dedupe key");
    if (pawl_dedupe_run(given->dedupe_key, key_run) != PAWL_OK)
        return fail(err, PAWL_INVALID, "a dedupe key has 1 to %d bytes of UTF-8", RECORD_BYTES_MAX);
    if (given->id != NULL && strcmp(given->id, key_run) != 0)
        return fail(err, PAWL_INVALID, "%.128s: a run with a dedupe key has its id from that, %s: leave the one or the other out", given->id,
                    key_run);
    info->id = key_run;
    return record_check(info, err);
}

static bool has_label(const pawl_run_info *i, const char *label)
{
    for (size_t k = 0; k < sizeof i->labels / sizeof *i->labels; k++)
        if (i->labels[k] != NULL && strcmp(i->labels[k], label) == 0)
            return true;
    return false;
}

static bool labels_differ(const pawl_run_info *a, const pawl_run_info *b)
{
    bool any = false, differ = false;

    for (size_t k = 0; k < sizeof a->labels / sizeof *a->labels; k++) {
        any = any || a->labels[k] != NULL;
        differ = differ || (a->labels[k] != NULL && !has_label(b, a->labels[k])) || (b->labels[k] != NULL && !has_label(a, b->labels[k]));
    }
    return any && differ;
}

static bool caps_differ(const pawl_caps *a, const pawl_caps *b)
{
    return a->tokens != b->tokens || a->micros != b->micros || a->calls != b->calls || a->ms != b->ms;
}

/* Compares the members of a record that must not change. The creator, the time and the trace may differ. */
pawl_code record_same(const pawl_state *st, pawl_step *look, const pawl_run_info *now, pawl_err *err)
{
    pawl_run_info was;
    pawl_code rc = pawl_state_info(st, look, &was, err);
    const struct { const char *name, *now, *was; } texts[] = {
        { "context", now->context, was.context }, { "parent", now->parent, was.parent }, { "mode", now->mode, was.mode },
        { "rights", now->rights, was.rights }, { "dedupe key", now->dedupe_key, was.dedupe_key }, { "retention", now->retention, was.retention },
    };
    const char *other = NULL;

    if (rc != PAWL_OK)
        return rc;
    if (now->life != 0 && now->life != was.life)
        other = "life";
    if (now->seed != 0 && now->seed != was.seed)
        other = "seed";
    if (now->deadline_ms != 0 && now->deadline_ms != was.deadline_ms)
        other = "deadline";
    if (now->priority != 0 && now->priority != was.priority)
        other = "priority";
    if (labels_differ(now, &was))
        other = "labels";
    if (!caps_none(&now->budget) && caps_differ(&now->budget, &was.budget))
        other = "budget";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].now != NULL && (texts[i].was == NULL || strcmp(texts[i].now, texts[i].was) != 0))
            other = texts[i].name;
    if (other == NULL)
        return PAWL_OK;
    return fail(err, PAWL_CONFLICT, "%s: it was begun with another %s: leave that out to go on with it, or begin another run", pawl_state_run(st), other);
}

/* Checks that the input equals that of the run's start: starting an id again continues the run, and another input would be lost silently (G10). */
static pawl_code same_input_as(pawl_engine *e, cached_run *r, const char *input, pawl_err *err)
{
    const pawl_value *given;
    pawl_entry *first = NULL;
    pawl_bytes line = {0}, records;
    pawl_code rc = run_read_entry(r, 1, &line, &records), loaded = PAWL_OK;

    if (rc == PAWL_GONE)
        return fail(err, PAWL_CONFLICT, "%s: what it was begun with was pruned, and it asks for no input: go on without one", r->id);
    if (rc == PAWL_OK && pawl_entry_read(line, e->look, &first, NULL) == PAWL_OK && first->items != NULL && first->items->kind == ITEM_START &&
        (loaded = pawl_entry_load(r->st, first, err)) == PAWL_OK) {
        given = pawl_json(e->look, input);
        if (given != NULL && pawl_value_equal(given, first->items->value))
            return PAWL_OK;
    }
    if (loaded != PAWL_OK)
        return loaded;
    return fail(err, PAWL_CONFLICT, "%s: it was begun with another input, and asks for none: go on without one, or begin another run", r->id);
}

static pawl_code same_input(pawl_engine *e, cached_run *r, const char *input, pawl_err *err)
{
    pawl_event start = { .kind = PAWL_EV_START, .value = input };
    pawl_code rc;
    buf text;

    buf_init(&text, &e->alloc);
    if ((rc = record_rights(r->m, pawl_state_base(r->st), r->st->parent != NULL, &start, &text, err)) == PAWL_OK)
        rc = same_input_as(e, r, start.value, err);
    buf_free(&text);
    return rc;
}

/* ---- one that is there ---------------------------------------------------------------------------- */

static bool is_there(pawl_engine *e, const char *run)
{
    pawl_head head;
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->head(e->store, run, &head, NULL);
    pthread_mutex_unlock(&e->lock);
    return rc != PAWL_GONE;
}

static pawl_code run_on(pawl_engine *e, cached_run *r, const pawl_run_info *info, const char *input, pawl_err *err)
{
    const pawl_event start = { .kind = PAWL_EV_START, .value = input }, again = { .kind = PAWL_EV_INPUT, .value = input };
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = run_hold(e, r, &why);

    if (rc != PAWL_OK)
        return drive_failed(e, r, rc, &why, err);
    if ((rc = record_same(r->st, e->look, info, err)) != PAWL_OK)
        return run_release(e, r, NULL), rc;
    if ((rc = deliveries_take(e, r, &why)) != PAWL_OK || (rc = run_hold(e, r, &why)) != PAWL_OK)
        return drive_failed(e, r, rc, &why, err);
    if (pawl_state_status(r->st) == PAWL_STATUS_SUBMITTED)
        return drive(e, r, &start, err);
    if (input != NULL) {
        rc = info->dedupe_key == NULL && pawl_state_next(r->st) == PAWL_INTERRUPTED ? drive(e, r, &again, err) : PAWL_IGNORED;
        if (rc != PAWL_IGNORED)
            return rc;              /* the run waited for input: the input starts the next turn (G13) */
        if ((rc = same_input(e, r, input, err)) != PAWL_OK)
            return run_release(e, r, NULL), rc;
    }
    return drive(e, r, NULL, err);
}

/* ---- one that begins --------------------------------------------------------------------------------- */

static bool machine_keeps(const pawl_machine *m)
{
    for (uint32_t i = 0; i < m->nchannels; i++)
        if (m->channels[i].c.keep)
            return true;
    return false;
}

typedef struct last_run { char id[RUN_BYTES_MAX + 1]; uint64_t no; size_t seen; } last_run;

/* Remembers a run that is no child: a child is in the context of its parent, and its channels are not carried over. */
static bool see_last(void *ctx, const pawl_head *head)
{
    last_run *l = ctx;

    l->seen++;
    l->no = head->no;
    if (head->parent == NULL)
        snprintf(l->id, sizeof l->id, "%s", head->run);
    return *l->id == '\0';
}

/* The newest completed run of this context; *last NULL: none. */
static pawl_code context_last(pawl_engine *e, const char *context, cached_run **last, pawl_err *err)
{
    pawl_filter f = { .context = context, .status = 1 + PAWL_STATUS_COMPLETED, .limit = LAST_PAGE };
    pawl_err why = { PAWL_OK, "" };
    last_run l = { .id = "" };
    pawl_code rc;

    *last = NULL;
    do {
        l.seen = 0;
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->list(e->store, &f, see_last, &l, err);
        pthread_mutex_unlock(&e->lock);
        f.before = l.no;
    } while (rc == PAWL_OK && *l.id == '\0' && l.seen == LAST_PAGE);
    if (rc != PAWL_OK || *l.id == '\0')
        return rc;
    *last = run_state_query(e, l.id, &why);
    if (*last == NULL && why.code != PAWL_GONE)     /* GONE: another process has just removed the run */
        return fail(err, why.code < 0 ? why.code : PAWL_NOMEM, "%s", why.text);
    return PAWL_OK;
}

/* Makes the first state of a run. Channels with `keep` have the values of the last run of the context. */
static pawl_code state_made(pawl_engine *e, const pawl_run_info *given, pawl_run_info *info, pawl_state **st, pawl_err *err)
{
    const size_t limit = e->step->blobs.limit;
    cached_run *last = NULL;
    pawl_code rc;

    *info = *given;
    *st = NULL;
    rc = info_draw(e, info, err);
    if (rc == PAWL_OK && info->context != NULL && machine_keeps(e->m))
        rc = context_last(e, info->context, &last, err);
    if (rc != PAWL_OK || last == NULL)
        return rc != PAWL_OK ? rc : pawl_state_new(e->m, info, 0, NULL, st, err);
    pawl_step_blobs(e->step, 0);        /* the base must not refer to blobs, since it is stored with one write */
    rc = pawl_state_carry(last->st, e->m, info, e->step, st, err);
    e->step->blobs.limit = limit;
    run_keep_released(e, last);
    return rc;
}

/* Folds the start and stores it together with the base, so that a refused start leaves no run. PAWL_CONFLICT: another process was faster. */
static pawl_code run_start(pawl_engine *e, cached_run *r, const pawl_run_info *given, const char *input, pawl_err *err)
{
    pawl_run_info info;
    pawl_state *st;
    pawl_code rc = state_made(e, given, &info, &st, err);

    if (rc != PAWL_OK)
        return rc;
    run_init(e, r, st);
    rc = run_feed(e, r, &(pawl_event){ .kind = PAWL_EV_START, .value = input, .time_ms = info.created_ms }, err);
    if (rc >= 0 && rc != PAWL_IGNORED)
        return run_create(e, r, err);
    run_drop_state(e, r);
    return rc;
}

pawl_code pawl_run_with(pawl_engine *e, const pawl_run_info *given, const char *input, pawl_err *err)
{
    char key_run[PAWL_DEDUPE_RUN_BYTES];
    pawl_run_info info;
    cached_run *r = NULL;
    pawl_code rc = e == NULL ? code_before(err) : info_of(given, key_run, &info, err);

    if (rc != PAWL_OK || (rc = run_known(e, info.id, &r, err)) != PAWL_OK)
        return rc;
    for (int tries = 0;; tries++) {
        pawl_err why = { PAWL_OK, "" };

        if (run_is_gone(r))
            run_drop_state(e, r);
        rc = r->st != NULL || is_there(e, info.id) ? run_on(e, r, &info, input, &why) : PAWL_GONE;
        if (rc == PAWL_GONE) {      /* no such run, or a finished one whose retention has passed */
            why = (pawl_err){ PAWL_OK, "" };
            rc = run_start(e, r, &info, input, &why);
            if (rc == PAWL_CONFLICT && tries == 0)
                continue;
            if (rc == PAWL_OK)
                rc = drive_begun(e, r, &why);
        }
        if (why.code != PAWL_OK)
            fail(err, why.code, "%s", why.text);
        return rc;
    }
}

pawl_code pawl_run(pawl_engine *e, const char *run, const char *input, pawl_err *err)
{
    cached_run *r;
    pawl_code rc = e == NULL ? code_before(err) : run_known(e, run, &r, err);

    return rc == PAWL_OK ? pawl_run_with(e, &(pawl_run_info){ .id = run }, input, err) : rc;
}

/* ---- one that begins, and is left --------------------------------------------------------------------- */

static pawl_code deliver_to(pawl_engine *e, const char *run, pawl_delivery_kind kind, const char *id, const char *input, pawl_err *err)
{
    pawl_delivery d = { .id = id, .kind = kind };
    pawl_code rc;

    if (input != NULL)
        d.value = (pawl_bytes){ input, strlen(input) };
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->deliver(e->store, run, &d, err);
    pthread_mutex_unlock(&e->lock);
    return rc;
}

static bool asks_input(pawl_engine *e, pawl_state *st)
{
    pawl_wait w;

    for (size_t i = 0; i < pawl_state_waits(st); i++)
        if (pawl_state_wait(st, i, e->look, &w, NULL) == PAWL_OK && w.kind == PAWL_WAIT_INPUT)
            return true;
    return false;
}

/* Continues a run that exists. Its start may not be delivered or not be taken yet, or the run waits for input; else there is nothing to do. */
static pawl_code begin_on(pawl_engine *e, const pawl_run_info *info, const char *input, pawl_err *err)
{
    cached_run *r = run_state_query(e, info->id, err);
    uint64_t drawn[2];
    char id[40];
    pawl_code rc;

    if (r == NULL)
        return code_before(err);
    if (run_is_retired(e, r) && !run_is_gone(r)) {
        rc = run_hold(e, r, NULL);     /* removes a run whose retention has passed */
        if (rc == PAWL_OK)
            rc = run_release(e, r, NULL);
    }
    if (run_is_gone(r))
        return PAWL_GONE;
    if (r->st == NULL && (rc = run_load(e, r, err)) != PAWL_OK)
        return rc;
    if ((rc = record_same(r->st, e->look, info, err)) != PAWL_OK)
        return rc;
    if (pawl_state_status(r->st) == PAWL_STATUS_SUBMITTED)
        return deliver_to(e, info->id, PAWL_DELIVER_START, "start", input, err);
    if (input == NULL)
        return PAWL_OK;
    if (info->dedupe_key != NULL || !asks_input(e, r->st))
        return same_input(e, r, input, err);
    if (!chance(e, drawn))
        return fail(err, PAWL_IO, "%s: the system gives no random numbers", info->id);
    snprintf(id, sizeof id, "d-%016llx%016llx", (unsigned long long)drawn[0], (unsigned long long)drawn[1]);
    return deliver_to(e, info->id, PAWL_DELIVER_INPUT, id, input, err);
}

/* Stores the base together with a delivery of the start. A start that the machine refuses creates no run. */
static pawl_code run_begin_delivered(pawl_engine *e, const pawl_run_info *given, const char *input, pawl_err *err)
{
    pawl_delivery start = { .id = "start", .kind = PAWL_DELIVER_START };
    pawl_beginning with = { .left = &start };
    pawl_run_info info;
    pawl_state *st;
    pawl_code rc = state_made(e, given, &info, &st, err);

    if (rc != PAWL_OK)
        return rc;
    if (input != NULL)
        start.value = (pawl_bytes){ input, strlen(input) };
    rc = start_try(e->m, st, (pawl_bytes){ input, start.value.size }, info.created_ms, e->step, err);
    if (rc >= 0) {
        pthread_mutex_lock(&e->lock);
        rc = e->store->verbs->create(e->store, pawl_state_base(st), &with, err);
        pthread_mutex_unlock(&e->lock);
    }
    pawl_state_free(st);
    return rc;
}

pawl_code pawl_begin_with(pawl_engine *e, const pawl_run_info *given, const char *input, pawl_err *err)
{
    char key_run[PAWL_DEDUPE_RUN_BYTES];
    pawl_run_info info;
    cached_run *r = NULL;
    pawl_code rc = e == NULL ? code_before(err) : info_of(given, key_run, &info, err);

    if (rc != PAWL_OK || (rc = run_known(e, info.id, &r, err)) != PAWL_OK)
        return rc;
    for (int tries = 0; tries < 2; tries++) {
        pawl_err why = { PAWL_OK, "" };

        rc = run_begin_delivered(e, &info, input, &why);
        if (rc == PAWL_CONFLICT) {
            why = (pawl_err){ PAWL_OK, "" };
            rc = begin_on(e, &info, input, &why);
        }
        if (rc == PAWL_GONE && tries == 0)
            continue;               /* a finished run was removed: create it again */
        if (why.code != PAWL_OK)
            fail(err, why.code, "%s", why.text);
        break;
    }
    run_keep_released(e, r);
    return rc;
}

pawl_code pawl_begin(pawl_engine *e, const char *run, const char *input, pawl_err *err)
{
    cached_run *r;
    pawl_code rc = e == NULL ? code_before(err) : run_known(e, run, &r, err);

    return rc == PAWL_OK ? pawl_begin_with(e, &(pawl_run_info){ .id = run }, input, err) : rc;
}
