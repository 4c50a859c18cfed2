/* sqlite_contract_test.c - the contract on a SQLite file, each test on a new one. */
#include "store/contract.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIGNALS_MAX = 20 };

static char folder[256];

static void folder_empty(void)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    char path[512];

    while (d != NULL && (e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
            unlink(path);
        }
    if (d != NULL)
        closedir(d);
}

static void sqlite_fresh(void)
{
    folder_empty();
}

static pawl_store *sqlite_open(const char *space, pawl_err *err)
{
    const pawl_sqlite options = { .space = space, .signals_max = SIGNALS_MAX };
    char path[512];

    snprintf(path, sizeof path, "%s/store.pawl", folder);
    return pawl_store_sqlite(path, &options, err);
}

/* A copy that is a store of its own, made while the first is open. */
PAWL_TEST(test_a_backup_is_a_store)
{
    static const char base[] = "{\"format\":1,\"id\":\"r\",\"life\":\"00000000000000ab\",\"machine\":{\"name\":\"m\"}}";
    pawl_store *s, *copy;
    pawl_bytes b;
    char path[512];

    sqlite_fresh();
    CHECK((s = sqlite_open("", NULL)) != NULL);
    CHECK_INT(s->verbs->create(s, (pawl_bytes){ base, sizeof base - 1 }, NULL, NULL), PAWL_OK);
    snprintf(path, sizeof path, "%s/copy.pawl", folder);
    CHECK_INT(s->verbs->backup(s, path, NULL), PAWL_OK);
    CHECK((copy = pawl_store_sqlite(path, NULL, NULL)) != NULL);
    b = pawl_store_journal(copy, "r", NULL);
    CHECK_INT(b.size, sizeof base); /* and its newline */
    CHECK_BYTES(b.data, b.size - 1, base, sizeof base - 1);
    free((void *)(uintptr_t)b.data);
    CHECK_INT(copy->verbs->check(copy, NULL), PAWL_OK);
    pawl_store_free(copy);
    pawl_store_free(s);
}

int main(int argc, char **argv)
{
    static const contract_maker maker = {
        .fresh = sqlite_fresh, .open = sqlite_open, .shared = true, .spaces = true, .signals_max = SIGNALS_MAX,
    };
    const char *temp = getenv("TMPDIR");
    int code;

    snprintf(folder, sizeof folder, "%.200s/pawl-contract-XXXXXX", temp != NULL ? temp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    code = contract_main(argc, argv, &maker);
    folder_empty();
    rmdir(folder);
    return code;
}
