/* owner.h - the name of an engine in its leases, and whether the process of such a name is dead. Any thread; no lock. */
#ifndef ENGINE_OWNER_H
#define ENGINE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OWNER_BYTES = 160 };

/* "HOST:PID:NUMBER:BOOT.NAMESPACE": NUMBER tells engines of one process apart; the PID is valid in that boot and PID namespace. `out` has `size`
 * bytes; OWNER_BYTES are enough for every name. */
void owner_name(char *out, size_t size, uint64_t number);
/* Whether `owner` (NULL: none) is this process. */
bool owner_is_own(const char *owner);
/* Whether `owner` (NULL: none) is a dead process of this host, boot and PID namespace, so that its lease can be released at once. False when that
 * is unknown: then the lease must run out. */
bool owner_dead(const char *owner);

#endif
