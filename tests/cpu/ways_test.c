/*
 * Tests the ways of long messages between processes (runtime/cpu/shm/procs_ways.c). All kinds of calls
 * have right results with every way and in every trial; there are more kinds than the communicator
 * distinguishes, ranks run at random paces, and chunks end at any byte. All ranks use the same way,
 * and every way is used. The way that was quickest in a trial, measured from the last beginning to
 * the last end, is used for the documented number of calls; then there is another trial, and the
 * communicator reports the choice. Copied messages have slots that bypass the caches, other
 * messages do not. The same is tested for short calls (runtime/cpu/shm/procs_order.c). Results that
 * bypass the caches on some ranks only, as if the caches were small there, are right too. If the
 * executor assumes that no other operation of the rank reads a stored cell again, then this holds
 * for each cell.
 *
 * usage: ways_test DIRECTORY-OF-MODULES
 */
#include "runtime/cpu/shm/procs.h"
#include "tests/support/rng.h"
#include "tests/support/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CALLS = 700,
	SORTS = 22,
	MOST_COUNT = 70000,
	PAUSES = 30,
	THROUGH = 1,
	PLANTED = 2,
	CHANGED = 1 << 20
};
/* The least number of calls that use the decided way between two trials. */
enum { LEAST_BETWEEN = 200, TRIES = PROCS_TIMED / PROCS_WAYS };

static const struct sort {
	const char *module;
	bool sums, in_blocks, out_blocks; /* a block a rank */
} sorts[] = {
	{ "direct_allreduce", true, false, false },
	{ "ring_allreduce", true, false, false },
	{ "binomial_broadcast", false, false, false },
	{ "direct_allgather", false, false, true },
	{ "ring_reduce_scatter", true, true, false },
	{ "pairwise_reduce_scatter", true, true, false },
};
enum { MODULES = sizeof(sorts) / sizeof(sorts[0]) };

struct work {
	struct ccs_module *modules[MODULES];
	unsigned char *in, *out;
};

static bool work_begin(struct work *w, int n)
{
	bool ok = true;

	for (int i = 0; i < MODULES; i++)
		ok &= !!(w->modules[i] = team_module(sorts[i].module));
	w->in = malloc((size_t)n * MOST_COUNT + 64);
	w->out = malloc((size_t)n * MOST_COUNT + 64);
	return ok && w->in && w->out;
}

static void work_end(struct work *w)
{
	for (int i = 0; i < MODULES; i++)
		ccs_module_free(w->modules[i]);
	free(w->in);
	free(w->out);
}

static const struct procs *procs_of(const struct member *m)
{
	return cpu_of(m->comm->world)->procs;
}

static unsigned char input(int rank, int call, size_t i)
{
	return (unsigned char)(i * 7 + i / 251 + (size_t)rank * 31 + (size_t)call);
}

/* Byte i of what the rank has in the end. */
static unsigned char output(const struct sort *s, const struct member *m, int call, size_t count,
			    size_t i)
{
	unsigned char sum = 0;

	if (s->out_blocks)
		return input((int)(i / count), call, i % count);
	if (!s->sums)
		return input(m->n - 1, call, i);
	for (int r = 0; r < m->n; r++)
		sum = (unsigned char)(sum +
				      input(r, call,
					    i + (s->in_blocks ? (size_t)m->rank * count : 0)));
	return sum;
}

static bool call(const struct member *m, const struct work *w, int sort, size_t count, int number)
{
	const struct sort *s = sorts + sort;
	unsigned char *in = w->in + count % 61, *out = w->out + count % 53;
	size_t sent = s->in_blocks ? count * (size_t)m->n : count;
	size_t got = s->out_blocks ? count * (size_t)m->n : count;
	ccs_status status;

	for (size_t i = 0; i < sent; i++)
		in[i] = input(m->rank, number, i);
	memset(out, 1, got);
	status = ccs_run(w->modules[sort], in, out, count, CCS_UINT8, CCS_SUM, m->n - 1, m->comm,
			 NULL);
	if (!is(status, CCS_OK, NULL, "a call"))
		return false;
	for (size_t i = 0; i < got; i++) {
		if (out[i] == output(s, m, number, count, i))
			continue;
		printf("# rank %d, call %d of %s, way %d, byte %zu of %zu: %d, not %d\n", m->rank,
		       number, s->module, (int)procs_of(m)->way, i, got, out[i],
		       output(s, m, number, count, i));
		return false;
	}
	return true;
}

/* ---- a piece into a slot --------------------------------------------------------------------- */

