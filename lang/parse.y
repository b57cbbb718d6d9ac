/*
 * The grammar, ccs(5) 3-5: tokens to the syntax tree, one constructor an action.
 *
 * Re-entrant, without conflicts. An error production stands in every list
 * (statements, blocks of a par, declarations, ensures), so that the text behind a
 * mistake is parsed as well; `resync` in it finds the place (tokens.c). The stack
 * lies in the arena. O(tokens).
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

/* Goes on behind a syntax error, or gives up. */
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
%token FN "fn" LET "let" TOPOLOGY "topology" LINK "link" SCRATCH "scratch"
%token IN "in" OUT "out" INOUT "inout" SEND "send" RECV "recv" REDUCE "reduce"
%token COPY "copy" INTO "into" TO "to" FROM "from" STEP "step" PAR "par"
%token FOR "for" BY "by" IF "if" ELSE "else" WITHIN "within" GROUP "group"
%token CHANNEL "channel" ASSERT "assert" SUM "sum" SIZED "sized"
%token RANK "rank" N "N" TRUE "true" FALSE "false"
%token <const char *> IDENT "name" STRING "string"
%token <int64_t> INT "number" BIGINT "9223372036854775808"
%token <double> FLOAT "fraction"
%token ATTR_OPEN "( "
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

%nterm <struct ident> ident promised_name
%nterm <struct expr *> expr primary atom where value table
%nterm <struct expr_list> exprs some_exprs
%nterm <struct ref *> ref chunks
%nterm <struct stmt_list> stmts block blocks else lets
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
%nterm <struct buffer_list> buffers some_buffers
%nterm <enum direction> direction
%nterm <struct param *> formal
%nterm <struct param_list> formals some_formals
%nterm <struct term *> after
%nterm <struct ensures *> clause
%nterm <struct ensures_list> clauses
%nterm <struct applied> on
%nterm <struct promise> promise

%%

file: decls ;

/* ---- declarations, ccs(5) 4 ------------------------------------------------- */

decls:
  %empty
| decls decl
| decls ';'
| decls error resync_decl
;

decl:
  IMPORT STRING			{ ast_import(ps, @$, $2, @2); }
| CONTRACT promised_name '(' buffers contract_params ')' lets clauses
	{ ast_contract(ps, @$, (struct span){ @1.lo, @6.hi }, $2, $4, $5, $7, $8); }
| TOPOLOGY ident params where block	{ ast_topology(ps, @$, $2, $3, $4, $5); }
| PROC ident '(' formals ')' on block	{ ast_proc(ps, @$, $2, $4, $6, $7); }
| SCHEDULE ident params IMPLEMENTS promise on where block
	{ ast_schedule(ps, @$, $2, $3, $5, $6, $7, $8); }
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

ident: IDENT		{ $$ = ast_ident($1, @1); } ;

/* ccs(5) 2: after contract and implements, reduce is a name. */
promised_name:
  ident
| REDUCE	{ $$ = ast_ident(lang_intern(ps->module, "reduce", 6), @1); }
;

promise:
  promised_name '(' buffers more ')'
	{ $$ = (struct promise){ .contract = $1, .buffers = $3, .args = $4 }; }
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
  %empty		{ $$ = (struct buffer_list){ 0 }; }
| some_buffers
;

some_buffers:
  buffer			{ $$ = (struct buffer_list){ $1, $1 }; }
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
  ident			{ $$ = ast_formal(ps, @$, $1, (struct counts){ 0 }); }
| ident counts		{ $$ = ast_formal(ps, @$, $1, $2); }
;

/* Lets that no ensures follows are the file's: ast_contract. */
lets:
  %empty			{ $$ = (struct stmt_list){ 0 }; }
| lets LET ident '=' value
	{
		struct stmt *s = ast_let(ps, (struct span){ @2.lo, @$.hi }, $3, $5);

		$$ = $1;
		LIST_APPEND($$, s);
	}
;

clauses:
  %empty %prec NO_LET		{ $$ = (struct ensures_list){ 0 }; }
| clauses clause		{ $$ = $1; if ($2) LIST_APPEND($$, $2); }
| clauses ENSURES error resync_ensures
;

resync_ensures: %empty	{ RESYNC(SKIP_ENSURES); } ;

/* An equation is an expression until its clause is whole: a condition may begin alike. */
clause:
  ENSURES expr			{ $$ = ast_ensures(ps, @$, NULL, $2); }
