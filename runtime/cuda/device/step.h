/*
 * What generated code calls: all else is here and above.
 *
 *   ccs_begin(c)		turn, epoch
 *   ccs_rows(k, t)		resolves the group of operations that begins at k
 *   ccs_run<FORM>(k, t, &stop)	straight-line code: operations k, k + 1, ... of one form
 *   ccs_table(k, t, &stop)	operations of any form, to the end of the group
 *   ccs_end(c, stop)		what follows the operations; counters to the call's end
 *
 * An operation: wait, move, tell. Both return the first operation that they have not
 * done. ccs_run does what is plain: one cell, of aligned whole units; what is not,
 * and where another form comes than it expects, is left to the table. So a line
 * is right for any worker. Chains are the table's, too: when an operation may start, those
 * of its chain that may start by then are done with it, in one pass.
 * All is one function, but for the waits: nothing is spilt.
 *
 * At the end. What a block leaves is for the next launch on this device, which is ordered
 * behind this one, by the stream or by the turn. A call leaves heads, tails, `done` and
 * epoch as a whole run does, also when it stops. Where FIFOs reach another device, the peer may be in the same call
 * still, or in the next one already, so even then
 *   - what this block has read of slots is read before it tells the tail: a fence,
 *     behind a barrier, before the late tails;
 *   - a block that stops moves heads past messages that it never sent, and LL flags
 *     likewise. A peer that takes such a message for one goes on with garbage. But
 *     this block has seen the abort flag set, or set it, before the barrier and the
 *     fence, and then tells the head: so whoever acquires the head, and whatever is
 *     ordered after that, the end of the peer's launch too, finds the flag set
 *     (coherence: no later look at the flag sees an older value). The host looks at
 *     the flag after the launch: a call that took garbage is known to have failed.
 */

CCS_FN void ccs_rows(uint32_t k, uint64_t t)
{
	if (t == 0 || ccs_b.w.nops > CCS_ROWS)
		ccs_resolve(k, t);
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
/* How many operations from k on, which may begin, are done in one pass: of a chain those of whole
 * units. */
CCS_FN uint32_t ccs_together(uint32_t k, uint64_t t)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];

	if (!r.bundled) {
		const struct ccs_part p = ccs_part_of(r, r.cell, 0, t);

		if (p.whole < p.units)
			return 1;
	}
	return ccs_come(k);
}

/* Operation k, with others of its chain or bundle: k is the last of them then. */
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

		if ((r.op.form & CCS_DEV_FORM) != F || r.op.n != 1 || (CCS_PASSES && r.chain > 1))
			return k;
		p = ccs_part_of(r, r.cell, 0, t);
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
		*stop = ccs_step(k, t);
		k++;
	} while (k % CCS_ROWS);
	return k;
}
#else
/* In a small call most operations are of whole units of one aligned cell, wait for nothing but
 * their message, and tell nothing but theirs: then nothing is left to be found out in their step. */
CCS_FN void ccs_plain_make(const struct ccs_row &r, uint32_t k, struct ccs_plain *to)
{
	const uint32_t form = r.op.form;
	struct ccs_part p;

	to->key = CCS_DEV_NONE;
	to->op = k;
	if (ccs_b.ntiles != 1 || r.op.n != 1 || r.op.nwaits || form & CCS_DEV_PUBLISH || !r.quiet)
		return;
	p = ccs_part_of(r, r.cell, 0, 0);
	if (p.whole < p.units || !p.units) /* a message without data is a unit, too (ll.h) */
		return;
	to->in = p.in;
	to->a = p.a;
	to->b = p.b;
	to->dst = p.dst;
	to->out = p.out;
	to->form = form;
	to->fifo = r.op.in;
	to->in_flag = (uint32_t)r.in_number + 1;
	to->out_flag = (uint32_t)r.out_number + 1;
	to->units = p.units;
	to->key = form & (CCS_DEV_FORM | CCS_DEV_TO_STAGE | CCS_DEV_FROM_STAGE);
}

