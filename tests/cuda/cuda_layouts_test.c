/*
 * Buffers `by column` and `sized` on GPUs, against a driver and an NCCL of our own
 * (tests/fake_cuda, tests/fake_nccl), which find cells by the table that the call hands them: in
 * one process on several GPUs, and as processes, on one host and on several. Shapes, and what is
 * right, are the CPU's (tests/support/layouts.h).
 *
 * usage: cuda_layouts_test devices|processes|hosts FOLDER
 *        (of modules; tests/cuda/cuda_places_test.sh and tests/hosts/hosts_test.sh do that)
 */
#include "runtime/cuda/gpu_comm.h"
#include "tests/support/layouts.h"
#include "tests/support/named_module.h"
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SHAPES = 8, AGAIN = 70 /* as many tables as are kept, and more */ };

struct book {
	struct ccs_module *modules[NSUBJECTS];
};

static bool load(struct book *b, const char *folder)
{
	for (int i = 0; i < NSUBJECTS; i++)
		if (!named_module_loads(b->modules + i, folder, subjects[i].file))
			return say(false, "%s is a module", subjects[i].file);
	return true;
}

static void unload(struct book *b)
{
	for (int i = 0; i < NSUBJECTS; i++)
		ccs_module_free(b->modules[i]);
}

static struct buffers on_gpu_of(const struct ccs_comm *comm)
{
	return (struct buffers){ .gpu = gpu_cuda_of(comm->world, ccs_comm_rank(comm)) };
}

/* ---- one process ----------------------------------------------------------------------------- */

static ccs_status group(const struct ccs_module *m, const struct shape *shapes, struct buffers *b,
			struct ccs_comm **comm, int n)
{
	ccs_group_start();
	for (int r = 0; r < n; r++)
		shape_call(m, shapes + r, b + r, comm[r]);
	return ccs_group_end();
}

/* Calls of one shape, of which each rank gives its own. */
static bool shapes_right(const struct ccs_module *m, const struct shape *s, struct ccs_comm **comm)
{
	struct buffers b[MOST];
	struct shape each[MOST];
	bool ok = true;

	for (int r = 0; r < s->n; r++) {
		each[r] = *s;
		b[r] = on_gpu_of(comm[r]);
		ok &= buffers_make(b + r, m, s, r);
	}
	ok = ok && is(group(m, each, b, comm, s->n), CCS_OK, NULL, "call");
	for (int r = 0; r < s->n; r++) {
		ok = ok && buffers_right(b + r, m, s, r);
		buffers_free(b + r);
	}
	return ok && is(ccs_comm_check(comm[0]), CCS_OK, NULL, "check");
}

static bool open_devices(struct ccs_comm **comm, int n)
{
	static const int devices[MOST] = { 0, 0, 1, 2, 1 };

	return is(ccs_comm_init_devices(comm, n, devices), CCS_OK, NULL, "a communicator");
}

static void close_devices(struct ccs_comm **comm, int n)
{
	for (int r = 0; r < n; r++)
		ccs_comm_free(comm[r]);
}

static bool test_subject(const struct book *book, int i)
{
	const struct ccs_module *m = book->modules[i];
	struct rng g = { (uint64_t)i + 1 };
	struct ccs_comm *comm[MOST];
	bool ok = true;

	for (int n = LEAST; n <= MOST && ok; n++) {
		ok = open_devices(comm, n);
		for (int k = 0; ok && k < SHAPES; k++) {
			struct shape s = shape_draw(subjects + i, m, &g, n);

			ok = shapes_right(m, &s, comm);
			if (!ok)
				printf("# %d ranks, %zu elements in %zu rows\n", n, s.count,
				       s.rows);
		}
		close_devices(comm, n);
	}
	return say(ok, "%s, ranks on three GPUs", subjects[i].file);
}

/* Other sizes each time: tables are used again only when nobody reads them any more. */
static bool test_many(const struct book *book)
{
	const struct ccs_module *m = book->modules[EXCHANGE_SIZED];
	struct rng g = { 99 };
	struct ccs_comm *comm[MOST];
	bool ok = open_devices(comm, 3);

	for (int k = 0; ok && k < AGAIN; k++) {
		struct shape s = shape_draw(subjects + EXCHANGE_SIZED, m, &g, 3);

		ok = shapes_right(m, &s, comm);
	}
	close_devices(comm, 3);
	return say(ok, "%d calls of other sizes each", AGAIN);
}

