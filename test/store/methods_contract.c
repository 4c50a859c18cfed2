/* methods_contract.c - the contract of three methods (pawl/store_simple.h): what they promise each other. The store on them has its own: contract_*.c. */
#include "pawl/store_test.h"
#include "store/contract_inner.h"
#include "store/store.h"

#include <sys/wait.h>
#include <unistd.h>

enum { SIGNALS_MAX = 20, PROCESSES = 4, EACH = 100, RECORDS = 300, VALUE_BYTES_MAX = 3000000, ROUNDS_MAX = 1000 };

static const pawl_simple_methods *methods;
static void *(*ctx_open)(void *arg);
static void *ctx_arg;

/* ---- a store for each test --------------------------------------------------------------------------- */

static void *ctx_new(void)
{
    void *ctx = ctx_open != NULL ? ctx_open(ctx_arg) : ctx_arg;

    if (ctx == NULL && ctx_open != NULL)
        CHECK_FAIL("open gave no store");
    return ctx;
}

static void ctx_end(void *ctx)
{
    if (ctx_open != NULL && methods->close != NULL)
        methods->close(ctx);
}

static void *block_resize(void *ctx, void *ptr, size_t old_size, size_t size)
{
    (void)ctx;
    (void)old_size;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, size);
}

typedef struct got { pawl_code rc; pawl_out out; uint64_t version; } got;

static got get(void *ctx, const char *key)
{
    got g = { .out = { .b = { .alloc = { block_resize, NULL } } } };
    pawl_err err = { PAWL_OK, "" };

    g.rc = methods->get(ctx, key, &g.out, &g.version, &err);
    if (g.rc != PAWL_OK && g.rc != PAWL_GONE)
        CHECK_FAIL("get %s: %s: %s", key, pawl_code_name(g.rc), err.text);
    return g;
}

static void got_end(got *g)
{
    free(g->out.b.data);
}

static pawl_code put_record(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc = methods->put(ctx, key, before, version, value, &err);

    if (rc != PAWL_OK && rc != PAWL_CONFLICT)
        CHECK_FAIL("put %s: %s: %s", key, pawl_code_name(rc), err.text);
    return rc;
}

static void check_record(void *ctx, const char *key, uint64_t version, pawl_bytes value)
{
    got g = get(ctx, key);

    if (g.rc != PAWL_OK)
        CHECK_FAIL("%s is gone", key);
    CHECK_INT(g.version, version);
    CHECK_BYTES(g.out.b.data, g.out.b.size, value.data, value.size);
    got_end(&g);
}

static void check_gone(void *ctx, const char *key)
{
    CHECK_INT(get(ctx, key).rc, PAWL_GONE);
}

typedef struct keys { char all[2 * RECORDS][PAWL_KEY_BYTES_MAX + 1]; uint64_t versions[2 * RECORDS]; size_t n, most; } keys;

static bool add_key(void *ctx, const char *key, uint64_t version)
{
    keys *k = ctx;

    if (k->n == 2 * RECORDS || strlen(key) > PAWL_KEY_BYTES_MAX)
        abort();
    k->versions[k->n] = version;
    snprintf(k->all[k->n++], PAWL_KEY_BYTES_MAX + 1, "%s", key);
    return k->n < k->most;
}

static const keys *keys_of(void *ctx, const char *prefix, size_t most)
{
    static keys k;
    pawl_err err = { PAWL_OK, "" };

    k.n = 0;
    k.most = most;
    if (methods->list(ctx, prefix, add_key, &k, &err) != PAWL_OK)
        CHECK_FAIL("list %s: %s", prefix, err.text);
    return &k;
}

static bool has_key(const keys *k, const char *key, uint64_t version)
{
    size_t found = 0;

    for (size_t i = 0; i < k->n; i++)
        if (strcmp(k->all[i], key) == 0)
            found += k->versions[i] == version || k->versions[i] == 0 ? 1 : 1000;
    return found == 1;
}

