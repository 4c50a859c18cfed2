/* diff.c - `pawl diff`: where two runs differ, and which channels (G8).
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "cli/verbs.h"

enum { VALUE_COLUMNS_MAX = 1000, MARGIN = 4 };

typedef struct channel_diff { const char *channel; const pawl_value *a, *b; } channel_diff;

typedef struct diff_place {
    cli_call *c;
    channel_diff *all;
    size_t n, cap;
    char run[2][RUN_ID_BYTES];
    pawl_diff diff;
} diff_place;

static bool see(void *ctx, const char *channel, const pawl_value *a, const pawl_value *b)
{
    diff_place *f = ctx;
    arena *mem = &f->c->mem;
    channel_diff *d;

    if (!arena_room(mem, (void **)&f->all, &f->cap, f->n, sizeof *f->all))
        return false;
    d = &f->all[f->n++];
    d->channel = arena_text(mem, channel);
    d->a = value_copy(mem, a);
    d->b = value_copy(mem, b);
    return !mem->failed;
}

/* ---- as JSON ---------------------------------------------------------------------------------------- */

static const pawl_value *json_side(arena *a, const char *run, const pawl_diff_side *side)
{
    const pawl_value *v = value_pack(a, NULL, "{s:u,s:s,s:s}", "newest", side->newest, "run", run, "status", pawl_status_name(side->status));

    if (side->seq == 0)
        return v;
    v = value_with(a, v, "seq", value_uint(a, side->seq));
    v = value_with(a, v, "of", value_string(a, side->of, strlen(side->of)));
    return value_with(a, v, "fact", value_string(a, side->fact, strlen(side->fact)));
}

static bool json_out(diff_place *f)
{
    arena *a = &f->c->mem;
    const pawl_value *channels = value_pack(a, NULL, "[]"), *all;

    for (size_t i = 0; i < f->n; i++) {
        const pawl_value *one = value_pack(a, NULL, "{s:s}", "channel", f->all[i].channel);

        if (f->all[i].a != NULL)
            one = value_with(a, one, "a", f->all[i].a);
        if (f->all[i].b != NULL)
            one = value_with(a, one, "b", f->all[i].b);
        channels = value_push(a, channels, one);
    }
    all = value_pack(a, NULL, "{s:v,s:v,s:v,s:b}", "a", json_side(a, f->run[0], &f->diff.a), "b", json_side(a, f->run[1], &f->diff.b),
                     "channels", channels, "same", (int)f->diff.same);
    return cli_json(f->c, all);
}

/* ---- for people --------------------------------------------------------------------------------------- */

static void side_out(buf *out, const char *run, const pawl_diff_side *side, size_t columns)
{
    buf_fmt(out, "  %s", run);
    if (side->seq == 0) {
        buf_fmt(out, " has no further entry: %llu entries, %s\n", (unsigned long long)side->newest, pawl_status_name(side->status));
        return;
    }
    buf_fmt(out, " at entry %llu", (unsigned long long)side->seq);
    if (strcmp(side->of, run) != 0)
        buf_fmt(out, " of %s", side->of);
    buf_fmt(out, " (of %llu, %s)\n    ", (unsigned long long)side->newest, pawl_status_name(side->status));
    if (side->fact[0] == '\0')
        buf_word(out, "nothing more");
    else
        cli_cut(out, side->fact, strlen(side->fact), columns);
    buf_char(out, '\n');
}

static size_t line_bytes(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);

    return end != NULL ? (size_t)(end - text) + 1 : size;
}

/* Lines of `text` with this sign. */
static void lines_out(buf *out, const char *sign, const char *text, size_t size, size_t columns)
{
    while (size > 0) {
        const size_t n = line_bytes(text, size);

        buf_text(out, sign);
        cli_cut(out, text, n - (text[n - 1] == '\n'), columns);
        buf_char(out, '\n');
        text += n;
        size -= n;
    }
}

/* Two long texts line by line: without the lines that both begin and end with. */
static void texts_out(buf *out, const pawl_value *va, const pawl_value *vb, size_t columns)
{
    const char *a = pawl_value_string(va), *b = pawl_value_string(vb);
    size_t n = pawl_value_size(va), m = pawl_value_size(vb), same = 0;

    while (n > 0 && m > 0 && line_bytes(a, n) == line_bytes(b, m) && memcmp(a, b, line_bytes(a, n)) == 0) {
        const size_t size = line_bytes(a, n);

        a += size, n -= size;
        b += size, m -= size;
        same++;
    }
    if (same > 0)
        buf_fmt(out, "    (%zu equal lines)\n", same);
    for (size_t end = 0; end < n && end < m && a[n - 1 - end] == b[m - 1 - end];) {     /* whole lines from the end */
        end++;
        if (end < n && end < m && a[n - 1 - end] == '\n' && b[m - 1 - end] == '\n')
            n -= end, m -= end, end = 0;
    }
    lines_out(out, "  - ", a, n, columns);
    lines_out(out, "  + ", b, m, columns);
}

