/*
 * cuda/tables.c: what kernels read is what the plan says, for programs of the library and random
 * ones that are right, with their ranks in one part and in several. Each row is compared with what
 * the plan's own rows mean; nothing is taken from how the tables are made.
 */
#include "runtime/cuda/tables.h"
#include "runtime/plan/load.h"
#include "tests/support/make_module.h"
#include "tests/support/right_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One plan, its tables, and where its ranks live. */
struct subject {
	const struct ccs_module *m;
	const struct plan_view *v;
	const struct prep *p;
	const uint32_t *part_of;
	uint32_t nparts;
	struct cuda_tables t;
	struct ccs_dev_call at;
	uint32_t *of;	      /* [workers of the tables]: that of the plan, or CCS_NONE */
	uint32_t *number;     /* [workers of the plan]: that of the tables */
	uint32_t *sent, *got; /* [FIFOs]: messages so far */
};

/* What all subjects have between them: a test of what never occurs would say nothing. */
static struct {
	unsigned shifted, idle, direct, read, both, only_apart, apart, waits, divided, blocks,
		staged, slotted, slotless, last, kept;
} seen;

/* ---- where the tables lie ------------------------------------------------------------------ */

static void check_block(const struct subject *s)
{
	const struct cuda_tables *t = &s->t;
	const struct {
		size_t at, bytes;
	} v[] = {
		{ t->ops, 0 }, /* as many as the workers say */
		{ t->workers, t->nworkers * sizeof(struct ccs_dev_worker) },
		{ t->waits, s->v->plan->waits.n * sizeof(struct ccs_dev_wait) },
		{ t->cells,
		  (s->v->plan->cells + s->v->plan->scratch) * sizeof(struct ccs_dev_cell) },
		{ t->fifos, t->nfifos * sizeof(struct ccs_dev_fifo) },
		{ t->posts, s->v->plan->nranks * sizeof(struct ccs_dev_post) },
		{ t->ranges, s->p->nranges * sizeof(struct ccs_dev_range) },
	};

	assert_int_equal(t->nfifos, s->v->plan->fifos.n);
	assert_int_equal(t->scratch, s->v->plan->scratch);
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		size_t end = i + 1 < sizeof(v) / sizeof(*v) ? v[i + 1].at : t->size;

		assert_int_equal(v[i].at % 16, 0);
		assert_true(v[i].at + v[i].bytes <= end);
	}
}

/* ---- workers -------------------------------------------------------------------------------- */

/* The rank's workers are adjacent, in the plan's order; one that does nothing where it has none. */
static uint32_t check_rank(struct subject *s, uint32_t rank)
{
	uint32_t first = s->v->ranks[rank].worker, end = s->v->ranks[rank + 1].worker;
	uint32_t n = end > first ? end - first : 1;

	seen.idle += end == first;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = s->t.first_worker[rank] + i;
		const struct ccs_dev_worker *w = s->at.workers + row;

		assert_true(row < s->t.nworkers);
		assert_int_equal(w->rank, rank);
		assert_int_equal(w->index, i);
		assert_int_equal(w->of, n);
		if (end == first) {
			assert_int_equal(w->nops, 0);
			assert_int_equal(w->count, 0);
			assert_int_equal(w->shape, CCS_DEV_NONE);
			assert_int_equal(w->stage_cells, 0);
		} else {
			s->of[row] = first + i;
			s->number[first + i] = row;
		}
	}
	return n;
}

static void check_workers(struct subject *s)
{
	uint32_t n = 0;

	memset(s->of, 0xff, s->t.nworkers * sizeof(*s->of));
	for (uint32_t part = 0; part < s->nparts; part++) {
		assert_int_equal(s->t.part_worker[part], n);
		for (uint32_t r = 0; r < s->v->plan->nranks; r++)
			if (!s->part_of || s->part_of[r] == part) {
				assert_int_equal(s->t.first_worker[r], n);
				n += check_rank(s, r);
			}
	}
	assert_int_equal(s->t.part_worker[s->nparts], n);
	assert_int_equal(s->t.nworkers, n);
}

