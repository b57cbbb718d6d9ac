/*
 * bound: the least time of a collective on a machine, and the cut that binds.
 *
 * In: a machine, a collective, its root. Out: seconds a byte, latencies, and the cut in words.
 *
 * Every set P of nodes gives a bound: data that must enter P, over the bandwidth of the links into P.
 * With S bytes in the whole result of N ranks, and |P| ranks in P:
 *
 *     allgather        (N - |P|) S/N     the ranks outside have that much, and P has a rank without it
 *     broadcast        S                 P is without the root
 *     gather           (N - |P|) S/N     P has the root
 *     reduce_scatter, reduce, scatter    the same for links the other way round
 *     all_to_all       |P| (N - |P|) S/N
 *
 * Two GPUs of 8, each with 300 GB/s to the seven others and 25 GB/s to the other node (DGX A100): into one
 * GPU go 15/16 S at 325 GB/s, into a node 8/16 S at 200 GB/s; so 346.67 GB/s is the most for S.
 *
 * The narrowest set for all but all_to_all is found as in ForestColl (Zhao and others, 2024, arXiv
 * 2402.06787): P binds no more than need/width says if a flow of `width` from each source reaches each
 * sink while links carry `need` times their bandwidth. A flow that falls short ends at a narrower set,
 * which is tried next (Dinkelbach, 1967): the last set is exact. The flow (Dinic, 1970) to the next sink
 * starts from the flow to the last one: only what arrived there must be led on. The first set is the
 * narrowest of clusters, which are joined by links of at least some bandwidth; mostly it is the last.
 * Schedules reach the bound, up to latency, where each node has as much bandwidth in as out (Edmonds,
 * 1973, for trees of one root).
 *
 * allreduce: the sum of allgather and reduce_scatter is no bound for every machine. On a line of ranks a
 * chain of sums to one end and a broadcast back, at the same time, take S over one link: less than the
 * sum. What holds is this. Divide the ranks into k parts. The first part that has the whole sum of an
 * element needs k - 1 messages before, and each other part one message after: 2 (k - 1) S bytes enter
 * parts (or leave them). If sets that bind allgather divide all ranks, as on every machine where all ranks
 * are alike, this is twice allgather. Also, S bytes leave each set that has some but not all ranks.
 *
 * all_to_all: the narrowest cut is NP-hard in general. The clusters' cuts, and all links together, which
 * carry each message once for each link of its shortest path, are bounds, but not always the best.
 *
 * Latency: the least sum over a path, from the farthest rank that is needed. With bytes, the first message
 * over the cut takes at least the latency between the nearest two ranks.
 *
 * Cost: O(links) for a sink, where its neighbours' flow is led on, and O(ranks) such flows to begin. Of ranks
 * that are alike one is a sink. Clusters and latencies look at MOST_WORK links; beyond that they see fewer
 * clusters and ranks, and the bound is still one, as it is when flows end at their limit.
 */
#include "compiler/cost/bound.h"
#include "lang/base/union_find.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST_WORK ((uint64_t)1 << 26)

const char *const bound_names[] = { [ALLREDUCE] = "allreduce",
				    [ALLGATHER] = "allgather", /* */
				    [REDUCE_SCATTER] = "reduce_scatter",
				    [BROADCAST] = "broadcast",
				    [REDUCE] = "reduce",
				    [GATHER] = "gather",
				    [SCATTER] = "scatter",
				    [ALL_TO_ALL] = "all_to_all",
				    [BARRIER] = "barrier",
				    NULL };

/* ---- what is asked --------------------------------------------------------------------------- */

struct arc {
	uint32_t to, back; /* back: the row of the arc the other way */
	int64_t left;	   /* room for flow */
};

/* What must enter sets. */
enum need {
	FLOWS, /* from each source to each sink */
	PAIRS, /* from every rank to every other one, each its own */
	PASSES /* 2 (k - 1) times into k parts together */
};

