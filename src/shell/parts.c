/* parts.c - completes a part: takes wrappers (timeout, env) off, and queues the commands inside of it (sh -c, eval).
 *
 * Owns nothing: everything is in the caller's struct shell. Called by split.c; pure, any thread.
 * Invariant: a wrapper whose options are unknown is not taken off, and marks the part `carries`: some of its words are a command. */
#include "shell/shell.h"

/* ---- wrappers: programs that run the rest of their words ------------------------------------------------ */

typedef struct wrapper {
    const char *name, *flags, *takes;   /* option letters without, and with a value */
    const char *longs, *longs_take;     /* long options, each between blanks */
    unsigned operands;                  /* before the command */
    bool alters;                        /* a command that only reads is no longer sure to: nohup may write a file */
} wrapper;

static const wrapper wrappers[] = {
    { "timeout", "v",  "ks",  " --foreground --preserve-status --verbose ", " --kill-after --signal ",     1, false },
    { "time",    "p",  "",    " ",                                          " ",                           0, false },
    { "nice",    "",   "n",   " ",                                          " --adjustment ",              0, false },
    { "nohup",   "",   "",    " ",                                          " ",                           0, true },
    { "stdbuf",  "",   "ioe", " ",                                          " --input --output --error ",  0, false },
    { "command", "p",  "",    " ",                                          " ",                           0, false },
    { "builtin", "",   "",    " ",                                          " ",                           0, false },
    { "noglob",  "",   "",    " ",                                          " ",                           0, true },
    { "xargs",   "",   "",    " ",                                          " ",                           0, false },
    { "env",     "i",  "u",   " --ignore-environment ",                     " --unset ",                   0, false },
};

#define WRAPPERS " timeout time nice nohup stdbuf command builtin noglob xargs env "

static bool word_listed(const shell_word *w, const char *words)
{
    return (w->flags & (WORD_UNKNOWN | WORD_GLOB)) == 0 && text_listed(w->text, w->size, words);
}

/* The number of words of an option: 1 or 2; 0: unknown option. */
static unsigned option_words(const wrapper *x, const shell_word *w)
{
    const char *eq = memchr(w->text, '=', w->size);
    size_t n = eq != NULL ? (size_t)(eq - w->text) : w->size;

    if (w->size > 2 && w->text[1] == '-') {
        if (text_listed(w->text, n, x->longs_take))
            return eq != NULL ? 1 : 2;
        return eq == NULL && text_listed(w->text, n, x->longs) ? 1 : 0;
    }
    if (strcmp(x->name, "nice") == 0 && w->size > 1 && w->text[1] >= '0' && w->text[1] <= '9')
        return 1;
    for (size_t i = 1; i < w->size; i++) {
        if (strchr(x->takes, w->text[i]) != NULL)
            return i + 1 < w->size ? 1 : 2;
        if (strchr(x->flags, w->text[i]) == NULL)
            return 0;
    }
    return 1;
}

static bool assignment_word(shell *s, const shell_word *w)
{
    const char *eq = memchr(w->text, '=', w->size);

    if (eq == NULL || eq == w->text)
        return false;
    if (shell_steers(w->text, (size_t)(eq - w->text)))
        shell_lost(s, "it sets a variable that may change what runs", w->text);
    else if (!shell_harmless(w->text, (size_t)(eq - w->text)))
        shell_doubt(s, "it sets a variable that may change what runs", w->text);
    return true;
}

/* Takes `x` off; false: not with these options. */
static bool unwrap(shell *s, shell_part *p, const wrapper *x)
{
    const shell_word *w = &s->words[p->first];
    uint32_t i = 1;

    for (; i < p->count && w[i].size > 1 && w[i].text[0] == '-'; ) {
        if (w[i].flags & (WORD_UNKNOWN | WORD_GLOB))
            return false;
        if (word_is(&w[i], "--")) {
            i++;
            break;
        }
        unsigned n = option_words(x, &w[i]);
        if (n == 0)
            return false;
        i += n;
    }
    for (uint32_t k = 0; k < x->operands; k++, i++)
        if (i >= p->count || (w[i].flags & (WORD_UNKNOWN | WORD_GLOB)) != 0)
            return false;
    if (strcmp(x->name, "env") == 0)
        while (i < p->count && assignment_word(s, &w[i])) {
            p->alters = true;
            i++;
        }
    if (i >= p->count)
        return false;
    if (strcmp(x->name, "xargs") == 0)
        p->more = true;
    p->wrapped = true;
    p->alters = p->alters || x->alters;
    p->first += i;
    p->count -= i;
    return true;
}

