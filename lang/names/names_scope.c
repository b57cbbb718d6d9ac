/*
 * Scopes: finds the definition of a name, or reports that there is none.
 *
 * Each name has a stack of definitions for each name space, innermost on top; entering and leaving
 * a scope pushes and pops. So a lookup is O(1) however deep the scopes are, and leaving costs
 * O(names defined in the scope). An undefined name gets help and a fix if it is another library's
 * name for a predefined one (size for N), a name of a topology that the schedule is not on, or
 * similar to a visible name. This search reads all names in scope: its total work is bounded
 * (SUGGEST_WORK, names.c), and in a text with too many mistakes the later ones get no help.
 */
#include "lang/keywords.h"
#include "lang/names/names.h"

#include <string.h>

static struct name *name_of(const char *s)
{
	return (struct name *)(uintptr_t)(s - offsetof(struct name, s));
}

struct def *names_find(enum space space, const char *name)
{
	return name_of(name)->top[space];
}

/* Records the place of a use in a file's let or fn, for names_graph.c. */
static void note_use(struct resolver *r, const struct symbol *sym, struct span span)
{
	if (!sym->node)
		return;
	if (r->node)
		r->node->uses =
			ARENA_MAKE(r->arena, struct edge, .next = r->node->uses, .to = sym->node);
	if (r->rankless)
		ARENA_PUSH(r->arena, r->uses, r->nuses, r->capuses) =
			(struct rankless_use){ .sym = sym, .span = span, .what = r->rankless };
}

/* Records a use in the main file, for editors. */
static void keep_use(struct resolver *r, struct span span, const struct def *def)
{
	struct uses *uses = r->uses_kept;

	if (!uses || r->unit != r->m->main || !span.lo)
		return;
	ARENA_PUSH(r->arena, uses->v, uses->n, uses->cap) =
		(struct use){ span, def->span, def->sym, def->decl };
}

void names_keep(struct resolver *r, struct span span, const struct symbol *sym)
{
	keep_use(r, span,
		 &(struct def){ .span = sym->span, .sym = (struct symbol *)(uintptr_t)sym });
}

/* Marks a definition as used, unless the use is in its own text. */
static void use(struct resolver *r, const struct def *def, struct span span)
{
	keep_use(r, span, def);
	if (def->sym) {
		def->sym->used |= !r->node || def->sym->node != r->node;
		note_use(r, def->sym, span);
	}
	if (!def->decl || def->decl == r->owner)
		return;
	def->decl->used = true;
	for (struct unit *u = r->m->units; u && r->unit == r->m->main; u = u->next)
		u->used |= u->source == def->decl->source;
}

void names_enter(struct resolver *r)
{
	r->depth++;
}

void names_leave(struct resolver *r)
{
	while (r->top && r->top->depth == r->depth) {
		struct def *def = r->top;

		struct name *name = name_of(def->name);

		name->top[def->space] = def->hidden;
		if (def->space == SPACE_VALUE) {
			name->gone_from = r->owner;
			name->gone_at = def->span.lo;
			name->gone_length = def->span.hi - def->span.lo;
		}
		r->top = def->below;
		def->below = r->spare;
		r->spare = def;
	}
	r->depth--;
}

/* Two files may contain the same declaration, byte for byte. */
static bool same_text(const struct decl *a, const struct decl *b)
{
	size_t n;

	if (!a || !b || a->source == b->source || a->kind != b->kind ||
	    a->span.hi - a->span.lo != b->span.hi - b->span.lo)
		return a == b;
	n = a->span.hi - a->span.lo;
	return memcmp(a->source->text + (a->span.lo - a->source->base),
		      b->source->text + (b->span.lo - b->source->base), n) == 0;
}

/* ccs(5) 7, E0202 */
static void report_twice(struct resolver *r, const struct def *first, struct ident name,
			 const struct decl *decl)
{
	bool files = decl && first->decl && decl->source != first->decl->source;
	struct diag *g = NAMES_ERROR(r, 202, name.span,
				     files ? "`%s` is defined in two imported files"
					   : "`%s` is defined twice",
				     name.name);

	diag_note(r->d, g, first->span, files ? "the other definition" : "first defined here");
	if (files && decl->source != r->unit->source)
		diag_note(r->d, g, (struct span){ 0 }, "%s imports both", r->unit->source->name);
}

