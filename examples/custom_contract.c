/* Runs a schedule with a contract of its own, custom_contract.ccs: the running
 * sum over ranks. To the library it is a module like any other. */
#include <ccs.h>
#include <stdint.h>
#include <stdio.h>

enum { RANKS = 5, COUNT = 3 };

static int fail(void)
{
	fprintf(stderr, "custom_contract: %s\n", ccs_error());
	return 1;
}

int main(int argc, char **argv)
{
	struct ccs_module *module;
	struct ccs_comm *comm[RANKS];
	int64_t data[RANKS][COUNT];
	int wrong = 0;

	if (ccs_module_load(&module, argc > 1 ? argv[1] : "custom_contract.so") ||
	    ccs_comm_init_all(comm, RANKS))
		return fail();
	printf("%s implements %s\n", ccs_module_schedule(module), ccs_module_contract(module));
	for (int r = 0; r < RANKS; r++)
		for (int i = 0; i < COUNT; i++)
			data[r][i] = r + 1 + 10 * i;
	ccs_group_start();
	for (int r = 0; r < RANKS; r++)
		ccs_run(module, data[r], data[r], COUNT, CCS_INT64, CCS_SUM, 0, comm[r], NULL);
	if (ccs_group_end())
		return fail();
	for (int r = 0; r < RANKS; r++) {
		printf("rank %d:", r);
		for (int i = 0; i < COUNT; i++) {
			printf(" %lld", (long long)data[r][i]);
			/* 1 + 2 + ... + (r + 1), and 10 i from each of r + 1 ranks */
			wrong += data[r][i] != (r + 1) * (r + 2) / 2 + 10 * i * (r + 1);
		}
		printf("\n");
		ccs_comm_free(comm[r]);
	}
	ccs_module_free(module);
	return wrong != 0;
}
