/* who.c - put before a program (LD_PRELOAD): the system's user has the name in TEST_NAME. A test needs two persons, and has one user. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

int getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t size, struct passwd **out)
{
    const char *name = getenv("TEST_NAME");

    snprintf(buf, size, "%s", name != NULL ? name : "nobody");
    *pw = (struct passwd){ .pw_name = buf, .pw_uid = uid };
    *out = pw;
    return 0;
}
