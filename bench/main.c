/* main.c - pawl_bench [--json] [NAME...]: every figure, or those whose name is NAME or begins with it. Slow ones are
 * measured when their whole name is given, or "all". */
#include "bench.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 64 };

static bool figure_measure(const figure *f, reading *out)
{
    double values[ROUNDS_MAX], bases[ROUNDS_MAX];

    for (int i = 0; i < f->rounds; i++) {
        reading r = {0};

        if (!f->measure(&r))
            return false;
        values[i] = r.value;
        bases[i] = r.base;
    }
    out->value = bench_median(values, f->rounds);
    out->base = bench_median(bases, f->rounds);
    return true;
}

/* Three digits that count, and no more than a figure is worth. */
static const char *number(double x, char out[32])
{
    snprintf(out, 32, x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : "%.2f", x);
    return out;
}

static void figure_print(const figure *f, const reading *r, bool json)
{
    char value[32], ratio[32], target[32];
    bool met = f->target == 0 || (f->floor ? r->value >= f->target : r->value <= f->target);
    double times = r->base > 0 ? r->value / r->base : 0;

    if (json)
        printf("{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",\"against\":\"%s\",\"ratio\":%.4g,\"target\":%.6g,\"met\":%s}\n",
               f->name, r->value, f->unit, f->against, times, f->target, met ? "true" : "false");
    else if (f->target == 0)
        printf("%-24s %10s %-10s %8s x %-44s no target\n", f->name, number(r->value, value), f->unit, number(times, ratio), f->against);
    else
        printf("%-24s %10s %-10s %8s x %-44s target %s%s  %s\n", f->name, number(r->value, value), f->unit, number(times, ratio),
               f->against, f->floor ? ">= " : "<= ", number(f->target, target), met ? "met" : "short");
    fflush(stdout);
}

static bool meant(const figure *f, const char *name)
{
    return strcmp(name, "all") == 0 || strncmp(f->name, name, strlen(name)) == 0;
}

static bool wanted(const figure *f, bool slow, char **names, int n)
{
    for (int i = 0; i < n; i++)
        if (slow ? strcmp(names[i], "all") == 0 || strcmp(names[i], f->name) == 0 : meant(f, names[i]))
            return true;
    return n == 0 && !slow;
}

static const figure *const groups[] = { memory_figures, size_figures, journal_figures, sqlite_figures, anchor_figures, approve_figures, simple_figures,
                                        engine_figures, policy_figures, sandbox_figures, search_figures, agent_figures, wire_figures, calls_figures,
                                        growth_figures, host_figures, cli_figures, serve_figures, million_figures };
enum { GROUPS = sizeof groups / sizeof *groups };

/* Every NAME must mean something. */
static bool known(char **names, int n)
{
    for (int i = 0; i < n; i++) {
        bool found = false;

        for (size_t k = 0; k < GROUPS; k++)
            for (const figure *f = groups[k]; f->name != NULL; f++)
                found = found || meant(f, names[i]);
        if (!found) {
            fprintf(stderr, "pawl_bench: no figure \"%s\"; usage: pawl_bench [--json] [NAME...]\n", names[i]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    bool json = false, good = true;
    int names = 0;

    if (argc == 5 && strcmp(argv[1], "--child") == 0)
        return child_main(argv[2], argv[3], argv[4]);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else
            argv[names++] = argv[i];
    }
    if (!known(argv, names))
        return 2;
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);   /* what was freed stays in the heap: a window over pages that are new to the */
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);   /* process would measure the system against one over pages that are not */
    for (size_t i = 0; i < GROUPS; i++) {
        for (const figure *f = groups[i]; f->name != NULL; f++) {
            reading r = {0};

            if (!wanted(f, groups[i] == million_figures, argv, names))
                continue;
            if (figure_measure(f, &r))
                figure_print(f, &r, json);
            else
                good = false;
        }
    }
    return good ? 0 : 1;
}
