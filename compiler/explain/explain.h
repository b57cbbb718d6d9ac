/*
 * `ccc explain`: how the data of one instance moves, as a model that four printers show.
 *
 *     program, order --replay--> model --view--> text, JSON, SVG, a page that plays
 *     diagnostics ------------------^ mark the faults
 *
 * The model (model.c) is the program's run on symbolic values: its moves, in the order of steps. A
 * step is a round of messages on the longest chain. A move is a message that arrives, an operation
 * inside a rank, or a message that no rank receives. If the program is wrong, the model ends with the
 * step of the fault (fault.c), and says how each rank ends: stuck, in an error, or with results that
 * differ from the contract. The view (view.c) marks the moves to show, and frames of them: the steps
 * that have one. A printer walks the frames and plays their moves; no printer runs the program again.
 */
#ifndef CCS_COMPILER_EXPLAIN_EXPLAIN_H
#define CCS_COMPILER_EXPLAIN_EXPLAIN_H

#include "compiler/check/deadlock.h"
#include "compiler/check/values/replay.h"
#include "compiler/witness/witness.h"

/** Shows one instance on `out`: with `order`, all of a correct program; without it (NULL), a wrong
 *  program up to the fault that diags.v[first_diag...] report. `contract` may be NULL. False: the
 *  view names a chunk or a rank that does not exist, or there is too much to draw; *why says so and
 *  gives the cure, and nothing was printed. O(stores + size of the output). */
bool explain(struct ctx *c, struct program *p, const struct contract *contract,
	     const struct order *order, uint32_t first_diag, const struct shown *view, FILE *out,
	     const char **why);

/* ---- inside: the model ------------------------------------------------------------------ */

/* An operation that stores, or a message of no chunks, or one that no rank has received. */
struct move {
	uint32_t task, row;   /* of the operation that stores; of a lost message: of its send */
	uint32_t rank, order; /* of that; and as the run had it */
	uint32_t depth;	      /* its step; 0: before the first message */
	uint32_t first, n;    /* rows of script.stores */
	uint32_t from, to;    /* ranks */
	const struct op *send, *recv; /* inside a rank both are the operation; lost: recv is NULL */
	struct cells source, target;  /* target.n == 0: none */
	const char *kind;	      /* "local", "message" or "lost" */
	bool combines;
	bool lost;	  /* sent, and not received when the run ends: */
	bool unmatched;	  /* ... and no receive of the program takes it */
	bool shown;	  /* by the view */
	uint32_t carries; /* lost: the value of its first chunk, or NONE */
	int fault;	  /* code of its fault, or 0 */
};

/* A step that has something to show: the moves [first, end), of which `arrive` are shown and not
 * lost. */
struct frame {
	uint32_t step, first, end, arrive;
};

/* An error of the program. */
struct error {
	const struct diag *diag;
	struct span at; /* without a place, the schedule's name */
	uint32_t step;	/* of the moves that are marked with it, or NONE */
};

/* How a rank ends, if not as it should. */
struct ending {
	enum end_kind { END_STUCK, END_WRONG, END_STOPPED } kind;
	uint32_t rank;
	int code; /* of its error; of a task that waits for others, of theirs */
	/* END_STUCK: a task that cannot go on */
	uint32_t task;
	const struct op *op;
	uint32_t step;	      /* the first that it can be in */
	uint32_t place, next; /* its place in the circle of waits, and the task that it waits for
				 there; NONE: it is in none */
	const char *text;     /* "waits to send data[1] to rank 3; ..." */
	/* END_WRONG: a final cell with contents that differ from the contract's promise */
	uint32_t cell, row; /* row of the contract; else NONE */
	/* END_STOPPED: its text is wrong there, or it ends too early, and no move has the error */
	uint32_t error;
};

