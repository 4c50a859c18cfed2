/* table.c - the table of routes: what each is, needs and takes. Everything that is said of the routes (GET /, OpenAPI, docs) is made from it. Constant.
 *
 * A row that names a verb is that verb: parameters and members become its options, and no other option can be given. A write stores what it is told, and
 * drives nothing (--no-run): whoever drives the run takes it from there. */
#include "serve/serve_inner.h"

#define JSON "application/json"

/* ---- parameters of queries ----------------------------------------------------------------------------------------------- */

static const parameter none[] = { { .name = NULL } };
static const parameter ls_params[] = {
    { "status", MEMBER_TEXT, .what = "only this status: submitted, working, input-required, completed, failed, canceled, rejected" },
    { "machine", MEMBER_TEXT, .what = "only runs of this machine" },
    { "context", MEMBER_TEXT, .what = "only runs of this context" },
    { "label", MEMBER_TEXT, .what = "only runs that were begun with this label" },
    { "node", MEMBER_TEXT, .what = "only runs in which this node asks or waits" },
    { "text", MEMBER_TEXT, .what = "only runs with this text in their id, machine, context or open questions" },
    { "since", MEMBER_TEXT, .what = "only runs that changed within this time: 90s, 10m, 2h, 7d" },
    { "until", MEMBER_TEXT, .what = "only runs that did not change within this time" },
    { "limit", MEMBER_TEXT, .what = "runs of a page; 50" },
    { "before", MEMBER_TEXT, .what = "the page after the one that ended with this number" },
    { "waiting", MEMBER_FLAG, .what = "only runs with an open question" },
    { "parked", MEMBER_FLAG, .what = "only parked runs, with the reason" },
    { .name = NULL }
};
static const parameter show_params[] = {
    { "at", MEMBER_TEXT, .what = "the state at this entry" },
    { "wait", MEMBER_TEXT, .what = "seconds, 1 to 60: replies when the run has ended, has a wait without an answer, its own or a child's, or is parked, or after that time" },
    { .name = NULL }
};
static const parameter inbox_params[] = {
    { "limit", MEMBER_TEXT, .what = "maximum number of waits; 50" },
    { "all", MEMBER_FLAG, .what = "also runs that only wait for their next input" },
    { .name = NULL }
};
static const parameter log_params[] = { { "from", MEMBER_TEXT, .what = "the first entry" }, { .name = NULL } };
static const parameter draw_params[] = {
    { "format", MEMBER_TEXT, .what = "text, mermaid or dot" },     /* an svg would need a program, which takes its time */
    { "table", MEMBER_TEXT, .what = "as of `pawl draw`" },
    { .name = NULL }
};
static const parameter diff_params[] = { { "at-parting", MEMBER_FLAG, .what = "the states where the runs part, not their newest ones" }, { .name = NULL } };
static const parameter items_params[] = {
    { "from", MEMBER_TEXT, .what = "a cursor: changes after it" },
    { "kinds", MEMBER_TEXT, .what = "only these kinds, separated by commas" },
    { "limit", MEMBER_TEXT, .what = "changes of a page, 1 to 1000; 100" },
    { .name = NULL }
};
static const parameter run_events_params[] = {
    { "from", MEMBER_TEXT, .what = "a cursor: changes after it; the header Last-Event-ID is the same" },
    { "kinds", MEMBER_TEXT, .what = "only these kinds, separated by commas" },
    { "until", MEMBER_TEXT, .what = "`end`: the stream ends when its runs have" },
    { .name = NULL }
};
static const parameter events_params[] = {
    { "run", MEMBER_TEXT, .needed = true, .what = "a run to follow; may be given several times" },
    { "from", MEMBER_TEXT, .what = "cursors: changes after them; the header Last-Event-ID is the same" },
    { "kinds", MEMBER_TEXT, .what = "only these kinds, separated by commas" },
    { "until", MEMBER_TEXT, .what = "`end`: the stream ends when its runs have" },
    { .name = NULL }
};
static const parameter rm_params[] = { { "force", MEMBER_FLAG, .what = "also a run that is not over" }, { .name = NULL } };

