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

static const char *const names[PIPE_KINDS] = {
	[PIPE_F] = "F",
	[PIPE_B] = "B",
	[PIPE_I] = "I",
	[PIPE_W] = "W",
	[PIPE_SEND_F] = "SEND_F",
	[PIPE_SEND_B] = "SEND_B",
	[PIPE_RECV_F] = "RECV_F",
	[PIPE_RECV_B] = "RECV_B",
	[PIPE_WAIT_SEND_F] = "WAIT_SEND_F",
	[PIPE_WAIT_SEND_B] = "WAIT_SEND_B",
	[PIPE_UNSHARD] = "UNSHARD",
	[PIPE_RESHARD] = "RESHARD",
	[PIPE_REDUCE_GRAD] = "REDUCE_GRAD",
	[PIPE_WAIT_REDUCE_GRAD] = "WAIT_REDUCE_GRAD",
};

const char *pipe_name(struct arena *a, enum pipe_kind k, uint32_t stage, uint32_t mb)
{
	char text[48];
	int n = snprintf(text, sizeof(text), "%u%s", stage, names[k]);

	if (mb != NONE)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%u", mb);
	return arena_strndup(a, text, (size_t)n);
}

struct reader {
	struct ctx *c;
	struct pipe *p;
	struct source *source;
	uint32_t errors;
};

/* A piece of the text: bytes lo .. hi - 1. */
struct piece {
	uint32_t lo, hi;
};

static struct span span_of(const struct reader *r, struct piece x)
{
	return (struct span){ r->source->base + x.lo, r->source->base + x.hi };
}

static struct diag *wrong(struct reader *r, struct piece x, const char *why)
{
	enum { SHOWN = 40 };
	const char *text = r->source->text + x.lo;
	uint32_t n = x.hi - x.lo;

	r->errors++;
	return diag_add(r->c->diags, SEV_ERROR, 604, span_of(r, x), NO_RANK, "'%.*s%s' %s",
			(int)(n < SHOWN ? n : SHOWN), text, n < SHOWN ? "" : "...", why);
}

/* Without the blanks around it. */
static struct piece trim(const struct reader *r, struct piece x)
{
	const char *t = r->source->text;

	while (x.lo < x.hi && strchr(" \t", t[x.lo]))
		x.lo++;
	while (x.lo < x.hi && strchr(" \t", t[x.hi - 1]))
		x.hi--;
	return x;
}

/* A number at x->lo, which is passed over; NONE: there is none, or it is over `most`. */
static uint32_t number(const struct reader *r, struct piece *x, uint32_t most)
{
	const char *t = r->source->text;
	uint64_t n = 0;
	uint32_t begin = x->lo;

	for (; x->lo < x->hi && t[x->lo] >= '0' && t[x->lo] <= '9'; x->lo++)
		n = n > most ? n : n * 10 + (uint64_t)(t[x->lo] - '0');
	return x->lo == begin || n > most ? NONE : (uint32_t)n;
}

static enum pipe_kind kind_of(const char *text, uint32_t n)
{
	enum pipe_kind k = 0;

	while (k < PIPE_KINDS && (strlen(names[k]) != n || memcmp(names[k], text, n) != 0))
		k++;
	return k;
}

static struct diag *unknown(struct reader *r, struct piece x)
{
	struct diag *d = wrong(r, x, "is not an action");

	diag_note(r->c->diags, d, NOWHERE,
		  "an action is a stage, what it does, and a microbatch: 2F0, 2B0, 2I0, 2W0, "
		  "2SEND_F0, 2RECV_F0, 2SEND_B0, 2RECV_B0, 2WAIT_SEND_F0, 2WAIT_SEND_B0; or a "
		  "stage with UNSHARD, RESHARD, REDUCE_GRAD or WAIT_REDUCE_GRAD; or a bracket: "
		  "(0F3;3B1)OVERLAP_F_B, (0SEND_F1;0RECV_B0)BATCH");
	return d;
}

