/* keys.c - reads, checks and reports the value of one key.
 *
 * Called by the other files of this folder; calls none of them except faults.c. */
#include "file/load/load.h"

#include <stdlib.h>

enum { HINT_BYTES = 120, TEXT_SHOWN = 40, NAME_MOST = 64 };

/* ---- telling -------------------------------------------------------------------------------------- */

const char *load_fmt(loader *l, const char *fmt, ...)
{
    const char *out = NULL;
    va_list args;
    buf b;

    buf_init(&b, &l->mem->alloc);
    va_start(args, fmt);
    buf_fmtv(&b, fmt, args);
    va_end(args);
    if (b.failed)
        l->mem->failed = true;
    else
        out = arena_strdup(l->mem, b.size > 0 ? b.data : "", b.size);
    buf_free(&b);
    return out;
}

/* The number of bytes that a message shows. */
static int text_shown(const char *text)
{
    size_t n = strlen(text), most = n > TEXT_SHOWN ? TEXT_SHOWN : n;

    while (most < n && most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return (int)most;
}

const char *doc_what(loader *l, const doc *d)
{
    const char *text = NULL;

    switch (d->kind) {
    case DOC_LIST: return d->size > 0 ? "a list" : "an empty list";
    case DOC_MAP: return d->size > 0 ? "a map" : "an empty map";
    case DOC_SCALAR: break;
    }
    if (doc_type(d) == PAWL_TYPE_NULL)
        return "nothing";
    if (doc_type(d) == PAWL_TYPE_STRING)
        text = load_fmt(l, "the text \"%.*s%s\"", text_shown(d->text), d->text, d->text[text_shown(d->text)] != '\0' ? "..." : "");
    else
        text = load_fmt(l, doc_type(d) == PAWL_TYPE_BOOL ? "%.*s" : "the number %.*s", text_shown(d->text), d->text);
    return text != NULL ? text : "something else";
}

static bool wants(loader *l, const doc *d, const char *key, const char *due)
{
    fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`%s` is %s, and this is %s", key, due, doc_what(l, d));
    return false;
}

void fault_hint(loader *l, source_place at, const char *kind, const char *what, const char *name, const char *const *names, size_t n)
{
    char hint[HINT_BYTES] = "";
    int most = text_shown(name);

    if (strlen(name) > 1 && l->f->count <= FILE_FAULTS_MAX)     /* a single letter is similar to any other */
        did_you_mean(hint, sizeof hint, name, names, n);
    fault_at(l->f, at, PAWL_SEVERITY_FAULT, kind, "%s \"%.*s%s\"%s", what, most, name, name[most] != '\0' ? "..." : "", hint);
}

const char *name_meant(const char *name, const char *const *names, size_t n)
{
    char hint[HINT_BYTES];
    const char *from;

    if (strlen(name) < 2 || *did_you_mean(hint, sizeof hint, name, names, n) == '\0' || (from = strchr(hint, '"')) == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (strncmp(from + 1, names[i], strlen(names[i])) == 0 && from[1 + strlen(names[i])] == '"')
            return names[i];
    return NULL;
}

/* Names of these keys in other systems. */
static const struct { const char *theirs, *ours, *text; } habits[] = {
    { "command", "run", "a command is `run: [program, argument, ...]`" }, { "cmd", "run", "a command is `run: [program, argument, ...]`" },
    { "exec", "run", "a command is `run: [program, argument, ...]`" }, { "script", "shell", "a text for sh is `shell: TEXT`" },
    { "goto", "next", "where a node leads is `next: NODE`" }, { "then", "next", "where a node leads is `next: NODE`" },
    { "needs", "join", "to wait for others is `join: [NODE, ...]`" }, { "depends_on", "join", "to wait for others is `join: [NODE, ...]`" },
    { "foreach", "each", "to do it for each element is `each: {of: EXPRESSION, node: NODE, as: NAME}`" },
    { "for_each", "each", "to do it for each element is `each: {of: EXPRESSION, node: NODE, as: NAME}`" },
    { "if", "next", "a condition is `next: [{when: EXPRESSION, to: NODE}, {else: NODE}]`" },
    { "when", "next", "a condition is `next: [{when: EXPRESSION, to: NODE}, {else: NODE}]`" },
    { "sleep", "wait", "to wait is `wait: 10s`" }, { "question", "ask", "to ask a person is `ask: TEXT`" },
    { "retries", "retry", "to try again is `retry: {max_attempts: 3}`" }, { "attempts", "max_attempts", "the number of attempts in all is `max_attempts`" },
    { "steps", "nodes", "what the agent does is `nodes: {NAME: {...}}`" }, { "channels", "state", "channels are `state: {NAME: {}}`" },
    { "entry", "start", "the first node is `start: NODE`" }, { "initial", "default", "what a channel begins with is `default`" },
};
enum { HABITS = sizeof habits / sizeof *habits };

static const char *instead_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < HABITS; i++)
        for (size_t k = 0; strcmp(name, habits[i].theirs) == 0 && k < n; k++)
            if (strcmp(names[k], habits[i].ours) == 0)
                return habits[i].text;
    return NULL;
}

