/* prove.c - files that have a proof: `pawl check --prove`, and --proven of run and worker.
 *
 * Called by the verbs check, run, worker and sim on the main thread. Owns nothing that outlives the call. */
#include "cli/prove.h"
#include "app/settings.h"

#include <errno.h>

unsigned prove_modes(const cli_call *c, const char *text)
{
    unsigned all = 0;

    while (text != NULL && *text != '\0') {
        char name[24];
        size_t size = strcspn(text, ",");
        pawl_mode m;

        snprintf(name, sizeof name, "%.*s", size < sizeof name ? (int)size : 0, text);
        if ((m = pawl_mode_named(name)) == PAWL_MODE_NONE) {
            cli_usage(c, "--modes is a list such as plan,default,acceptEdits, and \"%.*s\" is no mode", (int)size, text);
            return 0;
        }
        all |= 1u << m;
        text += size + (text[size] == ',');
    }
    if (all == 0)
        cli_usage(c, "--modes is a list such as plan,default,acceptEdits");
    return all;
}

/* ---- said --------------------------------------------------------------------------------------------------- */

static bool text_write(const char *path, const pawl_value *v, pawl_err *err)
{
    FILE *f = fopen(path, "wb");
    bool good;
    buf b;

    if (f == NULL) {
        fail(err, PAWL_IO, "%s: %s", path, strerror(errno));
        return false;
    }
    buf_init(&b, NULL);
    canon(&b, v);
    buf_char(&b, '\n');
    good = !b.failed && fwrite(b.data, 1, b.size, f) == b.size;
    good = fclose(f) == 0 && good;
    if (!good)
        fail(err, PAWL_IO, "%s: %s", path, b.failed ? "no memory" : strerror(errno));
    buf_free(&b);
    return good;
}

/* A graph that has ended is one line, with the steps inside it. */
static bool print_path(cli_call *c, const pawl_value *steps)
{
    pawl_iter it = pawl_iter_of(steps);
    const pawl_value *one;
    size_t n = 0;
    bool good;
    buf b;

    buf_init(&b, NULL);
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *text = pawl_value_string(pawl_value_get(one, "text"));

        if (text == NULL)
            continue;
        buf_fmt(&b, "%zu ", ++n);
        cli_clean(&b, text, strlen(text));
        buf_char(&b, '\n');
    }
    good = cli_put(c, &b);
    buf_free(&b);
    return good;
}

static void print_modes(const pawl_value *v, buf *b)
{
    const pawl_value *modes = pawl_value_get(v, "modes");

    for (size_t i = 0; i < pawl_value_size(modes); i++)
        buf_fmt(b, "%s%s", i == 0 ? "" : ", ", pawl_value_string(pawl_value_at(modes, i)));
}

static void print_verdict(cli_call *c, const prove_result *r)
{
    const size_t n = pawl_value_size(pawl_value_get(r->json, "destructive"));
    buf b;

    buf_init(&b, NULL);
    print_modes(r->json, &b);
    buf_char(&b, '\0');
    if (b.failed)
        cli_note(c, "%s: no memory", c->args[0]);
    else if (r->verdict == PROVE_PROVED)
        cli_note(c, "%s: proved: none of %zu destructive %s runs without approval, in %s (%llu states, %llu transitions)", c->args[0], n,
                 n == 1 ? "node" : "nodes",
                 b.data, (unsigned long long)r->states, (unsigned long long)r->transitions);
    else if (r->verdict == PROVE_BROKEN)
        cli_note(c, "%s: not proved: the path above ends in a command that runs without approval", c->args[0]);
    else
        cli_note(c, "%s: not decided: %s; nothing was found in %llu states", c->args[0], r->why, (unsigned long long)r->states);
    buf_free(&b);
}

