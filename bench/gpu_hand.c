/*
 * Times the kernels of gpu_hand.cu, and the driver's own copy, on one GPU.
 *
 * In: the source. Out: the copy rate, then a line a kernel and size: how long one
 * launch takes in a row of launches, and as a graph that is replayed; bytes that the
 * job moves (read and written) over time; and that as a part of the copy rate. Medians
 * of five. hand_direct's results are compared, all elements, up to 16 MiB a rank.
 *
 * usage: gpu_hand SOURCE.cu [MOST]     MOST: largest size of a rank in bytes (256 MiB);
 *                                      FILE.cubin: as --compile has made it
 *        gpu_hand --copy MOST          the copy rate alone
 *        gpu_hand --gpu                which GPU there is
 *        gpu_hand --bytes MODULE.so N  what N ranks move, as a multiple of a rank's buffer:
 *                                      at least; the plan, with direct copies; without;
 *                                      and messages alone. Then of one worker: messages that
 *                                      it sends; what they hold, by slots, and straight
 *        gpu_hand --nvrtc              which NVRTC there is
 *        gpu_hand --compile sm_90 SOURCE.cu [FILE.cubin]
 */
#include "runtime/ccrun/gpu/cuda_calls.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/tables.h"
#include "runtime/plan/load.h"
#include "runtime/base/load/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 8, THREADS = 512, ROUNDS = 5, SMALL = 8192 };

struct buffers { /* as in gpu_hand.cu */
	cuda_ptr in[RANKS], out[RANKS], slots;
};

enum job { EMPTY, COPY, DIRECT, RING, JOBS };
static const char *const NAME[JOBS] = { "hand_empty", "hand_copy", "hand_direct", "hand_ring" };
/* Bytes moved, as a multiple of a rank's buffer. */
static const double MOVES[JOBS] = { 0, 2, 2 * RANKS, 5 * RANKS - 4 };

struct bench {
	struct cuda cuda;
	struct driver driver; /* streams, times and graphs */
	cuda_stream stream;
	cuda_event from, to;
	cuda_module module[JOBS];
	cuda_function kernel[JOBS];
	int resident[JOBS]; /* blocks that fit */
	struct buffers buffers;
	double copy_rate; /* bytes a microsecond */
	float *host;	  /* of `checked` bytes */
	size_t checked;
};

static bool good(ccs_status s)
{
	if (s)
		fprintf(stderr, "gpu_hand: %s\n", ccs_error());
	return !s;
}

/* ---- bytes of a plan ------------------------------------------------------------------ */

enum { INPUT = 1, READ = 2, WRITTEN = 4, PLACED = 8 }; /* of a cell of a rank */

/* The counts of a plan, with its direct copies and reads, out of place: in cells. */
struct moves {
	const struct plan_view *v;
	bool *placed;	      /* by operation: its message comes straight to where it belongs */
	unsigned char *cells; /* [rank * stride + cell]: INPUT ... */
	uint32_t stride;
	double must, direct, plain, messages;
	double sent, staged, straight; /* messages; cells, by slots and straight to their place */
};

static void find_placed(struct moves *x)
{
	for (uint64_t i = 0; i < x->v->plan->ops.n; i++)
		if (x->v->ops[i].flags & CCS_OP_DIRECT &&
		    !cuda_tables_better_read(x->v, x->v->ops + i))
			x->placed[x->v->ops[i].to] = true;
}

static void mark(unsigned char *cells, uint32_t first, uint32_t n, int what)
{
	for (uint32_t i = 0; first != CCS_NONE && i < n; i++)
		cells[first + i] |= (unsigned char)what;
}

/* Its message is read in the sender's buffer: it is an initial value, or stays there. */
static bool is_read(const struct plan_view *v, const struct ccs_op *o)
{
	if (o->out == CCS_NONE)
		return false;
	if (o->flags & CCS_OP_DIRECT)
		return cuda_tables_better_read(v, o);
	return o->flags & CCS_OP_READ || ccs_plan_is_initial(o);
}