/* ---- operations ------------------------------------------------------------------------------- */

enum { SOURCES = CCS_DEV_A | CCS_DEV_B | CCS_DEV_A_INITIAL | CCS_DEV_B_INITIAL };

/* What of an operation is read, and what becomes of it. */
static uint32_t reads(const struct ccs_op *o)
{
	return (o->in != CCS_NONE ? CCS_DEV_IN : 0) | (o->a != CCS_NONE ? CCS_DEV_A : 0) |
	       (o->b != CCS_NONE ? CCS_DEV_B : 0) |
	       (o->flags & CCS_OP_A_INITIAL ? CCS_DEV_A_INITIAL : 0) |
	       (o->flags & CCS_OP_B_INITIAL ? CCS_DEV_B_INITIAL : 0);
}

static uint32_t writes(const struct ccs_op *o)
{
	return (o->dst != CCS_NONE ? CCS_DEV_DST : 0) | (o->out != CCS_NONE ? CCS_DEV_OUT : 0);
}

static bool of_one_part(const struct subject *s, uint32_t fifo)
{
	const struct ccs_fifo *f = s->v->fifos + fifo;

	return !s->part_of || s->part_of[f->src] == s->part_of[f->dst];
}

/* Whether its message may be written where its receiver stores it, by a row that has it whole. */
static bool is_direct(const struct subject *s, const struct ccs_op *o)
{
	return o->flags & CCS_OP_DIRECT && !(o->flags & CCS_OP_SHIFTED) && of_one_part(s, o->out);
}

/* Who sends its message, or NULL. */
static const struct ccs_op *sender(const struct subject *s, uint32_t op)
{
	for (uint64_t i = 0; i < s->v->plan->ops.n; i++)
		if (s->v->ops[i].out != CCS_NONE && s->v->ops[i].to == op)
			return s->v->ops + i;
	return NULL;
}

/* Whether its message is an initial value, in the send buffer; and whether it may be read where
 * it lies, there in calls that have that apart only. */
static bool is_initial(const struct ccs_op *o)
{
	return o->in == CCS_NONE && o->b == CCS_NONE && o->dst == CCS_NONE &&
	       o->flags & CCS_OP_A_INITIAL;
}

static bool is_read(const struct subject *s, const struct ccs_op *o)
{
	return o->out != CCS_NONE && o->n && !(o->flags & (CCS_OP_DIRECT | CCS_OP_SHIFTED)) &&
	       (o->flags & CCS_OP_READ || is_initial(o)) && of_one_part(s, o->out);
}

/* Whether a direct message may be read, too, and the next operation of who receives it adds to it
 * (`add`: a sum that begins with it is better read than written first). */
static bool is_both(const struct subject *s, const struct ccs_op *o)
{
	const struct ccs_worker *w;
	const struct ccs_op *add;

	if (!is_direct(s, o) || !is_initial(o) || !o->n)
		return false;
	w = s->v->workers + s->v->fifos[o->out].dst_worker;
	add = s->v->ops + o->to + 1;
	return o->to != w->op + w->nops - 1 && add->a == s->v->ops[o->to].dst &&
	       add->dst != CCS_NONE && (add->in != CCS_NONE || add->b != CCS_NONE);
}

/* Whether it has that cell of scratch among those from `first` on. */
static bool has(const struct ccs_op *o, uint32_t first, uint32_t cell)
{
	return first != CCS_NONE && first <= cell && cell < first + o->n;
}

/* Whether the value that the operation reads in scratch cell `cell` is read no more: nobody but
 * its worker, `w`, touches the cell, and who does so next there only writes it. */
