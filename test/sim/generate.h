/* generate.h - random graphs as plain data, and the world that they live in.
 *
 *     sim_graph *g = sim_generate(4711);      the same graph on every day
 *     sim_print(g, stderr);
 *     sim_free(g);
 *
 * A node is a small program of operations on numbers. Two read it: the reference interpreter, which knows nothing of
 * Pawl, and the machine that is built from it. A seed's family says what its graph may contain. */
#ifndef TEST_SIM_GENERATE_H
#define TEST_SIM_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SIM_NODES_MAX = 10,
    SIM_CHANNELS_MAX = 8,
    SIM_OPS_MAX = 8,
    SIM_WAYS_MAX = 24,
    SIM_TARGETS_MAX = 3,
    SIM_JOINS_MAX = 3,
    SIM_SOURCES_MAX = 4,
    SIM_ASKED_MAX = 3,
    SIM_MAPS_MAX = 3,
    SIM_LIST = 5,               /* elements of a list that an effect answers with */
    SIM_BELOW = 100             /* numbers that a program makes are 0 .. 99 */
};
#define SIM_END  (-1)
#define SIM_NONE (-2)

typedef enum sim_family { SIM_PLAIN, SIM_PAUSES, SIM_FAILURES, SIM_SUBGRAPHS, SIM_FAMILIES } sim_family;

typedef enum sim_rule {
    SIM_LAST, SIM_APPEND, SIM_SUM, SIM_MIN, SIM_MAX, SIM_UNION, SIM_TOPIC, SIM_HEAP, SIM_EPHEMERAL, SIM_SINGLE, SIM_RULES
} sim_rule;                     /* a heap is a topic that accumulates */

/* (what `from` gives + plus) mod SIM_BELOW. A list counts as the sum of its elements and 7 for each. */
typedef enum sim_from { SIM_CONST, SIM_READ, SIM_ARGS, SIM_GOT, SIM_VISIT } sim_from;
typedef struct sim_number { sim_from from; int channel, plus; } sim_number;

typedef enum sim_kind { SIM_CALL, SIM_LISTING, SIM_ROUGH, SIM_SPAWN, SIM_ASK, SIM_SLEEP } sim_kind;
typedef struct sim_asked {      /* of the world; several go out at once */
    sim_kind kind;
    sim_number about;
    int ref;                    /* call: a channel that goes with it by reference; or SIM_NONE */
    int update, value;          /* ask: the answer comes with an update of this channel; or SIM_NONE */
} sim_asked;

typedef enum sim_op_kind {
    SIM_SET, SIM_EXTEND, SIM_COPY, SIM_MOVE, SIM_OVERWRITE, SIM_KEEP, SIM_WORLD, SIM_SKIP, SIM_SEND, SIM_GOTO, SIM_HALT, SIM_TRY,
    SIM_FAIL, SIM_HOLD, SIM_OPS
} sim_op_kind;
typedef struct sim_op {
    sim_op_kind kind;
    int channel;                /* set, extend, copy, move, overwrite, keep, hold (or SIM_NONE) */
    int other;                  /* copy: the list whose first three go over; move: the channel whose value does, as it is */
    sim_number value;
    int node;                   /* send, goto */
    int form;                   /* send: 0 nothing, 1 the number, 2 the list that was answered, 3 the channel `other` */
    int mod, rest, skip;        /* skip so many operations when value % mod == rest */
    int visits;                 /* try: fails so many visits */
    int nasked;
    sim_asked asked[SIM_ASKED_MAX];
    bool catches;               /* world: an error is a number like any other */
} sim_op;

typedef enum sim_way_kind { SIM_EDGE, SIM_ROUTE, SIM_WHEN } sim_way_kind;
typedef struct sim_way {
    sim_way_kind kind;
    sim_number about;
    int to;                     /* edge, when */
    int mod, rest;              /* when: about % mod == rest, or about < rest for mod 0; mod -1: else */
    int ntargets, targets[SIM_TARGETS_MAX];
    int otherwise;              /* route: about % (ntargets + 1) past the targets; or SIM_NONE */
    int send;                   /* route: one task of this node with `about`; or SIM_NONE */
} sim_way;

typedef struct sim_map { int outer, inner; bool in, out; } sim_map;

typedef enum sim_gate { SIM_OPEN, SIM_YES, SIM_ODD_NO, SIM_NO } sim_gate;
struct sim_graph;
typedef struct sim_node {
    struct sim_graph *of;       /* that it is in */
    int nops, nways, nmaps;
    sim_op ops[SIM_OPS_MAX];
    sim_way ways[SIM_WAYS_MAX];
    bool before, after, defer;
    sim_gate gate;
    int gate_no;                /* or SIM_NONE: rejected */
    int attempts, backoff;      /* 0: no retry */
    int work;                   /* a work node that writes this channel; or SIM_NONE */
    struct sim_graph *sub;
    sim_map maps[SIM_MAPS_MAX];
} sim_node;

typedef struct sim_channel { sim_rule rule; bool has_first, has_input; int first, input; } sim_channel;
typedef struct sim_join { int to, nfrom, from[SIM_SOURCES_MAX], k; bool cancel; } sim_join;

typedef struct sim_graph {
    uint64_t seed;
    int depth;                  /* 0: the run's own */
    int nnodes, nchannels, njoins;
    sim_node start;             /* only its ways */
    sim_node nodes[SIM_NODES_MAX];
    sim_channel channels[SIM_CHANNELS_MAX];
    sim_join joins[SIM_JOINS_MAX];
    int max_steps, max_tasks, max_concurrency;
    int reopens;                /* so often a person says: try what failed again */
    bool updates;               /* somebody tells it things while it runs */
} sim_graph;

sim_family sim_family_of(uint64_t seed);
sim_graph *sim_generate(uint64_t seed);
void sim_free(sim_graph *g);
void sim_print(const sim_graph *g, FILE *out);          /* print.c */

bool sim_is_list(sim_rule rule);
/* Whether `node` says goto or send to `to`. */
bool sim_declares(const sim_node *n, int to);
/* Whether it may go on there by any way that it declares; SIM_END is one. */
bool sim_leads(const sim_node *n, int to);
uint64_t sim_random(uint64_t *state);
int sim_below(uint64_t *state, int n);

/* What somebody told a run from outside, and when: while a superstep stood ready, while it was open (then it is merged when
 * that closes), or with the n-th reopening. SIM_LATE: the update of an answer came after `after` updates of the open superstep, and is merged
 * behind them (W8). */
typedef enum sim_when { SIM_AT_READY, SIM_AT_OPEN, SIM_AT_REOPEN, SIM_LATE } sim_when;
typedef struct sim_told {
    sim_when when;
    unsigned long at;           /* the superstep, or which reopening */
    int reopened;               /* so often before */
    int channel, value;
    char task[24];              /* SIM_LATE: "n3:0" */
    int visit, number, after;   /* number: of the updates that answers bring to the visit */
} sim_told;

/* What the world says: a function of what it is asked, and of nothing else. */
typedef struct sim_reply { bool error, list; int n, items[SIM_LIST]; } sim_reply;
sim_reply sim_effect(sim_kind kind, const char *args);  /* canonical text */
int sim_person(const char *prompt);
bool sim_lets_in(sim_gate gate, unsigned long superstep);

#endif
