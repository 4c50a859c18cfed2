/* list.c - a growing channel value. See list.h. Called by channel.c and txn.c, on the thread that owns the state. */
#include "kernel/list.h"

#include <string.h>

enum { LIST_NODES_FIRST = 8, LIST_STRINGS_FIRST = 256, LIST_FEW = 16 };    /* up to LIST_FEW elements, comparing is faster than hashing */

list *list_make(const pawl_alloc *alloc)
{
    list *l = mem_new(alloc, sizeof *l);

    if (l != NULL)
        arena_init(&l->strings, alloc, LIST_STRINGS_FIRST);
    return l;
}

void list_free(list *l)
{
    if (l == NULL)
        return;
    pawl_alloc alloc = l->strings.alloc;

    hash_index_free(&l->seen, &alloc);
    mem_free(&alloc, l->nodes, l->cap * sizeof *l->nodes);
    arena_free(&l->strings);
    mem_free(&alloc, l, sizeof *l);
}

/* Makes room for `more` nodes. The buffer may move: no caller keeps a pointer into nodes across an append. */
static bool list_room(list *l, size_t more)
{
    size_t cap = l->cap == 0 ? LIST_NODES_FIRST : l->cap;
    yyjson_val *nodes;

    if (l->used + more + 1 <= l->cap)
        return true;
    while (cap < l->used + more + 1)
        cap *= 2;
    nodes = mem_grow(&l->strings.alloc, l->nodes, l->cap * sizeof *nodes, cap * sizeof *nodes);
    if (nodes == NULL)
        return false;
    l->nodes = nodes;
    l->cap = cap;
    if (l->used == 0)
        l->used = 1;        /* the array itself */
    return true;
}

/* Copies the strings of nodes into the list's own arena, because the nodes outlive the step. */
static bool strings_keep(list *l, yyjson_val *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((nodes[i].tag & YYJSON_TYPE_MASK) != YYJSON_TYPE_STR)
            continue;
        nodes[i].uni.str = arena_strdup(&l->strings, nodes[i].uni.str, nodes[i].tag >> YYJSON_TAG_BIT);
        if (nodes[i].uni.str == NULL)
            return false;
        l->text_bytes += nodes[i].tag >> YYJSON_TAG_BIT;
    }
    return true;
}

bool list_append(list *l, const yyjson_val *nodes, size_t n, bool keep)
{
    if (!list_room(l, n))
        return false;
    PAWL_ASSERT(l->used > 0 && l->used + n <= l->cap, "K3: an element is in the buffer of its list");
    memcpy(l->nodes + l->used, nodes, n * sizeof *nodes);
    if (keep && !strings_keep(l, l->nodes + l->used, n))
        return false;
    l->used += n;
    l->count++;
    return true;
}

bool list_put_nodes(list *l, size_t at, const yyjson_val *nodes, size_t n, bool keep)
{
    PAWL_ASSERT(at > 0 && at + n <= l->used, "K3: what is replaced is in the list");
    for (size_t i = 0; keep && i < n; i++)
        if ((l->nodes[at + i].tag & YYJSON_TYPE_MASK) == YYJSON_TYPE_STR)
            l->stale_bytes += l->nodes[at + i].tag >> YYJSON_TAG_BIT;
    memcpy(l->nodes + at, nodes, n * sizeof *nodes);
    return !keep || strings_keep(l, l->nodes + at, n);
}

void list_forget_index(list *l)
{
    hash_index_free(&l->seen, &l->strings.alloc);
    l->seen_nodes = 0;
}

/* The hash of an element's value, or of a member's key. */
static uint32_t node_hash(const list *l, size_t at) { return value_hash(of_val(l->nodes + at)); }

static size_t element_nodes(const list *l, size_t at)
{
    return l->object ? 1 + value_nodes(of_val(l->nodes + at + 1)) : value_nodes(of_val(l->nodes + at));
}

void list_shrink(list *l, size_t nodes, size_t count)
{
    if (l->seen_nodes == l->used && count == 1)
        hash_index_remove(&l->seen, node_hash(l, l->used - nodes), (uint32_t)(l->used - nodes));
    else if (l->seen_nodes > l->used - nodes)
        list_forget_index(l);
    l->used -= nodes;
    l->count -= count;
    if (l->seen_nodes > l->used)
        l->seen_nodes = l->used;
    if (l->floating >= count)
        l->floating -= count;
}

/* Updates the header of the array and returns it. Allocates nothing; the empty value is a constant. */
const pawl_value *list_value(list *l)
{
    static const yyjson_val empty = { .tag = YYJSON_TYPE_ARR, .uni = { .ofs = sizeof(yyjson_val) } };

    if (l->nodes == NULL || l->count == 0)
        return of_val(&empty);
    l->nodes[0].tag = (uint64_t)l->count << YYJSON_TAG_BIT | (l->object ? YYJSON_TYPE_OBJ : YYJSON_TYPE_ARR);
    l->nodes[0].uni.ofs = l->used * sizeof(yyjson_val);
    return of_val(l->nodes);
}

/* Adds the elements since the last call to the index. False: no memory, or too few elements for an index. */
static bool list_indexed(list *l)
{
    size_t at = l->seen_nodes == 0 ? 1 : l->seen_nodes;

    if (l->count < LIST_FEW || l->used >= UINT32_MAX)
        return false;
    for (; at < l->used; at += element_nodes(l, at)) {
        if (!hash_index_add(&l->seen, &l->strings.alloc, node_hash(l, at), (uint32_t)at)) {
            list_forget_index(l);
            return false;
        }
        l->seen_nodes = at + element_nodes(l, at);
    }
    return true;
}

static size_t list_find(list *l, const pawl_value *v)
{
    size_t at = 1;

    if (list_indexed(l)) {
        const uint32_t h = value_hash(v);
        uint32_t slot = hash_index_first(&l->seen, h), i;

        while ((i = hash_index_next(&l->seen, h, &slot)) != UINT32_MAX)
            if (pawl_value_equal(of_val(l->nodes + i), v))
                return i;
        return 0;
    }
    for (size_t i = 0; i < l->count; i++, at += element_nodes(l, at))
        if (pawl_value_equal(of_val(l->nodes + at), v))
            return at;
    return 0;
}

bool list_has(list *l, const pawl_value *v) { return list_find(l, v) > 0; }
size_t list_key(list *l, const yyjson_val *key) { return list_find(l, of_val(key)); }
