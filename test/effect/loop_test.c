/* loop_test.c - requests and processes that nobody waits for: one thread watches them all (E17). */
#include "effect/hand.h"
#include "effect/server.h"
#include "net/net.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>

/* ---- jobs that are answered later ---------------------------------------------------------------------- */

typedef struct late {
    hand h;
    atomic_bool canceled;
} late;

static bool is_canceled(const pawl_job *job)
{
    return atomic_load(&((late *)job->ctx)->canceled);
}

static void late_begin(late *l, pawl_handler_fn *fn, const char *args)
{
    hand_init(&l->h);
    atomic_store(&l->canceled, false);
    l->h.job.ctx = l;
    l->h.job.sql = &l->h;
    l->h.job.canceled = is_canceled;
    l->h.job.later = hand_later;
    l->h.job.finish = hand_finish;
    reply_reset(&l->h.reply);
    l->h.job.args = value_parse(&l->h.mem, args, strlen(args), "args", NULL);
    CHECK_INT(fn(&l->h.job, &l->h.reply, NULL), PAWL_PENDING);
    arena_free(&l->h.mem);      /* its arguments may go when the handler has returned */
    l->h.job.args = NULL;
}

static pawl_code late_end(late *l)
{
    while (sem_wait(&l->h.finished) != 0)
        continue;
    return l->h.late_rc;
}

static void late_cancel(late *l)
{
    atomic_store(&l->canceled, true);
    l->h.stop(l->h.stop_ctx, l->h.job.id);
}

static int threads_now(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = 0;

    for (struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;)
        n += d->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    return n;
}

/* ---- many at once ------------------------------------------------------------------------------------------ */

enum { MANY = 40 };

PAWL_TEST(test_E17_many_requests_are_open_on_one_thread)
{
    static late all[MANY];
    char args[128];
    server s;
    int before;

    server_start(&s);
    before = threads_now();
    snprintf(args, sizeof args, "{\"url\":\"http://127.0.0.1:%d/silent\"}", s.port);
    for (int i = 0; i < MANY; i++)
        late_begin(&all[i], pawl_effect_http, args);
    CHECK(threads_now() <= before + 1);
    for (int i = 0; i < MANY; i++)
        late_cancel(&all[i]);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(late_end(&all[i]), PAWL_CANCELED);
        hand_free(&all[i].h);
    }
    net_forget();
    server_stop(&s);
    CHECK_INT(threads_now(), before - 1);       /* the server's is gone, too */
}

PAWL_TEST(test_E17_many_programs_run_at_once_on_one_thread)
{
    static late all[MANY];
    int before = threads_now(), fds = open_fds();
    char args[128];

    for (int i = 0; i < MANY; i++) {
        snprintf(args, sizeof args, "{\"run\":[\"sh\",\"-c\",\"cat; exit %d\"],\"stdin\":\"number %d\"}", i, i);
        late_begin(&all[i], pawl_effect_command, args);
    }
    CHECK(threads_now() <= before + 1);
    for (int i = 0; i < MANY; i++) {
        char expected[64];

        CHECK_INT(late_end(&all[i]), PAWL_OK);
        snprintf(expected, sizeof expected, "{\"status\":%d,\"stdout\":\"number %d\",\"stderr\":\"\"}", i, i);
        CHECK_BYTES(all[i].h.reply.text.data, all[i].h.reply.text.size, expected, strlen(expected));
        hand_free(&all[i].h);
    }
    net_forget();
    CHECK_INT(threads_now(), before);
    CHECK_INT(open_fds(), fds);
    CHECK(no_children());
}

PAWL_TEST(test_E10_a_cancel_reaches_a_program_at_once)
{
    late l;

    late_begin(&l, pawl_effect_command, "{\"run\":[\"sleep\",\"1000\"]}");
    late_cancel(&l);
    CHECK_INT(late_end(&l), PAWL_CANCELED);
    hand_free(&l.h);
    CHECK(no_children());
}

PAWL_TEST(test_a_program_that_is_not_there_is_told_later_too)
{
    late l;

    late_begin(&l, pawl_effect_command, "{\"run\":[\"no-such-program-here\"]}");
    CHECK_INT(late_end(&l), PAWL_INVALID);
    CHECK(l.h.reply.untouched);
    CHECK_STR(reply_why(&l.h.reply), "no-such-program-here: there is no such program in PATH");
    hand_free(&l.h);
}

/* ---- never sent twice ----------------------------------------------------------------------------------------- */

static void get_both(const char *args)
{
    late a, b;

    late_begin(&a, pawl_effect_http, args);
    late_begin(&b, pawl_effect_http, args);
    CHECK_INT(late_end(&a), PAWL_OK);
    CHECK_INT(late_end(&b), PAWL_OK);
    hand_free(&a.h);
    hand_free(&b.h);
}

