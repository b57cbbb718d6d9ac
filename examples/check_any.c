/* Runs all plans of a module, up to 8 ranks, and checks every element of the results
 * against the contract. For sums of integers; what there is to ask of a module is in ccs.h. */
#include <ccs.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8, COUNT = 100 };

/* Any number that tells where it came from. */
static int64_t input(uint32_t rank, size_t i)
{
	return (int64_t)(rank + 1) * 1000003 + (int64_t)i;
}

/* Where a chunk begins in the rank's sendbuff or recvbuff, and how long it is, in elements. */
static size_t begin(const struct ccs_module *m, int plan, uint32_t chunk, ccs_direction other,
		    size_t *len)
{
	struct ccs_buffer_info b;
	size_t at = 0, q, from;
	int i = 0;

	for (; !ccs_module_buffer(m, plan, i, &b) && chunk >= b.first + b.blocks * b.chunks; i++)
		if (b.direction != other)
			at += b.blocks * (size_t)COUNT;
	q = (COUNT + b.chunks - 1) / b.chunks;
	from = (chunk - b.first) % b.chunks * q;
	from = from < COUNT ? from : COUNT;
	*len = COUNT - from < q ? COUNT - from : q;
	return at + (chunk - b.first) / b.chunks * (size_t)COUNT + from;
}

static size_t wrong_in(const struct ccs_module *m, int plan, int rank, uint32_t chunk,
		       const int64_t *recv)
{
	struct ccs_term terms[64];
	size_t n, len, same, out = begin(m, plan, chunk, CCS_IN, &len), wrong = 0;

	if (ccs_module_expects(m, plan, rank, chunk, terms, 64, &n) || n > 64)
		return len; /* the library's schedules have few */
	for (size_t k = 0; n && k < len; k++) {
		int64_t want = 0;

		for (size_t t = 0; t < n; t++) {
			size_t in = begin(m, plan, terms[t].chunk, CCS_OUT, &same);

			for (uint32_t q = 0; q < terms[t].ranks; q++)
				want += terms[t].times * input(terms[t].first + q, in + k);
		}
		wrong += recv[out + k] != want;
	}
	return wrong;
}

static int check(const struct ccs_module *m, int plan, const struct ccs_plan_info *p)
{
	struct ccs_comm *comm[MOST];
	int64_t *send[MOST], *recv[MOST];
	size_t in, out, wrong = 0;

	if (ccs_module_elements(m, p->nranks, COUNT, &in, &out) ||
	    ccs_comm_init_all(comm, p->nranks))
		return fprintf(stderr, "%s\n", ccs_error()), 1;
	ccs_group_start();
	for (int r = 0; r < p->nranks; r++) {
		send[r] = calloc(in + 1, sizeof(int64_t));
		recv[r] = calloc(out + 1, sizeof(int64_t));
		for (size_t i = 0; i < in; i++)
			send[r][i] = input((uint32_t)r, i);
		ccs_run(m, send[r], recv[r], COUNT, CCS_INT64, CCS_SUM, p->root, comm[r], NULL);
	}
	if (ccs_group_end())
		return fprintf(stderr, "%s\n", ccs_error()), 1;
	for (int r = 0; r < p->nranks; r++)
		for (uint32_t c = 0; c < p->chunks; c++)
			wrong += wrong_in(m, plan, r, c, recv[r]);
	printf("%s, %d ranks: %zu wrong\n", ccs_module_schedule(m), p->nranks, wrong);
	for (int r = 0; r < p->nranks; r++) {
		free(send[r]);
		free(recv[r]);
		ccs_comm_free(comm[r]);
	}
	return wrong != 0;
}

int main(int argc, char **argv)
{
	struct ccs_plan_info p;
	struct ccs_module *m;
	int wrong = 0;

	if (ccs_module_load(&m, argc > 1 ? argv[1] : "ar.so"))
		return fprintf(stderr, "%s\n", ccs_error()), 1;
	for (int plan = 0; !ccs_module_plan(m, plan, &p) && p.nranks <= MOST; plan++)
		wrong |= check(m, plan, &p);
	ccs_module_free(m);
	return wrong;
}
