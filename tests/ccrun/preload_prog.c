/*
 * A program of MPI's, for preload_test.sh: it calls each collective, and then the same by the
 * profiling interface, which is never taken, and compares all bytes of both results.
 * usage: preload_prog WHAT, with mpirun
 */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum what {
	ALLREDUCE,
	REDUCE_SCATTER_BLOCK,
	ALLGATHER,
	BROADCAST,
	REDUCE,
	ALLTOALL,
	GATHER,
	SCATTER,
	WHATS
};

/* The types that a side of a call names, for one block. */
struct side {
	MPI_Datatype type;
	int count;
};

struct call {
	enum what what;
	struct side send, recv;
	MPI_Op op;
	int root, in_place;
	MPI_Comm comm;
};

#define BLOCK 4096 /* bytes that a block of any call takes at most, with its holes */
#define RANKS 8

static int either(int profiled, const struct call *c, const void *send, void *recv)
{
	const struct side *s = &c->send, *r = &c->recv;

	switch (c->what) {
	case ALLREDUCE:
		return (profiled ? PMPI_Allreduce : MPI_Allreduce)(send, recv, r->count, r->type,
								   c->op, c->comm);
	case REDUCE_SCATTER_BLOCK:
		return (profiled ? PMPI_Reduce_scatter_block : MPI_Reduce_scatter_block)(
			send, recv, r->count, r->type, c->op, c->comm);
	case ALLGATHER:
		return (profiled ? PMPI_Allgather : MPI_Allgather)(send, s->count, s->type, recv,
								   r->count, r->type, c->comm);
	case BROADCAST:
		return (profiled ? PMPI_Bcast : MPI_Bcast)(recv, r->count, r->type, c->root,
							   c->comm);
	case REDUCE:
		return (profiled ? PMPI_Reduce : MPI_Reduce)(send, recv, r->count, r->type, c->op,
							     c->root, c->comm);
	case ALLTOALL:
		return (profiled ? PMPI_Alltoall : MPI_Alltoall)(send, s->count, s->type, recv,
								 r->count, r->type, c->comm);
	case GATHER:
		return (profiled ? PMPI_Gather : MPI_Gather)(send, s->count, s->type, recv,
							     r->count, r->type, c->root, c->comm);
	case SCATTER:
		return (profiled ? PMPI_Scatter : MPI_Scatter)(send, s->count, s->type, recv,
							       r->count, r->type, c->root, c->comm);
	case WHATS: break;
	}
	return -1;
}

/* With MPI_IN_PLACE where it may stand, and NULL where MPI does not look. */
static int run(int profiled, const struct call *c, int rank, const void *send, void *recv)
{
	int root = rank == c->root;
	int rooted = c->what == REDUCE || c->what == GATHER;

	if (c->what == SCATTER)
		return either(profiled, c, root ? send : NULL,
			      c->in_place && root ? MPI_IN_PLACE : recv);
	return either(profiled, c, c->in_place && (!rooted || root) ? MPI_IN_PLACE : send,
		      rooted && !root ? NULL : recv);
}

/* Small numbers, so that sums are exact in any order. */
static void fill(char *at, size_t bytes, MPI_Datatype type, int seed)
{
	for (size_t i = 0; i < bytes / 8; i++) {
		int v = 1 + (int)((i * 7 + (size_t)seed * 3) % 3);

		if (type == MPI_DOUBLE)
			((double *)(void *)at)[i] = v;
		else if (type == MPI_FLOAT)
			((float *)(void *)at)[2 * i] = ((float *)(void *)at)[2 * i + 1] = (float)v;
		else
			memset(at + 8 * i, v, 8);
	}
}

static int is_wrong(const struct call *c)
{
	size_t bytes = BLOCK * RANKS;
	char *send = malloc(bytes), *ours = malloc(bytes), *theirs = malloc(bytes);
	int rank, wrong, e;

	MPI_Comm_rank(c->comm, &rank);
	fill(send, bytes, c->send.type, rank);
	fill(ours, bytes, c->recv.type, rank + 5);
	memcpy(theirs, ours, bytes);
	e = run(0, c, rank, send, ours);
	wrong = run(1, c, rank, send, theirs) != e || memcmp(ours, theirs, bytes) != 0;
	if (wrong)
		printf("rank %d: collective %d, count %d, root %d%s: wrong\n", rank, c->what,
		       c->recv.count, c->root, c->in_place ? ", in place" : "");
	free(send);
	free(ours);
	free(theirs);
	return wrong;
}

