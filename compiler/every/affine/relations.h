/*
 * The passes of the affine proof as relations between points (isl).
 *
 * Operation k has up to three families of points, distinguished by the names of their spaces: x<k>
 * reads the chunk that is sent or copied, y<k> reads the chunk to which is added, and w<k> writes.
 * The chunks of buffer b are b<b>(rank, trips of the loops around its declaration, chunk). An
 * event, one end of a message, is a point of its operation with chunk 0.
 */
#ifndef CCS_COMPILER_EVERY_AFFINE_RELATIONS_H
#define CCS_COMPILER_EVERY_AFFINE_RELATIONS_H

#include "compiler/every/affine/forms.h"

/* Sends of `send` and the receives of `recv` that meet: point -> point. */
struct pair {
	uint32_t send, recv;
	isl_map *map;
};

struct pairs {
	struct pair *v;
	uint32_t n, cap;
};

/* An element of a map, for one N and root: the numbers of a point and of its image, n in all. */
typedef void (*point_fn)(const int64_t *v, uint32_t n, void *arg);

/** Calls `fn` for every element of a map, with N and the root fixed. */
void each_point(struct forms *f, isl_map *m, int64_t nranks, int64_t root, point_fn fn, void *arg);

/** A name such as "w3". */
isl_id *relation_name(struct forms *f, char letter, uint32_t k);

/** points -> chunk of an operand, for every chunk of the operation. */
isl_map *relation_access(struct forms *f, const struct form *o, const struct chunks *c);
/** points -> time: the entries of their places from outside to inside, with `wave` at entries of
 *  waves. A level (or NULL) is inserted before entry `at`. */
isl_map *relation_time(struct forms *f, const struct form *o, uint32_t wave, isl_pw_aff *level,
		       uint32_t at);
/** An entry of a time. */
isl_pw_aff *relation_entry(struct forms *f, const struct form *o, uint32_t wave, uint32_t i);
/** The dimension of times, without a level. */
uint32_t relation_time_dims(const struct forms *f);
/** Whether places that first differ at entry i are in order: they are not of one step or par. */
bool order_at(const struct form *a, const struct form *b, uint32_t i);
/** The points of a -> those of b on the same rank that come later in its own order, by an entry from
 *  `least` on. */
isl_map *order_own(struct forms *f, const struct form *a, const struct form *b, uint32_t least);
/** Pairs of times where the first is not before the second. */
isl_map *relation_not_before(isl_map *time);

/** pairing.c: pairs sends with receives. False: f->why. */
bool order_match(struct forms *f, struct pairs *to);
bool order_is_message(const struct form *o);
/** Whether times grow along a relation of events; `from`, `to`: the times of its two sides. */
bool order_grows(isl_map *m, isl_map *from, isl_map *to);
/** receive -> a later send of its FIFO; NULL: none. */
isl_map *order_frees(struct forms *f, const struct pair *p, const struct form *later);
/* Levels of the messages of a segment, inserted before an entry of their places. */
struct levels {
	uint32_t at;	 /* of places with a first entry of at .. last; NONE: of all */
	uint32_t last;	 /* see `at` */
	uint32_t before; /* the entry before which they are inserted */
	isl_pw_aff **of; /* [2 * nops]: the start and the end of each message; or NULL */
};

struct level_list {
	struct levels *v;
	uint32_t n, cap;
};

/** progress.c: proves that every wait ends, with `slots` slots or more. *to: the levels that were
 *  needed. */
bool progress_made(struct forms *f, const struct pairs *p, uint32_t slots, struct level_list *to);
void levels_free(const struct forms *f, struct level_list *l);
/** levels.c: whether an operation is a message of the segment. */
bool levels_cover(const struct forms *f, const struct levels *l, uint32_t op);
/** levels.c: finds levels with which times grow in the segment; `grow`: whether they do along all waits. */
typedef bool waits_grow(struct forms *f, const struct pairs *p, const struct levels *l);
bool levels_grow(struct forms *f, const struct pairs *p, struct levels *l, waits_grow *grow);
/** races.c: proves that no two operations of a step or a par touch a chunk that one writes. */
bool races_none(struct forms *f);

