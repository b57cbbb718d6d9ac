/*
 * A call between hosts.
 *
 * In: a run that this process's rank has joined. Out, in the rank's stream, tile after tile: the
 * launches of phase 0, then for each round one group of NCCL's sends and receives and the
 * launches of the next phase. A last launch copies kept cells or divides sums where the contract
 * needs it. The host does not wait.
 *
 * Sizes. A cell of the stage holds one tile of the longest chunk, the parts of all replicas one
 * after another, so that the elements of a chunk in the tile are contiguous. Every rank computes
 * the tile from the call and from what the ranks agreed upon (plan.c).
 *
 * Pieces. A message goes as one piece, or cell by cell. Cells in the stage join if the gap
 * between them is at most an eighth of a cell, cells in place if they are whole. The decision
 * depends on lengths only, so sender and receiver cut alike. Everything goes as bytes.
 *
 * Tokens. Where the plan promises that a rank ends only after others have begun, a message that
 * is empty in the first tile is sent there as one byte.
 *
 * Order. Calls share memory and NCCL's communicator, so each call waits for the one before, on
 * any streams. Replays of captured calls could not be ordered between hosts; so calls cannot be
 * captured. O(cells + tiles * (launches + pieces)).
 */
#include "runtime/base/divide.h"
#include "runtime/hosts/hosts.h"

#define POST_ELEMENTS ((uint64_t)1 << 24)
#define WARP 32u

struct job {
	struct world *w;
	struct run *r;
	struct gpu *g;
	struct gpu_part *p;
	struct hosts_plan *h;
	const struct call *c;
	struct cells_call cells;
	size_t esize;
	uint64_t longest, slot; /* elements: of a chunk; of a cell in the stage */
	uint64_t ntiles;
	bool begun; /* work is in the stream */
};

/* Whether the plan promises that ranks end only after others have begun. */
static bool ordered(const struct job *j)
{
	return j->c->view->plan->after.n > 0;
}

/* ---- sizes ---------------------------------------------------------------------------- */

/* Cuts `part` elements of every chunk into replicas. */
static void cut_replicas(const struct job *j, uint64_t part)
{
	struct ccs_dev_call *c = &j->p->args;
	uint64_t unit = 16 / j->esize, replicas = part * j->esize / REPLICA_BYTES + 1;

	c->replicas = replicas < j->h->replicas ? (uint32_t)replicas : j->h->replicas;
	c->replicas_max = c->replicas;
	c->tile = round_up(ceil_div(part, c->replicas), unit);
}

static ccs_status choose_tile(struct job *j)
{
	struct ccs_dev_call *c = &j->p->args;
	uint64_t unit = 16 / j->esize, most = j->h->slot_bytes / j->esize;

	cut_replicas(j, ceil_div(j->longest, ceil_div(j->longest, most)));
	j->slot = c->tile * c->replicas;
	j->ntiles = ceil_div(j->longest, j->slot);
	c->longest = round_up(j->longest, unit);
	return j->ntiles <= UINT32_MAX
		       ? CCS_OK
		       : error_set(CCS_EINVAL, "CCS_TILE_BYTES is too small for %zu elements",
				   j->c->count);
}

/* ---- kernels -------------------------------------------------------------------------- */

static ccs_status launch(struct job *j, uint32_t row, uint32_t n)
{
	void *params[] = { &j->p->args };
	struct ccs_dev_call *c = &j->p->args;
	ccs_status s;

	c->workers = j->h->call.workers + row;
	c->nworkers = n;
	s = cuda_launch(&j->p->cuda, j->h->function, n * c->replicas, j->h->threads, 0, j->p->now,
			params);
	j->begun |= !s;
	return s;
}

/* As in cuda/gpu_call.c: the driver may refuse as many blocks as it reported resident. Then
 * launch fewer rows at a time, then fewer threads, from now on. The replicas stay: all ranks
 * have agreed upon them. */
static bool takes_less(struct job *j, ccs_status s, uint32_t rows)
{
	if (s != CCS_EUNSUPPORTED)
		return false;
	if (rows > 1)
		j->h->blocks = rows / 2 * j->p->args.replicas;
	else if (!j->g->settings.threads && j->h->threads >= 2 * WARP)
		j->h->threads = (uint32_t)round_up(j->h->threads / 2, WARP);
	else
		return false;
	return true;
}

/* Rows of one launch are independent: launch as many at a time as can be resident. */
static ccs_status launch_rows(struct job *j, const struct rounds_launch *l)
{
	ccs_status s = CCS_OK;

	for (uint32_t i = 0; i < l->n && !s;) {
		uint32_t whole = j->h->blocks / j->p->args.replicas, most = whole ? whole : 1;
		uint32_t n = l->n - i < most ? l->n - i : most;

		s = launch(j, l->row + i, n);
		if (!s)
			i += n;
		else if (takes_less(j, s, n))
			s = CCS_OK;
	}
	return s;
}

