/* jq_child.c - the child that evaluates: opens libjq, limits itself, and answers frames until the parent closes the socket.
 *
 * One thread; owns jq_worker. Neither its input nor libjq is trusted: a crash, a loop or memory exhaustion ends only the child. It has no environment
 * and, once libjq is open, cannot open files. */
#include "effect/jq/jq.h"
#include "effect/jq/jq_big.h"
#include "effect/jq/jq_wire.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1             /* the sanitizer's shadow takes terabytes of address space */
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#endif

enum {
    LEVELS_MAX = 256,           /* nested brackets in an expression */
    BUILTINS_MAX = 1024,
    WORDS_BYTES_MAX = 1024      /* of an error text */
};

typedef struct jq_worker {
    jq_begin limits;
    jq_state *jq;               /* the program compiled last; NULL: none */
    buf in, out, source, said;  /* said: jq's error message */
    jq_bigs bigs;               /* of the current input */
} jq_worker;

/* ---- the library ------------------------------------------------------------------------------------ */

static jq_api api;

/* An inline function of jv.h refers to it in unoptimised builds; the library itself is not linked. */
jv_kind jv_get_kind(jv v)
{
    return api.kind(v);
}

static bool symbol(void *lib, const char *name, void *slot)
{
    void *at = dlsym(lib, name);

    memcpy(slot, &at, sizeof at);   /* the address of a function, which C does not allow to cast */
    return at != NULL;
}

static void *library(void)
{
    static const struct { const char *name; void *slot; } all[] = {
        { "jq_init", &api.init },                     { "jq_teardown", &api.teardown },
        { "jq_set_error_cb", &api.set_error_cb },     { "jq_compile", &api.compile },
        { "jq_start", &api.start },                   { "jq_next", &api.next },
        { "jv_nomem_handler", &api.nomem_handler },   { "jv_copy", &api.copy },
        { "jv_free", &api.free },                     { "jv_get_kind", &api.kind },
        { "jv_invalid_has_msg", &api.has_msg },       { "jv_invalid_get_msg", &api.get_msg },
        { "jv_parse_sized", &api.parse },             { "jv_dump_string", &api.dump },
        { "jv_string_value", &api.string },           { "jv_string_length_bytes", &api.string_bytes },
        { "jv_null", &api.null },                     { "jv_number", &api.number },
        { "jv_array", &api.array },                   { "jv_array_append", &api.append },
        { "jv_array_get", &api.at },                  { "jv_array_length", &api.length },
        { "jv_string", &api.new_string },             { "jq_set_nomem_handler", &api.set_nomem_handler },
        { "jv_string_sized", &api.sized_string },     { "jv_bool", &api.truth },
        { "jv_object", &api.object },                 { "jv_object_set", &api.set },
        { "jv_object_iter", &api.iter },              { "jv_object_iter_next", &api.iter_next },
        { "jv_object_iter_valid", &api.iter_valid },  { "jv_object_iter_key", &api.iter_key },
        { "jv_object_iter_value", &api.iter_value },  { "jv_number_value", &api.number_value },
    };
    void *lib = dlopen("libjq.so.1", RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; lib != NULL && i < sizeof all / sizeof *all; i++)
        if (!symbol(lib, all[i].name, all[i].slot))
            return NULL;
    return lib;
}

/* The library has no version function, and its file name is unchanged since 1.4, so the version is detected by symbols that each version added. */
static const char *version(void *lib)
{
    static const struct { const char *symbol, *version; } since[] = {
        { "jv_number_negate", "jq-1.8" },
        { "jv_number_with_literal", "jq-1.7" },
        { "jq_set_colors", "jq-1.6" },
    };

    for (size_t i = 0; i < sizeof since / sizeof *since; i++)
        if (dlsym(lib, since[i].symbol) != NULL)
            return since[i].version;
    return "jq-1.5";
}

/* ---- limits ------------------------------------------------------------------------------------------- */

static void full(void *ctx)
{
    (void)ctx;
    _exit(JQ_ENDS_FULL);
}

static void bound(int what, rlim_t most)
{
    const struct rlimit r = { most, most };

    setrlimit(what, &r);
}

