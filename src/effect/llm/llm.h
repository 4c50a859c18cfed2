/* llm.h - inside the model clients: the request, the answer, and the two APIs. */
#ifndef EFFECT_LLM_LLM_H
#define EFFECT_LLM_LLM_H

#include "effect/effect.h"
#include "net/sse.h"
#include "pawl/llm.h"

enum {
    LLM_PARTS_MAX = 4096,       /* blocks of one answer */
    LLM_MESSAGES_MAX = 100000,  /* of one request */
    LLM_TOKENS = 8192           /* of an answer, if an API requires a number and the caller gave none */
};
#define LLM_OUTPUT "output"     /* the tool by which a typed value is returned */
#define LLM_OUTPUT_TOLD "Gives the answer: its input is the answer itself."

/* ---- args.c: what is asked -------------------------------------------------------------------------- */

/* How an API like OpenAI's is asked for a typed value. A server that refuses one is asked by the next. */
typedef enum llm_way { LLM_BY_FORMAT, LLM_BY_TOOL, LLM_BY_JSON, LLM_BY_PROMPT } llm_way;

typedef struct llm_request {
    const char *provider, *model;       /* the two parts of "PROVIDER/NAME" */
    const pawl_value *messages, *tools, *schema, *stop, *temperature;   /* NULL: not given; tools is never empty */
    const char *system;                 /* NULL or "": none */
    const char *tool_choice;            /* NULL: not given */
    int64_t max_tokens, budget_tokens;  /* 0: not given */
    bool cache;
    llm_way way;                        /* of `schema`; Anthropic's API has its own */
    size_t turn;                        /* the number of the answer among those of the conversation, from 1 */
} llm_request;

/* The arguments with `config` as defaults, `system` as one text, the first `upto` messages, `then` as a last message of the user, and without null
 * members; invalid values stay, for the check. `args` itself if nothing changes. NULL: no memory. */
const pawl_value *llm_args_flat(arena *mem, const pawl_value *args);
/* Check flat arguments and their contents. What is read is valid as long as they are, and `mem` is. */
pawl_code llm_request_read(const pawl_job *job, pawl_reply *r, arena *mem, llm_request *out);

/* A member of a request: its beginning (",\"model\":"), and the text or value. */
void llm_put_text(buf *b, const char *name, const char *text);
void llm_put_value(buf *b, const char *name, const pawl_value *v);
bool llm_schema_wraps(const pawl_value *schema);    /* not a schema of an object: the model is asked for {"value":...} */
/* The schema as one of an object: one of another value is wrapped (llm_schema_wraps), and targets of $refs are moved to where they are looked up. */
void llm_put_schema(buf *b, const pawl_value *schema);
/* Consecutive messages of one side, which an API takes as one: of the assistant, or of the user with results of tools. Messages without anything to send
 * are left out. */
typedef struct llm_turn {
    bool assistant;
    const pawl_value **messages;
    size_t n;
} llm_turn;
typedef bool llm_sends_fn(const pawl_value *block, bool assistant);
/* False: no memory. */
bool llm_turns(arena *mem, const llm_request *q, llm_sends_fn *sends, llm_turn **out, size_t *n);
const pawl_value *llm_blocks(arena *mem, const pawl_value *message);    /* blocks of its content, which may be a plain string; NULL: no memory */
bool llm_is(const pawl_value *object, const char *type);                /* whether its member "type" is this */
const char *llm_text(const pawl_value *object, const char *key);        /* a member that is a string, or "" */
/* The text of the user's last message, blocks joined by newlines; "": there is none. NULL: no memory. */
const char *llm_last_text(arena *mem, const pawl_value *messages);

/* ---- answer.c: what is answered ---------------------------------------------------------------------------- */

typedef enum llm_stop {
    LLM_END_TURN, LLM_TOOL_USE, LLM_MAX_TOKENS, LLM_STOP_SEQUENCE, LLM_REFUSAL, LLM_PAUSE_TURN, LLM_CONTEXT_EXCEEDED
} llm_stop;
const char *llm_stop_name(llm_stop stop);
bool llm_stop_named(const char *name, llm_stop *out);

typedef enum llm_kind { LLM_TEXT, LLM_THINKING, LLM_TOOL, LLM_RAW } llm_kind;

typedef struct llm_part {
    llm_kind kind;
    int64_t index;              /* of the API; -1: it has none */
    buf text;                   /* of LLM_TOOL and LLM_RAW: the JSON of the input, as it arrived */
    buf more;                   /* of LLM_TEXT: citations; of LLM_THINKING: the signature */
    const char *id, *name;      /* of a tool; "" */
    const pawl_value *raw;      /* the block as it began */
    const pawl_value *extra;    /* of a tool call: further data of its provider; NULL: none */
    bool wanted;                /* only its own provider takes it back */
    bool closed;
} llm_part;

