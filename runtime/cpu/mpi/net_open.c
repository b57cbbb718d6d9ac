/*
 * Communicators of processes that MPI has started: making, describing, freeing.
 *
 * All processes open the plug-in's world, which is a communicator of MPI's of their own, and
 * gather a card of each; so what fails in one fails in all. O(ranks).
 */
#include "runtime/cpu/mpi/net.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each process sends about itself. */
struct card {
	uint64_t host;
	int32_t status; /* how it went so far */
	char text[200];
	struct host_cores cores;
};

/* ---- freeing -------------------------------------------------------------------------------- */

static void end_messages(struct world *w)
{
	struct net *n = net_of(w);
	int left = 0;

	if (!w->dead && n->listens)
		net_leave(w);
	if (w->dead && n->notes && n->end.told) {
		pthread_mutex_lock(&w->lock);
		net_end_wait(w);
		pthread_mutex_unlock(&w->lock);
	}
	if (n->messages)
		left += n->calls->messages_free(n->messages);
	if (n->notes)
		left += n->calls->messages_free(n->notes);
	left += net_end_asking(n, w->nranks);
	n->leaks |= left > 0;
	net_forget_p2p(n);
}

/* Slots, scratch, and chunks set aside from callers' buffers: a message may be in any of them. */
static void keep_memory(struct world *w)
{
	struct cpu *e = cpu_of(w);

	e->laid->data.data = e->laid->lines.data = NULL;
	for (int i = 0; i < w->nranks; i++)
		e->ranks[i].aside = NULL;
}

/* How long a communicator that has failed waits for other processes at the end of MPI, in ms. */
static unsigned patience(const struct world *w)
{
	return w->timeout ? w->timeout : MPICALLS_PATIENCE_MS;
}

/* What comes later would be taken for a message of a later communicator. */
static int how_ends(const struct world *w)
{
	if (w->dead)
		return MPICALLS_FAILED;
	return net_is_owed(net_of(w)) || !net_all_left(w) ? MPICALLS_LEFT : MPICALLS_WELL;
}

/* Where a failure left messages that MPI cannot take back, their memory stays. In a forked
 * process there is no MPI. */
void net_free(struct world *w)
{
	struct cpu *e = cpu_of(w);
	struct net *n = e ? e->net : NULL;
	bool here = origin_here(&w->origin);

	if (n && here)
		end_messages(w);
	if (n && here && n->leaks)
		keep_memory(w);
	if (n && here)
		n->calls->close(n->world, how_ends(w), patience(w));
	if (n && !n->leaks) {
		free(n->heard);
		free(n->kept);
		free(n->left);
		free(n->fifos);
		free(n->row);
		free(n->places);
		free(n->holds);
		free(n->asked);
		free(n->end.told);
		free(n->p2p);
		free(n->asking);
		free(n);
	}
	cpu_free(w);
}

/* ---- describing ------------------------------------------------------------------------------ */

void net_describe(const struct world *w, char *text, size_t size)
{
	const struct net *n = net_of(w);
	char library[160], hosts[32] = "this host";

	n->calls->name(library, sizeof(library));
	if (n->hosts > 1)
		snprintf(hosts, sizeof(hosts), "%d hosts", n->hosts);
	snprintf(text, size, "%d processes by MPI (%s), one rank each, on %s%s", w->nranks, library,
		 hosts, n->spins ? "" : ", with fewer cores than ranks");
}

static bool is_new(const struct card *cards, int i)
{
	for (int k = 0; k < i; k++)
		if (cards[k].host == cards[i].host)
			return false;
	return true;
}

/* How many hosts there are, and whether this one has a core for each of its ranks. */
static void look_round(struct world *w, const struct card *cards)
{
	struct net *n = net_of(w);
	struct host_cores here = { { 0 } };
	int ranks = 0;

	for (int i = 0; i < w->nranks; i++) {
		n->hosts += is_new(cards, i);
		if (cards[i].host != cards[w->first].host)
			continue;
		ranks++;
		host_cores_add(&here, &cards[i].cores);
	}
	n->spins = host_cores_count(&here) >= ranks;
}

/* ---- making ---------------------------------------------------------------------------------- */

static ccs_status failed(const struct mpi_calls *calls, int e, const char *call)
{
	char text[200];

	calls->error(e, text, sizeof(text));
	return error_set(CCS_ESYSTEM, "MPI's %s failed: %s", call, text);
}

static ccs_status allocate(struct world *w, const struct mpi_calls *calls, struct mpi_world *world)
{
	size_t n = (size_t)w->nranks;
	struct net *x = calloc(1, sizeof(*x));
	ccs_status s = cpu_open(w);

	w->engine = &net_engine;
	if (s || !x) {
		free(x);
		return s ? s : error_set(CCS_ENOMEM, "out of memory for %zu ranks", n);
	}
	cpu_of(w)->net = x;
	cpu_of(w)->wire = &net_wire;
	x->calls = calls;
	x->world = world;
	x->heard = calloc(n, sizeof(*x->heard));
	x->kept = calloc(n, sizeof(*x->kept));
	x->holds = calloc(n, sizeof(*x->holds));
	x->asked = calloc(n, sizeof(*x->asked));
	x->end.told = calloc(n, sizeof(*x->end.told));
	if (!x->heard || !x->kept || !x->holds || !x->asked || !x->end.told ||
	    calls->messages_new(world, 3 * w->nranks, &x->notes))
		return error_set(CCS_ENOMEM, "out of memory for %zu ranks", n);
	return CCS_OK;
}

