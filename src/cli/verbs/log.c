/* log.c - `pawl log`: the journal of a run as lines, from any entry on; with --follow until the run has ended.
 *
 * A line is an event of the journal (pawl/stream.h), in the order in which it was stored, not an item (pawl/items.h): an item has the current state of a
 * thing, a log what was written. The status after an entry is the one in its envelope. Texts of commands, failures and prompts come from ui/format.c, as
 * in the live view. Called by main.c on the main thread; owns the struct log and its reader. */
#include "app/session.h"
#include "cli/ui/format.h"
#include "engine/run/owner.h"
#include "kernel/frame.h"
#include "kernel/state.h"
#include "pawl/history.h"

#include <signal.h>
#include <time.h>

/* VALUE_COLUMNS: a line shows so much of a value; --json has all of it */
enum { LOOK_MS = 50, HEAD_COLUMNS = 28, MS_COLUMNS = 4, VALUE_COLUMNS = 200, FLUSH_BYTES = 1 << 16, PIPE_COLUMNS = 4000 };
enum { PEOPLE_KINDS = PAWL_STREAM_UPDATES | PAWL_STREAM_MESSAGES | PAWL_STREAM_TASKS | PAWL_STREAM_CUSTOM | PAWL_STREAM_DEBUG };

typedef struct log {
    const cli_call *c;
    pawl_store *s;
    const char *run;
    buf out, what;
    const char *path;           /* of the current event */
    uint64_t event_seq;
    arena mem;                  /* of one event */
    size_t columns;
    bool times;                 /* each line has the time of its event, in milliseconds */
    uint64_t seq;               /* of the previous line, whose number is not repeated; 0: none */
    char status[24], said[24];  /* of the current entry, printed after it; the one that was printed last */
    char day[11];
    char undo[80];              /* "undo of NODE": the inverse that is performed; they follow each other */
    pawl_loss *losses;          /* leases that were lost and are not printed yet; their texts are in `loss_mem` */
    size_t nlosses, losses_cap;
    uint64_t lost;              /* the fence of the loss that was printed last */
    bool begun;                 /* an event was seen; losses before the first one belong to what --from leaves out */
    bool over;                  /* the run, when the losses were read */
    arena loss_mem;
    pawl_state *st;             /* after entry `st_seq`, to find the element of a task */
    uint64_t st_seq;
    bool in_entry;              /* the events are of an entry; false: of a record, before the entry that closes it */
    uint64_t looked;            /* the store's version when they were read */
} log;

static volatile sig_atomic_t stopped;

static void on_stop(int sig) { stopped = sig; }

/* ---- one line ---------------------------------------------------------------------------------------------- */

/* The day if it has changed; then the time of day. */
static void time_text(log *l, int64_t time_ms, char out[32])
{
    cli_time(out, time_ms);
    if (strlen(out) < 19)
        return;
    if (strncmp(out, l->day, 10) != 0)
        buf_fmt(&l->out, "        %.10s\n", out);
    snprintf(l->day, sizeof l->day, "%.10s", out);
    memmove(out, out + 11, 9);
    if (l->times)
        snprintf(out + 8, 32 - 8, ".%03d", (int)(time_ms % 1000));
}

/* The columns before the event and its node. */
static size_t head_columns(const log *l) { return HEAD_COLUMNS + (l->times ? MS_COLUMNS : 0); }

/* "    12  14:03:07  receipt   measure:3  -> status 0" */
static void line_print(log *l, uint64_t seq, int64_t time_ms, const char *kind, const char *path)
{
    const char *dim = l->c->colour ? "\x1b[2m" : "", *plain = l->c->colour ? "\x1b[0m" : "";
    char number[24] = "", time[32] = "";
    buf rest;

    if (seq != l->seq && seq != 0)
        snprintf(number, sizeof number, "%llu", (unsigned long long)seq);
    if ((seq != l->seq || l->times) && time_ms > 0)
        time_text(l, time_ms, time);
    l->seq = seq;
    buf_init(&rest, NULL);
    words_task(&rest, path, true);
    buf_text(&rest, *path != '\0' && l->what.size > 0 ? "  " : "");
    buf_put(&rest, l->what.data, l->what.size);
    buf_fmt(&l->out, "%s%6s  %*s%s  ", dim, number, l->times ? 8 + MS_COLUMNS : 8, time, plain);
    buf_fmt(&l->out, rest.size > 0 ? "%-8s  " : "%s", kind);
    words_fit(&l->out, rest.data, rest.size, l->columns - head_columns(l));
    buf_char(&l->out, '\n');
    l->out.failed = l->out.failed || rest.failed || l->what.failed;
    buf_free(&rest);
}

