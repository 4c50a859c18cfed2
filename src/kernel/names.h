/* names.h - the limits and the stored names of the kernel.
 *
 * Every number that stands in a journal has its name here, in tables that are indexed by it. Pure: called from anywhere. */
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

const char *item_name(unsigned kind);
int item_kind_of(const char *name, size_t size);    /* -1: none */
/* The run that a child of `run`, of which `n` bytes are its id, is: RUN.sub-SAID, characters that no id has as '-'; too long, RUN cut and digits
 * made of both. NULL: no memory. */
const char *child_run_name(arena *a, const char *run, size_t n, const char *said);
int name_index(const char *const *names, size_t n, const char *name);  /* -1: none */
extern const char *const kind_names[12], *const status_names[7], *const outcome_names[5];
extern const char *const class_names[5], *const wait_names[5], *const rule_names[13], *const op_names[3];
bool name_valid(const char *name);              /* of a node, a channel, an effect */
bool channel_name_valid(const char *name);      /* or of one of Pawl's own: */
bool channel_own(const char *name);             /* begins with @; no expression sees it, no output shows it */
bool run_id_valid(const char *id);
uint32_t name_hash(const char *name);
uint32_t name_hash_of(const char *name, size_t size);   /* the same, of a name without NUL */
void hex64(uint64_t n, char out[17]);
bool unhex64(const char *text, uint64_t *n);             /* 16 digits; false: they are none */

#endif
