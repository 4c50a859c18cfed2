/* agent.h - inside the agent: the wrapper around its core (A3).
 *
 * Permission, questions, children, interrupts, compaction and the queue of inputs are the wrapper's; the core gets input only when it waits for
 * it. What is kept between two events stands in channels of Pawl's own. No event writes more of them than it changes (K7): @agent, how it stands,
 * has one size whatever the turn has become; @uses, how each tool call stands, gets those that moved on; all else is only added to: @calls (the
 * tool calls of the answer at hand, as the model made them), @edited (what hooks and people made of their inputs), @told (what their gates were
 * told), @results (what came of those whose turn has not come), @queue. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/core.h"
#include "flow/flow.h"
#include "kernel/kernel.h"
#include "pawl/agent.h"
#include "policy/gate.h"

enum { QUEUE_MAX = 1000, DEPTH_DEFAULT = 3, STOPS_MAX = 8 };
enum { BESIDE_MAX = 200 };      /* calls that run side by side: so many begin in one event, which may tell each child of them thrice (PAWL_FLOW_COMMANDS_MAX) */

/* ---- the wrapper's states ---------------------------------------------------------------------- */

typedef enum phase {
    PHASE_IDLE, PHASE_COMPACT, PHASE_MODEL, PHASE_RETRY, PHASE_SETTLE, PHASE_TOOLS, PHASE_HOOK, PHASE_STOPPING, PHASE_ASKED, PHASE_OVER, PHASES
} phase;
extern const sm_row phase_rows[PHASES];
extern const sm_table phase_table;

/* What the wrapper is told, by the tags of its commands. */
typedef enum told_kind {
    TOLD_NOTHING, TOLD_START, TOLD_INPUT, TOLD_INTERRUPT, TOLD_SHUTDOWN, TOLD_MODEL, TOLD_COMPACT, TOLD_RETRY, TOLD_GATE, TOLD_TOOL, TOLD_AFTER,
    TOLD_HOOK, TOLD_LIFE, TOLD_NOTE, TOLD_CHANGE, TOLD_REOPEN, TOLD_KINDS
} told_kind;

typedef enum call_stage { STAGE_NEW, STAGE_SETTLING, STAGE_READY, STAGE_RUNNING, STAGE_AFTER, STAGE_DONE, STAGES } call_stage;
extern const sm_row stage_rows[STAGES];
extern const sm_table stage_table;

typedef struct gate_said { const pawl_value *v; bool failed; } gate_said;

typedef struct agent_call {     /* a tool call of the answer at hand */
    const char *id, *name;
    const pawl_value *said;     /* what the model gives it, */
    const pawl_value *input;    /* and as hooks and people have made it: */
    bool changed;               /* and then it is not what the model said */
    const char *invalid;        /* what the model said in its place, which is no JSON; NULL: it is */
    const pawl_agent_tool *tool;        /* NULL: there is no such tool */
    call_stage at;
    const pawl_value *edited;   /* the last of @edited that is its own; NULL: none */
    gate_said *told;            /* what the gate was told so far: */
    size_t ntold, told_cap;
    uint32_t told_from;         /* of @told what comes from here on */
    const char *under;          /* the rules and the mode under which that was */
    const pawl_value *why;      /* how it came to be allowed */
    bool asked;                 /* a person is; */
    bool refused;               /* and said no */
    const char *child;          /* of one: what it is called in this run; NULL: nothing yet */
    pawl_mode rights;           /* of a child: the mode above which it was told that it may not go */
    bool failed;                /* what came of it is an error */
    const pawl_value *result;   /* and is this, where it came in this event */
    const pawl_value *kept;     /* how it stands, as @uses has it; NULL: not yet */
} agent_call;

typedef struct life {           /* a moment of which hooks are asked */
    hook_point point;           /* nowhere: none */
    const pawl_value *about;    /* what they are told of it */
    const pawl_value *message;  /* the input that it is about; NULL: none */
    const pawl_value *told;     /* what they have said so far: [{"v"} or {"e"}]; NULL: nothing */
    const char *under;          /* the digest of the hooks that said so */
    bool heavy;                 /* the conversation is too long for the model */
    bool fresh;                 /* all of it is of this event; */
    const pawl_value *heard;    /* or that, the last of `told`; NULL: none is */
} life;

