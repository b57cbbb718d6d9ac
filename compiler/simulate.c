/*
 * `ccc simulate`: predicted times of a schedule's calls, by size, as a table, CSV or JSON.
 *
 * In: an instance that is right, and the options. Out: for each size the time on the machine, and what
 * limits it (cost/cost.h). The machine is the schedule's topology, or that of --on: NAME, NAME(ARGUMENTS)
 * or FILE.ccs:NAME. For --on a schedule on that topology is read, from a text that is made here, so that
 * names, arguments and `where` have their usual meaning, and mistakes their place in "--on".
 */
#include "compiler/cost/cost.h"
#include "compiler/session.h"

#include <inttypes.h>
#include <string.h>

#define FACTOR 4u
#define MOST (64u << 20)

/* ---- the machine ---------------------------------------------------------------------------------- */

static const char *machine_text(struct session *s)
{
	const char *on = s->o->on, *colon = strstr(on, ".ccs:");
	const char *import =
		colon ? arena_printf(&s->arena, "import \"%.*s\"\n", (int)(colon + 4 - on), on)
		      : "";

	return arena_printf(&s->arena, "%sschedule machine implements barrier() on %s { }\n",
			    import, colon ? colon + 5 : on);
}

/* The machine as the topology of an instance; no schedule: a mistake, reported. */
static struct instance machine_instance(struct session *s, const struct instance *of)
{
	struct front f = { .arena = &s->arena,
			   .sources = &s->sources,
			   .diags = &s->diags,
			   .include_dirs = s->o->include_dirs,
			   .installed_dir = s->o->installed_dir };
	struct instance in = { .nranks = of->nranks, .root = -1 };
	const char *text;

	if (!s->o->on)
		return *of;
	text = machine_text(s);
	in.module = lang_load_text(&f, "--on", text, strlen(text));
	if (s->diags.errors)
		return in;
	lang_resolve(&f, in.module);
	for (struct decl *d = in.module->main->decls; d && !s->diags.errors; d = d->next)
		if (d->kind == D_SCHEDULE)
			in.schedule = d;
	return in;
}

/* nccl-tests' factor between algorithm and bus bandwidth. */
static double bus_factor(const char *contract, uint32_t ranks)
{
	static const struct {
		const char *name;
		double times;
	} known[] = {
		{ "allreduce", 2 },  { "allgather", 1 }, { "reduce_scatter", 1 },
		{ "all_to_all", 1 }, { "gather", 1 },	 { "scatter", 1 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(contract, known[i].name))
			return known[i].times * (ranks - 1) / ranks;
	return 1;
}

/* ---- rows ------------------------------------------------------------------------------------------ */

struct row_of {
	const char *schedule, *machine;
	uint32_t nranks;
	uint64_t bytes;
	double us, algbw, busbw; /* GB/s of 10^9 bytes */
	const char *limit;
};

static const char *limit_text(struct arena *a, const struct machine *m, const struct predicted *p)
{
	const struct machine_link *l;

	if (p->link == NONE)
		return "no messages between ranks";
	if (p->seconds > 0 && p->latency >= p->seconds / 2)
		return arena_printf(a, "latency of %u message%s, %.0f %%", p->messages,
				    p->messages == 1 ? "" : "s", 100 * p->latency / p->seconds);
	l = &m->links[p->link];
	return arena_printf(a, "link %u -> %u, busy %.0f %%", l->src, l->dst,
			    p->seconds > 0 ? 100 * p->busy / p->seconds : 0);
}

static void print_head(FILE *out, enum print_format format, const struct row_of *r)
{
	if (format == FORMAT_CSV)
		fputs("schedule,ranks,machine,bytes,us,algbw,busbw,limit\n", out);
	else if (format != FORMAT_JSON)
		fprintf(out, "%s, %u ranks on %s: predicted\n%12s %12s %9s %9s  %s\n", r->schedule,
			r->nranks, r->machine, "bytes", "us", "algbw", "busbw", "what limits it");
}

static void print_row(FILE *out, enum print_format format, const struct row_of *r)
{
	if (format == FORMAT_JSON)
		fprintf(out,
			"{\"schedule\": \"%s\", \"ranks\": %u, \"machine\": \"%s\", \"bytes\": %" PRIu64
			", \"us\": %.6f, \"algbw\": %.6f, \"busbw\": %.6f, \"limit\": \"%s\"}\n",
			r->schedule, r->nranks, r->machine, r->bytes, r->us, r->algbw, r->busbw,
			r->limit);
	else if (format == FORMAT_CSV)
		fprintf(out, "%s,%u,\"%s\",%" PRIu64 ",%.6f,%.6f,%.6f,\"%s\"\n", r->schedule,
			r->nranks, r->machine, r->bytes, r->us, r->algbw, r->busbw, r->limit);
	else
		fprintf(out, "%12" PRIu64 " %12.2f %9.3f %9.3f  %s\n", r->bytes, r->us, r->algbw,
			r->busbw, r->limit);
}

static void print_sizes(struct session *s, struct ctx *c, const struct checked *k,
			const struct machine *m, const struct simulation *sim)
{
	const struct options *o = s->o;
	double blocks = program_most_blocks(k->program);
	uint64_t least = o->least ? o->least : SIMULATE_LEAST;
	uint64_t most = o->most ? o->most : o->least ? o->least : MOST;
	uint32_t factor = o->factor ? o->factor : FACTOR;
	struct row_of r = { .schedule = k->program->instance.schedule->name.name,
			    .machine = o->on ? o->on : m->name,
			    .nranks = m->nranks };

	const char *contract = k->program->instance.schedule->contract->name.name;

	print_head(s->out.stream, o->view.format, &r);
	for (r.bytes = least; r.bytes <= most; r.bytes *= factor) {
		struct predicted p = simulate(c, sim, (double)r.bytes / blocks);

		r.us = p.seconds * 1e6;
		r.algbw = p.seconds > 0 ? (double)r.bytes / p.seconds * 1e-9 : 0;
		r.busbw = r.algbw * bus_factor(contract, r.nranks);
		r.limit = limit_text(c->arena, m, &p);
		print_row(s->out.stream, o->view.format, &r);
		if (r.bytes > most / factor)
			break;
	}
}

void session_simulate(struct session *s, struct ctx *c, const struct checked *k)
{
	const struct program *p = k->program;
	struct instance in = machine_instance(s, &p->instance);
	const struct simulation *sim;
	const struct machine *m;

	c->diags->phase = PHASE_EXPAND;
	m = in.schedule ? machine_make(c, &in) : NULL;
	if (p->any_sized && m) {
		struct diag *g = diag_add(c->diags, SEV_ERROR, 702, p->instance.schedule->name.span,
					  NO_RANK, "simulate: %s has a `sized` buffer",
					  p->instance.schedule->name.name);

		diag_help(
			c->diags, g,
			"the lengths of its chunks are known only in a call: simulate the schedule "
			"of equal chunks, such as pairwise_all_to_all");
		m = NULL;
	}
	arena_free(c->scratch);
	sim = m ? simulation_new(c, p, k->proof.len, m) : NULL;
	arena_free(c->scratch);
	if (sim)
		print_sizes(s, c, k, m, sim);
	else
		s->status = 2;
}