/* One more line for the same event, indented. */
static void more_print(log *l, const char *text)
{
    for (const char *nl; *text != '\0'; text = *nl == '\0' ? nl : nl + 1) {
        nl = text + strcspn(text, "\n");
        buf_fmt(&l->out, "%*s", (int)head_columns(l) + 2, "");
        words_fit(&l->out, text, (size_t)(nl - text), l->columns - head_columns(l) - 2);
        buf_char(&l->out, '\n');
    }
}

/* ---- what an event says ---------------------------------------------------------------------------------------- */

static void write_text(buf *out, const pawl_value *w)
{
    const char *channel = pawl_value_string(pawl_value_at(w, 0)), *op = pawl_value_string(pawl_value_at(w, 2));

    buf_fmt(out, "%s %s ", channel != NULL ? channel : "?", op == NULL ? "<-" : strcmp(op, "overwrite") == 0 ? ":=" : "<-*");
    cli_short(out, pawl_value_at(w, 1), VALUE_COLUMNS);
}

/* What an answer sets. */
static void set_text(buf *out, const pawl_value *update)
{
    pawl_iter it = pawl_iter_of(update);
    const pawl_value *key, *v;

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        if (words_own(pawl_value_string(key)))
            continue;
        buf_fmt(out, "; %s <- ", pawl_value_string(key));
        cli_short(out, v, VALUE_COLUMNS);
    }
}

/* One line for each write; the first is on the line of the node. */
static void on_update(log *l, const pawl_stream_event *ev, const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *w;
    bool any = false, leave = strcmp(ev->name, "leave") == 0;

    while ((w = pawl_iter_next(&it, NULL)) != NULL) {
        const char *channel = pawl_value_string(pawl_value_at(w, 0));

        if (channel == NULL || words_own(channel))
            continue;
        buf_reset(&l->what);
        write_text(&l->what, w);
        line_print(l, ev->seq, ev->time_ms, any ? "" : ev->name, any ? "" : ev->path);
        any = true;
    }
    buf_reset(&l->what);
    if (!any && (leave || strcmp(ev->name, "start") == 0))
        line_print(l, ev->seq, ev->time_ms, ev->name, ev->path);
}

static void on_call(log *l, const pawl_value *v)
{
    words_command(&l->what, v);
}

static void on_receipt(log *l, const pawl_value *v)
{
    const char *outcome = pawl_value_string(pawl_value_get(v, "outcome"));
    const pawl_value *value = pawl_value_get(v, "value"), *status = pawl_value_get(value, "status");

    buf_text(&l->what, "-> ");
    if (outcome != NULL && strcmp(outcome, "done") != 0) {
        buf_fmt(&l->what, "%s%s", outcome, pawl_value_type(value) == PAWL_TYPE_OBJECT ? ": " : "");
        if (pawl_value_type(value) == PAWL_TYPE_OBJECT)
            words_failure(&l->what, value);
    } else if (status != NULL) {
        buf_fmt(&l->what, "status %lld", (long long)pawl_value_int(status));
    } else {
        cli_short(&l->what, value, VALUE_COLUMNS);
    }
}

/* The journal names a task of a fan-out by its number: what it was given is in the state, of the entry that began its superstep. */
static void element_text(log *l, uint64_t seq)
{
    const task *tk;
    frame *in;

    if (strchr(l->path, ':') == NULL)
        return;
    seq -= !l->in_entry && seq > 0;
    if (l->st == NULL || l->st_seq != seq) {
        pawl_state_free(l->st);
        l->st = NULL;
        l->st_seq = seq;
        if (pawl_history_state(l->s, l->run, seq, &l->st, NULL) != PAWL_OK)     /* such as of an entry that was pruned */
            return;
    }
    tk = task_find(l->st, l->path, &in);
    if (tk == NULL || pawl_value_size(tk->args) == 0)
        return;
    words_element(&l->what, tk->args);
    buf_text(&l->what, ": ");
}