static void confine(const jq_worker *w)
{
    bound(RLIMIT_CORE, 0);
    bound(RLIMIT_FSIZE, 0);
    bound(RLIMIT_NOFILE, 0);    /* no further descriptors */
#ifndef SANITIZED
    bound(RLIMIT_AS, (rlim_t)w->limits.bytes);
#else
    (void)w;                    /* the parent watches its memory */
#endif
    api.nomem_handler(full, NULL);
}

/* The parent enforces the time limit; this limit ends a loop whose parent has died. */
static void wind(const jq_worker *w)
{
    struct rusage used;
    struct rlimit r;

    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &r) != 0)
        return;
    r.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (rlim_t)(w->limits.evaluate_ms / 1000) + 2;
    if (r.rlim_max != RLIM_INFINITY && r.rlim_cur > r.rlim_max)
        r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_CPU, &r);
}

/* ---- frames ------------------------------------------------------------------------------------------- */

static bool take(void *to, size_t size)
{
    char *at = to;

    while (size > 0) {
        ssize_t n = read(JQ_FD, at, size);

        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return true;
}

static bool answer(jq_worker *w)
{
    const char *at = w->out.data;

    if (!jq_frame_end(&w->out))
        full(NULL);
    for (size_t left = w->out.size; left > 0;) {
        ssize_t n = write(JQ_FD, at, left);

        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            at += n;
            left -= (size_t)n;
        }
    }
    return true;
}

static bool answer_text(jq_worker *w, jq_verb verb, const char *text)
{
    const size_t n = strlen(text);

    jq_frame_begin(&w->out, verb);
    buf_put(&w->out, text, n < WORDS_BYTES_MAX ? n : WORDS_BYTES_MAX);
    return answer(w);
}

/* ---- an expression is looked over --------------------------------------------------------------------- */
/* Joined expressions stay separate only if the brackets of each are balanced: `1) | (2` must be refused. Comments are removed, because versions of jq
 * differ in where a comment ends. */

typedef struct jq_child_parse {
    const char *at;
    buf *out, *why;
    char open[LEVELS_MAX];      /* open brackets; " for a string, \ for an interpolation in one */
    size_t levels;
    bool begun, dollar;         /* a token was read; the last token was `$` */
} jq_child_parse;

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_word(const char *word, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(word, name, n) == 0;
}

static bool word(jq_child_parse *k)
{
    const char *from = k->at;
    size_t n = 0;

    while (word_char(from[n]))
        n++;
    if (k->dollar && (is_word(from, n, "ENV") || (n > 2 && from[0] == '_' && from[1] == '_'))) {
        buf_fmt(k->why, "`$%.*s` is refused: %s", (int)n, from,
                from[0] == '_' ? "names that begin so are jq's own" : "an expression sees its input alone");
        return false;
    }
    if (!k->begun && (is_word(from, n, "import") || is_word(from, n, "include") || is_word(from, n, "module"))) {
        buf_fmt(k->why, "`%.*s` is refused: an expression has no modules", (int)n, from);
        return false;
    }
    buf_put(k->out, from, n);
    k->at += n;
    return true;
}

static bool bracket_in(jq_child_parse *k, char open, size_t chars)
{
    if (k->levels == LEVELS_MAX) {
        buf_fmt(k->why, "its brackets stand more than %d levels deep", LEVELS_MAX);
        return false;
    }
    k->open[k->levels++] = open;
    buf_put(k->out, k->at, chars);
    k->at += chars;
    return true;
}

static bool bracket_out(jq_child_parse *k, char close)
{
    static const char opens[] = "([{\\", closes[] = ")]})";
    const char last = k->levels > 0 ? k->open[k->levels - 1] : '\0';
    const char *is = last != '\0' ? strchr(opens, last) : NULL;

    if (is == NULL) {
        buf_fmt(k->why, "`%c` closes nothing", close);
        return false;
    }
    if (closes[is - opens] != close) {
        buf_fmt(k->why, "`%c` stands where `%c` is due", close, closes[is - opens]);
        return false;
    }
    k->levels--;
    buf_char(k->out, *k->at++);
    return true;
}

