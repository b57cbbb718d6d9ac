/*
 * The grammar, ccs(5) 3-5: tokens to the syntax tree, one constructor an action.
 *
 * Re-entrant LALR(1) with LAC, without conflicts. Every list (statements, blocks of a par,
 * declarations, ensures) has an error production, so that the text after a mistake is parsed, too;
 * RESYNC in it drops tokens up to a place where parsing can resume (tokens.c). The stack is in the
 * arena. O(tokens).
 */
%define api.pure full
%define api.prefix {ccs_}
%define api.token.prefix {TOK_}
%define api.location.type {struct span}
%define api.value.type union
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {struct parse *ps}

%code requires {
#include "lang/parse_support.h"
}

%code {
int ccs_lex(union CCS_STYPE *lval, struct span *lloc, struct parse *ps);
static void ccs_error(const struct span *at, struct parse *ps, const char *msg);

#define YYLLOC_DEFAULT(cur, rhs, n) \
	((cur) = (n) ? (struct span){ YYRHSLOC(rhs, 1).lo, YYRHSLOC(rhs, n).hi } : \
		       (struct span){ YYRHSLOC(rhs, 0).hi, YYRHSLOC(rhs, 0).hi })

/* Room for the parser's stack, from the arena. A function of the skeleton's that does
 * not know the parser (for its look-ahead stack, of which 20 entries always suffice
 * here: they are the empty rules in a row) sees this NULL instead and gets nothing. */
static struct parse *const ps = NULL;
#define YYMALLOC(n) ((ps) ? arena_alloc((ps)->arena, (n)) : NULL)
#define YYFREE(p) ((void)(p))
#define YYMAXDEPTH 100000

/* Nodes, by their fields. */
#define NEW(type, ...) ARENA_MAKE(ps->arena, struct type, __VA_ARGS__)
#define EXPR(...) ast_expr(ps, (struct expr){ __VA_ARGS__ })
#define BINARY(at, operator, left, right) \
	EXPR(.kind = E_BINARY, .span = (at), .op = (operator), .a = (left), .b = (right))
#define STMT(...) ast_stmt(ps, (struct stmt){ __VA_ARGS__ })
#define LOOP(loop, at, name_, range, inside) \
	STMT(.kind = (loop), .span = (at), .name = (name_), \
	     .var = lang_symbol(ps->module, SYM_LOOP, (name_)), .e = (range).lo, .e2 = (range).hi, \
	     .e3 = (range).by, .body = (inside).first)
#define ADD_NAME(list, name) \
	(ARENA_PUSH(ps->arena, (list).v, (list).n, (list).cap) = lang_symbol(ps->module, SYM_PARAM, (name)))
#define DECL(...) ast_decl(ps, (struct decl){ __VA_ARGS__ })

/* Resumes after a syntax error, or gives up. */
#define RESYNC(mode) \
	do { \
		if (ps->stopped) \
			YYABORT; \
		if (parse_resync(ps, (mode), yychar)) \
			yyclearin; \
		yyerrok; \
	} while (0)
}

%token SCHEDULE "schedule" IMPLEMENTS "implements" ON "on" WHERE "where"
%token IMPORT "import" CONTRACT "contract" ENSURES "ensures" PROC "proc"
%token FN "fn" LET "let" TOPOLOGY "topology" LINK "link" SWITCH "switch" COST "cost" SCRATCH "scratch"
%token IN "in" OUT "out" INOUT "inout" SEND "send" RECV "recv" REDUCE "reduce"
%token COPY "copy" INTO "into" TO "to" FROM "from" STEP "step" PAR "par"
%token FOR "for" BY "by" IF "if" ELSE "else" WITHIN "within" GROUP "group"
%token CHANNEL "channel" ASSERT "assert" SUM "sum" SIZED "sized"
%token RANK "rank" N "N" TRUE "true" FALSE "false"
%token <const char *> IDENT "name" STRING "string"
%token <int64_t> INT "number" BIGINT "9223372036854775808"
%token <double> FLOAT "fraction"
%token ATTR_OPEN "( "
%token FORMULA "an expression alone"
%token DOTDOT ".." ARROW "->"
%token OR "||" AND "&&" EQ "==" NE "!=" LE "<=" GE ">=" SHL "<<" SHR ">>"
%token YYEOF 0 "end of the text"

