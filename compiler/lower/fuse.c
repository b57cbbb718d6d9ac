/*
 * Assigns operations to workers, and fuses receives with sends.
 *
 * In:  a line after flow. Out: worker and index of every item; a receive fused
 * with its partner has the fused kind, and the partner is gone.
 *
 * A worker has at most one receiving and one sending end of a FIFO. These two are merged if
 *   - most messages of the receiving end are sent next by the sending end (the chain of a ring), or
 *   - they are in one wave, and their FIFOs have slots for all their messages (an exchange:
 *     send to p, receive from q): such a send never waits for a slot.
 * Sums are the exception. Where messages of several receiving ends are mostly added to the same
 * cells one after another, they wait for one another anyway: one worker has all these ends, and
 * the sending ends merged with them. It needs no waits, and an executor need not store the partial
 * sums. At the end, fuse_chains() joins workers that run one after another.
 *
 * A worker runs its items in the order of the line, where the sends of a wave come before its
 * receives. This keeps the rank's order except inside a wave. So only fusion and such waves can
 * cause a deadlock; the caller checks for one.
 *
 * A receive is fused with its partner if the worker has already placed every earlier send of the
 * partner's FIFO. The partner moves up to the receive; no operation between them conflicts with it,
 * as it is the next access to the cells. The worker of a chain becomes: send, receive-reduce-send
 * ..., receive.
 *
 * O(items).
 */
#include "compiler/lower/parts.h"

static void merge_ends(struct rank_ops *l, uint32_t in, uint32_t out)
{
	flow_union(l, l->recv_node[in], l->send_node[out]);
	l->recv_merged[in] = l->send_merged[out] = true;
}

/* For each receiving end, the sending end of most of its partners, and the number of these
 * partners. The first pass finds the candidate (Boyer and Moore's majority vote, 1981), the second
 * counts. */
static void count_partners(struct rank_ops *l)
{
	for (uint32_t i = 0; i < l->nline; i++) {
		const struct item *it = &l->items[i];
		if (it->partner == NONE || op_in(&it->op) == NONE)
			continue;
		uint32_t in = it->op.fifo, out = l->items[it->partner].op.fifo;
		if (l->votes[in] == 0)
			l->vote[in] = out;
		if (l->vote[in] == out)
			l->votes[in]++;
		else
			l->votes[in]--;
	}
	for (uint32_t i = 0; i < l->nline; i++)
		if (op_in(&l->items[i].op) != NONE)
			l->votes[l->items[i].op.fifo] = 0;
	for (uint32_t i = 0; i < l->nline; i++) {
		const struct item *it = &l->items[i];
		if (it->partner != NONE && op_in(&it->op) != NONE &&
		    l->vote[it->op.fifo] == l->items[it->partner].op.fifo)
			l->votes[it->op.fifo]++;
	}
}

static void merge_chains(struct rank_ops *l)
{
	count_partners(l);
	for (uint32_t i = 0; i < l->nline; i++) {
		uint32_t in = op_in(&l->items[i].op);
		if (in == NONE || l->vote[in] == NONE)
			continue;
		uint32_t *best = &l->feeder[l->vote[in]];
		if (*best == NONE || l->votes[*best] < l->votes[in])
			*best = in;
	}
	for (uint32_t i = 0; i < l->nline; i++) {
		uint32_t in = op_in(&l->items[i].op);
		if (in == NONE || l->recv_merged[in] || l->vote[in] == NONE ||
		    l->feeder[l->vote[in]] != in)
			continue;
		if (2 * l->votes[in] >= l->p->fifos[in].nrecvs)
			merge_ends(l, in, l->vote[in]);
	}
}

/* By FIFO: receives that are part of a sum, and those of them next to a receive of another end. */
static void count_sums(struct rank_ops *l)
{
	for (uint32_t i = 0; i < l->nline; i++) {
		struct item *it = &l->items[i];
		if (it->after == NONE)
			continue;
		struct item *of = &l->items[it->after];
		bool same = op_in(&it->op) == op_in(&of->op);
		if (op_in(&it->op) != NONE)
			l->joined[it->op.fifo] += !same;
		if (op_in(&of->op) != NONE)
			l->joined[of->op.fifo] += !same;
	}
	for (uint32_t i = 0; i < l->nline; i++)
		if (op_kind(&l->items[i].op) == OP_REDUCE_FROM)
			l->sums[l->items[i].op.fifo]++;
}

static bool mostly_joined(const struct rank_ops *l, const struct item *it)
{
	uint32_t in = op_in(&it->op);

	return it->node != NONE && (in == NONE || 2 * l->joined[in] >= l->sums[in]);
}

static void merge_sums(struct rank_ops *l)
{
	count_sums(l);
	for (uint32_t i = 0; i < l->nline; i++) {
		const struct item *it = &l->items[i];
		if (it->after == NONE || it->gone || !mostly_joined(l, it))
			continue;
		const struct item *of = &l->items[it->after];
		if (!of->gone && mostly_joined(l, of))
			flow_union(l, it->node, of->node);
	}
}

/* By FIFO of the rank: the slots that would hold all its messages, with a message or a chunk in
 * each slot. */
static void count_loads(struct rank_ops *l)
{
	for (uint32_t turn = 0; turn < 2; turn++)
		for (uint32_t i = 0; i < l->nline; i++) {
			const struct op *o = &l->items[i].op;
			uint32_t n = turn == 0 ? 0 : l->by_chunk ? o->n : 1;

			if (op_is_end(o))
				l->load[o->fifo] = turn * l->load[o->fifo] + n;
		}
}

