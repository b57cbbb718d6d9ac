/*
 * --verify: proves modules again, from their bytes (prove.h), and tells of each plan.
 *
 * In: the files' names. Out: on stdout a line a plan that is right, and on stderr one for
 * what is wrong; all files and plans are looked at. The exit status is 0 if all are right,
 * 2 if one is not or is no module, 4 if memory ran out.
 */
#include "runtime/ccrun/ccrun.h"

#include "runtime/plan/prove.h"

static void tell(const struct ccs_module *m, const struct plan_view *v, const struct prove_facts *f)
{
	char root[32] = "";

	if (v->plan->root != CCS_NONE)
		snprintf(root, sizeof(root), ", root %u", v->plan->root);
	printf("  N = %u%s: ends with %u slots, no races, %llu final values as promised%s%s; "
	       "%llu operations, %llu messages (%llu direct)\n",
	       v->plan->nranks, root, m->head->slots, (unsigned long long)f->promised,
	       m->head->flags & CCS_MODULE_SIZED ? "" : ", lengths agree",
	       v->plan->after.n ? ", ranks end in order" : "", (unsigned long long)v->plan->ops.n,
	       (unsigned long long)f->messages, (unsigned long long)f->direct);
}

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

static int verify_plans(const struct ccs_module *m, const char *file)
{
	bool uneven = false;
	int rc = EXIT_DONE;
	ccs_status s;

	printf("%s: %s, %s\n", file, ccs_module_schedule(m), ccs_module_contract(m));
	for (size_t i = 0; i < m->nplans; i++) {
		struct prove_facts f;

		s = prove_plan(m, m->plans + i, 0, &f);
		uneven |= f.uneven;
		if (s)
			rc = worse(rc, failed(file, s));
		else
			tell(m, m->plans + i, &f);
	}
	s = rc == EXIT_DONE ? prove_flags(m, uneven) : CCS_OK;
	if (s)
		rc = failed(file, s);
	if (m->head->flags & CCS_MODULE_SIZED)
		printf("  not proved: the lengths of `sized` chunks, which a module does not know\n");
	if (m->head->flags & CCS_MODULE_BY_COLUMN)
		printf("  not proved: that chunks `by column` are as long as others that are cut "
		       "alike\n");
	return rc;
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
