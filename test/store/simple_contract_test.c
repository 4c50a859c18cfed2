/* simple_contract_test.c - the contract on a store of three methods in memory, each test on a new one. */
#include "store/contract.h"
#include "store/three.h"

enum { SIGNALS_MAX = 20 };

static three shelf = { .lock = PTHREAD_MUTEX_INITIALIZER, .knows_versions = true };

static void shelf_fresh(void)
{
    three_clear(&shelf);
}

static pawl_store *shelf_open(const char *space, pawl_err *err)
{
    return pawl_store_simple(&three_methods, &shelf, &(pawl_simple){ .space = space, .signals_max = SIGNALS_MAX }, err);
}

int main(int argc, char **argv)
{
    static const contract_maker maker = {
        .fresh = shelf_fresh, .open = shelf_open, .shared = true, .spaces = true, .signals_max = SIGNALS_MAX,
    };
    const int code = contract_main(argc, argv, &maker);

    three_clear(&shelf);
    return code;
}
