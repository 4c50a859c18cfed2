/* import.c - `pawl import`: makes a run from the lines that `pawl export` wrote.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. Nothing is stored before all lines were read and checked. */
#include "cli/verbs.h"

#include <errno.h>

enum { PIECE_BYTES = 1 << 16, HEADER_BYTES_MAX = 1 << 16 };

typedef struct import_source {
    FILE *f;
    buf header;                 /* the first line, as far as it was read */
    bool headed;
    int error;
    char piece[PIECE_BYTES];
} import_source;

static bool read_piece(void *ctx, pawl_bytes *piece)
{
    import_source *in = ctx;
    size_t n = fread(in->piece, 1, sizeof in->piece, in->f);
    const char *end = n == 0 ? NULL : memchr(in->piece, '\n', n);

    *piece = (pawl_bytes){ in->piece, n };
    if (n == 0 && ferror(in->f)) {
        in->error = errno;
        return false;
    }
    if (!in->headed)
        buf_put(&in->header, in->piece, end == NULL ? n : (size_t)(end - in->piece));
    in->headed = in->headed || end != NULL || in->header.size > HEADER_BYTES_MAX;
    return true;
}

static void print_run(cli_call *c, const import_source *in)
{
    const pawl_value *header = value_read(&c->mem, in->header.data, in->header.size, "the header", NULL);
    const char *run = pawl_value_string(pawl_value_get(header, "id"));

    if (run != NULL)
        printf("%s\n", run);
}

static pawl_code import_from(cli_call *c, pawl_store *s, import_source *in, const char *path, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = pawl_history_import_from(s, read_piece, in, NULL, &why);

    if (rc == PAWL_OK)
        print_run(c, in);
    else if (in->error != 0)
        return fail(err, PAWL_INVALID, "%.180s cannot be read: %s", path, strerror(in->error));
    return rc == PAWL_OK ? rc : fail(err, rc, "%.60s: %s", path, why.text);
}

static int import_run(cli_call *c)
{
    const char *path = c->args[0];
    bool from_stdin = strcmp(path, "-") == 0;
    import_source *in = arena_zero(&c->mem, sizeof *in);
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = NULL;
    pawl_code rc = PAWL_OK;

    if (in == NULL)
        return cli_fail(c, PAWL_NOMEM, &(pawl_err){ PAWL_NOMEM, "no memory to read a run" });
    buf_init(&in->header, NULL);
    in->f = from_stdin ? stdin : fopen(path, "rbe");
    if (in->f == NULL)
        rc = fail(&err, PAWL_INVALID, "%.180s cannot be opened: %s", path, strerror(errno));
    else if ((s = cli_store(c, true, &err)) == NULL)
        rc = err.code;
    else
        rc = import_from(c, s, in, from_stdin ? "stdin" : path, &err);
    if (rc == PAWL_OK)
        cli_note(c, "it is stored in %s", cli_store_name(c));
    pawl_store_free(s);
    if (in->f != NULL && !from_stdin)
        fclose(in->f);
    buf_free(&in->header);
    return rc == PAWL_OK ? EXIT_DONE : cli_fail(c, rc, &err);
}

const cli_verb verb_import = {
    .name = "import", .form = "FILE", .what = "create a run from an export", .least = 1, .most = 1, .store = true,
    .acts = true, .run = import_run,
    .about = "FILE is the output of `pawl export`; - is stdin. All of it is read and checked\n"
             "before anything is created; a damaged or truncated file is refused with the line\n"
             "of the damage. The run keeps its id, which is printed, and continues like the\n"
             "original: only one of the two should. Child runs are separate runs: import them\n"
             "first.",
    .example = "gunzip <survey.jsonl.gz | pawl import -\npawl import survey.jsonl --store sqlite:other.db",
};
