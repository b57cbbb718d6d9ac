/*
 * Executing PTX. See ptx.h. Registers are 64 bits, of which an instruction reads and writes those
 * of its type. A thread runs until it has looked at what another one may write, waits at a
 * barrier, or has had its turn.
 */
#include "tests/fake_cuda/ptx.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURN 256 /* instructions of a thread, before the next one's */
#define DEPTH 16 /* calls */
#define WARP 32u

struct frame {
	uint32_t function, pc;
	uint64_t *registers;
	unsigned char *params;
};

enum state { READY, WAITING, ENDED };

struct thread {
	enum state state;
	bool at_warp; /* WAITING: at a warp's barrier, not at that of all */
	uint32_t block, number, depth;
	struct frame frames[DEPTH];
	struct ptx_counts counts;
	const struct ptx_range *last; /* that it has used */
	uint64_t way; /* instructions on the longest way to here: at barriers, of the last thread */
};

struct block {
	unsigned char *shared;
	struct thread *threads;
	bool any, all; /* predicates of the threads that wait at the barrier of all */
};

struct machine {
	const struct ptx_launch *l;
	const struct ptx *p;
	struct block *blocks;
	uint64_t ended; /* threads */
	uint64_t round; /* of turns */
};

__attribute__((format(printf, 3, 4), noreturn)) static void
fail(const struct machine *m, const struct ptx_insn *i, const char *format, ...)
{
	char text[300];
	int n = snprintf(text, sizeof(text), "PTX, line %u: ", i ? i->line : 0);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, ap);
	va_end(ap);
	m->l->fail(text);
	abort();
}

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- operands ---------------------------------------------------------------------------- */

static uint64_t special(const struct machine *m, const struct thread *t, enum ptx_special what)
{
	switch (what) {
	case TID: return t->number;
	case NTID: return m->l->threads;
	case CTAID: return t->block;
	case NCTAID: return m->l->blocks;
	case LANE: return t->number % WARP;
	case GRID: return m->l->grid;
	case CLOCK: return nanoseconds() + m->l->ahead;
	}
	return 0;
}

/* The launch's parameters are one copy, which all threads share; those of calls are a thread's. */
static uint64_t param(const struct machine *m, const struct thread *t, uint32_t at)
{
	bool common = !t->depth && at < m->l->bytes;

	return (uint64_t)(uintptr_t)(common ? m->l->params : t->frames[t->depth].params) + at;
}

static uint64_t value(const struct machine *m, const struct thread *t, const struct ptx_operand *o)
{
	const struct frame *f = t->frames + t->depth;

	switch (o->kind) {
	case AT_REGISTER: return f->registers[o->at] + (uint64_t)o->value;
	case AT_NUMBER: return (uint64_t)o->value;
	case AT_SHARED:
		return (uint64_t)(uintptr_t)m->blocks[t->block].shared + o->at + (uint64_t)o->value;
	case AT_PARAM: return param(m, t, o->at) + (uint64_t)o->value;
	case AT_SPECIAL: return special(m, t, (enum ptx_special)o->at);
	case AT_NONE: break;
	}
	return 0;
}

static void set(struct thread *t, const struct ptx_operand *to, uint64_t v)
{
	t->frames[t->depth].registers[to->at] = v;
}

/* ---- memory ------------------------------------------------------------------------------ */

static bool within(uint64_t at, size_t n, uint64_t first, uint64_t bytes)
{
	return at >= first && at - first <= bytes && n <= bytes - (at - first);
}

static void *memory(const struct machine *m, struct thread *t, const struct ptx_insn *i,
		    uint64_t at, size_t n)
{
	const struct ptx_range *r = t->last;

	if (at % i->type.bytes)
		fail(m, i, "%u bytes at %#" PRIx64 " are not aligned", i->type.bytes, at);
	if (r && within(at, n, r->at, r->bytes))
		return (void *)(uintptr_t)at;
	if (within(at, n, (uintptr_t)m->blocks[t->block].shared, m->p->shared) ||
	    within(at, n, (uintptr_t)m->l->params, m->l->bytes))
		return (void *)(uintptr_t)at;
	for (uint32_t d = 0; d <= t->depth; d++) {
		const struct frame *f = t->frames + d;

		if (within(at, n, (uintptr_t)f->params, m->p->function[f->function].frame))
			return (void *)(uintptr_t)at;
	}
	for (size_t k = 0; k < m->l->nranges; k++)
		if (within(at, n, m->l->ranges[k].at, m->l->ranges[k].bytes)) {
			t->last = m->l->ranges + k;
			return (void *)(uintptr_t)at;
		}
	fail(m, i, "%zu bytes at %#" PRIx64 " are nobody's (thread %u of block %u)", n, at,
	     t->number, t->block);
}

