/*
 * Buffers with chunks that are not consecutive parts of equal lengths: `by column`, `sized`.
 *
 * Schedules of each kind, in random shapes (tests/support/layouts.h), as tasks that call together
 * and as some that come one by one, and as processes. And calls that must be refused: on every
 * rank, before anything has moved. On GPUs: tests/cuda/cuda_layouts_test.c.
 *
 * usage: layouts_test [--short] FOLDER; mpirun ... layouts_test --mpi FOLDER: as ranks by MPI
 */
#include "runtime/ccs.h"
#include "tests/support/layouts.h"
#include "tests/support/make_module.h"
#include "tests/support/team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANARY = 0xa5 };

/* ---- tasks --------------------------------------------------------------------------------- */

struct caller {
	const struct ccs_module *m;
	const struct shape *s;
	struct buffers *b;
	struct ccs_comm *comm;
	ccs_status status;
};

static void *caller_run(void *of)
{
	struct caller *c = of;

	c->status = shape_call(c->m, c->s, c->b, c->comm);
	return NULL;
}

static ccs_status call_together(struct caller *c, int n)
{
	ccs_group_start();
	for (int r = 0; r < n; r++)
		caller_run(c + r);
	return ccs_group_end();
}

/* Each from a thread, so that the first to call begin. */
static ccs_status call_apart(struct caller *c, int n)
{
	pthread_t threads[MOST];
	ccs_status s = CCS_OK;

	for (int r = 0; r < n; r++)
		pthread_create(threads + r, NULL, caller_run, c + r);
	for (int r = 0; r < n; r++) {
		pthread_join(threads[r], NULL);
		s = c[r].status ? c[r].status : s;
	}
	return s;
}

static bool tasks_right(const struct ccs_module *m, const struct shape *s, struct ccs_comm **comm,
			bool together)
{
	struct buffers b[MOST] = { 0 };
	struct caller c[MOST];
	bool ok = true;

	for (int r = 0; r < s->n; r++) {
		ok &= buffers_make(b + r, m, s, r);
		c[r] = (struct caller){ m, s, b + r, comm[r], CCS_OK };
	}
	ok = ok &&
	     is(together ? call_together(c, s->n) : call_apart(c, s->n), CCS_OK, NULL, "call");
	for (int r = 0; r < s->n; r++) {
		ok = ok && buffers_right(b + r, m, s, r);
		buffers_free(b + r);
	}
	return ok;
}

/* ---- processes ----------------------------------------------------------------------------- */

struct book {
	struct ccs_module *modules[NSUBJECTS];
	struct made bytes[NSUBJECTS]; /* theirs */
	int shapes;
};

static bool member_right(struct member *m, const struct ccs_module *module, const struct shape *s,
			 bool shared)
{
	struct buffers b = { .shared = shared ? m->comm : NULL };
	bool ok = buffers_make(&b, module, s, m->rank);

	ok = ok && is(shape_call(module, s, &b, m->comm), CCS_OK, NULL, "call");
	ok = ok && buffers_right(&b, module, s, m->rank);
	buffers_free(&b);
	return ok;
}

/* The member has joined. */
static bool member_shapes(struct member *m)
{
	const struct book *book = m->of;
	struct rng g = { 77 };
	bool ok = true;

	for (int i = 0; i < NSUBJECTS; i++)
		for (int k = 0; ok && k < book->shapes; k++) {
			struct shape s = shape_draw(subjects + i, book->modules[i], &g, m->n);

			ok = member_right(m, book->modules[i], &s, k % 2);
			if (!ok)
				printf("# %s, rank %d: %zu elements in %zu rows\n",
				       subjects[i].file, m->rank, s.count, s.rows);
		}
	return ok;
}

static bool member_all(struct member *m)
{
	return member_joins(m) && member_shapes(m);
}

/* ---- suites -------------------------------------------------------------------------------- */

static struct ccs_module *made(const char *folder, const char *name, struct made *bytes)
{
	char file[512];
	struct make what = { .file = file, .least = LEAST, .most = MOST, .slots = 8 };
	struct ccs_module *m = NULL;

	snprintf(file, sizeof(file), "%s/%s.ccs", folder, name);
	if (make_module(&what, bytes) != MADE || ccs_module_open(&m, bytes->bytes, bytes->len))
		printf("# %s cannot be made\n", file);
	return m;
}

static bool test_tasks(const struct book *book, const struct subject *x, bool together)
{
	const struct ccs_module *m = book->modules[x - subjects];
	struct rng g = { (uint64_t)(x - subjects) + 1 };
	bool ok = true;

	for (int n = LEAST; n <= MOST; n++) {
		struct ccs_comm *comm[MOST];

		ccs_comm_init_all(comm, n);
		for (int i = 0; ok && i < book->shapes; i++) {
			struct shape s = shape_draw(x, m, &g, n);

			ok = tasks_right(m, &s, comm, together);
			if (!ok)
				printf("# %d ranks, %zu elements in %zu rows\n", n, s.count,
				       s.rows);
		}
		for (int r = 0; r < n; r++)
			ccs_comm_free(comm[r]);
	}
	return say(ok, "%s, tasks that call %s", x->file, together ? "together" : "one by one");
}

