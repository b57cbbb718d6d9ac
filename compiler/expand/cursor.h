/*
 * The cursor: runs a text on one rank, and yields its operations.
 *
 *   eval.c     names and expressions
 *   fns.c      calls of fns
 *   strips.c   loops that are run as a whole
 *   links.c    loops of links that are run as a whole
 *   cursor.c   statements; where it starts and stops
 *   calls.c    calls of procs and schedules, groups, scratch
 *   lanes.c    where operations go: lanes, and the waits of pars
 *   message.c  operations: their operands, peers and FIFOs
 *
 * It walks the syntax tree; nothing is compiled. One table holds the value of each name, by the
 * symbol's number (struct bind). A call puts the values that it hides on a trail, and restores
 * them at its end: a name costs one access to the table at any depth of calls. Statements are run
 * from a stack of lists (struct row), so the walk stops at any operation and goes on there.
 * Expressions recurse in C: a tree's depth is bounded by the parser, and calls of fns by the
 * limits below.
 *
 * The caller gives room for operations, lane by lane (a lane is what becomes a task: the rank's
 * main line, or one path of par blocks). cursor_next runs until a lane's room is used up, or the
 * rank is done. A caller that stores the operations enlarges the room; another
 * consumes the lane's rows and empties it:
 *
 *     cursor_start(v, body, rank);
 *     while (cursor_next(v) == CURSOR_ROOM)
 *             ... v->lanes[v->full]: more room, or consumed: done += n, n = 0 ...
 *
 * Mistakes are reported as they are met; an operation that has one is left out,
 * and a failing expression stops the rank. Work without operations is counted by the length
 * of the text that is run, and limited: every program ends. ccs(5) 8.
 *
 * A circle of files: a statement has expressions, an expression may call a fn, and the conditions of
 * `where`, the links of a topology and the tables of sizes are texts that a cursor runs in turn. So
 * cursor.c, eval.c, fns.c, message.c, calls.c, and what starts a cursor for them (where.c,
 * topology.c, sized.c) call one another; the squad's files (squad.h) do the same.
 */
#ifndef CCS_COMPILER_EXPAND_CURSOR_H
#define CCS_COMPILER_EXPAND_CURSOR_H

#include "compiler/expand/expand.h"

#define LIMIT_CELLS (1u << 27) /* cells of all ranks, E0501 */
#define LIMIT_TASKS (1u << 21) /* main lines and blocks of pars, of all ranks, E0501 */
#define LIMIT_LINKS \
	(1u << 25)		   /* links that the topology's body meets on one rank, and
					   that it has of other ranks, E0501 */
#define LIMIT_TERMS (1u << 24)	   /* contributions in one value of a contract, E0501 */
#define LIMIT_ALL_TERMS (1u << 26) /* contributions in all values, before runs are made, E0501 */
#define LIMIT_RUNS (1u << 25)	   /* runs of contributions in a contract, E0501 */
#define MOST_SITES (1u << 24)	   /* statements that make operations, E0501 */
#define GUESSES 64u		   /* operations of a lane */
#define LIMIT_REPORTS (1u << 20)   /* mistakes (ranks times places) after which a run ends */

/* ---- paths, FIFOs, links ---------------------------------------------------------------- */

/* Paths and FIFOs by name: hash tables over the program's rows. */
struct tables {
	struct arena *arena;
	struct program *program;
	uint32_t *path_slots, path_cap; /* 1 + row; a power of two */
	uint32_t *fifo_slots, fifo_cap;
	uint32_t nhashed;  /* FIFOs in fifo_slots: the rest enter when one is looked up */
	uint32_t *direct;  /* [tables_pair()] for path 0, channel 0: 1 + row; or NULL */
	uint32_t *of_zero; /* the same of rank 0 alone: [dst], and [nranks + src]; or NULL */
	bool *unlinked;	   /* by FIFO, up to the last one that has no link */
	uint32_t nunlinked, capunlinked;
};

/* Rows of `direct` are a cache line longer than there are ranks: otherwise its columns would
 * share few sets of a cache, as N is often a power of two. */
#define PAIR_GAP 16u

static inline size_t tables_pair(const struct tables *t, uint32_t src, uint32_t dst)
{
	return (size_t)src * (t->program->nranks + PAIR_GAP) + dst;
}

