/*
 * Times of operations and blocks for traces (args.h, Traces), only in kernels compiled with -D
 * CCS_TRACE. These do one operation at a time, by the table.
 *
 * Thread 0 reads the clock for its block. An operation begins when everything that it waits for
 * is there, with LL when the first unit of its message has come; it ends when it is announced.
 */
#if defined(CCS_TRACE)
#define CCS_TRACED 1

CCS_FN void ccs_times_store(struct ccs_dev_time *to, uint64_t begin, uint64_t end)
{
	ccs_store<uint64_t>((uint8_t *)&to->begin, begin);
	ccs_store<uint64_t>((uint8_t *)&to->end, end);
}

/* The block begins; has ended. */
CCS_FN void ccs_times_block(const struct ccs_dev_call &c, bool ended)
{
	if (threadIdx.x)
		return;
	if (!ended) {
		ccs_b.trace = c.trace;
		ccs_b.block_began = ccs_clock();
	}
	if (c.trace.blocks)
		ccs_times_store(c.trace.blocks + blockIdx.x, ccs_b.block_began,
				ended ? ccs_clock() : 0);
}

/* An operation waits; no longer waits; has the first unit of its message. */
CCS_FN void ccs_times_wait(void)
{
	if (threadIdx.x == 0) {
		ccs_b.began = ccs_clock();
		ccs_b.came = 0;
	}
}

CCS_FN void ccs_times_ready(void)
{
	if (threadIdx.x == 0)
		ccs_b.began = ccs_clock();
}

CCS_FN void ccs_times_came(void)
{
	if (threadIdx.x == 0 && !ccs_b.came) {
		ccs_b.began = ccs_clock();
		ccs_b.came = 1;
	}
}

/* Operation k is done. */
CCS_FN void ccs_times_done(uint32_t k, uint64_t t)
{
	const struct ccs_dev_trace &to = ccs_b.trace;
	const uint64_t tile = (ccs_b.tile0 + t) * ccs_b.replicas + ccs_b.replica;

	if (threadIdx.x == 0 && tile < to.tiles)
		ccs_times_store(to.times + tile * to.ops + (ccs_b.w.op + k - to.first), ccs_b.began,
				ccs_clock());
}
#else
#define CCS_TRACED 0
#define ccs_times_block(c, ended) ((void)0)
#define ccs_times_wait() ((void)0)
#define ccs_times_ready() ((void)0)
#define ccs_times_came() ((void)0)
#define ccs_times_done(k, t) ((void)0)
#endif
