/* options.c - turns the arguments of the program into a call of a verb; prints errors of usage, and maps error codes to exit codes.
 *
 * Called by main.c and the verbs, on the main thread; cli_note and cli_fail by any thread. Owns nothing. */
#include "cli/verbs.h"
#include "effect/spawn.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { OPTIONS_MAX = 48 };      /* options of one verb, --store and --help included */
enum { PARSED = -1, HELP_WANTED = -2 };

/* ---- what goes wrong ------------------------------------------------------------------------------ */

/* Prints one line, whatever the text contains. */
static void line_print(FILE *to, const char *who, const char *verb, const char *text, const char *more)
{
    buf line;

    buf_init(&line, NULL);
    buf_fmt(&line, "%s%s%s: ", who, verb == NULL ? "" : " ", verb == NULL ? "" : verb);
    cli_clean(&line, text, strlen(text));
    buf_text(&line, more);
    buf_char(&line, '\n');
    if (line.failed)
        fputs("pawl: no memory\n", to);
    else
        fwrite(line.data, 1, line.size, to);
    buf_free(&line);
}

static char *text_of(const char *fmt, va_list args)
{
    buf text;

    buf_init(&text, NULL);
    buf_fmtv(&text, fmt, args);
    buf_char(&text, '\0');
    if (!text.failed)
        return text.data;
    buf_free(&text);
    return NULL;
}

/* Kept for a client that reads frames and not stderr. */
static void text_keep(const cli_call *c, pawl_code code, const char *text)
{
    if (c->why != NULL)
        *c->why = code;
    if (text != NULL)
        snprintf(c->said, CLI_SAID_BYTES, "%s", text);
}

int cli_usage(const cli_call *c, const char *fmt, ...)
{
    va_list args;
    char *text;
    buf usage;

    va_start(args, fmt);
    text = text_of(fmt, args);
    va_end(args);
    text_keep(c, PAWL_INVALID, text);
    buf_init(&usage, NULL);
    buf_word(&usage, "; usage: ");
    help_usage(c->verb, &usage);
    buf_char(&usage, '\0');
    line_print(cli_err(c), "pawl", c->verb->name, text == NULL ? "no memory" : text, usage.failed ? "" : usage.data);
    buf_free(&usage);
    free(text);
    return EXIT_USAGE;
}

int cli_missing(const cli_call *c)
{
    int code;
    buf b;

    buf_init(&b, NULL);
    usage_missing(c->verb, c->nargs, &b);
    code = cli_usage(c, "%s", b.failed ? "an argument is missing" : b.data);
    buf_free(&b);
    return code;
}

static int value_missing(const cli_call *c, const cli_option *o)
{
    int code;
    buf b;

    buf_init(&b, NULL);
    usage_value(c->verb, o, &b);
    code = cli_usage(c, "%s", b.failed ? "a value is missing" : b.data);
    buf_free(&b);
    return code;
}

void cli_note(const cli_call *c, const char *fmt, ...)
{
    va_list args;
    char *text;
    buf line;

    (void)c;
    va_start(args, fmt);
    text = text_of(fmt, args);
    va_end(args);
    buf_init(&line, NULL);
    if (text != NULL)
        cli_clean(&line, text, strlen(text));
    if (text != NULL && !line.failed)
        fprintf(cli_err(c), "%.*s\n", (int)line.size, line.size > 0 ? line.data : "");
    buf_free(&line);
    free(text);
}

int cli_fail(const cli_call *c, pawl_code rc, const pawl_err *err)
{
    text_keep(c, rc, err->text[0] != '\0' ? err->text : pawl_code_name(rc));
    line_print(cli_err(c), "pawl", NULL, err->text[0] != '\0' ? err->text : pawl_code_name(rc), "");
    return cli_exit_of_error(rc);
}

