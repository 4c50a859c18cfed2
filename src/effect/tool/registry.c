/* registry.c - a set of tools, in the order in which they were added.
 *
 * The set belongs to its caller; it is filled on one thread before the engine gets it, and read on any thread afterwards. */
#include "effect/tool/bg_shell.h"

enum {
    TOOL_NAME_MAX = 56,
    DESCRIPTION_BYTES_MAX = 16384,
    SCHEMA_BYTES_MAX = 65536,
    RUN_WORDS_MAX = 256,
    TIMEOUT_MAX = 3600000,      /* an hour */
    OUTPUT_MAX = WHOLE_BYTES_MAX,
    WORD_BYTES = 64,            /* of a search word */
    SEARCH_WORDS_MAX = 16
};

struct pawl_tools {
    pawl_alloc alloc;
    arena mem;                  /* for the contents of the entries */
    tool_entry **all;
    size_t n, cap;
    pawl_sandbox sandbox;       /* its lists are in `mem` */
    tools_beside beside;
    bg_shells *bg;
};

pawl_tools *pawl_tools_new(const pawl_alloc *alloc, pawl_err *err)
{
    const pawl_alloc own = mem_or_default(alloc);
    pawl_tools *t = mem_new(&own, sizeof *t);

    if (t == NULL || (t->bg = bg_shells_new()) == NULL) {
        mem_free(&own, t, sizeof *t);
        fail(err, PAWL_NOMEM, "tools: no memory");
        return NULL;
    }
    t->alloc = own;
    arena_init(&t->mem, &own, 4096);
    return t;
}

void pawl_tools_free(pawl_tools *t)
{
    pawl_alloc alloc;

    if (t == NULL)
        return;
    alloc = t->alloc;
    bg_shells_free(t->bg);
    arena_free(&t->mem);
    mem_free(&alloc, t->all, t->cap * sizeof(tool_entry *));
    mem_free(&alloc, t, sizeof *t);
}

/* ---- what is added ----------------------------------------------------------------------------------- */

static bool name_fine(const char *name)
{
    size_t n = 0;

    for (; name != NULL && name[n] != '\0'; n++)
        if (n == TOOL_NAME_MAX || !((name[n] >= 'a' && name[n] <= 'z') || (name[n] >= 'A' && name[n] <= 'Z') ||
                                    (name[n] >= '0' && name[n] <= '9') || name[n] == '_' || name[n] == '-'))
            return false;
    return n > 0;
}

static bool text_fine(const char *text, size_t most)
{
    return text == NULL || (strlen(text) <= most && utf8_valid(text, strlen(text)));
}

static pawl_code checked(const pawl_tools *t, const pawl_tool *tool, pawl_err *err)
{
    if (name_fine(tool->name) && tool->name[0] == '-')
        return fail(err, PAWL_INVALID, "tool \"%s\": its name begins with a dash; choose another one", tool->name);
    if (!name_fine(tool->name))
        return fail(err, PAWL_INVALID, "tool \"%.80s\": its name is not 1 to %d of A-Z a-z 0-9 _ -", tool->name != NULL ? tool->name : "", TOOL_NAME_MAX);
    if (pawl_tools_find(t, tool->name) != NULL)
        return fail(err, PAWL_CONFLICT, "tool %s: there is one of that name already", tool->name);
    if (tool->rule != NULL && !name_fine(tool->rule))
        return fail(err, PAWL_INVALID, "tool %s: its name in rules is not 1 to %d of A-Z a-z 0-9 _ -", tool->name, TOOL_NAME_MAX);
    if (!text_fine(tool->description, DESCRIPTION_BYTES_MAX) || !text_fine(tool->hint, DESCRIPTION_BYTES_MAX))
        return fail(err, PAWL_INVALID, "tool %s: its description or hint is no UTF-8, or over %d bytes", tool->name, DESCRIPTION_BYTES_MAX);
    if (tool->schema == NULL || strlen(tool->schema) > SCHEMA_BYTES_MAX)
        return fail(err, PAWL_INVALID, "tool %s: a schema is due, of at most %d bytes", tool->name, SCHEMA_BYTES_MAX);
    if (pawl_permission_name(tool->cls)[0] == '\0')
        return fail(err, PAWL_INVALID, "tool %s: %d is no class of permission", tool->name, (int)tool->cls);
    if ((int)tool->effect < PAWL_CLASS_AT_LEAST_ONCE || tool->effect > PAWL_CLASS_ONCE)
        return fail(err, PAWL_INVALID, "tool %s: %d is no class of effects", tool->name, (int)tool->effect);
    if (tool->timeout_ms > TIMEOUT_MAX || tool->output_bytes > OUTPUT_MAX)
        return fail(err, PAWL_INVALID, "tool %s: more than %d ms, or than %d bytes of output", tool->name, TIMEOUT_MAX, OUTPUT_MAX);
    if (t->n == PAWL_TOOLS_MAX)
        return fail(err, PAWL_LIMIT, "tool %s: there are %d already, as many as there may be", tool->name, PAWL_TOOLS_MAX);
    return PAWL_OK;
}

