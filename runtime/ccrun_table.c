/*
 * The table: nccl-tests' columns, for every size, type, operator and root asked.
 *
 * A row: buffers are allocated for its count; for out of place and then in place
 * the call is warmed up, timed (the mean of --iters), and then run once more on
 * fresh inputs and poisoned outputs, of which every element is checked. Out of
 * place the inputs must be as before, and nothing may be written behind a
 * receive buffer. In place is NCCL's: a gathered buffer's own part, a scattered
 * one's, else the same pointer.
 */
#include "runtime/ccrun.h"

#include "runtime/ccrun_device.h"
#include "runtime/comm.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GUARD 64	/* bytes behind a buffer */
#define POISON 0xff	/* NaN in all float types */

/* A run of ccrun. */
struct bench {
	const struct options *o;
	struct ccs_module *m;
	struct ccs_comm **comm;
	FILE *out;
	unsigned char **base[2];	/* [out of place, in place][rank]; allocated */
	void **send, **recv;		/* [rank] of the current side */
	struct device *device;		/* with copies of them; NULL: on the CPU */
	size_t wrong;
	double busbw;			/* sum over timed columns, and their number */
	unsigned columns;
};

/* A row. */
struct row {
	struct check check;
	int root;			/* -1: none */
	size_t size, send, recv;	/* bytes */
	size_t base;			/* bytes of one base allocation, without guard */
	unsigned char scalar[8];
};

struct result {
	bool measured;
	double us;
	size_t wrong;
	char text[384];			/* of the first wrong element */
};

static int fail(ccs_status s)
{
	fprintf(stderr, "ccrun: %s\n", ccs_error());
	switch (s) {
	case CCS_ETIMEOUT:
		return EXIT_WRONG;
	case CCS_EINVAL:
	case CCS_EFILE:
	case CCS_ENOPLAN:
		return EXIT_USAGE;
	case CCS_ENOMEM:
	case CCS_EUNSUPPORTED:
	case CCS_ESYSTEM:
		return EXIT_LACKS;
	case CCS_OK:
	case CCS_EABORTED:
		break;
	}
	return EXIT_INTERNAL;
}

/* ---- one call of all ranks --------------------------------------------------------- */

static ccs_status call_all(const struct bench *b, const struct row *r)
{
	const struct check *c = &r->check;
	ccs_status s;

	ccs_group_start();
	for (int i = 0; i < b->o->ranks; i++) {
		void *send = b->send[i], *recv = b->recv[i];

		if (b->device) {
			send = device_pointer(b->device, send);
			recv = device_pointer(b->device, recv);
		}
		if (c->op == OP_PREMUL && c->numbers)
			s = ccs_run_premul(b->m, send, recv, c->count, c->type, r->scalar,
					   r->root, b->comm[i], NULL);
		else
			s = ccs_run(b->m, send, recv, c->count, c->type, (ccs_redop)c->op,
				    r->root, b->comm[i], NULL);
		if (s)
			break;
	}
	return ccs_group_end();
}

