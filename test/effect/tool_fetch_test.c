/* tool_fetch_test.c - web_fetch: where it goes, where it does not, and what it makes of a page. */
#define _XOPEN_SOURCE 700
#include "effect/server.h"
#include "effect/tooling.h"
#include "net/net.h"

#define HERE ",\"private\":true"

/* ---- pages ------------------------------------------------------------------------------------------------- */

static void page_gives(const char *page, const char *text)
{
    buf b;

    buf_init(&b, NULL);
    html_text(page, strlen(page), &b);
    buf_char(&b, '\0');
    if (strcmp(b.data, text) != 0)
        CHECK_FAIL("%s\n  is   %s\n  not  %s", page, b.data, text);
    buf_free(&b);
}

PAWL_TEST(test_A5_a_page_becomes_text)
{
    page_gives("", "");
    page_gives("plain", "plain\n");
    page_gives("<!doctype html><html><head><title>T &amp; T</title><style>p{}</style><script>if (a<b) x('</p>');</script></head>"
               "<body><h1>One</h1><p>Some  <b>bold</b>\n text.</p><p>More</p></body></html>",
               "T & T\n\n# One\n\nSome bold text.\n\nMore\n");
    page_gives("<ul><li>a<li>b</li></ul>c", "- a\n- b\n\nc\n");
    page_gives("see <a href=\"https://x.org/?a=1&amp;b=2\">this page</a>.", "see this page (https://x.org/?a=1&b=2).\n");
    page_gives("<a href='/r'>one <i>two</i></a><a href=x>x</a><a href='#y'>y</a><a href=\"JavaScript:z()\">z</a><a>w</a>", "one two (/r)xyzw\n");
    page_gives("<p>open <a href=\"u\">link", "open link (u)\n");
    page_gives("<pre>a\n  b &lt;c&gt;\n</pre>d", "a\n  b <c>\n\n\nd\n");
    page_gives("a<br>b<br/>c<hr>d", "a\nb\nc\nd\n");
    page_gives("<table><tr><td>1</td><td>2</td></tr><tr><th>3<td>4</table>", "1 2\n3 4\n");
    page_gives("x<!-- no <b> --> y <!-- never closed", "x y\n");
    page_gives("a < b && c > d <3 <", "a < b && c > d <3 <\n");
    page_gives("&#65;&#x42;&euro;&nbsp;&nope;&#0;&#x110000;&amp&#xD800;", "AB\xe2\x82\xac &nope;\xef\xbf\xbd\xef\xbf\xbd&amp\xef\xbf\xbd\n");
    page_gives("<svg/>a<svg><text>no</text></svg>b<template>no</template><noscript>no</noscript>c", "abc\n");
    page_gives("<SCRIPT type=x>no</ScRiPt>yes<script>never closed", "yes\n");
    page_gives("<a title=\"x > y\" href=\"u\">t</a>", "t (u)\n");
    page_gives("<verylongnameofatagthatisnone>t</verylongnameofatagthatisnone>", "t\n");
    page_gives("<h3>t</h3><h9>u</h9>", "### t\n\nu\n");
}

/* ---- the tool ------------------------------------------------------------------------------------------------- */

static void fetch(kit *k, const server *s, const char *path)
{
    char text[600];

    snprintf(text, sizeof text, "{\"url\":\"http://127.0.0.1:%d%s\"}", s->port, path);
    CHECK_INT(use(k, "web_fetch", text), PAWL_OK);
}

static bool no_curl(void)
{
    net_library lib;

    return !net_library_of(&lib);
}

PAWL_TEST(test_A5_web_fetch_gives_text)
{
    server s;
    kit k;

    if (no_curl())
        check_skip("there is no libcurl");
    server_start(&s);
    kit_open(&k);
    k.more = HERE;
    fetch(&k, &s, "/ok");
    CHECK_STR(content(&k), "hello");
    fetch(&k, &s, "/json");
    CHECK_STR(content(&k), "{\"a\":[1,2]}\n");
    CHECK(!is_error(&k));
    fetch(&k, &s, "/problem");
    CHECK_STR(content(&k), "HTTP error: 404\n{\"no\":[]}");
    CHECK(is_error(&k));
    fetch(&k, &s, "/503");
    CHECK_STR(content(&k), "HTTP error: 503\n");
    CHECK(is_error(&k));
    fetch(&k, &s, "/empty");
    CHECK_STR(content(&k), "(status 204, and nothing else)");
    fetch(&k, &s, "/garbage");
    CHECK(is_error(&k) && strncmp(content(&k), "HTTP error: 127.0.0.1:", 22) == 0);
    fetch(&k, &s, "/page");
    CHECK_STR(content(&k), "Caf\xc3\xa9\n");
    fetch(&k, &s, "/pdf");
    CHECK(is_error(&k) && strstr(content(&k), " is application/pdf (4 bytes), which cannot be shown as text") != NULL);
    fetch(&k, &s, "/huge-text");
    CHECK(!is_error(&k) && pawl_value_bool(pawl_value_get(k.h.value, "cut")) && strlen(content(&k)) < PAWL_TOOL_OUTPUT_BYTES + 200);
    CHECK(strstr(content(&k), "\xef\xbf\xbd") == NULL);
    kit_close(&k);
    server_stop(&s);
}