/* An operation that is plain, and whose form is F, but for whether an operand is initial.
 * Non-zero: it waited in vain. */
template <uint32_t F> CCS_FN int ccs_plain_step(const struct ccs_plain *row)
{
	const struct ccs_plain p = *row;
	const uint32_t f = F == CCS_ANY ? p.form : F;

#pragma unroll 1
	for (uint32_t u = threadIdx.x; u < p.units; u += blockDim.x) {
		const uint64_t at = (uint64_t)u * 16;
		ccs_vec in = ccs_zero(), a = in, b = in;

		if (f & CCS_DEV_A)
			a = ccs_operand16(ccs_load16(p.a + at), p.a + at,
					  p.form & CCS_DEV_A_INITIAL);
		if (f & CCS_DEV_B)
			b = ccs_operand16(ccs_load16(p.b + at), p.b + at,
					  p.form & CCS_DEV_B_INITIAL);
		if (CCS_IS_IN(f)) {
			const auto whose = [row] { return ccs_stuck_at(row->fifo, row->op, 0); };

			if (ccs_ll_take(p.in + 2 * at, p.in_flag, &in, whose))
				return 1;
		} else if (f & CCS_DEV_IN) {
			in = ccs_load16(p.in + at);
		}
		in = ccs_value(f, in, a, b);
		if (CCS_IS_OUT(f))
			ccs_st_entries(p.out + 2 * at, in, p.out_flag);
		else if (f & CCS_DEV_OUT)
			ccs_store16(p.out + at, in);
		if (f & CCS_DEV_DST)
			ccs_store16(p.dst + at, in);
	}
	return 0;
}

/* A straight line's loop: what is plain and of one form. Such operations have no barrier
 * between them, so each thread has a `gone` of its own, until the table's barrier; but all
 * come out at the same operation. */
template <uint32_t F> CCS_FN uint32_t ccs_run(uint32_t k, uint64_t t, int *gone)
{
	const struct ccs_plain *p = ccs_b.plain + k;

	(void)t;
#pragma unroll 1
	for (; p->key == F; p++)
		if (!*gone)
			*gone = ccs_plain_step<F>(p);
	return p->op;
}

/* One step for all forms. Unit u of a cell is the same thread's in all operations of one
 * cell, so that these need no barrier between them; others have one on either side. A
 * thread that waited in vain (`gone`) comes to the barriers that the others come to,
 * and does no more. */
