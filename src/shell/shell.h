/* shell.h - a shell command line, split into its commands ("parts"), without running it.
 *
 * For src/policy alone: what a deny rule, an ask rule or an allow rule is compared with. Pure: no memory is allocated, no state is held;
 * everything is in the caller's struct shell, which borrows the text that was split. Any thread, one struct a thread.
 * What cannot be read for certain is marked (`unsure`, `unseen`); the parts that were seen are there all the same. */
#ifndef SHELL_SHELL_H
#define SHELL_SHELL_H

#include "base/glob.h"
#include "json/json.h"

/* Limits: a command line beyond one of them is unsure. */
enum {
    SHELL_BYTES_MAX = 16384,        /* of a command line */
    SHELL_POOL_BYTES = 24576,       /* its words, unquoted */
    SHELL_ASIDE_BYTES = 16384,      /* targets of redirections, and texts that are split in turn */
    SHELL_WORDS_MAX = 1024,
    SHELL_PARTS_MAX = 64,
    SHELL_EDITS_MAX = 64,
    SHELL_TEXTS_MAX = 48,           /* substitutions and other nested commands, at any depth */
    SHELL_NEST_MAX = 64             /* quotes in brackets in quotes */
};

/* Flags of a word: it has an expansion whose value is unknown; it is a file name pattern or several words; it begins with an unquoted ~, which is
 * the home folder; it has a brace that may be expanded (then it is WORD_GLOB, too). */
enum { WORD_UNKNOWN = 1, WORD_GLOB = 2, WORD_TILDE = 4, WORD_BRACE = 8 };
#define WORD_BLANK GLOB_BLANK           /* a blank inside a word, in the text of all words: a blank between words is ' ' */

typedef struct shell_word {
    const char *text;               /* what the program gets, with WORD_BLANK for ' ' */
    uint32_t size, flags;
    uint32_t known;                 /* bytes of it before the first thing that is unknown */
} shell_word;

typedef struct shell_edit {         /* a redirection */
    shell_word to;
    bool reads;                     /* < : else it is written */
} shell_edit;

typedef struct shell_part {         /* one command of the line */
    const char *from;               /* its bytes in the text */
    uint32_t size;
    uint32_t first, count;          /* words, without wrappers (timeout, env) and assignments */
    uint32_t edit, edits;
    bool hidden;                    /* nested in another command: no allow rule needs to fit it, and none permits it */
    bool more;                      /* words follow that are unknown (xargs) */
    bool carries;                   /* some of its words are a command, but it is unknown which (sudo, find -exec) */
    bool wrapped;                   /* a wrapper was taken off */
    bool alters;                    /* an assignment or another wrapper stands before it that changes how it runs */
    bool raises;                    /* it gets the rights of another user: sudo, su, doas, pkexec */
    bool fed;                       /* by a here-document, or by a here-string */
    shell_word feed;                /* its here-string, or the document */
} shell_part;

typedef struct shell_text { const char *text; uint32_t size; } shell_text;

typedef struct shell {
    const char *unsure;             /* why it cannot be read for certain; NULL: it can */
    const char *unsure_text;        /* where in the text */
    bool unseen;                    /* something runs, or may run, that is in no part */
    size_t nparts, nwords, nedits, ntexts, texts_done;
    size_t pool_used, aside_used;
    size_t work;                    /* bytes read, of all texts: bounds the time */
    shell_part parts[SHELL_PARTS_MAX];
    shell_word words[SHELL_WORDS_MAX];
    shell_edit edits[SHELL_EDITS_MAX];
    shell_text texts[SHELL_TEXTS_MAX];
    char pool[SHELL_POOL_BYTES], aside[SHELL_ASIDE_BYTES];
} shell;

/* ---- split.c: the entry points ------------------------------------------------------------------------- */

/* Splits `text` into `s`, which need not be initialised; entries past its counts stay unset. */
void shell_split(shell *s, const char *text, size_t size);
/* The same for a command that was given as its words, a JSON array of strings. */
void shell_split_words(shell *s, const pawl_value *words);

