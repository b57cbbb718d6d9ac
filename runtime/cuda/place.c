/*
 * Placement: the parts of a communicator, what fits on them, and the memory of each FIFO.
 *
 * In: the GPUs of ranks, which GPUs reach which, a plan's FIFOs. Out: numbers only, the same in
 * every process. A part's block of memory has the tables, the counters of workers (room for all
 * workers, because rows are numbered over all parts), stages, the counters of its ends of FIFOs,
 * and the slots of messages that it receives. O(FIFOs + parts); making the parts O(ranks^2).
 */
#include "runtime/cuda/place.h"

#include "runtime/cuda/device/args.h"

#include <stdlib.h>

#define ALIGN ((uint64_t)256)
#define LINE (CCS_DEV_LINE * sizeof(uint64_t))

/* ---- parts ------------------------------------------------------------------------ */

bool places_make(struct places *p, uint32_t nranks, const int *seats)
{
	*p = (struct places){ .nranks = nranks };
	p->part_of = calloc(nranks, sizeof(*p->part_of));
	if (!p->part_of)
		return false;
	for (uint32_t r = 0; r < nranks; r++) {
		uint32_t other = seats ? 0 : r;

		while (other < r && seats[other] != seats[r])
			other++;
		p->part_of[r] = other < r ? p->part_of[other] : p->nparts++;
	}
	p->host_of = calloc(p->nparts, sizeof(*p->host_of));
	p->reach = calloc((size_t)p->nparts * p->nparts, sizeof(*p->reach));
	if (!p->host_of || !p->reach) {
		places_free(p);
		return false;
	}
	for (uint32_t i = 0; i < p->nparts; i++)
		p->reach[(size_t)i * p->nparts + i] = true;
	return true;
}

void places_free(struct places *p)
{
	free(p->part_of);
	free(p->host_of);
	free(p->reach);
	*p = (struct places){ 0 };
}

bool places_meet(const struct places *p, uint32_t a, uint32_t b)
{
	return a == b ||
	       (p->reach[(size_t)a * p->nparts + b] && p->reach[(size_t)b * p->nparts + a]);
}

uint32_t places_hosts(const struct places *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nparts; i++) {
		uint32_t other = 0;

		while (other < i && p->host_of[other] != p->host_of[i])
			other++;
		n += other == i;
	}
	return n;
}

/* ---- blocks ------------------------------------------------------------------------ */

void place_workers(const struct places *p, const struct ccs_rank *ranks, uint32_t *workers)
{
	for (uint32_t i = 0; i < p->nparts; i++)
		workers[i] = 0;
	for (uint32_t r = 0; r < p->nranks; r++) {
		uint32_t has = ranks[r + 1].worker - ranks[r].worker;

		workers[p->part_of[r]] += has ? has : 1;
	}
}

bool place_fit(const struct place_room *rooms, const uint32_t *workers, uint32_t nparts,
	       uint32_t *try, uint64_t *replicas, uint32_t *part)
{
	uint64_t lack, most = 0;

	for (uint32_t t = 0; t < PLACE_TRIES && rooms[0].threads[t]; t++) {
		uint64_t least = UINT64_MAX;

		for (uint32_t i = 0; i < nparts; i++) {
			uint64_t fit = rooms[i].blocks[t] / workers[i];

			least = fit < least ? fit : least;
		}
		*try = t;
		*replicas = least;
		if (least)
			return true;
	}
	*part = 0;
	for (uint32_t i = 0; i < nparts; i++) {
		if (rooms[i].blocks[*try] >= workers[i])
			continue;
		lack = workers[i] - rooms[i].blocks[*try];
		if (lack > most) {
			most = lack;
			*part = i;
		}
	}
	return false;
}

/* ---- memory -------------------------------------------------------------------------- */

/* Sets *from to *at and advances *at by n * each bytes, rounded up to ALIGN; false: overflow. */
static bool add_bytes(uint64_t *at, uint64_t n, uint64_t each, uint64_t *from)
{
	uint64_t bytes;

	*from = *at;
	return !__builtin_mul_overflow(n, each, &bytes) &&
	       !__builtin_add_overflow(bytes, ALIGN - 1, &bytes) &&
	       !__builtin_add_overflow(*at, bytes & ~(ALIGN - 1), at) && *at <= PTRDIFF_MAX;
}

