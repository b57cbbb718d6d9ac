/*
 * Kernels on the CPU: the generated source, compiled as C++ behind this header.
 * It takes the place of the primitives of runtime/cuda/device/memory.h; emu.cc holds
 * fibers and memory. C declarations are for the test's host side.
 */
#ifndef TESTS_EMU_H
#define TESTS_EMU_H

#include "runtime/cuda/device/args.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "Device" memory: one range, zeroed; plain memory while no kernel runs. */
void *emu_alloc(size_t bytes);
void emu_alloc_reset(void);

struct emu_kernel {
	const char *schedule;
	void (*run)(const struct ccs_dev_call *c);
};
extern const struct emu_kernel emu_kernels[]; /* ends in NULL */
extern const int emu_proto, emu_type, emu_op;

/* One launch. `after`: it starts when that launch has ended; -1: at once. */
struct emu_launch {
	void (*run)(const struct ccs_dev_call *c);
	const struct ccs_dev_call *call;
	unsigned blocks, device;
	int after;
};

/* Runs launches to their end, the abort flag of the first one's call set after
 * `stop_after` rounds (0: never). NULL, or why they cannot end. */
const char *emu_run(const struct emu_launch *l, unsigned n, unsigned threads, uint64_t seed,
		    uint64_t stop_after);
/* A kernel that has the turn already, and gives it back when the call is to stop. */
void emu_holder(const struct ccs_dev_call *c);
/* Passes over so many operations, of all runs. */
enum { EMU_PASSES = 17 };
extern unsigned emu_passes[EMU_PASSES];
uint32_t emu_random(uint32_t below);
void emu_seed(uint64_t seed);

#ifdef __cplusplus
}

struct emu_dim {
	unsigned x;
};
struct ccs_block;
struct ccs_vec;

extern struct emu_dim threadIdx, blockIdx, blockDim;
void *emu_shared(void);
void emu_load(void *to, const void *from, size_t n);
void emu_store(void *to, const void *from, size_t n);
uint64_t emu_atomic_load(const uint64_t *p, bool acquire);
void emu_atomic_store(uint64_t *p, uint64_t v);
void emu_fence(bool system);
uint64_t emu_swap(uint64_t *p, uint64_t from, uint64_t to);
uint64_t emu_add(uint64_t *p, uint64_t by);
uint64_t emu_grid(void);
int emu_barrier(int stop);
void emu_pause(void);
uint64_t emu_clock(void);
void emu_note_pass(uint32_t operations);

#define CCS_EMULATION
#define CCS_FN static inline
#define CCS_CALL static
#define CCS_OPERATOR inline
#define CCS_KERNEL static void
#define CCS_CONSTANT
#define CCS_WARP 2u /* so that blocks of few threads have several */
#ifndef CCS_ROWS
#define CCS_ROWS 4 /* so that groups of rows occur */
#endif
#define CCS_LONG_WAIT 64u
#define ccs_b (*(struct ccs_block *)emu_shared())

