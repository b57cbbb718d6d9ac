/* See msccl_referee.h. */
#include "tests/support/msccl_referee.h"

#include <stdlib.h>
#include <string.h>

enum { I, O, S, CELLS = 4096, NODES = 8192 };

static bool sends(enum mx_type t)
{
	return t == MX_S || t == MX_RCS || t == MX_RRS || t == MX_RRCS;
}

static bool receives(enum mx_type t)
{
	return t == MX_R || t == MX_RCS || t == MX_RRC || t == MX_RRS || t == MX_RRCS;
}

static bool reads(enum mx_type t)
{
	return t == MX_S || t == MX_CPY || t == MX_RE || t == MX_RRC || t == MX_RRS || t == MX_RRCS;
}

static bool writes(enum mx_type t)
{
	return t != MX_NOP && t != MX_S && t != MX_RRS;
}

/* ---- buffers ----------------------------------------------------------------------------- */

static int size_of(const struct mx_file *f, int buffer)
{
	int part = f->chunks / f->ranks;

	if (buffer == S)
		return f->scratch;
	switch (f->coll) {
	case MX_ALLGATHER: return buffer == I ? part : f->chunks;
	case MX_GATHER: return buffer == I ? f->chunks : f->chunks * f->ranks;
	case MX_REDUCE_SCATTER:
	case MX_SCATTER: return buffer == I ? f->chunks : part;
	case MX_ALLREDUCE:
	case MX_ALLTOALL:
	case MX_BROADCAST:
	case MX_REDUCE:
	case MX_CUSTOM:
	case MX_COLLS: break;
	}
	return f->chunks;
}

/* The place of chunk 0 of a buffer among a rank's chunks. */
static int place_of(const struct mx_file *f, bool in_place, int rank, int buffer)
{
	if (buffer == S)
		return CELLS / 2;
	if (!in_place)
		return buffer == I ? 0 : CELLS / 4;
	if (buffer == I && (f->coll == MX_ALLGATHER || f->coll == MX_GATHER))
		return rank * size_of(f, I);
	if (buffer == O && (f->coll == MX_REDUCE_SCATTER || f->coll == MX_SCATTER))
		return rank * size_of(f, O);
	return 0;
}

/* ---- descriptions without a meaning -------------------------------------------------------- */

static bool step_is_unsound(const struct mx_file *f, int rank, const struct mx_block *b,
			    const struct mx_step *s)
{
	if ((sends(s->type) && b->send < 0) || (receives(s->type) && b->recv < 0))
		return true;
	if (reads(s->type) && (s->srcoff < 0 || s->srcoff + s->cnt > size_of(f, s->src)))
		return true;
	if (writes(s->type) && (s->dstoff < 0 || s->dstoff + s->cnt > size_of(f, s->dst)))
		return true;
	if (s->depid < 0)
		return false;
	if (s->depid >= f->nblocks[rank])
		return true;
	const struct mx_block *to = &f->blocks[rank][s->depid];
	return s->deps < 0 || s->deps >= to->n || !to->v[s->deps].hasdep;
}

bool mx_is_unsound(const struct mx_file *f)
{
	bool parts = f->coll == MX_ALLGATHER || f->coll == MX_REDUCE_SCATTER ||
		     f->coll == MX_ALLTOALL || f->coll == MX_SCATTER;

	if (parts && f->chunks % f->ranks)
		return true;
	for (int r = 0; r < f->ranks; r++)
		for (int k = 0; k < f->nblocks[r]; k++) {
			const struct mx_block *b = &f->blocks[r][k];
			if (b->send == r || b->recv == r || b->send >= f->ranks ||
			    b->recv >= f->ranks)
				return true;
			for (int j = 0; j < k; j++) {
				const struct mx_block *a = &f->blocks[r][j];
				if (a->chan == b->chan && ((a->send >= 0 && a->send == b->send) ||
							   (a->recv >= 0 && a->recv == b->recv)))
					return true;
			}
			for (int i = 0; i < b->n; i++)
				if (step_is_unsound(f, r, b, &b->v[i]))
					return true;
		}
	return false;
}

