/* See oracle.h. Exhaustive search: exponential in the operations, for small programs. */
#include "tests/support/oracle.h"

#include <stdlib.h>
#include <string.h>

static bool is_message(enum kind k)
{
	return k == SEND || k == RECV || k == REDUCE;
}

void oracle_flatten(struct o_program *p)
{
	p->nops = 0;
	for (int r = 0; r < p->nranks; r++) {
		uint32_t done = 0; /* everything earlier on this rank */

		for (int s = 0; s < p->nstmts[r]; s++) {
			struct o_stmt *t = &p->stmts[r][s];
			uint32_t all = 0;

			for (int b = 0; b < 2; b++) {
				uint32_t inblock = 0;

				for (int i = 0; i < t->nops[b]; i++) {
					struct o_op *o = &p->ops[p->nops];

					*o = t->ops[b][i];
					o->rank = r;
					o->path = t->form == PAR ? b + 1 : 0;
					o->before = done | (t->form == STEP ? 0 : inblock);
					inblock |= 1u << p->nops;
					p->nops++;
				}
				all |= inblock;
			}
			done |= all;
		}
	}
}

/* Whether operation b is on the FIFO of a, at the same (or at the other) end. */
static bool same_end(const struct o_op *a, const struct o_op *b)
{
	return is_message(a->kind) && is_message(b->kind) && a->rank == b->rank &&
	       a->peer == b->peer && a->channel == b->channel && a->path == b->path &&
	       (a->kind == SEND) == (b->kind == SEND);
}

static bool other_end(const struct o_op *a, const struct o_op *b)
{
	return is_message(a->kind) && is_message(b->kind) && a->rank == b->peer &&
	       a->peer == b->rank && a->channel == b->channel && a->path == b->path &&
	       (a->kind == SEND) != (b->kind == SEND);
}

/* Number of operation i among those of its end of the FIFO. */
static int ordinal(const struct o_program *p, int i)
{
	int k = 0;

	for (int j = 0; j < i; j++)
		k += same_end(&p->ops[i], &p->ops[j]);
	return k;
}

static int partner(const struct o_program *p, int i)
{
	int k = ordinal(p, i);

	for (int j = 0; j < p->nops; j++)
		if (other_end(&p->ops[i], &p->ops[j]) && k-- == 0)
			return j;
	return -1;
}

/* May begin: all before it are done, and those before it on its end of the FIFO. */
static bool active(const struct o_program *p, uint32_t done, int i)
{
	if ((done >> i & 1) || (p->ops[i].before & ~done))
		return false;
	for (int j = 0; j < i; j++)
		if (same_end(&p->ops[i], &p->ops[j]) && !(done >> j & 1))
			return false;
	return true;
}

static int in_fifo(const struct o_program *p, uint32_t done, int i)
{
	int n = 0;

	for (int j = 0; j < p->nops; j++) {
		if (!(done >> j & 1))
			continue;
		if (same_end(&p->ops[i], &p->ops[j]) || other_end(&p->ops[i], &p->ops[j]))
			n += p->ops[j].kind == SEND ? 1 : -1;
	}
	return n;
}

/* The operations that finish if operation i moves now; 0 if it cannot. */
static uint32_t moves(const struct o_program *p, uint32_t done, int slots, int i)
{
	const struct o_op *o = &p->ops[i];
	int j;

	if (!active(p, done, i))
		return 0;
	if (!is_message(o->kind))
		return 1u << i;
	if (slots == 0) { /* rendezvous: both ends at once, moved from the send */
		if (o->kind != SEND || (j = partner(p, i)) < 0 || !active(p, done, j))
			return 0;
		return 1u << i | 1u << j;
	}
	if (o->kind == SEND ? in_fifo(p, done, i) < slots : in_fifo(p, done, i) > 0)
		return 1u << i;
	return 0;
}

struct seen {
	uint32_t *v;
	size_t n, cap;
};

static bool seen_add(struct seen *s, uint32_t key)
{
	if (2 * (s->n + 1) > s->cap) {
		struct seen bigger = { NULL, 0, s->cap ? 2 * s->cap : 1024 };

		bigger.v = malloc(bigger.cap * sizeof(*bigger.v));
		if (!bigger.v)
			abort();
		memset(bigger.v, 0xff, bigger.cap * sizeof(*bigger.v));
		for (size_t i = 0; i < s->cap; i++)
			if (s->v[i] != UINT32_MAX)
				seen_add(&bigger, s->v[i]);
		free(s->v);
		*s = bigger;
	}
	for (size_t h = (key * 2654435761u) % s->cap;; h = (h + 1) % s->cap) {
		if (s->v[h] == key)
			return false;
		if (s->v[h] == UINT32_MAX) {
			s->v[h] = key;
			s->n++;
			return true;
		}
	}
}

