/* bg_shell.h - shells in the background: commands that go on after the call that started them (A10). */
#ifndef EFFECT_TOOL_BG_SHELL_H
#define EFFECT_TOOL_BG_SHELL_H

#include "effect/sandbox.h"
#include "effect/tool/tool.h"

#include <pthread.h>

enum {
    BG_SHELLS_MAX = 16,         /* that run at a time, of one run */
    BG_RECORDS_MAX = 64,        /* of one run, with those that have ended: the oldest of these is forgotten for a new one */
    BG_KEPT_BYTES = 256 << 10   /* of the output of one that nobody has read: at least so much of its end is kept */
};

/* What a shell owns from its start on. Made by bg_start_new(); bg_start_go() takes it, or bg_start_drop() frees it. */
typedef struct bg_start {
    arena mem;                  /* for the words, variables and folder of `p` */
    process p;                  /* without a job, output and the rest that bg_start_go() sets */
    pawl_policy *ways;          /* whose rules about the network hold in `in`; NULL: none */
    sandbox in;
    int git[ROOTS_MAX];         /* of git_guard_open() */
    size_t ngit;
    int64_t limit_ms;           /* 0: none */
    bool writes;                /* it may write: it runs without a sandbox, or with one that lets it */
} bg_start;

bg_start *bg_start_new(void);   /* NULL: no memory */
void bg_start_drop(bg_start *b);
/* Starts it, and replies with its id or the error. */
pawl_code bg_start_go(tool_call *c, bg_start *b);

/* The shells of one set of tools. Any thread. */
typedef struct bg_shells bg_shells;
bg_shells *bg_shells_new(void);         /* NULL: no memory */
void bg_shells_free(bg_shells *all);    /* ends what runs, and waits for it; may be NULL */

#endif
