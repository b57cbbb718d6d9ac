/*
 * Runs are noted: which, and with which notes (runtime/cpu/play/sequence.h). Without notes a run is done
 * by fibers, with the same results, only slower: so other tests cannot see whether there are any, nor
 * whether too few are there. Sums of the library's, apart and in place, in one tile and in several, by
 * tasks; what each of the threads that meet for one plays; and each operation of processes.
 *
 * usage: sequence_test DIRECTORY-OF-MODULES
 */
#include "runtime/cpu/play/fold.h"
#include "runtime/cpu/shm/procs.h"
#include "runtime/cpu/play/sequence.h"
#include "tests/support/make_module.h"
#include "tests/support/named_module.h"
#include "tests/support/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RANKS = 4,
	THREADS = 2,
	MOST_COUNT = 40000,
	SHORT = 64,
	SMALL = 7000,
	WIDE = 300000,
	MIDDLE = 20000,
	LONG = 1 << 20
};

static const char *const names[] = { "ring_allreduce",
				     "direct_allreduce",
				     "one_shot_allreduce",
				     "recursive_doubling_allreduce",
				     "halving_doubling_allreduce",
				     "binary_tree_allreduce",
				     "bidirectional_ring_allreduce" };

/* Operations on several cells, of scratch in each of their parts. */
static const char by_scratch[] = "schedule by_scratch implements allreduce(inout d[6])\n"
				 "{\n"
				 "  scratch u[6]\n"
				 "  scratch own[6]\n"
				 "  scratch v[6]\n"
				 "  copy d[0..6] into own[0..6]\n"
				 "  copy d[0..6] into u[0..6]\n"
				 "  step {\n"
				 "    send own[0..6] to (rank + 1) % N\n"
				 "    recv v[0..6] from (rank + N - 1) % N\n"
				 "  }\n"
				 "  for k in 2..N {\n"
				 "    step {\n"
				 "      send own[0..6] to (rank + k) % N\n"
				 "      reduce v[0..6] from (rank + N - k) % N\n"
				 "    }\n"
				 "  }\n"
				 "  reduce v[0..6] into u[0..6]\n"
				 "  copy u[0..6] into d[0..6]\n"
				 "}\n";

static const struct size {
	size_t count, tile;
} sizes[] = { { 7, 0 },		 { 400, 0 },	       { 6000, 0 },
	      { MOST_COUNT, 0 }, { MOST_COUNT, 4096 }, { WIDE, 0 } };

/* ---- tasks ----------------------------------------------------------------------------------- */

static int32_t value(int rank, size_t i, int round)
{
	return (rank + 1) * 1000003 + (int32_t)i * 17 + round;
}

static int32_t sum(size_t i, int round)
{
	int32_t s = 0;

	for (int r = 0; r < RANKS; r++)
		s += value(r, i, round);
	return s;
}

/* A call of all ranks, in new buffers. Returns whether the sums are right. */
static bool sums(const struct ccs_module *m, struct ccs_comm **comm, struct size size, bool apart,
		 int round)
{
	const struct ccs_run_options how = { .tile = size.tile };
	int32_t *send[RANKS], *recv[RANKS];
	bool ok;

	ccs_group_start();
	for (int r = 0; r < RANKS; r++) {
		send[r] = malloc(size.count * sizeof(**send));
		recv[r] = apart ? malloc(size.count * sizeof(**recv)) : send[r];
		for (size_t i = 0; i < size.count; i++)
			send[r][i] = value(r, i, round);
		ccs_run_with(m, &how, send[r], recv[r], size.count, CCS_INT32, CCS_SUM, 0, comm[r],
			     NULL);
	}
	ok = is(ccs_group_end(), CCS_OK, NULL, "the call");
	for (int r = 0; r < RANKS; r++) {
		for (size_t i = 0; i < size.count && ok; i++)
			ok = recv[r][i] == sum(i, round);
		if (apart)
			free(recv[r]);
		free(send[r]);
	}
	return ok;
}

/* A place of that many bytes is inside the memory that begins at its base. */
static bool lies_within(const struct sequence *q, struct place_at p, size_t bytes, size_t of_tile)
{
	const struct layout *l = &q->layout;
	const size_t room[NBUFFERS] = { l->send_bytes, l->recv_bytes, l->scratch_bytes };

	if (p.base == BASE_NONE)
		return true;
	if (p.base == BASE_SLOTS)
		return p.at + of_tile <= q->slot_bytes;
	return p.base >= BASE_RANKS && p.base < BASE_RANKS + NBUFFERS * l->nranks &&
	       p.at + bytes <= room[(p.base - BASE_RANKS) % NBUFFERS];
}

