/*
 * Schedules with distances that double: recursive doubling, Bruck, binomial trees, for every N.
 *
 * What forms.h cannot say (1 << k, rank ^ d, r & ~(d - 1)) automata can (dfa.h). The variable k
 * of a loop with such numbers is kept as D = 2^k, an ordinary number.
 *
 *   powers_values.c       an expression -> its value, as a sum of tracks and of functions of them
 *   powers_numbers.c      arithmetic of such values
 *   powers_induction.c    fns that call themselves: of a logarithm, and the reversal of bits
 *   powers_instance.c     one schedule for all N: possible values, its buffers, its contract
 *   powers_chunks.c       the chunks that a text names
 *   powers_walk.c         the text -> items: operations of all ranks at once, and loops over k
 *   powers_calls.c        procs that it calls
 *   powers_trees.c        items of trees, which come level by level, as such loops
 *   powers_order.c        items -> moves, one after another, all ranks at a time: a complete run
 *   powers_guess.c        what chunks hold when a trip begins: read off small N
 *   powers_learn.c        an automaton, from its short words
 *   powers_turn.c         ... and of all roots, or of ranks that have other numbers in a tree
 *   powers_certificate.c  all of it as JSON
 *   powers_proof.c        the guesses hold for every N, and the end fulfils the contract
 *
 * Blocks of a par are done one after another, each with separate FIFOs, once it is shown that
 * they do not race. For a barrier, the set of ranks known to have begun is one more buffer of
 * each rank. Messages carry it, and a contribution may come twice in it. Large numbers, such as a
 * mask of 32 bits, give ranks a bound: then the claim is of N up to LIMIT_RANKS.
 *
 * A circle of files: the value of an expression may be that of a fn that calls itself
 * (powers_induction.c), and a step of its induction is the value of an expression
 * (powers_values.c).
 */
#ifndef CCS_COMPILER_EVERY_BITS_POWERS_H
#define CCS_COMPILER_EVERY_BITS_POWERS_H

#include "compiler/every/bits/dfa.h"
#include "compiler/every/every.h"

/* The tracks of a schedule's automata. */
enum {
	TRACK_N,
	TRACK_D,    /* the power that a loop counts by */
	TRACK_ROOT, /* where the root is chosen at run time */
	TRACK_RANK,
	TRACK_J,      /* a trip of a loop over chunks */
	TRACK_CHUNK,  /* a cell: chunk of the rank */
	TRACK_FROM,   /* where its value comes from: a rank */
	TRACK_SOURCE, /* ... and a chunk there */
	TRACK_Q,      /* a contribution: the rank */
	TRACK_INDEX,  /* ... and its chunk */
	TRACK_OFFSET, /* a message's chunk */
	TRACK_VALUE,  /* of functions of tracks */
	TRACK_TEMP    /* from here on: numbers while a formula is made */
};
#define TEMPS (TRACKS - TRACK_TEMP)
#define BIT(track) (1u << (track))

#define PARTS 4u

/* factor * the number v of which graph(tracks, v) holds, at most one */
struct value_part {
	int64_t factor;
	const struct dfa *graph;
};

enum value_kind {
	VALUE_NUMBER,
	VALUE_LOGARITHM, /* log2(the number) + shift; the number is a power of two */
	VALUE_QUOTIENT,	 /* the number / by, where nothing more was asked yet */
	VALUE_REVERSED	 /* the number's bits reversed, of those below the power of two `by` */
};

struct value {
	enum value_kind kind;
	struct linear sum;
	struct value_part part[PARTS];
	uint32_t nparts;
	int64_t shift;
	const struct value *by;
	const struct value *under, *step; /* reversed: divided by that; plus by / step, where the
					     number is below step: both powers_induction.c */
};

/* A run of chunks of a buffer. */
struct value_chunks {
	uint32_t buffer;
	struct value lo, n;
	const struct value *step; /* or, in reversed numbers: lo, lo + step ... below n */
};

/* The meaning of a name. */
struct meaning {
	bool known, view;
	struct value value;
	struct value_chunks of;
	struct value inner; /* a view of blocks: the chunks of one */
	bool blocks;
};

/* Whether a buffer's chunks go by their numbers or by these reversed. */
enum names { NAMES_ANY, NAMES_PLAIN, NAMES_REVERSED };

struct power_buffer {
	const struct buffer_def *def;
	struct value count;
	enum names names;
};

enum act_kind { ITEM_SEND, ITEM_RECV, ITEM_LOCAL, ITEM_LOOP };

