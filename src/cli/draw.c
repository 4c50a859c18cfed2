/* draw.c - the picture of a graph, and of where a run is in it (G12). */
#include "cli/dot.h"
#include "cli/session.h"
#include "cli/verbs.h"

#include <errno.h>
#include <sys/stat.h>

static bool is_file(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 && S_ISREG(st.st_mode);
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

static int draw(cli_call *c, const pawl_machine *m, pawl_state *st, const char *format)
{
    pawl_step *step = pawl_step_new(NULL);
    bool svg = strcmp(format, "svg") == 0, dot = strcmp(format, "dot") == 0;
    pawl_picture picture = svg || dot ? PAWL_PICTURE_DOT : strcmp(format, "mermaid") == 0 ? PAWL_PICTURE_MERMAID : PAWL_PICTURE_TEXT;
    pawl_err err = {0};
    const char *text = step != NULL ? pawl_draw(m, st, picture, step, &err) : NULL;
    buf out;
    int code;

    buf_init(&out, NULL);
    if (text != NULL && svg)
        (void)dot_svg(text, &out, &err);
    else if (text != NULL)
        buf_text(&out, text);
    if (text != NULL && !svg && out.size > 0 && out.data[out.size - 1] != '\n')
        buf_char(&out, '\n');
    code = err.code != PAWL_OK || text == NULL || out.failed ? cli_fail(c, err.code < 0 ? err.code : PAWL_NOMEM, &err) : put(c, &out);
    buf_free(&out);
    pawl_step_free(step);
    return code;
}

static int draw_run(cli_call *c)
{
    const char *format = cli_given(c, "format") != NULL ? cli_given(c, "format") : "text";
    bool file = is_file(c->args[0]);
    pawl_state *st = NULL;
    pawl_err err = {0};
    session *s;
    int code;

    if (strcmp(format, "text") != 0 && strcmp(format, "mermaid") != 0 && strcmp(format, "dot") != 0 && strcmp(format, "svg") != 0)
        return cli_usage(c, "--format is text, mermaid, dot or svg, and not \"%s\"", format);
    s = file ? session_of_file(c, c->args[0], &code) : session_of_run(c, c->args[0], &code);
    if (s == NULL)
        return code;
    if (!file && (st = pawl_run_state(s->engine, s->run, &err)) == NULL)
        code = cli_fail(c, err.code < 0 ? err.code : PAWL_IO, &err);
    else
        code = draw(c, s->machine, st, format);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "format", "text|mermaid|dot|svg", "text is for terminals; svg needs the program dot" },
    { "out", "FILE", "write it there" },
    { NULL, NULL, NULL },
};

const cli_verb verb_draw = {
    .name = "draw", .form = "FILE|RUN", .what = "draw a graph, and where a run is in it", .options = options, .least = 1, .most = 1, .store = true,
    .looks = true, .run = draw_run, .example = "pawl draw survey.yaml\npawl draw @ --format svg --out run.svg",
};
