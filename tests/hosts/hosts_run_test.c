/*
 * Ranks on several hosts (runtime/hosts/hosts.h): a process a rank, each with a CCS_HOSTID
 * of its own, against a driver and an NCCL of ours (tests/fake_cuda, tests/fake_nccl).
 * Every result is that of the CPU's executor, byte by byte; what goes wrong on one rank
 * is told on all, or ends the communicator.
 *
 * usage: hosts_run_test results N MODULE... | trouble MODULE (for 4 ranks, an allreduce);
 *        tests/hosts/hosts_test.sh does that, with the libraries in LD_LIBRARY_PATH and CCS_NCCL.
 */
#include "runtime/hosts/hosts.h"
#include "tests/support/order.h"
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 9, SAME = 1, PLACINGS = 2, PREMUL = CCS_NREDOPS, LARGE = 201600 };

/* 840 is even for whatever a schedule has. The last is cut into replicas, and tried with
 * sum and average alone. */
static const size_t counts[] = { 1, 13, 840, 1001, 2520, 0, LARGE };
static const ccs_dtype types[] = { CCS_FLOAT32, CCS_INT8, CCS_INT64 };
static const int ops[] = { CCS_SUM, CCS_MAX, CCS_AVG, PREMUL };

/* What a process tells the one that started it. */
struct told {
	int calls, wrong, failed; /* results, calls; wrong: also ranks that did not wait */
	ccs_status status;
	char text[1000];
};

/* What is right, as rank 0 has found it for all. */
struct right {
	pthread_barrier_t all; /* it is there; nobody reads it any more */
	bool takes;	       /* whether the schedule takes such a call */
	unsigned char out[];   /* the ranks', one behind another */
};

struct scene {
	struct ccs_module **m;
	int nm, n;
	ccs_unique_id id;
	struct told *told;   /* [n * nm], shared */
	struct right *right; /* shared */
	struct order *order;
	void (*play)(struct scene *, struct ccs_comm *, int rank);
};

/* ---- one call ------------------------------------------------------------------------ */

struct job {
	struct ccs_module *m;
	int n, rank, root, op;
	ccs_dtype type;
	size_t count, send, recv; /* bytes, the last two */
	int placing;
};

static void put(unsigned char *p, ccs_dtype type, size_t i, int x)
{
	float f = (float)x;
	int64_t l = x;

	if (type == CCS_FLOAT32)
		memcpy(p + 4 * i, &f, sizeof(f));
	else if (type == CCS_INT64)
		memcpy(p + 8 * i, &l, sizeof(l));
	else
		p[i] = (unsigned char)x;
}

/* A rank's factors lie behind its buffers. */
static size_t factors_at(const struct job *j)
{
	return (j->recv + 63) / 64 * 64 + (j->send + 63) / 64 * 64 + 64;
}

/* Both buffers of a rank before a call: the output first, then the input, or one for
 * both. Numbers are so small that no sum of nine leaves a byte. */
static size_t fill(const struct job *j, int rank, unsigned char *p)
{
	size_t size = ccs_dtype_size(j->type);
	size_t in = j->placing == SAME ? 0 : (j->recv + 63) / 64 * 64;

	memset(p, 0x5a, in + (j->recv > j->send ? j->recv : j->send));
	for (size_t i = 0; i < j->send / size; i++)
		put(p + in, j->type, i, (int)((i * 7 + (size_t)rank * 13) % 8) - 2);
	for (size_t i = 0; i < j->send / size; i++)
		put(p + factors_at(j), j->type, i, (int)((i + (size_t)rank) % 4) - 1);
	return in;
}

/* Of even counts premul-sum has a factor for each element, of others one for each rank. */
static ccs_status call(const struct job *j, unsigned char *p, size_t in, struct ccs_comm *c,
		       void *stream)
{
	unsigned char scalar[8] = { 0 };

	if (j->op != PREMUL)
		return ccs_run(j->m, p + in, p, j->count, j->type, (ccs_redop)j->op, j->root, c,
			       stream);
	if (!(j->count % 2))
		return ccs_run_premul_vector(j->m, p + in, p, j->count, j->type, p + factors_at(j),
					     j->root, c, stream);
	put(scalar, j->type, 0, 1 + j->rank % 3);
	return ccs_run_premul(j->m, p + in, p, j->count, j->type, scalar, j->root, c, stream);
}

static size_t room(const struct job *j)
{
	return factors_at(j) + j->send + j->recv + 64;
}

/* On the CPU, all ranks here; true, and what they put out, one behind another, if the
 * schedule takes such a call. */
