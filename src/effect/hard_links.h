/* hard_links.h - the other names of a file: whether a deny rule fits one of them, be it a hard link or a path through links (P8). */
#ifndef EFFECT_HARD_LINKS_H
#define EFFECT_HARD_LINKS_H

#include "json/json.h"
#include "policy/file_rules.h"

#include <sys/stat.h>

enum {
    DENIED_SEEN_MAX = 1000000,  /* names that are looked at below the places of the rules */
    DENIED_INSIDE_MAX = 100000, /* of these, names in folders that are denied to read, whose files may have other names */
    DENIED_TOPS_MAX = 500       /* files and folders that a sandbox keeps from a command */
};

/* The files that a deny rule fits. */
typedef struct denied_files denied_files;
typedef bool denied_stop_fn(void *ctx);         /* true: stop looking */
/* Looks below the places that the rules name, no further. In `mem`, which holds the result; NULL: no memory. `stop` may be NULL. */
denied_files *denied_files_find(arena *mem, const pawl_policy *p, const file_use *u, denied_stop_fn *stop, void *ctx);
/* The name by which a rule fits this file; NULL: none was found. */
const char *denied_files_twin(const denied_files *d, const struct stat *st);
/* Not all names could be looked at, so that no twin found means nothing. */
bool denied_files_cut(const denied_files *d);

/* The outermost files and folders that a deny rule fits, without links, and the other names of such files in `shown`: what is kept from a command.
 * *cut: there are more than DENIED_TOPS_MAX, or not all could be looked at. In `mem`; NULL: no memory. */
typedef struct denied_top {
    const char *path;
    bool read;                  /* it is denied to read, not only to edit; such files are also listed inside a folder that is only denied to edit */
} denied_top;
typedef struct denied_shown { const char *const *folders; size_t n; } denied_shown;     /* that the command sees, without links */
const denied_top *denied_tops_find(arena *mem, const pawl_policy *p, const file_use *u, const denied_shown *shown, denied_stop_fn *stop, void *ctx, size_t *n,
                                   bool *cut);

/* The links in the paths of the rules themselves: a rule about /var/run/key is also about /run/key, where /var/run is a link to /run. */
typedef struct denied_ways denied_ways;
denied_ways *denied_ways_find(arena *mem, const pawl_policy *p, const file_use *u);     /* in `mem`; NULL: no memory */
/* The name by which a rule fits the file at this absolute path without links, in `mem`; NULL: none. */
const char *denied_ways_name(const denied_ways *w, arena *mem, const char *path);

#endif
