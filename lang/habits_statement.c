/*
 * A statement that begins with a word that begins none.
 *
 * The grammar takes such a word for the name of a proc, and stumbles over the next
 * token, since that is no `(`. So the word before it is what is wrong: it is reported,
 * with what stands for it here.
 */
#include "lang/habits.h"

#include <string.h>

struct word {
	const char *word;
	const char *help;
	const char *write; /* in its place; or NULL: nothing can be put there */
};

static const char use_for[] = "a loop runs over a range: for i in 0..K { ... }";
static const char use_if[] =
	"a schedule runs to its end: what is not for all ranks or rounds stands in an if";
static const char use_explain[] =
	"nothing is printed when a schedule runs; `ccc explain` shows each step";
static const char use_par[] =
	"what runs side by side is: par { { ... } { ... } }, or: par for i in a..b { ... }";
static const char use_brace[] = "a block ends with `}`";
static const char use_call[] = "a proc is called by its name alone: NAME(...)";
static const char use_step[] = "both at once are a step: step { send X to P recv Y from Q }";

static const struct word words[] = {
	{ "elif", "write `else if`", "else if" },
	{ "elsif", "write `else if`", "else if" },
	{ "elseif", "write `else if`", "else if" },
	{ "while", use_for, NULL },
	{ "until", use_for, NULL },
	{ "loop", use_for, NULL },
	{ "repeat", use_for, NULL },
	{ "do", use_for, NULL },
	{ "foreach", use_for, "for" },
	{ "forall", use_for, "for" },
	{ "parallel", use_par, "par" },
	{ "parfor", use_par, "par for" },
	{ "concurrent", use_par, "par" },
	{ "return", use_if, NULL },
	{ "break", use_if, NULL },
	{ "continue", use_if, NULL },
	{ "exit", use_if, NULL },
	{ "pass", "an empty block is { }", "" },
	{ "nop", "an empty block is { }", "" },
	{ "print", use_explain, NULL },
	{ "printf", use_explain, NULL },
	{ "println", use_explain, NULL },
	{ "echo", use_explain, NULL },
	{ "end", use_brace, "}" },
	{ "endif", use_brace, "}" },
	{ "endfor", use_brace, "}" },
	{ "fi", use_brace, "}" },
	{ "done", use_brace, "}" },
	{ "call", use_call, "" },
	{ "run", use_call, "" },
	{ "exchange", use_step, NULL },
	{ "sendrecv", use_step, NULL },
	{ "swap", use_step, NULL },
	{ "switch", "write if ... else if ... else", NULL },
	{ "case", "write if ... else if ... else", NULL },
	{ "receive", "write `recv`", "recv" },
	{ "recieve", "write `recv`", "recv" },
	{ "rcv", "write `recv`", "recv" },
	{ "irecv", "write `recv`; in a step it waits for nothing else", "recv" },
	{ "isend", "write `send`; in a step it waits for nothing else", "send" },
	{ "with", "write `within group(first, count, stride)`", NULL },
};

/* Words before a name that gets a value. */
static const char *const types[] = { "int",    "unsigned", "signed",  "long",	  "short",
				     "char",   "bool",	   "float",   "double",	  "auto",
				     "var",    "val",	   "const",   "mut",	  "static",
				     "size_t", "int32_t",  "int64_t", "uint32_t", "uint64_t",
				     "set",    "define",   NULL };

static const char *const statements[] = {
	"send", "recv",	  "reduce",  "copy",   "step", "par", "for",	 "if",
	"else", "within", "channel", "assert", "let",  "fn",  "scratch", "link",
};

/* `int x = 1` is a let, `float t[4]` a scratch. */
static bool declared(const struct mistake *m, struct cure *c, const char *word)
{
	const char *name = word, *end = word, *behind;

	if (!text_is_one_of(word, types))
		return false;
	while (text_is_one_of(name, types)) {
		end = text_word_end(name);
		name = text_skip(end);
	}
	behind = text_skip(text_word_end(name));
	if (*behind == '[' && behind > name) {
		c->help = "a place for chunks is a scratch: scratch t[K]; it has no type of its "
			  "own";
		cure_fix(m, c, word, end, "scratch");
		return true;
	}
	c->help = "numbers have no types, and names are given by let: let x = ...";
	if (*behind == '=' && behind > name)
		cure_fix(m, c, word, end, "let");
	return true;
}

