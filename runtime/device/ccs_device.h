/*
 * What generated kernels are made of. No includes: device/args.h and narrow.h
 * stand before it in one text (the Makefile joins them), NVRTC's own built-ins do
 * the rest. Specialised by CCS_TYPE, CCS_OP and CCS_PROTO, see args.h.
 *
 * A block runs one worker of one replica. What its threads share lies in ccs_b: at
 * the beginning the threads resolve the worker's operations, side by side, into
 * rows of addresses, so that an operation itself reads only shared memory.
 *
 *   ccs_begin(c)          epoch, rows
 *   ccs_step<FORM>(k, t)  operation k in tile t: wait, move data, tell
 *   ccs_end(c, stop)      what follows the operations; counters to the call's end
 *
 * Each returns non-zero if the call is to stop; all threads of a block get the
 * same answer, since it comes from a barrier.
 *
 * A step: thread 0 waits for the message, another for the free slot, another for
 * other workers (ccs_ld_acquire); a barrier; all threads move 16-byte units,
 * several in flight; a barrier; thread 0 tells (one fence, then stores). A barrier
 * orders threads of the block, the fence is cumulative, so what any thread of the
 * block wrote is visible to whoever acquires the counter.
 *
 * LL: an 8-byte entry is 4 bytes of data and the low 32 bits of the message's
 * number + 1, written at once: the receiver's threads poll the data itself, and
 * nobody waits for a fence. Entries beyond a short message keep old flags. For
 * them never to match again 2^32 messages later, the sender fills slots wholly, twice
 * in 2^32 messages: where number mod 2^31 < slots. Old flags are then less than
 * 2^32 - 2^31 + slots messages old.
 *
 * Where all messages of a call fit into a FIFO's slots, nobody waits for its tail,
 * and it is told once, at the end.
 *
 * Lines marked ORDER carry the memory order. tests/emu shows that each is needed.
 */

/* ---- primitives: the seam ---------------------------------------------------------
 * The emulation defines CCS_EMULATION and these with the same meaning. */

struct __attribute__((aligned(16))) ccs_vec {
	uint32_t w[4];
};

struct ccs_block;

#if !defined(CCS_EMULATION)

#define CCS_FN static __device__ __forceinline__
#define CCS_CALL static __device__ __noinline__
#define CCS_KERNEL extern "C" __global__ __launch_bounds__(CCS_THREADS) void
#define CCS_CONSTANT __grid_constant__
/* Where FIFOs reach other devices or the host: -D CCS_SCOPE_SYS. */
#if defined(CCS_SCOPE_SYS)
#define CCS_SCOPE ".sys"
#else
#define CCS_SCOPE ".gpu"
#endif