/* Removes all that begins so; more than a list of the test holds comes in several. */
static void remove_all(void *ctx, const char *prefix)
{
    const keys *k;

    for (int i = 0; (k = keys_of(ctx, prefix, 2 * RECORDS))->n > 0; i++) {
        if (i == ROUNDS_MAX)
            CHECK_FAIL("%s is removed, and a list has it again and again", k->all[0]);
        for (size_t n = 0; n < k->n; n++) {
            uint64_t version = k->versions[n];

            if (version == 0) {
                got g = get(ctx, k->all[n]);

                version = g.version;
                got_end(&g);
            }
            CHECK_INT(put_record(ctx, k->all[n], version, 0, (pawl_bytes){0}), PAWL_OK);
        }
    }
}

static void methods_fresh(void *arg)
{
    void *ctx = ctx_new();

    (void)arg;
    remove_all(ctx, "h~");
    remove_all(ctx, "m~");
    remove_all(ctx, "p~");
    remove_all(ctx, "n");
    remove_all(ctx, "t");
    ctx_end(ctx);
}

static pawl_store *methods_open(void *arg, const char *space, pawl_err *err)
{
    pawl_simple_methods m = *methods;

    (void)arg;
    if (ctx_open == NULL)
        m.close = NULL;
    return pawl_store_simple(&m, ctx_new(), &(pawl_simple){ .space = space, .signals_max = SIGNALS_MAX }, err);
}

static void *fresh_ctx(void)
{
    methods_fresh(NULL);
    return ctx_new();
}

/* ---- get and put ------------------------------------------------------------------------------------------ */

PAWL_TEST(test_methods_a_record_is_put_got_and_removed)
{
    void *ctx = fresh_ctx();

    check_gone(ctx, "test");
    CHECK_INT(put_record(ctx, "test", 0, 1, bytes("one")), PAWL_OK);
    check_record(ctx, "test", 1, bytes("one"));
    CHECK_INT(put_record(ctx, "test", 1, INT64_MAX, bytes("two, and longer")), PAWL_OK);
    check_record(ctx, "test", INT64_MAX, bytes("two, and longer"));
    ctx_end(ctx);
    ctx = ctx_new();
    check_record(ctx, "test", INT64_MAX, bytes("two, and longer"));
    CHECK_INT(put_record(ctx, "test", INT64_MAX, 0, (pawl_bytes){0}), PAWL_OK);
    check_gone(ctx, "test");
    CHECK_INT(put_record(ctx, "test", 0, 7, bytes("3")), PAWL_OK);
    check_record(ctx, "test", 7, bytes("3"));
    ctx_end(ctx);
}

PAWL_TEST(test_methods_a_put_that_expects_another_version_changes_nothing)
{
    void *ctx = fresh_ctx();

    CHECK_INT(put_record(ctx, "test", 5, 6, bytes("x")), PAWL_CONFLICT);
    check_gone(ctx, "test");
    CHECK_INT(put_record(ctx, "test", 0, 5, bytes("five")), PAWL_OK);
    CHECK_INT(put_record(ctx, "test", 0, 6, bytes("x")), PAWL_CONFLICT);
    CHECK_INT(put_record(ctx, "test", 4, 6, bytes("x")), PAWL_CONFLICT);
    CHECK_INT(put_record(ctx, "test", 6, 7, bytes("x")), PAWL_CONFLICT);
    CHECK_INT(put_record(ctx, "test", 4, 0, (pawl_bytes){0}), PAWL_CONFLICT);
    CHECK_INT(put_record(ctx, "test", (uint64_t)1 << 40 | 5, 6, bytes("x")), PAWL_CONFLICT);        /* all of its bits count */
    check_record(ctx, "test", 5, bytes("five"));
    CHECK_INT(put_record(ctx, "test", 5, (uint64_t)1 << 40 | 5, bytes("far")), PAWL_OK);
    CHECK_INT(put_record(ctx, "test", 5, 6, bytes("x")), PAWL_CONFLICT);
    check_record(ctx, "test", (uint64_t)1 << 40 | 5, bytes("far"));
    ctx_end(ctx);
}

