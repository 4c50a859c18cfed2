/* command_stop_test.c - programs that are stopped, that leave something behind, and many at once. */
#include "effect/acts.h"
#include "lib/heap.h"

#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- stopping ------------------------------------------------------------------------------------------------ */

typedef struct stage {
    char path[128];             /* of a FIFO that every actor holds open for writing */
    int fd;
    unsigned ready, wanted;     /* actors that said so */
    unsigned beats;
} stage;

static void stage_open(stage *s, hand *h, unsigned wanted)
{
    int first;

    *s = (stage){ .wanted = wanted };
    snprintf(s->path, sizeof s->path, "%s/stage", folder);
    unlink(s->path);
    CHECK_INT(mkfifo(s->path, 0600), 0);
    s->fd = open(s->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    first = open(s->path, O_WRONLY | O_CLOEXEC);
    CHECK(s->fd >= 0 && first >= 0);
    close(first);               /* from now on it is empty whenever nobody holds it, even if nobody ever came */
    h->job.ctx = s;
}

static bool all_ready(const pawl_job *job)
{
    stage *s = job->ctx;
    char c;

    while (s->ready < s->wanted && read(s->fd, &c, 1) == 1)
        s->ready++;
    return s->ready >= s->wanted;
}

/* Nobody holds the other end, so nobody is left. The wait is only for the dead to be buried. */
static void stage_empty(stage *s)
{
    struct pollfd p = { .fd = s->fd, .events = POLLIN };
    char c;

    do
        CHECK_INT(poll(&p, 1, 20000), 1);
    while (read(s->fd, &c, 1) == 1);
    CHECK_INT(read(s->fd, &c, 1), 0);
    close(s->fd);
    unlink(s->path);
}

static char *on_stage(hand *h, const char *name, const stage *s, const char *rest)
{
    char more[256];

    snprintf(more, sizeof more, ",\"%s\"]%s}", s->path, rest);
    return act(h, name, more);
}

PAWL_TEST(test_E10_cancel_ends_a_program_and_its_children_though_they_ignore_sigterm)
{
    stage s;
    hand h;

    hand_init(&h);
    stage_open(&s, &h, 2);
    h.job.canceled = all_ready;
    CHECK_INT(hand_over(&h, pawl_effect_command, on_stage(&h, "stubborn", &s, "")), PAWL_CANCELED);
    CHECK_INT(s.ready, 2);
    CHECK(strstr(reply_why(&h.reply), ": canceled, and stopped") != NULL);
    stage_empty(&s);
    CHECK(no_children());
    hand_free(&h);
}

PAWL_TEST(test_E8_a_timeout_ends_a_program_and_its_children_though_they_ignore_sigterm)
{
    stage s;
    hand h;

    hand_init(&h);
    stage_open(&s, &h, 2);
    CHECK_INT(hand_over(&h, pawl_effect_command, on_stage(&h, "stubborn", &s, ",\"timeout_ms\":300")), PAWL_TIMEOUT);
    CHECK(strstr(reply_why(&h.reply), ": not done within its timeout_ms, and stopped") != NULL);
    stage_empty(&s);
    CHECK(no_children());
    hand_free(&h);
}

PAWL_TEST(test_E8_the_time_of_an_attempt_ends_a_program)
{
    hand h;

    hand_init(&h);
    h.job.deadline_ms = 1;      /* long ago */
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"sleep\",\"1000\"],\"timeout_ms\":1000000}"), PAWL_TIMEOUT);
    CHECK_STR(reply_why(&h.reply), "sleep: not done within the time of this attempt, and stopped");
    hand_free(&h);
}

static void tidies_up(const char *act)
{
    stage s;
    hand h;

    hand_init(&h);
    stage_open(&s, &h, 1);
    h.job.canceled = all_ready;
    CHECK_INT(hand_over(&h, pawl_effect_command, on_stage(&h, act, &s, "")), PAWL_CANCELED);
    CHECK_BYTES(h.reply.detail.data, h.reply.detail.size, "tidied\n", 7);
    stage_empty(&s);
    hand_free(&h);
}

PAWL_TEST(test_E10_a_program_that_obeys_sigterm_may_tidy_up) { tidies_up("tidy"); }
PAWL_TEST(test_a_halted_program_may_tidy_up_too) { tidies_up("halt"); }

PAWL_TEST(test_E14_cancel_is_heard_through_its_descriptor)
{
    int fd[2];
    hand h;

    hand_init(&h);
    CHECK_INT(pipe(fd), 0);
    CHECK_INT(write(fd[1], "x", 1), 1);
    h.job.cancel_fd = fd[0];
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"sleep\",\"1000\"]}"), PAWL_CANCELED);
    close(fd[0]);
    close(fd[1]);
    hand_free(&h);
}

static bool always(const pawl_job *job)
{
    (void)job;
    return true;
}

PAWL_TEST(test_E10_what_is_canceled_before_it_begins_is_not_run)
{
    char args[256];
    hand h;

    hand_init(&h);
    h.job.canceled = always;
    snprintf(args, sizeof args, "{\"run\":[\"touch\",\"%s/begun\"]}", folder);
    CHECK_INT(hand_over(&h, pawl_effect_command, args), PAWL_CANCELED);
    CHECK(h.reply.untouched);
    snprintf(args, sizeof args, "%s/begun", folder);
    CHECK_INT(access(args, F_OK), -1);
    hand_free(&h);
}

