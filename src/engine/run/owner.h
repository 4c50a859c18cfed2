/* owner.h - by what name an engine holds its runs, and whether another one of this machine still lives. */
#ifndef ENGINE_OWNER_H
#define ENGINE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "host:pid:number"; `number` tells two engines of one process apart. */
void owner_name(char *out, size_t size, uint64_t number);
/* A process of this machine that is no more: nobody has to wait for its lease. */
bool owner_dead(const char *owner);

#endif
