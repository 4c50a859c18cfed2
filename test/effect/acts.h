/* acts.h - a test program that is also what it runs: `self ACT ...` when a command handler started it. */
#ifndef TEST_EFFECT_ACTS_H
#define TEST_EFFECT_ACTS_H

#include "effect/hand.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static char self[4096];         /* this program */
static char folder[] = "/tmp/pawl-command-XXXXXX";

/* `{"run":[self, act, ...rest` and what follows. */
static inline char *act(hand *h, const char *name, const char *rest)
{
    buf b;
    char *args;

    buf_init(&b, NULL);
    buf_text(&b, "{\"run\":[");
    canon_string(&b, self, strlen(self));
    buf_char(&b, ',');
    canon_string(&b, name, strlen(name));
    buf_text(&b, rest);
    args = arena_strdup(&h->mem, b.data, b.size);
    buf_free(&b);
    return args;
}

/* ---- the acts -------------------------------------------------------------------------------------- */

static int act_fds(void)
{
    const char *space = "";

    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0) {
            printf("%s%d", space, fd);
            space = " ";
        }
    printf("\n");
    return 0;
}

static int act_signals(void)
{
    struct sigaction a;
    sigset_t blocked;
    bool none = true;

    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int sig = 1; sig < 32; sig++)
        none = none && sigismember(&blocked, sig) != 1;
    sigaction(SIGPIPE, NULL, &a);
    printf("%s %s %s\n", none ? "unblocked" : "blocked", a.sa_handler == SIG_DFL ? "default" : "handled",
           getpgrp() == getpid() ? "leader" : "led");
    return 0;
}

static void ready(const char *path)
{
    int fd = open(path, O_WRONLY);

    if (fd < 0 || write(fd, "r", 1) != 1)
        _exit(99);
}

static _Noreturn void act_stubborn(const char *path)
{
    signal(SIGTERM, SIG_IGN);
    (void)!fork();
    ready(path);
    for (;;)
        pause();
}

static void tidy(int sig)
{
    (void)sig;
    _exit(write(2, "tidied\n", 7) == 7 ? 0 : 1);
}

static _Noreturn void act_tidy(const char *path, bool halted)
{
    signal(SIGTERM, tidy);
    ready(path);
    if (halted)
        raise(SIGSTOP);
    for (;;)
        pause();
}

/* A child that holds neither output, and would live on. */
static int act_leave(const char *path)
{
    if (fork() == 0) {
        ready(path);
        close(0);
        close(1);
        close(2);
        for (;;)
            pause();
    }
    puts("left");
    return 0;
}

static inline int perform(int argc, char **argv)
{
    if (strcmp(argv[1], "fds") == 0)
        return act_fds();
    if (strcmp(argv[1], "signals") == 0)
        return act_signals();
    if (strcmp(argv[1], "stubborn") == 0)
        act_stubborn(argv[2]);
    if (strcmp(argv[1], "tidy") == 0 || strcmp(argv[1], "halt") == 0)
        act_tidy(argv[2], strcmp(argv[1], "halt") == 0);
    if (strcmp(argv[1], "leave") == 0)
        return act_leave(argv[2]);
    for (int i = 2; i < argc; i++)
        printf("%s\x1e", argv[i]);
    return 0;
}

static inline int acts_main(int argc, char **argv)
{
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    int rc;

    if (argc > 1 && getenv("PAWL_INVOCATION_ID") != NULL)
        return perform(argc, argv);
    if (size <= 0 || mkdtemp(folder) == NULL)
        return 1;
    rc = check_main(argc, argv);
    rmdir(folder);
    return rc;
}

#endif