static bool reference(const struct job *j, unsigned char *out)
{
	struct ccs_comm *cpu[MOST];
	unsigned char *p[MOST];
	ccs_status s = ccs_comm_init_all(cpu, j->n);

	if (s)
		return false;
	ccs_group_start();
	for (int r = 0; r < j->n; r++) {
		p[r] = calloc(room(j), 1);
		s |= call(&(struct job){ .m = j->m,
					 .n = j->n,
					 .rank = r,
					 .root = j->root,
					 .op = j->op,
					 .type = j->type,
					 .count = j->count,
					 .send = j->send,
					 .recv = j->recv,
					 .placing = j->placing },
			  p[r], fill(j, r, p[r]), cpu[r], NULL);
	}
	s |= ccs_group_end();
	for (int r = 0; r < j->n; r++) {
		memcpy(out + (size_t)r * j->recv, p[r], j->recv);
		free(p[r]);
		ccs_comm_free(cpu[r]);
	}
	return !s;
}

/* The fake's device memory is the host's, but it is filled and read by its rules. */
static bool compare(const struct job *j, struct ccs_comm *comm, const unsigned char *want,
		    int stream, struct told *t)
{
	struct cuda *d = gpu_cuda_of(comm->world, j->rank);
	unsigned char *host = calloc(room(j), 1);
	size_t in = fill(j, j->rank, host);
	cuda_stream s = stream ? d->setup : NULL;
	cuda_ptr p = 0;
	bool same = false;
	int mode;

	if (cuda_enter(d, &mode))
		return false;
	if (!cuda_alloc(d, &p, room(j), "a test") && !cuda_upload(d, p, host, room(j), "a test")) {
		t->status = call(j, (unsigned char *)(uintptr_t)p, in, comm, s);
		t->calls++;
		same = !t->status && !cuda_sync(d, s) &&
		       !cuda_download(d, host, p, j->recv, "a test") &&
		       !memcmp(host, want, j->recv);
	}
	cuda_free(d, p);
	cuda_leave(d, mode);
	free(host);
	return same;
}

/* ---- every schedule ------------------------------------------------------------------- */

static void try_job(struct job *j, struct ccs_comm *comm, struct right *right, int number,
		    struct told *t)
{
	if (ccs_module_elements(j->m, j->n, j->count, &j->send, &j->recv))
		return;
	j->send *= ccs_dtype_size(j->type);
	j->recv *= ccs_dtype_size(j->type);
	if (!j->rank)
		right->takes = reference(j, right->out);
	pthread_barrier_wait(&right->all);
	if (right->takes &&
	    !compare(j, comm, right->out + (size_t)j->rank * j->recv, number & 1, t)) {
		if (!t->wrong++)
			snprintf(t->text, sizeof(t->text),
				 "count %zu, %s, operator %d, root %d, "
				 "%s: %.600s",
				 j->count, ccs_dtype_name(j->type), j->op, j->root,
				 j->placing == SAME ? "in place" : "out of place",
				 t->status ? ccs_error() : "a wrong result");
	}
	pthread_barrier_wait(&right->all);
}

static void try_module(const struct scene *s, int i, struct ccs_comm *comm, int rank)
{
	struct ccs_module *m = s->m[i];
	struct told *t = s->told + rank * s->nm + i;
	bool reduces = m->head->flags & CCS_MODULE_REDUCES;
	bool sums = reduces && !(m->head->flags & CCS_MODULE_MIXED);
	bool small = getenv("CCS_TILE_BYTES"); /* thousands of tiles */
	int number = 0, n = s->n;

	for (int root = 0; root < n; root += ccs_module_rooted(m) && n > 1 ? n - 1 : n)
		for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
			for (size_t k = 0; k < sizeof(types) / sizeof(*types); k++)
				for (size_t o = 0; o < (sums ? 4 : reduces ? 2 : 1); o++)
					for (int p = 0; p < PLACINGS; p++) {
						struct job j = { .m = m,
								 .n = n,
								 .rank = rank,
								 .root = root,
								 .op = ops[o],
								 .type = types[k],
								 .count = counts[c],
								 .placing = p };

						if (j.count == LARGE && (o % 2 || p || small))
							continue;
						/* any two of count, type and operator meet; all
						 * three in some module */
						if ((c + k + o + (size_t)i) % 3)
							continue;
						try_job(&j, comm, s->right, number++, t);
					}
}

/* A module without buffers: only its order counts. */
static void try_order(const struct scene *s, int i, struct ccs_comm *comm, int rank)
{
	struct told *t = s->told + rank * s->nm + i;

	t->status = order_try(s->order, s->m[i], comm, &t->wrong);
	t->failed = t->status != CCS_OK;
	t->calls = s->n;
}

