/* peer.h - npm packages that tests compare with, installed by test/tools/peer. */
#ifndef TEST_LIB_PEER_H
#define TEST_LIB_PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The folder with node_modules; false: the reason why it is missing, and the test is skipped. */
static inline bool peer_folder(const char *name, char *at, size_t size)
{
    char command[600];
    FILE *f;
    bool told;
    int status;

    snprintf(command, sizeof command, "%s/test/tools/peer %s", PAWL_SOURCE_DIR, name);
    f = popen(command, "r");
    told = f != NULL && fgets(at, (int)size, f) != NULL;
    status = f != NULL ? pclose(f) : -1;
    at[told ? strcspn(at, "\n") : 0] = '\0';
    if (!told || !WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 77)) {
        fprintf(stderr, "%s: %d %s\n", command, status, at);
        exit(1);
    }
    return WEXITSTATUS(status) == 0;
}

#endif
