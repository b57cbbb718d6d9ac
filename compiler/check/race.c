/*
 * Finds races: two operations of a rank touch the same cell, one of them writes it, and neither the
 * order of waves nor a wait orders them (ccs(5) 6, Races).
 *
 * In: a program, lowered or not. Order that only messages give does not count, so the answer holds
 * for every number of slots. Out: true if there is no race; races are reported (E0402) unless the
 * program is lowered. A lowered program with a cycle of waits is refused, too. An operation that
 * reads and writes a cell counts as a writer.
 *
 * Fast path: most waves and tasks share no cell that one of them writes. To show this it is enough
 * to keep the last user of each cell. Where it fails, the whole wave, or all tasks of the rank, are
 * checked as below. Lowered programs are always checked as below.
 *
 * If a rank has one task, as nearly all have, only operations of one wave can race. The operations
 * of a short wave are compared pair by pair, the operations of a long one by the cells that they
 * touch.
 *
 * A rank with several tasks is walked in an order that its waits allow. Each access is compared
 * with the last writer of the cell, and a write also with the readers since then. That is enough,
 * as order is transitive: all accesses before these were found to come before the last writer, or a
 * race was reported. Whether accesses of two tasks are ordered follows from the waits:
 *   - the tasks of a program are blocks of nested pars; one task may be a block of several pars,
 *     one after another. Each entry into a block is a segment: a child of the segment that ran
 *     the par, with the row of the par (the fork). So segments form a tree. Two segments are
 *     unordered exactly if neither is an ancestor of the other and the paths to them leave their
 *     lowest common ancestor at the same fork.
 *   - the workers of a lowered program may have any waits: vector clocks decide (clocks.h).
 *
 * O((operations + cells touched) * depth of the pars + cells of a rank); for a lowered program also
 * O(waits * workers of a rank).
 */
#include "compiler/check/check.h"
#include "compiler/check/clocks.h"
#include "compiler/check/walk.h"

/* Waves of up to SHORT_WAVE operations can be compared pair by pair; waves of up to FEW_PAIRS
 * operations are, without trying the fast path first. */
enum { SHORT_WAVE = 8, FEW_PAIRS = 4 };

/* An access to a cell. `who`: the segment; in a lowered program, the number of the worker among the
 * rank's. `row`: of the task's operations. */
struct access {
	uint32_t who, row;
};

struct reader {
	struct access by;
	uint32_t next;
};

struct touched {
	uint32_t age;	      /* if not racing.age: the cell is untouched, the rest is stale */
	struct access writer; /* who == NONE: none */
	uint32_t readers, nreaders; /* since the writer; newest first */
};

/* One entry into a par block, or the main line. */
struct segment {
	uint32_t task;
	uint32_t parent,
		fork; /* the segment that ran the par, NONE for the main line; and its row there */
	uint32_t depth;
};

/* A worker's clock from row `row` on. */
struct version {
	uint32_t row;
	size_t clock;
};

/* A task of the rank that is walked. */
struct strand {
	uint32_t task;
	uint32_t segment;
	uint32_t mark; /* prune's */
	struct version *versions;
	uint32_t nversions, capversions;
};

struct racing {
	struct ctx *ctx;
	struct program *p;
	bool found;
	uint32_t *told; /* by site: the last rank reported; see told_before() */

	uint32_t *marks;       /* by cell: 2 * number of its last user + whether it writes */
	uint32_t nusers;       /* numbers of users so far */
	struct touched *cells; /* made when first needed */
	uint32_t age;
	struct reader *readers;
	uint32_t nreaders, capreaders, free;

	uint32_t *local;	/* by task: its strand's number */
	uint32_t *by_path;	/* by path: the strand that has it, if this rank has one */
	struct strand *strands; /* of this rank */
	uint32_t nstrands, capstrands;
	uint32_t mark;
	struct segment *segments;
	uint32_t nsegments, capsegments;
	struct clocks clocks; /* of a lowered program's strands */
};

/* ---- reports ------------------------------------------------------------------- */

/* One of the two operations of a race. */
struct side {
	const struct op *op;
	bool writes;
};

static const char *does(const struct side *s)
{
	switch (op_kind(s->op)) {
	case OP_SEND: return "sends it";
	case OP_RECV: return "receives into it";
	case OP_REDUCE_FROM: return "reduces into it";
	case OP_COPY: return s->writes ? "copies into it" : "copies it";
	case OP_REDUCE_INTO: return s->writes ? "reduces into it" : "reduces it into another";
	case OP_FRESH: return "creates it anew";
	case OP_RECV_SEND:
	case OP_REDUCE_SEND:
	case OP_WAIT: break; /* no operations of a program that is reported */
	}
	return "uses it";
}

