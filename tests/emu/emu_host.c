/*
 * Runs generated kernels in the emulation, and compares every element with the
 * contract's (the module's table of expected values, which kernels never read).
 *
 * A seed decides the schedule, N, root, count, tile, replicas, threads, placement,
 * how far the counters have run, and every choice of the emulation. Each makes
 * three calls on one state: with other counts, as a replay (nothing but inputs
 * changes), and after a call that was stopped in its middle.
 *
 * usage: emu_test FIRST NUMBER MODULE.so ...
 *        emu_test watchdog 0 MODULE.so ...	(compiled with CCS_WATCHDOG)
 */
#include "runtime/cuda_tables.h"
#include "tests/emu/emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MODULES = 64, MAX_N = 8, GUARD = 32 };

struct state {
	const struct ccs_module *m;
	const struct plan_view *v;
	struct cuda_tables tables;
	struct ccs_dev_call call;
	const struct emu_kernel *kernel;
	uint32_t threads, ll;
	size_t esize;
	bool in_place, shifted;		/* shifted: buffers are not 16-aligned */
	uint8_t *send[MAX_N], *recv[MAX_N];
	size_t nsend, nrecv;		/* elements */
};

static int64_t value(uint32_t rank, uint64_t element, uint32_t call)
{
	uint64_t h = ((uint64_t)rank * 7919 + element * 31 + call * 1009) * 2654435761u;

	return emu_op == CCS_DEV_PROD ? 1 + (int64_t)(h >> 20 & 1) : 1 + (int64_t)(h >> 20) % 3;
}

/* Small whole numbers are exact in every type. */
static void write_element(uint8_t *p, int64_t x)
{
	float f = (float)x;
	double d = (double)x;
	uint32_t u;

	switch (emu_type) {
	case CCS_FLOAT32:
		memcpy(p, &f, 4);
		break;
	case CCS_FLOAT64:
		memcpy(p, &d, 8);
		break;
	case CCS_BFLOAT16:
		memcpy(&u, &f, 4);
		u >>= 16;
		memcpy(p, &u, 2);
		break;
	default:
		memcpy(p, &x, ccs_dtype_size((ccs_dtype)emu_type));
	}
}

/* ---- state ---------------------------------------------------------------------------- */

static uint32_t pow2(uint32_t at_least)
{
	uint32_t p = 1;

	while (p < at_least)
		p *= 2;
	return p;
}

static void make_fifos(struct state *s, uint64_t epoch, uint32_t max_units)
{
	struct ccs_dev_fifo *f = cuda_tables_fifos(&s->tables);
	uint32_t slots = pow2(s->m->head->slots ? s->m->head->slots : 1);
	uint32_t replicas = s->call.replicas_max;

	for (uint32_t i = 0; i < s->tables.nfifos; i++) {
		f[i].slots = f[i].messages < slots && emu_random(2) ?
			     pow2(f[i].messages ? f[i].messages : 1) : slots;
		/* fewer slots than messages need no more than one a tile's worth */
		f[i].slot_bytes = (uint64_t)s->tables.max_cells * max_units * (s->ll ? 32 : 16);
		f[i].slot_bytes = (f[i].slot_bytes + 31) & ~(uint64_t)31;
		f[i].data = emu_alloc(f[i].slot_bytes * f[i].slots * replicas);
		f[i].head = emu_alloc(sizeof(uint64_t) * CCS_DEV_LINE * replicas);
		f[i].tail = emu_alloc(sizeof(uint64_t) * CCS_DEV_LINE * replicas);
		for (uint32_t r = 0; r < replicas; r++)
			f[i].head[r * CCS_DEV_LINE] = f[i].tail[r * CCS_DEV_LINE] =
				epoch * f[i].messages;
		for (uint64_t b = 0; s->ll && b < f[i].slot_bytes * f[i].slots * replicas; b += 8) {
			uint64_t entry = epoch * f[i].messages << 32;
			memcpy(f[i].data + b, &entry, 8);
		}
	}
}

