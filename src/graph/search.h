/* search.h - for check.c and src/proof: the states that a graph can reach. Pure; the caller owns a search. */
#ifndef GRAPH_SEARCH_H
#define GRAPH_SEARCH_H

#include "graph/graph.h"
#include "kernel/machine.h"

#define CHECK_NONE UINT32_MAX

typedef struct check_set {      /* a set of items of `width` words, numbered in the order of insertion */
    pawl_alloc alloc;
    size_t width, count, cap, nslots;
    uint64_t *words;
    uint32_t *slots;            /* number + 1 */
} check_set;

enum { SPOT_ENDS = 1, SPOT_STUCK = 2, SPOT_LEAVES = 4, SPOT_LOOP = 8 };

typedef struct check_spot {           /* a state that was found; its words in `states` have the same number */
    uint32_t parent;
    uint32_t edge;              /* index of its first edge */
    uint8_t flags;              /* ENDS: the run may end here; LEAVES: a node's code may end the run; LOOP: in a loop */
} check_spot;

typedef struct check_meet {
    const join *j;
    size_t at;                  /* of its words in a state: bits of the sources, "fired", "passed"; if not all are needed, those that came again */
    uint32_t *from;
    uint32_t to;
    bool told;
} check_meet;

typedef struct check_exit {
    check_set options;          /* the sets of nodes that may be next */
    uint64_t *leads;            /* the union of these sets; NULL: no join cancels its rest */
    bool ends;                  /* an edge leads to @end; set with `leads` */
} check_exit;

typedef struct check_shared { const machine_channel *c; uint64_t *nodes; bool told; } check_shared;

typedef struct search {
    const pawl_graph *g;
    pawl_report *r;
    const char *label;
    pawl_alloc alloc;
    arena mem;
    size_t words;               /* words of a set of nodes, and of the joins that a way leads past; a state has the sets next and deferred, then the joins */
    bool apart;                 /* for a caller with its own exits: an option has a second half, the nodes of sends, which are not deferred */
    size_t wide;                /* words of an option of an exit */
    size_t limit, work;
    check_exit *exits;
    uint64_t *deferring;        /* the deferred nodes */
    check_meet *joins;
    size_t njoins;
    join_index by_source;
    uint32_t *stepped, step;    /* by join: the last state whose step has stepped it; the number of this one */
    bool cancels;               /* a join cancels its rest */
    check_shared *writers;
    size_t nwriters;
    check_set states, layers[2];
    check_spot *spots;
    size_t spots_cap;
    uint32_t *edges;
    size_t nedges, edges_cap;
    size_t expanded;            /* number of states whose edges are known */
    uint64_t *now, *after, *hit, *gone, *one;
    uint64_t *ran;              /* nodes that ran in some state */
    uint32_t *back_at, *back;   /* the edges backwards: those into state i start at back_at[i] */
    bool cut, failed;
} search;

static inline bool check_bit(const uint64_t *set, size_t i) { return set[i / 64] >> (i % 64) & 1; }
static inline void check_mark(uint64_t *set, size_t i) { set[i / 64] |= UINT64_C(1) << (i % 64); }

/* The first member of the set from `i` on; 64 * words: none. */
static inline size_t check_next(const uint64_t *set, size_t words, size_t i)
{
    size_t w = i / 64;
    uint64_t left = w < words ? set[w] >> (i % 64) << (i % 64) : 0;

    while (left == 0)
        if (++w < words)
            left = set[w];
        else
            return 64 * words;
    return 64 * w + (size_t)__builtin_ctzll(left);
}

static inline bool check_empty(const uint64_t *set, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (set[i] != 0)
            return false;
    return true;
}

static inline const uint64_t *check_item(const check_set *s, size_t i)
{
    return s->words + i * s->width;
}

void check_set_init(check_set *s, const pawl_alloc *alloc, size_t width);
void check_set_free(check_set *s);
/* The number of `key`, which must not point into the set; adds the key when the set has fewer than `limit` items. CHECK_NONE: the set is full, or no
 * memory (*failed). */
uint32_t check_add(check_set *s, const uint64_t *key, size_t limit, bool *failed);

/* Step by step, for a caller with its own exits (src/proof): search_prepare() allocates; search_enter() enters a state (`now`) and steps its joins;
 * search_layer() gives the sets of nodes that may be next (valid until the next call; incomplete when `work` is used up); search_succeed() computes
 * the following state in `after`. */
bool search_prepare(search *s);
void search_enter(search *s, const uint64_t *state);
bool search_rests(const search *s);             /* no node is next */
bool search_stuck(const search *s);             /* the same, and a join still waits */
const check_set *search_layer(search *s);
/* Adds to an option of node `from` that a route or a goto leads to `to`; past the sources of a join, that the join has begun. */
void search_to(const search *s, uint64_t *set, uint32_t from, const char *to);
void search_succeed(search *s, const uint64_t *reached);
/* Searches `s->g` up to `s->limit` states. False: no memory. Call search_free() in either case. */
bool search_run(search *s);
void search_free(search *s);
bool search_begun(const check_meet *m, const uint64_t *state);         /* in its round a source came, or a way led past them, and it has not fired */
bool search_came(const check_meet *m, const uint64_t *state, uint32_t source);         /* in that round; of one that has begun */
/* The number of sources of the join that a state has seen. */
uint32_t search_seen(const check_meet *m, const uint64_t *seen);

#endif
