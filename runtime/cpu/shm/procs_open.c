/*
 * Communicators of processes on this host: opening their shared memory.
 *
 * Rank 0 makes the files. When all have met (meet/group.h), the other ranks open them
 * (procs_files.c), and take their seats in the table. If one process cannot, only that one fails
 * directly; the other processes see its end, or its empty seat. O(ranks).
 */
#include "runtime/cpu/shm/procs.h"
#include "runtime/meet/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOIN_MS 10000u /* to take a seat, after all have met */

/* What each process reports about itself. */
struct card {
	uint64_t host; /* equal for processes that can share memory */
	int32_t pid;
	uint32_t uid;
};

/* ---- processes of this host ---------------------------------------------------------- */

/* On rank 0: whether the processes can share memory, and the answer to them. */
static ccs_status answer_cards(void *of, const void *cards, void *answer)
{
	const struct card *card = cards;
	const struct world *w = of;
	struct procs *p = cpu_of(w)->procs;

	for (int i = 0; i < w->nranks; i++) {
		p->table->seats[i].pid = card[i].pid;
		if (card[i].host != card[0].host)
			return error_set(
				CCS_EUNSUPPORTED,
				"ranks 0 and %d are on different hosts, or in different "
				"containers: processes share memory only on one host "
				"(between hosts: ccs_comm_init_mpi, ccrun --transport mpi)",
				i);
		if (card[i].uid != card[0].uid)
			return error_set(CCS_EUNSUPPORTED,
					 "ranks 0 and %d are processes of different users, which "
					 "cannot share memory",
					 i);
	}
	p->answered = true;
	procs_files_tell(p, answer);
	return CCS_OK;
}

/* ---- the engine ---------------------------------------------------------------------------- */

static ccs_status start(struct world *w, struct run *r, int rank)
{
	struct procs *p = cpu_of(w)->procs;

	(void)r;
	(void)rank;
	p->posted = p->admitted = false;
	return CCS_OK;
}

static ccs_status check(struct world *w)
{
	procs_look(w);
	return world_alive(w);
}

static void describe(const struct world *w, char *text, size_t size)
{
	char ways[200];

	procs_tell_ways(cpu_of(w)->procs, ways, sizeof(ways));
	snprintf(text, size, "%d processes on this host's CPU, over shared memory%s%s%s", w->nranks,
		 cpu_of(w)->procs->spins ? "" : ", with fewer cores than ranks",
		 *ways ? "; long messages: " : "", ways);
}

static void close_procs(struct procs *p, bool here, int nranks)
{
	if (p->own && here) {
		atomic_store(&p->own->state, SEAT_LEFT);
		for (int i = 0; i < nranks; i++)
			procs_ring(p->table->seats + i);
	}
	procs_files_close(p);
	procs_forbid(p);
	for (int i = 0; p->ends && i < nranks; i++)
		if (p->ends[i] >= 0)
			close(p->ends[i]);
	procs_unmap(p, nranks);
	procs_free_relay(p);
	free(p->ends);
	free(p->found);
	free(p->mapped);
	free(p);
}

static void end(struct world *w)
{
	struct cpu *e = cpu_of(w);

	if (e && e->procs && e->procs->own)
		rank_free(e, e->ranks + w->first);
	if (e && e->procs)
		procs_layouts_close(e);
	if (e && e->procs)
		close_procs(e->procs, origin_here(&w->origin), w->nranks);
	cpu_free(w);
}

static ccs_status invite(struct world *w, struct world *child, struct branch *b);
static ccs_status branch(struct world *w, struct world *child, const struct branch *b);

static const struct watched_engine procs_watched = {
	.moved = procs_moved,
	.stuck = procs_stuck,
	.whereabouts = procs_whereabouts,
};

static ccs_status fail(struct world *w, ccs_status s, const char *text)
{
	procs_fail(w, s, text);
	return CCS_OK;
}

static const struct processes_engine procs_processes = {
	.gather = procs_gather,
	.invite = invite,
	.alloc = procs_alloc,
	.release = procs_release,
	.fail = fail,
};

static const struct progress_engine procs_progress = {
	.poll = procs_poll,
	.carry = procs_carry,
	.next = procs_next_message,
	.posted = procs_posted_message,
	.rest = procs_rest,
};

