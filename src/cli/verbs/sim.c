/* sim.c - `pawl sim`: runs an agent file through kills, power cuts, failing stores and rival workers, from seeds; answers of models, tools and people
 * are random.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. */
#include "cli/prove.h"
#include "app/settings.h"
#include "cli/verbs.h"

/* The simulated result of a command: the same for the same arguments, and of a form that most nodes accept. */
static pawl_code sim_run(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    return pawl_reply_json(reply, "{\"status\":0,\"stdout\":\"1\\n\",\"stderr\":\"\"}");
}

static pawl_code sim_http(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    return pawl_reply_json(reply, "{\"status\":200,\"headers\":{},\"body\":\"1\",\"body_json\":1}");
}

enum { EFFECTS = 256, INPUTS_MAX = 12 };

typedef struct simulating {
    cli_call *c;
    session *s;
    bool chance;                /* answers of models, tools and people are random: the file has agents, tools or prompts */
    const char *inputs[INPUTS_MAX];
    size_t ninputs;
    uint64_t kills, performed, repeated, asked, used, children;
    uint64_t checked[PAWL_SIM_PROMISES_MAX];
} simulating;

static pawl_machine *sim_machine(void *ctx, pawl_err *err)
{
    const simulating *k = ctx;

    return session_machine_again(k->s, err);
}

/* The agents that the file calls. */
static pawl_machine *sim_more(void *ctx, unsigned index, pawl_err *err)
{
    const simulating *k = ctx;

    for (const file_helper *h = k->s->file->helpers; h != NULL; h = h->next)
        if (h->file != k->s->file && index-- == 0)
            return pawl_agent_machine(&h->file->agent->a, NULL, err);
    return NULL;
}

/* Whether the answers of this effect are made from the seed. */
static bool by_chance(const file_effect *e)
{
    return strcmp(e->word, "prompt") == 0 || strncmp(e->word, "tool-", 5) == 0;
}

static size_t effects_of(const session *s, pawl_sim_effect *all, size_t most)
{
    size_t n = 0;

    for (const file_effect *e = s->file->effects; e != NULL && n + 1 < most; e = e->next) {
        if (!by_chance(e))
            all[n++] = (pawl_sim_effect){ .name = e->name, .fn = strcmp(e->word, "http") == 0 ? sim_http : sim_run };
    }
    if (s->file->njq > 0)
        all[n++] = (pawl_sim_effect){ .name = "jq", .fn = session_jq, .arg = (void *)(uintptr_t)s };
    return n;
}

static int report(cli_call *c, uint64_t seed, pawl_code rc, const pawl_err *err, const pawl_sim_report *r)
{
    const char *input = cli_given(c, "input");

    if (rc == PAWL_INVALID)
        return cli_fail(c, PAWL_INVALID, err);
    cli_note(c, "%s", err->text);
    if (r->trace != NULL)
        fwrite(r->trace, 1, r->trace_size, stderr);
    if (input != NULL)
        cli_note(c, "repeat: pawl sim %s --seed %llu --input '%s'", c->args[0], (unsigned long long)seed, input);
    else
        cli_note(c, "repeat: pawl sim %s --seed %llu", c->args[0], (unsigned long long)seed);
    return EXIT_FAILED;
}

static void add_up(simulating *k, const pawl_sim_report *r)
{
    k->kills += r->kills + r->power_cuts;
    k->performed += r->performed;
    k->repeated += r->repeated;
    k->asked += r->asked;
    k->used += r->used;
    k->children += r->children;
    for (unsigned i = 0; i < PAWL_SIM_PROMISES_MAX; i++)
        k->checked[i] += r->checked[i];
}

/* How often each promise was checked, by its number; several rows of the simulator's table may share one. */
static const pawl_value *checked_by_number(simulating *k)
{
    const pawl_value *v = value_pack(&k->c->mem, NULL, "{}");
    const char *number;

    for (unsigned i = 0; (number = pawl_sim_promise(i, NULL)) != NULL; i++)
        v = value_with(&k->c->mem, v, number, value_uint(&k->c->mem, k->checked[i] + pawl_value_uint(pawl_value_get(v, number))));
    return v;
}

