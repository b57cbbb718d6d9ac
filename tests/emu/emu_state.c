/*
 * A plan's state on emulated devices, and calls on it: sizes, buffers with their inputs,
 * and what each part is handed. All of it is drawn from the seed.
 */
#include "tests/emu/emu_host.h"

int64_t job_value(uint32_t rank, uint64_t element, uint32_t call)
{
	uint64_t h = ((uint64_t)rank * 7919 + element * 31 + call * 1009) * 2654435761u;

	return emu_op == CCS_PROD ? 1 + (int64_t)(h >> 20 & 1) : 1 + (int64_t)(h >> 20) % 3;
}

int64_t job_factor(const struct job *j, uint32_t rank, uint64_t element)
{
	return 1 + (int64_t)(j->factors ? (rank + element) % 3 : rank % 3);
}

/* Small whole numbers are exact in every type. */
void write_element(uint8_t *p, int64_t x)
{
	float f = (float)x;
	double d = (double)x;
	uint32_t u;

	switch (emu_type) {
	case CCS_FLOAT32: memcpy(p, &f, 4); break;
	case CCS_FLOAT64: memcpy(p, &d, 8); break;
	case CCS_BFLOAT16:
		memcpy(&u, &f, 4);
		u >>= 16;
		memcpy(p, &u, 2);
		break;
	default: memcpy(p, &x, ccs_dtype_size((ccs_dtype)emu_type));
	}
}

/* ---- state ---------------------------------------------------------------------------- */

static uint32_t pow2(uint32_t at_least)
{
	uint32_t p = 1;

	while (p < at_least)
		p *= 2;
	return p;
}

static void make_fifos(struct state *s, uint64_t epoch, uint32_t max_units)
{
	struct ccs_dev_fifo *f = cuda_tables_fifos(&s->tables);
	uint32_t slots = pow2(s->m->head->slots ? s->m->head->slots : 1);
	uint32_t replicas = s->replicas_max;

	for (uint32_t i = 0; i < s->tables.nfifos; i++) {
		f[i].slots = f[i].messages < slots && emu_random(2)
				     ? pow2(f[i].messages ? f[i].messages : 1)
				     : slots;
		/* fewer slots than messages need no more than one a tile's worth */
		f[i].slot_bytes = (uint64_t)s->tables.max_cells * max_units * (s->ll ? 32 : 16);
		f[i].slot_bytes = (f[i].slot_bytes + 31) & ~(uint64_t)31;
		f[i].data = emu_alloc(f[i].slot_bytes * f[i].slots * replicas);
		f[i].head = emu_alloc(sizeof(uint64_t) * CCS_DEV_LINE * replicas);
		f[i].tail = emu_alloc(sizeof(uint64_t) * CCS_DEV_LINE * replicas);
		for (uint32_t r = 0; r < replicas; r++)
			f[i].head[r * CCS_DEV_LINE] = f[i].tail[r * CCS_DEV_LINE] =
				epoch * f[i].messages;
		for (uint64_t b = 0; s->ll && b < f[i].slot_bytes * f[i].slots * replicas; b += 8) {
			uint64_t entry = epoch * f[i].messages << 32;
			memcpy(f[i].data + b, &entry, 8);
		}
	}
}

static void make_counters(struct state *s, struct ccs_dev_call *c, uint64_t epoch)
{
	size_t n = (size_t)s->tables.nworkers * s->replicas_max * CCS_DEV_LINE;

	c->done = emu_alloc(n * sizeof(uint64_t));
	c->epoch = emu_alloc(n * sizeof(uint64_t));
	for (uint32_t w = 0; w < s->tables.nworkers; w++)
		for (uint32_t r = 0; r < s->replicas_max; r++) {
			size_t at = ((size_t)w * s->replicas_max + r) * CCS_DEV_LINE;
			c->done[at] = epoch * c->workers[w].count;
			c->epoch[at] = epoch;
		}
}

/* Counters begin where 32 or 64 bits are about to run over, for FIFOs with a few
 * messages a tile. */
