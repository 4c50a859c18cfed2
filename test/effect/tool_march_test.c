/* tool_march_test.c - every allocation of every tool fails once: it says so, or gives what it would have given; files are whole or untouched,
 * nothing is left beside them, no memory and no descriptor is lost. */
#define _XOPEN_SOURCE 700
#include "effect/sandbox.h"
#include "effect/server.h"
#include "effect/tooling.h"
#include "lib/heap.h"
#include "net/net.h"

typedef struct call_case { const char *tool, *input, *more; } call_case;

static void prepare(const kit *k)
{
    put(k, "a", "one\r\ntwo\r\n");
    put(k, "image", "GIF89a");
    put(k, "new", "");
}

/* Whether an allocation failed. */
static bool refused(kit *k, const call_case *c, size_t n, const char *reply)
{
    pawl_alloc alloc;
    heap h;
    bool fired;
    int fds;

    heap_init(&h);
    alloc = heap_alloc(&h);
    prepare(k);
    arena_reset(&k->h.mem);
    reply_free(&k->h.reply);
    reply_init(&k->h.reply, &alloc);
    k->more = c->more;
    fds = open_fds();
    heap_fail_at(&h, n);
    use(k, c->tool, c->input);
    fired = h.fired;
    heap_fail_never(&h);
    CHECK_INT(open_fds(), fds);
    if (k->h.rc == PAWL_OK && reply != NULL)
        CHECK_BYTES(k->h.reply.text.data, k->h.reply.text.size, reply, strlen(reply));
    else if (k->h.rc != PAWL_OK && (k->h.rc != PAWL_NOMEM || !fired))
        CHECK_FAIL("%s %s, allocation %zu: %s: %s", c->tool, c->input, n, pawl_code_name(k->h.rc), reply_why(&k->h.reply));
    CHECK(fired || k->h.rc == PAWL_OK);
    CHECK_INT(names_in(k, "."), 3);
    HOLDS(k, "image", "GIF89a");
    reply_free(&k->h.reply);
    heap_check(&h);
    reply_init(&k->h.reply, NULL);
    return fired;
}

static void march(kit *k, const call_case *c)
{
    char *reply;

    prepare(k);
    k->more = c->more;
    CHECK_INT(use(k, c->tool, c->input), PAWL_OK);
    reply = check_copy(k->h.reply.text.data, k->h.reply.text.size);
    for (size_t n = 0; refused(k, c, n, reply); n++)
        continue;
    free(reply);
}

PAWL_TEST(test_every_allocation_of_a_tool_fails_once)
{
    static const call_case calls[] = {
        { "read_file", "{\"file_path\":\"a\"}", NULL },
        { "read_file", "{\"file_path\":\"image\"}", NULL },
        { "read_file", "{\"file_path\":\"../a\"}", ",\"directories\":[\"/tmp\"]" },
        { "read_file", "{}", NULL },
        { "list_files", "{}", NULL },
        { "edit_file", "{\"file_path\":\"a\",\"old_string\":\"one\\n\",\"new_string\":\"1\\n\"}", NULL },
        { "edit_file", "{\"file_path\":\"a\",\"old_string\":\"x\",\"new_string\":\"y\"}", NULL },
        { "write_file", "{\"file_path\":\"new\",\"content\":\"x\"}", NULL },
        { "glob", "{\"pattern\":\"*{a,b}*\"}", NULL },
        { "glob", "{\"pattern\":\"{\"}", NULL },
        { "grep", "{\"pattern\":\"[to]w?\",\"glob\":\"a*\",\"context\":1}", NULL },
        { "grep", "{\"pattern\":\"(\"}", NULL },
        { "bash", "{\"command\":\"echo x; exit 1\"}", ",\"sandbox\":\"off\"" },
        { "bash", "{\"command\":\"head -c 40000 /dev/zero\"}", ",\"sandbox\":\"off\"" },
        { "bash", "{\"command\":\"echo x\"}", NULL },
    };
    kit k;

    CHECK_INT(setenv("HOME", "/nonexistent", 1) | unsetenv("CLAUDE_CONFIG_DIR"), 0);     /* a person with a .claude gets an empty one in the workspace */
    kit_open(&k);
    (void)sandbox_try(SANDBOX_WORKSPACE, NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        march(&k, &calls[i]);
    kit_close(&k);
}

PAWL_TEST(test_every_allocation_of_a_program_fails_once)
{
    const char *const run[] = { "sh", "-c", "cat; exit 1", NULL };
    const pawl_tool tool = { .name = "program", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_READ };
    const call_case c = { "program", "{\"a\":1}", NULL };
    kit k;

    kit_open(&k);
    CHECK_INT(pawl_tool_command(k.set, &tool, run, NULL), PAWL_OK);
    march(&k, &c);
    kit_close(&k);
}

PAWL_TEST(test_every_allocation_of_a_page_fails_once)
{
    static const char *const paths[] = { "/page", "/again/2", "/pdf" };
    net_library lib;
    server s;
    kit k;

    if (!net_library_of(&lib))
        check_skip("there is no libcurl");
    server_start(&s);
    kit_open(&k);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char input[100];
        const call_case c = { "web_fetch", input, ",\"private\":true" };

        snprintf(input, sizeof input, "{\"url\":\"http://127.0.0.1:%d%s\"}", s.port, paths[i]);
        prepare(&k);
        k.more = c.more;
        CHECK_INT(use(&k, c.tool, c.input), PAWL_OK);   /* what libcurl opens once is open now */
        for (size_t n = 0;; n++) {
            heap h;
            pawl_alloc alloc;
            bool fired;

            heap_init(&h);
            alloc = heap_alloc(&h);
            arena_reset(&k.h.mem);
            reply_free(&k.h.reply);
            reply_init(&k.h.reply, &alloc);
            heap_fail_at(&h, n);
            use(&k, c.tool, c.input);
            fired = h.fired;
            heap_fail_never(&h);
            CHECK_INT(k.h.rc, fired ? PAWL_NOMEM : PAWL_OK);
            reply_free(&k.h.reply);
            heap_check(&h);
            reply_init(&k.h.reply, NULL);
            if (!fired)
                break;
        }
    }
    kit_close(&k);
    server_stop(&s);
}
