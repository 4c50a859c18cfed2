/* signers.c - the person's own keys, and the keys of approvers that the person trusts (P11).
 *
 * Called by the verbs, on their thread. A key file is made once and never written again; it is refused when others may read it, as ssh does, for then it
 * may be known to them. */
#define _DEFAULT_SOURCE         /* getentropy */
#include "app/signers.h"
#include "app/settings.h"
#include "effect/reach.h"
#include "net/net.h"
#include "sign/sign.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_PATH_BYTES = OWN_PATH_BYTES + 128, KEY_FILE_BYTES = 512, NAME_BYTES = 64 };

static const char ending[] = ".key";

/* ---- files ------------------------------------------------------------------------------------------------- */

static pawl_code config_path(const char *name, char out[KEY_PATH_BYTES], pawl_err *err)
{
    char folder[OWN_PATH_BYTES];

    if (!own_folder_path(OWN_CONFIG, folder))
        return fail(err, PAWL_IO, "there is no place for keys: neither XDG_CONFIG_HOME nor HOME is set to an absolute path");
    snprintf(out, KEY_PATH_BYTES, "%s/%s", folder, name);
    return PAWL_OK;
}

static pawl_code key_path(const char *name, char out[KEY_PATH_BYTES], pawl_err *err)
{
    char file[NAME_BYTES + 16];

    if (!pawl_approver_name_valid(name))
        return fail(err, PAWL_INVALID,
                    "the name of a key has 1 to 64 letters, digits, '.', '_' and '-', and begins with a letter or a digit; \"%.80s\" does not",
                    name);
    snprintf(file, sizeof file, "keys/%.64s%s", name, ending);
    return config_path(file, out, err);
}

/* The folders that are missing; the last one is for this user alone, also when it was there before. */
static pawl_code folders_make(const char *file, pawl_err *err)
{
    char path[KEY_PATH_BYTES];
    char *last = NULL;

    snprintf(path, sizeof path, "%s", file);
    for (char *at = path + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            if (mkdir(path, 0700) != 0 && errno != EEXIST)
                return fail(err, PAWL_IO, "%.200s cannot be made: %s", path, strerror(errno));
            *at = '/';
            last = at;
        }
    *last = '\0';
    return chmod(path, 0700) == 0 ? PAWL_OK : fail(err, PAWL_IO, "%.200s cannot be made private: %s", path, strerror(errno));
}

static void seed_text(const uint8_t seed[PAWL_SEED_BYTES], char out[HASH_HEX + 1])
{
    hash h;

    memcpy(h.b, seed, PAWL_SEED_BYTES);
    hash_hex(&h, out);
}

