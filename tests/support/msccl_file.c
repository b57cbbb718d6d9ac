/* See msccl_file.h. */
#include "tests/support/msccl_file.h"

#include <string.h>

enum { I, O, S };

static const char *const colls[] = { "allreduce", "allgather", "reduce_scatter",
				     "alltoall",  "broadcast", "reduce",
				     "gather",	  "scatter",   "custom" };
static const char *const types[] = { "nop", "s", "r", "cpy", "re", "rcs", "rrc", "rrs", "rrcs" };

const char *mx_coll_name(enum mx_coll c)
{
	return colls[c];
}

const char *mx_type_name(enum mx_type t)
{
	return types[t];
}

/* ---- building ------------------------------------------------------------------------- */

static int add_block(struct mx_file *f, int rank, int send, int recv, int chan)
{
	int b = f->nblocks[rank]++;

	f->blocks[rank][b] = (struct mx_block){ .send = send, .recv = recv, .chan = chan };
	return b;
}

static struct mx_step *add_step(struct mx_file *f, int rank, int block, enum mx_type type, int src,
				int srcoff, int dst, int dstoff, int cnt)
{
	struct mx_block *b = &f->blocks[rank][block];
	struct mx_step *s = &b->v[b->n++];

	*s = (struct mx_step){ .type = type,
			       .src = src,
			       .srcoff = srcoff,
			       .dst = dst,
			       .dstoff = dstoff,
			       .cnt = cnt,
			       .depid = -1,
			       .deps = -1 };
	return s;
}

static void depend(struct mx_file *f, int rank, struct mx_step *s, int block, int step)
{
	s->depid = block;
	s->deps = step;
	f->blocks[rank][block].v[step].hasdep = 1;
}

static int mod(int a, int n)
{
	return ((a % n) + n) % n;
}

/* ---- right algorithms ------------------------------------------------------------------- */

/* Reduce-scatter and allgather around rings, each on a separate channel. */
static void ring_allreduce(struct mx_file *f, int rings, int w)
{
	int n = f->ranks;

	f->chunks = n * w * rings;
	for (int r = 0; r < n; r++)
		for (int c = 0; c < rings; c++) {
			int b = add_block(f, r, mod(r + 1, n), mod(r - 1, n), c), base = c * n * w;
			for (int k = 0; k < 2 * n - 1; k++) {
				int at = base + w * mod(r - k, n);
				enum mx_type t = k == 0		 ? MX_S
						 : k < n - 1	 ? MX_RRS
						 : k == n - 1	 ? MX_RRCS
						 : k < 2 * n - 2 ? MX_RCS
								 : MX_R;
				add_step(f, r, b, t, I, at, I, at, w);
			}
		}
	f->inplace = true;
}

/* Everybody sends its parts to their owners' scratch, these add and send the sums. */
static void pairs_allreduce(struct mx_file *f, int w)
{
	int n = f->ranks;

	f->chunks = n * w;
	f->scratch = (n - 1) * w;
	f->inplace = true;
	for (int r = 0; r < n; r++) {
		int sum = add_block(f, r, -1, -1, n);
		for (int k = 1; k < n; k++) {
			int peer = mod(r + k, n), b = add_block(f, r, peer, peer, 0);
			int slot = w * (mod(r - peer, n) - 1), mine = w * (k - 1);

			add_step(f, r, b, MX_S, I, peer * w, S, slot, w);
			add_step(f, r, b, MX_R, I, r * w, S, mine, w);
		}
		for (int k = 1; k < n; k++) {
			struct mx_step *s = add_step(f, r, sum, MX_RE, S, w * (k - 1), I, r * w, w);
			depend(f, r, s, k, 1);
		}
		for (int k = 1; k < n; k++) {
			int peer = mod(r + k, n);
			struct mx_step *s = add_step(f, r, k, MX_S, I, r * w, I, r * w, w);
			depend(f, r, s, sum, n - 2);
			add_step(f, r, k, MX_R, I, peer * w, I, peer * w, w);
		}
	}
}

