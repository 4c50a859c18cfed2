/* db_file.h - the file of a world whose store is in SQLite: in memory where the system has a folder for that. */
#ifndef SIM_DB_FILE_H
#define SIM_DB_FILE_H

#include <stddef.h>

/* A name that no other world of this process, or of another, has. */
void db_file_name(char *path, size_t size, const void *world, unsigned generation);
void db_file_remove(const char *path);      /* with all that SQLite and its lock put beside it; "": nothing */

#endif
