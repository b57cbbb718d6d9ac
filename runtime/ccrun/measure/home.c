/*
 * The place of the ranks: processes and GPUs.
 *
 *   on the CPU            all in this process; with --procs, each in one
 *   --device cuda         here too: on the one GPU, or spread over all that there are,
 *                         in contiguous blocks, as even as can be
 *   --device cuda:0,1,4   the same over these
 *   a process a rank      started by --procs, torchrun, mpirun or srun: on the CPU
 *                         ccs_comm_init_procs, on GPUs ccs_comm_init_env; with
 *                         --transport mpi ccs_comm_init_mpi
 *
 * Processes exchange the status of each step, their times and wrong elements over the
 * communicator's group. O(ranks).
 */
#include "runtime/ccrun/bench.h"
#include "runtime/ccrun/gpu/device.h"

#include <stdlib.h>
#include <string.h>

/* ---- one process --------------------------------------------------------------------- */

/* In blocks over the list of GPUs; without a list over all, which the library does. */
static ccs_status open_devices(struct home *p, const struct options *o)
{
	int n = o->ndevices, *devices;
	ccs_status s;

	if (!n)
		return ccs_comm_init_devices(p->comm, p->ranks, NULL);
	if (n > p->ranks)
		return ccs_error_set(CCS_EINVAL, "--device names %d GPUs for %d rank%s", n,
				     p->ranks, p->ranks == 1 ? "" : "s");
	devices = calloc((size_t)p->ranks, sizeof(*devices));
	if (!devices)
		return ccs_error_set(CCS_ENOMEM, "out of memory for %d ranks", p->ranks);
	for (int i = 0; i < p->ranks; i++)
		devices[i] = o->devices[(long long)i * n / p->ranks];
	s = ccs_comm_init_devices(p->comm, p->ranks, devices);
	free(devices);
	return s;
}

/* ---- a process a rank ------------------------------------------------------------------ */

static ccs_status open_one(struct ccs_comm **mine, const struct options *o)
{
	if (o->transport == TRANSPORT_MPI)
		return ccs_comm_init_mpi(mine);
	return o->cuda ? ccs_comm_init_env(mine) : ccs_comm_init_procs(mine, NULL);
}

static ccs_status open_env(struct home *p, const struct options *o)
{
	struct ccs_comm *mine = NULL;
	ccs_status s = open_one(&mine, o);

	if (s)
		return s;
	if (ccs_comm_size(mine) != p->ranks || ccs_comm_rank(mine) != o->rank) {
		s = ccs_error_set(CCS_EINVAL,
				  "%s made this rank %d of %d, but in the communicator it is rank "
				  "%d of %d%s",
				  o->launcher ? o->launcher : "-n", o->rank, p->ranks,
				  ccs_comm_rank(mine), ccs_comm_size(mine),
				  o->transport == TRANSPORT_MPI
					  ? ": start it with the mpirun of the MPI that "
					    "libccs_mpi.so was built with"
					  : "");
		ccs_comm_free(mine);
		return s;
	}
	p->first = o->rank;
	p->local = 1;
	p->comm[p->first] = mine;
	return CCS_OK;
}

/* ---- both ---------------------------------------------------------------------------------- */

int home_open(struct home *p, const struct options *o)
{
	struct bench b = { .o = o, .at = p };
	ccs_status s = CCS_OK;

	*p = (struct home){ .ranks = o->ranks };
	p->comm = calloc((size_t)o->ranks, sizeof(struct ccs_comm *));
	if (!p->comm)
		s = ccs_error_set(CCS_ENOMEM, "out of memory for %d ranks", o->ranks);
	else if (o->launcher || o->transport == TRANSPORT_MPI)
		s = open_env(p, o);
	else if (o->cuda)
		s = open_devices(p, o);
	else
		s = ccs_comm_init_all(p->comm, p->ranks);
	if (s)
		return measure_fail(&b, SIDE_OURS, s);
	if (!p->local)
		p->local = p->ranks;
	if (o->cuda)
		s = home_agree(p, device_open(&p->device, p));
	return s ? measure_fail(&b, SIDE_OURS, s) : EXIT_DONE;
}

void home_close(struct home *p)
{
	device_close(p->device);
	for (int i = 0; p->comm && i < p->ranks; i++)
		ccs_comm_free(p->comm[i]);
	free(p->comm);
	*p = (struct home){ 0 };
}

static struct ccs_comm *mine(const struct home *p)
{
	return p->comm[p->first];
}

/* ---- exchange between processes ------------------------------------------------------ */

ccs_status home_agree(const struct home *p, ccs_status s)
{
	return ccs_comm_agree(mine(p), s);
}

/* What all processes give, by ranks: to be freed. NULL, with the reason: *s. */
static void *gather(const struct home *p, const void *of, size_t bytes, ccs_status *s)
{
	void *all = calloc((size_t)p->ranks, bytes);

	*s = home_agree(p, all ? CCS_OK : ccs_error_set(CCS_ENOMEM, "out of memory"));
	if (!*s)
		*s = ccs_comm_gather(mine(p), of, all, bytes);
	if (!*s)
		return all;
	free(all);
	return NULL;
}

ccs_status home_most(const struct home *p, double *value)
{
	ccs_status s;
	double *all = gather(p, value, sizeof(*all), &s);

	for (int i = 0; all && i < p->ranks; i++)
		*value = all[i] > *value ? all[i] : *value;
	free(all);
	return s;
}

ccs_status home_spans(const struct home *p, const struct span *own, size_t step, struct span **all)
{
	ccs_status s = CCS_OK;

	if (p->local < p->ranks) {
		*all = gather(p, own, sizeof(*own), &s);
		return s;
	}
	*all = calloc((size_t)p->ranks, sizeof(**all));
	for (int i = 0; *all && i < p->ranks; i++)
		memcpy(*all + i, (const char *)own + (size_t)i * step, sizeof(**all));
	return *all ? CCS_OK : ccs_error_set(CCS_ENOMEM, "out of memory");
}

/* Of one process. */
struct found {
	uint64_t wrong;
	char text[CCRUN_TEXT];
};

ccs_status home_wrong(const struct home *p, struct result *r)
{
	struct found here = { .wrong = r->wrong }, *all;
	ccs_status s;

	memcpy(here.text, r->text, sizeof(here.text));
	all = gather(p, &here, sizeof(here), &s);
	if (!all)
		return s;
	r->wrong = 0;
	for (int i = 0; i < p->ranks; i += p->local) {
		if (all[i].wrong && !r->wrong)
			memcpy(r->text, all[i].text, sizeof(r->text));
		r->wrong += (size_t)all[i].wrong;
	}
	free(all);
	return CCS_OK;
}
