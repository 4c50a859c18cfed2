/* carry_test.c - a run is carried from one store to another as JSON lines: whole, or not at all. */
#include "store/lame.h"
#include "store/shelf.h"

#define ERR (pawl_err){ PAWL_OK, "" }

/* ---- out and in ---------------------------------------------------------------------------------------- */

static bool into_buf(void *ctx, pawl_bytes line)
{
    CHECK(line.size > 1 && memchr(line.data, '\n', line.size) == line.data + line.size - 1);
    buf_put(ctx, line.data, line.size);
    return true;
}

static void export_of(pawl_store *s, const char *run, buf *out)
{
    pawl_err err = ERR;

    buf_init(out, NULL);
    if (pawl_history_export(s, run, into_buf, out, &err) != PAWL_OK)
        CHECK_FAIL("export of %s: %s", run, err.text);
}

static void import_in(pawl_store *s, const buf *lines, const pawl_machine *m)
{
    pawl_err err = ERR;

    if (pawl_history_import(s, (pawl_bytes){ lines->data, lines->size }, m, &err) != PAWL_OK)
        CHECK_FAIL("import: %s", err.text);
}

static bool count_run(void *ctx, const pawl_head *head)
{
    (void)head;
    ++*(size_t *)ctx;
    return true;
}

static size_t runs_in(pawl_store *s)
{
    const pawl_filter all = { .limit = 100 };
    size_t n = 0;

    CHECK_INT(s->verbs->list(s, &all, count_run, &n, NULL), PAWL_OK);
    return n;
}

static void same_journal(pawl_store *a, pawl_store *b, const char *run)
{
    pawl_bytes x = pawl_store_journal(a, run, NULL), y = pawl_store_journal(b, run, NULL);
    union { const char *in; void *out; } one = { x.data }, other = { y.data };

    CHECK_BYTES(x.data, x.size, y.data, y.size);
    free(one.out);
    free(other.out);
}

/* ---- it goes on as it would have ------------------------------------------------------------------------- */

/* Everything is answered by hand, one thing at a time, so that the run can be carried away after each. */
static pawl_code hand_on(town *t, const char *run)
{
    pawl_state *st = pawl_run_state(t->e, run, NULL);
    pawl_step *step = pawl_step_new(NULL);
    pawl_command cmd;
    char id[256] = "";

    t->err = ERR;
    t->now += 7;
    if (pawl_state_commands(st) > 0) {
        CHECK_INT(pawl_state_command(st, 0, step, &cmd, NULL, NULL), PAWL_OK);
        snprintf(id, sizeof id, "%s", cmd.id);
    }
    pawl_step_free(step);
    return id[0] == '\0' ? shelf_answer(t, run, "true")
                         : pawl_event_send(t->e, run, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = "\"said\"" }, &t->err);
}

static int hands(town *t, const char *run, pawl_code rc, int most)
{
    int n = 0;

    for (; rc != PAWL_HALTED && n < most; n++)
        if ((rc = hand_on(t, run)) < 0)
            CHECK_FAIL("%s: %s", run, t->err.text);
    return n;
}

static void carried_runs_go_on(void)
{
    pawl_store *s = shelf_store(), *other;
    char *end, *there;
    int total;
    buf lines;
    town t, far;

    town_begin(&t, shelf_machine(1, NULL), s);
    total = hands(&t, "whole", town_run(&t, "whole", "{\"request\":1}"), 20);
    CHECK(total >= 5 && total < 20);
    end = shelf_state(s, "whole", 0);
    for (int stop = 0; stop <= total; stop++) {
        char run[8];
        pawl_verdict v;
        pawl_err err = ERR;

        snprintf(run, sizeof run, "r%d", stop);
        CHECK_INT(hands(&t, run, town_run(&t, run, "{\"request\":1}"), stop), stop);
        export_of(s, run, &lines);
        other = shelf_store();
        town_begin(&far, shelf_machine(1, NULL), other);
        import_in(other, &lines, pawl_engine_machine(far.e));
        same_journal(s, other, run);
        CHECK_INT(pawl_history_verify(other, pawl_engine_machine(far.e), run, &v, &err), PAWL_OK);
        CHECK_INT(hands(&far, run, town_run(&far, run, NULL), 20), total - stop);
        CHECK_INT(pawl_history_verify(other, pawl_engine_machine(far.e), run, &v, &err), PAWL_OK);
        there = shelf_state(other, run, 0);
        CHECK_STR(there, end);
        free(there);
        town_end(&far);
        buf_free(&lines);
    }
    free(end);
    town_end(&t);
}

