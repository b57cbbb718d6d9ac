/*
 * ccrun: runs a compiled schedule, checks it, times it.
 *
 *     ccrun -n 4 ar.so
 *
 * In: a module and options. Out: nccl-tests' table on stdout, all else on stderr,
 * and an exit status: 0 all right, 2 usage or file, 3 wrong elements or no
 * progress, 4 what this machine or build lacks, 70 a bug.
 */
#include "runtime/ccrun.h"

#include <string.h>

/* Adds "2..16" or "4" to the list. */
static void add_range(char *text, size_t size, uint32_t from, uint32_t to)
{
	size_t len = strlen(text);

	if (from == to)
		snprintf(text + len, size - len, "%s%u", len ? ", " : "", from);
	else
		snprintf(text + len, size - len, "%s%u..%u", len ? ", " : "", from, to);
}

void module_ranks_text(const struct ccs_module *m, char *text, size_t size)
{
	uint32_t from = 0, to = 0;

	*text = '\0';
	for (size_t i = 0; i < m->nplans; i++) {
		uint32_t n = m->plans[i].plan->nranks;

		if (!from) {
			from = n;
		} else if (n > to + 1) {
			add_range(text, size, from, to);
			from = n;
		}
		to = n;
	}
	if (from)
		add_range(text, size, from, to);
}

static int unsupported(const struct ccs_module *m)
{
	bool sized = m->head->flags & CCS_MODULE_SIZED;

	fprintf(stderr, "ccrun: %s has a buffer `%s`: parsed and checked, cannot be run yet\n",
		ccs_module_schedule(m), sized ? "sized" : "by column");
	return EXIT_LACKS;
}

static int run(const struct options *o, struct ccs_module *m)
{
	char ranks[256];

	module_ranks_text(m, ranks, sizeof(ranks));
	if (!o->ranks) {
		fprintf(stderr, "ccrun: -n is missing; %s has plans for %s ranks\n",
			ccs_module_schedule(m), *ranks ? ranks : "no");
		return EXIT_USAGE;
	}
	if (!ccs_module_has(m, o->ranks)) {
		fprintf(stderr, "ccrun: %s has no plan for %d ranks; it has plans for %s\n",
			ccs_module_schedule(m), o->ranks, *ranks ? ranks : "none");
		return EXIT_USAGE;
	}
	if (o->root >= o->ranks && ccs_module_rooted(m)) {
		fprintf(stderr, "ccrun: root %d is no rank of 0..%d\n", o->root, o->ranks - 1);
		return EXIT_USAGE;
	}
	if (m->head->flags & (CCS_MODULE_BY_COLUMN | CCS_MODULE_SIZED))
		return unsupported(m);
	if (o->nccl && !o->cuda) {
		fprintf(stderr, "ccrun: --against nccl: NCCL's ranks are on GPUs: give --device cuda "
			"too\n");
		return EXIT_LACKS;
	}
	return table_print(o, m, stdout);
}

int main(int argc, char **argv)
{
	struct options o;
	struct ccs_module *m;
	int rc = options_read(&o, argc, argv);

	if (rc < 0) {
		if (ccs_module_load(&m, o.file)) {
			fprintf(stderr, "ccrun: %s\n", ccs_error());
			return EXIT_USAGE;
		}
		rc = run(&o, m);
		ccs_module_free(m);
	}
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "ccrun: cannot write the table\n");
		return rc ? rc : EXIT_USAGE;
	}
	return rc;
}
