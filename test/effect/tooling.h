/* tooling.h - tools that are called as an agent calls them, in a workspace of their own. */
#ifndef TEST_EFFECT_TOOLING_H
#define TEST_EFFECT_TOOLING_H

#include "effect/hand.h"
#include "effect/tool/tool.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct kit {
    hand h;
    pawl_tools *set;
    char top[64], work[80];     /* a folder, and the workspace in it */
    const char *more;           /* further arguments: `,"sandbox":"off"`; NULL: none */
} kit;

static inline void kit_open(kit *k)
{
    char cwd[] = "/tmp/pawl-tool-XXXXXX", real[4096];
    pawl_err err = {0};

    *k = (kit){ .more = NULL };
    hand_init(&k->h);
    CHECK(mkdtemp(cwd) != NULL && realpath(cwd, real) != NULL && strlen(real) < sizeof k->top);
    snprintf(k->top, sizeof k->top, "%.60s", real);
    snprintf(k->work, sizeof k->work, "%s/work", k->top);
    CHECK_INT(mkdir(k->work, 0755), 0);
    CHECK((k->set = pawl_tools_new(NULL, &err)) != NULL);
    CHECK_INT(pawl_tools_add_builtin(k->set, NULL, &err), PAWL_OK);
}

static inline int kit_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static inline void kit_close(kit *k)
{
    pawl_tools_free(k->set);
    hand_free(&k->h);
    CHECK_INT(nftw(k->top, kit_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Call a tool; what came of it is in k->h. Safe in any thread that has its own kit. */
static inline pawl_code use(kit *k, const char *name, const char *input)
{
    const pawl_tool *tool = pawl_tools_find(k->set, name);
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "{\"cwd\":\"%s\",\"tool\":\"%s\",\"call\":\"c1\"%s,\"input\":", k->work, name, k->more != NULL ? k->more : "");
    buf_text(&b, input);
    buf_char(&b, '}');
    reply_reset(&k->h.reply);
    k->h.value = NULL;
    k->h.job.args = value_parse(&k->h.mem, b.data, b.size, "args", NULL);
    buf_free(&b);
    if (tool == NULL || k->h.job.args == NULL)
        return k->h.rc = PAWL_CORRUPT;
    k->h.rc = tool->fn(&k->h.job, &k->h.reply, tool->arg);
    if (k->h.rc >= 0)
        k->h.value = value_parse(&k->h.mem, k->h.reply.text.data, k->h.reply.text.size, "reply", NULL);
    return k->h.rc;
}

static inline const char *content(const kit *k)
{
    return said(&k->h, "/content");
}

static inline bool is_error(const kit *k)
{
    return pawl_value_bool(pawl_value_get(k->h.value, "is_error"));
}

/* What the tool gives for that input, all of it, and that it is no error. */
#define GIVES(k, name, input, text)                              \
    do {                                                         \
        CHECK_INT(use(k, name, input), PAWL_OK);                 \
        CHECK_STR(content(k), text);                             \
        CHECK(!is_error(k));                                     \
    } while (0)
#define REFUSES(k, name, input, text)                            \
    do {                                                         \
        CHECK_INT(use(k, name, input), PAWL_OK);                 \
        CHECK_STR(content(k), text);                             \
        CHECK(is_error(k));                                      \
    } while (0)

static inline void path_in(const kit *k, const char *name, char out[512])
{
    if (snprintf(out, 512, "%s/%s", k->work, name) >= 512)
        CHECK_FAIL("a name of this length: %s", name);
}

static inline void put_bytes(const kit *k, const char *name, const char *data, size_t size)
{
    char path[512];
    FILE *f;

    path_in(k, name, path);
    CHECK((f = fopen(path, "w")) != NULL);
    CHECK(fwrite(data, 1, size, f) == size);
    CHECK_INT(fclose(f), 0);
}

static inline void put(const kit *k, const char *name, const char *text)
{
    put_bytes(k, name, text, strlen(text));
}

static inline void folder_in(const kit *k, const char *name)
{
    char path[512];

    path_in(k, name, path);
    CHECK_INT(mkdir(path, 0755), 0);
}

static inline void link_in(const kit *k, const char *target, const char *name)
{
    char path[512];

    path_in(k, name, path);
    CHECK_INT(symlink(target, path), 0);
}

/* All of a file of the workspace, or "(none)"; free() it. */
static inline char *get(const kit *k, const char *name)
{
    char path[512];
    size_t n;
    char *text;
    FILE *f;

    path_in(k, name, path);
    if ((f = fopen(path, "r")) == NULL)
        return check_copy("(none)", 6);
    text = malloc(1 << 20);
    CHECK(text != NULL);
    n = fread(text, 1, (1 << 20) - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

#define HOLDS(k, name, text)                                     \
    do {                                                         \
        char *holds = get(k, name);                              \
        CHECK_STR(holds, text);                                  \
        free(holds);                                             \
    } while (0)

/* How many names there are in a folder of the workspace. */
static inline int names_in(const kit *k, const char *name)
{
    char path[512];
    DIR *dir;
    int n = 0;

    path_in(k, name, path);
    if ((dir = opendir(path)) == NULL)
        return -1;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

#endif
