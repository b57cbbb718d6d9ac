/*
 * Plans as rounds (runtime/rounds.h), run by a simulator of its own on symbolic values:
 * every rank's rows, launch by launch, and its transfers, matched as NCCL matches them:
 * of one group, the k-th that a rank sends to a peer is the k-th that the peer receives
 * from it. Rows of one launch may run in any order, so they must not touch one another's
 * cells; nor may transfers of one group.
 *
 *   rounds_test MODULE.so...          every plan must compute what its contract says, in as
 *                                     few rounds as its values have messages behind them;
 *                                     then with mistakes put in, which must be noticed
 *   rounds_test random COUNT SEED     long random programs, compiled with $CCC
 *
 * A value is a sum of contributions, held as one number: each (rank, cell) weighs a number
 * of its own, modulo 2^64.
 */
#include "runtime/prep.h"
#include "runtime/rounds.h"
#include "tests/support/right_program.h"
#include "tests/support/rng.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FACTOR = 3 };	/* premul-sum's */

struct value {
	uint64_t sum;
	uint32_t depth;		/* most messages that a part of it went through */
	bool has;
};

struct node {
	struct rounds_rank k;
	struct value *cells, *initial, *stage;
	/* the row (or transfer) that last wrote or read there, in this launch (group) */
	uint32_t *wrote, *reads, *stage_wrote;
	uint32_t *shared;	/* the launch in which several rows last read it */
};

struct sim {
	const struct ccs_module *m;
	const struct plan_view *v;
	const struct prep *prep;
	bool in_place, premul;
	struct rounds rounds;
	struct node *nodes;
	uint32_t width, mark, step;
	char why[160];
};

static uint64_t weight(uint32_t rank, uint32_t cell)
{
	uint64_t z = ((uint64_t)rank << 32 | cell) * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	return z ^ z >> 27;
}

static bool fail(struct sim *s, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(s->why, sizeof s->why, format, ap);
	va_end(ap);
	return false;
}

static void *rows(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		abort();
	return p;
}

/* ---- memory ----------------------------------------------------------------------- */

static void start(struct sim *s)
{
	s->width = s->v->plan->cells + s->v->plan->scratch;
	s->mark = s->step = s->rounds.nmessages + 2;
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		struct node *n = s->nodes + r;

		if (s->step < n->k.nrows + 2)	/* more than any launch or group has */
			s->mark = s->step = n->k.nrows + 2;
		n->cells = rows(s->width, sizeof *n->cells);
		n->initial = rows(s->width, sizeof *n->initial);
		n->stage = rows(n->k.stage_cells, sizeof *n->stage);
		n->wrote = rows(s->width, sizeof *n->wrote);
		n->reads = rows(s->width, sizeof *n->reads);
		n->shared = rows(s->width, sizeof *n->shared);
		n->stage_wrote = rows(n->k.stage_cells, sizeof *n->stage_wrote);
		for (uint32_t c = 0; c < s->v->plan->cells; c++) {
			bool in = module_cells_are(s->m, s->v, c, 1, CELL_INITIAL);

			n->initial[c] = (struct value){ weight(r, c), 0, in };
			if (in && s->in_place)
				n->cells[c] = n->initial[c];
		}
	}
}

static void end(struct sim *s)
{
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		struct node *n = s->nodes + r;

		free(n->cells);
		free(n->initial);
		free(n->stage);
		free(n->wrote);
		free(n->reads);
		free(n->shared);
		free(n->stage_wrote);
	}
}

static bool writable(const struct sim *s, uint32_t cell)
{
	return cell >= s->v->plan->cells || module_cells_are(s->m, s->v, cell, 1, CELL_FINAL);
}

/* Marks of a launch or group are s->mark + its row. A cell may have one writer, or
 * readers. */
