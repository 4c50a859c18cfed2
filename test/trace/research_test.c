/* research_test.c - the research loop of three forms has one trace, also when it is killed (F3). */
#include "kernel/state.h"
#include "lib/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the research loop: draft, critique; approve, revise, or ask a human ------------------------------- */

/* One model call: who is asked, what for, and about what. */
static const pawl_value *model_args(pawl_step *s, const char *role, const char *prompt, const pawl_value *input)
{
    return pawl_pack(s, "{s:v,s:s,s:s}", "input", input, "prompt", prompt, "role", role);
}

/* The history of cycles by number: {"1":{"draft","critique","note"}}; what comes later replaces the cycle. */
static void cycle_set(pawl_step *s, size_t number, const pawl_value *cycle)
{
    pawl_set(s, "history", pawl_pack(s, "{s:v}", pawl_format(s, "%zu", number), cycle));
}

static const pawl_value *merged(pawl_step *s, const pawl_value *draft, const pawl_value *note)
{
    return pawl_pack(s, "s", pawl_format(s, "%s\n\nHuman note: %s", pawl_value_string(draft), pawl_value_string(note)));
}

static void approved(pawl_step *s, const pawl_value *draft)
{
    pawl_emit(s, "message", pawl_pack(s, "s", "Approved"));
    pawl_emit(s, "artifact", pawl_pack(s, "{s:s,s:v}", "name", "final.txt", "text", draft));
}

static const pawl_channel loop_channels[] = {
    { .name = "input" }, { .name = "history", .rule = PAWL_RULE_MERGE, .first = "{}" }, { .name = "draft" }, { .name = "phase", .first = "\"start\"" },
};

/* ---- 1: a reducer -------------------------------------------------------------------------------------- */

static bool at(pawl_step *s, const pawl_input_event *h, const char *phase, pawl_event_kind kind, const char *tag)
{
    return strcmp(pawl_get_string(s, "phase"), phase) == 0 && h->kind == kind && (tag == NULL || (h->tag != NULL && strcmp(h->tag, tag) == 0));
}

static pawl_code to_research(pawl_step *s, const char *prompt, const pawl_value *input)
{
    pawl_set_string(s, "phase", "researching");
    pawl_flow_call(s, "research", "llm", model_args(s, "research", prompt, input));
    return PAWL_OK;
}

static pawl_code criticized(pawl_step *s, const pawl_value *verdict)
{
    const pawl_question q = { .kind = PAWL_WAIT_INPUT, .prompt = pawl_pack(s, "s", "Critic needs human input.") };
    const pawl_value *draft = pawl_get(s, "draft");
    const char *word = pawl_value_string(verdict);

    cycle_set(s, pawl_value_size(pawl_get(s, "history")), pawl_pack(s, "{s:v,s:v}", "critique", verdict, "draft", draft));
    if (strcmp(word, "approved") == 0) {
        approved(s, draft);
        pawl_set_string(s, "phase", "done");
        return pawl_flow_complete(s);
    }
    if (strcmp(word, "needs_revision") == 0)
        return to_research(s, "Revise given critique", draft);
    pawl_flow_ask(s, "human_note", &q);
    pawl_set_string(s, "phase", "awaiting");
    return PAWL_OK;
}

static pawl_code on_event(pawl_step *s, const pawl_input_event *h, void *arg)
{
    size_t cycles = pawl_value_size(pawl_get(s, "history"));

    (void)arg;
    if (at(s, h, "start", PAWL_EV_START, NULL))
        return to_research(s, "Draft answer", pawl_get(s, "input"));
    if (at(s, h, "researching", PAWL_EV_RECEIPT, "research") && h->outcome == PAWL_OUTCOME_DONE) {
        pawl_set(s, "draft", h->value);
        cycle_set(s, cycles + 1, pawl_pack(s, "{s:v}", "draft", h->value));
        pawl_set_string(s, "phase", "critiquing");
        pawl_flow_call(s, "critic", "llm", model_args(s, "critic", "Critique draft", h->value));
        return PAWL_OK;
    }
    if (at(s, h, "critiquing", PAWL_EV_RECEIPT, "critic") && h->outcome == PAWL_OUTCOME_DONE)
        return criticized(s, h->value);
    if (at(s, h, "awaiting", PAWL_EV_ANSWER, "human_note")) {
        cycle_set(s, cycles, pawl_pack(s, "{s:s,s:v,s:v}", "critique", "needs_human_input", "draft", pawl_get(s, "draft"), "note", h->value));
        return to_research(s, "Revise with human input", merged(s, pawl_get(s, "draft"), h->value));
    }
    return PAWL_IGNORED;
}