%precedence NO_LET
%precedence LET
%right '?' ':'
%left OR
%left AND
%left '|'
%left '^'
%left '&'
%left EQ NE
%left '<' '>' LE GE
%left SHL SHR
%left '+' '-'
%left '*' '/' '%'
%precedence UNARY

%nterm <struct ident> ident promised_name attribute_name
%nterm <struct expr *> expr primary atom where value table entries
%nterm <struct expr_list> exprs some_exprs
%nterm <struct ref *> ref chunks
%nterm <struct stmt_list> stmts over block blocks else lets
%nterm <struct stmt *> stmt if
%nterm <struct range> range group
%nterm <struct counts> counts
%nterm <struct arg *> arg
%nterm <struct arg_list> args some_args
%nterm <struct binding *> binding param attribute
%nterm <struct binding_list> bindings more params some_params attributes some_attributes
%nterm <struct binding_list> contract_params
%nterm <struct symbol_list> names some_names
%nterm <struct buffer_def *> buffer
%nterm <struct buffer_def_list> buffers some_buffers
%nterm <enum direction> direction
%nterm <struct param *> formal
%nterm <struct param_list> formals some_formals
%nterm <struct term *> after
%nterm <struct ensures *> clause
%nterm <struct ensures_list> clauses
%nterm <struct applied> on

%%

file:
  decls
| FORMULA expr	{ ast_formula(ps, $2); }
;

/* ---- declarations, ccs(5) 4 ------------------------------------------------- */

decls:
  %empty
| decls decl
| decls ';'
| decls error resync_decl
;

decl:
  IMPORT STRING
	{
		if (ps->bad_string != @2.lo) /* a bad string is not the intended path */
			DECL(.kind = D_IMPORT, .span = @$, .path = $2, .text_span = @2);
	}
| CONTRACT promised_name '(' buffers contract_params ')' lets clauses
	{
		struct decl d = { .kind = D_CONTRACT, .span = @$, .name = $2, .buffers = $4.first,
				  .params = $5.first, .ensures = $8.first };

		ast_contract(ps, d, (struct span){ @1.lo, @6.hi }, $7.first);
	}
| TOPOLOGY ident params where block
	{
		DECL(.kind = D_TOPOLOGY, .span = @$, .name = $2, .params = $3.first, .where = $4,
		     .body = $5.first);
	}
| PROC ident '(' formals ')' on block
	{
		DECL(.kind = D_PROC, .span = @$, .name = $2, .formals = $4.first,
		     .topology_name = $6.name, .topology_args = $6.args.first,
		     .ntopology_args = $6.args.n, .body = $7.first);
	}
| SCHEDULE ident params IMPLEMENTS promised_name '(' buffers more ')' on where block
	{
		DECL(.kind = D_SCHEDULE, .span = @$, .name = $2, .params = $3.first,
		     .contract_name = $5, .buffers = $7.first, .contract_args = $8.first,
		     .topology_name = $10.name, .topology_args = $10.args.first,
		     .ntopology_args = $10.args.n, .where = $11, .body = $12.first);
	}
| LET ident '=' value		{ ast_define(ps, D_LET, ast_let(ps, @$, $2, $4)); }
| FN ident '(' names ')' '=' expr
	{ ast_define(ps, D_FN, ast_fn(ps, @$, $2, $4, $7)); }
| SCHEDULE error resync_head bad_body
| TOPOLOGY error resync_head bad_body
| PROC error resync_head bad_body
;

resync_decl: %empty	{ RESYNC(SKIP_DECL); } ;
resync_head: %empty	{ RESYNC(SKIP_HEAD); } ;
bad_body: %empty | block ;

ident: IDENT		{ $$ = (struct ident){ $1, @1 }; } ;

/* ccs(5) 2: after contract and implements, reduce is a name. */
promised_name:
  ident
| REDUCE	{ $$ = (struct ident){ lang_intern(ps->module, "reduce", 6), @1 }; }
;

on:
  %empty			{ $$ = (struct applied){ 0 }; }
| ON ident			{ $$ = (struct applied){ .name = $2 }; }
| ON ident '(' exprs ')'	{ $$ = (struct applied){ .name = $2, .args = $4 }; }
;

where:
  %empty	{ $$ = NULL; }
| WHERE expr	{ $$ = $2; }
;

