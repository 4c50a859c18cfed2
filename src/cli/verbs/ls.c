/* ls.c - `pawl ls`: the runs of a store, a page at a time.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. For a working run the state is read, for the questions of its children. */
#include "app/tokens.h"
#include "cli/missing_secret.h"
#include "cli/run_list.h"
#include "cli/status_word.h"
#include "cli/store_place.h"
#include "cli/ui/format.h"
#include "cli/verbs.h"
#include "engine/run/owner.h"
#include "history/current_state.h"
#include "history/index_check.h"
#include "pawl/agent.h"

enum { LIST_LIMIT = 50, LIST_LIMIT_MAX = 1000000, STATUSES = PAWL_STATUS_REJECTED + 1 };
enum { RUN_COLUMNS_MAX = 40, MACHINE_COLUMNS_MAX = 24, NOTE_COLUMNS_MAX = 200, LINE_BYTES = 1024 };

typedef struct ls_row { const char *run, *machine, *status, *note; uint8_t code; bool waits; char age[16], changed[16]; } ls_row;

typedef struct ls_page {
    cli_call *c;
    const char *project, *store;        /* of --all; NULL, and the name of the store: of one store */
    size_t limit, n;            /* number of rows on the page */
    uint64_t last;              /* number of the last run shown */
    bool more;
    int64_t now_ms;
    buf out;                    /* JSON, or ids */
    arena mem;                  /* of one run */
    ls_row *rows;                  /* the table for people */
    size_t rows_cap;
    /* what the store does not filter by: the runs with an open question of a node, or with a text in it */
    const char **asking, **saying;
    size_t nasking, asking_cap, nsaying, saying_cap;
    pawl_store *store_of;       /* the handle, while a page is read */
    int64_t until_ms;           /* changed before; 0: any time */
    pawl_err blind;             /* why it is not known whether a run may be seen */
} ls_page;

/* ---- as JSON, as ids ---------------------------------------------------------------------------- */

static const pawl_value *with_text(arena *a, const pawl_value *v, const char *key, const char *text)
{
    return text == NULL ? v : value_with(a, v, key, value_string(a, text, strlen(text)));
}

static const pawl_value *with_int(arena *a, const pawl_value *v, const char *key, int64_t n)
{
    return n == 0 ? v : value_with(a, v, key, value_int(a, n));
}

/* It works, and nothing would wake it: perhaps a secret is missing. */
static bool idles(const pawl_head *h)
{
    return h->status == PAWL_STATUS_WORKING && !h->over && h->waits == 0;
}

/* The view of an agent whose request to the model is made again. The texts of *v are valid as long as *now, which the caller frees. */
static bool tries_again(ls_page *p, const pawl_head *h, current_state *now, pawl_agent_view *v)
{
    *now = (current_state){0};
    *v = (pawl_agent_view){0};
    return !h->over && h->wake_ms > 0 && (pawl_status)h->status == PAWL_STATUS_WORKING && current_state_load(now, p->store_of, h->run, NULL) == PAWL_OK &&
           pawl_agent_display(now->st, v, NULL) == PAWL_OK && v->again_ms > 0;
}

static void json_run(ls_page *p, const pawl_head *h)
{
    arena *a = &p->mem;
    pawl_agent_view again;
    current_state now;
    const pawl_value *v = value_pack(a, NULL, "{s:i,s:i,s:s,s:u,s:b,s:u,s:s,s:u}", "changed_ms", h->changed_ms, "created_ms",
                                     h->created_ms, "id", h->run, "no", h->no, "over", (int)h->over, "seq", h->seq, "status",
                                     pawl_status_name((pawl_status)h->status), "waits", (uint64_t)h->waits);

    if (run_is_idle(p->store_of, h))
        v = value_with(a, v, "idle", value_bool(a, true));
    if (tries_again(p, h, &now, &again))
        v = value_with(a, v, "again", again_json(a, &again));
    current_state_free(&now);
    v = with_text(a, v, "machine", h->machine);
    v = with_text(a, v, "context", h->context);
    v = with_text(a, v, "parent", h->parent);
    v = with_text(a, v, "parked", h->parked);
    if (idles(h) && h->lease_ms <= p->now_ms && h->wake_ms == 0)
        v = with_text(a, v, "waits_for", missing_secret_of(a, p->store_of, h->run));
    v = with_int(a, v, "mail", h->mail);
    v = with_int(a, v, "wake_ms", h->wake_ms);
    if (h->lease_ms > p->now_ms) {
        v = with_text(a, v, "owner", h->owner);
        v = with_int(a, v, "lease_ms", h->lease_ms);
    }
    if (p->n > 1)
        buf_char(&p->out, ',');
    if (v == NULL)
        p->out.failed = true;
    else
        canon(&p->out, v);
    arena_reset(a);
}

