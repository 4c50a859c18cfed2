/* scenes.c - the events of each scene, in order, and how a scene is played on a world. */
#include "scene_machines.h"

#include <stdio.h>
#include <string.h>

#define RECEIPT(node, text) { .kind = PAWL_EV_RECEIPT, .at = (node), .value = (text) }
#define ERROR(node, text)   { .kind = PAWL_EV_RECEIPT, .at = (node), .value = (text), .outcome = PAWL_OUTCOME_ERROR }
#define ANSWER(slot, text)  { .kind = PAWL_EV_ANSWER, .at = (slot), .value = (text) }
#define TIMER(node)         { .kind = PAWL_EV_TIMER, .at = (node) }
#define SIGNAL(name, text)  { .kind = PAWL_EV_SIGNAL, .at = (name), .value = (text) }
#define OVER                { .kind = 0 }

static const move letter[] = {
    RECEIPT("main", "{\"text\":\"Dear Ada, the sky is blue because it scatters.\",\"words\":9}"), TIMER("main"),
    RECEIPT("main", "[\"shorter\",\"warmer\"]"), ANSWER(NULL, "true"), OVER
};
static const move desk[] = {
    RECEIPT("@", "{\"hits\":[\"a\",\"b\",\"c\"],\"of\":\"a search that found more than forty-eight bytes of text\"}"),
    SIGNAL("bell", "{\"loud\":true}"), { .kind = PAWL_EV_ANSWER, .at = "pick", .value = "\"a\"", .update = "{\"answers\":4,\"found\":[1]}" },
    SIGNAL("bell", NULL), { .kind = PAWL_EV_UPDATE, .value = "{\"history\":\"changed\",\"answers\":-2}" }, TIMER("@"), OVER
};
static const move survey[] = {
    ANSWER("reply", "\"good\""), { .kind = PAWL_EV_INPUT, .value = "{\"text\":\"not so good\"}" }, RECEIPT("sum", "\"mixed\""), OVER
};
static const move fan[] = {
    RECEIPT("plan", "[\"sea\",\"sky\",\"land\"]"),
    RECEIPT("worker:1", "{\"text\":\"the sky is made of air, and a good deal of it\",\"words\":[\"air\",\"blue\"]}"),
    RECEIPT("worker:0", "{\"text\":\"water\",\"words\":[\"blue\",\"wet\"],\"again\":true}"),
    RECEIPT("worker:2", "{\"text\":\"earth\",\"words\":[]}"), RECEIPT("worker:0", "1.5"), OVER
};
static const move gate[] = {
    RECEIPT("draft", "\"First draft, and it is longer than forty-eight bytes of text.\""), ANSWER(NULL, "{\"tone\":\"dry\"}"),
    { .kind = PAWL_EV_UPDATE, .value = "{\"wish\":\"another\"}" },
    ANSWER("rate", "null"), ANSWER("rate.2", "\"fine\""), { .kind = PAWL_EV_ANSWER, .at = "stars", .value = "4", .update = "{\"request\":\"changed\"}" },
    ANSWER(NULL, "\"go on\""), ANSWER(NULL, "false"), RECEIPT("draft", "\"Second\""),
    { .kind = PAWL_EV_UPDATE, .at = "draft", .value = "{\"draft\":\"by hand\"}" }, ANSWER(NULL, "\"none\""), ANSWER("rate", "1"),
    TIMER("rate"), ANSWER("rate.2", "\"silent\""), ANSWER(NULL, "0"), ANSWER("publish", "true"), OVER
};
static const move nest[] = {
    RECEIPT("first", "{\"own\":1}"), RECEIPT("side", "\"s\""), ANSWER(NULL, "\"on\""), RECEIPT("call", "\"deep call\""),
    ANSWER(NULL, "\"deep answer\""), RECEIPT("after", "\"end\""), OVER
};
static const move joins[] = { RECEIPT("outside", "{\"path\":\"seen\"}"), RECEIPT("outside", "null"), OVER };
static const move repair[] = {
    ERROR("flaky", "{\"code\":\"transient\",\"text\":\"busy\"}"),
        RECEIPT("steady", "{\"ok\":true,\"long\":\"a receipt that is worth a reference of its own\"}"),
    TIMER("flaky"), RECEIPT("flaky", "\"at last\""),
    { .kind = PAWL_EV_REOPEN, .update = "{\"key\":\"found under the mat\"}" }, OVER
};
static const move talk_moves[] = {
    RECEIPT("answer", "\"Hello. I am a model that answers in more than forty-eight bytes.\""), { .kind = PAWL_EV_INPUT, .value = "{\"said\":\"who?\"}" },
    RECEIPT("answer", "\"Me.\""), ANSWER(NULL, "{\"said\":\"bye\"}"),
    { .kind = PAWL_EV_RECEIPT, .at = "answer", .value = "\"late\"", .outcome = PAWL_OUTCOME_TIMEOUT }, OVER
};
static const move vault[] = {
    RECEIPT("open", "{\"status\":200,\"body\":\"a treasure, a dragon, and a rather long poem about both\"}"),
    RECEIPT("store", "{\"log\":\"stored\",\"state\":{\"at\":\"shelf 4\"}}"), OVER
};
static const move hooks[] = {
    RECEIPT("one", "{\"verdict\":\"proceed\"}"), RECEIPT("two", "{\"verdict\":\"modify\",\"args\":{\"seen\":[\"by\",\"guard\"]}}"),
    RECEIPT("two", "{\"verdict\":\"modify\",\"goto\":[\"one\"]}"), RECEIPT("one", "{\"verdict\":\"replace\",\"writes\":{\"out\":\"another\"}}"),
    RECEIPT("two", "{\"verdict\":\"ask\",\"prompt\":\"may it?\"}"), ANSWER(NULL, "true"), RECEIPT("two", "{\"verdict\":\"proceed\"}"),
    RECEIPT("three", "{\"verdict\":\"defer\",\"name\":\"later\"}"), SIGNAL("later", "{\"verdict\":\"proceed\"}"), OVER
};
static const move race[] = {
    { .kind = PAWL_EV_UPDATE, .value = "{\"notes\":\"while it runs\"}" }, SIGNAL("go", "{\"from\":\"outside\"}"),
    RECEIPT("1.run.1.1", "{\"won\":\"the other one, by a length that is worth a reference\"}"), { .kind = PAWL_EV_UPDATE, .value = "{\"notes\":\"again\"}" },
    { .kind = PAWL_EV_CANCEL, .at = "somebody" }, { .kind = PAWL_EV_RECEIPT, .at = "spawn", .value = "null", .outcome = PAWL_OUTCOME_CANCELED }, OVER
};
static const move rules[] = { RECEIPT("look", "{\"seen\":[1,2,3],\"text\":\"long enough to be kept as a reference to the event\"}"), OVER };