/* The task and row of an operation. */
static uint32_t task_of(const struct program *p, const struct op *o, uint32_t *row)
{
	const struct task *t = p->tasks;
	while (!t->nops || o < t->ops || o >= t->ops + t->nops)
		t++;
	*row = (uint32_t)(o - t->ops);
	return (uint32_t)(t - p->tasks);
}

static void report(struct racing *r, uint32_t rank, struct side a, struct side b, bool same_task)
{
	const struct program *p = r->p;
	struct diags *d = r->ctx->diags;
	r->found = true;
	if (p->lowered)
		return;
	/* The report is at the later of the two places in the text. */
	if (p->sites[b.op->site].span.lo < p->sites[a.op->site].span.lo) {
		struct side t = a;
		a = b;
		b = t;
	}
	if (told_before(r->told, b.op, rank))
		return;
	struct touch x = op_touch(a.op), y = op_touch(b.op);
	uint32_t alo = a.writes ? x.w : x.r, blo = b.writes ? y.w : y.r;
	uint32_t lo = alo > blo ? alo : blo;
	uint32_t ahi = alo + a.op->n, bhi = blo + b.op->n;
	const char *cells =
		program_cells_text(r->ctx->scratch, p, lo, (ahi < bhi ? ahi : bhi) - lo);
	struct span at = p->sites[b.op->site].span, other = p->sites[a.op->site].span;
	bool same_place = at.lo == other.lo && at.hi == other.hi;
	struct diag *g = diag_add(d, SEV_ERROR, 402, at, rank,
				  "race on %s: rank %u %s and, %s, %s%s", cells, rank, does(&b),
				  same_task ? "in the same step" : "in another block of the par",
				  does(&a), same_place ? " (this line, run twice)" : "");
	if (!g)
		return;
	uint32_t row, task = task_of(p, b.op, &row);
	expand_calls(r->ctx, p, task, row, g);
	task = task_of(p, a.op, &row);
	const char *calls = expand_calls_text(r->ctx, p, task, row, g);
	if (!same_place)
		diag_note(d, g, other, "rank %u %s here%s", rank, does(&a), calls);
	else if (*calls)
		diag_note(d, g, NOWHERE, "rank %u %s%s", rank, does(&a), calls);
}

/* ---- waves of a rank with one task, pair by pair ------------------------------------ */

static void compare_any(struct racing *r, uint32_t rank, const struct op *a, const struct op *b)
{
	struct touch x = op_touch(a), y = op_touch(b);
	if (cells_overlap(x.w, x.wn, y.w, y.wn))
		report(r, rank, (struct side){ a, true }, (struct side){ b, true }, true);
	else if (cells_overlap(x.w, x.wn, y.r, y.rn))
		report(r, rank, (struct side){ a, true }, (struct side){ b, false }, true);
	else if (cells_overlap(x.r, x.rn, y.w, y.wn))
		report(r, rank, (struct side){ a, false }, (struct side){ b, true }, true);
}

static inline void compare(struct racing *r, uint32_t rank, const struct op *a, const struct op *b)
{
	enum op_kind k = op_kind(a), l = op_kind(b);
	/* Most pairs are ends of messages (the kinds up to OP_REDUCE_FROM), with one range of cells
	 * each: a send reads it, other kinds write it. Two sends or separate ranges are no race. */
	if (k <= OP_REDUCE_FROM && l <= OP_REDUCE_FROM &&
	    ((k == OP_SEND && l == OP_SEND) || !cells_overlap(a->cell, a->n, b->cell, b->n)))
		return;
	compare_any(r, rank, a, b);
}

/* ---- users that share no cells -------------------------------------------------------- */

/* Allocates numbers for n users of cells: first + 1 .. first + n. `first`, which is returned,
 * stands for several readers. Marks below `first` are of earlier users, and do not count. */
static uint32_t new_users(struct racing *r, uint32_t n)
{
	uint32_t first = r->nusers + 1; /* 0: no user's mark */
	if (!r->marks)
		r->marks =
			ARENA_ARRAY(r->ctx->scratch, uint32_t, (size_t)r->p->cells + r->p->scratch);
	r->nusers += n + 1;
	return first;
}

/* Marks the operation's cells for user `me`. False: another user, from `first` on, touches one of
 * them, and one of the two writes. */
