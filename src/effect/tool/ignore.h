/* ignore.h - which files of a git worktree its .gitignore files leave out. */
#ifndef EFFECT_TOOL_IGNORE_H
#define EFFECT_TOOL_IGNORE_H

#include "base/base.h"

/* One line of a .gitignore. */
typedef struct ignore_rule {
    const char *text;
    size_t size, plain;         /* plain: bytes before the first that is special */
    bool back;                  /* ! - what it fits is not left out */
    bool folder;                /* it fits folders only */
    bool name;                  /* it fits the name alone, at any depth */
    bool end;                   /* a * and plain text */
} ignore_rule;

/* The rules of one file, and those that count where none of these fits. */
typedef struct ignore_list {
    const struct ignore_list *up;
    size_t base;                /* bytes of the absolute path of its folder, with the slash */
    const ignore_rule *all;
    size_t n;
} ignore_list;

/* Reads the text of a .gitignore, which has to live as long as the rules. False: no memory. */
bool ignore_read(arena *mem, const char *text, size_t size, ignore_list *out);
/* Whether the file or folder at this absolute path is left out, if no folder above it is. */
bool ignore_fits(const ignore_list *l, const char *path, size_t size, bool folder);

#endif