/* ---- messages ---------------------------------------------------------------------------- */

/* The block that receives the messages of block `k` of `rank`; NULL: there is none. */
static const struct mx_block *receiver(const struct mx_file *f, int rank, int k, int *row)
{
	const struct mx_block *b = &f->blocks[rank][k];

	*row = -1;
	for (int j = 0; b->send >= 0 && j < f->nblocks[b->send]; j++)
		if (f->blocks[b->send][j].recv == rank && f->blocks[b->send][j].chan == b->chan) {
			*row = j;
			return &f->blocks[b->send][j];
		}
	return NULL;
}

/* The sizes of a block's messages, one after the other; their number. */
static int list(const struct mx_block *b, bool (*is)(enum mx_type), int per_message, int *to)
{
	int n = 0;

	for (int i = 0; b && i < b->n; i++)
		for (int c = 0; is(b->v[i].type) && c < b->v[i].cnt; c += per_message)
			to[n++] = b->v[i].cnt - c < per_message ? b->v[i].cnt - c : per_message;
	return n;
}

static int unmet_at(const struct mx_file *f, int per_message)
{
	int found = 0, a[MX_STEPS * 8], c[MX_STEPS * 8];

	for (int r = 0; r < f->ranks; r++)
		for (int k = 0; k < f->nblocks[r]; k++) {
			int row, n = list(&f->blocks[r][k], sends, per_message, a);
			const struct mx_block *to = receiver(f, r, k, &row);
			int m = list(to, receives, per_message, c);
			/* Where numbers differ, only the first two are known to meet. */
			if (n != m && (!n || !m || a[0] == c[0]))
				found |= n > m ? MX_TOO_MANY_SENDS : MX_TOO_MANY_RECEIVES;
			for (int i = 0; i < n && i < m && (n == m || i == 0); i++)
				found |= a[i] != c[i] ? MX_UNEQUAL : 0;
			/* A receiver without a sender. */
			const struct mx_block *b = &f->blocks[r][k];
			bool any = false;
			for (int j = 0; b->recv >= 0 && j < f->nblocks[b->recv]; j++)
				any |= f->blocks[b->recv][j].send == r &&
				       f->blocks[b->recv][j].chan == b->chan;
			if (!any && list(b, receives, per_message, c))
				found |= MX_TOO_MANY_RECEIVES;
		}
	return found;
}

int mx_unmet(const struct mx_file *f)
{
	int found = unmet_at(f, 1);

	for (int m = 71; !found && m > 1; m--)
		found = unmet_at(f, m);
	return found;
}

/* ---- running ----------------------------------------------------------------------------- */

struct run {
	const struct mx_file *f;
	int per_message, slots;
	bool in_place, lost; /* something without a value was read */
	int step[MX_RANKS][MX_BLOCKS], chunk[MX_RANKS][MX_BLOCKS];
	int sent[MX_RANKS][MX_BLOCKS], got[MX_RANKS][MX_BLOCKS];
	/* by the sending block: values on their way, each with whether it is one */
	uint64_t queue[MX_RANKS][MX_BLOCKS][MX_STEPS * 8];
	bool is[MX_RANKS][MX_BLOCKS][MX_STEPS * 8];
	uint64_t cell[MX_RANKS][CELLS];
	bool known[MX_RANKS][CELLS];
};

/* The block that sends the messages that block `k` receives. */
static int sender(const struct mx_file *f, int rank, int k)
{
	const struct mx_block *b = &f->blocks[rank][k];

	for (int j = 0; b->recv >= 0 && j < f->nblocks[b->recv]; j++)
		if (f->blocks[b->recv][j].send == rank && f->blocks[b->recv][j].chan == b->chan)
			return j;
	return -1;
}