static void channel_out(buf *out, const channel_diff *d, size_t columns)
{
    const char *a = pawl_value_string(d->a), *b = pawl_value_string(d->b);

    buf_fmt(out, "  %s\n", d->channel);
    if (a != NULL && b != NULL && (strchr(a, '\n') != NULL || strchr(b, '\n') != NULL)) {
        texts_out(out, d->a, d->b, columns);
        return;
    }
    buf_word(out, "  - ");
    cli_short(out, d->a, columns);
    buf_word(out, "\n  + ");
    cli_short(out, d->b, columns);
    buf_char(out, '\n');
}

static bool people_out(const diff_place *f, bool at_parting)
{
    const pawl_diff *d = &f->diff;
    size_t columns = f->c->out_tty ? (size_t)cli_columns(1) - MARGIN : VALUE_COLUMNS_MAX;
    bool put;
    buf out;

    buf_init(&out, NULL);
    if (d->same) {
        buf_fmt(&out, "%s and %s are equal\n", f->run[0], f->run[1]);
    } else {
        buf_fmt(&out, "%s and %s differ\n", f->run[0], f->run[1]);
        side_out(&out, f->run[0], &d->a, columns);
        side_out(&out, f->run[1], &d->b, columns);
    }
    if (f->n > 0)
        buf_fmt(&out, "channels %s\n", at_parting ? "there" : "now");
    for (size_t i = 0; i < f->n; i++)
        channel_out(&out, &f->all[i], columns);
    put = cli_put(f->c, &out);
    buf_free(&out);
    return put;
}

/* ---- the verb ------------------------------------------------------------------------------------------- */

/* The newest runs that are no children, the older one first: what is new stands behind "+". */
static bool see_newest(void *ctx, const pawl_head *h)
{
    diff_place *f = ctx;

    if (h->parent != NULL)
        return true;
    snprintf(f->run[f->run[1][0] != '\0' ? 0 : 1], RUN_ID_BYTES, "%s", h->run);
    return f->run[0][0] == '\0';
}

static pawl_code newest_two(cli_call *c, pawl_store *s, diff_place *f, pawl_err *err)
{
    const pawl_filter all = { .limit = SIZE_MAX / 2 };
    const pawl_code rc = s->verbs->list(s, &all, see_newest, f, err);

    if (rc == PAWL_OK && f->run[0][0] == '\0')
        return fail(err, PAWL_INVALID, "there are no two runs in %.120s to compare", cli_store_name(c));
    return rc;
}

static int diff_run(cli_call *c)
{
    diff_place f = { .c = c };
    bool at_parting = cli_given(c, "at-parting") != NULL;
    pawl_err err = { PAWL_OK, "" };
    int code = EXIT_FAILED;
    pawl_store *s;
    pawl_code rc;

    if (c->nargs == 1)
        return cli_missing(c);
    if ((s = cli_store_of(c, c->nargs == 2 ? c->args[0] : NULL, f.run[0], &code)) == NULL)
        return code;
    if ((rc = c->nargs == 2 ? cli_run_id(c, s, c->args[1], f.run[1], &err) : newest_two(c, s, &f, &err)) == PAWL_OK)
        rc = pawl_history_diff(s, f.run[0], f.run[1], at_parting ? PAWL_DIFF_AT_PARTING : PAWL_DIFF_AT_END, see, &f, &f.diff, &err);
    pawl_store_free(s);
    if (rc == PAWL_OK && c->mem.failed)
        rc = fail(&err, PAWL_NOMEM, "no memory for what is different");
    if (rc != PAWL_OK)
        return cli_fail(c, rc, &err);
    if (!(c->json ? json_out(&f) : people_out(&f, at_parting)))
        return EXIT_FAILED;
    return f.diff.same && f.diff.channels == 0 ? EXIT_DONE : EXIT_FAILED;
}

static const cli_option options[] = {
    { "at-parting", NULL, "compare the channels at the first difference instead of the current ones" },
    { "json", NULL, "one JSON object" },
    { NULL, NULL, NULL },
};

const cli_verb verb_diff = {
    .name = "diff", .form = "[A B]", .what = "compare two runs", .options = options, .most = 2,
    .store = true, .run = diff_run,
    .example = "pawl fork survey-7k2m --at 5 --set 'dir=\"src\"'\npawl diff survey-7k2m @\npawl diff",
    .about = "Prints the first difference, and the channels that differ, texts line by line:\n"
             "- is A, + is B. Without arguments the newest two runs are compared, the older\n"
             "one as A. Inputs, commands, writes and outcomes are compared, but not ids,\n"
             "times, or the order in which answers arrived. A fork includes the entries that\n"
             "it was forked from. Exit 0: they are equal; 1: they differ.\n"
             "\n"
             "--json: {\"a\":SIDE,\"b\":SIDE,\"channels\":[{\"a\",\"b\",\"channel\"}],\"same\"}; SIDE:\n"
             "{\"fact\",\"newest\",\"of\",\"run\",\"seq\",\"status\"}. `seq` is the first entry that has\n"
             "no equal in the other run, `of` the run of that entry, `fact` its content; the\n"
             "three are omitted for a run that has no further entry. A channel without a value\n"
             "has no `a`, or no `b`.",
};
