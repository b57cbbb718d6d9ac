/*
 * Random programs as texts, for same_as.sh: DIR/0.ccs, DIR/1.ccs, ...; and of each how many ranks it
 * has, on standard output. Every other is right by construction; of the others most have mistakes.
 *
 *   texts DIR COUNT SEED
 */
#include "tests/support/random_program.h"
#include "tests/support/right_program.h"

#include <stdlib.h>

static int put_right(struct rng *g, FILE *f)
{
	struct right_program p;

	right_program(g, &p, f);
	return p.nranks;
}

static int put_any(struct rng *g, FILE *f)
{
	struct o_program p;

	do
		random_program(g, &p);
	while (!p.nops);
	random_contract(g, &p, 1);
	oracle_write(&p, "p", f);
	return p.nranks;
}

int main(int argc, char **argv)
{
	struct rng g = { .state = argc == 4 ? 2 * strtoull(argv[3], NULL, 10) + 1 : 0 };

	if (argc != 4)
		return 2;
	for (int i = 0; i < atoi(argv[2]); i++) {
		char name[512];
		int nranks;
		FILE *f;

		snprintf(name, sizeof(name), "%s/%d.ccs", argv[1], i);
		f = fopen(name, "w");
		if (!f)
			return 2;
		nranks = i % 2 ? put_any(&g, f) : put_right(&g, f);
		if (fclose(f))
			return 2;
		printf("%d %d\n", i, nranks);
	}
	return 0;
}