/* ---- members of bodies ----------------------------------------------------------------------------------------------------- */

#define MEMBER_WAIT { "wait", MEMBER_ARG, .what = "the id of the wait, or the node that asks; needed if several are open; the id with an Idempotency-Key" }
#define MEMBER_REASON { "reason", MEMBER_TEXT, .what = "a note that is stored with it in the journal" }
#define MEMBER_CHANGES { "set", MEMBER_EACH, .what = "channels of the state to change with it" }
#define MEMBER_SIGNED { "signed", MEMBER_JSON, .what = "at a gate with approvers: the signed answer, as `pawl approve --sign` prints it" }

static const parameter answer_members[] = {
    MEMBER_WAIT,
    { "value", MEMBER_ARG, .needed = true, .what = "the answer: a text, or what the question's schema wants" },
    MEMBER_REASON, MEMBER_CHANGES, { .name = NULL }
};
static const parameter approve_members[] = {
    MEMBER_WAIT, MEMBER_REASON, MEMBER_CHANGES, MEMBER_SIGNED,
    { "input", MEMBER_JSON, .what = "approve with these arguments instead; the rules decide them, too" },
    { "always", MEMBER_TEXT, .scope = SCOPE_ADMIN, .what = "run or project: also approve every call that the same rules match" },
    { "for", MEMBER_TEXT, .scope = SCOPE_ADMIN, .what = "with always: for how long; 30d" },
    { .name = NULL }
};
static const parameter deny_members[] = { MEMBER_WAIT, MEMBER_REASON, MEMBER_CHANGES, MEMBER_SIGNED, { .name = NULL } };
static const parameter send_members[] = {
    { "signal", MEMBER_TEXT, .what = "the name of a signal; without it, input for the next turn" },
    { "input", MEMBER_ARG, .what = "the input: a text for an agent, an object of channels for a graph" },
    { "value", MEMBER_ARG_JSON, .what = "the value of the signal" },
    { .name = NULL }
};
static const parameter cancel_members[] = { MEMBER_REASON, { .name = NULL } };
static const parameter retry_members[] = {
    { "set", MEMBER_EACH, .what = "channels of the state to change first" },
    { "budget", MEMBER_BOUNDS, .scope = SCOPE_ADMIN, .what = "limits to change first: calls, tokens, money, time" },
    { .name = NULL }
};
static const parameter mode_members[] = {
    { "mode", MEMBER_ARG, .needed = true, .what = "plan, default, acceptEdits or bypassPermissions; not above that of the token" },
    { .name = NULL }
};
static const parameter fork_members[] = {
    { "at", MEMBER_COUNT, .what = "the last entry to copy; the newest" },
    { "set", MEMBER_EACH, .what = "channels of the new run to change" },
    { "mode", MEMBER_TEXT, .what = "the mode of the new run; not above that of the token" },
    { "id", MEMBER_TEXT, .what = "the id of the new run; for tokens without --machine and --label, and without an Idempotency-Key" },
    { .name = NULL }
};

static const parameter begin_members[] = {
    { "input", MEMBER_JSON, .what = "the first values of its channels, an object" },
    { "context", MEMBER_TEXT, .what = "the context of the run" },
    { "label", MEMBER_LIST, .what = "labels of the run, besides those of the token" },
    { "mode", MEMBER_TEXT, .what = "what nodes may do without approval; not above that of the token" },
    { "id", MEMBER_TEXT, .what = "the id of the run; for tokens without --machine and --label, and without an Idempotency-Key" },
    { .name = NULL }
};

/* ---- the table ---------------------------------------------------------------------------------------------------------------- */

static const char *const verified[] = { "--verify", "--json", NULL };
static const char *const json_only[] = { "--json", NULL }, *const left[] = { "--no-run", "--json", NULL }, *const nothing[] = { NULL };

