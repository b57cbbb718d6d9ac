/*
 * Waiting, announcing, and giving up.
 *
 * A wait looks at a counter until it is far enough. From time to time it looks at the abort flag,
 * too, and with CCS_WATCHDOG at the clock: a block that waits too long reports where, and goes on
 * waiting; or, where that ends the call, sets the flag, which stops all other blocks: a block
 * that has waited for long by then reports for its part. A report of a wait that goes on is
 * stored by the loop itself: a function that returned there would make its callers keep in memory
 * what they have in registers. Functions return non-zero where the call is to stop; all threads
 * of a block get the same answer, since it comes from a barrier. A block that stops has seen the
 * flag set, or set it.
 *
 * Where all messages of a call fit into a FIFO's slots, no block waits for its tail, and it is
 * stored once, at the end (`late`). Its sender need not even look (`roomy`), if the receiver's
 * last call is over: on one device it is, when this call begins.
 */

#if CCS_PROTO == CCS_DEV_LL
#define CCS_PART CCS_FN /* it is used once */
#else
#define CCS_PART CCS_CALL /* all straight lines share it */
#endif

#if !defined(CCS_LONG_WAIT)
#define CCS_LONG_WAIT (1u << 14) /* looks: milliseconds */
#endif

struct ccs_stuck {
	uint32_t kind, worker, fifo, op; /* worker: the awaited one; fifo: the peer is at its
					    other end */
	uint64_t t, need, have;
};

/* Whether the awaited block runs in this launch. */
CCS_FN bool ccs_is_near(uint32_t kind, uint32_t fifo)
{
	uint32_t worker = ccs_b.worker0;

	if (kind == CCS_DEV_STUCK_RECV)
		worker = ccs_row_of(ccs_b.fifos, fifo).src_worker;
	if (kind == CCS_DEV_STUCK_SEND)
		worker = ccs_row_of(ccs_b.fifos, fifo).dst_worker;
	return worker - ccs_b.worker0 < ccs_b.nworkers;
}

/* Writes a report, unless this part has one. */
CCS_FN void ccs_report(struct ccs_dev_report *r, const struct ccs_stuck &s)
{
	if (!ccs_take(&r->taken))
		return;
	r->kind = s.kind;
	r->worker = ccs_b.worker;
	r->replica = ccs_b.replica;
	r->op = s.op;
	r->peer = s.worker;
	r->fifo = s.fifo;
	r->tile = s.t;
	r->need = s.need;
	r->have = s.have;
	ccs_fence_system();
	ccs_st_flag(&r->complete, 1);
}

/* The call is to stop, or this block has waited for too long: stops the call, and reports why. If
 * another block was first, this one reports if it has waited for another part and for more than
 * half of the limit. Arguments are separate: a struct would be in memory, and take registers in
 * the loops that wait. */
CCS_CALL void ccs_give_up(uint32_t kind, uint32_t worker, uint32_t fifo, uint32_t op, uint64_t t,
			  uint64_t need, uint64_t have, uint64_t waited)
{
	const uint64_t limit = ccs_b.limit;
	const bool long_enough = limit && waited > (ccs_is_near(kind, fifo) ? limit : limit / 2);

	if (ccs_b.report && (long_enough || kind == CCS_DEV_STUCK_TWICE))
		ccs_report(ccs_b.report, { kind, worker, fifo, op, t, need, have });
	ccs_st_flag(ccs_b.abort, 1);
}

#define CCS_LOOKS 32 /* looks at the counter between two looks at the flag and the clock */

/* After a look that failed; or after one that succeeded late (`came`): a block that had given up
 * may have moved the counter. Non-zero: stop. A block that waits for another worker of its rank
 * reports later than the limit, so that the other worker reports first, with the rank that it waits
 * for. */
CCS_FN int ccs_patience(uint32_t *looks, uint64_t *since, const struct ccs_stuck &s, bool came)
{
	if (++*looks % CCS_LOOKS && !came)
		return 0;
	const bool stop = ccs_ld_flag(ccs_b.abort);
#if defined(CCS_WATCHDOG)
	const uint64_t now = ccs_clock();

	if (!*since)
		*since = now;
	if (!stop &&
	    (came || !ccs_b.limit ||
	     now - *since <= ccs_b.limit + (s.kind == CCS_DEV_STUCK_WORKER ? ccs_b.limit / 4 : 0)))
		return 0;
	if (!stop && !ccs_b.ends) {
		if (ccs_b.report && !ccs_ld_flag(&ccs_b.report[1].taken))
			ccs_report(ccs_b.report + 1, s);
		return 0;
	}
	ccs_give_up(s.kind, s.worker, s.fifo, s.op, s.t, s.need, s.have, now - *since);
	return 1;
#else
	(void)since;
	(void)s;
	return stop;
#endif
}