PAWL_TEST(test_A5_web_fetch_uses_no_proxy)
{
    server s;
    kit k;

    if (no_curl())
        check_skip("there is no libcurl");
    server_start(&s);
    kit_open(&k);
    k.more = HERE;
    CHECK_INT(setenv("http_proxy", "http://127.0.0.1:9", 1), 0);
    fetch(&k, &s, "/ok");
    unsetenv("http_proxy");
    CHECK_STR(content(&k), "hello");
    kit_close(&k);
    server_stop(&s);
}

PAWL_TEST(test_A5_web_fetch_follows_to_the_same_host_alone)
{
    char text[200], told[600];
    server s;
    kit k;

    if (no_curl())
        check_skip("there is no libcurl");
    server_start(&s);
    kit_open(&k);
    k.more = HERE;
    fetch(&k, &s, "/again/5");
    CHECK(!is_error(&k));
    fetch(&k, &s, "/again/6");
    CHECK(is_error(&k) && strstr(content(&k), ": more than 5 redirects") != NULL);
    snprintf(text, sizeof text, "/to/302?http://localhost:%d/ok", s.port);
    fetch(&k, &s, text);
    snprintf(told, sizeof told, "http://127.0.0.1:%d%s redirects to another host. To go there, ask for this address:\nhttp://localhost:%d/ok", s.port, text,
             s.port);
    CHECK_STR(content(&k), told);
    CHECK(!is_error(&k));
    fetch(&k, &s, "/to/301?ftp://127.0.0.1/x");
    CHECK(is_error(&k) && strstr(content(&k), " redirects to what is no URL of http or https") != NULL);
    fetch(&k, &s, "/to/307?/ok");
    CHECK_STR(content(&k), "hello");
    kit_close(&k);
    server_stop(&s);
}

PAWL_TEST(test_X3_web_fetch_does_not_go_to_this_machine)
{
    static const char *const hosts[] = { "127.0.0.1", "localhost", "127.1", "2130706433", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::]", "0x7f.1" };
    char text[200], told[600];
    server s;
    kit k;

    if (no_curl())
        check_skip("there is no libcurl");
    server_start(&s);
    kit_open(&k);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        snprintf(text, sizeof text, "{\"url\":\"http://%s:%d/ok\"}", hosts[i], s.port);
        CHECK_INT(use(&k, "web_fetch", text), PAWL_OK);
        snprintf(told, sizeof told, "%s:%d is an address of this machine or of a private network, which is not gone to", hosts[i], s.port);
        if (hosts[i][0] != '[')         /* a machine may lack IPv6 */
            CHECK_STR(content(&k), told);
        CHECK(is_error(&k));
    }
    CHECK_INT(asked_of(&s), 0);
    k.more = HERE;              /* a connection that is kept for others is none for who may not go there */
    fetch(&k, &s, "/ok");
    k.more = NULL;
    fetch(&k, &s, "/ok");
    CHECK(is_error(&k));
    CHECK_INT(asked_of(&s), 1);
    kit_close(&k);
    server_stop(&s);
}

PAWL_TEST(test_X3_private_networks_are_known_by_their_addresses)
{
    static const char *const hosts[] = { "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "198.18.0.1",
                                         "224.0.0.1", "255.255.255.255", "192.0.0.8", "0.1.2.3" };
    char text[200];
    kit k;

    if (no_curl())
        check_skip("there is no libcurl");
    kit_open(&k);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        snprintf(text, sizeof text, "{\"url\":\"https://%s/\"}", hosts[i]);
        CHECK_INT(use(&k, "web_fetch", text), PAWL_OK);
        snprintf(text, sizeof text, "%s is an address of this machine or of a private network, which is not gone to", hosts[i]);
        CHECK_STR(content(&k), text);
    }
    kit_close(&k);
}

PAWL_TEST(test_X3_only_addresses_of_http_are_taken)
{
    static const char *const urls[] = { "file:///etc/passwd", "ftp://x/", "http://", "https://user:word@x.org/", "gopher://x/", "x", "http://x y/", "//x/" };
    char text[200];
    kit k;

    kit_open(&k);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        snprintf(text, sizeof text, "{\"url\":\"%s\"}", urls[i]);
        REFUSES(&k, "web_fetch", text, "Invalid arguments: url: it is no URL of http or https, or has a name and password in it");
    }
    kit_close(&k);
}
