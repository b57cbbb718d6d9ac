/*
 * Help for statements of other languages (`int x = 1`, `x[0] = y[0]`, `rotate data`), and for
 * operations in another form (`send(X, P)`). See habits.h.
 *
 * To the grammar, the first word of such a statement is the name of a proc, and the syntax error is
 * at the next token, which is no `(`. So the report is about the word before that token.
 */
#include "lang/habits.h"

#include <string.h>

/* ---- the first word of a statement ----------------------------------------------- */

/* First words of statements in other languages. */
static const struct habit {
	const char *words;
	const char *help;
	const char *write; /* its equivalent, as a fix; or NULL */
} habits[] = {
	{ "elif elsif elseif", "write `else if`", "else if" },
	{ "while until loop repeat do", "to loop over a range: for i in 0..K { ... }", NULL },
	{ "foreach forall", "to loop over a range: for i in 0..K { ... }", "for" },
	{ "parallel concurrent",
	  "to run blocks concurrently: par { { ... } { ... } }, or: par for i in a..b { ... }",
	  "par" },
	{ "parfor",
	  "to run blocks concurrently: par { { ... } { ... } }, or: par for i in a..b { ... }",
	  "par for" },
	{ "return exit",
	  "a schedule runs to its end; put statements for some ranks or iterations into an if",
	  NULL },
	{ "break continue",
	  "a loop makes all its trips: end its range earlier, or put what some trips do into an if, as "
	  "if c < 3 { ... }",
	  NULL },
	{ "pass nop", "an empty block is { }", "" },
	{ "print printf println echo", "a schedule prints nothing; `ccc explain` shows each step",
	  NULL },
	{ "end endif endfor fi done", "a block ends with `}`", "}" },
	{ "call run", "to call a proc, write its name: NAME(...)", "" },
	{ "exchange sendrecv swap", "to do both at once: step { send X to P recv Y from Q }",
	  NULL },
	{ "switch case", "write if ... else if ... else", NULL },
	{ "receive recieve rcv", "write `recv`", "recv" },
	{ "irecv", "write `recv`; in a step it does not wait for other operations", "recv" },
	{ "isend", "write `send`; in a step it does not wait for other operations", "send" },
	{ "with", "write `within group(first, count, stride)`", NULL },
	{ "tag channel_id",
	  "messages between two ranks match in order; to separate them: channel E { ... }", NULL },
};

/* Words before a name in a definition. */
static const char types[] =
	"int unsigned signed long short char bool float double auto var val const mut static "
	"size_t int32_t int64_t uint32_t uint64_t set define";

static const char *const statements[] = {
	"send",	  "recv",    "reduce", "copy", "step", "par",	  "for",  "if",	    "else",
	"within", "channel", "assert", "let",  "fn",   "scratch", "link", "switch", "cost",
};

/* `int x = 1` is a let, `float t[4]` a scratch. */
static bool declared(struct mistake *m, const char *word)
{
	const char *name = word, *end = word, *behind;

	if (!word_is_one_of(word, types))
		return false;
	while (word_is_one_of(name, types)) {
		end = text_word_end(name);
		name = text_skip(end);
	}
	behind = text_skip(text_word_end(name));
	if (*behind == '[' && behind > name)
		return cure_both(m, "to declare chunks: scratch t[K]; a scratch has no type", word,
				 end, "scratch");
	if (*behind == '=' && behind > name)
		cure_fix(m, word, end, "let");
	return cure_help(m, "numbers have no types; to name a number: let x = ...");
}

/* Whether a change doubles: x *= 2, x = x * 2, x = 2 * x, x = x << 1. */
static bool doubles(const char *name, const char *at, const char *value)
{
	const char *then = text_skip(text_word_end(value)), *last;

	if (*at == '*')
		return word_is_one_of(value, "2");
	if (*at != '=')
		return false;
	if (word_is_one_of(value, "2") && *then == '*')
		return word_is_one_of(text_skip(then + 1), name);
	last = text_skip(then + (*then == '<' && then[1] == '<' ? 2 : 1));
	return word_is_one_of(value, name) && ((*then == '*' && word_is_one_of(last, "2")) ||
					       (*then == '<' && word_is_one_of(last, "1")));
}