/* A set of nodes that takes long. */
struct narrow {
	double seconds; /* for each byte that a source has; 0: there is none yet */
	double width;	/* bytes/s of the links into it */
	bool *inside;	/* [nnodes]; NULL: all links together */
	uint32_t parts; /* PASSES: the number of parts, of which this is one */
	bool backwards;
};

struct search {
	struct arena *a;
	const struct machine *m;
	enum need need;
	bool backwards;		/* every link the other way round */
	bool all_send, all_get; /* all ranks are sources, sinks; else the root is the only one */
	uint32_t root;
	struct narrow best;
	uint64_t work,
		most; /* arcs that flows looked at; where they end, with the best set so far */
	/* The flow: of `rate` from each source, through links of `times` times their width. */
	int64_t rate, times;
	const int64_t *width; /* [nlinks] in units */
	uint32_t *first;      /* [nnodes + 1] rows of arcs */
	struct arc *arcs;
	uint32_t *arc;				  /* [nlinks] */
	uint32_t *distance, *next, *queue, *path; /* [nnodes] */
};

static uint32_t tail(const struct search *x, uint32_t link)
{
	return x->backwards ? x->m->links[link].dst : x->m->links[link].src;
}

static uint32_t head(const struct search *x, uint32_t link)
{
	return x->backwards ? x->m->links[link].src : x->m->links[link].dst;
}

static bool sends(const struct search *x, uint32_t rank)
{
	return x->all_send || rank == x->root;
}

static bool gets(const struct search *x, uint32_t rank)
{
	return x->all_get ? x->all_send || rank != x->root : rank == x->root;
}

/* ---- sets ---------------------------------------------------------------------------------------- */

static void offer_set(struct search *x, double need, double width, const uint32_t *part,
		      uint32_t which, uint32_t parts)
{
	double seconds = need > 0 ? need / width : 0; /* or infinite */

	if (seconds <= x->best.seconds)
		return;
	x->best = (struct narrow){ .seconds = seconds,
				   .width = width,
				   .parts = parts,
				   .backwards = x->backwards,
				   .inside = part ? ARENA_ARRAY(x->a, bool, x->m->nnodes) : NULL };
	for (uint32_t n = 0; n < x->m->nnodes && part; n++)
		x->best.inside[n] = part[n] == which;
}

/* Looks at each part of a division of the nodes, or at all of them together. O(links) */
static void try_parts(struct search *x, const uint32_t *part, uint32_t nparts)
{
	const struct machine *m = x->m;
	double *into = ARENA_ARRAY(x->a, double, nparts), all = 0;
	uint32_t *ranks = ARENA_ARRAY(x->a, uint32_t, nparts), *senders, *getters, with_ranks = 0;

	senders = ARENA_ARRAY(x->a, uint32_t, nparts);
	getters = ARENA_ARRAY(x->a, uint32_t, nparts);
	for (uint32_t r = 0; r < m->nranks; r++) {
		with_ranks += !ranks[part[r]]++;
		senders[part[r]] += sends(x, r);
		getters[part[r]] += gets(x, r);
	}
	for (uint32_t i = 0; i < m->nlinks; i++)
		if (part[tail(x, i)] != part[head(x, i)])
			into[part[head(x, i)]] += m->links[i].bandwidth;
	for (uint32_t k = 0; k < nparts; k++) {
		uint32_t others = m->nranks - ranks[k];

		all += ranks[k] ? into[k] : 0;
		if (x->need == FLOWS && getters[k])
			offer_set(x, (x->all_send ? m->nranks : 1) - senders[k], into[k], part, k,
				  1);
		else if (x->need == PAIRS)
			offer_set(x, (double)ranks[k] * others, into[k], part, k, 1);
	}
	if (x->need == PASSES && with_ranks > 1)
		offer_set(x, 2.0 * (with_ranks - 1), all, part, part[0], with_ranks);
}

