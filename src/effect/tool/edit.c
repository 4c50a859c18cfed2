/* edit.c - the tools edit_file and write_file.
 *
 * Called by call.c. A file is replaced completely or not at all (workspace_fs.c). */
#include "effect/tool/tool.h"

/* ---- what is found and replaced ----------------------------------------------------------------------- */

/* Adds CR to line ends without one. */
static void with_cr(buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r'))
            buf_char(out, '\r');
        buf_char(out, text[i]);
    }
}

/* Decided by the first line. */
static bool has_cr(const buf *file)
{
    const char *end = file->size > 0 ? memchr(file->data, '\n', file->size) : NULL;

    return end != NULL && end > file->data && end[-1] == '\r';
}

static const char *find(const char *from, const char *end, const buf *what)
{
    while ((size_t)(end - from) >= what->size) {
        const char *p = memchr(from, what->data[0], (size_t)(end - from) - what->size + 1);

        if (p == NULL || memcmp(p, what->data, what->size) == 0)
            return p;
        from = p + 1;
    }
    return NULL;
}

typedef struct edit {
    tool_call *c;
    buf file, old, new_, out;
    size_t fits;
} edit;

/* Counts non-overlapping matches of `old` and writes the result to `out`. */
static void replace(edit *e)
{
    const char *at = e->file.data, *end = at + e->file.size, *p;

    buf_reset(&e->out);
    for (e->fits = 0; (p = find(at, end, &e->old)) != NULL; e->fits++) {
        buf_put(&e->out, at, (size_t)(p - at));
        buf_put(&e->out, e->new_.data, e->new_.size);
        at = p + e->old.size;
        if (e->out.size > FILE_BYTES_MAX)
            return;
    }
    buf_put(&e->out, at, (size_t)(end - at));
}

static bool edit_failed(const edit *e)
{
    return e->file.failed || e->old.failed || e->new_.failed || e->out.failed;
}

static void text_take(buf *out, const pawl_value *text, bool cr)
{
    buf_reset(out);
    if (cr)
        with_cr(out, pawl_value_string(text), pawl_value_size(text));
    else
        buf_put(out, pawl_value_string(text), pawl_value_size(text));
}

/* First with the line end of the file's first line; if nothing matches, with the other one: a file may have both, and the model does not see CR. */
static void replace_asked(edit *e)
{
    const pawl_value *old = pawl_value_get(e->c->input, "old_string"), *new_ = pawl_value_get(e->c->input, "new_string");
    bool cr = has_cr(&e->file);

    for (int i = 0; i < 2 && e->fits == 0; i++, cr = !cr) {
        text_take(&e->old, old, cr);
        text_take(&e->new_, new_, cr);
        if (edit_failed(e))
            return;
        replace(e);
    }
}

/* Whether matches overlap, as }} does in }}}. */
static bool overlaps(const edit *e)
{
    const char *end = e->file.data + e->file.size, *first = find(e->file.data, end, &e->old);

    return first != NULL && find(first + 1, end, &e->old) != NULL;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static pawl_code edit_write(edit *e, const roots *r, const char *path, const file_place *p, const struct stat *read)
{
    pawl_code rc = PAWL_OK;
    file_place now;
    bool same = place_seek(e->c, r, path, MISSING_IS_ERROR, &now, &rc);

    if (same && (strcmp(now.path, p->path) != 0 || !same_file(&now.st, read)))
        rc = tool_error(e->c, "IO error: %s: somebody else has changed it meanwhile; read it again", path);
    else if (same && place_write(e->c, &now, path, e->out.data != NULL ? e->out.data : "", e->out.size, &rc)) {
        seen_bytes(e->c, &now, e->out.data != NULL ? e->out.data : "", e->out.size);
        buf_fmt(&e->c->out, "Edited %s: %zu place%s", path, e->fits, e->fits == 1 ? "" : "s");
        rc = tool_text(e->c, CUT_END, false);
    }
    place_free(&now);
    return rc;
}

static pawl_code edit_at(edit *e, const roots *r, const char *path, const file_place *p)
{
    tool_call *c = e->c;
    struct stat st;
    pawl_code rc = PAWL_OK;

    if (!place_load(c, p, path, FILE_BYTES_MAX, &e->file, &st, &rc))
        return rc;
    if (!seen_allows(c, p, path, e->file.size > 0 ? e->file.data : "", e->file.size, &rc))
        return rc;
    if (e->file.size > 0 && memchr(e->file.data, '\0', e->file.size) != NULL)
        return tool_error(c, "Invalid arguments: %s: it is no text (%zu bytes)", path, e->file.size);
    if (e->file.size > 0)
        replace_asked(e);
    if (edit_failed(e))
        return tool_nomem(c);
    if (e->out.size > FILE_BYTES_MAX)
        return tool_error(c, "Invalid arguments: %s: it would have more than %d bytes", path, FILE_BYTES_MAX);
    if (e->fits == 0)
        return tool_error(c, "Target not found: old_string does not occur in %s", path);
    if (e->fits > 1 && !input_flag(c, "replace_all"))
        return tool_error(c, "Invalid arguments: old_string fits %zu times in %s; give more of what is around it, or replace_all", e->fits, path);
    if (e->fits == 1 && !input_flag(c, "replace_all") && overlaps(e))
        return tool_error(c, "Invalid arguments: old_string fits in %s more than once, one over the other; give more of what is around it", path);
    return edit_write(e, r, path, p, &st);
}

pawl_code tool_edit(tool_call *c)
{
    const char *path = input_text(c, "file_path");
    pawl_code rc = PAWL_OK;
    edit e = { .c = c };
    roots *r;
    file_place p;

    if (pawl_value_equal(pawl_value_get(c->input, "old_string"), pawl_value_get(c->input, "new_string")))
        return tool_error(c, "Invalid arguments: old_string and new_string are the same");
    if ((r = roots_open(c, &rc)) == NULL)
        return rc;
    buf_init(&e.file, &c->r->alloc);
    buf_init(&e.old, &c->r->alloc);
    buf_init(&e.new_, &c->r->alloc);
    buf_init(&e.out, &c->r->alloc);
    if (place_seek(c, r, path, MISSING_IS_ERROR, &p, &rc))
        rc = edit_at(&e, r, path, &p);
    place_free(&p);
    buf_free(&e.out);
    buf_free(&e.new_);
    buf_free(&e.old);
    buf_free(&e.file);
    roots_close(r);
    return rc;
}

/* ---- written whole ----------------------------------------------------------------------------------------- */

pawl_code tool_write(tool_call *c)
{
    const pawl_value *content = pawl_value_get(c->input, "content");
    const char *path = input_text(c, "file_path");
    pawl_code rc = PAWL_OK;
    roots *r;
    file_place p;

    if (pawl_value_size(content) > FILE_BYTES_MAX)
        return tool_error(c, "Invalid arguments: content has more than %d bytes", FILE_BYTES_MAX);
    if ((r = roots_open(c, &rc)) == NULL)
        return rc;
    if (place_seek(c, r, path, MISSING_FOLDERS_ARE_MADE, &p, &rc) && seen_allows_file(c, &p, path, &rc) &&
        place_write(c, &p, path, pawl_value_string(content), pawl_value_size(content), &rc)) {
        seen_bytes(c, &p, pawl_value_string(content), pawl_value_size(content));
        buf_fmt(&c->out, "%s %s: %zu bytes", p.there ? "Wrote" : "Created", path, pawl_value_size(content));
        rc = tool_text(c, CUT_END, false);
    }
    place_free(&p);
    roots_close(r);
    return rc;
}
