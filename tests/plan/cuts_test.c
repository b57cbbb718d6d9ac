/*
 * How calls on a GPU are cut (runtime/plan/choice.h): for modules of the library, 2, 4 and 8 ranks
 * of one launch, and each size, LL's slots stay in 30 MB, that is in the L2 cache, and so do
 * Simple's, or its tile is 64 KiB; the plan's own table takes LL for calls of one tile; and blocks never fall as sizes grow. No call is
 * launched. Which slots there are is counted here from the plan's FIFOs: LL uses all; Simple those
 * with messages that are neither written nor read in their places.
 *
 * usage: cuts_test MODULE...
 */
#include "runtime/plan/choice.h"
#include "runtime/plan/load.h"

#include <stdbool.h>
#include <stdio.h>

#define CACHE 30000000.0
#define SIMPLE_LEAST 65536u /* the tile that Simple takes where slots leave the cache */

/* Resident blocks, two on a multiprocessor: of 2, of an H100's 132, and of a B200's 148. */
static const uint32_t rooms[] = { 4, 264, 296 };

struct subject {
	const struct ccs_module *m;
	const struct plan_view *v;
	uint32_t workers, chunks; /* blocks of a channel; the larger buffer's chunks */
	uint64_t cells, slotted;  /* a slot of each FIFO; and of the FIFOs that Simple uses */
	uint32_t few;		  /* the most messages of a FIFO; 0: some has more than 64 */
};

static struct {
	unsigned plans[9], cuts, tables, bounded, tiny, bad;
} seen;

/* Whether Simple has a slot for the operation's message. */
static bool is_staged(const struct ccs_op *o)
{
	bool direct = o->flags & CCS_OP_DIRECT && !(o->flags & CCS_OP_SHIFTED);
	bool initial = o->in == CCS_NONE && o->b == CCS_NONE && o->dst == CCS_NONE &&
		       o->flags & CCS_OP_A_INITIAL;
	bool read = !(o->flags & (CCS_OP_DIRECT | CCS_OP_SHIFTED)) &&
		    (o->flags & CCS_OP_READ || initial);

	return o->n && !direct && !read;
}

static uint32_t count_workers(const struct plan_view *v)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < v->plan->nranks; r++) {
		uint32_t has = v->ranks[r + 1].worker - v->ranks[r].worker;

		n += has ? has : 1;
	}
	return n;
}

static void look_at(struct subject *s, const struct ccs_module *m, const struct plan_view *v)
{
	uint32_t most = 1;

	*s = (struct subject){ .m = m, .v = v, .chunks = 1, .workers = count_workers(v) };
	for (uint32_t f = 0; f < v->plan->fifos.n; f++) {
		bool staged = false;

		for (uint64_t i = 0; i < v->plan->ops.n; i++)
			staged |= v->ops[i].out == f && is_staged(v->ops + i);
		s->cells += v->fifos[f].max_cells;
		s->slotted += staged ? v->fifos[f].max_cells : 0;
		most = v->fifos[f].messages > most ? v->fifos[f].messages : most;
	}
	s->few = most <= 64 ? most : 0;
	for (uint32_t i = 0; i < m->nbuffers; i++)
		if (v->shapes[i].chunks * v->shapes[i].blocks > s->chunks)
			s->chunks = v->shapes[i].chunks * v->shapes[i].blocks;
}

/* What the kernels' memory has: doubled with LL, and then, too, as deep as a FIFO has messages. */
static uint64_t cells_of(const struct subject *s, enum ccs_protocol protocol)
{
	uint64_t slots = s->m->head->slots, deep = 1;

	if (protocol == CCS_LL && s->few)
		slots = s->few;
	while (deep < slots)
		deep *= 2;
	return deep * (protocol == CCS_LL ? 2 * s->cells : s->slotted);
}

struct cut {
	uint32_t channels;
	uint64_t tiles;
	double slots;
	uint64_t tile; /* bytes */
};

