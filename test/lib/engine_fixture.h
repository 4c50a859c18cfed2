/* engine_fixture.h - an engine in a test: a clock that stands still until somebody sleeps, an effect that is told what to reply, and a
 * log of both.
 *
 *     town_begin(&t, town_essay(NULL), NULL);
 *     town_acts(&t, "llm", PAWL_AT_LEAST_ONCE);
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
    pawl_bytes journal;                 /* the one that was asked for last */
    const char *replies[TOWN_REPLIES];  /* of the next calls, the last one again and again; "!denied text" fails */
    size_t reply, calls;
} town;

/* Takes both; `store` NULL: a new one in memory. */
void town_begin(town *t, pawl_machine *m, pawl_store *store);
void town_end(town *t);
void town_log(town *t, const char *expected);       /* since the last time */
pawl_handler_fn town_act;                            /* writes down what it is asked, and replies what comes next */
void town_acts(town *t, const char *effect, pawl_class cls);
pawl_code town_run(town *t, const char *run, const char *input);   /* with a fresh error */
pawl_bytes town_journal(town *t, const char *run);       /* lives until the next call */
void town_runs(town *t, const char *expected);      /* their ids, newest first: "b a" */
bool town_stored(town *t, const char *run, const char *text);     /* whether its journal has this in it */
void town_verify(town *t, const char *run);   /* nothing but what is stored: folded, and fed again */

/* Draft by "llm" with these limits (NULL: none), then a gate: yes publishes, no drafts again. */
pawl_machine *town_essay(const pawl_limits *limits);
/* A linear machine with the channels "out" and, if there is one, the secret "key". */
pawl_machine *town_lines(pawl_flow_linear_fn *fn, const char *secret);

#endif