static bool refused(const struct ccs_module *m, struct shape s, ccs_status want, const char *text)
{
	unsigned char memory[4096];
	struct buffers b = { .at = { memory, memory + 2048 } };
	struct ccs_comm *comm[MOST];
	bool ok;

	memset(memory, CANARY, sizeof(memory));
	ccs_comm_init_all(comm, s.n);
	ok = says(shape_call(m, &s, &b, comm[0]), want, text, text);
	for (size_t i = 0; i < sizeof(memory); i++)
		ok &= memory[i] == CANARY;
	for (int r = 0; r < s.n; r++)
		ccs_comm_free(comm[r]);
	return ok;
}

static bool test_refused(const struct book *book)
{
	const struct ccs_module *sums = book->modules[SUM_COLUMNS],
				*shifted = book->modules[SHIFT_COLUMNS];
	struct shape s = { .n = 2, .of = subjects, .count = 12, .type = CCS_INT32 };
	bool ok = refused(sums, s, CCS_EINVAL, "pass its number of rows");

	s.rows = 5;
	ok &= refused(sums, s, CCS_EINVAL, "12 elements is not a matrix of 5 rows");
	s.rows = 0;
	s.of = subjects + EXCHANGE_SIZED;
	ok &= refused(book->modules[EXCHANGE_SIZED], s, CCS_EINVAL, "count must be 0, not 12");
	s.rows = 6;
	ok &= refused(shifted, s, CCS_EINVAL, "number of columns must be a multiple of 3, not 2");
	return ok;
}

/* Ranks that say different numbers of rows. */
static bool test_differ(const struct book *book)
{
	const struct ccs_module *m = book->modules[SUM_COLUMNS];
	struct shape s[2] = { { .n = 2, .of = subjects, .count = 12, .rows = 2 },
			      { .n = 2, .of = subjects, .count = 12, .rows = 3 } };
	struct buffers b[2] = { 0 };
	struct ccs_comm *comm[2];
	bool ok = true;

	ccs_comm_init_all(comm, 2);
	ccs_group_start();
	for (int r = 0; r < 2; r++)
		if (buffers_make(b + r, m, s + r, r))
			shape_call(m, s + r, b + r, comm[r]);
	ok = says(ccs_group_end(), CCS_EINVAL, "2 rows; rank 1 calls sum_columns", "other rows");
	for (int r = 0; r < 2; r++) {
		buffers_free(b + r);
		ccs_comm_free(comm[r]);
	}
	return ok;
}

/* ---- sizes that contradict one another ----------------------------------------------------- */

/* The member has joined. */
static bool contradicts(struct member *m)
{
	const struct ccs_module *module = ((const struct book *)m->of)->modules[EXCHANGE_SIZED];
	struct shape s = shape_contradicting(module, m->rank);
	struct buffers b = { 0 };
	bool ok = buffers_make(&b, module, &s, m->rank);

	ok = ok &&
	     is(shape_call(module, &s, &b, m->comm), CCS_EINVAL, shape_contradicts, "wrong sizes");
	ok = ok && buffers_unwritten(&b, s.type);
	buffers_free(&b);
	/* and goes on */
	s.sizes[1][2] = 6;
	b = (struct buffers){ 0 };
	ok = ok && member_right(m, module, &s, false);
	return ok;
}

static bool member_contradicts(struct member *m)
{
	return member_joins(m) && contradicts(m);
}

static bool tasks_contradict(const struct book *book)
{
	const struct ccs_module *m = book->modules[EXCHANGE_SIZED];
	struct shape s[3];
	struct buffers b[3] = { 0 };
	struct caller c[3];
	struct ccs_comm *comm[3];
	bool ok = true;

	ccs_comm_init_all(comm, 3);
	for (int r = 0; r < 3; r++) {
		s[r] = shape_contradicting(m, r);
		ok &= buffers_make(b + r, m, s + r, r);
		c[r] = (struct caller){ m, s + r, b + r, comm[r], CCS_OK };
	}
	ok &= is(call_apart(c, 3), CCS_EINVAL, NULL, "wrong sizes");
	for (int r = 0; r < 3; r++)
		ok &= c[r].status == CCS_EINVAL && buffers_unwritten(b + r, s[r].type);
	ok &= is(call_together(c, 3), CCS_EINVAL, shape_contradicts, "wrong sizes");
	for (int r = 0; r < 3; r++)
		buffers_free(b + r);
	s[1].sizes[1][2] = 6;
	ok &= tasks_right(m, s + 1, comm, true);
	for (int r = 0; r < 3; r++)
		ccs_comm_free(comm[r]);
	return ok;
}

/* ---- by MPI: each process is a rank --------------------------------------------------------- */

