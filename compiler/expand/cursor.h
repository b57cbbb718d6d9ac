/*
 * The cursor: runs a text on one rank, and yields its operations; or on the ranks of a squad at once
 * (squad.h).
 *
 * In: a list of statements, a rank. Out: the rank's operations, and reports of mistakes.
 *
 *   eval.c     names and expressions
 *   fns.c      calls of fns
 *   strips.c   loops that are run as a whole
 *   links.c    loops of links that are run as a whole
 *   cursor.c   statements; start and stop
 *   calls.c    calls of procs and schedules, groups, scratch
 *   lanes.c    lanes of operations, and the waits of pars
 *   message.c  operations: their operands, peers and FIFOs
 *
 * It interprets the syntax tree. One table has the value of each name, by the symbol's number
 * (struct bind). A call saves the values that it hides on a trail, and restores them at its end, so
 * a name costs one access to the table at any depth of calls. Statements are run from an explicit
 * stack of lists (struct row), so the walk can stop at any operation and resume there. Expressions
 * recurse in C; a tree's depth is bounded by the parser, and calls of fns by the limits below.
 *
 * Operations go to lanes. A lane becomes a task: the rank's main line, or one path of par blocks.
 * The caller gives each lane room. cursor_next runs until the room of a lane is used up, or the
 * rank is done. A caller that stores the operations enlarges the room; another caller consumes the
 * lane's rows and empties it:
 *
 *     cursor_start(v, body, rank);
 *     while (cursor_next(v) == CURSOR_ROOM)
 *             ... v->lanes[v->full]: more room, or consumed: done += n, n = 0 ...
 *
 * Mistakes are reported when they are found. An operation with a mistake is left out; an expression
 * that fails stops the rank. Work between two operations, counted by the length of the text that is
 * run, is limited, so every program ends (ccs(5) 8).
 *
 * A circle of files: a statement has expressions, an expression may call a fn, and the conditions
 * of `where`, the links of a topology and the tables of sizes are texts that a cursor runs in turn.
 * So cursor.c, eval.c, fns.c, message.c, calls.c, and what starts a cursor for them (where.c,
 * topology.c, sized.c) call one another; the squad's files (squad.h) do the same.
 */
#ifndef CCS_COMPILER_EXPAND_CURSOR_H
#define CCS_COMPILER_EXPAND_CURSOR_H

#include "compiler/expand/expand.h"

#define LIMIT_CELLS (1u << 27) /* cells of all ranks, E0501 */
#define LIMIT_TASKS (1u << 21) /* main lines and blocks of pars, of all ranks, E0501 */
#define LIMIT_LINKS \
	(1u << 25)		   /* links that the topology's body makes on one rank, and
					   links of other ranks that it makes, E0501 */
#define LIMIT_TERMS (1u << 24)	   /* contributions in one value of a contract, E0501 */
#define LIMIT_ALL_TERMS (1u << 26) /* contributions in all values, before runs are made, E0501 */
#define LIMIT_RUNS (1u << 25)	   /* runs of contributions in a contract, E0501 */
#define MOST_SITES (1u << 24)	   /* statements that make operations, E0501 */
#define GUESSES 64u		   /* rows of cursor.guesses */
#define LIMIT_REPORTS (1u << 20)   /* mistakes (ranks times places); then the run ends */

/* ---- paths, FIFOs, links ---------------------------------------------------------------- */

/* Paths and FIFOs by name: hash tables over the program's rows. */
struct tables {
	struct arena *arena;
	struct program *program;
	struct hash_table paths,
		fifos;	   /* of the first rows; the rest of the FIFOs are entered at the
					   next look-up */
	uint32_t *direct;  /* [tables_pair()] for path 0, channel 0: 1 + row; or NULL */
	uint32_t *of_zero; /* the same of rank 0 alone: [dst], and [nranks + src]; or NULL */
	bool *unlinked;	   /* by FIFO, up to the last one that has no link */
	uint32_t nunlinked, capunlinked;
};

