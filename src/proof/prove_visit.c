/* prove_visit.c - the visit of one node as a state machine: asked, answered, performed, killed, resumed, retried, forked. prove_call.c decides.
 *
 * Tasks of a superstep do not see each other (G2), so each visit is searched by itself, for each mode. Owns nothing. Called by prove.c; pure, one
 * thread. Invariant: the table moves[] is complete: an event that is not in it cannot happen in that phase. */
#include "proof/prove_inner.h"

typedef enum visit_phase { TOP, ASKED, CLEAR, OUT, FAILED, LEFT, OVER, PHASES } visit_phase;   /* CLEAR: the command is next */
enum { YES = 1, DOWN = 2, SPOTS = PHASES * 4 };     /* this call was approved in this visit; the process is dead */

/* When: */
enum { IF_PASSES = 1, IF_ASKS = 2, IF_DENIES = 4, IF_REPLACED = 8, IF_SLIPS = 16, IF_STUMBLES = 32, IF_HANDLED = 64, IF_LOST = 128, IF_CALLS = 256,
       IF_ON_NO = 512, IF_NO_ON_NO = 1024 };
typedef enum yes { KEPT, GIVEN, GONE } yes;

typedef struct move {
    unsigned char from, to;
    unsigned when;                  /* all of these */
    yes yes;
    unsigned way;                   /* how it leaves by that; 0: it does not */
    const char *slip;               /* the report when a command is dispatched without an approval */
} move;

static const move moves[] = {
    { TOP,    CLEAR,  IF_PASSES,                GONE,  0,         NULL },
    { TOP,    ASKED,  IF_ASKS,                  GONE,  0,         NULL },
    { TOP,    OVER,   IF_DENIES,                GONE,  0,         NULL },
    { TOP,    LEFT,   IF_STUMBLES | IF_HANDLED, GONE,  WAY_ERROR, NULL },       /* an expression fails */
    { TOP,    FAILED, IF_STUMBLES | IF_LOST,    GONE,  0,         NULL },
    { ASKED,  CLEAR,  0,                        GIVEN, 0,         NULL },
    { ASKED,  CLEAR,  IF_SLIPS,                 GONE,  0,         "a hook rewrites what a person had edited, and it is not denied" },
    { ASKED,  LEFT,   IF_ON_NO,                 GONE,  WAY_NO,    NULL },       /* the answer no, or a timeout */
    { ASKED,  OVER,   IF_NO_ON_NO,              GONE,  0,         NULL },
    { CLEAR,  LEFT,   IF_REPLACED,              GONE,  WAY_ON,    NULL },
    { CLEAR,  OUT,    0,                        KEPT,  0,         NULL },
    { OUT,    LEFT,   0,                        GONE,  WAY_ON,    NULL },
    { OUT,    LEFT,   IF_CALLS | IF_HANDLED,    GONE,  WAY_ERROR, NULL },
    { OUT,    FAILED, IF_CALLS | IF_LOST,       GONE,  0,         NULL },
    { FAILED, TOP,    0,                        GONE,  0,         NULL },       /* tried again: a new visit */
    { TOP,    TOP,    0,                        GONE,  0,         NULL },       /* a fork: what stood in the visit does not cross it */
    { ASKED,  TOP,    0,                        GONE,  0,         NULL },
    { CLEAR,  TOP,    0,                        GONE,  0,         NULL },
    { OUT,    TOP,    0,                        GONE,  0,         NULL },
};

/* An expression is evaluated before it acts. */
static bool stumbles(const file_node *n)
{
    bool any = n->nbody > 0 || form_unknown(n->call) || form_unknown(n->cwd) || form_unknown(n->undo_cwd) || form_unknown(n->ask) ||
        form_unknown(n->until);

    for (size_t i = 0; i < n->nsets; i++)
        any = any || form_unknown(n->sets[i].f) || n->sets[i].extend;
    return any;
}

static unsigned holds(const file_node *n, const node_judgement *j)
{
    const bool gated = n->kind != KIND_ASK && n->ask != NULL;
    unsigned all = n->on_error.name != NULL ? IF_HANDLED : IF_LOST;

    all |= n->on_no.name != NULL ? IF_ON_NO : IF_NO_ON_NO;
    if (j->passes && !gated)
        all |= IF_PASSES;
    if (j->asks || (j->passes && gated))
        all |= IF_ASKS;
    if (j->denies)
        all |= IF_DENIES;
    if (j->replaced)
        all |= IF_REPLACED;
    if (j->slips)
        all |= IF_SLIPS;
    if (stumbles(n))
        all |= IF_STUMBLES;
    if ((n->kind & (unsigned)KINDS_CALL) != 0 || (n->kind == KIND_WAIT && n->waits_for_signal && n->ask_ms > 0))
        all |= IF_CALLS;
    return all;
}

typedef struct exploring { bool seen[SPOTS]; unsigned char queue[SPOTS]; size_t n; } exploring;

static void spot_found(exploring *x, visiting *out, unsigned at)
{
    out->transitions++;
    if (x->seen[at])
        return;
    x->seen[at] = true;
    x->queue[x->n++] = (unsigned char)at;
    out->states++;
}

void visit_explore(const file_node *n, const node_judgement *j, visiting *out)
{
    const unsigned when = holds(n, j);
    const char *slips[SPOTS] = { NULL };
    exploring x = { .n = 0 };

    *out = (visiting){0};
    spot_found(&x, out, TOP * 4);
    for (size_t i = 0; i < x.n; i++) {
        const unsigned at = x.queue[i], from = at / 4;

        if ((at & DOWN) != 0) {     /* resumed: everything is in the journal, the approval too */
            spot_found(&x, out, at & ~(unsigned)DOWN);
            continue;
        }
        if (from != LEFT && from != OVER)
            spot_found(&x, out, at | DOWN);
        for (size_t k = 0; k < sizeof moves / sizeof *moves; k++) {
            const move *m = &moves[k];
            const unsigned stands = m->yes == GIVEN ? YES : m->yes == KEPT ? at & YES : 0, to = m->to * 4u + stands;

            if (m->from != from || (m->when & ~when) != 0)
                continue;
            if (m->to == CLEAR && stands == 0 && !x.seen[to])
                slips[to] = m->slip;
            if (m->to == OUT && stands == 0 && j->acts && !out->broken) {
                out->broken = true;
                out->slip = slips[at];
            }
            out->ways |= m->way;
            spot_found(&x, out, to);
        }
    }
    if (j->reroutes && (out->ways & WAY_ON) != 0)
        out->ways |= WAY_ROUTED;
}