static bool in_string(jq_child_parse *k)
{
    if (*k->at == '"')
        k->levels--;
    else if (k->at[0] == '\\' && k->at[1] == '(')
        return bracket_in(k, '\\', 2);
    else if (k->at[0] == '\\' && k->at[1] != '\0')
        buf_char(k->out, *k->at++);
    buf_char(k->out, *k->at++);
    return true;
}

static bool token(jq_child_parse *k)
{
    const char c = *k->at;
    bool fine = true;

    if (c == '#') {
        k->at += strcspn(k->at, "\n");
        return true;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        buf_char(k->out, *k->at++);
        return true;
    }
    if (word_char(c))
        fine = word(k);
    else if (strchr("([{\"", c) != NULL)
        fine = bracket_in(k, c, 1);
    else if (strchr(")]}", c) != NULL)
        fine = bracket_out(k, c);
    else
        buf_char(k->out, *k->at++);
    k->begun = true;
    k->dollar = c == '$';
    return fine;
}

/* Appends the text to `out` without comments. False: `why` has the error. */
static bool text_checked(const char *text, buf *out, buf *why)
{
    jq_child_parse k = { .at = text, .out = out, .why = why };

    while (*k.at != '\0')
        if (!(k.levels > 0 && k.open[k.levels - 1] == '"' ? in_string(&k) : token(&k)))
            return false;
    if (k.levels == 0 && !k.begun)
        buf_text(why, "it is empty");
    else if (k.levels > 0 && k.open[k.levels - 1] == '"')
        buf_text(why, "a string is not closed: its last \" is missing");
    else if (k.levels > 0)
        buf_fmt(why, "`%s` is not closed", k.open[k.levels - 1] == '\\' ? "\\(" : (char[2]){ k.open[k.levels - 1], '\0' });
    return why->size == 0;
}

/* ---- compile -------------------------------------------------------------------------------------------- */

/* Names whose result could differ next time, or that reach outside the expression. */
static const struct { const char *name, *arguments; } impure[] = {
    { "now", "" },              { "env", "" },             { "input", "" },           { "inputs", "" },
    { "_input", "" },           { "debug", "" },           { "debug", "(a)" },        { "stderr", "" },
    { "halt", "" },             { "halt_error", "" },      { "halt_error", "(a)" },   { "input_filename", "" },
    { "input_line_number", "" },{ "localtime", "" },       { "strflocaltime", "(a)" },{ "modulemeta", "" },
    { "get_search_list", "" },  { "get_jq_origin", "" },   { "get_prog_origin", "" },
};

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The first message counts, unless a later one is more exact. */
static void complaint(void *ctx, jv msg)
{
    buf *said = ctx;
    const char *text = api.kind(msg) == JV_KIND_STRING ? api.string(msg) : "it is refused";

    if (said->size == 0 || starts(text, "jq: error: Possibly ")) {
        buf_reset(said);
        buf_text(said, text);
    }
    api.free(msg);
}

/* The buffer as a C string. */
static const char *string(buf *b)
{
    buf_char(b, '\0');
    if (b->failed)
        full(NULL);
    b->size--;
    return b->data;
}

static bool compile_source(jq_worker *w, buf *said)
{
    if (w->jq != NULL)
        api.teardown(&w->jq);
    if ((w->jq = api.init()) == NULL)
        full(NULL);
    wind(w);
    api.set_nomem_handler(w->jq, full, NULL);
    api.set_error_cb(w->jq, complaint, said);
    return api.compile(w->jq, string(&w->source)) != 0;
}

/* Combines texts from..from+n of those at `at` into a binary tree of conditions, which is neither deep nor slow. Returns where the following texts
 * begin; NULL: one is wrong, and `said` says why. */
static const char *choose(jq_worker *w, const char *at, size_t from, size_t n)
{
    if (n == 1) {
        buf_char(&w->source, '(');
        if (!text_checked(at, &w->source, &w->said))
            return NULL;
        buf_text(&w->source, "\n)");
        return at + strlen(at) + 1;
    }
    buf_fmt(&w->source, "if $__pawl < %zu then ", from + n / 2);
    if ((at = choose(w, at, from, n / 2)) == NULL)
        return NULL;
    buf_text(&w->source, " else ");
    if ((at = choose(w, at, from + n / 2, n - n / 2)) == NULL)
        return NULL;
    buf_text(&w->source, " end");
    return at;
}

