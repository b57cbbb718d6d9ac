/*
 * --verify: proves modules again, from their bytes, and tells of each plan.
 *
 * In: the files' names. Out: on stdout a line a plan that is right, and on stderr one for
 * what is wrong; all files and plans are looked at. The exit status is 0 if all are right,
 * 2 if one is not or is no module, 4 if memory ran out.
 */
#include "runtime/ccrun/ccrun.h"

/* A module's plans, as they are told of. */
struct telling {
	const struct ccs_module *m;
	const char *file;
	struct ccs_module_info has;
	int rc;
};

/* The worse of two: 0 is best, then what the machine lacks. */
static int worse(int x, int y)
{
	return x == EXIT_USAGE || y == EXIT_DONE ? x : y;
}

static int failed(const char *file, ccs_status s)
{
	fflush(stdout);
	fprintf(stderr, "ccrun: %s: %s\n", file, ccs_error());
	return s == CCS_ENOMEM ? EXIT_LACKS : EXIT_USAGE;
}

static void tell(void *of, int plan, ccs_status s, const struct ccs_proof *proof)
{
	struct telling *t = of;
	struct ccs_plan_info p;
	char root[32] = "";

	if (s) {
		t->rc = worse(t->rc, failed(t->file, s));
		return;
	}
	ccs_module_plan(t->m, plan, &p);
	if (p.root >= 0)
		snprintf(root, sizeof(root), ", root %d", p.root);
	printf("  N = %d%s: ends with %u slots, no races, %llu final values as promised, lengths "
	       "agree%s; "
	       "%llu operations, %llu messages (%llu direct)\n",
	       p.nranks, root, t->has.slots, (unsigned long long)proof->promised,
	       p.orders ? ", ranks end in order" : "", (unsigned long long)p.operations,
	       (unsigned long long)proof->messages, (unsigned long long)proof->direct);
}

static int verify_plans(const struct ccs_module *m, const char *file)
{
	struct telling t = { .m = m, .file = file, .rc = EXIT_DONE };
	ccs_status s;

	printf("%s: %s, %s\n", file, ccs_module_schedule(m), ccs_module_contract(m));
	ccs_module_describe(m, &t.has);
	s = ccs_module_verify(m, tell, &t);
	if (s && t.rc == EXIT_DONE) /* it is no single plan's */
		t.rc = failed(file, s);
	return t.rc;
}

int verify_modules(const struct options *o)
{
	int rc = EXIT_DONE;

	for (char **file = o->files; *file; file++) {
		struct ccs_module *m;
		ccs_status s = ccs_module_load(&m, *file);

		if (s) {
			fflush(stdout);
			fprintf(stderr, "ccrun: %s\n", ccs_error());
			rc = worse(rc, s == CCS_ENOMEM ? EXIT_LACKS : EXIT_USAGE);
			continue;
		}
		rc = worse(rc, verify_plans(m, *file));
		ccs_module_free(m);
	}
	return rc;
}
