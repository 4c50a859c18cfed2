/* reader.h - agent files for the program: reading them, and building their machine. */
#ifndef FILE_READER_H
#define FILE_READER_H

#include "file/model.h"

#define FILE_JOB_PREFIX "job-"  /* of the word of an effect: "job-NAME" is the job NAME */

/* Read the file `name`, written in the file `from` (NULL: it is the first); *path: its name from now on, the same for the same file. Both live as long
 * as the arena. */
typedef struct file_reader {
    pawl_code (*read)(void *ctx, arena *mem, const char *from, const char *name, const char **path, pawl_bytes *text, pawl_err *err);
    /* Open the plug-in `name`, written in the file `from`, before its nodes are read. NULL: plug-ins are not available. */
    pawl_code (*plugin)(void *ctx, const char *from, const char *name, pawl_err *err);
    /* Whether a plug-in adds `kind`; its effect has that name, and *cls is its default class. NULL: none do. */
    bool (*kind)(void *ctx, const char *kind, pawl_class *cls);
    /* The program's tools, one by one; NULL after the last. NULL: there are none. */
    const pawl_agent_tool *(*tool)(void *ctx, size_t index);
    /* Compile expressions: `tell` is called with the number of each wrong one. NULL: they are not compiled. */
    pawl_code (*compile)(void *ctx, expression *const *all, size_t n, void (*tell)(void *to, size_t number, const char *text), void *to, pawl_err *err);
    bool kept;                  /* the texts are those of a run: what only newer versions refuse is a note, so that the run goes on */
    bool retries;               /* agents without a `total` in their `retry` have one: requests are tried again over minutes */
    void *ctx;
} file_reader;

/* load.c: read and check a file and all files that it names; errors are added to `f`. NULL: it could not be read at all, or no memory. A file with
 * faults has no machine. */
agent_file *file_load(arena *mem, const char *name, const file_reader *reader, faults *f);
/* build.c: its machine, which refers to the file: free it first. `engine`: the evaluator of expressions ("jq-1.6"), which is part of the hash. NULL: see
 * err; findings of the graph compiler are in `f`. */
pawl_machine *file_machine(agent_file *a, const char *engine, faults *f, pawl_err *err);
/* Add the findings of pawl_graph_check at the places that they name. */
void file_search(const agent_file *a, const pawl_machine *m, faults *f);
bool money_read(const char *text, int64_t *micros);         /* "1.50" in millionths. False: not an amount, or more than 6 decimals */
extern const char *const node_key_names[];
extern const size_t node_key_count;

#endif
