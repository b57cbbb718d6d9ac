/*
 * Writes the MSCCL XML file, and checks the limits of the executors.
 *
 * In:  blocks with channels, steps and waits. Out: E0501 with the name of a limit that is exceeded;
 * or <algo> with a <gpu> for each rank, its <tb>s and their <step>s, repeated for each replica. The
 * file has no prologue, and has every attribute that some executor reads. O(steps * replicas).
 */
#include "compiler/emit/msccl/export.h"

#include <inttypes.h>

#define NO_MOST_BYTES (INT64_C(1) << 40) /* maxBytes: executors differ on the meaning of 0 */

/* ---- limits ------------------------------------------------------------------------------ */

/* Steps of a block in the file: all waits of a step but one are a `nop` each. */
static uint32_t steps_of(const struct export_block *b)
{
	return b->nsteps ? b->steps[b->nsteps - 1].number + 1 : 0;
}

static bool fits_steps(const struct msccl_export *x)
{
	for (uint32_t b = 0; b < x->nblocks; b++)
		if (steps_of(x->blocks + b) > MSCCL_MAX_NUM_STEPS)
			return export_refuse(x, "fewer ranks or chunks, or longer messages",
					     "a thread block of rank %u has %u steps; the limit is "
					     "%u (MSCCL_MAX_NUM_STEPS)",
					     x->blocks[b].rank, steps_of(x->blocks + b),
					     MSCCL_MAX_NUM_STEPS);
	return true;
}

static bool fits_nodes(const struct msccl_export *x)
{
	uint32_t nranks = x->v->plan->nranks;

	if (nranks > MSCCL_MAX_SUBS)
		return export_refuse(x, "fewer ranks", "%u ranks exceed the limit of %u (MAX_SUBS)",
				     nranks, MSCCL_MAX_SUBS);
	for (uint32_t r = 0; r < nranks; r++) {
		uint64_t nblocks = (uint64_t)(x->first[r + 1] - x->first[r]) * x->replicas;
		uint64_t nodes = 1 + nranks + nblocks;

		for (uint32_t b = x->first[r]; b < x->first[r + 1]; b++)
			nodes += (uint64_t)steps_of(x->blocks + b) * x->replicas;
		if (nblocks > MSCCL_MAX_SUBS)
			return export_refuse(x, "fewer ranks or replicas",
					     "rank %u has %" PRIu64 " thread blocks; the limit is "
					     "%u (MAX_SUBS)",
					     r, nblocks, MSCCL_MAX_SUBS);
		if (nodes >= MSCCL_MAX_NODES)
			return export_refuse(x, "fewer ranks, chunks or replicas",
					     "rank %u has %" PRIu64 " XML elements; the limit is "
					     "below %u (MAX_NODES)",
					     r, nodes, MSCCL_MAX_NODES);
	}
	return true;
}

static bool fits_numbers(const struct msccl_export *x)
{
	uint32_t most = x->ninput > x->noutput ? x->ninput : x->noutput;

	for (uint32_t r = 0; r < x->v->plan->nranks; r++) {
		uint32_t n = x->nscratch[r] * x->replicas, blocks = x->first[r + 1] - x->first[r];

		most = n > most ? n : most;
		for (uint32_t b = 0; b < blocks; b++)
			if (x->blocks[x->first[r] + b].awaited &&
			    b + blocks * (x->replicas - 1) > MSCCL_MAX_DEPID)
				return export_refuse(
					x, "fewer ranks or replicas",
					"thread block %u of rank %u is waited for; %u is the last "
					"one possible (dependentBid)",
					b + blocks * (x->replicas - 1), r, MSCCL_MAX_DEPID);
	}
	if (most <= MSCCL_MAX_OFFSET)
		return true;
	return export_refuse(x, "fewer chunks or replicas",
			     "a buffer has %u chunks; %u is the last chunk possible (srcOffset)",
			     most, MSCCL_MAX_OFFSET);
}

bool export_limits(const struct msccl_export *x)
{
	return fits_steps(x) && fits_nodes(x) && fits_numbers(x);
}

/* ---- text -------------------------------------------------------------------------------- */

/* One replica of a rank's blocks. */
struct printer {
	const struct msccl_export *x;
	FILE *out;
	uint32_t rank, replica;
	uint32_t blocks; /* of the rank and a replica */
};