struct script {
	struct replay r;
	struct arena *arena;
	struct ctx quiet;		 /* for texts: its reports are dropped */
	const struct contract *contract; /* or NULL */
	struct greedy far;		 /* of a program that is wrong: how far it comes */
	struct move *moves;		 /* by step, within each by rank, then as it runs */
	uint32_t n, all, cap;		 /* up to the last step, and in the whole run */
	struct stored *stores;
	uint32_t nstores, capstores;
	uint32_t steps; /* greatest depth of a move of the run */
	uint32_t last;	/* the last step of the model: that of the first wrong move */
	bool combines;	/* some values are sums: chunks have colours, else their sources */
	bool right;
	uint32_t *anywhere, *into; /* [cells]: rows of the contract, or NONE */
	double *sent;		   /* [nranks]: in blocks of `count` elements */
	struct shares room;	   /* to work in */
	/* the faults */
	uint32_t first_diag; /* of the errors; of a program that is right UINT32_MAX */
	struct error *errors;
	uint32_t nerrors, caperrors;
	struct ending *endings; /* first the stuck, then the wrong, then the stopped */
	uint32_t nendings, capendings, ncircle;
	/* the view */
	struct named_cells *named; /* by their cells */
	uint32_t nnamed, capnamed;
	bool *cell; /* [width]: shown in tables; moves that touch one are shown */
	bool *rank; /* [nranks] */
	const struct shown *view;
	uint32_t *cells, ncells, *ranks, nranks; /* these, as lists */
	struct frame *frames;			 /* by step */
	uint32_t nframes, capframes;
};

/* The contents of a cell, against the contract. */
struct holding {
	double part; /* of the contribution promised there; where none is, of that promised for
			    the chunk elsewhere, or 1 */
	bool whole;  /* holds the promised data, and nothing else */
	bool other;  /* holds data that is not promised there */
	uint32_t
		colour; /* number of the chunk that its data is of, or of the rank that it is from */
};

/** Makes the moves of a run, and finds where data is promised. */
void explain_run(struct script *x, const struct order *order);
/** The relation of a value to a rank's cell. */
struct holding explain_holding(struct script *x, uint32_t id, uint32_t rank, uint32_t cell);
/** [nranks][r.width]: the values before the run. */
uint32_t *explain_start(struct script *x);
/** Plays the moves [*k, end). */
void explain_play(struct script *x, uint32_t *k, uint32_t end, uint32_t *state);

/* Texts, in the arena. */

/** "0-2" for this cell's own number on ranks 0-2, else "a[3]@0-2"; "-": no value. */
const char *explain_value_text(struct script *x, uint32_t id, uint32_t cell);
/** The same of what the contract's row promises. */
const char *explain_promise_text(struct script *x, uint32_t row, uint32_t cell);
/** "data[0..2]"; "": none. */
const char *explain_cells_text(struct script *x, struct cells c);
/** "rank 0 -> rank 1: data[0] is combined into data[2]" */
const char *explain_move_text(struct script *x, const struct move *m);
/** Where an operation stands; and as words: "line 7". */
struct span explain_span(const struct script *x, const struct op *o);
const char *explain_line_text(struct script *x, struct span at);
/** "ring_allreduce: allreduce on 4 ranks, root 2" */
const char *explain_title(struct script *x);
/** What stands at the end of a rank's lane: "data[1] holds 0; promised is 0-3" */
const char *explain_ending_text(struct script *x, const struct ending *e);

/* ---- view.c --------------------------------------------------------------------------- */

/** Reads the view. False: it names a chunk or a rank that is not there; *why is in the
 *  compilation's arena. */
bool explain_view_read(struct script *x, const struct shown *view, const char **why);
/** Marks the moves that the view shows, and lists the frames. */
void explain_view_moves(struct script *x);
/** The numbers below n that are marked, as a list. */
uint32_t *explain_marked(struct script *x, const bool *marks, uint32_t n, uint32_t *count);

/* ---- fault.c -------------------------------------------------------------------------- */

/** An order of all events of a wrong program; x->far is the state at its end. Messages with
 *  different numbers of chunks at their two ends (E0303) are cut to the lesser. O(operations). */
const struct order *explain_run_far(struct script *x, struct program *p);
/** Lists them, marks the moves that they are about, and finds how
 *  each rank ends. O(moves) for each of the first errors. */
void explain_find_faults(struct script *x);

/* ---- svg_lanes.c: time from left to right, ranks from top to bottom ---------------------- */

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

struct svg;
double svg_lanes_width(struct svg *s, struct lanes *l);
/** Draws it below s->y, and moves that. O(stores + columns * ranks * chunks). */
void svg_lanes(struct svg *s, struct lanes *l);

/* ---- the printers -------------------------------------------------------------------------- */

void explain_text(struct script *x, FILE *out);
/** The last part of the text. */
void explain_fault_text(struct script *x, FILE *out);
/** docs/explain.schema.json has the form. As a part of a page: without `<`, and texts as
 *  diag_shown_text has them. */
void explain_json(struct script *x, bool page, FILE *out);
void explain_svg(struct script *x, FILE *out);
void explain_html(struct script *x, FILE *out);

#endif
