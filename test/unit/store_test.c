/* store_test.c - journals in memory: written whole or not at all, and read as they were written. */
#include "lib/check.h"
#include "lib/heap.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

static pawl_bytes text(const char *s)
{
    return (pawl_bytes){ s, strlen(s) };
}

static void check_journal(const pawl_store *s, const char *run, const char *expected)
{
    pawl_bytes b = pawl_store_journal(s, run);

    CHECK_BYTES(b.data, b.size, expected, strlen(expected));
}

PAWL_TEST(test_a_journal_is_its_base_and_its_lines)
{
    const pawl_bytes lines[2] = { text("two"), text("three") };
    pawl_store *s = pawl_store_memory(NULL);
    pawl_err err = { PAWL_OK, "" };

    CHECK_INT(store_create(s, "r", text("{\"base\":1}"), &err), PAWL_OK);
    check_journal(s, "r", "{\"base\":1}\n");
    CHECK_INT(store_append(s, "r", lines, 2, &err), PAWL_OK);
    CHECK_INT(store_append(s, "r", lines, 1, &err), PAWL_OK);
    CHECK_INT(store_append(s, "r", lines, 0, &err), PAWL_OK);
    check_journal(s, "r", "{\"base\":1}\ntwo\nthree\ntwo\n");
    CHECK_INT(err.code, PAWL_OK);
    pawl_store_free(s);
}

PAWL_TEST(test_a_run_is_created_once)
{
    pawl_store *s = pawl_store_memory(NULL);
    pawl_err err = { PAWL_OK, "" };

    CHECK_INT(store_create(s, "r", text("first"), &err), PAWL_OK);
    CHECK_INT(store_create(s, "r", text("second"), &err), PAWL_CONFLICT);
    CHECK_STR(err.text, "r: there is such a run");
    check_journal(s, "r", "first\n");
    pawl_store_free(s);
}

PAWL_TEST(test_what_is_not_there_is_gone)
{
    const pawl_bytes line = text("x");
    pawl_store *s = pawl_store_memory(NULL);
    pawl_err err = { PAWL_OK, "" };

    CHECK(pawl_store_journal(s, "r").data == NULL);
    CHECK_INT(pawl_store_journal(s, "r").size, 0);
    CHECK(pawl_store_journal(s, NULL).data == NULL);
    CHECK(pawl_store_journal(NULL, "r").data == NULL);
    CHECK_INT(store_append(s, "r", &line, 1, &err), PAWL_GONE);
    CHECK_STR(err.text, "r: there is no such run");
    CHECK(pawl_store_run(s, 0) == NULL);
    pawl_store_free(s);
    pawl_store_free(NULL);
}

PAWL_TEST(test_runs_stand_in_the_order_in_which_they_began)
{
    pawl_store *s = pawl_store_memory(NULL);
    char id[16];

    for (int i = 0; i < 100; i++) {
        snprintf(id, sizeof id, "run-%d", (i * 37) % 100);
        CHECK_INT(store_create(s, id, text(id), NULL), PAWL_OK);
    }
    for (int i = 0; i < 100; i++) {
        const pawl_bytes line = text("x");

        snprintf(id, sizeof id, "run-%d", (i * 37) % 100);
        CHECK_STR(pawl_store_run(s, (size_t)i), id);
        CHECK_INT(store_append(s, id, &line, 1, NULL), PAWL_OK);
    }
    check_journal(s, "run-42", "run-42\nx\n");
    CHECK(pawl_store_run(s, 100) == NULL);
    pawl_store_free(s);
}

/* S3: whole or not at all, and other runs are as they were. */
PAWL_TEST(test_S3_an_append_without_memory_writes_none_of_its_lines)
{
    static char big[5000];
    const pawl_bytes lines[3] = { text("small"), { big, sizeof big }, text("last") };
    bool fired = true;

    memset(big, 'x', sizeof big);
    for (size_t n = 0; fired; n++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_alloc alloc;
        pawl_store *s;
        heap h;

        heap_init(&h);
        alloc = heap_alloc(&h);
        CHECK((s = store_memory_in(&alloc, NULL)) != NULL);
        CHECK_INT(store_create(s, "other", text("o"), NULL), PAWL_OK);
        CHECK_INT(store_create(s, "r", text("base"), NULL), PAWL_OK);
        heap_fail_at(&h, n);
        if (store_append(s, "r", lines, 3, &err) != PAWL_OK) {
            CHECK(h.fired);
            CHECK_INT(err.code, PAWL_NOMEM);
            CHECK_STR(err.text, "r: no memory for its journal");
            check_journal(s, "r", "base\n");
            CHECK_INT(store_append(s, "r", lines, 3, NULL), PAWL_OK);
        }
        fired = h.fired;
        CHECK_INT(pawl_store_journal(s, "r").size, 5 + 6 + 5001 + 5);
        check_journal(s, "other", "o\n");
        heap_fail_never(&h);
        pawl_store_free(s);
        heap_check(&h);
    }
}

PAWL_TEST(test_a_store_and_its_runs_without_memory_are_none)
{
    bool fired = true;

    for (size_t n = 0; fired; n++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_alloc alloc;
        pawl_store *s;
        heap h;

        heap_init(&h);
        alloc = heap_alloc(&h);
        heap_fail_at(&h, n);
        if ((s = store_memory_in(&alloc, &err)) != NULL && store_create(s, "r", text("base"), &err) != PAWL_OK) {
            CHECK(pawl_store_run(s, 0) == NULL);
            CHECK(pawl_store_journal(s, "r").data == NULL);
        }
        fired = h.fired;
        CHECK_INT(err.code, fired ? PAWL_NOMEM : PAWL_OK);
        heap_fail_never(&h);
        pawl_store_free(s);
        heap_check(&h);
    }
}

int main(int argc, char **argv)
{
    static const check_case cases[] = {
        CASE(test_a_journal_is_its_base_and_its_lines),
        CASE(test_a_run_is_created_once),
        CASE(test_what_is_not_there_is_gone),
        CASE(test_runs_stand_in_the_order_in_which_they_began),
        CASE(test_S3_an_append_without_memory_writes_none_of_its_lines),
        CASE(test_a_store_and_its_runs_without_memory_are_none),
    };

    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
