/* bash.c - commands: those of the model, in a sandbox, also in the background; and tools that are programs.
 *
 * Called by call.c through the entry of the tool, on the thread of the job, which waits for the process. */
#define _XOPEN_SOURCE 700       /* realpath */
#include "effect/command_rules.h"
#include "effect/tool/bg_shell.h"
#include "net/net.h"
#include "policy/file_rules.h"
#include "policy/network.h"
#include "shell/shell.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BASH_MS = 120000,
    STDERR_BYTES = 2000,        /* of a tool that is a program, in its error */
    KEPT_BYTES = WHOLE_BYTES_MAX / 2 - 256  /* of the output's beginning, and of its end */
};

/* ---- the sandbox ------------------------------------------------------------------------------------------- */

static bool search_stops(void *ctx)
{
    tool_call *c = ctx;

    return job_canceled(c->job) || clock_ms() >= c->until_ms;
}

/* What rules deny, among the files that are there: a program may open them by any name, so that no reading of the command finds all. `reads`: nothing can
 * be written there, so that only what may not be read is of interest; what may not be read may not be edited either. */
static const denied_top *denied_of(tool_call *c, const roots *r, bool reads, size_t *n)
{
    const char *folders[ROOTS_MAX];
    const denied_shown shown = { folders, r->n };
    const file_use u = { .tool = reads ? "Read" : "Edit", .cls = reads ? PAWL_PERMISSION_READ : PAWL_PERMISSION_EDIT, .time_ms = epoch_ms() };
    const denied_top *out;
    bool cut;

    for (size_t i = 0; i < r->n; i++)
        folders[i] = r->all[i].real;
    out = denied_tops_find(&c->mem, c->job->policy, &u, &shown, search_stops, c, n, &cut);
    if (cut && out != NULL)
        snprintf(c->note, sizeof c->note, "the rules deny more files than its sandbox keeps from a command (DENIED_TOPS_MAX, %d): deny their folders",
                 DENIED_TOPS_MAX);
    return out;
}

/* Only below a root, because a path that is listed here becomes visible. */
static void read_only_add(sandbox_folder *out, sandbox_ask *ask, size_t nroots, const char *path)
{
    bool below = false;

    for (size_t i = 0; i < nroots; i++) {
        const size_t n = strcmp(out[i].path, "/") == 0 ? 0 : strlen(out[i].path);

        if (strcmp(out[i].path, path) == 0) {
            out[i].read_only = true;
            return;
        }
        below = below || (strncmp(path, out[i].path, n) == 0 && path[n] == '/');
    }
    if (below)
        out[ask->n++] = (sandbox_folder){ path, true };
}

typedef struct own_places { tool_call *c; void *all; size_t n, cap; } own_places;

static bool own_place_add(void *ctx, const char *path)
{
    own_places *own = ctx;
    char real[PATH_MAX];

    if (realpath(path, real) != NULL && arena_room(&own->c->mem, &own->all, &own->cap, own->n, sizeof(const char *)))
        ((const char **)own->all)[own->n++] = arena_text(&own->c->mem, real);
    return !own->c->mem.failed;
}

/* The workspace, its further folders that exist, and what may not be edited in them, the files of the agent included; *covered: what may not be read. */
static bool folders_of(tool_call *c, const roots *r, sandbox_ask *ask)
{
    const bool reads = ask->kind == SANDBOX_READ_ONLY;
    size_t n;
    const denied_top *tops = denied_of(c, r, reads, &n);
    const char **covered = arena_get(&c->mem, (n + 1) * sizeof *covered);
    own_places own = { .c = c };
    sandbox_folder *out;

    if (!reads)
        file_own_places(c->job->policy, own_place_add, &own);
    out = arena_get(&c->mem, (r->n + n + own.n) * sizeof *out);
    if (tops == NULL || out == NULL || covered == NULL)
        return false;
    for (ask->n = 0; ask->n < r->n; ask->n++)
        out[ask->n] = (sandbox_folder){ r->all[ask->n].real, r->all[ask->n].read_only };
    for (size_t i = 0; i < n; i++)
        if (tops[i].read)
            covered[ask->ncovered++] = tops[i].path;
        else
            read_only_add(out, ask, r->n, tops[i].path);
    for (size_t i = 0; i < own.n; i++)
        read_only_add(out, ask, r->n, ((const char **)own.all)[i]);
    ask->folders = out;
    ask->covered = covered;
    return !c->mem.failed;
}

