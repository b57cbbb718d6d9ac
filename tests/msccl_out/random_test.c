/*
 * Random programs for export_test.sh, as texts: DIR/0.ccs, DIR/1.ccs, ...; and of each how many
 * ranks it has, on standard output.
 *
 *   random_test DIR COUNT SEED
 */
#include "tests/support/right_program.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	struct rng g = { .state = argc == 4 ? strtoull(argv[3], NULL, 10) : 0 };

	if (argc != 4)
		return 2;
	for (int i = 0; i < atoi(argv[2]); i++) {
		struct right_program p;
		char name[512];
		FILE *f;

		snprintf(name, sizeof(name), "%s/%d.ccs", argv[1], i);
		f = fopen(name, "w");
		if (!f)
			return 2;
		right_program(&g, &p, f);
		if (fclose(f))
			return 2;
		printf("%d %d\n", i, p.nranks);
	}
	return 0;
}