static void make_counters(struct state *s, uint64_t epoch)
{
	struct ccs_dev_call *c = &s->call;
	size_t n = (size_t)s->tables.nworkers * c->replicas_max * CCS_DEV_LINE;

	c->done = emu_alloc(n * sizeof(uint64_t));
	c->epoch = emu_alloc(n * sizeof(uint64_t));
	for (uint32_t w = 0; w < s->tables.nworkers; w++)
		for (uint32_t r = 0; r < c->replicas_max; r++) {
			size_t at = ((size_t)w * c->replicas_max + r) * CCS_DEV_LINE;
			c->done[at] = epoch * c->workers[w].count;
			c->epoch[at] = epoch;
		}
}

/* Counters begin where 32 or 64 bits are about to run over, for FIFOs with a few
 * messages a tile. */
static uint64_t choose_epoch(void)
{
	uint64_t near = emu_random(6), by = 1 + emu_random(8);

	switch (emu_random(5)) {
	case 0:
		return (UINT64_C(1) << 32) / by - near;
	case 1:
		return (UINT64_C(1) << 31) / by - near;
	case 2:
		return UINT64_MAX / by - near;
	case 3:
		return UINT64_MAX - near;
	default:
		return 0;
	}
}

static bool all_inout(const struct ccs_module *m)
{
	for (uint32_t i = 0; i < m->nbuffers; i++)
		if (m->buffers[i].direction != CCS_INOUT)
			return false;
	return true;
}

static bool state_make(struct state *s, struct ccs_module *m, struct plan_view *v,
		       const struct emu_kernel *kernel)
{
	const struct prep *p = prep_get(m, v);
	uint64_t epoch = choose_epoch();
	uint8_t *copy;

	*s = (struct state){ .m = m, .v = v, .kernel = kernel, .ll = emu_proto == CCS_DEV_LL };
	s->esize = ccs_dtype_size((ccs_dtype)emu_type);
	if (!p || cuda_tables_make(&s->tables, m, v, p) != CCS_OK)
		return false;
	s->call.replicas_max = 1 + emu_random(2);
	s->threads = 4 + emu_random(2) * 3;
	s->in_place = all_inout(m) && emu_random(2);
	s->shifted = emu_random(3) == 0;
	make_fifos(s, epoch, 4);
	copy = emu_alloc(s->tables.size);
	memcpy(copy, s->tables.bytes, s->tables.size);
	cuda_tables_bind(&s->tables, copy, &s->call);
	make_counters(s, epoch);
	s->call.abort = emu_alloc(sizeof(uint32_t));
	s->call.report = emu_alloc(sizeof(struct ccs_dev_report));
	s->call.stage = s->tables.stage_cells ?
		emu_alloc(s->tables.stage_cells * s->call.replicas_max * 4 * 16) : NULL;
	s->call.nworkers = s->tables.nworkers;
	return true;
}

/* ---- a call ------------------------------------------------------------------------------ */

static bool choose_sizes(struct state *s)
{
	struct ccs_dev_call *c = &s->call;
	uint32_t lanes = (uint32_t)(16 / s->esize), most = 1;
	uint64_t pieces;

	for (uint32_t i = 0; i < s->m->nbuffers; i++)
		if (s->v->shapes[i].chunks > most)
			most = s->v->shapes[i].chunks;
	c->count = emu_random(4) ? emu_random(most * lanes * 6) : emu_random(8);
	if (s->m->head->flags & CCS_MODULE_EVEN_COUNTS)
		c->count -= c->count % most;
	c->longest = cuda_longest(s->m, s->v, c->count);
	c->tile = (1 + emu_random(4)) * lanes;
	c->replicas = 1 + emu_random(c->replicas_max);
	pieces = (c->longest + c->tile - 1) / c->tile;
	c->ntiles = (pieces + c->replicas - 1) / c->replicas;
	c->ntiles = c->ntiles ? c->ntiles : 1;
	c->longest = (c->longest + lanes - 1) / lanes * lanes;
	c->divide = emu_op == CCS_DEV_SUM && s->m->head->flags & CCS_MODULE_REDUCES &&
		    !(s->m->head->flags & CCS_MODULE_MIXED) && emu_random(3) == 0 ?
		    s->v->plan->nranks : 0;
	s->nsend = s->nrecv = 0;
	return module_sizes(s->m, s->v, c->count, &s->nsend, &s->nrecv) == CCS_OK;
}

