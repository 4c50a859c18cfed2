/* transcript.c - the conversation of a run as a file in the manner of Claude Code, for its hooks (P14): JSON lines of type user and assistant.
 *
 * Owns for each run how far its file was written. Called on the thread that drives: the state is read after each commit, and commands leave after it, so the
 * file has what was said when a hook starts. The file is a copy: nothing reads it back, and it is written anew when it is missing or the conversation was
 * summed up. Files of runs that nobody went on with for a month are removed. */
#define _XOPEN_SOURCE 700       /* gmtime_r, fdopendir */
#include "app/transcript.h"
#include "effect/reach.h"
#include "policy/hook.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FORGOTTEN_S = 30 * 24 * 3600 };

typedef struct transcript_run {
    struct transcript_run *next;
    size_t n;                   /* messages in the file */
    hash last;                  /* of the last of them */
    char run[];
} transcript_run;

struct transcript {
    const char *store;
    transcript_name_fn *name;
    void *ctx;
    transcript_run *runs;
    bool swept;                 /* old files were looked for */
};

transcript *transcript_new(const char *store, transcript_name_fn *name, void *ctx)
{
    transcript *t = calloc(1, sizeof *t);

    if (t != NULL)
        *t = (transcript){ .store = store, .name = name, .ctx = ctx };
    return t;
}

void transcript_free(transcript *t)
{
    for (transcript_run *r = t != NULL ? t->runs : NULL, *next; r != NULL; r = next) {
        next = r->next;
        free(r);
    }
    free(t);
}

/* ---- where it is ----------------------------------------------------------------------------------------------- */

/* A folder for each store: ids of runs are unique only in one. A store in memory is of this process alone. */
static bool transcripts_folder(const char *store, char out[TRANSCRIPT_PATH_BYTES])
{
    char state[OWN_PATH_BYTES], own[40], hex[HASH_HEX + 1];
    hash h;

    snprintf(own, sizeof own, "process %ld", (long)getpid());
    hash_of(store != NULL ? store : own, strlen(store != NULL ? store : own), &h);
    hash_hex(&h, hex);
    return own_folder_path(OWN_STATE, state) && snprintf(out, TRANSCRIPT_PATH_BYTES, "%s/.transcripts/%.16s", state, hex) < TRANSCRIPT_PATH_BYTES;
}

bool transcript_path(const char *store, const char *run, char out[TRANSCRIPT_PATH_BYTES])
{
    size_t n;

    if (!transcripts_folder(store, out) || strchr(run, '/') != NULL)
        return false;
    n = strlen(out);
    return snprintf(out + n, TRANSCRIPT_PATH_BYTES - n, "/%s.jsonl", run) < (int)(TRANSCRIPT_PATH_BYTES - n);
}

void transcript_forget(const char *store, const char *run)
{
    char path[TRANSCRIPT_PATH_BYTES];

    if (transcript_path(store, run, path))
        (void)unlink(path);
}

void transcript_sweep(const char *store, bool (*there)(void *ctx, const char *run), void *ctx)
{
    char folder[TRANSCRIPT_PATH_BYTES], run[RUN_ID_BYTES];
    DIR *dir = transcripts_folder(store, folder) ? opendir(folder) : NULL;
    struct dirent *e;

    while (dir != NULL && (e = readdir(dir)) != NULL) {
        const size_t n = strlen(e->d_name);

        if (n <= 6 || strcmp(e->d_name + n - 6, ".jsonl") != 0 || n - 6 >= sizeof run)
            continue;
        snprintf(run, sizeof run, "%.*s", (int)(n - 6), e->d_name);
        if (!there(ctx, run))
            (void)unlinkat(dirfd(dir), e->d_name, 0);
    }
    if (dir != NULL)
        closedir(dir);
}

/* Files that nobody wrote for a month, in it and in the folders in it; a folder that is empty then goes, too. */
static void sweep(const char *folder, bool deeper)
{
    char path[TRANSCRIPT_PATH_BYTES];
    DIR *dir = opendir(folder);
    struct dirent *e;
    struct stat st = {0};

    while (dir != NULL && (e = readdir(dir)) != NULL)
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_mtime < time(NULL) - FORGOTTEN_S) {
            (void)unlinkat(dirfd(dir), e->d_name, 0);
        } else if (deeper && *e->d_name != '.' && S_ISDIR(st.st_mode) &&
                   snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path) {
            sweep(path, false);
            (void)unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
        }
    if (dir != NULL)
        closedir(dir);
}