/* Powers of two for a name that is doubled in a loop: the last one before it, if there is one. */
static const char *powers(const struct mistake *m, const char *name, const char *word)
{
	const char *text = m->ps->source->text, *at = word, *end, *var;
	const char *loop = "for k in 0..ilog2(N)", *k = "k";

	while (at > text && !(word_is_one_of(at, "for") && strchr(" \t\n", at[-1])))
		at--;
	var = text_skip(at + strlen("for"));
	end = at > text ? text_find(at, text_line_end(at), "{") : NULL;
	if (end) {
		loop = text_piece(m, at, text_trim(at, end));
		k = text_piece(m, var, text_word_end(var));
	}
	return arena_printf(
		m->ps->arena,
		"compute it in the loop from the loop's variable: %s { let %s = 1 << %s ... }",
		loop, name, k);
}

/* `x = 1`, `x += 1`, `x++` */
static bool changed(struct mistake *m, const char *word, const char *at)
{
	struct arena *a = m->ps->arena;
	const char *name = text_piece(m, word, text_word_end(word)), *before = m->ps->source->text;
	const char *value = text_skip(at + (*at == '=' ? 1 : 2)), *line_end = text_line_end(value);

	if (foreign_help(value))
		return cure_help(m, foreign_help(value));
	while (before < word && !word_is_one_of(before, name))
		before += word_length(before) ? word_length(before) : 1;
	if (before == word && *at == '=')
		return cure_both(m, "to name a number: let x = ...", word, word, "let ");
	m->message = arena_printf(a, "`%s` keeps its value: a name cannot be changed", name);
	if (doubles(name, at, value))
		return cure_help(m, powers(m, name, word));
	value = at[1] == *at ? "1" : text_piece(m, value, line_end);
	return cure_help(
		m,
		*at == '='
			? arena_printf(a,
				       "use a new name: let new_%s = %s, and new_%s from there on",
				       name, value, name)
			: arena_printf(
				  a,
				  "use a new name: let new_%s = %s %c %s, and new_%s from there on",
				  name, name, *at, value, name));
}

/* `x = 1`, `x := 1`, `x += 1`, `x++`, `x[0] = y[0]`, `x[0].send(next)` */
static bool assigned(struct mistake *m, const char *word)
{
	const char *end = text_word_end(word), *at = text_skip(end), *close, *value;
	struct arena *a = m->ps->arena;

	if (*at == ':' && at[1] == '=')
		return cure_both(m, "let defines a name, which keeps its value", word, at + 2,
				 arena_printf(a, "let %s =", text_piece(m, word, end)));
	if ((*at == '=' && at[1] != '=') || (*at && strchr("+-*/%|&^", *at) && at[1] == '=') ||
	    ((*at == '+' || *at == '-') && at[1] == *at))
		return changed(m, word, at);
	close = *at == '[' ? text_closing(at) : NULL;
	if (!close)
		return false;
	at = text_skip(close + 1);
	if (*at == '@') /* data[0]@1.copy(2) */
		at = text_word_end(text_skip(at + 1));
	if (*at == '.')
		return cure_help(m,
				 "operations are statements: send X to P, recv X from P, reduce X "
				 "from P, copy X into Y");
	if (*at && strchr("+-*|&", *at) && at[1] == '=') {
		m->mute = text_line_end(at);
		return cure_help(m,
				 "to add to a chunk: reduce X from P (from a message), or reduce X "
				 "into Y");
	}
	if (*at != '=')
		return false;
	value = text_skip(at + 1);
	return cure_both(m, "to set a chunk: copy X into Y, recv X from P, or reduce", word,
			 text_line_end(value),
			 arena_printf(a, "copy %s into %s",
				      text_piece(m, value, text_line_end(value)),
				      text_piece(m, word, close + 1)));
}

