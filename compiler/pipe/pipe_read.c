/*
 * Read: the text of a pipeline to actions.
 *
 * In: a line a rank, with commas between actions: `0F0,0SEND_F0,,(0F1;3B0)OVERLAP_F_B`. Out: struct
 * pipe with an action for each, in the order of the text; E0604 for anything else, with line and
 * column, at most MOST_ERRORS of them. An empty field is a rank's idle time, and no action. A line
 * that begins with # is a comment. O(bytes).
 */
#include "compiler/pipe/pipe.h"
#include "lang/diag/diag_print.h"

#include <string.h>

enum { MOST_ERRORS = 20 };

const struct pipe_word pipe_words[PIPE_KINDS] = {
	[PIPE_F] = { "F", PIPE_COMPUTES },
	[PIPE_B] = { "B", PIPE_COMPUTES | PIPE_BACK },
	[PIPE_I] = { "I", PIPE_COMPUTES | PIPE_BACK },
	[PIPE_W] = { "W", PIPE_COMPUTES | PIPE_BACK },
	[PIPE_SEND_F] = { "SEND_F", PIPE_SENDS },
	[PIPE_SEND_B] = { "SEND_B", PIPE_SENDS | PIPE_BACK },
	[PIPE_RECV_F] = { "RECV_F", PIPE_RECEIVES },
	[PIPE_RECV_B] = { "RECV_B", PIPE_RECEIVES | PIPE_BACK },
	[PIPE_WAIT_SEND_F] = { "WAIT_SEND_F", PIPE_WAITS },
	[PIPE_WAIT_SEND_B] = { "WAIT_SEND_B", PIPE_WAITS | PIPE_BACK },
	[PIPE_UNSHARD] = { "UNSHARD", 0 },
	[PIPE_RESHARD] = { "RESHARD", 0 },
	[PIPE_REDUCE_GRAD] = { "REDUCE_GRAD", 0 },
	[PIPE_WAIT_REDUCE_GRAD] = { "WAIT_REDUCE_GRAD", 0 },
};
const char *const pipe_brackets[] = {
	[PIPE_ALONE] = "", [PIPE_OVERLAP] = ")OVERLAP_F_B", [PIPE_BATCH] = ")BATCH"
};

const char *pipe_name(struct arena *a, enum pipe_kind k, uint32_t stage, uint32_t mb)
{
	const char *word = pipe_words[k].name;

	return mb == NONE ? arena_printf(a, "%u%s", stage, word)
			  : arena_printf(a, "%u%s%u", stage, word, mb);
}

struct reader {
	struct ctx *c;
	struct pipe *p;
	const struct source *source;
	bool explained; /* unknown() */
};

/* A piece of the text. */
struct piece {
	const char *lo, *hi;
};

static struct span span_of(const struct reader *r, struct piece x)
{
	uint32_t at = r->source->base + (uint32_t)(x.lo - r->source->text);

	return (struct span){ at, at + (uint32_t)(x.hi - x.lo) };
}

static struct diag *wrong(struct reader *r, struct piece x, const char *why)
{
	enum { SHOWN = 40 };
	int n = x.hi - x.lo > SHOWN ? SHOWN : (int)(x.hi - x.lo);

	return diag_add(r->c->diags, SEV_ERROR, 604, span_of(r, x), NO_RANK, "'%.*s%s' %s", n, x.lo,
			x.hi - x.lo > SHOWN ? "..." : "", why);
}

/* Without the blanks around it. */
static struct piece trim(struct piece x)
{
	for (; x.lo < x.hi && (*x.lo == ' ' || *x.lo == '\t'); x.lo++)
		;
	for (; x.lo < x.hi && (x.hi[-1] == ' ' || x.hi[-1] == '\t'); x.hi--)
		;
	return x;
}

/* Takes what is before the next `c`, or all. */
static struct piece take(struct piece *rest, char c)
{
	const char *at = memchr(rest->lo, c, (size_t)(rest->hi - rest->lo));
	struct piece x = { rest->lo, at ? at : rest->hi };

	rest->lo = x.hi + 1;
	return x;
}

static bool is_text(struct piece x, const char *text)
{
	return strlen(text) == (size_t)(x.hi - x.lo) && !memcmp(x.lo, text, strlen(text));
}

/* A number at x->lo, which is passed over; NONE: there is none, or it is over `most`. */
static uint32_t number(struct piece *x, uint32_t most)
{
	const char *begin = x->lo;
	uint64_t n = 0;

	for (; x->lo < x->hi && *x->lo >= '0' && *x->lo <= '9'; x->lo++)
		n = n > most ? n : n * 10 + (uint64_t)(*x->lo - '0');
	return x->lo == begin || n > most ? NONE : (uint32_t)n;
}

