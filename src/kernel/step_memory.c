/* step_memory.c - the memory of a step: made, emptied, freed; its texts, references and the error of the current visit.
 *
 * The lowest file of the step: it folds no item. Called by all code that builds an item or writes a state, on the thread that owns the step.
 * A text of step_text() is valid until the next call of step_text(); a text of step_copy() until step_reset(). */
#include "kernel/machine.h"
#include "kernel/step.h"
#include "kernel/visit.h"

#include <string.h>

enum { STEP_BYTES_FIRST = 8192, SIDE_BYTES = 32768, BLOCK_BYTES = sizeof(pawl_step) + CACHE_LINE - 1 };

pawl_step *pawl_step_new(const pawl_alloc *alloc)
{
    pawl_alloc mem = mem_or_default(alloc);
    char *block = mem_new(&mem, BLOCK_BYTES);
    pawl_step *s;

    if (block == NULL)
        return NULL;
    s = (void *)(block + (-(uintptr_t)block & (CACHE_LINE - 1)));
    s->block = block;
    s->alloc = mem;
    arena_init(&s->mem, &mem, STEP_BYTES_FIRST);
    buf_init(&s->out, &mem);
    buf_init(&s->scratch, &mem);
    buf_init(&s->text, &mem);
    blobs_init(&s->blobs, &mem, &s->mem);
    return s;
}

void pawl_step_free(pawl_step *s)
{
    if (s == NULL)
        return;
    pawl_alloc mem = s->alloc;

    arena_free(&s->mem);
    buf_free(&s->out);
    buf_free(&s->scratch);
    buf_free(&s->text);
    blobs_done(&s->blobs);
    if (s->derived.at != NULL)
        s->derived.free(s->derived.at);
    mem_free(&mem, s->refs.list, s->refs_cap * sizeof *s->refs.list);
    mem_free(&mem, s->block, BLOCK_BYTES);
}

void step_reset(pawl_step *s)
{
    if (s->mem.first == s->mem.last)
        arena_reset(&s->mem);
    else
        arena_free(&s->mem);    /* the step needed several chunks: arena_slow() has raised chunk_bytes, so the next step gets one large chunk */
    s->st = NULL;
    s->side.left = 0;
    s->refs.count = s->refs.next = 0;
    blobs_reset(&s->blobs);
    s->final = -1;
    s->whole = s->skips_machine = false;
    mem_zero(&s->entry, offsetof(pawl_step, ev) - offsetof(pawl_step, entry));
    s->entry.mem = &s->mem;
}

void *step_side(pawl_step *s, size_t size)
{
    const size_t whole = (size + (CACHE_LINE - 1)) & ~(size_t)(CACHE_LINE - 1);
    char *at;

    if (whole > s->side.left) {
        if ((at = arena_get(&s->mem, SIDE_BYTES + CACHE_LINE)) == NULL)
            return NULL;
        s->side.at = at + (-(uintptr_t)at & (CACHE_LINE - 1));
        s->side.left = SIDE_BYTES;
    }
    at = s->side.at;
    s->side.at += whole;
    s->side.left -= whole;
    return at;
}

pawl_entry *pawl_step_entry(pawl_step *s)
{
    return s->has_entry ? &s->entry : NULL;
}

pawl_bytes pawl_step_bytes(const pawl_step *s)
{
    return s->has_entry ? s->entry.bytes : (pawl_bytes){0};
}

/* ---- texts and references ----------------------------------------------------------------------- */

buf *step_text(pawl_step *s)
{
    buf_reset(&s->text);
    return &s->text;
}

const char *step_copy(pawl_step *s, const buf *b, size_t *size)
{
    if (size != NULL)
        *size = b->size;
    if (b->failed) {
        s->mem.failed = true;
        return NULL;
    }
    return arena_strdup(&s->mem, b->data != NULL ? b->data : "", b->size);
}

pawl_code step_ref(pawl_step *s, const pawl_value *node, const char *form, const char *target, const char *digest)
{
    if (!mem_room(&s->alloc, (void **)&s->refs.list, &s->refs_cap, s->refs.count, sizeof *s->refs.list)) {
        s->mem.failed = true;
        return PAWL_NOMEM;
    }
    s->refs.list[s->refs.count++] = (value_ref){ node, form, target, digest };
    return PAWL_OK;
}

/* Searches from the newest: the wanted reference is mostly recent, and a step may have very many. */
const value_ref *step_ref_of(const pawl_step *s, const pawl_value *node)
{
    for (size_t i = s->refs.count; i > 0; i--)
        if (s->refs.list[i - 1].node == node)
            return &s->refs.list[i - 1];
    return NULL;
}

const char *reason_code(pawl_step *s, pawl_code code, const char *text, const pawl_value *more, size_t *size)
{
    buf *b = step_text(s);

    buf_text(b, "{\"code\":\"");
    buf_text(b, pawl_code_name(code));
    if (more != NULL) {
        buf_text(b, "\",\"receipt\":");
        canon(b, more);
        buf_text(b, ",\"text\":");
    } else {
        buf_text(b, "\",\"text\":");
    }
    canon_string(b, text, strlen(text));
    buf_char(b, '}');
    return step_copy(s, b, size);
}

const char *pawl_format(pawl_step *s, const char *format, ...)
{
    buf *b = step_text(s);
    va_list args;

    va_start(args, format);
    buf_fmtv(b, format, args);
    va_end(args);
    return step_copy(s, b, NULL);
}

pawl_code visit_wrong(pawl_step *s, pawl_code code, const char *fmt, ...)
{
    pawl_err what = { PAWL_OK, "" };
    va_list args;

    va_start(args, fmt);
    failv(&what, code, fmt, args);
    va_end(args);
    if (*s->v->node == '\0')
        return fail(&s->v->err, code, "%s: %s", s->m->name, what.text);     /* a reducer has no node */
    return fail(&s->v->err, code, "node \"%s\": %s", s->v->node, what.text);
}
