/* a2a.h - the A2A protocol, 1.0 and 0.3: one form inside, a reader that takes both, and a writer for each (N2).
 *
 * Pure: JSON in, JSON out; a task is folded from the changes of a run's items (pawl/items.h). The caller, src/serve, has the connections and the store.
 *
 * What comes in is read liberally, as ProtoJSON: lowerCamelCase and snake_case, enums by name or number, unknown members are ignored. What goes out is
 * strict lowerCamelCase. Texts of what is read are lent by the arena that it was read into. */
#ifndef A2A_A2A_H
#define A2A_A2A_H

#include "json/json.h"
#include "pawl/items.h"

typedef enum a2a_version { A2A_0_3, A2A_1_0 } a2a_version;

/* ---- error.c ------------------------------------------------------------------------------------------------------- */

typedef enum a2a_error {
    A2A_FINE, A2A_TASK_NOT_FOUND, A2A_TASK_NOT_CANCELABLE, A2A_PUSH_NOT_SUPPORTED, A2A_UNSUPPORTED_OPERATION, A2A_CONTENT_TYPE, A2A_INVALID_AGENT_RESPONSE,
    A2A_NO_EXTENDED_CARD, A2A_EXTENSION_REQUIRED, A2A_VERSION_NOT_SUPPORTED, A2A_PARSE_ERROR, A2A_INVALID_REQUEST, A2A_METHOD_NOT_FOUND, A2A_INVALID_PARAMS,
    A2A_INTERNAL, A2A_ERRORS
} a2a_error;

typedef struct a2a_fault {      /* why a request is refused; the first one stays */
    a2a_error error;
    char field[64];             /* of an invalid parameter: its path; "": none */
    char text[256];             /* one line */
} a2a_fault;

/* Returns false, for the caller to pass on. */
bool a2a_wrong(a2a_fault *f, a2a_error error, const char *field, const char *fmt, ...) PAWL_PRINTF(4, 5);
int a2a_error_code(a2a_error error);            /* of JSON-RPC: -32001 */
unsigned a2a_error_status(a2a_error error);     /* of HTTP, in the binding HTTP+JSON */
const char *a2a_error_reason(a2a_error error);  /* "TASK_NOT_FOUND"; "": none */
/* {"code","message","data"} of JSON-RPC. 0.3 has no data. */
void a2a_error_put(buf *b, const a2a_fault *f, a2a_version version);
void a2a_rest_error_put(buf *b, const a2a_fault *f);    /* {"error":{"code","status","message","details"}} */

/* ---- state.c: the states of a task ----------------------------------------------------------------------------------- */

typedef enum a2a_state {
    A2A_SUBMITTED, A2A_WORKING, A2A_INPUT_REQUIRED, A2A_AUTH_REQUIRED, A2A_COMPLETED, A2A_FAILED, A2A_CANCELED, A2A_REJECTED, A2A_STATES
} a2a_state;
/* What the open waits of a run ask for, if nothing is at work in it. */
typedef enum a2a_asks { A2A_ASKS_NOTHING, A2A_ASKS_PERSON, A2A_ASKS_SIGNATURE, A2A_ASKS } a2a_asks;
enum { A2A_RUN_STATUSES = 7 };  /* of pawl_status: submitted working input-required completed failed canceled rejected */

a2a_state a2a_state_of(unsigned status, a2a_asks asks);
bool a2a_state_over(a2a_state s);       /* terminal */
bool a2a_state_rests(a2a_state s);      /* a blocking call returns */
const char *a2a_state_name(a2a_state s, a2a_version version);
/* "TASK_STATE_WORKING", "working" or a number of 1.0. A2A_STATES: none of them. */
a2a_state a2a_state_read(const pawl_value *v);

/* ---- forms ------------------------------------------------------------------------------------------------------------- */

typedef struct a2a_part {       /* exactly one of the first four */
    const char *text;
    const char *raw;            /* base64 */
    const char *url;
    const pawl_value *data;
    const char *filename, *media_type;  /* NULL: not said */
    const pawl_value *metadata;
} a2a_part;

typedef struct a2a_message {
    const char *id, *context, *task;    /* context, task: NULL, not said */
    bool user;
    a2a_part *parts;
    size_t nparts;
    const pawl_value *metadata, *extensions, *references;       /* NULL: none */
} a2a_message;

typedef struct a2a_artifact {
    const char *id, *name;
    a2a_part *parts;
    size_t nparts;
} a2a_artifact;

typedef struct a2a_status {
    a2a_state state;
    const a2a_message *said;    /* NULL: nothing */
    int64_t time_ms;
} a2a_status;

/* ---- field.c: members, liberally ------------------------------------------------------------------------------------ */