static uint64_t choose_epoch(void)
{
	uint64_t near = emu_random(6), by = 1 + emu_random(8);

	switch (emu_random(5)) {
	case 0: return (UINT64_C(1) << 32) / by - near;
	case 1: return (UINT64_C(1) << 31) / by - near;
	case 2: return UINT64_MAX / by - near;
	case 3: return UINT64_MAX - near;
	default: return 0;
	}
}

static bool all_inout(const struct ccs_module *m)
{
	for (uint32_t i = 0; i < m->nbuffers; i++)
		if (m->buffers[i].direction != CCS_INOUT)
			return false;
	return true;
}

/* Parts without a gap: the first ranks' are drawn, so that each has one at least. */
static void choose_parts(struct state *s)
{
	uint32_t n = s->v->plan->nranks, most = n < 4 ? n : 4;
	bool one = s->mode == SIDES || s->mode == BUSY || s->mode == LATE || s->mode == UNSTAGED ||
		   s->mode == TWICE;

	s->nparts = one || emu_random(2) ? 1 : 1 + emu_random(most);
	if (s->mode == NEAR)
		s->nparts = most;
	for (uint32_t r = 0; r < n; r++)
		s->part_of[r] = r < s->nparts ? (r + 1) % s->nparts : emu_random(s->nparts);
}

/* Whether its message goes by no slot, in calls that are direct and not divided. */
static bool is_unstaged(const struct state *s, const struct ccs_dev_op *o)
{
	bool initial = (o->form & (CCS_DEV_A_INITIAL | CCS_DEV_DST)) == CCS_DEV_A_INITIAL;

	if (o->form & CCS_DEV_OUT_DIRECT)
		return true;
	if (!(o->form & CCS_DEV_OUT_READ) || (initial && emu_op == CCS_DEV_PREMUL))
		return false;
	return !(o->form & CCS_DEV_OUT_APART) || !s->in_place;
}

/* Proof that direct messages, and those that are read in cells, go by no slot: FIFOs that have no
 * others get none. */
static void drop_slots(struct state *s)
{
	const struct ccs_dev_worker *w =
		(const struct ccs_dev_worker *)(const void *)(s->tables.bytes + s->tables.workers);
	const struct ccs_dev_op *ops =
		(const struct ccs_dev_op *)(const void *)(s->tables.bytes + s->tables.ops);
	struct ccs_dev_fifo *f = cuda_tables_fifos(&s->tables);

	for (uint32_t i = 0; i < s->tables.nfifos; i++) {
		uint32_t direct = 0;

		for (uint32_t x = 0; x < s->tables.nworkers; x++)
			for (const struct ccs_dev_op *o = ops + w[x].op;
			     o < ops + w[x].op + w[x].nops; o++)
				direct += o->out == i && o->form & CCS_DEV_OUT && is_unstaged(s, o);
		if (!direct || direct != f[i].messages)
			continue;
		f[i].data = NULL;
		s->unstaged++;
	}
}

/* Control: messages that lie in cells of their senders are read there, whatever the plan says. */
static void reads_late(struct ccs_dev_op *o, struct ccs_dev_op *q)
{
	bool stored = o->form & CCS_DEV_DST;

	if (o->form & CCS_DEV_OUT_DIRECT || (!stored && o->form & (CCS_DEV_IN | CCS_DEV_B)))
		return;
	o->form |= CCS_DEV_OUT_READ;
	q->form |=
		CCS_DEV_IN_READ | (!stored && o->form & CCS_DEV_A_INITIAL ? CCS_DEV_IN_INITIAL : 0);
	o->form &= ~CCS_DEV_OUT_APART;
	q->form &= ~CCS_DEV_IN_APART;
	q->origin = stored ? o->dst : o->a;
}

/* Control: messages that a receiver stores as they come are direct, whatever the
 * plan says of the cells. The pairs of both controls are found by the number in the FIFO. */
