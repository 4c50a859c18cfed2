/* report.c - reports of compile and check: findings, each with its path. The caller owns a report. */
#include "graph/graph.h"

#include <string.h>

enum { REPORT_BYTES_FIRST = 512 };

pawl_report *report_new(const pawl_alloc *alloc)
{
    pawl_alloc mem = mem_or_default(alloc);
    pawl_report *r = mem_new(&mem, sizeof *r);

    if (r == NULL)
        return NULL;
    arena_init(&r->mem, &mem, REPORT_BYTES_FIRST);
    r->exhaustive = true;
    return r;
}

/* Without memory r->mem.failed is set; the maker of the report checks it once, at the end. */
void report_add(pawl_report *r, pawl_severity severity, const char *kind, const char *text, const char *path)
{
    fault *f = arena_zero(&r->mem, sizeof *f);

    if (f == NULL)
        return;
    f->f = (pawl_finding){ .severity = severity, .kind = kind, .text = arena_strdup(&r->mem, text, strlen(text)),
                           .path = arena_strdup(&r->mem, path, strlen(path)) };
    if (r->last == NULL)
        r->first = f;
    else
        r->last->next = f;
    r->last = f;
    r->count++;
}

void report_printf(pawl_report *r, pawl_severity severity, const char *kind, const char *path, const char *fmt, ...)
{
    pawl_err text = {0};
    va_list args;

    va_start(args, fmt);
    failv(&text, PAWL_INVALID, fmt, args);
    va_end(args);
    if (path == NULL)           /* the caller had no memory to build it */
        r->mem.failed = true;
    else
        report_add(r, severity, kind, text.text, path);
}

size_t pawl_report_count(const pawl_report *r) { return r != NULL ? r->count : 0; }
bool pawl_report_exhaustive(const pawl_report *r) { return r != NULL && r->exhaustive; }

const pawl_finding *pawl_report_at(const pawl_report *r, size_t index)
{
    const fault *f = r != NULL ? r->first : NULL;

    for (; f != NULL && index > 0; index--)
        f = f->next;
    return f != NULL ? &f->f : NULL;
}

void pawl_report_free(pawl_report *r)
{
    if (r == NULL)
        return;
    pawl_alloc mem = r->mem.alloc;

    arena_free(&r->mem);
    mem_free(&mem, r, sizeof *r);
}
