/*
 * Moving a tile of an operation's cells: v = in (+) a (+) b, to dst and to out.
 *
 * Whole units of aligned cells go by ccs_units, with several loads in flight (Simple):
 * compiled for a form, in straight-line code, or for any. All the rest goes by
 * ccs_each, unit by unit, for any form: LL messages, unaligned cells, a cell's last
 * elements, and messages of many small cells, where a cell has less than a unit a
 * thread.
 *
 * Direct copies: `out` is then the peer's cell, and where the message is in its place
 * already, `in` is the own cell `dst`, and nothing is stored there. Direct reads: `in` is the
 * peer's cell, and on the other side nothing is written for it.
 */

#define CCS_LL (CCS_PROTO == CCS_DEV_LL)
#define CCS_IN_UNIT(form) (CCS_LL && CCS_IS_IN(form) ? 32u : 16u) /* bytes in the slot */
#define CCS_OUT_UNIT(form) (CCS_LL && CCS_IS_OUT(form) ? 32u : 16u)

/* Addresses at the tile's beginning. Part j of a message begins at unit j * room. */
struct ccs_part {
	const uint8_t *in, *a, *b;
	uint8_t *dst, *out;
	uint32_t units; /* of the message */
	uint32_t own;	/* elements of the caller's memory that it may touch */
	uint32_t whole; /* units that ccs_units moves */
#if CCS_LAYOUTS
	const struct ccs_spot *spot;
	uint64_t lo; /* the first element of the tile in the cell */
#endif
};

/* The message's slot; `number` is that of the message. */
CCS_FN const uint8_t *ccs_in_slot(const struct ccs_row &r, uint64_t number)
{
	return r.in + (number & (r.in_slots - 1)) * r.in_bytes;
}

CCS_FN uint8_t *ccs_out_slot(const struct ccs_row &r, uint64_t number)
{
	return r.out + (number & (r.out_slots - 1)) * r.out_bytes;
}

CCS_FN struct ccs_part ccs_part_of(const struct ccs_known &b, const struct ccs_row &r,
				   const struct ccs_spot &s, uint32_t j, uint64_t t)
{
	const uint64_t lo = ccs_lo(b, t), at = lo * CCS_SIZE, unit = (uint64_t)j * b.room;
	const uint32_t form = r.op.form;
	struct ccs_part p;

#if CCS_LAYOUTS
	p.spot = &s;
	p.lo = lo;
#endif
	p.units = (ccs_rest(b, s.len, lo) + CCS_PER_UNIT - 1) / CCS_PER_UNIT;
	p.own = ccs_rest(b, s.own, lo);
	p.whole = s.aligned ? p.own / CCS_PER_UNIT : 0;
	p.a = s.at[CCS_SPOT_A] + at;
	p.b = s.at[CCS_SPOT_B] + at;
	p.dst = s.at[CCS_SPOT_DST] + at;
	p.in = form & CCS_DEV_IN_DIRECT ? p.dst
	       : form & CCS_DEV_IN_READ
		       ? s.at[CCS_SPOT_FROM] + at
		       : ccs_in_slot(r, r.in_number + t * r.in_messages) + unit * CCS_IN_UNIT(form);
	p.out = form & CCS_DEV_OUT_DIRECT ? s.at[CCS_SPOT_TO] + at
					  : ccs_out_slot(r, r.out_number + t * r.out_messages) +
						    unit * CCS_OUT_UNIT(form);
	return p;
}

#if CCS_LAYOUTS
/* Elements e .. e + n - 1 of a `by column` cell; one access if they are in one row. */
CCS_PART ccs_vec ccs_fetch_rows(const uint8_t *cell, struct ccs_matrix in, uint64_t e, uint32_t n)
{
	uint64_t from = e / in.row * in.apart, column = e % in.row;
	ccs_vec v = ccs_zero();

	n = n < CCS_PER_UNIT ? n : CCS_PER_UNIT;
	if (in.row - column >= n)
		return ccs_fetch(cell + (from + column) * CCS_SIZE, n);
#pragma unroll
	for (uint32_t i = 0; i < CCS_PER_UNIT; i++) {
		if (i >= n)
			continue;
		ccs_put(v, i, ccs_load<ccs_elem>(cell + (from + column) * CCS_SIZE));
		if (++column == in.row) {
			column = 0;
			from += in.apart;
		}
	}
	return v;
}