#define READS(path_, verb_, params_, what_) \
    { "GET", path_, what_, SCOPE_READ, .verb = verb_, .given = json_only, .params = params_, .how = { .type = JSON, .fine = 1, .status = 200 } }
#define LEAVES(path_, scope_, verb_, members_, what_) \
    { "POST", path_, what_, scope_, .keyed = true, .verb = verb_, .given = left, .params = none, .members = members_, \
      .how = { .type = JSON, .fine = 1, .status = 202 } }

#define A2A_ROW(method_, path_, scope_, type_, serve_, what_) \
    { method_, path_, what_, scope_, .params = none, .how = { .type = type_, .status = 200 }, .own = true, .serve = serve_ }
#define A2A_CARD(path_, what_) A2A_ROW("GET", path_, SCOPE_OPEN, JSON, serve_a2a_card, what_)
#define A2A_RPC(path_, what_) A2A_ROW("POST", path_, SCOPE_NAMED, JSON, serve_a2a_rpc, what_)
#define A2A_PART(method_, path_, type_, what_) A2A_ROW(method_, path_, SCOPE_NAMED, type_, serve_a2a_rest, what_)
#define A2A_REST(at_, of_) \
    A2A_PART("POST", at_ "/message:send", JSON, "A2A: SendMessage" of_), \
    A2A_PART("POST", at_ "/message:stream", "text/event-stream", "A2A: SendStreamingMessage" of_), \
    A2A_PART("GET", at_ "/tasks", JSON, "A2A: ListTasks" of_), \
    A2A_PART("POST", at_ "/tasks/{task}:cancel", JSON, "A2A: CancelTask" of_), \
    A2A_PART("GET", at_ "/tasks/{task}:subscribe", "text/event-stream", "A2A: SubscribeToTask" of_), \
    A2A_PART("POST", at_ "/tasks/{task}:subscribe", "text/event-stream", "A2A: SubscribeToTask" of_), \
    A2A_PART("GET", at_ "/tasks/{task}", JSON, "A2A: GetTask" of_), \
    A2A_PART("POST", at_ "/tasks/{task}/pushNotificationConfigs", JSON, "A2A: not in this version" of_), \
    A2A_PART("GET", at_ "/tasks/{task}/pushNotificationConfigs", JSON, "A2A: not in this version" of_), \
    A2A_PART("GET", at_ "/tasks/{task}/pushNotificationConfigs/{config}", JSON, "A2A: not in this version" of_), \
    A2A_PART("DELETE", at_ "/tasks/{task}/pushNotificationConfigs/{config}", JSON, "A2A: not in this version" of_), \
    A2A_PART("GET", at_ "/extendedAgentCard", JSON, "A2A: GetExtendedAgentCard" of_)

