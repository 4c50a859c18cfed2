/* tokens.c - the file of tokens: read, made, removed (N4).
 *
 * Called by `pawl token`, and by a server at its start and whenever the file has changed. A token has 256 random bits, so its SHA-256 is as good as a slow
 * hash, and nobody can guess one from its digest. The file is refused when it is a link, has a second name, is another user's, or others may read it. */
#define _DEFAULT_SOURCE         /* getentropy, flock */
#include "app/tokens.h"
#include "effect/reach.h"
#include "net/net.h"
#include "pawl/sign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKENS_PATH_BYTES = OWN_PATH_BYTES + 64, TOKENS_FILE_BYTES = 4 << 20, TOKEN_BITS_BYTES = 32 };

static const struct { const char *name; unsigned bit; } scopes[] = {
    { "read", SCOPE_READ }, { "answer", SCOPE_ANSWER }, { "run", SCOPE_RUN }, { "admin", SCOPE_ADMIN },
    { "work", SCOPE_WORK } };
enum { SCOPE_NAMES = sizeof scopes / sizeof scopes[0] };

/* ---- scopes ------------------------------------------------------------------------------------------------ */

unsigned scopes_named(const char *names)
{
    unsigned all = 0;

    while (*names != '\0') {
        const size_t size = strcspn(names, ",");
        unsigned bit = 0;

        for (size_t i = 0; i < SCOPE_NAMES; i++)
            if (strlen(scopes[i].name) == size && strncmp(scopes[i].name, names, size) == 0)
                bit = scopes[i].bit;
        if (bit == 0)
            return 0;
        all |= bit;
        names += size + (names[size] == ',' ? 1 : 0);
    }
    return all;
}

void scopes_said(unsigned bits, char out[32])
{
    out[0] = '\0';
    for (size_t i = 0; i < SCOPE_NAMES; i++)
        if ((bits & scopes[i].bit) != 0)
            snprintf(out + strlen(out), 32 - strlen(out), "%s%s", out[0] != '\0' ? "," : "", scopes[i].name);
}

/* ---- the file ------------------------------------------------------------------------------------------------ */

static pawl_code tokens_path(const char *name, char out[TOKENS_PATH_BYTES], pawl_err *err)
{
    char folder[OWN_PATH_BYTES];

    if (!own_folder_path(OWN_CONFIG, folder))
        return fail(err, PAWL_IO, "there is no place for tokens: neither XDG_CONFIG_HOME nor HOME is set to an absolute path");
    snprintf(out, TOKENS_PATH_BYTES, "%s/%s", folder, name);
    return PAWL_OK;
}

static pawl_code file_check(const char *path, const struct stat *at, pawl_err *err)
{
    if (!S_ISREG(at->st_mode) || at->st_nlink != 1 || at->st_size > TOKENS_FILE_BYTES)
        return fail(err, PAWL_INVALID, "%.200s: not a file of tokens, or it has a second name", path);
    if (at->st_uid != geteuid() || (at->st_mode & 077) != 0)
        return fail(err, PAWL_DENIED, "%.200s: %s; no token in it counts: chmod 600 it, and make new tokens", path,
                    at->st_uid != geteuid() ? "it is another user's" : "others may read it");
    return PAWL_OK;
}

/* The text of the file; *out NULL: there is no file. */
static pawl_code file_read(const char *path, arena *mem, pawl_bytes *out, pawl_err *err)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat at;
    pawl_code rc = PAWL_OK;
    size_t n = 0;
    char *text;

    *out = (pawl_bytes){ NULL, 0 };
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? PAWL_OK
               : fail(err, errno == ELOOP ? PAWL_INVALID : PAWL_IO, "%.200s cannot be read: %s", path,
                      errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    if (fstat(fd, &at) != 0)
        rc = fail(err, PAWL_IO, "%.200s cannot be read: %s", path, strerror(errno));
    else
        rc = file_check(path, &at, err);
    if (rc == PAWL_OK && (text = arena_get(mem, (size_t)at.st_size + 1)) == NULL)
        rc = fail(err, PAWL_NOMEM, "no memory for the tokens");
    while (rc == PAWL_OK && n < (size_t)at.st_size) {
        const ssize_t got = read(fd, text + n, (size_t)at.st_size - n);

        if (got <= 0)
            rc = fail(err, PAWL_IO, "%.200s cannot be read: %s", path, got == 0 ? "it became shorter" : strerror(errno));
        else
            n += (size_t)got;
    }
    close(fd);
    if (rc == PAWL_OK)
        *out = (pawl_bytes){ text, n };
    return rc;
}

