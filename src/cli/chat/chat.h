/* chat.h - inside `pawl chat -p`: what its two threads write and read during a turn. docs/CHAT.md describes the frames. */
#ifndef CLI_CHAT_H
#define CLI_CHAT_H

#include "cli/open_session.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum chat_format { CHAT_TEXT, CHAT_JSON, CHAT_STREAM } chat_format;

enum { CHAT_SOURCES_MAX = 64, CHAT_LINE_BYTES_MAX = 32 << 20, CHAT_CURSOR_BYTES = 48 };

typedef struct chat_turn {      /* the turn at hand, as its items show it; of the thread that reads them */
    uint32_t turns;             /* answers of the model */
    int64_t usage[4];           /* tokens: input, output, read from a cache, written to one; with those of its children, as is */
    int64_t micros;
    const pawl_value *denials;  /* [{"tool_name","tool_use_id"}] */
    const char *text;           /* its last answer, */
    const char *stop;           /* and why that ended, as the model says; NULL: there is none */
    const char *error;          /* NULL: none */
    int64_t begun_ms;
} chat_turn;

typedef struct chat_source {    /* a run whose items are read */
    pawl_items *r;              /* NULL: not open yet */
    const char *run;
    const char *call;           /* the tool call that spawned it; NULL: none */
    bool over;                  /* it has ended, and all of it was read: its place is free */
    bool now;                   /* it began before this turn: its items up to now are not written */
    unsigned block;             /* of the answer that comes: its part, */
    const char *kind;           /* and of what kind that is; NULL: none has begun */
} chat_source;

typedef struct chat {
    cli_call *c;
    session *s;
    chat_format format;
    bool frames_in;             /* stdin has frames, and no text */
    bool partial, verbose;
    bool waits;                 /* who is not there is waited for; else that is a no */
    bool bypass;                /* was given when it began */
    int64_t begun_ms;
    char from[CHAT_CURSOR_BYTES];       /* where its stream is read from; "": from the beginning */

    /* chat_out.c */
    pthread_t reader;
    pthread_mutex_t writing;    /* stdout, a line at a time */
    pthread_mutex_t lock;       /* of what follows, up to `over` */
    pthread_cond_t woken;
    bool stirred, stop;
    arena mem;                  /* of the reader's thread */
    arena scratch;              /* of one event */
    chat_turn turn;
    const pawl_value *result;   /* the last; NULL: no turn has ended */
    const pawl_value *asked;    /* {ID: [TOOL, CALL]}: approvals */
    chat_source sources[CHAT_SOURCES_MAX];      /* the run itself is the first */
    size_t nsources;

    /* chat_in.c */
    pthread_t listener;
    pthread_mutex_t hearing;
    pthread_cond_t heard_some;
    unsigned heard;             /* times that something was left for the run */
    uint64_t inputs, turns_ended;       /* messages of the user's that were left for the run; turns that ended since */
    bool rests;                 /* the run is not driven: it took what was left for it, and waits */
    bool deaf;                  /* stdin is over, or nobody listens any more */
    bool refused;               /* a frame was; of the listener's thread until it has ended */
    atomic_bool leaves;         /* the listener is to end */
    pawl_store *own;            /* the listener's handle */
    uint64_t frames, left;      /* read so far; left for runs */
    buf later;                  /* of the listener's thread: messages that there is no room for yet, each with a NUL behind it, from later_at on */
    size_t later_at;
} chat;

/* ---- chat_out.c ------------------------------------------------------------------------------------- */

/* One line on stdout; any thread. v NULL: no memory. */
void chat_write(chat *k, const pawl_value *v);
void chat_init_frame(chat *k, pawl_mode mode, const char *model);
/* Reads along until it is stopped, and then what is left. */
bool chat_reader_begin(chat *k);
void chat_reader_end(chat *k);
/* How a turn came out that did: its frame, in `mem`. `end` as agent_end says it; `waits`: what is waited for (NULL: nothing). */
const pawl_value *chat_result(chat *k, arena *mem, const char *end, const pawl_value *waits);
/* The tool that an approval is of, by its own name, which rules may call another. NULL: of none. */
const char *chat_tool(const pawl_value *about);
/* What a client is asked of an open wait; `by`: the call that spawned who asks (NULL: none). NULL: nothing of the kind. */
const pawl_value *chat_request(arena *mem, const char *id, const char *slot, const char *by, bool approval, const pawl_value *about, const pawl_value *prompt);

/* ---- chat_in.c -------------------------------------------------------------------------------------- */

bool chat_listener_begin(chat *k);
/* Until something was left for the run since `heard`, or stdin is over. False: it is. */
bool chat_listener_wait(chat *k, unsigned heard);
unsigned chat_heard(chat *k);
/* Behind its end: all that is asked is refused, for nobody is there. False: nothing is asked. */
bool chat_refuse_all(chat *k);
void chat_listener_end(chat *k);

#endif
