/* yaml.c - YAML as a tree with places: libyaml's events, without the features that agent files do not have.
 *
 * Called by doc_read.c. Owns libyaml's parser for one text. */
#include "file/read.h"

#include <yaml.h>

typedef struct level {
    doc *d, *key;               /* an open map or list; the key whose value comes next */
    size_t cap;
} level;

typedef struct yaml_reading {
    doc_reading *r;
    yaml_parser_t parser;
    level open[FILE_DEPTH_MAX];
    size_t depth;
    doc *root;
} yaml_reading;

static source_place mark_place(const yaml_reading *y, const yaml_mark_t *mark)
{
    return (source_place){ y->r->file, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1 };
}

static bool no_memory(yaml_reading *y)
{
    y->r->mem->failed = true;
    return false;
}

/* ---- what YAML has and an agent file has not ------------------------------------------------------------ */

/* An anchor and a tag before one node have two places. */
static source_place property_place(yaml_reading *y, const yaml_event_t *e, char first)
{
    doc_reading r;
    const char *p;

    reading_to_index(y->r, e->start_mark.index);
    r = *y->r;
    p = r.at;
    if (p < r.end && *p != first) {
        while (p < r.end && strchr(" \t\r\n", *p) == NULL)
            p++;
        while (p < r.end && strchr(" \t\r\n", *p) != NULL)
            p++;
        if (p < r.end && *p == first)
            reading_to(&r, p);
    }
    return reading_place(&r);
}

static void anchor_check(yaml_reading *y, const yaml_event_t *e, const yaml_char_t *anchor)
{
    const char *name = (const char *)anchor;

    if (anchor != NULL)
        fault_at(y->r->f, property_place(y, e, '&'), PAWL_SEVERITY_FAULT, "alias",
                 "anchor `&%.*s`: an agent file has no anchors, write out what is meant (or put a text that begins with `&` in quotes)",
                 shown(name, strlen(name)), name);
}

static void tag_check(yaml_reading *y, const yaml_event_t *e, const yaml_char_t *tag)
{
    static const char core[] = "tag:yaml.org,2002:";
    const char *name = (const char *)tag, *marks = "";

    if (tag == NULL)
        return;
    if (strncmp(name, core, sizeof core - 1) == 0) {
        name += sizeof core - 1;
        marks = "!!";
    }
    fault_at(y->r->f, property_place(y, e, '!'), PAWL_SEVERITY_FAULT, "tag",
             "tag `%s%.*s`: an agent file has no tags, quotes alone make a text (also one that begins with `!`)", marks,
             shown(name, strlen(name)), name);
}

static bool document_begin(yaml_reading *y, const yaml_event_t *e)
{
    source_place at = mark_place(y, &e->start_mark);

    if (y->root != NULL) {
        fault_at(y->r->f, at, PAWL_SEVERITY_FAULT, "documents", "a second document begins here: an agent file has one, put the other in a file of its own");
        return false;
    }
    if (e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end) {
        doc_reading r = *y->r;
        while (r.end - r.at >= 4 && (r.column > 1 || memcmp(r.at, "%TAG", 4) != 0))
            reading_to(&r, r.at + 1);
        at = reading_place(&r);
        fault_at(y->r->f, at, PAWL_SEVERITY_FAULT, "directive", "directive `%%TAG`: an agent file has no tags, remove it");
    }
    return true;
}

/* ---- nodes -------------------------------------------------------------------------------------------------- */

static bool key_due(const yaml_reading *y)
{
    const level *top = y->depth == 0 ? NULL : &y->open[y->depth - 1];

    return top != NULL && top->d->kind == DOC_MAP && top->key == NULL;
}

static bool node_put(yaml_reading *y, doc *d)
{
    level *top = y->depth == 0 ? NULL : &y->open[y->depth - 1];

    if (top == NULL) {
        y->root = d;
    } else if (key_due(y)) {
        top->key = d;
    } else {
        if (!doc_add(top->d, y->r->mem, &top->cap, top->key, d))
            return no_memory(y);
        top->key = NULL;
    }
    return true;
}

/* Whether the text of a scalar is in the file unchanged, and where. */
static void text_place(yaml_reading *y, const yaml_event_t *e, doc *d)
{
    doc_reading *r = y->r;
    const bool quoted = e->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE || e->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    const char *p;

    if ((!d->plain && !quoted) || d->size == 0)
        return;
    reading_to_index(r, e->start_mark.index);
    p = r->at + quoted;
    if ((size_t)(r->end - r->at) < d->size + 2 * quoted || memcmp(p, d->text, d->size) != 0 || strpbrk(d->text, "\r\n") != NULL)
        return;
    if (quoted && p[d->size] != *r->at)
        return;
    d->text_at = d->at;
    d->text_at.column += quoted;
}

