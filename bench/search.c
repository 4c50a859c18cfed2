/* search.c - the tools glob and grep over 50,000 files, beside programs that do the same. */
#define _XOPEN_SOURCE 700
#include "bench.h"
#include "effect/effect.h"
#include "pawl/tool.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS = 500, FILES = 100, LINES = 20 };

static char top[64];            /* "": the files are not made yet */

static int one_removed(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void all_removed(void)
{
    nftw(top, one_removed, 16, FTW_DEPTH | FTW_PHYS);
}

static bool file_made(int folder, int i)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%s/d%d/f%d.%s", top, folder, i, i % 4 == 0 ? "c" : "txt");
    if ((f = fopen(path, "w")) == NULL)
        return false;
    for (int line = 0; line < LINES; line++)
        fprintf(f, "line %d of file %d in folder %d: int main(void) { return %d; }\n", line, i, folder, line * i);
    if ((folder * FILES + i) % 1000 == 0)
        fputs("here is the needle_in_hay\n", f);
    return fclose(f) == 0;
}

static bool files_made(void)
{
    char path[160];

    if (*top != '\0')
        return true;
    memcpy(top, "/tmp/pawl-bench-XXXXXX", sizeof "/tmp/pawl-bench-XXXXXX");
    if (mkdtemp(top) == NULL) {
        *top = '\0';
        return false;
    }
    atexit(all_removed);
    for (int folder = 0; folder < FOLDERS; folder++) {
        snprintf(path, sizeof path, "%s/d%d", top, folder);
        if (mkdir(path, 0755) != 0)
            return false;
        for (int i = 0; i < FILES; i++)
            if (!file_made(folder, i))
                return false;
    }
    return true;
}

/* Of one call in ms; below 0: it failed. */
static double tool_ms(const char *name, const char *key, const char *value)
{
    pawl_tools *set = pawl_tools_new(NULL, NULL);
    const pawl_tool *tool;
    pawl_job job = { .effect = name, .id = "x" };
    pawl_reply r;
    arena mem;
    double from, ms = -1;

    arena_init(&mem, NULL, 1024);
    reply_init(&r, NULL);
    job.args = value_pack(&mem, NULL, "{s:s,s:{s:s,s:s}}", "cwd", top, "input", key, value, "pattern", key[0] == 's' ? "*.c" : "needle_in");
    if (set != NULL && job.args != NULL && pawl_tools_add_builtin(set, name, NULL) == PAWL_OK) {
        tool = pawl_tools_find(set, name);
        from = bench_ns();
        if (tool->fn(&job, &r, tool->arg) == PAWL_OK)
            ms = (bench_ns() - from) / 1e6;
    }
    reply_free(&r);
    pawl_tools_free(set);
    arena_free(&mem);
    return ms;
}

/* Of a program with arguments in ms, or of the command `otherwise` if the program is there under neither name. */
static double shell_ms(const char *program, const char *debian, const char *args, const char *otherwise)
{
    char line[400];
    double from;

    snprintf(line, sizeof line, "cd %s && p=$(command -v %s || command -v %s); if [ -n \"$p\" ]; then \"$p\" %s; else %s; fi >/dev/null", top, program, debian,
             args, otherwise);
    from = bench_ns();
    return system(line) == 0 ? (bench_ns() - from) / 1e6 : -1;
}

static bool told(reading *out, double ours, double theirs)
{
    out->value = ours / theirs;
    out->base = 1;
    return (ours >= 0 && theirs > 0) || bench_wrong("a search", NULL);
}

static bool glob_vs_fd(reading *out)
{
    if (!files_made())
        return bench_wrong("50,000 files", NULL);
    return told(out, tool_ms("glob", "sort", "newest"), shell_ms("fd", "fdfind", "-H -t f -g '*.c'", "find . -type f -name '*.c' -printf '%T@ %p\\n'"));
}

static bool grep_vs_rg(reading *out)
{
    if (!files_made())
        return bench_wrong("50,000 files", NULL);
    return told(out, tool_ms("grep", "output_mode", "files"), shell_ms("rg", "rg", "-l needle_in", "grep -rlI needle_in ."));
}

const figure search_figures[] = {
    { "tool.glob_vs_fd", "x", "fd, else find -printf", 1.5, false, 5, glob_vs_fd },
    { "tool.grep_vs_rg", "x", "rg, else grep -r", 2.5, false, 5, grep_vs_rg },
    { NULL, NULL, NULL, 0, false, 0, NULL },
};