static void on_ask(log *l, const pawl_value *v)
{
    const char *kind = pawl_value_string(pawl_value_get(v, "kind")), *of = pawl_value_string(pawl_value_get(v, "of"));

    element_text(l, l->event_seq);
    if (kind != NULL && strcmp(kind, "signal") == 0) {
        buf_text(&l->what, "for the signal ");
        words_prompt(&l->what, pawl_value_get(v, "name"));
        return;
    }
    if (of != NULL)
        buf_fmt(&l->what, "of %s: ", of);
    words_prompt(&l->what, pawl_value_get(v, "prompt"));
}

/* The person who answered, and the note. */
static void by_whom(log *l, const pawl_value *v)
{
    const char *by = pawl_value_string(pawl_value_get(v, "by")), *note = pawl_value_string(pawl_value_get(v, "note"));

    if (by != NULL)
        buf_fmt(&l->what, "%sby %s", l->what.size > 0 ? ", " : "", *by == '@' ? by + 1 : by);
    if (note != NULL)
        buf_fmt(&l->what, "%s%s", l->what.size > 0 ? ": " : "", note);
}

static void on_answer(log *l, const pawl_value *v)
{
    if (!words_signed(&l->what, pawl_value_get(v, "value")))
        cli_short(&l->what, pawl_value_get(v, "value"), VALUE_COLUMNS);
    by_whom(l, v);
    set_text(&l->what, pawl_value_get(v, "update"));
}

static void on_unknown(log *l, const pawl_value *v)
{
    words_unknown(&l->what, l->path, pawl_value_get(v, "prompt"));
}

static void on_sleep(log *l, const pawl_value *v)
{
    char when[32];

    cli_time(when, pawl_value_int(pawl_value_get(v, "due")));
    buf_fmt(&l->what, "until %s", when);
}

static void on_signal(log *l, const pawl_value *v)
{
    words_prompt(&l->what, pawl_value_get(v, "name"));
    buf_char(&l->what, ' ');
    cli_short(&l->what, pawl_value_get(v, "value"), VALUE_COLUMNS);
}

static void on_unwind(log *l, const pawl_value *v)
{
    const char *status = pawl_value_string(pawl_value_get(v, "status"));

    buf_fmt(&l->what, "the completed steps will be undone, then the run is %s", status != NULL ? status : "over");
}

static void on_adopt(log *l, const pawl_value *v)
{
    const char *name = pawl_value_string(pawl_value_get(v, "name"));

    buf_fmt(&l->what, "%s, version %llu", name != NULL ? name : "", (unsigned long long)pawl_value_uint(pawl_value_get(v, "version")));
}

static const char *kind_text(const pawl_value *ask)
{
    const char *kind = pawl_value_string(pawl_value_get(ask, "kind"));

    return kind != NULL ? kind : "";
}

static void on_failure(log *l, const pawl_value *v) { words_failure(&l->what, v); }
static void nothing(log *l, const pawl_value *v) { (void)l, (void)v; }

/* Kinds that are not in the table are not for people: the end of a superstep, the number of a visit. */
static const struct { const char *name; void (*fn)(log *l, const pawl_value *v); } tasks[] = {
    { "adopt", on_adopt }, { "answer", on_answer }, { "ask", on_ask }, { "call", on_call }, { "cancel", by_whom }, { "doubt", on_unknown },
    { "drop", nothing }, { "end", on_failure }, { "fail", on_failure }, { "receipt", on_receipt }, { "reopen", by_whom },
    { "sign", on_answer }, { "signal", on_signal }, { "sleep", on_sleep }, { "spawn", on_call }, { "turn", nothing }, { "unwind", on_unwind },
};

/* Events of Pawl itself, whose path is no node: shown when somebody did something. "undo of NODE" for those of an inverse; "": of the run or an agent;
 * NULL: not for people, as the calls of an agent, which its messages tell. */
static const char *own_path(log *l, const pawl_stream_event *ev, const pawl_value *v)
{
    static const char *const people[] = { "answer", "ask", "doubt", "sign" };
    const char *last = strrchr(ev->path, '/'), *of = pawl_value_string(pawl_value_find(v, "/args/id")), *dot = of != NULL ? strchr(of, '.') : NULL;

    if (*ev->path == '\0' || !words_own(ev->path))
        return ev->path;
    if (strcmp(last != NULL ? last + 1 : ev->path, "@undo") == 0) {
        if (dot != NULL)        /* SUPERSTEP.NODE.VISIT.N */
            snprintf(l->undo, sizeof l->undo, "undo of %.*s", (int)strcspn(dot + 1, "."), dot + 1);
        return *l->undo != '\0' ? l->undo : "undo";
    }
    for (size_t i = 0; i < sizeof people / sizeof *people; i++)
        if (strcmp(ev->name, people[i]) == 0 && strcmp(kind_text(v), "input") != 0)
            return "";
    return NULL;
}

