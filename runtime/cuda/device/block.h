/*
 * A block's tables: ccs_b, in shared memory. At the beginning its threads resolve the worker's
 * operations, side by side, into rows of addresses, so that a step itself reads only shared
 * memory. Workers of more operations than there are rows resolve them group by group. With LL,
 * which is for calls so small that the work before the first operation counts, most need no rows
 * (ll.h, plain operations): there each thread has its part of the launch's arguments in
 * registers, while another thread fills ccs_b for the block.
 *
 *   known  a thread's data of the call and of its worker
 *   row    an operation: the slots and counters of its FIFOs, and its first cell
 *   spot   a cell's addresses, for the tile at element 0
 */

/* The schedule has buffers `by column` or `sized`, by the generated code. */
#if !defined(CCS_LAYOUTS)
#define CCS_LAYOUTS 0
#endif

/* A chunk of columns: elements of a row, and from one row to the next; row 0: all adjoin. */
struct ccs_matrix {
	uint64_t row, apart;
};

/* Addresses of a spot: parts of the operation; in a direct call cells of the peer. */
#define CCS_SPOT_A 0
#define CCS_SPOT_B 1
#define CCS_SPOT_DST 2
#if CCS_PROTO == CCS_DEV_SIMPLE
#define CCS_SPOT_TO 3	/* that it writes */
#define CCS_SPOT_FROM 4 /* that it reads */
#define CCS_SPOTS 5
#else
#define CCS_SPOT_TO CCS_SPOT_DST /* neither is used */
#define CCS_SPOT_FROM CCS_SPOT_DST
#define CCS_SPOTS 3
#endif

/* `own`: the elements that the operation may touch, the least of the message's
 * length and of what the cells named have. Absent addresses are 0. */
struct ccs_spot {
	uint8_t *at[CCS_SPOTS]; /* CCS_SPOT_* */
	uint64_t len, own;
	uint64_t aligned; /* 0 if any address is not 16-aligned, or a chunk is `by column` */
#if CCS_LAYOUTS
	struct ccs_matrix in[CCS_SPOTS];
#endif
};

/* The message comes from a FIFO; goes to one. Otherwise through the stage, a FIFO of one slot. */
#define CCS_IS_IN(form) (((form) & (CCS_DEV_IN | CCS_DEV_FROM_STAGE)) == CCS_DEV_IN)
#define CCS_IS_OUT(form) (((form) & (CCS_DEV_OUT | CCS_DEV_TO_STAGE)) == CCS_DEV_OUT)

/* The message is written: it is not read in place. */
#define CCS_GIVES(form) (((form) & (CCS_DEV_OUT | CCS_DEV_OUT_READ)) == CCS_DEV_OUT)

/* The value is stored: it is not in its place already. */
#define CCS_KEEPS(form) (((form) & (CCS_DEV_DST | CCS_DEV_IN_DIRECT)) == CCS_DEV_DST)

/* Whether nothing is written: the message is in its place already, and is sent only to ranks
 * that read it there. */
CCS_FN bool ccs_in_place(uint32_t form)
{
	return !CCS_KEEPS(form) && !CCS_GIVES(form);
}

#if CCS_PROTO == CCS_DEV_LL
/* An operation's only tile, if it is plain (ccs_plain_make), completely resolved. Fields that
 * most forms need together are adjacent: two addresses are loaded at a time. */
struct CCS_DEV_ALIGNED ccs_plain {
	const uint8_t *in;
	uint8_t *dst;
	const uint8_t *a;
	uint8_t *out;
	uint32_t key; /* CCS_DEV_FORM's bits of its form, where all its units are whole;
			 CCS_PLAIN_PARTS; or CCS_DEV_NONE: it is not plain */
	uint32_t units, in_flag, out_flag;
	uint32_t form, fifo;
	uint32_t op; /* of the worker's; valid for operations that are not plain, too */
	/* For the last message of a FIFO: the address of its counters, and its messages per tile;
	 * else NULL. Valid for operations that are not plain, too. */
	uint32_t in_messages;
	const uint8_t *b;
	uint64_t *tail, *head;
	uint32_t out_messages;
	uint32_t own; /* elements of the caller's that it may touch */
};
#define CCS_PLAIN_PARTS (CCS_DEV_NONE - 1) /* plain, but units are not aligned or not whole */
#endif

