/* machine.h - what every machine has: a name, a version, a hash, effects. Included by pawl/kernel.h.
 *
 * A machine never changes once runs use it; any number of threads may share it. Texts are valid as long as the machine. */
#ifndef PAWL_KERNEL_MACHINE_H
#define PAWL_KERNEL_MACHINE_H

#include "pawl/kernel/names.h"

#ifdef __cplusplus
extern "C" {
#endif

PAWL_API void pawl_machine_free(pawl_machine *m);               /* NULL: does nothing. Not while a run uses it */
PAWL_API const char *pawl_machine_name(const pawl_machine *m);
PAWL_API uint32_t pawl_machine_version(const pawl_machine *m);
PAWL_API const char *pawl_machine_hash(const pawl_machine *m);  /* 64 hex digits: SHA-256 of its definition (F5); its functions count by `version` */
/* Whether the machine declares `effect`; if so, *cls (may be NULL) is set to its class. */
PAWL_API bool pawl_machine_effect(const pawl_machine *m, const char *effect, pawl_class *cls);
PAWL_API const char *pawl_version(void);                        /* of the library: "0.1.0" */

#ifdef __cplusplus
}
#endif
#endif
