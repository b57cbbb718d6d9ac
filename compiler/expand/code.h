/*
 * Bytecode for one instance of a schedule, and the cursor that runs it.
 *
 *   code.c       functions of the code, constants, names' bindings
 *   code_expr.c  expressions -> three-address instructions
 *   code_fn.c    calls of fns
 *   code_stmt.c  statements -> instructions
 *   code_call.c  procs and their calls
 *   cursor.c     runs one rank's code; yields its operations
 *   cursor_op.c, cursor_slow.c  its rarer instructions
 *
 * N and the parameters are constants by the time that code is made, so what
 * depends on them alone is folded. A function's registers lie in a window of
 * one stack of int64. Registers 0-3 of a function are its context: the rank's
 * number in the group, the group's size, and first and stride with which
 * numbers in the group become numbers of the whole program.
 */
#ifndef CCS_COMPILER_EXPAND_CODE_H
#define CCS_COMPILER_EXPAND_CODE_H

#include "compiler/expand/expand.h"

#define LIMIT_CELLS (1u << 27) /* cells of all ranks, E0501 */
#define LIMIT_TASKS (1u << 21) /* main lines and blocks of pars, of all ranks, E0501 */
#define LIMIT_REGISTERS 60000u /* names alive at once in one function, E0501 */
#define LIMIT_CODE (1u << 26)  /* instructions, E0501 */
#define LIMIT_STACK (1u << 25) /* registers of all active calls, E0204 */
#define LIMIT_LINKS \
	(1u << 25)		   /* links that the topology's body meets on one rank, and
					   that it has of other ranks, E0501 */
#define LIMIT_TERMS (1u << 24)	   /* contributions in one value of a contract, E0501 */
#define LIMIT_ALL_TERMS (1u << 26) /* contributions in all values, before runs are made, E0501 */
#define LIMIT_RUNS (1u << 25)	   /* runs of contributions in a contract, E0501 */
#define LIMIT_NESTING 2000u	   /* nesting of an expression or of statements, E0204 */
#define LIMIT_REPORTS (1u << 20)   /* mistakes (ranks times places) after which a run ends */

/* d, a, b: registers of the window. */
enum insn_op {
	I_LDI,	 /* d = imm */
	I_MOV,	 /* d = a */
	I_WHOLE, /* d = rank in the whole program */
	/* d = a op b */
	I_ADD,
	I_SUB,
	I_MUL,
	I_DIV,
	I_MOD,
	I_SHL,
	I_SHR,
	I_BAND,
	I_BOR,
	I_BXOR,
	I_EQ,
	I_NE,
	I_LT,
	I_LE,
	I_MIN,
	I_MAX,
	/* d = a op imm; RSUBI: imm - a; SARI: a >> imm, 0 <= imm < 64 */
	I_ADDI,
	I_RSUBI,
	I_MULI,
	I_DIVI,
	I_MODI,
	I_BANDI,
	I_SARI,
	I_EQI,
	I_NEI,
	I_LTI,
	I_LEI,
	I_GTI,
	I_GEI,
	/* d = (a + b + k) mod m, (a - b + k) mod m, (a + k) mod m */
	I_ADDMOD,
	I_SUBMOD,
	I_ADDIMOD,
	/* d = op a */
	I_NOT,
	I_COMPL,
	I_NEG,
	I_BOOL,
	I_ABS,
	I_ILOG2,
	I_CLOG2,
	I_ISPOW2,
	I_POPCOUNT,
	I_CTZ,
	/* jumps to m; on a op b, or on a op k */
	I_JMP,
	I_JZ,
	I_JNZ,
	I_JEQ,
	I_JNE,
	I_JLT,
	I_JLE,
	I_JEQI,
	I_JNEI,
	I_JLTI,
	I_JLEI,
	I_JGTI,
	I_JGEI,
	/* d: variable, d + 1: limit, d + 2: step (the S forms). ENTER leaves to m if
	 * there is no iteration, NEXT goes back to m while there is one more; k is
	 * the weight of an iteration. */
	I_ENTER,
	I_NEXT,
	I_ENTERS,
	I_NEXTS,
	/* d = entry a of a table of m: the constants from k on, the registers from b on */
	I_ENTRY,
	I_ENTRYR,
	/* fn: window of the callee starts at d, its result comes to d */
	I_CALLF, /* m: function */
	I_RETF,	 /* a: the result */
	/* messages of one chunk: a index, b peer, m site. I_MESSAGE: of a buffer of the
	 * schedule, to or from a rank of the whole program, its place in its step known */
	I_MESSAGE,
	I_MESSAGEV,
	I_OP,	     /* any operation: m site */
	I_STEP,	     /* a step begins */
	I_CHANNEL,   /* d = channel so far; channel = a; wrong: to m */
	I_UNCHANNEL, /* channel = a */
	I_WITHIN, /* a..a+2: first, count, stride; b: context; d..d+3: the group's; not in it: to m */
	I_GROUP, /* the same for row k of groups; a: its registers, if it has them */
	I_LEAVE, /* the block of context d ends */
	I_PAR,
	I_BLOCK /* a: its number */,
	I_BLOCKEND,
	I_PAREND,
	I_REF,	/* operand k: d, d+1 = cells [lo, n); wrong: to m */
	I_CALL, /* proc m; window at d, context at a, k: row of stmts */
	I_RET,
	I_VIEW,	    /* view d (lo, cells, parts) -> (lo, part, parts); k: argument, for messages */
	I_SAMEPART, /* parts a and b must be equal: a scratch needs one size */
	I_WHERE,    /* a must hold at a call, else it is skipped; k: 1 the topology's */
	I_MARK,	    /* d = cells of scratch in use */
	I_RELEASE,  /* scratch in use = a */
	I_SCRATCH,  /* d: (lo = new, part, parts); m: site */
	I_ASSERT,   /* a must hold; k: row of stmts */
	I_LINK,	    /* link a -> b */
	I_TERM,	    /* initial chunk a on rank b; k: row of terms */
	I_TERMS,    /* initial chunk a on ranks b .. b + 1 (registers, half-open); k likewise */
	I_VALUE,    /* evaluation ends with a */
	I_END	    /* the rank is done */
};

