/*
 * The lanes of a rank's operations: one for its main line, and one for each path of par blocks,
 * with the waits that implement pars.
 *
 * A block gets its lane with its first operation. O(1) an operation, plus O(depth of pars) at the
 * begin of a block. ccs(5) 6.
 */
#include "compiler/expand/squad.h"

static uint32_t rows(const struct cursor *v, uint32_t lane)
{
	return v->lanes[lane].done + v->lanes[lane].n;
}

/* The rank's lane of a path; made at its first use. */
static uint32_t find_lane(struct cursor *v, uint32_t path)
{
	while (v->nlane_of <= path)
		ARENA_PUSH(v->arena, v->lane_of, v->nlane_of, v->caplane_of) = 0;
	if (!v->lane_of[path]) {
		uint32_t task = path == 0 ? v->rank : v->ntasks++;
		ARENA_PUSH(v->arena, v->lanes, v->nlanes, v->caplanes) =
			(struct lane){ .path = path, .task = task };
		v->lane_of[path] = v->nlanes;
	}
	return v->lane_of[path] - 1;
}

/* Sets the current lane (NONE: a block without operations so far). */
static void use_lane(struct cursor *v, uint32_t lane)
{
	v->lane = lane;
	v->at = lane == NONE ? UINT64_MAX : (uint64_t)v->lanes[lane].path << 32 | v->channel;
}

void cursor_use_channel(struct cursor *v, struct spread channel)
{
	if (v->squad) {
		v->squad->channel = channel;
		return;
	}
	v->channel = (uint32_t)channel.base;
	if (v->lane != NONE)
		use_lane(v, v->lane);
}

/* Adds to the lane a wait for the first n rows of the task. */
static void push_wait(struct cursor *v, uint32_t lane, uint32_t task, uint32_t n)
{
	struct lane *l = &v->lanes[lane];
	l->ops[l->n++] = (struct op){ .kind = OP_WAIT, .fifo = task, .other = n };
	v->nsilent++;
}

static bool has_room(struct cursor *v, uint32_t lane)
{
	v->full = lane;
	return v->lanes[lane].n < v->lanes[lane].cap;
}

static bool too_many_tasks(struct cursor *v)
{
	cursor_report(v, 501, v->program->instance.schedule->name.span,
		      "more than %u blocks of pars, of all ranks (LIMIT_TASKS)", LIMIT_TASKS);
	v->stopped = true;
	return false;
}

/* From the outermost block inwards; each block begins with a wait for its parent's rows before the
 * par. */
bool cursor_make_room(struct cursor *v)
{
	uint32_t parent = find_lane(v, 0);
	for (uint32_t i = 0; i < v->npars; i++) {
		struct par_row *p = &v->pars[i];
		if (p->lane == NONE) {
			if (v->ntasks >= LIMIT_TASKS)
				return too_many_tasks(v);
			uint32_t path = v->tables ? tables_path(v->tables, v->lanes[parent].path,
								p->block, true)
						  : 0;
			uint32_t lane = find_lane(v, path);
			if (!has_room(v, lane))
				return false;
			/* Also after 0 rows of the parent: the wait marks the fork. */
			push_wait(v, lane, v->lanes[parent].task, rows(v, parent));
			p->lane = lane;
		}
		parent = p->lane;
	}
	use_lane(v, parent);
	return has_room(v, parent);
}

static uint32_t outer_lane(const struct cursor *v)
{
	if (v->npars > 0)
		return v->pars[v->npars - 1].lane;
	return v->nlanes > 0 ? 0 : NONE;
}

void cursor_main_room(struct cursor *v, struct op *room, uint32_t cap)
{
	uint32_t lane = find_lane(v, 0);
	v->lanes[lane].ops = room;
	v->lanes[lane].cap = cap;
	use_lane(v, lane);
}

void cursor_par(struct cursor *v)
{
	ARENA_PUSH(v->arena, v->pars, v->npars, v->cappars) = (struct par_row){
		.lane = NONE, .joins = v->njoins, .top = v->top, .high = v->high, .most = v->top
	};
	if (v->squad)
		squad_mark(v->squad, MARK_PAR, 0);
}

void cursor_block(struct cursor *v, uint32_t number)
{
	struct par_row *p = &v->pars[v->npars - 1];
	p->block = number;
	p->lane = NONE;
	v->work->done += WORK_BLOCK;
	v->top = v->high = p->most; /* scratch of blocks does not overlap */
	if (v->squad)
		squad_mark(v->squad, MARK_BLOCK, number);
	use_lane(v, NONE);
}

void cursor_block_end(struct cursor *v)
{
	struct par_row *p = &v->pars[v->npars - 1];
	if (p->lane != NONE)
		ARENA_PUSH(v->arena, v->joins, v->njoins, v->capjoins) =
			(struct join){ p->lane, rows(v, p->lane) };
	p->lane = NONE;
	p->most = v->high;
	if (v->squad)
		squad_mark(v->squad, MARK_BLOCK_END, 0);
}

bool cursor_par_end(struct cursor *v)
{
	struct par_row *p = &v->pars[v->npars - 1];
	uint32_t parent = v->npars > 1 ? v->pars[v->npars - 2].lane : 0;
	/* In order of blocks; it is called again after a `false`. If there are joins, the parent
	 * has a lane. */
	if (p->block != NONE) {
		p->block = NONE;
		p->next = p->joins;
	}
	for (; p->next < v->njoins; p->next++) {
		const struct join *j = &v->joins[p->next];
		if (!has_room(v, parent))
			return false;
		push_wait(v, parent, v->lanes[j->lane].task, j->rows);
	}
	if (v->squad)
		squad_mark(v->squad, MARK_PAR_END, 0);
	v->top = p->top;
	v->high = p->most > p->high ? p->most : p->high;
	v->njoins = p->joins;
	v->npars--;
	use_lane(v, outer_lane(v));
	return true;
}
