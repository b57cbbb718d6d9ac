/*
 * Everything that a plan must stand: see plan_sim.h.
 */
#include "tests/support/plan_sim.h"

int sim_most_messages(const struct sim_plan *p)
{
	int most = 1;

	for (int f = 0; f < p->nfifos; f++)
		most = p->fifos[f].messages > most ? p->fifos[f].messages : most;
	return most;
}

/* The k-th of a plan's runs: FIFOs as compiled or without end, 1 to 3 tiles. */
struct sim_config sim_nth_config(const struct sim_module *m, const struct sim_plan *p, int k)
{
	struct sim_config c = {
		.slots = m->slots,
		.tiles = 1 + k % 3,
		.in_place = k & 1,
		.slow = ABSENT,
		.even_counts = m->even_counts,
		.seed = (uint64_t)(k / 2),
		.direct = k / 4 & 1,
		.held = k / 2 % 4 != 2,
	};

	if (k / 2 % 3 == 2)
		c.slots = sim_most_messages(p) * c.tiles;
	return c;
}

/* All runs of one plan; false, and why, if one of them fails. */
bool sim_holds(const struct sim_module *m, const struct sim_plan *p, const struct sim_want *want,
	       struct sim_failure *why)
{
	if (!sim_check(p, why) || sim_races(p, false, why) || sim_races(p, true, why) ||
	    !sim_direct(p, why) || !sim_held(p, why) || !sim_reads(p, why) || !sim_orders(p, why))
		return false;
	for (int k = 0; k < SIM_RUNS; k++) {
		struct sim_config c = sim_nth_config(m, p, k);

		if (!sim_run(p, want, &c, why))
			return false;
	}
	return true;
}
