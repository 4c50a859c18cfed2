/* http_test.c - requests made by the HTTP handler, to a server that misbehaves. */
#include "effect/hand.h"
#include "effect/server.h"
#include "lib/heap.h"
#include "net/net.h"

#include <fcntl.h>
#include <sys/stat.h>

typedef struct world {
    hand h;
    server s;
} world;

static void world_open(world *w)
{
    hand_init(&w->h);
    server_start(&w->s);
}

static void world_close(world *w)
{
    net_forget();
    server_stop(&w->s);
    hand_free(&w->h);
}

/* Ask for `path` of the server; `more` is what follows the URL in the arguments, without the last brace. */
static pawl_code get(world *w, const char *path, const char *more)
{
    buf b;
    pawl_code rc;

    buf_init(&b, NULL);
    buf_fmt(&b, "{\"url\":\"http://127.0.0.1:%d%s\"%s}", w->s.port, path, more);
    buf_char(&b, '\0');
    rc = hand_over(&w->h, pawl_effect_http, b.data);
    buf_free(&b);
    return rc;
}

/* What an error's text says behind `METHOD http://127.0.0.1:PORT: `. */
static const char *behind(const world *w)
{
    const char *at = strstr(reply_why(&w->h.reply), "127.0.0.1:");

    at = at != NULL ? strchr(at + 10, ':') : NULL;
    return at != NULL ? at + 2 : reply_why(&w->h.reply);
}

/* ---- answers --------------------------------------------------------------------------------------- */

PAWL_TEST(test_http_replies_with_status_headers_and_body)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/ok", ""), PAWL_OK);
    CHECK_BYTES(w.h.reply.text.data, w.h.reply.text.size,
                "{\"status\":200,\"headers\":{\"content-type\":\"text/plain\",\"content-length\":\"5\"},\"body\":\"hello\"}", 90);
    CHECK_INT(get(&w, "/empty", ""), PAWL_OK);
    CHECK_INT(number(&w.h, "/status"), 204);
    CHECK_STR(said(&w.h, "/body"), "");
    CHECK_INT(get(&w, "/unmeasured", ""), PAWL_OK);
    CHECK_STR(said(&w.h, "/body"), "to the end");
    CHECK_INT(get(&w, "/ok", ",\"method\":\"HEAD\""), PAWL_OK);
    CHECK_STR(said(&w.h, "/body"), "");
    CHECK_STR(said(&w.h, "/headers/content-length"), "5");
    world_close(&w);
}

PAWL_TEST(test_a_body_that_says_so_and_is_so_is_json)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/json", ""), PAWL_OK);
    CHECK_INT(number(&w.h, "/body_json/a/1"), 2);
    CHECK(pawl_value_get(w.h.value, "body") == NULL);
    CHECK_INT(get(&w, "/problem", ""), PAWL_OK);
    CHECK_INT(number(&w.h, "/status"), 404);
    CHECK(pawl_value_find(w.h.value, "/body_json/no") != NULL);
    CHECK_INT(get(&w, "/json-bad", ""), PAWL_OK);
    CHECK_STR(said(&w.h, "/body"), "{\"a\":");
    CHECK_INT(get(&w, "/json-twice", ""), PAWL_OK);
    CHECK_STR(said(&w.h, "/body"), "{\"a\":1,\"a\":2}");
    CHECK_INT(get(&w, "/text-that-is-json", ""), PAWL_OK);
    CHECK_STR(said(&w.h, "/body"), "{}");
    CHECK_INT(get(&w, "/deep/127", ""), PAWL_OK);
    CHECK(w.h.value != NULL && pawl_value_get(w.h.value, "body_json") != NULL);
    CHECK_INT(get(&w, "/deep/128", ""), PAWL_OK);
    CHECK(w.h.value != NULL && pawl_value_get(w.h.value, "body") != NULL);
    world_close(&w);
}

PAWL_TEST(test_a_body_that_is_no_utf8_is_base64)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/bytes", ""), PAWL_OK);
    CHECK_STR(said(&w.h, "/body_base64"), "//4=");
    world_close(&w);
}

PAWL_TEST(test_chunks_and_early_heads_are_put_together)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/chunked", ""), PAWL_OK);
    CHECK_STR(said(&w.h, "/body"), "abcde");
    CHECK(said(&w.h, "/headers/trailer") == NULL);
    CHECK_INT(get(&w, "/continue", ""), PAWL_OK);
    CHECK_INT(number(&w.h, "/status"), 200);
    CHECK(said(&w.h, "/headers/early") == NULL);
    world_close(&w);
}