/* Anywhere in it, past the caches or not, near or far: those bytes, and no other. */
static bool puts_pieces(void)
{
	enum { MOST = 5000, ROOM = MOST + 200 };
	static unsigned char from[ROOM], to[ROOM], wanted[ROOM];
	struct rng g = { 5 };

	for (int i = 0; i < 4000; i++) {
		struct layout l = { .copy = reduce_best()->copy,
				    .stream = i % 3 ? reduce_best()->stream : NULL,
				    .far = i % 2 };
		size_t bytes = (size_t)rng_below(&g, MOST), at = (size_t)rng_below(&g, 100);

		for (size_t k = 0; k < ROOM; k++)
			from[k] = (unsigned char)(k * 3 + (size_t)i);
		memset(to, i, ROOM);
		memset(wanted, i, ROOM);
		memcpy(wanted + at, from + i % 70, bytes);
		piece_put(&l, to + at, from + i % 70, bytes);
		if (memcmp(to, wanted, ROOM))
			return false;
	}
	return true;
}

/* ---- a sum that is stored and sent ----------------------------------------------------------- */

/* Integers of n bytes each in the machine's byte order: a + b, byte by byte with carry. */
static void add_bytes(unsigned char *to, const unsigned char *a, const unsigned char *b, size_t n,
		      size_t esize)
{
	for (size_t i = 0; i < n * esize; i++) {
		unsigned carry = i % esize ? to[i - 1 + n * esize] : 0, sum = carry + a[i] + b[i];

		to[i] = (unsigned char)sum;
		to[i + n * esize] = (unsigned char)(sum >> 8);
	}
}

/* In blocks, near or far, past the caches or not: the sum in both places, and nothing around it. */
static bool sums_pieces(void)
{
	enum { MOST = 9000, ROOM = MOST + 200 };
	static const ccs_dtype types[] = { CCS_UINT8, CCS_UINT32, CCS_UINT64 };
	static unsigned char a[ROOM], b[ROOM], to[2][ROOM], around[ROOM], sum[2 * ROOM];
	struct rng g = { 6 };
	bool ok = true;

	for (int i = 0; i < 600 && ok; i++) {
		ccs_dtype type = types[i % 3];
		size_t esize = (size_t[]){ 1, 4, 8 }[i % 3],
		       n = (size_t)rng_below(&g, MOST) / esize;
		size_t at = (size_t)rng_below(&g, 12) * 8;
		struct layout l = { .copy = reduce_best()->copy,
				    .combine = reduce_best()->types[type]->combine[CCS_SUM],
				    .stream = i % 2 ? reduce_best()->stream : NULL,
				    .far = i / 2 % 2,
				    .esize = esize };
		struct parts s = { .in = a, .a = b + at, .dst = to[0] + at, .out = to[1] + at };

		for (size_t k = 0; k < ROOM; k++) {
			a[k] = (unsigned char)rng_below(&g, 256);
			b[k] = (unsigned char)rng_below(&g, 256);
			to[0][k] = to[1][k] = around[k] = (unsigned char)i;
		}
		add_bytes(sum, a, b + at, n, esize);
		memcpy(around + at, sum, n * esize);
		piece_again(&l, &s, n);
		ok = !memcmp(to[0], around, ROOM) && !memcmp(to[1], around, ROOM);
	}
	return ok;
}

/* ---- cells read again ------------------------------------------------------------------------ */

static bool reads(const struct ccs_op *o, uint32_t cell)
{
	return (o->a != CCS_NONE && !(o->flags & CCS_OP_A_INITIAL) && cell - o->a < o->n) ||
	       (o->b != CCS_NONE && !(o->flags & CCS_OP_B_INITIAL) && cell - o->b < o->n);
}

/* Whether some operation of the worker's rank reads a cell that the operation stores. */
static bool read_again(const struct plan_view *v, uint32_t worker, const struct ccs_op *o)
{
	for (uint32_t w = 0; w < v->plan->workers.n; w++)
		for (uint32_t i = 0; i < v->workers[w].nops; i++)
			for (uint32_t j = 0;
			     v->workers[w].rank == v->workers[worker].rank && j < o->n; j++)
				if (reads(v->ops + v->workers[w].op + i, o->dst + j))
					return true;
	return false;
}

static bool knows_plan(const struct plan_view *v, const struct prep *p, unsigned *seen)
{
	bool ok = true;

	for (uint32_t w = 0; w < v->plan->workers.n; w++)
		for (uint32_t i = v->workers[w].op; i - v->workers[w].op < v->workers[w].nops;
		     i++) {
			bool last = v->ops[i].dst != CCS_NONE && !read_again(v, w, v->ops + i);

			ok &= p->last[i] == last;
			seen[last]++;
		}
	return ok;
}

