/*
 * Sound: checks the consistency of a description.
 *
 * In: the description that read.c made. Out: each step's dependency as rows, each block's FIFOs,
 * maxima over all steps; E0306, E0406, E0602, E0603; the warnings of executors.c.
 * O(steps log steps), as blocks and steps are looked up by their numbers.
 */
#include "compiler/msccl/msccl.h"

#include <stdlib.h>
#include <string.h>

static const char *const buffer_names[] = { "i", "o", "s" };

struct sounding {
	struct ctx *c;
	struct msccl *m;
	uint32_t *by_id; /* rows of blocks: of each GPU, by their id */
};

/* ---- blocks by number ------------------------------------------------------------------ */

static int by_gpu_and_id(const void *a, const void *b)
{
	const struct msccl_block *const *x = a, *const *y = b;

	if ((*x)->gpu != (*y)->gpu)
		return (*x)->gpu < (*y)->gpu ? -1 : 1;
	if ((*x)->id != (*y)->id)
		return (*x)->id < (*y)->id ? -1 : 1;
	return (*x)->span.lo<(*y)->span.lo ? -1 : (*x)->span.lo>(*y)->span.lo;
}

/* Sorts the blocks of each GPU by id. GPUs are in the order of their numbers, not of the file: the
 * rows of GPU g follow those of the GPUs before it. */
static void sort_blocks(struct sounding *x)
{
	struct msccl *m = x->m;
	struct msccl_block **v = ARENA_ARRAY(x->c->scratch, struct msccl_block *, m->nblocks);

	x->by_id = ARENA_ARRAY(x->c->scratch, uint32_t, m->nblocks);
	for (uint32_t i = 0; i < m->nblocks; i++)
		v[i] = &m->blocks[i];
	qsort(v, m->nblocks, sizeof(struct msccl_block *), by_gpu_and_id);
	for (uint32_t i = 0; i < m->nblocks; i++) {
		const struct msccl_block *b = v[i], *before = i ? v[i - 1] : NULL;

		x->by_id[m->gpus[b->gpu].first + (i - m->gpus[b->gpu].first)] =
			(uint32_t)(b - m->blocks);
		if (before && before->gpu == b->gpu && before->id == b->id) {
			struct diag *g =
				diag_add(x->c->diags, SEV_ERROR, 602, b->span, NO_RANK,
					 "GPU %u already has a <tb> with id=\"%u\"", b->gpu, b->id);
			diag_note(x->c->diags, g, before->span, "it is here");
		}
	}
}

/* Sorts the GPUs by their numbers, and their blocks with them. */
static void order_gpus(struct sounding *x)
{
	struct msccl *m = x->m;
	struct msccl_block *v = ARENA_ARRAY(x->c->arena, struct msccl_block, m->nblocks);
	uint32_t n = 0;

	for (uint32_t g = 0; g < m->nranks; g++) {
		struct msccl_gpu *gpu = &m->gpus[g];

		if (!gpu->given)
			diag_add(x->c->diags, SEV_ERROR, 602, m->span, NO_RANK,
				 "there is no <gpu> with id=\"%u\", and ngpus is %u", g, m->nranks);
		if (gpu->nblocks)
			memcpy(v + n, m->blocks + gpu->first, gpu->nblocks * sizeof(*v));
		gpu->first = n;
		n += gpu->nblocks;
	}
	m->blocks = v;
	m->capblocks = m->nblocks;
}

