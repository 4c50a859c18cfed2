/* place.h - a store's file beside the test that uses it, named by its process; gone with all that lies beside it. */
#ifndef TEST_STORE_PLACE_H
#define TEST_STORE_PLACE_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[96];

static inline void path_gone(void)
{
    DIR *d = opendir(".");
    struct dirent *e;

    while (d != NULL && (e = readdir(d)) != NULL)
        if (strncmp(e->d_name, path, strlen(path)) == 0)
            unlink(e->d_name);
    if (d != NULL)
        closedir(d);
}

static inline void path_new(const char *name)
{
    snprintf(path, sizeof path, "%s-%ld.db", name, (long)getpid());
    path_gone();
}

#endif