static tool_entry *entry_make(pawl_tools *t, const pawl_tool *tool, pawl_err *err)
{
    tool_entry *e = arena_zero(&t->mem, sizeof *e);
    pawl_err why = {0};

    if (e == NULL)
        return NULL;
    e->sandbox = &t->sandbox;
    e->beside = &t->beside;
    e->bg = t->bg;
    e->tool = *tool;
    e->tool.name = arena_text(&t->mem, tool->name);
    e->tool.rule = arena_text(&t->mem, tool->rule != NULL ? tool->rule : tool->name);
    e->tool.description = arena_text(&t->mem, tool->description);
    e->tool.schema = arena_text(&t->mem, tool->schema);
    e->tool.hint = arena_text(&t->mem, tool->hint);
    e->tool.env = NULL;         /* the words of a program are kept with the entry */
    if (tool->timeout_ms == 0)
        e->tool.timeout_ms = PAWL_TOOL_TIMEOUT_MS;
    if (tool->output_bytes == 0)
        e->tool.output_bytes = PAWL_TOOL_OUTPUT_BYTES;
    e->schema = value_parse(&t->mem, tool->schema, strlen(tool->schema), "schema", &why);
    if (e->schema == NULL && !t->mem.failed)
        fail(err, PAWL_INVALID, "tool %s: %s", tool->name, why.text);
    else if (e->schema != NULL && pawl_value_type(e->schema) != PAWL_TYPE_OBJECT)
        fail(err, PAWL_INVALID, "tool %s: its schema is no object", tool->name);
    else if (!t->mem.failed)
        return e;
    return NULL;
}

/* What a failure leaves in the arena is freed with the set. */
static pawl_code add(pawl_tools *t, const pawl_tool *tool, tool_entry **out, pawl_err *err)
{
    pawl_err own = {0};
    tool_entry *e = NULL;
    void *all = t->all;
    pawl_code rc = checked(t, tool, err);

    if (rc != PAWL_OK)
        return rc;
    t->mem.failed = false;
    if (!mem_room(&t->alloc, &all, &t->cap, t->n, sizeof *t->all) || (t->all = all, (e = entry_make(t, tool, &own)) == NULL)) {
        if (own.code == PAWL_OK)
            fail(&own, PAWL_NOMEM, "tool %s: no memory", tool->name);
        return fail(err, own.code, "%s", own.text);
    }
    *out = e;
    return PAWL_OK;
}

static void added(pawl_tools *t, tool_entry *e)
{
    const bool performed = e->fn != NULL || e->own != NULL;

    e->tool.fn = performed ? tool_perform : NULL;
    e->tool.arg = performed ? e : NULL;
    t->all[t->n++] = e;
}

pawl_code pawl_tools_add(pawl_tools *t, const pawl_tool *tool, pawl_err *err)
{
    tool_entry *e = NULL;
    pawl_code rc = add(t, tool, &e, err);

    if (rc != PAWL_OK)
        return rc;
    e->fn = tool->fn;
    e->arg = tool->arg;
    added(t, e);
    return PAWL_OK;
}

/* A copy of `n` words, ending in NULL. */
static const char **words_kept(arena *mem, const char *const *words, size_t n)
{
    const char **out = arena_zero(mem, (n + 1) * sizeof *out);

    for (size_t i = 0; out != NULL && i < n; i++)
        out[i] = arena_text(mem, words[i]);
    return out;
}

