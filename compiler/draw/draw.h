/*
 * Drawing: SVG, the frame of a page, and charts of ranks over time.
 *
 *   svg_put.c    elements, texts, the head with the errors, the frames of pictures and pages
 *   svg_time.c   charts: of pipelines (pipe/chart.c), and of predicted times (cost/drawn.c)
 *
 * The pictures of `ccc explain` are explain/svg.c's. svg.css (with all colours), markers.svg (the heads
 * of arrows) and page.css are parts of this program.
 */
#ifndef CCS_COMPILER_DRAW_DRAW_H
#define CCS_COMPILER_DRAW_DRAW_H

#include "compiler/ctx.h"

#define NCOLOURS 9u   /* of cells and messages: classes c0 to c8; more chunks use them again */
#define GREY NCOLOURS /* of several colours, or of no data */

/* Text that is printed to memory. printed_end returns it, in the arena. Without memory both end the
 * compilation. */
struct printed {
	FILE *out;
	char *text;
	size_t n;
};
void printed_begin(struct arena *a, struct printed *t);
const char *printed_end(struct arena *a, struct printed *t);

/** A format, with a " for each of its '. */
const char *quotes(struct arena *a, const char *format);
/** A text in which characters that have a name, of at most 6 bytes, stand by it. */
const char *escaped(struct arena *a, const char *text, const char *const names[128]);

/* A picture under way. Texts are in c->scratch. */
struct svg {
	struct ctx *c;
	struct script *x;	   /* that `ccc explain` draws */
	uint32_t first_diag;	   /* the errors of the head: c->diags from here on; */
	struct span otherwise;	   /* ... the place of one that has none */
	const char *title, *about; /* what it is, and some words about it or "" */
	double width;
	FILE *out;
	struct printed body; /* between svg_begin and svg_end */
	double y;	     /* the picture is drawn down to here */
};

/** Prints; each ' of the format is a ". */
void svg_put(struct svg *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The words of `format` at a place; a ' of `attributes` is a ", and a % of them is none of the format's. */
void svg_say(struct svg *s, const char *attributes, double x, double y, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/** Text for an element or attribute, as diag_shown_text has it, with <, >, & and quotes escaped. */
const char *svg_text(struct svg *s, const char *text);
/** From here on the drawing is kept in memory. It begins with the title, the words about it, and
 *  the first of the errors with their cures. */
void svg_begin(struct svg *s);
/** Prints the drawing in its frame, as high as s->y. */
void svg_end(struct svg *s, FILE *out, const char *description);
/** Words below the drawing, in lines that fit the width, but for a title's. */
void svg_lines(struct svg *s, const char *class, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/** The beginning of a page, up to its title. Scripts run only in one that plays. */
void page_begin(struct svg *s, bool plays);

/* ---- svg_time.c: ranks from top to bottom, over time ----------------------------------------- */

#define TIME_BOX 24.0	 /* height of a lane of one track */
#define TIME_WIDE 1240.0 /* of a chart, where its times allow */

struct time_chart {
	struct svg s;
	double length; /* of the time that is drawn */
	double unit;   /* points that one unit of time is wide */
	uint32_t nranks, nlanes;
	struct time_lane {
		bool shown;
		uint32_t tracks; /* set before time_chart_begin */
		double y, high;
	} *lanes;   /* [nranks] */
	double key; /* the legend ends here */
};

/** With lanes for these ranks; none given: for all. In c->scratch; the errors are in the picture's head. */
void time_chart_open(struct time_chart *t, struct ctx *c, uint32_t nranks,
		     const struct numbers *shown);
/** Why it is not drawn: no rank is shown, or so many operations are too many, and `others` says what has them; or
 *  NULL. */
const char *time_chart_refuses(const struct time_chart *t, uint64_t drawn, const char *others);
/** Draws head and lanes. Title, length and unit are set; `behind`: room right of the end. */
void time_chart_begin(struct time_chart *t, double behind);
double time_chart_x(const struct time_chart *t, double time);
/** A box; its label is drawn if there is room, and may be NULL. */
void time_chart_box(struct time_chart *t, uint32_t rank, uint32_t track, double start, double end,
		    unsigned colour, double opacity, const char *label);
/** A message, if both its ranks are shown. A ' of its attributes is a ". */
void time_chart_message(struct time_chart *t, uint32_t from, double leaves, uint32_t to,
			double arrives, const char *attributes);
/** The times below the lanes, above 0. */
void time_chart_axis(struct time_chart *t, const char *unit);
/** A colour of the legend. */
void time_chart_key(struct time_chart *t, unsigned colour, const char *text);
/** Prints the picture, with the last words of the legend. */
void time_chart_end(struct time_chart *t, FILE *out, const char *text);
/** Prints one of both, or a page with the picture and the text below. */
typedef void time_chart_printer(void *arg, FILE *out);
void time_chart_print(struct time_chart *t, enum print_format format, time_chart_printer *picture,
		      time_chart_printer *text, void *arg, FILE *out);

#endif
