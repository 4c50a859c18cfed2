/* check.c - runs tests one after another, and reports where they fail and the first difference. One thread; a failing check leaves its test by longjmp. */
#include "lib/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASSED, FAILED, SKIPPED, OUTCOMES };

static struct {
    jmp_buf leave;
    const char *test;
    uint64_t seed, rand;
    size_t from, count;
    bool all, counted;
} at = { .seed = 1 };

static check_case *cases;

/* ---- numbers ------------------------------------------------------------------------------- */

uint64_t check_seed(void)
{
    return at.seed;
}

bool check_run_all(void)
{
    return at.all;
}

size_t check_from(void)
{
    return at.from;
}

size_t check_count(size_t few, size_t all)
{
    return at.counted ? at.count : at.all ? all : few;
}

void check_case_at(size_t number)
{
    enum { SAID_EVERY = 1000 };

    at.rand = at.seed;
    at.rand = check_rand() ^ number * UINT64_C(0xD6E8FEB86659FD93);
    if ((at.all || at.counted) && number % SAID_EVERY == 0)
        fprintf(stderr, "%s: seed %llu, from case %zu on\n", at.test, (unsigned long long)at.seed, number);
}

uint64_t check_rand(void)
{
    uint64_t z = at.rand += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t check_rand_below(uint64_t n)
{
    return n == 0 ? 0 : check_rand() % n;
}

/* ---- failing -------------------------------------------------------------------------------- */

static void say_where(const char *file, int line)
{
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s (seed %llu): ", file, line, at.test, (unsigned long long)at.seed);
}

static void leave(int outcome)
{
    fflush(stderr);
    longjmp(at.leave, outcome);
}

void check_fail(const char *file, int line, const char *fmt, ...)
{
    va_list args;

    say_where(file, line);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    leave(FAILED);
    abort(); /* not reached; for compilers that cannot see it */
}

void check_skip(const char *reason)
{
    fprintf(stderr, "%s: skipped: %s\n", at.test, reason);
    leave(SKIPPED);
}

void check_int(const char *file, int line, const char *what, int64_t a, int64_t b)
{
    if (a != b)
        check_fail(file, line, "%s\n  is   %lld\n  not  %lld", what, (long long)a, (long long)b);
}

/* Reports only the first line that differs. */
void check_str(const char *file, int line, const char *what, const char *a, const char *b)
{
    size_t from = 0, row = 1;

    if (a == NULL || b == NULL) {
        if (a != b)
            check_fail(file, line, "%s\n  is   %s\n  not  %s", what, a ? a : "NULL", b ? b : "NULL");
        return;
    }
    if (strcmp(a, b) == 0)
        return;
    for (size_t i = 0; a[i] == b[i]; i++)
        if (a[i] == '\n') {
            from = i + 1;
            row++;
        }
    check_fail(file, line, "%s (line %zu)\n  is   %.*s\n  not  %.*s", what, row, (int)strcspn(a + from, "\n"),
               a + from, (int)strcspn(b + from, "\n"), b + from);
}

void check_bytes(const char *file, int line, const char *what, const void *a, size_t an, const void *b,
                 size_t bn)
{
    const unsigned char *p = a, *q = b;
    size_t i = 0;

    while (i < an && i < bn && p[i] == q[i])
        i++;
    if (i == an && i == bn)
        return;
    check_fail(file, line, "%s (%zu and %zu bytes, from byte %zu on)\n  is   %.*s\n  not  %.*s", what, an, bn,
               i, (int)(an - i < 64 ? an - i : 64), (const char *)p + i, (int)(bn - i < 64 ? bn - i : 64),
               (const char *)q + i);
}

/* ---- running -------------------------------------------------------------------------------- */

static int run_one(const check_case *c)
{
    int outcome;

    at.test = c->name;
    at.rand = at.seed;
    outcome = setjmp(at.leave);
    if (outcome == 0)
        c->run();
    return outcome;
}

static const char *read_options(int argc, char **argv)
{
    const char *filter = "", *env = getenv("CHECK_SEED");

    at.all = getenv("PAWL_TEST_ALL") != NULL;
    if (env != NULL)
        at.seed = strtoull(env, NULL, 0);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            at.all = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            at.seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--from") == 0 && i + 1 < argc)
            at.from = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--count") == 0 && i + 1 < argc) {
            at.counted = true;
            at.count = strtoull(argv[++i], NULL, 0);
        } else
            filter = argv[i];
    }
    return filter;
}

/* Behind those that came before it: of other files, and of the lines above it. */
void check_test_add(check_case *c)
{
    check_case **place = &cases;

    while (*place != NULL && !(strcmp((*place)->file, c->file) == 0 && (*place)->line > c->line))
        place = &(*place)->next;
    c->next = *place;
    *place = c;
}

int check_main(int argc, char **argv)
{
    const char *filter = read_options(argc, argv);
    size_t counts[OUTCOMES] = { 0 };

    for (const check_case *c = cases; c != NULL; c = c->next)
        if (strstr(c->name, filter) != NULL)
            counts[run_one(c)]++;
    printf("%zu passed, %zu failed, %zu skipped\n", counts[PASSED], counts[FAILED], counts[SKIPPED]);
    fflush(stdout);
    return counts[FAILED] > 0 || counts[PASSED] == 0;
}

int check_alone(const char *name, void (*run)(void))
{
    check_case only = { .name = name, .run = run };
    char *argv[] = { NULL };

    cases = &only;
    return check_main(0, argv);
}

char *check_copy(const void *data, size_t size)
{
    char *copy = malloc(size + 1);

    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}
