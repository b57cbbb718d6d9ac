/*
 * One placement of a row: the module's time, and a baseline's next to it.
 *
 * Each side is warmed up; then they are timed in turn, --repeats times, and the medians count. At
 * last each side runs once more on fresh inputs and poisoned outputs, and every element of the
 * outputs is checked. If each rank has a process, all processes do each step together; a call's
 * time is that of the slowest, and a step that fails on one fails on all. O(calls).
 */
#include "runtime/ccrun/bench.h"
#include "runtime/ccrun/gpu/device.h"
#include "runtime/ccrun/values/chunk_sizes.h"

#include <stdlib.h>

/* ---- the module ----------------------------------------------------------------------- */

static ccs_status put_rank(struct bench *b, const struct row *r, int i)
{
	const struct check *c = &r->check;
	const struct device *d = b->at->device;
	struct ccs_run_options how = b->how;

	how.rows = c->count ? c->rows : 0;
	how.sizes = sizes_of(c, (uint32_t)i);
	how.scalar = c->op == OP_PREMUL && c->numbers ? r->scalar : NULL;
	return ccs_run_with(b->m, &how, b->call_send[i], b->call_recv[i], c->count, c->type,
			    how.scalar ? CCS_SUM : (ccs_redop)c->op, r->root, b->at->comm[i],
			    d ? lanes_stream(&d->lanes, i) : NULL);
}

/* A process with one rank calls as a program would: without a group. */
static ccs_status put(struct bench *b, const struct row *r)
{
	const struct home *at = b->at;
	ccs_status s = CCS_OK;

	if (at->local == 1)
		return put_rank(b, r, at->first);
	ccs_group_start();
	for (int i = at->first; i < at->first + at->local && !s; i++)
		s = put_rank(b, r, i);
	return ccs_group_end();
}

/* The report of a kernel that gave up says more than the errors that followed from it. */
static ccs_status check_comm(const struct bench *b, ccs_status s)
{
	struct failure first = failure_keep(s);
	ccs_status left = s != CCS_EABORTED && b->at->device
				  ? ccs_comm_check(b->at->comm[b->at->first])
				  : CCS_OK;

	if (left && left != CCS_EABORTED)
		return left;
	return failure_first(&first, left);
}

/* ---- one side -------------------------------------------------------------------------- */

static put_call *put_of(const struct bench *b, enum side side)
{
	return side == SIDE_BASELINE ? b->o->against->put : put;
}

static ccs_status blame(struct bench *b, enum side side, ccs_status s)
{
	if (side == SIDE_OURS)
		return check_comm(b, s);
	return b->o->against->blame ? b->o->against->blame(b, s) : s;
}

static ccs_status prepare(struct bench *b, const struct row *r, enum side side)
{
	/* a call before a capture: allocations of a first call are no part of the graph */
	unsigned warmup = b->o->graphs && !b->o->warmup ? 1 : b->o->warmup;
	put_call *call = put_of(b, side);
	ccs_status s = CCS_OK;

	if (side == SIDE_BASELINE && b->o->against->prepare)
		s = b->o->against->prepare(b, r);
	if (!s)
		s = blame(b, side, time_run(b, r, call, b->lanes[side], warmup));
	return s ? s : time_capture(b, r, call, b->lanes[side]);
}

static ccs_status check(struct bench *b, const struct row *r, bool in_place, enum side side,
			struct result *result)
{
	struct row own = *r;
	ccs_status s = buffers_fill(b, r, in_place);

	own.check.scaled_first = side == SIDE_BASELINE;
	if (!s)
		s = blame(b, side, time_run(b, r, put_of(b, side), b->lanes[side], 1));
	if (!s)
		s = buffers_check(b, &own, in_place, result);
	if (!s && r->check.of.orders && !b->at->device)
		s = order_check(b, r, side, result);
	return s;
}

/* ---- both sides, in turn -------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

double measure_median(double *x, unsigned n)
{
	qsort(x, n, sizeof(*x), compare);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Times of one side, by repeat; the last: the copy's. */
enum { TIMES = SIDES + 1, COPY = SIDES };

static ccs_status one_time(struct bench *b, const struct row *r, int what, double *us)
{
	enum side side = (enum side)what;
	ccs_status s;

	progress_tell(b);
	*us = 0;
	if (what == COPY)
		s = time_copy(b, r, us);
	else
		s = blame(b, side, time_calls(b, r, put_of(b, side), b->lanes[side], us));
	s = home_agree(b->at, s);
	return s ? s : home_most(b->at, us);
}

