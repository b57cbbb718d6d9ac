/*
 * Texts -> batches of messages.
 *
 * Each rank's text is run by a cursor that notes loops which repeat. The sends and receives of its
 * rows are taken, wave by wave, and the rows are discarded. Copies take no time, and the rest of
 * their waves is a wave.
 */
#include "compiler/stream/text.h"

#define LIMIT_STREAMED (1ull << 40) /* operations, E0501 */
#define ROOM 1024u		    /* rows that the cursor may write at a time */

struct taking {
	struct stream *s;
	struct cursor v;
	struct op *room;
	bool begins;	 /* the wave at hand has had no end yet */
	bool whole;	 /* the newest batch is one iteration of a loop: it is not continued */
	uint64_t nrows;	 /* of all ranks, each as often as it comes */
	const char *why; /* that is more than can be streamed; or NULL */
	uint32_t uneven; /* the first site of a FIFO that has messages of two sizes, + 1 */
};

static void add_end(struct taking *x, const struct op *o, uint64_t times)
{
	struct stream *s = x->s;
	struct batch *r = &s->batches[s->nbatches - 1];
	while (s->capwidth <= o->fifo) {
		uint32_t cap = s->capwidth ? 2 * s->capwidth : 1024;
		s->width = arena_grow(s->ctx->arena, s->width, s->capwidth * sizeof(*s->width),
				      cap * sizeof(*s->width));
		for (uint32_t i = s->capwidth; i < cap; i++)
			s->width[i] = NONE;
		s->capwidth = cap;
	}
	uint32_t *width = &s->width[o->fifo];
	if (*width == NONE)
		*width = o->n;
	else if (*width != o->n && !x->uneven)
		x->uneven = o->site + 1u;
	if (s->nends == UINT32_MAX - 1)
		x->why = "more than 4294967294 messages are outside of loops";
	ARENA_PUSH(s->ctx->arena, s->ends, s->nends, s->capends) =
		(struct end){ .fifo = o->fifo,
			      .site = o->site,
			      .recv = op_kind(o) != OP_SEND,
			      .joined = !x->begins };
	x->begins = false;
	r->n++;
	s->nmessages += op_kind(o) == OP_SEND ? times : 0;
}

/* A batch for the rows to come, unless the newest one is for them, too. */
static void begin_batch(struct taking *x, uint64_t times)
{
	struct stream *s = x->s;
	if (times == 1 && !x->whole && s->nbatches > s->first[x->v.rank])
		return;
	ARENA_PUSH(s->ctx->arena, s->batches, s->nbatches, s->capbatches) =
		(struct batch){ s->nends, 0, times };
	x->whole = times > 1;
}

/* Rows that repeat the given number of times; `strides` of rows that come again. */
static void take_rows(struct taking *x, const struct op *o, uint32_t n, uint64_t times,
		      const struct stride *strides)
{
	struct stream *s = x->s;
	if (!n)
		return;
	x->nrows += n * times;
	if (x->nrows > LIMIT_STREAMED && !x->why)
		x->why = arena_printf(s->ctx->arena, "more than %llu operations (LIMIT_STREAMED)",
				      LIMIT_STREAMED);
	text_take(s->text, s->ctx->arena, s->text->first[x->v.rank], o, n, times, strides);
	if (s->text->full && s->ctx->too_large.text) /* no whole verdict can come of it */
		x->why = "too many operations are outside of loops";
	begin_batch(x, times);
	for (uint32_t i = 0; i < n; i++) {
		x->begins |= !(o[i].kind & OP_JOINED);
		if (op_is_end(&o[i]))
			add_end(x, &o[i], times);
	}
	if (s->batches[s->nbatches - 1].n == 0) {
		s->nbatches--;
		x->whole = true;
	}
}

/* All that the lane has; it is the rank's only one. */
static void drain(struct taking *x, struct lane *l)
{
	uint32_t at = 0;
	for (uint32_t i = 0; i < x->v.nrepeats; i++) {
		const struct repeat *r = &x->v.repeats[i];
		take_rows(x, l->ops + at, r->at - at, 1, NULL);
		take_rows(x, l->ops + r->at, r->n, r->times, x->v.strides + r->strides);
		at = r->at + r->n;
	}
	take_rows(x, l->ops + at, l->n - at, 1, NULL);
	x->v.nrepeats = x->v.nstrides = 0;
	l->done += l->n;
	l->n = 0;
	l->ops = x->room;
	l->cap = ROOM;
}

static bool take_rank(struct taking *x, uint32_t rank)
{
	struct cursor *v = &x->v;
	const struct decl *d = v->program->instance.schedule;
	cursor_start(v, d->body, rank);
	cursor_main_room(v, x->room, ROOM);
	x->begins = x->whole = true;
	bool more;
	do {
		more = cursor_next(v) == CURSOR_ROOM;
		if (v->nlanes > 1)
			x->why = "the schedule has blocks of a par";
		else
			drain(x, v->lanes);
	} while (more && !x->why);
	if (x->why)
		return stream_refuse(x->s->ctx, d->name.span, x->why);
	return !v->over && v->reports <= LIMIT_REPORTS;
}

bool stream_batches(struct stream *s, const struct instance *in, bool quiet_where)
{
	uint32_t errors = s->ctx->diags->errors;
	struct run_tables tables;
	struct taking x = { .s = s };
	if (!cursor_open(&x.v, s->ctx, in, quiet_where, true, &tables))
		return false;
	s->p = x.v.program;
	if (s->p->any_sized)
		return stream_refuse(s->ctx, in->schedule->name.span,
				     "the schedule has `sized` buffers");
	s->first = ARENA_ARRAY(s->ctx->arena, uint32_t, (size_t)in->nranks + 1);
	s->text->first = ARENA_ARRAY(s->ctx->arena, uint32_t, (size_t)in->nranks + 1);
	x.v.repeats_wanted = true;
	x.room = ARENA_ARRAY(s->ctx->arena, struct op, ROOM);
	for (uint32_t r = 0; r < in->nranks; r++) {
		s->first[r] = s->nbatches;
		s->text->first[r] = s->text->n;
		if (!take_rank(&x, r))
			return false;
	}
	s->first[in->nranks] = s->nbatches;
	s->text->first[in->nranks] = s->text->n;
	s->scratch = x.v.most - s->p->cells;
	if (s->ctx->diags->errors != errors)
		return false;
	return !x.uneven ||
	       stream_refuse(s->ctx, s->p->sites[x.uneven - 1].span,
			     "successive messages between two ranks have different sizes");
}
