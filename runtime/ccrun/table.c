/*
 * The table: nccl-tests' columns, for every requested size, type, operator and root.
 *
 * For each row, buffers are allocated for its count, and it is measured out of place and then in
 * place (measure.c). With --against the baseline's columns follow, and the ratio of the times;
 * with --copy-rate, the messages' share of a copy's rate. The same figures go to the report, if
 * there is one.
 */
#include "runtime/ccrun/bench.h"
#include "runtime/ccrun/gpu/device.h"
#include "runtime/ccrun/values/fill.h"

#include <stdarg.h>

/* Prints, unless another process does. */
__attribute__((format(printf, 2, 3))) static void print(const struct bench *b, const char *format,
							...)
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

/* The number of GPUs of all ranks. */
static int count_gpus(const struct home *p)
{
	return p->local < p->ranks ? p->ranks : p->device->lanes.n;
}

/* With --copy-rate: the messages' rate as a part of the copy's rate. Each of their bytes is
 * read once and written once, like a copy's, by all GPUs together. */
static void copy_figures(const struct bench *b, const struct row *r, const struct result *x,
			 struct figures *f)
{
	double rate = x->copy_us > 0 ? (double)r->size / x->copy_us : 0;
	const struct check *c = &r->check;
	uint64_t elements = 0;
	double moved;

	if (!x->measured || !(rate > 0))
		return;
	ccs_module_moved(c->module, c->plan, c->count, &elements);
	moved = (double)elements * (double)c->format.size;
	moved = x->us > 0 ? moved / x->us / count_gpus(b->at) : 0;
	f->copy_percent = 100 * moved / rate;
	f->copy_rate = 2 * rate * 1e-3;
}

static struct figures figures_of(struct bench *b, const struct row *r, enum side side,
				 const struct result *x)
{
	struct figures f = { .of = x, .copy_percent = -1, .copy_rate = -1 };

	if (!x->measured)
		return f;
	f.alg = x->us > 0 ? (double)r->size / x->us * 1e-3 : 0;
	f.bus = f.alg * ccs_bus_factor(ccs_module_contract(b->m), b->at->ranks);
	b->busbw[side] += f.bus;
	b->columns[side]++;
	b->wrong[side] += x->wrong;
	if (side == SIDE_OURS && b->o->copy_rate) {
		copy_figures(b, r, x, &f);
		if (f.copy_rate >= 0)
			b->copy_rate = f.copy_rate;
	}
	return f;
}

static void print_side(const struct bench *b, const struct figures *f)
{
	char wrong[24] = "n/a";

	if (!f->of->measured) {
		print(b, "  %8s %7s %7s %6s", "n/a", "n/a", "n/a", "n/a");
		return;
	}
	if (b->checks)
		snprintf(wrong, sizeof(wrong), "%zu", f->of->wrong);
	print(b, "  %8.*f %7.2f %7.2f %6s",
	      f->of->us < 10	  ? 2
	      : f->of->us < 10000 ? 1
				  : 0,
	      f->of->us, f->alg, f->bus, wrong);
}

/* Prints a placement, for both sides. */
static void tell(struct bench *b, const struct row *r, bool in_place, const struct result x[SIDES])
{
	struct figures f[SIDES];
	double ratio = -1;

	for (int side = 0; side < SIDES; side++)
		f[side] = figures_of(b, r, (enum side)side, x + side);
	if (x[SIDE_OURS].measured && x[SIDE_BASELINE].measured && x[SIDE_OURS].us > 0)
		ratio = x[SIDE_BASELINE].us / x[SIDE_OURS].us;
	report_result(b, r, in_place, f, ratio);
	print_side(b, f + SIDE_OURS);
	if (b->o->copy_rate && f[SIDE_OURS].copy_percent >= 0)
		print(b, " %5.1f", f[SIDE_OURS].copy_percent);
	else if (b->o->copy_rate)
		print(b, " %5s", "n/a");
	if (!b->beside)
		return;
	print_side(b, f + SIDE_BASELINE);
	if (ratio >= 0)
		print(b, " %6.2f", ratio);
	else
		print(b, " %6s", "n/a");
}

static void print_wrong(const struct bench *b, const struct row *r, bool in_place,
			const struct result x[SIDES])
{
	for (int side = 0; side < SIDES && !b->o->rank; side++)
		if (x[side].wrong)
			complain(b->o, EXIT_WRONG, "%s%s%s %s, size %zu, %s: %s",
				 side == SIDE_BASELINE ? b->o->against->title : "",
				 side == SIDE_BASELINE ? ": " : "", ccs_dtype_name(r->check.type),
				 redop_name(r->check.op), r->size,
				 in_place ? "in place" : "out of place", x[side].text);
}