/* Rows of `direct` have one cache line more than N ranks need: N is often a power of two, and the
 * columns would share few sets of a cache. */
#define PAIR_GAP 16u

static inline size_t tables_pair(const struct tables *t, uint32_t src, uint32_t dst)
{
	return (size_t)src * (t->program->nranks + PAIR_GAP) + dst;
}

/** `fifos`: also for FIFOs, not only for paths. */
void tables_init(struct tables *t, struct arena *a, struct program *p, bool fifos);
/** The entry of the plain tables for the FIFO of path 0 and channel 0: 1 + row, or 0; NULL: they do
 *  not cover it. */
static inline uint32_t *tables_plain(const struct tables *t, uint32_t src, uint32_t dst)
{
	size_t n = t->program->nranks;

	if (t->direct)
		return &t->direct[tables_pair(t, src, dst)];
	return t->of_zero && (src == 0 || dst == 0) ? &t->of_zero[src ? n + src : dst] : NULL;
}

/** The row of a path. If it does not exist: makes it (`make`), or returns NONE. */
uint32_t tables_path(struct tables *t, uint32_t parent, uint32_t block, bool make);
/** The row of a FIFO, or NONE. */
uint32_t tables_fifo(struct tables *t, uint32_t src, uint32_t dst, uint32_t path, uint32_t channel);
/** Makes a FIFO that does not exist yet; `linked`: the topology has its pair. */
uint32_t tables_new_fifo(struct tables *t, uint32_t src, uint32_t dst, uint32_t path,
			 uint32_t channel, bool linked);

/* Links of a topology, by their source. */
struct links {
	bool all;	  /* every pair */
	uint32_t *first;  /* [nranks + 1]: rows of runs */
	struct link_run { /* targets lo .. hi - 1; ascending, not adjacent */
		uint32_t lo, hi;
	} *runs;
};

struct cursor;
struct squad;
struct mask;
/** Runs the topology's body for every rank. Reports E0204, E0205, E0306, E0501. */
void links_make(struct links *l, struct cursor *v, const struct decl *topology);
bool links_has(const struct links *l, uint32_t src, uint32_t dst);

/* ---- state of the run ---------------------------------------------------------------------- */

/* A number on the ranks that run: base on rank number 0 of the squad (squad.h), and `step` more on
 * each next one; or, if `step` is BY_RANK, v[i] on rank number i. Of one rank it is always the same.
 * It is undefined for ranks that did not run when it was made. Fits in two registers. */
struct spread {
	union {
		int64_t base;
		const int64_t *v;
	};
	int64_t step;
};

#define BY_RANK INT64_MIN

static inline struct spread spread_same(int64_t value)
{
	return (struct spread){ .base = value };
}

static inline bool spread_is_same(const struct spread *x)
{
	return x->step == 0;
}

/* Chunks of a buffer, as a name has them: parts of `part` cells each, from cell `first` on. */
struct view {
	struct spread first;
	uint32_t part, parts;
	uint32_t inner; /* parts of a block; 0: one pair of brackets */
};

/* Chunks lo .. lo + n - 1, in cells. */
struct cell_spread {
	struct spread lo, n;
};

/* Of one rank. */
static inline uint32_t view_cell(const struct view *w)
{
	return (uint32_t)w->first.base;
}

enum bind_kind {
	B_NONE,
	B_NUMBER,
	B_LAZY,	 /* evaluated at the first use: names of a topology, and of files */
	B_TABLE, /* its entries: v->entries[at .. at + n] */
	B_VIEW
};

/* The meaning of a name. */
struct bind {
	enum bind_kind kind;
	uint64_t call; /* the call that bound it; 0: fixed for the instance */
	union {
		struct spread number;
		struct view view;
		struct {
			const struct expr *expr;
			uint32_t at, n; /* TABLE; LAZY: room for the entries, if it is a table */
			/* LAZY: values on the ranks of `known`; NULL: of one rank */
			int64_t *values;
			struct mask *known;
		};
	};
};