static void on_task(log *l, const pawl_stream_event *ev, const pawl_value *v)
{
    const char *detail = pawl_value_string(pawl_value_get(pawl_value_get(v, "value"), "detail")), *path = own_path(l, ev, v);

    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (strcmp(tasks[i].name, ev->name) == 0 && path != NULL) {
            l->path = path;
            l->event_seq = ev->seq;
            tasks[i].fn(l, v);
            line_print(l, ev->seq, ev->time_ms, ev->name, path);
            if (detail != NULL && strcmp(ev->name, "receipt") == 0)
                more_print(l, detail);
        }
}

static void on_emit(log *l, const pawl_stream_event *ev, const pawl_value *v)
{
    buf_fmt(&l->what, "%s ", ev->name);
    cli_short(&l->what, v, VALUE_COLUMNS);
    line_print(l, ev->seq, ev->time_ms, "emit", ev->path);
}

/* The status after an entry, if it has changed. */
static void status_print(log *l)
{
    if (strcmp(l->status, l->said) == 0)
        return;
    snprintf(l->said, sizeof l->said, "%s", l->status);
    buf_reset(&l->what);
    buf_text(&l->what, l->status);
    line_print(l, l->seq, 0, "status", "");
}

static void on_entry(log *l, const pawl_stream_event *ev, const pawl_value *v)
{
    const char *status = pawl_value_string(pawl_value_at(pawl_value_get(v, "envelope"), 3));

    status_print(l);
    l->in_entry = strcmp(ev->name, "entry") == 0;
    if (l->in_entry && status != NULL)
        snprintf(l->status, sizeof l->status, "%s", status);
}

static void on_gap(log *l, const pawl_stream_event *ev, const pawl_value *v)
{
    buf_fmt(&l->what, "%s: from ", ev->name);
    words_prompt(&l->what, pawl_value_get(v, "from"));
    buf_text(&l->what, " to ");
    words_prompt(&l->what, pawl_value_get(v, "to"));
    line_print(l, ev->seq, ev->time_ms, "gap", "");
}

static void event_print(log *l, const pawl_stream_event *ev)
{
    const pawl_value *v;

    arena_reset(&l->mem);
    buf_reset(&l->what);
    v = value_read(&l->mem, ev->json, strlen(ev->json), "an event", NULL);
    switch (ev->kind) {
    case PAWL_STREAM_UPDATES: on_update(l, ev, v); break;
    case PAWL_STREAM_TASKS: on_task(l, ev, v); break;
    case PAWL_STREAM_MESSAGES:
    case PAWL_STREAM_CUSTOM: on_emit(l, ev, v); break;
    case PAWL_STREAM_DEBUG: on_entry(l, ev, v); break;
    case PAWL_STREAM_GAP: on_gap(l, ev, v); break;
    case PAWL_STREAM_VALUES: break;
    }
}

/* ---- for programs -------------------------------------------------------------------------------------------- */

static const char *kind_name(pawl_stream_kind kind)
{
    switch (kind) {
    case PAWL_STREAM_VALUES: return "values";
    case PAWL_STREAM_UPDATES: return "updates";
    case PAWL_STREAM_MESSAGES: return "messages";
    case PAWL_STREAM_TASKS: return "tasks";
    case PAWL_STREAM_CUSTOM: return "custom";
    case PAWL_STREAM_DEBUG: return "debug";
    case PAWL_STREAM_GAP: return "gap";
    }
    return "";
}

static void json_event(log *l, const pawl_stream_event *ev)
{
    const struct { const char *name, *text; } members[] = {
        { "{\"cursor\":", ev->cursor }, { ",\"id\":", ev->id }, { ",\"json\":", NULL }, { ",\"kind\":", kind_name(ev->kind) },
        { ",\"name\":", ev->name }, { ",\"node\":", ev->node }, { ",\"path\":", ev->path },
    };

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        buf_text(&l->out, members[i].name);
        if (members[i].text != NULL)
            canon_string(&l->out, members[i].text, strlen(members[i].text));
        else
            buf_text(&l->out, i == 2 ? ev->json : "null");
    }
    buf_fmt(&l->out, ",\"time\":%lld}\n", (long long)ev->time_ms);
}

