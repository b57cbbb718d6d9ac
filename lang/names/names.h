/*
 * Inside the resolver: what names.c, names_scope.c, names_decl.c, names_body.c,
 * names_graph.c and unused.c share. Nobody else includes this.
 */
#ifndef CCS_LANG_NAMES_NAMES_H
#define CCS_LANG_NAMES_NAMES_H

#include "lang/lang.h"

/* What a use of a name wants to find: bits. */
enum want {
	WANT_NUMBER = 1,
	WANT_BUFFER = 2,
	WANT_TABLE = 4,
	WANT_ARG = WANT_NUMBER | WANT_BUFFER | WANT_TABLE,
	WANT_FN = 8,
	WANT_CONTRACT = 16,
	WANT_TOPOLOGY = 32,
	WANT_RUN = 64
};

/* A name in scope. */
struct def {
	struct def *hidden; /* the outer definition of the same name that this one hides */
	struct def *below;  /* the one defined before it: the stack of all in scope */
	enum space space;
	const char *name;
	struct symbol *sym; /* SPACE_VALUE */
	struct decl *decl;  /* other spaces; and the declaration of a value of a file */
	struct span span;
	struct span given; /* SPACE_PARAM: where it gets a value */
	uint32_t depth;
};

/* A file's let or fn that is used where `rank` may not be. */
struct rankless_use {
	const struct symbol *sym;
	struct span span;
	const char *what;
};

/* A file's let or fn, and what it uses of these: names_graph.c. */
struct node {
	const struct symbol *symbol;
	struct node *next; /* of all */
	struct edge *uses;
	struct edge *todo;   /* of these, those to follow yet */
	struct node *user;   /* from where the walk came */
	struct node *before; /* the one seen before it whose component is not complete */
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
	struct def *spare; /* definitions that have left the scope, for use again */
	uint32_t depth;
	const char **candidates;
	uint32_t capcandidates;
	uint64_t suggest_work; /* what may still be spent on "did you mean" */

	struct unit **reach; /* what the last walk over imports found */
	uint32_t mark;	     /* of that walk */

	/* where the walk is */
	struct unit *unit;
	bool no_topology; /* that of the declaration is unknown: so are its names */
	const struct decl *other_topology; /* declaration that lacks one, as was reported */
	struct decl *owner;		   /* whose symbols are walked, or NULL: the file's */
	struct node *node;		   /* the file's let or fn whose text is walked, or NULL */
	const char *rankless;	  /* "a buffer's count": `rank` may not stand there; or NULL */
	struct decl *counts;	  /* contract whose counts are walked: new names are counts */
	struct buffer_def *sizes; /* buffer whose sizes are walked: a new name is the index */
	const struct fn_def *fn;  /* whose text is walked, or NULL */
	const struct decl
		*topology_of;	   /* declaration of which the topology's arguments are, or NULL */
	const char *free_index[2]; /* of the left side of an ensures, where they are not known:
					   its condition, and each other; or NULL */

	struct uses *uses_kept; /* that of struct front */
	struct node *nodes;	/* the lets and fns of files */
	struct rankless_use *uses;
	uint32_t nuses, capuses;
};

/* An error at a place; the same, with a note where the name is defined. */
#define NAMES_ERROR(r, code, span, ...) \
	diag_add((r)->d, SEV_ERROR, (code), (span), NO_RANK, __VA_ARGS__)
#define NAMES_MISUSED(r, code, span, name, defined, ...) \
	diag_note((r)->d, NAMES_ERROR(r, code, span, __VA_ARGS__), (defined), \
		  "`%s` is defined here", (name))

/* names.c: into r->reach, the unit and all that it imports, in turn; their number */
uint32_t names_reach(struct resolver *r, struct unit *unit);

/* names_scope.c */
void names_enter(struct resolver *r);
void names_leave(struct resolver *r);
struct def *names_find(enum space space, const char *name);
/* E0202 if the scope has the name already. `sym` or `decl`. */
void names_define(struct resolver *r, enum space space, struct ident name, struct symbol *sym,
		  struct decl *decl);
/* The same for a symbol of the declaration that is walked. */
void names_own(struct resolver *r, struct symbol *sym);
/* There stands a symbol that was not looked for by its name. */
void names_keep(struct resolver *r, struct span span, const struct symbol *sym);
/* The definition that serves, which is used there; or NULL, and E0201. */
struct def *names_wanted(struct resolver *r, struct ident name, enum want want);
/* The name is not what is wanted: E0201. */
void names_unknown(struct resolver *r, struct ident name, enum want want);
/* The nearest of `n` candidates, or NULL. */
const char *names_near(struct resolver *r, const char *name, const char *const *v, uint32_t n);
/* "; did you mean `x`?" or "" */
const char *names_hint(struct resolver *r, const char *near);
enum builtin names_builtin(const char *name);

/* names_body.c */
void names_expr(struct resolver *r, struct expr *e);
void names_rankless_expr(struct resolver *r, struct expr *e, const char *what);
/* A let: in scope behind itself. */
void names_let(struct resolver *r, struct stmt *s);
void names_ref(struct resolver *r, struct ref *ref);
/* E0203: one index for two, or two for one. */
void names_wrong_indices(struct resolver *r, const struct ref *ref);
void names_block(struct resolver *r, struct stmt *body);
void names_fn(struct resolver *r, struct fn_def *fn);

/* `what`, such as "topology ", of that name takes so many arguments. */
struct diag *names_wrong_number(struct resolver *r, const char *what, struct ident name,
				uint32_t taken, uint32_t given, struct span defined);
/* The bindings behind a ';': names are those of the callee's parameters. */
void names_bindings(struct resolver *r, struct binding *given, const struct decl *callee,
		    struct span at, const char *rankless);

/* names_decl.c */
void names_decl(struct resolver *r, struct decl *d);

/* unused.c: W0201 */
void names_unused(struct resolver *r);

/* names_graph.c: lets that need themselves, and `rank` through a let or fn where it may not be */
void names_graph(struct resolver *r);

#endif
