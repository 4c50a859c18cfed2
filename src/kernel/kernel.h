/* kernel.h - all headers of the kernel, for layers above that name more than one. Inside the kernel each file names what it uses. */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "kernel/budget_ask.h"
#include "kernel/compensation.h"
#include "kernel/events.h"
#include "kernel/journal/apart.h"
#include "kernel/journal/base.h"
#include "kernel/journal/codec.h"
#include "kernel/journal/replay.h"
#include "kernel/loop_guard.h"
#include "kernel/machine.h"
#include "kernel/names.h"
#include "kernel/node_api.h"
#include "kernel/references.h"
#include "kernel/visit.h"

#endif