PAWL_TEST(test_K10_a_run_that_is_carried_away_goes_on_as_it_would_have) { on_both(carried_runs_go_on); }

/* From a file into memory and back: the same bytes come out. */
PAWL_TEST(test_K10_an_export_of_an_import_is_the_same)
{
    pawl_store *s, *memory = pawl_store_memory(NULL), *again;
    buf one, two, three;
    town t;

    shelf_files = true;
    s = shelf_store();
    shelf_town(&t, s);
    CHECK_INT(town_run(&t, "r", "{\"request\":\"\\u00e4 \\\"x\\\" \\u0001\"}"), PAWL_INTERRUPTED);
    CHECK_INT(s->verbs->deliver(s, "r", &(pawl_delivery){ .id = "d1", .kind = PAWL_DELIVER_SIGNAL, .name = "later", .value = { "[ 1 ]", 5 },
                                                         .by = "ada", .note = "a \"note\"", .trace = "00-1" }, NULL), PAWL_OK);
    CHECK_INT(s->verbs->deliver(s, "r", &(pawl_delivery){ .id = "d2", .kind = PAWL_DELIVER_UPDATE, .value = { "{\"n\":1}", 7 } }, NULL), PAWL_OK);
    export_of(s, "r", &one);
    import_in(memory, &one, NULL);
    export_of(memory, "r", &two);
    CHECK_BYTES(one.data, one.size, two.data, two.size);
    again = shelf_store();
    import_in(again, &two, NULL);
    export_of(again, "r", &three);
    CHECK_BYTES(one.data, one.size, three.data, three.size);
    pawl_store_free(memory);
    pawl_store_free(again);
    buf_free(&one);
    buf_free(&two);
    buf_free(&three);
    town_end(&t);
    shelf_clear();
}

static bool sum_mark(void *ctx, const pawl_mark *m)
{
    *(uint32_t *)ctx += m->attempts;
    return true;
}

/* Begun and never answered: nobody performs it again, wherever the run is carried to; and attempts that were made stay made. */
static void begun_stays_begun(void)
{
    bool files = shelf_files;
    pawl_store *s, *other = shelf_store();
    pawl_head head;
    uint32_t made = 0;
    char id[256];
    buf lines;
    town t;

    shelf_files = true;
    s = shelf_store();
    shelf_files = files;
    town_begin(&t, shelf_machine(1, NULL), s);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"said\"";
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(shelf_answer(&t, "r", "true"), PAWL_PENDING);     /* nobody performs "post" here */
    snprintf(id, sizeof id, "r~%016llx/4.publish.1.0", (unsigned long long)pawl_state_life(pawl_run_state(t.e, "r", NULL)));
    town_end(&t);
    s = pawl_store_sqlite(shelf_path, NULL, NULL);
    CHECK_INT(claim_one(s, "r", "who begins it and dies", 1000, &head, NULL), PAWL_OK);
    const pawl_mark one = { .run = "r", .fence = head.fence, .id = id };
    pawl_mark marks[3] = { one, one, one };
    CHECK_INT(s->verbs->mark(s, marks, 3, NULL), PAWL_OK);
    CHECK_INT(release_one(s, "r", head.fence, NULL), PAWL_OK);
    export_of(s, "r", &lines);
    import_in(other, &lines, NULL);
    CHECK_INT(other->verbs->marks(other, "r", sum_mark, &made, NULL), PAWL_OK);
    CHECK_INT(made, 3);
    shelf_town(&t, other);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);       /* what came of it is asked */
    CHECK_INT(t.calls, 0);
    town_verify(&t, "r");
    town_end(&t);
    pawl_store_free(s);
    buf_free(&lines);
}

PAWL_TEST(test_E5_what_was_begun_stays_begun_in_another_store) { on_both(begun_stays_begun); }