/* With a tuning: the modules that have run. */
static void print_choice(const struct bench *b)
{
	char how[CCS_OPTIONS_TEXT];

	if (!b->tuning)
		return;
	ccs_run_options_text(&b->how, how, sizeof(how));
	print(b, "  %s, %s", ccs_module_schedule(b->m), how);
}

/* With -v: prints how the call was cut; on the CPU nothing. */
static void print_shape(const struct bench *b)
{
	struct ccs_run_shape x;

	if (!b->o->verbose || ccs_comm_last_run(b->at->comm[b->at->first], &x) || !x.channels)
		return;
	print(b,
	      "  %s, %u channel%s, %u blocks of %u threads, %llu tile%s of %llu, %llu B of slots",
	      x.protocol == CCS_RUN_LL ? "ll" : "simple", x.channels, x.channels == 1 ? "" : "s",
	      x.blocks, x.threads, (unsigned long long)x.tiles, x.tiles == 1 ? "" : "s",
	      (unsigned long long)x.tile, (unsigned long long)x.slots);
}

static int row_run(struct bench *b, struct row *r)
{
	struct result result[2][SIDES];
	enum side side = SIDE_OURS;
	ccs_status s = CCS_OK;
	int measured = 0;

	for (; measured < 2 && !s; measured += !s)
		s = measure(b, r, measured, result[measured], &side);
	progress_done(b);
	print(b, "%12zu %12zu %11s %7s %5d", r->size, r->check.count, ccs_dtype_name(r->check.type),
	      r->check.numbers ? redop_name(r->check.op) : "none", r->root);
	for (int in_place = 0; in_place < measured; in_place++)
		tell(b, r, in_place, result[in_place]);
	print_choice(b);
	print_shape(b);
	print(b, "\n");
	flush(b);
	for (int in_place = 0; in_place < 2 && !s; in_place++)
		print_wrong(b, r, in_place, result[in_place]);
	return s ? measure_fail(b, side, s) : EXIT_DONE;
}

/* With --show: the row's values, and no times. */
static int row_show(struct bench *b, const struct row *r)
{
	struct result result[SIDES] = { { .measured = true } };
	ccs_status s = show_row(b, r, &result[SIDE_OURS]);

	if (s)
		return measure_fail(b, SIDE_OURS, s);
	b->wrong[SIDE_OURS] += result[SIDE_OURS].wrong;
	print_wrong(b, r, false, result);
	return EXIT_DONE;
}

static int size_run(struct bench *b, struct row *r, size_t size)
{
	ccs_status s;
	int rc;

	if (b->progress.counts) {
		progress_count(b, size);
		return EXIT_DONE;
	}
	progress_begin(b, size);
	s = buffers_size(b, r, size);
	r->check.fill = b->o->fill;
	if (!s && r->check.fill && fill_check(&r->check)) {
		if (b->o->filled)
			return complain_once(b->o, EXIT_USAGE, "%s", ccs_error());
		r->check.fill = NULL;
	}
	if (!s && b->tuning)
		s = tuned_choose(b, r);
	if (!s)
		s = home_agree(b->at, buffers_alloc(b, r));
	if (s)
		rc = measure_fail(b, SIDE_OURS, s);
	else
		rc = b->o->show ? row_show(b, r) : row_run(b, r);
	buffers_free(b);
	return rc;
}

/* ---- all rows ---------------------------------------------------------------------- */

/* With --show alone there is one small size: two elements for each rank. */
static bool is_small(const struct bench *b)
{
	return b->o->show && !b->o->sized;
}