/* An operation of all ranks of `domain`, or a loop. */
struct act {
	enum act_kind kind;
	const struct stmt *stmt, *step; /* step: that it is part of, or NULL */
	uint32_t wave;			/* ... each time that the text comes there; 0: none */
	const struct dfa *domain;	/* N, D, root, rank */
	bool reduces;
	bool joins;    /* reduces, and what both sides have counts once: who has begun */
	uint64_t fifo; /* messages: the path of blocks of pars */
	int64_t channel;
	bool stepped;		  /* ... of a run in reversed numbers */
	uint32_t buffer, source;  /* written, and (by a local act) read; a send's: source */
	const struct dfa *chunks; /* messages: N, D, root, rank, from (the peer), offset, chunk */
	const struct dfa *local;  /* local: N, D, root, rank = from, chunk, source */
	bool up;		  /* loops: D doubles, else it is halved */
	const struct dfa *number; /* ... over the levels of a tree: N, root, rank -> value, the
				     rank's number in it; or NULL */
	const struct dfa *trips;  /* loops: N, root?, D of all trips */
	const struct dfa *first;  /* ... of the head of the first trip, and after the last */
	const struct dfa *last;
	struct act *body;
	uint32_t nbody, capbody;
	uint32_t depth; /* buffers from here on are its own */
};

/* The value of each cell of a buffer becomes that of another, or is added to it. */
enum move_kind { MOVE_KEEP, MOVE_CELLS, MOVE_LOOP };
struct move {
	enum move_kind kind;
	const struct act *item;	 /* a receive or a local act; a loop */
	uint32_t buffer, source; /* KEEP: source as it is now is slot `slot` */
	uint32_t slot;
	const struct dfa *cells; /* N, D, root, rank, chunk -> from, source */
	struct moves *body;
};
struct moves {
	struct move *v;
	uint32_t n, cap;
};

/* A fn of a logarithm that calls itself: powers_induction.c. */
struct induction {
	const struct symbol *fn;
	const struct dfa *sign[2]; /* D, value: the fn's value where it is positive; negative */
	bool proved;
};

struct power_forms {
	struct dfas d;
	struct arena *arena;
	struct sources *sources;
	const struct instance *in;
	uint32_t least; /* N */
	bool root;
	const struct dfa *context; /* N, root and rank that are possible */
	unsigned some;		   /* not all of them are: BY_WHERE, BY_TOPOLOGY */
	struct meaning *meaning;   /* of symbols, by id */
	struct power_buffer *buffers;
	uint32_t nbuffers, capbuffers, ncontract;
	uint32_t begun;	  /* where the contract asks which ranks have begun: virtual buffer: the set
			   of ranks known to have begun; else NONE */
	bool empty, full; /* ... there are messages without chunks; with chunks */
	const struct dfa *links; /* N, root, rank, from: pairs; NULL: all */
	uint32_t slots;		 /* of moves */
	bool reversed;		 /* some chunks are numbered with their bits reversed */
	bool asks_reversed;	 /* ... which the text needs */
	bool bounded;		 /* N is at most LIMIT_RANKS */
	bool asks_bound;	 /* ... which the text needs */
	struct value *levels;	 /* `let`s that may give a rank's level in a tree */
	uint32_t nlevels, caplevels;
	uint32_t waves;	 /* of steps */
	bool rendezvous; /* there are 0 slots: a send waits for its receive */
	bool trees;	 /* some loops are over the levels of a tree */
	bool pars;	 /* there is a par, or a channel */
	struct induction *inductions;
	uint32_t ninductions, capinductions;
	const char *why;
	uint32_t line;
};

/* A place in the text. */
struct power_walk {
	struct power_forms *f;
	const struct dfa *domain;    /* N, D, root, rank, J that come here */
	struct value rank, n, first; /* of the group; its first rank */
	int64_t stride;		     /* ... from one of its ranks to the next */
	uint32_t calls, procs;
	uint64_t fifo; /* of messages here, as in an act */
	int64_t channel;
	bool in_loop, in_chunks, in_step;
	bool to_text;	/* the schedule's own text, no contract */
	struct act *to; /* a loop or the whole text */
	const struct dfa *link_pairs;
};

/* ---- powers_numbers.c ---- */
/** Keeps the first reason why nothing can be said; returns false. */
bool power_fail(struct power_forms *f, struct span at, const char *why);
const struct dfa *power_and(struct power_forms *f, const struct dfa *a, const struct dfa *b);
const struct dfa *power_less(struct power_forms *f, const struct dfa *a, const struct dfa *b);
const struct dfa *power_or(struct power_forms *f, const struct dfa *a, const struct dfa *b);
struct value value_constant(int64_t n);
struct value value_track(uint32_t track);
/** Whether a value is one number. */
bool value_number(const struct value *v, int64_t *n);
/** Whether a value is a power of two on the domain. */
bool value_is_power(struct power_walk *w, const struct value *v);
/** The tuples where a op b, a comparison, holds; not only those of the domain. */
const struct dfa *value_compare(struct power_forms *f, enum expr_op op, const struct value *a,
				const struct value *b);
