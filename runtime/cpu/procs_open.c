/*
 * Communicators of processes on this host: how they come by their shared memory.
 *
 * Rank 0 makes the files, which have no names. When all have met (meet/group.h), the others
 * open them by way of rank 0's process, and take their seats in the table. A process that
 * cannot do that fails by itself; the others see its end, or its seat stay empty. O(ranks).
 */
#include "runtime/cpu/procs.h"
#include "runtime/meet/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/* What each process tells of itself, and what rank 0 answers. */
struct card {
	uint64_t host; /* the same for processes that can share memory */
	int32_t pid;
	uint32_t uid;
};

struct answer {
	uint64_t token;
	int32_t pid;
	int32_t files[NFILES];
};

/* ---- who is here --------------------------------------------------------------------- */

/* All of it, as all of it is sent. */
static void fill_answer(const struct procs *p, struct answer *a)
{
	memset(a, 0, sizeof(*a));
	a->token = p->token;
	a->pid = p->table->seats[0].pid;
	for (int i = 0; i < NFILES; i++)
		a->files[i] = p->files[i];
}

/* On rank 0: whether they can share memory; and its answer. */
static ccs_status answer_cards(void *of, const void *cards, void *answer)
{
	const struct card *card = cards;
	const struct world *w = of;
	struct procs *p = cpu_of(w)->procs;
	struct answer *a = answer;

	for (int i = 0; i < w->nranks; i++) {
		p->table->seats[i].pid = card[i].pid;
		if (card[i].host != card[0].host)
			return error_set(CCS_EUNSUPPORTED,
					 "ranks 0 and %d are on different hosts, or in different "
					 "containers: processes share memory on one host only "
					 "(between hosts: ccs_comm_init_mpi, ccrun --transport "
					 "mpi)",
					 i);
		if (card[i].uid != card[0].uid)
			return error_set(CCS_EUNSUPPORTED,
					 "ranks 0 and %d are different users' processes, which "
					 "share no memory",
					 i);
	}
	p->answered = true;
	fill_answer(p, a);
	return CCS_OK;
}

/* ---- the files -------------------------------------------------------------------------- */

static size_t table_bytes(int nranks)
{
	size_t n = (size_t)nranks;

	return sizeof(struct procs_table) + n * sizeof(struct procs_seat) +
	       n * n * sizeof(struct procs_pair);
}

static ccs_status make_files(struct procs *p, int nranks)
{
	static const char *const names[NFILES] = { "ccs table", "ccs fifos", "ccs lines",
						   "ccs fibers", "ccs data" };
	if (getrandom(&p->token, sizeof(p->token), 0) != (ssize_t)sizeof(p->token))
		return error_set(CCS_ESYSTEM, "no random number: %s", strerror(errno));
	for (int i = 0; i < NFILES; i++) {
		p->files[i] = memfd_create(names[i], MFD_CLOEXEC);
		if (p->files[i] < 0)
			return error_set(CCS_ESYSTEM, "no shared memory: %s", strerror(errno));
	}
	/* seats that nobody takes take no memory */
	return !ftruncate(p->files[FILE_TABLE], (off_t)table_bytes(nranks))
		       ? CCS_OK
		       : error_set(CCS_ENOMEM, "no shared memory for %d ranks: %s", nranks,
				   strerror(errno));
}

static ccs_status open_files(struct procs *p, const struct answer *a)
{
	char path[64];

	for (int i = 0; i < NFILES; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", a->pid, a->files[i]);
		p->files[i] = open(path, O_RDWR | O_CLOEXEC);
		if (p->files[i] < 0)
			return error_set(
				CCS_ESYSTEM,
				"the memory of rank 0 (process %d) cannot be shared: %s: %s",
				a->pid, path, strerror(errno));
	}
	return CCS_OK;
}

static ccs_status map_table(struct procs *p, int nranks)
{
	void *at;

	p->table_bytes = table_bytes(nranks);
	at = mmap(NULL, p->table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->files[FILE_TABLE],
		  0);
	if (at == MAP_FAILED)
		return error_set(CCS_ENOMEM, "no memory for a table of %d ranks: %s", nranks,
				 strerror(errno));
	p->table = at;
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
	if (p->table)
		munmap(p->table, p->table_bytes);
	for (int i = 0; i < NFILES; i++)
		if (p->files[i] >= 0)
			close(p->files[i]);
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

static const struct watched_engine procs_watched = { .moved = procs_moved, .stuck = procs_stuck };

static const struct processes_engine procs_processes = {
	.gather = procs_gather,
	.invite = invite,
	.alloc = procs_alloc,
	.release = procs_release,
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

static ccs_status allocate(struct world *w)
{
	struct procs *p = calloc(1, sizeof(*p));
	ccs_status s = cpu_open(w);

	w->engine = &procs_engine;
	if (s || !p) {
		free(p);
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
	}
	cpu_of(w)->procs = p;
	cpu_of(w)->wire = &procs_wire;
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

/* What rank 0 makes before they meet. */
static ccs_status prepare(struct world *w)
{
	ccs_status s = allocate(w);
	struct procs *p;

	if (s || w->first)
		return s;
	p = cpu_of(w)->procs;
	s = make_files(p, w->nranks);
	if (!s)
		s = map_table(p, w->nranks);
	if (!s)
		p->table->token = p->token;
	return s;
}

/* And what the others do, when they have. */
static ccs_status join(struct world *w, const struct answer *a)
{
	struct procs *p = cpu_of(w)->procs;
	ccs_status s = CCS_OK;

	if (w->first) {
		p->token = a->token;
		s = open_files(p, a);
		if (!s)
			s = map_table(p, w->nranks);
		if (!s && p->table->token != p->token)
			s = error_set(CCS_ESYSTEM, "rank 0 (process %d) has ended", a->pid);
	}
	if (s)
		return s;
	s = procs_take_seat(w);
	if (s)
		return s;
	return procs_layouts_open(cpu_of(w));
}

static ccs_status meet(struct world *w, const struct group_env *env, ccs_status here)
{
	struct card card = { host_of(), getpid(), getuid() };
	struct answer answer;
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

/* ---- of some of another's processes ------------------------------------------------------------ */

_Static_assert(sizeof(struct answer) <= INVITATION, "rank 0's answer is an invitation");

/* They are on one host, and one user's: their parent has seen to that. */
static ccs_status invite(struct world *w, struct world *child, struct branch *b)
{
	const struct procs_seat *seats = cpu_of(w)->procs->table->seats;
	ccs_status s = prepare(child);
	struct answer a;

	if (s || child->first)
		return s;
	for (int i = 0; i < child->nranks; i++)
		cpu_of(child)->procs->table->seats[i].pid = seats[b->ranks[i]].pid;
	fill_answer(cpu_of(child)->procs, &a);
	memcpy(b->invitation, &a, sizeof(a));
	return CCS_OK;
}

static ccs_status branch(struct world *w, struct world *child, const struct branch *b)
{
	struct answer a;

	(void)w;
	memcpy(&a, b->invitation, sizeof(a));
	return child ? join(child, &a) : CCS_OK;
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
	s = prepare((*comm)->world);
	s = meet((*comm)->world, &env, s);
	if (s)
		comm_drop(comm, 1);
	return s;
}