static inline bool use_alone(struct racing *r, const struct op *o, uint32_t first, uint32_t me)
{
	struct touch x = op_touch(o);
	bool alone = true;
	for (uint32_t *m = r->marks + x.w, *end = m + x.wn; m < end; m++) {
		alone &= *m >> 1 < first || *m >> 1 == me;
		*m = 2 * me + 1;
	}
	for (uint32_t *m = r->marks + x.r, *end = m + x.rn; m < end; m++) {
		bool others = *m >> 1 >= first && *m >> 1 != me;
		alone &= !others || !(*m & 1);
		if (*m >> 1 != me)
			*m = 2 * (others ? first : me);
	}
	return alone;
}

/* Whether no two operations of the wave can race. */
static bool wave_is_clean(struct racing *r, const struct op *ops, uint32_t n)
{
	uint32_t first = n > 1 ? new_users(r, n) : 0;
	bool clean = true;
	for (uint32_t i = 0; i < n && n > 1 && clean; i++)
		clean = use_alone(r, &ops[i], first, first + 1 + i);
	return clean;
}

static bool waves_are_clean(struct racing *r, const struct task *t)
{
	bool clean = true;
	for (uint32_t w = 0, n; w < t->nops && clean; w += n) {
		n = wave_length(t, w);
		clean = wave_is_clean(r, t->ops + w, n);
	}
	return clean;
}

/* Whether no operations of these tasks can race, for any order of the tasks. */
static bool tasks_are_clean(struct racing *r, const uint32_t *tasks, uint32_t n)
{
	uint32_t first = new_users(r, n);
	bool clean = true;
	for (uint32_t k = 0; k < n; k++) {
		const struct task *t = &r->p->tasks[tasks[k]];
		for (uint32_t i = 0; i < t->nops && clean; i++)
			clean = use_alone(r, &t->ops[i], first, first + 1 + k);
	}
	for (uint32_t k = 0; k < n && clean; k++)
		clean = waves_are_clean(r, &r->p->tasks[tasks[k]]);
	return clean;
}

/* ---- order between the tasks of a rank ----------------------------------------------- */

static uint32_t strand_of(const struct racing *r, struct access x)
{
	return r->p->lowered ? x.who : r->local[r->segments[x.who].task];
}

/* Whether two segments are inside different blocks of the same run of a par. O(depth). */
static bool parallel(const struct racing *r, uint32_t a, uint32_t b)
{
	const struct segment *s = r->segments;
	while (s[a].depth > s[b].depth)
		a = s[a].parent;
	while (s[b].depth > s[a].depth)
		b = s[b].parent;
	if (a == b)
		return false;
	while (s[a].parent != s[b].parent) {
		a = s[a].parent;
		b = s[b].parent;
	}
	return s[a].fork == s[b].fork;
}

static const struct version *version_at(const struct strand *s, uint32_t row)
{
	uint32_t lo = 0, hi = s->nversions; /* finds the last version with version.row <= row */
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (s->versions[mid].row <= row)
			lo = mid;
		else
			hi = mid;
	}
	return &s->versions[lo];
}

/* Whether access `x`, visited before, is ordered before the wave of `s` that begins at `wave`. */
static bool before(const struct racing *r, struct access x, const struct strand *s, uint32_t wave)
{
	uint32_t other = strand_of(r, x);
	if (&r->strands[other] == s)
		return x.row < wave;
	if (!r->p->lowered)
		return !parallel(r, x.who, s->segment);
	return clocks_row(&r->clocks, s->versions[s->nversions - 1].clock)[other] > x.row;
}

static void add_version(struct racing *r, struct strand *s, uint32_t row, size_t clock)
{
	ARENA_PUSH(r->ctx->scratch, s->versions, s->nversions, s->capversions) =
		(struct version){ row, clock };
}

/* At its row `row`, `s` learns that strand `j` has finished the rows before `to`. */
static void learn(struct racing *r, struct strand *s, uint32_t row, uint32_t j, uint32_t to)
{
	size_t clock = s->versions[s->nversions - 1].clock;

	if (clocks_learn(&r->clocks, &clock, false, j, to, version_at(&r->strands[j], to)->clock))
		add_version(r, s, row + 1, clock);
}

/* Strand `s` has waited for `parent`. If that is its parent task, it begins a new block: a new
 * segment. Otherwise it is itself a parent at the end of a par; its segment continues, as it does
 * nothing while its blocks run. */