/* Promises that the file never exercises are named, too. */
static void print_checked(simulating *k)
{
    const pawl_value *all = checked_by_number(k), *n, *number;
    pawl_iter it = pawl_iter_of(all);
    buf b;

    buf_init(&b, &k->c->mem.alloc);
    while ((n = pawl_iter_next(&it, &number)) != NULL)
        buf_fmt(&b, "%s%s %llu", b.size > 0 ? ", " : "", pawl_value_string(number), (unsigned long long)pawl_value_uint(n));
    buf_char(&b, '\0');
    if (!b.failed)
        cli_note(k->c, "promises checked, and how often: %s", b.data);
    buf_free(&b);
}

static int print_held(simulating *k, uint64_t seeds)
{
    cli_call *c = k->c;
    const pawl_value *v;

    if (c->json) {
        v = value_pack(&c->mem, NULL, "{s:u,s:u,s:u,s:u}", "kills", k->kills, "performed", k->performed, "repeated", k->repeated, "seeds", seeds);
        if (k->chance) {
            v = value_with(&c->mem, v, "requests", value_uint(&c->mem, k->asked));
            v = value_with(&c->mem, v, "tools", value_uint(&c->mem, k->used));
            v = value_with(&c->mem, v, "children", value_uint(&c->mem, k->children));
        }
        v = value_with(&c->mem, v, "promises", checked_by_number(k));
        cli_json(c, v);
        return EXIT_DONE;
    }
    cli_note(c, "%llu seeds, %llu kills and power cuts: every promise held; %llu effects, %llu of them repeated, as their class allows",
             (unsigned long long)seeds, (unsigned long long)k->kills, (unsigned long long)k->performed, (unsigned long long)k->repeated);
    if (k->chance)
        cli_note(c, "among them %llu requests to models and %llu tool calls; %llu child runs", (unsigned long long)k->asked,
                 (unsigned long long)k->used, (unsigned long long)k->children);
    print_checked(k);
    return EXIT_DONE;
}

static int simulate(simulating *k, uint64_t first, uint64_t seeds)
{
    session *s = k->s;
    pawl_sim_effect *effects = arena_zero(&s->mem, EFFECTS * sizeof *effects);
    pawl_sim_setup setup = { .machine = sim_machine, .more = sim_more, .effects = effects, .ctx = k, .loose = true, .budget = s->file->caps };

    if (effects == NULL)
        return EXIT_FAILED;
    setup.neffects = effects_of(s, effects, EFFECTS);
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        const char *inputs[2] = { k->inputs[seed % k->ninputs], k->inputs[(seed / k->ninputs + 2 * seed + 1) % k->ninputs] };
        pawl_sim_report r = {0};
        pawl_err err = {0};
        pawl_code rc;

        setup.inputs = inputs;
        setup.ninputs = 2;
        rc = k->chance ? pawl_sim_agent(&setup, seed, &r, &err) : pawl_sim(&setup, seed, &r, &err);
        if (rc != PAWL_OK) {
            int code = report(k->c, seed, rc, &err, &r);

            pawl_sim_report_free(&r);
            return code;
        }
        add_up(k, &r);
        pawl_sim_report_free(&r);
    }
    return print_held(k, seeds);
}

/* ---- what runs begin with ------------------------------------------------------------------------------------- */

