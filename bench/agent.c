/* agent.c - what an agent costs beside its model: an event through its core and through the whole machine, a turn of a long conversation
 * beside one of a short one, and what it holds while it is idle. */
#include "bench.h"
#include "agent/core.h"
#include "pawl/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORE_ROUNDS = 20000, TALKS = 20, EARLY = 100, LATE = 2000, NEAR = 40, PARKED_FIRST = 6000, PARKED = 4000, CHECKPOINT_EACH = 9 };

#define INPUT "\"Why is the sky blue?\""
#define ANSWER "{\"message\":{\"content\":[{\"text\":\"Short waves are scattered more than long ones.\",\"type\":\"text\"}],\"role\":\"assistant\"}," \
               "\"stop\":\"end_turn\",\"usage\":{\"input_tokens\":900,\"output_tokens\":12}}"

static pawl_machine *helper(void)
{
    static const pawl_agent_tool tools[] = {
        { .name = "read_file", .rule = "Read", .description = "Read a file.", .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .beside = true,
          .schema = "{\"properties\":{\"file_path\":{\"type\":\"string\"}},\"required\":[\"file_path\"],\"type\":\"object\"}" },
    };
    const pawl_agent a = { .name = "helper", .version = 1, .model = "script:none", .system = "You help.", .tools = tools, .ntools = 1 };
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = pawl_agent_machine(&a, NULL, &err);

    if (m == NULL)
        bench_wrong("an agent", &err);
    return m;
}

/* ---- the core alone ------------------------------------------------------------------------------------ */

/* Input, an answer that calls for two tools, both of them, and an answer: five events. */
static bool event_ns(reading *out)
{
    static const core_input told[] = { { .event = CORE_USER_INPUT }, { .event = CORE_COMPLETED, .calls = 2 }, { .event = CORE_TOOL_COMPLETED },
                                      { .event = CORE_TOOL_COMPLETED }, { .event = CORE_COMPLETED } };
    volatile core_action last = CORE_SHUTDOWN;
    double from = bench_ns();
    core c;

    core_begin(&c, 3);
    for (int i = 0; i < CORE_ROUNDS; i++)
        for (size_t k = 0; k < 5; k++)
            last = core_feed(&c, &told[k], NULL);
    out->value = (bench_ns() - from) / (CORE_ROUNDS * 5);
    out->base = bench_malloc_ns(CORE_ROUNDS);
    return last == CORE_WAIT_FOR_INPUT || bench_wrong("the core", NULL);
}

/* ---- turns ------------------------------------------------------------------------------------------------ */

/* Its one open command, looked at as an engine would; its id is kept. */
static bool command_id(run *r, pawl_step *look, char id[256])
{
    pawl_command cmd;

    if (pawl_state_commands(r->st) != 1 || pawl_state_command(r->st, 0, look, &cmd, NULL, NULL) != PAWL_OK)
        return bench_wrong("an agent that asks its model", NULL);
    snprintf(id, 256, "%s", cmd.id);
    return true;
}

/* Input, and an answer: two entries. */
static bool turn_take(run *r, pawl_step *look)
{
    const pawl_event input = { .kind = PAWL_EV_SIGNAL, .name = "input", .time_ms = 1700000000000, .value = INPUT };
    pawl_event receipt = { .kind = PAWL_EV_RECEIPT, .time_ms = 1700000000000, .value = ANSWER };
    char id[256];

    receipt.id = id;
    return run_take(r, &input) && command_id(r, look, id) && run_take(r, &receipt);
}

static bool turns_take(run *r, pawl_step *look, int n)
{
    bool good = true;

    for (int i = 0; i < n && good; i++)
        good = turn_take(r, look);
    return good;
}

typedef struct talk { pawl_machine *m; pawl_step *step, *look; run r; } talk;

static bool talk_begin(talk *t, unsigned flags)
{
    *t = (talk){ .m = helper(), .step = pawl_step_new(NULL), .look = pawl_step_new(NULL) };
    return t->m != NULL && run_begin(&t->r, t->m, flags, t->step, NULL);
}

static void talk_end(talk *t)
{
    run_end(&t->r);
    pawl_step_free(t->step);
    pawl_step_free(t->look);
    pawl_machine_free(t->m);
}

static bool step_ns(reading *out)
{
    double from, ns = 0;
    bool good = true;

    for (int i = 0; i < TALKS && good; i++) {
        talk t;

        good = talk_begin(&t, 0);
        from = bench_ns();
        good = good && turns_take(&t.r, t.look, NEAR);
        ns += bench_ns() - from;
        talk_end(&t);
    }
    out->value = ns / (TALKS * NEAR * 2);
    out->base = bench_malloc_ns(TALKS * NEAR);
    return good;
}

/* ---- a long conversation ------------------------------------------------------------------------------- */

