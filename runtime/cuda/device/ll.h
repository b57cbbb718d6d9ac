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

/* The flag of an entry that has not come; or `flag`. */
CCS_FN uint32_t ccs_ll_old(const ccs_vec &f, uint32_t flag)
{
	for (uint32_t i = 0; i < 3; i++)
		if (f.w[i] != flag)
			return f.w[i];
	return f.w[3];
}

/* Operation k waits for a message of a FIFO in tile t. */
CCS_FN struct ccs_stuck ccs_stuck_at(uint32_t fifo, uint32_t k, uint64_t t)
{
	return { CCS_DEV_STUCK_RECV, CCS_DEV_NONE, fifo, k, t, 0, 0 };
}

/* A unit of a message, when it has come; `whose()`: its FIFO, operation and tile, for the report.
 * A look is at all of the unit: whoever is early need not load again what has come. */
template <typename Whose>
CCS_FN int ccs_ll_take(const uint8_t *at, uint32_t flag, ccs_vec *v, Whose whose)
{
	uint32_t looks = 0;
	uint64_t since = 0;
	ccs_vec f;

	for (;;) {
		ccs_ld_entries(at, v, &f);
		const bool came =
			!((f.w[0] ^ flag) | (f.w[1] ^ flag) | (f.w[2] ^ flag) | (f.w[3] ^ flag));

		if (came && looks < CCS_LONG_WAIT)
			return 0;
		if (!came && (looks + 1) % CCS_LOOKS) { /* all that a look costs who is early */
			looks++;
			continue;
		}
		struct ccs_stuck s = whose();

		s.need = flag;
		s.have = ccs_ll_old(f, flag);
		if (ccs_patience(&looks, &since, s, came))
			return 1;
		if (came)
			return 0;
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
