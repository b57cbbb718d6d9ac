/*
 * Communicators of several processes with one rank each: meeting, and parting.
 *
 * They meet by NCCL's unique id (nccl_group.h), and exchange each rank's host, GPU and settings.
 * All ranks get the matrix of which GPU reaches which; the rest follows from it (place.h). On
 * several hosts no memory is shared (hosts/).
 *
 * They part in two steps, because memory must not be freed while another process has it mapped.
 * Each process unmaps the memory of the other processes, and waits until all have, at most for
 * the communicator's timeout; then it frees its own memory, or leaves it allocated if some
 * process never came. O(ranks^2).
 */
#include "runtime/base/clock.h"
#include "runtime/cuda/gpu_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE 30000u /* ms, if the communicator has no timeout */

/* ---- meeting ------------------------------------------------------------------------- */

/* What each process reports about itself. */
struct card {
	char host[160], settings[320];
	struct cuda_uuid gpu;
	uint64_t token;
};

/* A name of this host's shared memory: containers may have one host name and yet no common
 * memory. */
static void read_host(char *text, size_t size)
{
	const char *set = getenv("CCS_HOSTID");
	char name[80] = "", boot[64] = "";
	struct stat shm;
	FILE *f;

	if (set && *set) {
		snprintf(text, size, "%s", set);
		return;
	}
	gethostname(name, sizeof(name) - 1);
	f = fopen("/proc/sys/kernel/random/boot_id", "r");
	if (f) {
		if (!fgets(boot, sizeof(boot), f))
			boot[0] = 0;
		fclose(f);
	}
	boot[strcspn(boot, "\n")] = 0;
	snprintf(text, size, "%s %s %llx", name, boot,
		 stat("/dev/shm", &shm) ? 0 : (unsigned long long)shm.st_dev);
}

static void settings_text(const struct gpu_settings *o, char *text, size_t size)
{
	char choices[200] = "the plan's";

	if (o->choices.n)
		choice_text(o->choices.rows, o->choices.n, choices, sizeof(choices));
	snprintf(text, size,
		 "CCS_PROTOCOLS %s, CCS_THREADS %u, CCS_TILE_BYTES %zu, CCS_DIRECT %d, "
		 "CCS_P2P_DISABLE %d",
		 choices, o->threads, o->tile_bytes, !o->indirect, o->apart);
}

static ccs_status fill_card(struct gpu *g, struct card *c)
{
	struct cuda *d = &g->parts->cuda;

	*c = (struct card){ 0 };
	read_host(c->host, sizeof(c->host));
	settings_text(&g->settings, c->settings, sizeof(c->settings));
	if (getrandom(&c->token, sizeof(c->token), 0) != (ssize_t)sizeof(c->token))
		return error_set(CCS_ESYSTEM, "getrandom returns no random number");
	return cuda_identity(d, &c->gpu);
}

static ccs_status compare_settings(const struct card *all, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (strcmp(all->settings, all[i].settings))
			return error_set(
				CCS_EINVAL,
				"the ranks have different settings: rank 0 has %s; rank %u "
				"has %s",
				all->settings, i, all[i].settings);
	return CCS_OK;
}

static void find_hosts(struct places *p, const struct card *all)
{
	for (uint32_t i = 0; i < p->nparts; i++) /* numbered by first appearance */
		while (strcmp(all[p->host_of[i]].host, all[i].host))
			p->host_of[i]++;
}

/* One row of the matrix: the ranks that this GPU reaches. */
static ccs_status find_reach(struct gpu *g, const struct card *all, bool *row)
{
	struct gpu_part *p = g->parts;
	ccs_status s;
	int mode;

	s = cuda_enter(&p->cuda, &mode);
	if (s)
		return s;
	for (uint32_t j = 0; j < g->places.nparts && !s; j++) {
		row[j] = j == p->index;
		if (!row[j] && !g->settings.apart &&
		    g->places.host_of[j] == g->places.host_of[p->index])
			s = cuda_reaches(&p->cuda, &all[j].gpu, row + j);
	}
	cuda_leave(&p->cuda, mode);
	return s;
}