PAWL_TEST(test_X3_bad_heads_are_told_as_far_as_they_are_heads)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/heads", ""), PAWL_OK);
    CHECK_STR(said(&w.h, "/headers/x-two"), "one, two");
    CHECK_STR(said(&w.h, "/headers/set-cookie"), "a=1, b\nc=2");
    CHECK_STR(said(&w.h, "/headers/x-latin"), "caf\xc3\xa9");
    CHECK_STR(said(&w.h, "/headers/x-utf8"), "caf\xc3\xa9");
    CHECK_STR(said(&w.h, "/headers/x-empty"), "");
    CHECK_STR(said(&w.h, "/headers/x-blank"), "padded");
    CHECK_STR(said(&w.h, "/headers/x-quote"), "\"q\"\\");
    CHECK_INT(pawl_value_size(pawl_value_get(w.h.value, "headers")), 8);
    world_close(&w);
}

PAWL_TEST(test_X2_a_huge_body_is_cut_and_said_so)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/huge", ",\"response_bytes\":100000"), PAWL_OK);
    CHECK_INT(strlen(said(&w.h, "/body")), 99999);      /* no character is torn */
    CHECK(pawl_value_bool(pawl_value_get(w.h.value, "cut")));
    CHECK_INT(get(&w, "/ok", ",\"response_bytes\":5"), PAWL_OK);
    CHECK_STR(said(&w.h, "/body"), "hello");
    CHECK(pawl_value_get(w.h.value, "cut") == NULL);
    CHECK_INT(get(&w, "/ok", ",\"response_bytes\":0"), PAWL_OK);
    CHECK_STR(said(&w.h, "/body"), "");
    CHECK(pawl_value_bool(pawl_value_get(w.h.value, "cut")));
    world_close(&w);
}

PAWL_TEST(test_X2_a_head_without_end_is_an_error)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/heads-huge", ""), PAWL_LIMIT);
    CHECK_STR(behind(&w), "the head of its answer is over 262144 bytes or 1000 lines");
    CHECK(get(&w, "/head-long", "") < 0);
    world_close(&w);
}

/* ---- requests ----------------------------------------------------------------------------------------- */

PAWL_TEST(test_E15_the_request_carries_the_invocation_as_its_key)
{
    world w;

    world_open(&w);
    w.h.job.id = "caf\xc3\xa9 1~9f/2.x\r\nEvil: 1";
    CHECK_INT(get(&w, "/echo", ""), PAWL_OK);
    CHECK(strstr(said(&w.h, "/body"), "\r\nIdempotency-Key: caf%C3%A9%201~9f/2.x%0D%0AEvil:%201\r\n") != NULL);
    CHECK_INT(get(&w, "/echo", ",\"headers\":{\"idempotency-key\":\"mine\"}"), PAWL_OK);
    CHECK(strstr(said(&w.h, "/body"), "\r\nidempotency-key: mine\r\n") != NULL);
    CHECK(strstr(said(&w.h, "/body"), "Idempotency-Key") == NULL);
    world_close(&w);
}

PAWL_TEST(test_K4_a_header_of_several_texts_is_joined)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/echo", ",\"headers\":{\"Authorization\":[\"Bearer \",\"token\",\"\"],\"X-None\":[]}"), PAWL_OK);
    CHECK(strstr(said(&w.h, "/body"), "\r\nAuthorization: Bearer token\r\n") != NULL);
    CHECK(strstr(said(&w.h, "/body"), "\r\nX-None:\r\n") != NULL);
    world_close(&w);
}