int prove_print(cli_call *c, session *s)
{
    const char *except[256], *one, *modes = cli_given(c, "modes"), *path = cli_given(c, "path");
    prove_ask q = { .except = except, .hooks_ask = cli_given(c, "hooks-ask") != NULL };
    prove_result r = {0};
    pawl_err err = {0};

    if (s->file == NULL)
        return cli_usage(c, "%s is a plug-in: its code decides what it does, and nothing can be proved of it", c->args[0]);
    if (session_is_agent(s))
        return cli_usage(c, "%s is an agent: its model decides what it asks for; `pawl policy why` shows how the rules decide a call", c->args[0]);
    if (modes != NULL && (q.modes = prove_modes(c, modes)) == 0)
        return EXIT_USAGE;
    while ((one = cli_given_at(c, "except", q.nexcept)) != NULL && q.nexcept < sizeof except / sizeof *except)
        except[q.nexcept++] = one;
    q.policy = settings_policy(c != NULL ? &c->app : NULL, &s->mem, s->file, s->folder, NULL, &err);
    if (err.code != PAWL_OK || file_prove(s->file, s->machine, &q, &s->mem, &r, &err) != PAWL_OK)
        return cli_fail(c, err.code, &err);
    if (path != NULL && r.verdict == PROVE_BROKEN && !text_write(path, pawl_value_get(r.json, "path"), &err))
        return cli_fail(c, err.code, &err);
    if (c->json) {
        cli_json(c, r.json);
    } else {
        if (r.verdict == PROVE_BROKEN)
            print_path(c, pawl_value_get(r.json, "path"));
        print_verdict(c, &r);
    }
    return r.verdict == PROVE_PROVED ? EXIT_DONE : EXIT_FAILED;
}

/* ---- refused ---------------------------------------------------------------------------------------------------- */

pawl_code prove_admits(session *s, pawl_mode mode, const pawl_value *policy, const pawl_value *grants, pawl_err *err)
{
    prove_ask q = { .modes = 1u << mode, .policy = policy, .grants = grants };
    prove_result r = {0};
    arena mem;
    pawl_code rc;

    if (session_is_agent(s))
        return fail(err, PAWL_DENIED, "%s is an agent: nothing is proved of its calls, each is decided when it is made", pawl_machine_name(session_machine(s)));
    if (s->file == NULL)
        return fail(err, PAWL_DENIED, "%s is a plug-in, of which nothing is proved", pawl_machine_name(session_machine(s)));
    arena_init(&mem, NULL, 1 << 16);
    rc = file_prove(s->file, session_machine(s), &q, &mem, &r, err);
    if (rc == PAWL_OK && r.verdict == PROVE_BROKEN)
        rc = fail(err, PAWL_DENIED, "no proof in %s: %s: `pawl check --prove` shows the path", pawl_mode_name(mode), r.why);
    else if (rc == PAWL_OK && r.verdict == PROVE_UNDECIDED)
        rc = fail(err, PAWL_DENIED, "no proof in %s: not decided, %s", pawl_mode_name(mode), r.why);
    arena_free(&mem);
    return rc;
}

/* ---- replayed ----------------------------------------------------------------------------------------------------- */

static const pawl_value *path_read(session *s, const char *path, pawl_err *err)
{
    enum { PATH_FILE_BYTES_MAX = 16 << 20 };
    FILE *f = fopen(path, "rb");
    const pawl_value *v = NULL;
    char part[16384];
    size_t n;
    buf b;

    if (f == NULL) {
        fail(err, PAWL_INVALID, "%s: %s", path, strerror(errno));
        return NULL;
    }
    buf_init(&b, NULL);
    while (b.size <= PATH_FILE_BYTES_MAX && (n = fread(part, 1, sizeof part, f)) > 0)
        buf_put(&b, part, n);
    if (b.failed || ferror(f) || b.size > PATH_FILE_BYTES_MAX)
        fail(err, PAWL_INVALID, "%s: it cannot be read, or has more than 16 MiB", path);
    else
        v = value_parse(&s->mem, b.data != NULL ? b.data : "", b.size, path, err);
    buf_free(&b);
    fclose(f);
    return v != NULL && pawl_value_get(v, "path") != NULL ? pawl_value_get(v, "path") : v;
}

int prove_replayed(cli_call *c, session *s, const char *path)
{
    pawl_err err = {0};
    const pawl_value *steps = path_read(s, path, &err), *policy = NULL, *last;
    const char *why = NULL;
    bool left = false;

    if (steps != NULL)
        policy = settings_policy(c != NULL ? &c->app : NULL, &s->mem, s->file, s->folder, NULL, &err);
    if (steps == NULL || err.code != PAWL_OK || prove_replay(s->file, s->machine, policy, steps, &s->mem, &left, &why, &err) != PAWL_OK)
        return cli_fail(c, err.code, &err);
    last = pawl_value_at(steps, pawl_value_size(steps) - 1);
    if (c->json)
        cli_json(c, value_pack(&c->mem, NULL, "{s:b,s:s}", "left", (int)left, "why", why != NULL ? why : ""));
    else if (left)
        cli_note(c, "replayed: %s", pawl_value_string(pawl_value_get(last, "text")));
    else
        cli_note(c, "the machine takes another path: %s", why != NULL ? why : "");
    return left ? EXIT_DONE : EXIT_FAILED;
}
