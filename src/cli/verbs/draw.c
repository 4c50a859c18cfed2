/* draw.c - `pawl draw`: the picture of a graph or an agent, and the position of a run in it (G12).
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "cli/ui/dot.h"
#include "cli/open_session.h"
#include "cli/verbs.h"

#include <errno.h>
#include <sys/stat.h>

/* A name that is like that of a file is one, even if it is not there: no id has a slash. */
static bool is_file(const char *name)
{
    static const char *const ends[] = { ".yaml", ".yml", ".json", ".so" };
    const char *dot = strrchr(name, '.');
    struct stat st;

    for (size_t i = 0; i < sizeof ends / sizeof *ends && dot != NULL; i++)
        if (strcmp(dot, ends[i]) == 0)
            return true;
    return strchr(name, '/') != NULL || (stat(name, &st) == 0 && S_ISREG(st.st_mode));
}

static int put(cli_call *c, const buf *text)
{
    const char *out = cli_given(c, "out");
    pawl_err err = {0};
    FILE *f;

    if (out == NULL)
        return cli_put(c, text) ? EXIT_DONE : EXIT_FAILED;
    if ((f = fopen(out, "wb")) == NULL || fwrite(text->data, 1, text->size, f) != text->size || fflush(f) != 0)
        fail(&err, PAWL_IO, "%s: %s", out, strerror(errno));
    if (f != NULL && fclose(f) != 0)
        fail(&err, PAWL_IO, "%s: %s", out, strerror(errno));
    if (err.code == PAWL_OK)
        return EXIT_DONE;
    (void)cli_fail(c, PAWL_IO, &err);
    return EXIT_USAGE;
}

static pawl_picture picture_of(const char *format)
{
    if (strcmp(format, "svg") == 0 || strcmp(format, "dot") == 0)
        return PAWL_PICTURE_DOT;
    return strcmp(format, "mermaid") == 0 ? PAWL_PICTURE_MERMAID : PAWL_PICTURE_TEXT;
}

/* `text` may be NULL: then `err` has the reason. */
static int picture_put(cli_call *c, const char *text, const char *format, buf *out, pawl_err *err)
{
    if (text != NULL && strcmp(format, "svg") == 0)
        (void)dot_svg(text, out, err);
    else if (text != NULL)
        buf_text(out, text);
    if (text != NULL && out->size > 0 && out->data[out->size - 1] != '\n')
        buf_char(out, '\n');
    return err->code != PAWL_OK || text == NULL || out->failed ? cli_fail(c, err->code < 0 ? err->code : PAWL_NOMEM, err) : EXIT_DONE;
}

static int draw(cli_call *c, const pawl_machine *m, pawl_state *st, const char *format)
{
    pawl_step *step = pawl_step_new(NULL);
    pawl_err err = {0};
    buf out;
    int code;

    buf_init(&out, NULL);
    code = picture_put(c, step != NULL ? pawl_draw(m, st, picture_of(format), step, &err) : NULL, format, &out, &err);
    if (code == EXIT_DONE)
        code = put(c, &out);
    buf_free(&out);
    pawl_step_free(step);
    return code;
}

/* ---- agents ------------------------------------------------------------------------------------------ */

static const char *const tables[] = { "core", "agent", "call", "shown" };
enum { TABLES = 4, SHOWN = 3 };

/* The state of the run in each table. */
static void print_place(pawl_state *st, const char *run, buf *out)
{
    const pawl_value *v = pawl_state_get(st, "@agent");
    const char *phase = pawl_value_string(pawl_value_get(v, "phase")), *core = pawl_value_string(pawl_value_find(v, "/core/at"));
    pawl_agent_view view;
    const char *at;

    if (pawl_agent_display(st, &view, NULL) != PAWL_OK || phase == NULL || core == NULL)
        return;
    buf_fmt(out, "%s: shown %s; agent %s; core %s", run, pawl_shown_name(view.state), phase, core);
    for (size_t i = 0; (at = pawl_agent_call(st, i, NULL)) != NULL; i++)
        buf_fmt(out, "%s%s", i == 0 ? "; calls " : ", ", at);
    buf_text(out, "\n\n");
}