/* The group of the current `rank` and `N`, or all ranks. Number k of the group is rank first +
 * stride * k of the whole program; without a stride, first is a row of members. */
struct group {
	struct spread number, first; /* number: rank */
	int64_t size, stride;	     /* size: N */
};

/* A running list of statements. */
struct row {
	const struct stmt *of;	 /* the statement with this body; NULL: the whole text */
	const struct stmt *next; /* NULL: it is at its end */
	const struct stmt *step; /* its statements run within the list; or NULL */
	uint32_t top, nentries;	 /* scratch and entries in use at its beginning */
	struct spread i, end;	 /* for: the variable, its limit; channel: i: the enclosing
				    channel */
	int64_t by;		 /* for: the step */
	uint32_t block;		 /* par: number of the running block */
};

/* The state that a group's block or a call hides, until it ends. */
struct outside {
	struct group here, home;
	uint64_t call;
	uint32_t ntrail, nmembers, part, depth;
};

/* One textual operation. */
struct opsite {
	const struct stmt *stmt; /* NULL: it was not run yet */
	struct op op;		 /* the next operation; op.fifo is that of (key, at) */
	uint64_t key;		 /* (rank + 1) << 32 ^ peer */
	uint64_t at;		 /* path << 32 | channel */
	uint32_t bad;		 /* 1 + last rank with a mistake here */
};

struct lane {
	struct op *ops; /* room for cap */
	uint32_t n, cap;
	uint32_t done; /* rows that were consumed before ops[0] */
	uint32_t path, task;
};

/* A running par. */
struct par_row {
	uint32_t block;	    /* the running block's number; NONE: the par is at its end */
	uint32_t lane;	    /* its lane; NONE: it has no operation yet */
	uint32_t joins;	    /* first of its rows of joins */
	uint32_t next;	    /* at its end: the next of these that needs a wait */
	uint32_t top, high; /* scratch in use at its beginning; most in use then */
	uint32_t most;	    /* the most that its blocks so far have used */
};

/* Lanes to wait for at the end of a par. */
struct join {
	uint32_t lane, rows;
};

enum cursor_state { CURSOR_ROOM, CURSOR_DONE, CURSOR_STOPPED };

struct cursor {
	struct ctx *ctx;
	struct arena *arena;
	struct program *program;
	struct tables *tables;	   /* NULL: no FIFO is made (quiet runs) */
	const struct links *links; /* NULL: no check of links */
	bool quiet;		   /* report nothing */
	bool any_in;		   /* there is an `in` buffer, which must not be written */
	/* Called for each operation, or NULL. True: the caller needs no more operations of the
	 * statement in this loop with the same views. */
	bool (*behind)(void *arg, const struct stmt *s, const struct op *o);
	void *behind_arg;
	struct squad *squad; /* NULL: one rank runs */
	int64_t report_rank; /* rank of reports, or NO_RANK */
	uint32_t rank;
	uint64_t rank_key;
	uint32_t ntasks;	  /* next task's row */
	const char *c_stack;	  /* the begin and size of the C stack */
	ptrdiff_t c_room, c_used; /* ... and the most used, within a call for the cache */

	struct bind *binds; /* by symbol */
	struct hidden {	    /* hidden values, to be restored */
		uint32_t symbol;
		struct bind bind;
	} *trail;
	uint32_t ntrail, captrail;
	/* Time stamps of the last changes of names, `rank` and `N` (fns.c); each change advances
	 * `now`. */
	uint64_t now, rank_changed, size_changed; /* of v->here */
	struct changed {			  /* by symbol */
		int64_t value;			  /* its last number */
		uint64_t at;
	} *changed;
	struct memo **memos;	 /* by symbol of a fn; NULL: not called yet */
	uint64_t call, ncalls;	 /* the running call; the number of calls so far */
	uint32_t depth;		 /* open calls of procs and fns */
	uint32_t deepest;	 /* the greatest depth, within a call for the cache */
	struct group here, home; /* of the statement; of its call */
	struct group whole;	 /* all ranks */
	struct spread *args;	 /* of open calls of fns */
	uint32_t nargs, capargs;
	uint32_t part;	  /* cells in a part of the call's views: scratch has such parts */
	int64_t *entries; /* of tables, and arguments */
	uint32_t nentries, capentries, nfixed;
	struct row *rows;
	uint32_t nrows, caprows;
	struct outside *outside;
	uint32_t noutside, capoutside;
	struct work *work;  /* never NULL */
	uint64_t most_work; /* with more work it is `over`, without a report */
	uint64_t idle;	    /* work since the last operation, including that of cached calls */
	bool stopped;	    /* an expression failed, or a limit was reached; reported */
	struct diag *fault; /* its report, until all its calls are added; or NULL */

