/* budget_keys.c - `budget` and `prices` of an agent file: what a run may spend, and what models cost.
 *
 * Called while a file is read, on one thread; price_of() also in visits. */
#include "file/load/load.h"
#include "file/read.h"

enum { MONEY_DIGITS = 6, MONEY_WHOLE_MAX = 12 };

bool money_read(const char *text, int64_t *micros)
{
    const size_t whole = strspn(text, "0123456789"), rest = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    int64_t n = 0;

    if (whole == 0 || whole > MONEY_WHOLE_MAX || rest > MONEY_DIGITS || text[whole + (text[whole] == '.') + rest] != '\0' || (text[whole] == '.' && rest == 0))
        return false;
    for (size_t i = 0; i < whole; i++)
        n = n * 10 + (text[i] - '0');
    for (size_t i = 0; i < MONEY_DIGITS; i++)
        n = n * 10 + (i < rest ? text[whole + 1 + i] - '0' : 0);
    *micros = n;
    return true;
}

static bool key_money(loader *l, const doc *d, const char *key, int64_t *micros)
{
    if (d->kind == DOC_SCALAR && money_read(d->text, micros))
        return true;
    fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "money", "`%s` is an amount such as 2 or 1.50, with at most %d digits behind the point, and not %s",
        key, MONEY_DIGITS,
             doc_what(l, d));
    return false;
}

void read_budget(loader *l, const doc *d)
{
    static const char *const names[] = { "calls", "tokens", "money", "time" };
    pawl_caps *c = &l->a->caps;
    uint32_t calls = 0, tokens = 0, ms = 0;
    const doc *one;

    if (d->kind != DOC_MAP) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`budget` is a map of bounds, {calls: 100, tokens: 200000, money: 1.50, time: 10m}, and this is %s",
                 doc_what(l, d));
        return;
    }
    keys_known(l, d, "`budget`", names, sizeof names / sizeof *names);
    if ((one = doc_get(d, "calls")) != NULL && key_count(l, one, "calls", 1, UINT32_MAX, &calls))
        c->calls = calls;
    if ((one = doc_get(d, "tokens")) != NULL && key_count(l, one, "tokens", 1, UINT32_MAX, &tokens))
        c->tokens = tokens;
    if ((one = doc_get(d, "time")) != NULL && key_duration(l, one, "time", 1, &ms))
        c->ms = ms;
    if ((one = doc_get(d, "money")) != NULL && key_money(l, one, "money", &c->micros) && c->micros == 0)
        fault_at(l->f, one->at, PAWL_SEVERITY_FAULT, "range", "`money` is more than 0");
    l->a->budget_at = d->at;
}

/* ---- prices: a file, so that it can be replaced by itself --------------------------------------------------- */

static void read_price(loader *l, const doc *model, const doc *d)
{
    static const char *const names[] = { "input", "output" };
    const doc *in = doc_get(d, "input"), *out = doc_get(d, "output");
    model_price *p;

    keys_known(l, d, "a price", names, 2);
    if (in == NULL || out == NULL) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "%s: a price has `input` and `output`, each for a million tokens", model->text);
        return;
    }
    if ((p = arena_zero(l->mem, sizeof *p)) == NULL || !key_money(l, in, "input", &p->input) || !key_money(l, out, "output", &p->output))
        return;
    p->model = model->text;
    p->next = l->a->prices;
    l->a->prices = p;
}

void read_prices(loader *l, const doc *d)
{
    const char *name, *path;
    pawl_bytes text;
    const doc *all;

    if (!key_plain(l, d, "prices", &name) || !load_source(l, name, d->at, &path, &text) || (all = doc_read(l->mem, path, text, l->f)) == NULL)
        return;
    if (all->kind != DOC_MAP) {
        fault_at(l->f, all->at, PAWL_SEVERITY_FAULT, "type", "prices are a map of models, {MODEL: {input: 3.00, output: 15.00}}, each for a million tokens");
        return;
    }
    for (size_t i = 0; i < all->size; i++)
        read_price(l, all->keys[i], all->items[i]);
}

const model_price *price_of(const agent_file *a, const char *model)
{
    const model_price *p = a->root->prices;

    while (p != NULL && (model == NULL || strcmp(p->model, model) != 0))
        p = p->next;
    return p;
}

/* Rounded up, so that a cost never exceeds its reservation. */
int64_t price_micros(int64_t tokens, int64_t a_million)
{
    return tokens <= 0 || a_million <= 0 ? 0 : tokens > INT64_MAX / a_million - 1000000 ? INT64_MAX : (tokens * a_million + 999999) / 1000000;
}