PAWL_TEST(test_a_body_is_sent_as_it_is_or_as_json)
{
    const char *got;
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/echo", ",\"body\":{\"b\":1,\"a\":\"\\u20ac\"}"), PAWL_OK);
    got = said(&w.h, "/body");
    CHECK(strncmp(got, "POST /echo HTTP/1.1\r\n", 21) == 0 && strstr(got, "\r\nContent-Type: application/json\r\n") != NULL);
    CHECK_STR(strstr(got, "\r\n\r\n"), "\r\n\r\n{\"a\":\"\xe2\x82\xac\",\"b\":1}");
    CHECK_INT(get(&w, "/echo", ",\"body\":\"a=b\",\"method\":\"PUT\",\"headers\":{\"X-Empty\":\"\",\"Content-Type\":\"text/x\"}"), PAWL_OK);
    got = said(&w.h, "/body");
    CHECK(strncmp(got, "PUT /echo HTTP/1.1\r\n", 20) == 0 && strstr(got, "\r\nContent-Type: text/x\r\n") != NULL);
    CHECK(strstr(got, "\r\nX-Empty:\r\n") != NULL && strstr(got, "Expect") == NULL);
    CHECK_STR(strstr(got, "\r\n\r\n"), "\r\n\r\na=b");
    CHECK_INT(get(&w, "/echo", ",\"body\":\"a=b\""), PAWL_OK);
    CHECK(strstr(said(&w.h, "/body"), "Content-Type") == NULL);
    CHECK_INT(get(&w, "/echo", ",\"method\":\"DELETE\""), PAWL_OK);
    CHECK(strncmp(said(&w.h, "/body"), "DELETE /echo HTTP/1.1\r\n", 23) == 0);
    CHECK_INT(get(&w, "/echo", ",\"method\":\"POST\""), PAWL_OK);
    CHECK(strstr(said(&w.h, "/body"), "\r\nContent-Length: 0\r\n") != NULL);
    world_close(&w);
}

PAWL_TEST(test_a_body_of_two_megabytes_arrives_whole)
{
    enum { SIZE = 2 << 20 };
    char *more = malloc(SIZE + 64);
    world w;

    world_open(&w);
    CHECK(more != NULL);
    memcpy(more, ",\"body\":\"", 9);
    memset(more + 9, 'b', SIZE);
    memcpy(more + 9 + SIZE, "\"", 2);
    CHECK_INT(get(&w, "/echo", more), PAWL_OK);
    CHECK_INT(strspn(strstr(said(&w.h, "/body"), "\r\n\r\n") + 4, "b"), SIZE);
    CHECK(strstr(said(&w.h, "/body"), "Expect") == NULL);
    free(more);
    world_close(&w);
}

PAWL_TEST(test_X1_wrong_arguments_are_named_and_nothing_is_sent)
{
    static const struct { const char *args, *text; } wrong[] = {
        { "{}", "do: \"url\" is due" },
        { "{\"url\":1}", "do: \"url\" is no string, or holds NUL" },
        { "{\"url\":\"\"}", "do: \"url\" is no URL of http or https" },
        { "{\"url\":\"file:///etc/passwd\"}", "do: \"url\" is no URL of http or https" },
        { "{\"url\":\"ftp://127.0.0.1/\"}", "do: \"url\" is no URL of http or https" },
        { "{\"url\":\"gopher://127.0.0.1:1/_x\"}", "do: \"url\" is no URL of http or https" },
        { "{\"url\":\"http:///x\"}", "do: \"url\" is no URL of http or https" },
        { "{\"url\":\"http://127.0.0.1:1/a b\"}", "do: \"url\" is no URL of http or https" },
        { "{\"url\":\"http://127.0.0.1:1/a\\r\\nX: y\"}", "do: \"url\" is no URL of http or https" },
        { "{\"url\":\"http://u:secret@[bad/?token=secret\"}", "GET http://[bad: is no URL" },
        { "{\"url\":\"http://127.0.0.1:1\",\"method\":\"get\"}", "do: \"method\" is none, or not in capitals" },
        { "{\"url\":\"http://127.0.0.1:1\",\"method\":\"GET /x\"}", "do: \"method\" is none, or not in capitals" },
        { "{\"url\":\"http://127.0.0.1:1\",\"method\":\"CONNECT\"}", "do: \"method\" is none, or not in capitals" },
        { "{\"url\":\"http://127.0.0.1:1\",\"headers\":{\"A\":\"secret\\r\\nB: c\"}}", "do: header A is no string of one line" },
        { "{\"url\":\"http://127.0.0.1:1\",\"headers\":{\"A\":\"secret\\u0000\"}}", "do: header A is no string of one line" },
        { "{\"url\":\"http://127.0.0.1:1\",\"headers\":{\"A:\":\"b\"}}", "do: \"A:\" is no name of a header" },
        { "{\"url\":\"http://127.0.0.1:1\",\"headers\":{\"A\\u0000\":\"b\"}}", "do: \"A\" is no name of a header" },
        { "{\"url\":\"http://127.0.0.1:1\",\"headers\":{\"A\":1}}", "do: header A is no string of one line" },
        { "{\"url\":\"http://127.0.0.1:1\",\"headers\":{\"A\":[\"Bearer \",1]}}", "do: header A is no string of one line" },
        { "{\"url\":\"http://127.0.0.1:1\",\"headers\":{\"A\":[\"Bearer \",\"secret\\n\"]}}", "do: header A is no string of one line" },
        { "{\"url\":\"http://127.0.0.1:1\",\"headers\":[]}", "do: \"headers\" is no object" },
        { "{\"url\":\"http://127.0.0.1:1\",\"headers\":{\"Transfer-Encoding\":\"chunked\"}}",
          "do: header Transfer-Encoding follows from the body; leave it out" },
        { "{\"url\":\"http://127.0.0.1:1\",\"redirects\":51}", "do: \"redirects\" is no whole number from 0 to 50" },
        { "{\"url\":\"http://127.0.0.1:1\",\"redirect\":1}", "do: no argument \"redirect\" (did you mean \"redirects\"?)" },
        { "{\"url\":\"http://127.0.0.1:1\",\"timeout_ms\":\"1\"}", "do: \"timeout_ms\" is no whole number from 0 to 2592000000" },
    };
    hand h;

    hand_init(&h);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pawl_code rc = hand_over(&h, pawl_effect_http, wrong[i].args);

        if (rc == PAWL_CORRUPT)
            continue;           /* NUL in a key is refused before it gets here */
        CHECK_INT(rc, PAWL_INVALID);
        CHECK_STR(reply_why(&h.reply), wrong[i].text);
        CHECK(h.reply.untouched);
        CHECK(strstr(reply_why(&h.reply), "secret") == NULL);
    }
    hand_free(&h);
}

