/* frame_test.c - the program over a store that others work on, and stores for the scripts of test/e2e.
 *
 *     frame_test --make FOLDER       makes FOLDER/pawl.db, with runs that ended, wait, failed and are parked */
#include "cli/verbs.h"
#include "lib/check.h"

#include "engine/run/owner.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- machines --------------------------------------------------------------------------------------- */

static pawl_code draft(pawl_step *s, void *arg)
{
    const pawl_value *text;
    pawl_code rc = pawl_call(s, "llm", pawl_get(s, "request"), &text);

    (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "draft", text);
    return rc;
}

static pawl_code publish(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_string(s, "published", "yes");
    return PAWL_OK;
}

/* The prompt has what a terminal would take as an order. */
static pawl_code choose(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_question q = { .slot = "colour of it", .asked_of = "anna", .prompt = pawl_pack(s, "s", "Which \x1b[31mcolour?"),
                        .options = pawl_pack(s, "[s,s]", "red", "blue"), .otherwise = pawl_pack(s, "s", "red"), .timeout_ms = 7200000 };
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "colour", answer);
    return rc;
}

static pawl_code listen(pawl_step *s, void *arg)
{
    const pawl_value *value;

    (void)arg;
    return pawl_await_signal(s, "bell", &value);
}

static pawl_code give_up(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_fail(s, PAWL_EFFECT, "no such luck");
}

static pawl_machine *essay(void)
{
    pawl_graph *g = pawl_graph_new("essay", 1);

    pawl_graph_channel(g, "request", PAWL_RULE_LAST);
    pawl_graph_channel(g, "draft", PAWL_RULE_LAST);
    pawl_graph_channel(g, "published", PAWL_RULE_LAST);
    pawl_graph_node(g, "draft", draft, NULL);
    pawl_graph_node(g, "publish", publish, NULL);
    pawl_graph_chain(g, PAWL_START, "draft", "publish", PAWL_END, NULL);
    pawl_graph_gate(g, "publish", "publish it?");
    return pawl_graph_compile(g, NULL);
}

static pawl_machine *single(const char *name, pawl_node_fn *fn, pawl_node_fn *other)
{
    pawl_graph *g = pawl_graph_new(name, 1);

    pawl_graph_channel(g, "colour", PAWL_RULE_LAST);
    pawl_graph_node(g, "first", fn, NULL);
    pawl_graph_edge(g, PAWL_START, "first");
    pawl_graph_edge(g, "first", PAWL_END);
    if (other != NULL) {
        pawl_graph_node(g, "second", other, NULL);
        pawl_graph_edge(g, PAWL_START, "second");
        pawl_graph_edge(g, "second", PAWL_END);
    }
    return pawl_graph_compile(g, NULL);
}

static pawl_code echo(const pawl_job *job, pawl_reply *reply, void *arg)
{
    buf text;

    (void)arg;
    buf_init(&text, NULL);
    canon(&text, job->args);
    buf_char(&text, '\0');
    pawl_reply_json(reply, text.data);
    buf_free(&text);
    return PAWL_OK;
}

/* ---- a store --------------------------------------------------------------------------------------------- */

static char folder[200], store_path[232];

static pawl_store *store_open(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(store_path, &(pawl_sqlite){ .normal = true }, &err);

    if (s == NULL)
        CHECK_FAIL("%s", err.text);
    return s;
}