static ccs_status time_all(struct bench *b, const struct row *r, const bool wanted[TIMES],
			   double *us[TIMES], enum side *side)
{
	ccs_status s = CCS_OK;

	for (unsigned i = 0; i < b->o->repeats; i++) {
		for (int what = 0; what < TIMES && !s; what++) {
			*side = what == SIDE_BASELINE ? SIDE_BASELINE : SIDE_OURS;
			if (wanted[what])
				s = one_time(b, r, what, us[what] + i);
		}
		if (s)
			break;
	}
	return s;
}

static ccs_status timed(struct bench *b, const struct row *r, const bool wanted[TIMES],
			struct result result[SIDES], enum side *side)
{
	unsigned n = b->o->repeats;
	double *all = calloc(n, TIMES * sizeof(*all)), *us[TIMES];
	ccs_status s = all ? CCS_OK : ccs_error_set(CCS_ENOMEM, "out of memory for %u times", n);

	s = home_agree(b->at, s);
	for (int what = 0; what < TIMES && !s; what++)
		us[what] = all + (size_t)what * n;
	if (!s)
		s = time_all(b, r, wanted, us, side);
	for (int k = 0; k < SIDES && !s; k++)
		result[k].us = measure_median(us[k], n);
	if (!s)
		result[SIDE_OURS].copy_us = measure_median(us[COPY], n);
	free(all);
	return s;
}

static ccs_status prepare_all(struct bench *b, const struct row *r, bool in_place, bool beside,
			      enum side *side)
{
	ccs_status s;

	progress_tell(b);
	s = buffers_fill(b, r, in_place);
	*side = SIDE_OURS;
	if (!s && b->trace && !in_place)
		s = check_comm(b, trace_row(b, r, put));
	s = home_agree(b->at, s ? s : prepare(b, r, SIDE_OURS));
	if (s || !beside)
		return s;
	*side = SIDE_BASELINE;
	return home_agree(b->at, prepare(b, r, SIDE_BASELINE));
}

static ccs_status check_all(struct bench *b, const struct row *r, bool in_place,
			    struct result result[SIDES], enum side *side)
{
	ccs_status s = CCS_OK;

	for (int k = 0; k < SIDES && !s; k++) {
		struct result *x = result + k;

		if (!x->measured)
			continue;
		progress_tell(b);
		*side = (enum side)k;
		s = home_agree(b->at, check(b, r, in_place, *side, x));
		if (!s)
			s = home_wrong(b->at, x);
	}
	return s;
}

ccs_status measure(struct bench *b, const struct row *r, bool in_place, struct result result[SIDES],
		   enum side *side)
{
	const struct baseline *against = b->o->against;
	bool wanted[TIMES] = { true, against && against->has(b, r, in_place),
			       b->o->copy_rate && r->size > 0 };
	ccs_status s;

	for (int k = 0; k < SIDES; k++)
		result[k] = (struct result){ .measured = false };
	if (!buffers_place(b, r, in_place))
		return CCS_OK;
	result[SIDE_OURS].measured = true;
	result[SIDE_BASELINE].measured = wanted[SIDE_BASELINE];
	s = prepare_all(b, r, in_place, wanted[SIDE_BASELINE], side);
	if (!s)
		s = timed(b, r, wanted, result, side);
	for (int k = 0; k < SIDES; k++)
		time_release(b->lanes[k]);
	if (!s && b->checks)
		s = check_all(b, r, in_place, result, side);
	if (against && against->done)
		against->done(b);
	return s;
}

/* ---- in steps --------------------------------------------------------------------------- */

ccs_status measure_prepare(struct bench *b, const struct row *r)
{
	enum side side;

	return prepare_all(b, r, false, false, &side);
}

ccs_status measure_once(struct bench *b, const struct row *r, double *us)
{
	return one_time(b, r, SIDE_OURS, us);
}

ccs_status measure_check(struct bench *b, const struct row *r, struct result *result)
{
	struct result both[SIDES] = { { .measured = true } };
	enum side side;
	ccs_status s = check_all(b, r, false, both, &side);

	*result = both[SIDE_OURS];
	return s;
}
