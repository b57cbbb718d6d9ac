/*
 * Where the ranks live.
 *
 *   on the CPU            all in this process
 *   --device cuda         here too: on the one GPU, or spread over all that there are,
 *                         in contiguous blocks, as even as can be
 *   --device cuda:0,1,4   the same over these
 *   a process a rank      started by torchrun, mpirun or srun: ccs_comm_init_env
 *
 * Processes tell one another how each step went, and their times and wrong elements, over
 * the communicator's own group. O(ranks).
 */
#include "runtime/ccrun/bench.h"

#include "runtime/comm.h"
#include "runtime/cuda/comm.h"
#include "runtime/cuda/nccl_group.h"

#include <stdlib.h>
#include <string.h>

static bool alloc(struct home *p, int ranks)
{
	*p = (struct home){ .ranks = ranks };
	p->comm = calloc((size_t)ranks, sizeof(struct ccs_comm *));
	return p->comm != NULL;
}

/* ---- one process --------------------------------------------------------------------- */

/* GPUs 0 .. n-1, where no list was given. At least one, so that its error tells. */
static ccs_status all_devices(int *n)
{
	ccs_status s = cuda_count(n);

	if (!s && *n < 1)
		*n = 1;
	return s;
}

static ccs_status spread(struct home *p, const struct options *o)
{
	int n = o->ndevices;
	ccs_status s = n ? CCS_OK : all_devices(&n);

	if (s)
		return s;
	if (o->ndevices > p->ranks)
		return error_set(CCS_EINVAL, "--device names %d GPUs for %d rank%s", o->ndevices,
				 p->ranks, p->ranks == 1 ? "" : "s");
	n = n < p->ranks ? n : p->ranks;
	p->devices = calloc((size_t)p->ranks, sizeof(*p->devices));
	if (!p->devices)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", p->ranks);
	for (int i = 0; i < p->ranks; i++) {
		int k = (int)((long long)i * n / p->ranks);

		p->devices[i] = o->ndevices ? o->devices[k] : k;
	}
	return CCS_OK;
}

static ccs_status open_devices(struct home *p, const struct options *o)
{
	ccs_status s = spread(p, o);
	bool one = true;

	if (s)
		return s;
	for (int i = 1; i < p->ranks; i++)
		one = one && p->devices[i] == p->devices[0];
	return one ? ccs_comm_init_cuda(p->comm, p->ranks, p->devices[0])
		   : ccs_comm_init_devices(p->comm, p->ranks, p->devices);
}

/* ---- a process a rank ------------------------------------------------------------------ */

static ccs_status open_env(struct home *p, const struct options *o)
{
	struct ccs_comm *mine = NULL;
	ccs_status s = ccs_comm_init_env(&mine);

	if (s)
		return s;
	if (ccs_comm_size(mine) != p->ranks || ccs_comm_rank(mine) != o->rank) {
		s = error_set(CCS_EINVAL,
			      "%s made this rank %d of %d, and the communicator has it "
			      "as rank %d of %d",
			      o->launcher, o->rank, p->ranks, ccs_comm_rank(mine),
			      ccs_comm_size(mine));
		ccs_comm_free(mine);
		return s;
	}
	p->first = o->rank;
	p->local = 1;
	p->comm[p->first] = mine;
	p->group = gpu_group(mine->world);
	return CCS_OK;
}

/* ---- both ---------------------------------------------------------------------------------- */

static ccs_status open_buffers(struct home *p)
{
	struct cuda **cuda = calloc((size_t)p->ranks, sizeof(struct cuda *));

	for (int i = p->first; cuda && i < p->first + p->local; i++)
		cuda[i] = gpu_cuda_of(p->comm[i]->world, i);
	if (cuda)
		p->device = device_open(cuda, p->ranks, p->first, p->local);
	free(cuda);
	return p->device ? CCS_OK
			 : error_set(CCS_ENOMEM, "out of memory for %d ranks' buffers", p->ranks);
}

int home_open(struct home *p, const struct options *o)
{
	struct bench b = { .o = o, .at = p };
	ccs_status s = CCS_OK;

	if (!alloc(p, o->ranks))
		s = error_set(CCS_ENOMEM, "out of memory for %d ranks", o->ranks);
	else if (o->cuda && o->launcher)
		s = open_env(p, o);
	else if (o->cuda)
		s = open_devices(p, o);
	else
		s = ccs_comm_init_all(p->comm, p->ranks);
	if (s)
		return measure_fail(&b, SIDE_OURS, s);
	if (!p->local)
		p->local = p->ranks;
	s = o->cuda ? home_agree(p, open_buffers(p)) : CCS_OK;
	return s ? measure_fail(&b, SIDE_OURS, s) : EXIT_DONE;
}

void home_close(struct home *p)
{
	device_close(p->device);
	for (int i = 0; p->comm && i < p->ranks; i++)
		ccs_comm_free(p->comm[i]);
	free(p->comm);
	free(p->devices);
	*p = (struct home){ 0 };
}

void home_describe(const struct home *p, char *text, size_t size)
{
	world_describe(p->comm[p->first]->world, text, size);
}

/* ---- what processes tell one another ------------------------------------------------- */

ccs_status home_agree(const struct home *p, ccs_status s)
{
	return p->group ? group_agree(p->group, s) : s;
}

ccs_status home_most(const struct home *p, double *value)
{
	double *all;
	ccs_status s;

	if (!p->group)
		return CCS_OK;
	all = calloc((size_t)p->ranks, sizeof(*all));
	s = home_agree(p, all ? CCS_OK : error_set(CCS_ENOMEM, "out of memory"));
	if (!s)
		s = group_gather(p->group, value, all, sizeof(*all));
	for (int i = 0; i < p->ranks && !s; i++)
		*value = all[i] > *value ? all[i] : *value;
	free(all);
	return s;
}

/* Of one process. */
struct found {
	uint64_t wrong;
	char text[CCRUN_TEXT];
};

ccs_status home_wrong(const struct home *p, struct result *r)
{
	struct found mine = { .wrong = r->wrong }, *all;
	ccs_status s;

	if (!p->group)
		return CCS_OK;
	memcpy(mine.text, r->text, sizeof(mine.text));
	all = calloc((size_t)p->ranks, sizeof(*all));
	s = home_agree(p, all ? CCS_OK : error_set(CCS_ENOMEM, "out of memory"));
	if (!s)
		s = group_gather(p->group, &mine, all, sizeof(mine));
	if (!s)
		r->wrong = 0;
	for (int i = 0; i < p->ranks && !s; i++) {
		if (all[i].wrong && !r->wrong)
			memcpy(r->text, all[i].text, sizeof(r->text));
		r->wrong += (size_t)all[i].wrong;
	}
	free(all);
	return s;
}
