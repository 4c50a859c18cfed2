/* references.h - resolves the references of a value: parts of channels, receipts and blobs that an item names instead of repeating (K7). Pure;
 * results are in the caller's arena. */
/* `v` with the targets of the references `stand` in it. References to secrets stay null and are added to *secrets. NULL: err is set, or no memory. */
#ifndef KERNEL_REFERENCES_H
#define KERNEL_REFERENCES_H

#include "kernel/channel.h"
#include "kernel/item.h"
#include "pawl/kernel.h"

const pawl_value *refs_resolve(pawl_state *st, arena *a, const task *tk, const pawl_value *in, const pawl_value *v,
                               const pawl_value *stand, const pawl_value **secrets, pawl_err *err);
pawl_code channel_digest(pawl_state *st, channel *c, char *out, size_t size, pawl_err *err);
/* A reducer's command is valid longer than the event that it may refer to, so the fold of the command resolves such references in its spec. */
pawl_code spec_whole(pawl_state *st, const pawl_value *in, const char **text, size_t *size, pawl_err *err);

#endif