static uint32_t find_block(const struct sounding *x, uint32_t gpu, uint32_t id)
{
	const struct msccl_gpu *g = &x->m->gpus[gpu];
	uint32_t lo = g->first, hi = g->first + g->nblocks;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (x->m->blocks[x->by_id[mid]].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < g->first + g->nblocks && x->m->blocks[x->by_id[lo]].id == id ? x->by_id[lo]
										 : NONE;
}

static uint32_t find_step(const struct msccl_block *b, uint32_t s)
{
	uint32_t lo = 0, hi = b->nsteps;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (b->steps[mid].s < s)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < b->nsteps && b->steps[lo].s == s ? lo : NONE;
}

/* ---- steps ------------------------------------------------------------------------------ */

static void find_dependency(struct sounding *x, const struct msccl_block *b, struct msccl_step *s)
{
	struct diags *d = x->c->diags;

	if (s->depid < 0)
		return;
	s->waits_block = find_block(x, b->gpu, (uint32_t)s->depid);
	if (s->waits_block == NONE) {
		diag_add(d, SEV_ERROR, 602, s->span, b->gpu,
			 "depid=\"%d\": GPU %u has no such thread block", s->depid, b->gpu);
		return;
	}
	const struct msccl_block *to = &x->m->blocks[s->waits_block];

	s->waits_step = s->deps < 0 ? NONE : find_step(to, (uint32_t)s->deps);
	if (s->waits_step == NONE) {
		diag_add(d, SEV_ERROR, 602, s->span, b->gpu,
			 "deps=\"%d\": thread block %d of GPU %u has no such step", s->deps,
			 s->depid, b->gpu);
		return;
	}
	if (to->steps[s->waits_step].hasdep)
		return;
	struct diag *g = diag_add(d, SEV_ERROR, 602, to->steps[s->waits_step].span, b->gpu,
				  "another thread block waits for this step, but without "
				  "hasdep=\"1\" the step never signals it");
	diag_note(d, g, s->span, "GPU %u, thread block %u, step %u waits for it", b->gpu, b->id,
		  s->s);
}

static void check_range(struct sounding *x, const struct msccl_block *b, const struct msccl_step *s,
			const struct msccl_chunks *k, const char *does)
{
	uint32_t size = k->buffer == BUFFER_S ? x->m->gpus[b->gpu].chunks[BUFFER_S]
					      : msccl_size(x->m, k->buffer);
	const char *name = buffer_names[k->buffer];

	if ((uint64_t)k->at + s->cnt <= size)
		return;
	diag_add(x->c->diags, SEV_ERROR, 406, s->span, b->gpu,
		 "GPU %u, thread block %u, step %u %s %s[%u..%u], and %s has %u chunk%s", b->gpu,
		 b->id, s->s, does, name, k->at, k->at + s->cnt, name, size, size == 1 ? "" : "s");
}

static void check_step(struct sounding *x, const struct msccl_block *b, struct msccl_step *s)
{
	const struct msccl_does *does = msccl_does(s->type);
	struct diags *d = x->c->diags;

	find_dependency(x, b, s);
	if (does->sends && b->send < 0)
		diag_add(d, SEV_ERROR, 602, s->span, b->gpu,
			 "'%s' sends, and its <tb> has send=\"-1\"", does->name);
	if (does->receives && b->recv < 0)
		diag_add(d, SEV_ERROR, 602, s->span, b->gpu,
			 "'%s' receives, and its <tb> has recv=\"-1\"", does->name);
	if (does->reads)
		check_range(x, b, s, &s->src, "reads");
	if (does->writes)
		check_range(x, b, s, &s->dst, "stores into");
	if (does->writes && s->dst.buffer == BUFFER_I)
		x->m->writes_input = true;
	if (s->cnt > x->m->most)
		x->m->most = s->cnt;
}

/* ---- FIFOs ------------------------------------------------------------------------------- */

/* A block's end of a FIFO. */
struct fifo_end {
	uint32_t src, dst, channel, block;
	bool receives;
};

static int by_fifo(const void *a, const void *b)
{
	const struct fifo_end *x = a, *y = b;
	uint32_t v[5] = { x->src, x->dst, x->channel, x->receives, x->block },
		 w[5] = { y->src, y->dst, y->channel, y->receives, y->block };

	for (int i = 0; i < 5; i++)
		if (v[i] != w[i])
			return v[i] < w[i] ? -1 : 1;
	return 0;
}

static bool good_peer(struct sounding *x, const struct msccl_block *b, int32_t peer,
		      const char *what)
{
	if (peer < 0)
		return false;
	if ((uint32_t)peer < x->m->nranks && (uint32_t)peer != b->gpu)
		return true;
	diag_add(x->c->diags, SEV_ERROR, 306, b->span, b->gpu, "%s=\"%d\" of GPU %u: %s", what,
		 peer, b->gpu,
		 (uint32_t)peer == b->gpu ? "a GPU does not send to itself"
					  : "there is no such GPU");
	return false;
}

static void two_blocks(struct sounding *x, const struct fifo_end *a, const struct fifo_end *b)
{
	const struct msccl_block *v = &x->m->blocks[a->block], *w = &x->m->blocks[b->block];
	struct diag *g = diag_add(x->c->diags, SEV_ERROR, 603, w->span, w->gpu,
				  "thread blocks %u and %u of GPU %u both %s GPU %u on channel %u",
				  v->id, w->id, w->gpu, b->receives ? "receive from" : "send to",
				  b->receives ? b->src : b->dst, b->channel);
	diag_note(x->c->diags, g, v->span, "the other thread block is here");
	diag_help(x->c->diags, g, "give one of them a separate channel, on both GPUs");
}

static bool same_fifo(const struct fifo_end *a, const struct fifo_end *b)
{
	return a->src == b->src && a->dst == b->dst && a->channel == b->channel;
}

/* Whether any message goes through this end. */
static bool is_used(const struct sounding *x, const struct fifo_end *e)
{
	const struct msccl_block *b = &x->m->blocks[e->block];

	for (uint32_t i = 0; i < b->nsteps; i++) {
		const struct msccl_does *does = msccl_does(b->steps[i].type);
		if (b->steps[i].cnt && (e->receives ? does->receives : does->sends))
			return true;
	}
	return false;
}

static struct fifo_end *list_ends(struct sounding *x, uint32_t *n)
{
	const struct msccl *m = x->m;
	struct fifo_end *v =
		ARENA_ARRAY(x->c->scratch, struct fifo_end, 2 * (size_t)m->nblocks + 1);

	for (uint32_t i = 0; i < m->nblocks; i++) {
		const struct msccl_block *b = &m->blocks[i];
		struct fifo_end e = { .channel = b->channel, .block = i };
		if (good_peer(x, b, b->send, "send")) {
			e.src = b->gpu;
			e.dst = (uint32_t)b->send;
			v[(*n)++] = e;
		}
		if (good_peer(x, b, b->recv, "recv")) {
			e.src = (uint32_t)b->recv;
			e.dst = b->gpu;
			e.receives = true;
			v[(*n)++] = e;
		}
	}
	qsort(v, *n, sizeof(*v), by_fifo);
	return v;
}

/* Makes the FIFOs of the program, from the ends with messages. */
static void find_fifos(struct sounding *x)
{
	struct msccl *m = x->m;
	uint32_t n = 0;
	struct fifo_end *v = list_ends(x, &n);

	for (uint32_t i = 0, end; i < n; i = end) {
		bool used = false;
		for (end = i; end < n && same_fifo(&v[i], &v[end]); end++) {
			used |= is_used(x, &v[end]);
			if (end > i && v[end - 1].receives == v[end].receives)
				two_blocks(x, &v[end - 1], &v[end]);
		}
		if (!used)
			continue;
		for (uint32_t k = i; k < end; k++) {
			struct msccl_block *b = &m->blocks[v[k].block];
			*(v[k].receives ? &b->in : &b->out) = m->nfifos;
		}
		ARENA_PUSH(x->c->arena, m->fifos, m->nfifos, m->capfifos) =
			(struct fifo){ .src = (uint16_t)v[i].src,
				       .dst = (uint16_t)v[i].dst,
				       .channel = v[i].channel };
	}
}

bool msccl_sound(struct ctx *c, struct msccl *m)
{
	struct sounding x = { .c = c, .m = m };
	uint32_t errors = c->diags->errors;

	order_gpus(&x);
	sort_blocks(&x);
	for (uint32_t g = 0; g < m->nranks; g++)
		if (m->gpus[g].chunks[BUFFER_S] > m->scratch)
			m->scratch = m->gpus[g].chunks[BUFFER_S];
	if (!msccl_size(m, BUFFER_I) || !msccl_size(m, BUFFER_O))
		diag_add(c->diags, SEV_ERROR, 602, m->span, NO_RANK,
			 "nchunksperloop=\"%u\" is not a multiple of ngpus=\"%u\", which this "
			 "collective needs",
			 m->nchunks, m->nranks);
	else
		for (uint32_t i = 0; i < m->nblocks; i++)
			for (uint32_t k = 0; k < m->blocks[i].nsteps; k++)
				check_step(&x, &m->blocks[i], &m->blocks[i].steps[k]);
	find_fifos(&x);
	if (c->diags->errors == errors)
		msccl_executors(c, m);
	return c->diags->errors == errors;
}
