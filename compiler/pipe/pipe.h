/*
 * Pipelines: the texts of pipeline-parallel training that PyTorch writes and reads (its
 * `_dump_csv`), a line a rank, as programs.
 *
 *   pipe_read.c     text -> actions, each with its place; and back
 *   pipe_sound.c    is the text complete, and in an order that can be meant?
 *   pipe_lower.c    a text of computations alone gets its messages, as PyTorch 2.15 places them
 *   pipe_program.c  actions -> struct program, for one kind of streams; messages that are swapped
 *   judge.c         the least slots, the deadlock's report, and edits that end it
 *   pipe_times.c    when each action runs: of a picture, and of the table
 *   chart.c         the picture: ranks over time
 *   pipe_report.c   the verdict, as text or JSON; rows of the table
 *
 * docs/pipelines.md has what a text means. Of its queues each is a task of struct program, a computation is an
 * operation that touches nothing, and deadlock() decides, as for every schedule.
 */
#ifndef CCS_COMPILER_PIPE_PIPE_H
#define CCS_COMPILER_PIPE_PIPE_H

#include "compiler/check/deadlock.h"
#include "compiler/cost/cost.h"
#include "compiler/emit/sheet.h"
#include "compiler/witness/witness.h"

#define LIMIT_STAGE 65535u
#define LIMIT_MICROBATCH 1000000u

/* What a kind of action does: bits. */
enum {
	PIPE_COMPUTES = 1,
	PIPE_SENDS = 2,
	PIPE_RECEIVES = 4,
	PIPE_MESSAGE = PIPE_SENDS | PIPE_RECEIVES,
	PIPE_WAITS = 8, /* for a send */
	PIPE_BACK = 16	/* of a backward */
};

/* The kinds, with what they do. B is the whole backward, I that of its input alone, W that of its
 * weights. From SEND_F on they are in pairs, of a forward and a backward: PIPE_SEND_F + back. */
#define PIPE_EACH_KIND(KIND) \
	KIND(F, PIPE_COMPUTES) \
	KIND(B, PIPE_COMPUTES | PIPE_BACK) \
	KIND(I, PIPE_COMPUTES | PIPE_BACK) \
	KIND(W, PIPE_COMPUTES | PIPE_BACK) \
	KIND(SEND_F, PIPE_SENDS) \
	KIND(SEND_B, PIPE_SENDS | PIPE_BACK) \
	KIND(RECV_F, PIPE_RECEIVES) \
	KIND(RECV_B, PIPE_RECEIVES | PIPE_BACK) \
	KIND(WAIT_SEND_F, PIPE_WAITS) \
	KIND(WAIT_SEND_B, PIPE_WAITS | PIPE_BACK) \
	KIND(UNSHARD, 0) /* from here on without a microbatch */ \
	KIND(RESHARD, 0) \
	KIND(REDUCE_GRAD, 0) \
	KIND(WAIT_REDUCE_GRAD, 0)
#define PIPE_ENUM(name, does) PIPE_##name,
enum pipe_kind { PIPE_EACH_KIND(PIPE_ENUM) PIPE_KINDS, PIPE_NAMED = PIPE_UNSHARD };

/* Of a program: no queues of communications. A computation waits for the one that makes its input. */
#define STREAMS_NONE NSTREAMS

enum pipe_group { PIPE_ALONE, PIPE_OVERLAP, PIPE_BATCH };

struct pipe_action {
	const char *name; /* "2SEND_F1" */
	struct span span;
	uint32_t stage, mb; /* NONE: it has no microbatch */
	uint16_t rank;
	uint8_t kind;  /* enum pipe_kind */
	uint8_t does;  /* bits */
	uint8_t group; /* enum pipe_group: the bracket that it is in */
	bool joined;   /* in the bracket of the action before it */
};

struct pipe {
	const char *name; /* of the file, without folders and ending */
	uint32_t nranks, nstages, nmbs;
	struct pipe_action *v; /* rank by rank, in the order of the text */
	uint32_t n, cap;
	bool backward, messages, waits; /* it has some: messages as it was read, waits for sends */
	uint32_t *computed, *rank_of;	/* [nstages]: the row of the first computation, its rank */
	/* By pipe_index(); rows of v, or NONE. */
	uint32_t *first; /* [nranks + 1] */
	uint32_t *at;	 /* [PIPE_NAMED][nstages][nmbs]: the first one */
	struct pipe_takes {
		/* Of its rank: of a send the computation, of a WAIT_SEND the send, of a computation the receive,
		   or the computation that makes its input */
		uint32_t input;
		/* Of another rank: of a computation the one that makes its input, of a receive the send */
		uint32_t far;
	} *takes;	    /* [n] */
	struct site *sites; /* [n]: of its programs */
};

/* Where the row of the action of that kind, stage and microbatch is, or NONE. */
static inline uint32_t *pipe_at(const struct pipe *p, enum pipe_kind k, uint32_t stage, uint32_t mb)
{
	return &p->at[((size_t)k * p->nstages + stage) * p->nmbs + mb];
}

/* Row of the forward; or of the whole backward, or of its first half; or NONE. */
static inline uint32_t pipe_result(const struct pipe *p, bool back, uint32_t stage, uint32_t mb)
{
	uint32_t at = *pipe_at(p, back ? PIPE_B : PIPE_F, stage, mb);

	return back && at == NONE ? *pipe_at(p, PIPE_I, stage, mb) : at;
}

/* The stage of another rank that takes the results of a stage, or NONE. */
static inline uint32_t pipe_taker(const struct pipe *p, bool back, uint32_t stage)
{
	uint32_t to = back ? stage - 1 : stage + 1;

	return to >= p->nstages || p->rank_of[to] == p->rank_of[stage] ? NONE : to;
}