static pawl_code answers_at_once(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    (void)arg;
    return pawl_reply_json(reply, ANSWER);
}

static bool turns_stored(pawl_engine *e, const char *id, int n, double *ns)
{
    const pawl_event input = { .kind = PAWL_EV_SIGNAL, .name = "input", .value = INPUT };
    const double from = bench_ns();
    pawl_err err = { PAWL_OK, "" };

    for (int i = 0; i < n; i++)
        if (pawl_event_send(e, id, &input, &err) != PAWL_INTERRUPTED)
            return bench_wrong("a turn", &err);
    *ns += bench_ns() - from;
    return true;
}

static bool talk_open(pawl_engine *e, const char *id, int n)
{
    return pawl_begin(e, id, NULL, NULL) == PAWL_OK && pawl_run(e, id, NULL, NULL) == PAWL_INTERRUPTED && turns_stored(e, id, n, &(double){ 0 });
}

static pawl_engine *engine_with(const disk *d)
{
    pawl_engine *e = disk_engine(d, helper());

    if (e != NULL && pawl_engine_effect(e, "llm", answers_at_once, NULL, PAWL_CLASS_AT_LEAST_ONCE, NULL) == PAWL_OK)
        return e;
    pawl_engine_free(e);
    return NULL;
}

/* A turn around the 2,000th beside one around the 100th of another conversation, by turns, in one store; their model answers at once. The log of
 * SQLite is copied into the file once in about 20 such pairs, which costs as much as 25 turns. That is done between two pairs here, since else the
 * figure says on which of the two turns it fell. The pair after it begins by turns with the one and with the other. */
static bool msgs_growth(reading *out)
{
    double early = 0, late = 0;
    pawl_engine *e = NULL;
    disk d;
    bool good = disk_begin(&d, true) && (e = engine_with(&d)) != NULL && talk_open(e, "long", LATE - NEAR / 2) && talk_open(e, "short", EARLY - NEAR / 2);

    for (int i = 0; i < NEAR && good; i++) {
        const bool first = i % 2 == 0;

        good = (i % CHECKPOINT_EACH > 0 || disk_sql(d.store, "PRAGMA wal_checkpoint")) &&
               turns_stored(e, first ? "short" : "long", 1, first ? &early : &late) && turns_stored(e, first ? "long" : "short", 1, first ? &late : &early);
    }
    pawl_engine_free(e);
    disk_end(&d);
    out->value = late / early;
    out->base = 1;
    return good;
}

/* ---- while it is idle ---------------------------------------------------------------------------------------- */

/* Twenty messages: ten turns. */
static bool live_bytes(reading *out)
{
    size_t live = 0;
    const pawl_alloc alloc = { bench_counted, &live };
    pawl_machine *m = helper();
    pawl_step *step = pawl_step_new(NULL), *look = pawl_step_new(NULL);
    run r = {0};
    bool good = m != NULL && run_begin(&r, m, 0, step, &alloc) && turns_take(&r, look, 10);

    out->value = (double)live;
    out->base = 20 * 120;       /* what the messages themselves have, as text */
    run_end(&r);
    pawl_step_free(step);
    pawl_step_free(look);
    pawl_machine_free(m);
    return good && (live == 0 || bench_wrong("a freed agent leaves memory behind", NULL));
}

/* An engine keeps the last few at hand. Of the others nothing stays in memory. */
static bool parked_bytes(reading *out)
{
    double before = 0, size = 0;
    pawl_engine *e = NULL;
    char id[16];
    disk d;
    bool good = disk_begin(&d, true) && (e = engine_with(&d)) != NULL;

    for (int i = 0; i < PARKED_FIRST + PARKED && good; i++) {
        if (i == PARKED_FIRST) {
            before = bench_allocated();
            size = disk_size(d.store);
        }
        snprintf(id, sizeof id, "r%d", i);
        good = talk_open(e, id, 2);
    }
    out->value = (bench_allocated() - before) / PARKED;
    out->value = out->value > 0 ? out->value : 0;
    out->base = (disk_size(d.store) - size) / PARKED;
    pawl_engine_free(e);
    disk_end(&d);
    return good;
}

const figure agent_figures[] = {
    { "agent.event_ns", "ns", "a malloc and a free", 1000, false, 5, event_ns },
    { "agent.step_ns", "ns", "a malloc and a free", 0, false, 5, step_ns },
    { "agent.msgs_growth", "x", "nothing", 1.2, false, 5, msgs_growth },
    { "agent.live_bytes", "bytes", "the texts of its messages", 32768, false, 1, live_bytes },
    { "agent.parked_bytes", "bytes", "a conversation in the file", 16, false, 1, parked_bytes },
    { NULL, NULL, NULL, 0, false, 0, NULL },
};
