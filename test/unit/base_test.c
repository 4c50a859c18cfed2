/* base_test.c - the tools below the kernel; and that a double has one text (K2). */
#include "base/sm.h"
#include "json/json.h"
#include "lib/check.h"
#include "lib/heap.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *real(double x)
{
    static char text[REAL_TEXT_MAX + 1];
    size_t n = real_text(x, text);

    CHECK(n <= REAL_TEXT_MAX);
    text[n] = '\0';
    return text;
}

static double bits_real(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- errors --------------------------------------------------------------------------------- */

PAWL_TEST(test_codes_have_names_both_ways)
{
    for (int code = PAWL_HELD; code <= PAWL_IGNORED; code++)
        CHECK_INT(pawl_code_named(pawl_code_name((pawl_code)code)), code);
    CHECK_STR(pawl_code_name(PAWL_CONFLICT), "conflict");
    CHECK_STR(pawl_code_name((pawl_code)77), "unnamed");
    CHECK_INT(pawl_code_named("nonsense"), PAWL_INVALID);
    CHECK_INT(pawl_code_named(NULL), PAWL_INVALID);
}

PAWL_TEST(test_an_error_keeps_the_first_failure_in_one_line)
{
    pawl_err err = { PAWL_OK, "" };
    char longer[400];

    CHECK_INT(fail(NULL, PAWL_IO, "nobody hears"), PAWL_IO);
    CHECK_INT(fail(&err, PAWL_LIMIT, "a\nb: %d", 7), PAWL_LIMIT);
    CHECK_INT(fail(&err, PAWL_IO, "later"), PAWL_IO);
    CHECK_INT(err.code, PAWL_LIMIT);
    CHECK_STR(err.text, "a?b: 7");
    for (size_t lead = 0; lead < 4; lead++) { /* cut between characters, never inside one */
        memset(longer, 'x', lead);
        for (size_t i = lead; i < sizeof longer - 3; i += 3)
            memcpy(longer + i, "\xE2\x82\xAC", 4);
        err = (pawl_err){ PAWL_OK, "" };
        fail(&err, PAWL_IO, "%s", longer);
        CHECK(utf8_valid(err.text, strlen(err.text)));
        CHECK(strlen(err.text) >= sizeof err.text - 4);
    }
}

PAWL_TEST(test_did_you_mean_names_what_is_near)
{
    static const char *const names[] = { "draft", "revise", "publish", NULL, "review" };
    char text[64], tiny[8];

    CHECK_STR(did_you_mean(text, sizeof text, "revize", names, 5), " (did you mean \"revise\"?)");
    CHECK_STR(did_you_mean(text, sizeof text, "reveiw", names, 5), " (did you mean \"review\"?)");
    CHECK_STR(did_you_mean(text, sizeof text, "drat", names, 5), " (did you mean \"draft\"?)");
    CHECK_STR(did_you_mean(text, sizeof text, "essay", names, 5), "");
    CHECK_STR(did_you_mean(text, sizeof text, "", names, 5), "");
    CHECK_STR(did_you_mean(text, sizeof text, NULL, names, 5), "");
    CHECK_STR(did_you_mean(tiny, sizeof tiny, "revize", names, 5), "");
}

/* ---- memory ---------------------------------------------------------------------------------- */

PAWL_TEST(test_memory_checks_sizes_and_grows_vectors)
{
    heap h;
    pawl_alloc alloc;
    int *items = NULL;
    size_t cap = 0;

    heap_init(&h);
    alloc = heap_alloc(&h);
    CHECK(mem_new(&alloc, 0) == NULL);
    CHECK(mem_new(&alloc, SIZE_MAX) == NULL);
    for (int i = 0; i < 100; i++) {
        CHECK(mem_room(&alloc, (void **)&items, &cap, (size_t)i, sizeof *items));
        items[i] = i;
    }
    CHECK_INT(items[99], 99);
    size_t huge = SIZE_MAX / 4;
    CHECK(!mem_room(&alloc, (void **)&items, &huge, huge, sizeof *items));
    mem_free(&alloc, items, cap * sizeof *items);
    mem_free(&alloc, NULL, 5);
    heap_check(&h);
    alloc = mem_or_default(NULL);
    items = mem_new(&alloc, sizeof *items);
    CHECK(items != NULL && *items == 0);
    mem_free(&alloc, items, sizeof *items);
}

PAWL_TEST(test_an_arena_aligns_owns_and_gives_back)
{
    heap h;
    pawl_alloc alloc;
    arena a;
    char *first;

    heap_init(&h);
    alloc = heap_alloc(&h);
    arena_init(&a, &alloc, 300);
    CHECK_INT(h.blocks, 0);
    CHECK(arena_get(&a, 0) != NULL);
    first = arena_strdup(&a, "word", 4);
    CHECK_STR(first, "word");
    for (size_t i = 1; i < 5000; i++) {
        unsigned char *p = arena_zero(&a, i % 200);
        CHECK(p != NULL && (uintptr_t)p % ALIGN == 0 && arena_owns(&a, p));
        CHECK(i % 200 == 0 || (p[0] == 0 && p[i % 200 - 1] == 0));
    }
    CHECK(!arena_owns(&a, &a));
    CHECK(arena_get(&a, (size_t)3 << 20) != NULL);
    CHECK_STR(first, "word");
    CHECK(arena_get(&a, SIZE_MAX) == NULL && arena_get(&a, SIZE_MAX - 40) == NULL && a.failed);
    arena_reset(&a);
    CHECK(!a.failed && h.blocks == 1);
    CHECK(arena_get(&a, 1) == (void *)(first - ALIGN));
    arena_free(&a);
    heap_check(&h);
}

PAWL_TEST(test_a_buffer_prints_and_stays_failed)
{
    heap h;
    pawl_alloc alloc;
    buf b;

    heap_init(&h);
    alloc = heap_alloc(&h);
    buf_init(&b, &alloc);
    buf_int(&b, INT64_MIN);
    buf_char(&b, ' ');
    buf_uint(&b, UINT64_MAX);
    buf_fmt(&b, " %s/%d", "x", 42);
    CHECK_BYTES(b.data, b.size, "-9223372036854775808 18446744073709551615 x/42", 46);
    buf_reset(&b);
    for (uint64_t n = 1, digits = 1; digits <= 19; digits++, n *= 10) {
        char text[64];
        int size = snprintf(text, sizeof text, "%llu%llu", (unsigned long long)n, (unsigned long long)n - 1);
        buf_reset(&b);
        buf_uint(&b, n);
        buf_int(&b, (int64_t)(n - 1));
        CHECK_BYTES(b.data, b.size, text, (size_t)size);
    }
    buf_reset(&b);
    heap_fail_at(&h, 0);
    for (int i = 0; i < 300; i++)
        buf_text(&b, "abc");
    CHECK(b.failed && h.fired);
    buf_reset(&b);
    buf_fmt(&b, "%0400d", 1);
    CHECK(!b.failed && b.size == 400 && b.data[399] == '1');
    buf_free(&b);
    heap_check(&h);
}

PAWL_TEST(test_hashes_are_sha256)
{
    pawl_bytes parts[] = { { "a", 1 }, { NULL, 0 }, { "bc", 2 } };
    char hex[HASH_HEX + 1];
    hash h, again;

    hash_parts(parts, 3, &h);
    hash_hex(&h, hex);
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hash_of("abc", 3, &again);
    CHECK(hash_equal(&h, &again));
    CHECK(hash_unhex(hex, HASH_HEX, &again) && hash_equal(&h, &again));
    hash_of("abd", 3, &again);
    CHECK(!hash_equal(&h, &again));
    CHECK(!hash_unhex(hex, HASH_HEX - 1, &again) && !hash_unhex(NULL, 0, &again));
    hex[5] = 'A';
    CHECK(!hash_unhex(hex, HASH_HEX, &again));
}

/* Of each length, one after another; what is told of all is what sha256sum says of them. */
PAWL_TEST(test_hashes_of_every_length)
{
    char text[300], hex[HASH_HEX + 1];
    hash all[301], h;

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(uint8_t)(i * 7 + 3);
    for (size_t n = 0; n <= sizeof text; n++) {
        const pawl_bytes parts[3] = { { text, n / 3 }, { text + n / 3, n / 2 - n / 3 }, { text + n / 2, n - n / 2 } };

        hash_of(text, n, &all[n]);
        hash_parts(parts, 3, &h);
        CHECK(hash_equal(&h, &all[n]));
    }
    hash_of(all, sizeof all, &h);
    hash_hex(&h, hex);
    CHECK_STR(hex, "7d917fbd2cf49ddff9ad0a8706bba32d204e92e71d2e369c5a03d6af29278c9f");
}

/* ---- life cycles, assertions --------------------------------------------------------------------- */

typedef struct door { uint8_t state; bool locked; } door;
enum { DOOR_OPEN, DOOR_SHUT, DOOR_GONE };

static const char *door_wrong(const void *owner, unsigned state)
{
    const door *d = owner;

    return state == DOOR_OPEN && d->locked ? "an open door is not locked" : NULL;
}

static const sm_row door_rows[] = {
    [DOOR_OPEN] = { "open", SM_TO(DOOR_SHUT) | SM_TO(DOOR_OPEN), SM_FIRST },
    [DOOR_SHUT] = { "shut", SM_TO(DOOR_OPEN) | SM_TO(DOOR_GONE), 0 },
    [DOOR_GONE] = { "gone", 0, SM_LAST },
};
static const sm_table door_table = { "door", door_rows, 3, door_wrong };

PAWL_TEST(test_a_state_machine_is_its_table)
{
    door d = { DOOR_GONE, false };

    CHECK(sm_may(&door_table, DOOR_OPEN, DOOR_SHUT) && sm_may(&door_table, DOOR_OPEN, DOOR_OPEN));
    CHECK(!sm_may(&door_table, DOOR_OPEN, DOOR_GONE) && !sm_may(&door_table, DOOR_SHUT, DOOR_SHUT));
    CHECK(!sm_may(&door_table, DOOR_GONE, DOOR_OPEN) && !sm_may(&door_table, 3, DOOR_SHUT) && !sm_may(&door_table, 0, 200));
    CHECK_STR(sm_name(&door_table, DOOR_SHUT), "shut");
    CHECK_STR(sm_name(&door_table, 3), "no state");
    sm_begin(&door_table, &d.state, DOOR_OPEN, &d);
    CHECK_INT(d.state, DOOR_OPEN);
    sm_move(&door_table, &d.state, DOOR_SHUT, &d);
    CHECK_INT(d.state, DOOR_SHUT);
    d.locked = true;
    sm_check(&door_table, d.state, &d);
}

/* What `wrong` writes to stderr before it aborts; in a process of its own. */
static const char *dying_words(void (*wrong)(void))
{
    static char words[1024];
    const char *const colon = ": ";
    int ends[2], status = 0;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    CHECK_INT(pipe(ends), 0);
    fflush(NULL);
    CHECK((pid = fork()) >= 0);
    if (pid == 0) {
        const struct rlimit none = { 0, 0 };

        (void)setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        wrong();
        _exit(0);
    }
    close(ends[1]);
    while (n < sizeof words - 1 && (got = read(ends[0], words + n, sizeof words - 1 - n)) > 0)
        n += (size_t)got;
    words[n] = '\0';
    close(ends[0]);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strncmp(words, __FILE__, strlen(__FILE__)) == 0);     /* the place of the call comes first */
    CHECK(strstr(words, colon) != NULL);
    return strstr(words, colon) + strlen(colon);
}