/* One store as an object. */
static void json_store(ls_page *p, buf *all)
{
    buf_char(all, '{');
    if (p->more)
        buf_fmt(all, "\"before\":%llu,", (unsigned long long)p->last);
    if (p->project != NULL) {
        buf_word(all, "\"project\":");
        canon_string(all, p->project, strlen(p->project));
        buf_char(all, ',');
    }
    buf_word(all, "\"runs\":[");
    buf_put(all, p->out.data, p->out.size);
    buf_word(all, "],\"store\":");
    canon_string(all, p->store, strlen(p->store));
    buf_char(all, '}');
    all->failed = all->failed || p->out.failed;
}

static bool json_end(ls_page *p)
{
    buf all;
    bool put;

    buf_init(&all, NULL);
    json_store(p, &all);
    buf_char(&all, '\n');
    put = cli_put(p->c, &all);
    buf_free(&all);
    return put;
}

/* ---- for people ------------------------------------------------------------------------------------ */

static const char *note_of(ls_page *p, const pawl_head *h)
{
    arena *a = &p->c->mem;
    current_state now = {0};
    pawl_agent_view again;
    char ago[16];
    const char *text;
    buf b;

    buf_init(&b, NULL);
    if (h->parked != NULL) {
        buf_fmt(&b, "parked: %s", h->parked);
    } else if (!h->over && owner_dead(h->owner)) {
        buf_fmt(&b, "it died; pawl resume %s", h->run);
    } else if (tries_again(p, h, &now, &again)) {
        buf_text(&b, "asks the model again ");
        words_again(&b, &again, p->now_ms, false);
    } else if (h->lease_ms > p->now_ms && h->owner != NULL) {
        buf_text(&b, "held by ");
        words_owner(&b, h->owner);
    } else if (!h->over && h->wake_ms > 0) {
        cli_ago(ago, h->wake_ms - p->now_ms);
        buf_fmt(&b, h->wake_ms > p->now_ms ? "timer in %s" : "timer is due", ago);
    } else if (h->mail > 0) {
        buf_fmt(&b, h->mail == 1 ? "%u delivery waits for it" : "%u deliveries wait for it", (unsigned)h->mail);
    } else if (idles(h) && (text = missing_secret_of(a, p->store_of, h->run)) != NULL) {
        buf_text(&b, text);
    }
    text = b.failed ? NULL : arena_strdup(a, b.size == 0 ? "" : b.data, b.size);
    buf_free(&b);
    current_state_free(&now);
    return text;
}

static bool row_of(ls_page *p, const pawl_head *h)
{
    arena *a = &p->c->mem;
    char status[64];
    ls_row *r;

    if (!arena_room(a, (void **)&p->rows, &p->rows_cap, p->n - 1, sizeof *p->rows))
        return false;
    r = &p->rows[p->n - 1];
    *r = (ls_row){ .code = h->status, .waits = h->waits > 0 };
    if (run_is_idle(p->store_of, h)) {
        *r = (ls_row){ .code = PAWL_STATUS_WORKING };
        snprintf(status, sizeof status, "idle");
    } else if (h->waits > 0) {
        snprintf(status, sizeof status, "%s, waits: %u", pawl_status_name((pawl_status)h->status), (unsigned)h->waits);
    } else {
        snprintf(status, sizeof status, "%s", pawl_status_name((pawl_status)h->status));
    }
    r->run = arena_text(a, h->run);
    r->status = arena_text(a, status);
    r->machine = h->machine == NULL ? "-" : arena_text(a, h->machine);
    r->note = note_of(p, h);
    cli_ago(r->age, p->now_ms - h->created_ms);
    cli_ago(r->changed, p->now_ms - h->changed_ms);
    return !a->failed && r->note != NULL;
}

