/* draw_test.c - the picture, in all three formats, of a graph, of a run in it, and of Pawl's own tables (G12). */
#include "kernel/machine.h"
#include "lib/check.h"
#include "lib/heap.h"
#include "pawl/graph.h"

#include <string.h>

/* ---- graphs ---------------------------------------------------------------------------------- */

static pawl_code plan(pawl_step *s, void *arg)
{
    const int *workers = arg;

    for (int i = 0; i < *workers; i++)
        pawl_send(s, "worker", pawl_pack(s, "i", (int64_t)i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code quiet(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_follow(s);
}

static pawl_code question(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_ask(s, pawl_pack(s, "s", "Is it true?"), &answer);

    (void)arg;
    return rc != PAWL_OK ? rc : pawl_follow(s);
}

static const char *onwards(pawl_step *s, void *arg)
{
    (void)s;
    return arg;
}

static bool never(pawl_step *s, void *arg)
{
    (void)s;
    (void)arg;
    return false;
}

/* One of everything; it sends to as many workers as it is told. */
static pawl_graph *newsroom(int *workers)
{
    pawl_graph *g = pawl_graph_new("newsroom", 3), *inner = pawl_graph_new("checking", 1);

    pawl_graph_node(inner, "facts", question, NULL);
    pawl_graph_node(inner, "style", quiet, NULL);
    pawl_graph_chain(inner, PAWL_START, "facts", "style", PAWL_END, NULL);

    pawl_graph_hook(g, NULL, PAWL_PHASE_BEFORE, "audit");
    pawl_graph_node(g, "plan", plan, workers);
    pawl_graph_work(g, "worker", "llm");
    pawl_graph_node(g, "gather", quiet, NULL);
    pawl_graph_sub(g, "check", inner);
    pawl_graph_work(g, "legal", "lawyer");
    pawl_graph_node(g, "review", quiet, NULL);
    pawl_graph_node(g, "revise", quiet, NULL);
    pawl_graph_node(g, "publish", quiet, NULL);
    pawl_graph_hook(g, "publish", PAWL_PHASE_AFTER, "tell");

    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_goto(g, "plan", "worker", PAWL_END, NULL);
    pawl_graph_edge(g, "worker", "gather");
    pawl_graph_defer(g, "gather");
    pawl_graph_edge(g, "gather", "check");
    pawl_graph_edge(g, "gather", "legal");
    pawl_graph_join(g, "review", "check", "legal", NULL);
    pawl_graph_interrupt_before(g, "review");
    pawl_graph_gate(g, "review", "Publish \"it\"?\n<b>& #1; C:\\new</b>");
    pawl_graph_gate_no(g, "review", PAWL_END);
    pawl_graph_route(g, "review", onwards, "publish", "revise", "publish", PAWL_END, NULL);
    pawl_graph_when(g, "revise", never, NULL, "plan");
    pawl_graph_when(g, "revise", never, NULL, "gather");
    pawl_graph_when(g, "revise", NULL, NULL, "check");
    pawl_graph_interrupt_after(g, "publish");
    pawl_graph_edge(g, "publish", PAWL_END);
    return g;
}

/* Joins of every kind, a name as long as they come, and turns. */
static pawl_graph *races(void)
{
    static const char *const three[] = { "left", "right", "far-right" };
    const char *longest = "a-name-of-64-bytes-which-is-as-long-as-the-name-of-a-node-can-be";
    pawl_graph *g = pawl_graph_new("races", 12), *inner = pawl_graph_new("inner", 1), *core = pawl_graph_new("core", 1);

    pawl_graph_work(core, "deep", "llm");
    pawl_graph_chain(core, PAWL_START, "deep", PAWL_END, NULL);
    pawl_graph_sub(inner, "core", core);
    pawl_graph_chain(inner, PAWL_START, "core", PAWL_END, NULL);

    pawl_graph_node(g, "left", quiet, NULL);
    pawl_graph_node(g, "right", quiet, NULL);
    pawl_graph_sub(g, "far-right", inner);
    pawl_graph_node(g, "two", quiet, NULL);
    pawl_graph_node(g, "first", quiet, NULL);
    pawl_graph_node(g, "both", quiet, NULL);
    pawl_graph_node(g, "late", quiet, NULL);
    pawl_graph_node(g, longest, quiet, NULL);
    pawl_graph_turns(g, "More?");

    pawl_graph_edge(g, PAWL_START, "left");
    pawl_graph_edge(g, PAWL_START, "right");
    pawl_graph_edge(g, "left", "late");
    pawl_graph_edge(g, "right", "far-right");
    pawl_graph_join_of(g, "two", three, 3, 2, PAWL_JOIN_IGNORES_REST);
    pawl_graph_join_of(g, "first", three, 2, 1, PAWL_JOIN_CANCELS_REST);
    pawl_graph_join(g, "both", "left", "far-right", NULL);
    pawl_graph_defer(g, "late");
    pawl_graph_goto(g, "late", "left", "right", "far-right", longest, "both", PAWL_END, NULL);
    pawl_graph_edge(g, "two", PAWL_END);
    pawl_graph_edge(g, "first", PAWL_END);
    pawl_graph_edge(g, "both", longest);
    pawl_graph_edge(g, longest, PAWL_END);
    return g;
}

static pawl_machine *compiled(pawl_graph *g)
{
    pawl_err err = {0};
    pawl_machine *m = pawl_graph_compile(g, &err);

    CHECK_STR(err.text, "");
    CHECK(m != NULL);
    return m;
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct place {
    pawl_machine *m;
    pawl_state *st;
    pawl_step *s;
    int64_t now;
} place;

static void set_out(place *p, pawl_graph *g)
{
    const pawl_run_info info = { .id = "essay-7", .life = 1, .seed = 2 };
    pawl_err err = {0};

    *p = (place){ .m = compiled(g), .s = pawl_step_new(NULL), .now = 1000 };
    CHECK_INT(pawl_state_new(p->m, &info, 0, NULL, &p->st, &err), PAWL_OK);
}

static void come_home(place *p)
{
    pawl_state_free(p->st);
    pawl_step_free(p->s);
    pawl_machine_free(p->m);
}

static void feed(place *p, pawl_event ev)
{
    pawl_err err = {0};

    ev.time_ms = p->now += 10;
    if (pawl_feed(p->m, p->st, &ev, p->s, &err) < 0 || pawl_apply(p->st, pawl_step_entry(p->s), &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
}

/* Ticks as long as there is something to do. */
static void go_on(place *p)
{
    while (pawl_state_next(p->st) == PAWL_OK)
        feed(p, (pawl_event){ .kind = PAWL_EV_TICK });
}

/* Receipts of the first `n` open commands of that effect. */
static void receipts(place *p, const char *effect, size_t n, pawl_outcome outcome, const char *value)
{
    pawl_command c;
    char id[256];

    for (size_t i = 0; i < pawl_state_commands(p->st) && n > 0;) {
        CHECK_INT(pawl_state_command(p->st, i, p->s, &c, NULL, NULL), PAWL_OK);
        if (strcmp(c.effect, effect) != 0) {
            i++;
            continue;
        }
        CHECK(strlen(c.id) < sizeof id);
        memcpy(id, c.id, strlen(c.id) + 1);
        feed(p, (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .outcome = outcome, .value = value });
        i = 0;
        n--;
    }
    CHECK_INT(n, 0);
}

static void proceed(place *p, size_t n)
{
    receipts(p, "audit", n, PAWL_OUTCOME_DONE, "{\"verdict\":\"proceed\"}");
    go_on(p);
}

static void answer(place *p, const char *value)
{
    feed(p, (pawl_event){ .kind = PAWL_EV_ANSWER, .value = value });
    go_on(p);
}

static const char *drawn(place *p, pawl_picture format)
{
    pawl_err err = {0};
    const char *text = pawl_draw(p->m, p->st, format, p->s, &err);

    CHECK_STR(err.text, "");
    return text;
}

/* ---- golden texts ---------------------------------------------------------------------------- */

/* From the last nodes on: no state of a run shows there. */
#define NEWSROOM_MERMAID \
    "    n8[\"publish<br>pause after<br>hook tell after\"]\n" \
    "    n7[\"revise\"]\n" \
    "    ne([\"@end\"])\n" \
    "    nj0{\"all\"}\n" \
    "    nj0 --> n6\n" \
    "    n0 --> n1\n" \
    "    n1 -.->|goto| n2\n" \
    "    n1 -.->|goto| ne\n" \
    "    n2 --> n3\n" \
    "    n3 --> n4_0\n" \
    "    n3 --> n5\n" \
    "    n4_e --- nj0\n" \
    "    n5 --- nj0\n" \
    "    n6 -.->|if| n8\n" \
    "    n6 -.->|if| ne\n" \
    "    n6 -.->|else| n7\n" \
    "    n6 -.->|no| ne\n" \
    "    n8 --> ne\n" \
    "    n7 -.->|if| n1\n" \
    "    n7 -.->|if| n3\n" \
    "    n7 -.->|else| n4_0\n"
#define NEWSROOM_DOT \
    "    n8 [label=\"publish\\npause after\\nhook tell after\"]\n" \
    "    n7 [label=\"revise\"]\n" \
    "    ne [label=\"@end\" shape=oval]\n" \
    "    nj0 [label=\"all\" shape=diamond style=filled fontsize=9 margin=0 width=0.4 height=0.4]\n" \
    "    nj0 -> n6\n" \
    "    n0 -> n1\n" \
    "    n1 -> n2 [style=dotted]\n" \
    "    n1 -> ne [style=dotted]\n" \
    "    n2 -> n3\n" \
    "    n3 -> n4_0\n" \
    "    n3 -> n5\n" \
    "    n4_e -> nj0 [arrowhead=none]\n" \
    "    n5 -> nj0 [arrowhead=none]\n" \
    "    n6 -> n8 [style=dashed]\n" \
    "    n6 -> ne [style=dashed]\n" \
    "    n6 -> n7 [style=dashed label=\"else\"]\n" \
    "    n6 -> ne [style=dashed label=\"no\"]\n" \
    "    n8 -> ne\n" \
    "    n7 -> n1 [style=dashed]\n" \
    "    n7 -> n3 [style=dashed]\n" \
    "    n7 -> n4_0 [style=dashed label=\"else\"]\n"
static const char newsroom_text[] =
    "newsroom 3\n"
    "\n"
    "    @start    hook audit before each    -> plan\n"
    "    plan      pure                      ~> worker, @end\n"
    "    worker    work llm                  -> gather\n"
    "    gather    pure, deferred            -> check, legal\n"
    "    check     graph checking            -> <all> review\n"
    "      @start                            -> facts\n"
    "      facts   pure                      -> style\n"
    "      style   pure                      -> @end\n"
    "    legal     work lawyer               -> <all> review\n"
    "    review    pure, pause before, gate  -> if publish | @end | else revise\n"
    "                                        no -> @end\n"
    "    publish   pure, pause after,        -> @end\n"
    "              hook tell after\n"
    "    revise    pure                      -> if plan | gather | else check\n";
static const char newsroom_mermaid[] =
    "---\n"
    "title: \"newsroom 3\"\n"
    "---\n"
    "flowchart TD\n"
    "    n0([\"@start<br>hook audit before each\"])\n"
    "    n1[\"plan\"]\n"
    "    n2[[\"worker<br>work llm\"]]\n"
    "    n3[\"gather<br>deferred\"]\n"
    "    subgraph n4[\"check<br>graph checking\"]\n"
    "        n4_0([\"@start\"])\n"
    "        n4_1[\"facts\"]\n"
    "        n4_2[\"style\"]\n"
    "        n4_e([\"@end\"])\n"
    "        n4_0 --> n4_1\n"
    "        n4_1 --> n4_2\n"
    "        n4_2 --> n4_e\n"
    "    end\n"
    "    n5[[\"legal<br>work lawyer\"]]\n"
    "    n6[\"review<br>pause before<br>gate #34;Publish #34;it#34;? #60;b#62;#38; #35;1#59; C#58;#92;new#60;/b#62;#34;\"]\n"
    NEWSROOM_MERMAID;
static const char newsroom_dot[] =
    "digraph \"newsroom\" {\n"
    "    label=\"newsroom 3\"\n"
    "    labelloc=t fontname=\"Helvetica\" rankdir=TB\n"
    "    node [shape=box style=\"rounded,filled\" fillcolor=\"#ffffff\" color=\"#555555\" fontname=\"Helvetica\" fontsize=11]\n"
    "    edge [color=\"#555555\" fontname=\"Helvetica\" fontsize=9]\n"
    "    n0 [label=\"@start\\nhook audit before each\" shape=oval]\n"
    "    n1 [label=\"plan\"]\n"
    "    n2 [label=\"worker\\nwork llm\" peripheries=2]\n"
    "    n3 [label=\"gather\\ndeferred\"]\n"
    "    subgraph cluster_n4 {\n"
    "        fontsize=11 style=\"rounded,filled\" fillcolor=\"#f6f6f6\" color=\"#555555\" label=\"check\\ngraph checking\"\n"
    "        n4_0 [label=\"@start\" shape=oval]\n"
    "        n4_1 [label=\"facts\"]\n"
    "        n4_2 [label=\"style\"]\n"
    "        n4_e [label=\"@end\" shape=oval]\n"
    "        n4_0 -> n4_1\n"
    "        n4_1 -> n4_2\n"
    "        n4_2 -> n4_e\n"
    "    }\n"
    "    n5 [label=\"legal\\nwork lawyer\" peripheries=2]\n"
    "    n6 [label=\"review\\npause before\\ngate \\\"Publish \\\"it\\\"? <b>&#38; #1; C:\\\\new</b>\\\"\"]\n"
    NEWSROOM_DOT
    "}\n";
static const char workers_text[] =
    "newsroom 3                                  essay-7, superstep 2: working\n"
    "\n"
    "    @start                 hook audit before each    -> plan\n"
    "    plan                   pure                      ~> worker, @end\n"
    "  > worker    37/120 done  work llm                  -> gather\n"
    "    gather                 pure, deferred            -> check, legal\n"
    "    check                  graph checking            -> <all> review\n"
    "      @start                                         -> facts\n"
    "      facts                pure                      -> style\n"
    "      style                pure                      -> @end\n"
    "    legal                  work lawyer               -> <all> review\n"
    "    review                 pure, pause before, gate  -> if publish | @end\n"
    "                                                        | else revise\n"
    "                                                     no -> @end\n"
    "    publish                pure, pause after,        -> @end\n"
    "                           hook tell after\n"
    "    revise                 pure                      -> if plan | gather\n"
    "                                                        | else check\n";
static const char check_text[] =
    "newsroom 3                                      essay-7, superstep 4: working\n"
    "\n"
    "    @start             hook audit before each    -> plan\n"
    "    plan               pure                      ~> worker, @end\n"
    "    worker             work llm                  -> gather\n"
    "    gather             pure, deferred            -> check, legal\n"
    "  > check     open     graph checking            -> <all> review\n"
    "      @start                                     -> facts\n"
    "  ?   facts   waiting  pure                      -> style\n"
    "      style            pure                      -> @end\n"
    "  > legal     open     work lawyer               -> <all> review\n"
    "    review             pure, pause before, gate  -> if publish | @end\n"
    "                                                    | else revise  no -> @end\n"
    "    publish            pure, pause after,        -> @end\n"
    "                       hook tell after\n"
    "    revise             pure                      -> if plan | gather\n"
    "                                                    | else check\n";
static const char check_mermaid[] =
    "---\n"
    "title: \"newsroom 3 - essay-7, superstep 4: working\"\n"
    "---\n"
    "flowchart TD\n"
    "    n0([\"@start<br>hook audit before each\"])\n"
    "    n1[\"plan\"]\n"
    "    n2[[\"worker<br>work llm\"]]\n"
    "    n3[\"gather<br>deferred\"]\n"
    "    subgraph n4[\"check<br>graph checking<br>open\"]\n"
    "        n4_0([\"@start\"])\n"
    "        n4_1[\"facts<br>waiting\"]:::waiting\n"
    "        n4_2[\"style\"]\n"
    "        n4_e([\"@end\"])\n"
    "        n4_0 --> n4_1\n"
    "        n4_1 --> n4_2\n"
    "        n4_2 --> n4_e\n"
    "    end\n"
    "    class n4 open\n"
    "    n5[[\"legal<br>work lawyer<br>open\"]]:::open\n"
    "    n6[\"review<br>pause before<br>gate #34;Publish #34;it#34;? #60;b#62;#38; #35;1#59; C#58;#92;new#60;/b#62;#34;\"]\n"
    NEWSROOM_MERMAID
    "    classDef done fill:#d9ead3,stroke:#38761d,color:#000000\n"
    "    classDef ready fill:#d0e2f3,stroke:#1f5a96,color:#000000\n"
    "    classDef open fill:#fff2cc,stroke:#bf9000,color:#000000\n"
    "    classDef waiting fill:#fce5cd,stroke:#c55a11,color:#000000\n"
    "    classDef failed fill:#f4cccc,stroke:#a61c00,color:#000000\n";
static const char check_dot[] =
    "digraph \"newsroom\" {\n"
    "    label=\"newsroom 3 - essay-7, superstep 4: working\"\n"
    "    labelloc=t fontname=\"Helvetica\" rankdir=TB\n"
    "    node [shape=box style=\"rounded,filled\" fillcolor=\"#ffffff\" color=\"#555555\" fontname=\"Helvetica\" fontsize=11]\n"
    "    edge [color=\"#555555\" fontname=\"Helvetica\" fontsize=9]\n"
    "    n0 [label=\"@start\\nhook audit before each\" shape=oval]\n"
    "    n1 [label=\"plan\"]\n"
    "    n2 [label=\"worker\\nwork llm\" peripheries=2]\n"
    "    n3 [label=\"gather\\ndeferred\"]\n"
    "    subgraph cluster_n4 {\n"
    "        fontsize=11 style=\"rounded,filled\" fillcolor=\"#fff2cc\" color=\"#bf9000\" label=\"check\\ngraph checking\\nopen\"\n"
    "        n4_0 [label=\"@start\" shape=oval]\n"
    "        n4_1 [label=\"facts\\nwaiting\" fillcolor=\"#fce5cd\" color=\"#c55a11\"]\n"
    "        n4_2 [label=\"style\"]\n"
    "        n4_e [label=\"@end\" shape=oval]\n"
    "        n4_0 -> n4_1\n"
    "        n4_1 -> n4_2\n"
    "        n4_2 -> n4_e\n"
    "    }\n"
    "    n5 [label=\"legal\\nwork lawyer\\nopen\" peripheries=2 fillcolor=\"#fff2cc\" color=\"#bf9000\"]\n"
    "    n6 [label=\"review\\npause before\\ngate \\\"Publish \\\"it\\\"? <b>&#38; #1; C:\\\\new</b>\\\"\"]\n"
    NEWSROOM_DOT
    "}\n";
static const char races_text[] =
    "races 12                                     essay-7, superstep 2: working\n"
    "\n"
    "    @start                  takes turns     -> left, right\n"
    "    left                    pure            -> late  -> <2 of 3> two\n"
    "                                            -> <any cancels rest> first\n"
    "                                            -> <all> both\n"
    "    late        due later   pure, deferred  ~> left, right, far-right,\n"
    "                                               a-name-of-64-bytes-which-is-as-long-as-the-name-of-a-node-can-be,\n"
    "                                               both, @end\n"
    "    right                   pure            -> far-right  -> <2 of 3> two\n"
    "                                            -> <any cancels rest> first\n"
    "  > far-right   open        graph inner     -> <2 of 3> two  -> <all> both\n"
    "      @start                                -> core\n"
    "  >   core      open        graph core      -> @end\n"
    "        @start                              -> deep\n"
    "  >     deep    open        work llm        -> @end\n"
    "    both        1/2 joined  pure            -> a-name-of-64-bytes-which-is-as-long-as-the-name-of-a-node-can-be\n"
    "    a-name-of-64-bytes-which-is-as-long-as-the-name-of-a-node-can-be\n"
    "                            pure            -> @end\n"
    "  + two         done        pure            -> @end\n"
    "  + first       done        pure            -> @end\n";
static const char run_text[] =
    "run\n"
    "\n"
    "    from               to  0  1  2  3  4  5  6\n"
    "     0 submitted           .  x  x  x  x  x  x  first\n"
    "     1 working             .  x  x  x  x  x  x\n"
    "     2 input-required      .  x  x  x  x  x  x\n"
    "     3 completed           .  .  .  .  .  .  .  last\n"
    "     4 failed              .  x  x  x  x  .  x  last\n"
    "     5 canceled            .  .  .  .  .  .  .  last\n"
    "     6 rejected            .  .  .  .  .  .  .  last\n";
static const char task_text[] =
    "task\n"
    "\n"
    "    from               to  0  1  2  3\n"
    "     0 ready               x  x  x  x  first\n"
    "     1 open                x  x  x  x\n"
    "     2 done                .  .  .  .  last\n"
    "     3 failed              x  .  .  .\n";
static const char call_text[] =
    "command or wait\n"
    "\n"
    "    from               to  0  1  2  3  4  5\n"
    "     0 open                .  x  x  .  x  x  first  last\n"
    "     1 in doubt            x  .  x  .  x  .  last\n"
    "     2 answered            .  .  .  .  .  .  last\n"
    "     3 refused             .  .  .  .  .  .  first  last\n"
    "     4 dropped             .  .  .  .  .  .  last\n"
    "     5 signed              .  .  x  .  x  x  last\n";
static const char ending_text[] =
    "end of a run\n"
    "\n"
    "    from               to  0  1  2  3\n"
    "     0 none                x  x  x  .  first  last\n"
    "     1 canceled            x  x  x  .  first  last\n"
    "     2 to compensate       x  .  x  x  first  last\n"
    "     3 compensating        x  .  x  x  first  last\n";
static const char task_mermaid[] =
    "---\n"
    "title: \"task\"\n"
    "---\n"
    "stateDiagram-v2\n"
    "    s0: ready\n"
    "    s1: open\n"
    "    s2: done\n"
    "    s3: failed\n"
    "    [*] --> s0\n"
    "    s0 --> s0\n"
    "    s0 --> s1\n"
    "    s0 --> s2\n"
    "    s0 --> s3\n"
    "    s1 --> s0\n"
    "    s1 --> s1\n"
    "    s1 --> s2\n"
    "    s1 --> s3\n"
    "    s2 --> [*]\n"
    "    s3 --> s0\n";
static const char task_dot[] =
    "digraph \"task\" {\n"
    "    label=\"\\G\"\n"
    "    labelloc=t fontname=\"Helvetica\" rankdir=TB\n"
    "    node [shape=box style=\"rounded,filled\" fillcolor=\"#ffffff\" color=\"#555555\" fontname=\"Helvetica\" fontsize=11]\n"
    "    edge [color=\"#555555\" fontname=\"Helvetica\" fontsize=9]\n"
    "    first [label=\"\" shape=point width=0.15 fillcolor=\"#555555\"]\n"
    "    s0 [label=\"ready\"]\n"
    "    s1 [label=\"open\"]\n"
    "    s2 [label=\"done\" peripheries=2]\n"
    "    s3 [label=\"failed\"]\n"
    "    first -> s0\n"
    "    s0 -> s0\n"
    "    s0 -> s1\n"
    "    s0 -> s2\n"
    "    s0 -> s3\n"
    "    s1 -> s0\n"
    "    s1 -> s1\n"
    "    s1 -> s2\n"
    "    s1 -> s3\n"
    "    s3 -> s0\n"
    "}\n";

/* ---- pictures ---------------------------------------------------------------------------------- */

/* The picture has these lines. */
#define CHECK_LINES(text, ...) check_lines((text), (const char *const[]){ __VA_ARGS__, NULL })
static void check_lines(const char *text, const char *const *lines)
{
    for (; *lines != NULL; lines++) {
        const char *at = strstr(text, *lines);
        size_t n = strlen(*lines);

        if (at == NULL || (at != text && at[-1] != '\n') || at[n] != '\n')
            CHECK_FAIL("no line \"%s\" in\n%s", *lines, text);
    }
}

PAWL_TEST(test_G12_a_graph_is_drawn_in_three_formats)
{
    int workers = 5;
    pawl_machine *m = compiled(newsroom(&workers));
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = {0};

    CHECK_STR(pawl_draw(m, NULL, PAWL_PICTURE_TEXT, s, &err), newsroom_text);
    CHECK_STR(pawl_draw(m, NULL, PAWL_PICTURE_MERMAID, s, &err), newsroom_mermaid);
    CHECK_STR(pawl_draw(m, NULL, PAWL_PICTURE_DOT, s, &err), newsroom_dot);
    CHECK_STR(err.text, "");
    pawl_step_free(s);
    pawl_machine_free(m);
}

PAWL_TEST(test_G12_a_picture_says_where_a_run_is)
{
    int workers = 120;
    place p;

    set_out(&p, newsroom(&workers));
    CHECK_STR(strchr(drawn(&p, PAWL_PICTURE_TEXT), '\n'), strchr(newsroom_text, '\n'));
    CHECK_LINES(drawn(&p, PAWL_PICTURE_TEXT),
                "newsroom 3                                              essay-7: submitted");
    feed(&p, (pawl_event){ .kind = PAWL_EV_START });
    proceed(&p, 1);
    proceed(&p, 120);
    receipts(&p, "llm", 37, PAWL_OUTCOME_DONE, "null");
    CHECK_STR(drawn(&p, PAWL_PICTURE_TEXT), workers_text);
    receipts(&p, "llm", 83, PAWL_OUTCOME_DONE, "null");
    go_on(&p);
    proceed(&p, 1);
    proceed(&p, 2);
    CHECK_STR(drawn(&p, PAWL_PICTURE_TEXT), check_text);
    CHECK_STR(drawn(&p, PAWL_PICTURE_MERMAID), check_mermaid);
    CHECK_STR(drawn(&p, PAWL_PICTURE_DOT), check_dot);
    answer(&p, "true");
    CHECK_LINES(drawn(&p, PAWL_PICTURE_TEXT), "  + check     done  graph checking            -> <all> review",
                "      facts         pure                      -> style",
                "  > legal     open  work lawyer               -> <all> review");
    receipts(&p, "lawyer", 1, PAWL_OUTCOME_DONE, "null");
    go_on(&p);
    answer(&p, "true");
    proceed(&p, 1);
    answer(&p, "true");
    proceed(&p, 1);
    receipts(&p, "tell", 1, PAWL_OUTCOME_DONE, "{\"verdict\":\"proceed\"}");
    go_on(&p);
    CHECK_LINES(drawn(&p, PAWL_PICTURE_TEXT), /* it is done, and its pause comes after */
                "newsroom 3                                            essay-7: input-required",
                "  ? publish   waiting  pure, pause after,        -> @end");
    answer(&p, "true");
    CHECK_STR(strchr(drawn(&p, PAWL_PICTURE_TEXT), '\n'), strchr(newsroom_text, '\n'));
    CHECK_LINES(drawn(&p, PAWL_PICTURE_TEXT),
                "newsroom 3                                              essay-7: completed");
    come_home(&p);
}

PAWL_TEST(test_G12_a_picture_shows_what_failed)
{
    int workers = 3;
    place p;

    set_out(&p, newsroom(&workers));
    feed(&p, (pawl_event){ .kind = PAWL_EV_START });
    proceed(&p, 1);
    proceed(&p, 3);
    receipts(&p, "llm", 1, PAWL_OUTCOME_ERROR, "null");
    receipts(&p, "llm", 2, PAWL_OUTCOME_DONE, "null");
    go_on(&p);
    CHECK_INT(pawl_state_status(p.st), PAWL_STATUS_FAILED);
    CHECK_LINES(drawn(&p, PAWL_PICTURE_TEXT),
                "newsroom 3                                         essay-7, superstep 2: failed",
                "  x worker    2/3 done,  work llm                  -> gather", "              1 failed",
                "    gather               pure, deferred            -> check, legal");
    CHECK_LINES(drawn(&p, PAWL_PICTURE_MERMAID), "    n2[[\"worker<br>work llm<br>2/3 done, 1 failed\"]]:::failed");
    come_home(&p);
}

PAWL_TEST(test_G12_joins_deferred_nodes_and_subgraphs_of_subgraphs)
{
    place p;

    set_out(&p, races());
    feed(&p, (pawl_event){ .kind = PAWL_EV_START });
    go_on(&p);
    CHECK_STR(drawn(&p, PAWL_PICTURE_TEXT), races_text);
    CHECK_LINES(drawn(&p, PAWL_PICTURE_MERMAID), "    n7[\"late<br>deferred<br>due later\"]",
                "    subgraph n3[\"far-right<br>graph inner<br>open\"]",
                "        subgraph n3_1[\"core<br>graph core<br>open\"]",
                "            n3_1_1[[\"deep<br>work llm<br>open\"]]:::open", "        class n3_1 open",
                "        n3_0 --> n3_1_0", "        n3_1_e --> n3_e", "    class n3 open", "    nj0{\"2 of 3\"}",
                "    nj1{\"any cancels rest\"}", "    nj2{\"all<br>1/2\"}", "    n3_e --- nj2", "    nj2 --> n6");
    receipts(&p, "llm", 1, PAWL_OUTCOME_DONE, "null");
    go_on(&p);
    CHECK_INT(pawl_state_status(p.st), PAWL_STATUS_INPUT_REQUIRED);
    CHECK_LINES(drawn(&p, PAWL_PICTURE_TEXT), "  ? @start      waiting  takes turns     -> left, right");
    come_home(&p);
}

PAWL_TEST(test_G12_the_own_tables_are_drawn)
{
    static const char *const tables[] = { run_text, task_text, call_text, ending_text };
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = {0};

    for (size_t i = 0; i < 4; i++) {
        CHECK_STR(pawl_draw_own(i, PAWL_PICTURE_TEXT, s, &err), tables[i]);
        CHECK(strncmp(pawl_draw_own(i, PAWL_PICTURE_MERMAID, s, &err), "---\ntitle: \"", 12) == 0);
        CHECK(strncmp(pawl_draw_own(i, PAWL_PICTURE_DOT, s, &err), "digraph \"", 9) == 0);
    }
    CHECK_STR(pawl_draw_own(1, PAWL_PICTURE_MERMAID, s, &err), task_mermaid);
    CHECK_STR(pawl_draw_own(1, PAWL_PICTURE_DOT, s, &err), task_dot);
    CHECK_STR(pawl_draw_own(4, PAWL_PICTURE_TEXT, s, &err), NULL);
    CHECK_STR(err.text, "");
    pawl_step_free(s);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void refused(const pawl_machine *m, pawl_state *st, int format, pawl_step *s, pawl_code code, const char *text)
{
    pawl_err err = {0};

    CHECK_STR(pawl_draw(m, st, (pawl_picture)format, s, &err), NULL);
    CHECK_STR(err.text, text);
    CHECK_INT(err.code, code);
}

PAWL_TEST(test_G12_what_cannot_be_drawn_is_refused_in_one_line)
{
    static const machine_ops no_graph;
    const pawl_machine other = { .ops = &no_graph, .name = "loop" };
    int workers = 1;
    pawl_machine *m = compiled(races());
    place p;

    set_out(&p, newsroom(&workers));
    refused(&other, NULL, PAWL_PICTURE_TEXT, p.s, PAWL_INVALID, "loop: it is no graph, and only a graph can be drawn");
    refused(NULL, NULL, PAWL_PICTURE_TEXT, p.s, PAWL_INVALID, "draw: it is no graph, and only a graph can be drawn");
    refused(p.m, NULL, 4, p.s, PAWL_INVALID, "draw: picture format 4 is none");
    refused(p.m, NULL, PAWL_PICTURE_DOT, NULL, PAWL_INVALID, "draw: a step is needed");
    refused(m, p.st, PAWL_PICTURE_DOT, p.s, PAWL_CONFLICT,
            "essay-7: it runs under machine newsroom 3, and this is another races 12");
    CHECK_STR(pawl_draw_own(0, (pawl_picture)0, p.s, NULL), NULL);
    pawl_machine_free(m);
    come_home(&p);
}

#define EUROS_CUT "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
#define EUROS     EUROS_CUT "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"

PAWL_TEST(test_G12_a_prompt_may_hold_anything)
{
    static const char *const prompts[] = { EUROS "." EUROS, "\xFF`x`\x7F\x01]; style a fill:#f00;", "" };
    static const char *const mermaid[] = { EUROS "." EUROS_CUT "...", "?#96;x#96;  ]#59; style a fill#58;#35;f00#59;", NULL };

    for (size_t i = 0; i < 3; i++) {
        pawl_graph *g = pawl_graph_new("gated", 1);
        pawl_step *s = pawl_step_new(NULL);
        pawl_machine *m;
        const char *text;

        pawl_graph_node(g, "a", quiet, NULL);
        pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
        pawl_graph_gate(g, "a", prompts[i]);
        m = compiled(g);
        text = pawl_draw(m, NULL, PAWL_PICTURE_MERMAID, s, NULL);
        text = strstr(text, "n1[\"a<br>gate") + strlen("n1[\"a<br>gate");
        if (mermaid[i] != NULL) {
            CHECK(strncmp(text, " #34;", 5) == 0);
            CHECK(strncmp(text + 5, mermaid[i], strlen(mermaid[i])) == 0);
            text += 5 + strlen(mermaid[i]) + strlen("#34;");
        }
        CHECK(strncmp(text, "\"]\n", 3) == 0);
        CHECK(pawl_draw(m, NULL, PAWL_PICTURE_TEXT, s, NULL) != NULL);
        pawl_step_free(s);
        pawl_machine_free(m);
    }
}

/* ---- every allocation fails once ----------------------------------------------------------------- */

static const char *any_picture(const place *p, pawl_step *s, int which, pawl_err *err)
{
    return which <= PAWL_PICTURE_DOT ? pawl_draw(p->m, p->st, (pawl_picture)which, s, err)
                                     : pawl_draw_own((size_t)which - 4, PAWL_PICTURE_DOT, s, err);
}

static void march(place *p, int which)
{
    heap h;
    pawl_alloc mem;
    char whole[16384];
    pawl_err err = {0};
    const char *text = any_picture(p, p->s, which, &err);

    CHECK(strlen(text) < sizeof whole);
    memcpy(whole, text, strlen(text) + 1);
    heap_init(&h);
    mem = heap_alloc(&h);
    for (size_t n = 0;; n++) {
        pawl_step *s;

        err = (pawl_err){0};
        heap_fail_at(&h, n);
        if ((s = pawl_step_new(&mem)) != NULL) {
            text = any_picture(p, s, which, &err);
            CHECK_INT(err.code, h.fired ? PAWL_NOMEM : PAWL_OK);
            CHECK_STR(text, h.fired ? NULL : whole);
            heap_fail_never(&h);
            CHECK_STR(any_picture(p, s, which, NULL), whole);
            pawl_step_free(s);
        }
        heap_check(&h);
        if (err.code == PAWL_OK && s != NULL)
            break;
    }
}

PAWL_TEST(test_G12_every_allocation_of_a_picture_may_fail)
{
    int workers = 3;
    place p;

    set_out(&p, newsroom(&workers));
    feed(&p, (pawl_event){ .kind = PAWL_EV_START });
    proceed(&p, 1);
    for (int which = PAWL_PICTURE_TEXT; which <= PAWL_PICTURE_DOT + 4; which++)
        march(&p, which);
    come_home(&p);
}
