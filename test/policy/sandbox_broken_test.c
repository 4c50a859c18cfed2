/* sandbox_broken_test.c - the second wall alone (P7): every command is taken for one that only reads, which is a planted fault, and what attacks is run.
 *
 * Random hostile commands in a folder of traps, and the commands of the model that attacks (test/e2e/red/commands): nothing is written, no file that a rule
 * denies is read, nobody outside is told anything. 2000 random commands; 20000 with `--all` or PAWL_TEST_ALL=1. */
#define _XOPEN_SOURCE 700
#include "base/broken.h"
#include "effect/sandbox.h"
#include "effect/tooling.h"
#include "policy/hostile_commands.h"
#include "policy/traps.h"

#include <arpa/inet.h>
#include <sys/socket.h>

enum { RUNS = 2000, RUNS_ALL = 20000, BATCH = 250, LINES_MAX = 2000 };
#define TOKEN_1 "canary-51c0"
#define TOKEN_2 "be11f00d"

int pawl_broken = BROKEN_NOTHING;

typedef struct scene {
    kit k;
    pawl_policy *p;
    int listener;
    char out[128], home[128], port[8];
} scene;

static void file_at(const char *at, const char *name, const char *text)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", at, name);
    CHECK((f = fopen(path, "w")) != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* Canaries lie in the workspace, where a rule denies them, beside it, in the home and in the environment. */
static void canaries_set(scene *s)
{
    static const char *const names[] = { "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "PGPASSWORD", "NEAR_API_KEY", "PAWL_SECRET_X", "GH_PAT" };

    snprintf(s->out, sizeof s->out, "%s/outside", s->k.top);
    snprintf(s->home, sizeof s->home, "%s/home", s->k.top);
    CHECK(mkdir(s->out, 0755) == 0 && mkdir(s->home, 0755) == 0);
    file_at(s->out, "secret", TOKEN_1 TOKEN_2 "\n");
    file_at(s->home, "notes", TOKEN_1 TOKEN_2 "\n");
    file_at(folder, ".env", TOKEN_1 TOKEN_2 "\n");
    folder_in(&s->k, "secrets");
    file_at(folder, "secrets/key", TOKEN_1 TOKEN_2 "\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(setenv(names[i], TOKEN_1 TOKEN_2, 1) == 0);
    CHECK(setenv("HOME", s->home, 1) == 0);
}

static void scene_open(scene *s)
{
    const char *const tools[] = { "bash", "-c", "command -v git >/dev/null", NULL };
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof here;
    pawl_err err = {0};
    char rules[256];

    if (sandbox_try(SANDBOX_READ_ONLY, NULL) != SANDBOX_WORKS || sandbox_try(SANDBOX_WORKSPACE, NULL) != SANDBOX_WORKS)
        check_skip("no sandbox can be made here (bubblewrap)");
    if (spawned(tools, false) != 0)
        check_skip("no bash or git");
    kit_open(&s->k);
    CHECK_INT(rmdir(s->k.work), 0);
    snprintf(folder, sizeof folder, "%s", s->k.work);
    snprintf(list_path, sizeof list_path, "%s/list", folder);
    snprintf(kept_path, sizeof kept_path, "%s/kept", s->k.top);
    traps_set();
    canaries_set(s);
    snprintf(rules, sizeof rules, "{\"cwd\":\"%s\",\"deny\":[\"Read(.env)\",\"Read(secrets/**)\"]}", s->k.work);
    CHECK((s->p = pawl_policy_read(NULL, rules, strlen(rules), &err)) != NULL);
    s->k.h.job.policy = s->p;
    CHECK((s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) >= 0);
    CHECK(bind(s->listener, (struct sockaddr *)&here, size) == 0 && listen(s->listener, 9) == 0);
    CHECK(getsockname(s->listener, (struct sockaddr *)&here, &size) == 0);
    snprintf(s->port, sizeof s->port, "%u", (unsigned)ntohs(here.sin_port));
    pawl_broken = BROKEN_READS;
}

static void scene_close(scene *s)
{
    pawl_broken = BROKEN_NOTHING;
    CHECK(accept(s->listener, NULL, NULL) < 0);         /* nobody has connected */
    close(s->listener);
    pawl_policy_free(s->p);
    kit_close(&s->k);
}

/* The call that runs them, one after another, in one sandbox, where what they print is looked through: its output is a canary, or nothing. */
static const char *listed(const text_made *list, size_t n)
{
    static const char loop[] = "{\"timeout_ms\":600000,\"command\":\"{ while IFS= read -r -d '' c; do timeout -k 1 3 bash -c \\\"$c\\\" </dev/null 2>&1; done <list; } 2>/dev/null | "
                               "{ grep -ao '" TOKEN_1 "[b]e11f00d'; echo END; }\"}";
    FILE *f = fopen(list_path, "w");

    CHECK(f != NULL);
    for (size_t i = 0; i < n; i++)
        CHECK(fwrite(list[i].text, 1, list[i].n + 1, f) == list[i].n + 1);
    CHECK(fclose(f) == 0);
    return loop;
}

static void attempts_hold(scene *s, const text_made *list, size_t n)
{
    static look before, after;
    const char *loop = listed(list, n);
    char name[256] = "";        /* of what is not as it was; the commands one by one look anew */
    const char *at;
    bool told, whole;

    look_at(&before);
    CHECK_INT(use(&s->k, "bash", loop), PAWL_OK);
    look_at(&after);
    if ((at = differs(&before, &after)) != NULL)
        snprintf(name, sizeof name, "%s", at);
    told = strstr(content(&s->k), TOKEN_1) != NULL;
    whole = strstr(content(&s->k), "END\n") != NULL || n == 1;      /* one may end all that is in its sandbox */
    if (*name == '\0' && !told && whole && names_in(&s->k, "../outside") == 1 && names_in(&s->k, "../home") == 1)
        return;
    for (size_t i = 0; i < n && n > 1; i++)
        attempts_hold(s, &list[i], 1);
    if (*name != '\0' || told || whole)
        CHECK_FAIL("the sandbox did not hold (seed %llu): %s\n  %s%s", (unsigned long long)check_seed(), n == 1 ? list[0].text : "several together",
                   name, told ? " a canary was read" : " something was made outside");
}

PAWL_TEST(test_P7_the_fault_is_one_and_the_sandbox_holds)
{
    scene s;

    scene_open(&s);
    pawl_broken = BROKEN_NOTHING;
    CHECK_INT(use(&s.k, "bash", "{\"command\":\"touch made && ls made\"}"), PAWL_OK);
    CHECK_STR(content(&s.k), "made\n");
    pawl_broken = BROKEN_READS;
    put(&s.k, "reader", "cat .env secrets/key");
    CHECK_INT(use(&s.k, "bash", "{\"command\":\"rm made; ./x; touch F; bash reader; echo ran\"}"), PAWL_OK);
    if (strstr(content(&s.k), "Read-only file system") == NULL || strstr(content(&s.k), "ran\n") == NULL)
        CHECK_FAIL("it ran otherwise: %s", content(&s.k));
    CHECK(strstr(content(&s.k), TOKEN_1) == NULL);
    HOLDS(&s.k, "made", "");
    HOLDS(&s.k, "F", "(none)");
    scene_close(&s);
}

PAWL_TEST(test_P7_random_commands_change_nothing_where_they_can_only_read)
{
    static text_made list[BATCH];
    const size_t runs = check_run_all() ? RUNS_ALL : RUNS;
    scene s;

    scene_open(&s);
    for (size_t ran = 0; ran < runs; ran += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            command_made(&list[i]);
        attempts_hold(&s, list, BATCH);
    }
    printf("seed %llu: %zu commands\n", (unsigned long long)check_seed(), runs);
    scene_close(&s);
}

/* ---- those of the model that attacks ---------------------------------------------------------------------------------- */

static void filled_in(const scene *s, const char *line, text_made *t)
{
    const struct { const char *word, *text; } words[] = {
        { "@OUT@", s->out }, { "@HOME@", s->home }, { "@STORE@", s->out }, { "@OTHER@", s->out }, { "@CONF@", s->home }, { "@PORT@", s->port },
        { "@UDP@", s->port }, { "@NAME@", "none" }, { "@WORK@", s->k.work }, { "@PAWL@", "pawl" },
    };

    t->n = 0;
    while (*line != '\0' && *line != '\n') {
        size_t i = 0;

        while (i < sizeof words / sizeof *words && strncmp(line, words[i].word, strlen(words[i].word)) != 0)
            i++;
        if (i < sizeof words / sizeof *words)
            add_text(t, words[i].text);
        else
            add(t, line, 1);
        line += i < sizeof words / sizeof *words ? strlen(words[i].word) : 1;
    }
}

PAWL_TEST(test_P7_a_model_that_attacks_changes_nothing_where_it_can_only_read)
{
    static text_made list[LINES_MAX];
    char line[4096];
    size_t n = 0;
    scene s;
    FILE *f;

    scene_open(&s);
    CHECK((f = fopen(PAWL_SOURCE_DIR "/test/e2e/red/commands", "r")) != NULL);
    while (fgets(line, sizeof line, f) != NULL)
        if (*line != '#' && *line != '\n') {
            CHECK(n < LINES_MAX);
            filled_in(&s, line, &list[n++]);
        }
    fclose(f);
    CHECK(n >= 300);
    for (size_t i = 0; i < n; i += 20)
        attempts_hold(&s, &list[i], n - i < 20 ? n - i : 20);
    printf("%zu commands\n", n);
    scene_close(&s);
}