static const char *colour_of(const ls_row *r)
{
    if (r->waits)
        return "\x1b[33m";
    switch ((pawl_status)r->code) {
    case PAWL_STATUS_COMPLETED: return "\x1b[32m";
    case PAWL_STATUS_FAILED: case PAWL_STATUS_REJECTED: return "\x1b[31m";
    case PAWL_STATUS_CANCELED: return "\x1b[2m";
    case PAWL_STATUS_INPUT_REQUIRED: return "\x1b[33m";
    case PAWL_STATUS_SUBMITTED: case PAWL_STATUS_WORKING: break;
    }
    return "\x1b[36m";
}

static void widen(size_t *width, const char *text, size_t most)
{
    size_t n = strlen(text);

    if (n > *width)
        *width = n > most ? most : n;
}

static void line_out(buf *out, const ls_page *p, const ls_row *r, const size_t width[5], size_t rest)
{
    cli_cell(out, r->run, width[0]);
    buf_word(out, "  ");
    if (p->c->colour && r->code < STATUSES)
        buf_text(out, colour_of(r));
    cli_cell(out, r->status, width[1]);
    if (p->c->colour && r->code < STATUSES)
        buf_word(out, "\x1b[0m");
    buf_word(out, "  ");
    cli_cell(out, r->machine, width[2]);
    buf_word(out, "  ");
    cli_cell(out, r->age, width[3]);
    buf_word(out, "  ");
    cli_cell(out, r->changed, width[4]);
    buf_word(out, "  ");
    cli_cut(out, r->note, strlen(r->note), rest);
    while (!out->failed && out->size > 0 && out->data[out->size - 1] == ' ')
        out->size--;
    buf_char(out, '\n');
}

static bool table_out(ls_page *p)
{
    static const ls_row head = { .run = "RUN", .status = "STATUS", .machine = "MACHINE", .note = "", .age = "BEGUN", .changed = "CHANGED", .code = STATUSES };
    size_t width[5] = { 3, 6, 7, 5, 7 }, used = 10, columns = p->c->out_tty ? (size_t)cli_columns(1) : NOTE_COLUMNS_MAX + 100;
    bool put;
    buf out;

    for (size_t i = 0; i < p->n; i++) {
        widen(&width[0], p->rows[i].run, p->c->out_tty ? RUN_COLUMNS_MAX : RUN_ID_BYTES);
        widen(&width[1], p->rows[i].status, 40);
        widen(&width[2], p->rows[i].machine, p->c->out_tty ? MACHINE_COLUMNS_MAX : 64);
        widen(&width[3], p->rows[i].age, 15);
        widen(&width[4], p->rows[i].changed, 15);
    }
    for (size_t i = 0; i < 5; i++)
        used += width[i];
    buf_init(&out, NULL);
    line_out(&out, p, &head, width, 0);
    for (size_t i = 0; i < p->n; i++)
        line_out(&out, p, &p->rows[i], width, columns > used + 8 ? columns - used : 8);
    put = cli_put(p->c, &out);
    buf_free(&out);
    return put;
}

/* ---- filters that the store does not have --------------------------------------------------------------- */

/* Whether `text` contains `part`; case is ignored. */
static bool holds(const char *text, size_t size, const char *part)
{
    const size_t n = strlen(part);

    for (size_t i = 0; text != NULL && i + n <= size; i++) {
        size_t k = 0;

        while (k < n && (text[i + k] | (text[i + k] >= 'A' && text[i + k] <= 'Z' ? 0x20 : 0)) == (part[k] | (part[k] >= 'A' && part[k] <= 'Z' ? 0x20 : 0)))
            k++;
        if (k == n)
            return true;
    }
    return false;
}

/* Whether the wait RUN~LIFE/SUPERSTEP.TASK.VISIT.N is one of this node. */
static bool of_node(const char *id, const char *node)
{
    const char *at = strchr(id, '/'), *end = id + strlen(id);

    at = at != NULL ? strchr(at, '.') : NULL;
    for (int i = 0; i < 2 && at != NULL; i++)
        do
            end--;
        while (end > at && *end != '.');
    if (at == NULL)
        return false;
    for (const char *slash = ++at; slash < end; slash++)        /* of a subgraph: its own node */
        at = *slash == '/' ? slash + 1 : at;
    return (size_t)(end - at) >= strlen(node) && strncmp(at, node, strlen(node)) == 0 &&
           (at + strlen(node) == end || at[strlen(node)] == ':');
}

