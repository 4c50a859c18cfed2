/* options_test.c - numbers, durations, exit codes, text for a terminal, ids. */
#include "cli/cli.h"
#include "lib/check.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- text ------------------------------------------------------------------------------------------- */

static const char *taken(buf *b)
{
    buf_char(b, '\0');
    CHECK(!b->failed);
    b->size = 0;
    return b->data;
}

PAWL_TEST(text_gives_no_orders)
{
    static const struct { const char *text, *clean; } all[] = {
        { "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x8d\x8e", "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x8d\x8e" },
        { "\x1b[2J", "\\x1b[2J" },
        { "a\nb\tc\r", "a\\nb\\tc\\x0d" },
        { "\x7f\xc2\x9b" "31m", "\\x7f\\u009b31m" },       /* CSI as one character */
        { "abc\xe2\x80\xae" "cba", "abc\\u202ecba" },     /* turned round */
        { "\xff\xc3", "\\xff\\xc3" },
        { "\xc0\x80\xed\xa0\x80", "\\xc0\\x80\\xed\\xa0\\x80" },
        { "", "" },
    };
    buf b;

    buf_init(&b, NULL);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cli_clean(&b, all[i].text, strlen(all[i].text));
        CHECK_STR(taken(&b), all[i].clean);
    }
    cli_clean(&b, "a\0b", 3);
    CHECK_STR(taken(&b), "a\\x00b");
    buf_free(&b);
}

PAWL_TEST(text_is_cut_and_filled)
{
    static const struct { const char *text; size_t columns; const char *cut; } all[] = {
        { "survey", 6, "survey" }, { "survey", 5, "su..." }, { "survey", 3, "..." }, { "survey", 1, "." }, { "survey", 0, "" },
        { "\x1b\x1b", 7, "\\x1b..." }, { "\x1b\x1b", 6, "..." }, { "\x1b\x1b", 8, "\\x1b\\x1b" },
        { "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 6, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2" },
        { "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 5, "\xe6\xbc\xa2..." },
        { "e\xcc\x81" "e\xcc\x81", 2, "e\xcc\x81" "e\xcc\x81" },
    };
    buf b;

    buf_init(&b, NULL);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cli_cut(&b, all[i].text, strlen(all[i].text), all[i].columns);
        CHECK_STR(taken(&b), all[i].cut);
    }
    cli_cell(&b, "ab", 4);
    CHECK_STR(taken(&b), "ab  ");
    cli_cell(&b, "\xe6\xbc\xa2", 4);
    CHECK_STR(taken(&b), "\xe6\xbc\xa2  ");
    CHECK_INT(cli_width("\xe6\xbc\xa2" "e\xcc\x81", 6), 3);
    buf_free(&b);
}

PAWL_TEST(values_are_one_line)
{
    arena a;
    buf b;

    arena_init(&a, NULL, 256);
    buf_init(&b, NULL);
    cli_short(&b, value_parse(&a, "\"a\\nb\"", 6, "v", NULL), 80);
    CHECK_STR(taken(&b), "a\\nb");
    cli_short(&b, value_parse(&a, "{\"b\":1,\"a\":[true,null]}", 23, "v", NULL), 80);
    CHECK_STR(taken(&b), "{\"a\":[true,null],\"b\":1}");
    cli_short(&b, value_parse(&a, "[1,2,3,4]", 9, "v", NULL), 7);
    CHECK_STR(taken(&b), "[1,2...");
    cli_short(&b, NULL, 7);
    CHECK_STR(taken(&b), "-");
    buf_free(&b);
    arena_free(&a);
}

PAWL_TEST(times_are_short)
{
    static const struct { int64_t ms; const char *ago; } all[] = {
        { -5, "0 s" }, { 0, "0 s" }, { 999, "0 s" }, { 59999, "59 s" }, { 60000, "1 min" }, { 3600000, "1 h" }, { 86399999, "23 h" },
        { 86400000, "1 d" }, { INT64_MAX, "4294967295 d" },
    };
    char ago[16], at[32];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cli_ago(ago, all[i].ms);
        CHECK_STR(ago, all[i].ago);
    }
    setenv("TZ", "UTC", 1);
    cli_time(at, 1795266187000);
    CHECK_STR(at, "2026-11-21 13:03:07");
    cli_time(at, 0);
    CHECK_STR(at, "-");
}

