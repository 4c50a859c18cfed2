/* record.c - recorded answers, found by the digest of their request: a file of JSON lines that is read completely and appended to.
 *
 * Called by handlers on any thread; the lock of the record protects its table and its file. */
#include "effect/llm/llm.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS_MAX = 1000000 };
#define RECORD_BYTES_MAX ((size_t)1 << 30)      /* of the file */

typedef struct record {
    hash key;
    pawl_bytes reply;           /* canonical JSON; ends in NUL */
    int64_t tokens, micros;     /* tokens -1: unknown */
} record;

struct pawl_llm_record {
    pawl_alloc alloc;
    pawl_record_mode mode;
    pawl_handler_fn *fn;
    void *fn_arg;
    const char *path;           /* for errors; in mem */
    int fd;                     /* -1: nothing is written */
    pthread_mutex_t lock;       /* protects everything below */
    arena mem;
    record *records;
    size_t n, cap;
};

/* ---- keys --------------------------------------------------------------------------------------------------- */

bool llm_record_key(const pawl_value *args, const pawl_alloc *alloc, hash *out)
{
    static const char *const apart[] = { "cache", "node", "decision", "retry" };
    const pawl_value *request, *key, *v;
    pawl_iter it;
    arena mem;
    buf b;
    bool well;

    arena_init(&mem, alloc, 4096);
    buf_init(&b, alloc);
    args = llm_args_flat(&mem, args);
    it = pawl_iter_of(args);
    request = args != NULL ? value_pack(&mem, NULL, "{}") : NULL;
    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        size_t i = 0;

        while (i < sizeof apart / sizeof *apart && strcmp(pawl_value_string(key), apart[i]) != 0)
            i++;
        if (i == sizeof apart / sizeof *apart)
            request = value_with(&mem, request, pawl_value_string(key), v);
    }
    if (request != NULL)
        canon(&b, request);
    well = request != NULL && !b.failed;
    if (well)
        hash_of(b.data, b.size, out);
    buf_free(&b);
    arena_free(&mem);
    return well;
}

static const record *record_find(const pawl_llm_record *r, const hash *key)
{
    for (size_t i = 0; i < r->n; i++)
        if (hash_equal(&r->records[i].key, key))
            return &r->records[i];
    return NULL;
}