/* `cells`: of the operation's rank. */
static void count_op(struct moves *x, const struct ccs_op *o, unsigned char *cells)
{
	bool in = o->in != CCS_NONE, out = o->out != CCS_NONE;
	bool placed = x->placed[o - x->v->ops], given = out && !is_read(x->v, o);
	uint32_t parts =
		(uint32_t)in + (o->a != CCS_NONE) + (o->b != CCS_NONE) + (o->dst != CCS_NONE);
	bool idle = !given && o->dst == CCS_NONE; /* it only lets its receiver read */

	if (!idle) {
		mark(cells, o->a, o->n, o->flags & CCS_OP_A_INITIAL ? INPUT : READ);
		mark(cells, o->b, o->n, o->flags & CCS_OP_B_INITIAL ? INPUT : READ);
	}
	mark(cells, o->dst, o->n, placed ? PLACED | (given ? READ : 0) : WRITTEN);
	x->plain += (double)o->n * (parts + out);
	/* its data is in dst already: read only to be sent on */
	x->direct += (double)o->n * (idle ? 0u : placed ? 2u * given : parts + given);
	x->must += (double)o->n * ((uint32_t)(in && !placed) + given);
	x->messages += (double)o->n * 2u * out;
	x->sent += out;
	*(o->flags & CCS_OP_DIRECT ? &x->straight : &x->staged) += (double)o->n * out;
}

/* Without messages: inputs are read once, what was placed is read once if anything reads
 * it, and results that were not placed are written once. */
static void count_cells(struct moves *x)
{
	const struct ccs_plan *p = x->v->plan;

	for (uint32_t r = 0; r < p->nranks; r++)
		for (uint32_t c = 0; c < x->stride; c++) {
			int k = x->cells[(size_t)r * x->stride + c];
			bool result =
				c < p->cells && x->v->expect[(size_t)r * p->cells + c] != CCS_NONE;
			bool kept = result && !(k & (WRITTEN | PLACED));

			x->must += (k & INPUT || kept) + (k & PLACED && k & READ) +
				   (result && !(k & PLACED));
		}
}

/*
 * must: the least that the algorithm needs, if all values that fit are kept in registers: each
 *   message is written, unless its receiver reads its sources, and read, unless it is in
 *   its place already; inputs, results, and placed data that is used count once
 * direct, plain: the plan's operations as they are, each reading its message and its cells
 *   a and b and writing dst and a message; with direct copies and reads, and without
 * messages: each read once and written once, and nothing else (ccrun --copy-rate)
 * As multiples of a rank's larger buffer; exact where all chunks are of one length.
 * O(cells of operations)
 */
static bool plan_moves(const struct ccs_module *m, struct moves *x)
{
	const struct ccs_plan *p = x->v->plan;
	double buffer = 0;

	x->stride = p->cells + p->scratch;
	x->placed = calloc(p->ops.n + 1, sizeof(*x->placed));
	x->cells = calloc((size_t)p->nranks * x->stride + 1, 1);
	if (x->placed && x->cells) {
		find_placed(x);
		for (uint64_t w = 0; w < p->workers.n; w++) {
			const struct ccs_worker *k = x->v->workers + w;

			for (uint32_t i = 0; i < k->nops; i++)
				count_op(x, x->v->ops + k->op + i,
					 x->cells + (size_t)k->rank * x->stride);
		}
		count_cells(x);
		for (uint32_t b = 0; b < m->nbuffers; b++) {
			double size = (double)x->v->shapes[b].chunks * x->v->shapes[b].blocks;

			buffer = size > buffer ? size : buffer;
		}
	}
	free(x->placed);
	free(x->cells);
	x->must /= buffer;
	x->direct /= buffer;
	x->plain /= buffer;
	x->messages /= buffer;
	x->sent /= (double)p->workers.n;
	x->staged /= buffer * (double)p->workers.n;
	x->straight /= buffer * (double)p->workers.n;
	return buffer > 0;
}

static int print_moves(const char *file, int n)
{
	struct ccs_module *m;
	struct moves x = { 0 };
	bool done;

	if (!good(ccs_module_load(&m, file)))
		return 2;
	x.v = module_plan(m, n, 0);
	done = x.v && plan_moves(m, &x);
	if (done)
		printf("%.3f %.3f %.3f %.3f %.3f %.4f %.4f\n", x.must, x.direct, x.plain,
		       x.messages, x.sent, x.staged, x.straight);
	else
		fprintf(stderr, "gpu_hand: %s has no plan for %d ranks\n", file, n);
	ccs_module_free(m);
	return done ? 0 : 2;
}

static int print_nvrtc(void)
{
	struct nvrtc n;
	char why[800];

	if (nvrtc_open(&n, why, sizeof(why))) {
		printf("%d.%d, %s\n", n.major, n.minor, n.path);
		nvrtc_close(&n);
		return 0;
	}
	printf("%s\n", why);
	return 4;
}

