/* chat.h - inside `pawl chat -p`: what its two threads write and read during a turn. docs/CHAT.md describes the frames. */
#ifndef CLI_CHAT_H
#define CLI_CHAT_H

#include "cli/open_session.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum chat_format { CHAT_TEXT, CHAT_JSON, CHAT_STREAM } chat_format;

enum { CHAT_SOURCES_MAX = 64, CHAT_LINE_BYTES_MAX = 32 << 20, CHAT_CURSOR_BYTES = 48 };

typedef struct chat_turn {      /* the current turn as its items show it; owned by the reader's thread */
    uint32_t turns;             /* answers of the model */
    int64_t usage[4];           /* tokens: input, output, read from a cache, written to a cache; children included */
    int64_t micros;
    int64_t api_ms;             /* from each request to a model to its answer */
    const pawl_value *denials;  /* [{"tool_input","tool_name","tool_use_id"}] */
    const char *text;           /* its last answer */
    const char *stop;           /* why that answer ended, as the model reports it; NULL: there is none */
    const char *error;          /* NULL: none */
    int64_t begun_ms;
} chat_turn;

typedef struct chat_source {    /* a run whose items are read */
    pawl_items *r;              /* NULL: not open yet */
    const char *run;
    const char *call;           /* the tool call that spawned it; NULL: none */
    int64_t usage[4];           /* tokens of its last answer, as in chat_turn */
    const pawl_value *stop;     /* why that answer ended; NULL: not known */
    const char *model;          /* that gave it, as the model reports it; NULL: not known */
    int64_t asked_ms;           /* when the model was asked last; 0: not known */
    bool over;                  /* it has ended and was read completely: this place is free */
    bool now;                   /* it began before this turn: its items up to now are not written */
    unsigned block;             /* the block of the answer that is being written */
    const char *kind;           /* the kind of that block; NULL: none has begun */
} chat_source;

enum { CHAT_AGAIN_BYTES = 256 };
typedef struct chat_again_line {        /* a request that is made again, on stderr */
    int64_t until_ms;           /* when; 0: no line is open */
    int64_t attempt, most, drawn_s;
    char why[CHAT_AGAIN_BYTES];
} chat_again_line;

typedef struct chat_callback chat_callback;     /* chat_hooks.c: a hook that waits for the answer of the client */
/* What the settings of requests become; NULL or 0: as they are. */
typedef struct chat_request_settings { const char *model; uint64_t turns, thinking; } chat_request_settings;

