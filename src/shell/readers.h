/* readers.h - private to src/shell and its tests: programs that read, and those of their options that are known to be harmless. */
#ifndef SHELL_READERS_H
#define SHELL_READERS_H

#include "shell/shell.h"

enum { READER_ANY = 255 };              /* number of operands: any */

enum {                                  /* traits of a reader */
    READER_ANY_WORDS = 1,               /* no word does harm, whatever it is: echo */
    READER_ANY_GLOB = 2,                /* no option of any version of it does harm, so a file may be named like an option */
    READER_LITERAL = 4,                 /* a here-document is plain text for it */
    READER_OWN = 8,                     /* its words have a grammar of their own, in reads.c */
    READER_DIGITS = 16,                 /* -5 is an option */
    READER_STRICT = 32,                 /* not getopt: a value in a word of its own that begins with - is refused */
    READER_NEXT = 64                    /* the value of a letter is always the next word */
};

typedef struct program_reader {
    const char *name;
    const char *letters;                /* as getopt takes them: n: has a value, n:: has one only in the same word */
    const char *longs;                  /* " --all --lines= --color? ": plain, with a value, perhaps with one behind =. No abbreviations */
    unsigned char most;                 /* operands */
    unsigned char traits;
} program_reader;

const program_reader *reader_named(const shell_word *w);        /* NULL: not in the table */
const program_reader *reader_of_verb(const shell_word *w);      /* of git */
const program_reader *reader_at(size_t i, bool of_git);         /* NULL: behind the last */

typedef struct operand_list {
    uint32_t count, first[3];           /* operands, and the places of the first ones */
} operand_list;

/* All words from w[1] to w[n - 1] are options of `r` that are known, their values, and operands that can be nothing else. False: not so. */
bool reader_words(const program_reader *r, const shell_word *w, uint32_t n, operand_list *out);
static inline bool word_sure(const shell_word *w) { return (w->flags & (WORD_UNKNOWN | WORD_GLOB)) == 0; }
bool word_has(const shell_word *w, const char *text);           /* somewhere in it */
bool git_only_reads(const shell_word *w, uint32_t n);
bool find_only_reads(const shell_word *w, uint32_t n);

#endif
