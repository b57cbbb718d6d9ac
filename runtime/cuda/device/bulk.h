/*
 * Bulk copies: forms that only move data, by the copy engine of a multiprocessor (TMA), from
 * sm_90 on. Only in kernels of the Simple protocol that are compiled with -D CCS_BULK=1, which is
 * off unless $CCS_BULK is set.
 *
 * Scope. Operations, and passes over a chain, that have one source and add nothing to it: their
 * whole units of aligned cells. One thread, thread 0, which also waits for heads and stores
 * counters, moves them through a ring of bays in shared memory; the other threads wait at the
 * operation's barrier, and hold neither registers nor load slots for data in flight. In a chain
 * each bay is loaded once, and stored to all destinations.
 *
 *   portion i	global -> bay i % BAYS	announced by the bay's mbarrier
 *		bay -> each destination	one bulk group a portion
 *
 * Bay s is loaded again when the last group that reads it has finished reading: at most
 * CCS_BULK_BEHIND younger groups may still read. Loads run CCS_BULK_AHEAD portions ahead of stores,
 * so BAYS = AHEAD + BEHIND + 1.
 *
 * Left to the ordinary path, decided at run time, by data that all threads of the block share:
 * cells that are not 16-aligned or are in rows (`aligned` of their spot), the elements behind a
 * cell's last whole unit (ccs_each), messages of many small cells, fewer than CCS_BULK_LEAST
 * bytes, and initial values of a premul-sum. So the bytes of a tile may be split between both ways;
 * each byte uses one way.
 *
 * Order. Bulk copies read and write in the async proxy, all other accesses are of the generic one.
 * PTX ISA 9.0: 8.9.5 (causality order), 9.7.9.25.2 (async proxy), `fence`. 8.9.5 has no rule for
 * fence.proxy.async. We assume, after 9.7.9.25.2, that the fence orders accesses of the two proxies
 * to the same place, and put it where every reading of the text holds: directly before the access.
 *
 *   generic, then async: data that a block or a peer has stored, or has read and that may be
 *	overwritten now, is ordered before this block's wait, or its barrier. Then thread 0's
 *	fence.proxy.async, before its first bulk copy of an operation: a proxy fence works in the
 *	block of the access that is not generic, so it stands on this side, also where the other
 *	side is another GPU. Users' buffers are ordered by the kernel's beginning.
 *   async, then async, in shared memory: a bay is touched by bulk copies of one block alone. A
 *	load is complete when its mbarrier's phase is, a store has read when
 *	wait_group.read says so, and then the same thread goes on.
 *   async, then generic or async elsewhere: completion of a bulk copy implies a proxy fence. A load
 *	is waited for before its portion is stored: so a slot is read before the tail is stored.
 *	Stores are waited for by wait_group (not .read: that is of the bay alone) in ccs_bulk_end,
 *	after which the writes are visible to thread 0; then the operation's barrier, so they
 *	are to the block; then thread 0's fence for the device or the system, which is cumulative,
 *	and the counter. A block that acquires the counter sees them; before its bulk copies it runs
 *	its proxy fence, as above.
 *
 * Slots in the host's memory, where GPUs do not reach one another, are global memory like any
 * other for the ISA.
 *
 * A bulk copy that has begun always ends: no wait in here looks at the abort flag. No block exits
 * before its copies have ended, because every operation ends with ccs_tell().
 *
 * The constants are guesses until they are measured: 32 KiB of bays plus about 10 KiB of rows stay
 * within the 48 KiB of static shared memory.
 */
#if !defined(CCS_BULK) || CCS_PROTO != CCS_DEV_SIMPLE
#undef CCS_BULK
#define CCS_BULK 0
#endif

#if CCS_BULK

#if !defined(CCS_BULK_BYTES)
#define CCS_BULK_BYTES 8192u /* of a bay: a multiple of 16 */
#define CCS_BULK_LEAST 2048u /* that are worth a bulk copy */
#endif
#define CCS_BULK_AHEAD 2u
#define CCS_BULK_BEHIND 1u
#define CCS_BULK_BAYS 4u

struct ccs_bulk {
	__attribute__((aligned(128))) uint8_t bay[CCS_BULK_BAYS][CCS_BULK_BYTES];
	uint64_t full[CCS_BULK_BAYS]; /* mbarriers: a phase for each load */
	uint32_t portions;	      /* of the whole launch, before this operation */
};

#if !defined(CCS_EMULATION)
#if __CUDA_ARCH__ < 900
#error "bulk copies need sm_90"
#endif

__shared__ struct ccs_bulk ccs_ring;

CCS_FN uint64_t ccs_shared_at(const void *p)
{
	return __cvta_generic_to_shared(p);
}

/* One arrival ends a phase, with the bytes that it expects. */
CCS_FN void ccs_bulk_init(uint64_t *full)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
		     :
		     : "l"(ccs_shared_at(full))
		     : "memory");
}

