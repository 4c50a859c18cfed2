/* serve_inner.h - what the files of this folder share. All of it belongs to the loop thread, except the queue of calls. */
#ifndef SERVE_SERVE_INNER_H
#define SERVE_SERVE_INNER_H

#include "net/http/http.h"
#include "pawl/items.h"
#include "serve/serve.h"

typedef struct serve_calls serve_calls;         /* calls.c: the thread that performs verbs */
typedef struct serve_waits serve_waits;         /* wait.c: requests that wait for a run */
typedef struct serve_events serve_events;       /* events.c: runs that are followed */
typedef struct serve_metrics serve_metrics;     /* metrics.c: the thread that counts */
typedef struct serve_jobs serve_jobs;           /* job_routes.c: jobs for workers elsewhere */
typedef struct serve_a2a serve_a2a;             /* a2a_follow.c: requests of A2A that follow a run */

enum { STATUSES = 600 };

typedef struct server {
    const serve_config *config;
    http_server *http;
    pawl_store *store;          /* of the loop thread */
    const char *store_id;       /* of its tokens; "": there are none */
    asker owner, root;
    token_list *tokens;         /* as their file was at `tokens_version`; NULL: it cannot be used, and no token of it counts */
    uint64_t tokens_version;
    bool works;                 /* runs are driven here */
    unsigned misses;            /* wrong tokens that count against the limit; see guard.c */
    int64_t misses_ms;
    serve_calls *calls;
    serve_events *events;
    serve_waits *waits;
    serve_metrics *metrics;
    int64_t started_ms;
    int log_fd;                 /* of the access log; -1: none */
    uint64_t replies[STATUSES]; /* by status; 0: the client was gone before */
    serve_a2a *a2a;
    serve_jobs *jobs;           /* NULL: no runs are driven here */
    bool leaving;               /* told to stop: it waits for jobs that are out, and takes nothing else */
} server;

/* ---- problem.c: errors as application/problem+json ------------------------------------------------------------------ */

/* `code` is a name of docs/ERRORS.md; `detail` is one line. Ends the request. */
void problem(http_req *r, unsigned status, const char *code, const char *detail);
void problem_with(http_req *r, unsigned status, const char *code, const char *detail, const http_field *more);         /* with one header more */
void problem_of(http_req *r, const pawl_err *err);     /* by its code */
unsigned problem_status(pawl_code code);
void text_reply(http_req *r, const char *type, buf *body);      /* 200, or 304 by If-None-Match; frees `body` */
enum { TAG_BYTES = HASH_HEX + 3 };
void text_tag(const buf *body, char tag[TAG_BYTES]);            /* any thread */
void text_reply_tagged(http_req *r, const char *type, buf *body, const char *tag);     /* the same for a large one, whose tag another thread made */

/* ---- guard.c: who may ask ---------------------------------------------------------------------------------------------- */

/* Somebody who was let in. `of` is lent until the next request, unless it is kept. */
typedef struct admitted {
    const asker *who;
    const token_row *row;       /* of `of`; NULL: the user who serves, or root */
    token_list *of;
} admitted;
/* False: the request was refused, and has ended. */
bool guard_admits(server *s, http_req *r, admitted *out);
/* Whether the Host and Origin are of this server, for what needs no token. False: the request has ended. */
bool guard_reaches(server *s, http_req *r);
bool guard_still(server *s, const admitted *a);         /* its token was neither removed nor has it expired */
void guard_open(server *s);
void guard_close(server *s);
/* False: the request has ended, as one for a run that is not there. */
bool run_is_seen(server *s, http_req *r, const asker *who, const char *run);

/* ---- query.c: the parameters of a target ----------------------------------------------------------------------------------- */

enum { PARAMS_MAX = 48 };
typedef struct params {
    const char *names[PARAMS_MAX], *values[PARAMS_MAX];
    size_t n;
    arena mem;
} params;

/* Decodes `query` (NULL: none). False: malformed, or too many; always params_free(). */
bool params_read(params *p, const char *query);
void params_free(params *p);
const char *params_get(const params *p, const char *name);     /* NULL: not given */
/* A segment of a path, decoded; NULL: malformed, or with a NUL or a slash in it. */
const char *segment_decode(arena *mem, const char *text, size_t size);

/* ---- body.c: the body of a request, as words of a verb ------------------------------------------------------------------ */

