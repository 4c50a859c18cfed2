/* model.h - an agent file as what it means: channels, nodes, edges. Filled in by the files of load/ on one thread; build.c makes a graph of it, whose
 * nodes are execute.c and routing.c. From then on it is not written to, and any thread reads it. */
#ifndef FILE_MODEL_H
#define FILE_MODEL_H

#include "file/file.h"
#include "pawl/agent.h"
#include "pawl/policy.h"

enum {
    FILE_GRAPHS_MAX = 64,       /* files that one file leads to */
    FILE_GRAPH_DEPTH_MAX = 8,   /* graphs inside each other */
    NODE_NAME_MAX = 56,         /* bytes; with the longest suffix of Pawl's own it is a name of the kernel's */
    EXPRESSIONS_MAX = 1000,     /* of jq's, of one file and those it leads to */
    GUESSES_MAX = 200           /* names that are looked for among all nodes as slips of the pen */
};
#define CHOICE_SUFFIX "--next"  /* of the node that evaluates where "review" leads: "review--next" */

/* ---- forms: values with expressions in them ------------------------------------------------------------- */

typedef enum form_kind {
    FORM_VALUE = 1,             /* as it stands */
    FORM_TEXT = 2,              /* a template that gives a text */
    FORM_KEEP = 3,              /* a template; where it is one expression and nothing else, that one's value */
    FORM_EXPRESSION = 4,        /* an expression, without braces */
    FORM_LIST = 5,
    FORM_MAP = 6
} form_kind;
typedef struct form {
    form_kind kind;
    source_place at;
    const pawl_value *value;
    template text;
    expression *e;
    const char **keys;          /* of a map */
    struct form **items;
    size_t n, cap;
} form;

/* ---- channels, nodes, files -------------------------------------------------------------------------------- */

typedef struct agent_file agent_file;
typedef struct file_node file_node;

typedef struct file_channel {
    pawl_channel c;
    source_place at;
    bool unclear;               /* its rule was told, and is none */
} file_channel;

typedef enum node_kind {        /* a bit each: keys say which kinds they are for */
    KIND_RUN = 1, KIND_SHELL = 2, KIND_SET = 4, KIND_ASK = 8, KIND_HTTP = 16, KIND_GRAPH = 32, KIND_PROMPT = 64, KIND_WAIT = 128,
    KIND_PLUGIN = 256, KIND_AGENT = 512, KIND_TOOL = 1024
} node_kind;
enum { KINDS_PROCESS = KIND_RUN | KIND_SHELL, KINDS_CALL = KIND_RUN | KIND_SHELL | KIND_HTTP | KIND_PROMPT | KIND_PLUGIN,
       KINDS_KEEP = KINDS_CALL | KIND_AGENT | KIND_TOOL, KINDS_ALL = 2047 };

bool file_request_writes(const pawl_value *args);       /* of an `http` node: anything but a GET or HEAD without a body */
const char *mode_spoken(pawl_mode m);           /* "AcceptEdits": as sentences of denial have it */

typedef struct named_place { const char *name; source_place at; } named_place;
typedef struct name_list { named_place *names; size_t n; } name_list;
typedef struct way_out { expression *when; const char *to; source_place at; } way_out;   /* when NULL: else */
typedef struct assignment { const char *channel; source_place at, value_at; form *f; bool overwrite, extend; } assignment;
typedef struct mapping { const char *outer, *inner; source_place outer_at, inner_at; bool in, out; } mapping;

/* ---- agents ---------------------------------------------------------------------------------------------------- */

enum {
    FILE_TOOLS_MAX = 128,       /* of one agent */
    FILE_TOOL_WORDS_MAX = 256   /* of the command of a tool, and of `post_tools` */
};

typedef struct file_tool {      /* a program that is a tool of an agent; all of the root, by their names */
    struct file_tool *next;
    pawl_agent_tool t;
    const char **run;           /* ends in NULL */
    const char **env;           /* keys that it gets from the environment; ends in NULL; NULL: none */
    const agent_file *of;
} file_tool;

typedef struct file_helper {    /* an agent that others call, by its name, which is its machine's; all of the root */
    struct file_helper *next;
    const char *name, *path;
    agent_file *file;           /* NULL: told */
} file_helper;

typedef struct file_agent {     /* `agent:` of a file */
    pawl_agent a;
    pawl_mode mode;             /* PAWL_MODE_NONE: not said */
    file_helper **helpers;      /* those of it, a.nhelpers */
    source_place at, model_at;
} file_agent;

/* ---- nodes and files ------------------------------------------------------------------------------------------ */