static int gather(const struct mpi_calls *calls, struct mpi_world *world, const struct card *card,
		  struct card *cards)
{
	const struct mpi_collective *c = calls->collectives;
	const struct mpi_job job = {
		.send = card,
		.recv = cards,
		.count = sizeof(*card),
		.type = CCS_UINT8,
	};

	while (strcmp(c->contract, "allgather") != 0)
		c++;
	return c->run(world, &job);
}

/* `here`: how it went in this process so far; what failed in one fails in all. */
static ccs_status meet(struct world *w, const struct mpi_calls *calls, struct mpi_world *world,
		       ccs_status here)
{
	int nranks = calls->size(world), rank = calls->rank(world), error;
	struct card own = { .host = host_of(), .status = here };
	struct card *cards = calloc((size_t)nranks, sizeof(*cards));
	ccs_status s = here;

	if (!cards) /* the other ranks wait for a card; none can be sent */
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", nranks);
	host_cores_read(&own.cores);
	if (here)
		snprintf(own.text, sizeof(own.text), "%.190s", error_thread()->text);
	error = gather(calls, world, &own, cards);
	if (error && !s)
		s = failed(calls, error, "MPI_Allgather");
	for (int i = 0; i < nranks && !s; i++)
		if (cards[i].status && i != rank)
			s = error_set(error_of_peer(cards[i].status), "rank %d: %.190s", i,
				      cards[i].text);
	if (!s) {
		look_round(w, cards);
		net_listen(w);
	}
	free(cards);
	return s;
}

static ccs_status find_calls(const struct mpi_calls **calls)
{
	void *library;
	ccs_status s = ccs_mpi_library(&library);

	if (!s)
		*calls = dlsym(library, "ccs_mpi_calls");
	return s;
}

/* The world of MPI's is the communicator's, once it has one; else it is closed. `w`: NULL: it could
 * not be made, as `here` says. */
static ccs_status open_net(struct world *w, const struct mpi_calls *calls, struct mpi_world *world,
			   bool threads, ccs_status here)
{
	ccs_status s = here ? here : allocate(w, calls, world);

	if (!s)
		net_of(w)->threads = threads;
	s = meet(s ? NULL : w, calls, world, s);
	if (s && (!w || !w->state || !net_of(w)))
		calls->close(world, MPICALLS_FAILED, MPICALLS_PATIENCE_MS);
	return s;
}

ccs_status net_branch(struct world *w, struct world *child, const struct branch *b)
{
	const struct mpi_calls *calls = net_of(w)->calls;
	struct mpi_world *world = NULL;
	int e = calls->split(net_of(w)->world, b->color, b->rank, &world);
	ccs_status s = e ? failed(calls, e, "MPI_Comm_split") : CCS_OK;

	s = world_agree(w, s); /* else some would wait in the new one for who is not there */
	if (s && world)
		calls->close(world, MPICALLS_FAILED, MPICALLS_PATIENCE_MS);
	return s || !child ? s : open_net(child, calls, world, net_of(w)->threads, CCS_OK);
}

ccs_status net_members(struct world *w, struct world *child, const struct branch *b, int n, int tag,
		       ccs_status here)
{
	const struct mpi_calls *calls = net_of(w)->calls;
	struct mpi_world *world = NULL;
	int e;

	if (tag < 0 || tag >= MPICALLS_TAGS)
		return error_set(CCS_EINVAL, "ccs_comm_create_group: tag %d: a tag is from 0 to %d",
				 tag, MPICALLS_TAGS - 1);
	e = calls->group(net_of(w)->world, n, b->ranks, tag, &world);
	if (e)
		return here ? here : failed(calls, e, "MPI_Comm_create_group");
	return open_net(child, calls, world, net_of(w)->threads, here);
}

static ccs_status init(struct ccs_comm **comm, bool threads, const char *call)
{
	const struct mpi_calls *calls = NULL;
	struct mpi_world *world;
	ccs_status s;
	int e;

	if (!comm)
		return error_set(CCS_EINVAL, "%s: comm is NULL", call);
	*comm = NULL;
	s = find_calls(&calls);
	if (s)
		return s;
	e = calls->open(threads, &world);
	if (e == MPICALLS_NO_THREADS)
		return error_set(CCS_EUNSUPPORTED,
				 "%s: MPI was initialised without MPI_THREAD_MULTIPLE", call);
	if (e)
		return failed(calls, e, "MPI_Init_thread");
	s = comm_new_rank(comm, calls->size(world), calls->rank(world));
	s = open_net(*comm ? (*comm)->world : NULL, calls, world, threads, s);
	if (s && *comm)
		comm_drop(comm, 1);
	return s;
}

ccs_status ccs_comm_init_mpi(struct ccs_comm **comm)
{
	return init(comm, false, "ccs_comm_init_mpi");
}

ccs_status ccs_comm_init_mpi_threads(struct ccs_comm **comm)
{
	return init(comm, true, "ccs_comm_init_mpi_threads");
}
