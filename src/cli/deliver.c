/* deliver.c - an event is stored as a delivery of a run; the process that drives the run takes it from there.
 *
 * Called by the verbs and the driver, on the main thread. Durable when session_deliver returns PAWL_OK. */
#include "app/tokens.h"
#include "engine/run/delivery.h"
#include "cli/run_driver.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

enum { BY_BYTES = 128 };

/* The name that the system has, and never the environment's: the person who answers cannot choose another name (P11). */
const char *caller_name(void)
{
    static char who[BY_BYTES];
    char text[4096];
    struct passwd pw, *found = NULL;

    if (who[0] != '\0')
        return who;
    if (getpwuid_r(geteuid(), &pw, text, sizeof text, &found) == 0 && found != NULL && pw.pw_name[0] != '\0' && strlen(pw.pw_name) < sizeof who)
        snprintf(who, sizeof who, "%s", pw.pw_name);
    else
        snprintf(who, sizeof who, "uid %lu", (unsigned long)geteuid());
    return who;
}

const char *cli_by(const cli_call *c) { return c->who != NULL ? c->who->by : caller_name(); }

/* Of two answers at the same moment the second is refused, and its error quotes the first one, as for a later answer. */
pawl_code answered_before(session *s, const pawl_event *ev, pawl_code rc, pawl_err *err)
{
    past_answer before = {0};
    char text[sizeof err->text];

    if (rc != PAWL_CONFLICT || ev->kind != PAWL_EV_ANSWER || ev->id == NULL || err == NULL || strstr(err->text, ", by ") != NULL ||
        !past_answer_await(s, ev->id, &before) || before.by == NULL)
        return rc;
    memcpy(text, err->text, sizeof text);
    *err = (pawl_err){0};
    return fail(err, rc, "%s, by %.48s", text, before.by);
}

static pawl_code deliver_as(session *s, const char *run, const pawl_event *ev, const char *id, pawl_err *err)
{
    pawl_store *store = session_store(s);
    pawl_delivery d;
    pawl_code rc;

    if (!delivery_from_event(ev, &d))
        return fail(err, PAWL_INVALID, "%s: an event of kind %d cannot be delivered", run, (int)ev->kind);
    d.id = id;
    rc = store->verbs->deliver(store, run, &d, err);
    s->left_no = rc == PAWL_OK ? d.no : 0;
    return answered_before(s, ev, rc, err);
}

/* Store the event as a delivery, for the process that drives the run. */
pawl_code session_deliver_to(session *s, const char *run, const pawl_event *ev, pawl_err *err)
{
    pawl_store *store = session_store(s);
    char id[64];

    snprintf(id, sizeof id, "cli-%ld-%lld-%u", (long)getpid(), (long long)store->verbs->now(store), (unsigned)++s->sent);
    return deliver_as(s, run, ev, id, err);
}

pawl_code session_deliver_under(session *s, const char *run, const pawl_event *ev, const char *id, pawl_err *err)
{
    return id != NULL ? deliver_as(s, run, ev, id, err) : session_deliver_to(s, run, ev, err);
}

pawl_code session_deliver_once(session *s, const char *run, const pawl_event *ev, pawl_err *err)
{
    return session_deliver_under(s, run, ev, s->c->delivery, err);
}

/* A store looks at the id first: an answer to a wait that never was is refused as such, unless that id was delivered before. */
bool delivered_under(session *s, const char *run, const char *id)
{
    pawl_store *store = session_store(s);
    pawl_delivery d = { .kind = PAWL_DELIVER_ANSWER, .id = id, .name = "none", .value = { "null", 4 } };

    return id != NULL && store->verbs->deliver(store, run, &d, &(pawl_err){ PAWL_OK, "" }) == PAWL_CONFLICT;
}

bool delivered_before(session *s, const char *run) { return delivered_under(s, run, s->c->delivery); }

typedef struct mailbox_scan { uint64_t no; bool open; } mailbox_scan;

static bool see_delivery(void *ctx, const pawl_delivery *d)
{
    mailbox_scan *l = ctx;

    l->open = d->no == l->no;
    return d->no < l->no;       /* the mailbox is in the order of the numbers */
}

bool delivery_is_open(session *s, const char *run, uint64_t no)
{
    pawl_store *store = session_store(s);
    mailbox_scan l = { .no = no };

    (void)store->verbs->deliveries(store, run, see_delivery, &l, NULL);
    return l.open;
}

pawl_code session_deliver(session *s, const pawl_event *ev, pawl_err *err) { return session_deliver_to(s, s->run, ev, err); }
