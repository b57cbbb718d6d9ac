/*
 * Loops over collectives, as programs of MPI's call them, with libccs-mpi.so preloaded: each
 * through MPI_ (what CCS_MPI names is run by ccs) and through PMPI_ (MPI's own), in turn.
 *
 * Each rank writes its input and reads its output (untimed), all meet, and then the call is timed:
 * the most of all ranks, and the median of these. `ratio` is MPI's time over ours. The results
 * are compared byte by byte; sums are of small whole numbers, so that any order gives the same.
 * Without libccs-mpi.so both are MPI's, and the ratios near 1.
 *
 * usage: mpirun -np N mpi_loop FIRST LAST ITERATIONS [WARMUPS]
 * of blocks of FIRST to LAST bytes, eight times more each. Before the calls that count there are as
 * many of each as WARMUPS, else 3: by some thirty the library finds how to run long ones.
 * Ends with 1 if a result differs.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARMUPS = 3, STEP = 8 };

struct loop {
	int rank, nranks, iterations, warmups;
	int count; /* floats of a block */
	float *send, *recv;
	double *times[2]; /* [iterations] through MPI_, and PMPI_ */
	volatile float read;
};

static int allreduce(const struct loop *l, int own)
{
	return (own ? PMPI_Allreduce : MPI_Allreduce)(l->send, l->recv, l->count, MPI_FLOAT,
						      MPI_SUM, MPI_COMM_WORLD);
}

static int broadcast(const struct loop *l, int own)
{
	return (own ? PMPI_Bcast : MPI_Bcast)(l->rank ? l->recv : l->send, l->count, MPI_FLOAT, 0,
					      MPI_COMM_WORLD);
}

static int allgather(const struct loop *l, int own)
{
	return (own ? PMPI_Allgather : MPI_Allgather)(l->send, l->count, MPI_FLOAT, l->recv,
						      l->count, MPI_FLOAT, MPI_COMM_WORLD);
}

static int alltoall(const struct loop *l, int own)
{
	return (own ? PMPI_Alltoall : MPI_Alltoall)(l->send, l->count, MPI_FLOAT, l->recv, l->count,
						    MPI_FLOAT, MPI_COMM_WORLD);
}

static int reduce_scatter(const struct loop *l, int own)
{
	return (own ? PMPI_Reduce_scatter_block : MPI_Reduce_scatter_block)(
		l->send, l->recv, l->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static const struct collective {
	const char *name;
	int (*run)(const struct loop *l, int own);
} collectives[] = {
	{ "allreduce", allreduce },
	{ "broadcast", broadcast },
	{ "allgather", allgather },
	{ "alltoall", alltoall },
	{ "reduce_scatter_block", reduce_scatter },
};

static size_t elements(const struct loop *l)
{
	return (size_t)l->count * (size_t)l->nranks;
}

static void write_input(const struct loop *l, int salt)
{
	for (size_t i = 0; i < elements(l); i++)
		l->send[i] = (float)((i + (size_t)(7 * l->rank + salt)) % 100);
}

static void read_output(struct loop *l)
{
	float sum = 0;

	for (size_t i = 0; i < elements(l); i++)
		sum += l->recv[i];
	l->read = sum;
}

/* One call; the time that the slowest rank took, in microseconds. */
static double time_call(struct loop *l, const struct collective *c, int own, int salt)
{
	double mine, most;

	write_input(l, salt);
	PMPI_Barrier(MPI_COMM_WORLD);
	mine = MPI_Wtime();
	c->run(l, own);
	mine = MPI_Wtime() - mine;
	read_output(l);
	PMPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return most * 1e6;
}

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static double median(double *times, int n)
{
	qsort(times, (size_t)n, sizeof(*times), ascending);
	return times[n / 2];
}

/* How many ranks have another result through MPI_ than through PMPI_. */
static int count_wrong(struct loop *l, const struct collective *c)
{
	size_t bytes = elements(l) * sizeof(float);
	float *first = malloc(bytes);
	int wrong = !first, all = 0;

	for (int own = 0; own < 2; own++) {
		memset(l->recv, 0xff, bytes);
		time_call(l, c, own, 1);
		if (first && own)
			wrong = memcmp(first, l->recv, bytes) != 0;
		else if (first)
			memcpy(first, l->recv, bytes);
	}
	free(first);
	PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

static int measure(struct loop *l, const struct collective *c)
{
	int wrong = count_wrong(l, c);
	double ours, theirs;

	for (int i = -l->warmups; i < l->iterations; i++)
		for (int k = 0; k < 2; k++) {
			int own = (i + k) & 1;
			double us = time_call(l, c, own, i);

			if (i >= 0)
				l->times[own][i] = us;
		}
	ours = median(l->times[0], l->iterations);
	theirs = median(l->times[1], l->iterations);
	if (!l->rank)
		printf("%-20s %9zu %10.2f %10.2f %7.2f %6s\n", c->name,
		       (size_t)l->count * sizeof(float), ours, theirs, theirs / ours,
		       wrong ? "no" : "yes");
	return wrong;
}

static int run(struct loop *l, size_t first, size_t last)
{
	int wrong = 0;

	if (!l->rank)
		printf("%-20s %9s %10s %10s %7s %6s\n", "# of MPI_, us", "bytes", "ours", "MPI's",
		       "ratio", "equal");
	for (size_t i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
		for (size_t bytes = first; bytes <= last; bytes *= STEP) {
			l->count = (int)(bytes / sizeof(float));
			wrong += measure(l, collectives + i);
		}
	return wrong;
}

static size_t number(const char *text)
{
	char *end;
	long x = strtol(text, &end, 10);

	return *text && !*end && x > 0 && x <= 1L << 30 ? (size_t)x : 0;
}

int main(int argc, char **argv)
{
	struct loop l = { .count = 0 };
	const int given = argc == 4 || argc == 5;
	size_t first = given ? number(argv[1]) : 0, last = given ? number(argv[2]) : 0;
	int wrong = 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &l.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &l.nranks);
	l.iterations = given ? (int)number(argv[3]) : 0;
	l.warmups = argc == 5 ? (int)number(argv[4]) : WARMUPS;
	if (first < sizeof(float) || last < first || !l.iterations || !l.warmups) {
		fprintf(stderr, "usage: mpirun -np N %s FIRST LAST ITERATIONS [WARMUPS]\n",
			argv[0]);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	l.send = calloc((size_t)l.nranks, last);
	l.recv = calloc((size_t)l.nranks, last);
	l.times[0] = calloc((size_t)l.iterations, sizeof(double));
	l.times[1] = calloc((size_t)l.iterations, sizeof(double));
	if (l.send && l.recv && l.times[0] && l.times[1])
		wrong = run(&l, first, last);
	free(l.send);
	free(l.recv);
	free(l.times[0]);
	free(l.times[1]);
	MPI_Finalize();
	return wrong ? 1 : 0;
}
