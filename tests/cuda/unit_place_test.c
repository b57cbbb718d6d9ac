/*
 * cuda/place.c: parts, what fits on them, and where the FIFOs of a plan lie. Pure.
 */
#include "runtime/cuda/place.h"
#include "runtime/cuda/device/args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LINE (CCS_DEV_LINE * sizeof(uint64_t))

static void reach(struct places *p, uint32_t a, uint32_t b)
{
	p->reach[a * p->nparts + b] = true;
}

/* ---- parts ------------------------------------------------------------------------ */

static void test_parts(void **state)
{
	static const int seats[] = { 7, 3, 7, 0, 3, 7 };
	static const uint32_t want[] = { 0, 1, 0, 2, 1, 0 };
	struct places p;

	(void)state;
	assert_true(places_make(&p, 6, seats));
	assert_int_equal(p.nranks, 6);
	assert_int_equal(p.nparts, 3);
	assert_memory_equal(p.part_of, want, sizeof(want));
	for (uint32_t a = 0; a < 3; a++)
		for (uint32_t b = 0; b < 3; b++)
			assert_int_equal(places_meet(&p, a, b), a == b);
	reach(&p, 0, 1);
	assert_false(places_meet(&p, 0, 1)); /* one way is none */
	assert_false(places_meet(&p, 1, 0));
	reach(&p, 1, 0);
	assert_true(places_meet(&p, 0, 1));
	assert_true(places_meet(&p, 1, 0));
	assert_int_equal(places_hosts(&p), 1);
	p.host_of[2] = 2;
	assert_int_equal(places_hosts(&p), 2);
	p.host_of[0] = 2;
	assert_int_equal(places_hosts(&p), 2);
	p.host_of[0] = 1;
	assert_int_equal(places_hosts(&p), 3);
	places_free(&p);
}

static void test_workers(void **state)
{
	static const int seats[] = { 1, 0, 1, 0 };
	static const struct ccs_rank ranks[] = { { 0, 0 }, { 2, 0 }, { 2, 0 }, { 7, 0 }, { 8, 0 } };
	uint32_t workers[2] = { 99, 99 };
	struct places p;

	(void)state;
	assert_true(places_make(&p, 4, seats));
	place_workers(&p, ranks, workers);
	assert_int_equal(workers[0], 2 + 5);
	assert_int_equal(workers[1], 1 + 1); /* rank 1 has none: one all the same */
	places_free(&p);
}

/* ---- blocks ------------------------------------------------------------------------ */

static void test_fit(void **state)
{
	struct place_room r[2] = {
		{ { 200, 400, 800, 1600 }, { 256, 128, 64, 32 }, 0, "" },
		{ { 20, 40, 80, 160 }, { 256, 128, 64, 32 }, 0, "" },
	};
	uint32_t workers[2] = { 8, 4 }, try = 9, part = 9;
	uint64_t replicas = 0;

	(void)state;
	assert_true(place_fit(r, workers, 2, &try, &replicas, &part));
	assert_int_equal(try, 0);
	assert_int_equal(replicas, 5); /* the second has room for 5, the first for 25 */
	workers[1] = 80;
	assert_true(place_fit(r, workers, 2, &try, &replicas, &part));
	assert_int_equal(try, 2);
	assert_int_equal(replicas, 1);
	workers[0] = 1700;
	workers[1] = 161;
	assert_false(place_fit(r, workers, 2, &try, &replicas, &part));
	assert_int_equal(part, 0); /* it lacks 100, the other one */
	assert_int_equal(try, 3);
	workers[0] = 1600;
	assert_false(place_fit(r, workers, 2, &try, &replicas, &part));
	assert_int_equal(part, 1);
	workers[0] = 1700;
	workers[1] = 300; /* it lacks 140, which is more than 100, though it wants less in all */
	assert_false(place_fit(r, workers, 2, &try, &replicas, &part));
	assert_int_equal(part, 1);
	r[0].threads[1] = r[1].threads[1] = 0; /* one number of threads alone is tried */
	workers[0] = 201;
	workers[1] = 1;
	assert_false(place_fit(r, workers, 2, &try, &replicas, &part));
	assert_int_equal(part, 0);
	assert_int_equal(try, 0);
}

/* ---- memory -------------------------------------------------------------------------- */

#define RANKS 5u

/* All pairs of ranks, with messages of 0 to 4 cells. */
static struct ccs_fifo fifos[RANKS * RANKS];

static struct place_need need(void)
{
	for (uint32_t i = 0; i < RANKS * RANKS; i++)
		fifos[i] = (struct ccs_fifo){
			.src = i / RANKS, .dst = i % RANKS, .max_cells = i % 5, .messages = 3
		};
	return (struct place_need){
		.fifos = fifos,
		.nfifos = RANKS * RANKS,
		.slots = 4,
		.replicas = 3,
		.cell_bytes = 1000,
		.tables = 12345,
		.workers = 11,
		.stage_bytes = 77,
		.report_bytes = 80,
	};
}

