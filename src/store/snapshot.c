/* snapshot.c - the digest that proves that a snapshot fits its entry (Q6, K11), and whether a snapshot survives a prune (K7).
 *
 * Owns nothing: pure functions, on any thread. Called by each store. */
#include "store/store.h"

pawl_code store_snapshot_survives(const pawl_alloc *alloc, pawl_bytes snapshot, uint64_t of, uint64_t seq, bool *survives)
{
    const pawl_value *v, *segment;
    pawl_iter it;
    arena mem;
    bool failed;

    *survives = snapshot.size > 0 && of > seq;    /* a snapshot of `seq` itself has the state of the base */
    if (!*survives)
        return PAWL_OK;
    arena_init(&mem, alloc, snapshot.size);
    v = value_read(&mem, snapshot.data, snapshot.size, "a snapshot", NULL);
    *survives = v != NULL;
    it = pawl_iter_of(pawl_value_find(v, "/fold/segments"));
    while (*survives && (segment = pawl_iter_next(&it, NULL)) != NULL)
        *survives = pawl_value_uint(pawl_value_get(segment, "after")) >= seq;
    failed = mem.failed;
    arena_free(&mem);
    return failed ? PAWL_NOMEM : PAWL_OK;
}

bool store_entry_hash(pawl_bytes line, hash *out)
{
    return line.size > HASH_HEX && hash_unhex(line.data, HASH_HEX, out);
}

void store_snapshot_digest(const hash *entry, pawl_bytes snapshot, hash *out)
{
    hash body;

    hash_of(snapshot.data, snapshot.size, &body);
    hash_parts((const pawl_bytes[]){ { (const char *)entry->b, HASH_BYTES }, { (const char *)body.b, HASH_BYTES } }, 2, out);
}
