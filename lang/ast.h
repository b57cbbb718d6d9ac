/*
 * The syntax tree of a `.ccs` text, and the symbols that names resolve to.
 *
 * The parser builds it through one constructor a grammar action (ast.c), and makes the symbol of
 * every definition: let, fn (stmt.var) and its parameters, loop variables, buffers and scratch
 * (buffer_def.sym), number parameters, `i` of sized. The resolver makes the symbols of a contract's
 * counts and of the index of an ensures, which are defined by their use.
 *
 * The resolver (names.c) fills in the fields marked "resolved"; nothing changes the tree
 * afterwards. Lists are linked through `next`. Every node has its span.
 */
#ifndef CCS_LANG_AST_H
#define CCS_LANG_AST_H

#include "lang/base/hash_table.h"
#include "lang/base/source.h"

struct expr;
struct stmt;
struct symbol;
struct decl;
struct unit;

/* ---- names ------------------------------------------------------------- */

/* ccs(5) 3: contracts, topologies, and procs with schedules have separate name spaces. */
enum space {
	SPACE_VALUE,
	SPACE_CONTRACT,
	SPACE_TOPOLOGY,
	SPACE_RUN,
	SPACE_PARAM, /* a callee's parameters, while the bindings after a ';' are walked */
	SPACES
};

/* A name of the text, for all its uses. */
struct name {
	size_t n;
	struct def *top[SPACES];       /* its innermost definitions: names_scope.c */
	const struct decl *unknown_in; /* the last declaration in which it was reported as
					  unknown */
	const struct decl *gone_from;  /* the last declaration with a definition of it in a block
					  that has ended */
	uint32_t gone_at;	       /* ... the offset of that definition */
	uint32_t gone_length;
	char s[];
};

struct ident {
	const char *name; /* the text of a struct name: equal names are equal pointers */
	struct span span;
};

enum symbol_kind {
	SYM_LET,    /* let, of a body, a topology or a file: an expression */
	SYM_FN,	    /* fn */
	SYM_LOOP,   /* variable of for, par for, or sum */
	SYM_PARAM,  /* number parameter of a proc, schedule, topology, contract or fn */
	SYM_BUFFER, /* in, out, inout, a proc's view, scratch */
	SYM_COUNT,  /* a contract's bare count, such as C */
	SYM_SWITCH, /* nodes of a topology */
	SYM_INDEX   /* the free index of an ensures' left side (`i`), and `i` of sized */
};

struct symbol {
	enum symbol_kind kind;
	const char *name;
	struct span span;	   /* of its definition */
	uint32_t id;		   /* dense over the whole compilation, from 0 */
	struct expr *value;	   /* SYM_LET: its expression; SYM_SWITCH: [value], or NULL;
				      resolved: SYM_LOOP of a sum over a table: its entry */
	struct fn_def *fn;	   /* SYM_FN */
	struct buffer_def *buffer; /* SYM_BUFFER */
	struct node *node;	   /* of a file's let or fn: names_graph.c */
	struct decl *owner;	   /* resolved: its proc, schedule, topology or contract; NULL: a
				   name of the file */
	bool used;		   /* resolved */
	bool promised; /* resolved: a schedule's parameter that is the root of its contract */
};

/* ---- expressions --------------------------------------------------------- */

enum expr_kind {
	E_INT,	/* value; also true (1), false (0) */
	E_NAME, /* name */
	E_RANK,
	E_N,
	E_UNARY,  /* op a:  '!' '~' '-' */
	E_BINARY, /* a op b */
	E_COND,	  /* a ? b : c */
	E_CALL,	  /* name(args): a fn or a built-in function */
	E_ENTRY,  /* name[a]; or name[a][b], of a buffer's chunk only */
	E_TABLE,  /* [args]: the value of a let, or a group */
	E_TERM	  /* term: x[e]@q or a sum, in an ensures */
};

enum expr_op {
	OP_NOT,
	OP_COMPL,
	OP_NEG, /* unary */
	OP_OR,
	OP_AND,
	OP_BOR,
	OP_BXOR,
	OP_BAND, /* || && | ^ & */
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_GT,
	OP_LE,
	OP_GE,
	OP_SHL,
	OP_SHR,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD
};

enum builtin {
	BUILTIN_NONE, /* a fn of the text */
	BUILTIN_MIN,
	BUILTIN_MAX,
	BUILTIN_ABS,
	BUILTIN_ILOG2,
	BUILTIN_CLOG2,
	BUILTIN_ISPOW2,
	BUILTIN_POPCOUNT,
	BUILTIN_CTZ,
	BUILTIN_LEN /* of a table: its argument is the name of one */
};

