/*
 * The engine between hosts on the real kernels: every rank's rows (runtime/plan/plan.h, Rounds) run in
 * the emulation, launch by launch, in replicas and tiles, and what NCCL would carry is
 * copied from place to place between them. Every element is compared with the contract's.
 *
 * A seed decides the schedule, N, root, count, tile, replicas, threads, placement, and every
 * choice of the emulation. usage: emu_rounds FIRST NUMBER MODULE.so ...
 */
#include "runtime/cuda/tables.h"
#include "runtime/hosts/rounds_rank.h"
#include "runtime/plan/rows.h"
#include "tests/emu/emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MODULES = 64, MAX_N = 6, GUARD = 32 };

struct node {
	struct rounds_rank k;
	struct ccs_dev_call call;
	const struct ccs_dev_worker *workers;
	const struct ccs_dev_post *none, *posts;
	uint8_t *send, *recv;
};

struct sim {
	const struct ccs_module *m;
	const struct plan_view *v;
	const struct prep *prep;
	const struct emu_kernel *kernel;
	struct cuda_tables tables;
	struct node nodes[MAX_N];
	uint64_t count, longest, tile, slot, seed;
	uint32_t replicas, threads, divide;
	size_t esize, nsend, nrecv;
	bool in_place;
	bool factors; /* premul-sum has one for each element; else a rank's scalar */
	const char *why;
};

static int64_t value(uint32_t rank, uint64_t element)
{
	return 1 + (int64_t)((((uint64_t)rank * 7919 + element * 31) * 2654435761u) >> 20) % 3;
}

/* What premul-sum multiplies that with. */
static int64_t factor(const struct sim *s, uint32_t rank, uint64_t element)
{
	return 2 + (int64_t)(s->factors ? (rank + element) % 3 : rank % 3);
}

/* x / by; only floats are divided. */
static void write_element(uint8_t *p, int64_t x, uint32_t by)
{
	float f = (float)x / (float)by;

	if (emu_type == CCS_FLOAT32)
		memcpy(p, &f, 4);
	else
		memcpy(p, &x, ccs_dtype_size((ccs_dtype)emu_type));
}

/* ---- a rank ---------------------------------------------------------------------------- */

static const void *keep(const void *from, size_t bytes)
{
	void *to = emu_alloc(bytes + 16);

	if (bytes)
		memcpy(to, from, bytes);
	return to;
}

static bool all_inout(const struct ccs_module *m)
{
	for (uint32_t i = 0; i < m->nbuffers; i++)
		if (m->buffers[i].direction != CCS_INOUT)
			return false;
	return true;
}

static void make_factors(const struct sim *s, uint32_t rank, struct ccs_dev_rank *to)
{
	uint8_t *of;

	write_element((uint8_t *)&to->scalar, factor(s, rank, 0), 1);
	if (!s->factors)
		return;
	of = (uint8_t *)emu_alloc((s->nsend + 1) * s->esize + 16) + emu_random(2) * s->esize;
	for (size_t i = 0; i < s->nsend; i++)
		write_element(of + i * s->esize, factor(s, rank, i), 1);
	to->factors = of;
}

static void make_buffers(struct sim *s, uint32_t rank, struct node *n)
{
	size_t shift = emu_random(3) ? 0 : s->esize;

	n->send = (uint8_t *)emu_alloc(s->nsend * s->esize + GUARD + 16) + shift;
	n->recv = s->in_place ? n->send
			      : (uint8_t *)emu_alloc(s->nrecv * s->esize + GUARD + 16) + shift;
	memset(n->recv, 0xa5, s->nrecv * s->esize + GUARD);
	for (size_t i = 0; i < s->nsend; i++)
		write_element(n->send + i * s->esize, value(rank, i), 1);
	n->call.ranks[0] = (struct ccs_dev_rank){
		.send = n->send,
		.recv = n->recv,
		.scratch = emu_alloc(s->tables.scratch * n->call.longest * s->esize + 16),
	};
	make_factors(s, rank, n->call.ranks);
}

