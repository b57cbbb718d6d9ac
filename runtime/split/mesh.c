/*
 * Device meshes: a communicator's ranks as the points of a box, in row-major order, and the
 * communicators along its dimensions, by splitting (split.c).
 *
 * For a slice, the colour is a rank's coordinates in the other dimensions, the key its coordinates
 * in those of the slice. The mesh and the slice are the list that all ranks must give alike.
 * O(dimensions), plus the split.
 */
#include "runtime/split/split.h"

#include <stdlib.h>
#include <string.h>

struct ccs_mesh {
	struct ccs_comm *comm;
	int ndims;
	int dims[]; /* lengths; the last varies fastest */
};

/* Checks that `dims` are positive and have that many points. */
static ccs_status check_dims(const int *dims, int ndims, int size)
{
	long long points = 1;

	for (int i = 0; i < ndims; i++) {
		if (dims[i] < 1)
			return error_set(
				CCS_EINVAL,
				"ccs_mesh_create: dimension %d has length %d; the least is "
				"1",
				i, dims[i]);
		points = points > size ? points : points * dims[i];
	}
	if (points != size)
		return error_set(
			CCS_EINVAL,
			"ccs_mesh_create: the product of the lengths must be the number of "
			"ranks, %d, and is %s%lld",
			size, points > size ? "at least " : "", points);
	return CCS_OK;
}

ccs_status ccs_mesh_create(struct ccs_mesh **mesh, struct ccs_comm *comm, const int *dims,
			   int ndims)
{
	struct ccs_mesh *m;
	ccs_status s;

	if (!mesh || !comm || !dims)
		return error_set(CCS_EINVAL, "ccs_mesh_create: %s is NULL",
				 !mesh	? "mesh"
				 : comm ? "dims"
					: "the communicator");
	*mesh = NULL;
	if (ndims < 1)
		return error_set(CCS_EINVAL,
				 "ccs_mesh_create: a mesh has at least one dimension, not %d",
				 ndims);
	s = check_dims(dims, ndims, comm->world->nranks);
	if (s)
		return s;
	m = malloc(sizeof(*m) + (size_t)ndims * sizeof(*dims));
	if (!m)
		return error_set(CCS_ENOMEM, "out of memory for a mesh of %d dimensions", ndims);
	m->comm = comm;
	m->ndims = ndims;
	memcpy(m->dims, dims, (size_t)ndims * sizeof(*dims));
	*mesh = m;
	return CCS_OK;
}

void ccs_mesh_free(struct ccs_mesh *m)
{
	free(m);
}

ccs_status ccs_mesh_coordinates(const struct ccs_mesh *m, int rank, int *coordinates)
{
	if (!m || !coordinates)
		return error_set(CCS_EINVAL, "ccs_mesh_coordinates: %s is NULL",
				 m ? "coordinates" : "the mesh");
	if (rank < 0 || rank >= m->comm->world->nranks)
		return error_set(CCS_EINVAL,
				 "ccs_mesh_coordinates: rank %d is not in the range 0 "
				 "to %d",
				 rank, m->comm->world->nranks - 1);
	for (int i = m->ndims - 1; i >= 0; i--) {
		coordinates[i] = rank % m->dims[i];
		rank /= m->dims[i];
	}
	return CCS_OK;
}

/* ---- slices ------------------------------------------------------------------------------ */

/* at[i] becomes 1 + the position of dimension i in the slice; 0: it is not in the slice. */
static ccs_status check_along(const struct ccs_mesh *m, const int *along, int n, int *at)
{
	if (n < 1)
		return error_set(CCS_EINVAL,
				 "ccs_mesh_slice: a slice has at least one dimension, not %d", n);
	for (int i = 0; i < n; i++) {
		if (along[i] < 0 || along[i] >= m->ndims)
			return error_set(CCS_EINVAL,
					 "ccs_mesh_slice: dimension %d is not in the range 0 to %d",
					 along[i], m->ndims - 1);
		if (at[along[i]])
			return error_set(CCS_EINVAL, "ccs_mesh_slice: dimension %d is given twice",
					 along[i]);
		at[along[i]] = i + 1;
	}
	return CCS_OK;
}

static void place_rank(const struct ccs_mesh *m, const int *along, int n, const int *at,
		       const int *coordinates, struct proposal *p)
{
	p->color = p->key = 0;
	for (int i = 0; i < m->ndims; i++)
		if (!at[i])
			p->color = p->color * m->dims[i] + coordinates[i];
	for (int i = 0; i < n; i++)
		p->key = p->key * m->dims[along[i]] + coordinates[along[i]];
}

/* The proposal's list: the lengths, -1, the dimensions. */
static struct proposal propose(const struct ccs_mesh *m, const int *along, int n, int *list)
{
	memcpy(list, m->dims, (size_t)m->ndims * sizeof(*list));
	list[m->ndims] = -1;
	memcpy(list + m->ndims + 1, along, (size_t)n * sizeof(*list));
	return proposal_of(MEET_MESH, list, (uint32_t)(m->ndims + 1 + n));
}

ccs_status ccs_mesh_slice(const struct ccs_mesh *m, const int *along, int n, struct ccs_comm **out)
{
	struct attendee a = { .comm = m ? m->comm : NULL, .out = out };
	ccs_status s = split_enter(a.comm, "ccs_mesh_slice");
	int *list;

	if (s)
		return s;
	list = calloc(4 * (size_t)m->ndims + 1, sizeof(*list)); /* with room for `at` and
								   coordinates */
	a.own = proposal_of(MEET_MESH, NULL, 0);
	if (!list)
		s = error_set(CCS_ENOMEM, "out of memory for a slice");
	else if (!along || !out)
		s = error_set(CCS_EINVAL, "ccs_mesh_slice: %s is NULL", out ? "along" : "out");
	else
		s = check_along(m, along, n, list + 2 * m->ndims + 1);
	if (!s)
		s = ccs_mesh_coordinates(m, m->comm->rank, list + 3 * m->ndims + 1);
	if (!s) {
		a.own = propose(m, along, n, list);
		place_rank(m, along, n, list + 2 * m->ndims + 1, list + 3 * m->ndims + 1, &a.own);
	}
	free(list);
	return split_submit(&a, s);
}
