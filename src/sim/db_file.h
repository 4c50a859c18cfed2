/* db_file.h - the file of a world whose store is SQLite: in memory if the system has a folder for that. */
#ifndef SIM_DB_FILE_H
#define SIM_DB_FILE_H

#include <stddef.h>

/* A name that no other world, of any process, uses. */
void db_file_name(char *path, size_t size, const void *world, unsigned generation);
void db_file_remove(const char *path);      /* with SQLite's other files and the lock file; "": does nothing */

#endif