CCS_FN uint64_t ccs_ld_acquire(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.acquire" CCS_SCOPE ".global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

CCS_FN uint64_t ccs_ld_relaxed(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.relaxed" CCS_SCOPE ".global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

CCS_FN void ccs_st_relaxed(uint64_t *p, uint64_t v)
{
	asm volatile("st.relaxed" CCS_SCOPE ".global.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
}

CCS_FN void ccs_fence(void)
{
	asm volatile("fence.acq_rel" CCS_SCOPE ";" : : : "memory");
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

/* Two LL entries; each is loaded or stored as one. */
CCS_FN void ccs_ld_entries(const uint64_t *p, uint64_t v[2])
{
	asm volatile("ld.relaxed" CCS_SCOPE ".global.v2.u64 {%0, %1}, [%2];"
		     : "=l"(v[0]), "=l"(v[1]) : "l"(p) : "memory");
}

CCS_FN void ccs_st_entries(uint64_t *p, uint64_t v0, uint64_t v1)
{
	asm volatile("st.relaxed" CCS_SCOPE ".global.v2.u64 [%0], {%1, %2};"
		     : : "l"(p), "l"(v0), "l"(v1) : "memory");
}

CCS_FN ccs_vec ccs_load16(const uint8_t *p)
{
	return *(const ccs_vec *)p;
}

CCS_FN void ccs_store16(uint8_t *p, ccs_vec v)
{
	*(ccs_vec *)p = v;
}

template <typename T> CCS_FN T ccs_load(const uint8_t *p)
{
	return *(const T *)p;
}

template <typename T> CCS_FN void ccs_store(uint8_t *p, T v)
{
	*(T *)p = v;
}

CCS_FN int ccs_barrier(int stop)
{
	return __syncthreads_or(stop);
}

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

#endif

/* ---- elements -----------------------------------------------------------------------
 * ELEM is stored, WIDE is combined in; sums, products and scales of integers are
 * unsigned (they wrap), maxima and quotients signed. As runtime/reduce.c. */

#define CCS_SUMS (CCS_OP == CCS_DEV_SUM || CCS_OP == CCS_DEV_PROD || CCS_OP == CCS_DEV_PREMUL)

#if CCS_TYPE == 0 || CCS_TYPE == 1
typedef uint8_t ccs_elem;
typedef uint32_t ccs_sums;
#elif CCS_TYPE == 2 || CCS_TYPE == 3
typedef uint32_t ccs_elem;
typedef uint32_t ccs_sums;
#elif CCS_TYPE == 4 || CCS_TYPE == 5
typedef uint64_t ccs_elem;
typedef uint64_t ccs_sums;
#elif CCS_TYPE == 6 || CCS_TYPE == 9
typedef uint16_t ccs_elem;
typedef float ccs_sums;
#elif CCS_TYPE == 7
typedef uint32_t ccs_elem;
typedef float ccs_sums;
#elif CCS_TYPE == 8
typedef uint64_t ccs_elem;
typedef double ccs_sums;
#elif CCS_TYPE == 10 || CCS_TYPE == 11
typedef uint8_t ccs_elem;
typedef float ccs_sums;
#else
#error "CCS_TYPE is no element type"
#endif

#if CCS_TYPE == 0
typedef int8_t ccs_order;
#elif CCS_TYPE == 2
typedef int32_t ccs_order;
#elif CCS_TYPE == 4
typedef int64_t ccs_order;
#else
typedef ccs_sums ccs_order;
#endif

#define CCS_SIZE ((uint32_t)sizeof(ccs_elem))
#define CCS_LANES (16 / CCS_SIZE)	/* elements of a unit */

CCS_FN ccs_sums ccs_wide(ccs_elem e)
{
#if CCS_TYPE == 6
	return ccs_from_half(e);
#elif CCS_TYPE == 9
	return bfloat_to_float(e);
#elif CCS_TYPE == 10
	return e4m3_to_float(e);
#elif CCS_TYPE == 11
	return e5m2_to_float(e);
#elif CCS_TYPE == 7
	return __uint_as_float(e);
#elif CCS_TYPE == 8
	return __longlong_as_double((long long)e);
#else
	return e;
#endif
}

CCS_FN ccs_elem ccs_narrow(ccs_sums w)
{
#if CCS_TYPE == 6
	return ccs_to_half(w);
#elif CCS_TYPE == 9
	return ccs_to_bfloat(w);
#elif CCS_TYPE == 10
	return e4m3_from_float(w);
#elif CCS_TYPE == 11
	return e5m2_from_float(w);
#elif CCS_TYPE == 7
	return __float_as_uint(w);
#elif CCS_TYPE == 8
	return (ccs_elem)__double_as_longlong(w);
#else
	return (ccs_elem)w;
#endif
}

CCS_FN ccs_order ccs_ordered(ccs_elem e)
{
#if CCS_TYPE <= 5
	return (ccs_order)e;
#else
	return ccs_wide(e);
#endif
}

CCS_FN bool ccs_number(ccs_order v)
{
#if CCS_TYPE <= 5
	(void)v;
	return true;
#else
	return v == v;
#endif
}

CCS_FN ccs_elem ccs_combine(ccs_elem x, ccs_elem y)
{
#if CCS_OP == CCS_DEV_PROD
	return ccs_narrow(ccs_wide(x) * ccs_wide(y));
#elif CCS_OP == CCS_DEV_MAX
	ccs_order p = ccs_ordered(x), q = ccs_ordered(y);

	return p > q || !ccs_number(q) ? x : y;
#elif CCS_OP == CCS_DEV_MIN
	ccs_order p = ccs_ordered(x), q = ccs_ordered(y);

	return p < q || !ccs_number(q) ? x : y;
#else
	return ccs_narrow(ccs_wide(x) + ccs_wide(y));
#endif
}

CCS_FN ccs_elem ccs_scale(ccs_elem x, ccs_elem by)
{
#if CCS_TYPE <= 5
	return (ccs_elem)((ccs_sums)x * (ccs_sums)by);
#else
	return ccs_narrow(ccs_times(ccs_wide(x), ccs_wide(by)));
#endif
}

CCS_FN ccs_elem ccs_divide(ccs_elem x, uint32_t by)
{
#if CCS_TYPE == 0 || CCS_TYPE == 2 || CCS_TYPE == 4
	return (ccs_elem)((int64_t)ccs_ordered(x) / (int64_t)by);
#elif CCS_TYPE <= 5
	return (ccs_elem)(x / by);
#else
	return ccs_narrow(ccs_wide(x) / (ccs_sums)by);
#endif
}

/* Element i of a unit, from and to its words. */
CCS_FN ccs_elem ccs_get(const ccs_vec &v, uint32_t i)
{
	if (CCS_SIZE == 8)
		return (ccs_elem)(v.w[(2 * i) & 3] | (uint64_t)v.w[(2 * i + 1) & 3] << 32);
	return (ccs_elem)(v.w[i * CCS_SIZE / 4] >> (8 * CCS_SIZE * i & 31));
}

/* The unit is zero before. */
CCS_FN void ccs_put(ccs_vec &v, uint32_t i, ccs_elem e)
{
	if (CCS_SIZE == 8) {
		v.w[(2 * i) & 3] = (uint32_t)e;
		v.w[(2 * i + 1) & 3] = (uint32_t)((uint64_t)e >> 32);
	} else {
		v.w[i * CCS_SIZE / 4] |= (uint32_t)e << (8 * CCS_SIZE * i & 31);
	}
}

CCS_FN ccs_vec ccs_zero(void)
{
	ccs_vec v = { { 0, 0, 0, 0 } };

	return v;
}

CCS_FN ccs_vec ccs_combine16(const ccs_vec &x, const ccs_vec &y)
{
	ccs_vec v = ccs_zero();

#pragma unroll
	for (uint32_t i = 0; i < CCS_LANES; i++)
		ccs_put(v, i, ccs_combine(ccs_get(x, i), ccs_get(y, i)));
	return v;
}

CCS_FN ccs_vec ccs_scale16(const ccs_vec &x, ccs_elem by)
{
	ccs_vec v = ccs_zero();

#pragma unroll
	for (uint32_t i = 0; i < CCS_LANES; i++)
		ccs_put(v, i, ccs_scale(ccs_get(x, i), by));
	return v;
}

CCS_FN ccs_vec ccs_divide16(const ccs_vec &x, uint32_t by)
{
	ccs_vec v = ccs_zero();

#pragma unroll
	for (uint32_t i = 0; i < CCS_LANES; i++)
		ccs_put(v, i, ccs_divide(ccs_get(x, i), by));
	return v;
}

/* The caller's memory: a whole unit where it is aligned and all of it is the
 * cell's, else element by element. */
CCS_CALL ccs_vec ccs_fetch_elements(const uint8_t *p, uint64_t n)
{
	ccs_vec v = ccs_zero();

#pragma unroll
	for (uint32_t i = 0; i < CCS_LANES; i++)
		if (i < n)
			ccs_put(v, i, ccs_load<ccs_elem>(p + i * CCS_SIZE));
	return v;
}

CCS_CALL void ccs_keep_elements(uint8_t *p, ccs_vec v, uint64_t n)
{
#pragma unroll
	for (uint32_t i = 0; i < CCS_LANES; i++)
		if (i < n)
			ccs_store<ccs_elem>(p + i * CCS_SIZE, ccs_get(v, i));
}

CCS_FN ccs_vec ccs_fetch(const uint8_t *p, uint64_t n, bool aligned)
{
	return aligned && n >= CCS_LANES ? ccs_load16(p) : ccs_fetch_elements(p, n);
}

CCS_FN void ccs_keep(uint8_t *p, const ccs_vec &v, uint64_t n, bool aligned)
{
	if (aligned && n >= CCS_LANES)
		ccs_store16(p, v);
	else
		ccs_keep_elements(p, v, n);
}

/* ---- what a block knows ---------------------------------------------------------------- */

/* An operation with its addresses: of its first cell, for lo = 0. */
struct ccs_row {
	struct ccs_dev_op op;
	const uint8_t *a, *b;
	uint8_t *dst;
	uint64_t len;		/* elements of the first cell */
	uint64_t own;		/* the least of it and of what the cells named have */
	uint8_t *in, *out;	/* slot 0 */
	uint64_t *in_head, *in_tail, *out_head, *out_tail;
	uint64_t in_bytes, out_bytes;	/* of a slot */
	uint64_t in_number, out_number;	/* the message's in tile 0 of this call */
	uint32_t in_messages, out_messages;
	uint32_t in_slots, out_slots;
	uint32_t late;		/* the tail is told at the end */
	uint32_t reserved;
};

#ifndef CCS_ROWS
#define CCS_ROWS 32		/* rows held at a time */
#endif

struct ccs_block {
	struct ccs_dev_worker w;
	struct ccs_dev_rank io;
	uint32_t worker, replica;
	const struct ccs_dev_op *ops;
	const struct ccs_dev_wait *waits;
	const struct ccs_dev_worker *workers;
	const struct ccs_dev_cell *cells;
	const struct ccs_dev_fifo *fifos;
	uint64_t *done;
	uint8_t *stage;
	uint32_t *abort;
	struct ccs_dev_report *report;
	uint64_t count, tile, ntiles, longest, limit, epoch;
	uint32_t replicas, replicas_max;
	ccs_elem scalar;
	struct ccs_row rows[CCS_ROWS];
};

#if !defined(CCS_EMULATION)
__shared__ struct ccs_block ccs_b;
#endif

#define CCS_LINE_OF(worker) \
	(((uint64_t)(worker) * ccs_b.replicas_max + ccs_b.replica) * CCS_DEV_LINE)

/* Threads that wait: in warps of their own, if there are enough. */
CCS_FN uint32_t ccs_apart(void)
{
	return blockDim.x >= 128 ? 32 : 1;
}

struct ccs_place {
	uint64_t at, len;	/* elements from the buffer's start; of the cell */
};

/* plan.h: chunk c of block b begins at b * count + min(c * q, count). */
CCS_FN struct ccs_place ccs_locate(uint32_t cell, bool initial)
{
	const struct ccs_dev_cell d = ccs_b.cells[cell];
	uint64_t q, from;

	if (!d.chunks)
		return { d.recv * ccs_b.longest, ccs_b.longest };
	q = ccs_b.count / d.chunks;
	q += q * d.chunks != ccs_b.count;
	from = d.pos * q < ccs_b.count ? d.pos * q : ccs_b.count;
	return { (initial ? d.send : d.recv) * ccs_b.count + from,
		 ccs_b.count - from < q ? ccs_b.count - from : q };
}

/* The address of a cell, and *own is at most its length. */
CCS_FN uint8_t *ccs_cell(uint32_t cell, bool initial, uint64_t *own)
{
	struct ccs_place at = ccs_locate(cell, initial);
	uint8_t *base = !ccs_b.cells[cell].chunks ? ccs_b.io.scratch :
			initial ? (uint8_t *)ccs_b.io.send : ccs_b.io.recv;

	if (at.len < *own)
		*own = at.len;
	return base + at.at * CCS_SIZE;
}

/* Cell j of an operation. */
CCS_FN void ccs_cells(const struct ccs_dev_op &o, uint32_t j, struct ccs_row *r)
{
	r->len = r->own = ccs_locate(o.len + j, false).len;
	r->a = o.form & CCS_DEV_A ? ccs_cell(o.a + j, o.form & CCS_DEV_A_INITIAL, &r->own) : 0;
	r->b = o.form & CCS_DEV_B ? ccs_cell(o.b + j, o.form & CCS_DEV_B_INITIAL, &r->own) : 0;
	r->dst = o.form & CCS_DEV_DST ? ccs_cell(o.dst + j, false, &r->own) : 0;
}

CCS_FN uint8_t *ccs_stage(void)
{
	return ccs_b.stage + (ccs_b.w.stage * ccs_b.replicas_max +
			      (uint64_t)ccs_b.replica * ccs_b.w.stage_cells) *
				     ccs_b.tile * CCS_SIZE;
}

CCS_FN void ccs_ends(const struct ccs_dev_op &o, struct ccs_row *r)
{
	const uint64_t replica = ccs_b.replica, line = replica * CCS_DEV_LINE;

	r->late = 0;
	if (o.form & CCS_DEV_FROM_STAGE) {
		r->in = ccs_stage();
	} else if (o.form & CCS_DEV_IN) {
		const struct ccs_dev_fifo f = ccs_b.fifos[o.in];

		r->in = f.data + replica * f.slots * f.slot_bytes;
		r->in_head = f.head + line;
		r->in_tail = f.tail + line;
		r->in_bytes = f.slot_bytes;
		r->in_messages = f.messages;
		r->in_slots = f.slots;
		r->in_number = ccs_b.epoch * f.messages + o.in_seq;
		r->late = f.messages * ccs_b.ntiles <= f.slots;
	}
	if (o.form & CCS_DEV_TO_STAGE) {
		r->out = ccs_stage();
	} else if (o.form & CCS_DEV_OUT) {
		const struct ccs_dev_fifo f = ccs_b.fifos[o.out];

		r->out = f.data + replica * f.slots * f.slot_bytes;
		r->out_head = f.head + line;
		r->out_tail = f.tail + line;
		r->out_bytes = f.slot_bytes;
		r->out_messages = f.messages;
		r->out_slots = f.slots;
		r->out_number = ccs_b.epoch * f.messages + o.out_seq;
	}
}

/* Resolves operations k, k + 1, ... as many as there is room for. */
CCS_CALL void ccs_resolve(uint32_t k)
{
	uint32_t n = ccs_b.w.nops - k < CCS_ROWS ? ccs_b.w.nops - k : CCS_ROWS;

	ccs_barrier(0);		/* nobody reads the rows any more */
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
		struct ccs_row *r = ccs_b.rows + i;

		r->op = ccs_b.ops[ccs_b.w.op + k + i];
		if (r->op.n)
			ccs_cells(r->op, 0, r);
		ccs_ends(r->op, r);
	}
	ccs_barrier(0);
}

/* ---- waiting ------------------------------------------------------------------------------- */

struct ccs_stuck {
	uint32_t kind, peer, fifo, op;
	uint64_t t, need, have;
};

/* Stops the call, and says why if nobody has. */
CCS_CALL void ccs_give_up(const struct ccs_stuck &s)
{
	struct ccs_dev_report *r = ccs_b.report;
	const struct ccs_dev_op o = ccs_b.ops[ccs_b.w.op + s.op];

	if (r && ccs_take(&r->taken)) {
		r->kind = s.kind;
		r->rank = ccs_b.w.rank;
		r->worker = ccs_b.worker;
		r->replica = ccs_b.replica;
		r->op = o.done - 1;
		r->line = o.line;
		r->file = o.file;
		r->peer = s.peer;
		r->fifo = s.fifo;
		r->tile = s.t;
		r->need = s.need;
		r->have = s.have;
	}
	ccs_st_flag(ccs_b.abort, 1);
}

/* One more look that failed. Non-zero: stop. */
CCS_FN int ccs_patience(uint32_t *looks, uint64_t *since, const struct ccs_stuck &s)
{
	if (++*looks & 31)
		return 0;
	if (ccs_ld_flag(ccs_b.abort))
		return 1;
#if defined(CCS_WATCHDOG)
	uint64_t now = ccs_clock();

	if (!*since)
		*since = now;
	if (ccs_b.limit && now - *since > ccs_b.limit) {
		ccs_give_up(s);
		return 1;
	}
#else
	(void)since;
	(void)s;
#endif
	return 0;
}

/* Waits until the counter is at least `need`. */
CCS_CALL int ccs_wait_long(const uint64_t *p, struct ccs_stuck s)
{
	uint32_t looks = 0;
	uint64_t since = 0;

	for (;;) {
		s.have = ccs_ld_acquire(p);	/* ORDER: a wait that had to poll */
		if ((int64_t)(s.have - s.need) >= 0)
			return 0;
		if (ccs_patience(&looks, &since, s))
			return 1;
	}
}

CCS_FN int ccs_wait_for(const uint64_t *p, uint64_t need, uint32_t kind, uint32_t fifo,
			uint32_t peer, uint32_t k, uint64_t t)
{
	if ((int64_t)(ccs_ld_acquire(p) - need) >= 0)	/* ORDER: a wait that was over at once */
		return 0;
	return ccs_wait_long(p, { kind, peer, fifo, k, t, need, 0 });
}

CCS_CALL int ccs_wait_workers(const struct ccs_row &r, uint32_t k, uint64_t t)
{
	int stop = 0;

	for (uint32_t i = 0; i < r.op.nwaits && !stop; i++) {
		const struct ccs_dev_wait w = ccs_b.waits[r.op.wait + i];
		uint64_t need = (ccs_b.epoch + t) * ccs_b.workers[w.worker].count + w.ops;

		stop = ccs_wait_for(ccs_b.done + CCS_LINE_OF(w.worker), need,
				    CCS_DEV_STUCK_WORKER, CCS_DEV_NONE, w.worker, k, t);
	}
	return stop;
}

/* Until the operation may start. Then a barrier, whose answer it returns. */
template <uint32_t F> CCS_FN int ccs_ready(const struct ccs_row &r, uint32_t k, uint64_t t)
{
	const uint32_t apart = ccs_apart();
	int stop = 0;

#if CCS_PROTO == CCS_DEV_SIMPLE
	if (F & CCS_DEV_IN && threadIdx.x == 0 && !(r.op.form & CCS_DEV_FROM_STAGE))
		stop |= ccs_wait_for(r.in_head, r.in_number + t * r.in_messages + 1,
				     CCS_DEV_STUCK_RECV, r.op.in,
				     ccs_b.fifos[r.op.in].src, k, t);
#endif
	if (F & CCS_DEV_OUT && threadIdx.x == apart && !(r.op.form & CCS_DEV_TO_STAGE))
		stop |= ccs_wait_for(r.out_tail,
				     r.out_number + t * r.out_messages + 1 - r.out_slots,
				     CCS_DEV_STUCK_SEND, r.op.out,
				     ccs_b.fifos[r.op.out].dst, k, t);
	if (r.op.nwaits && threadIdx.x == 2 * apart)
		stop |= ccs_wait_workers(r, k, t);
	return ccs_barrier(stop);
}

/* After the data: a barrier, then thread 0 tells the others. */
template <uint32_t F> CCS_FN int ccs_tell(const struct ccs_row &r, uint64_t t, int stop)
{
	const bool sent = CCS_PROTO == CCS_DEV_SIMPLE && F & CCS_DEV_OUT &&
			  !(r.op.form & CCS_DEV_TO_STAGE);
	const bool taken = F & CCS_DEV_IN && !r.late && !(r.op.form & CCS_DEV_FROM_STAGE);
	const bool done = r.op.form & CCS_DEV_PUBLISH;

	stop = ccs_barrier(stop);
	if (threadIdx.x == 0 && (sent || taken || done) && !stop) {
		ccs_fence();	/* ORDER: data before counters */
		if (sent)
			ccs_st_relaxed(r.out_head, r.out_number + t * r.out_messages + 1);
		if (taken)
			ccs_st_relaxed(r.in_tail, r.in_number + t * r.in_messages + 1);
		if (done)
			ccs_st_relaxed(ccs_b.done + CCS_LINE_OF(ccs_b.worker),
				       (ccs_b.epoch + t) * ccs_b.w.count + r.op.done);
	}
	return stop;
}

/* ---- LL ------------------------------------------------------------------------------------- */

CCS_FN bool ccs_fits(const uint64_t v[2], uint32_t flag)
{
	return (uint32_t)(v[0] >> 32) == flag && (uint32_t)(v[1] >> 32) == flag;
}

/* Polls two entries. */
CCS_FN int ccs_ll_pair(const uint64_t *p, uint32_t flag, uint64_t v[2], uint32_t fifo, uint32_t k,
		       uint64_t t)
{
	uint32_t looks = 0;
	uint64_t since = 0;

	for (;;) {
		ccs_ld_entries(p, v);
		if (ccs_fits(v, flag))
			return 0;
		if (ccs_patience(&looks, &since,
				 { CCS_DEV_STUCK_RECV, ccs_b.fifos[fifo].src, fifo, k, t, flag,
				   v[0] >> 32 }))
			return 1;
	}
}

CCS_FN int ccs_ll_take(const uint8_t *slot, uint64_t unit, uint32_t flag, ccs_vec *v,
		       uint32_t fifo, uint32_t k, uint64_t t)
{
	const uint64_t *p = (const uint64_t *)slot + 4 * unit;
	uint64_t x[2], y[2];
	int stop;

	ccs_ld_entries(p, x);		/* both in flight; polled only if not there yet */
	ccs_ld_entries(p + 2, y);
	stop = ccs_fits(x, flag) ? 0 : ccs_ll_pair(p, flag, x, fifo, k, t);
	stop |= stop || ccs_fits(y, flag) ? 0 : ccs_ll_pair(p + 2, flag, y, fifo, k, t);
	v->w[0] = (uint32_t)x[0];
	v->w[1] = (uint32_t)x[1];
	v->w[2] = (uint32_t)y[0];
	v->w[3] = (uint32_t)y[1];
	return stop;
}

CCS_FN void ccs_ll_give(uint8_t *slot, uint64_t unit, uint32_t flag, const ccs_vec &v)
{
	uint64_t *p = (uint64_t *)slot + 4 * unit;
	const uint64_t high = (uint64_t)flag << 32;

	ccs_st_entries(p, high | v.w[0], high | v.w[1]);
	ccs_st_entries(p + 2, high | v.w[2], high | v.w[3]);
}

/* Fills entries from `unit` to the slot's end. */
CCS_CALL void ccs_ll_fill(uint8_t *slot, uint64_t unit, uint64_t bytes, uint32_t flag)
{
	for (unit += threadIdx.x; unit < bytes / 32; unit += blockDim.x)
		ccs_ll_give(slot, unit, flag, ccs_zero());
}

/* ---- moving data ------------------------------------------------------------------------------ */

/* One cell's part of an operation: addresses at the tile's beginning. */
struct ccs_part {
	const uint8_t *in, *a, *b;
	uint8_t *dst, *out;
	uint64_t units;		/* of the message */
	uint64_t own;		/* elements of the caller's that it may touch */
	bool aligned;		/* the caller's addresses are */
	bool scale_a, scale_b;
	bool in_ll, out_ll;
	uint32_t in_flag, out_flag, fifo, k;
	uint64_t t;
};

CCS_FN uint64_t ccs_min(uint64_t x, uint64_t y)
{
	return x < y ? x : y;
}

/* What remains of n elements in the tile that begins at lo. */
CCS_FN uint64_t ccs_rest(uint64_t n, uint64_t lo)
{
	return n > lo ? ccs_min(n - lo, ccs_b.tile) : 0;
}

template <uint32_t F> CCS_FN void ccs_part_make(struct ccs_part *p, const struct ccs_row &r, uint64_t lo)
{
	const uint64_t at = lo * CCS_SIZE;
	uintptr_t low = 0;

	p->units = (ccs_rest(r.len, lo) + CCS_LANES - 1) / CCS_LANES;
	p->own = ccs_rest(r.own, lo);
	if (F & CCS_DEV_A)
		low |= (uintptr_t)(p->a = r.a + at);
	if (F & CCS_DEV_B)
		low |= (uintptr_t)(p->b = r.b + at);
	if (F & CCS_DEV_DST)
		low |= (uintptr_t)(p->dst = r.dst + at);
	p->aligned = !(low & 15);
	p->scale_a = CCS_OP == CCS_DEV_PREMUL && r.op.form & CCS_DEV_A_INITIAL;
	p->scale_b = CCS_OP == CCS_DEV_PREMUL && r.op.form & CCS_DEV_B_INITIAL;
}

/* v = in (+) a (+) b */
template <uint32_t F>
CCS_FN ccs_vec ccs_value(const struct ccs_part &p, const ccs_vec &in, ccs_vec a, ccs_vec b)
{
	if (F & CCS_DEV_A && p.scale_a)
		a = ccs_scale16(a, ccs_b.scalar);
	if (F & CCS_DEV_B && p.scale_b)
		b = ccs_scale16(b, ccs_b.scalar);
	if (!(F & CCS_DEV_IN))
		return !(F & CCS_DEV_B) ? a : !(F & CCS_DEV_A) ? b : ccs_combine16(a, b);
	if (F & CCS_DEV_A)
		a = ccs_combine16(in, a);
	else
		a = in;
	return F & CCS_DEV_B ? ccs_combine16(a, b) : a;
}

template <uint32_t F> CCS_FN int ccs_unit(const struct ccs_part &p, uint64_t u)
{
	const uint64_t at = u * 16, first = u * CCS_LANES;
	const uint64_t n = p.own > first ? p.own - first : 0;
	ccs_vec in = ccs_zero(), a = in, b = in, v;
	int stop = 0;

	if (F & CCS_DEV_A)
		a = ccs_fetch(p.a + at, n, p.aligned);
	if (F & CCS_DEV_B)
		b = ccs_fetch(p.b + at, n, p.aligned);
	if (F & CCS_DEV_IN) {
		if (CCS_PROTO == CCS_DEV_LL && p.in_ll)
			stop = ccs_ll_take(p.in, u, p.in_flag, &in, p.fifo, p.k, p.t);
		else
			in = ccs_load16(p.in + at);
	}
	if (stop)
		return stop;
	v = ccs_value<F>(p, in, a, b);
	if (F & CCS_DEV_OUT) {
		if (CCS_PROTO == CCS_DEV_LL && p.out_ll)
			ccs_ll_give(p.out, u, p.out_flag, v);
		else
			ccs_store16(p.out + at, v);
	}
	if (F & CCS_DEV_DST)
		ccs_keep(p.dst + at, v, n, p.aligned);
	return 0;
}

#define CCS_UNROLL 4

/* Whole units of an aligned part, several in flight; returns the first unit that
 * is left for this thread. */
template <uint32_t F> CCS_FN uint64_t ccs_units(const struct ccs_part &p)
{
	const uint64_t step = blockDim.x, whole = p.own / CCS_LANES;
	uint64_t u = threadIdx.x;

	for (; u + (CCS_UNROLL - 1) * step < whole; u += CCS_UNROLL * step) {
		ccs_vec in[CCS_UNROLL], a[CCS_UNROLL], b[CCS_UNROLL];

#pragma unroll
		for (uint32_t i = 0; i < CCS_UNROLL; i++) {
			const uint64_t at = (u + i * step) * 16;

			in[i] = F & CCS_DEV_IN ? ccs_load16(p.in + at) : ccs_zero();
			a[i] = F & CCS_DEV_A ? ccs_load16(p.a + at) : ccs_zero();
			b[i] = F & CCS_DEV_B ? ccs_load16(p.b + at) : ccs_zero();
		}
#pragma unroll
		for (uint32_t i = 0; i < CCS_UNROLL; i++) {
			const uint64_t at = (u + i * step) * 16;
			const ccs_vec v = ccs_value<F>(p, in[i], a[i], b[i]);

			if (F & CCS_DEV_OUT)
				ccs_store16(p.out + at, v);
			if (F & CCS_DEV_DST)
				ccs_store16(p.dst + at, v);
		}
	}
	return u;
}

template <uint32_t F> CCS_FN int ccs_cell_move(const struct ccs_part &p)
{
	uint64_t u = threadIdx.x;
	int stop = 0;

	if (CCS_PROTO == CCS_DEV_SIMPLE && p.aligned)
		u = ccs_units<F>(p);
	for (; u < p.units && !stop; u += blockDim.x)
		stop = ccs_unit<F>(p, u);
	return stop;
}

/* Part j of a message begins at unit j * room. */
template <uint32_t F>
CCS_FN void ccs_part_slots(struct ccs_part *p, const uint8_t *in, uint8_t *out, uint64_t unit)
{
	if (F & CCS_DEV_IN)
		p->in = in + unit * (p->in_ll ? 32 : 16);
	if (F & CCS_DEV_OUT)
		p->out = out + unit * (p->out_ll ? 32 : 16);
}

/* Many cells: one after another, or, where a cell is less than a unit a thread,
 * all at a time. */
template <uint32_t F>
CCS_CALL int ccs_cells_move(const struct ccs_row &r, struct ccs_part p, const uint8_t *in,
			    uint8_t *out, uint64_t lo)
{
	const uint64_t room = ccs_b.tile * CCS_SIZE / 16, n = r.op.n;
	struct ccs_row cell;
	int stop = 0;

	cell.op = r.op;
	if (room >= blockDim.x) {
		for (uint32_t j = 0; j < n && !stop; j++) {
			ccs_cells(r.op, j, &cell);
			ccs_part_make<F>(&p, cell, lo);
			ccs_part_slots<F>(&p, in, out, j * room);
			stop = ccs_cell_move<F>(p);
		}
		return stop;
	}
	for (uint64_t i = threadIdx.x; i < n * room && !stop; i += blockDim.x) {
		uint32_t j = (uint32_t)i / (uint32_t)room;
		uint64_t u = i - j * room;

		ccs_cells(r.op, j, &cell);
		ccs_part_make<F>(&p, cell, lo);
		ccs_part_slots<F>(&p, in, out, j * room);
		if (u < p.units)
			stop = ccs_unit<F>(p, u);
	}
	return stop;
}

template <uint32_t F> CCS_FN int ccs_move(const struct ccs_row &r, uint32_t k, uint64_t t)
{
	const uint64_t lo = (t * ccs_b.replicas + ccs_b.replica) * ccs_b.tile;
	struct ccs_part p = {};
	const uint8_t *in = r.in;
	uint8_t *out = r.out;

	p.fifo = r.op.in;
	p.k = k;
	p.t = t;
	if (F & CCS_DEV_IN && !(r.op.form & CCS_DEV_FROM_STAGE)) {
		const uint64_t number = r.in_number + t * r.in_messages;

		in += (number & (r.in_slots - 1)) * r.in_bytes;
		p.in_flag = (uint32_t)number + 1;
		p.in_ll = CCS_PROTO == CCS_DEV_LL;
	}
	if (F & CCS_DEV_OUT && !(r.op.form & CCS_DEV_TO_STAGE)) {
		const uint64_t number = r.out_number + t * r.out_messages;

		out += (number & (r.out_slots - 1)) * r.out_bytes;
		p.out_flag = (uint32_t)number + 1;
		p.out_ll = CCS_PROTO == CCS_DEV_LL;
		if (p.out_ll && (number & 0x7fffffffu) < r.out_slots)
			ccs_ll_fill(out, r.op.n == 1 ? (ccs_rest(r.len, lo) + CCS_LANES - 1) / CCS_LANES :
						       r.op.n * (ccs_b.tile * CCS_SIZE / 16),
				    r.out_bytes, p.out_flag);
	}
	if (r.op.n != 1)
		return ccs_cells_move<F>(r, p, in, out, lo);
	ccs_part_make<F>(&p, r, lo);
	ccs_part_slots<F>(&p, in, out, 0);
	return ccs_cell_move<F>(p);
}

/* ---- what generated code calls ---------------------------------------------------------------- */

/* Operation k of the worker in tile t; its rows are those resolved. */
template <uint32_t F> CCS_CALL int ccs_step(uint32_t k, uint64_t t)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];
	int stop = ccs_ready<F>(r, k, t);

	if (stop)
		return stop;
	stop = ccs_move<F>(r, k, t);
	return ccs_tell<F>(r, t, stop);
}

/* Rows are resolved once, if there is room for all of them; else group by group. */
CCS_FN void ccs_rows(uint32_t k, uint64_t t)
{
	if (k % CCS_ROWS == 0 && (t == 0 || ccs_b.w.nops > CCS_ROWS))
		ccs_resolve(k);
}

CCS_FN int ccs_begin(const struct ccs_dev_call &c)
{
	if (threadIdx.x == 0) {
		ccs_b.worker = c.worker0 + blockIdx.x / c.replicas;
		ccs_b.replica = blockIdx.x % c.replicas;
		ccs_b.replicas = c.replicas;
		ccs_b.replicas_max = c.replicas_max;
		ccs_b.w = c.workers[ccs_b.worker];
		ccs_b.io = c.far_ranks ? c.far_ranks[ccs_b.w.rank] : c.ranks[ccs_b.w.rank];
		ccs_b.ops = c.ops;
		ccs_b.waits = c.waits;
		ccs_b.workers = c.workers;
		ccs_b.cells = c.cells;
		ccs_b.fifos = c.fifos;
		ccs_b.done = c.done;
		ccs_b.stage = c.stage;
		ccs_b.abort = c.abort;
		ccs_b.report = c.report;
		ccs_b.count = c.count;
		ccs_b.tile = c.tile;
		ccs_b.ntiles = c.ntiles;
		ccs_b.longest = c.longest;
		ccs_b.limit = c.limit;
		ccs_b.scalar = (ccs_elem)c.scalar;
		ccs_b.epoch = c.epoch[CCS_LINE_OF(ccs_b.worker)];
	}
	return ccs_barrier(0);
}

/* Cells whose initial value is their final one (by == 0), or the quotient of sums;
 * the rank's workers share them, each replica does its own tiles. */
CCS_CALL void ccs_post_cells(const struct ccs_dev_range *g, uint32_t n, uint32_t by)
{
	uint32_t turn = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t cell = g[i].first; cell < g[i].first + g[i].n; cell++) {
			uint64_t len = ~(uint64_t)0;
			uint8_t *to = ccs_cell(cell, false, &len);
			const uint8_t *from = by ? to : ccs_cell(cell, true, &len);

			if (from == to && !by && CCS_OP != CCS_DEV_PREMUL)
				continue;
			for (uint64_t t = 0; t < ccs_b.ntiles; t++) {
				const uint64_t lo = (t * ccs_b.replicas + ccs_b.replica) * ccs_b.tile;
				const uint64_t own = ccs_rest(len, lo), at = lo * CCS_SIZE;
				const bool aligned = !(((uintptr_t)from | (uintptr_t)to) & 15);

				if (turn++ % ccs_b.w.of != ccs_b.w.index)
					continue;
				for (uint64_t u = threadIdx.x; u * CCS_LANES < own; u += blockDim.x) {
					const uint64_t left = own - u * CCS_LANES;
					ccs_vec v = ccs_fetch(from + at + u * 16, left, aligned);

					if (by)
						v = ccs_divide16(v, by);
					else if (CCS_OP == CCS_DEV_PREMUL)
						v = ccs_scale16(v, ccs_b.scalar);
					ccs_keep(to + at + u * 16, v, left, aligned);
				}
			}
		}
}

