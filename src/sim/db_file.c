/* db_file.c - the file of a world whose store is SQLite.
 *
 * Owns nothing. Called by writes.c, on the thread of pawl_sim. A file of its own, because names of system calls and of the kernel's types collide. */
#include "sim/db_file.h"

#include <stdio.h>
#include <unistd.h>

void db_file_name(char *path, size_t size, const void *world, unsigned generation)
{
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    snprintf(path, size, "%s/pawl-sim-%ld-%p-%u.db", folder, (long)getpid(), world, generation);
}

void db_file_remove(const char *path)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
    char name[128];

    for (size_t i = 0; i < sizeof ends / sizeof *ends && *path != '\0'; i++)
        if (snprintf(name, sizeof name, "%s%s", path, ends[i]) < (int)sizeof name)
            (void)unlink(name);
}