CCS_PART void ccs_keep_rows(uint8_t *cell, struct ccs_matrix in, uint64_t e, ccs_vec v, uint32_t n)
{
	uint64_t from = e / in.row * in.apart, column = e % in.row;

	n = n < CCS_PER_UNIT ? n : CCS_PER_UNIT;
	if (in.row - column >= n) {
		ccs_keep(cell + (from + column) * CCS_SIZE, v, n);
		return;
	}
#pragma unroll
	for (uint32_t i = 0; i < CCS_PER_UNIT; i++) {
		if (i >= n)
			continue;
		ccs_store<ccs_elem>(cell + (from + column) * CCS_SIZE, ccs_get(v, i));
		if (++column == in.row) {
			column = 0;
			from += in.apart;
		}
	}
}

/* The same for any cell; `p`: the address of element e, if contiguous. */
CCS_FN ccs_vec ccs_read(const uint8_t *cell, const struct ccs_matrix &in, uint64_t e,
			const uint8_t *p, uint32_t n)
{
	return in.row ? ccs_fetch_rows(cell, in, e, n) : ccs_fetch(p, n);
}

CCS_FN void ccs_write(uint8_t *cell, const struct ccs_matrix &in, uint64_t e, uint8_t *p,
		      const ccs_vec &v, uint32_t n)
{
	if (in.row)
		ccs_keep_rows(cell, in, e, v, n);
	else
		ccs_keep(p, v, n);
}
#else
#define ccs_read(cell, in, e, p, n) ccs_fetch(p, n)
#define ccs_write(cell, in, e, p, v, n) ccs_keep(p, v, n)
#endif

/* The factors by which premul-sum multiplies such a unit of an initial value. */
#define CCS_FACTORS(cell, in, e, p, n) \
	(ccs_has_factors(ccs_b.io) \
		 ? ccs_read(ccs_factor_of(ccs_b.io, cell), in, e, ccs_factor_of(ccs_b.io, p), n) \
		 : ccs_b.scalar)

/* Unit u of the cell at address i of a part; `p` as above. */
#define CCS_READ(part, i, u, p, n) \
	ccs_read((part).spot->at[i], (part).spot->in[i], (part).lo + (uint64_t)(u) * CCS_PER_UNIT, \
		 p, n)
#define CCS_WRITE(part, i, u, p, v, n) \
	ccs_write((part).spot->at[i], (part).spot->in[i], \
		  (part).lo + (uint64_t)(u) * CCS_PER_UNIT, p, v, n)

/* Unit u of operand i, with n elements of the caller's at p; premul-sum multiplies initial
 * values. */
CCS_FN ccs_vec ccs_operand(const struct ccs_part &part, uint32_t i, uint32_t u, const uint8_t *p,
			   uint32_t n, uint32_t initial)
{
	const ccs_vec v = CCS_READ(part, i, u, p, n);

	(void)part, (void)i, (void)u; /* used only for columns */
	if (CCS_OP != CCS_DEV_PREMUL || !initial)
		return v;
	return ccs_scale16(v, CCS_FACTORS(part.spot->at[i], part.spot->in[i],
					  part.lo + (uint64_t)u * CCS_PER_UNIT, p, n));
}

/* The same for a whole, aligned unit that was loaded from p. */
CCS_FN ccs_vec ccs_operand16(const ccs_vec &v, const uint8_t *p, uint32_t initial)
{
	if (CCS_OP != CCS_DEV_PREMUL || !initial)
		return v;
	return ccs_scale16(v, ccs_has_factors(ccs_b.io) ? ccs_load16(ccs_factor_of(ccs_b.io, p))
							: ccs_b.scalar);
}

/* v = in (+) a (+) b */
CCS_FN ccs_vec ccs_value(uint32_t form, ccs_vec in, const ccs_vec &a, const ccs_vec &b)
{
	if (form & CCS_DEV_A)
		in = form & CCS_DEV_IN ? ccs_combine16(in, a) : a;
	if (form & CCS_DEV_B)
		in = form & (CCS_DEV_IN | CCS_DEV_A) ? ccs_combine16(in, b) : b;
	return in;
}

/* ---- unit by unit -------------------------------------------------------------------- */

