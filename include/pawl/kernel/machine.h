/* machine.h - what every machine has. Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_MACHINE_H
#define PAWL_KERNEL_MACHINE_H

#include "pawl/kernel/names.h"

#ifdef __cplusplus
extern "C" {
#endif

PAWL_API void pawl_machine_free(pawl_machine *m);
PAWL_API const char *pawl_machine_name(const pawl_machine *m);
PAWL_API uint32_t pawl_machine_version(const pawl_machine *m);
PAWL_API const char *pawl_machine_hash(const pawl_machine *m);  /* 64 hex digits, of the compiled definition (F5) */
/* Whether it declares `effect`; then *cls (may be NULL) is its class. */
PAWL_API bool pawl_machine_effect(const pawl_machine *m, const char *effect, pawl_class *cls);
PAWL_API const char *pawl_version(void);                        /* "0.1.0" */

#ifdef __cplusplus
}
#endif
#endif