/* ---- redirects ------------------------------------------------------------------------------------------- */

PAWL_TEST(test_X2_redirects_are_followed_up_to_their_limit)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/again/5", ""), PAWL_OK);
    CHECK_INT(number(&w.h, "/status"), 200);
    CHECK_INT(asked_of(&w.s), 6);
    CHECK_INT(get(&w, "/again/6", ""), PAWL_EFFECT);
    CHECK_STR(behind(&w), "more than 5 redirects");
    CHECK(!w.h.reply.untouched);
    CHECK_INT(get(&w, "/loop", ",\"redirects\":50"), PAWL_EFFECT);
    CHECK_STR(behind(&w), "more than 50 redirects");
    CHECK_INT(get(&w, "/again/1", ",\"redirects\":0"), PAWL_OK);
    CHECK_INT(number(&w.h, "/status"), 302);
    CHECK_STR(said(&w.h, "/headers/location"), "/again/0");
    CHECK_INT(get(&w, "/302", ""), PAWL_OK);
    CHECK_INT(number(&w.h, "/status"), 302);
    world_close(&w);
}

PAWL_TEST(test_a_redirect_leads_only_to_http)
{
    static const char *const bad[] = { "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:1/_x", "dict://127.0.0.1:1/x" };
    char path[128];
    world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(path, sizeof path, "/to/302?%s", bad[i]);
        CHECK_INT(get(&w, path, ""), PAWL_EFFECT);
        CHECK_STR(behind(&w), "redirects to what is no URL of http or https");
    }
    world_close(&w);
}

PAWL_TEST(test_a_redirect_keeps_or_drops_the_body_as_its_status_says)
{
    static const struct { int status; const char *method, *first; bool body; } ways[] = {
        { 301, "POST", "GET", false }, { 302, "POST", "GET", false }, { 303, "POST", "GET", false }, { 307, "POST", "POST", true },
        { 308, "POST", "POST", true }, { 303, "PUT", "GET", false }, { 302, "PUT", "PUT", true },
    };
    char path[64], more[128];
    world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const char *got;

        snprintf(path, sizeof path, "/to/%d?/echo", ways[i].status);
        snprintf(more, sizeof more, ",\"method\":\"%s\",\"body\":[1],\"headers\":{\"X-Key\":\"k\"}", ways[i].method);
        CHECK_INT(get(&w, path, more), PAWL_OK);
        got = said(&w.h, "/body");
        CHECK(strncmp(got, ways[i].first, strlen(ways[i].first)) == 0);
        CHECK_STR(strstr(got, "\r\n\r\n"), ways[i].body ? "\r\n\r\n[1]" : "\r\n\r\n");
        CHECK_INT(strstr(got, "Content-Type") != NULL, ways[i].body);
        CHECK(strstr(got, "\r\nX-Key: k\r\n") != NULL);
    }
    world_close(&w);
}