| ENSURES expr ':' expr		{ $$ = ast_ensures(ps, @$, $2, $4); }
| ENSURES after			{ $$ = ast_ensures_after(ps, @$, NULL, $2); }
| ENSURES expr ':' after	{ $$ = ast_ensures_after(ps, @$, $2, $4); }
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
| stmts ';'
| stmts error resync_stmt bad_tail
;

resync_stmt: %empty	{ RESYNC(SKIP_STMT); } ;
bad_tail: %empty | block else ;

stmt:
  SEND ref TO expr		{ $$ = ast_message(ps, @$, S_SEND, $2, $4); }
| RECV ref FROM expr		{ $$ = ast_message(ps, @$, S_RECV, $2, $4); }
| REDUCE ref FROM expr		{ $$ = ast_message(ps, @$, S_REDUCE_FROM, $2, $4); }
| COPY ref INTO ref		{ $$ = ast_local(ps, @$, S_COPY, $2, $4); }
| REDUCE ref INTO ref		{ $$ = ast_local(ps, @$, S_REDUCE_INTO, $2, $4); }
| STEP block			{ $$ = ast_block(ps, @$, S_STEP, $2); }
| PAR '{' blocks '}'		{ $$ = ast_block(ps, @$, S_PAR, $3); }
| PAR FOR ident range block	{ $$ = ast_loop(ps, @$, S_PAR_FOR, $3, $4, $5); }
| FOR ident range block		{ $$ = ast_loop(ps, @$, S_FOR, $2, $3, $4); }
| CHANNEL expr block		{ $$ = ast_channel(ps, @$, $2, $3); }
| if
| WITHIN GROUP '(' group ')' block	{ $$ = ast_within(ps, @$, $4, $6); }
| ident '(' args more ')'	{ $$ = ast_run(ps, @$, $1, $3, $4); }
| ASSERT expr ',' STRING	{ $$ = ast_assert(ps, @$, $2, $4, @4); }
| LET ident '=' value		{ $$ = ast_let(ps, @$, $2, $4); }
| FN ident '(' names ')' '=' expr	{ $$ = ast_fn(ps, @$, $2, $4, $7); }
| SCRATCH ident counts		{ $$ = ast_scratch(ps, @$, $2, $3); }
| LINK expr ARROW expr attributes	{ $$ = ast_link(ps, @$, $2, $4, $5); }
;

blocks:
  %empty		{ $$ = (struct stmt_list){ 0 }; }
| blocks block
	{
		struct stmt *s = ast_block(ps, @2, S_BLOCK, $2);

		$$ = $1;
		LIST_APPEND($$, s);
	}
| blocks error resync_par
;

resync_par: %empty	{ RESYNC(SKIP_PAR); } ;

if: IF expr block else	{ $$ = ast_if(ps, @$, $2, $3, $4); } ;

else:
  %empty		{ $$ = (struct stmt_list){ 0 }; }
| ELSE if		{ $$ = (struct stmt_list){ $2, $2 }; }
| ELSE block		{ $$ = $2; }
;

range:
  IN expr DOTDOT expr		{ $$ = (struct range){ $2, $4, NULL }; }
| IN expr DOTDOT expr BY expr	{ $$ = (struct range){ $2, $4, $6 }; }
;

/* Members of a group: first, count, stride, or a table. */
group:
  expr ',' expr ',' expr	{ $$ = (struct range){ $1, $3, $5 }; }
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
  expr			{ $$ = ast_arg_expr(ps, $1, @1); }
| chunks		{ $$ = ast_arg_ref(ps, $1); }
;

more:
  %empty		{ $$ = (struct binding_list){ 0 }; }
| ';' bindings		{ $$ = $2; }
;

bindings:
  binding		{ $$ = (struct binding_list){ $1, $1 }; }
| bindings ',' binding	{ $$ = $1; LIST_APPEND($$, $3); }
;

binding: ident '=' expr	{ $$ = ast_binding(ps, @$, $1, $3); } ;

names:
  %empty		{ $$ = (struct symbol_list){ 0 }; }
| some_names
;

some_names:
  ident
	{
		$$ = (struct symbol_list){ 0 };
		ast_add_symbol(ps, &$$, $1);
	}
| some_names ',' ident	{ $$ = $1; ast_add_symbol(ps, &$$, $3); }
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
  ident '=' FLOAT	{ $$ = ast_attribute(ps, @$, $1, $3, @3); }
| ident '=' INT		{ $$ = ast_attribute(ps, @$, $1, (double)$3, @3); }
;