static bool touch(struct sim *s, uint32_t rank, uint32_t cell, uint32_t row, bool writes)
{
	struct node *n = s->nodes + rank;
	uint32_t *wrote = n->wrote + cell, *reads = n->reads + cell, own = s->mark + row;

	if (*wrote >= s->mark && *wrote != own)
		return fail(s, "rank %u: rows of one launch touch cell %u", rank, cell);
	if (writes && ((*reads >= s->mark && *reads != own) || n->shared[cell] == s->mark))
		return fail(s, "rank %u: cell %u is read and written in one launch", rank, cell);
	if (!writes && *reads >= s->mark && *reads != own)
		n->shared[cell] = s->mark;
	*(writes ? wrote : reads) = own;
	return true;
}

static bool touch_stage(struct sim *s, uint32_t rank, uint32_t cell, uint32_t row)
{
	uint32_t *wrote = s->nodes[rank].stage_wrote + cell;

	if (cell >= s->nodes[rank].k.stage_cells)
		return fail(s, "rank %u: no place %u in the stage", rank, cell);
	if (*wrote >= s->mark && *wrote != s->mark + row)
		return fail(s, "rank %u: rows of one launch share place %u", rank, cell);
	*wrote = s->mark + row;
	return true;
}

/* The caller's send buffer is the receive buffer, in place. */
static struct value *place(struct sim *s, uint32_t rank, uint32_t cell, bool initial)
{
	struct node *n = s->nodes + rank;

	return initial && !(s->in_place && writable(s, cell)) ? n->initial + cell :
							       n->cells + cell;
}

static bool read_cell(struct sim *s, uint32_t rank, uint32_t cell, bool initial, uint32_t row,
		      bool scale, struct value *v)
{
	const struct value *from;

	if (cell >= s->width || (initial && cell >= s->v->plan->cells))
		return fail(s, "rank %u: no cell %u", rank, cell);
	from = place(s, rank, cell, initial);
	if (!touch(s, rank, cell, row, false))
		return false;
	if (!from->has)
		return fail(s, "rank %u reads cell %u before it has a value", rank, cell);
	v->sum += from->sum * (initial && scale ? FACTOR : 1);
	v->depth = from->depth > v->depth ? from->depth : v->depth;
	v->has = true;
	return true;
}

/* ---- a launch ----------------------------------------------------------------------- */

static bool run_row(struct sim *s, uint32_t rank, uint32_t row)
{
	struct node *n = s->nodes + rank;
	const struct ccs_dev_worker *w = n->k.workers + row;
	const struct ccs_dev_op *o = n->k.ops + w->op;
	struct value v = { 0 };

	if (w->nops != 1 || o->n != 1 || o->len >= s->v->plan->cells || o->nwaits)
		return fail(s, "rank %u: row %u is no row", rank, row);
	if (w->stage_cells && !touch_stage(s, rank, (uint32_t)w->stage, row))
		return false;
	if (o->form & CCS_DEV_IN) {
		if (!w->stage_cells || !n->stage[w->stage].has)
			return fail(s, "rank %u: row %u reads an empty place", rank, row);
		v = n->stage[w->stage];
	}
	if (o->form & CCS_DEV_A &&
	    !read_cell(s, rank, o->a, o->form & CCS_DEV_A_INITIAL, row, s->premul, &v))
		return false;
	if (o->form & CCS_DEV_B &&
	    !read_cell(s, rank, o->b, o->form & CCS_DEV_B_INITIAL, row, s->premul, &v))
		return false;
	if (o->form & CCS_DEV_DST) {
		if (o->dst >= s->width || !writable(s, o->dst))
			return fail(s, "rank %u: row %u writes no cell of its", rank, row);
		if (!touch(s, rank, o->dst, row, true))
			return false;
		n->cells[o->dst] = v;
	}
	if (o->form & CCS_DEV_OUT)
		n->stage[w->stage] = v;
	return true;
}

