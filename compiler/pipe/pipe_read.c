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

#include <ctype.h>
#include <string.h>

enum { MOST_ERRORS = 20 };

#define NAME(name, does) #name,
#define DOES(name, does) does,
static const char *const names[PIPE_KINDS] = { PIPE_EACH_KIND(NAME) };
static const uint8_t does_it[PIPE_KINDS] = { PIPE_EACH_KIND(DOES) };
const char *const pipe_brackets[] = {
	[PIPE_ALONE] = "", [PIPE_OVERLAP] = "OVERLAP_F_B", [PIPE_BATCH] = "BATCH"
};

struct pipe_action pipe_new(struct arena *a, enum pipe_kind k, uint32_t stage, uint32_t mb)
{
	struct pipe_action x = { .stage = stage, .mb = mb, .kind = (uint8_t)k, .does = does_it[k] };

	x.name = mb == NONE ? arena_printf(a, "%u%s", stage, names[k])
			    : arena_printf(a, "%u%s%u", stage, names[k], mb);
	return x;
}

struct reader {
	struct ctx *c;
	struct pipe *p;
	const struct source *source;
	struct diags *diags;
	bool explained; /* wrong() */
};

static const char no_action[] = "is not an action";

/* A piece of the text. */
struct piece {
	const char *lo, *hi;
};

static struct span span_of(const struct reader *r, struct piece x)
{
	uint32_t at = r->source->base + (uint32_t)(x.lo - r->source->text);

	return (struct span){ at, at + (uint32_t)(x.hi - x.lo) };
}

/* What an action is stands at the first piece alone that is none: a file of another kind has many. */
static struct diag *wrong(struct reader *r, struct piece x, const char *why)
{
	enum { SHOWN = 40 };
	bool cut = x.hi - x.lo > SHOWN, explain = why == no_action && !r->explained;
	struct diag *d = diag_add(r->diags, SEV_ERROR, 604, span_of(r, x), NO_RANK, "'%.*s%s' %s",
				  cut ? SHOWN : (int)(x.hi - x.lo), x.lo, cut ? "..." : "", why);

	if (explain)
		diag_note(
			r->diags, d, NOWHERE,
			"a line is a rank, with commas between actions; an action is a stage, what "
			"it does, and a microbatch: 2F0, 2B0, 2I0, 2W0, 2SEND_F0, 2RECV_F0, 2SEND_B0, 2RECV_B0, 2WAIT_SEND_F0, 2WAIT_SEND_B0; or a "
			"stage with UNSHARD, RESHARD, REDUCE_GRAD or WAIT_REDUCE_GRAD; or a bracket: "
			"(0F3;3B1)OVERLAP_F_B, (0SEND_F1;0RECV_B0)BATCH");
	r->explained |= explain;
	return d;
}

