/*
 * The plug-in: calls of MPI, behind the table of calls.h.
 *
 * In: the mpi.h of the MPI that this is compiled against. Out: a shared object that exports
 * `ccs_mpi_calls` and calls nothing of ccs. From MPI 4 counts are 64 bits wide. O(1) plus MPI's own
 * work.
 */
#include "runtime/mpi/calls.h"

#include <limits.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if MPI_VERSION >= 4
#define COUNTED(name) name##_c
#define MOST ((size_t)PTRDIFF_MAX)
typedef MPI_Count mpi_count;
#else
#define COUNTED(name) name
#define MOST ((size_t)INT_MAX)
typedef int mpi_count;
#endif

/* The MPI that was initialised here. */
struct start {
	_Atomic int worlds; /* worlds made from it; the last one ends MPI */
	_Atomic int failed; /* one of them failed: other processes may not come to the end */
};

/* A message in flight that no call waits for. */
struct stray {
	struct stray *next;
	MPI_Request request;
	unsigned char data[];
};

struct mpi_world {
	MPI_Comm comm;
	int rank, size;
	struct start *start; /* NULL: the program has initialised MPI */
	struct stray *strays;
};

/* ---- types and operators --------------------------------------------------------------- */

/* Floats that MPI lacks are moved as integers of their size. */
static MPI_Datatype type_of(ccs_dtype type)
{
	switch (type) {
	case CCS_INT8: return MPI_INT8_T;
	case CCS_UINT8: return MPI_UINT8_T;
	case CCS_INT16: return MPI_INT16_T;
	case CCS_UINT16: return MPI_UINT16_T;
	case CCS_INT32: return MPI_INT32_T;
	case CCS_UINT32: return MPI_UINT32_T;
	case CCS_INT64: return MPI_INT64_T;
	case CCS_UINT64: return MPI_UINT64_T;
	case CCS_FLOAT32: return MPI_FLOAT;
	case CCS_FLOAT64: return MPI_DOUBLE;
	case CCS_FLOAT16:
	case CCS_BFLOAT16: return MPI_UINT16_T;
	case CCS_FLOAT8E4M3:
	case CCS_FLOAT8E5M2: return MPI_UINT8_T;
	case CCS_NDTYPES: break;
	}
	return MPI_DATATYPE_NULL;
}

/* MPI's operators; a new operator of ccs needs no entry here. */
static MPI_Op op_of(ccs_redop op)
{
	const struct {
		ccs_redop op;
		MPI_Op of_mpi;
	} known[] = { { CCS_SUM, MPI_SUM },  { CCS_PROD, MPI_PROD }, { CCS_MAX, MPI_MAX },
		      { CCS_MIN, MPI_MIN },  { CCS_BAND, MPI_BAND }, { CCS_BOR, MPI_BOR },
		      { CCS_BXOR, MPI_BXOR } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].op == op)
			return known[i].of_mpi;
	return MPI_OP_NULL;
}