static ccs_status wait_all(const struct bench *b)
{
	return b->device ? device_wait(b->device) : CCS_OK;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- buffers -------------------------------------------------------------------------- */

/* Blocks of `count` elements in all buffers of a kind; *n: how many buffers. */
static uint32_t blocks_of(const struct bench *b, const struct row *r, bool recv, uint32_t *n)
{
	uint32_t blocks = 0;

	*n = 0;
	for (uint32_t i = 0; i < b->m->nbuffers; i++) {
		if (b->m->buffers[i].direction == (recv ? CCS_IN : CCS_OUT))
			continue;
		blocks += r->check.view->shapes[i].blocks;
		++*n;
	}
	return blocks;
}

/* Sets send and recv of all ranks. false: this module has no in-place form. */
static bool place(struct bench *b, const struct row *r, bool in_place)
{
	uint32_t ns, nr, in = blocks_of(b, r, false, &ns), out = blocks_of(b, r, true, &nr);
	size_t block = r->check.count * ccs_dtype_size(r->check.type);

	if (in_place && (ns != 1 || nr != 1))
		return false;
	for (int i = 0; i < b->o->ranks; i++) {
		size_t mine = (size_t)i * block;

		if (!in_place) {
			b->send[i] = b->base[0][i];
			b->recv[i] = b->base[1][i];
			continue;
		}
		b->send[i] = b->base[1][i] + (in == 1 && out > 1 ? mine : 0);
		b->recv[i] = b->base[1][i] + (in > 1 && out == 1 ? mine : 0);
	}
	return true;
}

static ccs_status prepare(struct bench *b, const struct row *r, bool in_place)
{
	for (int i = 0; i < b->o->ranks; i++) {
		if (!in_place)
			memset(b->base[0][i], POISON, r->base + GUARD);
		memset(b->base[1][i], POISON, r->base + GUARD);
		check_fill(&r->check, (uint32_t)i, b->send[i]);
	}
	return b->device ? device_push(b->device) : CCS_OK;
}

/* Bytes written behind a buffer. */
static size_t overrun(const unsigned char *from, const unsigned char *to)
{
	size_t n = 0;

	for (; from < to; from++)
		n += *from != POISON;
	return n;
}

static void verify(struct bench *b, const struct row *r, bool in_place, struct result *result)
{
	char text[256] = "";
	size_t wrong = check_outputs(&r->check, b->recv, text, sizeof(text));

	for (int i = 0; i < b->o->ranks; i++) {
		size_t inputs = in_place ? 0 : check_input(&r->check, (uint32_t)i, b->send[i]);
		size_t used = in_place ? r->base : r->recv;
		size_t behind = overrun(b->base[1][i] + used, b->base[1][i] + r->base + GUARD);

		if (inputs && !*text)
			snprintf(text, sizeof(text), "rank %d changed its sendbuff", i);
		if (behind && !*text)
			snprintf(text, sizeof(text), "rank %d wrote behind its recvbuff", i);
		wrong += inputs + behind;
	}
	result->wrong = wrong;
	if (wrong)
		snprintf(result->text, sizeof(result->text), "%s %s, size %zu, %s: %s",
			 ccs_dtype_name(r->check.type), ccrun_op_name(r->check.op), r->size,
			 in_place ? "in place" : "out of place", text);
}

/* ---- one row ------------------------------------------------------------------------------ */

static ccs_status measure(struct bench *b, const struct row *r, bool in_place,
			  struct result *result)
{
	ccs_status s = CCS_OK;
	double start;

	*result = (struct result){ .measured = place(b, r, in_place) };
	if (!result->measured)
		return CCS_OK;
	s = prepare(b, r, in_place);
	for (unsigned i = 0; i < b->o->warmup && !s; i++)
		s = call_all(b, r);
	if (!s)
		s = wait_all(b);
	start = now_us();
	for (unsigned i = 0; i < b->o->iters && !s; i++)
		s = call_all(b, r);
	if (!s)
		s = wait_all(b);
	result->us = (now_us() - start) / b->o->iters;
	if (s || !b->o->check)
		return s;
	s = prepare(b, r, in_place);
	if (!s)
		s = call_all(b, r);
	if (!s)
		s = wait_all(b);
	if (!s && b->device)
		s = device_pull(b->device);
	if (!s)
		verify(b, r, in_place, result);
	return s;
}

/* nccl-tests' factor between algorithm and bus bandwidth. */
static double bus_factor(const char *contract, int ranks)
{
	static const struct {
		const char *name;
		double times;
	} known[] = {
		{ "allreduce", 2 }, { "allgather", 1 }, { "reduce_scatter", 1 },
		{ "all_to_all", 1 }, { "gather", 1 }, { "scatter", 1 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(contract, known[i].name))
			return known[i].times * (ranks - 1) / ranks;
	return 1;
}

static void print_result(struct bench *b, const struct row *r, const struct result *x)
{
	double alg, bus;
	char wrong[24] = "n/a";

	if (!x->measured) {
		fprintf(b->out, "  %8s %7s %7s %6s", "n/a", "n/a", "n/a", "n/a");
		return;
	}
	alg = x->us > 0 ? (double)r->size / x->us * 1e-3 : 0;
	bus = alg * bus_factor(ccs_module_contract(b->m), b->o->ranks);
	b->busbw += bus;
	b->columns++;
	b->wrong += x->wrong;
	if (b->o->check)
		snprintf(wrong, sizeof(wrong), "%zu", x->wrong);
	fprintf(b->out, "  %8.*f %7.2f %7.2f %6s", x->us < 10 ? 2 : x->us < 10000 ? 1 : 0, x->us,
		alg, bus, wrong);
}

static int row_run(struct bench *b, struct row *r)
{
	struct result result[2];
	ccs_status s;

	fprintf(b->out, "%12zu %12zu %11s %7s %5d", r->size, r->check.count,
		ccs_dtype_name(r->check.type),
		r->check.numbers ? ccrun_op_name(r->check.op) : "none", r->root);
	fflush(b->out);
	for (int in_place = 0; in_place < 2; in_place++) {
		s = measure(b, r, in_place, result + in_place);
		if (s) {
			fprintf(b->out, "\n");
			fflush(b->out);
			return fail(s);
		}
		print_result(b, r, result + in_place);
		fflush(b->out);
	}
	fprintf(b->out, "\n");
	fflush(b->out);
	for (int in_place = 0; in_place < 2; in_place++)
		if (result[in_place].wrong)
			fprintf(stderr, "ccrun: %s\n", result[in_place].text);
	return EXIT_DONE;
}

static int lacks_memory(const struct bench *b, const struct row *r)
{
	fprintf(stderr, "ccrun: size %zu needs two buffers of %zu bytes for each of %d ranks: more "
		"than this machine's memory\n", r->size, r->base, b->o->ranks);
	return EXIT_LACKS;
}

static void free_buffers(struct bench *b)
{
	if (b->device)
		device_free(b->device);
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < b->o->ranks; i++) {
			free(b->base[side][i]);
			b->base[side][i] = NULL;
		}
	}
}