static void shut_a_gone_door(void)
{
    door d = { DOOR_GONE, false };

    sm_move(&door_table, &d.state, DOOR_SHUT, &d);
}
static void open_a_locked_door(void)
{
    door d = { DOOR_SHUT, true };

    sm_move(&door_table, &d.state, DOOR_OPEN, &d);
}
static void begin_with_a_shut_door(void)
{
    door d = { DOOR_OPEN, false };

    sm_begin(&door_table, &d.state, DOOR_SHUT, &d);
}
static void move_from_no_state(void)
{
    door d = { 77, false };

    sm_move(&door_table, &d.state, DOOR_OPEN, &d);
}
static void assert_a_lie(void)
{
    const int doors = 2;

    PAWL_ASSERT(doors == 2, "there are two doors");
    PAWL_ASSERT(doors == 3, "there are three doors");
}

PAWL_TEST(test_a_wrong_move_aborts_with_its_names)
{
    CHECK_STR(dying_words(shut_a_gone_door), "sm_move: assertion failed: door: from \"gone\" to \"shut\" there is no way\n");
    CHECK_STR(dying_words(open_a_locked_door), "sm_move: assertion failed: door: in state \"open\": an open door is not locked\n");
    CHECK_STR(dying_words(begin_with_a_shut_door), "sm_move: assertion failed: door: \"shut\" is no first state\n");
    CHECK_STR(dying_words(move_from_no_state), "sm_move: assertion failed: door: from \"no state\" to \"open\" there is no way\n");
}

