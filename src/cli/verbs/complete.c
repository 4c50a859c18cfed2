/* complete.c - `pawl completions`: completion scripts for bash, zsh and fish, made from the rows of the verbs. The scripts ask for ids when they run.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "cli/verbs.h"

/* ---- what a word may be ------------------------------------------------------------------------------ */

enum { OFFER_RUNS = 1, OFFER_FILES = 2, OFFER_VERBS = 4, OFFER_WORDS = 8 };     /* bits, because FILE|RUN may be either */

static const struct { const char *word; unsigned what; const char *words; } meanings[] = {
    { "RUN", OFFER_RUNS, NULL }, { "A", OFFER_RUNS, NULL }, { "B", OFFER_RUNS, NULL },
    { "FILE", OFFER_FILES, NULL }, { "PATH", OFFER_FILES, NULL },
    { "VERB", OFFER_VERBS, NULL },
    { "URL", OFFER_WORDS, "sqlite: memory:" },
    { "STATUS", OFFER_WORDS, "submitted working input-required completed failed canceled rejected" },
    { "MODE", OFFER_WORDS, "plan default acceptEdits bypassPermissions" },
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '@';
}

static unsigned word_means(const char *word, size_t n, buf *words)
{
    for (size_t k = 0; k < sizeof meanings / sizeof *meanings; k++)
        if (strlen(meanings[k].word) == n && memcmp(word, meanings[k].word, n) == 0) {
            buf_text(words, meanings[k].words == NULL ? "" : meanings[k].words);
            return meanings[k].what;
        }
    return 0;
}

/* What may stand at one place of a form, "[FILE...]" or "FILE|RUN" or "text|dot": `words` gets the words to choose from. */
static unsigned offer_of(const char *form, size_t size, buf *words)
{
    bool choice = memchr(form, '|', size) != NULL;
    unsigned found = 0, one;

    for (size_t i = 0; i < size;) {
        size_t n = 0;

        while (i + n < size && is_word(form[i + n]))
            n++;
        one = n == 0 ? 0 : word_means(form + i, n, words);
        if (one == 0 && choice && n > 1 && form[i] >= 'a' && form[i] <= 'z') {
            buf_fmt(words, "%s%.*s", words->size == 0 ? "" : " ", (int)n, form + i);
            one = OFFER_WORDS;
        }
        found |= one;
        i += n == 0 ? 1 : n;
    }
    return found;
}

/* Reads the next part of a form "a b c" and returns the rest; *any: it may be repeated. */
static const char *form_next(const char *form, size_t *size, bool *any)
{
    *size = strcspn(form, " ");
    *any = *size > 3 && memchr(form, '.', *size) != NULL;
    return form[*size] == '\0' ? form + *size : form + *size + 1;
}

/* ---- bash --------------------------------------------------------------------------------------------- */

static const char bash_head[] =
    "# bash completion of pawl: source <(pawl completions bash)\n"
    "_pawl_words() { COMPREPLY+=($(compgen -W \"$1\" -- \"$cur\")); }\n"
    "_pawl_files() { COMPREPLY+=($(compgen -f -- \"$cur\")); }\n"
    "_pawl_runs() { # compgen expands what it is given: an id must not be expanded, whatever the store holds\n"
    "    _pawl_words \"@ $(pawl ls --ids --limit 200 ${store:+--store \"$store\"} 2>/dev/null | tr -cd 'A-Za-z0-9._\\n-')\"\n"
    "}\n"
    "# Readline cuts words at = and : as well.\n"
    "_pawl() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} store= option value i n=0\n"
    "    COMPREPLY=()\n"
    "    if [ \"$COMP_CWORD\" -le 1 ]; then\n"
    "        _pawl_words \"$_pawl_verbs\"\n"
    "        return\n"
    "    fi\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        option=${COMP_WORDS[i]}\n"
    "        if [[ $_pawl_valued == *\" $verb$option \"* ]]; then\n"
    "            [ \"${COMP_WORDS[i+1]}\" != = ] || i=$((i + 1))\n"
    "            i=$((i + 1)) value=${COMP_WORDS[i]-}\n"
    "            while [ \"${COMP_WORDS[i+1]-}\" = : ]; do\n"
    "                value+=:${COMP_WORDS[i+2]-} i=$((i + 2))\n"
    "            done\n"
    "            [ \"$option\" != --store ] || store=$value\n"
    "        elif [[ $option != -?* ]]; then\n"
    "            n=$((n + 1))\n"
    "        fi\n"
    "    done\n"
    "    [ \"$prev\" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    [ \"$cur\" != = ] || cur=\n"
    "    case $verb$prev in\n";

static void bash_offer(buf *out, const char *form, size_t size)
{
    unsigned what;
    buf words;

    buf_init(&words, NULL);
    what = offer_of(form, size, &words);
    if (what & OFFER_WORDS)
        buf_fmt(out, "_pawl_words '%.*s'; ", (int)words.size, words.data);
    buf_text(out, what & OFFER_VERBS ? "_pawl_words \"$_pawl_verbs\"; " : "");
    buf_text(out, what & OFFER_RUNS ? "_pawl_runs; " : "");
    buf_text(out, what & OFFER_FILES ? "_pawl_files; " : "");
    if (what == 0)
        buf_word(out, ":; ");
    out->failed = out->failed || words.failed;
    buf_free(&words);
}

