/* help.c - what verbs there are, and how each is used: all of it from their rows. */
#include "cli/verbs.h"

enum { USAGE_COLUMNS = 72, HELP_COLUMNS = 80, TERM_COLUMNS = 24 };

static const cli_option option_store = { "store", "URL", "the store: sqlite:PATH, memory:; else PAWL_STORE, else the nearest pawl.db upward" };
static const cli_option option_help = { "help", NULL, "this text" };

const cli_option *cli_option_at(const cli_verb *v, size_t index)
{
    size_t n = 0;

    while (v->options != NULL && v->options[n].name != NULL)
        n++;
    if (index < n)
        return &v->options[index];
    index -= n;
    if (v->store && index-- == 0)
        return &option_store;
    return index == 0 ? &option_help : NULL;
}

const cli_verb *cli_verb_named(const char *name)
{
    for (size_t i = 0; cli_verbs[i] != NULL; i++)
        if (strcmp(cli_verbs[i]->name, name) == 0)
            return cli_verbs[i];
    return NULL;
}

int help_unknown(const char *name)
{
    const char *names[64];
    char near[96];
    buf said;
    size_t n = 0;

    if (name == NULL) {
        fputs("pawl: no verb; usage: pawl VERB [ARGUMENT...], and `pawl help` lists the verbs\n", stderr);
        return EXIT_USAGE;
    }
    for (; cli_verbs[n] != NULL && n < sizeof names / sizeof *names; n++)
        names[n] = cli_verbs[n]->name;
    buf_init(&said, NULL);
    cli_clean(&said, name, strlen(name));
    buf_char(&said, '\0');
    did_you_mean(near, sizeof near, name, names, n);
    if (name[0] == '-')
        fprintf(stderr, "pawl: no option %s here; options stand after the verb: pawl VERB [OPTION...]\n", said.failed ? "" : said.data);
    else
        fprintf(stderr, "pawl: no verb \"%s\"%s; `pawl help` lists them\n", said.failed ? "" : said.data, near);
    buf_free(&said);
    return EXIT_USAGE;
}

/* ---- one verb ------------------------------------------------------------------------------------- */

static void option_form(const cli_option *o, buf *out)
{
    buf_fmt(out, "--%s%s%s", o->name, o->value == NULL ? "" : " ", o->value == NULL ? "" : o->value);
}

void help_usage(const cli_verb *v, buf *out)
{
    const cli_option *o;
    size_t at = out->size, whole;

    buf_fmt(out, "pawl %s%s%s", v->name, v->form[0] == '\0' ? "" : " ", v->form);
    whole = out->size;
    for (size_t i = 0; (o = cli_option_at(v, i)) != NULL && o != &option_help; i++) {
        buf_word(out, " [");
        option_form(o, out);
        buf_char(out, ']');
    }
    if (!out->failed && out->size - at > USAGE_COLUMNS) {
        out->size = whole;
        buf_word(out, " [OPTION...]");
    }
}

/* `text` in lines of at most HELP_COLUMNS, all but the first indented. */
static void wrapped(buf *out, const char *text, size_t column, size_t indent)
{
    while (*text != '\0') {
        size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " ");

        if (column > indent && column + blanks + word > HELP_COLUMNS) {
            buf_fmt(out, "\n%*s", (int)indent, "");
            text += blanks;
            column = indent;
            blanks = 0;
        }
        buf_put(out, text, blanks + word);
        column += blanks + word;
        text += blanks + word;
    }
    buf_char(out, '\n');
}

/* A term and what it means, in two columns. */
static void term(buf *out, const char *name, size_t size, const char *what)
{
    buf_fmt(out, "  %.*s", (int)size, name);
    if (size + 4 > TERM_COLUMNS)
        buf_fmt(out, "\n%*s", (int)TERM_COLUMNS, "");
    else
        buf_fmt(out, "%*s", (int)(TERM_COLUMNS - size - 2), "");
    wrapped(out, what, TERM_COLUMNS, TERM_COLUMNS);
}

static void indented(buf *out, const char *text)
{
    while (*text != '\0') {
        size_t line = strcspn(text, "\n");

        buf_fmt(out, "  %.*s\n", (int)line, text);
        text += line + (text[line] == '\n');
    }
}

void help_verb(const cli_verb *v, buf *out)
{
    const cli_option *o;
    buf form;

    buf_fmt(out, "pawl %s: %s\n\nusage: ", v->name, v->what);
    help_usage(v, out);
    buf_char(out, '\n');
    if (v->run == NULL) {
        buf_word(out, "\nNot there yet: ");
        wrapped(out, v->later, 15, 0);
    }
    if (v->about != NULL)
        buf_fmt(out, "\n%s\n", v->about);
    buf_word(out, "\noptions:\n");
    buf_init(&form, NULL);
    for (size_t i = 0; (o = cli_option_at(v, i)) != NULL; i++) {
        buf_reset(&form);
        option_form(o, &form);
        if (form.failed)
            out->failed = true;
        else
            term(out, form.data, form.size, o->what);
    }
    buf_free(&form);
    if (v->example != NULL) {
        buf_word(out, v->run == NULL ? "\ninstead:\n" : "\nexample:\n");
        indented(out, v->example);
    }
}

/* ---- all of them -------------------------------------------------------------------------------------- */

void help_all(buf *out)
{
    const cli_section *section = cli_sections;

    buf_word(out, "Pawl runs agents as durable state machines: what has happened stays happened.\n\n"
                  "usage: pawl VERB [ARGUMENT...] [OPTION...]\n");
    for (size_t i = 0; cli_verbs[i] != NULL; i++) {
        const cli_verb *v = cli_verbs[i];

        if (section->title != NULL && section->first == v)
            buf_fmt(out, "\n%s\n", section++->title);
        term(out, v->name, strlen(v->name), v->what);
    }
    buf_word(out, "\n`pawl help VERB` says more of one. RUN is an id, the beginning of one, or @ for\nthe run that was begun last.\n"
                  "\n`pawl init` writes a first file, `pawl run FILE` runs it.\n");
}

static int help_run(cli_call *c)
{
    const cli_verb *v = c->nargs == 0 ? NULL : cli_verb_named(c->args[0]);
    int code;
    buf text;

    if (c->nargs > 0 && v == NULL)
        return help_unknown(c->args[0]);
    buf_init(&text, NULL);
    if (v == NULL)
        help_all(&text);
    else
        help_verb(v, &text);
    code = cli_put(c, &text) ? EXIT_DONE : EXIT_FAILED;
    buf_free(&text);
    return code;
}

const cli_verb verb_help = {
    .name = "help", .form = "[VERB]", .what = "list the verbs, or say how one is used", .most = 1, .run = help_run,
    .about = "Exit codes of all verbs: 0 completed; 1 failed or rejected, and findings of\n"
             "check, diff and replay --verify; 2 usage, or a bad file; 3 waits for an answer;\n"
             "4 canceled; 5 the store is not there, or busy; 6 held by another process, which\n"
             "is named; 130 and 143 stopped by Ctrl-C or SIGTERM, and the run is kept.\n"
             "\n"
             "stdout has results alone; progress, prompts and errors go to stderr. With --json\n"
             "a verb writes one JSON document, canonical and in one line.",
    .example = "pawl help run\npawl run --help",
};
