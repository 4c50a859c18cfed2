/* record.c - records of model answers: written and read while a run works, or exported from the journal of a run.
 *
 * session_recorded is called by handlers on any thread; its job is a copy on its stack, so `later` is NULL and it waits for the answer. */
#include "app/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- while it goes on --------------------------------------------------------------------------------- */

static const char *given_or(const char *given, const char *variable)
{
    const char *value = given != NULL ? given : getenv(variable);

    return value != NULL && *value != '\0' ? value : NULL;
}

static bool mode_named(const char *name, pawl_record_mode *out)
{
    static const struct { const char *name; pawl_record_mode mode; } rows[] = {
        { "strict", PAWL_RECORD_STRICT }, { "live-on-miss", PAWL_RECORD_LIVE }, { "shadow", PAWL_RECORD_SHADOW },
    };

    *out = PAWL_RECORD_LIVE;
    for (size_t i = 0; name != NULL && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(name, rows[i].name) == 0) {
            *out = rows[i].mode;
            return true;
        }
    return name == NULL;
}

pawl_code session_record_open(session *s, pawl_handler_fn *fn, pawl_err *err)
{
    const app_caller *c = s->caller;
    const char *path = given_or(c != NULL ? c->record : NULL, "PAWL_RECORD"), *name = given_or(c != NULL ? c->record_mode : NULL, "PAWL_RECORD_MODE");
    pawl_record_mode mode;
    pawl_err why = {0};

    if (c == NULL || !c->models || (path == NULL && c->record_mode == NULL))
        return PAWL_OK;
    if (path == NULL)
        return fail(err, PAWL_INVALID, "--record-mode %.60s: of which record? --record FILE (or PAWL_RECORD) names it", name != NULL ? name : "");
    if (!mode_named(name, &mode))
        return fail(err, PAWL_INVALID, "--record-mode %.60s: there is strict, live-on-miss and shadow", name);
    if (mode != PAWL_RECORD_LIVE && access(path, F_OK) != 0 && errno == ENOENT)
        return fail(err, PAWL_INVALID, "%.90s: there is no such record; `pawl export RUN --record --out FILE` makes one of a run, live-on-miss one of what is asked now", path);
    s->record = pawl_llm_record_open(path, mode, fn, s, &why);
    return s->record != NULL ? PAWL_OK : fail(err, why.code == PAWL_NOMEM ? PAWL_NOMEM : PAWL_INVALID, "%s", why.text);
}

/* A job whose live events pass through here: those about the record also become notes. */
typedef struct heard { const pawl_job *of; const session *s; } heard;

static const heard *heard_of(const pawl_job *job)
{
    return job->ctx;
}

static bool heard_canceled(const pawl_job *job) { return heard_of(job)->of->canceled(heard_of(job)->of); }
static void heard_beat(const pawl_job *job) { heard_of(job)->of->heartbeat(heard_of(job)->of); }

static void print_record(const pawl_job *job, const char *text)
{
    const app_caller *c = heard_of(job)->s->caller;
    const pawl_value *v, *list, *one;
    pawl_iter it;
    arena mem;
    buf b;

    arena_init(&mem, NULL, 1024);
    buf_init(&b, NULL);
    v = value_parse(&mem, text, strlen(text), "record", NULL);
    list = pawl_value_get(v, "differs");
    for (it = pawl_iter_of(list); (one = pawl_iter_next(&it, NULL)) != NULL;)
        buf_fmt(&b, "%s%s", b.size > 0 ? ", " : "", pawl_value_string(one));
    buf_char(&b, '\0');
    if (list == NULL)
        app_note(c, "%s: its answer was not written to the record: %s", job->id, pawl_value_string(pawl_value_get(v, "failed")));
    else if (!b.failed && strcmp(b.data, "missing") == 0)
        app_note(c, "%s: the record has no answer to this", job->id);
    else if (!b.failed)
        app_note(c, "%s: another answer than in the record, by: %s", job->id, b.data);
    buf_free(&b);
    arena_free(&mem);
}

static pawl_code heard_output(const pawl_job *job, const char *name, const char *text)
{
    const heard *h = heard_of(job);

    if (strcmp(name, "record") == 0)
        print_record(job, text);
    return h->of->say != NULL ? h->of->say(h->of, name, text) : PAWL_OK;
}

pawl_code session_recorded(session *s, const pawl_job *job, pawl_reply *reply)
{
    heard h = { job, s };
    pawl_job own = *job;

    own.ctx = &h;
    own.later = NULL;           /* it waits, because `h` ends with this call */
    own.say = heard_output;
    own.canceled = job->canceled != NULL ? heard_canceled : NULL;
    own.heartbeat = job->heartbeat != NULL ? heard_beat : NULL;
    return pawl_effect_record(&own, reply, s->record);
}

/* ---- of a run that is there ----------------------------------------------------------------------------- */

typedef struct member { const char *run, *parent; bool in; } member;
typedef struct run_family { arena *mem; member *all; size_t n, cap; } run_family;

static bool see_child(void *ctx, const pawl_head *h)
{
    run_family *f = ctx;
    member one = { 0 };

    if (h->parent == NULL)
        return true;
    one.run = arena_text(f->mem, h->run);
    one.parent = arena_strdup(f->mem, h->parent, strcspn(h->parent, "~"));
    if (one.run == NULL || one.parent == NULL || !arena_room(f->mem, (void **)&f->all, &f->cap, f->n, sizeof one))
        return false;
    f->all[f->n++] = one;
    return true;
}

/* Marks as `in` all runs that lead to `run` through any number of others; an import may list them in any order. NULL: no memory. */
static const member **family_of(run_family *f, const char *run, size_t *n)
{
    const member **in = arena_get(f->mem, (f->n + 1) * sizeof *in);

    *n = 0;
    for (size_t at = 0; in != NULL && at <= *n; at++) {
        const char *parent = at == 0 ? run : in[at - 1]->run;

        for (size_t i = f->n; i-- > 0;)
            if (!f->all[i].in && strcmp(f->all[i].parent, parent) == 0) {
                f->all[i].in = true;
                in[(*n)++] = &f->all[i];
            }
    }
    return in;
}

static pawl_code record_one(pawl_store *s, const char *run, pawl_sink_fn *sink, void *ctx, pawl_err *err)
{
    pawl_code rc = pawl_llm_recording_of_run(s, run, "llm", sink, ctx, err);

    return rc == PAWL_OK ? pawl_llm_recording_of_run(s, run, "prompt", sink, ctx, err) : rc;
}

pawl_code record_export(pawl_store *s, const char *run, pawl_sink_fn *sink, void *ctx, pawl_err *err)
{
    const pawl_filter all = { .limit = SIZE_MAX / 2 };
    const member **in = NULL;
    arena mem;
    run_family f = { .mem = &mem };
    size_t n = 0;
    pawl_code rc;

    arena_init(&mem, NULL, 4096);
    rc = s->verbs->list(s, &all, see_child, &f, err);
    if (rc == PAWL_OK && (mem.failed || (in = family_of(&f, run, &n)) == NULL))
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its children", run);
    if (rc == PAWL_OK)
        rc = record_one(s, run, sink, ctx, err);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        rc = record_one(s, in[i]->run, sink, ctx, err);
    arena_free(&mem);
    return rc;
}
