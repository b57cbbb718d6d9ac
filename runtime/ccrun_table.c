/*
 * The table: nccl-tests' columns, for every size, type, operator and root asked.
 *
 * A row: buffers are allocated for its count, and it is measured out of place and then in
 * place (ccrun_measure.c). With --against nccl NCCL's columns follow ours, and how many
 * times as long NCCL takes; with --copy-rate, how much of a copy's rate the messages'
 * bytes come to.
 */
#include "runtime/ccrun_bench.h"

#include "runtime/comm.h"

#include <stdarg.h>
#include <string.h>

/* Where another process prints, this one is silent. */
static void print(const struct bench *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void print(const struct bench *b, const char *format, ...)
{
	va_list ap;

	if (!b->out)
		return;
	va_start(ap, format);
	vfprintf(b->out, format, ap);
	va_end(ap);
}

static void flush(const struct bench *b)
{
	if (b->out)
		fflush(b->out);
}

/* ---- one row ------------------------------------------------------------------------------ */

/* nccl-tests' factor between algorithm and bus bandwidth. */
static double bus_factor(const char *contract, int ranks)
{
	static const struct {
		const char *name;
		double times;
	} known[] = {
		{ "allreduce", 2 }, { "allgather", 1 }, { "reduce_scatter", 1 },
		{ "all_to_all", 1 }, { "gather", 1 }, { "scatter", 1 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(contract, known[i].name))
			return known[i].times * (ranks - 1) / ranks;
	return 1;
}

static void print_result(struct bench *b, const struct row *r, enum side side,
			 const struct result *x)
{
	double alg, bus;
	char wrong[24] = "n/a";

	if (!x->measured) {
		print(b, "  %8s %7s %7s %6s", "n/a", "n/a", "n/a", "n/a");
		return;
	}
	alg = x->us > 0 ? (double)r->size / x->us * 1e-3 : 0;
	bus = alg * bus_factor(ccs_module_contract(b->m), b->at->ranks);
	b->busbw[side] += bus;
	b->columns[side]++;
	b->wrong[side] += x->wrong;
	if (b->o->check)
		snprintf(wrong, sizeof(wrong), "%zu", x->wrong);
	print(b, "  %8.*f %7.2f %7.2f %6s", x->us < 10 ? 2 : x->us < 10000 ? 1 : 0, x->us, alg,
	      bus, wrong);
}

/* GPUs that the ranks of all processes live on. */
static int count_gpus(const struct home *p)
{
	return p->group ? p->ranks : device_lanes(p->device)->n;
}

/* The part of the copy's rate that the messages come to: each byte of theirs is read once
 * and written once, as a copy's is, by all GPUs together. */
static void print_copy(struct bench *b, const struct row *r, const struct result *x)
{
	double rate = x->copy_us > 0 ? (double)r->size / x->copy_us : 0;
	double moved = x->us > 0 ? measure_moved(r) / x->us / count_gpus(b->at) : 0;

	if (!x->measured || !(rate > 0)) {
		print(b, " %5s", "n/a");
		return;
	}
	b->copy_rate = 2 * rate * 1e-3;
	print(b, " %5.1f", 100 * moved / rate);
}

static void print_both(struct bench *b, const struct row *r, const struct result x[SIDES])
{
	const struct result *ours = x + SIDE_OURS, *nccl = x + SIDE_NCCL;

	print_result(b, r, SIDE_OURS, ours);
	if (b->o->copy_rate)
		print_copy(b, r, ours);
	if (!b->nccl)
		return;
	print_result(b, r, SIDE_NCCL, nccl);
	if (ours->measured && nccl->measured && ours->us > 0)
		print(b, " %6.2f", nccl->us / ours->us);
	else
		print(b, " %6s", "n/a");
}

static void print_wrong(const struct bench *b, const struct row *r, bool in_place,
			const struct result x[SIDES])
{
	for (int side = 0; side < SIDES && !b->o->rank; side++)
		if (x[side].wrong)
			complain(b->o, "%s%s %s, size %zu, %s: %s",
				 side == SIDE_NCCL ? "NCCL: " : "", ccs_dtype_name(r->check.type),
				 ccrun_op_name(r->check.op), r->size,
				 in_place ? "in place" : "out of place", x[side].text);
}

static int row_run(struct bench *b, struct row *r)
{
	struct result result[2][SIDES];
	enum side side = SIDE_OURS;
	ccs_status s = CCS_OK;

	print(b, "%12zu %12zu %11s %7s %5d", r->size, r->check.count,
	      ccs_dtype_name(r->check.type),
	      r->check.numbers ? ccrun_op_name(r->check.op) : "none", r->root);
	flush(b);
	for (int in_place = 0; in_place < 2 && !s; in_place++) {
		s = measure(b, r, in_place, result[in_place], &side);
		if (!s)
			print_both(b, r, result[in_place]);
		flush(b);
	}
	print(b, "\n");
	flush(b);
	for (int in_place = 0; in_place < 2 && !s; in_place++)
		print_wrong(b, r, in_place, result[in_place]);
	return s ? measure_fail(b, side, s) : EXIT_DONE;
}

static int size_run(struct bench *b, struct row *r, size_t size)
{
	ccs_status s = buffers_size(b, r, size);
	int rc;

	if (!s)
		s = home_agree(b->at, buffers_alloc(b, r));
	rc = s ? measure_fail(b, SIDE_OURS, s) : row_run(b, r);
	buffers_free(b);
	return rc;
}

/* ---- all rows ---------------------------------------------------------------------- */

static int sizes_run(struct bench *b, ccs_dtype type, int op, int root)
{
	struct row r = { .check = { .module = b->m, .type = type, .op = op }, .root = root };
	size_t size = b->o->least;
	int rc = EXIT_DONE;

	r.check.view = module_plan(b->m, b->at->ranks, root);
	if (!r.check.view) {
		complain_once(b->o, "%s has no plan for root %d of %d ranks",
			      ccs_module_schedule(b->m), root, b->at->ranks);
		return EXIT_USAGE;
	}
	if (!check_init(&r.check)) {
		complain(b->o, "out of memory");
		return EXIT_LACKS;
	}
	check_scalar(&r.check, r.scalar);
	while (rc == EXIT_DONE) {
		rc = size_run(b, &r, size);
		if (b->o->step ? size > b->o->most - b->o->step
			       : size && size > b->o->most / b->o->factor)
			break;
		size = b->o->step ? size + b->o->step : size ? size * b->o->factor : 1;
		if (size > b->o->most)
			break;
	}
	check_free(&r.check);
	return rc;
}

static int roots_run(struct bench *b, ccs_dtype type, int op)
{
	int rc = EXIT_DONE;

	if (!ccs_module_rooted(b->m))
		return sizes_run(b, type, op, -1);
	if (b->o->root >= 0)
		return sizes_run(b, type, op, b->o->root);
	for (int root = 0; root < b->at->ranks && rc == EXIT_DONE; root++)
		rc = sizes_run(b, type, op, root);
	return rc;
}

static int rows_run(struct bench *b)
{
	bool reduces = b->m->head->flags & CCS_MODULE_REDUCES;
	bool mixed = b->m->head->flags & CCS_MODULE_MIXED;
	int rc = EXIT_DONE;

	for (int type = 0; type < CCS_NDTYPES; type++) {
		if (!(b->o->types >> type & 1))
			continue;
		for (int op = 0; op < OP_COUNT && rc == EXIT_DONE; op++) {
			if (!reduces && op)
				break;
			if (reduces && !(b->o->ops >> op & 1))
				continue;
			if (reduces && mixed && b->o->ops_all && (op == CCS_AVG || op == OP_PREMUL))
				continue;
			rc = roots_run(b, (ccs_dtype)type, op);
		}
	}
	return rc;
}

/* ---- head and foot ---------------------------------------------------------------- */

static void print_runs(const struct bench *b)
{
	const struct options *o = b->o;

	print(b, "# ");
	if (o->repeats > 1)
		print(b, "median of %u times the ", o->repeats);
	if (o->graphs)
		print(b, "mean of %u launches of a graph of %u runs after %u; ", o->graphs,
		      o->iters, o->warmup);
	else
		print(b, "mean of %u runs after %u; ", o->iters, o->warmup);
	print(b, "%s\n", o->check ? "then every element of one more is checked"
				  : "results not checked");
}

/* A line of the columns' names. */
static void print_names(const struct bench *b, const char *const row[5],
			const char *const side[4], const char *copy, const char *ratio)
{
	print(b, "#%11s %12s %11s %7s %5s", row[0], row[1], row[2], row[3], row[4]);
	for (int in_place = 0; in_place < 2; in_place++) {
		print(b, "  %8s %7s %7s %6s", side[0], side[1], side[2], side[3]);
		if (b->o->copy_rate)
			print(b, " %5s", copy);
		if (b->nccl)
			print(b, "  %8s %7s %7s %6s %6s", side[0], side[1], side[2], side[3],
			      ratio);
	}
	print(b, "\n");
}

static void print_head(const struct bench *b)
{
	static const char *const names[] = { "size", "count", "type", "redop", "root" };
	static const char *const units[] = { "(B)", "(elements)", "", "", "" };
	static const char *const times[] = { "time", "algbw", "busbw", "#wrong" };
	static const char *const time_units[] = { "(us)", "(GB/s)", "(GB/s)", "" };
	static const struct {
		const char *ours, *nccl;
		int left, right;	/* columns up to its end, and behind it */
	} title[] = { { "out of place", "NCCL, out of place", 21, 10 },
		      { "in place", "NCCL, in place", 19, 12 } };
	char where[512];

	home_describe(b->at, where, sizeof(where));
	print(b, "# %s: %s, %s\n", ccs_module_schedule(b->m), ccs_module_contract(b->m), where);
	if (b->nccl)
		print(b, "# %s\n", nccl_side_label(b->nccl));
	if (b->m->head->flags & CCS_MODULE_MIXED && b->o->ops_all)
		print(b, "# avg and premul left out: some results are no sums\n");
	print_runs(b);
	print(b, "#\n#%11s %12s %11s %7s %5s", "", "", "", "", "");
	for (int k = 0; k < 2; k++) {
		print(b, "  %*s%*s", title[k].left, title[k].ours,
		      title[k].right + (b->o->copy_rate ? 6 : 0), "");
		if (b->nccl)
			print(b, "  %*s%*s", title[k].left + 3, title[k].nccl,
			      title[k].right + 4, "");
	}
	print(b, "\n");
	print_names(b, names, times, "copy", "ratio");
	print_names(b, units, time_units, "(%)", "");
}

static void print_foot(const struct bench *b)
{
	print(b, "#\n");
	if (b->o->check)
		print(b, "# wrong elements    : %zu%s\n", b->wrong[SIDE_OURS],
		      b->wrong[SIDE_OURS] ? "" : " OK");
	if (b->o->check && b->nccl)
		print(b, "# ... of NCCL's     : %zu%s\n", b->wrong[SIDE_NCCL],
		      b->wrong[SIDE_NCCL] ? "" : " OK");
	if (b->columns[SIDE_OURS])
		print(b, "# mean bus bandwidth: %.3f GB/s\n",
		      b->busbw[SIDE_OURS] / b->columns[SIDE_OURS]);
	if (b->columns[SIDE_NCCL])
		print(b, "# ... of NCCL's     : %.3f GB/s\n",
		      b->busbw[SIDE_NCCL] / b->columns[SIDE_NCCL]);
	if (b->copy_rate > 0)
		print(b, "# last copy's rate  : %.3f GB/s read and written\n", b->copy_rate);
}

int table_print(struct bench *b)
{
	int rc;

	print_head(b);
	rc = rows_run(b);
	if (rc == EXIT_DONE) {
		print_foot(b);
		rc = b->wrong[SIDE_OURS] || b->wrong[SIDE_NCCL] ? EXIT_WRONG : EXIT_DONE;
	}
	return rc;
}