PAWL_TEST(test_K4_no_secret_header_goes_to_another_origin)
{
    const char *got;
    char path[128];
    server other;
    world w;

    world_open(&w);
    server_start(&other);
    snprintf(path, sizeof path, "/to/307?http://127.0.0.1:%d/echo", other.port);
    CHECK_INT(get(&w, path, ",\"body\":\"b\",\"headers\":{\"Authorization\":\"secret\",\"X-Api-Key\":\"secret\",\"Cookie\":\"secret\","
                            "\"Accept\":\"text/x\"}"), PAWL_OK);
    got = said(&w.h, "/body");
    CHECK(strstr(w.s.last, "X-Api-Key: secret") != NULL);
    CHECK(strstr(got, "secret") == NULL);
    CHECK(strstr(got, "\r\nAccept: text/x\r\n") != NULL && strstr(got, "\r\nIdempotency-Key: essay-1") != NULL);
    server_stop(&other);
    world_close(&w);
}

/* ---- failing ----------------------------------------------------------------------------------------------- */

PAWL_TEST(test_E7_what_may_pass_is_transient_and_says_when)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/429", ""), PAWL_TRANSIENT);
    CHECK_STR(behind(&w), "status 429");
    CHECK_INT(w.h.reply.retry_after_ms, 7000);
    CHECK_BYTES(w.h.reply.detail.data, w.h.reply.detail.size, "slow down", 9);
    CHECK(!w.h.reply.untouched);
    CHECK_INT(get(&w, "/503", ""), PAWL_TRANSIENT);
    CHECK_INT(w.h.reply.retry_after_ms, 60000);
    CHECK_INT(get(&w, "/500", ""), PAWL_TRANSIENT);
    CHECK_INT(w.h.reply.retry_after_ms, 0);
    CHECK_BYTES(w.h.reply.detail.data, w.h.reply.detail.size, "?!", 2);
    CHECK_INT(get(&w, "/403", ""), PAWL_OK);
    CHECK_INT(number(&w.h, "/status"), 403);
    world_close(&w);
}