static void bash_verb(buf *out, const cli_verb *v)
{
    const cli_option *o;
    unsigned place = 0;
    size_t size;
    bool any;

    buf_fmt(out, "        %s)\n            case $cur in -*) _pawl_words '", v->name);
    for (size_t i = 0; (o = cli_option_at(v, i)) != NULL; i++)
        buf_fmt(out, "%s--%s", i == 0 ? "" : " ", o->name);
    buf_word(out, "'; return ;; esac\n            case $n in\n");
    for (const char *form = v->form, *next; *form != '\0'; form = next, place++) {
        next = form_next(form, &size, &any);
        if (any && *next == '\0')
            buf_word(out, "                *) ");
        else
            buf_fmt(out, "                %u) ", place);
        bash_offer(out, form, size);
        buf_word(out, ";;\n");
    }
    buf_word(out, "                @) ;;\n            esac ;;\n");
}

static void each_name(const cli_program *p, buf *out)
{
    for (size_t i = 0, n = 0; p->verbs[i] != NULL; i++)
        buf_fmt(out, "%s%s", n++ == 0 ? "" : " ", p->verbs[i]->name);
}

static void bash_values(buf *out, const cli_verb *v)
{
    const cli_option *o;

    for (size_t i = 0; (o = cli_option_at(v, i)) != NULL; i++)
        if (o->value != NULL) {
            buf_fmt(out, "        %s--%s) ", v->name, o->name);
            bash_offer(out, o->value, strlen(o->value));
            buf_word(out, "return ;;\n");
        }
}

static void bash_script(const cli_program *p, buf *out)
{
    const cli_option *o;

    buf_word(out, "_pawl_verbs='");
    each_name(p, out);
    buf_word(out, "'\n_pawl_valued=' ");
    for (size_t i = 0; p->verbs[i] != NULL; i++)
        for (size_t k = 0; (o = cli_option_at(p->verbs[i], k)) != NULL; k++)
            if (o->value != NULL)
                buf_fmt(out, "%s--%s ", p->verbs[i]->name, o->name);
    buf_word(out, "'\n");
    buf_put(out, bash_head, sizeof bash_head - 1);
    for (size_t i = 0; p->verbs[i] != NULL; i++)
        bash_values(out, p->verbs[i]);
    buf_word(out, "    esac\n    case $verb in\n");
    for (size_t i = 0; p->verbs[i] != NULL; i++)
        bash_verb(out, p->verbs[i]);
    buf_word(out, "    esac\n}\ncomplete -o filenames -F _pawl pawl\n");
}

/* ---- zsh ------------------------------------------------------------------------------------------------ */

/* For text inside single quotes: `[]:` and backslashes have a meaning for _arguments. */
static void zsh_text(buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            buf_word(out, "'\\''");
            continue;
        }
        if (strchr("[]:\\", *text) != NULL)
            buf_char(out, '\\');
        buf_char(out, *text);
    }
}

static void zsh_offer(buf *out, const char *form, size_t size)
{
    unsigned what;
    buf words;

    buf_init(&words, NULL);
    what = offer_of(form, size, &words);
    if (what == OFFER_WORDS) {
        buf_word(out, ":word:(");
        for (size_t i = 0; i < words.size; i++)
            buf_fmt(out, "%s%c", words.data[i] == ':' ? "\\" : "", words.data[i]);
        buf_char(out, ')');
    } else if (what == 0) {
        buf_word(out, ":value: ");
    } else {
        buf_fmt(out, ":%s:{", what & OFFER_RUNS ? "run" : what & OFFER_FILES ? "file" : "verb");
        buf_text(out, what & OFFER_VERBS ? "_pawl_verbs;" : "");
        buf_text(out, what & OFFER_RUNS ? "_pawl_runs;" : "");
        buf_text(out, what & OFFER_FILES ? "_files;" : "");
        buf_char(out, '}');
    }
    out->failed = out->failed || words.failed;
    buf_free(&words);
}

static void zsh_verb(buf *out, const cli_verb *v)
{
    const cli_option *o;

    buf_fmt(out, "        %s) _arguments", v->name);
    for (size_t i = 0; (o = cli_option_at(v, i)) != NULL; i++) {
        bool many = o->value != NULL && strstr(o->value, "...") != NULL;

        buf_fmt(out, " \\\n            '%s--%s%s[", many ? "*" : "", o->name, o->value == NULL ? "" : "=");
        zsh_text(out, o->what);
        buf_char(out, ']');
        if (o->value != NULL)
            zsh_offer(out, o->value, strlen(o->value));
        buf_char(out, '\'');
    }
    for (const char *form = v->form, *next; *form != '\0'; form = next) {
        size_t size;
        bool any;

        next = form_next(form, &size, &any);
        buf_fmt(out, " \\\n            '%s", any && *next == '\0' ? "*" : "");
        zsh_offer(out, form, size);
        buf_char(out, '\'');
    }
    buf_word(out, " ;;\n");
}

