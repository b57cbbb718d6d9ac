/*
 * The formatter: canonical text of one file.
 *
 * In: a text without syntax errors. Out: the same tokens and comments in the same order (except for
 * `;` between statements), so the tree does not change. A second run changes nothing: every
 * decision depends only on the tokens and on properties that the first run keeps: comments on
 * separate lines, short blocks on one line, single blank lines, and line breaks inside statements
 * that are too long for one line.
 *
 * Tokens are grouped into lines, each a range of tokens; neighbouring lines of one kind are aligned
 * in columns; then they are written. O(bytes).
 */
#include "lang/print/fmt.h"

#define WIDTH 92u /* most columns of a joined line */
#define GAP 3u	  /* columns between a line and the comment after it */

enum line_kind { LINE_PLAIN, LINE_OPERATION, LINE_BLOCK };

struct line {
	uint32_t from, to; /* tokens */
	uint32_t comment;  /* number of comments after it, tokens to .. to + comment */
	uint32_t indent;   /* in steps of two columns */
	bool blank;	   /* a blank line before it */
	bool opens;	   /* ends in the '{' of a block over several lines */
	bool whole;	   /* has a whole statement, from its start */
	enum line_kind kind;
	uint32_t cut[3]; /* tokens where columns begin; `to`: none */
	uint32_t pad[4]; /* spaces to add before each cut, and the comment */
};

struct fmt {
	struct arena *arena;
	struct fmt_tokens t;
	struct line *lines;
	uint32_t nlines, caplines;
	bool open;	    /* the last line can take more tokens */
	bool only_comment;  /* ... and has only a comment so far */
	uint32_t depth;	    /* blocks over several lines around */
	uint32_t inside;    /* blocks on one line around */
	uint32_t statement; /* first token of the current statement */
	uint32_t indent;    /* its indent */
	uint32_t end;	    /* its end; 0: not computed yet */
};

/* ---- blocks ------------------------------------------------------------------------- */

/* A block may stand on one line if it did, with at most one statement. */
static void find_short_blocks(struct fmt *f)
{
	for (uint32_t i = f->t.n; i-- > 0;) { /* inner blocks first */
		struct fmt_token *t = &f->t.v[i];
		uint32_t starts = 0;

		t->is_short = t->id == '{' && !t->body;
		for (uint32_t k = i + 1; t->is_short && k <= t->match; k++) {
			const struct fmt_token *in = &f->t.v[k];

			starts += in->start;
			t->is_short = !in->newlines && starts <= 1;
			if (in->id == '{') {
				t->is_short &= in->is_short;
				k = in->match;
			}
		}
	}
}

/* Columns of tokens [from, to), counted up to `most`. */
static uint32_t width(const struct fmt *f, uint32_t from, uint32_t to, uint32_t most)
{
	uint32_t w = 0;

	for (uint32_t i = from; i < to && w <= most; i++) {
		const struct fmt_token *t = &f->t.v[i];
		if (!t->drop)
			w += t->n + (t->space && i > from);
	}
	return w;
}

/* The block of the else after the block at `i`; 0: there is none. */
static uint32_t else_block(const struct fmt *f, uint32_t i)
{
	uint32_t at = f->t.v[i].match + 1;

	if (f->t.v[at].id != TOK_ELSE)
		return 0;
	while (f->t.v[at].id != '{')
		at++;
	return at;
}

/* Decides the layout of the block at `i` and of the blocks of its `else`s, the same for all. */
static void choose(struct fmt *f, uint32_t i)
{
	uint32_t from = f->lines[f->nlines - 1].from, close = 0;
	uint32_t most = WIDTH > 2 * f->depth ? WIDTH - 2 * f->depth : 0;
	bool fits = true;

	for (uint32_t at = i; at; at = else_block(f, at)) {
		fits = fits && f->t.v[at].is_short && (at == i || !f->t.v[close + 1].newlines);
		close = f->t.v[at].match;
	}
	fits = fits && width(f, from, close + 1, most) <= most;
	for (uint32_t at = i; at; at = else_block(f, at))
		f->t.v[at].choice = fits ? ONE_LINE : MANY_LINES;
}

/* ---- lines -------------------------------------------------------------------------------- */

static struct line *new_line(struct fmt *f, uint32_t token, uint32_t indent, bool blank)
{
	struct line line = { .from = token, .to = token, .indent = indent };

	line.blank =
		blank && f->nlines && !f->lines[f->nlines - 1].opens && f->t.v[token].newlines > 1;
	ARENA_PUSH(f->arena, f->lines, f->nlines, f->caplines) = line;
	f->open = true;
	f->only_comment = false;
	return &f->lines[f->nlines - 1];
}

