/*
 * Fibers and weak memory.
 *
 * Every CUDA thread is a fiber; which one goes on is drawn from a seed, at every
 * access to memory that others see. Blocks of several launches, on several devices,
 * run side by side; a launch may begin when another one has ended.
 *
 * Memory. A plain store waits in its block's list; threads of the block other than
 * the writer see it after a barrier, other blocks once it has drained: when its
 * thread, or one that met it at a barrier, comes to a fence, or at any moment before
 * that, in any order. Stores of counters and LL entries (relaxed) take effect at
 * once, so they overtake data. A fence for the device drains to the device's list,
 * which its own blocks see, and others only once it has drained in turn: at any moment,
 * when one of its blocks comes to a fence for the system, or at a launch's end. Where
 * there is one device, there is no such list. A plain load may return what the location held at any
 * time since the thread's view: the last time that it is sure to know of. An
 * acquire moves the view to the time of what it read; so does a fence, for relaxed
 * loads before it; a barrier gives the block's threads their latest view. A block
 * always sees its own stores. Loads look at the past only; but a load is open until its
 * thread, or one that met it at a barrier, comes to a fence, and if another block stores to
 * the same bytes before that, the run has failed: the load might have returned it.
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

struct open_load {
	const unsigned char *at;
	uint8_t n;
	bool met;
	unsigned thread;
};

/* The same, by line of 16 bytes: a load or a store lies in one. */
struct open_line {
	const unsigned char *at;
	size_t n;
	unsigned block;
};
static std::unordered_map<uintptr_t, std::vector<open_line>> open_lines;

struct block {
	unsigned launch, index, threads0;	/* index: in its launch; its first fiber */
	std::vector<pending> stores;
	std::vector<open_load> loads;
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
static const emu_launch *launches;
static std::vector<std::vector<pending>> devices;	/* drained from blocks, not yet further */
static uint64_t now, quiet;
static bool late;	/* a load was overtaken */
static bool askew;	/* an access was not aligned, at which a GPU faults */
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
	blockIdx.x = blocks[f->block].index;
#if defined(__x86_64__)
	emu_switch(&home, f->sp);
#else
	swapcontext(&home_context, &f->context);
#endif
}

