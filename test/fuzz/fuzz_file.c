/* fuzz_file.c - any text as an agent file: refused with words, or a machine; which then runs a few steps, whatever its effects come to. The
 * files that it may name are given. */
#include "file/reader.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENTS_MAX = 24 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* ---- where texts come from ------------------------------------------------------------------------------ */

typedef struct source { pawl_bytes text; } source;

static const struct { const char *name, *text; } others[] = {
    { "inner.yaml", "start: x\nstate: {dir: {}, files: {merge: append}, path: {}, error: {}, t: {secret: {env: T}}}\nnodes:\n  x: {run: [ls, \"{{.dir}}\"], lines: files, next: end}\n" },
    { "deep.yaml", "start: x\nstate: {dir: {}}\nnodes:\n  x: {graph: inner.yaml, next: end}\n" },
    { "round.yaml", "start: x\nnodes:\n  x: {graph: main.yaml, next: end}\n" },
    { "broken.yaml", "start: x\nnodes:\n  x: {run: ls}\n" },
    { "talk.yaml", "start: x\nturns: more?\nnodes:\n  x: {wait: 1s, next: end}\n" },
    { "answers.yaml", "[{reply: yes}]" },
};

static pawl_code read_one(void *ctx, arena *mem, const char *from, const char *name, const char **path, pawl_bytes *text, pawl_err *err)
{
    const source *s = ctx;

    (void)mem, (void)from;
    *path = name;
    if (strcmp(name, "main.yaml") == 0) {
        *text = s->text;
        return PAWL_OK;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i].name) == 0) {
            *text = (pawl_bytes){ others[i].text, strlen(others[i].text) };
            return PAWL_OK;
        }
    return fail(err, PAWL_IO, "%.100s: no such file", name);
}

static pawl_code plugin(void *ctx, const char *from, const char *name, pawl_err *err)
{
    (void)ctx, (void)from;
    return strstr(name, ".so") != NULL ? PAWL_OK : fail(err, PAWL_IO, "%.100s: it cannot be opened", name);
}

static bool is_kind(void *ctx, const char *kind, pawl_class *cls)
{
    (void)ctx;
    *cls = PAWL_CLASS_PURE;
    return strcmp(kind, "greet") == 0;
}

static pawl_code compile(void *ctx, expression *const *all, size_t n, void (*tell)(void *to, size_t number, const char *text), void *to, pawl_err *err)
{
    (void)ctx, (void)err;
    for (size_t i = 0; i < n; i++) {
        must(all[i]->number == i && !all[i]->path && all[i]->label != NULL);
        if (strstr(all[i]->text, "nosuch") != NULL)
            tell(to, i, "nosuch/0 is not defined");
        for (size_t k = 0; k < i && k < 50; k++)
            must(strcmp(all[i]->label, all[k]->label) != 0);
    }
    return PAWL_OK;
}

/* ---- what is told ------------------------------------------------------------------------------------------ */

static void told(const faults *f)
{
    const file_fault *last = NULL;
    size_t count = 0;

    for (const file_fault *x = f->first; x != NULL; last = x, x = x->next) {
        must(*x->text != '\0' && utf8_valid(x->text, strlen(x->text)) && strchr(x->text, '\n') == NULL && x->at.line > 0 && x->at.column > 0);
        if (last != NULL && strcmp(last->at.file, x->at.file) == 0)
            must(last->at.line < x->at.line || (last->at.line == x->at.line && last->at.column <= x->at.column));
        count += x->severity == PAWL_SEVERITY_FAULT;
    }
    must((count > 0) == (f->count > 0));
}

/* ---- a few steps ------------------------------------------------------------------------------------------- */

static const char *value_for(const pawl_command *c, size_t n, arena *mem)
{
    static const char *const values[] = {
        "{\"status\":0,\"stdout\":\"a\\nb\\n\",\"stderr\":\"\"}", "{\"status\":200,\"body\":\"[1]\"}", "{\"text\":\"{}\"}", "null",
        "{\"status\":404,\"body_json\":{\"a\":[1]}}", "{\"status\":1,\"stdout\":null,\"cut\":true}", "[[1,\"x\"],{\"a\":null}]",
    };
    static const char *const one[] = { "1", "null", "\"x\"", "[1,2]", "{\"a\":[{}]}", "true" };
    const pawl_value *all = value_pack(mem, NULL, "[]");
    buf b;

    if (c->effect == NULL || strcmp(c->effect, "jq") != 0)
        return values[n % 7];
    for (size_t i = 0; i < pawl_value_size(pawl_value_get(c->args, "jq")); i++)
        all = value_push(mem, all, value_parse(mem, one[(n + i) % 6], strlen(one[(n + i) % 6]), "value", NULL));
    buf_init(&b, &mem->alloc);
    canon(&b, all);
    must(!b.failed);
    all = value_string(mem, b.data, b.size);
    buf_free(&b);
    return pawl_value_string(all);
}