PAWL_TEST(test_methods_a_value_is_any_bytes_of_any_size)
{
    static const size_t sizes[] = { 1, 255, 256, 4095, 4096, 65536, 1000001, VALUE_BYTES_MAX, 3 };
    char *value = malloc(VALUE_BYTES_MAX);
    void *ctx = fresh_ctx();
    uint64_t version = 0;

    if (value == NULL)
        abort();
    for (size_t i = 0; i < VALUE_BYTES_MAX; i++)
        value[i] = (char)(i % 251 + i / 65536);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++, version++) {
        CHECK_INT(put_record(ctx, "test", version, version + 1, (pawl_bytes){ value + i, sizes[i] - (i < sizes[i] ? i : 0) }), PAWL_OK);
        check_record(ctx, "test", version + 1, (pawl_bytes){ value + i, sizes[i] - (i < sizes[i] ? i : 0) });
    }
    free(value);
    ctx_end(ctx);
}

PAWL_TEST(test_methods_keys_are_told_apart_by_every_byte)
{
    char longest[PAWL_KEY_BYTES_MAX + 1], other[PAWL_KEY_BYTES_MAX + 1];
    const char *all[] = { "t", "T", "ta", "tA", "ta~", "ta~.", "ta~_-.0", "ta.b", "ta-b", "ta_b", "taxb", longest, other };
    void *ctx = fresh_ctx();

    memset(longest, 't', PAWL_KEY_BYTES_MAX);
    longest[PAWL_KEY_BYTES_MAX] = '\0';
    memcpy(other, longest, sizeof other);
    other[PAWL_KEY_BYTES_MAX - 1] = '0';
    remove_all(ctx, "T");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK_INT(put_record(ctx, all[i], 0, i + 1, bytes(all[i])), PAWL_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_record(ctx, all[i], i + 1, bytes(all[i]));
    CHECK_INT(keys_of(ctx, "T", 100)->n, 1);
    CHECK_INT(keys_of(ctx, "ta", 100)->n, 8);
    CHECK_INT(keys_of(ctx, "ta~", 100)->n, 3);
    CHECK_INT(keys_of(ctx, "ta.", 100)->n, 1);
    CHECK_INT(keys_of(ctx, "ta_", 100)->n, 1);
    CHECK_INT(keys_of(ctx, longest, 100)->n, 1);
    remove_all(ctx, "T");
    ctx_end(ctx);
}

/* ---- list -------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_methods_a_list_has_each_key_once_with_its_version)
{
    void *ctx = fresh_ctx();
    const keys *k;

    CHECK_INT(keys_of(ctx, "t", 10)->n, 0);
    for (uint64_t i = 0; i < RECORDS; i++)
        CHECK_INT(put_record(ctx, text("t~%d~%d", (int)(i % 2), (int)i), 0, i + 1, bytes("x")), PAWL_OK);
    CHECK_INT(put_record(ctx, "t~1~7", 8, 5000, bytes("y")), PAWL_OK);
    CHECK_INT(put_record(ctx, "t~1~9", 10, 0, (pawl_bytes){0}), PAWL_OK);
    k = keys_of(ctx, "t~1~", 2 * RECORDS);
    CHECK_INT(k->n, RECORDS / 2 - 1);
    for (uint64_t i = 1; i < RECORDS; i += 2)
        if (i != 9)
            CHECK(has_key(k, text("t~1~%d", (int)i), i == 7 ? 5000 : i + 1));
    CHECK_INT(keys_of(ctx, "t~", 2 * RECORDS)->n, RECORDS - 1);
    CHECK_INT(keys_of(ctx, "t~2", 2 * RECORDS)->n, 0);
    CHECK_INT(keys_of(ctx, "t~", 3)->n, 3);         /* it is told to stop */
    ctx_end(ctx);
}

/* ---- several processes --------------------------------------------------------------------------------------- */

/* Counts a record up so often, as one of many does; whether it could. */
static bool count_up(int times)
{
    void *ctx = ctx_open(ctx_arg);
    bool good = ctx != NULL;

    for (int done = 0, tries = 0; good && done < times; tries++) {
        got g = { .out = { .b = { .alloc = { block_resize, NULL } } } };
        pawl_err err = { PAWL_OK, "" };
        uint64_t n = 0;
        pawl_code rc = methods->get(ctx, "test", &g.out, &g.version, &err);

        good = rc == PAWL_OK && g.out.b.size == sizeof n;
        if (good)
            memcpy(&n, g.out.b.data, sizeof n);
        got_end(&g);
        n++;
        rc = good ? methods->put(ctx, "test", g.version, g.version + 1, (pawl_bytes){ (const char *)&n, sizeof n }, &err) : rc;
        good = good && (rc == PAWL_OK || rc == PAWL_CONFLICT) && tries < times * ROUNDS_MAX;
        done += rc == PAWL_OK;
    }
    if (ctx != NULL && methods->close != NULL)
        methods->close(ctx);
    return good;
}

