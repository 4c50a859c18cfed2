/* inbox.c - `pawl inbox`: the open waits of all runs, each with the command that answers it.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. The waits come from the index of the store; each that is
 * shown is compared with the entry that asked it (K11). */
#include "app/tokens.h"
#include "host/open_questions.h"
#include "cli/run_driver.h"
#include "cli/verbs.h"
#include "cli/ui/format.h"
#include "history/index_check.h"
#include "pawl/policy.h"

#include <stdlib.h>

enum { INBOX_LIMIT = 50, INBOX_LIMIT_MAX = 1000000, INBOX_READ_MAX = 1000000, PROMPT_COLUMNS_MAX = 1000 };

typedef struct inbox_question {
    const char *run, *id, *task, *kind, *slot, *signal, *of, *how, *no;     /* no: how to deny it; NULL: it is no approval */
    const pawl_value *spec;
    const pawl_value *element;          /* of the fan-out that its task is of; NULL: of none */
    const pawl_value *signed_by;        /* of a wait that names approvers; NULL: nobody yet */
    int64_t asked_ms, expires_ms;       /* expires_ms INT64_MAX: never */
    int risk;
    size_t place;               /* order in which they were found: oldest runs first */
    bool alone;                 /* the only wait of its run */
    bool of_program;            /* a program began its run, and only that program goes on with it: how and no are NULL */
    bool looked, checked;       /* its run was loaded; its entry asked it */
    bool unknown;               /* it asks for the outcome of a command that was cut off */
} inbox_question;

typedef struct inbox {
    cli_call *c;
    inbox_question *all;
    size_t n, cap, limit;
    bool more;
    bool idle;                  /* include runs that only wait for their next input */
} inbox;

/* ---- what is asked ------------------------------------------------------------------------------ */

/* The task in RUN~LIFE/SUPERSTEP.TASK.VISIT.N. */
static const char *task_of(arena *a, const char *id)
{
    const char *slash = strchr(id, '/'), *dot = slash == NULL ? NULL : strchr(slash, '.'), *end = id + strlen(id);

    for (int i = 0; i < 2 && dot != NULL; i++)
        do
            end--;
        while (end > dot && *end != '.');
    return dot == NULL || end <= dot + 1 ? "" : arena_strdup(a, dot + 1, (size_t)(end - dot - 1));
}

/* The harm that an approval could do: a command may do anything, a request leaves this machine, an edit stays on it. */
static int risk_of(const char *name)
{
    static const pawl_permission rising[] = { PAWL_PERMISSION_READ, PAWL_PERMISSION_EDIT, PAWL_PERMISSION_OTHER, PAWL_PERMISSION_NET, PAWL_PERMISSION_EXEC };

    for (int i = 4; i >= 0 && name != NULL; i--)
        if (strcmp(name, pawl_permission_name(rising[i])) == 0)
            return i + 1;
    return 0;
}

static int by_deadline(const void *a, const void *b)
{
    const inbox_question *x = a, *y = b;

    if (x->expires_ms != y->expires_ms)
        return x->expires_ms < y->expires_ms ? -1 : 1;
    if (x->risk != y->risk)
        return x->risk > y->risk ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static bool see(void *ctx, const char *run, const pawl_waiting *w)
{
    inbox *in = ctx;
    arena *a = &in->c->mem;
    inbox_question *it;

    if (w->answered)            /* it is answered, even if its worker has not taken the answer yet */
        return true;
    if (in->n == INBOX_READ_MAX) {
        in->more = true;
        if (strcmp(in->all[in->n - 1].run, run) == 0)
            in->all[in->n - 1].alone = false;
        return false;
    }
    if (!arena_room(a, (void **)&in->all, &in->cap, in->n, sizeof *in->all))
        return false;
    it = &in->all[in->n];
    *it = (inbox_question){ .asked_ms = w->asked_ms, .alone = true };
    it->run = arena_text(a, run);
    it->id = arena_text(a, w->id);
    it->spec = value_read(a, w->spec.data, w->spec.size, "a wait", NULL);
    if (a->failed)
        return false;
    it->task = task_of(a, it->id);
    it->kind = pawl_value_string(pawl_value_get(it->spec, "kind"));
    it->slot = pawl_value_string(pawl_value_get(it->spec, "slot"));
    it->signal = pawl_value_string(pawl_value_get(it->spec, "name"));
    it->of = pawl_value_string(pawl_value_get(it->spec, "of"));
    it->kind = it->kind == NULL ? "wait" : it->kind;
    if (strcmp(it->kind, "input") == 0 && !in->idle)
        return true;
    it->expires_ms = pawl_value_int(pawl_value_get(it->spec, "expires"));
    it->expires_ms = it->expires_ms > 0 ? it->expires_ms : INT64_MAX;
    it->risk = risk_of(pawl_value_string(pawl_value_get(pawl_value_get(it->spec, "about"), "risk")));
    it->place = in->n;
    if (in->n > 0 && strcmp(it[-1].run, it->run) == 0)
        it[-1].alone = it->alone = false;
    in->n++;
    return true;
}

/* ---- how it is answered --------------------------------------------------------------------------- */

static void shell_word(buf *out, const char *word)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/@+,=";

    buf_char(out, ' ');
    if (word[0] != '\0' && word[strspn(word, safe)] == '\0') {
        buf_text(out, word);
        return;
    }
    buf_char(out, '\'');
    for (; *word != '\0'; word++)
        if (*word == '\'')
            buf_word(out, "'\\''");
        else
            buf_char(out, *word);
    buf_char(out, '\'');
}