static bool see_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    ls_page *p = ctx;
    const char *node = cli_given(p->c, "node"), *text = cli_given(p->c, "text");

    if (w->answered)
        return true;
    if (node != NULL && of_node(w->id, node) && arena_room(&p->c->mem, (void **)&p->asking, &p->asking_cap, p->nasking, sizeof *p->asking))
        p->asking[p->nasking++] = arena_text(&p->c->mem, run);
    if (text != NULL && holds(w->spec.data, w->spec.size, text) &&
        arena_room(&p->c->mem, (void **)&p->saying, &p->saying_cap, p->nsaying, sizeof *p->saying))
        p->saying[p->nsaying++] = arena_text(&p->c->mem, run);
    return !p->c->mem.failed;
}

static bool among(const char *const *runs, size_t n, const char *run)
{
    bool found = false;

    for (size_t i = 0; i < n && !found; i++)
        found = strcmp(runs[i], run) == 0;
    return found;
}

/* In a call for a server the caller sees nothing of other runs. */
static bool is_seen(ls_page *p, const pawl_head *h)
{
    bool sees = true;

    if (p->c->who == NULL || !asker_limited(p->c->who))
        return true;
    if (p->blind.code != PAWL_OK || asker_sees_head(p->c->who, p->store_of, h, &sees, &p->blind) != PAWL_OK)
        p->out.failed = true;
    return sees && !p->out.failed;
}

static bool passes(const ls_page *p, const pawl_head *h)
{
    const char *text = cli_given(p->c, "text"), *const in[] = { h->run, h->machine, h->context, h->parked, h->parent };
    bool found = text == NULL || among(p->saying, p->nsaying, h->run);

    for (size_t i = 0; i < sizeof in / sizeof *in && !found; i++)
        found = in[i] != NULL && holds(in[i], strlen(in[i]), text);
    return found && (p->until_ms == 0 || h->changed_ms <= p->until_ms) &&
           (cli_given(p->c, "node") == NULL || among(p->asking, p->nasking, h->run));
}

/* ---- the verb ---------------------------------------------------------------------------------------- */

static bool want(void *ctx, const pawl_head *h) { return passes(ctx, h) && is_seen(ctx, h); }

static bool see(void *ctx, const pawl_head *h)
{
    ls_page *p = ctx;

    if (p->n == p->limit) {
        p->more = true;
        return false;
    }
    p->n++;
    p->last = h->no;
    if (cli_given(p->c, "ids") != NULL) {
        cli_clean(&p->out, h->run, strlen(h->run));
        buf_char(&p->out, '\n');
    } else if (p->c->json) {
        json_run(p, h);
    } else if (!row_of(p, h)) {
        p->out.failed = true;
    }
    return !p->out.failed;
}

static bool status_of(const cli_call *c, int *status)
{
    const char *given = cli_given(c, "status"), *names[STATUSES];
    char near[96];

    for (int i = 0; i < STATUSES; i++)
        names[i] = pawl_status_name((pawl_status)i);
    *status = 0;
    for (int i = 0; given != NULL && i < STATUSES; i++)
        if (strcmp(given, names[i]) == 0)
            *status = 1 + i;
    if (given == NULL || *status != 0)
        return true;
    did_you_mean(near, sizeof near, given, names, STATUSES);
    cli_usage(c, "--status %s: no such status%s; there are submitted, working, input-required, completed, failed, canceled, rejected",
              given, near);
    return false;
}

static bool filter_of(const cli_call *c, pawl_filter *f, uint64_t *limit, int64_t *since_ms)
{
    const char *since = cli_given(c, "since"), *until = cli_given(c, "until");
    int64_t ms;

    *since_ms = 0;
    if (until != NULL && !cli_duration(until, &ms)) {
        cli_usage(c, "--until %s: not a time such as 90s, 10m, 2h or 7d", until);
        return false;
    }
    if (since != NULL && !cli_duration(since, since_ms)) {
        cli_usage(c, "--since %s: not a time such as 90s, 10m, 2h or 7d", since);
        return false;
    }
    f->machine = cli_given(c, "machine");
    f->context = cli_given(c, "context");
    f->label = cli_given(c, "label");
    f->waiting = cli_given(c, "waiting") != NULL;
    f->parked = cli_given(c, "parked") != NULL;
    return status_of(c, &f->status) && cli_number(c, "before", 1, INT64_MAX, 0, &f->before) &&
           cli_number(c, "limit", 1, LIST_LIMIT_MAX, LIST_LIMIT, limit);
}

