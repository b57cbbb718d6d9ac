/*
 * The parts of generated kernels, in one text that the Makefile joins: args.h, rows.h and narrow.h
 * of runtime/plan, memory.h, element.h, block.h, times.h, wait.h, ll.h, move.h and step.h.
 * No includes: NVRTC's built-ins are enough. Specialised by CCS_TYPE, CCS_OP and CCS_PROTO
 * (args.h).
 *
 * A block runs one worker of one replica. A step: thread 0 waits for the message,
 * another for the free slot, another for other workers (ld.acquire); a barrier; all
 * threads move 16-byte units, several in flight; a barrier; thread 0 stores the counters after one
 * fence. A barrier orders threads of the block, the fence is cumulative, so all writes of the block
 * are visible to a thread that acquires the counter, and all reads of the block happened before.
 *
 * This file: the primitives. They are the seam: the emulation of tests/emu defines CCS_EMULATION
 * and these with the same meaning. Lines marked ORDER in the other files carry the memory order;
 * tests/emu shows that each is needed. (One fence more it cannot show, before a turn is handed on:
 * its fences reach all other blocks at the same time.)
 *
 * Scopes. Loads and stores of counters and LL entries are for the whole system, which
 * costs no more than for the device. Fences do cost more: there are two, and
 * ccs_fence (block.h) takes the wide one where FIFOs reach other devices or the host.
 */

struct __attribute__((aligned(16))) ccs_vec {
	uint32_t w[4];
};

#if !defined(CCS_EMULATION)

#define CCS_FN static __device__ __forceinline__
#define CCS_CALL static __device__ __noinline__
#define CCS_OPERATOR __device__ __forceinline__
/* Two blocks on a multiprocessor: while one waits for a message or at a barrier, the other
 * moves data. */
#define CCS_KERNEL extern "C" __global__ __launch_bounds__(CCS_THREADS, 2) void
#define CCS_CONSTANT __grid_constant__
#define CCS_WARP 32u

CCS_FN uint64_t ccs_ld_acquire(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

CCS_FN void ccs_st_relaxed(uint64_t *p, uint64_t v)
{
	asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
}

CCS_FN void ccs_fence_device(void)
{
	asm volatile("fence.acq_rel.gpu;" : : : "memory");
}

CCS_FN void ccs_fence_system(void)
{
	asm volatile("fence.acq_rel.sys;" : : : "memory");
}

CCS_FN uint32_t ccs_ld_flag(const uint32_t *p)
{
	uint32_t v;

	asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

CCS_FN void ccs_st_flag(uint32_t *p, uint32_t v)
{
	asm volatile("st.relaxed.sys.global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}

/* Four LL entries, data and flag: 16 bytes an access, in which each entry is loaded or stored
 * as one. */
CCS_FN void ccs_ld_entries(const uint8_t *p, ccs_vec *v, ccs_vec *flag)
{
	asm volatile("{\n\t"
		     ".reg .b64 %%e<4>;\n\t"
		     "ld.relaxed.sys.global.v2.b64 {%%e0, %%e1}, [%8];\n\t"
		     "ld.relaxed.sys.global.v2.b64 {%%e2, %%e3}, [%8+16];\n\t"
		     "mov.b64 {%0, %4}, %%e0;\n\t"
		     "mov.b64 {%1, %5}, %%e1;\n\t"
		     "mov.b64 {%2, %6}, %%e2;\n\t"
		     "mov.b64 {%3, %7}, %%e3;\n\t"
		     "}"
		     : "=r"(v->w[0]), "=r"(v->w[1]), "=r"(v->w[2]), "=r"(v->w[3]), "=r"(flag->w[0]),
		       "=r"(flag->w[1]), "=r"(flag->w[2]), "=r"(flag->w[3])
		     : "l"(p)
		     : "memory");
}

CCS_FN void ccs_st_entries(uint8_t *p, const ccs_vec &v, uint32_t flag)
{
	asm volatile("{\n\t"
		     ".reg .b64 %%e<4>;\n\t"
		     "mov.b64 %%e0, {%1, %5};\n\t"
		     "mov.b64 %%e1, {%2, %5};\n\t"
		     "mov.b64 %%e2, {%3, %5};\n\t"
		     "mov.b64 %%e3, {%4, %5};\n\t"
		     "st.relaxed.sys.global.v2.b64 [%0], {%%e0, %%e1};\n\t"
		     "st.relaxed.sys.global.v2.b64 [%0+16], {%%e2, %%e3};\n\t"
		     "}"
		     :
		     : "l"(p), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3]), "r"(flag)
		     : "memory");
}

/* *p = to, if it is `from`; returns the old value. Relaxed, as is the next. */
CCS_FN uint64_t ccs_swap(uint64_t *p, uint64_t from, uint64_t to)
{
	uint64_t v;

	asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(v)
		     : "l"(p), "l"(from), "l"(to)
		     : "memory");
	return v;
}

CCS_FN uint64_t ccs_add(uint64_t *p, uint64_t by)
{
	uint64_t v;

	asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
		     : "=l"(v)
		     : "l"(p), "l"(by)
		     : "memory");
	return v;
}