/* Waits until the counter is at least `need`. */
CCS_FN int ccs_wait_for(const uint64_t *p, struct ccs_stuck s)
{
	uint32_t looks = 0;
	uint64_t since = 0;

	for (;;) {
		s.have = ccs_ld_acquire(p); /* ORDER: the wait before what comes after it */
		const bool came = (int64_t)(s.have - s.need) >= 0;

		if (came && looks < CCS_LONG_WAIT)
			return 0;
		if (ccs_patience(&looks, &since, s, came))
			return 1;
		if (came)
			return 0;
	}
}

/* Waits for wait i of an operation. */
CCS_FN int ccs_wait_worker(const struct ccs_row &r, uint32_t i, uint32_t k, uint64_t t)
{
	const struct ccs_dev_wait w = ccs_row_of(ccs_b.waits, r.op.wait + i);

	return ccs_wait_for(ccs_b.done + CCS_LINE_OF(ccs_b, w.worker),
			    { CCS_DEV_STUCK_WORKER, w.worker, CCS_DEV_NONE, k, t,
			      (ccs_b.epoch + t) * ccs_row_of(ccs_b.workers, w.worker).count + w.ops,
			      0 });
}

/* Threads that wait are in separate warps, if there are enough. */
CCS_FN uint32_t ccs_apart(void)
{
	return blockDim.x >= 128 ? 32 : 1;
}

#if CCS_PASSES
/* What an operation of a chain adds to the value that the one before it leaves in `value`: its
 * message, or the one of its cells that is not that. */
CCS_FN const uint8_t *ccs_addend(const struct ccs_row &r, const uint8_t *value, uint64_t t)
{
	const uint64_t number = r.in_number + t * r.in_messages;
	const uint32_t own = r.cell.at[CCS_SPOT_A] == value ? CCS_SPOT_B : CCS_SPOT_A;

	if ((r.op.form & (CCS_DEV_IN | CCS_DEV_IN_READ)) == CCS_DEV_IN)
		return r.in + (number & (r.in_slots - 1)) * r.in_bytes;
	return r.cell.at[r.op.form & CCS_DEV_IN ? CCS_SPOT_FROM : own] +
	       ccs_lo(ccs_b, t) * CCS_SIZE;
}

/* Whether the other operations of operation k's chain may start, too, and their addresses: run by
 * threads of the warp that waited for k's message, when it has come. */
CCS_FN void ccs_look(uint32_t k, uint64_t t, uint32_t from)
{
	const uint32_t chain = ccs_b.rows[k % CCS_ROWS].chain;

	ccs_meet_warp();
#pragma unroll 1
	for (uint32_t i = threadIdx.x - from; i < chain; i += blockDim.x - from) {
		const struct ccs_row &r = ccs_b.rows[(k + i) % CCS_ROWS];
		const uint64_t in = r.in_number + t * r.in_messages;
		const uint64_t out = r.out_number + t * r.out_messages;
		uint64_t head = in + 1, tail = out + 1;

		if (i && r.op.form & CCS_DEV_IN)
			head = ccs_ld_acquire(r.in_head); /* ORDER: a look at a head */
		if (i && r.op.form & CCS_DEV_OUT && !r.roomy)
			tail = ccs_ld_acquire(r.out_tail);
		ccs_b.links[i].here = (int64_t)(head - in - 1) >= 0 &&
				      (int64_t)(tail - out - 1 + r.out_slots) >= 0;
		if (i && !ccs_b.rows[k % CCS_ROWS].bundled)
			ccs_b.links[i].in = ccs_addend(
				r, ccs_b.rows[(k + i - 1) % CCS_ROWS].cell.at[CCS_SPOT_DST], t);
		ccs_b.links[i].out = !CCS_GIVES(r.op.form) ? 0
				     : r.op.form & CCS_DEV_OUT_DIRECT
					     ? r.cell.at[CCS_SPOT_TO] + ccs_lo(ccs_b, t) * CCS_SIZE
					     : r.out + (out & (r.out_slots - 1)) * r.out_bytes;
	}
}

/* After ccs_ready: the number of operations from k on that may begin, to be done in one pass. */
CCS_FN uint32_t ccs_come(uint32_t k)
{
	const uint32_t chain = ccs_b.rows[k % CCS_ROWS].chain;
	uint32_t m = 1;

#pragma unroll 1
	while (m < chain && ccs_b.links[m].here)
		m++;
	return m;
}
#endif

/* Waits until operation k may start. LL messages are awaited where they are read. */
CCS_PART int ccs_ready(uint32_t k, uint64_t t)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];
	const bool heads = CCS_PROTO == CCS_DEV_SIMPLE && CCS_IS_IN(r.op.form);
	const bool tails = CCS_IS_OUT(r.op.form) && !r.roomy;
	const uint32_t apart = ccs_apart();
	int stop = 0;

	if (!heads && !tails && !r.op.nwaits && !(CCS_PASSES && r.chain > 1))
		return 0;
	if (heads && threadIdx.x == 0)
		stop = ccs_wait_for(r.in_head, { CCS_DEV_STUCK_RECV, CCS_DEV_NONE, r.op.in, k, t,
						 r.in_number + t * r.in_messages + 1, 0 });
	if (tails && threadIdx.x == apart)
		stop = ccs_wait_for(r.out_tail,
				    { CCS_DEV_STUCK_SEND, CCS_DEV_NONE, r.op.out, k, t,
				      r.out_number + t * r.out_messages + 1 - r.out_slots, 0 });
	if (threadIdx.x == 2 * apart)
