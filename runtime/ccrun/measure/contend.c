/*
 * Modules, and ways to run them, contend for a size.
 *
 * In: the entrants, with the current size's row. Out: which of them, run how, is the best, and
 * which is the next. First each is warmed up, and its results are checked: what is wrong is never
 * chosen. Then all are timed, twice in turn, over few calls, at most --iters; those that took
 * twice as long as the best, or longer, are out; and the others are timed in turn, --repeats times,
 * each time over as many calls as take about a millisecond. Medians count; of those that were out
 * the better first time.
 *
 * The one that won the size before stays unless another is better by more than the noise; and
 * what a module does by itself (auto) unless another way to run it is. So tunings are short of
 * changes, and stay as they are when they are measured again.
 *
 * Where ranks are processes all measure together, and know the same times: all choose alike.
 * O(contenders) calls.
 */
#include "runtime/ccrun/bench.h"

#include <stdlib.h>
#include <string.h>

#define SLOW 2.0 /* times the best: out after the first times */
#define FIRST_TIMES 2
#define FIRST_BYTES ((size_t)1 << 20) /* of all calls of such a time, or one call */
#define MEAN_US 1000		      /* that a mean should take, at least */
#define MOST_ITERS 100000u
#define TILE_AUTO ((size_t)32 << 10) /* what engines take by themselves, or more */

/* ---- who contends --------------------------------------------------------------------------- */

static bool add(struct contest *x, int module, const struct ccs_run_options *how)
{
	if (x->n == x->room) {
		int room = 2 * x->room + 8;
		struct contender *more = realloc(x->all, (size_t)room * sizeof(*more));

		if (!more)
			return false;
		x->all = more;
		x->room = room;
	}
	x->all[x->n++] = (struct contender){ .module = module, .how = *how, .in = true };
	return true;
}

/* Bytes of the longest chunk. */
static size_t longest(const struct row *r)
{
	const struct check *c = &r->check;
	size_t most = 0;

	for (int i = 0; i < c->nbuffers; i++) {
		size_t chunks = c->buffers[i].chunks ? c->buffers[i].chunks : 1;
		size_t elements = (c->count + chunks - 1) / chunks;

		most = elements > most ? elements : most;
	}
	return most * c->format.size;
}

/* Tiles that a chunk does not fill are the same as the chunk: the first of them is enough. */
static bool add_tiles(struct contest *x, int module)
{
	static const size_t tiles[] = { 8 << 10, 64 << 10, 256 << 10 };
	size_t chunk = longest(&x->entrants[module].row);
	bool ok = true, whole = chunk <= TILE_AUTO;

	for (size_t i = 0; i < sizeof(tiles) / sizeof(*tiles) && ok; i++) {
		struct ccs_run_options how = { .tile = tiles[i] };

		if (tiles[i] >= chunk && whole)
			break;
		whole |= tiles[i] >= chunk;
		ok = add(x, module, &how);
	}
	return ok;
}

static bool add_protocols(struct contest *x, int module)
{
	static const struct ccs_run_options ways[] = {
		{ .protocol = CCS_RUN_LL },
		{ .protocol = CCS_RUN_LL, .channels = 4 },
		{ .protocol = CCS_RUN_SIMPLE },
		{ .protocol = CCS_RUN_SIMPLE, .channels = 2 },
		{ .protocol = CCS_RUN_SIMPLE, .channels = 8 },
	};
	bool ok = true;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways) && ok; i++)
		ok = add(x, module, ways + i);
	return ok;
}

static bool add_all(struct contest *x)
{
	const struct home *at = x->b->at;
	const char *engine = ccs_comm_engine(at->comm[at->first]);
	const struct ccs_run_options plain = { 0 };
	size_t room = x->own.repeats > FIRST_TIMES ? x->own.repeats : FIRST_TIMES;
	bool ok = true;

	x->n = 0;
	for (int i = 0; i < x->nentrants && ok; i++) {
		ok = add(x, i, &plain);
		if (ok && !at->device)
			ok = add_tiles(x, i);
		else if (ok && !strcmp(engine, "cuda"))
			ok = add_protocols(x, i);
	}
	free(x->times);
	x->times = calloc((size_t)x->n * room, sizeof(*x->times));
	for (int i = 0; x->times && i < x->n; i++)
		x->all[i].us = x->times + (size_t)i * room;
	return ok && x->times;
}

/* ---- one of them ------------------------------------------------------------------------------ */

static const struct row *enter(struct contest *x, const struct contender *c)
{
	x->b->m = x->entrants[c->module].m;
	x->b->how = c->how;
	return &x->entrants[c->module].row;
}

static int fail(const struct contest *x, const struct contender *c, ccs_status s)
{
	char how[CCS_OPTIONS_TEXT];
	struct failure f = failure_keep(s);

	ccs_run_options_text(&c->how, how, sizeof(how));
	ccs_error_set(s, "%s, %s: %s", x->entrants[c->module].file, how, f.text);
	return measure_fail(x->b, SIDE_OURS, s);
}