/* ---- the process that drives it, or that did ---------------------------------------------------------------------- */

static void loss_json(log *l, const pawl_loss *x)
{
    buf_fmt(&l->out, "{\"json\":{\"at_ms\":%lld,\"fence\":%llu,\"owner\":", (long long)x->at_ms, (unsigned long long)x->fence);
    canon_string(&l->out, x->owner, strlen(x->owner));
    if (x->taker != NULL) {
        buf_fmt(&l->out, ",\"taken_ms\":%lld,\"taker\":", (long long)x->taken_ms);
        canon_string(&l->out, x->taker, strlen(x->taker));
        buf_fmt(&l->out, ",\"taker_fence\":%llu", (unsigned long long)x->taker_fence);
    }
    buf_fmt(&l->out, "},\"kind\":\"lease\",\"name\":\"%s\",\"time\":%lld}\n", x->died ? "crashed" : "expired", (long long)x->at_ms);
}

/* After "PROCESS ended without releasing it". */
static void go_on_text(log *l)
{
    if (run_of_program(l->s, l->run))
        buf_text(&l->what, "; the program that began the run goes on with it");
    else
        buf_fmt(&l->what, "; go on: pawl resume %s", l->run);
}

/* A line with a time of its own, which belongs to no entry. */
static void lease_print(log *l, int64_t time_ms, const char *kind)
{
    const uint64_t seq = l->seq;

    l->seq = UINT64_MAX;
    line_print(l, 0, time_ms, kind, "");
    l->seq = seq;
}

/* Two lines: who lost the lease, and who took the run. */
static void loss_text(log *l, const pawl_loss *x)
{
    buf_reset(&l->what);
    words_owner(&l->what, x->owner);
    buf_text(&l->what, x->died ? " ended without releasing it" : ": its lease expired");
    if (x->taker == NULL && !l->over)
        go_on_text(l);
    lease_print(l, x->at_ms, x->died ? "crashed" : "expired");
    if (x->taker == NULL)
        return;
    buf_reset(&l->what);
    buf_text(&l->what, "by ");
    words_owner(&l->what, x->taker);
    buf_fmt(&l->what, " (fence %llu, after %llu)", (unsigned long long)x->taker_fence, (unsigned long long)x->fence);
    lease_print(l, x->taken_ms, "taken");
}

static bool loss_keep(void *ctx, const pawl_loss *x)
{
    log *l = ctx;
    pawl_loss *to;

    if (x->fence <= l->lost)
        return true;
    if (!arena_room(&l->loss_mem, (void **)&l->losses, &l->losses_cap, l->nlosses, sizeof *l->losses))
        return false;
    to = &l->losses[l->nlosses++];
    *to = *x;
    to->owner = arena_text(&l->loss_mem, x->owner);
    to->taker = arena_text(&l->loss_mem, x->taker);
    return !l->loss_mem.failed;
}

/* The losses that were not printed yet, anew: one that had no taker may have one now. */
static pawl_code losses_read(log *l, pawl_err *err)
{
    const pawl_store_verbs *v = l->s->verbs;
    pawl_head head = { .run = NULL };
    pawl_code rc;

    if (v->losses == NULL || (l->looked != 0 && l->looked == v->version(l->s)))
        return PAWL_OK;
    l->looked = v->version(l->s);
    arena_reset(&l->loss_mem);
    l->losses = NULL;
    l->nlosses = l->losses_cap = 0;
    if (v->head(l->s, l->run, &head, NULL) != PAWL_OK)
        return PAWL_OK;
    l->over = head.over;
    rc = v->losses(l->s, l->run, loss_keep, l, err);
    return rc == PAWL_OK && l->loss_mem.failed ? fail(err, PAWL_NOMEM, "%s: no memory for its lost leases", l->run) : rc == PAWL_GONE ? PAWL_OK : rc;
}

/* Prints those that were lost up to `until_ms`. */
static void losses_print(log *l, int64_t until_ms)
{
    size_t n = 0;

    if (!l->c->json && l->nlosses > 0 && l->losses[0].at_ms <= until_ms)
        status_print(l);
    for (; n < l->nlosses && l->losses[n].at_ms <= until_ms; n++) {
        if (l->c->json)
            loss_json(l, &l->losses[n]);
        else
            loss_text(l, &l->losses[n]);
        l->lost = l->losses[n].fence;
    }
    l->losses = n > 0 ? l->losses + n : l->losses;
    l->nlosses -= n;
    l->losses_cap -= n;
}