static bool known(struct mistake *m, const char *word)
{
	const struct habit *h = habits, *last = habits + sizeof(habits) / sizeof(*habits);
	const char *end = text_word_end(word);

	if (m->ps->head == TOK_PROC && word_is_one_of(word, "return") &&
	    (word_length(text_skip(end)) || *text_skip(end) == '('))
		return cure_help(
			m, "a proc has no value; to name an expression: fn NAME(a, b) = a + b");

	while (h < last && !word_is_one_of(word, h->words))
		h++;
	if (h == last)
		return false;
	if (h->write) {
		cure_fix(m, word, *h->write ? end : text_skip(end), h->write);
		if (!strcmp(h->write, "}"))
			m->ps->missing_close++;
		else if (!strncmp(h->write, "par", 3)) /* the form of its blocks differs */
			m->mute = text_block_end(end);
	}
	return cure_help(m, h->help);
}

/* `rotate data`: suggests NAME(...) with the text after the name. */
static bool call_without_parens(struct mistake *m, const char *word)
{
	const char *end = text_word_end(word), *from = text_skip(end), *to = text_line_end(from);

	if (!word_length(from) || keyword_token(from, word_length(from)) ||
	    text_find(from, to, "{};=?:"))
		return false;
	return cure_both(m,
			 arena_printf(m->ps->arena,
				      "a statement begins with a keyword such as send, recv, step, "
				      "for or if; to call a proc: %s(%s)",
				      text_piece(m, word, end), text_piece(m, from, to)),
			 end, to, arena_printf(m->ps->arena, "(%s)", text_piece(m, from, to)));
}

/* `E ? send X to P : recv X from P`, `E && send X to P`: an expression at `from` in place of an
 * if. */
static bool conditional(struct mistake *m, const char *from)
{
	struct arena *a = m->ps->arena;
	const char *end = text_line_end(from), *sign = text_find(from, end, "?"), *colon, *last;

	if (!sign)
		return false;
	last = end;
	if (last > sign && last[-1] == ';')
		last--;
	colon = text_find(sign, last, ":");
	m->mute = end;
	if (colon)
		cure_fix(
			m, from, last,
			arena_printf(a, "if %s { %s } else { %s }",
				     text_piece(m, from, text_trim(from, sign)),
				     text_piece(m, text_skip(sign + 1), text_trim(sign + 1, colon)),
				     text_piece(m, text_skip(colon + 1), last)));
	return cure_help(
		m, "`?` chooses between numbers; between statements: if E { ... } else { ... }");
}

/* Whether the token can end an expression; then a word after it does not begin a statement. */
static bool ends_operand(int kind)
{
	return kind == ')' || kind == ']' || kind == TOK_IDENT || kind == TOK_INT ||
	       kind == TOK_RANK || kind == TOK_N;
}

/* `rank XOR 1`, where the grammar ends the statement before the word. */
static bool operator_word(struct mistake *m, const char *word)
{
	static const char *const words[] = { "mod MOD", "xor XOR", "div DIV", "AND", "OR" };
	static const char *const signs[] = { "%", "^", "/", "&&", "||" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!word_is_one_of(word, words[i]))
			continue;
		m->message =
			arena_printf(m->ps->arena, "unexpected name `%s`, expected an operator",
				     text_piece(m, word, text_word_end(word)));
		return cure_both(m,
				 i ? arena_printf(m->ps->arena, "write `%s`", signs[i])
				   : "write `%`: the result is never negative",
				 word, text_word_end(word), signs[i]);
	}
	return false;
}

static bool first_on_line(const struct mistake *m, const char *word)
{
	return text_skip(text_line_begin(word, m->ps->source->text)) == word;
}