static void print_at(const struct printer *p, const char *which, struct export_at at)
{
	uint32_t part = at.buffer == EX_SCRATCH ? p->x->nscratch[p->rank] : p->x->per_block;

	fprintf(p->out, " %sbuf=\"%c\" %soff=\"%u\"", which, "ios"[at.buffer], which,
		at.chunk + p->replica * part);
}

static void print_wait(const struct printer *p, const struct export_wait *at)
{
	const struct msccl_export *x = p->x;

	if (!at) {
		fputs(" depid=\"-1\" deps=\"-1\"", p->out);
		return;
	}
	fprintf(p->out, " depid=\"%u\" deps=\"%u\"",
		at->block - x->first[p->rank] + p->replica * p->blocks,
		x->blocks[at->block].steps[at->step].number);
}

static void print_step(const struct printer *p, const struct export_step *s)
{
	const struct export_does *does = export_does(s->type);
	const struct export_wait *waits = s->nwaits ? p->x->waits + s->wait : NULL;
	uint32_t nops = s->nwaits > 1 ? s->nwaits - 1 : 0;

	for (uint32_t i = 0; i < nops; i++) {
		fprintf(p->out,
			"      <step s=\"%u\" type=\"nop\" srcbuf=\"i\" srcoff=\"-1\" dstbuf=\"o\" "
			"dstoff=\"-1\" cnt=\"0\"",
			s->number - nops + i);
		print_wait(p, waits + i);
		fputs(" hasdep=\"0\"/>\n", p->out);
	}
	fprintf(p->out, "      <step s=\"%u\" type=\"%s\"", s->number, does->name);
	print_at(p, "src", does->reads ? s->src : s->dst);
	print_at(p, "dst", does->writes ? s->dst : s->src);
	fprintf(p->out, " cnt=\"%u\"", s->n);
	print_wait(p, waits ? waits + nops : NULL);
	fprintf(p->out, " hasdep=\"%d\"/>\n", s->awaited);
}

static void print_block(const struct printer *p, uint32_t block)
{
	const struct msccl_export *x = p->x;
	const struct export_block *b = x->blocks + block;
	int64_t send = b->out == NONE ? -1 : (int64_t)x->v->fifos[b->out].dst;
	int64_t recv = b->in == NONE ? -1 : (int64_t)x->v->fifos[b->in].src;

	fprintf(p->out,
		"    <tb id=\"%u\" send=\"%" PRId64 "\" recv=\"%" PRId64 "\" chan=\"%u\">\n",
		block - x->first[p->rank] + p->replica * p->blocks, send, recv,
		b->channel + p->replica * x->nchannels);
	for (uint32_t i = 0; i < b->nsteps; i++)
		print_step(p, b->steps + i);
	fputs("    </tb>\n", p->out);
}

static void print_rank(const struct msccl_export *x, uint32_t rank, FILE *out)
{
	struct printer p = {
		.x = x, .out = out, .rank = rank, .blocks = x->first[rank + 1] - x->first[rank]
	};

	fprintf(out, "  <gpu id=\"%u\" i_chunks=\"%u\" o_chunks=\"%u\" s_chunks=\"%u\">\n", rank,
		x->ninput, x->noutput, x->nscratch[rank] * x->replicas);
	for (; p.replica < x->replicas; p.replica++)
		for (uint32_t b = x->first[rank]; b < x->first[rank + 1]; b++)
			print_block(&p, b);
	fputs("  </gpu>\n", out);
}

void export_text(const struct msccl_export *x, FILE *out)
{
	fprintf(out,
		"<algo name=\"%s\" proto=\"%s\" nchannels=\"%u\" nchunksperloop=\"%u\" ngpus=\"%u\" "
		"coll=\"%s\" inplace=\"%d\" outofplace=\"1\" minBytes=\"0\" maxBytes=\"%" PRId64
		"\">\n",
		x->name, x->protocol, x->nchannels * x->replicas, x->nchunks, x->v->plan->nranks,
		x->collective, x->in_place, NO_MOST_BYTES);
	for (uint32_t r = 0; r < x->v->plan->nranks; r++)
		print_rank(x, r, out);
	fputs("</algo>\n", out);
}