/* ---- every collective ------------------------------------------------------------------------ */

static int reduces(enum what what)
{
	return what == ALLREDUCE || what == REDUCE_SCATTER_BLOCK || what == REDUCE;
}

static int roots(const struct call *c)
{
	int size;

	MPI_Comm_size(c->comm, &size);
	return c->what == BROADCAST || c->what == REDUCE || c->what == GATHER || c->what == SCATTER
		       ? size
		       : 1;
}

static int all_ways(struct call c)
{
	int wrong = 0;

	for (c.root = 0; c.root < roots(&c); c.root++)
		for (c.in_place = 0; c.in_place < 2; c.in_place++)
			wrong += is_wrong(&c);
	return wrong;
}

/* Integers of 16 bits, and operators of bits. */
static int all_bits(MPI_Comm comm)
{
	const MPI_Datatype types[] = { MPI_SHORT, MPI_UINT16_T, MPI_LONG, MPI_BYTE };
	const MPI_Op ops[] = { MPI_BAND, MPI_BOR, MPI_BXOR, MPI_SUM, MPI_MIN };
	int wrong = 0;

	for (int i = 0; i < 4 * 5; i++) {
		const struct side side = { types[i / 5], 7 };
		struct call c = { ALLREDUCE, side, side, ops[i % 5], 0, 0, comm };

		wrong += i / 5 < 3 || i % 5 < 3 ? all_ways(c) : 0;
	}
	return wrong;
}

static int all_of(MPI_Comm comm)
{
	static const int counts[] = { 0, 1, 7, 500 };
	const MPI_Datatype types[] = { MPI_INT, MPI_DOUBLE, MPI_FLOAT, MPI_UNSIGNED_CHAR };
	const MPI_Op ops[] = { MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD };
	int wrong = 0;

	for (int i = 0; i < WHATS * 4 * 4; i++) {
		struct call c = { .what = (enum what)(i / 16), .comm = comm };

		if (i / 4 % 4 && i % 4 != 2) /* all counts of ints, and all types of one */
			continue;
		c.send = c.recv = (struct side){ types[i / 4 % 4], counts[i % 4] };
		for (int op = 0; op < (reduces(c.what) && i % 4 == 2 ? 4 : 1); op++) {
			c.op = ops[op];
			wrong += all_ways(c);
		}
	}
	MPI_Barrier(comm);
	return wrong + all_bits(comm);
}

static int every(void)
{
	MPI_Comm other;
	int rank, wrong = all_of(MPI_COMM_WORLD);

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	wrong += all_of(other);
	MPI_Comm_free(&other);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &other);
	wrong += all_of(other);
	MPI_Comm_free(&other);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
	return wrong + all_of(other) + all_of(MPI_COMM_SELF); /* `other` is never freed */
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Some ranks describe the same data by a type with holes, others by its elements. */
static int mixed(struct call c, MPI_Datatype holes, int rank, int holed)
{
	const struct side some = { holes, 5 }, plain = { MPI_INT, 15 };

	c.recv = rank == holed ? some : plain;
	c.send = c.what == ALLTOALL || rank != holed ? plain : some;
	return all_ways(c);
}

static int derived(void)
{
	static const enum what moved[] = { ALLGATHER, BROADCAST, ALLTOALL, GATHER, SCATTER };
	MPI_Datatype vector, holes;
	int rank, wrong = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
	MPI_Type_create_resized(vector, 0, 32, &holes);
	MPI_Type_commit(&holes);
	for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		struct call c = { .what = moved[i], .comm = MPI_COMM_WORLD };

		wrong += mixed(c, holes, rank, 0) + mixed(c, holes, rank, 1);
		c.send = c.recv = (struct side){ MPI_DOUBLE_INT, 4 };
		wrong += all_ways(c);
		c.send = c.recv = (struct side){ MPI_SHORT, 9 };
		wrong += all_ways(c);
	}
	MPI_Type_free(&vector);
	MPI_Type_free(&holes);
	return wrong;
}

/* Each type that is reduced, those of signed integers and floats first: bytes that are negative in
 * these are the larger in others. (As MPI's standard has it: Open MPI 4.1 takes MPI_OFFSET as unsigned,
 * and MPI_UNSIGNED_LONG as signed.) */
