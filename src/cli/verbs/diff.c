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
    for (size_t i = 0; i < f->n; i++) {
        buf_fmt(&out, "  %s\n  - ", f->all[i].channel);
        cli_short(&out, f->all[i].a, columns);
        buf_word(&out, "\n  + ");
        cli_short(&out, f->all[i].b, columns);
        buf_char(&out, '\n');
    }
    put = cli_put(f->c, &out);
    buf_free(&out);
    return put;
}

/* ---- the verb ------------------------------------------------------------------------------------------- */

static int diff_run(cli_call *c)
{
    diff_place f = { .c = c };
    bool at_parting = cli_given(c, "at-parting") != NULL;
    pawl_err err = { PAWL_OK, "" };
    int code = EXIT_FAILED;
    pawl_store *s = cli_store_of(c, c->args[0], f.run[0], &code);
    pawl_code rc;

    if (s == NULL)
        return code;
    if ((rc = cli_run_id(c, s, c->args[1], f.run[1], &err)) == PAWL_OK)
        rc = pawl_history_diff(s, f.run[0], f.run[1], at_parting ? PAWL_AT_PARTING : PAWL_AT_END, see, &f, &f.diff, &err);
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
    .name = "diff", .form = "A B", .what = "compare two runs", .options = options, .least = 2, .most = 2,
    .store = true, .run = diff_run,
    .example = "pawl fork survey-7k2m --at 5 --set 'dir=\"src\"'\npawl diff survey-7k2m @",
    .about = "Prints the first difference, and the channels that differ. Compares inputs,\n"
             "commands, writes and outcomes, but not ids, times, or the order in which answers\n"
             "arrived. A fork includes the entries that it was forked from. Exit 0: they are\n"
             "equal; 1: they differ.\n"
             "\n"
             "--json: {\"a\":SIDE,\"b\":SIDE,\"channels\":[{\"a\",\"b\",\"channel\"}],\"same\"}; SIDE:\n"
             "{\"fact\",\"newest\",\"of\",\"run\",\"seq\",\"status\"}. `seq` is the first entry that has\n"
             "no equal in the other run, `of` the run of that entry, `fact` its content; the\n"
             "three are omitted for a run that has no further entry. A channel without a value\n"
             "has no `a`, or no `b`.",
};