void names_define(struct resolver *r, enum space space, struct ident name, struct symbol *sym,
		  struct decl *decl)
{
	struct def **top, *def;

	if (!name.name)
		return;
	top = &name_of(name.name)->top[space];
	if (*top && (*top)->depth == r->depth) {
		if (!decl || !same_text((*top)->decl, decl))
			report_twice(r, *top, name, decl);
		return;
	}
	def = r->spare;
	if (def)
		r->spare = def->below;
	else
		def = ARENA_NEW(r->arena, struct def);
	*def = (struct def){ .hidden = *top,
			     .below = r->top,
			     .space = space,
			     .name = name.name,
			     .sym = sym,
			     .decl = decl,
			     .span = name.span,
			     .depth = r->depth };
	*top = r->top = def;
	keep_use(r, name.span, def);
}

void names_own(struct resolver *r, struct symbol *sym)
{
	sym->owner = r->owner;
	names_define(r, SPACE_VALUE, (struct ident){ sym->name, sym->span }, sym, NULL);
}

enum builtin names_builtin(const char *name)
{
	size_t n;
	const struct word *v = keyword_builtins(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].text, name) == 0)
			return (enum builtin)(BUILTIN_MIN + i);
	return BUILTIN_NONE;
}

#define LIBRARY_WORK 500000u /* of SUGGEST_WORK: searching the library's files for a name */

/* ---- E0201 ---------------------------------------------------------------------- */

/* The kinds of definitions that a use accepts, and their name spaces. */
static const struct kind {
	enum want want;
	enum space space;
	const char *text;
} kinds[] = {
	{ WANT_NUMBER, SPACE_VALUE, "a number" },
	{ WANT_BUFFER, SPACE_VALUE, "a buffer" },
	{ WANT_TABLE, SPACE_VALUE, "a table" },
	{ WANT_ARG, SPACE_VALUE, "a buffer or a number" },
	{ WANT_FN, SPACE_VALUE, "a function" },
	{ WANT_SWITCH, SPACE_VALUE, "a switch" },
	{ WANT_RUN, SPACE_RUN, "a proc or a schedule" },
	{ WANT_TOPOLOGY, SPACE_TOPOLOGY, "a topology" },
	{ WANT_CONTRACT, SPACE_CONTRACT, "a contract" },
};

enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static const struct kind *find_kind(enum want want)
{
	const struct kind *k = kinds;

	while (k->want != want)
		k++;
	return k;
}

/* The WANT_... of a definition; 0: none. */
static enum want kind_of(const struct def *def)
{
	if (def->space == SPACE_VALUE)
		return def->sym->kind == SYM_FN	      ? WANT_FN
		       : def->sym->kind == SYM_SWITCH ? WANT_SWITCH
		       : def->sym->kind == SYM_BUFFER ? WANT_BUFFER
		       : symbol_is_table(def->sym)    ? WANT_TABLE
						      : WANT_NUMBER;
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i].space == def->space)
			return kinds[i].want;
	return (enum want)0;
}

static const char *described(const struct def *def)
{
	if (def->space == SPACE_RUN)
		return def->decl->kind == D_PROC ? "a proc" : "a schedule";
	return find_kind(kind_of(def))->text;
}

struct def *names_wanted(struct resolver *r, struct ident name, enum want want)
{
	struct def *def = names_find(find_kind(want)->space, name.name);

	if (!def || !(kind_of(def) & want)) {
		names_unknown(r, name, want);
		return NULL;
	}
	use(r, def, name.span);
	return def;
}

const char *names_near(struct resolver *r, const char *name, const char *const *v, uint32_t n)
{
	uint64_t work = (uint64_t)n * (strlen(name) + 1);

	if (work > r->suggest_work) {
		r->suggest_work = 0;
		return NULL;
	}
	r->suggest_work -= work;
	return diag_nearest(name, v, n);
}

const char *names_hint(struct resolver *r, const char *near)
{
	return near ? arena_printf(r->arena, "; did you mean `%s`?", near) : "";
}

/* ---- the replacement for an undefined name --------------------------------------- */