/* The compiled program takes [number, input]. */
static bool compile(jq_worker *w, const char *texts, size_t n)
{
    buf_reset(&w->source);
    buf_reset(&w->said);
    for (size_t i = 0; i < sizeof impure / sizeof *impure; i++)
        buf_fmt(&w->source, "def %s%s: error(\"%s is refused: an expression gives the same value every time\");\n", impure[i].name,
                impure[i].arguments, impure[i].name);
    buf_text(&w->source, ".[0] as $__pawl | .[1] | ");
    return choose(w, texts, 0, n) != NULL && compile_source(w, &w->said);
}

/* ---- what jq says of a wrong one ------------------------------------------------------------------------- */

static void replace(buf *b, const char *what, const char *with)
{
    const char *text = string(b), *at = strstr(text, what);
    buf made;

    if (at == NULL)
        return;
    buf_init(&made, NULL);
    buf_put(&made, text, (size_t)(at - text));
    buf_text(&made, with);
    buf_text(&made, at + strlen(what));
    buf_free(b);
    *b = made;
}

/* Suggests functions for `name`, which does not exist with that number of arguments: other numbers of arguments, or similar names. */
static void hint(jq_worker *w, const char *name)
{
    static const char program[] =
        ". as $n | [builtins[] | select(startswith(\"_\") | not)]"
        " | [map(select(startswith($n + \"/\"))) | sort | join(\", \")] + (map(split(\"/\")[0]) | unique)";
    const char *names[BUILTINS_MAX];
    char near[160];
    int n = 0;
    buf nothing;
    jv all, one;

    buf_init(&nothing, NULL);
    buf_reset(&w->source);
    buf_text(&w->source, program);
    if (compile_source(w, &nothing)) {
        api.start(w->jq, api.new_string(name), 0);
        all = api.next(w->jq);
        n = api.kind(all) == JV_KIND_ARRAY ? api.length(api.copy(all)) : 0;
        for (int i = 0; i < n && i < BUILTINS_MAX; i++) {
            one = api.at(api.copy(all), i);
            names[i] = api.string(one);     /* `all` keeps the string alive */
            api.free(one);
        }
        if (n > 0 && names[0][0] != '\0')
            buf_fmt(&w->said, " (there is %s; arguments stand apart by `;`)", names[0]);
        else if (n > 1 && n <= BUILTINS_MAX)
            buf_text(&w->said, did_you_mean(near, sizeof near, name, names + 1, (size_t)n - 1));
        api.free(all);
    }
    buf_free(&nothing);
}

static void undefined(jq_worker *w)
{
    const char *text = string(&w->said), *slash = strchr(text, '/'), *end = strstr(text, " is not defined");
    char name[64];

    if (end == NULL)
        return;
    if (starts(text, "$*label-")) {
        const size_t n = (size_t)(end - text) - strlen("$*label-");

        if (n >= sizeof name)
            return;
        memcpy(name, text + strlen("$*label-"), n);
        name[n] = '\0';
        buf_reset(&w->said);
        buf_fmt(&w->said, "`break $%s` has no `label $%s` round it", name, name);
    } else if (slash != NULL && slash < end && slash > text && (size_t)(slash - text) < sizeof name) {
        memcpy(name, text, (size_t)(slash - text));
        name[slash - text] = '\0';
        hint(w, name);
    }
}

