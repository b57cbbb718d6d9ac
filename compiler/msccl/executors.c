/*
 * Executors: sound descriptions that the executors of MSCCL and RCCL do not take.
 *
 * In: a sound description. Out: W0601 for each limit that it exceeds, with the limit's name, and
 * for each rule of their parser that it breaks:
 *
 *   - the protocol is Simple, LL or LL128;
 *   - channels are below `nchannels`: the executor connects no further channels;
 *   - a GPU's thread blocks are 0, 1, 2 and on, without a gap;
 *   - a step reads and stores below the number of chunks of the buffer in its <gpu>, for every
 *     collective (`src` and `dst` of rrc are not checked);
 *   - the waits of nops are added to the step after them, which must have a wait itself;
 *   - a nop releases no step: a step that waits for a nop is released by the step after the nop,
 *     if that has hasdep="1".
 *
 * Each is reported once a GPU. O(steps).
 */
#include "compiler/msccl/msccl.h"

#include <string.h>

struct looking {
	struct ctx *c;
	const struct msccl *m;
};

/* ---- limits ------------------------------------------------------------------------------- */

static void warn_over(const struct looking *x, struct span at, const char *what, uint64_t is,
		      uint64_t most, const char *name)
{
	diag_warn(x->c->diags, W_EXECUTOR, at, NO_RANK, "%s: %llu, and executors take %llu (%s)",
		  what, (unsigned long long)is, (unsigned long long)most, name);
}

static void check_block_limits(const struct looking *x, const struct msccl_block *b)
{
	uint32_t last = b->nsteps ? b->steps[b->nsteps - 1].s : 0; /* numbers may have gaps */

	if (last >= MSCCL_MAX_NUM_STEPS)
		warn_over(x, b->span, "steps of a thread block", (uint64_t)last + 1,
			  MSCCL_MAX_NUM_STEPS, "MSCCL_MAX_NUM_STEPS");
	if (b->channel >= MSCCL_MAX_CHANNELS)
		warn_over(x, b->span, "channels", (uint64_t)b->channel + 1, MSCCL_MAX_CHANNELS,
			  "MAXCHANNELS");
	for (uint32_t i = 0; i < b->nsteps; i++)
		if (b->steps[i].cnt >= MSCCL_MAX_COUNT)
			warn_over(x, b->steps[i].span, "chunks of a step (cnt)", b->steps[i].cnt,
				  MSCCL_MAX_COUNT - 1, "MSCCL_MAX_COUNT 72");
}

/* Blocks of a GPU on one channel: reported once a channel, at the first block above the limit. */
static void check_channels(const struct looking *x, const struct msccl_gpu *g)
{
	uint32_t count[MSCCL_MAX_CHANNELS] = { 0 };

	for (uint32_t i = g->first; i < g->first + g->nblocks; i++) {
		const struct msccl_block *b = &x->m->blocks[i];
		if (b->channel < MSCCL_MAX_CHANNELS &&
		    ++count[b->channel] == MSCCL_MAX_BLOCKS_PER_CHANNEL + 1)
			warn_over(x, b->span, "thread blocks of a channel", count[b->channel],
				  MSCCL_MAX_BLOCKS_PER_CHANNEL,
				  "MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL");
	}
}

static void check_limits(const struct looking *x)
{
	const struct msccl *m = x->m;

	if (m->nchannels > MSCCL_MAX_CHANNELS)
		warn_over(x, m->span, "nchannels", m->nchannels, MSCCL_MAX_CHANNELS, "MAXCHANNELS");
	if (m->nranks > MSCCL_MAX_NODES)
		warn_over(x, m->span, "GPUs", m->nranks, MSCCL_MAX_NODES, "4,096 nodes");
	for (uint32_t i = 0; i < m->nblocks; i++)
		check_block_limits(x, &m->blocks[i]);
	for (uint32_t g = 0; g < m->nranks; g++)
		check_channels(x, &m->gpus[g]);
}

/* ---- rules: each reports a breach, and returns whether there is one ------------------------- */

static bool unknown_protocol(const struct looking *x)
{
	const char *p = x->m->protocol;

	if (!strcmp(p, "Simple") || !strcmp(p, "LL") || !strcmp(p, "LL128"))
		return false;
	diag_warn(x->c->diags, W_EXECUTOR, x->m->span, NO_RANK,
		  "proto=\"%.40s\": executors accept Simple, LL and LL128", p);
	return true;
}