/* For people: the command runs without a sandbox. */
static pawl_code without(tool_call *c, sandbox_is is, const char *why)
{
    buf note;

    buf_init(&note, &c->r->alloc);
    if (is == SANDBOX_MISSING)
        buf_text(&note, "it ran without a sandbox: bwrap is not here; install bubblewrap");
    else
        buf_fmt(&note, "it ran without a sandbox: none can be made here: %.300s", why);
    if (!note.failed && note.size < sizeof c->note) {
        text_ascii(note.data, note.size);
        memcpy(c->note, note.data, note.size);
        c->note[note.size] = '\0';
    }
    buf_free(&note);
    return c->note[0] != '\0' ? PAWL_OK : tool_nomem(c);
}

static pawl_code refused(tool_call *c, sandbox_is is, const char *why)
{
    static const char otherwise[] = "or let commands run without one (PAWL_SANDBOX=preferred)";

    pawl_reply_untouched(c->r);
    if (is == SANDBOX_MISSING)
        return pawl_reply_fail(c->r, PAWL_DENIED, "%s: its commands run in a sandbox, and bwrap is not here: install bubblewrap, %s", c->job->effect,
                               otherwise);
    return pawl_reply_fail(c->r, PAWL_DENIED, "%s: its commands run in a sandbox, and none can be made here: %.160s; %s", c->job->effect, why, otherwise);
}

/* A command that only reads, as far as its text says, is run where it can only read: then a mistake about it writes nothing (P7). */
static bool only_reads(tool_call *c, bool *reads)
{
    const pawl_value *text = pawl_value_get(c->input, "command");
    shell *s = arena_get(&c->mem, sizeof *s);

    if (s != NULL)
        *reads = shell_only_reads(s, pawl_value_string(text), pawl_value_size(text));
    return s != NULL;
}

/* The words before the command; none without a sandbox. `ways`: whose rules about the network hold, as long as the sandbox. */
static pawl_code sandbox_of(tool_call *c, const roots *r, bool reads, const pawl_policy *ways, sandbox *in)
{
    const bool plan = tool_in_plan(c->job), off = c->sandbox->need == PAWL_SANDBOX_OFF;
    sandbox_ask ask = { .kind = plan || reads ? SANDBOX_READ_ONLY : SANDBOX_WORKSPACE, .hidden = off ? NULL : c->sandbox,
                        .keep = c->beside->keep, .policy = plan || reads ? NULL : ways };
    char why[SANDBOX_SAID_BYTES] = "";
    pawl_err err = {0};
    sandbox_is is;
    pawl_code rc;

    *in = (sandbox){ .inside = 0 };
    if (!plan && !reads && off)
        return PAWL_OK;
    if ((is = sandbox_try(ask.kind, why)) != SANDBOX_WORKS && plan)
        return sandbox_refuses(c->r, is, why);
    if (is != SANDBOX_WORKS)
        return c->sandbox->need == PAWL_SANDBOX_REQUIRED ? refused(c, is, why) : off ? PAWL_OK : without(c, is, why);
    if (!folders_of(c, r, &ask))
        return tool_nomem(c);
    if ((rc = sandbox_open(&c->mem, &ask, in, &err)) == PAWL_OK)
        return PAWL_OK;
    pawl_reply_untouched(c->r);
    return pawl_reply_fail(c->r, rc, "%s: %s", c->job->effect, err.text);
}

/* ---- bash ------------------------------------------------------------------------------------------------------ */

static const char *shell_program(void)
{
    static const char *const places[] = { "/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash" };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return "/bin/sh";
}

static bool argv_make(tool_call *c, arena *mem, process *p, const sandbox *in)
{
    const char *const own[] = { shell_program(), "-c", input_text(c, "command") };

    if ((p->argv = arena_zero(mem, (in->n + 4) * sizeof *p->argv)) == NULL)
        return false;
    for (size_t i = 0; i < in->n; i++)
        p->argv[i] = arena_text(mem, in->words[i]);
    p->third = in->inside;
    p->fourth = in->channel;
    p->groups = in->group.entries;
    p->ngroups = in->group.n;
    for (size_t i = 0; i < 3; i++)
        p->argv[in->n + i] = arena_text(mem, own[i]);
    return !mem->failed;
}

