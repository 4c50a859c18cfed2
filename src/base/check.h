/* check.h - assertions of our own: what the code relies on, checked where it could be broken.
 *
 * An assertion is for a fault in this program only. Wrong input, a damaged store and want of memory are errors with a code.
 * PAWL_ASSERT is on in every build, so its condition must be cheap: no call that walks, at most a few loads.
 * PAWL_ASSERT_SLOW may walk. It is on in builds without NDEBUG and where PAWL_CHECKS is defined (sanitizer and debug builds),
 * else its condition is compiled but not evaluated.
 * Both write one line to stderr and abort. They may be used on any thread and under any lock. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stdbool.h>

#if defined __GNUC__
#define ASSERT_COLD __attribute__((noreturn, cold, noinline))
#define ASSERT_LIKELY(condition) __builtin_expect(!!(condition), 1)
#else
#define ASSERT_COLD
#define ASSERT_LIKELY(condition) (condition)
#endif

/* Writes "FILE:LINE: FUNCTION: assertion failed: TEXT" and aborts. */
ASSERT_COLD void assertion_failed(const char *file, int line, const char *function, const char *text);

/* `condition` must hold; `why` is a string literal that says which promise or invariant it is: "K3: the sequence grows by one". */
#define PAWL_ASSERT(condition, why) \
    (ASSERT_LIKELY(condition) ? (void)0 : assertion_failed(__FILE__, __LINE__, __func__, why " (" #condition ")"))

#if !defined NDEBUG || defined PAWL_CHECKS
#define PAWL_SLOW_CHECKS 1
#else
#define PAWL_SLOW_CHECKS 0
#endif
#define PAWL_ASSERT_SLOW(condition, why) (PAWL_SLOW_CHECKS ? PAWL_ASSERT(condition, why) : (void)sizeof(condition))

/* For a place that no correct program reaches. */
#define PAWL_UNREACHABLE(why) assertion_failed(__FILE__, __LINE__, __func__, why)

#endif
