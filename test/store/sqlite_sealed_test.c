/* sqlite_sealed_test.c - the contract on a SQLite file where all is written through a codec. */
#include "store/seal.h"
#include "store/sqlite_file.h"

enum { SIGNALS_MAX = 20 };

static pawl_store *sealed_open(const char *space, pawl_err *err)
{
    static seal key = { .key = 77 };
    const pawl_codec codec = { "seal/77", seal_encode, seal_decode, &key };
    const pawl_sqlite options = { .space = space, .normal = true, .signals_max = SIGNALS_MAX, .codecs = &codec, .ncodecs = 1 };

    return pawl_store_sqlite(in_folder("a.pawl"), &options, err);
}

int main(int argc, char **argv)
{
    static const contract_maker maker = {
        .fresh = folder_empty, .open = sealed_open, .shared = true, .spaces = true, .signals_max = SIGNALS_MAX,
    };
    int code;

    if (!folder_make())
        return 1;
    code = contract_main(argc, argv, &maker);
    folder_empty();
    rmdir(folder);
    return code;
}