static bool by_mpi(struct book *book)
{
	struct member m = { .of = book };
	bool ok = is(ccs_comm_init_mpi(&m.comm), CCS_OK, NULL, "ccs_comm_init_mpi");

	if (!ok)
		return false;
	m.rank = ccs_comm_rank(m.comm);
	m.n = ccs_comm_size(m.comm);
	ok = member_shapes(&m) && (m.n != 3 || contradicts(&m));
	ok = !ccs_comm_agree(m.comm, ok ? CCS_OK : ccs_error_set(CCS_EINVAL, "wrong"));
	if (!m.rank || !ok)
		say(ok, "all, %d processes of MPI", m.n);
	ccs_comm_free(m.comm);
	return ok;
}

/* The numbers of one chunk's sizes, by their place in the schedule's table; `of` has the numbers
 * found so far. */
static bool number_right(const struct ccs_module *m, const struct subject *x, int plan,
			 const struct ccs_buffer_info *b, int buffer, int rank, uint32_t chunk,
			 uint32_t of[MOST * MOST])
{
	uint32_t number, *at;
	ccs_status s = ccs_module_size_number(m, plan, rank, b->first + chunk, &number);

	at = of + table_place(x, buffer, rank, chunk);
	if (s || (*at != UINT32_MAX && *at != number))
		return false;
	*at = number;
	return true;
}

/* Two chunks have one number if, and only if, the schedule names one place of its table for both. */
static bool numbers_right(const struct ccs_module *m, const struct subject *x, int n)
{
	int plan = ccs_module_find(m, n, 0);
	uint32_t of[MOST * MOST];
	struct ccs_buffer_info b;
	bool ok = true, any = false;

	memset(of, 0xff, sizeof(of));
	for (int i = 0; i < 2 && x->sizes[i] && !ccs_module_buffer(m, plan, i, &b); i++)
		for (uint32_t c = 0; c < b.chunks * b.blocks; c++)
			for (int r = 0; r < n; r++)
				ok &= number_right(m, x, plan, &b, i, r, c, of);
	for (int i = 0; i < MOST * MOST; i++) {
		any |= of[i] != UINT32_MAX;
		for (int k = 0; k < i; k++)
			ok &= of[i] == UINT32_MAX || of[i] != of[k];
	}
	return ok && any == (x->sizes[0] != NULL);
}

static bool test_numbers(const struct book *book)
{
	uint32_t number;
	bool ok = true;

	for (int i = 0; i < NSUBJECTS; i++)
		for (int n = LEAST; n <= MOST; n++)
			ok &= numbers_right(book->modules[i], subjects + i, n);
	ok &= is(ccs_module_size_number(book->modules[SUM_COLUMNS], 0, 0, 0, &number), CCS_EINVAL,
		 "is not `sized`", "a chunk by column");
	ok &= is(ccs_module_size_number(book->modules[EXCHANGE_SIZED], 0, 9, 0, &number),
		 CCS_EINVAL, "no rank 9", "a rank");
	ok &= is(ccs_module_size_number(book->modules[EXCHANGE_SIZED], 0, 0, 99, &number),
		 CCS_EINVAL, "no chunk 99", "a chunk");
	ok &= is(ccs_module_size_number(book->modules[EXCHANGE_SIZED], 0, 0, 0, NULL), CCS_EINVAL,
		 "NULL", "no place");
	return say(ok, "which chunks must be equally long");
}

static void suites(struct book *book, bool *ok)
{
	*ok &= test_numbers(book);
	for (int i = 0; i < NSUBJECTS; i++) {
		*ok &= test_tasks(book, subjects + i, true);
		*ok &= test_tasks(book, subjects + i, false);
	}
	for (int n = LEAST; n <= MOST; n += MOST - LEAST)
		*ok &= say(team_run(n, member_all, book), "all, %d processes", n);
	*ok &= test_refused(book);
	*ok &= test_differ(book);
	*ok &= say(tasks_contradict(book), "sizes that contradict one another, tasks");
	*ok &= say(team_run(3, member_contradicts, book), "... processes");
}

int main(int argc, char **argv)
{
	bool brief = argc > 1 && !strcmp(argv[1], "--short"), ok = true;
	bool mpi = argc > 1 && !strcmp(argv[1], "--mpi");
	struct book book = { .shapes = brief || mpi ? 10 : 30 };

	if (argc != 2 + brief + mpi) {
		fprintf(stderr, "usage: layouts_test [--short | --mpi] FOLDER\n");
		return 2;
	}
	for (int i = 0; i < NSUBJECTS; i++) {
		book.modules[i] = made(argv[argc - 1], subjects[i].file, book.bytes + i);
		if (!book.modules[i])
			return say(false, "%s", subjects[i].file), 1;
	}
	if (mpi)
		ok = by_mpi(&book);
	else
		suites(&book, &ok);
	for (int i = 0; i < NSUBJECTS; i++) {
		ccs_module_free(book.modules[i]);
		free(book.bytes[i].bytes);
	}
	return !ok;
}
