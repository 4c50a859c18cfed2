/* scene_machines.h - the machines of scenes.c, made with any memory. */
#ifndef TEST_LIB_SCENE_MACHINES_H
#define TEST_LIB_SCENE_MACHINES_H

#include "scenes.h"

machine_fn machine_letter, machine_desk, machine_survey, machine_fan, machine_gate, machine_nest, machine_joins;
/* As pawl_graph_new_in; with memory given, no two pieces of it share a block. */
pawl_graph *scene_graph(const char *name, uint32_t version, const pawl_alloc *alloc);
machine_fn machine_repair, machine_talk, machine_vault, machine_hooks, machine_race, machine_rules, machine_trip, machine_pact;

#endif
