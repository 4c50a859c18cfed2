/* broken_methods_test.c - the contract of three methods finds methods that break a promise: each is broken in one way, and the contract must fail. */
#include "pawl/store_test.h"
#include "store/three.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static three shelf = { .lock = PTHREAD_MUTEX_INITIALIZER, .knows_versions = true };

static uint64_t version_now(const char *key)
{
    const three_record *r = three_find(&shelf, key);

    return r == NULL ? 0 : r->version;
}

/* ---- one promise broken each --------------------------------------------------------------------- */

static pawl_code put_whatever_is_there(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    (void)before;
    return three_put(ctx, key, version_now(key), version, value, err);
}

static pawl_code put_over_nothing(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    return three_put(ctx, key, version_now(key) == 0 ? 0 : before, version, value, err);        /* a record that was removed comes back */
}

static pawl_code put_over_something(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    return three_put(ctx, key, before == 0 ? version_now(key) : before, version, value, err);   /* insert or replace */
}

static pawl_code put_half(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    if (value.size > 100000)
        value.size /= 2;
    return three_put(ctx, key, before, version, value, err);
}

static pawl_code put_as_text(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    if (value.data != NULL)
        value.size = strnlen(value.data, value.size);
    return three_put(ctx, key, before, version, value, err);
}

static pawl_code put_32_bits(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    return three_put(ctx, key, (uint32_t)before, (uint32_t)version, value, err);
}

static pawl_code put_never_removed(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    return value.data == NULL ? PAWL_OK : three_put(ctx, key, before, version, value, err);
}

static pawl_code put_removed_always(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    return three_put(ctx, key, value.data == NULL ? version_now(key) : before, version, value, err);
}

static void key_short(const char *key, char out[PAWL_KEY_BYTES_MAX + 1])
{
    snprintf(out, PAWL_KEY_BYTES_MAX + 1, "%.200s", key);
}

static pawl_code put_short(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    char cut[PAWL_KEY_BYTES_MAX + 1];

    key_short(key, cut);
    return three_put(ctx, cut, before, version, value, err);
}

static pawl_code get_short(void *ctx, const char *key, pawl_out *out, uint64_t *version, pawl_err *err)
{
    char cut[PAWL_KEY_BYTES_MAX + 1];

    key_short(key, cut);
    return three_get(ctx, cut, out, version, err);
}

static pawl_code get_nothing_as_empty(void *ctx, const char *key, pawl_out *out, uint64_t *version, pawl_err *err)
{
    pawl_code rc = three_get(ctx, key, out, version, err);

    return rc == PAWL_GONE ? PAWL_OK : rc;
}

static pawl_code get_without_version(void *ctx, const char *key, pawl_out *out, uint64_t *version, pawl_err *err)
{
    uint64_t unused;

    *version = 1;
    return three_get(ctx, key, out, &unused, err);
}

typedef struct listing { pawl_record_fn *fn; void *ctx; size_t n; } listing;

static bool all_but_the_hundredth(void *ctx, const char *key, uint64_t version)
{
    listing *l = ctx;

    return ++l->n == 100 || l->fn(l->ctx, key, version);
}

static pawl_code list_not_all(void *ctx, const char *prefix, pawl_record_fn *fn, void *fn_ctx, pawl_err *err)
{
    listing l = { fn, fn_ctx, 0 };

    return three_list(ctx, prefix, all_but_the_hundredth, &l, err);
}

static bool old_version(void *ctx, const char *key, uint64_t version)
{
    listing *l = ctx;

    return l->fn(l->ctx, key, version > 4000 ? 1 : version);
}

static pawl_code list_old_versions(void *ctx, const char *prefix, pawl_record_fn *fn, void *fn_ctx, pawl_err *err)
{
    listing l = { fn, fn_ctx, 0 };

    return three_list(ctx, prefix, old_version, &l, err);
}

static bool never_stops(void *ctx, const char *key, uint64_t version)
{
    listing *l = ctx;

    (void)l->fn(l->ctx, key, version);
    return true;
}

static pawl_code list_to_the_end(void *ctx, const char *prefix, pawl_record_fn *fn, void *fn_ctx, pawl_err *err)
{
    listing l = { fn, fn_ctx, 0 };

    return three_list(ctx, prefix, never_stops, &l, err);
}

/* As SQL's LIKE, without an escape. */
static pawl_code list_like(void *ctx, const char *prefix, pawl_record_fn *fn, void *fn_ctx, pawl_err *err)
{
    three *t = ctx;

    (void)err;
    for (size_t i = 0, k; i < t->n; i++) {
        for (k = 0; prefix[k] != '\0' && (prefix[k] == '_' ? t->all[i].key[k] != '\0' : prefix[k] == t->all[i].key[k]);)
            k++;
        if (prefix[k] == '\0' && !fn(fn_ctx, t->all[i].key, t->all[i].version))
            break;
    }
    return PAWL_OK;
}

/* ---- all of them -------------------------------------------------------------------------------------- */

static const struct { const char *name; pawl_simple_methods methods; } all[] = {
    { "nothing", { .put = three_put } },        /* the one that must pass */
    { "a put replaces whatever is there", { .put = put_whatever_is_there } },
    { "a put brings back what was removed", { .put = put_over_nothing } },
    { "a put that expects nothing replaces", { .put = put_over_something } },
    { "a put stores half", { .put = put_half } },
    { "a put stores texts", { .put = put_as_text } },
    { "versions have 32 bits", { .put = put_32_bits } },
    { "nothing is ever removed", { .put = put_never_removed } },
    { "a removal looks at no version", { .put = put_removed_always } },
    { "keys are cut", { .put = put_short, .get = get_short } },
    { "what is not there is empty", { .get = get_nothing_as_empty } },
    { "get gives no version", { .get = get_without_version } },
    { "a list leaves one out", { .list = list_not_all } },
    { "a list gives old versions", { .list = list_old_versions } },
    { "a list does not stop", { .list = list_to_the_end } },
    { "a list takes _ for any character", { .list = list_like } },
};

static int contract_of(pawl_simple_methods m)
{
    static char filter[] = "test_methods";
    char *argv[] = { filter, filter, NULL };
    const int null = open("/dev/null", O_WRONLY);

    m.name = "broken";
    m.put = m.put != NULL ? m.put : three_put;
    m.get = m.get != NULL ? m.get : three_get;
    m.list = m.list != NULL ? m.list : three_list;
    dup2(null, 1);
    dup2(null, 2);
    return pawl_store_contract_simple(2, argv, &m, NULL, &shelf);
}

int main(void)
{
    int failed = 0, n = (int)(sizeof all / sizeof *all);

    fflush(NULL);
    for (int i = 0; i < n; i++) {
        const pid_t child = fork();
        int status = 0;

        if (child == 0)
            _exit(contract_of(all[i].methods));
        waitpid(child, &status, 0);
        if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0) == (i == 0)) {
            fprintf(stderr, "broken: %s: the contract %s\n", all[i].name, i == 0 ? "fails" : "does not find it");
            failed++;
        }
    }
    printf("%d passed, %d failed, 0 skipped\n", n - failed, failed);
    return failed > 0;
}
