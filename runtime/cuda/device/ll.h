/*
 * LL, NCCL's protocol for low latency: an 8-byte entry is 4 bytes of data and a flag, the low 32
 * bits of the message's number + 1, stored at once. The receiver's threads poll the data itself,
 * and no thread waits for a fence. A message without data is one unit of zeros, so that the
 * receiver waits for it like for any other.
 *
 * Entries after a short message keep old flags. They must not match 2^32 messages later, so the
 * sender fills whole slots twice in 2^32 messages: where number mod 2^31 < slots. Old flags are
 * then less than 2^32 - 2^31 + slots messages old.
 */

/* The flag of an entry that has not come; `flag` if all have. */
CCS_FN uint32_t ccs_ll_old(const ccs_vec &f, uint32_t flag)
{
	for (uint32_t i = 0; i < 3; i++)
		if (f.w[i] != flag)
			return f.w[i];
	return f.w[3];
}

/* The report's data if operation k waits for a message of a FIFO in tile t. */
CCS_FN struct ccs_stuck ccs_stuck_at(uint32_t fifo, uint32_t k, uint64_t t)
{
	return { CCS_DEV_STUCK_RECV, CCS_DEV_NONE, fifo, k, t, 0, 0 };
}

/* A unit of a message, when it has come; `stuck()`: its FIFO, operation and tile, for the report. A
 * poll reads the whole unit: a thread that is early need not load again the part that has come. */
template <typename Stuck>
CCS_FN int ccs_ll_take(const uint8_t *at, uint32_t flag, ccs_vec *v, Stuck stuck)
{
	uint32_t looks = 0;
	uint64_t since = 0;
	ccs_vec f;

	for (;;) {
		ccs_ld_entries(at, v, &f);
		const bool came =
			!((f.w[0] ^ flag) | (f.w[1] ^ flag) | (f.w[2] ^ flag) | (f.w[3] ^ flag));

		if (came && looks < CCS_LONG_WAIT) {
			ccs_times_came();
			return 0;
		}
		if (!came && (looks + 1) % CCS_LOOKS) { /* an unsuccessful poll costs only this */
			looks++;
			continue;
		}
		struct ccs_stuck s = stuck();

		s.need = flag;
		s.have = ccs_ll_old(f, flag);
		if (ccs_patience(&looks, &since, s, came))
			return 1;
		if (came) {
			ccs_times_came();
			return 0;
		}
	}
}

/* Fills units from `unit` to the slot's end, all with one flag. */
CCS_CALL void ccs_ll_fill(uint8_t *slot, uint64_t unit, uint64_t bytes, uint32_t flag)
{
#pragma unroll 1
	for (unit += threadIdx.x; unit < bytes / 32; unit += blockDim.x)
		ccs_st_entries(slot + unit * 32, ccs_zero(), flag);
}

/* Whether this message fills its slot. */
CCS_FN bool ccs_ll_fills(uint64_t number, uint32_t slots)
{
	return (number & 0x7fffffffu) < slots;
}

#if CCS_PROTO == CCS_DEV_LL
/* The address of a cell of a brief row. *own is at most its length; *low: bits that are 0 if it is
 * aligned; *rows: not 0 if its elements do not adjoin. */
CCS_FN uint8_t *ccs_brief_cell(const struct ccs_known &b, const struct ccs_dev_brief_cell &d,
			       bool initial, uint64_t *own, uintptr_t *low, uint32_t *rows)
{
	const bool scratch = d.block == CCS_DEV_NONE;
	uint8_t *at = scratch ? b.io.scratch : initial ? (uint8_t *)b.io.send : b.io.recv;
#if CCS_LAYOUTS
	const struct ccs_dev_place p = ccs_row_of(b.places, b.w.rank * b.rank_places + d.pos);
	const uint64_t len = p.len;

	at += (initial && !scratch ? p.send : p.recv) * CCS_SIZE;
	*rows |= p.row != 0;
#else
	const uint64_t chunk = d.pos * b.cut.q, from = chunk < b.count ? chunk : b.count;
	const uint64_t rest = b.count - from < b.cut.q ? b.count - from : b.cut.q;
	const uint64_t len = scratch ? b.longest : rest;

	at += (scratch ? d.pos * b.longest : d.block * b.count + from) * CCS_SIZE;
	(void)rows;
#endif
	*low |= (uintptr_t)at;
	if (initial && ccs_has_factors(b.io))
		*low |= (uintptr_t)ccs_factor_of(b.io, at);
	if (len < *own)
		*own = len;
	return at;
}