/* `answer` NULL: it is left where it waits. */
static pawl_code run_it(pawl_machine *m, const char *run, const char *context, const char *input, const char *answer)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(m, store_open(), &err);
    pawl_run_info info = { .id = run, .context = context };
    pawl_code rc;

    CHECK(e != NULL);
    if (pawl_machine_effect(pawl_engine_machine(e), "llm", NULL) || strcmp(pawl_machine_name(pawl_engine_machine(e)), "essay") == 0)
        CHECK_INT(pawl_engine_effect(e, "llm", echo, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    rc = pawl_run_with(e, &info, input, &err);
    if (rc == PAWL_INTERRUPTED && answer != NULL)
        rc = pawl_answer(e, run, NULL, answer, &err);
    pawl_engine_free(e);
    if (rc < 0)
        CHECK_FAIL("%s: %s", run, err.text);
    return rc;
}

static void fork_it(const char *run, uint64_t seq, const char *fork)
{
    const pawl_event change = { .kind = PAWL_EV_UPDATE, .value = "{\"request\":\"rain\"}", .by = "test" };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(essay(), store_open(), &err);

    CHECK_INT(pawl_engine_effect(e, "llm", echo, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    if (pawl_run_fork_with(e, run, seq, fork, &change, &err) != PAWL_OK)
        CHECK_FAIL("%s: %s", fork, err.text);
    if (pawl_run(e, fork, NULL, &err) < 0)
        CHECK_FAIL("%s: %s", fork, err.text);
    pawl_engine_free(e);
}

static uint64_t claim_as(pawl_store *s, const char *run, const char *owner)
{
    pawl_claim c = { .run = run };

    CHECK_INT(s->verbs->claim(s, owner, 60000, &c, 1, NULL), PAWL_OK);
    CHECK_INT(c.rc, PAWL_OK);
    return c.head.fence;
}

static void park_it(const char *run)
{
    pawl_store *s = store_open();
    pawl_head head;
    pawl_append a = { .run = run, .fence = claim_as(s, run, "test"), .moves = true, .parked = "no machine \"choice\" 2", .release = true };

    CHECK_INT(s->verbs->head(s, run, &head, NULL), PAWL_OK);
    a.seq = head.seq;
    a.status = head.status;
    CHECK_INT(s->verbs->append(s, &a, 1, NULL), PAWL_OK);
    CHECK_INT(a.rc, PAWL_OK);
    pawl_store_free(s);
}

static void store_make(const char *where)
{
    snprintf(store_path, sizeof store_path, "%s/pawl.db", where);
    run_it(essay(), "done-1", "kitchen", "{\"request\":\"sky\"}", "true");
    run_it(essay(), "done-2", "kitchen", "{\"request\":\"sea\"}", "true");
    run_it(essay(), "gate-1", NULL, "{\"request\":\"sky\"}", NULL);
    run_it(single("choice", choose, NULL), "asks-1", NULL, NULL, NULL);
    run_it(single("choice", choose, listen), "both-1", NULL, NULL, NULL);
    run_it(single("luck", give_up, NULL), "fail-1", NULL, NULL, NULL);
    run_it(essay(), "no-1", NULL, "{\"request\":\"sky\"}", "false");
    run_it(single("choice", choose, NULL), "parked-1", NULL, NULL, NULL);
    park_it("parked-1");
    fork_it("done-1", 2, "fork-1");
}

/* ---- the program ------------------------------------------------------------------------------------------- */

static char said[2][65536];     /* stdout, stderr of the last call */
static bool as_nobody;

static void slurp(int which)
{
    char path[300];
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "%s.%d", store_path, which);
    f = fopen(path, "rb");
    n = f == NULL ? 0 : fread(said[which - 1], 1, sizeof said[0] - 1, f);
    said[which - 1][n] = '\0';
    if (f != NULL)
        fclose(f);
    remove(path);
}

static void child(const char *const *args)
{
    union { const char *const *in; char **out; } argv = { args };
    char path[300];

    for (int fd = 1; fd <= 2; fd++) {
        int to;

        snprintf(path, sizeof path, "%s.%d", store_path, fd);
        to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (to < 0 || dup2(to, fd) < 0)
            _exit(99);
    }
    if (chdir(folder) != 0 || unsetenv("PAWL_STORE") != 0)
        _exit(98);
    if (as_nobody && (chmod(folder, 0555) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
        _exit(97);
    execv(PAWL_PROGRAM, argv.out);
    _exit(96);
}

static int pawl_with(const char *const *args)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        child(args);
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    slurp(1);
    slurp(2);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
#define PAWL(...) pawl_with((const char *const[]){ "pawl", __VA_ARGS__, NULL })

static void folder_begin(void)
{
    const char *temp = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%.150s/pawl-frame-XXXXXX", temp != NULL ? temp : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(store_path, sizeof store_path, "%s/pawl.db", folder);
}

static void folder_end(void)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock", ".1", ".2" };
    char path[300];

    chmod(folder, 0755);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(path, sizeof path, "%s%s", store_path, ends[i]);
        remove(path);
    }
    CHECK_INT(rmdir(folder), 0);
}

static bool has(int which, const char *part)
{
    return strstr(said[which - 1], part) != NULL;
}
#define SAYS(which, part) (has((which), (part)) ? (void)0 : CHECK_FAIL("\"%s\" is not in: %s", (part), said[(which) - 1]))

/* ---- others work on it ---------------------------------------------------------------------------------------- */

PAWL_TEST(what_is_held_stays)
{
    char owner[OWNER_BYTES], dead[OWNER_BYTES + 32], *number, *behind;
    pawl_store *s;
    pawl_head head;
    pid_t pid;

    folder_begin();
    run_it(essay(), "done-1", NULL, "{\"request\":\"sky\"}", "true");
    s = store_open();
    owner_name(owner, sizeof owner, 1);
    claim_as(s, "done-1", owner);
    CHECK_INT(PAWL("rm", "done-1"), EXIT_HELD);
    SAYS(2, owner);
    CHECK_INT(PAWL("prune", "done-1"), EXIT_HELD);
    CHECK_INT(PAWL("prune", "--older-than", "0s", "--json"), EXIT_DONE);
    SAYS(1, "\"kept\":1,\"removed\":0}");
    CHECK_INT(PAWL("ls"), EXIT_DONE);
    SAYS(1, "held by ");
    CHECK_INT(s->verbs->head(s, "done-1", &head, NULL), PAWL_OK);
    hold_drop(s, "done-1", head.fence);

    /* whoever has it died: nobody waits for his lease */
    if ((pid = fork()) == 0)
        _exit(0);
    CHECK(waitpid(pid, NULL, 0) == pid);
    number = strchr(owner, ':');
    CHECK(number != NULL);
    CHECK((behind = strchr(number + 1, ':')) != NULL);
    snprintf(dead, sizeof dead, "%.*s:%ld%s", (int)(number - owner), owner, (long)pid, behind);
    claim_as(s, "done-1", dead);
    pawl_store_free(s);
    CHECK_INT(PAWL("rm", "done-1"), EXIT_DONE);
    CHECK_INT(PAWL("export", "done-1"), EXIT_USAGE);
    folder_end();
}

PAWL_TEST(who_looks_waits_for_nobody)
{
    static const char *const looks[][4] = { { "pawl", "ls", NULL }, { "pawl", "inbox", NULL }, { "pawl", "export", "@", NULL },
                                            { "pawl", "diff", "done-1", "gate-1" } };
    sqlite3 *db = NULL;
    char lock[300];
    struct timespec from, to;
    int fd;

    folder_begin();
    run_it(essay(), "done-1", NULL, "{\"request\":\"sky\"}", "true");
    run_it(essay(), "gate-1", NULL, "{\"request\":\"sky\"}", NULL);
    snprintf(lock, sizeof lock, "%s-lock", store_path);
    CHECK((fd = open(lock, O_RDWR)) >= 0);
    CHECK_INT(sqlite3_open(store_path, &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE; UPDATE heads SET mail=mail", NULL, NULL, NULL), SQLITE_OK);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        const char *args[5] = { NULL };

        memcpy(args, looks[i], sizeof looks[i]);
        CHECK_INT(pawl_with(args), i == 3 ? EXIT_FAILED : EXIT_DONE);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    CHECK(to.tv_sec - from.tv_sec < 5);         /* a writer would have waited for 5 s */
    CHECK_INT(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    close(fd);
    folder_end();
}

/* A folder in which nothing can be made: as far as SQLite reads there, and else it is said. */
PAWL_TEST(a_folder_may_be_read_only)
{
    char wal[300];
    pawl_store *s;

    if (getuid() != 0)
        check_skip("only root can become a user who may not write here");
    if (access(PAWL_PROGRAM, X_OK) != 0)
        check_skip("no program");
    folder_begin();
    run_it(essay(), "done-1", NULL, "{\"request\":\"sky\"}", "true");
    snprintf(wal, sizeof wal, "%s-wal", store_path);
    CHECK(access(wal, F_OK) != 0);              /* nobody uses it */
    CHECK_INT(chmod(store_path, 0644), 0);      /* its owner alone could read it */
    as_nobody = true;
    if (PAWL("version") != EXIT_DONE) {
        as_nobody = false;
        folder_end();
        check_skip("another user cannot run the program where it lies");
    }
    CHECK_INT(PAWL("ls"), EXIT_STORE);
    SAYS(2, "pawl.db is in a folder that cannot be written");
    s = store_open();
    CHECK_INT(PAWL("ls"), EXIT_DONE);           /* what SQLite needs beside the file is there now */
    SAYS(1, "completed");
    CHECK_INT(PAWL("export", "@"), EXIT_DONE);
    CHECK_INT(PAWL("rm", "done-1"), EXIT_STORE);
    SAYS(2, "writable");
    pawl_store_free(s);
    as_nobody = false;
    folder_end();
}

PAWL_TEST(large_values_outlast_their_journal)
{
    char *input = malloc(200000);
    pawl_verdict v;
    pawl_store *s;
    pawl_state *st = NULL;
    pawl_machine *m = essay();
    pawl_err err = { PAWL_OK, "" };

    CHECK(input != NULL);
    memset(input, 'x', 199999);
    memcpy(input, "{\"request\":\"", 12);
    memcpy(input + 199997, "\"}", 3);
    folder_begin();
    run_it(essay(), "gate-1", NULL, input, NULL);
    CHECK_INT(PAWL("prune", "gate-1", "--yes", "--at", "1"), EXIT_DONE);
    CHECK_INT(PAWL("prune", "gate-1", "--yes"), EXIT_DONE);
    SAYS(2, "begins at entry");
    run_it(essay(), "gate-1", NULL, NULL, "true");      /* it goes on */
    s = store_open();
    if (pawl_history_verify(s, m, "gate-1", &v, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    CHECK_INT(pawl_history_state(s, "gate-1", 0, &st, &err), PAWL_OK);
    CHECK_INT(pawl_value_size(pawl_state_get(st, "draft")), 199985);
    CHECK_INT(pawl_state_status(st), PAWL_STATUS_COMPLETED);
    pawl_state_free(st);
    CHECK_INT(pawl_history_state(s, "gate-1", 1, &st, &err), PAWL_GONE);
    pawl_store_free(s);
    pawl_machine_free(m);
    free(input);
    folder_end();
}

/* Whoever owns the file says what its runs execute. */
PAWL_TEST(a_stranger_is_not_followed)
{
    if (getuid() != 0)
        check_skip("only root can give a file to another user");
    folder_begin();
    run_it(essay(), "done-1", NULL, "{\"request\":\"sky\"}", "true");
    CHECK_INT(chown(store_path, 65534, 65534), 0);
    CHECK_INT(PAWL("ls"), EXIT_USAGE);
    SAYS(2, "belongs to another user");
    CHECK_INT(PAWL("ls", "--store", "sqlite:pawl.db"), EXIT_DONE);
    folder_end();
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--make") == 0) {
        store_make(argv[2]);
        return 0;
    }
    return check_main(argc, argv);
}
