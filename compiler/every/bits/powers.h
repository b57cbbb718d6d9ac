/*
 * Proofs for every N of schedules with distances that double: recursive doubling, Bruck, binomial
 * trees.
 *
 * Their indices, such as 1 << k, rank ^ d and r & ~(d - 1), are not affine, but automata can
 * express them (dfa.h). The variable k of a loop is replaced by D = 2^k, an ordinary number: the
 * messages of `for k in 0..clog2(N) { ... send a to rank ^ (1 << k) ... }` are the tuples (N, D,
 * rank, from) with from = rank ^ D, where D is a power of two below N. In: a schedule. Out: a proof
 * for every N and root, or a reason why there is none. The passes:
 *
 *   powers_values.c       an expression -> its value, as a sum of tracks and of functions of them
 *   powers_numbers.c      arithmetic of such values
 *   powers_induction.c    fns that call themselves: of a logarithm, and the reversal of bits
 *   powers_instance.c     one schedule for all N: possible values, its buffers, its contract
 *   powers_chunks.c       references -> chunks
 *   powers_walk.c         the text -> items: operations of all ranks at once, and loops over k
 *   powers_trips.c        ... the messages of all trips of a loop at once
 *   powers_calls.c        calls of procs
 *   powers_sink.c       messages before and after a loop -> into its trips
 *   powers_trees.c        items of trees -> loops over the levels of the tree
 *   powers_order.c        items -> moves: one run, in which each move is of all ranks at once
 *   powers_guess.c        guesses the contents of chunks at the begin of a trip, from small N
 *   powers_learn.c        ... learns an automaton from its short words
 *   powers_turn.c         ... and extends it to all roots, or from numbers in a tree to ranks
 *   powers_proof.c        proves the guesses for every N, and the contract
 *   powers_certificate.c  writes the proof as JSON
 *
 * Blocks of a par are shown not to race, and then run one after another, with separate FIFOs. For a
 * barrier, each rank has one more, virtual buffer: the set of ranks known to have begun. Messages
 * carry it, and in it a contribution may come twice. With large numbers, such as a mask of 32 bits,
 * the claim is for N up to LIMIT_RANKS only.
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
	TRACK_D,    /* the power of two of a loop's variable */
	TRACK_ROOT, /* if the schedule runs with any root */
	TRACK_RANK,
	TRACK_J,      /* a trip of a loop over chunks */
	TRACK_CHUNK,  /* a cell: chunk of the rank */
	TRACK_FROM,   /* the origin of its value: a rank */
	TRACK_SOURCE, /* ... and a chunk there */
	TRACK_Q,      /* a contribution: the rank */
	TRACK_INDEX,  /* ... and its chunk */
	TRACK_OFFSET, /* a message's chunk */
	TRACK_VALUE,  /* of functions of tracks */
	TRACK_TEMP    /* the first of the temporary tracks of formulas */
};
#define BIT(track) (1u << (track))

#define PARTS 4u

/* factor * v, where v is the number (at most one) for which graph(tracks, v) holds */
struct value_part {
	int64_t factor;
	const struct dfa *graph;
};

enum value_kind {
	VALUE_NUMBER,
	VALUE_LOGARITHM, /* log2(the number) + shift; the number is a power of two */
	VALUE_QUOTIENT,	 /* the number / by; not evaluated yet */
	VALUE_MIRRORED,	 /* log2(by) - 1 - log2(the number) + shift; both are powers of two */
	VALUE_REVERSED /* the number's bits reversed, among the bits below the power of two `by` */
};

struct value {
	enum value_kind kind;
	struct linear sum;
	struct value_part part[PARTS];
	uint32_t nparts;
	int64_t shift;
	const struct value *by;
	/* Of a reversed number (powers_induction.c), or NULL: it is divided by `under`; by / step
	 * is added to it, where the number is below `step`. */
	const struct value *under, *step;
};

/* A run of chunks of a buffer. */
struct value_chunks {
	uint32_t buffer;
	struct value lo, n;
	const struct value *step; /* in reversed numbers: lo, lo + step ... below n; or NULL */
};

/* The meaning of a name. */
struct meaning {
	bool known, view;
	struct value value;
	struct value_chunks of;
	struct value inner; /* a view of blocks: the chunks of a block */
	bool blocks;
};

