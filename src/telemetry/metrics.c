/* metrics.c - which numbers a span adds to, and how numbers are written for Prometheus. Pure; any thread.
 *
 * Labels have few values: names of machines, tools and effects, states; never an id, a path or a text of a person. */
#include "telemetry/metrics.h"
#include "json/json.h"

static const int64_t effect_bounds[] = { 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000, 1800000, 0 };
static const int64_t wait_bounds[] = { 1000, 10000, 60000, 300000, 1800000, 3600000, 14400000, 86400000, 604800000, 0 };

/* In the order of their names, in which a store of series sorts them. */
static const metric_family families[] = {
    { "pawl_child_runs_total", "Child runs that ended, by machine and state.", METRIC_COUNTER, false, NULL },
    { "pawl_cost_micros_total", "Cost of commands in millionths of money, by machine.", METRIC_COUNTER, false, NULL },
    { "pawl_effect_duration_seconds", "From a stored command to its stored receipt, with waits for a retry.", METRIC_HISTOGRAM, true, effect_bounds },
    { "pawl_effects_total", "Commands that ended, by effect, class and outcome.", METRIC_COUNTER, false, NULL },
    { "pawl_model_tokens_total", "Tokens as models reported them, by model and type.", METRIC_COUNTER, false, NULL },
    { "pawl_runs_begun_total", "Runs that began, by machine.", METRIC_COUNTER, false, NULL },
    { "pawl_runs_ended_total", "Runs that ended, by machine and status.", METRIC_COUNTER, false, NULL },
    { "pawl_steps_total", "Steps that were stored (entries of journals), by machine.", METRIC_COUNTER, false, NULL },
    { "pawl_stretch_seconds_total", "Time in which runs had something to do, by machine.", METRIC_COUNTER, true, NULL },
    { "pawl_stretches_total", "Times that a run had something to do, until it rested, by machine.", METRIC_COUNTER, false, NULL },
    { "pawl_tasks_total", "Tasks of nodes that ended, by machine and state.", METRIC_COUNTER, false, NULL },
    { "pawl_wait_duration_seconds", "From a question to its answer, by kind of wait.", METRIC_HISTOGRAM, true, wait_bounds },
    { "pawl_waits_ended_total", "Waits that ended, by kind and state.", METRIC_COUNTER, false, NULL },
};
enum {
    FAMILY_CHILDREN, FAMILY_COST, FAMILY_EFFECT_TIME, FAMILY_EFFECTS, FAMILY_TOKENS, FAMILY_BEGUN, FAMILY_ENDED, FAMILY_STEPS, FAMILY_STRETCH_TIME,
    FAMILY_STRETCHES, FAMILY_TASKS, FAMILY_WAIT_TIME, FAMILY_WAITS, FAMILIES
};
const char metric_other[] = "other=\"true\"";

const metric_family *metric_at(size_t i) { return i < FAMILIES ? &families[i] : NULL; }

const metric_family *metric_named(const char *name)
{
    for (size_t i = 0; i < FAMILIES; i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    return NULL;
}

/* ---- labels ------------------------------------------------------------------------------------------------------------ */

void metric_label(char labels[METRIC_LABELS_BYTES], const char *name, const char *value)
{
    size_t n = strlen(labels), room = METRIC_LABELS_BYTES - 1;
    const size_t name_bytes = strlen(name);

    if (n + name_bytes + 5 > room)
        return;
    if (n > 0)
        labels[n++] = ',';
    memcpy(labels + n, name, name_bytes);
    n += name_bytes;
    labels[n++] = '=';
    labels[n++] = '"';
    while (*value != '\0') {
        size_t size = 1;
        char two[2] = { '\\', *value == '\n' ? 'n' : *value };
        const bool escaped = *value == '\\' || *value == '"' || *value == '\n';

        while (((unsigned char)value[size] & 0xc0) == 0x80)
            size++;
        if (n + (escaped ? 2 : size) + 1 > room)
            break;
        memcpy(labels + n, escaped ? two : value, escaped ? 2 : size);
        n += escaped ? 2 : size;
        value += size;
    }
    labels[n++] = '"';
    labels[n] = '\0';
}

static bool is_hex(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((text[i] < '0' || text[i] > '9') && (text[i] < 'a' || text[i] > 'f'))
            return false;
    return text[n] == '\0';
}

void effect_said(const run_span *s, char out[SPAN_TEXT_BYTES])
{
    const char *name = s->kind == SPAN_TOOL ? s->name : *s->effect != '\0' ? s->effect : s->name;
    const char *dash = strrchr(name, '-');
    size_t n = dash != NULL && dash > name && strlen(dash) == 9 && is_hex(dash + 1, 8) ? (size_t)(dash - name) : strlen(name);

    n = n < SPAN_TEXT_BYTES ? n : SPAN_TEXT_BYTES - 1;
    while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80)
        n--;
    memcpy(out, name, n);
    out[n] = '\0';
}

