/*
 * Programs in Fortran. In: arguments of MPI's Fortran procedures, which are addresses. Out: calls
 * of this library's C functions, which decide. The other forms of the collectives are counted,
 * and MPI's Fortran procedures run them.
 *
 * Most Fortran bindings call MPI's C functions, which this library replaces. These do not, and
 * are replaced here:
 *
 *   Open MPI  calls the profiling interface: mpi_allreduce_ (mpif.h and `use mpi`) and
 *             ompi_allreduce_f (`use mpi_f08`)
 *   MPICH     in `use mpi_f08`, MPI_Init, MPI_Finalize, the three forms of MPI_Barrier, and
 *             the procedures that start and free persistent requests
 *
 * Symbol names have one underscore appended, as all current compilers do. O(1).
 */
#include "runtime/preload/preload.h"

#pragma GCC visibility push(default)

#if defined(OPEN_MPI)

/* Common blocks of mpif.h, defined by the program if it uses them. NULL: no Fortran. */
extern int mpi_fortran_in_place_ __attribute__((weak));
extern int mpi_fortran_bottom_ __attribute__((weak));

static void *buffer(void *at)
{
	if (at == (void *)&mpi_fortran_in_place_)
		return MPI_IN_PLACE;
	return at == (void *)&mpi_fortran_bottom_ ? MPI_BOTTOM : at;
}

#define FORTRAN(name, parameters) \
	void mpi_##name##_ parameters; \
	void ompi_##name##_f parameters __attribute__((alias("mpi_" #name "_"))); \
	void mpi_##name##_ parameters
#define COMM PMPI_Comm_f2c(*comm)
#define TYPE(type) PMPI_Type_f2c(*(type))

FORTRAN(init, (MPI_Fint * e))
{
	*e = MPI_Init(NULL, NULL);
}

FORTRAN(init_thread, (MPI_Fint * required, MPI_Fint *provided, MPI_Fint *e))
{
	int has = 0;

	*e = MPI_Init_thread(NULL, NULL, *required, &has);
	*provided = has;
}

FORTRAN(finalize, (MPI_Fint * e))
{
	*e = MPI_Finalize();
}

FORTRAN(barrier, (MPI_Fint * comm, MPI_Fint *e))
{
	*e = MPI_Barrier(COMM);
}

FORTRAN(bcast,
	(void *data, MPI_Fint *n, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *e))
{
	*e = MPI_Bcast(buffer(data), *n, TYPE(type), *root, COMM);
}

FORTRAN(allreduce, (void *send, void *recv, MPI_Fint *n, MPI_Fint *type, MPI_Fint *op,
		    MPI_Fint *comm, MPI_Fint *e))
{
	*e = MPI_Allreduce(buffer(send), buffer(recv), *n, TYPE(type), PMPI_Op_f2c(*op), COMM);
}

FORTRAN(reduce_scatter_block, (void *send, void *recv, MPI_Fint *n, MPI_Fint *type, MPI_Fint *op,
			       MPI_Fint *comm, MPI_Fint *e))
{
	*e = MPI_Reduce_scatter_block(buffer(send), buffer(recv), *n, TYPE(type), PMPI_Op_f2c(*op),
				      COMM);
}

FORTRAN(reduce, (void *send, void *recv, MPI_Fint *n, MPI_Fint *type, MPI_Fint *op, MPI_Fint *root,
		 MPI_Fint *comm, MPI_Fint *e))
{
	*e = MPI_Reduce(buffer(send), buffer(recv), *n, TYPE(type), PMPI_Op_f2c(*op), *root, COMM);
}

/* These four differ only in the root. */
#define SIDES \
	void *send, MPI_Fint *n, MPI_Fint *type, void *recv, MPI_Fint *recv_n, MPI_Fint *recv_type
#define MOVED buffer(send), *n, TYPE(type), buffer(recv), *recv_n, TYPE(recv_type)

FORTRAN(allgather, (SIDES, MPI_Fint *comm, MPI_Fint *e))
{
	*e = MPI_Allgather(MOVED, COMM);
}

FORTRAN(alltoall, (SIDES, MPI_Fint *comm, MPI_Fint *e))
{
	*e = MPI_Alltoall(MOVED, COMM);
}

FORTRAN(gather, (SIDES, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *e))
{
	*e = MPI_Gather(MOVED, *root, COMM);
}

FORTRAN(scatter, (SIDES, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *e))
{
	*e = MPI_Scatter(MOVED, *root, COMM);
}

/* Other forms, by their profiling names, which only Fortran programs have. */
#define ADDRESSES0
#define ADDRESSES4 void *a, void *b, void *c, void *d,
#define ADDRESSES5 ADDRESSES4 void *e,
#define ADDRESSES6 ADDRESSES5 void *f,
#define ADDRESSES7 ADDRESSES6 void *g,
#define ADDRESSES8 ADDRESSES7 void *h,
#define OF_FORTRAN(name, parameters) \
	extern void pmpi_##name##_ parameters __attribute__((weak)); \
	FORTRAN(name, parameters)
