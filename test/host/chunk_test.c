/* chunk_test.c - what an agent and its children say, piece by piece: sixteen kinds, each at its place (A3, A7, G11). */
#include "hosting.h"

enum { CHUNKS_MAX = 512 };

typedef struct heard {          /* one chunk, without those around it */
    pawl_chunk_kind kind;
    char run[64], cursor[48], json[512];
    uint64_t seq, index, live;
    unsigned depth;             /* 1: a child said it, 2: a grandchild */
} heard;

typedef struct listener {
    pawl_chunks *c;
    heard all[CHUNKS_MAX];
    size_t n;
    bool seen[PAWL_CHUNK_DONE + 1];     /* also those around others */
} listener;

static void listens(listener *l, pawl_handle *a, const char *from)
{
    pawl_err err = {0};

    *l = (listener){ .n = 0 };
    if ((l->c = pawl_handle_chunks(a, from, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
}

static const heard *hears(listener *l, const pawl_chunk *k)
{
    heard *h = &l->all[l->n];
    const pawl_chunk *in = k;

    if (l->n + 1 == CHUNKS_MAX)
        CHECK_FAIL("more than %d chunks", CHUNKS_MAX);
    *h = (heard){ .depth = 0 };
    for (; in->kind == PAWL_CHUNK_SUB_AGENT_OUTPUT; in = in->chunk) {
        char part_of[256];

        l->seen[in->kind] = true;
        h->depth++;
        CHECK(in->live > 0);
        CHECK_STR(in->session_id, in->chunk->run);
        snprintf(part_of, sizeof part_of, "{\"chunk\":{\"index\":%llu,\"kind\":\"%s\",\"live\":%llu,\"run\":\"%s\",\"seq\":%llu,\"value\":{",
                 (unsigned long long)in->chunk->index,
                 pawl_chunk_name(in->chunk->kind), (unsigned long long)in->chunk->live, in->chunk->run, (unsigned long long)in->chunk->seq);
        CHECK(strncmp(in->json, part_of, strlen(part_of)) == 0);
    }
    CHECK(in->chunk == NULL && in->session_id == NULL && in->seq > 0);
    l->seen[in->kind] = true;
    h->kind = in->kind;
    h->seq = in->seq;
    h->index = in->index;
    h->live = in->live;
    snprintf(h->run, sizeof h->run, "%s", in->run);
    snprintf(h->cursor, sizeof h->cursor, "%s", k->cursor);
    snprintf(h->json, sizeof h->json, "%s", in->json);
    l->n++;
    return h;
}

/* Until one of that kind is said by that run. */
static const heard *until(listener *l, const char *run, pawl_chunk_kind kind)
{
    pawl_chunk k;
    pawl_err err = {0};

    for (;;) {
        const pawl_code rc = pawl_chunks_wait(l->c, PATIENCE_MS, &k, &err);
        const heard *h;

        if (rc != PAWL_OK)
            CHECK_FAIL("%s of %s does not come: %s %s", pawl_chunk_name(kind), run, pawl_code_name(rc), err.text);
        h = hears(l, &k);
        if (h->kind == kind && strcmp(h->run, run) == 0)
            return h;
    }
}

/* All that is there; how it stands then. */
static pawl_code rest_of(listener *l)
{
    pawl_chunk k;
    pawl_err err = {0};
    pawl_code rc;

    while ((rc = pawl_chunks_wait(l->c, 200, &k, &err)) == PAWL_OK)
        (void)hears(l, &k);
    if (rc < 0)
        CHECK_FAIL("%s", err.text);
    return rc;
}

static size_t find(const listener *l, const char *run, pawl_chunk_kind kind, const char *part)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->all[i].kind == kind && strcmp(l->all[i].run, run) == 0 && (part == NULL || strstr(l->all[i].json, part) != NULL))
            return i;
    CHECK_FAIL("no %s of %s with %s", pawl_chunk_name(kind), run, part != NULL ? part : "whatever");
    return 0;
}

/* The next durable one of `run` from i on; n: there is none. */
static size_t durable(const listener *l, const char *run, size_t i)
{
    while (i < l->n && (l->all[i].live > 0 || strcmp(l->all[i].run, run) != 0))
        i++;
    return i;
}

/* Of `run` both have the same durable ones in the same order, `b` from its `at`th on. */
static void same(const listener *a, size_t at, const listener *b, const char *run)
{
    size_t i = durable(a, run, at), k = durable(b, run, 0);

    for (; i < a->n && k < b->n; i = durable(a, run, i + 1), k = durable(b, run, k + 1))
        if (a->all[i].kind != b->all[k].kind || a->all[i].seq != b->all[k].seq || a->all[i].index != b->all[k].index ||
            strcmp(a->all[i].json, b->all[k].json) != 0)
            CHECK_FAIL("%s: %s %llu.%llu, and %s %llu.%llu", run, pawl_chunk_name(a->all[i].kind), (unsigned long long)a->all[i].seq,
                       (unsigned long long)a->all[i].index,
                       pawl_chunk_name(b->all[k].kind), (unsigned long long)b->all[k].seq, (unsigned long long)b->all[k].index);
    CHECK(i >= a->n && k >= b->n);
}

/* Places go on, and are given once. */
static void in_order(const listener *l, const char *run)
{
    uint64_t seq = 0, index = 0;

    for (size_t i = durable(l, run, 0); i < l->n; i = durable(l, run, i + 1)) {
        CHECK(l->all[i].seq > seq || (l->all[i].seq == seq && l->all[i].index > index));
        seq = l->all[i].seq;
        index = l->all[i].index;
    }
}

/* ---- the story ------------------------------------------------------------------------------------------------ */

static void a_tool_that_is_let_in(stage *g, listener *l, pawl_handle *a)
{
    pawl_err err = {0};

    CHECK(strstr(until(l, "r", PAWL_CHUNK_PERMISSION_REQUEST)->json, "\"tool_use_id\":\"b1\"") != NULL);
    said(pawl_handle_permit(a, NULL, true, NULL, NULL, &err), &err);
    (void)until(l, "r", PAWL_CHUNK_TOOL_START);
    stage_waits(g, &g->working, 1);
    CHECK_STR(until(l, "r", PAWL_CHUNK_TOOL_PROGRESS)->json, "{\"output\":\"half\",\"tool_use_id\":\"b1\"}");
    gate_opens(g);
    CHECK_STR(until(l, "r", PAWL_CHUNK_TOOL_END)->json, "{\"is_error\":false,\"name\":\"bash\",\"result\":\"tool-bash did b1\",\"tool_use_id\":\"b1\"}");
    CHECK_STR(until(l, "r", PAWL_CHUNK_DONE)->json, "{\"end\":\"answer\"}");
}

static void a_question(listener *l, pawl_handle *a)
{
    pawl_err err = {0};

    sends(a, "use ask_user q1 {\\\"questions\\\":[{\\\"header\\\":\\\"Color\\\",\\\"options\\\":[\\\"red\\\",\\\"blue\\\"],\\\"question\\\":\\\"Which?\\\"}]}");
    CHECK(strstr(until(l, "r", PAWL_CHUNK_ASK_USER_QUESTION)->json, "\"request_id\":\"q1\"") != NULL);
    said(pawl_handle_answer(a, NULL, "\"red\"", &err), &err);
    (void)until(l, "r", PAWL_CHUNK_DONE);
}

/* What a grandchild says while it says it comes through its parent, as what that said. */
static void children(stage *g, listener *l, pawl_handle *a)
{
    const heard *h;

    sends(a, "use spawn_agent s1 {\\\"prompt\\\":\\\"deep\\\"}");
    CHECK_STR(until(l, "r", PAWL_CHUNK_SUB_AGENT_SPAWNED)->json, "{\"agent_type\":\"searcher\",\"session_id\":\"r.sub-s1\",\"tool_use_id\":\"s1\"}");
    h = until(l, "r.sub-s1", PAWL_CHUNK_SUB_AGENT_SPAWNED);
    CHECK_INT(h->depth, 1);
    h = until(l, "r.sub-s1.sub-g1", PAWL_CHUNK_TEXT_DELTA);
    CHECK_INT(h->depth, 2);
    CHECK_STR(h->json, "{\"text\":\"half an \"}");
    CHECK(h->live > 0);
    gate_opens(g);
    h = until(l, "r", PAWL_CHUNK_SUB_AGENT_COMPLETE);
    CHECK_STR(h->json, "{\"result\":\"so\",\"session_id\":\"r.sub-s1\",\"succeeded\":true,\"tool_use_id\":\"s1\"}");
    (void)until(l, "r", PAWL_CHUNK_DONE);
    CHECK(find(l, "r", PAWL_CHUNK_SUB_AGENT_SPAWNED, NULL) < find(l, "r.sub-s1", PAWL_CHUNK_STATE_CHANGE, "processing"));
    CHECK(find(l, "r.sub-s1", PAWL_CHUNK_SUB_AGENT_SPAWNED, NULL) < find(l, "r.sub-s1.sub-g1", PAWL_CHUNK_STATE_CHANGE, "processing"));
    CHECK(find(l, "r.sub-s1.sub-g1", PAWL_CHUNK_DONE, NULL) < find(l, "r.sub-s1", PAWL_CHUNK_SUB_AGENT_COMPLETE, NULL));
    CHECK(find(l, "r.sub-s1", PAWL_CHUNK_DONE, NULL) < find(l, "r", PAWL_CHUNK_SUB_AGENT_COMPLETE, NULL));
}

PAWL_TEST(test_A7_G11_sixteen_kinds_in_one_story)
{
    static const char *const runs[] = { "r", "r.sub-s1", "r.sub-s1.sub-g1" };
    static listener l, late, from;
    pawl_handle *a;
    pawl_err err = {0};
    stage g;

    host_begin(&g, true, 4);
    said(pawl_engine_live(g.e, 0, 0, &err), &err);
    a = spawned(&g, "r", "{\"input\":\"use bash b1 {\\\"command\\\":\\\"make\\\",\\\"hold\\\":true,\\\"tell\\\":\\\"half\\\"}\"}");
    listens(&l, a, NULL);
    a_tool_that_is_let_in(&g, &l, a);
    a_question(&l, a);
    sends(a, "gate hello");
    (void)until(&l, "r", PAWL_CHUNK_THINKING_DELTA);
    CHECK_STR(until(&l, "r", PAWL_CHUNK_TEXT_DELTA)->json, "{\"text\":\"half an \"}");
    gate_opens(&g);
    CHECK_STR(until(&l, "r", PAWL_CHUNK_TEXT_COMPLETE)->json, "{\"text\":\"hello\"}");
    (void)until(&l, "r", PAWL_CHUNK_DONE);
    sends(a, "think well");
    CHECK_STR(until(&l, "r", PAWL_CHUNK_THINKING_COMPLETE)->json, "{\"thinking\":\"hm\"}");
    (void)until(&l, "r", PAWL_CHUNK_DONE);
    children(&g, &l, a);
    sends(a, "twice fine");
    CHECK(strstr(until(&l, "r", PAWL_CHUNK_STATUS)->json, "\"again_in_ms\"") != NULL);
    (void)until(&l, "r", PAWL_CHUNK_DONE);
    sends(a, "fail invalid");
    CHECK(strstr(until(&l, "r", PAWL_CHUNK_ERROR)->json, "API error: it will not") != NULL);
    (void)until(&l, "r", PAWL_CHUNK_DONE);
    for (int kind = PAWL_CHUNK_TEXT_DELTA; kind <= PAWL_CHUNK_DONE; kind++)
        if (!l.seen[kind])
            CHECK_FAIL("no %s was seen", pawl_chunk_name((pawl_chunk_kind)kind));
    said(pawl_handle_shutdown(a, &err), &err);
    CHECK_STR(comes_to(a, PAWL_UNTIL_OVER), "over");
    CHECK_INT(rest_of(&l), PAWL_HALTED);
    /* One that comes when all is over has the same durable ones, at the same places; and so has one that goes on from a cursor, from there. */
    listens(&late, a, NULL);
    CHECK_INT(rest_of(&late), PAWL_HALTED);
    for (size_t i = 0; i < 3; i++) {
        in_order(&l, runs[i]);
        same(&l, 0, &late, runs[i]);
    }
    for (size_t i = durable(&l, "r", 0); i < l.n; i = durable(&l, "r", i + 1)) {
        listens(&from, a, l.all[i].cursor);
        CHECK_INT(rest_of(&from), PAWL_HALTED);
        same(&l, i + 1, &from, "r");
        pawl_chunks_close(from.c);
    }
    pawl_chunks_close(late.c);
    pawl_chunks_close(l.c);
    pawl_handle_free(a);
    host_end(&g);
}

/* One that comes while children are at work hears them: all that they have said, or with "now" what they say from then on. */
PAWL_TEST(test_G11_a_reader_that_comes_while_children_are_at_work)
{
    static listener first, late, now;
    pawl_handle *a;
    pawl_err err = {0};
    stage g;

    host_begin(&g, true, 4);
    said(pawl_engine_live(g.e, 0, 0, &err), &err);
    a = spawned(&g, "r", "{\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"deep\\\"}\"}");
    listens(&first, a, NULL);
    stage_waits(&g, &g.speaking, 1);
    (void)until(&first, "r.sub-s1", PAWL_CHUNK_SUB_AGENT_SPAWNED);
    listens(&late, a, first.all[first.n - 1].cursor);
    listens(&now, a, "now");
    (void)until(&late, "r.sub-s1.sub-g1", PAWL_CHUNK_TEXT_DELTA);       /* its attempt is not over */
    gate_opens(&g);
    (void)until(&first, "r", PAWL_CHUNK_DONE);
    (void)until(&late, "r", PAWL_CHUNK_DONE);
    (void)until(&now, "r", PAWL_CHUNK_DONE);
    same(&first, 0, &late, "r.sub-s1");
    same(&first, 0, &late, "r.sub-s1.sub-g1");
    CHECK_STR(now.all[find(&now, "r.sub-s1.sub-g1", PAWL_CHUNK_TEXT_COMPLETE, NULL)].json, "{\"text\":\"done\"}");
    for (size_t i = 0; i < now.n; i++)
        CHECK(now.all[i].kind != PAWL_CHUNK_SUB_AGENT_SPAWNED);
    CHECK_INT(rest_of(&now), PAWL_PENDING);
    pawl_chunks_stop(now.c);
    CHECK_INT(pawl_chunks_wait(now.c, -1, &(pawl_chunk){ .seq = 0 }, &err), PAWL_CANCELED);
    pawl_chunks_close(now.c);
    pawl_chunks_close(late.c);
    pawl_chunks_close(first.c);
    pawl_handle_free(a);
    host_end(&g);
}

/* The text that an interrupt kept is in no emission; a reader that comes later gets it from the message, at its place. */
PAWL_TEST(test_A4_a_reader_that_comes_after_an_interrupt_gets_the_text_that_was_kept)
{
    static listener present, late, from;
    pawl_handle *a;
    pawl_err err = {0};
    size_t kept;
    stage g;

    host_begin(&g, true, 2);
    a = spawned(&g, "r", "{\"input\":\"hang\"}");
    listens(&present, a, NULL);
    stage_waits(&g, &g.speaking, 1);
    said(pawl_handle_interrupt(a, &err), &err);
    (void)until(&present, "r", PAWL_CHUNK_DONE);
    CHECK_STR(rests(a), "idle");
    CHECK_INT(rest_of(&present), PAWL_PENDING);
    listens(&late, a, NULL);
    (void)until(&late, "r", PAWL_CHUNK_DONE);
    CHECK_INT(rest_of(&late), PAWL_PENDING);
    kept = find(&late, "r", PAWL_CHUNK_TEXT_COMPLETE, NULL);
    CHECK_STR(late.all[kept].json, "{\"text\":\"half an answer\"}");
    CHECK(kept < find(&late, "r", PAWL_CHUNK_DONE, "interrupt"));
    in_order(&late, "r");
    same(&present, 0, &late, "r");
    listens(&from, a, late.all[kept].cursor);   /* after it: once and no more */
    (void)until(&from, "r", PAWL_CHUNK_DONE);
    for (size_t i = 0; i < from.n; i++)
        CHECK(from.all[i].kind != PAWL_CHUNK_TEXT_COMPLETE);
    pawl_chunks_close(from.c);
    pawl_chunks_close(late.c);
    pawl_chunks_close(present.c);
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_A3_chunks_are_asked_for_as_they_may_be)
{
    pawl_handle *a;
    pawl_err err = {0};
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"say hello\"}");
    CHECK_STR(rests(a), "idle");
    CHECK(pawl_handle_chunks(a, "nowhere", &err) == NULL);
    CHECK_INT(err.code, PAWL_INVALID);
    CHECK(pawl_handle_chunks(NULL, NULL, NULL) == NULL);
    CHECK_INT(pawl_chunks_next(NULL, NULL, NULL), PAWL_INVALID);
    CHECK_STR(pawl_chunk_name((pawl_chunk_kind)0), "");
    CHECK_STR(pawl_chunk_name((pawl_chunk_kind)(PAWL_CHUNK_DONE + 1)), "");
    CHECK_INT(PAWL_CHUNK_DONE, 16);
    pawl_chunks_close(NULL);
    pawl_chunks_stop(NULL);
    pawl_handle_free(a);
    host_end(&g);
}