/* ---- kernels ------------------------------------------------------------------------------ */

#define FILE_MOST ((size_t)1 << 20)

/* With a NUL behind it. */
static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, FILE_MOST);
	bool whole = f && text && fread(text, 1, FILE_MOST - 1, f) > 0 && feof(f);

	if (f)
		fclose(f);
	if (whole)
		return text;
	fprintf(stderr, "gpu_hand: cannot read %s\n", path);
	free(text);
	return NULL;
}

/* The source's CUBIN. 0, or an exit status: 4 without NVRTC, 70 if it refuses it or has
 * something to say. */
static int compile(const char *path, struct nvrtc_arch arch, struct nvrtc_output *out)
{
	char ranks[32], threads[32], why[800];
	const char *const defines[] = { ranks, threads };
	struct nvrtc_job job = {
		.name = "gpu_hand.cu",
		.arch = arch,
		.defines = defines,
		.ndefines = 2,
	};
	struct nvrtc nvrtc;
	char *source = read_file(path);
	bool done;

	snprintf(ranks, sizeof(ranks), "RANKS=%d", RANKS);
	snprintf(threads, sizeof(threads), "THREADS=%d", THREADS);
	*out = (struct nvrtc_output){ 0 };
	job.source = source;
	if (!source)
		return 2;
	if (!nvrtc_open(&nvrtc, why, sizeof(why))) {
		fprintf(stderr, "gpu_hand: %s\n", why);
		free(source);
		return 4;
	}
	done = nvrtc_compile(&nvrtc, &job, out);
	if (!done || *out->log)
		fprintf(stderr, "gpu_hand: %s\n", out->log ? out->log : "out of memory");
	done = done && !*out->log;
	nvrtc_close(&nvrtc);
	free(source);
	return done ? 0 : 70;
}

static bool load(struct bench *b, const char *path)
{
	const char *end = strrchr(path, '.');
	struct nvrtc_output out = { 0 };
	bool done;

	if (end && !strcmp(end, ".cubin"))
		done = (out.data = read_file(path)) != NULL;
	else
		done = !compile(path, (struct nvrtc_arch){ b->cuda.capability, 0 }, &out);

	for (int i = 0; i < JOBS && done; i++)
		done = good(cuda_load(&b->cuda, &b->module[i], &b->kernel[i], out.data, NAME[i])) &&
		       good(cuda_occupancy(&b->cuda, &b->resident[i], b->kernel[i], THREADS, 0));
	free(out.data);
	free(out.log);
	return done;
}

/* `to`: where the CUBIN goes; NULL: nowhere. */
static int only_compile(const char *path, const char *name, const char *to)
{
	struct nvrtc_output out = { 0 };
	struct nvrtc_arch arch;
	int rc = 2;

	if (nvrtc_arch_read(name, strlen(name), &arch))
		rc = compile(path, arch, &out);
	if (!rc && to) {
		FILE *f = fopen(to, "wb");
		bool whole = f && fwrite(out.data, 1, out.len, f) == out.len;

		if (!f || fclose(f) || !whole) {
			fprintf(stderr, "gpu_hand: cannot write %s\n", to);
			rc = 2;
		}
	}
	free(out.data);
	free(out.log);
	return rc;
}

/* Blocks for a size: no more than there is work for, than fit, or than have slots. */
static unsigned blocks_for(const struct bench *b, enum job job, size_t bytes)
{
	size_t vectors = bytes / 16 / (job == RING ? RANKS : 1);
	size_t each = job == DIRECT ? THREADS : 4 * THREADS;
	size_t n = (vectors + each - 1) / each * (job == RING ? RANKS : 1);
	size_t most = (size_t)b->resident[job] * (size_t)b->cuda.sms;

	if (job == EMPTY || !n)
		return 1;
	n = n < most ? n : most;
	return (unsigned)(job == RING ? n / RANKS * RANKS : n);
}

static bool launch(struct bench *b, enum job job, size_t bytes)
{
	unsigned long long n = bytes / 16;
	void *params[] = { &b->buffers, &n };

	return good(cuda_launch(&b->cuda, b->kernel[job], blocks_for(b, job, bytes), THREADS, 0,
				b->stream, params));
}

