/* model.h - an agent file as what it means: channels, nodes, ways on; read by load.c and node_keys.c, looked over by check.c, made a
 * graph by build.c, whose nodes are visit.c and leave.c. */
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

/* ---- from outside ---------------------------------------------------------------------------------------------- */

/* Read what `name`, written in the file `from` (NULL: it is the first), stands for; *path: what it is called from now on, the same for
 * the same file. Both live as long as the arena. */
typedef struct file_reader {
    pawl_code (*read)(void *ctx, arena *mem, const char *from, const char *name, const char **path, pawl_bytes *text, pawl_err *err);
    /* Open the plug-in `name`, written in the file `from`, before its nodes are read. NULL: there are none. */
    pawl_code (*plugin)(void *ctx, const char *from, const char *name, pawl_err *err);
    /* Whether a plug-in adds `kind`; its effect has that name, and *cls where nothing is said. NULL: none do. */
    bool (*kind)(void *ctx, const char *kind, pawl_class *cls);
    /* The tools that come with the program, one by one; NULL behind the last. NULL: there are none. */
    const pawl_agent_tool *(*tool)(void *ctx, size_t index);
    /* What is wrong with expressions: tells by number. NULL: they are not compiled. */
    pawl_code (*compile)(void *ctx, expression *const *all, size_t n, void (*tell)(void *to, size_t number, const char *text), void *to, pawl_err *err);
    void *ctx;
} file_reader;

/* load.c: read a file and all that it leads to, and look it over; whatever is wrong is told to `f`. NULL: nothing of it could be read, or no
 * memory. With faults it is there for a look, and no machine. */
agent_file *file_load(arena *mem, const char *name, const file_reader *reader, faults *f);
/* build.c: its machine, which leans on the file: free it first. `engine`: what evaluates expressions ("jq-1.6"), part of the hash. NULL: see
 * err, and `f` has what the graph's own compiler found. */
pawl_machine *file_machine(agent_file *a, const char *engine, faults *f, pawl_err *err);
/* What pawl_graph_check finds, in the places that it names. */
void file_search(const agent_file *a, const pawl_machine *m, faults *f);

/* ---- among the files of this folder ------------------------------------------------------------------------------ */

/* load.c */
typedef struct loader { arena *mem; faults *f; const file_reader *reader; agent_file *a; } loader;
agent_file *load_graph(loader *l, const char *node, const char *name, source_place at);    /* of that node; NULL: told */
bool load_source(loader *l, const char *name, source_place at, const char **path, pawl_bytes *text);
expression *load_expression(loader *l, const doc *d, const char *label);
bool load_known(loader *l, expression *e, const char *label);       /* one of jq's gets its number; false: no memory, or too many */
file_channel *file_channel_find(const agent_file *a, const char *name);
file_node *file_node_find(const agent_file *a, const char *name);

/* keys.c: one value of a key; what is wrong is told */
bool key_text(loader *l, const doc *d, const char *key, const char **out);
bool key_plain(loader *l, const doc *d, const char *key, const char **out);     /* one that is no template */
bool name_declare(loader *l, const doc *key, const char *what, size_t most);    /* of a channel or a node; false: told, and it is none */
bool key_name(loader *l, const doc *d, const char *key, named_place *out);      /* of one; a bad name that is declared was told there */
bool key_names(loader *l, const doc *d, const char *key, name_list *out);       /* a name, or a list of them */
bool key_bool(loader *l, const doc *d, const char *key, bool *out);
bool key_count(loader *l, const doc *d, const char *key, uint32_t least, uint32_t most, uint32_t *out);
bool key_duration(loader *l, const doc *d, const char *key, uint32_t least, uint32_t *ms);
bool key_retry(loader *l, const doc *d, pawl_retry *out);
bool key_timeout(loader *l, const doc *d, uint32_t *attempt_ms, uint32_t *total_ms);
bool key_schema(loader *l, const doc *d, const char *key, const pawl_value **out);
const char *doc_what(loader *l, const doc *d);                      /* "a list", "the text "x"" */
const char *load_fmt(loader *l, const char *fmt, ...) PAWL_PRINTF(2, 3);    /* NULL: no memory */
/* Every member of `map` must be one of `names`. What is a slip of the pen for one of them is told, and from here on it is that one: so
 * one mistake is one fault. */
void keys_known(loader *l, const doc *map, const char *what, const char *const *names, size_t n);
void key_unknown(loader *l, doc *map, size_t i, const char *what, const char *const *names, size_t n);
const char *name_meant(const char *name, const char *const *names, size_t n);  /* for which it is a slip; NULL: none */
bool key_there(const doc *map, const char *key);                   /* or what it is called elsewhere, which was told */
void fault_hint(loader *l, source_place at, const char *kind, const char *what, const char *name, const char *const *names, size_t n);