static uint64_t take(struct run *x, int rank, int at)
{
	x->lost |= !x->known[rank][at];
	return x->cell[rank][at];
}

static void put(struct run *x, int rank, int at, uint64_t v)
{
	x->cell[rank][at] = v;
	x->known[rank][at] = true;
}

/* One message's worth, values chunk by chunk; only for per_message == 1 these are looked at. */
static void perform(struct run *x, int r, int k, const struct mx_step *s, int from)
{
	const struct mx_block *b = &x->f->blocks[r][k];
	int src = place_of(x->f, x->in_place, r, s->src) + s->srcoff + x->chunk[r][k];
	int dst = place_of(x->f, x->in_place, r, s->dst) + s->dstoff + x->chunk[r][k];
	uint64_t v = 0;

	if (receives(s->type)) {
		int q = x->got[b->recv][from]++;
		v = x->queue[b->recv][from][q];
	}
	if (reads(s->type))
		v += take(x, r, src);
	if (s->type == MX_RE)
		v += take(x, r, dst);
	if (writes(s->type))
		put(x, r, dst, v);
	if (sends(s->type))
		x->queue[r][k][x->sent[r][k]++] = v;
}

/* Whether block `k` can do its next message's worth; does it. */
static bool go(struct run *x, int r, int k)
{
	const struct mx_block *b = &x->f->blocks[r][k];
	const struct mx_step *s = &b->v[x->step[r][k]];
	int from = sender(x->f, r, k), row;

	if (x->step[r][k] == b->n)
		return false;
	if (x->chunk[r][k] == 0 && s->depid >= 0 && x->step[r][s->depid] <= s->deps)
		return false;
	if (x->chunk[r][k] < s->cnt && s->type != MX_NOP) {
		receiver(x->f, r, k, &row);
		if (receives(s->type) &&
		    (from < 0 || x->sent[b->recv][from] == x->got[b->recv][from]))
			return false;
		if (sends(s->type) && x->sent[r][k] - x->got[r][k] >= x->slots)
			return false;
		perform(x, r, k, s, from);
		x->chunk[r][k] += x->per_message;
	}
	if (x->chunk[r][k] >= s->cnt || s->type == MX_NOP) {
		x->step[r][k]++;
		x->chunk[r][k] = 0;
	}
	return true;
}

static int play(struct run *x)
{
	int blocked = 0;
	bool any = true;

	while (any) {
		any = false;
		for (int r = 0; r < x->f->ranks; r++)
			for (int k = 0; k < x->f->nblocks[r]; k++)
				while (go(x, r, k))
					any = true;
	}
	for (int r = 0; r < x->f->ranks; r++)
		for (int k = 0; k < x->f->nblocks[r]; k++)
			blocked += x->step[r][k] < x->f->blocks[r][k].n;
	return blocked;
}

static struct run *new_run(const struct mx_file *f, int per_message, int slots)
{
	struct run *x = calloc(1, sizeof(*x));

	x->f = f;
	x->per_message = per_message;
	x->slots = slots;
	return x;
}

int mx_blocked(const struct mx_file *f, int per_message, int slots)
{
	struct run *x = new_run(f, per_message, slots);
	int blocked = play(x);

	free(x);
	return blocked;
}

int mx_least_slots(const struct mx_file *f, int per_message)
{
	if (mx_blocked(f, per_message, MX_STEPS * 8))
		return -1;
	int k = 1;
	while (mx_blocked(f, per_message, k))
		k++;
	return k;
}

/* ---- races --------------------------------------------------------------------------------- */

/* A chunk's worth of a step; before[i] has a bit for each node that is certainly over. */
struct node {
	int rank, block, step;
	int read, write; /* places; -1: none */
	int next[3], nnext;
};

struct net {
	const struct mx_file *f;
	struct node *v;
	int n;
	int first[MX_RANKS][MX_BLOCKS][MX_STEPS + 1]; /* nodes of a step; [n]: behind the last */
	bool *seen;
	int *stack;
};