/* Whether a buffer's chunks are named by their numbers or by their numbers reversed. */
enum names { NAMES_ANY, NAMES_PLAIN, NAMES_REVERSED };

struct power_buffer {
	const struct buffer_def *def;
	struct value count;
	enum names names;
};

enum act_kind { ITEM_SEND, ITEM_RECV, ITEM_LOCAL, ITEM_LOOP };

/* An item: an operation of all ranks of `domain`, or a loop. */
struct act {
	enum act_kind kind;
	const struct stmt *stmt, *step; /* step: the step that contains it, or NULL */
	uint32_t wave;			/* ... the number of this run of the step; 0: none */
	const struct dfa *domain;	/* N, D, root, rank */
	bool reduces;
	bool joins;    /* a union, not a sum: for sets of begun ranks */
	uint64_t fifo; /* messages: the path of blocks of pars */
	int64_t channel;
	uint32_t trips_of; /* all trips of this loop at once, with its other items; 0: none */
	const struct dfa *in_trip; /* ... its domain with the trip: N, D, root, rank, J */
	bool stepped;		   /* ... of a run in reversed numbers */
	uint32_t buffer, source;  /* the buffer written; the buffer read by a local act or a send */
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
	uint32_t depth; /* buffers from this number on are local to it */
};

/* A move: cells of a buffer get, or add, the values of other cells. */
enum move_kind { MOVE_KEEP, MOVE_CELLS, MOVE_LOOP };
struct move {
	enum move_kind kind;
	const struct act *item;	 /* a receive or a local act; a loop */
	uint32_t buffer, source; /* KEEP: stores the current contents of `source` in slot `slot` */
	uint32_t slot;
	const struct dfa *cells; /* N, D, root, rank, chunk -> from, source */
	struct moves *body;
};
struct moves {
	struct move *v;
	uint32_t n, cap;
};

/* A recursive fn of a logarithm: powers_induction.c. */
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
	unsigned some;		   /* some N or roots are excluded: BY_WHERE, BY_TOPOLOGY */
	struct meaning *meaning;   /* of symbols, by id */
	struct power_buffer *buffers;
	uint32_t nbuffers, capbuffers, ncontract;
	uint32_t begun;		 /* for a contract on begun ranks: the virtual buffer, the set of
			   ranks known to have begun; else NONE */
	bool empty, full;	 /* ... there are messages without chunks; with chunks */
	const struct dfa *links; /* N, root, rank, from: pairs; NULL: all */
	uint32_t slots;		 /* of moves */
	bool reversed;		 /* some chunks are numbered with their bits reversed */
	bool asks_reversed;	 /* the text needs reversed numbers */
	bool bounded;		 /* N is at most LIMIT_RANKS */
	bool asks_bound;	 /* the text needs this bound */
	struct value *levels;	 /* `let`s, candidates for a rank's level in a tree */
	uint32_t nlevels, caplevels;
	uint32_t waves;	 /* of steps */
	bool rendezvous; /* there are 0 slots: a send waits for its receive */
	bool joined;	 /* the topology's switches join all ranks: its links are not looked at */
	bool trees;	 /* some loops are over the levels of a tree */
	uint32_t merged; /* loops with messages, of which all trips run at once */
	bool pars;	 /* the text has a par, or a channel */
	struct induction *inductions;
	uint32_t ninductions, capinductions;
	const char *why;
	uint32_t line;
	uint32_t doubt; /* as in struct every */
};

/* A place in the text. */
struct power_walk {
	struct power_forms *f;
	const struct dfa *domain;    /* N, D, root, rank, J that reach this place */
	struct value rank, n, first; /* of the group; its first rank */
	int64_t stride;		     /* ... from one of its ranks to the next */
	uint32_t calls, procs;
	uint64_t fifo; /* of messages here, as in an act */
	int64_t channel;
	bool in_loop, in_chunks, in_step;
	bool to_text;	/* the schedule's text, not the contract's */
	struct act *to; /* a loop or the whole text */
	const struct dfa *link_pairs;
};

/* ---- powers_trips.c ---- */
/** Makes the messages of a trip, from item `first` on, those of all trips. False: f->why. */
bool power_trips(struct power_walk *w, const struct stmt *s, uint32_t first);

