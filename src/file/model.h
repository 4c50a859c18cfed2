/* model.h - the model of an agent file: channels, nodes, edges.
 *
 * Filled in by the files of load/ on one thread; build.c makes a graph of it, whose nodes are execute.c and routing.c. From then on it is read-only, and
 * any thread may read it. */
#ifndef FILE_MODEL_H
#define FILE_MODEL_H

#include "file/file.h"
#include "pawl/agent.h"
#include "pawl/policy.h"

enum {
    FILE_GRAPHS_MAX = 64,       /* files that one file names, directly or not */
    FILE_GRAPH_DEPTH_MAX = 8,   /* nested graphs */
    NODE_NAME_MAX = 56,         /* bytes; with Pawl's longest suffix still a valid name in the kernel */
    EXPRESSIONS_MAX = 1000,     /* jq expressions of a file and of those that it names */
    GUESSES_MAX = 200           /* nodes up to which misspelt names are compared with all of them */
};
#define CHOICE_SUFFIX "--next"  /* suffix of the node that evaluates where "review" leads */

/* ---- forms: values with expressions in them ------------------------------------------------------------- */

typedef enum form_kind {
    FORM_VALUE = 1,             /* the value as written */
    FORM_TEXT = 2,              /* a template, whose result is a text */
    FORM_KEEP = 3,              /* a template; a single expression keeps the type of its value */
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
    bool unclear;               /* its rule is invalid, which was reported */
} file_channel;

typedef enum node_kind {        /* bits, because keys list the kinds that they are for */
    KIND_RUN = 1, KIND_SHELL = 2, KIND_SET = 4, KIND_ASK = 8, KIND_HTTP = 16, KIND_GRAPH = 32, KIND_PROMPT = 64, KIND_WAIT = 128,
    KIND_PLUGIN = 256, KIND_AGENT = 512, KIND_TOOL = 1024, KIND_FAIL = 2048, KIND_ROUTE = 4096 /* only leads on */
} node_kind;
enum { KINDS_PROCESS = KIND_RUN | KIND_SHELL, KINDS_CALL = KIND_RUN | KIND_SHELL | KIND_HTTP | KIND_PROMPT | KIND_PLUGIN,
       KINDS_KEEP = KINDS_CALL | KIND_AGENT | KIND_TOOL, KINDS_ALL = 8191 };

bool file_request_writes(const pawl_value *args);       /* an `http` node that is not a GET or HEAD without a body */
const char *mode_spoken(pawl_mode m);           /* "AcceptEdits": for messages of denial */

typedef struct named_place { const char *name; source_place at; } named_place;
typedef struct name_list { named_place *names; size_t n; const char **sorted; } name_list;       /* sorted: the same names, by bytes */
typedef struct way_out { expression *when; const char *to; source_place at; } way_out;   /* when NULL: else */
typedef struct assignment { const char *channel, *key; source_place at, value_at; form *f; bool overwrite, extend; } assignment;   /* key: "set" */
typedef struct mapping { const char *outer, *inner; source_place outer_at, inner_at; bool in, out; } mapping;

/* ---- agents ---------------------------------------------------------------------------------------------------- */

enum {
    FILE_TOOLS_MAX = 128,       /* of one agent */
    FILE_TOOL_WORDS_MAX = 256   /* words of a tool's command, and of `post_tools` */
};

typedef struct file_tool {      /* a program that is a tool of an agent; all in the root file, by name */
    struct file_tool *next;
    pawl_agent_tool t;
    const char **run;           /* ends in NULL */
    const char **env;           /* secret variables that it receives; ends in NULL; NULL: none */
    const agent_file *of;
} file_tool;

typedef struct file_helper {    /* an agent that others call, by the name of its machine; all in the root file */
    struct file_helper *next;
    const char *name, *path;
    agent_file *file;           /* NULL: it could not be read, which was reported */
} file_helper;

typedef struct file_agent {     /* `agent:` of a file */
    pawl_agent a;
    pawl_mode mode;             /* PAWL_MODE_NONE: not given */
    file_helper **helpers;      /* the agents that it may call, a.nhelpers */
    source_place at, model_at;
} file_agent;

/* ---- nodes and files ------------------------------------------------------------------------------------------ */

struct file_node {
    agent_file *file;
    const char *name;
    source_place at;
    node_kind kind;             /* 0: unknown */
    unsigned kinds;             /* if there are several by mistake, all of them */
    bool unclear;               /* its kind is invalid, which was reported */
    const char *word;           /* "run" */
    source_place kind_at;
    const doc *d;
    /* its work */
    form *call;                 /* arguments of its effect */
    form *cwd, *undo_cwd;       /* without folders, which are made absolute */
    const char *effect;         /* name of its effect: "run", or "run-9f3a21c7" with limits of its own */
    const char *undo_effect;
    pawl_limits limits;
    bool class_given, retry_given, timeout_given, model_told, job;      /* job: its kind is one of `jobs`, and `kind` is KIND_PLUGIN */
    bool reads_only;            /* an http GET or HEAD */
    uint32_t max_tokens;        /* of a model's answer */
    source_place effect_at;
    assignment *sets;
    size_t nsets;
    form *ask;                  /* prompt of its gate or question */
    form *fail;                 /* reason for which it fails the run */
    const pawl_value *schema, *options, *otherwise, *approvers;    /* approvers: {"need","of":[NAME..]} of its gate; NULL: those of `permissions` */
    int64_t ask_ms;
    const char *asked_of;
    agent_file *inner;
    const pawl_agent_tool *tool;    /* of a tool node */
    const file_helper *helper;  /* of an agent node: the agent that it calls; NULL: reported */
    mapping *maps;
    size_t nmaps;
    bool maps_given;
    int64_t wait_ms;            /* of a wait; below 0: not given */
    form *until;
    const char *signal;
    bool waits_for_signal;
    /* results that it keeps */
    named_place to, text, lines, json, status;
    const char *artifact;
    /* its edges */
    name_list next;             /* all targets */
    way_out *ways;              /* conditions; the first that is true decides */
    size_t nways;
    source_place next_at;
    expression *each_of;
    const char *each_node, *each_as;
    source_place each_at, each_as_at, each_node_at;
    bool chooses;               /* a condition needs jq: it is evaluated by the node NAME--next */
    file_node *choice_of;       /* of such a node: the one it belongs to; NULL: a node of the file */
    name_list join;
    uint32_t join_need;         /* 0: all */
    bool join_cancel;
    source_place join_at;
    named_place on_no, on_error;
    pawl_mode requires;
    bool before, after, defer, no_waits;        /* no_waits: `on_no: wait`, where no node has that name (W9) */
    /* jq expressions that are evaluated first, in one call */
    expression **body;
    size_t nbody, body_cap;
    /* names that may have been sent to its tasks; they hide channels */
    const char **given;
    size_t ngiven, given_cap;
};