static void make_node(struct sim *s, uint32_t rank, struct node *n)
{
	const struct ccs_plan *p = s->v->plan;
	const unsigned char *t = s->tables.bytes;
	struct ccs_dev_call *c = &n->call;
	static const struct ccs_dev_post none;

	c->ops = keep(n->k.ops, (n->k.nrows + 1) * sizeof(*c->ops));
	n->workers = keep(n->k.workers, (n->k.nrows + 1) * sizeof(*n->workers));
	c->cells = keep(t + s->tables.cells, ((size_t)p->cells + p->scratch) * sizeof(*c->cells));
	c->ranges = keep(t + s->tables.ranges, s->prep->nranges * sizeof(*c->ranges));
	n->none = keep(&none, sizeof(none));
	n->posts = keep(t + s->tables.posts + rank * sizeof(none), sizeof(none));
	c->epoch = emu_alloc((n->k.nrows + 1) * s->replicas * CCS_DEV_LINE * 8);
	c->done = emu_alloc((n->k.nrows + 1) * s->replicas * CCS_DEV_LINE * 8);
	c->abort = emu_alloc(sizeof(*c->abort));
	c->report = emu_alloc(CCS_DEV_REPORTS * sizeof(*c->report));
	c->stage = n->k.stage_cells ? emu_alloc(n->k.stage_cells * s->slot * s->esize) : NULL;
	c->count = s->count;
	c->tile = s->tile;
	c->ntiles = 1;
	c->longest = (s->longest + 16 / s->esize - 1) / (16 / s->esize) * (16 / s->esize);
	c->replicas = c->replicas_max = s->replicas;
	make_buffers(s, rank, n);
}

/* ---- launches and groups ------------------------------------------------------------------ */

static bool launch(struct sim *s, struct node *n, uint32_t row, uint32_t rows)
{
	struct emu_launch l = {
		.run = s->kernel->run, .call = &n->call, .blocks = rows * s->replicas, .after = -1
	};

	n->call.workers = n->workers + row;
	n->call.nworkers = rows;
	s->why = emu_run(&l, 1, s->threads, s->seed += 7919, 0);
	return !s->why;
}

static bool run_phase(struct sim *s, uint32_t phase, uint32_t tile)
{
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		struct node *n = s->nodes + r;

		n->call.posts = n->none;
		n->call.tile0 = tile;
		for (uint32_t i = n->k.phase[phase]; i < n->k.phase[phase + 1]; i++)
			if (!launch(s, n, n->k.launches[i].row, n->k.launches[i].n))
				return false;
	}
	return true;
}

static uint64_t cell_from(const struct sim *s, const struct node *n, uint32_t cell, uint64_t *len)
{
	const struct ccs_dev_cell *x = n->call.cells + cell;
	uint64_t q = (s->count + x->chunks - 1) / x->chunks, from = x->pos * q;

	from = from < s->count ? from : s->count;
	*len = s->count - from < q ? s->count - from : q;
	return from;
}

static uint8_t *cell_at(const struct sim *s, const struct node *n, const struct rounds_transfer *t,
			uint32_t i, uint64_t lo)
{
	const struct ccs_dev_cell *x = n->call.cells + t->at + i;
	uint64_t len;

	if (t->where == ROUNDS_STAGE)
		return n->call.stage + (t->at + i) * s->slot * s->esize;
	if (!x->chunks)
		return n->call.ranks[0].scratch + (x->recv * n->call.longest + lo) * s->esize;
	lo += cell_from(s, n, t->at + i, &len);
	return t->where == ROUNDS_INITIAL ? n->send + (x->send * s->count + lo) * s->esize
					  : n->recv + (x->recv * s->count + lo) * s->esize;
}

static const struct rounds_transfer *partner(const struct rounds_rank *k, uint32_t round,
					     uint32_t peer, uint32_t number)
{
	for (uint32_t i = k->round[round]; i < k->round[round + 1]; i++)
		if (k->transfers[i].peer == peer && !k->transfers[i].sends && !number--)
			return k->transfers + i;
	return NULL;
}

