/*
 * The operations of a schedule as families of points, for symbolic N.
 *
 * A form is one operation of the text, for all N, ranks and runs of it at once. Each run moves some
 * chunks, and each of these is a point of the form: (rank, trips of the loops around, chunk of the
 * operation), `forms.dims` numbers; a number that does not apply is 0. A trip is the number of an
 * iteration, from 0. The parameters of all sets are N, and the root if the schedule runs with any
 * root. A value is an isl_pw_aff over points: piecewise affine. The send of
 *     for s in 0..N - 1 { send a[(rank - s) % N] to (rank + 1) % N }
 * has the points (r, s, 0) with 0 <= r < N and 0 <= s < N - 1, and the peer (r + 1) % N.
 */
#ifndef CCS_COMPILER_EVERY_AFFINE_FORMS_H
#define CCS_COMPILER_EVERY_AFFINE_FORMS_H

#include "compiler/every/every.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>

/* A run of chunks of a buffer. */
struct chunks {
	uint32_t buffer;
	isl_pw_aff *lo, *n;
};

/* An entry of an operation's place in the text of its rank. A place lists, from outside to inside,
 * positions in lists of statements and trips of loops. */
struct place_entry {
	bool trip;	 /* value: dimension of a loop's trip; else a number */
	bool concurrent; /* places that differ here are unordered: blocks of a par, a step */
	bool block;	 /* it is a block of a par: a part of the FIFO's name */
	bool wave;	 /* value: 0. Here reads precede writes, and sends precede receives */
	uint32_t value;
	const struct stmt *loop; /* trip: its loop; the variable is start + by * trip */
	int64_t start, by;	 /* by 0: the start is no number */
};

/* One operation of the text. */
struct form {
	const struct stmt *stmt;
	uint32_t line;
	isl_set *domain;
	isl_pw_aff *peer;    /* of messages: the rank in the whole */
	isl_pw_aff *channel; /* of messages */
	struct chunks x, y;  /* y: of copies and local reductions */
	struct place_entry *place;
	uint32_t nplace;
};

struct form_buffer {
	const struct buffer_def *def;
	isl_pw_aff *count; /* chunks */
	isl_pw_aff *inner; /* two brackets: the chunks of a block; or NULL */
	uint32_t depth;	   /* loops around its declaration: each of their trips has its scratch */
};

struct forms {
	struct arena *arena;
	struct sources *sources;
	isl_ctx *isl;
	const struct instance *in;
	isl_space *space; /* of points */
	uint32_t dims;	  /* numbers of a point */
	bool root;	  /* the root is a parameter */
	uint32_t least;	  /* N from here on */
	bool joined;	  /* the topology's switches join all ranks: its links are not looked at */
	bool any;	  /* parameters but the root have no value: what holds, holds for any */
	bool part;	  /* a part of a schedule: all of buffer 0 counts, there is no contract */
	isl_set *context; /* all points with possible N, root and rank */
	unsigned some;	  /* some N or roots are excluded: BY_WHERE, BY_TOPOLOGY */
	struct form *ops;
	uint32_t nops, capops;
	struct form_buffer *buffers; /* the schedule's come first, in its order */
	uint32_t nbuffers, capbuffers, ncontract;
	isl_set *links;	   /* pairs, as points (rank, target); NULL: all */
	isl_pw_aff **lets; /* numbers of the main text that depend on the rank alone, */
	uint32_t nlets, caplets;
	const char **let_names; /* ... their names */
	uint32_t nnames, capnames;
	bool powers;	 /* the text has powers of two or bits, which are not affine */
	const char *why; /* the first reason why there is no proof; or NULL */
	uint32_t line;
	uint32_t doubt;	     /* as in struct every */
	bool rendezvous;     /* there are 0 slots: a send waits for its receive */
	bool ordered;	     /* the contract asks for an order of ranks */
	bool wide;	     /* a segment may cover several statements of the main list */
	bool summed;	     /* sums are proved by sums.c, not by the contents of each */
	struct bound *bound; /* of symbols, by id */
};

/* A table's entries. */
struct entries {
	isl_pw_aff **v;
	uint32_t n;
};

/* A symbol's meaning. */
struct bound {
	isl_pw_aff *value;     /* a number */
	struct entries *table; /* or a table, with the entries at the place of its let */
	bool view;
	struct chunks of;  /* a view: its chunks in a buffer */
	isl_pw_aff *count; /* ... its parts */
	isl_pw_aff *inner; /* ... the parts of a block, or NULL */
	isl_pw_aff *part;  /* ... chunks of a part; NULL: 1 */
};

/* The group of ranks that runs a text. */
struct members {
	isl_pw_aff *rank, *n, *first, *stride; /* of this rank; member j is first + j * stride */
};

#define CALLS_DEEP 24u /* greatest depth of calls; beyond, nothing is proved */
#define PLACES 48u     /* most entries of a place, likewise */