static bool folder_made(transcript *t)
{
    char folder[TRANSCRIPT_PATH_BYTES], *slash;

    if (!transcripts_folder(t->store, folder))
        return false;
    if (!t->swept && (slash = strrchr(folder, '/')) != NULL) {
        *slash = '\0';
        sweep(folder, true);
        *slash = '/';
    }
    t->swept = true;
    for (char *at = folder + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(folder, 0700);
            *at = '/';
        }
    (void)mkdir(folder, 0700);
    return true;
}

/* ---- lines --------------------------------------------------------------------------------------------------------- */

typedef struct transcript_line { const transcript *t; arena *mem; const char *run, *cwd, *model; int64_t time_ms; } transcript_line;

static const pawl_value *text_of(arena *mem, const char *text)
{
    return value_string(mem, text, strlen(text));
}

/* A call with the name that the tool has there. */
static const pawl_value *block_there(const transcript_line *l, const pawl_value *block)
{
    const char *type = pawl_value_string(pawl_value_get(block, "type")), *name = pawl_value_string(pawl_value_get(block, "name")), *there;

    if (type == NULL || strcmp(type, "tool_use") != 0 || name == NULL || (there = l->t->name(l->t->ctx, name)) == NULL)
        return block;
    return value_with(l->mem, block, "name", text_of(l->mem, there));
}