static void make_nodes(struct net *x, bool in_place)
{
	const struct mx_file *f = x->f;

	for (int r = 0; r < f->ranks; r++)
		for (int k = 0; k < f->nblocks[r]; k++) {
			const struct mx_block *b = &f->blocks[r][k];
			for (int i = 0; i < b->n; i++) {
				const struct mx_step *s = &b->v[i];
				int count = s->type == MX_NOP || !s->cnt ? 1 : s->cnt;
				bool idle = s->type == MX_NOP || !s->cnt;
				x->first[r][k][i] = x->n;
				for (int c = 0; c < count; c++) {
					struct node *v = &x->v[x->n++];
					*v = (struct node){ r, k, i, -1, -1, { 0 }, 0 };
					if (!idle && reads(s->type))
						v->read = place_of(f, in_place, r, s->src) +
							  s->srcoff + c;
					if (!idle && writes(s->type))
						v->write = place_of(f, in_place, r, s->dst) +
							   s->dstoff + c;
					if (i || c)
						v[-1].next[v[-1].nnext++] = x->n - 1;
				}
			}
			x->first[r][k][b->n] = x->n;
		}
}

/* Dependencies are edges that nodes have no room for: they are looked up. */
static bool waits_for(const struct net *x, int late, int early)
{
	const struct node *a = &x->v[early], *b = &x->v[late];
	const struct mx_step *s = &x->f->blocks[b->rank][b->block].v[b->step];

	return s->depid >= 0 && late == x->first[b->rank][b->block][b->step] &&
	       a->rank == b->rank && a->block == s->depid &&
	       early == x->first[a->rank][a->block][s->deps + 1] - 1;
}

static void add_messages(struct net *x)
{
	const struct mx_file *f = x->f;

	for (int r = 0; r < f->ranks; r++)
		for (int k = 0; k < f->nblocks[r]; k++) {
			int row;
			const struct mx_block *b = &f->blocks[r][k], *to = receiver(f, r, k, &row);
			int at = to ? x->first[b->send][row][0] : 0;
			for (int e = x->first[r][k][0]; to && e < x->first[r][k][b->n]; e++) {
				const struct mx_step *s = &b->v[x->v[e].step];
				if (!sends(s->type) || !s->cnt)
					continue;
				while (!receives(to->v[x->v[at].step].type) ||
				       !to->v[x->v[at].step].cnt)
					at++;
				x->v[e].next[x->v[e].nnext++] = at++;
			}
		}
}

static void visit(struct net *x, int node, int *n)
{
	if (x->seen[node])
		return;
	x->seen[node] = true;
	x->stack[(*n)++] = node;
}

/* Marks all that comes after a node. */
static void follow(struct net *x, int from)
{
	int n = 0;

	memset(x->seen, 0, (size_t)x->n);
	visit(x, from, &n);
	while (n) {
		int e = x->stack[--n];
		for (int i = 0; i < x->v[e].nnext; i++)
			visit(x, x->v[e].next[i], &n);
		for (int k = 0; k < x->f->nblocks[x->v[e].rank]; k++) {
			const struct mx_block *b = &x->f->blocks[x->v[e].rank][k];
			for (int i = 0; i < b->n; i++) {
				int late = x->first[x->v[e].rank][k][i];
				if (waits_for(x, late, e))
					visit(x, late, &n);
			}
		}
	}
}

static bool touches(const struct node *a, const struct node *b)
{
	return (a->write >= 0 && (a->write == b->write || a->write == b->read)) ||
	       (b->write >= 0 && b->write == a->read);
}

static bool step_overlaps(const struct mx_file *f, bool in_place, int r, const struct mx_step *s)
{
	int a = place_of(f, in_place, r, s->src) + s->srcoff;
	int b = place_of(f, in_place, r, s->dst) + s->dstoff;

	return reads(s->type) && writes(s->type) && a != b && abs(a - b) < s->cnt;
}