/* Keeps WORDS of "jq: error: WORDS at <top-level>, line N:", and the line if there are several. */
static void in_words(jq_worker *w, const char *text)
{
    static const char *const tokens[][2] = {
        { " (Unix shell quoting issues?)", "" },       { "$end", "the end" },
        { "INVALID_CHARACTER", "a character that means nothing to jq" },
        { "QQSTRING_INTERP_START", "a part of a string" }, { "QQSTRING_START", "a string" },
        { "QQSTRING_TEXT", "text" },                   { "QQSTRING_END", "the end of a string" },
        { "IDENT", "a name" },                         { "FIELD", "a field" },
        { "LITERAL", "a number" },                     { "FORMAT", "a format" },
    };
    static const char at_line[] = " at <top-level>, line ";
    const char *from = string(&w->said), *end;
    long line = 0;
    buf words;

    from += starts(from, "jq: ") ? strlen("jq: ") : 0;
    from += starts(from, "error: ") ? strlen("error: ") : 0;
    if ((end = strstr(from, at_line)) != NULL)
        line = strtol(end + strlen(at_line), NULL, 10);
    else
        end = from + strcspn(from, "\n");
    buf_init(&words, NULL);
    buf_put(&words, from, (size_t)(end - from));
    buf_free(&w->said);
    w->said = words;
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        replace(&w->said, tokens[i][0], tokens[i][1]);
    replace(&w->said, "syntax error, unexpected ", "syntax error at ");
    if (strstr(string(&w->said), ", expecting ") != NULL)
        buf_text(&w->said, " is due");
    replace(&w->said, ", expecting ", ", where ");
    undefined(w);
    if (line > 0 && strchr(text, '\n') != NULL)
        buf_fmt(&w->said, " (line %ld of it)", line);
}

/* Compiles it once more without the text around it, so that jq's message fits. */
static void explain(jq_worker *w, const char *text)
{
    buf_reset(&w->source);
    buf_reset(&w->said);
    if (!text_checked(text, &w->source, &w->said))
        return;
    if (compile_source(w, &w->said))
        buf_text(&w->said, "it defines, and gives no value");
    else
        in_words(w, text);
}

static bool on_compile(jq_worker *w)
{
    const char *texts = w->in.data;
    size_t n = 0;

    if (w->in.size == 0 || texts[w->in.size - 1] != '\0')
        return false;
    for (size_t i = 0; i < w->in.size; i++)
        n += texts[i] == '\0';
    if (compile(w, texts, n))
        return answer_text(w, JQ_DONE, "");
    if (n > 1)
        return answer_text(w, JQ_WRONG, "");
    explain(w, texts);
    return answer_text(w, JQ_WRONG, string(&w->said));
}

/* ---- evaluate --------------------------------------------------------------------------------------------- */

/* Takes `v`, which is an error. */
static bool answer_failure(jq_worker *w, jv v)
{
    jv msg;

    if (!api.has_msg(api.copy(v))) {
        api.free(v);
        return answer_text(w, JQ_WRONG, "gave nothing");
    }
    msg = api.get_msg(v);
    buf_reset(&w->said);
    if (api.kind(msg) == JV_KIND_STRING)
        buf_put(&w->said, api.string(msg), (size_t)api.string_bytes(api.copy(msg)));
    else
        jq_bigs_text(&w->bigs, &api, api.copy(msg), &w->said);
    api.free(msg);
    return answer_text(w, JQ_WRONG, w->said.size > 0 ? string(&w->said) : "error(\"\")");
}

/* Takes `v`. */
static bool answer_value(jq_worker *w, jv v, bool *right)
{
    jq_text came;
    size_t size;
    char words[96];

    jq_frame_begin(&w->out, JQ_VALUE);
    size = w->out.size;
    came = jq_bigs_text(&w->bigs, &api, v, &w->out);
    if (w->out.failed)
        full(NULL);
    size = w->out.size - size;
    *right = came == JQ_TEXT_WHOLE && size <= w->limits.output_bytes;
    if (*right)
        return answer(w);
    if (came == JQ_TEXT_CHANGED)
        return answer_text(w, JQ_TOUCHED, "");
    snprintf(words, sizeof words, "its value is %s %llu %s", came == JQ_TEXT_DEEP ? "nested more than" : "more than",
             came == JQ_TEXT_DEEP ? (unsigned long long)DEPTH_MAX : (unsigned long long)(w->limits.output_bytes >> 20),
             came == JQ_TEXT_DEEP ? "levels deep" : "MiB (JQ_OUTPUT_BYTES_MAX)");
    return answer_text(w, JQ_WRONG, words);
}