int cli_exit_of_error(pawl_code rc)
{
    switch (rc) {
    case PAWL_INVALID: case PAWL_GONE: case PAWL_LIMIT: return EXIT_USAGE;
    case PAWL_IO: case PAWL_TRANSIENT: return EXIT_STORE;
    case PAWL_HELD: case PAWL_FENCED: return EXIT_HELD;
    case PAWL_OK: case PAWL_PENDING: case PAWL_INTERRUPTED: case PAWL_HALTED: case PAWL_IGNORED: case PAWL_NOMEM:
    case PAWL_CONFLICT: case PAWL_CORRUPT: case PAWL_EFFECT: case PAWL_TIMEOUT: case PAWL_CANCELED: case PAWL_DENIED:
    case PAWL_UNKNOWN: break;
    }
    return EXIT_FAILED;
}

int cli_exit_of(pawl_status status, bool waits)
{
    switch (status) {
    case PAWL_STATUS_COMPLETED: return EXIT_DONE;
    case PAWL_STATUS_FAILED: case PAWL_STATUS_REJECTED: return EXIT_FAILED;
    case PAWL_STATUS_CANCELED: return EXIT_CANCELED;
    case PAWL_STATUS_INPUT_REQUIRED: return EXIT_WAITS;
    case PAWL_STATUS_SUBMITTED: case PAWL_STATUS_WORKING: break;
    }
    return waits ? EXIT_WAITS : EXIT_DONE;
}

bool cli_put(const cli_call *c, const buf *text)
{
    if (text->failed) {
        cli_note(c, "pawl: no memory");
        return false;
    }
    fwrite(text->size > 0 ? text->data : "", 1, text->size, cli_out(c));
    return true;
}

bool cli_json(const cli_call *c, const pawl_value *v)
{
    bool put;
    buf text;

    buf_init(&text, NULL);
    if (v == NULL)
        text.failed = true;
    else
        canon(&text, v);
    buf_char(&text, '\n');
    put = cli_put(c, &text);
    buf_free(&text);
    return put;
}

/* ---- what was given ----------------------------------------------------------------------------------- */

static size_t option_index(const cli_verb *v, const char *name)
{
    size_t i = 0;

    while (v->options != NULL && v->options[i].name != NULL && strcmp(v->options[i].name, name) != 0)
        i++;
    return i;
}

const char *cli_given(const cli_call *c, const char *option)
{
    size_t i = option_index(c->verb, option);

    return c->verb->options == NULL || c->verb->options[i].name == NULL ? NULL : c->given[i];
}

void cli_give(cli_call *c, const char *option, const char *value)
{
    size_t i = option_index(c->verb, option);

    if (c->verb->options != NULL && c->verb->options[i].name != NULL)
        c->given[i] = value;
}

const char *cli_given_at(const cli_call *c, const char *option, size_t index)
{
    for (size_t i = 0; i + 1 < c->nwords; i += 2)
        if (strcmp(c->words[i], option) == 0 && index-- == 0)
            return c->words[i + 1];
    return NULL;
}

bool cli_number(const cli_call *c, const char *option, uint64_t least, uint64_t most, uint64_t otherwise, uint64_t *out)
{
    const char *text = cli_given(c, option), *end;

    *out = otherwise;
    if (text == NULL)
        return true;
    if ((end = digits_read(text, out)) != NULL && *end == '\0' && *out >= least && *out <= most)
        return true;
    cli_usage(c, "--%s %s: not a whole number from %llu to %llu", option, text, (unsigned long long)least,
              (unsigned long long)most);
    return false;
}