/* What was left for it goes along, and a wait that is over is over there, too. */
static void what_was_left_goes_along(void)
{
    pawl_store *s = shelf_store(), *other = shelf_store();
    pawl_delivery d = { .id = "a-1", .kind = PAWL_DELIVER_ANSWER, .value = { "true", 4 }, .by = "ada" };
    pawl_err err = ERR;
    char wait[256];
    buf lines;
    town t;

    shelf_town(&t, s);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    snprintf(wait, sizeof wait, "r~%016llx/2.review.1.0", (unsigned long long)pawl_state_life(pawl_run_state(t.e, "r", NULL)));
    d.name = wait;
    CHECK_INT(s->verbs->deliver(s, "r", &d, &err), PAWL_OK);
    export_of(s, "r", &lines);
    import_in(other, &lines, NULL);
    town_end(&t);
    d.id = "a-2";
    CHECK_INT(other->verbs->deliver(other, "r", &d, &err), PAWL_CONFLICT);      /* the first one waits to be taken */
    err = ERR;
    shelf_town(&t, other);
    CHECK_INT(pawl_work(t.e, 0, &err), PAWL_OK);
    CHECK_STR(pawl_run_reason(t.e, "r"), "");
    CHECK_INT(town_run(&t, "r", NULL), PAWL_HALTED);
    CHECK(town_stored(&t, "r", "true,{\"by\":\"ada\"}"));
    buf_free(&lines);
    export_of(other, "r", &lines);
    s = shelf_store();
    import_in(s, &lines, NULL);
    d.id = "a-3";
    CHECK_INT(s->verbs->deliver(s, "r", &d, &err), PAWL_CONFLICT);
    if (strstr(err.text, "was answered before, with true") == NULL)
        CHECK_FAIL("%s", err.text);
    pawl_store_free(s);
    buf_free(&lines);
    town_end(&t);
}

PAWL_TEST(test_E16_what_was_left_for_a_run_goes_along) { on_both(what_was_left_goes_along); }

/* Timers, and a run that was begun and not driven. */
static void timers_and_beginnings(void)
{
    const part parts[] = { { "a", NULL, "sleep 5000 | n=1" }, { 0 } };
    const pawl_channel channels[] = { { .name = "n", .rule = PAWL_RULE_SUM }, { 0 } };
    pawl_store *s = shelf_store(), *other = shelf_store();
    pawl_head head;
    pawl_err err = ERR;
    buf lines;
    town t;

    town_begin(&t, script_machine("naps", 1, channels, parts), s);
    CHECK_INT(pawl_event_send(t.e, "x", &(pawl_event){ .kind = PAWL_EV_TICK }, &err), PAWL_GONE);
    err = ERR;
    CHECK_INT(pawl_begin(t.e, "fresh", NULL, &err), PAWL_OK);
    export_of(s, "fresh", &lines);
    import_in(other, &lines, pawl_engine_machine(t.e));
    buf_free(&lines);
    pawl_engine_stop(t.e);
    CHECK_INT(town_run(&t, "nap", NULL) < 0, false);
    town_end(&t);
    town_begin(&t, script_machine("naps", 1, channels, parts), other);
    CHECK_INT(other->verbs->head(other, "fresh", &head, NULL), PAWL_OK);
    CHECK(head.status == PAWL_STATUS_SUBMITTED && head.parked == NULL && head.owner == NULL);
    CHECK_INT(pawl_work(t.e, t.now, &err), PAWL_OK);    /* its start was left for it */
    CHECK_INT(other->verbs->head(other, "fresh", &head, NULL), PAWL_OK);
    CHECK(head.wake_ms > 0 && head.status == PAWL_STATUS_WORKING);
    export_of(other, "fresh", &lines);
    s = shelf_store();
    import_in(s, &lines, pawl_engine_machine(t.e));
    CHECK_INT(s->verbs->next_due(s), head.wake_ms);
    town_end(&t);
    town_begin(&t, script_machine("naps", 1, channels, parts), s);
    t.now = head.wake_ms;
    CHECK_INT(pawl_work(t.e, t.now, &err), PAWL_OK);
    CHECK_INT(town_run(&t, "fresh", NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "fresh", "n"), "1");
    buf_free(&lines);
    town_end(&t);
}

PAWL_TEST(test_E9_timers_are_carried_along) { on_both(timers_and_beginnings); }

/* ---- blobs ------------------------------------------------------------------------------------------------ */

static bool take(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes bytes)
{
    (void)kind, (void)seq;
    buf_put(ctx, bytes.data, bytes.size);
    return false;
}

static void blob_is(pawl_store *s, const char *run, const char *digest, pawl_bytes bytes)
{
    buf b;

    buf_init(&b, NULL);
    CHECK_INT(s->verbs->blob(s, run, digest, take, &b, NULL), PAWL_OK);
    CHECK_BYTES(b.data, b.size, bytes.data, bytes.size);
    buf_free(&b);
}