uint64_t tokens_version(void)
{
    char path[TOKENS_PATH_BYTES];
    struct stat at;
    hash h;

    if (tokens_path("tokens.json", path, NULL) != PAWL_OK || lstat(path, &at) != 0)
        return 0;
    const int64_t of[] = { (int64_t)at.st_dev, (int64_t)at.st_ino, (int64_t)at.st_size, (int64_t)at.st_mtim.tv_sec, at.st_mtim.tv_nsec, at.st_ctim.tv_sec,
        at.st_ctim.tv_nsec };
    uint64_t v;

    hash_of(of, sizeof of, &h);
    memcpy(&v, h.b, sizeof v);
    return v | 1;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool texts_read(const pawl_value *list, const char **out, size_t *n)
{
    *n = pawl_value_size(list);
    if (pawl_value_type(list) != PAWL_TYPE_ARRAY || *n > TOKEN_LIMITS_MAX)
        return false;
    for (size_t i = 0; i < *n; i++)
        if ((out[i] = pawl_value_string(pawl_value_at(list, i))) == NULL || out[i][0] == '\0')
            return false;
    return true;
}

static bool row_read(arena *mem, const pawl_value *v, token_row *t)
{
    const char *said = pawl_value_string(pawl_value_get(v, "scopes")), *digest = pawl_value_string(pawl_value_get(v, "sha256"));
    char by[96];

    *t = (token_row){ .name = pawl_value_string(pawl_value_get(v, "name")), .store = pawl_value_string(pawl_value_get(v, "store")),
                      .created_ms = pawl_value_int(pawl_value_get(v, "created")), .expires_ms = pawl_value_int(pawl_value_get(v, "expires")) };
    if (pawl_value_type(v) != PAWL_TYPE_OBJECT || pawl_value_size(v) != 9 || t->name == NULL || t->store == NULL || said == NULL ||
        pawl_value_type(pawl_value_get(v, "created")) != PAWL_TYPE_INT || pawl_value_type(pawl_value_get(v, "expires")) != PAWL_TYPE_INT ||
        !pawl_approver_name_valid(t->name))
        return false;
    t->who.scopes = scopes_named(said);
    t->who.most = pawl_mode_named(pawl_value_string(pawl_value_get(v, "mode")));
    snprintf(by, sizeof by, "token:%s", t->name);
    t->who.by = arena_text(mem, by);
    return t->who.scopes != 0 && t->who.most != PAWL_MODE_NONE && digest != NULL && hash_unhex(digest, strlen(digest), &t->digest) &&
           texts_read(pawl_value_get(v, "machines"), t->who.machines, &t->who.nmachines) &&
           texts_read(pawl_value_get(v, "labels"), t->who.labels, &t->who.nlabels);
}

const pawl_value *token_texts(arena *mem, const char *const *all, size_t n)
{
    const pawl_value *out = value_pack(mem, NULL, "[]");

    for (size_t i = 0; i < n; i++)
        out = value_push(mem, out, value_string(mem, all[i], strlen(all[i])));
    return out;
}

static const pawl_value *row_made(arena *mem, const token_row *t)
{
    char digest[HASH_HEX + 1], said[32];
    const pawl_value *v;

    hash_hex(&t->digest, digest);
    scopes_said(t->who.scopes, said);
    v = value_pack(mem, NULL, "{s:i,s:i,s:s,s:s,s:s,s:s,s:s}", "created", t->created_ms, "expires", t->expires_ms, "mode", pawl_mode_name(t->who.most), "name",
                   t->name, "scopes", said, "sha256", digest, "store", t->store);
    v = value_with(mem, v, "labels", token_texts(mem, t->who.labels, t->who.nlabels));
    return value_with(mem, v, "machines", token_texts(mem, t->who.machines, t->who.nmachines));
}

pawl_code tokens_read(token_list **out, pawl_err *err)
{
    token_list *l = calloc(1, sizeof *l);
    char path[TOKENS_PATH_BYTES];
    const pawl_value *v = NULL, *all = NULL;
    pawl_bytes text = { NULL, 0 };
    pawl_code rc;

    *out = NULL;
    if (l == NULL)
        return fail(err, PAWL_NOMEM, "no memory for the tokens");
    l->refs = 1;
    arena_init(&l->mem, NULL, 4096);
    if ((rc = tokens_path("tokens.json", path, err)) == PAWL_OK)
        rc = file_read(path, &l->mem, &text, err);
    if (rc == PAWL_OK && text.data != NULL) {
        v = value_parse(&l->mem, text.data, text.size, path, err);
        all = pawl_value_get(v, "tokens");
        l->n = pawl_value_size(all);
        l->all = arena_zero(&l->mem, (l->n + 1) * sizeof *l->all);
        if (v == NULL || pawl_value_size(v) != 1 || pawl_value_type(all) != PAWL_TYPE_ARRAY || l->n > TOKENS_MAX)
            rc = fail(err, PAWL_INVALID, "%.200s: not a file of tokens, of this version of Pawl; `pawl token new` makes one when it is moved away", path);
        else if (l->all == NULL)
            rc = fail(err, PAWL_NOMEM, "no memory for the tokens");
    }
    for (size_t i = 0; rc == PAWL_OK && i < l->n; i++)
        if (!row_read(&l->mem, pawl_value_at(all, i), &l->all[i]) || l->mem.failed)
            rc = fail(err, PAWL_INVALID, "%.200s: its token no. %zu is malformed", path, i + 1);
    if (rc == PAWL_OK)
        *out = l;
    else
        tokens_drop(l);
    return rc;
}

token_list *tokens_keep(token_list *l)
{
    if (l != NULL)
        l->refs++;
    return l;
}

void tokens_drop(token_list *l)
{
    if (l == NULL || --l->refs > 0)
        return;
    arena_free(&l->mem);
    free(l);
}

/* ---- changes ------------------------------------------------------------------------------------------------------ */

static pawl_code folder_make(const char *file, pawl_err *err)
{
    char path[TOKENS_PATH_BYTES];

    snprintf(path, sizeof path, "%s", file);
    for (char *at = path + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            if (mkdir(path, 0700) != 0 && errno != EEXIST)
                return fail(err, PAWL_IO, "%.200s cannot be made, for tokens: %s", path, strerror(errno));
            *at = '/';
        }
    return PAWL_OK;
}

/* One process changes the file at a time. Below 0: see err. */
static int lock_take(pawl_err *err)
{
    char path[TOKENS_PATH_BYTES];
    int fd;

    if (tokens_path("tokens.lock", path, err) != PAWL_OK || folder_make(path, err) != PAWL_OK)
        return -1;
    fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) {
        fail(err, PAWL_IO, "%.200s cannot be locked: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

static pawl_code file_write(const buf *text, pawl_err *err)
{
    char path[TOKENS_PATH_BYTES], beside[TOKENS_PATH_BYTES];
    pawl_code rc = tokens_path("tokens.json", path, err);
    bool good;
    int fd;

    if (rc != PAWL_OK || (rc = tokens_path("tokens.new", beside, err)) != PAWL_OK)
        return rc;
    (void)unlink(beside);       /* of a process that died: the lock is ours */
    if ((fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
        return fail(err, PAWL_IO, "%.200s cannot be made: %s", beside, strerror(errno));
    good = write(fd, text->data, text->size) == (ssize_t)text->size && fsync(fd) == 0;
    good = close(fd) == 0 && good && rename(beside, path) == 0;
    if (!good) {
        fail(err, PAWL_IO, "%.200s cannot be written: %s", path, strerror(errno));
        (void)unlink(beside);
    }
    return good ? PAWL_OK : PAWL_IO;
}

/* Writes the list without the row at `without` (SIZE_MAX: with all), and with `more` (NULL: none). */
static pawl_code list_write(token_list *l, size_t without, const token_row *more, pawl_err *err)
{
    const pawl_value *all = value_pack(&l->mem, NULL, "[]"), *v;
    pawl_code rc;
    buf b;

    for (size_t i = 0; i < l->n; i++)
        if (i != without)
            all = value_push(&l->mem, all, row_made(&l->mem, &l->all[i]));
    if (more != NULL)
        all = value_push(&l->mem, all, row_made(&l->mem, more));
    v = all != NULL ? value_pack(&l->mem, NULL, "{s:v}", "tokens", all) : NULL;
    buf_init(&b, NULL);
    if (v != NULL)
        canon(&b, v);
    buf_char(&b, '\n');
    rc = v == NULL || b.failed ? fail(err, PAWL_NOMEM, "no memory for the tokens") : file_write(&b, err);
    buf_free(&b);
    return rc;
}

static size_t row_named(const token_list *l, const char *name)
{
    size_t i = 0;

    while (i < l->n && strcmp(l->all[i].name, name) != 0)
        i++;
    return i;
}

static pawl_code token_draw(char text[TOKEN_TEXT_BYTES], pawl_err *err)
{
    hash bits;

    if (getentropy(bits.b, TOKEN_BITS_BYTES) != 0)
        return fail(err, PAWL_IO, "the system gives no random numbers: %s", strerror(errno));
    memcpy(text, "pawl_", 5);
    hash_hex(&bits, text + 5);
    return PAWL_OK;
}

pawl_code tokens_new(const token_row *row, char text[TOKEN_TEXT_BYTES], pawl_err *err)
{
    token_row t = *row;
    token_list *l = NULL;
    pawl_code rc;
    int lock;

    if (!pawl_approver_name_valid(t.name))
        return fail(err, PAWL_INVALID, "the name of a token has 1 to 64 letters, digits, '.', '_' and '-', and begins with a letter or a digit; \"%.80s\" does not",
                    t.name);
    if ((rc = token_draw(text, err)) != PAWL_OK)
        return rc;
    hash_of(text, strlen(text), &t.digest);
    t.created_ms = epoch_ms();
    if ((lock = lock_take(err)) < 0)
        return err->code;
    if ((rc = tokens_read(&l, err)) == PAWL_OK && row_named(l, t.name) < l->n)
        rc = fail(err, PAWL_CONFLICT, "there is a token %s already; `pawl token rm %s` removes it", t.name, t.name);
    if (rc == PAWL_OK && l->n == TOKENS_MAX)
        rc = fail(err, PAWL_LIMIT, "there are %d tokens already, and no more are kept", TOKENS_MAX);
    if (rc == PAWL_OK)
        rc = list_write(l, SIZE_MAX, &t, err);
    tokens_drop(l);
    close(lock);
    return rc;
}

pawl_code tokens_remove(const char *name, pawl_err *err)
{
    const int lock = lock_take(err);
    token_list *l = NULL;
    pawl_code rc;
    size_t at;

    if (lock < 0)
        return err->code;
    rc = tokens_read(&l, err);
    at = rc == PAWL_OK ? row_named(l, name) : 0;
    if (rc == PAWL_OK && at == l->n)
        rc = fail(err, PAWL_GONE, "there is no token %.80s; `pawl token ls` lists them", name);
    if (rc == PAWL_OK)
        rc = list_write(l, at, NULL, err);
    tokens_drop(l);
    close(lock);
    return rc;
}

/* ---- a token that somebody gives --------------------------------------------------------------------------------------- */

const token_row *tokens_find(const token_list *l, const char *text, const char *store, int64_t now_ms)
{
    const token_row *found = NULL;
    hash h;

    hash_of(text, strlen(text), &h);
    for (size_t i = 0; l != NULL && i < l->n; i++)
        if (hash_equal(&l->all[i].digest, &h))
            found = &l->all[i];
    return found != NULL && strcmp(found->store, store) == 0 && (found->expires_ms == 0 || now_ms < found->expires_ms) ? found : NULL;
}