/* By its lowerCamelCase name, or in snake_case; a null is as if it were not there. */
const pawl_value *a2a_field(const pawl_value *object, const char *name);
/* False: it is there, and is no such thing; the fault says so. Not there: *out stays. A text that is empty is as if it were not there. */
bool a2a_text(const pawl_value *object, const char *name, const char **out, a2a_fault *f);
bool a2a_bool(const pawl_value *object, const char *name, bool *out, a2a_fault *f);
bool a2a_count(const pawl_value *object, const char *name, int64_t least, int64_t most, int64_t *out, a2a_fault *f);    /* also as a text of digits */
bool a2a_object(const pawl_value *object, const char *name, const pawl_value **out, a2a_fault *f);

/* ---- message.c --------------------------------------------------------------------------------------------------------- */

/* `v` as it is in either version. */
bool a2a_message_read(arena *mem, const pawl_value *v, a2a_message *out, a2a_fault *f);
bool a2a_part_read(const pawl_value *v, a2a_part *out, a2a_fault *f);
/* The texts of its parts, one a line. NULL: it has none. */
const char *a2a_message_text(arena *mem, const a2a_message *m);
/* What makes it the same message when it comes again: its parts and metadata, in hex. False: no memory. */
bool a2a_message_digest(const a2a_message *m, char out[HASH_HEX + 1]);

/* ---- request.c: what is asked --------------------------------------------------------------------------------------- */

typedef enum a2a_method {
    A2A_SEND, A2A_STREAM, A2A_GET, A2A_LIST, A2A_CANCEL, A2A_SUBSCRIBE, A2A_PUSH_CREATE, A2A_PUSH_GET, A2A_PUSH_LIST, A2A_PUSH_DELETE, A2A_EXTENDED_CARD,
    A2A_METHODS
} a2a_method;

typedef struct a2a_request {    /* zeroed by who reads into it */
    a2a_method method;
    a2a_version version;
    const char *id;             /* of JSON-RPC: JSON; "null": it could not be read */
    const char *task;           /* NULL: none */
    const char *tenant;
    a2a_message message;        /* of send and stream */
    const pawl_value *metadata;
    bool blocking;
    int64_t history;            /* most messages; -1: all */
    /* of a list */
    const char *context, *page_token;
    a2a_state state;            /* A2A_STATES: any */
    int64_t page_size, after_ms;        /* after_ms: -1, any */
    bool artifacts;
} a2a_request;

/* `version`: the header or parameter A2A-Version; NULL: none. Its patch number does not count. */
bool a2a_version_read(const char *version, a2a_version *out, a2a_fault *f);
/* A body of JSON-RPC. The method's name says the version; the header only refuses one that is not served. On a fault, out->id is what can be said. */
bool a2a_rpc_read(arena *mem, pawl_bytes body, const char *version, a2a_request *out, a2a_fault *f);
/* Members of a method, of either version; `params` may be NULL. out->version and out->method are set. */
bool a2a_params_read(arena *mem, const pawl_value *params, a2a_request *out, a2a_fault *f);
bool a2a_time_read(const char *text, int64_t *ms);      /* RFC 3339, in UTC or with an offset */

/* ---- task.c: a run as a task, folded from its items ------------------------------------------------------------------- */

typedef struct a2a_wait {       /* that is open */
    const char *id, *slot;
    uint8_t kind;               /* a2a_wait_kind */
    bool signature;             /* it takes signed answers alone */
    bool answered;              /* an answer is stored, and nobody has taken it yet */
    bool child;                 /* a child run asks */
    const a2a_message *asked;
} a2a_wait;
typedef enum a2a_wait_kind { A2A_WAIT_QUESTION, A2A_WAIT_APPROVAL, A2A_WAIT_INPUT } a2a_wait_kind;

typedef struct a2a_place {      /* of an event in its task: places ascend */
    uint64_t seq, index, sub, n;
} a2a_place;

typedef struct a2a_event {      /* a change of a task that a stream tells of */
    a2a_place at;
    a2a_status status;
    const a2a_artifact *artifact;       /* NULL: the status */
} a2a_event;

typedef struct a2a_task a2a_task;
typedef const char *a2a_json_fn(void *ctx);     /* the content of the change that is taken; NULL: no memory */
typedef void a2a_event_fn(void *ctx, const a2a_event *e);

typedef struct a2a_task_of {    /* a run's record; texts are copied */
    const char *run, *context, *machine;
    const char *message;        /* the id of the message that began it; NULL: made */
    uint64_t life;
} a2a_task_of;