params:
  %empty		{ $$ = (struct binding_list){ 0 }; }
| '(' ')'		{ $$ = (struct binding_list){ 0 }; }
| '(' some_params ')'	{ $$ = $2; }
;

some_params:
  param				{ $$ = (struct binding_list){ $1, $1 }; }
| some_params ',' param		{ $$ = $1; LIST_APPEND($$, $3); }
;

param:
  ident			{ $$ = ast_param(ps, @$, $1, NULL); }
| ident '=' expr	{ $$ = ast_param(ps, @$, $1, $3); }
;

contract_params:
  %empty		{ $$ = (struct binding_list){ 0 }; }
| ';' some_params	{ $$ = $2; }
;

buffers:
  %empty		{ $$ = (struct buffer_def_list){ 0 }; }
| some_buffers
;

some_buffers:
  buffer			{ $$ = (struct buffer_def_list){ $1, $1 }; }
| some_buffers ',' buffer	{ $$ = $1; LIST_APPEND($$, $3); }
;

counts:
  '[' expr ']'			{ $$ = (struct counts){ NULL, $2 }; }
| '[' expr ']' '[' expr ']'	{ $$ = (struct counts){ $2, $5 }; }
;

buffer:
  direction ident counts	{ $$ = ast_buffer(ps, @$, $1, $2, $3); }
| buffer BY ident		{ $$ = ast_by_column(ps, $1, $3, @$.hi); }
| buffer SIZED ident '[' expr ']' '[' expr ']'
	{ $$ = ast_sized(ps, $1, (struct span){ @2.lo, @$.hi }, $3, $5, $8); }
;

direction:
  IN		{ $$ = DIR_IN; }
| OUT		{ $$ = DIR_OUT; }
| INOUT		{ $$ = DIR_INOUT; }
;

formals:
  %empty		{ $$ = (struct param_list){ 0 }; }
| some_formals
;

some_formals:
  formal			{ $$ = (struct param_list){ $1, $1 }; }
| some_formals ',' formal	{ $$ = $1; LIST_APPEND($$, $3); }
;

formal:
  ident			{ $$ = NEW(param, .span = @$, .number = lang_symbol(ps->module, SYM_PARAM, $1)); }
| ident counts
	{ $$ = NEW(param, .span = @$, .view = ast_buffer(ps, @$, DIR_VIEW, $1, $2)); }
;

/* Lets without an ensures after them belong to the file: ast_contract. */
lets:
  %empty			{ $$ = (struct stmt_list){ 0 }; }
| lets LET ident '=' value
	{ $$ = $1; LIST_APPEND($$, ast_let(ps, (struct span){ @2.lo, @$.hi }, $3, $5)); }
;

clauses:
  %empty %prec NO_LET		{ $$ = (struct ensures_list){ 0 }; }
| clauses clause		{ $$ = $1; if ($2) LIST_APPEND($$, $2); }
| clauses ENSURES error resync_ensures
;

resync_ensures: %empty	{ RESYNC(SKIP_ENSURES); } ;

/* An equation is parsed as an expression until its clause is complete, as a condition may begin in
 * the same way. */
clause:
  ENSURES expr			{ $$ = ast_ensures(ps, @$, NULL, $2); }
| ENSURES expr ':' expr		{ $$ = ast_ensures(ps, @$, $2, $4); }
| ENSURES after			{ $$ = NEW(ensures, .span = @$, .right = $2); }
| ENSURES expr ':' after	{ $$ = NEW(ensures, .span = @$, .cond = $2, .right = $4); }
;

after:
  ident '(' ident IN expr DOTDOT expr ')'
	{ $$ = ast_after(ps, @$, $1, $3, $5, $7); }
;

/* ---- statements, ccs(5) 5 ----------------------------------------------------- */

block: '{' stmts '}'	{ $$ = $2; } ;

stmts:
  %empty		{ $$ = (struct stmt_list){ 0 }; }
| stmts stmt		{ $$ = $1; LIST_APPEND($$, $2); }
| stmts over		{ $$ = $1; LIST_APPEND($$, $2.first); $$.last = $2.last; }
| stmts ';'
| stmts error resync_stmt bad_tail
;

resync_stmt: %empty	{ RESYNC(SKIP_STMT); } ;
bad_tail: %empty | block else ;