enum member_kind {
    MEMBER_TEXT,                /* a text: --NAME=TEXT */
    MEMBER_JSON,                /* anything: --NAME=JSON */
    MEMBER_FLAG,                /* true: --NAME */
    MEMBER_COUNT,               /* a whole number: --NAME=N */
    MEMBER_EACH,                /* an object: --NAME=KEY=JSON for each of its members; texts and numbers stand as they are with MEMBER_BOUNDS */
    MEMBER_BOUNDS,
    MEMBER_LIST,                /* an array of texts: --NAME=TEXT for each */
    MEMBER_ARG,                 /* an argument: a text as it is, anything else as JSON */
    MEMBER_ARG_JSON             /* an argument: JSON */
};
typedef struct parameter {
    const char *name;           /* NULL: the end */
    uint8_t kind;
    bool needed;
    uint8_t scope;              /* that it needs besides its route's; 0: none */
    const char *what;           /* one line */
} parameter;
enum { BODY_WORDS_MAX = 200 };
typedef struct body_words {
    const char *options[BODY_WORDS_MAX], *args[4];
    size_t noptions, nargs;
} body_words;
/* PAWL_INVALID: not JSON, not an object, a member that is unknown, missing or of another type. PAWL_DENIED: the scopes lack one's. */
pawl_code body_read(arena *mem, pawl_bytes body, const parameter *members, const asker *who, body_words *out, pawl_err *err);

/* How a verb's call is answered. */
typedef struct call_order {
    const char *type;
    unsigned fine;              /* the exit codes that are no error, as bits */
    unsigned status;            /* of success; 200 has an entity tag, 201 a Location, 204 no body */
    const char *machine;        /* the hash of the machine of a new run; NULL: any */
    const char *match, *of;     /* If-Match, of the run `of`: 412 if GET of it now has another ETag; NULL: not given */
    const char *key;            /* the Idempotency-Key, with what it belongs to; NULL: none */
    bool once;                  /* what was delivered under that key before is all that is asked */
    /* Gets what became of it, in place of a reply, on the loop; `code` below 0: the verb was not performed, and `out` is NULL. NULL: it is replied. */
    void (*done)(void *ctx, int code, const serve_verb *v, const buf *out);
    void *ctx;
} call_order;

/* ---- table.c: the routes ---------------------------------------------------------------------------------------------------- */

enum { SCOPE_NAMED = 32, SCOPE_OPEN = 64 };     /* besides those of app/tokens.h: whoever is let in; everybody, without a token */

typedef struct route {
    const char *method;         /* "GET", which is HEAD, too; "POST", "DELETE" */
    const char *path;           /* {run} is the id of a run, {machine} the name of a machine */
    const char *what;           /* one line, for docs and `/` */
    uint8_t scope;              /* a bit of app/tokens.h, or one of those above; 0: nobody */
    bool keyed;                 /* takes an Idempotency-Key */
    const char *verb;           /* NULL: `serve` */
    const char *const *given;   /* its options that are always given; NULL-terminated */
    const parameter *params;       /* of the query: texts and flags */
    const parameter *members;      /* of the body; NULL: there is none */
    call_order how;             /* its reply */
    bool late;                  /* served until the server has stopped, too */
    bool own;                   /* `serve` reads the target and the body itself, and gets neither a run nor parameters */
    void (*serve)(server *s, http_req *r, const admitted *by, const char *run, const params *p);
} route;
extern const route route_table[];       /* ends with a method of NULL */