static bool is_dead(const struct subject *s, uint32_t w, uint32_t op, uint32_t cell)
{
	const struct plan_view *v = s->v;
	uint32_t rank = v->workers[w].rank;

	for (uint32_t x = v->ranks[rank].worker; x < v->ranks[rank + 1].worker; x++)
		for (uint32_t i = v->workers[x].op; i < v->workers[x].op + v->workers[x].nops; i++)
			if (x != w && (has(v->ops + i, v->ops[i].a, cell) ||
				       has(v->ops + i, v->ops[i].b, cell) ||
				       has(v->ops + i, v->ops[i].dst, cell)))
				return false;
	for (uint32_t i = op + 1; i < v->workers[w].op + v->workers[w].nops; i++) {
		const struct ccs_op *o = v->ops + i;

		if (has(o, o->a, cell) || has(o, o->b, cell))
			return false;
		if (has(o, o->dst, cell))
			return true;
	}
	return true;
}

static uint32_t last(const struct subject *s, uint32_t w, uint32_t op)
{
	const struct ccs_op *o = s->v->ops + op;

	if (o->a == CCS_NONE || o->a < s->v->plan->cells)
		return 0;
	for (uint32_t c = o->a; c < o->a + o->n; c++)
		if (!is_dead(s, w, op, c)) {
			seen.kept++;
			return 0;
		}
	seen.last++;
	return CCS_DEV_A_LAST;
}

/* What its row says of the message that it receives; and of that which it sends. */
static uint32_t comes(const struct subject *s, uint32_t op, const struct ccs_dev_op *d)
{
	const struct ccs_op *from = sender(s, op);

	if (!from || (!is_direct(s, from) && !is_read(s, from))) {
		assert_int_equal(d->origin, CCS_DEV_NONE);
		return 0;
	}
	seen.direct += is_direct(s, from);
	seen.both += is_both(s, from);
	if (is_direct(s, from) && !is_both(s, from))
		return CCS_DEV_IN_DIRECT;
	assert_int_equal(d->origin, from->dst != CCS_NONE ? from->dst : from->a);
	seen.read += (from->flags & CCS_OP_READ) != 0;
	return CCS_DEV_IN_READ | (is_initial(from) ? CCS_DEV_IN_INITIAL : 0) |
	       (is_both(s, from) ? CCS_DEV_IN_DIRECT : 0) |
	       (from->flags & CCS_OP_READ ? 0 : CCS_DEV_IN_APART);
}

static uint32_t goes(const struct subject *s, const struct ccs_op *o)
{
	if (is_both(s, o))
		return CCS_DEV_OUT_DIRECT | CCS_DEV_OUT_READ | CCS_DEV_OUT_APART;
	if (!is_read(s, o))
		return is_direct(s, o) ? CCS_DEV_OUT_DIRECT : 0;
	seen.only_apart += !(o->flags & CCS_OP_READ);
	return CCS_DEV_OUT_READ | (o->flags & CCS_OP_READ ? 0 : CCS_DEV_OUT_APART);
}

/* What both rows of an operation have, if it has two. */
static void check_both(const struct subject *s, const struct ccs_op *o, const struct ccs_dev_op *d)
{
	assert_int_equal(d->n, o->n);
	assert_int_equal(d->len, o->len);
	assert_int_equal(!(d->form & CCS_DEV_LEN_SAME), !(o->flags & CCS_OP_LEN_SAME));
	assert_int_equal(d->line, o->line);
	assert_int_equal(d->file, o->file);
	if (d->form & CCS_DEV_IN && !(d->form & CCS_DEV_FROM_STAGE)) {
		assert_int_equal(d->in, o->in);
		assert_int_equal(d->in_seq, s->got[o->in]);
	}
	if (d->form & CCS_DEV_OUT && !(d->form & CCS_DEV_TO_STAGE)) {
		assert_int_equal(d->out, o->out);
		assert_int_equal(d->out_seq, s->sent[o->out]);
	}
	if (d->form & CCS_DEV_A)
		assert_int_equal(d->a, o->a);
	if (d->form & CCS_DEV_B)
		assert_int_equal(d->b, o->b);
	if (d->form & CCS_DEV_DST)
		assert_int_equal(d->dst, o->dst);
	if (d->form & CCS_DEV_OUT_DIRECT)
		assert_int_equal(d->remote, s->v->ops[o->to].dst);
}

