/* engine_fixture.h - an engine in a test: a clock that moves only when the engine sleeps, an effect with given replies, and a log of both.
 *
 *     town_begin(&t, town_essay(NULL), NULL);
 *     town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
 *     t.replies[0] = "\"first\"";
 *     CHECK_INT(town_run(&t, "essay-1", "{\"request\":1}"), PAWL_INTERRUPTED);
 *     town_log(&t, "1.draft.1.0 {\"about\":1}; ");                            */
#ifndef TEST_LIB_TOWN_H
#define TEST_LIB_TOWN_H

#include "json/json.h"
#include "check.h"
#include "pawl/engine.h"
#include "pawl/flow.h"
#include "pawl/graph.h"

enum { TOWN_REPLIES = 8 };

typedef struct town {
    pawl_engine *e;
    pawl_err err;
    int64_t now;
    buf log;
    pawl_bytes journal;                 /* the one read last */
    const char *replies[TOWN_REPLIES];  /* of the next calls; the last one is repeated; "!denied text" fails */
    size_t reply, calls;
} town;

/* Owns both from now on; `store` NULL: a new one in memory. */
void town_begin(town *t, pawl_machine *m, pawl_store *store);
void town_end(town *t);
void town_log(town *t, const char *expected);       /* since the last call */
pawl_handler_fn town_act;                            /* logs the call, and replies with the next of `replies` */
void town_acts(town *t, const char *effect, pawl_class cls);
pawl_code town_run(town *t, const char *run, const char *input);   /* with a fresh error */
pawl_bytes town_journal(town *t, const char *run);       /* lent until the next call */
void town_runs(town *t, const char *expected);      /* their ids, newest first: "b a" */
bool town_stored(town *t, const char *run, const char *text);     /* whether its journal contains `text` */
void town_verify(town *t, const char *run);   /* folds the stored journal, and feeds it again */

/* A draft by "llm" with these limits (NULL: none), then a gate: yes publishes, no returns to the draft. */
pawl_machine *town_essay(const pawl_limits *limits);
/* A linear machine with the channels "out" and, if there is one, the secret "key". */
pawl_machine *town_lines(pawl_flow_linear_fn *fn, const char *secret);

#endif
