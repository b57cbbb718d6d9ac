/*
 * The stand-in's collectives: whole inputs go to whoever needs them, then there is
 * arithmetic, in the order of ranks, by the CPU runtime's functions. See fake.h.
 */
#include "tests/fake_nccl/fake.h"

#include "runtime/cpu/core/reduce.h"

#include <stdlib.h>
#include <string.h>

static uint32_t what_of(const struct job *j)
{
	const uint64_t facts[] = {
		j->kind < ALL_REDUCE ? SEND : j->kind,
		(uint64_t)j->type,
		j->count,
		(uint64_t)(j->op < 5 ? j->op : 5),
		j->kind < ALL_REDUCE ? 0 : (uint64_t)j->peer,
	};
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < sizeof(facts); i++)
		h = (h ^ ((const unsigned char *)facts)[i]) * 16777619u;
	return h;
}

static char *room(size_t bytes)
{
	char *p = malloc(bytes ? bytes : 1);

	if (!p)
		illegal("out of memory");
	return p;
}

/* The inputs of one rank, in blocks of `count`. */
static size_t input_bytes(const struct job *j)
{
	size_t block = j->count * j->esize;

	return j->kind == REDUCE_SCATTER ? block * (size_t)j->comm->nranks : block;
}

static bool sends_to(const struct job *j, int peer)
{
	if (j->kind == REDUCE)
		return peer == j->peer;
	return j->kind != BROADCAST || j->comm->rank == j->peer;
}

static bool takes_from(const struct job *j, int peer)
{
	if (j->kind == REDUCE)
		return j->comm->rank == j->peer;
	return j->kind != BROADCAST || peer == j->peer;
}

static void scale(const struct job *j)
{
	int i = j->op - 5;

	if (j->op < 5)
		return;
	if (i >= PREMULS || j->comm->scalar_type[i] != j->type)
		illegal("%s: %d is no operator of this communicator for type %d", j->name, j->op,
			j->type);
	reduce_best()->types[j->type]->scale(j->input, j->input, j->comm->scalar + i,
					     input_bytes(j) / j->esize);
}

void job_prepare(struct job *j, struct transfers *all)
{
	struct comm *c = j->comm;
	size_t block = j->count * j->esize, mine;
	uint32_t what = what_of(j);

	if (j->kind == SEND || j->kind == RECV) {
		transfer_add(all, c, j->peer, j->kind == SEND,
			     j->kind == SEND ? (void *)(uintptr_t)j->send : j->recv, block, j->name,
			     what);
		return;
	}
	mine = input_bytes(j);
	j->input = room(mine);
	j->inputs = room(block * (size_t)c->nranks);
	if (j->kind != BROADCAST || c->rank == j->peer)
		memcpy(j->input, j->send, mine);
	if (j->kind == ALL_REDUCE || j->kind == REDUCE || j->kind == REDUCE_SCATTER)
		scale(j);
	for (int peer = 0; peer < c->nranks; peer++) {
		size_t at = j->kind == REDUCE_SCATTER ? (size_t)peer * block : 0;

		if (sends_to(j, peer))
			transfer_add(all, c, peer, true, j->input + at, block, j->name, what);
		if (takes_from(j, peer))
			transfer_add(all, c, peer, false, j->inputs + (size_t)peer * block, block,
				     j->name, what);
	}
}

/* The sum over all inputs, in the first. */
static void reduce_inputs(const struct job *j)
{
	const struct reduce *reduce = reduce_best()->types[j->type];
	int op = j->op < 5 ? j->op : CCS_SUM;

	for (int r = 1; r < j->comm->nranks; r++)
		reduce->combine[op](j->inputs, j->inputs,
				    j->inputs + (size_t)r * j->count * j->esize, j->count);
	if (op == CCS_AVG)
		reduce->divide(j->inputs, j->count, (uint32_t)j->comm->nranks);
}

void job_finish(const struct job *j)
{
	size_t block = j->count * j->esize;
	const char *wrong = getenv("FAKE_NCCL_WRONG");

	if (j->kind < ALL_REDUCE || (j->kind == REDUCE && j->comm->rank != j->peer))
		return;
	if (j->kind == ALL_GATHER) {
		memcpy(j->recv, j->inputs, block * (size_t)j->comm->nranks);
	} else if (j->kind == BROADCAST) {
		memcpy(j->recv, j->inputs + (size_t)j->peer * block, block);
	} else {
		reduce_inputs(j);
		memcpy(j->recv, j->inputs, block);
	}
	if (wrong && block && (!strcmp(wrong, "1") || !strcmp(wrong, j->name)))
		/* its highest bits but the sign */
		((char *)j->recv)[j->esize - 1] ^= 0x48;
}

void job_free(struct job *j)
{
	free(j->input);
	free(j->inputs);
	free(j);
}