/* The counter of bytes used in a part's block, or in host memory. */
static uint64_t *room_of(struct place_map *m, uint32_t part)
{
	return part == PLACE_HOST ? &m->host : m->block + part;
}

static void choose(struct place_fifo *f, const struct ccs_fifo *from, const struct places *p)
{
	uint32_t src = p->part_of[from->src], dst = p->part_of[from->dst];

	f->data_in = places_meet(p, src, dst) ? dst : PLACE_HOST;
	f->tail_in = f->data_in == PLACE_HOST ? PLACE_HOST : src;
}

/* Counts the cells of a FIFO's slots in the part that holds them. */
static bool count_cells(struct place_map *m, const struct place_need *n, uint64_t fifo)
{
	uint32_t part = m->fifos[fifo].data_in;
	uint64_t cells = (uint64_t)n->slots * n->fifos[fifo].max_cells;

	if (part == PLACE_HOST || (n->slotted && !n->slotted[fifo]))
		return true;
	if (__builtin_add_overflow(m->cells[part], cells, m->cells + part))
		return false;
	if (m->cells[part] > m->fullest)
		m->fullest = m->cells[part];
	return true;
}

static bool place_all(struct place_map *m, const struct places *p, const struct place_need *n)
{
	uint64_t at = 0, lines;

	m->report = (n->report_bytes + ALIGN - 1) & ~(ALIGN - 1);
	m->host = m->report * p->nparts;
	if (__builtin_mul_overflow(n->workers, (uint64_t)n->replicas, &lines) ||
	    !add_bytes(&at, 1, n->tables, &m->tables) || !add_bytes(&at, lines, LINE, &m->done) ||
	    !add_bytes(&at, lines, LINE, &m->epoch) ||
	    !add_bytes(&at, 1, n->stage_bytes, &m->stage))
		return false;
	for (uint32_t i = 0; i < p->nparts; i++)
		m->block[i] = at;
	for (uint64_t i = 0; i < n->nfifos; i++) {
		struct place_fifo *f = m->fifos + i;

		choose(f, n->fifos + i, p);
		if (!add_bytes(room_of(m, f->data_in), n->replicas, LINE, &f->head) ||
		    !add_bytes(room_of(m, f->tail_in), n->replicas, LINE, &f->tail))
			return false;
	}
	for (uint64_t i = 0; i < n->nfifos; i++) {
		struct place_fifo *f = m->fifos + i;
		uint32_t cells = n->fifos[i].max_cells ? n->fifos[i].max_cells : 1;
		uint64_t slots = (uint64_t)n->slots * n->replicas;

		if (__builtin_mul_overflow(cells, n->cell_bytes, &f->slot_bytes) ||
		    f->slot_bytes > PTRDIFF_MAX)
			return false;
		f->slot_bytes = (f->slot_bytes + ALIGN - 1) & ~(ALIGN - 1);
		if (!add_bytes(room_of(m, f->data_in), slots, f->slot_bytes, &f->data) ||
		    !count_cells(m, n, i))
			return false;
	}
	return true;
}

enum place_result place_map_make(struct place_map *m, const struct places *p,
				 const struct place_need *need)
{
	enum place_result r = PLACE_OK;

	*m = (struct place_map){ 0 };
	m->fifos = calloc((size_t)need->nfifos + 1, sizeof(*m->fifos));
	m->block = calloc(p->nparts, sizeof(*m->block));
	m->cells = calloc(p->nparts, sizeof(*m->cells));
	if (!m->fifos || !m->block || !m->cells)
		r = PLACE_NO_MEMORY;
	else if (!place_all(m, p, need))
		r = PLACE_TOO_LARGE;
	if (r != PLACE_OK)
		place_map_free(m);
	return r;
}

void place_map_free(struct place_map *m)
{
	free(m->fifos);
	free(m->block);
	free(m->cells);
	*m = (struct place_map){ 0 };
}

bool place_far(const struct place_map *m, const struct places *p, const struct place_need *need,
	       uint32_t part)
{
	for (uint64_t i = 0; i < need->nfifos; i++) {
		const struct ccs_fifo *f = need->fifos + i;
		bool here = p->part_of[f->src] == part || p->part_of[f->dst] == part;

		if (here && (m->fifos[i].data_in != part || m->fifos[i].tail_in != part))
			return true;
	}
	return false;
}