CCS_FN int ccs_step(uint32_t k, uint64_t t, int *gone)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];
	const uint64_t number = r.out_number + t * r.out_messages;
	const bool fill = CCS_IS_OUT(r.op.form) && ccs_ll_fills(number, r.out_slots);
	const bool tells = r.op.form & CCS_DEV_PUBLISH || (CCS_IS_IN(r.op.form) && !r.late);
	const uint32_t n = r.op.n ? r.op.n : 1;

	if (ccs_b.plain[k % CCS_ROWS].key != CCS_DEV_NONE) {
		*gone = *gone || ccs_plain_step<CCS_ANY>(ccs_b.plain + k % CCS_ROWS);
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

/* *stop: of the threads of a straight line each has its own; behind the barrier it is common. */
CCS_FN uint32_t ccs_table(uint32_t k, uint64_t t, int *stop)
{
	int gone = *stop;

	*stop = 0;
	do {
		if (k >= ccs_b.w.nops || *stop)
			break;
		*stop = ccs_step(k, t, &gone);
		k++;
	} while (k % CCS_ROWS);
	*stop = *stop || ccs_barrier(gone);
	return k;
}
#endif

/* What a block knows of the call that is needed to report a wait. */
CCS_FN void ccs_begin_report(const struct ccs_dev_call &c)
{
	ccs_b.worker = c.worker0 + blockIdx.x / c.replicas;
	ccs_b.replica = blockIdx.x % c.replicas;
	ccs_b.fifos = c.fifos;
	ccs_b.abort = c.abort;
	ccs_b.report = c.report;
	ccs_b.limit = c.limit;
	ccs_b.ends = c.ends;
	ccs_b.worker0 = c.worker0;
	ccs_b.nworkers = c.nworkers;
}

/* All of it, but for what ccs_begin has from memory. */
CCS_FN void ccs_begin_call(const struct ccs_dev_call &c)
{
	const struct ccs_dev_rank *ranks = c.far_ranks ? c.far_ranks : c.ranks;

	ccs_begin_report(c);
	ccs_b.ops = c.ops;
	ccs_b.replicas_max = c.replicas_max;

	ccs_b.waits = c.waits;
	ccs_b.workers = c.workers;
	ccs_b.cells = c.cells;
	ccs_b.ranks = ranks;
	ccs_b.done = c.done;
	ccs_b.stage = c.stage;
	ccs_b.count = c.count;
	ccs_b.tile = c.tile;
	ccs_b.tile0 = c.tile0;
	ccs_b.ntiles = c.ntiles;
	ccs_b.longest = c.longest;
	ccs_b.replicas = c.replicas;
	ccs_b.far = c.far;
	ccs_b.direct = c.direct;
	ccs_b.divide = c.divide;
#if CCS_LAYOUTS
	ccs_b.places = c.places;
	ccs_b.rank_places = c.rank_places;
#else
	const uint32_t chunks = ccs_row_of(c.cells, 0).chunks; /* 0: scratch alone */

	ccs_b.cut = chunks ? ccs_cut_of(c.count, chunks) : ccs_cut{ 0, 0 };
#endif
	ccs_b.room = (uint32_t)(c.tile * CCS_SIZE / 16);
	ccs_b.policy = ccs_policy(!c.direct); /* there a peer is soon to read them */
	ccs_b.io = ranks[ccs_row_of(c.workers, ccs_b.worker).rank];
	if (CCS_OP == CCS_DEV_PREMUL)
		ccs_b.scalar = ccs_spread16((ccs_elem)ccs_b.io.scalar);
}

/* Thread 0 waits for the turn, and another one tells the block of the call meanwhile. */
CCS_FN int ccs_begin(const struct ccs_dev_call &c)
{
	int stop = 0;

	if (threadIdx.x == ccs_aside())
		ccs_begin_call(c);
	ccs_bulk_begin();
	if (threadIdx.x == 0) {
		const uint32_t worker = c.worker0 + blockIdx.x / c.replicas;
		const uint64_t line = (uint64_t)worker * c.replicas_max + blockIdx.x % c.replicas;
		uint64_t *const turn = c.turn;
		const uint64_t mine = turn ? ((uint64_t)c.launch << 32) + ccs_grid() + 1 : 0;
		const uint64_t had = turn ? ccs_swap(turn, 0, mine) : 0; /* on its way */
		const uint64_t begun = c.begun ? ccs_add(c.begun + 1 + blockIdx.x, 1) : 0;
		const uint64_t done = c.begun ? ccs_add(c.begun, 0) : 0;

		ccs_b.w = ccs_row_of(c.workers, worker);
		if (ccs_twice(c, begun, done)) {
			ccs_begin_report(c); /* what the other one may not have told yet */
			ccs_give_up(CCS_DEV_STUCK_TWICE, CCS_DEV_NONE, CCS_DEV_NONE, CCS_DEV_NONE,
				    0, begun, done, 0);
			stop = 1;
		}
		if (had != 0 && had != mine) {
			ccs_begin_report(c);
			stop |= ccs_turn_wait(turn, mine);
		}
		if (turn)
			ccs_fence_device(); /* ORDER: the turn before what the last grid left */
		ccs_b.epoch = ccs_load<uint64_t>((const uint8_t *)(c.epoch + line * CCS_DEV_LINE));
	}
	return ccs_barrier(stop);
}

/* Cells whose initial value is their final one (by == 0), or the quotient of sums;
 * the rank's workers share them, each replica does its own tiles. */
CCS_CALL void ccs_post_cells(const struct ccs_dev_range *g, uint32_t n, uint32_t by)
{
	struct ccs_cut cut = CCS_FIRST_CUT;
	uint32_t turn = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t cell = g[i].first; cell < g[i].first + g[i].n; cell++) {
			uint64_t len = ~(uint64_t)0;
			const struct ccs_dev_cell d = ccs_row_of(ccs_b.cells, cell);
#if CCS_LAYOUTS
			struct ccs_matrix in;
#endif
			uint8_t *to =
				CCS_CELL(ccs_b.io, d, ccs_b.w.rank, cell, false, &len, &cut, &in);
			const uint8_t *from = by ? to
						 : CCS_CELL(ccs_b.io, d, ccs_b.w.rank, cell, true,
							    &len, &cut, &in);

			if (from == to && !by && CCS_OP != CCS_DEV_PREMUL)
				continue;
			for (uint64_t t = 0; t < ccs_b.ntiles; t++) {
				const uint64_t lo = ccs_lo(t), at = lo * CCS_SIZE;
				const uint32_t own = ccs_rest(len, lo);

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
		ccs_fence(); /* ORDER: results before the rank's other workers divide them */
		ccs_st_relaxed(ccs_b.done + CCS_LINE_OF(ccs_b.worker), end * ccs_b.w.count);
	}
	for (uint32_t i = threadIdx.x; i < ccs_b.w.of; i += blockDim.x)
		stop |= ccs_wait_for(ccs_b.done + CCS_LINE_OF(first + i),
				     { CCS_DEV_STUCK_WORKER, first + i, CCS_DEV_NONE, CCS_DEV_NONE,
				       ccs_b.ntiles,
				       end * ccs_row_of(ccs_b.workers, first + i).count, 0 });
	return ccs_barrier(stop);
}

/* The ends of this worker's FIFOs, to where the call leaves them, if they are not there:
 * each by the thread of the FIFO's last message. */
CCS_FN void ccs_leave_row(const struct ccs_row &r)
{
	const uint64_t end = ccs_b.epoch + ccs_b.ntiles;

	if (CCS_IS_IN(r.op.form) && r.late && r.op.in_seq + 1 == r.in_messages)
		ccs_st_relaxed(r.in_tail, end * r.in_messages);
	if (CCS_LL && CCS_IS_OUT(r.op.form) && r.op.out_seq + 1 == r.out_messages)
		ccs_st_relaxed(r.out_head, end * r.out_messages);
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

/* LL messages that were not sent: their slots as after a filling. */
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
	const bool rows = !stop && ccs_b.w.nops <= CCS_ROWS && ccs_b.ntiles;

	if (ccs_b.far && (stop || threadIdx.x < ccs_b.w.nops)) {
		ccs_fence(); /* ORDER: what was read of slots, before late tails */
	}
#pragma unroll 1
	for (uint32_t k = threadIdx.x; k < ccs_b.w.nops; k += blockDim.x) {
		if (rows)
			ccs_leave_row(ccs_b.rows[k]);
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
	if (!CCS_LL || keeps || divides) /* else the table's barrier, or ccs_begin's, is the last */
		stop = ccs_barrier(stop);
	ccs_leave_fifos(stop);
	/* `done`: by the thread whose fences made what it published visible */
	if (threadIdx.x == 0)
		ccs_st_relaxed(ccs_b.done + CCS_LINE_OF(ccs_b.worker), end * ccs_b.w.count);
	if (threadIdx.x == ccs_aside())
		ccs_store<uint64_t>((uint8_t *)(c.epoch + CCS_LINE_OF(ccs_b.worker)), end);
	if (!c.turn)
		return;
	ccs_barrier(0);
	if (threadIdx.x == 0) {
		if (c.begun)
			ccs_add(c.begun, 1);
		ccs_turn_give(c.turn, (uint64_t)c.nworkers * c.replicas);
	}
}
