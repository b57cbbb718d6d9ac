/*
 * Kernels written by hand, to set the generated ones beside: what the same job costs
 * on the same GPU when nothing is general. Compiled by NVRTC (gpu_hand.c), for RANKS
 * buffers of float32 on one GPU. All move 16 bytes a thread and access.
 *
 *   hand_empty    nothing: what a launch costs
 *   hand_copy     rank 0's input to its output: what a kernel can reach at all
 *   hand_direct   allreduce: every element is read from all inputs once, and its sum
 *                 written to all outputs. 2 RANKS S bytes; no allreduce moves fewer
 *   hand_ring     the loads and stores of a ring allreduce that writes results straight
 *                 into place, (5 RANKS - 4) S bytes, without its waiting. The sums are
 *                 wrong, therefore: it shows what waiting costs, and computes nothing
 */
#define TILE (4 * THREADS)	/* vectors that a block has in flight */

struct hand_buffers {
	const float4 *in[RANKS];
	float4 *out[RANKS];
	float4 *slots;		/* hand_ring: 8 * TILE for each block */
};

static __device__ float4 plus(float4 a, float4 b)
{
	return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

extern "C" __global__ void hand_empty(struct hand_buffers, unsigned long long)
{
}

extern "C" __global__ void __launch_bounds__(THREADS)
hand_copy(struct hand_buffers b, unsigned long long n)
{
	for (unsigned long long i = (unsigned long long)blockIdx.x * TILE; i < n;
	     i += (unsigned long long)gridDim.x * TILE) {
		float4 v[4];

#pragma unroll
		for (int k = 0; k < 4; k++)
			if (i + k * THREADS + threadIdx.x < n)
				v[k] = b.in[0][i + k * THREADS + threadIdx.x];
#pragma unroll
		for (int k = 0; k < 4; k++)
			if (i + k * THREADS + threadIdx.x < n)
				b.out[0][i + k * THREADS + threadIdx.x] = v[k];
	}
}

extern "C" __global__ void __launch_bounds__(THREADS)
hand_direct(struct hand_buffers b, unsigned long long n)
{
	for (unsigned long long i = (unsigned long long)blockIdx.x * THREADS + threadIdx.x; i < n;
	     i += (unsigned long long)gridDim.x * THREADS) {
		float4 v[RANKS];

#pragma unroll
		for (int r = 0; r < RANKS; r++)
			v[r] = b.in[r][i];
#pragma unroll
		for (int r = 1; r < RANKS; r++)
			v[0] = plus(v[0], v[r]);
#pragma unroll
		for (int r = 0; r < RANKS; r++)
			b.out[r][i] = v[0];
	}
}

/* One tile: *to = *from, or *from + *with; and to `too`, if there is one. Tiles at a
 * chunk's end are cut to `n` vectors. */
static __device__ void move(float4 *to, float4 *too, const float4 *from, const float4 *with,
			    unsigned long long n)
{
	float4 v[4];

#pragma unroll
	for (int k = 0; k < 4; k++)
		if (k * THREADS + threadIdx.x < n)
			v[k] = from[k * THREADS + threadIdx.x];
	if (with) {
#pragma unroll
		for (int k = 0; k < 4; k++)
			if (k * THREADS + threadIdx.x < n)
				v[k] = plus(v[k], with[k * THREADS + threadIdx.x]);
	}
#pragma unroll
	for (int k = 0; k < 4; k++)
		if (k * THREADS + threadIdx.x < n) {
			to[k * THREADS + threadIdx.x] = v[k];
			if (too)
				too[k * THREADS + threadIdx.x] = v[k];
		}
}

/* Block b is rank b % RANKS, on channel b / RANKS. */
extern "C" __global__ void __launch_bounds__(THREADS)
hand_ring(struct hand_buffers b, unsigned long long n)
{
	unsigned rank = blockIdx.x % RANKS, next = (rank + 1) % RANKS;
	unsigned channel = blockIdx.x / RANKS, channels = gridDim.x / RANKS;
	unsigned long long chunk = n / RANKS;
	float4 *mine = b.slots + (unsigned long long)blockIdx.x * 8 * TILE;
	float4 *theirs = b.slots + (unsigned long long)(channel * RANKS + next) * 8 * TILE;
	const float4 *in = b.in[rank];

	for (unsigned long long at = (unsigned long long)channel * TILE; at < chunk;
	     at += (unsigned long long)channels * TILE) {
		unsigned long long len = chunk - at < TILE ? chunk - at : TILE;

		move(theirs, 0, in + rank * chunk + at, 0, len);
		for (unsigned s = 1; s < RANKS - 1; s++)
			move(theirs + s % 8 * TILE, 0, mine + (s - 1) % 8 * TILE,
			     in + (rank + RANKS - s) % RANKS * chunk + at, len);
		move(b.out[rank] + next * chunk + at, b.out[next] + next * chunk + at,
		     mine + (RANKS - 2) % 8 * TILE, in + next * chunk + at, len);
		for (unsigned s = 1; s < RANKS - 1; s++) {
			unsigned c = (rank + 1 + RANKS - s) % RANKS;

			move(b.out[next] + c * chunk + at, 0, b.out[rank] + c * chunk + at, 0, len);
		}
	}
}