static void make_buffers(struct state *s, uint32_t call)
{
	struct ccs_dev_call *c = &s->call;
	uint32_t n = s->v->plan->nranks, shift = s->shifted ? (uint32_t)s->esize : 0;
	struct ccs_dev_rank *ranks = c->ranks, *far = NULL;

	if (emu_random(4) == 0)
		c->far_ranks = ranks = far = emu_alloc(n * sizeof(*far));
	else
		c->far_ranks = NULL;
	for (uint32_t r = 0; r < n; r++) {
		s->send[r] = (uint8_t *)emu_alloc(s->nsend * s->esize + GUARD + 16) + shift;
		s->recv[r] = s->in_place ? s->send[r] :
			(uint8_t *)emu_alloc(s->nrecv * s->esize + GUARD + 16) + shift;
		memset(s->recv[r], 0xa5, s->nrecv * s->esize + GUARD);
		memset(s->send[r] + s->nsend * s->esize, 0xa5, GUARD);
		for (size_t i = 0; i < s->nsend; i++)
			write_element(s->send[r] + i * s->esize, value(r, i, call));
		ranks[r] = (struct ccs_dev_rank){
			s->send[r], s->recv[r],
			emu_alloc(s->tables.scratch * c->longest * s->esize + 16) };
	}
	write_element((uint8_t *)&c->scalar, 2);
}

/* A cell's place, in elements from the buffers' starts, by plan.h. */
struct spot {
	size_t send, recv, len;
	bool out;
};

static struct spot find(const struct state *s, uint32_t cell)
{
	size_t send = 0, recv = 0, count = s->call.count;

	for (uint32_t i = 0; i < s->m->nbuffers; i++) {
		const struct ccs_shape *h = s->v->shapes + i;
		uint32_t direction = s->m->buffers[i].direction;

		if (cell < h->cell + h->chunks * h->blocks) {
			size_t q = (count + h->chunks - 1) / h->chunks;
			size_t block = (cell - h->cell) / h->chunks * count;
			size_t from = (cell - h->cell) % h->chunks * q;
			from = from < count ? from : count;
			return (struct spot){ send + block + from, recv + block + from,
					      count - from < q ? count - from : q,
					      direction != CCS_IN };
		}
		send += direction != CCS_OUT ? h->blocks * count : 0;
		recv += direction != CCS_IN ? h->blocks * count : 0;
	}
	return (struct spot){ 0 };
}

static int64_t combined(int64_t x, int64_t y)
{
	switch (emu_op) {
	case CCS_DEV_PROD:
		return x * y;
	case CCS_DEV_MAX:
		return x > y ? x : y;
	case CCS_DEV_MIN:
		return x < y ? x : y;
	default:
		return x + y;
	}
}

static int64_t wanted(const struct state *s, const struct ccs_sum *sum, size_t i, uint32_t call)
{
	int64_t x = 0;
	bool first = true, reduced = sum->reduced;

	for (;; sum++) {
		size_t at = find(s, sum->cell).send + i;

		for (uint32_t r = sum->first; r < sum->first + sum->n; r++)
			for (uint32_t k = 0; k < sum->times; k++) {
				int64_t v = value(r, at, call) *
					    (emu_op == CCS_DEV_PREMUL ? 2 : 1);
				x = first ? v : combined(x, v);
				first = false;
			}
		if (sum->last)
			break;
	}
	return s->call.divide && reduced && emu_type != CCS_FLOAT32 ? x / s->call.divide : x;
}

/* float32 averages are compared as quotients. */
static bool right(const struct state *s, const uint8_t *p, int64_t want, bool reduced)
{
	uint8_t bytes[8];
	float f;

	write_element(bytes, want);
	if (emu_type == CCS_FLOAT32 && s->call.divide && reduced) {
		f = (float)want / (float)s->call.divide;
		memcpy(bytes, &f, 4);
	}
	return !memcmp(p, bytes, s->esize);
}