static void suggest(struct reader *r, struct diag *d, const char *text, uint32_t n)
{
	char word[24];

	if (n >= sizeof(word))
		return;
	memcpy(word, text, n);
	word[n] = '\0';
	const char *near = diag_nearest(word, names, PIPE_KINDS);
	if (near && n > 1)
		diag_help(r->c->diags, d, "do you mean %s?", near);
}

/* One action, without a bracket; false: it was reported. */
static bool read_action(struct reader *r, struct piece whole, enum pipe_group group, bool joined)
{
	struct piece x = whole;
	struct pipe *p = r->p;
	struct pipe_action a = { .span = span_of(r, whole),
				 .group = (uint8_t)group,
				 .joined = joined,
				 .rank = (uint16_t)(p->nranks - 1),
				 .mb = NONE };
	const char *t = r->source->text;
	uint32_t begin = x.lo, word;

	a.stage = number(r, &x, LIMIT_STAGE);
	if (x.lo == begin) {
		unknown(r, whole);
		return false;
	}
	for (word = x.lo; x.lo < x.hi && (t[x.lo] == '_' || (t[x.lo] >= 'A' && t[x.lo] <= 'Z'));)
		x.lo++;
	enum pipe_kind k = kind_of(t + word, x.lo - word);
	if (k == PIPE_KINDS) {
		suggest(r, unknown(r, whole), t + word, x.lo - word);
		return false;
	}
	a.kind = (uint8_t)k;
	begin = x.lo;
	if (k < PIPE_NAMED)
		a.mb = number(r, &x, LIMIT_MICROBATCH);
	if (k < PIPE_NAMED && x.lo == begin)
		wrong(r, whole, "lacks its microbatch, a number at its end");
	else if (x.lo != x.hi)
		unknown(r, whole);
	else if (a.stage == NONE || (k < PIPE_NAMED && a.mb == NONE))
		wrong(r, whole,
		      "has too large a number: stages go up to 65535, microbatches to 1000000");
	else if (group == PIPE_OVERLAP && !pipe_computes(k))
		wrong(r, whole, "is in an OVERLAP_F_B, which takes computations");
	else if (group == PIPE_BATCH && !pipe_sends(k) && !pipe_receives(k))
		wrong(r, whole, "is in a BATCH, which takes sends and receives");
	else {
		a.name = pipe_name(r->c->arena, k, a.stage, a.mb);
		ARENA_PUSH(r->c->arena, p->v, p->n, p->cap) = a;
		return true;
	}
	return false;
}

/* `(0F3;3B1)OVERLAP_F_B`, `(0SEND_F1;0RECV_B0)BATCH` */
static void read_bracket(struct reader *r, struct piece whole)
{
	const char *t = r->source->text;
	const char *close = memchr(t + whole.lo, ')', whole.hi - whole.lo);
	uint32_t end = close ? (uint32_t)(close - t) : whole.hi, n = 0;
	struct piece word = trim(r, (struct piece){ end + !!close, whole.hi });
	uint32_t len = word.hi - word.lo;
	enum pipe_group group = PIPE_ALONE;

	if (!close) {
		wrong(r, whole, "has no ')'");
		return;
	}
	if (len == strlen("OVERLAP_F_B") && !memcmp(t + word.lo, "OVERLAP_F_B", len))
		group = PIPE_OVERLAP;
	else if (len == strlen("BATCH") && !memcmp(t + word.lo, "BATCH", len))
		group = PIPE_BATCH;
	if (group == PIPE_ALONE) {
		unknown(r, whole);
		return;
	}
	for (uint32_t lo = whole.lo + 1, hi; lo <= end; lo = hi + 1) {
		for (hi = lo; hi < end && t[hi] != ';';)
			hi++;
		struct piece part = trim(r, (struct piece){ lo, hi });
		if (part.lo < part.hi && !read_action(r, part, group, n++ > 0))
			return;
	}
	if (n == 0)
		wrong(r, whole, "has nothing in its bracket");
	else if (group == PIPE_OVERLAP && n != 2)
		wrong(r, whole, "has not two computations, as an OVERLAP_F_B has");
}