static ccs_status run_phase(struct job *j, uint32_t phase)
{
	const struct rounds_rank *k = &j->h->rank;
	ccs_status s = CCS_OK;

	for (uint32_t i = k->phase[phase]; i < k->phase[phase + 1] && !s; i++)
		s = launch_rows(j, k->launches + i);
	return s;
}

/* After all rounds, the row without operations copies and divides, with tiles of any size. */
static ccs_status run_posts(struct job *j)
{
	struct ccs_dev_call *c = &j->p->args;
	const struct rounds_launch behind = { .row = j->h->rank.nrows, .n = 1 };

	c->divide = j->c->reduces && !j->c->premul && j->c->op == CCS_AVG ? j->h->nranks : 0;
	if (!j->h->keeps && !(c->divide && j->h->reduces))
		return CCS_OK;
	cut_replicas(j, j->longest < POST_ELEMENTS ? j->longest : POST_ELEMENTS);
	c->tile0 = 0;
	c->ntiles = ceil_div(j->longest, c->tile * c->replicas);
	c->posts = j->h->posts;
	return launch_rows(j, &behind);
}

/* ---- messages --------------------------------------------------------------------------- */

static uint64_t cell_len(const struct job *j, const struct rounds_transfer *t, uint32_t i)
{
	return j->h->at[t->len_same ? t->len : t->len + i].len;
}

/* Cell i of the message from element lo of its chunk. Its elements in the tile are contiguous. */
static unsigned char *cell_at(const struct job *j, const struct rounds_transfer *t, uint32_t i,
			      uint64_t lo)
{
	const struct cell_at *x = j->h->at + t->at + i;
	const struct ccs_dev_rank *io = j->p->args.ranks;

	switch (t->where) {
	case ROUNDS_STAGE: return j->p->args.stage + (t->at + i) * j->slot * j->esize;
	case ROUNDS_INITIAL:
		return (unsigned char *)(uintptr_t)io->send + (x->send + lo) * j->esize;
	case ROUNDS_CELLS: break;
	}
	return (t->at + i < j->c->view->plan->cells ? io->recv : io->scratch) +
	       (x->recv + lo) * j->esize;
}

static ccs_status transfer_piece(struct job *j, const struct rounds_transfer *t, unsigned char *p,
				 uint64_t n)
{
	const struct nccl *nccl = &j->g->nccl;
	nccl_comm comm = group_comm(j->g->group);

	if (t->sends)
		return nccl_send(nccl, p, (size_t)n, CCS_UINT8, (int)t->peer, comm, j->p->now);
	return nccl_recv(nccl, p, (size_t)n, CCS_UINT8, (int)t->peer, comm, j->p->now);
}

/* An empty message that is sent for its order. */
static ccs_status transfer_token(struct job *j, const struct rounds_transfer *t)
{
	unsigned char *p = (unsigned char *)(uintptr_t)hosts_of(j->w)->memory.tokens.p;

	return transfer_piece(j, t, p + !t->sends, 1);
}

/* Sends or receives the part of a message that is in the tile. */
static ccs_status transfer(struct job *j, const struct rounds_transfer *t, uint64_t tile)
{
	uint64_t lo = tile * j->slot, bytes = 0;
	unsigned char *from = NULL;
	bool joins = false; /* the next cell can join the current piece */
	ccs_status s = CCS_OK;

	for (uint32_t i = 0; i < t->n && !s; i++) {
		uint64_t len = cell_len(j, t, i), rest = len > lo ? len - lo : 0;
		unsigned char *at;

		rest = rest < j->slot ? rest : j->slot;
		if (!rest) {
			joins &= t->adjacent;
			continue;
		}
		at = cell_at(j, t, i, lo);
		if (bytes && !joins) {
			s = transfer_piece(j, t, from, bytes);
			bytes = 0;
		}
		if (!bytes)
			from = at;
		bytes = (uint64_t)(at - from) + rest * j->esize;
		joins = t->adjacent ? !lo && rest == len : (j->slot - rest) * 8 <= j->slot;
	}
	if (!s && bytes)
		s = transfer_piece(j, t, from, bytes);
	else if (!s && !tile && ordered(j))
		s = transfer_token(j, t);
	return s;
}

