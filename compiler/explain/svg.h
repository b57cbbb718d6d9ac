/*
 * Drawing with SVG, for the pictures of `ccc explain`: numbers, texts, and the parts that svg.c puts
 * together.
 */
#ifndef CCS_COMPILER_EXPLAIN_SVG_H
#define CCS_COMPILER_EXPLAIN_SVG_H

#include "compiler/explain/explain.h"

#define NCOLOURS 9u	   /* of cells and messages; more chunks use them again */
#define GREY NCOLOURS	   /* of several colours, or of no data */
#define RED (NCOLOURS + 1) /* errors */
extern const char *const svg_colours[NCOLOURS]; /* "#4477AA" */

enum seen {
	SEEN_HOLE,
	SEEN_OTHER,
	SEEN_PLUS,
	SEEN_LOCAL,
	SEEN_SEVERAL,
	SEEN_GREY,
	SEEN_LOST,
	SEEN_FAULT,
	SEEN_CURE
};

/* A picture under way. */
struct svg {
	struct script *x;
	FILE *out;
	struct printed body; /* between svg_begin and svg_end */
	double y;	     /* the picture is drawn down to here */
	unsigned seen;	     /* bits by enum seen: what the legend explains */
};

/** Prints; each ' of the format is a ". */
void svg_put(struct svg *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The words of `format` at a place; a ' of `attributes` is a ", and a % of them is none of the format's. */
void svg_say(struct svg *s, const char *attributes, double x, double y, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/** A length or place, with at most one digit behind the point: %g prints it so. */
double pt(double v);
/** Text for an element or attribute, as diag_shown_text has it, with <, >, & and quotes escaped. */
const char *svg_text(struct svg *s, const char *text);
/** What is drawn after svg_begin is kept in memory: svg_end prints it in its frame, as high as s->y. */
void svg_begin(struct svg *s);
void svg_end(struct svg *s, FILE *out, double width, const char *title, const char *about);
/** The title, some words about it or NULL, and the first of the errors with their cures. */
void svg_head(struct svg *s, double width, const char *title, const char *about);
/** Words below what is drawn, in lines that fit the width. */
void svg_lines(struct svg *s, const char *class, double width, const char *text);
/** What stands at the end of a rank's lane. */
const char *svg_ending_text(struct svg *s, const struct ending *e);

/* ---- page.c ---------------------------------------------------------------------------- */

/** The beginning of a page, up to its title. Scripts run only in one that plays. */
void page_begin(struct svg *s, const char *title, bool plays);

/* ---- svg_lanes.c: time from left to right, ranks from top to bottom ---------------------- */

/* The drawn part of the run, and its geometry. */
struct lanes {
	const uint32_t *ranks, *cells;
	const struct frame *frames; /* columns, behind that of the start */
	uint32_t nranks, ncells, nframes;
	bool whole; /* from the start of the run to its end, with the errors there */
	bool inner; /* without messages from or to other ranks, or of other chunks */
	/* by svg_lanes_width */
	double cell, gap;  /* width of a column, and between two */
	double high;	   /* of a cell */
	double left, top;  /* of the first column and lane */
	double lane, step; /* height of a lane, and from one to the next */
	double margin;	   /* right of the last column */
	uint32_t *row;	   /* [width]: of a chunk in its lane, or NONE */
	uint32_t *lane_of; /* [nranks], or NONE */
	uint32_t *values;  /* [nframes + 1][nranks][ncells] */
	double *y;	   /* [ncells]: of a row in its lane */
};

#define LEAST_WIDTH 620.0
#define MOST_RANKS 16u
#define MOST_COLUMNS 64u
#define MOST_CHUNKS 32u

double svg_lanes_width(struct svg *s, struct lanes *l);
/** Draws it below s->y, and moves that. O(stores + columns * ranks * chunks). */
void svg_lanes(struct svg *s, struct lanes *l);

/* ---- svg_time.c: ranks from top to bottom, over time ----------------------------------------- */

#define TIME_BOX 24.0	 /* height of a lane of one track */
#define TIME_WIDE 1240.0 /* of a chart, where its times allow */

struct time_chart {
	struct script script; /* for this header: without a model */
	struct svg s;
	const char *title, *about;
	double length; /* of the time that is drawn */
	double unit;   /* points that one unit of time is wide */
	uint32_t nranks, nlanes;
	struct time_lane {
		bool shown;
		uint32_t tracks; /* set before time_chart_begin */
		double y, high;
	} *lanes; /* [nranks] */
	/* by time_chart_begin */
	double width;
	double bottom; /* of the lanes; then of the axis */
	double key;    /* the legend ends here */
};

/** With lanes for these ranks; none given: for all. In c->scratch; the errors are in the picture's head. */
void time_chart_open(struct time_chart *t, struct ctx *c, uint32_t nranks,
		     const struct numbers *shown);
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

/* ---- svg_circle.c: who waits for whom, E0304 ------------------------------------------------- */

/** With room for the words on both sides. */
double svg_circle_width(struct svg *s);
void svg_circle(struct svg *s, double width);

/* ---- svg_heat.c: rank x step, where there is too much for lanes --------------------------- */

#define HEAT_WIDTH 720.0
void svg_heat(struct svg *s);

#endif
