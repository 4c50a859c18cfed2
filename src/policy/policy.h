/* policy.h - inside the policy: what its files share. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/base.h"
#include "pawl/policy.h"

/* ---- limits: over one of them, a call is not read for sure; policies beyond theirs are refused -------------- */

enum {
    SHELL_BYTES_MAX = 16384,        /* of a command line */
    SHELL_POOL_BYTES = 24576,       /* its words, unquoted */
    SHELL_ASIDE_BYTES = 16384,      /* targets of redirections, and texts that are split in turn */
    SHELL_WORDS_MAX = 1024,
    SHELL_PARTS_MAX = 64,
    SHELL_EDITS_MAX = 64,
    SHELL_TEXTS_MAX = 48,           /* substitutions and the like, wherever they stand */
    SHELL_NEST_MAX = 64,            /* quotes in brackets in quotes */
    PATH_BYTES = 4096,
    POLICY_RULES_MAX = 10000,
    POLICY_FOLDERS_MAX = 256
};

/* ---- shell.c, shell_word.c, shell_part.c: a command line, split --------------------------------------------- */

/* Of a word: it has an expansion that nobody can foretell, stands for names of files or several words, begins with ~. */
enum { WORD_UNKNOWN = 1, WORD_GLOB = 2, WORD_TILDE = 4 };
#define WORD_BLANK '\x1f'           /* a blank inside a word, in the text of all words: unlike one between words */

typedef struct shell_word {
    const char *text;               /* what the program gets, with WORD_BLANK for ' ' */
    uint32_t size, flags;
    uint32_t known;                 /* bytes of it before the first thing that is not known */
} shell_word;

typedef struct shell_edit {         /* a redirection */
    shell_word to;
    bool reads;                     /* < : else it is written */
} shell_edit;

typedef struct shell_part {
    const char *from;               /* as it stands in the text */
    uint32_t size;
    uint32_t first, count;          /* words, the wrappers and assignments gone */
    uint32_t edit, edits;
    bool hidden;                    /* inside of something: no allow rule needs to fit it, and none helps */
    bool more;                      /* words follow that nobody can foretell (xargs) */
    bool carries;                   /* some of its words are a command, but not for sure which (sudo, find -exec) */
    bool fed;                       /* by a here-document whose text is plain */
    shell_word feed;                /* its here-string, or the document */
} shell_part;

typedef struct shell_text { const char *text; uint32_t size; } shell_text;

typedef struct shell {
    const char *unsure;             /* why it is not read for sure; NULL: it is */
    const char *unsure_text;        /* there */
    bool unseen;                    /* something runs, or may, that is in no part */
    size_t nparts, nwords, nedits, ntexts, texts_done;
    size_t pool_used, aside_used;
    size_t work;                    /* bytes looked at, of all texts */
    shell_part parts[SHELL_PARTS_MAX];
    shell_word words[SHELL_WORDS_MAX];
    shell_edit edits[SHELL_EDITS_MAX];
    shell_text texts[SHELL_TEXTS_MAX];
    char pool[SHELL_POOL_BYTES], aside[SHELL_ASIDE_BYTES];
} shell;

/* Splits `text` into `s`; what of `s` is past its counts is not set. Nothing is allocated. */
void shell_split(shell *s, const char *text, size_t size);
/* The same for a command that was given as its words. */
void shell_split_words(shell *s, const pawl_value *words);
void shell_doubt(shell *s, const char *why, const char *at);    /* the first one stays */
void shell_lost(shell *s, const char *why, const char *at);     /* and something is not seen */
void shell_queue(shell *s, const char *text, size_t size, bool copy);   /* split it, too; `copy`: blanks are to be put back */
/* Words of a part as one text, joined by blanks. */
pawl_bytes shell_joined(const shell *s, const shell_part *p);
bool word_is(const shell_word *w, const char *text);
bool text_listed(const char *p, size_t n, const char *words);   /* words, each between blanks */
bool shell_harmless(const char *name, size_t n);                /* a variable that no program takes a command from */