/* ---- powers_numbers.c ---- */
/** Notes why there is no proof, if it is the first reason; returns false. */
bool power_fail(struct power_forms *f, struct span at, const char *why);
const struct dfa *power_and(struct power_forms *f, const struct dfa *a, const struct dfa *b);
const struct dfa *power_less(struct power_forms *f, const struct dfa *a, const struct dfa *b);
const struct dfa *power_or(struct power_forms *f, const struct dfa *a, const struct dfa *b);
struct value value_constant(int64_t n);
struct value value_track(uint32_t track);
/** Whether a value is constant. */
bool value_number(const struct value *v, int64_t *n);
/** Whether a value is a power of two on the domain. */
bool value_is_power(struct power_walk *w, const struct value *v);
/** The tuples, inside and outside the domain, where the comparison a op b holds. */
const struct dfa *value_compare(struct power_forms *f, enum expr_op op, const struct value *a,
				const struct value *b);
/** The tuples where the number of a track is the value. */
const struct dfa *value_is_track(struct power_forms *f, const struct value *v, uint32_t track);
/** Whether v op n holds on all of the domain. */
bool value_always(struct power_walk *w, enum expr_op op, const struct value *v, int64_t n);
/** The value with the graph `graph` (of TRACK_VALUE); it must exist on all of the domain. */
bool value_of_graph(struct power_walk *w, const struct dfa *graph, struct span at,
		    struct value *to);
/** Replaces a sum of many functions by one function. */
bool value_packed(struct power_walk *w, struct value *v, struct span at);
/** a + factor * b; value_plus: 0 if that fails. */
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

/** Substitutes v for a track of a relation; removes the track. */
const struct dfa *value_put(struct power_forms *f, const struct dfa *a, const struct value *v,
			    uint32_t track);
/** pos - neg, with graphs given as for value_of_graph. */
bool value_of_graphs(struct power_walk *w, const struct dfa *pos, const struct dfa *neg,
		     struct span at, struct value *to);
/** Whether `good` holds on all of the domain; else fails with `why`. */
bool power_always(struct power_walk *w, const struct dfa *good, struct span at, const char *why);
/** A relation with some tracks renamed: pairs of (from, to), ended by TRACKS. */
const struct dfa *power_renamed(struct power_forms *f, const struct dfa *a, const uint8_t *pairs);

/* ---- powers_induction.c ---- */
/** Whether an expression calls a fn. */
bool power_calls(const struct expr *e, const struct symbol *fn);
/** The value of fn(v), where v is a logarithm and fn's text calls fn. */
bool power_inductive(struct power_walk *w, const struct symbol *fn, const struct value *v,
		     struct span at, struct value *to);
/** Whether fn(x, n) reverses the lowest n bits of x: n == 0 ? 0 : (x & 1) << (n - 1) | fn(x >> 1,
 *  n - 1) */
bool power_is_reversal(const struct symbol *fn);
bool power_reversed(struct power_walk *w, const struct value *x, const struct value *n,
		    struct span at, struct value *to);
/** a op b, where one operand is reversed. */
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
/** The least automaton that accepts exactly these words among those of `length` letters, as far as
 *  they determine it; NULL: none. Sorts the words. */
const struct dfa *learned(struct power_forms *f, struct words *w, uint32_t length, uint32_t mask);

/* ---- powers_values.c ---- */
bool value_of(struct power_walk *w, const struct expr *e, struct value *to);
/** The tuples of the domain where a condition holds. */
bool value_where(struct power_walk *w, const struct expr *e, const struct dfa **to);

/* ---- powers_chunks.c ---- */
/** power_always for a comparison. */
bool power_ordered(struct power_walk *w, const struct value *a, enum expr_op op,
		   const struct value *b, struct span at, const char *why);
/** Evaluates an expression that must be a number, not a logarithm or a quotient. */
bool power_number(struct power_walk *w, const struct expr *e, struct value *to);
void power_bind(struct power_walk *w, const struct symbol *s, const struct value *v);
/** The chunks of a reference. */
bool power_chunks(struct power_walk *w, const struct ref *r, struct value_chunks *to);
/** Adds a buffer, and binds its name to all of it. */
bool power_add_buffer(struct power_walk *w, const struct buffer_def *d);

/** Binds d's name to chunks, one for each of its parts. */
bool power_cut(struct power_walk *w, const struct value_chunks *c, const struct buffer_def *d,
	       struct span at);

