/* llm.h - inside the model clients: what is asked, what is answered, and who speaks which API. */
#ifndef EFFECT_LLM_LLM_H
#define EFFECT_LLM_LLM_H

#include "effect/effect.h"
#include "net/sse.h"
#include "pawl/llm.h"

enum {
    LLM_PARTS_MAX = 4096,       /* blocks of one answer */
    LLM_MESSAGES_MAX = 100000,  /* of one request */
    LLM_TOKENS = 8192           /* of an answer, where an API must be told and the caller says nothing */
};
#define LLM_OUTPUT "output"     /* the tool by which a typed value comes */

/* ---- args.c: what is asked -------------------------------------------------------------------------- */

typedef struct llm_request {
    const char *provider, *model;       /* the two parts of "PROVIDER/NAME" */
    const pawl_value *messages, *tools, *schema, *stop, *temperature;   /* NULL: not said; tools never empty */
    const char *system;                 /* NULL or "": none */
    const char *tool_choice;            /* NULL: not said */
    int64_t max_tokens, budget_tokens;  /* 0: not said */
    bool cache;
    size_t turn;                        /* the number of the answer among those of the conversation, from 1 */
} llm_request;

/* The arguments with `config` laid under them, `system` as one text, of the messages the first `upto`, `then` as the last one of a user, and without what
 * is null; what is not as it should be stays as it is, to be told of. `args` itself when there is nothing to do. NULL: no memory. */
const pawl_value *llm_args_flat(arena *mem, const pawl_value *args);
/* Check flat arguments, and what is in them. What is read lives as long as they do and `mem`. */
pawl_code llm_request_read(const pawl_job *job, pawl_reply *r, arena *mem, llm_request *out);

/* A member as it stands in a request: what leads to it (",\"model\":"), and the text or the value. */
void llm_put_text(buf *b, const char *name, const char *text);
void llm_put_value(buf *b, const char *name, const pawl_value *v);
/* Messages of one side that follow each other, since an API takes them for one: the assistant's, or the user's with the answers of tools. Those
 * of which nothing is to be sent are left out. */
typedef struct llm_turn {
    bool assistant;
    const pawl_value **messages;
    size_t n;
} llm_turn;
typedef bool llm_sends_fn(const pawl_value *block, bool assistant);
/* False: no memory. */
bool llm_turns(arena *mem, const llm_request *q, llm_sends_fn *sends, llm_turn **out, size_t *n);
const pawl_value *llm_blocks(arena *mem, const pawl_value *message);    /* of its content, which may be a plain string; NULL: no memory */
bool llm_is(const pawl_value *object, const char *type);                /* what its member "type" says */
const char *llm_text(const pawl_value *object, const char *key);        /* a string that is its member, or "" */
/* The text of the last message that a user wrote, its blocks joined by newlines; "": there is none. NULL: no memory. */
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
    int64_t index;              /* the API's own; -1: it has none */
    buf text;                   /* of LLM_TOOL and LLM_RAW: the JSON of its input, as it came */
    buf more;                   /* of LLM_TEXT: citations; of LLM_THINKING: the signature */
    const char *id, *name;      /* of a tool; "" */
    const pawl_value *raw;      /* as it began */
    const pawl_value *extra;    /* of a tool: what its provider gave with the call; NULL: nothing */
    bool wanted;                /* its provider wants it back, and nobody else */
    bool closed;
} llm_part;

typedef struct llm_answer {
    const pawl_job *job;        /* who is told of it */
    const llm_request *q;
    arena *mem;                 /* of what is kept */
    llm_part *parts;
    size_t nparts, cap;
    llm_stop stop;
    pawl_llm_usage usage;
    const char *model, *request_id;     /* NULL: not said */
    bool begun;                 /* message_start, or the first chunk */
    bool stopped;               /* there is a reason why it stopped */
    bool whole;                 /* nothing is to come, and it is complete */
    bool counted;               /* usage is known */
    bool refused;               /* it says that it refuses */
    const char *broken;         /* why its server has cut it off, in its words; NULL: it has not */
    const char *key;            /* that no text may have; NULL: none */
    pawl_code rc;               /* it is refused; err says why */
    pawl_err err;
} llm_answer;

void llm_answer_init(llm_answer *a, arena *mem, const pawl_job *job, const llm_request *q);
void llm_answer_free(llm_answer *a);
/* The first refusal stands; "Invalid response: " goes before the text. Returns the code. */
pawl_code llm_invalid(llm_answer *a, const char *fmt, ...) PAWL_PRINTF(2, 3);
pawl_code llm_nomem(llm_answer *a);
llm_part *llm_part_new(llm_answer *a, llm_kind kind, int64_t index);    /* NULL: see a->rc */
const char *llm_keep(llm_answer *a, const char *text);                  /* NULL: see a->rc */
int64_t llm_count(const pawl_value *usage, const char *path);           /* a number of tokens, 0 and more */
/* More of a part: kept, and told. */
void llm_part_text(llm_answer *a, llm_part *p, const char *text, size_t size);
/* Whether a whole answer can be a reply; then `r` has it, its cost too. */
pawl_code llm_reply(llm_answer *a, pawl_reply *r);

void llm_tell_begin(const pawl_job *job);
void llm_tell_text(const pawl_job *job, llm_kind kind, const char *text, size_t size);
/* `index`: of the block in the message; id and name may be NULL. */
void llm_tell_tool(const pawl_job *job, size_t index, const char *id, const char *name, const char *input, size_t size);
/* A reply that is there already, as if it came now. */
void llm_tell_message(const pawl_job *job, const pawl_value *message);
void llm_cost(pawl_reply *r, const pawl_llm_usage *u, int64_t micros);

/* ---- fail.c: what a refusal means ------------------------------------------------------------------------------ */

typedef struct llm_error {
    long status;                /* 0: it came in a stream, and says none */
    const char *type, *code, *text;     /* "" when not said */
    bool should_retry, should_not;      /* the server says so (x-should-retry) */
} llm_error;

/* Read the error of a body or an event, whatever its shape; its texts live as long as that. */
void llm_error_read(const pawl_value *body, llm_error *out);
bool llm_error_is(const pawl_value *body);      /* there is one in it */
/* What that is: the code, and one line into err; `key`, if any, is cut out of it. */
pawl_code llm_error_fail(const llm_error *e, const char *key, pawl_err *err);

/* ---- anthropic.c, openai.c: APIs ------------------------------------------------------------------------------------ */

typedef struct llm_api {
    const char *path;           /* behind the base address */
    const char *request_id;     /* the header of the answer that names it */
    void (*body)(arena *mem, const llm_request *q, buf *out);   /* the same bytes for the same request; out->failed: no memory */
    pawl_code (*event)(llm_answer *a, const sse_event *ev, arena *scratch);     /* below 0: a->err says why */
    pawl_code (*end)(llm_answer *a);    /* the stream has ended: whether that is an answer */
} llm_api;

extern const llm_api llm_anthropic, llm_openai;

bool llm_schema_wraps(const pawl_value *schema);    /* it is of no object: what is asked for is {"value":...} */

/* ---- record.c: answers by what was asked ---------------------------------------------------------------------------------- */

/* The SHA-256 of what is asked, and not of how, or by whom. False: no memory. */
bool llm_record_key(const pawl_value *args, const pawl_alloc *alloc, hash *out);
/* Append a line of a record; tokens below 0: it did not say what it has cost. */
void llm_record_line(buf *b, const hash *key, const pawl_value *reply, int64_t tokens, int64_t micros);

#endif