static void key_check(yaml_reading *y, const doc *d)
{
    if (d->plain && d->size == 0)
        fault_at(y->r->f, d->at, PAWL_SEVERITY_FAULT, "key", "a key is missing before the `:`");
    else if (d->plain && strcmp(d->text, "<<") == 0)
        fault_at(y->r->f, d->at, PAWL_SEVERITY_FAULT, "alias", "merge key `<<`: an agent file has none, write out the members that are meant");
}

static bool scalar_read(yaml_reading *y, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    doc *d = doc_new(y->r->mem, DOC_SCALAR, mark_place(y, &e->start_mark));

    if (d == NULL || !doc_text_set(d, y->r->mem, text, e->data.scalar.length, e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE))
        return no_memory(y);
    anchor_check(y, e, e->data.scalar.anchor);
    tag_check(y, e, e->data.scalar.tag);
    if (strlen(d->text) != d->size) {
        fault_at(y->r->f, d->at, PAWL_SEVERITY_FAULT, "encoding", "a text with a NUL character (\\0): no argument and no name can hold it, remove it");
        d->size = strlen(d->text);
    }
    if (e->data.scalar.anchor == NULL && e->data.scalar.tag == NULL)
        text_place(y, e, d);
    if (key_due(y))
        key_check(y, d);
    return node_put(y, d);
}

/* Reported and read as an empty scalar, so that aliases cannot grow. */
static bool alias_read(yaml_reading *y, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    doc *d = doc_new(y->r->mem, DOC_SCALAR, mark_place(y, &e->start_mark));

    fault_at(y->r->f, mark_place(y, &e->start_mark), PAWL_SEVERITY_FAULT, "alias",
             "alias `*%.*s`: an agent file has no aliases, write out what is meant (or put a text that begins with `*` in quotes)",
             shown(name, strlen(name)), name);
    return d != NULL ? node_put(y, d) : no_memory(y);
}

static bool holder_begin(yaml_reading *y, const yaml_event_t *e, doc_kind kind)
{
    source_place at = mark_place(y, &e->start_mark);
    bool map = kind == DOC_MAP, key = key_due(y);
    doc *d;

    reading_to_index(y->r, e->start_mark.index);
    if (map && y->r->end - y->r->at >= 2 && memcmp(y->r->at, "{{", 2) == 0) {
        fault_at(y->r->f, at, PAWL_SEVERITY_FAULT, "syntax", "a value that begins with `{{` stands in quotes: \"{{...}}\"");
        return false;
    }
    anchor_check(y, e, map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor);
    tag_check(y, e, map ? e->data.mapping_start.tag : e->data.sequence_start.tag);
    if (key) {
        fault_at(y->r->f, at, PAWL_SEVERITY_FAULT, "key", "a %s stands where a key is due: a key is a text", map ? "map" : "list");
        return false;
    }
    if (y->depth == FILE_DEPTH_MAX) {
        fault_at(y->r->f, at, PAWL_SEVERITY_FAULT, "too-deep", "more than %d lists and maps in one another (FILE_DEPTH_MAX)", FILE_DEPTH_MAX);
        return false;
    }
    d = doc_new(y->r->mem, kind, at);
    if (d == NULL || !node_put(y, d))
        return no_memory(y);
    y->open[y->depth++] = (level){ .d = d };
    return true;
}

static bool holder_end(yaml_reading *y)
{
    const doc *d = y->open[--y->depth].d;

    return d->kind == DOC_LIST || doc_keys_check(d, y->r->mem, y->r->f) || no_memory(y);
}

/* False: nothing more can be read. */
static bool event_read(yaml_reading *y, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return document_begin(y, e);
    case YAML_ALIAS_EVENT:
        return alias_read(y, e);
    case YAML_SCALAR_EVENT:
        return scalar_read(y, e);
    case YAML_SEQUENCE_START_EVENT:
        return holder_begin(y, e, DOC_LIST);
    case YAML_MAPPING_START_EVENT:
        return holder_begin(y, e, DOC_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return holder_end(y);
    case YAML_STREAM_END_EVENT:
        if (y->root == NULL)
            fault_at(y->r->f, (source_place){ y->r->file, 1, 1 }, PAWL_SEVERITY_FAULT, "syntax", "this file is empty: `pawl init` writes an example");
        return false;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return true;
}

doc *yaml_read(doc_reading *r)
{
    yaml_reading y = { .r = r };
    yaml_event_t e;
    bool more = true;

    if (!yaml_parser_initialize(&y.parser)) {
        no_memory(&y);
        return NULL;
    }
    yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y.parser, (const unsigned char *)r->text, (size_t)(r->end - r->text));
    while (more) {
        if (!yaml_parser_parse(&y.parser, &e)) {
            yaml_complain(r, &y.parser);
            break;
        }
        more = event_read(&y, &e);
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&y.parser);
    return r->mem->failed || y.depth > 0 ? NULL : y.root;
}
