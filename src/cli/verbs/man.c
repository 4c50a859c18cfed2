/* man.c - pawl(1) as scdoc reads it, from the rows of the verbs. */
#include "cli/verbs.h"

/* Text of ours, in which scdoc would take some characters as orders. */
static void plain(buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (strchr("\\_*#`[]|<>~", text[i]) != NULL || (i == 0 && strchr("-.:!", text[i]) != NULL))
            buf_char(out, '\\');
        buf_char(out, text[i]);
    }
}

static void literal(buf *out, const char *text, size_t size)
{
    buf_fmt(out, "```\n%.*s\n```\n\n", (int)size, text);
}

/* An empty line parts paragraphs; what describes JSON stays as it is. */
static void paragraphs(buf *out, const char *text)
{
    while (*text != '\0') {
        const char *end = strstr(text, "\n\n");
        size_t size = end == NULL ? strlen(text) : (size_t)(end - text);

        if (strncmp(text, "--json:", 7) == 0)
            literal(out, text, size);
        for (size_t line; size > 0 && strncmp(text, "--json:", 7) != 0; text += line, size -= line) {
            line = strcspn(text, "\n");
            line = line > size ? size : line;
            plain(out, text, line);
            buf_char(out, '\n');
            line += line < size;
        }
        buf_char(out, '\n');
        text += size + (end == NULL ? 0 : 2);
    }
}

static void option_out(buf *out, const cli_option *o)
{
    buf_fmt(out, "*--%s*", o->name);
    if (o->value != NULL) {
        buf_char(out, ' ');
        plain(out, o->value, strlen(o->value));
    }
    buf_word(out, "\n\t");
    plain(out, o->what, strlen(o->what));
    buf_word(out, "\n\n");
}

static void verb_out(buf *out, const cli_verb *v)
{
    const cli_option *o;

    buf_fmt(out, "## pawl %s%s%s\n\n", v->name, v->form[0] != '\0' ? " " : "", v->form);     /* in a heading nothing is an order */
    plain(out, v->what, strlen(v->what));
    buf_word(out, "\n\n");
    if (v->run == NULL)
        paragraphs(out, v->later);
    if (v->about != NULL)
        paragraphs(out, v->about);
    for (size_t i = 0; v->run != NULL && (o = cli_option_at(v, i)) != NULL; i++)
        if (strcmp(o->name, "help") != 0 && strcmp(o->name, "store") != 0)
            option_out(out, o);
    if (v->example != NULL)
        literal(out, v->example, strlen(v->example));
}

static const char head[] =
    "# NAME\n\npawl - run agents as durable state machines\n\n"
    "# SYNOPSIS\n\n*pawl* _VERB_ [_ARGUMENT_...] [_OPTION_...]\n\n*pawl help* [_VERB_]\n\n"
    "# DESCRIPTION\n\n"
    "An agent file describes a machine: nodes, what each of them does, and where it leads. *pawl run* begins a run of it, whose every "
    "step is stored before anything follows from it. Killed at any moment, it goes on where it stood; it waits for people, timers and "
    "answers for as long as it takes, without a process.\n\n"
    "RUN is an id, the beginning of one, or @ for the run that was begun last. DURATION is 250ms, 10s, 5m, 2h or 1d. Options may stand "
    "before and after arguments, as *--name* _VALUE_ or *--name=*_VALUE_; after *--* nothing is an option. stdout has results alone; "
    "progress, prompts and errors go to stderr. With *--json* a verb writes one JSON document, canonical and in one line.\n\n";

static const char tail[] =
    "# OPTIONS OF MANY VERBS\n\n"
    "*--store* _URL_\n\tthe store: sqlite:PATH or memory:. Else PAWL\\_STORE, else the nearest pawl.db in this folder or above it, else "
    "one in this folder, which is made by verbs that begin runs. One that is found and belongs to another user is not used.\n\n"
    "*-h*, *--help*\n\thow the verb is used\n\n"
    "*-V*, *--version*\n\tin place of a verb: which Pawl this is\n\n"
    "# EXIT STATUS\n\n"
    "*0*\n\tcompleted\n\n"
    "*1*\n\tfailed or rejected; findings of check, diff and replay --verify\n\n"
    "*2*\n\tusage, or a bad file\n\n"
    "*3*\n\tthe run waits for an answer\n\n"
    "*4*\n\tcanceled\n\n"
    "*5*\n\tthe store is not there, or busy\n\n"
    "*6*\n\tanother process, which is named, works on the run\n\n"
    "*130*, *143*\n\tstopped by Ctrl-C or SIGTERM; the run is kept\n\n"
    "# ENVIRONMENT\n\n"
    "*PAWL\\_STORE*\n\tthe store, where --store is not given\n\n"
    "*PAWL\\_LOG*\n\t_LEVEL_ or _LEVEL:FILE_: one JSON line a transition on stderr or in a file; levels are error, warn, info, debug, trace\n\n"
    "*PAWL\\_USER*\n\twho answers, in place of USER\n\n"
    "*NO\\_COLOR*, *TERM*\n\tno colours when NO\\_COLOR is set and not empty, or TERM is dumb\n\n"
    "# FILES\n\n"
    "*pawl.db*\n\ta store: a SQLite file. Beside it stand pawl.db-wal and pawl.db-shm while it is used, and pawl.db-lock\n\n"
    "# SEE ALSO\n\n*jq*(1), *sqlite3*(1)\n";

int man_page(const cli_program *p)
{
    const cli_section *section = p->sections;
    int code = EXIT_DONE;
    buf out;

    buf_init(&out, NULL);
    buf_fmt(&out, "pawl(1) \"pawl %s\" \"Pawl\"\n\n%s", pawl_version(), head);
    for (size_t i = 0; p->verbs[i] != NULL; i++) {
        if (section->title != NULL && section->first == p->verbs[i])
            buf_fmt(&out, "# %s\n\n", section++->title);
        verb_out(&out, p->verbs[i]);
    }
    buf_put(&out, tail, sizeof tail - 1);
    if (out.failed)
        code = EXIT_FAILED;
    else
        fwrite(out.data, 1, out.size, stdout);
    buf_free(&out);
    return code;
}
