/* folder_contract.c - the contract on the store of examples/store_folder.c, as its author has it: with pawl/store_test.h and the installed libraries. */
#include <pawl/store_test.h>

#include <stdlib.h>

#include <unistd.h>

#define main store_folder_main
#define fsync(fd) ((void)(fd), 0)       /* a crash of the machine is not tested, and thousands of them take half a minute */
#include "../../examples/store_folder.c"
#undef fsync
#undef main

static char path[200];

static void *another(void *arg)
{
    folder *f = malloc(sizeof *f);

    (void)arg;
    return f != NULL && folder_open(path, f) ? f : NULL;
}

static void over(void *ctx)
{
    folder *f = ctx;

    close(f->lock);
    close(f->dir);
    free(f);
}

int main(int argc, char **argv)
{
    const char *temp = getenv("TMPDIR");
    pawl_simple_methods methods = folder_methods;
    char command[250];
    int code;

    snprintf(path, sizeof path, "%.150s/pawl-folder-XXXXXX", temp != NULL ? temp : "/tmp");
    if (mkdtemp(path) == NULL)
        return 1;
    methods.close = over;
    code = pawl_store_contract_simple(argc, argv, &methods, another, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    return system(command) != 0 ? 1 : code;
}