static int kinds(void)
{
	enum { SIGNED = 12 };
	const MPI_Datatype types[] = {
		MPI_FLOAT,	   MPI_DOUBLE,	      MPI_INT,
		MPI_LONG,	   MPI_LONG_LONG,     MPI_SIGNED_CHAR,
		MPI_INT8_T,	   MPI_INT32_T,	      MPI_INT64_T,
		MPI_AINT,	   MPI_OFFSET,	      MPI_COUNT,
		MPI_UNSIGNED,	   MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
		MPI_UNSIGNED_CHAR, MPI_UINT8_T,	      MPI_UINT32_T,
		MPI_UINT64_T,
	};
	const MPI_Op ops[] = { MPI_MAX, MPI_MIN };
	int rank, wrong = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (size_t i = 0; i < 2 * sizeof(types) / sizeof(*types); i++) {
		unsigned char own[16], got[16] = { 0 };
		unsigned char want = (i / 2 < SIGNED) == (i % 2 == 0) ? 0x3f : 0xbf;

		memset(own, rank == 1 ? 0xbf : 0x3f, sizeof(own));
		MPI_Allreduce(own, got, 1, types[i / 2], ops[i % 2], MPI_COMM_WORLD);
		if (got[0] != want) {
			printf("# rank %d: type %zu of the table: %s is %02x..., not %02x...\n",
			       rank, i / 2, i % 2 ? "min" : "max", got[0], want);
			wrong++;
		}
	}
	return wrong;
}

/* Buffers that are not aligned: those of packed structures. */
static int unaligned(void)
{
	char send[81], recv[81];
	double v = 1, sum;
	int size;

	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 10; i++)
		memcpy(send + 1 + 8 * i, &v, 8);
	MPI_Allreduce(send + 1, recv + 1, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	memcpy(&sum, recv + 73, 8);
	return sum != size;
}

/* ---- calls like ones before ------------------------------------------------------------------ */

/* Each twice, and once more after others: their buffers differ, and whether they are in place. */
static int repeated(MPI_Comm comm, MPI_Datatype type)
{
	int wrong = 0;

	for (int i = 0; i < 3 * WHATS; i++) {
		struct call c = { .what = (enum what)(i % WHATS), .op = MPI_SUM, .comm = comm };

		if (reduces(c.what) && type != MPI_INT)
			continue;
		c.send = c.recv = (struct side){ type, 7 };
		wrong += all_ways(c) + all_ways(c);
	}
	return wrong;
}

/* MPI gives the handles of communicators and types that are freed to others, which have other ranks,
 * and elements of another size. */
static int again(void)
{
	struct call last = { .what = ALLGATHER, .send = { MPI_INT, 7 }, .in_place = 1 };
	int rank, wrong = 0;

	last.recv = last.send;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 6; i++) {
		MPI_Datatype type;
		MPI_Comm comm;

		MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? rank : -rank, &comm);
		MPI_Type_contiguous(1 + i % 3, MPI_INT, &type);
		MPI_Type_commit(&type);
		wrong += repeated(comm, MPI_INT) + repeated(comm, type);
		wrong += unaligned() + repeated(MPI_COMM_WORLD, MPI_INT) + unaligned();
		last.comm = comm; /* where its input lies follows from the rank */
		wrong += is_wrong(&last);
		MPI_Type_free(&type);
		MPI_Comm_free(&comm);
	}
	return wrong;
}

/* ---- what is MPI's --------------------------------------------------------------------------- */

static void last_of(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	memcpy(inout, in, (size_t)*n * sizeof(int));
}

static int left_to_mpi(void)
{
	struct call c = { .what = ALLREDUCE,
			  .send = { MPI_INT, 3 },
			  .recv = { MPI_INT, 3 },
			  .op = MPI_LAND,
			  .comm = MPI_COMM_WORLD };
	MPI_Datatype pair;
	int wrong = is_wrong(&c);

	c.op = MPI_SUM;
	c.send.type = c.recv.type = MPI_LONG_DOUBLE;
	wrong += is_wrong(&c) + is_wrong(&c);
	c.send.type = c.recv.type = MPI_INT;
	MPI_Op_create(last_of, 0, &c.op);
	wrong += is_wrong(&c);
	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	c.send = c.recv = (struct side){ pair, 0 };
	wrong += is_wrong(&c);
	MPI_Op_free(&c.op);
	MPI_Type_free(&pair);
	return wrong;
}