static bool input_add(simulating *k, const pawl_value *v, pawl_mode mode, pawl_err *err)
{
    session *s = k->s;
    bool good;
    buf b;

    buf_init(&b, &s->mem.alloc);
    good = session_input(s, v, mode, &b, err);
    if (good && (k->inputs[k->ninputs] = arena_strdup(&s->mem, b.data, b.size)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for the input");
        good = false;
    }
    buf_free(&b);
    k->ninputs += good;
    return good;
}

/* Inputs for an agent in every mode: a conversation, a task for one turn, and one without a person to ask. */
static bool inputs_of_agent(simulating *k, const pawl_value *v, pawl_err *err)
{
    session *s = k->s;
    const pawl_value *owns[] = { NULL, value_pack(&s->mem, NULL, "{s:s}", "@once", "run"),
                                 value_pack(&s->mem, NULL, "{s:s,s:b}", "@once", "run", "@unasked", 1) };
    bool good = true;

    if (cli_given(k->c, "input") == NULL)
        v = value_pack(&s->mem, NULL, "{s:s}", "input", "level 0: go");
    for (int mode = PAWL_MODE_PLAN; mode <= PAWL_MODE_BYPASS && good; mode++)
        for (size_t i = 0; i < sizeof owns / sizeof *owns && good; i++) {
            s->own = owns[i];
            good = input_add(k, v, (pawl_mode)mode, err);
        }
    return good;
}

static bool inputs_make(simulating *k, const pawl_value *v, pawl_err *err)
{
    session *s = k->s;

    if (!k->chance)
        return input_add(k, v, PAWL_MODE_BYPASS, err);
    s->policy = settings_policy(&k->c->app, &s->mem, s->file, s->folder, NULL, err);
    if (err->code != PAWL_OK)
        return false;
    if (session_is_agent(s))
        return inputs_of_agent(k, v, err);
    return input_add(k, v, PAWL_MODE_BYPASS, err) && input_add(k, v, PAWL_MODE_ACCEPT_EDITS, err) && input_add(k, v, PAWL_MODE_DEFAULT, err);
}

/* ---- the verb ---------------------------------------------------------------------------------------------------- */

static bool has_chance(const session *s)
{
    const file_effect *e = s->file->effects;

    while (e != NULL && !by_chance(e))
        e = e->next;
    return e != NULL || session_is_agent(s) || s->file->helpers != NULL;
}

static int sim_verb_run(cli_call *c)
{
    const char *given = cli_given(c, "input");
    uint64_t seeds = 0, first = 0;
    const pawl_value *v;
    pawl_err err = {0};
    simulating k = { .c = c };
    session *s;
    int code = EXIT_FAILED;

    if (!cli_number(c, "seeds", 1, 1000000, 100, &seeds) || !cli_number(c, "seed", 0, UINT64_MAX / 2, 1, &first))
        return EXIT_USAGE;
    if (cli_given(c, "seed") != NULL && cli_given(c, "seeds") == NULL)
        seeds = 1;
    if ((v = value_parse(&c->mem, given != NULL ? given : "{}", given != NULL ? strlen(given) : 2, "--input", &err)) == NULL)
        return cli_fail(c, PAWL_INVALID, &err);
    if ((s = session_of_file(c, c->args[0], &code)) == NULL)
        return code;
    k.s = s;
    k.chance = s->file != NULL && has_chance(s);
    if (s->file == NULL)
        code = cli_usage(c, "a plug-in that is the whole agent is simulated by its own program: pawl/sim.h");
    else if (cli_given(c, "replay") != NULL)
        code = session_is_agent(s) ? cli_usage(c, "%s is an agent: its model decides what it does, so no proof has a path of it", c->args[0])
                                   : prove_replayed(c, s, cli_given(c, "replay"));
    else if (!inputs_make(&k, v, &err))
        code = cli_fail(c, PAWL_INVALID, &err);
    else
        code = simulate(&k, first, seeds);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "seeds", "N", "number of worlds; 100" },
    { "seed", "N", "the first seed; alone, the only one" },
    { "input", "JSON", "the input of each run" },
    { "replay", "FILE", "follow a path that `pawl check --prove --path FILE` wrote" },
    { "json", NULL, "{\"kills\",\"performed\",\"promises\",\"repeated\",\"seeds\"}, with agents also \"requests\", \"tools\" and \"children\"" },
    { NULL, NULL, NULL },
};

const cli_verb verb_sim = {
    .name = "sim", .form = "FILE", .what = "simulate crashes and rival workers on an agent file", .options = options, .least = 1, .most = 1,
    .run = sim_verb_run,
    .about = "Nothing outside is touched: commands and requests return \"1\", people give valid\n"
             "answers, time is virtual; expressions are evaluated. Checked in every run:\n"
             "nothing is lost, no completed step runs again, `once` never runs twice, journals\n"
             "verify. A seed always gives the same world.\n"
             "\n"
             "If FILE is an agent, calls agents or tools, or calls a model, its rules and\n"
             "those of settings apply, and the seed chooses the answers of models: texts,\n"
             "valid and invalid tool calls, failures, truncated answers, nonsense; the results\n"
             "of tools and hooks; a person's approval, denial, or changed call. Agents and\n"
             "their children also receive interrupts, input and other modes. Also checked:\n"
             "providers would accept the messages, each call has one result, no denied or\n"
             "unapproved tool is used, budgets are kept.\n"
             "\n"
             "--replay drives one run along a path that `pawl check --prove` found; its\n"
             "expressions, hooks and people answer as the path requires. Exits with 0 if the\n"
             "command is really performed.",
    .example = "pawl sim survey.yaml --seeds 500\npawl sim survey.yaml --seed 42",
};