/* Other libraries' names for things that are predefined here. */
static const struct known {
	const char *names;
	enum want want;
	const char *write; /* its equivalent; NULL: there is none */
	const char *help;
} known[] = {
	{ "size nranks nRanks n_ranks num_ranks world_size comm_size nprocs nproc num_gpus ranks n",
	  WANT_NUMBER, "N", NULL },
	{ "my_rank myrank rank_id Rank me self", WANT_NUMBER, "rank", NULL },
	{ "True TRUE", WANT_NUMBER, "true", NULL },
	{ "False FALSE", WANT_NUMBER, "false", NULL },
	{ "None NULL", WANT_NUMBER, NULL, "every value is a number; there is no null value" },
	{ "pow", WANT_FN, NULL, "there is no power operator; 2 to the k is 1 << k" },
	{ "mod", WANT_FN, NULL, "the remainder is a % b, and never negative" },
	{ "log2", WANT_FN, NULL, "ilog2 rounds down, clog2 up" },
	{ "log", WANT_FN, NULL, "ilog2 is the logarithm to base 2, rounded down, clog2 up" },
	{ "floor int", WANT_FN, NULL, "numbers are integers; a / b rounds down" },
	{ "ceil", WANT_FN, NULL, "numbers are integers; (a + b - 1) / b rounds up" },
	{ "range", WANT_FN, NULL, "write a range as a..b (b is not included)" },
	{ "print printf", WANT_RUN, NULL,
	  "a schedule prints nothing; `ccc explain` shows each step" },
	{ "comm stream MPI_COMM_WORLD MPI_COMM_SELF communicator group pg", WANT_NUMBER, NULL,
	  "a schedule names no communicator and no stream; its caller passes them" },
	{ "ncclFloat ncclFloat32 ncclFloat16 ncclHalf ncclBfloat16 ncclDouble ncclInt ncclInt32 ncclInt64 "
	  "MPI_FLOAT MPI_DOUBLE MPI_INT float32 float16 bfloat16 dtype ncclSum ncclProd ncclMax "
	  "ncclMin MPI_SUM MPI_PROD MPI_MAX MPI_MIN op redop",
	  WANT_NUMBER, NULL,
	  "the caller of the schedule chooses the element type and the operator" },
	{ "local_rank lrank", WANT_NUMBER, NULL,
	  "with `on nodes(G)`, `local` is the rank within a node, and `node` the node" },
	{ "MPI_ANY_SOURCE ANY_SOURCE any_source any anyone", WANT_NUMBER, NULL,
	  "a message has no wildcard: name the sender, as in: for p in 1..N { reduce data from p }" },
	{ "MPI_PROC_NULL PROC_NULL", WANT_NUMBER, NULL,
	  "a rank without a peer leaves the operation out: if rank < N - 1 { send X to rank + 1 }" },
	{ "i j k s", WANT_NUMBER, NULL, "to define a name: for i in 0..K { ... }, or let" },
};

static const struct known *find_known(const char *name, enum want want)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].want == want && word_is_one_of(name, known[i].names))
			return &known[i];
	return NULL;
}

static const char *foreign_call(const char *name, enum want want)
{
	return want == WANT_RUN || want == WANT_FN ? foreign_help(name) : NULL;
}

/* The nearest visible name of a wanted kind, innermost first. */
static const char *nearest(struct resolver *r, const char *name, enum want want)
{
	uint32_t n = 0;

	if (!r->suggest_work || find_known(name, want) || foreign_call(name, want))
		return NULL;
	for (const struct def *def = r->top; def; def = def->below)
		if (kind_of(def) & want)
			ARENA_PUSH(r->arena, r->candidates, n, r->capcandidates) = def->name;
	if (want == WANT_NUMBER && !r->rankless)
		ARENA_PUSH(r->arena, r->candidates, n, r->capcandidates) = "rank";
	size_t nfunctions = 0;
	const struct word *functions = want == WANT_FN ? keyword_builtins(&nfunctions) : NULL;
	for (size_t i = 0; i < nfunctions; i++)
		ARENA_PUSH(r->arena, r->candidates, n, r->capcandidates) = functions[i].text;
	return names_near(r, name, r->candidates, n);
}

static bool topology_has(struct resolver *r, const struct decl *d, const char *name)
{
	for (const struct binding *p = d->params; p; p = p->next)
		if (p->name.name == name)
			return true;
	for (const struct stmt *s = d->body; s && r->suggest_work; s = s->next, r->suggest_work--)
		if ((s->kind == S_LET || s->kind == S_FN) && s->name.name == name)
			return true;
	return false;
}

