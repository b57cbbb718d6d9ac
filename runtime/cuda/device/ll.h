/*
 * LL: an 8-byte entry is 4 bytes of data and the low 32 bits of the message's
 * number + 1, written at once: the receiver's threads poll the data itself, and
 * nobody waits for a fence. A message without data is its first unit, all zero: so
 * the receiver waits for it like for any other.
 *
 * Entries beyond a short message keep old flags. For them never to match again 2^32
 * messages later, the sender fills slots wholly, twice in 2^32 messages: where number
 * mod 2^31 < slots. Old flags are then less than 2^32 - 2^31 + slots messages old.
 */

CCS_FN bool ccs_fits(const uint64_t v[2], uint32_t flag)
{
	return (uint32_t)(v[0] >> 32) == flag && (uint32_t)(v[1] >> 32) == flag;
}

/* Polls two entries. */
CCS_FN int ccs_ll_poll(const uint64_t *p, uint32_t flag, const struct ccs_row &r, uint32_t k,
		       uint64_t t)
{
	uint32_t looks = 0;
	uint64_t since = 0, v[2];

	for (;;) {
		ccs_ld_entries(p, v);
		const bool came = ccs_fits(v, flag);

		if (came && looks < CCS_LONG_WAIT)
			return 0;
		if (ccs_patience(&looks, &since,
				 { CCS_DEV_STUCK_RECV, ccs_b.fifos[r.op.in].src, r.op.in, k, t,
				   flag, v[0] >> 32 },
				 came))
			return 1;
		if (came)
			return 0;
	}
}

/* Both pairs are in flight at once; they are polled only if they are not there yet. */
CCS_FN int ccs_ll_take(const uint8_t *at, uint32_t flag, ccs_vec *v, const struct ccs_row &r,
		       uint32_t k, uint64_t t)
{
	const uint64_t *p = (const uint64_t *)at;
	uint64_t x[2], y[2];

	for (;;) {
		ccs_ld_entries(p, x);
		ccs_ld_entries(p + 2, y);
		if (ccs_fits(x, flag) && ccs_fits(y, flag))
			break;
		if (ccs_ll_poll(p, flag, r, k, t) || ccs_ll_poll(p + 2, flag, r, k, t))
			return 1;
	}
	v->w[0] = (uint32_t)x[0];
	v->w[1] = (uint32_t)x[1];
	v->w[2] = (uint32_t)y[0];
	v->w[3] = (uint32_t)y[1];
	return 0;
}

CCS_FN void ccs_ll_give(uint8_t *at, uint32_t flag, const ccs_vec &v)
{
	uint64_t *p = (uint64_t *)at;
	const uint64_t high = (uint64_t)flag << 32;

	ccs_st_entries(p, high | v.w[0], high | v.w[1]);
	ccs_st_entries(p + 2, high | v.w[2], high | v.w[3]);
}

/* Fills units from `unit` to the slot's end, all with one flag. */
CCS_CALL void ccs_ll_fill(uint8_t *slot, uint64_t unit, uint64_t bytes, uint32_t flag)
{
#pragma unroll 1
	for (unit += threadIdx.x; unit < bytes / 32; unit += blockDim.x)
		ccs_ll_give(slot + unit * 32, flag, ccs_zero());
}

/* Whether this message fills its slot. */
CCS_FN bool ccs_ll_fills(uint64_t number, uint32_t slots)
{
	return (number & 0x7fffffffu) < slots;
}