static void play_results(struct scene *s, struct ccs_comm *comm, int rank)
{
	for (int i = 0; i < s->nm; i++) {
		if (!ccs_module_has(s->m[i], s->n))
			continue;
		if (s->m[i]->nbuffers)
			try_module(s, i, comm, rank);
		else
			try_order(s, i, comm, rank);
	}
	s->told[rank * s->nm].failed = ccs_comm_check(comm) || comm->world->engine != &hosts_engine;
}

/* ---- processes ---------------------------------------------------------------------------- */

static int act(void *scene, int rank)
{
	struct scene *s = scene;
	struct ccs_comm *comm;
	char host[32];

	alarm(240);
	snprintf(host, sizeof(host), "host %d", rank);
	setenv("CCS_HOSTID", host, 1);
	setenv("NCCL_HOSTID", host, 1);
	if (ccs_comm_init_rank(&comm, s->n, &s->id, rank, 0)) {
		s->told[rank * s->nm].failed = 1;
		snprintf(s->told[rank * s->nm].text, 1000, "%s", ccs_error());
		return 0;
	}
	s->play(s, comm, rank);
	ccs_comm_free(comm);
	return 0;
}

/* An allgather's output is the largest. */
static size_t right_bytes(const struct scene *s)
{
	return sizeof(struct right) + (size_t)s->n * (size_t)s->n * LARGE * sizeof(int64_t);
}

/* Whether all have ended by themselves. */
static bool perform(struct scene *s)
{
	pthread_barrierattr_t shared;

	s->told = processes_share((size_t)(s->n * s->nm) * sizeof(*s->told));
	s->right = processes_share(right_bytes(s));
	s->order = order_make(s->n);
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&s->right->all, &shared, (unsigned)s->n);
	if (!is(ccs_get_unique_id(&s->id), CCS_OK, NULL, "an id"))
		return false;
	return processes_run(s->n, act, s);
}

static void end(struct scene *s)
{
	munmap(s->told, (size_t)(s->n * s->nm) * sizeof(*s->told));
	munmap(s->right, right_bytes(s));
	order_free(s->order);
}

static bool test_results(struct ccs_module **m, int nm, int n)
{
	struct scene s = { .m = m, .nm = nm, .n = n, .play = play_results };
	bool ended = perform(&s), right = true;

	for (int i = 0; i < nm; i++) {
		bool good = ended;
		int calls = 0;

		if (!ccs_module_has(m[i], n))
			continue;
		for (int r = 0; r < n; r++) {
			const struct told *t = s.told + r * nm + i;

			calls += t->calls;
			good &= !t->wrong && !t->failed && t->calls;
			if (t->text[0])
				printf("# rank %d: %s\n", r, t->text);
		}
		right &= say(good, "%s on %d hosts: %d calls, as on the CPU",
			     ccs_module_schedule(m[i]), n, calls / n);
	}
	end(&s);
	return right;
}

/* ---- trouble --------------------------------------------------------------------------------- */

static ccs_status one_call(struct scene *s, struct ccs_comm *comm, int rank, size_t count,
			   bool *right)
{
	struct job j = { .m = s->m[0],
			 .n = s->n,
			 .rank = rank,
			 .type = CCS_FLOAT32,
			 .op = CCS_SUM,
			 .count = count,
			 .send = 4 * count,
			 .recv = 4 * count };
	unsigned char *want = calloc((size_t)s->n, j.recv);
	struct told t = { 0 };

	reference(&j, want);
	*right = compare(&j, comm, want + (size_t)rank * j.recv, 0, &t);
	free(want);
	return t.status;
}

static void tell(struct told *t, ccs_status s, bool right)
{
	t->status = s;
	t->wrong = !right;
	snprintf(t->text, sizeof(t->text), "%s", s ? ccs_error() : "");
}

static void play_differ(struct scene *s, struct ccs_comm *comm, int rank)
{
	bool right;
	ccs_status first = one_call(s, comm, rank, rank == 2 ? 14 : 13, &right);

	tell(s->told + rank, first, true);
	if (one_call(s, comm, rank, 13, &right))
		right = false;
	s->told[rank].wrong = !right;
}

/* Rank 2's GPU has no memory for a plan: nobody runs it; the next time it has. */
static void play_no_memory(struct scene *s, struct ccs_comm *comm, int rank)
{
	bool right;
	ccs_status first;

	if (rank == 2)
		setenv("FAKE_CUDA_FAIL", "cuModuleLoadData:1:2", 1);
	first = one_call(s, comm, rank, 13, &right);
	unsetenv("FAKE_CUDA_FAIL");
	tell(s->told + rank, first, true);
	if (one_call(s, comm, rank, 13, &right))
		right = false;
	s->told[rank].wrong = !right;
}

