/*
 * `ccc simulate`: predicted times of a schedule's calls, by size, as a table, CSV or JSON.
 *
 * In: an instance that is right, and the options. Out: for each size the time on the machine, how many
 * times the machine's bound that is (cost/bound.h), and what limits it (cost/cost.h). The machine is the
 * schedule's topology, or that of --on (machine_on.c).
 */
#include "compiler/cost/bound.h"
#include "compiler/lower/lowered.h"
#include "compiler/session.h"
#include "runtime/ccs.h"

#include <inttypes.h>
#include <string.h>

#define MOST (64u << 20)
#define MOST_TRACED (1u << 20) /* operations: some 300 MB */
#define MOST_FLOWS (1u << 24)  /* links that the bound of a row may cost: about 0.1 s */

struct sizes session_sizes(const struct options *o)
{
	const bool from = o->least != UINT64_MAX;

	return (struct sizes){ .least = from ? o->least : SIMULATE_LEAST,
			       .most = o->most != UINT64_MAX ? o->most
				       : from		     ? o->least
							     : MOST,
			       .factor = o->factor != UINT32_MAX ? o->factor : SIMULATE_FACTOR };
}

bool sizes_next(const struct sizes *z, uint64_t *bytes)
{
	bool more = *bytes && *bytes <= z->most / z->factor;

	*bytes *= z->factor;
	return more;
}

const char *session_limit(struct arena *a, const struct machine *m, const struct predicted *p,
			  const char *worker)
{
	const struct machine_link *l;

	if (m && m->cost.call > 0 && m->cost.call >= p->seconds / 2)
		return arena_printf(a, "the start of the call, %.0f %%",
				    100 * m->cost.call / p->seconds);
	if (p->messages && p->seconds > 0 && p->latency >= p->seconds / 2)
		return arena_printf(a, "latency of %u message%s, %.0f %%", p->messages,
				    p->messages == 1 ? "" : "s", 100 * p->latency / p->seconds);
	if (p->rank != NONE && p->working > p->busy)
		return arena_printf(a, "%s of rank %u, %.0f %%",
				    worker		 ? worker
				    : m->cost.worker > 0 ? arena_printf(a, "one worker's %.3g GB/s",
									m->cost.worker * 1e-9)
							 : "one worker",
				    p->rank, 100 * p->working / p->seconds);
	if (p->link == NONE)
		return "no messages";
	l = &m->links[p->link];
	return arena_printf(a, "link %s -> %s, %.0f %%", machine_node(m, a, l->src),
			    machine_node(m, a, l->dst),
			    p->seconds > 0 ? 100 * p->busy / p->seconds : 0);
}

bool session_draws(const struct options *o)
{
	return o->view.format >= FORMAT_SVG && o->view.format <= FORMAT_TRACE;
}

void session_head(struct session *s, const struct cost_row *r)
{
	if (!s->o->contest)
		cost_print_head(s->out.stream, s->o->view.format, r);
}

void session_row(struct session *s, const struct cost_row *r)
{
	if (s->o->contest)
		contest_add(s->o->contest, r);
	else
		cost_print_row(s->out.stream, s->o->view.format, r);
	fflush(s->out.stream); /* the next row may take long */
}

/* What happens in one call, as a picture, page or trace. */
static void print_call(struct session *s, struct ctx *c, const struct simulated *x)
{
	const struct shown *view = &s->o->view;
	const char *why = NULL;

	if (view->format != FORMAT_TRACE)
		timeline_draw(c, x, view, s->out.stream, &why);
	else if (x->t->nops > MOST_TRACED)
		why = arena_printf(&s->arena,
				   "the trace would have more than %u operations; fewer ranks, a "
				   "smaller -b or a larger --tile have fewer",
				   MOST_TRACED);
	else if (!timeline_trace(c, x, s->out.stream))
		arena_fail(&s->arena);
	if (why)
		session_refuse(s, "%s", why);
}

/* Its times depend on lengths: an error; among several files it is left out. */
static void report_sized(struct session *s, struct ctx *c, const struct program *p)
{
	bool alone = !s->o->contest;
	struct diag *g = diag_add(
		c->diags, alone ? SEV_ERROR : SEV_NOTE, alone ? 702 : 0,
		p->instance.schedule->name.span, NO_RANK, "simulate: %s has a `sized` buffer%s",
		p->instance.schedule->name.name, alone ? "" : ", and is left out");

	diag_help(c->diags, g,
		  "the lengths of its chunks are known only in a call: simulate the schedule "
		  "of equal chunks, such as pairwise_all_to_all");
}

/* The least time of the schedule's collective; false: its contract is none of the prelude's. */
static bool find_bound(struct ctx *c, const struct program *p, const struct machine *m,
		       struct bound *to)
{
	const struct ident *contract = &p->instance.schedule->contract->name;
	const struct source *home = source_at(c->sources, contract->span.lo);
	enum collective k = 0;

	while (k < NCOLLECTIVES && strcmp(bound_names[k], contract->name) != 0)
		k++;
	return home && home->prelude && k < NCOLLECTIVES &&
	       bound_find(c, m, k, bound_has_root(k) ? (uint32_t)p->asked[0] : 0, MOST_FLOWS, to);
}

