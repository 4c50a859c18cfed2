/* session.c - makes a machine and an engine from an agent file, or from the copy that a run keeps.
 *
 * Owns the session with all that it points to: arena, engine, plug-ins, evaluator. Called by the verbs on one thread; handlers and the watch run on
 * threads of the engine and read what session_open has set. Invariant: once there is an engine, it owns the machine. */
#include "app/anchor.h"
#include "app/run_settings.h"
#include "app/session.h"
#include "app/signers.h"
#include "app/transcript.h"
#include "effect/effect.h"
#include "history/current_state.h"
#include "host/open_questions.h"
#include "kernel/machine.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- what the loader asks ------------------------------------------------------------------------------ */

static const char *in_full(session *s, const char *path)
{
    buf b;
    const char *out;

    if (*path == '/' || s->folder == NULL)
        return path;
    buf_init(&b, NULL);
    buf_fmt(&b, "%s/%s", s->folder, path);
    out = b.failed ? NULL : arena_strdup(&s->mem, b.data, b.size);
    buf_free(&b);
    return out != NULL ? path_beside(&s->mem, NULL, out) : NULL;
}

static pawl_code open_plugin(void *ctx, const char *from, const char *name, pawl_err *err)
{
    session *s = ctx;
    const char *beside = path_beside(&s->mem, from, name), *path = beside != NULL ? in_full(s, beside) : NULL;

    return path != NULL ? plugin_load(&s->plugins, &s->mem, path, err) : fail(err, PAWL_NOMEM, "%s: no memory", name);
}

static bool has_kind(void *ctx, const char *kind, pawl_class *cls)
{
    const session *s = ctx;
    const plugin_handler *h = plugin_kind(s->plugins, kind);

    if (h != NULL)
        *cls = h->cls;
    return h != NULL;
}

typedef struct expression_check { void (*tell)(void *to, size_t number, const char *text); void *to; } expression_check;

static void compiled(void *ctx, size_t index, const char *text)
{
    const expression_check *k = ctx;

    k->tell(k->to, index, text);
}