static pawl_code key_write(const own_key *k, const char *path, pawl_err *err)
{
    char text[KEY_FILE_BYTES], seed[HASH_HEX + 1];
    int fd, n;
    bool good;

    seed_text(k->seed, seed);
    n = snprintf(text, sizeof text, "{\"key\":\"%s\",\"name\":\"%s\",\"seed\":\"%s\"}\n", k->key, k->name, seed);
    if ((fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
        return errno == EEXIST ? fail(err, PAWL_CONFLICT, "there is a key %s already: pawl key list; a key is never overwritten", k->name)
                               : fail(err, PAWL_IO, "%.200s cannot be made: %s", path, strerror(errno));
    good = fchmod(fd, 0600) == 0 && write(fd, text, (size_t)n) == n && fsync(fd) == 0;
    good = close(fd) == 0 && good;
    if (!good) {
        fail(err, PAWL_IO, "%.200s cannot be written: %s", path, strerror(errno));
        (void)unlink(path);
    }
    return good ? PAWL_OK : PAWL_IO;
}

pawl_code signers_new(arena *mem, const char *name, own_key *out, pawl_err *err)
{
    const pawl_value *known = signers_known(mem, err), *trusted;
    char path[KEY_PATH_BYTES];
    pawl_code rc;

    if (known == NULL || (rc = key_path(name, path, err)) != PAWL_OK)
        return err->code;
    if ((trusted = pawl_value_get(pawl_value_get(known, "trusted"), name)) != NULL)
        return fail(err, PAWL_CONFLICT, "%s is an approver that you trust, with the key %s: give your own key another name", name,
                    pawl_value_string(trusted));
    *out = (own_key){ .name = arena_text(mem, name) };
    if (getentropy(out->seed, PAWL_SEED_BYTES) != 0)
        return fail(err, PAWL_IO, "the system gives no random numbers: %s", strerror(errno));
    if ((rc = pawl_key_of_seed(out->seed, out->key, err)) != PAWL_OK || (rc = folders_make(path, err)) != PAWL_OK)
        return rc;
    return key_write(out, path, err);
}

static pawl_code key_parse(arena *mem, const char *path, const char *text, size_t size, own_key *out, pawl_err *err)
{
    const pawl_value *v = value_parse(mem, text, size, path, NULL);
    const char *seed = pawl_value_string(pawl_value_get(v, "seed")), *key = pawl_value_string(pawl_value_get(v, "key"));
    hash h;

    if (seed == NULL || key == NULL || !hash_unhex(seed, strlen(seed), &h))
        return fail(err, PAWL_CORRUPT, "%.200s is damaged: it has no seed", path);
    memcpy(out->seed, h.b, PAWL_SEED_BYTES);
    if (pawl_key_of_seed(out->seed, out->key, err) != PAWL_OK)
        return err->code;
    return strcmp(out->key, key) == 0 ? PAWL_OK : fail(err, PAWL_CORRUPT, "%.200s is damaged: its seed is not that of its key", path);
}

pawl_code signers_load(arena *mem, const char *name, own_key *out, pawl_err *err)
{
    char path[KEY_PATH_BYTES], text[KEY_FILE_BYTES];
    struct stat st;
    ssize_t n = -1;
    pawl_code rc;
    int fd;

    *out = (own_key){ .name = arena_text(mem, name) };
    if ((rc = key_path(name, path, err)) != PAWL_OK)
        return rc;
    if ((fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        return errno == ENOENT ? fail(err, PAWL_GONE, "you have no key %s: pawl key new %s", name, name)
                               : fail(err, PAWL_IO, "%.200s cannot be read: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        rc = fail(err, PAWL_IO, "%.200s is no file", path);
    else if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        rc = fail(err, PAWL_DENIED, "%.200s is not used: others than you may read it, so it may be known to them; chmod 600, or make another key", path);
    else if ((n = read(fd, text, sizeof text)) < 0)
        rc = fail(err, PAWL_IO, "%.200s cannot be read: %s", path, strerror(errno));
    close(fd);
    return rc == PAWL_OK ? key_parse(mem, path, text, (size_t)n, out, err) : rc;
}

static int by_name(const void *a, const void *b) { return strcmp(((const own_key *)a)->name, ((const own_key *)b)->name); }

/* A file that cannot be used holds up no other key. */
static pawl_code own_load(arena *mem, const char *name, own_key *out, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    const pawl_code rc = signers_load(mem, name, out, &why);

    if (rc == PAWL_NOMEM)
        return fail(err, rc, "%s", why.text);
    if (rc != PAWL_OK)
        out->why = arena_text(mem, why.text);
    return out->name == NULL || (rc != PAWL_OK && out->why == NULL) ? fail(err, PAWL_NOMEM, "no memory for your keys") : PAWL_OK;
}

pawl_code signers_own(arena *mem, own_key **all, size_t *n, pawl_err *err)
{
    char folder[KEY_PATH_BYTES], name[NAME_BYTES + 1];
    void *found = NULL;
    size_t cap = 0;
    pawl_code rc = config_path("keys", folder, err);
    DIR *dir = rc == PAWL_OK ? opendir(folder) : NULL;
    struct dirent *e;

    *n = 0;
    if (rc == PAWL_OK && dir == NULL && errno != ENOENT)
        rc = fail(err, PAWL_IO, "%.200s cannot be read: %s", folder, strerror(errno));
    while (dir != NULL && rc == PAWL_OK && (e = readdir(dir)) != NULL) {
        const size_t size = strlen(e->d_name), end = sizeof ending - 1;

        if (size <= end || size - end > NAME_BYTES || strcmp(e->d_name + size - end, ending) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(size - end), e->d_name);
        if (!pawl_approver_name_valid(name))
            continue;
        if (!arena_room(mem, &found, &cap, *n, sizeof **all))
            rc = fail(err, PAWL_NOMEM, "no memory for your keys");
        else
            rc = own_load(mem, name, (own_key *)found + (*n)++, err);
    }
    if (dir != NULL)
        closedir(dir);
    *all = found;
    if (*n > 0 && rc == PAWL_OK)
        qsort(found, *n, sizeof **all, by_name);
    return rc;
}

/* ---- trust ---------------------------------------------------------------------------------------------------- */

static const pawl_value *or_empty(arena *mem, const pawl_value *v) { return pawl_value_type(v) == PAWL_TYPE_OBJECT ? v : value_pack(mem, NULL, "{}"); }

const pawl_value *signers_known(arena *mem, pawl_err *err)
{
    char path[KEY_PATH_BYTES];
    const pawl_value *v;

    err->code = PAWL_OK;
    if (config_path("approvers.json", path, err) != PAWL_OK)
        return NULL;
    v = settings_read(mem, arena_text(mem, path), err);
    if (err->code != PAWL_OK)
        return NULL;
    v = value_pack(mem, err, "{s:v,s:v}", "distrusted", or_empty(mem, pawl_value_get(v, "distrusted")), "trusted", or_empty(mem, pawl_value_get(v, "trusted")));
    if (v == NULL)
        fail(err, PAWL_NOMEM, "no memory for the keys of approvers");
    return v;
}

static const pawl_value *without(arena *mem, const pawl_value *v, const char *name)
{
    const pawl_value *out = value_pack(mem, NULL, "{}"), *key, *one;
    pawl_iter it = pawl_iter_of(v);

    while ((one = pawl_iter_next(&it, &key)) != NULL)
        if (strcmp(pawl_value_string(key), name) != 0)
            out = value_with(mem, out, pawl_value_string(key), one);
    return out;
}

static pawl_code known_write(arena *mem, const pawl_value *distrusted, const pawl_value *trusted, pawl_err *err)
{
    char path[KEY_PATH_BYTES];
    pawl_code rc = config_path("approvers.json", path, err);

    return rc == PAWL_OK ? settings_write(mem, path, value_pack(mem, NULL, "{s:v,s:v}", "distrusted", distrusted, "trusted", trusted), err) : rc;
}

pawl_code signers_trust(arena *mem, const char *name, const char *key, pawl_err *err)
{
    const pawl_value *known = signers_known(mem, err), *trusted = pawl_value_get(known, "trusted");
    const char *has = pawl_value_string(pawl_value_get(trusted, name));
    own_key own;

    if (known == NULL)
        return err->code;
    if (!pawl_approver_name_valid(name))
        return fail(err, PAWL_INVALID,
                    "the name of an approver has 1 to 64 letters, digits, '.', '_' and '-', and begins with a letter or a digit; \"%.80s\" does not",
                    name);
    if (!pawl_key_valid(key))
        return fail(err, PAWL_INVALID, "a key is ed25519: and the base64 of 32 bytes, as `pawl key new` prints it, and not \"%.80s\"", key);
    if (has != NULL && strcmp(has, key) != 0)
        return fail(err, PAWL_CONFLICT, "%s is trusted with another key, %s: pawl key distrust %s first", name, has, name);
    if (signers_load(mem, name, &own, &(pawl_err){ PAWL_OK, "" }) == PAWL_OK && strcmp(own.key, key) != 0)
        return fail(err, PAWL_CONFLICT, "%s is the name of your own key, %s: trust the other one under another name", name, own.key);
    return known_write(mem, without(mem, pawl_value_get(known, "distrusted"), key), value_with(mem, trusted, name, value_string(mem, key, strlen(key))), err);
}

pawl_code signers_distrust(arena *mem, const char *which, pawl_err *err)
{
    const pawl_value *known = signers_known(mem, err), *trusted = pawl_value_get(known, "trusted"), *distrusted = pawl_value_get(known, "distrusted"),
    *name, *one;
    const char *key = NULL, *called = NULL;
    pawl_iter it = pawl_iter_of(trusted);
    own_key own;

    if (known == NULL)
        return err->code;
    while ((one = pawl_iter_next(&it, &name)) != NULL)
        if (strcmp(pawl_value_string(name), which) == 0 || strcmp(pawl_value_string(one), which) == 0) {
            called = pawl_value_string(name);
            key = pawl_value_string(one);
        }
    if (key == NULL && pawl_key_valid(which))
        key = called = which;           /* one that a file names itself */
    if (key == NULL && pawl_approver_name_valid(which) && signers_load(mem, which, &own, &(pawl_err){ PAWL_OK, "" }) == PAWL_OK) {
        key = own.key;
        called = which;
    }
    if (key == NULL)
        return fail(err, PAWL_GONE,
                    "%.80s is neither trusted nor your own: pawl key list; a key that only a file names is distrusted as ed25519:BASE64", which);
    return known_write(mem, value_with(mem, distrusted, key, value_string(mem, called, strlen(called))), without(mem, trusted, called), err);
}

pawl_code signers_of_name(arena *mem, const char *name, const char **key, pawl_err *err)
{
    const pawl_value *known = signers_known(mem, err);
    own_key own;

    if (known == NULL)
        return err->code;
    if ((*key = pawl_value_string(pawl_value_get(pawl_value_get(known, "trusted"), name))) != NULL)
        return PAWL_OK;
    if (signers_load(mem, name, &own, &(pawl_err){ PAWL_OK, "" }) != PAWL_OK || pawl_value_get(pawl_value_get(known, "distrusted"), own.key) != NULL)
        return fail(err, PAWL_GONE,
                    "the approver %s is not trusted here: pawl key trust %s ed25519:BASE64, with the line that `pawl key new` printed for %s", name,
                    name, name);
    *key = arena_text(mem, own.key);
    return *key != NULL ? PAWL_OK : fail(err, PAWL_NOMEM, "no memory for a key");
}

pawl_code signers_count(const pawl_value *known, const char *name, const char *key, pawl_err *err)
{
    const char *has = pawl_value_string(pawl_value_get(pawl_value_get(known, "trusted"), name));

    if (pawl_value_get(pawl_value_get(known, "distrusted"), key) != NULL)
        return fail(err, PAWL_DENIED, "the key of %s, %s, is distrusted on this machine: its signature does not count; pawl key trust %s %s", name,
                    key, name, key);
    if (has != NULL && strcmp(has, key) != 0)
        return fail(err, PAWL_DENIED, "%s is trusted on this machine with another key, %s, and not with %s", name, has, key);
    return PAWL_OK;
}

/* ---- signing --------------------------------------------------------------------------------------------------- */

/* The name under which the wait lists this key; NULL: it does not. */
static const char *listed_as(const pawl_wait *w, const char *key)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(w->approvers, "keys"));
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (strcmp(pawl_value_string(pawl_value_get(one, "key")), key) == 0)
            return pawl_value_string(pawl_value_get(one, "name"));
    return NULL;
}

bool signers_has_signed(const pawl_wait *w, const char *name)
{
    pawl_iter it = pawl_iter_of(w->signed_by);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (strcmp(pawl_value_string(pawl_value_get(pawl_value_get(one, "value"), "name")), name) == 0)
            return true;
    return false;
}

static const char *approvers_text(arena *mem, const pawl_wait *w)
{
    const char *text;
    buf b;

    buf_init(&b, NULL);
    approvers_phrase(&b, w->approvers);
    text = b.failed ? NULL : arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return text != NULL ? text : "";
}

/* The one own key that the wait lists and that has not signed it. */
static pawl_code key_choose(arena *mem, const pawl_wait *w, own_key *out, const char **as, pawl_err *err)
{
    own_key *all;
    size_t n = 0, fits = 0, done = 0;
    pawl_code rc = signers_own(mem, &all, &n, err);
    const char *why = NULL;

    for (size_t i = 0; rc == PAWL_OK && i < n; i++) {
        const char *name = all[i].why == NULL ? listed_as(w, all[i].key) : NULL;

        why = why != NULL ? why : all[i].why;
        if (name == NULL)
            continue;
        if (signers_has_signed(w, name)) {
            done++;
            continue;
        }
        fits++;
        *out = all[i];
        *as = name;
    }
    if (rc != PAWL_OK || fits == 1)
        return rc;
    if (fits > 1)
        return fail(err, PAWL_INVALID, "%.120s: several of your keys can sign it: name one, --key NAME", w->id);
    if (done == 0 && why != NULL)
        return fail(err, PAWL_DENIED, "%s", why);
    if (done > 0)
        return fail(err, PAWL_CONFLICT, "%.120s: you have signed it already; it needs %s", w->id, approvers_text(mem, w));
    return fail(err, PAWL_DENIED, "%.120s takes only answers that are signed by %.120s, and none of your keys is theirs: they answer it, pawl approve RUN",
                w->id, approvers_text(mem, w));
}

pawl_code signers_sign(arena *mem, const pawl_wait *w, const char *answer, const char *update, const char *note, const char *key, const char **out,
                       pawl_err *err)
{
    own_key own = { .name = NULL };
    const char *as = NULL, *text;
    const pawl_value *known;
    pawl_step *step;
    pawl_code rc;

    *out = answer;
    if (w->approvers == NULL)
        return key == NULL ? PAWL_OK : fail(err, PAWL_INVALID, "%.120s names no approvers: --key is for a gate with `approvers`", w->id);
    if ((rc = key != NULL ? signers_load(mem, key, &own, err) : key_choose(mem, w, &own, &as, err)) != PAWL_OK)
        return rc;
    if (as == NULL && (as = listed_as(w, own.key)) == NULL)
        return fail(err, PAWL_DENIED, "%.120s: the key %s is none of its approvers, which are %.120s", w->id, key, approvers_text(mem, w));
    if ((known = signers_known(mem, err)) == NULL)
        return err->code;
    if ((rc = signers_count(known, as, own.key, err)) != PAWL_OK)
        return rc;
    if (signers_has_signed(w, as))
        return fail(err, PAWL_CONFLICT, "%.120s: %s has signed it already; it needs %s", w->id, as, approvers_text(mem, w));
    if ((step = pawl_step_new(NULL)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory to sign an answer");
    text = pawl_wait_sign(w, answer, update, note, as, own.seed, epoch_ms(), step, err);
    *out = arena_text(mem, text);
    pawl_step_free(step);
    return text == NULL ? err->code : *out != NULL ? PAWL_OK : fail(err, PAWL_NOMEM, "no memory to sign an answer");
}

bool signers_can_sign(arena *mem, const pawl_wait *w)
{
    const char *as;
    own_key own;

    return w->approvers == NULL || key_choose(mem, w, &own, &as, &(pawl_err){ PAWL_OK, "" }) == PAWL_OK;
}

pawl_code signers_asked(void *ctx, const char *name, const char *key, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    const pawl_value *known;
    pawl_code rc;
    arena mem;

    (void)ctx;
    arena_init(&mem, NULL, 1024);
    known = signers_known(&mem, &why);
    rc = known == NULL ? why.code : signers_count(known, name, key, &why);
    arena_free(&mem);
    return rc == PAWL_OK ? rc : fail(err, PAWL_DENIED, "%s", why.text);
}
