/* owner.h - the name under which an engine holds its runs, and whether the process of such a name is dead. Any thread; no lock. */
#ifndef ENGINE_OWNER_H
#define ENGINE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OWNER_BYTES = 160 };

/* "HOST:PID:NUMBER:BOOT.NAMESPACE": the host, the process, a number that tells two engines of one process apart, and the boot and the PID
 * namespace in which the process has its number. `out` has `size` bytes, OWNER_BYTES hold every name. */
void owner_name(char *out, size_t size, uint64_t number);
/* Whether `owner` (NULL: none) is this process. */
bool owner_is_own(const char *owner);
/* Whether `owner` (NULL: none) is a dead process of this host, boot and PID namespace: its lease need not run out. False also
 * when that cannot be known: then the lease runs out. */
bool owner_dead(const char *owner);

#endif