static void fiber_main(void)
{
	const emu_launch *l = launches + blocks[self->block].launch;

	l->run(l->call);
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

/* Of a node of a graph: other graphs have nodes of that number. */
uint64_t emu_grid(void)
{
	return 0;
}

uint64_t emu_clock(void)
{
	static uint64_t ns;

	return ns += 100;
}

unsigned emu_passes[EMU_PASSES];

void emu_note_pass(uint32_t operations)
{
	emu_passes[operations]++;
}

/* ---- memory ------------------------------------------------------------------------- */

struct record {		/* a store that has taken effect */
	uint64_t time;
	unsigned block;		/* or DEVICE | device */
	uint8_t from, n;	/* in its line of 16 bytes */
	unsigned char old[16];
};

static std::unordered_map<uintptr_t, std::vector<record>> history;

enum { ARENA = 64 << 20 };
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

static unsigned device_of(unsigned b)
{
	return launches[blocks[b].launch].device;
}

/* Who drains a device's list: its blocks have seen what is in there. */
static const unsigned DEVICE = 1u << 31;

/* What the device's list has for the bytes of p is older. */
static void drain_older(const pending &p, unsigned d)
{
	std::vector<pending> &v = devices[d];

	for (size_t i = 0; i < v.size(); )
		if (overlaps(v[i], p.at, p.n)) {
			effect(v[i].at, v[i].data, v[i].n, DEVICE | d);
			v.erase(v.begin() + (ptrdiff_t)i);
		} else {
			i++;
		}
}

/* Drains one store of a list, after the older ones to the same bytes. */
static void drain(std::vector<pending> &v, size_t i, unsigned by)
{
	pending p = v[i];

	for (size_t j = 0; j < i; )
		if (overlaps(v[j], p.at, p.n)) {
			drain(v, j, by);
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
	if (!(by & DEVICE))
		drain_older(p, device_of(by));
	effect(p.at, p.data, p.n, by);
}

static void drain_device(unsigned d)
{
	for (const pending &p : devices[d])
		effect(p.at, p.data, p.n, DEVICE | d);
	devices[d].clear();
}

static void drain_some(void)
{
	unsigned n = (unsigned)blocks.size(), b = emu_random(n + (uint32_t)devices.size());
	std::vector<pending> &v = b < n ? blocks[b].stores : devices[b - n];

	if (!v.empty())
		drain(v, emu_random((uint32_t)v.size()), b < n ? b : DEVICE | (b - n));
}

/* A time at which a load may have looked. */
static uint64_t any_time(uint64_t view)
{
	uint32_t how = emu_random(4);

	if (how < 2 || view >= now)
		return how ? now : view;
	return view + emu_random((uint32_t)std::min<uint64_t>(now - view, 1u << 30) + 1);
}

/* Puts back what `n` bytes of a line, from `off` on, held at time s; `device` knows its own stores,
 * and so does the block: what these have hidden is the latest that can be seen. */
static void look_back(unsigned char *to, uintptr_t line, unsigned off, size_t n, uint64_t s,
		      unsigned device)
{
	unsigned open = ((1u << n) - 1) << off; /* bytes that nothing hides yet */
	auto h = history.find(line);

	if (h == history.end())
		return;
	for (auto r = h->second.rbegin(); r != h->second.rend() && r->time > s && open; ++r) {
		unsigned part = ((1u << r->n) - 1) << r->from & open;

		if (r->block == self->block || r->block == device)
			open &= ~part;
		else
			for (; part; part &= part - 1)
				to[(unsigned)__builtin_ctz(part) - off] = r->old[__builtin_ctz(part)];
	}
}

/* What `n` bytes held at time s, for a block that knows its own stores. */
static void look(unsigned char *to, const unsigned char *from, size_t n, uint64_t s)
{
	const unsigned device = DEVICE | device_of(self->block);

	memcpy(to, from, n);
	while (s < now && n) {
		uintptr_t line = (uintptr_t)from & ~(uintptr_t)15, off = (uintptr_t)from - line;
		size_t here = std::min(n, (size_t)(16 - off));

		look_back(to, line, (unsigned)off, here, s, device);
		to += here, from += here, n -= here;
	}
}

/* What of p lies in the n bytes at `from`. */
static void overlay(unsigned char *to, const unsigned char *from, size_t n, const pending &p)
{
	for (size_t i = 0; i < n && overlaps(p, from, n); i++)
		if (from + i >= p.at && from + i < p.at + p.n)
			to[i] = p.data[from + i - p.at];
}

void emu_load(void *to, const void *from, size_t n)
{
	unsigned char *t = (unsigned char *)to;
	const unsigned char *f = (const unsigned char *)from;

	askew |= (uintptr_t)from % n != 0;
	maybe_switch();
	look(t, f, n, any_time(self->view));
	for (const pending &p : devices[device_of(self->block)])
		overlay(t, f, n, p);
	for (const pending &p : blocks[self->block].stores)
		if (p.met || p.thread == self->thread)
			overlay(t, f, n, p);
	blocks[self->block].loads.push_back({ f, (uint8_t)n, false, self->thread });
	open_lines[(uintptr_t)f / 16].push_back({ f, n, self->block });
}

static void close_load(const open_load &l, unsigned block)
{
	std::vector<open_line> &v = open_lines[(uintptr_t)l.at / 16];

	for (size_t i = 0; i < v.size(); i++)
		if (v[i].at == l.at && v[i].n == l.n && v[i].block == block) {
			v[i] = v.back();
			v.pop_back();
			break;
		}
}

/* A fence of this thread: what it has loaded, and those it has met since. */
static void close_loads(void)
{
	std::vector<open_load> &v = blocks[self->block].loads;
	size_t left = 0;

	for (const open_load &l : v)
		if (!l.met && l.thread != self->thread)
			v[left++] = l;
		else
			close_load(l, self->block);
	v.resize(left);
}

/* Another block may still load what this one stores. */
static void look_for_open(const pending &p, unsigned block)
{
	auto o = open_lines.find((uintptr_t)p.at / 16);

	if (o != open_lines.end())
		for (const open_line &l : o->second)
			late |= l.block != block && overlaps(p, l.at, l.n);
}

void emu_store(void *to, const void *from, size_t n)
{
	pending p = { (unsigned char *)to, (uint8_t)n, false, self->thread, false, {} };

	askew |= (uintptr_t)to % n != 0;
	maybe_switch();
	memcpy(p.data, from, n);
	blocks[self->block].stores.push_back(p);
	look_for_open(p, self->block);
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

/* Nothing comes between reading and writing: as one. A block may be late to it: then it finds that
 * others have had what it was to wait for, and has to know what they left without a wait. */
uint64_t emu_swap(uint64_t *p, uint64_t from, uint64_t to)
{
	uint64_t v;

	for (uint32_t late = emu_random(4) ? 0 : emu_random(4000); late && quiet < 1000; late--)
		leave();
	maybe_switch();
	memcpy(&v, p, sizeof(v));
	if (v == from)
		effect((unsigned char *)p, (const unsigned char *)&to, sizeof(to), self->block);
	self->seen = now;
	return v;
}

uint64_t emu_add(uint64_t *p, uint64_t by)
{
	uint64_t v;

	maybe_switch();
	memcpy(&v, p, sizeof(v));
	by += v;
	effect((unsigned char *)p, (const unsigned char *)&by, sizeof(by), self->block);
	self->seen = now;
	return v;
}

/* A store's writer sees it in any case. */
void emu_fence(bool system)
{
	const unsigned device = device_of(self->block);
	std::vector<pending> &v = blocks[self->block].stores, rest;

	maybe_switch();
	close_loads();
	system |= devices.size() == 1;
	if (system)
		drain_device(device);
	for (const pending &p : v)
		if (!p.met && p.thread != self->thread)
			rest.push_back(p);
		else if (system)
			effect(p.at, p.data, p.n, self->block);
		else
			devices[device].push_back(p);
	v.swap(rest);
	self->view = std::max(self->view, self->seen);
}

int emu_barrier(int stop)
{
	block &b = blocks[self->block];
	unsigned first = b.threads0;
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
	for (open_load &l : b.loads)
		l.met = true;
	b.answer = b.stop;
	b.stop = 0;
	b.waiting = 0;
	return b.answer;
}

/* ---- launches --------------------------------------------------------------------------- */

static void start(unsigned l, std::vector<unsigned> &left)
{
	unsigned b0 = 0;

	for (unsigned i = 0; i < l; i++)
		b0 += launches[i].blocks;
	left[l] = launches[l].blocks * blockDim.x;
	for (unsigned b = b0; b < b0 + launches[l].blocks; b++) {
		blocks[b].launch = l;
		blocks[b].index = b - b0;
		blocks[b].threads0 = b * blockDim.x;
		for (unsigned t = 0; t < blockDim.x; t++) {
			fiber *f = &fibers[b * blockDim.x + t];

			f->block = b;
			f->thread = t;
			f->over = f->at_barrier = false;
			f->view = f->seen = now;
			fiber_start(f);
			live.push_back(b * blockDim.x + t);
		}
	}
}

/* A launch has ended: all see what it stored, and those after it start. */
static void end(unsigned l, unsigned n, std::vector<unsigned> &left)
{
	drain_device(launches[l].device);
	for (unsigned b = 0; b < blocks.size(); b++)
		while (blocks[b].launch == l && !blocks[b].stores.empty())
			drain(blocks[b].stores, 0, b);
	for (unsigned b = 0; b < blocks.size(); b++)
		for (const open_load &o : blocks[b].loads)
			if (blocks[b].launch == l)
				close_load(o, b);
	for (unsigned i = 0; i < n; i++)
		if (launches[i].after == (int)l)
			start(i, left);
}

static void prepare(const emu_launch *l, unsigned n, unsigned threads, uint64_t seed)
{
	unsigned nblocks = 0, ndevices = 0;

	launches = l;
	blockDim.x = threads;
	now = quiet = 0;
	late = askew = false;
	open_lines.clear();
	history.clear();
	live.clear();
	for (unsigned i = 0; i < n; i++) {
		nblocks += l[i].blocks;
		ndevices = std::max(ndevices, l[i].device + 1);
	}
	devices.clear();
	devices.resize(ndevices);
	blocks.resize(nblocks);
	if (fibers.size() < nblocks * threads)
		fibers.resize(nblocks * threads);
	for (block &b : blocks) {
		b.launch = n;
		b.stores.clear();
		b.loads.clear();
		b.waiting = 0;
		b.stop = b.answer = 0;
	}
}

const char *emu_run(const struct emu_launch *l, unsigned n, unsigned threads, uint64_t seed,
		    uint64_t stop_after)
{
	std::vector<unsigned> left(n, 0);
	uint64_t rounds = 0;

	emu_seed(seed);
	prepare(l, n, threads, seed);
	for (unsigned i = 0; i < n; i++)
		if (l[i].after < 0)
			start(i, left);
	while (!live.empty()) {
		unsigned i = emu_random((uint32_t)live.size());
		fiber *f = &fibers[live[i]];

		if (++rounds == stop_after)
			*l->call->abort = 1;
		if (!f->at_barrier)
			enter(f);
		if (f->over) {
			unsigned of = blocks[f->block].launch;

			live[i] = live.back();
			live.pop_back();
			quiet = 0;
			if (!--left[of])
				end(of, n, left);
		}
		if (emu_random(16) == 0 || quiet > 64 * live.size())
			drain_some();
		if (++quiet > 1600 * live.size() + 20000)
			return "no thread can go on";
	}
	if (askew)
		return "an access that is not aligned";
	/* a call that is to stop takes garbage */
	return late && !*l->call->abort ? "a store has overtaken a load" : nullptr;
}

void emu_holder(const struct ccs_dev_call *c)
{
	while (threadIdx.x == 0 && !*c->abort)
		emu_pause();
	if (threadIdx.x == 0)
		emu_atomic_store(c->turn, 0);
}
