/*
 * Internal to the resolver: shared by names.c, names_scope.c, names_decl.c, names_body.c,
 * names_graph.c and unused.c only.
 */
#ifndef CCS_LANG_NAMES_NAMES_H
#define CCS_LANG_NAMES_NAMES_H

#include "lang/lang.h"

/* The kinds of definitions that a use of a name accepts: bits. */
enum want {
	WANT_NUMBER = 1,
	WANT_BUFFER = 2,
	WANT_TABLE = 4,
	WANT_ARG = WANT_NUMBER | WANT_BUFFER | WANT_TABLE,
	WANT_FN = 8,
	WANT_CONTRACT = 16,
	WANT_TOPOLOGY = 32,
	WANT_RUN = 64,
	WANT_SWITCH = 128
};

/* A name in scope. */
struct def {
	struct def *hidden; /* the outer definition of the same name that this one hides */
	struct def *below;  /* the definition before it, on the stack of all in scope */
	enum space space;
	const char *name;
	struct symbol *sym; /* SPACE_VALUE */
	struct decl *decl;  /* other spaces; and the declaration of a value of a file */
	struct span span;
	struct span given; /* SPACE_PARAM: the place where it gets a value */
	uint32_t depth;
};

/* A file's let or fn that is used where `rank` may not be. */
struct rankless_use {
	const struct symbol *sym;
	struct span span;
	const char *what;
};

/* A file's let or fn, with its uses of others: names_graph.c. */
struct node {
	const struct symbol *symbol;
	struct node *next; /* of all */
	struct edge *uses;
	struct edge *todo;   /* the edges that the walk has not followed */
	struct node *user;   /* the node from which the walk came */
	struct node *before; /* the node before it on Tarjan's stack */
	uint32_t number;     /* in the order of discovery, from 1; 0: not seen */
	uint32_t low;
	bool closed; /* its component is complete */
	bool rank;   /* uses rank */
};

struct edge {
	struct edge *next;
	struct node *to;
};

struct resolver {
	struct front *front;
	struct module *m;
	struct arena *arena;
	struct diags *d;

	/* names_scope.c */
	struct def *top;
	struct def *spare; /* definitions that have left the scope, for reuse */
	uint32_t depth;
	const char **candidates;
	uint32_t capcandidates;
	uint64_t suggest_work; /* work that is left for "did you mean" */

	struct unit **reach; /* units that the last walk over imports found */
	uint32_t mark;	     /* number of that walk */

	/* the current place of the walk */
	struct unit *unit;
	bool no_topology; /* the declaration's topology, and so its names, are unknown */
	const struct decl *other_topology; /* the last declaration in which a name of another
					      topology was reported */
	struct decl *owner;		   /* the owner of new symbols, or NULL: the file */
	struct node *node;		   /* the file's let or fn that is walked, or NULL */
	const char *rankless;		   /* "a buffer's count": a text without `rank`; or NULL */
	struct decl *counts;	  /* in counts of this contract: new names are counts; or NULL */
	struct buffer_def *sizes; /* in sizes of this buffer: a new name is the index; or NULL */
	const struct fn_def *fn;  /* in the text of this fn; or NULL */
	const struct decl
		*topology_of;	   /* in the arguments of this declaration's topology; or NULL */
	const char *free_index[2]; /* of the left side of an ensures, where they are not known:
					   its condition, and each other; or NULL */

	struct uses *uses_kept; /* that of struct front */
	struct node *nodes;	/* the lets and fns of files */
	struct rankless_use *uses;
	uint32_t nuses, capuses;
};

/* Reports an error; and one with a note at the name's definition. */
#define NAMES_ERROR(r, code, span, ...) \
	diag_add((r)->d, SEV_ERROR, (code), (span), NO_RANK, __VA_ARGS__)
#define NAMES_MISUSED(r, code, span, name, defined, ...) \
	diag_note((r)->d, NAMES_ERROR(r, code, span, __VA_ARGS__), (defined), \
		  "`%s` is defined here", (name))

/* names.c: fills r->reach with the unit and all its direct and indirect imports; their number */
uint32_t names_reach(struct resolver *r, struct unit *unit);

/* names_scope.c */
void names_enter(struct resolver *r);
void names_leave(struct resolver *r);
struct def *names_find(enum space space, const char *name);
/* Defines a name as `sym` or `decl`; E0202 if the scope has it already. */
void names_define(struct resolver *r, enum space space, struct ident name, struct symbol *sym,
		  struct decl *decl);
/* Defines a symbol of the current declaration. */
void names_own(struct resolver *r, struct symbol *sym);
/* Records a use of a symbol that was found without a lookup. */
void names_keep(struct resolver *r, struct span span, const struct symbol *sym);
/* Looks up a definition of a wanted kind, and marks it as used; or NULL, and E0201. */
struct def *names_wanted(struct resolver *r, struct ident name, enum want want);
/* Reports that the name has no definition of a wanted kind: E0201. */
void names_unknown(struct resolver *r, struct ident name, enum want want);
/* The nearest of `n` candidates, or NULL. */
const char *names_near(struct resolver *r, const char *name, const char *const *v, uint32_t n);
/* "; did you mean `x`?" or "" */
const char *names_hint(struct resolver *r, const char *near);
enum builtin names_builtin(const char *name);

/* names_body.c */
void names_expr(struct resolver *r, struct expr *e);
void names_rankless_expr(struct resolver *r, struct expr *e, const char *what);
/* Resolves a let or fn: a let is in scope after its statement. */
/** A sum over a table: its range is that of the table's entries, and its variable stands for the entry,
 *  in the scope that the caller has opened. */
void names_sum_over(struct resolver *r, struct term *t);
void names_let(struct resolver *r, struct stmt *s);
void names_ref(struct resolver *r, struct ref *ref);
/* E0203: one index for two, or two for one. */
void names_wrong_indices(struct resolver *r, const struct ref *ref);
void names_block(struct resolver *r, struct stmt *body);
void names_fn(struct resolver *r, struct fn_def *fn);

/* Reports the wrong number of arguments of `what` ("topology ") and that name. */
struct diag *names_wrong_number(struct resolver *r, const char *what, struct ident name,
				uint32_t taken, uint32_t given, struct span defined);
/* Resolves the bindings after a ';', which name the callee's parameters. */
void names_bindings(struct resolver *r, struct binding *given, const struct decl *callee,
		    struct span at, const char *rankless);
/** Appends a parameter with its value to the list that ends at `end`; returns its new end. */
struct binding **names_bind(struct resolver *r, struct binding **end, const struct binding *param,
			    struct expr *value);

/* names_decl.c */
void names_decl(struct resolver *r, struct decl *d);

/* unused.c: W0201 */
void names_unused(struct resolver *r);

/* names_graph.c: reports lets that depend on themselves, and `rank` used through a let or fn where
 * it is not allowed. */
void names_graph(struct resolver *r);

#endif