/* The reply: output, and how the command ended. */
static pawl_code ended(tool_call *c, process *p, int64_t limit_ms)
{
    buf *out = &c->out;
    size_t head = p->err_cut ? cut_end(p->out.data, p->out.size) : p->out.size, lost = p->err_cut ? cut_begin(p->err.data, p->err.size) : 0;
    const bool late = p->stopped == STOPPED_TIMEOUT, planned = p->stopped == STOPPED_PLAN, fine = p->stopped == STOPPED_NOT && p->status == 0;

    if (p->stopped == STOPPED_CANCEL)
        return pawl_reply_fail(c->r, PAWL_CANCELED, "%s: canceled", c->job->effect);
    if (p->out.failed || p->err.failed)
        return tool_nomem(c);
    if (late)
        buf_fmt(out, "Tool execution timed out: the command was ended after %lld ms%s\n", (long long)limit_ms, p->out.size > 0 ? "; it had written:" : "");
    else if (planned)
        buf_fmt(out, "the command was ended: the mode became plan, in which nothing is written%s\n", p->out.size > 0 ? "; it had written:" : "");
    else if (p->signal != 0)
        buf_fmt(out, "the command was ended by signal %d\n", p->signal);
    else if (p->status != 0)
        buf_fmt(out, "exit code %d\n", p->status);
    buf_put(out, p->out.data, head);
    if (p->err_cut) {
        const size_t before = out->size;

        c->lost = p->said - (head + p->err.size - lost);
        buf_fmt(out, "\n\n[... %llu bytes are left out here; only %d bytes of the beginning and of the end are kept ...]\n\n", (unsigned long long)c->lost,
                KEPT_BYTES);
        c->lost -= out->size - before;  /* this line is none of its output */
    }
    if (p->err.size > 0)
        buf_put(out, p->err.data + lost, p->err.size - lost);
    if (out->size == 0)
        buf_text(out, "(no output)");
    return tool_text(c, CUT_MIDDLE, !fine);
}

/* ---- what it writes, as it comes ---------------------------------------------------------------------------------- */

enum { PROGRESS_BYTES = 1 << 18, TORN_BYTES = 4 };     /* sent to readers of one call; of an incomplete character */

typedef struct progress {
    const pawl_job *job;
    buf text;
    char torn[TORN_BYTES];
    size_t ntorn, sent;
} progress;

/* A slow reader may miss some; the result has all of it. */
static void progress_heard(void *ctx, const char *data, size_t size)
{
    progress *p = ctx;
    const char *call = pawl_value_string(pawl_value_get(p->job->args, "call"));
    size_t whole;

    buf_reset(&p->text);
    buf_put(&p->text, p->torn, p->ntorn);
    buf_put(&p->text, data, size);
    if (p->text.failed || p->sent > PROGRESS_BYTES)
        return;
    whole = cut_end(p->text.data, p->text.size);
    p->ntorn = p->text.size - whole < TORN_BYTES ? p->text.size - whole : 0;
    memcpy(p->torn, p->text.data + whole, p->ntorn);
    if (whole == 0)
        return;
    text_ascii(p->text.data, whole);
    p->sent += whole;
    (void)pawl_job_say(p->job, &(pawl_delta){ .kind = PAWL_DELTA_TOOL_OUTPUT, .bytes = p->text.data, .size = whole, .id = call });
}

static pawl_code bash_run(tool_call *c, process *p, pawl_err *why)
{
    progress output = { .job = c->job };
    pawl_code rc;

    buf_init(&output.text, &c->r->alloc);
    if (c->job->say != NULL && pawl_value_string(pawl_value_get(c->job->args, "call")) != NULL) {
        p->heard = progress_heard;
        p->heard_ctx = &output;
    }
    rc = process_run(p, why);
    buf_free(&output.text);
    return rc;
}

/* What the program gives commands of this folder, in *env. PAWL_OK, or what was replied. */
static pawl_code env_beside(tool_call *c, const pawl_value **env)
{
    pawl_err err = {0};

    *env = c->beside->env != NULL ? c->beside->env(c->beside->ctx, &c->mem, c->cwd, &err) : NULL;
    return err.code == PAWL_OK ? PAWL_OK : pawl_reply_fail(c->r, err.code, "%s: %s", c->job->effect, err.text);
}

static pawl_code env_make(tool_call *c, arena *mem, bool reads, char ***out)
{
    const pawl_value *beside;
    const pawl_code rc = env_beside(c, &beside);

    if (rc != PAWL_OK)
        return rc;
    *out = reads ? env_reading(mem, c->sandbox, beside) : env_allowed(mem, c->sandbox, beside);
    return *out != NULL ? PAWL_OK : tool_nomem(c);
}