static bool piece_right(const struct sequence *q, const struct piece_at *p)
{
	size_t esize = q->layout.esize, bytes = p->n * esize;
	size_t of_tile = (p->n < q->short_tile ? p->n : q->short_tile) * esize;
	bool copies = p->kind == PIECE_COPY, combines = p->kind == PIECE_COMBINE;

	return lies_within(q, p->in, bytes, of_tile) && lies_within(q, p->a, bytes, of_tile) &&
	       lies_within(q, p->b, bytes, of_tile) && lies_within(q, p->dst, bytes, of_tile) &&
	       lies_within(q, p->out, bytes, of_tile) && p->n &&
	       (!copies || (p->a.base && p->dst.base)) &&
	       (!combines || (p->a.base && p->b.base && p->dst.base));
}

/* What there is of the last call that was a run; plain: each of its operations has one result. */
static bool noted(const struct cpu *e, struct size size, bool plain)
{
	const struct sequence *q = e->known;
	size_t copies = 0, combines = 0, others = 0, tiles;

	if (!q || q->too_long || !q->n || q->n > q->room || !q->id)
		return false;
	tiles = (q->layout.longest + q->tile - 1) / q->tile;
	if (q->ntiles != tiles || (size.tile && tiles < 2) || q->tile % q->short_tile ||
	    (size.count == WIDE && (tiles < 2 || q->tile == q->short_tile)))
		return false;
	for (uint32_t i = 0; i < q->n; i++) {
		copies += q->pieces[i].kind == PIECE_COPY;
		combines += q->pieces[i].kind == PIECE_COMBINE;
		others += q->pieces[i].kind == PIECE_OTHER;
		if (!piece_right(q, q->pieces + i))
			return false;
	}
	return combines >= RANKS - 1 && others <= (plain ? 0 : copies + combines);
}

/* Whether a thread that calls for all ranks does calls like the last without a run. */
static bool one_plays(const struct cpu *e)
{
	return !e->known->layout.parallel || e->limit == 1;
}

/* In place, where folds may not be played: their pieces store the same, in each tile. */
static bool by_pieces(const struct ccs_module *m, struct ccs_comm **comm, struct size size)
{
	struct sequence *q = cpu_of(comm[0]->world)->known;

	if (q->folds)
		q->folds->apart = true;
	return sums(m, comm, size, false, 3) && cpu_of(comm[0]->world)->known == q;
}

static bool test_tasks(const struct ccs_module *m, const char *name, bool plain)
{
	bool ok = m;

	for (size_t i = 0; ok && i < sizeof(sizes) / sizeof(*sizes); i++)
		for (int apart = 0; ok && apart < 2; apart++) {
			struct ccs_comm *comm[RANKS];

			ok = is(ccs_comm_init_all(comm, RANKS), CCS_OK, NULL, "a communicator");
			for (int round = 0; ok && round < 3; round++) {
				uint64_t calls = comm[0]->world->arrivals;

				ok = sums(m, comm, sizes[i], apart, round) &&
				     noted(cpu_of(comm[0]->world), sizes[i], plain) &&
				     (comm[0]->world->arrivals == calls) ==
					     (round && one_plays(cpu_of(comm[0]->world)));
			}
			ok = ok && (apart || by_pieces(m, comm, sizes[i]));
			if (!ok)
				printf("# %zu elements, tile %zu, %s\n", sizes[i].count,
				       sizes[i].tile, apart ? "apart" : "in place");
			for (int r = 0; r < RANKS; r++)
				ccs_comm_free(comm[r]);
		}
	return say(ok, "%s by tasks is noted", name);
}

static bool test_library(const char *folder, const char *name)
{
	struct ccs_module *m = NULL;
	bool ok = named_module_loads(&m, folder, name) && test_tasks(m, name, false);

	ccs_module_free(m);
	return ok;
}

static bool test_scratch(void)
{
	struct make what = { .text = by_scratch, .least = RANKS, .most = RANKS, .slots = 8 };
	struct ccs_module *m = NULL;
	struct made made = { 0 };
	bool ok = make_module(&what, &made) == MADE &&
		  is(ccs_module_open(&m, made.bytes, made.len), CCS_OK, NULL, "the module") &&
		  test_tasks(m, "by_scratch", true);

	ccs_module_free(m);
	free(made.bytes);
	return ok;
}

/* ---- threads that have met ------------------------------------------------------------------- */

/* What a call of direct_allreduce has come to, and calls like it: each thread's part is played here, one
 * after the other, which they may as well be. */
