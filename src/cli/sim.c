/* sim.c - an agent file is put through kills, power cuts, failing stores and rival workers, from seeds. */
#include "cli/prove.h"
#include "cli/verbs.h"

/* What the world would say: the same for the same arguments, and something that most nodes can take. */
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

static pawl_code sim_prompt(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    return pawl_reply_json(reply, "{\"text\":\"1\"}");
}

typedef struct simulating { cli_call *c; const char *path; session *s; } simulating;

static pawl_machine *sim_machine(void *ctx, pawl_err *err)
{
    const simulating *k = ctx;

    return session_machine_again(k->s, err);
}

static size_t effects_of(const session *s, pawl_sim_effect *all, size_t most)
{
    size_t n = 0;

    for (const file_effect *e = s->file->effects; e != NULL && n + 1 < most; e = e->next) {
        pawl_handler_fn *fn = strcmp(e->word, "http") == 0 ? sim_http : strcmp(e->word, "prompt") == 0 ? sim_prompt : sim_run;

        all[n++] = (pawl_sim_effect){ .name = e->name, .fn = fn };
    }
    if (s->file->njq > 0)
        all[n++] = (pawl_sim_effect){ .name = "jq", .fn = session_jq, .arg = (void *)(uintptr_t)s };
    return n;
}

static int report(cli_call *c, uint64_t seed, pawl_code rc, const pawl_err *err, const pawl_sim_report *r)
{
    char text[400];

    if (rc == PAWL_INVALID)
        return cli_fail(c, PAWL_INVALID, err);
    snprintf(text, sizeof text, "seed %llu: %s", (unsigned long long)seed, err->text);
    cli_note(c, "%s", text);
    if (r->trace != NULL)
        fwrite(r->trace, 1, r->trace_size, stderr);
    cli_note(c, "again: pawl sim %s --seed %llu", c->args[0], (unsigned long long)seed);
    return EXIT_FAILED;
}

static int simulate(cli_call *c, session *s, const char *input, uint64_t first, uint64_t seeds)
{
    enum { EFFECTS = 256 };
    pawl_sim_effect *effects = arena_zero(&s->mem, EFFECTS * sizeof *effects);
    simulating k = { c, c->args[0], s };
    const char *inputs[1] = { input };
    pawl_sim_setup setup = { .machine = sim_machine, .inputs = inputs, .ninputs = 1, .effects = effects, .ctx = &k, .loose = true };
    uint64_t kills = 0, performed = 0, repeated = 0;

    if (effects == NULL)
        return EXIT_FAILED;
    setup.neffects = effects_of(s, effects, EFFECTS);
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        pawl_sim_report r = {0};
        pawl_err err = {0};
        pawl_code rc = pawl_sim(&setup, seed, &r, &err);

        if (rc != PAWL_OK) {
            int code = report(c, seed, rc, &err, &r);

            pawl_sim_report_free(&r);
            return code;
        }
        kills += r.kills + r.power_cuts;
        performed += r.performed;
        repeated += r.repeated;
        pawl_sim_report_free(&r);
    }
    if (c->json)
        cli_json(c, value_pack(&c->mem, NULL, "{s:u,s:u,s:u,s:u}", "kills", kills, "performed", performed, "repeated", repeated, "seeds", seeds));
    else
        cli_note(c, "%llu seeds, %llu kills and power cuts: every promise held; %llu effects, %llu of them again, as their class allows",
                 (unsigned long long)seeds, (unsigned long long)kills, (unsigned long long)performed, (unsigned long long)repeated);
    return EXIT_DONE;
}

static int sim_verb_run(cli_call *c)
{
    const char *given = cli_given(c, "input");
    uint64_t seeds = 0, first = 0;
    const pawl_value *v;
    pawl_err err = {0};
    session *s;
    buf input;
    int code = EXIT_FAILED;

    if (!cli_number(c, "seeds", 1, 1000000, 100, &seeds) || !cli_number(c, "seed", 0, UINT64_MAX / 2, 1, &first))
        return EXIT_USAGE;
    if (cli_given(c, "seed") != NULL && cli_given(c, "seeds") == NULL)
        seeds = 1;
    if ((v = value_parse(&c->mem, given != NULL ? given : "{}", given != NULL ? strlen(given) : 2, "--input", &err)) == NULL)
        return cli_fail(c, PAWL_INVALID, &err);
    if ((s = session_of_file(c, c->args[0], &code)) == NULL)
        return code;
    buf_init(&input, NULL);
    if (s->file == NULL)
        code = cli_usage(c, "a plug-in that is the whole agent is simulated by its own program: pawl/sim.h");
    else if (session_is_agent(s) || s->file->helpers != NULL || s->file->uses_tools)
        code = cli_usage(c, "agents and tools are not simulated; a scripted model (script:FILE) makes the runs of an agent the same each time");
    else if (cli_given(c, "replay") != NULL)
        code = prove_replayed(c, s, cli_given(c, "replay"));
    else if (!session_input(s, v, PAWL_BYPASS, &input, &err))
        code = cli_fail(c, PAWL_INVALID, &err);
    else {
        buf_char(&input, '\0');
        code = simulate(c, s, input.data, first, seeds);
    }
    buf_free(&input);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "seeds", "N", "how many worlds; 100" },
    { "seed", "N", "begin with this one; alone, only this one" },
    { "input", "JSON", "what each run begins with" },
    { "replay", "FILE", "drive it along a way that `pawl check --prove --path FILE` wrote" },
    { "json", NULL, "{\"kills\",\"performed\",\"repeated\",\"seeds\"}" },
    { NULL, NULL, NULL },
};

const cli_verb verb_sim = {
    .name = "sim", .form = "FILE", .what = "put an agent file through kills, power cuts and rivals", .options = options, .least = 1, .most = 1,
    .run = sim_verb_run,
    .about = "Nothing of it touches the world: commands, requests and models answer \"1\",\n"
             "people answer what fits, in virtual time; expressions are evaluated. Held\n"
             "against every run: nothing is lost, nothing that is finished runs again, `once`\n"
             "never twice, journals verify. A seed gives the same world every time.\n"
             "\n"
             "--replay drives one run along a way that a proof found: its expressions, hooks\n"
             "and people say what the way needs. Ends with 0 when the command really leaves.",
    .example = "pawl sim survey.yaml --seeds 500\npawl sim survey.yaml --seed 42",
};
