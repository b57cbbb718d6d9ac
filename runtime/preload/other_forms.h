/*
 * The forms of the collectives that ccs does not have: nonblocking, persistent, and with a count
 * for each rank. Private to preload/, for preload.h.
 *
 * One table serves C, with counts of both widths, and Fortran. A row is
 *
 *   X(the collective, the form's number, its name in C and in Fortran, the arguments before the
 *     communicator: how many, their types in C)
 *
 * The user of the table defines COUNT and PLACE, MPI's types of counts and of displacements.
 * Fortran has the same arguments, as addresses.
 */
#ifndef CCS_RUNTIME_PRELOAD_OTHER_FORMS_H
#define CCS_RUNTIME_PRELOAD_OTHER_FORMS_H

#define TYPES_REDUCED (const void *, void *, COUNT, MPI_Datatype, MPI_Op)
#define TYPES_MOVED (const void *, COUNT, MPI_Datatype, void *, COUNT, MPI_Datatype)
#define TYPES_MOVED_ROOT (const void *, COUNT, MPI_Datatype, void *, COUNT, MPI_Datatype, int)

/* Collectives that collectives.c takes in their blocking form. */
#define FORMS_OF_ONE_COUNT(X) \
	X(ALLREDUCE, ALLREDUCE, Allreduce, allreduce, 5, TYPES_REDUCED) \
	X(REDUCE_SCATTER_BLOCK, REDUCE_SCATTER_BLOCK, Reduce_scatter_block, reduce_scatter_block, \
	  5, TYPES_REDUCED) \
	X(REDUCE, REDUCE, Reduce, reduce, 6, \
	  (const void *, void *, COUNT, MPI_Datatype, MPI_Op, int)) \
	X(BROADCAST, BCAST, Bcast, bcast, 4, (void *, COUNT, MPI_Datatype, int)) \
	X(ALLGATHER, ALLGATHER, Allgather, allgather, 6, TYPES_MOVED) \
	X(ALLTOALL, ALLTOALL, Alltoall, alltoall, 6, TYPES_MOVED) \
	X(GATHER, GATHER, Gather, gather, 7, TYPES_MOVED_ROOT) \
	X(SCATTER, SCATTER, Scatter, scatter, 7, TYPES_MOVED_ROOT)

#define FORMS_OF_COUNTS(X) \
	X(REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, Reduce_scatter, reduce_scatter, 5, \
	  (const void *, void *, const COUNT *, MPI_Datatype, MPI_Op)) \
	X(ALLGATHER, ALLGATHERV, Allgatherv, allgatherv, 7, \
	  (const void *, COUNT, MPI_Datatype, void *, const COUNT *, const PLACE *, MPI_Datatype)) \
	X(ALLTOALL, ALLTOALLV, Alltoallv, alltoallv, 8, \
	  (const void *, const COUNT *, const PLACE *, MPI_Datatype, void *, const COUNT *, \
	   const PLACE *, MPI_Datatype)) \
	X(ALLTOALL, ALLTOALLW, Alltoallw, alltoallw, 8, \
	  (const void *, const COUNT *, const PLACE *, const MPI_Datatype *, void *, \
	   const COUNT *, const PLACE *, const MPI_Datatype *)) \
	X(GATHER, GATHERV, Gatherv, gatherv, 8, \
	  (const void *, COUNT, MPI_Datatype, void *, const COUNT *, const PLACE *, MPI_Datatype, \
	   int)) \
	X(SCATTER, SCATTERV, Scatterv, scatterv, 8, \
	  (const void *, const COUNT *, const PLACE *, MPI_Datatype, void *, COUNT, MPI_Datatype, \
	   int))

#define FORMS_OF_NO_COUNT(X) X(BARRIER, BARRIER, Barrier, barrier, 0, ())

#define FORMS(X) FORMS_OF_ONE_COUNT(X) FORMS_OF_COUNTS(X) FORMS_OF_NO_COUNT(X)

/* Parameters of those types, and the matching arguments. */
#define PARAMETERS0()
#define PARAMETERS4(A, B, C, D) A a, B b, C c, D d,
#define PARAMETERS5(A, B, C, D, E) PARAMETERS4(A, B, C, D) E e,
#define PARAMETERS6(A, B, C, D, E, F) PARAMETERS5(A, B, C, D, E) F f,
#define PARAMETERS7(A, B, C, D, E, F, G) PARAMETERS6(A, B, C, D, E, F) G g,
#define PARAMETERS8(A, B, C, D, E, F, G, H) PARAMETERS7(A, B, C, D, E, F, G) H h,
#define ARGUMENTS0
#define ARGUMENTS4 a, b, c, d,
#define ARGUMENTS5 ARGUMENTS4 e,
#define ARGUMENTS6 ARGUMENTS5 f,
#define ARGUMENTS7 ARGUMENTS6 g,
#define ARGUMENTS8 ARGUMENTS7 h,

#define FORM_NUMBER(what, NUMBER, Name, name, n, types) FORM_##NUMBER,
enum form { FORMS(FORM_NUMBER) NFORMS };
#undef FORM_NUMBER

/* The forms of each collective: a count for each rank, MPI_I..., starts of MPI_..._init. */
enum form_kind { EACH_COUNT, NOT_BLOCKING, PERSISTENT, FORM_KINDS };

#endif
