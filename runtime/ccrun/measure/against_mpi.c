/*
 * --against mpi: MPI's collective of the same contract, in the same processes and on the same
 * buffers as the module's, checked by the same code.
 *
 * Each rank is a process that mpirun has started. MPI is initialised before the ranks meet,
 * and ended after the table. A call is done when it returns. What MPI has no type or operator
 * for is not measured; if that is all that was asked for, it is refused. O(calls).
 */
#include "runtime/ccrun/bench.h"
#include "runtime/mpi/calls.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct mpi_side {
	const struct mpi_calls *calls;
	struct mpi_world *world;
	const struct mpi_collective *collective;
};

static int possible(const struct options *o, const struct ccs_module *m)
{
	(void)m;
	if (o->cuda)
		return complain_once(
			o, EXIT_LACKS,
			"--against mpi: MPI is measured on the CPU: leave out --device "
			"cuda");
	if ((!o->launcher || o->procs) && o->ranks > 1)
		return complain_once(o, EXIT_LACKS,
				     "--against mpi: each of MPI's ranks is a process: start it "
				     "with mpirun -np %d%s%s",
				     o->ranks,
				     o->transport == TRANSPORT_LOCAL ? ", without --transport local"
								     : "",
				     o->procs ? ", without --procs" : "");
	return EXIT_DONE;
}

/* ---- opening ---------------------------------------------------------------------------- */

/* CCS_OK, or the status and text of a call's error. */
static ccs_status check(const struct mpi_side *n, int e, const char *call)
{
	char text[200];

	if (!e)
		return CCS_OK;
	n->calls->error(e, text, sizeof(text));
	return ccs_error_set(CCS_ESYSTEM, "MPI's %s failed: %s", call, text);
}

static int find_collective(const struct bench *b, struct mpi_side *n)
{
	const struct mpi_collective *c = n->calls->collectives;
	const char *contract = ccs_module_contract(b->m);
	char names[200] = "";

	for (; c->contract && strcmp(c->contract, contract); c++) {
		size_t len = strlen(names);

		snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "", c->contract);
	}
	n->collective = c;
	if (c->contract)
		return EXIT_DONE;
	return complain_once(b->o, EXIT_LACKS, "--against mpi: MPI has no %s; it has %s", contract,
			     names);
}

/* MPI moves elements of all types, and combines some. */
static bool combines(const struct mpi_side *n, const struct ccs_module_info *has, int type, int op)
{
	if (!has->reduces)
		return true;
	return op != OP_PREMUL && n->calls->reduces((ccs_dtype)type, (ccs_redop)op);
}

/* How many of the rows that are asked for MPI has; *lacks: how many not. */
static int count_rows(const struct bench *b, int *lacks)
{
	const struct options *o = b->o;
	int n = 0;

	*lacks = 0;
	for (int i = 0; i < CCS_NDTYPES * OP_COUNT; i++) {
		int type = i / OP_COUNT, op = i % OP_COUNT;

		if (!(o->types >> type & 1) || !(o->ops >> op & 1))
			continue;
		if (combines(b->baseline, &b->has, type, op))
			n++;
		else
			++*lacks;
	}
	return n;
}

/* Under another MPI's mpirun each process is alone. */
static ccs_status check_ranks(const struct bench *b, const char *library)
{
	const struct options *o = b->o;
	const struct mpi_side *n = b->baseline;
	int rank = n->calls->rank(n->world), size = n->calls->size(n->world);

	if (rank == o->rank && size == o->ranks)
		return CCS_OK;
	return ccs_error_set(
		CCS_EUNSUPPORTED,
		"%s numbers this process rank %d of %d, and %s rank %d of %d: start it "
		"with the mpirun of that MPI",
		library, rank, size, o->launcher ? o->launcher : "-n", o->rank, o->ranks);
}

static ccs_status join(struct bench *b, int lacks)
{
	struct mpi_side *n = b->baseline;
	char library[160];
	ccs_status s = check(n, n->calls->open(0, &n->world), "MPI_Init_thread");

	if (s)
		return s;
	n->calls->name(library, sizeof(library));
	snprintf(b->label, sizeof(b->label), "baseline: %s, in the same processes%s", library,
		 lacks ? "; n/a: it cannot combine these" : "");
	return check_ranks(b, library);
}

static ccs_status open_library(struct bench *b)
{
	struct mpi_side *n = calloc(1, sizeof(*n));
	void *library;
	ccs_status s;

	b->baseline = n;
	if (!n)
		return ccs_error_set(CCS_ENOMEM, "out of memory");
	s = ccs_mpi_library(&library);
	if (!s)
		n->calls = dlsym(library, "ccs_mpi_calls");
	return s;
}

static int open_mpi(struct bench *b)
{
	ccs_status s = open_library(b);
	int rc, lacks;

	if (s)
		return measure_fail(b, SIDE_BASELINE, s);
	rc = find_collective(b, b->baseline);
	if (rc != EXIT_DONE)
		return rc;
	if (!count_rows(b, &lacks))
		return complain_once(b->o, EXIT_LACKS,
				     "--against mpi: MPI has no such operator for such elements");
	s = join(b, lacks);
	return s ? measure_fail(b, SIDE_BASELINE, s) : EXIT_DONE;
}

static void close_mpi(struct bench *b)
{
	struct mpi_side *n = b->baseline;
	unsigned ms = b->o->timeout * 1000;

	if (n && n->world)
		n->calls->close(n->world, b->failed ? MPICALLS_FAILED : MPICALLS_WELL,
				ms ? ms : MPICALLS_PATIENCE_MS);
	free(n);
}

/* ---- calls ------------------------------------------------------------------------------ */

static bool has(const struct bench *b, const struct row *r, bool in_place)
{
	(void)in_place;
	return combines(b->baseline, &b->has, (int)r->check.type, r->check.op);
}

static ccs_status put(struct bench *b, const struct row *r)
{
	const struct mpi_side *n = b->baseline;
	int rank = b->at->first;
	const struct mpi_job job = {
		.send = b->call_send[rank],
		.recv = b->call_recv[rank],
		.count = r->check.count,
		.type = r->check.type,
		.op = (ccs_redop)r->check.op,
		.root = r->root < 0 ? 0 : r->root,
	};

	if (job.count > n->calls->most)
		return ccs_error_set(CCS_EUNSUPPORTED,
				     "this MPI has calls of at most %zu elements, not of %zu",
				     n->calls->most, job.count);
	return check(n, n->collective->run(n->world, &job), n->collective->contract);
}

const struct baseline baseline_mpi = {
	.name = "mpi",
	.title = "MPI",
	.early = true,
	.possible = possible,
	.open = open_mpi,
	.close = close_mpi,
	.has = has,
	.put = put,
};
