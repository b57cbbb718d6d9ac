/*
 * Chooses the protocol of GPUs by size: the plan's table of choices.
 *
 * In:  a lowered program, with its direct messages. Out: rows of struct ccs_choice, LL
 * up to some size, Simple beyond.
 *
 * The model. A message of `b` bytes costs the block that moves it
 *
 *     Simple:  SIMPLE_HOP + b * SIMPLE_BYTE, or b * DIRECT_BYTE where it needs no slot
 *     LL:      LL_HOP     + b * LL_BYTE
 *
 * LL has the shorter hop, because a flag travels with every 4 bytes: there is no fence, and the
 * receiver polls the data itself. LL moves twice the bytes, always through a slot. A plan sends M
 * messages of together K cells. With S bytes in the larger buffer of a rank, which has C cells, a
 * chunk has S / C bytes. The call has R channels, by the rule of the runtime (choice_channels), and
 * at most MOST_CHANNELS or what fits a GPU of BLOCKS blocks. So a cell is S / (C R) bytes in a
 * block, and LL pays while
 *
 *     M (SIMPLE_HOP - LL_HOP) >= S / (C R) * (sum of LL_BYTE - SIMPLE_BYTE or - DIRECT_BYTE,
 *                                             cell by cell)
 *
 * in one tile, as two hops of LL cost more than one of Simple, and in slots that stay in the GPU's
 * L2 cache. The table has the largest power of two S for which all this holds: neither S / R nor
 * the slots of R channels fall as S grows. The constants are fitted by bench/gpu_fit.sh to the times
 * of one H200 with all ranks in its memory (bench/results/2026-11-28-nvidia-h200.md). There a staged
 * byte costs LL less than Simple, so only the limits of tile and cache end LL. --protocols and
 * $CCS_PROTOCOLS override the table.
 *
 * There is no LL128, a flag of 8 bytes for 120 of data. By these constants a message of 4 to 8 KiB
 * a block, as in calls of 64 KiB to 1 MiB, costs 1.3 to 1.7 us with LL and would cost 1.1 to 1.3 us:
 * 15 to 22 % less. But LL128 is right only if the lines that a warp stores become visible as a
 * whole. PTX's memory model does not promise that for accesses of different threads, nor for the
 * elements of one vector, so no test could show that it is right. It promises it for one access of
 * 16 bytes (.b128, PTX 8.3): 12 bytes of data and 4 of a flag, 16 % less time at 8 KiB, for units
 * that are no power of two. Twice the channels, 2 to 4 KiB a block, gain as much without any of
 * this.
 *
 * A plan without messages, or of one rank, has one row. O(messages).
 */
#include "compiler/lower/lowered.h"
#include "runtime/plan/choice.h"

/* ns a message; ps a byte. */
#define SIMPLE_HOP 1545.
#define LL_HOP 412.
#define SIMPLE_BYTE 70.
#define DIRECT_BYTE 0.
#define LL_BYTE 44.
#define BLOCKS 256u /* of CCS_THREADS threads, resident on a GPU at a time: two for each of 132 */

/* All messages of a plan. */
struct traffic {
	uint64_t messages, staged, direct; /* number; their cells that go through slots, and that
					      need none */
	uint64_t slots;			   /* cells of one slot of each FIFO */
	uint32_t most;			   /* cells of a message */
	struct choice_depth depth;
};

static bool in_place(const struct lowered *l, uint32_t message)
{
	return (l->direct && l->direct[message]) || (l->read && l->read[message]);
}

static void count_fifo(struct traffic *t, const struct lowered *l, const struct fifo *q)
{
	const struct program *p = l->program;
	uint32_t most = 0;

	for (uint32_t m = q->first; m < q->first + q->nsends; m++) {
		uint32_t n = p->tasks[q->src_task].ops[p->messages[m].send].n;
		most = n > most ? n : most;
		*(in_place(l, m) ? &t->direct : &t->staged) += n;
	}
	t->messages += q->nsends;
	t->slots += most;
	t->most = most > t->most ? most : t->most;
	choice_count(&t->depth, q->nsends);
}

static struct traffic count_traffic(const struct lowered *l)
{
	const struct program *p = l->program;
	struct traffic t = { 0 };

	for (uint32_t f = 0; f < p->nfifos; f++)
		count_fifo(&t, l, &p->fifos[f]);
	return t;
}

/* ps that LL takes longer to move a byte of each cell; negative where it is faster. */
static double ll_loss(const struct traffic *t)
{
	return (double)t->staged * (LL_BYTE - SIMPLE_BYTE) +
	       (double)t->direct * (LL_BYTE - DIRECT_BYTE);
}

/* The most bytes of a cell in a block, on `channels` channels, that LL moves in one tile and in
 * slots that stay in the cache if all ranks are in one launch. Some message must have cells. */
static double ll_room(const struct traffic *t, uint32_t slots, uint32_t channels)
{
	double tile = (double)choice_most_tile(CCS_LL, t->most);
	double cells = 2.0 * choice_slots(CCS_LL, slots, &t->depth, true) * (double)t->slots;
	double cached = (double)CACHED_BYTES / (cells * channels);

	return cached < tile ? cached : tile;
}

/* Cells of a rank's larger buffer. */
static uint64_t larger_buffer(const struct program *p)
{
	uint64_t most = 1;

	for (uint32_t i = 0; i < p->nbuffers; i++)
		if (p->buffers[i].cells > most)
			most = p->buffers[i].cells;
	return most;
}

/* The largest power of two, in bytes of a rank's larger buffer, up to which LL has room and is not
 * slower. */
static uint64_t ll_pays_to(const struct program *p, const struct traffic *t, uint32_t slots)
{
	double gain = (double)t->messages * (SIMPLE_HOP - LL_HOP) * 1e3; /* ps */
	double loss = ll_loss(t);
	uint32_t fit = BLOCKS / (p->ntasks ? p->ntasks : 1);
	uint32_t most = fit < MOST_CHANNELS ? fit : MOST_CHANNELS;
	uint64_t cells = larger_buffer(p), bytes = 1;

	for (uint64_t next = 2; next < UINT64_MAX / 2; next *= 2) {
		uint32_t channels = choice_channels(next / cells, most ? most : 1);
		double part = (double)next / (double)cells / channels;

		if (part * loss > gain || part > ll_room(t, slots, channels))
			break;
		bytes = next;
	}
	return bytes;
}

const struct choice_list *protocols_choose(struct ctx *c, const struct lowered *l)
{
	struct choice_list *v = ARENA_NEW(c->arena, struct choice_list);
	struct traffic t = count_traffic(l);
	enum ccs_protocol beyond = CCS_SIMPLE;

	if (t.staged || t.direct)
		v->rows[v->n++] =
			(struct ccs_choice){ .bytes = ll_pays_to(l->program, &t, c->slots),
					     .protocol = CCS_LL };
	else if (t.messages)
		beyond = CCS_LL;
	v->rows[v->n++] = (struct ccs_choice){ .bytes = UINT64_MAX, .protocol = beyond };
	return v;
}