/* Whether any interleaving gets stuck: visits every reachable set of finished operations. */
static bool can_stick(const struct o_program *p, int slots)
{
	uint32_t full = (1u << p->nops) - 1;
	struct seen seen = { 0 };
	uint32_t *stack = NULL;
	size_t n = 0, cap = 0;
	bool stuck = false;

	if (p->nops == 0)
		return false;
	seen_add(&seen, 0);
	stack = malloc((cap = 1024) * sizeof(*stack));
	if (!stack)
		abort();
	stack[n++] = 0;
	while (n && !stuck) {
		uint32_t done = stack[--n];
		bool moved = false;

		for (int i = 0; i < p->nops; i++) {
			uint32_t m = moves(p, done, slots, i);

			if (!m)
				continue;
			moved = true;
			if (!seen_add(&seen, done | m))
				continue;
			if (n == cap && !(stack = realloc(stack, (cap *= 2) * sizeof(*stack))))
				abort();
			stack[n++] = done | m;
		}
		stuck = !moved && done != full;
	}
	free(stack);
	free(seen.v);
	return stuck;
}

/* Whether as many messages are sent as received on the FIFO of i. */
static bool balanced(const struct o_program *p, int i)
{
	int n = 0;

	for (int j = 0; j < p->nops; j++)
		n += same_end(&p->ops[i], &p->ops[j]) - other_end(&p->ops[i], &p->ops[j]);
	return n == 0;
}

/* Whether the first ends of the FIFO of i have different numbers of chunks. */
static bool first_differ(const struct o_program *p, int i)
{
	int a = 0, b = 0;

	while (!same_end(&p->ops[i], &p->ops[a]))
		a++;
	while (b < p->nops && !other_end(&p->ops[i], &p->ops[b]))
		b++;
	return b < p->nops && p->ops[a].n != p->ops[b].n;
}

/* Numbers of chunks are compared where the messages of a FIFO pair up: with one
 * lost in the middle, all later pairs would differ by that one mistake. Where the first two differ,
 * that is the mistake, however many follow. */
static int judge_matching(const struct o_program *p)
{
	int codes = 0;

	for (int i = 0; i < p->nops; i++) {
		const struct o_op *o = &p->ops[i];
		int j;

		if (!is_message(o->kind))
			continue;
		j = partner(p, i);
		if (!balanced(p, i) && first_differ(p, i))
			codes |= ERR_303;
		else if (j < 0)
			codes |= o->kind == SEND ? ERR_301 : ERR_302;
		else if (p->ops[j].n != o->n && balanced(p, i))
			codes |= ERR_303;
	}
	return codes;
}

static bool reads(const struct o_op *o, int c)
{
	return o->kind != RECV && ((c >= o->lo && c < o->lo + o->n) ||
				   (o->kind == REDUCE_INTO && c >= o->to && c < o->to + o->n));
}

static bool writes(const struct o_op *o, int c)
{
	if (o->kind == SEND)
		return false;
	if (o->kind == COPY || o->kind == REDUCE_INTO)
		return c >= o->to && c < o->to + o->n;
	return c >= o->lo && c < o->lo + o->n;
}

static bool judge_race(const struct o_program *p)
{
	for (int i = 0; i < p->nops; i++)
		for (int j = 0; j < i; j++) {
			const struct o_op *a = &p->ops[j], *b = &p->ops[i];

			if (a->rank != b->rank || (b->before >> j & 1))
				continue;
			for (int c = 0; c < CHUNKS; c++)
				if ((writes(a, c) && (writes(b, c) || reads(b, c))) ||
				    (writes(b, c) && reads(a, c)))
					return true;
		}
	return false;
}

struct cell {
	bool has;
	uint8_t from[MAX_RANKS][2];
};

static void combine(struct cell *to, const struct cell *c)
{
	for (int q = 0; q < MAX_RANKS; q++)
		for (int k = 0; k < 2; k++)
			to->from[q][k] = (uint8_t)(to->from[q][k] + c->from[q][k]);
}

