/* hook_scripts.c - which files of a project a hook's command runs as scripts, as far as its text says so (P9).
 *
 * Owns nothing; pure, any thread. Called when settings are trusted and when they are loaded. A file counts that stands where a program does, or behind an
 * interpreter. What a script itself reads and runs is not seen, nor a file whose name the text does not have. */
#include "policy/hook.h"
#include "policy/policy.h"
#include "shell/shell.h"

/* Stands for the folder of the project while a command is split: that may have any character. */
#define PROJECT_PLACE "/.pawl-hook-project"

typedef struct script_search {
    arena *mem;
    const char *project, *cwd;
    const char *moved;          /* where the last `cd` of the command leads; NULL: nowhere else */
    const pawl_value *out;
    shell *s;
    bool failed;
} script_search;

/* ---- a path ------------------------------------------------------------------------------------------------ */

static void script_put(script_search *k, const char *text, size_t size, const char *cwd)
{
    const pawl_value *one;
    path p;

    if (cwd == NULL || !path_set(&p, text, size, cwd, NULL) || !path_within(k->project, p.text) || strcmp(k->project, p.text) == 0)
        return;
    if ((one = value_string(k->mem, p.text, p.size)) == NULL)
        k->failed = true;
    else if (!value_among(k->out, one) && (k->out = value_push(k->mem, k->out, one)) == NULL)
        k->failed = true;
}

/* The word with its blanks, and with the project in its place; NULL: it is not known, or there is no memory. */
static const char *word_text(script_search *k, const shell_word *w)
{
    const size_t n = sizeof PROJECT_PLACE - 1;
    char *text;
    buf b;

    if ((w->flags & (WORD_UNKNOWN | WORD_TILDE)) != 0)
        return NULL;
    buf_init(&b, NULL);
    for (size_t i = 0; i < w->size;) {
        if (w->size - i >= n && memcmp(w->text + i, PROJECT_PLACE, n) == 0) {
            buf_text(&b, k->project);
            i += n;
        } else {
            buf_char(&b, w->text[i] == WORD_BLANK ? ' ' : w->text[i]);
            i++;
        }
    }
    text = b.failed ? NULL : arena_strdup(k->mem, b.data != NULL ? b.data : "", b.size);
    k->failed = k->failed || text == NULL;
    buf_free(&b);
    return text;
}

static void script_word(script_search *k, const char *text)
{
    script_put(k, text, strlen(text), k->cwd);
    if (k->moved != NULL && *text != '/')
        script_put(k, text, strlen(text), k->moved);
}

/* ---- a command ------------------------------------------------------------------------------------------------ */

static const char *last_part(const char *text)
{
    const char *slash = strrchr(text, '/');

    return slash != NULL ? slash + 1 : text;
}

/* Programs that run a file among their words; python3.11 is one, too. */
static bool is_interpreter(const char *name)
{
    static const char names[] = " sh bash dash zsh ksh mksh ash fish . source env exec sudo python python2 python3 node nodejs deno bun tsx ts-node npx bunx uv uvx "
                                "ruby perl php lua Rscript pwsh go java swift osascript awk gawk sed make ";
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.");

    return text_listed(name, strlen(name), names) || (n > 0 && strncmp(name, "python", 6) == 0 && strspn(name + 6, "0123456789.") == strlen(name + 6));
}

/* An option whose value is a file that is run. */
static bool takes_script(const char *option)
{
    static const char options[] = " -r -f --require --import --loader --rcfile --init-file --file ";

    return text_listed(option, strlen(option), options);
}

/* Behind an interpreter: the values of such options, and the first word that looks like a file. */
static void operands_search(script_search *k, const shell_part *p)
{
    for (uint32_t i = 1; i < p->count; i++) {
        const char *text = word_text(k, &k->s->words[p->first + i]);

        if (text == NULL)
            continue;
        if (strcmp(text, "-c") == 0)    /* a text, which is split by itself */
            return;
        if (is_interpreter(text))       /* env python3 */
            continue;
        if (*text == '-') {
            if (takes_script(text) && i + 1 < p->count && (text = word_text(k, &k->s->words[p->first + ++i])) != NULL)
                script_word(k, text);
            continue;
        }
        script_word(k, text);
        if (strchr(text, '/') != NULL || strchr(text, '.') != NULL)
            return;
    }
}