/* In a small call most operations are of one cell in one tile, wait only for their message, and
 * announce only theirs: all inputs of their step are known before it. Whether operation k is such a
 * one; the host has checked the conditions that all calls share (cuda_tables_brief). Without
 * branches: the threads of a warp do it for different operations. */
CCS_FN bool ccs_plain_make(const struct ccs_known &b, uint32_t k, struct ccs_plain *to)
{
	const struct ccs_dev_brief f = ccs_row_of(b.briefs, b.w.op + k);
	const uint32_t in = (uint32_t)b.epoch * f.in_messages + f.in_seq;
	const uint32_t out = (uint32_t)b.epoch * f.out_messages + f.out_seq;
	const uint64_t lo = ccs_lo(b, 0);
	uint64_t len = ~(uint64_t)0, own;
	uintptr_t low = 0;
	uint32_t rows = 0;
	const uint8_t *none = 0;

	ccs_brief_cell(b, f.len, false, &len, &low, &rows);
	own = len;
	low = 0;
	rows = 0;
	const uint8_t *from_a =
		f.form & CCS_DEV_A
			? ccs_brief_cell(b, f.a, f.form & CCS_DEV_A_INITIAL, &own, &low, &rows)
			: none;
	const uint8_t *from_b =
		f.form & CCS_DEV_B
			? ccs_brief_cell(b, f.b, f.form & CCS_DEV_B_INITIAL, &own, &low, &rows)
			: none;
	uint8_t *dst =
		f.form & CCS_DEV_DST ? ccs_brief_cell(b, f.dst, false, &own, &low, &rows) : 0;
	const uint32_t n = ccs_rest(b, len, lo);
	const uint32_t sent = (n + CCS_PER_UNIT - 1) / CCS_PER_UNIT;
	/* a message without data is a unit, too (ll.h) */
	const uint32_t units = sent || !(f.form & (CCS_DEV_IN | CCS_DEV_OUT)) ? sent : 1;
	const bool whole = n && !(low & 15) && n % CCS_PER_UNIT == 0 && own >= len;
	const bool plain = b.ntiles == 1 && f.form != CCS_DEV_NONE && !rows &&
			   (!(f.form & CCS_DEV_OUT) || !(b.far || ccs_ll_fills(out, f.out_slots)));

	to->in = f.in + (uint64_t)(b.replica * f.in_slots + (in & (f.in_slots - 1))) * f.in_bytes;
	to->out = f.out +
		  (uint64_t)(b.replica * f.out_slots + (out & (f.out_slots - 1))) * f.out_bytes;
	to->a = from_a + lo * CCS_SIZE;
	to->b = from_b + lo * CCS_SIZE;
	to->dst = dst + lo * CCS_SIZE;
	to->form = f.form;
	to->fifo = f.fifo;
	to->in_flag = in + 1;
	to->out_flag = out + 1;
	to->units = units;
	to->own = ccs_rest(b, own, lo);
	to->key = !plain ? CCS_DEV_NONE : whole ? f.form & CCS_DEV_FORM : CCS_PLAIN_PARTS;
	to->op = k;
	to->in_messages = f.in_messages;
	to->out_messages = f.out_messages;
	to->tail = f.tail;
	to->head = f.head;
	return plain;
}
#endif