bool mx_races(const struct mx_file *f, bool in_place)
{
	struct net *x = calloc(1, sizeof(*x));
	bool found = false;

	x->f = f;
	x->v = calloc(NODES, sizeof(*x->v));
	x->seen = calloc(NODES, 1);
	x->stack = calloc(NODES, sizeof(int));
	make_nodes(x, in_place);
	add_messages(x);
	for (int a = 0; a < x->n && !found; a++) {
		const struct node *v = &x->v[a];
		bool asked = false;
		found |= step_overlaps(f, in_place, v->rank,
				       &f->blocks[v->rank][v->block].v[v->step]);
		for (int b = 0; b < x->n && !found; b++) {
			const struct node *w = &x->v[b];
			if (v->rank != w->rank || v->block == w->block || !touches(v, w))
				continue;
			if (!asked)
				follow(x, a);
			asked = true;
			if (x->seen[b])
				continue;
			follow(x, b);
			found |= !x->seen[a];
			follow(x, a);
		}
	}
	free(x->stack);
	free(x->seen);
	free(x->v);
	free(x);
	return found;
}

/* ---- results ------------------------------------------------------------------------------- */

/* A number for each rank's chunk, such that a sum determines its terms. */
static uint64_t initial(int rank, int chunk)
{
	uint64_t h =
		(uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u + (uint64_t)chunk * 0xd1342543de82ef95u;

	h ^= h >> 31;
	h *= 0xbf58476d1ce4e5b9u;
	return h ^ h >> 29;
}

static uint64_t sum(const struct mx_file *f, int chunk)
{
	uint64_t v = 0;

	for (int q = 0; q < f->ranks; q++)
		v += initial(q, chunk);
	return v;
}

/* The required contents of chunk `k` of o on a rank; false: any. */
static bool wanted(const struct mx_file *f, int root, int r, int k, uint64_t *v)
{
	int part = f->chunks / f->ranks;

	switch (f->coll) {
	case MX_ALLREDUCE: *v = sum(f, k); return true;
	case MX_ALLGATHER: *v = initial(k / part, k % part); return true;
	case MX_REDUCE_SCATTER: *v = sum(f, r * part + k); return true;
	case MX_ALLTOALL: *v = initial(k / part, r * part + k % part); return true;
	case MX_BROADCAST: *v = initial(root, k); return true;
	case MX_REDUCE: *v = sum(f, k); return r == root;
	case MX_GATHER: *v = initial(k / f->chunks, k % f->chunks); return r == root;
	case MX_SCATTER: *v = initial(root, r * part + k); return true;
	case MX_CUSTOM:
	case MX_COLLS: break;
	}
	return false;
}

static bool is_right(const struct run *x, int root)
{
	uint64_t v;

	for (int r = 0; r < x->f->ranks; r++)
		for (int k = 0; k < size_of(x->f, O); k++) {
			int at = place_of(x->f, x->in_place, r, O) + k;
			if (wanted(x->f, root, r, k, &v) &&
			    (!x->known[r][at] || x->cell[r][at] != v))
				return false;
		}
	return true;
}

bool mx_computes(const struct mx_file *f, bool in_place, int slots)
{
	struct run *x = new_run(f, 1, slots);
	bool rooted = f->coll == MX_BROADCAST || f->coll == MX_REDUCE || f->coll == MX_GATHER ||
		      f->coll == MX_SCATTER;
	bool right = false;

	x->in_place = in_place;
	for (int r = 0; r < f->ranks; r++)
		for (int k = 0; k < size_of(f, I); k++)
			put(x, r, place_of(f, in_place, r, I) + k, initial(r, k));
	play(x);
	for (int root = 0; root < (rooted ? f->ranks : 1); root++)
		right |= is_right(x, root);
	right &= !x->lost;
	free(x);
	return right;
}
