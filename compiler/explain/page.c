/*
 * The model of `ccc explain` as a page that plays: one file, which needs no network.
 *
 * In: the model. Out: the faults, the texts with their lines and the picture (svg.c), complete
 * without a script; then the model as JSON, and page.js, which plays it. page.js is
 * a part of this program. A model that is too large to play has no script. O(text, SVG and JSON).
 */
#include "compiler/draw/draw.h"
#include "compiler/explain/explain.h"

#include <inttypes.h>

/* Beyond these a page does not play: what a screen can show, and 5 MB of JSON. */
#define MAX_RANKS 16u
#define MAX_CHUNKS 64u	 /* a rank */
#define MAX_MOVED 20000u /* moves, and their chunks */

extern const char page_js[];

/* The text of the schedule, and others that an operation is in. */
static void print_sources(struct svg *s)
{
	const struct program *p = s->x->r.p;
	const struct sources *all = s->c->sources;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct source *source = all->v[i];
		const char *name = svg_text(s, source->name);
		bool used = source == source_at(all, p->instance.schedule->name.span.lo);

		for (uint32_t k = 0; k < p->nsites && !used; k++)
			used = source == source_at(all, p->sites[k].span.lo);
		if (!used)
			continue;
		source_place(s->c->sources, source->base); /* finds the lines */
		fprintf(s->out, "<h2>%s</h2>\n<ol data-file=\"%s\">\n", name, name);
		for (uint32_t k = 1; k <= source->nlines; k++) {
			uint32_t n;
			const char *line = source_line(source, k, &n);
			if (n || k < source->nlines) /* nothing is behind the last line end */
				fprintf(s->out, "<li><code>%s</code></li>\n",
					svg_text(s, arena_strndup(s->x->arena, line, n)));
		}
		fputs("</ol>\n", s->out);
	}
}

void explain_html(struct script *x, FILE *out)
{
	struct svg s = { .c = x->r.c, .x = x, .out = out, .title = explain_title(x) };
	uint64_t moved = 0;

	for (uint32_t k = 0; k < x->n; k++)
		moved += x->moves[k].shown ? x->moves[k].n + 1 : 0;
	bool plays = x->nranks <= MAX_RANKS && x->ncells <= MAX_CHUNKS && moved <= MAX_MOVED;
	page_begin(&s, plays);
	if (!plays)
		fprintf(out,
			"<p id=\"large\">Too large to play: %u ranks, %u chunks a rank, %" PRIu64
			" moves and moved chunks; a page plays %u, %u and %u. --rank, --step and --chunk show a "
			"part.</p>\n",
			x->nranks, x->ncells, moved, MAX_RANKS, MAX_CHUNKS, MAX_MOVED);
	fputs("<main>\n", out);
	if (!x->right) {
		struct printed *text = printed_begin(x->arena);
		explain_fault_text(x, text->out);
		fprintf(out,
			"<section id=\"faults\" aria-label=\"Faults\">\n<pre>%s</pre>\n</section>\n",
			svg_text(&s, printed_end(x->arena, text)));
	}
	fputs("<section id=\"text\" aria-label=\"Text\">\n", out);
	print_sources(&s);
	fputs("</section>\n<section id=\"picture\" aria-label=\"All steps\">\n", out);
	explain_svg(x, out);
	fputs("</section>\n</main>\n", out);
	if (plays) {
		fputs("<script type=\"application/json\" id=\"model\">\n", out);
		explain_json(x, true, out);
		fprintf(out, "</script>\n<script>\n%s</script>\n", page_js);
	}
	fputs("</body>\n</html>\n", out);
}