/* A journal that refers to two of them, text and bytes; a third name is no blob of anybody. */
static void blobs_go_along(void)
{
    static const pawl_bytes kept[2] = { { "{\"large\":\"\\n\"}", 14 }, { "\x00\xff\xfe", 3 } };
    pawl_store *s = shelf_store(), *other = shelf_store();
    char digests[2][HASH_HEX + 1], input[512];
    pawl_head head;
    buf lines;
    town t;

    for (size_t i = 0; i < 2; i++) {
        hash h;

        hash_of(kept[i].data, kept[i].size, &h);
        hash_hex(&h, digests[i]);
    }
    snprintf(input, sizeof input, "{\"request\":[\"blob\",\"%s\",\"blob\",\"%s\",\"blob\",\"%064d\"]}", digests[0], digests[1], 7);
    shelf_town(&t, s);
    CHECK_INT(town_run(&t, "r", input), PAWL_INTERRUPTED);
    pawl_blob blobs[2] = { { digests[0], kept[0] }, { digests[1], kept[1] } };
    CHECK_INT(claim_one(s, "r", "me", 1000, &head, NULL), PAWL_OK);
    pawl_append a = { .run = "r", .fence = head.fence, .seq = head.seq, .blobs = blobs, .nblobs = 2, .release = true };
    CHECK_INT(s->verbs->append(s, &a, 1, NULL), PAWL_OK);
    CHECK_INT(a.rc, PAWL_OK);
    export_of(s, "r", &lines);
    import_in(other, &lines, NULL);
    for (size_t i = 0; i < 2; i++)
        blob_is(other, "r", digests[i], kept[i]);
    buf_free(&lines);
    pawl_store_free(other);
    town_end(&t);
}

/* A run that has set a value apart itself, its fork, and what is carried away of both. */
static void own_blobs_go_along(void)
{
    static const pawl_bytes large = { "\"so long that it stands apart\"", 30 };
    pawl_store *s = shelf_store(), *other = shelf_store();
    const char *const runs[] = { "r", "f" };
    char digest[HASH_HEX + 1], input[128];
    pawl_err err = ERR;
    buf lines;
    hash h;
    town t;

    hash_of(large.data, large.size, &h);
    hash_hex(&h, digest);
    snprintf(input, sizeof input, "{\"request\":%s}", large.data);
    shelf_town(&t, s);
    pawl_engine_blobs(t.e, 24);
    CHECK_INT(town_run(&t, "r", input), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run_fork(t.e, "r", 1, "f", &err), PAWL_OK);  /* they belong to one run: the fork has its own */
    CHECK_STR(pawl_run_get(t.e, "f", "request"), "so long that it stands apart");
    for (size_t i = 0; i < 2; i++) {
        blob_is(s, runs[i], digest, large);
        export_of(s, runs[i], &lines);
        import_in(other, &lines, pawl_engine_machine(t.e));
        blob_is(other, runs[i], digest, large);
        buf_free(&lines);
    }
    pawl_store_free(other);
    town_end(&t);
}

PAWL_TEST(test_K10_blobs_go_along_with_exports) { on_both(blobs_go_along); }
PAWL_TEST(test_K10_blobs_go_along_with_forks_and_exports) { on_both(own_blobs_go_along); }

/* ---- what is refused -------------------------------------------------------------------------------------- */

static void must_refuse(pawl_store *s, const char *data, size_t size, const char *what, size_t at)
{
    pawl_err err = ERR;
    pawl_code rc = pawl_history_import(s, (pawl_bytes){ data, size }, NULL, &err);

    if (rc >= 0)
        CHECK_FAIL("%s at %zu was taken", what, at);
    if (rc != err.code || (rc != PAWL_CORRUPT && rc != PAWL_INVALID) || strstr(err.text, "line ") != err.text)
        CHECK_FAIL("%s at %zu: %s: %s", what, at, pawl_code_name(rc), err.text);
    if (runs_in(s) != 0)
        CHECK_FAIL("%s at %zu left something", what, at);
}

/* Of an entry the chain says which line it is; a byte that became a newline is told in the next one. */
static void must_name(pawl_store *s, char *data, size_t size, size_t at, char flip)
{
    pawl_err err = ERR;
    size_t from = at, no = 1, told;

    data[at] = (char)(data[at] ^ flip);         /* as it was */
    while (from > 0 && data[from - 1] != '\n')
        from--;
    for (size_t i = 0; i < from; i++)
        no += data[i] == '\n';
    bool entry = strncmp(data + from, "{\"entry\"", 8) == 0;
    data[at] = (char)(data[at] ^ flip);
    CHECK(pawl_history_import(s, (pawl_bytes){ data, size }, NULL, &err) < 0);
    told = strtoul(err.text + 5, NULL, 10);
    if (entry && told != no && told != no + 1)
        CHECK_FAIL("line %zu was changed at %zu: %s", no, at, err.text);
}