static void force(struct state *s)
{
	const struct ccs_dev_worker *w =
		(const struct ccs_dev_worker *)(const void *)(s->tables.bytes + s->tables.workers);
	struct ccs_dev_op *ops = (struct ccs_dev_op *)(void *)(s->tables.bytes + s->tables.ops);
	const uint32_t staged = CCS_DEV_TO_STAGE | CCS_DEV_FROM_STAGE;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->tables.nworkers; i++)
		n += w[i].nops;
	for (struct ccs_dev_op *o = ops; o < ops + n; o++)
		for (struct ccs_dev_op *q = ops; q < ops + n; q++) {
			const uint32_t parts = CCS_DEV_IN | CCS_DEV_A | CCS_DEV_B | CCS_DEV_DST;

			if (!(o->form & CCS_DEV_OUT) || !(q->form & CCS_DEV_IN) ||
			    (o->form | q->form) & staged || o->out != q->in ||
			    o->out_seq != q->in_seq || o->n != q->n)
				continue;
			if (s->mode == LATE)
				reads_late(o, q);
			if (s->mode == LATE || (q->form & parts) != (CCS_DEV_IN | CCS_DEV_DST))
				continue;
			o->form &= ~(CCS_DEV_OUT_READ | CCS_DEV_OUT_APART);
			q->form &= ~(CCS_DEV_IN_READ | CCS_DEV_IN_APART);
			o->remote = q->dst;
			o->form |= CCS_DEV_OUT_DIRECT;
			q->form |= CCS_DEV_IN_DIRECT;
		}
}

bool state_make(struct state *s, struct ccs_module *m, struct plan_view *v,
		const struct emu_kernel *kernel, enum mode mode)
{
	const struct prep *p = prep_get(m, v);
	uint64_t epoch = choose_epoch();
	uint32_t *abort_flag;

	*s = (struct state){
		.m = m, .v = v, .kernel = kernel, .mode = mode, .ll = emu_proto == CCS_DEV_LL
	};
	s->esize = ccs_dtype_size((ccs_dtype)emu_type);
	choose_parts(s);
	if (!p ||
	    cuda_tables_make(&s->tables, m, v, p, s->nparts > 1 ? s->part_of : NULL) != CCS_OK)
		return false;
	if (mode == BUSY || mode == LATE)
		force(s);
	s->replicas_max = 1 + emu_random(2);
	s->threads = 4 + emu_random(2) * 3;
	s->in_place = all_inout(m) && emu_random(2);
	s->shifted = emu_random(3) == 0;
	make_fifos(s, epoch, 4);
	if (mode == UNSTAGED)
		drop_slots(s);
	cuda_tables_brief(&s->tables);
	s->turn = emu_alloc(2 * sizeof(uint64_t));
	abort_flag = emu_alloc(sizeof(uint32_t));
	for (uint32_t i = 0; i < s->nparts; i++) {
		struct ccs_dev_call *c = s->part + i;
		uint8_t *copy = emu_alloc(s->tables.size);

		memcpy(copy, s->tables.bytes, s->tables.size);
		cuda_tables_bind(&s->tables, copy, c);
		make_counters(s, c, epoch);
		c->abort = abort_flag;
		c->report = emu_alloc(CCS_DEV_REPORTS * sizeof(struct ccs_dev_report));
		c->stage = s->tables.stage_cells
				   ? emu_alloc(s->tables.stage_cells * s->replicas_max * 4 * 16)
				   : NULL;
		c->worker0 = s->tables.part_worker[i];
		c->nworkers = s->tables.part_worker[i + 1] - c->worker0;
		c->replicas_max = s->replicas_max;
		c->far = s->nparts > 1 && mode != NEAR;
	}
	return true;
}

/* ---- a call ------------------------------------------------------------------------------ */

static void *room(size_t n, size_t each)
{
	return emu_alloc(n * each + 16);
}

