/*
 * Plans as the bytes of a module have them, for the simulator of plan_sim.h.
 */
#ifndef CCS_TESTS_PLAN_BYTES_H
#define CCS_TESTS_PLAN_BYTES_H

#include "runtime/plan/load.h"
#include "tests/support/plan_sim.h"

/** Plan i of the module, alone; sim_free gives it back. */
void sim_read(const struct ccs_module *m, size_t i, struct sim_module *out);
/** What the module itself promises of plan i: nranks * cells, to be freed. */
struct sim_want *sim_promised(const struct ccs_module *m, size_t i);

#endif
