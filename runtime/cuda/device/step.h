/*
 * The functions that generated code calls. Their helpers are here and in the headers above.
 *
 *   ccs_begin(c)		turn, epoch; resolves the first group of operations
 *   ccs_run<FORM>(k, t, &stop)	straight-line code: operations k, k + 1, ... of one form
 *   ccs_table(k, t, &stop)	operations of any form, to the end of the group
 *   ccs_next(k, t, stop)	the operation behind those, its group resolved; or a tile's first
 *   ccs_end(c, stop)		the work after the operations; counters to the call's end
 *
 * An operation: wait, move, announce. Both return the first operation that they have not done.
 * ccs_run does plain operations: one cell, of aligned whole units. It leaves other operations,
 * and a form that it does not expect, to the table. So a line is right for any worker. The table
 * also does chains: when an operation may start, the operations of its chain that may start by
 * then are done with it, in one pass. All is one function, except what is CCS_CALL or CCS_PART:
 * nothing is spilt.
 *
 * At the end. A block leaves its state to the next launch on this device, which is ordered behind
 * this one, by the stream or by the turn. A call leaves heads, tails, `done` and epoch as a whole
 * run does, also when it stops. Where FIFOs reach another device, the peer may be in the same
 * call still, or in the next one already, so even then
 *   - this block's reads of slots come before its store of the tail: a fence,
 *     behind a barrier, before the late tails;
 *   - a block that stops moves heads past messages that it never sent, and LL flags
 *     likewise. A peer that takes such a message for one goes on with garbage. But
 *     this block has seen the abort flag set, or set it, before the barrier and the
 *     fence, and then stores the head: so a thread that acquires the head, and everything ordered
 *     after that, the end of the peer's launch too, finds the flag set
 *     (coherence: no later look at the flag sees an older value). The host looks at
 *     the flag after the launch: a call that took garbage is known to have failed.
 */

/* The number of operations from k on that fit into the rows. */
CCS_FN uint32_t ccs_group(const struct ccs_known &b, uint32_t k)
{
	return b.w.nops - k < CCS_ROWS ? b.w.nops - k : CCS_ROWS;
}

/* Makes the rows of operations k .. k + n - 1. The two halves of a row are made by two warps
 * concurrently, if there are two. */
CCS_FN void ccs_rows_make(uint32_t k, uint32_t n)
{
#pragma unroll 1
	for (uint32_t i = threadIdx.x; i < 2 * CCS_ROWS; i += blockDim.x)
		if (i % CCS_ROWS < n)
			ccs_resolve_half(k, i);
	ccs_barrier(0);
	ccs_spots_make_all(n);
}

#if CCS_PROTO == CCS_DEV_LL
/* Resolves a group of operations that begins at k: the plain operations, and if there are others,
 * the rows of all. `b`: ccs_b, or its future contents after the barrier. */
CCS_FN void ccs_resolve(const struct ccs_known &b, uint32_t k)
{
	const uint32_t n = ccs_group(b, k);
	int others = 0;

#pragma unroll 1
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		others |= !ccs_plain_make(b, k + i, ccs_b.plain + i);
	if (threadIdx.x + 1 == blockDim.x) {
		ccs_b.plain[n].key = CCS_DEV_NONE;
		ccs_b.plain[n].op = k + n;
	}
	if (ccs_barrier(others))
		ccs_rows_make(k, n);
}
#else
CCS_FN void ccs_resolve(const struct ccs_known &b, uint32_t k)
{
	const uint32_t n = ccs_group(b, k);

	ccs_rows_make(k, n);
#if CCS_PASSES
#pragma unroll 1
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		ccs_pass_make(i, n);
	ccs_barrier(0);
#endif
}
#endif

/* Resolves the group that begins at operation k, for a worker with several groups. */
CCS_CALL void ccs_regroup(uint32_t k)
{
	ccs_barrier(0); /* the previous rows are no longer read */
	ccs_resolve(ccs_b, k);
}

/* After the operations before k: makes operation k the next, resolved; 0 at the end of the
 * tile. */
CCS_FN uint32_t ccs_next(uint32_t k, uint64_t t, int stop)
{
	k = k < ccs_b.w.nops ? k : 0;
	if (ccs_b.w.nops > CCS_ROWS && !stop && (k || t + 1 < ccs_b.ntiles))
		ccs_regroup(k);
	return k;
}

