/* a2a_call.h - one request of A2A from its parse to the end of its reply, for the a2a_*.c of this folder. All of it belongs to the loop thread. */
#ifndef SERVE_A2A_CALL_H
#define SERVE_A2A_CALL_H

#include "a2a/a2a.h"
#include "pawl/items.h"
#include "serve/serve_inner.h"

enum { A2A_RUN_BYTES = 129, A2A_PORTION = 20000 };      /* A2A_PORTION: changes of one reader in one look */

typedef enum a2a_stage {
    A2A_STAGE_READ,             /* it is looked at: what it needs is read, or asked of a verb */
    A2A_STAGE_VERB,             /* a verb is at work for it */
    A2A_STAGE_FOLLOWS,          /* its run is followed, until what it waits for is there */
    A2A_STAGE_STREAMS,          /* the same, and each event is written */
    A2A_STAGE_OVER,
    A2A_STAGES
} a2a_stage;

typedef struct a2a_call a2a_call;
struct a2a_call {
    a2a_call *next;             /* of those that are followed */
    server *s;
    http_req *r;
    admitted by;
    uint8_t stage;              /* a2a_stage */
    arena mem;
    a2a_request q;
    a2a_fault fault;
    bool rest;                  /* HTTP+JSON; else JSON-RPC */
    bool gone;                  /* its client, while it is followed */
    bool begun;                 /* the reply of a stream has begun */
    bool resumed;               /* the stream goes on behind `from` */
    bool more;                  /* there are changes that were not read yet */
    bool output;                /* what the run gives at its end is known */
    bool held;                  /* the client has not read what was written: `unread` comes first */
    bool finish;                /* a stream ends */
    a2a_place from;
    const char *media;          /* of the reply */
    const serve_machine *machine;       /* of its address; NULL: any */
    const serve_machine *begins;        /* the verb begins a run of it; NULL: it does not */
    char run[A2A_RUN_BYTES];
    a2a_task *t;
    pawl_items *items;
    int64_t changed_ms;         /* of the run's head */
    int64_t due_ms;             /* on the loop's clock; 0: it waits as long as it takes */
    bool parked;
    const char *child_wait;     /* of a child, the question that the stream told; NULL: none */
    buf unread;                 /* frames that the client has no room for */
    void (*after)(a2a_call *c, int code, const serve_verb *v, const buf *out);  /* A2A_STAGE_VERB */
    a2a_event ended;            /* of a stream: that of the end, which waits for the output; `ends`: it does */
    bool ends;
    struct a2a_page *page;      /* of a list, with what frees it */
    void (*page_free)(struct a2a_page *p);
};

/* ---- a2a_call.c ---------------------------------------------------------------------------------------------------------- */

a2a_call *a2a_call_new(server *s, http_req *r, const admitted *by);     /* NULL: no memory, and the request has ended */
void a2a_stage_to(a2a_call *c, a2a_stage to);
/* Each ends the request, unless its stream has begun: then its last event says it. The call is freed. */
void a2a_reply_fault(a2a_call *c);
void a2a_reply_result(a2a_call *c, buf *result);        /* frees `result` */
void a2a_reply_problem(a2a_call *c, unsigned status, const char *code, const char *detail);     /* problem+json */
void a2a_reply_end(a2a_call *c);        /* the end of a stream */
void a2a_call_free(a2a_call *c);
/* A result as JSON of its binding: around it, what JSON-RPC has. */
void a2a_result_begin(const a2a_call *c, buf *b);
void a2a_result_end(const a2a_call *c, buf *b);
/* The fault of an error of the store or a verb. */
void a2a_fault_of(a2a_call *c, pawl_code code, const char *text);
/* Performs a verb, then `after`. `key` NULL: as often as it comes. */
void a2a_verb(a2a_call *c, const char *const *words, size_t n, const char *key, void (*after)(a2a_call *c, int code, const serve_verb *v, const buf *out));
bool a2a_scopes(a2a_call *c, unsigned scopes);          /* false: the request has ended with 403 */
/* Whether the run is there for whoever asks, at this address. False: the fault was set. */
bool a2a_run_is_seen(a2a_call *c, const char *run);

/* ---- a2a_task.c ------------------------------------------------------------------------------------------------------------- */

/* Opens the run's items, to be folded into c->t. False: the fault was set. */
bool a2a_open_task(a2a_call *c, const char *run);
/* Reads up to `most` changes; PAWL_OK: there are more, PAWL_PENDING: it is at the end, below 0: the fault was set. */
pawl_code a2a_read_task(a2a_call *c, size_t most, a2a_event_fn *fn, void *ctx);
/* Answers and input that are stored, and that nobody has taken yet; whether it is parked. */
bool a2a_look_at_mail(a2a_call *c);
void a2a_put_task(a2a_call *c, buf *b, bool artifacts);

/* ---- a2a_follow.c ------------------------------------------------------------------------------------------------------------ */

/* Follows c->run as its method wants, and replies. */
void a2a_follow(a2a_call *c);

/* ---- a2a_send.c, a2a_list.c, a2a_card.c --------------------------------------------------------------------------------------- */

void a2a_send(a2a_call *c);
void a2a_cancel(a2a_call *c);
void a2a_list(a2a_call *c);
void a2a_extended_card(a2a_call *c);

#endif