typedef struct file_source { const char *path; pawl_bytes text; struct file_source *next; } file_source;
typedef struct file_effect { const char *name, *word; pawl_limits limits; struct file_effect *next; } file_effect;

/* Evaluates expressions again whose values are in a run's journal: `input` and labels as in a call of "jq". NULL: see err. */
typedef const pawl_value *file_anew_fn(void *ctx, arena *mem, const pawl_value *labels, const pawl_value *input, pawl_err *err);

typedef struct model_price { struct model_price *next; const char *model; int64_t input, output; } model_price;     /* millionths for a million tokens */

typedef struct file_signer { struct file_signer *next; const char *name, *key; source_place at; } file_signer;    /* key NULL: that which is trusted */
struct agent_file {
    arena *mem;
    faults *faults;
    agent_file *root;           /* the first file; may be itself */
    agent_file *above;          /* the file that names this one; NULL: none */
    const char *path, *name, *description;
    const char *prefix;         /* prefix of its labels: "", or for the graph of a node "sub/", so that they are unique */
    const doc *d;
    source_place at;
    const char **unplaced;      /* names that are sent to an unknown target */
    size_t nunplaced;
    bool bad_target;                /* a target is invalid, so it is unknown what is reached */
    uint32_t version;
    unsigned depth;
    name_list start, jobs;      /* jobs: kinds of nodes that workers elsewhere perform */
    source_place start_at;
    file_channel *channels;
    size_t nchannels;
    file_node *nodes;
    size_t nnodes;
    file_agent *agent;          /* NULL: a graph */
    const void **channel_order, **node_order;   /* sorted by name; NULL: not yet */
    const char **names;         /* of the nodes, for suggestions; NULL: not yet */
    const pawl_value *input;    /* JSON Schema; NULL: anything */
    expression *output;
    uint32_t max_steps, max_concurrency, no_progress;
    bool gate_deny;
    const pawl_value *permissions, *hooks;      /* NULL: none */
    bool reroutes;              /* a hook may choose the next node */
    const char *moment;         /* event of a hook for an agent's life; NULL: none */
    source_place moment_at;
    pawl_caps caps;             /* the limits of a run */
    source_place budget_at;
    model_price *prices;
    const char *retention, *turns, *model;
    source_place turns_at, model_at;
    name_list before, after;
    pawl_retry retry;
    bool has_retry;
    uint32_t attempt_ms, total_ms;
    /* in the root file, for all files */
    expression **jq;
    size_t njq, jq_cap;
    size_t graphs, guesses;
    file_source *sources, *last_source;
    file_signer *signers;       /* the approvers that it names anywhere, each once */
    const char **scripts;       /* scripted models: "script:PATH", each once */
    size_t nscripts, scripts_cap;
    file_effect *effects;
    file_tool *tools;
    file_helper *helpers;
    const char **post_tools;    /* of all agents; NULL: none */
    const char **post_tools_env;        /* secret variables that it receives; NULL: none */
    bool uses_tools;            /* there is a tool node */
    file_anew_fn *anew;
    void *anew_ctx;
};

/* ---- template_value.c ------------------------------------------------------------------------------------------------- */

typedef void form_see_fn(void *ctx, expression *e, bool whole, bool keeps);
void form_each(const form *f, form_see_fn *see, void *ctx);         /* calls `see` for each expression */

/* ---- of what was read: lookup.c, budget_keys.c, time_parse.c ------------------------------------------------------ */
file_channel *file_channel_find(const agent_file *a, const char *name);         /* NULL: there is none */
file_node *file_node_find(const agent_file *a, const char *name);
const model_price *price_of(const agent_file *a, const char *model);            /* NULL: no price */
int64_t price_micros(int64_t tokens, int64_t a_million);
/* The next time after `now` that `text` names: "HH:MM" (UTC) or "2026-11-21T03:00:00Z". False: invalid. */
bool moment_read(const char *text, int64_t now_ms, int64_t *out_ms);

/* ---- what build.c gives the graph (execute.c, routing.c); arg is the file_node --------------------------------------- */

pawl_code node_visit(pawl_step *s, void *arg);
pawl_code choice_visit(pawl_step *s, void *arg);
const char *node_route(pawl_step *s, void *arg);

#endif