/* Numbers the parts from 0; returns how many there are. */
static uint32_t number_parts(const struct search *x, uint32_t *up, uint32_t *part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->m->nnodes; i++)
		if (union_find(up, i) == i)
			part[i] = n++;
	for (uint32_t i = 0; i < x->m->nnodes; i++)
		part[i] = part[union_find(up, i)];
	return n;
}

/* Tries the nodes, then what their widest links join, then the next ones, and so on. */
static void try_clusters(struct search *x)
{
	const struct machine *m = x->m;
	uint32_t *up = ARENA_ARRAY(x->a, uint32_t, m->nnodes), parts = m->nnodes, before = 0;
	uint32_t *part = ARENA_ARRAY(x->a, uint32_t, m->nnodes);
	double width = INFINITY, next;

	for (uint32_t i = 0; i < m->nnodes; i++)
		up[i] = part[i] = i;
	for (uint64_t work = 0; parts > 1 && work < MOST_WORK; work += m->nlinks) {
		if (parts != before)
			try_parts(x, part, parts);
		before = parts;
		next = 0;
		for (uint32_t i = 0; i < m->nlinks; i++)
			if (m->links[i].bandwidth < width && m->links[i].bandwidth > next)
				next = m->links[i].bandwidth;
		if (next <= 0)
			return;
		width = next;
		for (uint32_t i = 0; i < m->nlinks; i++)
			if (m->links[i].bandwidth >= width)
				up[union_find(up, m->links[i].src)] =
					union_find(up, m->links[i].dst);
		parts = number_parts(x, up, part);
	}
}

/* ---- flows ------------------------------------------------------------------------------------------ */

/* Bandwidths as whole numbers of a unit, so that sums and products are exact: the greatest common
 * divisor, or a larger one, rounded up (then a set may be missed that is narrower by less than one part
 * in 2^62 / ranks / links). */
static const int64_t *take_widths(struct arena *a, const struct machine *m)
{
	int64_t *width = ARENA_ARRAY(a, int64_t, m->nlinks);
	double unit = 0, all = 0, least;

	for (uint32_t i = 0; i < m->nlinks; i++) {
		double b = m->links[i].bandwidth, rest;

		all += b;
		for (; unit > 0; b = unit, unit = rest)
			rest = fmod(b, unit);
		unit = b;
	}
	least = all * m->nranks / 0x1p60;
	for (uint32_t i = 0; i < m->nlinks; i++)
		width[i] = (int64_t)ceil(m->links[i].bandwidth / (unit > least ? unit : least));
	return width;
}

static void make_arcs(struct search *x)
{
	const uint32_t nodes = x->m->nnodes, links = x->m->nlinks;
	uint32_t *at;

	x->first = ARENA_ARRAY(x->a, uint32_t, nodes + 1);
	x->arcs = ARENA_ARRAY(x->a, struct arc, 2 * (size_t)links);
	x->arc = ARENA_ARRAY(x->a, uint32_t, links);
	x->distance = ARENA_ARRAY(x->a, uint32_t, nodes);
	x->next = ARENA_ARRAY(x->a, uint32_t, nodes);
	x->queue = ARENA_ARRAY(x->a, uint32_t, nodes);
	x->path = ARENA_ARRAY(x->a, uint32_t, nodes);
	for (uint32_t i = 0; i < links; i++) {
		x->first[tail(x, i) + 1]++;
		x->first[head(x, i) + 1]++;
	}
	for (uint32_t n = 0; n < nodes; n++)
		x->first[n + 1] += x->first[n];
	at = arena_copy(x->a, x->first, sizeof(*at) * nodes);
	for (uint32_t i = 0; i < links; i++) {
		uint32_t there = at[tail(x, i)]++, back = at[head(x, i)]++;

		x->arc[i] = there;
		x->arcs[there] = (struct arc){ head(x, i), back, 0 };
		x->arcs[back] = (struct arc){ tail(x, i), there, 0 };
	}
}

/* Finds distances to `to` along arcs with room, up to that of `from`; false: it is not among them. NONE:
 * those of all nodes. */
