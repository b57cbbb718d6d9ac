/*
 * Between: races between thread blocks.
 *
 * In: a value program and an order that it can run in. Out: E0402 for two steps of a GPU that
 * touch the same chunk, at least one of them storing, with no path between them along blocks,
 * dependencies and messages (check/before.h); whether there were none. A block that received data
 * that depends on another block's send is ordered after it, so messages order as dependencies do;
 * slots do not, since a FIFO may be deeper.
 *
 * Events are visited in the given order, with the last writer of each cell and its readers since
 * then. Whether such an access comes before the current one is a query; queries that before_ask()
 * leaves open are answered together. Each order found this way becomes an OP_WAIT between the two
 * tasks. It adds no waiting, and the passes that put a rank's operations in one line need not
 * consider messages. O(operations + cells touched), plus the cost of the queries (before.h).
 */
#include "compiler/check/before.h"
#include "compiler/msccl/msccl.h"

#include <stdlib.h>
#include <string.h>

struct touched {
	uint32_t writer;  /* event + 1; 0: none */
	uint32_t readers; /* row + 1 of the readers since the writer */
};

struct reader {
	uint32_t event, next;
};

struct looking {
	struct ctx *c;
	struct program *p;
	struct before b;
	struct touched *cells; /* of all ranks */
	struct reader *readers;
	uint32_t nreaders, capreaders;
	struct question *questions;
	uint32_t nquestions, capquestions;
	uint32_t *told; /* told_before() */
};

/* ---- queries --------------------------------------------------------------------------- */

static void ask(struct looking *x, uint32_t early, uint32_t late, uint32_t cell)
{
	const struct question *last = x->nquestions ? &x->questions[x->nquestions - 1] : NULL;

	if (x->b.events[early].task == x->b.events[late].task)
		return;
	if (last && last->early == early && last->late == late)
		return;
	ARENA_PUSH(x->c->scratch, x->questions, x->nquestions, x->capquestions) =
		(struct question){ .early = early, .late = late, .subject = cell };
}

static void write_cell(struct looking *x, struct touched *t, uint32_t event, uint32_t cell)
{
	if (t->writer)
		ask(x, t->writer - 1, event, cell);
	for (uint32_t i = t->readers; i; i = x->readers[i - 1].next)
		ask(x, x->readers[i - 1].event, event, cell);
	*t = (struct touched){ .writer = event + 1 };
}

static void read_cell(struct looking *x, struct touched *t, uint32_t event, uint32_t cell)
{
	if (t->writer && t->writer - 1 != event)
		ask(x, t->writer - 1, event, cell);
	for (uint32_t i = t->readers; i; i = x->readers[i - 1].next) {
		struct reader *r = &x->readers[i - 1];
		if (x->b.events[r->event].task != x->b.events[event].task)
			continue;
		r->event = event; /* and with it those before it */
		return;
	}
	ARENA_PUSH(x->c->scratch, x->readers, x->nreaders, x->capreaders) =
		(struct reader){ event, t->readers };
	t->readers = x->nreaders;
}

static void ask_all(struct looking *x)
{
	const struct program *p = x->p;
	size_t width = (size_t)p->cells + p->scratch;

	x->cells = ARENA_ARRAY(x->c->scratch, struct touched, width * p->nranks);
	for (uint32_t e = 0; e < x->b.n; e++) {
		const struct event *v = &x->b.events[e];
		const struct task *t = &p->tasks[v->task];
		const struct op *o = &t->ops[v->row];
		struct touched *cells = x->cells + t->rank * width;
		struct touch at = op_touch(o);

		/* A cell that is read and written counts as written, but a reduction into
		 * a cell also reads another cell. */
		for (uint32_t i = at.r; i < at.r + at.rn; i++)
			read_cell(x, &cells[i], e, i);
		for (uint32_t i = at.w; i < at.w + at.wn; i++)
			write_cell(x, &cells[i], e, i);
	}
}

/* Answers queries by a short search; moves the rest to the front, and answers them together. */
static void answer(struct looking *x, struct question **open, uint32_t *nopen)
{
	uint32_t cap = 0;

	*open = NULL;
	*nopen = 0;
	for (uint32_t e = 0; e < x->b.n; e++)
		x->b.events[e].writes = 0; /* cells give no order here, as there may be races */
	for (uint32_t i = 0; i < x->nquestions; i++) {
		struct question *q = &x->questions[i];
		q->answer = before_ask(&x->b, q->early, q->late);
		if (q->answer != BEFORE_OPEN)
			continue;
		struct question again = *q;
		again.subject = i;
		ARENA_PUSH(x->c->scratch, *open, *nopen, cap) = again;
	}
	before_ask_all(&x->b, *open, *nopen);
	for (uint32_t i = 0; i < *nopen; i++)
		x->questions[(*open)[i].subject].answer = (*open)[i].answer;
}

/* ---- reports ---------------------------------------------------------------------------- */

static const struct op *op_of(const struct looking *x, uint32_t event)
{
	const struct event *v = &x->b.events[event];

	return &x->p->tasks[v->task].ops[v->row];
}

static const char *does(const struct op *o, uint32_t cell)
{
	struct touch t = op_touch(o);
	bool writes = cell - t.w < t.wn;

	return op_kind(o) == OP_SEND			? "sends it"
	       : !writes				? "reads it"
	       : op_kind(o) == OP_REDUCE_INTO		? "reduces into it"
	       : op_in(o) != NONE && o->kind == OP_RECV ? "receives into it"
							: "stores into it";
}