static const move trip[] = {
    RECEIPT("boat", "\"seat 7, by the window, paid for until the end of the month\""),
    { .kind = PAWL_EV_RECEIPT, .at = "pay", .value = "{\"attempts\":2,\"code\":\"unknown\",\"text\":\"the line went dead\"}", .outcome = PAWL_OUTCOME_UNKNOWN },
    RECEIPT("inn", "{\"room\":3}"), ANSWER(NULL, "\"again\""),
    { .kind = PAWL_EV_RECEIPT, .at = "pay", .outcome = PAWL_OUTCOME_UNKNOWN }, ANSWER("pay", "{\"failed\":\"the bank had closed\"}"),
    ERROR("@undo", "{\"code\":\"effect\",\"text\":\"nobody is in\"}"), ANSWER(NULL, "\"again\""), RECEIPT("@undo", "true"),
    RECEIPT("@undo", "{\"back\":12}"), OVER
};

/* Signed with the seeds 01.., 02.. and 03.. for the waits of "run-1", life 1: a golden text of what is signed. */
#define SIGNED(yes, key, name, signature) \
    "{\"answer\":{\"approve\":" yes "},\"key\":\"ed25519:" key "\",\"name\":\"" name "\",\"signature\":\"" signature "\",\"time\":2000}"