static pawl_machine *by_reducer(pawl_err *err)
{
    return pawl_flow_reducer("research_loop", 1, loop_channels, 4, on_event, NULL, NULL, err);
}

/* ---- 2: a step table ------------------------------------------------------------------------------------- */

static pawl_code research(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    const char *prompt = payload == NULL ? "Draft answer" : pawl_value_string(pawl_value_get(payload, "prompt"));
    const pawl_value *draft;
    pawl_code rc = pawl_call(s, "llm", model_args(s, "research", prompt, payload == NULL ? input : pawl_value_get(payload, "about")), &draft);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    cycle_set(s, pawl_value_size(pawl_get(s, "history")) + 1, pawl_pack(s, "{s:v}", "draft", draft));
    return pawl_flow_goto(s, "critique", draft);
}

static pawl_code critique(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    const pawl_value *verdict;
    pawl_code rc = pawl_call(s, "llm", model_args(s, "critic", "Critique draft", payload), &verdict);

    (void)input;
    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    cycle_set(s, pawl_value_size(pawl_get(s, "history")), pawl_pack(s, "{s:v,s:v}", "critique", verdict, "draft", payload));
    if (strcmp(pawl_value_string(verdict), "needs_revision") == 0)
        return pawl_flow_goto(s, "research", pawl_pack(s, "{s:v,s:s}", "about", payload, "prompt", "Revise given critique"));
    if (strcmp(pawl_value_string(verdict), "needs_human_input") == 0)
        return pawl_flow_await(s, "human_note", pawl_pack(s, "s", "Critic needs human input."), payload);
    approved(s, payload);
    return pawl_flow_complete(s);
}

static pawl_code human_input(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    (void)arg;
    cycle_set(s, pawl_value_size(pawl_get(s, "history")),
              pawl_pack(s, "{s:s,s:v,s:v}", "critique", "needs_human_input", "draft", payload, "note", input));
    return pawl_flow_goto(s, "research", pawl_pack(s, "{s:v,s:s}", "about", merged(s, payload, input), "prompt", "Revise with human input"));
}

static pawl_machine *by_steps(pawl_err *err)
{
    const pawl_flow_step steps[] = { { .name = "research", .fn = research, .start = true, .takes_input = true },
                                     { .name = "critique", .fn = critique },
                                     { .name = "human_input", .fn = human_input, .resumes_from = "critique" } };

    return pawl_flow_steps("research_loop", 1, steps, 3, loop_channels + 1, 1, NULL, NULL, err);
}

/* ---- 3: linear -------------------------------------------------------------------------------------------- */

static pawl_code loop(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_question q = { .kind = PAWL_WAIT_INPUT, .slot = "human_note", .prompt = pawl_pack(s, "s", "Critic needs human input.") };
    const pawl_value *draft, *verdict, *note;
    const char *prompt = "Draft answer";
    pawl_code rc;

    (void)arg;
    for (size_t cycle = 1;; cycle++) {
        if ((rc = pawl_call(s, "llm", model_args(s, "research", prompt, input), &draft)) != PAWL_OK ||
            (rc = pawl_call(s, "llm", model_args(s, "critic", "Critique draft", draft), &verdict)) != PAWL_OK)
            return rc;
        cycle_set(s, cycle, pawl_pack(s, "{s:v,s:v}", "critique", verdict, "draft", draft));
        if (strcmp(pawl_value_string(verdict), "approved") == 0)
            break;
        prompt = "Revise given critique";
        input = draft;
        if (strcmp(pawl_value_string(verdict), "needs_human_input") == 0) {
            if ((rc = pawl_ask_with(s, &q, &note)) != PAWL_OK)
                return rc;
            cycle_set(s, cycle, pawl_pack(s, "{s:v,s:v,s:v}", "critique", verdict, "draft", draft, "note", note));
            prompt = "Revise with human input";
            input = merged(s, draft, note);
        }
    }
    approved(s, draft);
    return PAWL_OK;
}

static pawl_machine *by_hand(pawl_err *err)
{
    return pawl_flow_linear("research_loop", 1, loop_channels + 1, 1, loop, NULL, 0, NULL, err);
}

static pawl_machine *(*const forms[])(pawl_err *) = { by_reducer, by_steps, by_hand };
static const char *const form_names[] = { "reducer", "steps", "linear" };

/* ---- the world around it, as a user sees it -------------------------------------------------------------------- */

enum { TALE_IDS = 16 };

typedef struct tale {           /* what was asked of the world, and told to it, in order */
    world w;
    buf text;
    const char *const *says;    /* what the world says to each question, in the order in which they are first asked */
    char *asked[TALE_IDS];      /* ids */
    size_t nasked;
    int steps;                  /* entries and task records */
} tale;

