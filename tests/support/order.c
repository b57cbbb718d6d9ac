#include "tests/support/order.h"
#include "tests/support/processes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_RANKS = 16 };

struct order {
	pthread_barrier_t all;
	int nranks;
	atomic_bool begun[MOST_RANKS];
};

struct order *order_make(int nranks)
{
	struct order *o = processes_share(sizeof(*o));
	pthread_barrierattr_t shared;

	o->nranks = nranks;
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&o->all, &shared, (unsigned)nranks);
	pthread_barrierattr_destroy(&shared);
	return o;
}

void order_free(struct order *o)
{
	munmap(o, sizeof(*o));
}

static ccs_status finish(struct ccs_comm *comm)
{
	struct cuda *d = gpu_cuda_of(comm->world, comm->rank);
	ccs_status s;
	int mode;

	s = cuda_enter(d, &mode);
	if (s)
		return s;
	s = cuda_sync(d, NULL);
	cuda_leave(d, mode);
	return s;
}

ccs_status order_try(struct order *o, const struct ccs_module *m, struct ccs_comm *comm, int *early)
{
	ccs_status s = CCS_OK;

	*early = 0;
	for (int late = 0; late < o->nranks; late++) {
		ccs_status one;

		pthread_barrier_wait(&o->all);
		atomic_store(&o->begun[comm->rank], false);
		pthread_barrier_wait(&o->all);
		if (comm->rank == late)
			usleep(5000);
		atomic_store(&o->begun[comm->rank], true);
		one = m ? ccs_run(m, NULL, NULL, 0, CCS_INT32, CCS_SUM, 0, comm, NULL)
			: ccs_barrier(comm, NULL);
		if (!one)
			one = finish(comm);
		for (int r = 0; r < o->nranks; r++)
			*early += !atomic_load(&o->begun[r]);
		s = s ? s : one;
	}
	return s;
}