static int prove(struct contest *x, const struct contender *c)
{
	const struct row *r = enter(x, c);
	struct result result = { .wrong = 0 };
	ccs_status s = measure_prepare(x->b, r);
	char how[CCS_OPTIONS_TEXT];

	if (!s && x->b->checks)
		s = measure_check(x->b, r, &result);
	if (s)
		return fail(x, c, s);
	if (!result.wrong)
		return EXIT_DONE;
	ccs_run_options_text(&c->how, how, sizeof(how));
	return complain_once(x->b->o, EXIT_WRONG, "%s, %s, size %zu: %zu wrong: %s",
			     x->entrants[c->module].file, how, r->size, result.wrong, result.text);
}

/* ---- all of them ------------------------------------------------------------------------------ */

/* Those that were out had one or two times, which count less. */
static bool is_better(const struct contender *c, const struct contender *d)
{
	return c->in != d->in ? c->in : c->median < d->median;
}

/* The best but for one; -1: there is no other. */
static int best_but(const struct contest *x, int but)
{
	int best = -1;

	for (int i = 0; i < x->n; i++)
		if (i != but && (best < 0 || is_better(x->all + i, x->all + best)))
			best = i;
	return best;
}

static int time_round(struct contest *x, unsigned round)
{
	for (int i = 0; i < x->n; i++) {
		struct contender *c = x->all + i;
		ccs_status s;

		if (!c->in)
			continue;
		s = measure_once(x->b, enter(x, c), c->us + round);
		if (s)
			return fail(x, c, s);
	}
	return EXIT_DONE;
}

/* After the first times: who is too slow is out, and the calls of a mean follow from the best. */
static void narrow(struct contest *x)
{
	double best = 0, calls;

	for (int i = 0; i < x->n; i++) {
		struct contender *c = x->all + i;

		c->median = c->us[0] < c->us[1] ? c->us[0] : c->us[1];
		best = !i || c->median < best ? c->median : best;
	}
	for (int i = 0; i < x->n; i++)
		x->all[i].in = x->all[i].median <= SLOW * best;
	calls = best > 0 ? MEAN_US / best : MOST_ITERS;
	x->own.iters = calls < MOST_ITERS ? (unsigned)calls + 1 : MOST_ITERS;
}

/* Those that are in, in turn. */
static int time_in(struct contest *x)
{
	unsigned n = x->b->o->repeats;
	int rc = EXIT_DONE;

	for (unsigned k = 0; k < n && rc == EXIT_DONE; k++)
		rc = time_round(x, k);
	for (int i = 0; i < x->n && rc == EXIT_DONE; i++)
		if (x->all[i].in)
			x->all[i].median = measure_median(x->all[i].us, n);
	return rc;
}

/* Who is out, and was better at first than the best now is, was out by mistake: a machine that is
 * busy gives such times. Whether there were any. */
static bool bring_back(struct contest *x)
{
	double best = x->all[best_but(x, -1)].median;
	bool any = false;

	for (int i = 0; i < x->n; i++) {
		struct contender *c = x->all + i;

		if (c->in || c->median > best)
			continue;
		c->in = any = true;
	}
	return any;
}

static int time_all(struct contest *x)
{
	const struct options *given = x->b->o;
	size_t few = FIRST_BYTES / (x->entrants->row.size + 1) + 1;
	int rc = EXIT_DONE;

	x->own.iters = few < given->iters ? (unsigned)few : given->iters;
	x->b->o = &x->own;
	for (unsigned k = 0; k < FIRST_TIMES && rc == EXIT_DONE; k++)
		rc = time_round(x, k);
	if (rc == EXIT_DONE)
		narrow(x);
	while (rc == EXIT_DONE) {
		rc = time_in(x);
		if (rc == EXIT_DONE && !bring_back(x))
			break;
	}
	x->b->o = given;
	return rc;
}

/* ---- who wins ---------------------------------------------------------------------------------- */

static bool same_way(const struct contender *c, const struct contender *d)
{
	return c->module == d->module && c->how.tile == d->how.tile &&
	       c->how.protocol == d->how.protocol && c->how.channels == d->how.channels;
}

/* The contender that is run in this way, if it is not slower than the best by more than noise;
 * else -1. */
static int as_good(const struct contest *x, const struct contender *way, int best)
{
	double most = x->all[best].median * (1 + CONTEST_NOISE / 100);

	for (int i = 0; i < x->n; i++)
		if (x->all[i].in && same_way(x->all + i, way) && x->all[i].median <= most)
			return i;
	return -1;
}

static void choose(struct contest *x)
{
	int best = best_but(x, -1);
	struct contender plain = { .module = x->all[best].module };

	x->chosen = x->any ? as_good(x, &x->last, best) : -1;
	if (x->chosen < 0)
		x->chosen = as_good(x, &plain, best);
	if (x->chosen < 0)
		x->chosen = best;
	x->next = best_but(x, x->chosen);
	x->last = x->all[x->chosen];
	x->any = true;
}

int contest_run(struct contest *x)
{
	int rc = EXIT_DONE;

	x->own = *x->b->o;
	if (home_agree(x->b->at, add_all(x) ? CCS_OK : ccs_error_set(CCS_ENOMEM, "out of memory")))
		return measure_fail(x->b, SIDE_OURS, CCS_ENOMEM);
	for (int i = 0; i < x->n && rc == EXIT_DONE; i++)
		rc = prove(x, x->all + i);
	if (rc == EXIT_DONE)
		rc = time_all(x);
	if (rc == EXIT_DONE)
		choose(x);
	return rc;
}