/* Which question it is; a new one is written down. */
static size_t tale_asked(tale *t, const char *id, const char *line)
{
    size_t i = 0;

    while (i < t->nasked && strcmp(t->asked[i], id) != 0)
        i++;
    if (i < t->nasked)
        return i;
    CHECK(t->nasked < TALE_IDS);
    t->asked[t->nasked++] = strdup(id);
    buf_fmt(&t->text, "%s\n", line);
    return i;
}

static void tale_look(tale *t)
{
    world *w = &t->w;
    const pawl_value *v;
    const char *name;
    pawl_command cmd;
    pawl_wait q;
    char line[1024];

    for (size_t i = 0; (v = pawl_entry_emission(pawl_step_entry(w->s), i, &name, NULL)) != NULL; i++)
        buf_fmt(&t->text, "%s %s\n", name, pawl_text(w->look, v));
    for (size_t i = 0; i < pawl_state_commands(w->st); i++) {
        CHECK_INT(pawl_state_command(w->st, i, w->look, &cmd, NULL, &w->err), PAWL_OK);
        snprintf(line, sizeof line, "%s %s", cmd.effect, pawl_text(w->look, cmd.args));
        tale_asked(t, cmd.id, line);
    }
    for (size_t i = 0; i < pawl_state_waits(w->st); i++) {
        CHECK_INT(pawl_state_wait(w->st, i, w->look, &q, &w->err), PAWL_OK);
        snprintf(line, sizeof line, "%s %s %s: %s", world_status(w), pawl_wait_kind_name(q.kind), q.slot, pawl_text(w->look, q.prompt));
        tale_asked(t, q.id, line);
    }
}

static void tale_feed(tale *t, const pawl_event *ev)
{
    pawl_code rc = world_feed(&t->w, ev);

    CHECK(rc >= 0 && rc != PAWL_IGNORED);
    t->steps++;
    tale_look(t);
}

static void tale_begin(tale *t, pawl_machine *m, const char *const *says)
{
    memset(t, 0, sizeof *t);
    world_begin(&t->w, m, "{\"input\":\"why is the sky blue?\"}");
    buf_init(&t->text, &t->w.alloc);
    t->says = says;
    CHECK_INT(t->w.st->seq, 1);         /* the start and the first question are one entry */
    tale_look(t);
}

/* The next event from a world that has no memory but the ids it was asked with. */
static pawl_event tale_event(tale *t)
{
    world *w = &t->w;
    pawl_code next = pawl_state_next(w->st);
    const char *id = next == PAWL_OK ? NULL : world_open(w, NULL, next == PAWL_INTERRUPTED);
    size_t i = 0;

    if (id == NULL)
        return (pawl_event){ .kind = PAWL_EV_TICK };
    while (strcmp(t->asked[i], id) != 0)
        i++;
    return (pawl_event){ .kind = next == PAWL_INTERRUPTED ? PAWL_EV_ANSWER : PAWL_EV_RECEIPT, .id = t->asked[i], .value = t->says[i] };
}

typedef enum kill_how { KILL_NEVER, KILL_AFTER, KILL_BEFORE, KILL_ALWAYS, KILL_SNAPSHOT } kill_how;

/* What is loaded is the base and all entries, or a snapshot and the entries after it. */
static void tale_kill(tale *t, kill_how how, int at_step)
{
    if (how == KILL_SNAPSHOT && t->w.st->nmarks == 0)
        world_snapshot(&t->w);
    if (how == KILL_ALWAYS || how == KILL_SNAPSHOT || (how == KILL_AFTER && t->steps == at_step))
        world_crash(&t->w);
}

/* To the end; killed after step `at_step`, or before it is stored: then the same is said to the run once more. */
static void tale_run(tale *t, kill_how how, int at_step)
{
    tale_kill(t, how, at_step);
    while (pawl_state_next(t->w.st) != PAWL_HALTED) {
        pawl_event ev = tale_event(t);

        if (how == KILL_BEFORE && t->steps == at_step) {
            CHECK(pawl_feed(t->w.m, t->w.st, &(pawl_event){ .kind = ev.kind, .id = ev.id, .value = ev.value, .time_ms = t->w.now }, t->w.s, NULL) >= 0);
            world_crash(&t->w);
            ev = tale_event(t);
        }
        tale_feed(t, &ev);
        CHECK(t->steps < 100);
        tale_kill(t, how, at_step);
    }
    buf_fmt(&t->text, "%s", world_status(&t->w));
    buf_char(&t->text, '\0');
}

