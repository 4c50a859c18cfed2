/* help.c - `pawl help`: lists the verbs of the program, or explains one of them.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "cli/verbs.h"

static void help_all(const cli_program *p, buf *out)
{
    const cli_section *section = p->sections;

    buf_word(out, "Pawl runs agents as durable state machines: completed steps are\nnever lost or repeated.\n\n"
                  "usage: pawl VERB [ARGUMENT...] [OPTION...]\n");
    for (size_t i = 0; p->verbs[i] != NULL; i++) {
        const cli_verb *v = p->verbs[i];

        if (section->title != NULL && section->first == v)
            buf_fmt(out, "\n%s\n", section++->title);
        help_term(out, v->name, v->what);
    }
    buf_word(out, "\n`pawl help VERB` explains a verb. RUN is an id, a unique prefix of one, or @ for\nthe most recent run.\n"
                  "\n`pawl init` writes an example file, `pawl run FILE` runs it.\n");
}

static int help_run(cli_call *c)
{
    const cli_verb *v = c->nargs == 0 ? NULL : cli_verb_named(c->program, c->args[0]);
    int code;
    buf text;

    if (c->nargs > 0 && v == NULL)
        return help_unknown(c->program, c->args[0]);
    buf_init(&text, NULL);
    if (v == NULL)
        help_all(c->program, &text);
    else
        help_verb(v, &text);
    code = cli_put(c, &text) ? EXIT_DONE : EXIT_FAILED;
    buf_free(&text);
    return code;
}

const cli_verb verb_help = {
    .name = "help", .form = "[VERB]", .what = "list the verbs, or explain one", .most = 1, .run = help_run,
    .about = "Exit codes of all verbs: 0 completed; 1 failed or rejected, and findings of\n"
             "check, diff, verify and replay --verify; 2 usage, or an invalid file; 3 waiting\n"
             "for an answer; 4 canceled; 5 the store (or the file of anchors) is missing or\n"
             "busy; 6 held by another process, which is named; 130 and 143 stopped by Ctrl-C\n"
             "or SIGTERM, and the run is kept.\n"
             "\n"
             "stdout has results only; progress, prompts and errors go to stderr. With --json\n"
             "a verb writes one JSON document, canonical and in one line.",
    .example = "pawl help run\npawl run --help",
};
