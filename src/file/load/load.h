/* load.h - among the files that read an agent file: a loader, the values of keys, forms. Only src/file/load and src/file/expr/template_value.c include it. */
#ifndef FILE_LOAD_LOAD_H
#define FILE_LOAD_LOAD_H

#include "file/reader.h"

typedef struct loader loader;
struct loader {
    arena *mem;
    faults *f;
    const file_reader *reader;
    agent_file *a;              /* the file that is being read */
    /* What reads another file (load.c): those that read a part of this one are called by it, and do not call it by name. */
    agent_file *(*graph)(loader *l, const char *node, const char *name, source_place at);      /* the graph of that node; NULL: told */
    file_helper *(*helper)(loader *l, const char *name, const char *file, source_place at);    /* an agent that is called; NULL: told */
};

/* ---- source.c: texts and expressions ------------------------------------------------------------------------------ */

bool load_source(loader *l, const char *name, source_place at, const char **path, pawl_bytes *text);
expression *load_expression(loader *l, const doc *d, const char *label);
bool load_known(loader *l, expression *e, const char *label);       /* one of jq's gets its number; false: no memory, or too many */

/* ---- lookup.c ------------------------------------------------------------------------------------------------------ */

void names_order(loader *l);            /* channels and nodes, so that they are found by name */

/* ---- keys.c: one value of a key; what is wrong is told -------------------------------------------------------- */

bool key_text(loader *l, const doc *d, const char *key, const char **out);
bool key_plain(loader *l, const doc *d, const char *key, const char **out);     /* one that is no template */
bool name_declare(loader *l, const doc *key, const char *what, size_t most);    /* of a channel or a node; false: told, and it is none */
bool key_name(loader *l, const doc *d, const char *key, named_place *out);      /* of one; a bad name that is declared was told there */
bool key_names(loader *l, const doc *d, const char *key, name_list *out);       /* a name, or a list of them */
bool key_bool(loader *l, const doc *d, const char *key, bool *out);
bool key_count(loader *l, const doc *d, const char *key, uint32_t least, uint32_t most, uint32_t *out);
bool key_duration(loader *l, const doc *d, const char *key, uint32_t least, uint32_t *ms);
bool key_retry(loader *l, const doc *d, pawl_retry *out);
bool key_timeout(loader *l, const doc *d, uint32_t *attempt_ms, uint32_t *total_ms);
bool key_schema(loader *l, const doc *d, const char *key, const pawl_value **out);
const char *doc_what(loader *l, const doc *d);                      /* "a list", "the text "x"" */
const char *load_fmt(loader *l, const char *fmt, ...) PAWL_PRINTF(2, 3);    /* NULL: no memory */
/* Every member of `map` must be one of `names`. What is a slip of the pen for one of them is told, and from here on it is that one: so
 * one mistake is one fault. */
void keys_known(loader *l, const doc *map, const char *what, const char *const *names, size_t n);
void key_unknown(loader *l, doc *map, size_t i, const char *what, const char *const *names, size_t n);
const char *name_meant(const char *name, const char *const *names, size_t n);  /* for which it is a slip; NULL: none */
bool key_there(const doc *map, const char *key);                   /* or what it is called elsewhere, which was told */
void fault_hint(loader *l, source_place at, const char *kind, const char *what, const char *name, const char *const *names, size_t n);

/* ---- permission_keys.c, budget_keys.c ---------------------------------------------------------------------------- */

void read_guards(loader *l, const doc *d);
void read_budget(loader *l, const doc *d);
void read_prices(loader *l, const doc *d);

/* ---- agent_keys.c, agent_tools.c ------------------------------------------------------------------------------- */

void read_agent(loader *l, const doc *d);                   /* `agent`, of a file that is one */
void agent_check(loader *l);                                /* what its parts say of each other */
void read_tools(loader *l, const doc *d);
const pawl_agent_tool *key_tool(loader *l, const doc *d);   /* one that comes with the program; NULL: told */
bool key_words(loader *l, const doc *d, const char *key, const char ***out);   /* a command: a program and its arguments, ends in NULL */
bool key_env(loader *l, const doc *d, const char *of, const char ***out);      /* names of variables, which it gets although they are keys; ends in NULL */
extern const char *const agent_key_names[];
extern const size_t agent_key_count;

/* ---- models.c, node_keys.c, edges.c, check.c ------------------------------------------------------------------- */

/* "script:FILE" or "PROVIDER/NAME", and its price where money is counted; *out: what it is called from now on. False: told. */
bool model_read(loader *l, const char *model, source_place at, const char **out);
void check_model(loader *l, file_node *n);

void node_read(loader *l, file_node *n, const doc *d);
extern const char *const file_key_names[];
extern const size_t file_key_count;

void read_next(loader *l, file_node *n, const doc *d, const char *label);
void read_each(loader *l, file_node *n, const doc *d, const char *label);
void read_join(loader *l, file_node *n, const doc *d, const char *label);
void read_on_no(loader *l, file_node *n, const doc *d, const char *label);
void read_on_error(loader *l, file_node *n, const doc *d, const char *label);

void file_check(loader *l);

/* ---- template_value.c ------------------------------------------------------------------------------------------ */

form *form_text(loader *l, const doc *d, form_kind kind, const char *key, const char *label);   /* FORM_TEXT or FORM_KEEP of a scalar */
form *form_any(loader *l, const doc *d, const char *label);         /* lists, maps, texts as templates that keep */
form *form_words(loader *l, const doc *d, const char *key, const char *label);  /* a list of texts */
form *form_table(loader *l, const doc *d, const char *key, const char *label);  /* a map of texts */
form *form_expression(loader *l, const doc *d, const char *key, const char *label);
form *form_literal(loader *l, const pawl_value *v, source_place at);
form *form_map(loader *l, source_place at);
bool form_put(loader *l, form *map, const char *key, form *f);      /* f NULL: nothing */

#endif