struct met {
	struct ccs_comm *comm[RANKS];
	struct cpu *e;
	struct sequence *q;
	int32_t *in[RANKS], *out[RANKS];
	size_t count;
	bool apart;
};

/* The ranks of one of n threads. */
static uint64_t ranks_of(unsigned thread, unsigned threads)
{
	unsigned each = RANKS / threads;

	return (uint64_t)((1u << each) - 1) << thread * each;
}

/* Whether the part can be played, and what the thread has found for its own ranks, if anything. */
static bool plays(const struct met *x, uint64_t call, unsigned thread, unsigned threads)
{
	const struct own_part *part = x->q->part + thread * (RANKS / threads);
	struct post posts[RANKS];
	struct meeting m = { call, ranks_of(thread, threads), threads, thread, posts, x->q->mail };

	for (int r = 0; r < RANKS; r++) {
		bool known = !x->q->mail || m.ranks >> r & 1;

		posts[r] = (struct post){ (unsigned char *)x->in[r],
					  known ? (unsigned char *)x->out[r] : NULL };
	}
	return sequence_again(x->e, x->q, &m) &&
	       (!x->q->mail || (part->ranks == m.ranks && part->folds));
}

static void fill(const struct met *x, uint64_t call)
{
	for (int r = 0; r < RANKS; r++)
		for (size_t i = 0; i < x->count; i++) {
			x->out[r][i] = -1;
			x->in[r][i] = value(r, i, (int)call);
		}
}

static bool are_sums(const struct met *x, uint64_t call)
{
	bool ok = true;

	for (int r = 0; r < RANKS; r++)
		for (size_t i = 0; ok && i < x->count; i++)
			ok = x->out[r][i] == sum(i, (int)call);
	return ok;
}

static bool all_play(const struct met *x, uint64_t call, unsigned threads)
{
	bool ok = true;

	fill(x, call);
	for (unsigned t = threads; ok && t--;)
		ok = plays(x, call, t, threads);
	return ok && are_sums(x, call);
}

/* A run: one thread takes all tiles. It is over when the last is done, and not before. */
static bool one_takes_all(const struct met *x)
{
	struct playing *p = &x->e->playing;
	bool ok = sequence_left(x->e) && !sequence_over(x->e);

	sequence_play(x->e, x->q, THREADS - 1);
	ok = ok && atomic_load(&p->done) == x->q->ntiles && !sequence_left(x->e);
	atomic_store(&p->next, x->q->ntiles); /* as when the last tile is on its way */
	return ok && !sequence_left(x->e) && sequence_over(x->e) && !sequence_over(x->e) &&
	       !sequence_left(x->e);
}

/* A run that all ranks have called: it is done at once, or played. */
static bool begins(const struct met *x)
{
	bool parallel = x->q->layout.parallel;
	enum sequence_how how = parallel ? SEQUENCE_PLAYS : SEQUENCE_DONE;

	fill(x, 4);
	for (int r = 0; r < RANKS; r++) {
		x->e->ranks[r].send = (unsigned char *)x->in[r];
		x->e->ranks[r].recv = (unsigned char *)x->out[r];
	}
	return sequence_begin(x->e, x->q) == how && (!parallel || one_takes_all(x)) &&
	       are_sums(x, 4) && sequence_begin(x->e, NULL) == SEQUENCE_NOT;
}

/* All threads there may be, or fewer, if the call is worth no more than one; and no more. */
static bool play_together(const struct met *x)
{
	bool parallel = x->q->layout.parallel, fewer;
	bool ok = !x->q->mail == (x->count * sizeof(int32_t) * RANKS > MAIL_BYTES) &&
		  x->e->limit == THREADS;

	ok = ok && begins(x);
	for (uint64_t call = 5; ok && call < 8; call++)
		ok = all_play(x, call, THREADS);
	fewer = ok && all_play(x, 8, 1);
	return ok && fewer == !parallel && !plays(x, 9, 0, 2 * THREADS);
}

/* Calls of as many other kinds take the places of all that are kept: nothing of these is left. */
static bool forgets(const struct met *x, const struct ccs_module *m)
{
	bool ok = true;

	for (size_t i = 1; ok && i <= SEQUENCES; i++)
		ok = sums(m, (struct ccs_comm **)x->comm, (struct size){ x->count + i, 0 },
			  x->apart, 0);
	for (size_t i = 0; ok && i < SEQUENCES; i++)
		for (int r = 0; ok && r < RANKS; r++)
			ok = !x->e->sequences.of[i].part[r].ranks;
	return ok;
}

