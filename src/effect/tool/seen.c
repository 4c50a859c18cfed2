/* seen.c - a file is changed only if the run has seen the content that it has: read before write.
 *
 * Called by read.c and edit.c. What a run has seen is in its journal (src/agent/seen.c); a call that is not of such a run has no "seen" and is not guarded.
 * A version is the digest of a content; of a file that is too large to be edited, its size and times. Owns nothing. */
#include "effect/tool/tool.h"

#include <errno.h>
#include <unistd.h>

enum { SEEN_DIGITS = 32 };

static void version_of_bytes(const char *data, size_t size, char out[SEEN_BYTES])
{
    char hex[HASH_HEX + 1];
    hash h;

    hash_of(data, size, &h);
    hash_hex(&h, hex);
    snprintf(out, SEEN_BYTES, "sha256:%.*s", SEEN_DIGITS, hex);
}

static void version_of_stat(const struct stat *st, char out[SEEN_BYTES])
{
    snprintf(out, SEEN_BYTES, "size:%lld,%lld.%09ld", (long long)st->st_size, (long long)st->st_mtim.tv_sec, (long)st->st_mtim.tv_nsec);
}

void seen_bytes(tool_call *c, const file_place *p, const char *data, size_t size)
{
    if (!c->guarded)
        return;
    c->seen_path = arena_text(&c->mem, p->path);
    version_of_bytes(data, size, c->seen_version);
}

/* All of an open file, whose offset stays. False: it cannot be read, or is longer than `most`. */
static bool bytes_of(tool_call *c, int fd, size_t most, buf *out)
{
    char chunk[65536];
    ssize_t n = 1;

    while (n != 0 && out->size <= most && !out->failed && tool_stop(c) == PAWL_OK)
        if ((n = pread(fd, chunk, sizeof chunk, (off_t)out->size)) > 0)
            buf_put(out, chunk, (size_t)n);
        else if (n < 0 && errno != EINTR)
            break;
    return n == 0 && out->size <= most && !out->failed;
}

void seen_open(tool_call *c, const file_place *p, int fd, const struct stat *st)
{
    buf all;

    if (!c->guarded)
        return;
    buf_init(&all, &c->r->alloc);
    if (st->st_size > FILE_BYTES_MAX) {
        c->seen_path = arena_text(&c->mem, p->path);
        version_of_stat(st, c->seen_version);
    } else if (bytes_of(c, fd, FILE_BYTES_MAX, &all)) {
        seen_bytes(c, p, all.size > 0 ? all.data : "", all.size);
    }
    buf_free(&all);
}

static bool same_times(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void seen_still(tool_call *c, int fd, const struct stat *st)
{
    struct stat now;

    if (fstat(fd, &now) != 0 || !same_times(&now, st))
        c->seen_path = NULL;
}

/* The rules first: what a rule denies is not said to need a reading. */
static bool asked_first(tool_call *c, const file_place *p, const char *path, pawl_code *rc)
{
    if (!place_allowed(c, p, path, -1, &p->st, rc))
        return false;
    if (c->seen != NULL)
        return true;
    *rc = tool_error(c, "File has not been read yet. Read it first before writing to it.");
    return false;
}

static bool is_seen(tool_call *c, const char *version, pawl_code *rc)
{
    if (strcmp(version, c->seen) == 0)
        return true;
    *rc = tool_error(c, "File has been modified since read. Read it again before attempting to write it.");
    return false;
}

bool seen_allows(tool_call *c, const file_place *p, const char *path, const char *data, size_t size, pawl_code *rc)
{
    char version[SEEN_BYTES];

    if (!c->guarded)
        return true;
    if (!asked_first(c, p, path, rc))
        return false;
    version_of_bytes(data, size, version);
    return is_seen(c, version, rc);
}

bool seen_allows_file(tool_call *c, const file_place *p, const char *path, pawl_code *rc)
{
    char version[SEEN_BYTES];
    struct stat st;
    bool fine;
    buf all;

    if (!c->guarded || !p->there || !S_ISREG(p->st.st_mode))
        return true;            /* what is no file is refused by who writes */
    if (!asked_first(c, p, path, rc))
        return false;
    if (p->st.st_size > FILE_BYTES_MAX) {
        version_of_stat(&p->st, version);
        return is_seen(c, version, rc);
    }
    buf_init(&all, &c->r->alloc);
    if ((fine = place_load(c, p, path, FILE_BYTES_MAX, &all, &st, rc))) {
        version_of_bytes(all.size > 0 ? all.data : "", all.size, version);
        fine = is_seen(c, version, rc);
    }
    buf_free(&all);
    return fine;
}
