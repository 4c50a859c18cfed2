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
    const pawl_value *denials;  /* [{"tool_name","tool_use_id"}] */
    const char *text;           /* its last answer */
    const char *stop;           /* why that answer ended, as the model reports it; NULL: there is none */
    const char *error;          /* NULL: none */
    int64_t begun_ms;
} chat_turn;

typedef struct chat_source {    /* a run whose items are read */
    pawl_items *r;              /* NULL: not open yet */
    const char *run;
    const char *call;           /* the tool call that spawned it; NULL: none */
    bool over;                  /* it has ended and was read completely: this place is free */
    bool now;                   /* it began before this turn: its items up to now are not written */
    unsigned block;             /* the block of the answer that is being written */
    const char *kind;           /* the kind of that block; NULL: none has begun */
} chat_source;

typedef struct chat {
    cli_call *c;
    session *s;
    chat_format format;
    bool frames_in;             /* stdin has frames instead of text */
    bool partial, verbose;
    bool waits;                 /* --ask wait: an open question waits; else it is denied */
    bool bypass;                /* bypassPermissions was given at the start */
    int64_t begun_ms;
    char from[CHAT_CURSOR_BYTES];       /* the cursor from which its stream is read; "": the beginning */

    /* chat_out.c */
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
    uint64_t frames, left;      /* frames read so far; deliveries left for runs */
    buf later;                  /* belongs to the listener's thread: messages that do not fit the agent's queue yet, each followed by a NUL, from later_at on */
    size_t later_at;
} chat;

/* ---- chat_out.c ------------------------------------------------------------------------------------- */

/* One line on stdout; any thread. v NULL: no memory. */
void chat_write(chat *k, const pawl_value *v);
void chat_init_frame(chat *k, pawl_mode mode, const char *model);
/* Starts the reader, which writes frames until it is stopped, and then what is left. */
bool chat_reader_begin(chat *k);
void chat_reader_end(chat *k);
/* The result frame of a turn, in `mem`. `end`: as agent_end returns it; `waits`: the open waits (NULL: none). */
const pawl_value *chat_result(chat *k, arena *mem, const char *end, const pawl_value *waits);
/* The tool that an approval is about, by its own name; rules may use another name. NULL: none. */
const char *chat_tool(const pawl_value *about);
/* The request that a client gets for an open wait; `by`: the call that spawned the agent which asks (NULL: none). NULL: the wait is not for a client. */
const pawl_value *chat_request(arena *mem, const char *id, const char *slot, const char *by, bool approval, const pawl_value *about, const pawl_value *prompt);

/* ---- chat_in.c -------------------------------------------------------------------------------------- */

bool chat_listener_begin(chat *k);
/* Waits until something was left for the run since `heard`, or stdin ends. False: it has ended. */
bool chat_listener_wait(chat *k, unsigned heard);
unsigned chat_heard(chat *k);
/* After the end of stdin: denies all open questions, since nobody can answer. False: there was none. */
bool chat_refuse_all(chat *k);
void chat_listener_end(chat *k);

#endif
