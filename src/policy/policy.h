/* policy.h - private to src/policy: the structures and functions that its files share. Pure; every object is the caller's, one thread at a time. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "json/json.h"
#include "pawl/policy.h"
#include "shell/shell.h"

/* A longer path counts as unknown; a policy beyond the other limits is refused. */
enum {
    PATH_BYTES = 4096,
    POLICY_RULES_MAX = 10000,
    POLICY_FOLDERS_MAX = 256
};

/* ---- path.c ------------------------------------------------------------------------------------------------------ */

typedef struct path { uint32_t size; bool sure; char text[PATH_BYTES]; } path;

/* Where a path leads. */
typedef struct policy_place {
    path given;                     /* as written, made absolute */
    path real;                      /* set where `linked`: it has symbolic links */
    path same;                      /* set where `shared`: another name of that file, which a deny rule fits */
    bool linked, shared;
} policy_place;

/* `text` as an absolute path without ., .. and //, relative to `cwd`. False: cannot be determined (no cwd, ~user, too long, NUL). */
bool path_set(path *out, const char *text, size_t size, const char *cwd, const char *home);
bool path_within(const char *folder, const char *p);                /* `p` is the folder, or in it */
bool path_protected(const char *p, const char *home);           /* a place that is protected wherever it lies */
bool path_critical(const char *p);                                  /* the root, or a folder directly in it */

typedef struct path_pattern {
    const char *base;               /* absolute, without a / at its end; "": the root */
    const char *text;               /* relative to it; no / at either end */
    uint32_t base_size, size;
    bool anchored;                  /* false: fits at any depth */
    bool folder;                    /* it ended with a /: folders only */
    bool plain_end;                 /* its last segment has no wildcard */
} path_pattern;
/* `loose`, for deny and ask rules: a pattern that fits a folder fits everything in it. */
bool path_fits(const path_pattern *t, const path *p, bool loose);
/* The pattern may fit something below `p`. */
bool path_above(const path_pattern *t, const path *p);

/* ---- rule.c ------------------------------------------------------------------------------------------------------- */

typedef enum rule_spec { SPEC_NONE, SPEC_COMMAND, SPEC_PATH, SPEC_DOMAIN, SPEC_NAMED, SPEC_PARAM } rule_spec;
typedef enum rule_scope { SCOPE_NAME, SCOPE_EDITS, SCOPE_READS, SCOPE_AGENT, SCOPE_SERVER, SCOPE_GLOB } rule_scope;

typedef struct policy_rule {
    pawl_rule_info info;
    const char *base;               /* the folder that / means in it; NULL: not given */
    const char *tool;               /* NUL-terminated; of a server rule without __* */
    rule_scope scope;
    rule_spec spec;
    const char *text;               /* of the spec; SPEC_PARAM: the value */
    uint32_t tool_size, size;
    uint32_t literal;               /* bytes of it before the first * */
    uint16_t port;                  /* of a Network rule; 0: any */
    bool exact;                     /* no * in it */
    bool bash, on_edits, on_reads;  /* about commands; about files that a command edits, or reads */
    bool word;                      /* it ended with " *", which is not in `text`: any words may follow */
    const char *param;
    path_pattern path;
} policy_rule;

struct pawl_policy {
    arena mem;
    pawl_alloc alloc;
    policy_rule *rules;                    /* deny, ask, allow */
    size_t count, deny_end, ask_end;
    const char *cwd, *home;         /* NULL: not given */
    const char **folders;           /* cwd first */
    size_t nfolders;
    const char **kept;              /* files and folders whose edits are asked like those of protected places */
    size_t nkept;
    char digest[HASH_HEX + 1];
    bool whole;                     /* an allow rule without a pattern covers a command that cannot be read; false: an older run, where that is asked */
};

/* Compiles r->info.text. False: see err. */
bool rule_compile(policy_rule *r, const pawl_policy *p, arena *mem, pawl_err *err);
bool tool_reads(const char *tool);
bool tool_edits(const char *tool);
bool tool_on_path(const char *tool);            /* its argument is, or may be, a path */
bool text_glob(const char *pattern, size_t np, const char *text, size_t nt);  /* only * is special; \* is a plain * */
bool rule_text_fits(const policy_rule *r, const char *text, size_t size, bool loose);

/* ---- match.c: a call, read once, and whether a rule fits it ---------------------------------------------------------- */