/* ---- times --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Microseconds of one go: of a graph, if there is one; of the driver's copy, if job ==
 * JOBS; else of a launch. Negative: it failed. */
static double time_of(struct bench *b, enum job job, size_t bytes, cuda_graph graph, int times)
{
	double us[ROUNDS];

	for (int round = -1; round < ROUNDS; round++) {
		bool fine = good(cuda_record(&b->cuda, b->from, b->stream));

		for (int i = 0; fine && i < times; i++) {
			if (graph)
				fine = good(driver_graph_launch(&b->driver, graph, b->stream));
			else if (job == JOBS)
				fine = good(cuda_copy_async(&b->cuda, b->buffers.out[0],
							    b->buffers.in[0], bytes, b->stream,
							    "the copy rate"));
			else
				fine = launch(b, job, bytes);
		}
		fine = fine && good(cuda_record(&b->cuda, b->to, b->stream)) &&
		       good(cuda_finish(&b->cuda, b->to)) &&
		       good(driver_elapsed(&b->driver, b->from, b->to, &us[round < 0 ? 0 : round]));
		if (!fine)
			return -1;
	}
	qsort(us, ROUNDS, sizeof(*us), ascending);
	return us[ROUNDS / 2] / times;
}

static double graph_time(struct bench *b, enum job job, size_t bytes, int times)
{
	cuda_graph graph = NULL;
	double us = -1;
	bool fine = good(driver_capture_begin(&b->driver, b->stream));

	if (fine) {
		fine = launch(b, job, bytes);
		fine = good(driver_capture_end(&b->driver, b->stream, &graph)) && fine;
	}
	if (fine)
		us = time_of(b, job, bytes, graph, times);
	driver_graph_free(&b->driver, graph);
	return us;
}

/* ---- results ------------------------------------------------------------------------------- */

static float input(int rank, size_t i)
{
	return (float)((i * 7 + (size_t)rank * 13) % 1000);
}

/* The same values again every `checked` bytes, up to `most`. */
static bool fill(struct bench *b, size_t most)
{
	bool fine = true;

	for (int r = 0; r < RANKS && fine; r++) {
		for (size_t i = 0; i < b->checked / sizeof(float); i++)
			b->host[i] = input(r, i);
		for (size_t at = 0; at < most && fine; at += b->checked)
			fine = good(cuda_upload(&b->cuda, b->buffers.in[r] + at, b->host,
						most - at < b->checked ? most - at : b->checked,
						"input"));
	}
	return fine;
}

static size_t wrong_elements(struct bench *b, size_t bytes)
{
	size_t wrong = 0;

	for (int r = 0; r < RANKS; r++) {
		if (!good(cuda_download(&b->cuda, b->host, b->buffers.out[r], bytes, "output")))
			return bytes;
		for (size_t i = 0; i < bytes / sizeof(float); i++) {
			float sum = 0; /* small whole numbers: exact */

			for (int q = 0; q < RANKS; q++)
				sum += input(q, i);
			wrong += b->host[i] != sum;
		}
	}
	return wrong;
}

static bool row(struct bench *b, enum job job, size_t bytes)
{
	int times = bytes <= SMALL ? 1000 : bytes < (1u << 24) ? 100 : 10;
	double us = time_of(b, job, bytes, NULL, times), moved = MOVES[job] * (double)bytes;
	double graph = graph_time(b, job, bytes, times);
	size_t wrong = 0;
	char checked[32] = "-";

	if (us < 0 || graph < 0)
		return false;
	if (job == DIRECT && bytes <= b->checked) {
		wrong = wrong_elements(b, bytes);
		snprintf(checked, sizeof(checked), "%zu", wrong);
	}
	printf("%-12s %12zu %10.2f %10.2f %10.1f %8.3f %8s\n", NAME[job], bytes, us, graph,
	       moved / us / 1e3, moved / us / b->copy_rate, checked);
	fflush(stdout);
	return !wrong;
}

static bool run(struct bench *b, size_t most)
{
	bool fine;

	printf("%-12s %12s %10s %10s %10s %8s %8s\n", "kernel", "bytes/rank", "us", "us, graph",
	       "GB/s", "of copy", "#wrong");
	fine = row(b, EMPTY, 0);
	for (size_t bytes = 1024; bytes <= most; bytes *= 4)
		for (enum job job = COPY; job < JOBS; job++)
			fine &= row(b, job, bytes);
	return fine;
}