/* ---- what a span adds --------------------------------------------------------------------------------------------------------- */

typedef struct adding { metric_add_fn *add; void *ctx; const run_span *s; } adding;

static void add_with(const adding *a, size_t family, const char *one, const char *value, const char *two, const char *second, int64_t n)
{
    char labels[METRIC_LABELS_BYTES] = "";

    metric_label(labels, one, value);
    if (two != NULL)
        metric_label(labels, two, second);
    a->add(a->ctx, &families[family], labels, 0, n);
}

static void add_time(const adding *a, size_t family, const char *labels)
{
    const metric_family *f = &families[family];
    const int64_t ms = a->s->end_ms - a->s->begin_ms;
    unsigned part = 0, bounds = 0;

    while (f->bounds[bounds] != 0)
        bounds++;
    while (part < bounds && ms > f->bounds[part])
        part++;
    a->add(a->ctx, f, labels, part, 1);
    a->add(a->ctx, f, labels, bounds + 1, ms);
}

static const char *outcome_said(const run_span *s)
{
    if (*s->outcome != '\0' && s->state != PAWL_ITEM_FAILED)
        return s->outcome;
    return s->state == PAWL_ITEM_FAILED && strcmp(s->outcome, "done") == 0 ? "error" : *s->outcome != '\0' ? s->outcome
           : s->state == PAWL_ITEM_DROPPED ? "dropped" : s->state == PAWL_ITEM_REFUSED ? "refused" : s->state == PAWL_ITEM_FAILED ? "error" : "done";
}

static void command_adds(const adding *a)
{
    const run_span *s = a->s;
    const char *effect_class = *s->effect_class != '\0' ? s->effect_class : "at-least-once";
    const struct { const char *type; int64_t n; } tokens[] = { { "input", s->usage.input }, { "output", s->usage.output },
                                                               { "cache_read", s->usage.cache_read }, { "cache_write", s->usage.cache_write } };
    char labels[METRIC_LABELS_BYTES] = "", effect[SPAN_TEXT_BYTES];

    effect_said(s, effect);
    metric_label(labels, "class", effect_class);
    metric_label(labels, "effect", effect);
    add_time(a, FAMILY_EFFECT_TIME, labels);
    metric_label(labels, "outcome", outcome_said(s));
    a->add(a->ctx, &families[FAMILY_EFFECTS], labels, 0, 1);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        if (tokens[i].n > 0)
            add_with(a, FAMILY_TOKENS, "model", *s->model != '\0' ? s->model : "unknown", "type", tokens[i].type, tokens[i].n);
    if (s->usage.micros > 0)
        add_with(a, FAMILY_COST, "machine", s->of->machine, NULL, NULL, s->usage.micros);
}

void metrics_of_span(const run_span *s, metric_add_fn *add, void *ctx)
{
    const adding a = { add, ctx, s };
    const char *machine = s->of->machine, *state = pawl_item_state_name(s->kind == SPAN_STRETCH ? PAWL_ITEM_RUN : PAWL_ITEM_TASK, s->state);
    char labels[METRIC_LABELS_BYTES] = "";

    switch (s->kind) {
    case SPAN_BEGUN:
        add_with(&a, FAMILY_BEGUN, "machine", machine, NULL, NULL, 1);
        break;
    case SPAN_STRETCH:
        add_with(&a, FAMILY_STRETCHES, "machine", machine, NULL, NULL, 1);
        add_with(&a, FAMILY_STRETCH_TIME, "machine", machine, NULL, NULL, s->end_ms - s->begin_ms);
        if (s->state >= PAWL_ITEM_DONE)
            add_with(&a, FAMILY_ENDED, "machine", machine, "status", state, 1);
        break;
    case SPAN_TASK:
        if (s->state >= PAWL_ITEM_DONE)
            add_with(&a, FAMILY_TASKS, "machine", machine, "state", state, 1);
        break;
    case SPAN_MODEL:
    case SPAN_TOOL:
    case SPAN_EFFECT:
        command_adds(&a);
        break;
    case SPAN_WAIT:
        metric_label(labels, "kind", s->name);
        add_time(&a, FAMILY_WAIT_TIME, labels);
        add_with(&a, FAMILY_WAITS, "kind", s->name, "state", state, 1);
        break;
    case SPAN_CHILD:
        add_with(&a, FAMILY_CHILDREN, "machine", s->name, "state", s->state == PAWL_ITEM_REFUSED ? "refused" : state, 1);
        break;
    case SPAN_KINDS:
        break;
    }
}