static void ring_allgather(struct mx_file *f, int w, bool in_place)
{
	int n = f->ranks;

	f->chunks = n * w;
	f->inplace = in_place;
	f->outofplace = !in_place;
	for (int r = 0; r < n; r++) {
		int b = add_block(f, r, mod(r + 1, n), mod(r - 1, n), 0);
		if (!in_place)
			add_step(f, r, b, MX_CPY, I, 0, O, r * w, w);
		add_step(f, r, b, MX_S, in_place ? O : I, in_place ? r * w : 0, O, r * w, w);
		for (int k = 1; k < n; k++)
			add_step(f, r, b, k < n - 1 ? MX_RCS : MX_R, O, 0, O, w * mod(r - k, n), w);
	}
}

static void ring_reduce_scatter(struct mx_file *f, int w, bool in_place)
{
	int n = f->ranks;

	f->chunks = n * w;
	f->inplace = in_place;
	f->outofplace = !in_place;
	for (int r = 0; r < n; r++) {
		int b = add_block(f, r, mod(r + 1, n), mod(r - 1, n), 0);
		add_step(f, r, b, MX_S, I, w * mod(r - 1, n), I, 0, w);
		for (int k = 2; k < n; k++)
			add_step(f, r, b, MX_RRS, I, w * mod(r - k, n), I, 0, w);
		add_step(f, r, b, MX_RRC, I, w * r, O, 0, w);
	}
}

static void direct_alltoall(struct mx_file *f, int w)
{
	int n = f->ranks;

	f->chunks = n * w;
	f->outofplace = true;
	for (int r = 0; r < n; r++) {
		int b = add_block(f, r, -1, -1, 0);
		add_step(f, r, b, MX_CPY, I, r * w, O, r * w, w);
		for (int k = 1; k < n; k++) {
			int to = mod(r + k, n), from = mod(r - k, n);
			b = add_block(f, r, to, from, k);
			add_step(f, r, b, MX_S, I, to * w, O, 0, w);
			add_step(f, r, b, MX_R, I, 0, O, from * w, w);
		}
	}
}

/* From rank `root` down a chain of ranks, or up to it. */
static void chain(struct mx_file *f, int w, int root, bool in_place)
{
	int n = f->ranks, to = in_place ? I : O;
	bool down = f->coll == MX_BROADCAST;

	f->chunks = w;
	f->inplace = in_place;
	f->outofplace = !in_place;
	for (int k = 0; k < n; k++) {
		int r = mod(root + k, n), next = k < n - 1 ? mod(r + 1, n) : -1;
		int prev = k > 0 ? mod(r - 1, n) : -1;
		int b = add_block(f, r, down ? next : prev, down ? prev : next, 0);
		bool first = down ? k == 0 : k == n - 1, last = down ? k == n - 1 : k == 0;

		if (down && first && !in_place)
			add_step(f, r, b, MX_CPY, I, 0, O, 0, w);
		if (first)
			add_step(f, r, b, MX_S, I, 0, to, 0, w);
		else if (down)
			add_step(f, r, b, last ? MX_R : MX_RCS, I, 0, to, 0, w);
		else
			add_step(f, r, b, last ? MX_RRC : MX_RRS, I, 0, to, 0, w);
	}
}

/* The root and each other rank. */
static void star(struct mx_file *f, int w, int root, bool in_place)
{
	int n = f->ranks;
	bool gather = f->coll == MX_GATHER;

	f->chunks = gather ? w : n * w;
	f->inplace = in_place;
	f->outofplace = !in_place;
	if (!in_place) {
		int b = add_block(f, root, -1, -1, 0);
		add_step(f, root, b, MX_CPY, I, gather ? 0 : root * w, O, gather ? root * w : 0, w);
	}
	for (int r = 0; r < n; r++) {
		if (r == root)
			continue;
		int b = add_block(f, root, gather ? -1 : r, gather ? r : -1, 0);
		int a = add_block(f, r, gather ? root : -1, gather ? -1 : root, 0);
		if (gather) {
			add_step(f, root, b, MX_R, I, 0, O, r * w, w);
			add_step(f, r, a, MX_S, I, 0, O, 0, w);
		} else {
			add_step(f, root, b, MX_S, I, r * w, O, 0, w);
			add_step(f, r, a, MX_R, I, 0, O, 0, w);
		}
	}
}