#if CCS_PROTO == CCS_DEV_SIMPLE
CCS_FN void ccs_move_all(uint32_t k, uint64_t t)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];
	const uint32_t n = ccs_in_place(r.op.form) ? 0 : r.op.n;

	for (uint32_t j = 0; j < n; j += CCS_ROWS) {
		if (n > 1)
			ccs_spots_make(k, j);
		ccs_move(k, t, j);
	}
}

#if CCS_PASSES
/* The number of operations from k on, all able to begin, that are done in one pass; in a
 * chain, those of whole units. */
CCS_FN uint32_t ccs_together(uint32_t k, uint64_t t)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];

	if (!r.bundled) {
		const struct ccs_part p = ccs_part_of(ccs_b, r, r.cell, 0, t);

		if (p.whole < p.units)
			return 1;
	}
	return ccs_come(k);
}

/* Does operation k, with others of its chain or bundle: then k becomes the last of them. */
CCS_FN int ccs_step(uint32_t &k, uint64_t t)
{
	if (ccs_ready(k, t))
		return 1;
	const uint32_t m = ccs_together(k, t);

	if (m > 1 && !ccs_b.rows[k % CCS_ROWS].bundled)
		ccs_pass(k, t, m);
	else
#pragma unroll 1
		for (uint32_t i = 0; i < m; i++)
			ccs_move_all(k + i, t);
	if (m == 1)
		return ccs_tell(k, t, 0);
	CCS_NOTE_PASS(m);
	ccs_tell_all(k, t, m);
	k += m - 1;
	return 0;
}
#else
CCS_FN int ccs_step(uint32_t k, uint64_t t)
{
	if (ccs_ready(k, t))
		return 1;
	ccs_move_all(k, t);
	return ccs_tell(k, t, 0);
}
#endif

template <uint32_t F> CCS_FN uint32_t ccs_run(uint32_t k, uint64_t t, int *stop)
{
#pragma unroll 1
	for (; k < ccs_b.w.nops && !*stop; k++) {
		const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];
		struct ccs_part p;

		if (CCS_TRACED || (r.op.form & CCS_DEV_FORM) != F || r.op.n != 1 ||
		    (CCS_PASSES && r.chain > 1))
			return k;
		p = ccs_part_of(ccs_b, r, r.cell, 0, t);
		if (p.whole < p.units)
			return k;
		*stop = ccs_ready(k, t);
		if (*stop)
			return k;
		if (!ccs_in_place(r.op.form))
			ccs_units<F>(p, r.op.form);
		*stop = ccs_tell(k, t, 0);
	}
	return k;
}

CCS_FN uint32_t ccs_table(uint32_t k, uint64_t t, int *stop)
{
	do {
		if (k >= ccs_b.w.nops || *stop)
			return k;
		ccs_times_wait();
		*stop = ccs_step(k, t);
		if (!*stop)
			ccs_times_done(k, t);
		k++;
	} while (k % CCS_ROWS);
	return k;
}
#else
/* Loads n contiguous elements from p; WHOLE: an aligned unit. */
template <bool WHOLE> CCS_FN ccs_vec ccs_plain_load(const uint8_t *p, uint32_t n)
{
	return WHOLE ? ccs_load16(p) : ccs_fetch(p, n);
}

/* The same for an operand, which premul-sum may multiply. */
template <bool WHOLE>
CCS_FN ccs_vec ccs_plain_operand(const uint8_t *p, uint32_t n, uint32_t initial)
{
	const ccs_vec v = ccs_plain_load<WHOLE>(p, n);

	if (CCS_OP != CCS_DEV_PREMUL || !initial)
		return v;
	return ccs_scale16(v, ccs_has_factors(ccs_b.io)
				      ? ccs_plain_load<WHOLE>(ccs_factor_of(ccs_b.io, p), n)
				      : ccs_b.scalar);
}

/* Does a plain operation of form F, apart from initial operands; WHOLE: all its units are
 * whole. Non-zero: its wait failed. */