/* ---- programs that run other commands ---------------------------------------------------------------------------------- */

/* Some of its words are a command, but it is unknown which. */
#define CARRIERS " sudo doas exec setsid ionice chrt taskset unshare nsenter chroot watch parallel flock strace ltrace busybox su runuser script " \
    "entr pkexec setarch unbuffer toybox systemd-run prlimit setpriv capsh choom numactl schedtool cgexec firejail bwrap proot fakeroot fakechroot faketime " \
    "valgrind gdb perf rlwrap dbus-run-session xvfb-run ssh ssh-agent run0 sudoedit linux32 linux64 i386 x86_64 " \
    "start-stop-daemon chpst softlimit envdir setuidgid daemonize at batch catchsegv torsocks proxychains sg newgrp tmux screen "
/* They give it the rights of another user. */
#define RAISERS " sudo su doas pkexec run0 sudoedit "

static const char *base_name(const shell_word *w, size_t *n)
{
    const char *at = w->text + w->size;

    while (at > w->text && at[-1] != '/')
        at--;
    *n = (size_t)(w->text + w->size - at);
    return at;
}

/* Options of a shell. Returns the place of the first word behind them. */
static uint32_t shell_options(shell *s, const shell_part *p, bool *command, bool *input)
{
    const shell_word *w = &s->words[p->first];
    uint32_t i = 1;

    while (i < p->count && w[i].size > 1 && (w[i].text[0] == '-' || w[i].text[0] == '+') && word_listed(&w[i], " -- ") == false) {
        const shell_word *x = &w[i++];

        if (x->flags & (WORD_UNKNOWN | WORD_GLOB))
            return i - 1;
        if (x->text[1] == '-') {
            i += word_listed(x, " --rcfile --init-file ");
            continue;
        }
        for (uint32_t k = 1; k < x->size; k++) {
            *command = *command || (x->text[k] == 'c' && x->text[0] == '-');
            *input = *input || x->text[k] == 's';
            i += x->text[k] == 'o' || x->text[k] == 'O';
        }
    }
    return i + (i < p->count && word_listed(&w[i], " -- - "));
}

/* sh -c TEXT, sh FILE, or a text from its input */
static void inspect_shell(shell *s, const shell_part *p)
{
    const shell_word *w = &s->words[p->first];
    bool command = false, input = false;
    const uint32_t i = shell_options(s, p, &command, &input);

    if (i < p->count && (w[i].flags & (WORD_UNKNOWN | WORD_GLOB)) != 0)
        shell_lost(s, "a shell in it is given what is not known", w[i].text);
    else if (command && i < p->count)
        shell_queue(s, w[i].text, w[i].size, true);
    else if ((command || input || i >= p->count) && !p->fed)
        shell_lost(s, "a shell in it is given what is not known", w->text);
}

/* bash evaluates a subscript among these words, and what -i makes a number. */
static void inspect_subscripts(shell *s, const shell_part *p)
{
    const shell_word *w = &s->words[p->first];
    const bool declares = word_listed(w, " declare typeset local ");

    for (uint32_t i = 1; i < p->count; i++) {
        const char *open = memchr(w[i].text, '[', w[i].size);
        const size_t rest = open != NULL ? (size_t)(w[i].text + w[i].size - open) : 0;
        const bool option = declares && w[i].size > 1 && (w[i].text[0] == '-' || w[i].text[0] == '+');

        if (open != NULL && rest > 1 && (memchr(open, '$', rest) != NULL || memchr(open, '`', rest) != NULL)) {
            shell_lost(s, "it evaluates a text", w[i].text);
            shell_queue(s, open + 1, rest - 1, true);
        } else if (option && (memchr(w[i].text, 'i', w[i].size) != NULL || memchr(w[i].text, 'n', w[i].size) != NULL)) {
            shell_lost(s, "it evaluates a text", w[i].text);
        }
    }
}