/* The stage at the other end of a send's or receive's message. */
static inline uint32_t pipe_peer_stage(const struct pipe_action *x)
{
	return !(x->does & PIPE_BACK) == !(x->does & PIPE_RECEIVES) ? x->stage + 1 : x->stage - 1;
}

/* Behind the last action of the bracket at row i. */
static inline uint32_t pipe_bracket_end(const struct pipe *p, uint32_t i)
{
	for (i++; i < p->n && p->v[i].joined; i++)
		;
	return i;
}

/** An action that stands for itself, without its place. In the arena. */
struct pipe_action pipe_new(struct arena *a, enum pipe_kind k, uint32_t stage, uint32_t mb);

/** Reads a text that is one of c->sources. E0604, E0501, with line and column. NULL: it is no such text.
 *  O(bytes). */
struct pipe *pipe_read(struct ctx *c, struct source *source);

/** Whether the text is complete, each action behind those of its rank that it needs, and its local
 *  actions in an order that PyTorch takes; fills in what is not read. E0605, E0606. O(actions +
 *  stages * microbatches). */
bool pipe_sound(struct ctx *c, struct pipe *p);

/** Fills in the rows; also of an edited text. O(actions + ranks + stages * microbatches). */
void pipe_index(struct arena *a, struct pipe *p);

/** Whether each action of a complete text stands behind those of its rank that it needs. E0605.
 *  O(actions). */
bool pipe_ordered(struct ctx *c, const struct pipe *p);

/** The text with messages, from one of computations alone that is sound. NULL: computations wait
 *  for one another, which is reported (E0304). O(actions + turns * ranks / 64). */
struct pipe *pipe_lower(struct ctx *c, const struct pipe *p);

/** Writes it as `_dump_csv` does. O(actions). */
void pipe_print(const struct pipe *p, FILE *out);

/** The program of a sound text, for one kind of streams or STREAMS_NONE, matched; tasks 0 .. nranks - 1
 *  are the queues of computations, sites are the actions. All in c->scratch. O(actions). */
struct program *pipe_program(struct ctx *c, const struct pipe *p, enum pipe_streams streams);

/** The number of messages of its program that meet a receive of another name; E0607 if `report`. */
uint32_t pipe_swapped(struct ctx *c, const struct pipe *p, struct program *prog, bool report);

/** Adds to `d`, a deadlock at c->slots, the edits that end it, if some that are tried do. O(edits *
 *  actions). */
void pipe_cure(struct ctx *c, const struct pipe *p, enum pipe_streams streams, struct diag *d);

/* Figures in the order of the table's columns; below 0: there is none. Ranks, stages and microbatches are before these;
 * the last four are of a run of the computations alone, in units. */
enum { PIPE_SWAPPED = 3, PIPE_LEAST, PIPE_IN_FLIGHT = PIPE_LEAST + NSTREAMS };
enum { PIPE_HELD = PIPE_IN_FLIGHT + 1, PIPE_UNITS, PIPE_IDLE, PIPE_FIGURES };

struct pipe_verdict {
	const struct pipe *p;
	bool lowered;	       /* its messages are those of pipe_lower() */
	bool right;	       /* none is swapped, and it finishes as was asked */
	struct sheet_pipe row; /* of the table */
};

/** Fills in the verdict but for `lowered`. Reports swapped messages (E0607) and, for `streams`, a deadlock at
 *  c->slots (E0304). O(actions) a run, O(log) runs. */
void pipe_judge(struct ctx *c, const struct pipe *p, enum pipe_streams streams,
		struct pipe_verdict *v);

/* What computations and messages take. */
struct pipe_cost {
	double work[PIPE_W + 1]; /* us, by enum pipe_kind */
	struct machine *machine; /* NULL: messages take no time */
	double bytes;		 /* of a message */
};
/* F, I and W take one us, which is a unit then, B two; messages none. */
extern const struct pipe_cost pipe_in_units;

/* In us. */
struct pipe_times {
	double *start;	    /* [n] by action; below 0: it has not started; of waits always */
	double *end;	    /* ... of computations; below 0: it has not ended */
	double whole;	    /* until all is over */
	double length;	    /* the last end of a computation */
	double most;	    /* of all computations of a rank, the most */
	double idle;	    /* the share of the ranks that compute that is idle */
	uint32_t held;	    /* the most activations that a rank holds at once */
	uint32_t in_flight; /* the most messages from a rank to another, sent and not taken */
	enum pipe_streams streams;
	struct program *program;
	struct predicted predicted; /* it is `over` if there is no deadlock */
};

/** Runs it, as far as it goes, with c->slots; with STREAMS_NONE the computations alone, as if no message
 *  were waited for in a queue. A message without a path on the machine is reported (E0702). In c->scratch.
 *  O(actions log actions). */
struct pipe_times pipe_times(struct ctx *c, const struct pipe *p, enum pipe_streams streams,
			     const struct pipe_cost *cost);

/** Draws it as text, SVG or a page, with the errors of c->diags. `of`: what its times are, in words, if
 *  they are microseconds; NULL: units. Returns why it cannot be drawn, or NULL. O(actions). */
const char *pipe_draw(struct ctx *c, const struct pipe *p, const struct pipe_times *t,
		      const char *of, const struct shown *view, FILE *out);

/** "4 ranks, 4 stages, 8 microbatches" */
const char *pipe_sizes(struct arena *a, const struct pipe *p);

/** Prints the verdict, as text or a JSON object. `eager`: bytes that are buffered for a pair of
 *  ranks. False: no memory. */
bool pipe_report(struct ctx *c, const struct pipe_verdict *v, uint64_t eager, bool json, FILE *out);

#endif
