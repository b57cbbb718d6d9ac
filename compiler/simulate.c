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
#include <jansson.h>
#include <string.h>

#define MOST (64u << 20)
#define MOST_FLOWS (1u << 24) /* links that the bound of a row may cost: about 0.1 s */

/* ---- rows ------------------------------------------------------------------------------------------ */

struct row_of {
	const char *schedule, *machine;
	uint32_t nranks;
	int64_t root; /* below 0: none is chosen */
	uint64_t bytes;
	double us, algbw, busbw; /* GB/s of 10^9 bytes */
	double bound_us;	 /* below 0: not known */
	const char *limit;
};

static const char *limit_text(struct arena *a, const struct machine *m, const struct predicted *p)
{
	const struct machine_link *l;

	if (p->messages && p->seconds > 0 && p->latency >= p->seconds / 2)
		return arena_printf(a, "latency of %u message%s, %.0f %%", p->messages,
				    p->messages == 1 ? "" : "s", 100 * p->latency / p->seconds);
	if (p->rank != NONE && p->working > p->busy)
		return arena_printf(a, "%s of rank %u, %.0f %%",
				    m->cost.worker > 0 ? arena_printf(a, "one worker's %.3g GB/s",
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

/* A table has a head for each N; CSV has one in all. */
static void print_head(FILE *out, enum print_format format, const struct row_of *r)
{
	char root[32] = "";

	if (r->root >= 0)
		snprintf(root, sizeof(root), ", root %" PRId64, r->root);
	if (format == FORMAT_CSV && ftell(out) == 0)
		fputs("schedule,ranks,machine,bytes,us,algbw,busbw,bound_us,limit\n", out);
	else if (format != FORMAT_CSV && format != FORMAT_JSON)
		fprintf(out, "%s, %u ranks%s on %s: predicted\n%12s %12s %9s %9s %7s  %s\n",
			r->schedule, r->nranks, root, r->machine, "bytes", "us", "algbw", "busbw",
			"x bound", "what limits it");
}

static void print_json(FILE *out, const struct row_of *r)
{
	json_t *bound = r->bound_us < 0 ? json_null() : json_real(r->bound_us);
	json_t *o = json_pack("{s:s,s:i,s:s,s:I,s:f,s:f,s:f,s:o,s:s}", "schedule", r->schedule,
			      "ranks", (int)r->nranks, "machine", r->machine, "bytes",
			      (json_int_t)r->bytes, "us", r->us, "algbw", r->algbw, "busbw",
			      r->busbw, "bound_us", bound, "limit", r->limit);

	if (o && !json_dumpf(o, out, JSON_REAL_PRECISION(9)))
		fputc('\n', out);
	json_decref(o);
}

static void print_row(FILE *out, enum print_format format, const struct row_of *r)
{
	char bound[32] = "";

	if (format == FORMAT_CSV && r->bound_us >= 0)
		snprintf(bound, sizeof(bound), "%.6f", r->bound_us);
	else if (r->bound_us > 0)
		snprintf(bound, sizeof(bound), "%.2f", r->us / r->bound_us);
	if (format == FORMAT_JSON) {
		print_json(out, r);
	} else if (format == FORMAT_CSV) { /* the texts have no quotes */
		fprintf(out, "%s,%u,\"%s\",%" PRIu64 ",%.6f,%.6f,%.6f,%s,\"%s\"\n", r->schedule,
			r->nranks, r->machine, r->bytes, r->us, r->algbw, r->busbw, bound,
			r->limit);
	} else {
		fprintf(out, "%12" PRIu64 " %12.2f %9.3f %9.3f %7s  %s\n", r->bytes, r->us,
			r->algbw, r->busbw, *bound ? bound : "-", r->limit);
	}
}

/* What happens in one call, as a picture, page or trace. */
static void print_call(struct session *s, struct ctx *c, const struct simulated *x)
{
	const struct shown *view = &s->o->view;
	const char *why = NULL;

	if (view->format == FORMAT_TRACE) {
		if (!timeline_trace(c, x, s->out.stream))
			arena_fail(&s->arena);
	} else if (!timeline_draw(c, x, view, s->out.stream, &why)) {
		diag_add(&s->diags, SEV_ERROR, 702, NOWHERE, NO_RANK, "%s", why);
		s->status = 2;
	}
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
	const bool from = o->least != UINT64_MAX, to = o->most != UINT64_MAX;
	const bool empty = !asked->nbuffers; /* a barrier */
	uint64_t least = empty ? 0 : from ? o->least : SIMULATE_LEAST;
	uint64_t most = empty ? 0 : to ? o->most : from ? o->least : MOST;
	uint32_t factor = o->factor != UINT32_MAX ? o->factor : SIMULATE_FACTOR;
	struct row_of r = { .schedule = asked->instance.schedule->name.name,
			    .machine = o->on ? o->on : m->name,
			    .root = asked->instance.root,
			    .nranks = m->nranks };

	const char *contract = asked->instance.schedule->contract->name.name;
	struct bound bound;
	const bool bounded = find_bound(c, asked, m, &bound);

	arena_free(c->scratch);
	const bool path = o->verbose && o->view.format == FORMAT_TEXT;
	const bool call = o->view.format >= FORMAT_SVG && o->view.format <= FORMAT_TRACE;

	if (!call)
		print_head(s->out.stream, o->view.format, &r);
	for (r.bytes = least; r.bytes <= most; r.bytes *= factor) {
		struct timeline t = { .last = NONE };
		struct predicted p =
			simulate(c, sim, (double)r.bytes / blocks, path || call ? &t : NULL);

		r.us = p.seconds * 1e6;
		r.algbw = p.seconds > 0 ? (double)r.bytes / p.seconds * 1e-9 : 0;
		r.busbw = r.algbw * ccs_bus_factor(contract, (int)r.nranks);
		r.bound_us = bounded ? 1e6 * bound_seconds(&bound, (double)r.bytes) : -1;
		r.limit = limit_text(c->arena, m, &p);
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
			print_row(s->out.stream, o->view.format, &r);
		if (path)
			timeline_print_chain(c, &x, s->out.stream);
		arena_free(c->scratch);
		if (!r.bytes || r.bytes > most / factor)
			break;
	}
}

bool session_simulates_one(const struct options *o)
{
	return o->tile == 0 && !o->verbose &&
	       !(o->view.format >= FORMAT_SVG && o->view.format <= FORMAT_TRACE);
}

/* The machine of a program's times; NULL: none, with the session's status. */
static struct machine *machine_of(struct session *s, struct ctx *c, const struct program *p)
{
	struct instance in = s->o->on ? session_machine(s, p->nranks) : p->instance;
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
		   const struct program *run, uint32_t *const *len, uint64_t tile)
{
	struct machine *m = machine_of(s, c, asked);

	if (m)
		print_simulation(s, c, asked, run, m, simulation_new(c, run, len, m, tile));
}

void session_simulate(struct session *s, struct ctx *c, const struct checked *k)
{
	const struct program *p = k->program;
	const struct simulation *sim = NULL;
	struct lowered *l = NULL;
	struct machine *m;

	c->diags->phase = PHASE_EXPAND;
	if (p->any_sized) {
		struct diag *g = diag_add(c->diags, SEV_ERROR, 702, p->instance.schedule->name.span,
					  NO_RANK, "simulate: %s has a `sized` buffer",
					  p->instance.schedule->name.name);

		diag_help(
			c->diags, g,
			"the lengths of its chunks are known only in a call: simulate the schedule "
			"of equal chunks, such as pairwise_all_to_all");
		s->status = 2;
		return;
	}
	m = machine_of(s, c, p);
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
				     s->o->tile);
	print_simulation(s, c, p, l ? l->program : p, m, sim);
}