static bool find_distances(struct search *x, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	memset(x->distance, 0xff, sizeof(*x->distance) * x->m->nnodes);
	x->distance[to] = 0;
	x->queue[n++] = to;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = x->queue[i];

		x->work += x->first[node + 1] - x->first[node];
		for (uint32_t k = x->first[node]; k < x->first[node + 1]; k++) {
			uint32_t other = x->arcs[k].to;

			if (x->distance[other] != NONE || !x->arcs[x->arcs[k].back].left)
				continue;
			x->distance[other] = x->distance[node] + 1;
			x->next[other] = x->first[other];
			if (other == from)
				return true;
			x->queue[n++] = other;
		}
	}
	return false;
}

/* Adds flow to the path of n arcs; returns its amount, at most `most`. */
static int64_t fill_path(struct search *x, uint32_t n, int64_t most)
{
	for (uint32_t i = 0; i < n; i++)
		if (x->arcs[x->path[i]].left < most)
			most = x->arcs[x->path[i]].left;
	for (uint32_t i = 0; i < n; i++) {
		struct arc *a = &x->arcs[x->path[i]];

		a->left -= most;
		x->arcs[a->back].left += most;
	}
	return most;
}

/* Whether that much more can flow. If not, the nodes with a distance are a narrow set, unless the work is
 * at its limit. */
static bool push_flow(struct search *x, uint32_t from, uint32_t to, int64_t amount)
{
	while (amount > 0) {
		uint32_t n = 0, node = from;

		if (x->work >= x->most || !find_distances(x, from, to))
			return false;
		while (amount > 0) {
			if (node == to) {
				amount -= fill_path(x, n, amount);
				n = 0;
				node = from;
			}
			uint32_t k = x->next[node], end = x->first[node + 1];

			while (k < end && (!x->arcs[k].left ||
					   x->distance[x->arcs[k].to] + 1 != x->distance[node]))
				k++;
			x->next[node] = k;
			if (k < end) {
				x->path[n++] = k;
				node = x->arcs[k].to;
			} else if (n) { /* a dead end */
				node = x->arcs[x->arcs[x->path[--n]].back].to;
				x->next[node]++;
			} else {
				break;
			}
		}
	}
	return true;
}

/* Whether the sink `to` gets all flow, which the sink `held` has now; NONE: none flows yet. */
static bool lead_flow(struct search *x, uint32_t held, uint32_t to)
{
	const uint32_t nranks = x->m->nranks;

	if (held != NONE)
		return push_flow(x, held, to, x->rate * (x->all_send ? nranks : 1));
	for (uint32_t i = 0; i < x->m->nlinks; i++) {
		struct arc *a = &x->arcs[x->arc[i]];

		a->left = x->width[i] * x->times;
		x->arcs[a->back].left = 0;
	}
	for (uint32_t r = 0; r < nranks; r++)
		if (r != to && sends(x, r) && !push_flow(x, r, to, x->rate))
			return false;
	return true;
}

/* Takes rate and times from the best set. */
static void take_rate(struct search *x)
{
	const bool *inside = x->best.inside;

	x->rate = x->times = 0;
	for (uint32_t r = 0; r < x->m->nranks; r++)
		x->times += sends(x, r) && !inside[r];
	for (uint32_t i = 0; i < x->m->nlinks; i++)
		x->rate += inside[head(x, i)] && !inside[tail(x, i)] ? x->width[i] : 0;
}

/* Takes the set of nodes that have a distance, which is narrower. */
static void take_set(struct search *x)
{
	const struct machine *m = x->m;
	double width = 0;
	uint32_t need = 0;

	for (uint32_t r = 0; r < m->nranks; r++)
		need += sends(x, r) && x->distance[r] == NONE;
	for (uint32_t i = 0; i < m->nlinks; i++)
		if (x->distance[head(x, i)] != NONE && x->distance[tail(x, i)] == NONE)
			width += m->links[i].bandwidth;
	x->best.seconds = need / width;
	x->best.width = width;
	for (uint32_t n = 0; n < m->nnodes; n++)
		x->best.inside[n] = x->distance[n] != NONE;
}

