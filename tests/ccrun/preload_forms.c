/*
 * A program of MPI's, for preload_test.sh: it calls each form of the collectives that ccs has not,
 * and compares what it gives with MPI's own that blocks. Rank 0 prints the collective and the
 * name of each call; of persistent ones, of each start.
 * usage: preload_forms, with mpirun and at most 4 ranks
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 4 /* ints that a rank gives to another at most */
#define RANKS 4
#define ROOM (BLOCK * RANKS)

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#endif

struct buffers {
	int send[ROOM], ours[ROOM], theirs[ROOM];
	int rank, size, wrong;
};

/* Before a call. */
static void name_it(struct buffers *b, const char *collective, const char *name)
{
	if (!b->rank)
		printf("%s %s\n", collective, name);
	memset(b->ours, -1, sizeof(b->ours));
}

static void compare(struct buffers *b, const char *name, int error)
{
	if (!error && !memcmp(b->ours, b->theirs, sizeof(b->ours)))
		return;
	printf("rank %d: %s: wrong\n", b->rank, name);
	b->wrong++;
}

static int wait_for(int error, MPI_Request *r)
{
	return error ? error : MPI_Wait(r, MPI_STATUS_IGNORE);
}

/* The calls of one collective, whose arguments before the communicator have the result in
 * `recv`. */
#define MPI_S_OWN(call, ...) \
	do { \
		int *recv = b->theirs; \
		(void)recv; \
		memset(b->theirs, -1, sizeof(b->theirs)); \
		call(__VA_ARGS__); \
	} while (0)
#define EACH_COUNT(what, name, call, ...) \
	do { \
		int *recv = b->ours; \
		name_it(b, what, name); \
		compare(b, name, call(__VA_ARGS__)); \
	} while (0)
#define LATER(what, name, call, finish, ...) \
	do { \
		int *recv = b->ours; \
		MPI_Request r; \
		(void)recv; \
		name_it(b, what, name); \
		compare(b, name, finish(call(__VA_ARGS__, &r), &r)); \
	} while (0)
#ifdef HAS_PERSISTENT
/* One start, as MPICH 4.0.2 fails at others. */
static int start(int error, MPI_Request *r)
{
	error = error || MPI_Start(r) || MPI_Wait(r, MPI_STATUS_IGNORE);
	return error ? error : MPI_Request_free(r);
}