static const char *how_of(const inbox *in, const inbox_question *it, bool denied)
{
    const char *name = it->slot != NULL ? it->slot : it->id, *text;
    bool approval = strcmp(it->kind, "approval") == 0, signal = strcmp(it->kind, "signal") == 0;
    bool input = strcmp(it->kind, "input") == 0;
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, approval && denied ? "pawl deny" : approval ? "pawl approve" : signal || input ? "pawl send" : "pawl answer");
    shell_word(&b, it->run);
    if (!it->alone && !signal && !input)
        shell_word(&b, name);
    if (!approval)
        buf_word(&b, input && strcmp(it->task, "@") == 0 ? " TEXT" : signal || input ? " JSON" : " VALUE");
    if (signal && it->signal != NULL) {
        buf_word(&b, " --signal");
        shell_word(&b, it->signal);
    }
    if (in->c->store_url != NULL) {
        buf_word(&b, " --store");
        shell_word(&b, in->c->store_url);
    }
    text = b.failed ? NULL : arena_strdup(&in->c->mem, b.data, b.size);
    buf_free(&b);
    return text;
}

/* ---- as JSON, for people -------------------------------------------------------------------------------- */

static const pawl_value *json_of(arena *a, const inbox_question *it)
{
    static const char *const taken[][2] = { { "about", "about" }, { "approvers", "approvers" }, { "expires", "expires_ms" }, { "name", "name" }, { "of", "of" },
                                            { "options", "options" },
                                            { "otherwise", "otherwise" }, { "prompt", "prompt" }, { "schema", "schema" },
                                            { "slot", "slot" } };
    const pawl_value *v = value_pack(a, NULL, "{s:i,s:s,s:s,s:s,s:s}", "asked_ms", it->asked_ms, "id", it->id, "kind", it->kind, "run", it->run, "task",
                                     it->task);

    if (it->how != NULL)
        v = value_with(a, v, "answer", value_string(a, it->how, strlen(it->how)));
    if (it->element != NULL)
        v = value_with(a, v, "element", it->element);
    if (it->no != NULL)
        v = value_with(a, v, "deny", value_string(a, it->no, strlen(it->no)));
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        const pawl_value *one = pawl_value_get(it->spec, taken[i][0]);

        if (one != NULL)
            v = value_with(a, v, taken[i][1], one);
    }
    if (pawl_value_get(it->spec, "approvers") != NULL)
        v = value_with(a, v, "signed_by", signed_names(a, it->signed_by));
    return v;
}

static bool json_out(inbox *in)
{
    buf out;
    bool put;

    buf_init(&out, NULL);
    buf_fmt(&out, "{\"more\":%s,\"store\":", in->more ? "true" : "false");
    canon_string(&out, cli_store_name(in->c), strlen(cli_store_name(in->c)));
    buf_word(&out, ",\"waits\":[");
    for (size_t i = 0; i < in->n; i++) {
        const pawl_value *v = json_of(&in->c->mem, &in->all[i]);

        if (i > 0)
            buf_char(&out, ',');
        if (v == NULL)
            out.failed = true;
        else
            canon(&out, v);
    }
    buf_word(&out, "]}\n");
    put = cli_put(in->c, &out);
    buf_free(&out);
    return put;
}

