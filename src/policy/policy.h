/* policy.h - private to src/policy: what its files share. Pure; every object is the caller's, one thread at a time. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "json/json.h"
#include "pawl/policy.h"
#include "shell/shell.h"

/* Limits: a path beyond PATH_BYTES is not read for sure; a policy beyond the others is refused. */
enum {
    PATH_BYTES = 4096,
    POLICY_RULES_MAX = 10000,
    POLICY_FOLDERS_MAX = 256
};

/* ---- path.c ------------------------------------------------------------------------------------------------------ */

typedef struct path { uint32_t size; bool sure; char text[PATH_BYTES]; } path;

/* `text` as an absolute path without ., .. and //; relative to `cwd`. False: not to be told (no cwd, ~user, too long, NUL). */
bool path_set(path *out, const char *text, size_t size, const char *cwd, const char *home);
bool path_within(const char *folder, const char *p);                /* it, or something in it */
bool path_protected(const char *p, const char *home);
bool path_critical(const char *p);                                  /* / or a folder right in it */

typedef struct path_pattern {
    const char *base;               /* the folder that it begins at, absolute, without a / at its end; "": the root */
    const char *text;               /* relative to it; no / at either end */
    uint32_t base_size, size;
    bool anchored;                  /* else it fits at any depth */
    bool folder;                    /* a / stood at its end */
    bool plain_end;                 /* its last segment has no wildcard */
} path_pattern;
/* `loose`: of deny and ask rules, which fit what lies in what they fit, too. */
bool path_fits(const path_pattern *t, const path *p, bool loose);
/* Something that the pattern fits lies below `p`. */
bool path_above(const path_pattern *t, const path *p);

/* ---- rule.c ------------------------------------------------------------------------------------------------------- */

typedef enum rule_spec { SPEC_NONE, SPEC_COMMAND, SPEC_PATH, SPEC_DOMAIN, SPEC_NAMED, SPEC_PARAM } rule_spec;
typedef enum rule_scope { SCOPE_NAME, SCOPE_EDITS, SCOPE_READS, SCOPE_AGENT, SCOPE_SERVER, SCOPE_GLOB } rule_scope;

typedef struct policy_rule {
    pawl_rule_info told;
    const char *base;               /* folder that / stands for, or NULL */
    const char *tool;               /* ends in NUL; of a server without __* */
    rule_scope scope;
    rule_spec spec;
    const char *text;               /* of the spec; of a parameter: its value */
    uint32_t tool_size, size;
    uint32_t literal;               /* bytes of it before the first * */
    bool exact;                     /* there is none */
    bool bash, on_edits, on_reads;  /* of commands; of what a command edits, or reads */
    bool word;                      /* " *" at its end: what follows is left out of `text` */
    const char *param;
    path_pattern path;
} policy_rule;

struct pawl_policy {
    arena mem;
    pawl_alloc alloc;
    policy_rule *rules;                    /* deny, ask, allow */
    size_t count, deny_end, ask_end;
    const char *cwd, *home;         /* NULL: not said */
    const char **folders;           /* cwd first */
    size_t nfolders;
    char digest[HASH_HEX + 1];
};

/* Compile r->told.text. False: err says what is wrong with it. */
bool rule_compile(policy_rule *r, const pawl_policy *p, arena *mem, pawl_err *err);
bool tool_reads(const char *tool);
bool tool_edits(const char *tool);
bool tool_on_path(const char *tool);            /* its argument is a path; at least it may have one */
bool text_glob(const char *pattern, size_t np, const char *text, size_t nt, bool loose);  /* * alone is special, and \* is none */
bool rule_text_fits(const policy_rule *r, const char *text, size_t size, bool loose);

/* ---- match.c: a call, read once, and whether a rule fits it ---------------------------------------------------------- */

typedef struct policy_call {
    const pawl_policy *p;
    const pawl_request *q;
    const char *tool;
    bool command;                   /* it is one: `sh` is set */
    bool has_path, linked;          /* `given`, and what it leads to */
    bool net;                       /* it has a URL */
    bool has_paths;                 /* a command: some of its words are paths */
    bool reads, edits;              /* it is a tool of that family */
    bool vague;                     /* something in it is not known */
    const char *unsure;             /* why it is not read for sure; NULL: it is */
    char host[256];
    path given, real;
    unsigned char use[SHELL_PARTS_MAX];
    bool begins[256];               /* of a command: with these bytes something that a rule may fit begins */
    shell sh;
} policy_call;

void call_read(policy_call *c, const pawl_policy *p, const pawl_request *q);
static inline bool rule_live(const policy_rule *r, int64_t time_ms) { return r->told.until_ms == 0 || r->told.until_ms > time_ms; }
bool rule_for(const policy_rule *r, const policy_call *c);                    /* of that tool */
static inline bool rule_on_paths(const policy_rule *r, bool edit) { return edit ? r->on_edits : r->on_reads; }
bool rule_fits_path(const policy_rule *r, const path *given, const path *real, bool linked, bool loose);
/* Of deny and ask rules, but those on paths of a command: any part. *part: which one, SIZE_MAX: all of it. */
bool rule_fits_any(const policy_rule *r, const policy_call *c, size_t *part);
/* What is unknown of the call may be what it fits. */
bool rule_may_fit(const policy_rule *r, const policy_call *c, size_t *part);
/* Of allow rules: this part (of a command), or the whole call. */
bool rule_fits_part(const policy_rule *r, const policy_call *c, size_t part);

/* ---- url.c ------------------------------------------------------------------------------------------------------------- */

/* The host of an http or https URL, in lower case. False: it is not read for sure. */
bool url_host(const char *url, size_t size, char *out, size_t out_size);
/* `text` in lower case and without a dot at its end, if it may be a host; *. may stand before it. */
bool host_read(const char *text, size_t size, char *out, size_t out_size, bool wild);
bool host_fits(const char *pattern, const char *host);

/* ---- command_paths.c: the paths of a command -------------------------------------------------------------------------------- */

typedef struct command_path {
    size_t part;
    bool edit;                      /* else it is read */
    bool redirection, removal;
    bool sure;                      /* `given` is where it lies, as far as words can tell */
    bool moved;                     /* after a cd: it may lie elsewhere */
    bool goes;                      /* of cd itself */
    bool linked;
    const char *key;                /* the path as it stands in the command, and in `links`; NULL: it is not known */
    const shell_word *word;
    path given, real;
} command_path;
typedef bool command_path_fn(void *ctx, const command_path *w);       /* false: enough */
void command_paths_visit(const policy_call *c, command_path_fn *fn, void *ctx);
bool call_inside(const policy_call *c, const command_path *w);
bool folder_inside(const pawl_policy *p, const path *at);
/* The first of the rules `from` to `to` - 1 on paths that fits one of a command; SIZE_MAX: none. *may: one would, of a path unknown. */
size_t call_path_rule(const policy_call *c, size_t from, size_t to, size_t *part, size_t *may, size_t *may_part);

/* ---- decide.c -------------------------------------------------------------------------------------------------------------- */

/* One line: %s a text, %t a pawl_bytes, without control characters and cut between characters. */
void line_put(char *out, size_t size, const char *fmt, ...);
/* What a decision speaks of: a part of a command, or all of the call. */
pawl_bytes call_subject(const policy_call *c, size_t part);
/* All that pawl_decide does, of a call that was read. */
void call_decide(policy_call *c, pawl_decision *out);

#endif
