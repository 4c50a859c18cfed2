/* filing.h - agent files loaded in a test: from a folder, or from texts that are given; a plug-in that is none, and jq that knows when it
 * is asked for what does not exist. */
#ifndef TEST_FILE_FILING_H
#define TEST_FILE_FILING_H

#include "file/reader.h"
#include "file/reading.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct filing_text { const char *name, *text; } filing_text;
typedef struct filing {
    const char *folder;         /* where files are; NULL: */
    const filing_text *texts;   /* these are all that there are; the last has no name */
} filing;

static inline pawl_code filing_disk(arena *mem, const char *folder, const char *path, pawl_bytes *text, pawl_err *err)
{
    char full[1024];
    char *data = arena_get(mem, FILE_BYTES_MAX + 2);
    FILE *f;

    snprintf(full, sizeof full, "%s/%s", folder, path);
    if (data == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory", path);
    if ((f = fopen(full, "rb")) == NULL)
        return fail(err, PAWL_IO, "%s: no such file", path);
    *text = (pawl_bytes){ data, fread(data, 1, FILE_BYTES_MAX + 1, f) };
    fclose(f);
    return PAWL_OK;
}

/* A name is beside the file that it stands in. */
static inline pawl_code filing_read(void *ctx, arena *mem, const char *from, const char *name, const char **path, pawl_bytes *text, pawl_err *err)
{
    const filing *f = ctx;
    const char *slash = from != NULL ? strrchr(from, '/') : NULL;
    size_t head = slash != NULL ? (size_t)(slash - from) + 1 : 0;
    char *full = arena_get(mem, head + strlen(name) + 1);

    if (full == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory", name);
    if (head > 0)
        memcpy(full, from, head);
    memcpy(full + head, name, strlen(name) + 1);
    *path = full;
    if (f->folder != NULL)
        return filing_disk(mem, f->folder, full, text, err);
    for (const filing_text *t = f->texts; t->name != NULL; t++)
        if (strcmp(t->name, full) == 0) {
            *text = (pawl_bytes){ t->text, strlen(t->text) };
            return PAWL_OK;
        }
    return fail(err, PAWL_IO, "%s: no such file", full);
}

static inline pawl_code filing_plugin(void *ctx, const char *from, const char *name, pawl_err *err)
{
    (void)ctx, (void)from;
    return strcmp(name, "./good.so") == 0 ? PAWL_OK : fail(err, PAWL_IO, "%s: it cannot be opened", name);
}

static inline bool filing_kind(void *ctx, const char *kind, pawl_class *cls)
{
    (void)ctx;
    if (strcmp(kind, "greet") != 0)
        return false;
    *cls = PAWL_CLASS_IDEMPOTENT;
    return true;
}

static inline pawl_code filing_compile(void *ctx, expression *const *all, size_t n, void (*tell)(void *to, size_t number, const char *text), void *to,
                                       pawl_err *err)
{
    (void)ctx, (void)err;
    for (size_t i = 0; i < n; i++)
        if (strstr(all[i]->text, "nosuch") != NULL)
            tell(to, i, "nosuch/0 is not defined");
    return PAWL_OK;
}

/* Tools as if they came with the program. */
static inline const pawl_agent_tool *filing_tool(void *ctx, size_t index)
{
    static const pawl_agent_tool all[] = {
        { .name = "read_file", .rule = "Read", .description = "Read.", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_READ,
            .effect = PAWL_CLASS_PURE,
          .beside = true },
        { .name = "bash", .rule = "Bash", .description = "Run.", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_EXEC,
            .effect = PAWL_CLASS_ONCE, .mutates = true },
        { .name = "spawn_agent", .rule = "Agent", .description = "Call another agent.", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_OTHER,
          .own = PAWL_OWN_SPAWN_AGENT },
    };

    (void)ctx;
    return index < sizeof all / sizeof *all ? &all[index] : NULL;
}

static inline file_reader filing_reader(filing *f)
{
    return (file_reader){ .read = filing_read, .plugin = filing_plugin, .kind = filing_kind, .compile = filing_compile, .tool = filing_tool, .ctx = f };
}

#endif
