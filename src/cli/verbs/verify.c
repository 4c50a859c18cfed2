/* verify.c - `pawl verify`: checks the journals of a store, and compares them with the heads that were anchored outside of it (K5, K11, P12).
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call; nothing is written to a run. Every run is folded, so that its chain, its snapshot
 * and its indexes are checked; `replay --verify` also feeds its machine again. */
#include "app/signers.h"
#include "app/anchor.h"
#include "cli/signatures.h"
#include "cli/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { PAGE_RUNS = 128, PIECE_BYTES = 65536 };

typedef struct verifying {
    cli_call *c;
    pawl_store *s;
    const pawl_value *known;    /* the keys that this person trusts and distrusts */
    const char *only;           /* a run; NULL: all */
    size_t runs, bad;           /* runs that were folded; findings, of runs and of anchors */
    const pawl_value *findings;
    pawl_anchored sum;
    bool anchored;
    uint64_t last;
    size_t seen;
    char ids[PAGE_RUNS][RUN_ID_BYTES];
} verifying;

static void found_as(verifying *v, const char *fault, const pawl_anchor_finding *f)
{
    cli_call *c = v->c;

    v->bad++;
    if (c->json)
        v->findings = value_push(&c->mem, v->findings, value_pack(&c->mem, NULL, "{s:i,s:s,s:u,s:u,s:u,s:v,s:u,s:s}", "at", f->at_ms, "fault",
            fault, "line", f->line, "lines", f->lines, "newest", f->newest, "run",
            f->run != NULL ? value_string(&c->mem, f->run, strlen(f->run)) : value_pack(&c->mem, NULL, "n"), "seq", f->seq, "text", f->text));
    else
        cli_note(c, "%s: %s", fault, f->text);
}

static void found(verifying *v, const pawl_anchor_finding *f) { found_as(v, pawl_anchor_fault_name(f->fault), f); }

/* ---- the journals ------------------------------------------------------------------------------------------- */

/* An erased body is no damage. An error of the store ends it all. */
static pawl_code run_verify(verifying *v, const char *run, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_verdict verdict = {0};
    pawl_code rc = pawl_history_verify(v->s, NULL, run, &verdict, &why);
    pawl_anchor_finding f = { .fault = PAWL_ANCHOR_DAMAGED, .run = run, .seq = verdict.seq };
    buf text;

    v->runs++;
    if (rc == PAWL_OK && (rc = signatures_trusted(v->known, v->s, run, &f.seq, &why)) == PAWL_DENIED) {
        f.text = why.text;
        found_as(v, "untrusted", &f);
        return PAWL_OK;
    }
    if (rc == PAWL_OK || rc == PAWL_GONE)
        return PAWL_OK;
    if (rc != PAWL_CORRUPT && rc != PAWL_INVALID)
        return fail(err, rc, "%s", why.text);
    buf_init(&text, NULL);
    buf_fmt(&text, "%s%s%s", strncmp(why.text, run, strlen(run)) == 0 ? "" : run, strncmp(why.text, run, strlen(run)) == 0 ? "" : ": ", why.text);
    buf_char(&text, '\0');
    f.text = text.failed ? why.text : text.data;
    found(v, &f);
    buf_free(&text);
    return PAWL_OK;
}

static bool see_run(void *ctx, const pawl_head *h)
{
    verifying *v = ctx;

    v->last = h->no;
    snprintf(v->ids[v->seen++], RUN_ID_BYTES, "%s", h->run);
    return true;
}

static pawl_code runs_verify(verifying *v, pawl_err *err)
{
    pawl_code rc;

    if (v->only != NULL)
        return run_verify(v, v->only, err);
    do {
        const pawl_filter f = { .before = v->last, .limit = PAGE_RUNS };

        v->seen = 0;
        rc = v->s->verbs->list(v->s, &f, see_run, v, err);
        for (size_t i = 0; i < v->seen && rc == PAWL_OK; i++)
            rc = run_verify(v, v->ids[i], err);
    } while (rc == PAWL_OK && v->seen == PAGE_RUNS);
    return rc;
}

/* ---- the anchors --------------------------------------------------------------------------------------------- */

typedef struct piece_source { int fd; pawl_bytes whole; char piece[PIECE_BYTES]; } piece_source;

static bool read_piece(void *ctx, pawl_bytes *piece)
{
    piece_source *p = ctx;
    ssize_t n;

    if (p->fd < 0) {            /* what a command has printed, at once */
        *piece = p->whole;
        p->whole = (pawl_bytes){0};
        return true;
    }
    do
        n = read(p->fd, p->piece, sizeof p->piece);
    while (n < 0 && errno == EINTR);
    *piece = (pawl_bytes){ p->piece, n > 0 ? (size_t)n : 0 };
    return n >= 0;
}

/* Damage of a journal itself was reported when it was folded. */
static void see_finding(void *ctx, const pawl_anchor_finding *f)
{
    if (f->fault != PAWL_ANCHOR_DAMAGED)
        found(ctx, f);
}