/* "ring or line": the topologies that define the name; NULL: none, or the work is spent. */
static const char *topologies(struct resolver *r, const char *name)
{
	const char *text = NULL;

	for (const struct def *def = r->top; def && r->suggest_work; def = def->below) {
		r->suggest_work--;
		if (def->space == SPACE_TOPOLOGY && topology_has(r, def->decl, name))
			text = text ? arena_printf(r->arena, "%s or %s", def->name, text)
				    : def->name;
	}
	return text;
}

/* The value of a name in the topology that is defined first; NULL: it has none there. */
static const struct expr *value_in_topologies(struct resolver *r, const char *name)
{
	const struct expr *value = NULL;

	for (const struct def *def = r->top; def; def = def->below)
		for (const struct stmt *s = def->space == SPACE_TOPOLOGY ? def->decl->body : NULL;
		     s; s = s->next)
			if (s->kind == S_LET && s->name.name == name)
				value = s->e;
	return value;
}

/* Whether the name was reported already: each name is reported once in a declaration. If the
 * topology is unknown, no names are reported, as it may define them; of the names of another
 * topology, only the first is reported. */
static bool is_told(struct resolver *r, struct ident name, enum want want, const char *near)
{
	const struct decl **told = &name_of(name.name)->unknown_in;

	if (r->no_topology && !near && (want == WANT_NUMBER || want == WANT_FN))
		return true;
	if (!r->owner)
		return false;
	if (r->other_topology == r->owner && !near && topologies(r, name.name))
		return true;
	if (*told == r->owner)
		return true;
	*told = r->owner;
	return false;
}

/* Help for a name that was defined in a block that has ended. */
static bool help_ended(struct resolver *r, struct diag *g, struct ident name, enum want want)
{
	const struct name *n = name_of(name.name);

	if (!r->owner || n->gone_from != r->owner || want == WANT_RUN)
		return false;
	diag_note(r->d, g, (struct span){ n->gone_at, n->gone_at + n->gone_length },
		  "`%s` is defined here, and its block has ended", name.name);
	diag_help(r->d, g,
		  want & WANT_NUMBER
			  ? "define it before the block; a value that depends on a condition: "
			    "let x = E ? a : b"
			  : "define it before the block");
	return true;
}

/* "allreduce, broadcast" */
static const char *names_of(struct resolver *r, enum space space)
{
	enum { MOST = 20 };
	const char *text = "";
	int n = 0;

	for (const struct def *def = r->top; def && n <= MOST; def = def->below)
		if (def->space == space && ++n <= MOST)
			text = arena_printf(r->arena, "%s%s%s", def->name, *text ? ", " : "", text);
	return n > MOST ? arena_printf(r->arena, "..., %s", text) : text;
}

/* Help for a name of another file, and for names that may not be used in a fn or in the arguments of
 * a topology. */
static bool help_scope(struct resolver *r, struct diag *g, struct ident name, enum want want)
{
	const char *list = "", *file;

	file = want == WANT_RUN && r->suggest_work > LIBRARY_WORK
		       ? lang_file_with(r->front, r->unit, name.name)
		       : NULL;
	r->suggest_work -= want == WANT_RUN && r->suggest_work > LIBRARY_WORK ? LIBRARY_WORK : 0;
	if (file) {
		diag_help(r->d, g, "another file has it: import \"%s\"", file);
		return true;
	}
	if (want == WANT_CONTRACT) {
		diag_help(
			r->d, g,
			"the contracts are %s; to define one: contract %s(inout d[C]) ensures ...",
			names_of(r, SPACE_CONTRACT), name.name);
		return true;
	}
	if (want != WANT_NUMBER || (!r->fn && !r->topology_of))
		return false;
	for (uint32_t i = 0; r->fn && i < r->fn->nparams; i++)
		list = arena_printf(r->arena, "%s%s`%s`", list, *list ? ", " : "",
				    r->fn->params[i]->name);
	if (r->fn && *list && !r->owner)
		diag_help(r->d, g, "%s %s",
			  r->front->formula    ? "the names here are `rank`, `N`,"
			  : r->fn->nparams > 1 ? "this fn has the parameters"
					       : "this fn has the parameter",
			  list);
	if (r->fn)
		return *list && !r->owner;
	const struct binding *p = r->topology_of->params;
	const char *such =
		p && !p->next ? arena_printf(r->arena, ", as in `N / %s`", p->name.name) : "";
	for (; p; p = p->next)
		list = arena_printf(r->arena, "%s%s%s%s, ", list, p->name.name,
				    p->value ? " = " : "",
				    p->value ? lang_expr_text(r->arena, p->value) : "");
	diag_help(r->d, g,
		  "an argument of a topology has numbers, N, and parameters of the schedule%s; one "
		  "more is declared so: schedule %s(%s%s = 2)",
		  such, r->topology_of->name.name, list, name.name);
	return true;
}