static bool alloc_buffers(struct bench *b, const struct row *r)
{
	double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	void *p;

	if (2.0 * b->o->ranks * (double)r->base > 0.9 * have)
		return false;
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < b->o->ranks; i++) {
			if (posix_memalign(&p, 4096, r->base + GUARD))
				return false;
			b->base[side][i] = p;
		}
	}
	return true;
}

/* Sets the count whose larger buffer has at most `size` bytes. */
static bool set_size(const struct bench *b, struct row *r, size_t size)
{
	struct check *c = &r->check;
	uint32_t n, in = blocks_of(b, r, false, &n), out = blocks_of(b, r, true, &n);
	size_t esize = ccs_dtype_size(c->type), units = in > out ? in : out;
	size_t send = 0, recv = 0;

	c->count = size / esize / (units ? units : 1);
	for (uint32_t i = 0; b->m->head->flags & CCS_MODULE_EVEN_COUNTS && i < b->m->nbuffers; ) {
		uint32_t chunks = c->view->shapes[i].chunks;

		if (!chunks || c->count % chunks == 0) {
			i++;
			continue;
		}
		c->count -= c->count % chunks;	/* down to a count that all divide */
		i = 0;
	}
	if (module_sizes(c->module, c->view, c->count, &send, &recv))
		return false;
	r->send = send * esize;
	r->recv = recv * esize;
	r->base = r->send > r->recv ? r->send : r->recv;
	r->size = r->base;
	return true;
}

static int size_run(struct bench *b, struct row *r, size_t size)
{
	ccs_status s;
	int rc;

	if (!set_size(b, r, size))
		return fail(CCS_EINVAL);
	if (!alloc_buffers(b, r))
		rc = lacks_memory(b, r);
	else if (b->device && (s = device_alloc(b->device, b->base, r->base + GUARD)))
		rc = fail(s);
	else
		rc = row_run(b, r);
	free_buffers(b);
	return rc;
}

/* ---- all rows ---------------------------------------------------------------------- */

static int sizes_run(struct bench *b, ccs_dtype type, int op, int root)
{
	struct row r = { .check = { .module = b->m, .type = type, .op = op }, .root = root };
	size_t size = b->o->least;
	int rc = EXIT_DONE;

	r.check.view = module_plan(b->m, b->o->ranks, root);
	if (!r.check.view) {
		fprintf(stderr, "ccrun: %s has no plan for root %d of %d ranks\n",
			ccs_module_schedule(b->m), root, b->o->ranks);
		return EXIT_USAGE;
	}
	if (!check_init(&r.check)) {
		fprintf(stderr, "ccrun: out of memory\n");
		return EXIT_LACKS;
	}
	check_scalar(&r.check, r.scalar);
	while (rc == EXIT_DONE) {
		rc = size_run(b, &r, size);
		if (b->o->step ? size > b->o->most - b->o->step
			       : size && size > b->o->most / b->o->factor)
			break;
		size = b->o->step ? size + b->o->step : size ? size * b->o->factor : 1;
		if (size > b->o->most)
			break;
	}
	check_free(&r.check);
	return rc;
}

static int roots_run(struct bench *b, ccs_dtype type, int op)
{
	int rc = EXIT_DONE;

	if (!ccs_module_rooted(b->m))
		return sizes_run(b, type, op, -1);
	if (b->o->root >= 0)
		return sizes_run(b, type, op, b->o->root);
	for (int root = 0; root < b->o->ranks && rc == EXIT_DONE; root++)
		rc = sizes_run(b, type, op, root);
	return rc;
}

