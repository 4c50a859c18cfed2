/* fuzz_anchor.c - any bytes as a file of anchors: each line is read, or told by its number, and what is read is what it says; the runs of a store are judged by
 * them, and no verdict depends on how the bytes come in. */
#include "fuzz/fuzz_run.h"
#include "history/anchor.h"
#include "lib/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void see(void *ctx, const pawl_anchor_finding *f)
{
    const uint64_t lines = *(const uint64_t *)ctx;

    must(f->text != NULL && *f->text != '\0' && pawl_anchor_fault_name(f->fault)[0] != '\0' && f->line <= lines);
}

/* A line that is read can be written, and is read alike. */
static void line_judge(const char *text, size_t size)
{
    char line[PAWL_ANCHOR_LINE_BYTES];
    pawl_anchor head = { .run = NULL };
    anchor_line a, b;
    arena mem;

    arena_init(&mem, NULL, 4096);
    if (size < PAWL_ANCHOR_LINE_BYTES && anchor_read(&mem, text, size, &a, NULL) == PAWL_OK) {
        head.run = a.run;
        head.life = a.life;
        head.seq = a.seq;
        head.records = a.records;
        head.removed = a.removed;
        hash_hex(&a.head, head.head);
        hash_hex(&a.open, head.open);
        if (pawl_anchor_line(a.store, &head, a.at_ms, line, NULL) == PAWL_OK) {
            must(anchor_read(&mem, line, strlen(line) - 1, &b, NULL) == PAWL_OK && strcmp(a.run, b.run) == 0 && strcmp(a.store, b.store) == 0);
            must(a.life == b.life && a.seq == b.seq && a.records == b.records && a.at_ms == b.at_ms && a.removed == b.removed);
            must(hash_equal(&a.head, &b.head));
        }
    }
    (void)anchor_after_torn(text, size);
    arena_free(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = text + size;
    pawl_store *s = pawl_store_memory(NULL);
    pawl_anchored one = {0}, all = {0};
    uint64_t lines = 1;

    must(s != NULL);
    for (const char *at = text, *nl; at < end; at = nl + 1) {
        nl = memchr(at, '\n', (size_t)(end - at));
        line_judge(at, (size_t)((nl != NULL ? nl : end) - at));
        lines++;
        if (nl == NULL)
            break;
    }
    must(pawl_history_anchored(s, NULL, piece, &(pieces){ text, size, 1 }, see, &lines, &one, NULL) == PAWL_OK);
    must(pawl_history_anchored(s, NULL, piece, &(pieces){ text, size, size + 1 }, see, &lines, &all, NULL) == PAWL_OK);
    must(one.lines == all.lines && one.findings == all.findings && one.torn == all.torn && one.others == all.others);
    pawl_store_free(s);
    return 0;
}