/* Several connections to one origin are kept. The request goes out on one of them, which the server closes without an answer: libcurl would send it
 * again on the next one, and open no new connection for that. */
PAWL_TEST(test_X1_a_request_is_not_sent_again_on_another_kept_connection)
{
    char ok[128], nothing[160];
    server s;
    late l;

    server_start(&s);
    snprintf(ok, sizeof ok, "{\"url\":\"http://127.0.0.1:%d/ok\"}", s.port);
    snprintf(nothing, sizeof nothing, "{\"method\":\"PUT\",\"url\":\"http://127.0.0.1:%d/nothing\"}", s.port);
    for (unsigned i = 0; i < 10; i++) {
        unsigned asked;

        get_both(ok);
        get_both(ok);
        asked = count_of(&s, &s.requests);
        late_begin(&l, pawl_effect_http, nothing);
        CHECK_INT(late_end(&l), PAWL_TRANSIENT);
        CHECK(strstr(reply_why(&l.h.reply), "its connection closed under the request, which may have arrived") != NULL);
        CHECK(!l.h.reply.untouched);
        hand_free(&l.h);
        CHECK_INT(count_of(&s, &s.requests), asked + 1);
    }
    net_forget();
    server_stop(&s);
}

/* A server that accepts, and closes at once. */
static void *closes(void *arg)
{
    const int *fd = arg;
    intptr_t n = 0;

    for (int one; (one = accept(*fd, NULL, NULL)) >= 0; n++) {
        char byte;

        if (recv(one, &byte, 1, MSG_PEEK) == 1 && byte == 'Q') {        /* the test's own: it is over */
            close(one);
            break;
        }
        close(one);
    }
    return (void *)n;
}

PAWL_TEST(test_X1_a_connection_that_closes_after_accept_is_tried_once)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0), quit = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;
    char args[128];
    void *n;
    late l;

    CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 8) == 0 && getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    CHECK_INT(pthread_create(&thread, NULL, closes, &fd), 0);
    snprintf(args, sizeof args, "{\"url\":\"http://127.0.0.1:%d/\",\"body\":\"once\"}", ntohs(at.sin_port));
    late_begin(&l, pawl_effect_http, args);
    CHECK_INT(late_end(&l), PAWL_TRANSIENT);
    hand_free(&l.h);
    CHECK(connect(quit, (struct sockaddr *)&at, sizeof at) == 0 && send(quit, "Q", 1, MSG_NOSIGNAL) == 1);
    pthread_join(thread, &n);
    CHECK_INT((intptr_t)n, 1);
    close(quit);
    close(fd);
    net_forget();
}

/* ---- the thread ---------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_a_child_has_a_loop_of_its_own)
{
    char args[128];
    int status = -1;
    server s;
    pid_t child;
    late l;

    hand_needs_fork();
    server_start(&s);
    snprintf(args, sizeof args, "{\"url\":\"http://127.0.0.1:%d/ok\"}", s.port);
    late_begin(&l, pawl_effect_http, args);
    CHECK_INT(late_end(&l), PAWL_OK);
    hand_free(&l.h);
    if ((child = fork()) == 0) {
        late own;

        late_begin(&own, pawl_effect_http, args);
        _exit(late_end(&own) == PAWL_OK ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    late_begin(&l, pawl_effect_http, args);
    CHECK_INT(late_end(&l), PAWL_OK);
    hand_free(&l.h);
    CHECK_INT(count_of(&s, &s.connections), 2);
    net_forget();
    server_stop(&s);
}

/* Killed, with a program at work: the program is killed with it (E18). */
PAWL_TEST(test_E18_a_program_dies_with_the_process_that_started_it)
{
    hand_needs_fork();
    for (int later = 0; later < 2; later++) {
        int status = -1, fd[2], n = 0;
        char byte;
        pid_t child;

        CHECK_INT(pipe(fd), 0);
        if ((child = fork()) == 0) {
            static late l;
            char args[160];

            close(fd[0]);
            fcntl(fd[1], F_SETFD, FD_CLOEXEC);
            snprintf(args, sizeof args, "{\"run\":[\"sh\",\"-c\",\"echo > /proc/%d/fd/%d; exec sleep 1000 > /proc/%d/fd/%d\"]}", (int)getpid(), fd[1],
                     (int)getpid(), fd[1]);
            if (later)
                late_begin(&l, pawl_effect_command, args);
            else
                (void)hand_init(&l.h), (void)hand_over(&l.h, pawl_effect_command, args);
            late_end(&l);
            _exit(1);
        }
        close(fd[1]);
        CHECK_INT(read(fd[0], &byte, 1), 1);        /* it works: */
        kill(child, SIGKILL);
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        while (read(fd[0], &byte, 1) > 0)           /* and holds the pipe open until it is dead */
            n++;
        CHECK_INT(n, 0);
        close(fd[0]);
    }
}