/* Cells of one number (plan.h, sizes) are equally long; of a few numbers at least, with nothing. */
static void choose_lengths(const struct state *s, struct job *j, uint32_t most)
{
	const struct ccs_plan *p = s->v->plan;
	size_t *of = room(p->sizes.n, sizeof(*of)), *to;
	uint32_t n = 0;

	j->sizes = NULL;
	if (!p->sizes.n)
		return;
	for (uint32_t i = 0; i < p->sizes.n; i++)
		of[i] = emu_random(5) ? emu_random(most) : 0;
	for (uint32_t c = 0; c < p->cells; c++)
		n += s->v->sizes[c] != CCS_NONE;
	j->sizes = room(1, sizeof(*j->sizes) + (size_t)n * p->nranks * sizeof(size_t));
	j->sizes->n = n;
	j->sizes->nrows = p->nranks;
	to = j->sizes->of;
	for (uint64_t i = 0; i < (uint64_t)p->nranks * p->cells; i++)
		if (s->v->sizes[i] != CCS_NONE)
			*to++ = of[s->v->sizes[i]];
}

/* By column: whole matrices, that chunks divide where others of a block have to be as long. */
static void choose_rows(const struct state *s, struct job *j, uint32_t chunks)
{
	bool even = s->m->head->flags & CCS_MODULE_EVEN_COUNTS;

	j->rows = 0;
	if (!(s->m->head->flags & CCS_MODULE_BY_COLUMN))
		return;
	j->rows = emu_random(6);
	for (uint32_t i = 0; i < s->m->nbuffers; i++)
		even |= !s->m->buffers[i].by_column && s->v->shapes[i].chunks > 1;
	j->call.count = j->rows ? j->call.count / j->rows : 0;
	j->call.count -= even ? j->call.count % chunks : 0;
	j->call.count *= j->rows;
}

static struct cells_call cells_of(const struct state *s, const struct job *j)
{
	return (struct cells_call){ s->m, s->v, j->call.count, j->rows, j->sizes };
}

/* As the engine does. */
static void place_cells(const struct state *s, struct job *j)
{
	const struct cells_call c = cells_of(s, j);
	size_t each = (size_t)s->v->plan->cells + s->v->plan->scratch;
	size_t n = j->sizes ? s->v->plan->nranks : 1;
	struct cell_at *at = room(n * each, sizeof(*at));

	for (uint32_t r = 0; r < n; r++)
		cells_place(&c, r, j->call.longest, at + r * each);
	j->call.places = (const struct ccs_dev_place *)(const void *)at;
	j->call.rank_places = n > 1 ? each : 0;
}

static bool count_elements(const struct state *s, struct job *j)
{
	bool ok = true;

	for (uint32_t r = 0; r < s->v->plan->nranks && ok; r++)
		ok = module_sizes(s->m, s->v, j->call.count,
				  j->sizes ? j->sizes->of + (size_t)r * j->sizes->n : NULL,
				  j->nsend + r, j->nrecv + r) == CCS_OK;
	return ok;
}

static uint32_t most_chunks(const struct state *s)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < s->m->nbuffers; i++)
		if (s->v->shapes[i].chunks > most)
			most = s->v->shapes[i].chunks;
	return most;
}

static void choose_lengths_and_count(const struct state *s, struct job *j, uint32_t lanes)
{
	struct ccs_dev_call *c = &j->call;
	uint32_t most = most_chunks(s);
	struct cells_call cells;

	c->count = emu_random(4) ? emu_random(most * lanes * 6) : emu_random(8);
	if (s->m->head->flags & CCS_MODULE_EVEN_COUNTS)
		c->count -= c->count % most;
	choose_rows(s, j, most);
	choose_lengths(s, j, lanes * 6);
	cells = cells_of(s, j);
	c->longest = cells_longest(&cells);
}