/* No transfer of a group touches what another one does, so their order is free. */
static void run_group(struct sim *s, uint32_t round, uint64_t lo)
{
	uint32_t n = s->v->plan->nranks;

	for (uint32_t src = 0; src < n; src++) {
		const struct rounds_rank *k = &s->nodes[src].k;
		uint32_t number[MAX_N] = { 0 };

		for (uint32_t i = k->round[round]; i < k->round[round + 1]; i++) {
			const struct rounds_transfer *t = k->transfers + i, *u;
			const struct node *a = s->nodes + src, *b = s->nodes + t->peer;

			if (!t->sends)
				continue;
			u = partner(&b->k, round, src, number[t->peer]++);
			for (uint32_t j = 0; j < t->n; j++) {
				uint64_t len, rest;

				cell_from(s, a, t->len_same ? t->len : t->len + j, &len);
				rest = len > lo ? len - lo : 0;
				rest = rest < s->slot ? rest : s->slot;
				if (rest)
					memcpy(cell_at(s, b, u, j, lo), cell_at(s, a, t, j, lo),
					       rest * s->esize);
			}
		}
	}
}

static bool run(struct sim *s)
{
	bool ok = true;

	for (uint32_t t = 0; ok && t * s->slot < s->longest; t++) {
		ok = run_phase(s, 0, t);
		for (uint32_t i = 1; ok && i <= s->v->plan->rounds; i++) {
			run_group(s, i, t * s->slot);
			ok = run_phase(s, i, t);
		}
	}
	for (uint32_t r = 0; ok && s->longest && r < s->v->plan->nranks; r++) {
		struct node *n = s->nodes + r;

		n->call.posts = n->posts;
		n->call.tile0 = 0;
		n->call.divide = s->divide;
		n->call.ntiles = (s->longest + s->slot - 1) / s->slot;
		ok = launch(s, n, n->k.nrows, 1);
	}
	return ok;
}

/* ---- what is right ------------------------------------------------------------------------- */

static int64_t wanted(const struct sim *s, const struct node *n, const struct ccs_sum *x,
		      uint64_t i)
{
	int64_t sum = 0;
	bool any = false;

	for (;; x++) {
		const struct ccs_dev_cell *c = n->call.cells + x->cell;
		uint64_t len, from = cell_from(s, n, x->cell, &len);

		for (uint32_t k = 0; k < x->n * x->times; k++) {
			uint32_t rank = x->first + k / x->times;
			uint64_t at = c->send * s->count + from + i;
			int64_t y = value(rank, at);

			y *= emu_op == CCS_DEV_PREMUL ? factor(s, rank, at) : 1;
			sum = emu_op != CCS_MAX || !any ? sum + y : y > sum ? y : sum;
			any = true;
		}
		if (x->last)
			return sum;
	}
}