/* set -H and set -k change how the next lines are read. */
static void inspect_set(shell *s, const shell_part *p)
{
    const shell_word *w = &s->words[p->first];

    for (uint32_t i = 1; i < p->count; i++)
        if ((w[i].flags & (WORD_UNKNOWN | WORD_GLOB)) != 0 || word_listed(&w[i], " history histexpand keyword posix ") ||
            (w[i].size > 1 && w[i].text[0] == '-' && w[i].text[1] != '-' &&
             (memchr(w[i].text, 'H', w[i].size) != NULL || memchr(w[i].text, 'k', w[i].size) != NULL)))
            shell_lost(s, "it changes what other commands mean", w[i].text);
}

/* Commands of the shell that change what later ones mean. */
static void inspect_builtin(shell *s, const shell_part *p)
{
    const shell_word *w = &s->words[p->first];

    if (word_listed(w, " eval ")) {
        shell_lost(s, "it evaluates a text", w->text);
        if (p->count > 1) {
            const shell_word *last = w + p->count - 1;
            shell_queue(s, w[1].text, (size_t)(last->text - w[1].text) + last->size, true);
        }
    } else if (word_listed(w, " source . ")) {
        shell_lost(s, "it runs a script in this shell", w->text);
    } else if (word_listed(w, " trap alias enable hash bind fc complete mapfile readarray ")) {
        shell_lost(s, "it changes what other commands mean", w->text);
        for (uint32_t i = 1; i < p->count; i++)
            shell_queue(s, w[i].text, w[i].size, true);
    } else if (word_listed(w, " export declare typeset readonly local ")) {
        for (uint32_t i = 1; i < p->count; i++) {
            if (w[i].flags & (WORD_UNKNOWN | WORD_GLOB) && memchr(w[i].text, '=', w[i].known) == NULL)
                shell_doubt(s, "it sets a variable that is not known", w[i].text);
            (void)assignment_word(s, &w[i]);
        }
    } else if (word_listed(w, " let ")) {
        shell_lost(s, "it evaluates a text", w->text);
    } else if (word_listed(w, " set ")) {
        inspect_set(s, p);
    } else if (word_listed(w, " shopt ")) {
        shell_doubt(s, "it changes what other commands mean", w->text);
    }
    if (word_listed(w, " export declare typeset readonly local read unset let test [ printf wait getopts "))
        inspect_subscripts(s, p);
}

/* A command may begin behind an option's letter or its =, as in su -c'rm x' and --command='rm x'. */
static void queue_words(shell *s, const shell_word *w)
{
    const char *eq = memchr(w->text, '=', w->size);

    if (memchr(w->text, WORD_BLANK, w->size) == NULL)
        return;
    shell_queue(s, w->text, w->size, true);
    if (w->size > 2 && w->text[0] == '-' && w->text[1] != '-')
        shell_queue(s, w->text + 2, w->size - 2, true);
    else if (eq != NULL && w->text[0] == '-')
        shell_queue(s, eq + 1, (size_t)(w->text + w->size - eq) - 1, true);
}