PAWL_TEST(test_methods_of_puts_in_many_processes_none_is_lost)
{
    pid_t all[PROCESSES];
    uint64_t n = 0;
    void *ctx;

    if (ctx_open == NULL)
        check_skip("it is in one process alone");
    ctx = fresh_ctx();
    CHECK_INT(put_record(ctx, "test", 0, 1, (pawl_bytes){ (const char *)&n, sizeof n }), PAWL_OK);
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++)
        if ((all[i] = fork()) == 0)
            _exit(!count_up(EACH));
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        CHECK(all[i] > 0 && waitpid(all[i], &status, 0) == all[i]);
        CHECK_INT(status, 0);
    }
    n = PROCESSES * EACH;
    check_record(ctx, "test", 1 + n, (pawl_bytes){ (const char *)&n, sizeof n });
    ctx_end(ctx);
}

int pawl_store_contract_simple(int argc, char **argv, const pawl_simple_methods *given, void *(*open)(void *arg), void *arg)
{
    const pawl_store_maker maker = { .fresh = methods_fresh, .open = methods_open, .shared = true, .spaces = true, .signals_max = SIGNALS_MAX };

    methods = given;
    ctx_open = open;
    ctx_arg = arg;
    return pawl_store_contract(argc, argv, &maker);
}

/* Creates each record if it is not there, as one of many does; how many it created, -1: an error. The version of all writers is the same, or the writer's
 * own: a head has a number that no other writer got, and one that was put at the same time may have the version that this one was to have. */
static int create_all(int me, bool same)
{
    void *ctx = ctx_open(ctx_arg);
    int won = 0;

    for (int i = 0; i < EACH && ctx != NULL && won >= 0; i++) {
        char key[32];
        const char name = (char)('a' + me);
        pawl_err err = { PAWL_OK, "" };
        pawl_code rc;

        snprintf(key, sizeof key, "test~%d", i);
        rc = methods->put(ctx, key, 0, same ? 7 : (uint64_t)me + 1, (pawl_bytes){ &name, 1 }, &err);
        won = rc == PAWL_OK ? won + 1 : rc == PAWL_CONFLICT ? won : -1;
    }
    if (ctx != NULL && methods->close != NULL)
        methods->close(ctx);
    return ctx != NULL ? won : -1;
}

/* So many of the records are of writer `me`. */
static int records_of(void *ctx, int me, bool same)
{
    int n = 0;

    for (int i = 0; i < EACH; i++) {
        got g = get(ctx, text("test~%d", i));

        CHECK_INT(g.rc, PAWL_OK);
        CHECK_INT(g.out.b.size, 1);
        if (g.out.b.data[0] == 'a' + me) {
            CHECK_INT(g.version, same ? 7 : me + 1);
            n++;
        }
        got_end(&g);
    }
    return n;
}

PAWL_TEST(test_methods_of_those_who_create_a_record_at_once_one_does)
{
    pid_t all[PROCESSES];
    void *ctx;

    if (ctx_open == NULL)
        check_skip("it is in one process alone");
    for (int same = 0; same < 2; same++) {
        int created = 0;

        ctx = fresh_ctx();
        fflush(NULL);
        for (int i = 0; i < PROCESSES; i++)
            if ((all[i] = fork()) == 0)
                _exit(create_all(i, same) & 0xff);
        for (int i = 0; i < PROCESSES; i++) {
            int status = -1;

            CHECK(all[i] > 0 && waitpid(all[i], &status, 0) == all[i] && WIFEXITED(status));
            CHECK_INT(WEXITSTATUS(status), records_of(ctx, i, same));       /* each was told what is there */
            created += WEXITSTATUS(status);
        }
        CHECK_INT(created, EACH);
        ctx_end(ctx);
    }
}