/* Messages and copies at random, the ends of each message in one order on both sides. */
static void tangle(struct mx_file *f, struct rng *g)
{
	int n = f->ranks;

	f->chunks = n * (1 + rng_below(g, 2));
	f->scratch = 1 + rng_below(g, 3);
	f->inplace = rng_below(g, 2);
	f->outofplace = !f->inplace || !rng_below(g, 3);
	for (int r = 0; r < n; r++)
		for (int k = 0; k < n; k++)
			add_block(f, r, k == r ? -1 : k, k == r ? -1 : k, 0);
	for (int k = 4 + rng_below(g, 20); k > 0; k--) {
		int a = rng_below(g, n), b = rng_below(g, n), w = 1 + !rng_below(g, 4);
		int x = rng_below(g, 3), y = rng_below(g, 3);
		struct mx_step *s;

		if (f->blocks[a][b].n >= MX_STEPS - 2 || f->blocks[b][a].n >= MX_STEPS - 2)
			continue;
		if (a == b) {
			s = add_step(f, a, a, rng_below(g, 2) ? MX_CPY : MX_RE, x, 0, y, w, w);
		} else {
			s = add_step(f, a, b, MX_S, x, rng_below(g, 2), y, 0, w);
			add_step(f, b, a, rng_below(g, 2) ? MX_R : MX_RRC, x, rng_below(g, 2), y,
				 rng_below(g, 2), w);
		}
		int d = rng_below(g, n);
		if (rng_below(g, 2) && f->blocks[a][d].n > 1 && d != b)
			depend(f, a, s, d, f->blocks[a][d].n - 2);
	}
}

void mx_random(struct mx_file *f, struct rng *g)
{
	int w = 1 + rng_below(g, 3);
	bool in_place = rng_below(g, 2);

	memset(f, 0, sizeof(*f));
	f->ranks = 2 + rng_below(g, MX_RANKS - 1);
	int root = rng_below(g, f->ranks);
	switch (rng_below(g, 9)) {
	case 0: ring_allreduce(f, 1 + rng_below(g, 2), w); break;
	case 1: pairs_allreduce(f, w); break;
	case 2:
		f->coll = MX_ALLGATHER;
		ring_allgather(f, w, in_place);
		break;
	case 3:
		f->coll = MX_REDUCE_SCATTER;
		ring_reduce_scatter(f, w, in_place);
		break;
	case 4:
		f->coll = MX_ALLTOALL;
		direct_alltoall(f, w);
		break;
	case 5:
	case 6:
		f->coll = rng_below(g, 2) ? MX_BROADCAST : MX_REDUCE;
		chain(f, w, root, in_place);
		break;
	case 7:
		f->coll = rng_below(g, 2) ? MX_GATHER : MX_SCATTER;
		star(f, w, root, in_place);
		break;
	default: f->coll = (enum mx_coll)rng_below(g, MX_COLLS); tangle(f, g);
	}
}

/* ---- changes ---------------------------------------------------------------------------- */

static struct mx_block *any_block(struct mx_file *f, struct rng *g, int *rank)
{
	*rank = rng_below(g, f->ranks);
	return f->nblocks[*rank] ? &f->blocks[*rank][rng_below(g, f->nblocks[*rank])] : NULL;
}

static void change_step(struct mx_file *f, struct mx_step *s, int rank, struct rng *g)
{
	switch (rng_below(g, 9)) {
	case 0: s->type = (enum mx_type)rng_below(g, MX_TYPES); break;
	case 1: s->src = rng_below(g, 3); break;
	case 2: s->dst = rng_below(g, 3); break;
	case 3: s->srcoff += rng_below(g, 3) - 1; break;
	case 4: s->dstoff += rng_below(g, 3) - 1; break;
	case 5: s->cnt = rng_below(g, 4); break;
	case 6: s->depid = s->deps = -1; break;
	case 7:
		s->depid = rng_below(g, f->nblocks[rank]);
		s->deps = rng_below(g, 3);
		if (s->deps < f->blocks[rank][s->depid].n && rng_below(g, 4))
			f->blocks[rank][s->depid].v[s->deps].hasdep = 1;
		break;
	default: s->hasdep = !s->hasdep;
	}
}

/* Splits a step into its first chunk and the remaining chunks: equivalent if each chunk is a
 * message. A block that waits for a step by its number may then wait for another step. */
static void split_step(struct mx_block *b, int at)
{
	if (b->n == MX_STEPS || b->v[at].cnt < 2)
		return;
	for (int i = b->n++; i > at; i--)
		b->v[i] = b->v[i - 1];
	b->v[at].cnt = 1;
	b->v[at + 1].cnt--;
	b->v[at + 1].srcoff++;
	b->v[at + 1].dstoff++;
}