struct piece {
	uint32_t in;
	uint64_t from, to;
};

static int by_place(const void *x, const void *y)
{
	const struct piece *a = x, *b = y;

	if (a->in != b->in)
		return a->in < b->in ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

/* All that lies in a part or on the host lies inside, and nothing overlaps; between two pieces is
 * less than the 256 bytes that each may be moved up. */
static void check_pieces(const struct place_map *m, const struct places *p,
			 const struct place_need *n)
{
	static struct piece pieces[8 * RANKS + 3 * RANKS * RANKS];
	uint64_t lines = n->workers * n->replicas * LINE;
	size_t k = 0;

	for (uint32_t i = 0; i < p->nparts; i++) {
		pieces[k++] = (struct piece){ i, m->tables, m->tables + n->tables };
		pieces[k++] = (struct piece){ i, m->done, m->done + lines };
		pieces[k++] = (struct piece){ i, m->epoch, m->epoch + lines };
		pieces[k++] = (struct piece){ i, m->stage, m->stage + n->stage_bytes };
		pieces[k++] = (struct piece){ PLACE_HOST, i * m->report,
					      i * m->report + n->report_bytes };
	}
	for (uint64_t i = 0; i < n->nfifos; i++) {
		const struct place_fifo *f = m->fifos + i;
		uint64_t slots = (uint64_t)n->slots * n->replicas;
		uint64_t cells = n->fifos[i].max_cells ? n->fifos[i].max_cells : 1;

		assert_true(f->slot_bytes >= cells * n->cell_bytes);
		assert_true(f->slot_bytes < cells * n->cell_bytes + 256);
		assert_int_equal(f->slot_bytes % 32, 0);
		assert_int_equal(f->data % 16, 0);
		pieces[k++] =
			(struct piece){ f->data_in, f->data, f->data + slots * f->slot_bytes };
		pieces[k++] = (struct piece){ f->data_in, f->head, f->head + n->replicas * LINE };
		pieces[k++] = (struct piece){ f->tail_in, f->tail, f->tail + n->replicas * LINE };
	}
	qsort(pieces, k, sizeof(*pieces), by_place);
	for (size_t i = 0; i < k; i++) {
		uint64_t size = pieces[i].in == PLACE_HOST ? m->host : m->block[pieces[i].in];

		assert_true(pieces[i].to <= size);
		if (i && pieces[i].in == pieces[i - 1].in) {
			assert_true(pieces[i].from >= pieces[i - 1].to);
			assert_true(pieces[i].from < pieces[i - 1].to + 256);
		} else {
			assert_int_equal(pieces[i].from, 0);
		}
		if (i + 1 == k || pieces[i + 1].in != pieces[i].in)
			assert_true(size < pieces[i].to + 256);
	}
}

static void test_map(void **state)
{
	static const int seats[RANKS] = { 0, 1, 2, 1, 0 }; /* parts 0, 1, 2 */
	struct place_need n = need();
	struct place_map m;
	struct places p;

	(void)state;
	assert_true(places_make(&p, RANKS, seats));
	reach(&p, 0, 1);
	reach(&p, 1, 0);
	reach(&p, 2, 1);
	assert_int_equal(place_map_make(&m, &p, &n), PLACE_OK);
	check_pieces(&m, &p, &n);
	for (uint64_t i = 0; i < n.nfifos; i++) {
		uint32_t src = p.part_of[fifos[i].src], dst = p.part_of[fifos[i].dst];
		bool host = src != dst && (src == 2 || dst == 2);

		assert_int_equal(m.fifos[i].data_in, host ? PLACE_HOST : dst);
		assert_int_equal(m.fifos[i].tail_in, host ? PLACE_HOST : src);
	}
	for (uint32_t i = 0; i < 3; i++)
		assert_true(place_far(&m, &p, &n, i));
	place_map_free(&m);
	places_free(&p);
}

static void test_near(void **state)
{
	static const int one[RANKS] = { 4, 4, 4, 4, 4 }, two[RANKS] = { 0, 0, 0, 0, 1 };
	struct place_need n = need();
	struct place_map m;
	struct places p;

	(void)state;
	assert_true(places_make(&p, RANKS, one));
	assert_int_equal(place_map_make(&m, &p, &n), PLACE_OK);
	check_pieces(&m, &p, &n);
	assert_false(place_far(&m, &p, &n, 0));
	assert_int_equal(m.host, m.report);
	place_map_free(&m);
	places_free(&p);

	/* two parts without a FIFO between them */
	for (uint64_t i = 0; i < n.nfifos; i++)
		if ((fifos[i].src == 4) != (fifos[i].dst == 4))
			fifos[i].src = fifos[i].dst;
	assert_true(places_make(&p, RANKS, two));
	assert_int_equal(place_map_make(&m, &p, &n), PLACE_OK);
	check_pieces(&m, &p, &n);
	assert_false(place_far(&m, &p, &n, 0));
	assert_false(place_far(&m, &p, &n, 1));
	assert_int_equal(m.host, 2 * m.report);
	place_map_free(&m);
	places_free(&p);
}

/* One FIFO, between two parts that meet: its ends lie in both, and concern no third. */
static void test_far(void **state)
{
	static const int seats[] = { 0, 1, 2 };
	static const struct ccs_fifo fifo = { .src = 0, .dst = 1, .max_cells = 1, .messages = 1 };
	struct place_need n = {
		.fifos = &fifo, .nfifos = 1, .slots = 1, .replicas = 1, .cell_bytes = 257
	};
	struct place_map m;
	struct places p;

	(void)state;
	n.tables = n.stage_bytes = n.report_bytes = 257; /* one byte more than lines of 256 */
	n.workers = 1;
	assert_true(places_make(&p, 3, seats));
	reach(&p, 0, 1);
	reach(&p, 1, 0);
	assert_int_equal(place_map_make(&m, &p, &n), PLACE_OK);
	check_pieces(&m, &p, &n);
	assert_true(m.report >= 257);
	assert_true(place_far(&m, &p, &n, 0));
	assert_true(place_far(&m, &p, &n, 1));
	assert_false(place_far(&m, &p, &n, 2));
	place_map_free(&m);
	places_free(&p);
}

/* The cells of slots, counted from where the map says that data lies; and of FIFOs that calls use. */
static void test_cells(void **state)
{
	static const int seats[RANKS] = { 0, 1, 2, 1, 0 };
	bool slotted[RANKS * RANKS];
	struct place_need n = need();
	struct place_map m;
	struct places p;

	(void)state;
	assert_true(places_make(&p, RANKS, seats));
	reach(&p, 0, 1);
	reach(&p, 1, 0);
	for (uint64_t used = 0; used < 3; used++) { /* all; every second one; none */
		uint64_t cells[3] = { 0 }, fullest = 0;

		for (uint64_t i = 0; i < n.nfifos; i++)
			slotted[i] = used == 0 || (used == 1 && i % 2);
		n.slotted = used ? slotted : NULL;
		assert_int_equal(place_map_make(&m, &p, &n), PLACE_OK);
		for (uint64_t i = 0; i < n.nfifos; i++)
			if (slotted[i] && m.fifos[i].data_in != PLACE_HOST)
				cells[m.fifos[i].data_in] += fifos[i].max_cells * 4;
		for (uint32_t i = 0; i < 3; i++)
			fullest = cells[i] > fullest ? cells[i] : fullest;
		assert_int_equal(m.fullest, fullest);
		assert_int_equal(fullest != 0, used < 2);
		assert_memory_equal(m.cells, cells, sizeof(cells));
		place_map_free(&m);
	}
	places_free(&p);
}

static void test_too_large(void **state)
{
	static const int seats[RANKS] = { 0, 1, 2, 3, 4 };
	struct place_need n = need();
	struct place_map m;
	struct places p;

	(void)state;
	assert_true(places_make(&p, RANKS, seats));
	n.cell_bytes = UINT64_MAX / 3;
	assert_int_equal(place_map_make(&m, &p, &n), PLACE_TOO_LARGE);
	n.cell_bytes = (uint64_t)PTRDIFF_MAX; /* of one cell, which would be moved up */
	n.nfifos = 1;
	assert_int_equal(place_map_make(&m, &p, &n), PLACE_TOO_LARGE);
	n = need();
	n.slots = 1u << 31;
	n.replicas = UINT32_MAX;
	assert_int_equal(place_map_make(&m, &p, &n), PLACE_TOO_LARGE);
	n = need();
	n.workers = UINT64_MAX / 2;
	assert_int_equal(place_map_make(&m, &p, &n), PLACE_TOO_LARGE);
	n = need();
	n.stage_bytes = (uint64_t)PTRDIFF_MAX + 1;
	assert_int_equal(place_map_make(&m, &p, &n), PLACE_TOO_LARGE);
	places_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts), cmocka_unit_test(test_workers),
		cmocka_unit_test(test_fit),   cmocka_unit_test(test_map),
		cmocka_unit_test(test_near),  cmocka_unit_test(test_far),
		cmocka_unit_test(test_cells), cmocka_unit_test(test_too_large),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
