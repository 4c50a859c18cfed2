/* fuzz_shell.c - any bytes as a command line: split within its limits, every part lies in the text or in a text made of it, and what is
 * decided of it keeps its order: a rule that denies never loosens, and nothing unsure is allowed by a rule. */
#include "policy/policy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static bool lies_in(const char *p, size_t n, const char *from, size_t size)
{
    return p >= from && p <= from + size && n <= (size_t)(from + size - p);
}

static void split_holds(const shell *s, const char *text, size_t size)
{
    must(s->nparts <= SHELL_PARTS_MAX && s->nwords <= SHELL_WORDS_MAX && s->nedits <= SHELL_EDITS_MAX && s->ntexts <= SHELL_TEXTS_MAX);
    must(s->pool_used <= SHELL_POOL_BYTES && s->aside_used <= SHELL_ASIDE_BYTES && (!s->unseen || s->unsure != NULL));
    for (size_t i = 0; i < s->nparts; i++) {
        const shell_part *p = &s->parts[i];

        must(lies_in(p->from, p->size, text, size) || (p->hidden && lies_in(p->from, p->size, s->aside, s->aside_used)));
        must(p->first + p->count <= s->nwords && p->edit + p->edits <= s->nedits);
        must(p->hidden || i == 0 || !s->parts[i - 1].hidden);
        for (uint32_t k = 0; k < p->count; k++) {
            const shell_word *w = &s->words[p->first + k];

            must(lies_in(w->text, w->size, s->pool, s->pool_used) && w->known <= w->size && memchr(w->text, ' ', w->size) == NULL);
        }
    }
}

static pawl_policy *policy(const char *text)
{
    pawl_policy *p = pawl_policy_read(NULL, text, strlen(text), NULL);

    must(p != NULL);
    return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pawl_policy *loose, *tight;
    static shell s;
    pawl_request q = { .tool = "Bash", .cls = PAWL_PERMISSION_EXEC, .mode = PAWL_MODE_DEFAULT };
    pawl_decision a, b, c;
    char rules[PAWL_ALWAYS_MAX][PAWL_RULE_BYTES];
    arena mem;

    if (loose == NULL) {
        loose = policy("{\"cwd\":\"/w\",\"home\":\"/h\",\"allow\":[\"Bash\",\"Edit(//w/**)\"]}");
        tight = policy("{\"cwd\":\"/w\",\"home\":\"/h\",\"allow\":[\"Bash\",\"Edit(//w/**)\"],\"deny\":[\"Bash(rm *)\",\"Edit(*.key)\"]}");
    }
    shell_split(&s, (const char *)data, size);
    split_holds(&s, (const char *)data, size);
    arena_init(&mem, NULL, 4096);
    q.args = value_with(&mem, value_pack(&mem, NULL, "{}"), "command", value_string(&mem, (const char *)data, size));
    for (unsigned m = PAWL_MODE_PLAN; q.args != NULL && m <= PAWL_MODE_BYPASS; m++) {
        q.mode = (pawl_mode)m;
        pawl_decide(loose, &q, &a);
        pawl_decide(tight, &q, &b);
        pawl_decide(NULL, &q, &c);
        must(c.behavior != PAWL_BEHAVIOR_ALLOW || m != PAWL_MODE_DEFAULT || shell_only_reads(&s, (const char *)data, size));
        must(a.behavior >= PAWL_BEHAVIOR_ALLOW && b.behavior >= a.behavior);
        must(s.unsure == NULL || a.behavior != PAWL_BEHAVIOR_ALLOW || m == PAWL_MODE_BYPASS);
        must(utf8_valid(a.reason, strlen(a.reason)) && utf8_valid(a.part, strlen(a.part)) && strchr(a.reason, '\n') == NULL);
        must(pawl_policy_always(tight, &q, rules) <= PAWL_ALWAYS_MAX);
    }
    arena_free(&mem);
    return 0;
}
