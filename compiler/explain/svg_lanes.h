/*
 * Lanes: the part of a picture that has time from left to right, and ranks from top to bottom.
 */
#ifndef CCS_COMPILER_EXPLAIN_SVG_LANES_H
#define CCS_COMPILER_EXPLAIN_SVG_LANES_H

#include "compiler/draw/draw.h"
#include "compiler/explain/explain.h"

/* The drawn part of the run, and its geometry. */
struct lanes {
	const uint32_t *ranks, *cells;
	const struct frame *frames; /* columns, behind that of the start */
	uint32_t nranks, ncells, nframes;
	double words; /* length of the longest text at a lane's end */
	bool whole;   /* from the start of the run to its end, with the errors there */
	bool inner;   /* without messages from or to other ranks, or of other chunks */
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

double svg_lanes_width(struct svg *s, struct lanes *l);
/** Draws it below s->y, and moves that. O(stores + columns * ranks * chunks). */
void svg_lanes(struct svg *s, struct lanes *l);

#endif
