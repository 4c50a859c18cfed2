/* turn.h - one event of an agent: the values that were loaded from its channels, and the changes of the event.
 *
 * A turn exists for one call of the reducer, on its thread. turn_load() reads it from the channels, the files of this folder change it, turn_save()
 * writes back only the changes (K7):
 *   @agent    the state of the agent; of bounded size, however long the turn
 *   @calls    the tool calls of the current answer, as the model made them
 *   @uses     the record of each tool call; an event writes the records that it changed
 *   @edited   inputs of calls as hooks and people changed them; append only
 *   @told     answers that gates received; append only
 *   @results  results of calls whose turn to be delivered has not come; append only
 *   @queue    inputs that wait for the end of the turn; append only */
#ifndef AGENT_TURN_H
#define AGENT_TURN_H

#include "agent/core.h"
#include "agent/states.h"
#include "agent/step_policies.h"
#include "flow/flow.h"
#include "pawl/agent.h"
#include "policy/gate.h"

typedef struct gate_answer { const pawl_value *v; bool failed; } gate_answer;

typedef struct agent_call {     /* a tool call of the current answer */
    const char *id, *name;
    const pawl_value *proposed; /* the input from the model */
    const pawl_value *input;    /* the input after hooks and people */
    bool changed;               /* `input` differs from `proposed` */
    const char *invalid;        /* the text of an input that is no JSON; NULL: it is JSON */
    const pawl_agent_tool *tool;        /* NULL: there is no such tool */
    call_stage at;
    const pawl_value *edited;   /* its newest value in @edited; NULL: none */
    gate_answer *answers;       /* the answers that the gate has received so far, in order */
    size_t nanswers, answers_cap;
    uint32_t answers_from;      /* the first index in @told that counts; earlier ones belong to a gate that was restarted */
    const char *policy_key;     /* mode and policy digest under which the answers were given */
    const pawl_value *decision; /* why it was allowed */
    const char *fed;            /* what hooks before it say to the model, for its result; NULL: nothing */
    bool asked;                 /* an approval is open */
    bool refused;               /* a person said no */
    const char *child;          /* of a sub-agent: its name within this run; NULL: not named yet */
    pawl_mode rights;           /* of a sub-agent: the mode cap that it was sent last */
    bool failed;                /* its result is an error */
    const pawl_value *result;   /* its result, when it came with this event */
    const pawl_value *stored;   /* its record in @uses; NULL: none yet */
} agent_call;

typedef struct lifecycle {      /* a moment at which hooks are asked */
    hook_point point;           /* 0: none */
    const pawl_value *about;    /* what the hooks are given */
    const pawl_value *message;  /* the input that the moment is about; NULL: none */
    const pawl_value *answers;  /* of the hooks so far: [{"v"} or {"e"}]; NULL: none */
    const char *hooks_key;      /* digest of the hooks that gave them */
    bool overflow;              /* the conversation is too long for the model */
    bool is_new;                /* it began with this event */
    const pawl_value *new_answer;       /* the answer that came with this event; NULL: none */
} lifecycle;

typedef struct chosen_step {    /* the next step of the turn, with its parameters */
    turn_step step;
    core_action action;         /* of STEP_ACT */
    const pawl_value *message;  /* of STEP_BEGIN and STEP_OPEN */
    const char *text;           /* of STEP_CONTINUE: for the model; of STEP_ACT: why, NULL: no error; of STEP_END: how it ends */
    const char *error;          /* of STEP_END; NULL: none */
} chosen_step;

typedef struct agent_def {      /* owned by the machine */
    pawl_agent a;
    const pawl_value **schemas; /* of a.tools, in their order: parsed once */
    const char *hash;
} agent_def;

typedef struct turn {
    pawl_step *s;
    const agent_def *def;
    const pawl_input_event *h;
    arena *mem;                 /* of the step */
    /* stored in @agent */
    phase at;
    core c;
    agent_call *calls;
    uint32_t ncalls;
    uint32_t delivered;         /* calls whose result is a message already: the first so many */
    uint32_t round;             /* answers with tool calls so far; part of each tag, so that a late receipt of an earlier answer is not mistaken */
    uint32_t requests;          /* model requests in this turn */
    uint32_t first_message;     /* number of messages before this turn */
    int64_t tokens;             /* of the last request and its answer */
    uint32_t messages_seen;     /* messages in the last request */
    bool overflowed;            /* the conversation was too long and was shortened; no answer since */
    int64_t least_tokens;       /* tokens right after it was shortened; -1: not known yet; 0: never shortened */
    uint32_t summary_upto;      /* messages that the last requested summary covers */
    bool retry_summary;         /* the retry timer is for a summary */
    int64_t failed_ms;          /* retry_total_ms: when the first attempt of the request failed; 0: none has */
    int64_t again_ms;           /* when the next attempt is due; 0: no attempt is waited for */
    const char *again_why;      /* why the last one failed; NULL: as above */
    const char *shown;          /* the display state that readers know */
    const char *shown_id;       /* its tool_use_id, run or slot; "" */
    const char *end;            /* how the last turn ended: "answer", "interrupt", "denial", ...; "" */
    const char *error;          /* of the last turn; NULL: none */
    const char *note;           /* why a hook ended it; NULL: no hook did */
    lifecycle life;
    uint32_t stops;             /* how often hooks kept this turn from ending */
    pawl_mode mode_cap;         /* of a sub-agent: the mode that it may not exceed; bypass: any */
    uint64_t parent_entry;      /* the entry of the parent that its rules come from; 0: those it started with */
    /* of this event */
    uint32_t nmessages;         /* with the messages that this event adds */
    const pawl_value **added;
    size_t nadded, added_cap;
    const pawl_value *messages_now;     /* new value of `messages` as a whole; NULL: only appended to */
    const pawl_value *tools;    /* new value of @tools; NULL: unchanged */
    uint32_t nresults, nanswers;        /* sizes of @results and @told, with those of this event */
    uint32_t queue_taken;       /* inputs of @queue that have become turns: the first so many */
    const pawl_value *output;   /* new value of `output`; NULL: unchanged */
    const pawl_value *pinned;   /* new value of @pinned; NULL: unchanged */
    pawl_mode mode_set;         /* new value of @mode; PAWL_MODE_NONE: unchanged */
    const pawl_value *rules;    /* new value of @policy; NULL: unchanged */
    const pawl_value *seen;     /* members of @seen that this event adds; NULL: none */
    bool reauthorize;           /* approved calls have to be decided again: the mode changed */
    int k;                      /* the call that the event is about; -1: none */
    chosen_step next;
    bool sound;                 /* the invariants held when the event came: from then on each move checks them */
    pawl_code rc;               /* below 0: the run fails; the reason is set */
} turn;

#endif