/** `fifos`: FIFOs are wanted too. */
void tables_init(struct tables *t, struct arena *a, struct program *p, bool fifos);
/** Where the plain tables have the FIFO of path 0 and channel 0: 1 + row, or 0; NULL: they do
 *  not. */
static inline uint32_t *tables_plain(const struct tables *t, uint32_t src, uint32_t dst)
{
	size_t n = t->program->nranks;

	if (t->direct)
		return &t->direct[tables_pair(t, src, dst)];
	return t->of_zero && (src == 0 || dst == 0) ? &t->of_zero[src ? n + src : dst] : NULL;
}

/** The row of a path; made if `make`, else NONE where there is none. */
uint32_t tables_path(struct tables *t, uint32_t parent, uint32_t block, bool make);
/** The row of a FIFO, or NONE. */
uint32_t tables_fifo(struct tables *t, uint32_t src, uint32_t dst, uint32_t path, uint32_t channel);
/** Makes a FIFO that is not there; `linked`: the topology has its pair. */
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
/** Runs the topology's body for every rank. Reports E0204, E0205, E0306, E0501. */
void links_make(struct links *l, struct cursor *v, const struct decl *topology);
bool links_has(const struct links *l, uint32_t src, uint32_t dst);

/* ---- state of the run ---------------------------------------------------------------------- */

/* Chunks of a buffer: parts of `part` cells each, from cell `first` on. */
struct view {
	uint32_t first, part, parts;
	uint32_t inner; /* parts of a block; 0: one pair of brackets */
};

enum bind_kind {
	B_NONE,
	B_NUMBER,
	B_LAZY,	 /* evaluated when asked for: a topology's names, and the file's */
	B_TABLE, /* its entries: v->entries[at .. at + n] */
	B_VIEW
};

/* What a name stands for. */
struct bind {
	enum bind_kind kind;
	uint64_t call; /* that bound it; 0: fixed for the instance */
	union {
		int64_t value;
		struct view view;
		struct {
			const struct expr *expr;
			uint32_t at, n; /* TABLE; LAZY: room for the entries, if it is a table */
		};
	};
};

/* The group of the current `rank` and `N`, or all ranks. Number k of the group is rank first +
 * stride * k of the whole program; without a stride, first is a row of members. */
struct group {
	int64_t number, size; /* rank, N */
	int64_t first, stride;
};

/* A list of statements that is being run. */
struct row {
	const struct stmt *of;	 /* it is the body of; NULL: of all */
	const struct stmt *next; /* NULL: it is at its end */
	const struct stmt *step; /* its statements run within the list; or NULL */
	uint32_t top, nentries;	 /* scratch and entries in use at its beginning */
	int64_t i, end, by;	 /* for: the variable, its limit and step; channel: i: the one
				    outside */
	uint32_t block;		 /* par: number of the running block */
};

/* What a group's block or a call hides, until it ends. */
struct outside {
	struct group here, home;
	uint64_t call;
	uint32_t ntrail, nmembers, part, depth;
};

/* One textual operation. */
struct opsite {
	const struct stmt *stmt; /* NULL: it was not met yet */
	struct op op;		 /* as it will be; op.fifo is the one of (key, at) */
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

/* A par that is being run. */
struct par_row {
	uint32_t block;	    /* the running block's number */
	uint32_t lane;	    /* its lane; NONE: it has no operation yet */
	uint32_t start;	    /* rows of the lane before it */
	uint32_t joins;	    /* first of its rows of joins */
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
	bool any_in;		   /* there is a buffer that must not be written */
	/* Called for each operation that was made, or NULL. True: the statement's other
	 * operations of this loop, with the same views, say nothing new. */
	bool (*behind)(void *arg, const struct stmt *s, const struct op *o);
	void *behind_arg;
	int64_t report_rank; /* rank of reports, or NO_RANK */
	uint32_t rank;
	uint64_t rank_key;
	uint32_t ntasks;	  /* next task's row */
	const char *c_stack;	  /* where the C stack begins, and how much of it there is */
	ptrdiff_t c_room, c_used; /* ... most used so far, within a call that is kept */