struct file_node {
    agent_file *file;
    const char *name;
    source_place at;
    node_kind kind;             /* 0: none that is known; */
    unsigned kinds;             /* and where there are several by mistake, all of them */
    bool unclear;               /* what it is to do was told already */
    const char *word;           /* "run" */
    source_place kind_at;
    const doc *d;
    /* what it does */
    form *call;                 /* arguments of its effect; */
    form *cwd, *undo_cwd;       /* without the folders, which are said in full */
    const char *effect;         /* by which name: "run", or "run-9f3a21c7" where limits are not the default ones */
    const char *undo_effect;
    pawl_limits limits;
    bool class_given, retry_given, timeout_given, model_told;
    bool reads_only;            /* an http GET or HEAD */
    uint32_t max_tokens;        /* of a model's answer */
    source_place effect_at;
    assignment *sets;
    size_t nsets;
    form *ask;                  /* its gate's prompt, or its question's */
    const pawl_value *schema, *options, *otherwise;
    int64_t ask_ms;
    const char *asked_of;
    agent_file *inner;
    const pawl_agent_tool *tool;    /* of a tool's: which */
    const file_helper *helper;  /* of an agent's: whom it calls; NULL: told */
    mapping *maps;
    size_t nmaps;
    bool maps_given;
    int64_t wait_ms;            /* of a wait; below 0: not said */
    form *until;
    const char *signal;
    bool waits_for_signal;
    /* what it keeps */
    named_place to, text, lines, json, status;
    const char *artifact;
    /* where it leads */
    name_list next;             /* all of them */
    way_out *ways;              /* the first that holds */
    size_t nways;
    source_place next_at;
    expression *each_of;
    const char *each_node, *each_as;
    source_place each_at, each_as_at, each_node_at;
    bool chooses;               /* a way on needs jq: it stands in the node NAME--next */
    file_node *choice_of;       /* of such a one: whose; NULL: this is written in the file */
    name_list join;
    uint32_t join_need;         /* 0: all */
    bool join_cancel;
    source_place join_at;
    named_place on_no, on_error;
    pawl_mode requires;
    bool before, after, defer;
    /* expressions of jq's that are evaluated first, in one call */
    expression **body;
    size_t nbody, body_cap;
    /* names that a task of it may have been sent, over the channels */
    const char **given;
    size_t ngiven, given_cap;
};

typedef struct file_source { const char *path; pawl_bytes text; struct file_source *next; } file_source;
typedef struct file_effect { const char *name, *word; pawl_limits limits; struct file_effect *next; } file_effect;

/* Evaluate anew what a run's journal has the value of: `input` and labels as in a call of "jq". NULL: err says why. */
typedef const pawl_value *file_anew_fn(void *ctx, arena *mem, const pawl_value *labels, const pawl_value *input, pawl_err *err);

typedef struct model_price { struct model_price *next; const char *model; int64_t input, output; } model_price;     /* millionths for a million tokens */

struct agent_file {
    arena *mem;
    faults *faults;
    agent_file *root;           /* the first of all; itself */
    agent_file *above;          /* the one that leads here; NULL: none */
    const char *path, *name, *description;
    const char *prefix;         /* of its labels: "" or, of the graph of a node, "sub/", so that they are unique */
    const doc *d;
    source_place at;
    const char **loose;         /* names that tasks are sent, nobody knows to where */
    size_t nloose;
    bool astray;                /* a way on could not be read, or leads nowhere: nobody knows what is reached */
    uint32_t version;
    unsigned depth;
    name_list start;
    source_place start_at;
    file_channel *channels;
    size_t nchannels;
    file_node *nodes;
    size_t nnodes;
    file_agent *agent;          /* NULL: it is a graph */
    const void **channel_order, **node_order;   /* by name; NULL: not yet */
    const char **names;         /* of the nodes, for suggestions; NULL: not yet */
    const pawl_value *input;    /* JSON Schema; NULL: anything */
    expression *output;
    uint32_t max_steps, max_concurrency, no_progress;
    bool gate_deny;
    const pawl_value *permissions, *hooks;      /* NULL: none were written */
    bool reroutes;              /* a hook of it may say where to go on */
    const char *moment;         /* a hook of it is of an agent's life: its event; NULL: none is */
    source_place moment_at;
    pawl_caps caps;             /* what a run of it may spend */
    source_place budget_at;
    model_price *prices;
    const char *retention, *turns, *model;
    source_place turns_at, model_at;
    name_list before, after;
    pawl_retry retry;
    bool has_retry;
    uint32_t attempt_ms, total_ms;
    /* of the root, for all of them */
    expression **jq;
    size_t njq, jq_cap;
    size_t graphs, guesses;
    file_source *sources, *last_source;
    const char **scripts;       /* models that follow one: "script:PATH", each once */
    size_t nscripts, scripts_cap;
    file_effect *effects;
    file_tool *tools;
    file_helper *helpers;
    const char **post_tools;    /* of all agents that have one; NULL: none */
    const char **post_tools_env;        /* keys that it gets from the environment; NULL: none */
    bool uses_tools;            /* a node is a tool */
    file_anew_fn *anew;
    void *anew_ctx;
};

/* ---- template_value.c ------------------------------------------------------------------------------------------------- */

typedef void form_see_fn(void *ctx, expression *e, bool whole, bool keeps);
void form_each(const form *f, form_see_fn *see, void *ctx);         /* every expression in it */

/* ---- of what was read: lookup.c, budget_keys.c, time_parse.c ------------------------------------------------------ */

file_channel *file_channel_find(const agent_file *a, const char *name);         /* NULL: there is none */
file_node *file_node_find(const agent_file *a, const char *name);
const model_price *price_of(const agent_file *a, const char *model);            /* NULL: nobody said */
int64_t price_micros(int64_t tokens, int64_t a_million);
/* The next moment that `text` names after `now`: "HH:MM" (UTC) or "2026-11-21T03:00:00Z". False: it names none. */
bool moment_read(const char *text, int64_t now_ms, int64_t *out_ms);

/* ---- what build.c gives the graph (execute.c, routing.c); arg is the file_node --------------------------------------- */

pawl_code node_visit(pawl_step *s, void *arg);
pawl_code choice_visit(pawl_step *s, void *arg);
const char *node_route(pawl_step *s, void *arg);

#endif