/* Its rows; `k` is its number among its worker's. Returns how many they are. */
static uint32_t check_op(const struct subject *s, uint32_t w, uint32_t op, uint32_t k,
			 const struct ccs_dev_op *d)
{
	const struct ccs_op *o = s->v->ops + op;
	const struct ccs_dev_op *end = o->flags & CCS_OP_SHIFTED ? d + 1 : d;
	uint32_t then = o->flags & CCS_OP_AWAITED ? CCS_DEV_PUBLISH : 0;
	uint32_t came = comes(s, op, d), same = CCS_DEV_LEN_SAME | came;
	uint32_t dies = last(s, w, op);

	then |= goes(s, o);
	assert_int_equal(d->form & came, came);
	assert_int_equal(d->form & CCS_DEV_A_LAST, dies);
	same |= dies;
	assert_int_equal(d->nwaits, o->nwaits);
	assert_true(!o->nwaits || d->wait == o->wait);
	if (end == d) {
		assert_int_equal(d->form & ~same, reads(o) | writes(o) | then);
	} else { /* all is read before anything is written */
		assert_int_equal(d->form & ~same, reads(o) | CCS_DEV_OUT | CCS_DEV_TO_STAGE);
		assert_int_equal(end->form & ~same,
				 CCS_DEV_IN | CCS_DEV_FROM_STAGE | writes(o) | then);
		assert_int_equal(end->nwaits, 0);
		assert_int_equal(d->dst, CCS_DEV_NONE); /* nor are cells named that it has not */
		assert_int_equal(end->a, CCS_DEV_NONE);
		assert_int_equal(end->b, CCS_DEV_NONE);
		check_both(s, o, end);
		seen.shifted++;
	}
	assert_int_equal(end->done, k + 1);
	check_both(s, o, d);
	seen.apart += o->flags & CCS_OP_DIRECT && !is_direct(s, o);
	if (o->in != CCS_NONE)
		s->got[o->in]++;
	if (o->out != CCS_NONE)
		s->sent[o->out]++;
	return 1 + (end != d);
}

static void check_ops(const struct subject *s)
{
	uint64_t stage = 0;

	for (uint32_t w = 0; w < s->v->plan->workers.n; w++) {
		const struct ccs_worker *from = s->v->workers + w;
		const struct ccs_dev_worker *to = s->at.workers + s->number[w];
		uint32_t rows = 0;

		for (uint32_t i = 0; i < from->nops; i++)
			rows += check_op(s, (uint32_t)w, from->op + i, i,
					 s->at.ops + to->op + rows);
		assert_int_equal(to->nops, rows);
		assert_int_equal(to->count, from->nops);
		assert_int_equal(to->stage_cells, from->stage);
		assert_true(!from->stage || to->stage == stage);
		stage += from->stage;
		seen.staged += from->stage != 0;
		assert_int_equal(to->shape,
				 from->stage ? CCS_DEV_NONE
					     : ccs_plan_shape(s->v->ops + from->op, from->nops));
	}
	assert_int_equal(s->t.stage_cells, stage);
}

/* Slots hold what is neither written nor read where it lies, of each FIFO's messages with cells. */
static void check_slotted(const struct subject *s)
{
	const struct plan_view *v = s->v;

	for (uint32_t f = 0; f < v->plan->fifos.n; f++) {
		unsigned held = 0;

		for (uint64_t i = 0; i < v->plan->ops.n; i++)
			held += v->ops[i].out == f && v->ops[i].n && !is_read(s, v->ops + i) &&
				!is_direct(s, v->ops + i);
		assert_int_equal(s->t.slotted[f], held != 0);
		seen.slotted += held != 0;
		seen.slotless += held == 0;
	}
}