static pawl_code anchors_compare(verifying *v, const char *named, pawl_err *err)
{
    static piece_source p;
    pawl_code rc = PAWL_OK;
    buf printed;

    buf_init(&printed, NULL);
    p.fd = -1;
    if (*named == '|' && v->c->app.anchor == NULL)
        rc = fail(err, PAWL_INVALID, "%s is a command that receives heads; verify needs the file, or a command that prints it: --anchor FILE, or --anchor '|CMD'", named);
    else if (*named == '|')
        rc = anchor_printed(named + 1, &printed, err);
    else if ((p.fd = open(named, O_RDONLY | O_CLOEXEC)) < 0)
        rc = fail(err, PAWL_IO, "%s: %s", named, strerror(errno));
    p.whole = (pawl_bytes){ printed.data, printed.size };
    if (rc == PAWL_OK)
        rc = pawl_history_anchored(v->s, v->only, read_piece, &p, see_finding, v, &v->sum, err);
    v->anchored = rc == PAWL_OK;
    if (p.fd >= 0)
        close(p.fd);
    buf_free(&printed);
    return rc;
}

/* ---- said ------------------------------------------------------------------------------------------------------ */

static void print_anchors(const verifying *v)
{
    const pawl_anchored *a = &v->sum;
    char when[32];

    cli_note(v->c, "anchors %llu: runs %zu, good %zu, removed %zu", (unsigned long long)a->lines, a->runs, a->good, a->removed);
    if (a->ahead > 0)
        cli_note(v->c, a->ahead == 1 ? "%zu run has entries after its newest anchor: a cut of these would not be found"
                                   : "%zu runs have entries after their newest anchor: a cut of these would not be found", a->ahead);
    if (a->unanchored > 0)
        cli_note(v->c, a->unanchored == 1 ? "%zu run was never anchored" : "%zu runs were never anchored", a->unanchored);
    if (a->others > 0)
        cli_note(v->c, "%llu anchors are of other stores", (unsigned long long)a->others);
    if (a->torn > 0)
        cli_note(v->c, "%llu lines are torn, as by a crash, and cannot be read", (unsigned long long)a->torn);
    cli_time(when, a->since_ms);
    if (a->rolled_back)
        cli_note(v->c, "rolled back: the store looks like an older copy, from before line %llu of the anchors (%s)", (unsigned long long)a->since, when);
}

static void print_json(verifying *v)
{
    cli_call *c = v->c;
    const pawl_anchored *a = &v->sum;
    const pawl_value *anchors = value_pack(&c->mem, NULL, "n");

    if (v->anchored)
        anchors = value_pack(&c->mem, NULL, "{s:u,s:u,s:u,s:u,s:u,s:u,s:v,s:u,s:u,s:u}", "ahead", (uint64_t)a->ahead, "good", (uint64_t)a->good, "lines",
                             a->lines, "others", a->others, "removed", (uint64_t)a->removed, "runs", (uint64_t)a->runs, "rolled_back",
                             a->rolled_back ? value_pack(&c->mem, NULL, "{s:i,s:u}", "at", a->since_ms, "line", a->since) : value_pack(&c->mem, NULL, "n"),
                             "torn", a->torn, "unanchored", (uint64_t)a->unanchored, "findings", (uint64_t)a->findings);
    cli_json(c, value_pack(&c->mem, NULL, "{s:v,s:v,s:b,s:u}", "anchors", anchors, "findings", v->findings, "good", v->bad == 0, "runs", (uint64_t)v->runs));
}

static int verify_run(cli_call *c)
{
    static verifying v;
    char run[RUN_ID_BYTES];
    pawl_err err = {0};
    const char *named = anchor_named(&c->app, &c->mem, &err);
    pawl_code rc;
    int code;

    if (err.code != PAWL_OK)
        return cli_fail(c, err.code, &err);
    v = (verifying){ .c = c, .known = signers_known(&c->mem, &err), .findings = value_pack(&c->mem, NULL, "[]") };
    if (v.known == NULL)
        return cli_fail(c, err.code, &err);
    v.s = cli_store_of(c, c->nargs > 0 ? c->args[0] : NULL, run, &code);
    if (v.s == NULL)
        return code;
    v.only = c->nargs > 0 ? run : NULL;
    rc = runs_verify(&v, &err);
    if (rc == PAWL_OK && named != NULL)
        rc = anchors_compare(&v, named, &err);
    pawl_store_free(v.s);
    if (rc != PAWL_OK)
        return cli_fail(c, rc, &err);
    if (c->json) {
        print_json(&v);
    } else {
        if (v.anchored)
            print_anchors(&v);
        if (v.bad == 0)
            cli_note(c, "good: %zu run%s, every byte matches its hash%s", v.runs, v.runs == 1 ? "" : "s", v.anchored ? ", and the anchored heads agree" : "");
    }
    return v.bad > 0 ? EXIT_FAILED : EXIT_DONE;
}

static const cli_option options[] = {
    { "anchor", "FILE", "compare with the heads in FILE, or with those that a command prints ('|CMD'); else PAWL_ANCHOR" },
    { "json", NULL, "as JSON" },
    { NULL, NULL, NULL },
};

const cli_verb verb_verify = {
    .name = "verify", .form = "[RUN]", .what = "check the journals of a store, and their anchored heads", .options = options, .most = 1, .store = true,
    .looks = true, .run = verify_run,
    .about = "Without RUN all runs are checked. A journal that was changed breaks its chain of\n"
             "hashes. One that was cut, written anew from some entry on, or put back from an\n"
             "older copy does not: it is found by the heads that `--anchor` of `run`, `worker`\n"
             "and the other verbs kept where the store's writer cannot change them. Exits with\n"
             "1 if something is found. `pawl replay RUN --verify` feeds its machine again.",
    .example = "pawl verify\npawl verify --anchor /var/log/pawl-anchors --json\npawl verify --anchor '|ssh log cat anchors'",
};