/* `run`: the program that is simulated, of `asked`. */
static void print_sizes(struct session *s, struct ctx *c, const struct program *asked,
			const struct program *run, const struct machine *m,
			const struct simulation *sim)
{
	const struct options *o = s->o;
	double blocks = program_most_blocks(asked);
	const struct sizes sizes = session_sizes(o);
	struct cost_row r = { .file = o->file,
			      .contract = asked->instance.schedule->contract->name.name,
			      .schedule = asked->instance.schedule->name.name,
			      .machine = o->on ? o->on : m->name,
			      .root = asked->instance.root,
			      .nranks = m->nranks,
			      .bytes = asked->nbuffers ? sizes.least : 0 }; /* 0: a barrier */

	struct bound bound;
	const bool bounded = find_bound(c, asked, m, &bound);

	arena_free(c->scratch);
	const bool path = o->verbose && o->view.format == FORMAT_TEXT && !o->contest;
	const bool call = session_draws(o);

	ticker_close(&s->ticker);
	if (!call)
		session_head(s, &r);
	do {
		if (!simulation_fits(sim, (double)r.bytes / blocks)) {
			diag_add(c->diags, SEV_ERROR, 501, NOWHERE, NO_RANK,
				 "simulate: a call of %" PRIu64
				 " bytes has more than 2^31 tiles; --tile makes "
				 "them larger",
				 r.bytes);
			s->status = 2;
			break;
		}
		ticker_tell(&s->ticker,
			    "%s, N = %u, %" PRIu64 " bytes (of %" PRIu64 " to %" PRIu64 ")",
			    r.schedule, r.nranks, r.bytes, sizes.least, sizes.most);
		struct timeline t = { .last = NONE };
		struct predicted p =
			simulate(c, sim, (double)r.bytes / blocks, path || call ? &t : NULL);

		ticker_close(&s->ticker);
		if (!p.over) {
			diag_add(c->diags, SEV_ERROR, 704, NOWHERE, NO_RANK,
				 "internal error: a schedule that was checked stands still when it "
				 "is simulated; please report it");
			s->status = 70;
			break;
		}
		r.us = p.seconds * 1e6;
		r.algbw = p.seconds > 0 ? (double)r.bytes / p.seconds * 1e-9 : 0;
		r.busbw = r.algbw * ccs_bus_factor(r.contract, (int)r.nranks);
		r.bound_us = bounded ? 1e6 * bound_seconds(&bound, (double)r.bytes) : -1;
		r.limit = session_limit(c->arena, m, &p, NULL);
		struct simulated x = { .p = run,
				       .t = &t,
				       .machine = r.machine,
				       .limit = r.limit,
				       .bytes = r.bytes,
				       .block = (double)r.bytes / blocks,
				       .seconds = p.seconds };
		if (call)
			print_call(s, c, &x);
		else
			session_row(s, &r);
		if (path)
			timeline_print_chain(c, &x, s->out.stream);
		arena_free(c->scratch);
	} while (sizes_next(&sizes, &r.bytes));
}

bool session_simulates_one(const struct options *o)
{
	return o->tile == 0 && !o->verbose && !session_draws(o);
}

struct machine *session_make_machine(struct session *s, struct ctx *c, const struct program *p,
				     uint32_t nranks)
{
	struct instance in = s->o->on ? session_machine(s, nranks) : p->instance;
	struct machine *m;

	c->diags->phase = PHASE_EXPAND;
	if (in.schedule && !session_can_write(s)) /* over the machine's file */
		return NULL;
	m = in.schedule ? machine_make(c, &in) : NULL;
	arena_free(c->scratch);
	if (!m)
		s->status = 2;
	return m;
}

static void print_simulation(struct session *s, struct ctx *c, const struct program *asked,
			     const struct program *run, const struct machine *m,
			     const struct simulation *sim)
{
	arena_free(c->scratch);
	if (sim)
		print_sizes(s, c, asked, run, m, sim);
	else
		s->status = 2;
}

void session_times(struct session *s, struct ctx *c, const struct program *asked,
		   const struct program *run, uint32_t *const *len, uint64_t tile, uint32_t slices)
{
	struct machine *m = session_make_machine(s, c, asked, asked->nranks);

	if (m)
		print_simulation(s, c, asked, run, m, simulation_new(c, run, len, m, tile, slices));
}

void session_simulate(struct session *s, struct ctx *c, const struct checked *k)
{
	const struct program *p = k->program;
	const struct simulation *sim = NULL;
	struct lowered *l = NULL;
	struct machine *m;

	c->diags->phase = PHASE_EXPAND;
	if (p->any_sized) {
		report_sized(s, c, p);
		if (c->diags->errors)
			s->status = 2;
		return;
	}
	m = session_make_machine(s, c, p, p->nranks);
	if (!m)
		return;
	if (k->alone) {
		struct ctx all = *c;
		struct checked of_all;

		sim = k->one ? simulation_of_one(c, k->one, m) : NULL;
		all.symmetry = false;
		if (!sim && check_instance(&all, &p->instance, true, true, &of_all))
			session_simulate(s, &all, &of_all);
		if (!sim)
			return;
	} else if (s->o->tile && c->slots) { /* a plan has slots */
		l = lower(c, p, k->contract, &k->deadlock.order);
		arena_free(c->scratch);
		if (!l) {
			s->status = 2;
			return;
		}
	}
	if (!sim)
		sim = simulation_new(c, l ? l->program : p, l ? l->proof.len : k->proof.len, m,
				     s->o->tile, 1);
	print_simulation(s, c, p, l ? l->program : p, m, sim);
}
