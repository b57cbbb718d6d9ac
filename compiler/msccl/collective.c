/*
 * Tables of MSCCL XML: its types of steps; its collectives, with their contracts in the schedule
 * language and the layouts of their buffers.
 *
 * Chunks. `nchunksperloop` is the number of chunks of the input, and for allgather of the output.
 * If a collective has a part for each rank, one buffer is that part alone. For `custom` it is the
 * number of chunks of each block of both buffers, if they are whole blocks; all chunks are equally
 * long.
 */
#include "compiler/msccl/msccl.h"
#include "compiler/xml/xml.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- steps -------------------------------------------------------------------------------- */

static const struct msccl_does does[] = {
	[STEP_NOP] = { "nop", false, false, false, false },
	[STEP_S] = { "s", false, true, true, false },
	[STEP_R] = { "r", true, false, false, true },
	[STEP_CPY] = { "cpy", false, false, true, true },
	[STEP_RE] = { "re", false, false, true, true },
	[STEP_RCS] = { "rcs", true, true, false, true },
	[STEP_RRC] = { "rrc", true, false, true, true },
	[STEP_RRS] = { "rrs", true, true, true, false },
	[STEP_RRCS] = { "rrcs", true, true, true, true },
};

const struct msccl_does *msccl_does(enum msccl_type t)
{
	return &does[t];
}

bool msccl_is_name(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && !strcasecmp(path + n - 4, ".xml");
}

/* ---- collectives -------------------------------------------------------------------------- */

enum shape {
	ALIKE,	   /* i and o have all the chunks, and are one in place; `inout` in the contract */
	EXCHANGE,  /* likewise, but the contract has two buffers */
	OUT_PARTS, /* o has a part for each rank; in place i is part `rank` of it */
	IN_PARTS,  /* i has a part for each rank; in place o is part `rank` of it */
	FREE	   /* determined by i_chunks and o_chunks; no contract */
};

struct msccl_collective {
	const char *name, *contract;
	enum shape shape;
	bool root, at_root; /* it has a root; it promises something to the root alone */
};

static const struct msccl_collective collectives[] = {
	{ "allreduce", "allreduce", ALIKE, false, false },
	{ "allgather", "allgather", OUT_PARTS, false, false },
	{ "reduce_scatter", "reduce_scatter", IN_PARTS, false, false },
	{ "reducescatter", "reduce_scatter", IN_PARTS, false, false },
	{ "alltoall", "all_to_all", EXCHANGE, false, false },
	{ "broadcast", "broadcast", ALIKE, true, false },
	{ "reduce", "reduce", ALIKE, true, true },
	{ "gather", "gather", OUT_PARTS, true, true },
	{ "scatter", "scatter", IN_PARTS, true, false },
	{ "custom", "custom", FREE, false, false },
};
enum { COLLECTIVES = sizeof(collectives) / sizeof(*collectives) };

static const char *const names[] = { "allreduce",     "allgather", "reduce_scatter",
				     "reducescatter", "alltoall",  "broadcast",
				     "reduce",	      "gather",	   "scatter",
				     "custom",	      NULL };

const char *const *msccl_collective_names(void)
{
	return names;
}

const struct msccl_collective *msccl_collective(const char *name)
{
	for (size_t i = 0; i < COLLECTIVES; i++)
		if (!strcmp(collectives[i].name, name))
			return &collectives[i];
	return NULL;
}

const char *msccl_contract_name(const struct msccl *m)
{
	return m->collective->contract;
}

bool msccl_has_contract(const struct msccl *m)
{
	return m->collective->shape != FREE;
}

bool msccl_has_root(const struct msccl *m)
{
	return m->collective->root;
}

bool msccl_to_root(const struct msccl *m)
{
	return m->collective->at_root;
}

bool msccl_has_result(const struct msccl *m, uint32_t rank, uint32_t root)
{
	const struct msccl_collective *k = m->collective;

	return k->shape != FREE && (rank == root || !k->at_root);
}

/* The largest number of chunks that a GPU gives for a buffer, at least one. */
static uint32_t most_chunks(const struct msccl *m, enum msccl_buffer b)
{
	uint32_t most = 1;

	for (uint32_t g = 0; g < m->nranks; g++)
		if (m->gpus[g].chunks[b] > most)
			most = m->gpus[g].chunks[b];
	return most;
}

uint32_t msccl_size(const struct msccl *m, enum msccl_buffer b)
{
	const struct msccl_collective *k = m->collective;
	uint32_t part = m->nchunks % m->nranks ? 0 : m->nchunks / m->nranks;

	switch (k->shape) {
	case ALIKE: return m->nchunks;
	case EXCHANGE: return part ? m->nchunks : 0;
	case OUT_PARTS:
		if (k->root) /* gather: by the format, it is that of the input */
			return b == BUFFER_I ? m->nchunks
			       : m->nchunks > MSCCL_MOST_NUMBER / m->nranks
				       ? 0
				       : m->nchunks * m->nranks;
		return b == BUFFER_O && part ? m->nchunks : part;
	case IN_PARTS: return b == BUFFER_I && part ? m->nchunks : part;
	case FREE: /* in place the two are one */
		if (m->inplace && most_chunks(m, BUFFER_I) > most_chunks(m, BUFFER_O))
			return most_chunks(m, BUFFER_I);
		return most_chunks(m, m->inplace ? BUFFER_O : b);
	}
	return 0;
}