static bool run_phase(struct sim *s, uint32_t phase)
{
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		const struct rounds_rank *k = &s->nodes[r].k;

		for (uint32_t l = k->phase[phase]; l < k->phase[phase + 1]; l++) {
			s->mark += s->step;
			for (uint32_t i = 0; i < k->launches[l].n; i++)
				if (!run_row(s, r, k->launches[l].row + i))
					return false;
		}
	}
	return true;
}

/* ---- a group -------------------------------------------------------------------------- */

/* The number-th transfer of that direction with that peer, or NULL. */
static const struct rounds_transfer *find(const struct rounds_rank *k, uint32_t round,
					  uint32_t peer, bool sends, uint32_t number)
{
	for (uint32_t i = k->round[round]; i < k->round[round + 1]; i++) {
		const struct rounds_transfer *t = k->transfers + i;

		if (t->peer == peer && t->sends == sends && !number--)
			return t;
	}
	return NULL;
}

static bool take(struct sim *s, uint32_t rank, const struct rounds_transfer *t, struct value *v)
{
	for (uint32_t j = 0; j < t->n; j++) {
		v[j] = (struct value){ 0 };
		if (t->where == ROUNDS_STAGE) {
			if (t->at + j >= s->nodes[rank].k.stage_cells)
				return fail(s, "rank %u sends from behind the stage", rank);
			v[j] = s->nodes[rank].stage[t->at + j];
			if (!v[j].has)
				return fail(s, "rank %u sends an empty place", rank);
		} else if (!read_cell(s, rank, t->at + j, t->where == ROUNDS_INITIAL, 0, false,
				      v + j)) {
			return false;
		}
		v[j].depth++;
	}
	return true;
}

static bool give(struct sim *s, uint32_t rank, const struct rounds_transfer *t,
		 const struct value *v, uint32_t row)
{
	for (uint32_t j = 0; j < t->n; j++) {
		if (t->where == ROUNDS_STAGE) {
			if (!touch_stage(s, rank, t->at + j, row))
				return false;
			s->nodes[rank].stage[t->at + j] = v[j];
		} else {
			if (t->at + j >= s->width || !writable(s, t->at + j))
				return fail(s, "rank %u receives in no cell of its", rank);
			if (!touch(s, rank, t->at + j, row, true))
				return false;
			s->nodes[rank].cells[t->at + j] = v[j];
		}
	}
	return true;
}

/* Counts of one direction, so that nothing is left over. */
static uint32_t count(const struct rounds_rank *k, uint32_t round, uint32_t peer, bool sends)
{
	uint32_t n = 0;

	while (find(k, round, peer, sends, n))
		n++;
	return n;
}

static bool run_group(struct sim *s, uint32_t round)
{
	uint32_t nranks = s->v->plan->nranks, row = 1;
	struct value *v = rows((size_t)s->rounds.nmessages * s->width, sizeof *v);
	const struct rounds_transfer **to = rows(s->rounds.nmessages, sizeof *to);
	uint32_t *rank = rows(s->rounds.nmessages, sizeof *rank), n = 0;
	bool ok = true;

	s->mark += s->step;
	for (uint32_t i = 0; i < nranks * nranks && ok; i++) {
		uint32_t src = i / nranks, dst = i % nranks;
		const struct rounds_transfer *t;

		for (uint32_t k = 0; ok && (t = find(&s->nodes[src].k, round, dst, true, k)); k++) {
			const struct rounds_transfer *u =
				find(&s->nodes[dst].k, round, src, false, k);

			if (!u || u->n != t->n || u->len != t->len || u->len_same != t->len_same ||
			    u->adjacent != t->adjacent) {
				ok = fail(s, "round %u, %u to %u: no receive that fits", round,
					  src, dst);
			} else {
				ok = take(s, src, t, v + (size_t)n * s->width);
				rank[n] = dst;
				to[n++] = u;
			}
		}
		if (ok && count(&s->nodes[src].k, round, dst, true) !=
			  count(&s->nodes[dst].k, round, src, false))
			ok = fail(s, "round %u, %u to %u: a receive too many", round, src, dst);
	}
	for (uint32_t i = 0; i < n && ok; i++)
		ok = give(s, rank[i], to[i], v + (size_t)i * s->width, row++);
	free(v);
	free(to);
	free(rank);
	return ok;
}

