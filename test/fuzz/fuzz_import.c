/* fuzz_import.c - any bytes as an export: a run is made of them, whole, or nothing is, in words (K5, K8). Each is tried as it is, and with
 * the end that it should have, so that more than its digest is looked at. */
#include "fuzz/fuzz_run.h"
#include "pawl/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool see_run(void *ctx, const pawl_head *head)
{
    char *run = ctx;

    must(strlen(head->run) < 200 && *run == '\0' && head->parked == NULL);
    memcpy(run, head->run, strlen(head->run) + 1);
    return true;
}

static bool into_buf(void *ctx, pawl_bytes line)
{
    buf_put(ctx, line.data, line.size);
    return true;
}

/* What was made can be read, and carried on. */
static void look(pawl_store *s, const char *run)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *other = pawl_store_memory(NULL);
    pawl_verdict v;
    pawl_code rc;
    buf lines;

    must(other != NULL);
    buf_init(&lines, NULL);
    must(pawl_history_verify(s, NULL, run, &v, &err) == PAWL_OK);
    rc = pawl_history_export(s, run, into_buf, &lines, &err);
    must_tell(rc, &err);
    must(rc == PAWL_OK && pawl_history_import(other, (pawl_bytes){ lines.data, lines.size }, NULL, &err) == PAWL_OK);
    must(pawl_history_import(other, (pawl_bytes){ lines.data, lines.size }, NULL, NULL) != PAWL_OK || v.entries == 0);
    buf_free(&lines);
    pawl_store_free(other);
}

static void judge(const fuzz_run *r, pawl_bytes lines)
{
    const pawl_machine *machines[2] = { NULL, r->m };

    for (size_t i = 0; i < 2; i++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_store *s = pawl_store_memory(NULL);
        char run[200] = "";
        pawl_code rc;

        must(s != NULL);
        rc = pawl_history_import(s, lines, machines[i], &err);
        must_tell(rc, &err);
        must(rc <= 0 && s->verbs->list(s, NULL, see_run, run, NULL) == PAWL_OK && (rc == PAWL_OK) == (*run != '\0'));
        if (rc == PAWL_OK)
            look(s, run);
        pawl_store_free(s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const fuzz_run *r = fuzz_the_run();
    const char *at = (const char *)data, *end = at + size;
    char hex[HASH_HEX + 1];
    size_t lines = 0;
    hash digest;
    buf sealed;

    judge(r, (pawl_bytes){ at, size });
    buf_init(&sealed, NULL);
    for (const char *nl; at < end; at = nl + 1) {
        if ((nl = memchr(at, '\n', (size_t)(end - at))) == NULL)
            break;
        if (nl - at >= 7 && memcmp(at, "{\"end\":", 7) == 0)
            continue;
        buf_put(&sealed, at, (size_t)(nl - at) + 1);
        lines++;
    }
    hash_of(sealed.data, sealed.size, &digest);
    hash_hex(&digest, hex);
    buf_fmt(&sealed, "{\"end\":{\"lines\":%zu,\"sha256\":\"%s\"}}\n", lines, hex);
    judge(r, (pawl_bytes){ sealed.data, sealed.size });
    buf_free(&sealed);
    return 0;
}