/* Expressions of a run's copy were compiled when the run started: they are not compiled before they are needed. */
static pawl_code compile(void *ctx, expression *const *all, size_t n, void (*tell)(void *to, size_t number, const char *text), void *to, pawl_err *err)
{
    session *s = ctx;
    const char **texts = arena_get(&s->mem, n * sizeof *texts);
    expression_check k = { tell, to };

    for (size_t i = 0; texts != NULL && i < n; i++)
        texts[i] = all[i]->text;
    if (texts == NULL || (s->jq = jq_open(texts, n)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for expressions");
    return s->kept != NULL ? PAWL_OK : jq_check(s->jq, compiled, &k, err);
}

/* ---- of a file --------------------------------------------------------------------------------------------- */

session *session_new(const app_caller *caller)
{
    session *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->caller = caller;
    s->toolset = TOOLSET_NOW;
    s->retries = true;
    arena_init(&s->mem, NULL, 16384);
    faults_init(&s->faults, &s->mem);
    return s;
}

static bool working_folder(session *s)
{
    char here[4096];

    if (s->folder != NULL)
        return true;
    if (getcwd(here, sizeof here) == NULL)
        return false;
    s->folder = arena_text(&s->mem, here);
    return s->folder != NULL;
}

static bool is_plugin(const char *path)
{
    size_t n = strlen(path);

    return n > 3 && strcmp(path + n - 3, ".so") == 0;
}

static pawl_code load_plugin(session *s, const char *path, pawl_err *err)
{
    pawl_code rc;

    if ((s->path = in_full(s, path)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory", path);
    if ((rc = plugin_load(&s->plugins, &s->mem, s->path, err)) != PAWL_OK)
        return rc;
    s->machine = s->plugins->machine;
    s->plugins->machine = NULL;
    return s->machine != NULL ? PAWL_OK : fail(err, PAWL_INVALID, "%s: it gives no machine: name it in the `plugins` of an agent file", path);
}

static pawl_code load_file(session *s, const char *path, pawl_err *err)
{
    const file_reader reader = { .read = session_read, .plugin = open_plugin, .kind = has_kind, .tool = session_tool, .compile = compile,
                                 .kept = s->kept != NULL, .retries = s->retries, .ctx = s };
    const char *same;
    pawl_bytes text;
    pawl_code rc;

    s->evaluator = "";
    s->path = path;
    if ((rc = session_read(s, &s->mem, NULL, path, &same, &text, err)) != PAWL_OK)
        return rc;              /* an error without line and column */
    s->first = text;
    s->file = file_load(&s->mem, path, &reader, &s->faults);
    s->of = s->file;
    if (s->file != NULL && s->faults.count == 0 && s->file->njq > 0)
        s->evaluator = jq_engine(s->jq, err);
    if (err->code != PAWL_OK)
        return err->code;
    if (s->file != NULL && s->faults.count == 0)
        s->machine = file_machine(s->file, s->evaluator, &s->faults, err);
    if (s->mem.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory", path);
    return s->machine != NULL ? PAWL_OK : PAWL_INVALID;
}

pawl_code session_load(session *s, const char *path, pawl_err *err)
{
    if (!working_folder(s))
        return fail(err, PAWL_IO, "the current folder was removed");
    return is_plugin(path) ? load_plugin(s, path, err) : load_file(s, path, err);
}

bool session_text(session *s, pawl_bytes text)
{
    const char *copy = arena_strdup(&s->mem, text.data, text.size);

    if (copy != NULL)
        s->first = (pawl_bytes){ copy, text.size };
    return copy != NULL;
}

pawl_machine *session_machine_again(session *s, pawl_err *err)
{
    return file_machine(s->file, s->evaluator, &s->faults, err);
}

void session_free(session *s)
{
    if (s == NULL)
        return;
    if (s->engine != NULL)
        pawl_engine_free(s->engine);
    else
        pawl_machine_free(s->machine);
    transcript_free(s->transcripts);
    anchor_close(s->anchor);            /* after the engine, which anchors what it releases */
    logging_close(&s->log);
    session_models_free(s);
    pawl_tools_free(s->tools);
    jq_close(s->jq);
    plugins_close(s->plugins);
    arena_free(&s->mem);
    free(s->kept);
    free(s);
}

/* ---- an engine ------------------------------------------------------------------------------------------------- */

/* `{given: TOKEN}` is PAWL_SECRET_TOKEN in the environment of the program. */
static const char *given_secret(void *ctx, const char *name)
{
    char variable[160];

    (void)ctx;
    snprintf(variable, sizeof variable, "PAWL_SECRET_%s", name);
    return variable_name_valid(name) ? getenv(variable) : NULL;
}

static void notify_watch(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    session *s = ctx;

    if (s->log.level != LOG_OFF)
        logging_entry(&s->log, st, entry);
    if (s->transcripts != NULL)
        transcript_entry(s->transcripts, st, entry);
    if (s->watch != NULL)
        s->watch(s->watch_ctx, st, entry);
}

/* A snapshot that no entry names is no news in a store of an older version; one that is not the stored one is. */
void session_notice(void *ctx, const char *run, pawl_code code, const char *text)
{
    session *s = ctx;

    if (s->noticed && strcmp(run, s->run) == 0)
        return;
    s->noticed = s->noticed || strcmp(run, s->run) == 0;
    if (code == PAWL_CORRUPT)
        app_note(s->caller, "%s: %s; the journal is read instead, and `pawl replay %s --verify` checks it", run, text, run);
    logging_line(&s->log, code == PAWL_CORRUPT ? LOG_ERROR : LOG_WARN, run, code == PAWL_CORRUPT ? "snapshot-forged" : "snapshot-unnamed", text);
}

void session_watch(session *s, pawl_watch_fn *fn, void *ctx)
{
    s->watch = fn;
    s->watch_ctx = ctx;
    pawl_engine_watch(s->engine, notify_watch, s);
}

pawl_code session_open(session *s, pawl_store *store, pawl_err *err)
{
    pawl_err why = {0};

    s->engine = pawl_engine_new(s->machine, store, &why);
    if (s->engine == NULL) {
        s->machine = NULL;          /* it was taken */
        return fail(err, why.code < 0 ? why.code : PAWL_NOMEM, "%s", why.text);
    }
    pawl_engine_threads(s->engine, session_threads());
    if (logging_open(&s->log, err) != PAWL_OK)
        return err->code;
    if ((s->transcripts = session_transcripts(s)) != NULL || s->log.level != LOG_OFF)
        pawl_engine_watch(s->engine, notify_watch, s);
    pawl_engine_notice(s->engine, session_notice, s);
    pawl_engine_secret(s->engine, given_secret, NULL);
    if (anchor_open(s->caller, &s->anchor, err) != PAWL_OK ||
        (s->anchor != NULL && pawl_engine_anchor(s->engine, anchor_keep, s->anchor, err) != PAWL_OK))
        return err->code;
    pawl_engine_approvers(s->engine, signers_asked, NULL);
    return session_env_read(s, err) == PAWL_OK ? session_bind(s, err) : err->code;
}

pawl_engine *session_engine(session *s) { return s->engine; }
pawl_store *session_store(session *s) { return pawl_engine_store(s->engine); }
const pawl_machine *session_machine(const session *s) { return s->machine; }
const char *session_run(const session *s) { return s->run; }
bool session_has(const session *s, const char *channel) { return machine_channel_find(s->machine, "", channel) != NULL; }

void session_no(const session *s, const char *run, const pawl_wait *w, buf *out)
{
    const file_node *n = s->file != NULL && w->node != NULL ? file_node_find(s->file, w->node) : NULL;

    if (strcmp(run, s->run) != 0)
        return;
    if (n != NULL && n->no_waits)
        buf_text(out, "not now: it is asked again");
    else if (n != NULL && n->on_no.name != NULL)
        buf_fmt(out, "goes on at %s", n->on_no.name);
    else
        buf_text(out, session_is_agent(s) && w->about != NULL ? agent_no(s) : "the run ends rejected");
}

bool session_fails_at(const session *s, const char *node)
{
    const file_node *n = s->file != NULL && node != NULL ? file_node_find(s->file, node) : NULL;

    return n != NULL && n->kind == KIND_FAIL;
}

/* ---- of a run -------------------------------------------------------------------------------------------------------- */

static const char *text_kept(session *s, pawl_state *st, const char *name)
{
    const char *text = pawl_value_string(kept_value(st, name));

    return arena_text(&s->mem, text);
}

/* A run of a plug-in has its path as a label. */
#define PLUGIN_LABEL "plugin="

static const char *plugin_label(arena *mem, pawl_state *st)
{
    pawl_step *step = pawl_step_new(NULL);
    pawl_run_info info;
    const char *path = NULL;

    if (step != NULL && pawl_state_info(st, step, &info, NULL) == PAWL_OK)
        for (size_t i = 0; i < sizeof info.labels / sizeof *info.labels && path == NULL; i++)
            if (info.labels[i] != NULL && strncmp(info.labels[i], PLUGIN_LABEL, sizeof PLUGIN_LABEL - 1) == 0)
                path = arena_text(mem, info.labels[i] + sizeof PLUGIN_LABEL - 1);
    pawl_step_free(step);
    return path;
}

typedef struct origin_look { pawl_status status; char run[ASKS_RUN_BYTES]; bool file, plugin, known; } origin_look;

static bool see_origin(void *ctx, const pawl_head *head)
{
    origin_look *l = ctx;

    snprintf(l->run, sizeof l->run, "%s", head->run);
    l->status = (pawl_status)head->status;
    return true;
}

/* The base of a fork, and of a pruned journal, has the values of its channels. */
static bool see_origin_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    origin_look *l = ctx;
    const pawl_value *base, *labels;
    arena mem;

    (void)seq;
    if (kind != PAWL_LINE_BASE)
        return false;
    arena_init(&mem, NULL, 4096);
    base = value_parse(&mem, line.data, line.size, "a base", NULL);
    labels = pawl_value_get(base, "labels");
    l->known = base == NULL || pawl_value_find(base, "/fold/values") != NULL;
    l->file = base == NULL || pawl_value_find(base, "/fold/values/@file") != NULL;
    for (size_t i = 0; i < pawl_value_size(labels); i++) {
        const char *label = pawl_value_string(pawl_value_at(labels, i));

        l->plugin = l->plugin || (label != NULL && strncmp(label, PLUGIN_LABEL, sizeof PLUGIN_LABEL - 1) == 0);
    }
    arena_free(&mem);
    return false;
}

/* Whether its start wrote "@file". */
static bool started_by_file(pawl_store *store, const char *run)
{
    const pawl_stream_options from = { .kinds = PAWL_STREAM_UPDATES };
    pawl_stream *r = pawl_stream_open(NULL, store, run, &from, NULL);
    pawl_stream_event ev;
    const pawl_value *one;
    bool found = false;
    pawl_iter it;
    arena mem;

    arena_init(&mem, NULL, 4096);
    if (r != NULL && pawl_stream_next(r, &ev, NULL) == PAWL_OK && strcmp(ev.name, "start") == 0) {
        it = pawl_iter_of(value_parse(&mem, ev.json, strlen(ev.json), "a start", NULL));
        while ((one = pawl_iter_next(&it, NULL)) != NULL && !found)
            found = pawl_value_string(pawl_value_at(one, 0)) != NULL && strcmp(pawl_value_string(pawl_value_at(one, 0)), "@file") == 0;
    }
    pawl_stream_close(r);
    arena_free(&mem);
    return found;
}

bool run_of_program(pawl_store *store, const char *run)
{
    origin_look l = { .status = PAWL_STATUS_SUBMITTED };

    if (asks_climb(store, run, see_origin, &l, NULL) != PAWL_OK || l.status == PAWL_STATUS_SUBMITTED ||
        store->verbs->load(store, l.run, see_origin_base, &l, NULL) != PAWL_OK || l.plugin || l.file)
        return false;
    return l.known || !started_by_file(store, l.run);
}

static pawl_code kept_of(session *s, pawl_state *st, const char **main, pawl_err *err)
{
    const pawl_value *kept = kept_value(st, "@file");
    size_t bytes;

    s->folder = text_kept(s, st, "@cwd");
    if (kept == NULL) {
        *main = plugin_label(&s->mem, st);
        if (*main == NULL && pawl_state_status(st) == PAWL_STATUS_SUBMITTED)
            return fail(err, PAWL_GONE, "%s: it was made, but its start was not stored: begin it again, and `pawl rm --force %s`", s->run, s->run);
        return *main != NULL ? PAWL_OK : fail(err, PAWL_GONE, "%s: a program began it, with a machine of its own, and only that program goes on with it; "
                                             "`pawl ls`, `inbox`, `log`, `export` and `rm` work without the machine", s->run);
    }
    bytes = value_block_bytes(kept);
    if ((s->kept = malloc(bytes)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory", s->run);
    value_copy_to(s->kept, kept);
    *main = pawl_value_string(pawl_value_get(s->kept, "main"));
    return *main != NULL ? PAWL_OK : fail(err, PAWL_CORRUPT, "%s: what it has kept of its agent file is damaged", s->run);
}

pawl_code session_upgrade(session *s, pawl_err *err)
{
    pawl_event adopt = { .kind = PAWL_EV_ADOPT }, update = { .kind = PAWL_EV_UPDATE, .by = "pawl" };
    pawl_code rc = pawl_event_send(s->engine, s->run, &adopt, err);
    buf b;

    if (rc < 0 || (s->upgraded = rc == PAWL_HALTED))
        return rc < 0 ? rc : PAWL_OK;
    buf_init(&b, NULL);
    if (session_upgraded(s, NULL, &b, err)) {
        buf_char(&b, '\0');
        update.value = b.data;
        rc = b.failed ? PAWL_NOMEM : pawl_event_send(s->engine, s->run, &update, err);
    } else {
        rc = err->code;
    }
    buf_free(&b);
    return rc < 0 ? rc : PAWL_OK;
}

/* A file in another folder than the run's: its path is made absolute, so that files it names are found later, too. */
static const char *other_file(session *s, const char *file)
{
    char here[4096];
    buf b;
    const char *out;

    if (*file == '/' || s->folder == NULL || getcwd(here, sizeof here) == NULL || strcmp(here, s->folder) == 0)
        return file;
    buf_init(&b, NULL);
    buf_fmt(&b, "%s/%s", here, file);
    out = b.failed ? NULL : arena_strdup(&s->mem, b.data, b.size);
    buf_free(&b);
    return out != NULL ? out : file;
}

pawl_code session_run_file(session *s, pawl_state *st, const char *other, const char **path, pawl_err *err)
{
    const pawl_value *made = pawl_value_get(kept_value(st, "@file"), "tools");

    s->toolset = pawl_value_type(made) == PAWL_TYPE_INT && pawl_value_int(made) > 0 && pawl_value_int(made) < TOOLSET_NOW ? (unsigned)pawl_value_int(made)
                 : made != NULL ? TOOLSET_NOW : TOOLSET_FIRST;
    s->retries = pawl_value_int(pawl_value_get(kept_value(st, "@file"), "retries")) > 0;
    if (other == NULL)
        return kept_of(s, st, path, err);
    *path = other;
    if ((s->folder = text_kept(s, st, "@cwd")) != NULL)
        *path = other_file(s, other);
    return PAWL_OK;
}

/* ---- what a run begins with --------------------------------------------------------------------------------------------- */

/* "tools": by which tools of the library its machine is made when it is loaded again; "retries": by which retries of requests, 1 or (absent) those of old. */
static const pawl_value *file_value(session *s)
{
    const pawl_value *files = value_pack(&s->mem, NULL, "{}");

    for (const file_source *src = s->file->sources; src != NULL && files != NULL; src = src->next)
        files = value_with(&s->mem, files, src->path, value_string(&s->mem, src->text.data, src->text.size));
    files = value_pack(&s->mem, NULL, "{s:v,s:s,s:i}", "files", files, "main", s->path, "tools", (int64_t)s->toolset);
    return s->retries ? value_with(&s->mem, files, "retries", value_int(&s->mem, 1)) : files;
}

static bool own_named(const pawl_value *input)
{
    pawl_iter it = pawl_iter_of(input);
    const pawl_value *key;

    while (pawl_iter_next(&it, &key) != NULL)
        if (key != NULL && pawl_value_string(key)[0] == '@')
            return true;
    return false;
}

/* With the channels by which a later process finds file and folder, and with those of an agent. NULL: see err. */
static const pawl_value *with_own(session *s, const pawl_value *v, pawl_err *err)
{
    if (s->file != NULL) {
        v = value_with(&s->mem, v, "@cwd", value_string(&s->mem, s->folder, strlen(s->folder)));
        v = value_with(&s->mem, v, "@file", file_value(s));
        v = session_agent_input(s, v, err);
    }
    return v;
}

static bool input_written(const pawl_value *v, buf *out, pawl_err *err)
{
    if (v == NULL) {
        if (err->code == PAWL_OK)
            fail(err, PAWL_NOMEM, "no memory for the input");
        return false;
    }
    canon(out, v);
    return !out->failed;
}

bool session_upgraded(session *s, const pawl_value *set, buf *out, pawl_err *err)
{
    return input_written(with_own(s, set != NULL ? set : value_pack(&s->mem, err, "{}"), err), out, err);
}

bool session_input(session *s, const pawl_value *input, pawl_mode mode, buf *out, pawl_err *err)
{
    const pawl_value *v = input != NULL ? input : value_pack(&s->mem, err, "{}");

    if (own_named(input)) {
        fail(err, PAWL_INVALID, "names that begin with @ are Pawl's own, and no input");
        return false;
    }
    v = with_own(s, v, err);
    if (s->policy != NULL)
        v = value_with(&s->mem, v, "@policy", s->policy);
    if (mode != PAWL_MODE_NONE && session_has(s, "@mode"))
        v = value_with(&s->mem, v, "@mode", value_string(&s->mem, pawl_mode_name(mode), strlen(pawl_mode_name(mode))));
    return input_written(v, out, err);
}
