/* scrape_test.c - the numbers of a store (N5): what a scrape reads, and that a counter counts each thing once, in every process and after a crash. */
#include "lib/engine_fixture.h"
#include "observe/scrape.h"
#include "pawl/pawl.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUNS = 1000 };

static char folder[64], path[96];

static pawl_code says(pawl_step *s, void *arg)
{
    const pawl_value *got;
    const pawl_code rc = pawl_call(s, "say-0a1b2c3d", pawl_pack(s, "i", (int64_t)1), &got);

    (void)arg;
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_machine *sayer(void)
{
    pawl_graph *g = pawl_graph_new("sayer", 1);
    pawl_err err = { PAWL_OK, "" };

    pawl_graph_effect(g, "say-0a1b2c3d", &(pawl_limits){ .cls = PAWL_CLASS_PURE });
    pawl_graph_node(g, "say", says, NULL);
    pawl_graph_chain(g, PAWL_START, "say", PAWL_END, NULL);
    return pawl_graph_compile(g, &err);
}

static void place_begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/pawl-scrape-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/pawl.db", folder);
}

static void place_end(void)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock", ".metrics", ".metrics-journal" };
    char name[128];

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        remove(name);
    }
    CHECK_INT(rmdir(folder), 0);
}

static pawl_store *opened(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err);

    if (s == NULL)
        CHECK_FAIL("%s", err.text);
    return s;
}

static void work(int from, int upto)
{
    town t;

    town_begin(&t, sayer(), opened());
    town_acts(&t, "say-0a1b2c3d", PAWL_CLASS_PURE);
    t.replies[0] = "1";
    for (int i = from; i < upto; i++) {
        char run[32];

        snprintf(run, sizeof run, "run-%d", i);
        CHECK_INT(town_run(&t, run, "{}"), PAWL_HALTED);
        buf_reset(&t.log);
    }
    town_end(&t);
}

typedef struct scraping { pawl_store *store; scraper *from; char *text; } scraping;

static void scraping_begin(scraping *s)
{
    pawl_err err = { PAWL_OK, "" };

    *s = (scraping){ .store = counted_store(opened(), &err) };
    CHECK(s->store != NULL && (s->from = scraper_new(s->store, &err)) != NULL);
}

static void scraping_end(scraping *s)
{
    free(s->text);
    scraper_free(s->from);
    pawl_store_free(s->store);
}

static void scraped(scraping *s)
{
    metric_text t = { .out = NULL };
    pawl_err err = { PAWL_OK, "" };
    bool more = true;
    buf b;

    while (more)
        if (scrape_more(s->from, &more, &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
    buf_init(&b, NULL);
    t.out = &b;
    scrape_write(s->from, &t);
    buf_char(&b, '\0');
    free(s->text);
    s->text = check_copy(b.data, b.size);
    buf_free(&b);
}

static void has(const scraping *s, const char *line)
{
    if (strstr(s->text, line) == NULL)
        CHECK_FAIL("no %s in\n%s", line, s->text);
}

static uint64_t calls_of(const scraping *s)
{
    uint64_t n = 0;
    counted_call c;

    for (size_t i = 0; (c = counted_at(s->store, i)).name != NULL; i++)
        n += c.n;
    return n;
}

static uint64_t journals_of(const scraping *s)
{
    uint64_t n = 0;
    counted_call c;

    for (size_t i = 0; (c = counted_at(s->store, i)).name != NULL; i++)
        n += strcmp(c.name, "look") == 0 || strcmp(c.name, "read") == 0 || strcmp(c.name, "load") == 0 ? c.n : 0;
    return n;
}

PAWL_TEST(test_N5_a_scrape_of_a_thousand_runs_that_ended_reads_no_journal)
{
    uint64_t before;
    scraping s;

    place_begin();
    work(0, RUNS);
    scraping_begin(&s);
    scraped(&s);
    CHECK_INT(journals_of(&s), 0);
    before = calls_of(&s);
    CHECK(before < 40);
    scraped(&s);
    CHECK(calls_of(&s) - before < 40);
    CHECK(strstr(s.text, "pawl_runs_ended_total") == NULL);
    scraping_end(&s);
    place_end();
}

PAWL_TEST(test_N5_each_journal_is_counted_once)
{
    uint64_t before;
    scraping s, other;
    struct stat at;
    char name[128];

    place_begin();
    work(0, 1);
    scraping_begin(&s);
    scraped(&s);
    snprintf(name, sizeof name, "%s.metrics", path);
    CHECK(stat(name, &at) == 0 && (at.st_mode & 0777) == 0600);
    work(1, 1 + RUNS);
    scraped(&s);
    has(&s, "\npawl_runs_begun_total{machine=\"sayer\"} 1000\n");
    has(&s, "\npawl_runs_ended_total{machine=\"sayer\",status=\"completed\"} 1000\n");
    has(&s, "\npawl_effects_total{class=\"pure\",effect=\"say\",outcome=\"done\"} 1000\n");
    has(&s, "\npawl_effect_duration_seconds_count{class=\"pure\",effect=\"say\"} 1000\n");
    has(&s, "\npawl_tasks_total{machine=\"sayer\",state=\"done\"} 1000\n");
    has(&s, "\npawl_stretches_total{machine=\"sayer\"} 1000\n");
    has(&s, "\npawl_journals_unread_total 0\n");
    has(&s, "\npawl_scrape_errors_total 0\n");
    before = journals_of(&s);
    scraped(&s);
    CHECK_INT(journals_of(&s), before);
    /* Another server of the store goes on from there, and the first one after that. */
    scraping_begin(&other);
    work(1 + RUNS, 11 + RUNS);
    scraped(&other);
    has(&other, "\npawl_runs_ended_total{machine=\"sayer\",status=\"completed\"} 1010\n");
    CHECK(journals_of(&other) < 100);
    work(11 + RUNS, 13 + RUNS);
    scraped(&s);
    has(&s, "\npawl_runs_ended_total{machine=\"sayer\",status=\"completed\"} 1012\n");
    scraping_end(&s);
    scraping_end(&other);
    place_end();
}

PAWL_TEST(test_labels_of_one_family_have_a_limit)
{
    enum { MOST = 5 };
    pawl_err err = { PAWL_OK, "" };
    cursor_file *f;
    char labels[32];

    place_begin();
    snprintf(path, sizeof path, "%s/pawl.db.metrics", folder);
    CHECK((f = cursor_file_open(path, false, 1, &err)) != NULL);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 2 * MOST; i++) {
            snprintf(labels, sizeof labels, "a=\"%d\"", i);
            CHECK_INT(cursor_add(f, "family", labels, 0, 1, MOST, metric_other, &err), PAWL_OK);
        }
    cursor_file_close(f);
    CHECK((f = cursor_file_open(path, true, 1, &err)) != NULL);
    CHECK(cursor_file_open(path, true, 1, &err) == NULL && err.code == PAWL_HELD);
    cursor_file_close(f);
    remove(path);
    CHECK_INT(rmdir(folder), 0);
}