PAWL_TEST(test_what_a_program_leaves_behind_is_ended)
{
    stage s;
    hand h;

    hand_init(&h);
    stage_open(&s, &h, 1);
    CHECK_INT(hand_over(&h, pawl_effect_command, on_stage(&h, "leave", &s, "")), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "left\n");
    stage_empty(&s);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"sh\",\"-c\",\"echo begun; sleep 1000 & exit 5\"]}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "begun\n");
    CHECK_INT(number(&h, "/status"), 5);
    hand_free(&h);
}

PAWL_TEST(test_a_program_that_closes_its_output_is_waited_for)
{
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"sh\",\"-c\",\"echo a; exec >&- 2>&-; sleep 0.1; exit 6\"]}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "a\n");
    CHECK_INT(number(&h, "/status"), 6);
    hand_free(&h);
}

PAWL_TEST(test_an_endless_writer_is_stopped)
{
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"yes\"],\"timeout_ms\":100,\"output_bytes\":10}"), PAWL_TIMEOUT);
    hand_free(&h);
}

static void beat(const pawl_job *job)
{
    stage *s = job->ctx;

    s->beats++;
}

PAWL_TEST(test_E8_output_is_a_heartbeat)
{
    stage s = {0};
    hand h;

    hand_init(&h);
    h.job.ctx = &s;
    h.job.heartbeat = beat;
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"true\"]}"), PAWL_OK);
    CHECK_INT(s.beats, 0);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"echo\",\"x\"]}"), PAWL_OK);
    CHECK_INT(s.beats, 1);
    hand_free(&h);
}

/* ---- many, and none left ---------------------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 25 };

static void *many(void *arg)
{
    intptr_t me = (intptr_t)arg, wrong = 0;

    for (int i = 0; i < ROUNDS; i++) {
        char args[160], expected[64];
        hand h;

        hand_init(&h);
        snprintf(expected, sizeof expected, "thread %d round %d", (int)me, i);
        snprintf(args, sizeof args, "{\"run\":[\"sh\",\"-c\",\"cat; exit %d\"],\"stdin\":\"%s\"}", i, expected);
        if (hand_over(&h, pawl_effect_command, args) != PAWL_OK || number(&h, "/status") != i ||
            said(&h, "/stdout") == NULL || strcmp(said(&h, "/stdout"), expected) != 0)
            wrong++;
        hand_free(&h);
    }
    return (void *)wrong;
}

PAWL_TEST(test_many_threads_run_programs_at_once)
{
    int before = open_fds();
    pthread_t threads[THREADS];
    intptr_t wrong = 0;

    CHECK(before > 0);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, many, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *one;

        pthread_join(threads[i], &one);
        wrong += (intptr_t)one;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(open_fds(), before);
    CHECK(no_children());
}

PAWL_TEST(test_no_descriptor_and_no_child_is_left_whatever_the_end)
{
    static const char *const all[] = {
        "{\"run\":[\"echo\",\"x\"],\"stdin\":\"y\"}", "{\"run\":[\"no-such-program-here\"],\"stdin\":\"y\"}",
        "{\"run\":[\"sh\",\"-c\",\"sleep 1000\"],\"timeout_ms\":1}", "{\"run\":[\"false\"],\"check\":true}", "{\"run\":[1]}",
        "{\"run\":[\"true\"],\"cwd\":\"/nowhere\"}",
    };
    int before = open_fds();
    sigset_t blocked;
    hand h;

    hand_init(&h);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hand_over(&h, pawl_effect_command, all[i]);
    CHECK_INT(open_fds(), before);
    CHECK(no_children());
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    CHECK_INT(sigismember(&blocked, SIGPIPE), 0);
    hand_free(&h);
}

PAWL_TEST(test_a_process_without_descriptors_left_is_worth_another_try)
{
    struct rlimit before, few;
    int fds[64], n = 0;
    pawl_code rc;
    hand h;

    hand_init(&h);
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 64;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (n < 64 && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    rc = hand_over(&h, pawl_effect_command, "{\"run\":[\"true\"]}");
    while (n > 0)
        close(fds[--n]);
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK_INT(rc, PAWL_TRANSIENT);
    CHECK(h.reply.untouched);
    hand_free(&h);
}

PAWL_TEST(test_memory_may_end_at_any_call)
{
    heap mem;
    bool through = false;

    heap_init(&mem);
    for (size_t n = 0; !through; n++) {
        pawl_alloc alloc = heap_alloc(&mem);
        hand h;

        hand_init(&h);
        reply_free(&h.reply);
        reply_init(&h.reply, &alloc);
        heap_fail_at(&mem, n);
        hand_over(&h, pawl_effect_command, "{\"run\":[\"sh\",\"-c\",\"echo out; echo err >&2\"],\"stdin\":[1],\"env\":{\"A\":\"b\"}}");
        CHECK(mem.fired ? h.rc == PAWL_NOMEM : h.rc == PAWL_OK);
        through = !mem.fired;
        heap_fail_never(&mem);
        hand_free(&h);
        heap_check(&mem);
    }
}

int main(int argc, char **argv)
{
    return acts_main(argc, argv);
}