typedef struct chat {
    cli_call *c;
    session *s;
    chat_format format;
    bool frames_in;             /* stdin has frames instead of text */
    bool partial, verbose;
    bool waits;                 /* --ask wait: an open question waits; else it is denied */
    bool answers;               /* somebody answers questions: a client that says so; else they are denied, or wait */
    bool bypass;                /* bypassPermissions was given at the start */
    bool dont_ask;              /* --mode dontAsk: the default mode, and what would be asked is denied */
    pawl_mode settings_mode;    /* of --settings; PAWL_MODE_NONE: none */
    uint32_t attempts;          /* of a request of the built-in agent; 0: its default */
    const char *model;          /* of its requests when it began here */
    int64_t begun_ms;
    char from[CHAT_CURSOR_BYTES];       /* the cursor from which its stream is read; "": the beginning */

    /* chat_client.c: of a call without a verb */
    buf ahead;                  /* what was read of stdin behind the first frame, or with it */
    const pawl_value *hello;    /* the request `initialize` of the client; NULL: none came first */
    const char *hello_id;       /* of it, until it is answered; NULL: none */
    bool greeted;               /* the first frame was read, or stdin has ended */
    bool states;                /* the client asks for chat_state() */
    const char *state;          /* the state that was sent last; NULL: none */
    bool told;                  /* the client knows how the call stands: a frame was written */

    /* chat_hooks.c */
    pthread_mutex_t asking;     /* protects the three below */
    chat_callback *callbacks;
    uint64_t asked_hooks;       /* how many were sent */
    bool gone;                  /* stdin has ended: no hook is sent any more */

    /* chat_out.c */
    const pawl_value *first;    /* the frame that says how it begins; NULL: none is written */
    pthread_t reader;
    pthread_mutex_t writing;    /* stdout, a line at a time */
    pthread_mutex_t lock;       /* protects what follows, up to `over` */
    pthread_cond_t woken;
    bool stirred, stop;
    arena mem;                  /* of the reader's thread */
    arena scratch;              /* of one event */
    chat_turn turn;
    const pawl_value *result;   /* of the last turn; NULL: no turn has ended */
    const pawl_value *asked;    /* {ID: [TOOL, CALL]}: approvals */
    const pawl_value *inputs_of;        /* {CALL: INPUT} of the turn */
    chat_again_line again;      /* of the reader's thread */
    pawl_store *stops;          /* chat_stop.c: the reader's handle; NULL: Ctrl-C does not interrupt */
    bool stopped;               /* the interrupt was left */
    chat_source sources[CHAT_SOURCES_MAX];      /* the first is the run itself */
    size_t nsources;

    /* chat_in.c */
    pthread_t listener;
    pthread_mutex_t hearing;
    pthread_cond_t heard_some;
    unsigned heard;             /* number of deliveries that were left for the run */
    uint64_t inputs, turns_ended;       /* messages of the user that were left for the run; turns that ended since */
    bool rests;                 /* the run is not driven: it took its deliveries, and waits */
    bool deaf;                  /* stdin has ended, or the listener has */
    bool refused;               /* a frame was refused; belongs to the listener's thread until it ends */
    atomic_bool leaves;         /* the listener must end */
    pawl_store *own;            /* the listener's handle */
    pawl_store *looks;          /* the main thread's, with `states`: the engine's is read by the reader, too */
    uint64_t frames, left;      /* frames read so far; deliveries left for runs */
    buf config;                 /* belongs to the listener's thread: the settings of requests of the run as JSON; empty: those of its file */
    buf later;                  /* belongs to the listener's thread: messages that do not fit the agent's queue yet, each followed by a NUL, from later_at on */
    size_t later_at;
} chat;

/* ---- chat_agent.c ------------------------------------------------------------------------------------- */

/* The session of the agent without a file: the model of --model, and the system prompt and the tools that the call and its client give. NULL: *code. */
session *chat_session(chat *k, int *code);
const pawl_value *chat_system(chat *k, pawl_err *err);
/* A conversation that goes on: its system prompt, if another one is given (else NULL), and whether the tools that are given are its own. */
const pawl_value *chat_system_again(chat *k, const pawl_value *was, pawl_err *err);
pawl_code chat_tools_again(chat *k, pawl_err *err);
/* A model as its agent names it: an SDK for Claude leaves the provider out. */
const char *chat_model(chat *k, arena *mem, const char *word);
/* The settings of requests, from `was` (NULL: those of the file of k->s), in `mem`. NULL: see err. Also on the listener's thread. */
const pawl_value *chat_config(const chat *k, arena *mem, const pawl_value *was, const chat_request_settings *set, pawl_err *err);
/* The name of a tool in frames: its own, or for a call without a verb that of its rules, which is Claude's. */
const char *chat_word(const chat *k, const char *name, const char *rule);

/* ---- chat_client.c -------------------------------------------------------------------------------------- */

/* Reads the first frame of stdin; an `initialize` is taken, any other is left in k->ahead. False: no memory. */
bool chat_hello(chat *k);
pawl_code chat_hello_check(const pawl_value *hello, pawl_err *err);    /* PAWL_INVALID: an `initialize` that asks for what is not there; NULL: none */
bool chat_is_empty(const pawl_value *v);   /* null, false, an empty list or object: nothing is asked for */
/* --setting-sources, before the session is opened. */
pawl_code chat_sources(chat *k, pawl_err *err);
/* Gives k->s the rules, folders, settings and hooks of the call and of its client: before the run begins or goes on. */
pawl_code chat_given(chat *k, pawl_err *err);
bool chat_is_retry(const pawl_value *content); /* "/retry", a text or a block: the failed turn is to be tried again. NULL: no */
bool chat_may_retry(const char *run, pawl_state *st, pawl_err *err);   /* false: see err */
const pawl_value *chat_greeting(const chat *k, arena *mem);    /* the answer to `initialize` */
const pawl_value *chat_error_result(arena *mem, const char *run, const char *text);   /* a result frame of a turn that did not begin */
void chat_print_refusal(chat *k);                /* says why the call did not begin: as the answer to `initialize`, or in a result frame */
void chat_refused(cli_call *c, int n, char **words);   /* the same, of options that cannot be read */