static void tale_end(tale *t)
{
    for (size_t i = 0; i < t->nasked; i++)
        free(t->asked[i]);
    buf_free(&t->text);
    world_end(&t->w);
}

/* How many receipts and answers the journal holds. */
static size_t tale_told(const tale *t)
{
    size_t n = 0;
    char *text = calloc(1, t->w.journal.size + 1);

    memcpy(text, t->w.journal.data, t->w.journal.size);
    for (const char *p = text; (p = strstr(p, "[\"receipt\",")) != NULL; p++)
        n++;
    for (const char *p = text; (p = strstr(p, "[\"answer\",")) != NULL; p++)
        n++;
    free(text);
    return n;
}

/* ---- F3 ------------------------------------------------------------------------------------------------------------- */

#define SKY  "why is the sky blue?"
#define D1   "Because air scatters blue light more than red, everywhere."
#define D2   "Air scatters short waves most; violet is rarer, and our eyes see it less."
#define D3   "Rayleigh scattering, and the eye."
#define NOTE "mention the sunset, please, and keep it under forty words"
#define MODEL(role, prompt, input) "llm {\"input\":\"" input "\",\"prompt\":\"" prompt "\",\"role\":\"" role "\"}\n"
#define FINAL(draft) "message \"Approved\"\nartifact {\"name\":\"final.txt\",\"text\":\"" draft "\"}\ncompleted"

typedef struct story {
    const char *name, *says[12], *text, *history;
} story;

static const story stories[] = {
    { "approve", { "\"" D1 "\"", "\"approved\"" },
      MODEL("research", "Draft answer", SKY) MODEL("critic", "Critique draft", D1) FINAL(D1),
      "{\"1\":{\"critique\":\"approved\",\"draft\":\"" D1 "\"}}" },
    { "revise twice, then approve", { "\"" D1 "\"", "\"needs_revision\"", "\"" D2 "\"", "\"needs_revision\"", "\"" D3 "\"", "\"approved\"" },
      MODEL("research", "Draft answer", SKY) MODEL("critic", "Critique draft", D1)
      MODEL("research", "Revise given critique", D1) MODEL("critic", "Critique draft", D2)
      MODEL("research", "Revise given critique", D2) MODEL("critic", "Critique draft", D3) FINAL(D3),
      "{\"1\":{\"critique\":\"needs_revision\",\"draft\":\"" D1 "\"},\"2\":{\"critique\":\"needs_revision\",\"draft\":\"" D2 "\"},"
      "\"3\":{\"critique\":\"approved\",\"draft\":\"" D3 "\"}}" },
    { "ask a human", { "\"" D1 "\"", "\"needs_human_input\"", "\"" NOTE "\"", "\"" D2 "\"", "\"approved\"" },
      MODEL("research", "Draft answer", SKY) MODEL("critic", "Critique draft", D1)
      "input-required input human_note: \"Critic needs human input.\"\n"
      MODEL("research", "Revise with human input", D1 "\\n\\nHuman note: " NOTE) MODEL("critic", "Critique draft", D2) FINAL(D2),
      "{\"1\":{\"critique\":\"needs_human_input\",\"draft\":\"" D1 "\",\"note\":\"" NOTE "\"},\"2\":{\"critique\":\"approved\",\"draft\":\"" D2 "\"}}" },
};
enum { STORIES = sizeof stories / sizeof *stories, FORMS = sizeof forms / sizeof *forms };

/* Returns how many steps it took. */
static int told_right(size_t form, const story *st, kill_how how, int at_step)
{
    pawl_err err = {0};
    tale t;
    int steps;

    tale_begin(&t, forms[form](&err), st->says);
    tale_run(&t, how, at_step);
    if (strcmp(t.text.data, st->text) != 0)
        printf("%s, %s, killed %d at step %d:\n", form_names[form], st->name, (int)how, at_step);
    CHECK_STR(t.text.data, st->text);
    CHECK_STR(world_get(&t.w, "history"), st->history);
    CHECK_INT(tale_told(&t), t.nasked);     /* each question was answered once */
    steps = t.steps;
    tale_end(&t);
    return steps;
}

PAWL_TEST(test_F3_research_loop_has_one_trace_in_all_three_forms)
{
    for (size_t i = 0; i < STORIES; i++)
        for (size_t form = 0; form < FORMS; form++)
            told_right(form, &stories[i], KILL_NEVER, 0);
}