/* ---- a run ------------------------------------------------------------------------------ */

/* What a cell must end with. */
static uint64_t wanted(const struct sim *s, uint32_t rank, uint32_t cell)
{
	const struct ccs_sum *x = s->v->sums + s->v->expect[rank * s->v->plan->cells + cell];
	uint64_t sum = 0;

	for (;; x++) {
		for (uint32_t i = 0; i < x->n; i++)
			sum += x->times * weight(x->first + i, x->cell);
		if (x->last)
			return s->premul ? sum * FACTOR : sum;
	}
}

/* Cells that keep their value are copied by the kernel of the last launch. */
static void keep(struct sim *s, uint32_t rank)
{
	for (uint32_t i = s->prep->ranks[rank].keep; i < s->prep->ranks[rank].reduced; i++)
		for (uint32_t j = 0; j < s->prep->ranges[i].n; j++) {
			uint32_t cell = s->prep->ranges[i].first + j;
			struct value *v = s->nodes[rank].cells + cell;

			*v = s->nodes[rank].initial[cell];
			v->sum *= s->premul ? FACTOR : 1;
		}
}

static bool check(struct sim *s, uint32_t *depth)
{
	*depth = 0;
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		keep(s, r);
		for (uint32_t c = 0; c < s->v->plan->cells; c++) {
			const struct value *v = s->nodes[r].cells + c;

			if (s->v->expect[r * s->v->plan->cells + c] == CCS_NONE ||
			    !writable(s, c))
				continue;
			if (!v->has || v->sum != wanted(s, r, c))
				return fail(s, "rank %u ends with a wrong cell %u", r, c);
			*depth = v->depth > *depth ? v->depth : *depth;
		}
	}
	return true;
}

static bool run(struct sim *s, uint32_t *depth)
{
	bool ok;

	start(s);
	ok = run_phase(s, 0);
	for (uint32_t i = 1; ok && i <= s->rounds.nrounds; i++)
		ok = run_group(s, i) && run_phase(s, i);
	ok = ok && check(s, depth);
	end(s);
	return ok;
}

static bool open_sim(struct sim *s, struct ccs_module *m, struct plan_view *v, bool premul)
{
	*s = (struct sim){ .m = m, .v = v, .prep = prep_get(m, v), .premul = premul };
	if (rounds_make(&s->rounds, m, v, premul))
		return fail(s, "%s", ccs_error());
	s->nodes = rows(v->plan->nranks, sizeof *s->nodes);
	for (uint32_t r = 0; r < v->plan->nranks; r++)
		if (rounds_rank_make(&s->nodes[r].k, &s->rounds, v, r))
			return fail(s, "%s", ccs_error());
	return true;
}

static void close_sim(struct sim *s)
{
	for (uint32_t r = 0; s->nodes && r < s->v->plan->nranks; r++)
		rounds_rank_free(&s->nodes[r].k);
	free(s->nodes);
	rounds_free(&s->rounds);
}

/* ---- what a plan must do --------------------------------------------------------------------- */

struct totals {
	int plans, bad, messages, in_place, launches;
	int more;		/* plans with more rounds than their values need */
	int tried, missed;	/* mistakes */
};

static void count_sim(struct totals *t, const struct sim *s)
{
	t->plans++;
	t->messages += (int)s->rounds.nmessages;
	for (uint32_t i = 0; i < s->rounds.nmessages; i++)
		t->in_place += s->rounds.messages[i].from_cells +
			       s->rounds.messages[i].to_cells;
	for (uint32_t r = 0; r < s->v->plan->nranks; r++)
		t->launches += (int)s->nodes[r].k.phase[s->rounds.nrounds + 1];
}