static void report(struct looking *x, const struct question *q)
{
	const struct op *a = op_of(x, q->early), *b = op_of(x, q->late);
	const struct program *p = x->p;
	const struct site *at = &p->sites[b->site], *other = &p->sites[a->site];
	uint32_t rank = p->tasks[x->b.events[q->late].task].rank;
	struct diags *d = x->c->diags;

	if (told_before(x->told, b, rank))
		return;
	struct diag *g = diag_add(d, SEV_ERROR, 402, at->span, rank,
				  "race on %s of GPU %u: %s %s, and nothing orders it and %s",
				  program_cells_text(x->c->scratch, p, q->subject, 1), rank,
				  at->name, does(b, q->subject), other->name);
	diag_note(d, g, other->span, "%s %s here", other->name, does(a, q->subject));
	diag_help(d, g,
		  "make the later one wait for the earlier one: depid and deps of its step, and "
		  "hasdep=\"1\" there");
}

/* ---- waits ------------------------------------------------------------------------------ */

static int by_late(const void *a, const void *b)
{
	const struct question *x = a, *y = b;

	if (x->late != y->late)
		return x->late < y->late ? -1 : 1;
	return (x->early > y->early) - (x->early < y->early);
}

/* The rows of a task, with the new waits: where each old row is. */
struct moved {
	uint32_t *row; /* [nops + 1] */
};

static struct moved make_room(struct looking *x, uint32_t task, const uint32_t *extra)
{
	const struct task *t = &x->p->tasks[task];
	struct moved m = { ARENA_ARRAY(x->c->scratch, uint32_t, (size_t)t->nops + 1) };
	uint32_t more = 0;

	for (uint32_t i = 0; i <= t->nops; i++) {
		m.row[i] = i + more;
		if (i < t->nops)
			more += extra[x->b.first[task] + i];
	}
	return m;
}

/* Inserts each wait right before its operation, and adapts waits for rows that have moved. */
static void insert_waits(struct looking *x, const struct question *v, uint32_t n)
{
	struct program *p = x->p;
	uint32_t rows = 0, next = 0;

	for (uint32_t t = 0; t < p->ntasks; t++)
		rows += p->tasks[t].nops;
	uint32_t *extra = ARENA_ARRAY(x->c->scratch, uint32_t, rows);
	for (uint32_t i = 0; i < n; i++) {
		const struct event *e = &x->b.events[v[i].late];
		extra[x->b.first[e->task] + e->row]++;
	}
	struct moved *moved = ARENA_ARRAY(x->c->scratch, struct moved, p->ntasks);
	uint32_t *first = ARENA_ARRAY(x->c->scratch, uint32_t, (size_t)x->b.n + 1);
	for (uint32_t t = 0; t < p->ntasks; t++)
		moved[t] = make_room(x, t, extra);
	for (uint32_t e = 0; e <= x->b.n; e++) { /* queries ascend by `late` */
		while (next < n && v[next].late < e)
			next++;
		first[e] = next;
	}
	for (uint32_t t = 0; t < p->ntasks; t++) {
		struct task *k = &p->tasks[t];
		uint32_t nops = moved[t].row[k->nops];
		struct op *ops = ARENA_ARRAY(p->arena, struct op, nops), *to = ops;

		for (uint32_t i = 0; i < k->nops; i++) {
			uint32_t e = before_event(&x->b, t, i);
			for (uint32_t q = e == NONE ? n : first[e]; q < n && v[q].late == e; q++) {
				const struct event *early = &x->b.events[v[q].early];
				*to++ = (struct op){
					.kind = OP_WAIT,
					.site = k->ops[i].site,
					.fifo = early->task,
					.other = moved[early->task].row[early->row] + 1 +
						 extra[x->b.first[early->task] + early->row],
				};
			}
			*to = k->ops[i];
			if (op_kind(to) == OP_WAIT)
				to->other = to->other ? moved[to->fifo].row[to->other] : 0;
			to++;
		}
		k->ops = ops;
		k->nops = k->capops = nops;
	}
	p->messages = NULL; /* their rows have moved */
}

/* Adds waits: for each operation and other task, only the wait for the latest row. */
static void add_waits(struct looking *x)
{
	struct question *v = x->questions;
	uint32_t n = 0;

	if (x->nquestions)
		qsort(v, x->nquestions, sizeof(*v), by_late);
	for (uint32_t i = 0; i < x->nquestions; i++) {
		if (n && v[n - 1].late == v[i].late &&
		    x->b.events[v[n - 1].early].task == x->b.events[v[i].early].task)
			n--;
		v[n++] = v[i];
	}
	insert_waits(x, v, n);
}

enum answer msccl_between(struct ctx *c, struct program *p, const struct order *order)
{
	struct looking x = { .c = c, .p = p };
	struct question *open;
	uint32_t nopen, races = 0, unknown = 0;

	match_messages(c, p);
	if (!before_init(&x.b, c, p, order)) {
		diag_add(c->diags, SEV_ERROR, 501, p->sites[0].span, NO_RANK,
			 "races are searched among at most %u operations (LIMIT_EVENTS)",
			 LIMIT_EVENTS);
		return BEFORE_OPEN;
	}
	x.told = ARENA_ARRAY(c->scratch, uint32_t, p->nsites);
	ask_all(&x);
	answer(&x, &open, &nopen);
	for (uint32_t i = 0; i < x.nquestions; i++) {
		races += x.questions[i].answer == BEFORE_NO;
		unknown += x.questions[i].answer == BEFORE_OPEN;
		if (x.questions[i].answer == BEFORE_NO)
			report(&x, &x.questions[i]);
	}
	if (!races && unknown)
		diag_add(c->diags, SEV_ERROR, 501, p->sites[0].span, NO_RANK,
			 "it took too much work to find out whether thread blocks race");
	if (!races && !unknown)
		add_waits(&x);
	return races ? BEFORE_NO : unknown ? BEFORE_OPEN : BEFORE_YES;
}
