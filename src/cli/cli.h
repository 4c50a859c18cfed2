/* cli.h - what the verbs of `pawl` share: a call of one, its options, its store, what it says and how it ends.
 *
 * stdout carries results only; progress, prompts and errors go to stderr. A verb returns the program's exit code. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "app/app.h"
#include "pawl/pawl.h"

#include <stdio.h>

typedef enum cli_exit {         /* X1 */
    EXIT_DONE = 0,
    EXIT_FAILED = 1,            /* failed, rejected, findings */
    EXIT_USAGE = 2,             /* usage, or a bad file */
    EXIT_WAITS = 3,             /* for an answer */
    EXIT_CANCELED = 4,
    EXIT_STORE = 5,             /* the store is not there */
    EXIT_HELD = 6,              /* another process has it */
    EXIT_STOPPED = 130          /* by Ctrl-C; 143 by SIGTERM: the run is kept */
} cli_exit;

enum { STORE_URL_BYTES = 4096, CLI_SAID_BYTES = 1024 };

/* ---- verbs and options: tables, from which help, completions and the man page are printed ------------ */
/* Completions follow from these words: RUN, A and B are runs, FILE and PATH are files, VERB is a verb, "a|b" is one of these. */

typedef struct cli_option {
    const char *name;           /* "store", given as --store URL or --store=URL */
    const char *value;          /* "URL"; "a|b": one of these; "CHANNEL=JSON...": may be given several times; NULL: a flag */
    const char *what;           /* one line */
} cli_option;

/* Options of several verbs, each with one text. */
#define OPTION_FILE     { "file", "FILE", "continue with this file instead of the one that the run keeps" }
#define OPTION_UPGRADE  { "upgrade", NULL, "with --file: accept a file that differs from the one of the run" }
#define OPTION_NO_RUN   { "no-run", NULL, "only store it; the process that drives the run continues" }
#define OPTION_MODE     { "mode", "plan|default|acceptEdits|bypassPermissions", "what nodes may do without approval, from now on" }
#define OPTION_ANCHOR   { "anchor", "FILE", "keep the heads of journals in FILE, or give them to a command ('|CMD'); else PAWL_ANCHOR" }
#define OPTION_RESULT_JSON { "json", NULL, "the result, the final state or the open waits as JSON" }
#define OPTIONS_CONTINUE OPTION_FILE, OPTION_UPGRADE, OPTION_NO_RUN, OPTION_MODE, OPTION_ANCHOR, OPTION_RESULT_JSON

typedef struct cli_call cli_call;
typedef struct cli_verb {
    const char *name;           /* "run" */
    const char *form;           /* of its arguments: "FILE", "RUN [WAIT] VALUE" */
    const char *what;           /* one line */
    const char *about;          /* paragraphs, 80 columns, no newline at the end; NULL: none */
    const char *example;        /* lines that work */
    const cli_option *options;  /* ends with a name of NULL; NULL: none. --help is every verb's */
    uint8_t least, most;        /* arguments; most UINT8_MAX: any number */
    const char *extra;          /* what an argument too many was meant for: "a prompt is given by -p TEXT"; NULL: nobody knows */
    bool store;                 /* has --store */
    bool answers;               /* answers a question of a run: when that ends the turn of an agent, the exit code is that of the turn */
    bool acts;                  /* starts or drives runs, answers, changes rights or a store: refused in the sandbox of an agent (P9) */
    bool looks;                 /* only reads runs: a machine that differs from the run's is no error */
    int (*run)(cli_call *c);    /* performs the call; returns its exit code */
    /* The words of a call without a verb cannot be read, and c->said why; NULL: stderr is enough. */
    void (*refused)(cli_call *c, int n, char **words);
} cli_verb;

typedef struct cli_section { const char *title; const cli_verb *first; } cli_section;  /* a section ends at the first verb of the next one */
typedef struct cli_program {
    const cli_verb *const *verbs;       /* in the order of the help; NULL at the end */
    const cli_section *sections;        /* ends with a title of NULL */
    const cli_verb *bare;               /* of a call that names none and begins with one of its options, whose argument is a prompt; NULL: none */
} cli_program;