PAWL_TEST(test_an_assertion_that_fails_says_which_and_aborts)
{
    CHECK_STR(dying_words(assert_a_lie), "assert_a_lie: assertion failed: there are three doors (doors == 3)\n");
}

/* ---- numbers ----------------------------------------------------------------------------------- */

PAWL_TEST(test_K2_reals_have_one_text)
{
    CHECK_STR(real(0.0), "0.0");
    CHECK_STR(real(-0.0), "0.0");
    CHECK_STR(real(1), "1.0");
    CHECK_STR(real(-100000), "-100000.0");
    CHECK_STR(real(0.1), "0.1");
    CHECK_STR(real(0.1 + 0.2), "0.30000000000000004");
    CHECK_STR(real(129.95), "129.95");
    CHECK_STR(real(1.0 / 3), "0.3333333333333333");
    CHECK_STR(real(123456789012345680000.0), "123456789012345680000.0");
    CHECK_STR(real(1e20), "100000000000000000000.0");
    CHECK_STR(real(1e21), "1e21");
    CHECK_STR(real(1.5e300), "1.5e300");
    CHECK_STR(real(-1.5e-300), "-1.5e-300");
    CHECK_STR(real(1e-6), "0.000001");
    CHECK_STR(real(1.25e-6), "0.00000125");
    CHECK_STR(real(1e-7), "1e-7");
    CHECK_STR(real(5e-324), "5e-324");
    CHECK_STR(real(2.2250738585072014e-308), "2.2250738585072014e-308");
    CHECK_STR(real(2.225073858507201e-308), "2.225073858507201e-308");
    CHECK_STR(real(1.7976931348623157e308), "1.7976931348623157e308");
    CHECK_STR(real(9007199254740991.0), "9007199254740991.0");
    CHECK_STR(real(9007199254740993.0), "9007199254740992.0");
    CHECK_STR(real(9007199254740994.0), "9007199254740994.0");
    CHECK_STR(real(18446744073709551616.0), "18446744073709552000.0");
    CHECK_STR(real(1e23), "1e23");
    CHECK_STR(real(9.5367431640625e-7), "9.5367431640625e-7");
    CHECK_STR(real(5.684341886080802e-14), "5.684341886080802e-14");
}

