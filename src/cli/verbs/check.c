/* check.c - `pawl check`: prints every error of agent files before anything runs.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "cli/prove.h"
#include "cli/verbs.h"

static const pawl_value *fault_json(arena *mem, const file_fault *f)
{
    return value_pack(mem, NULL, "{s:i,s:s,s:s,s:i,s:s,s:s}", "column", (int64_t)f->at.column, "file", f->at.file, "kind", f->kind, "line", (int64_t)f->at.line,
                      "severity", f->severity == PAWL_SEVERITY_FAULT ? "fault" : "note", "text", f->text);
}

static const pawl_value *file_json(arena *mem, const char *name, const session *s, bool good)
{
    const pawl_value *all = value_pack(mem, NULL, "[]"), *v;

    for (const file_fault *f = s->faults.first; f != NULL; f = f->next)
        all = value_push(mem, all, fault_json(mem, f));
    v = value_pack(mem, NULL, "{s:s,s:v,s:b}", "file", name, "findings", all, "ok", (int)good);
    if (s->file != NULL && s->file->agent != NULL)
        v = value_with(mem, v, "tools", value_uint(mem, s->file->agent->a.ntools));
    else if (s->file != NULL)
        v = value_with(mem, v, "nodes", value_uint(mem, s->file->nnodes));
    if (s->machine != NULL) {
        const char *digest = pawl_machine_hash(s->machine), *machine = pawl_machine_name(s->machine);

        v = value_with(mem, v, "hash", value_string(mem, digest, strlen(digest)));
        v = value_with(mem, v, "name", value_string(mem, machine, strlen(machine)));
    }
    return v;
}

static void print_good(const cli_call *c, const char *name, const session *s)
{
    size_t nodes = s->file != NULL ? s->file->nnodes : 0, notes = s->faults.warnings;

    if (s->file == NULL)
        cli_note(c, "%s: good: a plug-in that is agent \"%s\"", name, pawl_machine_name(s->machine));
    else if (s->file->agent != NULL)
        cli_note(c, "%s: good: agent \"%s\" with %zu %s, %zu %s", name, s->file->name, s->file->agent->a.ntools,
                 s->file->agent->a.ntools == 1 ? "tool" : "tools", notes, notes == 1 ? "note" : "notes");
    else
        cli_note(c, "%s: good: %zu %s, %zu %s", name, nodes, nodes == 1 ? "node" : "nodes", notes, notes == 1 ? "note" : "notes");
}

static const char *const of_prove[] = { "modes", "except", "hooks-ask", "path" };

/* Returns the exit code of this file. `files`: its object is added to that array; NULL: it is for a person. */
static int check_file(cli_call *c, const char *given, const pawl_value **files)
{
    const char *name = strcmp(given, "-") == 0 ? "/dev/stdin" : given;
    pawl_err err = {0};
    session *s = session_load_quietly(c, name, &err);
    bool good;

    if (s == NULL)
        return cli_fail(c, err.code, &err);
    if (s->machine != NULL && s->file != NULL && cli_given(c, "prove") == NULL)   /* a proof is a search of its own */
        file_search(s->file, s->machine, &s->faults);
    good = s->machine != NULL && s->faults.count == 0;
    if (!good && s->faults.count == 0) {    /* it could not be read, or there was no memory */
        cli_fail(c, err.code, &err);
        session_free(s);
        return EXIT_USAGE;
    }
    if (good && cli_given(c, "prove") != NULL) {
        int code = prove_print(c, s);

        session_free(s);
        return code;
    }
    if (files != NULL)
        *files = value_push(&c->mem, *files, file_json(&c->mem, given, s, good));
    else
        session_print_faults(c, &s->faults, true, cli_out(c));
    (void)fflush(cli_out(c));       /* the lines on stderr are about these: its errors are reported at the end of the program */
    if (files == NULL && good)
        print_good(c, given, s);
    else if (files == NULL)
        cli_note(c, "%s: %zu %s", given, s->faults.count, s->faults.count == 1 ? "fault" : "faults");
    session_free(s);
    return good ? EXIT_DONE : EXIT_FAILED;
}

static int check_run(cli_call *c)
{
    const pawl_value *files = value_pack(&c->mem, NULL, "[]");
    int worst = EXIT_DONE;

    for (size_t i = 0; i < sizeof of_prove / sizeof *of_prove; i++)
        if (cli_given(c, of_prove[i]) != NULL && cli_given(c, "prove") == NULL)
            return cli_usage(c, "--%s belongs to --prove", of_prove[i]);
    if (cli_given(c, "prove") != NULL && c->nargs > 1)
        return cli_usage(c, "--prove takes one file: leave \"%s\" out", c->args[1]);
    for (size_t i = 0; i < c->nargs; i++) {
        const int code = check_file(c, c->args[i], c->json ? &files : NULL);

        worst = code > worst ? code : worst;
    }
    if (c->json && cli_given(c, "prove") == NULL && pawl_value_size(files) > 0 &&
        !cli_json(c, c->nargs == 1 ? pawl_value_at(files, 0) : value_pack(&c->mem, NULL, "{s:v,s:b}", "files", files, "ok", (int)(worst == EXIT_DONE))))
        return EXIT_FAILED;
    return worst;
}

static const cli_option options[] = {
    { "json", NULL, "one JSON object: {\"file\",\"findings\",\"hash\",\"name\",\"nodes\",\"ok\"}; of several files {\"files\",\"ok\"}" },
    { "prove", NULL, "prove that no node acts without a person's approval, or print the shortest counterexample" },
    { "modes", "MODES", "with --prove: the modes that may be set; plan,default,acceptEdits" },
    { "except", "NODE...", "with --prove: this node may act without approval; inside a graph NODE/NODE" },
    { "hooks-ask", NULL, "with --prove: assume that hooks that answer ask or deny" },
    { "path", "FILE", "with --prove: write the path to a file, for `pawl sim --replay`" },
    { NULL, NULL, NULL },
};

const cli_verb verb_check = {
    .name = "check", .form = "FILE...", .what = "find all errors in agent files", .options = options, .least = 1, .most = UINT8_MAX,
    .run = check_run,
    .example = "pawl check survey.yaml\npawl check *.yaml\npawl check deploy.yaml --prove --modes plan,default\npawl check survey.yaml --json | jq -r '.findings[].text'",
    .about = "Prints each error on stdout with its line and column and a suggested fix; it\n"
             "also searches the states that the graph can reach. Notes are not errors. Exits\n"
             "with 1 if there is an error, with 2 if a file cannot be read. Nothing is run,\n"
             "but a plug-in that a file names is opened. FILE - is stdin.\n"
             "\n"
             "A finding in JSON: {\"column\",\"file\",\"kind\",\"line\",\"severity\",\"text\"}.\n"
             "\n"
             "--prove searches everything that the file can do, with the rules and hooks that\n"
             "a run in this folder would have: no command of a destructive node (a run, shell\n"
             "or plug-in that is not pure, an http that writes) is performed without a\n"
             "person's approval of that call. Exits with 0 and a certificate, or with 1 and\n"
             "the shortest path to such a command.",
};
