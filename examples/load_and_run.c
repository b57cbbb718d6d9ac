/* Loads a schedule and runs it on 4 ranks of this process. */
#include <ccs.h>
#include <stdio.h>

enum { RANKS = 4, COUNT = 6 };

int main(int argc, char **argv)
{
	struct ccs_module *module;
	struct ccs_comm *comm[RANKS];
	float data[RANKS][COUNT];

	if (ccs_module_load(&module, argc > 1 ? argv[1] : "ar.so") ||
	    ccs_comm_init_all(comm, RANKS))
		return fprintf(stderr, "%s\n", ccs_error()), 1;
	for (int i = 0; i < RANKS * COUNT; i++)
		data[i / COUNT][i % COUNT] = (float)(i / COUNT * 10 + i % COUNT);
	ccs_group_start();
	for (int r = 0; r < RANKS; r++)
		ccs_run(module, data[r], data[r], COUNT, CCS_FLOAT32, CCS_SUM, 0, comm[r], NULL);
	if (ccs_group_end())
		return fprintf(stderr, "%s\n", ccs_error()), 1;
	for (int i = 0; i < RANKS * COUNT; i++)
		printf("%g%c", (double)data[i / COUNT][i % COUNT], (i + 1) % COUNT ? ' ' : '\n');
	for (int r = 0; r < RANKS; r++)
		ccs_comm_free(comm[r]);
	ccs_module_free(module);
}