static void a_full_export(buf *lines)
{
    pawl_store *s = shelf_store();
    pawl_head head;
    town t;

    shelf_town(&t, s);
    CHECK_INT(town_run(&t, "r", "{\"request\":\"some text\"}"), PAWL_INTERRUPTED);
    town_end(&t);
    s = shelf_store();
    town_begin(&t, shelf_machine(1, NULL), s);
    CHECK_INT(hands(&t, "r", town_run(&t, "r", "{\"request\":\"some text\"}"), 3), 3);  /* in the middle of two, with a record */
    CHECK_INT(s->verbs->deliver(s, "r", &(pawl_delivery){ .id = "d1", .kind = PAWL_DELIVER_SIGNAL, .name = "later", .value = { "[1]", 3 } },
                                NULL), PAWL_OK);
    town_end(&t);
    s = pawl_store_sqlite(shelf_path, NULL, NULL);
    CHECK_INT(claim_one(s, "r", "me", 1000, &head, NULL), PAWL_OK);
    CHECK_INT(s->verbs->mark(s, &(pawl_mark){ .run = "r", .fence = head.fence, .id = "r~1/1.x.1.0" }, 1, NULL), PAWL_OK);
    CHECK_INT(release_one(s, "r", head.fence, NULL), PAWL_OK);
    export_of(s, "r", lines);
    pawl_store_free(s);
}

PAWL_TEST(test_K8_an_export_that_was_cut_or_changed_is_refused)
{
    pawl_store *s = pawl_store_memory(NULL);
    size_t step = check_run_all() ? 1 : 5, first;
    buf lines;
    char *copy;

    shelf_files = true;
    a_full_export(&lines);
    copy = check_copy(lines.data, lines.size);
    CHECK_INT(times_in(copy, "\n{\"record\":"), 1);
    first = (size_t)(strchr(copy, '\n') - copy) + 1;
    for (size_t n = check_rand_below(step); n < lines.size - 1; n += 1 + check_rand_below(2 * step))
        must_refuse(s, copy, n, "a cut", n);
    for (const char *nl = copy; (nl = strchr(nl, '\n')) != NULL && nl[1] != '\0'; nl++) {      /* each line, and each end of one */
        must_refuse(s, copy, (size_t)(nl - copy), "a cut", (size_t)(nl - copy));
        must_refuse(s, copy, (size_t)(nl - copy) + 1, "a cut", (size_t)(nl - copy) + 1);
    }
    for (size_t n = check_rand_below(step); n < lines.size - 1; n += 1 + check_rand_below(2 * step)) {
        char flip = (char)(1u << check_rand_below(8));

        copy[n] = (char)(copy[n] ^ flip);
        must_refuse(s, copy, lines.size, n < first ? "a changed header" : "a changed byte", n);
        must_name(s, copy, lines.size, n, flip);
        copy[n] = (char)(copy[n] ^ flip);
    }
    for (int i = 0; i < 200; i++) {             /* lines that changed places, or are there twice, or not at all */
        size_t from = check_rand_below(lines.size), to = check_rand_below(lines.size), n = lines.size;
        char *other;

        while (from > 0 && copy[from - 1] != '\n')
            from--;
        while (to < lines.size && copy[to] != '\n')
            to++;
        if (to <= from || (from == 0 && to + 1 >= n))
            continue;
        other = check_copy(copy, n);
        memmove(other + from, other + to + 1, n - to - 1);
        must_refuse(s, other, n - (to + 1 - from), "lines left out", from);
        free(other);
    }
    {
        pawl_err err = ERR;

        CHECK_INT(pawl_history_import(s, (pawl_bytes){ copy, lines.size - 1 }, NULL, &err), PAWL_OK);   /* but for its last newline it is whole */
        CHECK_INT(pawl_history_import(s, (pawl_bytes){ copy, lines.size }, NULL, &err), PAWL_CONFLICT);
        CHECK(strstr(err.text, "r: there is such a run") == err.text);
    }
    free(copy);
    buf_free(&lines);
    pawl_store_free(s);
    shelf_clear();
}