struct insn {
	uint16_t op;
	uint16_t d, a, b;
	union {
		int64_t imm;
		struct {
			int32_t k;
			uint32_t m;
		};
	};
};

/* Chunks that an operation or an argument names. */
struct operand {
	const struct ref *ref;
	uint16_t block, lo, hi; /* registers of the block, and of the index or the bounds */
	uint16_t view;		/* register of (lo, part, parts, inner), or */
	bool is_view;
	bool blocked;	      /* has blocks of `inner` chunks: two brackets */
	bool readonly;	      /* an `in` buffer */
	uint32_t base, count; /* a buffer of the schedule */
	uint32_t inner;
};

/* Entries of a table: constants from `at` on, or registers from `reg` on. */
struct entries {
	bool known;
	uint16_t reg;
	uint32_t at, n;
};

/* The members of a group that a table gives. */
struct group_row {
	struct entries members;
	const struct stmt *stmt;
};

/* One textual operation in one function. */
struct opsite {
	struct op op;	      /* as it will be; op.fifo is the one of (key, at) */
	uint64_t key;	      /* (rank + 1) << 32 ^ peer */
	uint64_t at;	      /* path << 32 | channel */
	uint32_t base, count; /* of x, for I_MESSAGE */
	struct operand x, y;
	uint16_t peer;	   /* register */
	uint16_t g;	   /* context */
	bool whole;	   /* the context is the whole program's */
	bool maybe_joined; /* in a step, and not known whether first in it */
	uint32_t bad;	   /* 1 + last rank that was told off here */
	const struct stmt *stmt;
};

struct func {
	uint32_t entry, end; /* its instructions */
	uint32_t nregs;
	const struct decl *decl; /* proc or schedule; NULL: fn or an expression */
	const struct fn_def *fn;
	int64_t n;		  /* N where known, else -1 */
	bool whole;		  /* called with the whole program's context */
	uint32_t unit;		  /* fn: function whose names it sees */
	struct symbol **captured; /* fn: names of that function that it is given */
	uint32_t ncaptured;
	bool proc; /* called with views; else the instance's own body */
	bool done; /* its code has been made */
};

/* A loop's place in the code, to tell its variable's value from a pc. */
struct loop_row {
	uint32_t lo, hi;
	uint16_t reg;
	const struct symbol *var;
};

enum bind_kind {
	B_NONE,
	B_CONST,  /* value */
	B_REG,	  /* reg */
	B_EXPR,	  /* expr, in the function's own context */
	B_LET,	  /* a topology's let: row `value` of the function's lets */
	B_STATIC, /* buffer `value` of the program */
	B_VIEW,	  /* reg .. reg + 2; reg + 3: chunks in a block, if it has two brackets */
	B_TABLE	  /* of expr->nargs entries: constants from `value` on; -1: registers
			   from reg on */
};

