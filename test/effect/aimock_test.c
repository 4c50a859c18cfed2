/* aimock_test.c - both APIs as somebody else's server speaks them: @copilotkit/aimock, installed by npm (test/tools/peer) and kept beside the build.
 * Skipped where there is no node, or npm cannot install it. */
#include "effect/modeling.h"
#include "lib/peer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#define WEATHER "{\"role\":\"user\",\"content\":\"the weather\"}"

static const char fixtures[] = "{\"fixtures\":["
    "{\"match\":{\"userMessage\":\"the weather\",\"hasToolResult\":false},\"response\":{\"blocks\":[{\"type\":\"text\",\"text\":\"I look.\"},"
    "{\"type\":\"toolCall\",\"id\":\"call_1\",\"name\":\"look\",\"arguments\":{\"city\":\"K\xc3\xb6ln\"}},{\"type\":\"toolCall\",\"id\":\"call_2\",\"name\":\"look\",\"arguments\":{\"city\":\"Rom\"}}]}},"
    "{\"match\":{\"userMessage\":\"the weather\",\"hasToolResult\":true},\"response\":{\"content\":\"It rains \xe2\x98\x94.\",\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":7,\"total_tokens\":17}}},"
    "{\"match\":{\"userMessage\":\"limited\",\"sequenceIndex\":0},\"response\":{\"error\":{\"message\":\"slow\",\"type\":\"rate_limit_error\"},\"status\":429,\"retryAfter\":2}},"
    "{\"match\":{\"userMessage\":\"limited\"},\"response\":{\"content\":\"now\"}},"
    "{\"match\":{\"userMessage\":\"bounded\",\"sequenceIndex\":0},\"response\":{\"error\":{\"message\":\"slow\",\"type\":\"rate_limit_error\"},\"status\":429,\"retryAfter\":2}},"
    "{\"match\":{\"userMessage\":\"bounded\"},\"response\":{\"content\":\"now\"}},"
    "{\"match\":{\"userMessage\":\"full\"},\"response\":{\"error\":{\"message\":\"full\",\"type\":\"overloaded_error\"},\"status\":529}},"
    "{\"match\":{\"userMessage\":\"torn\"},\"response\":{\"content\":\"a text of several words that come one by one\"},\"latency\":15,\"truncateAfterChunks\":3},"
    "{\"match\":{\"userMessage\":\"think\"},\"response\":{\"content\":\"42\",\"reasoning\":\"six times seven\"}}"
    "]}";

static char folder[64], file[100];
static char peer[400];          /* its folder */
static const char *skipped;     /* why; NULL: it is there */
static int port;
static pid_t node;

static int free_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool well = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && getsockname(fd, (struct sockaddr *)&at, &size) == 0;

    close(fd);
    return well ? ntohs(at.sin_port) : 0;
}

static bool listens(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port) };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool well = fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0;

    close(fd);
    return well;
}