/* Merges, in every wave, the k-th unmerged sending end and the k-th unmerged receiving end. */
static void merge_exchanges(struct rank_ops *l)
{
	count_loads(l);
	for (uint32_t i = 0, end; i < l->nline; i = end) {
		uint32_t r = i;
		for (end = i; end < l->nline && l->items[end].wave == l->items[i].wave;)
			end++;
		for (uint32_t s = i; s < end; s++) {
			uint32_t out = op_out(&l->items[s].op), in = NONE;
			if (out == NONE || l->send_merged[out] || l->load[out] > l->slots)
				continue;
			for (; r < end && in == NONE; r++) {
				in = op_in(&l->items[r].op);
				if (in != NONE && (l->recv_merged[in] || l->load[in] > l->slots))
					in = NONE;
			}
			if (in == NONE)
				break;
			merge_ends(l, in, out);
		}
	}
}

/* The worker of an item. Local operations without an end of a FIFO have one worker a task. (The
 * first task of a rank has its number.) */
static uint32_t worker_of(struct rank_ops *l, const struct item *it)
{
	uint32_t root = union_find(l->parent, it->node);
	uint32_t *w = l->level == LOWER_ONE ? &l->own[l->rank]
		      : l->has_end[root]    ? &l->worker_of[root]
					    : &l->own[it->task];

	if (*w == NONE) {
		ARENA_PUSH(l->arena, l->count, l->nworkers, l->capworkers) = 0;
		*w = l->nworkers - 1;
	}
	return *w;
}

/* Whether the receive may do its partner's send. */
static bool may_fuse(struct rank_ops *l, const struct item *it)
{
	if (l->level != LOWER_FUSE || it->partner == NONE || op_in(&it->op) == NONE)
		return false;
	const struct item *send = &l->items[it->partner];
	return union_find(l->parent, it->node) == union_find(l->parent, send->node) &&
	       l->placed[send->op.fifo] == send->ordinal;
}

static void fuse_item(struct rank_ops *l, struct item *it)
{
	struct item *send = &l->items[it->partner];
	uint32_t kind = op_kind(&it->op) == OP_RECV ? OP_RECV_SEND : OP_REDUCE_SEND;

	kind |= it->op.kind & OP_INITIAL;
	if (it->dead == it->op.n)
		kind |= OP_NOSTORE;
	it->op.kind = kind & 0xff;
	it->op.other = send->op.fifo;
	send->gone = true;
	l->placed[send->op.fifo]++;
}

void fuse_line(struct rank_ops *l)
{
	if (l->level == LOWER_FUSE || l->level == LOWER_MERGE) {
		merge_sums(l);
		merge_chains(l);
		merge_exchanges(l);
	}
	l->nworkers = 0;
	for (uint32_t k = 0; k < l->nitems; k++) {
		struct item *it = &l->items[line_at(l, k)];
		if (it->gone || it->node == NONE)
			continue;
		if (may_fuse(l, it))
			fuse_item(l, it);
		else if (op_kind(&it->op) == OP_SEND)
			l->placed[it->op.fifo]++;
		it->worker = worker_of(l, it);
		it->index = l->count[it->worker]++;
	}
}

/* ---- workers that run one after another ---------------------------------------- */

/* The worker of which `first`, the first item of its own worker, awaits the last item; or NONE. */
static uint32_t find_before(const struct rank_ops *l, const struct item *first)
{
	for (uint32_t i = first->wait; i < first->wait + first->nwaits; i++)
		if (l->waits[i].index == l->count[l->waits[i].worker] - 1)
			return l->waits[i].worker;
	return NONE;
}

/* If the first item of a worker waits for the end of another worker, joins the two. This adds no
 * waiting; rounds with another partner each become one worker. Returns whether any were joined;
 * waits must then be computed again. */
bool fuse_chains(struct rank_ops *l)
{
	uint32_t n = l->nworkers, kept = 0;
	uint32_t *offset = ARENA_ARRAY(l->arena, uint32_t, n);
	uint32_t *name = ARENA_ARRAY(l->arena, uint32_t, n);
	bool *followed = ARENA_ARRAY(l->arena, bool, n);

	/* In the order of the line, name[b] is known before a worker that waits for b starts. */
	for (uint32_t k = 0; k < l->nitems; k++) {
		const struct item *it = &l->items[line_at(l, k)];
		if (it->gone || it->node == NONE || it->index != 0)
			continue;
		uint32_t w = it->worker, b = find_before(l, it);
		if (b == NONE || followed[b]) {
			name[w] = kept++;
			continue;
		}
		followed[b] = true;
		name[w] = name[b];
		offset[w] = offset[b] + l->count[b];
	}
	if (kept == n)
		return false;
	uint32_t *count = ARENA_ARRAY(l->arena, uint32_t, kept);
	for (uint32_t i = 0; i < l->nitems; i++) {
		struct item *it = &l->items[i];
		if (it->gone || it->node == NONE)
			continue;
		it->index += offset[it->worker];
		it->worker = name[it->worker];
		it->nwaits = 0;
		count[it->worker]++;
	}
	for (uint32_t w = 0; w < kept; w++)
		l->count[w] = count[w];
	l->nworkers = kept;
	return true;
}