/** Where the number of a track is the value. */
const struct dfa *value_is_track(struct power_forms *f, const struct value *v, uint32_t track);
/** Whether v op n on all of the domain. */
bool value_always(struct power_walk *w, enum expr_op op, const struct value *v, int64_t n);
/** A number as what `graph` says of TRACK_VALUE; it must have one on all of the domain. */
bool value_of_graph(struct power_walk *w, const struct dfa *graph, struct span at,
		    struct value *to);
/** A sum of many functions becomes one. */
bool value_packed(struct power_walk *w, struct value *v, struct span at);
/** a + factor * b; value_plus: 0 where that fails. */
bool value_sum(struct power_walk *w, const struct value *a, int64_t factor, const struct value *b,
	       struct span at, struct value *to);
struct value value_plus(struct power_walk *w, const struct value *a, int64_t factor,
			const struct value *b, struct span at);
bool value_scaled(struct power_walk *w, const struct value *a, int64_t factor, struct span at,
		  struct value *to);
bool value_complement(struct power_walk *w, const struct value *v, struct span at,
		      struct value *to);
bool value_and(struct power_walk *w, const struct value *a, const struct value *b, struct span at,
	       struct value *to);
bool value_remainder(struct power_walk *w, const struct value *x, const struct value *m,
		     struct span at, struct value *to);
bool value_divide(struct power_walk *w, const struct value *x, const struct value *m,
		  struct span at, struct value *to);
bool value_product(struct power_walk *w, const struct value *a, const struct value *b,
		   struct span at, struct value *to);
/** 2^v, of a number or a logarithm. */
bool value_power_of(struct power_walk *w, const struct value *v, struct span at, struct value *to);
/** The logarithm of x > 0, rounded down or up. */
bool value_logarithm(struct power_walk *w, const struct value *x, bool up, struct span at,
		     struct value *to);

/** A relation in which a track is v; the track goes. */
const struct dfa *value_put(struct power_forms *f, const struct dfa *a, const struct value *v,
			    uint32_t track);
/** pos - neg, with graphs given as for value_of_graph. */
bool value_of_graphs(struct power_walk *w, const struct dfa *pos, const struct dfa *neg,
		     struct span at, struct value *to);
/** Whether no tuple of the domain is outside of `good`; else why. */
bool power_always(struct power_walk *w, const struct dfa *good, struct span at, const char *why);
/** A relation with some tracks renamed: pairs of (from, to), ended by TRACKS. */
const struct dfa *power_renamed(struct power_forms *f, const struct dfa *a, const uint8_t *pairs);

/* ---- powers_induction.c ---- */
/** Whether an expression calls a fn. */
bool power_calls(const struct expr *e, const struct symbol *fn);
/** The value of fn(v), where v is a logarithm and fn's text calls fn. */
bool power_inductive(struct power_walk *w, const struct symbol *fn, const struct value *v,
		     struct span at, struct value *to);
/** Whether fn(x, n) is x's lowest n bits, reversed: n == 0 ? 0 : (x & 1) << (n - 1) | fn(x >> 1, n - 1) */
bool power_is_reversal(const struct symbol *fn);
bool power_reversed(struct power_walk *w, const struct value *x, const struct value *n,
		    struct span at, struct value *to);
/** a op b, of which one is reversed. */
bool power_reversed_binary(struct power_walk *w, enum expr_op op, const struct value *a,
			   const struct value *b, struct span at, struct value *to);
/** A chunk of such a number within `total`; its buffer is not set. */
bool power_reversed_one(struct power_walk *w, const struct value *v, const struct value *total,
			struct span at, struct value_chunks *to);
/** The run lo .. hi of such numbers within `total`; its buffer is not set. */
bool power_reversed_run(struct power_walk *w, const struct value *lo, const struct value *hi,
			const struct value *total, struct span at, struct value_chunks *to);

/* ---- powers_learn.c ---- */
/* Words: letters of one bit for each track, the first letter in the highest place. */
struct words {
	uint64_t *v;
	uint32_t n, cap;
	uint32_t length; /* not 0: complete only for words with all further letters 0 */
};
/** A tuple's word. */
uint64_t word_of(uint32_t mask, uint32_t length, const uint64_t number[TRACKS]);
/** The least automaton that accepts of the words of `length` letters exactly these, as far as they
 *  determine it; NULL: none. Their order is lost. */
const struct dfa *learned(struct power_forms *f, struct words *w, uint32_t length, uint32_t mask);

