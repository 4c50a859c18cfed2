/* reads_test.c - what is read of a store for whoever asks: of a run no more than decides (N4). Reads are counted, never timed. */
#include "app/session.h"
#include "app/tokens.h"
#include "cli/run_list.h"
#include "lib/check.h"

/* ---- a store that counts ------------------------------------------------------------------------------------- */

static pawl_store_verbs counting;
static const pawl_store_verbs *real;
static unsigned heads, loads, lines;
static pawl_line_fn *line_fn;

static pawl_code head_counted(pawl_store *s, const char *run, pawl_head *head, pawl_err *err)
{
    heads++;
    return real->head(s, run, head, err);
}

static bool line_counted(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    lines++;
    return line_fn(ctx, kind, seq, line);
}

static pawl_code load_counted(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    loads++;
    line_fn = fn;
    return real->load(s, run, line_counted, ctx, err);
}

static pawl_store *store_new(void)
{
    pawl_store *s = pawl_store_memory(NULL);

    CHECK(s != NULL);
    real = s->verbs;
    counting = *real;
    counting.head = head_counted;
    counting.load = load_counted;
    s->verbs = &counting;
    return s;
}

static void count_from_here(void) { heads = loads = lines = 0; }

/* `more`: members of the base after "life", each with its comma before it. */
static void run_add(pawl_store *s, const char *run, const char *machine, const char *parent, const char *labels)
{
    char base[512], above[100] = "";

    if (parent != NULL)
        snprintf(above, sizeof above, ",\"parent\":\"%s~00000000000004d2/1.go.1.0\"", parent);
    snprintf(base, sizeof base, "{\"at\":1,\"channels\":{},\"format\":1,\"id\":\"%s\"%s,\"life\":\"00000000000004d2\",\"machine\":{\"hash\":\"%064d\",\"name\":\"%s\","
             "\"version\":1}%s,\"seed\":\"0000000000000001\"}", run, labels, 0, machine, above);
    CHECK_INT(s->verbs->create(s, (pawl_bytes){ base, strlen(base) }, NULL, NULL), PAWL_OK);
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static bool sees(const asker *who, pawl_store *s, const char *run)
{
    bool seen = false;

    CHECK_INT(asker_sees(who, s, run, &seen, NULL), PAWL_OK);
    return seen;
}

PAWL_TEST(test_N4_each_head_is_read_once_on_the_way_up_and_a_base_where_a_label_decides)
{
    const asker machine = { .by = "token:a", .machines = { "whole" }, .nmachines = 1 }, label = { .by = "token:b", .labels = { "x" }, .nlabels = 1 },
                both = { .by = "token:c", .machines = { "part" }, .nmachines = 1, .labels = { "x" }, .nlabels = 1 };
    pawl_store *s = store_new();

    run_add(s, "top", "whole", NULL, ",\"labels\":[\"x\",\"y\"]");
    run_add(s, "top.a", "part", "top", "");
    run_add(s, "top.a.b", "part", "top.a", "");
    run_add(s, "other", "part", NULL, "");
    count_from_here();
    CHECK(sees(&machine, s, "top.a.b"));
    CHECK_INT(heads, 3);
    CHECK_INT(loads, 0);
    count_from_here();
    CHECK(sees(&label, s, "top.a.b"));
    CHECK_INT(heads, 3);
    CHECK_INT(loads, 1);
    CHECK_INT(lines, 1);
    count_from_here();
    CHECK(!sees(&both, s, "top"));
    CHECK(!sees(&both, s, "other"));
    CHECK_INT(heads, 2);
    CHECK_INT(loads, 1);        /* the machine of the one decides */
    CHECK(!sees(&machine, s, "top~00000000000004d2"));
    CHECK(!sees(&machine, s, "none"));
    s->verbs = real;
    pawl_store_free(s);
}

static bool seen_by_head(void *ctx, const pawl_head *head)
{
    static const asker one = { .by = "token:a", .machines = { "whole" }, .nmachines = 1 };
    bool seen = false;

    CHECK_INT(asker_sees_head(&one, ctx, head, &seen, NULL), PAWL_OK);
    return seen;
}

static unsigned listed;
static bool list_one(void *ctx, const pawl_head *head)
{
    (void)ctx;
    CHECK_STR(head->machine, "whole");
    listed++;
    return true;
}

PAWL_TEST(test_N4_a_list_reads_nothing_more_of_runs_that_are_not_seen)
{
    pawl_store *s = store_new();
    const pawl_filter all = { .limit = 1000 };
    char run[32];

    for (int i = 0; i < 100; i++) {
        snprintf(run, sizeof run, "r%d", i);
        run_add(s, run, i % 10 == 0 ? "whole" : "part", NULL, "");
    }
    count_from_here();
    listed = 0;
    CHECK_INT(runs_listed(s, &all, false, seen_by_head, list_one, s, NULL), PAWL_OK);
    CHECK_INT(listed, 10);
    CHECK_INT(heads, 0);
    CHECK_INT(loads, 0);
    s->verbs = real;
    pawl_store_free(s);
}