/* All workers of the rank have done all their operations. */
CCS_CALL int ccs_meet(void)
{
	const uint32_t first = ccs_b.worker - ccs_b.w.index;
	const uint64_t end = ccs_b.epoch + ccs_b.ntiles;
	int stop = 0;

	if (ccs_b.w.of == 1)
		return ccs_barrier(0);
	ccs_barrier(0);
	if (threadIdx.x == 0) {
		ccs_fence();	/* ORDER: results before the rank's other workers divide them */
		ccs_st_relaxed(ccs_b.done + CCS_LINE_OF(ccs_b.worker), end * ccs_b.w.count);
	}
	for (uint32_t i = threadIdx.x; i < ccs_b.w.of; i += blockDim.x)
		stop |= ccs_wait_for(ccs_b.done + CCS_LINE_OF(first + i),
				     end * ccs_b.workers[first + i].count, CCS_DEV_STUCK_WORKER,
				     CCS_DEV_NONE, first + i, 0, ccs_b.ntiles);
	return ccs_barrier(stop);
}

/* The ends of this worker's FIFOs, to where the call leaves them. */
CCS_CALL void ccs_leave_fifos(int stop)
{
	const uint64_t end = ccs_b.epoch + ccs_b.ntiles, line = (uint64_t)ccs_b.replica * CCS_DEV_LINE;

	for (uint32_t k = threadIdx.x; k < ccs_b.w.nops; k += blockDim.x) {
		const struct ccs_dev_op o = ccs_b.ops[ccs_b.w.op + k];

		if (o.form & CCS_DEV_IN && !(o.form & CCS_DEV_FROM_STAGE))
			ccs_st_relaxed(ccs_b.fifos[o.in].tail + line, end * ccs_b.fifos[o.in].messages);
		if (o.form & CCS_DEV_OUT && !(o.form & CCS_DEV_TO_STAGE))
			ccs_st_relaxed(ccs_b.fifos[o.out].head + line,
				       end * ccs_b.fifos[o.out].messages);
	}
#if CCS_PROTO == CCS_DEV_LL
	/* The messages that were not sent: their slots as after a filling. */
	for (uint32_t k = 0; k < ccs_b.w.nops && stop; k++) {
		const struct ccs_dev_op o = ccs_b.ops[ccs_b.w.op + k];

		if (o.form & CCS_DEV_OUT && !(o.form & CCS_DEV_TO_STAGE)) {
			const struct ccs_dev_fifo f = ccs_b.fifos[o.out];

			ccs_ll_fill(f.data + ccs_b.replica * f.slots * f.slot_bytes, 0,
				    f.slots * f.slot_bytes, (uint32_t)(end * f.messages));
		}
	}
#else
	(void)stop;
#endif
}

CCS_FN void ccs_end(const struct ccs_dev_call &c, int stop)
{
	const struct ccs_dev_post post = c.posts[ccs_b.w.rank];

	if (!stop && post.reduced > post.keep)
		ccs_post_cells(c.ranges + post.keep, post.reduced - post.keep, 0);
	if (!stop && c.divide && post.end > post.reduced) {
		stop = ccs_meet();
		if (!stop)
			ccs_post_cells(c.ranges + post.reduced, post.end - post.reduced, c.divide);
	}
	stop = ccs_barrier(stop);
	ccs_leave_fifos(stop);
	if (threadIdx.x == 0) {
		const uint64_t end = ccs_b.epoch + ccs_b.ntiles;

		ccs_fence();
		ccs_st_relaxed(ccs_b.done + CCS_LINE_OF(ccs_b.worker), end * ccs_b.w.count);
		c.epoch[CCS_LINE_OF(ccs_b.worker)] = end;
	}
}

/* Operation k, where its code is known; resolves rows as it comes to them. */
template <uint32_t F> CCS_FN int ccs_at(uint32_t k, uint64_t t)
{
	ccs_rows(k, t);
	return ccs_step<F>(k, t);
}