PAWL_TEST(test_F3_a_kill_between_any_two_steps_changes_nothing)
{
    for (size_t i = 0; i < STORIES; i++) {
        for (size_t form = 0; form < FORMS; form++) {
            int steps = told_right(form, &stories[i], KILL_ALWAYS, 0);

            CHECK_INT(told_right(form, &stories[i], KILL_SNAPSHOT, 0), steps);
            for (int step = 0; step <= steps; step++)
                told_right(form, &stories[i], KILL_AFTER, step);
        }
    }
}

/* The effect was performed, its receipt lost: it is asked for again under the same id, and nothing is told twice. */
PAWL_TEST(test_F3_a_kill_before_a_step_is_stored_asks_again_under_the_same_id)
{
    for (size_t i = 0; i < STORIES; i++) {
        for (size_t form = 0; form < FORMS; form++) {
            int steps = told_right(form, &stories[i], KILL_NEVER, 0);

            for (int step = 0; step < steps; step++)
                CHECK_INT(told_right(form, &stories[i], KILL_BEFORE, step), steps);
        }
    }
}

PAWL_TEST(test_F3_the_golden_trace_of_the_reducer)
{
    pawl_err err = {0};
    world w;

    world_begin(&w, by_reducer(&err), "{\"input\":\"q\"}");
    world_expect(&w, "1 start working | start {\"input\":\"q\"}; put phase=\"researching\"; "
                     "call 1.@.1.0 {\"args\":{\"input\":\"q\",\"prompt\":\"Draft answer\",\"role\":\"research\"},\"effect\":\"llm\",\"tag\":\"research\"}\n");
    CHECK_STR(world_get(&w, "history"), "{}");
    CHECK_INT(world_signal(&w, "noise", NULL), PAWL_IGNORED);          /* any other pair: nothing changes */
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_INPUT, .value = "\"early\"" }), PAWL_IGNORED);
    world_receipt(&w, "@", "\"d1\"");
    CHECK_STR(world_get(&w, "phase"), "\"critiquing\"");
    CHECK_STR(world_get(&w, "draft"), "\"d1\"");
    CHECK_STR(world_get(&w, "history"), "{\"1\":{\"draft\":\"d1\"}}");
    world_receipt(&w, "@", "\"needs_human_input\"");
    CHECK_STR(world_status(&w), "input-required");
    CHECK_INT(world_update(&w, NULL, "{\"phase\":\"lost\"}"), PAWL_IGNORED);      /* nobody changes it from outside */
    CHECK_INT(pawl_state_ignored(w.st), 9);     /* the world feeds each three times */
    world_expect(&w, "2 receipt working | receipt 1.@.1.0 \"d1\"; put draft=\"d1\" history={\"1\":{\"draft\":\"d1\"}} phase=\"critiquing\"; "
                     "call 2.@.1.0 {\"args\":{\"input\":\"d1\",\"prompt\":\"Critique draft\",\"role\":\"critic\"},\"effect\":\"llm\",\"tag\":\"critic\"}\n"
                     "3 receipt input-required | receipt 2.@.1.0 \"needs_human_input\"; "
                     "put history={\"1\":{\"critique\":\"needs_human_input\",\"draft\":\"d1\"}} phase=\"awaiting\"; ask 3.@.1.0 "
                     "{\"kind\":\"input\",\"prompt\":\"Critic needs human input.\",\"slot\":\"human_note\",\"tag\":\"human_note\"}\n");
    world_answer(&w, "human_note", "\"n\"");
    world_receipt(&w, "@", "\"d2\"");
    world_receipt(&w, "@", "\"approved\"");
    world_expect(&w, "4 answer working | answer 3.@.1.0 \"n\"; "
                     "put history={\"1\":{\"critique\":\"needs_human_input\",\"draft\":\"d1\",\"note\":\"n\"}} phase=\"researching\"; call 4.@.1.0 "
                     "{\"args\":{\"input\":\"d1\\n\\nHuman note: n\",\"prompt\":\"Revise with human input\",\"role\":\"research\"},\"effect\":\"llm\",\"tag\":\"research\"}\n"
                     "5 receipt working | receipt 4.@.1.0 \"d2\"; put draft=\"d2\" history={\"2\":{\"draft\":\"d2\"}} phase=\"critiquing\"; call 5.@.1.0 "
                     "{\"args\":{\"input\":\"d2\",\"prompt\":\"Critique draft\",\"role\":\"critic\"},\"effect\":\"llm\",\"tag\":\"critic\"}\n"
                     "6 receipt completed | receipt 5.@.1.0 \"approved\"; put history={\"2\":{\"critique\":\"approved\",\"draft\":\"d2\"}} phase=\"done\"; "
                     "emit message \"Approved\"; emit artifact {\"name\":\"final.txt\",\"text\":\"d2\"}\n");
    world_end(&w);
}
