/*
 * What the forms say of one another, as relations between their points.
 *
 * Operation k has up to three families of points, told apart by the names of their spaces:
 * "x<k>" reads what is sent or copied, "y<k>" reads what is added to, "w<k>" writes. Buffer
 * b's chunks are "b<b>"(rank, trips of the loops around its declaration, chunk). An event, a
 * message's end, is a point of its operation with chunk 0.
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

/* A point and what it is mapped to, for one N and root; `n` numbers in all. */
typedef void (*point_fn)(const int64_t *v, uint32_t n, void *arg);

/** Calls `fn` for every element of a map, with N and the root fixed. */
void each_point(struct forms *f, isl_map *m, int64_t nranks, int64_t root, point_fn fn, void *arg);

/** A name such as "w3". */
isl_id *relation_name(struct forms *f, char letter, uint32_t k);

/** points -> chunk of an operand, for every chunk of the operation. */
isl_map *relation_access(struct forms *f, const struct form *o, const struct chunks *c);
/** points -> time: places from outside to inside, `wave` where that counts. A clock (or
 *  NULL) goes in front of entry `at`. */
isl_map *relation_time(struct forms *f, const struct form *o, uint32_t wave, isl_pw_aff *clock,
		       uint32_t at);
/** An entry of a time. */
isl_pw_aff *relation_entry(struct forms *f, const struct form *o, uint32_t wave, uint32_t i);
/** Numbers that a time has, without a clock. */
uint32_t relation_time_dims(const struct forms *f);
/** Pairs of times of which the first is not before the second. */
isl_map *relation_not_before(isl_ctx *isl, isl_map *time);

/** pairing.c: pairs sends with receives. False: f->why. */
bool order_match(struct forms *f, struct pairs *to);
bool order_is_message(const struct form *o);
/** Whether a relation of events is empty once only pairs whose times do not grow are kept. */
bool order_grows(struct forms *f, isl_map *m, isl_map *from, isl_map *to);
/** receive -> a later send of its FIFO; NULL: none. */
isl_map *order_frees(struct forms *f, const struct pair *p, const struct form *later);
/* A number of the rank's own in front of an entry of places. */
struct clock {
	uint32_t at;	 /* of these places alone: whose first entry is that; NONE: of all */
	uint32_t last;	 /* ... or one up to that */
	uint32_t before; /* the entry */
	bool added;	 /* ... to which it is added, in its place: of 0 slots */
	isl_pw_aff *clock;
};

struct clocks {
	struct clock *v;
	uint32_t n, cap;
};

/** progress.c: that every wait ends, with so many slots or more. *to: the clocks that were
 *  needed. */
bool progress_made(struct forms *f, const struct pairs *p, uint32_t slots, struct clocks *to);
void clocks_free(struct clocks *c);
/** races.c: that no two operations of a step or a par touch a chunk that one writes. */
bool races_none(struct forms *f);

/* sources.c: for each write, what it is made of. */
struct flow {
	isl_union_map *see;    /* read -> the write that it sees, or the initial chunk */
	isl_union_map *first;  /* write -> the write or initial chunk whose value it takes */
	isl_union_map *second; /* ... that it adds to that; reductions only */
	isl_union_map *last;   /* promised chunk ("f<clause>") -> write or initial chunk; of a
				  forms.part, every chunk of buffer 0 ("f0") */
	isl_union_map *asked;  /* promised chunk -> contributions */
};
bool flow_make(struct forms *f, const struct pairs *p, struct flow *to);
void flow_free(struct flow *w);

/* What write k holds: ranks lo .. lo + n - 1, around, each with chunk `index` of buffer; or some
 * sum of that chunk, of which sums.c shows what becomes. */
struct holding {
	bool writes, sum;
	bool copied; /* it is a copy of what is known: copies_hold */
	uint32_t buffer;
	isl_pw_aff *lo, *n, *index;
	const char *text;
};
/* A sum of terms, modulo N or not. */
#define TERMS 8u
struct term_sum {
	bool around;
	int64_t constant, wide,
		block; /* constant + wide * N ..., + block * N outside of the modulo */
	int64_t factor[TERMS];
};

/* What a term is in words: a name, which is `start` more than the term. */
struct term_name {
	const char *name;
	int64_t start;
};

/** words.c: "after iteration s of line 9, data[(rank - s - 1) % N] holds ranks rank-s-1..rank" */
const char *words_holding(struct forms *f, const struct form *o, const struct term_name *names,
			  uint32_t n, const struct term_sum *lo, const struct term_sum *count);

const char *words_copy(struct forms *f, const struct form *o);
/** Of a sum: that it goes on. */
const char *words_sum(struct forms *f, const struct form *o);

/** guess.c: an array of nops, all 0. `sums`: what makes sums is left to sums.c. False: nothing
 *  simple fits. */
bool guess_make(struct forms *f, const struct flow *w, bool sums, struct holding *to);
/** sums.c: write -> contributions, of those sums that no other takes. NULL: f->why. */
isl_union_map *sums_hold(struct forms *f, const struct flow *w, const struct holding *v);
/** ... of copies of what is given, which are marked. */
isl_union_map *copies_hold(struct forms *f, const struct flow *w, struct holding *v);
/** values.c: that the guess is an invariant. `sums`: what some writes hold, or NULL. */
bool values_proved(struct forms *f, const struct flow *w, const struct holding *v,
		   const isl_union_map *sums);
/** ... which was proved: that it gives what the contract asks for. */
bool values_as_asked(struct forms *f, const struct flow *w, const struct holding *v,
		     const isl_union_map *sums);
/** ... what the chunks of flow.last hold at the end. */
isl_union_map *values_ends(struct forms *f, const struct flow *w, const struct holding *v,
			   const isl_union_map *sums);

/* affine_proof.c: all of it. */
struct affine_proof {
	isl_union_map *sums; /* of sums.c; or NULL */
	struct pairs pairs;
	struct clocks clocks;
	struct flow flow;
	struct holding *holdings;
};
/** False: f->why. *p is to be freed in both cases, before f. */
bool affine_proof_make(struct forms *f, uint32_t slots, struct affine_proof *p);
void affine_proof_free(const struct forms *f, struct affine_proof *p);
/** A schedule for every N >= `least` and every root, as every_prove, but for the words of `of`. */
struct every affine_prove(struct ctx *c, const struct instance *in, uint32_t least,
			  bool certificate, struct every_work *work);

#endif