static int reduces(ccs_dtype type, ccs_redop op)
{
	switch (type) {
	case CCS_FLOAT16:
	case CCS_BFLOAT16:
	case CCS_FLOAT8E4M3:
	case CCS_FLOAT8E5M2:
	case CCS_NDTYPES: return 0;
	case CCS_FLOAT32:
	case CCS_FLOAT64:
		if (op == CCS_BAND || op == CCS_BOR || op == CCS_BXOR)
			return 0;
		break;
	case CCS_INT8:
	case CCS_UINT8:
	case CCS_INT16:
	case CCS_UINT16:
	case CCS_INT32:
	case CCS_UINT32:
	case CCS_INT64:
	case CCS_UINT64: break;
	}
	return op_of(op) != MPI_OP_NULL;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static size_t bytes_of(const struct mpi_job *j)
{
	int size = 0;

	MPI_Type_size(type_of(j->type), &size);
	return j->count * (size_t)size;
}

/* Whether `part` is this rank's block of `whole`. */
static int is_own_block(const struct mpi_world *w, const struct mpi_job *j, const void *part,
			const void *whole)
{
	return part == (const char *)whole + (size_t)w->rank * bytes_of(j);
}

static int allreduce(const struct mpi_world *w, const struct mpi_job *j)
{
	const void *from = j->send == j->recv ? MPI_IN_PLACE : j->send;

	return COUNTED(MPI_Allreduce)(from, j->recv, (mpi_count)j->count, type_of(j->type),
				      op_of(j->op), w->comm);
}

static int allgather(const struct mpi_world *w, const struct mpi_job *j)
{
	const void *from = is_own_block(w, j, j->send, j->recv) ? MPI_IN_PLACE : j->send;
	mpi_count n = (mpi_count)j->count;
	MPI_Datatype type = type_of(j->type);

	return COUNTED(MPI_Allgather)(from, n, type, j->recv, n, type, w->comm);
}

/* In place MPI leaves the result in the first block, and its place is the rank's. */
static int reduce_scatter(const struct mpi_world *w, const struct mpi_job *j)
{
	int in_place = is_own_block(w, j, j->recv, j->send);
	void *first = (char *)j->recv - (in_place ? (size_t)w->rank * bytes_of(j) : 0);
	int e = COUNTED(MPI_Reduce_scatter_block)(in_place ? MPI_IN_PLACE : j->send, first,
						  (mpi_count)j->count, type_of(j->type),
						  op_of(j->op), w->comm);

	if (!e && first != j->recv)
		memcpy(j->recv, first, bytes_of(j));
	return e;
}

/* MPI has one buffer: out of place the root's own result is a copy. */
static int broadcast(const struct mpi_world *w, const struct mpi_job *j)
{
	if (w->rank == j->root && j->send != j->recv && j->count)
		memcpy(j->recv, j->send, bytes_of(j));
	return COUNTED(MPI_Bcast)(j->recv, (mpi_count)j->count, type_of(j->type), j->root, w->comm);
}

static int reduce(const struct mpi_world *w, const struct mpi_job *j)
{
	int in_place = w->rank == j->root && j->send == j->recv;

	return COUNTED(MPI_Reduce)(in_place ? MPI_IN_PLACE : j->send, j->recv, (mpi_count)j->count,
				   type_of(j->type), op_of(j->op), j->root, w->comm);
}

static int gather(const struct mpi_world *w, const struct mpi_job *j)
{
	int in_place = w->rank == j->root && is_own_block(w, j, j->send, j->recv);
	mpi_count n = (mpi_count)j->count;
	MPI_Datatype type = type_of(j->type);

	return COUNTED(MPI_Gather)(in_place ? MPI_IN_PLACE : j->send, n, type, j->recv, n, type,
				   j->root, w->comm);
}

static int scatter(const struct mpi_world *w, const struct mpi_job *j)
{
	int in_place = w->rank == j->root && is_own_block(w, j, j->recv, j->send);
	mpi_count n = (mpi_count)j->count;
	MPI_Datatype type = type_of(j->type);

	return COUNTED(MPI_Scatter)(j->send, n, type, in_place ? MPI_IN_PLACE : j->recv, n, type,
				    j->root, w->comm);
}

static int all_to_all(const struct mpi_world *w, const struct mpi_job *j)
{
	const void *from = j->send == j->recv ? MPI_IN_PLACE : j->send;
	mpi_count n = (mpi_count)j->count;
	MPI_Datatype type = type_of(j->type);

	return COUNTED(MPI_Alltoall)(from, n, type, j->recv, n, type, w->comm);
}

static int barrier(const struct mpi_world *w, const struct mpi_job *j)
{
	(void)j;
	return MPI_Barrier(w->comm);
}

static const struct mpi_collective collectives[] = {
	{ "allreduce", allreduce },
	{ "allgather", allgather },
	{ "reduce_scatter", reduce_scatter },
	{ "broadcast", broadcast },
	{ "reduce", reduce },
	{ "gather", gather },
	{ "scatter", scatter },
	{ "all_to_all", all_to_all },
	{ "barrier", barrier },
	{ NULL, NULL },
};

/* ---- messages that no call waits for --------------------------------------------------------- */

/* Frees the stray messages that have completed, and returns their number. */
static int free_strays(struct mpi_world *w)
{
	struct stray **at = &w->strays;
	int n = 0;

	while (*at) {
		struct stray *s = *at;
		int done = 0;

		if (MPI_Test(&s->request, &done, MPI_STATUS_IGNORE))
			done = s->request == MPI_REQUEST_NULL;
		if (!done) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free(s);
		n++;
	}
	return n;
}

/* Begins to receive a stray message. *any: there was one. */
static int take_stray(struct mpi_world *w, int *any)
{
	mpi_count bytes = 0;
	MPI_Message message;
	MPI_Status how;
	struct stray *s;
	int e = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, any, &how);

	if (e || !*any)
		return e;
	e = COUNTED(MPI_Get_count)(&how, MPI_BYTE, &bytes);
	s = e ? NULL : malloc(sizeof(*s) + (size_t)bytes);
	if (!s)
		return e ? e : MPI_ERR_NO_MEM;
	e = MPI_Improbe(how.MPI_SOURCE, how.MPI_TAG, w->comm, any, &message, &how);
	if (!e && *any)
		e = COUNTED(MPI_Imrecv)(s->data, bytes, MPI_BYTE, &message, &s->request);
	if (e || !*any) {
		free(s);
		return e;
	}
	s->next = w->strays;
	w->strays = s;
	return MPI_SUCCESS;
}

