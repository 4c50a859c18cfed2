/* session.h - an agent file with its machine, its engine and its handlers: from a file, or from the copy that a run keeps.
 *
 * A run keeps the text of its file, of the files that it names, and its working folder, in channels of Pawl's own ("@file", "@cwd",
 * "@mode"), which no expression sees and no output shows. So a verb needs the run's id alone. */
#ifndef APP_SESSION_H
#define APP_SESSION_H

#include "app/app.h"
#include "app/logging.h"
#include "effect/jq/jq.h"
#include "app/plugin.h"
#include "file/reader.h"
#include "pawl/history.h"
#include "pawl/llm.h"
#include "pawl/tool.h"

typedef struct script script;   /* of a scripted model: models.c */

typedef struct session {
    const app_caller *caller;   /* of session_new */
    struct cli_call *c;         /* the verb that is called: of src/cli alone, not read here */
    arena mem;
    faults faults;
    agent_file *file;           /* NULL: a plug-in is the whole agent */
    const agent_file *of;       /* of the run: the file itself, or an agent that it leads to; NULL: as above */
    pawl_plugin *plugins;
    jq *jq;                     /* NULL: no expression of it needs one */
    pawl_machine *machine;      /* the engine's, once there is one */
    pawl_engine *engine;
    const char *folder;         /* where it works: in full */
    const char *path;           /* of the file, as it was given; of a plug-in in full */
    pawl_value *kept;           /* of a run: what its "@file" says; NULL: it is read from the disk */
    pawl_bytes first;           /* its own text, once it was read */
    script *scripts;
    pawl_llm llm;               /* how models of providers are asked */
    pawl_llm_record *record;    /* what was answered before, and is answered now; NULL: nobody asked for one */
    pawl_tools *tools;          /* NULL: nobody asked for one yet */
    const pawl_agent_tool *builtins;    /* those that come with the program, as a machine knows them */
    size_t nbuiltins;
    const pawl_value *own;      /* more channels of Pawl's own that a new run begins with; NULL: none */
    const pawl_value *policy;   /* what a new run is decided by; NULL: no rules */
    bool only_look;             /* of a verb that changes nothing: a run under another machine is looked at all the same */
    bool upgraded;              /* it is over, and was adopted: what it keeps of the new file goes with the event that reopens it */
    bool hands_out;             /* only expressions are performed here */
    const char *evaluator;      /* what evaluates them, of the machine's hash */
    logging log;
    pawl_watch_fn *watch;       /* who else is told; session_watch */
    void *watch_ctx;
    char run[RUN_ID_BYTES];     /* "": none yet */
} session;

/* An empty one in the working folder. `caller` is borrowed until session_free. NULL: no memory. */
session *session_new(const app_caller *caller);
/* Loads the file or the plug-in at `path` and checks it whole. PAWL_OK: s->machine is there. Else s->faults has what is wrong with the file,
 * or, where it has none, err says why. */
pawl_code session_load(session *s, const char *path, pawl_err *err);
/* The text of the first file, which is copied: set before session_load, which then reads nothing under that path. False: no memory. */
bool session_text(session *s, pawl_bytes text);
/* The file of s->run, whose state is `st`: the one that it keeps, or `other` (NULL: none), which then stands for it. Loads nothing; *path
 * is for session_load. */
PAWL_MUST_USE pawl_code session_run_file(session *s, pawl_state *st, const char *other, const char **path, pawl_err *err);
/* From here on s->run, which is not driven now, uses the loaded file: its machine, and what it keeps of the file. */
PAWL_MUST_USE pawl_code session_upgrade(session *s, pawl_err *err);
/* Expressions are evaluated anew from now on, whatever a journal says of them. */
void session_anew(session *s);
/* Its machine once more, for who keeps one of his own; it leans on the session. */
pawl_machine *session_machine_again(session *s, pawl_err *err);
/* The handler of "jq", for who performs otherwise; its argument is the session. */
pawl_code session_jq(const pawl_job *job, pawl_reply *reply, void *arg);
void session_free(session *s);