typedef struct agent_def {      /* of the machine; in its memory */
    pawl_agent a;
    const char *hash;
} agent_def;

typedef struct turn {           /* one event */
    pawl_step *s;
    const agent_def *def;
    const pawl_happening *h;
    arena *mem;                 /* of the step */
    /* kept in @agent */
    phase at;
    core c;
    agent_call *calls;
    uint32_t ncalls, given;     /* of these the first `given` have their message */
    uint32_t round;             /* answers that called for tools; part of every tag, so that nothing of an earlier one is taken for one of this */
    uint32_t loops;             /* requests in this turn */
    uint32_t begun;             /* messages before this turn */
    int64_t tokens;             /* of the last request and its answer */
    uint32_t seen;              /* messages that it had seen */
    bool overflowed;            /* it was too long for the model, and was made shorter; no answer came since */
    int64_t least;              /* tokens that it had when it was made shorter; -1: not known yet; 0: it never was */
    uint32_t upto;              /* messages that the summary is of which was asked for last */
    bool sums;                  /* what is asked again is that summary */
    const char *shown;          /* as it was told last: the name of a state */
    const char *shown_id;       /* its tool_use_id, run or slot; "" */
    const char *end;            /* how the last turn ended: "answer", "interrupt", "denial", ...; "" */
    const char *error;          /* of the last turn; NULL: none */
    const char *note;           /* why a hook ended it; NULL: none did */
    life life;
    uint32_t stops;             /* times that hooks kept this turn from its end */
    pawl_mode most;             /* the mode above which it may not go, being a child; bypass: any */
    uint64_t law;               /* the entry of its parent that it has its rules from; 0: as it began */
    /* of this event */
    uint32_t nmessages;         /* with those that were appended by it: */
    const pawl_value **added;
    size_t nadded, added_cap;
    const pawl_value *all;      /* what `messages` becomes as a whole; NULL: no more than that */
    const pawl_value *tools;    /* what @tools becomes; NULL: as it was */
    uint32_t results, told;     /* of @results and @told, with those of this event */
    uint32_t taken;             /* of @queue: the first so many have become turns */
    const pawl_value *output;   /* what `output` becomes; NULL: as it was */
    const pawl_value *pinned;   /* what @pinned becomes; NULL: as it was */
    pawl_mode mode_set;         /* what @mode becomes; PAWL_MODE_NONE: as it was */
    const pawl_value *rules;    /* what @policy becomes; NULL: as it was */
    bool unsettled;             /* calls that were let in under another mode are looked at again */
    int k;                      /* the call that it is about; -1: none */
    bool over;                  /* the run is */
    pawl_code rc;               /* below 0: it fails, and it was said */
} turn;

/* ---- machine.c ------------------------------------------------------------------------------------ */

void turn_phase(turn *t, phase to);     /* as the table allows; else the machine is wrong, and the run fails */
void call_stage_to(turn *t, uint32_t k, call_stage to);
extern const pawl_agent_tool tool_gone; /* stands for one that the machine has no more */
const pawl_agent *agent_of(const pawl_machine *m);  /* how it was described, but for its name, options and system; NULL: it is no agent. `m` may be NULL */
const pawl_agent_tool *tool_of(const agent_def *d, const char *name);   /* NULL: none */
const char *tag_of(turn *t, const char *what, uint32_t k);      /* "tool:2" */

/* ---- kept.c: between two events ---------------------------------------------------------------------- */