a2a_task *a2a_task_new(const a2a_task_of *of);          /* NULL: no memory */
void a2a_task_free(a2a_task *t);        /* NULL: nothing */
/* Takes the next change of its items, which are read from the first one and with PAWL_ITEM_LINE. Its events go to `fn` (may be NULL), in order. */
void a2a_task_take(a2a_task *t, const pawl_item_change *ch, a2a_json_fn *json, void *json_ctx, a2a_event_fn *fn, void *ctx);
/* There is no further change now: what the newest line led to is told. */
void a2a_task_rest(a2a_task *t, a2a_event_fn *fn, void *ctx);
/* An answer to this wait is stored (NULL: input is), and not taken yet: it does not ask any more. False: no such wait is open. */
bool a2a_task_answered(a2a_task *t, const char *wait);
/* Messages that are on their way to it, as signals of the name A2A_SIGNAL: JSON that is stored, and that nobody has taken yet. */
void a2a_task_coming(a2a_task *t, const pawl_bytes *values, size_t n);
/* What its children ask now, which its own items do not have; `kinds`: "approval", "question". A run that has children waits for them. */
void a2a_task_children(a2a_task *t, const char *const *waits, const char *const *kinds, const pawl_bytes *specs, size_t n);
bool a2a_task_has_children(const a2a_task *t);
/* JSON of the output of a run that is completed, an artifact, whose event comes before that of the status; NULL: it has none. */
void a2a_task_given(a2a_task *t, const char *output, a2a_event_fn *fn, void *ctx);
bool a2a_task_failed(const a2a_task *t);                /* no memory: it must not be used */

a2a_status a2a_task_status(const a2a_task *t);
const char *a2a_task_id(const a2a_task *t);
uint64_t a2a_task_life(const a2a_task *t);
a2a_place a2a_task_at(const a2a_task *t);       /* all events that were told so far are at this place or before it */
const char *a2a_task_context(const a2a_task *t);
bool a2a_task_is_graph(const a2a_task *t);
size_t a2a_task_waits(const a2a_task *t);
const a2a_wait *a2a_task_wait(const a2a_task *t, size_t i);
const char *a2a_place_text(arena *mem, const a2a_task *t, const a2a_place *at);         /* the id of an event. NULL: no memory */
bool a2a_place_read(const char *text, const char *run, uint64_t life, a2a_place *out);
bool a2a_place_after(const a2a_place *a, const a2a_place *b);   /* a is behind b */

/* ---- write.c ------------------------------------------------------------------------------------------------------------ */

typedef struct a2a_view { a2a_version version; int64_t history; bool artifacts; int64_t time_ms; } a2a_view;    /* time_ms 0: the status's own */
void a2a_task_put(buf *b, const a2a_task *t, const a2a_view *view);
void a2a_event_put(buf *b, const a2a_task *t, const a2a_event *e, a2a_version version);         /* 1.0: {"statusUpdate":..} */
void a2a_time_put(buf *b, int64_t ms);          /* "2026-11-28T12:00:00.000Z", in quotes */

/* ---- turn.c: a message becomes what a run takes ------------------------------------------------------------------------ */

typedef struct a2a_taker {      /* a machine that takes messages */
    const char *name, *description;
    uint32_t version;
    bool agent;                 /* a model with tools */
    bool turns;                 /* it takes input again and again */
    bool whole;                 /* it has a channel "a2a", for whole messages */
    const char *text;           /* the channel that gets the text; NULL: none */
    const char *const *tags;    /* of its skill: its nodes, or its tools */
    size_t ntags;
} a2a_taker;

#define A2A_SIGNAL "message"     /* a message to a graph that is at work: a node may wait for it */
typedef struct a2a_answer {     /* what a verb is told */
    const char *verb;           /* "answer", "approve", "deny", "send" */
    const char *wait, *signal;  /* the id of the wait; the name of the signal that is sent; NULL: none */
    const char *value;          /* an argument; NULL: none */
    const char *reason, *input, *sign;          /* options; NULL: none */
} a2a_answer;

enum { A2A_TEXT_CHANNELS = 4 };
/* The channel that takes the text of a message: the only property of the schema that is required and takes a text, else the only one that takes a text,
 * else the first of message, input, text, question that is a channel. NULL: none. */
const char *a2a_text_channel(const pawl_value *schema, const char *const *channels, size_t n);
/* The input that begins a run, or its next turn, as JSON. NULL: see the fault. */
const char *a2a_input(arena *mem, const a2a_taker *of, const a2a_message *m, a2a_fault *f);
/* `of` may be NULL: its machine is not served here. */
bool a2a_answer_of(arena *mem, const a2a_task *t, const a2a_taker *of, const a2a_message *m, a2a_answer *out, a2a_fault *f);

/* ---- card.c --------------------------------------------------------------------------------------------------------------- */

typedef enum a2a_card_shape { A2A_CARD_1_0, A2A_CARD_0_3 } a2a_card_shape;
typedef struct a2a_card {
    const char *url;            /* of the endpoint, without a slash at its end */
    const a2a_taker *const *takers;
    size_t ntakers;
    const char *server_version; /* when there are several */
    bool token;                 /* requests need one */
    bool push;
} a2a_card;
void a2a_card_put(buf *b, const a2a_card *card, a2a_card_shape shape);

#endif
