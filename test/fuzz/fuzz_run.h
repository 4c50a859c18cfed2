/* fuzz_run.h - one machine with a little of everything, and a run of it, for the fuzzers: what it is asked is answered
 * by rote, so that its journal is the same on every day. */
#ifndef TEST_FUZZ_FUZZ_RUN_H
#define TEST_FUZZ_FUZZ_RUN_H

#include "kernel/journal/blobs.h"
#include "kernel/names.h"
#include "pawl/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void must(bool holds)
{
    if (!holds)
        abort();
}

/* Whatever is refused is refused in words, of one line, and by a code that fits. */
static inline void must_tell(pawl_code code, const pawl_err *err)
{
    bool good = code >= 0 || (code == err->code && err->text[0] != '\0' && code != PAWL_NOMEM);

    good = good && utf8_valid(err->text, strlen(err->text)) && strchr(err->text, '\n') == NULL;
    if (!good)
        fprintf(stderr, "it returns %s, and the error says %s: %s\n", pawl_code_name(code), pawl_code_name(err->code), err->text);
    must(good);
}

/* ---- the machine ------------------------------------------------------------------------------ */

static inline pawl_code fuzz_begin(pawl_step *s, void *arg)
{
    const pawl_value *parts, *v;
    pawl_iter it;
    pawl_code rc = pawl_call(s, "plan", pawl_pack(s, "{s:v,s:v}", "log", pawl_ref(s, "log"), "key", pawl_ref(s, "key")), &parts);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    it = pawl_iter_of(parts);
    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        pawl_send(s, "worker", v);
    pawl_set(s, "log", parts);
    pawl_set(s, "topic", parts);
    return pawl_goto(s, "sub");
}

static inline pawl_code fuzz_worker(pawl_step *s, void *arg)
{
    const pawl_value *receipt = NULL;
    uint32_t winner = 0;
    pawl_code rc = pawl_call(s, "work", pawl_args(s), &receipt);

    (void)arg;
    (void)(pawl_sleep(s, 1000) == PAWL_OK);
    if ((rc = pawl_select(s, &winner)) != PAWL_OK)
        return rc;
    pawl_set(s, "log", receipt != NULL ? receipt : pawl_pack(s, "s", "late"));
    pawl_set(s, "seen", pawl_pack(s, "i", (int64_t)winner));
    pawl_set(s, "both", pawl_pack(s, "{s:i}", "winner", (int64_t)winner));
    pawl_set_int(s, "n", 1);
    pawl_emit(s, "progress", receipt != NULL ? receipt : pawl_pack(s, "n"));
    return PAWL_OK;
}

static inline pawl_code fuzz_ask(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    const pawl_question q = { .prompt = pawl_pack(s, "s", "how many?"), .schema = pawl_json(s, "{\"type\":\"integer\"}"),
                              .otherwise = pawl_json(s, "3"), .timeout_ms = 5000 };
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, arg, answer);
    return pawl_interrupt(s, pawl_pack(s, "s", "and now?"), arg);
}

static inline pawl_code fuzz_call(pawl_step *s, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "work", pawl_pack(s, "{s:s}", "node", pawl_node_name(s)), &receipt);

    if (rc != PAWL_OK)
        return rc == PAWL_EFFECT ? pawl_fail(s, PAWL_TRANSIENT, "again") : rc;
    pawl_set(s, arg, receipt);
    return PAWL_OK;
}

static inline const pawl_value *fuzz_both(pawl_step *s, const pawl_value *old, const pawl_value *update, void *arg)
{
    (void)arg;
    return pawl_pack(s, "[v,v]", old, update);
}