static void part_search(script_search *k, const shell_part *p)
{
    const char *program = p->count > 0 ? word_text(k, &k->s->words[p->first]) : NULL, *to;
    path at;

    if (program == NULL)
        return;
    if (strcmp(program, "cd") == 0 && p->count > 1) {
        if ((to = word_text(k, &k->s->words[p->first + 1])) != NULL && path_set(&at, to, strlen(to), k->moved != NULL ? k->moved : k->cwd, NULL))
            k->moved = arena_strdup(k->mem, at.text, at.size);
        return;
    }
    if (strchr(program, '/') != NULL)
        script_word(k, program);
    if (is_interpreter(last_part(program)))
        operands_search(k, p);
}

static void parts_search(script_search *k)
{
    for (size_t i = 0; i < k->s->nparts; i++)
        part_search(k, &k->s->parts[i]);
}

/* ---- a hook ------------------------------------------------------------------------------------------------------ */

/* The text with PROJECT_PLACE for $CLAUDE_PROJECT_DIR and ${CLAUDE_PROJECT_DIR}. */
static void placed_text(const char *text, buf *out)
{
    static const char open[] = "${CLAUDE_PROJECT_DIR}", bare[] = "$CLAUDE_PROJECT_DIR";
    static const char more[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

    while (*text != '\0') {
        const bool is_open = strncmp(text, open, sizeof open - 1) == 0, is_bare = strncmp(text, bare, sizeof bare - 1) == 0;

        if (is_open || (is_bare && (text[sizeof bare - 1] == '\0' || strchr(more, text[sizeof bare - 1]) == NULL))) {
            buf_text(out, PROJECT_PLACE);
            text += is_open ? sizeof open - 1 : sizeof bare - 1;
        } else {
            buf_char(out, *text++);
        }
    }
}

/* The words of `run`, or `command` with its `args`. NULL: it is a text for a shell, or nothing. */
static const pawl_value *words_given(script_search *k, const pawl_value *v)
{
    const pawl_value *run = pawl_value_get(v, "run"), *args = pawl_value_get(v, "args"), *out, *one;
    pawl_iter it = pawl_iter_of(run != NULL ? run : args);

    if (run == NULL && args == NULL)
        return NULL;
    out = run != NULL ? value_pack(k->mem, NULL, "[]") : value_pack(k->mem, NULL, "[v]", pawl_value_get(v, "command"));
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        out = value_push(k->mem, out, one);
    return out;
}

static const pawl_value *words_placed(script_search *k, const pawl_value *words)
{
    const pawl_value *out = value_pack(k->mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(words);

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *text = pawl_value_string(one);
        buf b;

        buf_init(&b, NULL);
        placed_text(text != NULL ? text : "", &b);
        out = b.failed ? NULL : value_push(k->mem, out, value_string(k->mem, b.data != NULL ? b.data : "", b.size));
        buf_free(&b);
    }
    return out;
}

const pawl_value *hook_scripts(arena *mem, const pawl_value *v, const char *project, const char *cwd)
{
    script_search k = { .mem = mem, .project = project, .cwd = cwd, .out = value_pack(mem, NULL, "[]") };
    const pawl_value *words = words_given(&k, v), *command = pawl_value_get(v, "command");
    arena room;
    buf b;

    arena_init(&room, NULL, sizeof(shell));     /* it is large, and there may be many hooks */
    if ((k.s = arena_get(&room, sizeof(shell))) == NULL)
        return NULL;
    buf_init(&b, NULL);
    if (words != NULL && (words = words_placed(&k, words)) != NULL) {
        shell_split_words(k.s, words);
        parts_search(&k);
    } else if (pawl_value_string(command) != NULL) {
        placed_text(pawl_value_string(command), &b);
        buf_char(&b, '\0');
        if (!b.failed) {
            shell_split(k.s, b.data, b.size - 1);
            parts_search(&k);
        }
        k.failed = k.failed || b.failed;
    }
    buf_free(&b);
    arena_free(&room);
    return k.failed || mem->failed ? NULL : k.out;
}