static void add_help(struct resolver *r, struct diag *g, struct ident name, enum want want,
		     const char *near)
{
	const struct known *k = find_known(name.name, want);
	const char *where, *foreign = foreign_call(name.name, want);
	const struct expr *value;
	const struct decl *own;

	if (help_ended(r, g, name, want))
		return;
	if (!k && foreign) {
		diag_help(r->d, g, "%s", foreign);
		return;
	}

	if (k && k->write)
		diag_help(r->d, g, "write `%s`", k->write);
	else if (k)
		diag_help(r->d, g, "%s", k->help);
	if (k)
		near = k->write;
	if (near)
		diag_fix(r->d, g, name.span, "%s", near);
	if (k || near || help_scope(r, g, name, want))
		return;
	if (want == WANT_BUFFER && r->owner && r->owner->kind == D_PROC) {
		diag_help(r->d, g,
			  "a proc sees its own parameters only: add %s[K] to those of %s, and %s "
			  "to its calls",
			  name.name, r->owner->name.name, name.name);
		return;
	}
	if (want == WANT_BUFFER) {
		diag_help(r->d, g,
			  "chunks belong to a buffer of `implements`, or to a scratch: scratch "
			  "%s[K]",
			  name.name);
		return;
	}
	for (const struct binding *p = r->owner && r->owner->contract ? r->owner->contract->params
								      : NULL;
	     p; p = p->next)
		if (p->name.name == name.name) {
			diag_help(r->d, g,
				  "the contract's %s is a parameter of the schedule: schedule %s(R "
				  "= 0) implements %s(...; %s = R), then use `R`",
				  name.name, r->owner->name.name, r->owner->contract->name.name,
				  name.name);
			return;
		}
	where = r->owner && !r->rankless && (want == WANT_NUMBER || want == WANT_FN)
			? topologies(r, name.name)
			: NULL;
	if (!where)
		return;
	own = r->owner->topology;
	value = own && source_at(r->front->sources, own->span.lo) ==
					source_at(r->front->sources, r->owner->span.lo)
			? value_in_topologies(r, name.name)
			: NULL;
	if (value)
		diag_help(r->d, g, "`%s` does not define it: let %s = %s, as in %s", own->name.name,
			  name.name, lang_expr_text(r->arena, value), where);
	else
		diag_help(r->d, g, "a topology defines this name: on %s", where);
	r->other_topology = r->owner;
}

void names_unknown(struct resolver *r, struct ident name, enum want want)
{
	const struct def *other = NULL;
	const char *near;
	struct diag *g;

	if (!name.name)
		return;
	for (size_t i = 0; i < KINDS && !other; i++)
		other = names_find(kinds[i].space, name.name);
	if (other) {
		g = NAMES_ERROR(r, 201, name.span, "`%s` is %s, not %s", name.name,
				described(other), find_kind(want)->text);
		diag_note(r->d, g, other->span, "`%s` is defined here", name.name);
		if (want == WANT_BUFFER && other->sym && other->sym->kind == SYM_PARAM &&
		    r->owner && r->owner->kind == D_PROC)
			diag_help(r->d, g,
				  "a parameter for chunks has their number, such as %s[N]: proc "
				  "%s(%s[N])",
				  name.name, r->owner->name.name, name.name);
		return;
	}
	if (names_builtin(name.name) != BUILTIN_NONE) {
		g = NAMES_ERROR(r, 201, name.span, "`%s` is a built-in function, not %s", name.name,
				find_kind(want)->text);
		diag_help(r->d, g, "a function is used with its arguments: %s",
			  keyword_find(name.name, strlen(name.name))->usage);
		return;
	}
	near = nearest(r, name.name, want);
	if (is_told(r, name, want, near))
		return;
	g = NAMES_ERROR(r, 201, name.span, "unknown name `%s`%s", name.name, names_hint(r, near));
	add_help(r, g, name, want, near);
}