static ccs_status exchange(struct gpu *g, struct card *all, bool *row)
{
	uint32_t n = g->places.nparts;
	struct card mine;
	ccs_status s = gpu_agree(g, fill_card(g, &mine));

	if (!s)
		s = group_gather(g->group, &mine, all, sizeof(mine));
	if (!s)
		s = compare_settings(all, n);
	if (s)
		return s;
	g->token = all->token;
	find_hosts(&g->places, all);
	s = gpu_agree(g, find_reach(g, all, row));
	return s ? s : group_gather(g->group, row, g->places.reach, n * sizeof(*row));
}

static ccs_status meet(struct gpu *g)
{
	uint32_t n = g->places.nparts;
	struct card *all = calloc(n, sizeof(*all));
	bool *row = calloc(n, sizeof(*row));
	ccs_status s = CCS_OK;

	if (!all || !row)
		s = error_set(CCS_ENOMEM, "out of memory for %u ranks", n);
	s = gpu_agree(g, s);
	if (!s)
		s = exchange(g, all, row);
	free(all);
	free(row);
	return s ? s : gpu_control_make(g);
}

ccs_status gpu_open_rank(struct world *w, const ccs_unique_id *id, int rank, int device)
{
	struct gpu *g = gpu_of(w);
	ccs_status s;

	g->parts = calloc(1, sizeof(*g->parts));
	if (!g->parts)
		return error_set(CCS_ENOMEM, "out of memory for a communicator");
	if (!places_make(&g->places, (uint32_t)w->nranks, NULL))
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
	s = gpu_settings_read(&g->settings);
	if (!s)
		s = nccl_open(&g->nccl);
	if (s)
		return s;
	g->nparts = 1;
	s = gpu_part_open(g, g->parts, (uint32_t)rank, device);
	if (!s)
		s = group_join(&g->group, &g->nccl, &g->parts->cuda, w->nranks, id, rank);
	return s ? s : meet(g);
}

ccs_status ccs_get_unique_id(ccs_unique_id *id)
{
	struct nccl n = { 0 };
	ccs_status s;

	if (!id)
		return error_set(CCS_EINVAL, "ccs_get_unique_id: id is NULL");
	s = nccl_open(&n);
	if (!s)
		s = nccl_unique_id(&n, id);
	nccl_close(&n);
	return s;
}

/* ---- splits -------------------------------------------------------------------------- */

_Static_assert(sizeof(ccs_unique_id) <= INVITATION, "an id is an invitation");

ccs_status gpu_invite(struct world *w, struct world *child, struct branch *b)
{
	ccs_unique_id id;
	ccs_status s = CCS_OK;

	if (!gpu_of(w)->group || child->first)
		return CCS_OK;
	s = nccl_unique_id(&gpu_of(w)->nccl, &id);
	if (!s)
		memcpy(b->invitation, &id, sizeof(id));
	return s;
}

ccs_status gpu_branch_rank(struct world *w, struct world *child, const struct branch *b)
{
	ccs_unique_id id;

	memcpy(&id, b->invitation, sizeof(id));
	return gpu_open_rank(child, &id, child->first, gpu_of(w)->parts->cuda.device);
}

/* ---- parting ------------------------------------------------------------------------- */

void gpu_end(struct world *w)
{
	struct gpu *g = gpu_of(w);
	struct gpu_control *c = (struct gpu_control *)(void *)g->control.host;
	uint64_t patience = w->timeout ? w->timeout : PATIENCE, from = clock_ms();

	if (!g->group || !c)
		return;
	gpu_state_unmap(g);
	__atomic_add_fetch(&c->ended, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&c->ended, __ATOMIC_ACQUIRE) < g->places.nparts && !g->stranded) {
		usleep(200);
		g->stranded = clock_ms() - from >= patience;
	}
}