static struct cut cut_of(const struct subject *s, enum ccs_protocol protocol, uint64_t bytes,
			 uint32_t most)
{
	uint64_t cells = cells_of(s, protocol), chunk = bytes / s->chunks;
	uint32_t channels = choice_channels(chunk, most);
	uint64_t room = choice_most_tile(protocol, s->v->plan->max_message);
	uint64_t tile = choice_tile(protocol, cells, channels, room);
	uint64_t part = (chunk + channels - 1) / channels;

	seen.cuts++;
	seen.bounded += tile < room;
	seen.tiny += tile < 4096;
	return (struct cut){
		.channels = channels,
		.tiles = (part + tile - 1) / tile,
		.tile = tile,
		.slots = (double)cells * channels * (double)(part < tile ? part : tile),
	};
}

static void wrong(const struct subject *s, enum ccs_protocol protocol, uint64_t bytes,
		  const struct cut *c, const char *why)
{
	if (seen.bad++ < 20)
		printf("# %s, %u ranks, %s, %llu bytes: %s: %u channels, %llu tiles, %.0f bytes of "
		       "slots\n",
		       ccs_module_schedule(s->m), s->v->plan->nranks,
		       protocol == CCS_LL ? "ll" : "simple", (unsigned long long)bytes, why,
		       c->channels, (unsigned long long)c->tiles, c->slots);
}

static void try_protocols(const struct subject *s, uint64_t bytes, uint32_t most)
{
	static const enum ccs_protocol v[] = { CCS_LL, CCS_SIMPLE };

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		struct cut c = cut_of(s, v[i], bytes, most);

		if (c.slots > CACHE && (v[i] == CCS_LL || c.tile > SIMPLE_LEAST))
			wrong(s, v[i], bytes, &c, "slots leave the cache");
	}
}

/* What the plan's table takes, where there are as many blocks as it counted on or more: LL for
 * calls of a tile, as later ones would wait for slots. */
static void try_room(const struct subject *s, uint32_t room)
{
	uint32_t fit = room / s->workers, last = 0;
	uint32_t most = fit < 1 ? 1 : fit < MOST_CHANNELS ? fit : MOST_CHANNELS;

	for (uint64_t bytes = 64; bytes <= (uint64_t)1 << 30; bytes += bytes / 4) {
		const struct ccs_choice *own =
			choice_find(s->v->choices, s->v->plan->choices.n, bytes);
		enum ccs_protocol protocol = (enum ccs_protocol)own->protocol;
		struct cut c = cut_of(s, protocol, bytes, most);

		try_protocols(s, bytes, most);
		if (own->channels || c.channels < last)
			wrong(s, protocol, bytes, &c, "blocks fall");
		if (protocol == CCS_LL && s->cells && room >= 256 && c.tiles > 1)
			wrong(s, protocol, bytes, &c, "the table takes LL");
		last = c.channels;
		seen.tables += protocol == CCS_LL;
	}
}

static void try_plan(const struct ccs_module *m, const struct plan_view *v)
{
	struct subject s;

	look_at(&s, m, v);
	seen.plans[v->plan->nranks]++;
	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++)
		try_room(&s, rooms[i]);
}

static int try_module(const char *path)
{
	struct ccs_module *m;

	if (ccs_module_load(&m, path)) {
		printf("not ok - %s: %s\n", path, ccs_error());
		return 1;
	}
	for (size_t i = 0; i < m->nplans; i++) {
		uint32_t n = m->plans[i].plan->nranks;

		if (n == 2 || n == 4 || n == 8)
			try_plan(m, m->plans + i);
	}
	ccs_module_free(m);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= try_module(argv[i]);
	printf("%s - LL's slots of %u cuts stay in the cache, blocks never fall, LL has one tile: %u "
	       "wrong\n",
	       seen.bad ? "not ok" : "ok", seen.cuts, seen.bad);
	/* They must be worth it. */
	if (!seen.plans[2] || !seen.plans[4] || !seen.plans[8] || !seen.bounded || !seen.tiny ||
	    !seen.tables)
		bad = 1;
	printf("%s - ... of %u, %u and %u plans of 2, 4, 8 ranks; %u cuts are bounded, %u below a "
	       "sweep; tables take LL %u times\n",
	       bad ? "not ok" : "ok", seen.plans[2], seen.plans[4], seen.plans[8], seen.bounded,
	       seen.tiny, seen.tables);
	return bad || seen.bad;
}
