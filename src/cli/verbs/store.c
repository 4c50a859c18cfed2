/* store.c - `pawl store`: where the store of this project is, and moving one there that lies in the project.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "cli/store_place.h"
#include "cli/verbs.h"
#include "effect/spawn.h"

#include <stdlib.h>
#include <sys/stat.h>

static const char *url_path(const char *url)
{
    return url != NULL && strncmp(url, "sqlite:", 7) == 0 ? url + 7 : url;
}

/* What other verbs would open; NULL: the error was printed, and *code is the exit code. */
static const char *used(cli_call *c, store_place *p, int *code)
{
    const char *env = getenv("PAWL_STORE"), *given = c->store_url != NULL ? c->store_url : env != NULL && *env != '\0' ? env : NULL;
    pawl_err err = { PAWL_OK, "" };

    if (store_place_find(p, &err) == PAWL_OK && given != NULL)
        return url_path(given);
    if (err.code == PAWL_OK && !p->there && p->found[0] != '\0')
        return p->found;
    if (err.code == PAWL_OK && store_place_needed(p, &err) == PAWL_OK)
        return p->path;
    *code = cli_fail(c, err.code, &err);
    return NULL;
}

static int path_print(cli_call *c, const store_place *p, const char *path)
{
    struct stat st;
    int code;
    buf out;

    buf_init(&out, NULL);
    buf_fmt(&out, "%s\n", path);
    code = cli_put(c, &out) ? EXIT_DONE : EXIT_FAILED;
    buf_free(&out);
    if (stat(path, &st) != 0)
        cli_note(c, "it does not exist yet; `pawl run FILE` makes it");
    else if (strcmp(path, p->found) == 0)
        cli_note(c, "it lies where the agents of this project can reach it; `pawl store move` moves it to %s", p->path);
    return code;
}

static pawl_code move(cli_call *c, store_place *p, const char *from, const char *given, const char **to, pawl_err *err)
{
    struct stat st;
    pawl_code rc;

    *to = given != NULL ? url_path(given) : p->path;
    if (given == NULL && (rc = store_place_needed(p, err)) != PAWL_OK)
        return rc;
    if (strcmp(from, *to) == 0 && stat(from, &st) == 0)
        return fail(err, PAWL_INVALID, "%.160s is the store of this project already", from);
    if (strcmp(from, *to) == 0)
        return fail(err, PAWL_INVALID, "there is nothing to move: no pawl.db lies here or above, and --store names none");
    if (strcmp(from, p->found) == 0 && p->owned[0] != '\0')
        return fail(err, PAWL_INVALID, "%.160s belongs to another user; to move it, name it with --store", from);
    if (stat(*to, &st) == 0)
        return fail(err, PAWL_INVALID, "%.160s exists already: two stores are not put together; `pawl export` and `pawl import` copy single runs", *to);
    if (given == NULL && (rc = store_place_make(p, err)) != PAWL_OK)
        return rc;
    (void)c;
    return pawl_store_sqlite_move(from, *to, err);
}

static int store_run(cli_call *c)
{
    const char *what = c->nargs > 0 ? c->args[0] : "path", *from, *to = NULL;
    store_place *p = arena_get(&c->mem, sizeof *p);
    pawl_err err = { PAWL_OK, "" };
    int code = EXIT_FAILED;
    pawl_code rc;

    if (p == NULL)
        return cli_fail(c, PAWL_NOMEM, &(pawl_err){ PAWL_NOMEM, "no memory for the store" });
    if (strcmp(what, "move") != 0 && (strcmp(what, "path") != 0 || c->nargs > 1))
        return cli_usage(c, "\"%s\" is none of path and move", c->nargs > 1 ? c->args[1] : what);
    if ((from = used(c, p, &code)) == NULL)
        return code;
    if (strcmp(what, "path") == 0)
        return path_print(c, p, from);
    if (spawn_is_confined())
        return cli_refused(c);
    if (p->there && p->found[0] != '\0' && c->store_url == NULL)
        from = p->found;
    if ((rc = move(c, p, from, c->nargs > 1 ? c->args[1] : NULL, &to, &err)) != PAWL_OK)
        return cli_fail(c, rc, &err);
    cli_note(c, "%s is moved to %s: every run is there, and the file is whole", from, to);
    return EXIT_DONE;
}

const cli_verb verb_store = {
    .name = "store", .form = "[path|move [TO]]", .what = "print where the store is, or move it out of the project", .most = 2, .store = true,
    .run = store_run,
    .about = "The store of a project is $XDG_STATE_HOME/pawl/NAME-HASH/pawl.db, else in\n"
             "~/.local/state, where no agent reaches it. The project is the nearest folder\n"
             "with .pawl or .git, from the working folder upward, else the working folder.\n"
             "\n"
             "`move` takes the pawl.db that lies in the project, or the store of --store, and\n"
             "puts it there, or to TO. It is refused while a process has the store open. The\n"
             "copy is checked before the file is removed.",
    .example = "pawl store\npawl store move\npawl store move /srv/pawl/survey.db --store sqlite:old.db",
};
