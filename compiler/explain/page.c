/*
 * The model of `ccc explain` as a page that plays: one file, which needs no network.
 *
 * In: the model. Out: the texts with their lines, the picture (svg.c) and the faults, complete without
 * a script; then the model as JSON, and page.js, which plays it. Both page.js and page.css are part of
 * this program. What is too large to play has no script. O(what the text, the SVG and the JSON cost).
 */
#include "compiler/explain/explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Beyond these a page does not play: what a screen can show, and 5 MB of JSON. */
#define MAX_RANKS 16u
#define MAX_CHUNKS 64u	 /* a rank */
#define MAX_MOVED 20000u /* chunks, in all steps */

/* Made from page.css and page.js when this program is built. */
extern const char explain_page_css[], explain_page_js[];

static void print_escaped(const char *s, FILE *out)
{
	for (; *s; s++)
		switch (*s) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc(*s, out);
		}
}

/* Bytes that are no UTF-8 become signs for this. False: no memory. */
static bool print_text(const char *s, FILE *out)
{
	char *utf8 = diag_utf8_text(s);

	if (utf8)
		print_escaped(utf8, out);
	free(utf8);
	return utf8 != NULL;
}

/* ---- the texts ---------------------------------------------------------------------------------- */

static bool print_source(struct script *x, const struct source *s, FILE *out)
{
	bool ok;

	source_place(x->r.c->sources, s->base); /* finds the lines */
	fputs("<h2>", out);
	ok = print_text(s->name, out);
	fputs("</h2>\n<ol data-file=\"", out);
	ok &= print_text(s->name, out);
	fputs("\">\n", out);
	for (uint32_t i = 1; i <= s->nlines; i++) {
		uint32_t len;
		const char *line = source_line(s, i, &len);
		if (i == s->nlines && !len)
			break; /* behind the last line end */
		fputs("<li><code>", out);
		ok &= print_text(arena_printf(x->arena, "%.*s", (int)len, line), out);
		fputs("</code></li>\n", out);
	}
	fputs("</ol>\n", out);
	return ok;
}

/* The texts that something shown is in; that of the schedule first. */
static bool print_sources(struct script *x, FILE *out)
{
	struct sources *all = x->r.c->sources;
	const struct source *first = source_at(all, x->r.p->instance.schedule->name.span.lo);
	bool *used = ARENA_ARRAY(x->arena, bool, all->n), ok = !first || print_source(x, first, out);

	for (uint32_t k = 0; k < x->n && x->moves[k].depth <= x->last; k++) {
		const struct ends e = explain_ends(x, &x->moves[k]);
		const struct op *ops[] = { e.send, e.recv };
		for (size_t i = 0; i < 2; i++)
			for (uint32_t s = 0; s < all->n && ops[i]; s++)
				used[s] |= all->v[s] == source_at(all, explain_span(x, ops[i]).lo);
	}
	for (uint32_t s = 0; s < all->n; s++)
		if (used[s] && all->v[s] != first)
			ok &= print_source(x, all->v[s], out);
	return ok;
}

/* ---- the page ----------------------------------------------------------------------------------- */

/* Why it is too large to play, or NULL. */
static const char *too_large(const struct script *x)
{
	uint64_t moved = 0;

	for (uint32_t k = 0; k < x->n && x->moves[k].depth <= x->last; k++)
		if (explain_shows_step(x, x->moves[k].depth) && explain_shows_move(x, &x->moves[k]))
			moved += x->moves[k].n + 1;
	if (x->nranks > MAX_RANKS)
		return arena_printf(x->arena, "%u ranks; a page plays %u", x->nranks, MAX_RANKS);
	if (x->ncells > MAX_CHUNKS)
		return arena_printf(x->arena, "%u chunks a rank; a page plays %u", x->ncells,
				    MAX_CHUNKS);
	if (moved > MAX_MOVED)
		return arena_printf(x->arena, "%" PRIu64 " chunks move; a page plays %u", moved,
				    MAX_MOVED);
	return NULL;
}

static bool print_faults(struct script *x, FILE *out)
{
	char *text = NULL;
	size_t n = 0;
	FILE *memory = x->right ? NULL : open_memstream(&text, &n);
	bool ok = x->right;

	if (memory) {
		explain_fault_text(x, memory);
		fputs("<section id=\"faults\" aria-label=\"What is wrong\">\n<pre>", out);
		ok = !fclose(memory) && print_text(text, out);
		fputs("</pre>\n</section>\n", out);
	}
	free(text);
	return ok;
}

bool explain_html(struct script *x, FILE *out, const char **why)
{
	const char *large = too_large(x), *no_picture = NULL;
	bool ok;

	fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>",
	      out);
	ok = print_text(explain_title(x), out);
	fprintf(out, "</title>\n<style>\n%s</style>\n<body>\n<h1>", explain_page_css);
	ok &= print_text(explain_title(x), out);
	fputs("</h1>\n", out);
	if (large)
		fprintf(out,
			"<p>Too large to play: %s. --rank, --step and --chunk show a part.</p>\n",
			large);
	fputs("<main data-palette=\"#4477AA #EE6677 #228833 #CCBB44 #66CCEE #AA3377 #BB5566 #004488 "
	      "#DDAA33 #777777\">\n",
	      out);
	ok &= print_faults(x, out);
	fputs("<section id=\"text\" aria-label=\"Text\">\n", out);
	ok &= print_sources(x, out);
	fputs("</section>\n<section id=\"picture\" aria-label=\"All steps\">\n", out);
	if (!explain_svg(x, out, &no_picture)) {
		fputs("<p>", out);
		ok &= print_text(no_picture, out);
		fputs("</p>\n", out);
	}
	fputs("</section>\n</main>\n", out);
	if (!large) {
		fputs("<script type=\"application/json\" id=\"model\">\n", out);
		ok &= explain_json_inline(x, out, why);
		fprintf(out, "</script>\n<script>\n%s</script>\n", explain_page_js);
	}
	fputs("</body>\n</html>\n", out);
	if (!ok && !*why)
		*why = "the system gives no more memory for the page";
	return ok;
}