	struct bind *binds; /* by symbol */
	struct hidden {	    /* what binds were, to be put back */
		uint32_t symbol;
		struct bind bind;
	} *trail;
	uint32_t ntrail, captrail;
	/* When what a value hangs on was last changed: fns.c. Time goes by with each change. */
	uint64_t now, rank_changed, size_changed; /* of v->here */
	struct changed {			  /* by symbol */
		int64_t value;			  /* of the last number that it was */
		uint64_t at;
	} *changed;
	struct memo **memos;	 /* by symbol of a fn; NULL: not called yet */
	uint64_t call, ncalls;	 /* the running call, all so far */
	uint32_t depth;		 /* calls that are open, of procs and fns */
	uint32_t deepest;	 /* the most so far, within a call that is kept */
	struct group here, home; /* of the statement; of the call that it is in */
	uint32_t part;		 /* cells in a part of the call's views: scratch has such parts */
	int64_t *entries;	 /* of tables, and arguments */
	uint32_t nentries, capentries, nfixed;
	struct row *rows;
	uint32_t nrows, caprows;
	struct outside *outside;
	uint32_t noutside, capoutside;
	struct work *work;  /* never NULL */
	uint64_t most_work; /* with more it is `over`, and has nothing to report */
	uint64_t idle;	    /* work since the last operation, also what was kept from before */
	bool stopped;	    /* an expression failed, or a limit was reached; reported */
	struct diag *fault; /* of that expression, until its calls are all known; or NULL */

	struct opsite *sites; /* by the statement's number */
	uint64_t stripped;    /* operations that strips made */
	uint8_t *walked;      /* by the loop's number: how often it was no strip; STRIP_NEVER: no
				 more tries */
	struct lane *lanes;
	uint32_t nlanes, caplanes;
	uint32_t lane;	   /* that operations go to; NONE: a block without any yet */
	uint32_t full;	   /* CURSOR_ROOM: the lane that needs room */
	uint32_t *lane_of; /* by path: 1 + lane of this rank */
	uint32_t nlane_of, caplane_of;
	uint64_t at; /* path << 32 | channel */
	uint32_t channel;
	bool step;	/* in a step */
	uint8_t joined; /* OP_JOINED: it has an operation */
	struct par_row *pars;
	uint32_t npars, cappars;
	struct join *joins;
	uint32_t njoins, capjoins;
	uint32_t *members; /* of groups of tables that are entered: whole ranks */
	uint32_t nmembers, capmembers;
	uint32_t *met;	    /* by rank: the last group of a table that had it */
	uint32_t group;	    /* number of the last one */
	uint32_t top, high; /* scratch: in use, most in use in this block */
	uint32_t most;	    /* scratch: most in use on any rank so far */
	uint64_t nsilent;   /* FRESH and WAIT rows so far, of all ranks */