bool cli_duration(const char *text, int64_t *ms)
{
    static const struct { const char *unit; uint64_t ms; } units[] = {
        { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
    uint64_t n;
    const char *unit = digits_read(text, &n);

    for (size_t i = 0; unit != NULL && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0 && n <= INT64_MAX / 1000 / units[i].ms) {
            *ms = (int64_t)(n * units[i].ms);
            return true;
        }
    return false;
}

/* ---- parsing ---------------------------------------------------------------------------------------------- */

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !(word[1] >= '0' && word[1] <= '9') &&
           !(word[1] == '.' && word[2] >= '0' && word[2] <= '9');
}

static int no_such_option(const cli_call *c, const char *word, size_t size)
{
    const char *names[OPTIONS_MAX];
    const cli_option *o;
    char near[96], name[64];
    size_t n = 0, dashes = strspn(word, "-");

    while (n < OPTIONS_MAX && (o = cli_option_at(c->verb, n)) != NULL)
        names[n++] = o->name;
    snprintf(name, sizeof name, "%.*s", (int)(size < dashes ? 0 : size - dashes), word + (size < dashes ? 0 : dashes));
    did_you_mean(near, sizeof near, name, names, n);
    if (near[0] != '\0') {      /* (did you mean "--json"?): the dashes are added */
        char *quote = strchr(near, '"');

        memmove(quote + 3, quote + 1, strlen(quote + 1) + 1);
        memcpy(quote + 1, "--", 2);
    }
    return cli_usage(c, "no option %.*s%s%s", (int)size, word, near, near[0] == '\0' ? ": see --help" : "");
}

/* Names that other programs have for an option. */
static const struct { const char *word, *name; } aliases[] = {
    { "permission-mode", "mode" }, { "allowed-tools", "allowedTools" }, { "disallowed-tools", "disallowedTools" },
};

static bool names_option(const cli_option *o, const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strlen(aliases[i].word) == size && memcmp(aliases[i].word, name, size) == 0 && strcmp(o->name, aliases[i].name) == 0)
            return true;
    return strlen(o->name) == size && memcmp(o->name, name, size) == 0;
}

/* `--print` of a call without a verb: its prompt may come behind other options, or from stdin. */
static bool prints_later(const cli_call *c, const cli_option *o, int left, char **word)
{
    return c->bare && strcmp(o->name, "print") == 0 && (left < 2 || is_option(word[1]));
}

/* One option; its value may be the next word, so *used counts words. 0, or an exit code. */
static int take_option(cli_call *c, int left, char **word, int *used)
{
    const char *name = *word + 2, *equals = strchr(*word, '='), *value = "";
    size_t size = equals == NULL ? strlen(*word) : (size_t)(equals - *word), i = 0;
    const cli_option *o = NULL;
    const bool print = size == 2 && memcmp(*word, "-p", 2) == 0;    /* -p, as `claude -p` has it */

    if ((*word)[1] == '-' || print)
        for (; (o = cli_option_at(c->verb, i)) != NULL; i++)
            if (print ? strcmp(o->name, "print") == 0 : names_option(o, name, size - 2))
                break;
    if (o == NULL)
        return no_such_option(c, *word, size);
    *used = 1;
    if (o->value == NULL && equals != NULL)
        return cli_usage(c, "--%s takes no value", o->name);
    if (o->value != NULL && equals != NULL)
        value = equals + 1;
    else if (o->value != NULL && prints_later(c, o, left, word))
        value = "-";
    else if (o->value != NULL && left < 2)
        return value_missing(c, o);
    else if (o->value != NULL)
        value = word[1], *used = 2;
    if (cli_given_at(c, o->name, 0) != NULL && (o->value == NULL || strstr(o->value, "...") == NULL))
        return cli_usage(c, "--%s is given twice", o->name);
    c->words[c->nwords++] = o->name;
    c->words[c->nwords++] = value;
    if (strcmp(o->name, "store") == 0 && c->verb->store)
        c->store_url = value;
    i = option_index(c->verb, o->name);
    if (c->verb->options != NULL && c->verb->options[i].name != NULL)
        c->given[i] = value;
    c->json = c->json || strcmp(o->name, "json") == 0;
    return 0;
}

static bool words_room(cli_call *c, size_t n)
{
    size_t options = 0;

    while (cli_option_at(c->verb, options) != NULL)
        options++;
    c->given = arena_zero(&c->mem, (options + 1) * sizeof *c->given);
    c->args = arena_zero(&c->mem, (n + 1) * sizeof *c->args);
    c->words = arena_zero(&c->mem, (2 * n + 2) * sizeof *c->words);
    return !c->mem.failed;
}