/* Runs it on contributions in one interleaving (enough slots); false: E0401. */
static bool run_values(const struct o_program *p, struct o_verdict *v)
{
	struct cell now[MAX_RANKS][CHUNKS], message[MAX_OPS][CHUNKS];
	uint32_t done = 0;

	memset(now, 0, sizeof(now));
	for (int r = 0; r < p->nranks; r++)
		for (int k = 0; k < 2; k++)
			now[r][k].has = true, now[r][k].from[r][k] = 1;
	for (bool moved = true; moved;) {
		moved = false;
		for (int i = 0; i < p->nops; i++) {
			const struct o_op *o = &p->ops[i];
			struct cell *mine = now[o->rank];

			if (!moves(p, done, MAX_OPS, i))
				continue;
			for (int c = 0; c < o->n; c++) {
				struct cell in;

				if (reads(o, o->lo + c) && !mine[o->lo + c].has)
					return false;
				if (o->kind == SEND) {
					message[i][c] = mine[o->lo + c];
				} else if (o->kind == COPY) {
					mine[o->to + c] = mine[o->lo + c];
				} else if (o->kind == REDUCE_INTO) {
					if (!mine[o->to + c].has)
						return false;
					in = mine[o->lo + c];
					combine(&mine[o->to + c], &in);
				} else if (o->kind == RECV) {
					mine[o->lo + c] = message[partner(p, i)][c];
				} else {
					combine(&mine[o->lo + c], &message[partner(p, i)][c]);
				}
			}
			done |= 1u << i;
			moved = true;
		}
	}
	for (int r = 0; r < p->nranks; r++)
		for (int c = 0; c < CHUNKS; c++) {
			v->has[r][c] = now[r][c].has;
			memcpy(v->value[r][c], now[r][c].from, sizeof(now[r][c].from));
		}
	return true;
}

int oracle_contract(const struct o_program *p, const struct o_verdict *v)
{
	int codes = 0;

	for (int r = 0; r < p->nranks; r++)
		for (int c = 0; c < CHUNKS; c++) {
			bool foreign = false, lacks = !v->has[r][c], twice = false;

			if (!p->asked[r][c])
				continue;
			for (int q = 0; q < p->nranks; q++)
				for (int k = 0; k < 2; k++) {
					int have = v->has[r][c] ? v->value[r][c][q][k] : 0;
					int want = p->want[r][c][q][k];

					foreign |= have && !want;
					lacks |= have < want;
					twice |= have > want;
				}
			codes |= foreign ? ERR_405 : lacks ? ERR_403 : twice ? ERR_404 : 0;
		}
	return codes;
}

struct o_verdict oracle_judge(const struct o_program *p, int slots)
{
	struct o_verdict v = { 0 };

	v.codes = judge_matching(p) | (judge_race(p) ? ERR_402 : 0);
	v.min_slots = -1;
	if (v.codes & (ERR_301 | ERR_302))
		return v;
	for (int k = 0; k <= p->nops && v.min_slots < 0; k++)
		if (!can_stick(p, k))
			v.min_slots = k;
	if (v.min_slots < 0 || slots < v.min_slots)
		v.codes |= ERR_304;
	if (v.codes)
		return v;
	if (!run_values(p, &v))
		v.codes |= ERR_401;
	else
		v.codes |= oracle_contract(p, &v);
	return v;
}

/* ---- text ------------------------------------------------------------------- */

static void put_ref(int lo, int n, FILE *out)
{
	const char *name = lo < 2 ? "data" : "b";

	if (n == 1)
		fprintf(out, "%s[%d]", name, lo % 2);
	else
		fprintf(out, "%s[%d..%d]", name, lo % 2, lo % 2 + n);
}

static int put_op(const struct o_op *o, FILE *out)
{
	fputs("    ", out);
	if (o->channel)
		fprintf(out, "channel %d { ", o->channel);
	fputs(o->kind == SEND	? "send "
	      : o->kind == RECV ? "recv "
	      : o->kind == COPY ? "copy "
				: "reduce ",
	      out);
	put_ref(o->lo, o->n, out);
	if (is_message(o->kind)) {
		fprintf(out, " %s %d", o->kind == SEND ? "to" : "from", o->peer);
	} else {
		fputs(" into ", out);
		put_ref(o->to, o->n, out);
	}
	fputs(o->channel ? " }\n" : "\n", out);
	return 1;
}

static int put_ensures(const struct o_program *p, FILE *out)
{
	int lines = 0;

	for (int r = 0; r < p->nranks; r++)
		for (int c = 0; c < CHUNKS; c++) {
			int total = 0, i = 0;

			if (!p->asked[r][c])
				continue;
			for (int q = 0; q < p->nranks; q++)
				total += p->want[r][c][q][0] + p->want[r][c][q][1];
			fprintf(out, "  ensures rank == %d: %s[%d] == sum(q in 0..%d: data[", r,
				c < 2 ? "data" : "b", c % 2, total);
			for (int pass = 0; pass < 2; pass++) {
				i = 0;
				for (int q = 0; q < p->nranks; q++)
					for (int k = 0; k < 2; k++)
						for (int t = 0; t < p->want[r][c][q][k]; t++)
							fprintf(out, "q == %d ? %d : ", i++,
								pass ? q : k);
				fputs(pass ? "0)" : "0]@(", out);
			}
			fputs(")\n", out);
			lines++;
		}
	return lines;
}