/* Blocks of 40, 64, 4000 and 0 bytes. */
static int sizes(void)
{
	static const int counts[] = { 10, 16, 1000, 0 };
	int wrong = 0;

	for (int i = 0; i < 4; i++) {
		struct call c = { .what = ALLREDUCE,
				  .send = { MPI_INT, counts[i] },
				  .recv = { MPI_INT, counts[i] },
				  .op = MPI_SUM,
				  .comm = MPI_COMM_WORLD };

		wrong += is_wrong(&c);
	}
	return wrong;
}

/* The root gives itself a longer block than it takes, of a type with holes, which has to be packed:
 * the call fails on all ranks, and nothing is written behind what it takes. */
static int longer(void)
{
	enum { LONG_BLOCK = 100000, MEMBERS = 3 };
	static int all[MEMBERS * LONG_BLOCK], own[2] = { 7, 7 };
	MPI_Datatype holes;
	int rank, error;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &holes);
	MPI_Type_commit(&holes);
	error = rank ? MPI_Scatter(NULL, 0, MPI_INT, all, LONG_BLOCK, MPI_INT, 0, MPI_COMM_WORLD)
		     : MPI_Scatter(all, LONG_BLOCK, MPI_INT, own, 1, holes, 0, MPI_COMM_WORLD);
	MPI_Type_free(&holes);
	return !error || own[0] != 7 || own[1] != 7;
}

static int inter(void)
{
	MPI_Comm half, between;
	int rank, size, sum = 0, one = 1, others;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &between);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between);
	MPI_Comm_remote_size(between, &others);
	MPI_Comm_free(&between);
	MPI_Comm_free(&half);
	return sum != others;
}

/* MPI's own, but that ranks are on two hosts, in turn. */
__attribute__((visibility("default"))) int PMPI_Comm_split_type(MPI_Comm comm, int how, int key,
								MPI_Info info, MPI_Comm *part)
{
	int (*real)(MPI_Comm, int, int, MPI_Info, MPI_Comm *);
	int rank;

	PMPI_Comm_rank(comm, &rank);
	if (getenv("PROG_HOSTS"))
		return PMPI_Comm_split(comm, rank % 2, key, part);
	*(void **)&real = dlsym(RTLD_NEXT, "PMPI_Comm_split_type");
	return real(comm, how, key, info, part);
}

/* This process's user, or another one from `other_user` on. */
static int other_user;

__attribute__((visibility("default"))) uid_t geteuid(void)
{
	return (uid_t)syscall(SYS_geteuid) + (uid_t)other_user;
}

static int hosts(void)
{
	struct call c = { .what = ALLREDUCE,
			  .send = { MPI_INT, 3 },
			  .recv = { MPI_INT, 3 },
			  .op = MPI_SUM,
			  .comm = MPI_COMM_WORLD };
	int rank, wrong = is_wrong(&c) + is_wrong(&c);

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &c.comm);
	wrong += is_wrong(&c);
	MPI_Comm_free(&c.comm);
	return wrong;
}

/* Ranks that cannot share memory, as only ccs sees. */
static int users(void)
{
	int wrong;

	MPI_Comm_rank(MPI_COMM_WORLD, &other_user);
	wrong = sizes();
	other_user = 0;
	return wrong;
}

/* ---- messages beside a collective ------------------------------------------------------------ */

