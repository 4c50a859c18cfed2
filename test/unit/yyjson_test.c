/* yyjson_test.c - values to yyjson and back: nothing is lost, nothing bad gets in. */
#include "json/json.h"
#include "lib/check.h"
#include "lib/heap.h"
#include "pawl/flow.h"
#include "pawl/yyjson.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL "{\"a\":[],\"b\":[1,-1,0,9223372036854775807,-9223372036854775808,18446744073709551615],\"c\":{}," \
    "\"d\":[0.1,1e300,-2.5,1.0],\"e\":\"\\u0000 tail \\\"q\\\" \xc3\xa9 \\n\",\"f\":[true,false,null],\"g\":\"\",\"h\":{\"i\":{\"j\":[[\"k\"]]}}}"

static char *text_of(const pawl_value *v)
{
    pawl_alloc alloc = mem_or_default(NULL);
    char *out;
    buf b;

    buf_init(&b, &alloc);
    canon(&b, v);
    buf_char(&b, '\0');
    out = strdup(b.data);
    buf_free(&b);
    return out;
}

PAWL_TEST(test_yyjson_there_and_back_is_the_same)
{
    pawl_alloc alloc = mem_or_default(NULL);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    pawl_value *back, *again;
    yyjson_mut_val *there;
    yyjson_doc *read;
    char *text, *canonical;
    pawl_err err = {0};
    arena mem;

    arena_init(&mem, &alloc, 1024);
    const pawl_value *v = value_parse(&mem, ALL, strlen(ALL), "the test", &err);
    CHECK_STR(err.text, "");
    there = pawl_to_yyjson(v, doc);
    back = pawl_from_yyjson_mut(there, NULL, &err);
    CHECK(pawl_value_equal(v, back));
    canonical = text_of(back);
    CHECK_STR(canonical, ALL);
    text = yyjson_mut_val_write(there, 0, NULL);
    read = yyjson_read(text, strlen(text), 0);
    again = pawl_from_yyjson(yyjson_doc_get_root(read), NULL, &err);
    yyjson_doc_free(read);              /* what it was made from may go at once */
    yyjson_mut_doc_free(doc);
    arena_free(&mem);
    CHECK(pawl_value_equal(again, back));
    CHECK_INT(pawl_value_size(pawl_value_get(again, "e")), 15);
    free(text);
    free(canonical);
    pawl_yyjson_free(back, NULL);
    pawl_yyjson_free(again, NULL);
}

static void refused(yyjson_mut_doc *doc, yyjson_mut_val *v, pawl_code code, const char *part)
{
    pawl_err err = {0};

    (void)doc;
    CHECK(pawl_from_yyjson_mut(v, NULL, &err) == NULL);
    CHECK_INT(err.code, code);
    if (strstr(err.text, part) == NULL)
        CHECK_STR(err.text, part);
}

PAWL_TEST(test_yyjson_lets_nothing_in_that_is_no_value)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *twice = yyjson_mut_obj(doc), *deep = yyjson_mut_null(doc);

    yyjson_mut_obj_add_int(doc, twice, "k", 1);
    yyjson_mut_obj_add_int(doc, twice, "k", 2);
    for (int i = 0; i < 129; i++) {
        yyjson_mut_val *outer = yyjson_mut_arr(doc);

        yyjson_mut_arr_append(outer, deep);
        deep = outer;
    }
    refused(doc, yyjson_mut_real(doc, (double)NAN), PAWL_INVALID, "a yyjson value: ");
    refused(doc, yyjson_mut_real(doc, (double)INFINITY), PAWL_INVALID, "a yyjson value: ");
    refused(doc, yyjson_mut_str(doc, "\xff"), PAWL_INVALID, "a yyjson value: ");
    refused(doc, yyjson_mut_raw(doc, "[1,"), PAWL_INVALID, "a yyjson value: ");
    refused(doc, twice, PAWL_INVALID, "\"k\"");
    refused(doc, deep, PAWL_LIMIT, "128");
    yyjson_mut_doc_free(doc);
    CHECK(pawl_from_yyjson(NULL, NULL, NULL) == NULL);
    CHECK(pawl_from_yyjson_mut(NULL, NULL, NULL) == NULL);
    CHECK(pawl_to_yyjson(NULL, NULL) == NULL);
    pawl_yyjson_free(NULL, NULL);
}

PAWL_TEST(test_K2_yyjson_negative_zero_comes_in_as_zero)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    pawl_value *v = pawl_from_yyjson_mut(yyjson_mut_real(doc, -0.0), NULL, NULL);

    CHECK(!signbit(pawl_value_real(v)));
    CHECK_INT(pawl_value_type(v), PAWL_TYPE_REAL);
    pawl_yyjson_free(v, NULL);
    yyjson_mut_doc_free(doc);
}

PAWL_TEST(test_yyjson_every_allocation_fails_once)
{
    yyjson_doc *doc = yyjson_read(ALL, strlen(ALL), 0);
    heap h;

    heap_init(&h);
    for (size_t n = 0;; n++) {
        pawl_alloc alloc = heap_alloc(&h);
        pawl_err err = {0};
        pawl_value *v;

        heap_fail_at(&h, n);
        v = pawl_from_yyjson(yyjson_doc_get_root(doc), &alloc, &err);
        CHECK((v == NULL) == h.fired);
        CHECK_INT(err.code, h.fired ? PAWL_NOMEM : PAWL_OK);
        pawl_yyjson_free(v, &alloc);
        heap_check(&h);
        if (!h.fired)
            break;
    }
    yyjson_doc_free(doc);
}

/* In a node: what a parser made goes into the state, and comes out of it. */
static pawl_code node(pawl_step *s, const pawl_value *input, void *arg)
{
    pawl_value **kept = arg;
    yyjson_doc *doc;

    (void)input;
    if (*kept == NULL) {
        doc = yyjson_read(ALL, strlen(ALL), 0);
        *kept = pawl_from_yyjson(yyjson_doc_get_root(doc), NULL, NULL);
        yyjson_doc_free(doc);
    }
    pawl_set(s, "out", pawl_pack(s, "[v]", *kept));
    return PAWL_OK;
}

PAWL_TEST(test_yyjson_a_node_takes_what_a_parser_made)
{
    const pawl_channel channels[] = { { .name = "out" } };
    const pawl_run_info info = { .id = "run-1", .life = 1 };
    pawl_value *kept = NULL;
    pawl_err err = {0};
    pawl_machine *m = pawl_flow_linear("taker", 1, channels, 1, node, &kept, 0, NULL, &err);
    pawl_step *s = pawl_step_new(NULL);
    pawl_state *st;
    pawl_event ev = { .kind = PAWL_EV_START };
    char *text;

    CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, &err), PAWL_OK);
    for (ev.kind = PAWL_EV_START; pawl_state_next(st) != PAWL_HALTED; ev.kind = PAWL_EV_TICK) {
        CHECK(pawl_feed(m, st, &ev, s, &err) >= 0);
        CHECK_INT(pawl_apply(st, pawl_step_entry(s), &err), PAWL_OK);
    }
    pawl_yyjson_free(kept, NULL);
    text = text_of(pawl_state_get(st, "out"));
    CHECK_STR(text, "[" ALL "]");
    free(text);
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_machine_free(m);
}