struct ccs_row {
	struct ccs_dev_op op;
	struct ccs_spot cell; /* the first */
	uint8_t *in, *out;    /* slot 0 */
	uint64_t *in_head, *in_tail, *out_head, *out_tail;
	uint64_t in_bytes, out_bytes;	/* bytes of a slot */
	uint64_t in_number, out_number; /* numbers of its messages in tile 0 of this call */
	uint32_t in_messages, out_messages;
	uint32_t in_slots, out_slots;
	uint32_t late;	/* the tail is stored at the end */
	uint32_t roomy; /* there is a slot for each message of this call */
#if CCS_PROTO == CCS_DEV_SIMPLE
	uint32_t bundled; /* its chain is a bundle */
#endif
	uint32_t chain; /* the number of operations from it on that one pass may do */
	uint32_t spot;	/* of a message of several cells: the first spot */
};

/* A schedule has chains, as the generated code says: consecutive operations that add messages
 * and own cells to one value, and then send it to one or more peers. Or bundles: operations
 * that write no own cell; they send, or find or leave a message in place. */
#if !defined(CCS_CHAINS)
#define CCS_CHAINS 0
#endif
#if defined(CCS_TRACE)
#define CCS_PASSES 0
#else
#define CCS_PASSES (CCS_CHAINS && CCS_PROTO == CCS_DEV_SIMPLE)
#endif
#define CCS_CHAIN 16 /* operations of a pass; at most a warp */

/* Operation i of a pass, in this tile: the address of its summand, the destination of the
 * value, and whether it could begin at the last poll. */
struct ccs_link {
	const uint8_t *in;
	uint8_t *out;
	uint32_t here, reserved;
};

#ifndef CCS_ROWS
#define CCS_ROWS 32 /* rows held at a time, and spots */
#endif

/* The length of a block's chunks. A division takes long, but most cells have as many chunks as
 * the previous cell, or as the first of all. */
struct ccs_cut {
	uint64_t q;
	uint32_t chunks;
};

/* A thread's copy of data from the launch's arguments and its worker: the block's, or in
 * registers before the block's is ready. */
struct ccs_known {
	struct ccs_dev_worker w;
	struct ccs_dev_rank io;
	uint32_t worker, replica;
	const struct ccs_dev_op *ops;
	const struct ccs_dev_brief *briefs;
	const struct ccs_dev_wait *waits;
	const struct ccs_dev_worker *workers;
	const struct ccs_dev_cell *cells;
	const struct ccs_dev_fifo *fifos;
	const struct ccs_dev_rank *ranks;
	uint64_t *done;
	uint8_t *stage;
	uint32_t *abort;
	struct ccs_dev_report *report;
	uint64_t count, tile, tile0, ntiles, longest, limit, epoch;
	uint32_t replicas, replicas_max;
	uint32_t worker0, nworkers;
	uint32_t far, direct, divide, ends;
	uint32_t room; /* units of a cell's tile, if it is whole */
#if !CCS_LAYOUTS
	struct ccs_cut cut; /* of most cells */
#endif
	uint64_t policy; /* of users' buffers: ccs_policy */
	ccs_vec scalar;	 /* premul-sum's, of this rank: a unit of it */
#if CCS_LAYOUTS
	const struct ccs_dev_place *places;
	uint64_t rank_places;
#endif
};