int oracle_write(const struct o_program *p, const char *name, FILE *out)
{
	int lines = 0;

	fprintf(out, "contract c_%s(inout data[2], out b[2])\n", name);
	lines += 1 + put_ensures(p, out);
	fprintf(out, "schedule %s\n  implements c_%s(inout data[2], out b[2])\n{\n", name, name);
	lines += 3;
	for (int r = 0; r < p->nranks; r++) {
		fprintf(out, "  if rank == %d {\n", r);
		lines += 2;
		for (int s = 0; s < p->nstmts[r]; s++) {
			const struct o_stmt *t = &p->stmts[r][s];

			if (t->form != SINGLE) {
				fputs(t->form == STEP ? "   step {\n" : "   par {\n   {\n", out);
				lines += t->form == STEP ? 2 : 6;
			}
			for (int b = 0; b < 2; b++) {
				for (int i = 0; i < t->nops[b]; i++)
					lines += put_op(&t->ops[b][i], out);
				if (t->form == PAR && b == 0)
					fputs("   }\n   {\n", out);
			}
			if (t->form != SINGLE)
				fputs(t->form == STEP ? "   }\n" : "   }\n   }\n", out);
		}
		fputs("  }\n", out);
	}
	fputs("}\n", out);
	return lines + 1;
}

/* ---- Promela ------------------------------------------------------------------ */

/* The FIFO of each operation, or -1. Returns how many there are. */
static int number_fifos(const struct o_program *p, int *fifo)
{
	int nfifos = 0;

	for (int i = 0; i < p->nops; i++) {
		fifo[i] = -1;
		for (int j = 0; j < i && fifo[i] < 0; j++)
			if (same_end(&p->ops[i], &p->ops[j]) || other_end(&p->ops[i], &p->ops[j]))
				fifo[i] = fifo[j];
		if (fifo[i] < 0 && is_message(p->ops[i].kind))
			fifo[i] = nfifos++;
	}
	return nfifos;
}

/* What comes before operation i, and what it must have ended after on its end of the FIFO. */
static uint32_t waits_for(const struct o_program *p, int i)
{
	uint32_t mask = p->ops[i].before;

	for (int j = 0; j < i; j++)
		mask |= (uint32_t)same_end(&p->ops[i], &p->ops[j]) << j;
	return mask;
}

static void put_processes(const struct o_program *p, int slots, FILE *out)
{
	int fifo[MAX_OPS];

	number_fifos(p, fifo);
	for (int i = 0; i < p->nops; i++) {
		fprintf(out, "      run %s(%d, %u",
			fifo[i] < 0		 ? "alone"
			: p->ops[i].kind == SEND ? "sender"
						 : "receiver",
			i, waits_for(p, i));
		if (fifo[i] >= 0)
			fprintf(out, ", f%d_%d", slots, fifo[i]);
		fputs(");\n", out);
	}
}

/* One process an operation: it waits until what comes before it is done, then
 * sends or receives on a channel of that many places (0: rendezvous), then says
 * that it is done. A program that gets stuck is an invalid end state. */
static const char PROCESSES[] =
	"int over;\n"
	"#define BEGIN(before) ((over & (before)) == (before))\n"
	"#define END(i) over = over | (1 << (i))\n"
	"proctype sender(byte i; int before; chan f) { BEGIN(before); f!1; END(i) }\n"
	"proctype receiver(byte i; int before; chan f) { BEGIN(before); f?1; END(i) }\n"
	"proctype alone(byte i; int before) { BEGIN(before); END(i) }\n";

void oracle_promela(const struct o_program *p, const int *slots, int n, FILE *out)
{
	int fifo[MAX_OPS], most[MAX_SLOTS + 1] = { 0 };

	for (int k = 0; k < n; k++) {
		int nfifos = number_fifos(p + k, fifo);

		most[slots[k]] = nfifos > most[slots[k]] ? nfifos : most[slots[k]];
	}
	for (int s = 0; s <= MAX_SLOTS; s++)
		for (int f = 0; f < most[s]; f++)
			fprintf(out, "chan f%d_%d = [%d] of { bit };\n", s, f, s);
	fputs(PROCESSES, out);
	fputs("init {\n  int which;\n", out);
	fputs("  c_code { Pinit->which = atoi(getenv(\"WHICH\")); };\n  atomic {\n    if\n", out);
	for (int k = 0; k < n; k++) {
		fprintf(out, "    :: which == %d ->\n", k);
		put_processes(p + k, slots[k], out);
		fputs("      skip\n", out);
	}
	fputs("    fi\n  }\n}\n", out);
}