static int drain(struct mpi_world *w, int *moved, int *left)
{
	int any, e;

	*moved = *left = 0;
	do {
		e = take_stray(w, &any);
		*moved |= !e && any;
	} while (!e && any);
	*moved |= free_strays(w) > 0;
	for (const struct stray *s = w->strays; s; s = s->next)
		++*left;
	return e;
}

/* ---- the processes -------------------------------------------------------------------------- */

/* Sets up the world's communicator, which then returns errors. */
static int take_comm(struct mpi_world *w)
{
	int e = MPI_Comm_set_errhandler(w->comm, MPI_ERRORS_RETURN);

	if (!e)
		e = MPI_Comm_rank(w->comm, &w->rank);
	return e ? e : MPI_Comm_size(w->comm, &w->size);
}

/* Makes a separate communicator, so that its messages meet no others. */
static int own_comm(struct mpi_world *w)
{
	int e = MPI_Comm_dup(MPI_COMM_WORLD, &w->comm);

	return e ? e : take_comm(w);
}

/* Whether no message is left that no rank will receive: MPICH ends a process that frees a
 * communicator with such messages. */
static int is_quiet(const struct mpi_world *w)
{
	int any = 0;

	return !MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, &any, MPI_STATUS_IGNORE) && !any;
}

#define LOOK_US 200

/* Whether all processes come here within `ms` milliseconds. Messages that they still send are
 * received. */
static int all_come(struct mpi_world *w, unsigned ms)
{
	double limit = MPI_Wtime() + ms / 1000.0;
	MPI_Request all;
	int come = 0, moved, left, e = MPI_Ibarrier(MPI_COMM_WORLD, &all);

	while (!e && !come && MPI_Wtime() < limit) {
		e = MPI_Test(&all, &come, MPI_STATUS_IGNORE);
		if (w->comm != MPI_COMM_NULL)
			(void)drain(w, &moved, &left);
		usleep(LOOK_US);
	}
	return !e && come;
}

/* MPI_Finalize waits for all processes, however long. A process that exits without it is seen by
 * its mpirun, which ends the job. */
static void end_mpi(struct mpi_world *w, unsigned ms)
{
	if (!w->start->failed || all_come(w, ms))
		MPI_Finalize();
	else
		fprintf(stderr,
			"ccs: rank %d: after a failure not all processes have reached the end of "
			"MPI within %u ms: MPI is not finalised, and the job ends when this process "
			"exits\n",
			w->rank, ms);
	free(w->start);
}

static void close_world(struct mpi_world *w, int how, unsigned ms)
{
	if (!w)
		return;
	if (w->comm != MPI_COMM_NULL && how == MPICALLS_WELL && is_quiet(w))
		MPI_Comm_free(&w->comm);
	if (w->start)
		atomic_fetch_or(&w->start->failed, how == MPICALLS_FAILED);
	if (w->start && atomic_fetch_sub(&w->start->worlds, 1) == 1)
		end_mpi(w, ms);
	free(w); /* not its strays: MPI may still write to them */
}

static struct mpi_world *new_world(void)
{
	struct mpi_world *w = calloc(1, sizeof(*w));

	if (w)
		w->comm = MPI_COMM_NULL;
	return w;
}