static bool is_letter(char c)
{
	return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static enum pipe_kind kind_of(struct piece word)
{
	enum pipe_kind k = 0;

	while (k < PIPE_KINDS && !is_text(word, pipe_words[k].name))
		k++;
	return k;
}

/* What an action is stands at the first one alone: a file of another kind has many. */
static struct diag *unknown(struct reader *r, struct piece x)
{
	struct diag *d = wrong(r, x, "is not an action");

	if (!r->explained)
		diag_note(
			r->c->diags, d, NOWHERE,
			"a line is a rank, with commas between actions; an action is a stage, what "
			"it does, and a microbatch: 2F0, 2B0, 2I0, 2W0, 2SEND_F0, 2RECV_F0, 2SEND_B0, 2RECV_B0, 2WAIT_SEND_F0, 2WAIT_SEND_B0; or a "
			"stage with UNSHARD, RESHARD, REDUCE_GRAD or WAIT_REDUCE_GRAD; or a bracket: "
			"(0F3;3B1)OVERLAP_F_B, (0SEND_F1;0RECV_B0)BATCH");
	r->explained = true;
	return d;
}

/* An action with a word that is no kind: with the word in capitals, or the nearest one. */
static void suggest(struct reader *r, struct piece whole, struct piece word)
{
	char *capitals = arena_strndup(r->c->scratch, word.lo, (size_t)(word.hi - word.lo));
	struct diag *d = unknown(r, whole);
	const char *names[PIPE_KINDS], *near = NULL;

	for (char *c = capitals; *c; c++)
		*c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
	for (int k = 0; k < PIPE_KINDS; k++) {
		names[k] = pipe_words[k].name;
		near = strcmp(names[k], capitals) ? near : names[k];
	}
	near = near ? near : diag_nearest(capitals, names, PIPE_KINDS);
	if (near)
		diag_help(r->c->diags, d, "do you mean %.*s%s%.*s?", (int)(word.lo - whole.lo),
			  whole.lo, near, (int)(whole.hi - word.hi), word.hi);
}

static void add(struct reader *r, struct pipe_action a, struct piece text)
{
	struct pipe *p = r->p;

	a.name = arena_strndup(r->c->arena, text.lo, (size_t)(text.hi - text.lo));
	a.does = pipe_words[a.kind].does;
	p->nstages = a.stage >= p->nstages ? a.stage + 1 : p->nstages;
	if (a.mb != NONE && a.mb >= p->nmbs)
		p->nmbs = a.mb + 1;
	p->backward |= a.kind == PIPE_B || a.kind == PIPE_I;
	p->messages |= (a.does & PIPE_MESSAGE) != 0;
	p->waits |= (a.does & PIPE_WAITS) != 0;
	ARENA_PUSH(r->c->arena, p->v, p->n, p->cap) = a;
}

/* One action, without a bracket. */
static void read_action(struct reader *r, struct piece whole, enum pipe_group group, bool joined)
{
	struct piece x = whole, word;
	struct pipe_action a = { .span = span_of(r, whole),
				 .stage = number(&x, LIMIT_STAGE),
				 .mb = NONE,
				 .rank = (uint16_t)(r->p->nranks - 1),
				 .group = (uint8_t)group,
				 .joined = joined };

	for (word = x; x.lo < x.hi && is_letter(*x.lo); x.lo++)
		;
	word.hi = x.lo;
	enum pipe_kind k = kind_of(word);
	if (k < PIPE_NAMED)
		a.mb = number(&x, LIMIT_MICROBATCH);
	a.kind = (uint8_t)k;
	if (word.lo == whole.lo && k < PIPE_KINDS)
		wrong(r, whole, "lacks its stage, a number at its start");
	else if (word.lo == whole.lo)
		unknown(r, whole);
	else if (k == PIPE_KINDS)
		suggest(r, whole, word);
	else if (k < PIPE_NAMED && x.lo == word.hi)
		wrong(r, whole, "lacks its microbatch, a number at its end");
	else if (x.lo != x.hi)
		unknown(r, whole);
	else if (a.stage == NONE || (k < PIPE_NAMED && a.mb == NONE))
		wrong(r, whole,
		      "has too large a number: stages go up to 65535, microbatches to 1000000");
	else if (group == PIPE_OVERLAP && !(pipe_words[k].does & PIPE_COMPUTES))
		wrong(r, whole, "is in an OVERLAP_F_B, which takes computations");
	else if (group == PIPE_BATCH && !(pipe_words[k].does & PIPE_MESSAGE))
		wrong(r, whole, "is in a BATCH, which takes sends and receives");
	else
		add(r, a, whole);
}

/* `(0F3;3B1)OVERLAP_F_B`, `(0SEND_F1;0RECV_B0)BATCH` */
static void read_bracket(struct reader *r, struct piece whole)
{
	struct piece rest = { whole.lo + 1, whole.hi }, x = take(&rest, ')');
	uint32_t n = 0, errors = r->c->diags->errors;
	enum pipe_group group = PIPE_BATCH;

	if (x.hi == whole.hi) {
		wrong(r, whole, "has no ')'");
		return;
	}
	while (group && !is_text(trim(rest), pipe_brackets[group] + 1))
		group--;
	if (group == PIPE_ALONE) {
		unknown(r, whole);
		return;
	}
	while (x.lo <= x.hi && r->c->diags->errors == errors) {
		struct piece part = trim(take(&x, ';'));
		if (part.lo < part.hi)
			read_action(r, part, group, n++ > 0);
	}
	if (r->c->diags->errors > errors)
		return;
	if (n == 0)
		wrong(r, whole, "has nothing in its bracket");
	else if (group == PIPE_OVERLAP && n != 2)
		wrong(r, whole, "has not two computations, as an OVERLAP_F_B has");
}

static void read_line(struct reader *r, struct piece line)
{
	struct pipe *p = r->p;

	ARENA_PUSH(r->c->arena, p->first, p->nranks, p->capranks) = p->n;
	if (p->nranks > LIMIT_RANKS)
		diag_add(r->c->diags, SEV_ERROR, 604, span_of(r, line), NO_RANK,
			 "there are more than %u lines: one is a rank", LIMIT_RANKS);
	while (line.lo <= line.hi && r->c->diags->errors < MOST_ERRORS) {
		struct piece x = trim(take(&line, ','));
		if (x.hi - x.lo >= 2 && *x.lo == '"' && x.hi[-1] == '"')
			x = trim((struct piece){ x.lo + 1, x.hi - 1 });
		if (x.lo < x.hi && *x.lo == '(')
			read_bracket(r, x);
		else if (x.lo < x.hi)
			read_action(r, x, PIPE_ALONE, false);
	}
}

/* Whether it is text: without a NUL, and in UTF-8. */
static bool check_bytes(struct reader *r)
{
	const struct source *s = r->source;
	uint32_t code;

	for (size_t i = 0, n; i < s->len; i += n) {
		n = diag_utf8(s->text + i, s->len - i, &code);
		if (n && s->text[i])
			continue;
		diag_add(r->c->diags, SEV_ERROR, 604,
			 span_of(r, (struct piece){ s->text + i, s->text + i + 1 }), NO_RANK,
			 "this byte (0x%02x) is not text in UTF-8",
			 (unsigned)(unsigned char)s->text[i]);
		return false;
	}
	return true;
}

static void read_lines(struct reader *r)
{
	struct piece x = { r->source->text, r->source->text + r->source->len };

	while (x.hi > x.lo && strchr("\r\n \t", x.hi[-1]))
		x.hi--;
	if (x.hi - x.lo >= 3 && !memcmp(x.lo, "\xef\xbb\xbf", 3))
		x.lo += 3;
	while (x.lo < x.hi && r->c->diags->errors < MOST_ERRORS && r->p->nranks <= LIMIT_RANKS) {
		struct piece line = take(&x, '\n');
		line.hi -= line.hi > line.lo && line.hi[-1] == '\r';
		if (*line.lo != '#')
			read_line(r, line);
	}
	ARENA_PUSH(r->c->arena, r->p->first, r->p->nranks, r->p->capranks) = r->p->n;
	r->p->nranks--;
}

static const char *name_of(struct arena *a, const char *file)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	const char *dot = strrchr(name, '.');

	return arena_strndup(a, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

struct pipe *pipe_read(struct ctx *c, struct source *source)
{
	struct pipe *p = ARENA_NEW(c->arena, struct pipe);
	struct reader r = { .c = c, .p = p, .source = source };

	p->name = name_of(c->arena, source->name);
	if (check_bytes(&r))
		read_lines(&r);
	if (!c->diags->errors && !p->n)
		diag_add(c->diags, SEV_ERROR, 604,
			 span_of(&r, (struct piece){ source->text, source->text }), NO_RANK,
			 "the text has no action: a pipeline has a line for each rank, such as "
			 "0F0,0SEND_F0");
	return c->diags->errors ? NULL : p;
}
