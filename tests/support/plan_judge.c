/* See plan_judge.h. */
#include "tests/support/plan_judge.h"

#include <stdlib.h>
#include <string.h>

/* ---- by the simulator ------------------------------------------------------------ */

/* What FIFOs and the plan say of messages: the largest is as large as they say. */
static bool sizes_are_true(const struct sim_plan *p)
{
	int most = 0;

	for (int f = 0; f < p->nfifos; f++) {
		int largest = 0;

		for (int i = 0; i < p->nops; i++)
			if (p->ops[i].out == f && p->ops[i].n > largest)
				largest = p->ops[i].n;
		if (largest != p->fifos[f].max_cells)
			return false;
		most = largest > most ? largest : most;
	}
	return most == p->max_message;
}

/* A promise that is no sum is one contribution, once. */
static bool sums_say_so(const struct plan_view *v)
{
	for (uint64_t k = 0; k < v->plan->expect.n; k++) {
		const struct ccs_sum *s = v->sums + v->expect[k];
		uint64_t total = 0;

		if (v->expect[k] == CCS_NONE || s->reduced)
			continue;
		for (bool last = false; !last; last = s++->last)
			total += (uint64_t)s->n * s->times;
		if (total != 1)
			return false;
	}
	return true;
}

/* Runs of all kinds: FIFOs as the module says or without end, 1 to 3 tiles, in place and
 * not, with direct messages written by their senders, or held ones read by their receivers, or both. */
static bool runs_right(const struct ccs_module *m, const struct sim_module *s,
		       const struct sim_want *want, bool even_counts, struct sim_failure *why)
{
	const struct sim_plan *p = s->plans;
	uint32_t sums = m->head->flags & (CCS_MODULE_REDUCES | CCS_MODULE_MIXED);

	for (int k = 0; k < 8; k++) {
		struct sim_config c = {
			.slots = s->slots,
			.tiles = 1 + k % 3,
			.in_place = k & 1,
			.slow = ABSENT,
			.even_counts = even_counts,
			.scaled = sums == CCS_MODULE_REDUCES,
			.direct = k / 2 & 1,
			.held = k / 2 != 1,
			.seed = (uint64_t)k,
		};

		if (k / 2 % 3 == 2)
			c.slots = sim_most_messages(p) * c.tiles;
		if (!sim_run(p, want, &c, why))
			return false;
	}
	return true;
}

static enum verdict judge(const struct ccs_module *m, const struct plan_view *v,
			  const struct sim_module *s, const struct sim_want *want,
			  struct sim_failure *why)
{
	const struct sim_plan *p = s->plans;

	if (!sim_check(p, why) || sim_races(p, false, why) || sim_races(p, true, why) ||
	    !sim_free_only(p, why) || !sim_held_only(p, why) || !sim_reads_only(p, why) ||
	    !sim_orders(p, why) || !runs_right(m, s, want, s->even_counts, why))
		return NOT_PROVED;
	if (!sums_say_so(v)) {
		strcpy(why->text, "a promise of several contributions is no sum");
		return NOT_PROVED;
	}
	if (!sizes_are_true(p)) {
		strcpy(why->text, "a size of messages is not true");
		return FORMAL;
	}
	return sim_local_races(p, true, why) ? FORMAL : RIGHT;
}

enum verdict judge_plan(const struct ccs_module *m, size_t i, struct sim_failure *why)
{
	struct sim_want *want = sim_promised(m, i);
	struct sim_module s;
	enum verdict x;

	sim_read(m, i, &s);
	x = judge(m, &m->plans[i], &s, want, why);
	sim_free(&s);
	free(want);
	return x;
}

bool judge_counts(const struct ccs_module *m)
{
	bool even = m->head->flags & CCS_MODULE_EVEN_COUNTS, uneven = false;

	for (size_t i = 0; i < m->nplans && even && !uneven; i++) {
		struct sim_want *want = sim_promised(m, i);
		struct sim_failure why;
		struct sim_module s;

		sim_read(m, i, &s);
		uneven = !runs_right(m, &s, want, false, &why);
		sim_free(&s);
		free(want);
	}
	return even == uneven;
}