/* ---- chat_hooks.c ----------------------------------------------------------------------------------------- */

pawl_handler_fn chat_hook;              /* `arg`: the chat */
/* The client's answer, or its error (NULL: none), to a request of that id. False: no hook waits for it. */
bool chat_hook_answered(chat *k, const char *request, const pawl_value *answer, const char *error);
void chat_hooks_check(chat *k);          /* ends those whose time is over */
void chat_hooks_end(chat *k);           /* nobody answers any more: ends all that wait, and those that would be asked from now on */

/* ---- chat_again.c ------------------------------------------------------------------------------------- */

/* `said`: what the agent emitted, {"again_in_ms","error","retries",...}. */
const pawl_value *chat_again_frame(arena *mem, const pawl_value *said);        /* the members of `api_retry` */
void chat_again(chat *k, const pawl_value *said);      /* a line for people, unless frames are written */
void chat_again_draw(chat *k);          /* time has passed */
void chat_again_end(chat *k);           /* another text comes */

/* ---- chat_stop.c --------------------------------------------------------------------------------------- */

void chat_stop_begin(chat *k);          /* from now on a Ctrl-C interrupts the turn, if that is possible */
void chat_stop_check(chat *k);           /* on the reader's thread, now and then */
void chat_stop_end(chat *k);            /* the reader has ended */

/* ---- chat_out.c ------------------------------------------------------------------------------------- */

/* One line on stdout; any thread. v NULL: no memory. */
void chat_write(chat *k, const pawl_value *v);
void chat_write_line(chat *k, const buf *line);        /* the same; it ends with a newline */
const pawl_value *chat_uuid(arena *mem);        /* a new one, for a frame */
void chat_init_frame(chat *k, pawl_mode mode, const char *model);
/* Starts the reader, which writes frames until it is stopped, and then what is left. */
bool chat_reader_begin(chat *k);
void chat_reader_end(chat *k);
/* Before it begins: the inputs of the calls of the last answer in `messages`, which an earlier process has shown. */
void chat_calls_keep(chat *k, const pawl_value *messages);
/* The result frame of a turn, in `mem`. `end`: as agent_end returns it; `waits`: the open waits (NULL: none). */
const pawl_value *chat_result(chat *k, arena *mem, const char *end, const pawl_value *waits);
/* The tool that an approval is about, by its own name; rules may use another name. NULL: none. */
const char *chat_tool(const pawl_value *about);
/* The name of a tool in frames. */
const char *chat_tool_word(const chat *k, const char *name);
/* The request that a client gets for an open wait; `by`: the call that spawned the agent which asks (NULL: none). NULL: the wait is not for a client. */
const pawl_value *chat_request(const chat *k, arena *mem, const char *id, const char *slot, const char *by, bool approval, const pawl_value *about,
                               const pawl_value *prompt);

/* ---- chat_in.c -------------------------------------------------------------------------------------- */

bool chat_listener_begin(chat *k);
/* Tells a client that asks for it whether the run is "running", "idle" or "requires_action": an SDK closes stdin once it is idle. Main thread, under
 * `hearing` while the listener is there. */
void chat_state(chat *k, const char *word);
/* Waits until something was left for the run since `heard`, by another process too while shells run in the background, or stdin ends. False: it has ended. */
bool chat_listener_wait(chat *k, unsigned heard);
unsigned chat_heard(chat *k);
/* After the end of stdin: denies all open questions, since nobody can answer. False: there was none. */
bool chat_refuse_all(chat *k);
void chat_listener_end(chat *k);

#endif