PAWL_TEST(test_E7_retry_after_is_seconds_or_a_date)
{
    CHECK_INT(retry_after_ms("0", NULL), 0);
    CHECK_INT(retry_after_ms("120", NULL), 120000);
    CHECK_INT(retry_after_ms("99999999999999999999999", NULL), 86400000);
    CHECK_INT(retry_after_ms("-1", NULL), 0);
    CHECK_INT(retry_after_ms("1.5", NULL), 0);
    CHECK_INT(retry_after_ms("", NULL), 0);
    CHECK_INT(retry_after_ms(NULL, NULL), 0);
    CHECK_INT(retry_after_ms("Sun, 06 Nov 1994 08:49:37 GMT", NULL), 0);        /* long past */
    CHECK_INT(retry_after_ms("Fri, 31 Dec 9999 23:59:59 GMT", "no date"), 86400000);
    CHECK_INT(retry_after_ms("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT"), 30000);
    CHECK_INT(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
    CHECK_INT(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
    CHECK_INT(http_date("Tue, 29 Feb 2000 00:00:00 GMT"), 951782400);
    CHECK_INT(http_date("Thu, 01 Mar 2001 00:00:00 GMT"), 983404800);
    CHECK_INT(http_date("Thu, 29 Feb 2001 00:00:00 GMT"), -1);
    CHECK_INT(http_date("Mon, 31 Apr 2000 00:00:00 GMT"), -1);
    CHECK_INT(http_date("Mon, 00 Apr 2000 00:00:00 GMT"), -1);
    CHECK_INT(http_date("Mon, 01 Apx 2000 00:00:00 GMT"), -1);
    CHECK_INT(http_date("Mon, 01 Apr 2000 24:00:00 GMT"), -1);
    CHECK_INT(http_date("Mon, 01 Apr 2000 00:00:00 UTC"), -1);
    CHECK_INT(http_date("Mon, 01 Apr 20-0 00:00:00 GMT"), -1);
    CHECK_INT(http_date("Sunday, 06-Nov-94 08:49:37 GMT"), -1);
}

PAWL_TEST(test_a_connection_that_fails_is_transient)
{
    static const char *const broken[] = { "/nothing", "/half", "/garbage", "/chunk-bad", "/no-colon" };
    world w;
    int port;

    world_open(&w);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        CHECK_INT(get(&w, broken[i], ""), PAWL_TRANSIENT);
        CHECK(!w.h.reply.untouched);
        CHECK(reply_why(&w.h.reply)[0] != '\0');
    }
    port = w.s.port;
    server_stop(&w.s);
    w.s.port = port;
    CHECK_INT(get(&w, "/ok?token=secret", ""), PAWL_TRANSIENT);
    CHECK_STR(behind(&w), "Couldn't connect to server");
    CHECK(w.h.reply.untouched);
    hand_free(&w.h);
}

PAWL_TEST(test_a_server_that_speaks_no_tls_has_not_been_reached)
{
    char args[96];
    world w;

    world_open(&w);
    snprintf(args, sizeof args, "{\"url\":\"https://127.0.0.1:%d/ok\"}", w.s.port);
    CHECK_INT(hand_over(&w.h, pawl_effect_http, args), PAWL_TRANSIENT);
    CHECK(w.h.reply.untouched);
    world_close(&w);
}

/* ---- connections are kept ------------------------------------------------------------------------------------ */

PAWL_TEST(test_requests_to_one_origin_share_a_connection)
{
    world w;

    world_open(&w);
    for (int i = 0; i < 10; i++)
        CHECK_INT(get(&w, i % 2 == 0 ? "/ok" : "/echo", i % 3 == 0 ? ",\"body\":{\"n\":1}" : ""), PAWL_OK);
    CHECK_INT(get(&w, "/again/3", ""), PAWL_OK);
    CHECK_INT(get(&w, "/403", ""), PAWL_OK);
    CHECK_INT(get(&w, "/503", ""), PAWL_TRANSIENT);
    CHECK_INT(get(&w, "/ok", ",\"method\":\"DELETE\""), PAWL_OK);
    CHECK_INT(asked_of(&w.s), 17);
    CHECK_INT(count_of(&w.s, &w.s.connections), 1);
    net_forget();
    CHECK_INT(get(&w, "/ok", ""), PAWL_OK);
    CHECK_INT(count_of(&w.s, &w.s.connections), 2);
    world_close(&w);
}

PAWL_TEST(test_another_origin_or_another_trust_has_another_connection)
{
    server other;
    char url[64];
    world w;

    if (hand_is_late())
        check_skip("the loop has one pool for all: over plain http no certificate is trusted, and tls_test shows the others");
    world_open(&w);
    server_start(&other);
    snprintf(url, sizeof url, "{\"url\":\"http://127.0.0.1:%d/ok\"}", other.port);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(get(&w, "/ok", ""), PAWL_OK);
        CHECK_INT(get(&w, "/ok", ",\"ca\":\"some.pem\""), PAWL_OK);
        CHECK_INT(hand_over(&w.h, pawl_effect_http, url), PAWL_OK);
    }
    CHECK_INT(count_of(&w.s, &w.s.connections), 2);
    CHECK_INT(count_of(&other, &other.connections), 1);
    net_forget();
    server_stop(&other);
    world_close(&w);
}

PAWL_TEST(test_a_kept_connection_that_was_closed_is_not_used)
{
    world w;

    world_open(&w);
    for (unsigned i = 1; i <= 5; i++) {
        CHECK_INT(get(&w, "/lies", i % 2 == 0 ? ",\"body\":\"b\"" : ""), PAWL_OK);
        CHECK_STR(said(&w.h, "/body"), "no");
        server_closes(&w.s, i);
    }
    CHECK_INT(asked_of(&w.s), 5);
    CHECK_INT(count_of(&w.s, &w.s.connections), 5);
    world_close(&w);
}

/* The server reads it, and closes the connection without a word: libcurl would send it again. */
PAWL_TEST(test_E13_a_request_that_may_have_arrived_is_not_sent_again)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "DELETE", "HEAD" };
    char more[64];
    world w;

    world_open(&w);
    for (unsigned i = 0; i < sizeof methods / sizeof *methods; i++) {
        snprintf(more, sizeof more, ",\"method\":\"%s\"", methods[i]);
        CHECK_INT(get(&w, "/ok", ""), PAWL_OK);         /* this connection is kept */
        CHECK_INT(get(&w, "/nothing", more), PAWL_TRANSIENT);
        CHECK_STR(behind(&w), "its connection closed under the request, which may have arrived");
        CHECK(!w.h.reply.untouched);
        CHECK_INT(asked_of(&w.s), 2 * (i + 1));
        CHECK_INT(count_of(&w.s, &w.s.connections), i + 1);
    }
    world_close(&w);
}

