/* init.c - `pawl init`: writes an example agent file, which needs no model and no network.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. An existing file is never overwritten. */
#include "cli/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const char text_head[] =
    "# An agent file: a graph of nodes over named channels of state. Every finished node is in the journal (pawl store), so\n"
    "# you can kill it at any time: `pawl resume @` continues. `pawl check` finds errors, `pawl schema` is for your editor.\n"
    "name: survey                    # runs are called survey-xxxx\n"
    "start: list\n"
    "\n"
    "state:                          # channels; `merge` is the rule that combines several writes\n"
    "  dir:    {default: \".\"}        # --input '{\"dir\":\"src\"}' replaces this value\n"
    "  files:  {}\n"
    "  facts:  {merge: append, default: []}\n"
    "  report: {}\n"
    "\n"
    "nodes:\n"
    "  list:                         # a command: a list of arguments, never a pasted string\n"
    "    run: [find, \"{{.dir}}\", -maxdepth, \"1\", -type, f, -not, -name, \"pawl.db*\"]\n"
    "    effect: pure                # it changes nothing: after a crash it may run again\n"
    "    lines: files                # its output, one element a line\n"
    "    each: {of: .files, node: measure, as: path}    # fan-out: one `measure` for each file\n"
    "    next: total                 # taken for an empty list\n";
static const char text_tail[] =
    "\n"
    "  measure:                      # these tasks run in parallel\n"
    "    run: [wc, -l, \"{{.path}}\"]\n"
    "    effect: pure\n"
    "    retry: {max_attempts: 3}\n"
    "    text: facts                 # its output is appended to `facts`\n"
    "    next: total                 # runs once, when every `measure` is done\n"
    "\n"
    "  total:                        # expressions are jq; a plain path such as .files needs no jq\n"
    "    set: {report: '\"\\(.facts | length) files, \\(.facts | map(split(\" \")[0] | tonumber) | add // 0) lines\"'}\n"
    "    next: write\n"
    "\n"
    "  write:\n"
    "    ask: \"Write this to report.txt: {{.report}}?\"  # a gate: needs approval\n"
    "    run: [tee, report.txt]\n"
    "    stdin: \"{{.report}}\\n\"\n"
    "    effect: idempotent\n"
    "    next: end\n"
    "\n"
    "output: .report                 # what `pawl run` prints at the end\n";

static int init_run(cli_call *c)
{
    const char *path = c->nargs > 0 ? c->args[0] : "agent.yaml";
    pawl_err err = {0};
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool good;

    if (fd < 0) {
        fail(&err, errno == EEXIST ? PAWL_INVALID : PAWL_IO, errno == EEXIST ? "%s exists already: name another file" : "%s: %s", path, strerror(errno));
        (void)cli_fail(c, err.code, &err);
        return EXIT_USAGE;
    }
    good = write(fd, text_head, sizeof text_head - 1) == (ssize_t)sizeof text_head - 1 &&
        write(fd, text_tail, sizeof text_tail - 1) == (ssize_t)sizeof text_tail - 1;
    if (close(fd) != 0 || !good) {
        fail(&err, PAWL_IO, "%s cannot be written", path);
        (void)cli_fail(c, PAWL_IO, &err);
        return EXIT_USAGE;
    }
    cli_note(c, "%s is written: an agent that counts the lines of your files", path);
    cli_note(c, "try: pawl run %s        then: pawl show @        and: pawl draw %s", path, path);
    return EXIT_DONE;
}

const cli_verb verb_init = {
    .name = "init", .form = "[FILE]", .what = "write an example agent file", .most = 1, .run = init_run,
    .about = "Writes an annotated file that needs no model and no network. The default FILE is\n"
             "agent.yaml.",
    .example = "pawl init\npawl run agent.yaml",
};
