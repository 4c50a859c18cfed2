/* simple_contract_test.c - the contract on three methods in memory, each test on an empty shelf. */
#include "pawl/store_test.h"
#include "store/three.h"

int main(int argc, char **argv)
{
    static three shelf = { .lock = PTHREAD_MUTEX_INITIALIZER, .knows_versions = true };
    const int code = pawl_store_contract_simple(argc, argv, &three_methods, NULL, &shelf);

    three_clear(&shelf);
    return code;
}
