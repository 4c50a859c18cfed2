/* names.h - the limits and the stored names of the kernel.
 *
 * Every enum value that a journal stores has its name here, in a table that the value indexes. Pure: any caller, any thread. */
#ifndef KERNEL_NAMES_H
#define KERNEL_NAMES_H

#include "json/json.h"
#include "pawl/kernel.h"

enum {
    NAME_BYTES_MAX = 64,        /* of a node, a channel, an effect */
    RUN_BYTES_MAX = 128,
    PATH_BYTES_MAX = 1024,      /* of a task inside subgraphs */
    ID_BYTES_MAX = RUN_BYTES_MAX + 18 + PATH_BYTES_MAX + 64,
    RACES_MAX = 16,             /* decided in one pass of a node */
    FORMAT = 1
};

#define SNAPSHOT_MEMBER "@snapshot"     /* of an update: {"digest","seq"} of the snapshot of the entry before (K11) */

const char *item_name(unsigned kind);
int item_kind_of(const char *name, size_t size);    /* -1: none */
/* The id of a child run: RUN.sub-SAID, with '-' for characters that an id must not have. `n`: bytes of the id of `run`. Too long: RUN is
 * truncated and a hash of both is added. NULL: no memory. */
const char *child_run_name(arena *a, const char *run, size_t n, const char *said);
int name_index(const char *const *names, size_t n, const char *name);  /* -1: none */
extern const char *const kind_names[12], *const status_names[7], *const outcome_names[5];
extern const char *const class_names[5], *const wait_names[5], *const rule_names[13], *const op_names[3];
bool name_valid(const char *name);              /* of a node, a channel, an effect */
bool channel_name_valid(const char *name);      /* the same, and names of Pawl's own channels: */
bool channel_own(const char *name);             /* starts with @; expressions cannot read it and outputs leave it out */
bool run_id_valid(const char *id);
uint32_t name_hash(const char *name);
uint32_t name_hash_of(const char *name, size_t size);   /* the same, for a name without NUL */
void hex64(uint64_t n, char out[17]);
bool unhex64(const char *text, uint64_t *n);             /* exactly 16 hexadecimal digits, else false */

#endif