static bool choose_sizes(const struct state *s, struct job *j)
{
	struct ccs_dev_call *c = &j->call;
	uint32_t lanes = (uint32_t)(16 / s->esize);
	uint64_t pieces;

	choose_lengths_and_count(s, j, lanes);
	c->tile = (1 + emu_random(4)) * lanes;
	c->replicas = 1 + emu_random(s->replicas_max);
	pieces = (c->longest + c->tile - 1) / c->tile;
	c->ntiles = (pieces + c->replicas - 1) / c->replicas;
	c->ntiles = c->ntiles ? c->ntiles : 1;
	c->longest = (c->longest + lanes - 1) / lanes * lanes;
	c->divide = emu_op == CCS_SUM && s->m->head->flags & CCS_MODULE_REDUCES &&
				    !(s->m->head->flags & CCS_MODULE_MIXED) &&
				    s->mode != UNSTAGED && emu_random(3) == 0
			    ? s->v->plan->nranks
			    : 0;
	c->direct = !s->ll &&
		    (s->mode == BUSY || s->mode == LATE || s->mode == UNSTAGED || emu_random(2));
	place_cells(s, j);
	return count_elements(s, j);
}

/* At any place, whatever the buffers' is. */
static void make_factors(const struct state *s, const struct job *j, uint32_t rank,
			 struct ccs_dev_rank *to)
{
	uint8_t *of;

	write_element((uint8_t *)&to->scalar, j->factors ? 7 : job_factor(j, rank, 0));
	if (!j->factors)
		return;
	of = (uint8_t *)emu_alloc((j->nsend[rank] + 1) * s->esize + 16) + emu_random(2) * s->esize;
	for (size_t i = 0; i < j->nsend[rank]; i++)
		write_element(of + i * s->esize, job_factor(j, rank, i));
	to->factors = of;
}

static void make_buffers(const struct state *s, struct job *j)
{
	struct ccs_dev_call *c = &j->call;
	uint32_t n = s->v->plan->nranks, shift = s->shifted ? (uint32_t)s->esize : 0;
	struct ccs_dev_rank *ranks = c->ranks, *far = NULL;

	if (emu_random(4) == 0)
		c->far_ranks = ranks = far = emu_alloc(n * sizeof(*far));
	else
		c->far_ranks = NULL;
	j->factors = emu_op == CCS_DEV_PREMUL && emu_random(2);
	for (uint32_t r = 0; r < n; r++) {
		j->send[r] = (uint8_t *)emu_alloc(j->nsend[r] * s->esize + GUARD + 16) + shift;
		j->recv[r] =
			s->in_place
				? j->send[r]
				: (uint8_t *)emu_alloc(j->nrecv[r] * s->esize + GUARD + 16) + shift;
		memset(j->recv[r], 0xa5, j->nrecv[r] * s->esize + GUARD);
		memset(j->send[r] + j->nsend[r] * s->esize, 0xa5, GUARD);
		for (size_t i = 0; i < j->nsend[r]; i++)
			write_element(j->send[r] + i * s->esize, job_value(r, i, j->number));
		ranks[r] = (struct ccs_dev_rank){
			.send = j->send[r],
			.recv = j->recv[r],
			.scratch = emu_alloc(s->tables.scratch * c->longest * s->esize + 16),
		};
		make_factors(s, j, r, ranks + r);
	}
}

/* What each part is handed. */
static void make_parts(const struct state *s, struct job *j)
{
	for (uint32_t i = 0; i < s->nparts; i++) {
		struct ccs_dev_call *c = j->part + i;
		const struct ccs_dev_call *own = s->part + i;

		*c = j->call;
		cuda_tables_bind(&s->tables, (const unsigned char *)own->ops - s->tables.ops, c);
		cuda_tables_count(c, j->call.count);
		c->done = own->done;
		c->epoch = own->epoch;
		c->stage = own->stage;
		c->abort = own->abort;
		c->report = own->report;
		c->worker0 = own->worker0;
		c->nworkers = own->nworkers;
		c->replicas_max = own->replicas_max;
		c->far = own->far;
	}
}

bool job_make(const struct state *s, struct job *j, uint32_t number)
{
	j->number = number;
	j->again = false;
	if (!choose_sizes(s, j))
		return false;
	make_buffers(s, j);
	make_parts(s, j);
	return true;
}

void job_again(const struct state *s, struct job *j, const struct job *last, uint32_t number)
{
	*j = *last;
	j->number = number;
	j->again = true;
	make_buffers(s, j);
	make_parts(s, j);
}