/* ---- by real runs ---------------------------------------------------------------- */

enum { MAX_N = 16, SCALAR = 3, POISON = 0xa5, LONG_CHUNK = 600 };

struct real {
	const struct ccs_module *m;
	const struct plan_view *v;
	int n;
	size_t count, send, recv; /* elements */
	bool premul;
	size_t apart; /* buffers begin so many elements into what is allocated */
	uint64_t *in[MAX_N], *out[MAX_N];
};

static uint64_t input(const struct real *r, int rank, size_t i)
{
	return sim_weight(rank, (int)(r->apart + i) + 1);
}

/* Where a cell begins in the send or the receive buffer; its length. */
static size_t place(const struct real *r, uint32_t cell, bool in_send, size_t *len)
{
	size_t at = 0;

	for (uint32_t i = 0;; i++) {
		const struct ccs_shape *s = &r->v->shapes[i];
		uint32_t direction = r->m->buffers[i].direction, c = cell - s->cell;

		if (cell >= s->cell && c < s->chunks * s->blocks) {
			size_t q = (r->count + s->chunks - 1) / s->chunks, from = c % s->chunks * q;

			from = from < r->count ? from : r->count;
			*len = r->count - from < q ? r->count - from : q;
			return at + c / s->chunks * r->count + from;
		}
		if (direction != (in_send ? CCS_OUT : CCS_IN))
			at += s->blocks * r->count;
	}
}

static uint64_t promised(const struct real *r, const struct ccs_sum *s, size_t i)
{
	uint64_t sum = 0;
	size_t len;

	for (bool last = false; !last; last = s++->last) {
		size_t at = place(r, s->cell, true, &len) + i;

		for (uint32_t q = s->first; q < s->first + s->n; q++)
			sum += s->times * input(r, (int)q, at);
	}
	return r->premul ? SCALAR * sum : sum;
}

static bool check_cell(const struct real *r, int rank, uint32_t cell, struct sim_failure *why)
{
	uint32_t row = r->v->expect[(size_t)rank * r->v->plan->cells + cell];
	size_t len, at;

	if (row == CCS_NONE || !module_cells_are(r->m, r->v, cell, 1, CELL_FINAL))
		return true;
	at = place(r, cell, false, &len);
	for (size_t i = 0; i < len; i++) {
		if (r->out[rank][at + i] == promised(r, r->v->sums + row, i))
			continue;
		snprintf(why->text, sizeof(why->text),
			 "count %zu, %s: rank %d, cell %u, element %zu "
			 "is wrong",
			 r->count, r->premul ? "premul-sum" : "sum", rank, cell, i);
		return false;
	}
	return true;
}

/* In place the one block of a buffer is the rank's own of the other's. */
static size_t own_block(const struct real *r, int rank, enum ccs_direction of)
{
	uint32_t blocks[3] = { 0 };

	for (uint32_t i = 0; i < r->m->nbuffers; i++)
		blocks[r->m->buffers[i].direction] = r->v->shapes[i].blocks;
	return blocks[of] == 1 && blocks[of == CCS_IN ? CCS_OUT : CCS_IN] > 1
		       ? (size_t)rank * r->count
		       : 0;
}

/* Memory of a rank, which begins `apart` elements into what is allocated. */
static uint64_t *buffer(const struct real *r)
{
	size_t n = (r->send > r->recv ? r->send : r->recv) + (size_t)r->n * r->count + 1;
	uint64_t *p = malloc((n + r->apart) * sizeof(*p));

	if (!p)
		abort();
	memset(p, POISON, (n + r->apart) * sizeof(*p));
	return p + r->apart;
}

