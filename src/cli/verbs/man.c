/* man.c - the source of the manual page pawl(1), made from the rows of the verbs.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "cli/verbs.h"

/* Escapes characters of our texts that are markup for scdoc. */
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

/* Empty lines separate paragraphs; lines that describe JSON keep their breaks. */
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

    buf_fmt(out, "## pawl %s%s%s\n\n", v->name, v->form[0] != '\0' ? " " : "", v->form);     /* a heading has no markup */
    plain(out, v->what, strlen(v->what));
    buf_word(out, "\n\n");
    if (v->about != NULL)
        paragraphs(out, v->about);
    for (size_t i = 0; (o = cli_option_at(v, i)) != NULL; i++)
        if (strcmp(o->name, "help") != 0 && strcmp(o->name, "store") != 0)
            option_out(out, o);
    if (v->example != NULL)
        literal(out, v->example, strlen(v->example));
}

static const char head[] =
    "# NAME\n\npawl - run agents as durable state machines\n\n"
    "# SYNOPSIS\n\n*pawl* _VERB_ [_ARGUMENT_...] [_OPTION_...]\n\n*pawl help* [_VERB_]\n\n"
    "# DESCRIPTION\n\n"
    "An agent file describes a machine: nodes, what each of them does, and which node follows. *pawl run* starts a run of it. Each step of "
    "the run is persisted before its side effects run. A run that was killed at any moment continues from its last stored step; it waits for "
    "people, timers and answers as long as necessary, without a process.\n\n"
    "RUN is an id, a unique prefix of one, or @ for the most recent run. DURATION is 250ms, 10s, 5m, 2h or 1d. Options come "
    "before or after arguments, as *--name* _VALUE_ or *--name=*_VALUE_; after *--* nothing is an option. stdout has results only; "
    "progress, prompts and errors go to stderr. With *--json* a verb writes one JSON document, canonical and in one line.\n\n";

static const char tail[] =
    "# OPTIONS OF MANY VERBS\n\n"
    "*--store* _URL_\n\tthe store: sqlite:PATH or memory:. Else PAWL\\_STORE, else that of this project (FILES), which verbs that start runs "
    "create. A pawl.db in this folder or above it is used as long as the project has no other store; one of another user is refused.\n\n"
    "*-h*, *--help*\n\tprint the help of the verb\n\n"
    "*-V*, *--version*\n\tinstead of a verb: print the version\n\n"
    "# EXIT STATUS\n\n"
    "*0*\n\tcompleted\n\n"
    "*1*\n\tfailed or rejected; findings of check, diff, verify and replay --verify\n\n"
    "*2*\n\tusage, or an invalid file\n\n"
    "*3*\n\tthe run waits for an answer\n\n"
    "*4*\n\tcanceled\n\n"
    "*5*\n\tthe store is missing or busy\n\n"
    "*6*\n\tanother process, which is named, holds the run\n\n"
    "*130*, *143*\n\tstopped by Ctrl-C or SIGTERM; the run is kept\n\n"
    "# ENVIRONMENT\n\n"
    "*PAWL\\_STORE*\n\tthe store, if --store is not given\n\n"
    "*PAWL\\_LOG*\n\t_LEVEL_ or _LEVEL:FILE_: one JSON line for each transition on stderr or in a file; levels are error, warn, info, debug, trace\n\n"
    "*PAWL\\_MODEL*\n\tthe model of pawl chat, if neither its file nor --model names one\n\n"
    "*PAWL\\_TOKEN*\n\tthe token of pawl serve, if --token-file is not given\n\n"
    "_NAME_*\\_API\\_KEY*, _NAME_*\\_BASE\\_URL*\n\tkey and address of the provider NAME of models\n\n"
    "*PAWL\\_SANDBOX*\n\trequired, preferred or off: whether commands of agents need their sandbox; else sandbox in your settings\n\n"
    "*PAWL\\_ANCHOR*, *PAWL\\_RECORD*, *PAWL\\_RECORD\\_MODE*\n\tas --anchor, --record and --record-mode, for verbs that drive a run\n\n"
    "*OTEL\\_EXPORTER\\_OTLP\\_ENDPOINT* and its companions\n\tas --otlp, for serve and worker; *PAWL\\_SEMCONV*: the version of the names in spans\n\n"
    "*SSL\\_CERT\\_FILE*\n\tcertificates that http nodes trust, instead of the system's\n\n"
    "*XDG\\_STATE\\_HOME*, *XDG\\_CONFIG\\_HOME*\n\tthe folders of stores and of settings, instead of ~/.local/state and ~/.config\n\n"
    "*NO\\_COLOR*, *TERM*\n\tno colours if NO\\_COLOR is set and not empty, or TERM is dumb\n\n"
    "# FILES\n\n"
    "*$XDG\\_STATE\\_HOME/pawl/*_NAME-HASH_*/pawl.db*, else in *~/.local/state*\n\tthe store of a project, a SQLite file; a file *project* beside it "
    "names the project: the nearest folder with .pawl or .git. Beside it are also pawl.db-lock and, while it is in use, pawl.db-wal and pawl.db-shm\n\n"
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
