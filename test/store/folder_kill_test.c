/* folder_kill_test.c - the store of examples/store_folder.c in a process that is killed, again and again: what it was told is stored is there, and nothing
 * else; the next process goes on. */
#include "store/contract_inner.h"

#define main store_folder_main
#include "../../examples/store_folder.c"
#undef main

#include <time.h>

enum { KILLS = 12, LINE = 3000 };

static char path[200];

static const char *line_of(uint64_t seq)
{
    static char line[LINE + 200];
    const size_t n = (size_t)snprintf(line, sizeof line, "%064d [%llu,1000,\"tick\",\"working\",1] [\"", 7, (unsigned long long)seq);

    memset(line + n, (char)('a' + seq % 26), LINE);
    line[n + LINE] = '\0';
    return line;
}

/* Appends, and says each entry once it is stored, until it is killed. */
static void append_on(int fd)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_head h;
    folder f;
    pawl_store *s = folder_open(path, &f) ? pawl_store_simple(&folder_methods, &f, NULL, &err) : NULL;

    if (s == NULL || claim_one(s, "r", "me", LONG_MS, &h, &err) != PAWL_OK)
        _exit(1);
    for (uint64_t seq = h.seq + 1;; seq++) {
        pawl_bytes one = bytes(line_of(seq));
        pawl_append a = { .run = "r", .fence = h.fence, .seq = seq - 1, .lines = &one, .nlines = 1, .snapshot = seq % 5 == 0 ? one : (pawl_bytes){0} };

        if (s->verbs->append(s, &a, 1, &err) != PAWL_OK || a.rc != PAWL_OK || write(fd, &seq, sizeof seq) != sizeof seq)
            _exit(1);
    }
}

/* The last entry that it said. */
static uint64_t append_until_killed(void)
{
    const struct timespec some = { .tv_nsec = 1000000 + (long)check_rand_below(60000000) };
    uint64_t said = 0, seq;
    int fds[2], status = 0;
    pid_t child;

    CHECK_INT(pipe(fds), 0);
    fflush(NULL);
    if ((child = fork()) == 0)
        append_on(fds[1]);
    close(fds[1]);
    if (read(fds[0], &said, sizeof said) != sizeof said)        /* however busy the machine is: one at least */
        said = 0;
    nanosleep(&some, NULL);
    kill(child, SIGKILL);
    while (read(fds[0], &seq, sizeof seq) == sizeof seq)
        said = seq;
    close(fds[0]);
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    return said;
}

typedef struct last { uint64_t seq; bool good; } last;

static bool is_whole(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    last *l = ctx;
    const char *due = line_of(seq);

    if (kind != PAWL_LINE_ENTRY)
        return true;
    l->good = seq == l->seq + 1 && line.size == strlen(due) && memcmp(line.data, due, line.size) == 0;
    l->seq = seq;
    return l->good;
}

PAWL_TEST(test_K8_S3_a_process_that_is_killed_loses_nothing_that_was_stored)
{
    uint64_t stored = 0;
    pawl_store *s;
    folder f;

    CHECK(folder_open(path, &f));
    CHECK((s = pawl_store_simple(&folder_methods, &f, NULL, NULL)) != NULL);
    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), NULL, NULL), PAWL_OK);
    for (int i = 0; i < KILLS; i++) {
        const uint64_t said = append_until_killed();
        last l = { 0, true };
        pawl_err err = { PAWL_OK, "" };

        CHECK(said > stored);
        stored = said;
        CHECK_INT(s->verbs->read(s, "r", 0, 0, is_whole, &l, &err), PAWL_OK);
        CHECK(l.good);
        CHECK(l.seq == stored || l.seq == stored + 1);          /* it may have been killed before it could say so */
        stored = l.seq;
        if (s->verbs->check(s, &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
    }
    CHECK_INT(s->verbs->vacuum(s, NULL), PAWL_OK);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
    close(f.lock);
    close(f.dir);
}

int main(int argc, char **argv)
{
    const char *temp = getenv("TMPDIR");
    char command[250];
    int code;

    snprintf(path, sizeof path, "%.150s/pawl-folder-XXXXXX", temp != NULL ? temp : "/tmp");
    if (mkdtemp(path) == NULL)
        return 1;
    code = check_main(argc, argv);
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    return system(command) != 0 ? 1 : code;
}