struct expr {
	enum expr_kind kind;
	enum expr_op op; /* E_UNARY, E_BINARY */
	int64_t value;	 /* E_INT */
	struct expr *a, *b, *c;
	struct expr *first; /* of a chain of E_BINARY, except || and &&: its leftmost operand */
	struct expr *up;    /* the next node of the chain, of which this is the left operand */
	struct symbol *sym; /* resolved: E_NAME, E_ENTRY, and E_CALL of a fn */
	struct span span;
	struct expr *next; /* in a list of arguments */
	struct ident name; /* E_NAME, E_CALL, E_ENTRY */
	struct expr *args; /* E_CALL, E_TABLE */
	uint32_t nargs;
	enum builtin builtin; /* resolved: E_CALL */
	struct term *term;    /* E_TERM */
	bool parens;	      /* written in parentheses (kept for the formatter) */
	uint32_t depth;	      /* 1 + that of its deepest operand; at most MAX_DEPTH
				   (parse_support.h), to bound recursion */
};

/* Whether a name stands for a table: a let whose value is one. */
static inline bool symbol_is_table(const struct symbol *s)
{
	return s->kind == SYM_LET && s->value && s->value->kind == E_TABLE;
}

/* A use of chunks: buf, buf[e], buf[lo..hi]; within a block: buf[block][e], buf[block][lo..hi]. If
 * buf has blocks and `block` is NULL, lo and hi are numbers of blocks. */
enum ref_kind { REF_ALL, REF_ONE, REF_RANGE };

struct ref {
	enum ref_kind kind;
	struct span span;
	struct ident name;
	struct expr *block;
	struct expr *lo, *hi; /* REF_ONE: lo; REF_RANGE: both */
	struct symbol *sym;   /* resolved: a SYM_BUFFER */
};

/* ---- statements ---------------------------------------------------------- */

enum stmt_kind {
	S_SEND,	       /* send x to e */
	S_RECV,	       /* recv x from e */
	S_REDUCE_FROM, /* reduce x from e */
	S_COPY,	       /* copy x into y */
	S_REDUCE_INTO, /* reduce x into y; the last one that is an operation */
	S_STEP,	       /* step { body } */
	S_PAR,	       /* par { {..} {..} }: body is a list of S_BLOCK */
	S_PAR_FOR,     /* par for var in e..e2 by e3 { body } */
	S_CHANNEL,     /* channel e { body } */
	S_FOR,	       /* for var in e..e2 by e3 { body } */
	S_IF,	       /* if e { body } else { orelse }; else if: orelse is one S_IF */
	S_WITHIN,      /* within group(e, e2, e3) { body }; within group(e): a table or its name */
	S_CALL,	       /* callee(args; more) */
	S_ASSERT,      /* assert e, "text" */
	S_LET,	       /* let var = e */
	S_FN,	       /* fn */
	S_SCRATCH,     /* scratch t[K] */
	S_BLOCK,       /* { body }, a block of a par */
	/* Of topologies only: */
	S_LINK,	  /* link e -> e2 (bandwidth = .., latency = ..) */
	S_SWITCH, /* switch var, switch var[e] */
	S_COST	  /* cost (call = .., step = .., worker = .., reduce = ..) */
};

/* An argument of a proc call: `buf`, `buf[..]` or a number. `data` alone is parsed as a ref; the
 * resolver makes it an expression if it names a number. */
struct arg {
	struct arg *next;
	struct span span;
	struct ref *ref;   /* a view, or NULL */
	struct expr *expr; /* a number, or NULL */
	/* Resolved: the callee's parameter, a view or a number. */
	struct buffer_def *view;
	struct symbol *number;
};

/* name = value, in `; root = R`, -D, defaults, attributes of a link or cost. */
struct binding {
	struct binding *next;
	struct span span;
	struct ident name;
	struct expr *value;
	double number;	    /* attributes only: value is NULL there */
	struct symbol *sym; /* the parameter's symbol; resolved, except for bindings that define
				   parameters (decl.params) */
};

struct stmt {
	enum stmt_kind kind;
	uint32_t number;  /* dense over the whole compilation, from 0 */
	struct span span; /* the whole statement */
	struct stmt *next;
	struct ref *x, *y; /* operands of operations */
	struct expr *e, *e2, *e3;
	struct stmt *body, *orelse;
	struct symbol *var;	   /* for, par for, let, switch: made by the parser */
	struct ident name;	   /* S_CALL: callee; for, let, fn, scratch, switch: its name */
	struct arg *args;	   /* S_CALL */
	struct binding *more;	   /* S_CALL: after ';'.  S_LINK, S_COST: attributes */
	const char *text;	   /* S_ASSERT, unescaped */
	struct fn_def *fn;	   /* S_FN */
	struct buffer_def *buffer; /* S_SCRATCH */
	struct decl *callee;	   /* resolved: S_CALL, a D_PROC or D_SCHEDULE */
	struct binding *defaults;  /* resolved: S_CALL: the callee's parameters that are not in
				      `more`, with their defaults */
	uint32_t depth;		   /* 1 + that of its deepest inner statement, bounded as in expr */
	bool over; /* for p in a table: var counts its entries, and the body begins with `let p` */
};

struct fn_def {
	struct symbol **params;
	uint32_t nparams;
	struct expr *body;
};

/* ---- declarations ---------------------------------------------------------- */

