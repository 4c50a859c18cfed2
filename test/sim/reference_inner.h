/* reference_inner.h - inside the reference: values, what a task came to, a graph in its course. */
#ifndef TEST_SIM_REFERENCE_INNER_H
#define TEST_SIM_REFERENCE_INNER_H

#include "sim/reference.h"

typedef struct ref_text { ref_run *r; char *at; size_t size, cap; } ref_text;

/* Never changed once it is made. */
typedef struct ref_value { bool set, is_list; int n; const int *items; } ref_value;

typedef enum ref_how { MERGE, EXTEND, OVERWRITE } ref_how;
typedef struct ref_wrote { int channel; ref_how op; ref_value v; } ref_wrote;
typedef struct ref_update { ref_wrote w; int number; } ref_update;      /* number: of the question in its visit */
typedef struct ref_sent { int node; ref_value v; } ref_sent;

enum { WRITES_MAX = 64, SENDS_MAX = 32, TASKS_MAX = 600 };

typedef struct ref_outcome {        /* of a task */
    const char *code;           /* NULL: it left */
    ref_wrote writes[WRITES_MAX];
    ref_update updates[SIM_OPS_MAX * SIM_ASKED_MAX];    /* that came with answers: merged before what it wrote, or late */
    ref_sent sends[SENDS_MAX];
    int gotos[SIM_OPS_MAX];
    int nwrites, nupdates, nasked, nsends, ngotos;
    bool halt, hold;
    int hold_channel, hold_value;
} ref_outcome;

struct ref_course;
typedef struct ref_task {
    int node;
    bool by_send;
    ref_value args;
    int sends;                  /* its number among the sends */
    int visit;                  /* the last one */
    ref_outcome *out;           /* NULL: it has not run */
    struct ref_course *in;      /* of a graph as a node */
} ref_task;

typedef struct ref_course {
    ref_run *r;
    const sim_graph *g;
    ref_value channels[SIM_CHANNELS_MAX];
    ref_task tasks[TASKS_MAX];
    int ntasks;
    bool seen[SIM_JOINS_MAX][SIM_NODES_MAX], fired[SIM_JOINS_MAX];
    bool again[SIM_JOINS_MAX][SIM_NODES_MAX];   /* came once more after the join fired: of its next round */
    bool deferred[SIM_NODES_MAX];
    unsigned long superstep, root;      /* this graph's, and the run's */
    const char *path;           /* of the task that it runs in, and its visit: "n3:0/1/"; "" for the run */
    const char *code;           /* why it failed; NULL: it did not */
    bool own_fault;             /* it is no task's */
    bool halted;
    int steps;
    bool listened;              /* to what it was told before this superstep */
    int reopened;
    const sim_told *told;
    size_t ntold;
} ref_course;

/* One visit of a task's program; `tk` NULL: the ways on from the start. */
typedef struct ref_pass { ref_course *c; const ref_task *tk; ref_outcome *out; const ref_value *sees; int visit, got; ref_value many; } ref_pass;

/* program.c */
void *ref_pool(ref_run *r, size_t size);        /* zeroed; lives as long as the run */
void ref_put(ref_text *t, const char *format, ...);
ref_value ref_number(ref_run *r, int n);
ref_value ref_list(ref_run *r, const int *items, int n);
ref_value ref_pushed(ref_run *r, ref_value many, int one);
void ref_put_value(ref_text *t, ref_value v);
void ref_put_channels(ref_text *t, const ref_value *channels, int n);
int ref_as_number(ref_value v);
int ref_figure(const ref_pass *p, const sim_number *n);
void ref_write(ref_pass *p, int to, ref_how op, ref_value v);
/* What a node does. NULL: it leaves; else the code that it fails with. */
const char *ref_program(ref_pass *p, const sim_node *n);
const char *ref_work(ref_pass *p, const sim_node *n);

#endif