CCS_FN uint64_t ccs_ld_acquire(const uint64_t *p)
{
	return emu_atomic_load(p, true);
}
CCS_FN uint64_t ccs_ld_relaxed(const uint64_t *p)
{
	return emu_atomic_load(p, false);
}
CCS_FN void ccs_st_relaxed(uint64_t *p, uint64_t v)
{
	emu_atomic_store(p, v);
}
CCS_FN void ccs_fence_device(void)
{
	emu_fence(false);
}
CCS_FN void ccs_fence_system(void)
{
	emu_fence(true);
}
CCS_FN uint64_t ccs_swap(uint64_t *p, uint64_t from, uint64_t to)
{
	return emu_swap(p, from, to);
}
CCS_FN uint64_t ccs_add(uint64_t *p, uint64_t by)
{
	return emu_add(p, by);
}
CCS_FN uint64_t ccs_grid(void)
{
	return emu_grid();
}
CCS_FN uint32_t ccs_ld_flag(const uint32_t *p)
{
	emu_pause();
	return *p;
}
CCS_FN void ccs_st_flag(uint32_t *p, uint32_t v)
{
	*p = v;
}
/* Entries of an access come or go in any order. */
template <typename V> static inline void ccs_ld_entries(const uint8_t *p, V *v, V *flag)
{
	for (uint32_t i = 0; i < 4; i++) {
		const uint64_t e = emu_atomic_load((const uint64_t *)p + i, false);

		v->w[i] = (uint32_t)e;
		flag->w[i] = (uint32_t)(e >> 32);
	}
}
template <typename V> static inline void ccs_st_entries(uint8_t *p, const V &v, uint32_t flag)
{
	const uint32_t first = emu_random(2);

	for (uint32_t k = 0; k < 4; k++) {
		const uint32_t i = k ^ first;

		emu_atomic_store((uint64_t *)p + i, (uint64_t)flag << 32 | v.w[i]);
	}
}
template <typename V = ccs_vec> static inline V emu_load16(const uint8_t *p)
{
	V v;

	emu_load(&v, p, 16);
	return v;
}
#define ccs_load16(p) emu_load16<>(p)
#define ccs_store16(p, v) emu_store(p, &(v), 16)
#define ccs_load16_by(p, policy) ((void)(policy), ccs_load16(p)) /* there is no cache */
#define ccs_store16_by(p, v, policy) ((void)(policy), ccs_store16(p, v))
#define ccs_policy(first) ((uint64_t)(first))
template <typename T> static inline T ccs_load(const uint8_t *p)
{
	T v;

	emu_load(&v, p, sizeof(v));
	return v;
}
template <typename T> static inline void ccs_store(uint8_t *p, T v)
{
	emu_store(p, &v, sizeof(v));
}
template <typename T> static inline const T &ccs_row_of(const T *table, uint64_t i)
{
	return table[i];
}
CCS_FN int ccs_barrier(int stop)
{
	return emu_barrier(stop);
}
CCS_FN void ccs_meet_warp(void)
{
}
#define CCS_NOTE_PASS(operations) (threadIdx.x ? (void)0 : emu_note_pass(operations))
CCS_FN uint64_t ccs_clock(void)
{
	return emu_clock();
}
CCS_FN bool ccs_take(uint32_t *p)
{
	return !*p && (*p = 1);
}
CCS_FN float ccs_times(float x, float y)
{
	return x * y;
}
CCS_FN double ccs_times(double x, double y)
{
	return x * y;
}

#include "runtime/plan/narrow.h"
#define ccs_from_half half_to_float
#define ccs_to_half half_from_float
#define ccs_to_bfloat bfloat_from_float
/* Two at a time: each for itself, in float32. */
#define CCS_FLOAT8_PAIRS 1
#define EMU_NARROWS(name, elem, narrow) \
	CCS_FN uint32_t name(float lo, float hi) \
	{ \
		return narrow(lo) | (uint32_t)narrow(hi) << 8 * sizeof(elem); \
	}
EMU_NARROWS(ccs_to_halves, uint16_t, half_from_float)
EMU_NARROWS(ccs_to_bfloats, uint16_t, bfloat_from_float)
EMU_NARROWS(ccs_to_e4m3s, uint8_t, e4m3_from_float)
EMU_NARROWS(ccs_to_e5m2s, uint8_t, e5m2_from_float)
CCS_FN float emu_half(uint32_t h, int i)
{
	return half_to_float((uint16_t)(h >> 16 * i));
}
CCS_FN uint32_t ccs_add_halves(uint32_t x, uint32_t y)
{
	return ccs_to_halves(emu_half(x, 0) + emu_half(y, 0), emu_half(x, 1) + emu_half(y, 1));
}
CCS_FN uint32_t ccs_times_halves(uint32_t x, uint32_t y)
{
	return ccs_to_halves(emu_half(x, 0) * emu_half(y, 0), emu_half(x, 1) * emu_half(y, 1));
}
CCS_FN uint32_t ccs_add_bfloats(uint32_t x, uint32_t y)
{
	return ccs_to_bfloats(bfloat_to_float((uint16_t)x) + bfloat_to_float((uint16_t)y),
			      bfloat_to_float(x >> 16) + bfloat_to_float(y >> 16));
}
CCS_FN uint32_t ccs_halves_of_e4m3s(uint32_t e)
{
	return ccs_to_halves(e4m3_to_float((uint8_t)e), e4m3_to_float((uint8_t)(e >> 8)));
}
CCS_FN uint32_t ccs_e4m3s_of_halves(uint32_t h)
{
	return ccs_to_e4m3s(emu_half(h, 0), emu_half(h, 1));
}
CCS_FN uint32_t ccs_e5m2s_of_halves(uint32_t h)
{
	return ccs_to_e5m2s(emu_half(h, 0), emu_half(h, 1));
}

template <typename To, typename From> static inline To emu_bits(From from)
{
	To to;

	static_assert(sizeof(to) == sizeof(from), "");
	__builtin_memcpy(&to, &from, sizeof(to));
	return to;
}
#define __uint_as_float emu_bits<float, uint32_t>
#define __float_as_uint emu_bits<uint32_t, float>
#define __longlong_as_double emu_bits<double, long long>
#define __double_as_longlong emu_bits<long long, double>
#endif

#endif
