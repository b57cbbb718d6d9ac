/*
 * The verdict on a pipeline, as text for people or one JSON object; and the table of several.
 */
#include "compiler/pipe/pipe.h"
#include "lang/diag/diag_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* "4 MiB", "1.5 KiB", "100 bytes" */
static const char *bytes_text(struct arena *a, uint64_t n)
{
	static const char *const units[] = { "KiB", "MiB", "GiB" };
	double v = (double)n / 1024;
	int k = 0;

	if (n < 1024)
		return arena_printf(a, "%" PRIu64 " bytes", n);
	for (; v >= 1024 && k < 2; k++)
		v /= 1024;
	return arena_printf(a, "%.4g %s", v, units[k]);
}

/* From which size of a message on it sticks, where `eager` bytes of a pair are buffered. */
static uint64_t largest(int64_t least, uint64_t eager)
{
	return eager / (uint64_t)least;
}

static void print_streams(struct ctx *c, const struct pipe_verdict *v, uint64_t eager,
			  enum pipe_streams s, FILE *out)
{
	int64_t n = v->least[s];

	fprintf(out, "  streams=%-9s", pipe_streams_names[s]);
	if (n < 0)
		fprintf(out, "a deadlock with any number of messages in between\n");
	else if (n == 0)
		fprintf(out, "deadlock-free, even with unbuffered messages\n");
	else
		fprintf(out,
			"needs %" PRId64
			" message%s in between: sticks where messages are larger than "
			"%s\n",
			n, plural((uint64_t)n), bytes_text(c->scratch, largest(n, eager)));
}

static void print_text(struct ctx *c, const struct pipe_verdict *v, const struct pipe_times *t,
		       uint64_t eager, FILE *out)
{
	const struct pipe *p = v->p;

	fprintf(out, "%s: pipeline, %u rank%s, %u stage%s, %u microbatch%s, %u action%s\n", p->name,
		p->nranks, plural(p->nranks), p->nstages, plural(p->nstages), p->nmbs,
		p->nmbs == 1 ? "" : "es", p->n, plural(p->n));
	fprintf(out, "  complete         yes: each stage computes each microbatch once%s\n",
		p->backward ? ", forward and backward" : "; there is no backward");
	if (v->swapped)
		fprintf(out, "  messages         %u swapped\n", v->swapped);
	else
		fprintf(out, "  messages         each is taken by the receive of its name%s\n",
			v->lowered ? "; placed as PyTorch 2.15 does" : "");
	for (enum pipe_streams s = 0; s < NSTREAMS; s++)
		print_streams(c, v, eager, s, out);
	if (!t->finishes)
		return;
	fprintf(out,
		"  idle             %.1f %% of %u units (F, I, W take one, B two), if nothing waits for messages\n",
		100 * pipe_idle(t), t->length);
	fprintf(out, "  activations      at most %u on a rank\n", t->held);
}

static bool print_json(const struct pipe_verdict *v, const struct pipe_times *t, uint64_t eager,
		       FILE *out)
{
	const struct pipe *p = v->p;
	json_t *all = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:b, s:b, s:i, s:b}", "severity",
				"report", "pipeline", p->name, "ranks", (int)p->nranks, "stages",
				(int)p->nstages, "microbatches", (int)p->nmbs, "actions", (int)p->n,
				"backward", p->backward, "messages_placed", v->lowered, "swapped",
				(int)v->swapped, "right", v->right);
	json_t *least = json_object(), *most = json_object();
	int failed = !all || !least || !most;

	for (enum pipe_streams s = 0; s < NSTREAMS && !failed; s++) {
		int64_t n = v->least[s];
		failed |= json_object_set_new(least, pipe_streams_names[s],
					      n < 0 ? json_null() : json_integer(n));
		failed |= json_object_set_new(most, pipe_streams_names[s],
					      n > 0 ? json_integer((json_int_t)largest(n, eager))
						    : json_null());
	}
	failed = failed || json_object_set_new(all, "min_slots", least);
	failed = failed || json_object_set_new(all, "largest_message", most);
	if (!failed)
		failed |= json_object_update_new(
			all, t->finishes
				     ? json_pack("{s:i, s:f, s:i, s:i}", "units", (int)t->length,
						 "idle", pipe_idle(t), "activations", (int)t->held,
						 "in_flight", (int)t->in_flight)
				     : json_pack("{s:n, s:n, s:n, s:n}", "units", "idle",
						 "activations", "in_flight"));
	failed = failed || json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	json_decref(all);
	return !failed;
}

bool pipe_report(struct ctx *c, const struct pipe_verdict *v, uint64_t eager, bool json, FILE *out)
{
	struct pipe_times t = pipe_times(c, v->p, STREAMS_NONE);
	bool whole = true;

	if (json)
		whole = print_json(v, &t, eager, out);
	else
		print_text(c, v, &t, eager, out);
	arena_free(c->scratch);
	return whole;
}

/* ---- table ------------------------------------------------------------------------------- */