const route route_table[] = {
    { "GET", "/", "these routes", SCOPE_NAMED, .params = none, .how = { .type = JSON }, .serve = serve_index },
    { "GET", "/healthz", "the server answers", SCOPE_OPEN, .params = none, .how = { .type = JSON }, .serve = serve_health },
    { "GET", "/readyz", "the store can be read, and the server does not stop", SCOPE_NAMED, .params = none, .how = { .type = JSON }, .serve = serve_ready },
    { "GET", "/metrics", "the numbers of the store and of this server, for Prometheus", SCOPE_READ, .params = none,
      .how = { .type = "text/plain; version=0.0.4; charset=utf-8" }, .serve = serve_metrics_text },
    { "GET", "/v1/openapi.json", "these routes as an OpenAPI 3.1 document", SCOPE_NAMED, .params = none, .how = { .type = JSON }, .serve = serve_openapi },
    READS("/v1/runs", "ls", ls_params, "the runs of the store, newest first: as `pawl ls --json`"),
    { "GET", "/v1/events", "a stream of what happens in the runs that `run` names (SSE)", SCOPE_READ, .params = events_params,
      .how = { .type = "text/event-stream" }, .serve = serve_many_events },
    READS("/v1/waits", "inbox", inbox_params, "the open questions of all runs: as `pawl inbox --json`"),
    { "GET", "/v1/machines", "the machines of this server's files", SCOPE_READ, .params = none, .how = { .type = JSON }, .serve = serve_machines },
    { "GET", "/v1/machines/{machine}", "a machine: its name, hash, input schema and nodes", SCOPE_READ, .params = none, .how = { .type = JSON },
      .serve = serve_one_machine },
    { "POST", "/v1/machines/{machine}/runs", "begin a run: as `pawl run --no-run`", SCOPE_RUN, .keyed = true, .verb = "run", .given = left, .params = none,
      .members = begin_members, .how = { .type = JSON, .fine = 1, .status = 201 } },
    READS("/v1/runs/{run}", "show", show_params, "a run: as `pawl show --json`"),
    { "GET", "/v1/runs/{run}/log", "its journal: as `pawl log --json`", SCOPE_READ, .verb = "log", .given = json_only, .params = log_params,
      .how = { .type = "application/x-ndjson", .fine = 1, .status = 200 } },
    { "GET", "/v1/runs/{run}/items", "its items, a page at a time", SCOPE_READ, .params = items_params, .how = { .type = JSON }, .serve = serve_items },
    { "GET", "/v1/runs/{run}/events", "a stream of its items (SSE)", SCOPE_READ, .params = run_events_params,
      .how = { .type = "text/event-stream" }, .serve = serve_run_events },
    { "GET", "/v1/runs/{run}/graph", "its graph: as `pawl draw`", SCOPE_READ, .verb = "draw", .given = nothing, .params = draw_params,
      .how = { .type = "text/plain; charset=utf-8", .fine = 1, .status = 200 } },
    { "GET", "/v1/runs/{run}/diff/{run}", "where two runs part: as `pawl diff --json`", SCOPE_READ, .verb = "diff", .given = json_only, .params = diff_params,
      .how = { .type = JSON, .fine = 3, .status = 200 } },
    { "GET", "/v1/runs/{run}/replay", "whether its journal replays to what is stored: as `pawl replay --verify --json`", SCOPE_READ, .verb = "replay",
      .given = verified, .params = none, .how = { .type = JSON, .fine = 3, .status = 200 } },
    { "GET", "/v1/runs/{run}/export", "the whole run: as `pawl export`", SCOPE_READ, .verb = "export", .given = nothing, .params = none,
      .how = { .type = "application/x-ndjson", .fine = 1, .status = 200 } },
    LEAVES("/v1/runs/{run}/answer", SCOPE_ANSWER, "answer", answer_members, "answer a question: as `pawl answer`"),
    LEAVES("/v1/runs/{run}/approve", SCOPE_ANSWER, "approve", approve_members, "approve a call: as `pawl approve`"),
    LEAVES("/v1/runs/{run}/deny", SCOPE_ANSWER, "deny", deny_members, "deny a call: as `pawl deny`"),
    LEAVES("/v1/runs/{run}/send", SCOPE_ANSWER, "send", send_members, "send input or a signal: as `pawl send`"),
    LEAVES("/v1/runs/{run}/cancel", SCOPE_RUN, "cancel", cancel_members, "cancel the run: as `pawl cancel`"),
    LEAVES("/v1/runs/{run}/interrupt", SCOPE_RUN, "interrupt", none, "end the turn of an agent: as `pawl interrupt`"),
    LEAVES("/v1/runs/{run}/retry", SCOPE_RUN, "retry", retry_members, "try again what failed: as `pawl retry`"),
    { "POST", "/v1/runs/{run}/mode", "set what its nodes may do without approval: as `pawl mode`", SCOPE_RUN, .keyed = true, .verb = "mode",
      .given = json_only, .params = none, .members = mode_members, .how = { .type = JSON, .fine = 1, .status = 202 } },
    { "POST", "/v1/runs/{run}/fork", "a new run from an entry of this one: as `pawl fork`", SCOPE_RUN, .keyed = true, .verb = "fork", .given = json_only,
      .params = none, .members = fork_members, .how = { .type = JSON, .fine = 1, .status = 201 } },
    { "POST", "/v1/jobs/take", "take jobs: commands that workers elsewhere perform; waits for the first", SCOPE_WORK, .params = none,
      .members = job_take_members, .how = { .type = JSON }, .own = true, .serve = serve_jobs_take },
    { "POST", "/v1/jobs/{job}/heartbeat", "extend the lease of a job, and learn whether it was canceled", SCOPE_WORK, .params = none,
      .members = job_beat_members, .how = { .type = JSON }, .late = true, .own = true, .serve = serve_jobs_beat },
    { "POST", "/v1/jobs/{job}/reply", "the result of a job", SCOPE_WORK, .keyed = true, .params = none, .members = job_reply_members,
      .how = { .type = JSON, .status = 202 }, .late = true, .own = true, .serve = serve_jobs_reply },
    { "POST", "/v1/jobs/{job}/fail", "why a job failed", SCOPE_WORK, .keyed = true, .params = none, .members = job_fail_members,
      .how = { .type = JSON, .status = 202 }, .late = true, .own = true, .serve = serve_jobs_fail },
    { "DELETE", "/v1/runs/{run}", "remove the run: as `pawl rm`", SCOPE_ADMIN, .verb = "rm", .given = nothing, .params = rm_params,
      .how = { .type = JSON, .fine = 1, .status = 204 } },
    A2A_CARD("/.well-known/agent-card.json", "the agent card (A2A) of this server; the header A2A-Version: 0.3 gives the shape of 0.3"),
    A2A_CARD("/a2a/{machine}/.well-known/agent-card.json", "the agent card (A2A) of a machine"),
    A2A_RPC("/", "A2A 1.0 and 0.3 as JSON-RPC; docs/A2A.md"),
    A2A_RPC("/a2a", "the same as POST /"),
    A2A_RPC("/a2a/", "the same as POST /"),
    A2A_RPC("/a2a/{machine}", "A2A 1.0 and 0.3 as JSON-RPC, for tasks of a machine"),
    A2A_RPC("/a2a/{machine}/", "the same without the slash"),
    A2A_REST("", ""),
    A2A_REST("/a2a/{machine}", ", for tasks of a machine"),
    { .method = NULL }
};

