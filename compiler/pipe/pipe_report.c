/*
 * The verdict on a pipeline, as text for people or one JSON object; and the table of several.
 */
#include "compiler/pipe/pipe.h"
#include "lang/diag/diag_print.h"

#include <jansson.h>

_Static_assert(PIPE_FIGURES == SHEET_FIGURES, "a column for each figure");

static const struct {
	const char *column, *key;
} figures[PIPE_FIGURES] = { { "ranks", "ranks" },	  { "stages", "stages" },
			    { "mbs", "microbatches" },	  { "swapped", "swapped" },
			    { "rank", "min_slots_rank" }, { "pair", "min_slots_pair" },
			    { "edge", "min_slots_edge" }, { "directed", "min_slots_directed" },
			    { "flight", "in_flight" },	  { "held", "activations" },
			    { "units", "units" },	  { "idle", "idle" } };

static json_t *figure_json(int i, double v)
{
	return v < 0 ? json_null() : i == PIPE_IDLE ? json_real(v) : json_integer((json_int_t)v);
}

const char *pipe_sizes(struct arena *a, const struct pipe *p)
{
	return arena_printf(a, "%s, %s, %s", arena_count(a, p->nranks, "rank"),
			    arena_count(a, p->nstages, "stage"),
			    arena_count(a, p->nmbs, "microbatch"));
}

/* "4 MiB", "1.5 KiB", "100 bytes" */
static const char *bytes_text(struct arena *a, double v)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
	int k = 0;

	for (; v >= 1024 && k < 3; k++)
		v /= 1024;
	return arena_printf(a, "%.4g %s", v, units[k]);
}

static void print_text(struct arena *a, const struct pipe_verdict *v, uint64_t eager, FILE *out)
{
	const struct pipe *p = v->p;
	const double *f = v->row.figures;

	fprintf(out,
		"%s: pipeline, %s, %s\n"
		"  complete         yes: each stage computes each microbatch once%s\n",
		p->name, pipe_sizes(a, p), arena_count(a, p->n, "action"),
		p->backward ? ", forward and backward" : "; there is no backward");
	if (f[PIPE_SWAPPED] > 0)
		fprintf(out, "  messages         %.0f swapped\n", f[PIPE_SWAPPED]);
	else
		fprintf(out, "  messages         each is taken by the receive of its name%s\n",
			v->lowered ? "; placed as PyTorch 2.15 does" : "");
	for (int s = 0; s < NSTREAMS; s++) {
		uint64_t n = f[PIPE_LEAST + s] > 0 ? (uint64_t)f[PIPE_LEAST + s] : 0;
		const char *sticks =
			n ? arena_printf(
				    a,
				    "needs %s in between: sticks where messages are larger than %s",
				    arena_count(a, n, "message"),
				    bytes_text(a, (double)(eager / n)))
			  : "deadlock-free, even with unbuffered messages";
		fprintf(out, "  streams=%-9s%s\n", pipe_streams_names[s],
			f[PIPE_LEAST + s] < 0 ? "a deadlock with any number of messages in between"
					      : sticks);
	}
	if (f[PIPE_UNITS] >= 0)
		fprintf(out,
			"  idle             %.1f %% of %.0f units (F, I, W take one, B two), if nothing waits for messages\n"
			"  activations      at most %.0f on a rank\n",
			100 * f[PIPE_IDLE], f[PIPE_UNITS], f[PIPE_HELD]);
}

bool pipe_report(struct ctx *c, const struct pipe_verdict *v, uint64_t eager, bool json, FILE *out)
{
	if (!json) {
		print_text(c->scratch, v, eager, out);
		return true;
	}
	json_t *least = json_object(), *most = json_object();
	json_t *all = json_pack("{s:s, s:s, s:i, s:b, s:b, s:b, s:o, s:o}", "severity", "report",
				"pipeline", v->p->name, "actions", (int)v->p->n, "backward",
				v->p->backward, "messages_placed", v->lowered, "right", v->right,
				"min_slots", least, "largest_message", most);
	int failed = !all;
	for (int i = 0; i < PIPE_FIGURES && !failed; i++) {
		bool slots = i >= PIPE_LEAST && i < PIPE_IN_FLIGHT;
		double n = v->row.figures[i];
		double bytes = slots && n > 0 ? (double)(eager / (uint64_t)n) : -1;
		const char *key = slots ? pipe_streams_names[i - PIPE_LEAST] : figures[i].key;
		failed |= json_object_set_new(slots ? least : all, key, figure_json(i, n));
		failed |= slots && json_object_set_new(most, key, figure_json(0, bytes));
	}
	failed = failed || json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	json_decref(all);
	return !failed;
}

static void print_rows(const struct sheet *t, FILE *out)
{
	fputs("least slots by --streams: rank, pair, edge, directed; flight: messages of a pair that are sent "
	      "and not taken;\nheld: activations of a rank; units: F, I and W take one, B two; idle: "
	      "of these, in per cent\n\n",
	      out);
	for (int i = 0; i < PIPE_FIGURES; i++)
		fprintf(out, "%9s", figures[i].column);
	fputs("  file\n", out);
	for (size_t k = 0; k < t->npipes; k++) {
		const struct sheet_pipe *r = &t->pipes[k];
		for (int i = 0; i < PIPE_FIGURES; i++)
			if (r->figures[i] < 0)
				fprintf(out, "%9s", "-");
			else
				fprintf(out, "%9.*f", i == PIPE_IDLE,
					(i == PIPE_IDLE ? 100 : 1) * r->figures[i]);
		fprintf(out, "  %s%s\n", r->file, r->wrong ? ": wrong" : "");
	}
}

bool sheet_print_pipes(const struct sheet *t, enum print_format format, FILE *out)
{
	json_t *rows = json_array();
	int failed = !rows;

	if (format != FORMAT_JSON && format != FORMAT_CSV)
		print_rows(t, out);
	for (size_t k = 0; k < t->npipes && !failed; k++) {
		const struct sheet_pipe *r = &t->pipes[k];
		json_t *row = json_pack("{s:o, s:s}", "file", diag_json_text(r->file), "status",
					r->wrong ? "wrong" : "judged");
		for (int i = 0; i < PIPE_FIGURES; i++)
			failed |= json_object_set_new(row, figures[i].key,
						      figure_json(i, r->figures[i]));
		failed |= json_array_append_new(rows, row);
	}
	return sheet_print_rows(rows, format, out) && !failed;
}