static void options_out(buf *out, const pawl_value *options, size_t columns)
{
    pawl_iter it = pawl_iter_of(options);
    const pawl_value *one;
    buf text;

    if (pawl_value_size(options) == 0)
        return;
    buf_init(&text, NULL);
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        buf_text(&text, text.size == 0 ? "one of: " : ", ");
        words_option(&text, one, false);
    }
    buf_text(out, "  ");
    words_fit(out, text.data != NULL ? text.data : "", text.size, columns);
    buf_char(out, '\n');
    out->failed = out->failed || text.failed;
    buf_free(&text);
}

static void wait_out(const inbox *in, buf *out, const inbox_question *it, int64_t now_ms)
{
    const cli_call *c = in->c;
    size_t columns = c->out_tty ? (size_t)cli_columns(1) - 2 : PROMPT_COLUMNS_MAX;
    const pawl_value *prompt = pawl_value_get(it->spec, "prompt");
    const char *text = pawl_value_string(pawl_value_type(prompt) == PAWL_TYPE_STRING ? prompt : pawl_value_get(prompt, "text"));
    char ago[16], until[32];
    buf asked;

    cli_ago(ago, now_ms - it->asked_ms);
    buf_fmt(out, "%s%s%s  ", c->colour ? "\x1b[1m" : "", it->run, c->colour ? "\x1b[0m" : "");
    if (*it->task != '\0' && !words_own(it->task)) {
        words_task(out, it->task, it->element == NULL);
        if (it->element != NULL) {
            buf_char(out, ' ');
            words_element(out, it->element);
        }
        buf_text(out, ": ");
    }
    buf_fmt(out, "%s, asked %s ago", it->kind, ago);
    if (it->of != NULL) {
        buf_word(out, " of ");
        cli_clean(out, it->of, strlen(it->of));
    }
    if (it->expires_ms < INT64_MAX) {
        cli_time(until, it->expires_ms);
        buf_fmt(out, ", until %s", until);
    }
    buf_word(out, "\n");
    if (it->unknown) {
        buf_word(out, "  ");
        words_unknown(out, pawl_value_string(pawl_value_find(it->spec, "/about/tool")), prompt);
        buf_word(out, ": find out, and answer done, done:TEXT, failed:WHY or again\n");
        words_lines(out, pawl_value_string(pawl_value_find(prompt, "/known/detail")), "  ");
    } else if (prompt != NULL) {
        buf_word(out, "  ");
        buf_init(&asked, NULL);
        if (text != NULL)
            words_asked(&asked, text);
        if (text != NULL && !asked.failed)
            cli_cut(out, asked.data, asked.size, columns);
        else
            cli_short(out, prompt, columns);
        buf_free(&asked);
        buf_char(out, '\n');
    }
    words_about(out, pawl_value_get(it->spec, "about"), "  ");
    words_signers(out, pawl_value_get(it->spec, "approvers"), it->signed_by, "  ");
    words_questions(out, pawl_value_get(it->spec, "about"), "  ", columns);
    options_out(out, pawl_value_get(it->spec, "options"), columns);
    buf_word(out, "  ");
    if (it->how != NULL)
        cli_clean(out, it->how, strlen(it->how));
    else
        buf_fmt(out, "answered in the program that began %s; `pawl` has no machine for it", it->run);
    if (it->no != NULL) {
        buf_text(out, "\n  ");
        cli_clean(out, it->no, strlen(it->no));
    }
    buf_char(out, '\n');
}

static bool people_out(const inbox *in, int64_t now_ms)
{
    bool put;
    buf out;

    buf_init(&out, NULL);
    for (size_t i = 0; i < in->n; i++)
        wait_out(in, &out, &in->all[i], now_ms);
    put = cli_put(in->c, &out);
    buf_free(&out);
    if (in->n == 0)
        cli_note(in->c, "no open question in %s", cli_store_name(in->c));
    if (in->more)
        cli_note(in->c, "there are more: --limit N shows N of them");
    return put;
}

/* ---- the verb ------------------------------------------------------------------------------------------- */