static void inspect_carrier(shell *s, shell_part *p)
{
    const shell_word *w = &s->words[p->first];
    size_t n;
    const char *name = base_name(w, &n);
    const bool feeds = p->more || text_listed(name, n, " xargs parallel "), splits = text_listed(name, n, " env ");

    p->carries = true;
    for (uint32_t i = 1; i < p->count; i++) {
        queue_words(s, &w[i]);
        if (splits && w[i].size > 1 && w[i].text[0] == '-' &&
            (w[i].text[1] == '-' ? w[i].size > 2 && w[i].text[2] == 's' : memchr(w[i].text, 'S', w[i].size) != NULL))
            shell_lost(s, "it evaluates a text", w[i].text);
        if (program_is_shell(&w[i])) {
            shell_part inner = *p;

            inner.first += i;
            inner.count -= i;
            inspect_shell(s, &inner);
        }
        if (feeds && (program_is_shell(&w[i]) || word_listed(&w[i], CARRIERS) || word_listed(&w[i], WRAPPERS)))
            shell_lost(s, "which command it is, is not known before it runs", w[i].text);
    }
    if (text_listed(name, n, " su at batch ") ||
        (text_listed(name, n, " sudo doas ") && p->count == 2 && word_listed(&w[1], " -s -i --shell --login ")))
        shell_lost(s, "a shell in it is given what is not known", w->text);
}

static bool raises(const shell *s, const shell_part *p)
{
    for (uint32_t i = 0; i < (p->carries ? p->count : p->count > 0); i++) {
        const shell_word *w = &s->words[p->first + i];
        size_t n;
        const char *name = base_name(w, &n);

        if (text_listed(name, n, RAISERS))
            return true;
    }
    return false;
}

static bool has_word(const shell *s, const shell_part *p, const char *words)
{
    for (uint32_t i = 1; i < p->count; i++)
        if (word_listed(&s->words[p->first + i], words))
            return true;
    return false;
}

/* Takes all wrappers off. */
static void unwrap_all(shell *s, shell_part *p)
{
    bool wrapped = true;

    while (wrapped && p->count > 0) {
        const shell_word *w = &s->words[p->first];
        const wrapper *x = NULL;

        for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers && x == NULL; i++)
            if (word_is(w, wrappers[i].name))
                x = &wrappers[i];
        if (x == NULL)
            return;
        wrapped = unwrap(s, p, x);
        if (!wrapped && p->more)
            shell_lost(s, "which command it is, is not known before it runs", w->text);
        if (!wrapped && p->count > 1 && !(strcmp(x->name, "command") == 0 && has_word(s, p, " -v -V ")))
            inspect_carrier(s, p);
    }
}

void shell_part_done(shell *s, shell_part *p)
{
    const shell_word *w;
    const char *name;
    size_t n;

    unwrap_all(s, p);
    if (p->count == 0)
        return;
    w = &s->words[p->first];
    if (w->flags & (WORD_UNKNOWN | WORD_GLOB)) {
        shell_lost(s, "which command it is, is not known before it runs", w->text);
        return;
    }
    name = base_name(w, &n);
    if (program_is_shell(w)) {
        if (p->more)
            shell_lost(s, "a shell in it is given what is not known", w->text);
        inspect_shell(s, p);
        if (p->fed && p->feed.flags & (WORD_UNKNOWN | WORD_GLOB))
            shell_lost(s, "a shell in it is given what is not known", p->feed.text);
        else if (p->fed)
            shell_queue(s, p->feed.text, p->feed.size, true);
    } else if (text_listed(name, n, CARRIERS) || (n < w->size && text_listed(name, n, WRAPPERS)) ||
               (n > 5 && memcmp(name, "ld-li", 5) == 0) || (n > 5 && memcmp(name, "ld.so", 5) == 0)) {
        if (p->more)
            shell_lost(s, "which command it is, is not known before it runs", w->text);
        inspect_carrier(s, p);
    } else if (n == 4 && memcmp(name, "find", 4) == 0 && has_word(s, p, " -exec -execdir -ok -okdir ")) {
        inspect_carrier(s, p);
    }
    inspect_builtin(s, p);
    p->raises = raises(s, p);
}

void shell_part_fed(shell *s, shell_part *p)
{
    p->fed = true;
    if (p->count > 0 && program_is_shell(&s->words[p->first]))
        shell_queue(s, p->feed.text, p->feed.size, false);
    else if (program_reads_text(s, p))
        return;
    shell_doubt(s, "it has a here-document", p->feed.text);
}