	struct opsite *sites; /* by the statement's number */
	uint64_t stripped;    /* operations that strips made */
	uint8_t *walked;      /* by the loop's number: how often it could not be a strip;
				 STRIP_NEVER: do not try again */
	struct lane *lanes;
	uint32_t nlanes, caplanes;
	uint32_t lane;	   /* the current lane; NONE: in a block without operations so far */
	uint32_t full;	   /* CURSOR_ROOM: the lane that needs room */
	uint32_t *lane_of; /* by path: 1 + lane of this rank */
	uint32_t nlane_of, caplane_of;
	uint64_t at; /* path << 32 | channel */
	uint32_t channel;
	bool step;	/* in a step */
	uint8_t joined; /* OP_JOINED: the step has an operation */
	struct par_row *pars;
	uint32_t npars, cappars;
	struct join *joins;
	uint32_t njoins, capjoins;
	uint32_t *members; /* of open groups that are given by tables: ranks of the program */
	uint32_t nmembers, capmembers;
	uint32_t *met;	    /* by rank: the last group by a table that contained it */
	uint32_t group;	    /* number of the last one */
	uint32_t top, high; /* scratch: in use, most in use in this block */
	uint32_t most;	    /* scratch: most in use on any rank so far */
	uint64_t nsilent;   /* FRESH and WAIT rows so far, of all ranks */

	struct switches { /* of a topology: nodes first .. first + n - 1 */
		const struct symbol *of;
		uint32_t first, n;
	} *switches;
	uint32_t nswitches, capswitches;
	uint32_t nnodes; /* ranks and switches */
	uint64_t *pairs; /* of links: source << 32 | target; nodes */
	uint32_t npairs, cappairs;
	bool links_named;	   /* also collects the statements that make them: */
	const struct stmt **named; /* [npairs] */
	uint32_t nnamed, capnamed;
	bool spans_wanted;	/* loops of links may give runs, in `spans` */
	struct link_run *spans; /* targets of the rank itself */
	uint32_t nspans, capspans;
	uint64_t reports;
	/* By rank: the first FIFO that it made; NULL: ranks are not all run, in order. */
	uint32_t *made;
	/* With `made`, by rank: 1 + the last FIFO that was made with it as the peer. */
	uint32_t *latest;
	/* By row of a lane, modulo GUESSES: the number of the FIFO that was used there last, among
	 * those that the other rank made. */
	uint32_t guesses[GUESSES];
	bool wrong;	     /* this rank has a report: the path of the first one, ... */
	uint32_t wrong_path; /* ... and the rows of its lane before it: wrong_row */
	uint32_t wrong_row;
	bool over; /* a limit of the whole program was reached: E0501, or its work is spent */
};

void cursor_init(struct cursor *v, struct ctx *c, struct program *p, struct arena *a, bool quiet);
/** Begins a list of statements (or NULL: expressions alone) for a rank, or the squad from it on. */
void cursor_start(struct cursor *v, const struct stmt *body, uint32_t rank);
/** From now on it stops when the context's work is spent. */
void cursor_may_stop(struct cursor *v);
/** Counts the work of a program's chunks after its run, and of the chunks that operations touch;
 *  returns how many operations touch. O(operations). */