/* `x = 1`, `x := 1`, `x += 1`, `x++`, `x[0] = y[0]`, `x[0].send(next)` */
static bool assigned(const struct mistake *m, struct cure *c, const char *word)
{
	const char *end = text_word_end(word), *at = text_skip(end), *close, *value;
	struct arena *a = m->ps->arena;

	if (*at == ':' && at[1] == '=') {
		c->help = "a name is given by let, and keeps its value";
		cure_fix(m, c, word, at + 2,
			 arena_printf(a, "let %.*s =", (int)(end - word), word));
		return true;
	}
	if ((*at == '=' && at[1] != '=') || (*at && strchr("+-*/%|&^", *at) && at[1] == '=') ||
	    ((*at == '+' || *at == '-') && at[1] == *at)) {
		c->help = "a name is given by let, and keeps its value: give a new value a new "
			  "name";
		return true;
	}
	close = *at == '[' ? text_closing(at) : NULL;
	if (!close)
		return false;
	at = text_skip(close + 1);
	if (*at == '.') {
		c->help = "operations are statements: send X to P, recv X from P, reduce X from P, "
			  "copy X into Y";
		return true;
	}
	if (*at != '=')
		return false;
	value = text_skip(at + 1);
	c->help = "a chunk gets its value by copy X into Y, recv X from P or reduce";
	cure_fix(m, c, word, text_line_end(value),
		 arena_printf(a, "copy %.*s into %.*s", (int)(text_line_end(value) - value), value,
			      (int)(close + 1 - word), word));
	return true;
}

static bool known(const struct mistake *m, struct cure *c, const char *word)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *end = text_word_end(word);

		if (!text_is(word, words[i].word))
			continue;
		c->help = words[i].help;
		if (!words[i].write)
			return true;
		cure_fix(m, c, word, *words[i].write ? end : text_skip(end), words[i].write);
		if (!strcmp(words[i].write, "}"))
			m->ps->missing_close++;
		else if (!strncmp(words[i].write, "par", 3)) /* its blocks are none else */
			c->mute = text_block_end(end);
		return true;
	}
	return false;
}

static bool misspelt(const struct mistake *m, struct cure *c, const char *word)
{
	const char *end = text_word_end(word);
	const char *name = arena_strndup(m->ps->arena, word, (size_t)(end - word));
	const char *near = diag_nearest(name, statements, sizeof statements / sizeof *statements);

	if (!near)
		return false;
	c->help = arena_printf(m->ps->arena, "did you mean `%s`?", near);
	cure_fix(m, c, word, end, near);
	return true;
}

/* Whether the token can end an expression: a word behind it is no statement's first. */
static bool ends_operand(int kind)
{
	return kind == ')' || kind == ']' || kind == TOK_IDENT || kind == TOK_INT ||
	       kind == TOK_RANK || kind == TOK_N;
}

bool habit_statement(const struct mistake *m, struct cure *c)
{
	int before = m->ps->before.kind;
	const char *word;

	if (m->n != 1 || !mistake_may(m, "'('") || m->ps->previous.kind != TOK_IDENT ||
	    before == TOK_PROC || before == TOK_FN || before == TOK_CONTRACT ||
	    before == TOK_IMPLEMENTS)
		return false;
	word = mistake_text(m, m->ps->previous.span.lo);
	c->span = m->ps->previous.span;
	if (ends_operand(before) && text_is(word, "mod")) {
		c->message = "unexpected name `mod`, expected an operator";
		c->help = "write `%`: the result is never negative";
		cure_fix(m, c, word, text_word_end(word), "%");
		return true;
	}
	c->message = arena_printf(m->ps->arena, "unexpected name `%s`, expected a statement",
				  parse_clip(m->ps, word, (size_t)(text_word_end(word) - word)));
	if (declared(m, c, word) || known(m, c, word) || assigned(m, c, word) ||
	    misspelt(m, c, word))
		return true;
	c->help = "a statement begins with a word of the language, such as send, recv, step, for "
		  "or if; or it calls a proc: NAME(...)";
	return true;
}