static size_t digits_in(const char *text)
{
    size_t first = 0, last = 0, n = 0;

    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text < '0' || *text > '9')
            continue;
        n++;
        if (*text != '0' && first == 0)
            first = n;
        if (*text != '0')
            last = n;
    }
    return first == 0 ? 1 : last - first + 1;
}

/* Fewer digits are tried one by one for `every`, else only one fewer: if that fails, all do. */
static void check_shortest(double x, bool every)
{
    const char *text = real(x);
    size_t digits = digits_in(text);
    char other[64], *end;

    if (strtod(text, &end) != x || *end != '\0')
        CHECK_FAIL("%a prints as %s", x, text);
    if (strpbrk(text, ".e") == NULL)
        CHECK_FAIL("%a prints as an integer, %s", x, text);
    for (size_t n = every ? 1 : digits - 1; n > 0 && n < digits; n++) {
        snprintf(other, sizeof other, "%.*e", (int)n - 1, x);
        if (strtod(other, NULL) == x)
            CHECK_FAIL("%a prints as %s, but %s is shorter", x, text, other);
    }
}

static void check_nearest(double x)
{
    const char *text = real(x);
    char other[64];

    snprintf(other, sizeof other, "%.*e", (int)digits_in(text) - 1, x);
    if (x != 0 && strtod(other, NULL) == x) {
        char mine[64], theirs[64];
        size_t m = 0, t = 0;
        for (const char *p = text; *p != '\0' && *p != 'e'; p++)
            if (*p >= '0' && *p <= '9' && (m > 0 || *p != '0'))
                mine[m++] = *p;
        for (const char *p = other; *p != '\0' && *p != 'e'; p++)
            if (*p >= '0' && *p <= '9')
                theirs[t++] = *p;
        while (m > t && mine[m - 1] == '0')
            m--;
        if (m != t || memcmp(mine, theirs, m) != 0)
            CHECK_FAIL("%a prints as %s, but %s is nearer", x, text, other);
    }
}

PAWL_TEST(test_K2_random_reals_read_back_and_none_is_shorter)
{
    int todo = check_run_all() ? 2000000 : 200000;

    while (todo > 0) {
        double x = bits_real(check_rand());
        if (x - x != 0)
            continue;
        check_shortest(x, todo % 50 == 0);
        check_nearest(x);
        todo--;
    }
}

PAWL_TEST(test_K2_powers_and_their_neighbours_read_back)
{
    for (uint64_t e = 0; e < 2047; e++)
        for (uint64_t f = 0; f < 3; f++)
            check_shortest(bits_real((e << 52) + f - (f == 2 && e > 0 ? 3 : 0)), true);
    for (int e = -330; e < 309; e++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", e);
        if (strtod(text, NULL) != 0)
            check_shortest(strtod(text, NULL), true);
    }
}

PAWL_TEST(test_K2_prices_and_measures_print_as_they_are_written)
{
    for (int i = 0; i < 200000; i++) {
        double scale = (double[]){ 10, 100, 1000, 1e4, 1e6 }[check_rand_below(5)];
        double x = (double)check_rand_below(UINT64_C(1) << (1 + check_rand_below(49))) / scale;
        check_shortest(x, false);
        check_nearest(x);
    }
}
