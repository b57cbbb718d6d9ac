/*
 * Communicators: what this library knows of MPI's, and its own communicator for each.
 *
 * In: a communicator of MPI. Out: its struct held, an attribute of the communicator, deleted with
 * it. At the first call that is taken, the ranks make a communicator of ccs: rank 0 broadcasts a
 * random job name by which they meet. The ranks then agree by MPI whether it succeeded, so a
 * failure on one rank is known to all.
 */
#include "runtime/preload/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define MEET_SECONDS 60
#define JOB 40		 /* bytes of a job's name */
#define DESCRIPTORS 16	 /* file descriptors for a communicator, besides one for each rank */
#define EAGER_ROUNDS 100 /* polls of MPI's progress before a waiting call sleeps between polls */

/* ---- what is known ------------------------------------------------------------------------ */

/* An intercommunicator has two ranks 0. The one that is first in the job counts the calls. */
static bool counts_inter(MPI_Comm comm)
{
	int zero = 0, here = MPI_UNDEFINED, there = MPI_UNDEFINED;
	MPI_Group all, own, other;

	PMPI_Comm_group(MPI_COMM_WORLD, &all);
	PMPI_Comm_group(comm, &own);
	PMPI_Comm_remote_group(comm, &other);
	PMPI_Group_translate_ranks(own, 1, &zero, all, &here);
	PMPI_Group_translate_ranks(other, 1, &zero, all, &there);
	PMPI_Group_free(&all);
	PMPI_Group_free(&own);
	PMPI_Group_free(&other);
	return there == MPI_UNDEFINED || here < there;
}

static bool look_at(struct held *h)
{
	int inter;

	if (PMPI_Comm_rank(h->comm, &h->rank) || PMPI_Comm_size(h->comm, &h->size) ||
	    PMPI_Comm_test_inter(h->comm, &inter))
		return false;
	h->inter = inter;
	h->counts = !h->rank && (!inter || counts_inter(h->comm));
	return true;
}

/* Takes a spare struct held, or makes one. NULL: no memory. */
static struct held *take(struct preload *p)
{
	struct held *h;

	pthread_mutex_lock(&p->lock);
	h = p->spare;
	if (h)
		p->spare = h->next;
	pthread_mutex_unlock(&p->lock);
	return h ? h : calloc(1, sizeof(*h));
}

static void list(struct preload *p, struct held *h)
{
	pthread_mutex_lock(&p->lock);
	h->next = p->held;
	h->from = &p->held;
	if (h->next)
		h->next->from = &h->next;
	p->held = h;
	pthread_mutex_unlock(&p->lock);
}

void held_end_ccs(struct held *h)
{
	for (unsigned i = 0; i < KNOWN; i++) {
		ccs_call_free(h->known[i].call);
		h->known[i].call = NULL;
	}
	ccs_comm_free(h->ccs);
	h->ccs = NULL;
}

/* Makes it spare. It is in no list and belongs to no communicator. */
static void give_back(struct preload *p, struct held *h)
{
	held_end_ccs(h);
	free(h->fits);
	h->comm = MPI_COMM_NULL;
	h->fits = NULL;
	pthread_mutex_lock(&p->lock);
	h->next = p->spare;
	p->spare = h;
	pthread_mutex_unlock(&p->lock);
}

void held_free_spare(struct preload *p)
{
	while (p->spare) {
		struct held *next = p->spare->next;

		free(p->spare);
		p->spare = next;
	}
}

static struct held *held_new(struct preload *p, MPI_Comm comm)
{
	struct held *h = take(p);

	if (!h)
		return NULL;
	h->comm = comm;
	h->probed = p->self;
	h->meeting = NOT_MET;
	h->why[0] = '\0';
	memset(h->known, 0, sizeof(h->known));
	h->fits = calloc(p->entries.n + 1, 1);
	if (!h->fits || !look_at(h) || PMPI_Comm_set_attr(comm, p->keyval, h)) {
		give_back(p, h);
		return NULL;
	}
	list(p, h);
	return h;
}

struct held *held_of(struct preload *p, MPI_Comm comm)
{
	struct held *h = held_recent(p, comm);
	int found = 0;

	if (h || comm == MPI_COMM_NULL)
		return h;
	if (PMPI_Comm_get_attr(comm, p->keyval, &h, &found))
		return NULL;
	h = found ? h : held_new(p, comm);
	atomic_store(held_place(p, comm), h);
	return h;
}

int held_delete(MPI_Comm comm, int keyval, void *value, void *of)
{
	struct preload *p = of;
	struct held *h = value;

	(void)comm;
	(void)keyval;
	pthread_mutex_lock(&p->lock);
	*h->from = h->next;
	if (h->next)
		h->next->from = h->from;
	pthread_mutex_unlock(&p->lock);
	give_back(p, h);
	return MPI_SUCCESS;
}

/* ---- meeting -------------------------------------------------------------------------------- */

