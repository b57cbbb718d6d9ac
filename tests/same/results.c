/*
 * What a module computes, for same_as.sh, which compiles this with the header and the library of the
 * build that it asks: for each number of ranks, root, type, operator and length a line with a hash of
 * all bytes that the ranks have in the end, of random floats and numbers, also behind what is theirs.
 *
 *   results MODULE.so
 */
#include "runtime/ccs.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 9, ROOTS = 2, MARGIN = 64 };

static const size_t counts[] = { 1, 60, 5040 }; /* that many numbers of chunks divide */

static uint64_t next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static void fill(void *at, size_t n, ccs_dtype type, uint64_t *state)
{
	for (size_t i = 0; i < n; i++) {
		int64_t x = (int64_t)(next(state) >> 40) - (1 << 23);

		if (type == CCS_FLOAT32)
			((float *)at)[i] = (float)x / 1024;
		else
			((int32_t *)at)[i] = (int32_t)x;
	}
}

static uint64_t hash(uint64_t h, const unsigned char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		h = (h ^ at[i]) * UINT64_C(1099511628211);
	return h;
}

struct call {
	const struct ccs_module *m;
	int n, root;
	size_t count;
	ccs_dtype type;
	ccs_redop op;
};

/* Of all ranks' buffers afterwards; those that send and receive in one, in one. */
static ccs_status run(const struct call *c, struct ccs_comm **comm, uint64_t *result)
{
	size_t send, recv;
	unsigned char *at[MOST] = { NULL };
	ccs_status s = ccs_module_elements(c->m, c->n, c->count, &send, &recv);
	size_t bytes = 4 * (send + recv) + 2 * MARGIN;
	uint64_t state = 88172645463325252u;

	if (s)
		return s;
	ccs_group_start();
	for (int r = 0; r < c->n; r++) {
		at[r] = calloc(1, bytes);
		if (!at[r])
			abort();
		fill(at[r], bytes / 4, c->type, &state);
		ccs_run(c->m, at[r], at[r] + 4 * send + MARGIN, c->count, c->type, c->op, c->root,
			comm[r], NULL);
	}
	s = ccs_group_end();
	*result = UINT64_C(14695981039346656037);
	for (int r = 0; r < c->n; r++) {
		*result = hash(*result, at[r], bytes);
		free(at[r]);
	}
	return s;
}

/* A line for each call: a failure by its status, as texts may be worded anew. */
static void show(const struct call *c, struct ccs_comm **comm)
{
	uint64_t result;
	ccs_status s = run(c, comm, &result);

	printf("N=%d root=%d count=%zu %s %s: ", c->n, c->root, c->count, ccs_dtype_name(c->type),
	       ccs_redop_name(c->op));
	if (s)
		printf("%s\n", ccs_status_name(s));
	else
		printf("%016llx\n", (unsigned long long)result);
}

static void show_ranks(const struct ccs_module *m, int n)
{
	struct ccs_comm *comm[MOST];
	int roots = ccs_module_rooted(m) ? ROOTS : 1;

	if (ccs_comm_init_all(comm, n))
		return;
	for (int root = 0; root < roots && root < n; root++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
			for (int k = 0; k < 2; k++) {
				struct call c = { m,
						  n,
						  root,
						  counts[i],
						  k ? CCS_INT32 : CCS_FLOAT32,
						  k ? CCS_MAX : CCS_SUM };

				show(&c, comm);
			}
	for (int r = 0; r < n; r++)
		ccs_comm_free(comm[r]);
}

int main(int argc, char **argv)
{
	struct ccs_module *m;

	if (argc != 2)
		return 2;
	if (ccs_module_load(&m, argv[1])) {
		printf("%s\n", ccs_error());
		return 1;
	}
	for (int n = 1; n <= MOST; n++)
		if (ccs_module_has(m, n))
			show_ranks(m, n);
	ccs_module_free(m);
	return 0;
}
