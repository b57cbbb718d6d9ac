/*
 * Fibers and weak memory.
 *
 * Every CUDA thread is a fiber; which one goes on is drawn from a seed, at every
 * access to memory that others see.
 *
 * Memory. A plain store waits in its block's list; threads of the block other than
 * the writer see it after a barrier, other blocks once it has drained: when its
 * thread, or one that met it at a barrier, comes to a fence, or at any moment before
 * that, in any order. Stores of counters and LL entries (relaxed) take effect at
 * once, so they overtake data. A plain load may return what the location held at any
 * time since the thread's view: the last time that it is sure to know of. An
 * acquire moves the view to the time of what it read; so does a fence, for relaxed
 * loads before it; a barrier gives the block's threads their latest view. A block
 * always sees its own stores.
 *
 * Deadlock: no counter, entry or store has changed for many rounds in which every
 * fiber looked.
 */
#include "tests/emu/emu.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

emu_dim threadIdx, blockIdx, blockDim;

/* ---- chance ---------------------------------------------------------------------- */

static uint64_t state = 1;

void emu_seed(uint64_t seed)
{
	state = seed * 0x9e3779b97f4a7c15ull | 1;
}

uint32_t emu_random(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * below >> 32);
}

/* ---- fibers ----------------------------------------------------------------------- */

enum { STACK = 96 << 10, SHARED = 16 << 10 };

struct fiber {
	void *sp;
	unsigned char *stack;
	unsigned block, thread;
	bool over, at_barrier;
	uint64_t view, seen;	/* seen: latest time a relaxed load returned */
#if !defined(__x86_64__)
	ucontext_t context;
#endif
};

struct pending {
	unsigned char *at;
	uint8_t n;
	bool met;		/* the block has met at a barrier since */
	unsigned thread;
	unsigned char data[16];
};

struct block {
	std::vector<pending> stores;
	unsigned waiting;
	int stop, answer;
	alignas(16) unsigned char shared[SHARED];
};

static std::vector<fiber> fibers;
static std::vector<block> blocks;
static fiber *self;
static void *home;
#if !defined(__x86_64__)
static ucontext_t home_context;
#endif
static const ccs_dev_call *call;
static void (*kernel)(const ccs_dev_call *);
static uint64_t now, quiet;
static std::vector<unsigned> live;