static ccs_status run_round(struct job *j, uint32_t round, uint64_t tile)
{
	const struct nccl *nccl = &j->g->nccl;
	const struct rounds_rank *k = &j->h->rank;
	ccs_status s;

	if (k->round[round] == k->round[round + 1])
		return CCS_OK;
	s = nccl_group_start(nccl);
	if (s)
		return s;
	j->begun = true;
	for (uint32_t i = k->round[round]; i < k->round[round + 1] && !s; i++)
		s = transfer(j, k->transfers + i, tile);
	return nccl_group_end(nccl, s);
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* The kernels' tables have this rank only. */
static ccs_status place_buffers(struct job *j, struct hosts_memory *m)
{
	struct ccs_dev_call *c = &j->p->args;
	uint64_t bytes, cells = j->c->view->plan->scratch;
	ccs_status s = gpu_place_rank(j->r, j->p, (uint32_t)j->p->first, c->ranks);

	if (s || !cells)
		return s;
	if (__builtin_mul_overflow(c->longest * j->esize, cells, &bytes) || bytes > PTRDIFF_MAX)
		return error_set(CCS_ENOMEM, "the scratch of %s is larger than any memory",
				 ccs_module_schedule(j->c->module));
	s = gpu_room(j->p, &m->scratch, (size_t)bytes, "scratch");
	c->ranks->scratch = (uint8_t *)(uintptr_t)m->scratch.p;
	return s;
}

static ccs_status fill_arguments(struct job *j)
{
	struct ccs_dev_call *c = &j->p->args;
	struct hosts_memory *m = &hosts_of(j->w)->memory;
	ccs_status s;

	*c = j->h->call;
	s = choose_tile(j);
	cells_place(&j->cells, (uint32_t)j->p->first, (size_t)c->longest, j->h->at);
	if (!s)
		s = hosts_room(j->p, j->h, m);
	if (s)
		return s;
	c->ntiles = 1;
	cuda_tables_count(c, j->c->count);
	c->stage = (uint8_t *)(uintptr_t)m->stage.p;
	c->done = c->epoch = (uint64_t *)(uintptr_t)m->lines.p;
	c->abort = (uint32_t *)(uintptr_t)j->p->abort;
	c->limit = gpu_limit(j->w);
	s = place_buffers(j, m);
	return s ? s : gpu_place_cells(j->r, j->p, (uint32_t)j->p->first, 1);
}

static ccs_status submit(struct job *j)
{
	ccs_status s = CCS_OK;

	if (j->p->ran)
		s = cuda_wait(&j->p->cuda, j->p->last, j->p->now);
	if (!s)
		s = gpu_copy_asides(j->w, j->r, j->p);
	for (uint64_t t = 0; t < j->ntiles && !s; t++) {
		j->p->args.tile0 = (uint32_t)t;
		s = run_phase(j, 0);
		for (uint32_t i = 1; i <= j->h->rank.nrounds && !s; i++) {
			s = run_round(j, i, t);
			if (!s)
				s = run_phase(j, i);
		}
	}
	if (!s)
		s = run_posts(j);
	if (s)
		return s;
	j->p->ran = true;
	return cuda_record(&j->p->cuda, j->p->last, j->p->now);
}

static ccs_status run_entered(struct job *j)
{
	ccs_status s = cuda_capturing(&j->p->cuda, j->p->now, &j->p->capturing);

	if (!s && j->p->capturing)
		s = error_set(CCS_EUNSUPPORTED,
			      "ccs_run: the stream of rank %d is captured, and "
			      "calls between hosts cannot be",
			      j->p->first);
	if (!s && !j->longest)
		j->longest = ordered(j); /* 1: one tile, without elements, for the tokens */
	if (s || !j->longest)
		return s;
	s = fill_arguments(j);
	return s ? s : submit(j);
}

static ccs_status run(struct world *w, struct run *r)
{
	struct gpu *g = gpu_of(w);
	const struct call *own = r->seats[g->parts->first].call;
	struct job j = { .w = w, .r = r, .g = g, .p = g->parts, .c = own };
	ccs_status s = hosts_plan_get(w, own, &j.h);
	int mode;

	if (s)
		return s;
	j.p->now = own->stream;
	j.cells = call_cells(&r->params);
	j.esize = ccs_dtype_size(own->type);
	j.longest = cells_longest(&j.cells);
	s = cuda_enter(&j.p->cuda, &mode);
	if (s)
		return s;
	s = run_entered(&j);
	cuda_leave(&j.p->cuda, mode);
	/* Other ranks may wait for messages that this rank will never send. */
	return s && j.begun ? gpu_break(w, s) : s;
}

/* ---- the engine -------------------------------------------------------------------------- */

static ccs_status check_nccl(struct world *w)
{
	struct gpu *g = gpu_of(w);
	ccs_status s = world_alive(w);

	if (s)
		return s;
	s = nccl_check(&g->nccl, group_comm(g->group));
	return s ? gpu_die(w, s, error_thread()->text) : CCS_OK;
}

ccs_status hosts_check(struct world *w)
{
	ccs_status s = check_nccl(w);

	return s ? s : gpu_check_last(w);
}

/* The process has one rank, so a run starts when it is joined. */
ccs_status hosts_start(struct world *w, struct run *r, int rank)
{
	ccs_status s = check_nccl(w);

	(void)rank;
	if (!s)
		s = run(w, r);
	if (!s)
		run_all_done(w);
	return s;
}

void hosts_end(struct world *w)
{
	struct hosts *own = hosts_of(w);
	struct hosts_plan *plans = own->plans;

	gpu_free(w);
	hosts_plans_free(plans);
}