CCS_FN int ccs_unit(const struct ccs_row &r, const struct ccs_part &p, uint32_t u, uint32_t k,
		    uint64_t t)
{
	const uint32_t form = r.op.form, first = u * CCS_PER_UNIT;
	const uint32_t n = p.own > first ? p.own - first : 0;
	const uint64_t at = (uint64_t)u * 16;
	ccs_vec in = ccs_zero(), a = in, b = in;

	if (form & CCS_DEV_A)
		a = ccs_operand(p, CCS_SPOT_A, u, p.a + at, n, form & CCS_DEV_A_INITIAL);
	if (form & CCS_DEV_B)
		b = ccs_operand(p, CCS_SPOT_B, u, p.b + at, n, form & CCS_DEV_B_INITIAL);
	if (CCS_LL && CCS_IS_IN(form)) {
		const auto stuck = [&] { return ccs_stuck_at(r.op.in, k, t); };

		if (ccs_ll_take(p.in + 2 * at, (uint32_t)(r.in_number + t * r.in_messages) + 1, &in,
				stuck))
			return 1;
	} else if (form & CCS_DEV_IN) {
		in = form & CCS_DEV_IN_DIRECT ? CCS_READ(p, CCS_SPOT_DST, u, p.in + at, n)
		     : form & CCS_DEV_IN_READ ? CCS_READ(p, CCS_SPOT_FROM, u, p.in + at, n)
					      : ccs_load16(p.in + at);
	}
	in = ccs_value(form, in, a, b);
	if (CCS_LL && CCS_IS_OUT(form))
		ccs_st_entries(p.out + 2 * at, in,
			       (uint32_t)(r.out_number + t * r.out_messages) + 1);
	else if (form & CCS_DEV_OUT_DIRECT)
		CCS_WRITE(p, CCS_SPOT_TO, u, p.out + at, in, n);
	else if (CCS_GIVES(form))
		ccs_store16(p.out + at, in);
	if (CCS_KEEPS(form))
		CCS_WRITE(p, CCS_SPOT_DST, u, p.dst + at, in, n);
	return 0;
}

/* Whether cells are moved one after another; small cells are moved all at once. */
CCS_FN bool ccs_one_by_one(const struct ccs_row &r)
{
	return r.op.n == 1 || ccs_b.room >= blockDim.x;
}

CCS_FN uint32_t ccs_cells_here(const struct ccs_row &r, uint32_t j)
{
	const uint32_t n = r.op.n ? r.op.n : 1;

	return n - j < CCS_ROWS ? n - j : CCS_ROWS;
}

CCS_FN const struct ccs_spot *ccs_spots_here(const struct ccs_row &r)
{
	return r.op.n > 1 ? ccs_b.spots + r.spot : &r.cell;
}

/* Moves the units that ccs_units has not moved, of cells from j on, as far as their spots are
 * made. `fill`: an LL message that fills its slot. */
CCS_FN int ccs_each(uint32_t k, uint64_t t, uint32_t j, bool fill)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];
	const struct ccs_spot *s = ccs_spots_here(r);
	const uint32_t room = ccs_b.room, n = ccs_cells_here(r, j), end = n * room;
	const bool skip = !CCS_LL && ccs_one_by_one(r);
	struct ccs_part p = ccs_part_of(ccs_b, r, s[0], j, t);
	uint32_t at = 0;

	if (CCS_LL && j == 0 && p.units == 0)
		p.units = 1;
#pragma unroll 1
	for (uint32_t i = threadIdx.x; i < end; i += blockDim.x) {
		uint32_t u;

		if (n > 1 && i / room != at) {
			at = i / room;
			p = ccs_part_of(ccs_b, r, s[at], j + at, t);
		}
		u = i - at * room;
		if (u < p.units) {
			if ((!skip || u >= p.whole) && ccs_unit(r, p, u, k, t))
				return 1;
		} else if (CCS_LL && fill) {
			ccs_st_entries(p.out + (uint64_t)u * 32, ccs_zero(),
				       (uint32_t)(r.out_number + t * r.out_messages) + 1);
		}
	}
	return 0;
}

/* ---- whole units ----------------------------------------------------------------------- */

#define CCS_UNROLL 4
#define CCS_ANY (~0u) /* a form that is known only at run time */

template <uint32_t F> CCS_FN void ccs_units(const struct ccs_part &p, uint32_t form)
{
	const uint32_t f = F == CCS_ANY ? form : F, step = blockDim.x, whole = p.whole;
	const uint64_t policy = ccs_b.policy;

#pragma unroll 1
	for (uint32_t u = threadIdx.x; u < whole; u += CCS_UNROLL * step) {
		ccs_vec in[CCS_UNROLL], a[CCS_UNROLL], b[CCS_UNROLL];

#pragma unroll
		for (uint32_t i = 0; i < CCS_UNROLL; i++) {
			const uint64_t at = (uint64_t)(u + i * step) * 16;

			if (u + i * step >= whole)
				continue;
			in[i] = f & CCS_DEV_IN ? ccs_load16(p.in + at) : ccs_zero();
			a[i] = f & CCS_DEV_A ? ccs_load16_by(p.a + at, policy) : ccs_zero();
			b[i] = f & CCS_DEV_B ? ccs_load16_by(p.b + at, policy) : ccs_zero();
		}
#pragma unroll
		for (uint32_t i = 0; i < CCS_UNROLL; i++) {
			const uint64_t at = (uint64_t)(u + i * step) * 16;

			if (u + i * step >= whole)
				continue;
			if (f & CCS_DEV_A)
				a[i] = ccs_operand16(a[i], p.a + at, form & CCS_DEV_A_INITIAL);
			if (f & CCS_DEV_B)
				b[i] = ccs_operand16(b[i], p.b + at, form & CCS_DEV_B_INITIAL);
			in[i] = ccs_value(f, in[i], a[i], b[i]);
			if (f & CCS_DEV_OUT && CCS_GIVES(form))
				ccs_store16(p.out + at, in[i]);
			if (f & CCS_DEV_DST && CCS_KEEPS(form))
				ccs_store16_by(p.dst + at, in[i], policy);
		}
	}
}