bool habit_statement(struct mistake *m)
{
	int before = m->ps->before.kind;
	const char *word;

	if (mistake_may_statement(m) && mistake_got_operand(m) && conditional(m, m->at))
		return true;
	if (m->n != 1 || !mistake_may(m, "'('") || m->ps->previous.kind != TOK_IDENT ||
	    before == TOK_PROC || before == TOK_FN || before == TOK_CONTRACT ||
	    before == TOK_IMPLEMENTS)
		return false;
	word = mistake_text(m, m->ps->previous.span.lo);
	m->place = m->ps->previous.span;
	if (ends_operand(before) && !first_on_line(m, word) && operator_word(m, word))
		return true;
	m->message = arena_printf(m->ps->arena, "unexpected name `%s`, expected a statement",
				  parse_clip(m->ps, word, (size_t)(text_word_end(word) - word)));
	const char *next = text_skip(text_word_end(word));
	if (before == TOK_IDENT &&
	    word_is_one_of(mistake_text(m, m->ps->before.span.lo), "isend irecv"))
		return cure_help(
			m, "there is no handle: write send X to P or recv X from P; in a step it "
			   "does not wait for other operations");
	if (word_is_one_of(word, "with using op") &&
	    word_is_one_of(next, "sum prod max min avg add op SUM MAX"))
		return cure_help(m, "the caller of the schedule chooses the operator");
	if (word_is_one_of(word, "with") && foreign_help(next))
		return cure_help(m, foreign_help(next));
	if (declared(m, word) || known(m, word) || assigned(m, word) || conditional(m, word) ||
	    cure_near(m, word, statements, sizeof(statements) / sizeof(*statements)) ||
	    (!ends_operand(before) && call_without_parens(m, word)) ||
	    (first_on_line(m, word) && call_without_parens(m, word)))
		return true;
	return cure_help(
		m,
		"a statement begins with a keyword such as send, recv, step, for or if, or calls "
		"a proc: NAME(...)");
}

/* ---- send, recv, reduce and copy in another form ---------------------------------- */

/* The syntax of an operation. */
static const struct form {
	int kind;
	const char *word; /* between its two parts; NULL: there are two forms */
	const char *text;
} forms[] = {
	{ TOK_SEND, "to", "write: send X to P" },
	{ TOK_RECV, "from", "write: recv X from P" },
	{ TOK_COPY, "into", "write: copy X into Y" },
	{ TOK_REDUCE, NULL, "write: reduce X from P, or: reduce X into Y" },
};

static const struct form *form_of(int kind)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (forms[i].kind == kind)
			return &forms[i];
	return NULL;
}

/* send to P: no data */
static bool without_data(struct mistake *m)
{
	const struct form *f = form_of(m->ps->previous.kind);
	const char *peer = text_skip(text_word_end(m->at));

	return f && f->word && mistake_got(m, f->word) && *peer &&
	       strchr("\r\n}/", *text_skip(text_word_end(peer))) &&
	       cure_help(m,
			 arena_printf(m->ps->arena,
				      "%s; a message without data: scratch nothing[1], and %s "
				      "nothing[0..0] %s P",
				      f->text, m->ps->previous.kind == TOK_SEND ? "send" : "recv",
				      f->word));
}

/* The operation that is being parsed, determined by the tokens that may follow. */
static const struct form *form_here(const struct mistake *m)
{
	bool from = mistake_may(m, "from"), into = mistake_may(m, "into");

	if (mistake_may(m, "to"))
		return form_of(TOK_SEND);
	if (from && into)
		return form_of(TOK_REDUCE);
	if (from)
		return form_of(TOK_RECV);
	return into ? form_of(TOK_COPY) : NULL;
}

/* send(X, P) */
static bool called(struct mistake *m)
{
	const struct form *f = form_of(m->ps->previous.kind);
	const char *close, *comma, *first, *second;

	if (!f || !mistake_got(m, "'('"))
		return false;
	close = text_closing(m->at);
	comma = close && (f->kind == TOK_SEND || f->kind == TOK_RECV)
			? text_find(m->at + 1, close, ",")
			: NULL;
	if (!comma || text_find(comma + 1, close, ","))
		return cure_help(m, f->text);
	first = text_skip(m->at + 1);
	second = text_skip(comma + 1);
	cure_fix(m, mistake_text(m, m->ps->previous.span.hi), close + 1,
		 arena_printf(m->ps->arena, " %s %s %s",
			      text_piece(m, first, text_trim(first, comma)), f->word,
			      text_piece(m, second, text_trim(second, close))));
	return cure_help(m, f->text);
}