static void change_block(struct mx_file *f, struct mx_block *b, struct rng *g)
{
	int a = rng_below(g, b->n), c = rng_below(g, b->n);
	struct mx_step t = b->v[a];

	switch (rng_below(g, 7)) {
	case 6: split_step(b, a); break;
	case 0: b->send = rng_below(g, f->ranks + 1) - 1; break;
	case 1: b->recv = rng_below(g, f->ranks + 1) - 1; break;
	case 2: b->chan = rng_below(g, 3); break;
	case 3:
		b->v[a] = b->v[c];
		b->v[c] = t;
		break;
	case 4:
		for (int i = a + 1; i < b->n; i++)
			b->v[i - 1] = b->v[i];
		b->n--;
		break;
	default:
		if (b->n < MX_STEPS)
			b->v[b->n++] = t;
	}
}

void mx_mutate(struct mx_file *f, struct rng *g)
{
	int rank;
	struct mx_block *b = any_block(f, g, &rank);

	if (!b || !b->n)
		return;
	if (rng_below(g, 12) == 0) {
		f->inplace = rng_below(g, 2);
		f->outofplace = !f->inplace || rng_below(g, 2);
	} else if (rng_below(g, 3)) {
		change_step(f, &b->v[rng_below(g, b->n)], rank, g);
	} else {
		change_block(f, b, g);
	}
}

/* ---- text ------------------------------------------------------------------------------- */

static bool maybe(struct rng *g)
{
	return g && !rng_below(g, 4);
}

static void print_step(const struct mx_step *s, int number, struct rng *g, FILE *out)
{
	static const char *const buffers[] = { "i", "o", "s" };

	fprintf(out, "      <step");
	if (!maybe(g))
		fprintf(out, " s=\"%d\"", number);
	fprintf(out, " type=\"%s\" srcbuf=\"%s\" srcoff='%d' dstbuf=\"%s\" dstoff=\"%d\"",
		types[s->type], buffers[s->src], s->srcoff, buffers[s->dst], s->dstoff);
	if (s->cnt != 1 || !maybe(g))
		fprintf(out, " cnt=\"%d\"", s->cnt);
	if (s->depid >= 0 || s->deps >= 0 || !maybe(g))
		fprintf(out, "\n depid=\"%d\" deps=\"%d\"", s->depid, s->deps);
	if (s->hasdep || !maybe(g))
		fprintf(out, " hasdep=\"%d\"", s->hasdep);
	fprintf(out, maybe(g) ? "></step>\n" : "/>\n");
}

static void print_gpu(const struct mx_file *f, int r, struct rng *g, FILE *out)
{
	int own = f->coll == MX_CUSTOM ? f->chunks : 0;

	fprintf(out, "  <gpu id=\"%d\" i_chunks=\"%d\" o_chunks=\"%d\" s_chunks=\"%d\">\n", r, own,
		own, f->scratch);
	if (maybe(g))
		fprintf(out, "    <copy a=\"b\"><copy/></copy><!-- a note -->\n");
	for (int b = 0; b < f->nblocks[r]; b++) {
		const struct mx_block *k = &f->blocks[r][b];
		fprintf(out, "    <tb id=\"%d\" send=\"%d\" recv=\"%d\" chan=\"%d\">\n", b, k->send,
			k->recv, k->chan);
		for (int i = 0; i < k->n; i++)
			print_step(&k->v[i], i, g, out);
		fprintf(out, "    </tb>\n");
	}
	fprintf(out, "  </gpu>\n");
}

void mx_print(const struct mx_file *f, struct rng *g, FILE *out)
{
	int first = g ? rng_below(g, f->ranks) : 0;

	if (maybe(g))
		fprintf(out, "<!-- written by a program -->\n");
	fprintf(out,
		"<algo name=\"%s\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"%d\" ngpus=\"%d\" "
		"coll=\"%s\" inplace=\"%d\"",
		f->coll == MX_REDUCE ? "reduce" : "a-test", f->chunks, f->ranks, colls[f->coll],
		f->inplace);
	if (f->outofplace == f->inplace || !maybe(g))
		fprintf(out, " outofplace=\"%d\"", f->outofplace);
	fprintf(out, ">\n");
	for (int r = 0; r < f->ranks; r++) /* in any order */
		print_gpu(f, (first + r) % f->ranks, g, out);
	fprintf(out, "</algo>\n");
}