typedef struct llm_answer {
    const pawl_job *job;        /* whose readers get the pieces */
    const llm_request *q;
    arena *mem;                 /* for what is kept */
    llm_part *parts;
    size_t nparts, cap;
    llm_stop stop;
    pawl_llm_usage usage;
    const char *model, *request_id;     /* NULL: not given */
    bool begun;                 /* message_start, or the first chunk */
    bool stopped;               /* a stop reason was given */
    bool whole;                 /* it is complete */
    unsigned counted;           /* members of the usage that were read, by bit: USAGE_IN and USAGE_OUT, and others of its provider */
    unsigned unreadable;        /* members of the usage that are no whole numbers from 0 to 2^53, by the same bits */
    bool refused;               /* the model refuses */
    const char *broken;         /* the server's reason for cutting it off; NULL: it was not cut off */
    const char *key;            /* must not appear in any text; NULL: none */
    pawl_code rc;               /* below 0: it failed; see err */
    pawl_err err;
} llm_answer;

void llm_answer_init(llm_answer *a, arena *mem, const pawl_job *job, const llm_request *q);
void llm_answer_free(llm_answer *a);
/* Fails with "Invalid response: " before the text; an earlier failure stays. Returns the code. */
pawl_code llm_invalid(llm_answer *a, const char *fmt, ...) PAWL_PRINTF(2, 3);
pawl_code llm_nomem(llm_answer *a);
llm_part *llm_part_new(llm_answer *a, llm_kind kind, int64_t index);    /* NULL: see a->rc */
const char *llm_keep(llm_answer *a, const char *text);                  /* NULL: see a->rc */
enum { USAGE_IN = 1, USAGE_OUT = 2 };
typedef enum llm_number { LLM_NO_NUMBER, LLM_NUMBER, LLM_UNREADABLE } llm_number;
/* A number of tokens; *to is set to one from 0 to 2^53, and else unchanged. LLM_NO_NUMBER: absent, or null. */
llm_number llm_count(const pawl_value *usage, const char *path, int64_t *to);
void llm_count_member(llm_answer *a, const pawl_value *usage, const char *path, unsigned bit, int64_t *to);     /* the same, noted in the answer */
/* The usage can be charged: all of it could be read, and a complete answer said both. Else the call costs its whole reservation (A9). */
bool llm_is_counted(const llm_answer *a);
/* Appends text to a part, and tells readers. */
void llm_part_text(llm_answer *a, llm_part *p, const char *text, size_t size);
/* Makes the reply, with its cost, from a complete answer; fails if it cannot be one. */
pawl_code llm_reply(llm_answer *a, pawl_reply *r);

void llm_emit_begin(const pawl_job *job);
void llm_emit_text(const pawl_job *job, llm_kind kind, const char *text, size_t size);
/* `index`: of the block in the message; id and name may be NULL. */
void llm_emit_tool(const pawl_job *job, size_t index, const char *id, const char *name, const char *input, size_t size);
/* Tells readers a reply that exists already, as if it arrived now. */
void llm_emit_message(const pawl_job *job, const pawl_value *message);
void llm_cost(pawl_reply *r, const pawl_llm_usage *u, int64_t micros);

/* ---- fail.c: what a refusal means ------------------------------------------------------------------------------ */

typedef struct llm_error {
    long status;                /* 0: it came in a stream */
    const char *type, *code, *text;     /* "" if not given */
    bool should_retry, should_not;      /* the server says so (x-should-retry) */
} llm_error;

/* Read the error in a body or an event, in any of the known shapes; its texts live as long as that. */
void llm_error_read(const pawl_value *body, llm_error *out);
bool llm_error_is(const pawl_value *body);      /* it contains an error */
bool llm_error_has(const llm_error *e, const char *const *words);      /* its texts contain one of the words, which end in NULL; case is ignored */
/* The code for it, and one line in err, from which `key` (may be NULL) is removed. */
pawl_code llm_error_fail(const llm_error *e, const char *key, pawl_err *err);

/* ---- anthropic.c, openai.c: APIs ------------------------------------------------------------------------------------ */

typedef struct llm_api {
    const char *path;           /* appended to the base address */
    const char *request_id;     /* the response header that has the id */
    void (*body)(arena *mem, const llm_request *q, buf *out);   /* same request, same bytes; out->failed: no memory */
    pawl_code (*event)(llm_answer *a, const sse_event *ev, arena *scratch);     /* below 0: see a->err */
    pawl_code (*end)(llm_answer *a);    /* the stream has ended: whether the answer is complete */
} llm_api;

extern const llm_api llm_anthropic, llm_openai;

/* ---- way.c: how a typed value is asked for ----------------------------------------------------------------------------- */

/* The way that was answered last; LLM_BY_FORMAT: none is known in this process. Any thread. */
llm_way llm_way_known(const char *base, const char *model);
void llm_way_keep(const char *base, const char *model, llm_way way);
const char *llm_way_name(llm_way way);
bool llm_way_refused(llm_way way, const llm_error *e);      /* the server says that it does not know this way; of LLM_BY_PROMPT: never */

/* ---- record.c: answers by what was asked ---------------------------------------------------------------------------------- */

/* SHA-256 of the request without members that do not change its meaning. False: no memory. */
bool llm_record_key(const pawl_value *args, const pawl_alloc *alloc, hash *out);
/* Append a line of a record; tokens below 0: the cost is unknown. */
void llm_record_line(buf *b, const hash *key, const pawl_value *reply, int64_t tokens, int64_t micros);

#endif