ref:
  ident				{ $$ = ast_ref(ps, @$, REF_ALL, $1, NULL, NULL); }
| ident '[' expr ']'		{ $$ = ast_ref(ps, @$, REF_ONE, $1, $3, NULL); }
| ident '[' expr ']' '[' expr ']'
	{ $$ = ast_of_block(ast_ref(ps, @$, REF_ONE, $1, $6, NULL), $3); }
| chunks
;

chunks:
  ident '[' expr DOTDOT expr ']'	{ $$ = ast_ref(ps, @$, REF_RANGE, $1, $3, $5); }
| ident '[' expr ']' '[' expr DOTDOT expr ']'
	{ $$ = ast_of_block(ast_ref(ps, @$, REF_RANGE, $1, $6, $8), $3); }
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
| '-' expr %prec UNARY	{ $$ = ast_unary(ps, @$, OP_NEG, $2); }
| '!' expr %prec UNARY	{ $$ = ast_unary(ps, @$, OP_NOT, $2); }
| '~' expr %prec UNARY	{ $$ = ast_unary(ps, @$, OP_COMPL, $2); }
| '-' BIGINT		{ $$ = ast_int(ps, @$, $2); }
| expr OR expr		{ $$ = ast_binary(ps, @$, OP_OR, $1, $3); }
| expr AND expr		{ $$ = ast_binary(ps, @$, OP_AND, $1, $3); }
| expr '|' expr		{ $$ = ast_binary(ps, @$, OP_BOR, $1, $3); }
| expr '^' expr		{ $$ = ast_binary(ps, @$, OP_BXOR, $1, $3); }
| expr '&' expr		{ $$ = ast_binary(ps, @$, OP_BAND, $1, $3); }
| expr EQ expr		{ $$ = ast_binary(ps, @$, OP_EQ, $1, $3); }
| expr NE expr		{ $$ = ast_binary(ps, @$, OP_NE, $1, $3); }
| expr '<' expr		{ $$ = ast_binary(ps, @$, OP_LT, $1, $3); }
| expr '>' expr		{ $$ = ast_binary(ps, @$, OP_GT, $1, $3); }
| expr LE expr		{ $$ = ast_binary(ps, @$, OP_LE, $1, $3); }
| expr GE expr		{ $$ = ast_binary(ps, @$, OP_GE, $1, $3); }
| expr SHL expr		{ $$ = ast_binary(ps, @$, OP_SHL, $1, $3); }
| expr SHR expr		{ $$ = ast_binary(ps, @$, OP_SHR, $1, $3); }
| expr '+' expr		{ $$ = ast_binary(ps, @$, OP_ADD, $1, $3); }
| expr '-' expr		{ $$ = ast_binary(ps, @$, OP_SUB, $1, $3); }
| expr '*' expr		{ $$ = ast_binary(ps, @$, OP_MUL, $1, $3); }
| expr '/' expr		{ $$ = ast_binary(ps, @$, OP_DIV, $1, $3); }
| expr '%' expr		{ $$ = ast_binary(ps, @$, OP_MOD, $1, $3); }
| expr '?' expr ':' expr	{ $$ = ast_cond(ps, @$, $1, $3, $5); }
;

primary:
  atom
| atom '@' atom		{ $$ = ast_initial(ps, @$, $1, $3); }
;

atom:
  INT			{ $$ = ast_int(ps, @$, $1); }
| TRUE			{ $$ = ast_int(ps, @$, 1); }
| FALSE			{ $$ = ast_int(ps, @$, 0); }
| RANK			{ $$ = ast_leaf(ps, @$, E_RANK); }
| N			{ $$ = ast_leaf(ps, @$, E_N); }
| ident			{ $$ = ast_name(ps, $1); }
| ident '(' exprs ')'	{ $$ = ast_call(ps, @$, $1, $3); }
| ident '[' expr ']'	{ $$ = ast_entry(ps, @$, $1, $3, NULL); }
| ident '[' expr ']' '[' expr ']'	{ $$ = ast_entry(ps, @$, $1, $3, $6); }
| SUM '(' ident IN expr DOTDOT expr ':' expr ')'
	{ $$ = ast_sum(ps, @$, $3, $5, $7, $9); }
| '(' expr ')'		{ $$ = $2; $$->parens = true; }
;

table: '[' exprs ']'	{ $$ = ast_table(ps, @$, $2); } ;

value: expr | table ;

%%

/* The parser's stack is full: there is no other use. */
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