/* ---- result.c: what the splitter writes, and questions about words ---------------------------------------- */

void shell_doubt(shell *s, const char *why, const char *at);    /* sets unsure; the first reason stays */
void shell_lost(shell *s, const char *why, const char *at);     /* the same, and sets unseen */
/* Split this text, too, as a nested command. `copy`: into `aside`, with ' ' for WORD_BLANK. */
void shell_queue(shell *s, const char *text, size_t size, bool copy);
/* Words of a part as one text, joined by blanks. */
pawl_bytes shell_joined(const shell *s, const shell_part *p);
bool word_is(const shell_word *w, const char *text);            /* false for a word with an expansion */
bool text_listed(const char *p, size_t n, const char *words);   /* `words`: " a b c ", each between blanks */
bool shell_harmless(const char *name, size_t n);                /* a variable from which no program takes a command */
bool shell_steers(const char *name, size_t n);                  /* a variable that changes which commands run, whatever the program */

/* ---- words.c: one word --------------------------------------------------------------------------------------- */

typedef struct shell_pen { char *at, *end; uint32_t known; uint32_t flags; char *from; bool quoted; } shell_pen;
/* Reads one word from `p` on, unquoted, to the pen. Returns where it ends. */
const char *shell_word_read(shell *s, shell_pen *pen, const char *p, const char *end);
/* Behind the bracket or quote that closes the one `open` ('(' '{' '"' '`') before `p`; NULL: it is not closed. */
const char *shell_skip(const char *p, const char *end, char open);
/* Queues all substitutions in a text that is no command itself. */
void shell_inner(shell *s, const char *p, const char *end);
const char *shell_blanks(const char *p, const char *end);       /* behind blanks and continued lines */

/* ---- parts.c: a part that is complete ---------------------------------------------------------------------- */

/* Takes wrappers off and queues the commands among its words. */
void shell_part_done(shell *s, shell_part *p);
/* Its here-document was read into p->feed. */
void shell_part_fed(shell *s, shell_part *p);

/* ---- reads.c: commands that only read (P7) ------------------------------------------------------------------- */

bool program_only_reads(const shell *s, const shell_part *p);       /* with these words it writes nothing and runs nothing */
bool program_reads_text(const shell *s, const shell_part *p);       /* a here-document is plain text for it */

/* ---- reading.c: a whole command line that only reads ------------------------------------------------------------- */

bool shell_sink(const shell_word *w);                           /* what is written there is kept nowhere: /dev/null */
/* The whole command line only reads, if it is run with shell_reading_env(). `s` is the caller's room for the split. */
bool shell_only_reads(shell *s, const char *text, size_t size);
/* What the environment of a command that only reads must have: "NAME=VALUE" is set, "NAME" is removed; NULL ends the list. It switches off
 * whatever the configuration of a git repository could run, in bash, which is the shell that it needs. */
const char *const *shell_reading_env(void);

/* ---- programs.c: programs that edit, and which words are paths ------------------------------------------------- */

/* The use that a program makes of the paths among its words. LOOK: no path, but the caller must examine the program (cd). */
typedef enum operand_use { OPERAND_NONE, OPERAND_READ, OPERAND_EDIT, OPERAND_BOTH, OPERAND_LOOK } operand_use;
bool program_edits_operands(const shell *s, const shell_part *p);   /* mkdir, cp, sed -i: writes its operands and nothing else */
bool program_is_shell(const shell_word *w);
operand_use program_operand_use(const shell *s, const shell_part *p);
/* Where the path in word `i` of the part begins, its bytes in *size; NULL: that word has none. `after`: behind --. *ends: no operand follows. */
const char *program_operand(const shell *s, const shell_part *p, size_t i, bool after, bool *ends, uint32_t *size);
bool program_globs(const shell *s, const shell_part *p, const shell_word *w);       /* the program takes this word for a pattern of paths */
bool program_removes_tree(const shell *s, const shell_part *p);     /* a folder and its content (rm -r, find -delete) */

#endif