/* Options of verbs that call models. */
#define RECORD_OPTIONS \
    { "record", "FILE", "reuse the answers of models in FILE; else PAWL_RECORD" }, \
    { "record-mode", "strict|live-on-miss|shadow", "a request that is not in it fails; is sent, and added to it (the default); all requests are sent, and compared" }

enum { CLI_REST_LOOK_MS = 500 };        /* while a person is waited for: what runs in the background learns so often of what other processes did */

struct cli_call {
    const cli_program *program;
    const cli_verb *verb;
    app_caller app;             /* the same for src/app */
    const char **args;          /* the arguments without options */
    size_t nargs;
    const char **given;         /* by option of the verb: its value, "" for a flag; NULL: not given */
    const char *store_url;      /* of --store, or NULL */
    bool bare;                  /* it was called without a verb, as SDKs for agents do */
    char *said;                 /* the last error of the call, CLI_SAID_BYTES; "": none */
    FILE *out, *err;            /* of a call for a server; NULL: stdout and stderr */
    bool served;                /* it is one: its arguments are whole ids of runs, and never files */
    const struct asker *who;    /* for whom it is; NULL: whoever called the program */
    const char *delivery;       /* the id of what it delivers, so that the same request again changes nothing (E16), with `who`; NULL: a new one */
    const char *machine;        /* the hash that the machine of a new run has to have; NULL: any */
    bool once;                  /* what was delivered before under that id is all that is asked */
    const char *trace;          /* the W3C trace context with which it is begun; NULL: none */
    pawl_code *why;             /* the code of `said`; NULL: nobody wants it */
    bool json;                  /* --json was given (by a verb that has it) */
    bool out_tty, err_tty;
    bool colour;                /* stdout may have colours; for stderr: err_colour. NO_COLOR and TERM=dumb are honoured */
    bool err_colour;
    arena mem;                  /* of the call */
    const char **words;         /* all options that were given, in order, as pairs: option, value */
    size_t nwords;
    const char *store_name;     /* see cli_store_name */
    bool store_said;            /* where the store lies was said */
    bool (*rests)(void *ctx);   /* called now and then while a person is asked at the terminal; false: not any more. NULL: nothing is to be done */
    void *rests_ctx;
};

/* options.c: finds the verb in `program`, parses, calls it. `argv` as main has it. Returns the exit code. */
int cli_main(const cli_program *program, int argc, char **argv);
/* The same for a server: without terminal, stdin and options of the environment; results go to `out`. One call at a time in a process. */
typedef struct cli_served {
    const struct asker *who;    /* for whom; see cli_call */
    const char *delivery, *machine, *trace;
    bool once;
    FILE *out;
    char *said;                 /* CLI_SAID_BYTES */
    pawl_code why;              /* out: of what was said; PAWL_OK: nothing was, or no code is known */
} cli_served;
int cli_captured(const cli_program *program, cli_served *call, int argc, char **argv);
static inline FILE *cli_out(const cli_call *c) { return c->out != NULL ? c->out : stdout; }
static inline FILE *cli_err(const cli_call *c) { return c->err != NULL ? c->err : stderr; }
const char *cli_given(const cli_call *c, const char *option);  /* NULL: not given; of several values the last */
void cli_give(cli_call *c, const char *option, const char *value);      /* as if it had been given */
/* The `index`-th value of an option that may be given several times; NULL after the last. */
const char *cli_given_at(const cli_call *c, const char *option, size_t index);
/* A whole number from `least` to `most`; `otherwise` if the option was not given. False: the usage error was printed. */
bool cli_number(const cli_call *c, const char *option, uint64_t least, uint64_t most, uint64_t otherwise, uint64_t *out);
/* "250ms", "10s", "5m", "2h", "1d" in ms. False: it is none. */
bool cli_duration(const char *text, int64_t *ms);
/* Print "pawl VERB: ..." and the closest valid form on stderr; returns EXIT_USAGE. */
int cli_usage(const cli_call *c, const char *fmt, ...) PAWL_PRINTF(2, 3);
int cli_missing(const cli_call *c);     /* the same: the argument after those that are there is missing */
/* Print one line on stderr, cleaned: progress and advice for a person. */
void cli_note(const cli_call *c, const char *fmt, ...) PAWL_PRINTF(2, 3);
/* Write to stdout, unchanged; `v` as canonical JSON with a newline. False: no memory (the error was printed). A stdout that accepts no more is reported
 * at the end of the program, whose exit code is then not 0. */