/* shell_word.c */
typedef struct shell_pen { char *at, *end; uint32_t known; uint32_t flags; char *from; bool quoted; } shell_pen;
/* One word from `p` on, unquoted, to the pen; where it ends. */
const char *shell_word_read(shell *s, shell_pen *pen, const char *p, const char *end);
/* Behind what closes the bracket or quote `open` that stands before `p` ('(' '{' '"' '`'); NULL: nothing does. */
const char *shell_skip(const char *p, const char *end, char open);
/* Queue all substitutions in text that is no command. */
void shell_inner(shell *s, const char *p, const char *end);
/* What a here-document's line `<<` names, to the pen; `quoted`: so that nothing in it is expanded. */
const char *shell_blanks(const char *p, const char *end);

/* shell_part.c: once a part is whole. */
void shell_part_done(shell *s, shell_part *p);
void shell_part_fed(shell *s, shell_part *p);

/* ---- known.c: programs that are known ------------------------------------------------------------------------- */

typedef enum operand_use { OPERAND_NONE, OPERAND_READ, OPERAND_EDIT, OPERAND_BOTH, OPERAND_LOOK } operand_use;   /* LOOK: none, and it matters */
bool known_read_only(const shell *s, const shell_part *p);          /* whatever it is given, it only reads */
bool known_file_edit(const shell *s, const shell_part *p);          /* mkdir, cp, sed -i and so on, and edits only its operands */
bool known_literal_reader(const shell *s, const shell_part *p);     /* a here-document is text for it */
bool known_shell(const shell_word *w);
/* What `p` does with the paths among its words; word i of them by known_operand: where the path begins, or NULL. */
operand_use known_use(const shell *s, const shell_part *p);
const char *known_operand(const shell *s, const shell_part *p, size_t i, bool *ends, uint32_t *size);
bool known_removal(const shell *s, const shell_part *p);            /* with what is in it */

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

typedef struct policed {
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
} policed;

void call_read(policed *c, const pawl_policy *p, const pawl_request *q);
static inline bool rule_live(const policy_rule *r, int64_t time_ms) { return r->told.until_ms == 0 || r->told.until_ms > time_ms; }
bool rule_for(const policy_rule *r, const policed *c);                    /* of that tool */
static inline bool rule_on_paths(const policy_rule *r, bool edit) { return edit ? r->on_edits : r->on_reads; }
bool rule_fits_path(const policy_rule *r, const path *given, const path *real, bool linked, bool loose);
/* Of deny and ask rules, but those on paths of a command: any part. *part: which one, SIZE_MAX: all of it. */
bool rule_fits_any(const policy_rule *r, const policed *c, size_t *part);
/* What is unknown of the call may be what it fits. */
bool rule_may_fit(const policy_rule *r, const policed *c, size_t *part);
/* Of allow rules: this part (of a command), or the whole call. */
bool rule_fits_part(const policy_rule *r, const policed *c, size_t part);

/* ---- url.c ------------------------------------------------------------------------------------------------------------- */

/* The host of an http or https URL, in lower case. False: it is not read for sure. */
bool url_host(const char *url, size_t size, char *out, size_t out_size);
/* `text` in lower case and without a dot at its end, if it may be a host; *. may stand before it. */
bool host_read(const char *text, size_t size, char *out, size_t out_size, bool wild);
bool host_fits(const char *pattern, const char *host);

/* ---- walk.c: the paths of a command -------------------------------------------------------------------------------------- */

typedef struct walked {
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
} walked;
typedef bool walk_fn(void *ctx, const walked *w);       /* false: enough */
void call_walk(const policed *c, walk_fn *fn, void *ctx);
bool call_inside(const policed *c, const walked *w);
bool folder_inside(const pawl_policy *p, const path *at);
/* The first of the rules `from` to `to` - 1 on paths that fits one of a command; SIZE_MAX: none. *may: one would, of a path unknown. */
size_t call_path_rule(const policed *c, size_t from, size_t to, size_t *part, size_t *may, size_t *may_part);

/* ---- decide.c -------------------------------------------------------------------------------------------------------------- */

/* One line: %s a text, %t a pawl_bytes, without control characters and cut between characters. */
void line_put(char *out, size_t size, const char *fmt, ...);
/* What a decision speaks of: a part of a command, or all of the call. */
pawl_bytes call_subject(const policed *c, size_t part);
/* All that pawl_decide does, of a call that was read. */
void call_decide(policed *c, pawl_decision *out);

#endif