#if defined(__x86_64__)
extern "C" void emu_switch(void **save, void *to);
asm(".text\n.globl emu_switch\nemu_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
#endif

static void leave(void)
{
#if defined(__x86_64__)
	emu_switch(&self->sp, home);
#else
	swapcontext(&self->context, &home_context);
#endif
}

static void enter(fiber *f)
{
	self = f;
	threadIdx.x = f->thread;
	blockIdx.x = f->block;
#if defined(__x86_64__)
	emu_switch(&home, f->sp);
#else
	swapcontext(&home_context, &f->context);
#endif
}

static void fiber_main(void)
{
	kernel(call);
	self->over = true;
	leave();
	abort();
}

static void fiber_start(fiber *f)
{
	if (!f->stack)
		f->stack = (unsigned char *)malloc(STACK);
#if defined(__x86_64__)
	void **sp = (void **)(((uintptr_t)f->stack + STACK) & ~(uintptr_t)15);

	*--sp = nullptr;
	*--sp = (void *)fiber_main;
	sp -= 6;
	memset(sp, 0, 6 * sizeof(*sp));
	f->sp = sp;
#else
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = STACK;
	makecontext(&f->context, fiber_main, 0);
#endif
}

static void maybe_switch(void)
{
	if (emu_random(6) == 0)
		leave();
}

void emu_pause(void)
{
	leave();
}

void *emu_shared(void)
{
	return blocks[self->block].shared;
}

uint64_t emu_clock(void)
{
	static uint64_t ns;

	return ns += 100;
}

/* ---- memory ------------------------------------------------------------------------- */

struct record {		/* a store that has taken effect */
	uint64_t time;
	unsigned block;
	uint8_t from, n;	/* in its line of 16 bytes */
	unsigned char old[16];
};

static std::unordered_map<uintptr_t, std::vector<record>> history;

enum { ARENA = 24 << 20 };
static unsigned char *arena;
static size_t used;

void *emu_alloc(size_t bytes)
{
	if (!arena)
		arena = (unsigned char *)aligned_alloc(4096, ARENA);
	void *p = arena + used;
	used = (used + bytes + 255) & ~(size_t)255;
	if (used > ARENA) {
		fprintf(stderr, "emu: out of memory\n");
		exit(2);
	}
	memset(p, 0, bytes);
	return p;
}

void emu_alloc_reset(void)
{
	used = 0;
}

static void effect(unsigned char *at, const unsigned char *data, size_t n, unsigned by)
{
	now++;
	quiet = 0;
	while (n) {
		uintptr_t line = (uintptr_t)at & ~(uintptr_t)15, from = (uintptr_t)at - line;
		size_t here = std::min(n, (size_t)(16 - from));
		record r = { now, by, (uint8_t)from, (uint8_t)here, {} };

		memcpy(r.old + from, at, here);
		history[line].push_back(r);
		memcpy(at, data, here);
		at += here, data += here, n -= here;
	}
}

static bool overlaps(const pending &p, const unsigned char *at, size_t n)
{
	return p.at < at + n && at < p.at + p.n;
}

/* Drains one store, after the older ones to the same bytes. */
static void drain(unsigned b, size_t i)
{
	std::vector<pending> &v = blocks[b].stores;
	pending p = v[i];

	for (size_t j = 0; j < i; )
		if (overlaps(v[j], p.at, p.n)) {
			drain(b, j);
			i = std::find_if(v.begin(), v.end(), [&](const pending &q) {
				return q.at == p.at && q.thread == p.thread && q.n == p.n &&
				       !memcmp(q.data, p.data, p.n); }) - v.begin();
			if (i == v.size())
				return;
			j = 0;
		} else {
			j++;
		}
	v.erase(v.begin() + (ptrdiff_t)i);
	effect(p.at, p.data, p.n, b);
}

static void drain_some(void)
{
	unsigned b = emu_random((uint32_t)blocks.size());

	if (!blocks[b].stores.empty())
		drain(b, emu_random((uint32_t)blocks[b].stores.size()));
}

/* A time at which a load may have looked. */
static uint64_t any_time(uint64_t view)
{
	uint32_t how = emu_random(4);

	if (how < 2 || view >= now)
		return how ? now : view;
	return view + emu_random((uint32_t)std::min<uint64_t>(now - view, 1u << 30) + 1);
}

/* What `n` bytes held at time s, for a block that knows its own stores. */
static void look(unsigned char *to, const unsigned char *from, size_t n, uint64_t s)
{
	for (size_t i = 0; i < n; i++) {
		uintptr_t at = (uintptr_t)from + i, line = at & ~(uintptr_t)15;
		uint8_t off = (uint8_t)(at - line), v = from[i];
		auto h = history.find(line);

		if (s < now && h != history.end())
			for (auto r = h->second.rbegin(); r != h->second.rend() && r->time > s; ++r) {
				if (off < r->from || off >= r->from + r->n)
					continue;
				if (r->block == self->block)
					break;
				v = r->old[off];
			}
		to[i] = v;
	}
}

void emu_load(void *to, const void *from, size_t n)
{
	maybe_switch();
	look((unsigned char *)to, (const unsigned char *)from, n, any_time(self->view));
	for (const pending &p : blocks[self->block].stores)
		if ((p.met || p.thread == self->thread) && overlaps(p, (const unsigned char *)from, n))
			for (size_t i = 0; i < n; i++) {
				const unsigned char *at = (const unsigned char *)from + i;

				if (at >= p.at && at < p.at + p.n)
					((unsigned char *)to)[i] = p.data[at - p.at];
			}
}

void emu_store(void *to, const void *from, size_t n)
{
	pending p = { (unsigned char *)to, (uint8_t)n, false, self->thread, {} };

	maybe_switch();
	memcpy(p.data, from, n);
	blocks[self->block].stores.push_back(p);
}

uint64_t emu_atomic_load(const uint64_t *p, bool acquire)
{
	uint64_t v, s;

	maybe_switch();
	s = emu_random(3) ? now : any_time(self->view);
	look((unsigned char *)&v, (const unsigned char *)p, sizeof(v), s);
	self->seen = std::max(self->seen, s);
	if (acquire)
		self->view = std::max(self->view, s);
	return v;
}

void emu_atomic_store(uint64_t *p, uint64_t v)
{
	maybe_switch();
	effect((unsigned char *)p, (const unsigned char *)&v, sizeof(v), self->block);
}

void emu_fence(void)
{
	std::vector<pending> &v = blocks[self->block].stores, rest;

	maybe_switch();
	for (const pending &p : v)
		if (p.met || p.thread == self->thread)
			effect(p.at, p.data, p.n, self->block);
		else
			rest.push_back(p);
	v.swap(rest);
	self->view = std::max(self->view, self->seen);
}

int emu_barrier(int stop)
{
	block &b = blocks[self->block];
	unsigned first = self->block * blockDim.x;
	uint64_t view = 0;

	b.stop |= stop;
	if (++b.waiting < blockDim.x) {
		self->at_barrier = true;
		while (self->at_barrier)
			leave();
		return b.answer;
	}
	quiet = 0;
	for (unsigned i = 0; i < blockDim.x; i++)
		view = std::max(view, fibers[first + i].view);
	for (unsigned i = 0; i < blockDim.x; i++) {
		fibers[first + i].view = view;
		fibers[first + i].at_barrier = false;
	}
	for (pending &p : b.stores)
		p.met = true;
	b.answer = b.stop;
	b.stop = 0;
	b.waiting = 0;
	return b.answer;
}

/* ---- a launch ------------------------------------------------------------------------- */

const char *emu_launch(void (*run)(const struct ccs_dev_call *), const struct ccs_dev_call *c,
		       unsigned nblocks, unsigned threads, uint64_t seed, uint64_t stop_after)
{
	const char *why = nullptr;
	uint64_t rounds = 0;

	emu_seed(seed);
	kernel = run;
	call = c;
	blockDim.x = threads;
	now = quiet = 0;
	history.clear();
	blocks.resize(nblocks);
	if (fibers.size() < nblocks * threads)
		fibers.resize(nblocks * threads);
	live.clear();
	for (unsigned i = 0; i < nblocks * threads; i++) {
		fiber *f = &fibers[i];

		f->block = i / threads;
		f->thread = i % threads;
		f->over = f->at_barrier = false;
		f->view = f->seen = 0;
		fiber_start(f);
		live.push_back(i);
	}
	for (block &b : blocks) {
		b.stores.clear();
		b.waiting = 0;
		b.stop = b.answer = 0;
	}
	while (!live.empty()) {
		unsigned i = emu_random((uint32_t)live.size());
		fiber *f = &fibers[live[i]];

		if (++rounds == stop_after)
			*c->abort = 1;
		if (!f->at_barrier)
			enter(f);
		if (f->over) {
			live[i] = live.back();
			live.pop_back();
			quiet = 0;
		}
		if (emu_random(16) == 0 || quiet > 64 * fibers.size())
			drain_some();
		if (++quiet > 400 * fibers.size() + 10000) {
			why = "no thread can go on";
			break;
		}
	}
	for (unsigned b = 0; b < nblocks; b++)
		while (!blocks[b].stores.empty())
			drain(b, 0);
	return why;
}
