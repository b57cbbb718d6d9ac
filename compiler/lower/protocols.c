/*
 * Which protocol pays for which sizes on a GPU: the plan's table of choices.
 *
 * In:  a lowered program, with its direct messages. Out: rows of struct ccs_choice, LL
 * up to some size, Simple beyond.
 *
 * The model. A message of `b` bytes costs the block that moves it
 *
 *     Simple:  SIMPLE_HOP + b * SIMPLE_BYTE, or b * DIRECT_BYTE where it needs no slot
 *     LL:      LL_HOP     + b * LL_BYTE
 *
 * LL has the shorter hop, as a flag travels with every 4 bytes: nobody fences, and the
 * receiver sees the data itself. It moves twice the bytes, always through a slot. A
 * plan sends M messages of together K cells. With S bytes in the larger buffer of a
 * rank, which has C cells, and on R channels, a cell is S / (C R) bytes in a block. So
 * LL pays up to
 *
 *     S = C R * M (SIMPLE_HOP - LL_HOP) / (sum of LL_BYTE - SIMPLE_BYTE or - DIRECT_BYTE,
 *                                          cell by cell)
 *
 * rounded down to a power of two: the constants are estimates for ranks that share one
 * GPU's memory, until they are measured; --protocols and $CCS_PROTOCOLS override the
 * table. R is what a GPU of BLOCKS blocks has room for. Below, a channel more pays only
 * if each has PIECE bytes of a message to move, one sweep of a block's threads: such
 * sizes have rows of their own, with 1 and 4 channels at most.
 *
 * A plan without messages, or of one rank, has one row. O(messages).
 */
#include "compiler/lower/lowered.h"
#include "runtime/plan/choice.h"

/* ns a message; ps a byte. Estimates. */
#define SIMPLE_HOP 1600u
#define LL_HOP 900u
#define SIMPLE_BYTE 40u
#define DIRECT_BYTE 20u
#define LL_BYTE 100u
#define BLOCKS 128u /* of CCS_THREADS threads, resident on a GPU at a time */
#define PIECE 4096u /* bytes: 512 threads of 8 */

/* All messages of a plan. */
struct traffic {
	uint64_t messages, staged, direct; /* number; cells through slots, and not */
};

static struct traffic count_traffic(const struct lowered *l)
{
	const struct program *p = l->program;
	struct traffic t = { 0 };

	for (uint32_t f = 0; f < p->nfifos; f++) {
		const struct fifo *q = &p->fifos[f];
		for (uint32_t m = q->first; m < q->first + q->nsends; m++) {
			uint32_t n = p->tasks[q->src_task].ops[p->messages[m].send].n;
			t.messages++;
			*(l->direct && l->direct[m] ? &t.direct : &t.staged) += n;
		}
	}
	return t;
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

static uint64_t power_below(uint64_t v)
{
	uint64_t p = 1;

	while (p <= v / 2)
		p *= 2;
	return p;
}

static void add_row(struct choice_list *v, uint64_t bytes, enum ccs_protocol protocol,
		    uint32_t channels)
{
	v->rows[v->n++] =
		(struct ccs_choice){ .bytes = bytes, .protocol = protocol, .channels = channels };
}

const struct choice_list *protocols_choose(struct ctx *c, const struct lowered *l)
{
	struct choice_list *v = ARENA_NEW(c->arena, struct choice_list);
	struct traffic t = count_traffic(l);
	double cells = (double)larger_buffer(l->program);
	double channels = BLOCKS / (l->program->ntasks ? l->program->ntasks : 1);
	double gain = (double)t.messages * (SIMPLE_HOP - LL_HOP) * 1e3; /* ps */
	double loss = (double)t.staged * (LL_BYTE - SIMPLE_BYTE) +
		      (double)t.direct * (LL_BYTE - DIRECT_BYTE); /* ps a byte of a cell */

	if (t.messages == 0 || loss <= 0) {
		add_row(v, UINT64_MAX, t.messages ? CCS_LL : CCS_SIMPLE, 0);
		return v;
	}
	uint64_t most = power_below((uint64_t)(gain / loss * cells * channels));
	double message = (double)(t.staged + t.direct) / (double)t.messages / cells;
	for (uint32_t few = 1; few <= 4 && few < (uint32_t)channels; few *= 4) {
		uint64_t bytes = power_below((uint64_t)(few * PIECE / message));
		if (bytes < most)
			add_row(v, bytes, CCS_LL, few);
	}
	add_row(v, most, CCS_LL, 0);
	add_row(v, UINT64_MAX, CCS_SIMPLE, 0);
	return v;
}