pawl_code turn_load(turn *t, pawl_step *s, const agent_def *d, const pawl_happening *h);
void turn_keep(turn *t);
void message_add(turn *t, const pawl_value *message);
void queue_put(turn *t, const pawl_value *message);
const pawl_value *queue_take(turn *t);  /* NULL: it is empty */
void result_put(turn *t, uint32_t k, const pawl_value *result, bool failed);
const pawl_value *result_of(turn *t, uint32_t k);       /* NULL: none yet */
void results_drop(turn *t);
void gate_hears(turn *t, uint32_t k, const pawl_value *v, bool failed);
void gate_forgets(turn *t, uint32_t k); /* it begins from the start */
void turn_calls(turn *t, const pawl_value *blocks);     /* the tool calls among these are those at hand */

/* ---- input.c: what may be said to it ------------------------------------------------------------------ */

const pawl_value *message_of_input(turn *t, const pawl_value *v);       /* NULL: it is none, as pawl_agent_input has it */
pawl_code blocks_check(const pawl_value *blocks, pawl_err *err);        /* PAWL_INVALID: one of them may not stand in a request, but of a model's */
pawl_code input_check(const pawl_value *input, pawl_err *err); /* of what may be meant for another machine: PAWL_INVALID where it is an agent's, and wrong */

/* ---- answer.c: what a model said ------------------------------------------------------------------------ */

/* The message as it may stand in the conversation; itself where nothing is to be mended. NULL: it is no answer, and *wrong says why; or no memory. */
const pawl_value *message_of_answer(turn *t, const pawl_value *message, const char **wrong);

/* ---- turn.c: from input to answer ---------------------------------------------------------------------- */

void turn_begin(turn *t, const pawl_value *message);     /* hooks may look at it first */
void turn_opens(turn *t, const pawl_value *message);
void turn_goes_on(turn *t, const char *text);   /* the model is told that, and does not stop */
void turn_request(turn *t);
void turn_answered(turn *t);            /* its answer is there, and nothing of it done */
void turn_rests(turn *t);               /* it waits for input */
void run_closes(turn *t);
void turn_act(turn *t, core_action action, const char *why);    /* what the core said is done */
void model_told(turn *t);
void retry_told(turn *t);
void hook_told(turn *t);
void turn_end(turn *t, const char *how, const char *error);     /* the queue's next begins, or input is waited for */
void turn_send(turn *t);                /* a request, or a compaction before it */
bool told_too_long(const turn *t);      /* what was asked does not fit the model */
const char *told_why(turn *t);          /* what came of a request that failed, for people */
bool asked_later(turn *t, const char *why, core_action *then);  /* a timer is set (A2); else *then follows */

/* ---- ask.c: what is sent to a model ---------------------------------------------------------------------- */

size_t canon_bytes(turn *t, const pawl_value *v);   /* of its canonical JSON; NULL: 0 */
const pawl_value *request_make(turn *t, const pawl_value *then);    /* `then`: what the user says behind the first `upto` messages; NULL: all, and no more */
pawl_code request_call(turn *t, const char *tag, const pawl_value *args);   /* PAWL_LIMIT: the budget refused it */

/* ---- compact.c -------------------------------------------------------------------------------------------- */

bool compact_due(turn *t);
bool compact_can(turn *t, bool heavy);  /* something of it can be left out; `heavy`: the model says that it is too much */
void compact_begin(turn *t);
void compact_again(turn *t);            /* the summary is asked for once more */
void compact_told(turn *t);
void compact_goes_on(turn *t);        /* the request that it was for follows */
const char *compact_sizes(turn *t);     /* what is the most of it, and what to do about that */

/* ---- cut.c: what is too long by itself. `all` are the n messages ------------------------------------------------ */

bool cut_can(turn *t, const pawl_value **all, uint32_t n);
const pawl_value *cut_longest(turn *t, const pawl_value **all, uint32_t n);     /* all of them, those that were cut among them; NULL: nothing to cut */
const char *cut_sizes(turn *t, const pawl_value **all, uint32_t n);

/* ---- prefix.c ---------------------------------------------------------------------------------------------- */

const pawl_value *tools_now(turn *t);   /* @tools, with what this event makes of it */
const pawl_value *pinned_now(turn *t);  /* likewise; NULL: nothing is */
bool prefix_is_new(turn *t);            /* it is not as in the request that left last */
void prefix_look(turn *t);              /* a request leaves: whether what a provider has cached of those before is of use to it */