/* ---- the other tables --------------------------------------------------------------------------- */

static void check_waits(const struct subject *s)
{
	for (uint64_t i = 0; i < s->v->plan->waits.n; i++) {
		assert_int_equal(s->at.waits[i].worker, s->number[s->v->waits[i].worker]);
		assert_int_equal(s->at.waits[i].ops, s->v->waits[i].ops);
		seen.waits++;
	}
}

/* The caller's buffers lie one after the other: `in` and `inout` to send, `out` and `inout` to
 * receive; a cell's block is counted in each that has it. */
static void check_cells(const struct subject *s)
{
	const struct ccs_dev_cell *c = s->at.cells;
	uint32_t send = 0, recv = 0;

	for (uint32_t i = 0; i < s->m->nbuffers; i++) {
		const struct ccs_shape *x = s->v->shapes + i;
		bool in = s->m->buffers[i].direction == CCS_IN;
		bool out = s->m->buffers[i].direction == CCS_OUT;

		for (uint32_t k = 0; k < x->blocks * x->chunks; k++, c++) {
			assert_true(out || c->send == send + k / x->chunks);
			assert_true(in || c->recv == recv + k / x->chunks);
			assert_int_equal(c->pos, k % x->chunks);
			assert_int_equal(c->chunks, x->chunks);
		}
		seen.blocks += i && x->blocks > 1;
		send += out ? 0 : x->blocks;
		recv += in ? 0 : x->blocks;
	}
	for (uint32_t i = 0; i < s->v->plan->scratch; i++, c++) {
		assert_int_equal(c->chunks, 0);
		assert_int_equal(c->recv, i);
	}
}

static void check_fifos(const struct subject *s)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < s->t.nfifos; i++) {
		const struct ccs_fifo *f = s->v->fifos + i;
		const struct ccs_dev_fifo *d = s->at.fifos + i;

		assert_int_equal(d->messages, f->messages);
		assert_int_equal(d->messages, s->sent[i]);
		assert_int_equal(d->messages, s->got[i]);
		assert_int_equal(d->src, f->src);
		assert_int_equal(d->dst, f->dst);
		assert_int_equal(d->src_worker, s->number[f->src_worker]);
		assert_int_equal(d->dst_worker, s->number[f->dst_worker]);
		most = f->max_cells > most ? f->max_cells : most;
	}
	assert_int_equal(s->t.max_cells, most);
}

/* A rank's ranges begin where those before it end, and all are somebody's. */
static void check_posts(const struct subject *s)
{
	uint32_t next = 0;

	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		const struct ccs_dev_post *d = s->at.posts + r;

		assert_int_equal(d->keep, next);
		assert_int_equal(d->reduced, s->p->ranks[r].reduced);
		assert_true(d->keep <= d->reduced && d->reduced <= d->end);
		seen.divided += d->end - d->reduced;
		next = d->end;
	}
	assert_int_equal(next, s->p->nranges);
	for (uint32_t i = 0; i < s->p->nranges; i++) {
		assert_int_equal(s->at.ranges[i].first, s->p->ranges[i].first);
		assert_int_equal(s->at.ranges[i].n, s->p->ranges[i].n);
	}
}

/* ---- subjects -------------------------------------------------------------------------------------- */