enum direction { DIR_IN, DIR_OUT, DIR_INOUT, DIR_VIEW, DIR_SCRATCH };

struct buffer_def {
	struct buffer_def *next;
	struct span span;
	enum direction dir;
	struct ident name;
	struct expr *blocks; /* [blocks][count], or NULL: [count] */
	struct expr *count;
	bool by_column;
	bool sized;	      /* sized S[a][b] */
	struct ident table;   /* S */
	struct symbol *index; /* `i` of the size expressions, a SYM_INDEX */
	struct expr *size_a, *size_b;
	struct symbol *sym;
};

/* A parameter of a proc: a view or a number, in order. */
struct param {
	struct param *next;
	struct span span;
	struct buffer_def *view; /* or */
	struct symbol *number;
};

static inline struct symbol *param_symbol(const struct param *p)
{
	return p->view ? p->view->sym : p->number;
}

/* x[e]@q, sum(q in a..b: x[e]@q), sum(q in table: x[e]@q), after(q in a..b) */
enum term_kind { T_INITIAL, T_SUM, T_AFTER };

struct term {
	enum term_kind kind;
	struct span span;
	struct ref *ref;      /* T_INITIAL: a REF_ONE */
	struct expr *at;      /* T_INITIAL: the rank */
	struct symbol *var;   /* T_SUM, T_AFTER */
	struct expr *lo, *hi; /* T_SUM, T_AFTER */
	struct expr *over;    /* T_SUM: NULL, or a table's name or [..]; resolved: var counts its
				 entries from lo, 0, to hi */
	struct term *body;    /* T_SUM */
};

/* left == right, or only right: T_AFTER. Each of left's indices is a free name or
 * any expression. */
struct ensures {
	struct ensures *next;
	struct span span;
	struct expr *cond;	    /* or NULL */
	struct ref *left;	    /* REF_ONE; NULL: T_AFTER */
	struct symbol *block_index; /* resolved: left->block, if free; or NULL */
	struct symbol *index;	    /* resolved: left->lo, if free; or NULL */
	struct term *right;
};

enum decl_kind { D_CONTRACT, D_TOPOLOGY, D_PROC, D_SCHEDULE, D_LET, D_FN, D_IMPORT };

struct decl {
	enum decl_kind kind;
	struct span span;
	struct decl *next; /* in the order of the text */
	struct source *source;
	struct ident name;
	struct binding *params;	       /* schedule, topology, contract: numbers with defaults
					   (value NULL: none, as in topology torus(X, Y)) */
	struct param *formals;	       /* D_PROC */
	struct buffer_def *buffers;    /* D_CONTRACT, D_SCHEDULE */
	struct ident contract_name;    /* D_SCHEDULE */
	struct binding *contract_args; /* D_SCHEDULE: after ';' */
	struct ident topology_name;    /* D_SCHEDULE, D_PROC: name.name == NULL without `on` */
	struct expr *topology_args;
	uint32_t ntopology_args;
	struct expr *where;
	struct ensures *ensures; /* D_CONTRACT */
	struct stmt *body;	 /* D_TOPOLOGY, D_PROC, D_SCHEDULE; D_LET, D_FN: one S_LET, S_FN;
					   D_CONTRACT: its S_LETs */
	const char *path;	 /* D_IMPORT, unescaped */
	struct unit *imported;	 /* D_IMPORT: the unit that was read (imports.c); NULL: failed */
	struct decl *contract;	 /* resolved: D_SCHEDULE */
	struct decl *topology;	 /* resolved: D_SCHEDULE, D_PROC: or NULL (proc without `on`);
					   a schedule without `on` gets the prelude's `full` */
	struct binding *on;	 /* resolved: D_SCHEDULE, D_PROC: the topology's parameters, with
					   their arguments or defaults */
	struct span text_span;	 /* D_IMPORT: the string as written, with its quotes */
	bool used;		 /* resolved: D_PROC, D_SCHEDULE */
};

/* A token, or a comment for the formatter. */
#define COMMENT (-1)
struct lexeme {
	int kind;	  /* as the parser gets it, or COMMENT */
	struct span span; /* of a comment: with // or the stars, without the line end */
};
struct lexemes {
	struct lexeme *v;
	uint32_t n, cap;
};

/* One file. */
struct unit {
	struct unit *next; /* all files read, imports before the file that imports them */
	struct source *source;
	struct decl *decls, **tail;
	struct lexemes lexemes; /* for the formatter, in the order of the text */
	struct unit *older;	/* imports.c: the unit read before it */
	struct decl *todo;	/* imports.c: its first declaration that was not visited */
	uint32_t mark;		/* names.c: the last walk over imports that visited it */
	bool used;		/* resolved: the main file uses one of its definitions */
};

/* All files of one compilation. */
struct module {
	struct arena *arena;
	struct unit *units; /* the prelude first, the main file last */
	struct unit *main;
	uint32_t nsymbols, nstmts;
	struct name **names; /* all: lang_intern */
	uint32_t nnames, capnames;
	struct hash_table spellings; /* of rows of names */
};

#endif