/* The lines with this one instead, and the end that they should have. */
static void sealed(const buf *lines, size_t no, const char *instead, buf *out)
{
    const char *at = lines->data, *end = at + lines->size;
    char hex[HASH_HEX + 1];
    size_t n = 0;
    hash h;

    buf_init(out, NULL);
    for (const char *nl; at < end; at = nl + 1) {
        nl = memchr(at, '\n', (size_t)(end - at));
        if (++n == no) {
            buf_text(out, instead);
            buf_char(out, '\n');
        } else if (strncmp(at, "{\"end\"", 6) != 0) {
            buf_put(out, at, (size_t)(nl - at) + 1);
        }
    }
    hash_of(out->data, out->size, &h);
    hash_hex(&h, hex);
    buf_fmt(out, "{\"end\":{\"lines\":%zu,\"sha256\":\"%s\"}}\n", n - 1, hex);
}

PAWL_TEST(test_K5_an_export_that_this_version_does_not_know_is_refused)
{
    static const struct { size_t line; const char *instead; pawl_code code; const char *text; } wrong[] = {
        { 1, "{\"format\":2,\"id\":\"r\",\"life\":\"1\",\"pawl\":\"export\",\"seq\":1,\"status\":\"working\"}", PAWL_INVALID,
          "line 1: the export is of format 2" },
        { 1, "{\"format\":1,\"id\":\"r\",\"pawl\":\"journal\"}", PAWL_INVALID, "line 1: this is no export" },
        { 1, "[]", PAWL_INVALID, "line 1: this is no export" },
        { 1, "{\"format\":1,\"id\":\"r\",\"life\":\"0000000000000001\",\"pawl\":\"export\",\"seq\":99,\"status\":\"working\"}", PAWL_CORRUPT,
          "line 2: the base is another run's" },
        { 2, "{\"base\":\"{\\\"format\\\":2}\"}", PAWL_INVALID, "line 2: the base is of format 2" },
        { 2, "{\"base\":\"{}\"}", PAWL_INVALID, "line 2: the base names no format" },
        { 3, "{\"novelty\":1}", PAWL_INVALID, "line 3: \"novelty\" is nothing that this version knows" },
        { 3, "{\"entry\":\"\"}", PAWL_CORRUPT, "line 3: it holds no line of a journal" },
        { 3, "{\"entry\":1}", PAWL_CORRUPT, "line 3: it holds no line of a journal" },
        { 3, "{\"entry\":\"[]\"}", PAWL_CORRUPT, "line 3: it holds no line of a journal" },
        { 3, "{\"record\":\"[[]]\"}", PAWL_CORRUPT, "line 3: " },
        { 3, "{\"entry\":\"a\\nb\"}", PAWL_CORRUPT, "line 3: it holds no line of a journal" },
        { 3, "{\"base\":\"{}\"}", PAWL_CORRUPT, "line 3: a second base" },
        { 1, NULL, PAWL_CORRUPT, "the export says completed" },
        { 3, "{\"mark\":{\"attempts\":1,\"id\":\"x\"}}", PAWL_CORRUPT, "line 4: the journal comes before" },
        { 3, "{\"mark\":{\"attempts\":0,\"id\":\"x\"}}", PAWL_CORRUPT, "line 3: a mark has" },
        { 3, "{\"mark\":{\"attempts\":4000000000,\"id\":\"x\"}}", PAWL_LIMIT, "line 3: more than" },
        { 3, "{\"delivery\":{\"id\":\"x\",\"kind\":\"thing\"}}", PAWL_CORRUPT, "line 3: a delivery has" },
        { 3, "{\"delivery\":{\"id\":\"x\",\"kind\":\"answer\"}}", PAWL_CORRUPT, "line 3: r: delivery x has a wrong name, or none" },
        { 3, "{\"delivery\":{\"id\":\"x\",\"kind\":\"signal\",\"name\":\"s\",\"value\":\"{\"}}", PAWL_CORRUPT, "line 3: r: the value of delivery x" },
        { 3, "{\"blob\":{\"digest\":\"00\",\"text\":\"x\"}}", PAWL_CORRUPT, "line 3: the bytes of this blob" },
        { 3, "{\"blob\":{\"base64\":\"a\",\"digest\":\"00\"}}", PAWL_CORRUPT, "line 3: a blob has" },
        { 3, "{\"blob\":{}}", PAWL_CORRUPT, "line 3: a blob has" },
        { 3, "{\"base\":1,\"entry\":1}", PAWL_CORRUPT, "line 3: a line is an object with one member" },
        { 3, "17", PAWL_CORRUPT, "line 3: a line is an object with one member" },
    };
    pawl_store *s = pawl_store_memory(NULL);
    buf lines, changed;
    char header[512], *copy;

    shelf_files = true;
    a_full_export(&lines);
    copy = check_copy(lines.data, lines.size);
    CHECK(strstr(copy, "\"working\"") != NULL);
    snprintf(header, sizeof header, "%.*s\"completed\"}", (int)(strstr(copy, "\"working\"") - copy), copy);
    free(copy);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pawl_err err = ERR;
        pawl_code rc;

        sealed(&lines, wrong[i].line, wrong[i].instead != NULL ? wrong[i].instead : header, &changed);
        rc = pawl_history_import(s, (pawl_bytes){ changed.data, changed.size }, NULL, &err);
        if (rc != wrong[i].code || (wrong[i].instead != NULL ? strncmp(err.text, wrong[i].text, strlen(wrong[i].text)) != 0
                                                             : strstr(err.text, wrong[i].text) == NULL))
            CHECK_FAIL("%zu: %s: %s", i, pawl_code_name(rc), err.text);
        CHECK_INT(runs_in(s), 0);
        buf_free(&changed);
    }
    pawl_err err = ERR;
    CHECK_INT(pawl_history_import(s, (pawl_bytes){ "", 0 }, NULL, &err), PAWL_INVALID);
    err = ERR;
    pawl_machine *m = shelf_machine(2, NULL);
    CHECK_INT(pawl_history_import(s, (pawl_bytes){ lines.data, lines.size }, m, &err), PAWL_CONFLICT);     /* another machine's */
    CHECK_INT(runs_in(s), 0);
    pawl_machine_free(m);
    buf_free(&lines);
    pawl_store_free(s);
    shelf_clear();
}