/* The next token after `i` that is no comment and not dropped. */
static uint32_t next_token(const struct fmt *f, uint32_t i)
{
	do
		i++;
	while (f->t.v[i].id == COMMENT || f->t.v[i].drop);
	return i;
}

static uint32_t comment_indent(const struct fmt *f, uint32_t i)
{
	const struct fmt_token *next = &f->t.v[next_token(f, i)];

	if (next->start)
		return f->depth + next->head;
	if (next->id == TOK_YYEOF || next->id == '}' || next->id == TOK_ELSE)
		return f->depth;
	return f->indent + 2;
}

static void take_comment(struct fmt *f, uint32_t i)
{
	const struct fmt_token *t = &f->t.v[i], *follows = t + 1;
	bool ends_line, breaks;

	while (follows->drop)
		follows++;
	ends_line = t->line_end || follows->newlines > 0;
	breaks = !f->inside && (follows->start || follows->id == '}');
	if (f->nlines && t->newlines == 0 && (ends_line || breaks)) {
		f->lines[f->nlines - 1].comment++;
		f->open = false;
		return;
	}
	if (!f->open || t->newlines) {
		new_line(f, i, comment_indent(f, i), true);
		f->only_comment = true;
	}
	f->lines[f->nlines - 1].to = i + 1;
	if (ends_line)
		f->open = false;
}

/* The end of the current statement, or of its part before a block over several lines. */
static uint32_t statement_end(struct fmt *f)
{
	uint32_t i = f->statement + 1;

	if (f->end)
		return f->end;
	for (; i < f->t.n; i++) {
		const struct fmt_token *t = &f->t.v[i];

		if (t->id == '{' && t->is_short)
			i = t->match;
		else if (t->start || t->id == '{' || t->id == '}')
			break;
	}
	f->end = i;
	return i;
}

static bool too_wide(struct fmt *f)
{
	uint32_t most = WIDTH > 2 * f->indent ? WIDTH - 2 * f->indent : 0;

	return width(f, f->statement, statement_end(f), most) > most;
}

/* Puts token `i`, no comment, on the current line or on a new one. */
static void take_token(struct fmt *f, uint32_t i)
{
	const struct fmt_token *t = &f->t.v[i];

	if (t->id == '}' && !f->inside) {
		f->depth -= f->depth > 0;
		f->indent = f->depth;
		new_line(f, i, f->depth, false);
	} else if (t->start && !f->inside) {
		f->statement = i;
		f->indent = f->depth + t->head;
		f->end = 0;
		if (!f->open || !f->only_comment)
			new_line(f, i, f->indent, !t->head && !t->body)->whole = true;
	} else if (!f->open) {
		new_line(f, i, f->indent + (t->id == TOK_ELSE ? 0 : 2), false);
	} else if (t->newlines && t->id != '{' && t->id != TOK_ELSE && !f->only_comment &&
		   too_wide(f)) {
		new_line(f, i, f->indent + 2, false);
	}
	f->only_comment = false;
	f->lines[f->nlines - 1].to = i + 1;
	if (t->id == '{') {
		if (t->choice == UNDECIDED)
			choose(f, i);
		if (f->inside || t->choice == ONE_LINE) {
			f->inside++;
			return;
		}
		f->lines[f->nlines - 1].opens = true;
		f->depth++;
		f->open = false;
	} else if (t->id == '}' && f->inside) {
		f->inside--;
	}
}

static void make_lines(struct fmt *f)
{
	for (uint32_t i = 0; i < f->t.n; i++) {
		if (f->t.v[i].id == COMMENT)
			take_comment(f, i);
		else if (!f->t.v[i].drop)
			take_token(f, i);
	}
}

/* ---- columns ----------------------------------------------------------------------------- */

static bool is_operation(int id)
{
	return id == TOK_SEND || id == TOK_RECV || id == TOK_REDUCE || id == TOK_COPY;
}

/* Finds the parts of the line that can be aligned in columns. */
static void classify(const struct fmt *f, struct line *l, const struct line *next)
{
	int first = f->t.v[l->from].id;
	uint32_t brace = l->to;

	l->cut[0] = l->cut[1] = l->cut[2] = l->to;
	if (!l->whole || l->opens || (next && next->indent == l->indent + 2 && !next->whole))
		return;
	for (uint32_t i = l->from; i < l->to; i++) {
		const struct fmt_token *t = &f->t.v[i];

		if (t->id == COMMENT || t->id == TOK_ELSE)
			return;
		if (t->id == '{' && brace == l->to)
			brace = i;
	}
	if (is_operation(first)) {
		for (uint32_t i = l->from; i < l->to; i++) {
			int id = f->t.v[i].id;
			if (id != TOK_TO && id != TOK_FROM && id != TOK_INTO)
				continue;
			l->cut[0] = l->from + 1;
			l->cut[1] = i;
			l->cut[2] = i + 1;
			l->kind = LINE_OPERATION;
			return;
		}
	} else if (brace < l->to && brace > l->from) {
		l->cut[0] = brace;
		l->kind = LINE_BLOCK;
	}
}