PAWL_TEST(test_X2_no_more_connections_are_kept_than_a_few)
{
    enum { ORIGINS = 20 };
    static server all[ORIGINS];
    unsigned again = 0;
    char url[64];
    int before;
    world w;

    if (hand_is_late())
        check_skip("the loop keeps as many as it had open, for as long as its thread rests");
    world_open(&w);
    for (int i = 0; i < ORIGINS; i++)
        server_start(&all[i]);
    CHECK_INT(get(&w, "/ok", ""), PAWL_OK);
    net_forget();
    before = open_fds();
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < ORIGINS; i++) {
            snprintf(url, sizeof url, "{\"url\":\"http://127.0.0.1:%d/ok\"}", all[i].port);
            CHECK_INT(hand_over(&w.h, pawl_effect_http, url), PAWL_OK);
        }
    for (int i = 0; i < ORIGINS; i++)
        again += count_of(&all[i], &all[i].connections) == 2;
    CHECK_INT(again, ORIGINS);          /* sixteen are kept: each is gone when its turn comes */
    net_forget();
    for (int i = 0; i < ORIGINS; i++)
        server_stop(&all[i]);
    CHECK(open_fds() < before);
    world_close(&w);
}

/* A child that spoke on its parent's connection would garble it. */
PAWL_TEST(test_a_child_has_connections_of_its_own)
{
    int status = -1;
    pid_t child;
    world w;

    if (hand_is_late())
        hand_needs_fork();
    world_open(&w);
    CHECK_INT(get(&w, "/ok", ""), PAWL_OK);
    if ((child = fork()) == 0)
        _exit(get(&w, "/ok", "") == PAWL_OK ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_INT(count_of(&w.s, &w.s.connections), 2);
    CHECK_INT(get(&w, "/ok", ""), PAWL_OK);
    CHECK_INT(count_of(&w.s, &w.s.connections), 2);
    world_close(&w);
}

/* ---- stopping ------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_E8_a_slow_answer_is_a_timeout)
{
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/silent", ",\"timeout_ms\":200"), PAWL_TIMEOUT);
    CHECK_STR(behind(&w), "no whole answer within its timeout_ms");
    CHECK_INT(get(&w, "/huge", ",\"timeout_ms\":50,\"response_bytes\":268435456"), PAWL_TIMEOUT);
    w.h.job.deadline_ms = 1;
    CHECK_INT(get(&w, "/ok", ""), PAWL_TIMEOUT);
    CHECK_STR(behind(&w), "no whole answer within the time of this attempt");
    CHECK(w.h.reply.untouched);
    world_close(&w);
}

static bool once_asked(const pawl_job *job)
{
    return asked_of(job->ctx) > 0;
}

PAWL_TEST(test_E10_cancel_stops_a_request)
{
    world w;

    world_open(&w);
    w.h.job.ctx = &w.s;
    w.h.job.canceled = once_asked;
    CHECK_INT(get(&w, "/silent", ""), PAWL_CANCELED);
    CHECK_STR(behind(&w), "canceled");
    CHECK_INT(asked_of(&w.s), 1);
    CHECK_INT(get(&w, "/ok", ""), PAWL_CANCELED);       /* it is never sent */
    CHECK_INT(asked_of(&w.s), 1);
    CHECK(w.h.reply.untouched);
    world_close(&w);
}

PAWL_TEST(test_E14_cancel_is_heard_through_its_descriptor)
{
    int fd[2];
    world w;

    world_open(&w);
    CHECK_INT(pipe(fd), 0);
    CHECK_INT(write(fd[1], "x", 1), 1);
    w.h.job.cancel_fd = fd[0];
    CHECK_INT(get(&w, "/silent", ""), PAWL_CANCELED);
    close(fd[0]);
    close(fd[1]);
    world_close(&w);
}

static void beat(const pawl_job *job)
{
    ++*(unsigned *)job->ctx;
}