stmt:
  SEND ref TO expr	{ $$ = STMT(.kind = S_SEND, .span = @$, .x = $2, .e = $4); }
| RECV ref FROM expr	{ $$ = STMT(.kind = S_RECV, .span = @$, .x = $2, .e = $4); }
| REDUCE ref FROM expr	{ $$ = STMT(.kind = S_REDUCE_FROM, .span = @$, .x = $2, .e = $4); }
| COPY ref INTO ref	{ $$ = STMT(.kind = S_COPY, .span = @$, .x = $2, .y = $4); }
| REDUCE ref INTO ref	{ $$ = STMT(.kind = S_REDUCE_INTO, .span = @$, .x = $2, .y = $4); }
| STEP block		{ $$ = STMT(.kind = S_STEP, .span = @$, .body = $2.first); }
| PAR '{' blocks '}'	{ $$ = STMT(.kind = S_PAR, .span = @$, .body = $3.first); }
| PAR FOR ident range block	{ $$ = LOOP(S_PAR_FOR, @$, $3, $4, $5); }
| FOR ident range block		{ $$ = LOOP(S_FOR, @$, $2, $3, $4); }
| CHANNEL expr block
	{ $$ = STMT(.kind = S_CHANNEL, .span = @$, .e = $2, .body = $3.first); }
| if
| WITHIN GROUP '(' group ')' block
	{
		$$ = STMT(.kind = S_WITHIN, .span = @$, .e = $4.lo, .e2 = $4.hi, .e3 = $4.by,
			  .body = $6.first);
	}
| ident '(' args more ')'
	{
		$$ = STMT(.kind = S_CALL, .span = @$, .name = $1, .args = $3.first,
			  .more = $4.first);
	}
| ASSERT expr ',' STRING	{ $$ = STMT(.kind = S_ASSERT, .span = @$, .e = $2, .text = $4); }
| LET ident '=' value	{ $$ = ast_let(ps, @$, $2, $4); }
| FN ident '(' names ')' '=' expr	{ $$ = ast_fn(ps, @$, $2, $4, $7); }
| SCRATCH ident counts
	{
		$$ = STMT(.kind = S_SCRATCH, .span = @$, .name = $2,
			  .buffer = ast_buffer(ps, @$, DIR_SCRATCH, $2, $3));
	}
| LINK expr ARROW expr attributes
	{ $$ = STMT(.kind = S_LINK, .span = @$, .e = $2, .e2 = $4, .more = $5.first); }
| SWITCH ident			{ $$ = ast_switch(ps, @$, $2, NULL); }
| SWITCH ident '[' expr ']'	{ $$ = ast_switch(ps, @$, $2, $4); }
| COST ATTR_OPEN some_attributes ')'
	{ $$ = STMT(.kind = S_COST, .span = @$, .more = $3.first); }
;

blocks:
  %empty		{ $$ = (struct stmt_list){ 0 }; }
| blocks block
	{ $$ = $1; LIST_APPEND($$, STMT(.kind = S_BLOCK, .span = @2, .body = $2.first)); }
| blocks error resync_par
;

resync_par: %empty	{ RESYNC(SKIP_PAR); } ;

if: IF expr block else
	{
		$$ = STMT(.kind = S_IF, .span = @$, .e = $2, .body = $3.first,
			  .orelse = $4.first);
	}
;

over:
  FOR ident IN table block	{ $$ = ast_over(ps, @$, S_FOR, $2, $4, $5.first); }
| PAR FOR ident IN table block	{ $$ = ast_over(ps, @$, S_PAR_FOR, $3, $5, $6.first); }
;

table:
  ident			{ $$ = EXPR(.kind = E_NAME, .span = @$, .name = $1); }
| entries
;

else:
  %empty		{ $$ = (struct stmt_list){ 0 }; }
| ELSE if		{ $$ = (struct stmt_list){ $2, $2 }; }
| ELSE block		{ $$ = $2; }
;

range:
  IN expr DOTDOT expr		{ $$ = (struct range){ $2, $4, NULL }; }
| IN expr DOTDOT expr BY expr	{ $$ = (struct range){ $2, $4, $6 }; }
;

/* Members of a group: first, count, stride, which is 1 where it is left out; or a table. */
group:
  expr ',' expr ',' expr	{ $$ = (struct range){ $1, $3, $5 }; }
