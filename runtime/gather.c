/*
 * Allgather among the processes of a communicator, outside of its calls: each process gives the
 * same number of bytes, for the same call, and gets the bytes of all, in rank order.
 *
 * Engines move bytes without a meaning. So a contribution begins with a preface of fixed length,
 * with the name of the call and the number of bytes, and room for the first bytes, which are
 * usually all. If ranks come with different calls, all see the same difference before they
 * interpret any bytes. O(ranks x bytes).
 */
#include "runtime/comm.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 224u

struct preface {
	uint64_t bytes;
	char call[24]; /* its name, with a NUL */
	unsigned char first[FIRST_BYTES];
};

static void add_call(struct text *t, int rank, const struct preface *p)
{
	text_add(t, "rank %d calls %.23s with %llu bytes", rank, p->call,
		 (unsigned long long)p->bytes);
}

/* Checks that all have come for the same call. */
static ccs_status compare(const struct preface *all, int n)
{
	struct text t = { .len = 0 };
	int r = 1;

	while (r < n && !memcmp(all[r].call, all->call, sizeof(all->call)) &&
	       all[r].bytes == all->bytes)
		r++;
	if (r >= n)
		return CCS_OK;
	if (memcmp(all[r].call, all->call, sizeof(all->call)))
		return error_set(CCS_EINVAL,
				 "the ranks' calls differ: rank 0 calls %.23s; rank %d calls %.23s",
				 all->call, r, all[r].call);
	add_call(&t, 0, all);
	text_add(&t, "; ");
	add_call(&t, r, all + r);
	return error_set(CCS_EINVAL, "the ranks' calls differ: %s", t.buf);
}

/* Gathers the bytes that do not fit into prefaces. */
static ccs_status gather_rest(struct world *w, const void *mine, unsigned char *all, size_t bytes)
{
	size_t rest = bytes - FIRST_BYTES;
	unsigned char *of = malloc((size_t)w->nranks * rest);
	ccs_status s;

	s = of ? w->engine->processes->gather(w, (const unsigned char *)mine + FIRST_BYTES, of,
					      rest)
	       : error_set(CCS_ENOMEM, "out of memory for the data of %d ranks", w->nranks);
	for (size_t r = 0; r < (size_t)w->nranks && !s; r++)
		memcpy(all + r * bytes + FIRST_BYTES, of + r * rest, rest);
	free(of);
	return s;
}

ccs_status world_gather(struct world *w, const char *call, const void *mine, void *all,
			size_t bytes)
{
	size_t first = bytes < FIRST_BYTES ? bytes : FIRST_BYTES;
	struct preface own = { .bytes = bytes }, *of = calloc((size_t)w->nranks, sizeof(*of));
	ccs_status s;

	if (!of)
		return error_set(CCS_ENOMEM, "out of memory for the data of %d ranks", w->nranks);
	strncpy(own.call, call, sizeof(own.call) - 1);
	if (first)
		memcpy(own.first, mine, first);
	w->gathers = call;
	s = w->engine->processes->gather(w, &own, of, sizeof(own));
	if (!s)
		s = compare(of, w->nranks);
	for (size_t r = 0; r < (size_t)w->nranks && first && !s; r++)
		memcpy((unsigned char *)all + r * bytes, of[r].first, first);
	if (!s && bytes > first)
		s = gather_rest(w, mine, all, bytes);
	w->gathers = NULL;
	free(of);
	return s;
}

void world_tell_late(const struct world *w, int rank, struct text *t)
{
	text_add(t, "for %u ms rank %d has not called %s, as rank %d has", w->timeout, rank,
		 w->gathers, w->first);
}

/* ---- agreement ------------------------------------------------------------------------------ */

struct outcome {
	int32_t status;
	char text[CCS_TEXT];
};

/* All processes that failed give their reasons. In a process that failed, its own counts. */
static ccs_status gather_reasons(struct world *w, const struct outcome *own, struct outcome *all)
{
	ccs_status s = world_gather(w, "ccs_comm_agree", own, all, sizeof(*own));

	for (int r = 0; r < w->nranks && !s; r++)
		if (all[r].status && r != w->first)
			s = error_set(error_of_peer(all[r].status), "rank %d: %.1900s", r,
				      all[r].text);
	return s;
}

/* Usually nothing has failed. */
static ccs_status agree(struct world *w, const struct outcome *own, struct outcome *all)
{
	int32_t *statuses = calloc((size_t)w->nranks, sizeof(*statuses));
	bool well = true;
	ccs_status s;

	s = statuses ? world_gather(w, "ccs_comm_agree", &own->status, statuses, sizeof(*statuses))
		     : error_set(CCS_ENOMEM, "out of memory for the data of %d ranks", w->nranks);
	for (int r = 0; r < w->nranks && !s; r++)
		well &= statuses[r] == CCS_OK;
	free(statuses);
	return s || well ? s : gather_reasons(w, own, all);
}

ccs_status world_agree(struct world *w, ccs_status here)
{
	struct outcome own = { .status = here }, *all;
	ccs_status s;

	if (w->nlocal == w->nranks)
		return here;
	if (here)
		memcpy(own.text, error_thread()->text, sizeof(own.text));
	all = calloc((size_t)w->nranks, sizeof(*all));
	s = all ? agree(w, &own, all)
		: error_set(CCS_ENOMEM, "out of memory for the data of %d ranks", w->nranks);
	free(all);
	return here ? error_set(here, "%s", own.text) : s;
}
