/*
 * The operations of a schedule as families over rank and loop trips, for symbolic N.
 *
 * A point is (rank, trips of the loops around, chunk of the operation): `forms.dims` numbers; a
 * number that does not apply is 0. Parameters of all sets are N, and the root where it is chosen
 * at run time. A value is an isl_pw_aff over points.
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

/* Where an operation stands in its rank's text: from outside to inside, positions in
 * statement lists and trips of loops. */
struct place_entry {
	bool trip;	 /* value: dimension of a loop's trip; else a number */
	bool concurrent; /* entries that differ here have no order: blocks of a par, a step */
	bool block;	 /* it is a par's block: a part of the FIFO's name */
	bool wave;	 /* value: 0. Here reads come before writes, sends before receives */
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
	uint32_t depth;	   /* loops around its declaration: a scratch for each of their trips */
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
	bool part;	  /* a part of a schedule: not a contract but all of buffer 0 counts */
	isl_set *context; /* all points with possible N, root and rank */
	unsigned some;	  /* not every N and root is admitted: BY_WHERE, BY_TOPOLOGY */
	struct form *ops;
	uint32_t nops, capops;
	struct form_buffer *buffers; /* those of the schedule come first, in its order */
	uint32_t nbuffers, capbuffers, ncontract;
	isl_set *links;	     /* pairs, as points (rank, target); NULL: all */
	isl_pw_aff **clocks; /* values that depend on the rank alone: candidates for an order */
	uint32_t nclocks, capclocks;
	const char **clock_names;
	uint32_t ncnames, capcnames;
	bool powers;	 /* it is about powers of two or bits, which are not affine */
	const char *why; /* why not, the first reason; or NULL */
	uint32_t line;
	bool rendezvous;     /* there are 0 slots: a send waits for its receive */
	bool wide;	     /* clocks are of several statements of the main list */
	bool summed;	     /* sums are shown to go into one another, not by what each holds */
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

/* Who runs a text: a group's numbers. */
struct members {
	isl_pw_aff *rank, *n, *first, *stride; /* of this rank; member j is first + j * stride */
};

#define CALLS_DEEP 24u /* calls in calls; beyond, nothing is said */
#define PLACES 48u     /* entries of a place; likewise */

/* A place in the text while forms are made. */
struct walk {
	struct forms *f;
	isl_set *domain; /* of the points that come here */
	struct members here;
	isl_pw_aff *channel;
	uint32_t depth, calls; /* loops and calls around */
	const struct decl *callees[CALLS_DEEP];
	struct place_entry place[PLACES];
	uint32_t nplace;
	bool waved;	     /* in a step */
	isl_set *link_pairs; /* in a topology: where links are gathered */
};

/** Keeps the first reason why nothing can be said. */
void forms_fail(struct forms *f, struct span at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- affine_numbers.c ---- */
#define AFFINE_LARGE (1 << 30) /* numbers of a text beyond this are not looked at */
/** Whether a value is one number on the whole domain. */
bool affine_number(isl_pw_aff *v, isl_set *domain, int64_t *number);
/** floor(x / n), n not 0. Keeps x. */
isl_pw_aff *affine_share(const isl_pw_aff *x, int64_t n);
/** Whether no value of it is so large that 64 bits may not hold a sum with it. */
bool affine_fits(isl_pw_aff *v);

/* ---- affine.c ---- */
/** The value of an expression on walk->domain; NULL: failed, and f->why says why. */
isl_pw_aff *affine(struct walk *w, const struct expr *e);
/** The points of walk->domain where a condition holds. */
isl_set *affine_where(struct walk *w, const struct expr *e);
/** first * second, where one is a number or takes few. NULL as above. */
isl_pw_aff *affine_product(struct walk *w, isl_pw_aff *a, isl_pw_aff *b, struct span at);

/** a modulo b, floor modulo, b > 0. NULL as above. */
isl_pw_aff *affine_remainder(struct walk *w, isl_pw_aff *a, isl_pw_aff *b, struct span at);

isl_pw_aff *forms_constant(struct forms *f, int64_t n);
isl_pw_aff *forms_dim(struct forms *f, uint32_t dim);
isl_pw_aff *forms_param(struct forms *f, uint32_t param);

/** Makes all forms of f->in. False: f->why. */
bool forms_make(struct forms *f);
/** A walk over all possible points, as the whole's text begins; and its end. */
struct walk forms_begin(struct forms *f);
void forms_end(struct walk *w);
/** Keeps that as the reason; returns false. */
bool walk_fail(struct walk *w, struct span at, const char *why);
/** Whether no point of the domain is outside of `good`, which is taken; else why. */
bool walk_always(struct walk *w, isl_set *good, struct span at, const char *why);
/** The forms of a list of statements, where walk stands. */
bool forms_walk(struct walk *w, const struct stmt *body);
/** Binds the parameters of d's topology; the names that a topology brings. */
bool forms_topology(struct walk *w, const struct decl *d);
bool forms_names(struct walk *w, const struct decl *topology);
/** Binds a symbol to a number, which is taken; to the value of an expression. */
void forms_set(struct forms *f, const struct symbol *s, isl_pw_aff *v);
bool forms_bind(struct walk *w, const struct symbol *s, const struct expr *e);
/** A table's entries here; NULL: one has no value, and f->why says why. */
struct entries *forms_entries(struct walk *w, const struct expr *table);
void forms_free_entries(struct entries *t);
/** Binds a let's name to its value, a number or a table. */
bool forms_let(struct walk *w, const struct stmt *s);
/** A call's forms: `run` walks the callee's text. A scratch of the text that is walked. */
typedef bool walk_text(struct walk *w, const struct stmt *text);
bool forms_call(struct walk *w, const struct stmt *s, walk_text *run);
bool forms_scratch(struct walk *w, const struct stmt *s);
/** A new buffer, with its name bound to all of it. */
bool forms_add_buffer(struct walk *w, const struct buffer_def *d);
/** Binds d's name to chunks in as many parts as its brackets say. */
bool forms_cut(struct walk *w, struct span at, const struct chunks *c, const struct buffer_def *d);
void forms_free_chunks(struct chunks *c);
void forms_free_view(struct bound *b);
/** The chunks that a ref means on walk->domain; false: f->why. */
bool forms_chunks(struct walk *w, const struct ref *r, struct chunks *to);
/** The smallest N from `least` to `most` that are admitted; returns how many, at most n. */
uint32_t forms_small(struct forms *f, uint32_t *to, uint32_t n, uint32_t least, uint32_t most);
void forms_free(struct forms *f);

#endif