struct ccs_block : ccs_known {
	struct ccs_row rows[CCS_ROWS];
	struct ccs_spot spots[CCS_ROWS]; /* of cells of messages of several */
	uint32_t spotted;		 /* spots of the whole group are made, not of one
					    operation at a time */
#if defined(CCS_TRACE)
	struct ccs_dev_trace trace;
	uint64_t block_began, began; /* thread 0's: times.h */
	uint32_t came;
#endif
#if CCS_PASSES
	struct ccs_link links[CCS_CHAIN];
#endif
#if CCS_PROTO == CCS_DEV_LL
	struct ccs_plain plain[CCS_ROWS + 1]; /* of the rows; behind the last one, none */
#endif
};

#if !defined(CCS_EMULATION)
__shared__ struct ccs_block ccs_b;
#endif

#define CCS_LINE_OF(b, worker) \
	(((uint64_t)(worker) * (b).replicas_max + (b).replica) * CCS_DEV_LINE)

/* A thread of another warp than thread 0, if there is one, for work that the two do
 * concurrently. */
CCS_FN uint32_t ccs_aside(void)
{
	return (blockDim.x - 1) / CCS_WARP * CCS_WARP;
}

/* Fence: what the block did before precedes what this thread does after, for every observer. */
CCS_FN void ccs_fence(void)
{
	if (ccs_b.far)
		ccs_fence_system();
	else
		ccs_fence_device();
}

/* The first element of tile t of this replica in every chunk. */
CCS_FN uint64_t ccs_lo(const struct ccs_known &b, uint64_t t)
{
	return ((b.tile0 + t) * b.replicas + b.replica) * b.tile;
}

/* The number of n elements that are in the tile beginning at lo. */
CCS_FN uint32_t ccs_rest(const struct ccs_known &b, uint64_t n, uint64_t lo)
{
	n = n > lo ? n - lo : 0;
	return (uint32_t)(n < b.tile ? n : b.tile);
}

/* ---- cells ------------------------------------------------------------------------ */

struct ccs_place {
	uint64_t at, len; /* elements from the buffer's start; of the cell */
};

CCS_FN struct ccs_cut ccs_cut_of(uint64_t count, uint32_t chunks)
{
	const uint64_t q = count / chunks;

	return { q + (q * chunks != count), chunks };
}

/* plan.h: chunk c of block b begins at b * count + min(c * q, count). */
CCS_FN struct ccs_place ccs_locate(const struct ccs_known &b, const struct ccs_dev_cell &d,
				   bool initial, struct ccs_cut *cut)
{
	uint64_t from;

	if (!d.chunks)
		return { d.recv * b.longest, b.longest };
	if (d.chunks != cut->chunks)
		*cut = ccs_cut_of(b.count, d.chunks);
	from = d.pos * cut->q < b.count ? d.pos * cut->q : b.count;
	return { (initial ? d.send : d.recv) * b.count + from,
		 b.count - from < cut->q ? b.count - from : cut->q };
}

/* The address of a rank's cell. Reduces *own to its length. */
CCS_FN uint8_t *ccs_cell(const struct ccs_known &b, const struct ccs_dev_rank &io,
			 const struct ccs_dev_cell &d, bool initial, uint64_t *own,
			 struct ccs_cut *cut)
{
	struct ccs_place at = ccs_locate(b, d, initial, cut);
	uint8_t *base = !d.chunks ? io.scratch : initial ? (uint8_t *)io.send : io.recv;

	if (at.len < *own)
		*own = at.len;
	return base + at.at * CCS_SIZE;
}

/* The same for cell `number` of the call's table, with the layout of its elements. Without a table
 * this costs nothing: expressions that only a table needs are not evaluated. */
#if CCS_LAYOUTS
CCS_FN uint8_t *ccs_cell_by_table(const struct ccs_known &b, const struct ccs_dev_rank &io,
				  const struct ccs_dev_cell &d, bool initial, uint64_t *own,
				  uint64_t number, struct ccs_matrix *in)
{
	const struct ccs_dev_place p = ccs_row_of(b.places, number);
	uint8_t *base = !d.chunks ? io.scratch : initial ? (uint8_t *)io.send : io.recv;

	if (p.len < *own)
		*own = p.len;
	*in = { p.row, p.apart };
	return base + (initial && d.chunks ? p.send : p.recv) * CCS_SIZE;
}

