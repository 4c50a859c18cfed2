/* visit.h - one pass of a node: its commands meet their receipts by number.
 *
 * Begun by the layer that runs nodes (graph, flow), for the length of one call of the node's body, on its stack. */
#ifndef KERNEL_VISIT_H
#define KERNEL_VISIT_H

#include "kernel/names.h"
#include "kernel/spec.h"

typedef struct visit {          /* the pass that is under way */
    frame *frame;
    task *task;
    const char *path;           /* of the task */
    const char *node;
    uint32_t cursor;            /* the next command's number */
    uint32_t races;
    uint32_t max_calls;
    bool unanswered;            /* somebody was told PENDING or INTERRUPTED */
    bool raced;                 /* there was a race: what lost may be left unanswered */
    bool racing;                /* and it is not decided: any receipt runs the visit again */
    bool reading;               /* a route: writes are refused */
    bool halt;
    bool issued;                /* a command was made in this pass */
    bool held;                  /* a person is asked before its next command: none is made behind that */
    uint32_t nwon;
    const pawl_limits *limits;  /* of the node's commands; NULL: of their effects */
    const pawl_limits *node_limits; /* of commands whose effect declares none */
    const pawl_value *args;
    uint64_t randoms;
    int64_t now;                /* of the visit */
    int64_t at;                 /* when the commands of this pass go out: by what was told here, whoever told it last */
    item *commands, *commands_last;
    write *writes;
    named *sends, *emits;
    const char **gotos;
    size_t nwrites, nsends, nemits, ngotos, writes_cap, sends_cap, emits_cap, gotos_cap;
    const pawl_value *hold;
    amounts wants;              /* reserved by commands of this pass */
    const char *refusal;        /* why a command was refused: the last one that was */
    const char **drops;         /* of a reducer: tags of what is given up */
    size_t ndrops, drops_cap;
    uint32_t won[RACES_MAX];    /* races decided in this pass; from here on visit_begin clears no more than it must */
    pawl_err err;               /* the first thing that went wrong in the node */
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
/* In a subgraph: it begins when what was before it there was over. */
void visit_follows(const pawl_step *s, visit *v);
/* Races that it decided become items; to come before all else of the pass. */
pawl_code visit_races(pawl_step *s, visit *v, pawl_err *err);
/* A visit that begins in a task record says its time; in an entry it is the entry's. */
pawl_code visit_time_item(pawl_step *s, visit *v, pawl_err *err);
/* Commands of the pass become items. */
pawl_code visit_commands(pawl_step *s, visit *v, pawl_err *err);
/* What it wrote becomes a leave item, folded. */
pawl_code visit_leave(pawl_step *s, visit *v, pawl_err *err);
/* The next command of the visit: PENDING while it is open, PAWL_OK with its value, PAWL_EFFECT; CORRUPT when another was made before.
 * `due`: what it reserves; NULL: nothing. PAWL_LIMIT: it is, or was, refused. */
pawl_code visit_command(pawl_step *s, unsigned kind, int64_t time_ms, unsigned wait, const char *spec, size_t size,
                        const amounts *due, const call **out);
static inline pawl_code command_value(pawl_code rc, const call *c, const pawl_value **out)      /* of visit_command() */
{
    if (out != NULL)
        *out = c != NULL ? c->value : NULL;
    return rc;
}
/* The visit has this error: step_memory.c, below all that builds items. Returns `code`. */
pawl_code visit_wrong(pawl_step *s, pawl_code code, const char *fmt, ...) PAWL_PRINTF(3, 4);

#endif
