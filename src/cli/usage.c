/* usage.c - prints how a verb is used, from its row: one line, or all of --help.
 *
 * Called by options.c, the verbs help and man on the main thread. Pure except help_unknown, which writes to stderr. */
#include "cli/verbs.h"

enum { USAGE_COLUMNS = 72, HELP_COLUMNS = 80, TERM_COLUMNS = 24 };

static const cli_option option_store = { "store", "URL", "the store: sqlite:PATH, memory:; else PAWL_STORE, else that of this project (`pawl store`)" };
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

const cli_verb *cli_verb_named(const cli_program *p, const char *name)
{
    for (size_t i = 0; p->verbs[i] != NULL; i++)
        if (strcmp(p->verbs[i]->name, name) == 0)
            return p->verbs[i];
    return NULL;
}

/* What other programs call it. */
static const struct { const char *word, *verb; } synonyms[] = {
    { "accept", "approve" }, { "continue", "resume" }, { "delete", "rm" },   { "describe", "show" }, { "events", "log" },
    { "exec", "run" },       { "gc", "prune" },        { "get", "show" },    { "graph", "draw" },    { "history", "log" },
    { "kill", "cancel" },    { "lint", "check" },      { "list", "ls" },     { "new", "init" },      { "ps", "ls" },
    { "reject", "deny" },    { "remove", "rm" },       { "signal", "send" }, { "start", "run" },     { "status", "show" },
    { "stop", "cancel" },    { "tail", "log" },        { "test", "sim" },       { "trace", "log" },      { "validate", "check" },
};

/* " (did you mean ...?)", or nothing. */
static void verb_near(const char *name, const char *const *names, size_t n, char *out, size_t size)
{
    did_you_mean(out, size, name, names, n);
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(name, synonyms[i].word) == 0)
            snprintf(out, size, " (did you mean \"%s\"?)", synonyms[i].verb);
}

int help_unknown(const cli_program *p, const char *name)
{
    const char *names[64];
    char near[96];
    buf said;
    size_t n = 0;

    if (name == NULL) {
        fputs("pawl: no verb; usage: pawl VERB [ARGUMENT...], and `pawl help` lists the verbs\n", stderr);
        return EXIT_USAGE;
    }
    for (; p->verbs[n] != NULL && n < sizeof names / sizeof *names; n++)
        names[n] = p->verbs[n]->name;
    buf_init(&said, NULL);
    cli_clean(&said, name, strlen(name));
    buf_char(&said, '\0');
    verb_near(name, names, n, near, sizeof near);
    if (name[0] == '-')
        fprintf(stderr, "pawl: no option %s here; options come after the verb: pawl VERB [OPTION...]\n", said.failed ? "" : said.data);
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

/* ---- what a call lacks ----------------------------------------------------------------------------- */

/* What the words mean that stand for arguments in the forms of the verbs; `verb`: in that of this one. */
static const struct { const char *verb, *word, *what; } arguments[] = {
    { "import", "FILE", "a file of `pawl export`, or - for stdin" },
    { "check", "FILE...", "an agent file, or - for stdin" },
    { NULL, "FILE", "an agent file (`pawl init` writes one)" },
    { NULL, "FILE|RUN", "an agent file, or the id of a run (`pawl ls` lists them, @ is the most recent one)" },
    { NULL, "RUN", "the id of a run (`pawl ls` lists them, @ is the most recent one)" },
    { NULL, "RUN...", "the ids of runs that are over (`pawl ls` lists them, @ is the most recent run)" },
    { NULL, "VALUE", "the answer, as JSON or as text (`pawl inbox` shows the question)" },
    { NULL, "MODE", "plan, default, acceptEdits or bypassPermissions" },
    { NULL, "TEXT", "the text of the input, or the name of a signal with --signal" },
    { NULL, "PATH", "the new file" },
    { NULL, "A", "the id of the run that comes first (`pawl ls` lists them)" },
    { NULL, "B", "the id of the run that the other one is compared with (`pawl ls` lists them)" },
    { NULL, "bash|zsh|fish", "your shell" },
};

static const char *argument_means(const cli_verb *v, const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        if ((arguments[i].verb == NULL || strcmp(arguments[i].verb, v->name) == 0) && strlen(arguments[i].word) == size &&
            strncmp(arguments[i].word, word, size) == 0)
            return arguments[i].what;
    return NULL;
}

/* The first example with these words, without its comment. */
static void example_put(const cli_verb *v, const char *words, buf *out)
{
    for (const char *line = v->example; line != NULL && *line != '\0';) {
        size_t size = strcspn(line, "\n"), used = size;
        const char *at = strstr(line, words), *note = strstr(line, "  #");

        if (note != NULL && note < line + size)
            used = (size_t)(note - line);
        while (used > 0 && line[used - 1] == ' ')
            used--;
        if (at != NULL && at < line + used) {
            buf_fmt(out, "; for example: %.*s", (int)used, line);
            return;
        }
        line += size + (line[size] == '\n');
    }
}

/* Argument `n` of the form, from 0; those in brackets may be left out, and do not count when others are asked for. Its size; 0: there is none. */
static size_t argument_at(const cli_verb *v, size_t n, const char **word)
{
    const bool all = n >= v->least;
    bool inside = false;

    for (const char *at = v->form; *at != '\0';) {
        size_t size;

        for (; *at == ' ' || *at == '['; at++)
            inside = inside || *at == '[';
        size = strcspn(at, " ]");
        *word = at;
        if ((all || !inside) && n-- == 0)
            return size;
        at += size;
        for (; *at == ']'; at++)
            inside = false;
    }
    return 0;
}

void usage_missing(const cli_verb *v, size_t n, buf *out)
{
    const char *word = "", *what;
    const size_t size = argument_at(v, n, &word);
    char name[64];

    what = argument_means(v, word, size);
    buf_fmt(out, "%.*s is missing%s%s", (int)(size > 3 && strncmp(word + size - 3, "...", 3) == 0 ? size - 3 : size), word, what != NULL ? ": " : "",
            what != NULL ? what : "");
    snprintf(name, sizeof name, "pawl %s", v->name);
    example_put(v, name, out);
    buf_char(out, '\0');
}

void usage_value(const cli_verb *v, const cli_option *o, buf *out)
{
    char name[64];

    buf_fmt(out, "--%s needs a value: --%s %s, %s", o->name, o->name, o->value, o->what);
    snprintf(name, sizeof name, "--%s ", o->name);
    example_put(v, name, out);
    buf_char(out, '\0');
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

void help_term(buf *out, const char *name, const char *what) { term(out, name, strlen(name), what); }

void help_verb(const cli_verb *v, buf *out)
{
    const cli_option *o;
    buf form;

    buf_fmt(out, "pawl %s: %s\n\nusage: ", v->name, v->what);
    help_usage(v, out);
    buf_char(out, '\n');
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
        buf_word(out, "\nexample:\n");
        indented(out, v->example);
    }
}
