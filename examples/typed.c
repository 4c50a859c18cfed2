/* typed.c - a C struct for the channels: nodes read all of it, and write single fields. */
#include <pawl/pawl.h>
#include <stdio.h>

typedef struct account {
    int64_t balance;
    double best;
    bool closed;
    const char *owner;
    const pawl_value *history;
} account;

static const pawl_field fields[] = {
    PAWL_FIELD(account, balance, PAWL_FIELD_INT, .rule = PAWL_RULE_SUM, .first = "100"),
    PAWL_FIELD(account, best, PAWL_FIELD_REAL, .rule = PAWL_RULE_MAX, .first = "0.0"),
    PAWL_FIELD(account, closed, PAWL_FIELD_BOOL, .first = "false"),
    PAWL_FIELD(account, owner, PAWL_FIELD_STRING, .rule = PAWL_RULE_LAST),
    PAWL_FIELD(account, history, PAWL_FIELD_VALUE, .rule = PAWL_RULE_APPEND),
};
enum { FIELDS = sizeof fields / sizeof *fields };

static pawl_code pay(pawl_step *s, void *amount)
{
    double share;
    account a;

    if (pawl_read(s, fields, FIELDS, &a) != PAWL_OK)
        return PAWL_INVALID;
    share = (double)*(int64_t *)amount / (double)a.balance;
    pawl_write(s, fields, FIELDS, "balance", amount);           /* an update: the rule adds it */
    pawl_write(s, fields, FIELDS, "best", &share);
    pawl_write(s, fields, FIELDS, "history", &(const pawl_value *){ pawl_pack(s, "{s:s,s:i}", "who", a.owner, "had", a.balance) });
    return pawl_follow(s);
}

static pawl_code finish(pawl_step *s, void *yes)
{
    pawl_write(s, fields, FIELDS, "closed", yes);
    return pawl_follow(s);
}

int main(void)
{
    int64_t little = 25, much = 150;
    bool yes = true;
    pawl_err err = {0};
    pawl_graph *g = pawl_graph_new("account", 1);
    pawl_graph_fields(g, fields, FIELDS);
    pawl_graph_sequence(g, (pawl_sequence[]){ { "first", pay, &little }, { "second", pay, &much }, { "finish", finish, &yes } }, 3);
    pawl_engine *e = pawl_engine_new(pawl_graph_compile(g, &err), pawl_store_memory(&err), &err);
    pawl_code rc = pawl_run(e, "account-1", "{\"owner\":\"Ada\"}", &err);
    const char *all = rc < 0 ? err.text : pawl_state_json(pawl_run_state(e, "account-1", &err), pawl_engine_step(e), &err);
    puts(all != NULL ? all : err.text);
    pawl_engine_free(e);
    return rc < 0;
}