/* The first record of the key, by value: others may be added while it is used. */
static bool find(pawl_llm_record *r, const hash *key, record *out)
{
    const record *there;

    pthread_mutex_lock(&r->lock);
    if ((there = record_find(r, key)) != NULL)
        *out = *there;
    pthread_mutex_unlock(&r->lock);
    return there != NULL;
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

/* Adds a copy of the reply as canonical JSON. */
static bool keep(pawl_llm_record *r, const record *one, const pawl_value *reply)
{
    void *records = r->records;
    char *text;
    buf b;

    buf_init(&b, &r->alloc);
    canon(&b, reply);
    text = b.failed ? NULL : arena_strdup(&r->mem, b.data, b.size);
    if (text != NULL && mem_room(&r->alloc, &records, &r->cap, r->n, sizeof *one)) {
        r->records = records;
        r->records[r->n] = *one;
        r->records[r->n++].reply = (pawl_bytes){ text, b.size };
    } else {
        text = NULL;
    }
    buf_free(&b);
    return text != NULL;
}

static pawl_code line_read(pawl_llm_record *r, arena *scratch, const char *path, size_t number, const char *line, size_t size, pawl_err *err)
{
    const pawl_value *v = value_read(scratch, line, size, "the line", NULL), *key = pawl_value_get(v, "key"), *reply = pawl_value_get(v, "reply");
    const pawl_value *tokens = pawl_value_get(v, "tokens");
    record one = { .tokens = tokens != NULL ? pawl_value_int(tokens) : -1, .micros = pawl_value_int(pawl_value_get(v, "micros")) };

    if (scratch->failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for it", path);
    if (reply == NULL || !hash_unhex(llm_text(v, "key"), pawl_value_size(key), &one.key))
        return fail(err, PAWL_CORRUPT, "%s:%zu: this is no record: {\"key\":SHA-256,\"reply\":...}", path, number);
    if (r->n == RECORDS_MAX)
        return fail(err, PAWL_LIMIT, "%s: more than %d records (RECORDS_MAX)", path, RECORDS_MAX);
    return keep(r, &one, reply) ? PAWL_OK : fail(err, PAWL_NOMEM, "%s: no memory for it", path);
}

/* Bytes after the last newline were left by a writer that died. */
static pawl_code lines_read(pawl_llm_record *r, const char *path, const buf *text, pawl_err *err)
{
    const char *at = text->data, *const end = text->size > 0 ? text->data + text->size : at, *line_end;
    pawl_code rc = PAWL_OK;
    size_t number = 1;
    arena scratch;

    arena_init(&scratch, &r->alloc, 16384);
    for (; rc == PAWL_OK && at < end && (line_end = memchr(at, '\n', (size_t)(end - at))) != NULL; at = line_end + 1, number++) {
        arena_reset(&scratch);
        rc = line_read(r, &scratch, path, number, at, (size_t)(line_end - at), err);
    }
    arena_free(&scratch);
    if (rc == PAWL_OK && at < end && r->mode == PAWL_RECORD_LIVE && ftruncate(r->fd, (off_t)(at - text->data)) != 0)
        rc = fail(err, PAWL_IO, "%s: its last line is cut off, and cannot be taken away", path);
    return rc;
}

/* Other processes may append; an incomplete line of theirs must not be read. */
static pawl_code file_lock(int fd, const char *path, pawl_err *err)
{
    int rc;

    while ((rc = flock(fd, LOCK_EX)) != 0 && errno == EINTR)
        ;
    return rc == 0 ? PAWL_OK : fail(err, PAWL_IO, "%s: cannot be locked", path);
}

static pawl_code file_read(pawl_llm_record *r, const char *path, int fd, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    ssize_t n = 1;
    buf text;

    buf_init(&text, &r->alloc);
    while (n > 0 && rc == PAWL_OK) {
        if (!buf_room(&text, 65536))
            rc = fail(err, PAWL_NOMEM, "%s: no memory for it", path);
        else if ((n = read(fd, text.data + text.size, text.cap - text.size)) > 0)
            text.size += (size_t)n;
        else if (n < 0 && errno == EINTR)
            n = 1;
        if (text.size > RECORD_BYTES_MAX)
            rc = fail(err, PAWL_LIMIT, "%s: over %zu bytes (RECORD_BYTES_MAX)", path, RECORD_BYTES_MAX);
    }
    if (rc == PAWL_OK && n < 0)
        rc = fail(err, PAWL_IO, "%s: cannot be read", path);
    if (rc == PAWL_OK)
        rc = lines_read(r, path, &text, err);
    buf_free(&text);
    return rc;
}

pawl_llm_record *pawl_llm_record_open(const char *path, pawl_record_mode mode, pawl_handler_fn *fn, void *fn_arg, pawl_err *err)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    const bool live = mode == PAWL_RECORD_LIVE;
    pawl_llm_record *r = NULL;
    struct stat st;
    pawl_code rc;
    int fd;

    if (fn == NULL && mode != PAWL_RECORD_STRICT) {
        fail(err, PAWL_INVALID, "%s: only a strict record asks nobody", path);
        return NULL;
    }
    if ((fd = open(path, live ? O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600)) < 0) {
        fail(err, PAWL_IO, "%s: cannot be opened%s", path, errno == ENOENT ? ": it is not there" : "");
        return NULL;
    }
    if (live && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {        /* reading a pipe that is written to would never end */
        close(fd);
        fail(err, PAWL_INVALID, "%s: it is no file, and answers are to be written down", path);
        return NULL;
    }
    if ((r = mem_new(&alloc, sizeof *r)) == NULL) {
        close(fd);
        fail(err, PAWL_NOMEM, "%s: no memory for it", path);
        return NULL;
    }
    *r = (pawl_llm_record){ .alloc = alloc, .mode = mode, .fn = fn, .fn_arg = fn_arg, .fd = fd };
    arena_init(&r->mem, &alloc, 4096);
    pthread_mutex_init(&r->lock, NULL);
    r->path = arena_text(&r->mem, path);
    rc = r->path == NULL ? fail(err, PAWL_NOMEM, "%s: no memory for it", path) : live ? file_lock(fd, path, err) : PAWL_OK;
    if (rc == PAWL_OK)
        rc = file_read(r, path, fd, err);
    if (live)
        (void)flock(fd, LOCK_UN);
    if (!live) {
        close(fd);
        r->fd = -1;
    }
    if (rc == PAWL_OK)
        return r;
    pawl_llm_record_close(r);
    return NULL;
}

void pawl_llm_record_close(pawl_llm_record *r)
{
    const pawl_alloc alloc = mem_or_default(NULL);

    if (r == NULL)
        return;
    if (r->fd >= 0)
        close(r->fd);
    mem_free(&alloc, r->records, r->cap * sizeof *r->records);
    arena_free(&r->mem);
    pthread_mutex_destroy(&r->lock);
    mem_free(&alloc, r, sizeof *r);
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

void llm_record_line(buf *b, const hash *key, const pawl_value *reply, int64_t tokens, int64_t micros)
{
    char hex[HASH_HEX + 1];

    hash_hex(key, hex);
    buf_fmt(b, "{\"key\":\"%s\",", hex);
    if (tokens >= 0)
        buf_fmt(b, "\"micros\":%lld,", (long long)micros);
    buf_text(b, "\"reply\":");
    canon(b, reply);
    if (tokens >= 0)
        buf_fmt(b, ",\"tokens\":%lld", (long long)tokens);
    buf_text(b, "}\n");
}

/* Appends one complete line. Returns why it could not; the call itself has succeeded. */
static const char *written(pawl_llm_record *r, const record *one, const pawl_value *reply)
{
    const char *why = NULL;
    buf b;

    buf_init(&b, &r->alloc);
    llm_record_line(&b, &one->key, reply, one->tokens, one->micros);
    pthread_mutex_lock(&r->lock);
    if (record_find(r, &one->key) != NULL)     /* another call recorded the same request meanwhile */
        b.size = 0;
    else if (b.failed || !keep(r, one, reply))
        why = "\"there is no memory for it\"";
    else if (file_lock(r->fd, r->path, NULL) != PAWL_OK)
        why = "\"it cannot be locked\"";
    for (size_t at = 0; why == NULL && at < b.size;) {
        const ssize_t n = write(r->fd, b.data + at, b.size - at);

        if (n < 0 && errno != EINTR)
            why = "\"it cannot be written\"";
        at += n > 0 ? (size_t)n : 0;
    }
    (void)flock(r->fd, LOCK_UN);
    pthread_mutex_unlock(&r->lock);
    buf_free(&b);
    return why;
}

/* ---- telling -------------------------------------------------------------------------------------------------------- */

/* `"differs":[...]` or `"failed":TEXT`. */
static void record_emit(const pawl_job *job, const hash *key, const char *member, const char *json)
{
    char hex[HASH_HEX + 1];
    buf b;

    if (job->say == NULL)
        return;
    hash_hex(key, hex);
    buf_init(&b, NULL);
    buf_fmt(&b, "{\"%s\":%s,\"key\":\"%s\"}", member, json, hex);
    buf_char(&b, '\0');
    if (!b.failed)
        (void)job->say(job, "record", b.data);
    buf_free(&b);
}

/* The parts of a message that matter: text or calls, without ids, which differ each time. */
static const pawl_value *gist(arena *mem, const pawl_value *reply, const char *type)
{
    const pawl_value *content = pawl_value_find(reply, "/message/content"), *block, *out = value_pack(mem, NULL, "[]");
    pawl_iter it = pawl_iter_of(content);

    if (pawl_value_type(content) != PAWL_TYPE_ARRAY)
        return content != NULL ? content : value_null(mem);
    while ((block = pawl_iter_next(&it, NULL)) != NULL) {
        if (!llm_is(block, type))
            continue;
        if (strcmp(type, "text") == 0)
            out = value_push(mem, out, pawl_value_get(block, "text"));
        else
            out = value_push(mem, out, value_pack(mem, NULL, "[v,v]", pawl_value_get(block, "name"), pawl_value_get(block, "input")));
    }
    return out;
}

static void compare(const pawl_job *job, const hash *key, const record *there, const pawl_value *reply, arena *mem)
{
    static const char *const names[] = { "text", "tools", "stop", "output" };
    const pawl_value *old = value_read(mem, there->reply.data, there->reply.size, "the record", NULL);
    const bool same[] = { pawl_value_equal(gist(mem, old, "text"), gist(mem, reply, "text")) &&
                              pawl_value_equal(pawl_value_get(old, "text"), pawl_value_get(reply, "text")),
                          pawl_value_equal(gist(mem, old, "tool_use"), gist(mem, reply, "tool_use")),
                          strcmp(llm_text(old, "stop"), llm_text(reply, "stop")) == 0,
                          pawl_value_equal(pawl_value_get(old, "output"), pawl_value_get(reply, "output")) };
    char list[64] = "[";
    size_t at = 1;

    for (size_t i = 0; i < 4; i++)
        if (!same[i])
            at += (size_t)snprintf(list + at, sizeof list - at, "%s\"%s\"", at > 1 ? "," : "", names[i]);
    snprintf(list + at, sizeof list - at, "]");
    if (at > 1)
        record_emit(job, key, "differs", list);
}

/* ---- the handler ------------------------------------------------------------------------------------------------------ */

static pawl_code replay(const pawl_job *job, pawl_reply *reply, const record *one)
{
    const pawl_value *message;
    arena mem;

    arena_init(&mem, &reply->alloc, 4096);
    message = pawl_value_get(value_read(&mem, one->reply.data, one->reply.size, "the record", NULL), "message");
    if (message != NULL)
        llm_emit_message(job, message);
    arena_free(&mem);
    buf_put(&reply->text, one->reply.data, one->reply.size);
    if (reply->text.failed)
        return pawl_reply_fail(reply, PAWL_NOMEM, "%s: no memory for its record", job->effect);
    if (one->tokens >= 0)
        pawl_reply_cost(reply, one->tokens, one->micros);
    return PAWL_OK;
}

static pawl_code live(pawl_llm_record *r, const pawl_job *job, pawl_reply *reply, record *one, const record *there)
{
    pawl_job waits = *job;
    const pawl_value *v;
    const char *why;
    pawl_code rc;
    arena mem;

    waits.later = NULL;         /* the answer is recorded or compared before this returns */
    if ((rc = r->fn(&waits, reply, r->fn_arg)) < 0)
        return rc;
    arena_init(&mem, &reply->alloc, 4096);
    v = value_parse(&mem, reply->text.size > 0 ? reply->text.data : "", reply->text.size, "the reply", NULL);
    one->tokens = reply->costs ? reply->tokens : -1;
    one->micros = reply->micros;
    if (v != NULL && r->mode == PAWL_RECORD_LIVE && (why = written(r, one, v)) != NULL)      /* NULL: the engine reports it */
        record_emit(job, &one->key, "failed", why);
    else if (v != NULL && r->mode == PAWL_RECORD_SHADOW && there == NULL)
        record_emit(job, &one->key, "differs", "[\"missing\"]");
    else if (v != NULL && r->mode == PAWL_RECORD_SHADOW)
        compare(job, &one->key, there, v, &mem);
    arena_free(&mem);
    return rc;
}

/* The beginning of the user's last text, or of the prompt, in one line of at most `size` bytes. */
static void last_words(arena *mem, const pawl_value *args, char *out, size_t size)
{
    const char *text = pawl_value_string(pawl_value_get(args, "prompt"));
    size_t n;

    if (text == NULL)
        text = llm_last_text(mem, pawl_value_get(args, "messages"));
    n = text == NULL ? 0 : strlen(text);
    if (n >= size)
        n = size - 1;
    while (n > 0 && text[n] != '\0' && ((unsigned char)text[n] & 0xc0) == 0x80)     /* not in the middle of a character */
        n--;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)text[i] < ' ' || text[i] == '"' ? ' ' : text[i];
    out[n] = '\0';
}

/* The error names the request that is missing, and what to do. */
static pawl_code missed(const pawl_llm_record *r, const pawl_job *job, pawl_reply *reply, const hash *key)
{
    char said[41], hex[HASH_HEX + 1];
    const pawl_value *args;
    pawl_code rc;
    arena mem;

    arena_init(&mem, &reply->alloc, 4096);
    hash_hex(key, hex);
    if ((args = llm_args_flat(&mem, job->args)) == NULL)
        args = job->args;
    last_words(&mem, args, said, sizeof said);
    pawl_reply_untouched(reply);
    rc = pawl_reply_fail(reply, PAWL_INVALID, "%s: %.60s has no answer to this request: %.40s, messages %zu, \"%s\" (%.12s); record it live", job->effect,
                         r->path, llm_text(args, "model"), pawl_value_size(pawl_value_get(args, "messages")), said, hex);
    arena_free(&mem);
    return rc;
}

pawl_code pawl_effect_record(const pawl_job *job, pawl_reply *reply, void *arg)
{
    pawl_llm_record *r = arg;
    record one = { .tokens = -1 }, there;
    bool found;

    if (!llm_record_key(job->args, &reply->alloc, &one.key)) {
        pawl_reply_untouched(reply);
        return pawl_reply_fail(reply, PAWL_NOMEM, "%s: no memory for its key", job->effect);
    }
    found = find(r, &one.key, &there);
    if (found && r->mode != PAWL_RECORD_SHADOW)
        return replay(job, reply, &there);
    if (r->mode != PAWL_RECORD_STRICT)
        return live(r, job, reply, &one, found ? &there : NULL);
    return missed(r, job, reply, &one.key);
}