static void play_captured(struct scene *s, struct ccs_comm *comm, int rank)
{
	struct cuda *d = gpu_cuda_of(comm->world, rank);
	cuda_graph graph = NULL;
	ccs_status refused;
	cuda_stream stream;
	unsigned char *p;
	cuda_ptr memory;
	bool right;
	int mode;

	if (one_call(s, comm, rank, 13, &right) || cuda_enter(d, &mode))
		return;
	cuda_alloc(d, &memory, 128, "two buffers");
	driver_stream_new(the_driver(), &stream);
	p = (unsigned char *)(uintptr_t)memory;
	driver_capture_begin(the_driver(), stream);
	refused = ccs_run(s->m[0], p, p + 64, 13, CCS_FLOAT32, CCS_SUM, -1, comm, stream);
	tell(s->told + rank, refused, true);
	driver_capture_end(the_driver(), stream, &graph);
	driver_graph_free(the_driver(), graph);
	driver_stream_free(the_driver(), stream);
	cuda_free(d, memory);
	cuda_leave(d, mode);
	s->told[rank].wrong = one_call(s, comm, rank, 13, &right) || !right;
}

static void play_broken(struct scene *s, struct ccs_comm *comm, int rank)
{
	ccs_status first;
	bool right;

	if (rank == 1)
		setenv("FAKE_NCCL_FAIL", "ncclSend:1:2", 1);
	first = one_call(s, comm, rank, 13, &right);
	unsetenv("FAKE_NCCL_FAIL");
	tell(s->told + rank, first, true);
	if (rank == 1)
		s->told[rank].failed = one_call(s, comm, rank, 13, &right);
}

static void play_async(struct scene *s, struct ccs_comm *comm, int rank)
{
	bool right;
	ccs_status first = one_call(s, comm, rank, 13, &right);

	setenv("FAKE_NCCL_FAIL", "ncclCommGetAsyncError:1:6", 1);
	tell(s->told + rank, first ? CCS_OK : ccs_comm_check(comm), right);
	unsetenv("FAKE_NCCL_FAIL");
	s->told[rank].failed = ccs_comm_check(comm);
}

static void test_trouble(struct ccs_module **m)
{
	struct scene s = { .m = m, .nm = 1, .n = 4, .play = play_differ };
	bool good = perform(&s);

	for (int r = 0; r < 4; r++)
		good &= s.told[r].status == CCS_EINVAL && strstr(s.told[r].text, "count 14") &&
			strstr(s.told[r].text, "count 13");
	say(good, "a count that differs is refused on all ranks, by name");
	for (int r = 0; r < 4; r++)
		good &= !s.told[r].wrong;
	say(good, "... and the next call is right");
	end(&s);

	s.play = play_no_memory;
	good = perform(&s);
	for (int r = 0; r < 4; r++)
		good &= s.told[r].status == CCS_ENOMEM &&
			(r == 2 || strstr(s.told[r].text, "rank 2"));
	say(good, "a kernel that one rank cannot load fails on all, with its rank");
	for (int r = 0; r < 4; r++)
		good &= !s.told[r].wrong;
	say(good, "... and the next call is right");
	end(&s);

	s.play = play_captured;
	good = perform(&s);
	for (int r = 0; r < 4; r++)
		good &= s.told[r].status == CCS_EUNSUPPORTED &&
			strstr(s.told[r].text, "is captured");
	say(good, "a captured stream is refused");
	for (int r = 0; r < 4; r++)
		good &= !s.told[r].wrong;
	say(good, "... and the next call is right");
	end(&s);

	s.play = play_broken;
	good = perform(&s);
	if (!good || !strstr(s.told[1].text, "ncclSend"))
		printf("# rank 1: %d: %s\n", s.told[1].status, s.told[1].text);
	say(good && s.told[1].status && strstr(s.told[1].text, "ncclSend"),
	    "a send that NCCL refuses is told, with its name");
	say(s.told[1].failed == CCS_EABORTED, "... and the communicator is dead");
	end(&s);

	s.play = play_async;
	good = perform(&s);
	for (int r = 0; r < 4; r++)
		good &= !s.told[r].wrong && s.told[r].status && s.told[r].failed == CCS_EABORTED;
	say(good, "what NCCL tells later ends the communicator");
	end(&s);
}

int main(int argc, char **argv)
{
	struct ccs_module *m[64];
	bool results = argc > 3 && !strcmp(argv[1], "results");
	int nm = 0, n = 4;

	if (results)
		n = atoi(argv[2]);
	for (int i = results ? 3 : 2; i < argc && nm < 64; i++)
		if (ccs_module_load(m + nm++, argv[i])) {
			say(false, "%s: %s", argv[i], ccs_error());
			return 1;
		}
	if (!nm || n < 1 || n > MOST)
		return 2;
	if (results)
		test_results(m, nm, n);
	else
		test_trouble(m);
	for (int i = 0; i < nm; i++)
		ccs_module_free(m[i]);
	return 0;
}