#define PERSISTENT(what, name, call, ...) LATER(what, name, call, start, __VA_ARGS__, MPI_INFO_NULL)
#else
#define PERSISTENT(what, name, call, ...) (void)0
#endif
#define ONE_COUNT(what, Name, name, of, ...) \
	MPI_S_OWN(PMPI_##Name##of, __VA_ARGS__); \
	LATER(what, "MPI_I" #name, MPI_I##name##of, wait_for, __VA_ARGS__); \
	PERSISTENT(what, "MPI_" #Name "_init", MPI_##Name##_init##of, __VA_ARGS__)
#define COUNTS(what, Name, name, of, ...) \
	ONE_COUNT(what, Name, name, of, __VA_ARGS__); \
	EACH_COUNT(what, "MPI_" #Name, MPI_##Name##of, __VA_ARGS__)

/* With counts and displacements of such types; `of`: what is added to names. Rank r gets, or gives,
 * r + 1 ints where counts differ. */
#define ALL_FORMS(function, of, COUNT, PLACE) \
	static void function(struct buffers *b, MPI_Comm comm, int root) \
	{ \
		const MPI_Datatype t = MPI_INT; \
		COUNT n = 3, own = b->rank + 1, each[RANKS], same[RANKS]; \
		PLACE at[RANKS], bytes[RANKS]; \
		MPI_Datatype types[RANKS]; \
		int *send = b->send; \
		for (int i = 0; i < RANKS; i++) { \
			each[i] = i + 1; \
			same[i] = own; \
			at[i] = BLOCK * i; \
			bytes[i] = BLOCK * i * (int)sizeof(int); \
			types[i] = t; \
		} \
		ONE_COUNT("allreduce", Allreduce, allreduce, of, send, recv, n, t, MPI_SUM, comm); \
		ONE_COUNT("reduce_scatter_block", Reduce_scatter_block, reduce_scatter_block, of, \
			  send, recv, n, t, MPI_SUM, comm); \
		ONE_COUNT("reduce", Reduce, reduce, of, send, recv, n, t, MPI_MAX, root, comm); \
		ONE_COUNT("broadcast", Bcast, bcast, of, b->rank == root ? send : recv, n, t, \
			  root, comm); \
		ONE_COUNT("allgather", Allgather, allgather, of, send, n, t, recv, n, t, comm); \
		ONE_COUNT("alltoall", Alltoall, alltoall, of, send, n, t, recv, n, t, comm); \
		ONE_COUNT("gather", Gather, gather, of, send, n, t, recv, n, t, root, comm); \
		ONE_COUNT("scatter", Scatter, scatter, of, send, n, t, recv, n, t, root, comm); \
		COUNTS("reduce_scatter_block", Reduce_scatter, reduce_scatter, of, send, recv, \
		       each, t, MPI_SUM, comm); \
		COUNTS("allgather", Allgatherv, allgatherv, of, send, own, t, recv, each, at, t, \
		       comm); \
		COUNTS("alltoall", Alltoallv, alltoallv, of, send, each, at, t, recv, same, at, t, \
		       comm); \
		COUNTS("alltoall", Alltoallw, alltoallw, of, send, each, bytes, types, recv, same, \
		       bytes, types, comm); \
		COUNTS("gather", Gatherv, gatherv, of, send, own, t, recv, each, at, t, root, \
		       comm); \
		COUNTS("scatter", Scatterv, scatterv, of, send, each, at, t, recv, own, t, root, \
		       comm); \
	}
ALL_FORMS(all_forms, , int, int)
#if MPI_VERSION >= 4
ALL_FORMS(all_forms_c, _c, MPI_Count, MPI_Aint)
#endif

#ifdef HAS_PERSISTENT
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define ROUNDS 1 /* MPICH 4.0.2 */
#else
#define ROUNDS 5
#endif

static void wait_both(MPI_Request *r)
{
	MPI_Wait(r, MPI_STATUS_IGNORE);
	MPI_Wait(r + 1, MPI_STATUS_IGNORE);
}

/* A message to this rank itself, whose requests are no collectives, whatever they were before. */
static void start_messages(struct buffers *b)
{
	MPI_Request r[2];

	MPI_Send_init(b->send, 1, MPI_INT, 0, 1, MPI_COMM_SELF, r);
	MPI_Recv_init(b->ours, 1, MPI_INT, 0, 1, MPI_COMM_SELF, r + 1);
	MPI_Startall(2, r);
	wait_both(r);
	MPI_Request_free(r);
	MPI_Request_free(r + 1);
}

/* Several at a time, again and again; one that is never started, and one that is never freed. */
static void starts(struct buffers *b, MPI_Comm comm)
{
	MPI_Request r[4];
	int value = b->rank, from[RANKS] = { 0 }, all[RANKS];

	MPI_Bcast_init(&value, 1, MPI_INT, 0, comm, MPI_INFO_NULL, r);
	MPI_Allgather_init(&b->rank, 1, MPI_INT, from, 1, MPI_INT, comm, MPI_INFO_NULL, r + 1);
	MPI_Scatter_init(b->send, 1, MPI_INT, all, 1, MPI_INT, 0, comm, MPI_INFO_NULL, r + 2);
	MPI_Gather_init(b->send, 1, MPI_INT, all, 1, MPI_INT, 0, comm, MPI_INFO_NULL, r + 3);
	for (int i = 0; i < ROUNDS; i++) {
		value = b->rank + i;
		name_it(b, "broadcast", "MPI_Bcast_init");
		name_it(b, "allgather", "MPI_Allgather_init");
		MPI_Startall(2, r);
		wait_both(r);
		b->wrong += value != i || from[b->size - 1] != b->size - 1;
	}
	name_it(b, "scatter", "MPI_Scatter_init");
	MPI_Start(r + 2);
	MPI_Wait(r + 2, MPI_STATUS_IGNORE);
	MPI_Request_free(r);
	MPI_Request_free(r + 1);
	MPI_Request_free(r + 3);
	start_messages(b);
}
#endif

int main(int argc, char **argv)
{
	struct buffers all = { .wrong = 0 }, *b = &all;
	MPI_Comm turned;
	int wrong = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &b->size);
	MPI_Comm_rank(MPI_COMM_WORLD, &b->rank);
	if (b->size > RANKS)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -b->rank, &turned);
	MPI_Comm_rank(turned, &b->rank);
	for (int i = 0; i < ROOM; i++)
		b->send[i] = 100 * b->rank + i;
	all_forms(b, turned, b->size - 1);
#if MPI_VERSION >= 4
	all_forms_c(b, turned, b->size - 1);
#endif
	ONE_COUNT("barrier", Barrier, barrier, , turned);
#ifdef HAS_PERSISTENT
	starts(b, turned);
#endif
	MPI_Comm_free(&turned);
	PMPI_Allreduce(&b->wrong, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return wrong != 0;
}
