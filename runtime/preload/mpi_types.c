/*
 * MPI's types and operators as those of ccs.
 *
 * In: MPI's handles. Out: for reductions, type and operator; for moves, which can have any type,
 * the bytes of an element and its layout. O(types) a call.
 */
#include "runtime/preload/preload.h"

#include <stdio.h>

enum kind { SIGNED, UNSIGNED, FLOAT, BYTE };

/* The types that MPI combines by arithmetic or bit operators, if ccs has them. Fortran's are
 * null if MPI was built without Fortran. */
static const struct {
	MPI_Datatype type;
	enum kind kind;
} types[] = {
	{ MPI_FLOAT, FLOAT },
	{ MPI_DOUBLE, FLOAT },
	{ MPI_INT, SIGNED },
	{ MPI_LONG, SIGNED },
	{ MPI_LONG_LONG, SIGNED },
	{ MPI_SHORT, SIGNED },
	{ MPI_SIGNED_CHAR, SIGNED },
	{ MPI_INT8_T, SIGNED },
	{ MPI_INT16_T, SIGNED },
	{ MPI_INT32_T, SIGNED },
	{ MPI_INT64_T, SIGNED },
	{ MPI_AINT, SIGNED },
	{ MPI_OFFSET, SIGNED },
	{ MPI_COUNT, SIGNED },
	{ MPI_UNSIGNED, UNSIGNED },
	{ MPI_UNSIGNED_LONG, UNSIGNED },
	{ MPI_UNSIGNED_LONG_LONG, UNSIGNED },
	{ MPI_UNSIGNED_SHORT, UNSIGNED },
	{ MPI_UNSIGNED_CHAR, UNSIGNED },
	{ MPI_UINT8_T, UNSIGNED },
	{ MPI_UINT16_T, UNSIGNED },
	{ MPI_UINT32_T, UNSIGNED },
	{ MPI_UINT64_T, UNSIGNED },
	{ MPI_INTEGER, SIGNED },
	{ MPI_REAL, FLOAT },
	{ MPI_DOUBLE_PRECISION, FLOAT },
	{ MPI_BYTE, BYTE },
};

/* The types of ccs, by kind and bytes. */
static const struct {
	enum kind kind;
	int size;
	ccs_dtype type;
} ours[] = {
	{ SIGNED, 1, CCS_INT8 },     { SIGNED, 2, CCS_INT16 },	  { SIGNED, 4, CCS_INT32 },
	{ SIGNED, 8, CCS_INT64 },    { UNSIGNED, 1, CCS_UINT8 },  { UNSIGNED, 2, CCS_UINT16 },
	{ UNSIGNED, 4, CCS_UINT32 }, { UNSIGNED, 8, CCS_UINT64 }, { BYTE, 1, CCS_UINT8 },
	{ FLOAT, 4, CCS_FLOAT32 },   { FLOAT, 8, CCS_FLOAT64 },
};

static const struct {
	MPI_Op op;
	const char *name;
	ccs_redop ours; /* CCS_NREDOPS: none */
} ops[] = {
	{ MPI_SUM, "MPI_SUM", CCS_SUM },	   { MPI_MAX, "MPI_MAX", CCS_MAX },
	{ MPI_MIN, "MPI_MIN", CCS_MIN },	   { MPI_PROD, "MPI_PROD", CCS_PROD },
	{ MPI_LAND, "MPI_LAND", CCS_NREDOPS },	   { MPI_BAND, "MPI_BAND", CCS_BAND },
	{ MPI_LOR, "MPI_LOR", CCS_NREDOPS },	   { MPI_BOR, "MPI_BOR", CCS_BOR },
	{ MPI_LXOR, "MPI_LXOR", CCS_NREDOPS },	   { MPI_BXOR, "MPI_BXOR", CCS_BXOR },
	{ MPI_MAXLOC, "MPI_MAXLOC", CCS_NREDOPS }, { MPI_MINLOC, "MPI_MINLOC", CCS_NREDOPS },
};

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static bool is_named(MPI_Datatype type)
{
	mpi_count integers, addresses, types_in;
	int combiner;
#if MPI_VERSION >= 4
	mpi_count counts;

	return !PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types_in,
					 &combiner) &&
	       combiner == MPI_COMBINER_NAMED;
#else
	return !PMPI_Type_get_envelope(type, &integers, &addresses, &types_in, &combiner) &&
	       combiner == MPI_COMBINER_NAMED;
#endif
}

static void name_type(MPI_Datatype type, char *why, size_t size)
{
	char name[MPI_MAX_OBJECT_NAME] = "";
	int len;

	if (is_named(type) && !PMPI_Type_get_name(type, name, &len) && *name)
		snprintf(why, size, "ccs has no type for type %s", name);
	else
		snprintf(why, size, "the reduction has a user-defined type");
}

bool type_find(MPI_Datatype type, ccs_dtype *found, char *why, size_t size)
{
	int bytes = 0;
	size_t row = 0;

	while (row < ROWS(types) && types[row].type != type)
		row++;
	if (row < ROWS(types))
		PMPI_Type_size(type, &bytes);
	for (size_t i = 0; bytes && i < ROWS(ours); i++) {
		*found = ours[i].type;
		if (ours[i].kind == types[row].kind && ours[i].size == bytes)
			return true;
	}
	name_type(type, why, size);
	return false;
}

bool op_suits(ccs_redop op, MPI_Datatype type)
{
	const bool bits = op == CCS_BAND || op == CCS_BOR || op == CCS_BXOR;
	size_t row = 0;

	while (types[row].type != type)
		row++;
	return types[row].kind != (bits ? FLOAT : BYTE);
}

bool op_find(MPI_Op op, ccs_redop *found, char *why, size_t size)
{
	size_t row = 0;

	while (row < ROWS(ops) && ops[row].op != op)
		row++;
	*found = row < ROWS(ops) ? ops[row].ours : CCS_NREDOPS;
	if (*found != CCS_NREDOPS)
		return true;
	if (row < ROWS(ops))
		snprintf(why, size, "ccs has no operator for operator %s", ops[row].name);
	else
		snprintf(why, size,
			 "the operator is not one of MPI_SUM, PROD, MAX, MIN, BAND, BOR and BXOR");
	return false;
}

bool type_bytes(MPI_Datatype type, MPI_Count count, size_t *bytes)
{
	MPI_Count each = MPI_UNDEFINED;

	if (PMPI_Type_size_x(type, &each) || each < 0)
		return false;
	return !__builtin_mul_overflow((size_t)each, (size_t)count, bytes) && *bytes <= PTRDIFF_MAX;
}

bool type_is_plain(MPI_Datatype type)
{
	MPI_Count size = 0, lb = 0, extent = 0;

	if (PMPI_Type_size_x(type, &size) || PMPI_Type_get_extent_x(type, &lb, &extent))
		return false;
	return lb == 0 && extent == size && is_named(type);
}

void *type_at(const void *buffer, MPI_Datatype type, MPI_Count n)
{
	MPI_Count lb, extent = 0;

	PMPI_Type_get_extent_x(type, &lb, &extent);
	return (char *)(uintptr_t)buffer + extent * n;
}