| expr ',' expr
	{ $$ = (struct range){ $1, $3, EXPR(.kind = E_INT, .span = @3, .value = 1) }; }
| value				{ $$ = (struct range){ $1, NULL, NULL }; }
;

args:
  %empty		{ $$ = (struct arg_list){ 0 }; }
| some_args
;

some_args:
  arg			{ $$ = (struct arg_list){ $1, $1 }; }
| some_args ',' arg	{ $$ = $1; LIST_APPEND($$, $3); }
;

arg:
  expr			{ $$ = ast_arg(ps, $1, @1); }
| chunks		{ $$ = NEW(arg, .span = @$, .ref = $1); }
;

more:
  %empty		{ $$ = (struct binding_list){ 0 }; }
| ';' bindings		{ $$ = $2; }
;

bindings:
  binding		{ $$ = (struct binding_list){ $1, $1 }; }
| bindings ',' binding	{ $$ = $1; LIST_APPEND($$, $3); }
;

binding: ident '=' expr	{ $$ = NEW(binding, .span = @$, .name = $1, .value = $3); } ;

names:
  %empty		{ $$ = (struct symbol_list){ 0 }; }
| some_names
;

some_names:
  ident			{ $$ = (struct symbol_list){ 0 }; ADD_NAME($$, $1); }
| some_names ',' ident	{ $$ = $1; ADD_NAME($$, $3); }
;

attributes:
  %empty			{ $$ = (struct binding_list){ 0 }; }
| ATTR_OPEN some_attributes ')'	{ $$ = $2; }
;

some_attributes:
  attribute			{ $$ = (struct binding_list){ $1, $1 }; }
| some_attributes ',' attribute	{ $$ = $1; LIST_APPEND($$, $3); }
;

attribute:
  attribute_name '=' FLOAT	{ $$ = NEW(binding, .span = @$, .name = $1, .number = $3); }
| attribute_name '=' INT
	{ $$ = NEW(binding, .span = @$, .name = $1, .number = (double)$3); }
;

/* Of a cost: step, reduce. */
attribute_name:
  ident
| STEP		{ $$ = (struct ident){ lang_intern(ps->module, "step", 4), @$ }; }
| REDUCE	{ $$ = (struct ident){ lang_intern(ps->module, "reduce", 6), @$ }; }
;

ref:
  ident			{ $$ = NEW(ref, .kind = REF_ALL, .span = @$, .name = $1); }
| ident '[' expr ']'	{ $$ = NEW(ref, .kind = REF_ONE, .span = @$, .name = $1, .lo = $3); }
| ident '[' expr ']' '[' expr ']'
	{ $$ = NEW(ref, .kind = REF_ONE, .span = @$, .name = $1, .block = $3, .lo = $6); }
| chunks
;

chunks:
  ident '[' expr DOTDOT expr ']'
	{ $$ = NEW(ref, .kind = REF_RANGE, .span = @$, .name = $1, .lo = $3, .hi = $5); }
| ident '[' expr ']' '[' expr DOTDOT expr ']'
	{
		$$ = NEW(ref, .kind = REF_RANGE, .span = @$, .name = $1, .block = $3, .lo = $6,
			 .hi = $8);
	}
;

/* ---- expressions, ccs(5) 3 ------------------------------------------------------- */

exprs:
  %empty		{ $$ = (struct expr_list){ 0 }; }
| some_exprs
;

some_exprs:
  expr			{ $$ = (struct expr_list){ $1, $1, 1 }; }
| some_exprs ',' expr	{ $$ = $1; LIST_APPEND($$, $3); $$.n++; }
;

expr:
  primary