template <uint32_t F, bool WHOLE> CCS_FN int ccs_plain_step(const struct ccs_plain *row)
{
	const struct ccs_plain p = *row;
	const uint32_t f = F == CCS_ANY ? p.form : F;

#pragma unroll 1
	for (uint32_t u = threadIdx.x; u < p.units; u += blockDim.x) {
		const uint32_t first = u * CCS_PER_UNIT, n = p.own > first ? p.own - first : 0;
		const uint64_t at = (uint64_t)u * 16;
		ccs_vec in = ccs_zero(), a = in, b = in;

		if (f & CCS_DEV_A)
			a = ccs_plain_operand<WHOLE>(p.a + at, n, p.form & CCS_DEV_A_INITIAL);
		if (f & CCS_DEV_B)
			b = ccs_plain_operand<WHOLE>(p.b + at, n, p.form & CCS_DEV_B_INITIAL);
		if (f & CCS_DEV_IN) {
			const auto stuck = [row] { return ccs_stuck_at(row->fifo, row->op, 0); };

			if (ccs_ll_take(p.in + 2 * at, p.in_flag, &in, stuck))
				return 1;
		}
		in = ccs_value(f, in, a, b);
		if (f & CCS_DEV_OUT)
			ccs_st_entries(p.out + 2 * at, in, p.out_flag);
		if (!(f & CCS_DEV_DST))
			continue;
		if (WHOLE)
			ccs_store16(p.dst + at, in);
		else
			ccs_keep(p.dst + at, in, n);
	}
	return 0;
}

/* The same for any form, as the table does it. */
CCS_FN int ccs_plain_any(const struct ccs_plain *row)
{
	return row->key == CCS_PLAIN_PARTS ? ccs_plain_step<CCS_ANY, false>(row)
					   : ccs_plain_step<CCS_ANY, true>(row);
}

/* Runs a straight line of plain operations of one form. Such operations have no barrier between
 * them, so each thread has its `gone`, until the table's barrier; but all threads stop at the same
 * operation. */
template <uint32_t F> CCS_FN uint32_t ccs_run(uint32_t k, uint64_t t, int *gone)
{
	const struct ccs_plain *p = ccs_b.plain + k;

	(void)t;
	if (CCS_TRACED)
		return k;
#pragma unroll 1
	for (; p->key == F; p++)
		if (!*gone)
			*gone = ccs_plain_step<F, true>(p);
	return p->op;
}

/* One step for any form. A unit u of a cell belongs to the same thread in all operations of
 * one cell, so these need no barrier between them; other operations have one on either side. A
 * thread that gave up (`gone`) still takes part in the block's barriers, and does nothing
 * else. */
CCS_FN int ccs_step(uint32_t k, uint64_t t, int *gone)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS]; /* there if any is not plain */
	const uint64_t number = r.out_number + t * r.out_messages;
	const bool fill = CCS_IS_OUT(r.op.form) && ccs_ll_fills(number, r.out_slots);
	const bool tells = r.op.form & CCS_DEV_PUBLISH || (CCS_IS_IN(r.op.form) && !r.late);
	const uint32_t n = r.op.n ? r.op.n : 1;

	if (ccs_b.plain[k % CCS_ROWS].key != CCS_DEV_NONE) {
		*gone = *gone || ccs_plain_any(ccs_b.plain + k % CCS_ROWS);
		return 0;
	}
	if (ccs_ready(k, t))
		return 1;
	for (uint32_t j = 0; j < n; j += CCS_ROWS) {
		if (n > 1)
			ccs_spots_make(k, j);
		*gone = *gone || ccs_each(k, t, j, fill);
	}
	if (fill && !*gone)
		ccs_ll_fill(ccs_out_slot(r, number), (uint64_t)n * ccs_b.room, r.out_bytes,
			    (uint32_t)number + 1);
	return tells || n > 1 ? ccs_tell(k, t, *gone) : 0;
}

/* *stop: each thread of a straight line has its own value; after the barrier it is common. */
CCS_FN uint32_t ccs_table(uint32_t k, uint64_t t, int *stop)
{
	int gone = *stop;

	*stop = 0;
	do {
		if (k >= ccs_b.w.nops || *stop)
			break;
		ccs_times_wait();
		*stop = ccs_step(k, t, &gone);
		if (!*stop && !gone)
			ccs_times_done(k, t);
		k++;
	} while (k % CCS_ROWS);
	*stop = *stop || ccs_barrier(gone);
	return k;
}
#endif