static void read_field(struct reader *r, struct piece x)
{
	const char *t = r->source->text;

	x = trim(r, x);
	if (x.hi - x.lo >= 2 && t[x.lo] == '"' && t[x.hi - 1] == '"')
		x = trim(r, (struct piece){ x.lo + 1, x.hi - 1 });
	if (x.lo == x.hi)
		return;
	if (t[x.lo] == '(')
		read_bracket(r, x);
	else
		read_action(r, x, PIPE_ALONE, false);
}

static void read_line(struct reader *r, struct piece line)
{
	struct pipe *p = r->p;
	const char *t = r->source->text;

	if (p->nranks == LIMIT_RANKS) {
		diag_add(r->c->diags, SEV_ERROR, 604, span_of(r, line), NO_RANK,
			 "there are more than %u lines: one is a rank", LIMIT_RANKS);
		r->errors = MOST_ERRORS;
		return;
	}
	ARENA_PUSH(r->c->arena, p->first, p->nranks, p->capranks) = p->n;
	for (uint32_t lo = line.lo, hi; lo <= line.hi && r->errors < MOST_ERRORS; lo = hi + 1) {
		const char *comma = memchr(t + lo, ',', line.hi - lo);
		hi = comma ? (uint32_t)(comma - t) : line.hi;
		read_field(r, (struct piece){ lo, hi });
	}
}

/* The first byte that is no text: a NUL, or none of UTF-8. Or `len`. */
static uint32_t first_bad(const struct source *s)
{
	uint32_t i = 0;

	for (size_t n; i < s->len; i += (uint32_t)n) {
		uint32_t code;
		n = diag_utf8(s->text + i, s->len - i, &code);
		if (!n || !s->text[i])
			break;
	}
	return i;
}

static void read_lines(struct reader *r)
{
	const struct source *s = r->source;
	uint32_t end = s->len, bad = first_bad(s), bom = 0;

	if (bad < s->len) {
		diag_add(r->c->diags, SEV_ERROR, 604, span_of(r, (struct piece){ bad, bad + 1 }),
			 NO_RANK, "this byte (0x%02x) is not text in UTF-8",
			 (unsigned)(unsigned char)s->text[bad]);
		r->errors++;
		return;
	}
	while (end > 0 && strchr("\r\n \t", s->text[end - 1]))
		end--;
	if (end >= 3 && !memcmp(s->text, "\xef\xbb\xbf", 3))
		bom = 3;
	for (uint32_t lo = bom, hi; lo < end && r->errors < MOST_ERRORS; lo = hi + 1) {
		const char *nl = memchr(s->text + lo, '\n', end - lo);
		hi = nl ? (uint32_t)(nl - s->text) : end;
		if (s->text[lo] != '#')
			read_line(r,
				  (struct piece){ lo, hi - (hi > lo && s->text[hi - 1] == '\r') });
	}
}

static void note_sizes(struct pipe *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *a = &p->v[i];
		p->nstages = a->stage >= p->nstages ? a->stage + 1 : p->nstages;
		if (a->mb != NONE && a->mb >= p->nmbs)
			p->nmbs = a->mb + 1;
		p->backward |= a->kind == PIPE_B || a->kind == PIPE_I;
		p->messages |= pipe_sends(a->kind) || pipe_receives(a->kind);
		p->waits |= pipe_waits(a->kind);
	}
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
	uint32_t nranks;

	p->source = source;
	p->name = name_of(c->arena, source->name);
	read_lines(&r);
	if (!r.errors && !p->n) {
		diag_add(c->diags, SEV_ERROR, 604, span_of(&r, (struct piece){ 0, 0 }), NO_RANK,
			 "the text has no action: a pipeline has a line for each rank, such as "
			 "0F0,0SEND_F0");
		r.errors++;
	}
	if (r.errors)
		return NULL;
	nranks = p->nranks;
	ARENA_PUSH(c->arena, p->first, nranks, p->capranks) = p->n;
	note_sizes(p);
	return p;
}