#define CCS_CELL(b, io, d, rank, cell, initial, own, cut, in) \
	((void)(cut), \
	 ccs_cell_by_table(b, io, d, initial, own, (rank) * (b).rank_places + (cell), in))
#define CCS_LEN(b, cell, cut) (ccs_row_of((b).places, (b).w.rank * (b).rank_places + (cell)).len)
#define CCS_IS_MATRIX(spot, i) ((spot)->in[i].row != 0)
#define CCS_FIRST_CUT(b) { 0, 0 } /* not needed */
#else
#define CCS_CELL(b, io, d, rank, cell, initial, own, cut, in) ccs_cell(b, io, d, initial, own, cut)
#define CCS_LEN(b, cell, cut) (ccs_locate(b, ccs_row_of((b).cells, cell), false, cut).len)
#define CCS_IS_MATRIX(spot, i) 0
#define CCS_FIRST_CUT(b) (b).cut
#endif

/* Whether each initial value has a factor, and the address of the factor for the value at p. */
CCS_FN bool ccs_has_factors(const struct ccs_dev_rank &io)
{
	return CCS_OP == CCS_DEV_PREMUL && io.factors;
}

CCS_FN const uint8_t *ccs_factor_of(const struct ccs_dev_rank &io, const uint8_t *p)
{
	return io.factors + (p - io.send);
}

/* The rank that owns the cell at that address, if it is not this rank. */
CCS_FN uint32_t ccs_spot_peer(const struct ccs_known &b, const struct ccs_dev_op &o, uint32_t i)
{
	return i == CCS_SPOT_TO ? ccs_row_of(b.fifos, o.out).dst : ccs_row_of(b.fifos, o.in).src;
}

/* Cell j of an operation. Rolled: it would take many registers. */
CCS_FN void ccs_spot_make(const struct ccs_known &b, const struct ccs_dev_op &o, uint32_t j,
			  struct ccs_spot *s)
{
	const uint32_t form = o.n ? o.form : 0;
	struct ccs_cut cut = CCS_FIRST_CUT(b);
	uint64_t len = 0, own = 0;
	uintptr_t low = 0;

	if (o.n) {
		const uint32_t cell = o.form & CCS_DEV_LEN_SAME ? o.len : o.len + j;

		len = own = CCS_LEN(b, cell, &cut);
	}
#pragma unroll 1
	for (uint32_t i = 0; i < CCS_SPOTS; i++) {
		const bool there = i > CCS_SPOT_DST;
		const uint32_t bit = !there		? CCS_DEV_A << i
				     : i == CCS_SPOT_TO ? CCS_DEV_OUT_DIRECT
							: CCS_DEV_IN_READ;

		s->at[i] = 0;
#if CCS_LAYOUTS
		s->in[i] = { 0, 0 };
#endif
		if (!(form & bit))
			continue;
		const bool initial = there ? i == CCS_SPOT_FROM && form & CCS_DEV_IN_INITIAL
					   : i < CCS_SPOT_DST && form & CCS_DEV_A_INITIAL << i;
		const uint32_t rank = there ? ccs_spot_peer(b, o, i) : b.w.rank;
		const struct ccs_dev_rank &io = there ? b.ranks[rank] : b.io;
		const uint32_t cell = j + (i == CCS_SPOT_A     ? o.a
					   : i == CCS_SPOT_B   ? o.b
					   : i == CCS_SPOT_DST ? o.dst
					   : i == CCS_SPOT_TO  ? o.remote
							       : o.origin);
		uint8_t *at = CCS_CELL(b, io, ccs_row_of(b.cells, cell), rank, cell, initial, &own,
				       &cut, s->in + i);

		low |= (uintptr_t)at | CCS_IS_MATRIX(s, i);
		if (initial && ccs_has_factors(b.io))
			low |= (uintptr_t)ccs_factor_of(b.io, at);
		s->at[i] = at;
	}
	s->len = len;
	s->own = own;
	s->aligned = !(low & 15);
}