static void check_plan(struct subject *s)
{
	size_t n = s->v->plan->workers.n + 1, nfifos = s->v->plan->fifos.n + 1;

	assert_int_equal(cuda_tables_make(&s->t, s->m, s->v, s->p, s->part_of), CCS_OK);
	cuda_tables_bind(&s->t, s->t.bytes, &s->at);
	s->of = calloc(s->t.nworkers + 1, sizeof(*s->of));
	s->number = calloc(n, sizeof(*s->number));
	s->sent = calloc(nfifos, sizeof(*s->sent));
	s->got = calloc(nfifos, sizeof(*s->got));
	assert_true(s->of && s->number && s->sent && s->got);
	check_block(s);
	check_workers(s);
	check_ops(s);
	check_slotted(s);
	check_waits(s);
	check_cells(s);
	check_fifos(s);
	check_posts(s);
	free(s->of);
	free(s->number);
	free(s->sent);
	free(s->got);
	cuda_tables_free(&s->t);
}

/* The ranks in one part; each in one of its own; and by turns in two, the second rank first. */
static void check_module(const struct make *what)
{
	struct made made;
	struct ccs_module *m;
	uint32_t own[16], turns[16];

	assert_int_equal(make_module(what, &made), MADE);
	assert_int_equal(ccs_module_open(&m, made.bytes, made.len), CCS_OK);
	for (uint32_t i = 0; i < 16; i++) {
		own[i] = i;
		turns[i] = i % 2;
	}
	for (size_t i = 0; i < m->nplans; i++) {
		struct subject s = { .m = m, .v = m->plans + i, .nparts = 1 };

		assert_true(s.v->plan->nranks <= 16);
		s.p = prep_get(m, m->plans + i);
		assert_non_null(s.p);
		check_plan(&s);
		s.part_of = own;
		s.nparts = s.v->plan->nranks;
		check_plan(&s);
		s.part_of = turns;
		s.nparts = s.v->plan->nranks > 1 ? 2 : 1;
		check_plan(&s);
	}
	ccs_module_free(m);
	free(made.bytes);
}

/* The last has operations that write what they have yet to read. */
static void test_files(void **state)
{
	static const struct {
		const char *file;
		uint32_t n;
	} v[] = {
		{ "schedules/direct_all_to_all.ccs", 4 },
		{ "schedules/ring_allgather.ccs", 3 },
		{ "schedules/binomial_reduce.ccs", 5 },
		{ "schedules/binomial_scatter.ccs", 4 },
		{ "schedules/halving_doubling_allreduce.ccs", 4 },
		{ "tests/check/good/overlapping.ccs", 2 },
		{ "schedules/one_shot_allreduce.ccs", 3 },
		{ "tests/emu/moved_sums.ccs", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		check_module(&(struct make){
			.file = v[i].file, .least = v[i].n, .most = v[i].n, .slots = 4 });
}

static void test_random(void **state)
{
	struct rng g = { 11 };

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct right_program p;
		char *text = right_text(&g, &p);
		uint32_t n = (uint32_t)p.nranks;

		check_module(&(struct make){ .text = text, .least = n, .most = n, .slots = 2 });
		free(text);
	}
}

/* Buffers of several blocks behind one another, cells that keep what they have, a rank that does
 * nothing. */
static void test_blocks(void **state)
{
	static const char text[] =
		"contract c(in a[C * N], inout b[C * N], out d[C * N], out e[C])\n"
		"  ensures rank == 1: e[0] == a[1]@0\n"
		"  ensures rank < 2: b[i] == b[i]@rank\n"
		"schedule s implements c(in a[2 * N], inout b[2 * N], out d[2 * N], out e[2])\n"
		"{\n"
		"  if rank == 0 { send a[1] to 1 }\n"
		"  if rank == 1 { recv e[0] from 0 }\n"
		"}\n";

	(void)state;
	check_module(&(struct make){ .text = text, .least = 3, .most = 3, .slots = 1 });
}

static void test_all_seen(void **state)
{
	(void)state;
	assert_true(seen.shifted && seen.idle && seen.direct && seen.apart && seen.waits);
	assert_true(seen.divided && seen.blocks && seen.staged);
	assert_true(seen.read && seen.only_apart && seen.both);
	assert_true(seen.last && seen.kept);
	assert_true(seen.slotted && seen.slotless);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_all_seen),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