| '-' expr %prec UNARY	{ $$ = EXPR(.kind = E_UNARY, .span = @$, .op = OP_NEG, .a = $2); }
| '!' expr %prec UNARY	{ $$ = EXPR(.kind = E_UNARY, .span = @$, .op = OP_NOT, .a = $2); }
| '~' expr %prec UNARY	{ $$ = EXPR(.kind = E_UNARY, .span = @$, .op = OP_COMPL, .a = $2); }
| '-' BIGINT		{ $$ = EXPR(.kind = E_INT, .span = @$, .value = $2); }
| expr OR expr		{ $$ = BINARY(@$, OP_OR, $1, $3); }
| expr AND expr		{ $$ = BINARY(@$, OP_AND, $1, $3); }
| expr '|' expr		{ $$ = BINARY(@$, OP_BOR, $1, $3); }
| expr '^' expr		{ $$ = BINARY(@$, OP_BXOR, $1, $3); }
| expr '&' expr		{ $$ = BINARY(@$, OP_BAND, $1, $3); }
| expr EQ expr		{ $$ = BINARY(@$, OP_EQ, $1, $3); }
| expr NE expr		{ $$ = BINARY(@$, OP_NE, $1, $3); }
| expr '<' expr		{ $$ = BINARY(@$, OP_LT, $1, $3); }
| expr '>' expr		{ $$ = BINARY(@$, OP_GT, $1, $3); }
| expr LE expr		{ $$ = BINARY(@$, OP_LE, $1, $3); }
| expr GE expr		{ $$ = BINARY(@$, OP_GE, $1, $3); }
| expr SHL expr		{ $$ = BINARY(@$, OP_SHL, $1, $3); }
| expr SHR expr		{ $$ = BINARY(@$, OP_SHR, $1, $3); }
| expr '+' expr		{ $$ = BINARY(@$, OP_ADD, $1, $3); }
| expr '-' expr		{ $$ = BINARY(@$, OP_SUB, $1, $3); }
| expr '*' expr		{ $$ = BINARY(@$, OP_MUL, $1, $3); }
| expr '/' expr		{ $$ = BINARY(@$, OP_DIV, $1, $3); }
| expr '%' expr		{ $$ = BINARY(@$, OP_MOD, $1, $3); }
| expr '?' expr ':' expr
	{ $$ = EXPR(.kind = E_COND, .span = @$, .a = $1, .b = $3, .c = $5); }
;

primary:
  atom
| atom '@' atom		{ $$ = ast_initial(ps, @$, $1, $3); }
;

atom:
  INT			{ $$ = EXPR(.kind = E_INT, .span = @$, .value = $1); }
| TRUE			{ $$ = EXPR(.kind = E_INT, .span = @$, .value = 1); }
| FALSE			{ $$ = EXPR(.kind = E_INT, .span = @$, .value = 0); }
| RANK			{ $$ = EXPR(.kind = E_RANK, .span = @$); }
| N			{ $$ = EXPR(.kind = E_N, .span = @$); }
| ident			{ $$ = EXPR(.kind = E_NAME, .span = @$, .name = $1); }
| ident '(' exprs ')'
	{ $$ = EXPR(.kind = E_CALL, .span = @$, .name = $1, .args = $3.first, .nargs = $3.n); }
| ident '[' expr ']'	{ $$ = EXPR(.kind = E_ENTRY, .span = @$, .name = $1, .a = $3); }
| ident '[' expr ']' '[' expr ']'
	{ $$ = EXPR(.kind = E_ENTRY, .span = @$, .name = $1, .a = $3, .b = $6); }
| SUM '(' ident IN expr DOTDOT expr ':' expr ')'
	{ $$ = ast_sum(ps, $3, (struct term){ .span = @$, .lo = $5, .hi = $7 }, $9); }
| SUM '(' ident IN table ':' expr ')'
	{ $$ = ast_sum(ps, $3, (struct term){ .span = @$, .over = $5 }, $7); }
| '(' expr ')'		{ $$ = $2; $$->parens = true; }
;

value:
  expr
| entries
;

entries:
  '[' exprs ']'
	{ $$ = EXPR(.kind = E_TABLE, .span = @$, .args = $2.first, .nargs = $2.n); }
;

%%

/* Called only if the parser's stack is full. */
static void ccs_error(const struct span *at, struct parse *ctx, const char *msg)
{
	(void)msg;
	parse_too_deep(ctx, *at);
}

static int yyreport_syntax_error(const yypcontext_t *ctx, struct parse *parse)
{
	yysymbol_kind_t expected[YYNTOKENS];
	const char *names[YYNTOKENS];
	int n = yypcontext_expected_tokens(ctx, expected, YYNTOKENS);

	/* n < 0: out of memory for the look-ahead, then nothing is listed */
	for (int i = 0; i < n; i++)
		names[i] = yysymbol_name(expected[i]);
	parse_unexpected(parse, *yypcontext_location(ctx),
			 yysymbol_name(yypcontext_token(ctx)), names, n > 0 ? n : 0);
	return 0;
}
