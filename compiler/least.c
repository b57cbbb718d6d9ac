/*
 * `ccc bound`: the least time of a collective on a machine, and the cut that binds (cost/bound.h).
 *
 * In: --on, -n and the name of a collective; with -b, sizes. Out: a part of text for each N, or a row of
 * CSV or JSON for each N and size.
 */
#include "compiler/cost/bound.h"
#include "compiler/session.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

struct least_row {
	const char *collective, *machine;
	uint32_t nranks;
	int64_t root;		  /* below 0: it has none */
	double algbw, us_per_gib; /* GB/s of 10^9 bytes */
	const struct bound *bound;
};

static void print_json(FILE *out, const struct least_row *r, const uint64_t *bytes)
{
	json_t *o = json_pack("{s:s,s:i,s:s,s:f,s:f,s:s}", "collective", r->collective, "ranks",
			      (int)r->nranks, "machine", r->machine, "algbw", r->algbw,
			      "us_per_gib", r->us_per_gib, "cut", r->bound->cut);

	if (o && bytes) {
		json_object_set_new(o, "bytes", json_integer((json_int_t)*bytes));
		json_object_set_new(o, "us",
				    json_real(1e6 * bound_seconds(r->bound, (double)*bytes)));
	}
	if (o && !json_dumpf(o, out, JSON_REAL_PRECISION(9)))
		fputc('\n', out);
	json_decref(o);
}

static void print_csv(FILE *out, const struct least_row *r, const uint64_t *bytes)
{
	if (ftell(out) == 0)
		fprintf(out, "collective,ranks,machine,algbw,us_per_gib,cut%s\n",
			bytes ? ",bytes,us" : "");
	fprintf(out, "%s,%u,\"%s\",%.6f,%.6f,\"%s\"", r->collective, r->nranks, r->machine,
		r->algbw, r->us_per_gib, r->bound->cut); /* the texts have no quotes */
	if (bytes)
		fprintf(out, ",%" PRIu64 ",%.6f", *bytes,
			1e6 * bound_seconds(r->bound, (double)*bytes));
	fputc('\n', out);
}

static void print_text(FILE *out, const struct least_row *r, const uint64_t *bytes)
{
	if (bytes)
		fprintf(out, "%12" PRIu64 " %12.2f\n", *bytes,
			1e6 * bound_seconds(r->bound, (double)*bytes));
	else if (r->root >= 0)
		fprintf(out, "%s, %u rank%s, root %" PRId64 " on %s: no schedule is faster than\n",
			r->collective, r->nranks, r->nranks > 1 ? "s" : "", r->root, r->machine);
	else
		fprintf(out, "%s, %u rank%s on %s: no schedule is faster than\n", r->collective,
			r->nranks, r->nranks > 1 ? "s" : "", r->machine);
	if (bytes)
		return;
	if (r->bound->per_byte > 0)
		fprintf(out, "  %.2f us a GiB, %.2f GB/s: %s\n", r->us_per_gib, r->algbw,
			r->bound->cut);
	fprintf(out, "  %.2f us: latency\n", 1e6 * r->bound->far);
}

static void print_row(struct session *s, const struct least_row *r, const uint64_t *bytes)
{
	FILE *out = s->out.stream;

	if (s->o->view.format == FORMAT_JSON)
		print_json(out, r, bytes);
	else if (s->o->view.format == FORMAT_CSV)
		print_csv(out, r, bytes);
	else
		print_text(out, r, bytes);
}

static void print_bound(struct session *s, const struct least_row *r)
{
	const struct options *o = s->o;
	const bool sizes = o->least != UINT64_MAX || o->most != UINT64_MAX;
	const bool text = o->view.format != FORMAT_CSV && o->view.format != FORMAT_JSON;
	const struct sizes all = session_sizes(o);
	uint64_t bytes = all.least;

	if (text || !sizes)
		print_row(s, r, NULL);
	if (text && sizes)
		fprintf(s->out.stream, "%12s %12s\n", "bytes", "us");
	while (sizes) {
		print_row(s, r, &bytes);
		if (!sizes_next(&all, &bytes))
			break;
	}
}

/* One N; false: a mistake, reported. */
static bool bound_ranks(struct session *s, enum collective k, uint32_t nranks)
{
	struct ctx c = s->ctx;
	struct instance in = session_machine(s, nranks);
	const struct machine *m;
	struct bound b;
	struct least_row r = { .collective = s->o->file,
			       .machine = s->o->on,
			       .nranks = nranks,
			       .root = bound_has_root(k) ? 0 : -1,
			       .bound = &b };

	s->diags.phase = PHASE_EXPAND;
	for (size_t i = 0; i < s->o->nsettings; i++) /* --root; the last one counts */
		r.root = s->o->settings[i].value;
	if (r.root >= (int64_t)nranks)
		return session_refuse(s, "--root %" PRId64 ": there are ranks 0 to %u", r.root,
				      nranks - 1);
	if (!in.schedule || !session_can_write(s)) /* over the machine's file */
		return false;
	m = machine_make(&c, &in);
	arena_free(c.scratch);
	if (!m || !bound_find(&c, m, k, r.root < 0 ? 0 : (uint32_t)r.root, UINT64_MAX, &b))
		return false;
	arena_free(c.scratch);
	r.algbw = b.per_byte > 0 ? 1e-9 / b.per_byte : 0;
	r.us_per_gib = 1e6 * b.per_byte * (1 << 30);
	print_bound(s, &r);
	return true;
}

void session_bound(struct session *s)
{
	enum collective k = 0;

	while (k < NCOLLECTIVES && strcmp(bound_names[k], s->o->file) != 0)
		k++;
	for (size_t i = 0; i < s->o->ranks.n && k < NCOLLECTIVES && !s->status; i++)
		if (!bound_ranks(s, k, s->o->ranks.v[i]))
			s->status = 2;
}