bool key_there(const doc *map, const char *key)
{
    if (doc_get(map, key) != NULL)
        return true;
    for (size_t i = 0; i < HABITS; i++)
        if (strcmp(habits[i].ours, key) == 0 && doc_get(map, habits[i].theirs) != NULL)
            return true;
    return false;
}

void key_unknown(loader *l, doc *map, size_t i, const char *what, const char *const *names, size_t n)
{
    doc *key = map->keys[i];
    const char *instead = instead_of(key->text, names, n), *meant = name_meant(key->text, names, n);

    if (instead != NULL)
        fault_at(l->f, key->at, PAWL_SEVERITY_FAULT, "unknown-key", "%s \"%s\": %s", what, key->text, instead);
    else
        fault_hint(l, key->at, "unknown-key", what, key->text, names, n);
    if (instead == NULL && meant != NULL && doc_get(map, meant) == NULL)
        key->text = meant;
}

void keys_known(loader *l, const doc *map, const char *what, const char *const *names, size_t n)
{
    const char *said = load_fmt(l, "%s has no key", what);

    for (size_t i = 0; said != NULL && map->kind == DOC_MAP && i < map->size; i++) {
        bool known = false;

        for (size_t k = 0; k < n && !known; k++)
            known = strcmp(map->keys[i]->text, names[k]) == 0;
        if (!known)
            key_unknown(l, (doc *)(uintptr_t)map, i, said, names, n);
    }
}

/* ---- texts and names --------------------------------------------------------------------------------- */

bool key_text(loader *l, const doc *d, const char *key, const char **out)
{
    if (d->kind != DOC_SCALAR || doc_type(d) == PAWL_TYPE_NULL)
        return wants(l, d, key, "a text");
    *out = d->text;
    return true;
}

bool key_plain(loader *l, const doc *d, const char *key, const char **out)
{
    if (!key_text(l, d, key, out))
        return false;
    if (*d->text == '\0') {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "empty", "`%s` is an empty text", key);
        return false;
    }
    if (strstr(d->text, "{{") == NULL)
        return true;
    fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "template", "`%s` takes no `{{...}}`: it is the same in every run", key);
    return false;
}

static bool is_name(const char *text, size_t most)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

    return n > 0 && n <= most && text[n] == '\0' && *text != '-';
}

static bool bad_name(loader *l, const doc *d, const char *what, size_t most)
{
    int shows = text_shown(d->text);

    fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "bad-name", "%s: \"%.*s%s\" is no name: letters, digits, _ and -, %zu at most, not beginning with -", what,
             shows, d->text, d->text[shows] != '\0' ? "..." : "", most);
    return false;
}

bool name_declare(loader *l, const doc *key, const char *what, size_t most)
{
    return is_name(key->text, most) || bad_name(l, key, what, most);
}

static bool is_declared(const loader *l, const char *name)
{
    return l->a != NULL && l->a->d != NULL && (doc_get(doc_get(l->a->d, "nodes"), name) != NULL || doc_get(doc_get(l->a->d, "state"), name) != NULL);
}