static bool compare(const struct state *s, uint32_t call)
{
	const struct ccs_plan *p = s->v->plan;

	for (uint32_t r = 0; r < p->nranks; r++) {
		for (int g = 0; g < GUARD; g++)
			if (s->recv[r][s->nrecv * s->esize + (size_t)g] != 0xa5) {
				printf("# rank %u wrote behind its buffer\n", r);
				return false;
			}
		for (uint32_t c = 0; c < p->cells; c++) {
			uint32_t row = s->v->expect[(size_t)r * p->cells + c];
			struct spot at = find(s, c);

			for (size_t i = 0; row != CCS_NONE && at.out && i < at.len; i++)
				if (!right(s, s->recv[r] + (at.recv + i) * s->esize,
					   wanted(s, s->v->sums + row, i, call),
					   s->v->sums[row].reduced)) {
					printf("# rank %u, cell %u, element %zu is wrong\n", r, c, i);
					return false;
				}
		}
	}
	return true;
}

/* Every counter stands where the contract of args.h says. */
static bool counters(const struct state *s)
{
	const struct ccs_dev_call *c = &s->call;

	for (uint32_t r = 0; r < c->replicas; r++) {
		uint64_t epoch = c->epoch[(size_t)r * CCS_DEV_LINE];

		for (uint32_t w = 0; w < s->tables.nworkers; w++) {
			size_t at = ((size_t)w * c->replicas_max + r) * CCS_DEV_LINE;
			if (c->epoch[at] != epoch || c->done[at] != epoch * c->workers[w].count)
				return false;
		}
		for (uint32_t i = 0; i < s->tables.nfifos; i++) {
			const struct ccs_dev_fifo *f = c->fifos + i;
			if (f->head[r * CCS_DEV_LINE] != epoch * f->messages ||
			    f->tail[r * CCS_DEV_LINE] != epoch * f->messages)
				return false;
		}
	}
	return true;
}

static bool one_call(struct state *s, uint32_t call, uint64_t seed, bool stopped)
{
	const char *why;

	make_buffers(s, call);
	why = emu_launch(s->kernel->run, &s->call, s->call.nworkers * s->call.replicas, s->threads,
			 seed * 8 + call, stopped ? 1 + seed * 37 % 3000 : 0);
	if (!why && !counters(s))
		why = "counters are not where they belong";
	if (!why && !stopped && !compare(s, call))
		why = "wrong data";
	if (why)
		printf("# %s, call %u%s: %s\n", s->kernel->schedule, call, stopped ? " (stopped)" : "",
		       why);
	*s->call.abort = 0;
	return !why;
}

static bool run_seed(uint64_t seed, struct ccs_module **modules, const struct emu_kernel **kernels,
		     int n)
{
	int i;
	struct ccs_module *m;
	struct plan_view *v;
	struct state s;
	bool ok;

	emu_seed(seed);
	emu_alloc_reset();
	i = (int)(seed % (uint64_t)n);
	m = modules[i];
	do
		v = m->plans + emu_random((uint32_t)m->nplans);
	while (v->plan->nranks > MAX_N || (v->plan->nranks < 2 && emu_random(8)));
	if (!state_make(&s, m, v, kernels[i]))
		return false;
	ok = choose_sizes(&s) && one_call(&s, 0, seed, false) && one_call(&s, 1, seed, false);
	ok = ok && choose_sizes(&s) && (emu_random(2) || one_call(&s, 2, seed, true)) &&
	     one_call(&s, 3, seed, false);
	if (!ok)
		printf("# seed %llu: %s, N = %u, root %d, count %llu, tile %llu x %llu, %u replicas\n",
		       (unsigned long long)seed, kernels[i]->schedule, v->plan->nranks,
		       (int)v->plan->root, (unsigned long long)s.call.count,
		       (unsigned long long)s.call.tile, (unsigned long long)s.call.ntiles,
		       s.call.replicas);
	cuda_tables_free(&s.tables);
	return ok;
}