static int sizes_run(struct bench *b, ccs_dtype type, int op, int root)
{
	const struct check of = {
		.module = b->m, .type = type, .op = op, .expression = b->o->expression
	};
	struct row r = { .check = of, .root = root };
	size_t size = is_small(b) ? 2 * (size_t)b->at->ranks * ccs_dtype_size(type) : b->o->least;
	int rc = EXIT_DONE;

	r.check.rows = b->o->rows;
	r.check.plan = ccs_module_find(b->m, b->at->ranks, root);
	if (r.check.plan < 0)
		return complain_once(b->o, EXIT_USAGE, "%s has no plan for root %d of %d ranks",
				     ccs_module_schedule(b->m), root, b->at->ranks);
	if (!check_init(&r.check))
		return complain(b->o, EXIT_LACKS, "out of memory");
	check_scalar(&r.check, r.scalar);
	while (rc == EXIT_DONE) {
		rc = size_run(b, &r, size);
		if (!b->has.buffers || is_small(b) || b->o->sizes)
			break; /* there is only one size */
		if (!options_next_size(b->o, &size))
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
	bool reduces = b->has.reduces, mixed = reduces && !b->has.averages;
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
	if (!b->checks)
		print(b, b->has.buffers ? "results not checked\n" : "order not checked\n");
	else if (b->has.buffers)
		print(b, "then every element of one more run is checked\n");
	else
		print(b, "then %d ranks are late, one at a time: all other ranks must wait\n",
		      order_late(b));
}

/* A line of the columns' names. */
static void print_names(const struct bench *b, const char *const row[5], const char *const side[4],
			const char *copy, const char *ratio, const char *schedule)
{
	print(b, "#%11s %12s %11s %7s %5s", row[0], row[1], row[2], row[3], row[4]);
	for (int in_place = 0; in_place < 2; in_place++) {
		print(b, "  %8s %7s %7s %6s", side[0], side[1], side[2], side[3]);
		if (b->o->copy_rate)
			print(b, " %5s", copy);
		if (b->beside)
			print(b, "  %8s %7s %7s %6s %6s", side[0], side[1], side[2], side[3],
			      ratio);
	}
	if (b->tuning)
		print(b, "  %s", schedule);
	print(b, "\n");
}

static void print_head(const struct bench *b)
{
	static const char *const names[] = { "size", "count", "type", "redop", "root" };
	static const char *const units[] = { "(B)", "(elements)", "", "", "" };
	static const char *const times[] = { "time", "algbw", "busbw", "#wrong" };
	static const char *const time_units[] = { "(us)", "(GB/s)", "(GB/s)", "" };
	static const struct {
		const char *text;
		int left, right; /* columns of the name up to its end, and after it */
	} title[] = { { "out of place", 21, 10 }, { "in place", 19, 12 } };
	char where[512], theirs[40];

	ccs_comm_describe(b->at->comm[b->at->first], where, sizeof(where));
	report_head(b, where);
	print(b, "# %s: %s, %s\n", b->tuning ? b->o->table : ccs_module_schedule(b->m),
	      ccs_module_contract(b->m), where);
	if (b->beside)
		print(b, "# %s\n", b->label);
	if (b->has.reduces && !b->has.averages && b->o->ops_all)
		print(b, "# avg and premul left out: some results are not sums\n");
	print_runs(b);
	print(b, "#\n#%11s %12s %11s %7s %5s", "", "", "", "", "");
	for (int k = 0; k < 2; k++) {
		print(b, "  %*s%*s", title[k].left, title[k].text,
		      title[k].right + (b->o->copy_rate ? 6 : 0), "");
		if (!b->beside)
			continue;
		snprintf(theirs, sizeof(theirs), "%s, %s", b->o->against->title, title[k].text);
		print(b, "  %*s%*s", title[k].left + 3, theirs, title[k].right + 4, "");
	}
	print(b, "\n");
	print_names(b, names, times, "copy", "ratio", "schedule, how");
	print_names(b, units, time_units, "(%)", "", "");
}

static void print_foot(const struct bench *b)
{
	char theirs[40] = "", where[512] = "";

	if (b->beside)
		snprintf(theirs, sizeof(theirs), "... of %s's", b->o->against->title);
	print(b, "#\n");
	/* after the runs the text includes the ways of long messages */
	if (b->o->verbose && !ccs_comm_describe(b->at->comm[b->at->first], where, sizeof(where)))
		print(b, "# %s\n", where);
	if (b->checks)
		print(b, "# %-18s: %zu%s\n", b->has.buffers ? "wrong elements" : "wrong order",
		      b->wrong[SIDE_OURS], b->wrong[SIDE_OURS] ? "" : " OK");
	if (b->checks && b->beside)
		print(b, "# %-18s: %zu%s\n", theirs, b->wrong[SIDE_BASELINE],
		      b->wrong[SIDE_BASELINE] ? "" : " OK");
	if (b->columns[SIDE_OURS] && b->has.buffers)
		print(b, "# mean bus bandwidth: %.3f GB/s\n",
		      b->busbw[SIDE_OURS] / b->columns[SIDE_OURS]);
	if (b->columns[SIDE_BASELINE] && b->has.buffers)
		print(b, "# %-18s: %.3f GB/s\n", theirs,
		      b->busbw[SIDE_BASELINE] / b->columns[SIDE_BASELINE]);
	if (b->copy_rate > 0)
		print(b, "# last copy's rate  : %.3f GB/s read and written\n", b->copy_rate);
}

int table_print(struct bench *b)
{
	int rc;

	if (!b->o->show)
		print_head(b);
	b->progress.counts = !b->o->show && progress_open(b);
	rc = b->progress.counts ? rows_run(b) : EXIT_DONE;
	b->progress.counts = false;
	if (rc == EXIT_DONE)
		rc = rows_run(b);
	if (rc == EXIT_DONE && !b->o->show) {
		print_foot(b);
		report_summary(b);
	}
	if (rc == EXIT_DONE && (b->wrong[SIDE_OURS] || b->wrong[SIDE_BASELINE]))
		rc = EXIT_WRONG;
	return rc;
}
