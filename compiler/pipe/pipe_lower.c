/*
 * Lower: a text of computations alone gets its messages, as PyTorch 2.15 places them.
 *
 * In: a sound pipeline without sends and receives. Out: the same with them, and with the other
 * actions that PyTorch's runtime adds; tests compare it with PyTorch's own, action by action. In
 * the order of its passes (torch.distributed.pipelining.schedules, _prepare_schedule_with_comms):
 *
 *   1. UNSHARD before the first use of a stage among the next three stages of the rank, RESHARD
 *      when it is not one of these any more.
 *   2. REDUCE_GRAD and WAIT_REDUCE_GRAD behind the last backward of a stage.
 *   3. Messages. Ranks take turns with one action each. An action that has its input is placed; if
 *      its result goes to another rank, the send is placed behind it, and the receive at the end of
 *      the other rank's text as it is then. An action that lacks its input waits for its turn.
 *      Sends and receives are so in one order on all ranks, that of the turns, and none of them can
 *      wait for a later one.
 *   4. WAIT_SEND_F behind the backward of the same microbatch; all others at the end.
 *
 * A bracket is one action for the passes. O(actions * turns in which a rank waits).
 */
#include "compiler/pipe/pipe.h"

#include <string.h>

enum { ACTIVE = 3 }; /* stages of a rank that have their weights at once (max_active_stages) */

/* The actions of a rank. */
struct list {
	struct pipe_action *v;
	uint32_t n, cap;
};

struct lowering {
	struct ctx *c;
	const struct pipe *p;
	struct list *local;	  /* [nranks] behind pass 2 */
	struct list *all;	  /* [nranks] behind pass 3; then 4 */
	bool *placed[PIPE_NAMED]; /* [nstages * nmbs] */
	uint32_t *sent;		  /* [nstages * nmbs] SEND_F's row in the rank's list, or NONE */
};

static void add(struct lowering *x, struct list *to, struct pipe_action a)
{
	ARENA_PUSH(x->c->scratch, to->v, to->n, to->cap) = a;
}

/* An action that the text does not have: its place is that of a computation. */
static void add_new(struct lowering *x, struct list *to, const struct pipe_action *for_it,
		    enum pipe_kind k, uint32_t stage, uint32_t mb)
{
	add(x, to,
	    (struct pipe_action){ .name = pipe_name(x->c->arena, k, stage, mb),
				  .span = for_it->span,
				  .stage = stage,
				  .mb = mb,
				  .rank = x->p->rank_of[stage] & 0xffff,
				  .kind = (uint8_t)k });
}

/* Behind the last action of the bracket at row i, up to row `end`. */
static uint32_t unit_end(const struct pipe_action *v, uint32_t i, uint32_t end)
{
	for (i++; i < end && v[i].joined; i++)
		;
	return i;
}

/* ---- 1 and 2: local actions ------------------------------------------------------------ */

/* Stages in the order of their next use, each with the row of that; whole brackets, until there are
 * ACTIVE. */
struct ahead {
	uint32_t stage[ACTIVE + 1], row[ACTIVE + 1], n;
};

static bool has_stage(const uint32_t *v, uint32_t n, uint32_t stage)
{
	while (n > 0 && v[n - 1] != stage)
		n--;
	return n > 0;
}

/* The same from rows i .. end - 1 on, a bracket, where `then` is from `end` on. */
static struct ahead ahead_of(const struct pipe_action *v, uint32_t i, uint32_t end,
			     const struct ahead *then)
{
	struct ahead a = { .n = 0 };

	for (uint32_t k = i; k < end; k++)
		if (!has_stage(a.stage, a.n, v[k].stage)) {
			a.row[a.n] = i;
			a.stage[a.n++] = v[k].stage;
		}
	for (uint32_t k = 0; k < then->n; k++) {
		if (has_stage(a.stage, a.n, then->stage[k]))
			continue;
		if (a.n >= ACTIVE && a.row[a.n - 1] != then->row[k])
			break;
		a.row[a.n] = then->row[k];
		a.stage[a.n++] = then->stage[k];
	}
	return a;
}

/* Stages that have their weights, in the order in which they came. */
struct active {
	uint32_t v[2 * ACTIVE + 2], n;
};

static void fetch(struct lowering *x, struct list *to, struct active *now, const struct ahead *next,
		  const struct pipe_action *for_it)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < now->n; k++)
		if (next && has_stage(next->stage, next->n, now->v[k]))
			now->v[kept++] = now->v[k];
		else
			add_new(x, to, for_it, PIPE_RESHARD, now->v[k], NONE);
	now->n = kept;
	for (uint32_t k = 0; next && k < next->n; k++)
		if (!has_stage(now->v, now->n, next->stage[k])) {
			now->v[now->n++] = next->stage[k];
			add_new(x, to, for_it, PIPE_UNSHARD, next->stage[k], NONE);
		}
}