bool key_name(loader *l, const doc *d, const char *key, named_place *out)
{
    const char *what;

    if (d->kind != DOC_SCALAR || doc_type(d) == PAWL_TYPE_NULL)
        return wants(l, d, key, "a name");
    if (!is_name(d->text, NAME_MOST) && !is_declared(l, d->text))
        return (what = load_fmt(l, "`%s`", key)) != NULL && bad_name(l, d, what, NAME_MOST);
    *out = (named_place){ d->text, d->at };
    return true;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* By name; of the same name the first one in the file is the first. */
static int by_name_and_place(const void *a, const void *b)
{
    const named_place *x = *(named_place *const *)a, *y = *(named_place *const *)b;
    const int c = strcmp(x->name, y->name);

    return c != 0 ? c : x < y ? -1 : 1;
}

/* Each name that stands twice is reported, and its second place is left out. */
static bool names_once(loader *l, const char *key, name_list *out)
{
    named_place **order = arena_get(l->mem, (out->n + 1) * sizeof *order);
    bool *twice = arena_zero(l->mem, out->n + 1);
    size_t n = 0;

    out->sorted = arena_get(l->mem, (out->n + 1) * sizeof *out->sorted);
    if (order == NULL || twice == NULL || out->sorted == NULL)
        return false;
    for (size_t i = 0; i < out->n; i++)
        order[i] = &out->names[i];
    if (out->n > 0)
        qsort(order, out->n, sizeof *order, by_name_and_place);
    for (size_t i = 0, k = 0; i < out->n; i++)
        if (i > 0 && strcmp(order[i - 1]->name, order[i]->name) == 0)
            twice[order[i] - out->names] = true;
        else
            out->sorted[k++] = order[i]->name;
    for (size_t i = 0; i < out->n; i++)
        if (twice[i])
            fault_at(l->f, out->names[i].at, PAWL_SEVERITY_FAULT, "twice", "`%s` names \"%s\" twice", key, out->names[i].name);
        else
            out->names[n++] = out->names[i];
    out->n = n;
    return true;
}

bool name_list_has(const name_list *list, const char *name)
{
    return list->n > 0 && bsearch(&name, list->sorted, list->n, sizeof *list->sorted, by_name) != NULL;
}

bool key_names(loader *l, const doc *d, const char *key, name_list *out)
{
    size_t n = d->kind == DOC_LIST ? d->size : 1;
    bool good = true;

    if (d->kind == DOC_MAP)
        return wants(l, d, key, "a name, or a list of names");
    if (n == 0) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "empty", "`%s` is an empty list: name at least one node", key);
        return false;
    }
    if ((out->names = arena_zero(l->mem, n * sizeof *out->names)) == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const bool named = key_name(l, d->kind == DOC_LIST ? d->items[i] : d, key, &out->names[out->n]);

        out->n += named;
        good = good && named;
    }
    return names_once(l, key, out) && good;
}

bool key_bool(loader *l, const doc *d, const char *key, bool *out)
{
    if (doc_type(d) != PAWL_TYPE_BOOL)
        return wants(l, d, key, "true or false");
    *out = d->text[0] == 't' || d->text[0] == 'T';
    return true;
}

bool key_count(loader *l, const doc *d, const char *key, uint32_t least, uint32_t most, uint32_t *out)
{
    const pawl_value *v = doc_type(d) == PAWL_TYPE_INT ? doc_value(d, l->mem, l->f) : NULL;

    if (v == NULL && doc_type(d) != PAWL_TYPE_INT)
        return wants(l, d, key, "a whole number");
    if (v == NULL)
        return false;
    if (pawl_value_int(v) < (int64_t)least || pawl_value_int(v) > (int64_t)most || pawl_value_uint(v) > (uint64_t)INT64_MAX) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "range", "`%s` is %.40s: from %u to %u is possible", key, d->text, (unsigned)least, (unsigned)most);
        return false;
    }
    *out = (uint32_t)pawl_value_int(v);
    return true;
}

/* ---- times ----------------------------------------------------------------------------------------------- */

/* "250ms", "1.5s", "10m", with at most three decimals. Too long: UINT64_MAX. */
static bool duration_read(const char *text, uint64_t *ms)
{
    static const struct { const char *unit; uint64_t ms; } units[] = {
        { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
    };
    uint64_t whole = 0, part = 0, scale = 1;
    const char *at = text;

    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++)
        whole = whole > UINT32_MAX ? whole : whole * 10 + (uint64_t)(*at - '0');
    if (*at == '.') {
        for (at++; *at >= '0' && *at <= '9' && scale < 1000; at++, scale *= 10)
            part = part * 10 + (uint64_t)(*at - '0');
        if (scale == 1)
            return false;
    }
    while (*at == ' ')
        at++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(at, units[i].unit) == 0) {
            *ms = whole > UINT32_MAX ? UINT64_MAX : whole * units[i].ms + part * units[i].ms / scale;
            return true;
        }
    return false;
}

bool key_duration(loader *l, const doc *d, const char *key, uint32_t least, uint32_t *ms)
{
    uint64_t n = 0;

    if (d->kind != DOC_SCALAR || doc_type(d) == PAWL_TYPE_NULL)
        return wants(l, d, key, "a duration such as 250ms, 10s, 5m, 2h or 1d");
    if (!duration_read(d->text, &n)) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "duration", "`%s`: \"%.*s\" is no duration: a number and ms, s, m, h or d, such as 250ms or 10s", key,
                 text_shown(d->text), d->text);
        return false;
    }
    if (n > UINT32_MAX || n < least) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "range", n < least ? "`%s`: %.40s is less than a millisecond" : "`%s`: %.40s is more than 49 days",
            key, d->text);
        return false;
    }
    *ms = (uint32_t)n;
    return true;
}