struct bind {
	uint32_t stamp; /* function that it belongs to */
	enum bind_kind kind;
	uint16_t reg;
	int64_t value;
	const struct expr *expr;
};

struct code {
	struct ctx *ctx;
	struct arena *arena;
	struct program *program; /* buffers; sites are added to it */
	int64_t nranks;
	struct insn *insns;
	struct span *spans;
	uint32_t ninsns, capinsns, capspans;
	struct func *funcs;
	uint32_t nfuncs, capfuncs;
	struct opsite *sites;
	uint32_t nsites, capsites;
	struct operand *operands;
	uint32_t noperands, capoperands;
	const struct stmt **stmts;
	uint32_t nstmts, capstmts;
	const struct term **terms;
	uint32_t nterms, capterms;
	int64_t *constants; /* entries of tables */
	uint32_t nconstants, capconstants;
	struct group_row *groups;
	uint32_t ngroups, capgroups;
	struct loop_row *loops;
	uint32_t nloops, caploops;
	struct bind *binds;  /* by symbol */
	uint32_t stamp;	     /* of the function being made */
	uint32_t root_stamp; /* all functions of the whole program share it */
	uint32_t *site_map;  /* hash: statement -> 1 + row of program->sites */
	uint32_t site_cap;
	bool failed; /* a limit was reached; reported */
	bool quiet;  /* report nothing: the code was made before */
};

/* A value while code is made. */
struct val {
	bool known;
	uint16_t reg;
	int64_t k;
};

/* Whose `rank` and `N`. */
struct context {
	uint16_t g;   /* first of the four registers */
	bool whole;   /* numbers are those of the whole program */
	bool outside; /* no registers: rank by I_WHOLE (names of the file) */
	int64_t n;    /* N where known, else -1 */
};

enum step_state { STEP_NOT, STEP_FIRST, STEP_LATER, STEP_UNKNOWN };

/* A topology's let in the function being made. */
struct let_row {
	const struct stmt *stmt;
	uint16_t reg; /* value; reg + 1: made already (unless safe); a table's entries
				   are behind that */
	bool safe;    /* cannot fail: made at the function's beginning, if used */
	bool used;
};

#define INLINE_DEPTH 6

/* The function being made. */
struct gen {
	struct code *code;
	uint32_t func;
	uint32_t unit; /* the function whose names are seen (a fn's: its caller's) */
	struct context at, home;
	uint32_t next, high; /* free register, most used */
	enum step_state step;
	uint32_t depth;
	const struct fn_def *inlined[INLINE_DEPTH];
	uint32_t ninlined;
	struct let_row *lets;
	uint32_t nlets, caplets;
	uint16_t part; /* register of the part size of the views; 0: none */
};

/* ---- code.c */

void code_init(struct code *k, struct ctx *c, struct program *p, bool quiet);
void code_bind(struct code *k, const struct symbol *s, enum bind_kind kind, uint16_t reg,
	       int64_t value, const struct expr *e);
struct bind *code_binding(struct code *k, const struct symbol *s);
uint32_t code_emit(struct gen *g, enum insn_op op, uint16_t d, uint16_t a, uint16_t b, int64_t imm,
		   struct span span);
uint32_t code_emit_km(struct gen *g, enum insn_op op, uint16_t d, uint16_t a, uint16_t b, int32_t k,
		      uint32_t m, struct span span);