void metrics_of_steps(const char *machine, uint64_t n, metric_add_fn *add, void *ctx)
{
    const adding a = { add, ctx, NULL };

    if (n > 0)
        add_with(&a, FAMILY_STEPS, "machine", machine, NULL, NULL, (int64_t)n);
}

/* ---- text ---------------------------------------------------------------------------------------------------------------------- */

static void seconds_put(buf *b, int64_t ms)
{
    int64_t rest = ms % 1000;

    buf_int(b, ms / 1000);
    if (rest == 0)
        return;
    buf_char(b, '.');
    for (int64_t digit = 100; rest > 0; rest %= digit, digit /= 10)
        buf_char(b, (char)('0' + rest / digit));
}

static void line_put(metric_text *t, const char *end, const char *labels, const char *bound, int64_t value, bool seconds)
{
    buf_fmt(t->out, "%s%s", t->f->name, end);
    if (*labels != '\0' || bound != NULL) {
        buf_fmt(t->out, "{%s", labels);
        if (bound != NULL)
            buf_fmt(t->out, "%sle=\"%s\"", *labels != '\0' ? "," : "", bound);
        buf_char(t->out, '}');
    }
    buf_char(t->out, ' ');
    if (seconds)
        seconds_put(t->out, value);
    else
        buf_int(t->out, value);
    buf_char(t->out, '\n');
}

static unsigned bounds_of(const metric_family *f)
{
    unsigned n = 0;

    while (f->bounds[n] != 0)
        n++;
    return n;
}

/* The lines of the parts before `part`; one that was not given is 0. */
static void parts_put(metric_text *t, unsigned part)
{
    const unsigned bounds = bounds_of(t->f);

    for (; t->part < part && t->part <= bounds; t->part++) {
        char bound[UINT_TEXT_MAX + 8] = "+Inf";

        if (t->part < bounds) {
            buf b;

            buf_init(&b, NULL);
            seconds_put(&b, t->f->bounds[t->part]);
            memcpy(bound, b.failed ? "0" : b.data, b.failed ? 1 : b.size);
            bound[b.failed ? 1 : b.size] = '\0';
            t->out->failed = t->out->failed || b.failed;
            buf_free(&b);
        }
        line_put(t, "_bucket", t->labels, bound, t->count, false);
    }
}

static void histogram_end(metric_text *t, int64_t sum)
{
    if (!t->open)
        return;
    parts_put(t, bounds_of(t->f) + 1);
    line_put(t, "_sum", t->labels, NULL, sum, t->f->seconds);
    line_put(t, "_count", t->labels, NULL, t->count, false);
    t->open = false;
}

static void family_begin(metric_text *t, const metric_family *f)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };

    if (t->f == f)
        return;
    histogram_end(t, 0);
    t->f = f;
    buf_fmt(t->out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, types[f->type]);
}

void metric_put(metric_text *t, const metric_family *f, const char *labels, unsigned part, int64_t value)
{
    family_begin(t, f);
    if (f->type != METRIC_HISTOGRAM) {
        line_put(t, "", labels, NULL, value, f->seconds);
        return;
    }
    if (!t->open || strcmp(t->labels, labels) != 0) {
        const size_t n = strlen(labels) < sizeof t->labels ? strlen(labels) : sizeof t->labels - 1;

        histogram_end(t, 0);
        memcpy(t->labels, labels, n);
        t->labels[n] = '\0';
        t->part = 0;
        t->count = 0;
        t->open = true;
    }
    if (part > bounds_of(f)) {
        histogram_end(t, value);
        return;
    }
    parts_put(t, part);
    t->count += value;
}

void metric_real(metric_text *t, const metric_family *f, const char *labels, double value)
{
    char text[REAL_TEXT_MAX];

    family_begin(t, f);
    buf_text(t->out, f->name);
    if (*labels != '\0')
        buf_fmt(t->out, "{%s}", labels);
    buf_char(t->out, ' ');
    buf_put(t->out, text, real_text(value, text));
    buf_char(t->out, '\n');
}

void metric_end(metric_text *t) { histogram_end(t, 0); }