static bool page_out(ls_page *p)
{
    cli_call *c = p->c;

    if (cli_given(c, "ids") != NULL)
        return cli_put(c, &p->out);
    if (c->json)
        return json_end(p);
    if (p->n == 0)
        cli_note(c, "no such run in %s", cli_store_name(c));
    else if (!table_out(p))
        return false;
    if (p->more)
        cli_note(c, "there are more: --before %llu", (unsigned long long)p->last);
    return true;
}

/* Fills the page from a store. */
static pawl_code page_list(ls_page *p, pawl_store *s, pawl_filter *f, int64_t since_ms, pawl_err *err)
{
    const bool own = cli_given(p->c, "node") != NULL || cli_given(p->c, "text") != NULL;
    const bool all = own || (p->c->who != NULL && asker_limited(p->c->who));
    int64_t until_ms = 0;
    pawl_code rc;

    p->now_ms = s->verbs->now(s);
    p->store_of = s;
    f->limit = all || cli_given(p->c, "until") != NULL ? SIZE_MAX / 2 : p->limit + 1;
    if (cli_given(p->c, "until") != NULL && cli_duration(cli_given(p->c, "until"), &until_ms))
        p->until_ms = p->now_ms - until_ms;
    if (own && (rc = waits_checked(s, NULL, see_wait, p, err)) != PAWL_OK)
        return rc;
    f->changed_since_ms = cli_given(p->c, "since") == NULL ? 0 : p->now_ms - since_ms;
    rc = runs_listed(s, f, cli_given(p->c, "ids") != NULL, want, see, p, err);
    if (p->blind.code != PAWL_OK)
        return fail(err, p->blind.code, "%s", p->blind.text);
    return rc == PAWL_OK && p->out.failed ? fail(err, PAWL_NOMEM, "no memory for the list") : rc;
}

static void page_begin(ls_page *p)
{
    buf_init(&p->out, NULL);
    arena_init(&p->mem, NULL, 1024);
}

static void page_free(ls_page *p)
{
    arena_free(&p->mem);
    buf_free(&p->out);
}

/* ---- every project's ------------------------------------------------------------------------------------- */

typedef struct all_stores {
    cli_call *c;
    pawl_filter *f;
    uint64_t limit;
    int64_t since_ms;
    buf json;                   /* elements of "projects" */
    size_t stores;
    int code;
} all_stores;

static bool all_put(all_stores *all, ls_page *p)
{
    if (all->c->json) {
        if (all->stores > 1)
            buf_char(&all->json, ',');
        json_store(p, &all->json);
        return !all->json.failed;
    }
    if (cli_given(all->c, "ids") == NULL && p->n > 0) {
        buf head;
        bool put;

        buf_init(&head, NULL);
        buf_fmt(&head, "%s", all->stores > 1 ? "\n" : "");
        cli_clean(&head, p->project, strlen(p->project));
        buf_char(&head, '\n');
        put = cli_put(all->c, &head);
        buf_free(&head);
        if (!put)
            return false;
    }
    return p->n == 0 || page_out(p);
}

/* A store that cannot be opened is named, and hides no other. It is only read. */
static bool all_see(void *ctx, const char *project, const char *path)
{
    const pawl_sqlite reading = { .read_only = true };
    all_stores *all = ctx;
    ls_page p = { .c = all->c, .project = project, .store = path, .limit = (size_t)all->limit };
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, &reading, &err);
    bool on = true;

    if (s == NULL || (page_begin(&p), page_list(&p, s, all->f, all->since_ms, &err)) != PAWL_OK) {
        cli_note(all->c, "%s: %s", project, err.text);
        all->code = EXIT_STORE;
    } else {
        all->stores++;
        on = all_put(all, &p);
    }
    if (s != NULL)
        page_free(&p);
    pawl_store_free(s);
    return on;
}