static void zsh_script(const cli_program *p, buf *out)
{
    buf_word(out, "#compdef pawl\n"
                  "# zsh completion of pawl: pawl completions zsh >~/.zfunc/_pawl, or source <(pawl completions zsh)\n"
                  "_pawl_runs() { local -a runs; runs=(@ ${(f)\"$(pawl ls --ids --limit 200 2>/dev/null)\"}); compadd -a runs }\n"
                  "_pawl_verbs() {\n    local -a verbs\n    verbs=(\n");
    for (size_t i = 0; p->verbs[i] != NULL; i++) {
        buf_fmt(out, "        '%s:", p->verbs[i]->name);
        zsh_text(out, p->verbs[i]->what);
        buf_word(out, "'\n");
    }
    buf_word(out, "    )\n    _describe verb verbs\n}\n"
                  "_pawl() {\n    if ((CURRENT == 2)); then _pawl_verbs; return; fi\n"
                  "    local verb=$words[2]\n    shift words\n    ((CURRENT--))\n    case $verb in\n");
    for (size_t i = 0; p->verbs[i] != NULL; i++)
        zsh_verb(out, p->verbs[i]);
    buf_word(out, "    esac\n}\nif [ \"$funcstack[1]\" = _pawl ]; then _pawl \"$@\"; else compdef _pawl pawl; fi\n");
}

/* ---- fish ------------------------------------------------------------------------------------------------- */

static void fish_text(buf *out, const char *text)
{
    buf_char(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            buf_char(out, '\\');
        buf_char(out, *text);
    }
    buf_char(out, '\'');
}

static void fish_offer(buf *out, const char *form, size_t size)
{
    unsigned what;
    buf words;

    buf_init(&words, NULL);
    what = offer_of(form, size, &words);
    if (what != 0 && (what & OFFER_FILES) == 0)     /* fish offers files by itself */
        buf_word(out, " -f");
    if (what & OFFER_RUNS)
        buf_word(out, " -a '(__pawl_runs)'");
    if (what & OFFER_VERBS)
        buf_word(out, " -a \"$__pawl_verbs\"");
    if (what & OFFER_WORDS)
        buf_fmt(out, " -a '%.*s'", (int)words.size, words.data);
    out->failed = out->failed || words.failed;
    buf_free(&words);
}

static void fish_verb(buf *out, const cli_verb *v)
{
    const cli_option *o;

    buf_fmt(out, "complete -c pawl -n __fish_use_subcommand -f -a %s -d ", v->name);
    fish_text(out, v->what);
    buf_char(out, '\n');
    for (size_t i = 0; (o = cli_option_at(v, i)) != NULL; i++) {
        buf_fmt(out, "complete -c pawl -n '__fish_seen_subcommand_from %s' -l %s", v->name, o->name);
        if (o->value != NULL) {
            buf_word(out, " -r");
            fish_offer(out, o->value, strlen(o->value));
        }
        buf_word(out, " -d ");
        fish_text(out, o->what);
        buf_char(out, '\n');
    }
    buf_fmt(out, "complete -c pawl -n '__fish_seen_subcommand_from %s'", v->name);
    fish_offer(out, v->form, strlen(v->form));
    buf_char(out, '\n');
}

static void fish_script(const cli_program *p, buf *out)
{
    buf_word(out, "# fish completion of pawl: pawl completions fish | source\n"
                  "function __pawl_runs\n    echo @\n    pawl ls --ids --limit 200 2>/dev/null\nend\nset -g __pawl_verbs '");
    each_name(p, out);
    buf_word(out, "'\n");
    for (size_t i = 0; p->verbs[i] != NULL; i++)
        fish_verb(out, p->verbs[i]);
}

/* ---- the verb ------------------------------------------------------------------------------------------------ */

static int completions_run(cli_call *c)
{
    static const struct { const char *shell; void (*script)(const cli_program *p, buf *out); } shells[] = {
        { "bash", bash_script }, { "zsh", zsh_script }, { "fish", fish_script } };
    bool put = false, known = false;
    buf out;

    buf_init(&out, NULL);
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(c->args[0], shells[i].shell) == 0) {
            known = true;
            shells[i].script(c->program, &out);
            put = cli_put(c, &out);
        }
    buf_free(&out);
    return !known ? cli_usage(c, "unknown shell \"%s\": known are bash, zsh and fish", c->args[0]) : put ? EXIT_DONE : EXIT_FAILED;
}

const cli_verb verb_completions = {
    .name = "completions", .form = "bash|zsh|fish", .what = "print shell completions for verbs, runs and files", .least = 1,
    .most = 1, .run = completions_run,
    .about = "The 200 newest runs are completed; they are read with `pawl ls --ids` at each\n"
             "completion.",
    .example = "source <(pawl completions bash)          # in ~/.bashrc\n"
               "pawl completions zsh >~/.zfunc/_pawl     # a folder of $fpath\n"
               "pawl completions fish >~/.config/fish/completions/pawl.fish",
};