static void start(void)
{
    char cli[500], number[16];
    struct timespec nap = { .tv_nsec = 20000000 };
    FILE *f;

    if (!peer_folder("aimock", peer, sizeof peer)) {
        skipped = peer;
        return;
    }
    snprintf(folder, sizeof folder, "/tmp/pawl-aimock-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return;
    snprintf(file, sizeof file, "%s/all.json", folder);
    if ((f = fopen(file, "w")) != NULL) {
        fputs(fixtures, f);
        fclose(f);
    }
    snprintf(cli, sizeof cli, "%s/node_modules/@copilotkit/aimock/dist/cli.js", peer);
    snprintf(number, sizeof number, "%d", port = free_port());
    if ((node = fork()) == 0) {
        const int fd = open("/dev/null", O_RDWR);

        dup2(fd, 1);
        dup2(fd, 2);
        execlp("node", "node", cli, "-p", number, "-f", folder, "--log-level", "warn", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 1500 && !listens(); i++)
        nanosleep(&nap, NULL);
}

static void stop(void)
{
    net_forget();
    if (node > 0) {
        kill(node, SIGTERM);
        waitpid(node, NULL, 0);
    }
    if (folder[0] != '\0') {
        unlink(file);
        rmdir(folder);
    }
}

static void begin(world *w, bool anthropic)
{
    if (skipped != NULL)
        check_skip(skipped);
    world_open(w);
    CHECK(listens());
    snprintf(w->base, sizeof w->base, "http://127.0.0.1:%d%s", port, anthropic ? "" : "/v1");
}

static const char *model_of(bool anthropic)
{
    return anthropic ? "anthropic/claude-sonnet-4" : "openai/gpt-4o";
}

static pawl_code ask_model(world *w, bool anthropic, const char *messages)
{
    char args[4096];

    snprintf(args, sizeof args, "\"model\":\"%s\",\"max_tokens\":100,\"messages\":[%s],\"tools\":[{\"name\":\"look\",\"input_schema\":{\"type\":\"object\"}}]",
             model_of(anthropic), messages);
    return ask(w, args);
}

static void tool_loop(bool anthropic)
{
    char messages[3000];
    world w;
    char *text;
    buf b;

    begin(&w, anthropic);
    CHECK_INT(ask_model(&w, anthropic, WEATHER), PAWL_OK);
    CHECK_STR(said(&w.h, "/stop"), "tool_use");
    CHECK_STR(said(&w.h, "/message/content/1/input/city"), "K\xc3\xb6ln");
    CHECK_STR(said(&w.h, "/message/content/2/id"), "call_2");
    CHECK_STR(text = told_of(&w, "text_delta", "text"), "I look.");
    free(text);
    buf_init(&b, NULL);
    canon(&b, pawl_value_get(w.h.value, "message"));
    snprintf(messages, sizeof messages, "%s,%.*s,{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"name\":\"look\",\"content\":\"rain\"},"
             "{\"role\":\"tool\",\"tool_call_id\":\"call_2\",\"name\":\"look\",\"content\":\"sun\"}", WEATHER, (int)b.size, b.data);
    buf_free(&b);
    CHECK_INT(ask_model(&w, anthropic, messages), PAWL_OK);
    CHECK_STR(said(&w.h, "/message/content/0/text"), "It rains \xe2\x98\x94.");
    CHECK_STR(said(&w.h, "/stop"), "end_turn");
    CHECK_INT(w.h.reply.tokens, 17);
    world_close(&w);
}

static void limited(bool anthropic)
{
    world w;

    begin(&w, anthropic);
    for (int i = 0; i < 2; i++) {
        const pawl_code rc = ask_model(&w, anthropic, anthropic ? "{\"role\":\"user\",\"content\":\"limited\"}"
                                       : "{\"role\":\"user\",\"content\":\"bounded\"}");

        CHECK_INT(rc, i == 0 ? PAWL_TRANSIENT : PAWL_OK);
        if (i > 0)
            break;
        CHECK(strncmp(text_of(&w), "Rate limited: 429", 17) == 0);
        CHECK_INT(w.h.reply.retry_after_ms, 2000);
    }
    CHECK_STR(said(&w.h, "/message/content/0/text"), "now");
    world_close(&w);
}

static void broken(bool anthropic)
{
    world w;

    begin(&w, anthropic);
    CHECK_INT(ask_model(&w, anthropic, "{\"role\":\"user\",\"content\":\"full\"}"), PAWL_TRANSIENT);
    CHECK(strncmp(text_of(&w), "API error: 529", 14) == 0);
    CHECK_INT(ask_model(&w, anthropic, "{\"role\":\"user\",\"content\":\"torn\"}"), PAWL_TRANSIENT);
    CHECK_INT(ask_model(&w, anthropic, "{\"role\":\"user\",\"content\":\"think\"}"), PAWL_OK);
    CHECK_STR(said(&w.h, "/message/content/0/thinking"), "six times seven");
    CHECK_STR(said(&w.h, "/message/content/1/text"), "42");
    world_close(&w);
}

PAWL_TEST(test_a_loop_of_tools_by_anthropics_api) { tool_loop(true); }
PAWL_TEST(test_a_loop_of_tools_by_openais_api) { tool_loop(false); }
PAWL_TEST(test_E7_a_limit_that_passes_by_anthropics_api) { limited(true); }
PAWL_TEST(test_E7_a_limit_that_passes_by_openais_api) { limited(false); }
PAWL_TEST(test_what_breaks_and_thoughts_by_anthropics_api) { broken(true); }
PAWL_TEST(test_what_breaks_and_thoughts_by_openais_api) { broken(false); }

int main(int argc, char **argv)
{
    int rc;

    unsetenv("http_proxy");
    unsetenv("all_proxy");
    start();
    rc = check_main(argc, argv);
    stop();
    return rc;
}