static bool knows_last(void)
{
	unsigned seen[2] = { 0, 0 };
	bool ok = true;

	for (int i = 0; i < MODULES; i++) {
		struct ccs_module *m = team_module(sorts[i].module);

		for (size_t k = 0; m && k < m->nplans; k++)
			ok &= knows_plan(m->plans + k, prep_get(m, m->plans + k), seen);
		ok &= !!m;
		ccs_module_free(m);
	}
	return ok && seen[false] && seen[true];
}

/* ---- any calls ------------------------------------------------------------------------------- */

/* Near one another for a while, so that trials end; all ranks draw the same. A third of the block is
 * long: shorter chunks have no ways. */
static size_t draw(struct rng *same, int number, int *sort)
{
	int phase = number / 175 * 6;
	int i = rng_below(same, 25) ? phase + rng_below(same, 4) : rng_below(same, SORTS);

	*sort = i % MODULES;
	return 3 * PROCS_HELD + (size_t)(i % SORTS) * 2900 % 43000 + (size_t)i * 37;
}

/* What the ranks have come to is one number. */
static bool all_same(struct member *m, int number)
{
	bool same = true;

	m->told->number = number;
	if (!member_meet(m, THROUGH))
		return false;
	for (int r = 0; r < m->n; r++)
		same &= m->team->told[r].number == number;
	if (!same)
		printf("# rank %d has gone other ways than others\n", m->rank);
	return same;
}

