/* export.c - `pawl export`: writes a run as lines of JSON.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. A file that could not be written whole is removed. */
#include "cli/open_session.h"
#include "cli/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool line_out(void *ctx, pawl_bytes line)
{
    return fwrite(line.data, 1, line.size, ctx) == line.size;
}

/* Creates a new file only: an existing one may be the only copy of another run. */
static FILE *file_new(const char *path, pawl_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");

    if (f != NULL)
        return f;
    if (fd >= 0)
        close(fd);
    fail(err, errno == EEXIST ? PAWL_INVALID : PAWL_IO,
         errno == EEXIST ? "%.180s exists already; name a new file" : "%.180s: the file cannot be made: %s", path, strerror(errno));
    return NULL;
}

static pawl_code export_to(pawl_store *s, const char *run, bool record, const char *path, FILE *f, bool own, pawl_err *err)
{
    pawl_code rc = record ? record_export(s, run, line_out, f, err) : pawl_history_export(s, run, line_out, f, err);

    errno = 0;
    if (rc == PAWL_OK && fflush(f) != 0)
        rc = fail(err, PAWL_IO, "%.160s cannot be written: %s", path, strerror(errno));
    if (own) {
        if (fclose(f) != 0 && rc == PAWL_OK)
            rc = fail(err, PAWL_IO, "%.160s cannot be written: %s", path, strerror(errno));
        if (rc != PAWL_OK)
            unlink(path);
    }
    return rc;
}

static int export_run(cli_call *c)
{
    const char *path = cli_given(c, "out");
    char run[RUN_ID_BYTES];
    pawl_err err = { PAWL_OK, "" };
    int code = EXIT_FAILED;
    pawl_store *s = cli_store_of(c, c->args[0], run, &code);
    FILE *f;
    pawl_code rc;

    if (s == NULL)
        return code;
    f = path == NULL || strcmp(path, "-") == 0 ? cli_out(c) : file_new(path, &err);
    rc = f == NULL ? err.code : export_to(s, run, cli_given(c, "record") != NULL, f == cli_out(c) ? "stdout" : path, f, f != cli_out(c), &err);
    pawl_store_free(s);
    if (rc == PAWL_OK && f != cli_out(c))
        cli_note(c, cli_given(c, "record") != NULL ? "the answers of the models of %s are in %s" : "%s is in %s", run, path);
    return rc == PAWL_OK ? EXIT_DONE : cli_fail(c, rc, &err);
}

static const cli_option options[] = {
    { "out", "FILE", "write to this new file instead of stdout" },
    { "record", NULL, "the answers of the run's models and of its children's, for --record" },
    { NULL, NULL, NULL },
};

const cli_verb verb_export = {
    .name = "export", .form = "RUN", .what = "write a run as lines of JSON", .options = options, .least = 1, .most = 1,
    .store = true, .run = export_run,
    .about = "Writes the journal byte for byte, and what else the store has: large values,\n"
             "attempt counters, open deliveries. The first line is a header, each other line\n"
             "an object with one member: base, record, entry, blob, mark, delivery, and end\n"
             "with a digest of everything. A run can be exported while a process drives it.\n"
             "\n"
             "With --record: one line for each answer of a model, with its request; `pawl run`\n"
             "and others reuse these answers with --record FILE, without a model.",
    .example = "pawl export survey-7k2m | gzip >survey.jsonl.gz\npawl export @ --out survey.jsonl\n"
               "pawl export @ --record --out answers.jsonl",
};