/* Sets the data that the report of a wait needs. */
CCS_FN void ccs_known_report(const struct ccs_dev_call &c, struct ccs_known *b)
{
	b->worker = c.worker0 + blockIdx.x / c.replicas;
	b->replica = blockIdx.x % c.replicas;
	b->fifos = c.fifos;
	b->abort = c.abort;
	b->report = c.report;
	b->limit = c.limit;
	b->ends = c.ends;
	b->worker0 = c.worker0;
	b->nworkers = c.nworkers;
}

/* Copies the data that a thread needs of the call and of its worker. */
CCS_FN void ccs_known_of(const struct ccs_dev_call &c, struct ccs_known *b)
{
	const struct ccs_dev_rank *ranks = c.far_ranks ? c.far_ranks : c.ranks;

	ccs_known_report(c, b);
	b->ops = c.ops;
	b->briefs = c.briefs;
	b->replicas_max = c.replicas_max;
	b->waits = c.waits;
	b->workers = c.workers;
	b->cells = c.cells;
	b->ranks = ranks;
	b->done = c.done;
	b->stage = c.stage;
	b->count = c.count;
	b->tile = c.tile;
	b->tile0 = c.tile0;
	b->ntiles = c.ntiles;
	b->longest = c.longest;
	b->replicas = c.replicas;
	b->far = c.far;
	b->direct = c.direct;
	b->divide = c.divide;
#if CCS_LAYOUTS
	b->places = c.places;
	b->rank_places = c.rank_places;
#else
	b->cut = { c.chunk, c.chunks };
#endif
	b->room = (uint32_t)(c.tile * CCS_SIZE / 16);
	b->policy = ccs_policy(!c.direct); /* in a direct call a peer will soon read them */
	b->w = ccs_row_of(c.workers, b->worker);
	if (b->w.nops > CCS_ROWS)
		b->w.shape = CCS_DEV_NONE; /* straight lines have one group */
	b->epoch = ccs_load<uint64_t>((const uint8_t *)(c.epoch + CCS_LINE_OF(*b, b->worker)));
	b->io = ranks[b->w.rank];
	if (CCS_OP == CCS_DEV_PREMUL)
		b->scalar = ccs_spread16((ccs_elem)b->io.scalar);
}

/* Thread 0 takes the turn, and checks whether another graph of this capture runs. */
CCS_FN int ccs_turn_take(const struct ccs_dev_call &c)
{
	const uint64_t mine = ((uint64_t)c.launch << 32) + ccs_grid() + 1;
	const uint64_t had = ccs_swap(c.turn, 0, mine); /* issued early: its latency overlaps */
	const uint64_t begun = c.begun ? ccs_add(c.begun + 1 + blockIdx.x, 1) : 0;
	const uint64_t done = c.begun ? ccs_add(c.begun, 0) : 0;
	int stop = 0;

	if (ccs_twice(c, begun, done)) {
		ccs_known_report(c, &ccs_b);
		ccs_give_up(CCS_DEV_STUCK_TWICE, CCS_DEV_NONE, CCS_DEV_NONE, CCS_DEV_NONE, 0, begun,
			    done, 0);
		stop = 1;
	}
	if (had != 0 && had != mine) {
		ccs_known_report(c, &ccs_b);
		stop |= ccs_turn_wait(c.turn, mine);
	}
	ccs_fence_device(); /* ORDER: the turn before what the last grid left */
	return stop;
}

/* One thread publishes the call to the block, while other threads resolve the plain operations of
 * the first group, from their registers. */
CCS_FN int ccs_begin(const struct ccs_dev_call &c)
{
	struct ccs_known b;
	int stop = 0;

	if (c.turn)
		stop = ccs_barrier(threadIdx.x ? 0 : ccs_turn_take(c));
	ccs_times_block(c, false);
	if (threadIdx.x == ccs_aside())
		ccs_known_of(c, &ccs_b);
	ccs_known_of(c, &b);
#if CCS_PROTO == CCS_DEV_LL
	ccs_resolve(b, 0);
#else
	ccs_barrier(0);
	ccs_resolve(ccs_b, 0);
#endif
	return stop;
}