/* Give it a store to run in: makes the engine. Takes `store`, also on failure. */
pawl_code session_open(session *s, pawl_store *store, pawl_err *err);
/* handlers.c: binds the handlers of all effects of its machine; how many effects an engine performs at a time. */
pawl_code session_bind(session *s, pawl_err *err);
unsigned session_threads(void);

/* models.c: the scripts that its file names, read; freed. Handlers of "llm" and "prompt", whose argument is the session. */
pawl_code session_models(session *s, pawl_err *err);
void session_models_free(session *s);
pawl_code session_llm(const pawl_job *job, pawl_reply *reply, void *arg);
pawl_code session_prompt(const pawl_job *job, pawl_reply *reply, void *arg);

/* record.c: all that models answered in a run and its children, as lines of a record. PAWL_IO: `sink` refused a line. */
pawl_code record_export(pawl_store *s, const char *run, pawl_sink_fn *sink, void *ctx, pawl_err *err);
/* The record that --record names, before `fn`, whose argument is the session; none is PAWL_OK. */
pawl_code session_record_open(session *s, pawl_handler_fn *fn, pawl_err *err);
/* Answers from s->record; what the record says of itself goes to the caller as a note, too. */
pawl_code session_recorded(session *s, const pawl_job *job, pawl_reply *reply);

/* agents.c */
bool session_is_agent(const session *s);            /* its run is an agent's, and no graph's */
/* A run of one of the agents that its file leads to. False: there is none of that name. Before session_open. */
bool session_of_agent(session *s, const char *name);
const pawl_agent_tool *session_tool(void *session, size_t index);   /* as a file_reader asks */
pawl_code session_tool_bind(session *s, const file_effect *e, pawl_err *err);       /* of a node that is a tool */
/* Who performs what agents ask for, and the machines of those that they call. */
pawl_code session_agents_bind(session *s, pawl_err *err);
/* `v` and what an agent begins with besides. NULL: see err. */
const pawl_value *session_agent_input(session *s, const pawl_value *v, pawl_err *err);
/* How its last turn ended: "answer", "denial", "interrupt", "error", ...; "": none has. Lent until the state changes. */
const char *agent_end(pawl_state *st);
const char *agent_no(const session *s);             /* what a no to a call of a tool leads to */
pawl_code session_each_agent(session *s, pawl_code (*fn)(session *s, const agent_file *a, pawl_err *err), pawl_err *err);

/* As pawl_engine_watch, whose place the log has. */
void session_watch(session *s, pawl_watch_fn *fn, void *ctx);
pawl_engine *session_engine(session *s);
pawl_store *session_store(session *s);              /* the engine's */
const pawl_machine *session_machine(const session *s);
const char *session_run(const session *s);          /* "": none yet */
/* What a no to `w` leads to: "goes on at fix", "the turn ends", "the run ends rejected". Of another run's wait, as a child's, nothing is known. */
void session_no(const session *s, const char *run, const pawl_wait *w, buf *out);
/* What a new run begins with: `input` (an object, or NULL), what Pawl itself keeps, and `policy`. False: said. */
bool session_input(session *s, const pawl_value *input, pawl_mode mode, buf *out, pawl_err *err);
/* begin.c: what a new run begins with beside its input, the same for every verb that begins one. *mode: the one that was given, PAWL_MODE_NONE where
 * none was; becomes that of the settings, or of the agent. Sets s->policy, and in `info` mode, retention, budget, and of a plug-in the first label. */
PAWL_MUST_USE pawl_code session_begin_settings(session *s, pawl_mode *mode, pawl_run_info *info, pawl_err *err);
/* Evaluate the file's `output` over the state of its run; NULL with err.code PAWL_OK: it has none. In s->mem. */
const pawl_value *session_output(session *s, pawl_state *st, pawl_err *err);
/* reader.c: where texts come from: the disk (FILE_BYTES_MAX), or what a run kept. */
pawl_code read_disk(arena *mem, const char *path, pawl_bytes *text, pawl_err *err);
pawl_code session_read(void *ctx, arena *mem, const char *from, const char *name, const char **path, pawl_bytes *text, pawl_err *err);
/* "a/b" + "../c" = "a/c"; `name` itself when it is in full. */
const char *path_beside(arena *mem, const char *from, const char *name);

#endif