	uint64_t *pairs; /* of links: source << 32 | target */
	uint32_t npairs, cappairs;
	bool spans_wanted;	/* links of whole loops come as runs: */
	struct link_run *spans; /* targets of the rank itself */
	uint32_t nspans, capspans;
	uint64_t reports;
	/* By rank: the first FIFO that it made; NULL: not all ranks are run, each in its turn. */
	uint32_t *made;
	/* With it, by rank: 1 + the last FIFO that was made with it as the peer. */
	uint32_t *latest;
	/* By row of a lane: which of the FIFOs that another rank made was the one there. */
	uint32_t guesses[GUESSES];
	bool wrong;	     /* this rank has a report: the first one's path, and */
	uint32_t wrong_path; /* rows of its lane before it */
	uint32_t wrong_row;
	bool over; /* a limit of the whole program was reached: E0501, or its work is spent */
};

void cursor_init(struct cursor *v, struct ctx *c, struct program *p, struct arena *a, bool quiet);
/** Begins a list of statements (or NULL: expressions alone) for a rank. */
void cursor_start(struct cursor *v, const struct stmt *body, uint32_t rank);
/** From now on it stops where the context's work is spent. */
void cursor_may_stop(struct cursor *v);
/** Counts the work of all chunks of a program after its run, and of the chunks that operations
 *  touch; their number. O(operations). */
uint64_t cursor_touched(struct cursor *v);
/** The `in` buffer that has the cell, as its own name or by a view; NULL: none has. */
const struct buffer *cursor_in_buffer(const struct cursor *v, uint32_t cell);
/** Runs on from where it stopped. */
enum cursor_state cursor_next(struct cursor *v);
/** Runs the list before the current one; `of` determines how it ends. */
void cursor_push(struct cursor *v, const struct stmt *of, const struct stmt *body);

/** Most cells that a rank may have. */
static inline uint32_t cursor_most_cells(const struct cursor *v)
{
	return LIMIT_CELLS / program_ranks(v->program);
}

/* ---- eval.c */

/* Rare paths are kept out of line, so that common paths have the registers. */
#define RARE __attribute__((noinline))

/** The value of an expression that is no leaf; see eval(). */
int64_t eval_tree(struct cursor *v, const struct expr *e);
/** The value of an expression that needs no rank. Reports; false on failure. */
bool eval_fixed(struct cursor *v, const struct expr *e, int64_t *value);
/** Evaluates a table to entries: their number; the first is v->entries[*at]. */
uint32_t eval_table(struct cursor *v, const struct expr *table, uint32_t *at);
/** The entries of the table that a name stands for. */
uint32_t eval_table_of(struct cursor *v, const struct symbol *s, uint32_t *at);
/** Whether the expression (or NULL), or a fn that it calls, mentions `s` (or
 *  NULL), or, if so asked, `rank`. */
bool eval_mentions(struct cursor *v, const struct expr *e, const struct symbol *s, bool rank);
/** Visits the expression (or NULL) and all in it, then the fns that it calls, each once; if
 *  `lets`, also the values of the lets that it names. */
void eval_walk(struct cursor *v, const struct expr *e, bool lets,
	       void (*visit)(void *arg, const struct expr *e), void *arg);
void eval_push(struct cursor *v, int64_t entry);
/** Stops: the work is spent, or there was too much without an operation, which is reported. */
bool eval_too_much(struct cursor *v, struct span report);
/** Keeps what the name stands for, until bind_undo. */
void bind_hide(struct cursor *v, const struct symbol *s);
/** Puts back what was hidden since the trail was that long. */
void bind_undo(struct cursor *v, uint32_t ntrail);
/** Values fixed for the instance: before any rank runs. */
void bind_fixed(struct cursor *v, const struct symbol *s, struct bind b);
/** The let's value when it is asked for; if it is a table, room for it is taken now. */
void bind_lazy(struct cursor *v, const struct symbol *s, const struct expr *e);
/** The parameters and lets of d's topology, all lazy. */
void bind_topology(struct cursor *v, const struct decl *d);

/** The value; 0 and v->stopped if it fails, which is reported (E0204). Most expressions are
 *  a name, `rank`, `N` or a number: not worth a call. */
static inline int64_t eval(struct cursor *v, const struct expr *e)
{
	if (e->kind == E_NAME && v->binds[e->sym->id].kind == B_NUMBER)
		return v->binds[e->sym->id].value;
	if (e->kind == E_RANK)
		return v->here.number;
	if (e->kind == E_N)
		return v->here.size;
	return e->kind == E_INT ? e->value : eval_tree(v, e);
}

/** The value, if it has one: a mistake is not reported, and does not count. */
bool eval_quietly(struct cursor *v, const struct expr *e, int64_t *value);

/** Counts the work of running `text` once. False: too much; reported. */
static inline bool eval_work(struct cursor *v, struct span text, struct span report)
{
	uint64_t work = 1 + (text.hi - text.lo) / 8;
	v->idle += work;
	v->work->done += work;
	return (v->idle <= LIMIT_IDLE_WORK && v->work->done <= v->most_work) ||
	       eval_too_much(v, report);
}

/** The name got its value in another way than by bind_number. A name without a value is never
 *  used. */
static inline void bind_changed(struct cursor *v, uint32_t symbol)
{
	const struct bind *b = &v->binds[symbol];
	struct changed *c = &v->changed[symbol];
	if (b->kind == B_NUMBER && c->value != b->value)
		*c = (struct changed){ b->value, ++v->now };
	else if (b->kind == B_LAZY || b->kind == B_TABLE)
		c->at = ++v->now;
}

/** Sets the group that `rank` and `N` refer to from now on. */
static inline void cursor_stand(struct cursor *v, struct group here)
{
	if (v->here.number != here.number)
		v->rank_changed = ++v->now;
	if (v->here.size != here.size)
		v->size_changed = ++v->now;
	v->here = here;
}

/** The name's place in the table, for a value of the running call, until its end. */
static inline struct bind *bind_own(struct cursor *v, const struct symbol *s, enum bind_kind kind)
{
	struct bind *b = &v->binds[s->id];
	if (b->call != v->call)
		bind_hide(v, s);
	b->kind = kind;
	return b;
}

static inline void bind_number(struct cursor *v, const struct symbol *s, int64_t value)
{
	bind_own(v, s, B_NUMBER)->value = value;
	struct changed *c = &v->changed[s->id];
	if (c->value != value)
		*c = (struct changed){ value, ++v->now };
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
int64_t fn_call(struct cursor *v, const struct expr *e);
/* What the fn's value depends on, besides its arguments. */
struct fn_needs {
	bool rank, n;
	const struct symbol *const *names;
	uint32_t nnames;
};
struct fn_needs fn_needs(struct cursor *v, const struct symbol *fn);
/** Whether what the fn gives may change with a name that is not its own. */
bool fn_hangs_on(struct cursor *v, const struct symbol *fn, const struct symbol *name);

/* ---- strips.c */

#define STRIP_NEVER 8

/** Runs iterations of the loop, from the one that is about to begin, as far as they are as usual
 *  and there is room; r->i is then the next one. True: it was the last one, and r->i is that. */
bool cursor_strip(struct cursor *v, struct row *r);

/* ---- links.c */

/** Runs a loop of a topology's body over lo .. end - 1 as a whole: v->spans. False: it is not as
 *  usual, and nothing was done. */
bool cursor_links(struct cursor *v, const struct stmt *s, int64_t lo, int64_t end);

/* ---- calls.c */

/** Begins the callee's body, unless a mistake is reported. */
void cursor_call(struct cursor *v, const struct stmt *s);
/** Begins the block, if the rank is in the group. */
void cursor_within(struct cursor *v, const struct stmt *s);
/** The end of both. */
void cursor_leave(struct cursor *v);
/** False: there is no room; nothing was done. */
bool cursor_scratch(struct cursor *v, const struct stmt *s);

/* The rank of the whole program that has a number in a group. */
static inline uint32_t cursor_whole(const struct cursor *v, const struct group *g, int64_t number)
{
	return g->stride ? (uint32_t)(g->first + g->stride * number)
			 : v->members[g->first + number];
}

/* ---- lanes.c */

/** Room for the main line, before a rank's first operation: a loop that begins with it can be run
 *  as a whole then. */
void cursor_main_room(struct cursor *v, struct op *room, uint32_t cap);
void cursor_par(struct cursor *v);
void cursor_block(struct cursor *v, uint32_t number);
void cursor_block_end(struct cursor *v);
/** False: there is no room for all waits yet. */
bool cursor_par_end(struct cursor *v);
/** Creates the tasks of blocks that have no operation yet, with their waits. False: v->full
 *  needs room first, or v->stopped. */
bool cursor_make_room(struct cursor *v);
void cursor_use_channel(struct cursor *v, uint32_t channel);

/** Whether the lane has room for an operation; false as above. */
static inline bool cursor_room(struct cursor *v)
{
	return (v->lane != NONE && v->lanes[v->lane].n < v->lanes[v->lane].cap) ||
	       cursor_make_room(v);
}

/* ---- message.c */

/** A send, receive, reduction or copy. False: there is no room, and nothing was done; or
 *  v->stopped. */
bool cursor_operation(struct cursor *v, const struct stmt *s);
/** Finds the FIFO of a peer that is a rank, and another one: s->op.fifo. False: there is no link,
 *  which is reported. */
bool cursor_meet(struct cursor *v, struct opsite *s, int64_t peer);
/** Cells of an operand. False: out of range; reported, unless `s` (or NULL) was
 *  before, for this rank. */
bool cursor_cells(struct cursor *v, const struct ref *r, struct opsite *s, struct cells *cells);
/** The row of the statement, with its site in the program. */
struct opsite *cursor_site(struct cursor *v, const struct stmt *s);
/* Writes an operation of the site. Field by field: its FIFO may just have been written there, and a
 * wider read would wait for that. */
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

/** Adds the calls that are open: not one that has just begun, if the place is in its own text.
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

/** Binds the schedule's, its topology's and its contract's parameters and the buffers for
 *  the cursor, and fills in its program's parameters and buffers. May be repeated for the
 *  same program with another cursor. Reports E0203-E0205, E0501. */
enum instance_state instance_make(struct cursor *v, bool quiet_where);

#endif