static bool meet(struct met *x, const struct ccs_module *m)
{
	bool ok = is(ccs_comm_init_all(x->comm, RANKS), CCS_OK, NULL, "a communicator") &&
		  is(ccs_comm_set_threads(x->comm[0], THREADS), CCS_OK, NULL, "two threads") &&
		  sums(m, x->comm, (struct size){ x->count, 0 }, x->apart, 0);

	x->e = cpu_of(x->comm[0]->world);
	x->q = x->e->known;
	ok = ok && x->q;
	for (int r = 0; r < RANKS; r++) {
		x->out[r] = malloc(x->count * sizeof(int32_t));
		/* only a copy is left for all */
		x->in[r] = x->apart || (ok && x->q->mail) ? malloc(x->count * sizeof(int32_t))
							  : x->out[r];
	}
	ok = ok && play_together(x) && forgets(x, m);
	for (int r = 0; r < RANKS; r++) {
		if (x->in[r] != x->out[r])
			free(x->in[r]);
		free(x->out[r]);
		ccs_comm_free(x->comm[r]);
	}
	if (!ok)
		printf("# %zu elements%s\n", x->count, x->apart ? ", apart" : "");
	return ok;
}

static bool test_meeting(const char *folder)
{
	static const size_t counts[] = { 7, 400, 6000, MOST_COUNT };
	struct ccs_module *m = NULL;
	bool ok = named_module_loads(&m, folder, "direct_allreduce");

	for (size_t i = 0; ok && i < sizeof(counts) / sizeof(*counts); i++)
		for (int apart = 0; ok && apart < 2; apart++) {
			struct met x = { .count = counts[i], .apart = apart };

			ok = meet(&x, m);
		}
	ccs_module_free(m);
	return say(ok, "threads that have met play their parts");
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A call of a process, and its notes: each operation, or none. */
struct kind {
	size_t count, tile;
	int32_t scalar; /* 0: a plain sum */
	bool noted;
};

static const struct kind kinds[] = {
	{ SHORT, 0, 0, true },	   { LONG, 0, 0, false }, { MIDDLE, 0, 0, false }, /* in one tile */
	{ SMALL, 4096, 0, false },						   /* in several */
	{ SHORT, 0, 3, false }, /* each input is another than it was */
};

static bool operations_noted(const struct member *m, bool all)
{
	const struct laid *s = cpu_of(m->comm->world)->laid;
	uint32_t pieces = 0;

	if (!all)
		return !s->nops;
	for (size_t i = 0; i < s->nops; i++) {
		if (s->ops[i].n == OP_UNKNOWN || s->ops[i].first != pieces)
			return false;
		pieces += s->ops[i].n;
	}
	return s->nops && !s->own.too_long && pieces == s->own.n && pieces >= s->nops;
}

static bool member_calls(const struct member *m, const struct ccs_module *ring, int32_t *x,
			 const struct kind *k, int round)
{
	const struct ccs_run_options how = { .tile = k->tile,
					     .scalar = k->scalar ? &k->scalar : NULL };
	int32_t times = k->scalar ? k->scalar : 1;
	bool ok = true;

	for (size_t i = 0; i < k->count; i++)
		x[i] = value(m->rank, i, round);
	ok = is(ccs_run_with(ring, &how, x, x, k->count, CCS_INT32, CCS_SUM, 0, m->comm, NULL),
		CCS_OK, NULL, "the call");
	for (size_t i = 0; ok && i < k->count; i++)
		ok = x[i] == times * sum(i, round);
	return ok;
}

static bool member_notes(struct member *m)
{
	enum { NKINDS = sizeof(kinds) / sizeof(*kinds), TIMES = 2 };
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t *x = malloc(LONG * sizeof(*x));
	bool ok = x && ring && member_joins(m);

	for (int i = 0; ok && i < 2 * TIMES * NKINDS; i++) {
		const struct kind *k = kinds + i / TIMES % NKINDS;

		ok = member_calls(m, ring, x, k, i) && operations_noted(m, k->noted);
		if (!ok)
			printf("# rank %d, call %d of %zu elements\n", m->rank, i, k->count);
	}
	free(x);
	ccs_module_free(ring);
	return ok;
}

int main(int argc, char **argv)
{
	bool ok = true;

	if (argc != 2) {
		fprintf(stderr, "usage: sequence_test DIRECTORY-OF-MODULES\n");
		return 2;
	}
	setenv("MODULES", argv[1], 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ok &= test_library(argv[1], names[i]);
	ok &= test_scratch();
	ok &= test_meeting(argv[1]);
	ok &= say(team_run(RANKS, member_notes, NULL), "operations of processes are noted");
	return !ok;
}