static uint32_t turn_rank(uint32_t rank, uint32_t block, uint32_t by)
{
	return rank / block * block + (rank % block + by) % block;
}

/* Whether the turn by `by` within blocks of `block` ranks takes each link to one with its bandwidth. */
static bool is_symmetry(const struct machine *m, uint32_t block, uint32_t by)
{
	for (uint32_t i = 0; i < m->nlinks; i++) {
		const struct machine_link *l = &m->links[i];
		uint32_t image =
			machine_link(m, turn_rank(l->src, block, by), turn_rank(l->dst, block, by));

		if (image == NONE || m->links[image].bandwidth != l->bandwidth)
			return false;
	}
	return true;
}

/* The first of the ranks that are alike, by turns within blocks; for machines without switches. One of
 * them stands for all as a sink of flows from all ranks. */
static uint32_t *find_orbits(const struct search *x)
{
	const struct machine *m = x->m;
	uint32_t *up = ARENA_ARRAY(x->a, uint32_t, m->nranks);

	for (uint32_t r = 0; r < m->nranks; r++)
		up[r] = r;
	for (uint32_t block = m->nranks; block > 1 && m->nranks == m->nnodes; block--)
		for (uint32_t by = 1; by < block && m->nranks % block == 0; by++) {
			bool joins = false;

			if (block % by != 0)
				continue;
			for (uint32_t r = 0; r < m->nranks && !joins; r++)
				joins = union_find(up, r) !=
					union_find(up, turn_rank(r, block, by));
			if (!joins || !is_symmetry(m, block, by))
				continue;
			for (uint32_t r = 0; r < m->nranks; r++) {
				uint32_t a = union_find(up, r);
				uint32_t b = union_find(up, turn_rank(r, block, by));

				up[a > b ? a : b] = a < b ? a : b;
			}
		}
	for (uint32_t r = 0; r < m->nranks; r++)
		up[r] = union_find(up, r);
	return up;
}

/* The narrowest set between sources and sinks. */
static void find_narrowest(struct search *x)
{
	uint32_t held = NONE, *orbit = x->all_send && x->all_get ? find_orbits(x) : NULL;

	try_clusters(x);
	make_arcs(x);
	take_rate(x);
	for (uint32_t r = 0; r < x->m->nranks && x->rate && x->work < x->most;) {
		if (!gets(x, r) || (orbit && orbit[r] != r)) {
			r++;
			continue;
		}
		if (lead_flow(x, held, r)) {
			held = r++;
			continue;
		}
		if (x->work >= x->most)
			return;
		take_set(x);
		take_rate(x);
		held = NONE;
	}
}

/* Divides the ranks by sets that are as narrow as the best one: the nodes from which a sink could get
 * more, were they to have it. Ranks without such a set are alone. */
static void try_tight(struct search *x, struct search *passes)
{
	const struct machine *m = x->m;
	uint32_t *up = ARENA_ARRAY(x->a, uint32_t, m->nnodes), *part, held = NONE;
	bool *taken = ARENA_ARRAY(x->a, bool, m->nnodes);

	for (uint32_t n = 0; n < m->nnodes; n++)
		up[n] = n;
	for (uint32_t r = 0; r < m->nranks; r++) {
		bool fits = lead_flow(x, held, r);

		held = r;
		if (taken[r] || !fits)
			continue;
		find_distances(x, NONE, r);
		for (uint32_t q = 0; q < m->nranks; q++)
			fits &= x->distance[q] == NONE || !taken[q];
		for (uint32_t n = 0; n < m->nnodes && fits; n++)
			if (x->distance[n] != NONE && !taken[n]) {
				taken[n] = true;
				up[n] = r;
			}
	}
	part = ARENA_ARRAY(x->a, uint32_t, m->nnodes);
	try_parts(passes, part, number_parts(x, up, part));
}

