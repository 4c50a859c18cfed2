/* item_list.h - reads all changes of the items of a run as lines of text, and checks what holds for every such list. */
#ifndef TEST_LIB_ITEM_LIST_H
#define TEST_LIB_ITEM_LIST_H

#include "json/json.h"
#include "lib/check.h"
#include "pawl/items.h"

#include <stdio.h>
#include <stdlib.h>

enum { ALL_ITEMS = PAWL_ITEM_LINE * 2 - 1 };

typedef struct item_line { char *cursor, *id, *text; unsigned kind, what, state; } item_line;
typedef struct item_list { item_line *all; size_t n, cap; pawl_code rc; } item_list;

static inline void item_list_free(item_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->all[i].cursor);
        free(l->all[i].id);
        free(l->all[i].text);
    }
    free(l->all);
    *l = (item_list){0};
}

/* A change as a line: "kind id state FLAGS part name <parent json". FLAGS: + added, ~ updated, - ended, * emitted, ! a gap. */
static inline char *item_text(const pawl_item_change *c, const char *json)
{
    buf b;
    char *out;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s %s %s ", pawl_item_kind_name(c->kind), c->id, pawl_item_state_name(c->kind, c->state));
    buf_text(&b, (c->what & PAWL_ITEM_ADDED) != 0 ? "+" : "");
    buf_text(&b, (c->what & PAWL_ITEM_UPDATED) != 0 ? "~" : "");
    buf_text(&b, (c->what & PAWL_ITEM_ENDED) != 0 ? "-" : "");
    buf_text(&b, (c->what & PAWL_ITEM_EMITTED) != 0 ? "*" : "");
    buf_text(&b, (c->what & PAWL_ITEM_GAP) != 0 ? "!" : "");
    buf_fmt(&b, " %s %s <%s", *c->part != '\0' ? c->part : ".", *c->name != '\0' ? c->name : ".", c->parent);
    if (c->call != NULL)
        buf_fmt(&b, " call=%s", c->call);
    if (c->child != NULL)
        buf_fmt(&b, " child=%s", c->child);
    if (*c->path != '\0')
        buf_fmt(&b, " at=%s/%s", c->path, c->node);
    buf_text(&b, " ");
    buf_text(&b, json);
    buf_char(&b, '\0');
    out = check_copy(b.data, b.size);
    buf_free(&b);
    return out;
}

static inline void item_list_add(item_list *l, const pawl_item_change *c, const char *json)
{
    if (l->n == l->cap) {
        l->cap = l->cap * 2 + 64;
        l->all = realloc(l->all, l->cap * sizeof *l->all);
        CHECK(l->all != NULL);
    }
    l->all[l->n++] = (item_line){ check_copy(c->cursor, strlen(c->cursor)), check_copy(c->id, strlen(c->id)), item_text(c, json), (unsigned)c->kind,
                                  c->what, (unsigned)c->state };
}

/* All stored changes from that cursor on. */
static inline item_list item_list_read(pawl_engine *e, pawl_store *s, const char *run, const char *from, unsigned kinds)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_items *r = pawl_items_open(e, s, run, &(pawl_items_options){ .from = from, .kinds = kinds }, &err);
    item_list l = { .n = 0 };
    pawl_item_change c;

    if (r == NULL)
        CHECK_FAIL("%s from %s: %s", run, from != NULL ? from : "the beginning", err.text);
    while ((l.rc = pawl_items_next(r, &c, &err)) == PAWL_OK) {
        const char *json = pawl_items_json(r, &err);

        if (json == NULL)
            CHECK_FAIL("%s: %s: %s", c.cursor, c.part, err.text);
        if (c.live == 0)
            item_list_add(&l, &c, json);
        CHECK_STR(pawl_items_cursor(r), c.cursor);
    }
    if (l.rc < 0)
        CHECK_FAIL("next: %s", err.text);
    pawl_items_close(r);
    return l;
}

/* Checks that each item begins before it changes, and ends once for each beginning; after the end of the run only the item of the run is open. */
static inline void item_list_check(const item_list *l, const char *what)
{
    const char **open = calloc(l->n + 1, sizeof *open);
    size_t n = 0;

    CHECK(open != NULL);
    for (size_t i = 0; i < l->n; i++) {
        const item_line *c = &l->all[i];
        size_t at = 0;

        if (c->kind == PAWL_ITEM_LINE || (c->what & PAWL_ITEM_GAP) != 0)
            continue;
        while (at < n && strcmp(open[at], c->id) != 0)
            at++;
        if ((at < n) == ((c->what & PAWL_ITEM_ADDED) != 0))
            CHECK_FAIL("%s: %s is %s: %s", what, c->id, at < n ? "added twice" : "not there", c->text);
        if (at == n)
            open[n++] = c->id;
        if (((c->what & PAWL_ITEM_ENDED) != 0) != (c->state >= PAWL_ITEM_DONE) && c->kind != PAWL_ITEM_RUN)
            CHECK_FAIL("%s: %s ends, and not: %s", what, c->id, c->text);
        if ((c->what & PAWL_ITEM_ENDED) != 0 && c->kind != PAWL_ITEM_RUN)
            open[at] = open[--n];
        if ((c->what & PAWL_ITEM_ENDED) != 0 && c->kind == PAWL_ITEM_RUN && n != 1)
            CHECK_FAIL("%s: the run ended, and %s is open", what, open[n - 1] != c->id ? open[n - 1] : open[n - 2]);
    }
    free(open);
}

/* Checks that `part` equals what `whole` has after its change `after` (SIZE_MAX: all of it), for these kinds. */
static inline void item_list_same(const item_list *whole, size_t after, const item_list *part, unsigned kinds, const char *what)
{
    size_t k = 0;

    for (size_t i = after + 1; i < whole->n; i++) {
        const item_line *c = &whole->all[i];

        if ((c->kind & kinds) == 0 && (c->what & PAWL_ITEM_GAP) == 0)
            continue;
        if (k == part->n)
            CHECK_FAIL("%s: never given: %s %s", what, c->cursor, c->text);
        if (strcmp(c->text, part->all[k].text) != 0 || strcmp(c->cursor, part->all[k].cursor) != 0)
            CHECK_FAIL("%s: %s %s where there is %s %s", what, part->all[k].cursor, part->all[k].text, c->cursor, c->text);
        k++;
    }
    if (k != part->n)
        CHECK_FAIL("%s: given once more: %s %s", what, part->all[k].cursor, part->all[k].text);
}

/* Reads again from `tries` random cursors with random kinds; SIZE_MAX: from every cursor with all kinds. */
static inline void item_list_from_any(pawl_store *s, const char *run, const item_list *whole, size_t tries, const char *what)
{
    char text[256];

    for (size_t i = 0; i < tries && i < whole->n; i++) {
        const size_t at = tries == SIZE_MAX ? i : (size_t)check_rand_below(whole->n);
        const unsigned kinds = tries == SIZE_MAX ? ALL_ITEMS : (unsigned)check_rand_below(ALL_ITEMS) + 1;
        item_list part = item_list_read(NULL, s, run, whole->all[at].cursor, kinds);

        snprintf(text, sizeof text, "%s (seed %llu) from %s", what, (unsigned long long)check_seed(), whole->all[at].cursor);
        item_list_same(whole, at, &part, kinds, text);
        item_list_free(&part);
    }
}

#endif
