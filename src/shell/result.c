/* result.c - writes to the result of a split: doubts, texts to be split in turn; and compares words with fixed texts.
 *
 * Called by the other files of this folder while they split, and by src/policy afterwards. Owns nothing: everything is in the caller's
 * struct shell. Invariant: the first doubt stays, so that its place is the first one in the text; `unseen` implies `unsure`. */
#include "shell/shell.h"

void shell_doubt(shell *s, const char *why, const char *at)
{
    if (s->unsure == NULL) {
        s->unsure = why;
        s->unsure_text = at;
    }
}

void shell_lost(shell *s, const char *why, const char *at)
{
    shell_doubt(s, why, at);
    s->unseen = true;
}

void shell_queue(shell *s, const char *text, size_t size, bool copy)
{
    if (copy) {
        char *to = s->aside + s->aside_used;

        if (size > SHELL_ASIDE_BYTES - s->aside_used) {
            shell_lost(s, "a command in it is too long", text);
            return;
        }
        for (size_t i = 0; i < size; i++)
            to[i] = text[i] == WORD_BLANK ? ' ' : text[i];
        s->aside_used += size;
        text = to;
    }
    if (s->ntexts == SHELL_TEXTS_MAX) {
        shell_lost(s, "it has too many commands in commands", text);
        return;
    }
    s->texts[s->ntexts++] = (shell_text){ text, (uint32_t)size };
}

pawl_bytes shell_joined(const shell *s, const shell_part *p)
{
    const shell_word *first, *last;

    if (p->count == 0)
        return (pawl_bytes){ "", 0 };
    first = &s->words[p->first];
    last = first + p->count - 1;
    return (pawl_bytes){ first->text, (size_t)(last->text - first->text) + last->size };
}

bool word_is(const shell_word *w, const char *text)
{
    return (w->flags & (WORD_UNKNOWN | WORD_GLOB)) == 0 && strlen(text) == w->size && memcmp(w->text, text, w->size) == 0;
}

bool text_listed(const char *p, size_t n, const char *words)
{
    char word[44];

    if (n == 0 || n > sizeof word - 3 || memchr(p, ' ', n) != NULL || memchr(p, '\0', n) != NULL)
        return false;
    word[0] = word[n + 1] = ' ';
    memcpy(word + 1, p, n);
    word[n + 2] = '\0';
    return strstr(words, word) != NULL;
}

bool shell_harmless(const char *p, size_t n)
{
    return text_listed(p, n, " CI NODE_ENV RAILS_ENV RACK_ENV APP_ENV LANG LC_ALL LC_CTYPE LC_MESSAGES LC_COLLATE LC_NUMERIC LC_TIME "
        "TZ NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES RUST_BACKTRACE RUST_LOG GOOS GOARCH CGO_ENABLED GO111MODULE PYTHONUNBUFFERED "
        "PYTHONDONTWRITEBYTECODE PYTHONIOENCODING DEBIAN_FRONTEND CARGO_TERM_COLOR ");
}

bool shell_steers(const char *p, size_t n)
{
    return text_listed(p, n, " PATH LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT BASH_ENV ENV PS4 PROMPT_COMMAND IFS SHELLOPTS BASHOPTS GLOBIGNORE ");
}