static void reduce(struct lowering *x, struct list *to, uint32_t *left, const struct pipe_action *a)
{
	if ((a->kind != PIPE_B && a->kind != PIPE_W) || --left[a->stage])
		return;
	add_new(x, to, a, PIPE_REDUCE_GRAD, a->stage, NONE);
	add_new(x, to, a, PIPE_WAIT_REDUCE_GRAD, a->stage, NONE);
}

/* Local actions of the text, which PyTorch does not take in one of computations, are placed anew. */
static void add_local(struct lowering *x, uint32_t rank, uint32_t *left)
{
	const struct pipe *p = x->p;
	struct list text = { .n = 0 }, *to = &x->local[rank];
	struct active now = { .n = 0 };

	for (uint32_t i = p->first[rank]; i < p->first[rank + 1]; i++)
		if (pipe_computes(p->v[i].kind))
			add(x, &text, p->v[i]);
	struct ahead *next = ARENA_ARRAY(x->c->scratch, struct ahead, text.n + 1);
	for (uint32_t i = text.n, end = text.n; i-- > 0;)
		if (!text.v[i].joined) {
			next[i] = ahead_of(text.v, i, end, &next[end]);
			end = i;
		}
	for (uint32_t i = 0, end; i < text.n; i = end) {
		end = unit_end(text.v, i, text.n);
		fetch(x, to, &now, &next[i], &text.v[i]);
		for (uint32_t k = i; k < end; k++)
			add(x, to, text.v[k]);
		for (uint32_t k = i; k < end; k++)
			reduce(x, to, left, &text.v[k]);
	}
	if (text.n)
		fetch(x, to, &now, NULL, &text.v[text.n - 1]);
}

/* ---- 3: messages -------------------------------------------------------------------------- */

static bool *is_placed(struct lowering *x, enum pipe_kind k, uint32_t stage, uint32_t mb)
{
	return &x->placed[k][(size_t)stage * x->p->nmbs + mb];
}

/* Whether stage `to` has the result of stage `from`: by a message, or on its own rank. */
static bool is_ready(struct lowering *x, const struct pipe_action *a)
{
	const struct pipe *p = x->p;
	bool forward = a->kind == PIPE_F;

	if (forward ? a->stage == 0 : a->stage + 1 == p->nstages)
		return true;
	if (!forward && a->kind != PIPE_B && a->kind != PIPE_I)
		return true;
	uint32_t from = forward ? a->stage - 1 : a->stage + 1;
	if (p->rank_of[from] != a->rank)
		return *is_placed(x, forward ? PIPE_RECV_F : PIPE_RECV_B, a->stage, a->mb);
	return forward ? *is_placed(x, PIPE_F, from, a->mb)
		       : *is_placed(x, PIPE_B, from, a->mb) || *is_placed(x, PIPE_I, from, a->mb);
}

static void place(struct lowering *x, const struct pipe_action *a)
{
	const struct pipe *p = x->p;
	bool forward = a->kind == PIPE_F;

	if (a->kind >= PIPE_NAMED)
		return;
	*is_placed(x, a->kind, a->stage, a->mb) = true;
	if (a->kind == PIPE_W || (forward ? a->stage + 1 == p->nstages : a->stage == 0))
		return;
	uint32_t to = forward ? a->stage + 1 : a->stage - 1;
	if (p->rank_of[to] == a->rank)
		return;
	add_new(x, &x->all[a->rank], a, forward ? PIPE_SEND_F : PIPE_SEND_B, a->stage, a->mb);
	add_new(x, &x->all[p->rank_of[to]], a, forward ? PIPE_RECV_F : PIPE_RECV_B, to, a->mb);
	*is_placed(x, forward ? PIPE_RECV_F : PIPE_RECV_B, to, a->mb) = true;
}

/* The rank's turn, at row *at of its text; false: it waits for its input. */
static bool take_turn(struct lowering *x, uint32_t rank, uint32_t *at)
{
	const struct list *from = &x->local[rank];
	uint32_t end = unit_end(from->v, *at, from->n);

	for (uint32_t i = *at; i < end; i++)
		if (!is_ready(x, &from->v[i]))
			return false;
	for (uint32_t i = *at; i < end; i++)
		add(x, &x->all[rank], from->v[i]);
	for (uint32_t i = *at; i < end; i++)
		place(x, &from->v[i]);
	*at = end;
	return true;
}

static void report_stuck(struct lowering *x, const uint32_t *at)
{
	struct ctx *c = x->c;
	struct diag *d = NULL;

	c->diags->phase = PHASE_DEADLOCK;
	for (uint32_t r = 0; r < x->p->nranks; r++) {
		if (at[r] == x->local[r].n)
			continue;
		const struct pipe_action *a = &x->local[r].v[at[r]];
		if (at[r] + 1 < x->local[r].n && a[1].joined && is_ready(x, a))
			a++;
		bool up = a->kind == PIPE_F;
		if (!d)
			d = diag_add(c->diags, SEV_ERROR, 304, a->span, NO_RANK,
				     "deadlock: computations wait for each other");
		diag_note(c->diags, d, a->span,
			  "rank %u: %s waits for the %s of stage %u on rank %u", r, a->name,
			  up ? "forward" : "backward", up ? a->stage - 1 : a->stage + 1,
			  x->p->rank_of[up ? a->stage - 1 : a->stage + 1]);
	}
	diag_note(c->diags, d, NOWHERE, "no number of messages in between cures it");
}