/* Whether every link has one the other way with as much bandwidth. */
static bool is_mirrored(const struct machine *m)
{
	for (uint32_t i = 0; i < m->nlinks; i++) {
		const struct machine_link *l = &m->links[i];
		uint32_t back = machine_link(m, l->dst, l->src);

		if (back == NONE || m->links[back].bandwidth != l->bandwidth)
			return false;
	}
	return true;
}

/* Takes the other search's set if it takes longer; `times`: bytes of its sources for each one of ours. */
static void take_longer(struct search *x, const struct search *other, double times)
{
	if (other->best.seconds * times <= x->best.seconds)
		return;
	x->best = other->best;
	x->best.seconds *= times;
}

/* allreduce; the source's bytes are S. With as much bandwidth out of each set as into it, no set of the
 * last kind says more than twice allgather: S over its width, and allgather (N - |P|) S/N of it or of its
 * complement. */
static void find_passes(struct search *x)
{
	const bool mirrored = is_mirrored(x->m);

	for (int back = 0; back < (mirrored ? 1 : 2) && x->best.seconds < INFINITY; back++) {
		struct search one = *x, all = *x;
		double twice;

		x->need = PASSES;
		one.backwards = all.backwards = x->backwards = back;
		one.best = all.best = (struct narrow){ 0 };
		one.all_send = false;
		one.root = 0;
		try_clusters(x);
		find_narrowest(&all);
		twice = 2 * all.best.seconds / x->m->nranks * (1 - 1e-12);
		if (x->best.seconds < twice && all.work < all.most && all.best.seconds < INFINITY)
			try_tight(&all, x);
		if (mirrored && x->best.seconds >= twice && all.best.seconds < INFINITY)
			continue;
		find_narrowest(&one);
		take_longer(x, &one, 1);
	}
}

/* ---- latencies -------------------------------------------------------------------------------------- */

/* Links by their tail. */
struct leaving {
	uint32_t *first, *links; /* [nnodes + 1] rows of links */
	double *at;		 /* [nnodes] distances */
	uint32_t *queue;	 /* [nnodes + 1] */
	bool *queued;
};

static void index_leaving(const struct search *x, struct leaving *v)
{
	const uint32_t nodes = x->m->nnodes, nlinks = x->m->nlinks;
	uint32_t *next;

	v->first = ARENA_ARRAY(x->a, uint32_t, nodes + 1);
	v->links = ARENA_ARRAY(x->a, uint32_t, nlinks);
	v->at = ARENA_ARRAY(x->a, double, nodes);
	v->queue = ARENA_ARRAY(x->a, uint32_t, nodes + 1);
	v->queued = ARENA_ARRAY(x->a, bool, nodes);
	for (uint32_t i = 0; i < nlinks; i++)
		v->first[tail(x, i) + 1]++;
	for (uint32_t n = 0; n < nodes; n++)
		v->first[n + 1] += v->first[n];
	next = arena_copy(x->a, v->first, sizeof(*next) * nodes);
	for (uint32_t i = 0; i < nlinks; i++)
		v->links[next[tail(x, i)]++] = i;
}

/* The distances of ranks from a rank, in s or in links: the most, and in *sum their sum. A node whose
 * distance falls goes to the end of the queue (Bellman, 1958). Returns the number of links looked at. */
static uint64_t find_farthest(const struct search *x, struct leaving *v, uint32_t from, bool links,
			      double *most, double *sum)
{
	const uint32_t nodes = x->m->nnodes, room = nodes + 1;
	uint64_t work = 0;

	for (uint32_t n = 0; n < nodes; n++)
		v->at[n] = INFINITY;
	v->at[from] = 0;
	v->queue[0] = from;
	for (uint32_t i = 0, end = 1; i != end; i = (i + 1) % room) {
		uint32_t node = v->queue[i];

		v->queued[node] = false;
		work += v->first[node + 1] - v->first[node];
		for (uint32_t k = v->first[node]; k < v->first[node + 1]; k++) {
			uint32_t link = v->links[k], next = head(x, link);
			double at = v->at[node] + (links ? 1 : x->m->links[link].latency);

			if (at >= v->at[next])
				continue;
			v->at[next] = at;
			if (v->queued[next])
				continue;
			v->queued[next] = true;
			v->queue[end] = next;
			end = (end + 1) % room;
		}
	}
	for (uint32_t r = 0; r < x->m->nranks; r++) {
		*most = v->at[r] > *most ? v->at[r] : *most;
		*sum += v->at[r];
	}
	return work;
}