/* A place in the text while forms are made. */
struct walk {
	struct forms *f;
	isl_set *domain; /* the points that reach this place */
	struct members here;
	isl_pw_aff *channel;
	uint32_t depth, calls; /* loops and calls around */
	const struct decl *callees[CALLS_DEEP];
	struct place_entry place[PLACES];
	uint32_t nplace;
	bool waved;	     /* in a step */
	isl_set *link_pairs; /* in a topology: the links so far */
	isl_map *joints;     /* ... with switches (switches.c): from node to node */
};

/** Notes why there is no proof, if it is the first reason. */
void forms_fail(struct forms *f, struct span at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- affine_numbers.c ---- */
#define AFFINE_LARGE (1 << 30) /* greatest number in a text */
/** Whether a value is constant on the whole domain. */
bool affine_number(isl_pw_aff *v, isl_set *domain, int64_t *number);
/** floor(x / n), n not 0. Keeps x. */
isl_pw_aff *affine_share(const isl_pw_aff *x, int64_t n);
/** Whether all its values are small enough for sums in 64 bits. */
bool affine_fits(isl_pw_aff *v);

/* ---- affine.c ---- */
/** The value of an expression on walk->domain; NULL: failed, with the reason in f->why. */
isl_pw_aff *affine(struct walk *w, const struct expr *e);
/** The points of walk->domain where a condition holds. */
isl_set *affine_where(struct walk *w, const struct expr *e);
/** a * b, where one factor is constant or has few values. NULL as above. */
isl_pw_aff *affine_product(struct walk *w, isl_pw_aff *a, isl_pw_aff *b, struct span at);

/** a modulo b, floor modulo, b > 0. NULL as above. */
isl_pw_aff *affine_remainder(struct walk *w, isl_pw_aff *a, isl_pw_aff *b, struct span at);

isl_pw_aff *forms_constant(struct forms *f, int64_t n);
isl_pw_aff *forms_dim(struct forms *f, uint32_t dim);
isl_pw_aff *forms_param(struct forms *f, uint32_t param);

/** Makes all forms of f->in. False: f->why. */
bool forms_make(struct forms *f);
/** Whether its topology's switches join all ranks (switches.c). False: f->why. */
bool forms_joined(struct forms *f);
/** Begins a walk over all possible points, for the text of the whole; and ends it. */
struct walk forms_begin(struct forms *f);
void forms_end(struct walk *w);
/** Notes the reason, and returns false. */
bool walk_fail(struct walk *w, struct span at, const char *why);
/** Whether all points of the domain are in `good`, which is taken; else fails with `why`. */
bool walk_always(struct walk *w, isl_set *good, struct span at, const char *why);
/** Makes the forms of a list of statements at the walk's place. */
bool forms_walk(struct walk *w, const struct stmt *body);
/** Binds the parameters of d's topology; binds the names of a topology. */
bool forms_topology(struct walk *w, const struct decl *d);
bool forms_names(struct walk *w, const struct decl *topology);
/** Binds a symbol to a value, which is taken; to the value of an expression. */
void forms_set(struct forms *f, const struct symbol *s, isl_pw_aff *v);
bool forms_bind(struct walk *w, const struct symbol *s, const struct expr *e);
/** A table's entries here; NULL: an entry has no value, with the reason in f->why. */
struct entries *forms_entries(struct walk *w, const struct expr *table);
void forms_free_entries(struct entries *t);
/** Binds a let's name to its value, a number or a table. */
bool forms_let(struct walk *w, const struct stmt *s);
/** Makes the forms of a call; `run` walks the callee's text. Adds a scratch of the current text. */
typedef bool walk_text(struct walk *w, const struct stmt *text);
bool forms_call(struct walk *w, const struct stmt *s, walk_text *run);
bool forms_scratch(struct walk *w, const struct stmt *s);
/** Adds a buffer, and binds its name to all of it. */
bool forms_add_buffer(struct walk *w, const struct buffer_def *d);
/** Binds d's name to chunks, in the number of parts in its brackets. */
bool forms_cut(struct walk *w, struct span at, const struct chunks *c, const struct buffer_def *d);
void forms_free_chunks(struct chunks *c);
void forms_free_view(struct bound *b);
/** The chunks of a reference on walk->domain; false: f->why. */
bool forms_chunks(struct walk *w, const struct ref *r, struct chunks *to);

/* ---- switches.c ---- */
/** Adds a link of a topology with switches; checks a switch. */
bool switches_link(struct walk *w, const struct stmt *s);
bool switches_made(struct walk *w, const struct stmt *s);
/** Whether the links so far are a path from each rank to each other one; else notes why. */
bool switches_join(struct walk *w, const struct decl *topology);

/** The smallest admitted N from `least` to `most`; returns their number, at most n. */
uint32_t forms_small(struct forms *f, uint32_t *to, uint32_t n, uint32_t least, uint32_t most);
void forms_free(struct forms *f);

#endif