/* Other devices and processes use it, too: one access. */
static uint64_t read_one(const void *at, unsigned bytes)
{
	switch (bytes) {
	case 1: return *(const volatile uint8_t *)at;
	case 2: return __atomic_load_n((const uint16_t *)at, __ATOMIC_RELAXED);
	case 4: return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
	default: return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
	}
}

static void write_one(void *at, unsigned bytes, uint64_t v)
{
	switch (bytes) {
	case 1: *(volatile uint8_t *)at = (uint8_t)v; break;
	case 2: __atomic_store_n((uint16_t *)at, (uint16_t)v, __ATOMIC_RELAXED); break;
	case 4: __atomic_store_n((uint32_t *)at, (uint32_t)v, __ATOMIC_RELEASE); break;
	default: __atomic_store_n((uint64_t *)at, v, __ATOMIC_RELEASE); break;
	}
}

/* Whether an access is to a user's buffer or a slot: by fours of 4, and of LL's entries by twos of
 * 8. */
static bool is_data(const struct machine *m, const struct thread *t, const struct ptx_insn *i,
		    uint64_t at)
{
	return i->n * i->type.bytes == 16 && t->last &&
	       within(at, 16, t->last->at, t->last->bytes) &&
	       !within(at, 16, m->l->tables.at, m->l->tables.bytes);
}

/* An access was that of a unit of data. */
static void note_data(const struct machine *m, struct thread *t, const struct ptx_insn *i,
		      uint64_t at)
{
	if (!is_data(m, t, i, at))
		return;
	if (!t->counts.before)
		t->counts.before = t->way;
	if (i->n != 4)
		return;
	t->counts.data += 16;
	t->counts.first += i->hinted && value(m, t, &i->b) ? 16 : 0;
}

static void load(const struct machine *m, struct thread *t, const struct ptx_insn *i)
{
	uint64_t at = value(m, t, &i->a);
	const unsigned char *p = memory(m, t, i, at, (size_t)i->n * i->type.bytes);

	for (unsigned k = 0; k < i->n; k++)
		set(t, i->to + k,
		    ptx_number(read_one(p + k * i->type.bytes, i->type.bytes), i->type));
	note_data(m, t, i, at);
	t->counts.loads += i->global;
	t->counts.polls += i->poll;
}

static void keep(const struct machine *m, struct thread *t, const struct ptx_insn *i)
{
	uint64_t at = value(m, t, &i->a);
	unsigned char *p = memory(m, t, i, at, (size_t)i->n * i->type.bytes);

	for (unsigned k = 0; k < i->n; k++)
		write_one(p + k * i->type.bytes, i->type.bytes, value(m, t, i->to + k));
	note_data(m, t, i, at);
	t->counts.stores += i->global;
}

/* The value that an atomic operation stores over `had`. */
static uint64_t atom_result(const struct ptx_insn *i, uint64_t had, uint64_t b, uint64_t c)
{
	bool less = i->type.kind == 's' ? (int64_t)b < (int64_t)had : b < had;

	switch ((enum ptx_atom)i->what) {
	case A_ADD: return had + b;
	case A_CAS: return had == b ? c : had;
	case A_EXCH: return b;
	case A_MAX: return less ? had : b;
	case A_MIN: return less ? b : had;
	case A_OR: return had | b;
	case A_AND: return had & b;
	}
	return had;
}