/* The argument of a call without a verb is its prompt. */
static int take_argument(cli_call *c, const char *word)
{
    const size_t print = option_index(c->verb, "print");

    if (!c->bare)
        c->args[c->nargs++] = word;
    else if (c->given[print] != NULL && strcmp(c->given[print], "-") != 0)
        return cli_usage(c, "one prompt too many: \"%s\"", word);
    else
        c->given[print] = word;
    return 0;
}

/* PARSED, HELP_WANTED or the exit code. */
static int parse(cli_call *c, int n, char **words)
{
    bool options = true;
    int used = 1, code;

    for (int i = 0; i < n; i++) {
        if (options && strcmp(words[i], "--") == 0) {
            options = false;
        } else if (options && (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0)) {
            return HELP_WANTED;
        } else if (options && is_option(words[i])) {
            if ((code = take_option(c, n - i, words + i, &used)) != 0)
                return code;
            i += used - 1;
        } else if ((code = take_argument(c, words[i])) != 0) {
            return code;
        }
    }
    if (c->nargs > c->verb->most)
        return cli_usage(c, c->verb->most == 0 ? "it takes no argument: \"%s\"%s%s" : "one argument too many: \"%s\"%s%s", c->args[c->verb->most],
                         c->verb->extra != NULL ? "; " : "", c->verb->extra != NULL ? c->verb->extra : "");
    if (c->nargs < c->verb->least)
        return cli_missing(c);
    return PARSED;
}

/* ---- calling --------------------------------------------------------------------------------------------------- */