/* ---- words -------------------------------------------------------------------------------------------- */

PAWL_TEST(durations_have_units)
{
    static const char *const none[] = { "", "5", "s", "5x", "-5s", "5 s", "1.5h", "5mss", "99999999999999999999s", "9223372036854775807d" };
    static const struct { const char *text; int64_t ms; } all[] = {
        { "250ms", 250 }, { "10s", 10000 }, { "5m", 300000 }, { "2h", 7200000 }, { "1d", 86400000 }, { "0s", 0 } };
    int64_t ms;

    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (cli_duration(none[i], &ms))
            CHECK_FAIL("\"%s\" is taken as %lld ms", none[i], (long long)ms);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK(cli_duration(all[i].text, &ms));
        CHECK_INT(ms, all[i].ms);
    }
}

PAWL_TEST(every_end_has_its_code)
{
    static const struct { pawl_status status; bool waits; int code; } all[] = {
        { PAWL_STATUS_COMPLETED, false, 0 }, { PAWL_STATUS_FAILED, false, 1 }, { PAWL_STATUS_REJECTED, false, 1 }, { PAWL_STATUS_CANCELED, false, 4 },
        { PAWL_STATUS_INPUT_REQUIRED, true, 3 }, { PAWL_STATUS_INPUT_REQUIRED, false, 3 }, { PAWL_STATUS_WORKING, true, 3 }, { PAWL_STATUS_WORKING, false, 0 },
        { PAWL_STATUS_SUBMITTED, false, 0 },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK_INT(cli_exit_of(all[i].status, all[i].waits), all[i].code);
}

/* ---- ids ------------------------------------------------------------------------------------------------ */

static void begin(pawl_store *s, const char *run, const char *parent)
{
    char base[512];
    pawl_err err = { PAWL_OK, "" };

    snprintf(base, sizeof base,
             "{\"at\":5,\"channels\":{},\"format\":1,\"id\":\"%s\",\"life\":\"00000000000004d2\",\"machine\":{\"hash\":\"%064d\",\"name\":\"essay\","
             "\"version\":1}%s%s%s,\"seed\":\"0000000000000001\"}",
             run, 0, parent == NULL ? "" : ",\"parent\":\"", parent == NULL ? "" : parent, parent == NULL ? "" : "\"");
    if (s->verbs->create(s, (pawl_bytes){ base, strlen(base) }, NULL, &err) != PAWL_OK)
        CHECK_FAIL("%s: %s", run, err.text);
}

/* "CODE TEXT", or the id. */
static const char *found(cli_call *c, pawl_store *s, const char *given)
{
    static char said[400];
    char run[RUN_ID_BYTES];
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc = cli_run_id(c, s, given, run, &err);

    if (rc == PAWL_OK)
        snprintf(said, sizeof said, "%s", run);
    else
        snprintf(said, sizeof said, "%s: %s", pawl_code_name(rc), err.text);
    return said;
}

PAWL_TEST(a_run_is_found)
{
    static const cli_verb verb = { .name = "show", .form = "RUN" };
    cli_call c = { .verb = &verb, .store_name = "memory:" };
    pawl_store *s = pawl_store_memory(NULL);

    arena_init(&c.mem, NULL, 1024);
    CHECK_STR(found(&c, s, "@"), "gone: @: there is no run in memory: yet; `pawl run FILE` starts one");
    begin(s, "survey-7k2m", NULL);
    begin(s, "survey-7k9x", NULL);
    begin(s, "essay", NULL);
    begin(s, "essay-1", NULL);
    begin(s, "essay-1.0123456789abcdef", "essay-1~00000000000004d2/1.draft.1.0");
    CHECK_STR(found(&c, s, "@"), "essay-1");                    /* the child was begun later */
    CHECK_STR(found(&c, s, "survey-7k2m"), "survey-7k2m");
    CHECK_STR(found(&c, s, "survey-7k2"), "survey-7k2m");
    CHECK_STR(found(&c, s, "essay"), "essay");                  /* the whole id, though it begins others */
    CHECK_STR(found(&c, s, "essay-"), "essay-1");               /* not the child */
    CHECK_STR(found(&c, s, "essay-1."), "essay-1.0123456789abcdef");
    CHECK_STR(found(&c, s, "s"), "invalid: s: several ids begin so, survey-7k9x, survey-7k2m; write more of the id");
    CHECK_STR(found(&c, s, "survey-7k3m"), "gone: survey-7k3m: no such run in memory: (did you mean \"survey-7k2m\"?); `pawl ls` lists them");
    CHECK_STR(found(&c, s, "../x y"), "gone: ../x y: no such run in memory:; `pawl ls` lists them");
    CHECK_STR(found(&c, s, ""), "invalid: the id of a run is empty; `pawl ls` lists the runs, @ is the most recent one");
    begin(s, "survey-aaaa", NULL);
    begin(s, "survey-bbbb", NULL);
    begin(s, "survey-cccc", NULL);
    CHECK_STR(found(&c, s, "surv"),
              "invalid: surv: several ids begin so, survey-cccc, survey-bbbb, survey-aaaa, survey-7k9x and others; write more of the id");
    pawl_store_free(s);
    arena_free(&c.mem);
}

PAWL_TEST(ids_are_readable_and_new)
{
    static const struct { const char *name, *begins; } all[] = {
        { "survey", "survey-" }, { "my survey/2", "mysurvey2-" }, { "-.x", "x-" }, { "\xc3\xa4", "run-" }, { NULL, "run-" } };
    char run[RUN_ID_BYTES], again[RUN_ID_BYTES], name[300];
    pawl_store *s = pawl_store_memory(NULL);
    size_t n;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        n = strlen(all[i].begins);
        CHECK_INT(cli_new_id(s, all[i].name, run, NULL), PAWL_OK);
        CHECK_BYTES(run, n, all[i].begins, n);
        CHECK_INT(strlen(run), n + 4);
        CHECK_INT(strspn(run + n, "abcdefghijkmnpqrstuvwxyz23456789"), 4);
        begin(s, run, NULL);
        CHECK_INT(cli_new_id(s, all[i].name, again, NULL), PAWL_OK);
        CHECK(strcmp(run, again) != 0);
    }
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_INT(cli_new_id(s, name, run, NULL), PAWL_OK);
    begin(s, run, NULL);
    pawl_store_free(s);
}