/* `child` gets the communicator that was made of w's, unless `e` says that none was. */
static int take_child(const struct mpi_world *w, struct mpi_world *child, MPI_Comm comm, int e,
		      struct mpi_world **out)
{
	if (!e) {
		child->comm = comm;
		child->start = w->start;
		if (child->start)
			child->start->worlds++;
		e = take_comm(child);
	}
	if (e)
		close_world(child, MPICALLS_FAILED, MPICALLS_PATIENCE_MS);
	else
		*out = child;
	return e;
}

/* A process without memory takes part, too: all other processes wait for it. */
static int split_world(struct mpi_world *w, int color, int key, struct mpi_world **out)
{
	struct mpi_world *child = color < 0 ? NULL : new_world();
	MPI_Comm comm = MPI_COMM_NULL;
	int e = MPI_Comm_split(w->comm, child ? color : MPI_UNDEFINED, key, &comm);

	*out = NULL;
	if (child)
		return take_child(w, child, comm, e, out);
	return !e && color >= 0 ? MPI_ERR_NO_MEM : e;
}

static int group_world(struct mpi_world *w, int n, const int *ranks, int tag,
		       struct mpi_world **out)
{
	struct mpi_world *child = new_world();
	MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
	MPI_Comm comm = MPI_COMM_NULL;
	int e = MPI_Comm_group(w->comm, &all);

	*out = NULL;
	if (!e)
		e = MPI_Group_incl(all, n, ranks, &some);
	if (!e)
		e = MPI_Comm_create_group(w->comm, some, tag, &comm);
	if (some != MPI_GROUP_NULL)
		MPI_Group_free(&some);
	if (all != MPI_GROUP_NULL)
		MPI_Group_free(&all);
	if (child)
		return take_child(w, child, comm, e, out);
	return e ? e : MPI_ERR_NO_MEM;
}

/* MPI_Testsome belongs to no communicator: MPICH raises its errors on these. If the program has
 * initialised MPI, the program chooses the error handler. */