/* The number of cells of operation i of the group that need spots. */
CCS_FN uint32_t ccs_spots_of(uint32_t i)
{
	const uint32_t n = ccs_b.rows[i].op.n;

	return n > 1 ? n : 0;
}

/* Makes all spots of a group of n operations, if they fit at once. By all threads. */
CCS_FN void ccs_spots_make_all(uint32_t n)
{
	uint32_t all = 0;

#pragma unroll 1
	for (uint32_t i = 0; i < n; i++)
		all += ccs_spots_of(i);
	if (threadIdx.x == 0)
		ccs_b.spotted = all <= CCS_ROWS;
	if (!all)
		return;
#pragma unroll 1
	for (uint32_t x = threadIdx.x; x < all && all <= CCS_ROWS; x += blockDim.x) {
		uint32_t i = 0, j = x;

		for (; j >= ccs_spots_of(i); i++)
			j -= ccs_spots_of(i);
		ccs_spot_make(ccs_b, ccs_b.rows[i].op, j, ccs_b.spots + x);
		if (j == 0)
			ccs_b.rows[i].spot = x;
	}
	ccs_barrier(0);
}

/* Makes spots of an operation from cell j on, as many as fit, unless they are there. By all
 * threads. With LL a barrier precedes an operation of several cells (ccs_step): this one, unless
 * the previous operation has ended with one. */
CCS_FN void ccs_spots_make(uint32_t k, uint32_t j)
{
	const struct ccs_dev_op &o = ccs_b.rows[k % CCS_ROWS].op;
	const uint32_t n = o.n - j < CCS_ROWS ? o.n - j : CCS_ROWS;

	if (ccs_b.spotted) {
		if (CCS_PROTO == CCS_DEV_LL && k % CCS_ROWS && !ccs_spots_of(k % CCS_ROWS - 1))
			ccs_barrier(0);
		return;
	}
	ccs_barrier(0); /* the previous spots are no longer read */
#pragma unroll 1
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		ccs_spot_make(ccs_b, o, j + i, ccs_b.spots + i);
	ccs_barrier(0);
}

/* ---- operations -------------------------------------------------------------------- */

CCS_FN uint8_t *ccs_stage(const struct ccs_known &b)
{
	return b.stage + (b.w.stage * b.replicas_max + (uint64_t)b.replica * b.w.stage_cells) *
				 b.tile * CCS_SIZE;
}

CCS_FN void ccs_ends(const struct ccs_known &b, const struct ccs_dev_op &o, struct ccs_row *r)
{
	const uint64_t replica = b.replica, line = replica * CCS_DEV_LINE;

	r->in = o.form & CCS_DEV_FROM_STAGE ? ccs_stage(b) : 0;
	r->out = o.form & CCS_DEV_TO_STAGE ? ccs_stage(b) : 0;
	r->in_bytes = r->out_bytes = r->in_number = r->out_number = 0;
	r->in_messages = r->out_messages = r->late = r->roomy = 0;
	r->in_slots = r->out_slots = 1;
	if (CCS_IS_IN(o.form)) {
		const struct ccs_dev_fifo f = ccs_row_of(b.fifos, o.in);

		r->in = f.data + replica * f.slots * f.slot_bytes;
		r->in_head = f.head + line;
		r->in_tail = f.tail + line;
		r->in_bytes = f.slot_bytes;
		r->in_messages = f.messages;
		r->in_slots = f.slots;
		r->in_number = b.epoch * f.messages + o.in_seq;
		r->late = f.messages * b.ntiles <= f.slots;
	}
	if (CCS_IS_OUT(o.form)) {
		const struct ccs_dev_fifo f = ccs_row_of(b.fifos, o.out);

		r->out = f.data + replica * f.slots * f.slot_bytes;
		r->out_head = f.head + line;
		r->out_tail = f.tail + line;
		r->out_bytes = f.slot_bytes;
		r->out_messages = f.messages;
		r->out_slots = f.slots;
		r->out_number = b.epoch * f.messages + o.out_seq;
		r->roomy = !b.far && f.messages * b.ntiles <= f.slots;
	}
}

