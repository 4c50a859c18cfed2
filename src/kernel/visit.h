/* visit.h - one pass of a node: its commands meet their receipts by number.
 *
 * The layer that runs nodes (graph, flow) makes the visit on its stack for one call of the node's body, on the thread that owns the step. */
#ifndef KERNEL_VISIT_H
#define KERNEL_VISIT_H

#include "kernel/names.h"
#include "kernel/spec.h"

typedef struct visit {          /* the current pass */
    frame *frame;
    task *task;
    const char *path;           /* of the task */
    const char *node;
    uint32_t cursor;            /* number of the next command */
    uint32_t races;
    uint32_t max_calls;
    bool unanswered;            /* a call of this pass returned PENDING or INTERRUPTED */
    bool raced;                 /* the pass has a race: its losers may stay unanswered */
    bool racing;                /* the race is not decided: any receipt runs the visit again */
    bool reading;               /* the pass is a route, which must not write */
    bool halt;
    bool issued;                /* this pass made a command */
    bool plan;                  /* plan mode: new calls of effects that are not pure are denied */
    bool guard_asked;           /* the loop guard asked a person: no further commands in this pass */
    uint32_t nwon;
    const pawl_limits *limits;  /* for all commands of the node; NULL: the limits of each effect */
    const pawl_limits *node_limits; /* for commands whose effect declares no limits */
    const pawl_value *args;
    uint64_t randoms;
    int64_t now;                /* time of the visit */
    int64_t at;                 /* issue time of this pass's commands: the latest time of the task's receipts */
    item *commands, *commands_last;
    item_write *writes;
    named *sends, *emits;
    const char **gotos;
    size_t nwrites, nsends, nemits, ngotos, writes_cap, sends_cap, emits_cap, gotos_cap;
    const pawl_value *hold;
    amounts wants;              /* amounts that the commands of this pass reserve */
    const char *refusal;        /* reason of the last refused command */
    const char **drops;         /* of a reducer: tags of the calls to drop */
    size_t ndrops, drops_cap;
    const char *owner;          /* of a reducer: see flow_owner() */
    uint32_t won[RACES_MAX];    /* races decided in this pass; visit_begin() does not clear this member and the rest */
    pawl_err err;               /* the first error of the node */
} visit;

static inline void visit_begin(pawl_step *s, visit *v, frame *f, task *tk, const char *path, const char *node)
{
    mem_zero(v, offsetof(visit, won));
    err_begin(&v->err);
    v->frame = f;
    v->task = tk;
    v->path = path;
    v->node = node;
    v->args = tk != NULL ? tk->args : NULL;
    v->now = v->at = s->now;
    if (tk != NULL && (tk->timed || tk->at != TASK_READY)) {
        v->now = tk->visit_ms;
        v->at = task_time(tk);
    }
    v->max_calls = UINT32_MAX;
    s->v = v;
}
static inline bool in_node(const pawl_step *s) { return s != NULL && s->v != NULL; }
pawl_code not_here(pawl_step *s, const char *what);     /* pawl_WHAT() was called outside of a node's visit: PAWL_INVALID */
/* In a subgraph: the visit starts at the end of the superstep before it. */
void visit_follows(const pawl_step *s, visit *v);
/* Adds items for the races that the pass decided; called before the other items of the pass. */
pawl_code visit_races(pawl_step *s, visit *v, pawl_err *err);
/* A visit that starts in a task record needs an item with its time; in an entry the entry has the time. */
pawl_code visit_time_item(pawl_step *s, visit *v, pawl_err *err);
/* Adds the items of the pass's commands. */
pawl_code visit_commands(pawl_step *s, visit *v, pawl_err *err);
/* Adds the leave item with the writes of the pass. */
pawl_code visit_leave(pawl_step *s, visit *v, pawl_err *err);
/* The next command of the visit. PAWL_PENDING (a wait: PAWL_INTERRUPTED): it is open; PAWL_OK: *out has the receipt; PAWL_EFFECT: it ended in an
 * error; PAWL_LIMIT: the budget refuses it, or refused it in an earlier pass; PAWL_CORRUPT: an earlier pass made another command here. `due`: the
 * amounts that it reserves; NULL: none. */
pawl_code visit_command(pawl_step *s, unsigned kind, int64_t time_ms, unsigned wait, const char *spec, size_t size,
                        const amounts *due, const call **out);
static inline pawl_code command_value(pawl_code rc, const call *c, const pawl_value **out)      /* passes on a result of visit_command() */
{
    if (out != NULL)
        *out = c != NULL ? c->value : NULL;
    return rc;
}
/* Sets the error of the visit and returns `code`. In step_memory.c, below all files that build items. */
pawl_code visit_wrong(pawl_step *s, pawl_code code, const char *fmt, ...) PAWL_PRINTF(3, 4);

#endif
