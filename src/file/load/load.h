/* load.h - inside the loader: its state, the values of keys, forms. Included only by src/file/load and src/file/expr/template_value.c. */
#ifndef FILE_LOAD_LOAD_H
#define FILE_LOAD_LOAD_H

#include "file/reader.h"

typedef struct loader loader;
struct loader {
    arena *mem;
    faults *f;
    const file_reader *reader;
    agent_file *a;              /* the file that is being read */
    /* Functions of load.c that read other files; called through these pointers, so that the folder has no cycle. */
    agent_file *(*graph)(loader *l, const char *node, const char *name, source_place at);      /* the graph of that node; NULL: reported */
    file_helper *(*helper)(loader *l, const char *name, const char *file, source_place at);    /* an agent that is called; NULL: reported */
};

/* ---- source.c: texts and expressions ------------------------------------------------------------------------------ */

bool load_source(loader *l, const char *name, source_place at, const char **path, pawl_bytes *text);
expression *load_expression(loader *l, const doc *d, const char *label);
bool load_known(loader *l, expression *e, const char *label);       /* a jq expression gets its number; false: no memory, or too many */

/* ---- lookup.c ------------------------------------------------------------------------------------------------------ */

void names_order(loader *l);            /* sorts channels and nodes, so that they are found by name */

/* ---- keys.c: one value of a key; faults are reported -------------------------------------------------------- */

bool key_text(loader *l, const doc *d, const char *key, const char **out);
bool key_plain(loader *l, const doc *d, const char *key, const char **out);     /* a text that is not a template */
bool name_declare(loader *l, const doc *key, const char *what, size_t most);    /* of a channel or a node; false: invalid, and reported */
bool key_name(loader *l, const doc *d, const char *key, named_place *out);      /* refers to one; an invalid name was reported at its declaration */
bool key_names(loader *l, const doc *d, const char *key, name_list *out);       /* a name, or a list of names */
bool name_list_has(const name_list *list, const char *name);
bool key_bool(loader *l, const doc *d, const char *key, bool *out);
bool key_count(loader *l, const doc *d, const char *key, uint32_t least, uint32_t most, uint32_t *out);
bool key_duration(loader *l, const doc *d, const char *key, uint32_t least, uint32_t *ms);
bool key_retry(loader *l, const doc *d, pawl_retry *out);
bool key_timeout(loader *l, const doc *d, uint32_t *attempt_ms, uint32_t *total_ms);
bool key_schema(loader *l, const doc *d, const char *key, const pawl_value **out);
const char *doc_what(loader *l, const doc *d);                      /* for messages: "a list", "the text "x"" */
const char *load_fmt(loader *l, const char *fmt, ...) PAWL_PRINTF(2, 3);    /* NULL: no memory */
/* Report each member of `map` that is not one of `names`. A misspelt key is renamed to the one it resembles, so that one mistake is one fault. */
void keys_known(loader *l, const doc *map, const char *what, const char *const *names, size_t n);
void key_unknown(loader *l, doc *map, size_t i, const char *what, const char *const *names, size_t n);
const char *name_meant(const char *name, const char *const *names, size_t n);  /* the name of which it is a misspelling; NULL: none */
bool key_there(const doc *map, const char *key);                   /* present, perhaps under another system's name, which was reported */
void fault_hint(loader *l, source_place at, const char *kind, const char *what, const char *name, const char *const *names, size_t n);

/* ---- permission_keys.c, budget_keys.c ---------------------------------------------------------------------------- */

void read_guards(loader *l, const doc *d);
void read_budget(loader *l, const doc *d);
void read_prices(loader *l, const doc *d);

/* ---- agent_keys.c, agent_tools.c ------------------------------------------------------------------------------- */

void read_agent(loader *l, const doc *d);                   /* the key `agent` */
void agent_check(loader *l);                                /* checks that its parts agree */
void read_tools(loader *l, const doc *d);
const pawl_agent_tool *key_tool(loader *l, const doc *d);   /* a tool of the program; NULL: reported */
bool key_words(loader *l, const doc *d, const char *key, const char ***out);   /* a command: a program and its arguments, ends in NULL */
bool key_env(loader *l, const doc *d, const char *of, const char ***out);      /* names of secret variables that a program receives; ends in NULL */
extern const char *const agent_key_names[];
extern const size_t agent_key_count;

/* ---- models.c, node_keys.c, edges.c, check.c ------------------------------------------------------------------- */

/* "script:FILE" or "PROVIDER/NAME", with a price if there is a budget of money; *out: its name from now on. False: reported. */
bool model_read(loader *l, const char *model, source_place at, const char **out);
void check_model(loader *l, file_node *n);

void node_read(loader *l, file_node *n, const doc *d);
extern const char *const file_key_names[];
extern const size_t file_key_count;

void read_next(loader *l, file_node *n, const doc *d, const char *label);
void read_each(loader *l, file_node *n, const doc *d, const char *label);
void read_join(loader *l, file_node *n, const doc *d, const char *label);
/* approver_keys.c: {"need","of":[NAME..]}; NULL: a fault was reported, or no memory. */
const pawl_value *read_approver_list(loader *l, const doc *d);
void read_on_no(loader *l, file_node *n, const doc *d, const char *label);
void read_on_error(loader *l, file_node *n, const doc *d, const char *label);

void file_check(loader *l);
void check_need(loader *l);             /* need.c: joins that may not do what they say */

/* ---- writes.c: what a node writes into channels ------------------------------------------------------------------ */

void read_set(loader *l, file_node *n, const doc *d, const char *label);
void read_append(loader *l, file_node *n, const doc *d, const char *label);
void read_extend(loader *l, file_node *n, const doc *d, const char *label);
void check_writes(loader *l, const file_node *n);
/* The channel of that name; NULL: there is none, which was reported as `what`. */
file_channel *channel_in(loader *l, const agent_file *a, const char *name, source_place at, const char *what);
void channel_missing(loader *l, source_place at, const char *what, const char *name, const char *const *names, size_t n);

/* ---- template_value.c ------------------------------------------------------------------------------------------ */

form *form_text(loader *l, const doc *d, form_kind kind, const char *key, const char *label);   /* FORM_TEXT or FORM_KEEP, for a scalar */
form *form_any(loader *l, const doc *d, const char *label);         /* lists and maps; texts are templates that keep the type */
form *form_words(loader *l, const doc *d, const char *key, const char *label);  /* a list of texts */
form *form_table(loader *l, const doc *d, const char *key, const char *label);  /* a map of texts */
form *form_expression(loader *l, const doc *d, const char *key, const char *label);
form *form_literal(loader *l, const pawl_value *v, source_place at);
form *form_map(loader *l, source_place at);
bool form_put(loader *l, form *map, const char *key, form *f);      /* f NULL: does nothing */

#endif