static int rows_run(struct bench *b)
{
	bool reduces = b->m->head->flags & CCS_MODULE_REDUCES;
	bool mixed = b->m->head->flags & CCS_MODULE_MIXED;
	int rc = EXIT_DONE;

	for (int type = 0; type < CCS_NDTYPES; type++) {
		if (!(b->o->types >> type & 1))
			continue;
		for (int op = 0; op < OP_COUNT && rc == EXIT_DONE; op++) {
			if (!reduces && op)
				break;
			if (reduces && !(b->o->ops >> op & 1))
				continue;
			if (reduces && mixed && b->o->ops_all && (op == CCS_AVG || op == OP_PREMUL))
				continue;
			rc = roots_run(b, (ccs_dtype)type, op);
		}
	}
	return rc;
}

static void print_head(const struct bench *b)
{
	unsigned threads = b->comm[0]->world->limit;

	fprintf(b->out, "# %s: %s, %d rank%s ", ccs_module_schedule(b->m),
		ccs_module_contract(b->m), b->o->ranks, b->o->ranks == 1 ? "" : "s");
	if (b->device)
		device_print(b->device, b->out);
	else
		fprintf(b->out, "on the CPU, run by %u thread%s of this process", threads,
			threads == 1 ? "" : "s");
	fprintf(b->out, "\n");
	if (b->m->head->flags & CCS_MODULE_MIXED && b->o->ops_all)
		fprintf(b->out, "# avg and premul left out: some results are no sums\n");
	fprintf(b->out, "# mean of %u runs after %u; %s\n#\n", b->o->iters, b->o->warmup,
		b->o->check ? "then every element of one more is checked" : "results not checked");
	fprintf(b->out, "#%11s %12s %11s %7s %5s  %31s  %31s\n", "", "", "", "", "",
		"out of place          ", "in place            ");
	fprintf(b->out, "#%11s %12s %11s %7s %5s  %8s %7s %7s %6s  %8s %7s %7s %6s\n", "size",
		"count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
		"algbw", "busbw", "#wrong");
	fprintf(b->out, "#%11s %12s %11s %7s %5s  %8s %7s %7s %6s  %8s %7s %7s %6s\n", "(B)",
		"(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
		"(GB/s)", "");
}

static void print_foot(const struct bench *b)
{
	fprintf(b->out, "#\n");
	if (b->o->check)
		fprintf(b->out, "# wrong elements    : %zu%s\n", b->wrong, b->wrong ? "" : " OK");
	if (b->columns)
		fprintf(b->out, "# mean bus bandwidth: %.3f GB/s\n", b->busbw / b->columns);
}

static int bench_rows(struct bench *b)
{
	int rc;

	ccs_comm_set_timeout(b->comm[0], b->o->timeout * 1000);
	ccs_comm_set_threads(b->comm[0], b->o->threads);
	sched_limit(b->comm[0]->world);
	print_head(b);
	rc = rows_run(b);
	if (rc == EXIT_DONE) {
		print_foot(b);
		rc = b->wrong ? EXIT_WRONG : EXIT_DONE;
	}
	return rc;
}

static int bench_run(struct bench *b)
{
	size_t n = (size_t)b->o->ranks;
	ccs_status s;
	int rc;

	b->base[0] = calloc(n, sizeof(*b->base[0]));
	b->base[1] = calloc(n, sizeof(*b->base[1]));
	b->send = calloc(n, sizeof(*b->send));
	b->recv = calloc(n, sizeof(*b->recv));
	if (!b->base[0] || !b->base[1] || !b->send || !b->recv) {
		fprintf(stderr, "ccrun: out of memory\n");
		return EXIT_LACKS;
	}
	s = b->o->cuda ? ccs_comm_init_cuda(b->comm, b->o->ranks, b->o->device)
		       : ccs_comm_init_all(b->comm, b->o->ranks);
	if (s)
		return fail(s);
	if (b->o->cuda)
		b->device = device_open(b->comm, b->o->ranks);
	if (b->o->cuda && !b->device)
		rc = EXIT_LACKS;
	else
		rc = b->o->nccl ? device_against_nccl(b->o->ranks, stderr) : bench_rows(b);
	device_close(b->device);
	for (int i = 0; i < b->o->ranks; i++)
		ccs_comm_free(b->comm[i]);
	return rc;
}

int table_print(const struct options *o, struct ccs_module *m, FILE *out)
{
	struct bench b = { .o = o, .m = m, .out = out };
	int rc = EXIT_LACKS;

	b.comm = calloc((size_t)o->ranks, sizeof(struct ccs_comm *));
	if (b.comm)
		rc = bench_run(&b);
	else
		fprintf(stderr, "ccrun: out of memory\n");
	free(b.comm);
	free(b.base[0]);
	free(b.base[1]);
	free(b.send);
	free(b.recv);
	return rc;
}
