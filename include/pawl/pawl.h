/* pawl.h - all of Pawl. */
#ifndef PAWL_PAWL_H
#define PAWL_PAWL_H
#include "pawl/base.h"
#include "pawl/policy.h"
#include "pawl/kernel.h"
#include "pawl/graph.h"
#include "pawl/flow.h"
#include "pawl/store.h"
#include "pawl/store_simple.h"
#include "pawl/effect.h"
#include "pawl/llm.h"
#include "pawl/tool.h"
#include "pawl/engine.h"
#include "pawl/stream.h"
#include "pawl/history.h"
#include "pawl/items.h"
#include "pawl/sim.h"
#include "pawl/agent.h"
#include "pawl/host.h"
#endif