static void enter(struct racing *r, struct strand *s, uint32_t parent, uint32_t fork)
{
	const struct program *p = r->p;
	const struct strand *q = &r->strands[parent];
	if (p->paths[p->tasks[s->task].path].parent != p->tasks[q->task].path)
		return;
	s->segment = r->nsegments;
	ARENA_PUSH(r->ctx->scratch, r->segments, r->nsegments, r->capsegments) =
		(struct segment){ s->task, q->segment, fork, r->segments[q->segment].depth + 1 };
}

/* ---- accesses, cell by cell ------------------------------------------------------------ */

static uint32_t new_reader(struct racing *r)
{
	uint32_t n = r->free;
	if (n != NONE) {
		r->free = r->readers[n].next;
		return n;
	}
	n = r->nreaders;
	ARENA_PUSH(r->ctx->scratch, r->readers, r->nreaders, r->capreaders) = (struct reader){ 0 };
	return n;
}

/* Keeps only the newest reader of each strand: an access still to come that is ordered after this
 * reader is also ordered after the strand's older ones. */
static void prune(struct racing *r, struct touched *c)
{
	uint32_t *link = &c->readers;
	r->mark++;
	while (*link != NONE) {
		struct reader *q = &r->readers[*link];
		struct strand *s = &r->strands[strand_of(r, q->by)];
		if (s->mark == r->mark) {
			uint32_t n = *link;
			*link = q->next;
			q->next = r->free;
			r->free = n;
			c->nreaders--;
		} else {
			s->mark = r->mark;
			link = &q->next;
		}
	}
}

static struct touched *cell_at(struct racing *r, uint32_t i)
{
	struct touched *c = &r->cells[i];
	if (c->age != r->age)
		*c = (struct touched){ r->age, { NONE, 0 }, NONE, 0 };
	return c;
}

static void check_pair(struct racing *r, const struct strand *s, uint32_t wave, uint32_t row,
		       bool writes, struct access x, bool x_writes)
{
	if (before(r, x, s, wave))
		return;
	const struct strand *q = &r->strands[strand_of(r, x)];
	const struct task *a = &r->p->tasks[q->task], *b = &r->p->tasks[s->task];
	report(r, b->rank, (struct side){ &a->ops[x.row], x_writes },
	       (struct side){ &b->ops[row], writes }, q == s);
}

static void write_cell(struct racing *r, uint32_t i, const struct strand *s, struct access me,
		       uint32_t wave)
{
	struct touched *c = cell_at(r, i);
	if (c->writer.who != NONE)
		check_pair(r, s, wave, me.row, true, c->writer, true);
	for (uint32_t n = c->readers; n != NONE;) {
		uint32_t next = r->readers[n].next;
		check_pair(r, s, wave, me.row, true, r->readers[n].by, false);
		r->readers[n].next = r->free;
		r->free = n;
		n = next;
	}
	c->writer = me;
	c->readers = NONE;
	c->nreaders = 0;
}

static void read_cell(struct racing *r, uint32_t i, const struct strand *s, struct access me,
		      uint32_t wave)
{
	struct touched *c = cell_at(r, i);
	if (c->writer.who == me.who && c->writer.row == me.row)
		return; /* the write of the same operation stands for both */
	if (c->writer.who != NONE)
		check_pair(r, s, wave, me.row, false, c->writer, true);
	if (c->readers != NONE) {
		struct reader *q = &r->readers[c->readers];
		if (&r->strands[strand_of(r, q->by)] == s) {
			q->by = me; /* the newest reader of the strand is enough: prune() */
			return;
		}
	}
	uint32_t n = new_reader(r);
	r->readers[n] = (struct reader){ me, c->readers };
	c->readers = n;
	/* At most one reader a strand is left, so pruning is O(1) for each read, on average. */
	if (++c->nreaders > 2 * r->nstrands + 8)
		prune(r, c);
}

static void visit(struct racing *r, const struct strand *s, uint32_t row, uint32_t wave)
{
	struct touch x = op_touch(&r->p->tasks[s->task].ops[row]);
	struct access me = { r->p->lowered ? (uint32_t)(s - r->strands) : s->segment, row };
	for (uint32_t i = 0; i < x.wn; i++)
		write_cell(r, x.w + i, s, me, wave);
	for (uint32_t i = 0; i < x.rn; i++)
		read_cell(r, x.r + i, s, me, wave);
}

/* Forgets all accesses. */
static void new_age(struct racing *r)
{
	if (!r->cells)
		r->cells = ARENA_ARRAY(r->ctx->scratch, struct touched,
				       (size_t)r->p->cells + r->p->scratch);
	r->age++;
	r->nreaders = 0;
	r->free = NONE;
}

/* ---- ranks --------------------------------------------------------------------------------- */

