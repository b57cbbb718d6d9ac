/*
 * Read: the text of a pipeline to actions, and back.
 *
 * In: a line a rank, with commas between actions: `0F0,0SEND_F0,,(0F1;3B0)OVERLAP_F_B`. Out: struct
 * pipe with an action for each, in the order of the text; E0604 for anything else, with line and
 * column, at most 20 of them. An empty field is a rank's idle time, and no action. A line
 * that begins with # is a comment. O(bytes).
 */
#include "compiler/pipe/pipe.h"
#include "lang/diag/diag_print.h"

#include <ctype.h>
#include <string.h>

#define NAME(name, does) #name,
#define DOES(name, does) does,
static const char *const names[PIPE_KINDS] = { PIPE_EACH_KIND(NAME) };
static const uint8_t does_it[PIPE_KINDS] = { PIPE_EACH_KIND(DOES) };
static const char *const brackets[] = {
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
	bool explained; /* wrong() */
	uint32_t most;	/* errors: with these it stops */
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
	struct diags *ds = r->c->diags;
	const char *s = x.lo;
	uint32_t code;

	for (size_t len = 1; s < x.hi && *s && len; s += len)
		len = diag_utf8(s, (size_t)(x.hi - s), &code);
	if (s < x.hi) {
		r->most = 0; /* it is no text at all */
		return diag_add(ds, SEV_ERROR, 604, span_of(r, (struct piece){ s, s + 1 }), NO_RANK,
				"this byte (0x%02x) is not text in UTF-8", (unsigned char)*s + 0u);
	}
	bool cut = x.hi - x.lo > SHOWN, explain = why == no_action && !r->explained;
	struct diag *d = diag_add(ds, SEV_ERROR, 604, span_of(r, x), NO_RANK, "'%.*s%s' %s",
				  cut ? SHOWN : (int)(x.hi - x.lo), x.lo, cut ? "..." : "", why);
	if (explain)
		diag_note(ds, d, NOWHERE,
			  "a line is a rank, with commas between actions such as 2F0, 2SEND_F0 and "
			  "(0F3;3B1)OVERLAP_F_B; `ccc --explain E0604` has them all");
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

/* A number at *s, which is passed over; NONE: there is none. At most UINT32_MAX - 1. */
static uint32_t number(const char **s)
{
	const char *begin = *s;
	uint64_t n = 0;

	for (; isdigit((unsigned char)**s); ++*s)
		n = n >= NONE ? n : n * 10 + (uint64_t)(**s - '0');
	return *s == begin ? NONE : n >= NONE ? NONE - 1 : (uint32_t)n;
}

/* The kind whose name is the word in capitals, or nearest to it; or NULL. */
static const char *nearest(struct reader *r, struct piece word)
{
	char *capitals = arena_strndup(r->c->scratch, word.lo, (size_t)(word.hi - word.lo));

	for (char *c = capitals; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	int k = find((struct piece){ capitals, strchr(capitals, 0) }, names, PIPE_KINDS);
	return k < PIPE_KINDS ? names[k] : diag_nearest(capitals, names, PIPE_KINDS);
}

/* One action, without a bracket. Its numbers and word end with the piece at the latest. */
static void read_action(struct reader *r, struct piece whole, enum pipe_group group, bool joined)
{
	struct pipe *p = r->p;
	struct arena *a = r->c->arena;
	const char *s = whole.lo, *why = NULL;
	uint32_t stage = number(&s), mb = NONE;
	struct piece word = { s, s };

	while (isalpha((unsigned char)*word.hi) || *word.hi == '_')
		word.hi++;
	int k = find(word, names, PIPE_KINDS);
	unsigned does = k < PIPE_KINDS ? does_it[k] : 0;
	s = word.hi;
	if (k < PIPE_NAMED)
		mb = number(&s);
	if (stage == NONE)
		why = k < PIPE_KINDS ? "lacks its stage, a number at its start" : no_action;
	else if (k == PIPE_KINDS)
		why = no_action;
	else if (k < PIPE_NAMED && mb == NONE)
		why = "lacks its microbatch, a number at its end";
	else if (s != whole.hi)
		why = no_action;
	else if (stage > LIMIT_STAGE || (mb != NONE && mb > LIMIT_MICROBATCH))
		why = "has too large a number: stages go up to 65535, microbatches to 1000000";
	else if (group == PIPE_OVERLAP && !(does & PIPE_COMPUTES))
		why = "is in an OVERLAP_F_B, which takes computations";
	else if (group == PIPE_BATCH && !(does & PIPE_MESSAGE))
		why = "is in a BATCH, which takes sends and receives";
	if (why) {
		struct diag *d = wrong(r, whole, why);
		const char *near = k == PIPE_KINDS && stage != NONE ? nearest(r, word) : NULL;
		if (near)
			diag_help(r->c->diags, d, "do you mean %.*s%s%.*s?",
				  (int)(word.lo - whole.lo), whole.lo, near,
				  (int)(whole.hi - word.hi), word.hi);
		return;
	}
	p->nstages = stage >= p->nstages ? stage + 1 : p->nstages;
	p->nmbs = mb != NONE && mb >= p->nmbs ? mb + 1 : p->nmbs;
	p->backward |= k == PIPE_B || k == PIPE_I;
	p->messages |= (does & PIPE_MESSAGE) != 0;
	p->waits |= (does & PIPE_WAITS) != 0;
	struct pipe_action x = { .name = arena_strndup(a, whole.lo, (size_t)(whole.hi - whole.lo)),
				 .span = span_of(r, whole),
				 .stage = stage,
				 .mb = mb,
				 .rank = (uint16_t)(p->nranks - 1),
				 .kind = (uint8_t)k,
				 .does = (uint8_t)does,
				 .group = (uint8_t)group,
				 .joined = joined };
	ARENA_PUSH(a, p->v, p->n, p->cap) = x;
}

/* `(0F3;3B1)OVERLAP_F_B`, `(0SEND_F1;0RECV_B0)BATCH` */
static void read_bracket(struct reader *r, struct piece whole)
{
	struct piece rest = whole, x = take(&rest, ')');
	bool closed = x.hi < whole.hi;
	int group = closed ? find(trim(rest), brackets, PIPE_BATCH + 1) : PIPE_ALONE;
	uint32_t n = 0, errors = r->c->diags->errors;

	group %= PIPE_BATCH + 1;
	for (x.lo++; group && x.lo <= x.hi && r->c->diags->errors == errors;) {
		struct piece part = trim(take(&x, ';'));
		if (part.lo < part.hi)
			read_action(r, part, (enum pipe_group)group, n++ > 0);
	}
	const char *why = !closed  ? "has no ')'"
			  : !group ? no_action
			  : n == 0 ? "has nothing in its bracket"
			  : group == PIPE_OVERLAP && n != 2
				  ? "has not two computations, as an OVERLAP_F_B has"
				  : NULL;
	if (why && r->c->diags->errors == errors)
		wrong(r, whole, why);
}

struct pipe *pipe_read(struct ctx *c, struct source *source)
{
	struct pipe *p = ARENA_NEW(c->arena, struct pipe);
	struct reader r = { .c = c, .p = p, .source = source, .most = 20 };
	const char *slash = strrchr(source->name, '/');
	const char *name = slash ? slash + 1 : source->name, *dot = strrchr(name, '.');
	struct piece x = { source->text, source->text + source->len };

	p->name = arena_strndup(c->arena, name, dot > name ? (size_t)(dot - name) : strlen(name));
	while (x.hi > x.lo && strchr("\r\n \t", x.hi[-1]))
		x.hi--;
	if (x.hi - x.lo >= 3 && !memcmp(x.lo, "\xef\xbb\xbf", 3))
		x.lo += 3;
	while (x.lo < x.hi && c->diags->errors < r.most && p->nranks <= LIMIT_RANKS) {
		struct piece line = take(&x, '\n');
		line.hi -= line.hi > line.lo && line.hi[-1] == '\r';
		if (*line.lo == '#')
			continue;
		if (++p->nranks > LIMIT_RANKS)
			diag_add(c->diags, SEV_ERROR, 604, span_of(&r, line), NO_RANK,
				 "there are more than %u lines: one is a rank", LIMIT_RANKS);
		while (line.lo <= line.hi && c->diags->errors < r.most) {
			struct piece field = trim(take(&line, ','));
			if (field.hi - field.lo >= 2 && *field.lo == '"' && field.hi[-1] == '"')
				field = trim((struct piece){ field.lo + 1, field.hi - 1 });
			if (field.lo < field.hi && *field.lo == '(')
				read_bracket(&r, field);
			else if (field.lo < field.hi)
				read_action(&r, field, PIPE_ALONE, false);
		}
	}
	/* op.site has 24 bits; a computation without messages comes to at most 8 actions */
	const uint32_t most = p->messages ? 0xfffffe : 0xfffffe / 8;
	if (!c->diags->errors && !p->n)
		diag_add(
			c->diags, SEV_ERROR, 604,
			span_of(&r, (struct piece){ source->text, source->text }), NO_RANK,
			"the text has no action: a pipeline has a line for each rank, such as 0F0,0SEND_F0");
	if (p->n > most)
		diag_add(c->diags, SEV_ERROR, 501, p->v[most].span, NO_RANK,
			 "the file has more than %u actions", most);
	return c->diags->errors ? NULL : p;
}

void pipe_print(const struct pipe *p, FILE *out)
{
	for (uint32_t r = 0; r < p->nranks; r++) {
		for (uint32_t i = p->first[r]; i < p->first[r + 1]; i++) {
			const struct pipe_action *a = &p->v[i];
			fputs(a->joined ? ";" : i > p->first[r] ? "," : "", out);
			fprintf(out, "%s%s", a->group && !a->joined ? "(" : "", a->name);
			if (a->group && pipe_bracket_end(p, i) == i + 1)
				fprintf(out, ")%s", brackets[a->group]);
		}
		fputc('\n', out);
	}
}