static pawl_code bash_in(tool_call *c, const roots *r, bool reads, const sandbox *in)
{
    const int64_t limit_ms = input_count(c, "timeout_ms", BASH_MS), began = clock_ms();
    process p = { .job = c->job, .cwd = r->all[0].real, .output_bytes = KEPT_BYTES, .joined = true,
                  .confined = true,       /* also without a sandbox: it is the model's command */
                  .until_plan = in->n == 0 || !(reads || tool_in_plan(c->job)) };
    int git[ROOTS_MAX];
    pawl_err why = {0};
    pawl_code rc;

    p.until_ms = job_until(c->job, limit_ms, &p.limit);
    if ((rc = env_make(c, &c->mem, reads, &p.envp)) != PAWL_OK)
        return rc;
    if (!argv_make(c, &c->mem, &p, in))
        return tool_nomem(c);
    buf_init(&p.out, &c->r->alloc);
    buf_init(&p.err, &c->r->alloc);
    for (size_t i = 0; i < r->n; i++)
        git[i] = git_guard_open(r->all[i].real);
    rc = bash_run(c, &p, &why);
    for (size_t i = 0; i < r->n; i++)
        if (git_guard_close(git[i]))
            snprintf(c->note, sizeof c->note, "%s", GIT_GUARD_NOTE);
    if (rc == PAWL_OK)
        rc = ended(c, &p, p.stopped == STOPPED_TIMEOUT && p.until_ms - began < limit_ms ? p.until_ms - began : limit_ms);
    else if (rc == PAWL_UNKNOWN || rc == PAWL_NOMEM)
        rc = pawl_reply_fail(c->r, rc, "%s", why.text);
    else
        rc = tool_error(c, "IO error: %s", why.text);
    buf_free(&p.err);
    buf_free(&p.out);
    return rc;
}

/* The shell gets copies of what it needs of the call. */
static pawl_code behind_fill(tool_call *c, const roots *r, bool reads, bg_start *b)
{
    const pawl_policy *rules = c->job->policy;
    pawl_err err = {0};
    pawl_code rc;

    if (pawl_policy_networks(rules) && (b->ways = policy_of_networks(rules, &err)) == NULL)
        return pawl_reply_fail(c->r, err.code, "%s: %s", c->job->effect, err.text);
    if ((rc = sandbox_of(c, r, reads, b->ways, &b->in)) != PAWL_OK)
        return rc;
    b->limit_ms = input_count(c, "timeout_ms", 0);
    b->writes = b->in.n == 0 || !(reads || tool_in_plan(c->job));
    b->p = (process){ .cwd = arena_text(&b->mem, r->all[0].real), .joined = true, .confined = true };
    if ((rc = env_make(c, &b->mem, reads, &b->p.envp)) != PAWL_OK)
        return rc;
    if (!argv_make(c, &b->mem, &b->p, &b->in))
        return tool_nomem(c);
    for (; b->ngit < r->n; b->ngit++)
        b->git[b->ngit] = git_guard_open(r->all[b->ngit].real);
    return PAWL_OK;
}

static pawl_code bash_behind(tool_call *c, const roots *r, bool reads)
{
    bg_start *b = bg_start_new();
    const pawl_code rc = b != NULL ? behind_fill(c, r, reads, b) : tool_nomem(c);

    if (rc == PAWL_OK)
        return bg_start_go(c, b);
    bg_start_drop(b);
    return rc;
}

pawl_code tool_bash(tool_call *c)
{
    char why[COMMAND_WHY_BYTES];
    bool reads = false;
    roots *r;
    pawl_code rc = PAWL_OK;
    sandbox in = { .inside = 0 };

    if (command_denied(c->job, pawl_value_get(c->input, "command"), c->cwd, false, why))
        return tool_error(c, "Permission denied: %s", why);
    if ((r = roots_open(c, &rc)) == NULL)
        return rc;
    if (!only_reads(c, &reads))
        rc = tool_nomem(c);
    else if (input_flag(c, "run_in_background"))
        rc = bash_behind(c, r, reads);
    else if ((rc = sandbox_of(c, r, reads, c->job->policy, &in)) == PAWL_OK)
        rc = bash_in(c, r, reads, &in);
    sandbox_close(&in);
    roots_close(r);
    return rc;
}

/* ---- a tool that is a program -------------------------------------------------------------------------------- */