uint64_t cursor_touched(struct cursor *v);
/** The `in` buffer with the cell; NULL: none. */
const struct buffer *cursor_in_buffer(const struct cursor *v, uint32_t cell);
/** Resumes the run. */
enum cursor_state cursor_next(struct cursor *v);
/** Runs the list before the current one; `of` determines how it ends. */
void cursor_push(struct cursor *v, const struct stmt *of, const struct stmt *body);

/** Most cells that a rank may have. */
static inline uint32_t cursor_most_cells(const struct cursor *v)
{
	return LIMIT_CELLS / program_ranks(v->program);
}

/* ---- eval.c */

/* Rare paths are not inlined, so that common paths have more registers. */
#define RARE __attribute__((noinline))

/** The value of an expression that is no leaf; see eval_all(). */
struct spread eval_tree(struct cursor *v, const struct expr *e);
/** The value of an expression without `rank`. False: it failed, which is reported. */
bool eval_fixed(struct cursor *v, const struct expr *e, int64_t *value);
/** Evaluates a table; returns the number of its entries, v->entries[*at] on. */
uint32_t eval_table(struct cursor *v, const struct expr *table, uint32_t *at);
/** The entries of the table that a name stands for. */
uint32_t eval_table_of(struct cursor *v, const struct symbol *s, uint32_t *at);
/** Whether the expression (or NULL), a fn that it calls or a let that it names mentions `s` (if not
 *  NULL), or `rank` (if `rank` is set). */
bool eval_mentions(struct cursor *v, const struct expr *e, const struct symbol *s, bool rank);
/** Visits the expression (or NULL) and all in it, then the fns that it calls, each once; if
 *  `lets`, also the values of the lets that it names. */
void eval_walk(struct cursor *v, const struct expr *e, bool lets,
	       void (*visit)(void *arg, const struct expr *e), void *arg);
void eval_push(struct cursor *v, int64_t entry);
/** Stops the run: the work is spent, or there was too much work without an operation, which is
 *  reported. */
bool eval_too_much(struct cursor *v, struct span report);
/** Saves the meaning of the name on the trail, until bind_undo. */
void bind_hide(struct cursor *v, const struct symbol *s);
/** Restores the meanings that were saved since the trail had this length. */
void bind_undo(struct cursor *v, uint32_t ntrail);
/** Binds a name for the whole instance, before any rank runs. */
void bind_fixed(struct cursor *v, const struct symbol *s, struct bind b);
/** Binds a let that is evaluated at its first use; room for a table is allocated now. */
void bind_lazy(struct cursor *v, const struct symbol *s, const struct expr *e);
/** Binds the parameters and lets of d's topology, all lazy. */
void bind_topology(struct cursor *v, const struct decl *d);

/** The value on the ranks that run; 0 and v->stopped if it fails, which is reported (E0204). Inline
 *  for names, `rank`, `N` and numbers, as most expressions are. */
static inline struct spread eval_all(struct cursor *v, const struct expr *e)
{
	if (e->kind == E_NAME && v->binds[e->sym->id].kind == B_NUMBER)
		return v->binds[e->sym->id].number;
	if (e->kind == E_RANK)
		return v->here.number;
	if (e->kind == E_N)
		return spread_same(v->here.size);
	return e->kind == E_INT ? spread_same(e->value) : eval_tree(v, e);
}

/** The value on the one rank that runs. */
static inline int64_t eval(struct cursor *v, const struct expr *e)
{
	return eval_all(v, e).base;
}

enum known { NEVER, ALWAYS, SOMETIMES };

/** Whether a condition holds on the ranks that run: on none, on all, or on those of *yes. */
enum known eval_holds(struct cursor *v, const struct expr *e, struct mask *yes);
/** Adds work to the counts of the ranks of a squad. (squad_eval.c) False: it has ended. */
bool squad_works(struct squad *b, uint64_t work);