static bool compare(struct sim *s)
{
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		const struct node *n = s->nodes + r;

		for (uint32_t c = 0; c < s->v->plan->cells; c++) {
			uint32_t row = s->v->expect[r * s->v->plan->cells + c];
			uint64_t len, from = cell_from(s, n, c, &len);

			if (row == CCS_NONE || !module_cells_are(s->m, s->v, c, 1, CELL_FINAL))
				continue;
			for (uint64_t i = 0; i < len; i++) {
				uint64_t at = n->call.cells[c].recv * s->count + from + i;
				uint8_t want[8] = { 0 };

				write_element(want, wanted(s, n, s->v->sums + row, i),
					      s->divide ? s->divide : 1);
				if (memcmp(want, n->recv + at * s->esize, s->esize)) {
					printf("# rank %u, cell %u, element %llu\n", r, c,
					       (unsigned long long)i);
					s->why = "wrong data";
					return false;
				}
			}
		}
		for (size_t i = 0; i < GUARD && !s->in_place; i++)
			if (n->recv[s->nrecv * s->esize + i] != 0xa5) {
				s->why = "bytes behind the buffer are gone";
				return false;
			}
	}
	return true;
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static bool choose(struct sim *s, struct ccs_module *m, uint64_t seed)
{
	uint32_t lanes, most = 1, flags = m->head->flags;
	struct plan_view *v = m->plans + emu_random((uint32_t)m->nplans);
	bool reduces = flags & CCS_MODULE_REDUCES && !(flags & CCS_MODULE_MIXED);

	*s = (struct sim){ .m = m, .v = v, .prep = prep_get(m, v), .seed = seed };
	if (v->plan->nranks > MAX_N || (emu_op == CCS_DEV_PREMUL && !reduces))
		return false;
	s->esize = ccs_dtype_size((ccs_dtype)emu_type);
	lanes = (uint32_t)(16 / s->esize);
	for (uint32_t i = 0; i < m->nbuffers; i++)
		most = v->shapes[i].chunks > most ? v->shapes[i].chunks : most;
	s->count = emu_random(4) ? emu_random(most * lanes * 6) : emu_random(8);
	if (flags & CCS_MODULE_EVEN_COUNTS)
		s->count -= s->count % most;
	s->longest = module_longest(m, v, s->count, 0);
	s->tile = (1 + emu_random(4)) * lanes;
	s->replicas = 1 + emu_random(3);
	s->slot = s->tile * s->replicas;
	s->threads = 4 + emu_random(2) * 3;
	s->in_place = all_inout(m) && emu_random(2);
	s->factors = emu_op == CCS_DEV_PREMUL && emu_random(2);
	s->divide = emu_op == CCS_SUM && reduces && emu_random(2) ? v->plan->nranks : 0;
	return module_sizes(m, v, s->count, NULL, &s->nsend, &s->nrecv) == CCS_OK;
}

static bool run_seed(uint64_t seed, struct ccs_module **modules, int count)
{
	struct sim s;

	emu_seed(seed);
	emu_alloc_reset();
	if (!choose(&s, modules[emu_random((uint32_t)count)], seed))
		return true;
	for (s.kernel = emu_kernels; s.kernel->schedule; s.kernel++)
		if (!strcmp(s.kernel->schedule, ccs_module_schedule(s.m)))
			break;
	if (!s.kernel->schedule || cuda_tables_make(&s.tables, s.m, s.v, s.prep, NULL))
		return false;
	for (uint32_t r = 0; r < s.v->plan->nranks && !s.why; r++) {
		if (rounds_rank_make(&s.nodes[r].k, s.m, s.v, r, emu_op == CCS_DEV_PREMUL))
			s.why = "no memory";
		else
			make_node(&s, r, s.nodes + r);
	}
	if (!s.why && run(&s))
		compare(&s);
	if (s.why)
		printf("# seed %llu: %s, N = %u, count %llu, tile %llu, %u replicas: %s\n",
		       (unsigned long long)seed, ccs_module_schedule(s.m), s.v->plan->nranks,
		       (unsigned long long)s.count, (unsigned long long)s.tile, s.replicas, s.why);
	for (uint32_t r = 0; r < s.v->plan->nranks; r++)
		rounds_rank_free(&s.nodes[r].k);
	cuda_tables_free(&s.tables);
	return !s.why;
}

int main(int argc, char **argv)
{
	struct ccs_module *modules[MAX_MODULES];
	uint64_t first, n;
	int count = 0;

	if (argc < 4)
		return 2;
	first = strtoull(argv[1], NULL, 10);
	n = strtoull(argv[2], NULL, 10);
	for (int i = 3; i < argc && count < MAX_MODULES; i++)
		if (ccs_module_load(modules + count++, argv[i]) != CCS_OK) {
			printf("# %s\n", ccs_error());
			return 2;
		}
	for (uint64_t seed = first; seed < first + n; seed++)
		if (!run_seed(seed, modules, count))
			return 1;
	for (int i = 0; i < count; i++)
		ccs_module_free(modules[i]);
	return 0;
}