/* The rounds that some schedules are known for; 0: no figure. */
static uint32_t known(const char *schedule, uint32_t n)
{
	static const struct {
		const char *name;
		uint32_t per, less, fixed;	/* per * (N - less) + fixed */
	} row[] = {
		{ "ring_allreduce", 2, 1, 0 }, { "ring_allgather", 1, 1, 0 },
		{ "ring_reduce_scatter", 1, 1, 0 }, { "chain_broadcast", 1, 1, 0 },
		{ "direct_all_to_all", 0, 0, 1 }, { "direct_allreduce", 0, 0, 2 },
		{ "one_shot_allreduce", 0, 0, 1 },
	};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		if (!strcmp(row[i].name, schedule) && n > 1)
			return row[i].per * (n - row[i].less) + row[i].fixed;
	return 0;
}

/* `ways`: out of place, in place, and both with premul-sum. */
static bool try_plan(struct ccs_module *m, struct plan_view *v, int ways, struct totals *t)
{
	uint32_t want = known(ccs_module_schedule(m), v->plan->nranks), depth = 0;
	struct sim s;
	bool ok = true;

	for (int k = 0; k < ways && ok; k++) {
		if (k >= 2 && (m->head->flags & CCS_MODULE_MIXED ||
			       !(m->head->flags & CCS_MODULE_REDUCES)))
			break;		/* has no premul-sum */
		ok = open_sim(&s, m, v, k >= 2);
		s.in_place = k & 1;
		ok = ok && run(&s, &depth);
		if (ok && want && s.rounds.nrounds != want)
			ok = fail(&s, "%u rounds instead of %u", s.rounds.nrounds, want);
		if (ok && !k) {
			count_sim(t, &s);
			t->more += s.rounds.nrounds > depth;
		}
		if (!ok)
			printf("# %s, N = %u, root %d, %s%s: %s\n", ccs_module_schedule(m),
			       v->plan->nranks, (int)v->plan->root,
			       k & 1 ? "in place" : "out of place", k >= 2 ? ", premul" : "",
			       s.why);
		close_sim(&s);
	}
	t->bad += !ok;
	return ok;
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void swap_places(struct rounds_transfer *x, struct rounds_transfer *y)
{
	struct rounds_transfer was = *x;

	x->where = y->where;
	x->at = y->at;
	y->where = was.where;
	y->at = was.at;
}

static void noticed(struct sim *s, struct totals *t, const char *what)
{
	uint32_t depth;

	t->tried++;
	if (!run(s, &depth))
		return;
	t->missed++;
	printf("# %s, N = %u: not noticed: %s\n", ccs_module_schedule(s->m), s->v->plan->nranks,
	       what);
}

/* Two messages of one round between the same ranks, on one side. */
static void exchange(struct sim *s, struct rounds_rank *k, uint32_t round, struct totals *t)
{
	for (uint32_t a = k->round[round]; a < k->round[round + 1]; a++)
		for (uint32_t b = a + 1; b < k->round[round + 1]; b++) {
			struct rounds_transfer *x = k->transfers + a, *y = k->transfers + b;

			if (x->peer != y->peer || x->sends != y->sends)
				continue;
			swap_places(x, y);
			noticed(s, t, "two messages exchanged");
			swap_places(x, y);
		}
}

/* And a message that goes a round later, on one side; a row that does nothing. */
static void try_mistakes(struct ccs_module *m, struct plan_view *v, struct totals *t)
{
	struct sim s;

	if (!open_sim(&s, m, v, false)) {
		t->missed++;
		close_sim(&s);
		return;
	}
	for (uint32_t r = 0; r < v->plan->nranks; r++) {
		struct rounds_rank *k = &s.nodes[r].k;

		for (uint32_t i = 1; i <= k->nrounds; i++)
			exchange(&s, k, i, t);
		for (uint32_t i = 1; i < k->nrounds; i++) {
			if (k->round[i] == k->round[i + 1])
				continue;
			k->round[i + 1]--;
			noticed(&s, t, "a message a round later on one side");
			k->round[i + 1]++;
		}
		for (uint32_t i = 0; i < k->nrows; i++) {
			uint32_t form = k->ops[i].form;

			k->ops[i].form &= ~(CCS_DEV_DST | CCS_DEV_OUT);
			noticed(&s, t, "a row that does nothing");
			k->ops[i].form = form;
		}
	}
	close_sim(&s);
}

/* ---- the library, random programs ------------------------------------------------------------ */

static int try_module(const char *path)
{
	struct totals t = { 0 };
	struct ccs_module *m;
	const char *name;

	if (ccs_module_load(&m, path)) {
		printf("not ok - %s: %s\n", path, ccs_error());
		return 1;
	}
	name = ccs_module_schedule(m);
	for (size_t i = 0; i < m->nplans; i++)
		try_plan(m, m->plans + i, 4, &t);
	printf("%s - rounds of %s: %d plans, %d messages (%d ends in place), %d launches, "
	       "%d plans with more rounds than values need\n",
	       t.bad || !t.plans ? "not ok" : "ok", name, t.plans, t.messages, t.in_place,
	       t.launches, t.more);
	for (size_t i = 0; i < m->nplans; i++)
		if (m->plans[i].plan->nranks == 2 || m->plans[i].plan->nranks == 4)
			try_mistakes(m, m->plans + i, &t);
	if (t.tried)
		printf("%s - %s: %d mistakes noticed, %d not\n", t.missed ? "not ok" : "ok", name,
		       t.tried - t.missed, t.missed);
	ccs_module_free(m);
	return t.bad || t.missed || !t.plans;
}

static bool compile(struct rng *g, const char *dir, struct ccs_module **m)
{
	struct right_program p;
	char command[512], path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/p.ccs", dir);
	f = fopen(path, "w");
	if (!f)
		return false;
	right_program(g, &p, f);
	fclose(f);
	snprintf(command, sizeof command, "%s %s -n %d --target=cpu -o %s/p.so 2>%s/said",
		 getenv("CCC") ? getenv("CCC") : "build/bin/ccc", path, p.nranks, dir, dir);
	snprintf(path, sizeof path, "%s/p.so", dir);
	return system(command) == 0 && ccs_module_load(m, path) == CCS_OK;
}

static int run_random(int n, uint64_t seed)
{
	char dir[] = "/tmp/ccs-rounds-XXXXXX", command[64];
	struct rng g = { seed * 2 + 1 };
	struct totals t = { 0 };

	if (!mkdtemp(dir))
		return 1;
	for (int i = 0; i < n; i++) {
		struct ccs_module *m;

		if (!compile(&g, dir, &m)) {
			t.bad++;
			printf("# program %d is not compiled\n", i);
			continue;
		}
		if (!try_plan(m, m->plans, 3, &t) && t.bad == 1) {	/* the first is shown */
			snprintf(command, sizeof command, "cat %s/p.ccs", dir);
			t.bad += system(command) != 0;
		}
		ccs_module_free(m);
	}
	snprintf(command, sizeof command, "rm -rf %s", dir);
	t.bad += system(command) != 0;
	printf("%s - rounds of %d random programs: %d messages (%d ends in place), %d launches, "
	       "%d wrong\n", t.bad ? "not ok" : "ok", t.plans, t.messages, t.in_place, t.launches,
	       t.bad);
	/* They must be worth it: messages of both kinds, and phases of several launches. */
	printf("%s - ... with messages in place and staged\n",
	       t.in_place > n && t.in_place < 2 * t.messages - n ? "ok" : "not ok");
	return t.bad;
}

int main(int argc, char **argv)
{
	int bad = 0;

	if (argc == 4 && !strcmp(argv[1], "random"))
		return run_random(atoi(argv[2]), (uint64_t)atoi(argv[3])) != 0;
	for (int i = 1; i < argc; i++)
		bad |= try_module(argv[i]);
	return bad || argc < 2;
}
