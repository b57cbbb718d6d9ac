/*
 * Decides whether a call is taken, and by which entry.
 *
 * In: the call's arguments on this rank. Out: the order to run it, or the reason why it is left
 * to MPI. Every rank of the communicator decides alike without communication, because the
 * decision uses only what MPI requires to be equal on all ranks: the bytes of a block (types may
 * differ), the root, and for reductions the type and the operator. The communicator determines
 * which entries are possible. Only the first call that would be taken communicates (held_meet).
 */
#include "runtime/preload/preload.h"

#include <stdio.h>

/* Whether an entry fits a communicator. */
enum { FIT_UNKNOWN, FIT_YES, FIT_NO };

/* The arguments that give a block's size on this rank. */
static void block_of(const struct held *h, const struct job *j, MPI_Count *count,
		     MPI_Datatype *type)
{
	bool by_send = (j->what == GATHER && h->rank != j->root) ||
		       (j->what == SCATTER && h->rank == j->root);

	*count = by_send ? j->send_count : j->recv_count;
	*type = by_send ? j->send_type : j->recv_type;
}

/* False: MPI will refuse the call, or must decide. */
static bool is_sound(const struct held *h, const struct job *j)
{
	MPI_Datatype type;
	MPI_Count count;

	if (collective_rooted(j->what) && (j->root < 0 || j->root >= h->size))
		return false;
	block_of(h, j, &count, &type);
	return j->what == BARRIER || (count >= 0 && type != MPI_DATATYPE_NULL);
}

/* The number of elements and their type; bytes if elements are only moved. */
static bool find_types(const struct held *h, const struct job *j, struct order *o, size_t *bytes,
		       char *why, size_t size)
{
	MPI_Datatype type;
	MPI_Count count;

	*bytes = 0;
	o->type = CCS_UINT8;
	o->op = CCS_SUM;
	o->count = 0;
	if (j->what == BARRIER)
		return true;
	block_of(h, j, &count, &type);
	if (collective_reduces(j->what) &&
	    (!type_find(type, &o->type, why, size) || !op_find(j->op, &o->op, why, size) ||
	     !op_suits(o->op, type)))
		return false;
	if (!type_bytes(type, count, bytes)) {
		snprintf(why, size, "MPI does not give the type's size");
		return false;
	}
	o->count = collective_reduces(j->what) ? (size_t)count : *bytes;
	return true;
}

static bool fits(const struct preload *p, struct held *h, size_t i, char *why, size_t size)
{
	const struct entry *e = p->entries.of + i;

	if (h->fits[i] != FIT_YES) {
		bool ok = module_means(e->module, e->what, h->size, why, size);

		h->fits[i] = ok ? FIT_YES : FIT_NO;
	}
	return h->fits[i] == FIT_YES;
}

/* Whether some entry of the collective is for `ranks` ranks, at any size. */
static bool has_ranks(const struct preload *p, enum collective what, int ranks)
{
	for (size_t i = 0; i < p->entries.n; i++) {
		const struct entry *e = p->entries.of + i;

		if (e->what == what && (!e->ranks || e->ranks == ranks))
			return true;
	}
	return false;
}

/* Whether the entry is for `ranks` ranks and blocks of that size. */
static bool is_for(const struct entry *e, int ranks, size_t bytes)
{
	size_t size = bytes;

	if (e->ranks && e->ranks != ranks)
		return false;
	/* a tuning's sizes are those of the larger buffer */
	if (e->ranks && collective_blocks(e->what) &&
	    __builtin_mul_overflow(bytes, (size_t)ranks, &size))
		size = SIZE_MAX;
	return size >= e->least && size <= e->most;
}

/* The first entry for that size that has a plan. */
static struct entry *find_entry(const struct preload *p, struct held *h, enum collective what,
				size_t bytes, char *why, size_t size)
{
	if (has_ranks(p, what, h->size))
		snprintf(why, size, "its size is in no range of CCS_MPI");
	else
		snprintf(why, size, "the tuning of CCS_MPI has nothing for %d rank%s", h->size,
			 h->size == 1 ? "" : "s");
	for (size_t i = 0; i < p->entries.n; i++) {
		struct entry *e = p->entries.of + i;

		if (e->what == what && is_for(e, h->size, bytes) && fits(p, h, i, why, size))
			return e;
	}
	return NULL;
}

bool decide(struct preload *p, struct held *h, const struct job *j, struct order *o, char *why,
	    size_t size)
{
	size_t bytes;

	*why = '\0';
	if (h->inter) {
		snprintf(why, size, "an intercommunicator");
		return false;
	}
	if (!is_sound(h, j) || !find_types(h, j, o, &bytes, why, size))
		return false;
	o->entry = find_entry(p, h, j->what, bytes, why, size);
	if (!o->entry)
		return false;
	h->entry = o->entry;
	if (h->meeting == NOT_MET)
		held_meet(p, h);
	if (h->meeting == REFUSED)
		snprintf(why, size, "%s", h->why);
	return h->meeting != REFUSED;
}