/* From the root, or from as many ranks as the limits of work allow: the farthest, and the sum over pairs. */
static double find_far(const struct search *x, bool rooted, bool links, double *sum)
{
	struct leaving v;
	double most = 0;
	uint64_t work = 0;

	*sum = 0;
	index_leaving(x, &v);
	for (uint32_t r = rooted ? x->root : 0;
	     r < x->m->nranks && work < MOST_WORK && work <= x->most; r++) {
		work += find_farthest(x, &v, r, links, &most, sum);
		if (rooted)
			break;
	}
	return most;
}

/* Not more than the latency between any two ranks: switches have the distance of their nearest rank. */
static double find_near(const struct search *x)
{
	const struct machine *m = x->m;
	double *at = ARENA_ARRAY(x->a, double, m->nnodes), near = INFINITY;
	bool again = true;

	for (uint32_t n = m->nranks; n < m->nnodes; n++)
		at[n] = INFINITY;
	while (again) {
		again = false;
		for (uint32_t i = 0; i < m->nlinks; i++) {
			const struct machine_link *l = &m->links[i];
			double reached = at[l->src] + l->latency;

			if (l->dst < m->nranks) {
				near = reached < near ? reached : near;
			} else if (reached < at[l->dst]) {
				at[l->dst] = reached;
				again = true;
			}
		}
	}
	return near;
}

/* ---- words ---------------------------------------------------------------------------------------- */

/* "rank 3", "ranks 0 to 7 (8 of 16)", "8 of 16 ranks (0, 2, 4 ...)": the ranks on one side of a set. */
static const char *name_ranks(struct arena *a, const struct machine *m, const bool *inside,
			      bool side)
{
	uint32_t n = 0, some[3] = { 0 }, last = 0;

	for (uint32_t r = 0; r < m->nranks; r++)
		if (inside[r] == side) {
			if (n < 3)
				some[n] = r;
			n++;
			last = r;
		}
	if (n == 1)
		return arena_printf(a, "rank %u", last);
	if (last - some[0] == n - 1)
		return arena_printf(a, "ranks %u to %u (%u of %u)", some[0], last, n, m->nranks);
	return n == 2 ? arena_printf(a, "ranks %u and %u (2 of %u)", some[0], some[1], m->nranks)
		      : arena_printf(a, "%u of %u ranks (%u, %u, %u%s)", n, m->nranks, some[0],
				     some[1], some[2], n > 3 ? " ..." : "");
}

/* The nodes on one side of a set that its links join to the other side. */
static const char *name_ends(const struct search *x, struct arena *a, bool side)
{
	const struct machine *m = x->m;
	const bool *inside = x->best.inside;
	bool *seen = ARENA_ARRAY(x->a, bool, m->nnodes);
	const char *names = "";
	uint32_t n = 0, ranks = 0;

	for (uint32_t i = 0; i < m->nlinks; i++) {
		uint32_t end = inside[head(x, i)] == side ? head(x, i) : tail(x, i);

		if (!inside[head(x, i)] || inside[tail(x, i)] || seen[end])
			continue;
		seen[end] = true;
		ranks += end < m->nranks;
		if (n++ < 3)
			names = arena_printf(a, "%s%s%s", names, n > 1 ? ", " : "",
					     machine_node(m, a, end));
	}
	if (n <= 3)
		return names;
	return ranks == n ? arena_printf(a, "%u other ranks", n) : arena_printf(a, "%u nodes", n);
}