/* A changed entry whose hash was made to fit is folded; the machine, asked, says that it never said so. */
PAWL_TEST(test_K5_an_import_asks_the_machine_that_it_is_given)
{
    pawl_store *s, *memory = pawl_store_memory(NULL);
    pawl_machine *m = shelf_machine(1, "call post {\"to\":\"all\"} -> log | n=4"), *liar = shelf_machine(1, "call post {\"to\":\"none\"} -> log | n=4");
    pawl_err err = ERR;
    buf lines;
    town t;

    shelf_files = true;
    s = shelf_store();
    CHECK_STR(pawl_machine_hash(m), pawl_machine_hash(liar));   /* not of C code: F5 */
    town_begin(&t, liar, s);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    town_acts(&t, "post", PAWL_CLASS_ONCE);
    t.replies[0] = "\"said\"";
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(shelf_answer(&t, "r", "true"), PAWL_HALTED);
    export_of(s, "r", &lines);
    CHECK_INT(pawl_history_import(memory, (pawl_bytes){ lines.data, lines.size }, m, &err), PAWL_CORRUPT);
    CHECK(strstr(err.text, "the machine says") != NULL);
    CHECK_INT(runs_in(memory), 0);
    import_in(memory, &lines, NULL);
    buf_free(&lines);
    pawl_machine_free(m);
    pawl_store_free(memory);
    town_end(&t);
    shelf_clear();
}

/* ---- broken off -------------------------------------------------------------------------------------------- */

/* The store goes lame before each write of an import: then there is nothing, or a run that is left alone and says why; the
 * same import completes it. */