/* Writes cells with an initial value that is also the final one (by == 0), or the quotient of sums;
 * the rank's workers share them, each replica does its own tiles. */
CCS_CALL void ccs_post_cells(const struct ccs_dev_range *g, uint32_t n, uint32_t by)
{
	struct ccs_cut cut = CCS_FIRST_CUT(ccs_b);
	uint32_t turn = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t cell = g[i].first; cell < g[i].first + g[i].n; cell++) {
			uint64_t len = ~(uint64_t)0;
			const struct ccs_dev_cell d = ccs_row_of(ccs_b.cells, cell);
#if CCS_LAYOUTS
			struct ccs_matrix in;
#endif
			uint8_t *to = CCS_CELL(ccs_b, ccs_b.io, d, ccs_b.w.rank, cell, false, &len,
					       &cut, &in);
			const uint8_t *from = by ? to
						 : CCS_CELL(ccs_b, ccs_b.io, d, ccs_b.w.rank, cell,
							    true, &len, &cut, &in);

			if (from == to && !by && CCS_OP != CCS_DEV_PREMUL)
				continue;
			for (uint64_t t = 0; t < ccs_b.ntiles; t++) {
				const uint64_t lo = ccs_lo(ccs_b, t), at = lo * CCS_SIZE;
				const uint32_t own = ccs_rest(ccs_b, len, lo);

				if (turn++ % ccs_b.w.of != ccs_b.w.index)
					continue;
#pragma unroll 1
				for (uint32_t u = threadIdx.x; u * CCS_PER_UNIT < own;
				     u += blockDim.x) {
					const uint64_t off = at + (uint64_t)u * 16;
					const uint32_t left = own - u * CCS_PER_UNIT;
					ccs_vec v = ccs_read(from, in, off / CCS_SIZE, from + off,
							     left);

					if (by)
						v = ccs_divide16(v, by);
					else if (CCS_OP == CCS_DEV_PREMUL)
						v = ccs_scale16(v, CCS_FACTORS(from, in,
									       off / CCS_SIZE,
									       from + off, left));
					ccs_write(to, in, off / CCS_SIZE, to + off, v, left);
				}
			}
		}
}

/* Waits until all workers of the rank have done all their operations. */
CCS_CALL int ccs_meet(void)
{
	const uint32_t first = ccs_b.worker - ccs_b.w.index;
	const uint64_t end = ccs_b.epoch + ccs_b.ntiles;
	int stop = 0;

	if (ccs_b.w.of == 1)
		return ccs_barrier(0);
	ccs_barrier(0);
	if (threadIdx.x == 0) {
		ccs_fence(); /* ORDER: results before the rank's other workers divide them */
		ccs_st_relaxed(ccs_b.done + CCS_LINE_OF(ccs_b, ccs_b.worker), end * ccs_b.w.count);
	}
	for (uint32_t i = threadIdx.x; i < ccs_b.w.of; i += blockDim.x)
		stop |= ccs_wait_for(ccs_b.done + CCS_LINE_OF(ccs_b, first + i),
				     { CCS_DEV_STUCK_WORKER, first + i, CCS_DEV_NONE, CCS_DEV_NONE,
				       ccs_b.ntiles,
				       end * ccs_row_of(ccs_b.workers, first + i).count, 0 });
	return ccs_barrier(stop);
}

/* The ends of this worker's FIFOs, to where the call leaves them, if they are not there:
 * each by the thread of the FIFO's last message. */
CCS_FN void ccs_leave_row(uint32_t k)
{
#if CCS_LL
	const struct ccs_plain &p = ccs_b.plain[k];
	const uint64_t end = ccs_b.epoch + 1, line = (uint64_t)ccs_b.replica * CCS_DEV_LINE;

	if (p.tail)
		ccs_st_relaxed(p.tail + line, end * p.in_messages);
	if (p.head)
		ccs_st_relaxed(p.head + line, end * p.out_messages);
#else
	const struct ccs_row &r = ccs_b.rows[k];

	if (CCS_IS_IN(r.op.form) && r.late && r.op.in_seq + 1 == r.in_messages)
		ccs_st_relaxed(r.in_tail, (ccs_b.epoch + ccs_b.ntiles) * r.in_messages);
#endif
}

