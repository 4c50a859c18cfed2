/* search.h - inside check: the states that a graph itself can be in. */
#ifndef GRAPH_SEARCH_H
#define GRAPH_SEARCH_H

#include "graph/graph.h"

#define CHECK_NONE UINT32_MAX

typedef struct check_set {      /* items of `width` words, each once, by number */
    pawl_alloc alloc;
    size_t width, count, cap, nslots;
    uint64_t *words;
    uint32_t *slots;            /* number + 1 */
} check_set;

enum { SPOT_ENDS = 1, SPOT_STUCK = 2, SPOT_LEAVES = 4, SPOT_LOOP = 8 };

typedef struct check_spot {           /* a state that was found; its sets have the same number */
    uint32_t parent;
    uint32_t edge;              /* the first of its edges */
    uint8_t flags;              /* ENDS: here the run may be over; LEAVES: a node's code may end it; LOOP: of one */
} check_spot;

typedef struct check_meet {
    const join *j;
    size_t at;                  /* its words in a state: a bit for each source, and one for fired */
    uint32_t *from;
    uint32_t to;
    bool told;
} check_meet;

typedef struct check_exit {
    check_set options;          /* the sets of nodes that it may lead to */
    uint64_t *leads;            /* all of these */
    bool ends;                  /* one of its ways leads to @end */
} check_exit;

typedef struct check_shared { const machine_channel *c; uint64_t *nodes; bool told; } check_shared;

typedef struct search {
    const pawl_graph *g;
    pawl_report *r;
    const char *label;
    pawl_alloc alloc;
    arena mem;
    size_t words;               /* of a set of nodes; a state is next, deferred, joins */
    bool apart;                 /* of who has exits of his own: they have a second half, what is sent to and waits for nothing */
    size_t wide;                /* so many words has an option of an exit */
    size_t limit, work;
    check_exit *exits;
    uint64_t *deferring;        /* the nodes that wait until all is quiet */
    check_meet *joins;
    size_t njoins;
    check_shared *writers;
    size_t nwriters;
    check_set states, layers[2];
    check_spot *spots;
    size_t spots_cap;
    uint32_t *edges;
    size_t nedges, edges_cap;
    size_t expanded;            /* states whose edges are known */
    uint64_t *now, *after, *hit, *gone, *one;
    uint64_t *ran;              /* nodes that ran in some state */
    uint32_t *back_at, *back;   /* the edges, backwards: of state i from back_at[i] on */
    bool cut, failed;
} search;

static inline bool check_bit(const uint64_t *set, size_t i) { return set[i / 64] >> (i % 64) & 1; }
static inline void check_mark(uint64_t *set, size_t i) { set[i / 64] |= UINT64_C(1) << (i % 64); }

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
/* The number of `key`, which is none of the set's own; added when there are less than `limit`. CHECK_NONE: it
 * would be one too many, or no memory (*failed). */
uint32_t check_add(check_set *s, const uint64_t *key, size_t limit, bool *failed);

/* Step by step, for who has exits of his own: search_prepare makes all that search_free frees; then a state is entered (`now`, and what joins
 * come to), each set of nodes that its ways may lead to is one of a layer (which lives until the next; without any `work` left it is not
 * whole), and `after` is the state that follows. */
bool search_prepare(search *s);
void search_enter(search *s, const uint64_t *state);
bool search_rests(const search *s);             /* nothing is next; */
bool search_stuck(const search *s);             /* and a join waits */
const check_set *search_layer(search *s);
void search_succeed(search *s, const uint64_t *reached);
/* Of `s->g`, for `s->label`, up to `s->limit` states. False: no memory. search_free in every case. */
bool search_run(search *s);
void search_free(search *s);
/* How many sources of the join a state has seen. */
uint32_t search_seen(const check_meet *m, const uint64_t *seen);

#endif