/* Ids differ, so that the largest shows whether there is a gap. */
static bool gap_of_blocks(const struct looking *x, const struct msccl_gpu *g)
{
	const struct msccl_block *blocks = x->m->blocks + g->first, *last = blocks;

	for (uint32_t i = 1; i < g->nblocks; i++)
		if (blocks[i].id > last->id)
			last = &blocks[i];
	if (!g->nblocks || last->id == g->nblocks - 1)
		return false;
	diag_warn(x->c->diags, W_EXECUTOR, last->span, NO_RANK,
		  "GPU %u has %u thread block%s, and one with id=\"%u\": executors allow no gaps "
		  "between ids",
		  last->gpu, g->nblocks, g->nblocks == 1 ? "" : "s", last->id);
	return true;
}

static bool not_connected(const struct looking *x, const struct msccl_block *b)
{
	uint32_t n = x->m->nchannels; /* 0: not given */

	if (!n || b->channel < n || (b->in == NONE && b->out == NONE))
		return false;
	diag_warn(x->c->diags, W_EXECUTOR, b->span, NO_RANK,
		  "channel %u, and nchannels=\"%u\": executors connect no more", b->channel, n);
	return true;
}

static bool outside(const struct looking *x, const struct msccl_block *b,
		    const struct msccl_step *s, const struct msccl_chunks *k)
{
	static const char names[] = { 'i', 'o', 's' };
	const struct msccl_gpu *g = &x->m->gpus[b->gpu];

	if (!g->counted[k->buffer] || k->at < g->chunks[k->buffer])
		return false;
	diag_warn(x->c->diags, W_EXECUTOR, s->span, NO_RANK,
		  "it begins at %c[%u], and GPU %u has %c_chunks=\"%u\": executors allow nothing "
		  "beyond",
		  names[k->buffer], k->at, b->gpu, names[k->buffer], g->chunks[k->buffer]);
	return true;
}

static bool places_outside(const struct looking *x, const struct msccl_block *b,
			   const struct msccl_step *s)
{
	const struct msccl_does *does = msccl_does(s->type);

	if (s->type == STEP_RRC)
		return false;
	return (does->reads && outside(x, b, s, &s->src)) ||
	       (does->writes && outside(x, b, s, &s->dst));
}

/* The step that takes over the waits of the nops before it; NULL: none. */
static const struct msccl_step *behind_nops(const struct msccl_block *b, uint32_t step)
{
	while (step < b->nsteps && b->steps[step].type == STEP_NOP)
		step++;
	return step < b->nsteps ? &b->steps[step] : NULL;
}

static bool nop_before_none(const struct looking *x, const struct msccl_block *b, uint32_t step)
{
	const struct msccl_step *s = &b->steps[step], *next = behind_nops(b, step);

	if (s->type != STEP_NOP || s->depid < 0 || !next || next->depid >= 0)
		return false;
	diag_warn(x->c->diags, W_EXECUTOR, next->span, NO_RANK,
		  "step %u has no depid, and a nop before it waits: executors allow nops only "
		  "before a step that waits itself",
		  next->s);
	return true;
}

static bool waits_for_nop(const struct looking *x, const struct msccl_step *s)
{
	if (s->waits_block == NONE)
		return false;
	const struct msccl_block *b = &x->m->blocks[s->waits_block];
	const struct msccl_step *next = behind_nops(b, s->waits_step);

	if (next == &b->steps[s->waits_step] || (next && next->hasdep))
		return false;
	diag_warn(x->c->diags, W_EXECUTOR, s->span, NO_RANK,
		  "it waits for a nop, step %d of thread block %u, which executors never signal%s",
		  s->deps, b->id,
		  next ? ": the step behind that nop lacks hasdep=\"1\""
		       : ": there is no step behind that nop");
	return true;
}

static void check_rules(const struct looking *x, const struct msccl_gpu *g)
{
	bool places = false, nops = false, waits = false, channels = false;

	gap_of_blocks(x, g);
	for (uint32_t i = g->first; i < g->first + g->nblocks; i++) {
		const struct msccl_block *b = &x->m->blocks[i];
		channels = channels || not_connected(x, b);
		for (uint32_t k = 0; k < b->nsteps; k++) {
			places = places || places_outside(x, b, &b->steps[k]);
			nops = nops || nop_before_none(x, b, k);
			waits = waits || waits_for_nop(x, &b->steps[k]);
		}
	}
}

void msccl_executors(struct ctx *c, const struct msccl *m)
{
	struct looking x = { .c = c, .m = m };

	if (!diag_warns(c->diags, W_EXECUTOR))
		return;
	unknown_protocol(&x);
	check_limits(&x);
	for (uint32_t g = 0; g < m->nranks; g++)
		check_rules(&x, &m->gpus[g]);
}