/* ---- stores ----------------------------------------------------------------------------------------------- */

static const char *opened(const char *url, bool make)
{
    static const cli_verb verb = { .name = "show", .form = "RUN", .store = true };
    static char said[400];
    cli_call c = { .verb = &verb, .store_url = url };
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s;

    arena_init(&c.mem, NULL, 1024);
    s = cli_store(&c, make, &err);
    if (s == NULL)
        snprintf(said, sizeof said, "%s: %s", pawl_code_name(err.code), err.text);
    else
        snprintf(said, sizeof said, "%s", cli_store_name(&c));
    pawl_store_free(s);
    arena_free(&c.mem);
    return said;
}

PAWL_TEST(stores_have_kinds)
{
    CHECK_STR(opened("memory:", true), "memory:");
    CHECK_STR(opened("memory:", false), "invalid: --store: a store in memory exists only while `pawl run` runs; name a file, sqlite:PATH");
    CHECK_STR(opened("pawl.db", true), "invalid: --store pawl.db: no kind of store is named (did you mean \"sqlite:pawl.db\"?)");
    CHECK_STR(opened("postgres://me:secret@host/db", true),
              "invalid: --store: a store of kind postgres: is not in this version; sqlite:PATH and memory: are");
    CHECK_STR(opened("postgresql://me:secret@host/db", false),
              "invalid: --store: a store of kind postgresql: is not in this version; sqlite:PATH and memory: are");
    CHECK_STR(opened("dynamodb:runs", true), "invalid: --store: a store of kind dynamodb: is not in this version; sqlite:PATH and memory: are");
    CHECK_STR(opened("redis://:secret@host", true), "invalid: --store: no store of that kind; there are sqlite:PATH and memory:");
    CHECK_STR(opened("sqlite:", true), "invalid: --store: no store of that kind; there are sqlite:PATH and memory:");
    CHECK_STR(opened("sqlite:/nowhere/pawl.db", false),
              "io: sqlite:/nowhere/pawl.db: there is no such store; `pawl run FILE` makes one");
}