CCS_FN void ccs_bulk_load(uint8_t *bay, const uint8_t *from, uint32_t bytes, uint64_t *full)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
		     :
		     : "l"(ccs_shared_at(full)), "r"(bytes)
		     : "memory");
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		     "[%0], [%1], %2, [%3];"
		     :
		     : "l"(ccs_shared_at(bay)), "l"(from), "r"(bytes), "l"(ccs_shared_at(full))
		     : "memory");
}

/* Until the phase of that parity is over. */
CCS_FN void ccs_bulk_wait_full(uint64_t *full, uint32_t parity)
{
	uint32_t over;

	do
		asm volatile("{\n\t"
			     ".reg .pred %%o;\n\t"
			     "mbarrier.try_wait.parity.shared::cta.b64 %%o, [%1], %2;\n\t"
			     "selp.u32 %0, 1, 0, %%o;\n\t"
			     "}"
			     : "=r"(over)
			     : "l"(ccs_shared_at(full)), "r"(parity)
			     : "memory");
	while (!over);
}

CCS_FN void ccs_bulk_store(uint8_t *to, const uint8_t *bay, uint32_t bytes)
{
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
		     :
		     : "l"(to), "l"(ccs_shared_at(bay)), "r"(bytes)
		     : "memory");
}

CCS_FN void ccs_bulk_commit(void)
{
	asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}

/* Until at most CCS_BULK_BEHIND groups still read their bays. */
CCS_FN void ccs_bulk_wait_read(void)
{
	asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(CCS_BULK_BEHIND) : "memory");
}

/* Until all groups have written. */
CCS_FN void ccs_bulk_wait_written(void)
{
	asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
}

CCS_FN void ccs_fence_proxy(void)
{
	asm volatile("fence.proxy.async;" : : : "memory");
}
#endif

/* The bytes of portion i of `bytes`. */
CCS_FN uint32_t ccs_bulk_part(uint64_t bytes, uint32_t i)
{
	const uint64_t left = bytes - (uint64_t)i * CCS_BULK_BYTES;

	return left < CCS_BULK_BYTES ? (uint32_t)left : CCS_BULK_BYTES;
}

/* Moves `bytes`, a multiple of 16, by thread 0: put(at, bay, n) stores n bytes of a bay where
 * those at `at` go. The stored bytes are visible only after ccs_bulk_end. */
template <typename Put>
CCS_FN void ccs_bulk_copy(const uint8_t *from, uint64_t bytes, const Put &put)
{
	const uint32_t n = (uint32_t)((bytes + CCS_BULK_BYTES - 1) / CCS_BULK_BYTES);
	const uint32_t portions = ccs_ring.portions;

	ccs_fence_proxy(); /* BULK: what was stored and read before, in the generic proxy */
#pragma unroll 1
	for (uint32_t i = 0; i < n + CCS_BULK_AHEAD; i++) {
		if (i < n) {
			const uint32_t s = (portions + i) % CCS_BULK_BAYS;

			ccs_bulk_wait_read(); /* BULK: a bay, before it is loaded again */
			ccs_bulk_load(ccs_ring.bay[s], from + (uint64_t)i * CCS_BULK_BYTES,
				      ccs_bulk_part(bytes, i), ccs_ring.full + s);
		}
		if (i >= CCS_BULK_AHEAD) {
			const uint32_t j = i - CCS_BULK_AHEAD, s = (portions + j) % CCS_BULK_BAYS;
			const uint32_t parity = (portions + j) / CCS_BULK_BAYS & 1;

			ccs_bulk_wait_full(ccs_ring.full + s, parity); /* BULK: a bay is loaded */
			put((uint64_t)j * CCS_BULK_BYTES, ccs_ring.bay[s], ccs_bulk_part(bytes, j));
			ccs_bulk_commit();
		}
	}
	ccs_ring.portions = portions + n;
}
#endif

/* Before a thread's first bulk copy. */
CCS_FN void ccs_bulk_begin(void)
{
#if CCS_BULK
	if (threadIdx.x)
		return;
	for (uint32_t s = 0; s < CCS_BULK_BAYS; s++)
		ccs_bulk_init(ccs_ring.full + s);
	ccs_ring.portions = 0;
	ccs_fence_proxy(); /* the mbarriers, before copies arrive at them */
#endif
}

/* Runs before the barrier after the copies: all bytes have reached their destinations. */
CCS_FN void ccs_bulk_end(void)
{
#if CCS_BULK
	if (threadIdx.x == 0)
		ccs_bulk_wait_written(); /* BULK: data before counters */
#endif
}

/* Whether such a form's units are moved in bulk; `form` says more of it, as in ccs_units. */
CCS_FN bool ccs_bulk_takes(uint32_t f, uint32_t form, uint32_t units)
{
#if CCS_BULK
	const uint32_t sources = f & (CCS_DEV_IN | CCS_DEV_A | CCS_DEV_B);
	const bool scaled =
		CCS_OP == CCS_DEV_PREMUL && form & (CCS_DEV_A_INITIAL | CCS_DEV_B_INITIAL);

	return sources && !(sources & (sources - 1)) && !scaled &&
	       (uint64_t)units * 16 >= CCS_BULK_LEAST;
#else
	(void)f, (void)form, (void)units;
	return false;
#endif
}
