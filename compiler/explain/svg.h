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

/* ---- svg_put.c --------------------------------------------------------------------------- */

/* A picture under way. */
struct svg {
	struct script *x;
	FILE *out;
	double y;      /* the picture is drawn down to here */
	unsigned seen; /* bits by enum seen: what the legend explains */
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
/* ---- svg_lanes.c: time from left to right, ranks from top to bottom ---------------------- */

/* The drawn part of the run. */
struct lanes {
	const uint32_t *ranks, *cells,
		*steps; /* steps ascending; columns, behind that of the start */
	uint32_t nranks, ncells, nsteps;
	bool whole; /* from the start of the run to its end, with the errors there */
	bool inner; /* without messages from or to other ranks, or of other chunks */
};

#define LEAST_WIDTH 620.0
#define MOST_RANKS 16u
#define MOST_COLUMNS 64u
#define MOST_CHUNKS 32u

double svg_lanes_width(struct svg *s, const struct lanes *l);
/** What stands at the end of a rank's lane: the i-th of all waits, wrong results and stops. text ==
 *  NULL: there are no more. */
struct last_words {
	const char *text;
	uint32_t rank, cell; /* of a wrong result; NONE: of no cell */
	int code;
} svg_last_words(struct svg *s, uint32_t i);
/** Draws it below s->y, and moves that. O(stores + columns * ranks * chunks). */
void svg_lanes(struct svg *s, const struct lanes *l);

/* ---- svg_circle.c: who waits for whom, E0304 ------------------------------------------------- */

/** With room for the words on both sides. */
double svg_circle_width(struct svg *s);
void svg_circle(struct svg *s, double width);
/** "waits to send a[8] to rank 1", of a text that goes on with what its FIFO has. */
const char *svg_wait(struct svg *s, const struct stuck *w);

/* ---- svg_heat.c: rank x step, where there is too much for lanes --------------------------- */

#define HEAT_WIDTH 720.0
void svg_heat(struct svg *s, const struct lanes *l);

#endif
