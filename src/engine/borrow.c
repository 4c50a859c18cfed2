/* borrow.c - arguments that refer to what the state has: they stay there until their errand leaves, or the state moves. A conversation is
 * long, and its model alone reads it. */
#include "engine/errand.h"

#include <string.h>

/* Of a settling, its question is in place of them. */
static bool borrows(const errand *er)
{
    return er->refers && er->settling == NULL && er->job.args == NULL;
}

/* *open: it is. */
static pawl_code command_find(pawl_engine *e, const errand *er, pawl_command *out, bool *open, pawl_err *err)
{
    pawl_state *st = er->run->st;
    const size_t n = pawl_state_commands(st);
    bool refers;

    *open = false;
    for (size_t i = 0; i < n; i++) {
        pawl_code rc = state_command_bare(st, i, e->lent, out, &refers, err);

        if (rc != PAWL_OK)
            return rc;
        if ((*open = strcmp(out->id, er->job.id) == 0))
            return pawl_state_command(st, i, e->lent, out, NULL, err);
    }
    return PAWL_OK;
}

static pawl_code not_open(const errand *er, pawl_err *err)
{
    return fail(err, PAWL_CORRUPT, "%s: it is to be performed, and is not open", er->job.id);
}

static pawl_code take(pawl_engine *e, errand *er, bool *open, pawl_err *err)
{
    pawl_command cmd;
    pawl_code rc = command_find(e, er, &cmd, open, err);

    if (rc != PAWL_OK || !*open)
        return rc;
    if (cmd.args != NULL && (er->job.args = value_copy(&er->mem, cmd.args)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory to perform it", er->job.id);
    er->refers = false;
    return PAWL_OK;
}

pawl_code args_take(pawl_engine *e, errand *er, pawl_err *err)
{
    bool open = true;
    pawl_code rc = borrows(er) ? take(e, er, &open, err) : PAWL_OK;

    return rc != PAWL_OK || open ? rc : not_open(er, err);
}

/* One whose command is over goes when somebody looks at the commands next. */
pawl_code args_take_all(pawl_engine *e, live *r, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    bool open;

    for (errand *er = r->errands; er != NULL && rc == PAWL_OK; er = er->next)
        if (er->at == ERRAND_READY && borrows(er))
            rc = take(e, er, &open, err);
    r->borrowed = rc != PAWL_OK;
    return rc;
}

pawl_code args_lend(pawl_engine *e, errand *er, pawl_err *err)
{
    pawl_command cmd;
    bool open;
    pawl_code rc;

    if (!borrows(er))
        return PAWL_OK;
    if ((rc = command_find(e, er, &cmd, &open, err)) != PAWL_OK || !open)
        return rc != PAWL_OK ? rc : not_open(er, err);
    er->lent = true;
    er->job.args = cmd.args;
    return PAWL_OK;
}

void args_return(errand *er)
{
    if (er->lent)
        er->job.args = NULL;
    er->lent = false;
}
