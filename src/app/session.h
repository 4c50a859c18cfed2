/* session.h - an agent file with its machine, its engine and its handlers: from a file, or from the copy that a run keeps.
 *
 * A run keeps the text of its file, of the files that it names, and its working folder, in Pawl's own channels ("@file", "@cwd", "@mode"), which no
 * expression sees and no output shows. So a verb needs only the run's id. */
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

typedef struct app_anchor app_anchor;   /* anchor.h */
typedef struct script script;   /* of a scripted model: models.c */

typedef struct session {
    const app_caller *caller;   /* of session_new */
    struct cli_call *c;         /* the call of the verb: for src/cli, not used here */
    arena mem;
    faults faults;
    agent_file *file;           /* NULL: a whole agent as a plug-in */
    const agent_file *of;       /* the file of the run: `file` itself, or an agent that it names; NULL: as above */
    pawl_plugin *plugins;
    jq *jq;                     /* NULL: no expression needs one */
    pawl_machine *machine;      /* owned by the engine, once there is one */
    pawl_engine *engine;
    const char *folder;         /* its working folder, absolute */
    const char *path;           /* of the file, as given; of a plug-in, absolute */
    pawl_value *kept;           /* the "@file" of the run; NULL: files are read from disk */
    pawl_bytes first;           /* the text of the file itself, once it was read */
    const pawl_value *env;      /* {NAME: TEXT}: variables of settings that are trusted, for what agents start in `folder`; NULL: none */
    const pawl_value *env_of_model;     /* those of them that commands of a model get */
    script *scripts;
    pawl_llm llm;               /* settings of models of providers */
    app_anchor *anchor;         /* NULL: heads are not anchored */
    pawl_llm_record *record;    /* recorded answers; NULL: no record */
    pawl_tools *tools;          /* NULL: not made yet */
    const pawl_agent_tool *builtins;    /* the tools of the library, in the form that a machine needs */
    size_t nbuiltins;
    unsigned toolset;           /* the tools of the library are those of this set: of its run, or TOOLSET_NOW */
    bool retries;               /* as in file_reader: false for a run that began before there was that */
    const pawl_value *own;      /* further channels of Pawl for a new run; NULL: none */
    const pawl_value *policy;   /* for a new run; NULL: no rules */
    bool instructed;            /* the instructions of its folder were read: */
    const pawl_value *instructions, *instruction_digests;       /* NULL: there are none */
    const pawl_value *instructions_changed;     /* since the last run there: [{"path","was"}]; NULL: nothing */
    const pawl_value *given;    /* what this call gives beside the settings: "allow", "ask", "deny", "directories", "hooks" as in "@policy"; see given.c */
    unsigned without_sources;   /* settings that may not allow anything: bits 1 the person's, 2 the project's, 4 its local ones */
    bool gives_up_hooks;        /* hooks of an earlier client that the one here has not are given up */
    pawl_handler_fn *client;    /* asks the client that is connected for its answer to a hook; NULL: none is */
    void *client_arg;
    bool only_look;             /* the verb changes nothing: a run under another machine can be shown, too */
    bool upgraded;              /* a finished run was adopted: its new file is stored with the event that reopens it */
    bool took;                  /* of src/cli: the engine here took the first event of go() itself */
    uint32_t sent;              /* of src/cli: the deliveries that it has sent, whose ids it is part of */
    uint64_t left_no;           /* of src/cli: the delivery that its last event became, for the process that drives the run; 0: none */
    const pawl_value *denied;   /* of src/cli: an array of the visits whose approval was denied here; a gate with `on_no: wait` asks again, and is left */
    bool left_taken;            /* of src/cli: that process has taken it */
    bool hands_out;             /* only expressions are performed here */
    const char *evaluator;      /* the evaluator of expressions, part of the machine's hash */
    logging log;
    struct transcript *transcripts;     /* of its agents, for hooks; NULL: it has none */
    pawl_watch_fn *watch;       /* a further watch; see session_watch */
    void *watch_ctx;
    bool noticed;               /* it was said that the snapshot of `run` does not fit */
    char run[RUN_ID_BYTES];     /* "": none yet */
} session;