/* Two buffers of a schedule, with its contract. */
static const char *free_text(struct arena *a, const struct msccl *m, uint32_t i, uint32_t o)
{
	uint32_t cut = i % m->nchunks || o % m->nchunks ? 1 : m->nchunks;

	if (i == o && (cut == 1 || cut == i)) /* one block each, or all alike */
		return arena_printf(a,
				    "contract custom(in a[A], out b[B])\n"
				    "schedule %s implements custom(in i[%u], out o[%u]) { }\n",
				    xml_identifier(a, "msccl_", m->name), i, o);
	return arena_printf(a,
			    "contract custom(in a[A][C], out b[B][C])\n"
			    "schedule %s implements custom(in i[%u][%u], out o[%u][%u]) { }\n",
			    xml_identifier(a, "msccl_", m->name), i / cut, cut, o / cut, cut);
}

const char *msccl_schedule_text(struct ctx *c, const struct msccl *m, uint32_t root)
{
	struct arena *a = c->arena;
	const struct msccl_collective *k = m->collective;
	uint32_t i = msccl_size(m, BUFFER_I), o = msccl_size(m, BUFFER_O);
	const char *args = k->root ? arena_printf(a, "; root = %u", root) : "", *buffers = "";

	switch (k->shape) {
	case ALIKE: buffers = arena_printf(a, "inout i[%u]", i); break;
	case EXCHANGE:
		buffers = arena_printf(a, "in i[%u][%u], out o[%u][%u]", m->nranks, i / m->nranks,
				       m->nranks, o / m->nranks);
		break;
	case OUT_PARTS:
		buffers = arena_printf(a, "in i[%u], out o[%u][%u]", i, m->nranks, o / m->nranks);
		break;
	case IN_PARTS:
		buffers = arena_printf(a, "in i[%u][%u], out o[%u]", m->nranks, i / m->nranks, o);
		break;
	case FREE: return free_text(a, m, i, o);
	}
	return arena_printf(a, "schedule %s implements %s(%s%s) { }\n",
			    xml_identifier(a, "msccl_", m->name), k->contract, buffers, args);
}

/* ---- places of the buffers --------------------------------------------------------------- */

/* Allocates `n` cells of scratch. */
static uint32_t take(struct msccl_homes *h, const struct program *p, uint32_t n)
{
	uint32_t base = p->cells + h->scratch;

	h->scratch += n;
	return base;
}

/* Makes the input of the file a copy of the contract's. */
static void copy_in(struct msccl_homes *h, struct msccl_home given, struct msccl_home begin,
		    uint32_t n)
{
	h->given = given;
	h->begin = begin;
	h->ngiven = n;
}

static void copy_out(struct msccl_homes *h, struct msccl_home end, struct msccl_home result,
		     uint32_t n)
{
	h->end = end;
	h->result = result;
	h->nresult = n;
}

/* Out of place: the caller's input is not changed, and the result has no initial values. */
static void homes_apart(const struct msccl *m, const struct program *p, struct msccl_homes *h)
{
	bool one = p->nbuffers == 1;
	uint32_t ni = msccl_size(m, BUFFER_I), no = msccl_size(m, BUFFER_O);
	struct msccl_home i = { 0, 0 }, o = { one ? 0 : p->buffers[1].cell, 0 };

	h->at[BUFFER_I] = i;
	h->at[BUFFER_O] = o;
	if (m->writes_input) {
		h->at[BUFFER_I] = (struct msccl_home){ take(h, p, ni), 0 };
		copy_in(h, i, h->at[BUFFER_I], ni);
	}
	if (one) {
		h->at[BUFFER_O] = (struct msccl_home){ take(h, p, no), 0 };
		copy_out(h, h->at[BUFFER_O], o, no);
	}
}

static void homes_in_place(const struct msccl *m, const struct program *p, struct msccl_homes *h)
{
	uint32_t ni = msccl_size(m, BUFFER_I), no = msccl_size(m, BUFFER_O);
	struct msccl_home i = { 0, 0 }, o = { p->nbuffers == 1 ? 0 : p->buffers[1].cell, 0 }, all;

	switch (m->collective->shape) {
	case ALIKE: h->at[BUFFER_I] = h->at[BUFFER_O] = i; break;
	case EXCHANGE:
	case FREE:
		h->at[BUFFER_I] = h->at[BUFFER_O] = o;
		copy_in(h, i, o, ni);
		break;
	case OUT_PARTS:
		h->at[BUFFER_O] = o;
		h->at[BUFFER_I] = (struct msccl_home){ o.base, ni };
		copy_in(h, i, h->at[BUFFER_I], ni);
		break;
	case IN_PARTS:
		all = (struct msccl_home){ take(h, p, ni), 0 };
		h->at[BUFFER_I] = all;
		h->at[BUFFER_O] = (struct msccl_home){ all.base, no };
		copy_in(h, i, all, ni);
		copy_out(h, h->at[BUFFER_O], o, no);
		break;
	}
}

struct msccl_homes msccl_homes(const struct msccl *m, const struct program *p, bool in_place)
{
	struct msccl_homes h = { .scratch = 0 };

	h.at[BUFFER_S] = (struct msccl_home){ take(&h, p, m->scratch), 0 };
	if (in_place)
		homes_in_place(m, p, &h);
	else
		homes_apart(m, p, &h);
	return h;
}
