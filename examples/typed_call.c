/* A schedule linked in, called by its own function: `ccc --emit=header` writes
 * the prototype, NCCL's parameters in NCCL's order, and ccc the function. */
#include "ring_allreduce.h"

#include <stdio.h>

enum { RANKS = 4, COUNT = 5 };

static int fail(void)
{
	fprintf(stderr, "typed_call: %s\n", ccs_error());
	return 1;
}

int main(void)
{
	struct ccs_comm *comm[RANKS];
	double send[RANKS][COUNT], recv[RANKS][COUNT];
	int wrong = 0;

	if (ccs_comm_init_all(comm, RANKS))
		return fail();
	for (int r = 0; r < RANKS; r++)
		for (int i = 0; i < COUNT; i++)
			send[r][i] = r + 0.5 * i;
	ccs_group_start();
	for (int r = 0; r < RANKS; r++)
		ring_allreduce(send[r], recv[r], COUNT, CCS_FLOAT64, CCS_AVG, comm[r], NULL);
	if (ccs_group_end())
		return fail();
	for (int r = 0; r < RANKS; r++) {
		printf("rank %d:", r);
		for (int i = 0; i < COUNT; i++) {
			printf(" %g", recv[r][i]);
			wrong += recv[r][i] != 1.5 + 0.5 * i;
		}
		printf("\n");
		ccs_comm_free(comm[r]);
	}
	return wrong != 0;
}