/* A new session in the working folder. `caller` is borrowed until session_free. NULL: no memory. */
session *session_new(const app_caller *caller);
/* Loads the file or the plug-in at `path` and checks it completely. PAWL_OK: s->machine exists. Else s->faults has the errors of the file, or, if there
 * are none, see err. */
pawl_code session_load(session *s, const char *path, pawl_err *err);
/* The text of the first file, which is copied: call before session_load, which then does not read that path. False: no memory. */
bool session_text(session *s, pawl_bytes text);
/* The file for s->run, whose state is `st`: the one that it keeps, or `other` (NULL: none) in its place. Loads nothing; *path is for session_load. */
PAWL_MUST_USE pawl_code session_run_file(session *s, pawl_state *st, const char *other, const char **path, pawl_err *err);
/* From now on s->run, which must not be driven now, uses the loaded file: its machine, and its text. */
PAWL_MUST_USE pawl_code session_upgrade(session *s, pawl_err *err);
/* From now on expressions are evaluated again, whatever a journal says. */
void session_anew(session *s);
/* A second machine of the file, for a caller that needs to own one; it refers to the session. */
pawl_machine *session_machine_again(session *s, pawl_err *err);
/* The handler of "jq", for callers that perform commands themselves; its argument is the session. */
pawl_code session_jq(const pawl_job *job, pawl_reply *reply, void *arg);
void session_free(session *s);

/* Makes the engine on `store`, which is taken, also on failure. */
pawl_code session_open(session *s, pawl_store *store, pawl_err *err);
/* handlers.c: binds the handlers of all effects of its machine; the number of threads of an engine. */
pawl_code session_bind(session *s, pawl_err *err);
unsigned session_threads(void);

/* models.c: reads and frees the scripts that its file names; the handlers of "llm" and "prompt", whose argument is the session. */
pawl_code session_models(session *s, pawl_err *err);
void session_models_free(session *s);
pawl_code session_llm(const pawl_job *job, pawl_reply *reply, void *arg);
pawl_code session_prompt(const pawl_job *job, pawl_reply *reply, void *arg);

/* record.c: writes all answers of models in a run and its children as lines of a record. PAWL_IO: `sink` refused a line. */
pawl_code record_export(pawl_store *s, const char *run, pawl_sink_fn *sink, void *ctx, pawl_err *err);
/* Opens the record of --record in front of `fn`, whose argument is the session; PAWL_OK without one. */
pawl_code session_record_open(session *s, pawl_handler_fn *fn, pawl_err *err);
/* Answers from s->record; messages about the record also become notes. */
pawl_code session_recorded(session *s, const pawl_job *job, pawl_reply *reply);

/* agents.c */
bool session_is_agent(const session *s);            /* its run is an agent's, not a graph's */
/* Selects one of the agents that the file names. False: no such agent. Call before session_open. */
bool session_of_agent(session *s, const char *name);
const pawl_agent_tool *session_tool(void *session, size_t index);   /* for file_reader.tool */
pawl_code session_tool_bind(session *s, const file_effect *e, pawl_err *err);       /* of a tool node */
/* Binds the handlers of agents' tools, and the machines of the agents that they call. */
pawl_code session_agents_bind(session *s, pawl_err *err);
struct transcript *session_transcripts(session *s);            /* NULL: no agents, or no memory */
pawl_code session_hook(const pawl_job *job, pawl_reply *reply, void *arg);      /* the handler of "hook", whose argument is the session */
/* variables.c: what settings set, for what agents start in `cwd` (NULL: its folder); {NAME: TEXT}, NULL: none, or see err. session_env_read is called
 * once, before. */
