/*
 * What a program asks of a machine, the same for all sizes: the path of each FIFO, and the length of each
 * operation in blocks.
 *
 * O(operations + links of the paths).
 */
#include "compiler/cost/timing.h"
#include "runtime/plan/choice.h"

/* Bytes of a cell, in blocks; a cell of a buffer, as scratch has the length of its value. */
static double share_of_cell(const struct program *p, uint32_t cell)
{
	return 1.0 / program_buffer(p, cell)->chunks;
}

static double share_of(const struct program *p, const struct op *o, uint32_t len)
{
	double sum = 0;

	if (len == NONE || !o->n)
		return 0;
	if (len & LEN_SAME)
		return o->n * share_of_cell(p, len & ~LEN_SAME);
	for (uint32_t i = 0; i < o->n;) {
		const struct buffer *b = program_buffer(p, len + i);
		uint32_t n = b->cell + b->cells - (len + i);

		n = n < o->n - i ? n : o->n - i;
		sum += (double)n / b->chunks;
		i += n;
	}
	return sum;
}

static bool no_path(struct ctx *c, const struct program *p, const struct machine *m,
		    const struct op *o, const struct fifo *f)
{
	struct diag *g =
		diag_add(c->diags, SEV_ERROR, 702, p->sites[o->site].span, NO_RANK,
			 "simulate: rank %u sends to rank %u, and %s has no %s between them",
			 f->src, f->dst, m->name, m->nnodes > m->nranks ? "path" : "link");

	diag_help(c->diags, g,
		  "name a machine that has it, or a schedule that sends along its links");
	return false;
}

static void use_link(struct link_use *u, uint32_t fifo, uint32_t task)
{
	if (u->fifo == NONE) {
		*u = (struct link_use){ fifo, task, false };
		return;
	}
	if (u->task != task)
		u->task = NONE;
	u->shared |= u->fifo != fifo && u->task == NONE;
}

/* The path of a FIFO, at its first send. */
static bool find_path(struct ctx *c, struct simulation *s, uint32_t fifo, const struct op *o)
{
	const struct fifo *f = &s->p->fifos[fifo];
	struct load *x = &s->loads[fifo];

	if (f->src == f->dst || !s->m->nlinks)
		return true;
	x->path = s->one ? orbit_path(s->m, f->dst) : machine_path(s->m, f->src, f->dst);
	if (!x->path.n)
		return !s->one && no_path(c, s->p, s->m, o, f);
	for (uint32_t i = 0; i < x->path.n; i++) {
		x->latency += s->m->links[x->path.links[i]].latency;
		use_link(&s->uses[x->path.links[i]], fifo, i ? NONE : f->src_task);
	}
	return true;
}

static bool take_task(struct ctx *c, struct simulation *s, uint32_t task, const uint32_t *len)
{
	const struct task *t = &s->p->tasks[task];
	double *share = s->shares[task] = ARENA_ARRAY(c->arena, double, t->nops);

	for (uint32_t i = 0; i < t->nops; i++) {
		const struct op *o = &t->ops[i];
		uint32_t out = op_out(o);

		if (op_kind(o) == OP_FRESH && s->takes)
			s->computes += share[i] = s->takes[o->site];
		if (op_kind(o) == OP_WAIT || op_kind(o) == OP_FRESH)
			continue;
		share[i] = len	      ? share_of(s->p, o, len[i])
			   : s->takes ? 1
				      : (double)o->n / s->p->buffers[0].chunks;
		s->moved += share[i];
		if (o->n && share[i] / o->n > s->longest)
			s->longest = share[i] / o->n;
		if (o->n && (share[i] / o->n < s->shortest || s->shortest == 0))
			s->shortest = share[i] / o->n;
		if (out == NONE)
			continue;
		s->loads[out].cells = o->n > s->loads[out].cells ? o->n : s->loads[out].cells;
		s->loads[out].share += share[i];
		if (!s->loads[out].path.n && !find_path(c, s, out, o))
			return false;
	}
	return true;
}

/* The tile of the plan: that of the CPU engine, with the memory for slots that one process has for each rank. */
static double usual_tile(struct ctx *c, const struct simulation *s)
{
	uint64_t *weight = ARENA_ARRAY(c->scratch, uint64_t, s->p->nranks), heaviest = 0;
	uint32_t most = 0;

	for (uint32_t f = 0; f < s->p->nfifos; f++) {
		uint64_t *w = &weight[s->p->fifos[f].dst];

		*w += (uint64_t)s->slots * s->loads[f].cells;
		heaviest = *w > heaviest ? *w : heaviest;
		most = s->loads[f].cells > most ? s->loads[f].cells : most;
	}
	return (double)choice_slotted_tile(CPU_TILE_BYTES, CPU_SLOT_BYTES, most, heaviest);
}

/* `len`: NULL: the program is a pipeline's, or a quotient of buffers that are cut alike. */
static struct simulation *load(struct ctx *c, const struct program *p, uint32_t *const *len,
			       const double *takes, struct machine *m)
{
	struct simulation *s = ARENA_NEW(c->arena, struct simulation);

	*s = (struct simulation){
		.p = p, .m = m, .slots = c->slots, .takes = takes, .one = !len && !takes
	};
	s->loads = ARENA_ARRAY(c->arena, struct load, p->nfifos);
	s->shares = ARENA_ARRAY(c->arena, double *, p->ntasks);
	s->uses = ARENA_ARRAY(c->arena, struct link_use, m->nlinks);
	for (uint32_t l = 0; l < m->nlinks; l++)
		s->uses[l] = (struct link_use){ NONE, NONE, false };
	for (uint32_t f = 0; f < p->nfifos; f++) {
		s->loads[f].first = s->nmessages;
		s->nmessages += p->fifos[f].nsends;
	}
	for (uint32_t t = 0; t < p->ntasks; t++)
		if (!take_task(c, s, t, len ? len[t] : NULL))
			return NULL;
	return s;
}

struct simulation *simulation_new(struct ctx *c, const struct program *p, uint32_t *const *len,
				  struct machine *m, uint64_t tile, uint32_t slices)
{
	struct simulation *s = load(c, p, len, NULL, m);

	if (s) {
		s->slices = slices;
		s->tile = tile == UINT64_MAX ? usual_tile(c, s) : (double)tile;
	}
	return s;
}

struct simulation *simulation_of_pipeline(struct ctx *c, const struct program *p,
					  const double *takes, struct machine *m)
{
	struct machine *without = ARENA_NEW(c->arena, struct machine);

	without->nranks = without->nnodes = p->nranks;
	return load(c, p, NULL, takes, m ? m : without);
}

struct simulation *simulation_of_one(struct ctx *c, const struct program *one, struct machine *m)
{
	struct simulation *s;

	for (uint32_t b = 1; b < one->nbuffers; b++)
		if (one->buffers[b].chunks != one->buffers[0].chunks)
			return NULL;
	if (!one->nbuffers || !orbit_turns(m))
		return NULL;
	s = load(c, one, NULL, NULL, m);
	for (uint32_t l = 0; l < m->nlinks && s; l++)
		if (s->uses[l].shared)
			return NULL;
	return s;
}