static void atom(const struct machine *m, struct thread *t, const struct ptx_insn *i)
{
	uint64_t b = ptx_number(value(m, t, &i->b), i->type),
		 c = ptx_number(value(m, t, &i->c), i->type);
	void *p = memory(m, t, i, value(m, t, &i->a), i->type.bytes);
	bool done = false;
	uint64_t had = 0;

	if (i->type.bytes < 4)
		fail(m, i, "an atomic operation of %u bytes", i->type.bytes);
	while (!done) {
		had = ptx_number(read_one(p, i->type.bytes), i->type);
		uint64_t will = atom_result(i, had, b, c);

		if (i->type.bytes == 4) {
			uint32_t was = (uint32_t)had;

			done = __atomic_compare_exchange_n((uint32_t *)p, &was, (uint32_t)will,
							   false, __ATOMIC_ACQ_REL,
							   __ATOMIC_ACQUIRE);
		} else {
			uint64_t was = had;

			done = __atomic_compare_exchange_n((uint64_t *)p, &was, will, false,
							   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		}
	}
	set(t, i->to, had);
	t->counts.atomics++;
}

/* ---- instructions ------------------------------------------------------------------------- */

static void arithmetic(const struct machine *m, struct thread *t, const struct ptx_insn *i)
{
	const char *why = NULL;
	uint64_t v = ptx_compute(i, value(m, t, &i->a), value(m, t, &i->b), value(m, t, &i->c),
				 value(m, t, &i->d), &why);

	if (why)
		fail(m, i, "%s", why);
	set(t, i->to, v);
}

/* mov: of one, into parts, or of parts. */
static void move(const struct machine *m, struct thread *t, const struct ptx_insn *i)
{
	const struct ptx_operand *const parts[] = { &i->a, &i->b, &i->c, &i->d };
	unsigned part = 8u * i->type.bytes / i->n;
	struct ptx_type each = { 'b', (uint8_t)(part / 8), 1 };
	uint64_t v = 0;

	if (i->n == 1) {
		set(t, i->to, ptx_narrow(value(m, t, &i->a), i->type));
		return;
	}
	if (!i->what) {
		for (unsigned k = 0; k < i->n; k++)
			set(t, i->to + k, ptx_narrow(value(m, t, &i->a) >> k * part, each));
		return;
	}
	for (unsigned k = 0; k < i->n; k++)
		v |= ptx_narrow(value(m, t, parts[k]), each) << k * part;
	set(t, i->to, v);
}

/* ---- control ----------------------------------------------------------------------------- */

static void enter(const struct machine *m, struct thread *t, uint32_t function)
{
	const struct ptx_function *of = m->p->function + function;
	struct frame *f = t->frames + t->depth;

	f->function = function;
	f->pc = of->first;
	f->registers = calloc((size_t)of->registers + 1, sizeof(*f->registers));
	f->params = calloc(1, (size_t)of->frame + 8);
	if (!f->registers || !f->params)
		fail(m, NULL, "out of memory");
}

static void leave(struct thread *t)
{
	free(t->frames[t->depth].registers);
	free(t->frames[t->depth].params);
}

static void call(const struct machine *m, struct thread *t, const struct ptx_insn *i)
{
	const struct ptx_function *of = m->p->function + i->target;
	const struct frame *from = t->frames + t->depth;

	if (t->depth + 1 == DEPTH)
		fail(m, i, "calls are too deep");
	t->depth++;
	enter(m, t, i->target);
	for (uint32_t k = i->result; k < of->nparams; k++)
		memcpy(t->frames[t->depth].params + of->params[k],
		       from->params + m->p->args[i->args + k], of->bytes[k]);
}

/* The result goes to where the call has it. False: the thread has ended. */
static bool come_back(const struct machine *m, struct thread *t)
{
	const struct ptx_function *of = m->p->function + t->frames[t->depth].function;
	const struct ptx_insn *i;

	if (!t->depth) {
		leave(t);
		return false;
	}
	i = m->p->insn + t->frames[t->depth - 1].pc - 1; /* the call */
	if (i->result)
		memcpy(t->frames[t->depth - 1].params + m->p->args[i->args],
		       t->frames[t->depth].params + of->params[0], of->bytes[0]);
	leave(t);
	t->depth--;
	return true;
}

/* Threads [first, end) go on, with the barrier's result, if all that live have come to it. */
static void release(struct machine *m, struct block *b, uint32_t first, uint32_t end, bool warp)
{
	uint64_t way = 0;

	for (uint32_t k = first; k < end; k++) {
		const struct thread *t = b->threads + k;

		if (t->state == READY || (t->state == WAITING && t->at_warp != warp))
			return;
		if (t->state == WAITING && t->way > way)
			way = t->way;
	}
	for (uint32_t k = first; k < end; k++) {
		struct thread *t = b->threads + k;
		const struct ptx_insn *i = m->p->insn + t->frames[t->depth].pc - 1;

		if (t->state != WAITING)
			continue;
		if (i->what == G_OR || i->what == G_AND)
			set(t, i->to, i->what == G_OR ? b->any : b->all);
		t->state = READY;
		t->way = way;
	}
	if (warp)
		return;
	b->any = false;
	b->all = true;
}

static void wait_there(struct machine *m, struct thread *t, const struct ptx_insn *i)
{
	struct block *b = m->blocks + t->block;
	uint32_t first = t->number / WARP * WARP, end = first + WARP;

	t->state = WAITING;
	t->at_warp = i->what == G_WARP;
	t->counts.barriers++;
	if (i->what == G_OR || i->what == G_AND) {
		bool given = value(m, t, &i->a) != 0;

		b->any |= given;
		b->all &= given;
	}
	if (!t->at_warp)
		release(m, b, 0, m->l->threads, false);
	else
		release(m, b, first, end < m->l->threads ? end : m->l->threads, true);
}

static void end_thread(struct machine *m, struct thread *t)
{
	t->state = ENDED;
	m->ended++;
	release(m, m->blocks + t->block, 0, m->l->threads, false);
}

/* One instruction; true: it is the next one's turn. */
static bool step(struct machine *m, struct thread *t)
{
	struct frame *f = t->frames + t->depth;
	const struct ptx_insn *i = m->p->insn + f->pc++;

	t->counts.instructions++;
	t->way++;
	if (i->guard >= 0 && (f->registers[i->guard] != 0) == i->unless)
		return false;
	switch ((int)i->op) {
	case P_LD: load(m, t, i); return i->poll;
	case P_ST: keep(m, t, i); return false;
	case P_ATOM: atom(m, t, i); return true;
	case P_BRA: f->pc = i->target; return false;
	case P_CALL: call(m, t, i); return false;
	case P_MOV: move(m, t, i); return false;
	case P_HINT: set(t, i->to, i->what); return false;
	case P_FENCE: t->counts.fences++; return false;
	case P_SLEEP: return true;
	case P_BAR: wait_there(m, t, i); return true;
	case P_RET:
		if (come_back(m, t))
			return false;
		end_thread(m, t);
		return true;
	default: arithmetic(m, t, i); return false;
	}
}

/* ---- a launch ---------------------------------------------------------------------------- */

static void begin(struct machine *m)
{
	m->blocks = calloc(m->l->blocks, sizeof(*m->blocks));
	for (uint32_t k = 0; m->blocks && k < m->l->blocks; k++) {
		struct block *b = m->blocks + k;

		b->all = true;
		b->shared = aligned_alloc(128, (m->p->shared + 127) / 128 * 128 + 128);
		b->threads = calloc(m->l->threads, sizeof(*b->threads));
		if (!b->shared || !b->threads)
			fail(m, NULL, "out of memory");
		memset(b->shared, 0xa5, m->p->shared); /* not written yet */
		for (uint32_t n = 0; n < m->l->threads; n++) {
			b->threads[n].block = k;
			b->threads[n].number = n;
			enter(m, b->threads + n, m->p->entry);
		}
	}
	if (!m->blocks)
		fail(m, NULL, "out of memory");
}

static void turns(struct machine *m)
{
	m->round++;
	for (uint32_t k = 0; k < m->l->blocks; k++)
		for (uint32_t n = 0; n < m->l->threads; n++) {
			struct thread *t = m->blocks[k].threads + n;

			for (int left = TURN; left && t->state == READY; left--)
				if (step(m, t))
					break;
		}
}

static void count(const struct machine *m, struct ptx_counts *most, struct ptx_counts *least)
{
	uint64_t data = 0, first = 0, before = 0;

	*most = *least = m->blocks->threads->counts;
	for (uint32_t k = 0; k < m->l->blocks; k++) {
		uint64_t soonest = 0;

		for (uint32_t n = 0; n < m->l->threads; n++) {
			const struct ptx_counts *c = &m->blocks[k].threads[n].counts;

			data += c->data;
			first += c->first;
			if (c->before && (!soonest || c->before < soonest))
				soonest = c->before;
			if (c->instructions > most->instructions)
				*most = *c;
			if (c->instructions < least->instructions)
				*least = *c;
		}
		before = soonest > before ? soonest : before;
	}
	most->data = least->data = data;
	most->first = least->first = first;
	most->before = least->before = before;
}

void ptx_run(const struct ptx_launch *l, struct ptx_counts *most, struct ptx_counts *least)
{
	struct machine m = { .l = l, .p = l->code };
	uint64_t all = (uint64_t)l->blocks * l->threads, ended = 0, since = nanoseconds();

	if (l->bytes > m.p->function[m.p->entry].frame)
		fail(&m, NULL, "the entry takes %u bytes of parameters, not %zu",
		     m.p->function[m.p->entry].frame, l->bytes);
	begin(&m);
	while (m.ended < all) {
		turns(&m);
		if (m.ended > ended) {
			ended = m.ended;
			since = nanoseconds();
		} else if ((double)(nanoseconds() - since) > l->patience * 1e9) {
			fail(&m, NULL, "no thread has ended for %.0f s: %" PRIu64 " of %" PRIu64,
			     l->patience, m.ended, all);
		}
	}
	count(&m, most, least);
	for (uint32_t k = 0; k < l->blocks; k++) {
		free(m.blocks[k].shared);
		free(m.blocks[k].threads);
	}
	free(m.blocks);
}