/* The launch's number, unique in this context, or in its graph. */
CCS_FN uint64_t ccs_grid(void)
{
	uint64_t v;

	asm volatile("mov.u64 %0, %%gridid;" : "=l"(v));
	return v;
}

/* Elements and units are in global memory: buffers, scratch, slots, stages, tables. */
CCS_FN ccs_vec ccs_load16(const uint8_t *p)
{
	__builtin_assume(__isGlobal(p));
	return *(const ccs_vec *)p;
}

CCS_FN void ccs_store16(uint8_t *p, ccs_vec v)
{
	__builtin_assume(__isGlobal(p));
	*(ccs_vec *)p = v;
}

/* The same for users' buffers, with the policy of ccs_policy: their lines are evicted from the
 * L2 cache before those of slots, or like those. */
CCS_FN ccs_vec ccs_load16_by(const uint8_t *p, uint64_t policy)
{
	ccs_vec v;

	asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
		     : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
		     : "l"(p), "l"(policy)
		     : "memory");
	return v;
}

CCS_FN void ccs_store16_by(uint8_t *p, const ccs_vec &v, uint64_t policy)
{
	asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;"
		     :
		     : "l"(p), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3]), "l"(policy)
		     : "memory");
}

CCS_FN uint64_t ccs_policy(bool first)
{
	uint64_t leaves, stays;

	asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(leaves));
	asm("createpolicy.fractional.L2::evict_normal.b64 %0;" : "=l"(stays));
	return first ? leaves : stays;
}

template <typename T> CCS_FN T ccs_load(const uint8_t *p)
{
	__builtin_assume(__isGlobal(p));
	return *(const T *)p;
}

template <typename T> CCS_FN void ccs_store(uint8_t *p, T v)
{
	__builtin_assume(__isGlobal(p));
	*(T *)p = v;
}

/* Row i of a table, also in global memory. */
template <typename T> CCS_FN const T &ccs_row_of(const T *table, uint64_t i)
{
	__builtin_assume(__isGlobal(table + i));
	return table[i];
}

CCS_FN int ccs_barrier(int stop)
{
	return __syncthreads_or(stop);
}

/* Only for performance: correctness does not depend on it. */
CCS_FN void ccs_meet_warp(void)
{
	__syncwarp();
}

#define CCS_NOTE_PASS(operations)

CCS_FN uint64_t ccs_clock(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

CCS_FN bool ccs_take(uint32_t *p)
{
	return atomicCAS_system(p, 0, 1) == 0;
}

CCS_FN float ccs_times(float x, float y)
{
	return __fmul_rn(x, y);
}

CCS_FN double ccs_times(double x, double y)
{
	return __dmul_rn(x, y);
}

CCS_FN float ccs_from_half(uint16_t h)
{
	float f;

	asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
	return f;
}

CCS_FN uint16_t ccs_to_half(float f)
{
	uint16_t h;

	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
	return h;
}

CCS_FN uint16_t ccs_to_bfloat(float f)
{
	uint16_t h;

	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
	return h;
}

/* Converts two; the first is in the low bits. */
CCS_FN uint32_t ccs_to_halves(float lo, float hi)
{
	uint32_t h;

	asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(hi), "f"(lo));
	return h;
}

CCS_FN uint32_t ccs_to_bfloats(float lo, float hi)
{
	uint32_t h;

	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(hi), "f"(lo));
	return h;
}

CCS_FN uint32_t ccs_add_halves(uint32_t x, uint32_t y)
{
	uint32_t h;

	asm("add.rn.f16x2 %0, %1, %2;" : "=r"(h) : "r"(x), "r"(y));
	return h;
}

CCS_FN uint32_t ccs_times_halves(uint32_t x, uint32_t y)
{
	uint32_t h;

	asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(h) : "r"(x), "r"(y));
	return h;
}

/* x times 1, plus y: sm_80 has no other sum. */
CCS_FN uint32_t ccs_add_bfloats(uint32_t x, uint32_t y)
{
	uint32_t h;

	asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(h) : "r"(x), "r"(0x3f803f80u), "r"(y));
	return h;
}

/* Float8 has conversions from sm_89 on. Halves have all of its values; a larger value becomes its
 * largest. */
#if __CUDA_ARCH__ >= 890
#define CCS_FLOAT8_PAIRS 1
CCS_FN uint32_t ccs_halves_of_e4m3s(uint32_t e)
{
	uint32_t h;

	asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(h) : "h"((uint16_t)e));
	return h;
}

#define CCS_TO_FLOAT8(type) \
	CCS_FN uint32_t ccs_##type##s_of_halves(uint32_t h) \
	{ \
		uint16_t e; \
\
		asm("cvt.rn.satfinite." #type "x2.f16x2 %0, %1;" : "=h"(e) : "r"(h)); \
		return e; \
	} \
	CCS_FN uint32_t ccs_to_##type##s(float lo, float hi) \
	{ \
		uint16_t e; \
\
		asm("cvt.rn.satfinite." #type "x2.f32 %0, %1, %2;" : "=h"(e) : "f"(hi), "f"(lo)); \
		return e; \
	}
CCS_TO_FLOAT8(e4m3)
CCS_TO_FLOAT8(e5m2)
#else
#define CCS_FLOAT8_PAIRS 0
#endif

#endif
