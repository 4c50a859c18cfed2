/* reading.h - a text read in a test, its tree and what is told of it as text. */
#ifndef TEST_FILE_READING_H
#define TEST_FILE_READING_H

#include "file/file.h"
#include "lib/check.h"
#include "lib/heap.h"

typedef struct bench {
    heap h;
    pawl_alloc alloc;
    arena mem;
    faults f;
    buf out;
} bench;

static inline bench *bench_new(void)
{
    static bench b;

    heap_init(&b.h);
    b.alloc = heap_alloc(&b.h);
    arena_init(&b.mem, &b.alloc, 1024);
    faults_init(&b.f, &b.mem);
    buf_init(&b.out, NULL);
    return &b;
}

static inline void bench_free(bench *b)
{
    buf_free(&b->out);
    arena_free(&b->mem);
    heap_check(&b->h);
}

/* What is told, a line each: `LINE:COLUMN KIND: TEXT`. */
static inline const char *told(bench *b)
{
    buf_reset(&b->out);
    for (const file_fault *f = b->f.first; f != NULL; f = f->next)
        buf_fmt(&b->out, "%u:%u %s%s: %s\n", (unsigned)f->at.line, (unsigned)f->at.column, f->severity == PAWL_SEVERITY_WARNING ? "warning " : "", f->kind,
                f->text);
    buf_char(&b->out, '\0');
    CHECK(!b->out.failed);
    return b->out.data;
}

static inline doc *read_text(bench *b, const char *text, size_t size)
{
    return doc_read(&b->mem, "test.yaml", (pawl_bytes){ text, size }, &b->f);
}

/* `text` must be refused, and that be told. */
static inline void refused(const char *text, const char *expected)
{
    bench *b = bench_new();

    CHECK(read_text(b, text, strlen(text)) == NULL);
    CHECK_STR(told(b), expected);
    CHECK(b->f.count > 0 && !b->mem.failed);
    bench_free(b);
}

#endif