/* ---- powers_walk.c ---- */
/** Appends the items of a list of statements to w->to. */
bool power_list(struct power_walk *w, const struct stmt *s);

/* ---- powers_calls.c ---- */
/** Binds a callee's names: its text is to be walked next. */
bool power_call(struct power_walk *w, const struct stmt *s);

/* ---- powers_sink.c ---- */
/** Moves messages before and after loops into the loops. False: none was moved. */
bool power_sink(struct power_forms *f, const struct act *all, struct act *to);

/* ---- powers_trees.c ---- */
/** The part of a message item with the given pairs of ends. */
struct act power_part(struct power_forms *f, const struct act *i, const struct dfa *pairs);
/** Turns items of trees into loops over the levels. False: f->why. */
bool power_trees(struct power_forms *f, const struct act *all, struct act *to);

/* ---- powers_instance.c ---- */
/** Makes the items of the text, as the body of *to. */
bool power_items(struct power_forms *f, struct act *to);
/** N, rank, chunk, contribution: the contract's demand on each promised cell. */
struct promise {
	uint32_t buffer;
	const struct dfa *cells, *asked;
	bool more; /* the cell may have more contributions than promised */
};
bool power_promise(struct power_forms *f, const struct ensures *e, struct promise *to);

/* ---- powers_order.c ---- */
bool power_moves(struct power_forms *f, const struct act *of, struct moves *to);
/** Replaces D by 2 D in a relation. */
const struct dfa *power_at_twice(struct power_forms *f, const struct dfa *a);
/** The pairs of a message's ends, as its sender sees them: N, D, root, rank, from. */
const struct dfa *power_pairs(struct power_forms *f, const struct act *message);
/** A relation of one end of messages from the view of the other end: exchanges rank and from. */
const struct dfa *power_other_end(struct power_forms *f, const struct dfa *a);

/* ---- powers_guess.c ---- */
/* The heads of a loop are the moments before each trip, and after the last. The contents of buffers
 * at the heads of each loop: guesses. */
struct heads {
	const struct move *loop;
	const struct dfa **holds; /* by buffer: N, D, root, rank, chunk, Q, index */
};
struct all_heads {
	struct heads *v;
	uint32_t n, cap;
};
#define POWER_LENGTH 5u	       /* length of the words that are tried first: numbers below 32 */
#define POWER_LENGTH_MOST 6u   /* ... if these do not suffice: below 64 */
#define POWER_LENGTH_LIVE 8u   /* ... with live chunks only: up to 128 */
#define POWER_LENGTH_DOUBT 10u /* of N up to EVERY_DOUBT */
/* How a guess is made. */
struct guessing {
	uint32_t length; /* of words: N below 2^length, and up to 64, or 128 if `live` */
	bool turned;	 /* only for root 0, assuming that ranks only count from the root */
	bool live;	 /* only chunks that are read again before they are written */
	const struct dfa *number; /* N, root, rank -> value: in place of the rank; or NULL */
};
/** Runs every such N, and learns the contents at loops' heads. False: no automaton was found. */
bool power_guess(struct power_forms *f, const struct moves *m, struct guessing how,
		 struct all_heads *to);
/** N, root, rank, chunk: cells of buffer b that moves write. */
const struct dfa *power_written(struct power_forms *f, const struct moves *body, uint32_t b);

/* ---- powers_turn.c ---- */
/** The contents of buffer b for all roots, if ranks only count from the root; `a`: for root 0. */
const struct dfa *power_turned(struct power_forms *f, const struct dfa *a, uint32_t b);
/** Replaces numbers in a tree by ranks in a relation; `number`: N, root, rank -> value. */
const struct dfa *power_numbered(struct power_forms *f, const struct dfa *a,
				 const struct dfa *number);

/* ---- powers_certificate.c ---- */
/** JSON, to be freed; NULL: the text has channels, which certificates cannot express. */
char *power_certificate(struct power_forms *f, const struct moves *m,
			const struct all_heads *heads);

/* ---- powers_proof.c ---- */
/** The verdict, as every_prove, for every N >= least. */
struct every powers_prove(struct ctx *c, const struct instance *in, uint32_t least,
			  bool certificate, struct every_work *work);

#endif