#if CCS_PASSES
/* A chain's value: its current cell, and the previous one if it moved. */
struct ccs_held {
	const uint8_t *at, *was;
};

/* Whether the operation adds to the value: a message, or an own cell that the chain does not
 * write before. It may leave the sum in another cell, once, if no operation reads the first cell
 * after it: a pass writes only the last cell. */
CCS_FN bool ccs_adds(const struct ccs_row &r, struct ccs_held *v)
{
	const uint32_t form = r.op.form, local = CCS_DEV_A | CCS_DEV_B | CCS_DEV_DST;
	const uint8_t *a = r.cell.at[CCS_SPOT_A], *b = r.cell.at[CCS_SPOT_B];
	const uint8_t *dst = r.cell.at[CCS_SPOT_DST];
	const bool moves = dst != v->at;

	if ((form & CCS_DEV_FORM) == local) {
		const uint8_t *own = a == v->at ? b : a;

		if ((a != v->at && (b != v->at || moves)) || own == v->at || own == v->was ||
		    (CCS_OP == CCS_DEV_PREMUL && form & (CCS_DEV_A_INITIAL | CCS_DEV_B_INITIAL)))
			return false;
	} else if ((form & CCS_DEV_FORM & ~CCS_DEV_OUT) != (CCS_DEV_IN | CCS_DEV_A | CCS_DEV_DST) ||
		   a != v->at || form & CCS_DEV_A_INITIAL) {
		return false;
	}
	if (moves && (v->was || !(form & CCS_DEV_A_LAST)))
		return false;
	if (moves)
		*v = { dst, v->at };
	return true;
}

/* Operations from row i on that one pass may do: the first leaves its value in a cell, or sends
 * one; then come some that add to it, then some that send it. They wait for messages and slots
 * only. */
CCS_FN uint32_t ccs_chain(uint32_t i, uint32_t rows)
{
	const struct ccs_row &f = ccs_b.rows[i];
	const uint32_t staged = CCS_DEV_TO_STAGE | CCS_DEV_FROM_STAGE, form = f.op.form;
	const bool stores = form & CCS_DEV_DST;
	const uint32_t initial = stores ? 0 : form & CCS_DEV_A_INITIAL;
	struct ccs_held v = { f.cell.at[stores ? CCS_SPOT_DST : CCS_SPOT_A], 0 };
	uint32_t m = 1, sent = form & CCS_DEV_OUT;

	if (f.op.n != 1 || !f.cell.aligned || form & staged ||
	    (!stores && (form & CCS_DEV_FORM) != (CCS_DEV_A | CCS_DEV_OUT)))
		return 1;
	for (; m < CCS_CHAIN && i + m < rows; m++) {
		const struct ccs_row &r = ccs_b.rows[i + m];
		const uint32_t parts = r.op.form & CCS_DEV_FORM;

		if (r.op.n != 1 || r.op.nwaits || r.op.form & staged || !r.cell.aligned ||
		    r.cell.len != f.cell.len || r.cell.own != f.cell.own)
			break;
		if (parts & CCS_DEV_DST
			    ? sent || !ccs_adds(r, &v)
			    : parts != (CCS_DEV_A | CCS_DEV_OUT) || r.cell.at[CCS_SPOT_A] != v.at ||
				      (r.op.form & CCS_DEV_A_INITIAL) != initial)
			break;
		sent |= parts & CCS_DEV_OUT;
	}
	return m;
}

CCS_FN bool ccs_only_sends(const struct ccs_row &r)
{
	return r.op.n == 1 && (r.op.form & CCS_DEV_FORM) == (CCS_DEV_A | CCS_DEV_OUT);
}

