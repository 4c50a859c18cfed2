/* check.h - the test framework: tests, checks, a seed.
 *
 *     PAWL_TEST(test_sums) { CHECK_INT(1 + 1, 2); }
 *
 * Each test adds itself, and they run in the order of the file; a program without a main() has the one of check_main.c.
 *
 * A check that fails ends its test; the other tests still run. Arguments of the program: a part of the names of the tests to run, `--seed N`, and
 * `--all` (tests that otherwise take a sample of many steps take all). A test of cases that are drawn each by its number takes `--from N` and
 * `--count N`: so a long run is split or gone on with. The last line is `N passed, N failed, N skipped`; the exit status is not 0 if a test failed or
 * none passed. One thread. */
#ifndef TEST_LIB_CHECK_H
#define TEST_LIB_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct check_case {
    const char *name, *file;
    int line;
    void (*run)(void);
    struct check_case *next;
} check_case;

#define PAWL_TEST(test) \
    static void test(void); \
    __attribute__((constructor)) static void test##_add(void) \
    { \
        static check_case c = { #test, __FILE__, __LINE__, test, NULL }; \
        check_test_add(&c); \
    } \
    static void test(void)

void check_test_add(check_case *c);
int check_main(int argc, char **argv);                          /* runs all tests, or those that the arguments name; returns the exit status */
int check_alone(const char *name, void (*run)(void));           /* runs this function alone, with the same last line */

#define CHECK(cond)               ((cond) ? (void)0 : check_fail(__FILE__, __LINE__, "%s", #cond))
#define CHECK_INT(a, b)           check_int(__FILE__, __LINE__, #a " == " #b, (int64_t)(a), (int64_t)(b))
#define CHECK_STR(a, b)           check_str(__FILE__, __LINE__, #a " == " #b, (a), (b)) /* either may be NULL */
#define CHECK_BYTES(a, an, b, bn) check_bytes(__FILE__, __LINE__, #a " == " #b, (a), (an), (b), (bn))
/* Fails with a text: CHECK_FAIL("no shorter text of %a", x) */
#define CHECK_FAIL(...) check_fail(__FILE__, __LINE__, __VA_ARGS__)

/* The functions of these macros. They do not return if the check fails. */
void check_int(const char *file, int line, const char *what, int64_t a, int64_t b);
void check_str(const char *file, int line, const char *what, const char *a, const char *b);
void check_bytes(const char *file, int line, const char *what, const void *a, size_t an, const void *b,
                 size_t bn);
void check_fail(const char *file, int line, const char *fmt, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4), noreturn))
#endif
    ;
void check_skip(const char *reason); /* leaves the test, which then counts as skipped */

char *check_copy(const void *data, size_t size); /* a copy that ends in NUL; free() it */

uint64_t check_seed(void);             /* --seed or CHECK_SEED, else 1 */
bool check_run_all(void);              /* --all or PAWL_TEST_ALL: no samples */
size_t check_from(void);               /* --from, else 0: the first case of such a test */
size_t check_count(size_t few, size_t all); /* how many of them: --count, else `all` with --all, else `few` */
void check_case_at(size_t number);     /* check_rand() begins anew, by the seed and the number; of a long run it says how far it is, on stderr */
uint64_t check_rand(void);             /* splitmix64; begins at check_seed() in every test */
uint64_t check_rand_below(uint64_t n); /* 0 .. n-1; 0 for n of 0 */

#endif
