/* trials_signed.c - a world of gates that approvers sign (P11): what somebody else has signed in their names is sent as well, and may open nothing. */
#include "lib/trials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALICE, BOB, MALLORY, PEOPLE, GATES = 3, WAITS_MAX = 64, ID_BYTES = 128, JSON_BYTES = 1024 };

static const char *const names[PEOPLE] = { "alice", "bob", "mallory" };

typedef struct waiting { char id[ID_BYTES]; unsigned tries; bool has_signed[PEOPLE]; } waiting;

typedef struct desk {
    uint8_t seeds[PEOPLE][PAWL_SEED_BYTES];
    char keys[PEOPLE][PAWL_KEY_ROOM];
    char approvers[JSON_BYTES], json[JSON_BYTES];
    waiting all[WAITS_MAX];
    size_t n;
    pawl_step *step;
} desk;

/* Gate by gate, each with a command that must not leave before both have signed. */
static pawl_code gate(pawl_step *s, void *arg)
{
    const desk *d = arg;
    const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = pawl_pack(s, "s", pawl_node_name(s)), .approvers = pawl_json(s, d->approvers),
                              .about = pawl_pack(s, "{s:s}", "digest", pawl_node_name(s)) };
    const pawl_value *answer;
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    if (rc == PAWL_OK && !pawl_value_bool(pawl_value_get(answer, "approve")))
        return pawl_fail(s, PAWL_DENIED, "nobody said no");
    return rc == PAWL_OK ? pawl_call(s, "deploy", pawl_pack(s, "{s:s}", "from", pawl_node_name(s)), NULL) : rc;
}

static pawl_machine *machine(void *ctx, pawl_err *err)
{
    pawl_graph *g = pawl_graph_new("signed", 1);
    char name[16], before[16];
    desk *d = ctx;

    d->n = 0;                   /* another world, in which nobody has signed */
    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_effect(g, "deploy", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 4, .initial_ms = 50 } });
    for (int i = 0; i < GATES; i++) {
        snprintf(name, sizeof name, "gate%d", i);
        snprintf(before, sizeof before, "gate%d", i - 1);
        pawl_graph_node(g, name, gate, d);
        pawl_graph_edge(g, i == 0 ? PAWL_START : before, name);
    }
    pawl_graph_edge(g, name, PAWL_END);
    return pawl_graph_compile(g, err);
}

static waiting *waiting_of(desk *d, const char *id, size_t size)
{
    for (size_t i = 0; i < d->n; i++)
        if (strncmp(d->all[i].id, id, size) == 0 && d->all[i].id[size] == '\0')
            return &d->all[i];
    if (d->n == WAITS_MAX || size >= ID_BYTES)
        return NULL;
    d->all[d->n] = (waiting){ .tries = 0 };
    memcpy(d->all[d->n].id, id, size);
    return &d->all[d->n++];
}

/* Of each wait in turn: mallory in the name of alice, alice, mallory in the name of bob, bob. */
static const char *answer(void *ctx, const pawl_wait *w)
{
    desk *d = ctx;
    waiting *one = waiting_of(d, w->id, strlen(w->id));
    const unsigned turn = one != NULL ? one->tries++ % 4 : 0, who = turn / 2;
    const bool forged = turn % 2 == 0;
    const char *text = one == NULL ? NULL : pawl_wait_sign(w, "true", NULL, NULL, names[who], d->seeds[forged ? MALLORY : who], 1000, d->step, NULL);
    char *key;

    if (text == NULL)
        return "";
    snprintf(d->json, sizeof d->json, "%s", text);
    if (forged && (key = strstr(d->json, d->keys[MALLORY])) != NULL)
        memcpy(key, d->keys[who], strlen(d->keys[who]));
    one->has_signed[who] = one->has_signed[who] || !forged;
    return d->json;
}

static bool performed(void *ctx, const pawl_job *job, const char **oracle, pawl_err *err)
{
    desk *d = ctx;
    const char *dot = strrchr(job->id, '.');
    char id[ID_BYTES];
    const waiting *one;

    snprintf(id, sizeof id, "%.*s.0", (int)(dot - job->id), job->id);
    one = waiting_of(d, id, strlen(id));
    *oracle = "P11";
    if (one != NULL && one->has_signed[ALICE] && one->has_signed[BOB])
        return true;
    if (err != NULL && err->code == PAWL_OK) {
        err->code = PAWL_CORRUPT;
        snprintf(err->text, sizeof err->text, "%s leaves, and its approvers have not signed %s", job->id, id);
    }
    return false;
}

pawl_code trial_signed(uint64_t seed, pawl_sim_report *report, pawl_err *err)
{
    desk *d = calloc(1, sizeof *d);
    const pawl_sim_setup setup = { .machine = machine, .answer = answer, .performed = performed, .ctx = d, .loose = true, .runs = 3 };
    pawl_code rc;

    if (d == NULL || (d->step = pawl_step_new(NULL)) == NULL) {
        free(d);
        return PAWL_NOMEM;
    }
    for (size_t i = 0; i < PEOPLE; i++) {
        memset(d->seeds[i], (int)i + 1, PAWL_SEED_BYTES);
        (void)!pawl_key_of_seed(d->seeds[i], d->keys[i], NULL);
    }
    snprintf(d->approvers, sizeof d->approvers, "{\"keys\":[{\"key\":\"%s\",\"name\":\"alice\"},{\"key\":\"%s\",\"name\":\"bob\"}],\"need\":2}",
             d->keys[ALICE], d->keys[BOB]);
    rc = pawl_sim(&setup, seed, report, err);
    pawl_step_free(d->step);
    free(d);
    return rc;
}