/* The same for a bundle. As none of them writes an own cell they need no barrier between them, and
 * one wait and one fence are enough. Sends of one value are better a chain. */
CCS_FN uint32_t ccs_bundle(uint32_t i, uint32_t rows)
{
	uint32_t m = 0;

	for (; m < CCS_CHAIN && i + m < rows; m++) {
		const struct ccs_row &r = ccs_b.rows[i + m];
		const bool moves = !ccs_in_place(r.op.form);

		if (r.op.form & (CCS_DEV_TO_STAGE | CCS_DEV_FROM_STAGE) || (m && r.op.nwaits) ||
		    (moves && !ccs_only_sends(r)))
			break;
		if (moves && i + m + 1 < rows && ccs_only_sends(ccs_b.rows[i + m + 1]) &&
		    ccs_b.rows[i + m + 1].cell.at[CCS_SPOT_A] == r.cell.at[CCS_SPOT_A])
			break;
	}
	return m;
}

CCS_FN void ccs_pass_make(uint32_t i, uint32_t rows)
{
	const uint32_t chain = ccs_chain(i, rows), bundle = ccs_bundle(i, rows);

	ccs_b.rows[i].bundled = bundle > chain;
	ccs_b.rows[i].chain = bundle > chain ? bundle : chain;
}
#endif

/* Whether a message may be read in the cells of its sender, in a direct call: args.h. */
CCS_FN bool ccs_may_read(const struct ccs_known &b, const struct ccs_dev_rank &from, bool initial,
			 bool only_apart)
{
	const bool apart = initial && from.send != from.recv;

	if (CCS_OP == CCS_DEV_PREMUL && initial)
		return false;
	return apart || !(only_apart || b.divide);
}

/* The bits of an operation's form that apply in this call: without `direct`, none of the
 * direct ones. */
CCS_FN uint32_t ccs_form_now(const struct ccs_known &b, const struct ccs_dev_op &o)
{
	uint32_t form = o.form;

	if (CCS_PROTO != CCS_DEV_SIMPLE || !b.direct)
		return form & ~(CCS_DEV_OUT_DIRECT | CCS_DEV_IN_DIRECT | CCS_DEV_OUT_READ |
				CCS_DEV_IN_READ | CCS_DEV_IN_INITIAL);
	if (form & CCS_DEV_OUT_READ &&
	    !ccs_may_read(b, b.io, (form & (CCS_DEV_A_INITIAL | CCS_DEV_DST)) == CCS_DEV_A_INITIAL,
			  form & CCS_DEV_OUT_APART))
		form &= ~CCS_DEV_OUT_READ;
	if (form & CCS_DEV_IN_READ &&
	    !ccs_may_read(b, b.ranks[ccs_row_of(b.fifos, o.in).src], form & CCS_DEV_IN_INITIAL,
			  form & CCS_DEV_IN_APART))
		form &= ~(CCS_DEV_IN_READ | CCS_DEV_IN_INITIAL);
	if (form & CCS_DEV_OUT_READ)
		form &= ~CCS_DEV_OUT_DIRECT;
	if (form & CCS_DEV_IN_READ)
		form &= ~CCS_DEV_IN_DIRECT;
	return form;
}

/* Resolves one half of operation k + i % CCS_ROWS: its cells, or the ends of its FIFOs.
 * Without `direct` no row is direct. */
CCS_FN void ccs_resolve_half(uint32_t k, uint32_t i)
{
	struct ccs_row *r = ccs_b.rows + i % CCS_ROWS;
	const struct ccs_dev_op &o = ccs_row_of(ccs_b.ops, ccs_b.w.op + k + i % CCS_ROWS);

	if (i >= CCS_ROWS) {
		ccs_ends(ccs_b, o, r);
		return;
	}
	r->op = o;
	r->spot = 0;
	r->op.form = ccs_form_now(ccs_b, r->op);
	ccs_spot_make(ccs_b, r->op, 0, &r->cell);
}