/** The value, if it has one; a failure is not reported, and does not stop the rank. */
bool eval_quietly(struct cursor *v, const struct expr *e, int64_t *value);
/** The same, where n names stand for these numbers, such as a fn's body for its arguments. */
bool eval_with(struct cursor *v, uint32_t n, const struct symbol *const *names,
	       const int64_t *numbers, const struct expr *e, int64_t *value);

/** Counts the work of running `text` once. False: too much; reported. */
static inline bool eval_work(struct cursor *v, struct span text, struct span report)
{
	uint64_t work = 1 + (text.hi - text.lo) / 8;
	if (v->squad)
		return squad_works(v->squad, work);
	v->idle += work;
	v->work->done += work;
	return (v->idle <= LIMIT_IDLE_WORK && v->work->done <= v->most_work) ||
	       eval_too_much(v, report);
}

/** Notes a change of a name that was not made by bind_number. */
static inline void bind_changed(struct cursor *v, uint32_t symbol)
{
	const struct bind *b = &v->binds[symbol];
	struct changed *c = &v->changed[symbol];
	if (b->kind == B_NUMBER && c->value != b->number.base)
		*c = (struct changed){ b->number.base, ++v->now };
	else if (b->kind == B_LAZY || b->kind == B_TABLE)
		c->at = ++v->now;
}

/** Sets the group for `rank` and `N`. */
static inline void cursor_stand(struct cursor *v, struct group here)
{
	if (v->here.number.base != here.number.base)
		v->rank_changed = ++v->now;
	if (v->here.size != here.size)
		v->size_changed = ++v->now;
	v->here = here;
}

/** The name's entry in the table, for a value until the end of the running call. */
static inline struct bind *bind_own(struct cursor *v, const struct symbol *s, enum bind_kind kind)
{
	struct bind *b = &v->binds[s->id];
	if (b->call != v->call)
		bind_hide(v, s);
	b->kind = kind;
	return b;
}

static inline void bind_spread(struct cursor *v, const struct symbol *s, struct spread value)
{
	bind_own(v, s, B_NUMBER)->number = value;
	struct changed *c = &v->changed[s->id];
	if (c->value != value.base)
		*c = (struct changed){ value.base, ++v->now };
}

static inline void bind_number(struct cursor *v, const struct symbol *s, int64_t value)
{
	bind_spread(v, s, spread_same(value));
}

static inline void bind_view(struct cursor *v, const struct symbol *s, struct view view)
{
	bind_own(v, s, B_VIEW)->view = view;
}

static inline void bind_table(struct cursor *v, const struct symbol *s, uint32_t at, uint32_t n)
{
	struct bind *b = bind_own(v, s, B_TABLE);
	b->at = at;
	b->n = n;
	bind_changed(v, s->id);
}

/* ---- fns.c */

/** The value of a call of a fn; 0 and v->stopped if it fails. */
struct spread fn_call(struct cursor *v, const struct expr *e);
/** Runs the body; the arguments, v->args from `at` on, are bound for it alone. `rank` and `N` are
 *  the caller's. */
struct spread fn_run(struct cursor *v, const struct expr *e, uint32_t at);
/* The dependencies of a fn's value, besides its arguments. */
struct fn_needs {
	bool rank, n;
	const struct symbol *const *names;
	uint32_t nnames;
};
struct fn_needs fn_needs(struct cursor *v, const struct symbol *fn);
/** Whether the fn's value may depend on a name from outside the fn. */
bool fn_hangs_on(struct cursor *v, const struct symbol *fn, const struct symbol *name);

/* ---- strips.c */

#define STRIP_NEVER 8

/** Runs iterations of the loop as a whole, from the next one on, as far as this is possible and
 *  there is room; r->i is then the next one. True: the loop is done, and r->i is the last one. */
bool cursor_strip(struct cursor *v, struct row *r);

/* ---- links.c */

/** Runs a loop of a topology's body over lo .. end - 1 as a whole, into v->spans. False: this is
 *  not possible, and nothing was done. */