static int all_run(cli_call *c, pawl_filter *f, uint64_t limit, int64_t since_ms)
{
    all_stores all = { .c = c, .f = f, .limit = limit, .since_ms = since_ms, .code = EXIT_DONE };
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc;

    if (c->store_url != NULL || cli_given(c, "before") != NULL)
        return cli_usage(c, "--all lists every store of yours: %s belongs to one of them", c->store_url != NULL ? "--store" : "--before");
    buf_init(&all.json, NULL);
    buf_word(&all.json, "{\"projects\":[");
    rc = store_places(&c->mem, all_see, &all, &err);
    buf_word(&all.json, "]}\n");
    if (rc != PAWL_OK)
        all.code = cli_fail(c, rc, &err);
    else if (c->json && !cli_put(c, &all.json))
        all.code = EXIT_FAILED;
    else if (!c->json && all.stores == 0 && all.code == EXIT_DONE)
        cli_note(c, "no project has a store yet; `pawl run FILE` makes one");
    buf_free(&all.json);
    return all.code;
}

static int ls_run(cli_call *c)
{
    ls_page p = { .c = c };
    pawl_filter f = { 0 };
    pawl_err err = { PAWL_OK, "" };
    uint64_t limit;
    int64_t since_ms;
    int code = EXIT_USAGE;
    pawl_store *s;
    pawl_code rc;

    if (!filter_of(c, &f, &limit, &since_ms))
        return code;
    if (cli_given(c, "all") != NULL)
        return all_run(c, &f, limit, since_ms);
    if ((s = cli_store_of(c, NULL, NULL, &code)) == NULL)
        return code;
    p.store = cli_store_name(c);
    p.limit = (size_t)limit;
    page_begin(&p);
    if ((rc = page_list(&p, s, &f, since_ms, &err)) != PAWL_OK)
        code = cli_fail(c, rc, &err);
    else
        code = page_out(&p) ? EXIT_DONE : EXIT_FAILED;
    page_free(&p);
    pawl_store_free(s);
    return code;
}

static const cli_option options[] = {
    { "status", "STATUS", "only this status: submitted, working, input-required, completed, failed, canceled, rejected" },
    { "machine", "NAME", "only runs of this machine" },
    { "context", "NAME", "only runs of this context" },
    { "label", "LABEL", "only runs that were begun with this label" },
    { "node", "NODE", "only runs in which this node asks or waits" },
    { "text", "TEXT", "only runs with this text in their id, machine, context or open questions; case is ignored" },
    { "waiting", NULL, "only runs with an open question" },
    { "parked", NULL, "only parked runs: no worker can drive them; with the reason" },
    { "since", "DURATION", "only runs that changed within this time: 90s, 10m, 2h, 7d" },
    { "until", "DURATION", "only runs that did not change within this time" },
    { "limit", "N", "runs of a page; 50" },
    { "before", "NO", "the page after the one that ended with this number" },
    { "all", NULL, "the runs of every project, from all stores of yours in the usual place" },
    { "ids", NULL, "only the ids, one a line" },
    { "json", NULL, "one JSON object" },
    { NULL, NULL, NULL },
};

const cli_verb verb_ls = {
    .name = "ls", .form = "", .what = "list runs, newest first", .options = options, .store = true, .run = ls_run,
    .about = "Shows each run with its status, the number of open waits, its machine, when it\n"
             "was started and changed, and why it is parked, that its process died, who holds\n"
             "it, or when its timer is due. The cost of a page does not depend on the number\n"
             "of runs. An agent that waits for its next message is idle: its status is\n"
             "input-required. A run that only waits for children with open questions is\n"
             "input-required, as they are, and their waits are included in its number. To find\n"
             "such runs, --waiting and --status input-required read all waiting runs that are\n"
             "newer than those shown.\n"
             "\n"
             "--json: {\"before\",\"runs\":[{\"again\",\"changed_ms\",\"context\",\"created_ms\",\"id\",\n"
             "\"idle\",\"lease_ms\",\"machine\",\"mail\",\"no\",\"over\",\"owner\",\"parent\",\"parked\",\n"
             "\"seq\",\"status\",\"waits\",\"waits_for\",\"wake_ms\"}],\"store\"}. `before` is present if\n"
             "there are more runs: the value for --before. Times are milliseconds since 1970;\n"
             "again (an agent makes a request to its model again), context, idle, lease_ms,\n"
             "mail, owner, parent, parked, waits_for (a missing secret) and wake_ms are\n"
             "omitted if they have no value. With --all:\n"
             "{\"projects\":[{...,\"project\"}]}, the same for each store; one that cannot be read\n"
             "is named on stderr, and the exit code is 5.",
    .example = "pawl ls --waiting               # who is asked something\n"
               "pawl ls --status failed --since 1d\n"
               "pawl ls --ids --status completed --limit 1000 | xargs pawl rm",
};