#define FORM(number, kind, name, parameters, arguments) \
	OF_FORTRAN(name, parameters) \
	{ \
		form_count(FORM_##number, kind, COMM); \
		pmpi_##name##_ arguments; \
	}
#define IS_EACH_COUNT(what, NUMBER, Name, name, n, types) \
	FORM(NUMBER, EACH_COUNT, name, (ADDRESSES##n MPI_Fint * comm, MPI_Fint * error), \
	     (ARGUMENTS##n comm, error))
#define IS_NOT_BLOCKING(what, NUMBER, Name, name, n, types) \
	FORM(NUMBER, NOT_BLOCKING, i##name, \
	     (ADDRESSES##n MPI_Fint * comm, MPI_Fint * request, MPI_Fint * error), \
	     (ARGUMENTS##n comm, request, error))
#define IS_PERSISTENT(what, NUMBER, Name, name, n, types) \
	OF_FORTRAN(name##_init, (ADDRESSES##n MPI_Fint * comm, MPI_Fint * info, \
				 MPI_Fint * request, MPI_Fint * error)) \
	{ \
		pmpi_##name##_init_(ARGUMENTS##n comm, info, request, error); \
		if (!*error) \
			starts_of(FORM_##NUMBER, COMM, PMPI_Request_f2c(*request)); \
	}

FORMS_OF_COUNTS(IS_EACH_COUNT)
FORMS(IS_NOT_BLOCKING)
#if HAS_PERSISTENT
FORMS(IS_PERSISTENT)

OF_FORTRAN(start, (MPI_Fint * request, MPI_Fint *error))
{
	MPI_Request r = PMPI_Request_f2c(*request);

	starts_count(1, &r);
	pmpi_start_(request, error);
}

OF_FORTRAN(startall, (MPI_Fint * n, MPI_Fint *requests, MPI_Fint *error))
{
	for (MPI_Fint i = 0; i < *n; i++) {
		MPI_Request r = PMPI_Request_f2c(requests[i]);

		starts_count(1, &r);
	}
	pmpi_startall_(n, requests, error);
}

OF_FORTRAN(request_free, (MPI_Fint * request, MPI_Fint *error))
{
	MPI_Request r = PMPI_Request_f2c(*request);

	starts_end(&r);
	pmpi_request_free_(request, error);
}
#endif

#elif !defined(MPI_ABI_VERSION) /* MPI 5's standard ABI has no Fortran integers */

#define F08(name, parameters) \
	extern void mpi_##name##_f08_ parameters; \
	void mpi_##name##_f08_ parameters

/* In this binding the error argument is optional: its address may be NULL. */
static void tell(MPI_Fint *e, int error)
{
	if (e)
		*e = error;
}

F08(init, (MPI_Fint * e))
{
	tell(e, MPI_Init(NULL, NULL));
}

F08(init_thread, (MPI_Fint * required, MPI_Fint *provided, MPI_Fint *e))
{
	int has = 0;

	tell(e, MPI_Init_thread(NULL, NULL, *required, &has));
	*provided = has;
}

F08(finalize, (MPI_Fint * e))
{
	tell(e, MPI_Finalize());
}

F08(barrier, (MPI_Fint * comm, MPI_Fint *e))
{
	tell(e, MPI_Barrier(PMPI_Comm_f2c(*comm)));
}

F08(ibarrier, (MPI_Fint * comm, MPI_Fint *request, MPI_Fint *e))
{
	MPI_Request r = MPI_REQUEST_NULL;

	tell(e, MPI_Ibarrier(PMPI_Comm_f2c(*comm), &r));
	*request = PMPI_Request_c2f(r);
}

#if HAS_PERSISTENT

F08(barrier_init, (MPI_Fint * comm, MPI_Fint *info, MPI_Fint *request, MPI_Fint *e))
{
	MPI_Request r = MPI_REQUEST_NULL;

	tell(e, MPI_Barrier_init(PMPI_Comm_f2c(*comm), PMPI_Info_f2c(*info), &r));
	*request = PMPI_Request_c2f(r);
}

/* Handles are the same integers in both languages. */
_Static_assert(sizeof(MPI_Request) == sizeof(MPI_Fint), "MPICH's handles");

F08(start, (MPI_Fint * request, MPI_Fint *e))
{
	tell(e, MPI_Start(request));
}

F08(startall, (MPI_Fint * n, MPI_Fint *requests, MPI_Fint *e))
{
	tell(e, MPI_Startall(*n, requests));
}

F08(request_free, (MPI_Fint * request, MPI_Fint *e))
{
	tell(e, MPI_Request_free(request));
}
#endif

#endif

#pragma GCC visibility pop