/* False: nothing is left to say. */
static bool event_next(pawl_state *st, pawl_step *look, size_t n, arena *mem, pawl_event *ev)
{
    pawl_command c;
    pawl_wait q;

    *ev = (pawl_event){ .kind = PAWL_EV_TICK, .time_ms = (int64_t)(1000 + n) };
    switch (pawl_state_next(st)) {
    case PAWL_OK:
        return true;
    case PAWL_PENDING:
        if (pawl_state_commands(st) == 0 || pawl_state_command(st, n % pawl_state_commands(st), look, &c, NULL, NULL) != PAWL_OK)
            return false;
        ev->id = arena_text(mem, c.id);
        ev->kind = c.kind == PAWL_COMMAND_SLEEP ? PAWL_EV_TIMER : PAWL_EV_RECEIPT;
        if (c.kind == PAWL_COMMAND_SLEEP)
            ev->time_ms = c.due_ms;
        else
            ev->value = value_for(&c, n, mem);
        if (c.kind != PAWL_COMMAND_SLEEP && n % 5 == 4)
            ev->outcome = PAWL_OUTCOME_ERROR;
        return true;
    case PAWL_INTERRUPTED:
        if (pawl_state_waits(st) == 0 || pawl_state_wait(st, 0, look, &q, NULL) != PAWL_OK)
            return false;
        ev->kind = PAWL_EV_ANSWER;
        ev->id = arena_text(mem, q.id);
        ev->value = q.kind == PAWL_WAIT_APPROVAL ? (n % 3 == 0 ? "false" : "true") : q.kind == PAWL_WAIT_INPUT ? "{}" : n % 2 == 0 ? "1" : "\"x\"";
        if (pawl_value_size(q.options) > 0)
            ev->value = pawl_text(look, pawl_value_at(q.options, 0));
        ev->value = ev->value != NULL ? arena_text(mem, ev->value) : "1";
        return true;
    default:
        return false;
    }
}

static void runs(const pawl_machine *m, bool plan)
{
    static const pawl_run_info info = { .id = "fuzz-1", .life = 1, .seed = 7, .created_ms = 1000 };
    pawl_step *s = pawl_step_new(NULL), *look = pawl_step_new(NULL);
    pawl_event ev = { .kind = PAWL_EV_START, .time_ms = 1000, .value = plan ? "{\"@mode\":\"plan\"}" : "{\"@cwd\":\"/w\"}" };
    pawl_state *st = NULL;
    pawl_code rc;
    arena mem;

    arena_init(&mem, NULL, 4096);
    must(s != NULL && look != NULL && pawl_state_new(m, &info, 0, NULL, &st, NULL) == PAWL_OK);
    rc = pawl_advance(m, st, &ev, s, NULL);
    for (size_t n = 0; n < EVENTS_MAX && rc >= 0 && event_next(st, look, n, &mem, &ev); n++) {
        rc = pawl_advance(m, st, &ev, s, NULL);
        must(rc != PAWL_CORRUPT && rc != PAWL_NOMEM);
    }
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_step_free(look);
    arena_free(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = { { (const char *)data, size } };
    const file_reader reader = { .read = read_one, .plugin = plugin, .kind = is_kind, .compile = compile, .ctx = &s };
    pawl_machine *m = NULL;
    pawl_err err = {0};
    agent_file *a;
    arena mem;
    faults f;

    arena_init(&mem, NULL, 16384);
    faults_init(&f, &mem);
    a = file_load(&mem, "main.yaml", &reader, &f);
    must(!mem.failed && (a != NULL || f.count > 0));
    if (a != NULL && f.count == 0) {
        m = file_machine(a, "none", &f, &err);
        must(m != NULL);        /* whatever is wrong with its graph was told before */
        if (a->nnodes < 12)
            file_search(a, m, &f);
        runs(m, false);
        runs(m, true);
        pawl_machine_free(m);
    }
    told(&f);
    arena_free(&mem);
    return 0;
}