#define ALICE(signature) SIGNED("true", "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=", "alice", signature)
static const move pact[] = {
    { .kind = PAWL_EV_ANSWER, .at = "ship", .update = "{\"to\":\"Ada\"}",
      .value = SIGNED("true", "gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=", "bob",
                      "jZt7XioIPR44SRh6y7dboTvy/YrpvOK+HmfKG9uFY4LxriqA23e0gD5YLQlF1zZKOJj2syC8AEqGwhC0OWFEBQ==") },
    { .kind = PAWL_EV_ANSWER, .at = "ship", .update = "{\"to\":\"Ada\"}",
      .value = ALICE("EWkBmDRd5q4WhZSo2YLC3P96XXpfTd0m/4KG95xNefmSlS5kN7Tk2TjwPuiomLbxGqh3Ha/it67p7jSSK7NJBg==") },
    RECEIPT("ship", "true"),
    ANSWER("refuse", SIGNED("false", "7UkoxijRwsbq6QM4kFmVYSlZJzpcY/k2NsFGFKyHN9E=", "carol",
                            "UWnmecIsE8SQquqJ78q3A74ch1Gw6M+RhiznatGg4/JVrdDaaDF1evQ0MfRpf/0aq4wDPS/+PExntwHVaJZ+Dg==")),
    ANSWER("late", ALICE("iZ3WjxVivHgbXa0kq3LHMbZSb2Az34cf3y1rCYPC+zOuSoGCAszU9LpR+b+m123ZythdJCWCebsCXQnoooMPBA==")), TIMER("late"), OVER
};

const scene scenes[] = {
    { "letter", machine_letter, "{\"input\":{\"to\":\"Ada\"}}", letter },
    { "desk", machine_desk, "{\"topic\":\"sky\"}", desk },
    { "survey", machine_survey, "{\"input\":\"begin\"}", survey },
    { "fan", machine_fan, "{\"topic\":\"the world\"}", fan },
    { "gate", machine_gate, "{\"request\":\"an essay\"}", gate },
    { "nest", machine_nest, "{\"log\":\"before\"}", nest },
    { "joins", machine_joins, NULL, joins },
    { "repair", machine_repair, NULL, repair },
    { "talk", machine_talk, "{\"said\":\"hello\"}", talk_moves },
    { "vault", machine_vault, NULL, vault },
    { "hooks", machine_hooks, NULL, hooks },
    { "race", machine_race, "{\"notes\":\"begin\"}", race },
    { "rules", machine_rules, "{\"last\":0}", rules },
    { "trip", machine_trip, "{\"who\":\"ada\"}", trip },
    { "pact", machine_pact, "{\"to\":\"nobody\"}", pact },
};
const size_t scene_count = sizeof scenes / sizeof *scenes;

const scene *scene_named(const char *name)
{
    for (size_t i = 0; i < scene_count; i++)
        if (strcmp(scenes[i].name, name) == 0)
            return &scenes[i];
    CHECK_FAIL("there is no scene \"%s\"", name);
}

/* ---- the next event ------------------------------------------------------------------------------- */

/* "1.run.1.1" whole, or the node's name among the path: "worker:0", "main", "@". */
static bool id_is(const char *id, const char *node)
{
    const char *local = strchr(id, '/') + 1, *name = strchr(local, '.') + 1;
    size_t n = strlen(node);

    if (strcmp(local, node) == 0)
        return true;
    for (const char *p = name; p != NULL; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, node, n) == 0 && p[n] == '.')
            return true;
    }
    return false;
}

static bool find_command(play *p, const move *m, pawl_state *st, pawl_step *look, int64_t *due)
{
    for (size_t i = 0; i < pawl_state_commands(st); i++) {
        pawl_command cmd;
        pawl_err err = { PAWL_OK, "" };

        if (pawl_state_command(st, i, look, &cmd, NULL, &err) != PAWL_OK)
            CHECK_FAIL("%s: command %zu: %s", p->sc->name, i, err.text);
        if ((cmd.kind == PAWL_COMMAND_SLEEP) != (m->kind == PAWL_EV_TIMER) || !id_is(cmd.id, m->at))
            continue;
        snprintf(p->id, sizeof p->id, "%s", cmd.id);
        *due = cmd.due_ms;
        return true;
    }
    return false;
}