/** Lets the jump at `at` go to the next instruction. */
void code_land(struct gen *g, uint32_t at);
uint16_t code_reg(struct gen *g, uint32_t n);
uint32_t code_func(struct code *k);
uint32_t code_site(struct code *k, const struct stmt *s);
uint32_t code_stmt_row(struct code *k, const struct stmt *s);
/** Reports that the code cannot be made; nothing more is reported for it. */
void code_limit(struct code *k, struct span span, int number, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** Binds a topology's top-level names for the function. */
void code_topology_names(struct gen *g, const struct decl *topology);
/** Ends the function's body with `end`, and makes what goes before it: the lets
 *  that were used and cannot fail. `enter` is the jump before the body. */
void code_finish(struct gen *g, enum insn_op end, uint32_t enter, struct span span);
/** Begins a function of the whole program: sees the parameters that are bound. */
struct gen code_root(struct code *k, uint32_t *func);
/** Binds the parameters and lets of d's topology to their expressions. */
void code_bind_topology(struct code *k, const struct decl *d);
struct gen code_gen(struct code *k, uint32_t func, struct context home);
void code_gen_end(struct gen *g);

/** Evaluates an expression that needs no rank. Reports; false on failure. */
bool code_eval(struct code *k, const struct expr *e, int64_t *value);
/** The schedule's body as function 0 of the instance; the procs that it calls. */
uint32_t code_schedule(struct code *k, const struct decl *schedule);
/** A topology's body: I_LINKs. */
uint32_t code_topology(struct code *k, const struct decl *topology);

/** Most cells that a rank may have. */
static inline uint32_t code_most_cells(const struct code *k)
{
	return LIMIT_CELLS / (uint32_t)k->nranks;
}

/* ---- code_expr.c */

/** Value of an expression; if it must be computed, in register `dst`, or in a
 *  new one if `dst` < 0. */
struct val code_expr(struct gen *g, const struct expr *e, int dst);
/** The same, always in a register. */
uint16_t code_expr_reg(struct gen *g, const struct expr *e);
void code_expr_into(struct gen *g, const struct expr *e, uint16_t reg);
uint16_t code_val_reg(struct gen *g, struct val v, struct span span);
/** Jumps away when `e` is false: a chain of jumps to land later. *never: it is
 *  false always (and what follows is not needed). */
uint32_t code_jump_false(struct gen *g, const struct expr *e, bool *never);
/** Lands a chain of jumps here. */
void code_land_all(struct gen *g, uint32_t chain);
/** The entries of an E_TABLE; of what a name stands for. */
struct entries code_table(struct gen *g, const struct expr *table);
struct entries code_table_of(struct gen *g, const struct symbol *s, struct span span);
/** Lets the name stand for these entries of its value. */
void code_bind_table(struct code *k, const struct symbol *s, struct entries t);
/** Whether the expression (or NULL), or a fn that it calls, mentions `s` (or
 *  NULL), or, if so asked, `rank`. */
bool code_mentions(struct arena *a, const struct expr *e, const struct symbol *s, bool rank);
/** The value of a call of a fn (code_fn.c). */
struct val code_fn_call(struct gen *g, const struct expr *e, int dst);
/** Makes the functions of fns that the function called and did not inline. */
void code_fns(struct gen *g);

/* ---- code_stmt.c, code_call.c */

void code_stmts(struct gen *g, const struct stmt *s);
void code_let(struct gen *g, const struct stmt *s);
struct operand code_operand(struct gen *g, const struct ref *r);
/** Registers view + 2, view + 3: the number of parts, and of those in a block. */
void code_parts(struct gen *g, const struct buffer_def *b, uint16_t view);
void code_call(struct gen *g, const struct stmt *s);
/** Makes the functions of all procs that were called so far, and that those call. */
void code_procs(struct code *k);

/* ---- arithmetic, shared by folding and running */

enum fail {
	FAIL_NONE,
	FAIL_OVERFLOW,
	FAIL_DIV,
	FAIL_MOD,
	FAIL_SHIFT,
	FAIL_LOG,
	FAIL_CTZ,
	FAIL_BY,
	FAIL_ENTRY,
	FAIL_DEPTH,
	FAIL_WORK,
	FAIL_STACK
};

static inline enum fail arith_div(int64_t a, int64_t b, int64_t *r)
{
	if (b == 0)
		return FAIL_DIV;
	if (b == -1)
		return __builtin_sub_overflow((int64_t)0, a, r) ? FAIL_OVERFLOW : FAIL_NONE;
	int64_t q = a / b;
	*r = q - (a % b != 0 && (a < 0) != (b < 0));
	return FAIL_NONE;
}

static inline enum fail arith_mod(int64_t a, int64_t b, int64_t *r)
{
	if (b == 0)
		return FAIL_MOD;
	if (b == -1) {
		*r = 0;
		return FAIL_NONE;
	}
	int64_t m = a % b;
	*r = m != 0 && (m < 0) != (b < 0) ? m + b : m;
	return FAIL_NONE;
}

static inline enum fail arith_shl(int64_t a, int64_t b, int64_t *r)
{
	if (b < 0 || b > 63)
		return FAIL_SHIFT;
	*r = (int64_t)((uint64_t)a << b);
	return *r >> b == a ? FAIL_NONE : FAIL_OVERFLOW;
}

static inline enum fail arith_shr(int64_t a, int64_t b, int64_t *r)
{
	if (b < 0 || b > 63)
		return FAIL_SHIFT;
	*r = a >> b;
	return FAIL_NONE;
}

/** One unary instruction (I_NOT .. I_CTZ). */
enum fail arith_unary(enum insn_op op, int64_t a, int64_t *r);
/** One binary instruction (I_ADD .. I_MAX). */
enum fail arith_binary(enum insn_op op, int64_t a, int64_t b, int64_t *r);

#endif