static const pawl_value *blocks_there(const transcript_line *l, const pawl_value *content)
{
    const pawl_value *out = value_pack(l->mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(content);

    if (pawl_value_type(content) == PAWL_TYPE_STRING)
        return value_pack(l->mem, NULL, "[{s:v,s:s}]", "text", content, "type", "text");
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        out = value_push(l->mem, out, block_there(l, one));
    return out;
}

static const pawl_value *message_there(const transcript_line *l, const pawl_value *m, const char *role, const char *id)
{
    const pawl_value *content = pawl_value_get(m, "content"), *result;

    if (strcmp(role, "assistant") == 0) {
        m = value_pack(l->mem, NULL, "{s:v,s:s,s:s,s:s}", "content", blocks_there(l, content), "id", id, "role", "assistant", "type", "message");
        return l->model != NULL ? value_with(l->mem, m, "model", text_of(l->mem, l->model)) : m;
    }
    if (strcmp(role, "tool") != 0)
        return value_pack(l->mem, NULL, "{s:v,s:s}", "content", content, "role", "user");
    result = value_pack(l->mem, NULL, "{s:v,s:v,s:s}", "content", content, "tool_use_id", pawl_value_get(m, "tool_call_id"), "type", "tool_result");
    if (pawl_value_bool(pawl_value_get(m, "is_error")))
        result = value_with(l->mem, result, "is_error", value_bool(l->mem, true));
    return value_pack(l->mem, NULL, "{s:[v],s:s}", "content", result, "role", "user");
}

/* Of the run and the place of the message in it, so that a line keeps it when the file is written anew. */
static void uuid_of(const char *run, size_t n, char out[37])
{
    char hex[HASH_HEX + 1];
    hash h;
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s %zu", run, n);
    hash_of(b.data != NULL ? b.data : "", b.size, &h);
    buf_free(&b);
    hash_hex(&h, hex);
    snprintf(out, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static void line_put(const transcript_line *l, const pawl_value *m, size_t n, buf *out)
{
    const char *role = pawl_value_string(pawl_value_get(m, "role"));
    const time_t seconds = (time_t)(l->time_ms / 1000);
    const bool answers = role != NULL && strcmp(role, "assistant") == 0;
    char id[37], before[37] = "", when[40] = "", stamp[48];
    const pawl_value *v;
    struct tm t;

    uuid_of(l->run, n, id);
    if (n > 0)
        uuid_of(l->run, n - 1, before);
    if (gmtime_r(&seconds, &t) != NULL)
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(stamp, sizeof stamp, "%s.%03dZ", when, (int)(l->time_ms % 1000));
    v = value_pack(l->mem, NULL, "{s:s,s:b,s:v,s:v,s:s,s:s,s:s,s:s,s:s,s:s}", "cwd", l->cwd != NULL ? l->cwd : "", "isSidechain", 0, "message",
                   message_there(l, m, role != NULL ? role : "user", id), "parentUuid", n > 0 ? text_of(l->mem, before) : value_null(l->mem),
                   "sessionId", l->run, "timestamp", stamp, "type", answers ? "assistant" : "user", "userType", "external", "uuid", id, "version", "pawl");
    canon(out, v);
    buf_char(out, '\n');
}

/* ---- written ----------------------------------------------------------------------------------------------------------- */

static transcript_run *run_entry(transcript *t, const char *run)
{
    const size_t n = strlen(run);
    transcript_run *r = t->runs;

    while (r != NULL && strcmp(r->run, run) != 0)
        r = r->next;
    if (r != NULL || (r = calloc(1, sizeof *r + n + 1)) == NULL)
        return r;
    memcpy(r->run, run, n + 1);
    r->next = t->runs;
    t->runs = r;
    return r;
}

static void digest_of_message(const pawl_value *m, hash *out)
{
    buf b;

    buf_init(&b, NULL);
    canon(&b, m);
    hash_of(b.data != NULL ? b.data : "", b.size, out);
    buf_free(&b);
}

/* Whether the file has the beginning of these messages, and is there. */
static bool goes_on(const transcript_run *r, const pawl_value *all)
{
    hash last;

    if (r->n == 0 || pawl_value_size(all) < r->n)
        return false;
    digest_of_message(pawl_value_at(all, r->n - 1), &last);
    return memcmp(&last, &r->last, sizeof last) == 0;
}

static bool bytes_written(const char *path, int flags, const buf *b)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    size_t done = 0;

    while (fd >= 0 && done < b->size) {
        const ssize_t n = write(fd, b->data + done, b->size - done);

        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return fd >= 0 && done == b->size;
}

static bool lines_written(const transcript_line *l, transcript_run *r, const char *path, const pawl_value *all, size_t from)
{
    buf b;
    bool good;

    buf_init(&b, NULL);
    for (size_t i = from; i < pawl_value_size(all); i++)
        line_put(l, pawl_value_at(all, i), i, &b);
    good = !b.failed && !l->mem->failed && bytes_written(path, from > 0 ? O_APPEND : O_CREAT | O_TRUNC, &b);
    buf_free(&b);
    r->n = good ? pawl_value_size(all) : 0;
    if (r->n > 0)
        digest_of_message(pawl_value_at(all, r->n - 1), &r->last);
    return good;
}

/* Hooks in the manner of Claude Code have the mark "project". */
static bool is_wanted(const pawl_value *policy)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(policy, "hooks"));
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_get(one, "project") != NULL)
            return true;
    return false;
}

void transcript_entry(transcript *t, const pawl_state *told, const pawl_entry *entry)
{
    pawl_state *st = (pawl_state *)(uintptr_t)told;     /* getters may load what is not there yet */
    const char *run = pawl_state_run(st);
    const pawl_value *all;
    char path[TRANSCRIPT_PATH_BYTES];
    transcript_line l = { .t = t, .run = run, .time_ms = pawl_entry_time_ms(entry) };
    transcript_run *r;
    arena mem;

    if (pawl_entry_is_record(entry) || !is_wanted(pawl_state_get(st, "@policy")) || !transcript_path(t->store, run, path) || (r = run_entry(t, run)) == NULL)
        return;
    all = pawl_state_get(st, "messages");
    if (r->n > 0 && r->n == pawl_value_size(all) && goes_on(r, all) && access(path, F_OK) == 0)
        return;
    arena_init(&mem, NULL, 4096);
    l.mem = &mem;
    l.cwd = pawl_value_string(pawl_state_get(st, "@cwd"));
    l.model = pawl_value_string(pawl_value_get(pawl_state_get(st, "@config"), "model"));
    if (!goes_on(r, all) || !lines_written(&l, r, path, all, r->n))
        if (folder_made(t))
            (void)lines_written(&l, r, path, all, 0);
    arena_free(&mem);
}
