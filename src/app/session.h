/* session.h - an agent file, its machine, and an engine with whoever performs its effects: of a file, or of a run that is there.
 *
 * A run keeps the text of its file, of the files that it names, and its working folder, in channels of Pawl's own ("@file", "@cwd",
 * "@mode"), which no expression sees and no output shows. So a verb needs the run's id alone. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"
#include "effect/jq/jq.h"
#include "app/logging.h"
#include "app/plugin.h"
#include "file/model.h"
#include "pawl/llm.h"
#include "pawl/tool.h"

typedef struct script script;   /* of a scripted model: models.c */

typedef struct session {
    cli_call *c;
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

/* Of a file: loaded, checked whole; its faults are said on stderr (JSON on stdout with --json when `findings`). NULL: *code is the exit
 * code, and why was said. */
session *session_of_file(cli_call *c, const char *path, int *code);
/* The same of a text, which is copied, that is called `path`. */
session *session_of_text(cli_call *c, const char *path, pawl_bytes text, int *code);
/* The same, and nothing is said: what was found is in its faults; it has no machine when one of them is more than a note, or `err` says
 * what else was wrong. NULL: no memory, or the folder is gone. */
session *session_load_quietly(cli_call *c, const char *path, pawl_err *err);
/* Expressions are evaluated anew from now on, whatever a journal says of them. */
void session_anew(session *s);
/* Its machine once more, for who keeps one of his own; it leans on the session. */
pawl_machine *session_machine_again(session *s, pawl_err *err);
/* The handler of "jq", for who performs otherwise; its argument is the session. */
pawl_code session_jq(const pawl_job *job, pawl_reply *reply, void *arg);
/* Of the run that `given` means, in the store of the call, by the file it keeps; --file of the call, where the verb has it, gives
 * another: one with another hash is *code EXIT_FAILED with the first divergence, unless --upgrade was given, and then it is adopted.
 * NULL as above. */
session *session_of_run(cli_call *c, const char *given, int *code);
/* The same of a run in a store that is open, and by `file` (NULL: the one that it keeps); takes `store`, also on failure. */
session *session_of_run_in(cli_call *c, pawl_store *store, const char *run, const char *file, int *code);
void session_free(session *s);

/* Give it a store to run in: makes the engine. Takes `store`, also on failure. */
pawl_code session_open(session *s, pawl_store *store, pawl_err *err);
unsigned session_threads(void);                     /* of an engine here: so much is performed side by side */
/* handlers.c: who performs the effects of its machine. */
pawl_code session_bind(session *s, pawl_err *err);

/* models.c: the scripts that its file names, read; freed. Handlers of "llm" and "prompt", whose argument is the session. */
pawl_code session_models(session *s, pawl_err *err);
void session_models_free(session *s);
pawl_code session_llm(const pawl_job *job, pawl_reply *reply, void *arg);
pawl_code session_prompt(const pawl_job *job, pawl_reply *reply, void *arg);

/* record.c: the record that --record names, before `fn`, whose argument is the session; none is PAWL_OK. */
pawl_code session_record_open(session *s, pawl_handler_fn *fn, pawl_err *err);
/* Answer from s->record; what it says of itself is said on stderr, too. */
pawl_code session_recorded(session *s, const pawl_job *job, pawl_reply *reply);
#define RECORD_OPTIONS \
    { "record", "FILE", "models answer from FILE what they have answered before; else PAWL_RECORD" }, \
    { "record-mode", "strict|live-on-miss|shadow", "what is not in it fails; is asked, and written to it (the default); all is asked, and compared" }

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
/* It did not end well; said on stderr, unless the turn is still under way or ended otherwise. */
bool agent_failed(const session *s, pawl_state *st);
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
/* Evaluate the file's `output` over the state of its run; NULL with err.code PAWL_OK: it has none. In s->mem. */
const pawl_value *session_output(session *s, pawl_state *st, pawl_err *err);
/* Say what was found in the file: one line each, "FILE:LINE:COLUMN: ...". Notes too, when `all`. */
void session_say_faults(const cli_call *c, const faults *f, bool all);

/* reader.c: where texts come from: the disk (FILE_BYTES_MAX), or what a run kept. */
pawl_code read_disk(arena *mem, const char *path, pawl_bytes *text, pawl_err *err);
pawl_code session_read(void *ctx, arena *mem, const char *from, const char *name, const char **path, pawl_bytes *text, pawl_err *err);
/* "a/b" + "../c" = "a/c"; `name` itself when it is in full. */
const char *path_beside(arena *mem, const char *from, const char *name);

#endif