/* Moves the cells from j on, as far as their spots are made. */
CCS_FN void ccs_move(uint32_t k, uint64_t t, uint32_t j)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];
	const struct ccs_spot *s = ccs_spots_here(r);
	const uint32_t n = ccs_cells_here(r, j);
	bool left = !ccs_one_by_one(r);

	if (ccs_in_place(r.op.form))
		return;
#pragma unroll 1
	for (uint32_t i = 0; i < n && ccs_one_by_one(r); i++) {
		const struct ccs_part p = ccs_part_of(ccs_b, r, s[i], j + i, t);

		ccs_units<CCS_ANY>(p, r.op.form);
		left |= p.whole < p.units;
	}
	if (left)
		ccs_each(k, t, j, false);
}

/* ---- one pass for a chain --------------------------------------------------------------- */

#if CCS_PASSES
/* Operations k .. k + m - 1 of a chain, of whole units: what each alone would store and
 * load again is in registers. One by one they would add in this order, too, and round
 * every sum. */
CCS_FN void ccs_pass(uint32_t k, uint64_t t, uint32_t m)
{
	const struct ccs_row &r = ccs_b.rows[k % CCS_ROWS];
	const struct ccs_part p = ccs_part_of(ccs_b, r, r.cell, 0, t);
	const uint32_t form = r.op.form, step = blockDim.x;
	const uint64_t policy = ccs_b.policy;
	uint32_t sums = 1, whole = 0;
	uint8_t *dst;

	while (sums < m && ccs_b.rows[(k + sums) % CCS_ROWS].op.form & CCS_DEV_DST)
		sums++;
	dst = ccs_b.rows[(k + sums - 1) % CCS_ROWS].cell.at[CCS_SPOT_DST] +
	      ccs_lo(ccs_b, t) * CCS_SIZE;
	/* If all messages are read in place, nothing is moved. */
	for (uint32_t j = 0; j < m; j++)
		if (ccs_b.links[j].out || sums > 1 || CCS_KEEPS(form))
			whole = p.whole;
#pragma unroll 1
	for (uint32_t u = threadIdx.x; u < whole; u += CCS_UNROLL * step) {
		ccs_vec v[CCS_UNROLL], x[CCS_UNROLL], y[CCS_UNROLL];
		const uint64_t at = (uint64_t)u * 16;
		const uint32_t left = (whole - u + step - 1) / step;

#define CCS_UNITS _Pragma("unroll") for (uint32_t i = 0; i < CCS_UNROLL; i++) if (i < left)
#define CCS_AT (at + (uint64_t)(i * step) * 16)
		CCS_UNITS
		{
			v[i] = form & CCS_DEV_IN ? ccs_load16(p.in + CCS_AT) : ccs_zero();
			x[i] = form & CCS_DEV_A ? ccs_load16_by(p.a + CCS_AT, policy) : ccs_zero();
			y[i] = form & CCS_DEV_B ? ccs_load16_by(p.b + CCS_AT, policy) : ccs_zero();
		}
		CCS_UNITS
		{
			if (form & CCS_DEV_A)
				x[i] = ccs_operand16(x[i], p.a + CCS_AT, form & CCS_DEV_A_INITIAL);
			if (form & CCS_DEV_B)
				y[i] = ccs_operand16(y[i], p.b + CCS_AT, form & CCS_DEV_B_INITIAL);
			v[i] = ccs_value(form, v[i], x[i], y[i]);
		}
#pragma unroll 1
		for (uint32_t j = 1; j < sums; j++) {
			CCS_UNITS
			x[i] = ccs_load16(ccs_b.links[j].in + CCS_AT);
			CCS_UNITS
			v[i] = ccs_combine16(x[i], v[i]);
		}
		if (CCS_KEEPS(form) || sums > 1)
			CCS_UNITS
		ccs_store16_by(dst + CCS_AT, v[i], policy);
#pragma unroll 1
		for (uint32_t j = 0; j < m; j++)
			if (ccs_b.links[j].out)
				CCS_UNITS
		ccs_store16(ccs_b.links[j].out + CCS_AT, v[i]);
	}
}
#endif
