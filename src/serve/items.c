/* items.c - items as JSON: a change, a cursor, and a page of them. Any thread: all of it is of its arguments.
 *
 * The cursors of the server have the life of their run, because a run that is removed may be begun again under its id. */
#include "json/json.h"
#include "serve/serve_inner.h"

#include <stdlib.h>

pawl_code run_life(pawl_store *store, const char *run, uint64_t *life, pawl_err *err)
{
    pawl_head head = { 0 };
    const pawl_code rc = store->verbs->head(store, run, &head, err);

    *life = head.life;
    return rc;
}

static void member(buf *b, const char *name, const char *text)
{
    buf_fmt(b, "\"%s\":", name);
    if (text == NULL)
        buf_word(b, "null");
    else
        canon_string(b, text, strlen(text));
    buf_char(b, ',');
}

/* "RUN~LIFE:SEQ.INDEX": with the life, because a run that is removed may be begun again under its id. */
void item_cursor_put(buf *b, const char *cursor, const char *run, uint64_t life)
{
    const size_t size = strlen(run);

    PAWL_ASSERT(strncmp(cursor, run, size) == 0, "a cursor names its run");
    buf_fmt(b, "%s~%016llx%s", run, (unsigned long long)life, cursor + size);
}

/* Canonical JSON. `json`: the content of the change. */
void item_change_put(buf *b, const pawl_item_change *ch, uint64_t life, const char *json)
{
    static const struct { unsigned bit; const char *name; } whats[] = { { PAWL_ITEM_ADDED, "added" }, { PAWL_ITEM_EMITTED, "emitted" },
        { PAWL_ITEM_ENDED, "ended" }, { PAWL_ITEM_GAP, "gap" }, { PAWL_ITEM_UPDATED, "updated" } };
    bool any = false;

    buf_char(b, '{');
    member(b, "call", ch->call);
    member(b, "child", ch->child);
    buf_word(b, "\"cursor\":\"");       /* ids of runs need no escapes */
    item_cursor_put(b, ch->cursor, ch->run, life);
    buf_word(b, "\",");
    member(b, "id", ch->id);
    buf_fmt(b, "\"json\":%s,", json);
    member(b, "kind", pawl_item_kind_name(ch->kind));
    member(b, "name", ch->name);
    member(b, "node", ch->node);
    member(b, "parent", ch->parent);
    member(b, "part", ch->part);
    member(b, "path", ch->path);
    member(b, "run", ch->run);
    buf_fmt(b, "\"seq\":%llu,", (unsigned long long)ch->seq);
    member(b, "state", pawl_item_state_name(ch->kind, ch->state));
    buf_fmt(b, "\"time_ms\":%lld,\"what\":[", (long long)ch->time_ms);
    for (size_t i = 0; i < sizeof whats / sizeof *whats; i++)
        if ((ch->what & whats[i].bit) != 0) {
            buf_fmt(b, any ? ",\"%s\"" : "\"%s\"", whats[i].name);
            any = true;
        }
    buf_word(b, "]}");
}

/* ---- cursors and kinds ------------------------------------------------------------------------------------------- */

/* "message,tool_call" as bits; 0: there is an unknown one. */
unsigned items_kinds(const char *names)
{
    unsigned all = 0;

    if (names == NULL)
        return 2 * PAWL_ITEM_USAGE - 1;
    while (*names != '\0') {
        const size_t size = strcspn(names, ",");
        unsigned bit = 1;

        while (bit <= PAWL_ITEM_USAGE && (strlen(pawl_item_kind_name((pawl_item_kind)bit)) != size ||
                                          strncmp(pawl_item_kind_name((pawl_item_kind)bit), names, size) != 0))
            bit *= 2;
        if (bit > PAWL_ITEM_USAGE)
            return 0;
        all |= bit;
        names += size + (names[size] == ',' ? 1 : 0);
    }
    return all;
}

const char items_kinds_wrong[] = "kinds: names separated by commas, of run, message, tool_call, node, task, wait, child, artifact, error, usage";

/* If this word of an id is of `run`, its cursor as the store has it. False: it is of another run. PAWL_GONE in `err`: of an earlier one with this id. */
bool item_cursor_read(const char *word, size_t n, const char *run, uint64_t life, char cursor[ITEM_CURSOR_MAX], pawl_err *err)
{
    const size_t size = strlen(run);
    const char *rest = word + size;
    char *end = NULL;

    if (n <= size || strncmp(word, run, size) != 0 || (*rest != ':' && *rest != '~'))
        return false;
    if (*rest == '~') {
        const uint64_t of = strtoull(rest + 1, &end, 16);

        if (end == rest + 1 || *end != ':' || end >= word + n)
            return false;
        if (of != life)
            fail(err, PAWL_GONE, "%s: the cursor is of an earlier run with this id, which was removed", run);
        rest = end;
    }
    n -= (size_t)(rest - word);
    if (size + n >= ITEM_CURSOR_MAX)
        return false;
    memcpy(cursor, run, size);
    memcpy(cursor + size, rest, n);
    cursor[size + n] = '\0';
    return true;
}

/* ---- a page ---------------------------------------------------------------------------------------------------------- */

static pawl_items *page_open(pawl_store *store, const items_order *o, uint64_t life, pawl_err *err)
{
    char cursor[ITEM_CURSOR_MAX] = "";
    pawl_items_options all = { .kinds = items_kinds(o->kinds) };

    if (all.kinds == 0)
        fail(err, PAWL_INVALID, "%s", items_kinds_wrong);
    else if (o->from != NULL && !item_cursor_read(o->from, strlen(o->from), o->run, life, cursor, err))
        fail(err, PAWL_INVALID, "from: no cursor of this run");
    all.from = cursor[0] != '\0' ? cursor : NULL;
    return err->code == PAWL_OK ? pawl_items_open(NULL, store, o->run, &all, err) : NULL;
}

pawl_code items_page(pawl_store *store, const items_order *o, buf *out, pawl_err *err)
{
    pawl_items *reader = NULL;
    pawl_item_change ch;
    uint64_t life = 0;
    size_t n = 0;
    pawl_code rc = run_life(store, o->run, &life, err);

    if (rc == PAWL_OK && (reader = page_open(store, o, life, err)) == NULL)
        rc = err->code;
    if (rc != PAWL_OK)
        return rc;
    buf_word(out, "{\"changes\":[");
    while (n < o->limit && (rc = pawl_items_next(reader, &ch, err)) == PAWL_OK) {
        const char *json = pawl_items_json(reader, NULL);

        buf_text(out, n++ > 0 ? "," : "");
        item_change_put(out, &ch, life, json != NULL ? json : "null");
    }
    buf_word(out, "],\"cursor\":\"");
    item_cursor_put(out, pawl_items_cursor(reader), o->run, life);
    buf_fmt(out, "\",\"more\":%s,\"over\":%s}\n", rc == PAWL_OK ? "true" : "false", rc == PAWL_HALTED ? "true" : "false");
    pawl_items_close(reader);
    return rc < 0 ? rc : PAWL_OK;
}