/* data(0) */
static bool parenthesized(struct mistake *m)
{
	const char *close = text_closing(m->at);

	if (!mistake_got(m, "'('") || !mistake_may(m, "'['"))
		return false;
	if (close)
		cure_fix(m, m->at, close + 1,
			 arena_printf(m->ps->arena, "[%s]", text_piece(m, m->at + 1, close)));
	return cure_help(m, "write chunks in brackets: x[e], or x[lo..hi]");
}

/* Whether another sign or word is in the place of the operation's own: `send x -> p`. */
static bool is_other_word(const struct mistake *m, const struct form *f)
{
	return mistake_got(m, "','") || mistake_got(m, "->") ||
	       (mistake_got(m, "to") && f->kind == TOK_COPY) ||
	       (mistake_got(m, "into") && f->kind == TOK_SEND);
}

/* send X to A..B */
static bool many_peers(struct mistake *m)
{
	const char *at = text_line_begin(m->at, m->ps->source->text), *from = NULL, *peer = NULL;
	const char *to = text_skip(m->at + 2), *end = to + strcspn(to, " \t\r\n;}");

	if (!mistake_got(m, "..") || !mistake_may_statement(m) || !mistake_may_operator(m))
		return false;
	for (; at<m->at; at = text_word_end(at)> at ? text_word_end(at) : at + 1) {
		if (word_is_one_of(at, "send recv reduce"))
			from = at;
		if (from && word_is_one_of(at, "to from"))
			peer = text_skip(text_word_end(at));
	}
	if (!peer)
		return false;
	m->mute = text_line_end(m->at);
	cure_fix(m, from, end,
		 arena_printf(m->ps->arena, "for p in %s..%s { %s p }",
			      text_piece(m, peer, text_trim(peer, m->at)), text_piece(m, to, end),
			      text_piece(m, from, text_trim(from, peer))));
	return cure_help(m, arena_printf(m->ps->arena, "a message has one peer: %s", m->text));
}

/* send a@rank to p; copy a@p into b */
static bool of_a_rank(struct mistake *m)
{
	const char *end = text_word_end(text_skip(m->at + 1));

	if (!mistake_got(m, "'@'") || m->ps->head == TOK_CONTRACT)
		return false;
	if (word_is_one_of(text_skip(m->at + 1), "rank"))
		return cure_both(m, "each rank names its own chunks, without `@`", m->at, end, "");
	m->mute = text_line_end(m->at);
	return cure_help(
		m, "each rank names its own chunks; those of another rank come by a message: send "
		   "X to P there, recv Y from Q here");
}

bool habit_operation(struct mistake *m)
{
	const struct form *f = form_of(m->ps->previous.kind);

	if (of_a_rank(m))
		return true;
	if (m->ps->previous.kind == TOK_REDUCE && mistake_got(m, "sum"))
		return cure_both(m, "the caller chooses the operator: reduce X from P", m->at,
				 text_skip(text_word_end(m->at)), "");

	if (called(m) || many_peers(m) || without_data(m))
		return true;
	if (f && word_is_one_of(m->got, "to from into")) /* send to P X */
		return cure_help(m, f->text);
	f = form_here(m);
	if (!f)
		return false;
	if (parenthesized(m))
		return true;
	if (f->word && is_other_word(m, f))
		cure_fix(m, m->at, mistake_text(m, m->span.hi),
			 arena_printf(m->ps->arena, "%s%s", mistake_got(m, "','") ? " " : "",
				      f->word));
	return cure_help(m, f->text);
}