#pragma unroll 1
		for (uint32_t i = 0; i < r.op.nwaits && !stop; i++)
			stop = ccs_wait_worker(r, i, k, t);
#if CCS_PASSES
	if (r.chain > 1)
		ccs_look(k, t, heads ? 0 : apart);
#endif
	stop = ccs_barrier(stop);
	ccs_times_ready();
	return stop;
}

/* After the data: a barrier, then thread 0 stores the counters. LL messages need no counter;
 * without counters to store, the threads go on, each with its own units (ccs_step). */
CCS_PART int ccs_tell(uint32_t k, uint64_t t, int stop)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];
	const bool sent = CCS_PROTO == CCS_DEV_SIMPLE && CCS_IS_OUT(r.op.form);
	const bool taken = CCS_IS_IN(r.op.form) && !r.late;
	const bool done = r.op.form & CCS_DEV_PUBLISH;

	stop = ccs_barrier(stop);
	if (threadIdx.x == 0 && (sent || taken || done) && !stop) {
		ccs_fence(); /* ORDER: data before counters */
		if (sent)
			ccs_st_relaxed(r.out_head, r.out_number + t * r.out_messages + 1);
		if (taken)
			ccs_st_relaxed(r.in_tail, r.in_number + t * r.in_messages + 1);
		if (done)
			ccs_st_relaxed(ccs_b.done + CCS_LINE_OF(ccs_b, ccs_b.worker),
				       (ccs_b.epoch + t) * ccs_b.w.count + r.op.done);
	}
	return stop;
}

#if CCS_PASSES
/* The same for m operations with one fence. The last one that publishes also publishes for the
 * others. */
CCS_FN void ccs_tell_all(uint32_t k, uint64_t t, uint32_t m)
{
	uint32_t done = 0;

	ccs_barrier(0);
	if (threadIdx.x)
		return;
	ccs_fence(); /* ORDER: data before the counters of a pass */
#pragma unroll 1
	for (uint32_t i = 0; i < m; i++) {
		const struct ccs_row &r = ccs_b.rows[(k + i) % CCS_ROWS];

		if (r.op.form & CCS_DEV_OUT)
			ccs_st_relaxed(r.out_head, r.out_number + t * r.out_messages + 1);
		if (r.op.form & CCS_DEV_IN && !r.late)
			ccs_st_relaxed(r.in_tail, r.in_number + t * r.in_messages + 1);
		if (r.op.form & CCS_DEV_PUBLISH)
			done = r.op.done;
	}
	if (done)
		ccs_st_relaxed(ccs_b.done + CCS_LINE_OF(ccs_b, ccs_b.worker),
			       (ccs_b.epoch + t) * ccs_b.w.count + done);
}
#endif

/* ---- turns --------------------------------------------------------------------------
 * turn[0]: 0, or the number of the grid with the turn. The first of a grid's blocks takes it for
 * all of them; the last that is done gives it back, so all have had it by then. A block never
 * leaves without having had the turn, or the state's counters would be left at different calls:
 * when the call is to stop, it still waits, since the grid that has the turn stops as well, and
 * then stops itself. */

CCS_CALL int ccs_turn_wait(uint64_t *turn, uint64_t mine)
{
	struct ccs_stuck s = {
		CCS_DEV_STUCK_TURN, CCS_DEV_NONE, CCS_DEV_NONE, CCS_DEV_NONE, 0, mine, 0
	};
	uint32_t looks = 0;
	uint64_t since = 0;
	int stop = 0;

	for (;;) {
		s.have = ccs_ld_acquire(turn);
		if (!s.have)
			s.have = ccs_swap(turn, 0, mine);
		if (s.have == 0 || s.have == mine)
			return stop;
		stop |= ccs_patience(&looks, &since, s, false);
	}
}

/* Whether another graph of this launch's capture runs, too. `begun`: as this block found it;
 * `done`: blocks that were done. */
CCS_FN bool ccs_twice(const struct ccs_dev_call &c, uint64_t begun, uint64_t done)
{
	return c.begun && (int64_t)(done - begun * c.nworkers * c.replicas) < 0;
}

/* Gives the turn back, after everything that this block leaves for the next grid. By one
 * thread. */
CCS_FN void ccs_turn_give(uint64_t *turn, uint64_t blocks)
{
	ccs_fence_device(); /* ORDER: what a block leaves, before it is done */
	if (ccs_add(turn + 1, 1) + 1 < blocks)
		return;
	ccs_st_relaxed(turn + 1, 0);
	ccs_fence_device(); /* what the other blocks left, before the turn */
	ccs_st_relaxed(turn, 0);
}
