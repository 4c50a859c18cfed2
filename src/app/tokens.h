/* tokens.h - who may use a server, and for what: tokens with names, kept by their digests in the person's settings folder (N4).
 *
 * That folder is reached by no tool and no sandbox (P9). A token belongs to the person and to one store: a copy of the store carries no access, and a
 * server of another store does not know the token. */
#ifndef APP_TOKENS_H
#define APP_TOKENS_H

#include "json/json.h"
#include "pawl/policy.h"
#include "pawl/store.h"

enum {
    SCOPE_READ = 1,             /* see runs */
    SCOPE_ANSWER = 2,           /* answer, approve, deny, send */
    SCOPE_RUN = 4,              /* begin, cancel, retry, fork, set the mode */
    SCOPE_ADMIN = 8,            /* the rest */
    SCOPE_WORK = 16,            /* take jobs, and reply to them: whoever has it sees their arguments */
    SCOPES_ALL = 31,
    TOKEN_TEXT_BYTES = 70,      /* "pawl_", 64 hex digits, NUL */
    TOKEN_LIMITS_MAX = 16,      /* machines, and labels, of one token */
    TOKENS_MAX = 1000
};

/* Who asks. A run fits when it is of one of the machines and has all of the labels; without either, every run fits. */
typedef struct asker {
    const char *by;             /* "token:ci": what the journal says */
    unsigned scopes;
    pawl_mode most;             /* the highest mode that it may give a run */
    const char *machines[TOKEN_LIMITS_MAX], *labels[TOKEN_LIMITS_MAX];
    size_t nmachines, nlabels;
} asker;

typedef struct token_row {
    asker who;
    const char *name, *store;   /* the id of the store */
    hash digest;                /* of the token's text */
    int64_t created_ms, expires_ms;     /* expires_ms 0: never */
} token_row;

typedef struct token_list {     /* what was in the file at one moment */
    arena mem;
    token_row *all;
    size_t n;
    unsigned refs;
} token_list;

/* ---- tokens.c ------------------------------------------------------------------------------------------ */

/* "read,answer" as bits; 0: a name is unknown, or there is none. */
unsigned scopes_named(const char *names);
void scopes_said(unsigned scopes, char out[32]);        /* "read,answer" */
/* The file, as it is now; without one the list is empty. One reference. PAWL_DENIED: others may read it, or it is not this user's; PAWL_INVALID; PAWL_IO. */
pawl_code tokens_read(token_list **out, pawl_err *err);
token_list *tokens_keep(token_list *l);
void tokens_drop(token_list *l);                        /* NULL: nothing */
/* Changes whenever the file does. 0: there is none. */
uint64_t tokens_version(void);
/* Makes a token with what `row` has of name, store, expires_ms and who; `text` is the only copy. PAWL_CONFLICT: there is one of that name. */
pawl_code tokens_new(const token_row *row, char text[TOKEN_TEXT_BYTES], pawl_err *err);
pawl_code tokens_remove(const char *name, pawl_err *err);       /* PAWL_GONE */
/* Machines or labels of a token, as a list. */
const pawl_value *token_texts(arena *mem, const char *const *all, size_t n);
/* In a time that does not depend on where `text` differs. NULL: none has it, it is of another store, or has expired. */
const token_row *tokens_find(const token_list *l, const char *text, const char *store, int64_t now_ms);

/* ---- asker.c ------------------------------------------------------------------------------------------- */

bool asker_limited(const asker *who);   /* not every run fits */
/* Whether it may see `run`: a child run is seen with its topmost parent. PAWL_OK and *sees; an error: the store cannot be read. */
pawl_code asker_sees(const asker *who, pawl_store *store, const char *run, bool *sees, pawl_err *err);

/* The same for a run whose head is known; only what the head does not say is read. */
pawl_code asker_sees_head(const asker *who, pawl_store *store, const pawl_head *head, bool *sees, pawl_err *err);

#endif