/* The width of column k of a line, without the space before it. */
static uint32_t cell_width(const struct fmt *f, const struct line *l, uint32_t k)
{
	return width(f, k ? l->cut[k - 1] : l->from, l->cut[k], UINT32_MAX - 1);
}

/* Aligns lines [from, to) of one kind: pads their columns to the widest. */
static void align(struct fmt *f, uint32_t from, uint32_t to)
{
	uint32_t columns = f->lines[from].kind == LINE_OPERATION ? 3 : 1;

	for (uint32_t k = 0; k < columns; k++) {
		uint32_t most = 0;

		for (uint32_t i = from; i < to; i++) {
			uint32_t w = cell_width(f, &f->lines[i], k);
			most = w > most ? w : most;
		}
		for (uint32_t i = from; i < to; i++)
			f->lines[i].pad[k] = most - cell_width(f, &f->lines[i], k);
	}
}

static bool aligns_with(const struct fmt *f, const struct line *a, const struct line *b)
{
	return a->kind == b->kind && a->kind != LINE_PLAIN && a->indent == b->indent && !b->blank &&
	       (a->kind == LINE_OPERATION || f->t.v[a->from].id == f->t.v[b->from].id);
}

static void align_lines(struct fmt *f)
{
	for (uint32_t i = 0; i < f->nlines; i++)
		classify(f, &f->lines[i], i + 1 < f->nlines ? &f->lines[i + 1] : NULL);
	for (uint32_t i = 0, j; i < f->nlines; i = j) {
		for (j = i + 1; j < f->nlines && aligns_with(f, &f->lines[j - 1], &f->lines[j]);
		     j++)
			;
		if (f->lines[i].kind != LINE_PLAIN)
			align(f, i, j);
	}
}

static uint32_t line_width(const struct fmt *f, const struct line *l)
{
	return width(f, l->from, l->to, UINT32_MAX - 1) + l->pad[0] + l->pad[1] + l->pad[2];
}

/* Aligns the comments after neighbouring lines. */
static void align_comments(struct fmt *f)
{
	for (uint32_t i = 0, j; i < f->nlines; i = j) {
		uint32_t most = 0;

		for (j = i;
		     j < f->nlines && f->lines[j].comment &&
		     f->lines[j].indent == f->lines[i].indent && (j == i || !f->lines[j].blank);
		     j++) {
			uint32_t w = line_width(f, &f->lines[j]);
			most = w > most ? w : most;
		}
		for (uint32_t k = i; k < j; k++)
			f->lines[k].pad[3] = most - line_width(f, &f->lines[k]) + GAP;
		j += j == i;
	}
}

/* ---- writing ------------------------------------------------------------------------------- */

struct text {
	struct arena *arena;
	char *v;
	size_t n, cap;
};

static void put(struct text *t, const char *s, size_t n)
{
	while (n--)
		ARENA_PUSH(t->arena, t->v, t->n, t->cap) = *s++;
}

static void put_spaces(struct text *t, uint32_t n)
{
	for (; n; n--)
		put(t, " ", 1);
}

static void put_line(struct text *out, const struct fmt *f, const struct line *l)
{
	if (l->blank)
		put(out, "\n", 1);
	put_spaces(out, 2 * l->indent);
	for (uint32_t i = l->from; i < l->to; i++) {
		const struct fmt_token *t = &f->t.v[i];

		if (t->drop)
			continue;
		for (uint32_t k = 0; k < 3; k++)
			if (i == l->cut[k])
				put_spaces(out, l->pad[k]);
		if (t->space && i > l->from)
			put(out, " ", 1);
		put(out, t->s, t->n);
	}
	for (uint32_t i = l->to, k = 0; k < l->comment; i++) {
		if (f->t.v[i].id != COMMENT)
			continue;
		put_spaces(out, k++ ? 1 : l->pad[3]);
		put(out, f->t.v[i].s, f->t.v[i].n);
	}
	put(out, "\n", 1);
}

const char *lang_format(struct front *front, struct unit *u, size_t *len)
{
	struct fmt f = { .arena = front->arena };
	struct text out = { .arena = front->arena };

	f.t = fmt_tokens(f.arena, u);
	find_short_blocks(&f);
	make_lines(&f);
	align_lines(&f);
	align_comments(&f);
	for (uint32_t i = 0; i < f.nlines; i++)
		put_line(&out, &f, &f.lines[i]);
	*len = out.n;
	put(&out, "", 1); /* its NUL */
	return out.v;
}