static bool find_deadline(play *p, const move *m, pawl_state *st, pawl_step *look, int64_t *due)
{
    for (size_t i = 0; i < pawl_state_waits(st); i++) {
        pawl_wait q;
        pawl_err err = { PAWL_OK, "" };

        if (pawl_state_wait(st, i, look, &q, &err) != PAWL_OK)
            CHECK_FAIL("%s: wait %zu: %s", p->sc->name, i, err.text);
        if (q.expires_ms == 0 || strcmp(q.node, m->at) != 0)
            continue;
        snprintf(p->id, sizeof p->id, "%s", q.id);
        *due = q.expires_ms;
        return true;
    }
    return false;
}

bool play_next(play *p, pawl_state *st, pawl_step *look, pawl_event *ev)
{
    const move *m = &p->sc->moves[p->move];
    int64_t due = 0;

    *ev = (pawl_event){ .kind = PAWL_EV_START, .value = p->sc->input, .time_ms = 1000 + p->now++ };
    if (pawl_state_status(st) == PAWL_STATUS_SUBMITTED)
        return true;
    *ev = (pawl_event){ .kind = PAWL_EV_TICK, .time_ms = ev->time_ms };
    if (pawl_state_next(st) == PAWL_OK)
        return true;
    if (m->kind == 0)
        return false;
    p->move++;
    ev->kind = m->kind;
    ev->outcome = m->outcome;
    ev->value = m->value;
    ev->update = m->update;
    if (m->kind == PAWL_EV_RECEIPT || m->kind == PAWL_EV_TIMER) {
        if (!find_command(p, m, st, look, &due) && !(m->kind == PAWL_EV_TIMER && find_deadline(p, m, st, look, &due)))
            CHECK_FAIL("%s: move %zu: nothing of \"%s\" is open", p->sc->name, p->move, m->at);
        ev->id = p->id;
    } else if (m->kind == PAWL_EV_ANSWER) {
        ev->id = m->at;
        ev->by = "ada";
        ev->note = m->update != NULL ? "with an update" : NULL;
    } else if (m->kind == PAWL_EV_CANCEL) {
        ev->by = m->at;
    } else {
        ev->name = m->at;
    }
    if (due > ev->time_ms)
        p->now = due - 1000 + 1, ev->time_ms = due;
    return true;
}

void scene_go_on(world *w, play *p, size_t upto)
{
    pawl_event ev;

    while ((p->move < upto || pawl_state_next(w->st) == PAWL_OK) && play_next(p, w->st, w->look, &ev))
        if (world_feed(w, &ev) < 0 || w->rc == PAWL_IGNORED)
            CHECK_FAIL("%s: move %zu: %s", p->sc->name, p->move, w->rc < 0 ? w->err.text : "ignored");
}

void scene_play(world *w, play *p, const scene *sc, size_t upto)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = sc->machine(NULL, &err);

    if (m == NULL)
        CHECK_FAIL("%s: %s", sc->name, err.text);
    *p = (play){ .sc = sc };
    world_begin(w, m, sc->input);
    p->now = w->now - 1000;
    scene_go_on(w, p, upto);
}

/* ---- journals as text --------------------------------------------------------------------------------- */

bool journal_line(const journal_text *j, size_t *at, pawl_bytes *line)
{
    const char *nl = *at < j->size ? memchr(j->data + *at, '\n', j->size - *at) : NULL;

    if (nl == NULL)
        return false;
    *line = (pawl_bytes){ j->data + *at, (size_t)(nl - j->data) - *at };
    *at += line->size + 1;
    return true;
}

static pawl_code entry_of(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err)
{
    const journal_text *j = ctx;
    char head[32];
    size_t at = 0, first = 0;
    pawl_bytes line;
    int n = snprintf(head, sizeof head, " [%llu,", (unsigned long long)seq);

    *records = (pawl_bytes){ NULL, 0 };
    (void)journal_line(j, &at, &line);
    for (first = at; journal_line(j, &at, &line);) {
        if (line.size > 0 && line.data[0] == '[')
            continue;
        if (line.size > HASH_HEX + (size_t)n && memcmp(line.data + HASH_HEX, head, (size_t)n) == 0) {
            *entry = line;
            *records = (pawl_bytes){ j->data + first, (size_t)(line.data - j->data) - first };
            return PAWL_OK;
        }
        first = at;
    }
    return fail(err, PAWL_GONE, "the journal has no entry %llu", (unsigned long long)seq);
}

pawl_loader journal_loader(journal_text *j)
{
    return (pawl_loader){ .entry = entry_of, .ctx = j };
}
