/* references.h - what stands beside a value is put into it: parts of channels and receipts that an item names instead of repeating. */
#ifndef KERNEL_REFERENCES_H
#define KERNEL_REFERENCES_H

#include "kernel/channel.h"
#include "kernel/item.h"
#include "pawl/kernel.h"

const pawl_value *refs_resolve(pawl_state *st, arena *a, const task *tk, const pawl_value *in, const pawl_value *v,
                               const pawl_value *stand, const pawl_value **secrets, pawl_err *err);
pawl_code channel_digest(pawl_state *st, channel *c, char *out, size_t size, pawl_err *err);
/* A reducer's command outlives what came in: where its spec refers to that, it is put in as the command is folded. */
pawl_code spec_whole(pawl_state *st, const pawl_value *in, const char **text, size_t *size, pawl_err *err);

#endif