/* guard_keys.c, budget_keys.c */
void read_guards(loader *l, const doc *d);
void read_budget(loader *l, const doc *d);
void read_prices(loader *l, const doc *d);
bool money_read(const char *text, int64_t *micros);         /* "1.50" as millionths. False: it is no amount, or has more than 6 digits behind the point */
const model_price *price_of(const agent_file *a, const char *model);        /* NULL: nobody said */
int64_t price_micros(int64_t tokens, int64_t a_million);

/* agent_keys.c, agent_tools.c */
void read_agent(loader *l, const doc *d);                   /* `agent`, of a file that is one */
void agent_check(loader *l);                                /* what its parts say of each other */
void read_tools(loader *l, const doc *d);
const pawl_agent_tool *key_tool(loader *l, const doc *d);   /* one that comes with the program; NULL: told */
bool key_words(loader *l, const doc *d, const char *key, const char ***out);   /* a command: a program and its arguments, ends in NULL */
bool key_env(loader *l, const doc *d, const char *of, const char ***out);      /* names of variables, which it gets although they are keys; ends in NULL */
file_helper *load_helper(loader *l, const char *name, const char *file, source_place at);     /* NULL: told */
extern const char *const agent_key_names[];
extern const size_t agent_key_count;

/* models.c: "script:FILE" or "PROVIDER/NAME", and its price where money is counted; *out: what it is called from now on. False: told. */
bool model_read(loader *l, const char *model, source_place at, const char **out);
void check_model(loader *l, file_node *n);

/* node_keys.c */
void node_read(loader *l, file_node *n, const doc *d);
extern const char *const node_key_names[];
extern const size_t node_key_count;
extern const char *const file_key_names[];
extern const size_t file_key_count;

/* ways.c */
void read_next(loader *l, file_node *n, const doc *d, const char *label);
void read_each(loader *l, file_node *n, const doc *d, const char *label);
void read_join(loader *l, file_node *n, const doc *d, const char *label);
void read_on_no(loader *l, file_node *n, const doc *d, const char *label);
void read_on_error(loader *l, file_node *n, const doc *d, const char *label);

/* form.c */
form *form_text(loader *l, const doc *d, form_kind kind, const char *key, const char *label);   /* FORM_TEXT or FORM_KEEP of a scalar */
form *form_any(loader *l, const doc *d, const char *label);         /* lists, maps, texts as templates that keep */
form *form_words(loader *l, const doc *d, const char *key, const char *label);  /* a list of texts */
form *form_table(loader *l, const doc *d, const char *key, const char *label);  /* a map of texts */
form *form_expression(loader *l, const doc *d, const char *key, const char *label);
form *form_literal(loader *l, const pawl_value *v, source_place at);
form *form_map(loader *l, source_place at);
bool form_put(loader *l, form *map, const char *key, form *f);      /* f NULL: nothing */
typedef void form_see_fn(void *ctx, expression *e, bool whole, bool keeps);
void form_each(const form *f, form_see_fn *see, void *ctx);         /* every expression in it */

/* check.c */
void file_check(loader *l);

/* render.c: in a step */
typedef struct scope {          /* what expressions see, in one visit */
    pawl_step *s;
    const file_node *n;
    const pawl_value *values;   /* of n->body, in their order; NULL: there are none */
    struct render_item *standing;  /* what is to stand by reference */
    bool arguments;             /* what is made is a command's arguments; */
    bool showing;               /* to look at */
    const pawl_value *folders;  /* of a tool: {"directories", "read_only"}, in which it may work, too; NULL: none */
    pawl_code failed;           /* PAWL_OK: not yet; */
    const char *why;            /* and why; NULL: no memory */
    size_t at;                  /* of path: the JSON pointer in what is made; at its end it is longer than that */
    char path[512];
} scope;
pawl_code scope_begin(scope *sc, pawl_step *s, const file_node *n); /* evaluates n->body: PAWL_PENDING on the way out; below 0: it has failed */
pawl_code scope_fail(scope *sc, pawl_code code, const char *why);   /* the first of all is kept; what it returns */
const pawl_value *scope_value(scope *sc, const expression *e);      /* NULL: it has failed */
const pawl_value *form_render(scope *sc, const form *f);            /* NULL: the same */
/* The arguments of a command: with secrets and channels by reference in their places; the members of `over` (NULL: none) instead of its own, and
 * those of `more` that are not there yet. */
const pawl_value *form_args(scope *sc, const form *f, const pawl_value *over, const pawl_value *more);
const pawl_value *form_shown(scope *sc, const form *f);     /* the same to look at: all by value, and of secrets their names */
bool value_true(const pawl_value *v);                               /* as jq has it: neither null nor false */

/* visit.c, leave.c: what build.c gives the graph; arg is the file_node */
pawl_code node_visit(pawl_step *s, void *arg);
pawl_code choice_visit(pawl_step *s, void *arg);
const char *node_route(pawl_step *s, void *arg);

/* when.c: the next moment that `text` names after `now`: "HH:MM" (UTC) or "2026-11-21T03:00:00Z". False: it names none. */
bool moment_read(const char *text, int64_t now_ms, int64_t *out_ms);

#endif