static bool key_factor(loader *l, const doc *d, double *out)
{
    const pawl_type t = doc_type(d);
    const pawl_value *v = t == PAWL_TYPE_INT || t == PAWL_TYPE_REAL ? doc_value(d, l->mem, l->f) : NULL;

    if (v == NULL && t != PAWL_TYPE_INT && t != PAWL_TYPE_REAL)
        return wants(l, d, "factor", "a number from 1 to 100");
    if (v == NULL)
        return false;
    *out = pawl_value_real(v);
    if (*out >= 1 && *out <= 100)
        return true;
    fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "range", "`factor` is %s: from 1 to 100 is possible", d->text);
    return false;
}

bool key_retry(loader *l, const doc *d, pawl_retry *out)
{
    static const char *const names[] = { "max_attempts", "initial", "max", "factor", "jitter" };
    const doc *one;
    bool good = true;

    if (d->kind != DOC_MAP)
        return wants(l, d, "retry", "a map such as {max_attempts: 3, initial: 1s}");
    keys_known(l, d, "`retry`", names, sizeof names / sizeof *names);
    *out = (pawl_retry){ .max_attempts = 3, .initial_ms = 1000, .max_ms = 60000, .factor = 2 };
    if ((one = doc_get(d, "max_attempts")) != NULL) {
        good = key_count(l, one, "max_attempts", 1, 1000000, &out->max_attempts) && good;
    } else {
        if (!key_there(d, "max_attempts"))
            fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "`retry` needs `max_attempts`, the number of attempts in all");
        good = false;
    }
    if ((one = doc_get(d, "initial")) != NULL)
        good = key_duration(l, one, "initial", 0, &out->initial_ms) && good;
    if (out->max_ms < out->initial_ms)
        out->max_ms = out->initial_ms;
    if ((one = doc_get(d, "max")) != NULL)
        good = key_duration(l, one, "max", 0, &out->max_ms) && good;
    if ((one = doc_get(d, "jitter")) != NULL)
        good = key_bool(l, one, "jitter", &out->jitter) && good;
    if ((one = doc_get(d, "factor")) != NULL)
        good = key_factor(l, one, &out->factor) && good;
    return good;
}

bool key_timeout(loader *l, const doc *d, uint32_t *attempt_ms, uint32_t *total_ms)
{
    static const char *const names[] = { "attempt", "total" };
    const doc *one;
    bool good = true;

    if (d->kind != DOC_MAP)
        return key_duration(l, d, "timeout", 1, attempt_ms);
    if (d->size == 0) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "empty",
            "`timeout` is a duration, or a map such as {attempt: 30s, total: 5m}, and this is an empty map");
        return false;
    }
    keys_known(l, d, "`timeout`", names, 2);
    if ((one = doc_get(d, "attempt")) != NULL)
        good = key_duration(l, one, "attempt", 1, attempt_ms);
    if ((one = doc_get(d, "total")) != NULL)
        good = key_duration(l, one, "total", 1, total_ms) && good;
    return good;
}

/* ---- schemas -------------------------------------------------------------------------------------------- */

/* The place in `d` that the JSON pointer at the beginning of `text` leads to, as far as it exists. */
static source_place place_within(const doc *d, const char *text)
{
    source_place at = d->at;

    while (*text == '/' && (d->kind == DOC_LIST || d->kind == DOC_MAP)) {
        size_t n = strcspn(++text, "/:"), i = 0;

        for (; i < d->size; i++) {
            char number[24];
            const char *key = d->kind == DOC_MAP ? d->keys[i]->text : number;

            snprintf(number, sizeof number, "%zu", i);
            if (strlen(key) == n && strncmp(key, text, n) == 0)
                break;
        }
        if (i == d->size)
            break;
        at = d->kind == DOC_MAP ? d->keys[i]->at : d->items[i]->at;
        d = d->items[i];
        text += n;
    }
    return at;
}

bool key_schema(loader *l, const doc *d, const char *key, const pawl_value **out)
{
    const pawl_value *v = doc_value(d, l->mem, l->f);
    pawl_err err = {0};

    if (v == NULL)
        return false;
    if (schema_known(v, key, &err) != PAWL_OK) {
        size_t n = strlen(key);

        fault_at(l->f, strncmp(err.text + n, ": /", 3) == 0 ? place_within(d, err.text + n + 2) : d->at, PAWL_SEVERITY_FAULT, "schema", "%s", err.text);
        return false;
    }
    *out = v;
    return true;
}