static int start_mpi(int threads)
{
	int has, e = MPI_Init_thread(NULL, NULL,
				     threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, &has);

	if (!e)
		e = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	return e ? e : MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* Checks that several threads may call MPI at the same time. */
static int check_threads(void)
{
	int has = MPI_THREAD_SINGLE, e = MPI_Query_thread(&has);

	return e || has >= MPI_THREAD_MULTIPLE ? e : MPICALLS_NO_THREADS;
}

static int open_world(int threads, struct mpi_world **out)
{
	struct mpi_world *w = new_world();
	struct start *start = calloc(1, sizeof(*start));
	int e, initialised = 0;

	*out = NULL;
	if (!w || !start) {
		free(w);
		free(start);
		return MPI_ERR_NO_MEM;
	}
	e = MPI_Initialized(&initialised);
	if (!e && !initialised)
		e = start_mpi(threads);
	if (e || initialised) {
		free(start);
	} else {
		start->worlds = 1;
		w->start = start;
	}
	if (!e)
		e = own_comm(w);
	if (!e && threads)
		e = check_threads();
	if (e)
		close_world(w, MPICALLS_FAILED, MPICALLS_PATIENCE_MS);
	else
		*out = w;
	return e;
}

static int rank_of(const struct mpi_world *w)
{
	return w->rank;
}

static int size_of(const struct mpi_world *w)
{
	return w->size;
}

/* The first words of a text: up to a comma or the line's end, one space between them. */
static void copy_words(char *to, size_t size, const char *from)
{
	size_t n = 0, len = strcspn(from, ",\n");

	for (size_t i = 0; i < len && n + 1 < size; i++) {
		char c = from[i] == '\t' ? ' ' : from[i];

		if (c != ' ' || (n && to[n - 1] != ' '))
			to[n++] = c;
	}
	if (size)
		to[n] = '\0';
}

static void name_text(char *text, size_t size)
{
	char all[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int len;

	MPI_Get_library_version(all, &len);
	copy_words(text, size, all);
}

static void error_text(int e, char *text, size_t size)
{
	char all[MPI_MAX_ERROR_STRING] = "";
	int len;

	if (MPI_Error_string(e, all, &len) || !*all)
		strcpy(all, "an error without a name");
	copy_words(text, size, all);
}

/* ---- messages ------------------------------------------------------------------------------- */

struct mpi_messages {
	MPI_Comm comm;
	int room;
	MPI_Request *of; /* [room]; MPI_REQUEST_NULL: the place is free */
	MPI_Status *how;
	int *places;
	char *receives;
};

#define END_SECONDS 0.2

/* Ends a message: waits for a receive, which it cancels, until `limit` (of MPI_Wtime). Whether it
 * has ended. */
static int end_message(struct mpi_messages *m, int i, double limit)
{
	int done = m->of[i] == MPI_REQUEST_NULL;

	if (done)
		return 1;
	if (m->receives[i])
		MPI_Cancel(m->of + i);
	do
		MPI_Test(m->of + i, &done, MPI_STATUS_IGNORE);
	while (!done && m->receives[i] && MPI_Wtime() < limit);
	if (!done)
		MPI_Request_free(m->of + i);
	return done;
}

static int messages_free(struct mpi_messages *m)
{
	double limit = MPI_Wtime() + END_SECONDS;
	int left = 0;

	for (int i = 0; m && i < m->room; i++)
		left += !end_message(m, i, limit);
	if (m) {
		free(m->of);
		free(m->how);
		free(m->places);
		free(m->receives);
	}
	free(m);
	return left;
}

static int messages_new(const struct mpi_world *w, int room, struct mpi_messages **out)
{
	struct mpi_messages *m = calloc(1, sizeof(*m));
	size_t n = (size_t)room + !room;

	*out = m;
	if (!m)
		return MPI_ERR_NO_MEM;
	m->comm = w->comm;
	m->of = calloc(n, sizeof(*m->of));
	m->how = calloc(n, sizeof(*m->how));
	m->places = calloc(n, sizeof(*m->places));
	m->receives = calloc(n, sizeof(*m->receives));
	if (!m->of || !m->how || !m->places || !m->receives) {
		messages_free(m);
		*out = NULL;
		return MPI_ERR_NO_MEM;
	}
	m->room = room;
	for (int i = 0; i < room; i++)
		m->of[i] = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}

static int is_free(const struct mpi_messages *m, int place)
{
	return place >= 0 && place < m->room && m->of[place] == MPI_REQUEST_NULL;
}

static int send_message(struct mpi_messages *m, int place, const void *from, size_t bytes, int rank,
			int tag)
{
	if (!is_free(m, place))
		return MPI_ERR_REQUEST;
	m->receives[place] = 0;
	return COUNTED(MPI_Isend)(from, (mpi_count)bytes, MPI_BYTE, rank, tag, m->comm,
				  m->of + place);
}

static int recv_message(struct mpi_messages *m, int place, void *to, size_t bytes, int rank,
			int tag)
{
	if (!is_free(m, place))
		return MPI_ERR_REQUEST;
	m->receives[place] = 1;
	return COUNTED(MPI_Irecv)(to, (mpi_count)bytes, MPI_BYTE, rank, tag, m->comm,
				  m->of + place);
}

static int test_messages(struct mpi_messages *m, const int **places, int *n)
{
	int e = MPI_Testsome(m->room, m->of, n, m->places, m->how);

	*places = m->places;
	if (*n == MPI_UNDEFINED)
		*n = 0;
	for (int i = 0; e == MPI_ERR_IN_STATUS && i < *n; i++) {
		if (m->how[i].MPI_ERROR == MPI_SUCCESS)
			continue;
		e = m->how[i].MPI_ERROR;
		m->places[0] = m->places[i];
	}
	return e;
}

static int is_busy(const struct mpi_messages *m, int place)
{
	return place >= 0 && place < m->room && m->of[place] != MPI_REQUEST_NULL;
}

static void cancel_receives(struct mpi_messages *m)
{
	for (int i = 0; i < m->room; i++)
		if (m->receives[i] && m->of[i] != MPI_REQUEST_NULL)
			MPI_Cancel(m->of + i);
}

extern CCS_API const struct mpi_calls ccs_mpi_calls;

const struct mpi_calls ccs_mpi_calls = {
	.version = MPICALLS_VERSION,
	.collectives = collectives,
	.most = MOST,
	.open = open_world,
	.split = split_world,
	.group = group_world,
	.close = close_world,
	.rank = rank_of,
	.size = size_of,
	.name = name_text,
	.error = error_text,
	.reduces = reduces,
	.messages_new = messages_new,
	.messages_free = messages_free,
	.send = send_message,
	.recv = recv_message,
	.test = test_messages,
	.busy = is_busy,
	.cancel = cancel_receives,
	.drain = drain,
};