/* Operation k's, in a call that stops, or that has more operations than rows. */
CCS_CALL void ccs_leave_op(uint32_t k, int stop)
{
	const uint64_t end = ccs_b.epoch + ccs_b.ntiles,
		       line = (uint64_t)ccs_b.replica * CCS_DEV_LINE;
	const struct ccs_dev_op o = ccs_row_of(ccs_b.ops, ccs_b.w.op + k);

	if (CCS_IS_IN(o.form)) {
		const struct ccs_dev_fifo f = ccs_row_of(ccs_b.fifos, o.in);

		if (o.in_seq + 1 == f.messages && (stop || f.messages * ccs_b.ntiles <= f.slots))
			ccs_st_relaxed(f.tail + line, end * f.messages);
	}
	if (CCS_IS_OUT(o.form) && (stop || CCS_LL)) {
		const struct ccs_dev_fifo f = ccs_row_of(ccs_b.fifos, o.out);

		if (o.out_seq + 1 == f.messages)
			ccs_st_relaxed(f.head + line, end * f.messages);
	}
}

/* LL messages that were not sent: sets their slots as after a fill. */
CCS_CALL void ccs_leave_slots(void)
{
	const uint64_t end = ccs_b.epoch + ccs_b.ntiles;

	for (uint32_t k = 0; k < ccs_b.w.nops; k++) {
		const struct ccs_dev_op o = ccs_row_of(ccs_b.ops, ccs_b.w.op + k);

		if (CCS_IS_OUT(o.form)) {
			const struct ccs_dev_fifo f = ccs_row_of(ccs_b.fifos, o.out);

			ccs_ll_fill(f.data + ccs_b.replica * f.slots * f.slot_bytes, 0,
				    f.slots * f.slot_bytes, (uint32_t)(end * f.messages));
		}
	}
}

CCS_FN void ccs_leave_fifos(int stop)
{
	const bool rows = !stop && ccs_b.w.nops <= CCS_ROWS &&
			  (CCS_LL ? ccs_b.ntiles == 1 : ccs_b.ntiles > 0);

	if (ccs_b.far && (stop || threadIdx.x < ccs_b.w.nops)) {
		ccs_fence(); /* ORDER: what was read of slots, before late tails */
	}
#pragma unroll 1
	for (uint32_t k = threadIdx.x; k < ccs_b.w.nops; k += blockDim.x) {
		if (rows)
			ccs_leave_row(k);
		else
			ccs_leave_op(k, stop);
	}
	if (stop && CCS_LL)
		ccs_leave_slots();
}

CCS_FN void ccs_end(const struct ccs_dev_call &c, int stop)
{
	const struct ccs_dev_post post = ccs_row_of(c.posts, ccs_b.w.rank);
	const uint64_t end = ccs_b.epoch + ccs_b.ntiles;
	const bool keeps = !stop && post.reduced > post.keep;
	const bool divides = !stop && c.divide && post.end > post.reduced;

	if (keeps)
		ccs_post_cells(c.ranges + post.keep, post.reduced - post.keep, 0);
	if (divides) {
		stop = ccs_meet();
		if (!stop)
			ccs_post_cells(c.ranges + post.reduced, post.end - post.reduced, c.divide);
	}
	if (!CCS_LL || keeps || divides) /* otherwise the table's barrier, or ccs_begin's, was
					    the last */
		stop = ccs_barrier(stop);
	ccs_leave_fifos(stop);
	/* `done`: stored by the thread with the fences that made its stores visible */
	if (threadIdx.x == 0)
		ccs_st_relaxed(ccs_b.done + CCS_LINE_OF(ccs_b, ccs_b.worker), end * ccs_b.w.count);
	if (threadIdx.x == ccs_aside())
		ccs_store<uint64_t>((uint8_t *)(c.epoch + CCS_LINE_OF(ccs_b, ccs_b.worker)), end);
	if (!stop)
		ccs_times_block(c, true);
	if (!c.turn)
		return;
	ccs_barrier(0);
	if (threadIdx.x == 0) {
		if (c.begun)
			ccs_add(c.begun, 1);
		ccs_turn_give(c.turn, (uint64_t)c.nworkers * c.replicas);
	}
}