pawl_code pawl_tool_command(pawl_tools *t, const pawl_tool *tool, const char *const *run, pawl_err *err)
{
    tool_entry *e = NULL;
    size_t n = 0, nenv = 0;
    pawl_code rc = add(t, tool, &e, err);

    if (rc != PAWL_OK)
        return rc;
    while (run != NULL && run[n] != NULL && n <= RUN_WORDS_MAX)
        n++;
    if (n == 0 || n > RUN_WORDS_MAX || run[0][0] == '\0')
        return fail(err, PAWL_INVALID, "tool %s: its command is not 1 to %d words, a program first", tool->name, RUN_WORDS_MAX);
    while (tool->env != NULL && tool->env[nenv] != NULL && nenv <= RUN_WORDS_MAX)
        nenv++;
    if (nenv > RUN_WORDS_MAX)
        return fail(err, PAWL_LIMIT, "tool %s: more than %d variables (RUN_WORDS_MAX)", tool->name, RUN_WORDS_MAX);
    for (size_t i = 0; i < n; i++)
        if (!utf8_valid(run[i], strlen(run[i])))
            return fail(err, PAWL_INVALID, "tool %s: word %zu of its command is no UTF-8", tool->name, i);
    e->run = words_kept(&t->mem, run, n);
    e->tool.env = words_kept(&t->mem, tool->env, nenv);
    if (t->mem.failed)
        return fail(err, PAWL_NOMEM, "tool %s: no memory", tool->name);
    e->own = tool_command;
    added(t, e);
    return PAWL_OK;
}

/* The tool as a set had it; false: the set has none of that name. */
static bool in_set(const builtin *b, unsigned set, pawl_tool *out)
{
    *out = b->tool;
    out->usual_args = set > TOOLSET_FIRST;
    out->seen = b->tool.seen && set >= TOOLSET_SEEN;
    for (size_t i = 0; i < builtins_were_count; i++)
        if (set <= builtins_were[i].until && strcmp(builtins_were[i].name, b->tool.name) == 0) {
            out->schema = builtins_were[i].schema;
            out->description = builtins_were[i].description;
            break;
        }
    return b->since <= set;
}

static pawl_code add_set(pawl_tools *t, const char *name, unsigned set, pawl_err *err)
{
    const size_t before = t->n;
    tool_entry *e = NULL;
    pawl_code rc = PAWL_OK;
    bool found = false;
    pawl_tool tool;

    for (size_t i = 0; i < builtins_count && rc == PAWL_OK; i++) {
        if ((name != NULL && strcmp(builtins[i].tool.name, name) != 0) || !in_set(&builtins[i], set, &tool))
            continue;
        found = true;
        if ((rc = add(t, &tool, &e, err)) == PAWL_OK) {
            e->own = builtins[i].own;
            e->any_mode = e->own == tool_bash;
            added(t, e);
        }
    }
    if (rc != PAWL_OK)
        t->n = before;
    return found ? rc : fail(err, PAWL_INVALID, "tool %.80s: none of that name comes with the library", name);
}

pawl_code pawl_tools_add_builtin(pawl_tools *t, const char *name, pawl_err *err)
{
    return add_set(t, name, TOOLSET_NOW, err);
}

pawl_code tools_add_set(pawl_tools *t, unsigned set, pawl_err *err)
{
    return add_set(t, NULL, set, err);
}

/* ---- the sandbox --------------------------------------------------------------------------------------- */

static bool list_fine(const char *const *list, bool paths)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        if (list[i][0] == '\0' || (paths && list[i][0] != '/'))
            return false;
    return true;
}

static const char *const *list_kept(arena *mem, const char *const *list)
{
    size_t n = 0;

    while (list != NULL && list[n] != NULL)
        n++;
    return words_kept(mem, list, n);
}