/* sources.c: the operands of each write. */
struct flow {
	isl_union_map *see;    /* read -> the write that it sees, or the initial chunk */
	isl_union_map *first;  /* write -> the write or initial chunk from which it takes a value */
	isl_union_map *second; /* ... with the value that it adds; reductions only */
	isl_union_map *last;   /* promised chunk ("f<clause>") -> write or initial chunk; of a
				  forms.part, every chunk of buffer 0 ("f0") */
	isl_union_map *asked;  /* promised chunk -> contributions */
};
bool flow_make(struct forms *f, const struct pairs *p, struct flow *to);
void flow_free(struct flow *w);

/** ends_after.c: whether each rank ends after the ranks have begun that `asked` maps to it, which is taken. */
bool ends_after(struct forms *f, const struct pairs *p, isl_map *asked);

/* The contents of write k: ranks lo .. lo + n - 1 modulo N, each with chunk `index` of buffer; or a
 * sum of that chunk for sums.c. */
struct holding {
	bool writes, sum;
	bool copied; /* it is a copy with known contents: copies_hold */
	uint32_t buffer;
	isl_pw_aff *lo, *n, *index;
	const char *text;
};
/* constant + wide * N + the terms, each times its factor. */
#define TERMS 8u
struct term_sum {
	bool around; /* modulo N */
	int64_t constant, wide,
		block; /* constant + wide * N ..., + block * N outside of the modulo */
	int64_t factor[TERMS];
};

/* A term in words: a name, with value `start` + the term. */
struct term_name {
	const char *name;
	int64_t start;
};

/** words.c: "after iteration s of line 9, data[(rank - s - 1) % N] holds ranks rank-s-1..rank" */
const char *words_holding(struct forms *f, const struct form *o, const struct term_name *names,
			  uint32_t n, const struct term_sum *lo, const struct term_sum *count);

const char *words_copy(struct forms *f, const struct form *o);
/** "each sum of line 9 goes into one other sum, up to one of every rank" */
const char *words_sum(struct forms *f, const struct form *o);

/** guess.c: guesses the contents of writes; to[nops] begins as 0. `sums`: operations that make sums
 *  are left to sums.c. False: nothing simple fits. */
bool guess_make(struct forms *f, const struct flow *w, bool sums, struct holding *to);
/** sums.c: write -> contributions, for sums that are no operand of another sum. NULL: f->why. */
isl_union_map *sums_hold(struct forms *f, const struct flow *w, const struct holding *v);
/** sums.c: write -> contributions, for copies of initial chunks; marks these in v. */
isl_union_map *copies_hold(struct forms *f, const struct flow *w, struct holding *v);
/** values.c: proves that the guess is an invariant. `sums`: known contents of some writes, or
 *  NULL. */
bool values_proved(struct forms *f, const struct flow *w, const struct holding *v,
		   const isl_union_map *sums);
/** values.c: whether the proved guess gives the values of the contract. */
bool values_as_asked(struct forms *f, const struct flow *w, const struct holding *v,
		     const isl_union_map *sums);
/** values.c: the contents of the chunks of flow.last at the end. */
isl_union_map *values_ends(struct forms *f, const struct flow *w, const struct holding *v,
			   const isl_union_map *sums);

/* affine_proof.c: a complete proof. */
struct affine_proof {
	isl_union_map *sums; /* of sums.c; or NULL */
	struct pairs pairs;
	struct level_list levels;
	struct flow flow;
	struct holding *holdings;
};
/** Makes a proof. False: f->why. In both cases *p must be freed, before f. */
bool affine_proof_make(struct forms *f, uint32_t slots, struct affine_proof *p);
void affine_proof_free(const struct forms *f, struct affine_proof *p);
/** Whether the switches of in->schedule's topology join all ranks for every N; `any`: and for any values of
 *  the schedule's parameters. Out: `proved`, or `why`. */
struct every affine_joined(struct ctx *c, const struct instance *in, bool any,
			   struct every_work *work);
/** Proves a schedule for every N >= `least` and every root. Returns as every_prove, but without
 *  `of`. */
struct every affine_prove(struct ctx *c, const struct instance *in, uint32_t least,
			  bool certificate, struct every_work *work);

#endif
