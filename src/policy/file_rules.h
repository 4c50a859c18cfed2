/* file_rules.h - the deny rules about one file, by its true path: for what opens files, after the call was decided by the path as it is written (P8).
 *
 * Pure, any thread. */
#ifndef POLICY_FILE_RULES_H
#define POLICY_FILE_RULES_H

#include "pawl/policy.h"

typedef struct file_use {       /* what is done with the file, as in a call */
    const char *tool;           /* as in rules: "Read" */
    pawl_permission cls;
    int64_t time_ms;            /* now */
} file_use;

/* The text of the first deny rule about paths that fits the absolute path `at`; NULL: none does. `p` may be NULL. */
const char *file_rule_denies(const pawl_policy *p, const file_use *u, const char *at);

/* Calls `fn` with a path for each deny rule about paths: what the rule fits is that path, or lies below it. `fn` returns false to stop. */
typedef bool file_place_fn(void *ctx, const char *path);
void file_rule_places(const pawl_policy *p, const file_use *u, file_place_fn *fn, void *ctx);

/* The same for each file that the run's agents are made of: an edit of it is asked. */
void file_own_places(const pawl_policy *p, file_place_fn *fn, void *ctx);

/* As pawl_policy_paths, whether or not a rule is about paths: for what decides once more, where protected places count, too. */
void call_paths(const pawl_policy *p, const pawl_request *q, pawl_path_fn *fn, void *ctx);

/* Calls `fn` with each folder that a command reads with all below it, as `grep -r` does; `hidden`: also names that begin with a dot. A folder that is not
 * known is left out. `fn` returns false to stop. */
typedef bool call_tree_fn(void *ctx, const char *folder, bool hidden);
void call_trees(const pawl_policy *p, const pawl_request *q, call_tree_fn *fn, void *ctx);

#endif