static inline pawl_machine *fuzz_machine(void)
{
    static const pawl_channel channels[] = {
        { .name = "log", .rule = PAWL_RULE_APPEND, .first = "[\"begin\"]" }, { .name = "seen", .rule = PAWL_RULE_UNION },
        { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { .name = "topic", .rule = PAWL_RULE_TOPIC },
        { .name = "both", .rule = PAWL_RULE_CUSTOM, .merge = fuzz_both }, { .name = "key", .secret = "env:KEY" },
        { .name = "now", .rule = PAWL_RULE_EPHEMERAL }, { .name = "last" },
    };
    const pawl_retry retry = { .max_attempts = 2, .initial_ms = 10 };
    pawl_graph *g = pawl_graph_new("fuzz", 1), *inner = pawl_graph_new("inner", 1);

    pawl_graph_channel(inner, "log", PAWL_RULE_APPEND);
    pawl_graph_node(inner, "ask", fuzz_ask, "log");
    pawl_graph_node(inner, "call", fuzz_call, "log");
    pawl_graph_chain(inner, PAWL_START, "ask", "call", PAWL_END, NULL);
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        pawl_graph_channel_with(g, &channels[i]);
    pawl_graph_node(g, "begin", fuzz_begin, NULL);
    pawl_graph_node(g, "worker", fuzz_worker, NULL);
    pawl_graph_sub(g, "sub", inner);
    pawl_graph_map(g, "sub", "log", "log", true, true);
    pawl_graph_node(g, "flaky", fuzz_call, "last");
    pawl_graph_work(g, "end", "work");
    pawl_graph_retry(g, "flaky", &retry);
    pawl_graph_goto(g, "begin", "sub", "worker", NULL);
    pawl_graph_edge(g, PAWL_START, "begin");
    pawl_graph_join(g, "flaky", "sub", "worker", NULL);
    pawl_graph_chain(g, "flaky", "end", PAWL_END, NULL);
    pawl_graph_gate(g, "end", "end it?");
    pawl_graph_turns(g, "more?");
    return pawl_graph_compile(g, NULL);
}

/* ---- its run ------------------------------------------------------------------------------------- */

enum { FUZZ_STAGES_MAX = 24, FUZZ_BLOBS_MAX = 256 };

typedef struct fuzz_run {
    pawl_machine *m;
    buf journal;
    size_t ends[FUZZ_STAGES_MAX];       /* of the journal, after each step; the first: the base alone */
    size_t stages;
    char *snapshots[FUZZ_STAGES_MAX];   /* there; NULL: none can be taken */
    blob_out blobs[FUZZ_BLOBS_MAX];     /* every value of it, for journals that have it apart */
    size_t nblobs;
} fuzz_run;

static inline pawl_code fuzz_blob(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    const fuzz_run *r = ctx;

    for (size_t i = 0; i < r->nblobs; i++) {
        if (strcmp(r->blobs[i].digest, digest) == 0) {
            *bytes = r->blobs[i].bytes;
            return PAWL_OK;
        }
    }
    return fail(err, PAWL_GONE, "there is no such blob");
}

static inline void fuzz_blobs(fuzz_run *r, const pawl_step *s)
{
    const char *digest;
    pawl_bytes bytes, there;

    for (size_t i = 0; (bytes = pawl_step_blob(s, i, &digest)).data != NULL; i++) {
        char *copy;

        if (fuzz_blob(r, digest, &there, NULL) == PAWL_OK || r->nblobs == FUZZ_BLOBS_MAX)
            continue;
        must((copy = calloc(1, bytes.size + 1)) != NULL);
        memcpy(copy, bytes.data, bytes.size);
        memcpy(r->blobs[r->nblobs].digest, digest, HASH_HEX + 1);
        r->blobs[r->nblobs++].bytes = (pawl_bytes){ copy, bytes.size };
    }
}

static inline pawl_loader fuzz_loader(const fuzz_run *r)
{
    union { const fuzz_run *in; void *out; } ctx = { r };

    return (pawl_loader){ .blob = fuzz_blob, .ctx = ctx.out };
}

/* What the world says next. False: it has said enough. */
static inline bool fuzz_event(pawl_state *st, pawl_step *look, size_t n, pawl_event *ev, char *id, size_t size)
{
    static const char *const receipts[] = { "[{\"part\":\"a\"},{\"part\":\"b\"}]", "{\"text\":\"a receipt that is long enough to be referred to\"}",
                                            "\"short\"", "{\"last\":[1,2.5,null,\"x\"]}" };
    pawl_command cmd;
    pawl_wait q;

    *ev = (pawl_event){ .kind = PAWL_EV_TICK, .time_ms = 1000 + (int64_t)n };
    if (pawl_state_status(st) == PAWL_STATUS_SUBMITTED)
        *ev = (pawl_event){ .kind = PAWL_EV_START, .time_ms = 1000, .value = "{\"last\":\"first\",\"now\":1}" };
    else if (pawl_state_next(st) == PAWL_PENDING && pawl_state_command(st, pawl_state_commands(st) - 1, look, &cmd, NULL, NULL) == PAWL_OK) {
        memcpy(id, cmd.id, strlen(cmd.id) < size ? strlen(cmd.id) + 1 : 0);
        if (cmd.kind == PAWL_COMMAND_SLEEP)
            *ev = (pawl_event){ .kind = PAWL_EV_TIMER, .id = id, .time_ms = cmd.due_ms };
        else
            *ev = (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = receipts[n < 3 ? 0 : strstr(id, ".end.") != NULL ? 3 : 1 + n % 2],
                                .time_ms = 1000 + (int64_t)n, .outcome = strstr(id, ".flaky.1.") != NULL ? PAWL_OUTCOME_ERROR : PAWL_OUTCOME_DONE };
    } else if (pawl_state_next(st) == PAWL_INTERRUPTED && pawl_state_wait(st, 0, look, &q, NULL) == PAWL_OK) {
        memcpy(id, q.id, strlen(q.id) < size ? strlen(q.id) + 1 : 0);
        *ev = (pawl_event){ .kind = PAWL_EV_ANSWER, .id = id, .time_ms = 1000 + (int64_t)n, .by = "ada",
                            .value = q.kind == PAWL_WAIT_APPROVAL ? "true" : q.kind == PAWL_WAIT_INPUT ? "{\"last\":\"again\"}" : "7" };
    }
    return n < FUZZ_STAGES_MAX - 1 && pawl_state_next(st) != PAWL_HALTED;
}

static inline void fuzz_stage(fuzz_run *r, pawl_state *st, pawl_step *look, pawl_bytes line)
{
    pawl_bytes snapshot;

    buf_put(&r->journal, line.data, line.size);
    buf_char(&r->journal, '\n');
    r->ends[r->stages] = r->journal.size;
    if (pawl_state_snapshot(st, look, &snapshot, NULL) == PAWL_OK) {
        r->snapshots[r->stages] = calloc(1, snapshot.size + 1);
        memcpy(r->snapshots[r->stages], snapshot.data, snapshot.size);
    }
    r->stages++;
}

static inline const fuzz_run *fuzz_the_run(void)
{
    static fuzz_run run;
    static const pawl_run_info info = { .id = "fuzz-1", .life = 1, .seed = 7, .created_ms = 1000 };
    fuzz_run *r = &run;
    char id[ID_BYTES_MAX];
    pawl_step *s, *look, *apart;
    pawl_state *st = NULL;
    pawl_event ev;

    if (r->stages > 0)
        return r;
    r->m = fuzz_machine();
    s = pawl_step_new(NULL);
    look = pawl_step_new(NULL);
    apart = pawl_step_new(NULL);
    buf_init(&r->journal, NULL);
    must(r->m != NULL && s != NULL && look != NULL && apart != NULL && pawl_state_new(r->m, &info, 0, NULL, &st, NULL) == PAWL_OK);
    fuzz_stage(r, st, look, pawl_state_base(st));
    for (size_t n = 0; fuzz_event(st, look, n, &ev, id, sizeof id); n++) {
        for (size_t limit = 1; limit < 64; limit *= 2) {
            pawl_step_blobs(apart, limit);
            must(pawl_feed(r->m, st, &ev, apart, NULL) >= 0);
            fuzz_blobs(r, apart);
        }
        must(pawl_feed(r->m, st, &ev, s, NULL) >= 0);
        must(pawl_step_entry(s) != NULL && pawl_apply(st, pawl_step_entry(s), NULL) == PAWL_OK);
        fuzz_stage(r, st, look, pawl_step_bytes(s));
    }
    pawl_step_free(apart);
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_step_free(look);
    return r;
}

/* The run as it stood after step `stage`. */
static inline pawl_state *fuzz_state(const fuzz_run *r, size_t stage)
{
    const pawl_loader loader = fuzz_loader(r);
    pawl_state *st = NULL;

    must(pawl_replay_with((pawl_bytes){ r->journal.data, r->ends[stage % r->stages] }, 0, &loader, NULL, &st, NULL) == PAWL_OK);
    return st;
}

static inline pawl_code fuzz_entry_lines(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err)
{
    const fuzz_run *r = ctx;
    uint64_t at = 0;
    size_t first = r->ends[0];

    for (size_t i = 1; i < r->stages; i++) {
        if (r->journal.data[r->ends[i - 1]] == '[')
            continue;
        if (++at == seq) {
            *entry = (pawl_bytes){ r->journal.data + r->ends[i - 1], r->ends[i] - r->ends[i - 1] - 1 };
            *records = (pawl_bytes){ r->journal.data + first, r->ends[i - 1] - first };
            return PAWL_OK;
        }
        first = r->ends[i];
    }
    return fail(err, PAWL_GONE, "there is no such entry");
}

/* ---- looking at whatever was loaded ----------------------------------------------------------------- */

/* Everything that one may ask of a state; then the machine goes on from there, as far as it can. */
static inline void fuzz_look(const fuzz_run *r, pawl_state *st)
{
    pawl_step *s = pawl_step_new(NULL), *look = pawl_step_new(NULL);
    pawl_run_info other = { .id = "other", .life = 2 };
    pawl_state *fork = NULL;
    pawl_bytes bytes;
    pawl_command cmd;
    pawl_wait q;
    pawl_event ev;
    char id[ID_BYTES_MAX + PATH_BYTES_MAX];

    must(s != NULL && look != NULL);
    pawl_step_blobs(look, 8);
    (void)pawl_state_json(st, look, NULL);
    for (int i = PAWL_PICTURE_TEXT; i <= PAWL_PICTURE_DOT; i++)
        if (pawl_draw(r->m, st, (pawl_picture)i, look, NULL) == NULL)
            break;
    for (size_t i = 0; i < pawl_state_commands(st) && i < 8; i++)
        if (pawl_state_command(st, i, look, &cmd, NULL, NULL) != PAWL_OK)
            break;
    for (size_t i = 0; i < pawl_state_waits(st) && i < 8; i++)
        if (pawl_state_wait(st, i, look, &q, NULL) != PAWL_OK)
            break;
    if (pawl_state_fork(st, &other, look, &fork, NULL) == PAWL_OK)
        pawl_state_free(fork);
    (void)(pawl_state_prune(st, look, &bytes, NULL) == PAWL_OK);
    for (size_t n = 10; n < 14 && fuzz_event(st, look, n, &ev, id, sizeof id); n++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_code rc = pawl_feed(r->m, st, &ev, s, &err);

        must_tell(rc, &err);
        if (rc < 0 || rc == PAWL_IGNORED)
            break;
        rc = pawl_apply(st, pawl_step_entry(s), &err);
        must_tell(rc, &err);
        if (rc != PAWL_OK)
            break;
    }
    pawl_step_free(s);
    pawl_step_free(look);
}

/* The line with the hash that it should have after `prev`: so that what is in it is looked at, too. */
static inline void fuzz_seal(pawl_bytes line, const hash *prev, hash *self, buf *out)
{
    const char *space = line.size > HASH_HEX + 1 ? memchr(line.data + HASH_HEX + 1, ' ', line.size - HASH_HEX - 1) : NULL;
    char hex[HASH_HEX + 1];
    hash digest;

    if (line.size == 0 || line.data[0] == '[' || space == NULL) {
        buf_put(out, line.data, line.size);
        return;
    }
    space++;
    hash_of(space, (size_t)(line.data + line.size - space), &digest);
    const pawl_bytes parts[3] = { { (const char *)prev->b, HASH_BYTES },
                                  { line.data + HASH_HEX + 1, (size_t)(space - line.data) - HASH_HEX - 2 },
                                  { (const char *)digest.b, HASH_BYTES } };
    hash_parts(parts, 3, self);
    hash_hex(self, hex);
    buf_put(out, hex, HASH_HEX);
    buf_put(out, line.data + HASH_HEX, line.size - HASH_HEX);
}

#endif