static const pawl_value *args_of(tool_call *c, const pawl_value *beside)
{
    const pawl_value *run = value_pack(&c->mem, NULL, "[]"), *env = env_keyless(&c->mem, c->tool->env), *args;
    buf in;

    env = env_more(&c->mem, env, beside, c->tool->env);
    for (size_t i = 0; c->run[i] != NULL; i++)
        run = value_push(&c->mem, run, value_string(&c->mem, c->run[i], strlen(c->run[i])));
    buf_init(&in, &c->r->alloc);
    canon(&in, c->input);
    args = in.failed ? NULL
                     : value_pack(&c->mem, NULL, "{s:v,s:v,s:v,s:s,s:i,s:i}", "env", env, "run", run, "stdin",
                                  value_string(&c->mem, in.data, in.size), "cwd", c->cwd, "timeout_ms", (int64_t)c->tool->timeout_ms, "output_bytes",
                                  (int64_t)WHOLE_BYTES_MAX);
    buf_free(&in);
    return args;
}

/* The result of a program, from the reply of pawl_effect_command. */
static pawl_code program_ended(tool_call *c, const pawl_value *v)
{
    const char *out = pawl_value_string(pawl_value_get(v, "stdout")), *err = pawl_value_string(pawl_value_get(v, "stderr"));
    const size_t nout = pawl_value_size(pawl_value_get(v, "stdout")), nerr = pawl_value_size(pawl_value_get(v, "stderr"));
    const int64_t status = pawl_value_int(pawl_value_get(v, "status"));

    if (v == NULL)
        return tool_nomem(c);
    if (status != 0) {
        size_t from = nerr > STDERR_BYTES ? nerr - STDERR_BYTES : 0;

        from += err != NULL ? cut_begin(err + from, nerr - from) : 0;
        buf_fmt(&c->out, "exit code %lld\n", (long long)status);
        if (err != NULL)
            buf_put(&c->out, err + from, nerr - from);
        else
            buf_text(&c->out, "(its stderr is no text)");
        return tool_text(c, CUT_END, true);
    }
    if (out == NULL)
        return tool_error(c, "Invalid response: the output of %s is no text", c->tool->name);
    buf_put(&c->out, out, nout);
    if (pawl_value_bool(pawl_value_get(v, "cut")))
        buf_fmt(&c->out, "\n[more than %d bytes: the rest is left out]", WHOLE_BYTES_MAX);
    return tool_text(c, CUT_END, false);
}

/* A program that runs unasked because it only reads is run where it can only read (P7). */
static pawl_code program_sandbox(tool_call *c, bool *inside)
{
    const bool plan = tool_in_plan(c->job), off = c->sandbox->need == PAWL_SANDBOX_OFF;
    char why[SANDBOX_SAID_BYTES] = "";
    sandbox_is is;

    *inside = plan || (c->tool->cls == PAWL_PERMISSION_READ && !off);
    if (!*inside || (is = sandbox_try(SANDBOX_READ_ONLY, why)) == SANDBOX_WORKS)
        return PAWL_OK;
    *inside = false;
    return plan ? sandbox_refuses(c->r, is, why) : c->sandbox->need == PAWL_SANDBOX_REQUIRED ? refused(c, is, why) : without(c, is, why);
}

pawl_code tool_command(tool_call *c)
{
    pawl_job job = *c->job;
    const pawl_value *beside;
    pawl_reply reply;
    bool inside;
    pawl_code rc;

    if ((rc = program_sandbox(c, &inside)) != PAWL_OK || (rc = env_beside(c, &beside)) != PAWL_OK)
        return rc;
    if ((job.args = args_of(c, beside)) == NULL)
        return tool_nomem(c);
    job.later = NULL;           /* waits here, because the reply is converted afterwards */
    reply_init(&reply, &c->r->alloc);
    rc = inside ? sandbox_command(&job, &reply, (effect_codes){ 0 }) : command_until_plan(&job, &reply);
    if (rc == PAWL_OK) {
        rc = program_ended(c, value_parse(&c->mem, reply.text.data, reply.text.size, "reply", NULL));
    } else if (rc == PAWL_CANCELED || rc == PAWL_UNKNOWN || rc == PAWL_NOMEM) {
        rc = pawl_reply_fail(c->r, rc, "%s", reply_why(&reply));
    } else if (rc == PAWL_DENIED) {
        rc = tool_error(c, "%s", reply_why(&reply));
    } else {
        rc = tool_error(c, rc == PAWL_TIMEOUT ? "Tool execution timed out: %s" : "IO error: %s", reply_why(&reply));
    }
    reply_free(&reply);
    return rc;
}
