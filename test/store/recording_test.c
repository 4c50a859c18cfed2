/* recording_test.c - what models answered in a run, out of its journal: the same lines as were written down while it ran. */
#include "pawl/llm.h"
#include "store/shelf.h"

enum { ROUNDS = 4 };

/* A word of its own, and what the model says to all so far, round by round. */
static pawl_code speak(pawl_step *s, void *arg)
{
    const int64_t round = pawl_value_int(pawl_get(s, "round"));
    const pawl_value *all, *reply, *other;
    pawl_code rc;

    (void)arg;
    all = pawl_pack(s, "{s:s,s:v,s:b}", "model", "script:s", "messages", pawl_ref(s, "messages"), "cache", round % 2 == 0);
    rc = pawl_call(s, "llm", all, &reply);
    if (pawl_call(s, "work", pawl_pack(s, "{s:i}", "n", round), &other) != PAWL_OK || rc != PAWL_OK)
        return rc != PAWL_OK ? rc : PAWL_PENDING;
    pawl_set(s, "messages", pawl_value_get(reply, "message"));
    pawl_set(s, "messages", pawl_pack(s, "{s:s,s:s}", "role", "user", "content", pawl_format(s, "round %d", (int)round)));
    pawl_set_int(s, "round", round + 1);
    return round + 1 < ROUNDS ? pawl_goto(s, "speak") : pawl_halt(s);
}

static pawl_machine *speaker(void)
{
    static const pawl_channel messages = { .name = "messages", .rule = PAWL_RULE_APPEND, .first = "[{\"content\":\"begin\",\"role\":\"user\"}]" };
    static const pawl_channel round = { .name = "round", .first = "0" };
    pawl_graph *g = pawl_graph_new("speaker", 1);

    pawl_graph_channel_with(g, &messages);
    pawl_graph_channel_with(g, &round);
    pawl_graph_node(g, "speak", speak, NULL);
    pawl_graph_edge(g, PAWL_START, "speak");
    pawl_graph_goto(g, "speak", "speak", NULL);
    return pawl_graph_compile(g, NULL);
}

static bool gather(void *ctx, pawl_bytes line)
{
    buf_put(ctx, line.data, line.size);
    return true;
}

static bool never(void *ctx, pawl_bytes line)
{
    (void)ctx, (void)line;
    return false;
}

static void file_read(const char *path, buf *out)
{
    FILE *f = fopen(path, "r");
    int c;

    CHECK(f != NULL);
    while ((c = fgetc(f)) != EOF)
        buf_char(out, (char)c);
    fclose(f);
}

static void recorded(size_t blob_limit)
{
    static const char answers[] = "[{\"turn\":2,\"reply\":\"two\",\"tools\":[{\"name\":\"t\"}]},{\"reply\":\"some words, long enough to stand apart of a line\"}]";
    char path[300];
    pawl_store *s = shelf_store();
    pawl_err err = { PAWL_OK, "" };
    pawl_llm_script *script;
    pawl_llm_record *r;
    buf lines, file;
    arena mem;
    town t;

    snprintf(path, sizeof path, "%s.record", shelf_path);
    arena_init(&mem, NULL, 4096);
    buf_init(&lines, NULL);
    buf_init(&file, NULL);
    script = pawl_llm_script_new(value_parse(&mem, answers, sizeof answers - 1, "answers", NULL), "s", NULL, NULL, &err);
    CHECK(script != NULL && (r = pawl_llm_record_open(path, PAWL_RECORD_LIVE, pawl_effect_script, script, &err)) != NULL);
    town_begin(&t, speaker(), s);
    if (blob_limit > 0)
        pawl_engine_blobs(t.e, blob_limit);
    CHECK_INT(pawl_engine_effect(t.e, "llm", pawl_effect_record, r, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    town_acts(&t, "work", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "1";
    CHECK_INT(town_run(&t, "r", NULL), PAWL_HALTED);
    pawl_llm_record_close(r);
    file_read(path, &file);
    CHECK_INT(pawl_llm_recording_of_run(s, "r", "llm", gather, &lines, &err), PAWL_OK);
    CHECK_BYTES(lines.data, lines.size, file.data, file.size);
    CHECK_INT(pawl_llm_recording_of_run(s, "r", "llm", never, NULL, &err), PAWL_IO);
    lines.size = 0;
    CHECK_INT(pawl_llm_recording_of_run(s, "r", "nothing", gather, &lines, NULL), PAWL_OK);
    CHECK_INT(lines.size, 0);
    CHECK_INT(pawl_llm_recording_of_run(s, "nobody", "llm", gather, &lines, NULL), PAWL_GONE);
    town_end(&t);
    pawl_llm_script_free(script);
    buf_free(&lines);
    buf_free(&file);
    arena_free(&mem);
    remove(path);
}

static void in_lines(void) { recorded(0); }
static void in_blobs(void) { recorded(16); }

PAWL_TEST(test_a_record_of_a_run_is_what_was_recorded_in_it) { on_both(in_lines); }
PAWL_TEST(test_a_record_has_what_stands_apart_of_the_journal) { on_both(in_blobs); }