PAWL_TEST(test_E8_bytes_are_a_heartbeat)
{
    unsigned beats = 0;
    world w;

    world_open(&w);
    w.h.job.ctx = &beats;
    w.h.job.heartbeat = beat;
    CHECK_INT(get(&w, "/ok", ""), PAWL_OK);
    CHECK(beats > 0);
    world_close(&w);
}

/* ---- many, and nothing left -------------------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 20 };

static void *many(void *arg)
{
    server *s = arg;
    intptr_t wrong = 0;

    for (int i = 0; i < ROUNDS; i++) {
        char args[128], expected[32];
        hand h;

        hand_init(&h);
        snprintf(expected, sizeof expected, "\r\n\r\nround %d", i);
        snprintf(args, sizeof args, "{\"url\":\"http://127.0.0.1:%d/echo\",\"body\":\"%s\"}", s->port, expected + 4);
        if (hand_over(&h, pawl_effect_http, args) != PAWL_OK || said(&h, "/body") == NULL || strstr(said(&h, "/body"), expected) == NULL)
            wrong++;
        hand_free(&h);
    }
    return (void *)wrong;
}

PAWL_TEST(test_many_threads_make_requests_at_once_and_leave_no_descriptor)
{
    pthread_t threads[THREADS];
    intptr_t wrong = 0;
    int before;
    world w;

    world_open(&w);
    CHECK_INT(get(&w, "/ok", ""), PAWL_OK);     /* libcurl is there */
    CHECK_INT(get(&w, "/silent", ",\"timeout_ms\":50"), PAWL_TIMEOUT);
    world_close(&w);
    before = open_fds();
    world_open(&w);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, many, &w.s), 0);
    for (int i = 0; i < THREADS; i++) {
        void *one;

        pthread_join(threads[i], &one);
        wrong += (intptr_t)one;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(asked_of(&w.s), THREADS * ROUNDS);
    CHECK_INT(get(&w, "/silent", ",\"timeout_ms\":50"), PAWL_TIMEOUT);
    CHECK_INT(get(&w, "/again/9", ""), PAWL_EFFECT);
    CHECK_INT(get(&w, "/half", ""), PAWL_TRANSIENT);
    world_close(&w);
    CHECK_INT(open_fds(), before);
}

PAWL_TEST(test_memory_may_end_at_any_call)
{
    bool through = false;
    heap mem;
    world w;

    world_open(&w);
    heap_init(&mem);
    for (size_t n = 0; !through; n++) {
        pawl_alloc alloc = heap_alloc(&mem);

        reply_free(&w.h.reply);
        reply_init(&w.h.reply, &alloc);
        heap_fail_at(&mem, n);
        get(&w, "/to/307?/json", ",\"body\":[1],\"headers\":{\"X-Key\":\"k\"}");
        CHECK(mem.fired ? w.h.rc == PAWL_NOMEM : w.h.rc == PAWL_OK);
        through = !mem.fired;
        heap_fail_never(&mem);
        reply_free(&w.h.reply);
        heap_check(&mem);
        reply_init(&w.h.reply, NULL);
    }
    world_close(&w);
}

/* Run by the test below in a process of its own, where files of libcurl's names are no libraries. */
static int act_without(void)
{
    hand h;
    bool ok;

    hand_init(&h);
    ok = hand_over(&h, pawl_effect_http, "{\"url\":\"http://127.0.0.1:1/\"}") == PAWL_INVALID && h.reply.untouched &&
         strcmp(reply_why(&h.reply), "GET http://127.0.0.1:1: there is no libcurl; install the package libcurl4") == 0;
    hand_free(&h);
    return ok ? 0 : 1;
}

PAWL_TEST(test_without_libcurl_the_package_is_named)
{
    static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib" };
    char folder[] = "/tmp/pawl-http-XXXXXX", path[64];
    int status = -1;
    pid_t child;

    CHECK(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        close(open(path, O_WRONLY | O_CREAT, 0600));
    }
    if ((child = fork()) == 0) {
        setenv("LD_LIBRARY_PATH", folder, 1);
        execl("/proc/self/exe", "http_test", "act-without", (char *)NULL);
        _exit(99);
    }
    waitpid(child, &status, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
    CHECK_INT(status, 0);
}

int main(int argc, char **argv)
{
    static const char *const proxies[] = { "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" };

    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++)
        unsetenv(proxies[i]);
    if (argc == 2 && strcmp(argv[1], "act-without") == 0)
        return act_without();
    return check_main(argc, argv);
}