pawl_code session_env_read(session *s, pawl_err *err);
const char *session_setting(void *session, const char *name);  /* a key or an address of a model; NULL: there is none */
const pawl_value *session_env(const session *s, arena *mem, const char *cwd, pawl_err *err);
const pawl_value *session_env_of_model(void *session, arena *mem, const char *cwd, pawl_err *err);
pawl_code session_sandbox(session *s, pawl_err *err);          /* sandbox_settings.c: that of its tools, with a note if it is not required */
/* instructions.c: AGENTS.md, else CLAUDE.md with its imports; NULL with err->code PAWL_OK: there is neither. Read once, with the rules of s->policy. */
const pawl_value *session_instructions(session *s, pawl_err *err);
struct claude_files;
/* Notes which of them are not those of the last run in its folder; `found` as in settings.h. */
pawl_code session_instructions_look(session *s, const struct claude_files *found, pawl_err *err);
/* instructions_seen.c: notes how these {PATH: DIGEST} differ from those of the last run in `folder`, and keeps them: [{"path","was"}]; NULL: in nothing. */
const pawl_value *instructions_changed(const app_caller *caller, arena *mem, const char *folder, const pawl_value *files);
/* `v` with the further initial channels of an agent. NULL: see err. */
const pawl_value *session_agent_input(session *s, const pawl_value *v, pawl_err *err);
/* How its last turn ended: "answer", "denial", "interrupt", "error", ...; "": no turn has ended. Lent until the state changes. */
const char *agent_end(pawl_state *st);
const char *agent_no(const session *s);             /* the effect of a denial of a tool call */
pawl_code session_each_agent(session *s, pawl_code (*fn)(session *s, const agent_file *a, pawl_err *err), pawl_err *err);

/* Like pawl_engine_watch, which the log uses already. */
void session_watch(session *s, pawl_watch_fn *fn, void *ctx);
/* Logs that the snapshot of `run` is not used, once for the session's run (pawl_notice_fn). */
void session_notice(void *s, const char *run, pawl_code code, const char *text);
pawl_engine *session_engine(session *s);
pawl_store *session_store(session *s);              /* that of the engine */
const pawl_machine *session_machine(const session *s);
const char *session_run(const session *s);          /* "": none yet */
/* Whether a program began `run`, or the run that it is a child of, with a machine of its own: then nobody else goes on with it. */
bool run_of_program(pawl_store *store, const char *run);
/* The effect of a denial of `w`: "goes on at fix", "the turn ends", "the run ends rejected". Unknown for a wait of another run, such as a child. */
void session_no(const session *s, const char *run, const pawl_wait *w, buf *out);
/* Whether a node of that name is there to end the run as failed (`fail`). */
bool session_fails_at(const session *s, const char *node);
/* The start input of a new run: `input` (an object, or NULL), Pawl's own channels, and `policy`. False: see err. */
bool session_input(session *s, const pawl_value *input, pawl_mode mode, buf *out, pawl_err *err);
/* What an upgraded run takes: `set` (NULL: nothing) and the text of its new file. False: see err. */
bool session_upgraded(session *s, const pawl_value *set, buf *out, pawl_err *err);
bool session_has(const session *s, const char *channel);       /* whether its machine has one of Pawl's own channels, such as "@mode" */
/* Evaluate the file's `output` on the state of its run; NULL with err.code PAWL_OK: it has none. In s->mem. */
const pawl_value *session_output(session *s, pawl_state *st, pawl_err *err);
/* given.c: adds what the call gives, and what an earlier call gave that restricts (`was`: the "@policy" so far; NULL: it begins), to *policy. */
pawl_code given_add(const session *s, arena *mem, const pawl_value *was, const pawl_value **policy, pawl_err *err);
/* One more rule for s->given, in `list` ("allow", "ask", "deny"); `from` begins with two dashes: the name of an option. False: no memory. */
bool given_rule(session *s, const char *list, const char *rule, size_t size, const char *from);
/* reader.c: the sources of texts: the disk (FILE_BYTES_MAX), or the copy in a run. */
pawl_code read_disk(arena *mem, const char *path, pawl_bytes *text, pawl_err *err);
pawl_code session_read(void *ctx, arena *mem, const char *from, const char *name, const char **path, pawl_bytes *text, pawl_err *err);
/* "a/b" + "../c" = "a/c"; `name` itself if it is absolute. */
const char *path_beside(arena *mem, const char *from, const char *name);

#endif