static int draw_agent(cli_call *c, pawl_state *st, const char *run, const char *format)
{
    const bool text = strcmp(format, "text") == 0;
    const char *part = cli_given(c, "table") != NULL || text ? cli_given(c, "table") : tables[SHOWN];
    pawl_step *step = pawl_step_new(NULL);
    pawl_err err = {0};
    int code = EXIT_DONE;
    buf out;

    buf_init(&out, NULL);
    if (st != NULL && text)
        print_place(st, run, &out);
    for (size_t i = 0; i < TABLES && code == EXIT_DONE; i++) {
        if (part != NULL && strcmp(part, tables[i]) != 0)
            continue;
        if (i > 0 && part == NULL)
            buf_char(&out, '\n');
        code = picture_put(c, step != NULL ? pawl_agent_draw(i, picture_of(format), step, &err) : NULL, format, &out, &err);
    }
    if (code == EXIT_DONE)
        code = put(c, &out);
    buf_free(&out);
    pawl_step_free(step);
    return code;
}

static bool table_known(const char *name)
{
    size_t i = 0;

    while (i < TABLES && name != NULL && strcmp(tables[i], name) != 0)
        i++;
    return i < TABLES;
}

/* ---- the verb ------------------------------------------------------------------------------------------ */

static int draw_run(cli_call *c)
{
    const char *format = cli_given(c, "format") != NULL ? cli_given(c, "format") : "text";
    bool file = !c->served && is_file(c->args[0]);
    pawl_state *st = NULL;
    pawl_err err = {0};
    session *s;
    int code;

    if (strcmp(format, "text") != 0 && strcmp(format, "mermaid") != 0 && strcmp(format, "dot") != 0 && strcmp(format, "svg") != 0)
        return cli_usage(c, "--format is text, mermaid, dot or svg, and not \"%s\"", format);
    if (!table_known(cli_given(c, "table")))
        return cli_usage(c, "--table is core, agent, call or shown, and not \"%s\"", cli_given(c, "table"));
    s = file ? session_of_file(c, c->args[0], &code) : session_of_run(c, c->args[0], &code);
    if (s == NULL)
        return code;
    if (!file && (st = pawl_run_state(s->engine, s->run, &err)) == NULL)
        code = cli_fail(c, err.code < 0 ? err.code : PAWL_IO, &err);
    else if (session_is_agent(s))
        code = draw_agent(c, st, s->run, format);
    else if (cli_given(c, "table") != NULL)
        code = cli_usage(c, "--table is for agents, and %s is none", c->args[0]);
    else
        code = draw(c, s->machine, st, format);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "format", "text|mermaid|dot|svg", "text is for terminals; svg needs the program dot" },
    { "out", "FILE", "write to this file" },
    { "table", "core|agent|call|shown", "of an agent: only this table; the default is all of them for text, else shown" },
    { NULL, NULL, NULL },
};

const cli_verb verb_draw = {
    .name = "draw", .form = "FILE|RUN", .what = "draw a graph, an agent or the position of a run", .options = options, .least = 1, .most = 1, .store = true,
    .looks = true, .run = draw_run,
    .about = "An agent is drawn as its tables: its events and transitions (core), what it does\n"
             "(agent), the states of a tool call (call), and the states that are displayed\n"
             "(shown). For a run, the text format starts with its state in each table.\n\n"
             "The ways of a graph: -> the next node, if and else a choice, no -> after a no,\n"
             "~> a node to which tasks are sent, error -> after a failure. In the other\n"
             "formats ways by choice are dashed, and else, no and error stand beside them;\n"
             "sent tasks are dotted in dot and svg, and goto in mermaid.",
    .example = "pawl draw survey.yaml\npawl draw @ --format svg --out run.svg",
};