/* Everything is freed before the answer: if freeing a deeply nested value crashes the child, the crash belongs to this request. */
static bool evaluate(jq_worker *w, uint32_t which, jv input, bool *right)
{
    jv v, more = api.null();

    wind(w);
    *right = false;
    jq_bigs_watch();
    api.start(w->jq, api.append(api.append(api.array(), api.number(which)), input), 0);
    v = api.next(w->jq);
    if (api.kind(v) != JV_KIND_INVALID)
        more = api.next(w->jq);
    if (jq_bigs_touched(&w->bigs)) {
        api.free(v);
        api.free(more);
        return answer_text(w, JQ_TOUCHED, "");
    }
    if (api.kind(v) == JV_KIND_INVALID)
        return answer_failure(w, v);
    if (api.kind(more) != JV_KIND_INVALID) {
        api.free(v);
        api.free(more);
        return answer_text(w, JQ_WRONG, "gave 2 values or more: put [ ] round it");
    }
    if (api.has_msg(api.copy(more))) {
        api.free(v);
        return answer_failure(w, more);
    }
    api.free(more);
    api.start(w->jq, api.null(), 0);    /* drops the state of the previous evaluation */
    return answer_value(w, v, right);
}

/* JSON text as a jq value, with NaNs for integers that a double cannot hold. */
static jv input_of(jq_worker *w, bool bigs, const char *text, size_t size)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v;
    arena a;
    jv made;

    w->bigs.n = 0;
    if (!bigs)
        return api.parse(text, (int)size);
    arena_init(&a, NULL, size);
    v = value_parse(&a, text, size, "the input of an expression", &err);
    if ((v == NULL && err.code == PAWL_NOMEM) || (v != NULL && !jq_bigs_of(&w->bigs, v)))
        full(NULL);
    made = v != NULL ? jq_bigs_value(&w->bigs, &api, v) : api.parse("", 0);
    arena_free(&a);
    return made;
}

static bool on_run(jq_worker *w)
{
    const size_t word = sizeof(uint32_t);
    uint32_t n, bigs, which;
    bool right = true, fine = true;
    jv input;

    if (w->jq == NULL || w->in.size < 2 * word)
        return false;
    memcpy(&n, w->in.data, word);
    memcpy(&bigs, w->in.data + word, word);
    if (n > (w->in.size - 2 * word) / word)
        return false;
    const char *numbers = w->in.data + 2 * word, *text = numbers + n * word;
    wind(w);
    input = input_of(w, bigs != 0, text, (size_t)(w->in.data + w->in.size - text));
    if (api.kind(input) == JV_KIND_INVALID)
        return answer_failure(w, input);
    for (uint32_t i = 0; i < n && right && fine; i++) {
        memcpy(&which, numbers + i * word, word);
        fine = evaluate(w, which, api.copy(input), &right);
    }
    api.free(input);
    return fine;
}

/* ---- the child ---------------------------------------------------------------------------------------------- */

static bool on_begin(jq_worker *w)
{
    void *lib;

    if (w->in.size != sizeof w->limits)
        return false;
    memcpy(&w->limits, w->in.data, sizeof w->limits);
    if ((lib = library()) == NULL)
        return answer_text(w, JQ_HELLO, "");
    confine(w);
    return answer_text(w, JQ_HELLO, version(lib));
}

/* False: the parent has closed the socket or died. */
static bool next_frame(jq_worker *w)
{
    jq_head head;

    if (!take(&head, sizeof head) || head.verb < JQ_BEGIN || head.verb > JQ_RUN || head.size > JQ_BYTES_MAX ||
        (w->limits.bytes == 0) != (head.verb == JQ_BEGIN))
        return false;
    buf_reset(&w->in);
    if (!buf_room(&w->in, head.size))
        full(NULL);
    w->in.size = head.size;
    if (!take(w->in.data, head.size))
        return false;
    switch ((jq_verb)head.verb) {
    case JQ_BEGIN: return on_begin(w);
    case JQ_COMPILE: return on_compile(w);
    case JQ_RUN: return on_run(w);
    case JQ_HELLO:
    case JQ_DONE:
    case JQ_VALUE:
    case JQ_WRONG:
    case JQ_TOUCHED: break;
    }
    return false;
}

int jq_child(void)
{
    jq_worker w = { .jq = NULL };

    buf_init(&w.in, NULL);
    buf_init(&w.out, NULL);
    buf_init(&w.source, NULL);
    buf_init(&w.said, NULL);
    while (next_frame(&w))
        continue;
    _exit(0);                   /* nothing needs to be cleaned up */
}