static bool add_messages(struct lowering *x)
{
	const struct pipe *p = x->p;
	uint32_t *at = ARENA_ARRAY(x->c->scratch, uint32_t, p->nranks), left = 0;
	bool moves = true;

	for (uint32_t r = 0; r < p->nranks; r++)
		left += x->local[r].n > 0;
	while (left > 0 && moves) {
		moves = false;
		for (uint32_t r = 0; r < p->nranks; r++)
			if (at[r] < x->local[r].n && take_turn(x, r, &at[r])) {
				moves = true;
				left -= at[r] == x->local[r].n;
			}
	}
	if (left > 0)
		report_stuck(x, at);
	return left == 0;
}

/* ---- 4: waits for sends ------------------------------------------------------------------- */

static void add_waits(struct lowering *x, uint32_t rank, struct list *to)
{
	const struct list *from = &x->all[rank];
	bool *waited = ARENA_ARRAY(x->c->scratch, bool, from->n);
	uint32_t *sent = x->sent;

	for (uint32_t i = 0, end; i < from->n; i = end) {
		end = unit_end(from->v, i, from->n);
		for (uint32_t k = i; k < end; k++) {
			const struct pipe_action *a = &from->v[k];
			add(x, to, *a);
			if (a->kind == PIPE_SEND_F)
				sent[(size_t)a->stage * x->p->nmbs + a->mb] = k;
		}
		for (uint32_t k = i; k < end; k++) {
			const struct pipe_action *a = &from->v[k];
			if (a->kind != PIPE_B && a->kind != PIPE_I)
				continue;
			uint32_t send = sent[(size_t)a->stage * x->p->nmbs + a->mb];
			if (send == NONE)
				continue;
			waited[send] = true;
			add_new(x, to, a, PIPE_WAIT_SEND_F, a->stage, a->mb);
		}
	}
	for (uint32_t i = 0; i < from->n; i++) {
		const struct pipe_action *a = &from->v[i];
		if (pipe_sends(a->kind) && !waited[i])
			add_new(x, to, a,
				a->kind == PIPE_SEND_F ? PIPE_WAIT_SEND_F : PIPE_WAIT_SEND_B,
				a->stage, a->mb);
	}
}

/* ---- the whole ------------------------------------------------------------------------------ */

struct pipe *pipe_lower(struct ctx *c, const struct pipe *p)
{
	struct lowering x = { .c = c, .p = p };
	uint32_t *left = ARENA_ARRAY(c->scratch, uint32_t, p->nstages);
	struct pipe *to = arena_copy(c->arena, p, sizeof(*p));

	x.local = ARENA_ARRAY(c->scratch, struct list, p->nranks);
	x.all = ARENA_ARRAY(c->scratch, struct list, p->nranks);
	for (int k = 0; k < PIPE_NAMED; k++)
		x.placed[k] = ARENA_ARRAY(c->scratch, bool, (size_t)p->nstages * p->nmbs);
	x.sent = none_array(c->scratch, (size_t)p->nstages * p->nmbs);
	for (uint32_t s = 0; s < p->nstages; s++)
		left[s] = p->nmbs;
	for (uint32_t r = 0; r < p->nranks; r++)
		add_local(&x, r, left);
	if (!add_messages(&x))
		return NULL;
	to->v = NULL;
	to->n = to->cap = 0;
	to->first = ARENA_ARRAY(c->arena, uint32_t, p->nranks + 1);
	for (uint32_t r = 0; r < p->nranks; r++) {
		struct list all = { .n = 0 };
		add_waits(&x, r, &all);
		to->first[r] = to->n;
		for (uint32_t i = 0; i < all.n; i++)
			ARENA_PUSH(c->arena, to->v, to->n, to->cap) = all.v[i];
	}
	to->first[p->nranks] = to->n;
	to->messages = to->waits = true;
	return to;
}

void pipe_print(const struct pipe *p, FILE *out)
{
	static const char *const ends[] = {
		[PIPE_OVERLAP] = ")OVERLAP_F_B", [PIPE_BATCH] = ")BATCH"
	};

	for (uint32_t r = 0; r < p->nranks; r++) {
		for (uint32_t i = p->first[r]; i < p->first[r + 1]; i++) {
			const struct pipe_action *a = &p->v[i];
			bool last = i + 1 == p->first[r + 1] || !a[1].joined;
			if (i > p->first[r])
				fputc(a->joined ? ';' : ',', out);
			if (a->group != PIPE_ALONE && !a->joined)
				fputc('(', out);
			fputs(a->name, out);
			if (a->group != PIPE_ALONE && last)
				fputs(ends[a->group], out);
		}
		fputc('\n', out);
	}
}