pawl_code pawl_tools_sandbox(pawl_tools *t, const pawl_sandbox *s, pawl_err *err)
{
    pawl_sandbox kept = *s;

    if (!list_fine(s->read, true) || !list_fine(s->write, true))
        return fail(err, PAWL_INVALID, "sandbox: a path of `read` or `write` is not absolute");
    if (!list_fine(s->env, false))
        return fail(err, PAWL_INVALID, "sandbox: a variable of `env` has no name");
    if ((unsigned)s->need > PAWL_SANDBOX_OFF)
        return fail(err, PAWL_INVALID, "sandbox: %d is not a pawl_sandbox_need", (int)s->need);
    t->mem.failed = false;
    kept.read = list_kept(&t->mem, s->read);
    kept.write = list_kept(&t->mem, s->write);
    kept.env = list_kept(&t->mem, s->env);
    if (t->mem.failed)
        return fail(err, PAWL_NOMEM, "sandbox: no memory");
    t->sandbox = kept;
    return PAWL_OK;
}

void tools_beside_give(pawl_tools *t, const tools_beside *b)
{
    t->beside = *b;
}

/* ---- what is asked ------------------------------------------------------------------------------------- */

size_t pawl_tools_count(const pawl_tools *t)
{
    return t->n;
}

const pawl_tool *pawl_tools_at(const pawl_tools *t, size_t index)
{
    return index < t->n ? &t->all[index]->tool : NULL;
}

static const tool_entry *entry_of(const pawl_tools *t, const char *name)
{
    for (size_t i = 0; name != NULL && i < t->n; i++)
        if (strcmp(t->all[i]->tool.name, name) == 0)
            return t->all[i];
    return NULL;
}

const pawl_tool *pawl_tools_find(const pawl_tools *t, const char *name)
{
    const tool_entry *e = entry_of(t, name);

    return e != NULL ? &e->tool : NULL;
}

pawl_code pawl_tools_check(const pawl_tools *t, const char *name, const pawl_value *input, pawl_err *err)
{
    const tool_entry *e = entry_of(t, name);
    pawl_err why = {0};

    if (e == NULL)
        return fail(err, PAWL_INVALID, "Tool not found: %.80s", name != NULL ? name : "");
    if (schema_check(e->schema, input, "input", &why) != PAWL_OK)
        return fail(err, why.code, "Invalid arguments: %s", why.text);
    return PAWL_OK;
}

/* ---- searched -------------------------------------------------------------------------------------------- */

static char low(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

/* Whether a word of `text` begins with `word` (in lower case). */
static bool has_word(const char *text, const char *word)
{
    for (const char *p = text; p != NULL && *p != '\0'; p++) {
        size_t n = 0;

        if (p > text && of_word(p[-1]))
            continue;
        while (word[n] != '\0' && low(p[n]) == word[n])
            n++;
        if (word[n] == '\0')
            return true;
    }
    return false;
}

/* The words of a search in lower case; long ones are cut. */
static size_t words_of(const char *text, char words[SEARCH_WORDS_MAX][WORD_BYTES])
{
    size_t n = 0, at = 0;

    for (; text != NULL && *text != '\0'; text++) {
        if (!of_word(*text)) {
            n += at > 0;
            at = 0;
        } else if (n < SEARCH_WORDS_MAX && at < WORD_BYTES - 1) {
            words[n][at++] = low(*text);
            words[n][at] = '\0';
        }
    }
    n += at > 0;
    return n < SEARCH_WORDS_MAX ? n : SEARCH_WORDS_MAX;
}

static unsigned weight(const pawl_tool *tool, char words[SEARCH_WORDS_MAX][WORD_BYTES], size_t n)
{
    unsigned sum = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned one = has_word(tool->name, words[i]) || has_word(tool->rule, words[i]) ? 3
                       : has_word(tool->hint, words[i]) ? 2 : has_word(tool->description, words[i]);

        sum += one > 0 ? 100 + one : 0; /* two matching words outweigh any single one */
    }
    return sum;
}

size_t pawl_tools_search(const pawl_tools *t, const char *words, const pawl_tool **out, size_t most)
{
    char list[SEARCH_WORDS_MAX][WORD_BYTES];
    unsigned weights[PAWL_TOOLS_MAX], best = 0;
    size_t n = words_of(words, list), found = 0;

    for (size_t i = 0; i < t->n; i++) {
        weights[i] = weight(&t->all[i]->tool, list, n);
        best = weights[i] > best ? weights[i] : best;
    }
    for (; best > 0; best--)
        for (size_t i = 0; i < t->n && found < most; i++)
            if (weights[i] == best)
                out[found++] = &t->all[i]->tool;
    return found;
}