typedef struct policy_call {
    const pawl_policy *p;
    const pawl_request *q;
    const char *tool;
    const char *cwd;                /* where its relative paths begin; NULL: unknown */
    bool command;                   /* it is a command, and `sh` is set */
    bool has_path;                  /* `at` is set */
    bool net;                       /* its argument is a URL */
    bool has_paths;                 /* a command: some of its words are paths */
    bool reads, edits;              /* the tool is of that family */
    bool vague;                     /* part of it is unknown */
    const char *unsure;             /* why it cannot be read for certain; NULL: it can */
    char host[256];
    policy_place at;
    unsigned char use[SHELL_PARTS_MAX];
    bool begins[256];               /* first bytes of all that a command rule may fit: most rules are decided by one look-up */
    shell sh;
} policy_call;

void call_read(policy_call *c, const pawl_policy *p, const pawl_request *q);
static inline bool rule_active(const policy_rule *r, int64_t time_ms) { return r->info.until_ms == 0 || r->info.until_ms > time_ms; }
bool rule_for(const policy_rule *r, const policy_call *c);                    /* it is about this tool */
static inline bool rule_on_paths(const policy_rule *r, bool edit) { return edit ? r->on_edits : r->on_reads; }
/* `loose`, for deny and ask rules: any of its paths fits; else all that is known of it must. */
bool rule_fits_place(const policy_rule *r, const policy_place *at, bool loose);
/* Sets `real` and `same` by what is known of the links of `given`, and of the path as written (NULL: not to be looked up). False: it is not known where
 * it leads. */
bool call_follow(const policy_call *c, const char *written, policy_place *at);
/* For deny and ask rules: any part fits (paths of a command: call_path_rule). *part: which one; SIZE_MAX: the whole call. */
bool rule_fits_any(const policy_rule *r, const policy_call *c, size_t *part);
/* The unknown part of the call may be what the rule fits. */
bool rule_may_fit(const policy_rule *r, const policy_call *c, size_t *part);
/* For allow rules: this part of a command, or the whole call, fits for certain. */
bool rule_fits_part(const policy_rule *r, const policy_call *c, size_t part);

/* ---- url.c ------------------------------------------------------------------------------------------------------------- */

/* The host of an http or https URL, in lower case. False: clients may read it differently. */
bool url_host(const char *url, size_t size, char *out, size_t out_size);
/* `text` in lower case, without a dot at its end. False: not a host. `wild`: it may begin with *. */
bool host_read(const char *text, size_t size, char *out, size_t out_size, bool wild);
bool host_fits(const char *pattern, const char *host);

/* ---- command_paths.c: the paths of a command -------------------------------------------------------------------------------- */

typedef struct command_path {
    size_t part;
    bool edit;                      /* false: read */
    bool redirection, removal;
    bool sure;                      /* `at` is certain */
    bool moved;                     /* after a cd: it may be elsewhere */
    bool goes;                      /* the operand of cd */
    const char *key;                /* the path as written in the command, which is its key in `links`; NULL: unknown */
    const shell_word *word;
    policy_place at;
} command_path;
typedef bool command_path_fn(void *ctx, const command_path *w);       /* false: stop */
void command_paths_visit(const policy_call *c, command_path_fn *fn, void *ctx);
bool call_inside(const policy_call *c, const command_path *w);
bool folder_inside(const pawl_policy *p, const path *at);
bool place_protected(const pawl_policy *p, const policy_place *at);    /* by its own path, or by the target of its links */
/* The first rule on paths from `from` to `to` - 1 that fits a path of the command; SIZE_MAX: none. *may: one that an unknown path may fit. */
size_t call_path_rule(const policy_call *c, size_t from, size_t to, size_t *part, size_t *may, size_t *may_part);

/* ---- decide.c -------------------------------------------------------------------------------------------------------------- */

/* One line: %s is a text, %t a const pawl_bytes *; control characters become blanks, and it is cut between characters. */
void line_put(char *out, size_t size, const char *fmt, ...);
/* What a decision names: a part of a command, or the whole call. */
pawl_bytes call_subject(const policy_call *c, size_t part);
bool call_moves(const policy_call *c, size_t part);                        /* a cd */
bool call_part_reads(const policy_call *c, size_t part, bool moved);       /* it only reads; `moved`: it is behind a cd, or is one */
/* pawl_decide for a call that was read. */
void call_decide(policy_call *c, pawl_decision *out);

#endif