/* Before an event: what was lost until then. */
static void losses_before(log *l, const pawl_stream_event *ev)
{
    if (ev->time_ms == 0)
        return;
    for (size_t i = 0; !l->begun && i < l->nlosses && l->losses[i].at_ms < ev->time_ms; i++)
        l->lost = l->losses[i].fence;
    while (l->nlosses > 0 && l->losses->fence <= l->lost) {
        l->losses++;
        l->nlosses--;
        l->losses_cap--;
    }
    l->begun = true;
    losses_print(l, ev->time_ms);
}

/* What no event of the journal says, as the last line: who holds the lease of the run, or that its holder ended without releasing it. */
static void holder_print(log *l)
{
    pawl_head head = { .run = NULL };
    const char *name;
    char until[32];
    pawl_store *s = l->s;

    if (s->verbs->head(s, l->run, &head, NULL) != PAWL_OK || head.over || head.owner == NULL || head.lease_ms == 0)
        return;
    name = owner_dead(head.owner) || head.lease_ms <= s->verbs->now(s) ? "crashed" : "held";
    if (l->c->json) {
        buf_fmt(&l->out, "{\"json\":{\"fence\":%llu,\"lease_ms\":%lld,\"owner\":", (unsigned long long)head.fence, (long long)head.lease_ms);
        canon_string(&l->out, head.owner, strlen(head.owner));
        buf_fmt(&l->out, "},\"kind\":\"lease\",\"name\":\"%s\"}\n", name);
        return;
    }
    cli_time(until, head.lease_ms);
    buf_reset(&l->what);
    buf_text(&l->what, strcmp(name, "held") == 0 ? "by " : "");
    words_owner(&l->what, head.owner);
    if (strcmp(name, "held") == 0) {
        buf_fmt(&l->what, ", until %s", until);
    } else {
        buf_text(&l->what, " ended without releasing it");
        go_on_text(l);
    }
    lease_print(l, 0, name);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* False: the reader of stdout has gone. */
static bool out_flush(log *l)
{
    bool good = l->out.size == 0 || fwrite(l->out.data, 1, l->out.size, cli_out(l->c)) == l->out.size;

    buf_reset(&l->out);
    return fflush(cli_out(l->c)) == 0 && good;
}

static void rest_between(void)
{
    const struct timespec rest = { .tv_nsec = LOOK_MS * 1000000L };

    nanosleep(&rest, NULL);
}

static pawl_code read_on(log *l, pawl_stream *r, bool follow, pawl_err *err)
{
    pawl_stream_event ev;
    pawl_code rc = losses_read(l, err);

    if (rc != PAWL_OK)
        return rc;
    while (!stopped) {
        rc = pawl_stream_next(r, &ev, err);
        if (rc == PAWL_OK)
            losses_before(l, &ev);
        if (rc == PAWL_OK && l->c->json)
            json_event(l, &ev);
        else if (rc == PAWL_OK)
            event_print(l, &ev);
        if (rc == PAWL_OK && l->out.size < FLUSH_BYTES && !l->out.failed)
            continue;
        if (rc == PAWL_PENDING || rc == PAWL_HALTED) {
            status_print(l);
            losses_print(l, INT64_MAX);
        }
        if (l->out.failed)
            return fail(err, PAWL_NOMEM, "log: no memory for what happened");
        if (!out_flush(l))
            return fail(err, PAWL_IO, "stdout cannot be written");
        if (rc == PAWL_OK)
            continue;
        if (rc != PAWL_PENDING || !follow)
            return rc;
        rest_between();
        if ((rc = losses_read(l, err)) != PAWL_OK)
            return rc;
    }
    return PAWL_CANCELED;
}

static void stop_on_signals(void)
{
    struct sigaction act = { .sa_handler = on_stop };

    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

/* The exit code for the final status; if the run was removed meanwhile, for the status seen last. */
static int exit_of(log *l, pawl_store *s, const char *run)
{
    pawl_head head = { .run = NULL };

    if (s->verbs->head(s, run, &head, NULL) == PAWL_OK)
        return cli_exit_of((pawl_status)head.status, head.waits > 0);
    for (int i = PAWL_STATUS_SUBMITTED; i <= PAWL_STATUS_REJECTED; i++)
        if (strcmp(l->status, pawl_status_name((pawl_status)i)) == 0)
            return cli_exit_of((pawl_status)i, false);
    return EXIT_DONE;
}

static int log_run(cli_call *c, pawl_store *s, const char *run, const char *from)
{
    const pawl_stream_options options = { .from = from, .kinds = c->json ? 0 : PEOPLE_KINDS };
    const bool follow = cli_given(c, "follow") != NULL;
    pawl_err err = { PAWL_OK, "" };
    pawl_stream *r = pawl_stream_open(NULL, s, run, &options, &err);
    log l = { .c = c, .s = s, .run = run, .columns = c->out_tty ? (size_t)cli_columns(1) : PIPE_COLUMNS, .times = cli_given(c, "times") != NULL };
    pawl_code rc = err.code;
    int code;

    if (r == NULL && rc == PAWL_INVALID && from != NULL) {
        err = (pawl_err){0};
        fail(&err, rc, "%s: it has no entry %s yet; without --from the log shows those that are there", run, cli_given(c, "from"));
    }
    if (r == NULL)
        return cli_fail(c, rc, &err);
    buf_init(&l.out, NULL);
    buf_init(&l.what, NULL);
    arena_init(&l.mem, NULL, 4096);
    arena_init(&l.loss_mem, NULL, 1024);
    if (follow)
        stop_on_signals();
    rc = read_on(&l, r, follow, &err);
    if (rc >= 0 && !follow && !stopped) {
        holder_print(&l);
        rc = l.out.failed ? fail(&err, PAWL_NOMEM, "log: no memory for what happened") : out_flush(&l) ? rc : fail(&err, PAWL_IO, "stdout cannot be written");
    }
    pawl_stream_close(r);
    if (stopped)
        code = stopped == SIGTERM ? EXIT_STOPPED + SIGTERM - SIGINT : EXIT_STOPPED;
    else if (rc < 0)
        code = cli_fail(c, rc, &err);
    else
        code = follow ? exit_of(&l, s, run) : EXIT_DONE;
    buf_free(&l.out);
    buf_free(&l.what);
    arena_free(&l.mem);
    arena_free(&l.loss_mem);
    pawl_state_free(l.st);
    return code;
}

static int log_verb(cli_call *c)
{
    const char *given = cli_given(c, "from");
    char run[RUN_ID_BYTES], from[32];
    pawl_err err = { PAWL_OK, "" };
    const char *end;
    uint64_t seq = 0;
    pawl_store *s;
    pawl_code rc;
    int code;

    if (given != NULL && ((end = digits_read(given, &seq)) == NULL || *end != '\0' || seq == 0))
        return cli_usage(c, "--from takes the number of an entry, from 1 on, not \"%.40s\"", given);
    if ((s = cli_store(c, false, &err)) == NULL)
        return cli_fail(c, err.code, &err);
    snprintf(from, sizeof from, "%llu.0", (unsigned long long)seq);
    rc = cli_run_id(c, s, c->args[0], run, &err);
    code = rc == PAWL_OK ? log_run(c, s, run, given != NULL ? from : NULL) : cli_fail(c, rc, &err);
    pawl_store_free(s);
    return code;
}

/* ---- the verb -------------------------------------------------------------------------------------------------------- */

static const cli_option options[] = {
    { "from", "SEQ", "start with this entry" },
    { "follow", NULL, "continue until the run is over, or Ctrl-C" },
    { "times", NULL, "the time of each event, to the millisecond" },
    { "json", NULL, "one JSON object a line" },
    { NULL, NULL, NULL },
};

const cli_verb verb_log = {
    .name = "log",
    .form = "RUN",
    .what = "show what happened in a run",
    .about = "Prints one line for each event: the number of its entry, the time, the event and\n"
             "the node. With --follow it continues as long as the run works, whichever process\n"
             "drives it, and exits with the run's exit code; Ctrl-C ends the log, not the run.\n"
             "Without it the last line says who holds the run now, or that it crashed. A lease\n"
             "that a process lost, by a crash or in time, is shown with who took the run.",
    .example = "pawl log @\npawl log @ --times\npawl log survey-7k2m --from 12 --follow\npawl log @ --json | jq .name",
    .options = options,
    .least = 1,
    .most = 1,
    .store = true,
    .run = log_verb,
};