static bool asks_outcome(const inbox_question *it)
{
    return pawl_value_find(it->spec, "/prompt/known") != NULL && pawl_value_get(it->spec, "about") == NULL;
}

/* The task has a number: it is one of several of its node. */
static bool is_numbered(const inbox_question *it) { return strchr(it->task, ':') != NULL; }

/* Its element, who has signed, and of a command that was cut off its name and arguments, are read from its run. */
static void more_find(arena *mem, pawl_store *s, inbox_question *it, const asks *all)
{
    const pawl_wait *w = NULL;
    const pawl_value *about;

    for (size_t k = 0; k < all->n; k++)
        if (strcmp(all->all[k].w.id, it->id) == 0)
            w = &all->all[k].w;
    if (w != NULL && pawl_value_get(it->spec, "approvers") != NULL)
        it->signed_by = w->signed_by;
    if (w != NULL)
        it->element = w->element;
    if (!asks_outcome(it))
        return;
    it->unknown = true;
    about = w != NULL && w->about != NULL ? w->about : doubt_command(mem, s, it->run, it->id, it->task);
    if (about != NULL)
        it->spec = value_with(mem, it->spec, "about", about);
}

/* Runs that no command drives: no command is named for their waits. */
static void programs_find(inbox *in, pawl_store *s)
{
    for (size_t i = 0; i < in->n; i++)
        in->all[i].of_program = i > 0 && strcmp(in->all[i - 1].run, in->all[i].run) == 0 ? in->all[i - 1].of_program
                                                                                        : run_of_program(s, in->all[i].run);
}

static int by_run(const void *a, const void *b) { return strcmp((*(inbox_question *const *)a)->run, (*(inbox_question *const *)b)->run); }

/* A run is loaded once for all of its questions. */
static void runs_read(inbox *in, pawl_store *s)
{
    arena *mem = &in->c->mem;
    inbox_question **due = arena_get(mem, (in->n + 1) * sizeof *due);
    const char *run = NULL;
    asks all = { .n = 0 };
    size_t n = 0;

    for (size_t i = 0; due != NULL && i < in->n; i++)
        if (pawl_value_get(in->all[i].spec, "approvers") != NULL || asks_outcome(&in->all[i]) || is_numbered(&in->all[i]))
            due[n++] = &in->all[i];
    if (n > 1)
        qsort(due, n, sizeof *due, by_run);
    for (size_t i = 0; i < n; i++) {
        if ((run == NULL || strcmp(run, due[i]->run) != 0) && asks_read(s, mem, due[i]->run, &all, NULL) != PAWL_OK)
            all = (asks){ .n = 0 };
        run = due[i]->run;
        more_find(mem, s, due[i], &all);
    }
}

/* In a call for a server the caller sees nothing of other runs. The waits of a run follow one another. */
static pawl_code only_seen(inbox *in, pawl_store *s, pawl_err *err)
{
    const char *run = "";
    pawl_code rc = PAWL_OK;
    bool sees = false;
    size_t n = 0;

    if (in->c->who == NULL || !asker_limited(in->c->who))
        return PAWL_OK;
    for (size_t i = 0; i < in->n && rc == PAWL_OK; i++) {
        if (strcmp(run, in->all[i].run) != 0)
            rc = asker_sees(in->c->who, s, run = in->all[i].run, &sees, err);
        if (rc == PAWL_OK && sees)
            in->all[n++] = in->all[i];
    }
    in->n = rc == PAWL_OK ? n : 0;
    return rc;
}

typedef struct run_mark { inbox *in; const char *run; } run_mark;

static bool mark_checked(void *ctx, const char *run, const pawl_waiting *w)
{
    const run_mark *m = ctx;

    (void)run;
    for (size_t i = 0; i < m->in->n; i++)
        if (strcmp(m->in->all[i].run, m->run) == 0 && strcmp(m->in->all[i].id, w->id) == 0)
            m->in->all[i].checked = !w->answered;
    return true;
}

/* Compares the waits of the page with the entries that asked them (K11), and no others: a run is loaded when the first of its questions is to be shown.
 * What does not stand, or was answered meanwhile, is left out. *fault: of the first that does not stand. */