/* The links of the best set, with the name of its side that has fewer ranks. */
static const char *name_cut(const struct search *x, struct arena *a)
{
	const struct narrow *b = &x->best;
	const double width = b->width * 1e-9;
	const char *ranks;
	uint32_t n = 0;
	bool side;

	if (!b->inside)
		return arena_printf(a, "all links together: %.6g GB/s", width);
	for (uint32_t r = 0; r < x->m->nranks; r++)
		n += b->inside[r];
	side = b->parts > 1 || n <= x->m->nranks - n;
	ranks = name_ranks(a, x->m, b->inside, side);
	if (b->parts == x->m->nranks)
		return arena_printf(a, "the links %s all %u ranks: %.6g GB/s together",
				    x->backwards ? "from" : "to", b->parts, width);
	if (b->parts > 1)
		return arena_printf(a, "the links %s %u groups, such as %s: %.6g GB/s together",
				    x->backwards ? "from" : "to", b->parts, ranks, width);
	return arena_printf(a, "the links from %s to %s: %.6g GB/s",
			    side == x->backwards ? ranks : name_ends(x, a, !side),
			    side == x->backwards ? name_ends(x, a, !side) : ranks, width);
}

/* ---- the bound --------------------------------------------------------------------------------------- */

/* Every pair of ranks has its own data. */
static void find_pairs(struct search *x)
{
	double hops, all = 0;

	x->need = PAIRS;
	try_clusters(x);
	if (!is_mirrored(x->m)) {
		x->backwards = true;
		try_clusters(x);
		x->backwards = false;
	}
	find_far(x, false, true, &hops);
	for (uint32_t i = 0; i < x->m->nlinks; i++)
		all += x->m->links[i].bandwidth;
	offer_set(x, hops, all, NULL, 0, 1);
}

static bool no_path(struct ctx *c, const struct search *x)
{
	const struct narrow *b = &x->best;
	if (!b->inside) { /* of all to all */
		diag_add(c->diags, SEV_ERROR, 702, NOWHERE, NO_RANK,
			 "%s has no path from some rank to another one", x->m->name);
		return false;
	}
	const char *in = name_ranks(c->arena, x->m, b->inside, true);
	const char *out = name_ranks(c->arena, x->m, b->inside, false);

	diag_add(c->diags, SEV_ERROR, 702, NOWHERE, NO_RANK, "%s has no path from %s to %s",
		 x->m->name, b->backwards ? in : out, b->backwards ? out : in);
	return false;
}

bool bound_find(struct ctx *c, const struct machine *m, enum collective k, uint32_t root,
		uint64_t most, struct bound *to)
{
	const bool rooted = bound_has_root(k),
		   whole = k == ALLREDUCE || k == BROADCAST || k == REDUCE;
	struct search x = {
		.a = c->scratch,
		.m = m,
		.backwards = k == REDUCE_SCATTER || k == REDUCE || k == SCATTER,
		.all_send = k != BROADCAST && k != REDUCE,
		.all_get = k != GATHER && k != SCATTER,
		.root = root,
		.most = most,
	};
	double sum;

	*to = (struct bound){ 0, m->cost.call, m->cost.call, "nothing: there is one rank" };
	if (m->nranks == 1)
		return true;
	x.width = take_widths(x.a, m);
	if (k == ALLREDUCE)
		find_passes(&x);
	else if (k == ALL_TO_ALL)
		find_pairs(&x);
	else /* a barrier needs the paths */
		find_narrowest(&x);
	if (isinf(x.best.seconds))
		return no_path(c, &x);
	x.backwards = x.best.backwards;
	to->cut = name_cut(&x, c->arena);
	to->per_byte = k == BARRIER ? 0 : x.best.seconds / (whole ? 1 : m->nranks);
	x.backwards = k == REDUCE || k == GATHER; /* towards the root */
	to->near += find_near(&x);
	to->far += find_far(&x, rooted, false, &sum);
	return true;
}