static void row_json(buf *b, const route *row)
{
    const parameter *lists[] = { row->members, row->params };

    buf_char(b, '{');
    for (size_t k = 0; k < 2; k++) {
        if (k == 0)
            buf_word(b, "\"members\":[");
        else
            buf_fmt(b, "],\"method\":\"%s\",\"options\":[", row->method);
        for (const parameter *m = lists[k]; m != NULL && m->name != NULL; m++)
            buf_fmt(b, m == lists[k] ? "\"%s\"" : ",\"%s\"", m->name);
    }
    buf_fmt(b, "],\"path\":\"%s\",\"scope\":\"%s\",\"what\":\"%s\"}", row->path, scope_said(row), row->what);
}

void serve_index(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    buf b;

    (void)s, (void)by, (void)run, (void)p;
    buf_init(&b, NULL);
    buf_word(&b, "{\"routes\":[");
    for (const route *row = route_table; row->method != NULL; row++) {
        buf_text(&b, row == route_table ? "" : ",");
        row_json(&b, row);
    }
    buf_fmt(&b, "],\"version\":\"%d.%d.%d\"}\n", PAWL_VERSION_MAJOR, PAWL_VERSION_MINOR, PAWL_VERSION_PATCH);
    text_reply(r, "application/json", &b);
}

void serve_openapi(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    buf b;

    (void)s, (void)by, (void)run, (void)p;
    buf_init(&b, NULL);
    openapi_write(&b, route_table);
    text_reply(r, JSON, &b);
}

void serve_api_page(buf *out) { api_page_write(out, route_table); }