static bool run(struct real *r, struct ccs_comm **comm, bool in_place, struct sim_failure *why)
{
	uint64_t *memory[2][MAX_N], scalar = SCALAR;
	struct ccs_module *m = (struct ccs_module *)(uintptr_t)r->m;
	int root = r->v->plan->root == CCS_NONE ? 0 : (int)r->v->plan->root;
	bool right;

	ccs_group_start();
	for (int k = 0; k < r->n; k++) {
		memory[0][k] = buffer(r);
		memory[1][k] = in_place ? memory[0][k] : buffer(r);
		r->in[k] = memory[0][k] + (in_place ? own_block(r, k, CCS_IN) : 0);
		r->out[k] = memory[1][k] + (in_place ? own_block(r, k, CCS_OUT) : 0);
		for (size_t i = 0; i < r->send; i++)
			r->in[k][i] = input(r, k, i);
		if (r->premul)
			ccs_run_premul(m, r->in[k], r->out[k], r->count, CCS_UINT64, &scalar, root,
				       comm[k], NULL);
		else
			ccs_run(m, r->in[k], r->out[k], r->count, CCS_UINT64, CCS_SUM, root,
				comm[k], NULL);
	}
	right = ccs_group_end() == CCS_OK;
	if (!right)
		snprintf(why->text, sizeof(why->text), "%.180s", ccs_error());
	for (int k = 0; k < r->n; k++)
		for (uint32_t c = 0; c < r->v->plan->cells && right; c++)
			right = check_cell(r, k, c, why);
	for (int k = 0; k < r->n; k++) {
		if (!in_place)
			free(memory[1][k] - r->apart);
		free(memory[0][k] - r->apart);
	}
	return right;
}

/* Whether one buffer may be both what is read and what is written: one or more of inout; or one
 * of each kind. */
static bool has_place(const struct ccs_module *m)
{
	uint32_t n[3] = { 0 };

	for (uint32_t i = 0; i < m->nbuffers; i++)
		n[m->buffers[i].direction]++;
	return n[CCS_INOUT] == m->nbuffers ||
	       (m->nbuffers == 2 && n[CCS_IN] == 1 && n[CCS_OUT] == 1);
}

/* The counts: about as many elements as there are chunks, and thrice as many; so many that
 * chunks are long enough for held messages to stay where they are (runtime/cpu/core/layout.c); whole
 * multiples, where only these can be run. */
static size_t nth_count(const struct real *r, int k)
{
	size_t chunks = 1, most = 1;

	for (uint32_t i = 0; i < r->m->nbuffers; i++) {
		size_t n = r->v->shapes[i].chunks;

		chunks *= n && chunks % n ? n : 1;
		most = n > most ? n : most;
	}
	if (r->m->head->flags & CCS_MODULE_EVEN_COUNTS)
		return chunks * (k == 3 ? LONG_CHUNK : (size_t)k);
	switch (k) {
	case 0: return 1;
	case 1: return most + 1;
	case 2: return 3 * most - 1;
	}
	return LONG_CHUNK * most - 1;
}

bool judge_runs(struct ccs_module *m, size_t i, struct sim_failure *why)
{
	struct real r = { .m = m, .v = &m->plans[i], .n = (int)m->plans[i].plan->nranks };
	bool sums =
		(m->head->flags & (CCS_MODULE_REDUCES | CCS_MODULE_MIXED)) == CCS_MODULE_REDUCES;
	struct ccs_comm *comm[MAX_N];
	bool right = true;

	if (r.n > MAX_N || m->head->flags & (CCS_MODULE_SIZED | CCS_MODULE_BY_COLUMN))
		return true;
	if (ccs_comm_init_all(comm, r.n))
		abort();
	ccs_comm_set_timeout(comm[0], 5000);
	for (int k = 0; k < 16 && right; k++) {
		bool in_place = k & 1;

		r.premul = k & 2;
		r.count = nth_count(&r, k / 4);
		if ((in_place && !has_place(m)) || (r.premul && !sums))
			continue;
		if (ccs_module_elements(m, r.n, r.count, &r.send, &r.recv))
			abort();
		/* What an engine keeps of a run must depend neither on data nor on places. */
		for (r.apart = 0; r.apart <= 24 && right; r.apart += 24)
			right = run(&r, comm, in_place, why);
	}
	for (int k = 0; k < r.n; k++)
		ccs_comm_free(comm[k]);
	return right;
}
