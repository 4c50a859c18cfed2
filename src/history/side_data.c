/* side_data.c - what a store keeps beside a journal: the blobs that its text refers to, and the open waits of a state.
 *
 * Called by the other files of this folder, on their caller's thread; no lock of its own. Lists are in the caller's arena. */
#include "history/history.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/state.h"

/* ---- blobs ------------------------------------------------------------------------------------ */

static bool take_blob(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)kind, (void)seq;
    buf_put(ctx, line.data, line.size);
    return false;
}

static pawl_code blob_load(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    blobs_of *b = ctx;
    pawl_code rc;

    buf_reset(&b->bytes);
    rc = b->s->verbs->blob(b->s, b->run, digest, take_blob, &b->bytes, err);
    *bytes = (pawl_bytes){ b->bytes.data, b->bytes.size };
    return rc == PAWL_OK && b->bytes.failed ? fail(err, PAWL_NOMEM, "%s: no memory for a blob", b->run) : rc;
}

void blobs_begin(blobs_of *b, pawl_store *s, const char *run)
{
    *b = (blobs_of){ .s = s, .run = run, .loader = { .blob = blob_load, .ctx = b } };
    buf_init(&b->bytes, NULL);
}

void blobs_end(blobs_of *b)
{
    buf_free(&b->bytes);
}

/* ---- what stands beside a journal ---------------------------------------------------------------- */

bool blob_next(pawl_bytes text, size_t *at, char digest[HASH_HEX + 1])
{
    static const char form[] = "\"blob\",\"";
    const size_t n = sizeof form - 1;
    hash h;

    while (*at + n + HASH_HEX < text.size) {
        const char *from = text.data + *at, *found = memchr(from, '"', text.size - *at - n - HASH_HEX);

        if (found == NULL)
            break;
        *at = (size_t)(found - text.data) + 1;
        if (memcmp(found, form, n) == 0 && hash_unhex(found + n, HASH_HEX, &h) && found[n + HASH_HEX] == '"') {
            memcpy(digest, found + n, HASH_HEX);
            digest[HASH_HEX] = '\0';
            return true;
        }
    }
    *at = text.size;
    return false;
}

static bool blob_known(const blob_list *l, const char *digest)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->all[i].digest, digest) == 0)
            return true;
    return false;
}

pawl_code blobs_gather(pawl_store *s, const char *run, pawl_bytes text, arena *mem, blob_list *out, pawl_err *err)
{
    char digest[HASH_HEX + 1];
    pawl_code rc = PAWL_OK;
    size_t at = 0;
    buf bytes;

    buf_init(&bytes, NULL);
    while (rc == PAWL_OK && blob_next(text, &at, digest)) {
        pawl_err why = { PAWL_OK, "" };

        if (blob_known(out, digest))
            continue;
        buf_reset(&bytes);
        rc = s->verbs->blob(s, run, digest, take_blob, &bytes, &why);
        if (rc == PAWL_GONE) {  /* it may only look like a reference; a real one is reported when it is resolved */
            rc = PAWL_OK;
            continue;
        }
        if (rc != PAWL_OK) {
            fail(err, rc, "%s", why.text);
        } else if (bytes.failed || !arena_room(mem, (void **)&out->all, &out->cap, out->n, sizeof *out->all)) {
            rc = fail(err, PAWL_NOMEM, "%s: no memory for its blobs", run);
        } else {
            out->all[out->n++] = (pawl_blob){ arena_strdup(mem, digest, HASH_HEX), { arena_strdup(mem, bytes.data != NULL ? bytes.data : "",
                                                                                                  bytes.size), bytes.size } };
            rc = mem->failed ? fail(err, PAWL_NOMEM, "%s: no memory for its blobs", run) : PAWL_OK;
        }
    }
    buf_free(&bytes);
    return rc;
}

typedef struct listing { const pawl_state *st; arena *mem; wait_list *out; } listing;

static bool see_wait(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    listing *l = ctx;
    const item it = { .superstep = c->superstep, .task = path, .visit = tk != NULL ? tk->visit : c->visit, .n = n };
    const char *spec = c->at == CALL_IN_DOUBT ? c->doubt : c->spec;
    size_t size = c->at == CALL_IN_DOUBT ? strlen(c->doubt) : c->spec_size;
    buf id;

    (void)f;
    if (!call_asks(c))
        return true;
    buf_init(&id, &l->st->alloc);
    buf_fmt(&id, "%s~%016llx/", l->st->run, (unsigned long long)l->st->life);
    id_code(&id, &it);
    if (!id.failed && arena_room(l->mem, (void **)&l->out->all, &l->out->cap, l->out->n, sizeof *l->out->all))
        l->out->all[l->out->n++] = (pawl_waiting){ .id = arena_strdup(l->mem, id.data, id.size), .asked_ms = c->time_ms,
                                                   .spec = { arena_strdup(l->mem, spec, size), size } };
    l->mem->failed = l->mem->failed || id.failed;
    buf_free(&id);
    return !l->mem->failed;
}

pawl_code waits_open(const pawl_state *st, arena *mem, wait_list *out)
{
    listing l = { st, mem, out };

    state_each_call(st, see_wait, &l);
    return mem->failed ? PAWL_NOMEM : PAWL_OK;
}