bool cursor_links(struct cursor *v, const struct stmt *s, int64_t lo, int64_t end);

/* ---- calls.c */

/** Begins the callee's body, unless there is a mistake, which is reported. */
void cursor_call(struct cursor *v, const struct stmt *s);
/** Begins the block, if the rank is in the group. */
void cursor_within(struct cursor *v, const struct stmt *s);
/** Ends a call or a group's block. */
void cursor_leave(struct cursor *v);
/** Declares a scratch. False: there is no room, and nothing was done; or v->stopped. */
bool cursor_scratch(struct cursor *v, const struct stmt *s);

/* The rank of the whole program that has a number in a group. */
static inline uint32_t cursor_whole(const struct cursor *v, const struct group *g, int64_t number)
{
	return g->stride ? (uint32_t)(g->first.base + g->stride * number)
			 : v->members[g->first.base + number];
}

/* ---- lanes.c */

/** Gives the main line room before a rank's first operation, so that a loop at the begin can be run
 *  as a whole. */
void cursor_main_room(struct cursor *v, struct op *room, uint32_t cap);
/** Begins a par; begins and ends its block `number`. */
void cursor_par(struct cursor *v);
void cursor_block(struct cursor *v, uint32_t number);
void cursor_block_end(struct cursor *v);
/** Adds the waits at the end of a par. False: there is no room for all of them. */
bool cursor_par_end(struct cursor *v);
/** Creates the tasks of open blocks that have no operation yet, with their waits. False: v->full
 *  needs room first, or v->stopped. */
bool cursor_make_room(struct cursor *v);
void cursor_use_channel(struct cursor *v, struct spread channel);

/** Whether the lane has room for an operation; false as above. */
static inline bool cursor_room(struct cursor *v)
{
	return (v->lane != NONE && v->lanes[v->lane].n < v->lanes[v->lane].cap) ||
	       cursor_make_room(v);
}

/* ---- message.c */

/** Runs a send, receive, reduction or copy. False: there is no room, and nothing was done; or
 *  v->stopped. */
bool cursor_operation(struct cursor *v, const struct stmt *s);
/** Finds the FIFO of a peer, which must be another rank: s->op.fifo. False: there is no link, which
 *  is reported. */
bool cursor_meet(struct cursor *v, struct opsite *s, int64_t peer);
/** The cells of an operand. False: out of range, which is reported once for a rank and site `s` (or
 *  NULL). */
bool cursor_cells(struct cursor *v, const struct ref *r, struct opsite *s,
		  struct cell_spread *cells);
/** The row of the statement, with its site in the program. */
struct opsite *cursor_site(struct cursor *v, const struct stmt *s);
/* Writes an operation of the site. Field by field, as a wide read of a field that was just written
 * would stall (store forwarding). */
static inline void cursor_put(struct op *o, const struct opsite *s, uint32_t kind, struct cells x,
			      uint32_t other)
{
	*o = (struct op){ .cell = x.lo,
			  .other = other,
			  .fifo = s->op.fifo,
			  .n = x.n,
			  .kind = kind & 0xff,
			  .site = s->op.site };
}

/** Adds the open calls; not one that has just begun, if the place is in the caller's text.
 *  (where.c) */
void cursor_calls(const struct cursor *v, struct span at, struct diag_calls *calls);
struct diag *cursor_report(struct cursor *v, int number, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** E0204: the rank stops here. Returns 0. */
int64_t cursor_fail(struct cursor *v, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- parameters.c: values fixed before any rank runs */

enum instance_state {
	INSTANCE_OK,
	INSTANCE_REFUSED, /* a `where` does not hold; reported unless quiet_where */
	INSTANCE_WRONG	  /* mistakes were reported */
};

/** Binds the parameters of the schedule, its topology and its contract, and the buffers, for the
 *  cursor, and fills in its program's parameters and buffers. May be repeated for the same program
 *  with another cursor. Reports E0203-E0205, E0501. */
enum instance_state instance_make(struct cursor *v, bool quiet_where);

#endif
