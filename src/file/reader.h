/* reader.h - an agent file from outside: what reads it, and what becomes of it. */
#ifndef FILE_READER_H
#define FILE_READER_H

#include "file/model.h"

/* Read what `name`, written in the file `from` (NULL: it is the first), stands for; *path: what it is called from now on, the same for
 * the same file. Both live as long as the arena. */
typedef struct file_reader {
    pawl_code (*read)(void *ctx, arena *mem, const char *from, const char *name, const char **path, pawl_bytes *text, pawl_err *err);
    /* Open the plug-in `name`, written in the file `from`, before its nodes are read. NULL: there are none. */
    pawl_code (*plugin)(void *ctx, const char *from, const char *name, pawl_err *err);
    /* Whether a plug-in adds `kind`; its effect has that name, and *cls where nothing is said. NULL: none do. */
    bool (*kind)(void *ctx, const char *kind, pawl_class *cls);
    /* The tools that come with the program, one by one; NULL behind the last. NULL: there are none. */
    const pawl_agent_tool *(*tool)(void *ctx, size_t index);
    /* What is wrong with expressions: tells by number. NULL: they are not compiled. */
    pawl_code (*compile)(void *ctx, expression *const *all, size_t n, void (*tell)(void *to, size_t number, const char *text), void *to, pawl_err *err);
    void *ctx;
} file_reader;

/* load.c: read a file and all that it leads to, and look it over; whatever is wrong is told to `f`. NULL: nothing of it could be read, or no
 * memory. With faults it is there for a look, and no machine. */
agent_file *file_load(arena *mem, const char *name, const file_reader *reader, faults *f);
/* build.c: its machine, which leans on the file: free it first. `engine`: what evaluates expressions ("jq-1.6"), part of the hash. NULL: see
 * err, and `f` has what the graph's own compiler found. */
pawl_machine *file_machine(agent_file *a, const char *engine, faults *f, pawl_err *err);
/* What pawl_graph_check finds, in the places that it names. */
void file_search(const agent_file *a, const pawl_machine *m, faults *f);
bool money_read(const char *text, int64_t *micros);         /* "1.50" as millionths. False: it is no amount, or has more than 6 digits behind the point */
extern const char *const node_key_names[];
extern const size_t node_key_count;

#endif