void serve_openapi(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_index(server *s, http_req *r, const admitted *by, const char *run, const params *p);

/* ---- wait.c ------------------------------------------------------------------------------------------------------------------------ */

serve_waits *waits_new(server *s, pawl_err *err);
void waits_free(serve_waits *w);        /* after the loop has ended */
/* Replies as the verb `show` when the run has ended, has a wait without an answer or is parked, or after that time. */
void waits_add(serve_waits *w, http_req *r, const admitted *by, const char *run, unsigned seconds, const call_order *how);
void waits_drain(serve_waits *w);       /* every one is replied to now */

/* ---- openapi.c ------------------------------------------------------------------------------------------------------------------- */

/* `table` ends with a method of NULL. */
void openapi_write(buf *b, const route *table);
void api_page_write(buf *b, const route *table);        /* docs/API.md */
const char *scope_said(const route *row);       /* "read"; "any", "none" */

/* ---- plain.c: routes that are no verb ------------------------------------------------------------------------------------------ */

void serve_health(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_ready(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_machines(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_one_machine(server *s, http_req *r, const admitted *by, const char *name, const params *p);
bool machine_fits(const asker *who, const serve_machine *m);    /* whoever asks may see it */
/* NULL: there is none, or whoever asks may not see it; the request has ended. */
const serve_machine *machine_seen(server *s, http_req *r, const asker *who, const char *name);
void serve_items(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_run_events(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_many_events(server *s, http_req *r, const admitted *by, const char *run, const params *p);

/* ---- access.c ----------------------------------------------------------------------------------------------------------------- */

pawl_code access_open(server *s, pawl_err *err);
void access_close(server *s);
void access_ended(void *server, const http_req *r, const http_outcome *how);

/* ---- metrics.c ---------------------------------------------------------------------------------------------------------------- */

serve_metrics *metrics_new(server *s, pawl_err *err);
void metrics_free(serve_metrics *m);    /* after the loop has ended */
void serve_metrics_text(server *s, http_req *r, const admitted *by, const char *run, const params *p);

/* ---- items.c ---------------------------------------------------------------------------------------------------------------------- */

enum { ITEM_CURSOR_MAX = 256 };
pawl_code run_life(pawl_store *store, const char *run, uint64_t *life, pawl_err *err);
void item_cursor_put(buf *b, const char *cursor, const char *run, uint64_t life);      /* "RUN~LIFE:SEQ.INDEX" */
void item_change_put(buf *b, const pawl_item_change *ch, uint64_t life, const char *json);
unsigned items_kinds(const char *names);        /* "message,tool_call" as bits; NULL: all. 0: there is an unknown one */
extern const char items_kinds_wrong[];
/* If this word of an id is of `run`, its cursor as the store has it. False: it is of another run. PAWL_GONE in `err`: of an earlier one with this id. */
bool item_cursor_read(const char *word, size_t n, const char *run, uint64_t life, char cursor[ITEM_CURSOR_MAX], pawl_err *err);
typedef struct items_order { const char *run, *from, *kinds; size_t limit; } items_order;        /* from, kinds: NULL, not given */
pawl_code items_page(pawl_store *store, const items_order *o, buf *out, pawl_err *err);

/* ---- calls.c ------------------------------------------------------------------------------------------------------------------ */

serve_calls *calls_new(server *s, pawl_err *err);
void calls_free(serve_calls *c);        /* after the loop has ended */
/* Performs `words` (copied) and replies with what is printed, as `type`. */
void calls_add(serve_calls *c, http_req *r, const admitted *by, const char *const *words, size_t n, const call_order *how);
/* Reads a page of items (`o` is copied), which may cost reading a journal, and replies with it. */
void calls_page(serve_calls *c, http_req *r, const admitted *by, const items_order *o);

/* ---- events.c --------------------------------------------------------------------------------------------------------------------- */

serve_events *events_new(server *s, pawl_err *err);
void events_free(serve_events *e);
/* Follows these runs; ends the request with a problem when a cursor is wrong. */
void events_follow(serve_events *e, http_req *r, const admitted *by, const char *const *runs, size_t nruns, const char *from,
                   const char *kinds, bool until_end);
void events_counted(const serve_events *e, size_t *streams, size_t *runs);      /* that are open; that are followed */
void events_drain(serve_events *e);     /* every stream gets the event "drain", and ends */

/* ---- a2a_routes.c, a2a_follow.c, a2a_card.c: the routes of A2A ------------------------------------------------------------------------ */

void serve_a2a_rpc(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_a2a_rest(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_a2a_card(server *s, http_req *r, const admitted *by, const char *run, const params *p);
serve_a2a *a2a_new(server *s, pawl_err *err);
void a2a_free(serve_a2a *a);    /* after the loop has ended */
void a2a_drain(serve_a2a *a);   /* every request is replied to as things stand, and streams end */

/* ---- job_routes.c: jobs for workers elsewhere ------------------------------------------------------------------------------------------ */

extern const parameter job_take_members[], job_beat_members[], job_reply_members[], job_fail_members[];
void serve_jobs_take(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_jobs_beat(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_jobs_reply(server *s, http_req *r, const admitted *by, const char *run, const params *p);
void serve_jobs_fail(server *s, http_req *r, const admitted *by, const char *run, const params *p);
bool job_routes_new(server *s, pawl_err *err);  /* False: see err */
void job_routes_drain(serve_jobs *q);   /* nothing more is given out; may be called again. NULL: nothing, as below */
void job_routes_free(serve_jobs *q);    /* after the loop has ended */

/* ---- routes.c ----------------------------------------------------------------------------------------------------------------------- */

void routes_serve(void *server, http_req *r);   /* the handler of the HTTP server */

#endif
