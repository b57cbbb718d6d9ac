/*
 * The pictures of `ccc explain`: the parts that svg.c puts together.
 */
#ifndef CCS_COMPILER_EXPLAIN_SVG_H
#define CCS_COMPILER_EXPLAIN_SVG_H

#include "compiler/draw/draw.h"
#include "compiler/explain/explain.h"

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
	double *y;	   /* [ncells]: of a row in its lane */
};

#define LEAST_WIDTH 620.0
#define MOST_RANKS 16u
#define MOST_COLUMNS 64u
#define MOST_CHUNKS 32u

double svg_lanes_width(struct svg *s, struct lanes *l);
/** Draws it below s->y, and moves that. O(stores + columns * ranks * chunks). */
void svg_lanes(struct svg *s, struct lanes *l);

/* ---- svg_heat.c: rank x step, where there is too much for lanes --------------------------- */

#define HEAT_WIDTH 720.0
void svg_heat(struct svg *s);

#endif
