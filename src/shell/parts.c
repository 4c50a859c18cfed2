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
} wrapper;

static const wrapper wrappers[] = {
    { "timeout", "v",  "ks",  " --foreground --preserve-status --verbose ", " --kill-after --signal ",     1 },
    { "time",    "p",  "",    " ",                                          " ",                           0 },
    { "nice",    "",   "n",   " ",                                          " --adjustment ",              0 },
    { "nohup",   "",   "",    " ",                                          " ",                           0 },
    { "stdbuf",  "",   "ioe", " ",                                          " --input --output --error ",  0 },
    { "command", "p",  "",    " ",                                          " ",                           0 },
    { "builtin", "",   "",    " ",                                          " ",                           0 },
    { "noglob",  "",   "",    " ",                                          " ",                           0 },
    { "xargs",   "",   "",    " ",                                          " ",                           0 },
    { "env",     "i",  "u",   " --ignore-environment ",                     " --unset ",                   0 },
};

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
    if (!shell_harmless(w->text, (size_t)(eq - w->text)))
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
        while (i < p->count && assignment_word(s, &w[i]))
            i++;
    if (i >= p->count)
        return false;
    if (strcmp(x->name, "xargs") == 0)
        p->more = true;
    p->first += i;
    p->count -= i;
    return true;
}

/* ---- programs that run other commands ---------------------------------------------------------------------------------- */

/* Some of its words are a command, but it is unknown which. */
#define CARRIERS " sudo doas exec setsid ionice chrt taskset unshare nsenter chroot watch parallel flock strace ltrace busybox su runuser script " \
    "entr pkexec setarch unbuffer toybox systemd-run "

static const char *base_name(const shell_word *w, size_t *n)
{
    const char *at = w->text + w->size;

    while (at > w->text && at[-1] != '/')
        at--;
    *n = (size_t)(w->text + w->size - at);
    return at;
}

/* sh -c TEXT */
static void inspect_shell(shell *s, const shell_part *p)
{
    const shell_word *w = &s->words[p->first];
    bool command = false;

    for (uint32_t i = 1; i < p->count; i++) {
        if (w[i].flags & (WORD_UNKNOWN | WORD_GLOB)) {
            shell_lost(s, "a shell in it is given what is not known", w[i].text);
            return;
        }
        if (w[i].size > 1 && (w[i].text[0] == '-' || w[i].text[0] == '+')) {
            command = command || (w[i].text[1] != '-' && memchr(w[i].text, 'c', w[i].size) != NULL);
            continue;
        }
        if (command)
            shell_queue(s, w[i].text, w[i].size, true);
        return;
    }
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
    }
}

static void inspect_carrier(shell *s, shell_part *p)
{
    const shell_word *w = &s->words[p->first];

    p->carries = true;
    for (uint32_t i = 1; i < p->count; i++)
        if (memchr(w[i].text, WORD_BLANK, w[i].size) != NULL)
            shell_queue(s, w[i].text, w[i].size, true);
}

static bool has_word(const shell *s, const shell_part *p, const char *words)
{
    for (uint32_t i = 1; i < p->count; i++)
        if (word_listed(&s->words[p->first + i], words))
            return true;
    return false;
}

void shell_part_done(shell *s, shell_part *p)
{
    const shell_word *w;
    const char *name;
    bool wrapped = true;
    size_t n;

    while (wrapped && p->count > 0) {
        const wrapper *x = NULL;

        w = &s->words[p->first];
        wrapped = false;
        for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers && x == NULL; i++)
            if (word_is(w, wrappers[i].name))
                x = &wrappers[i];
        if (x == NULL)
            break;
        wrapped = unwrap(s, p, x);
        if (!wrapped && p->count > 1 && !(strcmp(x->name, "command") == 0 && has_word(s, p, " -v -V ")))
            inspect_carrier(s, p);
    }
    if (p->count == 0)
        return;
    w = &s->words[p->first];
    if (w->flags & (WORD_UNKNOWN | WORD_GLOB)) {
        shell_lost(s, "which command it is, is not known before it runs", w->text);
        return;
    }
    name = base_name(w, &n);
    if (program_is_shell(w)) {
        inspect_shell(s, p);
        if (p->fed && p->feed.flags & (WORD_UNKNOWN | WORD_GLOB))
            shell_lost(s, "a shell in it is given what is not known", p->feed.text);
        else if (p->fed)
            shell_queue(s, p->feed.text, p->feed.size, true);
    } else if (text_listed(name, n, CARRIERS)) {
        inspect_carrier(s, p);
    } else if (n == 4 && memcmp(name, "find", 4) == 0 && has_word(s, p, " -exec -execdir -ok -okdir ")) {
        inspect_carrier(s, p);
    }
    inspect_builtin(s, p);
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
