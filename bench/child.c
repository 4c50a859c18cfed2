/* child.c - what a fresh process does, in this program: `pawl_bench --child WHAT PATH RUN`. */
#include "bench.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- in the parent -------------------------------------------------------------------------- */

static bool number_read(int fd, double *number)
{
    char text[64];
    size_t n = 0;
    ssize_t got;

    while (n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    *number = strtod(text, NULL);
    return *number > 0;
}

bool child_run(const char *what, const char *path, const char *id, double *number)
{
    char *argv[] = { "pawl_bench", "--child", (char *)what, (char *)path, (char *)id, NULL };
    posix_spawn_file_actions_t actions;
    int ends[2], status = 1;
    pid_t pid = 0;
    bool good;

    if (pipe(ends) != 0)
        return bench_wrong("no pipe", NULL);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    good = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    good = good && number_read(ends[0], number);
    close(ends[0]);
    if (pid > 0 && (waitpid(pid, &status, 0) != pid || status != 0))
        good = false;
    return good || bench_wrong("a child", NULL);
}

/* ---- in the child ----------------------------------------------------------------------------- */

static void stop(void *ctx, int64_t who)
{
    (void)who;
    pawl_engine_stop(*(pawl_engine **)ctx);
}

static bool first_wait(void *ctx, const char *run_id, const pawl_waiting *w)
{
    (void)run_id;
    snprintf(ctx, 256, "%s", w->id);
    return false;
}

/* The run is held elsewhere: what it is told is left in the store. */
static pawl_code answer(pawl_engine *e, const char *id, double *given, pawl_err *err)
{
    pawl_store *s = pawl_engine_store(e);
    char wait[256] = "";
    pawl_code rc = s->verbs->waits(s, id, first_wait, wait, err);

    *given = bench_ns();
    return rc == PAWL_OK ? pawl_answer(e, id, wait, "true", err) : rc;
}

int child_main(const char *what, const char *path, const char *id)
{
    double number = bench_ns();
    pawl_engine *e = NULL;
    turns t = { stop, &e };
    pawl_err err = {0};
    pawl_code rc = PAWL_OK;
    bool answers = strcmp(what, "answer") == 0;

    if (strncmp(what, "calls", 5) == 0) {
        rc = (number = calls_child(strcmp(what, "calls-threads") == 0, path, id)) > 0 ? PAWL_OK : PAWL_INVALID;
    } else if (strcmp(what, "jq") == 0) {
        rc = (number = jq_child(path, id)) > 0 ? PAWL_OK : PAWL_INVALID;
    } else if (strcmp(what, "children") == 0) {
        rc = fan_children(strtol(id, NULL, 10)) ? PAWL_OK : PAWL_INVALID;
        number = (double)bench_resident_most();
    } else if (strcmp(what, "nothing") != 0) {
        pawl_machine *m = answers ? ask_machine() : strcmp(what, "resume") == 0 ? say_machine(&t) : loop_machine(&t);

        e = pawl_engine_new(m, pawl_store_sqlite(path, NULL, &err), &err);
        rc = e == NULL ? PAWL_INVALID : answers ? answer(e, id, &number, &err) : pawl_run(e, id, NULL, &err);
        if (!answers)
            number = strcmp(what, "memory") == 0 ? (double)bench_resident_most() : bench_ns();
    }
    if (rc < 0)
        bench_wrong(what, &err);
    printf("%.0f\n", number);
    fflush(stdout);
    pawl_engine_free(e);
    return rc < 0;
}