bool cli_put(const cli_call *c, const buf *text);
bool cli_json(const cli_call *c, const pawl_value *v);

/* deliver.c: who calls: for a server whoever asks it, else the user of this process, as the system says ("ada", "uid 1000"). */
const char *cli_by(const cli_call *c);
const char *caller_name(void);       /* that user */

/* ---- what goes wrong ------------------------------------------------------------------------------------ */

int cli_refused(const cli_call *c);     /* prints that a command of an agent may not do this; returns the exit code */
/* Print `err` on stderr as "pawl: ..."; returns the exit code for `rc` (2 invalid, gone, limit; 5 io, transient: the store is missing or busy; 6 held,
 * fenced; else 1). */
int cli_fail(const cli_call *c, pawl_code rc, const pawl_err *err);
int cli_exit_of_error(pawl_code rc);    /* the same code; prints nothing */
int cli_exit_of(pawl_status status, bool waits);

/* ---- locate.c: the store, and which run is meant ------------------------------------------------------------ */

/* The store of --store, else PAWL_STORE, else that of this project (store_place.h), else the nearest pawl.db upward, else a new one for this project, if
 * `make`. postgres: and dynamodb: are PAWL_INVALID. NULL: see err. */
pawl_store *cli_store(cli_call *c, bool make, pawl_err *err);
const char *cli_store_name(const cli_call *c);                 /* "sqlite:/path/pawl.db": the store that was opened */
/* The store as above, not created, and the run that `given` means (NULL: no run is looked for). NULL: the error was printed, and *code is the exit code. */
pawl_store *cli_store_of(cli_call *c, const char *given, char run[RUN_ID_BYTES], int *code);
/* The run that `given` means: an id, a unique prefix of an id, or "@", the most recent run. Child runs are considered only if no other run matches.
 * PAWL_GONE names the store and a similar id; PAWL_INVALID lists the first runs that a prefix matches. */
pawl_code cli_run_id(cli_call *c, pawl_store *s, const char *given, char run[RUN_ID_BYTES], pawl_err *err);
/* A new id that the store does not have: NAME-xxxx, four of [a-z2-9] without l and o (more if those are used up). Characters of NAME that an id cannot
 * contain are dropped. */
pawl_code cli_new_id(pawl_store *s, const char *name, char run[RUN_ID_BYTES], pawl_err *err);

/* ---- ui/text.c: text for people ------------------------------------------------------------------------------------ */

enum { CLI_COLUMNS_LEAST = 40, CLI_COLUMNS = 80 };
int cli_columns(int fd);                                        /* of the terminal; 80 without one */
/* Characters that a terminal would execute (control characters, escapes, marks that change the direction of text) are written as \x1b or \u202e, a
 * newline as
 * , invalid UTF-8 as \xff. */
void cli_clean(buf *out, const char *text, size_t size);
size_t cli_width(const char *text, size_t size);                /* columns on a terminal, of cleaned text */
/* Clean, and cut with "..." to at most `columns`. */
void cli_cut(buf *out, const char *text, size_t size, size_t columns);
/* The same, padded with blanks to `columns`: a cell of a table. */
void cli_cell(buf *out, const char *text, size_t columns);
void cli_time(char out[32], int64_t time_ms);                   /* 2026-11-21 14:03:07, local; "-" for 0 */
void cli_ago(char out[16], int64_t ms);                         /* "3 s", "5 min", "2 h", "4 d" */
/* A value as one line of at most `columns`, cut with "..."; a string without its quotes. */
void cli_short(buf *out, const pawl_value *v, size_t columns);

#endif