/* Prints it; negative: it failed. */
static double copy_rate(struct bench *b, size_t most)
{
	double us = time_of(b, JOBS, most, NULL, 10), rate = us > 0 ? 2 * (double)most / us : -1;

	if (rate > 0)
		printf("copy_rate %.1f GB/s, of %zu bytes, read and written\n", rate / 1e3, most);
	fflush(stdout);
	return rate;
}

/* Streams, times, and the buffers of that number of ranks. */
static bool open_buffers(struct bench *b, int ranks, size_t most)
{
	bool fine = good(driver_open(&b->driver)) &&
		    good(driver_stream_new(&b->driver, &b->stream)) &&
		    good(driver_timer_new(&b->driver, &b->from)) &&
		    good(driver_timer_new(&b->driver, &b->to));

	for (int r = 0; r < ranks && fine; r++)
		fine = good(cuda_alloc(&b->cuda, &b->buffers.in[r], most, "inputs")) &&
		       good(cuda_alloc(&b->cuda, &b->buffers.out[r], most, "outputs"));
	return fine;
}

static bool prepare(struct bench *b, const char *source, size_t most)
{
	size_t slots;
	bool fine = load(b, source);

	slots = (size_t)b->resident[RING] * (size_t)b->cuda.sms * 8 * 4 * THREADS * 16;
	fine = fine && good(cuda_alloc(&b->cuda, &b->buffers.slots, slots, "slots"));
	b->checked = most < (1u << 24) ? most : (1u << 24);
	b->host = malloc(b->checked);
	return fine && b->host && fill(b, most);
}

static void close_all(struct bench *b)
{
	for (int r = 0; r < RANKS; r++) {
		cuda_free(&b->cuda, b->buffers.in[r]);
		cuda_free(&b->cuda, b->buffers.out[r]);
	}
	cuda_free(&b->cuda, b->buffers.slots);
	cuda_event_free(&b->cuda, b->from);
	cuda_event_free(&b->cuda, b->to);
	driver_stream_free(&b->driver, b->stream);
	for (int i = 0; i < JOBS; i++)
		if (b->module[i])
			cuda_unload(&b->cuda, b->module[i]);
	free(b->host);
}

/* `source` NULL: the copy rate alone; `most` 0: which GPU it is. An exit status. */
static int on_gpu(const char *source, size_t most)
{
	struct bench b = { 0 };
	bool fine = true;
	int mode;

	if (!good(cuda_open(&b.cuda, 0)))
		return 4;
	if (!most)
		printf("%s, compute capability %d.%d, CUDA %d.%d, %d SMs\n", b.cuda.name,
		       b.cuda.capability / 10, b.cuda.capability % 10, b.cuda.driver / 1000,
		       b.cuda.driver % 1000 / 10, b.cuda.sms);
	if (most && good(cuda_enter(&b.cuda, &mode))) {
		fine = open_buffers(&b, source ? RANKS : 1, most) &&
		       (b.copy_rate = copy_rate(&b, most)) > 0 &&
		       (!source || (prepare(&b, source, most) && run(&b, most)));
		close_all(&b);
		cuda_leave(&b.cuda, mode);
	}
	cuda_close(&b.cuda);
	return fine ? 0 : 3;
}

int main(int argc, char **argv)
{
	size_t most = argc > 2 ? strtoull(argv[2], NULL, 10) : (size_t)256 << 20;

	if (argc == 4 && !strcmp(argv[1], "--bytes"))
		return print_moves(argv[2], atoi(argv[3]));
	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "--compile"))
		return only_compile(argv[3], argv[2], argc == 5 ? argv[4] : NULL);
	if (argc == 2 && !strcmp(argv[1], "--nvrtc"))
		return print_nvrtc();
	if (argc == 2 && !strcmp(argv[1], "--gpu"))
		return on_gpu(NULL, 0);
	if (argc == 3 && !strcmp(argv[1], "--copy") && most >= 1024)
		return on_gpu(NULL, most);
	if (argc < 2 || argc > 3 || most < 1024 || argv[1][0] == '-') {
		fprintf(stderr, "usage: gpu_hand SOURCE.cu [MOST] | --copy MOST | --gpu | "
				"--bytes MODULE.so N | --nvrtc | "
				"--compile sm_90 SOURCE.cu [FILE.cubin]\n");
		return 2;
	}
	return on_gpu(argv[1], most);
}
