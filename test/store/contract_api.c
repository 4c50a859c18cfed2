/* contract_api.c - the contract for the authors of stores: pawl/store_test.h over contract.h. */
#include "pawl/store_test.h"
#include "store/contract.h"

static const pawl_store_maker *given;

static void given_fresh(void)
{
    given->fresh(given->arg);
}

static pawl_store *given_open(const char *space, pawl_err *err)
{
    return given->open(given->arg, space, err);
}

static void given_pass(pawl_store *s, int64_t ms)
{
    given->pass(given->arg, s, ms);
}

int pawl_store_contract(int argc, char **argv, const pawl_store_maker *maker)
{
    contract_maker m = { .fresh = given_fresh, .open = given_open, .pass = maker->pass != NULL ? given_pass : NULL, .shared = maker->shared,
                         .spaces = maker->spaces, .signals_max = maker->signals_max };

    given = maker;
    return contract_main(argc, argv, &m);
}