/* ---- powers_values.c ---- */
bool value_of(struct power_walk *w, const struct expr *e, struct value *to);
/** The tuples of the domain where a condition holds. */
bool value_where(struct power_walk *w, const struct expr *e, const struct dfa **to);

/* ---- powers_chunks.c ---- */
/** The same of a comparison. */
bool power_ordered(struct power_walk *w, const struct value *a, enum expr_op op,
		   const struct value *b, struct span at, const char *why);
/** An expression that is a number, no logarithm and no quotient. */
bool power_number(struct power_walk *w, const struct expr *e, struct value *to);
void power_bind(struct power_walk *w, const struct symbol *s, const struct value *v);
/** The chunks that a ref means. */
bool power_chunks(struct power_walk *w, const struct ref *r, struct value_chunks *to);
/** A new buffer, and its name bound to all of it. */
bool power_add_buffer(struct power_walk *w, const struct buffer_def *d);

/** Binds d's name to chunks, one for each of its parts. */
bool power_cut(struct power_walk *w, const struct value_chunks *c, const struct buffer_def *d,
	       struct span at);

/* ---- powers_walk.c ---- */
/** A list of statements, as items behind those of w->to. */
bool power_list(struct power_walk *w, const struct stmt *s);

/* ---- powers_calls.c ---- */
/** Binds a callee's names: its text is to be walked next. */
bool power_call(struct power_walk *w, const struct stmt *s);

/* ---- powers_trees.c ---- */
/** Items of trees become loops over the levels. False: f->why. */
bool power_trees(struct power_forms *f, const struct act *all, struct act *to);

/* ---- powers_instance.c ---- */
/** The text as items, in *to's body. */
bool power_items(struct power_forms *f, struct act *to);
/** N, rank, chunk, contribution: the contract's demand on each promised cell. */
struct promise {
	uint32_t buffer;
	const struct dfa *cells, *asked;
	bool more; /* more than is asked is as good */
};
bool power_promise(struct power_forms *f, const struct ensures *e, struct promise *to);

/* ---- powers_order.c ---- */
bool power_moves(struct power_forms *f, const struct act *of, struct moves *to);
/** A relation at twice the D. */
const struct dfa *power_at_twice(struct power_forms *f, const struct dfa *a);
/** The pairs of a message's ends, as its sender sees them: N, D, root, rank, from. */
const struct dfa *power_pairs(struct power_forms *f, const struct act *message);
/** A relation of one end of messages as the other end sees it. */
const struct dfa *power_other_end(struct power_forms *f, const struct dfa *a);

/* ---- powers_guess.c ---- */
/** The contents of buffers at the heads of a loop's trips, for each loop: guesses. */
struct heads {
	const struct move *loop;
	const struct dfa **holds; /* by buffer: N, D, root, rank, chunk, Q, index */
};
struct all_heads {
	struct heads *v;
	uint32_t n, cap;
};
#define POWER_LENGTH 5u	     /* letters of the words that are tried: numbers below 32 */
#define POWER_LENGTH_MOST 6u /* ... and, where these do not suffice, below 64 */
#define POWER_LENGTH_LIVE 8u /* ... and up to 128, where only chunks count that are still read */
/* How a guess is made. */
struct guessing {
	uint32_t length; /* of words: N below 2^length, and up to 64 or, of the living, 128 */
	bool turned;	 /* for root 0, as if ranks only counted from the root */
	bool live;	 /* of chunks that are read again before they are written */
};
/** Runs every such N, and learns the contents at loops' heads. False: they follow no visible
 *  pattern. */
bool power_guess(struct power_forms *f, const struct moves *m, struct guessing how,
		 struct all_heads *to);
/** N, root, rank, chunk: cells of buffer b that moves write. */
const struct dfa *power_written(struct power_forms *f, const struct moves *body, uint32_t b);

/* ---- powers_turn.c ---- */
/** The contents of buffer b for all roots, where ranks only count from the root; `a`: for root
 *  0. */
const struct dfa *power_turned(struct power_forms *f, const struct dfa *a, uint32_t b);
/** The values that ranks hold, given by their numbers in a tree: N, root, rank -> value. */
const struct dfa *power_numbered(struct power_forms *f, const struct dfa *a,
				 const struct dfa *number);

/* ---- powers_certificate.c ---- */
/** JSON, to be freed; NULL: there are channels, which it has no words for. */
char *power_certificate(struct power_forms *f, const struct moves *m,
			const struct all_heads *heads);

/* ---- powers_proof.c ---- */
/** The verdict, as every_prove, for every N >= least. */
struct every powers_prove(struct ctx *c, const struct instance *in, uint32_t least,
			  bool certificate, struct every_work *work);

#endif