/* ---- settle.c: may they be used? ----------------------------------------------------------------------------- */

void settle_next(turn *t);              /* the first call that is not settled; when there is none, they are used */
void gate_told(turn *t);
void rules_changed(turn *t);
void calls_unsettle(turn *t);   /* those that were let in, and did not begin, are to be settled anew; settle_again does */
void settle_again(turn *t);     /* while others are used */
void after_begin(turn *t, uint32_t k, const pawl_value *result, bool failed);   /* the hooks after it, and then it is done */
void after_told(turn *t);

void tools_changed(turn *t);            /* rules or mode have, while tools are used: those that wait for their turn are decided anew */
void gate_again(turn *t);

/* ---- rights.c: no more than its parent has (P1, E11) ---------------------------------------------------------- */

pawl_mode mode_now(turn *t);
pawl_mode mode_most(turn *t);           /* by what it was told, and is told by this event */
const pawl_value *rules_now(turn *t);   /* as @policy has them; NULL: never set */
const char *child_run_of(turn *t, uint32_t k);      /* the run of a child that call k is, or would be */
bool child_named(turn *t, uint32_t k);  /* from here on; false: one of that id is at work (A6) */
void rights_changed(turn *t);           /* its mode or its rights have, perhaps: so have those of its children */

/* ---- use.c: and are -------------------------------------------------------------------------------------------- */

void use_next(turn *t);                 /* those whose turn it is begin */
void use_told(turn *t);
void call_done(turn *t, uint32_t k, const pawl_value *result, bool failed);
void call_fails(turn *t, uint32_t k, const char *text);         /* the model is told that, as what came of it */
void calls_cut(turn *t, const char *text);      /* all that are not done; what is open is given up */
const pawl_value *content_text(turn *t, const char *text);      /* {"content"} */
const char *text_cut(turn *t, const char *text, size_t most);   /* its beginning, no character torn; NULL is "" */

/* ---- life.c: hooks where it begins, takes input, answers, stops, is summed up, ends ------------------------------------ */

/* Each: false, no hook is of that moment, and whoever asks goes on; else that is seen to once they have said. */
bool life_start(turn *t, const char *source, const pawl_value *message);        /* message NULL: there is no input yet */
bool life_in_turn(const life *l);       /* a turn is under way at that moment */
bool life_prompt(turn *t, const pawl_value *message);
bool life_answer(turn *t);
bool life_stop(turn *t);
bool life_compact(turn *t, bool heavy);
bool life_end(turn *t);
void life_told(turn *t);
void life_changed(turn *t);
bool life_drop(turn *t);                /* they are asked no more; true: it was of the end */
void life_note(turn *t, const char *type, const char *message);        /* nobody waits for what they say */
void note_told(turn *t);
void life_load(turn *t);
void life_keep(turn *t);

/* ---- own.c: tools of the machine's own ----------------------------------------------------------------------------- */

const char *own_wrong(const pawl_agent_tool *tool, const pawl_value *input);    /* whatever its schema lets through: what the model is told; NULL: nothing is */
void own_begin(turn *t, uint32_t k);
void own_told(turn *t, uint32_t k);
void questions_unasked(turn *t);        /* nobody is there any more, perhaps: then they are over */
const pawl_value *own_schema(turn *t, const pawl_value *questions);

/* ---- stop.c ------------------------------------------------------------------------------------------------------- */

void interrupt_told(turn *t);
void shutdown_told(turn *t);
bool stopping_over(const turn *t);      /* what was let finish has */
void stopping_end(turn *t);

/* ---- shown.c ------------------------------------------------------------------------------------------------------- */

extern const sm_row shown_rows[];
extern const sm_table shown_table;
void shown_look(turn *t);               /* what is shown has changed, perhaps: readers are told */
void readers_told(turn *t, const char *name, const pawl_value *v);      /* readers; v NULL: no memory */

#endif