/* Whether no chunk is empty: nobody waits for an LL message without data. */
static bool every_chunk(const struct state *s)
{
	for (uint32_t i = 0; i < s->m->nbuffers; i++)
		if (!s->call.count || s->call.count % s->v->shapes[i].chunks)
			return false;
	return true;
}

/* A call whose last workers never start: the watchdog says who waits for it, and the
 * others end. */
static bool run_watchdog(struct ccs_module *m, const struct emu_kernel *kernel, uint64_t seed)
{
	struct plan_view *v = m->plans + m->nplans - 1;
	const struct ccs_dev_report *r;
	struct state s;
	const char *why;
	uint32_t last, line = 0;
	bool ok;

	while (v->plan->nranks > MAX_N)
		v--;
	emu_seed(seed);
	emu_alloc_reset();
	if (!state_make(&s, m, v, kernel))
		return false;
	do {
		if (!choose_sizes(&s))
			return false;
	} while (!every_chunk(&s));
	s.call.longest = (cuda_longest(m, v, s.call.count) + 15) / 16 * 16;
	s.call.replicas = 1;
	s.call.ntiles = (s.call.longest + s.call.tile - 1) / s.call.tile;
	s.call.limit = 1000;	/* ten looks at the clock */
	s.call.divide = 0;
	make_buffers(&s, 0);
	/* the last worker that sends: those behind it do not start either */
	for (last = s.call.nworkers - 1; last; last--) {
		const struct ccs_dev_worker *w = s.call.workers + last;
		uint32_t forms = 0;

		for (uint32_t k = 0; k < w->nops; k++)
			forms |= s.call.ops[w->op + k].form;
		if (forms & CCS_DEV_OUT)
			break;
	}
	why = emu_launch(kernel->run, &s.call, last, s.threads, seed, 0);
	r = s.call.report;
	for (uint32_t k = 0; k < s.call.workers[r->worker].nops; k++) {
		const struct ccs_dev_op *o = s.call.ops + s.call.workers[r->worker].op + k;
		if (o->done == r->op + 1)
			line = o->line;
	}
	/* It names an operation that really waits: of the worker it names, and its line. */
	ok = !why && r->taken == 1 && r->kind >= CCS_DEV_STUCK_RECV &&
	     r->kind <= CCS_DEV_STUCK_WORKER && r->rank == s.call.workers[r->worker].rank &&
	     r->worker < last && r->line == line && line && *s.call.abort;
	if (!ok)
		printf("# watchdog, %s: %s, kind %u rank %u worker %u op %u line %u peer %u\n",
		       kernel->schedule, why ? why : "a wrong report", r->kind, r->rank, r->worker,
		       r->op, r->line, r->peer);
	cuda_tables_free(&s.tables);
	return ok;
}

int main(int argc, char **argv)
{
	struct ccs_module *modules[MAX_MODULES];
	const struct emu_kernel *kernels[MAX_MODULES];
	uint64_t first, n, failed = 0;
	int count = 0;

	if (argc < 4)
		return 2;
	first = strtoull(argv[1], NULL, 10);
	n = strtoull(argv[2], NULL, 10);
	for (int i = 3; i < argc && count < MAX_MODULES; i++) {
		if (ccs_module_load(modules + count, argv[i]) != CCS_OK) {
			printf("# %s\n", ccs_error());
			return 2;
		}
		kernels[count] = emu_kernels;
		while (kernels[count]->schedule &&
		       strcmp(kernels[count]->schedule, ccs_module_schedule(modules[count])))
			kernels[count]++;
		if (!kernels[count]->schedule)
			return 2;
		count++;
	}
	for (int i = 0; i < count && !strcmp(argv[1], "watchdog"); i++)
		failed += !run_watchdog(modules[i], kernels[i], 1 + (uint64_t)i);
	for (uint64_t seed = first; first && seed < first + n && failed < 1; seed++)
		failed += !run_seed(seed, modules, kernels, count);
	for (int i = 0; i < count; i++)
		ccs_module_free(modules[i]);
	return failed != 0;
}