/* Rank 0 is in the collective while its message to rank 1, which comes later, is under way. */
static int progress(void)
{
	enum { N = 1 << 22 };
	char *big = calloc(N, 1);
	MPI_Request r = MPI_REQUEST_NULL;
	int rank, one = 1, sum = 0, size;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		MPI_Isend(big, N, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &r);
	if (rank == 1) {
		usleep(50000);
		MPI_Recv(big, N, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	free(big);
	return sum != size;
}

struct worker {
	MPI_Comm comm;
	int wrong;
};

static void *work(void *of)
{
	struct worker *w = of;
	struct call c = { .what = ALLREDUCE,
			  .send = { MPI_INT, 100 },
			  .recv = { MPI_INT, 100 },
			  .op = MPI_SUM,
			  .comm = w->comm };

	for (int i = 0; i < 50; i++)
		w->wrong += is_wrong(&c);
	return NULL;
}

static int threads(void)
{
	struct worker w[3] = { 0 };
	pthread_t t[3];
	int wrong = 0;

	for (int i = 0; i < 3; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &w[i].comm);
	for (int i = 0; i < 3; i++)
		pthread_create(t + i, NULL, work, w + i);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		MPI_Comm_free(&w[i].comm);
		wrong += w[i].wrong;
	}
	return wrong;
}

/* ---- failures -------------------------------------------------------------------------------- */

static int sums(int count)
{
	int in[100] = { 0 }, out[100];

	return MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Rank 1 can open a few files more, and no communicator. */
static int files(void)
{
	struct rlimit had, few;
	int rank, wrong, next = dup(STDOUT_FILENO);

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	getrlimit(RLIMIT_NOFILE, &had);
	few = had;
	few.rlim_cur = (rlim_t)next + 5;
	close(next);
	if (rank == 1)
		setrlimit(RLIMIT_NOFILE, &few);
	wrong = sums(10);
	setrlimit(RLIMIT_NOFILE, &had);
	return wrong;
}

/* A rank ends without a word; the others are told, and end the job as a program may. */
static int killed(void)
{
	int rank, e, class, again;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	signal(SIGTERM, SIG_IGN); /* mpirun's, for the other's end */
	e = sums(10);
	if (rank == 1) {
		usleep(200000); /* the others have done that call */
		raise(SIGKILL);
	}
	e = e ? -1 : sums(10);
	again = sums(10);
	MPI_Error_class(e, &class);
	printf("rank %d: error %s, again %s\n", rank, class == MPI_ERR_OTHER ? "other" : "none",
	       again ? "one" : "none");
	fflush(stdout);
	usleep(500000); /* the other one has said it, too, before the launcher ends both */
	_exit(7);
}

/* Calls that MPI does not allow either. */
static int differ(void)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	sums(10);
	sums(10 + rank);
	return 0;
}

/* One rank comes to the first call, and to another, when the test has seen that the rest were told:
 * then it makes the file $PROG_GO.1, or .2. */
static int late(void)
{
	const char *late = getenv("PROG_LATE"), *go = getenv("PROG_GO");
	char path[4000];
	int rank, wrong = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 1; i < 3 && late && go; i++) {
		snprintf(path, sizeof(path), "%s.%d", go, i);
		while (rank == atoi(late) && access(path, F_OK))
			usleep(10000);
		wrong += sums(10);
	}
	return wrong;
}

/* ---- another job ----------------------------------------------------------------------------- */

static char *own_path; /* argv[0] */

/* One communicator of this job and of the process that it has spawned. */
static int sums_with(MPI_Comm inter, int high)
{
	MPI_Comm all;
	int one = 1, sum = 0, size;

	MPI_Intercomm_merge(inter, high, &all);
	MPI_Comm_size(all, &size);
	for (int i = 0; i < 3; i++)
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
	MPI_Comm_free(&all);
	MPI_Comm_disconnect(&inter);
	return sum != size;
}

/* What is spawned gets mpirun's environment: no library is preloaded there. */
static int spawns(void)
{
	char what[] = "spawned", *arguments[] = { what, NULL };
	MPI_Comm inter;

	MPI_Comm_spawn(own_path, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
		       MPI_ERRCODES_IGNORE);
	return sums_with(inter, 0);
}

static int spawned(void)
{
	MPI_Comm inter;

	MPI_Comm_get_parent(&inter);
	return sums_with(inter, 1);
}

/* ---- main ------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	int (*run)(void);
} whats[] = {
	{ "every", every },	    { "derived", derived }, { "kinds", kinds },
	{ "unaligned", unaligned }, { "sizes", sizes },	    { "left", left_to_mpi },
	{ "inter", inter },	    { "hosts", hosts },	    { "users", users },
	{ "progress", progress },   { "threads", threads }, { "killed", killed },
	{ "differ", differ },	    { "again", again },	    { "files", files },
	{ "spawns", spawns },	    { "spawned", spawned }, { "longer", longer },
	{ "late", late },
};

int main(int argc, char **argv)
{
	int wrong = -1, all = 0, provided;

	own_path = argv[0];
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	for (size_t i = 0; argc == 2 && i < sizeof(whats) / sizeof(whats[0]); i++)
		if (!strcmp(argv[1], whats[i].name))
			wrong = whats[i].run();
	PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return all != 0;
}