static bool any(struct member *m)
{
	struct rng same = { 11 }, own = { 200 + (uint64_t)m->rank };
	struct work w = { 0 };
	unsigned gone[PROCS_WAYS] = { 0 }, digest = 0;
	bool ok = work_begin(&w, m->n) && member_joins(m);
	const bool small = m->rank % 2 && reduce_best()->stream; /* ... caches */

	if (ok && small)
		cpu_of(m->comm->world)->cache = 0;
	for (int i = 0; i < CALLS && ok; i++) {
		int sort;
		size_t count = draw(&same, i, &sort);

		if (!rng_below(&own, PAUSES))
			usleep((useconds_t)rng_below(&own, 300));
		ok = call(m, &w, sort, count, i) && !cpu_of(m->comm->world)->layout.past == !small;
		gone[procs_of(m)->way]++;
		digest = digest * 31 + (unsigned)procs_of(m)->way;
	}
	ok = ok && all_same(m, (int)(digest & 0x7fffffff));
	for (unsigned i = 0; ok && i < procs_of(m)->nways; i++)
		ok = gone[procs_of(m)->ways[i]] > 0;
	work_end(&w);
	return ok;
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* Longer than calls take on a machine that has other work: else these might be found to have
 * changed. */
#define SECOND UINT64_C(1000000000)
#define PLANTED_LEAST (5 * SECOND)
#define PLANTED_BEGUN 1000

/* Writes times for which `best` is the quickest way. An implementation that uses only a rank's own
 * times, or counts from the first beginning, finds another way: these times are long for `best`. */
static void plant(const struct member *m, enum procs_way best)
{
	const struct procs *p = procs_of(m);
	struct procs_times *all = p->own->times[p->kind - p->kinds];
	uint64_t last = (uint64_t)m->n - 1;

	for (unsigned i = 0; i < TRIES * p->nways; i++) {
		enum procs_way way = p->ways[i / TRIES];
		/* the first counts for nothing, and the second was disturbed */
		uint64_t cost = way == best ? PLANTED_LEAST : 6 * SECOND;
		uint64_t late = way == best ? 700 * SECOND : 0;

		if (i % TRIES != TRIES - 1)
			cost = i % TRIES ? 900 * SECOND : way == best ? 9 * SECOND : 1000;
		all[i].begun = PLANTED_BEGUN + late * ((uint64_t)m->rank == last);
		all[i].over = PLANTED_BEGUN + late + cost;
	}
}

/* Whether the communicator reports this way. */
static bool tells(const struct member *m, enum procs_way way)
{
	static const char *const names[] = { "; long messages: copied from 8 KiB",
					     "; long messages: copied past the caches from 8 KiB",
					     "; long messages: read in place from 8 KiB" };
	char text[400] = "";
	bool ok = !ccs_comm_describe(m->comm, text, sizeof(text)) && strstr(text, names[way]);

	if (!ok)
		printf("# rank %d, way %d: %s\n", m->rank, (int)way, text);
	return ok;
}

/* Whether the slots of the last call, which went that way, are as many as they should, if ranks have cores. */
static bool has_slots(const struct member *m, enum procs_way way)
{
	const struct cpu *e = cpu_of(m->comm->world);
	size_t bytes = e->layout.slots->n * e->layout.slots->bytes;

	return way == WAY_READ || !e->cached || (bytes > RINGS_BYTES / 4) == (way == WAY_COPIED);
}

/* A trial with planted times in which `best` is the quickest; `*number` counts calls, and
 * meetings. */
static bool tries(struct member *m, const struct work *w, size_t count, enum procs_way best,
		  int *number)
{
	const struct procs *p = procs_of(m);
	unsigned trial = TRIES * p->nways;
	bool ok = true;

	for (unsigned i = 0; i < 1 + PROCS_BEFORE + trial && ok; i++)
		ok = call(m, w, 0, count, (*number)++) && p->kind && !p->kind->decided;
	/* all are through with the trial, and have yet to look */
	ok = ok && member_meet(m, PLANTED + 2 * *number * ((int)best + 1));
	if (!ok)
		return false;
	plant(m, best);
	return member_meet(m, PLANTED + 2 * *number * ((int)best + 1) + 1);
}

static bool decides(struct member *m, const struct work *w, size_t count, enum procs_way best)
{
	const struct procs *p = procs_of(m);
	int number = 0;
	bool ok = tries(m, w, count, best, &number);

	for (unsigned i = 0; i < LEAST_BETWEEN && ok; i++)
		ok = call(m, w, 0, count, number++) && p->kind->decided && p->way == best;
	ok = ok && tells(m, best) && has_slots(m, best);
	ok = ok && call(m, w, 0, count, number++) && !p->kind->decided && p->way == p->ways[0];
	if (!ok)
		printf("# rank %d: way %d was best; call %d went way %d\n", m->rank, (int)best,
		       number - 1, (int)p->way);
	return ok;
}

static bool decided(struct member *m)
{
	struct work w = { 0 };
	bool ok = work_begin(&w, m->n) && member_joins(m) && call(m, &w, 0, 4, 0);

	for (unsigned i = 0; ok && i < procs_of(m)->nways; i++)
		ok = decides(m, &w, 30000 + i, procs_of(m)->ways[i]);
	work_end(&w);
	return ok;
}

/* Writes times of the watched calls. The least is `hundredths` / 100 of the time from the trial. */
static void plant_watched(const struct member *m, unsigned hundredths)
{
	const struct procs *p = procs_of(m);
	struct procs_times *all = p->own->times[p->kind - p->kinds] + PROCS_TIMED;

	for (unsigned i = 0; i < PROCS_WATCHED; i++)
		all[i] = (struct procs_times){
			.begun = PLANTED_BEGUN,
			.over = PLANTED_BEGUN + PLANTED_LEAST * (i ? 900 : hundredths) / 100,
		};
}

/* Whether its own calls were timed since it was planted. */
static bool has_times(const struct member *m)
{
	const struct procs *p = procs_of(m);
	const struct procs_times *all = p->own->times[p->kind - p->kinds] + PROCS_TIMED;
	bool ok = true;

	for (unsigned i = 0; i < PROCS_WATCHED; i++)
		ok &= all[i].begun > PLANTED_BEGUN && all[i].over > all[i].begun;
	return ok;
}

/* Calls up to the next look at what they cost by now; then those times are planted. */
static bool watches(struct member *m, const struct work *w, size_t count, unsigned hundredths,
		    int *number)
{
	const struct procs *p = procs_of(m);
	int meeting = CHANGED + 2 * (int)hundredths;
	bool ok = true;

	while (ok && p->kind->calls < p->kind->check)
		ok = call(m, w, 0, count, (*number)++) && p->kind->decided;
	ok = ok && has_times(m) && member_meet(m, meeting);
	if (ok)
		plant_watched(m, hundredths);
	return ok && member_meet(m, meeting + 1);
}

/* A way that takes a little longer stays; a way that takes far longer is tried against the other
 * ways. */
static bool changed(struct member *m)
{
	const size_t count = 30000;
	struct work w = { 0 };
	const struct procs *p;
	int number = 1;
	bool ok = work_begin(&w, m->n) && member_joins(m) && call(m, &w, 0, 4, 0);

	p = ok ? procs_of(m) : NULL;
	ok = ok && tries(m, &w, count, p->ways[p->nways - 1], &number) &&
	     call(m, &w, 0, count, number++) && p->kind->decided;
	ok = ok && watches(m, &w, count, 140, &number) && call(m, &w, 0, count, number++) &&
	     p->kind->decided;
	ok = ok && watches(m, &w, count, 160, &number) && call(m, &w, 0, count, number++) &&
	     !p->kind->decided && number < LEAST_BETWEEN;
	if (!ok)
		printf("# rank %d: at call %d\n", m->rank, number - 1);
	work_end(&w);
	return ok;
}

/* ---- short calls ----------------------------------------------------------------------------- */

/* Whether the call of that number in its period, from 1, goes as it should. */
static bool goes(uint32_t call, bool streams, bool planted, bool past_caches)
{
	enum { TRIAL = 16 };

	return call > TRIAL ? !planted || streams == past_caches : streams == (call > TRIAL / 2);
}

/* More calls than a period has, with messages of 8000 bytes. The calls after the trial use the way
 * that the trial found, here by planted times, and all results are right. */
static bool period(const struct member *m, const struct work *w, int number, bool past_caches)
{
	enum { TRIAL = 16, PERIOD = 4000 };
	const struct cpu *e = cpu_of(m->comm->world);
	bool ok = call(m, w, 0, 16000, number) && call(m, w, 0, 16000, number);
	struct procs_manner *manner = &e->procs->current->order.manner;
	bool planted = false;

	for (int i = 0; i < PERIOD + 2 * TRIAL && ok; i++) {
		if (manner->calls == TRIAL) {
			manner->least[past_caches] = 1;
			manner->least[!past_caches] = 2;
			planted = true;
		}
		ok = call(m, w, 0, 16000, number + i) && manner->asked &&
		     goes(manner->calls, e->layout.stream, planted, past_caches);
	}
	if (!ok || !planted)
		printf("# rank %d: call %u went past the caches: %d\n", m->rank, manner->calls,
		       !!e->layout.stream);
	return ok && planted;
}

static bool short_calls(struct member *m)
{
	struct work w = { 0 };
	bool ok = work_begin(&w, m->n) && member_joins(m) && call(m, &w, 0, 4, 0);

	/* else there is one manner, and nothing to be found */
	if (ok && reduce_best()->stream && cpu_of(m->comm->world)->cached)
		ok = period(m, &w, 1, true) && period(m, &w, 7, false);
	work_end(&w);
	return ok;
}

/* A rank only sends, and its next call comes late (by planted times) after calls with a wrong way:
 * the rank has noticed this when the trial is over. */
static bool sends_first(const struct member *m, const struct work *w, size_t count,
			bool past_caches)
{
	enum { TRIAL = 16, MUCH_NS = 1000000000 };
	const struct cpu *e = cpu_of(m->comm->world);
	const bool root = m->rank == m->n - 1;
	bool ok = call(m, w, 2, count, 0); /* its list is made again by the next one */

	for (int i = 0; i <= TRIAL && ok; i++) {
		ok = call(m, w, 2, count, i);
		if (root && !e->layout.stream == past_caches)
			e->procs->current->order.manner.begun -= MUCH_NS;
	}
	return ok && (!root || !e->layout.stream != past_caches);
}

static bool senders(struct member *m)
{
	struct work w = { 0 };
	bool ok = work_begin(&w, m->n) && member_joins(m) && call(m, &w, 0, 4, 0);

	if (ok && reduce_best()->stream && cpu_of(m->comm->world)->cached)
		ok = sends_first(m, &w, 8000, true) && sends_first(m, &w, 7000, false);
	work_end(&w);
	return ok;
}

int main(int argc, char **argv)
{
	bool ok;

	if (argc != 2) {
		fprintf(stderr, "usage: ways_test DIRECTORY-OF-MODULES\n");
		return 2;
	}
	setenv("MODULES", argv[1], 1);
	unsetenv("CCS_CROSS_MEMORY_DISABLE");
	ok = say(puts_pieces(), "pieces into slots");
	ok &= say(sums_pieces(), "sums that are stored and sent");
	ok &= say(knows_last(), "operations whose results are not read again");
	ok &= say(team_run(2, any, NULL), "calls of 2 processes by any way");
	ok &= say(team_run(3, any, NULL), "calls of 3 processes by any way");
	ok &= say(team_run(2, decided, NULL), "what was quickest in a trial is what is done then");
	ok &= say(team_run(2, changed, NULL), "until it costs far more than it did in the trial");
	ok &= say(team_run(2, short_calls, NULL),
		  "short calls past the caches, where that is quicker");
	ok &= say(team_run(2, senders, NULL), "the same of a rank that only sends");
	return !ok;
}