/* Begins a segment for each strand: that of the main line, and a placeholder for each block, which
 * begins its own at the wait that is its first operation (lanes.c). A parent's strand has a lower
 * number than its blocks'. */
static void first_segments(struct racing *r)
{
	const struct program *p = r->p;
	r->nsegments = 0;
	for (uint32_t i = 0; i < r->nstrands; i++)
		r->by_path[p->tasks[r->strands[i].task].path] = i;
	for (uint32_t i = 0; i < r->nstrands; i++) {
		struct strand *s = &r->strands[i];
		uint32_t path = p->paths[p->tasks[s->task].path].parent;
		uint32_t parent = path == NONE ? NONE : r->strands[r->by_path[path]].segment;
		s->segment = r->nsegments;
		ARENA_PUSH(r->ctx->scratch, r->segments, r->nsegments, r->capsegments) =
			(struct segment){ s->task, parent, 0,
					  path == NONE ? 0 : r->segments[parent].depth + 1 };
	}
}

static void set_strands(struct racing *r, const uint32_t *tasks, uint32_t n)
{
	struct arena *a = r->ctx->scratch;
	if (n > r->capstrands) {
		r->capstrands = 2 * n;
		r->strands = ARENA_ARRAY(a, struct strand, r->capstrands);
	}
	r->nstrands = n;
	clocks_begin(&r->clocks, a, r->p->lowered ? n : 0);
	for (uint32_t i = 0; i < n; i++) {
		struct strand *s = &r->strands[i];
		r->local[tasks[i]] = i;
		s->task = tasks[i];
		s->nversions = 0;
		add_version(r, s, 0, 0);
	}
	if (!r->p->lowered)
		first_segments(r);
}

/* A rank with one task: only operations of the same wave can race. */
static void walk_task(struct racing *r, uint32_t t)
{
	const struct task *task = &r->p->tasks[t];
	const struct op *ops = task->ops;
	bool set = false;
	for (uint32_t w = 0, end; w < task->nops; w = end) {
		end = w + wave_length(task, w);
		if (end - w == 2) { /* most waves */
			compare(r, task->rank, &ops[w], &ops[w + 1]);
			continue;
		}
		if (end - w > FEW_PAIRS && wave_is_clean(r, ops + w, end - w))
			continue;
		if (end - w <= SHORT_WAVE) {
			for (uint32_t i = w + 1; i < end; i++)
				for (uint32_t j = w; j < i; j++)
					compare(r, task->rank, &ops[j], &ops[i]);
			continue;
		}
		if (!set)
			set_strands(r, &t, 1);
		set = true;
		new_age(r);
		for (uint32_t i = w; i < end; i++)
			visit(r, r->strands, i, w);
	}
}

/* For rank_walk: checks the wave's accesses, or takes the order from a wait. */
static void walk_wave(void *arg, uint32_t task, uint32_t row, uint32_t n)
{
	struct racing *r = arg;
	struct strand *s = &r->strands[r->local[task]];
	const struct op *o = &r->p->tasks[task].ops[row];

	if (op_kind(o) != OP_WAIT)
		for (uint32_t i = row; i < row + n; i++)
			visit(r, s, i, row);
	else if (r->p->lowered)
		learn(r, s, row, r->local[o->fifo], o->other);
	else
		enter(r, s, r->local[o->fifo], o->other);
}

/* ccs(5) 6, Races */
bool race(struct ctx *c, struct program *p)
{
	struct racing r = { .ctx = c, .p = p, .free = NONE };
	struct rank_walk w;
	rank_walk_init(&w, c->scratch, p);
	r.local = ARENA_ARRAY(c->scratch, uint32_t, p->ntasks);
	r.by_path = ARENA_ARRAY(c->scratch, uint32_t, p->npaths);
	r.told = ARENA_ARRAY(c->scratch, uint32_t, p->nsites);
	for (uint32_t k = 0; k < p->nranks; k++) {
		uint32_t *tasks = w.tasks + w.first[k], n = w.first[k + 1] - w.first[k];
		if (n == 1) {
			walk_task(&r, tasks[0]);
		} else if (n > 1 && (p->lowered || !tasks_are_clean(&r, tasks, n))) {
			set_strands(&r, tasks, n);
			new_age(&r);
			/* False: the waits have a cycle, a deadlock. Then there is no order to
			 * check, and the program is refused. */
			r.found |= !rank_walk(&w, k, walk_wave, &r);
		}
		if (r.found && p->lowered)
			break;
	}
	return !r.found;
}