static bool colour_wanted(bool tty)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return tty && (no == NULL || no[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0;
}

static int print_help(const cli_call *c)
{
    buf text;
    int code;

    buf_init(&text, NULL);
    help_verb(c->verb, &text);
    code = cli_put(c, &text) ? EXIT_DONE : EXIT_FAILED;
    buf_free(&text);
    return code;
}

/* A command of an agent that could call these would lift its own rights, or leave a run for a worker outside. */
int cli_refused(const cli_call *c)
{
    pawl_err err = {0};

    return cli_fail(c, fail(&err, PAWL_DENIED, "%s: refused to a command of an agent: it would act with the rights of the person who started the agent; "
                            "call it outside", c->verb->name), &err);
}

static void note(void *ctx, const char *text) { cli_note(ctx, "%s", text); }

/* The options that src/app reads; a verb that changes nothing calls no model. */
static void app_options(cli_call *c)
{
    bool records = c->verb->options != NULL && c->verb->options[option_index(c->verb, "record")].name != NULL;

    c->app.anchors = c->verb->acts;
    c->app.anchor = cli_given(c, "anchor");
    c->app.models = records || !c->verb->looks;
    c->app.record = cli_given(c, "record");
    c->app.record_mode = cli_given(c, "record-mode");
}

/* `c` has what the caller decides. */
static int perform(cli_call *of, int n, char **words)
{
    cli_call c = *of;
    const cli_verb *v = c.verb;
    const bool bare = c.bare;
    int code = EXIT_FAILED;

    c.app = (app_caller){ .note = note, .ctx = &c };
    arena_init(&c.mem, NULL, 4096);
    if (!words_room(&c, (size_t)n))
        cli_note(&c, "pawl: no memory");
    else if ((code = parse(&c, n, words)) == HELP_WANTED)
        code = print_help(&c);
    else if (code == PARSED && v->acts && spawn_is_confined())
        code = cli_refused(&c);
    else if (code == PARSED) {
        app_options(&c);
        code = v->run(&c);
    } else if (bare && v->refused != NULL) {
        v->refused(&c, n, words);
    }
    arena_free(&c.mem);
    return code;
}

static int call(const cli_program *p, const cli_verb *v, int n, char **words, bool bare)
{
    char said[CLI_SAID_BYTES] = "";
    cli_call c = { .program = p, .verb = v, .bare = bare, .said = said, .out_tty = isatty(STDOUT_FILENO) == 1,
                   .err_tty = isatty(STDERR_FILENO) == 1 };

    c.colour = colour_wanted(c.out_tty);
    c.err_colour = colour_wanted(c.err_tty);
    return perform(&c, n, words);
}

int cli_captured(const cli_program *program, cli_served *call, int argc, char **argv)
{
    FILE *none = fopen("/dev/null", "w");
    cli_call c = { .program = program, .verb = argc > 0 ? cli_verb_named(program, argv[0]) : NULL, .said = call->said, .why = &call->why, .out = call->out,
                   .err = none, .served = true, .who = call->who, .delivery = call->delivery, .machine = call->machine,
                   .trace = call->trace, .once = call->once };
    int code = EXIT_FAILED;

    call->said[0] = '\0';
    call->why = PAWL_OK;
    if (none == NULL || c.verb == NULL)
        snprintf(call->said, CLI_SAID_BYTES, none == NULL ? "/dev/null cannot be opened" : "no such verb");
    else
        code = perform(&c, argc - 1, argv + 1);
    if (none != NULL)
        fclose(none);
    return code;
}

/* An option of any verb, by its word; NULL: there is none. */
static const cli_option *option_of_any(const cli_program *p, const char *word)
{
    const size_t size = strcspn(word, "=");
    const cli_option *o;

    for (size_t k = 0; p->verbs[k] != NULL; k++)
        for (size_t i = 0; (o = cli_option_at(p->verbs[k], i)) != NULL; i++)
            if (strcmp(word, "-p") == 0 ? strcmp(o->name, "print") == 0 : size > 2 && word[1] == '-' && names_option(o, word + 2, size - 2))
                return o;
    return NULL;
}

/* The index of the verb behind options that come before it; below 0: there is none. */
static int verb_behind(const cli_program *p, int n, char **words)
{
    for (int i = 0; i < n && strcmp(words[i], "--") != 0; i++) {
        const cli_option *o = is_option(words[i]) ? option_of_any(p, words[i]) : NULL;

        if (!is_option(words[i]))
            return cli_verb_named(p, words[i]) != NULL ? i : -1;
        if (o != NULL && o->value != NULL && strchr(words[i], '=') == NULL && !(strcmp(o->name, "print") == 0 && i + 1 < n && is_option(words[i + 1])))
            i++;
    }
    return -1;
}

/* A call that begins with an option: its verb stands behind the options, or is that of calls without one. */
static int call_bare(const cli_program *p, int n, char **words)
{
    const int at = verb_behind(p, n, words);
    const cli_verb *v;

    if (at < 0)
        return p->bare != NULL && option_of_any(p, words[0]) != NULL ? call(p, p->bare, n, words, true) : help_unknown(p, words[0]);
    v = cli_verb_named(p, words[at]);
    memmove(words + at, words + at + 1, (size_t)(n - at - 1) * sizeof *words);
    return call(p, v, n - 1, words, false);
}

static int dispatch(const cli_program *p, int argc, char **argv)
{
    const cli_verb *v;

    if (argc < 2)
        return help_unknown(p, NULL);
    if (strcmp(argv[1], "@man") == 0)
        return man_page(p);
    if (strcmp(argv[1], "@api") == 0)
        return api_page();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return call(p, cli_verb_named(p, "help"), argc - 2, argv + 2, false);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "-v") == 0) {
        printf("pawl %s\n", pawl_version());
        return EXIT_DONE;
    }
    v = cli_verb_named(p, argv[1]);
    if (v == NULL && is_option(argv[1]))
        return call_bare(p, argc - 1, argv + 1);
    return v == NULL ? help_unknown(p, argv[1]) : call(p, v, argc - 2, argv + 2, false);
}

int cli_main(const cli_program *program, int argc, char **argv)
{
    int code = dispatch(program, argc, argv);

    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
        fprintf(stderr, "pawl: stdout cannot be written%s%s\n", errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
        code = EXIT_FAILED;
    }
    return code;
}