/* Whether all ranks are on this host. The same on all ranks, as each host counts its ranks. */
static bool on_one_host(const struct held *h)
{
	MPI_Comm here;
	int n = 0;

	if (PMPI_Comm_split_type(h->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here))
		return false;
	PMPI_Comm_size(here, &n);
	PMPI_Comm_free(&here);
	return n == h->size;
}

/* Whether all ranks are processes of one user, so that they may share memory. */
static bool of_one_user(const struct held *h)
{
	const unsigned own[2] = { geteuid(), ~geteuid() };
	unsigned least[2];

	return !PMPI_Allreduce(own, least, 2, MPI_UNSIGNED, MPI_MIN, h->comm) &&
	       least[0] == ~least[1];
}

/* Whether all ranks are of this process's MPI_COMM_WORLD. Spawned or connected processes may
 * run without this library, or with another CCS_MPI. */
static bool in_one_job(const struct held *h)
{
	MPI_Group all, own, others;
	int n = 1;

	PMPI_Comm_group(MPI_COMM_WORLD, &all);
	PMPI_Comm_group(h->comm, &own);
	if (!PMPI_Group_difference(own, all, &others)) {
		PMPI_Group_size(others, &n);
		if (n)
			PMPI_Group_free(&others);
	}
	PMPI_Group_free(&all);
	PMPI_Group_free(&own);
	return !n;
}

/* A random name by which the ranks meet: unique, and unknown to other users. */
static ccs_status make_job(char job[JOB])
{
	unsigned long long number[2];

	if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return ccs_error_set(CCS_ESYSTEM, "no random number: %s", strerror(errno));
	snprintf(job, JOB, "%016llx%016llx", number[0], number[1]);
	return CCS_OK;
}

/* Progresses MPI while a call of ccs waits: another rank may need a message of this rank's
 * before it can reach the call. */
static unsigned look_after_mpi(void *of)
{
	struct held *h = of;
	int any;

	PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, h->probed, &any, MPI_STATUS_IGNORE);
	h->rounds += h->rounds < EAGER_ROUNDS;
	return h->rounds < EAGER_ROUNDS ? 0 : 1;
}

static ccs_status open_comm(const struct preload *p, struct held *h, const char *job)
{
	struct ccs_procs procs = {
		.rank = h->rank,
		.nranks = h->size,
		.job = job,
		.seconds = MEET_SECONDS,
	};
	ccs_status s = ccs_comm_init_procs(&h->ccs, &procs);

	/* As in MPI, a rank may come late without limit. A rank that has ended is detected. */
	if (!s)
		s = ccs_comm_set_timeout(h->ccs, p->timeout);
	if (!s)
		s = ccs_comm_set_late(h->ccs, late_tell, h);
	return s ? s : ccs_comm_set_idle(h->ccs, look_after_mpi, h);
}

/* Whether all ranks have succeeded. If not, the first that failed broadcasts its reason. */
static bool agree(struct held *h, ccs_status s)
{
	int failed = s ? h->rank : h->size, first = 0;

	snprintf(h->why, sizeof(h->why), "%s", s ? ccs_error() : "");
	if (PMPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, h->comm) || first == h->size)
		return first == h->size;
	PMPI_Bcast(h->why, (int)sizeof(h->why), MPI_CHAR, first, h->comm);
	return false;
}

/* Whether this process can open the descriptors that a meeting needs. If it failed inside the
 * meeting, it could not report that to the other ranks, and they would wait. */
static ccs_status has_descriptors(const struct held *h)
{
	int n = 0, most = DESCRIPTORS + 4 * h->size;
	int *of = calloc((size_t)most, sizeof(*of));
	int error = ENOMEM;

	while (of && n < most && (of[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	error = of ? errno : error;
	for (int i = 0; i < n; i++)
		close(of[i]);
	free(of);
	if (n == most)
		return CCS_OK;
	return ccs_error_set(CCS_ENOMEM,
			     "rank %d has no %d descriptors left for a communicator: %s", h->rank,
			     most, strerror(error));
}

void held_meet(const struct preload *p, struct held *h)
{
	char job[JOB] = "";
	ccs_status s;

	h->meeting = REFUSED;
	if (!in_one_job(h)) {
		snprintf(h->why, sizeof(h->why), "ranks of several jobs, spawned or connected");
		return;
	}
	late_meet(p, h);
	if (!on_one_host(h)) {
		snprintf(h->why, sizeof(h->why), "ranks on several hosts");
		return;
	}
	if (!of_one_user(h)) {
		snprintf(h->why, sizeof(h->why), "ranks are processes of different users");
		return;
	}
	s = has_descriptors(h);
	if (!s && !h->rank)
		s = make_job(job);
	if (!agree(h, s))
		return;
	PMPI_Bcast(job, JOB, MPI_CHAR, 0, h->comm);
	if (agree(h, open_comm(p, h, job))) {
		h->meeting = MET;
		return;
	}
	held_end_ccs(h);
}