static pawl_code page_check(inbox *in, pawl_store *s, pawl_err *fault, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    size_t n = 0, i = 0;

    for (; i < in->n && n < in->limit && rc == PAWL_OK; i++) {
        const char *run = in->all[i].run;
        pawl_err why = { PAWL_OK, "" };

        if (!in->all[i].looked) {
            rc = waits_checked(s, run, mark_checked, &(run_mark){ in, run }, &why);
            for (size_t k = i; k < in->n; k++)
                in->all[k].looked = in->all[k].looked || strcmp(in->all[k].run, run) == 0;
        }
        if (rc == PAWL_CORRUPT && fault->code == PAWL_OK)
            *fault = why;
        if (rc == PAWL_CORRUPT || rc == PAWL_GONE)
            rc = PAWL_OK;
        else if (rc != PAWL_OK)
            fail(err, rc, "%s", why.text);
        if (in->all[i].checked)
            in->all[n++] = in->all[i];
    }
    in->more = in->more || i < in->n;
    in->n = n;
    return rc;
}

static int inbox_run(cli_call *c)
{
    inbox in = { .c = c };
    pawl_err err = { PAWL_OK, "" }, fault = { PAWL_OK, "" };
    int64_t now_ms;
    uint64_t limit;
    int code = EXIT_USAGE;
    pawl_store *s;
    pawl_code rc;

    if (!cli_number(c, "limit", 1, INBOX_LIMIT_MAX, INBOX_LIMIT, &limit) || (s = cli_store_of(c, NULL, NULL, &code)) == NULL)
        return code;
    in.limit = (size_t)limit;
    in.idle = cli_given(c, "all") != NULL;
    now_ms = s->verbs->now(s);
    rc = s->verbs->waits(s, NULL, see, &in, &err);
    if (rc == PAWL_OK)
        rc = only_seen(&in, s, &err);
    if (in.n > 1)
        qsort(in.all, in.n, sizeof *in.all, by_deadline);
    if (rc == PAWL_OK)
        rc = page_check(&in, s, &fault, &err);
    runs_read(&in, s);
    programs_find(&in, s);
    pawl_store_free(s);
    for (size_t i = 0; rc == PAWL_OK && i < in.n; i++)
        if (in.all[i].of_program)
            continue;
        else if ((in.all[i].how = how_of(&in, &in.all[i], false)) == NULL ||
            (strcmp(in.all[i].kind, "approval") == 0 && (in.all[i].no = how_of(&in, &in.all[i], true)) == NULL))
            c->mem.failed = true;
    if (rc == PAWL_OK && c->mem.failed)
        rc = fail(&err, PAWL_NOMEM, "no memory for what is asked");
    if (rc != PAWL_OK)
        return cli_fail(c, rc, &err);
    if (!(c->json ? json_out(&in) : people_out(&in, now_ms)))
        return EXIT_FAILED;
    if (fault.code != PAWL_OK)  /* the other waits are listed, and then the error */
        cli_note(c, "%s", fault.text);
    return fault.code == PAWL_OK ? EXIT_DONE : EXIT_FAILED;
}

static const cli_option options[] = {
    { "all", NULL, "also runs that only wait for their next input" },
    { "limit", "N", "maximum number of waits; 50" },
    { "json", NULL, "one JSON object" },
    { NULL, NULL, NULL },
};

const cli_verb verb_inbox = {
    .name = "inbox", .form = "", .what = "list the open questions of all runs", .options = options, .store = true,
    .run = inbox_run,
    .about = "Lists each open wait with its run, the node, the question, when it was asked and\n"
             "when it expires, and the command that answers it: first those that expire\n"
             "soonest, then the most harmful, then the oldest. A conversation that waits for\n"
             "its next input is listed only with --all.\n"
             "\n"
             "--json: {\"more\",\"store\",\"waits\":[{\"about\",\"answer\",\"approvers\",\"asked_ms\",\n"
             "\"deny\",\"element\",\"expires_ms\",\"id\",\"kind\",\"name\",\"of\",\"options\",\"otherwise\",\n"
             "\"prompt\",\"run\",\"schema\",\"signed_by\",\"slot\",\"task\"}]}.\n"
             "`answer` is the command, `deny` the one that says no; a run that a C program\n"
             "began has neither, since only that program goes on with it. `kind` is approval,\n"
             "question, input or signal; `name` is the name of the signal. Members without a\n"
             "value are omitted.",
    .example = "pawl inbox\npawl inbox --json | jq -r '.waits[].run'",
};