static void broken_off_import_is_completed(void)
{
    bool files = shelf_files;
    size_t broken = 0, parked = 0;
    buf lines;

    shelf_files = true;
    a_full_export(&lines);
    shelf_files = files;
    for (size_t left = 0;; left++) {
        pawl_store *s = shelf_store();
        pawl_err err = ERR;
        pawl_head head;
        size_t due = 0;
        uint32_t made = 0;
        pawl_code rc;
        buf again;
        lame l;

        rc = pawl_history_import(lame_begin(&l, s, left), (pawl_bytes){ lines.data, lines.size }, NULL, &err);
        if (rc != PAWL_OK) {
            broken++;
            CHECK_INT(rc, PAWL_IO);
            if (s->verbs->head(s, "r", &head, NULL) == PAWL_OK) {
                CHECK_INT(head.seq, 0);
                if (head.parked != NULL && strstr(head.parked, "import it again") != NULL) {
                    parked++;
                    err = ERR;          /* half of a run is no run */
                    CHECK_INT(pawl_history_export(s, "r", into_buf, NULL, &err), PAWL_CONFLICT);
                }
                CHECK_INT(s->verbs->head(s, "r", &head, NULL), PAWL_OK);
                CHECK_INT(s->verbs->due(s, INT64_MAX, NULL, 10, count_run, &due, NULL), PAWL_OK);
                CHECK(due == 0 || head.parked == NULL);
                if (head.owner != NULL) {
                    err = ERR;          /* somebody may be at it still */
                    CHECK_INT(pawl_history_import(s, (pawl_bytes){ lines.data, lines.size }, NULL, &err), PAWL_HELD);
                    CHECK_INT(release_one(s, "r", head.fence, NULL), PAWL_OK);
                }
            }
            import_in(s, &lines, NULL);
        }
        export_of(s, "r", &again);
        CHECK_BYTES(lines.data, lines.size, again.data, again.size);
        CHECK_INT(s->verbs->marks(s, "r", sum_mark, &made, NULL), PAWL_OK);
        CHECK_INT(made, 1);
        buf_free(&again);
        pawl_store_free(s);
        if (rc == PAWL_OK)
            break;
    }
    CHECK(broken >= 5 && parked >= 3);
    buf_free(&lines);
}

PAWL_TEST(test_K8_an_import_that_was_broken_off_is_completed_by_another) { on_both(broken_off_import_is_completed); }

/* A run that was begun here, and has no entry yet but a record of an open superstep, is there as much as any other. */
static void records_alone_are_a_run(void)
{
    pawl_store *s = shelf_store();
    pawl_err err = ERR;
    buf lines, after;
    town t;

    town_begin(&t, shelf_machine(1, NULL), s);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_PENDING);
    CHECK_INT(pawl_run_fork(t.e, "r", 1, "f", &err), PAWL_OK);
    export_of(s, "f", &lines);
    import_in(s, &lines, NULL);                 /* as it stands: nothing is left to do */
    CHECK_INT(town_run(&t, "f", NULL), PAWL_PENDING);
    export_of(s, "f", &after);
    CHECK(after.size > lines.size);
    CHECK_INT(pawl_history_import(s, (pawl_bytes){ lines.data, lines.size }, NULL, &err), PAWL_CONFLICT);
    buf_free(&lines);
    export_of(s, "f", &lines);
    CHECK_BYTES(lines.data, lines.size, after.data, after.size);
    town_end(&t);
    buf_free(&lines);
    buf_free(&after);
}

PAWL_TEST(test_K10_records_alone_are_a_run) { on_both(records_alone_are_a_run); }

/* ---- in pieces ---------------------------------------------------------------------------------------------- */

typedef struct pieces { const buf *from; size_t at; bool fails; } pieces;

static bool next_piece(void *ctx, pawl_bytes *piece)
{
    pieces *p = ctx;
    size_t n = 1 + check_rand_below(97);

    n = n > p->from->size - p->at ? p->from->size - p->at : n;
    *piece = (pawl_bytes){ p->from->data + p->at, n };
    p->at += n;
    return !p->fails || p->at < p->from->size / 2;
}

static bool full(void *ctx, pawl_bytes line)
{
    (void)line;
    return (*(size_t *)ctx)-- > 0;
}

PAWL_TEST(test_K8_an_export_is_read_and_written_in_pieces)
{
    pawl_store *s = pawl_store_memory(NULL);
    pawl_err err = ERR;
    size_t room = 2;
    buf lines;
    pieces p = { .from = &lines, .fails = true };

    shelf_files = true;
    a_full_export(&lines);
    CHECK_INT(pawl_history_import_from(s, next_piece, &p, NULL, &err), PAWL_IO);
    CHECK_INT(runs_in(s), 0);
    p = (pieces){ .from = &lines };
    err = ERR;
    CHECK_INT(pawl_history_import_from(s, next_piece, &p, NULL, &err), PAWL_OK);
    CHECK_INT(runs_in(s), 1);
    CHECK_INT(pawl_history_export(s, "r", full, &room, &err), PAWL_IO);
    err = ERR;
    CHECK_INT(pawl_history_export(s, "nobody", full, &room, &err), PAWL_GONE);
    CHECK_INT(pawl_history_export(s, NULL, full, &room, NULL), PAWL_INVALID);
    CHECK_INT(pawl_history_import_from(s, NULL, &p, NULL, NULL), PAWL_INVALID);
    buf_free(&lines);
    pawl_store_free(s);
    shelf_clear();
}