void pipe_add_row(struct ctx *c, const char *file, const struct pipe_verdict *v, struct sheet *to)
{
	struct sheet_pipe row = { .file = file, .wrong = true };
	if (v) {
		const struct pipe *p = v->p;
		struct pipe_times t = pipe_times(c, p, STREAMS_NONE);
		row = (struct sheet_pipe){ .file = file,
					   .nranks = p->nranks,
					   .nstages = p->nstages,
					   .nmbs = p->nmbs,
					   .swapped = v->swapped,
					   .finishes = t.finishes,
					   .length = t.length,
					   .held = t.held,
					   .in_flight = t.in_flight,
					   .idle = pipe_idle(&t) };
		memcpy(row.least, v->least, sizeof(row.least));
		arena_free(c->scratch);
	}
	ARENA_PUSH(to->arena, to->pipes, to->npipes, to->cappipes) = row;
}

/* Figures of a row, in the order of the columns; "-" where there is none. */
enum { FIGURES = 12 };
static const char *const columns[FIGURES] = { "ranks",	"stages", "mbs",   "swapped",
					      "rank",	"pair",	  "edge",  "directed",
					      "flight", "held",	  "units", "idle" };
static const char *const keys[FIGURES] = {
	"ranks",	  "stages",	    "microbatches",   "swapped",
	"min_slots_rank", "min_slots_pair", "min_slots_edge", "min_slots_directed",
	"in_flight",	  "activations",    "units",	      "idle"
};

/* Negative: there is none. */
static double figure(const struct sheet_pipe *r, int i)
{
	const double v[FIGURES] = { r->nranks,
				    r->nstages,
				    r->nmbs,
				    r->swapped,
				    (double)r->least[STREAMS_RANK],
				    (double)r->least[STREAMS_PAIR],
				    (double)r->least[STREAMS_EDGE],
				    (double)r->least[STREAMS_DIRECTED],
				    r->in_flight,
				    r->held,
				    r->length,
				    r->idle };
	bool runs = i < FIGURES - 4 || r->finishes;

	return r->wrong || !runs ? -1 : v[i];
}

static void print_rows(const struct sheet *t, FILE *out)
{
	fputs("least slots by --streams: rank, pair, edge, directed; flight: messages of a pair that are sent "
	      "and not taken;\nheld: activations of a rank; units: F, I and W take one, B two; idle: "
	      "of these, in per cent\n\n",
	      out);
	for (int i = 0; i < FIGURES; i++)
		fprintf(out, "%9s", columns[i]);
	fputs("  file\n", out);
	for (size_t k = 0; k < t->npipes; k++) {
		const struct sheet_pipe *r = &t->pipes[k];
		for (int i = 0; i < FIGURES; i++) {
			double v = figure(r, i);
			if (v < 0)
				fprintf(out, "%9s", "-");
			else
				fprintf(out, i + 1 == FIGURES ? "%9.1f" : "%9.0f",
					i + 1 == FIGURES ? 100 * v : v);
		}
		fprintf(out, "  %s%s\n", r->file, r->wrong ? ": wrong" : "");
	}
}

static void print_csv(const struct sheet *t, FILE *out)
{
	fputs("file,status", out);
	for (int i = 0; i < FIGURES; i++)
		fprintf(out, ",%s", keys[i]);
	fputc('\n', out);
	for (size_t k = 0; k < t->npipes; k++) {
		const struct sheet_pipe *r = &t->pipes[k];
		sheet_print_field(r->file, out);
		fprintf(out, ",%s", r->wrong ? "wrong" : "judged");
		for (int i = 0; i < FIGURES; i++) {
			double v = figure(r, i);
			fputc(',', out);
			if (v >= 0)
				fprintf(out, "%.12g", v);
		}
		fputc('\n', out);
	}
}

static bool print_rows_json(const struct sheet *t, FILE *out)
{
	json_t *all = json_pack("{s:[]}", "rows");
	int failed = !all;

	for (size_t k = 0; k < t->npipes && !failed; k++) {
		const struct sheet_pipe *r = &t->pipes[k];
		json_t *row = json_pack("{s:o, s:s}", "file", diag_json_text(r->file), "status",
					r->wrong ? "wrong" : "judged");
		for (int i = 0; i < FIGURES && !failed; i++) {
			double v = figure(r, i);
			failed = json_object_set_new(row, keys[i],
						     v < 0 ? json_null()
						     : i + 1 == FIGURES
							     ? json_real(v)
							     : json_integer((json_int_t)v));
		}
		failed = json_array_append_new(json_object_get(all, "rows"), row) || failed;
	}
	failed = failed || json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	json_decref(all);
	return !failed;
}

bool sheet_print_pipes(const struct sheet *t, enum print_format format, FILE *out)
{
	if (format == FORMAT_JSON)
		return print_rows_json(t, out);
	if (format == FORMAT_CSV)
		print_csv(t, out);
	else
		print_rows(t, out);
	return true;
}