/* Refused on all, before anything moves; and it goes on. */
static bool test_contradictions(const struct book *book)
{
	const struct ccs_module *m = book->modules[EXCHANGE_SIZED];
	struct ccs_comm *comm[MOST];
	struct shape s[3];
	struct buffers b[3];
	bool ok = open_devices(comm, 3);

	for (int r = 0; r < 3; r++) {
		s[r] = shape_contradicting(m, r);
		b[r] = on_gpu_of(comm[r]);
		ok &= buffers_make(b + r, m, s + r, r);
	}
	ok &= is(group(m, s, b, comm, 3), CCS_EINVAL, shape_contradicts, "wrong sizes");
	for (int r = 0; r < 3; r++) {
		ok &= buffers_unwritten(b + r, s[r].type);
		buffers_free(b + r);
	}
	ok &= shapes_right(m, s, comm); /* rank 0's are right */
	close_devices(comm, 3);
	return say(ok, "sizes that contradict one another, on GPUs");
}

/* ---- processes ------------------------------------------------------------------------------- */

struct scene {
	const struct book *book;
	bool hosts;
	ccs_unique_id id;
	int n;
	bool *right; /* [n], shared */
};

static bool rank_right(const struct ccs_module *m, const struct shape *s, struct ccs_comm *comm,
		       int rank)
{
	struct buffers b = on_gpu_of(comm);
	bool ok = buffers_make(&b, m, s, rank);

	ok = ok && is(shape_call(m, s, &b, comm), CCS_OK, NULL, "call");
	ok = ok && buffers_right(&b, m, s, rank);
	buffers_free(&b);
	return ok;
}

static bool contradicts(const struct ccs_module *m, struct ccs_comm *comm, int rank)
{
	struct shape s = shape_contradicting(m, rank), right = shape_contradicting(m, 0);
	struct buffers b = on_gpu_of(comm);
	bool ok = buffers_make(&b, m, &s, rank);

	ok = ok && is(shape_call(m, &s, &b, comm), CCS_EINVAL, shape_contradicts, "wrong sizes");
	ok = ok && buffers_unwritten(&b, s.type);
	buffers_free(&b);
	return ok && rank_right(m, &right, comm, rank);
}

static bool play(const struct scene *s, struct ccs_comm *comm, int rank)
{
	struct rng g = { 77 };
	bool ok = strcmp(ccs_comm_engine(comm), s->hosts ? "hosts" : "cuda") == 0;

	for (int i = 0; i < NSUBJECTS; i++)
		for (int k = 0; ok && k < SHAPES; k++) {
			const struct ccs_module *m = s->book->modules[i];
			struct shape x = shape_draw(subjects + i, m, &g, s->n);

			ok = rank_right(m, &x, comm, rank);
			if (!ok)
				printf("# %s, rank %d: %zu elements in %zu rows\n",
				       subjects[i].file, rank, x.count, x.rows);
		}
	return ok && (s->n != 3 || contradicts(s->book->modules[EXCHANGE_SIZED], comm, rank)) &&
	       is(ccs_comm_check(comm), CCS_OK, NULL, "check");
}

static int act(void *of, int rank)
{
	struct scene *s = of;
	struct ccs_comm *comm;

	alarm(100);
	if (s->hosts)
		process_on_host(rank);
	if (!is(ccs_comm_init_rank(&comm, s->n, &s->id, rank, s->hosts ? 0 : rank), CCS_OK, NULL,
		"a communicator"))
		return 0;
	s->right[rank] = play(s, comm, rank);
	ccs_comm_free(comm);
	return 0;
}

static bool test_processes(const struct book *book, bool hosts, int n)
{
	struct scene s = { .book = book, .hosts = hosts, .n = n };
	bool ok = is(ccs_get_unique_id(&s.id), CCS_OK, NULL, "an id");

	s.right = processes_share(MOST * sizeof(*s.right));
	ok = ok && processes_run(n, act, &s);
	for (int r = 0; r < n; r++)
		ok &= s.right[r];
	munmap(s.right, MOST * sizeof(*s.right));
	return say(ok, "all, %d processes%s", n, hosts ? " on as many hosts" : "");
}

int main(int argc, char **argv)
{
	struct book book;
	bool ok = argc == 3 && load(&book, argv[2]);

	if (!ok)
		return 2;
	if (!strcmp(argv[1], "devices")) {
		for (int i = 0; i < NSUBJECTS; i++)
			ok &= test_subject(&book, i);
		ok &= test_many(&book);
		ok &= test_contradictions(&book);
	} else {
		for (int n = 2; n <= MOST; n = n == 2 ? 3 : n + 2)
			ok &= test_processes(&book, !strcmp(argv[1], "hosts"), n);
	}
	unload(&book);
	return !ok;
}