static const struct engine procs_engine = {
	.name = "procs",
	.tiles = true,
	.traces = true,
	.host_code = true,
	.idles = true,
	.quick = { .at_once = procs_at_once, .once_more = procs_once_more },
	.watched = &procs_watched,
	.processes = &procs_processes,
	.progress = &procs_progress,
	.start = start,
	.halt = sched_halt,
	.wait = procs_wait,
	.check = check,
	.branch = branch,
	.describe = describe,
	.free = end,
};

/* ---- making -------------------------------------------------------------------------------- */

static ccs_status allocate(struct world *w, unsigned patience)
{
	struct procs *p = calloc(1, sizeof(*p));
	ccs_status s = cpu_open(w);

	w->engine = &procs_engine;
	if (s || !p) {
		free(p);
		return s ? s : error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
	}
	cpu_of(w)->procs = p;
	cpu_of(w)->wire = &procs_wire;
	p->patience = patience;
	p->door = p->caller = -1;
	p->ends = calloc((size_t)w->nranks, sizeof(*p->ends));
	p->found = calloc((size_t)w->nranks, sizeof(*p->found));
	p->mapped = calloc((size_t)w->nranks * (PROCS_REGIONS + 1), sizeof(*p->mapped));
	for (int i = 0; i < NFILES; i++)
		p->files[i] = -1;
	for (int i = 0; p->ends && i < w->nranks; i++)
		p->ends[i] = -1;
	return p->ends && p->found && p->mapped
		       ? CCS_OK
		       : error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
}

/* The part of each process before they meet. Rank 0 also makes the files. */
static ccs_status prepare(struct world *w, unsigned patience)
{
	ccs_status s = allocate(w, patience);

	return s || w->first ? s : procs_files_make(cpu_of(w)->procs, w->nranks);
}

/* The part of all processes, after they have met. */
static ccs_status join(struct world *w, const struct procs_door *d)
{
	ccs_status s = w->first ? procs_files_take(cpu_of(w)->procs, w->nranks, d) : CCS_OK;

	if (!s)
		s = procs_take_seat(w);
	return s ? s : procs_layouts_open(cpu_of(w));
}

static ccs_status meet(struct world *w, const struct group_env *env, ccs_status here)
{
	struct card card = { host_of(), getpid(), geteuid() };
	struct procs_door answer;
	struct group_meeting m = {
		.card = &card,
		.card_bytes = sizeof(card),
		.answer = &answer,
		.answer_bytes = sizeof(answer),
		.make = answer_cards,
		.of = w,
	};
	ccs_status s = group_meet(env, &m, here);

	if (!s)
		return join(w, &answer);
	if (!w->first && cpu_of(w) && cpu_of(w)->procs &&
	    cpu_of(w)->procs->answered) { /* some of them go on */
		procs_fail(w, s, error_thread()->text);
		procs_settle(w);
	}
	return s;
}

/* ---- splits --------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct procs_door) <= INVITATION, "rank 0's door is an invitation");

/* The child's processes are on one host and of one user: the parent's are. */
static ccs_status invite(struct world *w, struct world *child, struct branch *b)
{
	const struct procs_seat *seats = cpu_of(w)->procs->table->seats;
	ccs_status s = prepare(child, w->timeout);
	struct procs_door d;

	if (s || child->first)
		return s;
	for (int i = 0; i < child->nranks; i++)
		cpu_of(child)->procs->table->seats[i].pid = seats[b->ranks[i]].pid;
	procs_files_tell(cpu_of(child)->procs, &d);
	memcpy(b->invitation, &d, sizeof(d));
	return CCS_OK;
}

static ccs_status branch(struct world *w, struct world *child, const struct branch *b)
{
	struct procs_door d;

	(void)w;
	memcpy(&d, b->invitation, sizeof(d));
	return child ? join(child, &d) : CCS_OK;
}

ccs_status ccs_comm_init_procs(struct ccs_comm **comm, const struct ccs_procs *procs)
{
	struct group_env env;
	ccs_status s;

	if (!comm)
		return error_set(CCS_EINVAL, "ccs_comm_init_procs: comm is NULL");
	*comm = NULL;
	s = procs ? group_env_given(&env, procs) : group_env_need(&env);
	if (s)
		return s;
	s = comm_new_rank(comm, env.nranks, env.rank);
	if (s)
		return s;
	s = prepare((*comm)->world, JOIN_MS);
	s = meet((*comm)->world, &env, s);
	if (s)
		comm_drop(comm, 1);
	return s;
}
