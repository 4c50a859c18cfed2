/* serve.h - the runs of a store over HTTP: what the program's verbs read, as JSON, and streams that resume (N1, N3, N4, N6).
 *
 * The caller gives a function that performs a verb, and one that opens the store. Whatever a verb prints with --json, a route replies, because the route
 * is that verb; what no verb has, items and streams, is read here from the store. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "a2a/a2a.h"
#include "app/tokens.h"
#include "base/base.h"
#include "pawl/store.h"

enum { SERVE_SAID_BYTES = 1024 };

typedef struct serve_verb {
    const asker *who;           /* for whom */
    const char *delivery;       /* the id under which it delivers, so that the same request again changes nothing; NULL: a new one */
    const char *machine;        /* the hash that the machine of a new run has to have; NULL: any */
    bool once;                  /* what was delivered before under that id is all that is asked, whatever it was */
    const char *trace;          /* the W3C trace context of the request; NULL: none */
    int n;
    char **words;               /* "ls", "--json", ... */
    buf *out;                   /* what it prints */
    char said[SERVE_SAID_BYTES];        /* its last error; "": none */
    pawl_code why;              /* of that error; PAWL_OK: not known */
} serve_verb;

typedef struct serve_machine {  /* a machine whose runs can be begun */
    const char *name, *path, *hash;
    const char *json;           /* what /v1/machines says of it */
    a2a_taker taker;            /* what A2A says of it, and how it takes messages */
} serve_machine;

typedef struct serve_config {
    /* Performs a verb; on a thread of the server, one at a time. Returns the exit code of the program. */
    int (*verb)(void *ctx, serve_verb *call);
    pawl_store *(*store)(void *ctx, pawl_err *err);     /* opens a handle of the store, which the server frees */
    pawl_code (*work)(void *ctx, pawl_err *err);        /* begins to drive runs, on threads of its own; NULL: nobody does here */
    void (*rest)(void *ctx);                            /* no new work; again: what is at work is stopped, too. After `work` alone */
    bool (*at_work)(void *ctx);                         /* something still is at work; after `rest` */
    void (*worked)(void *ctx);                          /* waits until nothing is at work; after `rest` */
    void (*note)(void *ctx, const char *text);          /* one line for the person who started the server */
    void *ctx;
    const char *const *listen;  /* "unix:PATH", "ADDRESS:PORT" and "[ADDRESS]:PORT" of loopback, "systemd"; at least one */
    size_t nlisten;
    const char *user;           /* who serves: who has `token`, and who connects to a unix socket as the same user */
    const char *token;          /* of requests over TCP, which may do everything; NULL: nothing but unix sockets. The others are those of app/tokens.h */
    const char *token_note;     /* noted once the server listens on TCP; NULL: nothing */
    const serve_machine *machines;      /* each name once */
    size_t nmachines;
    const char *url;            /* by which clients reach it, for agent cards, without a slash at its end; NULL: by the Host header */
    const char *const *hosts;   /* further names by which clients reach it, for the Host header */
    size_t nhosts;
    struct jobs *jobs;          /* what workers elsewhere perform (app/jobs.h), of the engines that `work` drives; NULL: none */
    const char *access_log;     /* a file, to whose end a line for each request is written; "-": stderr; NULL: none */
} serve_config;

/* Serves until SIGTERM or SIGINT, then drains. PAWL_OK; PAWL_INVALID, a word of `listen` is wrong, or TCP without a token; PAWL_IO, PAWL_CONFLICT,
 * PAWL_NOMEM. Main thread, before any other thread exists. */
pawl_code serve_run(const serve_config *config, pawl_err *err);
/* docs/API.md, made from the table of routes. */
void serve_api_page(buf *out);

#endif
