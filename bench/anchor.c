/* anchor.c - what it costs to keep heads outside of the store (P12): short runs, each to its end, with and without an anchor in a file of the same disk. */
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 200 };

static pawl_code once(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_int(s, "n", 1);
    return pawl_follow(s);
}

static pawl_machine *short_machine(void)
{
    pawl_graph *g = pawl_graph_new("short", 1);

    pawl_graph_channel(g, "n", PAWL_RULE_SUM);
    pawl_graph_node(g, "once", once, NULL);
    pawl_graph_chain(g, PAWL_START, "once", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

/* One write and one sync for each call, as the program does it. */
static pawl_code keep(void *ctx, const char *store, const pawl_anchor *heads, size_t n, pawl_err *err)
{
    char line[PAWL_ANCHOR_LINE_BYTES];
    const int fd = *(const int *)ctx;

    for (size_t i = 0; i < n; i++) {
        const pawl_code rc = pawl_anchor_line(store, &heads[i], 1, line, err);

        if (rc != PAWL_OK || write(fd, line, strlen(line)) < 0)
            return PAWL_IO;
    }
    return fdatasync(fd) == 0 ? PAWL_OK : PAWL_IO;
}

static bool run_one(pawl_engine *e, const char *kind, int i, double *ns)
{
    const double from = bench_ns();
    pawl_err err = {0};
    char id[32];
    bool good;

    snprintf(id, sizeof id, "%s%d", kind, i);
    good = pawl_run(e, id, NULL, &err) >= 0 || bench_wrong("a run", &err);
    *ns += bench_ns() - from;
    return good;
}

static bool run_ratio(reading *out)
{
    double with = 0, without = 0, warm = 0;
    pawl_err err = {0};
    pawl_engine *e = NULL, *plain = NULL;
    disk d = { .folder = "" }, p = { .folder = "" };
    int fd = open("bench-anchors", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    bool good = fd >= 0 && disk_begin(&d, false);

    good = good && disk_begin(&p, false) && (e = disk_engine(&d, short_machine())) != NULL && (plain = disk_engine(&p, short_machine())) != NULL &&
           (pawl_engine_anchor(e, keep, &fd, &err) == PAWL_OK || bench_wrong("an anchor", &err)) && run_one(e, "w", 0, &warm) && run_one(plain, "w", 0, &warm);
    for (int i = 0; i < RUNS && good; i++)
        good = run_one(e, "r", i, &with) && run_one(plain, "r", i, &without);
    *out = (reading){ good ? with / without : 0, 1 };
    pawl_engine_free(e);
    pawl_engine_free(plain);
    disk_end(&d);
    disk_end(&p);
    close(fd);
    unlink("bench-anchors");
    return good;
}

const figure anchor_figures[] = {
    { "anchor.run_vs_plain", "x", "a run to its end without an anchor", 0, false, 5, run_ratio },
    { 0 },
};