/* Without the blanks around it. */
static struct piece trim(struct piece x)
{
	while (x.lo < x.hi && isblank((unsigned char)*x.lo))
		x.lo++;
	while (x.lo < x.hi && isblank((unsigned char)x.hi[-1]))
		x.hi--;
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

/* The row of the names that is the piece; n: none is. */
static int find(struct piece x, const char *const *v, int n)
{
	int k = 0;

	while (k < n && (strncmp(v[k], x.lo, (size_t)(x.hi - x.lo)) || v[k][x.hi - x.lo]))
		k++;
	return k;
}

/* A number at *s, which is passed over; NONE: there is none, or it is over `most`. */
static uint32_t number(const char **s, uint32_t most)
{
	const char *begin = *s;
	uint64_t n = 0;

	for (; isdigit((unsigned char)**s); ++*s)
		n = n > most ? n : n * 10 + (uint64_t)(**s - '0');
	return *s == begin || n > most ? NONE : (uint32_t)n;
}

/* An action with a word that is no kind: with the word in capitals, or the nearest one. */
static void suggest(struct reader *r, struct piece whole, struct piece word)
{
	char *capitals = arena_strndup(r->c->scratch, word.lo, (size_t)(word.hi - word.lo));
	struct diag *d = wrong(r, whole, no_action);

	for (char *c = capitals; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	int k = find((struct piece){ capitals, strchr(capitals, 0) }, names, PIPE_KINDS);
	const char *near = k < PIPE_KINDS ? names[k] : diag_nearest(capitals, names, PIPE_KINDS);
	if (near)
		diag_help(r->diags, d, "do you mean %.*s%s%.*s?", (int)(word.lo - whole.lo),
			  whole.lo, near, (int)(whole.hi - word.hi), word.hi);
}

/* One action, without a bracket. Its numbers and word end with the piece at the latest. */
static void read_action(struct reader *r, struct piece whole, enum pipe_group group, bool joined)
{
	struct pipe *p = r->p;
	const char *s = whole.lo, *why = NULL;
	uint32_t stage = number(&s, LIMIT_STAGE), mb = NONE;
	struct piece word = { s, s };

	while (isalpha((unsigned char)*word.hi) || *word.hi == '_')
		word.hi++;
	int k = find(word, names, PIPE_KINDS);
	unsigned does = k < PIPE_KINDS ? does_it[k] : 0;
	s = word.hi;
	if (k < PIPE_NAMED)
		mb = number(&s, LIMIT_MICROBATCH);
	if (word.lo == whole.lo)
		why = k < PIPE_KINDS ? "lacks its stage, a number at its start" : no_action;
	else if (k < PIPE_NAMED && s == word.hi)
		why = "lacks its microbatch, a number at its end";
	else if (s != whole.hi)
		why = no_action;
	else if (stage == NONE || (k < PIPE_NAMED && mb == NONE))
		why = "has too large a number: stages go up to 65535, microbatches to 1000000";
	else if (group == PIPE_OVERLAP && !(does & PIPE_COMPUTES))
		why = "is in an OVERLAP_F_B, which takes computations";
	else if (group == PIPE_BATCH && !(does & PIPE_MESSAGE))
		why = "is in a BATCH, which takes sends and receives";
	if (k == PIPE_KINDS && word.lo > whole.lo) {
		suggest(r, whole, word);
		return;
	} else if (why) {
		wrong(r, whole, why);
		return;
	}
	p->nstages = stage >= p->nstages ? stage + 1 : p->nstages;
	p->nmbs = mb != NONE && mb >= p->nmbs ? mb + 1 : p->nmbs;
	p->backward |= k == PIPE_B || k == PIPE_I;
	p->messages |= (does & PIPE_MESSAGE) != 0;
	p->waits |= (does & PIPE_WAITS) != 0;
	ARENA_PUSH(r->c->arena, p->v, p->n, p->cap) =
		(struct pipe_action){ .name = arena_strndup(r->c->arena, whole.lo,
							    (size_t)(whole.hi - whole.lo)),
				      .span = span_of(r, whole),
				      .stage = stage,
				      .mb = mb,
				      .rank = (uint16_t)(p->nranks - 1),
				      .kind = (uint8_t)k,
				      .does = (uint8_t)does,
				      .group = (uint8_t)group,
				      .joined = joined };
}

/* `(0F3;3B1)OVERLAP_F_B`, `(0SEND_F1;0RECV_B0)BATCH` */
static void read_bracket(struct reader *r, struct piece whole)
{
	struct piece rest = { whole.lo, whole.hi }, x = take(&rest, ')');
	uint32_t n = 0, errors = r->diags->errors;
	const char *why = NULL;

	if (x.hi == whole.hi) {
		wrong(r, whole, "has no ')'");
		return;
	}
	rest = trim(rest);
	enum pipe_group group = (enum pipe_group)find(rest, pipe_brackets, PIPE_BATCH + 1);
	x.lo++;
	while (group && group <= PIPE_BATCH && x.lo <= x.hi && r->diags->errors == errors) {
		struct piece part = trim(take(&x, ';'));
		if (part.lo < part.hi)
			read_action(r, part, group, n++ > 0);
	}
	if (!group || group > PIPE_BATCH)
		why = no_action;
	else if (n == 0)
		why = "has nothing in its bracket";
	else if (group == PIPE_OVERLAP && n != 2)
		why = "has not two computations, as an OVERLAP_F_B has";
	if (why && r->diags->errors == errors)
		wrong(r, whole, why);
}

static void read_line(struct reader *r, struct piece line)
{
	struct pipe *p = r->p;

	ARENA_PUSH(r->c->arena, p->first, p->nranks, p->capranks) = p->n;
	if (p->nranks > LIMIT_RANKS)
		diag_add(r->diags, SEV_ERROR, 604, span_of(r, line), NO_RANK,
			 "there are more than %u lines: one is a rank", LIMIT_RANKS);
	while (line.lo <= line.hi && r->diags->errors < MOST_ERRORS) {
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
static bool check_bytes(struct reader *r, const char *s, size_t n)
{
	uint32_t code;

	for (size_t len; n; s += len, n -= len) {
		len = diag_utf8(s, n, &code);
		if (len && *s)
			continue;
		diag_add(r->diags, SEV_ERROR, 604, span_of(r, (struct piece){ s, s + 1 }), NO_RANK,
			 "this byte (0x%02x) is not text in UTF-8", (unsigned)(unsigned char)*s);
		return false;
	}
	return true;
}

struct pipe *pipe_read(struct ctx *c, struct source *source)
{
	struct pipe *p = ARENA_NEW(c->arena, struct pipe);
	struct reader r = { .c = c, .p = p, .source = source, .diags = c->diags };
	const char *slash = strrchr(source->name, '/'), *dot;
	struct piece x = { source->text, source->text + source->len };

	p->name = slash ? slash + 1 : source->name;
	dot = strrchr(p->name, '.');
	if (dot && dot > p->name)
		p->name = arena_strndup(c->arena, p->name, (size_t)(dot - p->name));
	if (!check_bytes(&r, source->text, source->len))
		return NULL;
	while (x.hi > x.lo && strchr("\r\n \t", x.hi[-1]))
		x.hi--;
	if (x.hi - x.lo >= 3 && !memcmp(x.lo, "\xef\xbb\xbf", 3))
		x.lo += 3;
	while (x.lo < x.hi && c->diags->errors < MOST_ERRORS && p->nranks <= LIMIT_RANKS) {
		struct piece line = take(&x, '\n');
		line.hi -= line.hi > line.lo && line.hi[-1] == '\r';
		if (*line.lo != '#')
			read_line(&r, line);
	}
	ARENA_PUSH(c->arena, p->first, p->nranks, p->capranks) = p->n;
	p->nranks--;
	if (!c->diags->errors && !p->n)
		diag_add(
			c->diags, SEV_ERROR, 604,
			span_of(&r, (struct piece){ source->text, source->text }), NO_RANK,
			"the text has no action: a pipeline has a line for each rank, such as 0F0,0SEND_F0");
	return c->diags->errors ? NULL : p;
}
